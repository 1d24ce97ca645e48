//! Where a run stands, why it is paused, and what is asked of its runner.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::id::Node;

/// Where a run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RunState {
    /// Nothing of it has been started.
    New,
    /// A runner works on it.
    Running,
    /// Its runner stopped or died; it goes on at the pointer.
    Interrupted,
    /// A person, the plan, a file or a limit paused it; see [`Pause`].
    Paused,
    /// It waits for a person's answer.
    Waiting,
    /// A node failed for good.
    Blocked,
    /// Every node is done or skipped.
    Done,
}

impl RunState {
    /// The name, as stored and shown.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Running => "running",
            Self::Interrupted => "interrupted",
            Self::Paused => "paused",
            Self::Waiting => "waiting",
            Self::Blocked => "blocked",
            Self::Done => "done",
        }
    }
}

impl fmt::Display for RunState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Why a run is paused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "cause")]
pub enum Pause {
    /// `piton pause`, by whom.
    Person {
        /// Who asked.
        by: String,
    },
    /// A file named `PAUSE` in the folder of the plan.
    File,
    /// The node says that people look at it before the run goes on.
    Breakpoint {
        /// The node that is finished.
        node: Node,
    },
    /// A limit of this invocation, or a budget, was reached.
    Limit {
        /// The limit in words: `max-iterations (5)`, `budget ($5.00)`.
        limit: String,
    },
}

impl Pause {
    /// Whether a budget is used up: that is not counted anew by the next invocation.
    #[must_use]
    pub fn is_budget(&self) -> bool {
        matches!(self, Self::Limit { limit } if limit.contains("budget ("))
    }

    /// The pause in one line, as native files show it.
    #[must_use]
    pub fn describe_reason(&self) -> String {
        match self {
            Self::Person { by } => format!("paused by {by}"),
            Self::File => "PAUSE file detected".to_owned(),
            Self::Breakpoint { node } => format!("breakpoint after {node}"),
            Self::Limit { limit } => format!("limit {limit}"),
        }
    }
}

/// What another process asks of a live runner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RunnerRequest {
    /// Pause at the next boundary.
    Pause,
    /// End the agent and stop now.
    Stop,
    /// Go on: what was asked before is withdrawn.
    GoOn,
}
