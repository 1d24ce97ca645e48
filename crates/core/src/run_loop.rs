//! What a runner does next: one pure `step` between inputs and effects.
//!
//! The loop holds the rows of its run and folds every event into them, its own
//! as they are committed and those of others as they are seen. It never acts
//! on the world: the engine carries its effects out and tells what came of
//! them. Between two effects there is always an input, so that a crash at any
//! point leaves the journal with what was decided and nothing else.
//!
//! ```text
//!   Look -> Looked -> (settle what a dead runner left)
//!                  -> (pause, stop, limits)
//!                  -> Commit(start) -> Committed -> StartAgent -> AgentEnded -> Commit(end) -> Committed -> Look
//! ```
//!
//! The loop holds what is under way by item, as many at once as there are
//! workers. It makes one decision at a time: an end that it hears of while a
//! command of its own is on the way is kept until that has been answered.

mod effects;
mod ends;
mod lanes;
mod ongoing;
mod pull_requests;
mod spending;
mod waits;
mod watch;

use std::collections::{BTreeMap, VecDeque};
use std::num::NonZeroUsize;

use crate::budget::BudgetUse;
use crate::row::Key;
use jiff::{SignedDuration, Timestamp};

pub use self::effects::{
    BaselineAnswer, Effect, Input, LaneEnd, MergeEnd, PullRequestOpenEnd, RunLoopEnding, WaitAnswer,
};
use self::ongoing::{OngoingWork, WorkEnd};
pub use self::waits::ASKED_AT_ONCE;
use self::watch::{PullRequestWatch, WaitWatch};

use crate::agent_chain::{AgentChain, AgentChoice};
use crate::attempt::{AttemptContext, Role};
use crate::command::Command;
use crate::earlier_work::context_of_item;
use crate::event::{AttemptEvent, Event, ItemEvent, RunEvent, UnitEvent};
use crate::evidence::{Baseline, BaselineResult};
use crate::id::{AttemptId, Node, RunId, StreamId};
use crate::item::{ItemRow, ItemState, Stage};
use crate::journal::DecodedRecord;
use crate::lane::{count_begun_tasks, unit_of_node};
use crate::merge::MergeState;
use crate::name::Space;
use crate::refusal::Refusal;
use crate::run::{Pause, PendingRequest, RunRow, RunState, RunnerRequest};
use crate::tables::Tables;

/// How this invocation is to behave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunLoopOptions {
    /// The agents, as recorded with each attempt, in the order in which they are tried;
    /// at least one.
    pub agents: Vec<String>,
    /// The model for nodes whose plan names none.
    pub model: Option<String>,
    /// Stay and go on when a person has decided, instead of ending.
    pub wait: bool,
    /// End after one node.
    pub once: bool,
    /// How many items are worked on at once.
    pub workers: NonZeroUsize,
    /// Keep the attempts that are over among the rows: the file of the plan shows them.
    pub keeps_attempts: bool,
}

impl Default for RunLoopOptions {
    fn default() -> Self {
        Self {
            agents: vec![String::new()],
            model: None,
            wait: false,
            once: false,
            workers: NonZeroUsize::MIN,
            keeps_attempts: false,
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
enum LoopState {
    /// Between two nodes: the engine looks around.
    Looking,
    /// A command is on its way; what it leads to when it is carried out, if not to a look.
    Committing(Option<Box<Effect>>),
    /// All that can be started now is under way: the next end is waited for.
    Busy,
    /// Nothing is under way: a time or a person is waited for.
    Waiting,
    /// Over.
    Finished,
}

/// The loop of one invocation of `piton run`.
#[derive(Clone, Debug)]
pub struct RunLoop {
    run: RunId,
    token: u64,
    options: RunLoopOptions,
    tables: Tables,
    doing: LoopState,
    /// Items at which a dead runner may have left a gate or a commit open.
    left_open: Vec<Node>,
    stopping: Option<String>,
    /// What was started and has not ended, by its item.
    under_way: BTreeMap<Node, OngoingWork>,
    /// Ends that were heard of while something else was on the way.
    ended: VecDeque<WorkEnd>,
    /// Why the invocation is over as soon as nothing is under way any more.
    closing: Option<RunLoopEnding>,
    waited: bool,
    nodes_worked_on: u32,
    cannot_start: Option<RunLoopEnding>,
    /// The lanes that were made ready, by their units: the token with which each
    /// unit was taken then.
    prepared: BTreeMap<Node, u64>,
    /// What went wrong beside the items, which ends the invocation.
    fault: Option<RunLoopEnding>,
    refusals: u32,
    /// What all other runs of the project have used.
    elsewhere: BudgetUse,
    claims: ClaimWatch,
    waits: WaitWatch,
    pull_requests: PullRequestWatch,
}

/// The items that attempts have marked as done beside their own.
#[derive(Clone, Debug, Default)]
struct ClaimWatch {
    /// By attempts that are under way.
    open: Vec<(AttemptId, Node)>,
    /// By attempts that are over: the checks of these items may prove it.
    to_check: Vec<Node>,
}

impl ClaimWatch {
    fn from_tables(tables: &Tables, run: RunId) -> Self {
        let over = tables
            .tree(run)
            .filter(|item| is_claimed_by_ended_attempt(item));
        Self {
            open: tables.tree(run).filter_map(open_claim_of_item).collect(),
            to_check: over.map(|item| item.node.clone()).collect(),
        }
    }
}

/// The attempt that claims an item and has not ended.
fn open_claim_of_item(item: &ItemRow) -> Option<(AttemptId, Node)> {
    let claimed = item
        .proof
        .claimed
        .as_ref()
        .filter(|by| by.change.is_none())?;
    Some((claimed.attempt?, item.node.clone()))
}

/// Whether an attempt that is over claims the item.
fn is_claimed_by_ended_attempt(item: &ItemRow) -> bool {
    let claimed = item.proof.claimed.as_ref();
    claimed.is_some_and(|by| by.attempt.is_some() && by.change.is_some())
}

/// The trees on which the check of an item is known to have failed, and how
/// long it took there.
fn failed_trees(item: &ItemRow) -> impl Iterator<Item = (&String, u64)> {
    let baseline = item.proof.baseline.as_ref().filter(|result| !result.passed);
    let baseline = baseline.and_then(|result| Some((result.tree.as_ref()?, result.took_s)));
    let last = item.proof.gate_runs.as_ref();
    let last = last.filter(|runs| !runs.passed && !runs.open && runs.exit.is_some());
    let last = last.and_then(|runs| Some((runs.tree.as_ref()?, runs.took_s)));
    baseline.into_iter().chain(last)
}

/// What an agent is started for at a stage.
fn role_of_stage(stage: Stage) -> Role {
    match stage {
        Stage::Fix => Role::GateFix,
        Stage::Repair => Role::Repair,
        Stage::Split => Role::Split,
        Stage::Verdict => Role::Verdict,
        Stage::IterationHooks => Role::IterationHook,
        Stage::Resolve => Role::Resolve,
        Stage::Review => Role::Reviewer,
        Stage::Work | Stage::Baseline | Stage::Gate | Stage::Commit | Stage::Merge => Role::Worker,
    }
}

fn has_unsettled_work(item: &ItemRow) -> bool {
    item.work.committing.is_some() || item.proof.gate_runs.as_ref().is_some_and(|runs| runs.open)
}

fn items_with_unsettled_work(tables: &Tables, run: RunId) -> Vec<Node> {
    let left = tables.tree(run).filter(|item| has_unsettled_work(item));
    left.map(|item| item.node.clone()).collect()
}

/// A limit on agents that is reached.
struct AgentLimit {
    /// In words.
    limit: String,
    /// Whether the hooks of an item that was worked on may still run.
    allows_hooks: bool,
}

impl AgentLimit {
    /// Whether what comes next for an item may be begun.
    fn can_begin(&self, item: &ItemRow) -> bool {
        !item.stage.needs_agent() || (self.allows_hooks && item.stage == Stage::IterationHooks)
    }
}

/// The limit of a runner that ends after one node.
const ONCE: &str = "once";

/// After so many refusals in a row the loop gives up rather than spin.
const REFUSALS_MAX: u32 = 5;

impl RunLoop {
    /// A loop over the rows of a run that was just started with `token`.
    /// Its first effect is [`Effect::Look`].
    #[must_use]
    pub fn new(run: RunId, token: u64, options: RunLoopOptions, tables: Tables) -> Self {
        let left_open = items_with_unsettled_work(&tables, run);
        let claims = ClaimWatch::from_tables(&tables, run);
        Self {
            left_open,
            run,
            token,
            options,
            tables,
            doing: LoopState::Looking,
            stopping: None,
            under_way: BTreeMap::new(),
            ended: VecDeque::new(),
            closing: None,
            waited: false,
            nodes_worked_on: 0,
            cannot_start: None,
            prepared: BTreeMap::new(),
            fault: None,
            refusals: 0,
            elsewhere: BudgetUse::default(),
            claims,
            waits: WaitWatch::default(),
            pull_requests: PullRequestWatch::default(),
        }
    }

    /// The rows of the run, as of the last input.
    #[must_use]
    pub fn tables(&self) -> &Tables {
        &self.tables
    }

    /// The row of the run.
    #[must_use]
    pub fn run(&self) -> Option<&RunRow> {
        self.tables.run(self.run)
    }

    /// What the agent is asked to use for an item.
    #[must_use]
    pub fn model_of_item<'a>(&'a self, item: &'a ItemRow) -> Option<&'a str> {
        item.plan.model.as_deref().or(self.options.model.as_deref())
    }

    /// What an attempt at an item starts from; none when there is no such item.
    #[must_use]
    pub fn context_of_attempt(&self, node: &Node) -> Option<AttemptContext> {
        let item = self.tables.item(self.run, node)?;
        let done = item.plan.depends_on.iter().filter(|on| {
            let on = self.tables.item(self.run, on);
            on.is_some_and(|on| on.state == ItemState::Done)
        });
        let done = done.map(|on| on.as_str().to_owned()).collect();
        Some(context_of_item(item, Some(done)))
    }

    /// Takes an input in, at a time, and says what is to be done.
    pub fn step(&mut self, now: Timestamp, input: Input) -> Vec<Effect> {
        let mut effects = self.handle_input(now, input);
        self.watch_waits(now, &mut effects);
        self.watch_pull_requests(now, &mut effects);
        effects
    }

    fn handle_input(&mut self, now: Timestamp, input: Input) -> Vec<Effect> {
        match input {
            Input::Looked {
                events,
                pause_file,
                attempt,
            } => {
                if !events.is_empty() {
                    self.refusals = 0;
                }
                self.apply_events(&events);
                match self.apply_next_end() {
                    Some(effects) => effects,
                    None => self.step_between_items(now, pause_file, attempt),
                }
            }
            Input::Committed(events) => {
                self.refusals = 0;
                self.apply_events(&events);
                self.continue_after_commit()
            }
            Input::Refused(refusal) => self.handle_refusal(refusal),
            Input::Changed(events) => {
                self.apply_events(&events);
                self.handle_change()
            }
            Input::AgentEnded {
                attempt,
                node,
                report,
                recovery,
            } => self.handle_end(WorkEnd::Agent {
                attempt,
                node,
                report,
                recovery,
            }),
            Input::GateEnded {
                node,
                report,
                recovery,
            } => self.handle_end(WorkEnd::Gate {
                node,
                report,
                recovery,
            }),
            Input::CommitEnded { node, result } => {
                self.handle_end(WorkEnd::Commit { node, result })
            }
            Input::CommitStopped { node } => self.handle_end(WorkEnd::CommitStopped { node }),
            Input::LaneEnded { node, end } => self.handle_end(WorkEnd::Lane { node, end }),
            Input::WorkLost { node, why } => self.handle_end(WorkEnd::WorkLost { node, why }),
            Input::MergeEnded { node, end } => self.handle_end(WorkEnd::Merge { node, end }),
            Input::PullRequestOpened { node, end } => {
                self.handle_end(WorkEnd::Opening { node, end, at: now })
            }
            Input::PullRequestSeen { node, number, look } => {
                self.apply_look(now, &node, number, look)
            }
            Input::Baseline {
                attempt,
                node,
                answer,
            } => match self.apply_next_end() {
                // The item is asked about again.
                Some(effects) => effects,
                None => self.apply_baseline_answer(now, attempt, &node, answer),
            },
            Input::Circling { node } | Input::TimeBoxOver { node } => self.stop_work(&node, false),
            Input::Spent { node, usage } => self.record_usage(&node, &usage),
            Input::Elsewhere(spent) => self.record_spend_elsewhere(spent),
            Input::WaitAnswered { node, answer } => self.apply_wait_answer(now, node, answer),
            Input::Time if self.has_only_waits_due(now) => Vec::new(),
            Input::Time | Input::PauseFile => match self.doing {
                LoopState::Busy | LoopState::Waiting => self.start_look(),
                LoopState::Looking | LoopState::Committing(_) | LoopState::Finished => Vec::new(),
            },
            Input::Stop { reason } => self.handle_stop(reason),
        }
    }

    fn start_look(&mut self) -> Vec<Effect> {
        self.doing = LoopState::Looking;
        self.waits.sits_until = None;
        vec![Effect::Look]
    }

    fn start_commit(&mut self, command: Command, next: Option<Box<Effect>>) -> Vec<Effect> {
        self.doing = LoopState::Committing(next);
        vec![Effect::Commit(command)]
    }

    /// Folds events into the rows, and lets go of what is over: the memory of
    /// a run does not grow with its attempts.
    fn apply_events(&mut self, events: &[DecodedRecord]) {
        let own = StreamId::of_run(self.run);
        for recorded in events {
            // What is logged among the sessions is not the run's.
            if recorded.record.stream != own {
                continue;
            }
            self.tables.fold(&recorded.event, &recorded.record.stamp);
            // Another runner is gone: what it left may be for this one to settle.
            if let Event::Run(RunEvent::LeaseLost { .. } | RunEvent::LeaseReleased { .. }) =
                &recorded.event
            {
                self.left_open = items_with_unsettled_work(&self.tables, self.run);
            }
            if let Event::Attempt(AttemptEvent::Ended { attempt, .. }) = &recorded.event
                && !self.options.keeps_attempts
            {
                self.tables.remove(&Key::Attempt(*attempt));
            }
            if let Event::Attempt(AttemptEvent::Started {
                name: Some(name), ..
            }) = &recorded.event
            {
                self.tables.remove(&Key::Name(Space::Attempt, name.clone()));
            }
            if let Event::Item(ItemEvent::Claimed { node, .. }) = &recorded.event {
                let row = self.tables.item(self.run, node);
                self.claims.open.extend(row.and_then(open_claim_of_item));
                let over = row.filter(|row| is_claimed_by_ended_attempt(row));
                self.claims
                    .to_check
                    .extend(over.map(|row| row.node.clone()));
            }
            // A unit of which a person looks at the work is one that was worked on. So is
            // one whose work is in a pull request.
            if let Event::Unit(
                UnitEvent::MergeQueued { review: true, .. } | UnitEvent::PullRequestOpened { .. },
            ) = &recorded.event
            {
                self.nodes_worked_on += 1;
            }
            if let Event::Item(ItemEvent::Moved(moved)) = &recorded.event {
                let leaf = self
                    .tables
                    .item(self.run, &moved.node)
                    .is_some_and(ItemRow::is_leaf);
                let is_over = moved.to.is_finished() || moved.to.is_broken();
                // It was worked on, and goes on when a person has answered.
                let is_asked_about = moved.from == ItemState::Working
                    && moved.to == ItemState::Waiting
                    && moved.human.is_some()
                    && !self.options.wait;
                self.nodes_worked_on += u32::from(leaf && (is_over || is_asked_about));
            }
        }
    }

    /// A command was carried out: what it was for is begun, or the loop looks
    /// for what comes next.
    fn continue_after_commit(&mut self) -> Vec<Effect> {
        let LoopState::Committing(next) = std::mem::replace(&mut self.doing, LoopState::Looking)
        else {
            return Vec::new();
        };
        match next {
            Some(effect) => self.begin_effect(*effect),
            None => self.continue_loop(),
        }
    }

    fn begin_effect(&mut self, effect: Effect) -> Vec<Effect> {
        if let Effect::PrepareLane { node } = &effect {
            // What was to be taken up there may have been lost instead.
            let lane = self.tables.item(self.run, node).and_then(ItemRow::lane);
            return match self.stopping.is_some() || lane.is_none() {
                true => self.start_look(),
                false => self.start_and_continue(effect),
            };
        }
        let (Effect::StartAgent { node, .. }
        | Effect::RunGate { node, .. }
        | Effect::MakeCommit { node, .. }) = &effect
        else {
            return vec![effect];
        };
        // What was to be committed may have been lost instead.
        let is_to_commit = |item: &ItemRow| item.work.committing.is_some();
        if let Effect::MakeCommit { node, .. } = &effect
            && !self.tables.item(self.run, node).is_some_and(is_to_commit)
        {
            return self.start_look();
        }
        let is_unwanted = self.stopping.is_some() || self.should_be_skipped(node);
        if is_unwanted {
            if let Effect::StartAgent { attempt, node, .. } = effect {
                return self.cancel_attempt(attempt, node);
            }
            if let Effect::RunGate { node, .. } = effect {
                return self.cancel_gate(node);
            }
        }
        self.start_and_continue(effect)
    }

    /// Starts something, and looks for more that can be started beside it.
    fn start_and_continue(&mut self, effect: Effect) -> Vec<Effect> {
        let mut effects = self.record_start(effect);
        effects.extend(self.look_for_more());
        effects
    }

    /// Work that was started leaves room for more, or an end came meanwhile.
    fn look_for_more(&mut self) -> Vec<Effect> {
        if let Some(effects) = self.apply_next_end() {
            return effects;
        }
        if self.has_free_worker() {
            return self.start_look();
        }
        Vec::new()
    }

    /// Whether another item could be worked on.
    fn has_free_worker(&self) -> bool {
        let stops = self.stopping.is_some() || self.closing.is_some();
        !stops && self.count_working() < self.options.workers.get()
    }

    fn handle_refusal(&mut self, refusal: Refusal) -> Vec<Effect> {
        self.refusals += 1;
        if matches!(refusal, Refusal::Fenced { .. }) {
            return self.start_finish(RunLoopEnding::Fenced);
        }
        if self.refusals >= REFUSALS_MAX {
            return self.start_finish(RunLoopEnding::Refused(refusal));
        }
        // Another process was quicker: look again and decide anew.
        self.continue_loop()
    }

    /// The first reason to stop is polite. The second is not, so that an agent
    /// that ignores the first cannot hold the loop for ever.
    fn handle_stop(&mut self, reason: String) -> Vec<Effect> {
        let again = self.stopping.is_some();
        self.stopping.get_or_insert(reason);
        if matches!(self.doing, LoopState::Waiting) {
            return self.start_look();
        }
        self.stop_all_work(again)
    }

    fn handle_change(&mut self) -> Vec<Effect> {
        let asked = self.run().and_then(|run| run.invocation.asked.clone());
        if let Some(asked) =
            asked.filter(|asked| asked.request == RunnerRequest::Stop && self.stopping.is_none())
        {
            return self.handle_stop(format!("stopped by {}", asked.by));
        }
        let mut effects = self.stop_skipped_work();
        let may_start = match self.doing {
            LoopState::Waiting => true,
            // A merge needs no worker.
            LoopState::Busy => self.has_free_worker() || self.has_merge_to_begin(None),
            LoopState::Looking | LoopState::Committing(_) | LoopState::Finished => false,
        };
        if may_start {
            effects.extend(self.start_look());
        }
        effects
    }

    /// Whether a person wants an item left out that is being worked on. A commit
    /// is waited for: it takes no time, and may have been made.
    fn should_be_skipped(&self, node: &Node) -> bool {
        let item = self.tables.item(self.run, node);
        let is_moved = |item: &ItemRow| {
            let state = item.merge().map(|merge| merge.state);
            item.work.committing.is_some() || state == Some(MergeState::Passed)
        };
        item.is_some_and(|item| item.people.skip_asked && !is_moved(item))
    }

    /// Between two nodes: everything that was asked of the runner takes effect here.
    fn step_between_items(
        &mut self,
        now: Timestamp,
        pause_file: bool,
        attempt: AttemptId,
    ) -> Vec<Effect> {
        if let Some(effects) = self.settle_unfinished_work() {
            return effects;
        }
        let Some(row) = self.run().cloned() else {
            return self.start_finish(RunLoopEnding::State);
        };
        if let Some(effects) = self.release_idle_lanes(&row) {
            return effects;
        }
        if self.under_way.is_empty() {
            return self.next_step(&row, now, pause_file, attempt);
        }
        // A request to end all work is met when the last has ended. A runner whose agent
        // cannot work begins nothing that another one could.
        let is_useless = self.cannot_start.is_some() && self.has_other_runners();
        let holds = row.state != RunState::Running
            || is_useless
            || self.stopping.is_some()
            || row.invocation.asked.is_some()
            || pause_file;
        if let Some(effects) = (!holds).then(|| self.commit_wait_steps(now)).flatten() {
            return effects;
        }
        if let Some(effects) = (!holds).then(|| self.commit_pull_request_news()).flatten() {
            return effects;
        }
        if let Some(effects) = (!holds).then(|| self.start_next_merge(now)).flatten() {
            return effects;
        }
        if holds || self.describe_reached_limit(&row, now).is_some() || !self.has_free_worker() {
            return self.wait_for_end();
        }
        self.start_next_item(&row, now, attempt)
    }

    /// What comes next while nothing is under way.
    fn next_step(
        &mut self,
        row: &RunRow,
        now: Timestamp,
        pause_file: bool,
        attempt: AttemptId,
    ) -> Vec<Effect> {
        if row.state != RunState::Running {
            return self.step_at_rest(row, now);
        }
        if !self.is_holder() {
            return self.next_step_of_joined_runner(row, now, pause_file, attempt);
        }
        if let Some(ending) = self
            .cannot_start
            .take()
            .filter(|_| self.has_other_runners())
        {
            return self.start_finish(ending);
        }
        // The run goes on: an agent that could not start does not end it.
        self.cannot_start = None;
        if let Some(effects) = self.apply_requests(row, pause_file) {
            return effects;
        }
        if let Some(effects) = self.commit_wait_steps(now) {
            return effects;
        }
        if let Some(effects) = self.commit_pull_request_news() {
            return effects;
        }
        if let Some(effects) = self.start_next_adoption(now) {
            return effects;
        }
        if let Some(effects) = self.start_next_merge(now) {
            return effects;
        }
        if let Some(limit) = self.describe_reached_limit(row, now) {
            return match self.has_other_lanes() || self.has_unseen_pull_request() {
                // That is a limit of this process alone.
                _ if limit == ONCE && self.has_other_runners() => {
                    self.start_finish(RunLoopEnding::State)
                }
                true => self.wait_for_others(),
                false => self.pause_run(Pause::Limit { limit }),
            };
        }
        self.start_next_item(row, now, attempt)
    }

    fn start_next_item(&mut self, row: &RunRow, now: Timestamp, attempt: AttemptId) -> Vec<Effect> {
        if let Some(effects) = self.start_claim_check() {
            return effects;
        }
        match self.next_item(now).cloned() {
            Some(item) => self.start_work_on_item(&item, row, now, attempt),
            None if !self.under_way.is_empty() => self.wait_for_end(),
            None if self.has_waits() => self.idle_until(now, None),
            None if self.next_opening_time(now).is_some() => {
                let next = self.next_opening_time(now);
                self.idle_until(now, next)
            }
            // What was merged meanwhile lets others begin.
            None if self.has_unseen_pull_request() => self.wait_for_others(),
            None if !self.is_holder() || self.has_other_lanes() => self.wait_for_others(),
            // Only another runner or a person can do what is left.
            None => self.interrupt_run(self.describe_why_none_starts()),
        }
    }

    fn describe_why_none_starts(&self) -> String {
        let open = self.tables.tree(self.run);
        let mut open = open.filter(|item| item.is_actionable());
        let elsewhere = open.find_map(|item| {
            let name = self.tables.repository_of(item)?;
            let is_new = !self.has_target(&unit_of_node(&item.node));
            is_new.then(|| (item.plan.id.clone(), name.to_owned()))
        });
        match elsewhere {
            Some((id, name)) => format!(
                "{id} belongs to `{name}`, which was no repository of this run when it began"
            ),
            None => "nothing is left that can be started".to_owned(),
        }
    }

    /// What comes next for a runner that joined another one: what is to become of
    /// the whole run is decided by that one.
    fn next_step_of_joined_runner(
        &mut self,
        row: &RunRow,
        now: Timestamp,
        pause_file: bool,
        attempt: AttemptId,
    ) -> Vec<Effect> {
        let is_over = self.stopping.is_some() || row.invocation.asked.is_some() || pause_file;
        if let Some(ending) = self.fault.take().or_else(|| self.cannot_start.take()) {
            return self.start_finish(ending);
        }
        match is_over || self.describe_reached_limit(row, now).is_some() {
            true => self.start_finish(RunLoopEnding::State),
            false => self.start_next_item(row, now, attempt),
        }
    }

    fn wait_for_others(&mut self) -> Vec<Effect> {
        self.doing = LoopState::Waiting;
        Vec::new()
    }

    fn wait_for_end(&mut self) -> Vec<Effect> {
        self.doing = LoopState::Busy;
        Vec::new()
    }

    /// The item to be worked on next, of those that are not under way.
    fn next_item(&self, now: Timestamp) -> Option<&ItemRow> {
        let limit = self.agent_limit();
        let may_begin = |item: &ItemRow| limit.as_ref().is_none_or(|limit| limit.can_begin(item));
        if let Some(lanes) = self.run().and_then(|row| row.branches.lanes.as_deref()) {
            return self.next_item_in_lanes(lanes, now, may_begin);
        }
        let is_free = |item: &ItemRow| {
            let is_begun = self.under_way.contains_key(&item.node);
            // Of another one nothing is in the place of the run.
            let is_here = self.tables.repository_of(item).is_none();
            may_begin(item) && is_here && !is_begun && !item.has_open_wait()
        };
        self.next_item_of(now, is_free)
    }

    fn next_item_of(&self, now: Timestamp, is_free: impl Fn(&ItemRow) -> bool) -> Option<&ItemRow> {
        let has_others = self.options.agents.len() > 1;
        self.tables.next_item_at(
            self.run,
            is_free,
            |item| self.not_before(item, now),
            // Without another agent, every other item would meet the same service.
            |item| !has_others && item.tries.put_off > 0 && item.hold_at(now).is_none(),
        )
    }

    /// What is known of the agents with regard to an item.
    fn chain_of_item<'a>(&'a self, item: &'a ItemRow) -> AgentChain<'a> {
        static NONE: BTreeMap<String, Timestamp> = BTreeMap::new();
        let limits = self.run().map_or(&NONE, |row| &row.spent.limited_agents);
        AgentChain::of_item(&self.options.agents, limits, item)
    }

    /// Not before this time may the item be started; none where that time has come.
    fn not_before(&self, item: &ItemRow, now: Timestamp) -> Option<Timestamp> {
        self.chain_of_item(item).not_before(item, now)
    }

    /// Whether this runner, or another one that has it, works on the item.
    fn is_being_worked_on(&self, node: &Node) -> bool {
        self.under_way.contains_key(node) || self.is_in_other_lane(&unit_of_node(node))
    }

    /// What a dead runner left is settled before anything else: its agents; the
    /// commits that it may have made, before another one can hide them; and the
    /// gates whose end was not recorded, which run again.
    fn settle_unfinished_work(&mut self) -> Option<Vec<Effect>> {
        if !self.is_holder() {
            return None;
        }
        let left = self
            .tables
            .open_attempts()
            .find(|row| !self.is_being_worked_on(&row.node))
            .map(|row| (row.id, row.node.clone()));
        if let Some((attempt, node)) = left {
            return Some(self.record_start(Effect::SettleAgent { attempt, node }));
        }
        while let Some(node) = self.left_open.pop() {
            if self.is_being_worked_on(&node) {
                continue;
            }
            if self.busy_units().contains(&unit_of_node(&node)) {
                // Its lane is being made ready.
                self.left_open.push(node);
                return Some(self.wait_for_end());
            }
            let Some(item) = self.tables.item(self.run, &node) else {
                continue;
            };
            if item.work.committing.is_some() && !self.is_in_lane(item) {
                self.left_open.push(node.clone());
                return self.can_take_lanes().then(|| self.start_lane(&node));
            }
            if item.work.committing.is_some() {
                return Some(self.record_start(Effect::MakeCommit { node, settle: true }));
            }
            if has_unsettled_work(item) {
                return Some(self.cancel_gate(node));
            }
        }
        None
    }

    /// The run is not running any more: it is over, or it waits.
    fn step_at_rest(&mut self, row: &RunRow, now: Timestamp) -> Vec<Effect> {
        let fault = self.fault.take();
        if let Some(ending) = fault.or_else(|| self.cannot_start.take()) {
            return self.start_finish(ending);
        }
        let waits = match row.state {
            RunState::Waiting | RunState::Blocked => true,
            RunState::Paused => matches!(row.pause, Some(Pause::Person { .. } | Pause::File)),
            RunState::New | RunState::Running | RunState::Interrupted | RunState::Done => false,
        };
        // Stored now or by the next runner: what was seen is seen again.
        if let Some(effects) = self.commit_pull_request_news() {
            self.waited = true;
            return effects;
        }
        if let Some(effects) = waits.then(|| self.start_next_adoption(now)).flatten() {
            self.waited = true;
            return effects;
        }
        if waits && self.has_unseen_pull_request() {
            self.waited = true;
            self.doing = LoopState::Waiting;
            return Vec::new();
        }
        if self.stopping.is_none() && self.options.wait && waits && self.is_holder() {
            self.waited = true;
            self.doing = LoopState::Waiting;
            return vec![Effect::WaitForPerson];
        }
        if self.waited && row.state == RunState::Interrupted && self.stopping.is_none() {
            self.waited = false;
            let (run, token) = (self.run, self.token);
            return self.start_commit(Command::ContinueRun { run, token }, None);
        }
        self.start_finish(RunLoopEnding::State)
    }

    /// What people asked for, if they did.
    fn apply_requests(&mut self, row: &RunRow, pause_file: bool) -> Option<Vec<Effect>> {
        let is_stop = |asked: &PendingRequest| asked.request == RunnerRequest::Stop;
        let is_asked = row.invocation.asked.as_ref().is_some_and(is_stop);
        if self.stopping.is_some() && !is_asked && self.has_other_runners() {
            // Another runner holds the run from then on.
            let ending = self.fault.take().unwrap_or(RunLoopEnding::State);
            return Some(self.start_finish(ending));
        }
        let ends = self.stopping.is_some() || row.invocation.asked.is_some() || pause_file;
        if ends && self.has_other_lanes() {
            return Some(self.wait_for_others());
        }
        if let Some(reason) = self.stopping.clone() {
            return Some(self.interrupt_run(reason));
        }
        match &row.invocation.asked {
            Some(asked) if asked.request == RunnerRequest::Stop => {
                return Some(self.interrupt_run(format!("stopped by {}", asked.by)));
            }
            Some(asked) => {
                return Some(self.pause_run(Pause::Person {
                    by: asked.by.clone(),
                }));
            }
            None => {}
        }
        pause_file.then(|| self.pause_run(Pause::File))
    }

    fn pause_run(&mut self, pause: Pause) -> Vec<Effect> {
        let (run, token) = (self.run, self.token);
        self.start_commit(Command::PauseRun { run, token, pause }, None)
    }

    fn interrupt_run(&mut self, reason: String) -> Vec<Effect> {
        let (run, token) = (self.run, self.token);
        self.start_commit(Command::InterruptRun { run, token, reason }, None)
    }

    fn time_box_end(&self) -> Option<Timestamp> {
        let row = self.run()?;
        let seconds = i64::try_from(row.invocation.limits.time_box_s?).unwrap_or(i64::MAX / 4);
        row.invocation
            .invoked_at?
            .checked_add(SignedDuration::from_secs(seconds))
            .ok()
    }

    /// The limit on agents that is reached, whatever can be begun without one.
    fn agent_limit(&self) -> Option<AgentLimit> {
        if let Some(limit) = self.describe_exhausted_budget() {
            return Some(AgentLimit {
                limit,
                allows_hooks: false,
            });
        }
        let row = self.run()?;
        let max = row.invocation.limits.iterations_max;
        let max = max.filter(|max| row.invocation.iterations >= *max)?;
        Some(AgentLimit {
            limit: format!("max-iterations ({max})"),
            // A hook belongs to the iteration that it follows.
            allows_hooks: true,
        })
    }

    /// The limit that this invocation has reached, in words.
    fn describe_reached_limit(&self, row: &RunRow, now: Timestamp) -> Option<String> {
        // What needs no further agent is still done: a gate, a commit.
        if let Some(reached) = self.agent_limit()
            && self.next_item(now).is_none()
        {
            return Some(reached.limit);
        }
        // What is under way may be done: no more is begun than may be.
        let at_work = u32::try_from(self.under_way.len()).unwrap_or(u32::MAX);
        // In lanes no unit is begun that would be one too many.
        let tasks = match &row.branches.lanes {
            Some(lanes) => count_begun_tasks(
                row.invocation.tasks,
                lanes.count_finished_units(row.invocation.invocations),
            ),
            None => count_begun_tasks(row.invocation.tasks, self.under_way.len()),
        };
        if let Some(max) = row.invocation.limits.tasks_max.filter(|max| tasks >= *max) {
            return Some(format!("max-tasks ({max})"));
        }
        if self.time_box_end().is_some_and(|end| now >= end) {
            let seconds = row.invocation.limits.time_box_s.unwrap_or(0);
            return Some(format!(
                "time-box ({})",
                crate::amount::format_duration(seconds)
            ));
        }
        let has_begun = self.nodes_worked_on > 0 || at_work > 0;
        (self.options.once && has_begun).then(|| ONCE.to_owned())
    }

    fn start_work_on_item(
        &mut self,
        item: &ItemRow,
        row: &RunRow,
        now: Timestamp,
        attempt: AttemptId,
    ) -> Vec<Effect> {
        let node = item.node.clone();
        if let Some(until) = self.not_before(item, now) {
            return self.idle_until(now, Some(until));
        }
        if !self.is_in_lane(item) {
            return self.start_lane(&node);
        }
        if item.state == ItemState::Waiting {
            return self.start_attempt(item, now, attempt, None);
        }
        let (run, token) = (row.id, self.token);
        match item.stage {
            Stage::Work | Stage::Baseline if self.needs_baseline(item, row) => {
                self.doing = LoopState::Looking;
                vec![Effect::AskBaseline { attempt, node }]
            }
            Stage::Work
            | Stage::Baseline
            | Stage::Fix
            | Stage::Repair
            | Stage::Split
            | Stage::Verdict
            | Stage::Resolve
            | Stage::Review
            | Stage::IterationHooks => self.start_attempt(item, now, attempt, None),
            Stage::Gate if item.proof.gate_runs.as_ref().is_some_and(|runs| runs.open) => {
                self.cancel_gate(node)
            }
            Stage::Gate => {
                let number = item.proof.gate_runs.as_ref().map_or(0, |runs| runs.runs) + 1;
                let effect = Effect::RunGate {
                    node: node.clone(),
                    number,
                };
                self.start_commit(
                    Command::StartGate { run, token, node },
                    Some(Box::new(effect)),
                )
            }
            Stage::Commit if item.work.committing.is_some() => {
                self.record_start(Effect::MakeCommit { node, settle: true })
            }
            Stage::Commit => {
                let effect = Effect::MakeCommit {
                    node: node.clone(),
                    settle: false,
                };
                self.doing = LoopState::Committing(Some(Box::new(effect)));
                vec![Effect::CommitIntent { node }]
            }
            // The queue sees to it.
            Stage::Merge => self.wait_for_end(),
        }
    }

    /// Runs the check of an item that an attempt at another one marked as done,
    /// where it is known to have failed before that attempt.
    fn start_claim_check(&mut self) -> Option<Vec<Effect>> {
        // In lanes the check of another item has no place to run.
        if self.run().is_some_and(|row| row.branches.lanes.is_some()) {
            self.claims.to_check.clear();
        }
        while let Some(node) = self.claims.to_check.pop() {
            let item = self.tables.item(self.run, &node);
            let Some(before) = item.and_then(|item| self.find_failure_before_claim(item)) else {
                continue;
            };
            let effect = Effect::RunGate {
                node: node.clone(),
                number: 0,
            };
            let command = Command::StartBaseline {
                run: self.run,
                token: self.token,
                node,
                before: Some(before),
            };
            return Some(self.start_commit(command, Some(Box::new(effect))));
        }
        None
    }

    /// What the check of an item came to on the tree before the attempt that
    /// claimed it, where it failed there: by itself, or the same command for
    /// another item.
    fn find_failure_before_claim(&self, item: &ItemRow) -> Option<BaselineResult> {
        let change = item.proof.claimed.as_ref()?.change.as_ref()?;
        let first = change.first.as_ref()?;
        let script = &item.plan.gate.as_ref()?.script;
        let is_untouched = item.state == ItemState::Ready && item.stage == Stage::Work;
        if !is_untouched || !item.is_leaf() {
            return None;
        }
        let results = self.tables.tree(self.run).filter(|row| {
            let gate = row.plan.gate.as_ref();
            gate.is_some_and(|gate| gate.script == *script)
        });
        results.flat_map(failed_trees).find_map(|(tree, took_s)| {
            (tree == first).then(|| BaselineResult {
                passed: false,
                tree: Some(tree.clone()),
                took_s,
                reused: true,
                exit: None,
            })
        })
    }

    /// Whether it matters what the check of an item says before its first
    /// attempt, and that is not known.
    fn needs_baseline(&self, item: &ItemRow, row: &RunRow) -> bool {
        row.invocation.claims.baseline != Baseline::Never
            && item.is_leaf()
            && item.plan.gate.is_some()
            && item.work.change.is_none()
            && item.proof.baseline.is_none()
    }

    fn apply_baseline_answer(
        &mut self,
        now: Timestamp,
        attempt: AttemptId,
        node: &Node,
        answer: BaselineAnswer,
    ) -> Vec<Effect> {
        let Some(item) = self.tables.item(self.run, node).cloned() else {
            return self.start_look();
        };
        match answer {
            BaselineAnswer::Run => {
                let node = node.clone();
                let effect = Effect::RunGate {
                    node: node.clone(),
                    number: 0,
                };
                let (run, token) = (self.run, self.token);
                let before = None;
                let command = Command::StartBaseline {
                    run,
                    token,
                    node,
                    before,
                };
                self.start_commit(command, Some(Box::new(effect)))
            }
            BaselineAnswer::Skip(known) => self.start_attempt(&item, now, attempt, known),
        }
    }

    fn start_attempt(
        &mut self,
        item: &ItemRow,
        now: Timestamp,
        attempt: AttemptId,
        baseline: Option<BaselineResult>,
    ) -> Vec<Effect> {
        let agent = match self.chain_of_item(item).choose_agent(now) {
            AgentChoice::Start(agent) => agent.to_owned(),
            // Another runner has met the limit of the last one meanwhile.
            AgentChoice::WaitUntil(until) => return self.idle_until(now, Some(until)),
        };
        let role = role_of_stage(item.stage);
        let node = item.node.clone();
        let effect = Effect::StartAgent {
            attempt,
            node: node.clone(),
            role,
            until: self.time_box_end(),
        };
        let command = Command::StartAttempt {
            run: self.run,
            token: self.token,
            attempt,
            node,
            role,
            agent,
            model: self.model_of_item(item).map(str::to_owned),
            // The engine knows what the prompt will say, and looks at the tree.
            memories: Vec::new(),
            tree: None,
            baseline,
        };
        self.start_commit(command, Some(Box::new(effect)))
    }

    /// The runner's token.
    #[must_use]
    pub fn token(&self) -> u64 {
        self.token
    }
}
