//! How the items above an item go on when it is open again, or finished.

use super::advance::advance_after_work;
use super::dependencies::has_to_wait;
use super::event_buffer::EventBuffer;
use crate::decision::Verb;
use crate::id::{Node, RunId};
use crate::item::{ItemRow, ItemState, Stage};

/// Where an item begins: it may have to wait for others.
pub(super) fn initial_open_state(story: &EventBuffer<'_>, run: RunId, item: &ItemRow) -> ItemState {
    match has_to_wait(story, run, item) {
        true => ItemState::Pending,
        false => ItemState::Ready,
    }
}

/// Whether something else below `above` than `node` ended badly, which must go
/// on to show.
fn has_other_broken_item(story: &EventBuffer<'_>, above: &ItemRow, node: &Node) -> bool {
    story
        .tables
        .subtree(above.run, &above.plan.place)
        .filter(|item| item.state.is_broken())
        .any(|item| !item.node.is_within(node) && !node.is_within(&item.node))
}

/// Items above go on with this one, whatever they had come to without it; what
/// was asked about them is settled with that.
pub(super) fn reopen_ancestors(story: &mut EventBuffer<'_>, run: RunId, node: &Node) {
    // What stands below an item that has not begun has not begun either.
    let mut is_begun = true;
    for above in story.ancestors_of(run, node).into_iter().rev() {
        let to = match above.state {
            ItemState::Pending | ItemState::Ready => {
                is_begun = false;
                continue;
            }
            ItemState::Waiting if above.is_waiting_by_plan() => {
                is_begun = false;
                continue;
            }
            ItemState::Working => {
                story.set_stage(run, &above.node, Stage::Work);
                continue;
            }
            ItemState::Failed | ItemState::Blocked
                if has_other_broken_item(story, &above, node) =>
            {
                continue;
            }
            ItemState::Skipped | ItemState::Dropped if has_to_wait(story, run, &above) => {
                ItemState::Pending
            }
            ItemState::Done if !is_begun && has_to_wait(story, run, &above) => ItemState::Pending,
            ItemState::Done | ItemState::Skipped | ItemState::Dropped
                if !is_begun || above.has_open_wait() =>
            {
                ItemState::Ready
            }
            ItemState::Waiting
            | ItemState::Done
            | ItemState::Failed
            | ItemState::Skipped
            | ItemState::Dropped
            | ItemState::Blocked => ItemState::Working,
        };
        is_begun &= to == ItemState::Working;
        story.move_item(run, &above.node, to, |moved| {
            moved.stage = Some(Stage::Work)
        });
        story.settle_decisions_of_node(run, &above.node, Verb::Retry);
    }
}

/// A parent whose last open child was left out while it had failed goes on to
/// its own gate, or is done.
pub(super) fn advance_emptied_parents(story: &mut EventBuffer<'_>, run: RunId) {
    let emptied: Vec<Node> = story
        .tables
        .tree(run)
        .filter(|item| {
            item.state == ItemState::Working
                && !item.is_leaf()
                && item.open_children == 0
                && item.stage == Stage::Work
        })
        .map(|item| item.node.clone())
        .collect();
    for node in emptied.into_iter().rev() {
        if story
            .tables
            .item(run, &node)
            .is_some_and(|item| item.state == ItemState::Working)
        {
            advance_after_work(story, run, &node);
        }
    }
}
