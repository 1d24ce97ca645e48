//! Copies of a store: making one while others write, and putting one back.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, OpenFlags};
use uuid::Uuid;

use super::fault::{io_fault, sqlite_fault};
use super::files::{
    StorePaths, create_private_file, link_without_replacing, refuse_network_fs, sync_dir,
};
use super::queue::WriterQueue;
use super::schema::{
    assign_writer_of_copy, check_version, connect, flush_file, remove_leftovers, temporary_path,
    upgrade_copy,
};
use super::{SqliteStore, replaced, verify};
use crate::clock::{Clock, SystemClock};
use crate::failpoint;
use crate::group_access::share_with_group;
use crate::store::{FaultKind, RestoreReport, StoreFault, VerifyReport};

/// Copies the database at `from` into a file that is not there yet: see
/// [`crate::Store::backup`]. The copy is one file without a log.
pub(super) fn backup_database(from: &Path, to: &Path) -> Result<VerifyReport, StoreFault> {
    let taken = || {
        StoreFault::without_source(
            FaultKind::Io,
            format!("there is a file at {} already", to.display()),
        )
    };
    if fs::symlink_metadata(to).is_ok() {
        return Err(taken());
    }
    let dir = match to.parent() {
        Some(dir) if !dir.as_os_str().is_empty() => dir,
        Some(_) | None => Path::new("."),
    };
    let new = dir.join(format!(".journal-{}.new", Uuid::now_v7()));
    let made = copy_database(from, &new).and_then(|()| {
        let verdict = verify::verify_database_file(&new)?;
        failpoint::point("backup.copied");
        flush_file(&new)?;
        failpoint::point("backup.before-link");
        if !link_without_replacing(&new, to)? {
            return Err(taken());
        }
        failpoint::point("backup.linked");
        sync_dir(dir)?;
        Ok(verdict)
    });
    if made.is_err() {
        remove_database_files(&new);
    }
    made
}

impl SqliteStore {
    /// Puts a backup in the place of the store in `dir`, or where there is
    /// none. The backup is verified first; the present store is kept beside
    /// under a dated name. Both are whole files: after a crash at any moment
    /// the old store is in place, or the new one.
    ///
    /// # Errors
    ///
    /// When the backup is damaged or no backup, when any process has the store
    /// open, or when the folder cannot be written. Nothing is changed then.
    pub fn restore(from: &Path, dir: &Path) -> Result<RestoreReport, StoreFault> {
        let place = StorePaths::new(dir);
        refuse_network_fs(&place.dir)?;
        let queue = WriterQueue::open(&place)?;
        let Some(turn) = queue.try_turn()? else {
            return Err(in_use_fault(&place));
        };
        remove_leftovers(&place);
        let new = temporary_path(&place);
        let done = restore_locked(from, &place, &new);
        if done.is_err() {
            remove_database_files(&new);
        }
        drop(turn);
        done
    }
}

impl SqliteStore {
    /// Does `work` while no process has the store in `dir` open and none can write to
    /// it. Its log is written back before: the database is one whole file.
    ///
    /// # Errors
    ///
    /// [`FaultKind::Missing`] without a store, [`FaultKind::InUse`] when any process has
    /// it open, and others when it cannot be read or written. Nothing is done then.
    pub fn do_while_closed(dir: &Path, work: &mut dyn FnMut()) -> Result<(), StoreFault> {
        let place = StorePaths::new(dir);
        if place.file_identity()?.is_none() {
            return Err(place.missing_fault());
        }
        let queue = WriterQueue::open(&place)?;
        let Some(turn) = queue.try_turn()? else {
            return Err(in_use_fault(&place));
        };
        match close_current_store(&place)? {
            CurrentStore::None => return Err(place.missing_fault()),
            CurrentStore::Damaged => {
                let what = format!("{} is damaged", place.db.display());
                return Err(StoreFault::without_source(FaultKind::Damaged, what));
            }
            // Who opens it now to write waits for the turn.
            CurrentStore::Whole(connection) => drop(connection),
        }
        work();
        drop(turn);
        Ok(())
    }
}

fn restore_locked(
    from: &Path,
    place: &StorePaths,
    new: &Path,
) -> Result<RestoreReport, StoreFault> {
    if !from.exists() {
        return Err(StoreFault::without_source(
            FaultKind::Missing,
            format!("there is no backup at {}", from.display()),
        ));
    }
    copy_database(from, new)?;
    share_with_group(new);
    failpoint::point("restore.copied");
    upgrade_copy(new)?;
    let verdict = verify::verify_database_file(new)?;
    if let Some(damage) = verdict.damage.first() {
        let what = format!(
            "the backup {} is damaged ({}: {})",
            from.display(),
            damage.place,
            damage.what
        );
        return Err(StoreFault::without_source(FaultKind::Damaged, what));
    }
    assign_writer_of_copy(new)?;
    flush_file(new)?;
    failpoint::point("restore.verified");
    let kept = exchange_store(place, new)?;
    Ok(RestoreReport {
        path: place.db.clone(),
        removed: replaced::remove_old(place, kept.as_deref()),
        kept,
        verdict,
        loss: None,
    })
}

/// Puts a finished file in the place of the store; where that is kept.
pub(super) fn exchange_store(
    place: &StorePaths,
    new: &Path,
) -> Result<Option<PathBuf>, StoreFault> {
    let present = close_current_store(place)?;
    let kept = match &present {
        CurrentStore::None => None,
        CurrentStore::Whole(_) => Some(retain_replaced(place)?),
        CurrentStore::Damaged => Some(retain_replaced_with_log(place)?),
    };
    // The old log must be gone for good before its name belongs to another
    // database, which it would ruin.
    place.sync_dir()?;
    failpoint::point("restore.kept");
    fs::rename(new, &place.db).map_err(|error| io_fault("replace", &place.db, error))?;
    drop(fs::remove_file(place.dir.join("journal.db-shm")));
    failpoint::point("restore.renamed");
    place.sync_dir()?;
    if let CurrentStore::Whole(connection) = present {
        // Only now may others open what lies there.
        drop(connection);
    }
    Ok(kept)
}

pub(super) fn in_use_fault(place: &StorePaths) -> StoreFault {
    StoreFault::without_source(
        FaultKind::InUse,
        format!("{} is in use by another process", place.db.display()),
    )
}

/// The store that is to be replaced.
enum CurrentStore {
    /// There is none.
    None,
    /// Its log is written back, and no other process can open it while this is held.
    Whole(Connection),
    /// SQLite cannot open it, so no process has it open.
    Damaged,
}

/// Writes the log of the present store back into it, and shuts others out.
fn close_current_store(place: &StorePaths) -> Result<CurrentStore, StoreFault> {
    if place.file_identity()?.is_none() {
        return Ok(CurrentStore::None);
    }
    let close = || {
        let connected = connect(&place.db, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        let connection = connected.connection;
        let run = || {
            connection.busy_timeout(Duration::ZERO)?;
            // Leaving the mode of the log takes that no other connection is
            // there; staying exclusive keeps it so.
            connection.pragma_update_and_check(None, "locking_mode", "EXCLUSIVE", |_| Ok(()))?;
            let mode: String =
                connection
                    .pragma_update_and_check(None, "journal_mode", "DELETE", |row| row.get(0))?;
            connection.execute_batch("BEGIN EXCLUSIVE")?;
            Ok(mode)
        };
        let mode = run().map_err(|error| sqlite_fault("close", &place.db, error))?;
        if mode == "delete" {
            Ok(connection)
        } else {
            Err(in_use_fault(place))
        }
    };
    match close() {
        Ok(connection) => Ok(CurrentStore::Whole(connection)),
        Err(fault) if fault.kind == FaultKind::Damaged => Ok(CurrentStore::Damaged),
        Err(fault) if is_busy(&fault) => Err(StoreFault {
            source: fault.source,
            ..in_use_fault(place)
        }),
        Err(fault) => Err(fault),
    }
}

fn is_busy(fault: &StoreFault) -> bool {
    let error = fault
        .source
        .as_ref()
        .and_then(|source| source.downcast_ref::<rusqlite::Error>());
    let code = error.and_then(rusqlite::Error::sqlite_error_code);
    matches!(
        code,
        Some(rusqlite::ErrorCode::DatabaseBusy | rusqlite::ErrorCode::DatabaseLocked)
    )
}

/// Gives the present database a second name, which it keeps.
fn retain_replaced(place: &StorePaths) -> Result<PathBuf, StoreFault> {
    let now: Timestamp = SystemClock.now();
    let stem = format!("{}{}", replaced::PREFIX, now.strftime("%Y%m%dT%H%M%SZ"));
    for nth in 1..100 {
        let kept = place.dir.join(if nth == 1 {
            stem.clone()
        } else {
            format!("{stem}-{nth}")
        });
        match fs::hard_link(&place.db, &kept) {
            Ok(()) => return Ok(kept),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(io_fault("keep", &place.db, error)),
        }
    }
    Err(StoreFault::without_source(
        FaultKind::Io,
        format!("cannot keep {}: all names are taken", place.db.display()),
    ))
}

/// The same for one whose log could not be written back: the log goes along.
fn retain_replaced_with_log(place: &StorePaths) -> Result<PathBuf, StoreFault> {
    let kept = retain_replaced(place)?;
    let mut log = kept.clone().into_os_string();
    log.push("-wal");
    match fs::rename(place.wal_path(), log) {
        Ok(()) => Ok(kept),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(kept),
        Err(error) => Err(io_fault("keep", &place.wal_path(), error)),
    }
}

/// Copies a database, as of one moment, into a new file without a log, which other users
/// cannot read.
pub(super) fn copy_database(from: &Path, new: &Path) -> Result<(), StoreFault> {
    let source = connect(from, OpenFlags::SQLITE_OPEN_READ_ONLY)?.connection;
    check_version(&source, from)?;
    create_private_file(new)?;
    let copy = || {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut target = Connection::open_with_flags(new, flags)?;
        let step = Backup::new(&source, &mut target)?.step(-1)?;
        if step != StepResult::Done {
            return Err(rusqlite::Error::SqliteFailure(
                rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_BUSY),
                None,
            ));
        }
        target.pragma_update_and_check(None, "journal_mode", "DELETE", |_| Ok(()))?;
        target.close().map_err(|(_, error)| error)
    };
    copy().map_err(|error| sqlite_fault("copy", from, error))
}

pub(super) fn remove_database_files(new: &Path) {
    for end in ["", "-wal", "-shm", "-journal"] {
        let mut name = new.as_os_str().to_owned();
        name.push(end);
        drop(fs::remove_file(name));
    }
}
