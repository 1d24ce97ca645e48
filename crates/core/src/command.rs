//! Commands: what a person, an agent or a runner wants to happen. Imperative; they
//! may be refused.

use std::collections::BTreeMap;

use crate::gate::GateReport;
use serde::{Deserialize, Serialize};

use crate::actor::Actor;
use crate::attempt::{Report, ReportedAttempt, Role};
use crate::call::SessionCall;
use crate::checkout::Checkout;
use crate::decision::{DecisionChoice, Verb};
use crate::edit::Edit;
use crate::entry::Entry;
use crate::evidence::{BaselineResult, ClaimSettings, Evidence};
use crate::flags::RunFlags;

use crate::id::{AttemptId, DecisionId, Node, RunId, StreamId};
use crate::lane::{Landing, LaneTerms, TargetRow};
use crate::memory::Memory;
use crate::merge::MergeStep;
use crate::notification::NotificationSubject;
use crate::plan::Plan;
use crate::policy::Limits;
use crate::pull_request::PullRequestStep;
use crate::recover::Recovery;
use crate::request::{Injection, RequestAnswer, RequestKind};
use crate::run::Pause;
use crate::wait::WaitStep;

/// What a person, an agent or a runner wants to happen.
///
/// A command with a `token` comes from the runner that holds the run; it is
/// refused when another one holds it now.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Command {
    /// Keep this plan as a new run.
    PlanRun(Box<Plan>),
    /// Take a run and begin to work on it.
    StartRun {
        /// The run.
        run: RunId,
        /// The runner, in words.
        owner: String,
        /// The limits of this invocation.
        limits: Limits,
        /// What it asks of agents that say that an item is done.
        claims: ClaimSettings,
        /// What a person typed for it, for the next invocation.
        #[serde(default, skip_serializing_if = "RunFlags::is_empty")]
        flags: Box<RunFlags>,
        /// Whether all of its items are looked at first: see
        /// [`RunPlan::is_settled`](crate::run::RunPlan::is_settled).
        settles: bool,
        /// Whether a person wants to be notified of its end.
        #[serde(default)]
        notify: bool,
    },
    /// Take a run whose runner is gone, to settle what it left under way.
    /// Nothing is begun: the run stays interrupted.
    TakeRun {
        /// The run.
        run: RunId,
        /// Who settles it, in words.
        owner: String,
    },
    /// Record the branch that the work of a run goes to, before it is made. The
    /// same once more changes nothing.
    TargetRun {
        /// The run.
        run: RunId,
        /// The runner's token.
        token: u64,
        /// The repository that the branch is of; none is the one in which the project
        /// lies, whose branch comes first.
        repository: Option<String>,
        /// The branch. Its tip is its base.
        target: Box<TargetRow>,
    },
    /// Work on the run in lanes from now on. The same once more changes nothing.
    EnterLanes {
        /// The run.
        run: RunId,
        /// The runner's token.
        token: u64,
        /// How its work comes back.
        terms: Box<LaneTerms>,
    },
    /// Give a unit a lane, before that is made ready.
    TakeLane {
        /// The run.
        run: RunId,
        /// The runner's token.
        token: u64,
        /// The unit.
        node: Node,
        /// The lane.
        lane: u32,
        /// The commit that holds what was in its last lane, where that one cannot
        /// be had again.
        saved: Option<String>,
    },
    /// Take its lane from a unit.
    LeaveLane {
        /// The run.
        run: RunId,
        /// The runner's token.
        token: u64,
        /// The unit.
        node: Node,
        /// The token with which the unit was taken.
        fence: u64,
        /// The commit that holds what was in the lane.
        saved: Option<String>,
    },
    /// Note that what was done for a unit in its lane, or for an item in the
    /// worktree of its run, is not there any more: it is worked on again.
    LoseWork {
        /// The run.
        run: RunId,
        /// The runner's token.
        token: u64,
        /// The unit.
        node: Node,
        /// The token with which it was taken.
        fence: u64,
        /// What happened.
        why: String,
    },
    /// Take a unit a step further in the merge queue.
    StepMerge {
        /// The run.
        run: RunId,
        /// The runner's token.
        token: u64,
        /// The unit.
        node: Node,
        /// The token with which the unit was taken: a step with another one is
        /// refused.
        fence: u64,
        /// The step.
        step: MergeStep,
    },
    /// Take the pull request of a unit a step further.
    StepPullRequest {
        /// The run.
        run: RunId,
        /// The runner's token.
        token: u64,
        /// The unit.
        node: Node,
        /// The step.
        step: PullRequestStep,
    },
    /// Note the intent to bring the work of a run to the branch that it is for. The
    /// same once more changes nothing.
    LandRun {
        /// The run.
        run: RunId,
        /// What is to land, and where.
        landing: Landing,
    },
    /// Note that what was to land is on the branch.
    EndLanding {
        /// The run.
        run: RunId,
        /// What landed, and where.
        landing: Landing,
    },
    /// Go on after a wait for a person that the runner sat out.
    ContinueRun {
        /// The run.
        run: RunId,
        /// The runner's token.
        token: u64,
    },
    /// Give a run back.
    ReleaseRun {
        /// The run.
        run: RunId,
        /// The runner's token.
        token: u64,
    },
    /// Work on a run beside the runner that holds it.
    JoinRun {
        /// The run.
        run: RunId,
        /// The runner that joins, in words.
        owner: String,
        /// The name of the lock that it holds while it lives.
        lock: String,
    },
    /// Hold a run that was joined, since the runner that held it is gone.
    HoldRun {
        /// The run.
        run: RunId,
        /// The token of the runner that joined.
        token: u64,
    },
    /// Note that a runner that joined is gone.
    LoseRunner {
        /// The run.
        run: RunId,
        /// The token of a runner that is there.
        token: u64,
        /// The token of the one that is gone.
        lost: u64,
    },
    /// Note that the runner reached a pause.
    PauseRun {
        /// The run.
        run: RunId,
        /// The runner's token.
        token: u64,
        /// Why.
        pause: Pause,
    },
    /// Note that the runner stops.
    InterruptRun {
        /// The run.
        run: RunId,
        /// The runner's token.
        token: u64,
        /// Why, in one line.
        reason: String,
    },
    /// Pause a run, or ask its live runner to.
    AskPause {
        /// The run.
        run: RunId,
    },
    /// Stop a run, or ask its live runner to.
    AskStop {
        /// The run.
        run: RunId,
    },
    /// Let a paused run go on.
    ResumeRun {
        /// The run.
        run: RunId,
    },
    /// Note the intent to start an agent.
    StartAttempt {
        /// The run.
        run: RunId,
        /// The runner's token.
        token: u64,
        /// The id that the attempt will have.
        attempt: AttemptId,
        /// Its item.
        node: Node,
        /// What for.
        role: Role,
        /// The agent: its name or command.
        agent: String,
        /// The model it is asked to use.
        model: Option<String>,
        /// The ids of what its prompt carries of the memory.
        memories: Vec<String>,
        /// The tree on which it is started; none where that is not known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tree: Option<String>,
        /// What is known of the item's check on this tree without running it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        baseline: Option<BaselineResult>,
    },
    /// Note what came of an attempt.
    EndAttempt {
        /// The run.
        run: RunId,
        /// The runner's token.
        token: u64,
        /// The attempt.
        attempt: AttemptId,
        /// Its item.
        node: Node,
        /// The token with which the item was taken: an end with another one is
        /// refused.
        fence: u64,
        /// What came of it.
        report: Box<Report>,
        /// What to do now, when it did not complete and that is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        recovery: Option<Box<Recovery>>,
        /// The other items that it marked as done.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        claimed: Vec<Node>,
        /// The agents of its runner, in the order in which they are tried.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        agents: Vec<String>,
    },
    /// Note what the agent of an attempt that is under way says came of it.
    AnswerAttempt {
        /// The run.
        run: RunId,
        /// The attempt.
        attempt: AttemptId,
        /// Its item.
        node: Node,
        /// What it says.
        answer: Box<Report>,
    },
    /// Note the intent to run the check of an item before its first attempt.
    StartBaseline {
        /// The run.
        run: RunId,
        /// The runner's token.
        token: u64,
        /// The item.
        node: Node,
        /// What the same command came to before the attempt that marked the
        /// item as done: if it failed then and passes now, the item is done.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        before: Option<BaselineResult>,
    },
    /// Note the intent to run a gate.
    StartGate {
        /// The run.
        run: RunId,
        /// The runner's token.
        token: u64,
        /// The item.
        node: Node,
    },
    /// Note what came of a gate.
    EndGate {
        /// The run.
        run: RunId,
        /// The runner's token.
        token: u64,
        /// The item.
        node: Node,
        /// The token with which the item was taken: an end with another one is
        /// refused.
        fence: u64,
        /// What came of it.
        report: GateReport,
        /// What to do now, when its runs are used up and the failure was looked into.
        recovery: Option<Box<Recovery>>,
    },
    /// Let items that could be started wait until work is merged that they depend
    /// on, or that another run did of them; those that waited for it and are
    /// not among them wait no longer.
    AskForMerge {
        /// The run.
        run: RunId,
        /// The runner's token; none before one takes the run.
        token: Option<u64>,
        /// Every item that has to wait, as far as anybody can tell.
        items: Vec<MergeNeeded>,
        /// The items whose work by another run was merged. Only those that
        /// waited for that are done by it.
        merged: Vec<MergedWork>,
    },
    /// Take what items wait for before they begin one step further.
    StepWaits {
        /// The run.
        run: RunId,
        /// The runner's token.
        token: u64,
        /// The steps.
        steps: Vec<WaitStep>,
        /// Whether one of them ends the wait of an item that holds others: what lies
        /// below it may be ready then.
        holds_others: bool,
    },
    /// Note the intent to commit.
    StartCommit {
        /// The run.
        run: RunId,
        /// The runner's token.
        token: u64,
        /// The item.
        node: Node,
        /// What `HEAD` is.
        head: Option<String>,
    },
    /// Note what came of a commit.
    EndCommit {
        /// The run.
        run: RunId,
        /// The runner's token.
        token: u64,
        /// The item.
        node: Node,
        /// The token with which the item was taken: an end with another one is
        /// refused.
        fence: u64,
        /// The commit (none when nothing had changed), or why there is none.
        result: Result<Option<String>, String>,
    },
    /// Leave an item out, with all that lies below it.
    SkipItem {
        /// The run.
        run: RunId,
        /// The item.
        node: Node,
        /// Why.
        why: Option<String>,
    },
    /// Try an item again, with all that failed below it.
    RetryItem {
        /// The run.
        run: RunId,
        /// The item.
        node: Node,
        /// Why.
        why: Option<String>,
    },
    /// Decide what is open.
    Decide {
        /// The decision.
        decision: DecisionId,
        /// Its run.
        run: RunId,
        /// What is said.
        verb: Verb,
        /// Why, or the answer itself.
        why: Option<String>,
    },
    /// Decide what becomes of a request, and how.
    DecideRequest {
        /// The decision.
        decision: DecisionId,
        /// Its run.
        run: RunId,
        /// What becomes of it.
        answer: RequestAnswer,
        /// Why.
        why: Option<String>,
    },
    /// Add items to a plan that is under way.
    Inject {
        /// The run.
        run: RunId,
        /// At which level they go that name no place: that of what an agent asks
        /// for, or that of a step.
        kind: RequestKind,
        /// What, and where: all of it or nothing.
        injections: Vec<Injection>,
    },
    /// Ask a person something that holds nothing up. What is asked already, in
    /// the same words about the same item, is not asked again.
    AskPerson {
        /// The run; [`RunId::PROJECT`] for a question about no run's item.
        run: RunId,
        /// The item that it is about.
        node: Option<Node>,
        /// The question, in one line.
        question: String,
        /// More, if there is more.
        details: Option<String>,
    },
    /// Import what a person changed in a plan's file by hand.
    ///
    /// What fits is done; what does not becomes one open decision.
    TakeEdits {
        /// The run.
        run: RunId,
        /// The token of the runner, when it is the one that takes them.
        token: Option<u64>,
        /// The file, relative to the project.
        file: String,
        /// What was changed, in the order in which it is to be tried.
        edits: Vec<Edit>,
        /// Whose word they are.
        word: EditAuthor,
    },
    /// Keep a session event.
    LogEntry(Box<Entry>),
    /// Keep a call of a tool in a session that piton did not start.
    NoteCall(Box<SessionCall>),
    /// Keep an attempt that was made without piton.
    TellAttempt(Box<ReportedAttempt>),
    /// Keep something that is worth knowing.
    AddMemory(Box<Memory>),
    /// Keep what an agent says that is worth knowing, once: what is known already
    /// gets a second source, and what its own prompt carried is an echo.
    NoticeMemory {
        /// What it says.
        memory: Box<Memory>,
        /// The ids of what its prompt carried.
        carried: Vec<String>,
    },
    /// No longer follow something that is remembered.
    RetireMemory {
        /// Its id.
        id: String,
        /// Why.
        why: Option<String>,
        /// What takes its place, by its id.
        superseded_by: Option<String>,
    },
    /// Follow these as they stand now: a person has read them.
    EndorseMemories(Vec<String>),
    /// Ask a person about what came by files and no person confirmed, once.
    AskAboutUnconfirmed,
    /// Keep what was remembered elsewhere, each thing once.
    ImportMemories(Vec<Memory>),
    /// Ask a person about those of these memories that attempts keep failing with.
    DoubtMemories(Vec<String>),
    /// Let a blocked task go on.
    ResolveBlocker {
        /// Its spec.
        spec: Option<String>,
        /// The task.
        task_id: Option<String>,
        /// How that came about.
        resolution: String,
    },
    /// Make a native file a face, or no face any more.
    TurnFace {
        /// Its path, relative to the project.
        path: String,
        /// The native format.
        face: String,
        /// Whether it is kept up to date.
        on: bool,
    },
    /// Keep what a native file holds and the journal does not.
    TakeFile(Box<ImportedFile>),
    /// Ask a person about a native file.
    AskAboutFile {
        /// The run whose file it is; [`RunId::PROJECT`] for one of the project.
        run: RunId,
        /// Its path, relative to the project.
        path: String,
        /// The question, in one line.
        question: String,
        /// More, if there is more.
        details: Option<String>,
        /// What may be done about it.
        ways: Vec<DecisionChoice>,
    },
    /// Note that there is nothing to ask about a native file any more.
    SettleFile {
        /// The run whose file it is; [`RunId::PROJECT`] for one of the project.
        run: RunId,
        /// Its path, relative to the project.
        path: String,
        /// How that came about.
        why: String,
    },
    /// Note the intent to notify a person. Nothing comes of it where there is nothing
    /// to notify of any more.
    StartNotification(NotificationSubject),
    /// Note that the command ended that was to notify a person.
    EndNotification {
        /// What it was about.
        subject: NotificationSubject,
        /// Why it failed, where it did.
        error: Option<String>,
    },
}

/// Whose word the edits of a file are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EditAuthor {
    /// The file's alone: what would undo work that is done is asked about.
    File,
    /// That of a person who edited the file while no agent was at work.
    Hand {
        /// The person.
        by: String,
        /// The items whose marks came with commits that were made elsewhere: they are
        /// done, and not by this person's word.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        brought: Vec<Node>,
    },
    /// It may be that of an agent: an attempt was open when the file was read.
    /// What takes a control away is asked about, and *done* proves nothing.
    MaybeAgent {
        /// The attempt that was open then; the last one when there were several.
        attempt: AttemptId,
        /// Whether prompts hold criteria, so that one that loses a line loses a
        /// control.
        #[serde(default)]
        criteria: bool,
        /// Whether it stands in the copy of the file in the lane of that attempt:
        /// then it is that of no other one, and what does not fit leaves nothing
        /// behind that a person could be asked about.
        #[serde(default)]
        in_lane: bool,
    },
    /// That of piton, which does a step of the plan itself: it holds, or is refused as
    /// a whole. What it adds may be what others wait for.
    Piton,
    /// That of a person who was asked: it holds, or is refused as a whole.
    Person {
        /// The question.
        decision: DecisionId,
        /// Why.
        why: Option<String>,
    },
    /// That of a person who typed it: all of it holds, or it is refused as a whole.
    Typed {
        /// The command, as evidence names it.
        through: String,
        /// Why.
        why: Option<String>,
    },
}

/// What was found in a native file that another program or a person wrote.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ImportedFile {
    /// Its path, relative to the project.
    pub path: String,
    /// Everything that it holds, in its order.
    pub found: Vec<ImportedRecord>,
    /// What to do with a thing that the journal knows with other contents.
    pub known: ImportPolicy,
    /// What the file held when piton wrote it last, where a person has changed it
    /// since: a thing of which the journal still says the same is taken as the
    /// file has it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub written: Vec<ImportedRecord>,
    /// Which of the things a person wrote into the file here, by their places in
    /// `found`. Of the others it is not known who wrote them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by_person: Vec<usize>,
}

/// What to do with a thing in a file that the journal knows with other contents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ImportPolicy {
    /// Ask a person.
    Ask,
    /// Take the file's contents.
    Take,
    /// Stay with the journal's.
    Keep,
}

/// One thing in a native file, under the name that it has there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind", content = "thing")]
pub enum ImportedRecord {
    /// An entry of a log.
    Entry(Box<Entry>),
    /// An attempt.
    Attempt(Box<ReportedAttempt>),
    /// Something worth knowing.
    Memory(Box<Memory>),
    /// Something that was worth knowing, and is marked as not to be followed.
    Retired(Box<Memory>),
    /// Something worth knowing that stands in the file no more.
    Removed(Box<Memory>),
}

impl ImportedRecord {
    /// The name that it has in the file; none for what is known by its words.
    fn name_in_file(&self) -> Option<(u8, &str)> {
        match self {
            Self::Entry(entry) => Some((0, entry.name.as_deref()?)),
            Self::Attempt(told) => Some((1, told.name.as_deref()?)),
            Self::Memory(memory) | Self::Retired(memory) | Self::Removed(memory) => {
                Some((2, memory.id.as_deref()?))
            }
        }
    }

    /// Whether it is the same thing as another, whatever each says of it.
    #[must_use]
    pub fn is_same_record(&self, other: &Self) -> bool {
        let title = |found: &Self| match found {
            Self::Memory(memory) | Self::Retired(memory) | Self::Removed(memory) => {
                memory.title.clone()
            }
            Self::Entry(_) | Self::Attempt(_) => None,
        };
        match (self.name_in_file(), other.name_in_file()) {
            (None, None) => title(self).is_some() && title(self) == title(other),
            (own, others) => own.is_some() && own == others,
        }
    }

    /// Groups of things that have one name in the file, each by their places in
    /// it: their writers did not check which names were in use.
    #[must_use]
    pub fn group_by_name(found: &[Self]) -> Vec<Vec<usize>> {
        let mut by_name: BTreeMap<(u8, &str), Vec<usize>> = BTreeMap::new();
        for (at, found) in found.iter().enumerate() {
            if let Some(name) = found.name_in_file() {
                by_name.entry(name).or_default().push(at);
            }
        }
        by_name.into_values().filter(|all| all.len() > 1).collect()
    }
}

impl Command {
    /// The streams that events of this command may go to.
    #[must_use]
    pub fn written_streams(&self) -> Vec<StreamId> {
        match self {
            Self::LogEntry(_) | Self::ResolveBlocker { .. } => {
                vec![StreamId::sessions(), StreamId::memory()]
            }
            // Who retires answers the question about it, if there is one.
            Self::DoubtMemories(_)
            | Self::RetireMemory { .. }
            | Self::EndorseMemories(_)
            | Self::AskAboutUnconfirmed => {
                vec![StreamId::of_run(RunId::PROJECT), StreamId::memory()]
            }
            Self::AddMemory(_) | Self::NoticeMemory { .. } | Self::ImportMemories(_) => {
                vec![StreamId::memory()]
            }
            Self::StartAttempt { run, memories, .. } if !memories.is_empty() => {
                vec![StreamId::of_run(*run), StreamId::memory()]
            }
            Self::NoteCall(_) => vec![StreamId::sessions()],
            Self::TurnFace { .. } => vec![StreamId::files()],
            Self::TakeFile(_) => vec![
                StreamId::sessions(),
                StreamId::memory(),
                StreamId::of_run(RunId::PROJECT),
            ],
            // What people and agents come to with an item is logged as well.
            Self::StartRun { run, .. }
            | Self::ReleaseRun { run, .. }
            | Self::SkipItem { run, .. }
            | Self::RetryItem { run, .. } => vec![StreamId::of_run(*run), StreamId::sessions()],
            // And what it teaches is remembered.
            Self::EndAttempt { run, .. }
            | Self::EndGate { run, .. }
            | Self::EndCommit { run, .. }
            | Self::LoseWork { run, .. }
            | Self::StepMerge { run, .. }
            | Self::StepPullRequest { run, .. }
            | Self::TakeEdits { run, .. }
            | Self::DecideRequest { run, .. }
            | Self::Inject { run, .. }
            | Self::Decide { run, .. } => vec![
                StreamId::of_run(*run),
                StreamId::sessions(),
                StreamId::memory(),
            ],
            Self::TellAttempt(told) => vec![
                StreamId::of_run(told.run),
                StreamId::sessions(),
                StreamId::memory(),
            ],
            Self::PlanRun(_)
            | Self::TakeRun { .. }
            | Self::TargetRun { .. }
            | Self::EnterLanes { .. }
            | Self::TakeLane { .. }
            | Self::LeaveLane { .. }
            | Self::LandRun { .. }
            | Self::EndLanding { .. }
            | Self::ContinueRun { .. }
            | Self::JoinRun { .. }
            | Self::HoldRun { .. }
            | Self::LoseRunner { .. }
            | Self::PauseRun { .. }
            | Self::InterruptRun { .. }
            | Self::AskPause { .. }
            | Self::AskStop { .. }
            | Self::ResumeRun { .. }
            | Self::StartAttempt { .. }
            | Self::AnswerAttempt { .. }
            | Self::StartBaseline { .. }
            | Self::StartGate { .. }
            | Self::StartCommit { .. }
            | Self::StepWaits { .. }
            | Self::AskForMerge { .. }
            | Self::AskPerson { .. }
            | Self::StartNotification(_)
            | Self::EndNotification { .. }
            | Self::AskAboutFile { .. }
            | Self::SettleFile { .. } => self.run_id().map(StreamId::of_run).into_iter().collect(),
        }
    }

    /// The run that the command is about.
    #[must_use]
    pub fn run_id(&self) -> Option<RunId> {
        match self {
            Self::PlanRun(plan) => Some(plan.run),
            Self::LogEntry(_)
            | Self::NoteCall(_)
            | Self::AddMemory(_)
            | Self::NoticeMemory { .. }
            | Self::RetireMemory { .. }
            | Self::ImportMemories(_)
            | Self::DoubtMemories(_)
            | Self::EndorseMemories(_)
            | Self::AskAboutUnconfirmed
            | Self::ResolveBlocker { .. }
            | Self::TurnFace { .. }
            | Self::TakeFile(_) => None,
            Self::StartNotification(subject) | Self::EndNotification { subject, .. } => {
                Some(subject.run())
            }
            Self::TellAttempt(told) => Some(told.run),
            Self::AskAboutFile { run, .. } | Self::SettleFile { run, .. } => Some(*run),
            Self::StartRun { run, .. }
            | Self::TakeRun { run, .. }
            | Self::TargetRun { run, .. }
            | Self::EnterLanes { run, .. }
            | Self::TakeLane { run, .. }
            | Self::LeaveLane { run, .. }
            | Self::LoseWork { run, .. }
            | Self::StepMerge { run, .. }
            | Self::StepPullRequest { run, .. }
            | Self::LandRun { run, .. }
            | Self::EndLanding { run, .. }
            | Self::ContinueRun { run, .. }
            | Self::JoinRun { run, .. }
            | Self::HoldRun { run, .. }
            | Self::LoseRunner { run, .. }
            | Self::ReleaseRun { run, .. }
            | Self::PauseRun { run, .. }
            | Self::InterruptRun { run, .. }
            | Self::AskPause { run }
            | Self::AskStop { run }
            | Self::ResumeRun { run }
            | Self::StartAttempt { run, .. }
            | Self::EndAttempt { run, .. }
            | Self::AnswerAttempt { run, .. }
            | Self::StartBaseline { run, .. }
            | Self::StartGate { run, .. }
            | Self::EndGate { run, .. }
            | Self::StartCommit { run, .. }
            | Self::StepWaits { run, .. }
            | Self::AskForMerge { run, .. }
            | Self::EndCommit { run, .. }
            | Self::SkipItem { run, .. }
            | Self::RetryItem { run, .. }
            | Self::AskPerson { run, .. }
            | Self::Decide { run, .. }
            | Self::DecideRequest { run, .. }
            | Self::Inject { run, .. }
            | Self::TakeEdits { run, .. } => Some(*run),
        }
    }
}

/// An item that depends on work that was done on other branches, or that
/// another run of its plan did there itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MergeNeeded {
    /// The item.
    pub node: Node,
    /// What it depends on, and the branch that has it; the item itself where
    /// another run did it.
    pub on: Vec<(Node, String)>,
}

impl MergeNeeded {
    /// The branch on which another run did the item; none where it only
    /// depends on others.
    #[must_use]
    pub fn branch_of_own_work(&self) -> Option<&str> {
        let mut on = self.on.iter();
        let own = on.find(|(node, _)| *node == self.node);
        own.map(|(_, branch)| branch.as_str())
    }
}

/// What another run of a plan did of an item, where it is merged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MergedWork {
    /// The item.
    pub node: Node,
    /// Why it counts as done in that run.
    pub evidence: Vec<Evidence>,
    /// The commits of its work.
    pub commits: Vec<String>,
}

/// What the caller knows of the world that the store does not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallerFacts {
    /// Who asks.
    pub actor: Actor,
    /// A fresh id, should a decision have to be opened.
    pub decision: DecisionId,
    /// What the caller knows of the runner that holds the run.
    pub holder: HolderLiveness,
    /// What git has checked out where the caller is; none outside of git.
    pub checkout: Option<Checkout>,
}

/// What a caller knows of the runner that holds a run.
///
/// The lock that a runner holds while it lives says more than a lease that may
/// run out behind the back of a process that sleeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HolderLiveness {
    /// Nothing: the lease decides.
    Nothing,
    /// It lives: it holds its lock.
    Alive,
    /// The runner with this token is gone, and so are all before it: their locks were
    /// free after the journal named them. A later one may have come since.
    Gone(u64),
    /// The caller holds the lock itself: the runner that held the run is gone.
    Excluded,
}
