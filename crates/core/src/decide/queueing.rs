//! How the work on a unit comes into the merge queue.

use super::event_buffer::EventBuffer;
use super::judging::settle_attempt;
use crate::attempt::{HumanNeeded, Outcome};
use crate::decision::DecisionKind;
use crate::event::UnitEvent;
use crate::evidence::Evidence;
use crate::item::{ItemRow, ItemState, Stage};

/// Puts a unit whose work is committed and proved into the queue, if it is one:
/// it is done when that is merged.
pub(super) fn queue_unit(
    story: &mut EventBuffer<'_>,
    item: &ItemRow,
    evidence: &[Evidence],
) -> bool {
    let (run, node) = (item.run, &item.node);
    let in_lanes = story
        .tables
        .run(run)
        .is_some_and(|row| row.branches.lanes.is_some());
    let work = item.work.unit.as_ref().and_then(|unit| unit.work.clone());
    let Some(work) = work.filter(|_| in_lanes && item.is_merge_unit()) else {
        return false;
    };
    settle_attempt(story, item, Outcome::Completed, None);
    if item.state == ItemState::Working {
        story.set_stage(run, node, Stage::Merge);
    } else {
        story.move_item(run, node, ItemState::Working, |moved| {
            moved.stage = Some(Stage::Merge);
        });
    }
    // Where nothing changed there is nothing to look at.
    let is_changed = item
        .work
        .unit
        .as_ref()
        .is_none_or(|unit| !unit.is_unchanged);
    let is_by_person = |one: &Evidence| matches!(one, Evidence::Decided { .. });
    let is_approved = item.plan.approval && evidence.iter().any(is_by_person);
    let lanes = story
        .tables
        .run(run)
        .and_then(|row| row.branches.lanes.as_ref());
    let review = is_changed && !is_approved && lanes.is_some_and(|lanes| lanes.terms.review);
    story.append(UnitEvent::MergeQueued {
        run,
        node: node.clone(),
        work,
        evidence: evidence.to_vec(),
        review,
    });
    if review {
        ask_for_merge_review(story, item);
    }
    true
}

fn ask_for_merge_review(story: &mut EventBuffer<'_>, item: &ItemRow) {
    let (run, node) = (item.run, &item.node);
    let human = HumanNeeded {
        reason: format!("the work on `{node}` waits for a review"),
        details: item.summary.clone(),
    };
    story.move_item(run, node, ItemState::Waiting, |moved| {
        moved.human = Some(human.clone());
    });
    let kind = DecisionKind::Review;
    story.ask_about_node(kind, run, node, human.reason, human.details);
}
