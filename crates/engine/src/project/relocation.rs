//! Moving the home of a project from its work tree into git's folder.
//!
//! A copy is made beside the new place, compared and put in place by one rename; then
//! the old journal gives way to a note, by one exchange of names. After a death between
//! any two steps the old journal counts, or the new one, or both are there with the same
//! bytes and nobody writes to either ([`Project::check_home`](super::Project)). The whole
//! of it can be repeated.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use super::JOURNAL;
use super::inside::{PRIVATE_FOLDER, create_own_folder, write_own_file};
use crate::failpoint;
use crate::failure::{Failure, unreadable_file, unwritable_file};
use crate::native_files::exchange::exchange_paths;
use crate::world::input;

/// What belongs to the journal, and moves with what begins with [`STORE`]. The rest of
/// `.piton/` belongs to people or to the work tree: settings, lanes.
const OF_THE_JOURNAL: [&str; 8] = [
    "blobs",
    "history.json",
    "hooks",
    "locks",
    "logs",
    "mirrors",
    "reports",
    "spool",
];
const STORE: &str = "journal.";
/// Of these, what processes note for each other.
const OF_PROCESSES: [&str; 3] = ["journal.head", "journal.lock", "journal.queue"];
/// What a journal without its log has no more.
const OF_THE_LOG: [&str; 2] = ["journal.db-wal", "journal.db-shm"];
/// The old journal, once it gave way.
const RETIRED: &str = "journal.db.moved";
/// The note, in a folder that has the name of the old journal: no piton, of whatever
/// version, takes that for a journal or begins another one there.
const NOTE: &str = "moved";
/// The copy that is not in its place yet, beside it.
const ARRIVING: &str = "piton-arriving";
const COMPARED_BYTES: usize = 64 << 10;

/// A move of all that a project keeps.
#[derive(Debug)]
pub(crate) struct Relocation {
    /// The home in the work tree.
    pub(crate) from: PathBuf,
    /// The home in git's folder.
    pub(crate) to: PathBuf,
}

/// What was copied.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CopiedFiles {
    pub(crate) files: u64,
    pub(crate) bytes: u64,
}

impl Relocation {
    /// Copies everything into its place. No other process may have the store open.
    ///
    /// # Errors
    ///
    /// When something cannot be read or written. What was copied is in no place then.
    pub(crate) fn copy_into_place(&self) -> Result<CopiedFiles, Failure> {
        let arriving = self.to.with_file_name(ARRIVING);
        let fault = |error| unwritable_file(&arriving, error);
        match fs::remove_dir_all(&arriving) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(fault(error)),
            Ok(()) | Err(_) => {}
        }
        let mut copied = CopiedFiles::default();
        copy_folder(&self.from, &arriving, &is_copied, &mut copied)?;
        failpoint::point("move.copied");
        fs::rename(&arriving, &self.to).map_err(|error| unwritable_file(&self.to, error))?;
        flush_folder(self.to.parent().unwrap_or(&self.to))?;
        failpoint::point("move.placed");
        Ok(copied)
    }

    /// The first file of the old place that the new one does not have with the same bytes:
    /// none after a death between the two steps of a move.
    ///
    /// # Errors
    ///
    /// When something cannot be read.
    pub(crate) fn find_difference(&self) -> io::Result<Option<PathBuf>> {
        // What a process that opens a store leaves there is no part of it.
        let is_compared =
            |name: &OsStr| is_copied(name) && !OF_PROCESSES.iter().any(|own| name == *own);
        find_difference(&self.from, &self.to, &is_compared)
    }

    /// Lets the old journal give way to a note, and removes what was copied.
    ///
    /// # Errors
    ///
    /// When something cannot be written or removed. The new journal counts from the
    /// exchange on.
    pub(crate) fn retire_old(&self) -> Result<(), Failure> {
        let journal = self.from.join(JOURNAL);
        if journal.is_file() {
            let note = self.from.join(RETIRED);
            let fault = |error| unwritable_file(&note, error);
            create_own_folder(&note).map_err(fault)?;
            write_own_file(&note.join(NOTE), self.note_text().as_bytes()).map_err(fault)?;
            flush_folder(&note)?;
            exchange_names(&note, &journal).map_err(|error| unwritable_file(&journal, error))?;
            flush_folder(&self.from)?;
            failpoint::point("move.retired");
        }
        self.remove_what_was_moved()
    }

    /// Removes what a move left in the work tree that was interrupted after the old
    /// journal gave way.
    ///
    /// # Errors
    ///
    /// When something cannot be removed.
    pub(crate) fn end_interrupted(&self) -> Result<(), Failure> {
        let note = input::read_file_text(self.from.join(JOURNAL).join(NOTE));
        // Another text says that all is done, or came with the work tree.
        if self.from != self.to && note.is_ok_and(|note| note == self.note_text()) {
            self.remove_what_was_moved()?;
        }
        Ok(())
    }

    /// What the note says until everything that was copied is removed.
    fn note_text(&self) -> String {
        format!(
            "The journal of this project lies in {}\n",
            self.to.display()
        )
    }

    /// Removes from the work tree what was copied, and notes that this is done: what
    /// comes there later is no part of the move.
    fn remove_what_was_moved(&self) -> Result<(), Failure> {
        let entries = fs::read_dir(&self.from).into_iter().flatten().flatten();
        for entry in entries {
            let (name, path) = (entry.file_name(), entry.path());
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if !is_of_the_journal(&name) || (name == JOURNAL && is_folder) {
                continue;
            }
            let removed = match is_folder {
                true => fs::remove_dir_all(&path),
                false => fs::remove_file(&path),
            };
            removed.map_err(|error| unwritable_file(&path, error))?;
            failpoint::point("move.partly-removed");
        }
        flush_folder(&self.from)?;
        let note = self.from.join(JOURNAL).join(NOTE);
        if !note.is_file() {
            return Ok(());
        }
        let text = format!("{}The move is done.\n", self.note_text());
        let written = write_own_file(&note, text.as_bytes());
        written.map_err(|error| unwritable_file(&note, error))
    }
}

/// Renames the note of a move where the folder is a home again: outside of git, in a copy
/// of the work tree alone.
///
/// # Errors
///
/// When it cannot be renamed.
pub(super) fn set_note_aside(home: &Path) -> io::Result<()> {
    let note = home.join(JOURNAL);
    if note.is_dir() {
        fs::rename(&note, home.join(RETIRED))?;
    }
    Ok(())
}

fn is_of_the_journal(name: &OsStr) -> bool {
    let begins = name.as_encoded_bytes().starts_with(STORE.as_bytes());
    begins || OF_THE_JOURNAL.iter().any(|own| name == *own)
}

fn is_copied(name: &OsStr) -> bool {
    let mut left = OF_THE_LOG.iter().chain([&RETIRED]);
    is_of_the_journal(name) && !left.any(|left| name == *left)
}

/// Exchanges the names of a folder and a file, in one step where the system can.
fn exchange_names(one: &Path, other: &Path) -> io::Result<()> {
    match exchange_paths(one, other) {
        Ok(()) => Ok(()),
        Err(_) => {
            // In two steps: after a death between them the new journal counts already.
            let aside = other.with_extension("db.old");
            fs::rename(other, &aside)?;
            fs::rename(one, other)?;
            fs::rename(&aside, one)
        }
    }
}

/// Copies a folder with all below it, for this user alone, to stable storage, and
/// compares what came of it.
fn copy_folder(
    from: &Path,
    to: &Path,
    is_wanted: &dyn Fn(&OsStr) -> bool,
    copied: &mut CopiedFiles,
) -> Result<(), Failure> {
    let made = DirBuilder::new().mode(PRIVATE_FOLDER).create(to);
    made.map_err(|error| unwritable_file(to, error))?;
    let unreadable = |error| unreadable_file(from, error);
    for entry in fs::read_dir(from).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        if !is_wanted(&entry.file_name()) {
            continue;
        }
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type().map_err(unreadable)?;
        if kind.is_dir() {
            copy_folder(&source, &target, &|_| true, copied)?;
        } else if kind.is_symlink() {
            return Err(link_failure(&source));
        } else {
            copied.bytes += copy_file(&source, &target)?;
            copied.files += 1;
        }
    }
    flush_folder(to)
}

/// A journal has no links, and where one leads to from elsewhere is not known.
fn link_failure(link: &Path) -> Failure {
    let shown = link.display();
    Failure::new(
        "file.unreadable",
        format!("{shown} is a link, which is not moved"),
    )
    .with_hint("put what it leads to in its place, then repeat the command")
}

/// The first file of a folder that another one does not have with the same bytes.
fn find_difference(
    from: &Path,
    to: &Path,
    is_compared: &dyn Fn(&OsStr) -> bool,
) -> io::Result<Option<PathBuf>> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        if !is_compared(&entry.file_name()) {
            continue;
        }
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        let found = if entry.file_type()?.is_dir() {
            find_difference(&source, &target, &|_| true)?
        } else {
            (!is_same_content(&source, &target).unwrap_or(false)).then_some(source)
        };
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

fn copy_file(from: &Path, to: &Path) -> Result<u64, Failure> {
    let mut source = input::open_file(from).map_err(|error| unreadable_file(from, error))?;
    let mut options = OpenOptions::new();
    let created = options.write(true).create_new(true).mode(0o600).open(to);
    let written = created.and_then(|mut target| {
        let count = io::copy(&mut source, &mut target)?;
        target.flush()?;
        target.sync_all()?;
        Ok(count)
    });
    let count = written.map_err(|error| unwritable_file(to, error))?;
    match is_same_content(from, to) {
        Ok(true) => Ok(count),
        Ok(false) => Err(unwritable_file(
            to,
            io::Error::other("the copy has other bytes"),
        )),
        Err(error) => Err(unreadable_file(to, error)),
    }
}

fn is_same_content(one: &Path, other: &Path) -> io::Result<bool> {
    let (mut one, mut other) = (input::open_file(one)?, input::open_file(other)?);
    if one.metadata()?.len() != other.metadata()?.len() {
        return Ok(false);
    }
    let mut parts = (vec![0; COMPARED_BYTES], vec![0; COMPARED_BYTES]);
    loop {
        let count = one.read(&mut parts.0)?;
        other.read_exact(&mut parts.1[..count])?;
        if parts.0[..count] != parts.1[..count] {
            return Ok(false);
        }
        if count == 0 {
            return Ok(true);
        }
    }
}

fn flush_folder(folder: &Path) -> Result<(), Failure> {
    let flushed = File::open(folder).and_then(|folder| folder.sync_all());
    flushed.map_err(|error| unwritable_file(folder, error))
}
