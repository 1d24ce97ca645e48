//! The store of one machine: an SQLite database that all of its processes share.
//!
//! Durable when [`Store::commit`] returns: a write-ahead log, flushed at each
//! commit. Writers of all processes stand in a queue ([`queue::WriterQueue`]) before
//! SQLite's own lock; readers do not wait. The stored form is described in
//! `docs/formats/journal.md`.

mod acknowledged;
mod backup;
mod checksum;
mod commit;
mod fault;
mod files;
mod holder;
mod index;
mod journal;
mod load;
mod queue;
mod rebuild;
mod refold;
mod replaced;
mod row_groups;
mod rows;
mod salvage;
mod schema;
#[cfg(feature = "failpoints")]
mod trace;
mod verify;

use std::cell::Cell;
use std::fmt;
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use piton_core::id::{CommandId, RunId, StreamId};
use piton_core::journal::{BodyRemoval, Record};
use piton_core::name::NameRange;
use piton_core::recall::{CandidateSet, Query};
use piton_core::{CallerFacts, Command, Need, Rows};
use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior, params};
use tempfile::TempDir;

use self::acknowledged::AcknowledgedHead;
use self::commit::CommitTransaction;
use self::fault::{io_fault, is_access_fault, is_in_doubt, read_twice, sqlite_fault};
use self::files::{FileIdentity, StorePaths};
use self::queue::{WriterBarrier, WriterQueue};
pub use self::schema::SCHEMA_VERSION;
use self::schema::{
    BUSY_TIMEOUT, OpenDatabase, check_table_version, check_version, connect, connect_to_salvage,
    ensure_wal, migrate, upgrade_journal_copy,
};
use crate::backend::Backend;
use crate::clock::truncate_to_micros;
use crate::failpoint;
use crate::seal::seconds_after;
use crate::store::{
    CommitError, CommitOutcome, Cursor, Damage, FaultKind, LostEvents, Store, StoreAccess,
    StoreFault, StoreInfo, StoreOptions, StreamHead, UnreadableEvent, VerifyReport,
};

/// The log is written back to the database when it holds so many pages: half
/// a megabyte, which is twenty commits or so.
///
/// A process that is alone at the store reads the whole log as it opens the store. A
/// longer log costs every short command more than it saves.
const WAL_PAGES_MAX: u32 = 128;
/// After a commit that leaves a log of so many pages it is written back and cut
/// off at once: thousands of memories that were imported, say.
const WAL_PAGES_LONG: u32 = 1_024;

/// Stores on SQLite: the place is the folder of `journal.db`.
pub(crate) const BACKEND: Backend = Backend {
    scheme: "sqlite",
    form: "sqlite:FOLDER",
    create_if_missing: |place, naming| SqliteStore::create_if_missing(Path::new(place), naming),
    open: |place, options| Ok(Box::new(SqliteStore::open(Path::new(place), options)?)),
    restore: |from, place| SqliteStore::restore(from, Path::new(place)),
    rebuild: |place, report| SqliteStore::rebuild(Path::new(place), report),
    do_while_closed: |place, work| SqliteStore::do_while_closed(Path::new(place), work),
};

/// A store on SQLite, as one process has it open.
pub struct SqliteStore {
    place: StorePaths,
    /// The file that was opened; none for a private copy.
    identity: Option<FileIdentity>,
    options: StoreOptions,
    inner: Mutex<Inner>,
    /// A flush failed: see [`FaultKind::Flush`].
    in_doubt: AtomicBool,
    /// A copy that is read because the folder cannot be written; goes with the store.
    copy: Option<TempDir>,
    /// What was acknowledged before that copy was made.
    copied_head: Option<AcknowledgedHead>,
    /// What was acknowledged and is gone.
    loss: Option<LostEvents>,
}

struct Inner {
    connection: Connection,
    wal_pages: Arc<AtomicU32>,
    /// None when opened for reading.
    queue: Option<WriterQueue>,
}

impl fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteStore")
            .field("db", &self.place.db)
            .field("access", &self.options.access)
            .finish_non_exhaustive()
    }
}

impl SqliteStore {
    /// Makes an empty store in a folder where there is none; whether it did.
    ///
    /// It appears whole or not at all, and of two processes that do this at
    /// once one finds what the other has made. The folder must be there. The names
    /// that the store will give out begin at `naming`, for good.
    ///
    /// # Errors
    ///
    /// When the folder cannot be written, or lies on a network file system.
    pub fn create_if_missing(dir: &Path, naming: NameRange) -> Result<bool, StoreFault> {
        schema::create_if_missing(&StorePaths::new(dir), naming)
    }

    /// Opens the store in a folder: that of `journal.db`.
    ///
    /// For reading, in a folder that cannot be written, a private copy is
    /// opened: it shows the moment of opening.
    ///
    /// # Errors
    ///
    /// [`FaultKind::Missing`] without a store, [`FaultKind::Newer`] when a
    /// newer piton wrote it, [`FaultKind::Damaged`] for a file that is none,
    /// [`FaultKind::NetworkFileSystem`], or [`FaultKind::Io`].
    pub fn open(dir: &Path, options: StoreOptions) -> Result<Self, StoreFault> {
        let place = StorePaths::new(dir);
        let Some(identity) = place.file_identity()? else {
            return Err(place.missing_fault());
        };
        files::refuse_network_fs(&place.dir)?;
        match options.access {
            StoreAccess::ReadWrite => Self::open_read_write(place, identity, options),
            StoreAccess::ReadOnly | StoreAccess::JournalOnly => {
                Self::open_read_only(place, identity, options)
            }
        }
    }

    fn open_read_write(
        place: StorePaths,
        identity: FileIdentity,
        options: StoreOptions,
    ) -> Result<Self, StoreFault> {
        let queue = WriterQueue::open(&place)?;
        place.ensure_log()?;
        let (mut connected, version) = read_twice(|| {
            let connected = connect(&place.db, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
            let version = check_version(&connected.connection, &place.db)?;
            Ok::<_, StoreFault>((connected, version))
        })?;
        let mode: String = connected
            .connection
            .pragma_query_value(None, "journal_mode", |row| row.get(0))
            .map_err(|error| sqlite_fault("open", &place.db, error))?;
        if version < SCHEMA_VERSION || mode != "wal" {
            let turn = queue.wait_for_turn(&options.wait)?;
            ensure_wal(&connected.connection, &place.db)?;
            migrate(&mut connected.connection, &place.db)?;
            drop(turn);
        }
        let now = truncate_to_micros(options.clock.now());
        let loss = acknowledged::find_loss(&place, &connected.connection, now);
        if let Some(loss) = &loss {
            acknowledged::record_loss(&place, loss);
        }
        let store =
            Self::from_connected(place, Some(identity), options, connected, Some(queue), None)?;
        Ok(Self { loss, ..store })
    }

    fn open_read_only(
        place: StorePaths,
        identity: FileIdentity,
        options: StoreOptions,
    ) -> Result<Self, StoreFault> {
        let journal_only = options.access == StoreAccess::JournalOnly;
        let direct = read_twice(|| {
            let connected = match journal_only {
                true => connect_to_salvage(&place.db),
                false => connect(&place.db, OpenFlags::SQLITE_OPEN_READ_ONLY),
            }?;
            let version = match check_version(&connected.connection, &place.db) {
                Err(fault) if fault.kind == FaultKind::Newer && journal_only => SCHEMA_VERSION,
                other => other?,
            };
            Ok((version, connected))
        });
        match direct {
            Ok((SCHEMA_VERSION, connected)) => {
                let now = truncate_to_micros(options.clock.now());
                let loss = acknowledged::find_loss(&place, &connected.connection, now);
                let store =
                    Self::from_connected(place, Some(identity), options, connected, None, None)?;
                Ok(Self { loss, ..store })
            }
            // An older one is brought up to date in the copy: reading changes nothing.
            Ok(_) => Self::open_private_copy(place, options),
            // SQLite cannot make its -shm in a folder that cannot be written.
            Err(fault) if is_access_fault(&fault) => {
                Self::open_private_copy(place, options).map_err(|_| fault)
            }
            Err(fault) => Err(fault),
        }
    }

    fn open_private_copy(place: StorePaths, options: StoreOptions) -> Result<Self, StoreFault> {
        let copy = tempfile::tempdir().map_err(|error| io_fault("copy", &place.db, error))?;
        let to = StorePaths::new(copy.path());
        let kept_out = WriterBarrier::lock_out_writers(&place, &options.wait)?;
        // The copy does not have what is acknowledged later.
        let copied_head = AcknowledgedHead::read(&place);
        std::fs::copy(&place.db, &to.db).map_err(|error| io_fault("copy", &place.db, error))?;
        match std::fs::copy(place.wal_path(), to.wal_path()) {
            Ok(_) => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(io_fault("copy", &place.wal_path(), error)),
        }
        drop(kept_out);
        let mut connected = connect(&to.db, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        if check_version(&connected.connection, &place.db)? < SCHEMA_VERSION {
            let migrated = migrate(&mut connected.connection, &place.db);
            let is_way_back = options.access == StoreAccess::JournalOnly
                && matches!(&migrated, Err(fault) if fault.kind == FaultKind::Damaged);
            if is_way_back {
                upgrade_journal_copy(&mut connected.connection, &place.db)?;
            } else {
                migrated?;
            }
        }
        let store = Self::from_connected(place, None, options, connected, None, Some(copy))?;
        Ok(Self {
            copied_head,
            ..store
        })
    }

    fn from_connected(
        place: StorePaths,
        identity: Option<FileIdentity>,
        options: StoreOptions,
        connected: OpenDatabase,
        queue: Option<WriterQueue>,
        copy: Option<TempDir>,
    ) -> Result<Self, StoreFault> {
        let inner = Inner {
            connection: connected.connection,
            wal_pages: connected.wal_pages,
            queue,
        };
        let store = Self {
            place,
            identity,
            options,
            inner: Mutex::new(inner),
            in_doubt: AtomicBool::new(false),
            copy,
            copied_head: None,
            loss: None,
        };
        store.check_identity()?;
        Ok(store)
    }

    /// The file that is read: the store's own, or the private copy.
    fn database_path(&self) -> PathBuf {
        self.copy.as_ref().map_or_else(
            || self.place.db.clone(),
            |copy| StorePaths::new(copy.path()).db,
        )
    }

    /// A fault when the path names another file than the one that is open:
    /// what is written here would never be found again.
    fn check_identity(&self) -> Result<(), StoreFault> {
        if self.identity.is_none() || self.place.file_identity()? == self.identity {
            return Ok(());
        }
        let what = format!(
            "{} was replaced or taken away while it was open",
            self.place.db.display()
        );
        Err(StoreFault::without_source(FaultKind::Gone, what))
    }

    fn flush_fault(&self) -> StoreFault {
        let what = format!(
            "a flush of {} failed: what was written last is in doubt until it is opened again",
            self.place.db.display()
        );
        StoreFault::without_source(FaultKind::Flush, what)
    }

    fn lock_inner(&self) -> Result<MutexGuard<'_, Inner>, StoreFault> {
        // A panic rolls the transaction back as it unwinds.
        let inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        if self.in_doubt.load(Ordering::SeqCst) {
            return Err(self.flush_fault());
        }
        Ok(inner)
    }

    fn read_in_transaction<T>(
        &self,
        read: impl Fn(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StoreFault> {
        let mut inner = self.lock_inner()?;
        self.check_identity()?;
        let answer = read_twice(|| {
            let tx = inner.connection.transaction()?;
            read(&tx)
        });
        answer.map_err(|error| sqlite_fault("read", &self.place.db, error))
    }

    /// Changes the store in one transaction, in the queue of writers.
    fn write_in_turn<T>(
        &self,
        write: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StoreFault> {
        let mut inner = self.lock_inner()?;
        let Inner {
            connection, queue, ..
        } = &mut *inner;
        let turn = self
            .require_queue(queue)?
            .wait_for_turn(&self.options.wait)?;
        self.check_identity()?;
        let tx = self.begin_write(connection)?;
        let written = write(&tx).and_then(|written| tx.commit().map(|()| written));
        drop(turn);
        written.map_err(|error| self.write_fault(error))
    }

    /// Begins a transaction that writes. A newer piton may have brought the tables up to
    /// date since they were opened: what is written for those of before would not fit.
    fn begin_write<'c>(
        &self,
        connection: &'c mut Connection,
    ) -> Result<Transaction<'c>, StoreFault> {
        let tx = connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(|error| self.write_fault(error))?;
        check_table_version(&tx, &self.place.db)?;
        Ok(tx)
    }

    fn write_fault(&self, error: rusqlite::Error) -> StoreFault {
        if is_in_doubt(&error) {
            self.in_doubt.store(true, Ordering::SeqCst);
        }
        sqlite_fault("write", &self.place.db, error)
    }

    /// The queue of writers, of a store that may be written.
    fn require_queue<'i>(
        &self,
        queue: &'i Option<WriterQueue>,
    ) -> Result<&'i WriterQueue, StoreFault> {
        queue.as_ref().ok_or_else(|| {
            StoreFault::without_source(
                FaultKind::Io,
                format!("{} is open for reading only", self.place.db.display()),
            )
        })
    }

    /// Writes the log back when it has grown long, before something is added.
    ///
    /// Before, not after: the writer that comes next starts the log over, and
    /// only what is in the file says so to a process that opens it later. One
    /// that found the whole log again would write all of it back again.
    fn checkpoint_if_long(
        &self,
        connection: &Connection,
        wal_pages: &AtomicU32,
    ) -> Result<(), StoreFault> {
        if wal_pages.load(Ordering::Relaxed) < WAL_PAGES_MAX {
            return Ok(());
        }
        let pages = |mode: &str| connection.query_row(mode, [], |row| row.get::<_, i64>(1));
        // Others may have started it over since this process wrote last.
        let now = pages("PRAGMA wal_checkpoint(NOOP)").map_err(|error| self.write_fault(error))?;
        if now < i64::from(WAL_PAGES_MAX) {
            return Ok(());
        }
        failpoint::point("checkpoint.before");
        // Passive: a reader of an older state only means that the next commit
        // tries again.
        let done = pages("PRAGMA wal_checkpoint(PASSIVE)");
        failpoint::point("checkpoint.after");
        match done {
            Ok(_) => Ok(()),
            // What was to be written back stays in the log, and that is as good.
            Err(error) if error.sqlite_error_code() == Some(rusqlite::ErrorCode::DiskFull) => {
                Ok(())
            }
            Err(error) => Err(self.write_fault(error)),
        }
    }

    fn commit_in_turn(
        &self,
        connection: &mut Connection,
        id: CommandId,
        command: &Command,
        facts: &CallerFacts,
    ) -> Result<CommitOutcome, CommitError> {
        let tx = self.begin_write(connection)?;
        failpoint::point("commit.begun");
        let transaction = CommitTransaction {
            connection: &tx,
            options: &self.options,
            db: &self.place.db,
            last_event: Cell::new(None),
        };
        let committed = transaction.decide_and_store(id, command, facts)?;
        let last_event = transaction.last_event.take();
        if committed.repeated || committed.events.is_empty() {
            return Ok(committed);
        }
        failpoint::point("commit.before-durable");
        if let Err(error) = tx.commit() {
            let in_doubt = is_in_doubt(&error);
            let fault = self.write_fault(error);
            // What reached the log before its flush failed may come back when
            // the log is read again.
            return Err(if in_doubt {
                CommitError::Unknown(StoreFault {
                    kind: FaultKind::Flush,
                    ..fault
                })
            } else {
                CommitError::Fault(fault)
            });
        }
        failpoint::point("commit.durable");
        if let Some(head) = last_event {
            head.record(&self.place);
        }
        failpoint::point("commit.acknowledged");
        Ok(committed)
    }
}

impl Store for SqliteStore {
    fn commit(
        &self,
        id: CommandId,
        command: &Command,
        facts: &CallerFacts,
    ) -> Result<CommitOutcome, CommitError> {
        let mut inner = self.lock_inner()?;
        let Inner {
            connection,
            queue,
            wal_pages,
        } = &mut *inner;
        let turn = self
            .require_queue(queue)?
            .wait_for_turn(&self.options.wait)?;
        // Under the lock, so that no other process can replace the file.
        self.check_identity()?;
        failpoint::point("commit.locked");
        self.checkpoint_if_long(connection, wal_pages)?;
        // One that failed is undone as a whole.
        let outcome = read_twice(|| self.commit_in_turn(connection, id, command, facts));
        let stored = outcome
            .as_ref()
            .is_ok_and(|committed| !committed.events.is_empty());
        if stored && wal_pages.load(Ordering::Relaxed) >= WAL_PAGES_LONG {
            // A process that opens the store alone reads the whole log first. The log
            // may stay all the same: what was stored is stored. This does not wait for a
            // reader of an older state: the next commit tries again.
            let back = connection.busy_timeout(Duration::ZERO).and_then(|()| {
                connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
            });
            let restored = connection.busy_timeout(BUSY_TIMEOUT);
            back.and(restored)
                .map_err(|error| self.write_fault(error))
                .ok();
        }
        drop(turn);
        outcome
    }

    fn load_rows(&self, needs: &[Need]) -> Result<Rows, StoreFault> {
        let now = truncate_to_micros(self.options.clock.now());
        self.read_in_transaction(|connection| Ok(load::load_rows(connection, needs, now)?.rows))
    }

    fn recall_candidates(&self, query: &Query) -> Result<CandidateSet, StoreFault> {
        self.read_in_transaction(|connection| index::find_candidates(connection, query))
    }

    fn stream_heads(&self) -> Result<Vec<StreamHead>, StoreFault> {
        self.read_in_transaction(|connection| {
            Ok(journal::read_heads(connection)?
                .into_iter()
                .map(|(_, head)| head)
                .collect())
        })
    }

    fn event_count(&self, stream: &StreamId) -> Result<u64, StoreFault> {
        let inner = self.lock_inner()?;
        self.check_identity()?;
        read_twice(|| journal::count_events(&inner.connection, stream))
            .map_err(|error| sqlite_fault("read", &self.place.db, error))
    }

    fn read_stream(
        &self,
        stream: &StreamId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<Record>, StoreFault> {
        self.read_in_transaction(|connection| {
            journal::read_stream(connection, stream, after, limit)
        })
    }

    fn read_journal(
        &self,
        after: Option<&Cursor>,
        limit: usize,
    ) -> Result<Vec<Record>, StoreFault> {
        self.read_in_transaction(|connection| journal::read_events_after(connection, after, limit))
    }

    fn find_event_before(&self, time: Timestamp) -> Result<Option<Cursor>, StoreFault> {
        self.read_in_transaction(|connection| journal::find_event_before(connection, time))
    }

    fn salvage_journal(
        &self,
        each: &mut dyn FnMut(Result<Record, UnreadableEvent>) -> ControlFlow<()>,
    ) -> Result<(), StoreFault> {
        self.check_identity()?;
        // A connection of its own, as that of `verify`; a moment of its own: what is
        // appended meanwhile is not missing.
        let connected = connect_to_salvage(&self.database_path())?;
        let tx = connected.connection.unchecked_transaction();
        let tx = tx.map_err(|error| sqlite_fault("read", &self.place.db, error))?;
        match salvage::salvage_events(&tx, each) {
            ControlFlow::Continue(()) | ControlFlow::Break(()) => Ok(()),
        }
    }

    fn heartbeat(&self, run: RunId, token: u64, ttl_s: u64) -> Result<bool, StoreFault> {
        let mut inner = self.lock_inner()?;
        let Inner {
            connection,
            queue,
            wal_pages,
        } = &mut *inner;
        let turn = self
            .require_queue(queue)?
            .wait_for_turn(&self.options.wait)?;
        self.check_identity()?;
        self.checkpoint_if_long(connection, wal_pages)?;
        failpoint::point("heartbeat.before");
        let expires =
            seconds_after(truncate_to_micros(self.options.clock.now()), ttl_s).as_microsecond();
        let beat = |connection: &Connection| {
            // Not flushed; the next commit flushes it along.
            connection.pragma_update(None, "synchronous", "NORMAL")?;
            let sql = "UPDATE leases SET expires = ?3 WHERE run = ?1 AND token = ?2";
            connection.prepare_cached(sql)?.execute(params![
                run.0.as_bytes().as_slice(),
                rows::to_sqlite_integer(token),
                expires
            ])
        };
        let beaten = beat(connection);
        // Whatever came of it: a commit must never run without its flush.
        let restored = connection.pragma_update(None, "synchronous", "FULL");
        if restored.is_err() {
            self.in_doubt.store(true, Ordering::SeqCst);
        }
        drop(turn);
        failpoint::point("heartbeat.after");
        let changed = beaten
            .and_then(|changed| restored.map(|()| changed))
            .map_err(|error| self.write_fault(error))?;
        Ok(changed > 0)
    }

    fn verify(&self) -> Result<VerifyReport, StoreFault> {
        self.check_identity()?;
        if self.in_doubt.load(Ordering::SeqCst) {
            return Err(self.flush_fault());
        }
        // A connection of its own: it takes its time, and commits go on.
        let connected = connect_to_salvage(&self.database_path())?;
        let now = truncate_to_micros(self.options.clock.now());
        let loss = match (&self.copy, &self.copied_head) {
            (None, _) => acknowledged::find_loss(&self.place, &connected.connection, now),
            (Some(_), head) => head
                .as_ref()
                .and_then(|head| head.compare(&connected.connection, now).ok().flatten()),
        };
        let look = || verify::verify_database(&connected.connection, &self.place.db);
        let mut report = match look()? {
            // What is damaged is so twice; a disk may fail to read once.
            first if !first.damage.is_empty() => look()?,
            first => first,
        };
        report.lost = acknowledged::read_losses(&self.place);
        if let Some(loss) = loss {
            report.journal_damage += 1;
            let damage = Damage {
                place: "journal".to_owned(),
                position: None,
                kind: None,
                what: loss.to_string(),
            };
            report.damage.insert(0, damage);
        }
        Ok(report)
    }

    fn loss_at_open(&self) -> Option<&LostEvents> {
        self.loss.as_ref()
    }

    fn rebuild_views(&self) -> Result<bool, StoreFault> {
        self.write_in_turn(refold::refold_views)
    }

    fn replace_body_with_tombstone(
        &self,
        stream: &StreamId,
        position: u64,
    ) -> Result<BodyRemoval, StoreFault> {
        let removed = self.write_in_turn(|connection| {
            connection.execute_batch("SAVEPOINT removal")?;
            // What is freed is overwritten, for as long as this connection lives.
            connection.pragma_update_and_check(None, "secure_delete", true, |_| Ok(()))?;
            let mut removed = journal::remove_body(connection, stream, position)?;
            if removed == BodyRemoval::Removed && !refold::refold_views(connection)? {
                connection.execute_batch("ROLLBACK TO removal")?;
                removed = BodyRemoval::UnknownEvents;
            }
            connection.execute_batch("RELEASE removal")?;
            Ok(removed)
        })?;
        if removed == BodyRemoval::Removed {
            let inner = self.lock_inner()?;
            // What is overwritten in the log has to reach the database as well.
            let back = "PRAGMA wal_checkpoint(TRUNCATE)";
            let back = inner.connection.query_row(back, [], |_| Ok(()));
            back.map_err(|error| self.write_fault(error))?;
        }
        Ok(removed)
    }

    fn info(&self) -> Result<StoreInfo, StoreFault> {
        let size = |path: &Path| fs::metadata(path).map_or(0, |meta| meta.len());
        let [events, streams, runs, entries] = self.read_in_transaction(journal::count_contents)?;
        Ok(StoreInfo {
            path: self.place.db.clone(),
            bytes: size(&self.place.db),
            wal_bytes: size(&self.place.wal_path()),
            schema_version: SCHEMA_VERSION,
            database_version: rusqlite::version().to_owned(),
            events,
            streams,
            runs,
            entries,
            copy: self.copy.is_some(),
        })
    }

    fn backup(&self, to: &Path) -> Result<VerifyReport, StoreFault> {
        self.check_identity()?;
        backup::backup_database(&self.database_path(), to)
    }
}
