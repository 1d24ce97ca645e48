//! Rows of one run that cannot be true together.
//!
//! What is decided rests on counts that rows keep of each other. A row that was damaged,
//! or lost, would have a run end with items that were never reached.

use std::collections::BTreeMap;

use crate::id::{Node, RunId};
use crate::tables::Tables;

/// How many items stand directly below one, or below none.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct ChildCounts {
    all: u32,
    open: u32,
}

/// The first thing that the rows of a run and of all of its items say of each other and
/// that is not so; none where they fit.
#[must_use]
pub fn find_contradiction(tables: &Tables, run: RunId) -> Option<String> {
    let mut counts: BTreeMap<Option<Node>, ChildCounts> = BTreeMap::new();
    for item in tables.items(run) {
        let count = counts.entry(item.node.parent()).or_default();
        count.all += 1;
        count.open += u32::from(!item.state.is_finished());
    }
    let of_roots = counts.remove(&None).unwrap_or_default();
    let said = tables.run(run)?.open_roots;
    if said != of_roots.open {
        let open = of_roots.open;
        return Some(format!(
            "its row counts {said} open items at the top, and there are {open}"
        ));
    }
    for item in tables.items(run) {
        let found = counts.remove(&Some(item.node.clone())).unwrap_or_default();
        let (all, open) = (item.children, item.open_children);
        if found != (ChildCounts { all, open }) {
            return Some(format!(
                "the row of `{}` counts {all} items below it, {open} of them open, and there are {}, {} of them open",
                item.node, found.all, found.open
            ));
        }
    }
    let above = counts.into_keys().flatten().next()?;
    Some(format!("items stand below `{above}`, which has no row"))
}
