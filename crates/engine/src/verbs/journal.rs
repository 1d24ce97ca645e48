//! `piton journal`: what is stored, as it is stored.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use jiff::{SignedDuration, Timestamp};
use piton_core::StreamId;
use piton_core::amount::parse_duration;
use piton_core::journal::{GENESIS, Hash, HashForm, Record};
use piton_store::{Cursor, FaultKind, Store, StoreFault, StoreInfo, StreamHead};
pub use piton_store::{UnreadableEvent, VerifyReport};
use serde::Serialize;

use crate::failure::Failure;
use crate::session::Session;
use crate::verbs::item_view::ItemView;
use crate::world::World;

/// How many events are read at once.
const PAGE: usize = 1_000;

/// An event, as shown and exported. One JSON object a line.
#[derive(Clone, Debug, Serialize)]
pub struct EventView {
    /// Its id.
    pub id: String,
    /// Its stream.
    pub stream: String,
    /// Its position in the stream, from 1.
    pub position: u64,
    /// When it was stored.
    pub time: Timestamp,
    /// Who caused it.
    pub actor: String,
    /// What kind it is.
    pub kind: String,
    /// The version of the body's shape.
    pub version: u32,
    /// What it says; null where that was removed.
    pub body: serde_json::Value,
    /// The hash of a body that was removed, in hex.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body_hash: Option<String>,
    /// The command that caused it.
    pub command: String,
    /// The store that wrote it, where that is part of the hash (form 2).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub writer: Option<String>,
    /// Its hash, in hex.
    pub hash: String,
    /// The item that it is about, as it stands now; only while a run is worked on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub item: Option<ItemView>,
}

crate::name_schema!(EventView, "piton.event/1");

impl From<&Record> for EventView {
    fn from(record: &Record) -> Self {
        Self {
            id: record.stamp.id.to_string(),
            stream: record.stream.to_string(),
            position: record.stamp.position,
            time: record.stamp.time,
            actor: record.stamp.actor.to_string(),
            kind: record.kind.clone(),
            version: record.version,
            // A body that is damaged is shown as the text that it is.
            body: match record.body.as_text() {
                Some(text) => serde_json::from_str(text).unwrap_or_else(|_| text.into()),
                None => serde_json::Value::Null,
            },
            body_hash: (record.is_tombstone()).then(|| format_hash(&record.body.compute_hash())),
            command: record.command.to_string(),
            writer: match record.form {
                HashForm::One => None,
                HashForm::Two(writer) => Some(writer.to_string()),
            },
            hash: format_hash(&record.hash),
            item: None,
        }
    }
}

fn format_hash(hash: &Hash) -> String {
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}

crate::name_schema!(UnreadableEvent, "piton.journal.unreadable/1");
crate::name_schema!(VerifyReport, "piton.journal.verify/1");

/// From where the journal is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JournalStart {
    /// This time.
    Time(Timestamp),
    /// The event of this id.
    Event(uuid::Uuid),
}

/// Reads `TIME|DURATION|ID`.
///
/// # Errors
///
/// When it is none of these.
pub fn parse_since(world: &World, text: &str) -> Result<JournalStart, Failure> {
    if let Ok(id) = uuid::Uuid::parse_str(text) {
        return Ok(JournalStart::Event(id));
    }
    if let Ok(seconds) = parse_duration(text) {
        let back = SignedDuration::from_secs(i64::try_from(seconds).unwrap_or(i64::MAX / 4));
        return Ok(JournalStart::Time(
            world.now().checked_sub(back).unwrap_or(Timestamp::MIN),
        ));
    }
    if let Ok(time) = text.parse::<Timestamp>() {
        return Ok(JournalStart::Time(time));
    }
    if let Ok(of_day) = text.parse::<jiff::civil::Time>() {
        return Ok(JournalStart::Time(last_time_of_day(world.now(), of_day)));
    }
    let local = text.parse::<jiff::civil::DateTime>().or_else(|_| {
        text.parse::<jiff::civil::Date>()
            .map(|date| date.at(0, 0, 0, 0))
    });
    match local.map(|local| local.to_zoned(jiff::tz::TimeZone::system())) {
        Ok(Ok(zoned)) => Ok(JournalStart::Time(zoned.timestamp())),
        Ok(Err(_)) | Err(_) => Err(Failure::new(
            "usage",
            format!("`{text}` is neither a time, nor a duration, nor the id of an event"),
        )
        .with_hint(
            "for example `--since 2h`, `--since 20:00`, `--since 2026-01-15` or `--since 2026-01-15T09:00:00Z`",
        )),
    }
}

/// The last time that the clock showed this: today's, or yesterday's where that is still to
/// come.
fn last_time_of_day(now: Timestamp, of_day: jiff::civil::Time) -> Timestamp {
    let now = now.to_zoned(jiff::tz::TimeZone::system());
    let at = |date: jiff::civil::Date| {
        let zoned = date.to_datetime(of_day).to_zoned(now.time_zone().clone());
        zoned.map_or(Timestamp::MIN, |zoned| zoned.timestamp())
    };
    match at(now.date()) {
        today if today <= now.timestamp() => today,
        _ => at(now.date().yesterday().unwrap_or(now.date())),
    }
}

/// What is handed on of the journal.
#[derive(Clone, Debug)]
pub enum JournalEntry {
    /// An event.
    Event(Box<EventView>),
    /// What is known of one that cannot be read, or whose body cannot be understood.
    Unreadable(UnreadableEvent),
}

/// Which part of the journal is handed on, and what came of it.
struct JournalRead<'e> {
    /// What is older is passed over.
    since: Timestamp,
    /// The last position of each stream that pages handed on: which events are read
    /// again event by event does not depend on their times, which may be damaged.
    handed_on: BTreeMap<StreamId, u64>,
    /// Beginning at this event.
    waiting_for: Option<uuid::Uuid>,
    unreadable: u64,
    /// Of each stream the last event that was met: its position and its hash.
    heads: BTreeMap<StreamId, (u64, Hash)>,
    /// Whether the first event that is met of a stream may be a later one.
    is_partial: bool,
    each: &'e mut dyn FnMut(JournalEntry) -> bool,
}

impl JournalRead<'_> {
    /// Hands one event on, if it is in the part that is wanted.
    fn hand_on(&mut self, record: &Record) -> ControlFlow<()> {
        let is_changed = self.is_changed(record);
        if record.stamp.time < self.since {
            return ControlFlow::Continue(());
        }
        if self.waiting_for.is_some_and(|id| record.stamp.id.0 != id) {
            return ControlFlow::Continue(());
        }
        self.waiting_for = None;
        let view = EventView::from(record);
        let is_no_json = view.body.is_string() && record.decode_event().is_err();
        self.emit(JournalEntry::Event(Box::new(view)))?;
        let what = match (is_no_json, is_changed) {
            (true, _) => "its body is not JSON, and is printed as text",
            (false, true) => "it is not what its hash was made of, and is printed as it is",
            (false, false) => return ControlFlow::Continue(()),
        };
        self.report_unreadable(UnreadableEvent {
            stream: Some(record.stream.clone()),
            position: Some(record.stamp.position),
            kind: Some(record.kind.clone()),
            version: Some(record.version),
            ..UnreadableEvent::unknown(what.to_owned())
        })
    }

    /// Whether an event does not fit its hash. One whose predecessor was not met, as
    /// the first of a stream behind a time, is taken for whole.
    fn is_changed(&mut self, record: &Record) -> bool {
        let position = record.stamp.position;
        let head = self
            .heads
            .insert(record.stream.clone(), (position, record.hash));
        let previous = match head {
            _ if position == 1 => Some(GENESIS),
            Some((before, hash)) if before + 1 == position => Some(hash),
            Some(_) | None => None,
        };
        previous.is_some_and(|previous| record.compute_hash(&previous) != record.hash)
    }

    fn report_unreadable(&mut self, event: UnreadableEvent) -> ControlFlow<()> {
        self.unreadable += 1;
        self.emit(JournalEntry::Unreadable(event))
    }

    fn emit(&mut self, entry: JournalEntry) -> ControlFlow<()> {
        if (self.each)(entry) {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    }

    /// Reads a journal page by page. Behind the last page that is whole, event by event.
    fn read(&mut self, store: &dyn Store) -> Result<ControlFlow<()>, Failure> {
        // What cannot be read of them is met by what reads next.
        let begin = store.stream_heads().unwrap_or_default();
        let mut cursor = match store.find_event_before(self.since) {
            Ok(cursor) => cursor,
            Err(fault) if fault.kind == FaultKind::Damaged => return self.salvage(store),
            Err(fault) => return Err(fault.into()),
        };
        self.is_partial = cursor.is_some();
        loop {
            let page = match store.read_journal(cursor.as_ref(), PAGE) {
                Ok(page) => page,
                Err(fault) if fault.kind == FaultKind::Damaged => return self.salvage(store),
                Err(fault) => return Err(fault.into()),
            };
            let Some(last) = page.last() else {
                if self.is_complete(&begin) {
                    return Ok(ControlFlow::Continue(()));
                }
                return self.salvage(store);
            };
            cursor = Some(Cursor::from(last));
            for record in &page {
                if !self.is_next(record) {
                    return self.salvage(store);
                }
                if self.hand_on(record).is_break() {
                    return Ok(ControlFlow::Break(()));
                }
                let position = record.stamp.position;
                self.handed_on.insert(record.stream.clone(), position);
            }
        }
    }

    /// Whether an event follows the one before it in its stream. A damaged index leads
    /// to another one.
    fn is_next(&self, record: &Record) -> bool {
        match self.heads.get(&record.stream) {
            Some((before, _)) => record.stamp.position == before + 1,
            None => self.is_partial || record.stamp.position == 1,
        }
    }

    /// Whether every event that a stream had when the reading began was met.
    fn is_complete(&self, begin: &[StreamHead]) -> bool {
        begin.iter().all(|head| match self.heads.get(&head.stream) {
            Some((position, _)) => *position >= head.count,
            None => self.is_partial || head.count == 0,
        })
    }

    /// Whether pages handed an event on.
    fn is_handed_on(&self, record: &Record) -> bool {
        let last = self.handed_on.get(&record.stream);
        last.is_some_and(|last| record.stamp.position <= *last)
    }

    /// Reads event by event where a page cannot be read, or the index leads to other
    /// events or to fewer.
    fn salvage(&mut self, store: &dyn Store) -> Result<ControlFlow<()>, Failure> {
        let before = self.unreadable;
        let flow = self.read_one_by_one(store)?;
        if flow.is_break() || self.unreadable > before {
            return Ok(flow);
        }
        let what = "the index of the events is damaged, and all of them were read without it";
        Ok(self.report_unreadable(UnreadableEvent::unknown(what.to_owned())))
    }

    fn read_one_by_one(&mut self, store: &dyn Store) -> Result<ControlFlow<()>, Failure> {
        let mut flow = ControlFlow::Continue(());
        store.salvage_journal(&mut |event| {
            flow = match event {
                Ok(record) if self.is_handed_on(&record) => ControlFlow::Continue(()),
                Ok(record) => self.hand_on(&record),
                Err(unreadable) => self.report_unreadable(unreadable),
            };
            flow
        })?;
        Ok(flow)
    }
}

/// Hands every event on, in the order in which they were stored, and passes over those
/// that cannot be read; stops when `each` says so.
///
/// # Errors
///
/// When there is no store, when it cannot be read at all, and, behind all the others,
/// when there are events that cannot be read.
pub fn for_each_event(
    world: &World,
    since: Option<&JournalStart>,
    each: &mut dyn FnMut(JournalEntry) -> bool,
) -> Result<(), Failure> {
    let session = Session::open_journal(world, &world.cwd)?.ok_or_else(missing_store_failure)?;
    let (since, waiting_for) = match since {
        Some(JournalStart::Time(time)) => (*time, None),
        Some(JournalStart::Event(id)) => (Timestamp::MIN, Some(*id)),
        None => (Timestamp::MIN, None),
    };
    let mut read = JournalRead {
        since,
        handed_on: BTreeMap::new(),
        waiting_for,
        unreadable: 0,
        heads: BTreeMap::new(),
        is_partial: false,
        each,
    };
    if read.read(&*session.store)?.is_break() {
        return Ok(());
    }
    match (read.unreadable, read.waiting_for) {
        (0, Some(id)) => Err(Failure::new("usage", format!("there is no event {id}"))
            .with_hint("see the events with `piton journal show`")),
        (0, None) => Ok(()),
        (count, _) => Err(unreadable_events_failure(count, &session.store.info())),
    }
}

/// Events were passed over.
fn unreadable_events_failure(count: u64, info: &Result<StoreInfo, StoreFault>) -> Failure {
    let of = info
        .as_ref()
        .map(|info| format!(" of {}", info.events))
        .unwrap_or_default();
    Failure::new(
        "store.damaged",
        format!("{count}{of} events are damaged; all that can be read was printed"),
    )
    .with_hint("see what is damaged with `piton journal verify`, and bring a backup in with `piton store restore FILE`: the damaged store is kept beside it")
}

fn open_session(world: &World) -> Result<Session<'_>, Failure> {
    Session::open_read_only(world, &world.cwd)?.ok_or_else(missing_store_failure)
}

/// Nothing was ever recorded here.
pub(crate) fn missing_store_failure() -> Failure {
    Failure::new("store.missing", "nothing is recorded here").with_hint("`piton init`, `piton log` or `piton run PLAN` begins a journal; PITON_PROJECT names the folder of another")
}

/// Checks everything that is stored.
///
/// # Errors
///
/// When there is no store, or it cannot be read at all. Damage is an answer.
pub fn verify(world: &World) -> Result<VerifyReport, Failure> {
    let session = match open_session(world) {
        // What can be read of it is checked, and the rest is named.
        Err(failure) if failure.code == "store.damaged" => {
            Session::open_journal(world, &world.cwd)?.ok_or(failure)
        }
        opened => opened,
    };
    Ok(session?.store.verify()?)
}
