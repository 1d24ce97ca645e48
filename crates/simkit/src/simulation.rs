//! Whole runs: scripted agents, people who interfere from other processes,
//! virtual time, and a crash wherever one may happen.
//!
//! Everything follows from a seed. The first is that of all random tests (see
//! [`crate::seed`]), the others follow it. More of them:
//! `PITON_SIM_SEEDS=100000 cargo test -p piton-core simulation`.

mod checks;
mod pull_requests;
mod reviews;
mod rng;
mod script;
mod service;
mod several;
mod sim;
mod waits;

use piton_core::gate::{Gate, GateReport};
use piton_core::lane::{LaneHold, LaneTerms, TargetRow, unit_of_node};
use piton_core::merge::{MergeCommit, MergeRow, MergeState, MergeStep};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};

use jiff::{SignedDuration, Timestamp};
use piton_core::attempt::{ProgramReport, Report, ReportedChanges};
use piton_core::classify::FailureCategory;
use piton_core::command::EditAuthor;
use piton_core::event::{AttemptEvent, DecisionEvent, ItemChange, ItemEvent, UnitEvent};
use piton_core::evidence::{Baseline, Evidence, Level, Worth, level_of_evidence};

use piton_core::policy::{Limits, Policy, RetryPolicy};
use piton_core::run::Pause;
use piton_core::run_loop::{
    BaselineAnswer, Effect, Input, LaneEnd, MergeEnd, RunLoop, RunLoopEnding, RunLoopOptions,
};
use piton_core::trouble::Trouble;
use piton_core::{
    AttemptId, Command, DecisionKind, DecodedRecord, Edit, Event, ItemRow, ItemState, Need, Node,
    Outcome, Refusal, Role, RunState, Tables, Verb,
};

use self::rng::Rng;
use self::script::Script;
use self::sim::{Agent, AskedWaits, Checks, Crash, Work, WorkFor};
use self::waits::with_waits;
use crate::backing::Backing;
use crate::edits::draw_edits;
use crate::plans::draw_plan;
use crate::repo::Repo;
use crate::world::{ANY_ORDER, World, iteration_hooks, start_run};

pub use sim::{CALM, Chaos, Sim};

/// So many operations of the disk a commit takes at most, roughly.
const DISK_OPERATIONS: u32 = 30;

/// After so many effects nothing is cut any more. A run of eight lanes whose runner dies
/// every eighth effect hardly gets on: that it ends can be asked of it only from here.
const CUTS_UNTIL: u32 = 15_000;

/// After so many effects no agent writes into the plan any more: where items take many
/// attempts each, it would grow faster than it is worked off.
const WRITES_UNTIL: u32 = 5_000;

/// After so many effects a run counts as one that never ends.
const EFFECTS_MAX: u32 = 20_000;

/// What is said of a lane that was removed.
const LOST: &str = "the lane is gone";

/// What the first commit of the other repository is called.
const OTHER_FIRST: usize = 1_000_000;

/// Half of the items of the first two levels are worked on in another repository, with
/// what lies below them.
fn with_repository(plan: &str, name: &str, seed: u32) -> String {
    let script = Script(u64::from(seed));
    let with_repository = |(at, line): (usize, &str)| {
        let is_unit = !line.starts_with("    ") && line != ANY_ORDER.trim_end();
        let number = script.number("repository", &Node::from_text(line.trim()), at);
        match is_unit && number < 50 {
            true => format!("{line} repository={name}\n"),
            false => format!("{line}\n"),
        }
    };
    plan.lines().enumerate().map(with_repository).collect()
}

/// Half of the plans say of some items which files they are about.
fn with_files(plan: &str, seed: u32) -> String {
    if seed.is_multiple_of(2) {
        return plan.to_owned();
    }
    let script = Script(u64::from(seed));
    let with_files = |(at, line): (usize, &str)| {
        let files = ["a", "a/x", "a/y", "b,c", "."];
        let number = script.number("files", &Node::from_text(line), at);
        let number = usize::try_from(number).expect("below 100");
        match files.get(number / 8) {
            Some(files) if line != ANY_ORDER.trim_end() => format!("{line} files={files}\n"),
            _ => format!("{line}\n"),
        }
    };
    plan.lines().enumerate().map(with_files).collect()
}

/// Half of the runs are worked on by one, the others by up to four.
fn workers(rng: &mut Rng) -> NonZeroUsize {
    let more = if rng.percent(50) { rng.below(4) } else { 0 };
    NonZeroUsize::MIN.saturating_add(more)
}

impl Sim {
    pub fn new(seed: u32, chaos: Chaos) -> Self {
        Self::on(seed, chaos, None)
    }

    /// A simulation whose commands a store carries out as well, if there is one.
    pub fn on(seed: u32, chaos: Chaos, backing: Option<Box<dyn Backing>>) -> Self {
        Self::on_plan((seed, str::to_owned), chaos, backing)
    }

    /// One whose plan, as the seed has it, is worked on in the repository of the project
    /// and in another one of this name.
    pub fn in_two_repositories(seed: u32, chaos: Chaos, name: &str) -> Self {
        let with_other = |text: &str| with_repository(text, name, seed);
        let mut sim = Self::on_plan((seed, with_other), chaos, None);
        let other = Repo::new(sim.script.0, OTHER_FIRST);
        sim.other_repos.insert(name.to_owned(), other);
        sim
    }

    /// One in which others left the work on some items in pull requests.
    pub fn with_what_others_left(seed: u32, chaos: Chaos) -> Self {
        let with_others = |text: &str| service::with_left(text, seed);
        Self::on_plan((seed, with_others), chaos, None)
    }

    fn on_plan(
        (seed, change): (u32, impl Fn(&str) -> String),
        chaos: Chaos,
        backing: Option<Box<dyn Backing>>,
    ) -> Self {
        let mut rng = Rng::new(u64::from(seed));
        let text = with_files(&draw_plan(&mut |below| rng.below(below)), seed);
        let text = change(&with_waits(&text, seed));
        let policy = Policy {
            retry: RetryPolicy {
                categories: vec![FailureCategory::Network, FailureCategory::Validation],
                at_once_max: rng.small(3),
                ..RetryPolicy::default()
            },
            auto_commit: rng.percent(40),
            iteration_hooks: iteration_hooks(seed % 5 / 3),
            review: reviews::policy(seed),
            ..Policy::default()
        };
        let limits = Limits {
            iterations_max: rng.percent(30).then(|| 1 + rng.small(4)),
            tasks_max: rng.percent(20).then(|| 1 + rng.small(3)),
            time_box_s: rng.percent(30).then(|| 120 + rng.next() % 300),
            // What agents use is the matter of `runner/budgets`.
            ..Limits::default()
        };
        let options = RunLoopOptions {
            agents: vec!["scripted".to_owned()],
            wait: rng.percent(40),
            once: rng.percent(15),
            workers: workers(&mut rng),
            ..RunLoopOptions::default()
        };
        let mut world = World::backed(&text, policy, backing);
        world.thorough = seed.is_multiple_of(8);
        Self {
            world,
            script: Script(u64::from(seed)),
            rng,
            chaos,
            limits,
            options,
            agents: BTreeMap::new(),
            works: BTreeMap::new(),
            wake: None,
            asked_waits: AskedWaits::default(),
            wait_edits: None,
            head: 0,
            cuts: 0,
            most_at_once: 0,
            effects: 0,
            seen: 0,
            work_tree: None,
            repo: None,
            other_repos: BTreeMap::new(),
            service: None,
            checked: 0,
            others: Vec::new(),
            runners_max: 1,
            most_runners: 1,
            lane_takers: BTreeMap::new(),
            checks: Checks::new(),
        }
    }

    /// Runs and runs again until the run is done.
    pub fn carried_through(mut self) -> Self {
        while self.world.state() != RunState::Done {
            // Only this one runner is ever started, so the runner that held the
            // run before is gone.
            self.world.holder_gone = true;
            self.care();
            if self.world.state() == RunState::Done {
                break;
            }
            if self.invocation().is_err() {
                self.cuts += 1;
                self.crash();
            }
        }
        self.world.check();
        self.world.restart();
        assert_eq!(self.world.folded(), self.world.tables);
        self
    }

    /// Agents may outlive their runner, or die with it.
    fn crash(&mut self) {
        self.world.restart();
        self.works.clear();
        self.asked_waits.clear();
        self.others.clear();
        let dies = self.rng.percent(40);
        for agent in self.agents.values_mut().filter(|agent| agent.alive) {
            if dies {
                agent.alive = false;
                agent.report = Report::with_outcome(Outcome::Interrupted);
            }
        }
        let seconds = i64::try_from(self.rng.below(120)).expect("small");
        self.world.pass(seconds);
        self.lose_lanes();
    }

    fn may_crash(&mut self) -> Result<(), Crash> {
        if self.rng.percent(self.chaos.crashes) {
            return Err(Crash);
        }
        Ok(())
    }

    fn invocation(&mut self) -> Result<(), Crash> {
        let run = self.world.run;
        let mut start = start_run(run, self.limits.clone());
        if let Command::StartRun { claims, .. } = &mut start {
            claims.baseline = Baseline::Auto;
            if self.work_tree.is_some() {
                claims.rules.word = Worth::Ask;
            }
        }
        self.world.ok(start);
        self.world.holder_gone = false;
        self.may_crash()?;
        let token = self.world.run_row().fence;
        self.enter_lanes(token)?;
        let tables = self.picture();
        self.seen = self.world.journal.len();
        self.wake = None;
        self.asked_waits.clear();
        let options = RunLoopOptions {
            workers: self.workers(),
            ..self.options.clone()
        };
        let mut runner = RunLoop::new(run, token, options, tables);
        let mut queue = VecDeque::from([Effect::Look]);
        loop {
            self.effects += 1;
            assert!(self.effects < EFFECTS_MAX, "it never ends");
            if self.effects == CUTS_UNTIL {
                (self.chaos.crashes, self.chaos.signals) = (0, 0);
            }
            self.take_turns(&mut runner, &mut queue);
            let token = runner.token();
            if !self.is_given_up(token) {
                self.world.heartbeat(token);
            }
            let Some(effect) = queue.pop_front() else {
                queue.extend(self.happens(&mut runner)?);
                continue;
            };
            self.may_crash()?;
            self.meddle();
            self.people_act();
            self.change_a_check();
            self.change_a_wait();
            if let Effect::Finish(ending) = effect {
                assert!(queue.is_empty());
                self.finish(token, ending)?;
                if self.hand_over(&mut runner, &mut queue) {
                    continue;
                }
                return Ok(());
            }
            let Some(input) = self.carry_out(&mut runner, effect)? else {
                continue;
            };
            self.may_crash()?;
            let looked = matches!(input, Input::Looked { .. });
            queue.extend(runner.step(self.world.now, input));
            if looked && self.world.thorough {
                self.check_picture(&runner);
            }
            if self.rng.percent(self.chaos.signals) {
                queue.extend(self.signal(&mut runner));
            }
            self.check_lanes();
            self.check_checks();
            let row = self.world.run_row();
            let within = self
                .limits
                .iterations_max
                .is_none_or(|max| row.invocation.iterations <= max);
            assert!(within, "{} agents were started", row.invocation.iterations);
        }
    }

    /// What a runner reads when it begins.
    fn picture(&self) -> Tables {
        let run = self.world.run;
        let needs = [
            Need::Run(run),
            Need::Tree(run),
            Need::OpenAttempts(Some(run)),
        ];
        self.world.tables.select_rows(&needs, self.world.now)
    }

    /// How many items may be worked on at once. Where agents lie about one
    /// tree, one works at a time.
    pub fn workers(&self) -> NonZeroUsize {
        match self.work_tree {
            Some(_) => NonZeroUsize::MIN,
            None => self.options.workers,
        }
    }

    /// Nothing is left to be carried out: time passes until something happens.
    fn happens(&mut self, runner: &mut RunLoop) -> Result<Vec<Effect>, Crash> {
        self.may_crash()?;
        self.meddle();
        self.people_act();
        self.change_a_check();
        self.change_a_wait();
        self.watch_others(runner)?;
        let news = self.news();
        if !news.is_empty() {
            return Ok(runner.step(self.world.now, Input::Changed(news)));
        }
        if self.rng.percent(self.chaos.signals) {
            return Ok(self.signal(runner));
        }
        let now = self.world.now;
        let works = self.works.iter();
        let first = works
            .map(|(node, work)| (work.next(now), node.clone()))
            .min();
        let wakes = self.wake.map(|wake| (wake, None));
        let first = first.map(|(time, node)| (time, Some(node)));
        let next = first.into_iter().chain(wakes).min();
        let answers = self.asked_waits.first();
        let answers = answers.filter(|(at, _)| next.as_ref().is_none_or(|(time, _)| at <= time));
        if let Some((at, node)) = answers {
            self.world.now = now.max(at);
            let input = self.answers_wait(node);
            return Ok(runner.step(self.world.now, input));
        }
        let Some((time, node)) = next else {
            assert!(self.runners_max > 1, "the loop waits for nothing");
            self.world.pass(1);
            return Ok(Vec::new());
        };
        self.world.now = now.max(time);
        let input = match node {
            None => {
                self.wake = None;
                Input::Time
            }
            Some(node) => self.ends(node, runner.token()),
        };
        self.may_crash()?;
        Ok(runner.step(self.world.now, input))
    }

    /// Work on an item ends, or the time box ends while it goes on.
    fn ends(&mut self, node: Node, token: u64) -> Input {
        let now = self.world.now;
        let work = self.works.get_mut(&node).expect("it works");
        let ends_itself = work.is_stopped || work.ends <= now;
        if !ends_itself {
            work.until = None;
            self.cuts += 1;
            return Input::TimeBoxOver { node };
        }
        let work = self.works.remove(&node).expect("it works");
        match work.for_ {
            WorkFor::Agent(attempt) => {
                let agent = self.agents.get_mut(&attempt).expect("it was started");
                if work.is_stopped {
                    agent.report = cut_short(&agent.report);
                }
                agent.alive = false;
                Input::AgentEnded {
                    attempt,
                    report: Box::new(agent.report.clone()),
                    recovery: agent.recovery(),
                    node,
                }
            }
            WorkFor::Git(effect, unit) => self.git_ends((*effect, &unit), work.is_stopped, token),
            WorkFor::Gate(script) => {
                let turn = self.count(|event| {
                    matches!(event, Event::Item(ItemEvent::GateEnded { node: at, report, .. })
                        if *at == node && !report.interrupted)
                });
                let report = GateReport {
                    passed: !work.is_stopped && self.script.gate_passes(&node, turn),
                    interrupted: work.is_stopped,
                    tree: self.hash(),
                    ..GateReport::default()
                };
                if report.passed {
                    self.check_passed(&node, &script);
                }
                Input::GateEnded {
                    node,
                    report,
                    recovery: None,
                }
            }
        }
    }

    /// Something is started on an item by a runner, on which nothing works.
    fn start(&mut self, token: u64, node: &Node, work: Work) {
        // One that others have given up does not know it yet: what it starts comes to
        // nothing, or is refused.
        if !self.is_given_up(token) {
            self.check_no_other_work(node, &work);
        }
        let before = self.works.insert(node.clone(), work);
        assert!(before.is_none(), "two work on {node}");
        let at_work = self.works.values();
        let at_work = at_work.filter(|work| !matches!(work.for_, WorkFor::Git(..)));
        self.most_at_once = self.most_at_once.max(at_work.count());
    }

    /// What the loop holds in memory is what is stored.
    fn check_picture(&self, runner: &RunLoop) {
        let run = self.world.run;
        assert_eq!(runner.run(), self.world.tables.run(run));
        assert!(runner.tables().tree(run).eq(self.world.tables.tree(run)));
        let stored = self.world.tables.open_attempts();
        assert!(runner.tables().open_attempts().eq(stored));
    }

    fn signal(&mut self, runner: &mut RunLoop) -> Vec<Effect> {
        self.cuts += 1;
        let reason = "SIGTERM".to_owned();
        runner.step(self.world.now, Input::Stop { reason })
    }

    fn finish(&mut self, token: u64, ending: RunLoopEnding) -> Result<(), Crash> {
        assert!(self.works.is_empty(), "something still works");
        if self.runners_max > 1 && self.is_given_up(token) {
            return Ok(());
        }
        assert_eq!(
            ending,
            RunLoopEnding::State,
            "no other runner holds the run"
        );
        let is_one_of_many = self.runners_max > 1;
        assert!(is_one_of_many || self.world.state() != RunState::Running);
        let run = self.world.run;
        self.world.ok(Command::ReleaseRun { run, token });
        let row = self.world.run_row();
        let is_left = row.runners().next().is_none();
        assert!(
            !is_left || row.state != RunState::Running,
            "no runner works on it"
        );
        self.may_crash()
    }

    /// The events since the last look, in the order of their stream.
    fn news(&mut self) -> Vec<DecodedRecord> {
        let news = self.world.journal[self.seen..].to_vec();
        self.seen = self.world.journal.len();
        news
    }

    fn carry_out(&mut self, runner: &mut RunLoop, effect: Effect) -> Result<Option<Input>, Crash> {
        Ok(Some(match effect {
            Effect::Look => {
                self.watch_others(runner)?;
                let attempt = self.world.fresh_attempt();
                Input::Looked {
                    events: self.news(),
                    pause_file: false,
                    attempt,
                }
            }
            Effect::Commit(mut command) => {
                if let Command::StartAttempt { tree, .. } = &mut command {
                    *tree = self.hash();
                }
                self.commit(&command)?
            }
            Effect::CommitIntent { node } => {
                let (run, token) = (self.world.run, runner.token());
                let head = match self.lane_of(&node) {
                    Some((lane, repo, _)) => Some(repo.head(lane.lane)),
                    None => Some(self.head.to_string()),
                };
                self.commit(&Command::StartCommit {
                    run,
                    token,
                    node,
                    head,
                })?
            }
            // Others have ended its attempt: what its agent does counts for nothing.
            Effect::StartAgent { attempt, node, .. } if self.is_given_up(runner.token()) => {
                Input::AgentEnded {
                    attempt,
                    report: Box::new(Report::with_outcome(Outcome::Interrupted)),
                    recovery: None,
                    node,
                }
            }
            Effect::StartAgent {
                attempt,
                node,
                role,
                until,
            } => {
                self.agent(runner.token(), attempt, &node, (role, until))?;
                return Ok(None);
            }
            Effect::SettleAgent { attempt, node } => self.settle(attempt, node),
            Effect::AskBaseline { attempt, node } => {
                let runs = self.script.number("baseline", &node, 0) < 60;
                let answer = if runs {
                    BaselineAnswer::Run
                } else {
                    BaselineAnswer::Skip(None)
                };
                Input::Baseline {
                    attempt,
                    node,
                    answer,
                }
            }
            Effect::RunGate { node, .. }
            | Effect::MakeCommit { node, .. }
            | Effect::SaveWork { node }
                if self.loses_lane(&node) =>
            {
                let why = LOST.to_owned();
                Input::WorkLost { node, why }
            }
            Effect::RunGate { node, .. } => {
                let gate = self.world.item(node.as_str()).pending_gate();
                let script = gate.map_or_else(String::new, |gate| gate.script.clone());
                let work = Work {
                    for_: WorkFor::Gate(script),
                    ends: self.world.now + SignedDuration::from_secs(5),
                    until: None,
                    is_stopped: false,
                };
                self.start(runner.token(), &node, work);
                return Ok(None);
            }
            // Its lane is its own still, and its work counts for nothing.
            Effect::MakeCommit { node, .. } if self.is_given_up(runner.token()) => {
                let result = Ok(None);
                Input::CommitEnded { node, result }
            }
            Effect::MakeCommit { node, settle } => self.make_commit(&node, settle)?,
            Effect::LaneIntent { node } => {
                let command = self.choose_lane(runner.token(), node);
                self.commit(&command)?
            }
            Effect::PrepareLane { ref node }
            | Effect::SaveWork { ref node }
            | Effect::MakeMerge { ref node }
            | Effect::CheckMerge { ref node }
            | Effect::FollowPullRequest { ref node }
            | Effect::MoveTarget { ref node } => {
                let node = node.clone();
                let unit = Box::new(self.world.item(node.as_str()).clone());
                let took = SignedDuration::from_secs(i64::from(self.rng.small(7)));
                let work = Work {
                    ends: self.world.now + took,
                    for_: WorkFor::Git(Box::new(effect), unit),
                    until: None,
                    is_stopped: false,
                };
                self.start(runner.token(), &node, work);
                return Ok(None);
            }
            Effect::OpenPullRequest { node } => self.open_pull_request(&node)?,
            Effect::TakePullRequest { node, number } => self.take_pull_request(node, number)?,
            Effect::LookAtPullRequest { node, number } => self.look_at_pull_request(node, number),
            Effect::WaitUntil(time) => {
                self.wake = Some(time);
                return Ok(None);
            }
            Effect::WakeAt(time) => {
                self.wake = Some(time);
                return Ok(None);
            }
            Effect::EndAsking { node } => {
                self.end_asking(&node);
                return Ok(None);
            }
            Effect::AskWait { node, wait } => {
                self.ask_wait(node, wait);
                return Ok(None);
            }
            Effect::WaitForPerson => {
                if self.service.is_some() {
                    self.world.pass(20);
                }
                self.care();
                Input::Changed(self.news())
            }
            Effect::StopWork { node, .. } => {
                if let Some(work) = self.works.get_mut(&node) {
                    work.is_stopped = true;
                }
                return Ok(None);
            }
            Effect::Finish(_) => unreachable!("handled above"),
        }))
    }

    fn commit(&mut self, command: &Command) -> Result<Input, Crash> {
        // A crash may come while the store commits, when it has one.
        let is_cut = self.world.is_backed() && self.rng.percent(self.chaos.crashes);
        if is_cut {
            let operations = self.rng.small(DISK_OPERATIONS);
            self.world.cut_power_after(Some(operations));
        }
        let committed = self.world.commit_until_power_cut(command);
        self.world.cut_power_after(None);
        let result = committed.map_err(|_| Crash)?;
        self.may_crash()?;
        Ok(match result {
            Ok(_) => Input::Committed(self.news()),
            Err(refusal) => Input::Refused(refusal),
        })
    }

    /// How many tries of that role at a node came to an end of their own.
    fn turn(&self, node: &Node, role: Role) -> usize {
        let ended = self.world.tables.attempts().filter(|row| {
            let ended = row.report.as_ref();
            row.node == *node
                && row.role == role
                && ended.is_some_and(|report| report.outcome != Outcome::Interrupted)
        });
        ended.count()
    }

    fn agent(
        &mut self,
        token: u64,
        attempt: AttemptId,
        node: &Node,
        (role, until): (Role, Option<Timestamp>),
    ) -> Result<(), Crash> {
        let alive = self.agents.values().filter(|agent| agent.alive).count();
        let at_work = self.works.values();
        let at_work = at_work.filter(|work| matches!(work.for_, WorkFor::Agent(_)));
        let is_alone = self.runners_max < 2;
        let at_work = at_work.count();
        assert!(
            !is_alone || alive == at_work,
            "an agent without a runner works on"
        );
        let mut moves = self.world.journal.iter().rev();
        // A person may have said that it is to be done again, or what was done is lost.
        let done = moves.find_map(|recorded| match &recorded.event {
            Event::Item(ItemEvent::Moved(moved)) if moved.node == *node => {
                match (moved.from, moved.to) {
                    (_, ItemState::Done) => Some(true),
                    (ItemState::Done, _) => Some(false),
                    _ => None,
                }
            }
            _ => None,
        });
        let done = done == Some(true);
        // What holds others may have been opened again by a new one.
        let mends = matches!(role, Role::GateFix | Role::Resolve);
        assert!(!done || mends, "{node} was done before");
        let turn = self.turn(node, role);
        let seconds = self.script.seconds(node, turn);
        let report = self.at_work(node, role, turn);
        let agent = Agent {
            node: node.clone(),
            alive: true,
            done_at: self.world.now + SignedDuration::from_secs(seconds),
            report,
            recovery: self.script.recovery(node, role, turn),
        };
        let work = Work {
            for_: WorkFor::Agent(attempt),
            ends: agent.done_at,
            until,
            is_stopped: false,
        };
        self.agents.insert(attempt, agent);
        self.start(token, node, work);
        self.write_in_lane(node, role);
        self.may_crash()?;
        let writes = self.work_tree.is_some() && self.effects < WRITES_UNTIL;
        if writes && self.script.number("writes", node, turn) < 40 {
            self.write_as_agent(attempt);
            self.may_crash()?;
        }
        Ok(())
    }

    /// The work tree at this moment.
    fn hash(&self) -> Option<String> {
        self.work_tree.map(|tree| format!("tree-{tree}"))
    }

    /// What an agent does to the tree, and what it says. One that lies may say
    /// that it is done and change nothing, or say nothing at all.
    fn at_work(&mut self, node: &Node, role: Role, turn: usize) -> Report {
        let before = self.hash();
        if let Some(tree) = &mut self.work_tree {
            let works = match role {
                // Some change what they are to look at.
                Role::Reviewer => turn < 4 && self.script.number("works", node, turn) < 10,
                _ => self.script.number("works", node, turn) < 50,
            };
            *tree += u64::from(works);
        }
        let is_mute = before.is_some()
            && role != Role::Reviewer
            && self.script.number("mute", node, turn) < 20;
        let report = match self.script.report(node, role, turn) {
            report if is_mute && report.outcome == Outcome::Completed => Report {
                outcome: Outcome::Failed,
                category: Some(FailureCategory::Logic),
                program: ProgramReport {
                    trouble: Some(Trouble::NoVerdict),
                    can_be_asked: turn.is_multiple_of(2),
                    ..report.program
                },
                ..report
            },
            report => report,
        };
        Report {
            changes: ReportedChanges {
                tree_before: before,
                tree_after: self.hash(),
                ..report.changes
            },
            ..report
        }
    }

    /// The agent marks items and edits the plan in its file. Nothing that it
    /// writes finishes an item or takes a control away.
    fn write_as_agent(&mut self, attempt: AttemptId) {
        let run = self.world.run;
        let mut rng = self.rng.clone();
        let mut edits = draw_edits(&self.world, &mut |below| rng.below(below));
        let nodes: Vec<Node> = self
            .world
            .tables
            .tree(run)
            .map(|item| item.node.clone())
            .collect();
        for _ in 0..rng.below(4) {
            edits.push(Edit::SetState {
                node: nodes[rng.below(nodes.len())].clone(),
                to: ItemState::Done,
            });
        }
        self.rng = rng;
        let controls = |sim: &Self| -> Vec<_> {
            let items = nodes.iter().map(|node| sim.world.item(node.as_str()));
            items
                .map(|item| {
                    (
                        item.state.is_finished(),
                        item.plan.gate.clone(),
                        item.plan.breakpoint,
                        item.tries.retries,
                        item.plan.depends_on.clone(),
                    )
                })
                .collect()
        };
        let before = controls(self);
        let result = self.world.commit(&Command::TakeEdits {
            run,
            token: Some(self.world.run_row().fence),
            file: "PROGRESS.yaml".to_owned(),
            edits,
            word: EditAuthor::MaybeAgent {
                attempt,
                criteria: false,
                in_lane: false,
            },
        });
        assert!(result.is_ok(), "{result:?}");
        for (node, (before, after)) in nodes.iter().zip(before.iter().zip(controls(self))) {
            // New steps may open a phase again.
            assert!(before.0 || !after.0, "{node} was finished by an agent");
            assert!(
                before.1.is_none() || before.1 == after.1,
                "{node} lost its check"
            );
            assert!(!before.2 || after.2, "{node} lost its break");
            assert_eq!(before.3, after.3, "{node}: retries");
            let dropped = before.4.iter().find(|on| !after.4.contains(on));
            assert_eq!(dropped, None, "{node} lost a dependency");
        }
    }

    /// Finds out what became of an agent whose runner died.
    fn settle(&mut self, attempt: AttemptId, node: Node) -> Input {
        let now = self.world.now;
        let (report, recovery) = match self.agents.get_mut(&attempt) {
            None => (Report::with_outcome(Outcome::Interrupted), None),
            Some(agent) => {
                assert_eq!(agent.node, node);
                if agent.alive && agent.done_at > now {
                    agent.report = Report::with_outcome(Outcome::Interrupted);
                }
                agent.alive = false;
                (agent.report.clone(), agent.recovery())
            }
        };
        let report = Report {
            changes: ReportedChanges {
                tree_after: self.hash(),
                ..report.changes
            },
            ..report
        };
        Input::AgentEnded {
            attempt,
            node,
            report: Box::new(report),
            recovery,
        }
    }

    fn count(&self, of: impl Fn(&Event) -> bool) -> usize {
        let events = self.world.journal.iter();
        events.filter(|recorded| of(&recorded.event)).count()
    }

    fn make_commit(&mut self, at: &Node, settle: bool) -> Result<Input, Crash> {
        let ended = |result| Input::CommitEnded {
            node: at.clone(),
            result,
        };
        let intent = self.world.item(at.as_str()).work.committing.clone();
        let before = intent.expect("the intent is durable").head;
        if self.repo.is_some() {
            return self.commit_in_lane(at, before.as_deref(), settle);
        }
        if settle && before != Some(self.head.to_string()) {
            return Ok(ended(Ok(Some(self.head.to_string()))));
        }
        let turn = self.count(
            |event| matches!(event, Event::Item(ItemEvent::CommitEnded { node, .. }) if node == at),
        );
        if !self.script.commit_passes(at, turn) {
            return Ok(ended(Err("the hook says no".to_owned())));
        }
        self.head += 1;
        self.may_crash()?;
        Ok(ended(Ok(Some(self.head.to_string()))))
    }

    /// The person in charge: answers what is asked and lets go on what stopped.
    fn care(&mut self) {
        let run = self.world.run;
        self.care_for_pull_requests();
        while let Some((id, at)) = self.asked() {
            let turn = self.count(|event| {
                matches!(event, Event::Decision(DecisionEvent::Opened { node, decision_kind, .. })
                    if node.as_ref() == Some(&at) && decision_kind.is_blocking_run())
            });
            let kind = self.world.tables.decision(id).map(|row| row.kind);
            let is_claim = kind == Some(DecisionKind::Claim);
            let is_review = matches!(
                kind,
                Some(DecisionKind::Review | DecisionKind::Approval | DecisionKind::AgentReview)
            );
            let is_wait = kind == Some(DecisionKind::Wait);
            // It asks nothing: another person works on it.
            let is_in_hand = kind == Some(DecisionKind::InHand);
            let verb = match self.script.verdict(&at, turn) {
                Verb::Answer if is_review && turn < 4 => Verb::Reject,
                Verb::Answer | Verb::Retry if is_review => Verb::Approve,
                Verb::Answer if is_wait => Verb::Approve,
                Verb::Answer if is_in_hand => Verb::Retry,
                _ if is_claim && turn.is_multiple_of(3) => Verb::Approve,
                verb => verb,
            };
            let command = self.world.answer_to(id, verb, Some("because"));
            self.world.ok(command);
        }
        let paused = self.world.run_row().pause.clone();
        if paused.is_some_and(|pause| !matches!(pause, Pause::Limit { .. })) {
            self.world.ok(Command::ResumeRun { run });
        }
    }

    fn asked(&self) -> Option<(piton_core::DecisionId, Node)> {
        self.world
            .tables
            .open_decisions(self.world.run)
            .find(|row| row.kind.is_blocking_run() && row.kind != DecisionKind::PullRequest)
            .and_then(|row| Some((row.id, row.node.clone()?)))
    }

    /// A person does something out of turn, from another process.
    fn meddle(&mut self) {
        if self.chaos.meddling == 0 || !self.rng.percent(8) {
            return;
        }
        self.chaos.meddling -= 1;
        // Who works in place draws what was drawn before there were lanes.
        if let Some(repo) = &mut self.repo {
            let value = self.rng.next();
            if value.is_multiple_of(7) {
                let other = self.other_repos.values_mut().next();
                other
                    .filter(|_| value.is_multiple_of(2))
                    .unwrap_or(repo)
                    .meddle(value);
                return;
            }
        }
        let run = self.world.run;
        let nodes: Vec<_> = self
            .world
            .tables
            .tree(run)
            .map(|item| item.node.clone())
            .collect();
        let node = nodes[self.rng.below(nodes.len())].clone();
        if self.rng.percent(35) {
            let mut rng = self.rng.clone();
            let edits = draw_edits(&self.world, &mut |below| rng.below(below));
            self.rng = rng;
            let token = self.rng.percent(30).then(|| self.world.run_row().fence);
            let file = "PROGRESS.yaml".to_owned();
            let by_person = self.rng.percent(30);
            let by_hand = self.rng.percent(50);
            let command = Command::TakeEdits {
                run,
                token,
                file,
                edits,
                word: match (by_person, by_hand) {
                    (true, true) => EditAuthor::Typed {
                        through: "piton issue".to_owned(),
                        why: None,
                    },
                    (true, false) => crate::edits::a_persons(&self.world),
                    (false, true) => EditAuthor::Hand {
                        by: "ada".to_owned(),
                        brought: Vec::new(),
                    },
                    (false, false) => EditAuthor::File,
                },
            };
            // A person is refused what cannot be done; a file is asked about.
            let result = self.world.commit(&command);
            // The runner that found it in the file may be gone by now.
            let is_fenced = matches!(result, Err(Refusal::Fenced { .. }));
            let is_gone = is_fenced && self.runners_max > 1;
            assert!(by_person || is_gone || result.is_ok(), "{result:?}");
            return;
        }
        let command = match self.rng.below(8) {
            0 | 1 => Command::AskPause { run },
            2 => Command::AskStop { run },
            3 => Command::ResumeRun { run },
            4 | 5 => Command::RetryItem {
                run,
                node,
                why: None,
            },
            6 => Command::SkipItem {
                run,
                node,
                why: None,
            },
            _ => {
                let open: Vec<_> = self
                    .world
                    .tables
                    .open_decisions(run)
                    .map(|row| row.id)
                    .collect();
                let verbs = [
                    Verb::Approve,
                    Verb::Answer,
                    Verb::Retry,
                    Verb::Skip,
                    Verb::Reject,
                ];
                if open.is_empty() {
                    return;
                }
                // Who works in place is asked for no review.
                let known = 4 + usize::from(self.repo.is_some());
                let verb = verbs[self.rng.below(known)];
                let id = open[self.rng.below(open.len())];
                self.world.answer_to(id, verb, Some("so there"))
            }
        };
        // Refused or not: both are fine.
        drop(self.world.commit(&command));
    }

    // Lanes, and the merge queue.

    /// The run is worked on in lanes, by so many workers.
    #[must_use]
    pub fn in_lanes(mut self, workers: usize) -> Self {
        self.options.workers = NonZeroUsize::MIN.saturating_add(workers - 1);
        self.repo = Some(Repo::new(self.script.0, 0));
        self
    }

    /// The repository in which an item is worked on.
    fn repo_of(&mut self, node: &Node) -> &mut Repo {
        let item = self.world.item(node.as_str());
        let name = self.world.tables.repository_of(item);
        let repo = match name {
            Some(name) => self.other_repos.get_mut(name),
            None => self.repo.as_mut(),
        };
        repo.expect("it is worked on in lanes")
    }

    /// How many merges moved the target of the project's own repository, and how many
    /// that of another one.
    #[must_use]
    pub fn count_merges(&self) -> (usize, usize) {
        let in_other = |event: &Event| {
            matches!(
                event,
                Event::Unit(UnitEvent::MergeEnded {
                    made: Some(_),
                    repository: Some(_),
                    ..
                })
            )
        };
        let all = self.count(|event| {
            matches!(
                event,
                Event::Unit(UnitEvent::MergeEnded { made: Some(_), .. })
            )
        });
        let others = self.count(in_other);
        (all - others, others)
    }

    fn repos(&self) -> impl Iterator<Item = &Repo> {
        self.repo.iter().chain(self.other_repos.values())
    }

    /// The same, only to look at.
    fn seen_repo_of(&self, node: &Node) -> Option<&Repo> {
        let item = self.world.item(node.as_str());
        match self.world.tables.repository_of(item) {
            Some(name) => self.other_repos.get(name),
            None => self.repo.as_ref(),
        }
    }

    fn enter_lanes(&mut self, token: u64) -> Result<(), Crash> {
        if self.repo.is_none() {
            return Ok(());
        }
        let run = self.world.run;
        let own = self.repo.iter().map(|repo| (None, repo.root()));
        let others = self.other_repos.iter();
        let others = others.map(|(name, repo)| (Some(name.clone()), repo.root()));
        let targets: Vec<_> = own.chain(others).collect();
        for (repository, root) in targets {
            let target = Box::new(TargetRow {
                branch: "piton/auth".to_owned(),
                base: root.clone(),
                tip: root,
                onto: self.service.is_some().then(|| "main".to_owned()),
                path: None,
                was_there: false,
                merged: 0,
            });
            self.world.ok(Command::TargetRun {
                run,
                token,
                repository,
                target,
            });
            self.may_crash()?;
        }
        let check = Some(Box::new(Gate {
            script: "make check".to_owned(),
            on_fail_prompt: String::new(),
            runs_max: 1,
            timeout_s: 60,
        }));
        // A person may want to look at all work from one invocation on.
        let review = self.script.0.is_multiple_of(3) || self.cuts % 4 == 3;
        let terms = LaneTerms {
            check,
            review,
            pull_requests: self.service.is_some(),
            ..LaneTerms::default()
        };
        let terms = Box::new(terms);
        self.world.ok(Command::EnterLanes { run, token, terms });
        self.may_crash()
    }

    /// Whether the lane of an item is removed just now.
    fn loses_lane(&mut self, node: &Node) -> bool {
        if self.repo.is_none() || !self.rng.percent(self.chaos.crashes / 2) {
            return false;
        }
        let held = self.lane_of(node);
        let used = held.filter(|(hold, _, attempts)| *attempts > hold.attempts);
        let lane = used.map(|(hold, ..)| hold.lane);
        lane.inspect(|lane| self.lose_lane(*lane, &unit_of_node(node)))
            .is_some()
    }

    fn lose_lane(&mut self, lane: u32, unit: &Node) {
        let holds_others = !self.world.item(unit.as_str()).is_leaf();
        let repo = self.repo_of(unit);
        repo.lose(lane, Some(unit).filter(|_| holds_others));
    }

    /// Removes lanes while no runner works.
    fn lose_lanes(&mut self) {
        let lanes = self.world.run_row().branches.lanes.clone();
        for (lane, unit) in lanes.unwrap_or_default().held {
            if self.rng.percent(5) {
                self.lose_lane(lane, &unit);
            }
        }
    }

    /// The lane of the unit of an item, and the repository; and how many attempts
    /// there were at the unit.
    fn lane_of(&mut self, node: &Node) -> Option<(LaneHold, &mut Repo, u32)> {
        let unit = self.world.item(unit_of_node(node).as_str());
        let lane = unit.lane().cloned()?;
        let below = self.world.tables.items_of_unit(unit);
        let attempts = below.map(|item| item.attempts).sum();
        self.repo.as_ref()?;
        Some((lane, self.repo_of(node), attempts))
    }

    /// What is done about a lane or a merge is over.
    fn git_ends(
        &mut self,
        (effect, unit): (Effect, &ItemRow),
        is_stopped: bool,
        token: u64,
    ) -> Input {
        let node = unit.node.clone();
        let made = unit.merge().and_then(|merge| merge.made.clone());
        let is_given_up = self.is_given_up(token);
        if let (true, Effect::MoveTarget { .. }, Some(made)) = (is_given_up, &effect, &made) {
            // It knows of no one that went on without it.
            let repo = self.repo_of(&node);
            let end = MergeEnd::Step(repo.move_target(made));
            return Input::MergeEnded { node, end };
        }
        let is_stopped = is_stopped || is_given_up;
        let in_lane = matches!(effect, Effect::PrepareLane { .. } | Effect::SaveWork { .. });
        if in_lane {
            let end = match (is_stopped, effect) {
                (true, _) => LaneEnd::Stopped,
                (false, Effect::PrepareLane { .. }) => {
                    self.prepare(&node);
                    LaneEnd::Prepared
                }
                (false, _) => LaneEnd::Saved(self.save(&node)),
            };
            return Input::LaneEnded { node, end };
        }
        let merge = self.world.item(node.as_str()).merge().cloned();
        // It may have been taken out of the queue meanwhile.
        let merge = merge.filter(|_| !is_stopped);
        let repo = self.repo_of(&node);
        let step = merge.and_then(|merge| match effect {
            Effect::MakeMerge { .. } => Some(repo.make_merge(&merge.work)),
            Effect::FollowPullRequest { .. } => {
                let known = unit.pull_request()?.merged.clone()?;
                Some(repo.follow_base(&known))
            }
            Effect::CheckMerge { .. } => Some(repo.check_merge(merge.made.as_ref()?)),
            _ => Some(repo.move_target(merge.made.as_ref()?)),
        });
        let is_there = unit.pull_request().is_some_and(|it| it.merged.is_some());
        let step = step.map(|step| match (is_there, &step) {
            (true, MergeStep::Start { .. }) => step,
            _ => self.with_checks(unit, step),
        });
        let end = step.map_or(MergeEnd::Stopped, MergeEnd::Step);
        Input::MergeEnded { node, end }
    }

    fn save(&mut self, node: &Node) -> Option<String> {
        // It is queued, and has left its lane, when a person approves it meanwhile.
        let (lane, repo, attempts) = self.lane_of(node)?;
        let is_used = attempts > lane.attempts;
        is_used.then(|| repo.save(lane.lane, &lane.from)).flatten()
    }

    /// A free lane. One that its unit had may be held by another unit.
    fn choose_lane(&mut self, token: u64, node: Node) -> Command {
        let held = self
            .world
            .run_row()
            .branches
            .lanes
            .clone()
            .unwrap_or_default()
            .held;
        // A lane is a worktree of one repository for as long as it is there.
        let own = self.seen_repo_of(&node).map(Repo::root);
        let is_of_other = |lane: u32| {
            let mut others = self.repos().filter(|repo| Some(repo.root()) != own);
            others.any(|repo| repo.has(lane))
        };
        let is_free = |lane: &u32| {
            !held.contains_key(lane) && !self.has_stray_in(*lane) && !is_of_other(*lane)
        };
        let free = (1..).find(is_free).expect("many");
        let lane = self.world.item(node.as_str()).lane();
        let has_stray = lane.is_some_and(|lane| self.has_stray_in(lane.lane));
        let is_lost = self.rng.percent(20) || has_stray;
        let (run, fence) = (self.world.run, self.world.fence(node.as_str()));
        let (lane, saved) = match self.lane_of(&node) {
            Some((hold, repo, attempts)) if attempts > hold.attempts && !repo.has(hold.lane) => {
                let why = LOST.to_owned();
                return Command::LoseWork {
                    run,
                    token,
                    node,
                    fence,
                    why,
                };
            }
            // What was not worked in may hold anything.
            Some((hold, repo, attempts)) if is_lost => {
                let is_used = attempts > hold.attempts;
                let saved = is_used.then(|| repo.save(hold.lane, &hold.from));
                (free, saved.flatten())
            }
            Some((hold, ..)) => (hold.lane, None),
            None => (free, None),
        };
        self.lane_takers.insert(lane, token);
        Command::TakeLane {
            run,
            token,
            node,
            lane,
            saved,
        }
    }

    fn prepare(&mut self, node: &Node) {
        let merge = self.world.item(node.as_str()).merge();
        let sees_both = merge.is_some_and(MergeRow::needs_both_sides);
        let (lane, repo, attempts) = self.lane_of(node).expect("it has one");
        let keeps = attempts > lane.attempts;
        repo.prepare(lane.lane, &lane.from, keeps, sees_both);
    }

    /// What an agent changes in its lane, from its start on.
    fn write_in_lane(&mut self, node: &Node, role: Role) {
        if self.repo.is_none() || role == Role::Reviewer {
            return;
        }
        let value = self.rng.next() % 1_000_000;
        let shares = self.script.number("shares", node, 0) < 40;
        if let Some((lane, repo, _)) = self.lane_of(node) {
            repo.write(lane.lane, node, value, shares, role == Role::Resolve);
        }
    }

    fn commit_in_lane(
        &mut self,
        at: &Node,
        before: Option<&str>,
        settle: bool,
    ) -> Result<Input, Crash> {
        let turn = self.count(
            |event| matches!(event, Event::Item(ItemEvent::CommitEnded { node, .. }) if node == at),
        );
        let passes = self.script.commit_passes(at, turn);
        let (lane, repo, _) = self.lane_of(at).expect("it has a lane");
        let is_made = settle && before != Some(&repo.head(lane.lane));
        let result = match passes || is_made {
            true => Ok(repo.commit_lane(lane.lane, &lane.from)),
            false => Err("the hook says no".to_owned()),
        };
        self.may_crash()?;
        Ok(Input::CommitEnded {
            node: at.clone(),
            result,
        })
    }

    /// What holds of lanes and the target after every step.
    fn check_lanes(&mut self) {
        if self.repo.is_none() {
            return;
        }
        let before = std::mem::replace(&mut self.checked, self.world.journal.len());
        let news = &self.world.journal[before..];
        if news.is_empty() {
            return;
        }
        let merges = news
            .iter()
            .any(|recorded| recorded.event.kind().starts_with("merge-"));
        let row = self.world.run_row();
        let Some(lanes) = &row.branches.lanes else {
            return;
        };
        let mut holds = 0;
        for item in self.world.tables.items(row.id) {
            if let Some(lane) = item.lane() {
                holds += 1;
                assert_eq!(lanes.held.get(&lane.lane), Some(&item.node));
            }
            let merge = item.merge();
            let is_queued = merge.is_some_and(MergeRow::is_queued);
            let is_in_review = merge.is_some_and(|merge| merge.state == MergeState::InReview);
            if is_in_review {
                assert_eq!(item.state, ItemState::Waiting, "{}", item.node);
            }
            let mut asked = self.world.tables.open_decisions(row.id);
            let is_asked = asked.any(|asked| {
                asked.kind == DecisionKind::Review && asked.node.as_ref() == Some(&item.node)
            });
            assert_eq!(is_in_review, is_asked, "{}", item.node);
            assert_eq!(is_queued, lanes.queue.contains(&item.node), "{}", item.node);
            let has_slot = merge.is_some_and(MergeRow::has_slot);
            assert_eq!(has_slot, lanes.merging.as_ref() == Some(&item.node));
            let works = item.attempt.is_some() || item.work.committing.is_some();
            let unit = self.world.item(unit_of_node(&item.node).as_str());
            assert!(!works || unit.lane().is_some(), "{} has no lane", item.node);
        }
        assert_eq!(holds, lanes.held.len(), "two units have one lane");
        for node in lanes.held.values() {
            self.check_files(node, lanes.held.values().chain(&lanes.queue));
        }
        if merges {
            self.check_merges(news);
        }
        self.check_pull_requests();
    }

    /// A unit got its lane while none of those at work was about the same files. A
    /// person may have one of them queued later; what is merged and waits for its
    /// changed check alone keeps no unit from them.
    fn check_files<'n>(&self, node: &Node, at_work: impl Iterator<Item = &'n Node>) {
        let tables = &self.world.tables;
        let files = |node: &Node| tables.scope_of_unit(self.world.item(node.as_str()));
        let own = files(node);
        let at = |is_it: &dyn Fn(&Event) -> bool| {
            let mut events = self.world.journal.iter();
            events.rposition(|recorded| is_it(&recorded.event))
        };
        let is_merged = |node: &Node| {
            let merge = self.world.item(node.as_str()).merge();
            merge
                .zip(self.seen_repo_of(node))
                .is_some_and(|(merge, repo)| repo.is_on_target(&merge.work))
        };
        for other in at_work.filter(|other| *other != node && !own.is_empty()) {
            let repository = |node: &Node| self.seen_repo_of(node).map(Repo::root);
            let is_elsewhere = repository(node) != repository(other);
            // What others left was made whatever else is about those files.
            let is_left = [node, other].into_iter().any(|node| self.was_left(node));
            let is_apart = own.find_overlap(&files(other)).is_none() || is_elsewhere;
            if is_apart || is_left || is_merged(other) {
                continue;
            }
            // A runner that takes a lane over gives none to a unit.
            let left = at(&|event| {
                matches!(event, Event::Unit(UnitEvent::LaneLeft { node: at, .. } | UnitEvent::MergeQueued { node: at, .. })
                    if at == node)
            });
            let after = left.map_or(0, |left| left + 1);
            let mut events = self.world.journal[after..].iter();
            let taken = events.position(|recorded| {
                matches!(&recorded.event, Event::Unit(UnitEvent::LaneTaken { node: at, .. }) if at == node)
            });
            let taken = taken.map(|taken| after + taken);
            let queued = at(
                &|event| matches!(event, Event::Unit(UnitEvent::MergeQueued { node: at, .. }) if at == other),
            );
            let has_lane = self.world.item(other.as_str()).lane().is_some();
            assert!(
                !has_lane && queued > taken,
                "{node} and {other} are about the same files"
            );
        }
    }

    /// What waits for a review is merged only where a person has approved it.
    fn check_reviews(&self) {
        let (mut waiting, mut released) = (BTreeSet::new(), 0);
        for recorded in &self.world.journal {
            match &recorded.event {
                Event::Unit(UnitEvent::MergeQueued { node, review, .. }) if *review => {
                    waiting.insert(node);
                }
                Event::Unit(UnitEvent::MergeQueued { node, .. }) => {
                    released += usize::from(waiting.remove(node))
                }
                Event::Unit(
                    UnitEvent::MergeReturned { node, .. } | UnitEvent::MergeEnded { node, .. },
                ) => {
                    waiting.remove(node);
                }
                Event::Unit(UnitEvent::MergeStarted { node, .. }) => {
                    assert!(!waiting.contains(node), "{node} was not approved");
                }
                _ => {}
            }
        }
        let reviews = self.world.tables.decisions();
        let reviews = reviews.filter(|row| row.kind == DecisionKind::Review);
        let approved = reviews.filter(|row| {
            let verdict = row.verdict.as_ref();
            verdict.is_some_and(|verdict| verdict.verb == Verb::Approve)
        });
        assert_eq!(released, approved.count());
    }

    /// The target moved only along the merges that are recorded, and what is
    /// merged is on it.
    fn check_merges(&self, news: &[DecodedRecord]) {
        self.check_reviews();
        let mut passed = BTreeSet::new();
        let mut merged: BTreeMap<&Node, &MergeCommit> = BTreeMap::new();
        let mut made: BTreeMap<&Node, &MergeCommit> = BTreeMap::new();
        for recorded in &self.world.journal {
            match &recorded.event {
                Event::Unit(UnitEvent::MergeStarted {
                    node, made: start, ..
                }) => {
                    made.insert(node, start);
                }
                Event::Unit(UnitEvent::MergePassed { node, .. }) => {
                    passed.insert(made[node].commit.as_str());
                }
                Event::Unit(UnitEvent::MergeEnded {
                    node,
                    made: Some(made),
                    ..
                }) => {
                    let repo = self.seen_repo_of(node).expect("in lanes");
                    assert!(repo.is_on_target(&made.commit), "{node} is not there");
                    merged.insert(node, made);
                }
                _ => {}
            }
        }
        for repo in self.repos() {
            repo.check_target(&passed, self.service.is_none());
        }
        for recorded in news {
            if let Event::Unit(UnitEvent::MergeEnded {
                node,
                made: Some(_),
                ..
            }) = &recorded.event
            {
                // What a person marks is done as it is.
                let is_done = |node: &Node| {
                    let item = self.world.item(node.as_str());
                    let by = level_of_evidence(&item.proof.evidence);
                    item.state == ItemState::Done && by != Some(Level::Person)
                };
                let repo = self.seen_repo_of(node).expect("in lanes");
                repo.check_merged(node, is_done);
            }
        }
        for item in self.world.tables.items(self.world.run) {
            let evidence = item.proof.evidence.iter().rev();
            let said = evidence.filter_map(|one| match one {
                Evidence::Merged { commit, .. } => Some(commit),
                _ => None,
            });
            let said = said
                .take(1)
                .next()
                .filter(|_| item.state == ItemState::Done);
            if let Some(commit) = said {
                let merge = merged.get(&item.node).map(|made| &made.commit);
                let is_there = self.was_merged_there(&item.node, commit);
                assert!(merge == Some(commit) || is_there, "{}", item.node);
                let repo = self.seen_repo_of(&item.node).expect("in lanes");
                assert!(repo.is_on_target(commit), "{}", item.node);
                // Nothing goes past its pull request.
                let row = self.world.run_row();
                let by = level_of_evidence(&item.proof.evidence);
                let goes_there = row.pull_request_base(item).is_some();
                assert!(is_there || !goes_there || by == Some(Level::Person));
            }
        }
    }

    // What came of it.

    /// Every node with what is known of it, but for times and numbers of tries.
    pub fn tree(&self) -> Vec<String> {
        let tree = self.world.tables.tree(self.world.run);
        tree.map(|item| {
            let gate = item
                .proof
                .gate_runs
                .as_ref()
                .map(|runs| (runs.runs, runs.passed));
            format!(
                "{} {} {:?} {} {:?} {:?} {gate:?} {:?}",
                item.node,
                item.state,
                item.stage,
                item.tries.retries,
                item.summary,
                item.error,
                item.proof.evidence.iter().map(in_kind).collect::<Vec<_>>(),
            )
        })
        .collect()
    }

    /// The questions and what was said to them.
    pub fn verdicts(&self) -> Vec<String> {
        // What holds up nothing else may come earlier or later than that.
        let mut decisions: Vec<_> = self.world.tables.decisions().collect();
        decisions.sort_by_key(|row| row.node.clone());
        let decisions = decisions.into_iter();
        decisions
            .map(|row| {
                let verb = row.verdict.as_ref().map(|verdict| verdict.verb);
                // A look at what is done is over as well when what holds it is left out.
                let verb = verb.filter(|_| row.kind != DecisionKind::Breakpoint);
                let node = row.node.as_ref().map_or("", Node::as_str);
                format!("{:?} {node} {verb:?}", row.kind)
            })
            .collect()
    }

    pub fn attempts(&self) -> BTreeMap<Node, u32> {
        let tree = self.world.tables.tree(self.world.run);
        tree.map(|item| (item.node.clone(), item.attempts))
            .collect()
    }

    /// Whether a person gave an item another check when it was done.
    fn got_check_when_done(&self, node: &Node) -> bool {
        let events = self.world.journal.iter().rev();
        let is_move = |event: &Event| matches!(event, Event::Item(ItemEvent::Moved(moved)) if moved.node == *node);
        let events = events.map(|recorded| &recorded.event);
        let mut since = events.take_while(|event| !is_move(event));
        since.any(|event| {
            matches!(event, Event::Item(ItemEvent::Changed(changed))
                    if changed.node == *node && matches!(changed.change, ItemChange::Gate(Some(_))))
        })
    }

    /// No item with a check is done unless its check passed on the tree that
    /// is recorded, or a person said so, or gave it that check afterwards.
    pub fn check_evidence(&self) {
        for item in self.world.tables.tree(self.world.run) {
            let was_without = || self.got_check_when_done(&item.node);
            if item.state != ItemState::Done || item.plan.gate.is_none() || was_without() {
                continue;
            }
            let level = level_of_evidence(&item.proof.evidence);
            // What a person wrote into the file as done was done before piton saw it.
            let was_done = item.proof.evidence.contains(&Evidence::TakenOver);
            if was_done || level == Some(Level::Person) {
                continue;
            }
            let proof = item.proof.evidence.iter().find_map(|one| match one {
                Evidence::Checked {
                    tree: Some(tree),
                    means: Some(_),
                    ..
                } => Some(tree),
                _ => None,
            });
            let proof = proof.unwrap_or_else(|| panic!("{}: {:?}", item.node, item.proof.evidence));
            let passed = self.count(|event| {
                matches!(event, Event::Item(ItemEvent::GateEnded { node, report, .. })
                    if *node == item.node && report.passed && report.tree.as_ref() == Some(proof))
            });
            assert!(passed > 0, "{}: no check passed on {proof}", item.node);
        }
    }

    /// What holds at the end of any run, however it went.
    pub fn check_end(&self) {
        assert!(self.agents.values().all(|agent| !agent.alive));
        self.check_agent_reviews();
        for row in self.world.tables.attempts() {
            assert!(row.report.is_some(), "{row:?} has no outcome");
        }
        let ended = self.count(|event| matches!(event, Event::Attempt(AttemptEvent::Ended { .. })));
        assert_eq!(ended, self.world.tables.attempts().count());
        let commits = self.count(|event| {
            matches!(
                event,
                Event::Item(ItemEvent::CommitEnded {
                    commit: Some(_),
                    ..
                })
            )
        });
        if self.repo.is_none() {
            assert_eq!(commits, self.head as usize, "each commit is noted once");
            let is_of_lanes = |event: &Event| {
                let kind = event.kind();
                ["lane", "merge", "run-targeted"]
                    .iter()
                    .any(|of| kind.starts_with(of))
            };
            assert_eq!(
                self.count(is_of_lanes),
                0,
                "what works in place has no lanes"
            );
        }
    }
}

/// An attempt that was ended from outside: what it changed stays changed.
/// Evidence without the number of its commit and the time of its decision, which are
/// those of its turn.
fn in_kind(evidence: &Evidence) -> String {
    match evidence {
        Evidence::Committed { .. } => "committed".to_owned(),
        Evidence::Decided { by, .. } => format!("decided by {by}"),
        evidence => format!("{evidence:?}"),
    }
}

fn cut_short(report: &Report) -> Report {
    Report {
        changes: ReportedChanges {
            tree_before: report.changes.tree_before.clone(),
            tree_after: report.changes.tree_after.clone(),
            ..ReportedChanges::default()
        },
        ..Report::with_outcome(Outcome::Interrupted)
    }
}

/// How many seeds are tried: `PITON_SIM_SEEDS`, else as many as the test says.
pub fn seeds_of(usual: u32) -> u32 {
    crate::seed::variable("PITON_SIM_SEEDS")
        .and_then(|text| text.parse().ok())
        .unwrap_or(usual)
}

/// Tries so many seeds; the first that fails is named.
pub fn for_each_seed(usual: u32, claim: impl Fn(u32)) {
    let first = crate::seed::seed();
    for nth in 0..seeds_of(usual) {
        let seed = first.wrapping_add(nth);
        if let Err(cause) = catch_unwind(AssertUnwindSafe(|| claim(seed))) {
            let why = cause
                .downcast_ref::<String>()
                .map(String::as_str)
                .or_else(|| cause.downcast_ref::<&str>().copied());
            let again = crate::seed::command_to_repeat(seed);
            panic!(
                "seed {seed}: {}\nto repeat it alone: PITON_SIM_SEEDS=1 {again}",
                why.unwrap_or("it failed")
            );
        }
    }
}
