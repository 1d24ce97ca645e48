//! What a file of the project has to do with the core: two pure functions.
//!
//! `take` tells what a file holds, `show` gives the same text showing rows as
//! well. Both are made for being called again: a row that is shown already and
//! a thing that is known already change nothing.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use piton_core::AttemptRow;
use piton_core::call::AgentCall;
use piton_core::command::ImportedRecord;
use piton_core::entry::EntryRow;
use piton_core::memory::MemoryRow;

use crate::problem::Problem;

/// The agent of attempts that only a file tells of.
pub const FILE_AGENT: &str = "file";

/// A row that a file is to show.
#[derive(Clone, Copy, Debug)]
pub enum ShownRow<'a> {
    /// An entry of the sessions.
    Entry(&'a EntryRow),
    /// An attempt that is over.
    Attempt(&'a AttemptRow),
    /// Something remembered.
    Memory(&'a MemoryRow),
    /// A call of a tool in a session that piton did not start, with its time.
    Call(&'a AgentCall),
}

/// Under this key of its data an entry has the words of the criterion that it
/// tells of, where it is made for a file that shows them. No store keeps it.
pub const CRITERION: &str = "criterion";

/// Under this key of its whole a log has the name of its project.
pub const PROJECT: &str = "project";

/// What a file is called and shows beside rows.
#[derive(Clone, Copy, Debug)]
pub struct FileContext<'a> {
    /// The file, as problems name it.
    pub file: &'a str,
    /// The name of the project.
    pub project: &'a str,
    /// What time it is.
    pub now: Timestamp,
    /// Where times are meant that a file gives without a zone.
    pub zone: &'a TimeZone,
    /// Agents started in the latest run, where there is one.
    pub iteration: Option<u64>,
    /// Whether the text is only the ends of a file ([`crate::ends`]).
    pub is_part: bool,
}

/// What a file holds.
#[derive(Clone, Debug, Default)]
pub struct FileContents {
    /// Each thing, in the order of the file, under the name that it has there.
    pub found: Vec<ImportedRecord>,
    /// What is wrong; with an error among it the file cannot be kept up to date.
    pub problems: Vec<Problem>,
}

impl FileContents {
    /// Whether the file could be read.
    #[must_use]
    pub fn is_readable(&self) -> bool {
        !self.problems.iter().any(Problem::is_error)
    }
}

/// Why a text cannot show a row: a fragment without a full stop.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct RenderError(pub String);

/// What a text is, judged by its contents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Detection {
    /// The format that is asked about.
    Ours,
    /// Nothing is in it.
    Empty,
    /// Something else, in a few words: "a heartbeat of ralph-claude-code".
    Foreign(String),
    /// It cannot be told, because it cannot be read.
    Unreadable,
}
