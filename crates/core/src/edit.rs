//! An edit: one thing that was changed in a plan by hand, outside piton.

mod in_force;

use std::fmt;

use crate::evidence::claims::ClaimOverrides;
use crate::gate::Gate;
use crate::id::Node;
use crate::item::state::ItemState;
use crate::native::Native;
use crate::plan::ItemTags;
use crate::plan::planned_item::PlannedItem;
use crate::policy::Policy;
use crate::request::{RequestAnswer, WorkRequest};
use crate::run::state::RunState;
use crate::scope::FileScope;
use crate::wait::Wait;

/// One thing that was changed in a plan by hand.
///
/// The rules are those of a person's commands: what `piton plan skip` refuses,
/// a file cannot do either.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub enum Edit {
    /// An item is to be in another state: [`ItemState::Pending`] is a retry,
    /// [`ItemState::Skipped`] a skip, [`ItemState::Done`] a claim; a file can
    /// bring about no other.
    SetState {
        /// The item.
        node: Node,
        /// The state.
        to: ItemState,
    },
    /// How often an item was tried again is to be counted from here.
    SetRetries {
        /// The item.
        node: Node,
        /// How often.
        retries: u32,
    },
    /// Something else is to be told to the agent.
    SetPrompt {
        /// The item.
        node: Node,
        /// What.
        prompt: Option<String>,
    },
    /// Another model is to be asked for.
    SetModel {
        /// The item.
        node: Node,
        /// Which.
        model: Option<String>,
    },
    /// Something else must pass before it is done.
    SetGate {
        /// The item.
        node: Node,
        /// What.
        gate: Option<Gate>,
    },
    /// The run is to stop behind an item, or not.
    SetBreakpoint {
        /// The item.
        node: Node,
        /// Whether.
        breakpoint: bool,
    },
    /// It is to wait for something else before it begins, or for nothing.
    SetWait {
        /// The item.
        node: Node,
        /// For what.
        wait: Option<Wait>,
    },
    /// Something else is to be said of what was done.
    SetSummary {
        /// The item.
        node: Node,
        /// What.
        summary: Option<String>,
    },
    /// An item is to wait for others than it does. No file can bring that
    /// about; it is asked about.
    SetDependsOn {
        /// The item.
        node: Node,
        /// For which.
        depends_on: Vec<Node>,
    },
    /// Proof of an item is to be worth something else.
    SetClaims {
        /// The item.
        node: Node,
        /// What.
        claims: ClaimOverrides,
    },
    /// An item is about other files.
    SetScope {
        /// The item.
        node: Node,
        /// Which.
        scope: FileScope,
    },
    /// An item belongs to another repository.
    SetRepository {
        /// The item.
        node: Node,
        /// Which, by its name in the plan.
        repository: Option<String>,
    },
    /// An item is to be sorted otherwise.
    SetTags {
        /// The item.
        node: Node,
        /// By what.
        tags: ItemTags,
    },
    /// The person who types it works on an item for a time, or does no more. No file can
    /// bring that about.
    Take {
        /// The item.
        node: Node,
        /// For how long, in seconds; none to give it back.
        for_s: Option<u64>,
    },
    /// An item with all that lies below it stands in the file no more, or again.
    SetPresent {
        /// The item.
        node: Node,
        /// Whether it stands there.
        present: bool,
    },
    /// An item with all that lies below it is to be added.
    Insert {
        /// Above it; none for a root.
        parent: Option<Node>,
        /// Before it among its siblings; none when it is the first.
        after: Option<Node>,
        /// The item, then what lies below it, a parent before its children.
        /// Their nodes and places tell how they hang together; they are given
        /// anew where the item comes to stand.
        items: Vec<PlannedItem>,
    },
    /// Siblings are to stand in this order. One that is not named follows the
    /// one that it follows now.
    Order {
        /// Above them; none for the roots.
        parent: Option<Node>,
        /// The siblings.
        nodes: Vec<Node>,
    },
    /// What only the native format has is something else, of an item or, with
    /// none, of the run.
    SetNative {
        /// The item.
        node: Option<Node>,
        /// What.
        native: Option<Native>,
    },
    /// Retries, limits and commits are to follow other rules.
    SetPolicy(Box<Policy>),
    /// Something is asked for that stands in a queue of the file.
    AddRequest(Box<WorkRequest>),
    /// What is asked for is decided in a queue of the file.
    AnswerRequest {
        /// The name of the request.
        id: String,
        /// What becomes of it.
        answer: RequestAnswer,
        /// Why.
        why: Option<String>,
    },
    /// The run is to be in another state: [`RunState::Paused`] is a pause,
    /// [`RunState::Running`] a resume; a file can bring about no other.
    SetRunState {
        /// The state.
        to: RunState,
    },
}

impl Edit {
    /// Whether it is about the same as another, whatever it says of it.
    #[must_use]
    pub fn is_same_kind_and_subject(&self, other: &Self) -> bool {
        let kind = std::mem::discriminant(self) == std::mem::discriminant(other);
        kind && self.target_node() == other.target_node() && self.request_id() == other.request_id()
    }

    /// That an item stands in the file, or does not any more.
    #[must_use]
    pub fn presence_of(node: &Node, present: bool) -> Self {
        let node = node.clone();
        Self::SetPresent { node, present }
    }

    /// The name of the request that it is about.
    fn request_id(&self) -> Option<&str> {
        if let Self::AddRequest(request) = self {
            return request.id.as_deref();
        }
        if let Self::AnswerRequest { id, .. } = self {
            Some(id)
        } else {
            None
        }
    }

    /// Whether it says how far the work is, and nothing of what is to be done.
    #[must_use]
    pub fn is_progress_edit(&self) -> bool {
        matches!(
            self,
            Self::SetState { .. }
                | Self::SetRetries { .. }
                | Self::SetSummary { .. }
                | Self::SetRunState { .. }
        )
    }

    /// The field that it changes, in a word for people.
    #[must_use]
    pub fn field_name(&self) -> &'static str {
        match self {
            Self::SetState { .. } => "state",
            Self::SetRetries { .. } => "retries",
            Self::SetPrompt { .. } => "words",
            Self::SetModel { .. } => "model",
            Self::SetGate { .. } => "check",
            Self::SetBreakpoint { .. } => "break",
            Self::SetWait { .. } => "wait",
            Self::SetSummary { .. } => "summary",
            Self::SetDependsOn { .. } => "dependencies",
            Self::SetClaims { .. } => "claims",
            Self::SetScope { .. } => "files",
            Self::SetRepository { .. } => "repository",
            Self::SetTags { .. } => "labels and priority",
            Self::Take { .. } => "hold",
            Self::SetPresent { present: true, .. } => "return",
            Self::SetPresent { .. } => "removal",
            Self::Insert { .. } => "addition",
            Self::Order { .. } => "order",
            Self::SetNative { .. } => "other keys",
            Self::SetPolicy(_) => "settings",
            Self::AddRequest(_) | Self::AnswerRequest { .. } => "requests",
            Self::SetRunState { .. } => "state of the run",
        }
    }

    /// The item that it is about; for the order of siblings, that above them.
    #[must_use]
    pub fn target_node(&self) -> Option<&Node> {
        match self {
            Self::SetState { node, .. }
            | Self::SetRetries { node, .. }
            | Self::SetPrompt { node, .. }
            | Self::SetModel { node, .. }
            | Self::SetGate { node, .. }
            | Self::SetBreakpoint { node, .. }
            | Self::SetWait { node, .. }
            | Self::SetSummary { node, .. }
            | Self::SetDependsOn { node, .. }
            | Self::SetClaims { node, .. }
            | Self::SetScope { node, .. }
            | Self::SetRepository { node, .. }
            | Self::SetTags { node, .. }
            | Self::Take { node, .. }
            | Self::SetPresent { node, .. } => Some(node),
            Self::Insert { items, .. } => items.first().map(|item| &item.node),
            Self::Order { parent, .. } => parent.as_ref(),
            Self::SetNative { node, .. } => node.as_ref(),
            Self::SetPolicy(_)
            | Self::AddRequest(_)
            | Self::AnswerRequest { .. }
            | Self::SetRunState { .. } => None,
        }
    }
}

/// One line for a person.
impl fmt::Display for Edit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SetState { node, to } => write!(f, "`{node}` is to be {to}"),
            Self::SetRetries { node, retries } => write!(f, "`{node}` has {retries} retries"),
            Self::SetPrompt { node, .. } => write!(f, "another prompt for `{node}`"),
            Self::SetModel { node, .. } => write!(f, "another model for `{node}`"),
            Self::SetGate { node, .. } => write!(f, "another gate for `{node}`"),
            Self::SetBreakpoint {
                node,
                breakpoint: true,
            } => write!(f, "a break behind `{node}`"),
            Self::SetBreakpoint { node, .. } => write!(f, "no break behind `{node}`"),
            Self::SetWait {
                node,
                wait: Some(wait),
            } => write!(f, "`{node}` is to wait {wait}"),
            Self::SetWait { node, .. } => write!(f, "`{node}` is to wait for nothing"),
            Self::SetSummary { node, .. } => write!(f, "another summary of `{node}`"),
            Self::SetDependsOn { node, .. } => write!(f, "`{node}` is to wait for others"),
            Self::SetClaims { node, .. } => write!(f, "other claims rules for `{node}`"),
            Self::SetScope { node, .. } => write!(f, "other files for `{node}`"),
            Self::SetRepository {
                node,
                repository: Some(name),
            } => write!(f, "`{node}` belongs to the repository `{name}`"),
            Self::SetRepository { node, .. } => write!(f, "`{node}` belongs to no repository"),
            Self::SetTags { node, .. } => write!(f, "other labels or priority of `{node}`"),
            Self::Take {
                node,
                for_s: Some(_),
            } => write!(f, "`{node}` is to be taken"),
            Self::Take { node, .. } => write!(f, "`{node}` is to be given back"),
            Self::SetPresent {
                node,
                present: false,
            } => write!(f, "`{node}` is not in the file any more"),
            Self::SetPresent { node, .. } => write!(f, "`{node}` is in the file again"),
            Self::Insert { parent, items, .. } => {
                let id = items.first().map_or("", |item| item.id.as_str());
                match parent {
                    Some(parent) => write!(f, "a new `{id}` in `{parent}`"),
                    None => write!(f, "a new `{id}`"),
                }
            }
            Self::Order {
                parent: Some(parent),
                ..
            } => write!(f, "another order in `{parent}`"),
            Self::Order { .. } => f.write_str("another order"),
            Self::SetNative {
                node: Some(node), ..
            } => write!(f, "other keys of `{node}`"),
            Self::SetNative { .. } => f.write_str("other keys"),
            Self::SetPolicy(_) => f.write_str("other limits or retries"),
            Self::AddRequest(request) => {
                let id = request.id.as_deref().unwrap_or_default();
                write!(f, "the new request `{id}`")
            }
            Self::AnswerRequest { id, answer, .. } => {
                write!(f, "the answer `{}` to the request `{id}`", answer.verb())
            }
            Self::SetRunState { to } => write!(f, "the run is to be {to}"),
        }
    }
}
