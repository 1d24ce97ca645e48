//! Pause, stop and resume: what a person asks of a run.

use super::dead_runner::release_dead_runner;
use super::event_buffer::{EventBuffer, StateReason};
use crate::decision::{DecisionKind, Verb};
use crate::event::{DecisionEvent, RunEvent};
use crate::id::RunId;
use crate::refusal::Refusal;
use crate::run::{Pause, PendingRequest, RunState, RunnerRequest};

pub(super) fn request_pause(story: &mut EventBuffer<'_>, run: RunId) -> Result<(), Refusal> {
    release_dead_runner(story, run)?;
    let by = story.facts.actor.name().to_owned();
    match story.require_run(run)?.state {
        RunState::Running => story.append(RunEvent::Asked {
            run,
            request: RunnerRequest::Pause,
            by,
        }),
        RunState::New | RunState::Interrupted => story.move_run(
            run,
            RunState::Paused,
            StateReason::from_pause(Pause::Person { by }),
        ),
        RunState::Paused | RunState::Waiting | RunState::Blocked | RunState::Done => {
            return Err(story.wrong_run_state(run));
        }
    }
    Ok(())
}

pub(super) fn request_stop(story: &mut EventBuffer<'_>, run: RunId) -> Result<(), Refusal> {
    let was_running = story.require_run(run)?.state == RunState::Running;
    release_dead_runner(story, run)?;
    let held = story.has_live_runner(run);
    if !was_running && !held {
        return Err(story.wrong_run_state(run));
    }
    if held {
        let by = story.facts.actor.name().to_owned();
        story.append(RunEvent::Asked {
            run,
            request: RunnerRequest::Stop,
            by,
        });
    }
    Ok(())
}

pub(super) fn resume_run(story: &mut EventBuffer<'_>, run: RunId) -> Result<(), Refusal> {
    let row = story.require_run(run)?.clone();
    let holder = row.runners().next().cloned();
    if row.state == RunState::Running
        && story.has_live_runner(run)
        && let Some(holder) = holder
    {
        return withdraw_pause_request(story, run, row.invocation.asked).map_err(|()| {
            Refusal::Busy {
                name: row.name,
                holder,
            }
        });
    }
    release_dead_runner(story, run)?;
    // Nor one that was asked for before the run came to wait for a person.
    let waits = matches!(row.state, RunState::Waiting | RunState::Blocked) && row.pause.is_none();
    if waits && withdraw_pause_request(story, run, row.invocation.asked).is_ok() {
        return Ok(());
    }
    match story.require_run(run)?.state {
        // A resume takes back a pause that no runner met.
        RunState::Interrupted if story.require_run(run)?.invocation.asked.is_some() => {
            story.move_run(run, RunState::Interrupted, StateReason::default());
        }
        RunState::Interrupted => {}
        // A wait that has a pause is one at a breakpoint.
        RunState::Paused | RunState::Waiting if story.require_run(run)?.pause.is_some() => {
            approve_breakpoints(story, run);
            story.move_run(run, RunState::Interrupted, StateReason::default());
        }
        RunState::New
        | RunState::Running
        | RunState::Paused
        | RunState::Waiting
        | RunState::Blocked
        | RunState::Done => {
            return Err(story.wrong_run_state(run));
        }
    }
    Ok(())
}

/// Takes back a pause that the runner has not come to yet; an error where none
/// was asked for.
fn withdraw_pause_request(
    story: &mut EventBuffer<'_>,
    run: RunId,
    asked: Option<PendingRequest>,
) -> Result<(), ()> {
    let pauses = asked.is_some_and(|asked| asked.request == RunnerRequest::Pause);
    if !pauses {
        return Err(());
    }
    let by = story.facts.actor.name().to_owned();
    story.append(RunEvent::Asked {
        run,
        request: RunnerRequest::GoOn,
        by,
    });
    Ok(())
}

/// Settles what was asked at breakpoints: the run goes on after them.
fn approve_breakpoints(story: &mut EventBuffer<'_>, run: RunId) {
    let open = story.tables.open_decisions(run);
    let asked: Vec<_> = open
        .filter(|row| row.kind == DecisionKind::Breakpoint)
        .map(|row| row.id)
        .collect();
    for decision in asked {
        story.append(DecisionEvent::Made {
            decision,
            verb: Verb::Approve,
            why: None,
            answer: None,
        });
    }
}

/// At a breakpoint an approval is a resume; when the run has moved on since,
/// or is paused for another reason, it is a note.
pub(super) fn resume_at_breakpoint(story: &mut EventBuffer<'_>, run: RunId) -> Result<(), Refusal> {
    match story.require_run(run)?.pause {
        Some(Pause::Breakpoint { .. }) => resume_run(story, run),
        Some(Pause::Person { .. } | Pause::File | Pause::Limit { .. }) | None => Ok(()),
    }
}
