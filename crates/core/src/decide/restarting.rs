//! How an item is tried again, or done again.

use super::changes::{append_change, join_answers};
use super::dead_runner::release_dead_runner;
use super::event_buffer::EventBuffer;
use super::merge_queue;
use super::recording::log_scope_override;
use super::reopening::{advance_emptied_parents, initial_open_state, reopen_ancestors};
use super::waits;
use crate::decision::{DecisionKind, Verb};
use crate::event::ItemChange;
use crate::id::{DecisionId, Node, RunId};
use crate::item::{ItemRow, ItemState, Rejection, Stage};
use crate::refusal::Refusal;
use crate::standing::ItemStanding;
use crate::wait::WaitProgress;

pub(super) fn retry_item(
    story: &mut EventBuffer<'_>,
    run: RunId,
    node: &Node,
    why: Option<&str>,
    answer: Option<&str>,
) -> Result<(), Refusal> {
    reset_for_retry(story, run, node, answer)?;
    story.settle_decisions_below(run, node, Verb::Retry, why);
    advance_emptied_parents(story, run);
    Ok(())
}

/// Makes `node` ready again, or, when it holds others, what ended badly below it.
pub(super) fn reset_for_retry(
    story: &mut EventBuffer<'_>,
    run: RunId,
    node: &Node,
    answer: Option<&str>,
) -> Result<(), Refusal> {
    release_dead_runner(story, run)?;
    let top = story.require_item(run, node)?.clone();
    // A runner goes on with it in a moment.
    let is_next = top.state == ItemState::Working && top.standing() == ItemStanding::Active;
    let is_between = is_next && story.has_live_runner(run);
    if top.is_under_way() || is_between {
        return Err(Refusal::BeingWorkedOn(node.clone()));
    }
    let is_whole = !top.is_leaf() && is_waiting_for_approval(story, &top);
    if top.state == ItemState::Done || is_whole {
        return redo_done_below(story, run, &top, answer);
    }
    let broken: Vec<ItemRow> = story
        .tables
        .subtree(run, &top.plan.place)
        .filter(|item| can_restart(item, &top))
        .cloned()
        .collect();
    let own_stage = top.state == ItemState::Working && is_at_own_stage(&top);
    if broken.is_empty() && !own_stage {
        return Err(Refusal::ItemState {
            node: node.clone(),
            state: top.state,
            until: None,
        });
    }
    // Refused as a whole, or done as a whole.
    for leaf in &broken {
        if let Some(busy) = story
            .ancestors_of(run, &leaf.node)
            .iter()
            .find(|row| row.is_under_way())
        {
            return Err(Refusal::BeingWorkedOn(busy.node.clone()));
        }
    }
    for leaf in broken {
        reopen_ancestors(story, run, &leaf.node);
        restart_item(story, run, &leaf, answer);
    }
    if own_stage {
        reopen_ancestors(story, run, node);
        restart_item(story, run, &top, answer);
    }
    Ok(())
}

/// Does again what is done: the item, or of one that holds others all that is
/// done below it.
fn redo_done_below(
    story: &mut EventBuffer<'_>,
    run: RunId,
    top: &ItemRow,
    answer: Option<&str>,
) -> Result<(), Refusal> {
    let leaves_in = |fits: fn(ItemState) -> bool| {
        let below = story.tables.subtree(run, &top.plan.place);
        let leaves = below.filter(|row| row.is_leaf() && fits(row.state));
        leaves.cloned().collect::<Vec<ItemRow>>()
    };
    let mut leaves = leaves_in(|state| state == ItemState::Done);
    if leaves.is_empty() && top.state == ItemState::Waiting {
        // It waits for an approval of nothing: then all that was left out is wanted.
        leaves = leaves_in(ItemState::is_left_out);
    }
    if leaves.is_empty() {
        return Err(Refusal::ItemState {
            node: top.node.clone(),
            state: top.state,
            until: None,
        });
    }
    for leaf in leaves {
        redo_item(story, run, &leaf, "a person wants it done again", answer)?;
    }
    Ok(())
}

/// Whether an item holds others that are all finished, and is at what comes
/// after them: its gate, or its commit.
fn is_at_own_stage(item: &ItemRow) -> bool {
    !item.is_leaf() && item.open_children == 0 && item.stage != Stage::Work
}

/// Whether trying `top` again tries this item again, `top` itself or one below it.
fn can_restart(item: &ItemRow, top: &ItemRow) -> bool {
    if item.is_waiting_by_plan() {
        // A retry of an item above it does not shorten its wait.
        return item.node == top.node || item.work.waited == Some(WaitProgress::Late);
    }
    if !item.is_leaf() {
        let ended = item.state.is_broken() || item.state == ItemState::Waiting;
        return ended && is_at_own_stage(item);
    }
    match item.state {
        ItemState::Failed | ItemState::Blocked | ItemState::Waiting => true,
        // An item that was left out comes back only by its own name, or with the
        // whole of what was left out.
        ItemState::Skipped | ItemState::Dropped => item.node == top.node || top.state.is_left_out(),
        // Its runner died, or was stopped: no process works on it now.
        ItemState::Working => item.node == top.node,
        ItemState::Ready => item.node == top.node && item.attempts > 0,
        ItemState::Pending | ItemState::Done => false,
    }
}

/// Starts an item again: at its work, or at the stage at which it failed when
/// its work was done before.
fn restart_item(story: &mut EventBuffer<'_>, run: RunId, item: &ItemRow, answer: Option<&str>) {
    if item.is_waiting_by_plan() {
        return waits::check_wait_now(story, item, answer);
    }
    if item.is_in_merge_review() {
        let why = answer.unwrap_or("a person wants it done again");
        return merge_queue::reject_merge_by_person(story, item, why);
    }
    if item.is_in_pull_request() {
        return match answer {
            Some(why) => merge_queue::reject_merge_by_person(story, item, why),
            None => merge_queue::requeue_unchecked_unit(story, item),
        };
    }
    if merge_queue::has_unrunnable_check(item) {
        return match answer {
            Some(why) => merge_queue::reject_merge_by_person(story, item, why),
            None => merge_queue::requeue_unchecked_unit(story, item),
        };
    }
    let is_next = match (item.is_leaf(), item.state) {
        (true, ItemState::Ready) => Some(Stage::Work),
        (false, ItemState::Working) if item.stage == Stage::Fix => Some(Stage::Gate),
        (false, ItemState::Working) => Some(item.stage),
        _ => None,
    };
    if let Some(stage) = is_next {
        return restart_at_stage(story, run, item, stage, answer);
    }
    let again_at = match (item.is_leaf(), item.state, item.stage) {
        // Who answers has words for an agent.
        (true, ItemState::Failed | ItemState::Blocked, Stage::Commit) if answer.is_some() => None,
        (_, ItemState::Failed | ItemState::Blocked, Stage::Commit) => Some(Stage::Commit),
        (_, ItemState::Failed | ItemState::Blocked | ItemState::Waiting, Stage::Resolve) => {
            Some(Stage::Resolve)
        }
        (false, ItemState::Failed | ItemState::Blocked, Stage::Gate | Stage::Fix) => {
            Some(Stage::Gate)
        }
        // The agent that mends its gate asked, and is the one to be answered.
        (false, ItemState::Waiting, _) => Some(Stage::Fix),
        _ => None,
    };
    match again_at {
        Some(stage) => story.move_item(run, &item.node, ItemState::Working, |moved| {
            moved.stage = Some(stage);
            moved.answer = join_answers(item, answer);
        }),
        None => restart_at_work(story, run, item, answer),
    }
}

/// Lets an item that is next anyway begin at a stage, with all of its retries.
fn restart_at_stage(
    story: &mut EventBuffer<'_>,
    run: RunId,
    item: &ItemRow,
    stage: Stage,
    answer: Option<&str>,
) {
    story.set_stage(run, &item.node, stage);
    if item.tries.retries > 0 {
        append_change(story, run, &item.node, ItemChange::Retries(0));
    }
    if let Some(words) = join_answers(item, answer) {
        append_change(story, run, &item.node, ItemChange::Answer(Some(words)));
    }
}

/// Starts an item again at its work, when what it waits for is finished.
pub(super) fn restart_at_work(
    story: &mut EventBuffer<'_>,
    run: RunId,
    item: &ItemRow,
    answer: Option<&str>,
) {
    story.move_item(
        run,
        &item.node,
        initial_open_state(story, run, item),
        |moved| {
            moved.stage = Some(Stage::Work);
            moved.retries = Some(0);
            moved.answer = join_answers(item, answer);
        },
    );
}

/// Whether all that the plan asks of an item is there, and a person is asked to
/// approve it.
fn is_waiting_for_approval(story: &EventBuffer<'_>, item: &ItemRow) -> bool {
    let mut open = story.tables.open_decisions(item.run);
    open.any(|row| row.kind == DecisionKind::Approval && row.node.as_ref() == Some(&item.node))
}

/// A person looked at what was made of an item, and wants it otherwise. What was
/// made by those below it is done again with these words; a look at one of them is
/// asked for by itself.
pub(super) fn reject_item(
    story: &mut EventBuffer<'_>,
    run: RunId,
    decision: DecisionId,
    node: &Node,
    why: &str,
) -> Result<(), Refusal> {
    release_dead_runner(story, run)?;
    let item = story.require_item(run, node)?.clone();
    story.decide_if_open(decision, Verb::Reject, Some(why));
    if !item.is_leaf() {
        return redo_done_below(story, run, &item, Some(why));
    }
    reopen_ancestors(story, run, node);
    let rejected = Rejection {
        by: story.facts.actor.name().to_owned(),
        why: why.to_owned(),
    };
    story.move_item(run, node, initial_open_state(story, run, &item), |moved| {
        moved.stage = Some(Stage::Work);
        moved.retries = Some(0);
        moved.rejected = Some(Box::new(rejected));
    });
    advance_emptied_parents(story, run);
    Ok(())
}

/// Does an item again that is done. What was made of it stays
/// on record with its attempts; what waits for it and has not begun waits again.
pub(super) fn redo_item(
    story: &mut EventBuffer<'_>,
    run: RunId,
    item: &ItemRow,
    reason: &str,
    answer: Option<&str>,
) -> Result<(), Refusal> {
    let line = story.ancestors_of(run, &item.node);
    if let Some(busy) = line.iter().find(|row| row.is_under_way()) {
        return Err(Refusal::BeingWorkedOn(busy.node.clone()));
    }
    reopen_ancestors(story, run, &item.node);
    restart_at_work(story, run, item, answer);
    let reason = Some(answer.unwrap_or(reason));
    log_scope_override(story, run, &item.node, "to be done again", reason);
    advance_emptied_parents(story, run);
    Ok(())
}
