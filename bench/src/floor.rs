//! The floor: what the disk asks of anybody who wants to be sure.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::Result;
use crate::bed::Bed;

/// The floor program in C.
const SOURCE: &str = include_str!("floor.c");

/// How much of a file is written at each flush.
const BYTES: usize = 512;
/// The size of the preallocated file.
const FILE_BYTES: usize = 4 << 20;

/// The floor program as it is measured here, and what it is written in.
#[derive(Clone, Debug)]
pub struct FloorProgram {
    program: PathBuf,
    name: &'static str,
}

impl FloorProgram {
    /// Builds the floor program in C. Without a C compiler that works, the one
    /// in Rust takes its place and has another name in the table: the runtime
    /// of Rust makes it slower, and so every ratio over it smaller.
    ///
    /// # Errors
    ///
    /// When the source cannot be written.
    pub fn build(bed: &Bed) -> Result<Self> {
        let folder = bed.folder("floor-program")?;
        fs::write(folder.join("floor.c"), SOURCE)?;
        let compiler = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
        let mut command = bed.command(Path::new(&compiler), &folder);
        command.args(["-O2", "-o", "floor", "floor.c"]);
        let failure = match command.stderr(Stdio::piped()).output() {
            Ok(output) if output.status.success() => {
                return Ok(Self {
                    program: folder.join("floor"),
                    name: "floor program in C",
                });
            }
            Ok(output) => String::from_utf8_lossy(&output.stderr).into_owned(),
            Err(error) => error.to_string(),
        };
        writeln!(
            io::stderr(),
            "  the C compiler `{}` does not work ({}): the floor program is the one in Rust",
            compiler.display(),
            failure.trim()
        )?;
        Ok(Self {
            program: bed.floor.clone(),
            name: "floor program in Rust",
        })
    }

    /// What it is called in the table.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// It, for a file.
    #[must_use]
    pub fn command(&self, bed: &Bed, file: &Path) -> Command {
        let mut command = bed.command(&self.program, file.parent().unwrap_or(file));
        command.arg(file);
        command
    }
}

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
