//! What the hooks of agent programs tell, and what they are told in turn.
//!
//! A program starts `piton hook EVENT` at certain moments and hands it a JSON
//! object. [`told`] reads that, [`context`] makes what is injected into a
//! session, [`finish`] says whether the item that a session holds is finished,
//! [`notes`] is the little that must outlive one such process. What is done with
//! these: [`crate::verbs::hook`]. The settings in which a hook is named:
//! [`settings`].

pub mod context;
pub mod fault;
pub mod finish;
pub mod notes;
pub mod settings;
pub mod told;

use piton_core::AttemptId;

use crate::process::MARK;
use crate::world::World;

/// What a session holds: an item that it is to finish.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Held {
    /// That of an attempt: `piton run` started the agent.
    Attempt(AttemptId),
    /// `piton run` started it, by a mark that this piton cannot read.
    Unknown,
    /// One that a person named: `PITON_ITEM=auth/login claude`.
    Item(String),
    /// None.
    Nothing,
}

impl Held {
    /// What the environment says of it.
    #[must_use]
    pub fn of(world: &World) -> Self {
        if let Some(mark) = world.var(MARK) {
            return mark.parse().map_or(Self::Unknown, Self::Attempt);
        }
        match world.var("PITON_ITEM").map(str::trim) {
            Some(item) if !item.is_empty() => Self::Item(item.to_owned()),
            Some(_) | None => Self::Nothing,
        }
    }

    /// Whether `piton run` started the session: its runner reads what the
    /// program prints, and needs nobody to tell it.
    #[must_use]
    pub fn is_watched(&self) -> bool {
        matches!(self, Self::Attempt(_) | Self::Unknown)
    }

    /// The item that a person named.
    #[must_use]
    pub fn item(&self) -> Option<&str> {
        match self {
            Self::Item(item) => Some(item),
            Self::Attempt(_) | Self::Unknown | Self::Nothing => None,
        }
    }
}
