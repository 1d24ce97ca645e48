//! The branch that the work of a run goes to.

use serde::{Deserialize, Serialize};

/// The branch that the work of a run goes to, where it has one of its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TargetRow {
    /// The branch: `piton/RUN`, or that of the plan's own worktree.
    pub branch: String,
    /// The commit at which the work of the run begins.
    pub base: String,
    /// The commit of the branch that the journal recorded last.
    pub tip: String,
    /// The branch that was checked out when the target was chosen, and that the
    /// work is for; none where `HEAD` named a commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub onto: Option<String>,
    /// The folder of the worktree in which the branch is checked out, where the
    /// plan asks for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// That worktree was there before: it is somebody's, and piton takes it away only
    /// where a person says so.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub was_there: bool,
}
