//! One native file that piton keeps up to date and that others may write.
//!
//! A [`SyncedFile`] knows the file, not its format. It tells whether what is there is
//! what piton wrote last, puts a new version into its place by an exchange, and
//! looks at what comes out: what another writer wrote in between goes back, so that
//! the caller imports it first.
//!
//! What piton wrote last is in the stamp, by hash and by what the system says of
//! the file. The stamp is a register: losing it costs a second reading.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use piton_formats::ends::TextEnds;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::native_files::exchange::{
    DisplacedCopy, DisplacedVersion, IncrementalHash, OlderVersion, StagedFile, create_temp_file,
    find_leftovers, stage, stage_from_previous, stage_spliced, stage_unflushed, sync_file,
};
use crate::project::Project;
use crate::project::inside::{create_own_folder, open_own_file, write_own_file};
use crate::world::input;
use crate::world::input::sha256;
use crate::{failpoint, git};

pub use super::stat_fingerprint::StatFingerprint;

/// A small stamp fills one sector, so that it is written whole or not at all.
const STAMP_BYTES: usize = 512;
/// A spare is left alone for so long, since a program may still be reading it.
const SPARE_REST_NS: i64 = if cfg!(test) { 0 } else { 200_000_000 };
/// What the name of what is remembered ends with.
const ASKED: &str = "asked";
/// What the name of the version before one of which a part stays ends with.
const BEFORE: &str = "before";
/// What the name of a base that is about to be the base ends with.
const NEXT: &str = "next";
/// The same of a version of which a part stays, and of the next one.
const HELD: &str = "held";
const NEXT_HELD: &str = "next-held";
/// Of files up to this size the last version is kept, to tell edits by.
const BASE_BYTES_MAX: usize = 4 << 20;

/// What piton knows of a file that it wrote.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SyncStamp {
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
    pub look: Option<StatFingerprint>,
    /// How many events of each stream the file shows.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub positions: BTreeMap<String, u64>,
    /// What is enough of a large file to show what is new.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tail: Option<LargeFileTail>,
    /// The version before, of a large file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spare: Option<PreviousVersion>,
    /// The branch that was checked out when this was noted, as
    /// [`read_checked_out_head`] tells it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub head: String,
    /// The commit that was checked out then; empty where git has none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub commit: String,
    /// What was done, and when, whose work was not committed, and which the file that
    /// git put here does not have: it went along to another branch.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub gone: BTreeMap<String, Timestamp>,
    /// The beginnings of the hashes of the last version that others made and of those
    /// that piton made of it since, at most [`OWN_MAX`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub own: Vec<String>,
    /// The branch, as in `head`, that does not have the file while others do.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub absent_on: String,
    /// What another writer left in the file that a person is asked about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held: Option<HeldConflict>,
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

/// A file of which a part stays as another writer wrote it until a person decides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldConflict {
    /// The hash of what piton itself would have written: the base to tell edits by.
    own: String,
    /// The same of the version before the last exchange, which a crash may leave.
    was: String,
    /// What is known of the version that was asked about.
    about: HeldConflictDetails,
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
struct CheckedOutHead {
    /// The branch in eight letters; for a detached head, which commit. Empty
    /// outside of git.
    hash: String,
    commit: String,
}

/// The version before the present one of a large file, kept to make the next
/// one of: the beginnings are the same, and the largest part of both.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PreviousVersion {
    /// So many bytes at the beginning of both are the same.
    pub same: u64,
    /// What the system said of it when it was put aside.
    pub look: StatFingerprint,
}

/// What is known of a version of which a part stays: it is written with the stamp,
/// since without it what the file lacks would count as taken out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldConflictDetails {
    /// It is only the beginning of what piton wrote last.
    #[serde(default)]
    pub ends_early: bool,
    /// The person who wrote it, where that is known.
    #[serde(default)]
    pub by: Option<String>,
}

impl SyncStamp {
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

/// Where the ends of a large file are, of which what is new is made ([`TextEnds`]).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LargeFileTail {
    /// How long the beginning is.
    pub head: u64,
    /// The byte where the end begins.
    pub at: u64,
    /// How many bytes of the end nothing comes before.
    pub first: u64,
    /// As in [`TextEnds::open`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub open: Vec<String>,
    /// How far the hash of the file has come at `at` ([`IncrementalHash::state_hex`]).
    pub hashed: String,
}

impl LargeFileTail {
    /// The ends of a text.
    #[must_use]
    pub fn from_ends(text: &str, ends: TextEnds) -> Self {
        Self {
            head: ends.head as u64,
            at: ends.tail as u64,
            first: ends.first as u64,
            open: ends.open,
            hashed: IncrementalHash::new_with_prefix(&text.as_bytes()[..ends.tail]).state_hex(),
        }
    }

    /// Smaller ends of the same file, found in `abridged`, which has these.
    #[must_use]
    pub fn narrow_to_ends(&self, abridged: &str, ends: TextEnds) -> Option<Self> {
        let head = usize::try_from(self.head).ok()?;
        let between = abridged.as_bytes().get(head..ends.tail)?;
        let mut open = self.open.clone();
        open.extend(ends.open);
        open.sort_unstable();
        open.dedup();
        Some(Self {
            at: self.at + between.len() as u64,
            first: ends.first as u64,
            hashed: IncrementalHash::from_state_hex(&self.hashed)?
                .chain_update(between)
                .state_hex(),
            head: self.head,
            open,
        })
    }

    /// The hash of the file whose end is this.
    fn hash_with(&self, end: &[u8]) -> Option<String> {
        Some(
            IncrementalHash::from_state_hex(&self.hashed)?
                .chain_update(end)
                .finalize_hex(),
        )
    }
}

/// What is in the place of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PresentFile {
    /// Nothing.
    Missing,
    /// What piton wrote last.
    Ours,
    /// What another writer wrote.
    Foreign(Vec<u8>),
    /// What is no regular file, in words: it is neither read nor written.
    Special(String),
}

/// A version that is about to take the place of the file.
struct NextFileVersion {
    /// Its hash.
    after: String,
    tail: Option<LargeFileTail>,
    positions: BTreeMap<String, u64>,
    held: Option<HeldConflict>,
}

/// What came of putting a version into its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteOutcome {
    /// It is there.
    Done,
    /// Another writer had written in between: that version is there.
    Overtaken,
}

/// What is on stable storage before the exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlushScope {
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
    stamp: SyncStamp,
    flush: FlushScope,
    /// The hash of what was found in the place of the file, when it was ours. A
    /// crash before an exchange leaves the version before the last one there.
    found: Option<String>,
    /// Versions of others that came out of exchanges and went back.
    displaced: Vec<DisplacedCopy>,
    /// Which branch is checked out, read at most once while the file is locked.
    head: Option<OnceCell<CheckedOutHead>>,
}

/// What is remembered of a version of another writer.
#[derive(Debug, Serialize, Deserialize)]
struct RememberedOfVersion<T> {
    /// The hash of what piton had written last.
    after: String,
    what: T,
}

/// Where stamps are kept. The folder has the name that it always had: beside an
/// older piton that looks there, one file would have two stamps.
fn stamp_folder(home: &Path) -> PathBuf {
    home.join("mirrors")
}

impl SyncedFile {
    /// The file at `target`, whose stamp is kept under `key`.
    ///
    /// # Errors
    ///
    /// When the stamp cannot be kept, or a link on the way to the file leads out of
    /// the project.
    pub fn open(
        project: &Project,
        key: &str,
        target: &Path,
        flush: FlushScope,
    ) -> io::Result<Self> {
        // A link is followed: its own name is not what is kept up to date.
        let target = project.resolve_inside(target)?;
        let folder = stamp_folder(&project.home);
        create_own_folder(&folder)?;
        let stamp_file = open_own_file(
            &folder.join(format!("{key}.json")),
            OpenOptions::new()
                .create(true)
                .truncate(false)
                .read(true)
                .write(true),
        )?;
        let stamp = read_stamp(&stamp_file)?.unwrap_or_default();
        Ok(Self {
            target,
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
    pub fn target_path(&self) -> &Path {
        &self.target
    }

    /// What is known of it.
    #[must_use]
    pub fn stamp(&self) -> &SyncStamp {
        &self.stamp
    }

    /// Does something while no other process keeps this file, with the stamp as
    /// the last of them left it.
    ///
    /// # Errors
    ///
    /// When the lock cannot be taken, the stamp cannot be read, or `what` fails.
    pub fn with_lock<T, E: From<io::Error>>(
        &mut self,
        what: impl FnOnce(&mut Self) -> Result<T, E>,
    ) -> Result<T, E> {
        self.stamp_file.lock()?;
        let result = read_stamp(&self.stamp_file)
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
    pub fn read_present(&mut self) -> io::Result<PresentFile> {
        let Some(look) = StatFingerprint::of_path(&self.target) else {
            return Ok(PresentFile::Missing);
        };
        if Some(look) == self.stamp.look {
            self.found = Some(self.stamp.after.clone());
            return Ok(PresentFile::Ours);
        }
        if let Err(special) = input::refuse_special(&fs::metadata(&self.target)?) {
            return Ok(PresentFile::Special(special.to_string()));
        }
        let bytes = input::read_file(&self.target)?;
        let hash = sha256(&bytes);
        let ours = !hash.is_empty() && (hash == self.stamp.after || hash == self.stamp.before);
        Ok(if ours {
            self.found = Some(hash);
            PresentFile::Ours
        } else {
            PresentFile::Foreign(bytes)
        })
    }

    /// Whether, by what the system says of it, another writer may have changed it
    /// since. Reads nothing.
    #[must_use]
    pub fn may_be_foreign(&self) -> bool {
        StatFingerprint::of_path(&self.target) != self.stamp.look
    }

    /// The version that piton wrote last, if it is still known.
    #[must_use]
    pub fn read_base(&self) -> Option<String> {
        read_base_with_hash(&self.base, self.stamp.base_hash(self.found.as_deref()))
    }

    /// Notes that the file is this, which was taken in: it may be replaced.
    ///
    /// # Errors
    ///
    /// When the stamp cannot be kept.
    pub fn accept_version(&mut self, present: &[u8]) -> io::Result<()> {
        self.write_base(present);
        let kept = self.record_version(present, None);
        // There is none, unless a person was asked about the file.
        fs::remove_file(&self.remembered).ok();
        kept
    }

    /// The last version of which a part stays, if it is still known.
    #[must_use]
    pub fn read_held_version(&self) -> Option<String> {
        let hash = self.found.as_ref().unwrap_or(&self.stamp.after);
        let kept = [HELD, NEXT_HELD].map(|name| self.base.with_extension(name));
        self.has_held_conflict()
            .then(|| read_version_with_hash(&kept, hash))
            .flatten()
    }

    /// Notes that the file is this, of which a person is asked about a part: `own` is
    /// what piton would have written, where that is known.
    ///
    /// # Errors
    ///
    /// When the stamp cannot be kept.
    pub fn hold_conflict(
        &mut self,
        present: &[u8],
        own: Option<&str>,
        about: HeldConflictDetails,
    ) -> io::Result<()> {
        let before = match &self.stamp.held {
            Some(held) => held.before.clone(),
            None => {
                // A help, as the base is.
                let base = input::read_file(&self.base);
                base.and_then(|base| write_own_file(&self.base.with_extension(BEFORE), &base))
                    .ok();
                self.stamp.after.clone()
            }
        };
        let own = match own {
            Some(own) => {
                self.write_next_version(NEXT, own.as_bytes());
                sha256(own.as_bytes())
            }
            None => self.stamp.base_hash(self.found.as_deref()).to_owned(),
        };
        let held = HeldConflict {
            was: own.clone(),
            own,
            about,
            before,
        };
        self.write_next_version(NEXT_HELD, present);
        self.record_version(present, Some(held))?;
        self.promote_next_versions();
        Ok(())
    }

    /// Whether a part of the file stays as another writer wrote it.
    #[must_use]
    pub fn has_held_conflict(&self) -> bool {
        self.stamp.held.is_some()
    }

    /// What is known of the version of which a part stays.
    #[must_use]
    pub fn held_conflict_details(&self) -> Option<&HeldConflictDetails> {
        self.stamp.held.as_ref().map(|held| &held.about)
    }

    /// Whether this is the file of which a part stays as it is: all of it is known.
    #[must_use]
    pub fn is_held_version(&self, bytes: &[u8]) -> bool {
        let is_known = |hash: String| hash == self.stamp.after || hash == self.stamp.before;
        self.has_held_conflict() && is_known(sha256(bytes))
    }

    fn record_version(&mut self, present: &[u8], held: Option<HeldConflict>) -> io::Result<()> {
        let hash = sha256(present);
        let head = self.checked_out_head();
        self.found = Some(hash.clone());
        let look = StatFingerprint::of_path(&self.target);
        // What another writer saved since the bytes were read has another size or time;
        // when it does not, its hash is looked at before it is replaced.
        let look = look.filter(|look| look.size_bytes() == present.len() as u64);
        let same = input::read_file(&self.target).is_ok_and(|there| there == present);
        self.store_stamp(SyncStamp {
            before: hash.clone(),
            after: hash.clone(),
            temp: String::new(),
            look: look.filter(|_| same),
            tail: None,
            spare: None,
            positions: self.stamp.positions.clone(),
            gone: self.stamp.gone.clone(),
            own: vec![own_version_name(&hash).to_owned()],
            absent_on: String::new(),
            held,
            unshown: self.stamp.unshown.clone(),
            others: self.stamp.others.clone(),
            head: head.hash,
            commit: head.commit,
        })
    }

    /// Remembers something about another writer's version, until another one is
    /// accepted. Losing it only costs a repeated notice.
    pub fn store_remembered<T: Serialize>(&self, what: &T) {
        let after = self.stamp.after.clone();
        if let Ok(bytes) = serde_json::to_vec(&RememberedOfVersion { after, what })
            && bytes.len() <= BASE_BYTES_MAX
        {
            write_own_file(&self.remembered, &bytes).ok();
        }
    }

    /// What was remembered last.
    #[must_use]
    pub fn load_remembered<T: DeserializeOwned>(&self) -> Option<T> {
        let bytes = input::read_file(&self.remembered).ok()?;
        let known: RememberedOfVersion<T> = serde_json::from_slice(&bytes).ok()?;
        (known.after == self.stamp.after).then_some(known.what)
    }

    /// Notes how far the file shows the streams.
    ///
    /// # Errors
    ///
    /// When the stamp cannot be kept.
    pub fn record_positions(&mut self, positions: BTreeMap<String, u64>) -> io::Result<()> {
        let head = self.checked_out_head();
        self.store_stamp(SyncStamp {
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
    pub fn record_positions_and_tail(
        &mut self,
        positions: BTreeMap<String, u64>,
        tail: Option<LargeFileTail>,
    ) -> io::Result<()> {
        let head = self.checked_out_head();
        self.store_stamp(SyncStamp {
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
    pub fn has_only_own_changes_since(&self, committed: &str) -> bool {
        let own = &self.stamp.own;
        let is_known = |text: &str| {
            let hash = sha256(text.as_bytes());
            own.iter().any(|known| known == own_version_name(&hash))
        };
        // Git may keep other line ends than those of the work tree.
        is_known(committed) || is_known(&committed.replace('\n', "\r\n"))
    }

    /// Puts a new version into its place.
    ///
    /// # Errors
    ///
    /// When it cannot be written; the file is as it was.
    pub fn write_version(
        &mut self,
        bytes: &[u8],
        positions: BTreeMap<String, u64>,
        tail: Option<LargeFileTail>,
    ) -> io::Result<WriteOutcome> {
        // Writing to a pipe would wait for a reader.
        if let Ok(found) = fs::metadata(&self.target) {
            input::refuse_special(&found)?;
        }
        let next = NextFileVersion {
            after: sha256(bytes),
            tail,
            positions,
            held: None,
        };
        let put = self.write_whole(bytes, next)?;
        if put == WriteOutcome::Done {
            self.write_base(bytes);
        }
        Ok(put)
    }

    /// Puts a version into its place of which a part stays as another writer wrote it.
    /// `own` is the version without that part.
    ///
    /// # Errors
    ///
    /// When it cannot be written; the file is as it was.
    pub fn write_beside_held(
        &mut self,
        bytes: &[u8],
        own: &str,
        positions: BTreeMap<String, u64>,
    ) -> io::Result<WriteOutcome> {
        let was = self.stamp.base_hash(self.found.as_deref()).to_owned();
        let held = self.stamp.held.clone().map(|held| HeldConflict {
            own: sha256(own.as_bytes()),
            was,
            ..held
        });
        // Until the exchange is over both versions may be needed.
        self.write_next_version(NEXT, own.as_bytes());
        self.write_next_version(NEXT_HELD, bytes);
        let next = NextFileVersion {
            after: sha256(bytes),
            tail: None,
            positions,
            held,
        };
        let put = self.write_whole(bytes, next)?;
        if put == WriteOutcome::Done {
            self.promote_next_versions();
        }
        Ok(put)
    }

    fn write_whole(&mut self, bytes: &[u8], next: NextFileVersion) -> io::Result<WriteOutcome> {
        if let Some(folder) = self.target.parent() {
            fs::create_dir_all(folder)?;
        }
        let staged = match self.flush {
            FlushScope::Stamp | FlushScope::File => stage(&self.target, bytes)?,
            FlushScope::Nothing => stage_unflushed(&self.target, bytes)?,
        };
        let put = self.exchange_staged(staged, next, None)?;
        if put == WriteOutcome::Done {
            self.remove_previous();
        }
        Ok(put)
    }

    /// What is between the ends of a large file left out; none where it is not
    /// piton's version, or no text.
    ///
    /// # Errors
    ///
    /// When it cannot be read.
    pub fn read_abridged(&self, tail: &LargeFileTail) -> io::Result<Option<String>> {
        let mut file = input::open_file(&self.target)?;
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
    pub fn splice_end(
        &mut self,
        tail: &LargeFileTail,
        end: &[u8],
        next: LargeFileTail,
        positions: BTreeMap<String, u64>,
    ) -> io::Result<WriteOutcome> {
        let Some(after) = tail.hash_with(end) else {
            return Err(io::ErrorKind::InvalidData.into());
        };
        let staged = match self.stage_from_previous(tail, end) {
            Some(staged) => staged,
            None => stage_spliced(&self.target, tail.at, end)?,
        };
        if self.may_be_foreign() {
            // What was copied may be of two versions: it must not become the file.
            return Ok(WriteOutcome::Overtaken);
        }
        let next = NextFileVersion {
            after,
            tail: Some(next),
            positions,
            held: None,
        };
        let put = self.exchange_staged(staged, next, Some(tail.at))?;
        if put == WriteOutcome::Done {
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
        let mut base = open_own_file(&self.base, OpenOptions::new().write(true))?;
        base.seek(io::SeekFrom::Start(at))?;
        base.write_all(end)?;
        base.set_len(length)
    }

    /// The next version made of the one before, where there is one, it is unchanged, and
    /// it has no other name in the file system.
    fn stage_from_previous(&self, tail: &LargeFileTail, end: &[u8]) -> Option<StagedFile> {
        let spare = self.stamp.spare.as_ref()?;
        let is_ours = StatFingerprint::of_path(&self.spare) == Some(spare.look)
            && has_single_link(&self.spare);
        if !is_ours {
            return None;
        }
        // Whatever goes wrong, the whole can still be copied.
        let temp = create_temp_file(&self.target).ok()?;
        // By the clock of the file system, which is the only one that knows.
        let now = StatFingerprint::of_path(&temp)?.changed;
        if now.saturating_sub(spare.look.changed) < SPARE_REST_NS {
            return None;
        }
        let older = OlderVersion {
            path: &self.spare,
            same_bytes: spare.same,
        };
        stage_from_previous(older, temp, &self.target, tail.at, end).ok()
    }

    /// Puts the version aside that came out of an exchange, if it can be of use.
    fn store_previous(&self, displaced: DisplacedVersion, same: u64) -> Option<PreviousVersion> {
        displaced.persist_at(&self.spare).ok()?;
        Some(PreviousVersion {
            same,
            look: StatFingerprint::of_path(&self.spare)?,
        })
    }

    fn remove_previous(&self) {
        // There is none, unless the file was large.
        fs::remove_file(&self.spare).ok();
    }

    /// `same` is how many bytes of the version before and the new one are known to
    /// be the same.
    fn exchange_staged(
        &mut self,
        staged: StagedFile,
        next: NextFileVersion,
        same: Option<u64>,
    ) -> io::Result<WriteOutcome> {
        failpoint::point("synced-file.staged");
        let old = self.stamp.clone();
        let fresh = self.next_stamp(&staged, next);
        // What is shown whole again is healed by the next write. What is shown
        // row by row must not be said to be shown before it is.
        let shown = match self.flush {
            FlushScope::Stamp => fresh.positions.clone(),
            FlushScope::File | FlushScope::Nothing => old.positions.clone(),
        };
        self.store_stamp(SyncStamp {
            positions: shown,
            tail: None,
            ..fresh.clone()
        })?;
        failpoint::point("synced-file.stamped");
        let own = staged.stat_fingerprint();
        let displaced = staged.exchange()?;
        failpoint::point("synced-file.exchanged");
        let expected = match is_expected(&displaced, &old, &fresh.before) {
            Ok(expected) => expected,
            Err(error) => {
                // It is unknown whose it is: it stays, under the name in the stamp.
                displaced.leave_on_disk();
                return Err(error);
            }
        };
        if !expected {
            self.restore_displaced(displaced, own, old)?;
            return Ok(WriteOutcome::Overtaken);
        }
        let spare = match same {
            Some(same) => self.store_previous(displaced, same),
            None => {
                drop(displaced);
                None
            }
        };
        failpoint::point("synced-file.tidied");
        self.stamp = SyncStamp {
            // The version before this one lacks something: if it comes back, another
            // writer restored it.
            before: fresh.after.clone(),
            // Another writer may have changed it in the meantime: that is not ours.
            look: StatFingerprint::of_path(&self.target).filter(|look| is_same_as(look, own)),
            temp: String::new(),
            spare,
            ..fresh
        };
        // Only a help for the next one who looks: it need not be flushed.
        write_stamp(&self.stamp_file, &self.stamp)?;
        Ok(WriteOutcome::Done)
    }

    /// The stamp of a version that is about to take the place of the file.
    fn next_stamp(&self, staged: &StagedFile, next: NextFileVersion) -> SyncStamp {
        let NextFileVersion {
            after,
            tail,
            positions,
            held,
        } = next;
        let old = &self.stamp;
        let head = self.checked_out_head();
        let before = if StatFingerprint::of_path(&self.target).is_none() {
            String::new()
        } else {
            self.found.clone().unwrap_or_else(|| old.after.clone())
        };
        SyncStamp {
            before,
            temp: staged.temp_name(),
            look: None,
            positions,
            tail,
            spare: None,
            gone: old.gone.clone(),
            own: append_own_version(&old.own, own_version_name(&after)),
            after,
            absent_on: String::new(),
            held,
            unshown: old.unshown.clone(),
            others: old.others.clone(),
            head: head.hash,
            commit: head.commit,
        }
    }

    /// Puts back what came out of an exchange and is another writer's. `own` is what the
    /// system said of piton's version, `old` the stamp before the exchange.
    fn restore_displaced(
        &mut self,
        displaced: DisplacedVersion,
        own: Option<StatFingerprint>,
        old: SyncStamp,
    ) -> io::Result<()> {
        // For a moment piton's version was there: a program that read that one does
        // not know of this one, and may write over it before it is read,
        // also when this process dies. So a copy stays until it is. Of a plan
        // it is the version in the place that counts.
        if self.flush != FlushScope::Stamp {
            self.displaced.extend(displaced.copy_beside()?);
        }
        let later = displaced.restore_to_target(|path| {
            StatFingerprint::of_path(path).is_some_and(|look| is_same_as(&look, own))
        })?;
        failpoint::point("synced-file.put-back");
        let (beside, copy) = later.map(|later| (later.beside, later.copy)).unzip();
        self.displaced.extend(copy);
        self.store_stamp(SyncStamp {
            look: None,
            temp: beside.unwrap_or_default(),
            ..old
        })
    }

    /// The versions of others that came out of exchanges since this was asked.
    pub fn drain_displaced(&mut self) -> Vec<DisplacedCopy> {
        std::mem::take(&mut self.displaced)
    }

    /// Whether a process died between an exchange and its end, and left a version
    /// of the file beside it.
    #[must_use]
    pub fn has_interrupted_exchange(&self) -> bool {
        let left = self.target.with_file_name(&self.stamp.temp);
        !self.stamp.temp.is_empty() && left.is_file()
    }

    /// Takes away what a crash in the middle of a write left beside the file.
    /// A version of another writer among it is handed to `take` first; it goes when
    /// that returns true, and stays otherwise.
    ///
    /// # Errors
    ///
    /// When the folder cannot be read, or something in it cannot be removed.
    pub fn remove_leftovers<E: From<io::Error>>(
        &mut self,
        mut take: impl FnMut(&[u8]) -> Result<bool, E>,
    ) -> Result<(), E> {
        let folder = self.target.parent().unwrap_or(Path::new("."));
        if !folder.is_dir() {
            return Ok(());
        }
        for left in find_leftovers(&self.target)? {
            let in_exchange = left.name == self.stamp.temp;
            if in_exchange || left.kept {
                let bytes = input::read_file(&left.path)?;
                let hash = sha256(&bytes);
                let ours = hash == self.stamp.before || hash == self.stamp.after;
                if !ours && !take(&bytes)? {
                    if in_exchange {
                        let name = left.preserve_file()?;
                        self.store_stamp(SyncStamp {
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

    /// Puts back what a crash left of another writer's version, if the file is
    /// still what piton was about to put in its place.
    ///
    /// # Errors
    ///
    /// When the file cannot be read or written.
    pub fn restore_interrupted(&mut self) -> io::Result<()> {
        let Some(left) = find_leftovers(&self.target)?
            .into_iter()
            .find(|left| left.name == self.stamp.temp)
        else {
            return Ok(());
        };
        let hash = sha256(&input::read_file(&left.path)?);
        if hash == self.stamp.before || hash == self.stamp.after {
            return Ok(());
        }
        let present = input::read_file(&self.target)
            .ok()
            .map(|bytes| sha256(&bytes));
        if present.as_ref() == Some(&self.stamp.after) {
            let after = &self.stamp.after;
            let is_own =
                |path: &Path| input::read_file(path).is_ok_and(|bytes| sha256(&bytes) == *after);
            let later = DisplacedVersion::from_leftover(left.path, &self.target)
                .restore_to_target(is_own)?;
            if let Some(later) = later {
                self.displaced.push(later.copy);
                self.store_stamp(SyncStamp {
                    temp: later.beside,
                    ..self.stamp.clone()
                })?;
            }
        }
        Ok(())
    }

    fn write_base(&self, bytes: &[u8]) {
        if bytes.len() <= BASE_BYTES_MAX {
            // A help to tell edits by; without it the file is compared with the journal.
            write_own_file(&self.base, bytes).ok();
        }
    }

    /// Keeps what is to be the base soon, or the version of which a part stays.
    fn write_next_version(&self, name: &str, bytes: &[u8]) {
        if bytes.len() <= BASE_BYTES_MAX {
            // Without it the file stays whole as it is until a person decides.
            write_own_file(&self.base.with_extension(name), bytes).ok();
        }
    }

    fn promote_next_versions(&self) {
        // Where it cannot be done, they are found under their names.
        fs::rename(self.base.with_extension(NEXT), &self.base).ok();
        let held = self.base.with_extension(HELD);
        fs::rename(self.base.with_extension(NEXT_HELD), held).ok();
    }

    /// Whether the branch is checked out that was when piton wrote the file: only
    /// then what is missing in it was taken out of it.
    #[must_use]
    pub fn is_on_same_branch(&self) -> bool {
        self.stamp.head == self.checked_out_head().hash
    }

    /// Whether another branch is checked out than when piton wrote the file; not
    /// where it is unknown which one that was.
    #[must_use]
    pub fn is_of_other_branch(&self) -> bool {
        !self.stamp.head.is_empty() && !self.is_on_same_branch()
    }

    /// Notes what is done and has no mark in the file that git put here.
    ///
    /// # Errors
    ///
    /// When the stamp cannot be kept.
    pub fn record_uncommitted_done(&mut self, gone: BTreeMap<String, Timestamp>) -> io::Result<()> {
        self.store_stamp(SyncStamp {
            gone,
            ..self.stamp.clone()
        })
    }

    /// Whether the file is known to be one that this branch does not have.
    #[must_use]
    pub fn is_absent_here(&self) -> bool {
        !self.stamp.absent_on.is_empty() && self.stamp.absent_on == self.checked_out_head().hash
    }

    /// Notes that this branch does not have the file, while others do.
    ///
    /// # Errors
    ///
    /// When the stamp cannot be kept.
    pub fn record_absent(&mut self) -> io::Result<()> {
        self.store_stamp(SyncStamp {
            absent_on: self.checked_out_head().hash,
            ..self.stamp.clone()
        })
    }

    /// Whether what is checked out is what was when piton wrote the file.
    #[must_use]
    pub fn is_on_same_commit(&self) -> bool {
        self.is_on_same_branch() && self.stamp.commit == self.checked_out_head().commit
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
        let commit = self.checked_out_head().commit;
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
        self.store_stamp(SyncStamp {
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
    pub fn record_unshown_rows(&mut self, unshown: Option<UnshownRows>) -> io::Result<()> {
        self.store_stamp(SyncStamp {
            unshown,
            ..self.stamp.clone()
        })
    }

    fn checked_out_head(&self) -> CheckedOutHead {
        let read = || read_checked_out_head(&self.target);
        match &self.head {
            Some(head) => head.get_or_init(read).clone(),
            None => read(),
        }
    }

    fn store_stamp(&mut self, stamp: SyncStamp) -> io::Result<()> {
        if stamp == self.stamp {
            return Ok(());
        }
        write_stamp(&self.stamp_file, &stamp)?;
        if self.flush == FlushScope::Stamp {
            sync_file(&self.stamp_file)?;
        }
        self.stamp = stamp;
        Ok(())
    }
}

fn own_version_name(hash: &str) -> &str {
    hash.get(..OWN_LETTERS).unwrap_or(hash)
}

fn append_own_version(own: &[String], version: &str) -> Vec<String> {
    let from = (own.len() + 1).saturating_sub(OWN_MAX);
    let known = own.get(from..).unwrap_or_default().iter().cloned();
    known.chain([version.to_owned()]).collect()
}

#[cfg(unix)]
fn has_single_link(path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    fs::metadata(path).is_ok_and(|found| found.nlink() == 1)
}

#[cfg(not(unix))]
fn has_single_link(_: &Path) -> bool {
    false
}

/// Whether a file is the version of which the system said `own`.
fn is_same_as(look: &StatFingerprint, own: Option<StatFingerprint>) -> bool {
    own.is_some_and(|own| look.is_same_version(&own))
}

/// Whether what came out of an exchange is what was there a moment ago.
fn is_expected(displaced: &DisplacedVersion, old: &SyncStamp, before: &str) -> io::Result<bool> {
    let Some(path) = displaced.temp_path() else {
        return Ok(true);
    };
    let look = StatFingerprint::of_path(path);
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
fn read_checked_out_head(target: &Path) -> CheckedOutHead {
    let mut folders = target.ancestors().skip(1);
    let found = folders.find_map(|folder| Some((folder, git::git_dir(folder)?)));
    let Some((folder, git_dir)) = found else {
        return CheckedOutHead::default();
    };
    let head = input::read_file(git_dir.join("HEAD"));
    let hash = head.map(|head| sha256(&head)).unwrap_or_default();
    let here = git::read_checkout(folder);
    CheckedOutHead {
        hash: hash.chars().take(8).collect(),
        commit: here.and_then(|here| here.commit).unwrap_or_default(),
    }
}

fn write_stamp(mut file: &File, stamp: &SyncStamp) -> io::Result<()> {
    let mut bytes = serde_json::to_vec(stamp)?;
    bytes.resize(STAMP_BYTES.max(bytes.len()), b' ');
    file.seek(io::SeekFrom::Start(0))?;
    file.write_all(&bytes)?;
    file.set_len(bytes.len() as u64)
}

fn read_stamp(mut file: &File) -> io::Result<Option<SyncStamp>> {
    let mut bytes = Vec::new();
    file.seek(io::SeekFrom::Start(0))?;
    file.read_to_end(&mut bytes)?;
    Ok(serde_json::from_slice(bytes.trim_ascii()).ok())
}

fn read_base_with_hash(path: &Path, hash: &str) -> Option<String> {
    read_version_with_hash(&[path.to_owned(), path.with_extension(NEXT)], hash)
}

fn read_version_with_hash(kept: &[PathBuf], hash: &str) -> Option<String> {
    let mut versions = kept.iter().filter_map(|path| input::read_file(path).ok());
    let bytes = versions.find(|bytes| sha256(bytes) == hash)?;
    String::from_utf8(bytes).ok()
}

/// The version that piton wrote last of the file whose stamp is kept under
/// `key`, if it is still known. For reading: nothing is made or locked.
#[must_use]
pub fn read_last_version(home: &Path, key: &str) -> Option<String> {
    let stamp = read_stamp_of_key(home, key)?;
    let base = stamp_folder(home).join(format!("{key}.base"));
    read_base_with_hash(&base, stamp.base_hash(None))
}

/// Whether the file at `target`, whose stamp is kept under `key`, is by what the
/// system says of it the one that piton wrote last. Neither is made or locked.
#[must_use]
pub fn is_last_version(home: &Path, key: &str, target: &Path) -> bool {
    let target = fs::canonicalize(target).unwrap_or_else(|_| target.to_owned());
    let look = read_stamp_of_key(home, key).and_then(|stamp| stamp.look);
    look.is_some() && StatFingerprint::of_path(&target) == look
}

fn read_stamp_of_key(home: &Path, key: &str) -> Option<SyncStamp> {
    let file = stamp_folder(home).join(format!("{key}.json"));
    read_stamp(&input::open_file(&file).ok()?).ok()?
}

/// Lets every file be written from the beginning of its streams again: the
/// journal is another one now. Those that `is_read_again` says so of, by their
/// key, may hold what it does not know: they are imported like those of another writer.
///
/// # Errors
///
/// When a stamp cannot be read or kept.
pub fn reset_all_positions(home: &Path, is_read_again: impl Fn(&str) -> bool) -> io::Result<()> {
    let folder = stamp_folder(home);
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
        let file = open_own_file(&path, OpenOptions::new().read(true).write(true))?;
        file.lock()?;
        if let Some(mut stamp) = read_stamp(&file)? {
            if let Some(held) = stamp.held.take() {
                let base = path.with_extension("base");
                fs::rename(base.with_extension(BEFORE), base).ok();
                stamp.look = None;
                (stamp.before, stamp.after) = (String::new(), held.before);
            }
            let stamp = if read_again {
                SyncStamp {
                    temp: stamp.temp,
                    ..SyncStamp::default()
                }
            } else {
                SyncStamp {
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

    fn spliced(file: &mut SyncedFile, what: &str) -> WriteOutcome {
        let tail = file.stamp().tail.clone().expect("a tail");
        let abridged = file.read_abridged(&tail).expect("read").expect("a text");
        let end = abridged.strip_suffix("\n]\n").expect("an end");
        let end = format!("{end},\n  {what}\n]\n");
        let put = file.splice_end(&tail, end.as_bytes(), tail.clone(), BTreeMap::new());
        assert_eq!(file.stamp().after, sha256(text(file).as_bytes()));
        assert_eq!(file.read_base(), Some(text(file)));
        put.expect("spliced")
    }

    fn open(folder: &Path, target: &Path) -> SyncedFile {
        let project = Project {
            root: folder.to_owned(),
            home: folder.to_owned(),
            work_tree: folder.to_owned(),
            in_git: false,
        };
        SyncedFile::open(&project, "list", target, FlushScope::File).expect("opened")
    }

    fn kept(folder: &Path) -> SyncedFile {
        let target = folder.join("list.json");
        let mut file = open(folder, &target);
        let ends = TextEnds {
            head: 0,
            tail: 4,
            first: 1,
            open: Vec::new(),
        };
        let tail = LargeFileTail::from_ends(BODY, ends);
        let put = file.write_version(BODY.as_bytes(), BTreeMap::new(), Some(tail));
        assert_eq!(put.expect("put"), WriteOutcome::Done);
        file
    }

    fn text(file: &SyncedFile) -> String {
        fs::read_to_string(file.target_path()).expect("read")
    }

    #[test]
    fn a_version_that_is_made_of_the_one_before_says_the_same_as_a_copy() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut file = kept(folder.path());
        let mut expected = "[\n  1".to_owned();
        for (number, with_spare) in [(2, false), (3, true), (4, true), (5, true)] {
            assert_eq!(file.stamp().spare.is_some(), with_spare);
            assert_eq!(spliced(&mut file, &number.to_string()), WriteOutcome::Done);
            expected = format!("{expected},\n  {number}");
            assert_eq!(text(&file), format!("{expected}\n]\n"));
        }
        let names = fs::read_dir(folder.path()).expect("listed").count();
        assert_eq!(names, 2, "the list, and the folder of the stamps");
    }

    #[test]
    fn a_spare_that_another_process_touched_or_linked_is_left_alone() {
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

    /// It dies after it put another writer's version back, and a program that had read
    /// piton's version in between writes over it.
    #[test]
    fn what_was_displaced_is_kept_until_it_is_taken_in() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut file = kept(folder.path());
        fs::write(file.target_path(), "[\n  8\n]\n").expect("written");
        let put = file.write_version(b"[\n  2\n]\n", BTreeMap::new(), None);
        assert_eq!(put.expect("put"), WriteOutcome::Overtaken);
        assert_eq!(text(&file), "[\n  8\n]\n");
        drop(file);
        let target = folder.path().join("list.json");
        fs::write(&target, "[\n  2,\n  9\n]\n").expect("written");
        let mut next = open(folder.path(), &target);
        let mut taken = Vec::new();
        next.remove_leftovers(|left| {
            taken.push(left.to_vec());
            Ok::<_, io::Error>(true)
        })
        .expect("tidied");
        assert_eq!(taken, [b"[\n  8\n]\n"]);
        assert_eq!(find_leftovers(&target).expect("listed"), []);
        // What is taken in at once leaves nothing.
        let put = next.write_version(b"[\n  3\n]\n", BTreeMap::new(), None);
        assert_eq!(put.expect("put"), WriteOutcome::Overtaken);
        for displaced in next.drain_displaced() {
            assert_eq!(displaced.bytes(), b"[\n  2,\n  9\n]\n");
            displaced.remove();
        }
        assert_eq!(find_leftovers(&target).expect("listed"), []);
    }

    #[test]
    fn a_version_that_is_written_whole_leaves_no_spare() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut file = kept(folder.path());
        spliced(&mut file, "2");
        assert!(file.spare.exists());
        file.write_version(b"[]", BTreeMap::new(), None)
            .expect("put");
        assert!(!file.spare.exists());
        assert_eq!(text(&file), "[]");
    }
}
