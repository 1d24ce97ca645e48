//! `progress.md`: sessions, and what each got done.
//!
//! Two dialects stand side by side in one file, and both are read: sections
//! `## Session N (DATE)` that agents keep by the rules of the format, and the
//! lines `**Session N started**` that a loop appends wherever the file ends.
//! Edits write the first. Everything else stays as it is.

mod counts;
pub(super) mod edit;
mod piton_note;
mod read;

use crate::tree::Span;

pub use counts::collect_counts;
pub use edit::{
    SessionPart, add_items, blocker_words, completed_item, end_session, item_words, set_focus,
    start_session,
};
pub use piton_note::{NoteDetails, PitonNote};
pub(super) use read::split_resolution;
pub use read::{meaningful_lines, parse_progress_md};

/// What a `progress.md` says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RalphProgress {
    /// The sessions, in the order of the file.
    pub sessions: Vec<RalphSession>,
    /// Where a loop says that it ended, and how.
    pub loop_ends: Vec<RalphSessionEnd>,
}

impl RalphProgress {
    /// The highest number of a session; 0 without any.
    pub fn highest_session(&self) -> u64 {
        let numbers = self.sessions.iter().map(|session| session.number);
        numbers.max().unwrap_or_default()
    }

    /// The last section of this number, preferably of this date.
    pub fn find_section(&self, session: SessionRef<'_>) -> Option<&RalphSession> {
        let of_number = || {
            self.sessions.iter().rev().filter(|have| {
                have.number == session.number && matches!(have.dialect, Dialect::Section)
            })
        };
        of_number()
            .find(|have| have.date.as_deref() == Some(session.date))
            .or_else(|| of_number().next())
    }
}

/// Which way a session is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// `## Session N (DATE)` with sections of its own.
    Section,
    /// `**Session N started**` below a heading with the time.
    Loop,
}

/// A session as an edit names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionRef<'a> {
    /// Its number.
    pub number: u64,
    /// The day it began, as `2026-01-31`: for its header, if it has none yet.
    pub date: &'a str,
}

/// One session.
#[derive(Clone, Debug, PartialEq)]
pub struct RalphSession {
    /// Its number. A loop counts from 1 again each time it is started.
    pub number: u64,
    /// Which way it is written.
    pub dialect: Dialect,
    /// The day, as written.
    pub date: Option<String>,
    /// The time of day, as written: local, without a zone.
    pub time: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// How it ended, if the file says so.
    pub ended: Option<RalphSessionEnd>,
    /// What it got done.
    pub completed: Vec<CompletedCriterion>,
    /// What was seen in a browser.
    pub validations: Vec<ProgressNote>,
    /// What it works on.
    pub focus: Option<ProgressNote>,
    /// What stood in its way.
    pub blockers: Vec<ProgressBlocker>,
    /// What piton noted behind its header, if it wrote that.
    pub own: Option<PitonNote>,
    /// Its header, or the line that says that it started.
    pub span: Span,
    /// The lines of its section, from the header on, counted from 0. Of a
    /// session in the loop's dialect just its line.
    pub lines: std::ops::Range<usize>,
}

/// How a session or a loop ended.
#[derive(Clone, Debug, PartialEq)]
pub struct RalphSessionEnd {
    /// What is said of it.
    pub words: String,
    /// What that means.
    pub how: SessionEndReason,
    /// Date and time of the heading above it.
    pub at: Option<String>,
    /// What piton noted behind it, if it wrote it.
    pub own: Option<PitonNote>,
    /// Its line.
    pub span: Span,
}

/// What the words about an end mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionEndReason {
    /// Every criterion is met.
    Complete,
    /// The context was full.
    Rotation,
    /// The agent was stuck.
    Gutter,
    /// A limit of the service, or another fault that passes.
    Deferred,
    /// The agent said that it was done; boxes say otherwise.
    ClaimedComplete,
    /// It just ended, with this many criteria open.
    Natural(Option<u64>),
    /// The loop may not start another session.
    MaxIterations(Option<u64>),
    /// Other words.
    Other,
}

/// What is recorded of a criterion that is met.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CriterionRecord {
    /// Its number: `Criterion 3 - …`.
    pub number: Option<u64>,
    /// What it says.
    pub text: String,
    /// The commit.
    pub commit: Option<String>,
    /// Notes, of one or more lines.
    pub notes: Option<String>,
    /// The path of a picture.
    pub screenshot: Option<String>,
}

/// A criterion under `### Completed`.
#[derive(Clone, Debug, PartialEq)]
pub struct CompletedCriterion {
    /// What is recorded of it.
    pub what: CriterionRecord,
    /// Whether its box is ticked; an item without a box counts as ticked.
    pub ticked: bool,
    /// What piton noted behind its words, if it wrote them.
    pub own: Option<PitonNote>,
    /// The words of its first line.
    pub span: Span,
}

/// Some words and their place.
#[derive(Clone, Debug, PartialEq)]
pub struct ProgressNote {
    /// The words, in one line.
    pub text: String,
    /// What piton noted behind them, if it wrote them.
    pub own: Option<PitonNote>,
    /// The words of its first line.
    pub span: Span,
}

/// What stood in the way.
#[derive(Clone, Debug, PartialEq)]
pub struct ProgressBlocker {
    /// What it is, without `(resolved …)`.
    pub text: String,
    /// Whether it is out of the way.
    pub resolved: bool,
    /// How it was got out of the way, if that is said.
    pub resolution: Option<String>,
    /// What piton noted behind it, if it wrote any of it.
    pub own: Option<PitonNote>,
    /// The words of its first line.
    pub span: Span,
    /// Where its words end.
    pub words_end: usize,
    /// Where its last line ends, with what piton noted.
    pub line_end: usize,
}
