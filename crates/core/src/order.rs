//! Which items of a plan that is worked on in turn hold up no item behind them:
//! those that wait for something that stands behind them.
//!
//! An item without dependencies of its own waits for all that stand before it
//! below the same parent. Where the plan says that an earlier item waits for a
//! later one, that order cannot be kept, and what the plan says counts.

use std::collections::BTreeMap;

use crate::id::Node;
use crate::plan::ItemTurn;

/// An item, as far as its order matters.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OrderedItem<'a> {
    pub(crate) node: &'a Node,
    pub(crate) turn: ItemTurn,
    pub(crate) depends_on: &'a [Node],
}

/// The points of an item: its start, its end, and that it and what stands
/// before it no longer hold up what stands behind, without what is parallel and
/// with it.
const POINTS: usize = 4;
const START: usize = 0;
const END: usize = 1;
const PASSED: usize = 2;
const ALL_PASSED: usize = 3;

/// Whether each item holds up none behind it. `items` are in the order of the
/// tree, and no dependency leads back to where it came from.
pub(crate) fn find_yielding_items(items: &[OrderedItem<'_>]) -> Vec<bool> {
    if items.iter().all(|item| item.depends_on.is_empty()) {
        return vec![false; items.len()];
    }
    let mut graph = TurnGraph::new(items);
    let mut gives_way = vec![false; items.len()];
    loop {
        graph.pass_free_points();
        // Nothing is free: the first that waits for what the plan says gives way,
        // and so does what it is part of.
        let waits = |index: &usize| !gives_way[*index] && graph.is_waiting_to_start(*index);
        let Some(index) = (0..items.len()).find(waits) else {
            return gives_way;
        };
        let mut next = Some(index);
        while let Some(index) = next {
            if !std::mem::replace(&mut gives_way[index], true) {
                graph.yield_end(index);
            }
            next = graph.parents[index];
        }
    }
}

struct TurnGraph<'a> {
    items: &'a [OrderedItem<'a>],
    parents: Vec<Option<usize>>,
    after: Vec<Vec<usize>>,
    waits_for: Vec<usize>,
    free: Vec<usize>,
    is_over: Vec<bool>,
}

impl<'a> TurnGraph<'a> {
    fn new(items: &'a [OrderedItem<'a>]) -> Self {
        let indexes: BTreeMap<&Node, usize> = items.iter().map(|item| item.node).zip(0..).collect();
        let parent = |item: &OrderedItem<'_>| indexes.get(&item.node.parent()?).copied();
        let points = items.len() * POINTS;
        let mut graph = Self {
            items,
            parents: items.iter().map(parent).collect(),
            after: vec![Vec::new(); points],
            waits_for: vec![0; points],
            free: Vec::new(),
            is_over: vec![false; points],
        };
        let mut before: BTreeMap<Option<usize>, usize> = BTreeMap::new();
        for (index, item) in items.iter().enumerate() {
            let at = |what: usize| index * POINTS + what;
            graph.add_edge(at(START), at(END));
            if !item.turn.parallel {
                graph.add_edge(at(END), at(PASSED));
            }
            graph.add_edge(at(END), at(ALL_PASSED));
            let parent = graph.parents[index];
            if let Some(parent) = parent {
                graph.add_edge(parent * POINTS + START, at(START));
                graph.add_edge(at(END), parent * POINTS + END);
            }
            if let Some(previous) = before.insert(parent, index) {
                let previous = previous * POINTS;
                graph.add_edge(previous + PASSED, at(PASSED));
                graph.add_edge(previous + ALL_PASSED, at(ALL_PASSED));
                if item.depends_on.is_empty() {
                    let passed = match item.turn.waits_for_parallel {
                        true => ALL_PASSED,
                        false => PASSED,
                    };
                    graph.add_edge(previous + passed, at(START));
                }
            }
            for on in item.depends_on.iter().filter_map(|on| indexes.get(on)) {
                graph.add_edge(on * POINTS + END, at(START));
            }
        }
        let all = 0..points;
        graph.free = all.filter(|point| graph.waits_for[*point] == 0).collect();
        graph
    }

    fn add_edge(&mut self, first: usize, second: usize) {
        self.after[first].push(second);
        self.waits_for[second] += 1;
    }

    /// Passes all points that are free, and those that they free.
    fn pass_free_points(&mut self) {
        while let Some(point) = self.free.pop() {
            self.is_over[point] = true;
            for next in std::mem::take(&mut self.after[point]) {
                self.release_point(next);
            }
        }
    }

    fn release_point(&mut self, point: usize) {
        self.waits_for[point] -= 1;
        if self.waits_for[point] == 0 {
            self.free.push(point);
        }
    }

    /// Whether it has not started, and the plan says what it waits for.
    fn is_waiting_to_start(&self, index: usize) -> bool {
        !self.is_over[index * POINTS + START] && !self.items[index].depends_on.is_empty()
    }

    /// The end of the item holds up no item behind it any more.
    fn yield_end(&mut self, index: usize) {
        let (from, to) = (index * POINTS, (index + 1) * POINTS);
        let held = std::mem::take(&mut self.after[from + END]);
        let (behind, others): (Vec<_>, Vec<_>) = held
            .into_iter()
            .partition(|point| (from + PASSED..to).contains(point));
        self.after[from + END] = others;
        behind
            .into_iter()
            .for_each(|point| self.release_point(point));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(plan: &[(&str, &[&str])], expected: &[&str]) {
        let nodes: Vec<(Node, Vec<Node>)> = plan
            .iter()
            .map(|(node, on)| {
                let on = on.iter().map(|on| Node::from_text(*on)).collect();
                (Node::from_text(*node), on)
            })
            .collect();
        let items: Vec<OrderedItem<'_>> = nodes
            .iter()
            .map(|(node, depends_on)| OrderedItem {
                node,
                turn: ItemTurn::default(),
                depends_on,
            })
            .collect();
        let gives_way = find_yielding_items(&items);
        let names = plan.iter().map(|(node, _)| *node).zip(gives_way);
        let names: Vec<&str> = names
            .filter_map(|(node, way)| way.then_some(node))
            .collect();
        assert_eq!(names, expected);
    }

    #[test]
    fn what_waits_for_what_stands_before_it_keeps_its_turn() {
        check(&[("a", &[]), ("b", &["a"]), ("c", &[])], &[]);
    }

    #[test]
    fn what_waits_for_what_stands_behind_it_gives_way_with_what_it_is_part_of() {
        check(&[("a", &["b"]), ("b", &[])], &["a"]);
        check(
            &[("p", &[]), ("p/x", &["q/y"]), ("q", &[]), ("q/y", &[])],
            &["p", "p/x"],
        );
    }

    #[test]
    fn a_detour_counts_as_well() {
        let plan: &[(&str, &[&str])] = &[
            ("q", &[]),
            ("q/y", &["t"]),
            ("q/x", &[]),
            ("s", &["q/x"]),
            ("t", &[]),
        ];
        check(plan, &["q", "q/y"]);
    }
}
