//! `piton plan clean`: takes away what a run has of its own beside its work.

use super::Told;
use super::control::start;
use crate::config::Config;
use crate::failure::Failure;
use crate::run_lock;
use crate::runner;
use crate::session::{Session, no_runs};
use crate::worktree::{self, Occasion, Removal, RemovedWorktree};
use crate::world::World;

/// Removes the worktree of a run that is not worked on; none where it has none.
/// Its branch stays.
///
/// # Errors
///
/// When there is no such run, it is worked on, or its worktree stays, with the
/// reason.
pub fn clean(
    world: &World,
    run: &str,
    told: &mut Told<'_>,
) -> Result<Option<RemovedWorktree>, Failure> {
    let Some(session) = Session::write(world, &start(world, Some(run)))? else {
        return Err(no_runs());
    };
    let row = session.run_named(run)?;
    if let Some(holder) = row.holder.clone()
        && !run_lock::is_free(&session.project, &row)
    {
        let name = row.name;
        return Err(piton_core::Refusal::Busy { name, holder }.into());
    }
    // What a dead runner left may still work there.
    let grace = Config::load(&session.project)?.agent.limits().grace;
    runner::clear_up(&session, row.id, grace, told)?;
    match worktree::remove(&session, &row, Occasion::Asked, told)? {
        Some(Removal::Removed(removed)) => Ok(Some(removed)),
        Some(Removal::Stays(why)) => Err(why),
        None => Ok(None),
    }
}
