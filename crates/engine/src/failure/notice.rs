//! What a verb reports to its caller while it works.

use jiff::Timestamp;
use piton_core::budget::BudgetUse;
use piton_core::{DecodedRecord, Node, RunId, Tables};

use crate::failure::Findings;

/// A run at work, as it stands at one moment.
#[derive(Debug)]
pub struct RunProgress<'a> {
    /// The run.
    pub run: RunId,
    /// Its rows.
    pub tables: &'a Tables,
    /// What time it is.
    pub now: Timestamp,
    /// Agents, checks and calls of git at work, in the order in which they began.
    pub works: Vec<WorkProgress<'a>>,
    /// What the run used so far, as far as that is known.
    pub used: BudgetUse,
    /// How much of its budgets that is, in percent; none without one.
    pub budget_percent: Option<u64>,
    /// The file of the run, while a person is asked about it.
    pub asked: Option<&'a str>,
    /// The signal for which it ends.
    pub stopping: Option<&'a str>,
}

/// An agent, a check or a call of git at work.
#[derive(Debug)]
pub struct WorkProgress<'a> {
    /// The node.
    pub node: &'a Node,
    /// Since when.
    pub since: Timestamp,
    /// The merge queue does it, in no lane of the item.
    pub is_merge: bool,
    /// What it does now, or did last, without secrets; none where that is not known.
    pub activity: Option<&'a str>,
    /// What it printed, in bytes.
    pub printed: u64,
}

/// What a runner tells while it works.
#[derive(Debug)]
pub enum Notice<'a> {
    /// Something in words.
    Said(&'a str),
    /// Something that a person should look at.
    Warning(&'a str),
    /// Problems in files that do not keep the run from starting.
    Problems(&'a Findings),
    /// An event of the run, with the rows as it left them.
    Event(&'a DecodedRecord, &'a Tables),
    /// How the run stands, several times a second.
    Progress(&'a RunProgress<'a>),
    /// Waiting: for a time, or for a person.
    Waiting(Option<Timestamp>),
}

/// Receives the notices of a verb while it works.
pub type NoticeSink<'t> = dyn FnMut(Notice<'_>) + 't;
