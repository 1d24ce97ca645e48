//! How an item is split: its pieces are planned before it, and it waits for them.

use super::changes::append_change;
use super::dependencies::has_to_wait;
use super::event_buffer::EventBuffer;
use super::siblings::{move_siblings, siblings_below};
use crate::attempt::SplitPiece;
use crate::event::{ItemChange, ItemEvent, ItemPlanned};
use crate::id::{Node, RunId, TreePosition};
use crate::item::{ItemRow, ItemState, Stage};
use crate::plan::{ImportedItemHistory, ItemTags, PlannedItem};
use crate::refusal::Refusal;

/// Plans the pieces as siblings right before the item, which waits for all of
/// them and is then worked on again, to finish the whole.
pub(super) fn split_item(
    story: &mut EventBuffer<'_>,
    run: RunId,
    node: &Node,
    pieces: &[SplitPiece],
) -> Result<(), Refusal> {
    let item = story.require_item(run, node)?.clone();
    let parent = node.parent();
    let now = siblings_below(story, run, parent.as_ref())?;
    let Some(at) = item.plan.place.0.last().copied() else {
        return Err(Refusal::NoSuchItem(node.clone()));
    };
    let named = pieces_with_ids(&item, &now, pieces);
    let count = u32::try_from(named.len()).unwrap_or(u32::MAX);
    let later = now.into_iter().filter_map(|row| {
        let index = row
            .plan
            .place
            .0
            .last()
            .copied()
            .filter(|index| *index >= at)?;
        Some((row, index + count))
    });
    let moves: Vec<(ItemRow, u32)> = later.collect();
    move_siblings(story, run, &moves);
    let above = TreePosition(item.plan.place.0[..item.plan.place.depth() - 1].to_vec());
    // What the item waited for is finished, unless a person wants it done again.
    let state = if has_to_wait(story, run, &item) {
        ItemState::Pending
    } else {
        ItemState::Ready
    };
    let mut depends_on = item.plan.depends_on.clone();
    for (index, (id, piece)) in (at..).zip(&named) {
        let node = Node::child(parent.as_ref(), id, 1);
        depends_on.push(node.clone());
        let planned = PlannedItem {
            node,
            id: id.clone(),
            place: above.child(index),
            state,
            prompt: Some(prompt_of_piece(piece)),
            model: item.plan.model.clone(),
            gate: None,
            breakpoint: false,
            approval: false,
            depends_on: item.plan.depends_on.clone(),
            native: None,
            past: ImportedItemHistory::default(),
            piece_of: Some(item.node.clone()),
            injected: None,
            tags: ItemTags::default(),
            claims: item.plan.claims,
            turn: item.plan.turn,
            scope: item.plan.scope.clone(),
            repository: item.plan.repository.clone(),
            wait: None,
        };
        story.append(ItemEvent::Planned(Box::new(ItemPlanned {
            run,
            item: planned,
        })));
    }
    // What waits by itself is released by itself, and must not be ahead of what
    // it is part of: see `with_inherited`.
    for above in story.ancestors_of(run, node) {
        for on in above.plan.depends_on {
            if !depends_on.contains(&on) {
                depends_on.push(on);
            }
        }
    }
    append_change(story, run, node, ItemChange::DependsOn(depends_on));
    let recovery = item.tries.recovery.clone();
    story.move_item(run, node, ItemState::Pending, |moved| {
        moved.stage = Some(Stage::Work);
        moved.recovery = recovery;
    });
    Ok(())
}

/// The pieces, each with an id that none of the siblings has.
fn pieces_with_ids<'p>(
    item: &ItemRow,
    now: &[ItemRow],
    pieces: &'p [SplitPiece],
) -> Vec<(String, &'p SplitPiece)> {
    let free = |id: &String| {
        let node = Node::child(item.node.parent().as_ref(), id, 1);
        !now.iter().any(|row| row.plan.id == *id || row.node == node)
    };
    let ids = (1_u32..).map(|number| format!("{}-{number}", item.plan.id));
    ids.filter(free).zip(pieces).collect()
}

fn prompt_of_piece(piece: &SplitPiece) -> String {
    let (title, more) = (piece.title.trim(), piece.prompt.trim());
    if more.is_empty() {
        title.to_owned()
    } else {
        format!("{title}\n\n{more}")
    }
}
