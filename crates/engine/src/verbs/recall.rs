//! `piton recall`: what the memory has to say about a text.

use jiff::Timestamp;

use crate::failure::Failure;
use crate::memory::recall::{self, RecallResults};
use crate::session::Session;
use crate::world::World;

/// What the memory has to say about a text, as of `now` or a time that is given.
///
/// # Errors
///
/// When there is nothing to ask for, or there is a store that cannot be read.
pub fn recall(world: &World, text: &str, now: Option<Timestamp>) -> Result<RecallResults, Failure> {
    if text.trim().is_empty() {
        return Err(
            Failure::new("usage", "there is no text to recall by").with_hint(
                "write `piton recall 'WHAT FAILED'`, or pipe it: `make test 2>&1 | piton recall -`",
            ),
        );
    }
    let Some(session) = Session::open_read_only(world, &world.cwd)? else {
        return Ok(RecallResults::default());
    };
    let now = now.unwrap_or_else(|| world.now());
    Ok(recall::recall_memories(&*session.store, text, now)?)
}
