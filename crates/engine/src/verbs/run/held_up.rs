//! What of a run cannot be begun before a person has done something.

use std::collections::{HashMap, HashSet};

use piton_core::plan::{ItemTurn, Order};
use piton_core::standing::ItemStanding;
use piton_core::{ItemRow, ItemState, Node, RunId, Tables};

/// The open items that wait for a person or have failed, and those that stand
/// behind one of them.
pub(super) fn held_up_items(tables: &Tables, run: RunId) -> HashSet<Node> {
    let is_in_turn = tables.run(run).map(|row| row.plan.order) == Some(Order::InTurn);
    let mut found = HeldUpFinder {
        is_in_turn,
        ..HeldUpFinder::default()
    };
    // An item may depend on one that comes later.
    loop {
        let before = found.held.len();
        found.before.clear();
        let open = tables.tree(run).filter(|row| !row.state.is_finished());
        open.for_each(|row| found.visit_item(tables, row));
        if found.held.len() == before {
            return found.held;
        }
    }
}

#[derive(Default)]
struct HeldUpFinder {
    is_in_turn: bool,
    held: HashSet<Node>,
    /// Those, and all that one of them is part of.
    unfinishable: HashSet<Node>,
    /// What stands before the item at which the look is, by what it is part of:
    /// the turns of those that cannot be finished.
    before: HashMap<Option<Node>, Vec<ItemTurn>>,
}

impl HeldUpFinder {
    /// Looks at an item, after all that stand before it.
    fn visit_item(&mut self, tables: &Tables, row: &ItemRow) {
        let in_trouble = matches!(row.standing(), ItemStanding::Asking | ItemStanding::Broken);
        let waits = row.state == ItemState::Pending && self.is_held_by_others(row);
        if in_trouble || waits {
            self.held.insert(row.node.clone());
            self.unfinishable.insert(row.node.clone());
            self.unfinishable.extend(row.node.ancestors());
        }
        for node in std::iter::once(row.node.clone()).chain(row.node.ancestors()) {
            if self.unfinishable.contains(&node)
                && let Some(row) = tables.item(row.run, &node)
            {
                let turns = self.before.entry(node.parent()).or_default();
                // Of each kind of turn one is enough.
                if !turns.contains(&row.plan.turn) {
                    turns.push(row.plan.turn);
                }
            }
        }
    }

    fn is_held_by_others(&self, row: &ItemRow) -> bool {
        let parent = row.node.parent();
        let with_parent = parent
            .as_ref()
            .is_some_and(|parent| self.held.contains(parent));
        let needs = |on: &Node| self.unfinishable.contains(on);
        let turns = self.before.get(&parent);
        let holds = |turn: &ItemTurn| turn.is_blocking(row.plan.turn);
        let in_turn = self.is_in_turn && row.plan.depends_on.is_empty();
        with_parent
            || row.plan.depends_on.iter().any(needs)
            || (in_turn && turns.is_some_and(|turns| turns.iter().any(holds)))
    }
}
