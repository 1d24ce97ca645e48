//! Several runners of one run: what one of them meets is no reason for the others to
//! end.

use std::collections::VecDeque;

use piton_core::attempt::{ProgramReport, Report};
use piton_core::merge::MergeStep;
use piton_core::run_loop::{Effect, Input, LaneEnd, RunLoop, RunLoopEnding, RunLoopOptions};
use piton_core::trouble::Trouble;
use piton_core::{Command, HolderLiveness, Outcome, Refusal, Role, RunState};

use crate::merges::{in_lanes, start, step, take_lane};
use crate::world::World;

/// Another runner joins the run: its token.
fn join(world: &mut World) -> u64 {
    let run = world.run;
    world.ok(Command::JoinRun {
        run,
        owner: "another".to_owned(),
        lock: format!("lock-{}", world.run_row().fence + 1),
    });
    world.run_row().fence
}

/// A phase whose check failed, in a lane of a runner that has joined.
fn phase_to_fix() -> (World, u64, u64) {
    let (mut world, holder) = in_lanes("p gate=3\n  s");
    let joined = join(&mut world);
    let lane = take_lane(&world, holder, "p/s", 1);
    world.ok(lane);
    world.complete(holder, "p/s");
    world.make_commit(holder, "p/s", Ok("work"));
    for one in [start(), MergeStep::End] {
        step(&mut world, holder, one);
    }
    let lane = take_lane(&world, joined, "p", 1);
    world.ok(lane);
    world.gate(joined, "p", false);
    (world, holder, joined)
}

fn put_off() -> Report {
    Report {
        error: Some("usage limit reached".to_owned()),
        program: ProgramReport {
            trouble: Some(Trouble::RateLimit),
            ..ProgramReport::default()
        },
        ..Report::with_outcome(Outcome::Interrupted)
    }
}

/// Where a runner ends whose agent is put off.
fn ending(world: &mut World, token: u64) -> RunLoopEnding {
    let mut runner = RunLoop::new(
        world.run,
        token,
        RunLoopOptions::default(),
        world.tables.clone(),
    );
    let mut seen = world.journal.len();
    let mut queue = VecDeque::from([Effect::Look]);
    while let Some(effect) = queue.pop_front() {
        let input = match effect {
            Effect::Finish(ending) => return ending,
            Effect::Look => Input::Looked {
                events: world.journal[seen..].to_vec(),
                pause_file: false,
                attempt: world.fresh_attempt(),
            },
            Effect::Commit(command) => match world.commit(&command) {
                Ok(_) => Input::Committed(world.journal[seen..].to_vec()),
                Err(refusal) => Input::Refused(refusal),
            },
            Effect::LaneIntent { node } => {
                let lane = take_lane(world, token, node.as_str(), 2);
                world.ok(lane);
                Input::Committed(world.journal[seen..].to_vec())
            }
            Effect::PrepareLane { node } => Input::LaneEnded {
                node,
                end: LaneEnd::Prepared,
            },
            Effect::StartAgent { attempt, node, .. } => Input::AgentEnded {
                attempt,
                node,
                report: Box::new(put_off()),
                recovery: None,
            },
            effect => panic!("{effect:?}"),
        };
        seen = world.journal.len();
        queue.extend(runner.step(world.now, input));
    }
    panic!("it waits for something");
}

#[test]
fn a_runner_whose_agent_has_no_place_to_wait_at_ends_alone() {
    let (mut world, _, joined) = phase_to_fix();
    let said = ending(&mut world, joined);
    let error = "usage limit reached".to_owned();
    assert_eq!(said, RunLoopEnding::TurnedAway(Trouble::RateLimit, error));
    assert_eq!(world.state(), RunState::Running);
}

#[test]
fn the_last_runner_whose_agent_has_no_place_to_wait_at_interrupts_the_run() {
    let (mut world, holder, joined) = phase_to_fix();
    let attempt = world.begin_as(joined, "p", Role::GateFix);
    world.end(joined, "p", attempt, put_off());
    assert_eq!(world.state(), RunState::Running);
    let run = world.run;
    world.ok(Command::ReleaseRun { run, token: joined });
    assert_eq!(ending(&mut world, holder), RunLoopEnding::State);
    assert_eq!(world.state(), RunState::Interrupted);
}

/// Whoever wanted the unit before it knew of that attempt would else get its lane, in
/// which nothing can be begun.
#[test]
fn a_unit_is_taken_by_nobody_until_the_attempt_of_a_runner_that_is_gone_is_settled() {
    let (mut world, gone) = in_lanes("p\n  s");
    let (first, second) = (join(&mut world), join(&mut world));
    let lane = take_lane(&world, gone, "p/s", 1);
    world.ok(lane);
    let attempt = world.begin(gone, "p/s");
    let run = world.run;
    world.holder = Some(HolderLiveness::Gone(gone));
    world.ok(Command::HoldRun { run, token: first });
    world.holder = None;
    for token in [first, second] {
        let early = take_lane(&world, token, "p/s", 2);
        let refusal = world.refused(early);
        assert!(
            matches!(refusal, Refusal::ItemState { .. }),
            "{token}: {refusal:?}"
        );
    }
    let report = Report::with_outcome(Outcome::Interrupted);
    world.end(first, "p/s", attempt, report);
    let lane = take_lane(&world, second, "p/s", 2);
    world.ok(lane);
    world.begin(second, "p/s");
}
