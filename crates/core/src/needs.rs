//! Which rows a command wants to see, and the rows as they are handed over.

use jiff::Timestamp;

use crate::command::Command;
use crate::id::{AttemptId, DecisionId, Node, RunId, StreamId};
use crate::tables::Tables;

/// One wish for rows. A store loads at least what is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Need {
    /// One run, without its items.
    Run(RunId),
    /// Every run, without their items.
    Runs,
    /// The run of that name.
    RunNamed(String),
    /// An item and all items above it.
    Line(RunId, Node),
    /// An item and all items below it.
    Subtree(RunId, Node),
    /// All items of a run.
    Tree(RunId),
    /// The items that depend on this one or on one above it, each with what
    /// lies below it and with everything that it depends on.
    Dependents(RunId, Node),
    /// One attempt.
    Attempt(AttemptId),
    /// The attempts without an outcome of a run.
    OpenAttempts(RunId),
    /// The attempts at one item.
    AttemptsAt(RunId, Node),
    /// One decision.
    Decision(DecisionId),
    /// The decision of that number.
    DecisionNumbered(u64),
    /// The open decisions: of one run, or of all.
    OpenDecisions(Option<RunId>),
    /// The number that the next decision will have.
    NextDecision,
    /// The last entries of the sessions, at most so many.
    RecentEntries(usize),
    /// The last entry of this type, if there is one.
    LastEntry(crate::entry::EntryType),
    /// The blockers of one task.
    Blocker {
        /// Its spec.
        spec: Option<String>,
        /// The task.
        task_id: Option<String>,
    },
    /// All blocked tasks that nothing has completed since.
    Blockers,
    /// When the lease on a run runs out.
    LeaseExpiry(RunId),
}

/// What a command must lock and load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Needs {
    /// The streams that it may append to, in the order in which to lock them.
    pub streams: Vec<StreamId>,
    /// The rows that its decision reads.
    pub rows: Vec<Need>,
}

/// The rows that a decision reads, as they are under the store's lock.
#[derive(Clone, Debug)]
pub struct Rows {
    /// The rows that were asked for, and possibly more.
    pub tables: Tables,
    /// The time by the store's clock, not behind the last event of any locked stream.
    pub now: Timestamp,
    /// The number that the next decision will have.
    pub next_decision: u64,
    /// When the lease on the run runs out; none when nothing is known of it.
    pub lease_expires: Option<Timestamp>,
}

/// Which rows `command` wants to see.
#[must_use]
pub fn needs(command: &Command) -> Needs {
    let mut rows = Vec::new();
    if let Some(run) = command.run() {
        rows.push(Need::Run(run));
    }
    match command {
        Command::PlanRun(plan) => {
            rows.push(Need::RunNamed(plan.name.clone()));
            rows.push(Need::NextDecision);
        }
        Command::StartRun { run, .. } => {
            rows.push(Need::LeaseExpiry(*run));
            rows.push(Need::OpenDecisions(Some(*run)));
        }
        Command::ContinueRun { .. }
        | Command::ReleaseRun { .. }
        | Command::PauseRun { .. }
        | Command::InterruptRun { .. } => {}
        Command::AskPause { run } | Command::AskStop { run } => rows.push(Need::LeaseExpiry(*run)),
        Command::ResumeRun { run } => {
            rows.push(Need::LeaseExpiry(*run));
            rows.push(Need::OpenDecisions(Some(*run)));
        }
        Command::StartAttempt { run, node, .. }
        | Command::StartGate { run, node, .. }
        | Command::StartCommit { run, node, .. } => {
            rows.push(Need::Line(*run, node.clone()));
        }
        Command::EndAttempt {
            run, node, attempt, ..
        } => {
            rows.push(Need::Attempt(*attempt));
            finishing(&mut rows, *run, node);
        }
        Command::EndGate { run, node, .. } | Command::EndCommit { run, node, .. } => {
            finishing(&mut rows, *run, node)
        }
        Command::SkipItem { run, .. }
        | Command::RetryItem { run, .. }
        | Command::TakeEdits { run, .. } => {
            changing(&mut rows, *run);
        }
        Command::Decide { decision, run, .. } => {
            rows.push(Need::Decision(*decision));
            changing(&mut rows, *run);
        }
        Command::LogEntry(entry) => rows.push(Need::Blocker {
            spec: entry.spec.clone(),
            task_id: entry.task_id.clone(),
        }),
    }
    Needs {
        streams: vec![command.stream()],
        rows,
    }
}

/// What may have to be known when an item is finished or fails.
fn finishing(rows: &mut Vec<Need>, run: RunId, node: &Node) {
    rows.push(Need::Line(run, node.clone()));
    rows.push(Need::Dependents(run, node.clone()));
    rows.push(Need::NextDecision);
}

/// What may have to be known when a person changes an item: whatever waits for
/// anything below it, and whatever it waits for itself, wherever that stands.
fn changing(rows: &mut Vec<Need>, run: RunId) {
    rows.push(Need::Tree(run));
    rows.push(Need::NextDecision);
    rows.push(Need::OpenDecisions(Some(run)));
    rows.push(Need::LeaseExpiry(run));
}
