//! What each protocol must answer.

use super::http::{Asked, Reply};
use super::scenario::{Turn, Usage};

/// How one vendor is spoken.
pub(super) struct Protocol {
    /// The answer to a question that is no turn of the conversation.
    pub(super) aside: fn(&Asked) -> Option<Reply>,
    pub(super) reply: fn(&Asked, &Turn, &Usage) -> Reply,
}
