//! Plans and commands to try things with.

use std::collections::BTreeMap;

use piton_core::checkout::Checkout;
use piton_core::entry::{Entry, EntryType};
use piton_core::id::{DecisionId, Node, RunId, TreePosition};
use piton_core::plan::{ImportedItemHistory, ItemTags, Plan, PlannedItem};
use piton_core::policy::Policy;
use piton_core::{Actor, CallerFacts, Command, HolderLiveness, ItemState};
use uuid::Uuid;

/// What a person at a terminal brings along.
#[must_use]
pub fn facts() -> CallerFacts {
    CallerFacts {
        actor: Actor::Person("ada".to_owned()),
        decision: DecisionId(Uuid::from_u128(0xDEC1)),
        holder: HolderLiveness::Nothing,
        checkout: Some(Checkout {
            repository: None,
            branch: Some("main".to_owned()),
            commit: None,
        }),
    }
}

/// An entry of that type with a description.
#[must_use]
pub fn entry(kind: EntryType, description: &str) -> Entry {
    Entry::with_type(kind).with_text("description", description)
}

/// An entry about a task.
#[must_use]
pub fn entry_of(kind: EntryType, task: &str, description: &str) -> Entry {
    Entry {
        task_id: Some(task.to_owned()),
        ..entry(kind, description)
    }
}

/// The command that logs an entry.
#[must_use]
pub fn log(entry: Entry) -> Command {
    Command::LogEntry(Box::new(entry))
}

/// A plan of these nodes, each with the nodes that it depends on. A parent
/// must stand before its children.
///
/// # Panics
///
/// When a child stands before its parent.
#[must_use]
pub fn plan(run: RunId, name: &str, nodes: &[(&str, &[&str])]) -> Plan {
    let mut places: BTreeMap<Node, TreePosition> = BTreeMap::new();
    let mut counts: BTreeMap<Option<Node>, u32> = BTreeMap::new();
    let mut items = Vec::new();
    for (path, depends_on) in nodes {
        let node = Node::from_text(*path);
        let parent = node.parent();
        let index = counts.entry(parent.clone()).or_default();
        let above = parent.map_or_else(TreePosition::default, |parent| {
            places.get(&parent).cloned().expect("a parent comes first")
        });
        let place = above.child(*index);
        *index += 1;
        places.insert(node.clone(), place.clone());
        items.push(PlannedItem {
            id: path.rsplit('/').next().unwrap_or(path).to_owned(),
            node,
            place,
            state: if depends_on.is_empty() {
                ItemState::Ready
            } else {
                ItemState::Pending
            },
            prompt: Some(format!("do {path}")),
            model: None,
            gate: None,
            breakpoint: false,
            approval: false,
            depends_on: depends_on.iter().map(|on| Node::from_text(*on)).collect(),
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
        });
    }
    Plan {
        requests: Vec::new(),
        run,
        name: name.to_owned(),
        face: "sprint-yaml".to_owned(),
        source: format!("sprints/{name}/SPRINT.yaml"),
        policy: Policy::default(),
        order: piton_core::plan::Order::InTurn,
        native: None,
        past: None,
        items,
    }
}

/// The command that keeps a plan.
#[must_use]
pub fn keep(plan: Plan) -> Command {
    Command::PlanRun(Box::new(plan))
}
