//! Which plans can be taken: whole ones, that do not contradict themselves.

use super::advance::{approval_question, ask_at_breakpoint};
use super::event_buffer::EventBuffer;
use super::giving_up::ask_about_broken_item;
use super::plan_graph::{check_for_cycles, dependencies_with_inherited, index_nodes};
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
