//! Several runners of one run: one of them holds it, the others have joined.
//!
//! A runner that joined works on units in lanes of its own. The merge queue, the
//! native files and what is decided for the whole run belong to the one that holds
//! it; where that one is gone, another one holds it.

use super::event_buffer::EventBuffer;
use super::guards::{HeldRun, check_runner};
use crate::event::RunEvent;
use crate::id::RunId;
use crate::refusal::Refusal;
use crate::run::RunState;

/// Lets another runner work on a run that is worked on in lanes.
pub(super) fn join_run(
    story: &mut EventBuffer<'_>,
    run: RunId,
    owner: &str,
    lock: &str,
) -> Result<(), Refusal> {
    let row = story.require_run(run)?;
    let is_worked_on = row.runners().next().is_some();
    if row.state != RunState::Running || row.branches.lanes.is_none() || !is_worked_on {
        return Err(story.wrong_run_state(run));
    }
    let token = row.fence + 1;
    story.append(RunEvent::LeaseTaken {
        run,
        owner: owner.to_owned(),
        token,
        joins: Some(lock.to_owned()),
    });
    Ok(())
}

/// Hands a run to a runner that joined it, where the one that held it is gone.
pub(super) fn take_over_run(story: &mut EventBuffer<'_>, held: HeldRun) -> Result<(), Refusal> {
    check_runner(story, held)?;
    let (run, token) = held;
    let row = story.require_run(run)?.clone();
    let mut joined = row.joined.into_iter();
    let Some(me) = joined.find(|joined| joined.token == token) else {
        // It holds the run already.
        return Ok(());
    };
    if let Some(holder) = row.holder {
        if story.is_runner_alive(holder.token) {
            let name = row.name;
            return Err(Refusal::Busy { name, holder });
        }
        story.append(RunEvent::LeaseLost {
            run,
            owner: holder.owner,
            token: holder.token,
        });
    }
    story.append(RunEvent::LeaseTaken {
        run,
        owner: me.owner,
        token,
        joins: None,
    });
    Ok(())
}

/// Notes that a runner that joined is gone: its units are settled by the one that
/// holds the run.
pub(super) fn record_lost_runner(
    story: &mut EventBuffer<'_>,
    held: HeldRun,
    lost: u64,
) -> Result<(), Refusal> {
    check_runner(story, held)?;
    let run = held.0;
    let mut joined = story.require_run(run)?.joined.iter();
    let gone = joined.find(|joined| joined.token == lost).cloned();
    let Some(gone) = gone else {
        return Ok(());
    };
    if story.is_runner_alive(lost) {
        return Err(story.wrong_run_state(run));
    }
    story.append(RunEvent::LeaseLost {
        run,
        owner: gone.owner,
        token: lost,
    });
    Ok(())
}
