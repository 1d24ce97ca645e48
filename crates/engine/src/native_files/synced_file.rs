//! One native file that piton keeps up to date and that others may write.
//!
//! A [`SyncedFile`] knows the file, not its format. It tells whether what is there is
//! what piton wrote last, puts a new version into its place by an exchange, and
//! looks at what comes out: what somebody else wrote in between goes back, for
//! whoever asked to take it in first.
//!
//! What piton wrote last is in the stamp, by hash and by what the system says of
//! the file. The stamp is a register: losing it costs a second reading.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use piton_formats::ends::Ends;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::native_files::exchange::{
    Copied, Displaced, Hashing, Staged, fresh, leftovers, sha256, stage, stage_on, stage_spliced,
    stage_unflushed, sync_file, write_through,
};
use crate::{fail, git};

/// A small stamp fills one sector, so that it is written whole or not at all.
const STAMP_BYTES: usize = 512;
/// A spare is left to whoever may still be reading it for so long.
const SPARE_REST_NS: i64 = if cfg!(test) { 0 } else { 200_000_000 };
/// What the name of what is remembered ends with.
const ASKED: &str = "asked";
/// What the name of the version before one of which a part stays ends with.
const BEFORE: &str = "before";
/// What the name of a base that is about to be the base ends with.
const NEXT: &str = "next";
/// Of files up to this size the last version is kept, to tell edits by.
const BASE_BYTES_MAX: usize = 4 << 20;

/// What piton knows of a file that it wrote.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamp {
    /// The hash of the file that was there before the last exchange.
    #[serde(default)]
    pub before: String,
    /// The hash of the file that the last exchange put there.
    #[serde(default)]
    pub after: String,
    /// The name of the file that was exchanged with it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub temp: String,
    /// What the system said of the file when it was in its place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub look: Option<Look>,
    /// How many events of each stream the file shows.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub positions: BTreeMap<String, u64>,
    /// What is enough of a large file to show what is new.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tail: Option<Tail>,
    /// The version before, of a large file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spare: Option<Spare>,
    /// The branch that was checked out when this was noted, as
    /// [`checked_out`] tells it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub head: String,
    /// The commit that was checked out then; empty where git has none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub commit: String,
    /// What was done, and when, whose work nobody had committed, and which the file
    /// that git put here does not have: it went along to another branch.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub gone: BTreeMap<String, Timestamp>,
    /// The beginnings of the hashes of the last version that others made and of those
    /// that piton made of it since, at most [`OWN_MAX`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub own: Vec<String>,
    /// The branch, as in `head`, that does not have the file while others do.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub absent_on: String,
    /// What the file has of somebody else that a person is asked about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held: Option<Held>,
    /// What was recorded on branches that do not have the file, and no file shows.
    #[serde(default, rename = "homeless", skip_serializing_if = "Option::is_none")]
    pub unshown: Option<UnshownRows>,
    /// Whether a branch had another version of the file, or none, when this hash was that
    /// of what was checked out and of the tips of all branches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub others: Option<(String, bool)>,
}

/// Rows of branches that do not have the file: they come when these are merged.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnshownRows {
    /// Behind so many events of each stream they begin.
    pub from: BTreeMap<String, u64>,
    /// The branches, each with the commit at which it has nothing yet that the branch
    /// of the file lacks; empty where it has.
    pub branches: BTreeMap<String, String>,
}

/// A file of which a part stays as somebody else wrote it until a person decides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Held {
    /// The hash of what piton itself would have written: the base to tell edits by.
    own: String,
    /// The same of the version before the last exchange, which a crash may leave.
    was: String,
    /// What is known of the version that was asked about.
    about: HeldAbout,
    /// The hash of what piton had written before: another journal may not know what
    /// of the version was taken.
    before: String,
}

/// How many versions are known that differ from the present one by what piton wrote.
const OWN_MAX: usize = 32;
/// How much of a hash tells one version from others.
const OWN_LETTERS: usize = 16;

/// What is checked out where a file lies, as a stamp has it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Head {
    /// The branch in eight letters; for a detached head, which commit. Empty
    /// outside of git.
    hash: String,
    commit: String,
}

/// The version before the present one of a large file, kept to make the next
/// one of: the beginnings are the same, and the largest part of both.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spare {
    /// So many bytes at the beginning of both are the same.
    pub same: u64,
    /// What the system said of it when it was put aside.
    pub look: Look,
}

/// What is known of a version of which a part stays: it is written with the stamp,
/// since without it what the file lacks would count as taken out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldAbout {
    /// It is only the beginning of what piton wrote last.
    #[serde(default)]
    pub ends_early: bool,
    /// The person who wrote it, where that is known.
    #[serde(default)]
    pub by: Option<String>,
}

impl Stamp {
    /// Whether nothing is known of the file: it was never written, or what was
    /// known of it is of another journal.
    #[must_use]
    pub fn is_new(&self) -> bool {
        self.after.is_empty() && self.look.is_none() && self.positions.is_empty()
    }

    /// The hash of the version by which edits of the one with the hash `found` are
    /// told.
    fn base_hash(&self, found: Option<&str>) -> &str {
        let is_before = found == Some(&*self.before) && self.before != self.after;
        match &self.held {
            Some(held) if is_before => &held.was,
            Some(held) => &held.own,
            None => &self.after,
        }
    }
}

/// Where the ends of a large file are, of which what is new is made ([`Ends`]).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tail {
    /// How long the beginning is.
    pub head: u64,
    /// The byte where the end begins.
    pub at: u64,
    /// How many bytes of the end nothing comes before.
    pub first: u64,
    /// As in [`Ends::open`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub open: Vec<String>,
    /// How far the hash of the file has come at `at` ([`Hashing::state`]).
    pub hashed: String,
}

impl Tail {
    /// The ends of a text.
    #[must_use]
    pub fn of(text: &str, ends: Ends) -> Self {
        Self {
            head: ends.head as u64,
            at: ends.tail as u64,
            first: ends.first as u64,
            open: ends.open,
            hashed: Hashing::of(&text.as_bytes()[..ends.tail]).state(),
        }
    }

    /// Smaller ends of the same file, found in `abridged`, which has these.
    #[must_use]
    pub fn within(&self, abridged: &str, ends: Ends) -> Option<Self> {
        let head = usize::try_from(self.head).ok()?;
        let between = abridged.as_bytes().get(head..ends.tail)?;
        let mut open = self.open.clone();
        open.extend(ends.open);
        open.sort_unstable();
        open.dedup();
        Some(Self {
            at: self.at + between.len() as u64,
            first: ends.first as u64,
            hashed: Hashing::from_state(&self.hashed)?.then(between).state(),
            head: self.head,
            open,
        })
    }

    /// The hash of the file whose end is this.
    fn hash_with(&self, end: &[u8]) -> Option<String> {
        Some(Hashing::from_state(&self.hashed)?.then(end).end())
    }
}

/// What tells, without reading it, that a file is the one that was written last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Look {
    bytes: u64,
    modified: i64,
    changed: i64,
    inode: u64,
}

impl Look {
    /// What the system says of the file at `path`; none when there is none.
    #[must_use]
    pub fn at(path: &Path) -> Option<Self> {
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
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether it is the same file with the same contents. An exchange changes
    /// when it was last *changed*, not when it was last *modified*.
    fn is_same_version(&self, other: &Self) -> bool {
        (self.bytes, self.modified, self.inode) == (other.bytes, other.modified, other.inode)
    }
}

/// What is in the place of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Present {
    /// Nothing.
    Missing,
    /// What piton wrote last.
    Ours,
    /// What somebody else wrote.
    Foreign(Vec<u8>),
    /// No regular file: it is written to, and never exchanged.
    Special,
}

/// A version that is about to take the place of the file.
struct Next {
    /// Its hash.
    after: String,
    tail: Option<Tail>,
    positions: BTreeMap<String, u64>,
    held: Option<Held>,
}

/// What came of putting a version into its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Put {
    /// It is there.
    Done,
    /// Somebody else had written in between: their version is there.
    Overtaken,
}

/// What is on stable storage before the exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flush {
    /// The new version and its stamp: for files whose things have no names, so
    /// that after a power cut piton knows its own file.
    Stamp,
    /// The new version.
    File,
    /// Neither: the file is made of another one, and is made again.
    Nothing,
}

/// One file and its stamp.
#[derive(Debug)]
pub struct SyncedFile {
    target: PathBuf,
    stamp_file: File,
    base: PathBuf,
    spare: PathBuf,
    remembered: PathBuf,
    stamp: Stamp,
    flush: Flush,
    /// The hash of what was found in the place of the file, when it was ours. A
    /// crash before an exchange leaves the version before the last one there.
    found: Option<String>,
    /// Versions of others that came out of exchanges and went back.
    displaced: Vec<Copied>,
    /// Which branch is checked out, read at most once while the file is locked.
    head: Option<OnceCell<Head>>,
}

/// What is remembered of a version of somebody else's.
#[derive(Debug, Serialize, Deserialize)]
struct Remembered<T> {
    /// The hash of what piton had written last.
    after: String,
    what: T,
}

/// Where stamps are kept. The folder has the name that it always had: beside an
/// older piton that looks there, one file would have two stamps.
fn folder(home: &Path) -> PathBuf {
    home.join("mirrors")
}

impl SyncedFile {
    /// The file at `target`, whose stamp is kept under `key`.
    ///
    /// # Errors
    ///
    /// When the stamp cannot be kept.
    pub fn open(home: &Path, key: &str, target: &Path, flush: Flush) -> io::Result<Self> {
        let folder = folder(home);
        fs::create_dir_all(&folder)?;
        let stamp_file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .read(true)
            .write(true)
            .open(folder.join(format!("{key}.json")))?;
        let stamp = stamp_in(&stamp_file)?.unwrap_or_default();
        Ok(Self {
            // A link is followed: its own name is not what is kept up to date.
            target: fs::canonicalize(target).unwrap_or_else(|_| target.to_owned()),
            base: folder.join(format!("{key}.base")),
            spare: folder.join(format!("{key}.spare")),
            remembered: folder.join(format!("{key}.{ASKED}")),
            stamp_file,
            stamp,
            flush,
            found: None,
            displaced: Vec::new(),
            head: None,
        })
    }

    /// The file.
    #[must_use]
    pub fn target(&self) -> &Path {
        &self.target
    }

    /// What is known of it.
    #[must_use]
    pub fn stamp(&self) -> &Stamp {
        &self.stamp
    }

    /// Does something while no other process keeps this file, with the stamp as
    /// the last of them left it.
    ///
    /// # Errors
    ///
    /// When the lock cannot be taken, the stamp cannot be read, or `what` fails.
    pub fn locked<T, E: From<io::Error>>(
        &mut self,
        what: impl FnOnce(&mut Self) -> Result<T, E>,
    ) -> Result<T, E> {
        self.stamp_file.lock()?;
        let result = stamp_in(&self.stamp_file)
            .map_err(E::from)
            .and_then(|stamp| {
                self.stamp = stamp.unwrap_or_default();
                self.found = None;
                self.head = Some(OnceCell::new());
                what(self)
            });
        self.head = None;
        self.stamp_file.unlock()?;
        result
    }

    /// What is in its place now.
    ///
    /// # Errors
    ///
    /// When it cannot be read.
    pub fn present(&mut self) -> io::Result<Present> {
        let Some(look) = Look::at(&self.target) else {
            return Ok(Present::Missing);
        };
        if Some(look) == self.stamp.look {
            self.found = Some(self.stamp.after.clone());
            return Ok(Present::Ours);
        }
        if !fs::metadata(&self.target)?.is_file() {
            return Ok(Present::Special);
        }
        let bytes = fs::read(&self.target)?;
        let hash = sha256(&bytes);
        let ours = !hash.is_empty() && (hash == self.stamp.after || hash == self.stamp.before);
        Ok(if ours {
            self.found = Some(hash);
            Present::Ours
        } else {
            Present::Foreign(bytes)
        })
    }

    /// Whether, by what the system says of it, somebody else may have written
    /// it since. Reads nothing.
    #[must_use]
    pub fn may_be_foreign(&self) -> bool {
        Look::at(&self.target) != self.stamp.look
    }

    /// The version that piton wrote last, if it is still known.
    #[must_use]
    pub fn base(&self) -> Option<String> {
        base_of(&self.base, self.stamp.base_hash(self.found.as_deref()))
    }

    /// Notes that the file is this, which was taken in: it may be replaced.
    ///
    /// # Errors
    ///
    /// When the stamp cannot be kept.
    pub fn accept(&mut self, present: &[u8]) -> io::Result<()> {
        self.keep_base(present);
        let kept = self.note_version(present, None);
        // There is none, unless somebody was asked about the file.
        fs::remove_file(&self.remembered).ok();
        kept
    }

    /// Notes that the file is this, of which a person is asked about a part: `own` is
    /// what piton would have written, where that is known.
    ///
    /// # Errors
    ///
    /// When the stamp cannot be kept.
    pub fn hold(&mut self, present: &[u8], own: Option<&str>, about: HeldAbout) -> io::Result<()> {
        let before = match &self.stamp.held {
            Some(held) => held.before.clone(),
            None => {
                // A help, as the base is.
                fs::copy(&self.base, self.base.with_extension(BEFORE)).ok();
                self.stamp.after.clone()
            }
        };
        let own = match own {
            Some(own) => {
                self.keep_next(own.as_bytes());
                sha256(own.as_bytes())
            }
            None => self.stamp.base_hash(self.found.as_deref()).to_owned(),
        };
        let held = Held {
            was: own.clone(),
            own,
            about,
            before,
        };
        self.note_version(present, Some(held))?;
        self.keep_next_as_base();
        Ok(())
    }

    /// Whether a part of the file stays as somebody else wrote it.
    #[must_use]
    pub fn is_held(&self) -> bool {
        self.stamp.held.is_some()
    }

    /// What is known of the version of which a part stays.
    #[must_use]
    pub fn held_about(&self) -> Option<&HeldAbout> {
        self.stamp.held.as_ref().map(|held| &held.about)
    }

    /// Whether this is the file of which a part stays as it is: all of it is known.
    #[must_use]
    pub fn holds(&self, bytes: &[u8]) -> bool {
        let is_known = |hash: String| hash == self.stamp.after || hash == self.stamp.before;
        self.is_held() && is_known(sha256(bytes))
    }

    fn note_version(&mut self, present: &[u8], held: Option<Held>) -> io::Result<()> {
        let hash = sha256(present);
        let head = self.head();
        self.found = Some(hash.clone());
        let look = Look::at(&self.target);
        // What somebody wrote since the bytes were read has another size or time;
        // when it does not, its hash is looked at before it is replaced.
        let look = look.filter(|look| look.bytes == present.len() as u64);
        let same = fs::read(&self.target).is_ok_and(|there| there == present);
        self.put_stamp(Stamp {
            before: hash.clone(),
            after: hash.clone(),
            temp: String::new(),
            look: look.filter(|_| same),
            tail: None,
            spare: None,
            positions: self.stamp.positions.clone(),
            gone: self.stamp.gone.clone(),
            own: vec![own_name(&hash).to_owned()],
            absent_on: String::new(),
            held,
            unshown: self.stamp.unshown.clone(),
            others: self.stamp.others.clone(),
            head: head.hash,
            commit: head.commit,
        })
    }

    /// Remembers something about somebody else's version, until another one is
    /// accepted. A help: losing it costs a second telling.
    pub fn remember<T: Serialize>(&self, what: &T) {
        let after = self.stamp.after.clone();
        if let Ok(bytes) = serde_json::to_vec(&Remembered { after, what })
            && bytes.len() <= BASE_BYTES_MAX
        {
            fs::write(&self.remembered, bytes).ok();
        }
    }

    /// What was remembered last.
    #[must_use]
    pub fn remembered<T: DeserializeOwned>(&self) -> Option<T> {
        let bytes = fs::read(&self.remembered).ok()?;
        let known: Remembered<T> = serde_json::from_slice(&bytes).ok()?;
        (known.after == self.stamp.after).then_some(known.what)
    }

    /// Notes how far the file shows the streams.
    ///
    /// # Errors
    ///
    /// When the stamp cannot be kept.
    pub fn note(&mut self, positions: BTreeMap<String, u64>) -> io::Result<()> {
        let head = self.head();
        self.put_stamp(Stamp {
            positions,
            head: head.hash,
            commit: head.commit,
            ..self.stamp.clone()
        })
    }

    /// Notes how far the file shows the streams as it stands, and where its ends
    /// are.
    ///
    /// # Errors
    ///
    /// When the stamp cannot be kept.
    pub fn settle(
        &mut self,
        positions: BTreeMap<String, u64>,
        tail: Option<Tail>,
    ) -> io::Result<()> {
        let head = self.head();
        self.put_stamp(Stamp {
            positions,
            tail,
            spare: None,
            head: head.hash,
            commit: head.commit,
            ..self.stamp.clone()
        })
    }

    /// Whether piton alone made the present version of this one, which is committed.
    #[must_use]
    pub fn is_own_since(&self, committed: &str) -> bool {
        let own = &self.stamp.own;
        let is_known = |text: &str| {
            let hash = sha256(text.as_bytes());
            own.iter().any(|known| known == own_name(&hash))
        };
        // Git may keep other line ends than those of the work tree.
        is_known(committed) || is_known(&committed.replace('\n', "\r\n"))
    }

    /// Puts a new version into its place.
    ///
    /// # Errors
    ///
    /// When it cannot be written; the file is as it was.
    pub fn put(
        &mut self,
        bytes: &[u8],
        positions: BTreeMap<String, u64>,
        tail: Option<Tail>,
    ) -> io::Result<Put> {
        if fs::metadata(&self.target).is_ok_and(|found| !found.is_file()) {
            write_through(&self.target, bytes)?;
            return Ok(Put::Done);
        }
        let next = Next {
            after: sha256(bytes),
            tail,
            positions,
            held: None,
        };
        let put = self.put_whole(bytes, next)?;
        if put == Put::Done {
            self.keep_base(bytes);
        }
        Ok(put)
    }

    /// Puts a version into its place of which a part stays as somebody else wrote it.
    /// `own` is the version without that part.
    ///
    /// # Errors
    ///
    /// When it cannot be written; the file is as it was.
    pub fn put_held(
        &mut self,
        bytes: &[u8],
        own: &str,
        positions: BTreeMap<String, u64>,
    ) -> io::Result<Put> {
        let was = self.stamp.base_hash(self.found.as_deref()).to_owned();
        let held = self.stamp.held.clone().map(|held| Held {
            own: sha256(own.as_bytes()),
            was,
            ..held
        });
        // Until the exchange is over both versions may be needed.
        self.keep_next(own.as_bytes());
        let next = Next {
            after: sha256(bytes),
            tail: None,
            positions,
            held,
        };
        let put = self.put_whole(bytes, next)?;
        if put == Put::Done {
            self.keep_next_as_base();
        }
        Ok(put)
    }

    fn put_whole(&mut self, bytes: &[u8], next: Next) -> io::Result<Put> {
        if let Some(folder) = self.target.parent() {
            fs::create_dir_all(folder)?;
        }
        let staged = match self.flush {
            Flush::Stamp | Flush::File => stage(&self.target, bytes)?,
            Flush::Nothing => stage_unflushed(&self.target, bytes)?,
        };
        let put = self.exchange(staged, next, None)?;
        if put == Put::Done {
            self.drop_spare();
        }
        Ok(put)
    }

    /// What is between the ends of a large file left out; none where it is not
    /// piton's version, or no text.
    ///
    /// # Errors
    ///
    /// When it cannot be read.
    pub fn abridged(&self, tail: &Tail) -> io::Result<Option<String>> {
        let mut file = File::open(&self.target)?;
        let mut bytes = Vec::new();
        (&file).take(tail.head).read_to_end(&mut bytes)?;
        file.seek(io::SeekFrom::Start(tail.at))?;
        file.read_to_end(&mut bytes)?;
        Ok(match self.may_be_foreign() {
            true => None,
            false => String::from_utf8(bytes).ok(),
        })
    }

    /// Puts a version into its place that is the present one up to where its end
    /// begins, and then `end`. What stands before is not read by this process.
    /// `next` are the ends of the new version.
    ///
    /// # Errors
    ///
    /// When it cannot be written; the file is as it was.
    pub fn splice(
        &mut self,
        tail: &Tail,
        (end, next): (&[u8], Tail),
        positions: BTreeMap<String, u64>,
    ) -> io::Result<Put> {
        let Some(after) = tail.hash_with(end) else {
            return Err(io::ErrorKind::InvalidData.into());
        };
        let staged = match self.staged_on_spare(tail, end) {
            Some(staged) => staged,
            None => stage_spliced(&self.target, tail.at, end)?,
        };
        if self.may_be_foreign() {
            // What was copied may be of two versions: nobody shall see that.
            return Ok(Put::Overtaken);
        }
        let next = Next {
            after,
            tail: Some(next),
            positions,
            held: None,
        };
        let put = self.exchange(staged, next, Some(tail.at))?;
        if put == Put::Done {
            self.splice_base(tail.at, end).ok();
        }
        Ok(put)
    }

    /// Makes what is kept of the last version say what the new one says. Whether it
    /// does is told by its hash.
    fn splice_base(&self, at: u64, end: &[u8]) -> io::Result<()> {
        let length = at + end.len() as u64;
        if length > BASE_BYTES_MAX as u64 {
            return match fs::exists(&self.base)? {
                true => fs::remove_file(&self.base),
                false => Ok(()),
            };
        }
        let mut base = OpenOptions::new().write(true).open(&self.base)?;
        base.seek(io::SeekFrom::Start(at))?;
        base.write_all(end)?;
        base.set_len(length)
    }

    /// The next version made of the one before, where there is one, nobody has
    /// touched it, and nobody else knows it by another name.
    fn staged_on_spare(&self, tail: &Tail, end: &[u8]) -> Option<Staged> {
        let spare = self.stamp.spare.as_ref()?;
        let is_ours = Look::at(&self.spare) == Some(spare.look) && is_only_name(&self.spare);
        if !is_ours {
            return None;
        }
        // Whatever goes wrong, the whole can still be copied.
        let temp = fresh(&self.target).ok()?;
        // By the clock of the file system, which is the only one that knows.
        let now = Look::at(&temp)?.changed;
        if now.saturating_sub(spare.look.changed) < SPARE_REST_NS {
            return None;
        }
        let spare = (self.spare.as_path(), spare.same);
        stage_on(spare, temp, &self.target, tail.at, end).ok()
    }

    /// Puts the version aside that came out of an exchange, if it can be of use.
    fn put_aside(&self, displaced: Displaced, same: u64) -> Option<Spare> {
        displaced.keep_as(&self.spare).ok()?;
        Some(Spare {
            same,
            look: Look::at(&self.spare)?,
        })
    }

    fn drop_spare(&self) {
        // There is none, unless the file was large.
        fs::remove_file(&self.spare).ok();
    }

    /// `same` is how many bytes of the version before and the new one are known to
    /// be the same.
    fn exchange(&mut self, staged: Staged, next: Next, same: Option<u64>) -> io::Result<Put> {
        let Next {
            after,
            tail,
            positions,
            held,
        } = next;
        fail::point("synced-file.staged");
        let old = self.stamp.clone();
        let head = self.head();
        let before = if Look::at(&self.target).is_none() {
            String::new()
        } else {
            self.found.clone().unwrap_or_else(|| old.after.clone())
        };
        let fresh = Stamp {
            before: before.clone(),
            temp: staged.name(),
            look: None,
            positions,
            tail,
            spare: None,
            gone: old.gone.clone(),
            own: with_version(&old.own, own_name(&after)),
            after,
            absent_on: String::new(),
            held,
            unshown: old.unshown.clone(),
            others: old.others.clone(),
            head: head.hash,
            commit: head.commit,
        };
        // What is shown whole again is healed by the next write. What is shown
        // row by row must not be said to be shown before it is.
        let shown = match self.flush {
            Flush::Stamp => fresh.positions.clone(),
            Flush::File | Flush::Nothing => old.positions.clone(),
        };
        self.put_stamp(Stamp {
            positions: shown,
            tail: None,
            ..fresh.clone()
        })?;
        fail::point("synced-file.stamped");
        let own = staged.look();
        let is_own = |look: &Look| own.is_some_and(|own| look.is_same_version(&own));
        let displaced = staged.exchange()?;
        fail::point("synced-file.exchanged");
        let expected = match is_expected(&displaced, &old, &before) {
            Ok(expected) => expected,
            Err(error) => {
                // Nobody knows whose it is: it stays, under the name in the stamp.
                displaced.keep();
                return Err(error);
            }
        };
        if !expected {
            // For a moment piton's version was there: whoever read that one does
            // not know of this one, and may write over it before it is read,
            // also when this process dies. So a copy stays until it is. Of a plan
            // it is the version in the place that counts.
            if self.flush != Flush::Stamp {
                self.displaced.extend(displaced.copy()?);
            }
            let later =
                displaced.put_back(|path| Look::at(path).is_some_and(|look| is_own(&look)))?;
            fail::point("synced-file.put-back");
            let (beside, copy) = later.map(|later| (later.beside, later.copy)).unzip();
            self.displaced.extend(copy);
            self.put_stamp(Stamp {
                look: None,
                temp: beside.unwrap_or_default(),
                ..old
            })?;
            return Ok(Put::Overtaken);
        }
        let spare = match same {
            Some(same) => self.put_aside(displaced, same),
            None => {
                drop(displaced);
                None
            }
        };
        fail::point("synced-file.tidied");
        self.stamp = Stamp {
            // Whoever brings the version before back brings back one that lacks
            // something: that is somebody else's doing.
            before: fresh.after.clone(),
            // Somebody may have written it again in the meantime: that is not ours.
            look: Look::at(&self.target).filter(|look| is_own(look)),
            temp: String::new(),
            spare,
            ..fresh
        };
        // Only a help for the next one who looks: it need not be flushed.
        write_stamp(&self.stamp_file, &self.stamp)?;
        Ok(Put::Done)
    }

    /// The versions of others that came out of exchanges since this was asked.
    pub fn take_displaced(&mut self) -> Vec<Copied> {
        std::mem::take(&mut self.displaced)
    }

    /// Whether a process died between an exchange and its end, and left a version
    /// of the file beside it.
    #[must_use]
    pub fn has_left(&self) -> bool {
        let left = self.target.with_file_name(&self.stamp.temp);
        !self.stamp.temp.is_empty() && left.is_file()
    }

    /// Takes away what a crash in the middle of a write left beside the file.
    /// A version of somebody else's among it is handed to `take` first; it goes
    /// when that says so, and stays otherwise.
    ///
    /// # Errors
    ///
    /// When the folder cannot be read, or something in it cannot be removed.
    pub fn tidy<E: From<io::Error>>(
        &mut self,
        mut take: impl FnMut(&[u8]) -> Result<bool, E>,
    ) -> Result<(), E> {
        let folder = self.target.parent().unwrap_or(Path::new("."));
        if !folder.is_dir() {
            return Ok(());
        }
        for left in leftovers(&self.target)? {
            let in_exchange = left.name == self.stamp.temp;
            if in_exchange || left.kept {
                let bytes = fs::read(&left.path)?;
                let hash = sha256(&bytes);
                let ours = hash == self.stamp.before || hash == self.stamp.after;
                if !ours && !take(&bytes)? {
                    if in_exchange {
                        let name = left.keep()?;
                        self.put_stamp(Stamp {
                            temp: name,
                            ..self.stamp.clone()
                        })?;
                    }
                    continue;
                }
            }
            fs::remove_file(&left.path)?;
        }
        Ok(())
    }

    /// Puts back what a crash left of somebody else's version, if the file is
    /// still what piton was about to put in its place.
    ///
    /// # Errors
    ///
    /// When the file cannot be read or written.
    pub fn put_back_left(&mut self) -> io::Result<()> {
        let Some(left) = leftovers(&self.target)?
            .into_iter()
            .find(|left| left.name == self.stamp.temp)
        else {
            return Ok(());
        };
        let hash = sha256(&fs::read(&left.path)?);
        if hash == self.stamp.before || hash == self.stamp.after {
            return Ok(());
        }
        let present = fs::read(&self.target).ok().map(|bytes| sha256(&bytes));
        if present.as_ref() == Some(&self.stamp.after) {
            let after = &self.stamp.after;
            let is_own = |path: &Path| fs::read(path).is_ok_and(|bytes| sha256(&bytes) == *after);
            let later = Displaced::left_at(left.path, &self.target).put_back(is_own)?;
            if let Some(later) = later {
                self.displaced.push(later.copy);
                self.put_stamp(Stamp {
                    temp: later.beside,
                    ..self.stamp.clone()
                })?;
            }
        }
        Ok(())
    }

    fn keep_base(&self, bytes: &[u8]) {
        if bytes.len() <= BASE_BYTES_MAX {
            // A help to tell edits by; without it the file is compared with the journal.
            fs::write(&self.base, bytes).ok();
        }
    }

    /// Keeps what is to be the base soon.
    fn keep_next(&self, bytes: &[u8]) {
        if bytes.len() <= BASE_BYTES_MAX {
            // Without it the file stays whole as it is until a person decides.
            fs::write(self.base.with_extension(NEXT), bytes).ok();
        }
    }

    fn keep_next_as_base(&self) {
        // Where it cannot be done, it is found under its name.
        fs::rename(self.base.with_extension(NEXT), &self.base).ok();
    }

    /// Whether the branch is checked out that was when piton wrote the file: only
    /// then what is missing in it was taken out of it.
    #[must_use]
    pub fn is_on_same_branch(&self) -> bool {
        self.stamp.head == self.head().hash
    }

    /// Whether another branch is checked out than when piton wrote the file; not
    /// where nobody knows which one that was.
    #[must_use]
    pub fn is_of_other_branch(&self) -> bool {
        !self.stamp.head.is_empty() && !self.is_on_same_branch()
    }

    /// Notes what is done and has no mark in the file that git put here.
    ///
    /// # Errors
    ///
    /// When the stamp cannot be kept.
    pub fn note_gone(&mut self, gone: BTreeMap<String, Timestamp>) -> io::Result<()> {
        self.put_stamp(Stamp {
            gone,
            ..self.stamp.clone()
        })
    }

    /// Whether the file is known to be one that this branch does not have.
    #[must_use]
    pub fn is_absent_here(&self) -> bool {
        !self.stamp.absent_on.is_empty() && self.stamp.absent_on == self.head().hash
    }

    /// Notes that this branch does not have the file, while others do.
    ///
    /// # Errors
    ///
    /// When the stamp cannot be kept.
    pub fn note_absent(&mut self) -> io::Result<()> {
        self.put_stamp(Stamp {
            absent_on: self.head().hash,
            ..self.stamp.clone()
        })
    }

    /// Whether what is checked out is what was when piton wrote the file.
    #[must_use]
    pub fn is_on_same_commit(&self) -> bool {
        self.is_on_same_branch() && self.stamp.commit == self.head().commit
    }

    /// Whether a branch has another version of the file, or none: asked once for each
    /// commit that is checked out, and again when a branch has come, gone or moved.
    ///
    /// # Errors
    ///
    /// When the stamp cannot be kept.
    pub fn has_other_version(
        &mut self,
        tips: &BTreeMap<String, String>,
        ask: impl FnOnce() -> bool,
    ) -> io::Result<bool> {
        let commit = self.head().commit;
        if commit.is_empty() {
            return Ok(false);
        }
        let at_tips = sha256(format!("{commit} {tips:?}").as_bytes());
        if let Some((at, has_other)) = &self.stamp.others
            && *at == at_tips
        {
            return Ok(*has_other);
        }
        let has_other = ask();
        self.put_stamp(Stamp {
            others: Some((at_tips, has_other)),
            ..self.stamp.clone()
        })?;
        Ok(has_other)
    }

    /// Notes which rows no file shows because their branch does not have it.
    ///
    /// # Errors
    ///
    /// When the stamp cannot be kept.
    pub fn note_unshown_rows(&mut self, unshown: Option<UnshownRows>) -> io::Result<()> {
        self.put_stamp(Stamp {
            unshown,
            ..self.stamp.clone()
        })
    }

    fn head(&self) -> Head {
        let read = || checked_out(&self.target);
        match &self.head {
            Some(head) => head.get_or_init(read).clone(),
            None => read(),
        }
    }

    fn put_stamp(&mut self, stamp: Stamp) -> io::Result<()> {
        if stamp == self.stamp {
            return Ok(());
        }
        write_stamp(&self.stamp_file, &stamp)?;
        if self.flush == Flush::Stamp {
            sync_file(&self.stamp_file)?;
        }
        self.stamp = stamp;
        Ok(())
    }
}

fn own_name(hash: &str) -> &str {
    hash.get(..OWN_LETTERS).unwrap_or(hash)
}

fn with_version(own: &[String], version: &str) -> Vec<String> {
    let from = (own.len() + 1).saturating_sub(OWN_MAX);
    let known = own.get(from..).unwrap_or_default().iter().cloned();
    known.chain([version.to_owned()]).collect()
}

#[cfg(unix)]
fn is_only_name(path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    fs::metadata(path).is_ok_and(|found| found.nlink() == 1)
}

#[cfg(not(unix))]
fn is_only_name(_: &Path) -> bool {
    false
}

/// Whether what came out of an exchange is what was there a moment ago.
fn is_expected(displaced: &Displaced, old: &Stamp, before: &str) -> io::Result<bool> {
    let Some(path) = displaced.path() else {
        return Ok(true);
    };
    let look = Look::at(path);
    if let (Some(look), Some(was)) = (look, old.look)
        && look.is_same_version(&was)
    {
        return Ok(true);
    }
    let hash = displaced.read()?.map(|bytes| sha256(&bytes));
    Ok(hash.is_some_and(|hash| {
        !hash.is_empty() && (hash == before || hash == old.after || hash == old.before)
    }))
}

/// What is checked out where a file lies. Git is not started.
fn checked_out(target: &Path) -> Head {
    let mut folders = target.ancestors().skip(1);
    let found = folders.find_map(|folder| Some((folder, git::git_dir(folder)?)));
    let Some((folder, git_dir)) = found else {
        return Head::default();
    };
    let head = fs::read(git_dir.join("HEAD"));
    let hash = head.map(|head| sha256(&head)).unwrap_or_default();
    let here = git::checked_out(folder);
    Head {
        hash: hash.chars().take(8).collect(),
        commit: here.and_then(|here| here.commit).unwrap_or_default(),
    }
}

fn write_stamp(mut file: &File, stamp: &Stamp) -> io::Result<()> {
    let mut bytes = serde_json::to_vec(stamp)?;
    bytes.resize(STAMP_BYTES.max(bytes.len()), b' ');
    file.seek(io::SeekFrom::Start(0))?;
    file.write_all(&bytes)?;
    file.set_len(bytes.len() as u64)
}

fn stamp_in(mut file: &File) -> io::Result<Option<Stamp>> {
    let mut bytes = Vec::new();
    file.seek(io::SeekFrom::Start(0))?;
    file.read_to_end(&mut bytes)?;
    Ok(serde_json::from_slice(bytes.trim_ascii()).ok())
}

fn base_of(path: &Path, hash: &str) -> Option<String> {
    let kept = [path.to_owned(), path.with_extension(NEXT)];
    let mut versions = kept.iter().filter_map(|path| fs::read(path).ok());
    let bytes = versions.find(|bytes| sha256(bytes) == hash)?;
    String::from_utf8(bytes).ok()
}

/// The version that piton wrote last of the file whose stamp is kept under
/// `key`, if it is still known. For reading: nothing is made or locked.
#[must_use]
pub fn last_version(home: &Path, key: &str) -> Option<String> {
    let stamp = stamp_at(home, key)?;
    let base = folder(home).join(format!("{key}.base"));
    base_of(&base, stamp.base_hash(None))
}

/// Whether the file at `target`, whose stamp is kept under `key`, is by what the
/// system says of it the one that piton wrote last. Neither is made or locked.
#[must_use]
pub fn is_last_version(home: &Path, key: &str, target: &Path) -> bool {
    let target = fs::canonicalize(target).unwrap_or_else(|_| target.to_owned());
    let look = stamp_at(home, key).and_then(|stamp| stamp.look);
    look.is_some() && Look::at(&target) == look
}

fn stamp_at(home: &Path, key: &str) -> Option<Stamp> {
    stamp_in(&File::open(folder(home).join(format!("{key}.json"))).ok()?).ok()?
}

/// Lets every file be written from the beginning of its streams again: the
/// journal is another one now. Those that `is_read_again` says so of, by their
/// key, may hold what it does not know: they are taken in like somebody else's.
///
/// # Errors
///
/// When a stamp cannot be read or kept.
pub fn rewind(home: &Path, is_read_again: impl Fn(&str) -> bool) -> io::Result<()> {
    let folder = folder(home);
    if !folder.is_dir() {
        return Ok(());
    }
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        // What was asked about is asked of the journal that there is.
        if path.extension().is_some_and(|end| end == ASKED) {
            fs::remove_file(&path)?;
        }
        if path.extension().is_none_or(|end| end != "json") {
            continue;
        }
        let key = path.file_stem().unwrap_or_default().to_string_lossy();
        let read_again = is_read_again(&key);
        let file = OpenOptions::new().read(true).write(true).open(&path)?;
        file.lock()?;
        if let Some(mut stamp) = stamp_in(&file)? {
            if let Some(held) = stamp.held.take() {
                let base = path.with_extension("base");
                fs::rename(base.with_extension(BEFORE), base).ok();
                stamp.look = None;
                (stamp.before, stamp.after) = (String::new(), held.before);
            }
            let stamp = if read_again {
                Stamp {
                    temp: stamp.temp,
                    ..Stamp::default()
                }
            } else {
                Stamp {
                    positions: BTreeMap::new(),
                    ..stamp
                }
            };
            write_stamp(&file, &stamp)?;
            file.sync_data()?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const BODY: &str = "[\n  1\n]\n";

    fn spliced(file: &mut SyncedFile, what: &str) -> Put {
        let tail = file.stamp().tail.clone().expect("a tail");
        let abridged = file.abridged(&tail).expect("read").expect("a text");
        let end = abridged.strip_suffix("\n]\n").expect("an end");
        let end = format!("{end},\n  {what}\n]\n");
        let put = file.splice(&tail, (end.as_bytes(), tail.clone()), BTreeMap::new());
        assert_eq!(file.stamp().after, sha256(text(file).as_bytes()));
        assert_eq!(file.base(), Some(text(file)));
        put.expect("spliced")
    }

    fn kept(folder: &Path) -> SyncedFile {
        let target = folder.join("list.json");
        let mut file = SyncedFile::open(folder, "list", &target, Flush::File).expect("opened");
        let ends = Ends {
            head: 0,
            tail: 4,
            first: 1,
            open: Vec::new(),
        };
        let tail = Tail::of(BODY, ends);
        let put = file.put(BODY.as_bytes(), BTreeMap::new(), Some(tail));
        assert_eq!(put.expect("put"), Put::Done);
        file
    }

    fn text(file: &SyncedFile) -> String {
        fs::read_to_string(file.target()).expect("read")
    }

    #[test]
    fn a_version_that_is_made_of_the_one_before_says_the_same_as_a_copy() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut file = kept(folder.path());
        let mut expected = "[\n  1".to_owned();
        for (number, with_spare) in [(2, false), (3, true), (4, true), (5, true)] {
            assert_eq!(file.stamp().spare.is_some(), with_spare);
            assert_eq!(spliced(&mut file, &number.to_string()), Put::Done);
            expected = format!("{expected},\n  {number}");
            assert_eq!(text(&file), format!("{expected}\n]\n"));
        }
        let names = fs::read_dir(folder.path()).expect("listed").count();
        assert_eq!(names, 2, "the list, and the folder of the stamps");
    }

    #[test]
    fn a_spare_that_somebody_touched_or_linked_is_left_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut file = kept(folder.path());
        spliced(&mut file, "2");
        fs::write(&file.spare, "[\n  9\n]\n").expect("written");
        spliced(&mut file, "3");
        assert_eq!(text(&file), "[\n  1,\n  2,\n  3\n]\n");
        let link = folder.path().join("link");
        fs::hard_link(&file.spare, &link).expect("linked");
        let linked = fs::read_to_string(&link).expect("read");
        spliced(&mut file, "4");
        spliced(&mut file, "5");
        assert_eq!(fs::read_to_string(&link).expect("read"), linked);
        assert_eq!(text(&file), "[\n  1,\n  2,\n  3,\n  4,\n  5\n]\n");
    }

    /// It dies after it put somebody's version back, and somebody who had read
    /// piton's version in between writes over it.
    #[test]
    fn what_was_displaced_is_kept_until_it_is_taken_in() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut file = kept(folder.path());
        fs::write(file.target(), "[\n  8\n]\n").expect("written");
        let put = file.put(b"[\n  2\n]\n", BTreeMap::new(), None);
        assert_eq!(put.expect("put"), Put::Overtaken);
        assert_eq!(text(&file), "[\n  8\n]\n");
        drop(file);
        let target = folder.path().join("list.json");
        fs::write(&target, "[\n  2,\n  9\n]\n").expect("written");
        let mut next =
            SyncedFile::open(folder.path(), "list", &target, Flush::File).expect("opened");
        let mut taken = Vec::new();
        next.tidy(|left| {
            taken.push(left.to_vec());
            Ok::<_, io::Error>(true)
        })
        .expect("tidied");
        assert_eq!(taken, [b"[\n  8\n]\n"]);
        assert_eq!(leftovers(&target).expect("listed"), []);
        // What is taken in at once leaves nothing.
        let put = next.put(b"[\n  3\n]\n", BTreeMap::new(), None);
        assert_eq!(put.expect("put"), Put::Overtaken);
        for displaced in next.take_displaced() {
            assert_eq!(displaced.bytes(), b"[\n  2,\n  9\n]\n");
            displaced.remove();
        }
        assert_eq!(leftovers(&target).expect("listed"), []);
    }

    #[test]
    fn a_version_that_is_written_whole_leaves_no_spare() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut file = kept(folder.path());
        spliced(&mut file, "2");
        assert!(file.spare.exists());
        file.put(b"[]", BTreeMap::new(), None).expect("put");
        assert!(!file.spare.exists());
        assert_eq!(text(&file), "[]");
    }
}
