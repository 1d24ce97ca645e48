//! What an item has to wait for, and what becomes ready when that is finished.

use super::event_buffer::EventBuffer;
use crate::id::{Node, RunId, TreePosition};
use crate::item::{ItemRow, ItemState};
use crate::policy::OnDependencyFailure;

/// What waited only for `node`, by itself or with what it is part of, becomes
/// ready.
///
/// An item that is left out counts like one that is done: the person who skips it
/// says that the others can do without it.
pub(super) fn release_dependents(story: &mut EventBuffer<'_>, run: RunId, node: &Node) {
    // Those above stand before those below, so that one look is enough.
    let waiting: Vec<ItemRow> = story
        .tables
        .tree(run)
        .filter(|item| item.state == ItemState::Pending && has_loaded_ancestors(story, item))
        .filter(|item| is_waiting_for(story, item, node))
        .cloned()
        .collect();
    for item in waiting {
        if !has_to_wait(story, run, &item) {
            story.move_item(run, &item.node, ItemState::Ready, |_| {});
        }
    }
}

/// Whether all that lies above an item was loaded. One that is there only because
/// others depend on it is not what waits here, and what holds it is not to be seen.
fn has_loaded_ancestors(story: &EventBuffer<'_>, item: &ItemRow) -> bool {
    let mut above = item.node.ancestors();
    above.all(|node| story.tables.item(item.run, &node).is_some())
}

/// The item and those above it: what one of them waits for holds up all below.
fn item_and_ancestors<'s>(
    story: &'s EventBuffer<'_>,
    item: &'s ItemRow,
) -> impl Iterator<Item = &'s ItemRow> {
    let above = item.node.ancestors();
    std::iter::once(item).chain(above.filter_map(|node| story.tables.item(item.run, &node)))
}

/// Whether the item, or one above it, names `node` as what it waits for, or
/// stands behind it.
fn is_waiting_for(story: &EventBuffer<'_>, item: &ItemRow, node: &Node) -> bool {
    let parent = node.parent();
    let place = story.tables.item(item.run, node).map(|row| &row.plan.place);
    item_and_ancestors(story, item).any(|row| {
        let is_behind = row.node.parent() == parent && Some(&row.plan.place) > place;
        row.plan.depends_on.contains(node) || (is_behind && row.plan.depends_on.is_empty())
    })
}

/// Whether what depends on this item has to wait for it.
pub(super) fn is_blocking(story: &EventBuffer<'_>, run: RunId, on: &Node) -> bool {
    let policy = story.tables.run(run).map(|row| &row.plan.policy);
    let item = story.tables.item(run, on);
    let pair = policy.zip(item);
    pair.is_none_or(|(policy, item)| !policy.can_proceed_after(item.state))
}

/// Whether nothing is begun any more in the list of what lies right below a place:
/// one of it failed, one waits for others, and the plan says that the list fails
/// then.
pub(super) fn is_phase_failed(story: &EventBuffer<'_>, run: RunId, above: &TreePosition) -> bool {
    let policy = story.tables.run(run).map(|row| &row.plan.policy);
    let strategy = policy.and_then(|policy| policy.on_dependency_failure);
    if strategy != Some(OnDependencyFailure::FailPhase) {
        return false;
    }
    let open = || story.tables.open_children(run, above);
    open().any(|row| row.state.is_broken()) && open().any(|row| !row.plan.depends_on.is_empty())
}

/// Whether something that is not finished must be before this may begin, or what
/// holds it waits as its plan says.
pub(super) fn has_to_wait(story: &EventBuffer<'_>, run: RunId, item: &ItemRow) -> bool {
    let unfinished = |on| is_blocking(story, run, on);
    let behind = |row: &ItemRow| {
        let tables = &story.tables;
        tables.has_blocking_predecessor(run, &row.plan.place, row.plan.turn, &row.plan.depends_on)
    };
    let is_held = |row: &ItemRow| row.node != item.node && row.has_open_wait();
    item_and_ancestors(story, item).any(|row| {
        let waits = row.plan.depends_on.iter().any(unfinished) || behind(row) || is_held(row);
        waits || is_phase_failed(story, run, &row.plan.place.parent())
    })
}
