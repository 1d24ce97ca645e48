//! The outcome of an attempt that waited for the check of its item, or for a person.

use super::event_buffer::EventBuffer;
use super::recording::log_completed;
use crate::attempt::Outcome;
use crate::event::{AttemptEvent, ItemMoved};
use crate::item::{ItemRow, ItemState, Stage};

/// Why an attempt that was to be accepted is not completed.
const NOT_ACCEPTED: &str = "it was not accepted, and the item is tried again";

/// Why an attempt has no check of its own.
pub(super) const WENT_BACK: &str = "its item went back to work before its check was done";

/// An item that goes somewhere else says what the attempt came to whose outcome
/// waited for its check or for a person.
pub(super) fn settle_attempt_by_move(
    story: &mut EventBuffer<'_>,
    item: &ItemRow,
    moved: &ItemMoved,
) {
    let error = moved.error.as_deref();
    let (outcome, why) = match moved.to {
        ItemState::Working if moved.stage == Some(Stage::Work) => {
            (Outcome::Interrupted, Some(WENT_BACK))
        }
        // A person was asked about it, and wants more.
        ItemState::Working if moved.from == ItemState::Waiting => {
            (Outcome::Failed, Some(NOT_ACCEPTED))
        }
        // It is still being checked, or a person is asked about it.
        ItemState::Working | ItemState::Waiting => return,
        ItemState::Done => (Outcome::Completed, None),
        ItemState::Skipped | ItemState::Dropped => (
            Outcome::Interrupted,
            Some("the item was left out before its check was done"),
        ),
        ItemState::Failed | ItemState::Blocked => (Outcome::Failed, error),
        ItemState::Pending | ItemState::Ready => {
            (Outcome::Failed, Some(error.unwrap_or(NOT_ACCEPTED)))
        }
    };
    settle_attempt(story, item, outcome, why);
}

/// Says what the attempt came to whose outcome waited for the check of its
/// item or for a person; nothing when none does.
pub(super) fn settle_attempt(
    story: &mut EventBuffer<'_>,
    item: &ItemRow,
    outcome: Outcome,
    error: Option<&str>,
) {
    let Some(attempt) = item.proof.unchecked else {
        return;
    };
    let (run, node) = (item.run, item.node.clone());
    story.append(AttemptEvent::Judged {
        attempt,
        run,
        node,
        outcome,
        error: error.map(str::to_owned),
    });
    if outcome == Outcome::Completed {
        log_completed(story, item, attempt);
    }
}
