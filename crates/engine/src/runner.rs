//! The runner: carries out what the pure loop wants, and tells it what came of it.
//!
//! One thread does everything; processes, signals and time speak to it through
//! one channel. What the loop decides stands in `piton_core::run_loop`.

mod active_work;
mod agent;
mod clock;
pub(crate) mod closing;
mod committing;
pub(crate) mod dead_runner;
mod feed;
pub(crate) mod gate;
mod held_lanes;
mod ingredients;
mod iteration_hook;
mod joining;
pub mod lane_pool;
mod lanes;
mod merging;
pub(crate) mod notify;
mod other_runs;
pub(crate) mod own_files;
mod own_work;
mod pull_requests;
mod queue;
mod reviewing;
mod run_facts;
pub mod run_lock;
pub mod run_log;
pub mod run_standing;
pub mod run_worktrees;
mod runner_state;
mod screenshots;
mod settling;
pub(crate) mod signals;
mod site;
mod site_snapshots;
mod spending;
mod stoppable_threads;
pub mod stopped_holder;
pub(crate) mod target_branch;
mod target_files;
pub(crate) mod trust_questions;
mod trusting;
mod unmerged;
mod verdict;
mod waits;
mod work;
pub mod work_place;

use piton_core::event::{AttemptEvent, ItemEvent, MemoryEvent, RunEvent};
use std::collections::{BTreeMap, VecDeque};
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use piton_core::checkout::Checkout;
use piton_core::evidence::{ChangeExtent, TreeChange};
use piton_core::run::RunnerRequest;
use piton_core::run_loop::{
    Effect, Input, LaneEnd, MergeEnd, RunLoop, RunLoopEnding, RunLoopOptions,
};
use piton_core::{
    AttemptId, CallerFacts, Command, DecodedRecord, Event, HolderLiveness, ItemRow, ItemState,
    Need, Node, RunId, RunRow, RunState, StreamId,
};
use piton_formats::plan_file::PlanFile;
use piton_formats::plan_format::PlanFormat;
use piton_formats::registry::plan_format;
use piton_store::{CommitError, LEASE_TTL_S};

use self::active_work::{ActiveWork, ActiveWorks, GitCallEnd, WorkPurpose, WorkStopCause};
use self::agent::EndedAgent;
use self::clock::RunClock;
use self::dead_runner::OrphanedRun;
use self::gate::EndedGate;
use self::held_lanes::RunLanes;
use self::other_runs::OtherRuns;
use self::own_files::{own_file_prefixes, refuse_foreign_changes};
use self::pull_requests::WorkGoal;
use self::run_facts::{
    commit_mark, facts_of_run, facts_with_checkout, load_run_snapshot, open_plan_sync, owner_name,
    require_run, runner_facts,
};
use self::runner_state::{
    CommitState, JoiningLocks, PromptSource, ReportedOnce, Runner, RunnerFiles, RunnerMessage,
    RunnerThreads, RunnerTime, TICK, UncommittedProgress, WorkState,
};
use self::signals::SignalListener;
use self::site::{Site, Sites};
use self::stoppable_threads::StoppableThreads;
use crate::agents::prompt::PromptTemplates;
use crate::failpoint;
use crate::failure::Failure;
use crate::failure::notice::{Notice, RunProgress, WorkProgress};
use crate::git;
use crate::git::worktree::{self, RunWorktree};
use crate::native_files::FileNotice;
use crate::native_files::plan_sync::PlanSync;
use crate::native_files::project_sync::{self, AskedFileFingerprints};
use crate::process;
use crate::runner::lane_pool::Pool;
use crate::runner::run_lock::RunLock;
use crate::session::Session;

pub(crate) use self::lanes::{drop_merged_refs, drop_unit_refs, failure_of_lane, unit_ref_folder};
pub(crate) use self::merging::resume_after_merge;
pub use self::runner_state::{RunAim, RunnerJob, WorkingAgent};
pub use self::settling::{clean_up_dead_runner, clean_up_dead_runner_locked, settle_dead_runner};
pub(crate) use self::site_snapshots::non_agent_files;
pub(crate) use self::target_files::commit_target_files;
pub(crate) use self::unmerged::{
    describe_unmerged_lanes, unmerged_work_in_lane, warn_unmerged_lanes,
};

/// The same while it has nothing to do but to wait for what the plan says: often enough
/// for people, and so seldom that a wait of a week costs next to nothing.
const IDLE_TICK: SignedDuration = SignedDuration::from_millis(500);
/// How often it says that it lives, in the lease and in the native file.
const HEARTBEAT: SignedDuration = SignedDuration::from_secs(10);
/// How often the faces of the project are brought up to date while it works.
const PROJECT_FILES_PAUSE: SignedDuration = SignedDuration::from_secs(1);
/// How often they are looked at while nothing happens: others may write them.
const WATCH_PAUSE: SignedDuration = SignedDuration::from_secs(3);
/// How many events are read at once when others were busy.
const PAGE: usize = 1_000;

/// How an invocation left its run.
#[derive(Debug)]
pub struct InvocationEnd {
    /// The run, as it was left.
    pub row: RunRow,
    /// A signal ended the invocation.
    pub by_signal: bool,
}

/// Works on a run whose lock is held, or that is joined, until it is done, waits or is
/// stopped.
///
/// # Errors
///
/// When the run may not be started, the store fails, or the agent cannot be
/// started. Whatever happened before is recorded.
pub fn run_invocation(
    session: &Session<'_>,
    job: RunnerJob,
    tell: &mut dyn FnMut(Notice<'_>),
) -> Result<InvocationEnd, Failure> {
    process::adopt_orphans();
    let (sender, receiver) = mpsc::channel();
    let for_signals = sender.clone();
    let signals =
        SignalListener::listen(move |name| for_signals.send(RunnerMessage::Signal(name)).is_ok())?;
    let opened = open_runner(session, job, sender, receiver, tell);
    let result = opened.and_then(|mut runner| {
        let result = runner
            .end_survivors(tell)
            .and_then(|()| runner.drive_loop(tell));
        if let Err(failure) = &result {
            runner.abort_run(failure);
        }
        let by_signal = runner.stop_reason.is_some();
        result.map(|row| InvocationEnd { row, by_signal })
    });
    drop(signals);
    result
}

/// Takes the run, and what works on it.
fn open_runner<'s, 'w>(
    session: &'s Session<'w>,
    job: RunnerJob,
    sender: Sender<RunnerMessage>,
    receiver: Receiver<RunnerMessage>,
    tell: &mut dyn FnMut(Notice<'_>),
) -> Result<Runner<'s, 'w>, Failure> {
    let run = job.run;
    let rows = session.load(&[Need::Run(run)])?;
    let row = require_run(rows.tables.run(run))?;
    let is_whole = || job.worktree.as_ref().is_none_or(RunWorktree::is_complete);
    if job.aim == RunAim::Work && is_whole() {
        refuse_dirty_work_tree(session, &row)?;
    }
    let workers = lanes::count_workers(session, &job, &row, tell)?;
    let goal = match job.aim {
        RunAim::Work => pull_requests::work_goal(session, &job, &row, tell)?,
        RunAim::Settle | RunAim::Join => WorkGoal::Target,
    };
    let has_several = job.aim == RunAim::Work && row.plan.policy.has_several_repositories();
    let in_lanes = row.branches.lanes.is_some()
        || goal != WorkGoal::Target
        || workers > NonZeroU32::MIN
        || has_several;
    if job.aim == RunAim::Work {
        lanes::warn_unknown_tables(&job, &row, tell);
    }
    let role_texts = own_work::read_role_texts(session, &job, &row)?;
    let mut beside = None;
    let mut spool = dead_runner::open_run_spool(session, run)?;
    let taken = if job.aim == RunAim::Join {
        let (lock, name, events) = joining::join_run(session, &job)?;
        spool = spool.with_lock_name(Some(&name));
        beside = Some((lock, name));
        let known = row.plan.policy.repositories.as_ref();
        let pool = Pool::open_for_run(&session.project, &job.config, known, &job.trust)
            .map_err(failure_of_lane)?;
        let trees =
            crate::git::repositories::work_trees_of_run(session.world, &session.project, &row)?;
        (events, Some(RunLanes::new(pool, &trees)))
    } else {
        take_run(session, &job, &row, in_lanes.then_some(goal), tell)?
    };
    let (started, lanes) = taken;
    let was_cut_short = dead_runner::was_interrupted(&row);
    let token = lease_token(&started);
    let (tables, seen) = load_run_snapshot(session, run)?;
    let row = require_run(tables.run(run))?;
    let options = RunLoopOptions {
        agents: (job.agents.iter())
            .map(|agent| agent.recorded_name.clone())
            .collect(),
        model: job.model.clone(),
        wait: job.wait,
        once: job.once,
        workers: NonZeroUsize::try_from(workers).unwrap_or(NonZeroUsize::MIN),
        keeps_attempts: plan_format(&row.plan.face).is_some_and(|format| format.shows_attempts),
    };
    let lp = RunLoop::new(run, token, options, tables);
    let mut plan_sync = None;
    if beside.is_none() {
        plan_sync = open_plan_sync(session, &row, lp.tables(), tell);
        dead_runner::remove_temporary_files(session, &row, plan_sync.as_mut());
    }
    let templates =
        PromptTemplates::of_plan(&row.plan.face, row.plan.native.as_ref(), &row.plan.source);
    let mut clock = RunClock::new(session.world);
    if let Some(last) = started.last() {
        clock.advance_to(session.world, last.record.stamp.time);
    }
    let beat = clock.now(session.world);
    let format = plan_format(&row.plan.face);
    let sprint_id = format.map_or_else(|| row.name.clone(), |format| (format.words.title)(&row));
    let other_runs = OtherRuns::load(session, &row)?;
    let mut runner = Runner {
        session,
        job,
        row,
        lp,
        plan_sync,
        spool,
        was_cut_short,
        seen,
        known: seen,
        stop_reason: None,
        lanes,
        fault: None,
        prompts: PromptSource {
            templates,
            role_texts,
            sprint_id,
        },
        files: RunnerFiles {
            other_runs,
            nothing_elsewhere_at: None,
            project_files_at: beat,
            project_files_behind: true,
            waiting: AskedFileFingerprints::new(),
            look_failed: false,
            saw_pause_file: false,
        },
        threads: RunnerThreads {
            sender,
            receiver,
            asked_commands: StoppableThreads::default(),
            looks: StoppableThreads::default(),
        },
        time: RunnerTime {
            wake: None,
            clock,
            tick_at: beat,
            beat,
        },
        reported: ReportedOnce {
            waits: None,
            person: false,
            noes: BTreeMap::new(),
            failures: BTreeMap::new(),
            look_missed: false,
            budget_warned: false,
            hooks_replaced: false,
        },
        commits: CommitState {
            progress: UncommittedProgress::default(),
            has_committed: false,
            commit_missed: false,
            commits_hang: false,
        },
        work: WorkState {
            works: ActiveWorks::default(),
            sites: Sites::new(Site::of_project(session.project.clone())),
            starting: BTreeMap::new(),
            artifacts_before: BTreeMap::new(),
            agents_time: true,
            checked_in_lane: None,
            unreadable_outputs: BTreeMap::new(),
        },
        joining: JoiningLocks {
            beside,
            plan_lock: None,
        },
    };
    if runner.joining.beside.is_none() {
        runner.restore_held_lanes();
        runner.record_last_commit();
    }
    let own = StreamId::of_run(run);
    let ours = started.iter();
    for recorded in ours.filter(|recorded| recorded.record.stream == own) {
        tell(Notice::Event(recorded, runner.lp.tables()));
    }
    Ok(runner)
}

/// Takes the run, and makes its lanes ready to be taken: what was recorded, and
/// the lanes. `goal` is where the work goes from the lanes; none for a run without lanes.
fn take_run(
    session: &Session<'_>,
    job: &RunnerJob,
    row: &RunRow,
    goal: Option<WorkGoal>,
    tell: &mut dyn FnMut(Notice<'_>),
) -> Result<(Vec<DecodedRecord>, Option<RunLanes>), Failure> {
    let (run, in_lanes) = (job.run, goal.is_some());
    let limits = row.plan.policy.limits.with_overrides(&job.limits);
    let order = job.worktree.as_ref();
    let begins = match in_lanes && row.branches.target.is_none() && order.is_none() {
        true => Some(lanes::new_target(&session.project.work_tree, row, None)?),
        false => None,
    };
    if in_lanes {
        // What was left to a landing that has come is not that of this invocation.
        FileNotice::emit_all(&project_sync::sync_files(session), tell);
    }
    let target = begins.as_ref().or(row.branches.target.as_deref());
    let of_target = target.map(|target| Checkout {
        repository: None,
        branch: Some(target.branch.clone()),
        commit: Some(target.tip.clone()),
    });
    let on_target = of_target.or_else(|| order.map(RunWorktree::planned_checkout));
    let on_target = on_target.filter(|_| in_lanes);
    let facts = runner_facts(session);
    let lock = job.plan_lock.as_deref();
    let facts = CallerFacts {
        holder: lock.map_or(HolderLiveness::Excluded, RunLock::liveness_of_others),
        checkout: on_target.or(facts.checkout),
        ..facts
    };
    let owner = owner_name();
    let claims = job.claims.clone();
    let start = match job.aim {
        RunAim::Settle | RunAim::Join => Command::TakeRun { run, owner },
        RunAim::Work => Command::StartRun {
            run,
            owner,
            limits,
            claims,
            flags: Box::new(job.flags.clone()),
            settles: !row.plan.is_settled,
            notify: job.config.notify.should_notify_of_ends(),
        },
    };
    let started = session.commit(&start, &facts)?.events;
    failpoint::point("run.leased");
    let claimed = lock.map(|lock| {
        lock.complete_claim()?;
        // It was stopped while it waited for the store, and another runner took the run.
        match lock.as_file_in_place()?.is_replaced() {
            true => Err(Failure::new(
                "run.fenced",
                format!(
                    "another process took run {} while this one was stopped",
                    row.name
                ),
            )
            .with_hint("see where it stands with `piton status`, and go on with `piton run`")),
            false => Ok(()),
        }
    });
    if let Some(Err(failure)) = claimed {
        interrupt_run(session, run, lease_token(&started), &failure);
        return Err(failure);
    }
    if let Some(order) = &job.worktree {
        let token = lease_token(&started);
        if let Err(failure) = run_worktrees::create_if_needed(order, session, run, token, tell) {
            interrupt_run(session, run, token, &failure);
            return Err(failure);
        }
    }
    let mut lanes = None;
    if let Some(goal) = goal {
        let token = lease_token(&started);
        match lanes::enter_lanes(session, job, token, begins, goal) {
            Ok(entered) => lanes = Some(entered),
            Err(failure) => {
                interrupt_run(session, run, token, &failure);
                return Err(failure);
            }
        }
    }
    Ok((started, lanes))
}

/// The token with which a run was taken.
fn lease_token(events: &[DecodedRecord]) -> u64 {
    let mut token = 0;
    for recorded in events {
        if let Event::Run(RunEvent::LeaseTaken { token: taken, .. }) = &recorded.event {
            token = *taken;
        }
    }
    token
}

/// Gives a run back on which no work is possible.
fn interrupt_run(session: &Session<'_>, run: RunId, token: u64, failure: &Failure) {
    let reason = failure.message.clone();
    let facts = facts_of_run(session, run);
    // Best effort: a lease that stays is taken by the next runner all the same.
    session
        .commit(&Command::InterruptRun { run, token, reason }, &facts)
        .ok();
    release_run(session, run, token);
}

fn release_run(session: &Session<'_>, run: RunId, token: u64) {
    let facts = facts_of_run(session, run);
    session
        .commit(&Command::ReleaseRun { run, token }, &facts)
        .ok();
}

/// A dirty work tree would be committed as if an agent had made it so.
fn refuse_dirty_work_tree(session: &Session<'_>, row: &RunRow) -> Result<(), Failure> {
    if !row.plan.policy.auto_commit || has_begun_task(session, row)? {
        return Ok(());
    }
    git::refuse_without_identity(&session.project.work_tree, false)?;
    refuse_foreign_changes(&session.project, &row.plan.face, &row.plan.source)
}

/// Whether a task was begun: what has changed since belongs to it.
fn has_begun_task(session: &Session<'_>, row: &RunRow) -> Result<bool, Failure> {
    let rows = session.load(&[Need::Tree(row.id)])?;
    let begun = |item: &ItemRow| {
        let task = item.is_task() && item.state == ItemState::Working;
        task || (item.attempts > 0 && !item.state.is_finished())
    };
    Ok(rows.tables.tree(row.id).any(begun))
}

impl Runner<'_, '_> {
    /// What the run has, as git says: the branch and the commit that its work goes
    /// onto.
    fn target_checkout(&self) -> Option<Checkout> {
        if let Some(target) = self.run_target().filter(|_| self.lanes.is_some()) {
            return Some(Checkout {
                repository: None,
                branch: Some(target.branch),
                commit: Some(target.tip),
            });
        }
        git::read_checkout(self.work.sites.of_run.tree_path())
    }

    /// What the commands of this runner bring with them.
    fn current_facts(&self) -> CallerFacts {
        facts_with_checkout(self.session, self.target_checkout())
    }

    /// The same; what a merge brought to the target was done on the commit that this
    /// is at then.
    fn facts_of_command(&self, command: &Command) -> CallerFacts {
        let mut facts = self.current_facts();
        if let Command::StepMerge { node, .. }
        | Command::StartAttempt { node, .. }
        | Command::EndAttempt { node, .. } = command
            && let Some(repository) = self.repository_of_item(node)
        {
            facts.checkout = self.target_of_item(node).map(|target| Checkout {
                repository: Some(repository),
                branch: Some(target.branch),
                commit: Some(target.tip),
            });
        }
        if let Command::StepMerge { node, step, .. } = command
            && let Some(commit) = self.target_commit_after(node, step)
            && let Some(here) = &mut facts.checkout
        {
            here.commit = Some(commit);
        }
        facts
    }

    /// What a dead runner of this run left running is ended before anything else.
    fn end_survivors(&self, tell: &mut dyn FnMut(Notice<'_>)) -> Result<(), Failure> {
        if self.joining.beside.is_some() {
            return Ok(());
        }
        let grace = self.job.first_agent().limits.grace;
        let living = run_lock::locks_of_living_runners(&self.session.project, &self.row);
        let orphaned = OrphanedRun {
            tables: self.lp.tables(),
            run: self.row.id,
            was_cut_short: self.was_cut_short,
        };
        dead_runner::end_survivors(&self.spool, &orphaned, &living, grace, tell)
    }

    /// The runner cannot go on: nothing that it started is left alone, and the
    /// run is given back if the store still takes anything.
    ///
    /// The intent of an agent that worked stays open; the next runner settles it.
    fn abort_run(&mut self, failure: &Failure) {
        for (_, work) in self.work.works.iter() {
            work.stop(false);
        }
        while !self.work.works.is_empty() {
            match self.threads.receiver.recv() {
                Ok(RunnerMessage::Exited(number, _) | RunnerMessage::Called(number, _)) => {
                    self.work.works.remove(number);
                }
                Ok(
                    RunnerMessage::Grew(..)
                    | RunnerMessage::Signal(_)
                    | RunnerMessage::Answered(..)
                    | RunnerMessage::Seen(..),
                ) => {}
                Err(_) => break,
            }
        }
        let (run, token) = (self.row.id, self.lp.token());
        if let Some((_, name)) = &self.joining.beside {
            run_lock::remove_joint_lock(&self.session.project, &self.row, name);
        }
        match self.lp.has_other_runners() {
            // Those that are there go on.
            true => release_run(self.session, run, token),
            false => interrupt_run(self.session, run, token, failure),
        }
    }

    fn drive_loop(&mut self, tell: &mut dyn FnMut(Notice<'_>)) -> Result<RunRow, Failure> {
        self.import_plan_edits(tell)?;
        self.write_files(true, tell);
        let mut effects = VecDeque::from([Effect::Look]);
        loop {
            let inputs = match effects.pop_front() {
                Some(Effect::Finish(ending)) => {
                    tracing::info!(?ending, "the invocation is over");
                    return self.finish_invocation(ending, tell);
                }
                Some(effect) => self.perform_effect(effect, tell)?,
                None => self.wait_for_message(tell)?,
            };
            self.apply_inputs(inputs, &mut effects, tell);
            // A signal that came meanwhile is not kept waiting by a chain of effects.
            while let Ok(message) = self.threads.receiver.try_recv() {
                let inputs = self.handle_message(message, tell)?;
                self.apply_inputs(inputs, &mut effects, tell);
            }
        }
    }

    /// The time of this invocation.
    fn now(&self) -> Timestamp {
        self.time.clock.now(self.session.world)
    }

    /// Lets the loop take inputs in, and tells of the events among them with
    /// the rows as the loop has them then.
    fn apply_inputs(
        &mut self,
        inputs: Vec<Input>,
        effects: &mut VecDeque<Effect>,
        tell: &mut dyn FnMut(Notice<'_>),
    ) {
        for input in inputs {
            let events = if let Input::Looked { events, .. }
            | Input::Committed(events)
            | Input::Changed(events) = &input
            {
                events.clone()
            } else {
                Vec::new()
            };
            if let Some(last) = events.last() {
                self.time
                    .clock
                    .advance_to(self.session.world, last.record.stamp.time);
            }
            effects.extend(self.lp.step(self.now(), input));
            if let Some(last) = events.last() {
                self.known = last.record.stamp.position;
            }
            self.release_left_lanes(&events);
            self.emit_events(&events, tell);
        }
    }

    fn perform_effect(
        &mut self,
        effect: Effect,
        tell: &mut dyn FnMut(Notice<'_>),
    ) -> Result<Vec<Input>, Failure> {
        match effect {
            Effect::Look => {
                if self.job.aim == RunAim::Work {
                    worktree::refuse_missing_worktree(&self.session.project, &self.row)?;
                }
                self.import_plan_edits(tell)?;
                if self.lp.is_holder() {
                    self.ask_for_merge()?;
                }
                let events = self.read_new_events()?;
                let pause_file = self.has_pause_file();
                self.files.saw_pause_file = pause_file;
                let looked = Input::Looked {
                    events,
                    pause_file,
                    attempt: AttemptId(self.session.world.new_id()),
                };
                let budgets = self.check_budgets(tell)?;
                Ok(budgets.into_iter().chain([looked]).collect())
            }
            Effect::Commit(command) => {
                let command = self.complete_start_command(command, tell)?;
                self.commit_command(&command)
            }
            Effect::StartAgent {
                attempt,
                node,
                role,
                until,
            } => self.start_agent(attempt, &node, role, until, tell),
            Effect::SettleAgent { attempt, node } => {
                Ok(vec![self.settle_dead_agent(attempt, node, tell)?])
            }
            Effect::AskBaseline { attempt, node } => Ok(vec![Input::Baseline {
                answer: self.answer_baseline(&node, tell),
                attempt,
                node,
            }]),
            Effect::RunGate { node, number } => self.start_gate(&node, number, tell),
            Effect::CommitIntent { node } => {
                if let Err(lost) = self.refuse_lost_lane(&node) {
                    return self.record_lost_work(&node, &lost, tell);
                }
                let head = git::head_commit(self.work.sites.site_of_item(&node).tree_path())?;
                let command = Command::StartCommit {
                    run: self.row.id,
                    token: self.lp.token(),
                    node,
                    head,
                };
                self.commit_command(&command)
            }
            Effect::MakeCommit { node, settle } => {
                // A hook may take its time.
                self.write_files_if_due(tell);
                Ok(self.start_commit(&node, settle, tell))
            }
            Effect::StopWork { node, kill } => {
                let why = self.stop_cause(&node);
                tracing::info!(%node, ?why, kill, "what works is stopped");
                if let Some(work) = self.work.works.work_on_item_mut(&node) {
                    work.asked.get_or_insert(why);
                    work.stop(kill);
                }
                Ok(Vec::new())
            }
            Effect::AskWait { node, wait } => self.start_wait_command(node, &wait),
            Effect::EndAsking { node } => {
                self.stop_wait_command(&node);
                Ok(Vec::new())
            }
            Effect::WakeAt(time) => {
                self.time.wake = Some(time);
                Ok(Vec::new())
            }
            Effect::WaitUntil(until) => {
                tracing::info!(%until, "waits");
                self.work.sites.clear_snapshots();
                self.time.wake = Some(until);
                self.update_agents_time();
                self.write_files(true, tell);
                self.commit_progress(tell);
                self.report_waits_once(until, tell);
                Ok(Vec::new())
            }
            Effect::WaitForPerson => {
                tracing::info!("waits for a person");
                self.work.sites.clear_snapshots();
                self.update_agents_time();
                self.write_files(true, tell);
                self.commit_progress(tell);
                // Each look at a pull request leads here again.
                if !std::mem::replace(&mut self.reported.person, true) {
                    tell(Notice::Waiting(None));
                }
                Ok(Vec::new())
            }
            Effect::Finish(_) => Ok(Vec::new()),
            Effect::LaneIntent { node } => self.choose_lane(&node, tell),
            Effect::PrepareLane { node } => Ok(self.prepare_lane(&node)),
            Effect::SaveWork { node } => Ok(self.save_work(&node, tell)),
            Effect::MakeMerge { node } => self.make_merge(&node),
            Effect::CheckMerge { node } => self.check_merge(&node),
            Effect::MoveTarget { node } => Ok(self.move_target(&node)),
            Effect::OpenPullRequest { node } => Ok(self.open_pull_request(&node)),
            Effect::TakePullRequest { node, number } => Ok(self.adopt_pull_request(&node, number)),
            Effect::FollowPullRequest { node } => Ok(self.fetch_merged_pull_request(&node)),
            Effect::LookAtPullRequest { node, number } => Ok(self.poll_pull_request(node, number)),
        }
    }

    /// Why what works on an item is ended: a signal, a request to stop, or the time.
    fn stop_cause(&self, node: &Node) -> WorkStopCause {
        let asked = self.lp.run().and_then(|row| row.invocation.asked.as_ref());
        let asked = asked.filter(|asked| asked.request == RunnerRequest::Stop);
        let stuck = self
            .work
            .works
            .work_on_item(node)
            .and_then(ActiveWork::stuck_cause);
        match (&self.stop_reason, asked, stuck) {
            (Some(signal), ..) => WorkStopCause::Wanted(signal.clone()),
            (None, Some(asked), _) => WorkStopCause::Wanted(format!("stopped by {}", asked.by)),
            (None, None, Some(stuck)) => stuck,
            (None, None, None) if self.fault.is_some() => {
                WorkStopCause::Wanted("the run cannot go on".to_owned())
            }
            (None, None, None) if self.is_skip_asked(node) => {
                WorkStopCause::Wanted("its item is left out".to_owned())
            }
            (None, None, None) => {
                WorkStopCause::Wanted(self.lp.exhausted_budget_of(node).map_or_else(
                    || "the time box is over".to_owned(),
                    |limit| format!("stopped at a limit: {limit}"),
                ))
            }
        }
    }

    /// Whether a person wants the item left out.
    fn is_skip_asked(&self, node: &Node) -> bool {
        let item = self.lp.tables().item(self.row.id, node);
        item.is_some_and(|item| item.people.skip_asked)
    }

    fn plan_folder(&self) -> PathBuf {
        self.session
            .project
            .absolute_path(PlanFile::folder_of_run(&self.row))
    }

    /// Whether the plan is a folder, in which more lies than its file.
    fn has_plan_folder(&self) -> bool {
        plan_format(&self.row.plan.face).is_some_and(PlanFormat::is_folder)
    }

    fn commit_command(&mut self, command: &Command) -> Result<Vec<Input>, Failure> {
        // Others may have written in between: their events come first.
        let committed = match self
            .session
            .commit(command, &self.facts_of_command(command))
        {
            Ok(committed) => committed,
            Err(CommitError::Refused(refusal)) => return Ok(vec![Input::Refused(refusal)]),
            Err(other) => return Err(other.into()),
        };
        failpoint::point("run.committed");
        self.ask_about_failing_memories(&committed.events);
        // What is logged among the sessions has positions of its own.
        let own = StreamId::of_run(self.row.id);
        let mut ours = committed.events;
        ours.retain(|recorded| recorded.record.stream == own);
        let mut events = Vec::new();
        if let Some(first) = ours.first() {
            let before = first.record.stamp.position.saturating_sub(1);
            events = self.read_events_up_to(before)?;
        }
        events.extend(ours);
        if let Some(last) = events.last() {
            self.seen = last.record.stamp.position;
        }
        self.record_commits(&events);
        let ended: Vec<AttemptId> = events.iter().filter_map(ended_attempt_id).collect();
        // The outcome is durable: what the agent said raw is not needed any more.
        for attempt in ended {
            self.spool.remove_attempt(&attempt.to_string()).ok();
            failpoint::point("run.spool-removed");
        }
        Ok(vec![Input::Committed(events)])
    }

    /// Asks a person about what attempts keep failing with. What is not asked now
    /// is asked when the next one fails with it.
    fn ask_about_failing_memories(&self, events: &[DecodedRecord]) {
        let mut ids: Vec<String> = Vec::new();
        for recorded in events {
            if let Event::Memory(MemoryEvent::Judged {
                ids: judged,
                helped: false,
            }) = &recorded.event
            {
                ids.extend(judged.iter().cloned());
            }
        }
        if !ids.is_empty() {
            let command = Command::DoubtMemories(ids);
            self.session.commit(&command, &self.current_facts()).ok();
        }
    }

    /// Tells of events, with the rows as each one leaves them.
    fn emit_events(&mut self, events: &[DecodedRecord], tell: &mut dyn FnMut(Notice<'_>)) {
        if events.is_empty() {
            return;
        }
        if let Some(plan_sync) = &mut self.plan_sync {
            plan_sync.mark_behind();
        }
        self.files.project_files_behind = true;
        self.reported.person = false;
        for recorded in events {
            tell(Notice::Event(recorded, self.lp.tables()));
        }
    }

    fn read_events_up_to(&self, position: u64) -> Result<Vec<DecodedRecord>, Failure> {
        let stream = StreamId::of_run(self.row.id);
        let mut events = Vec::new();
        let mut seen = self.seen;
        while seen < position {
            let limit = usize::try_from(position - seen).unwrap_or(PAGE).min(PAGE);
            let page = self.session.store.read_stream(&stream, seen, limit)?;
            let Some(last) = page.last() else { break };
            seen = last.stamp.position;
            // What a tombstone said is in no row either.
            for record in page.into_iter().filter(|record| !record.is_tombstone()) {
                let event = record.decode_event().map_err(|error| {
                    Failure::new("store.newer", error.to_string())
                        .with_hint("use the newer piton that wrote it")
                })?;
                events.push(DecodedRecord { record, event });
            }
        }
        Ok(events)
    }

    /// The events of others since the last look.
    fn read_new_events(&mut self) -> Result<Vec<DecodedRecord>, Failure> {
        let position = self
            .session
            .store
            .event_count(&StreamId::of_run(self.row.id))?;
        let events = self.read_events_up_to(position)?;
        self.seen = self.seen.max(position);
        Ok(events)
    }

    /// Waits for whatever comes next.
    fn wait_for_message(
        &mut self,
        tell: &mut dyn FnMut(Notice<'_>),
    ) -> Result<Vec<Input>, Failure> {
        // However much an agent prints, the runner looks up from it in time.
        let now = self.now();
        let left = Duration::try_from(self.time.tick_at.duration_since(now)).unwrap_or_default();
        if left.is_zero() {
            let is_idle = self.work.works.is_empty() && self.lp.has_waits();
            let pause = if is_idle { IDLE_TICK } else { TICK };
            let next = now.checked_add(pause).unwrap_or(now);
            let wake = self.time.wake.filter(|wake| *wake > now);
            self.time.tick_at = wake.map_or(next, |wake| wake.min(next));
            return self.tick(tell);
        }
        match self.threads.receiver.recv_timeout(left) {
            Ok(message) => self.handle_message(message, tell),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => Ok(Vec::new()),
        }
    }

    fn tick(&mut self, tell: &mut dyn FnMut(Notice<'_>)) -> Result<Vec<Input>, Failure> {
        // A clock that was set forward, or a machine that slept, ends a wait for a time.
        let world = self.session.world;
        self.time.clock.catch_up(world, world.now(), self.time.wake);
        let now = self.now();
        let mut inputs = Vec::new();
        for number in self.work.works.numbers() {
            inputs.extend(self.read_agent_output(number, tell));
            inputs.extend(self.detect_standstill(number, tell));
        }
        self.import_plan_edits(tell)?;
        if self.work.works.is_empty() && self.lp.is_holder() {
            self.ask_for_merge()?;
        }
        let since = now.duration_since(self.time.beat);
        // A runner that was suspended itself, with its machine or by hand, waits for the
        // heartbeat of the others before it gives one up.
        let is_beat = since >= HEARTBEAT && since < HEARTBEAT * 2;
        if since >= HEARTBEAT && self.lanes.is_some() {
            self.heartbeat(tell);
        }
        self.check_other_runners(is_beat, tell)?;
        let events = self.read_new_events()?;
        let is_behind = !events.is_empty();
        if is_behind {
            self.time.wake = None;
            inputs.push(Input::Changed(events));
        }
        if since >= HEARTBEAT {
            self.time.beat = now;
            if self.lanes.is_none() {
                self.heartbeat(tell);
            }
            inputs.extend(self.check_budgets(tell)?);
            self.write_files(true, tell);
        } else if !is_behind {
            // What has just happened is shown when the loop knows it.
            self.write_files_if_due(tell);
        }
        tell(Notice::Progress(&self.progress(now)));
        for (_, work) in self.work.works.iter() {
            if work.deadline.is_some_and(|deadline| now >= deadline) && work.asked.is_none() {
                let node = work.node.clone();
                inputs.push(Input::TimeBoxOver { node });
            }
        }
        // A wait ends at its time, or when a person asks for a pause meanwhile.
        let waits = self.time.wake.is_some() || self.lp.has_waits();
        if waits && self.has_pause_file() != self.files.saw_pause_file {
            self.files.saw_pause_file = !self.files.saw_pause_file;
            inputs.push(Input::PauseFile);
        }
        if self.time.wake.is_some_and(|wake| now >= wake) {
            self.time.wake = None;
            inputs.push(Input::Time);
        }
        Ok(inputs)
    }

    /// How the run stands now.
    fn progress(&self, now: Timestamp) -> RunProgress<'_> {
        let tables = self.lp.tables();
        let works = self.work.works.iter().map(|(_, work)| WorkProgress {
            node: &work.node,
            since: work.since,
            is_merge: work.is_merge(tables.item(self.row.id, &work.node)),
            activity: work.activity(),
            printed: work.printed,
        });
        let plan_sync = self.plan_sync.as_ref();
        RunProgress {
            run: self.row.id,
            tables,
            now,
            works: works.collect(),
            used: self.lp.used_so_far(),
            budget_percent: self.lp.budget_percent(),
            asked: plan_sync.and_then(|plan_sync| plan_sync.asked_file_path(tables)),
            stopping: self.stop_reason.as_deref(),
        }
    }

    /// Files disturb no agent where none works in the work tree of the run.
    fn update_agents_time(&mut self) {
        self.work.agents_time = self.work.works.has_agent_in(&self.work.sites.of_run);
    }

    /// Says that the runner lives. A lease is no fact: one that cannot be
    /// lengthened is no reason to end an agent that works; a runner that has
    /// lost its run is told so when it commits.
    fn heartbeat(&self, tell: &mut dyn FnMut(Notice<'_>)) {
        let store = &self.session.store;
        if let Err(fault) = store.heartbeat(self.row.id, self.lp.token(), LEASE_TTL_S) {
            tell(Notice::Warning(&format!(
                "the lease was not lengthened: {fault}"
            )));
        }
    }

    fn has_pause_file(&self) -> bool {
        self.plan_folder().join("PAUSE").is_file()
    }

    fn handle_message(
        &mut self,
        message: RunnerMessage,
        tell: &mut dyn FnMut(Notice<'_>),
    ) -> Result<Vec<Input>, Failure> {
        match message {
            RunnerMessage::Grew(number, bytes) => {
                if let Some(work) = self.work.works.get_mut(number) {
                    work.printed = bytes;
                }
                Ok(self.read_agent_output(number, tell))
            }
            RunnerMessage::Signal(name) => {
                self.stop_reason.get_or_insert_with(|| name.to_owned());
                Ok(vec![Input::Stop {
                    reason: name.to_owned(),
                }])
            }
            RunnerMessage::Exited(number, exit) => {
                tracing::info!(?exit, "ended");
                let Some(work) = self.work.works.remove(number) else {
                    return Ok(Vec::new());
                };
                // What stands in the file now may be the agent's: the loop knows of
                // it before the attempt has an outcome.
                let mut inputs = match &work.for_ {
                    WorkPurpose::Agent { attempt, .. } => {
                        work.site.last_attempt.set(Some(*attempt));
                        self.update_agents_time();
                        failpoint::point("run.agent-ended");
                        self.import_other_plans(tell)?;
                        self.import_project_files(tell);
                        self.import_edits_after_work(&work, tell)?
                    }
                    WorkPurpose::Gate(_) => self.import_edits_after_work(&work, tell)?,
                    WorkPurpose::MergeCheck(check) => {
                        return self.handle_checked_merge(&work, check, &exit);
                    }
                    // Their end comes as such.
                    WorkPurpose::Calls => return Ok(Vec::new()),
                };
                inputs.push(match work.for_ {
                    WorkPurpose::Agent {
                        attempt,
                        before,
                        feed,
                    } => {
                        let over = EndedAgent {
                            attempt,
                            claimed: claimed_nodes(&inputs),
                            node: work.node,
                            site: work.site,
                            exit: &exit,
                            asked: work.asked,
                            before,
                            feed,
                        };
                        self.handle_agent_end(over, tell)?
                    }
                    WorkPurpose::Gate(gate) => {
                        let ended = EndedGate {
                            gate: &gate,
                            exit: &exit,
                            asked: work.asked.is_some(),
                            took: self.now().duration_since(work.since),
                        };
                        self.handle_gate_end(work.node, &ended, tell)?
                    }
                    WorkPurpose::MergeCheck(_) | WorkPurpose::Calls => return Ok(Vec::new()),
                });
                let stop = self.fault.as_ref().map(|fault| Input::Stop {
                    reason: fault.message.clone(),
                });
                inputs.extend(stop);
                Ok(inputs)
            }
            RunnerMessage::Answered(node, answer) => {
                Ok(self.handle_wait_answer(node, answer, tell))
            }
            RunnerMessage::Seen(node, number, look) => {
                Ok(self.handle_polled_pull_request(node, number, look, tell))
            }
            RunnerMessage::Called(number, end) => match self.work.works.remove(number) {
                Some(work) => self.handle_call_end(work, end, tell),
                None => Ok(Vec::new()),
            },
        }
    }

    /// Calls of git are over.
    fn handle_call_end(
        &mut self,
        work: ActiveWork,
        end: GitCallEnd,
        tell: &mut dyn FnMut(Notice<'_>),
    ) -> Result<Vec<Input>, Failure> {
        // What was asked to stop has failed for that.
        let is_stopped = work.asked.is_some();
        let result = match end {
            GitCallEnd::Commit(result) => result,
            GitCallEnd::Prepared(Err(_)) | GitCallEnd::Saved(Err(_)) if is_stopped => {
                let (node, end) = (work.node, LaneEnd::Stopped);
                return Ok(vec![Input::LaneEnded { node, end }]);
            }
            GitCallEnd::Merged(Err(_))
            | GitCallEnd::Checkable(Err(_))
            | GitCallEnd::Moved(Err(_))
                if is_stopped =>
            {
                let (node, end) = (work.node, MergeEnd::Stopped);
                return Ok(vec![Input::MergeEnded { node, end }]);
            }
            GitCallEnd::Checkable(prepared) => {
                return self.handle_checkable_merge(work.node, prepared);
            }
            GitCallEnd::Prepared(prepared) => {
                return Ok(vec![self.handle_prepared_lane(work.node, prepared, tell)]);
            }
            GitCallEnd::Saved(saved) => return Ok(vec![self.handle_saved_work(work.node, saved)]),
            GitCallEnd::Merged(tried) => {
                return Ok(vec![self.handle_made_merge(work.node, tried, tell)]);
            }
            GitCallEnd::Moved(step) => return Ok(vec![self.handle_moved_target(work.node, step)]),
            GitCallEnd::Requested(end) => {
                let node = work.node;
                return Ok(vec![
                    self.handle_opened_pull_request(node, is_stopped, end, tell),
                ]);
            }
            GitCallEnd::Followed(made) => {
                let node = work.node;
                return Ok(vec![
                    self.handle_fetched_pull_request(node, is_stopped, made, tell),
                ]);
            }
            GitCallEnd::Panicked => {
                let what = format!("what piton does in git for {} broke down", work.node);
                return Err(Failure::new("store.fault", what).with_hint("run again to go on"));
            }
        };
        let mut inputs = self.import_edits_after_work(&work, tell)?;
        if let Ok(Ok(None)) = result
            && self.has_uncommitted_changes(&work.node)
            && let Err(lost) = self.refuse_remade_worktree()
        {
            inputs.push(self.report_lost_work(&work.node, &lost, tell));
            return Ok(inputs);
        }
        inputs.push(match result {
            Ok(Err(_)) | Err(_) if work.asked.is_some() => Input::CommitStopped { node: work.node },
            result => Input::CommitEnded {
                node: work.node,
                result: result?,
            },
        });
        Ok(inputs)
    }

    /// Takes in what stands in the file when an agent, or what it may have
    /// written, has ended.
    fn import_edits_after_work(
        &mut self,
        ended: &ActiveWork,
        tell: &mut dyn FnMut(Notice<'_>),
    ) -> Result<Vec<Input>, Failure> {
        let is_last = self.work.works.is_empty();
        if let Some(plan_sync) = &mut self.plan_sync {
            plan_sync.waits_for_git = !is_last;
        }
        let looked = self.import_plan_edits_beside(ended.writer, tell);
        if let Some(plan_sync) = &mut self.plan_sync {
            plan_sync.waits_for_git = true;
        }
        looked?;
        let attempt = match &ended.for_ {
            WorkPurpose::Agent { attempt, .. } => Some(*attempt),
            WorkPurpose::Gate(_) | WorkPurpose::Calls | WorkPurpose::MergeCheck(_) => ended.writer,
        };
        if let Some(attempt) = attempt {
            self.import_plan_from_lane(&ended.node, attempt, tell)?;
        }
        let events = self.read_new_events()?;
        let is_known = events.is_empty();
        Ok((!is_known)
            .then_some(Input::Changed(events))
            .into_iter()
            .collect())
    }

    /// Takes in what stands in the files of the project, as long as the attempt
    /// that may have written it has no outcome.
    fn import_project_files(&mut self, tell: &mut dyn FnMut(Notice<'_>)) {
        if !self.lp.is_holder() {
            return;
        }
        let news = project_sync::sync_files_after_attempt(self.session, &mut self.files.waiting);
        FileNotice::emit_all(&news, tell);
    }

    /// Takes in what stands in the plans of other runs, as long as the attempt
    /// that may have written it has no outcome.
    fn import_other_plans(&mut self, tell: &mut dyn FnMut(Notice<'_>)) -> Result<(), Failure> {
        for row in self.session.runs()? {
            let is_other = row.id != self.row.id && row.id != RunId::PROJECT;
            if !is_other
                || row.state == RunState::Done
                || !self.session.is_shown_in_plan_file(&row)?
            {
                continue;
            }
            let (tables, _) = load_run_snapshot(self.session, row.id)?;
            let Ok(Some(mut plan_sync)) = PlanSync::open(self.session, &row, &tables) else {
                continue;
            };
            match plan_sync.import_changes(self.session, &tables, None) {
                Ok(looked) => FileNotice::emit_all(&looked.news, tell),
                // The command that goes on with that run reports it.
                Err(failure) if failure.code.starts_with("file.") => {}
                Err(failure) => return Err(failure),
            }
        }
        Ok(())
    }

    /// Commits, beside the runner: a hook may take its time.
    fn start_commit(
        &mut self,
        node: &Node,
        settle: bool,
        tell: &mut dyn FnMut(Notice<'_>),
    ) -> Vec<Input> {
        let ended = |result| {
            let node = node.clone();
            vec![Input::CommitEnded { node, result }]
        };
        let Some(item) = self.lp.tables().item(self.row.id, node) else {
            return ended(Ok(None));
        };
        // A worktree that was made again lacks what is to be committed.
        let kept = match settle {
            true => self.refuse_remade_worktree(),
            false => Ok(()),
        };
        let kept =
            kept.and_then(|()| worktree::refuse_missing_worktree(&self.session.project, &self.row));
        if let Err(lost) = kept.and_then(|()| self.refuse_lost_lane(node)) {
            return vec![self.report_lost_work(node, &lost, tell)];
        }
        let site = self.work.sites.site_of_item(node);
        let (work_tree, left_out) = (site.tree_path().to_owned(), site.left_out.clone());
        let keeping = self.commit_ref_order(node);
        let message = format!("{}: {}", self.prompts.sprint_id, item.plan.id);
        let before = item.work.committing.as_ref();
        let before = before.and_then(|intent| intent.head.clone());
        let own = match site.is_of_other {
            true => Vec::new(),
            false => own_file_prefixes(
                &self.session.project,
                &self.row.plan.face,
                &self.row.plan.source,
            ),
        };
        self.start_git_calls(node, commit_mark(self.row.id, node), move |by| {
            let made = match settle {
                true => git::find_commit_by_message(&work_tree, &message, before.as_deref()),
                false => Ok(None),
            };
            let made = match made {
                Ok(Some(commit)) => Ok(Ok(Some(commit))),
                Ok(None) => {
                    failpoint::point("run.before-commit");
                    let excluded = git::ExcludedFiles {
                        own: &own,
                        files: &left_out,
                    };
                    let made = git::commit_without(&work_tree, &message, excluded, by);
                    failpoint::point("run.after-commit");
                    made
                }
                Err(failure) => Err(failure),
            };
            GitCallEnd::Commit(match keeping {
                Some(keeping) => keeping.store_commit(&work_tree, made, by),
                None => made,
            })
        });
        Vec::new()
    }

    /// Refuses the worktree in which a run is worked on that was gone when this
    /// invocation began: it lacks what was not committed.
    fn refuse_remade_worktree(&self) -> Result<(), Failure> {
        let order = self.job.worktree.as_ref().filter(|_| self.lanes.is_none());
        order.map_or(Ok(()), |order| order.refuse_lost_worktree(&self.row.name))
    }

    /// Whether attempts at an item changed something, and committed none of it.
    fn has_uncommitted_changes(&self, node: &Node) -> bool {
        let item = self.lp.tables().item(self.row.id, node);
        item.is_some_and(|item| {
            let left = item
                .work
                .change
                .as_deref()
                .map(TreeChange::remaining_extent);
            matches!(left, Some(ChangeExtent::Something { .. })) && item.work.commits.is_empty()
        })
    }

    /// What was done at an item is gone with the place where it was done.
    fn report_lost_work(
        &self,
        node: &Node,
        lost: &Failure,
        tell: &mut dyn FnMut(Notice<'_>),
    ) -> Input {
        tell(Notice::Warning(&lanes::describe_lost_work(node, lost)));
        Input::WorkLost {
            node: node.clone(),
            why: lost.to_string(),
        }
    }

    /// Writes the native file if its time has come: before the runner waits
    /// for something, not between two commands that follow each other at once.
    fn write_files_if_due(&mut self, tell: &mut dyn FnMut(Notice<'_>)) {
        self.write_files(false, tell);
    }

    /// Imports what a person or an agent wrote into the native file. What follows from
    /// it comes with the news.
    fn import_plan_edits(&mut self, tell: &mut dyn FnMut(Notice<'_>)) -> Result<(), Failure> {
        self.import_plan_edits_beside(None, tell)
    }

    /// The same, while what this attempt wrote may have been at work as well.
    fn import_plan_edits_beside(
        &mut self,
        writer: Option<AttemptId>,
        tell: &mut dyn FnMut(Notice<'_>),
    ) -> Result<(), Failure> {
        let Some(plan_sync) = &mut self.plan_sync else {
            return Ok(());
        };
        plan_sync.at_work = writer.max(self.work.works.last_writer());
        let token = Some(self.lp.token());
        let looked = match plan_sync.import_changes(self.session, self.lp.tables(), token) {
            Ok(looked) => {
                self.files.look_failed = false;
                looked
            }
            // A file that cannot be read is no reason to end the work.
            Err(failure) if failure.code.starts_with("file.") => {
                if !std::mem::replace(&mut self.files.look_failed, true) {
                    tell(Notice::Warning(&failure.message));
                }
                return Ok(());
            }
            Err(failure) => return Err(failure),
        };
        FileNotice::emit_all(&looked.news, tell);
        Ok(())
    }

    /// Brings the faces of the project up to date, not more often than is worth it.
    fn sync_project_files(&mut self, now_or_never: bool, tell: &mut dyn FnMut(Notice<'_>)) {
        if !self.lp.is_holder() {
            return;
        }
        let now = self.now();
        let since = now.duration_since(self.files.project_files_at);
        let pause = if self.files.project_files_behind {
            PROJECT_FILES_PAUSE
        } else {
            WATCH_PAUSE
        };
        if !now_or_never && since < pause {
            return;
        }
        self.files.project_files_at = now;
        self.files.project_files_behind = false;
        let follow = match (self.work.agents_time, now_or_never) {
            (true, _) => project_sync::sync_files_during_attempt,
            (false, true) => project_sync::sync_files_at_rest,
            (false, false) => project_sync::sync_files_cached,
        };
        FileNotice::emit_all(&follow(self.session, &mut self.files.waiting), tell);
    }

    fn write_files(&mut self, now_or_never: bool, tell: &mut dyn FnMut(Notice<'_>)) {
        self.sync_project_files(now_or_never, tell);
        let Some(plan_sync) = &mut self.plan_sync else {
            return;
        };
        plan_sync.gives_way = self.work.agents_time;
        let (world, now) = (self.session.world, self.time.clock.now(self.session.world));
        let trouble = if now_or_never {
            plan_sync.write_now(self.lp.tables(), self.known, now)
        } else {
            plan_sync.write_if_due(self.lp.tables(), self.known, now)
        };
        plan_sync.record_write_end(now, self.time.clock.now(world));
        if let Some(trouble) = trouble {
            tell(Notice::Warning(&trouble.to_string()));
        }
    }

    fn finish_invocation(
        &mut self,
        ending: RunLoopEnding,
        tell: &mut dyn FnMut(Notice<'_>),
    ) -> Result<RunRow, Failure> {
        let run = self.row.id;
        // Looks hold temporary folders, and a run that is given back has none.
        self.work.starting.clear();
        self.threads.asked_commands = StoppableThreads::default();
        self.threads.looks = StoppableThreads::default();
        self.work.sites.close();
        // The runner that holds the run now keeps its file up to date as well.
        if ending != RunLoopEnding::Fenced {
            // Before the lease is given back: one that stays says that
            // something of this may be missing.
            self.sync_files_at_end(tell)?;
            failpoint::point("run.over");
            let release = Command::ReleaseRun {
                run,
                token: self.lp.token(),
            };
            match self.session.commit(&release, &self.current_facts()) {
                Ok(_) | Err(CommitError::Refused(_)) => {}
                Err(other) => return Err(other.into()),
            }
            failpoint::point("run.released");
            self.commit_at_end(tell);
        }
        if let Some((_, name)) = &self.joining.beside {
            run_lock::remove_joint_lock(&self.session.project, &self.row, name);
        }
        for passed in self.lp.describe_exceeded_budgets() {
            tell(Notice::Warning(&passed));
        }
        match ending {
            RunLoopEnding::State => {
                if let Some(fault) = self.fault.take() {
                    return Err(fault);
                }
            }
            RunLoopEnding::CannotStart(error) => {
                let redactor = self.session.world.redactor();
                let error = redactor.redact(&error);
                return Err(Failure::new("agent.cannot_start", format!("the agent cannot be started: {error}"))
                    .with_hint("see that the command works in a shell, then run again: nothing was counted against the node"));
            }
            RunLoopEnding::Fault(error) => {
                let known = self.fault.take();
                return Err(known.unwrap_or_else(|| Failure::new("run.state", error)));
            }
            RunLoopEnding::TurnedAway(trouble, error) => {
                let redactor = self.session.world.redactor();
                let error = redactor.redact(&error).into_owned();
                let next =
                    verdict::resume_hint(trouble, &self.row.name, self.lp.has_other_runners());
                return Err(Failure::new("agent.turned_away", error).with_hint(next));
            }
            RunLoopEnding::Fenced => {
                return Err(piton_core::Refusal::Fenced {
                    name: self.row.name.clone(),
                }
                .into());
            }
            RunLoopEnding::Refused(refusal) => return Err(refusal.into()),
        }
        self.wait_for_outcome(tell)
    }

    /// Takes in what was written last, and writes the file as the run is left.
    fn sync_files_at_end(&mut self, tell: &mut dyn FnMut(Notice<'_>)) -> Result<(), Failure> {
        // What happened since may be what a file waited for.
        self.files.waiting.clear();
        self.update_agents_time();
        self.import_plan_edits(tell)?;
        if let Some(plan_sync) = &mut self.plan_sync {
            plan_sync.repeat_trouble();
        }
        let run = self.row.id;
        let position = self.session.store.event_count(&StreamId::of_run(run))?;
        if position == self.known {
            self.write_files(true, tell);
            return Ok(());
        }
        self.sync_project_files(true, tell);
        let (tables, position) = load_run_snapshot(self.session, run)?;
        let now = self.now();
        let trouble = self
            .plan_sync
            .as_mut()
            .and_then(|plan_sync| plan_sync.write_now(&tables, position, now));
        if let Some(trouble) = trouble {
            tell(Notice::Warning(&trouble.to_string()));
        }
        Ok(())
    }
}

/// The items that were claimed in what was taken in last.
fn claimed_nodes(inputs: &[Input]) -> Vec<Node> {
    let mut claimed = Vec::new();
    for input in inputs {
        let Input::Changed(events) = input else {
            continue;
        };
        for recorded in events {
            if let Event::Item(ItemEvent::Claimed { node, .. }) = &recorded.event {
                claimed.push(node.clone());
            }
        }
    }
    claimed
}

fn ended_attempt_id(recorded: &DecodedRecord) -> Option<AttemptId> {
    if let Event::Attempt(AttemptEvent::Ended { attempt, .. }) = &recorded.event {
        Some(*attempt)
    } else {
        None
    }
}
