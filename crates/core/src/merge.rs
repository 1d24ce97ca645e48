//! A unit in the merge queue: its states, and the steps between them.

use serde::{Deserialize, Serialize};

use crate::id::Node;

/// Where a unit in the merge queue stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MergeState {
    /// Its work is committed, and waits for its turn.
    Queued,
    /// Its work is committed, and waits for a person to look at it.
    InReview,
    /// Its work is in a pull request, and waits to be merged there; or a person is asked
    /// why it is not.
    Requested,
    /// The checks run on the merged tree.
    Checking,
    /// They passed: the target is moved to the commit.
    Passed,
    /// It conflicts, is red on the merged tree, or a person rejected it: an agent
    /// works on it again.
    Returned,
}

/// A merge commit that was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MergeCommit {
    /// The commit of the target that it was made on.
    pub onto: String,
    /// The merge commit.
    pub commit: String,
    /// Its tree.
    pub tree: String,
}

/// What is known of a unit in the merge queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MergeRow {
    /// Where it stands.
    pub state: MergeState,
    /// The commit of its work.
    pub work: String,
    /// The merge that is being checked, or has passed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made: Option<MergeCommit>,
    /// The check of the unit was changed since that merge was made: what comes of it
    /// says nothing of the check as it is.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub outdated: bool,
    /// How often it was returned since a person looked.
    #[serde(default, skip_serializing_if = "crate::item::is_zero")]
    pub returns: u32,
    /// Why it was returned last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<MergeReturn>,
}

impl MergeRow {
    /// Whether it is in the merge queue: neither returned nor waiting for a person.
    #[must_use]
    pub fn is_queued(&self) -> bool {
        match self.state {
            MergeState::Queued | MergeState::Checking | MergeState::Passed => true,
            MergeState::InReview | MergeState::Requested | MergeState::Returned => false,
        }
    }

    /// Whether the work is finished and waits to be merged, here or in a pull request, or
    /// for a review before.
    #[must_use]
    pub fn is_awaiting_merge(&self) -> bool {
        self.is_queued() || matches!(self.state, MergeState::InReview | MergeState::Requested)
    }

    /// Whether it was returned, and an agent is to see both sides of the merge.
    #[must_use]
    pub fn needs_both_sides(&self) -> bool {
        let why = self
            .why
            .as_ref()
            .filter(|_| self.state == MergeState::Returned);
        why.is_some_and(MergeReturn::needs_both_sides)
    }

    /// Whether it has the slot: its merge is being checked, or has passed.
    #[must_use]
    pub fn has_slot(&self) -> bool {
        matches!(self.state, MergeState::Checking | MergeState::Passed)
    }
}

/// Why a unit was returned to its agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "cause")]
pub enum MergeReturn {
    /// Both sides changed the same.
    Conflict {
        /// The files.
        files: Vec<String>,
    },
    /// A check that passed in the lane fails on the merged tree: green alone,
    /// and red together with other units.
    Red {
        /// The check.
        command: String,
        /// The last of what it printed.
        output: String,
        /// The units that were merged since the work on this one began.
        with: Vec<Node>,
        /// It is another check than the one that passed in the lane: it was given to
        /// the unit, or changed, since.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        changed: bool,
    },
    /// A check cannot be run on the merged tree: that says nothing of the work, and a
    /// person is asked.
    Unchecked {
        /// The check.
        command: String,
        /// The last of what it printed.
        output: String,
    },
    /// A person looked at the work, and wants it otherwise.
    Rejected {
        /// Who.
        by: String,
        /// What is to be otherwise.
        why: String,
    },
}

impl MergeReturn {
    /// Whether an agent is to see both sides: a merge of the two is begun for it.
    #[must_use]
    pub fn needs_both_sides(&self) -> bool {
        match self {
            Self::Conflict { .. } | Self::Red { .. } => true,
            Self::Unchecked { .. } | Self::Rejected { .. } => false,
        }
    }

    /// What a check printed; none where no check failed.
    #[must_use]
    pub fn check_output(&self) -> Option<&str> {
        match self {
            Self::Red { output, .. } | Self::Unchecked { output, .. } => Some(output),
            Self::Conflict { .. } | Self::Rejected { .. } => None,
        }
    }

    /// Why, in one line.
    #[must_use]
    pub fn describe_reason(&self) -> String {
        match self {
            Self::Conflict { files } => {
                format!("its work conflicts with the target in {}", files.join(", "))
            }
            Self::Red {
                command,
                changed: true,
                ..
            } => {
                format!("its check was changed after the work was done, and `{command}` fails")
            }
            Self::Red { command, with, .. } if with.is_empty() => {
                format!("`{command}` fails on the merged tree")
            }
            Self::Red { command, with, .. } => {
                let with: Vec<&str> = with.iter().map(Node::as_str).collect();
                let with = with.join(", ");
                format!("green alone, and red together with {with}: `{command}` fails")
            }
            Self::Unchecked { command, .. } => {
                format!("`{command}` cannot be run on the merged tree")
            }
            Self::Rejected { by, why } => format!("rejected by {by}: {why}"),
        }
    }
}

/// After so many returns a person is asked, where nothing was merged since the work
/// last saw both sides: an agent had all there is to see.
pub const RETURNS_MAX: u32 = 3;
/// And after so many, whatever was merged meanwhile.
pub const RETURNS_MAX_IN_ALL: u32 = 16;

/// A step of a unit through the merge queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "step")]
pub enum MergeStep {
    /// The merge was made: it takes the slot, and is checked next. Where nothing
    /// is to be checked it has passed.
    Start {
        /// What was made.
        made: MergeCommit,
        /// The merged tree is that on which the check of the item passed.
        is_checked: bool,
    },
    /// All checks passed on the merged tree.
    Pass,
    /// It conflicts, or is red.
    Return {
        /// Why.
        why: MergeReturn,
    },
    /// The target is elsewhere: it is made anew.
    Requeue,
    /// The target has all of it already: there is nothing to merge.
    Nothing {
        /// The commit of the target.
        at: String,
    },
    /// The target was moved to the merge.
    End,
}
