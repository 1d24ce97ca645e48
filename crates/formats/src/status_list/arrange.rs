//! The items of a list as a tree, in the order in which they are worked on.

use std::collections::HashMap;

use piton_core::{ItemState, Node};

use super::{ItemList, ListedStatus};
use crate::graph::{find_cycles, order_by_priority};
use crate::problem::Problem;

/// A list whose items are related to each other.
pub(crate) struct ArrangedList {
    pub(super) list: ItemList,
    /// The indexes of the items: what an item waits for comes before it, and a parent
    /// before its children.
    pub(super) order: Vec<usize>,
    pub(super) nodes: Vec<Node>,
    /// Where each item stands in the tree.
    pub(super) places: Vec<Vec<u32>>,
    pub(super) parents: Vec<Option<usize>>,
    children: Vec<Vec<usize>>,
    after: Vec<Vec<usize>>,
}

impl ArrangedList {
    /// Relates the items of a list. An item whose name another one has is left out, and
    /// so is a reference to what is not there; both are problems.
    pub(super) fn new(mut list: ItemList, file: &str, problems: &mut Vec<Problem>) -> Self {
        let indexes = index_items(&mut list, file, problems);
        let count = list.items.len();
        let mut parents: Vec<Option<usize>> = list
            .items
            .iter()
            .map(|item| indexes.get(item.parent.as_ref()?).copied())
            .collect();
        for at in 0..count {
            let above = std::iter::successors(parents[at], |at| parents[*at]);
            // One that is a part of itself stands alone.
            if above.take(count + 1).any(|above| above == at) {
                parents[at] = None;
            }
        }
        let after = (0..count)
            .map(|at| find_dependencies(&list, at, (&indexes, &parents), file, problems))
            .collect();
        let mut arranged = Self {
            list,
            order: Vec::new(),
            nodes: Vec::new(),
            places: vec![Vec::new(); count],
            children: vec![Vec::new(); count],
            parents,
            after,
        };
        arranged.report_cycles(file, problems);
        arranged.arrange();
        arranged
    }

    fn arrange(&mut self) {
        let priorities: Vec<f64> = self.list.items.iter().map(|one| one.priority).collect();
        let ranked = order_by_priority(&self.sibling_edges(), &priorities);
        let mut open: Vec<usize> = Vec::new();
        for at in ranked {
            match self.parents[at] {
                Some(parent) => self.children[parent].push(at),
                None => open.push(at),
            }
        }
        for (at, nth) in open.iter().zip(0..) {
            self.places[*at] = vec![nth];
        }
        open.reverse();
        while let Some(at) = open.pop() {
            for (child, nth) in self.children[at].iter().zip(0..) {
                let mut place = self.places[at].clone();
                place.push(nth);
                self.places[*child] = place;
            }
            open.extend(self.children[at].iter().rev());
            self.order.push(at);
        }
        let mut nodes: Vec<Option<Node>> = vec![None; self.list.items.len()];
        for at in &self.order {
            let parent = self.parents[*at].and_then(|parent| nodes[parent].clone());
            nodes[*at] = Some(Node::child(parent.as_ref(), &self.list.items[*at].id, 1));
        }
        // Each item is below a root.
        self.nodes = nodes.into_iter().flatten().collect();
    }

    fn line_above(&self, at: usize) -> Vec<usize> {
        std::iter::successors(Some(at), |at| self.parents[*at]).collect()
    }

    /// What waits for what among those that stand side by side: an item that waits for
    /// one elsewhere holds up what it is a part of.
    fn sibling_edges(&self) -> Vec<Vec<usize>> {
        let mut edges = vec![Vec::new(); self.after.len()];
        for (at, after) in self.after.iter().enumerate() {
            let own = self.line_above(at);
            for on in after {
                let other = self.line_above(*on);
                let pairs = own.iter().rev().zip(other.iter().rev());
                let mut pairs = pairs.filter(|(one, other)| one != other);
                // What is only a part of the other may be done long before it.
                if let Some((one, _)) = pairs.next().filter(|(_, other)| *other == on) {
                    edges[*one].push(*on);
                }
            }
        }
        edges
    }

    /// Items that can never begin. Each is two points, its start and its end: it starts
    /// after what it waits for has ended and after its parent started, and ends after its
    /// children.
    fn report_cycles(&self, file: &str, problems: &mut Vec<Problem>) {
        let mut waits_for: Vec<Vec<usize>> = vec![Vec::new(); 2 * self.after.len()];
        for (at, after) in self.after.iter().enumerate() {
            let (start, end) = (2 * at, 2 * at + 1);
            waits_for[end].push(start);
            waits_for[start].extend(after.iter().map(|on| 2 * on + 1));
            if let Some(parent) = self.parents[at] {
                waits_for[start].push(2 * parent);
                waits_for[2 * parent + 1].push(end);
            }
        }
        for cycle in find_cycles(&waits_for) {
            let mut names: Vec<String> = Vec::new();
            for point in cycle.iter().chain(cycle.first()) {
                let name = format!("`{}`", self.list.items[point / 2].id);
                if names.last() != Some(&name) {
                    names.push(name);
                }
            }
            let first = cycle.first().map_or(0, |point| point / 2);
            let span = self.list.items[first].span;
            let problem = Problem::error("CYCLE_DETECTED", file, "", span);
            let message = format!("items wait for each other: {}", names.join(", "));
            problems.push(problem.with_message(message, "change one of the references"));
        }
    }

    /// Whether an item holds others.
    pub(super) fn is_holder(&self, at: usize) -> bool {
        !self.children[at].is_empty()
    }

    /// What an item waits for.
    pub(super) fn nodes_before(&self, at: usize) -> Vec<Node> {
        let after = self.after[at].iter();
        after.map(|on| self.nodes[*on].clone()).collect()
    }

    /// How an item stands. What is a part of one that is left out is left out as well.
    pub(super) fn status(&self, at: usize) -> ListedStatus {
        let own = self.list.items[at].status;
        let mut line = self.line_above(at).into_iter();
        let is_left_out = line.any(|at| self.list.items[at].status == ListedStatus::LeftOut);
        match own {
            ListedStatus::Open if is_left_out => ListedStatus::LeftOut,
            ListedStatus::Open | ListedStatus::Done | ListedStatus::LeftOut => own,
        }
    }

    /// The state that an item is planned in.
    pub(super) fn state(&self, at: usize) -> ItemState {
        let line = self.line_above(at);
        let mut before = line.iter().flat_map(|at| &self.after[*at]);
        let state = self.state_alone(at);
        let is_ready = state == ItemState::Ready;
        match is_ready && before.any(|on| !self.state_alone(*on).is_finished()) {
            true => ItemState::Pending,
            false => state,
        }
    }

    /// The state of an item that waits for nothing: that of its parts, where it has some.
    fn state_alone(&self, at: usize) -> ItemState {
        if !self.is_holder(at) {
            return self.status(at).state();
        }
        let mut open = self.children[at].clone();
        let (mut is_open, mut is_done) = (false, false);
        while let Some(at) = open.pop() {
            open.extend(&self.children[at]);
            if !self.is_holder(at) {
                is_open |= self.status(at) == ListedStatus::Open;
                is_done |= self.status(at) == ListedStatus::Done;
            }
        }
        match (is_open, is_done) {
            (false, true) => ItemState::Done,
            (false, false) => ItemState::Skipped,
            (true, true) => ItemState::Working,
            (true, false) => ItemState::Ready,
        }
    }
}

/// The items by their names.
fn index_items(
    list: &mut ItemList,
    file: &str,
    problems: &mut Vec<Problem>,
) -> HashMap<String, usize> {
    let mut indexes: HashMap<String, usize> = HashMap::new();
    let items = std::mem::take(&mut list.items);
    for item in items {
        if let Some(first) = indexes.get(&item.id) {
            let first: &super::ListedItem = &list.items[*first];
            let message = format!(
                "a second item is called `{}`; the first is in line {}",
                item.id, first.span.line
            );
            let problem = Problem::error("DUPLICATE_ID", file, "", item.span);
            let hint = "give each an id of its own";
            problems.push(problem.with_message(message, hint));
            continue;
        }
        indexes.insert(item.id.clone(), list.items.len());
        list.items.push(item);
    }
    indexes
}

/// The items that one waits for, each once.
fn find_dependencies(
    list: &ItemList,
    at: usize,
    (indexes, parents): (&HashMap<String, usize>, &[Option<usize>]),
    file: &str,
    problems: &mut Vec<Problem>,
) -> Vec<usize> {
    let item = &list.items[at];
    let is_above = |one: usize, other: usize| {
        std::iter::successors(Some(one), |one| parents[*one]).any(|above| above == other)
    };
    let mut found = Vec::new();
    for id in &item.after {
        let what = match indexes.get(id) {
            // Being a part of something says as much.
            Some(on) if is_above(at, *on) || is_above(*on, at) => {
                "which is a part of it, or holds it"
            }
            Some(on) => {
                if !found.contains(on) {
                    found.push(*on);
                }
                continue;
            }
            None => "which is not there",
        };
        let problem = Problem::warning("MISSING_REFERENCE", file, "", item.span);
        let message = format!("`{}` waits for `{id}`, {what}", item.id);
        let hint = "name another item of this file; until then the reference has no effect";
        problems.push(problem.with_message(message, hint));
    }
    found
}
