//! What is under way, and how it ends.

use jiff::Timestamp;

use super::effects::{LaneEnd, MergeEnd, PullRequestOpenEnd};
use crate::attempt::Report;
use crate::gate::GateReport;
use crate::id::{AttemptId, Node};
use crate::recover::Recovery;
use crate::usage::Usage;

/// Work on an item that was started and whose end the loop has not taken in.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct OngoingWork {
    /// The token with which the item was taken.
    pub(super) fence: u64,
    /// What its agent has used so far; none for a gate and for a commit.
    pub(super) live: Option<Usage>,
    /// The budget for which it was asked to end.
    pub(super) used_up: Option<String>,
    /// It was asked to end because a person leaves its item out.
    pub(super) is_left_out: bool,
    /// It is a merge, which needs no worker.
    pub(super) is_merge: bool,
}

/// How work on an item ended.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum WorkEnd {
    Agent {
        attempt: AttemptId,
        node: Node,
        report: Box<Report>,
        recovery: Option<Box<Recovery>>,
    },
    Gate {
        node: Node,
        report: GateReport,
        recovery: Option<Box<Recovery>>,
    },
    Commit {
        node: Node,
        result: Result<Option<String>, String>,
    },
    CommitStopped {
        node: Node,
    },
    Lane {
        node: Node,
        end: LaneEnd,
    },
    WorkLost {
        node: Node,
        why: String,
    },
    Merge {
        node: Node,
        end: MergeEnd,
    },
    Opening {
        node: Node,
        end: PullRequestOpenEnd,
        /// When it ended.
        at: Timestamp,
    },
}

impl WorkEnd {
    pub(super) fn node(&self) -> &Node {
        match self {
            Self::Agent { node, .. }
            | Self::Gate { node, .. }
            | Self::Commit { node, .. }
            | Self::CommitStopped { node }
            | Self::Lane { node, .. }
            | Self::WorkLost { node, .. }
            | Self::Opening { node, .. }
            | Self::Merge { node, .. } => node,
        }
    }
}
