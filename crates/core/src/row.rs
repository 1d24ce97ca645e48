//! One row of one read table, and what names it.

use crate::attempt::AttemptRow;
use crate::decision::DecisionRow;
use crate::entry::{BlockerRow, EntryRow};
use crate::id::{AttemptId, DecisionId, Node, RunId};
use crate::item::ItemRow;
use crate::memory::MemoryRow;
use crate::name::{NameRow, NamedRow, Space};
use crate::native_file::NativeFileRow;
use crate::run::RunRow;

/// Names one row of one table.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Key {
    /// A run.
    Run(RunId),
    /// An item.
    Item(RunId, Node),
    /// An attempt.
    Attempt(AttemptId),
    /// A decision.
    Decision(DecisionId),
    /// An entry, by its position in the stream of the sessions.
    Entry(u64),
    /// The blockers of a task, by spec and task.
    Blocker(Option<String>, Option<String>),
    /// Something remembered, by its id.
    Memory(String),
    /// A name.
    Name(Space, String),
    /// A native file, by its path.
    Face(String),
}

/// One row of one table.
#[derive(Clone, Debug, PartialEq)]
pub enum Row {
    /// A run.
    Run(Box<RunRow>),
    /// An item.
    Item(Box<ItemRow>),
    /// An attempt.
    Attempt(Box<AttemptRow>),
    /// A decision.
    Decision(Box<DecisionRow>),
    /// An entry.
    Entry(Box<EntryRow>),
    /// The blockers of a task.
    Blocker(Box<BlockerRow>),
    /// Something remembered.
    Memory(Box<MemoryRow>),
    /// A name.
    Name(Box<NameRow>),
    /// A native file.
    Face(Box<NativeFileRow>),
}

impl Row {
    /// What names it.
    #[must_use]
    pub fn key(&self) -> Key {
        match self {
            Self::Run(row) => Key::Run(row.id),
            Self::Item(row) => Key::Item(row.run, row.node.clone()),
            Self::Attempt(row) => Key::Attempt(row.id),
            Self::Decision(row) => Key::Decision(row.id),
            Self::Entry(row) => Key::Entry(row.position),
            Self::Blocker(row) => Key::Blocker(row.spec.clone(), row.task_id.clone()),
            Self::Memory(row) => Key::Memory(row.id.clone()),
            Self::Name(row) => Key::Name(row.space, row.name.clone()),
            Self::Face(row) => Key::Face(row.path.clone()),
        }
    }
}

impl NameRow {
    /// The key of the row that it names.
    #[must_use]
    pub fn target_key(&self) -> Key {
        match &self.of {
            NamedRow::Attempt(id) => Key::Attempt(*id),
            NamedRow::Entry(position) => Key::Entry(*position),
            NamedRow::Memory(id) => Key::Memory(id.clone()),
        }
    }
}
