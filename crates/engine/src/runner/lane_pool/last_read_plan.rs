//! `plan`: the plan file of a lane as it was read there last. What an agent changes
//! in it is told by this.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::register::write_atomically;
use super::{LaneFault, file_fault_at};
use crate::world::input;

/// Its name in the folder of the lane.
const NAME: &str = "plan";

/// The version of the plan file that was read last in a lane. It lies beside the
/// worktree, so that a runner that goes on in the lane knows it as well.
#[derive(Clone, Debug)]
pub struct LastReadPlan {
    folder: PathBuf,
}

impl LastReadPlan {
    pub(super) fn for_lane(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
        }
    }

    /// Takes the version that is in the lane, before an agent works there, as read.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    pub fn record_initial(&self, plan: &Path) -> Result<(), LaneFault> {
        match read_plan_file(plan) {
            Some(bytes) => self.write(&bytes),
            None => self.forget(),
        }
    }

    /// The version that was read last; none where the lane began without one.
    #[must_use]
    pub fn read(&self) -> Option<String> {
        input::read_file_text(self.folder.join(NAME)).ok()
    }

    /// Notes the version that was read.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    pub fn write(&self, bytes: &[u8]) -> Result<(), LaneFault> {
        let path = self.folder.join(NAME);
        write_atomically(&self.folder, &path, bytes).map_err(file_fault_at(&path))
    }

    fn forget(&self) -> Result<(), LaneFault> {
        let path = self.folder.join(NAME);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(file_fault_at(&path)(error)),
            _ => Ok(()),
        }
    }
}

/// What stands in a plan file; none where it is no regular file: an agent may have
/// put anything in its place.
#[must_use]
pub fn read_plan_file(plan: &Path) -> Option<Vec<u8>> {
    let found = fs::symlink_metadata(plan).ok()?;
    found
        .is_file()
        .then(|| input::read_file(plan).ok())
        .flatten()
}
