//! What people say of items that they work on themselves, outside of piton.
//!
//! An item that a person has in hand waits for that person. No runner starts it until
//! a person retries it.

use jiff::SignedDuration;

use super::changes::{
    EditRejection, EditSource, append_change, change_item, drop_dependencies, reject_edit,
};
use super::dependencies::has_to_wait;
use super::event_buffer::EventBuffer;
use super::giving_up::{ask_about_broken_item, give_up_item};
use super::reopening::reopen_ancestors;
use crate::attempt::HumanNeeded;
use crate::command::EditAuthor;
use crate::decision::{DecisionKind, DecisionRow, Verb};
use crate::event::ItemChange;
use crate::id::{Node, RunId};
use crate::item::{ItemHold, ItemRow, ItemState, Stage};
use crate::merge::MergeRow;
use crate::plan::Order;
use crate::refusal::Refusal;

/// A person works on an item now.
pub(super) fn start_by_hand(
    story: &mut EventBuffer<'_>,
    item: &ItemRow,
    why: Option<&str>,
) -> Result<(), EditRejection> {
    let is_in_hand = |row: &DecisionRow| {
        row.kind == DecisionKind::InHand && row.node.as_ref() == Some(&item.node)
    };
    if story.tables.open_decisions(item.run).any(is_in_hand) {
        return Ok(());
    }
    begin_by_hand(story, item)?;
    let (run, node) = (item.run, &item.node);
    let human = HumanNeeded {
        reason: format!("{} works on it", story.facts.actor.name()),
        details: why.map(str::to_owned),
    };
    story.move_item(run, node, ItemState::Waiting, |moved| {
        moved.human = Some(human.clone());
    });
    story.ask_about_node(DecisionKind::InHand, run, node, human.reason, human.details);
    Ok(())
}

/// The person who worked on an item gave it up.
pub(super) fn fail_by_hand(
    story: &mut EventBuffer<'_>,
    item: &ItemRow,
    why: Option<&str>,
) -> Result<(), EditRejection> {
    begin_by_hand(story, item)?;
    let by = story.facts.actor.name();
    let error = why.map_or_else(|| format!("{by} gave it up"), str::to_owned);
    give_up_item(story, item.run, &item.node, ItemState::Failed, &error);
    Ok(())
}

/// A person says that the item waits for a person.
pub(super) fn wait_by_hand(
    story: &mut EventBuffer<'_>,
    item: &ItemRow,
    reason: String,
) -> Result<(), EditRejection> {
    begin_by_hand(story, item)?;
    let (run, node) = (item.run, &item.node);
    let human = HumanNeeded {
        reason,
        details: None,
    };
    story.move_item(run, node, ItemState::Waiting, |moved| {
        moved.human = Some(human);
    });
    ask_about_broken_item(story, run, node, None);
    Ok(())
}

/// The item is begun, and not by a runner.
fn begin_by_hand(story: &mut EventBuffer<'_>, item: &ItemRow) -> Result<(), EditRejection> {
    let (run, node) = (item.run, &item.node);
    // Of an item that a dead runner left behind only the state is known.
    let is_working = item.state == ItemState::Working;
    if item.is_under_way() || (is_working && story.has_live_runner(run)) {
        return Err(Refusal::BeingWorkedOn(node.clone()).into());
    }
    let may_begin = is_working || matches!(item.state, ItemState::Ready | ItemState::Waiting);
    if !may_begin || !item.is_leaf() {
        return reject_edit(format!("it is {}", item.state));
    }
    if item.merge().is_some_and(MergeRow::is_awaiting_merge) {
        return reject_edit("its work waits to be merged");
    }
    reopen_ancestors(story, run, node);
    for above in story.ancestors_of(run, node).into_iter().rev() {
        if above.state == ItemState::Ready {
            story.move_item(run, &above.node, ItemState::Working, |_| {});
        }
    }
    match is_working {
        true => story.set_stage(run, node, Stage::Work),
        false => story.move_item(run, node, ItemState::Working, |moved| {
            moved.stage = Some(Stage::Work);
        }),
    }
    story.settle_decisions_of_node(run, node, Verb::Settled);
    Ok(())
}

/// A person works on an item for so many seconds, or gives it back: no runner starts it
/// meanwhile.
pub(super) fn take_item(
    story: &mut EventBuffer<'_>,
    run: RunId,
    by: &EditSource<'_>,
    node: &Node,
    for_s: Option<u64>,
) -> Result<(), EditRejection> {
    let EditAuthor::Typed { .. } = by.word else {
        return reject_edit("a file cannot take an item");
    };
    let row = story.require_item(run, node)?.clone();
    let now = story.rows.now;
    let hold = row.hold_at(now);
    let Some(for_s) = for_s else {
        if hold.is_none() {
            return reject_edit("it is not taken");
        }
        append_change(story, run, node, ItemChange::Taken(None));
        return Ok(());
    };
    let person = story.facts.actor.name().to_owned();
    if let Some(hold) = hold.filter(|hold| hold.by != person) {
        return reject_edit(format!("it is {hold}"));
    }
    if !row.is_leaf() {
        return reject_edit("it holds other items: take one of those");
    }
    if row.is_under_way() || row.state == ItemState::Working {
        return Err(Refusal::BeingWorkedOn(node.clone()).into());
    }
    if !matches!(row.state, ItemState::Pending | ItemState::Ready) {
        return reject_edit(format!("it is {}, so that no runner starts it", row.state));
    }
    let length = SignedDuration::from_secs(i64::try_from(for_s).unwrap_or(i64::MAX));
    let until = now.checked_add(length).ok().filter(|until| *until > now);
    let Some(until) = until else {
        return reject_edit("it cannot be taken for that time");
    };
    let hold = ItemHold {
        by: person,
        since: now,
        until,
    };
    append_change(story, run, node, ItemChange::Taken(Some(hold)));
    Ok(())
}

/// An item waits for other items than it did.
pub(super) fn set_dependencies(
    story: &mut EventBuffer<'_>,
    run: RunId,
    node: &Node,
    depends_on: &[Node],
) -> Result<(), EditRejection> {
    if story.require_run(run)?.plan.order == Order::InTurn {
        return reject_edit("what it waits for is told when it is planned");
    }
    let row = story.require_item(run, node)?.clone();
    let added = depends_on
        .iter()
        .filter(|on| !row.plan.depends_on.contains(on));
    for on in added {
        let is_round = on.is_within(node)
            || node.is_within(on)
            || depends_on_transitively(story, run, on, node);
        if story.tables.item(run, on).is_none() {
            return reject_edit(format!("it would wait for `{on}`, which is not there"));
        }
        if is_round {
            return reject_edit(format!("it would wait for `{on}`, which waits for it"));
        }
    }
    if depends_on.iter().all(|on| row.plan.depends_on.contains(on)) {
        return drop_dependencies(story, run, node, depends_on);
    }
    let fits = matches!(row.state, ItemState::Pending | ItemState::Ready) || row.state.is_broken();
    if !fits {
        return reject_edit(format!("it is {}", row.state));
    }
    change_item(story, run, node, ItemChange::DependsOn(depends_on.to_vec()))?;
    let row = story.require_item(run, node)?.clone();
    match row.state {
        ItemState::Ready if has_to_wait(story, run, &row) => {
            story.move_item(run, node, ItemState::Pending, |_| {});
        }
        ItemState::Pending if !has_to_wait(story, run, &row) => {
            story.move_item(run, node, ItemState::Ready, |_| {});
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
    Ok(())
}

/// Whether an item waits for another, by however many steps.
fn depends_on_transitively(story: &EventBuffer<'_>, run: RunId, item: &Node, other: &Node) -> bool {
    let mut seen: Vec<&Node> = Vec::new();
    let mut open = vec![item];
    while let Some(node) = open.pop() {
        if node == other {
            return true;
        }
        if seen.contains(&node) {
            continue;
        }
        seen.push(node);
        let row = story.tables.item(run, node);
        open.extend(row.into_iter().flat_map(|row| &row.plan.depends_on));
    }
    false
}
