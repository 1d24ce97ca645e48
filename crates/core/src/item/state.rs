//! Where an item stands, and which stage of the work on it comes next.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Where an item stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ItemState {
    /// Something that it depends on is not done.
    Pending,
    /// It may be started.
    Ready,
    /// It, or something below it, has been started and is not finished.
    Working,
    /// It waits: for a person, or for a time.
    Waiting,
    /// It is done.
    Done,
    /// It failed for good.
    Failed,
    /// It is left out on purpose.
    Skipped,
    /// An agent claims that it cannot be done.
    Blocked,
    /// A person took it out of the file of its plan.
    Dropped,
}

impl ItemState {
    /// The name, as stored and shown.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Ready => "ready",
            Self::Working => "working",
            Self::Waiting => "waiting",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
            Self::Blocked => "blocked",
            Self::Dropped => "dropped",
        }
    }

    /// Whether nothing more is to be done: done, skipped or dropped.
    #[must_use]
    pub fn is_finished(self) -> bool {
        matches!(self, Self::Done | Self::Skipped | Self::Dropped)
    }

    /// Whether it is not to be done: skipped or dropped.
    #[must_use]
    pub fn is_left_out(self) -> bool {
        matches!(self, Self::Skipped | Self::Dropped)
    }

    /// Whether it ended badly: failed or blocked.
    #[must_use]
    pub fn is_broken(self) -> bool {
        matches!(self, Self::Failed | Self::Blocked)
    }

    /// Which moves there are at all. Every other one is a defect.
    #[must_use]
    pub fn can_become(self, to: Self) -> bool {
        use ItemState::{
            Blocked, Done, Dropped, Failed, Pending, Ready, Skipped, Waiting, Working,
        };
        match self {
            Pending => matches!(to, Ready | Done | Skipped | Dropped),
            // It waits: for work on another branch, or as its plan says.
            Ready => matches!(to, Pending | Working | Waiting | Done | Skipped | Dropped),
            // Back to pending: it was split, and waits for its pieces.
            Working => matches!(
                to,
                Pending | Ready | Waiting | Done | Failed | Skipped | Blocked | Dropped
            ),
            Waiting | Failed | Blocked => {
                matches!(to, Pending | Ready | Working | Done | Skipped | Dropped)
            }
            Skipped | Dropped => matches!(to, Pending | Ready | Working | Done),
            Done => matches!(to, Pending | Ready | Working),
        }
    }
}

impl fmt::Display for ItemState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What comes next for an item that is being worked on.
///
/// Every item passes through the stages that it has, in this order; a failed
/// gate leads to [`Stage::Fix`] and back, a failure may lead to
/// [`Stage::Repair`] or [`Stage::Split`] and from there to [`Stage::Work`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// An agent does it, or its children are done one by one.
    #[default]
    Work,
    /// Its gate is to be run.
    Gate,
    /// An agent is to mend what the gate found.
    Fix,
    /// What changed is to be committed.
    Commit,
    /// An agent is to put the workspace in order before the work begins again.
    Repair,
    /// An agent is to say into which pieces it is to be split.
    Split,
    /// Its check runs before its first attempt.
    Baseline,
    /// The agent is to be asked once more what came of its work.
    Verdict,
    /// The hooks of the plan run, one after another.
    IterationHooks,
    /// Its work is in the merge queue.
    Merge,
    /// An agent is to see both sides of a merge that conflicts or is red.
    Resolve,
    /// An agent is to review what was made, before it is committed.
    Review,
}

impl Stage {
    /// Whether what comes next is done by an agent.
    #[must_use]
    pub fn needs_agent(self) -> bool {
        match self {
            // After the check that runs first, an agent is started.
            Self::Work
            | Self::Baseline
            | Self::Fix
            | Self::Repair
            | Self::Split
            | Self::Verdict
            | Self::IterationHooks
            | Self::Resolve
            | Self::Review => true,
            Self::Gate | Self::Commit | Self::Merge => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [ItemState; 9] = [
        ItemState::Pending,
        ItemState::Ready,
        ItemState::Working,
        ItemState::Waiting,
        ItemState::Done,
        ItemState::Failed,
        ItemState::Skipped,
        ItemState::Blocked,
        ItemState::Dropped,
    ];

    #[test]
    fn every_state_has_a_way_out_or_is_done() {
        for from in ALL {
            let ways = ALL.iter().filter(|to| from.can_become(**to)).count();
            assert!(ways > 0, "{from} is a dead end");
            assert!(!from.can_become(from), "{from} to itself says nothing");
        }
    }

    #[test]
    fn a_pending_item_starts_only_by_becoming_ready() {
        assert!(!ItemState::Pending.can_become(ItemState::Working));
        assert!(ItemState::Pending.can_become(ItemState::Ready));
    }
}
