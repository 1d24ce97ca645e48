//! How an item goes on: from work to gate to commit to done, and what that
//! means for the items above it and for those that wait for it.

use super::claims::{collect_evidence, finish_or_ask};
use super::event_buffer::{EventBuffer, StateReason};
use super::merge_queue::queue_unit;
use crate::decision::{DecisionKind, Verb};
use crate::event::ItemEvent;
use crate::evidence::WorkCredit;
use crate::id::{Node, RunId, TreePosition};
use crate::item::{Evidence, ItemRef, ItemRow, ItemState, Stage};
use crate::policy::OnDependencyFailure;
use crate::run::{Pause, RunState};

/// The work on `node` is done: what comes next for it.
pub(super) fn advance_after_work(story: &mut EventBuffer<'_>, run: RunId, node: &Node) {
    let Some(item) = story.tables.item(run, node) else {
        return;
    };
    if item.people.skip_asked {
        skip_node(story, run, node, None);
        return;
    }
    if item.plan.gate.is_some() {
        story.set_stage(run, node, Stage::Gate);
    } else {
        advance_after_gate(story, run, node);
    }
}

/// The gate of `node` passed, or it has none.
pub(super) fn advance_after_gate(story: &mut EventBuffer<'_>, run: RunId, node: &Node) {
    let Some(item) = story.tables.item(run, node) else {
        return;
    };
    let has_hooks = story
        .tables
        .run(run)
        .is_some_and(|row| !row.plan.policy.iteration_hooks.is_empty());
    // An item that others hold up, or that had no attempt, is no iteration.
    if has_hooks && item.is_leaf() && item.attempts > 0 {
        story.set_stage(run, node, Stage::IterationHooks);
    } else {
        advance_after_all_hooks(story, run, node);
    }
}

/// Goes on behind the hooks of the plan, where all have run at `node`.
pub(super) fn advance_after_hook(story: &mut EventBuffer<'_>, run: RunId, node: &Node) {
    let row = story.tables.run(run);
    let item = story.tables.item(run, node);
    let next = row
        .zip(item)
        .and_then(|(row, item)| row.plan.policy.next_hook(item));
    if next.is_none() {
        advance_after_all_hooks(story, run, node);
    }
}

/// All that runs after the work on `node` has run.
fn advance_after_all_hooks(story: &mut EventBuffer<'_>, run: RunId, node: &Node) {
    let row = story.tables.run(run);
    let awaits_review = row
        .zip(story.tables.item(run, node))
        .is_some_and(|(row, item)| row.plan.policy.is_awaiting_review(item));
    if awaits_review {
        story.set_stage(run, node, Stage::Review);
    } else {
        advance_after_review(story, run, node);
    }
}

/// What was made of `node` is approved, or its plan asks for no review.
pub(super) fn advance_after_review(story: &mut EventBuffer<'_>, run: RunId, node: &Node) {
    let row = story.tables.run(run);
    let (Some(row), Some(item)) = (row, story.tables.item(run, node)) else {
        return;
    };
    let is_committed = match row.branches.lanes {
        Some(_) => item.is_merge_unit(),
        None => row.plan.policy.auto_commit && item.is_task(),
    };
    if is_committed {
        story.set_stage(run, node, Stage::Commit);
    } else {
        finish_or_ask(story, run, node);
    }
}

/// `node` is done, with all that this brings about.
pub(super) fn finish_item(story: &mut EventBuffer<'_>, run: RunId, node: &Node) {
    finish_item_with_evidence(story, run, node, None);
}

/// The same, with what a person decided about it.
pub(super) fn finish_item_with_evidence(
    story: &mut EventBuffer<'_>,
    run: RunId,
    node: &Node,
    decided: Option<Evidence>,
) {
    let Some(item) = story.tables.item(run, node).cloned() else {
        return;
    };
    let mut evidence = collect_evidence(story, &item);
    evidence.extend(decided);
    if queue_unit(story, &item, &evidence) {
        return;
    }
    let task = item.is_task();
    story.move_item(run, node, ItemState::Done, |moved| {
        moved.evidence = evidence;
        moved.task = task;
    });
    update_after_finish(story, run, node);
}

/// `node` is left out, with all that this brings about.
pub(super) fn skip_node(story: &mut EventBuffer<'_>, run: RunId, node: &Node, why: Option<&str>) {
    story.move_item(run, node, ItemState::Skipped, |moved| {
        moved.summary = why.map(str::to_owned)
    });
    update_after_finish(story, run, node);
}

/// `node` leaves the plan, with all that this brings about: it stands in the
/// file no more.
pub(super) fn drop_node(story: &mut EventBuffer<'_>, run: RunId, node: &Node) {
    story.move_item(run, node, ItemState::Dropped, |_| {});
    update_after_finish(story, run, node);
}

pub(super) fn update_after_finish(story: &mut EventBuffer<'_>, run: RunId, node: &Node) {
    credit_split_item(story, run, node);
    release_dependents(story, run, node);
    pause_at_breakpoint(story, run, node);
    if let Some(parent) = node.parent() {
        advance_parent(story, run, &parent);
    }
}

/// What was done at a piece counts for the item that was split into it.
fn credit_split_item(story: &mut EventBuffer<'_>, run: RunId, piece: &Node) {
    let Some(row) = story.tables.item(run, piece) else {
        return;
    };
    let (Some(whole), Some(change)) = (
        row.plan.piece_of.clone(),
        row.work.change.as_deref().cloned(),
    ) else {
        return;
    };
    let Some(row) = story.tables.item(run, &whole) else {
        return;
    };
    let before = row.proof.claimed.as_ref().and_then(|by| by.change.clone());
    let change = match before {
        Some(before) => before.join(&change, false),
        None => change,
    };
    story.append(ItemEvent::Claimed {
        run,
        node: whole,
        by: Some(Box::new(WorkCredit {
            attempt: None,
            change: Some(change),
        })),
    });
}

/// The parent is next when the last of its children is finished.
fn advance_parent(story: &mut EventBuffer<'_>, run: RunId, parent: &Node) {
    let Some(row) = story.tables.item(run, parent) else {
        return;
    };
    if row.open_children > 0 {
        return;
    }
    match row.state {
        ItemState::Working => advance_after_work(story, run, parent),
        // Everything below it was skipped before it was ever started.
        ItemState::Ready | ItemState::Pending | ItemState::Waiting => {
            skip_node(story, run, parent, None);
            story.settle_decisions_of_node(run, parent, Verb::Skip);
        }
        // Something below it had failed, and a person left the whole out.
        ItemState::Failed | ItemState::Blocked if row.people.skip_asked => {
            skip_node(story, run, parent, None);
        }
        ItemState::Done
        | ItemState::Failed
        | ItemState::Skipped
        | ItemState::Dropped
        | ItemState::Blocked => {}
    }
}

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

fn pause_at_breakpoint(story: &mut EventBuffer<'_>, run: RunId, node: &Node) {
    let stops = story
        .tables
        .item(run, node)
        .is_some_and(|item| item.plan.breakpoint && item.state == ItemState::Done);
    if !stops {
        return;
    }
    if story.tables.run(run).is_some_and(|row| {
        // Also when a person finishes what the run waited for, or while it is
        // interrupted or at a limit. Who paused it lets it go on, past this too.
        let is_paused = matches!(row.pause, Some(Pause::Person { .. } | Pause::File));
        !is_paused && !matches!(row.state, RunState::New | RunState::Done)
    }) {
        let about = StateReason {
            at: Some(node.clone()),
            ..StateReason::from_pause(Pause::Breakpoint { node: node.clone() })
        };
        story.move_run(run, RunState::Waiting, about);
    }
    ask_at_breakpoint(story, run, node);
}

/// Asks whether to go on after a breakpoint.
pub(super) fn ask_at_breakpoint(story: &mut EventBuffer<'_>, run: RunId, node: &Node) {
    let question = format!("`{node}` is finished, and the plan stops here for a look");
    story.ask_about_node(DecisionKind::Breakpoint, run, node, question, None);
}

/// `node` ended badly, for good: it shows on every item above it, and a person is
/// asked.
pub(super) fn give_up_item(
    story: &mut EventBuffer<'_>,
    run: RunId,
    node: &Node,
    state: ItemState,
    error: &str,
) {
    give_up_item_with_details(story, ItemRef { run, node }, state, error, None);
}

/// The same, for a question that also says what was considered.
pub(super) fn give_up_item_with_details(
    story: &mut EventBuffer<'_>,
    item: ItemRef<'_>,
    state: ItemState,
    error: &str,
    considered: Option<&str>,
) {
    let ItemRef { run, node } = item;
    story.move_item(run, node, state, |moved| {
        moved.error = Some(error.to_owned())
    });
    let named = format!(
        "{}: {error}",
        node.as_str().rsplit('/').next().unwrap_or_default()
    );
    for above in story.ancestors_of(run, node) {
        if above.state.can_become(state) {
            story.move_item(run, &above.node, state, |moved| {
                moved.error = Some(named.clone())
            });
        }
    }
    ask_about_broken_item(story, run, node, considered);
}

/// Asks a person what is to become of a node that ended badly, or for which an
/// agent needs a person.
pub(super) fn ask_about_broken_item(
    story: &mut EventBuffer<'_>,
    run: RunId,
    node: &Node,
    considered: Option<&str>,
) {
    let Some(item) = story.tables.item(run, node) else {
        return;
    };
    let told = [item.error.as_deref(), considered];
    let told: Vec<&str> = told.into_iter().flatten().collect();
    let details = (!told.is_empty()).then(|| told.join("\n"));
    if let Some(human) = item.people.human.clone() {
        story.ask_about_node(
            DecisionKind::HumanNeeded,
            run,
            node,
            human.reason,
            human.details.or(details),
        );
        return;
    }
    let what = if item.state == ItemState::Blocked {
        "is blocked"
    } else {
        "failed"
    };
    story.ask_about_node(
        DecisionKind::BlockedNode,
        run,
        node,
        format!("`{node}` {what}: what now?"),
        details,
    );
}
