//! An entry: a session event that a person or an agent logs, of the seven known types.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::attempt::{Outcome, Report};
use crate::checkout::Checkout;
use crate::id::EventId;
use crate::native::Native;

const SECONDS_A_MINUTE: u64 = 60;

/// The types of seed 003, and no others.
pub const ENTRY_TYPES: [(&str, EntryType); 7] = [
    ("session_started", EntryType::SessionStarted),
    ("session_ended", EntryType::SessionEnded),
    ("task_completed", EntryType::TaskCompleted),
    ("task_blocked", EntryType::TaskBlocked),
    ("debug_resolved", EntryType::DebugResolved),
    ("scope_override", EntryType::ScopeOverride),
    ("milestone_reached", EntryType::MilestoneReached),
];

/// What kind of session event it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EntryType {
    /// Work begins.
    SessionStarted,
    /// Work ends.
    SessionEnded,
    /// A task is done.
    TaskCompleted,
    /// A task cannot go on.
    TaskBlocked,
    /// A fault was found and fixed.
    DebugResolved,
    /// A person or an agent changed what is to be done.
    ScopeOverride,
    /// A milestone.
    MilestoneReached,
    /// Any other type that a file of another program had; see [`Entry::word`].
    Other,
}

impl EntryType {
    /// The name, as stored and typed.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        ENTRY_TYPES
            .iter()
            .find(|(_, kind)| *kind == self)
            .map_or("other", |(name, _)| name)
    }

    /// One of the seven types, by its name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        ENTRY_TYPES
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, kind)| *kind)
    }
}

/// What a person or an agent logs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// What kind of event it is.
    #[serde(rename = "type")]
    pub kind: EntryType,
    /// The type in its writer's word, where it is none of the seven.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub word: Option<String>,
    /// The name that it has in a file: `entry-20260115-103000-k3f`. Drawn when
    /// it is logged, unless a file gave it one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What it is known by in a text that gives no names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mark: Option<String>,
    /// When it happened, in its writer's form, where that is not when it was logged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// The spec it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spec: Option<String>,
    /// The task it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    /// What happened: `description`, `notes`, and any further keys.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub data: Map<String, Value>,
    /// What only its native file has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub native: Option<Native>,
}

impl Entry {
    /// An entry of that type that says nothing.
    #[must_use]
    pub fn with_type(kind: EntryType) -> Self {
        Self {
            kind,
            word: None,
            name: None,
            mark: None,
            at: None,
            spec: None,
            task_id: None,
            data: Map::new(),
            native: None,
        }
    }

    /// The same entry, saying `text` under `key`.
    #[must_use]
    pub fn with_text(mut self, key: &str, text: impl Into<String>) -> Self {
        self.data.insert(key.to_owned(), Value::String(text.into()));
        self
    }

    /// What came of an attempt: see the table in `docs/formats/agent-os.md`. Its
    /// spec and its task are not known here.
    #[must_use]
    pub fn from_attempt(report: &Report, took_s: Option<u64>) -> Self {
        let kind = match report.outcome {
            Outcome::Completed => EntryType::TaskCompleted,
            Outcome::Failed | Outcome::Blocked | Outcome::Partial | Outcome::NeedsHuman => {
                EntryType::TaskBlocked
            }
            Outcome::Interrupted => EntryType::SessionEnded,
        };
        let asked = report.human.as_ref().map(|human| human.reason.as_str());
        let error = report.error.as_deref();
        let what = report.summary.as_deref().or(error).or(asked);
        let what = what.unwrap_or(report.outcome.as_str());
        let notes = match report.outcome {
            Outcome::Partial => Some("some of it is done"),
            Outcome::Interrupted => Some("interrupted"),
            Outcome::NeedsHuman => Some("a person is needed"),
            Outcome::Completed | Outcome::Failed | Outcome::Blocked => None,
        };
        // Of a blocked task the type says it all.
        let is_told = matches!(report.outcome, Outcome::Completed | Outcome::Blocked);
        let texts = [
            ("description", Some(what)),
            ("status", Some(report.outcome.as_str()).filter(|_| !is_told)),
            ("issue", error.filter(|_| kind == EntryType::TaskBlocked)),
            ("notes", report.notes.as_deref().or(notes)),
        ];
        let texts = texts.map(|(key, text)| (key, text.map(Value::from)));
        let whole = took_s.filter(|took| took % SECONDS_A_MINUTE == 0);
        let list = |texts: &Option<Vec<String>>| {
            let texts = texts.as_ref().filter(|texts| !texts.is_empty());
            texts.map(|texts| Value::from(texts.clone()))
        };
        let rest = [
            (
                "duration_minutes",
                took_s.map(|took| {
                    Value::from(took.saturating_add(SECONDS_A_MINUTE / 2) / SECONDS_A_MINUTE)
                }),
            ),
            (
                "duration_seconds",
                took_s.filter(|_| whole.is_none()).map(Value::from),
            ),
            ("files_modified", list(&report.changes.files)),
            ("commits", list(&report.changes.commits)),
        ];
        let said = texts.into_iter().chain(rest);
        let said = said.filter_map(|(key, value)| Some((key.to_owned(), value?)));
        Self {
            data: said.collect(),
            ..Self::with_type(kind)
        }
    }

    /// The type in a word: one of the seven, or its writer's.
    #[must_use]
    pub fn type_name(&self) -> &str {
        self.word.as_deref().unwrap_or(self.kind.as_str())
    }

    /// The text under a key of its data.
    #[must_use]
    pub fn text_field(&self, key: &str) -> Option<&str> {
        self.data.get(key).and_then(Value::as_str)
    }

    /// The entry in one line: its task and its description.
    #[must_use]
    pub fn one_line_title(&self) -> String {
        let what = self.text_field("description").unwrap_or(self.type_name());
        match &self.task_id {
            Some(task) => format!("{task}: {what}"),
            None => what.to_owned(),
        }
    }
}

/// What the read tables know of an entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EntryRow {
    /// The event that brought it.
    pub id: EventId,
    /// Its position in the stream of the sessions.
    pub position: u64,
    /// When it happened.
    pub timestamp: Timestamp,
    /// What was checked out when it was logged, or last changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkout: Option<Checkout>,
    /// What was logged.
    #[serde(flatten)]
    pub entry: Entry,
}

/// Blocked tasks that nothing has completed since: one row a spec and task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockerRow {
    /// The spec; a task of another spec is another task.
    pub spec: Option<String>,
    /// The task.
    pub task_id: Option<String>,
    /// The last entries that say so, oldest first; see [`BLOCKERS_KEPT`].
    pub entries: Vec<EntryRow>,
    /// How many older ones are not kept here. All stand in the journal.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub older: u64,
}

/// So many entries of one blocked task are kept with it, so that a task that
/// is blocked again and again costs the same each time.
pub const BLOCKERS_KEPT: usize = 100;

fn is_zero(count: &u64) -> bool {
    *count == 0
}
