//! How an item goes on: from work to gate to commit to done, and what that
//! means for the items above it and for those that wait for it.

use super::claims::{ClaimJudgement, collect_evidence, judge_claim};
use super::dependencies::release_dependents;
use super::event_buffer::{EventBuffer, StateReason};
use super::judging::settle_attempt;
use super::queueing::queue_unit;
use super::recovering::{FailedWork, fail_item};
use crate::attempt::{HumanNeeded, Outcome};
use crate::classify::FailureCategory;
use crate::decision::{DecisionKind, Verb};
use crate::event::ItemEvent;
use crate::evidence::WorkCredit;
use crate::id::{Node, RunId};
use crate::item::{Evidence, ItemRow, ItemState, Stage};
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
fn finish_item(story: &mut EventBuffer<'_>, run: RunId, node: &Node) {
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

/// All that the plan asks for `node` was done: it is finished, unless its proof
/// is too weak here.
pub(super) fn finish_or_ask(story: &mut EventBuffer<'_>, run: RunId, node: &Node) {
    let Some(item) = story.tables.item(run, node).cloned() else {
        return;
    };
    if item.is_missing_check() {
        story.set_stage(run, node, Stage::Gate);
        return;
    }
    match judge_claim(story, &item) {
        ClaimJudgement::Finish if item.plan.approval => ask_for_approval(story, &item, None),
        ClaimJudgement::Ask(doubt) if item.plan.approval => {
            ask_for_approval(story, &item, Some(&doubt))
        }
        ClaimJudgement::Finish => finish_item(story, run, node),
        ClaimJudgement::Check(gate) => story.append(ItemEvent::Staged {
            run,
            node: node.clone(),
            stage: Stage::Gate,
            gate: Some(gate),
        }),
        ClaimJudgement::Ask(question) => ask_about_claim(story, &item, question),
        ClaimJudgement::Refuse(why) => {
            settle_attempt(story, &item, Outcome::Failed, Some(&why));
            let failed = FailedWork {
                outcome: Outcome::Failed,
                category: FailureCategory::Validation,
                error: &why,
                recovery: None,
                is_of_check: false,
            };
            fail_item(story, run, node, &failed);
        }
    }
}

/// The question also names the doubt about which a person would be asked otherwise.
fn ask_for_approval(story: &mut EventBuffer<'_>, item: &ItemRow, doubt: Option<&str>) {
    settle_attempt(story, item, Outcome::Completed, None);
    let doubt = doubt.map_or_else(String::new, |doubt| format!("; {doubt}"));
    let question = format!("{}{doubt}", approval_question(&item.node));
    wait_and_ask(story, item, DecisionKind::Approval, question);
}

pub(super) fn approval_question(node: &Node) -> String {
    format!("`{node}` waits for an approval")
}

fn ask_about_claim(story: &mut EventBuffer<'_>, item: &ItemRow, question: String) {
    wait_and_ask(story, item, DecisionKind::Claim, question);
}

fn wait_and_ask(story: &mut EventBuffer<'_>, item: &ItemRow, kind: DecisionKind, question: String) {
    let (run, node) = (item.run, &item.node);
    let human = HumanNeeded {
        reason: question,
        details: item.summary.clone(),
    };
    story.move_item(run, node, ItemState::Waiting, |moved| {
        moved.human = Some(human.clone());
    });
    story.ask_about_node(kind, run, node, human.reason, human.details);
}
