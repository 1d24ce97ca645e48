//! Both stores say the same of any sequence of commands: the one that is easy
//! to understand vouches for the one that is fast.

use jiff::Timestamp;
use piton_core::attempt::{RecoveryAction, Report, SplitPiece};
use piton_core::classify::FailureCategory;
use piton_core::gate::{Gate, GateReport};

use piton_core::id::{DecisionId, RunId, StreamId};
use piton_core::journal::{GENESIS, HashForm, Record};

use piton_core::evidence::ClaimSettings;
use piton_core::plan::{ImportedItemHistory, ItemTags, PlannedItem};
use piton_core::policy::{Limits, Policy, RetryPolicy};
use piton_core::recover::{Recovery, Rule};
use piton_core::run::Pause;
use piton_core::{
    AttemptId, CallerFacts, Command, Edit, HolderLiveness, ItemState, Need, Node, Outcome, Role,
    Rows, Stage, Tables, TreePosition, Verb,
};
use piton_simkit::seed::cases;
use piton_simkit::world::iteration_hooks;
use piton_store::CommitError;
use piton_testkit::contract::{self, Subject};
use piton_testkit::sketch::{facts, keep, plan};
use proptest::prelude::*;
use uuid::Uuid;

/// One thing that somebody does: what, and two numbers to choose by.
type Act = (u8, u16, u16);

const NODES: &[(&str, &[&str])] = &[
    ("a", &[]),
    ("a/one", &[]),
    ("a/two", &["a/one"]),
    ("a/two/deep", &[]),
    ("b", &["a"]),
    ("b/one", &[]),
    ("b/two", &["a/one", "b/one"]),
    ("c", &[]),
];

/// The two stores, and a place to take ids from.
struct Pair {
    run: RunId,
    memory: Subject,
    sqlite: Subject,
    opened: u128,
    holder_gone: bool,
}

impl Pair {
    fn new(choice: u8) -> Self {
        let (memory, sqlite) = (contract::memory(), contract::sqlite());
        let run = RunId(Uuid::from_u128(1));
        let mut pair = Self {
            run,
            memory,
            sqlite,
            opened: 0,
            holder_gone: true,
        };
        let mut plan = plan(run, "auth", NODES);
        plan.policy = Policy {
            on_dependency_failure: Some(piton_core::policy::OnDependencyFailure::FailPhase),
            retry: RetryPolicy {
                categories: vec![FailureCategory::Network, FailureCategory::Validation],
                ..RetryPolicy::default()
            },
            auto_commit: choice.is_multiple_of(3),
            iteration_hooks: iteration_hooks(u32::from(choice % 5 / 3)),
            ..Policy::default()
        };
        for (nth, item) in plan.items.iter_mut().enumerate() {
            item.breakpoint = nth == usize::from(choice % 16);
            item.gate = (nth % 3 == 1).then(|| Gate {
                script: "true".to_owned(),
                on_fail_prompt: "mend it".to_owned(),
                runs_max: 2,
                timeout_s: 9,
            });
        }
        pair.commit(&keep(plan));
        pair
    }

    /// Commits on both, which must answer alike.
    fn commit(&mut self, command: &Command) {
        self.opened += 1;
        let facts = CallerFacts {
            decision: DecisionId(Uuid::from_u128(1_000 + self.opened)),
            holder: if self.holder_gone {
                HolderLiveness::Excluded
            } else {
                HolderLiveness::Nothing
            },
            ..facts()
        };
        let id = self.memory.ids.command();
        let one = self.memory.store.commit(id, command, &facts);
        let other = self.sqlite.store.commit(id, command, &facts);
        match (one, other) {
            (Ok(mut one), Ok(mut other)) => {
                let events = one.events.iter_mut().chain(&mut other.events);
                events.for_each(|event| forget_writer(&mut event.record));
                assert_eq!(one, other, "{command:?}");
            }
            (Err(CommitError::Refused(one)), Err(CommitError::Refused(other))) => {
                assert_eq!(one, other, "{command:?}");
            }
            (one, other) => panic!("{command:?}: {one:?} or {other:?}"),
        }
    }

    /// All that both know of the run; they must know the same.
    fn rows(&self) -> Rows {
        let wanted: Vec<Need> = self.wanted().collect();
        let one = self.memory.store.load_rows(&wanted).expect("readable");
        let other = self.sqlite.store.load_rows(&wanted).expect("readable");
        assert_eq!(one.tables, other.tables);
        assert_eq!(one.next_decision, other.next_decision);
        assert_eq!(one.leases, other.leases);
        one
    }

    fn wanted(&self) -> impl Iterator<Item = Need> {
        let run = self.run;
        let decisions = (1..=u64::try_from(self.opened).expect("few")).map(Need::DecisionNumbered);
        let attempts = NODES
            .iter()
            .map(move |(node, _)| Need::AttemptsAt(run, Node::from_text(*node)));
        [
            Need::Runs,
            Need::Tree(run),
            Need::Leases(run),
            Need::AttemptsOf(run),
        ]
        .into_iter()
        .chain(decisions)
        .chain(attempts)
    }

    /// Each single wish is answered alike.
    fn compare_wishes(&self) {
        let run = self.run;
        for need in [
            Need::OpenAttempts(Some(run)),
            Need::FailureTree(run),
            Need::OpenDecisions(Some(run)),
            Need::OpenDecisions(None),
            Need::OpenDecisions(Some(RunId(Uuid::from_u128(404)))),
        ]
        .into_iter()
        .chain(self.wanted())
        .chain(
            NODES
                .iter()
                .map(|(node, _)| Need::Dependents(run, Node::from_text(*node))),
        ) {
            let one = self
                .memory
                .store
                .load_rows(std::slice::from_ref(&need))
                .expect("readable");
            let other = self
                .sqlite
                .store
                .load_rows(std::slice::from_ref(&need))
                .expect("readable");
            assert_eq!(one.tables, other.tables, "{need:?}");
        }
    }
}

fn pick<T: Clone>(from: &[T], by: u16) -> Option<T> {
    (!from.is_empty()).then(|| from[usize::from(by) % from.len()].clone())
}

fn report(by: u16) -> Report {
    let outcome = match by % 7 {
        0..=2 => Outcome::Completed,
        3 => Outcome::Failed,
        4 => Outcome::NeedsHuman,
        5 => Outcome::Blocked,
        _ => Outcome::Interrupted,
    };
    Report {
        category: (outcome == Outcome::Failed)
            .then_some([FailureCategory::Network, FailureCategory::Logic][usize::from(by / 7 % 2)]),
        pieces: pieces(by),
        ..Report::with_outcome(outcome)
    }
}

/// Into what an item is split, should the agent be asked.
fn pieces(by: u16) -> Vec<SplitPiece> {
    let piece = |title: &str| SplitPiece {
        title: title.to_owned(),
        prompt: String::new(),
    };
    if by % 7 == 2 {
        Vec::new()
    } else {
        vec![piece("walls"), piece("roof")]
    }
}

/// What is to be done, should the attempt have failed.
fn recovery(by: u16) -> Option<Box<Recovery>> {
    let (action, rule) = match by / 14 % 3 {
        0 => return None,
        1 => (RecoveryAction::FixState, Rule::BrokenState),
        _ => (RecoveryAction::BreakChunks, Rule::TooLarge),
    };
    Some(Box::new(Recovery {
        action,
        rule,
        guidance: "so".to_owned(),
        evidence: vec!["a fact".to_owned()],
        rejected: Vec::new(),
    }))
}

fn gate_report(by: u16) -> GateReport {
    GateReport {
        passed: by.is_multiple_of(2),
        ..GateReport::default()
    }
}

fn commit_result(by: u16) -> Result<Option<String>, String> {
    if by.is_multiple_of(4) {
        Err("the hook says no".to_owned())
    } else {
        Ok(Some("6673e79".to_owned()))
    }
}

/// What a runner would do that follows the tree.
fn proper(pair: &Pair, tables: &Tables, by: u16) -> Option<Command> {
    let run = pair.run;
    let row = tables.run(run)?;
    let token = row.fence;
    if row.holder.is_none() {
        return Some(start(run));
    }
    if let Some(open) = tables.open_attempts().next() {
        return Some(Command::EndAttempt {
            run,
            token,
            attempt: open.id,
            node: open.node.clone(),
            fence: tables.item(run, &open.node)?.fence,
            report: Box::new(report(by)),
            recovery: recovery(by),
            claimed: Vec::new(),
            agents: Vec::new(),
        });
    }
    let item = tables.next_actionable_item(run)?;
    let (node, fence) = (item.node.clone(), item.fence);
    let attempt = AttemptId(Uuid::from_u128(9_000 + pair.opened));
    let begin = |role| Command::StartAttempt {
        memories: Vec::new(),
        tree: None,
        baseline: None,
        run,
        token,
        attempt,
        node: node.clone(),
        role,
        agent: "sh".to_owned(),
        model: None,
    };
    Some(match item.stage {
        Stage::Repair => begin(Role::Repair),
        Stage::Split => begin(Role::Split),
        Stage::Verdict => begin(Role::Verdict),
        Stage::Review => begin(Role::Reviewer),
        Stage::Baseline if item.proof.gate_runs.is_some() => Command::EndGate {
            run,
            token,
            node,
            fence,
            report: gate_report(by),
            recovery: None,
        },
        Stage::Work
            if item.plan.gate.is_some() && item.work.change.is_none() && by.is_multiple_of(2) =>
        {
            Command::StartBaseline {
                run,
                token,
                node,
                before: None,
            }
        }
        _ if item.state != ItemState::Working => begin(Role::Worker),
        Stage::Work | Stage::Baseline => begin(Role::Worker),
        Stage::Fix => begin(Role::GateFix),
        Stage::IterationHooks => begin(Role::IterationHook),
        // In place nothing is merged.
        Stage::Merge | Stage::Resolve => return None,
        Stage::Gate if item.proof.gate_runs.as_ref().is_some_and(|runs| runs.open) => {
            Command::EndGate {
                run,
                token,
                node,
                fence,
                report: gate_report(by),
                recovery: None,
            }
        }
        Stage::Gate => Command::StartGate { run, token, node },
        Stage::Commit if item.work.committing.is_some() => Command::EndCommit {
            run,
            token,
            node,
            fence,
            result: commit_result(by),
        },
        Stage::Commit => Command::StartCommit {
            run,
            token,
            node,
            head: None,
        },
    })
}

fn start(run: RunId) -> Command {
    Command::StartRun {
        run,
        owner: "host, process 7".to_owned(),
        limits: Limits::default(),
        claims: ClaimSettings::default(),
        flags: Box::default(),
        settles: false,
        notify: false,
    }
}

/// What somebody may do to the file of the plan.
fn hand_edit(run: RunId, node: &Node, a: u16, b: u16) -> Command {
    let parent = node.parent().filter(|_| a.is_multiple_of(2));
    let item = PlannedItem {
        node: Node::child(parent.as_ref(), "new", 1),
        id: "new".to_owned(),
        place: TreePosition(vec![0; usize::from(parent.is_some()) + 1]),
        state: ItemState::Ready,
        prompt: Some("do it".to_owned()),
        model: None,
        gate: None,
        breakpoint: false,
        approval: false,
        depends_on: Vec::new(),
        native: None,
        past: ImportedItemHistory::default(),
        piece_of: None,
        injected: None,
        tags: ItemTags::default(),
        claims: piton_core::evidence::ClaimOverrides::default(),
        turn: piton_core::plan::ItemTurn::default(),
        scope: piton_core::scope::FileScope::default(),
        repository: a.is_multiple_of(3).then(|| "web".to_owned()),
        wait: None,
    };
    let node = || node.clone();
    let states = [ItemState::Pending, ItemState::Skipped, ItemState::Done];
    let to = pick(&states, a).expect("there are some");
    let edit = match b % 5 {
        0 => Edit::SetState { node: node(), to },
        1 => Edit::SetPrompt {
            node: node(),
            prompt: Some("otherwise".to_owned()),
        },
        2 => Edit::Order {
            parent: None,
            nodes: vec![Node::from_text("c"), Node::from_text("a")],
        },
        _ => Edit::Insert {
            parent,
            after: Some(node()).filter(|_| a.is_multiple_of(3)),
            items: vec![item],
        },
    };
    Command::TakeEdits {
        run,
        token: None,
        file: "PROGRESS.yaml".to_owned(),
        edits: vec![edit],
        word: piton_core::command::EditAuthor::File,
    }
}

fn act(pair: &mut Pair, (what, a, b): Act) {
    let tables = pair.rows().tables;
    let (run, token) = (pair.run, tables.run(pair.run).map_or(0, |row| row.fence));
    let (at, _) = pick(NODES, a).expect("there are some");
    let node = Node::from_text(at);
    let command = match what % 26 {
        24 | 25 => hand_edit(run, &node, a, b),
        0 => Command::ReleaseRun { run, token },
        1 => Command::PauseRun {
            run,
            token,
            pause: Pause::File,
        },
        2 => Command::InterruptRun {
            run,
            token,
            reason: "asked".to_owned(),
        },
        3 => Command::AskPause { run },
        4 => Command::AskStop { run },
        5 => Command::ResumeRun { run },
        6 => Command::SkipItem {
            run,
            node,
            why: None,
        },
        7 | 8 => Command::RetryItem {
            run,
            node,
            why: None,
        },
        9 | 10 => {
            let open: Vec<_> = tables.open_decisions(run).cloned().collect();
            let Some(row) = pick(&open, a) else { return };
            let verb = pick(&[Verb::Approve, Verb::Answer, Verb::Retry, Verb::Skip], b)
                .expect("there are some");
            Command::Decide {
                decision: row.id,
                run,
                verb,
                why: Some("because".to_owned()),
            }
        }
        11 => {
            let (one, other) = (&pair.memory, &pair.sqlite);
            let beat = |subject: &Subject| {
                subject
                    .store
                    .heartbeat(run, token, u64::from(b % 60))
                    .expect("writable")
            };
            return assert_eq!(beat(one), beat(other));
        }
        12 => {
            let seconds = i64::from(b % 90) - 20;
            pair.memory.clock.step_s(seconds);
            return pair.sqlite.clock.step_s(seconds);
        }
        13 => {
            pair.holder_gone = !pair.holder_gone;
            return;
        }
        14 => return pair.sqlite.reopen(),
        15 => start(run),
        _ => match proper(pair, &tables, b) {
            Some(command) => command,
            None => return,
        },
    };
    pair.commit(&command);
}

/// Blanks what two stores cannot agree on: who wrote the event, and so its hash, which
/// `verify` checks.
fn forget_writer(record: &mut Record) {
    assert!(matches!(record.form, HashForm::Two(_)), "{record:?}");
    (record.form, record.hash) = (HashForm::One, GENESIS);
}

fn journal_without_writer(subject: &Subject) -> Vec<Record> {
    let mut journal = subject.journal();
    journal.iter_mut().for_each(forget_writer);
    journal
}

fn ends_of_streams(subject: &Subject) -> Vec<(StreamId, u64, Timestamp)> {
    let heads = subject.store.stream_heads().expect("readable").into_iter();
    heads
        .map(|head| (head.stream, head.count, head.time))
        .collect()
}

proptest! {
    #![proptest_config(cases(24))]

    #[test]
    fn both_stores_say_the_same_whatever_is_asked(
        choice in any::<u8>(),
        acts in prop::collection::vec(any::<Act>(), 0..100),
    ) {
        let mut pair = Pair::new(choice);
        acts.into_iter().for_each(|one| act(&mut pair, one));
        pair.compare_wishes();
        prop_assert_eq!(journal_without_writer(&pair.memory), journal_without_writer(&pair.sqlite));
        prop_assert_eq!(ends_of_streams(&pair.memory), ends_of_streams(&pair.sqlite));
        pair.memory.assert_whole();
        pair.sqlite.assert_whole();
    }
}
