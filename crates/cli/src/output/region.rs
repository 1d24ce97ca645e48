//! The lines at the end of a terminal that are drawn anew as a run goes on.
//!
//! There is one terminal, and so one region in the process. Each change is one write: the
//! screen shows the region before it or after it. What belongs into the lines is the
//! matter of [`crate::show::live`].

use std::io::{self, Write as _};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

use unicode_width::UnicodeWidthChar as _;

use super::terminal::{self, MarkSet};

/// What a region is made for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Screen {
    /// So many columns a line may take.
    pub(crate) columns: usize,
    /// Rows of the whole screen.
    pub(crate) rows: usize,
    pub(crate) marks: MarkSet,
}

impl Screen {
    /// Of the terminal as it is now. A line leaves the last column free: behind a
    /// character there, terminals differ in where the cursor is.
    pub(super) fn of_terminal(marks: MarkSet) -> Self {
        let (columns, rows) = terminal::size();
        Self {
            columns: columns.saturating_sub(1),
            rows,
            marks,
        }
    }
}

/// How many columns a text takes; rather too many where terminals differ.
pub(crate) fn count_columns(text: &str) -> usize {
    text.chars().map(columns_of_char).sum()
}

/// The beginning of a text, at most so many columns.
pub(crate) fn cut_columns(text: &str, columns_max: usize) -> &str {
    let mut columns = 0;
    let end = text.char_indices().find(|(_, c)| {
        columns += columns_of_char(*c);
        columns > columns_max
    });
    end.map_or(text, |(end, _)| &text[..end])
}

fn columns_of_char(c: char) -> usize {
    match c {
        // It makes an emoji of the character before it, which is wider than that alone.
        '\u{fe0f}' => 1,
        c => c.width().unwrap_or(0),
    }
}

static REGION: Mutex<Region> = Mutex::new(Region {
    lines: Vec::new(),
    is_shown: false,
    width: 0,
});

fn region() -> MutexGuard<'static, Region> {
    REGION.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Shows `lines`, which hold no control sequences but colours.
pub(super) fn show(lines: &[String]) {
    static LISTENING: Once = Once::new();
    LISTENING.call_once(stop_without_region);
    let mut region = region();
    let width = terminal::size().0;
    let lines: Vec<String> = lines.iter().map(|line| in_colours(line)).collect();
    if region.lines == lines && region.width == width {
        return;
    }
    let erased = region.erase();
    region.lines = lines;
    let drawn = region.draw(width);
    write_whole(&format!("{erased}{drawn}"));
}

/// Stops this process at Ctrl-Z as any other, but without a region on the screen: the
/// shell goes on where the cursor is. The region is back when the process goes on.
fn stop_without_region() {
    use signal_hook::consts::SIGTSTP;
    // Without the thread, Ctrl-Z stops the process and leaves the region where it is.
    let Ok(mut signals) = signal_hook::iterator::Signals::new([SIGTSTP]) else {
        return;
    };
    std::thread::spawn(move || {
        for signal in signals.forever() {
            // Held while the process is stopped: nothing is drawn in between.
            let mut region = region();
            let erased = region.erase();
            write_whole(erased);
            if !is_of_session_leader() {
                signal_hook::low_level::emulate_default_handler(signal).ok();
            }
            let width = terminal::size().0;
            let drawn = region.draw(width);
            write_whole(&drawn);
        }
    });
}

/// Whether no shell put this process into a group of its own. Nothing lets it go on then,
/// and the system does not stop it either.
fn is_of_session_leader() -> bool {
    let group = rustix::process::getpgrp();
    rustix::process::getsid(None).is_ok_and(|session| session == group)
}

/// Takes the region away, if there is one.
pub(super) fn clear() {
    let mut region = region();
    let erased = region.erase();
    region.lines.clear();
    if !erased.is_empty() {
        write_whole(erased);
    }
}

/// Writes whole lines to stderr, above the region. A failed write there cannot be
/// reported.
pub(super) fn write_above(text: &str) {
    let mut region = region();
    if region.lines.is_empty() {
        let mut stderr = anstream::stderr().lock();
        stderr
            .write_all(text.as_bytes())
            .and_then(|()| stderr.flush())
            .ok();
        return;
    }
    let width = terminal::size().0;
    let erased = region.erase();
    let drawn = region.draw(width);
    write_whole(&format!("{erased}{}{drawn}", in_colours(text)));
}

/// A text with its colours, where stderr shows colours.
fn in_colours(text: &str) -> String {
    match anstream::AutoStream::choice(&io::stderr()) {
        anstream::ColorChoice::Never => anstream::adapter::strip_str(text).to_string(),
        anstream::ColorChoice::Auto
        | anstream::ColorChoice::Always
        | anstream::ColorChoice::AlwaysAnsi => text.to_owned(),
    }
}

fn write_whole(text: &str) {
    io::stderr().lock().write_all(text.as_bytes()).ok();
}

struct Region {
    lines: Vec<String>,
    is_shown: bool,
    /// How wide the screen was when it was drawn.
    width: usize,
}

/// Whether what does not fit a row goes on in the next one.
const WRAP_OFF: &str = "\u{1b}[?7l";
const WRAP_ON: &str = "\u{1b}[?7h";

impl Region {
    /// What takes the region off the screen. The cursor is at its beginning: a terminal
    /// that becomes narrower and wraps the lines takes the cursor along, before it tells
    /// this process of its width.
    fn erase(&mut self) -> &'static str {
        match std::mem::take(&mut self.is_shown) {
            // tmux moves a screen into its history that is cleared from its first cell on.
            true => "\r \u{1b}[J\r",
            false => "",
        }
    }

    /// What draws the region where the cursor is, and leaves the cursor there. Each line
    /// is one row, also where the screen is narrower by now than it was told.
    fn draw(&mut self, width: usize) -> String {
        self.width = width;
        let Some(below) = self.lines.len().checked_sub(1) else {
            return String::new();
        };
        self.is_shown = true;
        let up = match below {
            0 => String::new(),
            rows => format!("\u{1b}[{rows}A"),
        };
        let lines = self.lines.join("\r\n");
        format!("{WRAP_OFF}{lines}{WRAP_ON}\r{up}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(lines: &[&str]) -> (Region, String) {
        let mut region = Region {
            lines: lines.iter().map(|line| (*line).to_owned()).collect(),
            is_shown: false,
            width: 0,
        };
        let drawn = region.draw(80);
        (region, drawn)
    }

    #[test]
    fn the_cursor_is_at_the_beginning_of_what_is_drawn() {
        assert_eq!(drawn(&[]).1, "");
        assert_eq!(drawn(&["a"]).1, "\u{1b}[?7la\u{1b}[?7h\r");
        assert_eq!(
            drawn(&["a", "b", ""]).1,
            "\u{1b}[?7la\r\nb\r\n\u{1b}[?7h\r\u{1b}[2A"
        );
    }

    #[test]
    fn only_what_is_shown_is_erased_and_once() {
        let (mut none, _) = drawn(&[]);
        assert_eq!(none.erase(), "");
        let (mut region, _) = drawn(&["a", "b"]);
        assert_eq!(region.erase(), "\r \u{1b}[J\r");
        assert_eq!(region.erase(), "");
    }

    #[test]
    fn a_text_is_cut_between_its_characters_by_columns() {
        assert_eq!(cut_columns("abc", 2), "ab");
        assert_eq!(cut_columns("abc", 3), "abc");
        // Each of these takes two columns.
        assert_eq!(cut_columns("你好", 3), "你");
        assert_eq!(count_columns("你好e\u{301}"), 5);
        assert_eq!(count_columns("\u{2764}\u{fe0f}"), 2);
    }
}
