//! What the database holds, handed to the audit; damage never stops it.

use std::collections::BTreeSet;
use std::path::Path;

use piton_core::Row;
use piton_core::id::StreamId;
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, OpenFlags, OptionalExtension, params};

use super::checksum::check_body;
use super::fault::sqlite_fault;
use super::index;
use super::journal::{
    ALL, AT, NAME_COLUMN, SEQ_COLUMN, bound_of_seq, parse_record, read_heads, sum_counts,
};
use super::rows::{TABLES, Table, columns_of_row, parse_row, to_sqlite_integer};
use super::schema::{check_version, connect};
use crate::audit::{Audit, describe_key};
use crate::store::{Damage, StoreFault, StreamHead, VerifyReport};

/// Checks everything in the file of a database.
pub(super) fn verify_database_file(db: &Path) -> Result<VerifyReport, StoreFault> {
    let connected = connect(db, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    check_version(&connected.connection, db)?;
    verify_database(&connected.connection, db)
}

/// Checks everything, as of one moment.
pub(super) fn verify_database(
    connection: &Connection,
    db: &Path,
) -> Result<VerifyReport, StoreFault> {
    let tx = connection
        .unchecked_transaction()
        .map_err(|error| sqlite_fault("read", db, error))?;
    let mut audit = Audit::default();
    let kept = read_heads(&tx).unwrap_or_else(|error| {
        audit.report_damage("streams", format!("cannot be read: {error}"));
        Vec::new()
    });
    let kept: Vec<StreamHead> = kept.into_iter().map(|(_, head)| head).collect();
    let counted = sum_counts(kept.iter().map(|head| head.count));
    audit_events(&tx, counted, &mut audit);
    audit.check_heads(&kept);
    let mut dependencies = BTreeSet::new();
    let mut index = index::ExpectedIndex::default();
    for table in TABLES.iter() {
        if let Err(error) = audit_rows(&tx, table, &mut dependencies, &mut index, &mut audit) {
            audit.report_damage(table.name, format!("cannot be read to its end: {error}"));
        }
    }
    if let Err(error) = audit_dependencies(&tx, &dependencies, &mut audit) {
        audit.report_damage(
            "dependencies",
            format!("cannot be read to its end: {error}"),
        );
    }
    match index.check_rest(&tx) {
        Ok(wrong) => wrong
            .into_iter()
            .for_each(|what| audit.report_damage("documents", what)),
        Err(error) => {
            audit.report_damage("documents", format!("cannot be read to its end: {error}"))
        }
    }
    if let Err(error) = check_integrity(&tx, &mut audit) {
        audit.report_damage("file", format!("cannot be checked: {error}"));
    }
    Ok(audit.finish())
}

/// Reads the events in their order; where that breaks off, one by one.
fn audit_events(connection: &Connection, counted: u64, audit: &mut Audit) {
    let mut last = 0;
    let Err(error) = scan_events(connection, &mut last, audit) else {
        return;
    };
    audit.report_damage(
        "events",
        format!("cannot be read in order after number {last}: {error}"),
    );
    let mut unreadable: Option<(u64, u64, String)> = None;
    for seq in last.saturating_add(1)..=bound_of_seq(connection, counted) {
        let read = connection.prepare_cached(AT).and_then(|mut statement| {
            statement
                .query_row([to_sqlite_integer(seq)], |row| {
                    audit_event(row, audit);
                    Ok(())
                })
                .optional()
        });
        match (read, &mut unreadable) {
            (Ok(_), _) => {}
            (Err(_), Some((_, end, _))) if *end + 1 == seq => *end = seq,
            (Err(error), _) => {
                report_unreadable_range(unreadable.take(), audit);
                unreadable = Some((seq, seq, error.to_string()));
            }
        }
    }
    report_unreadable_range(unreadable, audit);
}

fn report_unreadable_range(range: Option<(u64, u64, String)>, audit: &mut Audit) {
    if let Some((from, to, why)) = range {
        let what = format!("numbers {from} to {to} cannot be read: {why}");
        audit.report_unreadable(Damage {
            place: "events".to_owned(),
            position: None,
            kind: None,
            what,
        });
    }
}

fn scan_events(connection: &Connection, last: &mut u64, audit: &mut Audit) -> rusqlite::Result<()> {
    let mut statement = connection.prepare(ALL)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let seq = row
            .get::<_, i64>(SEQ_COLUMN)
            .ok()
            .and_then(|seq| u64::try_from(seq).ok())
            .unwrap_or(*last + 1);
        if seq > *last + 1 {
            audit.report_damage(
                "events",
                format!("numbers {} to {} are missing", *last + 1, seq - 1),
            );
        }
        *last = seq;
        audit_event(row, audit);
    }
    Ok(())
}

/// Hands one event over, or what is wrong with it.
fn audit_event(row: &rusqlite::Row<'_>, audit: &mut Audit) {
    let stream = row.get::<_, String>(NAME_COLUMN);
    let read = stream.and_then(|stream| parse_record(StreamId::from_stored(stream), row));
    match read {
        Ok(record) => audit.check_record(&record),
        Err(error) => {
            let stream = row.get::<_, String>(NAME_COLUMN);
            let known = stream.is_ok();
            audit.report_unreadable(Damage {
                place: stream.unwrap_or_else(|_| "events".to_owned()),
                position: row
                    .get::<_, i64>(0)
                    .ok()
                    .and_then(|position| u64::try_from(position).ok())
                    .filter(|_| known),
                kind: row.get(4).ok(),
                what: if known {
                    format!("cannot be read: {error}")
                } else {
                    "belongs to no stream".to_owned()
                },
            });
        }
    }
}

type Dependency = (Vec<u8>, String, String);

fn audit_rows(
    connection: &Connection,
    table: &Table,
    dependencies: &mut BTreeSet<Dependency>,
    index: &mut index::ExpectedIndex,
    audit: &mut Audit,
) -> rusqlite::Result<()> {
    let mut statement = connection.prepare(&format!(
        "SELECT body, checksum, {} FROM {}",
        table.columns, table.name
    ))?;
    let width = statement.column_count();
    let mut rows = statement.query([])?;
    while let Some(found) = rows.next()? {
        let body = match found.get_ref(0)? {
            ValueRef::Text(text) => std::str::from_utf8(text).map_err(|error| error.to_string()),
            ValueRef::Null | ValueRef::Integer(_) | ValueRef::Real(_) | ValueRef::Blob(_) => {
                Err("it is no text".to_owned())
            }
        };
        let checksum = found.get_ref(1)?;
        // A body that is not what it was is compared with the events as well.
        if let Ok(body) = body
            && let Err(error) = check_body(table.name, body, checksum)
        {
            audit.report_damage(table.name, error.to_string());
        }
        let row = match body
            .and_then(|body| parse_row(table.name, body).map_err(|error| error.to_string()))
        {
            Ok(row) => row,
            Err(error) => {
                audit.report_damage(
                    table.name,
                    format!("the body of a row cannot be read: {error}"),
                );
                continue;
            }
        };
        let kept: Vec<Value> = (2..width)
            .map(|column| found.get(column))
            .collect::<rusqlite::Result<_>>()?;
        if kept != columns_of_row(&row) {
            audit.report_damage(
                table.name,
                format!(
                    "the columns of {} are not those of its body",
                    describe_key(&row.key())
                ),
            );
        }
        if let Row::Item(item) = &row {
            let of = |on: &piton_core::Node| {
                (
                    item.run.0.as_bytes().to_vec(),
                    on.as_str().to_owned(),
                    item.node.as_str().to_owned(),
                )
            };
            dependencies.extend(item.plan.depends_on.iter().map(of));
        }
        if let Row::Memory(memory) = &row
            && let Some(wrong) = index.check_row(connection, memory)?
        {
            audit.report_damage("documents", wrong);
        }
        audit.check_row(&row);
    }
    Ok(())
}

fn audit_dependencies(
    connection: &Connection,
    expected: &BTreeSet<Dependency>,
    audit: &mut Audit,
) -> rusqlite::Result<()> {
    let mut statement = connection.prepare("SELECT run, on_node, node FROM dependencies")?;
    let found =
        statement.query_map(params![], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    let found: BTreeSet<Dependency> = found.collect::<rusqlite::Result<_>>()?;
    for (_, on, node) in expected.difference(&found) {
        audit.report_damage(
            "dependencies",
            format!("`{node}` depends on `{on}`, which is not noted"),
        );
    }
    for (_, on, node) in found.difference(expected) {
        audit.report_damage(
            "dependencies",
            format!("`{node}` is noted to depend on `{on}` and does not"),
        );
    }
    Ok(())
}

/// What SQLite itself finds wrong with its pages and indexes.
fn check_integrity(connection: &Connection, audit: &mut Audit) -> rusqlite::Result<()> {
    let mut statement = connection.prepare("PRAGMA integrity_check(20)")?;
    let findings = statement.query_map([], |row| row.get::<_, String>(0))?;
    for finding in findings {
        let finding = finding?;
        if finding != "ok" {
            audit.report_damage("file", finding);
        }
    }
    Ok(())
}
