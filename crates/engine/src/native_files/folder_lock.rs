//! What two commands that write the file of a plan at once wait for.

use std::fs::{File, OpenOptions, TryLockError};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::time::Duration;

use rustix::fs::OFlags;

use super::text_change::changed_meanwhile;
use crate::failure::Failure;
use crate::world::pause;

/// Between two looks at a lock that another command holds.
const REST: Duration = Duration::from_millis(5);
/// So many looks, ten seconds, a command waits for another one that writes there.
const LOOKS_MAX: u32 = 2_000;

/// The lock of the folder that a file lies in, as long as this lives. It leaves nothing
/// behind: the folder itself is locked, see flock(2).
#[derive(Debug)]
pub(crate) struct FolderLock {
    _folder: Option<File>,
}

impl FolderLock {
    /// Waits until no other command holds the folder of `file`. Where a file system has no
    /// such locks, nothing is held: what is written is compared with what was read all the
    /// same.
    ///
    /// # Errors
    ///
    /// When another command has held it for too long.
    pub(crate) fn hold(file: &Path) -> Result<Self, Failure> {
        let Some(folder) = file.parent().and_then(open_folder) else {
            return Ok(Self { _folder: None });
        };
        for _ in 0..LOOKS_MAX {
            match folder.try_lock() {
                Ok(()) => {
                    return Ok(Self {
                        _folder: Some(folder),
                    });
                }
                Err(TryLockError::WouldBlock) => pause(REST),
                Err(TryLockError::Error(_)) => return Ok(Self { _folder: None }),
            }
        }
        Err(changed_meanwhile(file))
    }
}

/// None where it cannot be opened, or is no folder: then nothing waits for what would
/// open it.
fn open_folder(folder: &Path) -> Option<File> {
    let flags = OFlags::DIRECTORY.bits().cast_signed();
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(flags).open(folder).ok()
}
