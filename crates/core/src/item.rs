//! An item: a thing to get done. Items form a tree and a graph.

mod hold;
pub(crate) mod state;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::attempt::{Conversation, HumanNeeded, Report};
use crate::checkout::Checkout;
use crate::evidence::{
    BaselineResult, CHECK_PASSED, ClaimOverrides, Level, TreeChange, WorkCredit, describe_evidence,
    level_of_evidence,
};
use crate::gate::{Gate, GateRuns};
use crate::id::{AttemptId, Node, RunId, TreePosition};
use crate::iteration_hook::IterationHookRun;
use crate::lane::{LaneConversation, LaneHold, UnitRow};
use crate::merge::{MergeReturn, MergeRow, MergeState};
use crate::native::Native;
use crate::plan::{ItemTags, ItemTurn};
use crate::pull_request::PullRequestRow;
use crate::recover::FollowedRecovery;
use crate::review::ReviewRow;
use crate::scope::FileScope;
use crate::usage::Spend;
use crate::wait::{Wait, WaitProgress};
use crate::weakening::ProofChange;

pub(crate) use crate::amount::is_zero;
pub use crate::evidence::Evidence;
pub use hold::ItemHold;
pub use state::{ItemState, Stage};

/// How many commits of an item's work are known.
pub const WORK_COMMITS_MAX: usize = 32;

/// A commit that piton is about to make.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommitIntent {
    /// What `HEAD` was before; none in a repository without commits.
    pub head: Option<String>,
}

/// What a person says who does not approve what was made of an item.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rejection {
    /// Who.
    pub by: String,
    /// Why.
    pub why: String,
}

/// Which item of which run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ItemRef<'a> {
    /// The run.
    pub run: RunId,
    /// The path of the item.
    pub node: &'a Node,
}

/// What the plan says of an item.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ItemPlan {
    /// Its id as the plan gives it; siblings may share one.
    pub id: String,
    /// Where it stands in the tree.
    pub place: TreePosition,
    /// What to tell the agent; none for a node that only holds others.
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
    /// What its plan says of what proof is worth.
    #[serde(default, skip_serializing_if = "ClaimOverrides::is_empty")]
    pub claims: ClaimOverrides,
    /// How it stands to its siblings.
    #[serde(default, skip_serializing_if = "ItemTurn::is_default")]
    pub turn: ItemTurn,
    /// The files that it is about.
    #[serde(default, skip_serializing_if = "FileScope::is_empty")]
    pub scope: FileScope,
    /// The repository in which it is worked on, where its plan names one: see
    /// [`crate::tables::Tables::repository_of`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repository: Option<String>,
    /// What it waits for before it begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait: Option<Box<Wait>>,
    /// The item that it is a piece of, when one was split.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub piece_of: Option<Node>,
    /// When it was added to a plan that was under way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub injected: Option<Timestamp>,
    /// What people sort it by.
    #[serde(default, skip_serializing_if = "ItemTags::is_default")]
    pub tags: ItemTags,
}

/// How often an item was tried, and how the next attempt begins.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ItemTries {
    /// How often it was tried again after a failure.
    #[serde(default)]
    pub retries: u32,
    /// Not before this time is it tried again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
    /// What the next attempt follows, after one that did not complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovery: Option<Box<FollowedRecovery>>,
    /// That attempt was stopped because it made no progress.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub made_no_progress: bool,
    /// How often in a row a service that had enough put it off.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub put_off: u32,
    /// The agents whose models refused it, while others of the chain had not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused_by: Vec<String>,
    /// How often in a row an attempt broke off without a request to stop: a
    /// signal from outside, a conversation that was gone.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub broken_off: u32,
    /// How many calls its attempts were not permitted to make.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub denied: u32,
    /// How often recovery led on after the runs of its check were used up.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub check_recoveries: u32,
    /// The ids of what the last prompt carried of the memory.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub carried: Vec<String>,
    /// The conversation in which the next attempt goes on: that of an attempt
    /// that was interrupted, or that a person did not approve.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ongoing: Option<Box<Conversation>>,
}

/// What people are asked about an item, and what they said.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ItemPeople {
    /// What a person is needed for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub human: Option<HumanNeeded>,
    /// What a person answered, for the next prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    /// What the next attempt is to do otherwise; none once it is done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rejected: Option<Box<Rejection>>,
    /// How often a person did not approve it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub rejections: u32,
    /// A person asked to skip it while an agent works on it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub skip_asked: bool,
    /// Whether a person said that it begins without work that is on another branch.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub without_merge: bool,
    /// The person who works on it, outside of piton.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub taken: Option<Box<ItemHold>>,
}

/// What was done on an item, where, and what it used.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ItemWork {
    /// The conversation in which its work was done last: a reviewer may want that
    /// otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worked_in: Option<Box<Conversation>>,
    /// A commit that was begun and whose outcome is not recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub committing: Option<CommitIntent>,
    /// The last commits that were made of its work, by its agents or by piton, in
    /// their order; at most [`WORK_COMMITS_MAX`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commits: Vec<String>,
    /// What was checked out when it came to be done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub done_on: Option<Box<Checkout>>,
    /// What its attempts used.
    #[serde(default, skip_serializing_if = "Spend::is_empty")]
    pub spend: Spend,
    /// What its attempts did to the tree since it was last begun; none before the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<Box<TreeChange>>,
    /// The tree on which the attempt under way was started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_on: Option<String>,
    /// Since when an agent, or its check, is at work on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_work_since: Option<Timestamp>,
    /// How long agents and its check were at work on it, in milliseconds:
    /// those that are over. What it waited for is not in it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub work_ms: u64,
    /// The hooks of the plan that ran since its work was done last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hook_runs: Vec<IterationHookRun>,
    /// What is known of it as a unit, where its run is worked on in lanes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<Box<UnitRow>>,
    /// How far that has come; none before anything was decided about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waited: Option<WaitProgress>,
}

/// What shows that an item is done.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ItemProof {
    /// How its gate fared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate_runs: Option<Box<GateRuns>>,
    /// How its reviews went, where an agent reviews it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review: Option<Box<ReviewRow>>,
    /// Why it counts as done.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<Evidence>,
    /// What its attempts did to what proves it.
    #[serde(rename = "proof", default, skip_serializing_if = "Option::is_none")]
    pub changes: Option<Box<ProofChange>>,
    /// What came of its check before its first attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<Box<BaselineResult>>,
    /// Its check was seen to fail: before its first attempt, or after one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub seen_to_fail: bool,
    /// An attempt at another item says that this one is done by it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claimed: Option<Box<WorkCredit>>,
    /// The attempt whose outcome waits for the check, or for a person who is
    /// asked to accept what there is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unchecked: Option<AttemptId>,
    /// The gate that it has to pass because its agent's word is not enough.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim_gate: Option<Box<Gate>>,
}

/// What the read tables know of an item.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ItemRow {
    /// The run it belongs to.
    pub run: RunId,
    /// Its path, which never changes.
    pub node: Node,
    /// Where it stands in its life.
    pub state: ItemState,
    /// What comes next while it is working.
    #[serde(default)]
    pub stage: Stage,
    /// How many children it has.
    #[serde(default)]
    pub children: u32,
    /// How many of them are not finished.
    #[serde(default)]
    pub open_children: u32,
    /// Attempts started on it, in every role.
    #[serde(default)]
    pub attempts: u32,
    /// When it was first started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
    /// When it was finished.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completed_at: Option<Timestamp>,
    /// What was done, in the agent's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// What went wrong last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// How often it was taken to be worked on: the token of the last time.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub fence: u64,
    /// The attempt that is under way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<AttemptId>,
    /// What its plan says of it.
    pub plan: ItemPlan,
    /// How often it was tried, and how the next attempt begins.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub tries: ItemTries,
    /// What people are asked about it, and what they said.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub people: ItemPeople,
    /// What was done on it, where, and what it used.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub work: ItemWork,
    /// What shows that it is done.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub proof: ItemProof,
}

impl ItemRow {
    /// What must pass next: the check of the plan, or the one that weak proof
    /// has to stand up to after it.
    #[must_use]
    pub fn pending_gate(&self) -> Option<&Gate> {
        self.proof.claim_gate.as_deref().or(self.plan.gate.as_ref())
    }

    /// All that it has to pass: the check of the plan, and the one that weak proof
    /// had to stand up to.
    pub fn required_checks(&self) -> impl Iterator<Item = &Gate> {
        self.plan
            .gate
            .iter()
            .chain(self.proof.claim_gate.as_deref())
    }

    /// The tree on which all of its checks passed last; none where it has no check, the
    /// tree is not known, or they saw different ones.
    #[must_use]
    pub fn checked_tree(&self) -> Option<&String> {
        let last = |check: &Gate| {
            let mut passed = self
                .proof
                .evidence
                .iter()
                .rev()
                .filter_map(Evidence::passed_check);
            passed.find(|one| one.command == Some(&check.script))?.tree
        };
        let mut trees = self.required_checks().map(last);
        let first = trees.next()??;
        trees.all(|tree| tree == Some(first)).then_some(first)
    }

    /// Whether it has a check that is none of those that passed: it was given to it,
    /// or changed, since.
    #[must_use]
    pub fn is_missing_check(&self) -> bool {
        let mut passed = self
            .proof
            .evidence
            .iter()
            .filter_map(Evidence::passed_check);
        self.plan.gate.as_ref().is_some_and(|gate| {
            !passed.any(|check| check.command.is_none_or(|one| one == gate.script))
        })
    }

    /// Whether it is done by a check that passed, and has another one by now.
    #[must_use]
    pub fn is_done_by_old_check(&self) -> bool {
        let mut passed = self
            .proof
            .evidence
            .iter()
            .filter_map(Evidence::passed_check);
        self.state == ItemState::Done && self.is_missing_check() && passed.next().is_some()
    }

    /// What shows that it is done, in a few words; none while it is not, and of one
    /// that only holds others.
    #[must_use]
    pub fn describe_evidence(&self) -> Option<String> {
        let words =
            describe_evidence(&self.proof.evidence).filter(|_| self.state == ItemState::Done)?;
        Some(match self.is_done_by_old_check() {
            true => words.replacen(CHECK_PASSED, "done by the old check", 1),
            false => words,
        })
    }

    /// Whether that check has to pass before it is done: no person says that it is.
    #[must_use]
    pub fn needs_check(&self) -> bool {
        self.is_missing_check() && level_of_evidence(&self.proof.evidence) != Some(Level::Person)
    }

    /// Whether an attempt at it is over whose outcome waits for its check.
    #[must_use]
    pub fn is_being_checked(&self) -> bool {
        self.proof.unchecked.is_some() && self.state == ItemState::Working && self.attempt.is_none()
    }

    /// What is known of its check, in a few words: of an item that is not done.
    #[must_use]
    pub fn describe_check(&self) -> &'static str {
        let last = self.proof.gate_runs.as_ref().filter(|runs| runs.runs > 0);
        let passed = last.map(|runs| runs.passed);
        let passed = passed.or_else(|| self.proof.baseline.as_ref().map(|result| result.passed));
        match (&self.plan.gate, passed) {
            (None, _) => "nothing checks it",
            (Some(_), Some(false)) => "its check fails",
            (Some(_), Some(true) | None) => "its check has not run",
        }
    }

    /// How long agents and its check were at work on it until `now`, in
    /// milliseconds. Without `now` what is under way is left out: it may not be at
    /// work any more.
    #[must_use]
    pub fn work_ms_until(&self, now: Option<Timestamp>) -> u64 {
        let open = self.work.at_work_since.zip(now);
        let open = open.map_or(0, |(since, now)| millis_between(since, now));
        self.work.work_ms.saturating_add(open)
    }

    /// Whether an attempt at another item marked it as done, and it is not.
    #[must_use]
    pub fn is_claimed(&self) -> bool {
        let claimed = self.proof.claimed.as_ref();
        !self.state.is_finished() && claimed.is_some_and(|by| by.attempt.is_some())
    }

    /// The repository in which a unit was worked on last, where that is not the one in
    /// which the project lies.
    #[must_use]
    pub fn repository_of_work(&self) -> Option<&str> {
        self.work.unit.as_ref()?.repository.as_deref()
    }

    /// Whether something was made of it as a unit, or is kept for it.
    #[must_use]
    pub fn has_work(&self) -> bool {
        let is_kept = |unit: &UnitRow| {
            let is_out = unit.lane.is_some() || unit.merge.is_some();
            is_out || unit.work.is_some() || unit.pull_request.is_some()
        };
        !self.work.commits.is_empty() || self.work.unit.as_deref().is_some_and(is_kept)
    }

    /// The lane that it has as a unit.
    #[must_use]
    pub fn lane(&self) -> Option<&LaneHold> {
        self.work.unit.as_ref()?.lane.as_ref()
    }

    /// Its place in the merge queue, or what sent it back.
    #[must_use]
    pub fn merge(&self) -> Option<&MergeRow> {
        self.work.unit.as_ref()?.merge.as_ref()
    }

    /// Whether its work waits for a person to look at it before it is merged.
    pub(crate) fn is_in_merge_review(&self) -> bool {
        let merge = self.merge();
        merge.is_some_and(|merge| merge.state == MergeState::InReview)
    }

    /// Whether its work is in a pull request, or waits for a person since it cannot be
    /// brought into one.
    pub(crate) fn is_in_pull_request(&self) -> bool {
        let merge = self.merge();
        merge.is_some_and(|merge| merge.state == MergeState::Requested)
    }

    /// The conversation in which an agent is told that its work was rejected, and the
    /// lane in which that was held.
    #[must_use]
    pub fn rejected_conversation(&self) -> Option<&LaneConversation> {
        let why = self.merge().and_then(|merge| merge.why.as_ref());
        let is_rejected = matches!(why, Some(MergeReturn::Rejected { .. }));
        let unit = self.work.unit.as_ref().filter(|_| is_rejected)?;
        unit.conversation.as_deref()
    }

    /// Whether it is committed and merged as one in lanes: it is a unit in which
    /// files may have changed.
    #[must_use]
    pub fn is_merge_unit(&self) -> bool {
        self.is_task() || (self.plan.place.depth() == 1 && self.plan.gate.is_some())
    }

    /// Whether an agent, a gate, a commit or a merge is under way on it.
    #[must_use]
    pub fn is_under_way(&self) -> bool {
        self.attempt.is_some()
            || self.work.committing.is_some()
            || self.proof.gate_runs.as_ref().is_some_and(|runs| runs.open)
            || self.merge().is_some_and(MergeRow::has_slot)
    }

    /// Whether an agent works on it, rather than on its children.
    #[must_use]
    pub fn is_leaf(&self) -> bool {
        self.children == 0
    }

    /// Whether it counts as a task for `max-tasks` and is committed as one:
    /// a step, or a phase without steps.
    #[must_use]
    pub fn is_task(&self) -> bool {
        self.plan.place.depth() == 2 || (self.plan.place.depth() == 1 && self.is_leaf())
    }
}

/// The time from one instant to another, in milliseconds; 0 where a clock was
/// set back between them.
#[must_use]
pub fn millis_between(from: Timestamp, to: Timestamp) -> u64 {
    u64::try_from(to.duration_since(from).as_millis()).unwrap_or(0)
}

/// What it waits for.
impl ItemRow {
    /// The person who works on it at this time, outside of piton.
    #[must_use]
    pub fn hold_at(&self, now: Timestamp) -> Option<&ItemHold> {
        let hold = self.people.taken.as_deref();
        hold.filter(|hold| hold.holds_at(now) && !self.state.is_finished())
    }

    /// Not before this time may it be started; none where that time has come.
    #[must_use]
    pub fn not_before(&self, now: Timestamp) -> Option<Timestamp> {
        let until = self.tries.until.filter(|until| *until > now);
        let held = self.hold_at(now).map(|hold| hold.until);
        until.into_iter().chain(held).max()
    }

    /// Whether it waits before it begins, or will: what its plan has it wait for is
    /// not over, and it has not begun. What lies below it is pending meanwhile.
    #[must_use]
    pub fn has_open_wait(&self) -> bool {
        let has_begun =
            self.started_at.is_some() || self.state == ItemState::Working || self.state.is_broken();
        self.plan.wait.is_some()
            && !has_begun
            && !self.work.waited.is_some_and(WaitProgress::is_over)
    }

    /// Whether it waits for what its plan says just now, or for a person who is
    /// asked because the time has come.
    #[must_use]
    pub fn is_waiting_by_plan(&self) -> bool {
        let is_asked_otherwise =
            self.people.human.is_some() && self.work.waited != Some(WaitProgress::Late);
        self.state == ItemState::Waiting && self.has_open_wait() && !is_asked_otherwise
    }

    /// What it waits for just now, without a person.
    #[must_use]
    pub fn current_wait(&self) -> Option<&Wait> {
        let wait = self.plan.wait.as_deref()?;
        (self.is_waiting_by_plan() && self.people.human.is_none()).then_some(wait)
    }

    /// Whether a service had enough at an attempt at it, and it has no time of its own
    /// to be tried again at.
    #[must_use]
    pub fn cannot_wait_for_reset(&self, report: &Report) -> bool {
        report.is_rate_limited() && !self.is_leaf()
    }

    /// The time at which its wait is over, or a person is asked.
    #[must_use]
    pub fn wait_end(&self) -> Option<Timestamp> {
        let until = self.plan.wait.as_ref()?.until;
        until.filter(|_| self.work.waited != Some(WaitProgress::AskedOn))
    }
}

/// Its pull request, where it is a unit.
impl ItemRow {
    /// What is known of the pull request of the unit.
    #[must_use]
    pub fn pull_request(&self) -> Option<&PullRequestRow> {
        self.work.unit.as_ref()?.pull_request.as_deref()
    }

    /// The pull request in which others left its work, as long as piton has not looked at
    /// it and nothing was done here; none of an item that holds others by now, or that a
    /// person has to approve.
    #[must_use]
    pub fn unadopted_pull_request(&self) -> Option<u64> {
        let known = self.pull_request().filter(|known| known.is_unadopted())?;
        let is_free = matches!(self.state, ItemState::Ready | ItemState::Waiting);
        let is_new = is_free && self.attempts == 0 && self.is_leaf() && !self.plan.approval;
        known.number.filter(|_| is_new)
    }
}
