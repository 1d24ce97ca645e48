//! How items come into a plan that is under way.

use std::collections::BTreeMap;

use super::changes::{EditRejection, reject_edit};
use super::dependencies::has_to_wait;
use super::event_buffer::EventBuffer;
use super::plan_graph::{check_for_cycles, dependencies_with_inherited, index_nodes};
use super::reopening::{advance_emptied_parents, reopen_ancestors};
use super::siblings::{move_siblings, siblings_below};
use crate::event::{ItemEvent, ItemPlanned};
use crate::id::{Node, RunId, TreePosition};
use crate::item::{ItemRow, ItemState};
use crate::plan::{ImportedItemHistory, PlannedItem};
use crate::refusal::Refusal;

/// Adds an item with all that lies below it; gives back its node.
pub(super) fn insert_items(
    story: &mut EventBuffer<'_>,
    run: RunId,
    parent: Option<&Node>,
    after: Option<&Node>,
    items: &[PlannedItem],
) -> Result<Node, EditRejection> {
    let now = siblings_below(story, run, parent)?;
    let above = match parent {
        Some(parent) => Some(check_can_have_children(story, run, parent)?),
        None => None,
    };
    let at = match after {
        None => 0,
        Some(after) => now
            .iter()
            .position(|row| row.node == *after)
            .map_or(now.len(), |before| before + 1),
    };
    let at = u32::try_from(at).unwrap_or(u32::MAX);
    let top = above
        .as_ref()
        .map_or_else(TreePosition::default, |row| row.plan.place.clone())
        .child(at);
    let closed = parent.is_some_and(|parent| is_closed_for_work(story, run, parent));
    let items = rename_to_free_ids(items, parent, &now, &top)?;
    let items = prepare_inserted_items(story, run, items, closed)?;
    let open = !items[0].state.is_finished();
    if let Some(above) = above.filter(|above| above.is_leaf() && !open) {
        return reject_edit(format!("nothing would be left to do in `{}`", above.node));
    }
    let later = now.into_iter().zip(0..).filter(|(_, index)| *index >= at);
    let moves: Vec<(ItemRow, u32)> = later.map(|(row, index)| (row, index + 1)).collect();
    move_siblings(story, run, &moves);
    let node = items[0].node.clone();
    for item in items {
        story.append(ItemEvent::Planned(Box::new(ItemPlanned { run, item })));
    }
    if open {
        reopen_ancestors(story, run, &node);
        advance_emptied_parents(story, run);
    }
    Ok(node)
}

/// The item, when others may be added below it.
fn check_can_have_children(
    story: &EventBuffer<'_>,
    run: RunId,
    parent: &Node,
) -> Result<ItemRow, EditRejection> {
    let row = story.require_item(run, parent)?.clone();
    let begun = !matches!(row.state, ItemState::Pending | ItemState::Ready) || row.attempts > 0;
    if row.is_leaf() && begun {
        return reject_edit(format!("`{parent}` has been begun as it is"));
    }
    let line = std::iter::once(row.clone()).chain(story.ancestors_of(run, parent));
    for above in line {
        if above.is_under_way() {
            return Err(Refusal::BeingWorkedOn(above.node).into());
        }
    }
    Ok(row)
}

/// Whether nothing below `node` is started any more.
fn is_closed_for_work(story: &EventBuffer<'_>, run: RunId, node: &Node) -> bool {
    std::iter::once(node.clone())
        .chain(node.ancestors())
        .filter_map(|node| story.tables.item(run, &node))
        .any(|row| row.people.skip_asked || row.state.is_left_out())
}

/// The items with the nodes and places that they get: a sibling that repeats
/// an id gets the next number that is free.
fn rename_to_free_ids(
    items: &[PlannedItem],
    parent: Option<&Node>,
    now: &[ItemRow],
    top: &TreePosition,
) -> Result<Vec<PlannedItem>, EditRejection> {
    let Some(first) = items.first() else {
        return reject_edit("there is nothing to add");
    };
    let (old_node, old_depth) = (&first.node, first.place.depth());
    let free = (1..)
        .map(|nth| Node::child(parent, &first.id, nth))
        .find(|node| !now.iter().any(|row| row.node == *node));
    let Some(new_node) = free else {
        return reject_edit("there is no name left for it");
    };
    let name = |node: &Node| {
        let rest = node.as_str().strip_prefix(old_node.as_str())?;
        (rest.is_empty() || rest.starts_with('/'))
            .then(|| Node::from_text(format!("{new_node}{rest}")))
    };
    let mut out = Vec::with_capacity(items.len());
    for (index, item) in items.iter().enumerate() {
        let below = item.place.0.get(old_depth..).unwrap_or_default();
        let (Some(node), true) = (name(&item.node), below.is_empty() == (index == 0)) else {
            return reject_edit(format!("`{}` hangs on nothing", item.node));
        };
        let mut place = top.clone();
        place.0.extend_from_slice(below);
        let depends_on = item.depends_on.iter();
        out.push(PlannedItem {
            depends_on: depends_on
                .map(|on| name(on).unwrap_or_else(|| on.clone()))
                .collect(),
            node,
            place,
            ..item.clone()
        });
    }
    Ok(out)
}

/// The items with the states in which they begin, and with all that they wait
/// for.
fn prepare_inserted_items(
    story: &EventBuffer<'_>,
    run: RunId,
    mut items: Vec<PlannedItem>,
    closed: bool,
) -> Result<Vec<PlannedItem>, EditRejection> {
    check_subtree_dependencies(story, run, &items)?;
    let parent = items[0].node.parent();
    let above: Vec<ItemRow> = parent
        .iter()
        .flat_map(|parent| std::iter::once(parent.clone()).chain(parent.ancestors()))
        .filter_map(|node| story.tables.item(run, &node).cloned())
        .collect();
    let indexes = items.iter().map(|item| &item.node).zip(0..).collect();
    let depends_on: Vec<Vec<Node>> = items
        .iter()
        .map(|item| {
            let mut all = dependencies_with_inherited(&items, &indexes, item);
            let inherited = above.iter().flat_map(|row| &row.plan.depends_on);
            for on in inherited.filter(|_| !item.depends_on.is_empty()) {
                if !all.contains(on) {
                    all.push(on.clone());
                }
            }
            all
        })
        .collect();
    let policy = story.tables.run(run).map(|row| &row.plan.policy);
    for (item, depends_on) in items.iter_mut().zip(depends_on) {
        item.depends_on = depends_on;
        let named = item.repository.take();
        item.repository = policy.and_then(|policy| policy.resolve_repository(named));
        if item.state.is_finished() {
            continue;
        }
        if !matches!(item.state, ItemState::Pending | ItemState::Ready) {
            return reject_edit(format!(
                "`{}` is new, and cannot be {}",
                item.node, item.state
            ));
        }
        item.past = ImportedItemHistory::default();
        if closed {
            item.state = ItemState::Skipped;
        }
    }
    settle_inserted_states(story, run, &mut items);
    Ok(items)
}

/// An item below which nothing is to be done has nothing to do itself; below
/// one that is finished nothing is begun; what waits is pending.
fn settle_inserted_states(story: &EventBuffer<'_>, run: RunId, items: &mut [PlannedItem]) {
    let at: BTreeMap<Node, usize> = items
        .iter()
        .map(|item| item.node.clone())
        .zip(0..)
        .collect();
    let parents: Vec<Option<usize>> = items
        .iter()
        .map(|item| at.get(&item.node.parent()?).copied())
        .collect();
    let mut open = vec![0_u32; items.len()];
    let (mut all, mut done) = (open.clone(), open.clone());
    for index in 0..items.len() {
        let above = parents[index].map(|parent| items[parent].state);
        if above.is_some_and(ItemState::is_finished) && !items[index].state.is_finished() {
            items[index].state = ItemState::Skipped;
        }
    }
    for index in (0..items.len()).rev() {
        if all[index] > 0 && open[index] == 0 && !items[index].state.is_finished() {
            items[index].state = if done[index] > 0 {
                ItemState::Done
            } else {
                ItemState::Skipped
            };
        }
        if let Some(parent) = parents[index] {
            all[parent] += 1;
            open[parent] += u32::from(!items[index].state.is_finished());
            done[parent] += u32::from(items[index].state == ItemState::Done);
        }
    }
    for index in 0..items.len() {
        if items[index].state.is_finished() {
            continue;
        }
        let state_of = |node: &Node| {
            let new = at.get(node).map(|index| items[*index].state);
            new.or_else(|| story.tables.item(run, node).map(|row| row.state))
        };
        let held_up = items[index].node.parent().is_some_and(|parent| {
            let known = story.tables.item(run, &parent);
            match at.get(&parent) {
                Some(new) => items[*new].state == ItemState::Pending || items[*new].wait.is_some(),
                None => {
                    known.is_some_and(|row| has_to_wait(story, run, row) || row.has_open_wait())
                }
            }
        });
        let free = items[index]
            .depends_on
            .iter()
            .all(|on| state_of(on).is_some_and(ItemState::is_finished));
        items[index].state = if held_up || !free {
            ItemState::Pending
        } else {
            ItemState::Ready
        };
    }
}

/// Refuses items that wait for what is not there, or for themselves.
fn check_subtree_dependencies(
    story: &EventBuffer<'_>,
    run: RunId,
    items: &[PlannedItem],
) -> Result<(), EditRejection> {
    let top = &items[0].node;
    let mut alone: Vec<PlannedItem> = Vec::with_capacity(items.len());
    for item in items {
        let mut inner = Vec::new();
        for on in &item.depends_on {
            if on.is_within(top) {
                inner.push(on.clone());
            } else if story.tables.item(run, on).is_none() || top.is_within(on) {
                return reject_edit(format!("it waits for `{on}`, which is not there"));
            }
        }
        alone.push(PlannedItem {
            depends_on: inner,
            node: Node::from_text(item.node.as_str()),
            ..item.clone()
        });
    }
    // Within a tree of its own, the top has no parent.
    let parents = top.parent();
    if let Some(parent) = parents {
        let cut = parent.as_str().len() + 1;
        let own = |node: &Node| Node::from_text(node.as_str().get(cut..).unwrap_or_default());
        for item in &mut alone {
            item.node = own(&item.node);
            item.depends_on = item.depends_on.iter().map(own).collect();
        }
    }
    let indexes = index_nodes(&alone)?;
    Ok(check_for_cycles(&alone, &indexes)?)
}
