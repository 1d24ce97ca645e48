//! What the system says of a file, without reading it.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

/// What tells, without reading it, that a file is the one that was written last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatFingerprint {
    bytes: u64,
    modified: i64,
    pub(super) changed: i64,
    inode: u64,
}

impl StatFingerprint {
    /// What the system says of the file at `path`; none when there is none.
    #[must_use]
    pub fn of_path(path: &Path) -> Option<Self> {
        let found = fs::metadata(path).ok()?;
        #[cfg(unix)]
        let (inode, changed) = {
            use std::os::unix::fs::MetadataExt as _;
            let nanos = found.ctime().saturating_mul(1_000_000_000);
            (found.ino(), nanos.saturating_add(found.ctime_nsec()))
        };
        #[cfg(not(unix))]
        let (inode, changed) = (0, 0);
        let modified = found.modified().ok()?;
        let modified = modified.duration_since(std::time::UNIX_EPOCH).ok()?;
        Some(Self {
            bytes: found.len(),
            modified: i64::try_from(modified.as_nanos()).ok()?,
            changed,
            inode,
        })
    }

    /// The size of the file.
    #[must_use]
    pub fn size_bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether it is the same file with the same contents. An exchange changes
    /// when it was last *changed*, not when it was last *modified*.
    pub(super) fn is_same_version(&self, other: &Self) -> bool {
        (self.bytes, self.modified, self.inode) == (other.bytes, other.modified, other.inode)
    }
}
