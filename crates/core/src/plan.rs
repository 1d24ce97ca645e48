//! A plan: what a run is made of, before anything has happened.

use serde::{Deserialize, Serialize};

use crate::attempt::HumanNeeded;
use crate::evidence::ClaimOverrides;
use crate::gate::Gate;
use crate::id::{Node, RunId, TreePosition};
use crate::item::ItemState;
use crate::native::Native;
use crate::policy::Policy;
use crate::request::WorkRequest;
use crate::run::Pause;
use crate::scope::FileScope;
use crate::wait::Wait;

/// In which order the items of a plan are worked on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// One after another: an item waits for all that stand before it below the
    /// same parent, unless the plan says what it waits for.
    #[default]
    InTurn,
    /// Whatever is ready: an item waits for what the plan says, and for nothing
    /// else.
    Any,
}

impl Order {
    /// That of a plan of this native format, where it was not recorded: only
    /// sprints were worked on in turn.
    #[must_use]
    pub fn from_format(format: &str) -> Self {
        match format {
            "sprint-yaml" => Self::InTurn,
            _ => Self::Any,
        }
    }

    /// Whether it is the one of plans that say nothing.
    #[must_use]
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// How an item stands to its siblings where they are worked on in turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ItemTurn {
    /// What stands behind it does not wait for it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub parallel: bool,
    /// It waits also for what stands before it and is parallel.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub waits_for_parallel: bool,
    /// It waits for something that stands behind it, and holds up no item there.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub gives_way: bool,
}

impl ItemTurn {
    /// Whether what stands behind it waits for it.
    #[must_use]
    pub fn is_blocking(&self, behind: Self) -> bool {
        !self.gives_way && (!self.parallel || behind.waits_for_parallel)
    }

    /// Whether it is that of an item of which the plan says nothing.
    #[must_use]
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

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
}

fn is_blank(past: &ImportedItemHistory) -> bool {
    *past == ImportedItemHistory::default()
}

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
