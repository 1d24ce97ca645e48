//! Commands: what somebody wants to happen. Imperative; they may be refused.

use crate::gate::GateReport;
use serde::{Deserialize, Serialize};

use crate::actor::Actor;
use crate::attempt::{Report, Role};
use crate::decision::Verb;
use crate::edit::Edit;
use crate::entry::Entry;

use crate::id::{AttemptId, DecisionId, Node, RunId, StreamId};
use crate::plan::Plan;
use crate::policy::Limits;
use crate::run::Pause;

/// What somebody wants to happen.
///
/// A command with a `token` comes from the runner that holds the run; it is
/// refused when another one holds it now.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Command {
    /// Keep this plan as a new run.
    PlanRun(Box<Plan>),
    /// Take a run and begin to work on it.
    StartRun {
        /// The run.
        run: RunId,
        /// The runner, in words.
        owner: String,
        /// The limits of this invocation.
        limits: Limits,
    },
    /// Go on after a wait for a person that the runner sat out.
    ContinueRun {
        /// The run.
        run: RunId,
        /// The runner's token.
        token: u64,
    },
    /// Give a run back.
    ReleaseRun {
        /// The run.
        run: RunId,
        /// The runner's token.
        token: u64,
    },
    /// Note that the runner reached a pause.
    PauseRun {
        /// The run.
        run: RunId,
        /// The runner's token.
        token: u64,
        /// Why.
        pause: Pause,
    },
    /// Note that the runner stops.
    InterruptRun {
        /// The run.
        run: RunId,
        /// The runner's token.
        token: u64,
        /// Why, in one line.
        reason: String,
    },
    /// Pause a run, or ask its live runner to.
    AskPause {
        /// The run.
        run: RunId,
    },
    /// Stop a run, or ask its live runner to.
    AskStop {
        /// The run.
        run: RunId,
    },
    /// Let a paused run go on.
    ResumeRun {
        /// The run.
        run: RunId,
    },
    /// Note the intent to start an agent.
    StartAttempt {
        /// The run.
        run: RunId,
        /// The runner's token.
        token: u64,
        /// The id that the attempt will have.
        attempt: AttemptId,
        /// Its item.
        node: Node,
        /// What for.
        role: Role,
        /// The agent: its name or command.
        agent: String,
        /// The model it is asked to use.
        model: Option<String>,
    },
    /// Note what came of an attempt.
    EndAttempt {
        /// The run.
        run: RunId,
        /// The runner's token.
        token: u64,
        /// The attempt.
        attempt: AttemptId,
        /// Its item.
        node: Node,
        /// What came of it.
        report: Box<Report>,
    },
    /// Note the intent to run a gate.
    StartGate {
        /// The run.
        run: RunId,
        /// The runner's token.
        token: u64,
        /// The item.
        node: Node,
    },
    /// Note what came of a gate.
    EndGate {
        /// The run.
        run: RunId,
        /// The runner's token.
        token: u64,
        /// The item.
        node: Node,
        /// What came of it.
        report: GateReport,
    },
    /// Note the intent to commit.
    StartCommit {
        /// The run.
        run: RunId,
        /// The runner's token.
        token: u64,
        /// The item.
        node: Node,
        /// What `HEAD` is.
        head: Option<String>,
    },
    /// Note what came of a commit.
    EndCommit {
        /// The run.
        run: RunId,
        /// The runner's token.
        token: u64,
        /// The item.
        node: Node,
        /// The commit (none when nothing had changed), or why there is none.
        result: Result<Option<String>, String>,
    },
    /// Leave an item out, with all that lies below it.
    SkipItem {
        /// The run.
        run: RunId,
        /// The item.
        node: Node,
        /// Why.
        why: Option<String>,
    },
    /// Try an item again, with all that failed below it.
    RetryItem {
        /// The run.
        run: RunId,
        /// The item.
        node: Node,
        /// Why.
        why: Option<String>,
    },
    /// Decide what is open.
    Decide {
        /// The decision.
        decision: DecisionId,
        /// Its run.
        run: RunId,
        /// Its node, if it is about one.
        node: Option<Node>,
        /// What is said.
        verb: Verb,
        /// Why, or the answer itself.
        why: Option<String>,
    },
    /// Take in what somebody changed in a plan's file by hand.
    ///
    /// What fits is done; what does not becomes one open decision.
    TakeEdits {
        /// The run.
        run: RunId,
        /// The token of the runner, when it is the one that takes them.
        token: Option<u64>,
        /// The file, relative to the project.
        file: String,
        /// What was changed, in the order in which it is to be tried.
        edits: Vec<Edit>,
    },
    /// Keep a session event.
    LogEntry(Box<Entry>),
}

impl Command {
    /// The stream that all events of this command go to.
    #[must_use]
    pub fn stream(&self) -> StreamId {
        self.run().map_or_else(StreamId::sessions, StreamId::run)
    }

    /// The run that the command is about.
    #[must_use]
    pub fn run(&self) -> Option<RunId> {
        match self {
            Self::PlanRun(plan) => Some(plan.run),
            Self::LogEntry(_) => None,
            Self::StartRun { run, .. }
            | Self::ContinueRun { run, .. }
            | Self::ReleaseRun { run, .. }
            | Self::PauseRun { run, .. }
            | Self::InterruptRun { run, .. }
            | Self::AskPause { run }
            | Self::AskStop { run }
            | Self::ResumeRun { run }
            | Self::StartAttempt { run, .. }
            | Self::EndAttempt { run, .. }
            | Self::StartGate { run, .. }
            | Self::EndGate { run, .. }
            | Self::StartCommit { run, .. }
            | Self::EndCommit { run, .. }
            | Self::SkipItem { run, .. }
            | Self::RetryItem { run, .. }
            | Self::Decide { run, .. }
            | Self::TakeEdits { run, .. } => Some(*run),
        }
    }
}

/// What the caller knows of the world that the store does not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Who asks.
    pub actor: Actor,
    /// A fresh id, should a decision have to be opened.
    pub decision: DecisionId,
    /// What the caller knows of the runner that holds the run.
    pub holder: HolderKnown,
}

/// What a caller knows of the runner that holds a run.
///
/// The lock that a runner holds while it lives says more than a lease that may
/// run out behind the back of a process that sleeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HolderKnown {
    /// Nothing: the lease decides.
    Nothing,
    /// It lives: it holds its lock.
    Alive,
    /// The runner with this token is gone: its lock was free after the journal
    /// named it. A later one may have come since.
    Gone(u64),
    /// The caller holds the lock itself: whoever held the run is gone.
    Excluded,
}
