//! What a runner has at hand while it works through a run.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;
use std::rc::Rc;
use std::sync::mpsc::{Receiver, Sender};

use jiff::{SignedDuration, Timestamp};
use piton_core::checkout::Checkout;
use piton_core::event::{AttemptEvent, ItemEvent};
use piton_core::evidence::ClaimSettings;
use piton_core::flags::RunFlags;
use piton_core::policy::Limits;
use piton_core::prepare::PreparedContext;
use piton_core::pull_request::PullRequestSnapshot;
use piton_core::run_loop::{RunLoop, WaitAnswer};
use piton_core::{Event, Node, RunId, RunRow};

use super::active_work::{ActiveWorks, GitCallEnd, WorkNumber};
use super::clock::RunClock;
use super::held_lanes::RunLanes;
use super::other_runs::OtherRuns;
use super::run_lock::RunLock;
use super::site::{SiteSnapshot, Sites};
use super::stoppable_threads::StoppableThreads;
use crate::agents::Agent;
use crate::agents::prices::Prices;
use crate::agents::prompt::PromptTemplates;
use crate::agents::spool::Spool;
use crate::config::trust::TrustCheck;
use crate::config::{Config, VerdictSource};
use crate::failure::Failure;
use crate::git::worktree::RunWorktree;
use crate::native_files::plan_sync::PlanSync;
use crate::native_files::project_sync::AskedFileFingerprints;
use crate::process::{ProcessExit, ProcessLimits};
use crate::session::Session;
use crate::world::World;

/// How often the runner looks for events of others while it waits.
pub(super) const TICK: SignedDuration = SignedDuration::from_millis(150);

/// What a run is taken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunAim {
    /// To work through it.
    Work,
    /// To settle what a dead runner left under way, and nothing else.
    Settle,
    /// To work on it beside the runner that holds it.
    Join,
}

/// An agent that works on a run.
#[derive(Clone, Debug)]
pub struct WorkingAgent {
    /// Its name in the settings, or its command.
    pub name: String,
    /// The same as attempts record it: without secrets.
    pub recorded_name: String,
    /// What starts it and reads it.
    pub program: Rc<dyn Agent>,
    /// What says that its work is done.
    pub verdict: VerdictSource,
    /// What bounds it.
    pub limits: ProcessLimits,
}

impl WorkingAgent {
    /// The agent of this name, by the settings; `verdict` is what a person asked for.
    ///
    /// # Errors
    ///
    /// When what is configured for it does not fit.
    pub(crate) fn resolve(
        world: &World,
        config: &Config,
        name: &str,
        verdict: Option<VerdictSource>,
    ) -> Result<Self, Failure> {
        Ok(Self {
            recorded_name: world.redactor().redact(name).into_owned(),
            program: config.resolve_agent(name)?.into(),
            verdict: config.resolve_verdict_by(name, verdict)?,
            limits: config.limits_of_agent(name),
            name: name.to_owned(),
        })
    }
}

impl RunnerJob {
    /// The agent that is tried first.
    pub(super) fn first_agent(&self) -> &WorkingAgent {
        self.agents.first().expect("a job has an agent")
    }

    /// The agent of that recorded name; the first one where none has it.
    pub(super) fn agent_of_name(&self, recorded: &str) -> &WorkingAgent {
        let mut agents = self.agents.iter();
        let own = agents.find(|agent| agent.recorded_name == recorded);
        own.unwrap_or_else(|| self.first_agent())
    }
}

/// What a runner is to do.
#[derive(Clone, Debug)]
pub struct RunnerJob {
    /// What for.
    pub aim: RunAim,
    /// The run.
    pub run: RunId,
    /// The agents, in the order in which they are tried; at least one.
    pub agents: Vec<WorkingAgent>,
    /// The settings: an attempt that a dead runner left may be of another agent.
    pub config: Config,
    /// What tokens cost, where its program does not say.
    pub prices: Prices,
    /// The model for nodes whose plan names none.
    pub model: Option<String>,
    /// The limits of this invocation, before those of the plan.
    pub limits: Limits,
    /// What is asked of agents that say that an item is done.
    pub claims: ClaimSettings,
    /// What the next invocation takes over.
    pub flags: RunFlags,
    /// Stay and go on when a person has decided.
    pub wait: bool,
    /// End after one node.
    pub once: bool,
    /// The worktree in which it is worked on, where it has one of its own: the work
    /// tree of the session, as soon as this is carried out.
    pub worktree: Option<RunWorktree>,
    /// How many items are worked on at once, where a flag says it; more than one,
    /// each in a lane.
    pub workers: Option<NonZeroU32>,
    /// What of the project may be started.
    pub trust: TrustCheck,
    /// The lock on the plan, which a runner may lose while it is stopped; none where the
    /// caller knows that it holds it, or the runner joins another one.
    pub plan_lock: Option<Rc<RunLock>>,
}

pub(super) enum RunnerMessage {
    Grew(WorkNumber, u64),
    Exited(WorkNumber, ProcessExit),
    Called(WorkNumber, GitCallEnd),
    Answered(Node, WaitAnswer),
    Seen(Node, u64, Result<PullRequestSnapshot, String>),
    Signal(&'static str),
}

/// What is known of an attempt between the moment in which its start is asked of
/// the store and the start of its agent.
#[derive(Default)]
pub(super) struct StartingAttempt {
    /// The work tree.
    pub(super) before: Option<Box<SiteSnapshot>>,
    /// What the memory has of its item.
    pub(super) prepared: Option<PreparedContext>,
}

/// What prompts of the run are made of.
pub(super) struct PromptSource {
    pub(super) templates: PromptTemplates,
    /// What the project tells agents in the place of the words of piton, by their roles.
    pub(super) role_texts: BTreeMap<String, String>,
    /// Not the run's name: later runs of a sprint have names of their own.
    pub(super) sprint_id: String,
}

/// What is known of the files that the runner keeps and looks at.
pub(super) struct RunnerFiles {
    pub(super) other_runs: OtherRuns,
    /// The checkout and the number of events of the run at which no work was found that
    /// was done on another branch.
    pub(super) nothing_elsewhere_at: Option<(Option<Checkout>, u64)>,
    pub(super) project_files_at: Timestamp,
    pub(super) project_files_behind: bool,
    pub(super) waiting: AskedFileFingerprints,
    pub(super) look_failed: bool,
    /// Whether the file that asks for a pause was there when it was looked for last.
    pub(super) saw_pause_file: bool,
}

/// The threads of the runner, and how they report to it.
pub(super) struct RunnerThreads {
    pub(super) sender: Sender<RunnerMessage>,
    pub(super) receiver: Receiver<RunnerMessage>,
    pub(super) asked_commands: StoppableThreads,
    /// The pull requests that are looked at just now.
    pub(super) looks: StoppableThreads,
}

/// The clock of the runner, and what is due when.
pub(super) struct RunnerTime {
    pub(super) wake: Option<Timestamp>,
    pub(super) clock: RunClock,
    pub(super) tick_at: Timestamp,
    pub(super) beat: Timestamp,
}

/// What was reported, so that it is not repeated.
pub(super) struct ReportedOnce {
    /// What was told last of what the plan has items wait for.
    pub(super) waits: Option<String>,
    /// That a person is waited for was told, and nothing happened since.
    pub(super) person: bool,
    /// What was told last of the answers that said no.
    pub(super) noes: BTreeMap<Node, String>,
    /// What was told last of pull requests that cannot be opened or seen.
    pub(super) failures: BTreeMap<Node, String>,
    /// A look at a work tree failed, and that was told.
    pub(super) look_missed: bool,
    /// The warning that a budget does not count everything was given.
    pub(super) budget_warned: bool,
    /// That an agent gets no hooks of piton was told.
    pub(super) hooks_replaced: bool,
}

/// What is known of the commits that piton makes of its own files.
pub(super) struct CommitState {
    /// What attempts made, until what piton wrote of them is committed as well.
    pub(super) progress: UncommittedProgress,
    /// Something of that was committed.
    pub(super) has_committed: bool,
    /// It failed, and a warning was given.
    pub(super) commit_missed: bool,
    /// Git hung over it.
    pub(super) commits_hang: bool,
}

/// The work that is under way or about to begin, and where.
pub(super) struct WorkState {
    pub(super) works: ActiveWorks,
    /// Where the works are done.
    pub(super) sites: Sites,
    /// What is known of the attempts that are about to start, by their items.
    pub(super) starting: BTreeMap<Node, StartingAttempt>,
    /// What stood where agents are to write what comes of an item, before they did.
    pub(super) artifacts_before: BTreeMap<Node, String>,
    /// An agent works in the work tree of the run, or is about to: no file comes into its way to another branch.
    pub(super) agents_time: bool,
    /// The merge whose tree is that on which the check of its item passed.
    pub(super) checked_in_lane: Option<String>,
    /// How often in a row the output of an item's agents could not be read.
    pub(super) unreadable_outputs: BTreeMap<Node, u32>,
}

/// The locks of a runner that has joined another one.
pub(super) struct JoiningLocks {
    /// The lock that says that this runner lives, and its name, where it has joined
    /// another one.
    pub(super) beside: Option<(RunLock, String)>,
    /// The lock on the plan, where it holds the run since that one is gone.
    pub(super) plan_lock: Option<RunLock>,
}

pub(super) struct Runner<'s, 'w> {
    pub(super) session: &'s Session<'w>,
    pub(super) job: RunnerJob,
    pub(super) row: RunRow,
    pub(super) lp: RunLoop,
    pub(super) plan_sync: Option<PlanSync>,
    pub(super) spool: Spool,
    /// The runner before this one died, or was ended.
    pub(super) was_cut_short: bool,
    pub(super) seen: u64,
    /// How far the tables are: what is read is known when the loop has taken it in.
    pub(super) known: u64,
    pub(super) stop_reason: Option<String>,
    /// The lanes of the run, where it is worked on in lanes.
    pub(super) lanes: Option<RunLanes>,
    /// Why a lane or a merge cannot be made.
    pub(super) fault: Option<Failure>,
    pub(super) prompts: PromptSource,
    pub(super) files: RunnerFiles,
    pub(super) threads: RunnerThreads,
    pub(super) time: RunnerTime,
    pub(super) reported: ReportedOnce,
    pub(super) commits: CommitState,
    pub(super) work: WorkState,
    pub(super) joining: JoiningLocks,
}

/// What attempts made since piton committed last.
#[derive(Debug, Default)]
pub(super) struct UncommittedProgress {
    /// The items of those that made commits.
    pub(super) committed: Vec<Node>,
    /// The files that they changed, by their paths in the work tree.
    pub(super) files: BTreeSet<String>,
}

impl UncommittedProgress {
    pub(super) fn record_event(&mut self, event: &Event) {
        if let Event::Attempt(AttemptEvent::Ended { node, report, .. }) = event {
            self.files
                .extend(report.changes.files.iter().flatten().cloned());
            self.record_committed(node, report.changes.commits.iter().flatten().count() > 0);
        }
        if let Event::Item(ItemEvent::CommitEnded { node, commit, .. }) = event {
            self.record_committed(node, commit.is_some());
        }
    }

    fn record_committed(&mut self, node: &Node, is_committed: bool) {
        if is_committed && !self.committed.contains(node) {
            self.committed.push(node.clone());
        }
    }
}
