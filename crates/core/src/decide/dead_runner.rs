//! How it is recorded that a runner is gone.

use super::event_buffer::{EventBuffer, StateReason};
use crate::event::RunEvent;
use crate::id::RunId;
use crate::refusal::Refusal;
use crate::run::{PendingRequest, RunState, RunnerRequest};

/// Notes that the runner is gone, if the run says otherwise.
pub(super) fn release_dead_runner(story: &mut EventBuffer<'_>, run: RunId) -> Result<(), Refusal> {
    let row = story.require_run(run)?.clone();
    if story.has_live_runner(run) {
        return Ok(());
    }
    for holder in row.runners().cloned() {
        story.append(RunEvent::LeaseLost {
            run,
            owner: holder.owner,
            token: holder.token,
        });
    }
    if row.state == RunState::Running {
        story.move_run(
            run,
            RunState::Interrupted,
            StateReason::from_reason("its runner died"),
        );
        renew_pause_request(story, run, row.invocation.asked);
    }
    Ok(())
}

/// A pause that was asked of a runner that died is still wanted; a stop is met
/// by its death.
pub(super) fn renew_pause_request(
    story: &mut EventBuffer<'_>,
    run: RunId,
    asked: Option<PendingRequest>,
) {
    if let Some(PendingRequest {
        request: RunnerRequest::Pause,
        by,
    }) = asked
    {
        story.append(RunEvent::Asked {
            run,
            request: RunnerRequest::Pause,
            by,
        });
    }
}
