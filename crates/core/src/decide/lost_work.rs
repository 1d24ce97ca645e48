//! Work that is not there any more: its lane, or the worktree of its run, was taken
//! away before it was committed.

use super::advance::skip_node;
use super::event_buffer::EventBuffer;
use super::guards::{HeldRun, LeasedItem, check_fence, check_runner, wrong_item_state};
use super::judging::settle_attempt;
use super::recording::{entry_about, log_entry};
use super::recovering::{FailedWork, fail_item};
use super::reopening::reopen_ancestors;
use crate::attempt::Outcome;
use crate::classify::FailureCategory;
use crate::decision::{DecisionKind, Verb};
use crate::entry::EntryType;
use crate::event::{ItemEvent, UnitEvent};
use crate::evidence::{Level, level_of_evidence};
use crate::gate::GateReport;
use crate::item::{ItemRow, ItemState, Stage};
use crate::refusal::Refusal;

/// What was done for a unit since its lane was taken is lost: the attempts have
/// failed, and what they were for is worked on again. In place that is the item
/// whose commit was under way.
pub(super) fn record_lost_work(
    story: &mut EventBuffer<'_>,
    held: HeldRun,
    at: LeasedItem<'_>,
    why: &str,
) -> Result<(), Refusal> {
    check_runner(story, held)?;
    let (run, node) = (held.0, at.0);
    let unit = check_fence(story, run, at)?;
    let by = unit.lane().map(|lane| lane.by);
    if by.is_some_and(|by| {
        by != held.1 && story.tables.run(run).is_some_and(|row| row.has_runner(by))
    }) {
        return Err(wrong_item_state(&unit));
    }
    let rows: Vec<ItemRow> = story.tables.items_of_unit(&unit).cloned().collect();
    if rows.iter().any(|row| row.attempt.is_some()) || unit.merge().is_some_and(|it| it.has_slot())
    {
        return Err(wrong_item_state(&unit));
    }
    if unit.lane().is_some() {
        story.append(UnitEvent::LaneLeft {
            run,
            node: node.clone(),
            saved: None,
        });
    }
    for row in rows
        .iter()
        .filter(|row| row.proof.gate_runs.as_ref().is_some_and(|runs| runs.open))
    {
        story.append(ItemEvent::GateEnded {
            run,
            node: row.node.clone(),
            report: GateReport {
                interrupted: true,
                error: Some(why.to_owned()),
                ..GateReport::default()
            },
            evidence: None,
        });
    }
    if unit.work.committing.is_some() {
        story.append(ItemEvent::CommitEnded {
            run,
            node: node.clone(),
            commit: None,
            error: Some(why.to_owned()),
        });
    }
    for row in &rows {
        settle_attempt(story, row, Outcome::Failed, Some(why));
    }
    // Those below come first: what holds them has nothing to be checked without them.
    for row in rows.iter().rev() {
        restart_lost_item(story, &unit, row, why);
    }
    Ok(())
}

fn restart_lost_item(story: &mut EventBuffer<'_>, unit: &ItemRow, row: &ItemRow, why: &str) {
    let (run, node) = (row.run, &row.node);
    // What the queue returned is still in its commit; what an agent made of it is lost.
    let again_at = match unit.merge() {
        Some(_) => Stage::Resolve,
        None => Stage::Work,
    };
    match row.state {
        ItemState::Working if row.is_leaf() && is_stage_after_work(row.stage) => {
            let entry = entry_about(story, run, node, EntryType::TaskBlocked, why);
            log_entry(story, entry);
            if row.people.skip_asked {
                skip_node(story, run, node, None);
                return;
            }
            story.set_stage(run, node, again_at);
            fail_item(story, run, node, &lost_work_failure(why));
        }
        // The children that it is checked and committed with may be in a commit of it.
        ItemState::Working if !row.is_leaf() && is_stage_after_work(row.stage) => {
            let stage = match (unit.merge(), &row.plan.gate) {
                (Some(_), _) => Stage::Resolve,
                (None, Some(_)) => Stage::Gate,
                (None, None) => Stage::Commit,
            };
            let is_open = story
                .tables
                .item(run, node)
                .is_some_and(|row| row.open_children > 0);
            if !is_open {
                story.set_stage(run, node, stage);
            }
        }
        // What its next try would go on with is lost as well. One that holds others goes
        // on with those.
        ItemState::Failed | ItemState::Blocked
            if row.stage == Stage::Commit && (row.is_leaf() || unit.merge().is_some()) =>
        {
            story.set_stage(run, node, again_at);
        }
        ItemState::Done if was_done_in_lane(unit, row) => {
            reopen_ancestors(story, run, node);
            restart_lost_work(story, row, why);
        }
        // What a person is to accept is not there any more.
        ItemState::Waiting if is_asked_in_lane(story, unit, row) => {
            story.settle_decisions_of_node(run, node, Verb::Settled);
            restart_lost_work(story, row, why);
        }
        ItemState::Pending
        | ItemState::Ready
        | ItemState::Working
        | ItemState::Waiting
        | ItemState::Done
        | ItemState::Failed
        | ItemState::Skipped
        | ItemState::Blocked
        | ItemState::Dropped => {}
    }
}

fn restart_lost_work(story: &mut EventBuffer<'_>, row: &ItemRow, why: &str) {
    story.move_item(row.run, &row.node, ItemState::Working, |moved| {
        moved.stage = Some(Stage::Work);
    });
    fail_item(story, row.run, &row.node, &lost_work_failure(why));
}

fn lost_work_failure(why: &str) -> FailedWork<'_> {
    FailedWork {
        outcome: Outcome::Failed,
        category: FailureCategory::Logic,
        error: why,
        recovery: None,
        is_of_check: false,
    }
}

/// Whether what comes next for an item goes on with what an agent made of it.
fn is_stage_after_work(stage: Stage) -> bool {
    match stage {
        Stage::Gate | Stage::Fix | Stage::Commit | Stage::Verdict | Stage::IterationHooks => true,
        Stage::Review => true,
        Stage::Work
        | Stage::Baseline
        | Stage::Repair
        | Stage::Split
        | Stage::Merge
        | Stage::Resolve => false,
    }
}

/// Whether agents finished an item below its unit in the lane that this has: what
/// was done in an earlier one is in a commit.
fn was_done_in_lane(unit: &ItemRow, row: &ItemRow) -> bool {
    let since = unit.lane().and_then(|lane| lane.since);
    let is_person = level_of_evidence(&row.proof.evidence) == Some(Level::Person);
    unit.lane().is_some()
        && row.node != unit.node
        && row.is_leaf()
        && row.attempts > 0
        && !is_person
        && since.is_none_or(|since| row.completed_at.is_none_or(|at| at >= since))
}

/// Whether a person is asked to accept what agents made of an item in the lane that
/// its unit has.
fn is_asked_in_lane(story: &EventBuffer<'_>, unit: &ItemRow, row: &ItemRow) -> bool {
    let Some(lane) = unit.lane() else {
        return false;
    };
    let mut open = story.tables.open_decisions(row.run);
    row.is_leaf()
        && open.any(|asked| {
            // A unit is in a commit before anybody but its reviewer is asked about it.
            let is_about_work = asked.kind == DecisionKind::AgentReview
                || (matches!(asked.kind, DecisionKind::Claim | DecisionKind::Approval)
                    && row.node != unit.node);
            let is_since = lane.since.is_none_or(|since| asked.opened_at >= since);
            is_about_work && is_since && asked.node.as_ref() == Some(&row.node)
        })
}
