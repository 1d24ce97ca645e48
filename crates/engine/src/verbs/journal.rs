//! `piton journal`: what is stored, as it is stored.

use jiff::{SignedDuration, Timestamp};
use piton_core::amount::parse_duration;
use piton_core::journal::{Hash, HashForm, Record};
use piton_store::Cursor;
pub use piton_store::VerifyReport;
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
            "for example `--since 2h`, `--since 2026-01-15` or `--since 2026-01-15T09:00:00Z`",
        )),
    }
}

/// Hands every event on, in the order of time, stream and position; stops when
/// `each` says so.
///
/// # Errors
///
/// When there is no store, or it cannot be read.
pub fn for_each_event(
    world: &World,
    since: Option<&JournalStart>,
    each: &mut dyn FnMut(&Record) -> bool,
) -> Result<(), Failure> {
    let session = Session::open_journal(world, &world.cwd)?.ok_or_else(missing_store_failure)?;
    let mut cursor = match since {
        Some(JournalStart::Time(time)) => Some(Cursor {
            time: instant_before(*time),
            stream: piton_core::StreamId::from_stored("\u{10ffff}"),
            position: u64::MAX >> 1,
        }),
        Some(JournalStart::Event(_)) | None => None,
    };
    let mut waiting_for = match since {
        Some(JournalStart::Event(id)) => Some(*id),
        Some(JournalStart::Time(_)) | None => None,
    };
    loop {
        let page = session.store.read_journal(cursor.as_ref(), PAGE)?;
        let Some(last) = page.last() else { break };
        cursor = Some(Cursor {
            time: last.stamp.time,
            stream: last.stream.clone(),
            position: last.stamp.position,
        });
        for record in &page {
            if waiting_for.is_some_and(|id| record.stamp.id.0 != id) {
                continue;
            }
            waiting_for = None;
            if !each(record) {
                return Ok(());
            }
        }
    }
    match waiting_for {
        Some(id) => Err(Failure::new("usage", format!("there is no event {id}"))
            .with_hint("see the events with `piton journal show`")),
        None => Ok(()),
    }
}

/// The last instant before a time, as the journal counts.
fn instant_before(time: Timestamp) -> Timestamp {
    time.checked_sub(SignedDuration::from_micros(1))
        .unwrap_or(Timestamp::MIN)
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
    Ok(open_session(world)?.store.verify()?)
}
