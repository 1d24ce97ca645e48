//! How events are kept: drafts, records, and the chain of hashes over them.
//!
//! The body of an event is the exact text that was stored; it is hashed as it
//! is, so that nothing has to be written the same way twice to be verified.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use thiserror::Error;

use crate::actor::Actor;
use crate::event::Event;
use crate::id::{CommandId, EventId, StreamId};
use crate::redact::Redactor;

/// A SHA-256.
pub type Hash = [u8; 32];

/// The hash that the first event of a stream follows.
pub const GENESIS: Hash = [0; 32];

/// An event that a decision asks to be stored, and where.
#[derive(Clone, Debug, PartialEq)]
pub struct Draft {
    /// The stream it belongs to.
    pub stream: StreamId,
    /// What happened.
    pub event: Event,
}

/// What comes with an event when it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// The event's id.
    pub id: EventId,
    /// Its position in its stream, from 1.
    pub position: u64,
    /// When it was stored, by the store's clock; never behind the event before it.
    pub time: Timestamp,
    /// Who caused it.
    pub actor: Actor,
}

/// An event as stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Its stream.
    pub stream: StreamId,
    /// Its id, position, time and actor.
    pub stamp: Stamp,
    /// The kind of event.
    pub kind: String,
    /// The version of the body's shape.
    pub version: u32,
    /// The body, as JSON text.
    pub body: String,
    /// The command that caused it.
    pub command: CommandId,
    /// The hash over all of the above and the predecessor's hash.
    pub hash: Hash,
}

/// An event as stored, and as understood.
#[derive(Clone, Debug, PartialEq)]
pub struct Recorded {
    /// The stored form.
    pub record: Record,
    /// The event.
    pub event: Event,
}

/// Why a stored body is not an event that this program knows.
#[derive(Debug, Error)]
#[error(
    "event {position} of {stream} (`{kind}`, version {version}) is not one that this piton knows"
)]
pub struct UnknownEvent {
    /// The stream.
    pub stream: StreamId,
    /// The position.
    pub position: u64,
    /// The kind that was found.
    pub kind: String,
    /// The version that was found.
    pub version: u32,
    /// What the reader of JSON says.
    #[source]
    pub source: Option<serde_json::Error>,
}

/// The stored text of an event's body, with every secret taken out, and the
/// event that this text stands for.
///
/// # Panics
///
/// Never for the events of this crate: all of them can be written as JSON.
#[must_use]
pub fn seal(event: Event, redactor: &Redactor) -> (String, Event) {
    #[derive(Serialize)]
    struct Body<'a>(&'a Event);
    let mut value =
        serde_json::to_value(Body(&event)).expect("an event holds nothing that JSON cannot say");
    let mut body = value
        .get_mut("body")
        .map_or(serde_json::Value::Null, serde_json::Value::take);
    // Text by text: in JSON the escape before a secret passes for a letter of it.
    let changed = redactor.redact_json(&mut body);
    let text = body.to_string();
    if !changed {
        return (text, event);
    }
    let redacted = open(event.kind(), &text).expect("redaction changes no shape, only texts");
    (text, redacted)
}

fn open(kind: &str, body: &str) -> Result<Event, serde_json::Error> {
    #[derive(Deserialize)]
    struct Whole(Event);
    let body: serde_json::Value = serde_json::from_str(body)?;
    let whole = serde_json::json!({ "kind": kind, "body": body });
    serde_json::from_value(whole).map(|Whole(event)| event)
}

impl Record {
    /// Makes the record of a sealed event.
    #[must_use]
    pub fn new(
        stream: StreamId,
        stamp: Stamp,
        event: &Event,
        body: String,
        command: CommandId,
        previous: &Hash,
    ) -> Self {
        let mut record = Self {
            stream,
            stamp,
            kind: event.kind().to_owned(),
            version: event.version(),
            body,
            command,
            hash: GENESIS,
        };
        record.hash = record.compute_hash(previous);
        record
    }

    /// The hash that this record must have after `previous`.
    ///
    /// Each field is preceded by its length in bytes (u64, big endian), so that
    /// no two records share a form: see `docs/formats/journal.md`.
    #[must_use]
    pub fn compute_hash(&self, previous: &Hash) -> Hash {
        let mut hasher = Sha256::new();
        let mut field = |bytes: &[u8]| {
            hasher.update((bytes.len() as u64).to_be_bytes());
            hasher.update(bytes);
        };
        field(previous);
        field(self.stream.as_str().as_bytes());
        field(&self.stamp.position.to_be_bytes());
        field(self.stamp.id.0.as_bytes());
        field(&self.stamp.time.as_microsecond().to_be_bytes());
        field(self.stamp.actor.to_string().as_bytes());
        field(self.kind.as_bytes());
        field(&self.version.to_be_bytes());
        field(self.body.as_bytes());
        field(self.command.0.as_bytes());
        hasher.finalize().into()
    }

    /// What the record says.
    ///
    /// # Errors
    ///
    /// When the kind, or the shape of the body, is not one that this program
    /// knows: a newer one wrote it, or it is damaged.
    pub fn event(&self) -> Result<Event, UnknownEvent> {
        let unknown = |source| UnknownEvent {
            stream: self.stream.clone(),
            position: self.stamp.position,
            kind: self.kind.clone(),
            version: self.version,
            source,
        };
        let event = open(&self.kind, &self.body).map_err(|source| unknown(Some(source)))?;
        if self.version > event.version() {
            return Err(unknown(None));
        }
        Ok(event)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::{Entry, EntryType};
    use uuid::Uuid;

    fn record() -> Record {
        let event = Event::EntryLogged(Box::new(Entry {
            kind: EntryType::TaskCompleted,
            spec: Some("auth".to_owned()),
            task_id: None,
            data: [("description".to_owned(), "said \"hi\"".to_owned())].into(),
        }));
        let (body, event) = seal(event, &Redactor::rules_only());
        let stamp = Stamp {
            id: EventId(Uuid::from_u128(7)),
            position: 1,
            time: Timestamp::UNIX_EPOCH,
            actor: Actor::Person("ada".to_owned()),
        };
        Record::new(
            StreamId::sessions(),
            stamp,
            &event,
            body,
            CommandId(Uuid::from_u128(8)),
            &GENESIS,
        )
    }

    #[test]
    fn a_record_reads_back_as_the_event_it_was_made_of() {
        let record = record();
        let Ok(Event::EntryLogged(entry)) = record.event() else {
            panic!("{record:?}")
        };
        assert_eq!(entry.spec.as_deref(), Some("auth"));
        assert_eq!(entry.task_id, None);
    }

    #[test]
    fn one_flipped_bit_in_any_field_changes_the_hash() {
        let whole = record();
        let hash = whole.hash;
        let mut body = whole.clone();
        body.body = body.body.replace("hi", "hj");
        let mut time = whole.clone();
        time.stamp.time = Timestamp::from_second(1).expect("in range");
        let mut kind = whole.clone();
        kind.kind.push('x');
        let mut position = whole.clone();
        position.stamp.position = 2;
        for changed in [body, time, kind, position] {
            assert_ne!(changed.compute_hash(&GENESIS), hash);
        }
        assert_ne!(whole.compute_hash(&[1; 32]), hash);
        assert_eq!(whole.compute_hash(&GENESIS), hash);
    }

    #[test]
    fn a_newer_version_of_a_body_is_named_and_not_guessed_at() {
        let mut newer = record();
        newer.version = 2;
        assert!(newer.event().is_err());
        newer.version = 1;
        newer.kind = "from-the-future".to_owned();
        let error = newer.event().expect_err("an unknown kind");
        assert!(error.to_string().contains("from-the-future"), "{error}");
    }

    #[test]
    fn a_secret_leaves_both_the_text_and_the_event() {
        let event = Event::EntryLogged(Box::new(Entry {
            kind: EntryType::TaskBlocked,
            spec: None,
            task_id: None,
            data: [(
                "notes".to_owned(),
                "use ghp_0123456789abcdefghijABCDEFGHIJ456789 now".to_owned(),
            )]
            .into(),
        }));
        let (body, event) = seal(event, &Redactor::rules_only());
        assert!(!body.contains("ghp_0123"), "{body}");
        let Event::EntryLogged(entry) = event else {
            panic!("{event:?}")
        };
        assert_eq!(entry.data["notes"], "use [redacted:github-token] now");
    }

    #[test]
    fn what_json_escapes_hides_no_secret() {
        for secret in [
            "key:\nsk-0123456789abcdefghijABCDEFGHIJ",
            "\"password\": \"correct4horse!battery\"",
        ] {
            let event = Event::EntryLogged(Box::new(Entry {
                kind: EntryType::TaskBlocked,
                spec: None,
                task_id: None,
                data: [("notes".to_owned(), secret.to_owned())].into(),
            }));
            let (body, _) = seal(event, &Redactor::rules_only());
            assert!(body.contains("[redacted:"), "{body}");
        }
    }
}
