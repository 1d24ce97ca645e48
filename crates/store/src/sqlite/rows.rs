//! Rows of the views, as columns and back.
//!
//! `body` is the whole row as JSON; the other columns repeat what is asked
//! for, and are made from the row by [`columns_of_row`] alone, so that `verify` can
//! say whether they agree.

use piton_core::{Key, Row};
use rusqlite::types::{FromSqlError, Value};
use rusqlite::{Connection, OptionalExtension, Result, params, params_from_iter};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::index;

/// A table of a view.
pub(super) struct Table {
    pub(super) name: &'static str,
    /// Its columns except `body`, in the order of [`columns_of_row`].
    pub(super) columns: &'static str,
    /// How many of these form the key.
    keys: usize,
    get: &'static str,
    insert: &'static str,
    delete: &'static str,
    set_body: &'static str,
}

macro_rules! table {
    ($name:literal, keys: $($key:literal),+; others: $($other:literal),*) => {
        Table {
            name: $name,
            columns: concat!(table!(@list $($key),+ $(, $other)*)),
            keys: [$($key),+].len(),
            get: concat!("SELECT body FROM ", $name, " WHERE ", table!(@where $($key),+)),
            insert: concat!(
                "INSERT INTO ", $name, " (body, ", table!(@list $($key),+ $(, $other)*), ") VALUES (?1",
                table!(@marks $($key),+ $(, $other)*), ") ON CONFLICT (", table!(@list $($key),+),
                ") DO UPDATE SET body = excluded.body" $(, ", ", $other, " = excluded.", $other)*
            ),
            delete: concat!("DELETE FROM ", $name, " WHERE ", table!(@where $($key),+)),
            set_body: concat!("UPDATE ", $name, " SET body = ?1 WHERE ", table!(@where_after $($key),+)),
        }
    };
    (@list $first:literal $(, $rest:literal)*) => { concat!($first $(, ", ", $rest)*) };
    (@where $a:literal) => { concat!($a, " = ?1") };
    (@where $a:literal, $b:literal) => { concat!($a, " = ?1 AND ", $b, " = ?2") };
    (@where_after $a:literal) => { concat!($a, " = ?2") };
    (@where_after $a:literal, $b:literal) => { concat!($a, " = ?2 AND ", $b, " = ?3") };
    (@marks $($column:literal),+) => { concat!($(table!(@mark $column)),+) };
    (@mark $column:literal) => { ", ?" };
}

const RUNS: Table = table!("runs", keys: "id"; others: "name");
const ITEMS: Table = table!("items", keys: "run", "node"; others: "place", "standing");
const ATTEMPTS: Table = table!("attempts", keys: "id"; others: "run", "node", "open", "time");
const DECISIONS: Table = table!("decisions", keys: "id"; others: "number", "run", "open");
const ENTRIES: Table = table!("entries", keys: "position"; others: "type", "time");
const BLOCKERS: Table = table!("blockers", keys: "task"; others: );
const MEMORY: Table = table!("memory", keys: "id"; others: "kind", "number");
const NAMES: Table = table!("names", keys: "space", "name"; others: );
const FACES: Table = table!("faces", keys: "path"; others: );

/// All tables of views that hold rows.
pub(super) const TABLES: [Table; 9] = [
    RUNS, ITEMS, ATTEMPTS, DECISIONS, ENTRIES, BLOCKERS, MEMORY, NAMES, FACES,
];

fn table_of_key(key: &Key) -> &'static Table {
    match key {
        Key::Run(_) => &RUNS,
        Key::Item(..) => &ITEMS,
        Key::Attempt(_) => &ATTEMPTS,
        Key::Decision(_) => &DECISIONS,
        Key::Entry(_) => &ENTRIES,
        Key::Blocker(..) => &BLOCKERS,
        Key::Memory(_) => &MEMORY,
        Key::Name(..) => &NAMES,
        Key::Face(_) => &FACES,
    }
}

fn blob_value(id: uuid::Uuid) -> Value {
    Value::Blob(id.as_bytes().to_vec())
}

/// A number of ours as SQLite keeps it: there are no others above 2^63.
pub(super) fn to_sqlite_integer(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// The columns that form the key of a row.
fn key_columns(key: &Key) -> Vec<Value> {
    match key {
        Key::Run(run) => vec![blob_value(run.0)],
        Key::Item(run, node) => vec![blob_value(run.0), Value::Text(node.as_str().to_owned())],
        Key::Attempt(attempt) => vec![blob_value(attempt.0)],
        Key::Decision(decision) => vec![blob_value(decision.0)],
        Key::Entry(position) => vec![Value::Integer(to_sqlite_integer(*position))],
        Key::Blocker(spec, task) => vec![Value::Text(to_json(&(spec, task)))],
        Key::Memory(id) => vec![Value::Text(id.clone())],
        Key::Name(space, name) => vec![
            Value::Text(space.as_str().to_owned()),
            Value::Text(name.clone()),
        ],
        Key::Face(path) => vec![Value::Text(path.clone())],
    }
}

/// All columns of a row but its body, the key first.
pub(super) fn columns_of_row(row: &Row) -> Vec<Value> {
    let mut columns = key_columns(&row.key());
    match row {
        Row::Run(run) => columns.push(Value::Text(run.name.clone())),
        Row::Item(item) => {
            columns.push(Value::Blob(item.plan.place.to_key()));
            columns.push(Value::Integer(item.standing().column_value()));
        }
        Row::Attempt(attempt) => {
            columns.push(blob_value(attempt.run.0));
            columns.push(Value::Text(attempt.node.as_str().to_owned()));
            columns.push(Value::Integer(i64::from(attempt.is_open())));
            columns.push(Value::Integer(attempt.happened_at().as_microsecond()));
        }
        Row::Decision(decision) => {
            columns.push(Value::Integer(to_sqlite_integer(decision.number)));
            columns.push(blob_value(decision.run.0));
            columns.push(Value::Integer(i64::from(decision.verdict.is_none())));
        }
        Row::Entry(entry) => {
            columns.push(Value::Text(entry.entry.kind.as_str().to_owned()));
            columns.push(Value::Integer(entry.timestamp.as_microsecond()));
        }
        Row::Memory(memory) => {
            columns.push(Value::Text(memory.memory.kind.as_str().to_owned()));
            columns.push(Value::Integer(to_sqlite_integer(memory.number)));
        }
        Row::Blocker(_) | Row::Name(_) | Row::Face(_) => {}
    }
    columns
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
pub(super) fn parse_column(table: &str, body: &str) -> Result<Row> {
    parse_row(table, body).map_err(|error| FromSqlError::other(error).into())
}

/// The row of that key.
pub(super) fn find_row(connection: &Connection, key: &Key) -> Result<Option<Row>> {
    let table = table_of_key(key);
    let mut statement = connection.prepare_cached(table.get)?;
    let found = statement.query_row(params_from_iter(key_columns(key)), |row| {
        parse_column(table.name, row.get_ref(0)?.as_str()?)
    });
    found.optional()
}

/// Brings the stored row of `key` from `before` to `after`.
pub(super) fn update_row(
    connection: &Connection,
    key: &Key,
    before: Option<&Row>,
    after: Option<&Row>,
) -> Result<()> {
    let table = table_of_key(key);
    match (before, after) {
        (None, None) => return Ok(()),
        (Some(_), None) => {
            connection
                .prepare_cached(table.delete)?
                .execute(params_from_iter(key_columns(key)))?;
        }
        (before, Some(after)) => {
            let columns = columns_of_row(after);
            // An update of the body alone leaves the indexes in peace.
            let alone = before.is_some_and(|before| self::columns_of_row(before) == columns);
            let sql = if alone { table.set_body } else { table.insert };
            let kept = if alone { table.keys } else { columns.len() };
            let values = std::iter::once(Value::Text(body_of_row(after)))
                .chain(columns.into_iter().take(kept));
            connection
                .prepare_cached(sql)?
                .execute(params_from_iter(values))?;
        }
    }
    if let Key::Memory(_) = key {
        index::update_index(connection, before, after)?;
    }
    update_dependencies(connection, before, after)
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
