//! Making a store anew from its journal: the tables of the views are left behind, and
//! folded again out of the events.

use std::ops::ControlFlow;
use std::path::Path;

use piton_core::name::NameRange;
use rusqlite::{Connection, OpenFlags};

use super::backup::{copy_database, exchange_store, in_use_fault, remove_database_files};
use super::fault::{is_write_failure, sqlite_fault};
use super::files::{StorePaths, refuse_network_fs};
use super::queue::WriterQueue;
use super::refold;
use super::salvage::salvage_events;
use super::schema::{
    SCHEMA_VERSION, assign_writer_of_copy, check_version, connect, connect_to_salvage,
    create_database, flush_file, remove_leftovers, temporary_path, tolerate_schema,
    upgrade_journal_copy,
};
use super::{SqliteStore, acknowledged, replaced, verify};
use crate::clock::{Clock, SystemClock, truncate_to_micros};
use crate::failpoint;
use crate::group_access::share_with_group;
use crate::store::{Damage, FaultKind, RebuildStep, RestoreReport, StoreFault, UnreadableEvent};

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
    let present = connect_to_salvage(&place.db)?.connection;
    let version = check_version(&present, &place.db)?;
    // The new store writes under another id, so that the head says nothing of it.
    let now = truncate_to_micros(SystemClock.now());
    let loss = acknowledged::find_loss(place, &present, now);
    drop(present);
    let source = if version < SCHEMA_VERSION {
        copy_database(&place.db, upgraded)?;
        share_with_group(upgraded);
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE;
        upgrade_journal_copy(&mut connect(upgraded, flags)?.connection, upgraded)?;
        upgraded
    } else {
        &place.db
    };
    create_database(new, NameRange::ALONE)?;
    let target = connect(new, OpenFlags::SQLITE_OPEN_READ_WRITE)?.connection;
    copy_journal(&target, source).map_err(|error| copy_fault(place, source, new, error))?;
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
    let verdict = verify::verify_database_file(new)?;
    if let Some(damage) = verdict.damage.first() {
        return Err(damage_fault(place, damage));
    }
    assign_writer_of_copy(new)?;
    flush_file(new)?;
    failpoint::point("rebuild.verified");
    report(RebuildStep::Exchange);
    if let Some(loss) = &loss {
        acknowledged::record_loss(place, loss);
    }
    let kept = exchange_store(place, new)?;
    Ok(RestoreReport {
        path: place.db.clone(),
        removed: replaced::remove_old(place, kept.as_deref()),
        kept,
        verdict,
        loss,
    })
}

/// Damage in the journal itself.
fn damage_fault(place: &StorePaths, damage: &Damage) -> StoreFault {
    let position = damage.position.map(|at| format!(", event {at}"));
    let what = format!(
        "the journal in {} is damaged itself ({}{}: {}), so that its views cannot be made of it",
        place.db.display(),
        damage.place,
        position.unwrap_or_default(),
        damage.what
    );
    StoreFault::without_source(FaultKind::Damaged, what)
}

/// Why the journal could not be copied: with the first event that cannot be read, if
/// that is why.
fn copy_fault(place: &StorePaths, source: &Path, new: &Path, error: rusqlite::Error) -> StoreFault {
    if is_write_failure(&error) {
        return sqlite_fault("write", new, error);
    }
    let fault = sqlite_fault("read", source, error);
    match fault.kind {
        FaultKind::Damaged => first_unreadable_event(source).map_or(fault, |event| {
            let damage = Damage {
                place: event
                    .stream
                    .map_or("events".to_owned(), |stream| stream.to_string()),
                position: event.position,
                kind: event.kind,
                what: event.what,
            };
            damage_fault(place, &damage)
        }),
        FaultKind::Missing
        | FaultKind::InUse
        | FaultKind::Locked
        | FaultKind::Io
        | FaultKind::Gone
        | FaultKind::Newer
        | FaultKind::NetworkFileSystem
        | FaultKind::UnknownBackend
        | FaultKind::Flush => fault,
    }
}

fn first_unreadable_event(source: &Path) -> Option<UnreadableEvent> {
    let connected = connect_to_salvage(source).ok()?;
    let mut first = None;
    let found = salvage_events(&connected.connection, &mut |event| match event {
        Ok(_) => ControlFlow::Continue(()),
        Err(event) => {
            first = Some(event);
            ControlFlow::Break(())
        }
    });
    found.is_break().then_some(first).flatten()
}

/// Fills the tables that are not folded.
fn copy_journal(target: &Connection, source: &Path) -> rusqlite::Result<()> {
    // The new file takes its place without a log.
    target.pragma_update_and_check(None, "journal_mode", "DELETE", |_| Ok(()))?;
    // A view that cannot be understood is made anew as every other.
    tolerate_schema(target, true)?;
    target.execute("ATTACH ?1 AS old", [source.as_os_str().as_encoded_bytes()])?;
    let tx = target.unchecked_transaction()?;
    for table in TABLES {
        let columns: Option<String> = tx.query_row(
            "SELECT group_concat(name, ', ') FROM pragma_table_info(?1, 'old')",
            [table],
            |row| row.get(0),
        )?;
        let columns = columns.ok_or_else(|| missing_table_error(table))?;
        tx.execute_batch(&format!(
            "DELETE FROM main.{table}; \
             INSERT INTO main.{table} ({columns}) SELECT {columns} FROM old.{table}"
        ))?;
    }
    tx.commit()?;
    target.execute_batch("DETACH old")?;
    tolerate_schema(target, false)
}

/// What SQLite would say of a table of the journal whose description is damaged.
fn missing_table_error(table: &str) -> rusqlite::Error {
    let code = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CORRUPT);
    rusqlite::Error::SqliteFailure(code, Some(format!("there is no table {table}")))
}
