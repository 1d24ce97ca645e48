//! What shows that an item is done, and what weak proof is worth.

use piton_core::attempt::{Conversation, DiffStat, ProgramReport, Report, ReportedChanges};
use piton_core::command::EditAuthor;
use piton_core::evidence::{
    CheckSignificance, ClaimOverrides, ClaimRules, ClaimSettings, Evidence, Level, WeakenedProof,
    Worth, level_of_evidence,
};
use piton_core::gate::{Gate, GateReport};
use piton_core::policy::{Limits, Policy};
use piton_core::review::{AgentReview, ReviewPolicy, ReviewVerdict};
use piton_core::trouble::Trouble;
use piton_core::weakening::ProofChange;
use piton_core::{Command, DecisionKind, Edit, ItemState, Outcome, Role, RunState, Stage, Verb};

use crate::edits::a_persons;
use crate::world::{RECOVERIES, World, node, recovery, start_run, tried_once};

/// A report by an agent that was looked at before and after.
fn between(before: &str, after: &str) -> Report {
    Report {
        changes: ReportedChanges {
            tree_before: Some(before.to_owned()),
            tree_after: Some(after.to_owned()),
            ..ReportedChanges::default()
        },
        ..Report::with_outcome(Outcome::Completed)
    }
}

fn nothing_changed() -> Report {
    between("a", "a")
}

/// A report of a program that ended well, whose agent did not say how.
fn no_verdict(report: Report) -> Report {
    Report {
        outcome: Outcome::Failed,
        error: Some("it did not say what came of its work".to_owned()),
        program: ProgramReport {
            trouble: Some(Trouble::NoVerdict),
            ..report.program
        },
        ..report
    }
}

fn a_gate() -> Gate {
    Gate {
        script: "cargo test".to_owned(),
        on_fail_prompt: "fix it".to_owned(),
        runs_max: 2,
        timeout_s: 60,
    }
}

fn worth(worth: Worth) -> ClaimSettings {
    ClaimSettings {
        rules: ClaimRules {
            word: worth,
            ..ClaimRules::default()
        },
        check: (worth == Worth::Check).then(|| Box::new(a_gate())),
        ..ClaimSettings::default()
    }
}

fn running(text: &str, policy: Policy, claims: ClaimSettings) -> (World, u64) {
    let mut world = World::with_policy(text, policy);
    let Command::StartRun {
        run, owner, limits, ..
    } = start_run(world.run, Limits::default())
    else {
        unreachable!("it is one")
    };
    world.ok(Command::StartRun {
        run,
        owner,
        limits,
        claims,
        flags: Box::default(),
        settles: false,
        notify: false,
    });
    let token = world.run_row().fence;
    (world, token)
}

fn with(word: Worth) -> (World, u64) {
    running("build\nrelease", tried_once(), worth(word))
}

/// A run of one item with a check.
fn checked(word: Worth) -> (World, u64) {
    running("build gate=3\nrelease", tried_once(), worth(word))
}

/// Runs the check of an item on a tree.
fn check_on(world: &mut World, token: u64, at: &str, (passed, tree): (bool, Option<&str>)) {
    let (run, node) = (world.run, node(at));
    world.ok(Command::StartGate {
        run,
        token,
        node: node.clone(),
    });
    world.ok(end_check(world, token, at, (passed, tree)));
}

fn end_check(world: &World, token: u64, at: &str, (passed, tree): (bool, Option<&str>)) -> Command {
    Command::EndGate {
        run: world.run,
        token,
        node: node(at),
        fence: world.fence(at),
        report: GateReport {
            passed,
            exit: Some(i32::from(!passed)),
            tree: tree.map(str::to_owned),
            ..GateReport::default()
        },
        recovery: None,
    }
}

/// Runs the check of an item before its first attempt.
fn baseline(world: &mut World, token: u64, at: &str, (passed, tree): (bool, Option<&str>)) {
    let (run, node) = (world.run, node(at));
    world.ok(Command::StartBaseline {
        run,
        token,
        node,
        before: None,
    });
    world.ok(end_check(world, token, at, (passed, tree)));
}

fn level(world: &World, at: &str) -> Option<Level> {
    level_of_evidence(&world.item(at).proof.evidence)
}

// Without a check.

#[test]
fn a_change_is_evidence_with_how_many_files_it_was() {
    let report = Report {
        changes: ReportedChanges {
            diff: Some(DiffStat {
                files: 3,
                ..DiffStat::default()
            }),
            ..between("a", "b").changes
        },
        ..between("a", "b")
    };
    for word in [Worth::Accept, Worth::Ask] {
        let (mut world, token) = with(word);
        world.work(token, "build", report.clone());
        let files = Some(3);
        assert_eq!(
            world.item("build").proof.evidence,
            [Evidence::Changed { files }]
        );
    }
}

#[test]
fn an_empty_commit_is_the_agents_word() {
    let (mut world, token) = with(Worth::Ask);
    let committed = Report {
        changes: ReportedChanges {
            commits: Some(vec!["6673e79".to_owned()]),
            ..nothing_changed().changes
        },
        ..nothing_changed()
    };
    world.work(token, "build", committed);
    assert_eq!(world.item("build").state, ItemState::Waiting);
}

#[test]
fn a_word_is_accepted_where_the_rules_say_so_and_recorded_as_one() {
    let (mut world, token) = with(Worth::Accept);
    world.work(token, "build", nothing_changed());
    assert_eq!(world.item("build").state, ItemState::Done);
    assert_eq!(level(&world, "build"), Some(Level::Word));
}

#[test]
fn work_that_could_not_be_seen_is_worth_what_a_word_is() {
    for (word, state) in [
        (Worth::Ask, ItemState::Waiting),
        (Worth::Accept, ItemState::Done),
    ] {
        let (mut world, token) = with(word);
        world.complete(token, "build");
        assert_eq!(world.item("build").state, state);
    }
}

#[test]
fn what_an_interrupted_attempt_changed_counts_and_what_was_undone_does_not() {
    for (second, state) in [
        (between("b", "b"), ItemState::Done),
        (between("b", "a"), ItemState::Waiting),
    ] {
        let (mut world, token) = with(Worth::Ask);
        let interrupted = Report {
            outcome: Outcome::Interrupted,
            ..between("a", "b")
        };
        world.work(token, "build", interrupted);
        world.work(token, "build", second);
        assert_eq!(world.item("build").state, state);
    }
}

#[test]
fn a_change_may_be_worth_a_question_too() {
    let claims = ClaimSettings {
        rules: ClaimRules {
            changed: Worth::Ask,
            ..ClaimRules::default()
        },
        ..ClaimSettings::default()
    };
    let (mut world, token) = running("build", tried_once(), claims);
    world.work(token, "build", between("a", "b"));
    assert_eq!(world.item("build").state, ItemState::Waiting);
}

#[test]
fn what_is_said_of_one_item_holds_for_it_alone() {
    let mut claims = worth(Worth::Ask);
    let accepts = ClaimOverrides {
        word: Some(Worth::Accept),
        ..ClaimOverrides::default()
    };
    claims.items.insert(node("build"), accepts);
    let (mut world, token) = running("build\nrelease", tried_once(), claims);
    world.work(token, "build", nothing_changed());
    assert_eq!(world.item("build").state, ItemState::Done);
    world.work(token, "release", nothing_changed());
    assert_eq!(world.item("release").state, ItemState::Waiting);
}

// With a check.

#[test]
fn a_check_proves_an_item_by_a_change_or_by_having_failed_before() {
    let tree = |tree: &'static str| Some(tree);
    // Before the first attempt, what the attempt did, what the check ran on: the level.
    let table = [
        (None, between("a", "b"), tree("b"), Level::Check),
        (None, nothing_changed(), tree("a"), Level::Word),
        (Some(true), nothing_changed(), tree("a"), Level::Word),
        (Some(true), between("a", "b"), tree("b"), Level::Check),
        (Some(false), nothing_changed(), tree("a"), Level::Check),
        // Changed, and back again before the check ran.
        (None, between("a", "b"), tree("a"), Level::Word),
        // Nobody could look.
        (
            Some(false),
            Report::with_outcome(Outcome::Completed),
            None,
            Level::Check,
        ),
        (
            Some(true),
            Report::with_outcome(Outcome::Completed),
            None,
            Level::Word,
        ),
    ];
    for (before, report, tree, expect) in table {
        let (mut world, token) = checked(Worth::Accept);
        if let Some(passed) = before {
            baseline(&mut world, token, "build", (passed, Some("a")));
        }
        world.work(token, "build", report.clone());
        check_on(&mut world, token, "build", (true, tree));
        let item = world.item("build");
        assert_eq!(item.state, ItemState::Done);
        assert_eq!(
            level(&world, "build"),
            Some(expect),
            "{before:?} {report:?}"
        );
    }
}

#[test]
fn a_check_that_passes_where_nothing_came_between_is_asked_about() {
    let (mut world, token) = checked(Worth::Ask);
    world.work(token, "build", nothing_changed());
    check_on(&mut world, token, "build", (true, Some("a")));
    assert_eq!(world.item("build").state, ItemState::Waiting);
    world.decide(Verb::Approve, None);
    assert_eq!(level(&world, "build"), Some(Level::Person));
}

#[test]
fn a_check_on_a_tree_that_could_not_be_seen_is_worth_what_a_word_is() {
    for (word, state) in [
        (Worth::Ask, ItemState::Waiting),
        (Worth::Accept, ItemState::Done),
    ] {
        let (mut world, token) = checked(word);
        world.complete(token, "build");
        check_on(&mut world, token, "build", (true, None));
        assert_eq!(world.item("build").state, state);
        if state == ItemState::Done {
            assert_eq!(level(&world, "build"), Some(Level::Word));
        }
    }
}

#[test]
fn a_check_that_failed_and_was_fixed_was_seen_to_fail() {
    let (mut world, token) = checked(Worth::Ask);
    world.work(token, "build", nothing_changed());
    check_on(&mut world, token, "build", (false, Some("a")));
    world.mend(token, "build");
    check_on(&mut world, token, "build", (true, Some("a")));
    let means = Some(CheckSignificance::SeenToFail);
    let tree = Some("a".to_owned());
    let item = world.item("build");
    let is_proof = |one: &Evidence| matches!(one, Evidence::Checked { means: m, tree: t, .. } if *m == means && *t == tree);
    assert!(
        item.proof.evidence.iter().any(is_proof),
        "{:?}",
        item.proof.evidence
    );
}

#[test]
fn what_the_items_below_changed_counts_for_the_check_of_a_phase() {
    for (below, expect) in [
        (between("a", "b"), Level::Check),
        (nothing_changed(), Level::Word),
    ] {
        let text = "build gate=3\n  s1\n  s2";
        let (mut world, token) = running(text, tried_once(), worth(Worth::Accept));
        world.work(token, "build/s1", below.clone());
        let tree = below.changes.tree_after.clone().expect("it was looked at");
        world.work(token, "build/s2", between(&tree, &tree));
        check_on(&mut world, token, "build", (true, Some(&tree)));
        assert_eq!(level(&world, "build"), Some(expect));
    }
}

#[test]
fn another_check_has_not_been_seen_to_fail() {
    let (mut world, token) = checked(Worth::Accept);
    baseline(&mut world, token, "build", (false, Some("a")));
    assert!(world.item("build").proof.seen_to_fail);
    let (run, gate) = (world.run, Some(a_gate()));
    let node = node("build");
    let gate = gate.map(|gate| Gate {
        script: "true".to_owned(),
        ..gate
    });
    world.ok(Command::TakeEdits {
        run,
        token: None,
        file: "PROGRESS.yaml".to_owned(),
        edits: vec![Edit::SetGate { node, gate }],
        word: EditAuthor::File,
    });
    let item = world.item("build");
    assert_eq!(
        (item.proof.seen_to_fail, item.proof.baseline.as_ref()),
        (false, None)
    );
}

// Without a verdict.

#[test]
fn with_a_check_no_verdict_is_needed() {
    let (mut world, token) = checked(Worth::Ask);
    world.work(token, "build", no_verdict(between("a", "b")));
    assert_eq!(world.item("build").stage, Stage::Gate);
    let row = world.tables.attempts().next().expect("there is one");
    assert_eq!(row.report, None, "its outcome waits for the check");
    assert!(!row.is_open());
    check_on(&mut world, token, "build", (true, Some("b")));
    assert_eq!(world.item("build").state, ItemState::Done);
    let row = world.tables.attempts().next().expect("there is one");
    let report = row.report.as_ref().expect("the check has said it");
    assert_eq!(
        (report.outcome, report.program.trouble),
        (Outcome::Completed, None)
    );
}

#[test]
fn a_failed_check_is_the_outcome_of_the_attempt() {
    let (mut world, token) = checked(Worth::Ask);
    world.work(token, "build", between("a", "b"));
    check_on(&mut world, token, "build", (false, Some("b")));
    let row = world.tables.attempts().next().expect("there is one");
    let report = row.report.as_ref().expect("the check has said it");
    assert_eq!(report.outcome, Outcome::Failed);
    let logged = world.tables.entries();
    let completed = logged.filter(|row| row.entry.kind.as_str() == "task_completed");
    assert_eq!(completed.count(), 0);
}

#[test]
fn without_a_check_the_agent_is_asked_once_more_and_then_has_failed() {
    for (second, state) in [
        (between("b", "b"), ItemState::Done),
        (no_verdict(between("b", "b")), ItemState::Failed),
    ] {
        let (mut world, token) = with(Worth::Ask);
        let first = Report {
            program: ProgramReport {
                can_be_asked: true,
                ..no_verdict(between("a", "b")).program
            },
            ..no_verdict(between("a", "b"))
        };
        world.work(token, "build", first);
        let item = world.item("build");
        assert_eq!((item.stage, item.tries.retries), (Stage::Verdict, 0));
        let attempt = world.begin_as(token, "build", Role::Verdict);
        world.end(token, "build", attempt, second);
        assert_eq!(world.item("build").state, state);
    }
}

#[test]
fn an_agent_without_progress_is_asked_to_end_once_and_then_has_failed_as_stuck() {
    let stuck = |can_be_asked| Report {
        program: ProgramReport {
            trouble: Some(Trouble::Stuck),
            conversation: Some(Conversation {
                id: "talk".to_owned(),
                ..Conversation::default()
            }),
            can_be_asked,
            ..ProgramReport::default()
        },
        ..Report::with_outcome(Outcome::Failed)
    };
    let (mut world, token) = checked(Worth::Accept);
    world.work(token, "build", stuck(true));
    let item = world.item("build");
    assert_eq!((item.stage, item.tries.retries), (Stage::Verdict, 0));
    assert!(item.tries.made_no_progress && item.tries.ongoing.is_some());
    // Who is interrupted then is asked again, and for the same reason.
    let attempt = world.begin_as(token, "build", Role::Verdict);
    let interrupted = Report {
        outcome: Outcome::Interrupted,
        program: ProgramReport {
            trouble: None,
            ..stuck(false).program
        },
        ..stuck(false)
    };
    world.end(token, "build", attempt, interrupted);
    let item = world.item("build");
    assert_eq!(item.stage, Stage::Verdict);
    assert!(item.tries.made_no_progress);
    let attempt = world.begin_as(token, "build", Role::Verdict);
    world.end(token, "build", attempt, stuck(false));
    let item = world.item("build");
    assert_eq!(item.state, ItemState::Failed);
    assert!(!item.tries.made_no_progress);
}

#[test]
fn an_agent_that_cannot_be_asked_has_failed_without_a_verdict() {
    let (mut world, token) = with(Worth::Accept);
    world.work(token, "build", no_verdict(between("a", "b")));
    assert_eq!(world.item("build").state, ItemState::Failed);
}

#[test]
fn an_attempt_that_failed_is_not_overruled_by_a_green_check() {
    for outcome in [Outcome::Failed, Outcome::Blocked, Outcome::Partial] {
        let said = Report {
            outcome,
            ..between("a", "b")
        };
        let (mut world, token) = checked(Worth::Accept);
        world.work(token, "build", said.clone());
        assert!(world.item("build").state.is_broken(), "{outcome:?}");
        // Nor is one that was to fix what the check found.
        let (mut world, token) = checked(Worth::Accept);
        world.work(token, "build", between("a", "b"));
        check_on(&mut world, token, "build", (false, Some("b")));
        let attempt = world.begin_as(token, "build", Role::GateFix);
        world.end(token, "build", attempt, said);
        assert!(world.item("build").state.is_broken(), "{outcome:?}");
    }
}

/// What is remembered helps with work, and the phase has none of its own.
#[test]
fn a_phase_whose_fixing_agent_failed_is_asked_about_whatever_is_remembered() {
    for (action, rule) in RECOVERIES {
        let (mut world, token) = World::running("build gate=2\n  step\nrelease");
        world.complete(token, "build/step");
        world.gate(token, "build", false);
        let attempt = world.begin_as(token, "build", Role::GateFix);
        let report = Report::with_outcome(Outcome::Failed);
        world.end_so("build", attempt, report, recovery(action, rule));
        assert_eq!(world.item("build").state, ItemState::Failed, "{action:?}");
        assert_eq!(world.state(), RunState::Blocked);
    }
}

#[test]
fn a_commit_with_nothing_in_it_leaves_the_agents_word() {
    let policy = Policy {
        auto_commit: true,
        ..tried_once()
    };
    for (report, expect) in [
        (nothing_changed(), Level::Word),
        (between("a", "b"), Level::Changed),
    ] {
        let (mut world, token) = running("build", policy.clone(), ClaimSettings::default());
        world.work(token, "build", report);
        assert_eq!(world.item("build").stage, Stage::Commit);
        world.make_commit(token, "build", Ok("6673e79"));
        assert_eq!(level(&world, "build"), Some(expect));
    }
}

#[test]
fn the_commit_of_a_step_sees_what_the_items_below_it_changed() {
    let policy = Policy {
        auto_commit: true,
        ..tried_once()
    };
    let plan = "build\n  step gate=1\n    part";
    for (report, word, expected) in [
        (
            Report::with_outcome(Outcome::Completed),
            Worth::Accept,
            Level::Word,
        ),
        (between("a", "b"), Worth::Check, Level::Check),
    ] {
        let (mut world, token) = running(plan, policy.clone(), worth(word));
        world.work(token, "build/step/part", report);
        check_on(&mut world, token, "build/step", (true, Some("b")));
        world.make_commit(token, "build/step", Ok("6673e79"));
        assert_eq!(world.item("build/step").state, ItemState::Done);
        assert_eq!(level(&world, "build/step"), Some(expected));
    }
}

#[test]
fn a_check_that_is_given_to_an_item_at_its_commit_has_to_pass_too() {
    let policy = Policy {
        auto_commit: true,
        ..tried_once()
    };
    for plan in ["build", "build gate=2"] {
        let (mut world, token) = running(plan, policy.clone(), ClaimSettings::default());
        world.work(token, "build", between("a", "b"));
        if plan != "build" {
            check_on(&mut world, token, "build", (true, Some("b")));
        }
        assert_eq!(world.item("build").stage, Stage::Commit);
        let run = world.run;
        world.ok(Command::TakeEdits {
            run,
            token: Some(token),
            file: "PROGRESS.yaml".to_owned(),
            edits: vec![Edit::SetGate {
                node: node("build"),
                gate: Some(a_gate()),
            }],
            word: EditAuthor::File,
        });
        world.make_commit(token, "build", Ok("6673e79"));
        let item = world.item("build");
        assert_eq!(
            (item.state, item.stage),
            (ItemState::Working, Stage::Gate),
            "{plan}"
        );
        check_on(&mut world, token, "build", (true, Some("b")));
        world.make_commit(token, "build", Ok("6673e80"));
        assert_eq!(world.item("build").state, ItemState::Done, "{plan}");
        assert_eq!(level(&world, "build"), Some(Level::Check));
    }
}

#[test]
fn a_claim_may_have_to_stand_up_to_a_gate() {
    let (mut world, token) = with(Worth::Check);
    world.work(token, "build", nothing_changed());
    let item = world.item("build");
    assert_eq!((item.state, item.stage), (ItemState::Working, Stage::Gate));
    assert_eq!(
        (item.plan.gate.as_ref(), item.pending_gate()),
        (None, Some(&a_gate()))
    );
    world.gate(token, "build", true);
    let item = world.item("build");
    assert_eq!(item.state, ItemState::Done);
    let checked = item.proof.evidence.iter();
    let commands: Vec<&str> = checked
        .filter_map(|one| match one {
            Evidence::Checked { command, .. } => Some(command.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(commands, ["cargo test"]);
}

#[test]
fn a_gate_for_claims_that_fails_is_mended_and_gives_up_like_any_other() {
    let (mut world, token) = with(Worth::Check);
    world.work(token, "build", nothing_changed());
    world.gate(token, "build", false);
    assert_eq!(world.item("build").stage, Stage::Fix);
    let attempt = world.begin_as(token, "build", Role::GateFix);
    world.end(token, "build", attempt, between("a", "b"));
    world.gate(token, "build", false);
    assert_eq!(world.item("build").state, ItemState::Failed);
    world.retry("build");
    assert_eq!(
        world.item("build").pending_gate(),
        None,
        "it begins at its work"
    );
}

#[test]
fn a_person_may_be_asked_and_takes_the_word_or_does_not() {
    let question = "`build` is said to be done, and its attempts changed nothing: is it done?";
    for verb in [Verb::Approve, Verb::Retry, Verb::Answer, Verb::Skip] {
        let (mut world, token) = with(Worth::Ask);
        world.work(token, "build", nothing_changed());
        assert_eq!(world.state(), RunState::Waiting);
        assert_eq!(world.item("build").state, ItemState::Waiting);
        let asked = world
            .tables
            .decision(world.question())
            .expect("it is asked");
        assert_eq!(
            (asked.kind, asked.question.as_str()),
            (DecisionKind::Claim, question)
        );
        world.decide(verb, Some("look again"));
        assert_eq!(world.state(), RunState::Interrupted);
        let item = world.item("build");
        match verb {
            Verb::Approve => {
                assert_eq!(item.state, ItemState::Done);
                let level = level_of_evidence(&item.proof.evidence);
                assert_eq!(level, Some(Level::Person));
                assert_eq!(world.next(), Some("release"));
            }
            Verb::Skip => assert_eq!(item.state, ItemState::Skipped),
            _ => assert_eq!(item.state, ItemState::Ready),
        }
    }
}

#[test]
fn a_word_that_is_taken_finishes_what_holds_the_item_and_the_run() {
    let (mut world, token) = running("build\n  s1", tried_once(), worth(Worth::Ask));
    world.work(token, "build/s1", nothing_changed());
    world.ok(Command::ReleaseRun {
        run: world.run,
        token,
    });
    world.decide(Verb::Approve, None);
    assert_eq!(world.item("build").state, ItemState::Done);
    assert_eq!(world.state(), RunState::Done);
}

#[test]
fn what_is_done_again_has_to_change_something_again() {
    let (mut world, token) = with(Worth::Accept);
    world.work(token, "build", between("a", "b"));
    let redo = |word, run| Command::TakeEdits {
        run,
        token: None,
        file: "PROGRESS.yaml".to_owned(),
        edits: vec![Edit::SetState {
            node: node("build"),
            to: ItemState::Ready,
        }],
        word,
    };
    let run = world.run;
    world.ok(redo(EditAuthor::File, run));
    let word = a_persons(&world);
    world.ok(redo(word, run));
    world.work(token, "build", nothing_changed());
    assert_eq!(world.item("build").proof.evidence, [Evidence::NoneAsked]);
}

// Weakened proof.

#[test]
fn weakened_proof_is_asked_about_noted_or_refused() {
    for (weakened, state) in [
        (WeakenedProof::Ask, ItemState::Waiting),
        (WeakenedProof::Note, ItemState::Done),
        (WeakenedProof::Refuse, ItemState::Failed),
    ] {
        let mut claims = ClaimSettings::default();
        claims.rules.weakened = weakened;
        let (mut world, token) = running("build gate=3\nrelease", tried_once(), claims);
        let proof = ProofChange {
            tests_removed: 1,
            ..ProofChange::default()
        };
        let report = Report {
            changes: ReportedChanges {
                proof: Some(Box::new(proof)),
                ..between("a", "b").changes
            },
            ..between("a", "b")
        };
        world.work(token, "build", report);
        check_on(&mut world, token, "build", (true, Some("b")));
        let item = world.item("build");
        assert_eq!(item.state, state, "{weakened}");
        let how = vec!["1 test definition fewer than before".to_owned()];
        let noted = item.proof.evidence.contains(&Evidence::Weakened { how });
        assert_eq!(noted, state == ItemState::Done);
        let row = world.tables.attempts().next().expect("there is one");
        let outcome = row.report.as_ref().map(|report| report.outcome);
        let expect = match state {
            ItemState::Waiting => None,
            ItemState::Done => Some(Outcome::Completed),
            _ => Some(Outcome::Failed),
        };
        assert_eq!(outcome, expect);
    }
}

#[test]
fn what_an_earlier_attempt_weakened_and_a_later_one_gave_back_is_whole() {
    let (mut world, token) = running("build", tried_once(), ClaimSettings::default());
    let with = |removed, added, trees: (&str, &str), outcome| Report {
        outcome,
        changes: ReportedChanges {
            proof: Some(Box::new(ProofChange {
                tests_removed: removed,
                tests_added: added,
                ..ProofChange::default()
            })),
            ..between(trees.0, trees.1).changes
        },
        ..between(trees.0, trees.1)
    };
    let first = with(2, 0, ("a", "b"), Outcome::Interrupted);
    world.work(token, "build", first);
    world.work(token, "build", with(0, 2, ("b", "c"), Outcome::Completed));
    assert_eq!(world.item("build").state, ItemState::Done);
}

#[test]
fn what_is_approved_is_what_the_reviewer_saw_and_not_what_was_made_once() {
    let review = |world: &mut World, token: u64, before: &str, after: &str| {
        let attempt = world.begin_as(token, "build", Role::Reviewer);
        let report = Report {
            review: Some(Box::new(AgentReview {
                verdict: ReviewVerdict::Approve,
                summary: None,
                observations: Vec::new(),
            })),
            ..between(before, after)
        };
        world.end(token, "build", attempt, report);
    };
    let policy = Policy {
        review: Some(ReviewPolicy {
            rounds_max: 2,
            except: Vec::new(),
        }),
        ..tried_once()
    };
    // What a first reviewer left, what the one that approves saw, and whether that has
    // anything of the work.
    for (left, seen, is_there) in [
        (None, "t1", true),
        (Some("t0"), "t0", false),
        // Undone by somebody else, between the attempt and its review.
        (None, "t0", false),
        (Some("t2"), "t2", true),
        (Some("t0"), "t1", true),
    ] {
        let (mut world, token) = running("build", policy.clone(), worth(Worth::Ask));
        world.work(token, "build", between("t0", "t1"));
        if let Some(left) = left {
            review(&mut world, token, "t1", left);
            assert_eq!(world.item("build").stage, Stage::Review);
        }
        review(&mut world, token, seen, seen);
        let state = world.item("build").state;
        if is_there {
            assert_eq!(state, ItemState::Done, "{left:?} {seen}");
        } else {
            assert_eq!(state, ItemState::Waiting, "{left:?} {seen}");
            let row = world.tables.decision(world.question()).expect("asked");
            let words = "its attempts changed files of which nothing is left: is it done?";
            assert!(row.question.contains(words), "{}", row.question);
        }
    }
}
