//! A run: a body of work under way.

pub(crate) mod state;

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::evidence::ClaimSettings;
use crate::flags::RunFlags;
use crate::id::{Node, RunId};
use crate::item::ItemRow;
use crate::lane::{Landing, LanesRow, TargetRow};
use crate::native::Native;
use crate::notification::{EndedInvocation, RunNotifications};
use crate::plan::Order;
use crate::policy::{Limits, Policy};
use crate::usage::Spend;

pub use state::{Pause, RunState, RunnerRequest};

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
    /// Until when the services of its agents have enough, as far as that is known.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub limited_agents: BTreeMap<String, Timestamp>,
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

    /// The branch into which the work of a unit goes by a pull request; none where it
    /// goes through the merge queue alone: what a person approves here, and what
    /// changed nothing, does.
    #[must_use]
    pub fn pull_request_base(&self, unit: &ItemRow) -> Option<&str> {
        let lanes = self
            .branches
            .lanes
            .as_ref()
            .filter(|lanes| lanes.terms.pull_requests)?;
        let row = unit.work.unit.as_deref()?;
        let is_wanted = lanes.terms.pull_requests && !row.is_unchanged && !unit.plan.approval;
        let target = self.target_in_repository(unit.repository_of_work());
        target?.onto.as_deref().filter(|_| is_wanted)
    }
}

impl EndedInvocation {
    /// The end of the present invocation of a run, whose last runner is gone.
    pub(crate) fn from_run(row: &RunRow, ended_at: Timestamp) -> Self {
        let is_cut_short = row.state == RunState::Running;
        let reason = is_cut_short.then(|| "its runner is gone".to_owned());
        Self {
            number: row.invocation.invocations,
            state: match is_cut_short {
                true => RunState::Interrupted,
                false => row.state,
            },
            pause: row.pause.clone(),
            at: row.at.clone(),
            reason: reason.or_else(|| row.reason.clone()),
            ended_at,
            is_started: false,
        }
    }
}
