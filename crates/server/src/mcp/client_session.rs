//! Where a client sits: the world, and what it holds.

use piton_engine::caller::held_item::{HeldItem, find_held_item};
use piton_engine::{Failure, World};

use super::arguments::ToolArguments;

/// Where a client sits.
#[derive(Debug)]
pub(super) struct ClientSession {
    pub(super) world: World,
    /// The item, as it was named when the server was started.
    pub(super) item: Option<String>,
}

impl ClientSession {
    /// What is held, if anything is. Looked up for each call: an attempt ends,
    /// and an item may come to be known.
    pub(super) fn held_item(&self) -> Result<Option<HeldItem>, Failure> {
        find_held_item(&self.world, self.item.as_deref())
    }

    /// What is held by a caller that wants to write.
    ///
    /// # Errors
    ///
    /// When nothing is held, or the attempt is over.
    pub(super) fn item_to_write(&self) -> Result<HeldItem, Failure> {
        let held = self.held_item()?.ok_or_else(no_item_failure)?;
        held.open_attempt()?;
        Ok(held)
    }
}

/// The failure of a write where the server was started without an item.
pub(super) fn no_item_failure() -> Failure {
    Failure::new("usage", "this server was started without an item, and may only read").with_hint(
        "start it with an item to write about: `piton mcp --item ITEM`, or set PITON_ITEM; `piton run` does so for the agents that it starts",
    )
}

/// One call: where it came from, what was sent, and by which client.
pub(super) struct ToolCall<'c> {
    pub(super) desk: &'c ClientSession,
    pub(super) given: &'c ToolArguments,
    pub(super) client: Option<&'c str>,
}
