//! What must pass before a node is done, and what is committed then: case 20.

use piton_core::attempt::{ProgramReport, Report};
use piton_core::classify::FailureCategory;
use piton_core::gate::GateReport;

use piton_core::evidence::{CheckSignificance, Evidence};
use piton_core::policy::{Policy, RetryPolicy};
use piton_core::{Command, ItemState, Outcome, Refusal, Role, RunState, Stage, Verb};

use crate::world::{World, needs_human, node, retry_item, start_attempt, tried_once};

/// The evidence of a check that passed where nobody looked at the tree.
fn passed(means: Option<CheckSignificance>) -> Evidence {
    Evidence::Checked {
        command: "make test".to_owned(),
        tree: None,
        means,
    }
}

#[test]
fn case_20_a_gate_that_passes_is_the_evidence_that_a_node_is_done() {
    let (mut world, token) = World::running("build gate=3\nrelease");
    world.complete(token, "build");
    assert_eq!(world.item("build").stage, Stage::Gate);
    world.gate(token, "build", true);
    let item = world.item("build");
    assert_eq!(item.state, ItemState::Done);
    assert_eq!(item.proof.evidence, [passed(None)]);
    world.complete(token, "release");
    assert_eq!(world.item("release").proof.evidence, [Evidence::NoneAsked]);
}

#[test]
fn case_20_a_gate_that_passes_the_second_time_was_mended_once() {
    let (mut world, token) = World::running("build gate=3");
    world.complete(token, "build");
    world.gate(token, "build", false);
    assert_eq!(world.item("build").stage, Stage::Fix);
    world.mend(token, "build");
    assert_eq!(world.item("build").stage, Stage::Gate);
    world.gate(token, "build", true);
    let item = world.item("build");
    assert_eq!(item.state, ItemState::Done);
    assert_eq!(item.proof.gate_runs.as_ref().map(|runs| runs.runs), Some(2));
    assert_eq!(item.attempts, 2);
    assert_eq!(
        world.run_row().invocation.iterations_total,
        2,
        "a mending agent counts"
    );
}

#[test]
fn case_20_a_gate_gives_up_when_its_runs_are_used_up() {
    let (mut world, token) = World::running("build gate=2");
    world.complete(token, "build");
    world.gate(token, "build", false);
    world.mend(token, "build");
    world.gate(token, "build", false);
    let item = world.item("build");
    assert_eq!(item.state, ItemState::Failed);
    assert_eq!(
        item.error.as_deref(),
        Some("gate failed after 2 runs: it did not pass")
    );
    assert_eq!(world.state(), RunState::Blocked);
}

#[test]
fn case_20_a_gate_of_one_run_is_never_mended() {
    let (mut world, token) = World::running("build gate=1");
    world.complete(token, "build");
    world.gate(token, "build", false);
    assert_eq!(
        world.item("build").error.as_deref(),
        Some("gate failed after 1 run: it did not pass")
    );
}

#[test]
fn case_20_a_gate_that_runs_out_of_time_says_so() {
    let (mut world, token) = World::running("build gate=1");
    let run = world.run;
    world.complete(token, "build");
    world.ok(Command::StartGate {
        run,
        token,
        node: node("build"),
    });
    let report = GateReport {
        exit: Some(-1),
        error: Some("gate script timed out after 60 seconds".to_owned()),
        ..GateReport::default()
    };
    world.ok(Command::EndGate {
        run,
        token,
        node: node("build"),
        fence: world.fence("build"),
        report,
        recovery: None,
    });
    assert_eq!(
        world.item("build").error.as_deref(),
        Some("gate failed after 1 run: gate script timed out after 60 seconds")
    );
}

#[test]
fn a_gate_whose_runner_died_is_run_again_and_not_counted() {
    let (mut world, token) = World::running("build gate=1");
    let run = world.run;
    world.complete(token, "build");
    world.ok(Command::StartGate {
        run,
        token,
        node: node("build"),
    });
    world.holder_gone = true;
    let token = world.start();
    let again = Command::StartGate {
        run,
        token,
        node: node("build"),
    };
    assert!(matches!(world.refused(again), Refusal::ItemState { .. }));
    let report = GateReport {
        interrupted: true,
        ..GateReport::default()
    };
    world.ok(Command::EndGate {
        run,
        token,
        node: node("build"),
        fence: world.fence("build"),
        report,
        recovery: None,
    });
    world.gate(token, "build", true);
    let item = world.item("build");
    assert_eq!(item.state, ItemState::Done);
    assert_eq!(item.proof.gate_runs.as_ref().map(|runs| runs.runs), Some(1));
}

#[test]
fn the_gate_of_a_phase_runs_when_all_its_steps_are_done() {
    let (mut world, token) = World::running("build gate=2\n  s1\n  s2\nrelease");
    world.complete(token, "build/s1");
    assert_eq!(world.next(), Some("build/s2"));
    world.complete(token, "build/s2");
    assert_eq!(world.next(), Some("build"));
    world.gate(token, "build", false);
    world.mend(token, "build");
    world.gate(token, "build", true);
    assert_eq!(
        world.item("build").proof.evidence,
        [passed(Some(CheckSignificance::SeenToFail))]
    );
    assert_eq!(world.next(), Some("release"));
}

#[test]
fn a_mending_agent_that_is_interrupted_is_started_again() {
    let (mut world, token) = World::running("build gate=2");
    world.complete(token, "build");
    world.gate(token, "build", false);
    let attempt = world.begin_as(token, "build", Role::GateFix);
    world.end(
        token,
        "build",
        attempt,
        Report::with_outcome(Outcome::Interrupted),
    );
    assert_eq!(world.item("build").stage, Stage::Fix);
    world.mend(token, "build");
    world.gate(token, "build", true);
    assert_eq!(world.item("build").state, ItemState::Done);
}

#[test]
fn a_mending_agent_that_needs_a_person_mends_on_with_the_answer() {
    let (mut world, token) = World::running("build gate=3\n  s1\nrelease");
    world.complete(token, "build/s1");
    world.gate(token, "build", false);
    let attempt = world.begin_as(token, "build", Role::GateFix);
    world.end(token, "build", attempt, needs_human("which database?"));
    assert_eq!(world.state(), RunState::Waiting);
    assert_eq!(world.pointer(), Some("build"));

    world.decide(Verb::Answer, Some("the small one"));
    assert_eq!(world.state(), RunState::Interrupted);
    let item = world.item("build");
    assert_eq!((item.state, item.stage), (ItemState::Working, Stage::Fix));
    assert_eq!(item.people.answer.as_deref(), Some("the small one"));
    world.holder_gone = true;
    let token = world.start();
    assert_eq!(world.next(), Some("build"));
    world.mend(token, "build");
    world.gate(token, "build", true);
    assert_eq!(world.item("build").state, ItemState::Done);
}

#[test]
fn a_gate_that_is_tried_again_has_all_its_runs_again() {
    let (mut world, token) = World::running("build gate=2\n  s1\nrelease");
    world.complete(token, "build/s1");
    world.gate(token, "build", false);
    world.mend(token, "build");
    world.gate(token, "build", false);
    assert_eq!(world.state(), RunState::Blocked);

    world.decide(Verb::Retry, None);
    let item = world.item("build");
    assert_eq!((item.state, item.stage), (ItemState::Working, Stage::Gate));
    assert_eq!(world.item("build/s1").state, ItemState::Done, "not redone");
    world.holder_gone = true;
    let token = world.start();
    world.gate(token, "build", false);
    assert_eq!(world.item("build").stage, Stage::Fix, "mended again");
    world.mend(token, "build");
    world.gate(token, "build", true);
    assert_eq!(
        world.item("build").proof.evidence,
        [passed(Some(CheckSignificance::SeenToFail))]
    );
}

#[test]
fn a_leaf_whose_gate_failed_for_good_is_worked_on_anew() {
    let (mut world, token) = World::running("build gate=1");
    world.complete(token, "build");
    world.gate(token, "build", false);
    world.decide(Verb::Answer, Some("mind the tests"));
    let item = world.item("build");
    assert_eq!((item.state, item.stage), (ItemState::Ready, Stage::Work));
    assert_eq!(item.proof.gate_runs, None);
    assert_eq!(item.people.answer.as_deref(), Some("mind the tests"));
}

#[test]
fn a_gate_whose_runs_are_used_up_is_not_tried_again_whatever_the_plan_retries() {
    let policy = Policy {
        retry: RetryPolicy {
            retries_max: 1,
            backoff_ms: vec![1_000],
            categories: vec![FailureCategory::Validation],
            at_once_max: 2,
        },
        ..tried_once()
    };
    let mut world = World::with_policy("build gate=2", policy);
    let token = world.start();
    world.complete(token, "build");
    world.gate(token, "build", false);
    world.mend(token, "build");
    world.gate(token, "build", false);
    assert_eq!(world.state(), RunState::Blocked);
    let item = world.item("build");
    assert_eq!((item.tries.retries, item.attempts), (0, 2));
}

#[test]
fn what_was_left_out_below_a_gate_that_runs_cannot_come_back_at_that_moment() {
    let (mut world, token) = World::running("build gate=2\n  s1\n  s2\nrelease");
    let run = world.run;
    world.skip("build/s2");
    world.complete(token, "build/s1");
    world.ok(Command::StartGate {
        run,
        token,
        node: node("build"),
    });
    assert_eq!(
        world.refused(retry_item(run, "build/s2")),
        Refusal::BeingWorkedOn(node("build"))
    );
}

#[test]
fn what_comes_back_below_a_gate_is_done_before_the_gate() {
    let (mut world, token) = World::running("build gate=2\n  s1\n  s2\nrelease");
    world.skip("build/s2");
    world.complete(token, "build/s1");
    assert_eq!(world.next(), Some("build"));
    world.retry("build/s2");
    assert_eq!(world.next(), Some("build/s2"));
    world.complete(token, "build/s2");
    world.gate(token, "build", true);
    assert_eq!(world.item("build").state, ItemState::Done);
}

#[test]
fn what_comes_back_below_a_gate_that_failed_answers_the_question_about_it() {
    let (mut world, token) = World::running("build gate=1\n  s1\n  s2\nrelease");
    world.skip("build/s2");
    world.complete(token, "build/s1");
    world.gate(token, "build", false);
    assert_eq!(world.state(), RunState::Blocked);
    world.retry("build/s2");
    assert_eq!(world.state(), RunState::Interrupted);
    assert_eq!(world.tables.open_decisions(world.run).count(), 0);
    world.holder_gone = true;
    let token = world.start();
    world.complete(token, "build/s2");
    world.gate(token, "build", true);
    assert_eq!(world.item("build").state, ItemState::Done);
}

#[test]
fn what_comes_back_below_a_gate_that_waits_for_a_person_answers_the_question_about_it() {
    let (mut world, token) = World::running("build gate=2\n  s1\n  s2\nrelease");
    world.skip("build/s2");
    world.complete(token, "build/s1");
    world.gate(token, "build", false);
    let attempt = world.begin_as(token, "build", Role::GateFix);
    world.end(token, "build", attempt, needs_human("s2 is missing?"));
    world.retry("build/s2");
    assert_eq!(world.state(), RunState::Interrupted);
    world.holder_gone = true;
    let token = world.start();
    world.complete(token, "build/s2");
    assert_eq!(world.item("build").stage, Stage::Gate);
}

#[test]
fn a_reopened_phase_says_once_that_its_gate_passed() {
    let (mut world, token) = World::running("build gate=1\n  s1\n  s2\nrelease");
    world.skip("build/s2");
    world.complete(token, "build/s1");
    world.gate(token, "build", true);
    world.retry("build/s2");
    world.complete(token, "build/s2");
    world.gate(token, "build", true);
    let item = world.item("build");
    assert_eq!(item.proof.evidence, [passed(None)]);
    assert_eq!(item.proof.gate_runs.as_ref().map(|runs| runs.runs), Some(1));
}

// Commits.

fn committing(text: &str) -> (World, u64) {
    let policy = Policy {
        auto_commit: true,
        ..tried_once()
    };
    let mut world = World::with_policy(text, policy);
    let token = world.start();
    (world, token)
}

#[test]
fn each_task_is_committed_and_nothing_else_is() {
    let (mut world, token) = committing("build\n  s1\n    a\n    b\nrelease");
    world.complete(token, "build/s1/a");
    assert_eq!(world.next(), Some("build/s1/b"), "a sub-phase is no task");
    world.complete(token, "build/s1/b");
    assert_eq!(world.item("build/s1").stage, Stage::Commit);
    world.make_commit(token, "build/s1", Ok("6673e79"));
    assert_eq!(world.item("build").state, ItemState::Done);
    let commit = "6673e79".to_owned();
    assert!(
        world
            .item("build/s1")
            .proof
            .evidence
            .contains(&Evidence::Committed { commit })
    );
    world.complete(token, "release");
    assert_eq!(world.next(), Some("release"));
    world.make_commit(token, "release", Ok("7673e79"));
    assert_eq!(world.state(), RunState::Done);
    assert_eq!(world.run_row().invocation.tasks, 2);
}

#[test]
fn the_gate_comes_before_the_commit() {
    let (mut world, token) = committing("build gate=1");
    world.complete(token, "build");
    world.gate(token, "build", true);
    assert_eq!(world.item("build").stage, Stage::Commit);
}

#[test]
fn a_commit_that_fails_fails_the_step_and_trying_again_does_not_redo_the_work() {
    for text in ["build gate=1\n  s1\nrelease", "build\n  s1\n    a\nrelease"] {
        let (mut world, token) = committing(text);
        let leaf = world.next().expect("something is next").to_owned();
        world.complete(token, &leaf);
        world.make_commit(token, "build/s1", Err("the hook says no"));
        assert_eq!(
            world.item("build/s1").error.as_deref(),
            Some("commit failed: the hook says no")
        );
        assert_eq!(world.state(), RunState::Blocked);
        world.decide(Verb::Retry, None);
        world.holder_gone = true;
        let token = world.start();
        assert_eq!(world.next(), Some("build/s1"));
        assert_eq!(world.item("build/s1").stage, Stage::Commit);
        world.make_commit(token, "build/s1", Ok("6673e79"));
        assert_eq!(world.item("build/s1").state, ItemState::Done);
        assert_eq!(
            world.run_row().invocation.iterations_total,
            1,
            "one agent in all"
        );
    }
}

#[test]
fn an_agent_is_not_started_on_what_only_has_to_be_committed() {
    let (mut world, token) = committing("build");
    world.complete(token, "build");
    for role in [Role::Worker, Role::GateFix] {
        let attempt = world.fresh_attempt();
        let command = start_attempt(world.run, token, attempt, "build", role);
        world.refused(command);
    }
}

#[test]
fn a_commit_that_fails_on_what_somebody_wants_to_leave_out_asks_nobody() {
    let (mut world, token) = committing("build\nrelease");
    let run = world.run;
    world.complete(token, "build");
    world.ok(Command::StartCommit {
        run,
        token,
        node: node("build"),
        head: None,
    });
    world.skip("build");
    assert_eq!(world.item("build").state, ItemState::Working);
    world.ok(Command::EndCommit {
        run,
        token,
        node: node("build"),
        fence: world.fence("build"),
        result: Err("the hook says no".to_owned()),
    });
    assert_eq!(world.item("build").state, ItemState::Skipped);
    assert_eq!(world.state(), RunState::Running);
}

fn not_found(world: &mut World, token: u64, at: &str) {
    world.ok(Command::StartGate {
        run: world.run,
        token,
        node: node(at),
    });
    let report = GateReport {
        exit: Some(127),
        output: "sh: 1: mkae: not found".to_owned(),
        ..GateReport::default()
    };
    world.ok(Command::EndGate {
        run: world.run,
        token,
        node: node(at),
        fence: world.fence(at),
        report,
        recovery: None,
    });
}

#[test]
fn a_check_that_cannot_be_run_twice_is_asked_about_and_no_agent_repairs_it() {
    let (mut world, token) = World::running("build gate=5\nrelease");
    world.complete(token, "build");
    not_found(&mut world, token, "build");
    assert_eq!(
        world.item("build").stage,
        Stage::Fix,
        "once may be the work"
    );
    world.mend(token, "build");
    not_found(&mut world, token, "build");
    let item = world.item("build");
    assert_eq!((item.state, item.attempts), (ItemState::Failed, 2));
    let error = item.error.as_deref();
    assert_eq!(
        error,
        Some("its check cannot be run (exit status 127): make test")
    );
    assert_eq!(world.state(), RunState::Blocked);
}

#[test]
fn only_work_counts_as_time_of_an_item_and_what_it_waited_for_does_not() {
    let (mut world, token) = World::running("dev\n  build gate=3");
    world.pass(1_000);
    let attempt = world.begin(token, "dev/build");
    world.pass(60);
    assert_eq!(
        world.item("dev/build").work_ms_until(Some(world.now)),
        60_000
    );
    world.end(token, "dev/build", attempt, needs_human("which port?"));
    world.pass(36_000);
    world.decide(Verb::Answer, Some("5433"));
    let token = world.start();
    let attempt = world.begin(token, "dev/build");
    world.pass(30);
    world.end(
        token,
        "dev/build",
        attempt,
        Report::with_outcome(Outcome::Completed),
    );
    let item = world.item("dev/build").clone();
    assert_eq!((item.work.work_ms, item.work.at_work_since), (90_000, None));
    let above = world.item("dev").clone();
    assert_eq!(world.tables.total_work_ms(&above, Some(world.now)), 90_000);
}

#[test]
fn an_attempt_whose_runner_died_counts_as_long_as_its_agent_was_seen() {
    let (mut world, token) = World::running("build");
    let attempt = world.begin(token, "build");
    world.pass(36_000);
    let report = Report {
        program: ProgramReport {
            duration_s: Some(120),
            ..ProgramReport::default()
        },
        ..Report::with_outcome(Outcome::Interrupted)
    };
    world.end(token, "build", attempt, report);
    assert_eq!(world.item("build").work.work_ms, 120_000);
}

#[test]
fn what_a_phase_is_tried_again_with_is_all_that_failed_below_it() {
    let (mut world, token) = committing("build\n  s1\n    x\n  s2 parallel\n    y\nrelease");
    world.complete(token, "build/s1/x");
    world.make_commit(token, "build/s1", Err("the hook says no"));
    assert_eq!(world.item("build/s1").state, ItemState::Failed);
    assert_eq!(world.item("build").state, ItemState::Failed);
    world.retry("build");
    let step = world.item("build/s1");
    assert_eq!(
        (step.state, step.stage),
        (ItemState::Working, Stage::Commit)
    );
    assert_eq!(world.item("build").state, ItemState::Working);
    let run = world.run;
    world.ok(Command::ContinueRun { run, token });
    world.make_commit(token, "build/s1", Ok("6673e79"));
    assert_eq!(world.item("build/s1").state, ItemState::Done);
}
