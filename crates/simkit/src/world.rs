//! A world small enough to hold in the hand: one store in memory, one clock.
//!
//! It hands a decision only the rows that [`needs_of_command`] asks for, and checks that
//! the same would have been decided from all of them: a forgotten wish shows.
//! After every commit all that must always hold is checked.

use piton_core::contradiction::find_contradiction;
use piton_core::event::{AttemptEvent, DecisionEvent, ItemEvent, RunEvent};
use piton_core::evidence::{Baseline, ClaimSettings, Evidence};
use piton_core::gate::{Gate, GateReport};
use piton_core::memory::MemoryKind;
use piton_core::name::{FreeNumbers, NameRange};
use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use piton_core::attempt::{AttemptRow, HumanNeeded, RecoveryAction, Report, Spend, SplitPiece};
use piton_core::checkout::Checkout;
use piton_core::classify::FailureCategory;
use piton_core::iteration_hook::IterationHook;

use piton_core::journal::{EventStamp, GENESIS, HashForm, Record, RecordBody};
use piton_core::plan::{ImportedRunHistory, ItemTags, Order, Plan, PlannedItem};
use piton_core::policy::{Limits, OnDependencyFailure, Policy, Repositories, RetryPolicy};
use piton_core::recover::{Recovery, Rule};
use piton_core::run::Pause;
use piton_core::scope::FileScope;
use piton_core::standing::{StandingCounts, state_of_run};
use piton_core::wait::Wait;
use piton_core::{
    Actor, AttemptId, CallerFacts, Command, CommandId, DecisionId, DecisionKind, DecodedRecord,
    Draft, Event, EventId, HolderLiveness, ItemRow, ItemState, Need, Node, Outcome, Refusal, Role,
    Rows, RunId, RunRow, RunState, Stage, Tables, TreePosition, Verb, decide, needs_of_command,
};
use uuid::Uuid;

use crate::backing::{Backing, PowerLost, StoredCommand, Streams};

/// How long a lease lasts in this world.
pub const LEASE: SignedDuration = SignedDuration::from_secs(30);

/// A number that no decision should ever get: it was not asked for.
const NOT_ASKED_FOR: u64 = 1 << 40;

pub struct World {
    pub run: RunId,
    pub tables: Tables,
    pub journal: Vec<DecodedRecord>,
    pub now: Timestamp,
    pub leases: BTreeMap<u64, Timestamp>,
    pub holder_gone: bool,
    /// What the caller knows of the holder, when it is more than that.
    pub holder: Option<HolderLiveness>,
    /// Whether the plan came from elsewhere, where other rules held.
    taken_over: bool,
    /// Whether every commit is checked, which costs most of its time.
    pub thorough: bool,
    ids: u128,
    /// A store that carries out the same commands.
    backing: Option<Box<dyn Backing>>,
    /// What a command that was not acknowledged would have stored.
    in_doubt: Option<InDoubt>,
}

/// A command that may be stored or not: the power went before its answer.
struct InDoubt {
    drafts: Vec<Draft>,
    actor: Actor,
    command: CommandId,
}

/// An id that says in a debugger what it is of.
fn id(space: u128, number: u128) -> Uuid {
    Uuid::from_u128(space << 64 | number << 16)
}

pub fn node(text: &str) -> Node {
    Node::from_text(text)
}

/// What is checked out all the time.
fn checkout() -> Checkout {
    Checkout {
        repository: None,
        branch: Some("feature/x".to_owned()),
        commit: Some("c0ffee".to_owned()),
    }
}

impl World {
    /// A world without any run.
    pub fn empty() -> Self {
        Self {
            run: RunId(id(1, 1)),
            tables: Tables::default(),
            journal: Vec::new(),
            now: begin(),
            leases: BTreeMap::new(),
            holder_gone: false,
            holder: None,
            taken_over: false,
            thorough: true,
            ids: 0,
            backing: None,
            in_doubt: None,
        }
    }

    /// A world with one run: see [`plan`] for the text.
    pub fn planned(text: &str) -> Self {
        Self::with_policy(text, tried_once())
    }

    pub fn with_policy(text: &str, policy: Policy) -> Self {
        Self::backed(text, policy, None)
    }

    /// A world with one run, whose commands a store carries out as well.
    pub fn backed(text: &str, policy: Policy, backing: Option<Box<dyn Backing>>) -> Self {
        let mut world = Self::empty();
        world.backing = backing;
        let plan = plan(world.run, text);
        let repositories = plan.policy.repositories.clone();
        let plan = Plan {
            policy: Policy {
                repositories,
                ..policy
            },
            ..plan
        };
        world.ok(Command::PlanRun(Box::new(plan)));
        world
    }

    /// A world with a run that another tool began.
    pub fn taken_over(text: &str, past: ImportedRunHistory) -> Self {
        let mut world = Self::empty();
        world.taken_over = true;
        let plan = Plan {
            past: Some(past),
            ..plan(world.run, text)
        };
        world.ok(Command::PlanRun(Box::new(plan)));
        world
    }

    /// A world with a run that is being worked on, and the runner's token.
    pub fn running(text: &str) -> (Self, u64) {
        let mut world = Self::planned(text);
        let token = world.start();
        (world, token)
    }

    pub fn fresh_attempt(&mut self) -> AttemptId {
        self.ids += 1;
        AttemptId(id(2, self.ids))
    }

    pub fn pass(&mut self, seconds: i64) {
        self.now += SignedDuration::from_secs(seconds);
    }

    /// Decides on the rows that the command asks for, and stores the answer.
    pub fn commit(&mut self, command: &Command) -> Result<Vec<DecodedRecord>, Refusal> {
        let committed = self.commit_until_power_cut(command);
        committed.expect("no power cut is armed for this command")
    }

    /// [`World::commit`] where the power may go while the store commits.
    pub fn commit_until_power_cut(
        &mut self,
        command: &Command,
    ) -> Result<Result<Vec<DecodedRecord>, Refusal>, PowerLost> {
        self.ids += 1;
        let facts = CallerFacts {
            actor: Actor::Person("ada".to_owned()),
            decision: DecisionId(id(3, self.ids)),
            holder: match (self.holder, self.holder_gone) {
                (Some(known), _) => known,
                (None, true) => HolderLiveness::Excluded,
                (None, false) => HolderLiveness::Nothing,
            },
            checkout: Some(checkout()),
        };
        let drafts = decide(&self.rows(&needs_of_command(command).rows), command, &facts);
        if self.thorough {
            let all = decide(&self.all_rows(), command, &facts);
            let moves = |drafts: &Result<Vec<Draft>, Refusal>| match drafts {
                Ok(drafts) => drafts.iter().map(|draft| in_short(&draft.event)).collect(),
                Err(refusal) => refusal.to_string(),
            };
            assert_eq!(
                moves(&drafts),
                moves(&all),
                "{command:?} asked for too little"
            );
            assert!(
                drafts == all,
                "{command:?} did not ask for all that its decision depends on"
            );
        }
        let streams = needs_of_command(command).streams;
        for draft in drafts.iter().flatten() {
            let is_named = streams.contains(&draft.stream);
            assert!(is_named, "{command:?} does not name {}", draft.stream);
        }
        let command_id = CommandId(id(4, self.ids));
        let order = StoredCommand {
            id: command_id,
            command,
            facts: &facts,
            now: self.now,
        };
        match self.backing.as_mut().map(|backing| backing.commit(&order)) {
            None => {}
            Some(Ok(stored)) => assert_eq!(stored, drafts, "the store answers {command:?}"),
            Some(Err(lost)) => {
                self.in_doubt = drafts.ok().map(|drafts| InDoubt {
                    drafts,
                    actor: facts.actor.clone(),
                    command: command_id,
                });
                return Err(lost);
            }
        }
        let drafts = match drafts {
            Ok(drafts) => drafts,
            Err(refusal) => return Ok(Err(refusal)),
        };
        let stored: Vec<_> = drafts
            .into_iter()
            .map(|draft| self.store(draft, &facts.actor, command_id))
            .collect();
        if self.thorough {
            self.check();
        }
        Ok(Ok(stored))
    }

    /// Whether a store carries out the commands as well.
    pub fn is_backed(&self) -> bool {
        self.backing.is_some()
    }

    /// Cuts the power of the store at an operation of its disk.
    pub fn cut_power_after(&mut self, operations: Option<u32>) {
        if let Some(backing) = &mut self.backing {
            backing.cut_power_after(operations);
        }
    }

    /// The holder of the run is alive.
    pub fn heartbeat(&mut self, token: u64) {
        self.leases.insert(token, self.now + LEASE);
        let (run, now) = (self.run, self.now);
        if let Some(backing) = &mut self.backing {
            backing.heartbeat(run, token, now);
        }
    }

    /// Cuts the power of the store and opens it again: what was acknowledged is
    /// there, what was not is there whole or not at all, and the rows are those
    /// of what is there.
    pub fn restart(&mut self) {
        let in_doubt = self.in_doubt.take();
        let Some(backing) = &mut self.backing else {
            return;
        };
        let stored = backing.restart();
        if stored != self.streams() {
            let doubt = in_doubt.expect("exactly what was acknowledged is stored");
            for draft in doubt.drafts {
                self.store(draft, &doubt.actor, doubt.command);
            }
            assert!(
                stored == self.streams(),
                "a command that was not acknowledged is stored in part"
            );
        }
        self.check_rows();
    }

    fn streams(&self) -> Streams {
        let mut streams = Streams::new();
        for recorded in &self.journal {
            let stream = streams.entry(recorded.record.stream.clone()).or_default();
            stream.push(recorded.event.clone());
        }
        streams
    }

    /// The rows of the store are those of the model.
    pub fn check_rows(&self) {
        let needs = [
            Need::Run(self.run),
            Need::Tree(self.run),
            Need::OpenAttempts(Some(self.run)),
            Need::OpenDecisions(Some(self.run)),
        ];
        if let Some(backing) = &self.backing {
            let model = self.tables.select_rows(&needs, self.now);
            assert_eq!(backing.load(&needs), model, "the rows of the store");
        }
    }

    fn store(&mut self, draft: Draft, actor: &Actor, command: CommandId) -> DecodedRecord {
        let position = self.journal.len() as u64 + 1;
        let stamp = EventStamp {
            id: EventId(id(5, u128::from(position))),
            position,
            time: self.now,
            actor: actor.clone(),
            checkout: draft.event.has_checkout().then(checkout),
        };
        self.check_event(&draft.event);
        self.tables.fold(&draft.event, &stamp);
        if let Event::Run(RunEvent::LeaseTaken { token, .. }) = draft.event {
            self.leases.insert(token, self.now + LEASE);
        }
        let record = Record {
            stream: draft.stream,
            stamp,
            kind: draft.event.kind().to_owned(),
            version: draft.event.body_version(),
            body: RecordBody::Text(String::new()),
            command,
            form: HashForm::One,
            hash: GENESIS,
        };
        let recorded = DecodedRecord {
            record,
            event: draft.event,
        };
        self.journal.push(recorded.clone());
        recorded
    }

    fn rows(&self, wanted: &[Need]) -> Rows {
        let mut rows = Rows {
            tables: self.tables.select_rows(wanted, self.now),
            now: self.now,
            next_decision: NOT_ASKED_FOR,
            leases: BTreeMap::new(),
            free_numbers: [FreeNumbers::free_from(NOT_ASKED_FOR); piton_core::memory::KINDS],
            naming: NameRange::ALONE,
            standings: None,
        };
        for need in wanted {
            match need {
                Need::NextDecision => rows.next_decision = self.tables.next_decision_number(),
                Need::Leases(_) => rows.leases.clone_from(&self.leases),
                Need::FreeNumbers => rows.free_numbers = self.free_numbers(),
                Need::Standings(run) => {
                    rows.standings = Some(StandingCounts::count_items(self.tables.tree(*run)));
                }
                _ => {}
            }
        }
        rows
    }

    fn free_numbers(&self) -> [FreeNumbers; piton_core::memory::KINDS] {
        std::array::from_fn(|nth| self.tables.free_numbers(MemoryKind::ALL[nth]))
    }

    fn all_rows(&self) -> Rows {
        Rows {
            tables: self.tables.clone(),
            now: self.now,
            next_decision: self.tables.next_decision_number(),
            leases: self.leases.clone(),
            free_numbers: self.free_numbers(),
            naming: NameRange::ALONE,
            standings: Some(StandingCounts::count_items(self.tables.tree(self.run))),
        }
    }

    // What a caller of the store would do.

    #[track_caller]
    pub fn ok(&mut self, command: Command) -> Vec<DecodedRecord> {
        match self.commit(&command) {
            Ok(stored) => stored,
            Err(refusal) => panic!("{command:?} is refused: {refusal}"),
        }
    }

    #[track_caller]
    pub fn refused(&mut self, command: Command) -> Refusal {
        let before = self.journal.len();
        match self.commit(&command) {
            Ok(_) => panic!("{command:?} is not refused"),
            Err(refusal) => {
                assert_eq!(self.journal.len(), before, "a refusal stores nothing");
                refusal
            }
        }
    }

    #[track_caller]
    pub fn start(&mut self) -> u64 {
        self.start_within(Limits::default())
    }

    #[track_caller]
    pub fn start_within(&mut self, limits: Limits) -> u64 {
        self.ok(start_run(self.run, limits));
        self.run_row().fence
    }

    /// Notes the intent to start an agent.
    #[track_caller]
    pub fn begin(&mut self, token: u64, at: &str) -> AttemptId {
        self.begin_as(token, at, Role::Worker)
    }

    #[track_caller]
    pub fn begin_as(&mut self, token: u64, at: &str, role: Role) -> AttemptId {
        let attempt = self.fresh_attempt();
        self.ok(start_attempt(self.run, token, attempt, at, role));
        attempt
    }

    /// The token with which the item was taken last; 0 where there is none.
    pub fn fence(&self, at: &str) -> u64 {
        let item = self.tables.item(self.run, &node(at));
        item.map_or(0, |item| item.fence)
    }

    /// The end of an attempt at an item, with the fence of its last taking.
    pub fn end_attempt(&self, token: u64, attempt: AttemptId, at: &str, report: Report) -> Command {
        Command::EndAttempt {
            run: self.run,
            token,
            attempt,
            node: node(at),
            fence: self.fence(at),
            report: Box::new(report),
            recovery: None,
            claimed: Vec::new(),
            agents: Vec::new(),
        }
    }

    #[track_caller]
    pub fn end(&mut self, token: u64, at: &str, attempt: AttemptId, report: Report) {
        let command = self.end_attempt(token, attempt, at, report);
        self.ok(command);
    }

    /// Ends an attempt, and says what to do now.
    #[track_caller]
    pub fn end_so(&mut self, at: &str, attempt: AttemptId, report: Report, what: Recovery) {
        let token = self.run_row().fence;
        let mut command = self.end_attempt(token, attempt, at, report);
        if let Command::EndAttempt { recovery, .. } = &mut command {
            *recovery = Some(Box::new(what));
        }
        self.ok(command);
    }

    /// Starts an agent on a node and ends it with that outcome.
    #[track_caller]
    pub fn work(&mut self, token: u64, at: &str, report: Report) {
        let attempt = self.begin(token, at);
        self.end(token, at, attempt, report);
    }

    #[track_caller]
    pub fn complete(&mut self, token: u64, at: &str) {
        self.work(token, at, Report::with_outcome(Outcome::Completed));
    }

    #[track_caller]
    pub fn fail(&mut self, token: u64, at: &str) {
        self.work(token, at, failure(FailureCategory::Logic, "it broke"));
    }

    #[track_caller]
    pub fn gate(&mut self, token: u64, at: &str, passed: bool) {
        let (run, node) = (self.run, node(at));
        self.ok(Command::StartGate {
            run,
            token,
            node: node.clone(),
        });
        let report = GateReport {
            passed,
            exit: Some(i32::from(!passed)),
            ..GateReport::default()
        };
        self.ok(Command::EndGate {
            run,
            token,
            node,
            fence: self.fence(at),
            report,
            recovery: None,
        });
    }

    #[track_caller]
    pub fn mend(&mut self, token: u64, at: &str) {
        let attempt = self.begin_as(token, at, Role::GateFix);
        self.end(token, at, attempt, Report::with_outcome(Outcome::Completed));
    }

    #[track_caller]
    pub fn make_commit(&mut self, token: u64, at: &str, result: Result<&str, &str>) {
        let (run, node) = (self.run, node(at));
        self.ok(Command::StartCommit {
            run,
            token,
            node: node.clone(),
            head: None,
        });
        let result = result
            .map(|commit| Some(commit.to_owned()))
            .map_err(str::to_owned);
        self.ok(Command::EndCommit {
            run,
            token,
            node,
            fence: self.fence(at),
            result,
        });
    }

    #[track_caller]
    pub fn skip(&mut self, at: &str) {
        self.ok(skip_item(self.run, at));
    }

    #[track_caller]
    pub fn retry(&mut self, at: &str) {
        self.ok(retry_item(self.run, at));
    }

    /// The only open question.
    #[track_caller]
    pub fn question(&self) -> DecisionId {
        let open: Vec<_> = self.tables.open_decisions(self.run).collect();
        assert_eq!(open.len(), 1, "one open question: {open:?}");
        open[0].id
    }

    #[track_caller]
    pub fn decide(&mut self, verb: Verb, why: Option<&str>) {
        let command = self.answer_to(self.question(), verb, why);
        self.ok(command);
    }

    pub fn answer_to(&self, decision: DecisionId, verb: Verb, why: Option<&str>) -> Command {
        let row = self.tables.decision(decision).expect("it was asked");
        Command::Decide {
            decision,
            run: row.run,
            verb,
            why: why.map(str::to_owned),
        }
    }

    // What is to be seen.

    #[track_caller]
    pub fn run_row(&self) -> &RunRow {
        self.tables.run(self.run).expect("the run was planned")
    }

    #[track_caller]
    pub fn state(&self) -> RunState {
        self.run_row().state
    }

    #[track_caller]
    pub fn item(&self, at: &str) -> &ItemRow {
        self.tables
            .item(self.run, &node(at))
            .unwrap_or_else(|| panic!("no node {at}"))
    }

    /// The states of some nodes, for one look at many.
    #[track_caller]
    pub fn states(&self, nodes: &[&str]) -> Vec<&'static str> {
        nodes
            .iter()
            .map(|at| self.item(at).state.as_str())
            .collect()
    }

    /// The node that the runner turns to next.
    pub fn next(&self) -> Option<&str> {
        self.tables
            .next_actionable_item(self.run)
            .map(|item| item.node.as_str())
    }

    pub fn pointer(&self) -> Option<&str> {
        self.tables
            .current_item(self.run)
            .map(|item| item.node.as_str())
    }

    // What must always hold.

    /// What must hold when an event comes to the rows that it is about.
    fn check_event(&self, event: &Event) {
        match event {
            Event::Run(RunEvent::Moved { run, from, .. }) => {
                assert_eq!(self.tables.run(*run).map(|row| row.state), Some(*from));
            }
            Event::Item(ItemEvent::Moved(moved)) => {
                let row = self.tables.item(moved.run, &moved.node).expect("an item");
                assert_eq!(row.state, moved.from, "{moved:?}");
                assert!(moved.from.can_become(moved.to), "{moved:?}");
                assert_eq!(row.attempt, None, "an agent works on it: {moved:?}");
                if moved.to == ItemState::Ready && moved.from == ItemState::Pending {
                    assert!(self.is_free(row), "{} is not free", row.node);
                }
            }
            Event::Attempt(AttemptEvent::Started {
                attempt, run, node, ..
            }) => {
                assert_eq!(self.tables.attempt(*attempt), None);
                let item = self.tables.item(*run, node);
                assert!(!item.is_some_and(ItemRow::has_open_wait), "{node}");
                assert_eq!(
                    self.tables.item(*run, node).map(|row| row.attempt),
                    Some(None)
                );
            }
            Event::Attempt(AttemptEvent::Ended { attempt, .. }) => {
                let row = self.tables.attempt(*attempt).expect("it was started");
                assert_eq!(row.report, None, "a second outcome");
            }
            Event::Decision(DecisionEvent::Opened {
                decision, number, ..
            }) => {
                assert_eq!(self.tables.decision(*decision), None);
                assert_eq!(*number, self.tables.next_decision_number());
            }
            Event::Decision(DecisionEvent::Made { decision, .. }) => {
                let row = self.tables.decision(*decision).expect("it was asked");
                assert_eq!(row.verdict, None, "decided twice");
            }
            _ => {}
        }
    }

    /// Whether everything that an item waits for is finished, by itself or with
    /// what it is part of.
    fn is_free(&self, item: &ItemRow) -> bool {
        let parent = self.parent(item);
        let tables = &self.tables;
        parent.is_none_or(|parent| self.is_free(parent) && !parent.has_open_wait())
            && !tables.has_blocking_predecessor(
                item.run,
                &item.plan.place,
                item.plan.turn,
                &item.plan.depends_on,
            )
            && item.plan.depends_on.iter().all(|on| {
                let on = self.tables.item(item.run, on);
                let goes_on = self.strategy() == Some(OnDependencyFailure::Continue);
                on.is_some_and(|on| on.state.is_finished() || (goes_on && on.state.is_broken()))
            })
            && !self.is_beside_failure(item)
    }

    fn strategy(&self) -> Option<OnDependencyFailure> {
        let row = self.tables.run(self.run);
        row.and_then(|row| row.plan.policy.on_dependency_failure)
    }

    /// Whether the plan lets the list that the item stands in fail with one of it.
    fn is_beside_failure(&self, item: &ItemRow) -> bool {
        let above = item.node.parent();
        let open = |row: &&ItemRow| row.node.parent() == above && !row.state.is_finished();
        let beside: Vec<&ItemRow> = self.tables.tree(item.run).filter(open).collect();
        self.strategy() == Some(OnDependencyFailure::FailPhase)
            && beside.iter().any(|row| row.state.is_broken())
            && beside.iter().any(|row| !row.plan.depends_on.is_empty())
    }

    fn parent(&self, item: &ItemRow) -> Option<&ItemRow> {
        item.node
            .parent()
            .and_then(|parent| self.tables.item(item.run, &parent))
    }

    pub fn check(&self) {
        self.check_spend();
        if self.tables.run(self.run).is_none() {
            return;
        }
        for item in self.tables.tree(self.run) {
            self.check_attempt(item);
            self.check_dependencies(item);
            self.check_family(item);
            Self::check_approval(item);
        }
        assert_eq!(find_contradiction(&self.tables, self.run), None);
        self.check_run();
    }

    /// Nothing but a person finishes what is to be approved.
    fn check_approval(item: &ItemRow) {
        if item.plan.approval && item.state == ItemState::Done {
            let mut evidence = item.proof.evidence.iter();
            let is_approved = evidence.any(|one| {
                matches!(
                    one,
                    Evidence::Decided { .. } | Evidence::Claimed { .. } | Evidence::TakenOver
                )
            });
            assert!(is_approved, "{} was not approved", item.node);
        }
    }

    /// The sums are those of the attempts, whatever became of them since.
    fn check_spend(&self) {
        let of = |wanted: &dyn Fn(&AttemptRow) -> bool| {
            let rows = self.tables.attempts().filter(|row| wanted(row));
            let reports = rows.filter_map(report_of);
            reports.fold(Spend::default(), |sum, report| {
                sum.plus(&report.counted_spend())
            })
        };
        for run in self.tables.runs() {
            assert_eq!(
                run.spent.spend,
                of(&|row| row.run == run.id),
                "{}",
                run.name
            );
            let mut models: BTreeMap<String, Spend> = BTreeMap::new();
            let rows = self.tables.attempts().filter(|row| row.run == run.id);
            for (model, spend) in rows.filter_map(report_of).flat_map(Report::spend_by_model) {
                let sum = models.entry(model.clone()).or_default();
                *sum = sum.plus(&spend);
            }
            assert_eq!(run.spent.spend_by_model, models, "{}", run.name);
            for item in self.tables.tree(run.id) {
                let sum = of(&|row| row.run == run.id && row.node == item.node);
                assert_eq!(item.work.spend, sum, "{}", item.node);
            }
        }
    }

    fn check_attempt(&self, item: &ItemRow) {
        let open: Vec<_> = self
            .tables
            .open_attempts()
            .filter(|row| row.node == item.node)
            .map(|row| row.id)
            .collect();
        assert_eq!(open, item.attempt.into_iter().collect::<Vec<_>>());
        let worked_on = item.is_leaf() && item.state == ItemState::Working;
        if worked_on && item.stage == Stage::Work && !self.taken_over {
            assert!(item.attempt.is_some(), "no attempt works on {}", item.node);
        }
        let gate_open = item.proof.gate_runs.as_ref().is_some_and(|runs| runs.open);
        if item.attempt.is_some() || item.work.committing.is_some() || gate_open {
            assert_eq!(item.state, ItemState::Working, "{}", item.node);
        }
        let open_hooks = item.work.hook_runs.iter().filter(|run| run.end.is_none());
        let at_hook = item.attempt.is_some() && item.stage == Stage::IterationHooks;
        assert_eq!(open_hooks.count(), usize::from(at_hook), "{}", item.node);
    }

    fn check_dependencies(&self, item: &ItemRow) {
        if self.taken_over {
            return;
        }
        let held_up = self
            .parent(item)
            .is_some_and(|parent| parent.state == ItemState::Pending || parent.has_open_wait());
        let waits = item.current_wait().is_some();
        assert!(!waits || self.is_free(item), "{} waits too soon", item.node);
        match item.state {
            ItemState::Pending => {
                assert!(!self.is_free(item), "{} waits for nothing", item.node);
            }
            ItemState::Ready => assert!(!held_up, "{} is ahead of its parent", item.node),
            ItemState::Working
            | ItemState::Waiting
            | ItemState::Done
            | ItemState::Failed
            | ItemState::Skipped
            | ItemState::Dropped
            | ItemState::Blocked => {}
        }
    }

    fn check_family(&self, item: &ItemRow) {
        if self.taken_over {
            return;
        }
        if item.state.is_finished() {
            assert_eq!(item.open_children, 0, "{} is finished too soon", item.node);
        }
        if !item.is_leaf() && item.stage != Stage::Work && item.state == ItemState::Working {
            assert_eq!(
                item.open_children, 0,
                "{} is not at its gate yet",
                item.node
            );
        }
        let broken = item.state.is_broken();
        if broken && let Some(parent) = self.parent(item) {
            assert!(
                parent.state.is_broken() || self.tables.open_attempts().count() > 0,
                "the failure of {} does not show above it",
                item.node
            );
        }
    }

    fn check_run(&self) {
        let run = self.run_row();
        let open: Vec<_> = self.tables.open_decisions(self.run).collect();
        let numbers: BTreeSet<_> = self.tables.decisions().map(|row| row.number).collect();
        assert_eq!(numbers.len(), self.tables.decisions().count());
        if self.tables.tree(self.run).next().is_some() {
            assert!(self.pointer().is_some(), "the pointer names nothing");
        }
        if self.taken_over {
            return;
        }
        let about_nodes = open.iter().filter(|question| question.file.is_none());
        let by_the_way = [
            DecisionKind::Question,
            DecisionKind::ClaimedItems,
            DecisionKind::AgentEdit,
            DecisionKind::Request,
        ];
        for question in about_nodes.filter(|row| !by_the_way.contains(&row.kind)) {
            if question.kind == DecisionKind::MergeNeeded && question.node.is_none() {
                let mut items = question
                    .nodes_needing_merge()
                    .map(|node| self.item(node.as_str()));
                let is_open = items.any(|item| !item.state.is_finished());
                assert!(is_open, "{question:?} is about nothing that is open");
                continue;
            }
            let node = question.node.as_ref().expect("what is no file is a node");
            let state = self.item(node.as_str()).state;
            let fits = question.kind == DecisionKind::Breakpoint
                || state.is_broken()
                || state == ItemState::Waiting;
            assert!(fits, "{question:?} is about an item that is {state}");
        }
        let asked = |kind| open.iter().any(|question| question.kind == kind);
        let standings = StandingCounts::count_items(self.tables.tree(self.run));
        assert_eq!(run.state, state_of_run(run, &standings), "{standings:?}");
        match (&run.state, &run.pause) {
            (RunState::Waiting, Some(pause)) => assert!(
                matches!(pause, Pause::Breakpoint { .. }) && asked(DecisionKind::Breakpoint),
                "no question is open about {pause:?}"
            ),
            (RunState::Waiting | RunState::Blocked, _) => assert!(
                asked(DecisionKind::HumanNeeded)
                    || asked(DecisionKind::Claim)
                    || asked(DecisionKind::MergeNeeded)
                    || asked(DecisionKind::Review)
                    || asked(DecisionKind::PullRequest)
                    || asked(DecisionKind::Wait)
                    || asked(DecisionKind::Approval)
                    || asked(DecisionKind::InHand)
                    || asked(DecisionKind::AgentReview)
                    || asked(DecisionKind::BlockedNode),
                "there is no way out of {}",
                run.state
            ),
            (RunState::Done, _) => assert_eq!(run.open_roots, 0),
            (RunState::New | RunState::Interrupted | RunState::Running, _) => {
                // A runner that begins a run finds out that all of it waits for a person.
                let waits = standings.asking > 0 || standings.broken > 0;
                let something = self.tables.next_actionable_item(self.run).is_some()
                    || self.tables.open_attempts().next().is_some()
                    || (run.state == RunState::New && waits)
                    || run.open_roots == 0;
                assert!(something, "{} and nothing can be started", run.state);
            }
            (RunState::Paused, _) => assert!(run.pause.is_some()),
        }
    }

    /// The rows, made anew from the journal alone.
    pub fn folded(&self) -> Tables {
        let mut tables = Tables::default();
        for recorded in &self.journal {
            tables.fold(&recorded.event, &recorded.record.stamp);
        }
        tables
    }
}

// Commands in few words.

pub fn start_run(run: RunId, limits: Limits) -> Command {
    Command::StartRun {
        run,
        owner: "host, process 1".to_owned(),
        limits,
        claims: ClaimSettings {
            // What runs before a first attempt is the matter of `claims`.
            baseline: Baseline::Never,
            ..ClaimSettings::default()
        },
        flags: Box::default(),
        settles: false,
        notify: false,
    }
}

pub fn start_attempt(run: RunId, token: u64, attempt: AttemptId, at: &str, role: Role) -> Command {
    Command::StartAttempt {
        memories: Vec::new(),
        tree: None,
        baseline: None,
        run,
        token,
        attempt,
        node: node(at),
        role,
        agent: "sh".to_owned(),
        model: None,
    }
}

pub fn skip_item(run: RunId, at: &str) -> Command {
    Command::SkipItem {
        run,
        node: node(at),
        why: None,
    }
}

pub fn retry_item(run: RunId, at: &str) -> Command {
    Command::RetryItem {
        run,
        node: node(at),
        why: None,
    }
}

// Reports in few words.

pub fn failure(category: FailureCategory, error: &str) -> Report {
    Report {
        error: Some(error.to_owned()),
        category: Some(category),
        ..Report::with_outcome(Outcome::Failed)
    }
}

/// What to do now, in few words.
pub fn recovery(action: RecoveryAction, rule: Rule) -> Recovery {
    Recovery {
        action,
        rule,
        guidance: format!("{rule}: do it so"),
        evidence: vec!["learn-0001".to_owned()],
        rejected: Vec::new(),
    }
}

/// Every action with a rule that leads to it.
pub const RECOVERIES: [(RecoveryAction, Rule); 9] = [
    (RecoveryAction::Skip, Rule::AlreadyDone),
    (RecoveryAction::Manual, Rule::AttemptsUsedUp),
    (RecoveryAction::Retry, Rule::ResolvedBlocker),
    (RecoveryAction::Retry, Rule::KnownWorkaround),
    (RecoveryAction::Retry, Rule::PassingTrouble),
    (RecoveryAction::FixState, Rule::BrokenState),
    (RecoveryAction::BreakChunks, Rule::TooLarge),
    (RecoveryAction::Skip, Rule::NotNeeded),
    (RecoveryAction::Manual, Rule::NothingKnown),
];

/// The answer of an agent that splits an item.
pub fn pieces(count: usize) -> Report {
    let piece = |number| SplitPiece {
        title: format!("piece {number}"),
        prompt: format!("how to do piece {number}"),
    };
    Report {
        pieces: (1..=count).map(piece).collect(),
        ..Report::with_outcome(Outcome::Completed)
    }
}

pub fn needs_human(question: &str) -> Report {
    Report {
        human: Some(HumanNeeded {
            reason: question.to_owned(),
            details: None,
        }),
        ..Report::with_outcome(Outcome::NeedsHuman)
    }
}

/// An event in a line, for comparing two decisions.
fn in_short(event: &Event) -> String {
    match event {
        Event::Item(ItemEvent::Moved(moved)) => {
            format!("{}: {} to {}\n", moved.node, moved.from, moved.to)
        }
        Event::Run(RunEvent::Moved { from, to, at, .. }) => {
            format!("run: {from} to {to} at {at:?}\n")
        }
        event => format!("{}\n", event.kind()),
    }
}

fn report_of(row: &AttemptRow) -> Option<&Report> {
    row.report.as_ref().or(row.unchecked.as_deref())
}

// Plans in few words.

/// What fails has failed: whatever has no category of its own is not tried again.
/// So many hooks, to be run after each item.
pub fn iteration_hooks(count: u32) -> Vec<IterationHook> {
    let hook = |nth| IterationHook {
        id: format!("hook-{nth}"),
        prompt: "learn from $ITERATION_TRANSCRIPT".to_owned(),
    };
    (0..count).map(hook).collect()
}

pub fn tried_once() -> Policy {
    Policy {
        retry: RetryPolicy {
            at_once_max: 0,
            ..RetryPolicy::default()
        },
        ..Policy::default()
    }
}

/// The first line of a plan whose items are worked on in any order.
pub const ANY_ORDER: &str = "in any order:\n";

/// Reads a plan: a node a line, two spaces a level, then what it has:
/// `gate=3`, `break`, `approval`, `parallel`, `after=NODE,NODE`, `files=PATH,PATH`, `state=done`,
/// `repository=NAME`, `pull-request=NUMBER`,
/// `wait=COMMAND`, `wait=SECONDS` (from the beginning of this world) or
/// `wait=COMMAND,SECONDS`.
pub fn plan(run: RunId, text: &str) -> Plan {
    let mut items: Vec<PlannedItem> = Vec::new();
    let (order, text) = match text.strip_prefix(ANY_ORDER) {
        Some(text) => (Order::Any, text),
        None => (Order::InTurn, text),
    };
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let depth = (line.len() - line.trim_start().len()) / 2;
        let parent = items
            .iter()
            .rev()
            .find(|item| item.place.depth() == depth)
            .filter(|_| depth > 0);
        let siblings = items
            .iter()
            .filter(|item| item.node.parent() == parent.map(|parent| parent.node.clone()))
            .count();
        let place = parent.map_or_else(TreePosition::default, |parent| parent.place.clone());
        let pending = parent.is_some_and(|parent| parent.state == ItemState::Pending);
        let mut words = line.split_whitespace();
        let id = words.next().expect("a line names a node");
        let mut item = PlannedItem {
            node: Node::child(parent.map(|parent| &parent.node), id, 1),
            id: id.to_owned(),
            place: place.child(u32::try_from(siblings).expect("few siblings")),
            state: if pending {
                ItemState::Pending
            } else {
                ItemState::Ready
            },
            prompt: Some(format!("do {id}")),
            model: None,
            gate: None,
            breakpoint: false,
            approval: false,
            depends_on: Vec::new(),
            native: None,
            past: piton_core::plan::ImportedItemHistory::default(),
            piece_of: None,
            injected: None,
            tags: ItemTags::default(),
            claims: piton_core::evidence::ClaimOverrides::default(),
            turn: piton_core::plan::ItemTurn::default(),
            scope: FileScope::default(),
            repository: None,
            wait: None,
        };
        words.for_each(|word| furnish(&mut item, word));
        items.push(item);
    }
    let mut others: Vec<String> = items
        .iter()
        .filter_map(|item| item.repository.clone())
        .collect();
    others.sort();
    others.dedup();
    let repositories = (!others.is_empty()).then(|| Repositories {
        own: Vec::new(),
        others,
    });
    Plan {
        requests: Vec::new(),
        run,
        name: "auth".to_owned(),
        face: "sprint-yaml".to_owned(),
        source: "sprints/auth/SPRINT.yaml".to_owned(),
        policy: Policy {
            repositories,
            ..tried_once()
        },
        order,
        native: None,
        past: None,
        items,
    }
}

fn furnish(item: &mut PlannedItem, word: &str) {
    match word.split_once('=') {
        None if word == "break" => item.breakpoint = true,
        None if word == "approval" => item.approval = true,
        None if word == "parallel" => item.turn.parallel = true,
        Some(("gate", runs)) => {
            item.gate = Some(Gate {
                script: "make test".to_owned(),
                on_fail_prompt: "mend it".to_owned(),
                runs_max: runs.parse().expect("a number of runs"),
                timeout_s: 60,
            });
        }
        Some(("after", nodes)) => {
            item.depends_on = nodes.split(',').map(node).collect();
            item.state = ItemState::Pending;
        }
        Some(("repository", name)) => item.repository = Some(name.to_owned()),
        Some(("pull-request", number)) => item.past.pull_request = number.parse().ok(),
        Some(("wait", words)) => item.wait = Some(a_wait(words)),
        Some(("files", paths)) => {
            item.scope = FileScope(paths.split(',').map(str::to_owned).collect());
        }
        Some(("state", state)) => {
            item.state = ALL_ITEM_STATES
                .into_iter()
                .find(|known| known.as_str() == state)
                .expect("a state");
        }
        Some(_) | None => panic!("`{word}` says nothing about a node"),
    }
}

/// A wait in few words: see [`plan`].
pub fn a_wait(words: &str) -> Wait {
    let mut wait = Wait {
        every_s: Some(30),
        ..Wait::default()
    };
    for word in words.split(',') {
        match word.parse() {
            Ok(seconds) => wait.until = Some(begin() + SignedDuration::from_secs(seconds)),
            Err(_) => wait.command = Some(word.to_owned()),
        }
    }
    wait
}

/// When this world begins.
fn begin() -> Timestamp {
    Timestamp::from_second(1_000_000).expect("in range")
}

pub const ALL_ITEM_STATES: [ItemState; 9] = [
    ItemState::Pending,
    ItemState::Ready,
    ItemState::Working,
    ItemState::Waiting,
    ItemState::Done,
    ItemState::Failed,
    ItemState::Skipped,
    ItemState::Blocked,
    ItemState::Dropped,
];
