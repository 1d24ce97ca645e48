//! How events are kept: drafts, records, and the chain of hashes over them.
//!
//! The body of an event is the exact text that was stored; it is hashed as it
//! is, so that nothing has to be written the same way twice to be verified.

use jiff::Timestamp;
use sha2::{Digest, Sha256};
use thiserror::Error;

use crate::actor::Actor;
use crate::checkout::{self, Checkout};
use crate::event::{Event, EventText};
use crate::id::{CommandId, EventId, StreamId, WriterId};
use crate::redact::Redactor;

pub use crate::clock::CLOCK_JUMP;

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
pub struct EventStamp {
    /// The event's id.
    pub id: EventId,
    /// Its position in its stream, from 1.
    pub position: u64,
    /// When it was stored, by the store's clock; not behind the event before it, unless by
    /// more than [`CLOCK_JUMP`].
    pub time: Timestamp,
    /// Who caused it.
    pub actor: Actor,
    /// What was checked out there, of an event that belongs to that.
    pub checkout: Option<Checkout>,
}

/// An event as stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Its stream.
    pub stream: StreamId,
    /// Its id, position, time and actor.
    pub stamp: EventStamp,
    /// The kind of event.
    pub kind: String,
    /// The version of the body's shape.
    pub version: u32,
    /// What it says.
    pub body: RecordBody,
    /// The command that caused it.
    pub command: CommandId,
    /// What the hash is made of.
    pub form: HashForm,
    /// The hash over all of the above and the predecessor's hash.
    pub hash: Hash,
}

/// What the hash of an event is made of. An event keeps its form for ever, and a
/// stream may hold both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HashForm {
    /// The body itself.
    One,
    /// The hash of the body, and the store that wrote the event.
    Two(WriterId),
}

/// The body of an event as stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordBody {
    /// The text that was hashed, which is JSON.
    Text(String),
    /// It was removed; its hash is left.
    Tombstone(Hash),
}

impl RecordBody {
    /// The text, where it is there.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Tombstone(_) => None,
        }
    }

    /// The hash of the text.
    #[must_use]
    pub fn compute_hash(&self) -> Hash {
        match self {
            Self::Text(text) => Sha256::digest(text).into(),
            Self::Tombstone(hash) => *hash,
        }
    }
}

/// What comes of the wish to remove the body of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyRemoval {
    /// It is gone.
    Removed,
    /// It was gone before.
    AlreadyRemoved,
    /// There is no event at that position.
    NoSuchEvent,
    /// The hash of the event is over the body itself ([`HashForm::One`]), so that the
    /// chain would break.
    BodyIsHashed,
    /// Another event cannot be understood, so that the views cannot be made without
    /// this one. Nothing was changed.
    UnknownEvents,
}

/// Who writes an event, and at whose request.
#[derive(Clone, Copy, Debug)]
pub struct WriteRequest {
    /// The command.
    pub command: CommandId,
    /// The store.
    pub writer: WriterId,
}

/// The first field of what is hashed in form 2, so that no event has both forms.
const FORM_TWO: &[u8] = b"piton-event-2";

/// An event as stored, and as understood.
#[derive(Clone, Debug, PartialEq)]
pub struct DecodedRecord {
    /// The stored form.
    pub record: Record,
    /// The event.
    pub event: Event,
}

/// Why a stored body is not an event that this program knows.
#[derive(Debug, Error)]
#[error("event {position} of {stream} (`{kind}`, version {version}) {why}")]
pub struct UnknownEvent {
    /// The stream.
    pub stream: StreamId,
    /// The position.
    pub position: u64,
    /// The kind that was found.
    pub kind: String,
    /// The version that was found.
    pub version: u32,
    /// Why, in words.
    pub why: &'static str,
    /// What the reader of JSON says.
    #[source]
    pub source: Option<serde_json::Error>,
}

/// The stored text of an event's body, with every secret taken out of its
/// texts, and the event that this text stands for. Names stay what they are.
/// What was checked out stands in the text beside what the event says.
///
/// # Panics
///
/// Never for the events of this crate: all of them can be written as JSON.
#[must_use]
pub fn redact_and_encode(
    mut event: Event,
    checkout: Option<&Checkout>,
    redactor: &Redactor,
) -> (String, Event) {
    // Text by text: in JSON the escape before a secret passes for a letter of it.
    event.visit_texts_mut(&mut |text| match text {
        EventText::Free(text) => drop(redactor.redact_in_place(text)),
        EventText::Document(text) => drop(redactor.redact_document(text)),
        EventText::Named(texts) => drop(redactor.redact_map(texts)),
    });
    let mut whole =
        serde_json::to_value(&event).expect("an event holds nothing that JSON cannot say");
    let mut body = whole.get_mut("body").map(serde_json::Value::take);
    let object = body.as_mut().and_then(serde_json::Value::as_object_mut);
    if let Some((object, checkout)) = object.zip(checkout) {
        let checkout = serde_json::to_value(checkout).unwrap_or_default();
        object.insert(checkout::KEY.to_owned(), checkout);
    }
    (body.unwrap_or_default().to_string(), event)
}

impl Record {
    /// Makes the record of a sealed event.
    #[must_use]
    pub fn new(
        stream: StreamId,
        stamp: EventStamp,
        event: &Event,
        body: String,
        request: WriteRequest,
        previous: &Hash,
    ) -> Self {
        let mut record = Self {
            stream,
            stamp,
            kind: event.kind().to_owned(),
            version: event.body_version(),
            body: RecordBody::Text(body),
            command: request.command,
            form: HashForm::Two(request.writer),
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
        if let HashForm::Two(_) = self.form {
            field(FORM_TWO);
        }
        field(previous);
        field(self.stream.as_str().as_bytes());
        field(&self.stamp.position.to_be_bytes());
        field(self.stamp.id.0.as_bytes());
        field(&self.stamp.time.as_microsecond().to_be_bytes());
        field(self.stamp.actor.to_string().as_bytes());
        field(self.kind.as_bytes());
        field(&self.version.to_be_bytes());
        match &self.form {
            HashForm::One => field(self.body.as_text().unwrap_or_default().as_bytes()),
            HashForm::Two(_) => field(&self.body.compute_hash()),
        }
        field(self.command.0.as_bytes());
        if let HashForm::Two(writer) = &self.form {
            field(writer.0.as_bytes());
        }
        hasher.finalize().into()
    }

    /// Whether its body was removed.
    #[must_use]
    pub fn is_tombstone(&self) -> bool {
        matches!(self.body, RecordBody::Tombstone(_))
    }

    /// The record with a tombstone in the place of its body.
    ///
    /// # Errors
    ///
    /// With the reason why there can be none.
    pub fn without_body(&self) -> Result<Self, BodyRemoval> {
        match (&self.form, &self.body) {
            (HashForm::One, _) => Err(BodyRemoval::BodyIsHashed),
            (HashForm::Two(_), RecordBody::Tombstone(_)) => Err(BodyRemoval::AlreadyRemoved),
            (HashForm::Two(_), RecordBody::Text(_)) => Ok(Self {
                body: RecordBody::Tombstone(self.body.compute_hash()),
                ..self.clone()
            }),
        }
    }

    /// What the record says.
    ///
    /// # Errors
    ///
    /// When the kind, or the shape of the body, is not one that this program
    /// knows: a newer one wrote it, or it is damaged. Also when it was removed.
    pub fn decode_event(&self) -> Result<Event, UnknownEvent> {
        let unknown = |source| UnknownEvent {
            stream: self.stream.clone(),
            position: self.stamp.position,
            kind: self.kind.clone(),
            version: self.version,
            why: if self.is_tombstone() {
                "is a tombstone: its body was removed"
            } else {
                "is not one that this piton knows"
            },
            source,
        };
        let body = self.body.as_text().ok_or_else(|| unknown(None))?;
        let event = serde_json::from_str(body)
            .and_then(|body| Event::decode(&self.kind, body))
            .map_err(|source| unknown(Some(source)))?
            .ok_or_else(|| unknown(None))?;
        if self.version > event.body_version() {
            return Err(unknown(None));
        }
        Ok(event)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attempt::{Outcome, Report};
    use crate::entry::{Entry, EntryType};
    use crate::event::{AttemptEvent, ItemEvent, ItemPlanned, SessionEvent};
    use crate::gate::Gate;
    use crate::id::{AttemptId, Node, RunId, TreePosition};
    use crate::item::ItemState;
    use crate::native::Native;
    use crate::plan::{ImportedItemHistory, ItemTags, PlannedItem};
    use uuid::Uuid;

    fn decode_text(kind: &str, body: &str) -> Event {
        let body = serde_json::from_str(body).expect("JSON");
        let event = Event::decode(kind, body).expect("its own shape");
        event.expect("a kind that is known")
    }

    fn record() -> Record {
        let event = Event::Session(SessionEvent::EntryLogged(Box::new(Entry {
            spec: Some("auth".to_owned()),
            ..Entry::with_type(EntryType::TaskCompleted).with_text("description", "said \"hi\"")
        })));
        let (body, event) = redact_and_encode(event, None, &Redactor::rules_only());
        let stamp = EventStamp {
            id: EventId(Uuid::from_u128(7)),
            position: 1,
            time: Timestamp::UNIX_EPOCH,
            actor: Actor::Person("ada".to_owned()),
            checkout: None,
        };
        Record::new(
            StreamId::sessions(),
            stamp,
            &event,
            body,
            WriteRequest {
                command: CommandId(Uuid::from_u128(8)),
                writer: WriterId(Uuid::from_u128(9)),
            },
            &GENESIS,
        )
    }

    #[test]
    fn a_record_reads_back_as_the_event_it_was_made_of() {
        let record = record();
        let Ok(Event::Session(SessionEvent::EntryLogged(entry))) = record.decode_event() else {
            panic!("{record:?}")
        };
        assert_eq!(entry.spec.as_deref(), Some("auth"));
        assert_eq!(entry.task_id, None);
    }

    #[test]
    fn one_flipped_bit_in_any_field_changes_the_hash() {
        let whole = record();
        let of_form_one = Record {
            form: HashForm::One,
            ..whole.clone()
        };
        let hash = of_form_one.compute_hash(&GENESIS);
        check_flips(&of_form_one, hash);
        check_flips(&whole, whole.hash);
        assert_ne!(hash, whole.hash);
    }

    /// Computed by another program from `docs/formats/journal.md` alone.
    #[test]
    fn the_hash_of_each_form_is_what_its_description_says() {
        let two = Record {
            kind: "entry-logged".to_owned(),
            body: RecordBody::Text(r#"{"a":1}"#.to_owned()),
            ..record()
        };
        let one = Record {
            form: HashForm::One,
            ..two.clone()
        };
        let hex = |record: &Record| -> String {
            let hash = record.compute_hash(&GENESIS);
            hash.iter().map(|byte| format!("{byte:02x}")).collect()
        };
        assert_eq!(
            hex(&one),
            "1984e5d0b57a7457843bccb357aa6377d1e6ec7b97f1fda3179ae3561f12e933"
        );
        assert_eq!(
            hex(&two),
            "3ed27deece4768f38c650d11b95d63c169390a5558a3dcf15e8ecec7042ea2af"
        );
    }

    #[test]
    fn a_tombstone_has_the_hash_of_its_event() {
        let whole = record();
        let tombstone = whole.without_body().expect("form 2");
        assert_eq!(tombstone.body.as_text(), None);
        assert_eq!(tombstone.compute_hash(&GENESIS), whole.hash);
        let error = tombstone.decode_event().expect_err("it says nothing");
        assert!(
            error.to_string().contains("its body was removed"),
            "{error}"
        );
        let mut flipped = tombstone.body.compute_hash();
        flipped[7] ^= 1;
        let flipped = Record {
            body: RecordBody::Tombstone(flipped),
            ..whole.clone()
        };
        assert_ne!(flipped.compute_hash(&GENESIS), whole.hash);
        let other = Record {
            form: HashForm::Two(WriterId(Uuid::from_u128(10))),
            ..whole.clone()
        };
        assert_ne!(other.compute_hash(&GENESIS), whole.hash);
        let again = tombstone.without_body();
        assert_eq!(again, Err(BodyRemoval::AlreadyRemoved));
        let of_form_one = Record {
            form: HashForm::One,
            ..whole
        };
        assert_eq!(of_form_one.without_body(), Err(BodyRemoval::BodyIsHashed));
    }

    #[track_caller]
    fn check_flips(whole: &Record, hash: Hash) {
        let mut body = whole.clone();
        let text = body.body.as_text().expect("it has one").replace("hi", "hj");
        body.body = RecordBody::Text(text);
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
        assert!(newer.decode_event().is_err());
        newer.version = 1;
        newer.kind = "from-the-future".to_owned();
        let error = newer.decode_event().expect_err("an unknown kind");
        assert!(error.to_string().contains("from-the-future"), "{error}");
    }

    #[test]
    fn a_secret_leaves_both_the_text_and_the_event() {
        let notes = "use ghp_0123456789abcdefghijABCDEFGHIJ456789 now";
        let entry = Entry::with_type(EntryType::TaskBlocked).with_text("notes", notes);
        let event = Event::Session(SessionEvent::EntryLogged(Box::new(entry)));
        let (body, event) = redact_and_encode(event, None, &Redactor::rules_only());
        assert!(!body.contains("ghp_0123"), "{body}");
        let Event::Session(SessionEvent::EntryLogged(entry)) = event else {
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
            let entry = Entry::with_type(EntryType::TaskBlocked).with_text("notes", secret);
            let event = Event::Session(SessionEvent::EntryLogged(Box::new(entry)));
            let (body, _) = redact_and_encode(event, None, &Redactor::rules_only());
            assert!(body.contains("[redacted:"), "{body}");
        }
    }

    fn planned(id: &str, script: &str) -> Event {
        Event::Item(ItemEvent::Planned(Box::new(ItemPlanned {
            run: RunId(Uuid::from_u128(9)),
            item: PlannedItem {
                node: Node::from_text(id),
                id: id.to_owned(),
                place: TreePosition(vec![0]),
                state: ItemState::Ready,
                prompt: Some("log in with hunter22".to_owned()),
                model: Some("hunter22".to_owned()),
                gate: Some(Gate {
                    script: script.to_owned(),
                    on_fail_prompt: String::new(),
                    runs_max: 1,
                    timeout_s: 1,
                }),
                breakpoint: false,
                approval: false,
                depends_on: vec![Node::from_text("hunter22")],
                native: Some(Native {
                    face: "hunter22".to_owned(),
                    version: 1,
                    body: r#"{"extra":"a: hunter22\n"}"#.to_owned(),
                }),
                past: ImportedItemHistory::default(),
                piece_of: None,
                injected: None,
                tags: ItemTags::default(),
                claims: crate::evidence::ClaimOverrides::default(),
                turn: crate::plan::ItemTurn::default(),
                scope: crate::scope::FileScope::default(),
                repository: None,
                wait: None,
            },
        })))
    }

    #[test]
    fn names_and_states_stay_when_a_secret_is_an_ordinary_word() {
        let words = [
            "completed",
            "kebab-run",
            "item-planned",
            "interrupted",
            "working",
            "hunter22",
            "00000000-0000-0000-0000-000000000009",
        ];
        let redactor = Redactor::with_variables(words.map(|word| ("FOO_TOKEN", word)));
        let report = Report {
            error: Some("hunter22 was refused".to_owned()),
            ..Report::with_outcome(Outcome::Completed)
        };
        let ended = Event::Attempt(AttemptEvent::Ended {
            attempt: AttemptId(Uuid::from_u128(9)),
            run: RunId(Uuid::from_u128(9)),
            node: Node::from_text("setup-hunter22"),
            report: Box::new(report),
            unchecked: false,
            unavailable: None,
        });
        let (body, event) = redact_and_encode(ended, None, &redactor);
        let Event::Attempt(AttemptEvent::Ended {
            run, node, report, ..
        }) = &event
        else {
            panic!("{event:?}")
        };
        assert_eq!(run.0, Uuid::from_u128(9));
        assert_eq!(node.as_str(), "setup-hunter22");
        assert_eq!(report.outcome, Outcome::Completed);
        assert_eq!(
            report.error.as_deref(),
            Some("[redacted:env:FOO_TOKEN] was refused")
        );
        assert_eq!(decode_text(event.kind(), &body), event);

        let (body, event) = redact_and_encode(planned("setup-hunter22", "true"), None, &redactor);
        assert_eq!(decode_text(event.kind(), &body), event);
        let Event::Item(ItemEvent::Planned(planned)) = event else {
            panic!("{event:?}")
        };
        let item = planned.item;
        assert_eq!(
            (item.id.as_str(), item.node.as_str()),
            ("setup-hunter22", "setup-hunter22")
        );
        assert_eq!(item.depends_on, [Node::from_text("hunter22")]);
        assert_eq!(item.model.as_deref(), Some("hunter22"));
        assert_eq!(
            item.prompt.as_deref(),
            Some("log in with [redacted:env:FOO_TOKEN]")
        );
    }

    #[test]
    fn a_native_body_stays_what_it_was_when_a_secret_in_it_goes() {
        #[track_caller]
        fn check(body: &str, expect: &str) {
            let variables = [("A_TOKEN", "hunter22"), ("B_TOKEN", "say \"ah\"")];
            let mut event = planned("a", "true");
            let Event::Item(ItemEvent::Planned(item)) = &mut event else {
                unreachable!("it was just made")
            };
            item.item.native.as_mut().expect("it has one").body = body.to_owned();
            let (_, event) = redact_and_encode(event, None, &Redactor::with_variables(variables));
            let Event::Item(ItemEvent::Planned(item)) = event else {
                unreachable!("it stays one")
            };
            assert_eq!(item.item.native.expect("it stays").body, expect);
        }
        check(
            r#"{"a":"x","hunter22":"hunter22"}"#,
            r#"{"a":"x","hunter22":"[redacted:env:A_TOKEN]"}"#,
        );
        check(r#"{"a":"say \"ah\""}"#, r#"{"a":"[redacted:env:B_TOKEN]"}"#);
        check(r#"{ "b": 1, "a": 2 }"#, r#"{ "b": 1, "a": 2 }"#);
        check("a: hunter22\n", "a: '[redacted:env:A_TOKEN]'\n");
        check("- hunter22 isn't\n", "- '[redacted:env:A_TOKEN] isn''t'\n");
        check("a: \"hunter22\"\n", "a: \"[redacted:env:A_TOKEN]\"\n");
        check(
            "a: b\nc: x hunter22\n",
            "a: b\nc: x [redacted:env:A_TOKEN]\n",
        );
    }

    #[track_caller]
    fn check_data(data: &[(&str, &str)], expect: &[(&str, &str)]) {
        let owned = |pairs: &[(&str, &str)]| -> serde_json::Map<String, serde_json::Value> {
            pairs
                .iter()
                .map(|(key, value)| ((*key).to_owned(), (*value).into()))
                .collect()
        };
        let event = Event::Session(SessionEvent::EntryLogged(Box::new(Entry {
            spec: Some("hunter22".to_owned()),
            task_id: Some("hunter22-1".to_owned()),
            data: owned(data),
            ..Entry::with_type(EntryType::TaskBlocked)
        })));
        let redactor = Redactor::with_variables([("A_TOKEN", "hunter22"), ("B_TOKEN", "hunter23")]);
        let (body, event) = redact_and_encode(event, None, &redactor);
        assert_eq!(decode_text(event.kind(), &body), event);
        let Event::Session(SessionEvent::EntryLogged(entry)) = event else {
            panic!("{event:?}")
        };
        assert_eq!(entry.data, owned(expect));
        assert_eq!(entry.spec.as_deref(), Some("hunter22"));
    }

    #[test]
    fn the_name_of_a_logged_value_tells_that_it_is_a_secret() {
        check_data(
            &[("api_key", "abc123def456ghi7")],
            &[("api_key", "[redacted:api_key]")],
        );
        check_data(
            &[("DB_PASSWORD", "sesame")],
            &[("DB_PASSWORD", "[redacted:DB_PASSWORD]")],
        );
        check_data(
            &[("token", "short"), ("key", "")],
            &[("token", "short"), ("key", "")],
        );
        check_data(&[("description", "sesame")], &[("description", "sesame")]);
        check_data(
            &[("api_key", "hunter22")],
            &[("api_key", "[redacted:env:A_TOKEN]")],
        );
        check_data(
            &[("api_key", "[redacted:api_key]")],
            &[("api_key", "[redacted:api_key]")],
        );
    }

    #[test]
    fn a_logged_name_that_is_a_secret_goes_and_its_value_stays() {
        check_data(
            &[("about hunter22", "a"), ("note", "b")],
            &[("about [redacted:env:A_TOKEN]", "a"), ("note", "b")],
        );
        check_data(
            &[("[redacted:env:A_TOKEN]", "a"), ("hunter22", "b")],
            &[
                ("[redacted:env:A_TOKEN]", "a"),
                ("[redacted:env:A_TOKEN]#2", "b"),
            ],
        );
    }
}
