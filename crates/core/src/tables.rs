//! The read tables, held in memory.
//!
//! The same rows serve four purposes: a whole store in memory, the few rows
//! that one decision reads, the loop's own picture of its run, and the fold
//! that `journal verify` compares a database with. All change by
//! [`Tables::fold`] and by nothing else.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use crate::attempt::AttemptRow;
use crate::decision::DecisionRow;
use crate::entry::{BlockerRow, EntryRow};
use crate::event::Event;
use crate::id::{AttemptId, DecisionId, Node, RunId, TreePosition};
use crate::item::ItemRow;
use crate::journal::EventStamp;
use crate::lane::{LanesRow, unit_of_node};
use crate::memory::{MemoryKind, MemoryRow};
use crate::merge::MergeReturn;
use crate::name::{FreeNumbers, NameRange, NameRow, Space};
use crate::native_file::NativeFileRow;
use crate::plan::{ItemTurn, Order};
use crate::row::{Key, Row};
use crate::run::{RunRow, RunState};
use crate::scope::FileScope;
use crate::standing::ItemStanding;
use crate::table::ReadTable;
use crate::views::{apply_event, changed_keys};

/// Rows by key, with the orders in which they are asked for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tables {
    rows: BTreeMap<Key, Row>,
    places: BTreeMap<(RunId, TreePosition), Node>,
    actionable: BTreeSet<(RunId, TreePosition)>,
    /// Those of them that wait before they begin, or will, as their plan says.
    waits: BTreeSet<(RunId, TreePosition)>,
    /// The items that are not finished.
    open: BTreeSet<(RunId, TreePosition)>,
    /// The items that an attempt claimed.
    claimed: BTreeSet<(RunId, Node)>,
    numbers: BTreeMap<u64, DecisionId>,
    open_attempts: BTreeSet<AttemptId>,
}

/// What is in a row of that kind; none of another one.
macro_rules! unpack {
    ($kind:ident) => {
        |row| {
            if let Row::$kind(row) = row {
                Some(&**row)
            } else {
                None
            }
        }
    };
}

/// So many items in a row that hold up what stands behind them are looked at:
/// one command finishes one of them at most, and then the next is decisive.
pub const HOLDING_MAX: u32 = 2;

/// The place of the first child of the item at a place.
fn first_child_position(place: &TreePosition) -> TreePosition {
    place.child(0)
}

impl Tables {
    /// The row of that key.
    #[must_use]
    pub fn get(&self, key: &Key) -> Option<&Row> {
        self.rows.get(key)
    }

    /// Puts a row in, in place of the one with its key.
    pub fn insert(&mut self, row: Row) {
        let key = row.key();
        self.remove_from_indexes(&key);
        match &row {
            Row::Item(item) => {
                self.places
                    .insert((item.run, item.plan.place.clone()), item.node.clone());
                let place = || (item.run, item.plan.place.clone());
                if item.is_actionable() {
                    self.actionable.insert(place());
                    if item.has_open_wait() {
                        self.waits.insert(place());
                    }
                }
                if !item.state.is_finished() {
                    self.open.insert(place());
                }
                if item.proof.claimed.is_some() {
                    self.claimed.insert((item.run, item.node.clone()));
                }
            }
            Row::Attempt(attempt) => {
                if attempt.is_open() {
                    self.open_attempts.insert(attempt.id);
                }
            }
            Row::Decision(decision) => {
                self.numbers.insert(decision.number, decision.id);
            }
            Row::Run(_)
            | Row::Entry(_)
            | Row::Blocker(_)
            | Row::Memory(_)
            | Row::Name(_)
            | Row::Face(_) => {}
        }
        self.rows.insert(key, row);
    }

    /// Takes the row of that key out.
    pub fn remove(&mut self, key: &Key) -> Option<Row> {
        self.remove_from_indexes(key);
        self.rows.remove(key)
    }

    fn remove_from_indexes(&mut self, key: &Key) {
        match self.rows.get(key) {
            Some(Row::Item(item)) => {
                let place = (item.run, item.plan.place.clone());
                self.actionable.remove(&place);
                self.waits.remove(&place);
                self.open.remove(&place);
                self.places.remove(&place);
                if item.proof.claimed.is_some() {
                    self.claimed.remove(&(item.run, item.node.clone()));
                }
            }
            Some(Row::Attempt(attempt)) => {
                self.open_attempts.remove(&attempt.id);
            }
            Some(Row::Decision(decision)) => {
                self.numbers.remove(&decision.number);
            }
            Some(
                Row::Run(_)
                | Row::Entry(_)
                | Row::Blocker(_)
                | Row::Memory(_)
                | Row::Name(_)
                | Row::Face(_),
            )
            | None => {}
        }
    }

    /// Changes every row that `event` changes.
    pub fn fold(&mut self, event: &Event, stamp: &EventStamp) {
        // All are taken out before one is put in: items may change places.
        let taken: Vec<_> = changed_keys(event, stamp)
            .into_iter()
            .map(|key| (self.remove(&key), key))
            .collect();
        for (before, key) in taken {
            if let Some(after) = apply_event(&key, before, event, stamp) {
                self.insert(after);
            }
        }
    }

    /// All rows, in the order of their keys.
    pub fn iter(&self) -> impl Iterator<Item = (&Key, &Row)> {
        self.rows.iter()
    }

    /// The run of that id.
    #[must_use]
    pub fn run(&self, run: RunId) -> Option<&RunRow> {
        self.rows.get(&Key::Run(run)).and_then(unpack!(Run))
    }

    /// All runs, the oldest first.
    pub fn runs(&self) -> impl Iterator<Item = &RunRow> {
        self.rows_of_table(ReadTable::Runs).filter_map(unpack!(Run))
    }

    /// The item of that node.
    #[must_use]
    pub fn item(&self, run: RunId, node: &Node) -> Option<&ItemRow> {
        self.rows
            .get(&Key::Item(run, node.clone()))
            .and_then(unpack!(Item))
    }

    /// The item at that place.
    #[must_use]
    pub fn item_at(&self, run: RunId, place: &TreePosition) -> Option<&ItemRow> {
        self.places
            .get(&(run, place.clone()))
            .and_then(|node| self.item(run, node))
    }

    /// The rows of a table, in the order of their keys.
    pub(crate) fn rows_of_table(&self, table: ReadTable) -> impl Iterator<Item = &Row> {
        self.rows
            .range(table.first_key()..)
            .map_while(move |(key, row)| (key.table() == table).then_some(row))
    }

    /// The items of a run, in the order of their nodes: where the order of the
    /// tree does not matter, this is far cheaper than [`Tables::tree`].
    pub fn items(&self, run: RunId) -> impl Iterator<Item = &ItemRow> {
        self.item_rows(run).filter_map(unpack!(Item))
    }

    /// The same as rows.
    pub(crate) fn item_rows(&self, run: RunId) -> impl Iterator<Item = &Row> {
        let rows = self.rows.range(Key::Item(run, Node::from_text(""))..);
        rows.take_while(move |(key, _)| matches!(key, Key::Item(of, _) if *of == run))
            .map(|(_, row)| row)
    }

    /// The items of a run that depend on one, or on one above it.
    pub fn items_waiting_for<'t>(
        &'t self,
        run: RunId,
        node: &'t Node,
    ) -> impl Iterator<Item = &'t ItemRow> {
        let depends =
            move |item: &&ItemRow| item.plan.depends_on.iter().any(|on| node.is_within(on));
        self.items(run).filter(depends)
    }

    /// The items of a run, in tree order.
    pub fn tree(&self, run: RunId) -> impl Iterator<Item = &ItemRow> {
        let from = (run, TreePosition::default());
        self.places
            .range(from..)
            .take_while(move |((of, _), _)| *of == run)
            .filter_map(move |(_, node)| self.item(run, node))
    }

    /// The items of a run that an attempt claimed, by their names.
    pub fn items_claimed_by(
        &self,
        run: RunId,
        attempt: AttemptId,
    ) -> impl Iterator<Item = &ItemRow> {
        let of_run = self.claimed.iter().filter(move |(of, _)| *of == run);
        let items = of_run.filter_map(move |(_, node)| self.item(run, node));
        items.filter(move |item| {
            let by = item.proof.claimed.as_ref();
            by.is_some_and(|by| by.attempt == Some(attempt))
        })
    }

    /// The item and those below it, in tree order.
    pub fn subtree(&self, run: RunId, place: &TreePosition) -> impl Iterator<Item = &ItemRow> {
        let prefix = place.0.clone();
        self.places
            .range((run, place.clone())..)
            .take_while(move |((of, at), _)| *of == run && at.0.starts_with(&prefix))
            .filter_map(move |(_, node)| self.item(run, node))
    }

    /// The items that share a lane: the unit and those below it that are no units
    /// themselves.
    pub fn items_of_unit<'t>(&'t self, unit: &'t ItemRow) -> impl Iterator<Item = &'t ItemRow> {
        let below = self.subtree(unit.run, &unit.plan.place);
        below.filter(|item| unit_of_node(&item.node) == unit.node)
    }

    /// The files that a unit is about: what it says, with what is said by the items
    /// that share its lane and by those above it, and those in which it conflicted:
    /// of two that are brought together with the target at once, one would conflict
    /// again.
    #[must_use]
    pub fn scope_of_unit(&self, unit: &ItemRow) -> FileScope {
        let above = unit.node.ancestors();
        let above = above.filter_map(|node| self.item(unit.run, &node));
        let mut scope = FileScope::default();
        let returned = unit.merge().and_then(|merge| merge.why.as_ref());
        if let Some(MergeReturn::Conflict { files }) = returned {
            scope.0.clone_from(files);
        }
        for item in self.items_of_unit(unit).chain(above) {
            scope.add_paths(&item.plan.scope);
        }
        scope
    }

    /// The repository in which an item is worked on, by its name in the plan; none is
    /// the one in which the project lies. All items of a unit share that of the unit.
    #[must_use]
    pub fn repository_of<'t>(&'t self, item: &'t ItemRow) -> Option<&'t str> {
        let unit = unit_of_node(&item.node);
        let unit = if unit == item.node {
            Some(item)
        } else {
            self.item(item.run, &unit)
        };
        let unit = unit?;
        let above = unit.node.ancestors();
        let above = above.filter_map(|node| self.item(unit.run, &node));
        let mut line = std::iter::once(unit).chain(above);
        line.find_map(|row| row.plan.repository.as_deref())
    }

    /// The unit at work that another one has to wait for, since both are about the
    /// same files of one repository, and which of these: it has a lane, or its work is
    /// not merged yet.
    #[must_use]
    pub fn find_overlapping_unit<'l>(
        &self,
        lanes: &'l LanesRow,
        unit: &ItemRow,
    ) -> Option<(&'l Node, &'l str)> {
        if lanes.scopes.is_empty() {
            return None;
        }
        let scope = self.scope_of_unit(unit);
        lanes.find_overlapping_unit(&unit.node, self.repository_of(unit), &scope)
    }

    /// The children of an item, or the roots of a run, that are not finished, in
    /// their order.
    pub fn open_children<'t>(
        &'t self,
        run: RunId,
        above: &TreePosition,
    ) -> impl Iterator<Item = &'t ItemRow> + use<'t> {
        let prefix = above.0.clone();
        let depth = prefix.len();
        let mut from = TreePosition(prefix.clone());
        // What lies below a child is passed over: the next look begins behind it.
        std::iter::from_fn(move || {
            loop {
                let mut found = self.open.range((run, from.clone())..);
                let below =
                    |(of, at): &&(RunId, TreePosition)| *of == run && at.0.starts_with(&prefix);
                let (_, at) = found.next().filter(below)?;
                let Some(index) = at.0.get(depth) else {
                    from = first_child_position(at);
                    continue;
                };
                let mut child = prefix.clone();
                child.push(*index);
                from = TreePosition(prefix.clone());
                from.0.push(index.checked_add(1)?);
                let row = self.item_at(run, &TreePosition(child));
                if let Some(row) = row.filter(|row| !row.state.is_finished()) {
                    return Some(row);
                }
            }
        })
    }

    /// The items beside one, and beside each of those above it, that are not
    /// finished: up to the second that holds up what stands behind it. What is
    /// behind can be told from these, also when the one itself is finished.
    #[must_use]
    pub fn open_items_beside(&self, run: RunId, node: &Node) -> Vec<Node> {
        let mut found = Vec::new();
        for row in node.line().filter_map(|node| self.item(run, &node)) {
            let above = row.plan.place.parent();
            let mut holding = 0;
            for sibling in self.open_children(run, &above) {
                found.push(sibling.node.clone());
                holding += u32::from(sibling.plan.turn.is_blocking(ItemTurn::default()));
                if holding == HOLDING_MAX {
                    break;
                }
            }
        }
        found
    }

    /// The first of the items for which one has to wait because they stand before
    /// it.
    #[must_use]
    pub fn find_blocking_predecessor(&self, item: &ItemRow) -> Option<&ItemRow> {
        self.find_predecessor(
            item.run,
            &item.plan.place,
            item.plan.turn,
            &item.plan.depends_on,
        )
    }

    /// Of the items that wait for a person, and of those that are broken, the
    /// first.
    pub fn first_in_trouble(&self, run: RunId) -> impl Iterator<Item = &ItemRow> {
        let first = move |wanted| self.tree(run).find(move |item| item.standing() == wanted);
        [ItemStanding::Asking, ItemStanding::Broken]
            .into_iter()
            .filter_map(first)
    }

    /// Whether an item, that its plan gives nothing to wait for, has to wait for
    /// what stands before it below the same parent.
    #[must_use]
    pub fn has_blocking_predecessor(
        &self,
        run: RunId,
        place: &TreePosition,
        turn: ItemTurn,
        depends_on: &[Node],
    ) -> bool {
        self.find_predecessor(run, place, turn, depends_on)
            .is_some()
    }

    fn find_predecessor(
        &self,
        run: RunId,
        place: &TreePosition,
        turn: ItemTurn,
        depends_on: &[Node],
    ) -> Option<&ItemRow> {
        let order = self.run(run).map(|row| row.plan.order);
        if order != Some(Order::InTurn) || !depends_on.is_empty() {
            return None;
        }
        let first = (run, place.parent().child(0));
        self.open
            .range(first..(run, place.clone()))
            .filter(|(_, at)| at.depth() == place.depth())
            .filter_map(|(_, at)| self.item_at(run, at))
            .find(|sibling| sibling.plan.turn.is_blocking(turn))
    }

    /// How long agents and checks were at work on the item and on those below
    /// it, in milliseconds. `now` counts what is under way as well.
    #[must_use]
    pub fn total_work_ms(&self, item: &ItemRow, now: Option<Timestamp>) -> u64 {
        if item.is_leaf() {
            return item.work_ms_until(now);
        }
        self.subtree(item.run, &item.plan.place)
            .map(|row| row.work_ms_until(now))
            .fold(0, u64::saturating_add)
    }

    /// The first item of a run, in tree order, that its runner has something
    /// to do with, be it to wait until it may be tried again.
    ///
    /// What depends on something unfinished is pending and passed over, so
    /// that tree order becomes an order that the dependencies allow.
    #[must_use]
    pub fn next_actionable_item(&self, run: RunId) -> Option<&ItemRow> {
        self.items_at_places(run, &self.actionable).next()
    }

    /// The items of a run, in tree order, that could be started, and wait before they
    /// begin, or will, as their plan says.
    pub fn items_waiting_by_plan(&self, run: RunId) -> impl Iterator<Item = &ItemRow> {
        self.items_at_places(run, &self.waits)
    }

    fn items_at_places<'t>(
        &'t self,
        run: RunId,
        places: &'t BTreeSet<(RunId, TreePosition)>,
    ) -> impl Iterator<Item = &'t ItemRow> {
        let all = places.range((run, TreePosition::default())..);
        let own = all.take_while(move |(of, _)| *of == run);
        own.filter_map(move |(_, place)| self.item_at(run, place))
    }

    /// The item that a runner works on next, of those that are free: the first that need
    /// not wait for a time, as `not_before` says. Where all have to, it is the one that has
    /// to wait least, or one that `holds_others` up.
    pub fn next_item_at(
        &self,
        run: RunId,
        is_free: impl Fn(&ItemRow) -> bool,
        not_before: impl Fn(&ItemRow) -> Option<Timestamp>,
        holds_others: impl Fn(&ItemRow) -> bool,
    ) -> Option<&ItemRow> {
        let items = self.items_at_places(run, &self.actionable);
        let items = items.filter(|item| is_free(item));
        let mut least: Option<(Timestamp, &ItemRow)> = None;
        for item in items {
            let Some(until) = not_before(item) else {
                return Some(item);
            };
            if holds_others(item) {
                return Some(item);
            }
            if least.is_none_or(|(other, _)| until < other) {
                least = Some((until, item));
            }
        }
        least.map(|(_, item)| item)
    }

    /// The node that a run's pointer names: the one that its state is about,
    /// else the next one, else the last leaf.
    #[must_use]
    pub fn current_item(&self, run: RunId) -> Option<&ItemRow> {
        let at = self.run(run).and_then(|row| {
            let held = matches!(row.state, RunState::Waiting | RunState::Blocked);
            row.at.as_ref().filter(|_| held && row.pause.is_none())
        });
        at.and_then(|node| self.item(run, node))
            .or_else(|| self.next_actionable_item(run))
            .or_else(|| self.last_item(run))
    }

    /// The last item of a run in tree order, a leaf.
    fn last_item(&self, run: RunId) -> Option<&ItemRow> {
        let end = (run, TreePosition(vec![u32::MAX]));
        let (_, node) = self
            .places
            .range((run, TreePosition::default())..end)
            .next_back()?;
        self.item(run, node)
    }

    /// The last root of a run.
    #[must_use]
    pub fn last_root(&self, run: RunId) -> Option<&ItemRow> {
        let last = self.last_item(run)?;
        let root = TreePosition(last.plan.place.0.first().copied().into_iter().collect());
        self.item_at(run, &root)
    }

    /// The attempt of that id.
    #[must_use]
    pub fn attempt(&self, attempt: AttemptId) -> Option<&AttemptRow> {
        self.rows
            .get(&Key::Attempt(attempt))
            .and_then(unpack!(Attempt))
    }

    /// All attempts, the oldest first.
    #[must_use]
    pub fn attempts_by_time(&self) -> Vec<&AttemptRow> {
        let mut attempts: Vec<&AttemptRow> = self.attempts().collect();
        attempts.sort_by_key(|row| (row.happened_at(), row.id));
        attempts
    }

    /// All attempts, by id: in no order of time, because those that were taken
    /// from files have ids that are made of their words.
    pub fn attempts(&self) -> impl Iterator<Item = &AttemptRow> {
        self.rows_of_table(ReadTable::Attempts)
            .filter_map(unpack!(Attempt))
    }

    /// The attempts without an outcome.
    pub fn open_attempts(&self) -> impl Iterator<Item = &AttemptRow> {
        self.open_attempts.iter().filter_map(|id| self.attempt(*id))
    }

    /// The decision of that id.
    #[must_use]
    pub fn decision(&self, decision: DecisionId) -> Option<&DecisionRow> {
        self.rows
            .get(&Key::Decision(decision))
            .and_then(unpack!(Decision))
    }

    /// All decisions, by number.
    pub fn decisions(&self) -> impl Iterator<Item = &DecisionRow> {
        self.numbers.values().filter_map(|id| self.decision(*id))
    }

    /// The decisions of a run that are not made.
    pub fn open_decisions(&self, run: RunId) -> impl Iterator<Item = &DecisionRow> {
        self.decisions()
            .filter(move |row| row.run == run && row.verdict.is_none())
    }

    /// The number that the next decision will have, if all are here.
    #[must_use]
    pub fn next_decision_number(&self) -> u64 {
        self.numbers.keys().next_back().map_or(1, |last| last + 1)
    }

    /// All entries, the oldest first.
    #[must_use]
    pub fn entries_by_time(&self) -> Vec<&EntryRow> {
        let mut entries: Vec<&EntryRow> = self.entries().collect();
        entries.sort_by_key(|row| (row.timestamp, row.position));
        entries
    }

    /// All entries, in the order in which they were stored: what was taken from
    /// a file may have happened before what stands before it.
    pub fn entries(&self) -> impl Iterator<Item = &EntryRow> {
        self.rows_of_table(ReadTable::Entries)
            .filter_map(unpack!(Entry))
    }

    /// What blocks a task, unless something has completed it since.
    #[must_use]
    pub fn blocker(&self, spec: &Option<String>, task_id: &Option<String>) -> Option<&BlockerRow> {
        self.rows
            .get(&Key::Blocker(spec.clone(), task_id.clone()))
            .and_then(unpack!(Blocker))
    }

    /// The blocked tasks that nothing has completed since.
    pub fn blockers(&self) -> impl Iterator<Item = &BlockerRow> {
        self.rows_of_table(ReadTable::Blockers)
            .filter_map(unpack!(Blocker))
    }

    /// Everything remembered, by id.
    pub fn memories(&self) -> impl Iterator<Item = &MemoryRow> {
        self.rows_of_table(ReadTable::Memory)
            .filter_map(unpack!(Memory))
    }

    /// What is remembered under that id.
    #[must_use]
    pub fn find_memory(&self, id: &str) -> Option<&MemoryRow> {
        self.rows
            .get(&Key::Memory(id.to_owned()))
            .and_then(unpack!(Memory))
    }

    /// The numbers that are free for memories of that kind, if all are here, for
    /// a store that is alone.
    #[must_use]
    pub fn free_numbers(&self, kind: MemoryKind) -> FreeNumbers {
        let rows = self.memories().filter(|row| row.memory.kind == kind);
        let taken: BTreeSet<u64> = rows.map(|row| row.number).collect();
        let own = taken.range(..NameRange::SHARED_FROM).next_back();
        FreeNumbers::outside_taken(&taken, own.map_or(1, |last| last + 1))
    }

    /// What a name names.
    #[must_use]
    pub fn find_name(&self, space: Space, name: &str) -> Option<&NameRow> {
        self.rows
            .get(&Key::Name(space, name.to_owned()))
            .and_then(unpack!(Name))
    }

    /// The names of a space that begin so, in their order.
    pub fn names_with_prefix<'t>(
        &'t self,
        space: Space,
        start: &'t str,
    ) -> impl Iterator<Item = &'t NameRow> {
        let rows = self.rows.range(Key::Name(space, start.to_owned())..);
        rows.map(|(_, row)| row)
            .map_while(unpack!(Name))
            .take_while(move |row| row.space == space && row.name.starts_with(start))
    }

    /// Every native file that is or was a face, by path.
    pub fn native_files(&self) -> impl Iterator<Item = &NativeFileRow> {
        self.rows_of_table(ReadTable::Faces)
            .filter_map(unpack!(Face))
    }

    /// The entry at that position of the stream of the sessions.
    #[must_use]
    pub fn entry(&self, position: u64) -> Option<&EntryRow> {
        self.rows
            .get(&Key::Entry(position))
            .and_then(unpack!(Entry))
    }
}
