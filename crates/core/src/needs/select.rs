//! Needs, answered from tables in memory.
//!
//! Exactly the rows that are asked for: no decision works in a test because it
//! happened to see more than it would see of a database.

use jiff::Timestamp;

use super::Need;
use super::selector::{ColumnCondition, RowQuery, Selector};
use crate::id::{Node, RunId};
use crate::item::ItemRow;
use crate::recall::TableIndex;
use crate::row::{Key, Row};
use crate::table::{ColumnValue, ReadTable};
use crate::tables::Tables;

impl Tables {
    /// The rows that `wanted` asks for, at this time by the store's clock.
    #[must_use]
    pub fn select_rows(&self, wanted: &[Need], now: Timestamp) -> Self {
        let mut selection = RowSelection {
            all: self,
            rows: Self::default(),
        };
        for need in wanted {
            selection.add_selected(&need.selector(now));
        }
        selection.rows
    }

    /// The rows that fit.
    ///
    /// # Panics
    ///
    /// When the query names a column that its table does not have.
    #[must_use]
    pub fn matching_rows(&self, query: &RowQuery) -> Vec<&Row> {
        let columns: Vec<&str> = query.table.descriptor().columns().collect();
        let position = |name: &str| {
            let position = columns.iter().position(|column| *column == name);
            position.expect("a query names columns of its table")
        };
        let fits = |row: &&Row| {
            let mut conditions = query.conditions.iter();
            let values = row.columns();
            conditions.all(|(name, condition)| condition.is_met_by(&values[position(name)]))
        };
        let mut rows: Vec<&Row> = match (query.table, query.run()) {
            // By far the most rows, and their key begins with their run.
            (ReadTable::Items, Some(run)) => self.item_rows(run).collect(),
            _ => self.rows_of_table(query.table).filter(fits).collect(),
        };
        if let Some(most) = query.last {
            let order = query.table.descriptor().order;
            rows.sort_by_cached_key(|row| {
                let values = row.columns();
                let ordered = order.iter().map(|name| values[position(name)].clone());
                ordered.collect::<Vec<ColumnValue>>()
            });
            rows.drain(..rows.len().saturating_sub(most));
        }
        rows
    }
}

impl ColumnCondition {
    fn is_met_by(&self, value: &ColumnValue) -> bool {
        match (self, value) {
            (Self::Is(wanted), _) => wanted == value,
            (Self::StartsWith(start), ColumnValue::Text(text)) => text.starts_with(start),
            (Self::StartsWith(_), _) => false,
        }
    }
}

struct RowSelection<'t> {
    all: &'t Tables,
    rows: Tables,
}

impl RowSelection<'_> {
    fn add_selected(&mut self, selector: &Selector) {
        let all = self.all;
        match selector {
            Selector::Key(key) => self.add_key(key),
            Selector::Rows(query) => self.add_rows(all.matching_rows(query)),
            Selector::Named(query) => {
                for row in all.matching_rows(query) {
                    self.rows.insert(row.clone());
                    if let Row::Name(name) = row {
                        self.add_key(&name.target_key());
                    }
                }
            }
            Selector::Lines(query) => {
                for row in all.matching_rows(query) {
                    if let Row::Item(item) = row {
                        self.add_line(item.run, &item.node);
                    }
                }
            }
            Selector::Line(run, node) => self.add_line(*run, node),
            Selector::Subtree(run, node) => self.add_subtree(*run, node),
            Selector::FailureTree(run) => {
                self.add_key(&Key::Run(*run));
                if all
                    .run(*run)
                    .is_some_and(|row| row.plan.policy.on_dependency_failure.is_some())
                {
                    self.add_items(all.items(*run));
                }
            }
            Selector::Dependents(run, node) => self.add_dependents(*run, node),
            Selector::Successors(run, node) => self.add_successors(*run, node),
            Selector::Near(tokens) => {
                let near = TableIndex::from_tables(all).nearest_memories(tokens);
                let keys = near.into_iter().map(Key::Memory);
                keys.for_each(|key| self.add_key(&key));
            }
            Selector::Standings(run) => self.add_items(all.first_in_trouble(*run)),
            // These are no rows: see [`crate::Rows`].
            Selector::Leases(_) | Selector::FreeNumbers | Selector::NextDecision => {}
        }
    }

    fn add_key(&mut self, key: &Key) {
        self.add_rows(self.all.get(key));
    }

    fn add_rows<'r>(&mut self, rows: impl IntoIterator<Item = &'r Row>) {
        let rows = rows.into_iter().cloned();
        rows.for_each(|row| self.rows.insert(row));
    }

    fn add_items<'r>(&mut self, items: impl IntoIterator<Item = &'r ItemRow>) {
        let rows = items
            .into_iter()
            .map(|item| Row::Item(Box::new(item.clone())));
        rows.for_each(|row| self.rows.insert(row));
    }

    fn add_nodes(&mut self, run: RunId, nodes: impl IntoIterator<Item = Node>) {
        let keys = nodes.into_iter().map(|node| Key::Item(run, node));
        keys.for_each(|key| self.add_key(&key));
    }

    fn add_line(&mut self, run: RunId, node: &Node) {
        self.add_nodes(run, node.line());
    }

    fn add_subtree(&mut self, run: RunId, node: &Node) {
        if let Some(top) = self.all.item(run, node) {
            self.add_items(self.all.subtree(run, &top.plan.place));
        }
    }

    fn add_dependents(&mut self, run: RunId, node: &Node) {
        for item in self.all.items_waiting_for(run, node) {
            self.add_subtree(run, &item.node);
            self.add_nodes(run, item.plan.depends_on.iter().cloned());
        }
    }

    fn add_successors(&mut self, run: RunId, node: &Node) {
        let all = self.all;
        for item in all.items_waiting_for(run, node) {
            self.add_line(run, &item.node);
            self.add_nodes(run, all.open_items_beside(run, &item.node));
        }
        let mut beside = all.open_items_beside(run, node);
        self.add_nodes(run, beside.iter().cloned());
        beside.retain(|other| !node.is_within(other));
        beside.iter().for_each(|other| self.add_subtree(run, other));
        let line = node.line().filter_map(|node| all.item(run, &node));
        let below = beside.iter().filter_map(|other| all.item(run, other));
        let below = below.flat_map(|other| all.subtree(run, &other.plan.place));
        for row in line.chain(below) {
            self.add_nodes(run, row.plan.depends_on.iter().cloned());
        }
    }
}
