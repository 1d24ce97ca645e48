//! A plan: what a run is made of, before anything has happened.

mod order;
pub(crate) mod planned_item;
mod tags;

use serde::{Deserialize, Serialize};

use crate::id::{Node, RunId};
use crate::native::Native;
use crate::policy::Policy;
use crate::request::WorkRequest;
use crate::run::state::Pause;

pub use order::{ItemTurn, Order};
pub use planned_item::{ImportedItemHistory, PlannedItem};
pub use tags::ItemTags;

/// What a taken-over run went through before piton saw it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportedRunHistory {
    /// When it was started; none for one that never was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<jiff::Timestamp>,
    /// When it was finished; none for one that is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completed_at: Option<jiff::Timestamp>,
    /// Whether every node is finished.
    #[serde(default)]
    pub done: bool,
    /// Why it was paused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pause: Option<Pause>,
    /// The node that failed, or that waits for a person, when the run stood
    /// still because of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stuck: Option<Node>,
    /// Whether that node waits for a person, rather than having failed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub waits: bool,
    /// Agents started in all.
    #[serde(default)]
    pub iterations: u32,
}

/// A whole plan, in tree order (a parent before its children).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The id that the run will have.
    pub run: RunId,
    /// Its short name.
    pub name: String,
    /// The native format it came from.
    pub face: String,
    /// Where it was read, relative to the project.
    pub source: String,
    /// Retries, limits, commits.
    pub policy: Policy,
    /// In which order its items are worked on.
    pub order: Order,
    /// What only its native format has.
    pub native: Option<Native>,
    /// What it went through before; none for a fresh plan.
    pub past: Option<ImportedRunHistory>,
    /// Its items, a parent before its children, siblings in order.
    pub items: Vec<PlannedItem>,
    /// What agents asked for before, and is not decided.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requests: Vec<WorkRequest>,
}
