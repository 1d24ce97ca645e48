//! A gate: the script that says whether an item is done.

use serde::{Deserialize, Serialize};

/// What must pass before an item is done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gate {
    /// Run by `sh -c` in the work tree; passes with exit status 0.
    pub script: String,
    /// What the agent is told when it fails.
    pub on_fail_prompt: String,
    /// How often the script is run at most.
    pub runs_max: u32,
    /// How long one run may take, in seconds.
    pub timeout_s: u64,
}

/// Whether a shell that ended with this status could not run its script at all:
/// it was not found, or is no program.
#[must_use]
pub fn cannot_run(exit: Option<i32>) -> bool {
    matches!(exit, Some(126 | 127))
}

/// How the gate of an item fared.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateRuns {
    /// How often the script was run.
    pub runs: u32,
    /// Whether the last run passed.
    pub passed: bool,
    /// Whether a run is under way.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub open: bool,
    /// The last run's output, its end, at most 10,000 characters.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub output: String,
    /// The last run's exit status; -1 when it ran out of time, none when it ended by a signal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<i32>,
    /// What was wrong, in one line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The tree on which the last run ran; none where nobody could look.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<String>,
    /// How long the last run took, in seconds.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub took_s: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "what serde asks for")]
fn is_zero(seconds: &u64) -> bool {
    *seconds == 0
}

/// What came of a run of a gate's script.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateReport {
    /// Whether it passed.
    pub passed: bool,
    /// It was ended from outside, or nobody knows how it ended: it does not count.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub interrupted: bool,
    /// Its exit status; -1 when it ran out of time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<i32>,
    /// The end of its output, at most 10,000 characters.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub output: String,
    /// What was wrong, in one line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The tree on which it ran; none where nobody could look.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<String>,
    /// How long it took, in seconds.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub took_s: u64,
}
