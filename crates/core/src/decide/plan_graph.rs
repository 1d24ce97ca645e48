//! Whether the items of a plan hang together: each once, and none waits for itself.

use std::collections::BTreeMap;

use crate::id::Node;
use crate::plan::PlannedItem;
use crate::refusal::Refusal;

fn bad_plan(why: String) -> Refusal {
    Refusal::BadPlan(why)
}

type NodeIndexes<'a> = BTreeMap<&'a Node, usize>;

pub(super) fn index_nodes(items: &[PlannedItem]) -> Result<NodeIndexes<'_>, Refusal> {
    let mut indexes = NodeIndexes::new();
    for (index, item) in items.iter().enumerate() {
        if indexes.insert(&item.node, index).is_some() {
            return Err(bad_plan(format!("two nodes are named `{}`", item.node)));
        }
        if item
            .node
            .parent()
            .is_some_and(|parent| !indexes.contains_key(&parent))
        {
            return Err(bad_plan(format!("`{}` comes before its parent", item.node)));
        }
    }
    Ok(indexes)
}

/// What an item waits for, with what those above it wait for: whatever waits by
/// itself is released by itself, and must not be ahead of what it is part of.
pub(super) fn dependencies_with_inherited(
    items: &[PlannedItem],
    indexes: &NodeIndexes<'_>,
    item: &PlannedItem,
) -> Vec<Node> {
    let mut all = item.depends_on.clone();
    if all.is_empty() {
        return all;
    }
    for above in item.node.ancestors() {
        let inherited = indexes.get(&above).map(|index| &items[*index].depends_on);
        for on in inherited.into_iter().flatten() {
            if !all.contains(on) {
                all.push(on.clone());
            }
        }
    }
    all
}

/// Refuses a plan in which something waits for what is not there, or, by
/// whatever detour, for itself.
///
/// Each item is two points, its start and its end. A start comes after the
/// ends of what it waits for and after its parent's start; an end comes after
/// its own start and its children's ends. An order of all points must exist.
pub(super) fn check_for_cycles(
    items: &[PlannedItem],
    indexes: &NodeIndexes<'_>,
) -> Result<(), Refusal> {
    let (start, end) = (|index: usize| 2 * index, |index: usize| 2 * index + 1);
    let mut after: Vec<Vec<usize>> = vec![Vec::new(); 2 * items.len()];
    let mut waits_for = vec![0_usize; 2 * items.len()];
    let mut comes_before = |first: usize, second: usize| {
        after[first].push(second);
        waits_for[second] += 1;
    };
    for (index, item) in items.iter().enumerate() {
        comes_before(start(index), end(index));
        if let Some(parent) = item.node.parent().and_then(|node| indexes.get(&node)) {
            comes_before(start(*parent), start(index));
            comes_before(end(index), end(*parent));
        }
        for on in &item.depends_on {
            let Some(on) = indexes.get(on) else {
                return Err(bad_plan(format!(
                    "`{}` waits for `{on}`, which it does not have",
                    item.node
                )));
            };
            comes_before(end(*on), start(index));
        }
    }
    let mut free: Vec<usize> = (0..waits_for.len())
        .filter(|point| waits_for[*point] == 0)
        .collect();
    while let Some(point) = free.pop() {
        for next in std::mem::take(&mut after[point]) {
            waits_for[next] -= 1;
            if waits_for[next] == 0 {
                free.push(next);
            }
        }
    }
    match waits_for.iter().position(|left| *left > 0) {
        None => Ok(()),
        Some(point) => Err(bad_plan(format!(
            "`{}` can never be finished, because it waits for itself",
            items[point / 2].node
        ))),
    }
}
