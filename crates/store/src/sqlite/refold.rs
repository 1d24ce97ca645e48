//! Making the rows of the views anew, from the journal alone.
//!
//! A new version of the store may fold more out of the events than an older one
//! did. Then every row is made again by the fold of today, once, as the store
//! is brought up to date.

use piton_core::Tables;
use piton_core::id::StreamId;
use rusqlite::{Connection, Result, Row};

use super::journal::{ALL, NAME_COLUMN, parse_record};
use super::rows::{RowWriter, TABLES};

/// Folds the whole journal into the tables of the views.
///
/// False where an event cannot be understood. The rows then stay as they are: they
/// know what it said, and `verify` names it.
pub(super) fn refold_views(connection: &Connection) -> Result<bool> {
    let Some(fold) = fold_journal(connection)? else {
        return Ok(false);
    };
    for table in TABLES.iter() {
        connection.execute(&format!("DELETE FROM {}", table.name), [])?;
    }
    connection.execute_batch(
        "DELETE FROM dependencies; DELETE FROM postings; DELETE FROM tokens; \
         DELETE FROM documents; UPDATE totals SET documents = 0, tenths = 0",
    )?;
    let mut writer = RowWriter::new(connection);
    for (key, row) in fold.iter() {
        writer.update_row(key, None, Some(row))?;
    }
    writer.finish()?;
    Ok(true)
}

fn fold_journal(connection: &Connection) -> Result<Option<Tables>> {
    let mut fold = Tables::default();
    let mut statement = connection.prepare(ALL)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        if !fold_event(&mut fold, row) {
            return Ok(None);
        }
    }
    Ok(Some(fold))
}

/// Folds one event; whether it could be understood. A tombstone says nothing.
fn fold_event(fold: &mut Tables, row: &Row<'_>) -> bool {
    let stream = row.get::<_, String>(NAME_COLUMN);
    let read = stream.and_then(|stream| parse_record(StreamId::from_stored(stream), row));
    let Ok(record) = read else {
        return false;
    };
    if record.is_tombstone() {
        return true;
    }
    let Ok(event) = record.decode_event() else {
        return false;
    };
    fold.fold(&event, &record.stamp);
    true
}
