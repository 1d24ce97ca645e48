//! What the read tables are called, and by which columns their rows are found.
//!
//! A store keeps each row whole, and beside it the columns named here, which
//! repeat what the row says: [`Row::columns`] alone makes them. How a need is
//! stated with them: [`crate::Selector`].

use jiff::Timestamp;

use crate::id::{AttemptId, DecisionId, Node, RunId};
use crate::name::Space;
use crate::row::{Key, Row};

/// One of the read tables, in the order of their keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ReadTable {
    /// Of [`Row::Run`].
    Runs,
    /// Of [`Row::Item`].
    Items,
    /// Of [`Row::Attempt`].
    Attempts,
    /// Of [`Row::Decision`].
    Decisions,
    /// Of [`Row::Entry`].
    Entries,
    /// Of [`Row::Blocker`].
    Blockers,
    /// Of [`Row::Memory`].
    Memory,
    /// Of [`Row::Name`].
    Names,
    /// Of [`Row::Face`].
    Faces,
}

/// What a store has to know of a table.
#[derive(Debug)]
pub struct TableDescriptor {
    /// Its name.
    pub name: &'static str,
    /// The columns that form its key.
    pub key: &'static [&'static str],
    /// The other columns by which its rows are found.
    pub others: &'static [&'static str],
    /// The columns by which some row of it is the last one; none where there is
    /// no such order.
    pub order: &'static [&'static str],
}

impl ReadTable {
    /// All tables, in the order of their keys.
    pub const ALL: [Self; 9] = [
        Self::Runs,
        Self::Items,
        Self::Attempts,
        Self::Decisions,
        Self::Entries,
        Self::Blockers,
        Self::Memory,
        Self::Names,
        Self::Faces,
    ];

    /// What a store has to know of it.
    #[must_use]
    pub fn descriptor(self) -> TableDescriptor {
        let (name, key, others, order): (_, &[_], &[_], &[_]) = match self {
            Self::Runs => ("runs", &["id"], &["name"], &[]),
            Self::Items => (
                "items",
                &["run", "node"],
                &["place", "standing"],
                &["place"],
            ),
            Self::Attempts => {
                let others = &["run", "node", "open", "time"];
                ("attempts", &["id"], others, &["time", "id"])
            }
            Self::Decisions => (
                "decisions",
                &["id"],
                &["number", "run", "open"],
                &["number"],
            ),
            Self::Entries => {
                let others = &["type", "time"];
                ("entries", &["position"], others, &["time", "position"])
            }
            Self::Blockers => ("blockers", &["task"], &[], &[]),
            Self::Memory => ("memory", &["id"], &["kind", "number"], &[]),
            Self::Names => ("names", &["space", "name"], &[], &[]),
            Self::Faces => ("faces", &["path"], &[], &[]),
        };
        TableDescriptor {
            name,
            key,
            others,
            order,
        }
    }
}

impl ReadTable {
    /// Its place among all tables.
    #[must_use]
    pub fn index(self) -> usize {
        self as usize
    }

    /// The key before which no row of it stands.
    pub(crate) fn first_key(self) -> Key {
        let id = uuid::Uuid::nil();
        match self {
            Self::Runs => Key::Run(RunId(id)),
            Self::Items => Key::Item(RunId(id), Node::from_text("")),
            Self::Attempts => Key::Attempt(AttemptId(id)),
            Self::Decisions => Key::Decision(DecisionId(id)),
            Self::Entries => Key::Entry(0),
            Self::Blockers => Key::Blocker(None, None),
            Self::Memory => Key::Memory(String::new()),
            Self::Names => Key::Name(Space::ALL[0], String::new()),
            Self::Faces => Key::Face(String::new()),
        }
    }
}

impl TableDescriptor {
    /// Its columns in the order of [`Row::columns`], the key first.
    pub fn columns(&self) -> impl Iterator<Item = &'static str> {
        self.key.iter().chain(self.others).copied()
    }
}

/// What stands in a column.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ColumnValue {
    /// A yes or a no.
    Flag(bool),
    /// A number, or a time in microseconds.
    Integer(i64),
    /// A text.
    Text(String),
    /// An id, or a place in a tree.
    Bytes(Vec<u8>),
}

impl ColumnValue {
    fn of_id(id: uuid::Uuid) -> Self {
        Self::Bytes(id.as_bytes().to_vec())
    }

    fn of_time(time: Timestamp) -> Self {
        Self::Integer(time.as_microsecond())
    }
}

impl From<RunId> for ColumnValue {
    fn from(run: RunId) -> Self {
        Self::of_id(run.0)
    }
}

impl From<&str> for ColumnValue {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<u64> for ColumnValue {
    /// There are no numbers above 2^63.
    fn from(number: u64) -> Self {
        Self::Integer(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

impl From<bool> for ColumnValue {
    fn from(flag: bool) -> Self {
        Self::Flag(flag)
    }
}

impl Key {
    /// The table of its row.
    #[must_use]
    pub fn table(&self) -> ReadTable {
        match self {
            Self::Run(_) => ReadTable::Runs,
            Self::Item(..) => ReadTable::Items,
            Self::Attempt(_) => ReadTable::Attempts,
            Self::Decision(_) => ReadTable::Decisions,
            Self::Entry(_) => ReadTable::Entries,
            Self::Blocker(..) => ReadTable::Blockers,
            Self::Memory(_) => ReadTable::Memory,
            Self::Name(..) => ReadTable::Names,
            Self::Face(_) => ReadTable::Faces,
        }
    }

    /// What stands in the columns that form the key.
    #[must_use]
    pub fn columns(&self) -> Vec<ColumnValue> {
        match self {
            Self::Run(run) => vec![(*run).into()],
            Self::Item(run, node) => vec![(*run).into(), node.as_str().into()],
            Self::Attempt(attempt) => vec![ColumnValue::of_id(attempt.0)],
            Self::Decision(decision) => vec![ColumnValue::of_id(decision.0)],
            Self::Entry(position) => vec![(*position).into()],
            Self::Blocker(spec, task) => {
                let task = serde_json::to_string(&(spec, task));
                vec![ColumnValue::Text(task.expect("two texts are JSON"))]
            }
            Self::Memory(id) => vec![id.as_str().into()],
            Self::Name(space, name) => vec![space.as_str().into(), name.as_str().into()],
            Self::Face(path) => vec![path.as_str().into()],
        }
    }
}

impl Row {
    /// What stands in all columns of the descriptor of its table.
    #[must_use]
    pub fn columns(&self) -> Vec<ColumnValue> {
        let mut columns = self.key().columns();
        match self {
            Self::Run(run) => columns.push(run.name.as_str().into()),
            Self::Item(item) => {
                columns.push(ColumnValue::Bytes(item.plan.place.to_key()));
                columns.push(ColumnValue::Integer(item.standing().column_value()));
            }
            Self::Attempt(attempt) => {
                columns.push(attempt.run.into());
                columns.push(attempt.node.as_str().into());
                columns.push(attempt.is_open().into());
                columns.push(ColumnValue::of_time(attempt.happened_at()));
            }
            Self::Decision(decision) => {
                columns.push(decision.number.into());
                columns.push(decision.run.into());
                columns.push(decision.verdict.is_none().into());
            }
            Self::Entry(entry) => {
                columns.push(entry.entry.kind.as_str().into());
                columns.push(ColumnValue::of_time(entry.timestamp));
            }
            Self::Memory(memory) => {
                columns.push(memory.memory.kind.as_str().into());
                columns.push(memory.number.into());
            }
            Self::Blocker(_) | Self::Name(_) | Self::Face(_) => {}
        }
        columns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_key_of_each_table_stands_in_it_and_in_their_order() {
        let firsts = ReadTable::ALL.map(ReadTable::first_key);
        assert!(firsts.is_sorted());
        assert_eq!(firsts.map(|key| key.table()), ReadTable::ALL);
    }

    #[test]
    fn a_key_has_a_value_for_each_of_its_columns() {
        for table in ReadTable::ALL {
            let columns = table.first_key().columns();
            assert_eq!(columns.len(), table.descriptor().key.len(), "{table:?}");
        }
    }
}
