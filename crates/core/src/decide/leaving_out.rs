//! How items are left out, or leave the plan.

use super::advance::{drop_node, skip_node};
use super::dead_runner::release_dead_runner;
use super::event_buffer::EventBuffer;
use super::recording::log_scope_override;
use super::reopening::{advance_emptied_parents, reopen_ancestors};
use crate::decision::Verb;
use crate::event::ItemEvent;
use crate::id::{Node, RunId};
use crate::item::{ItemRow, ItemState};
use crate::refusal::Refusal;

pub(super) fn skip_item(
    story: &mut EventBuffer<'_>,
    run: RunId,
    node: &Node,
    why: Option<&str>,
) -> Result<(), Refusal> {
    release_dead_runner(story, run)?;
    let top = story.require_item(run, node)?.clone();
    if top.state.is_finished() {
        return Err(Refusal::ItemState {
            node: node.clone(),
            state: top.state,
            until: None,
        });
    }
    reopen_ancestors(story, run, node);
    let below: Vec<Node> = story
        .tables
        .subtree(run, &top.plan.place)
        .map(|item| item.node.clone())
        .collect();
    // What is under way ends first, and what holds others is left out with the
    // last of them rather than done: see `end_attempt` and `advance_after_work`.
    for node in &below {
        let row = story.require_item(run, node)?;
        let is_begun = row.state == ItemState::Working || row.state.is_broken();
        let later = row.is_under_way() || (is_begun && row.open_children > 0);
        if later && !row.people.skip_asked {
            story.append(ItemEvent::SkipAsked {
                run,
                node: node.clone(),
            });
        }
    }
    // Leaves first, so that no node is left out before what lies below it.
    for node in below.iter().rev() {
        let row = story.require_item(run, node)?;
        if !row.state.is_finished() && !row.is_under_way() && row.open_children == 0 {
            skip_node(story, run, node, why);
        }
    }
    if story.event_count() > 0 {
        log_scope_override(story, run, node, "left out", why);
    }
    story.settle_decisions_below(run, node, Verb::Skip, why);
    advance_emptied_parents(story, run);
    Ok(())
}

/// A person took an item out of the file of its plan: it leaves the plan with
/// all below it that is open. What is under way stays until it has ended.
pub(super) fn drop_item(
    story: &mut EventBuffer<'_>,
    run: RunId,
    node: &Node,
) -> Result<(), Refusal> {
    let top = story.require_item(run, node)?.clone();
    let below = || story.tables.subtree(run, &top.plan.place);
    if top.state.is_finished() || below().any(ItemRow::is_under_way) {
        return Ok(());
    }
    let below: Vec<Node> = below().map(|item| item.node.clone()).collect();
    reopen_ancestors(story, run, node);
    for node in below.iter().rev() {
        let row = story.require_item(run, node)?;
        if !row.state.is_finished() && row.open_children == 0 {
            drop_node(story, run, node);
        }
    }
    log_scope_override(story, run, node, "dropped", None);
    story.settle_decisions_below(run, node, Verb::Skip, None);
    advance_emptied_parents(story, run);
    Ok(())
}
