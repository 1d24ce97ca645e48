//! One item of a plan, before anything has happened to it.

use serde::{Deserialize, Serialize};

use super::order::ItemTurn;
use super::tags::ItemTags;
use crate::attempt::outcome::HumanNeeded;
use crate::evidence::claims::ClaimOverrides;
use crate::gate::Gate;
use crate::id::{Node, TreePosition};
use crate::item::state::ItemState;
use crate::native::Native;
use crate::scope::FileScope;
use crate::wait::Wait;

/// What an item of a taken-over plan brings with it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportedItemHistory {
    /// When it was started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<jiff::Timestamp>,
    /// When it was finished.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completed_at: Option<jiff::Timestamp>,
    /// What was done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// What went wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// How often it was tried again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retries: Option<u32>,
    /// What a person is needed for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub human: Option<HumanNeeded>,
    /// The number of the pull request in which others left its work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pull_request: Option<u64>,
    /// How the plan names it: `org/repo#7`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pull_request_name: Option<String>,
}

/// One item of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedItem {
    /// Its path.
    pub node: Node,
    /// Its id as the plan gives it.
    pub id: String,
    /// Where it stands in the tree.
    pub place: TreePosition,
    /// [`ItemState::Ready`], or [`ItemState::Pending`] when it waits for
    /// others; any other state in a plan that was taken over.
    pub state: ItemState,
    /// What to tell the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// The model that the plan asks for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What must pass before it is done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate: Option<Gate>,
    /// Whether the run pauses for people when it is finished.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub breakpoint: bool,
    /// Whether it is done only when a person approves it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub approval: bool,
    /// The nodes that must be finished first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<Node>,
    /// What only its native format has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub native: Option<Native>,
    /// What it went through before piton saw it.
    #[serde(default, skip_serializing_if = "is_blank")]
    pub past: ImportedItemHistory,
    /// The item that was split, of which this is a piece.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub piece_of: Option<Node>,
    /// When it was added to a plan that was under way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub injected: Option<jiff::Timestamp>,
    /// What the plan says of what proof is worth.
    #[serde(default, skip_serializing_if = "ClaimOverrides::is_empty")]
    pub claims: ClaimOverrides,
    /// How it stands to its siblings.
    #[serde(default, skip_serializing_if = "ItemTurn::is_default")]
    pub turn: ItemTurn,
    /// The files that it is about.
    #[serde(default, skip_serializing_if = "FileScope::is_empty")]
    pub scope: FileScope,
    /// The repository in which it is worked on, by its name in the plan; none is that of
    /// the item above, and at the top the one in which the project lies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repository: Option<String>,
    /// What it waits for before it begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait: Option<Wait>,
    /// What people sort it by.
    #[serde(default, skip_serializing_if = "ItemTags::is_default")]
    pub tags: ItemTags,
}

fn is_blank(past: &ImportedItemHistory) -> bool {
    *past == ImportedItemHistory::default()
}
