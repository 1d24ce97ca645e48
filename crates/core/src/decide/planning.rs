//! Which plans can be taken: whole ones, that do not contradict themselves.

use std::collections::BTreeMap;

use super::advance::{ask_about_broken_item, ask_at_breakpoint};
use super::claims::approval_question;
use super::event_buffer::EventBuffer;
use super::requests;
use super::settling::{is_blocked_in_plan, yielding_items_of_plan};
use crate::attempt::HumanNeeded;
use crate::decision::DecisionKind;
use crate::event::{ItemEvent, ItemPlanned, RunEvent, RunPlanned};
use crate::id::Node;
use crate::item::ItemState;
use crate::plan::{ItemTurn, Order, Plan, PlannedItem};
use crate::refusal::Refusal;
use crate::run::Pause;

pub(super) fn plan_run(story: &mut EventBuffer<'_>, plan: &Plan) -> Result<(), Refusal> {
    if story.tables.runs().any(|run| run.name == plan.name) {
        return Err(Refusal::NameTaken(plan.name.clone()));
    }
    let indexes = index_nodes(&plan.items)?;
    check_for_cycles(&plan.items, &indexes)?;
    story.append(RunEvent::Planned(Box::new(RunPlanned {
        run: plan.run,
        name: plan.name.clone(),
        face: plan.face.clone(),
        source: plan.source.clone(),
        policy: plan.policy.clone(),
        order: Some(plan.order),
        native: plan.native.clone(),
        past: plan.past.clone(),
    })));
    let mut unapproved = Vec::new();
    for (item, gives_way) in plan.items.iter().zip(yielding_items_of_plan(plan)) {
        let mut item = PlannedItem {
            depends_on: dependencies_with_inherited(&plan.items, &indexes, item),
            turn: ItemTurn {
                gives_way,
                ..item.turn
            },
            repository: plan.policy.resolve_repository(item.repository.clone()),
            ..item.clone()
        };
        if item.state == ItemState::Ready && is_blocked_in_plan(story, plan.run, &item) {
            item.state = ItemState::Pending;
        }
        if item.approval && item.state == ItemState::Waiting && item.past.human.is_none() {
            item.past.human = Some(HumanNeeded {
                reason: approval_question(&item.node),
                details: None,
            });
            unapproved.push(item.node.clone());
        }
        story.append(ItemEvent::Planned(Box::new(ItemPlanned {
            run: plan.run,
            item,
        })));
    }
    let stuck = plan.past.as_ref().and_then(|past| past.stuck.as_ref());
    match (plan.order, stuck) {
        (Order::Any, _) => ask_about_imported_items(story, plan, &unapproved),
        (Order::InTurn, Some(node)) => ask_about_broken_item(story, plan.run, node, None),
        (Order::InTurn, None) => {}
    }
    // Another tool had stopped there when the plan was taken over.
    let pause = story.require_run(plan.run)?.pause.clone();
    if let Some(Pause::Breakpoint { node }) = pause
        && story.tables.item(plan.run, &node).is_some()
    {
        ask_at_breakpoint(story, plan.run, &node);
    }
    requests::open_requests_of_plan(story, plan.run, &plan.requests);
    requests::reopen_in_next_sprint(story, plan);
    Ok(())
}

/// Asks about each item that waits for a person or has failed where the plan was
/// taken over: none of them holds up the others.
fn ask_about_imported_items(story: &mut EventBuffer<'_>, plan: &Plan, unapproved: &[Node]) {
    let waits = |item: &&PlannedItem| item.state == ItemState::Waiting || item.state.is_broken();
    for item in plan.items.iter().filter(waits) {
        let node = &item.node;
        if unapproved.contains(node) {
            let question = approval_question(node);
            story.ask_about_node(DecisionKind::Approval, plan.run, node, question, None);
        } else {
            ask_about_broken_item(story, plan.run, node, None);
        }
    }
}

fn bad_plan(why: String) -> Refusal {
    Refusal::BadPlan(why)
}

pub(super) type NodeIndexes<'a> = BTreeMap<&'a Node, usize>;

pub(super) fn index_nodes(items: &[PlannedItem]) -> Result<NodeIndexes<'_>, Refusal> {
    let mut indexes = NodeIndexes::new();
    for (index, item) in items.iter().enumerate() {
        if indexes.insert(&item.node, index).is_some() {
            return Err(bad_plan(format!("two nodes are named `{}`", item.node)));
        }
        if item
            .node
            .parent()
            .is_some_and(|parent| !indexes.contains_key(&parent))
        {
            return Err(bad_plan(format!("`{}` comes before its parent", item.node)));
        }
    }
    Ok(indexes)
}

/// What an item waits for, with what those above it wait for: whatever waits by
/// itself is released by itself, and must not be ahead of what it is part of.
pub(super) fn dependencies_with_inherited(
    items: &[PlannedItem],
    indexes: &NodeIndexes<'_>,
    item: &PlannedItem,
) -> Vec<Node> {
    let mut all = item.depends_on.clone();
    if all.is_empty() {
        return all;
    }
    for above in item.node.ancestors() {
        let inherited = indexes.get(&above).map(|index| &items[*index].depends_on);
        for on in inherited.into_iter().flatten() {
            if !all.contains(on) {
                all.push(on.clone());
            }
        }
    }
    all
}

/// Refuses a plan in which something waits for what is not there, or, by
/// whatever detour, for itself.
///
/// Each item is two points, its start and its end. A start comes after the
/// ends of what it waits for and after its parent's start; an end comes after
/// its own start and its children's ends. An order of all points must exist.
pub(super) fn check_for_cycles(
    items: &[PlannedItem],
    indexes: &NodeIndexes<'_>,
) -> Result<(), Refusal> {
    let (start, end) = (|index: usize| 2 * index, |index: usize| 2 * index + 1);
    let mut after: Vec<Vec<usize>> = vec![Vec::new(); 2 * items.len()];
    let mut waits_for = vec![0_usize; 2 * items.len()];
    let mut comes_before = |first: usize, second: usize| {
        after[first].push(second);
        waits_for[second] += 1;
    };
    for (index, item) in items.iter().enumerate() {
        comes_before(start(index), end(index));
        if let Some(parent) = item.node.parent().and_then(|node| indexes.get(&node)) {
            comes_before(start(*parent), start(index));
            comes_before(end(index), end(*parent));
        }
        for on in &item.depends_on {
            let Some(on) = indexes.get(on) else {
                return Err(bad_plan(format!(
                    "`{}` waits for `{on}`, which it does not have",
                    item.node
                )));
            };
            comes_before(end(*on), start(index));
        }
    }
    let mut free: Vec<usize> = (0..waits_for.len())
        .filter(|point| waits_for[*point] == 0)
        .collect();
    while let Some(point) = free.pop() {
        for next in std::mem::take(&mut after[point]) {
            waits_for[next] -= 1;
            if waits_for[next] == 0 {
                free.push(next);
            }
        }
    }
    match waits_for.iter().position(|left| *left > 0) {
        None => Ok(()),
        Some(point) => Err(bad_plan(format!(
            "`{}` can never be finished, because it waits for itself",
            items[point / 2].node
        ))),
    }
}
