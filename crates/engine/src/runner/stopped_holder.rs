//! A process that was stopped while it holds a run: until when the run is its own.

use jiff::Timestamp;
use piton_core::{Need, RunRow};

use super::run_lock::{self, locks_of_living_runners};
use crate::failure::Failure;
use crate::process::ProcessIdentity;
use crate::session::Session;

/// A process that was stopped and has the lock on the plan of a run.
#[derive(Clone, Debug)]
pub struct StoppedHolder {
    /// The process.
    pub process: ProcessIdentity,
    /// When the lease of the runner that holds the run ends, and whether it has. None where
    /// no runner holds it: the process has not taken it yet, or has given it back.
    pub lease: Option<(Timestamp, LeaseState)>,
}

/// Whether a lease still holds, by the clock of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeaseState {
    /// It does.
    Held,
    /// It does not.
    Ended,
}

impl StoppedHolder {
    /// The process that has the lock on the plan of a run, where that was stopped and no
    /// other living process works on the run.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    pub fn find(session: &Session<'_>, row: &RunRow) -> Result<Option<Self>, Failure> {
        let project = &session.project;
        let stopped = run_lock::find_stopped_holder(project, row);
        let stopped = stopped.filter(|_| locks_of_living_runners(project, row).is_empty());
        let Some(process) = stopped else {
            return Ok(None);
        };
        let rows = session.load(&[Need::Leases(row.id)])?;
        let lease = row.holder.as_ref().map(|holder| {
            let ends = rows.leases.get(&holder.token).copied();
            let ends = ends.unwrap_or(Timestamp::MIN);
            match ends > rows.now {
                true => (ends, LeaseState::Held),
                false => (ends, LeaseState::Ended),
            }
        });
        Ok(Some(Self { process, lease }))
    }

    /// Whether the run may be taken from it.
    #[must_use]
    pub fn has_lost_run(&self) -> bool {
        self.lease
            .is_some_and(|(_, state)| state == LeaseState::Ended)
    }
}
