//! Iteration hooks: what a plan wants an agent to be told after each item that
//! an agent worked on, such as to learn from the transcript.
//!
//! They run when the work of an item and its check are over, before it is
//! committed and done, one after another. What comes of one is recorded and
//! changes nothing: not the item, not what proves it, not the run.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::attempt::{Outcome, Report};

/// What an agent is told after each item.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IterationHook {
    /// Its id, once in a plan.
    pub id: String,
    /// What the agent is told, its variables not filled in.
    pub prompt: String,
}

/// A hook that ran, or runs, at an item.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IterationHookRun {
    /// The id of the hook.
    pub id: String,
    /// Which agent of the run it followed, from 1.
    pub iteration: u32,
    /// When its agent was started.
    pub started_at: Timestamp,
    /// What came of it; none while it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<IterationHookEnd>,
}

/// What came of a hook.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IterationHookEnd {
    /// When.
    pub at: Timestamp,
    /// Whether its agent completed.
    pub completed: bool,
    /// The exit status of its agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<i32>,
    /// Where its transcript is, within the folder of piton.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transcript: Option<String>,
}

/// Notes that the agent of a hook is started; what was begun before and has no
/// end was cut off.
pub(crate) fn record_hook_start(
    runs: &mut Vec<IterationHookRun>,
    id: &str,
    iteration: u32,
    at: Timestamp,
) {
    runs.retain(|run| run.end.is_some());
    runs.push(IterationHookRun {
        id: id.to_owned(),
        iteration,
        started_at: at,
        end: None,
    });
}

/// Notes what came of the agent of a hook. One that was interrupted is started
/// again: its outcome is not known.
pub(crate) fn record_hook_end(runs: &mut Vec<IterationHookRun>, report: &Report, at: Timestamp) {
    if report.outcome == Outcome::Interrupted {
        runs.retain(|run| run.end.is_some());
        return;
    }
    if let Some(run) = runs.last_mut() {
        let transcript = report.program.transcript.as_ref();
        run.end = Some(IterationHookEnd {
            at,
            completed: report.outcome == Outcome::Completed,
            exit: report
                .program
                .process
                .as_ref()
                .and_then(|process| process.code),
            transcript: transcript.map(|transcript| transcript.path.clone()),
        });
    }
}
