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

    /// Whether another file is at its path, or may be, where the system does not say. One
    /// that was only removed was not replaced.
    #[must_use]
    pub fn is_replaced(&self) -> bool {
        match fs::symlink_metadata(&self.path) {
            Ok(found) => (found.dev(), found.ino()) != (self.device, self.inode),
            Err(error) => error.kind() != io::ErrorKind::NotFound,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_whose_place_cannot_be_looked_at_counts_as_replaced() {
        let folder = tempfile::tempdir().expect("a folder");
        let locks = folder.path().join("locks");
        fs::create_dir(&locks).expect("made");
        let path = locks.join("plan.lock");
        let file = File::create(&path).expect("made");
        let held = FileInPlace::of_file(&file, &path).expect("it is open");
        assert!(!held.is_replaced());
        fs::remove_file(&path).expect("gone");
        assert!(!held.is_replaced(), "it was only removed");
        fs::remove_dir(&locks).expect("gone");
        std::os::unix::fs::symlink("locks", &locks).expect("a link to itself");
        assert!(held.is_replaced());
    }
}
