//! The styles of piton, and how they are told from what a text says.
//!
//! A style in a text is a mark with a number that nothing outside of this process knows,
//! so that no text can hold one: what a text says of colours is taken out with all other
//! orders to a terminal. Only [`render_text`] makes colours of the marks.

use std::borrow::Cow;
use std::fmt;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::LazyLock;

use anstyle::{AnsiColor, Style};

pub(crate) const PLAIN: OutputStyle = OutputStyle(Style::new());
pub(crate) const BOLD: OutputStyle = OutputStyle(Style::new().bold());
pub(crate) const DIM: OutputStyle = OutputStyle(Style::new().dimmed());
pub(crate) const RED: OutputStyle = OutputStyle(AnsiColor::Red.on_default().bold());
pub(crate) const GREEN: OutputStyle = OutputStyle(AnsiColor::Green.on_default());
pub(crate) const YELLOW: OutputStyle = OutputStyle(AnsiColor::Yellow.on_default());
pub(crate) const CYAN: OutputStyle = OutputStyle(AnsiColor::Cyan.on_default());

/// How a part of a text looks: `{STYLE}` begins it, and `{STYLE:#}` ends it.
#[derive(Clone, Copy)]
pub(crate) struct OutputStyle(Style);

impl fmt::Display for OutputStyle {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ansi = if to.alternate() {
            format!("{:#}", self.0)
        } else {
            self.0.to_string()
        };
        to.write_str(&mark_styles(&ansi))
    }
}

/// What the sequences of terminals that colour a text begin with.
const SEQUENCE: &str = "\u{1b}[";

/// What a mark begins with. It is a control sequence as well, so that all that counts or
/// cleans characters takes it for one.
static MARK: LazyLock<String> = LazyLock::new(|| {
    let number = RandomState::new().hash_one(SEQUENCE);
    format!("{SEQUENCE}{number};")
});

/// A text of a library that colours it, with marks for its colours. What it was made of
/// is clean already.
pub(crate) fn mark_styles(ansi: &str) -> String {
    ansi.replace(SEQUENCE, &MARK)
}

/// A text as it is written to a terminal: clean, and marks as colours.
pub(super) fn render_text(text: &str, clean: impl Fn(&str) -> Cow<'_, str>) -> String {
    let mut parts = text.split(MARK.as_str());
    let mut rendered = clean(parts.next().unwrap_or_default()).into_owned();
    for part in parts {
        let (style, rest) = part.split_once('m').unwrap_or((part, ""));
        rendered.push_str(&format!("{SEQUENCE}{style}m"));
        rendered.push_str(&clean(rest));
    }
    rendered
}

#[cfg(test)]
mod tests {
    use piton_engine::model::terminal::clean_text;

    use super::*;

    #[test]
    fn styles_of_piton_are_colours_and_those_of_a_text_are_nothing() {
        let evil = "\u{1b}[31mred\u{1b}]0;open";
        let text = format!("{evil} {RED}error:{RED:#} {evil}{PLAIN}\n{DIM}end{DIM:#}");
        assert_eq!(
            render_text(&text, clean_text),
            "red0;open \u{1b}[1m\u{1b}[31merror:\u{1b}[0m red0;open\n\u{1b}[2mend\u{1b}[0m"
        );
    }

    #[test]
    fn a_mark_counts_as_no_character() {
        assert_eq!(clean_text(&format!("{BOLD}x{BOLD:#}")), "x");
    }
}
