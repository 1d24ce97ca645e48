//! Rows of the views, as columns and back.
//!
//! `body` is the whole row as JSON, `checksum` the sum of its bytes, which is compared
//! whenever it is read; the other columns repeat what is asked for
//! ([`piton_core::TableDescriptor`]), so that `verify` can say whether they agree.
//! All SQL about rows is made of the descriptors.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use piton_core::{ColumnValue, Key, ReadTable, Row};
use rusqlite::types::{FromSqlError, Value, ValueRef};
use rusqlite::{Connection, Result, params, params_from_iter};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::checksum::{check_body, checksum_of_body};
use super::index;

/// So many rows are written by one statement.
const ROWS_MAX: usize = 16;

/// A table of a view, with the SQL that writes its rows.
pub(super) struct Table {
    pub(super) name: &'static str,
    /// Its columns except `body` and `checksum`, in the order of [`columns_of_row`].
    pub(super) columns: String,
    /// Up to the values of the rows to be written.
    insert: String,
    /// What becomes of a row that is there: all of it changes, or its body alone.
    upsert: String,
    upsert_body: String,
    delete: String,
}

impl Table {
    fn new(table: ReadTable) -> Self {
        let descriptor = table.descriptor();
        let name = descriptor.name;
        let columns = descriptor.columns().collect::<Vec<_>>().join(", ");
        let key = descriptor.key.join(", ");
        let upsert_body = format!(
            " ON CONFLICT ({key}) DO UPDATE \
             SET body = excluded.body, checksum = excluded.checksum"
        );
        let set_others = descriptor.others.iter();
        let set_others = set_others.map(|column| format!(", {column} = excluded.{column}"));
        let conditions = descriptor.key.iter().map(|column| format!("{column} = ?"));
        Self {
            name,
            insert: format!("INSERT INTO {name} (body, checksum, {columns}) VALUES "),
            upsert: set_others.fold(upsert_body.clone(), |sql, set| sql + &set),
            upsert_body,
            delete: format!(
                "DELETE FROM {name} WHERE {}",
                conditions.collect::<Vec<_>>().join(" AND ")
            ),
            columns,
        }
    }
}

/// All tables of views that hold rows, in the order of [`ReadTable`].
pub(super) static TABLES: LazyLock<[Table; 9]> = LazyLock::new(|| ReadTable::ALL.map(Table::new));

/// A number of ours as SQLite keeps it: there are no others above 2^63.
pub(super) fn to_sqlite_integer(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// A value as SQLite keeps it.
pub(super) fn to_sqlite_value(value: ColumnValue) -> Value {
    match value {
        ColumnValue::Flag(flag) => Value::Integer(i64::from(flag)),
        ColumnValue::Integer(number) => Value::Integer(number),
        ColumnValue::Text(text) => Value::Text(text),
        ColumnValue::Bytes(bytes) => Value::Blob(bytes),
    }
}

/// All columns of a row but its body and the sum of it, the key first.
pub(super) fn columns_of_row(row: &Row) -> Vec<Value> {
    row.columns().into_iter().map(to_sqlite_value).collect()
}

fn to_json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("a row holds nothing that JSON cannot say")
}

fn body_of_row(row: &Row) -> String {
    match row {
        Row::Run(row) => to_json(row),
        Row::Item(row) => to_json(row),
        Row::Attempt(row) => to_json(row),
        Row::Decision(row) => to_json(row),
        Row::Entry(row) => to_json(row),
        Row::Blocker(row) => to_json(row),
        Row::Memory(row) => to_json(row),
        Row::Name(row) => to_json(row),
        Row::Face(row) => to_json(row),
    }
}

/// The row of that table that a body stands for.
pub(super) fn parse_row(table: &str, body: &str) -> serde_json::Result<Row> {
    fn parse_boxed<T: DeserializeOwned>(body: &str) -> serde_json::Result<Box<T>> {
        serde_json::from_str(body).map(Box::new)
    }
    Ok(match table {
        "runs" => Row::Run(parse_boxed(body)?),
        "items" => Row::Item(parse_boxed(body)?),
        "attempts" => Row::Attempt(parse_boxed(body)?),
        "decisions" => Row::Decision(parse_boxed(body)?),
        "entries" => Row::Entry(parse_boxed(body)?),
        "blockers" => Row::Blocker(parse_boxed(body)?),
        "memory" => Row::Memory(parse_boxed(body)?),
        "names" => Row::Name(parse_boxed(body)?),
        _ => Row::Face(parse_boxed(body)?),
    })
}

/// [`parse_row`], with its error as one of SQLite's.
///
/// # Errors
///
/// Also where the body is not what its checksum was made of.
pub(super) fn parse_column(table: &str, body: &str, checksum: ValueRef<'_>) -> Result<Row> {
    check_body(table, body, checksum)?;
    parse_row(table, body).map_err(|error| FromSqlError::other(error).into())
}

/// Brings stored rows up to date, many in a statement: [`RowWriter::finish`]
/// writes the last of them.
pub(super) struct RowWriter<'c> {
    connection: &'c Connection,
    /// What is to be written of each table, apart where only bodies change.
    batches: BTreeMap<(ReadTable, bool), Vec<Vec<Value>>>,
}

impl<'c> RowWriter<'c> {
    pub(super) fn new(connection: &'c Connection) -> Self {
        Self {
            connection,
            batches: BTreeMap::new(),
        }
    }

    /// Brings the stored row of `key` from `before` to `after`.
    pub(super) fn update_row(
        &mut self,
        key: &Key,
        before: Option<&Row>,
        after: Option<&Row>,
    ) -> Result<()> {
        match (before, after) {
            (None, None) => return Ok(()),
            (Some(_), None) => {
                let values = key.columns().into_iter().map(to_sqlite_value);
                let mut delete = self.connection.prepare_cached(&table(key).delete)?;
                delete.execute(params_from_iter(values))?;
            }
            (before, Some(after)) => {
                let columns = columns_of_row(after);
                // An update of the body alone leaves the indexes in peace.
                let alone = before.is_some_and(|before| columns_of_row(before) == columns);
                let body = body_of_row(after);
                let checksum = checksum_of_body(&body);
                let mut values = vec![Value::Text(body), Value::Integer(checksum)];
                values.extend(columns);
                let batch = self.batches.entry((key.table(), alone)).or_default();
                batch.push(values);
                if batch.len() == ROWS_MAX {
                    let rows = std::mem::take(batch);
                    self.write_batch(key.table(), alone, &rows)?;
                }
            }
        }
        if let Key::Memory(_) = key {
            index::update_index(self.connection, before, after)?;
        }
        update_dependencies(self.connection, before, after)
    }

    /// Writes what has not been written yet.
    pub(super) fn finish(mut self) -> Result<()> {
        let batches = std::mem::take(&mut self.batches);
        let mut left = batches.iter().filter(|(_, rows)| !rows.is_empty());
        left.try_for_each(|((table, alone), rows)| self.write_batch(*table, *alone, rows))
    }

    fn write_batch(&self, table: ReadTable, alone: bool, rows: &[Vec<Value>]) -> Result<()> {
        let table = &TABLES[table.index()];
        let end = if alone {
            &table.upsert_body
        } else {
            &table.upsert
        };
        insert_rows(self.connection, &table.insert, end, rows)
    }
}

/// Inserts rows, many in a statement: `insert` goes up to their values, and `end`
/// says what becomes of those that are there.
pub(super) fn insert_rows(
    connection: &Connection,
    insert: &str,
    end: &str,
    rows: &[Vec<Value>],
) -> Result<()> {
    for some in rows.chunks(ROWS_MAX) {
        let marks = format!("(?{})", ", ?".repeat(some[0].len() - 1));
        let marks = vec![marks; some.len()].join(", ");
        let mut statement = connection.prepare_cached(&format!("{insert}{marks}{end}"))?;
        statement.execute(params_from_iter(some.iter().flatten()))?;
    }
    Ok(())
}

fn table(key: &Key) -> &'static Table {
    &TABLES[key.table().index()]
}

/// Keeps the table that leads from a node to those that depend on it.
fn update_dependencies(
    connection: &Connection,
    before: Option<&Row>,
    after: Option<&Row>,
) -> Result<()> {
    let of = |row: Option<&Row>| match row {
        Some(Row::Item(item)) => item.plan.depends_on.clone(),
        _ => Vec::new(),
    };
    let (old, new) = (of(before), of(after));
    if old == new {
        return Ok(());
    }
    let Some(Row::Item(item)) = after.or(before) else {
        return Ok(());
    };
    let run = item.run.0.as_bytes().as_slice();
    let mut delete = connection
        .prepare_cached("DELETE FROM dependencies WHERE run = ?1 AND on_node = ?2 AND node = ?3")?;
    for on in &old {
        delete.execute(params![run, on.as_str(), item.node.as_str()])?;
    }
    let mut insert = connection.prepare_cached(
        "INSERT OR IGNORE INTO dependencies (run, on_node, node) VALUES (?1, ?2, ?3)",
    )?;
    for on in &new {
        insert.execute(params![run, on.as_str(), item.node.as_str()])?;
    }
    Ok(())
}
