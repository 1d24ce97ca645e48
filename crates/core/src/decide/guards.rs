//! What has to hold before a command changes a run, an item or a decision.

use super::event_buffer::EventBuffer;
use crate::decision::{DecisionRow, Verb};
use crate::id::{DecisionId, Node, RunId};
use crate::item::ItemRow;
use crate::lane::unit_of_node;
use crate::refusal::Refusal;
use crate::run::{RunState, RunnerRequest};

/// A run, and the token of the runner that says that it holds it.
pub(super) type HeldRun = (RunId, u64);

/// Refuses to begin anything in a run that is not running, or that a person has just
/// asked to stop.
pub(super) fn check_can_begin(story: &EventBuffer<'_>, run: RunId) -> Result<(), Refusal> {
    let row = story.require_run(run)?;
    let stops = row
        .invocation
        .asked
        .as_ref()
        .is_some_and(|asked| asked.request == RunnerRequest::Stop);
    if row.state == RunState::Running && !stops {
        Ok(())
    } else {
        Err(story.wrong_run_state(run))
    }
}

/// Refuses a runner that no longer holds the run.
pub(super) fn check_holder(story: &EventBuffer<'_>, (run, token): HeldRun) -> Result<(), Refusal> {
    let row = story.require_run(run)?;
    match &row.holder {
        Some(holder) if holder.token == token => Ok(()),
        Some(_) | None => Err(Refusal::Fenced {
            name: row.name.clone(),
        }),
    }
}

/// Refuses a runner that neither holds the run nor has joined it.
pub(super) fn check_runner(story: &EventBuffer<'_>, (run, token): HeldRun) -> Result<(), Refusal> {
    let row = story.require_run(run)?;
    match row.has_runner(token) {
        true => Ok(()),
        false => Err(Refusal::Fenced {
            name: row.name.clone(),
        }),
    }
}

/// An item, and the token with which it was taken.
pub(super) type LeasedItem<'a> = (&'a Node, u64);

/// The item whose work has ended. Refused where another runner or a person has taken
/// it since: the later one decides what becomes of it.
pub(super) fn check_fence(
    story: &EventBuffer<'_>,
    run: RunId,
    (node, fence): LeasedItem<'_>,
) -> Result<ItemRow, Refusal> {
    let item = story.require_item(run, node)?;
    if item.fence == fence {
        Ok(item.clone())
    } else {
        Err(wrong_item_state(item))
    }
}

pub(super) fn wrong_item_state(item: &ItemRow) -> Refusal {
    Refusal::ItemState {
        node: item.node.clone(),
        state: item.state,
        until: item.tries.until,
    }
}

/// Refuses to begin anything on an item that a person works on.
pub(super) fn check_not_taken(story: &EventBuffer<'_>, item: &ItemRow) -> Result<(), Refusal> {
    match item.hold_at(story.rows.now) {
        None => Ok(()),
        Some(hold) => Err(Refusal::ItemState {
            node: item.node.clone(),
            state: item.state,
            until: Some(hold.until),
        }),
    }
}

/// Refuses to begin anything on an item in lanes whose unit has no lane of this
/// runner.
pub(super) fn check_lane_held(
    story: &EventBuffer<'_>,
    (run, token): HeldRun,
    node: &Node,
) -> Result<(), Refusal> {
    if story.require_run(run)?.branches.lanes.is_none() {
        return Ok(());
    }
    let unit = story.require_item(run, &unit_of_node(node))?;
    match unit.lane() {
        Some(lane) if lane.by == token => Ok(()),
        Some(_) | None => Err(wrong_item_state(story.require_item(run, node)?)),
    }
}

/// The decision, when it is open and this may be said to it.
pub(super) fn check_decision_open(
    story: &EventBuffer<'_>,
    id: DecisionId,
    verb: Verb,
) -> Result<DecisionRow, Refusal> {
    let Some(row) = story.tables.decision(id) else {
        return Err(Refusal::NoSuchDecision(id.to_string()));
    };
    row.check_verb(verb)?;
    Ok(row.clone())
}
