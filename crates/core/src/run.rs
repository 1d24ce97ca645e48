//! A run: a body of work under way.

use std::collections::BTreeMap;
use std::fmt;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::evidence::ClaimSettings;
use crate::flags::RunFlags;
use crate::id::{Node, RunId};
use crate::lane::{Landing, LanesRow, TargetRow};
use crate::native::Native;
use crate::notification::RunNotifications;
use crate::plan::Order;
use crate::policy::{Limits, Policy};
use crate::usage::Spend;

/// Where a run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RunState {
    /// Nothing of it has been started.
    New,
    /// A runner works on it.
    Running,
    /// Its runner stopped or died; it goes on at the pointer.
    Interrupted,
    /// A person, the plan, a file or a limit paused it; see [`Pause`].
    Paused,
    /// It waits for a person's answer.
    Waiting,
    /// A node failed for good.
    Blocked,
    /// Every node is done or skipped.
    Done,
}

impl RunState {
    /// The name, as stored and shown.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Running => "running",
            Self::Interrupted => "interrupted",
            Self::Paused => "paused",
            Self::Waiting => "waiting",
            Self::Blocked => "blocked",
            Self::Done => "done",
        }
    }
}

impl fmt::Display for RunState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Why a run is paused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "cause")]
pub enum Pause {
    /// `piton pause`, by whom.
    Person {
        /// Who asked.
        by: String,
    },
    /// A file named `PAUSE` in the folder of the plan.
    File,
    /// The node says that people look at it before the run goes on.
    Breakpoint {
        /// The node that is finished.
        node: Node,
    },
    /// A limit of this invocation, or a budget, was reached.
    Limit {
        /// The limit in words: `max-iterations (5)`, `budget ($5.00)`.
        limit: String,
    },
}

impl Pause {
    /// Whether a budget is used up: that is not counted anew by the next invocation.
    #[must_use]
    pub fn is_budget(&self) -> bool {
        matches!(self, Self::Limit { limit } if limit.contains("budget ("))
    }

    /// The pause in one line, as native files show it.
    #[must_use]
    pub fn describe_reason(&self) -> String {
        match self {
            Self::Person { by } => format!("paused by {by}"),
            Self::File => "PAUSE file detected".to_owned(),
            Self::Breakpoint { node } => format!("breakpoint after {node}"),
            Self::Limit { limit } => format!("limit {limit}"),
        }
    }
}

/// What another process asks of a live runner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RunnerRequest {
    /// Pause at the next boundary.
    Pause,
    /// End the agent and stop now.
    Stop,
    /// Go on: what was asked before is withdrawn.
    GoOn,
}

/// A request that the live runner has not met yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingRequest {
    /// What was asked.
    pub request: RunnerRequest,
    /// Who asked.
    pub by: String,
}

impl PendingRequest {
    /// Who wants the run to pause; none where something else was asked.
    #[must_use]
    pub fn pause_requester(&self) -> Option<&str> {
        (self.request == RunnerRequest::Pause).then_some(&self.by)
    }
}

/// Who holds a run, and since when.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunHolder {
    /// The holder in words: `host, process 4711`.
    pub owner: String,
    /// The fencing token; each holder of a run has a larger one.
    pub token: u64,
    /// When it took the run.
    pub since: Timestamp,
    /// The name of the lock that it holds while it lives, beside that on the plan: of one
    /// that joined.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lock_name: Option<String>,
}

/// Which plan a run is of, and what the plan says of it as a whole.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunPlan {
    /// The native format it came from: `sprint-yaml`.
    pub face: String,
    /// The plan's path, relative to the project.
    pub source: String,
    /// What the plan says of retries, limits and commits.
    pub policy: Policy,
    /// In which order its items are worked on.
    #[serde(default, skip_serializing_if = "Order::is_default")]
    pub order: Order,
    /// Whether it was planned with that order: what an older version left ready
    /// may have to wait by the rules of today.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_settled: bool,
    /// What only its native format has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub native: Option<Native>,
}

/// What is known of the present or last invocation of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunInvocation {
    /// How often `piton run` worked on it.
    #[serde(default)]
    pub invocations: u32,
    /// When the present or last invocation began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub invoked_at: Option<Timestamp>,
    /// The limits of the present or last invocation.
    #[serde(default)]
    pub limits: Limits,
    /// Agents started in the present or last invocation.
    #[serde(default)]
    pub iterations: u32,
    /// Agents started in all.
    #[serde(default)]
    pub iterations_total: u32,
    /// Steps and simple phases completed in the present or last invocation.
    #[serde(default)]
    pub tasks: u32,
    /// What the present or last invocation asks of agents that say that an item
    /// is done.
    #[serde(default, skip_serializing_if = "ClaimSettings::is_default")]
    pub claims: ClaimSettings,
    /// What a person typed for the present or last invocation.
    #[serde(default, skip_serializing_if = "RunFlags::is_empty")]
    pub flags: RunFlags,
    /// What a person asked of the live runner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<PendingRequest>,
}

/// What the attempts of a run used.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunSpending {
    /// What its attempts used.
    #[serde(default, skip_serializing_if = "Spend::is_empty")]
    pub spend: Spend,
    /// The same by model, as far as models are known.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub spend_by_model: BTreeMap<String, Spend>,
    /// Whether an attempt of it came to an outcome that counts.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_counted: bool,
    /// The item whose attempt ended last, when a hook of the user's refused it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hook_refused: Option<Node>,
}

/// Where the work of a run goes, and what of it has landed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunBranches {
    /// The branch that its work goes to; none where that is what was checked out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<Box<TargetRow>>,
    /// The same for each other repository in which it is worked on, by its name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub targets: BTreeMap<String, TargetRow>,
    /// What is known of its lanes; none while it is worked on in place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lanes: Option<Box<LanesRow>>,
    /// The landing that was begun and of which no end is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub landing: Option<Box<Landing>>,
    /// What landed last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub landed: Option<Box<Landing>>,
}

/// What the read tables know of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunRow {
    /// Its id.
    pub id: RunId,
    /// Its short name: the sprint id, `~2` and so on for one compiled anew.
    pub name: String,
    /// Where it stands.
    pub state: RunState,
    /// Why it is paused; only while it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pause: Option<Pause>,
    /// The node that the state is about: the failed one, the one that waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Node>,
    /// What went wrong, or why it was interrupted, in one line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// When it came into the present state.
    pub since: Timestamp,
    /// When it was planned.
    pub created_at: Timestamp,
    /// When a runner first started it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
    /// When it was finished.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completed_at: Option<Timestamp>,
    /// Who holds it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holder: Option<RunHolder>,
    /// Who works on it beside that one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub joined: Vec<RunHolder>,
    /// The largest fencing token ever given out for it.
    pub fence: u64,
    /// Roots of its tree that are not finished.
    pub open_roots: u32,
    /// What is known of notifications.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notifications: Option<Box<RunNotifications>>,
    /// Which plan it is of, and what that says of it as a whole.
    pub plan: RunPlan,
    /// What is known of its present or last invocation.
    #[serde(default, skip_serializing_if = "crate::item::is_zero")]
    pub invocation: RunInvocation,
    /// What its attempts used.
    #[serde(default, skip_serializing_if = "crate::item::is_zero")]
    pub spent: RunSpending,
    /// Where its work goes, and what of it has landed.
    #[serde(default, skip_serializing_if = "crate::item::is_zero")]
    pub branches: RunBranches,
}

impl RunRow {
    /// The runners that work on it, as far as the journal knows; first the one that
    /// holds it.
    pub fn runners(&self) -> impl Iterator<Item = &RunHolder> {
        self.holder.iter().chain(&self.joined)
    }

    /// Whether the runner with this token is one of them.
    #[must_use]
    pub fn has_runner(&self, token: u64) -> bool {
        self.runners().any(|runner| runner.token == token)
    }

    /// What the run is called in the names of branches in a repository. In another one than
    /// that of the project runs of other projects may have its name, so that the end of its
    /// id stands behind it.
    #[must_use]
    pub fn name_in_repository(&self, repository: Option<&str>) -> String {
        let (name, id) = (&self.name, self.id.to_string());
        match repository {
            None => name.clone(),
            Some(_) => format!("{name}-{}", &id[id.len().saturating_sub(8)..]),
        }
    }

    /// The branch to which work in a repository goes; without a name, in the one in
    /// which the project lies.
    #[must_use]
    pub fn target_in_repository(&self, repository: Option<&str>) -> Option<&TargetRow> {
        match repository {
            Some(name) => self.branches.targets.get(name),
            None => self.branches.target.as_deref(),
        }
    }

    /// Which merge of the run moved the target in a repository last, from 1; 0 before
    /// the first one.
    #[must_use]
    pub fn last_merge_in_repository(&self, repository: Option<&str>) -> u64 {
        if self.branches.targets.is_empty() {
            return self.branches.lanes.as_ref().map_or(0, |lanes| lanes.merges);
        }
        self.target_in_repository(repository)
            .map_or(0, |target| target.merged)
    }
}
