//! What `verify` checks, for every store: the chain, the heads, and that the
//! rows of the views are the fold of the journal.
//!
//! A store feeds it what it holds, in the order in which it was stored. It
//! reads nothing itself.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use piton_core::id::StreamId;
use piton_core::journal::{CLOCK_JUMP, GENESIS, Hash, Record};
use piton_core::{Key, Row, Tables};

use crate::store::{Damage, StreamHead, VerifyReport};

/// The last event of a stream that was met.
#[derive(Clone, Copy)]
struct StreamEnd {
    count: u64,
    /// None when it could not be read: then the next one cannot be judged by it.
    hash: Option<Hash>,
    time: Timestamp,
}

const START: StreamEnd = StreamEnd {
    count: 0,
    hash: Some(GENESIS),
    time: Timestamp::MIN,
};

/// The check under way.
#[derive(Default)]
pub(crate) struct Audit {
    verdict: VerifyReport,
    fold: Tables,
    ends: BTreeMap<StreamId, StreamEnd>,
    seen: BTreeSet<Key>,
    /// Events whose meaning is not known: the rows cannot be judged then.
    unknown: u64,
}

impl Audit {
    /// Notes that something is wrong.
    pub(crate) fn report_damage(&mut self, place: impl Into<String>, what: impl Into<String>) {
        self.verdict.damage.push(Damage {
            place: place.into(),
            position: None,
            kind: None,
            what: what.into(),
        });
    }

    fn report_damage_at(&mut self, record: &Record, what: impl Into<String>) {
        self.verdict.damage.push(Damage {
            place: record.stream.to_string(),
            position: Some(record.stamp.position),
            kind: Some(record.kind.clone()),
            what: what.into(),
        });
    }

    /// Takes the next event in the order in which they were stored.
    pub(crate) fn check_record(&mut self, record: &Record) {
        self.verdict.events += 1;
        let before = self.ends.get(&record.stream).copied().unwrap_or(START);
        let position = record.stamp.position;
        let mut whole = true;
        if position != before.count + 1 {
            whole = false;
            self.report_damage_at(record, describe_gap(before.count, position));
        } else if before
            .hash
            .is_some_and(|before| record.compute_hash(&before) != record.hash)
        {
            whole = false;
            self.report_damage_at(
                record,
                "is not what its hash was made of, or does not follow the event before it",
            );
        }
        let behind = before.time.duration_since(record.stamp.time);
        if behind.is_positive() && behind <= CLOCK_JUMP {
            whole = false;
            self.report_damage_at(
                record,
                format!("is older than the event before it ({})", before.time),
            );
        }
        let end = StreamEnd {
            count: position,
            hash: Some(record.hash),
            time: record.stamp.time,
        };
        self.ends.insert(record.stream.clone(), end);
        if record.is_tombstone() {
            self.verdict.tombstones += 1;
            return;
        }
        match record.decode_event() {
            Ok(event) => self.fold.fold(&event, &record.stamp),
            Err(error) => {
                self.unknown += 1;
                if whole {
                    // The hash fits: it is not damaged, a newer piton wrote it.
                    let what = format!(
                        "is whole, but of a kind that this piton does not know (version {})",
                        record.version
                    );
                    self.report_damage_at(record, what);
                } else if let Some(source) = std::error::Error::source(&error) {
                    self.report_damage_at(record, format!("cannot be read: {source}"));
                }
            }
        }
    }

    /// Notes that an event is there and cannot be read at all. Its place is
    /// the name of its stream, if that is known.
    pub(crate) fn report_unreadable(&mut self, damage: Damage) {
        self.unknown += 1;
        if let Some(position) = damage.position {
            let end = self
                .ends
                .entry(StreamId::from_stored(damage.place.clone()))
                .or_insert(START);
            *end = StreamEnd {
                count: position,
                hash: None,
                ..*end
            };
        }
        self.verdict.damage.push(damage);
    }

    /// Compares the heads that are kept with the ends that were found.
    pub(crate) fn check_heads(&mut self, heads: &[StreamHead]) {
        self.verdict.streams = heads.len() as u64;
        for head in heads {
            let end = self.ends.remove(&head.stream).unwrap_or(START);
            let place = head.stream.to_string();
            if end.count < head.count {
                let missing = head.count - end.count;
                self.report_damage(
                    place,
                    format!("the last {missing} of {} events are missing", head.count),
                );
            } else if end.count > head.count {
                let more = end.count - head.count;
                self.report_damage(
                    place,
                    format!(
                        "{more} events more than the {} that its head counts",
                        head.count
                    ),
                );
            } else if let Some(found) = end.hash.filter(|found| *found != head.hash) {
                self.report_damage(
                    place,
                    format!(
                        "its head names another last event ({} instead of {})",
                        short_hash(&head.hash),
                        short_hash(&found)
                    ),
                );
            } else if end.hash.is_some() && end.time != head.time {
                self.report_damage(place, "its head names another time than its last event");
            }
        }
        for stream in std::mem::take(&mut self.ends).into_keys() {
            self.report_damage(stream.to_string(), "its head is missing");
        }
        // What follows is about views.
        self.verdict.journal_damage = self.verdict.damage.len();
    }

    /// Whether rows can be compared: not when the meaning of an event is unknown.
    pub(crate) fn can_judge_rows(&self) -> bool {
        self.unknown == 0
    }

    /// Compares one row of a view with the fold.
    pub(crate) fn check_row(&mut self, row: &Row) {
        self.verdict.rows += 1;
        let key = row.key();
        if self.can_judge_rows() {
            match self.fold.get(&key) {
                Some(folded) if folded == row => {}
                Some(_) => self.report_damage(
                    table_name_of_key(&key),
                    format!(
                        "the row of {} is not what the journal says",
                        describe_key(&key)
                    ),
                ),
                None => self.report_damage(
                    table_name_of_key(&key),
                    format!(
                        "the row of {} is nowhere in the journal",
                        describe_key(&key)
                    ),
                ),
            }
        }
        if !self.seen.insert(key.clone()) {
            self.report_damage(
                table_name_of_key(&key),
                format!("the row of {} is there twice", describe_key(&key)),
            );
        }
    }

    /// Everything that was found.
    pub(crate) fn finish(mut self) -> VerifyReport {
        if self.can_judge_rows() {
            let missing: Vec<Key> = self
                .fold
                .iter()
                .map(|(key, _)| key)
                .filter(|key| !self.seen.contains(*key))
                .cloned()
                .collect();
            for key in missing {
                self.report_damage(
                    table_name_of_key(&key),
                    format!("the row of {} is missing", describe_key(&key)),
                );
            }
        } else {
            let unknown = self.unknown;
            self.report_damage("views", format!("cannot be compared with the journal: {unknown} of its events cannot be understood"));
        }
        self.verdict
    }
}

fn describe_gap(count: u64, position: u64) -> String {
    if position <= count {
        format!("comes after position {count}: it is there twice, or out of order")
    } else if position == count + 2 {
        format!("the event before it, {}, is missing", count + 1)
    } else {
        format!(
            "the events before it, {} to {}, are missing",
            count + 1,
            position - 1
        )
    }
}

/// The table that a row lies in.
pub(crate) fn table_name_of_key(key: &Key) -> &'static str {
    match key {
        Key::Run(_) => "runs",
        Key::Item(..) => "items",
        Key::Attempt(_) => "attempts",
        Key::Decision(_) => "decisions",
        Key::Entry(_) => "entries",
        Key::Blocker(..) => "blockers",
        Key::Memory(_) => "memory",
        Key::Name(..) => "names",
        Key::Face(_) => "faces",
    }
}

/// A row in words.
pub(crate) fn describe_key(key: &Key) -> String {
    match key {
        Key::Run(run) => format!("run {run}"),
        Key::Item(run, node) => format!("item {run}:{node}"),
        Key::Attempt(attempt) => format!("attempt {attempt}"),
        Key::Decision(decision) => format!("decision {decision}"),
        Key::Entry(position) => format!("entry {position}"),
        Key::Blocker(spec, task) => {
            format!(
                "task `{}` of spec `{}`",
                task.as_deref().unwrap_or("-"),
                spec.as_deref().unwrap_or("-")
            )
        }
        Key::Memory(id) => format!("memory {id}"),
        Key::Name(space, name) => format!("name {name} of {space}"),
        Key::Face(path) => format!("face {path}"),
    }
}

fn short_hash(hash: &Hash) -> String {
    hash.iter()
        .take(6)
        .map(|byte| format!("{byte:02x}"))
        .collect()
}
