//! Lines for the person who runs a command.

use std::fmt::Display;
use std::io::{self, Write as _};

/// Prints a line. Whoever closed the pipe does not want to read it.
pub(crate) fn say(line: impl Display) {
    drop(writeln!(io::stdout(), "{line}"));
}

/// Prints a line to those who wait for trouble.
pub(crate) fn complain(line: impl Display) {
    drop(writeln!(io::stderr(), "{line}"));
}
