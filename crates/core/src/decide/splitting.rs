//! How an item is split: its pieces are planned before it, and it waits for them.

use super::advance::must_wait;
use super::editing::{place, siblings, tell_change};
use super::story::Story;
use crate::attempt::Piece;
use crate::event::{Change, Event, ItemPlanned};
use crate::id::{Node, Place, RunId};
use crate::item::{ItemRow, ItemState, Stage};
use crate::plan::{Past, PlannedItem};
use crate::refusal::Refusal;

/// Plans the pieces as siblings right before the item, which waits for all of
/// them and is then worked on again, to finish the whole.
pub(super) fn split(
    story: &mut Story<'_>,
    run: RunId,
    node: &Node,
    pieces: &[Piece],
) -> Result<(), Refusal> {
    let item = story.item(run, node)?.clone();
    let parent = node.parent();
    let now = siblings(story, run, parent.as_ref())?;
    let Some(at) = item.place.0.last().copied() else {
        return Err(Refusal::NoSuchItem(node.clone()));
    };
    let named = named(&item, &now, pieces);
    let count = u32::try_from(named.len()).unwrap_or(u32::MAX);
    let later = now.into_iter().filter_map(|row| {
        let index = row.place.0.last().copied().filter(|index| *index >= at)?;
        Some((row, index + count))
    });
    let moves: Vec<(ItemRow, u32)> = later.collect();
    place(story, run, &moves);
    let above = Place(item.place.0[..item.place.depth() - 1].to_vec());
    // What the item waited for is finished, unless somebody wants it done again.
    let state = if must_wait(story, run, &item) {
        ItemState::Pending
    } else {
        ItemState::Ready
    };
    let mut depends_on = item.depends_on.clone();
    for (index, (id, piece)) in (at..).zip(&named) {
        let node = Node::child(parent.as_ref(), id, 1);
        depends_on.push(node.clone());
        let planned = PlannedItem {
            node,
            id: id.clone(),
            place: above.child(index),
            state,
            prompt: Some(prompt(piece)),
            model: item.model.clone(),
            gate: None,
            breakpoint: false,
            approval: false,
            depends_on: item.depends_on.clone(),
            native: None,
            past: Past::default(),
            piece_of: Some(item.node.clone()),
            injected: None,
            claims: item.claims,
            turn: item.turn,
            scope: item.scope.clone(),
            repository: item.repository.clone(),
            wait: None,
        };
        story.tell(Event::ItemPlanned(Box::new(ItemPlanned {
            run,
            item: planned,
        })));
    }
    // What waits by itself is released by itself, and must not be ahead of what
    // it is part of: see `with_inherited`.
    for above in story.above(run, node) {
        for on in above.depends_on {
            if !depends_on.contains(&on) {
                depends_on.push(on);
            }
        }
    }
    tell_change(story, run, node, Change::DependsOn(depends_on));
    let recovery = item.recovery.clone();
    story.move_item(run, node, ItemState::Pending, |moved| {
        moved.stage = Some(Stage::Work);
        moved.recovery = recovery;
    });
    Ok(())
}

/// The pieces, each with an id that none of the siblings has.
fn named<'p>(item: &ItemRow, now: &[ItemRow], pieces: &'p [Piece]) -> Vec<(String, &'p Piece)> {
    let free = |id: &String| {
        let node = Node::child(item.node.parent().as_ref(), id, 1);
        !now.iter().any(|row| row.id == *id || row.node == node)
    };
    let ids = (1_u32..).map(|number| format!("{}-{number}", item.id));
    ids.filter(free).zip(pieces).collect()
}

fn prompt(piece: &Piece) -> String {
    let (title, more) = (piece.title.trim(), piece.prompt.trim());
    if more.is_empty() {
        title.to_owned()
    } else {
        format!("{title}\n\n{more}")
    }
}
