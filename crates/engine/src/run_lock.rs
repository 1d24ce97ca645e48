//! The lock that a runner holds while it lives, and the system frees when it dies.
//!
//! The lease in the journal says who holds a run; this lock says whether a
//! holder on this machine is still there, without waiting for the lease to run
//! out. It is one for all runs of a plan: they share a folder, its files and
//! the work tree. The file says which process took it last, so that a process
//! can find out that it descends from a runner.

use std::fs::{self, File, TryLockError};
use std::io::{ErrorKind, Seek as _, Write as _};
use std::path::PathBuf;

use piton_core::RunRow;

use crate::exchange::sha256;
use crate::failure::{Failure, unwritable};
use crate::input;
use crate::process::{Identity, myself};
use crate::project::Project;

/// A lock that is held. It is free again when this is dropped, or its process dies.
#[derive(Debug)]
pub struct RunLock {
    _file: File,
}

fn path(project: &Project, face: &str, source: &str) -> PathBuf {
    let plan = sha256(format!("{face}\n{source}").as_bytes());
    folder(project).join(format!("{plan}.lock"))
}

fn folder(project: &Project) -> PathBuf {
    project.home.join("locks")
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
        Ok(()) => {
            write_holder(&file).map_err(fault)?;
            Ok(Some(RunLock { _file: file }))
        }
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(fault(error)),
    }
}

/// Writes which process holds the lock, over the one that held it before.
fn write_holder(mut file: &File) -> std::io::Result<()> {
    let holder = serde_json::to_vec(&myself())?;
    file.rewind()?;
    file.write_all(&holder)?;
    file.set_len(holder.len() as u64)
}

/// Whether a plan was ever run here: without that there is no agent.
#[must_use]
pub fn was_ever_taken(project: &Project) -> bool {
    folder(project).exists()
}

/// The processes that took a lock here last, one for each plan. Most of them
/// are gone; what cannot be read is left out.
#[must_use]
pub fn holders(project: &Project) -> Vec<Identity> {
    let Ok(entries) = fs::read_dir(folder(project)) else {
        return Vec::new();
    };
    entries
        .flatten()
        .filter_map(|entry| serde_json::from_slice(&input::read(&entry.path()).ok()?).ok())
        .collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_names_the_process_that_took_it_last() {
        let folder = tempfile::tempdir().expect("a folder");
        let project = Project {
            root: folder.path().to_owned(),
            home: folder.path().join(".piton"),
            work_tree: folder.path().to_owned(),
            in_git: false,
        };
        assert_eq!(holders(&project), []);
        assert!(!was_ever_taken(&project));
        let lock = take(&project, "face", "demo").expect("it can be taken");
        assert!(lock.is_some());
        assert_eq!(holders(&project), [myself()]);
        drop(lock);
        assert!(was_ever_taken(&project));
        // A longer text of another process leaves nothing behind.
        let path = path(&project, "face", "demo");
        fs::write(&path, "x".repeat(5_000)).expect("written");
        assert_eq!(holders(&project), []);
        let lock = take(&project, "face", "demo").expect("it can be taken");
        assert_eq!(holders(&project), [myself()]);
        drop(lock);
    }
}
