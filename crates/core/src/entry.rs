//! An entry: a session event that somebody logs, of the seven known types.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::id::EventId;

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
    /// A fault was found and mended.
    DebugResolved,
    /// Somebody changed what is to be done.
    ScopeOverride,
    /// A milestone.
    MilestoneReached,
}

impl EntryType {
    /// The name, as stored and typed.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        ENTRY_TYPES
            .iter()
            .find(|(_, kind)| *kind == self)
            .map_or("", |(name, _)| name)
    }

    /// The type of that name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        ENTRY_TYPES
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, kind)| *kind)
    }
}

/// What somebody logs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// What kind of event it is.
    #[serde(rename = "type")]
    pub kind: EntryType,
    /// The spec it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spec: Option<String>,
    /// The task it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    /// What happened: `description`, `notes`, and any further keys.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub data: BTreeMap<String, String>,
}

impl Entry {
    /// The entry in one line: its task and its description.
    #[must_use]
    pub fn title(&self) -> String {
        let what = self
            .data
            .get("description")
            .map_or(self.kind.as_str(), String::as_str);
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
    /// When it was logged.
    pub timestamp: Timestamp,
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
