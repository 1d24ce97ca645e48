//! What a `state.json` holds, in types.

use jiff::Timestamp;
use piton_core::words;

use crate::plan_identity::PlanIdentity;
use crate::record;
use crate::tree::ValueNode;

/// The name of this format.
pub const FACE: &str = "sdlc";

words! {
    /// A macro phase, in the order in which they come.
    Phase {
        /// Languages are found, missing documents written.
        Bootstrap = "BOOTSTRAP",
        /// A scoping document is written, and approved by a person.
        Design = "DESIGN",
        /// The work is cut into tasks, and approved by a person.
        Planning = "PLANNING",
        /// Tasks become issues.
        Tracking = "TRACKING",
        /// Issues are implemented, reviewed and merged.
        Executing = "EXECUTING",
        /// Everything is done.
        Completed = "COMPLETED",
    }
}

words! {
    /// How far the current phase is.
    PhaseStatus {
        /// Under way.
        InProgress = "in_progress",
        /// Done, and waiting for a person to approve it.
        AwaitingApproval = "awaiting_approval",
        /// Waiting for a person.
        AwaitingHuman = "awaiting_human",
        /// Done.
        Completed = "completed",
    }
}

words! {
    /// How far an issue is.
    IssueStatus {
        /// Waits for other issues.
        Blocked = "blocked",
        /// May be begun.
        Ready = "ready",
        /// An agent works on it.
        Implementing = "implementing",
        /// Another agent looks at the work.
        Reviewing = "reviewing",
        /// A person must look at it.
        AwaitingHuman = "awaiting_human",
        /// Merged.
        Done = "done",
        /// Given up.
        Failed = "failed",
    }
}

record::words!(Phase, PhaseStatus, IssueStatus);

/// A run. What is absent, null or unreadable in the file is `None` or empty
/// here; [`super::to_tree`] leaves it as it stands there.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SdlcState {
    /// The name of the run: the date and a slug.
    pub run_id: Option<String>,
    /// Where the product requirements are.
    pub prd_url: Option<String>,
    /// The phase.
    pub phase: Option<Phase>,
    /// How far that phase is.
    pub phase_status: Option<PhaseStatus>,
    /// The language of each repository.
    pub languages: Vec<(String, String)>,
    /// The pull request with documents for each repository, if it needed one.
    pub docs_generated: Vec<(String, Option<String>)>,
    /// Where the scoping document is.
    pub scoping_doc: Option<String>,
    /// Where the plan is.
    pub pert: Option<String>,
    /// The issues, in the order of the file.
    pub issues: Vec<SdlcIssue>,
    /// When the file was written last.
    pub updated_at: Option<String>,
    /// What was measured.
    pub metrics: Metrics,
    /// Top-level keys that the format does not have.
    pub extra: Vec<(String, ValueNode)>,
}

impl SdlcState {
    /// What the graph is known by: the name of its run, its requirements, and
    /// what its issues are called.
    #[must_use]
    pub fn identity(&self) -> PlanIdentity {
        let names = [self.run_id.as_deref(), self.prd_url.as_deref()];
        let issues = self.issues.iter();
        let issues = issues.map(|issue| issue.title.as_deref().unwrap_or(&issue.id));
        PlanIdentity::new(names, issues).with_id(self.run_id.as_deref())
    }
}

/// A piece of work.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SdlcIssue {
    /// Its name, the key under which it stands.
    pub id: String,
    /// The repository, by its name in the manifest.
    pub repo: Option<String>,
    /// What it is about.
    pub title: Option<String>,
    /// How far it is.
    pub status: Option<IssueStatus>,
    /// Its pull request: `org/repo#N`.
    pub pr: Option<String>,
    /// The number of its pull request.
    pub pr_number: Option<u64>,
    /// The issues that must be done before.
    pub blocked_by: Vec<String>,
    /// How often an agent reviewed it.
    pub review_iterations: Option<u64>,
    /// How often a person did.
    pub human_iterations: Option<u64>,
    /// Keys that the format does not have.
    pub extra: Vec<(String, ValueNode)>,
}

/// What was measured of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Metrics {
    /// When the run began.
    pub started_at: Option<String>,
    /// The phases that began, in the order of the file.
    pub phases: Vec<(Phase, PhaseTimes)>,
    /// The agents that were started.
    pub agent_invocations: Vec<AgentInvocation>,
    /// The totals as they stand in the file.
    pub totals: Totals,
}

/// When a phase began and ended.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PhaseTimes {
    /// When it began.
    pub started_at: Option<String>,
    /// When it ended, if it has.
    pub ended_at: Option<String>,
    /// How long it took.
    pub duration_s: Option<f64>,
}

/// One agent that was started.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AgentInvocation {
    /// The agent's name.
    pub agent: Option<String>,
    /// Its model.
    pub model: Option<String>,
    /// The repository it worked in, if one.
    pub repo: Option<String>,
    /// The issue it worked on, if one.
    pub issue: Option<String>,
    /// When it was started.
    pub started_at: Option<String>,
    /// How long it took.
    pub duration_s: Option<f64>,
    /// Tokens it read.
    pub tokens_input: Option<u64>,
    /// Tokens it wrote.
    pub tokens_output: Option<u64>,
}

/// The totals of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Totals {
    /// How long the run took.
    pub duration_s: Option<f64>,
    /// How many agents were started.
    pub agent_spawns: Option<u64>,
    /// How many reviews by agents there were.
    pub review_iterations_agent: Option<u64>,
    /// How many reviews by people there were.
    pub review_iterations_human: Option<u64>,
    /// How many issues there are.
    pub issues_created: Option<u64>,
    /// How many of them have a pull request.
    pub prs_created: Option<u64>,
    /// How many of those are done.
    pub prs_merged: Option<u64>,
}

impl SdlcIssue {
    /// Whether it has a pull request.
    pub fn has_pr(&self) -> bool {
        self.pr.is_some() || self.pr_number.is_some()
    }
}

impl PhaseTimes {
    /// How long the phase took: by its times, else as it stands in the file.
    pub fn seconds(&self) -> Option<f64> {
        let time = |text: &Option<String>| text.as_ref()?.parse::<Timestamp>().ok();
        match (time(&self.started_at), time(&self.ended_at)) {
            (Some(start), Some(end)) => Some(end.duration_since(start).as_secs_f64().max(0.0)),
            (Some(_) | None, _) => self.duration_s,
        }
    }
}

/// The totals, counted from what the state itself says. All are there.
pub fn derived_totals(state: &SdlcState) -> Totals {
    let issues = || state.issues.iter();
    let sum = |of: fn(&SdlcIssue) -> Option<u64>| {
        issues().filter_map(of).fold(0_u64, u64::saturating_add)
    };
    let is_merged = |issue: &&SdlcIssue| issue.status == Some(IssueStatus::Done) && issue.has_pr();
    let phases = state.metrics.phases.iter();
    Totals {
        duration_s: Some(
            phases
                .filter_map(|(_, times)| times.seconds())
                .fold(0.0, |a, b| a + b),
        ),
        agent_spawns: Some(to_u64(state.metrics.agent_invocations.len())),
        review_iterations_agent: Some(sum(|issue| issue.review_iterations)),
        review_iterations_human: Some(sum(|issue| issue.human_iterations)),
        issues_created: Some(to_u64(state.issues.len())),
        prs_created: Some(to_u64(issues().filter(|issue| issue.has_pr()).count())),
        prs_merged: Some(to_u64(issues().filter(is_merged).count())),
    }
}

fn to_u64(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}
