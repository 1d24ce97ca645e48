//! Edits out of nowhere, for worlds in which anything may happen.

use piton_core::command::EditAuthor;
use piton_core::gate::Gate;
use piton_core::native::Native;
use piton_core::plan::{ImportedItemHistory, ItemTags, PlannedItem};
use piton_core::{
    DecisionId, DecisionKind, Edit, ItemRow, ItemState, Node, RunState, TreePosition,
};

use crate::world::{ALL_ITEM_STATES, World};

/// A number below the one that is given.
pub type Draw<'d> = &'d mut dyn FnMut(usize) -> usize;

/// One to three things that a person may do to the file of a plan.
pub fn draw_edits(world: &World, draw: Draw<'_>) -> Vec<Edit> {
    (0..=draw(3)).map(|_| draw_edit(world, draw)).collect()
}

fn draw_edit(world: &World, draw: Draw<'_>) -> Edit {
    let items: Vec<&ItemRow> = world.tables.tree(world.run).collect();
    if items.is_empty() {
        return Edit::SetRunState {
            to: RunState::Paused,
        };
    }
    let node = items[draw(items.len())].node.clone();
    match draw(16) {
        0..=2 => Edit::SetState {
            node,
            to: [ItemState::Pending, ItemState::Skipped, ItemState::Done][draw(3)],
        },
        3 => Edit::SetState {
            node,
            to: ALL_ITEM_STATES[draw(9)],
        },
        4 if draw(2) > 0 => Edit::SetSummary {
            node,
            summary: Some("by hand".to_owned()),
        },
        4 => Edit::SetRetries { node, retries: 2 },
        5 => Edit::SetPrompt {
            node,
            prompt: (draw(4) > 0).then(|| "do it otherwise".to_owned()),
        },
        6 => Edit::SetGate {
            node,
            gate: (draw(2) > 0).then(a_gate),
        },
        7 => Edit::SetBreakpoint {
            node,
            breakpoint: draw(2) > 0,
        },
        8 => Edit::SetNative {
            node: Some(node).filter(|_| draw(2) > 0),
            native: Some(Native {
                face: "sprint-yaml".to_owned(),
                version: 1,
                body: "{}".to_owned(),
            }),
        },
        9 => draw_order(&items, draw),
        10 => Edit::SetRunState {
            to: [RunState::Paused, RunState::Running, RunState::Done][draw(3)],
        },
        11 | 12 => Edit::SetPresent {
            node,
            present: draw(3) == 0,
        },
        _ => draw_insert(&items, draw),
    }
}

fn a_gate() -> Gate {
    Gate {
        script: "make test".to_owned(),
        on_fail_prompt: "mend it".to_owned(),
        runs_max: 2,
        timeout_s: 60,
    }
}

fn draw_parent(items: &[&ItemRow], draw: Draw<'_>) -> Option<Node> {
    let shallow: Vec<&ItemRow> = items
        .iter()
        .copied()
        .filter(|item| item.plan.place.depth() < 3)
        .collect();
    (draw(3) > 0).then(|| shallow[draw(shallow.len())].node.clone())
}

fn children(items: &[&ItemRow], parent: Option<&Node>) -> Vec<Node> {
    let below = items
        .iter()
        .filter(|item| item.node.parent().as_ref() == parent);
    below.map(|item| item.node.clone()).collect()
}

fn draw_order(items: &[&ItemRow], draw: Draw<'_>) -> Edit {
    let parent = draw_parent(items, draw);
    let mut nodes = children(items, parent.as_ref());
    nodes.reverse();
    nodes.truncate(1 + draw(nodes.len().max(1)));
    Edit::Order { parent, nodes }
}

/// An item that is new to a plan, as a file tells of it.
pub fn new_item(parent: Option<&Node>, id: &str, state: ItemState) -> PlannedItem {
    let place = vec![0; parent.map_or(0, |node| node.as_str().matches('/').count() + 1)];
    PlannedItem {
        node: Node::child(parent, id, 1),
        id: id.to_owned(),
        place: TreePosition(place).child(0),
        state,
        prompt: Some(format!("do {id}")),
        model: None,
        gate: None,
        breakpoint: false,
        approval: false,
        depends_on: Vec::new(),
        native: None,
        past: ImportedItemHistory::default(),
        piece_of: None,
        injected: None,
        tags: ItemTags::default(),
        claims: piton_core::evidence::ClaimOverrides::default(),
        turn: piton_core::plan::ItemTurn::default(),
        scope: piton_core::scope::FileScope::default(),
        repository: None,
        wait: None,
    }
}

fn draw_insert(items: &[&ItemRow], draw: Draw<'_>) -> Edit {
    let parent = draw_parent(items, draw);
    let siblings = children(items, parent.as_ref());
    let state = |draw: Draw<'_>| {
        let likely = [ItemState::Ready, ItemState::Ready, ItemState::Done];
        if draw(8) == 0 {
            ALL_ITEM_STATES[draw(9)]
        } else {
            likely[draw(3)]
        }
    };
    let mut top = new_item(parent.as_ref(), ["n", "a", "b"][draw(3)], state(draw));
    if draw(3) == 0 && !siblings.is_empty() {
        top.depends_on = vec![siblings[draw(siblings.len())].clone()];
    }
    if draw(6) == 0 {
        top.gate = Some(a_gate());
    }
    let mut new = vec![top];
    if parent
        .as_ref()
        .is_none_or(|node| !node.as_str().contains('/'))
    {
        for index in 0..draw(3) {
            let mut child = new_item(Some(&new[0].node), ["x", "y"][index], state(draw));
            child.place = new[0].place.child(u32::try_from(index).expect("few"));
            if index == 1 && draw(2) == 0 {
                child.depends_on = vec![new[1].node.clone()];
            }
            new.push(child);
        }
    }
    let after =
        (draw(3) > 0 && !siblings.is_empty()).then(|| siblings[draw(siblings.len())].clone());
    Edit::Insert {
        parent,
        after,
        items: new,
    }
}

/// The word of a person who was asked about the file, or whose question is not
/// there any more.
pub fn a_persons(world: &World) -> EditAuthor {
    let mut open = world.tables.open_decisions(world.run);
    let about = open.find(|row| row.kind == DecisionKind::FileConflict);
    EditAuthor::Person {
        decision: about.map_or(DecisionId(uuid::Uuid::nil()), |row| row.id),
        why: None,
    }
}
