//! A disk whose power can be cut, for SQLite in this process.
//!
//! What is written goes to real files, and the disk remembers what was flushed:
//! of what was not, a power cut drops some, tears some and keeps some, in any
//! order. So a store that does not flush what it acknowledged is caught.
//!
//! [`SimulatedDisk::mount`] makes it the disk of everything that SQLite opens in
//! this process from then on, without locks between connections: one at a time
//! may have a database open. Tests that mount it therefore stand in
//! `crates/testkit/tests`, where nothing else opens a database. Names of files
//! are durable at once; what the store flushes by itself (its folder, when it is
//! made) is the matter of `crates/store/tests/it/syscalls.rs`.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use piton_simkit::seed::mix;
use sqlite_vfs::wip::{WalIndex, WalIndexLock};
use sqlite_vfs::{DatabaseHandle, LockKind, OpenAccess, Vfs};

use crate::chance::Chance;

/// What a disk writes whole or not at all.
const SECTOR: usize = 512;

/// A folder on the simulated disk.
#[derive(Debug)]
pub struct SimulatedDisk {
    folder: PathBuf,
    chance: Chance,
}

impl SimulatedDisk {
    /// Puts a folder on the disk; what is lost at power cuts follows from `seed`.
    ///
    /// # Panics
    ///
    /// When SQLite does not take the disk.
    #[must_use]
    pub fn mount(folder: &Path, seed: u64) -> Self {
        let _disk = disk();
        Self {
            folder: folder.to_owned(),
            chance: Chance::seeded(mix(seed)),
        }
    }

    /// Lets the power go at an operation (a write, a flush, a change of length),
    /// counted from now; none takes that back.
    pub fn cut_after(&self, operations: Option<u32>) {
        let mut state = disk().state();
        let power = state.powers.entry(self.folder.clone()).or_default();
        if !power.is_lost {
            power.left = operations;
        }
    }

    /// How often the power went while something was written.
    #[must_use]
    pub fn cuts_while_writing(&self) -> u32 {
        let state = disk().state();
        state.powers.get(&self.folder).map_or(0, |power| power.cuts)
    }

    /// Cuts the power, if it has not gone yet, and comes back with what the disk
    /// still holds. Nothing may have a file of the folder open.
    ///
    /// # Errors
    ///
    /// When the real files cannot be written.
    pub fn restart(&mut self) -> io::Result<()> {
        let mut state = disk().state();
        if let Some(power) = state.powers.get_mut(&self.folder) {
            power.left = None;
            power.is_lost = false;
        }
        for (path, medium) in &mut state.media {
            if path.starts_with(&self.folder) {
                medium.lose(&mut self.chance);
                fs::write(path, &medium.durable)?;
            }
        }
        Ok(())
    }
}

#[derive(Default)]
struct State {
    media: BTreeMap<PathBuf, Medium>,
    powers: BTreeMap<PathBuf, Power>,
}

/// The power of one folder.
#[derive(Default)]
struct Power {
    /// After so many operations it goes.
    left: Option<u32>,
    is_lost: bool,
    cuts: u32,
}

/// What the disk holds of one file.
#[derive(Default)]
struct Medium {
    /// What was flushed.
    durable: Vec<u8>,
    /// What was done since, in its order.
    pending: Vec<Change>,
}

enum Change {
    Write { at: usize, data: Vec<u8> },
    SetLength(usize),
}

impl Change {
    fn apply(&self, bytes: &mut Vec<u8>) {
        match self {
            Self::Write { at, data } => {
                let end = at + data.len();
                if bytes.len() < end {
                    bytes.resize(end, 0);
                }
                bytes[*at..end].copy_from_slice(data);
            }
            Self::SetLength(length) => bytes.resize(*length, 0),
        }
    }

    /// What reached the disk of a change that it was at when the power went.
    fn torn(&self, chance: &mut Chance) -> Option<Self> {
        let Self::Write { at, data } = self else {
            return None;
        };
        let sectors = (data.len() / SECTOR) as u64;
        let kept = usize::try_from(chance.below(sectors + 1)).ok()? * SECTOR;
        Some(Self::Write {
            at: *at,
            data: data[..kept].to_vec(),
        })
    }
}

impl Medium {
    fn flush(&mut self) {
        for change in std::mem::take(&mut self.pending) {
            change.apply(&mut self.durable);
        }
    }

    /// The power goes.
    fn lose(&mut self, chance: &mut Chance) {
        for change in std::mem::take(&mut self.pending) {
            match chance.below(4) {
                0 | 1 => {}
                2 => change.apply(&mut self.durable),
                _ => {
                    if let Some(torn) = change.torn(chance) {
                        torn.apply(&mut self.durable);
                    }
                }
            }
        }
    }
}

impl State {
    /// Counts an operation on a file; the power may have gone, or goes now.
    fn operate(&mut self, path: &Path) -> io::Result<()> {
        for (folder, power) in &mut self.powers {
            if !path.starts_with(folder) {
                continue;
            }
            if power.left == Some(0) {
                power.left = None;
                power.is_lost = true;
                power.cuts += 1;
            }
            if power.is_lost {
                return Err(io::Error::other("the power is gone"));
            }
            power.left = power.left.map(|left| left - 1);
        }
        Ok(())
    }

    fn change(&mut self, path: &Path, change: Change) {
        let medium = self.media.entry(path.to_owned()).or_default();
        medium.pending.push(change);
    }
}

struct Disk(Mutex<State>);

impl Disk {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The disk of this process.
fn disk() -> &'static Arc<Disk> {
    static DISK: OnceLock<Arc<Disk>> = OnceLock::new();
    DISK.get_or_init(|| {
        let disk = Arc::new(Disk(Mutex::default()));
        let files = Files(Arc::clone(&disk));
        sqlite_vfs::register("simulated-disk", files, true).expect("SQLite takes another disk");
        disk
    })
}

/// The files of the disk, as SQLite asks for them.
struct Files(Arc<Disk>);

/// A file that SQLite has open.
struct OpenFile {
    disk: Arc<Disk>,
    path: PathBuf,
    file: File,
    lock: LockKind,
}

impl Vfs for Files {
    type Handle = OpenFile;

    fn open(&self, name: &str, options: sqlite_vfs::OpenOptions) -> io::Result<OpenFile> {
        let path = PathBuf::from(name);
        let mut open = OpenOptions::new();
        open.read(true).write(options.access != OpenAccess::Read);
        match options.access {
            OpenAccess::Create => open.create(true),
            OpenAccess::CreateNew => open.create_new(true),
            OpenAccess::Read | OpenAccess::Write => &mut open,
        };
        let file = open.open(&path)?;
        let mut state = self.0.state();
        if !state.media.contains_key(&path) {
            let medium = Medium {
                durable: fs::read(&path)?,
                pending: Vec::new(),
            };
            state.media.insert(path.clone(), medium);
        }
        Ok(OpenFile {
            disk: Arc::clone(&self.0),
            path,
            file,
            lock: LockKind::None,
        })
    }

    fn delete(&self, name: &str) -> io::Result<()> {
        self.0.state().media.remove(Path::new(name));
        fs::remove_file(name)
    }

    fn exists(&self, name: &str) -> io::Result<bool> {
        Path::new(name).try_exists()
    }

    fn temporary_name(&self) -> String {
        let name = format!("piton-disk-{}", uuid::Uuid::now_v7());
        std::env::temp_dir().join(name).display().to_string()
    }

    fn random(&self, buffer: &mut [i8]) {
        for (byte, random) in buffer
            .iter_mut()
            .zip(uuid::Uuid::now_v7().as_bytes().iter().rev())
        {
            *byte = i8::from_ne_bytes([*random]);
        }
    }

    fn sleep(&self, duration: Duration) -> Duration {
        // Nothing else holds the database: waiting would change nothing.
        duration
    }
}

impl DatabaseHandle for OpenFile {
    type WalIndex = OneConnection;

    fn size(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    fn read_exact_at(&mut self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        // SQLite wants what there is, and zeros behind it.
        let mut read = 0;
        while read < buffer.len() {
            match self
                .file
                .read_at(&mut buffer[read..], offset + read as u64)?
            {
                0 => {
                    buffer[read..].fill(0);
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
                more => read += more,
            }
        }
        Ok(())
    }

    fn write_all_at(&mut self, data: &[u8], offset: u64) -> io::Result<()> {
        let mut state = self.disk.state();
        state.operate(&self.path)?;
        let at = usize::try_from(offset).map_err(io::Error::other)?;
        let data_owned = data.to_vec();
        state.change(
            &self.path,
            Change::Write {
                at,
                data: data_owned,
            },
        );
        self.file.write_all_at(data, offset)
    }

    fn sync(&mut self, _data_only: bool) -> io::Result<()> {
        let mut state = self.disk.state();
        state.operate(&self.path)?;
        if let Some(medium) = state.media.get_mut(&self.path) {
            medium.flush();
        }
        Ok(())
    }

    fn set_len(&mut self, size: u64) -> io::Result<()> {
        let mut state = self.disk.state();
        state.operate(&self.path)?;
        let length = usize::try_from(size).map_err(io::Error::other)?;
        state.change(&self.path, Change::SetLength(length));
        self.file.set_len(size)
    }

    fn lock(&mut self, lock: LockKind) -> io::Result<bool> {
        self.lock = lock;
        Ok(true)
    }

    fn reserved(&mut self) -> io::Result<bool> {
        Ok(false)
    }

    fn current_lock(&self) -> io::Result<LockKind> {
        Ok(self.lock)
    }

    fn wal_index(&self, _readonly: bool) -> io::Result<OneConnection> {
        Ok(OneConnection)
    }
}

/// What connections share of a log: there is only one, which reads the log anew
/// whenever it opens the database.
struct OneConnection;

impl WalIndex for OneConnection {
    fn map(&mut self, _region: u32) -> io::Result<[u8; 32_768]> {
        Ok([0; 32_768])
    }

    fn lock(&mut self, _locks: std::ops::Range<u8>, _lock: WalIndexLock) -> io::Result<bool> {
        Ok(true)
    }

    fn delete(self) -> io::Result<()> {
        Ok(())
    }
}
