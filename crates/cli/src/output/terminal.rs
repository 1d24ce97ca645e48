//! What the terminal of stderr is and can show.

use std::collections::BTreeMap;
use std::io;

/// The marks before lines about events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MarkSet {
    /// For programs, files, and terminals that have letters and little more: a word where
    /// the line does not say it itself.
    Words,
    /// `✓`, `✗`, `?`, `–`.
    Symbols,
}

/// What stderr is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TerminalKind {
    /// A pipe or a file, or it was not looked at.
    NoTerminal,
    /// A terminal that only prints one line after another.
    Dumb,
    /// One whose lines can be drawn anew, in a locale without UTF-8.
    Ascii,
    /// The same with UTF-8.
    Unicode,
}

impl TerminalKind {
    /// Of a terminal, as its environment describes it.
    pub(super) fn of_environment(env: &BTreeMap<String, String>) -> Self {
        let set = |name: &&str| env.get(*name).filter(|value| !value.is_empty());
        match set(&"TERM").map(String::as_str) {
            None | Some("dumb") => return Self::Dumb,
            Some(_) => {}
        }
        // The first one that is set holds.
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].iter().find_map(set);
        let locale = locale.map_or_else(String::new, |locale| locale.to_ascii_lowercase());
        if locale.contains("utf-8") || locale.contains("utf8") {
            Self::Unicode
        } else {
            Self::Ascii
        }
    }

    /// Whether the cursor can go back to lines that were printed.
    pub(super) fn can_redraw(self) -> bool {
        match self {
            Self::NoTerminal | Self::Dumb => false,
            Self::Ascii | Self::Unicode => true,
        }
    }

    pub(super) fn marks(self) -> MarkSet {
        match self {
            Self::NoTerminal | Self::Dumb | Self::Ascii => MarkSet::Words,
            Self::Unicode => MarkSet::Symbols,
        }
    }
}

/// Columns and rows of the terminal.
pub(super) fn size() -> (usize, usize) {
    let of = |result: rustix::io::Result<rustix::termios::Winsize>| {
        let size = result.ok().filter(|size| size.ws_col > 0)?;
        Some((usize::from(size.ws_col), usize::from(size.ws_row)))
    };
    of(rustix::termios::tcgetwinsize(io::stderr()))
        .or_else(|| of(rustix::termios::tcgetwinsize(io::stdout())))
        .unwrap_or((100, 24))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(env: &[(&str, &str)], expect: TerminalKind) {
        let env = env
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        assert_eq!(TerminalKind::of_environment(&env.collect()), expect);
    }

    #[test]
    fn a_terminal_shows_what_its_environment_says() {
        use TerminalKind::{Ascii, Dumb, Unicode};
        let term = ("TERM", "xterm");
        check(&[], Dumb);
        check(&[("TERM", "dumb"), ("LANG", "C.UTF-8")], Dumb);
        check(&[term], Ascii);
        check(&[term, ("LANG", "en_US.UTF-8")], Unicode);
        check(&[term, ("LANG", "C.utf8"), ("LC_ALL", "C")], Ascii);
        check(&[term, ("LC_CTYPE", "UTF-8"), ("LC_ALL", "")], Unicode);
    }
}
