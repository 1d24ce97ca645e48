//! What is looked at of something remembered.

use jiff::Timestamp;

use crate::memory::{MemoryKind, MemoryRow};
use crate::named_paths::paths_in_memory;
use crate::recall::MemoryDocument;

/// What is looked at of something remembered.
#[derive(Clone, Debug)]
pub struct MemoryView<'a> {
    /// Its id.
    pub id: &'a str,
    /// What kind it is.
    pub kind: MemoryKind,
    /// Its title; empty where there is none.
    pub title: &'a str,
    /// What to know.
    pub content: &'a str,
    /// Where it applies; a guardrail's trigger; empty where there is none.
    pub context: &'a str,
    /// When it was learned.
    pub learned_at: Timestamp,
    /// When it was recorded here.
    pub added_at: Timestamp,
    /// How often it stood in a prompt.
    pub referenced: u64,
    /// How many attempts had it in their prompt and succeeded.
    pub helped: u64,
    /// How many had it and failed.
    pub failed: u64,
    /// Whether it is followed: neither superseded nor retired.
    pub followed: bool,
    /// The paths that it names.
    pub paths: Vec<String>,
    /// Its tokens.
    pub document: &'a MemoryDocument,
}

impl<'a> MemoryView<'a> {
    /// A view of a row and its document.
    #[must_use]
    pub fn from_row(row: &'a MemoryRow, document: &'a MemoryDocument) -> Self {
        Self {
            id: &row.id,
            kind: row.memory.kind,
            title: row.memory.title.as_deref().unwrap_or_default(),
            content: &row.memory.content,
            context: row.memory.context.as_deref().unwrap_or_default(),
            learned_at: row.learned_at(),
            added_at: row.added_at,
            referenced: row.times_referenced().unwrap_or_default(),
            helped: row.uses.helped,
            failed: row.uses.failed,
            followed: row.is_followed(),
            paths: paths_in_memory(&row.memory),
            document,
        }
    }
}
