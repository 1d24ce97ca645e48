//! A file that stands for a right as long as no other file has taken its place.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// An open file, as it was found at its path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileInPlace {
    path: PathBuf,
    device: u64,
    inode: u64,
}

impl FileInPlace {
    /// An open file that is at this path, or is to be. The number of the file is not given
    /// again as long as it is open.
    ///
    /// # Errors
    ///
    /// When the system does not say which file it is.
    pub fn of_file(file: &File, path: &Path) -> io::Result<Self> {
        let found = file.metadata()?;
        Ok(Self {
            path: path.to_owned(),
            device: found.dev(),
            inode: found.ino(),
        })
    }

    /// Whether another file is at its path. One that was only removed was not replaced.
    #[must_use]
    pub fn is_replaced(&self) -> bool {
        let found = fs::symlink_metadata(&self.path);
        found.is_ok_and(|found| (found.dev(), found.ino()) != (self.device, self.inode))
    }
}
