//! How an item moves, and what each move brings about by itself.

use super::event_buffer::EventBuffer;
use super::judging;
use super::remembering;
use crate::attempt::Outcome;
use crate::event::{ItemEvent, ItemMoved, UnitEvent};
use crate::id::{Node, RunId};
use crate::item::{ItemRow, ItemState, Stage};
use crate::merge::{MergeCommit, MergeState};

impl EventBuffer<'_> {
    /// Moves an item and completes the move with `more`.
    ///
    /// # Panics
    ///
    /// When there is no such way: the rules above ask before they move.
    pub(super) fn move_item(
        &mut self,
        run: RunId,
        node: &Node,
        to: ItemState,
        more: impl FnOnce(&mut ItemMoved),
    ) {
        let Some(row) = self.tables.item(run, node) else {
            return;
        };
        assert!(
            row.state.can_become(to),
            "`{node}` cannot go from {} to {to}",
            row.state
        );
        let mut moved = ItemMoved::new(run, node.clone(), row.state, to);
        more(&mut moved);
        if moved.stage == Some(Stage::Work) || to.is_finished() {
            drop_merge(self, run, node);
        }
        let Some(row) = self.tables.item(run, node) else {
            return;
        };
        let (before, is_retry) = (row.clone(), moved.retries.is_some());
        judging::settle_attempt_by_move(self, &before, &moved);
        self.append(ItemEvent::Moved(Box::new(moved)));
        remembering::judge_carried_memories(self, &before, to, is_retry);
    }

    pub(super) fn set_stage(&mut self, run: RunId, node: &Node, stage: Stage) {
        let row = self.tables.item(run, node);
        if let Some(row) = row.filter(|row| row.stage != stage).cloned() {
            if stage == Stage::Work {
                drop_merge(self, run, node);
                // What comes back below it is done before its check.
                let why = Some(judging::WENT_BACK);
                judging::settle_attempt(self, &row, Outcome::Interrupted, why);
            }
            self.append(ItemEvent::Staged {
                run,
                node: node.clone(),
                stage,
                gate: None,
            });
        }
    }
}

/// The merge that the target was moved to, or the commit of the target that had all
/// of it already; with neither the unit is taken out of the queue.
pub(super) type MergeResult = (Option<MergeCommit>, Option<String>);

/// Takes a unit out of the queue that is worked on again or left out. A merge
/// that has passed stays: the target may have been moved to it.
fn drop_merge(story: &mut EventBuffer<'_>, run: RunId, node: &Node) {
    let merge = story.tables.item(run, node).and_then(ItemRow::merge);
    if merge.is_some_and(|merge| merge.state != MergeState::Passed) {
        append_merge_end(story, run, node, (None, None));
    }
}

pub(super) fn append_merge_end(
    story: &mut EventBuffer<'_>,
    run: RunId,
    node: &Node,
    (made, at): MergeResult,
) {
    let lanes = story
        .tables
        .run(run)
        .and_then(|row| row.branches.lanes.as_ref());
    let number = lanes.map_or(0, |lanes| lanes.merges + 1);
    let number = made.as_ref().map_or(0, |_| number);
    let item = story.tables.item(run, node);
    let repository = item.and_then(|item| item.repository_of_work().map(str::to_owned));
    story.append(UnitEvent::MergeEnded {
        run,
        node: node.clone(),
        made,
        number,
        at,
        repository,
    });
}
