//! The order of siblings.

use std::collections::{BTreeMap, BTreeSet};

use super::changes::EditRejection;
use super::event_buffer::EventBuffer;
use crate::event::{ItemEvent, ItemsPlaced};
use crate::id::{Node, RunId, TreePosition};
use crate::item::ItemRow;
use crate::refusal::Refusal;

/// The siblings below `parent`, in order.
pub(super) fn siblings_below(
    story: &EventBuffer<'_>,
    run: RunId,
    parent: Option<&Node>,
) -> Result<Vec<ItemRow>, Refusal> {
    let above = match parent {
        Some(parent) => story.require_item(run, parent)?.plan.place.clone(),
        None => TreePosition::default(),
    };
    let depth = above.depth() + 1;
    let below: Vec<&ItemRow> = match parent {
        Some(_) => story.tables.subtree(run, &above).collect(),
        None => story.tables.tree(run).collect(),
    };
    let rows = below
        .into_iter()
        .filter(|item| item.plan.place.depth() == depth);
    Ok(rows.cloned().collect())
}

/// Puts siblings, each with what lies below it, at these indexes.
pub(super) fn move_siblings(story: &mut EventBuffer<'_>, run: RunId, moves: &[(ItemRow, u32)]) {
    let mut places = BTreeMap::new();
    for (row, index) in moves {
        let level = row.plan.place.depth() - 1;
        if row.plan.place.0.get(level) == Some(index) {
            continue;
        }
        for item in story.tables.subtree(run, &row.plan.place) {
            let mut place = item.plan.place.clone();
            if let Some(at) = place.0.get_mut(level) {
                *at = *index;
            }
            places.insert(item.node.clone(), place);
        }
    }
    if !places.is_empty() {
        story.append(ItemEvent::Placed(Box::new(ItemsPlaced { run, places })));
    }
}

pub(super) fn reorder_siblings(
    story: &mut EventBuffer<'_>,
    run: RunId,
    parent: Option<&Node>,
    nodes: &[Node],
) -> Result<(), EditRejection> {
    let now = siblings_below(story, run, parent)?;
    let mut named: BTreeMap<&Node, usize> = BTreeMap::new();
    for node in nodes {
        let next = named.len();
        named.entry(node).or_insert(next);
    }
    let known: BTreeSet<&Node> = now.iter().map(|row| &row.node).collect();
    if let Some(unknown) = nodes.iter().find(|node| !known.contains(node)) {
        return Err(Refusal::NoSuchItem(unknown.clone()).into());
    }
    // One that is not named keeps behind the one that it follows now.
    let mut keyed: Vec<((usize, usize), ItemRow)> = Vec::with_capacity(now.len());
    let mut last = (0, 0);
    for row in now {
        last = match named.get(&row.node) {
            Some(at) => (at + 1, 0),
            None => (last.0, last.1 + 1),
        };
        keyed.push((last, row));
    }
    keyed.sort_by_key(|(key, _)| *key);
    let rows = keyed.into_iter().map(|(_, row)| row);
    let moves: Vec<(ItemRow, u32)> = rows.zip(0..).collect();
    move_siblings(story, run, &moves);
    Ok(())
}
