//! Which blocked tasks are still blocked.
//!
//! The rows know what was logged: a task is blocked until an entry says that it
//! is completed. That an item of a run was left out is no such entry; it stands
//! in the item itself.

use std::collections::BTreeSet;

use piton_core::entry::BlockerRow;
use piton_core::{Need, Node, RunId, Tables};
use piton_store::{Store, StoreFault};

/// The blocked tasks of `tables` that nothing has completed since and that are
/// no items that were left out.
///
/// # Errors
///
/// When the store cannot be read.
pub(crate) fn unresolved_blockers<'t>(
    store: &dyn Store,
    tables: &'t Tables,
) -> Result<Vec<&'t BlockerRow>, StoreFault> {
    let blockers: Vec<&BlockerRow> = tables.blockers().collect();
    if blockers.iter().all(|row| row.spec.is_none()) {
        return Ok(blockers);
    }
    let runs = store.load_rows(&[Need::Runs])?;
    let item = |row: &BlockerRow| -> Option<(RunId, Node)> {
        let spec = row.spec.as_ref()?;
        let run = runs.tables.runs().find(|run| run.name == *spec)?;
        Some((run.id, Node::from_text(row.task_id.as_ref()?)))
    };
    let items: BTreeSet<(RunId, Node)> = blockers.iter().filter_map(|row| item(row)).collect();
    let needs: Vec<Need> = items
        .into_iter()
        .map(|(run, node)| Need::Line(run, node))
        .collect();
    let rows = store.load_rows(&needs)?;
    let is_left_out = |row: &&BlockerRow| {
        let of_row = item(row).and_then(|(run, node)| rows.tables.item(run, &node));
        of_row.is_some_and(|item| item.state.is_left_out())
    };
    Ok(blockers
        .into_iter()
        .filter(|row| !is_left_out(row))
        .collect())
}
