//! Events: what has happened. Past tense, immutable, the only truth.
//!
//! An event carries all that the read tables need to know of it; see
//! [`crate::views`]. Its stored form is described byte by byte in
//! `docs/formats/journal.md`. A field is only ever added, with a default.

mod edited;
mod texts;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::attempt::{HumanNeeded, Outcome, Report, ReportedAttempt, Role};
use crate::call::SessionCall;
use crate::decision::{DecisionChoice, DecisionKind, Verb};
use crate::edit::Edit;
use crate::entry::Entry;
use crate::evidence::{BaselineResult, ClaimSettings, WorkCredit};
use crate::flags::RunFlags;
use crate::gate::{Gate, GateReport};
use crate::id::{AttemptId, DecisionId, Node, RunId};
use crate::item::{Evidence, ItemState, Rejection, Stage};
use crate::lane::LaneTerms;
use crate::memory::{Memory, MemorySource};
use crate::merge::{MergeCommit, MergeReturn};
use crate::native::Native;
use crate::notification::NotificationSubject;
use crate::plan::{ImportedRunHistory, Order, PlannedItem};
use crate::policy::{Limits, Policy};
use crate::pull_request::PullRequestNews;
use crate::recover::FollowedRecovery;
use crate::request::{RequestAnswer, Until, WorkRequest};
use crate::review::ReviewVerdict;
use crate::run::{Pause, RunState, RunnerRequest};
use crate::scope::FileScope;
use crate::wait::WaitProgress;

pub use edited::{ItemChange, ItemChanged, ItemsPlaced, RunChanged};
pub(crate) use texts::EventText;

/// What an entry blocked before it was revised.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BlockedBefore {
    /// It was no blocker.
    Nothing,
    /// This task.
    Task {
        /// Its spec.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        spec: Option<String>,
        /// Its id.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task_id: Option<String>,
    },
}

/// Something that has happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind", content = "body")]
pub enum Event {
    /// A run was planned; its items follow.
    RunPlanned(Box<RunPlanned>),
    /// An item of a run was planned.
    ItemPlanned(Box<ItemPlanned>),
    /// A runner took a run.
    LeaseTaken {
        /// The run.
        run: RunId,
        /// The runner, in words.
        owner: String,
        /// Its fencing token.
        token: u64,
        /// The name of its lock, where it works beside the runner that holds the run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        joins: Option<String>,
    },
    /// A runner is known to have gone without giving its run back.
    LeaseLost {
        /// The run.
        run: RunId,
        /// The runner that is gone.
        owner: String,
        /// Its fencing token.
        token: u64,
    },
    /// A runner gave its run back.
    LeaseReleased {
        /// The run.
        run: RunId,
        /// Its fencing token.
        token: u64,
    },
    /// A runner began to work: an invocation of `piton run`.
    RunStarted {
        /// The run.
        run: RunId,
        /// The limits of this invocation.
        limits: Limits,
        /// What it asks of agents that say that an item is done.
        #[serde(default, skip_serializing_if = "ClaimSettings::is_default")]
        claims: ClaimSettings,
        /// What a person typed for it, for the next invocation.
        #[serde(default, skip_serializing_if = "RunFlags::is_empty")]
        flags: Box<RunFlags>,
        /// A person wants to be notified of its end.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        notify: bool,
    },
    /// The work of a run goes to a branch of its own from now on.
    RunTargeted {
        /// The run.
        run: RunId,
        /// The repository that the branch is of; none is the one in which the project
        /// lies.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        repository: Option<String>,
        /// The branch; it is made after this is stored.
        branch: String,
        /// The commit at which the work begins.
        base: String,
        /// The branch that was checked out then, and that the work is for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        onto: Option<String>,
        /// The folder of the worktree in which the branch is checked out, where
        /// the plan asks for one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        path: Option<String>,
        /// That worktree was there before.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        was_there: bool,
    },
    /// The run is worked on in lanes from now on, or with another check.
    LanesEntered {
        /// The run.
        run: RunId,
        /// How its work comes back.
        #[serde(flatten)]
        terms: Box<LaneTerms>,
    },
    /// The work of a run is brought to the branch that it is for: an intent, durable
    /// before that branch is moved.
    LandStarted {
        /// The run.
        run: RunId,
        /// The commit of the target.
        commit: String,
        /// The branch.
        onto: String,
        /// Where the branch is that has the work in commits of others.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at: Option<String>,
    },
    /// It is there.
    RunLanded {
        /// The run.
        run: RunId,
        /// The commit of the target.
        commit: String,
        /// The branch.
        onto: String,
        /// Where the branch is that has the work in commits of others.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at: Option<String>,
    },
    /// A unit got a lane: an intent, durable before the lane is made ready.
    LaneTaken {
        /// The run.
        run: RunId,
        /// The unit.
        node: Node,
        /// The token with which the unit was taken.
        fence: u64,
        /// The token of the runner.
        by: u64,
        /// The lane.
        lane: u32,
        /// The commit at which the work in it begins.
        from: String,
        /// The commit that holds what was in its last lane, where that one could
        /// not be had again.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        saved: Option<String>,
        /// How many attempts there were at the unit before it got this lane.
        attempts: u32,
        /// How many merges there were when its work began.
        #[serde(default, skip_serializing_if = "crate::item::is_zero")]
        since: u64,
        /// The files that it is about.
        #[serde(default, skip_serializing_if = "FileScope::is_empty")]
        scope: FileScope,
        /// The repository that the lane is of; none is the one in which the project lies.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        repository: Option<String>,
    },
    /// A unit has its lane no more.
    LaneLeft {
        /// The run.
        run: RunId,
        /// The unit.
        node: Node,
        /// The commit that holds what was in the lane.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        saved: Option<String>,
    },
    /// The work of a unit waits for its turn in the merge queue, and its lane is
    /// free; or its merge has to be made anew.
    MergeQueued {
        /// The run.
        run: RunId,
        /// The unit.
        node: Node,
        /// The commit of its work.
        work: String,
        /// Why it will count as done.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        evidence: Vec<Evidence>,
        /// It waits for a person to look at it first.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        review: bool,
    },
    /// The merge of a unit was made, and is to be checked.
    MergeStarted {
        /// The run.
        run: RunId,
        /// The unit.
        node: Node,
        /// The token with which the unit was taken.
        fence: u64,
        /// What was made.
        #[serde(flatten)]
        made: MergeCommit,
    },
    /// Its checks passed: the target is about to be moved.
    MergePassed {
        /// The run.
        run: RunId,
        /// The unit.
        node: Node,
    },
    /// It conflicts, is red or was rejected: an agent works on it again.
    MergeReturned {
        /// The run.
        run: RunId,
        /// The unit.
        node: Node,
        /// Why.
        why: MergeReturn,
    },
    /// A unit left the merge queue.
    MergeEnded {
        /// The run.
        run: RunId,
        /// The unit.
        node: Node,
        /// The merge to which the target was moved; none where there was nothing
        /// to merge, or the unit is worked on again or left out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        made: Option<MergeCommit>,
        /// Which merge of the run that is, from 1.
        #[serde(default, skip_serializing_if = "crate::item::is_zero")]
        number: u64,
        /// The commit of the target that had all of it already, where that left
        /// nothing to merge.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at: Option<String>,
        /// The repository that the target is of; none is the one in which the project
        /// lies.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        repository: Option<String>,
    },
    /// The work of a unit is about to be pushed, and a pull request to be opened: an
    /// intent, durable before both.
    PullRequestAsked {
        /// The run.
        run: RunId,
        /// The unit.
        node: Node,
        /// The commit of its work.
        head: String,
        /// The branch that is pushed.
        branch: String,
        /// The branch into which it is to be merged.
        base: String,
    },
    /// The pull request in which others left the work of a unit was found: the unit goes
    /// on with it.
    PullRequestTaken {
        /// The run.
        run: RunId,
        /// The unit.
        node: Node,
        /// Its number.
        number: u64,
        /// Its address.
        url: String,
        /// The commit of its work.
        head: String,
        /// The branch that has it.
        branch: String,
        /// The branch into which it is to be merged.
        base: String,
        /// The repository that it is in; none is the one in which the project lies.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        repository: Option<String>,
    },
    /// The pull request is there, with that commit, and waits.
    PullRequestOpened {
        /// The run.
        run: RunId,
        /// The unit.
        node: Node,
        /// Its number.
        number: u64,
        /// Its address.
        url: String,
    },
    /// A look at the pull request of a unit brought something new.
    PullRequestSeen {
        /// The run.
        run: RunId,
        /// The unit.
        node: Node,
        /// What.
        news: PullRequestNews,
    },
    /// A run came into another state.
    RunMoved {
        /// The run.
        run: RunId,
        /// The state it was in.
        from: RunState,
        /// The state it is in now.
        to: RunState,
        /// Why it is paused.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pause: Option<Pause>,
        /// The node that this is about.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at: Option<Node>,
        /// Why, in one line.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// A person asked the live runner for something.
    RunAsked {
        /// The run.
        run: RunId,
        /// What was asked.
        request: RunnerRequest,
        /// Who asked.
        by: String,
    },
    /// An agent is about to be started: an intent, durable before the start.
    AttemptStarted {
        /// The attempt.
        attempt: AttemptId,
        /// The run.
        run: RunId,
        /// Its item.
        node: Node,
        /// The token with which the item was taken, from 1; 0 in events of
        /// versions that counted none.
        #[serde(default, skip_serializing_if = "crate::item::is_zero")]
        fence: u64,
        /// Which attempt at the item, from 1.
        number: u32,
        /// What for.
        role: Role,
        /// The agent: its name or command.
        agent: String,
        /// The model it is asked to use.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<String>,
        /// Which agent of the run, from 1.
        iteration: u32,
        /// The name that it has in `.ralph/progress.json`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        /// The ids of what its prompt carries of the memory.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        memories: Vec<String>,
        /// The tree on which it is started; none where that is not known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tree: Option<String>,
        /// What is known of the item's check on this tree without running it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        baseline: Option<BaselineResult>,
        /// The id of the hook of the plan that it runs.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        hook: Option<String>,
    },
    /// An attempt ended: the one outcome of its intent.
    AttemptEnded {
        /// The attempt.
        attempt: AttemptId,
        /// The run.
        run: RunId,
        /// Its item.
        node: Node,
        /// What came of it.
        report: Box<Report>,
        /// Its outcome waits for the item's check, or for a person who is asked
        /// to accept what there is: [`Event::AttemptJudged`] follows.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        unchecked: bool,
    },
    /// The check of the item, or a person, said what the work of an attempt
    /// came to whose outcome waited for that.
    AttemptJudged {
        /// The attempt.
        attempt: AttemptId,
        /// The run.
        run: RunId,
        /// Its item.
        node: Node,
        /// What it came to.
        outcome: Outcome,
        /// Why it is not completed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
    /// An attempt at another item marked this one as done, or that attempt has
    /// ended: what it did to the tree is known then.
    ItemClaimed {
        /// The run.
        run: RunId,
        /// The item.
        node: Node,
        /// By which attempt; none when nothing is left of the claim.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<Box<WorkCredit>>,
    },
    /// The agent of an attempt that is under way said, by a tool of piton, what
    /// came of it. The last one counts, when the attempt ends.
    AttemptAnswered {
        /// The attempt.
        attempt: AttemptId,
        /// The run.
        run: RunId,
        /// Its item.
        node: Node,
        /// What it said.
        answer: Box<Report>,
    },
    /// A gate is about to be run: an intent.
    GateStarted {
        /// The run.
        run: RunId,
        /// The item.
        node: Node,
        /// The token with which the item was taken, from 1; 0 in events of
        /// versions that counted none.
        #[serde(default, skip_serializing_if = "crate::item::is_zero")]
        fence: u64,
        /// Which run of the script, from 1; 0 before the first attempt.
        number: u32,
        /// What the same command is known to have come to before the attempt
        /// that marked the item as done.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        before: Option<BaselineResult>,
    },
    /// A gate was run: the one outcome of its intent.
    GateEnded {
        /// The run.
        run: RunId,
        /// The item.
        node: Node,
        /// What came of it.
        report: GateReport,
        /// What that shows, when it passed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        evidence: Option<Evidence>,
    },
    /// A commit is about to be made: an intent.
    CommitStarted {
        /// The run.
        run: RunId,
        /// The item.
        node: Node,
        /// The token with which the item was taken, from 1; 0 in events of
        /// versions that counted none.
        #[serde(default, skip_serializing_if = "crate::item::is_zero")]
        fence: u64,
        /// What `HEAD` is.
        head: Option<String>,
    },
    /// A commit was made, or not: the one outcome of its intent.
    CommitEnded {
        /// The run.
        run: RunId,
        /// The item.
        node: Node,
        /// The commit; none when nothing had changed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        commit: Option<String>,
        /// Why it could not be made.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
    /// An item came into another state.
    ItemMoved(Box<ItemMoved>),
    /// An item that is being worked on came to another stage.
    ItemStaged {
        /// The run.
        run: RunId,
        /// The item.
        node: Node,
        /// What comes next for it.
        stage: Stage,
        /// The gate that its agent's word has to stand up to, where the plan
        /// gives it none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        gate: Option<Box<Gate>>,
    },
    /// A person asked to skip an item that is being worked on.
    ItemSkipAsked {
        /// The run.
        run: RunId,
        /// The item.
        node: Node,
    },
    /// A person is asked something.
    DecisionOpened {
        /// The decision.
        decision: DecisionId,
        /// The number that people type.
        number: u64,
        /// What is to be decided.
        decision_kind: DecisionKind,
        /// The run that waits.
        run: RunId,
        /// The node that it is about, unless it is about a file.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        node: Option<Node>,
        /// The native file that it is about, relative to the project.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        file: Option<String>,
        /// The memory that it is about, by its id.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        memory: Option<String>,
        /// The question, in one line.
        question: String,
        /// More, if there is more.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        details: Option<String>,
        /// What may be done about the file; every way that there is when absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ways: Option<Vec<DecisionChoice>>,
        /// The edits that it is about: the claims, what may be an agent's, or what
        /// another run did on another branch.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        edits: Vec<Edit>,
        /// What an agent asks for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        request: Option<Box<WorkRequest>>,
    },
    /// Something of what a person is asked matters no more, or more was added:
    /// the question is this now.
    DecisionRevised {
        /// The decision.
        decision: DecisionId,
        /// The question, in one line.
        question: String,
        /// More, if there is more.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        details: Option<String>,
        /// The edits that it is about.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        edits: Vec<Edit>,
    },
    /// A person decided.
    DecisionMade {
        /// The decision.
        decision: DecisionId,
        /// What was said.
        verb: Verb,
        /// Why, or the answer itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        why: Option<String>,
        /// What becomes of a request.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        answer: Option<Box<RequestAnswer>>,
    },
    /// What an agent asks for was put off; a revision asks about it again.
    DecisionDeferred {
        /// The decision.
        decision: DecisionId,
        /// Until when.
        until: Until,
        /// The phase whose end it is put off to.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        phase: Option<Node>,
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        why: Option<String>,
    },
    /// What the plan says of an item was changed.
    ItemChanged(Box<ItemChanged>),
    /// Items stand somewhere else among their siblings.
    ItemsPlaced(Box<ItemsPlaced>),
    /// What the plan says of the whole run was changed.
    RunChanged(Box<RunChanged>),
    /// A session event was logged.
    EntryLogged(Box<Entry>),
    /// An attempt that is over was reported; its number and name are given.
    AttemptTold(Box<ReportedAttempt>),
    /// An entry was changed in a file; it is known by its name.
    EntryRevised {
        /// Its position in the stream of the sessions.
        position: u64,
        /// What it says now.
        entry: Box<Entry>,
        /// What it blocked until then, where it blocks something else now, or
        /// nothing.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        blocked_before: Option<BlockedBefore>,
    },
    /// An attempt was changed in a file.
    AttemptRevised(Box<ReportedAttempt>),
    /// Something worth knowing was kept; its id is given.
    MemoryAdded(Box<Memory>),
    /// Something that is remembered says something else now.
    MemoryRevised(Box<Memory>),
    /// Something that is remembered is no longer to be followed.
    MemoryRetired {
        /// Its id.
        id: String,
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        why: Option<String>,
        /// What takes its place, by its id.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        superseded_by: Option<String>,
    },
    /// What is remembered was learned once more.
    MemoryConfirmed {
        /// Its id.
        id: String,
        /// Where.
        source: MemorySource,
    },
    /// An attempt starts whose prompt carries these.
    MemoryUsed {
        /// Their ids.
        ids: Vec<String>,
        /// The attempt.
        attempt: AttemptId,
    },
    /// What came of an item whose last prompt carried these.
    MemoryJudged {
        /// Their ids.
        ids: Vec<String>,
        /// Whether the item was done; it failed otherwise.
        helped: bool,
    },
    /// A blocked task can go on.
    BlockerResolved {
        /// Its spec.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        spec: Option<String>,
        /// The task.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task_id: Option<String>,
        /// How that came about.
        resolution: String,
    },
    /// An agent called a tool in a session that piton did not start.
    CallNoted(Box<SessionCall>),
    /// A native file is a face from now on, or is one no more.
    FaceTurned {
        /// Its path, relative to the project.
        path: String,
        /// The native format.
        face: String,
        /// Whether it is kept up to date.
        on: bool,
    },
    /// The command of `[notify]` is about to be started: an intent.
    NotificationStarted {
        /// What a person is notified of.
        subject: NotificationSubject,
        /// It was started before and cut short.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        again: bool,
    },
    /// A reviewer looked at the work on an item, or a person did instead.
    ItemReviewed {
        /// The run.
        run: RunId,
        /// The item.
        node: Node,
        /// The attempt of the reviewer; none of a person.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        attempt: Option<AttemptId>,
        /// Who, in words.
        by: String,
        /// What they say; none where that is no verdict, or does not count.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        verdict: Option<ReviewVerdict>,
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        why: Option<String>,
    },
    /// That command ended: the one outcome of its intent.
    NotificationEnded {
        /// What a person was notified of.
        subject: NotificationSubject,
        /// Why the command failed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
}

/// See [`Event::RunPlanned`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunPlanned {
    /// The run.
    pub run: RunId,
    /// Its short name.
    pub name: String,
    /// The native format it came from.
    pub face: String,
    /// The plan's path, relative to the project.
    pub source: String,
    /// Retries, limits, commits.
    pub policy: Policy,
    /// In which order its items are worked on.
    /// Absent in events of an older version: then the format says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order: Option<Order>,
    /// What only its native format has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub native: Option<Native>,
    /// What it went through before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub past: Option<ImportedRunHistory>,
}

/// See [`Event::ItemPlanned`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ItemPlanned {
    /// The run.
    pub run: RunId,
    /// The item.
    #[serde(flatten)]
    pub item: PlannedItem,
}

/// See [`Event::ItemMoved`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ItemMoved {
    /// The run.
    pub run: RunId,
    /// The item.
    pub node: Node,
    /// The state it was in.
    pub from: ItemState,
    /// The state it is in now.
    pub to: ItemState,
    /// What comes next for it; as before when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stage: Option<Stage>,
    /// How often it has been tried again; as before when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retries: Option<u32>,
    /// Not before this time is it tried again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
    /// What was done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// What went wrong; as before when absent, except that what is done has no error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What a person is needed for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub human: Option<HumanNeeded>,
    /// What a person answered, for the next prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    /// Why it counts as done.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<Evidence>,
    /// Whether this completes a task, for `max-tasks`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub task: bool,
    /// What the next attempt follows. Where it is absent, what was followed
    /// before holds on as long as the item only goes on with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovery: Option<Box<FollowedRecovery>>,
    /// How far what it waits for before it begins has come; as before when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waited: Option<WaitProgress>,
    /// A person looked at what was made of it, and wants it otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rejected: Option<Box<Rejection>>,
}

impl ItemMoved {
    /// A move that says nothing but where to.
    #[must_use]
    pub fn new(run: RunId, node: Node, from: ItemState, to: ItemState) -> Self {
        Self {
            run,
            node,
            from,
            to,
            stage: None,
            retries: None,
            until: None,
            summary: None,
            error: None,
            human: None,
            answer: None,
            evidence: Vec::new(),
            task: false,
            recovery: None,
            waited: None,
            rejected: None,
        }
    }
}

impl Event {
    /// The kind, as stored.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::RunPlanned(_) => "run-planned",
            Self::ItemPlanned(_) => "item-planned",
            Self::LeaseTaken { .. } => "lease-taken",
            Self::LeaseLost { .. } => "lease-lost",
            Self::LeaseReleased { .. } => "lease-released",
            Self::RunStarted { .. } => "run-started",
            Self::RunTargeted { .. } => "run-targeted",
            Self::LanesEntered { .. } => "lanes-entered",
            Self::LandStarted { .. } => "land-started",
            Self::RunLanded { .. } => "run-landed",
            Self::LaneTaken { .. } => "lane-taken",
            Self::LaneLeft { .. } => "lane-left",
            Self::MergeQueued { .. } => "merge-queued",
            Self::MergeStarted { .. } => "merge-started",
            Self::MergePassed { .. } => "merge-passed",
            Self::MergeReturned { .. } => "merge-returned",
            Self::MergeEnded { .. } => "merge-ended",
            Self::PullRequestAsked { .. } => "pull-request-asked",
            Self::PullRequestTaken { .. } => "pull-request-taken",
            Self::PullRequestOpened { .. } => "pull-request-opened",
            Self::PullRequestSeen { .. } => "pull-request-seen",
            Self::RunMoved { .. } => "run-moved",
            Self::RunAsked { .. } => "run-asked",
            Self::AttemptStarted { .. } => "attempt-started",
            Self::AttemptEnded { .. } => "attempt-ended",
            Self::AttemptAnswered { .. } => "attempt-answered",
            Self::AttemptJudged { .. } => "attempt-judged",
            Self::ItemClaimed { .. } => "item-claimed",
            Self::GateStarted { .. } => "gate-started",
            Self::GateEnded { .. } => "gate-ended",
            Self::CommitStarted { .. } => "commit-started",
            Self::CommitEnded { .. } => "commit-ended",
            Self::ItemMoved(_) => "item-moved",
            Self::ItemStaged { .. } => "item-staged",
            Self::ItemSkipAsked { .. } => "item-skip-asked",
            Self::DecisionOpened { .. } => "decision-opened",
            Self::DecisionRevised { .. } => "decision-revised",
            Self::DecisionMade { .. } => "decision-made",
            Self::DecisionDeferred { .. } => "decision-deferred",
            Self::ItemChanged(_) => "item-changed",
            Self::ItemsPlaced(_) => "items-placed",
            Self::RunChanged(_) => "run-changed",
            Self::EntryLogged(_) => "entry-logged",
            Self::AttemptTold(_) => "attempt-told",
            Self::EntryRevised { .. } => "entry-revised",
            Self::AttemptRevised(_) => "attempt-revised",
            Self::MemoryAdded(_) => "memory-added",
            Self::MemoryRevised(_) => "memory-revised",
            Self::MemoryRetired { .. } => "memory-retired",
            Self::MemoryConfirmed { .. } => "memory-confirmed",
            Self::MemoryUsed { .. } => "memory-used",
            Self::MemoryJudged { .. } => "memory-judged",
            Self::BlockerResolved { .. } => "blocker-resolved",
            Self::CallNoted(_) => "call-noted",
            Self::FaceTurned { .. } => "face-turned",
            Self::NotificationStarted { .. } => "notification-started",
            Self::NotificationEnded { .. } => "notification-ended",
            Self::ItemReviewed { .. } => "item-reviewed",
        }
    }

    /// The version of the body's shape; it grows when a body changes so that
    /// an older program would misread it.
    #[must_use]
    pub fn body_version(&self) -> u32 {
        1
    }
}
