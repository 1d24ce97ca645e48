//! How a run stands, in the one word that is shown for it everywhere.
//!
//! The journal knows what was recorded; a runner that died recorded nothing of
//! its death. So the word is made of the row and of the lock of the plan.

use piton_core::run::{Pause, PendingRequest, RunnerRequest};
use piton_core::{DecisionRow, RunRow, RunState};

use crate::failure::{CommandExit, larger_budget};
use crate::process::shell::quote_word;
use crate::project::Project;
use crate::runner::run_lock;

/// How a run stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunStanding {
    /// Its state: `interrupted` where the journal says `running` and its runner
    /// is dead.
    pub state: RunState,
    /// A runner works on it, or waits for a person in it.
    pub is_live: bool,
    /// What was asked of its runner and has not happened yet.
    pub asked: Option<PendingRequest>,
}

impl RunStanding {
    /// That of a run of a project.
    #[must_use]
    pub fn of_run(project: &Project, row: &RunRow) -> Self {
        let is_live = row.runners().next().is_some() && !run_lock::is_free(project, row);
        Self {
            state: if row.state == RunState::Running && !is_live {
                RunState::Interrupted
            } else {
                row.state
            },
            is_live,
            asked: row.invocation.asked.clone().filter(|_| is_live),
        }
    }

    /// What was asked of its runner and has not happened yet, in a sentence that
    /// says how to withdraw it.
    #[must_use]
    pub fn describe_request(&self, name: &str) -> Option<String> {
        let asked = self.asked.as_ref()?;
        let by = &asked.by;
        let name = quote_word(name);
        match asked.request {
            RunnerRequest::Pause => Some(format!(
                "{by} asked for a pause: the run pauses when the attempt under way has ended; `piton resume {name}` withdraws that"
            )),
            RunnerRequest::Stop => Some(format!(
                "{by} asked it to stop: the attempt under way is being ended"
            )),
            RunnerRequest::GoOn => None,
        }
    }
}

/// What the process ends with when an invocation ended in this state, with
/// these questions about files open.
#[must_use]
pub fn exit_of_run(row: &RunRow, open: &[DecisionRow]) -> CommandExit {
    match row.state {
        // All that is known is done; what the plan says by now is not known.
        RunState::Done if open.iter().any(|asked| asked.run == row.id) => CommandExit::Waits,
        RunState::Done => CommandExit::Done,
        RunState::Waiting => CommandExit::Waits,
        RunState::Blocked => CommandExit::No,
        RunState::Paused if matches!(row.pause, Some(Pause::Limit { .. })) => CommandExit::Limit,
        RunState::Paused => CommandExit::Waits,
        RunState::New | RunState::Running | RunState::Interrupted => CommandExit::Interrupted,
    }
}

/// What to type next: the way out of each state.
pub(crate) fn next_command(row: &RunRow, standing: &RunStanding) -> Option<String> {
    let name = quote_word(&row.name);
    match standing.state {
        RunState::Done => None,
        RunState::Running => Some(format!("piton status {name} --watch")),
        RunState::Waiting if row.pause.is_some() => Some(format!("piton resume {name}")),
        RunState::Waiting | RunState::Blocked => Some("piton inbox".to_owned()),
        RunState::Paused if larger_budget_flag(row).is_some() => {
            let flag = larger_budget_flag(row).unwrap_or_default();
            Some(format!("piton run {name} {flag}"))
        }
        RunState::Paused if matches!(row.pause, Some(Pause::Limit { .. })) => {
            Some(format!("piton run {name}"))
        }
        RunState::New | RunState::Interrupted => Some(format!("piton run {name}")),
        RunState::Paused => Some(format!("piton resume {name}")),
    }
}

/// The flag for a larger budget, where the run is paused at its own.
fn larger_budget_flag(row: &RunRow) -> Option<String> {
    let Some(Pause::Limit { limit }) = &row.pause else {
        return None;
    };
    larger_budget(limit.strip_prefix("budget (")?, &row.spent.spend)
}
