//! Making a store anew from its journal: the tables of the views are left behind, and
//! folded again out of the events.

use std::path::Path;

use piton_core::name::NameRange;
use rusqlite::{Connection, OpenFlags};

use super::SqliteStore;
use super::backup::{
    copy_database, exchange_store, in_use_fault, remove_database_files, verify_database_file,
};
use super::fault::sqlite_fault;
use super::files::{StorePaths, WriterQueue, refuse_network_fs};
use super::refold;
use super::schema::{
    SCHEMA_VERSION, assign_writer_of_copy, check_version, connect, create_database, flush_file,
    remove_leftovers, temporary_path, upgrade_copy,
};
use crate::failpoint;
use crate::store::{FaultKind, RebuildStep, RestoreReport, StoreFault};

/// The journal and the registers: what is not folded.
const TABLES: [&str; 5] = ["streams", "events", "meta", "numbers", "leases"];

impl SqliteStore {
    /// Makes the views of the store in `dir` anew, in another file that is verified and
    /// takes its place; the present store is kept beside under a dated name. After a
    /// crash at any moment the old store is in place, or the new one.
    ///
    /// # Errors
    ///
    /// When the journal itself is damaged or cannot be understood, when any process has
    /// the store open, or when the folder cannot be written. Nothing is changed then.
    pub fn rebuild(
        dir: &Path,
        report: &mut dyn FnMut(RebuildStep),
    ) -> Result<RestoreReport, StoreFault> {
        let place = StorePaths::new(dir);
        if place.file_identity()?.is_none() {
            return Err(place.missing_fault());
        }
        refuse_network_fs(&place.dir)?;
        let queue = WriterQueue::open(&place)?;
        let Some(turn) = queue.try_turn()? else {
            return Err(in_use_fault(&place));
        };
        remove_leftovers(&place);
        let (new, upgraded) = (temporary_path(&place), temporary_path(&place));
        let done = rebuild_locked(&place, &new, &upgraded, report);
        remove_database_files(&upgraded);
        if done.is_err() {
            remove_database_files(&new);
        }
        drop(turn);
        done
    }
}

fn rebuild_locked(
    place: &StorePaths,
    new: &Path,
    upgraded: &Path,
    report: &mut dyn FnMut(RebuildStep),
) -> Result<RestoreReport, StoreFault> {
    report(RebuildStep::CopyJournal);
    let present = connect(&place.db, OpenFlags::SQLITE_OPEN_READ_ONLY)?.connection;
    let version = check_version(&present, &place.db)?;
    drop(present);
    let source = if version < SCHEMA_VERSION {
        copy_database(&place.db, upgraded)?;
        upgrade_copy(upgraded)?;
        upgraded
    } else {
        &place.db
    };
    create_database(new, NameRange::ALONE)?;
    let target = connect(new, OpenFlags::SQLITE_OPEN_READ_WRITE)?.connection;
    copy_journal(&target, source).map_err(|error| sqlite_fault("read", source, error))?;
    failpoint::point("rebuild.copied");
    report(RebuildStep::FoldViews);
    // Where an event cannot be understood, the verdict names it.
    let folded = target
        .unchecked_transaction()
        .and_then(|tx| refold::refold_views(&tx).and_then(|_| tx.commit()))
        .and_then(|()| target.close().map_err(|(_, error)| error));
    folded.map_err(|error| sqlite_fault("write", new, error))?;
    failpoint::point("rebuild.folded");
    report(RebuildStep::Verify);
    let verdict = verify_database_file(new)?;
    if let Some(damage) = verdict.damage.first() {
        let position = damage.position.map(|at| format!(", event {at}"));
        let what = format!(
            "the journal in {} is damaged itself ({}{}: {}), so that its views cannot be made of it",
            place.db.display(),
            damage.place,
            position.unwrap_or_default(),
            damage.what
        );
        return Err(StoreFault::without_source(FaultKind::Damaged, what));
    }
    assign_writer_of_copy(new)?;
    flush_file(new)?;
    failpoint::point("rebuild.verified");
    report(RebuildStep::Exchange);
    let kept = exchange_store(place, new)?;
    Ok(RestoreReport {
        path: place.db.clone(),
        kept,
        verdict,
    })
}

/// Fills the tables that are not folded.
fn copy_journal(target: &Connection, source: &Path) -> rusqlite::Result<()> {
    // The new file takes its place without a log.
    target.pragma_update_and_check(None, "journal_mode", "DELETE", |_| Ok(()))?;
    target.execute("ATTACH ?1 AS old", [source.as_os_str().as_encoded_bytes()])?;
    let tx = target.unchecked_transaction()?;
    for table in TABLES {
        let columns: String = tx.query_row(
            "SELECT group_concat(name, ', ') FROM pragma_table_info(?1, 'old')",
            [table],
            |row| row.get(0),
        )?;
        tx.execute_batch(&format!(
            "DELETE FROM main.{table}; \
             INSERT INTO main.{table} ({columns}) SELECT {columns} FROM old.{table}"
        ))?;
    }
    tx.commit()?;
    target.execute_batch("DETACH old")
}
