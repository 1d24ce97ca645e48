//! How many children are unfinished.

use crate::event::ItemMoved;

/// Keeps a count of unfinished children true.
pub(super) fn count_open_children(open: &mut u32, moved: &ItemMoved) {
    match (moved.from.is_finished(), moved.to.is_finished()) {
        (false, true) => *open = open.saturating_sub(1),
        (true, false) => *open += 1,
        (true, true) | (false, false) => {}
    }
}
