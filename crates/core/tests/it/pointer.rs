//! Where the run goes on: cases 12, 19, 22 and 23.

use piton_core::attempt::Report;
use piton_core::event::RunEvent;
use piton_core::plan::ImportedRunHistory;
use piton_core::run::Pause;
use piton_core::{Command, Event, ItemState, Outcome, Refusal, RunState, Verb};

use crate::world::{World, retry_item};

const TWO_PHASES: &str = "
build
  s1
    a
    b
  s2
release
  s1
    a
";

/// Completes what is next until nothing is, and says in which order.
fn order(world: &mut World, token: u64) -> Vec<String> {
    let mut order = Vec::new();
    while let Some(at) = world.next().map(str::to_owned) {
        world.complete(token, &at);
        order.push(at);
    }
    order
}

#[test]
fn case_12_the_tree_is_walked_in_order_and_the_last_sub_phase_completes_the_run() {
    let (mut world, token) = World::running(TWO_PHASES);
    assert_eq!(world.pointer(), Some("build/s1/a"));
    let order = order(&mut world, token);
    assert_eq!(
        order,
        ["build/s1/a", "build/s1/b", "build/s2", "release/s1/a"]
    );
    assert_eq!(world.state(), RunState::Done);
    assert_eq!(world.pointer(), Some("release/s1/a"), "the last node");
    assert!(world.run_row().completed_at.is_some());
}

#[test]
fn case_12_a_step_without_sub_phases_and_a_phase_without_steps_are_done_by_one_agent() {
    let (mut world, token) = World::running("build\n  s1\nrelease");
    assert_eq!(order(&mut world, token), ["build/s1", "release"]);
    assert_eq!(world.run_row().invocation.iterations_total, 2);
}

#[test]
fn case_12_a_next_phase_that_is_left_out_is_passed_over() {
    let (mut world, token) = World::running("build\n  s1\ntest\n  s1\nrelease\n  s1");
    world.skip("test");
    assert_eq!(order(&mut world, token), ["build/s1", "release/s1"]);
    assert_eq!(
        world.states(&["build", "test", "release"]),
        ["done", "skipped", "done"]
    );
}

#[test]
fn case_12_steps_and_sub_phases_that_are_left_out_are_passed_over() {
    let (mut world, token) = World::running(TWO_PHASES);
    world.skip("build/s1/b");
    world.skip("build/s2");
    assert_eq!(order(&mut world, token), ["build/s1/a", "release/s1/a"]);
    assert_eq!(world.states(&["build", "build/s1"]), ["done", "done"]);
}

#[test]
fn case_12_a_run_whose_remaining_nodes_are_all_left_out_is_done() {
    let (mut world, token) = World::running(TWO_PHASES);
    world.complete(token, "build/s1/a");
    world.skip("build");
    assert_eq!(world.state(), RunState::Running);
    world.skip("release");
    assert_eq!(world.state(), RunState::Done);
    assert_eq!(
        world.states(&["build", "build/s1", "build/s1/a", "release"]),
        ["skipped", "skipped", "done", "skipped"]
    );
}

#[test]
fn a_run_that_is_left_out_whole_before_it_starts_is_done_as_soon_as_it_starts() {
    let mut world = World::planned("build\nrelease");
    world.skip("build");
    world.skip("release");
    assert_eq!(world.state(), RunState::New);
    world.start();
    assert_eq!(world.state(), RunState::Done);
    assert_eq!(world.run_row().invocation.iterations_total, 0);
}

#[test]
fn a_plan_without_nodes_is_done_as_soon_as_it_starts() {
    let (world, _) = World::running("");
    assert_eq!(world.state(), RunState::Done);
}

// Breakpoints.

#[test]
fn case_19_break_on_the_last_phase_pauses_and_resuming_completes() {
    let (mut world, token) = World::running("build break\n  s1");
    let run = world.run;
    world.complete(token, "build/s1");
    assert_eq!(world.state(), RunState::Waiting);
    assert_eq!(
        world.run_row().pause,
        Some(Pause::Breakpoint {
            node: crate::world::node("build")
        })
    );
    world.ok(Command::ReleaseRun { run, token });
    world.ok(Command::ResumeRun { run });
    assert_eq!(world.state(), RunState::Done);
    assert_eq!(world.tables.open_decisions(run).count(), 0);
}

#[test]
fn at_a_breakpoint_an_approval_is_a_resume() {
    let (mut world, token) = World::running("build break\n  s1\nrelease");
    world.complete(token, "build/s1");
    assert_eq!(world.next(), Some("release"));
    world.decide(Verb::Approve, None);
    assert_eq!(world.state(), RunState::Interrupted);
    let token = {
        world.holder_gone = true;
        world.start()
    };
    world.complete(token, "release");
    assert_eq!(world.state(), RunState::Done);
}

#[test]
fn two_breakpoints_at_once_ask_twice_and_one_resume_answers_both() {
    let (mut world, token) = World::running("build break\n  s1 break\nrelease");
    let run = world.run;
    world.complete(token, "build/s1");
    assert_eq!(world.tables.open_decisions(run).count(), 2);
    world.ok(Command::ResumeRun { run });
    assert_eq!(world.state(), RunState::Interrupted);
    assert_eq!(world.tables.open_decisions(run).count(), 0);
}

#[test]
fn a_node_that_is_left_out_does_not_stop_at_its_breakpoint() {
    let (mut world, _) = World::running("build break\n  s1\nrelease");
    world.skip("build");
    assert_eq!(world.state(), RunState::Running);
}

#[test]
fn an_old_breakpoint_that_is_approved_does_not_end_a_pause_that_a_person_asked_for() {
    let mut world = World::planned("build break\n  s1\n  s2\nrelease");
    let token = world.start();
    world.complete(token, "build/s1");
    let run = world.run;
    let reason = "stop".to_owned();
    world.ok(Command::InterruptRun { run, token, reason });
    world.ok(Command::ReleaseRun { run, token });
    world.ok(Command::AskPause { run });
    world.skip("build/s2");
    assert_eq!(world.item("build").state, ItemState::Done);
    world.decide(Verb::Approve, None);
    assert_eq!(world.state(), RunState::Paused);
}

// Runs that others began.

#[test]
fn case_22_a_run_may_be_done_with_a_failed_step_and_its_counts_stay_true() {
    let mut world = World::taken_over(
        "build state=done\n  s1 state=done\n  s2 state=failed\nrelease state=done",
        ImportedRunHistory {
            done: true,
            started_at: Some(jiff::Timestamp::UNIX_EPOCH),
            ..ImportedRunHistory::default()
        },
    );
    assert_eq!(world.state(), RunState::Done);
    assert_eq!(world.item("build").open_children, 1);
    assert_eq!(world.run_row().open_roots, 0);
    assert_eq!(world.pointer(), Some("release"), "the last node");
    let run = world.run;
    for command in [
        crate::world::start_run(run, piton_core::policy::Limits::default()),
        Command::ResumeRun { run },
    ] {
        assert!(matches!(world.refused(command), Refusal::RunState { .. }));
    }
    world.ok(retry_item(run, "build/s2"));
    assert_eq!(world.item("build/s2").state, ItemState::Ready);
}

#[test]
fn a_node_that_another_tool_was_working_on_is_started_again() {
    let mut world = World::taken_over(
        "build state=working\n  s1 state=done\n  s2 state=working\nrelease",
        ImportedRunHistory {
            started_at: Some(jiff::Timestamp::UNIX_EPOCH),
            ..ImportedRunHistory::default()
        },
    );
    assert_eq!(world.state(), RunState::Interrupted);
    assert_eq!(world.pointer(), Some("build/s2"));
    let token = world.start();
    assert_eq!(order(&mut world, token), ["build/s2", "release"]);
    assert_eq!(world.state(), RunState::Done);
}

// Interruptions.

#[test]
fn case_23_an_interrupted_run_goes_on_at_the_exact_node() {
    let (mut world, token) = World::running(TWO_PHASES);
    let run = world.run;
    world.complete(token, "build/s1/a");
    world.work(
        token,
        "build/s1/b",
        Report::with_outcome(Outcome::Interrupted),
    );
    let reason = "SIGTERM".to_owned();
    world.ok(Command::InterruptRun { run, token, reason });
    world.ok(Command::ReleaseRun { run, token });
    assert_eq!(world.state(), RunState::Interrupted);
    assert_eq!(world.pointer(), Some("build/s1/b"));
    let item = world.item("build/s1/b");
    assert_eq!(
        (item.attempts, item.tries.retries),
        (1, 0),
        "no retry is counted"
    );

    let token = world.start();
    assert_eq!(
        order(&mut world, token),
        ["build/s1/b", "build/s2", "release/s1/a"]
    );
    assert_eq!(world.item("build/s1/a").attempts, 1);
}

#[test]
fn case_23_the_attempt_of_a_dead_runner_is_settled_by_the_next_one() {
    let (mut world, old) = World::running(TWO_PHASES);
    let attempt = world.begin(old, "build/s1/a");
    world.holder_gone = true;
    let token = world.start();
    assert_eq!(world.pointer(), Some("build/s1/a"));
    let refused = retry_item(world.run, "build/s1/a");
    assert!(matches!(world.refused(refused), Refusal::BeingWorkedOn(_)));
    world.end(
        token,
        "build/s1/a",
        attempt,
        Report::with_outcome(Outcome::Completed),
    );
    assert_eq!(world.item("build/s1/a").attempts, 1, "nothing is repeated");
    assert_eq!(world.next(), Some("build/s1/b"));
    let lost = world
        .journal
        .iter()
        .filter(|recorded| matches!(recorded.event, Event::Run(RunEvent::LeaseLost { .. })));
    assert_eq!(lost.count(), 1);
}
