//! A native file kept up to date beside the journal.
//!
//! The file is a view: losing it loses nothing. It is replaced only while it is
//! what piton last wrote; a version of somebody else's stays as it is, the
//! mirror stops, and piton's own version goes beside it, `.piton` behind its name.
//!
//! What piton wrote last is known by hash, before and after: the stamp is on
//! stable storage before the exchange, so that neither a crash nor a power cut
//! makes piton take its own file for somebody else's.
//!
//! A runner and the commands of people write the same file. Who writes holds
//! the lock of the stamp, and whoever knows less of the run than was written
//! already writes nothing.

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};

use jiff::{SignedDuration, Timestamp};
use piton_core::{RunId, Tables};
use piton_formats::sprint::{Exporter, render_progress};
use serde::{Deserialize, Serialize};

use crate::exchange::{Displaced, leftovers, sha256, stage, sync_folder, write_through};
use crate::fail;

/// Up to this size a file follows every change at once.
const SMALL_BYTES: usize = 256 << 10;
/// A larger one follows so much time after the last write, or ten times what that took.
const PAUSE_MIN: SignedDuration = SignedDuration::from_millis(300);
/// The stamp fills one sector, so that it is written whole or not at all.
const STAMP_BYTES: usize = 512;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Stamp {
    /// The hash of the file that was there before the last exchange.
    before: String,
    /// The hash of the file that the last exchange put there.
    after: String,
    /// How many events of the run the file shows.
    #[serde(default)]
    position: u64,
    /// The name of the file that was exchanged with it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    temp: String,
    /// The file is somebody else's now.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    stopped: bool,
}

/// What tells, without reading it, that a file is the one that was written last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Look {
    bytes: u64,
    modified: Option<std::time::SystemTime>,
    inode: u64,
}

impl Look {
    fn at(path: &Path) -> Option<Self> {
        let found = fs::metadata(path).ok()?;
        #[cfg(unix)]
        let inode = std::os::unix::fs::MetadataExt::ino(&found);
        #[cfg(not(unix))]
        let inode = 0;
        Some(Self {
            bytes: found.len(),
            modified: found.modified().ok(),
            inode,
        })
    }
}

/// The mirror of one run.
#[derive(Debug)]
pub struct Mirror {
    target: PathBuf,
    stamp_file: File,
    stamp: Stamp,
    look: Option<Look>,
    exporter: Exporter,
    bytes: usize,
    written_at: Option<Timestamp>,
    took: SignedDuration,
    behind: bool,
    /// The last trouble that somebody was told of.
    told: Option<Trouble>,
}

/// What a write came to that somebody should know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// Somebody else changed the file: it stays as it is.
    Foreign {
        /// The file.
        theirs: PathBuf,
        /// Where piton's version is.
        ours: PathBuf,
    },
    /// The file could not be written.
    Unwritable {
        /// The file.
        target: PathBuf,
        /// Why.
        why: String,
    },
}

impl Trouble {
    /// Whether it is the same trouble again. Why a file cannot be written may
    /// be said in other words each time: with the name of a temporary file.
    fn is_like(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Unwritable { target, .. }, Self::Unwritable { target: other, .. }) => {
                target == other
            }
            (Self::Foreign { .. } | Self::Unwritable { .. }, _) => self == other,
        }
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Foreign { theirs, ours } => write!(
                f,
                "{} was changed by somebody else and is left as it is; piton's version is {}",
                theirs.display(),
                ours.display()
            ),
            Self::Unwritable { target, why } => {
                write!(f, "{} is not kept up to date: {why}", target.display())
            }
        }
    }
}

/// Where the stamp of a run's mirror is kept.
fn stamp_path(home: &Path, run: RunId) -> PathBuf {
    home.join("mirrors").join(format!("{run}.json"))
}

/// Where piton's version goes when the file is somebody else's.
#[must_use]
pub fn own_version(target: &Path) -> PathBuf {
    let mut name = target.file_name().unwrap_or_default().to_owned();
    name.push(".piton");
    target.with_file_name(name)
}

/// Whether the mirror of a run has stopped because the file is somebody else's.
#[must_use]
pub fn is_stopped(home: &Path, run: RunId) -> bool {
    fs::read(stamp_path(home, run))
        .ok()
        .and_then(|bytes| read_stamp(&bytes))
        .is_some_and(|stamp| stamp.stopped)
}

/// Notes that the file of a run's mirror is this, which was taken in: it
/// may be replaced.
///
/// # Errors
///
/// When the stamp cannot be kept.
pub fn adopt(home: &Path, run: RunId, present: &[u8]) -> io::Result<()> {
    let hash = sha256(present);
    let file = open_stamp(home, run)?;
    put_stamp(
        &file,
        &Stamp {
            before: hash.clone(),
            after: hash,
            ..Stamp::default()
        },
    )
}

fn open_stamp(home: &Path, run: RunId) -> io::Result<File> {
    let path = stamp_path(home, run);
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    OpenOptions::new()
        .create(true)
        .truncate(false)
        .read(true)
        .write(true)
        .open(&path)
}

fn put_stamp(mut file: &File, stamp: &Stamp) -> io::Result<()> {
    let mut bytes = serde_json::to_vec(stamp)?;
    bytes.resize(STAMP_BYTES.max(bytes.len()), b' ');
    file.seek(io::SeekFrom::Start(0))?;
    file.write_all(&bytes)?;
    file.sync_data()
}

/// Lets every mirror be written from the beginning of its run again: the
/// journal is another one now.
///
/// # Errors
///
/// When a stamp cannot be read or kept.
pub fn rewind(home: &Path) -> io::Result<()> {
    let folder = home.join("mirrors");
    if !folder.is_dir() {
        return Ok(());
    }
    for entry in fs::read_dir(folder)? {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .open(entry?.path())?;
        file.lock()?;
        if let Some(stamp) = stamp_in(&file)? {
            put_stamp(
                &file,
                &Stamp {
                    position: 0,
                    ..stamp
                },
            )?;
        }
    }
    Ok(())
}

fn stamp_in(mut file: &File) -> io::Result<Option<Stamp>> {
    let mut bytes = Vec::new();
    file.seek(io::SeekFrom::Start(0))?;
    file.read_to_end(&mut bytes)?;
    Ok(read_stamp(&bytes))
}

fn read_stamp(bytes: &[u8]) -> Option<Stamp> {
    serde_json::from_slice(bytes.trim_ascii()).ok()
}

impl Mirror {
    /// The mirror of a run at `target`.
    ///
    /// # Errors
    ///
    /// When the stamp cannot be kept.
    pub fn open(home: &Path, target: &Path, tables: &Tables, run: RunId) -> io::Result<Self> {
        let stamp_file = open_stamp(home, run)?;
        let stamp = stamp_in(&stamp_file)?.unwrap_or_default();
        // A link is followed: its own name is not what is mirrored.
        let target = fs::canonicalize(target).unwrap_or_else(|_| target.to_owned());
        Ok(Self {
            exporter: Exporter::new(tables, run),
            target,
            stamp_file,
            stamp,
            look: None,
            bytes: 0,
            written_at: None,
            took: SignedDuration::ZERO,
            behind: true,
            told: None,
        })
    }

    /// Takes away what a crash in the middle of a write left beside the file.
    ///
    /// To be called when no other run keeps this file up to date.
    /// What came out of an exchange and is not piton's is put back: that is
    /// what the dead was about to do.
    ///
    /// # Errors
    ///
    /// When the folder cannot be read, or something in it cannot be removed.
    pub fn tidy(&mut self) -> io::Result<()> {
        self.locked(Self::tidy_locked)
    }

    fn tidy_locked(&mut self) -> io::Result<()> {
        for left in leftovers(&self.target)? {
            let in_exchange = left.name == self.stamp.temp;
            if in_exchange || left.kept {
                let hash = sha256(&fs::read(&left.path)?);
                if hash != self.stamp.before && hash != self.stamp.after {
                    let present = fs::read(&self.target).ok().map(|bytes| sha256(&bytes));
                    if in_exchange && present.as_ref() == Some(&self.stamp.after) {
                        Displaced::left_at(left.path, &self.target).put_back()?;
                    }
                    // Otherwise both versions stay: neither is piton's to remove.
                    continue;
                }
            }
            fs::remove_file(&left.path)?;
        }
        for left in leftovers(&own_version(&self.target))? {
            fs::remove_file(&left.path)?;
        }
        Ok(())
    }

    /// Notes that the run has changed.
    pub fn mark(&mut self) {
        self.behind = true;
    }

    /// Writes the file if it is behind and its time has come. `tables` know
    /// the events of the run up to `position`.
    pub fn follow(&mut self, tables: &Tables, position: u64, now: Timestamp) -> Option<Trouble> {
        if !self.behind || !self.is_due(now) {
            return None;
        }
        self.write(tables, position, now)
    }

    /// Writes the file now, whatever its size: at a stop, or as a heartbeat.
    pub fn write(&mut self, tables: &Tables, position: u64, now: Timestamp) -> Option<Trouble> {
        let progress = self.exporter.export(tables, now)?;
        let text = render_progress(&progress);
        self.bytes = text.len();
        self.behind = false;
        let trouble = match self.put_newest(&text, position) {
            Ok(trouble) => trouble,
            Err(error) => Some(Trouble::Unwritable {
                target: self.target.clone(),
                why: error.to_string(),
            }),
        };
        self.written_at = Some(now);
        self.news(trouble?)
    }

    /// The trouble, unless it is what was told last.
    fn news(&mut self, trouble: Trouble) -> Option<Trouble> {
        if self
            .told
            .as_ref()
            .is_some_and(|told| told.is_like(&trouble))
        {
            return None;
        }
        self.told = Some(trouble.clone());
        Some(trouble)
    }

    /// Tells how long the last write took, so that large files follow slower.
    pub fn took(&mut self, time: SignedDuration) {
        self.took = time;
    }

    /// Whether the file is small enough to follow every change.
    #[must_use]
    pub fn is_due(&self, now: Timestamp) -> bool {
        if self.bytes <= SMALL_BYTES {
            return true;
        }
        let pause = PAUSE_MIN.max(self.took.saturating_mul(10));
        self.written_at
            .is_none_or(|last| now.duration_since(last) >= pause)
    }

    fn put_stamp(&mut self, stamp: Stamp) -> io::Result<()> {
        if stamp == self.stamp {
            return Ok(());
        }
        put_stamp(&self.stamp_file, &stamp)?;
        self.stamp = stamp;
        Ok(())
    }

    /// Puts the text into the file, unless what is there knows more of the run.
    fn put_newest(&mut self, text: &str, position: u64) -> io::Result<Option<Trouble>> {
        self.locked(|mirror| {
            if mirror.stamp.position > position {
                return Ok(None);
            }
            mirror.put(text, position)
        })
    }

    /// Does something while no other process writes this mirror, with the
    /// stamp as the last of them left it.
    fn locked<T>(&mut self, what: impl FnOnce(&mut Self) -> io::Result<T>) -> io::Result<T> {
        self.stamp_file.lock()?;
        let result = self.refresh().and_then(|()| what(self));
        self.stamp_file.unlock()?;
        result
    }

    fn refresh(&mut self) -> io::Result<()> {
        let stamp = stamp_in(&self.stamp_file)?.unwrap_or_default();
        if stamp != self.stamp {
            self.stamp = stamp;
            self.look = None;
        }
        Ok(())
    }

    fn put(&mut self, text: &str, position: u64) -> io::Result<Option<Trouble>> {
        // Whoever moves the other version away wants piton's again.
        if self.stamp.stopped && Look::at(&self.target).is_some() {
            return self.put_beside(text);
        }
        let special = fs::metadata(&self.target).is_ok_and(|found| !found.is_file());
        if special {
            write_through(&self.target, text.as_bytes())?;
            return Ok(None);
        }
        let new = sha256(text.as_bytes());
        let Some(old) = self.present()? else {
            return self.stop(text);
        };
        if old == new {
            return Ok(None);
        }
        let staged = stage(&self.target, text.as_bytes())?;
        fail::point("mirror.staged");
        self.put_stamp(Stamp {
            before: old,
            after: new,
            position,
            temp: staged.name(),
            stopped: false,
        })?;
        fail::point("mirror.stamped");
        let displaced = staged.exchange()?;
        fail::point("mirror.exchanged");
        if !self.is_ours(&displaced)? {
            displaced.put_back()?;
            return self.stop(text);
        }
        drop(displaced);
        fail::point("mirror.tidied");
        self.look = Look::at(&self.target);
        Ok(None)
    }

    /// The hash of what is there now, empty for nothing; none when it is not ours.
    fn present(&self) -> io::Result<Option<String>> {
        let look = Look::at(&self.target);
        if look.is_none() {
            return Ok(Some(String::new()));
        }
        if look == self.look {
            return Ok(Some(self.stamp.after.clone()));
        }
        let hash = sha256(&fs::read(&self.target)?);
        Ok((hash == self.stamp.after || hash == self.stamp.before).then_some(hash))
    }

    /// Whether what came out of the exchange is what was there a moment ago.
    fn is_ours(&self, displaced: &Displaced) -> io::Result<bool> {
        match displaced.read()? {
            None => Ok(true),
            Some(bytes) => Ok(sha256(&bytes) == self.stamp.before),
        }
    }

    fn stop(&mut self, text: &str) -> io::Result<Option<Trouble>> {
        self.put_stamp(Stamp {
            stopped: true,
            ..self.stamp.clone()
        })?;
        self.put_beside(text)?;
        Ok(Some(Trouble::Foreign {
            theirs: self.target.clone(),
            ours: own_version(&self.target),
        }))
    }

    fn put_beside(&self, text: &str) -> io::Result<Option<Trouble>> {
        let beside = own_version(&self.target);
        stage(&beside, text.as_bytes())?.exchange()?;
        Ok(None)
    }
}

/// Keeps a copy of a file beside it under a name that is not taken:
/// `NAME.SUFFIX`, `NAME.SUFFIX.2` and so on. One that is there already is enough.
///
/// # Errors
///
/// When it cannot be read or the copy cannot be written.
pub fn keep_copy(path: &Path, suffix: &str) -> io::Result<PathBuf> {
    let bytes = fs::read(path)?;
    let name = path
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    for nth in 1_u32.. {
        let number = if nth == 1 {
            String::new()
        } else {
            format!(".{nth}")
        };
        let copy = path.with_file_name(format!("{name}.{suffix}{number}"));
        match OpenOptions::new().write(true).create_new(true).open(&copy) {
            Ok(mut file) => {
                fail::point("run.copy-made");
                file.write_all(&bytes)?;
                file.sync_all()?;
                sync_folder(path.parent().unwrap_or(Path::new(".")))?;
                return Ok(copy);
            }
            // Of a crash since: there is a copy already.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                if fs::read(&copy).is_ok_and(|there| there == bytes) {
                    return Ok(copy);
                }
            }
            Err(error) => return Err(error),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}
