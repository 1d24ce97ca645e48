//! Needs as an algebra over the read tables: the few forms of a wish that a store
//! has to understand, whatever the tables are.
//!
//! `docs/design/0041-needs.md` says what becomes of each.

use jiff::Timestamp;

use super::Need;
use crate::id::{Node, RunId};
use crate::name::{Space, entry_prefix};
use crate::row::Key;
use crate::table::{ColumnValue, ReadTable};

/// A need as a store carries it out.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Selector {
    /// The row of that key.
    Key(Key),
    /// The rows of a table that fit.
    Rows(RowQuery),
    /// The names that fit, and the rows that they name.
    Named(RowQuery),
    /// The items that fit, and those above each.
    Lines(RowQuery),
    /// An item and all items above it.
    Line(RunId, Node),
    /// An item and all items below it.
    Subtree(RunId, Node),
    /// See [`Need::FailureTree`].
    FailureTree(RunId),
    /// See [`Need::Dependents`].
    Dependents(RunId, Node),
    /// See [`Need::Successors`].
    Successors(RunId, Node),
    /// The followed memories that share most with these tokens.
    Near(Vec<String>),
    /// See [`Need::Standings`].
    Standings(RunId),
    /// See [`Need::Leases`].
    Leases(RunId),
    /// See [`Need::FreeNumbers`].
    FreeNumbers,
    /// See [`Need::NextDecision`].
    NextDecision,
}

/// Rows of one table.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RowQuery {
    /// The table.
    pub table: ReadTable,
    /// What must stand in these columns; nothing for all rows.
    pub conditions: Vec<(&'static str, ColumnCondition)>,
    /// Of those that fit only so many, the last ones in the order of the table.
    pub last: Option<usize>,
}

/// What must stand in a column.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ColumnCondition {
    /// This.
    Is(ColumnValue),
    /// A text that begins so.
    StartsWith(String),
}

impl RowQuery {
    /// All rows of a table.
    fn all(table: ReadTable) -> Self {
        Self {
            table,
            conditions: Vec::new(),
            last: None,
        }
    }

    /// Those of them in whose column this stands.
    fn by(mut self, column: &'static str, value: impl Into<ColumnValue>) -> Self {
        let condition = ColumnCondition::Is(value.into());
        self.conditions.push((column, condition));
        self
    }

    /// Those of them that are of a run, if one is given.
    fn of_run(self, run: Option<RunId>) -> Self {
        match run {
            Some(run) => self.by("run", run),
            None => self,
        }
    }

    /// The run, where nothing but that is asked for.
    pub(super) fn run(&self) -> Option<RunId> {
        match &*self.conditions {
            [("run", ColumnCondition::Is(ColumnValue::Bytes(run)))] => {
                uuid::Uuid::from_slice(run).ok().map(RunId)
            }
            _ => None,
        }
    }

    /// The last ones of them.
    fn last(self, most: usize) -> Self {
        Self {
            last: Some(most),
            ..self
        }
    }

    /// The names of a space that begin so.
    fn names_from(space: Space, start: &str) -> Self {
        let mut query = Self::all(ReadTable::Names).by("space", space.as_str());
        let condition = ColumnCondition::StartsWith(start.to_owned());
        query.conditions.push(("name", condition));
        query
    }
}

impl Need {
    /// What a store has to look for, at this time by its clock.
    #[must_use]
    pub fn selector(&self, now: Timestamp) -> Selector {
        let all = RowQuery::all;
        match self {
            Self::Run(run) => Selector::Key(Key::Run(*run)),
            Self::Runs => Selector::Rows(all(ReadTable::Runs)),
            Self::RunNamed(name) => Selector::Rows(all(ReadTable::Runs).by("name", name.as_str())),
            Self::Line(run, node) => Selector::Line(*run, node.clone()),
            Self::Subtree(run, node) => Selector::Subtree(*run, node.clone()),
            Self::Tree(run) => Selector::Rows(all(ReadTable::Items).by("run", *run)),
            Self::FailureTree(run) => Selector::FailureTree(*run),
            Self::Dependents(run, node) => Selector::Dependents(*run, node.clone()),
            Self::Successors(run, node) => Selector::Successors(*run, node.clone()),
            Self::Standings(run) => Selector::Standings(*run),
            Self::Attempt(attempt) => Selector::Key(Key::Attempt(*attempt)),
            Self::OpenAttempts(run) => {
                Selector::Rows(all(ReadTable::Attempts).of_run(*run).by("open", true))
            }
            Self::AttemptsAt(run, node) => {
                let of_run = all(ReadTable::Attempts).by("run", *run);
                Selector::Rows(of_run.by("node", node.as_str()))
            }
            Self::AttemptsOf(run) => Selector::Rows(all(ReadTable::Attempts).by("run", *run)),
            Self::Decision(decision) => Selector::Key(Key::Decision(*decision)),
            Self::DecisionNumbered(number) => {
                Selector::Rows(all(ReadTable::Decisions).by("number", *number))
            }
            Self::OpenDecisions(run) => {
                Selector::Rows(all(ReadTable::Decisions).of_run(*run).by("open", true))
            }
            Self::Decisions(run) => Selector::Rows(all(ReadTable::Decisions).by("run", *run)),
            Self::NextDecision => Selector::NextDecision,
            Self::RecentEntries(most) => Selector::Rows(all(ReadTable::Entries).last(*most)),
            Self::LastEntry(kind) => {
                Selector::Rows(all(ReadTable::Entries).by("type", kind.as_str()).last(1))
            }
            Self::Blocker { spec, task_id } => {
                Selector::Key(Key::Blocker(spec.clone(), task_id.clone()))
            }
            Self::Blockers => Selector::Rows(all(ReadTable::Blockers)),
            Self::Leases(run) => Selector::Leases(*run),
            Self::Name(space, name) => {
                let space = all(ReadTable::Names).by("space", space.as_str());
                Selector::Named(space.by("name", name.as_str()))
            }
            Self::NamesFrom(space, start) => Selector::Rows(RowQuery::names_from(*space, start)),
            Self::NamedFrom(space, start) => Selector::Named(RowQuery::names_from(*space, start)),
            Self::EntryNames => {
                Selector::Rows(RowQuery::names_from(Space::Entry, &entry_prefix(now)))
            }
            Self::Memory(id) => Selector::Key(Key::Memory(id.clone())),
            Self::Memories(Some(kind)) => {
                Selector::Rows(all(ReadTable::Memory).by("kind", kind.as_str()))
            }
            Self::Memories(None) => Selector::Rows(all(ReadTable::Memory)),
            Self::MemoriesNear(tokens) => Selector::Near(tokens.clone()),
            Self::FreeNumbers => Selector::FreeNumbers,
            Self::RecentAttempts(most) => {
                Selector::Rows(all(ReadTable::Attempts).by("open", false).last(*most))
            }
            Self::Faces => Selector::Rows(all(ReadTable::Faces)),
            Self::Face(path) => Selector::Key(Key::Face(path.clone())),
            Self::LastItem(run) => Selector::Lines(all(ReadTable::Items).by("run", *run).last(1)),
            Self::Entry(position) => Selector::Key(Key::Entry(*position)),
        }
    }
}
