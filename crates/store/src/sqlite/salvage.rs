//! Reading a damaged journal: event by event, so that what cannot be read hides
//! nothing else.
//!
//! First each stream by its positions, through the index, which says of an event whose
//! page is damaged which one it is. Then, by their sequence numbers, the events to which
//! the index no longer leads.
//!
//! Counts, positions and numbers may be damaged themselves, and as great as a number can
//! be: nothing is looked up more often than the file has room for events.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::ops::ControlFlow;

use piton_core::id::StreamId;
use piton_core::journal::Record;
use rusqlite::{Connection, OptionalExtension, Result, Row, params};

use super::fault::read_twice;
use super::journal::{bound_of_seq, parse_record, record_columns, sum_counts};
use super::rows::to_sqlite_integer;
use crate::store::UnreadableEvent;

/// The column after those of [`record_columns`].
const SEQ_COLUMN: usize = 12;
/// The column after that: the number of the stream.
const STREAM_COLUMN: usize = 13;

const AT_POSITION: &str = concat!(
    "SELECT ",
    record_columns!(),
    ", seq FROM events WHERE stream = ?1 AND position = ?2"
);
const AT_SEQ: &str = concat!(
    "SELECT ",
    record_columns!(),
    ", seq, stream FROM events WHERE seq = ?1"
);
/// Answered by the index alone.
const SEQ_AT_POSITION: &str = "SELECT seq FROM events WHERE stream = ?1 AND position = ?2";
/// The same for the event that is next in its stream.
const POSITION_AFTER: &str =
    "SELECT position FROM events WHERE stream = ?1 AND position > ?2 ORDER BY position LIMIT 1";
/// Answered by the index of names alone.
const NAMES: &str = "SELECT id, name FROM streams ORDER BY name";
const COUNT: &str = "SELECT count FROM streams WHERE id = ?1";
const SEQ_AFTER: &str = "SELECT seq FROM events WHERE seq > ?1 ORDER BY seq LIMIT 1";

/// An event, or what is known of one that cannot be read.
type Salvaged = std::result::Result<Record, UnreadableEvent>;

/// Hands on every event that can be read, in the order in which they were stored, and says
/// which cannot be; those to which no index leads come last.
pub(super) fn salvage_events(
    connection: &Connection,
    each: &mut dyn FnMut(Salvaged) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let mut salvage = Salvage::new(connection);
    for nth in 0..salvage.streams.len() {
        salvage.advance(nth);
    }
    while let Some(Reverse((_, nth))) = salvage.next.pop() {
        let event = salvage.streams[nth].waiting.take();
        salvage.advance(nth);
        event.map_or(ControlFlow::Continue(()), &mut *each)?;
    }
    salvage.read_unindexed(each)
}

struct SalvagedStream {
    id: i64,
    name: StreamId,
    /// As its head says; none where that cannot be read.
    count: Option<u64>,
    /// The position that was read last.
    position: u64,
    /// The event there.
    waiting: Option<Salvaged>,
}

struct Salvage<'c> {
    connection: &'c Connection,
    /// In the order of their names.
    streams: Vec<SalvagedStream>,
    /// The event that waits of each stream: its sequence number, the stream's index.
    next: BinaryHeap<Reverse<(i64, usize)>>,
    /// The sequence numbers that were met.
    met: BTreeSet<i64>,
    /// The events to which the index does not lead, and why.
    missing: BTreeMap<(usize, u64), String>,
    /// The same where a stream lacks more than was ever stored: its index, the first and
    /// the last position.
    gaps: BTreeSet<(usize, u64, u64)>,
    /// The greatest number that an event can have, and so the greatest position.
    bound: u64,
}

impl<'c> Salvage<'c> {
    fn new(connection: &'c Connection) -> Self {
        let streams = read_streams(connection);
        let counted = sum_counts(streams.iter().filter_map(|stream| stream.count));
        Self {
            connection,
            bound: bound_of_seq(connection, counted),
            gaps: BTreeSet::new(),
            streams,
            next: BinaryHeap::new(),
            met: BTreeSet::new(),
            missing: BTreeMap::new(),
        }
    }

    /// Reads the next event of a stream to which the index leads.
    fn advance(&mut self, nth: usize) {
        loop {
            let stream = &mut self.streams[nth];
            stream.position += 1;
            let (id, position, count) = (stream.id, stream.position, stream.count.unwrap_or(0));
            let next = match self.seq_at(id, position) {
                Ok(Some(seq)) => return self.read_next(nth, seq),
                Ok(None) => self.position_after(id, position),
                Err(error) => Err(error),
            };
            match next {
                Ok(Some(next)) => {
                    self.note_gap(nth, position, next - 1);
                    self.streams[nth].position = next - 1;
                }
                Ok(None) => return self.note_gap(nth, position, count),
                // Where the count is not known, the first one that is not found is the end.
                Err(_) if position > count.min(self.bound) => {
                    return self.note_gap(nth, position, count);
                }
                Err(error) => drop(self.missing.insert((nth, position), error.to_string())),
            }
        }
    }

    /// Notes that a stream lacks these events: one by one, as long as they can be there.
    fn note_gap(&mut self, nth: usize, from: u64, to: u64) {
        if from > to {
            return;
        }
        if to > self.bound {
            self.gaps.insert((nth, from, to));
            return;
        }
        let why = "it is not where its stream has it";
        let lacks = (from..=to).map(|position| ((nth, position), why.to_owned()));
        self.missing.extend(lacks);
    }

    fn read_next(&mut self, nth: usize, seq: i64) {
        self.met.insert(seq);
        let event = self.read_indexed(nth, seq);
        self.streams[nth].waiting = Some(event);
        self.next.push(Reverse((seq, nth)));
    }

    fn seq_at(&self, stream: i64, position: u64) -> Result<Option<i64>> {
        // There is none behind the greatest number.
        let Ok(position) = i64::try_from(position) else {
            return Ok(None);
        };
        read_twice(|| {
            let mut statement = self.connection.prepare_cached(SEQ_AT_POSITION)?;
            let seq = statement.query_row(params![stream, position], |row| row.get(0));
            seq.optional()
        })
    }

    fn position_after(&self, stream: i64, position: u64) -> Result<Option<u64>> {
        let next = read_twice(|| {
            let mut statement = self.connection.prepare_cached(POSITION_AFTER)?;
            let after = params![stream, to_sqlite_integer(position)];
            let next = statement.query_row(after, |row| row.get::<_, i64>(0));
            next.optional()
        });
        let next = next?.map(i64::cast_unsigned);
        // A damaged index can lead back, and so round and round.
        Ok(next.filter(|next| *next > position))
    }

    fn read_indexed(&self, nth: usize, seq: i64) -> Salvaged {
        let stream = &self.streams[nth];
        let read = |row: &Row<'_>| Ok(read_event(&stream.name, row));
        let position = to_sqlite_integer(stream.position);
        let found = read_twice(|| {
            let mut found = self.connection.prepare_cached(AT_POSITION)?;
            found.query_row(params![stream.id, position], read)
        });
        found.unwrap_or_else(|error| {
            Err(UnreadableEvent {
                seq: Some(seq.cast_unsigned()),
                stream: Some(stream.name.clone()),
                position: Some(stream.position),
                ..UnreadableEvent::unknown(error.to_string())
            })
        })
    }

    /// Reads the events by their sequence numbers that were not met yet.
    fn read_unindexed(&self, each: &mut dyn FnMut(Salvaged) -> ControlFlow<()>) -> ControlFlow<()> {
        let (mut missing, mut lost) = (self.missing.clone(), Vec::new());
        let mut seq = 0;
        while let Some(next) = self.seq_after(seq) {
            seq = next;
            if self.met.contains(&seq) {
                continue;
            }
            let found = read_twice(|| {
                let mut found = self.connection.prepare_cached(AT_SEQ)?;
                let event = found.query_row([seq], |row| Ok(self.read_unnamed(row)));
                event.optional()
            });
            match found {
                Ok(None) => {}
                Ok(Some((at, event))) => {
                    at.map(|at| missing.remove(&at));
                    each(event)?;
                }
                Err(error) => lost.push(UnreadableEvent {
                    seq: Some(seq.cast_unsigned()),
                    ..UnreadableEvent::unknown(error.to_string())
                }),
            }
        }
        // They are the same events, as far as their streams are known.
        lost.drain(..missing.len().min(lost.len()));
        let missing = missing
            .into_iter()
            .map(|((nth, position), why)| self.missing_event(nth, position, why));
        let gaps = self.gaps.iter().map(|(nth, from, to)| {
            let what = format!("events {from} to {to} are missing");
            self.missing_event(*nth, *from, what)
        });
        missing.chain(gaps).chain(lost).map(Err).try_for_each(each)
    }

    fn missing_event(&self, nth: usize, position: u64, what: String) -> UnreadableEvent {
        UnreadableEvent {
            stream: Some(self.streams[nth].name.clone()),
            position: Some(position),
            ..UnreadableEvent::unknown(what)
        }
    }

    /// The next sequence number at which there may be an event.
    fn seq_after(&self, seq: i64) -> Option<i64> {
        let next = read_twice(|| {
            let mut statement = self.connection.prepare_cached(SEQ_AFTER)?;
            let next = statement.query_row([seq], |row| row.get(0));
            next.optional()
        });
        match next {
            Ok(Some(next)) if next > seq => Some(next),
            Ok(None) => None,
            // Behind what cannot be read, or leads back, there may be more.
            Ok(Some(_)) | Err(_) => {
                let next = seq.checked_add(1)?;
                (next.unsigned_abs() <= self.bound).then_some(next)
            }
        }
    }

    /// An event that was found by its sequence number, and where its stream has it.
    fn read_unnamed(&self, row: &Row<'_>) -> (Option<(usize, u64)>, Salvaged) {
        let id = row.get::<_, i64>(STREAM_COLUMN).ok();
        let nth = id.and_then(|id| self.streams.iter().position(|stream| stream.id == id));
        let Some(nth) = nth else {
            let unknown = UnreadableEvent {
                seq: unsigned(row, SEQ_COLUMN),
                position: unsigned(row, 0),
                kind: row.get(4).ok(),
                version: row.get(5).ok(),
                ..UnreadableEvent::unknown("the stream to which it belongs is not known".to_owned())
            };
            return (None, Err(unknown));
        };
        let at = unsigned(row, 0).map(|position| (nth, position));
        (at, read_event(&self.streams[nth].name, row))
    }
}

/// The streams, as far as they can be read.
fn read_streams(connection: &Connection) -> Vec<SalvagedStream> {
    let mut streams = Vec::new();
    let read = || -> Result<()> {
        streams.clear();
        let mut names = connection.prepare(NAMES)?;
        let mut rows = names.query([])?;
        while let Some(row) = rows.next()? {
            let id: i64 = row.get(0)?;
            let count =
                read_twice(|| connection.query_row(COUNT, [id], |row| Ok(unsigned(row, 0))));
            streams.push(SalvagedStream {
                id,
                name: StreamId::from_stored(row.get::<_, String>(1)?),
                count: count.ok().flatten(),
                position: 0,
                waiting: None,
            });
        }
        Ok(())
    };
    // Of a stream that is missing here, the events are named one by one.
    read_twice(read).ok();
    streams
}

fn read_event(stream: &StreamId, row: &Row<'_>) -> Salvaged {
    parse_record(stream.clone(), row).map_err(|error| UnreadableEvent {
        seq: unsigned(row, SEQ_COLUMN),
        stream: Some(stream.clone()),
        position: unsigned(row, 0),
        kind: row.get(4).ok(),
        version: row.get(5).ok(),
        what: error.to_string(),
    })
}

fn unsigned(row: &Row<'_>, column: usize) -> Option<u64> {
    u64::try_from(row.get::<_, i64>(column).ok()?).ok()
}
