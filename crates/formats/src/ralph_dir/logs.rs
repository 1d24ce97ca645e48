//! `activity.log` and `errors.log`: a line for each thing that ran.
//!
//! Lines of others have a time of day, a date and a time, or neither; one
//! command may go over several lines. Entries stay in the order of the file:
//! a time of day says nothing about which day it was. What is written is one
//! line each, with its date.

mod counts;
mod read;
mod write;

use crate::tree::Span;

pub(super) use counts::collect_counts;
pub use read::parse_log;
pub use write::{render_activity_line, render_error_line};

/// One entry of a log.
#[derive(Clone, Debug, PartialEq)]
pub struct LogEntry {
    /// When.
    pub when: LogTime,
    /// How full the context was.
    pub colour: Option<Colour>,
    /// What.
    pub item: LogItem,
    /// Its place; over several lines for a command that holds line ends.
    pub span: Span,
}

/// When something was logged, as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogTime {
    /// Not said.
    Unknown,
    /// `18:37:55`: local, on a day that is not said.
    Time(String),
    /// `2026-01-31 18:37:55`, or the same as ISO 8601.
    DateTime(String),
}

/// The colour before an entry: below 60 %, below 80 %, and above.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colour {
    /// 🟢
    Green,
    /// 🟡
    Yellow,
    /// 🔴
    Red,
}

impl Colour {
    /// As it is written.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Green => "🟢",
            Self::Yellow => "🟡",
            Self::Red => "🔴",
        }
    }
}

const fn percent(used: u64, limit: u64) -> u64 {
    if limit == 0 {
        return 0;
    }
    used.saturating_mul(100) / limit
}

/// What is logged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogItem {
    /// A file was read.
    Read(LoggedFile),
    /// A file was written.
    Write(LoggedFile),
    /// A command ran.
    Shell {
        /// The command.
        command: String,
        /// Its exit status, if the line got that far.
        exit: Option<i64>,
        /// How much it printed.
        output_chars: Option<u64>,
    },
    /// How full the context is.
    Tokens {
        /// Tokens in use.
        used: u64,
        /// Tokens at most.
        limit: u64,
        /// What stands behind the percentage.
        note: Option<String>,
    },
    /// An agent was started.
    SessionStart {
        /// Its model.
        model: String,
    },
    /// It ended.
    SessionEnd {
        /// How long it ran.
        duration_ms: Option<u64>,
        /// How much it used.
        tokens: Option<u64>,
    },
    /// The context is full.
    Rotate {
        /// Tokens in use and at most.
        tokens: Option<(u64, u64)>,
    },
    /// The context is nearly full.
    Warn {
        /// Tokens in use and at most.
        tokens: Option<(u64, u64)>,
    },
    /// The agent said that it is done.
    Complete,
    /// The agent is stuck: it said so, or a command failed this often.
    Gutter {
        /// How often the same command failed.
        failures: Option<u64>,
    },
    /// The service refused.
    ApiError {
        /// Its words.
        message: String,
    },
    /// A command failed.
    ShellFail {
        /// The command.
        command: String,
        /// Its exit status.
        exit: Option<i64>,
        /// How often it was tried.
        attempt: Option<u64>,
    },
    /// A file is written again and again.
    Thrashing {
        /// The file.
        path: String,
        /// How often.
        times: Option<u64>,
    },
    /// The head that a session begins with.
    Banner {
        /// The date, in the words of `date`.
        date: String,
    },
    /// A line that piton has no word for.
    Other(String),
}

/// A file that was read or written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoggedFile {
    /// Its path.
    pub path: String,
    /// How many lines.
    pub lines: Option<u64>,
    /// How large, as written: `~2.1KB`, `4KB`.
    pub size: Option<String>,
}
