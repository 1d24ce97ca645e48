//! Plans and items of which a file says little.

use piton_core::evidence::ClaimOverrides;
use piton_core::gate::Gate;
use piton_core::plan::{
    ImportedItemHistory, ImportedRunHistory, ItemTags, ItemTurn, Order, Plan, PlannedItem,
};
use piton_core::policy::Policy;
use piton_core::scope::FileScope;
use piton_core::{ItemState, Node, RunId, TreePosition};

/// How often a check is run at most, where a format has no word for it.
const GATE_RUNS_MAX: u32 = 3;
/// How long it may take, in seconds: the tests of a whole project.
const GATE_TIMEOUT_S: u64 = 600;

/// A plan whose items are worked on in any order, of which the file says nothing
/// but the items.
pub(crate) fn plan_of_items(
    face: &str,
    run: RunId,
    name: &str,
    source: &str,
    items: Vec<PlannedItem>,
) -> Plan {
    let all_done = !items.is_empty() && items.iter().all(|item| item.state == ItemState::Done);
    Plan {
        requests: Vec::new(),
        run,
        name: name.to_owned(),
        face: face.to_owned(),
        source: source.to_owned(),
        policy: Policy::default(),
        order: Order::Any,
        native: None,
        past: all_done.then(|| ImportedRunHistory {
            done: true,
            ..ImportedRunHistory::default()
        }),
        items,
    }
}

/// An item of which the file says nothing but its id.
pub(crate) fn planned_item(id: &str, state: ItemState) -> PlannedItem {
    PlannedItem {
        node: Node::child(None, id, 1),
        id: id.to_owned(),
        place: TreePosition::default().child(0),
        state,
        prompt: None,
        model: None,
        gate: None,
        breakpoint: false,
        approval: false,
        turn: ItemTurn::default(),
        depends_on: Vec::new(),
        native: None,
        past: ImportedItemHistory::default(),
        piece_of: None,
        injected: None,
        tags: ItemTags::default(),
        claims: ClaimOverrides::default(),
        scope: FileScope::default(),
        repository: None,
        wait: None,
    }
}

/// The nodes of ids, each once.
pub(crate) fn nodes_of_ids<'i>(ids: impl Iterator<Item = &'i String>) -> Vec<Node> {
    let mut nodes: Vec<Node> = Vec::new();
    for node in ids.map(|id| Node::child(None, id, 1)) {
        if !nodes.contains(&node) {
            nodes.push(node);
        }
    }
    nodes
}

/// The check that a list of commands makes, each of which must pass.
pub(crate) fn gate_of_commands(commands: &[&str], on_fail_prompt: String) -> Option<Gate> {
    Some(Gate {
        script: script_of_commands(commands)?,
        on_fail_prompt,
        runs_max: GATE_RUNS_MAX,
        timeout_s: GATE_TIMEOUT_S,
    })
}

/// The script of such a check.
pub(crate) fn script_of_commands(commands: &[impl AsRef<str>]) -> Option<String> {
    match commands {
        [] => None,
        [one] => Some(one.as_ref().to_owned()),
        several => {
            // Each in a shell of its own: none ends or moves the others.
            let commands = several.iter().map(AsRef::as_ref);
            Some(
                commands
                    .map(|one| format!("(\n{one}\n) || exit\n"))
                    .collect(),
            )
        }
    }
}
