//! How an item comes to be done because a file, or a person, says so.

use super::advance::advance_after_work;
use super::changes::{EditRejection, EditSource, reject_edit};
use super::dependencies::release_dependents;
use super::event_buffer::EventBuffer;
use super::judging::settle_attempt;
use super::reopening::{advance_emptied_parents, reopen_ancestors};
use crate::attempt::Outcome;
use crate::command::EditAuthor;
use crate::decision::Verb;
use crate::id::{Node, RunId};
use crate::item::{Evidence, ItemRow, ItemState};
use crate::merge::MergeRow;
use crate::refusal::Refusal;

pub(super) fn has_work_under_way(story: &EventBuffer<'_>, run: RunId, top: &ItemRow) -> bool {
    story
        .tables
        .subtree(run, &top.plan.place)
        .any(ItemRow::is_under_way)
}

/// The person who changed a file, where one did.
pub(super) fn person_behind_edit(story: &EventBuffer<'_>, by: &EditSource<'_>) -> Option<String> {
    match by.word {
        EditAuthor::Hand { by, .. } => Some(by.clone()),
        EditAuthor::Person { .. } | EditAuthor::Typed { .. } => {
            Some(story.facts.actor.name().to_owned())
        }
        EditAuthor::File | EditAuthor::Piton | EditAuthor::MaybeAgent { .. } => None,
    }
}

/// Why an item counts as done that is marked in a file.
fn evidence_of_mark(story: &EventBuffer<'_>, by: &EditSource<'_>, node: &Node) -> Evidence {
    if let EditAuthor::Hand { brought, .. } = by.word
        && brought.contains(node)
    {
        return Evidence::TakenOver;
    }
    let person = person_behind_edit(story, by);
    match person {
        Some(person) => Evidence::Decided {
            by: person,
            at: story.rows.now,
            through: match by.word {
                EditAuthor::Typed { through, .. } => through.clone(),
                EditAuthor::File
                | EditAuthor::Piton
                | EditAuthor::Hand { .. }
                | EditAuthor::Person { .. }
                | EditAuthor::MaybeAgent { .. } => by.file.to_owned(),
            },
        },
        None => Evidence::Claimed {
            by: by.file.to_owned(),
        },
    }
}

/// A person says that an item is done, with all that lies below it.
pub(super) fn mark_done(
    story: &mut EventBuffer<'_>,
    run: RunId,
    by: &EditSource<'_>,
    top: &ItemRow,
) -> Result<(), EditRejection> {
    // Work that waits to be merged would be on no branch, and its item done.
    let is_waiting = |row: &ItemRow| row.merge().is_some_and(MergeRow::is_awaiting_merge);
    if story.tables.subtree(run, &top.plan.place).any(is_waiting) {
        return reject_edit("its work waits to be merged, and it is done when it is");
    }
    let evidence = [evidence_of_mark(story, by, &top.node)];
    Ok(complete_subtree(story, run, top, &evidence, by.file)?)
}

/// Completes an item, with all that lies below it, by what is known of it from
/// elsewhere.
pub(super) fn complete_subtree(
    story: &mut EventBuffer<'_>,
    run: RunId,
    top: &ItemRow,
    evidence: &[Evidence],
    through: &str,
) -> Result<(), Refusal> {
    if top.state.is_left_out() {
        story.move_item(run, &top.node, ItemState::Done, |moved| {
            moved.evidence = evidence.to_vec();
        });
        return Ok(());
    }
    if has_work_under_way(story, run, top) {
        return Err(Refusal::BeingWorkedOn(top.node.clone()));
    }
    reopen_ancestors(story, run, &top.node);
    for above in story.ancestors_of(run, &top.node).into_iter().rev() {
        if above.state == ItemState::Ready {
            story.move_item(run, &above.node, ItemState::Working, |_| {});
        }
    }
    let below: Vec<Node> = story
        .tables
        .subtree(run, &top.plan.place)
        .map(|item| item.node.clone())
        .collect();
    for node in below.iter().rev() {
        let row = story.require_item(run, node)?.clone();
        if !row.state.is_finished() {
            settle_attempt(story, &row, Outcome::Completed, None);
            story.move_item(run, node, ItemState::Done, |moved| {
                moved.evidence = evidence.to_vec();
            });
            release_dependents(story, run, node);
        }
    }
    let why = format!("completed in {through}");
    story.settle_decisions_below(run, &top.node, Verb::Settled, Some(&why));
    complete_ancestors(story, run, &top.node, evidence);
    advance_emptied_parents(story, run);
    Ok(())
}

/// What holds only finished items goes on, or is done by the same word when it
/// could not have begun.
fn complete_ancestors(story: &mut EventBuffer<'_>, run: RunId, node: &Node, evidence: &[Evidence]) {
    let Some(parent) = node.parent() else {
        return;
    };
    let Some(row) = story.tables.item(run, &parent) else {
        return;
    };
    if row.open_children > 0 {
        return;
    }
    match row.state {
        ItemState::Working => advance_after_work(story, run, &parent),
        ItemState::Waiting if !row.is_waiting_by_plan() => {}
        ItemState::Pending | ItemState::Ready | ItemState::Waiting => {
            story.move_item(run, &parent, ItemState::Done, |moved| {
                moved.evidence = evidence.to_vec();
            });
            release_dependents(story, run, &parent);
            story.settle_decisions_of_node(run, &parent, Verb::Settled);
            complete_ancestors(story, run, &parent, evidence);
        }
        ItemState::Done
        | ItemState::Failed
        | ItemState::Skipped
        | ItemState::Dropped
        | ItemState::Blocked => {}
    }
}
