//! Making a store, opening it, and bringing an old one up to date.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use piton_core::memory::MemoryKind;
use piton_core::name::NameRange;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, TransactionBehavior, params};
use uuid::Uuid;

use super::checksum;
use super::fault::{io_fault, read_twice, sqlite_fault};
use super::files::{StorePaths, create_private_file, link_without_replacing, refuse_network_fs};
use super::index;
use super::queue::WriterQueue;
use super::refold;
use super::row_groups;
use crate::failpoint;
use crate::group_access::share_with_group;
use crate::store::{FaultKind, StoreFault, WriterWait};

/// The version of the tables that this program reads and writes.
pub const SCHEMA_VERSION: u32 = 13;

/// The tables of a store that is made new: the same as the migrations make of an
/// old one, in a fifth of the time.
const SCHEMA: &str = include_str!("schema.sql");

/// What makes version N + 1 out of version N; never changed once released.
const MIGRATIONS: [&str; SCHEMA_VERSION as usize] = [
    include_str!("v1.sql"),
    include_str!("v2.sql"),
    include_str!("v3.sql"),
    // Version 4 changes no table; what the rows say of what was used is folded.
    "",
    // Neither does version 5: its events say what proves an item, and of what
    // an older one says the rows are folded anew.
    "",
    include_str!("v6.sql"),
    include_str!("v7.sql"),
    include_str!("v8.sql"),
    // Version 9 changes no table: a blocker that a person changes in a file is
    // folded into its row.
    "",
    include_str!("v10.sql"),
    // Version 11 changes no table: the fields of rows stand in groups.
    "",
    include_str!("v12.sql"),
    include_str!("v13.sql"),
];

/// Since this version documents are made as they are made now: what an older
/// one has of the memory is indexed anew.
const INDEXED_SINCE: u32 = 3;

/// Since this version rows say what is folded now: those of an older one are
/// folded anew.
const FOLDED_SINCE: u32 = 9;

/// Since this version what a row says of one matter stands in one object of its body.
const GROUPED_SINCE: u32 = 11;

/// Since this version a store has an id that it puts into what it writes.
const WRITER_SINCE: u32 = 12;

/// Since this version each row has the checksum of its body.
const CHECKSUMS_SINCE: u32 = 13;

/// Says in the header of the file whose database it is: `PITN`.
const APPLICATION_ID: u32 = 0x5049_544E;

/// How long to wait for a program that does not stand in the queue of writers.
pub(super) const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// A connection, and how many pages the log held at its last commit.
pub(super) struct OpenDatabase {
    pub(super) connection: Connection,
    pub(super) wal_pages: Arc<AtomicU32>,
}

/// Connects to a database that is there, and looks at what it is.
///
/// `flags` say whether for reading only.
pub(super) fn connect(db: &Path, flags: OpenFlags) -> Result<OpenDatabase, StoreFault> {
    connect_by(db, flags, SchemaReading::Strict)
}

/// Connects to read whatever is there: the description of one table that cannot be
/// understood keeps nothing from the others.
pub(super) fn connect_to_salvage(db: &Path) -> Result<OpenDatabase, StoreFault> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY;
    // What the disk fails to read of the descriptions would be missing from then on.
    let whole = read_twice(|| {
        let connected = connect(db, flags)?;
        connected
            .connection
            .query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))
            .map_err(|error| sqlite_fault("open", db, error))?;
        Ok::<_, StoreFault>(connected)
    });
    whole.or_else(|_| connect_by(db, flags, SchemaReading::Tolerant))
}

/// What becomes of a table whose description cannot be understood.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SchemaReading {
    /// Nothing is read.
    Strict,
    /// It is missing.
    Tolerant,
}

/// Has a connection pass over the descriptions of tables that it cannot understand.
pub(super) fn tolerate_schema(connection: &Connection, tolerates: bool) -> rusqlite::Result<()> {
    // SQLite reads on where it may be told to mend these by hand.
    let setting = DbConfig::SQLITE_DBCONFIG_WRITABLE_SCHEMA;
    connection.set_db_config(setting, tolerates).map(|_| ())
}

fn connect_by(
    db: &Path,
    flags: OpenFlags,
    schema: SchemaReading,
) -> Result<OpenDatabase, StoreFault> {
    let open = |error| sqlite_fault("open", db, error);
    let mut connection =
        Connection::open_with_flags(db, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX).map_err(open)?;
    tolerate_schema(&connection, schema == SchemaReading::Tolerant).map_err(open)?;
    // The last one to close would write the whole log back, and every short
    // command is the last one.
    connection
        .set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)
        .map_err(open)?;
    connection.busy_timeout(BUSY_TIMEOUT).map_err(open)?;
    connection.set_prepared_statement_cache_capacity(64);
    connection
        .pragma_update(None, "synchronous", "FULL")
        .map_err(open)?;
    if cfg!(target_os = "macos") {
        connection
            .pragma_update(None, "fullfsync", true)
            .map_err(open)?;
        connection
            .pragma_update(None, "checkpoint_fullfsync", true)
            .map_err(open)?;
    }
    // The length of the log is not known yet.
    let wal_pages = Arc::new(AtomicU32::new(u32::MAX));
    let counter = Arc::clone(&wal_pages);
    // This also takes the place of SQLite's own checkpoint at 1,000 pages.
    connection
        .wal_hook(Some(move |_: &mut rusqlite::hooks::Wal, pages: i32| {
            counter.store(u32::try_from(pages).unwrap_or(0), Ordering::Relaxed);
            Ok(())
        }))
        .map_err(open)?;
    Ok(OpenDatabase {
        connection,
        wal_pages,
    })
}

/// The version of the tables; a fault when it is no journal, or a newer one.
pub(super) fn check_version(connection: &Connection, db: &Path) -> Result<u32, StoreFault> {
    let number = |name: &str| {
        let value = connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
        value.map_err(|error| sqlite_fault("open", db, error))
    };
    let application = number("application_id")?;
    let place = db.display();
    if application != i64::from(APPLICATION_ID) {
        let tables: i64 = connection
            .query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))
            .map_err(|error| sqlite_fault("open", db, error))?;
        let what = if tables == 0 {
            "is empty"
        } else {
            "is the database of another program"
        };
        return Err(StoreFault::without_source(
            FaultKind::Damaged,
            format!("{place} {what}, not a journal of piton"),
        ));
    }
    check_table_version(connection, db)
}

/// The version of the tables of a journal; a fault when it is a newer one.
pub(super) fn check_table_version(connection: &Connection, db: &Path) -> Result<u32, StoreFault> {
    let version: rusqlite::Result<i64> = connection
        .prepare_cached("PRAGMA user_version")
        .and_then(|mut version| version.query_row([], |row| row.get(0)));
    let version = version.map_err(|error| sqlite_fault("open", db, error))?;
    let version = u32::try_from(version).unwrap_or(0);
    if version > SCHEMA_VERSION {
        let place = db.display();
        return Err(StoreFault::without_source(
            FaultKind::Newer,
            format!(
                "a newer piton wrote {place} (version {version}; this one knows versions up to {SCHEMA_VERSION})"
            ),
        ));
    }
    Ok(version)
}

/// Brings the tables up to date, all steps or none.
pub(super) fn migrate(connection: &mut Connection, db: &Path) -> Result<(), StoreFault> {
    let run = |connection: &mut Connection| {
        let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        // Another process may have migrated while this one waited.
        let version: u32 = tx.pragma_query_value(None, "user_version", |row| row.get(0))?;
        for step in MIGRATIONS.iter().skip(version as usize) {
            tx.execute_batch(step)?;
        }
        if version < GROUPED_SINCE {
            row_groups::group_row_fields(&tx)?;
        }
        if version < FOLDED_SINCE {
            refold::refold_views(&tx)?;
        }
        if version < INDEXED_SINCE {
            index::rebuild_index(&tx)?;
        }
        if version < WRITER_SINCE {
            assign_writer(&tx)?;
        }
        // Last: what comes before changes bodies.
        if version < CHECKSUMS_SINCE {
            checksum::fill_checksums(&tx)?;
        }
        tx.pragma_update(None, "user_version", SCHEMA_VERSION)?;
        tx.commit()
    };
    run(connection).map_err(|error| sqlite_fault("bring up to date", db, error))
}

/// Gives the store a new id, which it puts into what it writes from now on.
fn assign_writer(connection: &Connection) -> rusqlite::Result<()> {
    let sql = "INSERT INTO meta (name, value) VALUES ('writer', ?1) \
               ON CONFLICT (name) DO UPDATE SET value = excluded.value";
    connection.execute(sql, [Uuid::now_v7().as_bytes()])?;
    Ok(())
}

/// Brings a copy of which only the journal counts up to date: its views are empty then,
/// since a damaged page of one of them would end each step that reads it.
pub(super) fn upgrade_journal_copy(copy: &mut Connection, db: &Path) -> Result<(), StoreFault> {
    empty_views(copy).map_err(|error| sqlite_fault("bring up to date", db, error))?;
    migrate(copy, db)
}

/// Makes the tables and indexes of the views anew, as they are described, without
/// looking at their pages, which stay in the file unused.
fn empty_views(copy: &Connection) -> rusqlite::Result<()> {
    let of_views = "tbl_name NOT IN ('streams', 'events', 'meta', 'numbers', 'leases')";
    tolerate_schema(copy, true)?;
    let described: Vec<String> = copy
        .prepare(&format!(
            "SELECT sql FROM sqlite_schema WHERE {of_views} AND sql IS NOT NULL ORDER BY rowid"
        ))?
        .query_map([], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    copy.execute(&format!("DELETE FROM sqlite_schema WHERE {of_views}"), [])?;
    copy.execute_batch("PRAGMA writable_schema = RESET")?;
    tolerate_schema(copy, false)?;
    copy.execute_batch(&described.join(";"))
}

/// Brings a copy that takes the place of a store up to date.
pub(super) fn upgrade_copy(new: &Path) -> Result<(), StoreFault> {
    let mut copy = connect(new, OpenFlags::SQLITE_OPEN_READ_WRITE)?.connection;
    if check_version(&copy, new)? < SCHEMA_VERSION {
        migrate(&mut copy, new)?;
    }
    Ok(())
}

/// Gives such a copy an id of its own: what either store writes from now on can be told
/// apart.
pub(super) fn assign_writer_of_copy(new: &Path) -> Result<(), StoreFault> {
    let copy = connect(new, OpenFlags::SQLITE_OPEN_READ_WRITE)?.connection;
    let done = assign_writer(&copy).and_then(|()| copy.close().map_err(|(_, error)| error));
    done.map_err(|error| sqlite_fault("write", new, error))
}

/// Sees to it that a database that is written has a log: one that was put back
/// from a backup has none.
pub(super) fn ensure_wal(connection: &Connection, db: &Path) -> Result<(), StoreFault> {
    let mode: String = connection
        .pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get(0))
        .map_err(|error| sqlite_fault("open", db, error))?;
    if mode == "wal" {
        return Ok(());
    }
    Err(StoreFault::without_source(
        FaultKind::Io,
        format!(
            "cannot keep a write-ahead log beside {} (it stays in mode {mode})",
            db.display()
        ),
    ))
}

const NEW_PREFIX: &str = ".journal-";
const NEW_SUFFIX: &str = ".new";

/// A fresh name beside the database, for a file that is not yet in its place.
pub(super) fn temporary_path(place: &StorePaths) -> std::path::PathBuf {
    place
        .dir
        .join(format!("{NEW_PREFIX}{}{NEW_SUFFIX}", Uuid::now_v7()))
}

/// Makes a store where there is none; whether it did.
///
/// It is made under another name, flushed, and given its own name only when
/// it is whole: a process that finds it finds all of it.
pub(super) fn create_if_missing(place: &StorePaths, naming: NameRange) -> Result<bool, StoreFault> {
    if place.file_identity()?.is_some() {
        return Ok(false);
    }
    refuse_network_fs(&place.dir)?;
    let queue = WriterQueue::open(place)?;
    let turn = queue.wait_for_turn(&WriterWait::default())?;
    if place.file_identity()?.is_some() {
        return Ok(false);
    }
    failpoint::point("create.begun");
    remove_leftovers(place);
    set_aside_orphan_log(place)?;
    let new = temporary_path(place);
    create_database(&new, naming)?;
    failpoint::point("create.before-link");
    link_without_replacing(&new, &place.db)?;
    failpoint::point("create.linked");
    place.sync_dir()?;
    drop(turn);
    Ok(true)
}

/// Makes a new database, flushed, in a file that is not there yet.
pub(super) fn create_database(new: &Path, naming: NameRange) -> Result<(), StoreFault> {
    // SQLite fills an empty file, and gives its log the same mode.
    create_private_file(new)?;
    share_with_group(new);
    let create = |error| sqlite_fault("create", new, error);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(new, flags).map_err(create)?;
    create_tables(&mut connection, naming).map_err(create)?;
    ensure_wal(&connection, new)?;
    failpoint::point("create.filled");
    connection.close().map_err(|(_, error)| create(error))?;
    flush_file(new)
}

/// Makes all tables in an empty database that no other process knows of yet.
fn create_tables(connection: &mut Connection, naming: NameRange) -> rusqlite::Result<()> {
    // A process that finds it half made removes it: it is flushed once it is whole.
    connection.pragma_update(None, "synchronous", "OFF")?;
    connection.pragma_update_and_check(None, "journal_mode", "OFF", |_| Ok(()))?;
    let tx = connection.transaction()?;
    tx.pragma_update(None, "application_id", APPLICATION_ID)?;
    tx.execute_batch(SCHEMA)?;
    for kind in MemoryKind::ALL {
        let sql = "INSERT INTO numbers (kind, first, next) VALUES (?1, ?2, ?2)";
        tx.execute(sql, params![kind.as_str(), naming.first.cast_signed()])?;
    }
    assign_writer(&tx)?;
    tx.pragma_update(None, "user_version", SCHEMA_VERSION)?;
    tx.commit()
}

/// Flushes a finished file that no connection has open.
pub(super) fn flush_file(new: &Path) -> Result<(), StoreFault> {
    fs::File::open(new)
        .and_then(|file| file.sync_all())
        .map_err(|error| io_fault("flush", new, error))
}

/// Takes away what creators left that died before they were done.
///
/// Only the one who holds the lock makes such files, so that all that are
/// there belong to the dead.
pub(super) fn remove_leftovers(place: &StorePaths) {
    let Ok(files) = fs::read_dir(&place.dir) else {
        return;
    };
    for file in files.flatten() {
        let name = file.file_name();
        let Some(name) = name.to_str() else { continue };
        let stem = ["-wal", "-shm", "-journal"]
            .iter()
            .find_map(|end| name.strip_suffix(end))
            .unwrap_or(name);
        let id = stem
            .strip_prefix(NEW_PREFIX)
            .and_then(|rest| rest.strip_suffix(NEW_SUFFIX));
        if id.is_some_and(|id| Uuid::parse_str(id).is_ok()) {
            drop(fs::remove_file(file.path()));
        }
    }
}

/// A log without its database would be taken for that of the new one, and
/// would ruin it; but it may hold the only copy of a person's data.
fn set_aside_orphan_log(place: &StorePaths) -> Result<(), StoreFault> {
    let wal = place.wal_path();
    let aside = place
        .dir
        .join(format!("journal.db-wal.orphan-{}", Uuid::now_v7()));
    match fs::rename(&wal, aside) {
        Ok(()) => {}
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(error) => return Err(io_fault("set aside", &wal, error)),
    }
    drop(fs::remove_file(place.dir.join("journal.db-shm")));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Columns as SQLite knows them, and indexes by their words: adding a column
    /// writes it to another place in the text of its table.
    fn shape(connection: &Connection) -> Vec<String> {
        let columns = "SELECT m.name || '.' || c.name || ' ' || c.type || ' ' || c.\"notnull\" \
            || ' ' || coalesce(c.dflt_value, '') || ' ' || c.pk \
            FROM sqlite_schema m, pragma_table_xinfo(m.name) c WHERE m.type = 'table'";
        let tables =
            "SELECT name || ' ' || ncol || ' ' || wr || ' ' || strict FROM pragma_table_list";
        let indexes =
            "SELECT name || ' ' || coalesce(sql, '') FROM sqlite_schema WHERE type <> 'table'";
        let mut shape = Vec::new();
        for sql in [
            columns,
            tables,
            indexes,
            "SELECT one || documents || tenths FROM totals",
            "SELECT kind || first || next FROM numbers",
        ] {
            let mut statement = connection.prepare(sql).expect("sound");
            let found = statement.query_map([], |row| row.get::<_, String>(0));
            let mut found: Vec<String> = found
                .and_then(Iterator::collect)
                .expect("the schema can be read");
            found.sort();
            shape.push("--".to_owned());
            shape.extend(found);
        }
        shape
    }

    #[test]
    fn a_new_store_has_the_tables_that_an_old_one_is_given() {
        let open = || Connection::open_in_memory().expect("a store in memory");
        let (mut made, mut migrated) = (open(), open());
        create_tables(&mut made, NameRange::ALONE).expect("made");
        migrate(&mut migrated, Path::new("memory")).expect("migrated");
        let made = shape(&made);
        assert!(made.len() > 60, "{made:?}");
        assert_eq!(made, shape(&migrated));
    }
}
