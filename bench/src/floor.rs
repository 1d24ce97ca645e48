//! The floor: what the disk asks of anybody who wants to be sure.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

/// How much of a file is written at each flush.
const BYTES: usize = 512;
/// The size of the preallocated file.
const FILE_BYTES: usize = 4 << 20;

/// Opens, appends a line, flushes: all that the floor program does.
///
/// # Errors
///
/// When the file cannot be written.
pub fn append(path: &Path) -> io::Result<()> {
    let mut file = OpenOptions::new().append(true).create(true).open(path)?;
    file.write_all(b"something happened, and it is not to be forgotten\n")?;
    file.sync_data()
}

/// A preallocated file: a flush of it writes data and nothing else.
#[derive(Debug)]
pub struct Preallocated {
    file: File,
    at: usize,
}

impl Preallocated {
    /// Makes the file, with all of its blocks on the disk.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    pub fn create(path: &Path) -> io::Result<Self> {
        let mut file = File::create(path)?;
        file.write_all(&vec![b'.'; FILE_BYTES])?;
        file.sync_all()?;
        Ok(Self { file, at: 0 })
    }

    /// One floor flush: a write into the file and one fdatasync.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    pub fn flush(&mut self) -> io::Result<Duration> {
        let before = Instant::now();
        self.file.write_all_at(&[b'x'; BYTES], self.at as u64)?;
        self.file.sync_data()?;
        let took = before.elapsed();
        self.at = (self.at + BYTES) % FILE_BYTES;
        Ok(took)
    }
}
