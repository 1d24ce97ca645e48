//! What ran here before there was trust is trusted, once.

use jiff::{SignedDuration, Timestamp};
use piton_core::trust::{parts_of_run, without_repeats};
use piton_core::{Need, RunRow};

use crate::config::trust::TrustCheck;
use crate::failure::Failure;
use crate::project::Project;
use crate::session::Session;
use crate::world::World;

/// Trusts what the runs of a project have executed here, where the register does not know
/// the project yet.
pub(super) fn adopt_earlier_runs(
    world: &World,
    project: &Project,
    trust: &TrustCheck,
) -> Result<(), Failure> {
    if trust.knows_project() {
        return Ok(());
    }
    let mut parts = Vec::new();
    if let Some(session) = Session::open_read_only(world, &project.root)? {
        let mut runs = session.runs()?;
        runs.retain(|row| row.invocation.invocations > 0);
        let is_own = was_made_here(&session.project, &runs, world.now());
        for row in runs.iter().filter(|_| is_own) {
            let needs = [Need::Run(row.id), Need::Tree(row.id)];
            parts.extend(parts_of_run(&session.load(&needs)?.tables, row.id));
        }
    }
    trust.adopt(world, &without_repeats(parts));
    Ok(())
}

/// Whether the store of a project was made on this machine, and what its runs say of
/// their beginnings lies between that and now. Of a folder that came from elsewhere with
/// its store it does not: what its journal says to have run here may never have.
fn was_made_here(project: &Project, runs: &[RunRow], now: Timestamp) -> bool {
    let made = std::fs::metadata(project.home.join("journal.db")).and_then(|found| found.created());
    let Some(made) = made.ok().and_then(|made| Timestamp::try_from(made).ok()) else {
        return false;
    };
    // The store is made a moment after the time that its first command goes by.
    let made = made.saturating_sub(SignedDuration::from_secs(2));
    let made = made.unwrap_or(Timestamp::MIN);
    runs.iter()
        .all(|run| (made..=now).contains(&run.created_at))
}
