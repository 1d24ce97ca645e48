//! What a person or another program changed in a list.

use std::collections::{BTreeSet, HashMap};

use piton_core::plan::PlannedItem;
use piton_core::{Edit, ItemRow, ItemState, Node, TreePosition};

use super::{ArrangedList, ListOrder, ListTraits, ListedStatus};
use crate::plan_file::{MarkChange, PlanChanges, PlannedChange, ShownRun, file_items};

/// A version of a list, and the last one that piton wrote, where that is known.
pub(super) struct StatusDiffer<'a> {
    pub(super) traits: &'static ListTraits,
    pub(super) base: Option<&'a ArrangedList>,
    pub(super) theirs: &'a ArrangedList,
}

/// An item of the file that piton knows.
struct KnownItem<'a> {
    /// Its place in the list.
    at: usize,
    /// The same in the version before.
    was: Option<usize>,
    row: &'a ItemRow,
}

impl ArrangedList {
    fn indexes(&self) -> HashMap<&Node, usize> {
        self.nodes.iter().zip(0..).collect()
    }
}

impl StatusDiffer<'_> {
    pub(super) fn diff(&self, shown: ShownRun<'_>) -> PlanChanges {
        let rows: Vec<&ItemRow> = file_items(shown.tables, shown.run).collect();
        let by_node: HashMap<&Node, &ItemRow> = rows.iter().map(|row| (&row.node, *row)).collect();
        let before = self.base.map(ArrangedList::indexes);
        let mut found = PlanChanges::default();
        self.push_inserts(&by_node, &mut found);
        self.push_orders(&rows, &by_node, &mut found);
        for at in self.theirs.order.iter().copied() {
            let node = &self.theirs.nodes[at];
            if let Some(row) = by_node.get(node) {
                let was = before.as_ref().and_then(|before| before.get(node).copied());
                self.push_changes(&KnownItem { at, was, row }, &mut found);
            }
        }
        let there = self.theirs.indexes();
        for row in rows {
            let was_there = before
                .as_ref()
                .is_none_or(|before| before.contains_key(&row.node));
            found.note_presence(row, was_there, there.contains_key(&row.node));
        }
        found
    }

    /// Adds what is new, each with what is new below it.
    fn push_inserts(&self, by_node: &HashMap<&Node, &ItemRow>, found: &mut PlanChanges) {
        let mut inserts: Vec<Edit> = Vec::new();
        let mut part_of: HashMap<usize, usize> = HashMap::new();
        let mut last: HashMap<Option<usize>, Node> = HashMap::new();
        let mut there: BTreeSet<&Node> = by_node.keys().copied().collect();
        for at in self.theirs.order.iter().copied() {
            let (node, parent) = (&self.theirs.nodes[at], self.theirs.parents[at]);
            let after = last.insert(parent, node.clone());
            if by_node.contains_key(node) {
                continue;
            }
            let mut item = self.plan_item(self.theirs, at);
            // What is inserted later cannot be waited for yet.
            item.depends_on.retain(|on| there.contains(on));
            there.insert(node);
            let edit = parent.and_then(|parent| part_of.get(&parent).copied());
            if let Some(Edit::Insert { items, .. }) = edit.and_then(|edit| inserts.get_mut(edit)) {
                items.push(item);
                part_of.insert(at, edit.unwrap_or_default());
                continue;
            }
            let depth = node.ancestors().count();
            item.place = TreePosition(vec![0; depth]).child(0);
            part_of.insert(at, inserts.len());
            inserts.push(Edit::Insert {
                parent: parent.map(|parent| self.theirs.nodes[parent].clone()),
                after,
                items: vec![item],
            });
        }
        found
            .edits
            .extend(inserts.into_iter().map(with_relative_places));
    }

    fn plan_item(&self, list: &ArrangedList, at: usize) -> PlannedItem {
        self.traits.plan_item(list, at)
    }

    /// The order is changed where those that were there before stand otherwise than
    /// before.
    fn push_orders(
        &self,
        rows: &[&ItemRow],
        by_node: &HashMap<&Node, &ItemRow>,
        found: &mut PlanChanges,
    ) {
        let then: Vec<&Node> = match self.base {
            Some(base) => base.order.iter().map(|at| &base.nodes[*at]).collect(),
            None => rows.iter().map(|row| &row.node).collect(),
        };
        let now: Vec<&Node> = self
            .theirs
            .order
            .iter()
            .map(|at| &self.theirs.nodes[*at])
            .collect();
        let set_of =
            |nodes: &[&Node]| -> BTreeSet<Node> { nodes.iter().copied().cloned().collect() };
        let (of_then, of_now) = (set_of(&then), set_of(&now));
        let stays = |node: &&Node| {
            of_then.contains(*node) && of_now.contains(*node) && by_node.contains_key(*node)
        };
        let mut siblings: HashMap<Option<Node>, (Vec<&Node>, Vec<&Node>)> = HashMap::new();
        for node in then.iter().copied().filter(stays) {
            siblings.entry(node.parent()).or_default().0.push(node);
        }
        for node in now.iter().copied().filter(stays) {
            siblings.entry(node.parent()).or_default().1.push(node);
        }
        let parents: BTreeSet<&Option<Node>> = siblings.keys().collect();
        for parent in parents {
            let (before, after) = &siblings[parent];
            if before != after {
                let of_parent = now.iter().filter(|node| node.parent() == *parent);
                found.edits.push(Edit::Order {
                    parent: parent.clone(),
                    nodes: of_parent.map(|node| (*node).clone()).collect(),
                });
            }
        }
    }

    fn push_changes(&self, item: &KnownItem<'_>, found: &mut PlanChanges) {
        let KnownItem { at, was, row } = *item;
        let node = || row.node.clone();
        let before = self.base.zip(was);
        let now = self.plan_item(self.theirs, at);
        let before_planned = before.map(|(base, was)| self.plan_item(base, was));
        let waits_for_others = before_planned
            .as_ref()
            .is_some_and(|was| was.depends_on != now.depends_on);
        let is_by_name = self.traits.order == ListOrder::ByName;
        if is_by_name && waits_for_others && !row.state.is_finished() {
            found.edits.push(Edit::SetDependsOn {
                node: node(),
                depends_on: now.depends_on.clone(),
            });
        }
        if !self.theirs.is_holder(at) {
            self.push_status(item, found);
        }
        if row.plan.native != now.native {
            found.edits.push(Edit::SetNative {
                node: Some(node()),
                native: now.native.clone(),
            });
        }
        let said = PlannedChange {
            before: before_planned,
            now,
        };
        said.push_word_edits(row, found);
    }

    fn push_status(&self, item: &KnownItem<'_>, found: &mut PlanChanges) {
        let KnownItem { at, was, row } = *item;
        let now = self.theirs.status(at);
        let before = self.base.zip(was).map(|(base, was)| base.status(was));
        let is_left_out = row.state.is_left_out();
        let to = match (before, now) {
            (Some(ListedStatus::Open), ListedStatus::LeftOut) if !row.state.is_finished() => {
                Some(ItemState::Skipped)
            }
            (Some(ListedStatus::LeftOut), ListedStatus::Open) if is_left_out => {
                Some(ItemState::Pending)
            }
            _ => None,
        };
        if let Some(to) = to {
            let node = row.node.clone();
            found.edits.push(Edit::SetState { node, to });
            return;
        }
        let marked = MarkChange {
            before: self
                .base
                .is_some()
                .then_some(before == Some(ListedStatus::Done)),
            is_back: self.base.is_some() && was.is_none(),
            now: now == ListedStatus::Done,
            row,
        };
        marked.push_edit(found);
    }
}

/// Items are given their places below the first of them.
fn with_relative_places(edit: Edit) -> Edit {
    let Edit::Insert {
        parent,
        after,
        mut items,
    } = edit
    else {
        return edit;
    };
    let mut places: HashMap<Node, (TreePosition, u32)> = HashMap::new();
    for item in &mut items {
        if let Some((place, count)) = item.node.parent().and_then(|node| places.get_mut(&node)) {
            item.place = place.child(*count);
            *count += 1;
        }
        places.insert(item.node.clone(), (item.place.clone(), 0));
    }
    Edit::Insert {
        parent,
        after,
        items,
    }
}
