//! What follows from the items, after every decision: which of them are ready,
//! and the state of the run. See `docs/design/0014-run-state.md`.

use std::collections::HashMap;

use super::advance;
use super::changes::append_change;
use super::dead_runner::renew_pause_request;
use super::dependencies;
use super::event_buffer::{EventBuffer, StateReason};
use crate::decision::DecisionKind;
use crate::event::ItemChange;
use crate::id::{Node, RunId, TreePosition};
use crate::item::{ItemRow, ItemState};
use crate::order::{OrderedItem, find_yielding_items};
use crate::plan::{ItemTurn, Order, Plan, PlannedItem};
use crate::policy::OnDependencyFailure;
use crate::run::{Pause, PendingRequest, RunRow, RunState};
use crate::standing::{ItemStanding, StandingCounts, state_of_run};

/// Whether the plan says what becomes of what waits for an item that failed.
pub(super) fn has_failure_strategy(story: &EventBuffer<'_>, run: RunId) -> bool {
    let row = story.tables.run(run);
    row.is_some_and(|row| row.plan.policy.on_dependency_failure.is_some())
}

/// Leaves out what waits for an item that has failed just now, with all that waits
/// for it in turn, where the plan says so. What a person brings back later waits
/// for the failed item as anything does.
pub(super) fn skip_dependents(story: &mut EventBuffer<'_>, run: RunId) {
    let row = story.tables.run(run);
    if row.and_then(|row| row.plan.policy.on_dependency_failure)
        != Some(OnDependencyFailure::SkipDependents)
    {
        return;
    }
    let was_broken = |node: &Node| {
        let row = story.rows.tables.item(run, node);
        row.is_some_and(|row| row.state.is_broken())
    };
    let is_new = |row: &&ItemRow| row.state.is_broken() && !was_broken(&row.node);
    let failed = story.tables.tree(run).filter(is_new);
    // Each with the item that it lacks because of it.
    let mut lacking: Vec<(Node, Node)> = Vec::new();
    let mut lost: Vec<Node> = failed.map(|row| row.node.clone()).collect();
    while let Some(lacked) = lost.pop() {
        let waits = |row: &&ItemRow| {
            let open = matches!(row.state, ItemState::Pending | ItemState::Ready);
            open && row.plan.depends_on.contains(&lacked)
        };
        for row in story.tables.tree(run).filter(waits) {
            if !lacking.iter().any(|(known, _)| *known == row.node) {
                lacking.push((row.node.clone(), lacked.clone()));
                lost.push(row.node.clone());
            }
        }
    }
    for (node, lacked) in lacking.into_iter().rev() {
        let Some(place) = story
            .tables
            .item(run, &node)
            .map(|row| row.plan.place.clone())
        else {
            continue;
        };
        let below = story.tables.subtree(run, &place);
        let below: Vec<Node> = below.map(|row| row.node.clone()).collect();
        let why = match story.tables.item(run, &lacked) {
            Some(row) if row.state.is_broken() => format!("`{lacked}`, which it waits for, failed"),
            Some(_) | None => format!("`{lacked}`, which it waits for, is left out"),
        };
        for node in below.into_iter().rev() {
            let row = story.tables.item(run, &node);
            if row.is_some_and(|row| !row.state.is_finished() && row.open_children == 0) {
                advance::skip_node(story, run, &node, Some(&why));
            }
        }
    }
}

/// Looks at each item that has not begun: it is ready where nothing has to be
/// finished before it, and pending elsewhere. For decisions that see all items.
pub(super) fn update_ready_items(story: &mut EventBuffer<'_>, run: RunId) {
    update_turns(story, run);
    for (node, to) in find_wrong_states(story, run) {
        story.move_item(run, &node, to, |_| {});
    }
}

/// The items that have not begun whose state is not what must be finished before
/// them makes it, and what it makes it: as [`dependencies::has_to_wait`] says of one
/// item, but each parent and each list of siblings is looked at once.
fn find_wrong_states(story: &EventBuffer<'_>, run: RunId) -> Vec<(Node, ItemState)> {
    let tables = &story.tables;
    let in_turn = tables
        .run(run)
        .is_some_and(|row| row.plan.order == Order::InTurn);
    let is_open = |on: &Node| dependencies::is_blocking(story, run, on);
    let mut failed: HashMap<TreePosition, bool> = HashMap::new();
    let mut open: HashMap<TreePosition, Vec<(TreePosition, ItemTurn)>> = HashMap::new();
    let mut waits: HashMap<TreePosition, bool> = HashMap::new();
    let mut found = Vec::new();
    for row in tables.tree(run) {
        let above = row.plan.place.parent();
        let mut must_wait =
            waits.get(&above) == Some(&true) || row.plan.depends_on.iter().any(is_open);
        must_wait |= *failed
            .entry(above.clone())
            .or_insert_with_key(|above| dependencies::is_phase_failed(story, run, above));
        if !must_wait && in_turn && row.plan.depends_on.is_empty() {
            let siblings = open.entry(above).or_insert_with_key(|above| {
                let open = tables.open_children(run, above);
                open.map(|row| (row.plan.place.clone(), row.plan.turn))
                    .collect()
            });
            must_wait = siblings
                .iter()
                .take_while(|(place, _)| *place < row.plan.place)
                .any(|(_, turn)| turn.is_blocking(row.plan.turn));
        }
        debug_assert_eq!(must_wait, dependencies::has_to_wait(story, run, row));
        waits.insert(row.plan.place.clone(), must_wait || row.has_open_wait());
        let to = match must_wait {
            true => ItemState::Pending,
            false => ItemState::Ready,
        };
        let has_not_begun = matches!(row.state, ItemState::Pending | ItemState::Ready)
            || (must_wait && row.current_wait().is_some());
        if has_not_begun && row.state != to {
            found.push((row.node.clone(), to));
        }
    }
    found
}

/// Looks at which items give way to what stands behind them.
fn update_turns(story: &mut EventBuffer<'_>, run: RunId) {
    let order = story.tables.run(run).map(|row| row.plan.order);
    if order != Some(Order::InTurn) {
        return;
    }
    let rows: Vec<&ItemRow> = story.tables.tree(run).collect();
    let items: Vec<OrderedItem<'_>> = rows
        .iter()
        .map(|row| OrderedItem {
            node: &row.node,
            turn: row.plan.turn,
            depends_on: &row.plan.depends_on,
        })
        .collect();
    let changed: Vec<(Node, ItemTurn)> = find_yielding_items(&items)
        .into_iter()
        .zip(rows)
        .filter(|(gives_way, row)| row.plan.turn.gives_way != *gives_way)
        .map(|(gives_way, row)| {
            let turn = ItemTurn {
                gives_way,
                ..row.plan.turn
            };
            (row.node.clone(), turn)
        })
        .collect();
    for (node, turn) in changed {
        append_change(story, run, &node, ItemChange::Turn(turn));
    }
}

/// Which items of a plan that is being taken give way to what stands behind them.
pub(super) fn yielding_items_of_plan(plan: &Plan) -> Vec<bool> {
    if plan.order != Order::InTurn {
        return vec![false; plan.items.len()];
    }
    let items: Vec<OrderedItem<'_>> = plan
        .items
        .iter()
        .map(|item| OrderedItem {
            node: &item.node,
            turn: item.turn,
            depends_on: &item.depends_on,
        })
        .collect();
    find_yielding_items(&items)
}

/// Whether an item of a plan that is being taken has to wait for what stands
/// before it, or with what it is part of.
pub(super) fn is_blocked_in_plan(story: &EventBuffer<'_>, run: RunId, item: &PlannedItem) -> bool {
    let parent = item.node.parent();
    let parent = parent.and_then(|node| story.tables.item(run, &node));
    let waits_above =
        parent.is_some_and(|row| row.state == ItemState::Pending || row.has_open_wait());
    let tables = &story.tables;
    waits_above || tables.has_blocking_predecessor(run, &item.place, item.turn, &item.depends_on)
}

/// How the items of the run stand, with what this decision changed; none where
/// the command did not load them.
pub(super) fn count_standings(
    story: &EventBuffer<'_>,
    run: RunId,
    sees_whole_tree: bool,
) -> Option<StandingCounts> {
    if sees_whole_tree {
        return Some(StandingCounts::count_items(story.tables.tree(run)));
    }
    let mut counts = story.rows.standings?;
    for item in story.tables.tree(run) {
        let now = item.standing();
        let before = story.rows.tables.item(run, &item.node);
        let before = before.map(ItemRow::standing);
        if before != Some(now) {
            before.into_iter().for_each(|before| counts.remove(before));
            counts.add(now);
        }
    }
    Some(counts)
}

/// Moves the run to the state that follows from its items, if it is in another
/// one, or is in it because of another item.
pub(super) fn update_run_state(story: &mut EventBuffer<'_>, run: RunId, sees_whole_tree: bool) {
    if sees_whole_tree {
        leave_answered_breakpoint(story, run);
    }
    let Some(counts) = count_standings(story, run, sees_whole_tree) else {
        return;
    };
    let Some(row) = story.tables.run(run) else {
        return;
    };
    let state = state_of_run(row, &counts);
    let about = subject_of_state(story, row, state);
    let is_about_items = matches!(state, RunState::Waiting | RunState::Blocked);
    let is_about_another = is_about_items && row.pause.is_none() && row.at != about.at;
    if state == row.state && !is_about_another {
        return;
    }
    // Who asked for a pause meant the run, whatever it came to wait for by then.
    let asked = row.invocation.asked.clone();
    let paused_by = asked
        .as_ref()
        .and_then(PendingRequest::pause_requester)
        .map(str::to_owned);
    let waited = matches!(row.state, RunState::Waiting | RunState::Blocked);
    match (state, paused_by) {
        (RunState::Interrupted, Some(by)) if waited => {
            story.move_run(
                run,
                RunState::Paused,
                StateReason::from_pause(Pause::Person { by }),
            );
        }
        (RunState::Waiting | RunState::Blocked, _) => {
            story.move_run(run, state, about);
            renew_pause_request(story, run, asked);
        }
        (
            RunState::New
            | RunState::Running
            | RunState::Interrupted
            | RunState::Paused
            | RunState::Done,
            _,
        ) => story.move_run(run, state, about),
    }
}

/// A run stays at a breakpoint while a person is asked about one: an item that is
/// done again, or left out, needs no look.
fn leave_answered_breakpoint(story: &mut EventBuffer<'_>, run: RunId) {
    let pause = story.tables.run(run).and_then(|row| row.pause.as_ref());
    let is_asked = || {
        let mut open = story.tables.open_decisions(run);
        open.any(|row| row.kind == DecisionKind::Breakpoint)
    };
    if matches!(pause, Some(Pause::Breakpoint { .. })) && !is_asked() {
        story.move_run(run, RunState::Interrupted, StateReason::default());
    }
}

/// The item because of which a run waits or is blocked.
fn subject_of_state(story: &EventBuffer<'_>, run: &RunRow, state: RunState) -> StateReason {
    let first = |wanted| {
        let mut items = story.tables.tree(run.id);
        items.find(|item| item.standing() == wanted)
    };
    let item = match state {
        RunState::Waiting if run.pause.is_none() => first(ItemStanding::Asking),
        RunState::Blocked => first(ItemStanding::Broken),
        RunState::Waiting
        | RunState::New
        | RunState::Running
        | RunState::Interrupted
        | RunState::Paused
        | RunState::Done => None,
    };
    let Some(item) = item else {
        return StateReason {
            pause: run.pause.clone().filter(|_| state == RunState::Waiting),
            ..StateReason::default()
        };
    };
    let question = item.people.human.as_ref().map(|human| human.reason.clone());
    StateReason {
        at: Some(item.node.clone()),
        reason: question.or_else(|| item.error.clone()),
        pause: None,
    }
}
