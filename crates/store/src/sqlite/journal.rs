//! Events and heads, as rows and back.

use std::collections::BTreeMap;

use jiff::Timestamp;
use piton_core::Actor;
use piton_core::checkout::Checkout;
use piton_core::id::{CommandId, EventId, StreamId, WriterId};
use piton_core::journal::{BodyRemoval, EventStamp, Hash, HashForm, Record, RecordBody};
use rusqlite::types::{FromSqlError, Value};
use rusqlite::{Connection, OptionalExtension, Result, Row, params};
use uuid::Uuid;

use super::fault::read_twice;
use super::rows::{insert_rows, to_sqlite_integer};
use crate::store::{Cursor, StreamHead, search_event_before};

/// What a statement selects for [`parse_record`], of `events` and of `streams` as `s`.
macro_rules! record_columns {
    () => {
        "events.position, events.id, events.time, actor, kind, version, body, command, events.hash, \
         form, writer, body_hash"
    };
}

pub(super) use record_columns;

/// The column after those of [`record_columns`]: the name of the stream.
pub(super) const NAME_COLUMN: usize = 12;
/// The column after that: the sequence number.
pub(super) const SEQ_COLUMN: usize = 13;

/// The number of a stream, and its head.
pub(super) fn find_head(
    connection: &Connection,
    stream: &StreamId,
) -> Result<Option<(i64, StreamHead)>> {
    let mut statement =
        connection.prepare_cached("SELECT id, count, hash, time FROM streams WHERE name = ?1")?;
    statement
        .query_row([stream.as_str()], |row| {
            Ok((row.get(0)?, parse_head(stream.clone(), row)?))
        })
        .optional()
}

pub(super) fn parse_head(stream: StreamId, row: &Row<'_>) -> Result<StreamHead> {
    Ok(StreamHead {
        stream,
        count: unsigned_column(row, 1)?,
        hash: row.get(2)?,
        time: time_column(row, 3)?,
    })
}

/// All heads, by name.
pub(super) fn read_heads(connection: &Connection) -> Result<Vec<(i64, StreamHead)>> {
    let mut statement = connection
        .prepare_cached("SELECT id, count, hash, time, name FROM streams ORDER BY name")?;
    let heads = statement.query_map([], |row| {
        Ok((
            row.get(0)?,
            parse_head(StreamId::from_stored(row.get::<_, String>(4)?), row)?,
        ))
    })?;
    heads.collect()
}

/// How many events a stream has.
pub(super) fn count_events(connection: &Connection, stream: &StreamId) -> Result<u64> {
    let mut statement = connection.prepare_cached("SELECT count FROM streams WHERE name = ?1")?;
    let count = statement
        .query_row([stream.as_str()], |row| unsigned_column(row, 0))
        .optional()?;
    Ok(count.unwrap_or(0))
}

/// How many events, streams, runs and entries there are.
pub(super) fn count_contents(connection: &Connection) -> Result<[u64; 4]> {
    let sql = "SELECT (SELECT ifnull(sum(count), 0) FROM streams), (SELECT count(*) FROM streams), \
               (SELECT count(*) FROM runs), (SELECT count(*) FROM entries)";
    connection.query_row(sql, [], |row| {
        let count = |column| unsigned_column(row, column);
        Ok([count(0)?, count(1)?, count(2)?, count(3)?])
    })
}

/// Stores a head, and gives its number.
pub(super) fn upsert_head(
    connection: &Connection,
    id: Option<i64>,
    head: &StreamHead,
) -> Result<i64> {
    let (count, time) = (to_sqlite_integer(head.count), head.time.as_microsecond());
    match id {
        Some(id) => {
            let mut update = connection.prepare_cached(
                "UPDATE streams SET count = ?2, hash = ?3, time = ?4 WHERE id = ?1",
            )?;
            update.execute(params![id, count, head.hash, time])?;
            Ok(id)
        }
        None => {
            let mut insert = connection.prepare_cached(
                "INSERT INTO streams (name, count, hash, time) VALUES (?1, ?2, ?3, ?4)",
            )?;
            insert.insert(params![head.stream.as_str(), count, head.hash, time])
        }
    }
}

/// Appends events, each beside the number of its stream, in their order.
pub(super) fn append_events<'r>(
    connection: &Connection,
    events: impl Iterator<Item = (i64, &'r Record)>,
) -> Result<()> {
    let sql = "INSERT INTO events (stream, position, id, time, actor, kind, version, body, command, hash, \
               form, writer, body_hash) VALUES ";
    let rows: Vec<Vec<Value>> = events
        .map(|(stream, record)| {
            let (form, writer) = match record.form {
                HashForm::One => (1, Value::Null),
                HashForm::Two(writer) => (2, Value::Blob(writer.0.as_bytes().to_vec())),
            };
            let (body, body_hash) = match &record.body {
                RecordBody::Text(text) => (text.clone(), Value::Null),
                RecordBody::Tombstone(hash) => (String::new(), Value::Blob(hash.to_vec())),
            };
            vec![
                stream.into(),
                to_sqlite_integer(record.stamp.position).into(),
                Value::Blob(record.stamp.id.0.as_bytes().to_vec()),
                record.stamp.time.as_microsecond().into(),
                record.stamp.actor.to_string().into(),
                record.kind.clone().into(),
                record.version.into(),
                body.into(),
                Value::Blob(record.command.0.as_bytes().to_vec()),
                Value::Blob(record.hash.to_vec()),
                form.into(),
                writer,
                body_hash,
            ]
        })
        .collect();
    insert_rows(connection, sql, "", &rows)
}

/// Empties the body of an event, and leaves its hash. The pages that held it are
/// overwritten.
pub(super) fn remove_body(
    connection: &Connection,
    stream: &StreamId,
    position: u64,
) -> Result<BodyRemoval> {
    let Some((id, _)) = find_head(connection, stream)? else {
        return Ok(BodyRemoval::NoSuchEvent);
    };
    let Some(record) = read_stream(connection, stream, position.saturating_sub(1), 1)?
        .into_iter()
        .find(|record| record.stamp.position == position)
    else {
        return Ok(BodyRemoval::NoSuchEvent);
    };
    match record.without_body() {
        Err(refused) => Ok(refused),
        Ok(tombstone) => {
            let sql =
                "UPDATE events SET body = '', body_hash = ?3 WHERE stream = ?1 AND position = ?2";
            let position = to_sqlite_integer(position);
            connection.execute(sql, params![id, position, tombstone.body.compute_hash()])?;
            Ok(BodyRemoval::Removed)
        }
    }
}

/// Reads the columns of [`record_columns`].
pub(super) fn parse_record(stream: StreamId, row: &Row<'_>) -> Result<Record> {
    let actor = row.get_ref(3)?.as_str()?;
    let parsed = Actor::parse(actor);
    if parsed.to_string() != actor {
        return Err(FromSqlError::InvalidType.into());
    }
    let form = parse_form(row)?;
    let body = parse_record_body(row, form)?;
    Ok(Record {
        stream,
        stamp: EventStamp {
            id: EventId(uuid_column(row, 1)?),
            position: unsigned_column(row, 0)?,
            time: time_column(row, 2)?,
            actor: parsed,
            checkout: body.as_text().and_then(Checkout::parse_stored_body),
        },
        kind: row.get(4)?,
        version: row.get(5)?,
        body,
        command: CommandId(uuid_column(row, 7)?),
        hash: row.get(8)?,
        form,
    })
}

fn parse_form(row: &Row<'_>) -> Result<HashForm> {
    match (row.get::<_, i64>(9)?, row.get::<_, Option<[u8; 16]>>(10)?) {
        (1, None) => Ok(HashForm::One),
        (2, Some(writer)) => Ok(HashForm::Two(WriterId(Uuid::from_bytes(writer)))),
        (form, _) => Err(FromSqlError::OutOfRange(form).into()),
    }
}

fn parse_record_body(row: &Row<'_>, form: HashForm) -> Result<RecordBody> {
    let text: String = row.get(6)?;
    match (row.get::<_, Option<Hash>>(11)?, form) {
        (None, HashForm::One | HashForm::Two(_)) => Ok(RecordBody::Text(text)),
        (Some(hash), HashForm::Two(_)) if text.is_empty() => Ok(RecordBody::Tombstone(hash)),
        (Some(_), HashForm::One | HashForm::Two(_)) => Err(FromSqlError::InvalidType.into()),
    }
}

pub(super) fn uuid_column(row: &Row<'_>, column: usize) -> Result<Uuid> {
    Ok(Uuid::from_bytes(row.get(column)?))
}

fn unsigned_column(row: &Row<'_>, column: usize) -> Result<u64> {
    let value: i64 = row.get(column)?;
    u64::try_from(value).map_err(|error| FromSqlError::other(error).into())
}

fn time_column(row: &Row<'_>, column: usize) -> Result<Timestamp> {
    Timestamp::from_microsecond(row.get(column)?).map_err(|error| FromSqlError::other(error).into())
}

/// The events of a command; of `+?` see `load::LAST_OF_KIND`.
pub(super) const OF_COMMAND: &str = concat!(
    "SELECT ",
    record_columns!(),
    ", name FROM events JOIN streams ON streams.id = stream WHERE command = +?1 ORDER BY seq"
);

/// The events that a command caused, in the order in which they were stored.
pub(super) fn events_of_command(
    connection: &Connection,
    command: CommandId,
) -> Result<Vec<Record>> {
    let mut statement = connection.prepare_cached(OF_COMMAND)?;
    let records = statement.query_map([command.0.as_bytes().as_slice()], |row| {
        parse_record(
            StreamId::from_stored(row.get::<_, String>(NAME_COLUMN)?),
            row,
        )
    })?;
    records.collect()
}

/// The events of a stream after a position; of `+?` see `load::LAST_OF_KIND`.
pub(super) const STREAM: &str = concat!(
    "SELECT ",
    record_columns!(),
    " FROM events WHERE stream = +?1 AND position > ?2 ORDER BY position LIMIT 0 + ?3"
);

/// Up to `limit` events of one stream after a position.
pub(super) fn read_stream(
    connection: &Connection,
    stream: &StreamId,
    after: u64,
    limit: usize,
) -> Result<Vec<Record>> {
    let Some((id, _)) = find_head(connection, stream)? else {
        return Ok(Vec::new());
    };
    let mut statement = connection.prepare_cached(STREAM)?;
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let records = statement.query_map(params![id, to_sqlite_integer(after), limit], |row| {
        parse_record(stream.clone(), row)
    })?;
    records.collect()
}

/// Every event in the order in which it was stored, with its sequence number.
pub(super) const ALL: &str = concat!(
    "SELECT ",
    record_columns!(),
    ", name, seq FROM events LEFT JOIN streams ON streams.id = stream ORDER BY seq"
);

/// The event of one sequence number.
pub(super) const AT: &str = concat!(
    "SELECT ",
    record_columns!(),
    ", name, seq FROM events LEFT JOIN streams ON streams.id = stream WHERE seq = ?1"
);

/// The events of all streams after a sequence number.
const AFTER: &str = concat!(
    "SELECT ",
    record_columns!(),
    ", stream FROM events WHERE seq > ?1 ORDER BY seq LIMIT 0 + ?2"
);
/// The column after those of [`record_columns`]: the number of the stream.
const STREAM_COLUMN: usize = 12;

/// Up to `limit` events of all streams after one of them, in the order in which they were
/// stored.
pub(super) fn read_events_after(
    connection: &Connection,
    after: Option<&Cursor>,
    limit: usize,
) -> Result<Vec<Record>> {
    let heads: BTreeMap<i64, StreamHead> = read_heads(connection)?.into_iter().collect();
    let after = after.map_or(Ok(0), |after| seq_of_event(connection, after))?;
    let mut statement = connection.prepare_cached(AFTER)?;
    let bound = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut rows = statement.query([after, bound])?;
    let mut records = Vec::new();
    while let Some(row) = rows.next()? {
        let Some(head) = heads.get(&row.get(STREAM_COLUMN)?) else {
            return Err(damage_error("an event belongs to no stream".to_owned()));
        };
        let record = parse_record(head.stream.clone(), row)?;
        let position = record.stamp.position;
        if position > head.count {
            let what = format!("event {position} of {} is not counted", head.stream);
            return Err(damage_error(what));
        }
        records.push(record);
    }
    if records.len() < limit {
        check_event_count(connection, &heads)?;
    }
    Ok(records)
}

fn seq_of_event(connection: &Connection, event: &Cursor) -> Result<i64> {
    let sql = "SELECT seq FROM events WHERE position = ?2 \
               AND stream = (SELECT id FROM streams WHERE name = ?1)";
    let mut statement = connection.prepare_cached(sql)?;
    let at = params![event.stream.as_str(), to_sqlite_integer(event.position)];
    let seq = statement.query_row(at, |row| row.get(0)).optional()?;
    let missing = || format!("event {} of {} is missing", event.position, event.stream);
    seq.ok_or_else(|| damage_error(missing()))
}

/// Behind which event those of a time lie, see [`crate::Store::find_event_before`].
pub(super) fn find_event_before(
    connection: &Connection,
    time: Timestamp,
) -> Result<Option<Cursor>> {
    let sql = "SELECT events.time, position, name FROM events JOIN streams ON streams.id = stream \
               ORDER BY seq DESC";
    let mut statement = connection.prepare_cached(sql)?;
    let newest_first = statement.query_map([], |row| {
        let stream = StreamId::from_stored(row.get::<_, String>(2)?);
        let position = unsigned_column(row, 1)?;
        Ok((time_column(row, 0)?, Cursor { stream, position }))
    })?;
    search_event_before(newest_first, time)
}

/// An error where there are events that no head counts: no stream leads to them.
fn check_event_count(connection: &Connection, heads: &BTreeMap<i64, StreamHead>) -> Result<()> {
    let counted = sum_counts(heads.values().map(|head| head.count));
    let mut statement = connection.prepare_cached("SELECT count(*) FROM events")?;
    let stored = statement.query_row([], |row| unsigned_column(row, 0))?;
    if stored == counted {
        return Ok(());
    }
    Err(damage_error(format!(
        "{stored} events are stored, and the heads of streams count {counted}"
    )))
}

/// All events, as heads count them: one that is damaged may count any number.
pub(super) fn sum_counts(counts: impl Iterator<Item = u64>) -> u64 {
    counts.fold(0, u64::saturating_add)
}

/// The greatest sequence number that an event can have.
///
/// A damaged number may be any: what is looked up one by one is bounded by how many
/// events the file has room for.
pub(super) fn bound_of_seq(connection: &Connection, counted: u64) -> u64 {
    /// The hash, the ids and the texts of an event take more than that.
    const EVENT_BYTES_MIN: u64 = 64;
    let number = |sql: &str| {
        let value =
            read_twice(|| connection.query_row(sql, [], |row| row.get::<_, Option<i64>>(0)));
        let value = value.ok().map(Option::unwrap_or_default);
        value.and_then(|value| u64::try_from(value).ok())
    };
    let pages = number("PRAGMA page_count").unwrap_or_default();
    let room = pages.saturating_mul(number("PRAGMA page_size").unwrap_or_default());
    let last = number("SELECT max(seq) FROM events").unwrap_or(counted);
    last.min(room / EVENT_BYTES_MIN)
}

fn damage_error(what: String) -> rusqlite::Error {
    FromSqlError::other(std::io::Error::other(what)).into()
}
