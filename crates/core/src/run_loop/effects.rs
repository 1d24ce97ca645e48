//! What the loop wants from the world, and what the world tells it.

use jiff::Timestamp;

use crate::attempt::{Report, Role};
use crate::budget::BudgetUse;
use crate::command::Command;
use crate::evidence::BaselineResult;
use crate::gate::GateReport;
use crate::id::{AttemptId, Node};
use crate::journal::DecodedRecord;
use crate::merge::MergeStep;
use crate::pull_request::{AdoptedPullRequest, PullRequestSnapshot};
use crate::recover::Recovery;
use crate::refusal::Refusal;
use crate::trouble::Trouble;
use crate::usage::Usage;
use crate::wait::Wait;

/// What the world tells the loop.
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    /// The engine looked around at a boundary.
    Looked {
        /// Events of others since the last input.
        events: Vec<DecodedRecord>,
        /// There is a file that asks for a pause.
        pause_file: bool,
        /// A fresh id, should an attempt begin.
        attempt: AttemptId,
    },
    /// The command was carried out.
    Committed(Vec<DecodedRecord>),
    /// The command was refused.
    Refused(Refusal),
    /// Another process changed the run while an agent works or the loop waits.
    Changed(Vec<DecodedRecord>),
    /// The agent is gone, with all its children.
    AgentEnded {
        /// The attempt.
        attempt: AttemptId,
        /// Its item.
        node: Node,
        /// What came of it.
        report: Box<Report>,
        /// What to do now, when it did not complete and the failure was looked into.
        recovery: Option<Box<Recovery>>,
    },
    /// What the engine says of the check of an item before its first attempt.
    Baseline {
        /// A fresh id for that attempt.
        attempt: AttemptId,
        /// The item.
        node: Node,
        /// What to do.
        answer: BaselineAnswer,
    },
    /// The gate of an item is gone, with all its children.
    GateEnded {
        /// The item.
        node: Node,
        /// What came of it.
        report: GateReport,
        /// What to do now, when its runs are used up and the failure was looked into.
        recovery: Option<Box<Recovery>>,
    },
    /// The commit of an item was made (none when nothing had changed), or why not.
    CommitEnded {
        /// The item.
        node: Node,
        /// The commit.
        result: Result<Option<String>, String>,
    },
    /// What was done about the lane of a unit is over.
    LaneEnded {
        /// The unit.
        node: Node,
        /// How.
        end: LaneEnd,
    },
    /// What was done at an item is not there any more: the lane of its unit, or the
    /// worktree of its run, was taken away.
    WorkLost {
        /// The item.
        node: Node,
        /// What happened.
        why: String,
    },
    /// What was done about a unit in the merge queue is over.
    MergeEnded {
        /// The unit.
        node: Node,
        /// How.
        end: MergeEnd,
    },
    /// What was done to open the pull request of a unit is over.
    PullRequestOpened {
        /// The unit.
        node: Node,
        /// How.
        end: PullRequestOpenEnd,
    },
    /// The pull request of a unit was looked at, or why it could not be.
    PullRequestSeen {
        /// The unit.
        node: Node,
        /// Its number.
        number: u64,
        /// What was seen.
        look: Result<PullRequestSnapshot, String>,
    },
    /// The commit was stopped on the way; whether it was made is found out by
    /// the next runner.
    CommitStopped {
        /// The item.
        node: Node,
    },
    /// An agent at work leads nowhere: it goes round in circles, or changes nothing.
    Circling {
        /// Its item.
        node: Node,
    },
    /// What an agent at work has used so far, at least.
    Spent {
        /// Its item.
        node: Node,
        /// What it has used.
        usage: Usage,
    },
    /// The time box of this invocation ended while an item was worked on.
    TimeBoxOver {
        /// The item.
        node: Node,
    },
    /// What all other runs of the project have used: to be told before
    /// [`Input::Looked`] and now and then while an agent works, where the
    /// project has a budget.
    Elsewhere(BudgetUse),
    /// A command said whether an item may begin.
    WaitAnswered {
        /// The item.
        node: Node,
        /// What it said.
        answer: WaitAnswer,
    },
    /// The time that was waited for has come.
    Time,
    /// The file that asks for a pause came, or went, while something is waited for.
    PauseFile,
    /// A signal asks the runner to stop.
    Stop {
        /// Why, in one line.
        reason: String,
    },
}

/// How it ended what was done about a lane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LaneEnd {
    /// It is ready to be worked in.
    Prepared,
    /// What was in it is in this commit; none where nothing was.
    Saved(Option<String>),
    /// It was stopped on the way.
    Stopped,
    /// It cannot be done, which is no fault of the unit.
    Fault(String),
}

/// How it ended what was done about a unit in the merge queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MergeEnd {
    /// What follows from it.
    Step(MergeStep),
    /// It was stopped on the way.
    Stopped,
    /// It cannot be done, which is no fault of the unit.
    Fault(String),
}

/// Whether the check of an item is to run before its first attempt.
#[derive(Clone, Debug, PartialEq)]
pub enum BaselineAnswer {
    /// It is run.
    Run,
    /// It is left out: the same command has a result on the same tree, or
    /// there is no need to know.
    Skip(Option<BaselineResult>),
}

/// What the loop wants from the world.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Look for events of others and for a pause file. Answered by [`Input::Looked`].
    Look,
    /// Carry out a command. Answered by [`Input::Committed`] or [`Input::Refused`].
    Commit(Command),
    /// Start an agent. Answered by [`Input::AgentEnded`].
    StartAgent {
        /// The attempt, whose intent is durable.
        attempt: AttemptId,
        /// Its item.
        node: Node,
        /// What for.
        role: Role,
        /// When the time box of this invocation ends.
        until: Option<Timestamp>,
    },
    /// Find out what became of an agent whose runner died: end what survived,
    /// keep what it said. Answered by [`Input::AgentEnded`].
    SettleAgent {
        /// The attempt.
        attempt: AttemptId,
        /// Its item.
        node: Node,
    },
    /// Find out whether the check of an item is to run before its first
    /// attempt. Answered by [`Input::Baseline`].
    AskBaseline {
        /// A fresh id for that attempt.
        attempt: AttemptId,
        /// The item.
        node: Node,
    },
    /// Run the gate of an item. Answered by [`Input::GateEnded`].
    RunGate {
        /// The item.
        node: Node,
        /// Which run of the script, from 1; 0 before the first attempt.
        number: u32,
    },
    /// Commit what changed. Answered by [`Input::CommitEnded`].
    MakeCommit {
        /// The item.
        node: Node,
        /// A dead runner may have made it already.
        settle: bool,
    },
    /// Learn what `HEAD` is, for the intent to commit: answered by
    /// carrying out the command with it.
    CommitIntent {
        /// The item.
        node: Node,
    },
    /// Choose a lane for a unit, for the intent to take it: answered by carrying
    /// out [`Command::TakeLane`] with it.
    LaneIntent {
        /// The unit.
        node: Node,
    },
    /// Make the lane of a unit ready. Answered by [`Input::LaneEnded`].
    PrepareLane {
        /// The unit.
        node: Node,
    },
    /// Keep in a commit what is in the lane of a unit. Answered by
    /// [`Input::LaneEnded`].
    SaveWork {
        /// The unit.
        node: Node,
    },
    /// Merge the work of a unit with the target, in git's objects alone. Answered
    /// by [`Input::MergeEnded`]: start, return or end.
    MakeMerge {
        /// The unit.
        node: Node,
    },
    /// Run the checks of a unit and of the run on its merged tree. Answered by
    /// [`Input::MergeEnded`]: pass or return.
    CheckMerge {
        /// The unit.
        node: Node,
    },
    /// Move the target from where the merge was made on to the merge; done
    /// already where it is there. Answered by [`Input::MergeEnded`]: end or
    /// requeue.
    MoveTarget {
        /// The unit.
        node: Node,
    },
    /// Push the work of a unit, and find its pull request or open it. Done already where
    /// it is there. Answered by [`Input::PullRequestOpened`].
    OpenPullRequest {
        /// The unit.
        node: Node,
    },
    /// Look for the pull request in which others left the work of a unit, and fetch that.
    /// Answered by [`Input::PullRequestOpened`].
    TakePullRequest {
        /// The unit.
        node: Node,
        /// Its number.
        number: u64,
    },
    /// Fetch what the pull request of a unit was merged into, and make of it what the
    /// target is to be moved to, in git's objects alone. Answered by
    /// [`Input::MergeEnded`]: start.
    FollowPullRequest {
        /// The unit.
        node: Node,
    },
    /// Look at the pull request of a unit, beside all else. Answered by
    /// [`Input::PullRequestSeen`].
    LookAtPullRequest {
        /// The unit.
        node: Node,
        /// Its number.
        number: u64,
    },
    /// End what works on an item: politely first, then not.
    StopWork {
        /// The item.
        node: Node,
        /// At once.
        kill: bool,
    },
    /// Ask a command whether an item may begin, beside all else. Answered by
    /// [`Input::WaitAnswered`].
    AskWait {
        /// The item.
        node: Node,
        /// What it waits for.
        wait: Wait,
    },
    /// End a command that is asked: the loop does not need its answer any more, which
    /// comes all the same.
    EndAsking {
        /// The item.
        node: Node,
    },
    /// Tell by [`Input::Time`] when it is that late, instead of at another time;
    /// whatever goes on meanwhile.
    WakeAt(Timestamp),
    /// Wait for a time, or for a change. Answered by [`Input::Time`] or [`Input::Changed`].
    WaitUntil(Timestamp),
    /// Wait for a change. Answered by [`Input::Changed`].
    WaitForPerson,
    /// The invocation is over.
    Finish(RunLoopEnding),
}

/// Why an invocation is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunLoopEnding {
    /// The state of the run says it.
    State,
    /// The agent's program cannot be started.
    CannotStart(String),
    /// It was started, and cannot work like this: a key, a login, a setting.
    TurnedAway(Trouble, String),
    /// A lane or a merge cannot be made, whatever the unit is.
    Fault(String),
    /// Another runner holds the run now.
    Fenced,
    /// The store refuses what the loop is sure of, again and again.
    Refused(Refusal),
}

/// What a command said that was asked whether an item may begin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WaitAnswer {
    /// It may.
    Yes,
    /// Not yet.
    No {
        /// What the command printed last.
        printed: Option<String>,
    },
    /// It cannot be run.
    NotRun {
        /// What the shell printed.
        printed: Option<String>,
    },
}

/// How it ended what was done to open a pull request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PullRequestOpenEnd {
    /// It is open with that commit.
    Opened {
        /// The commit.
        head: String,
        /// Its number.
        number: u64,
        /// Its address.
        url: String,
    },
    /// The one in which others left the work was found.
    Found(AdoptedPullRequest),
    /// It cannot be opened, and will not be by itself: a person is asked at once.
    Refused(String),
    /// It cannot be opened now.
    Failed(String),
    /// It was stopped on the way.
    Stopped,
}
