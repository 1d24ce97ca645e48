//! The lock that a runner holds while it lives, and the system frees when it dies.
//!
//! The lease in the journal says who holds a run; this lock says whether a
//! holder on this machine is still there, without waiting for the lease to run
//! out. It is one for all runs of a plan: they share a folder, its files and
//! the work tree.

use std::fs::{self, File, TryLockError};
use std::io::ErrorKind;
use std::path::PathBuf;

use piton_core::RunRow;

use crate::exchange::sha256;
use crate::failure::{Failure, unwritable};
use crate::project::Project;

/// A lock that is held. It is free again when this is dropped, or its process dies.
#[derive(Debug)]
pub struct RunLock {
    _file: File,
}

fn path(project: &Project, face: &str, source: &str) -> PathBuf {
    let plan = sha256(format!("{face}\n{source}").as_bytes());
    project.home.join("locks").join(format!("{plan}.lock"))
}

/// Takes the lock on a plan; none when a living process holds it.
///
/// # Errors
///
/// When the file of the lock cannot be made.
pub fn take(project: &Project, face: &str, source: &str) -> Result<Option<RunLock>, Failure> {
    let path = path(project, face, source);
    let fault = |error| unwritable(&path, error);
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(fault)?;
    }
    let file = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&path)
        .map_err(fault)?;
    match file.try_lock() {
        Ok(()) => Ok(Some(RunLock { _file: file })),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(fault(error)),
    }
}

/// Whether no living process of this machine holds the lock on the plan of a
/// run. What cannot be found out counts as held.
#[must_use]
pub fn is_free(project: &Project, run: &RunRow) -> bool {
    match File::open(path(project, &run.face, &run.source)) {
        // Shared, so that two who look do not take each other for a runner.
        Ok(file) => file.try_lock_shared().is_ok(),
        Err(error) => error.kind() == ErrorKind::NotFound,
    }
}
