//! The branch that the work of a run goes to.

use piton_core::event::RunEvent;
use piton_core::lane::TargetRow;
use piton_core::{Command, Event, Refusal, RunId};

use crate::world::World;

fn target(branch: &str) -> TargetRow {
    TargetRow {
        branch: branch.to_owned(),
        base: "c0ffee".to_owned(),
        tip: "c0ffee".to_owned(),
        onto: Some("main".to_owned()),
        path: None,
        was_there: false,
        merged: 0,
    }
}

fn target_run(run: RunId, token: u64, branch: &str) -> Command {
    Command::TargetRun {
        run,
        token,
        repository: None,
        target: Box::new(target(branch)),
    }
}

#[test]
fn a_run_has_one_target_which_is_recorded_once() {
    let (mut world, token) = World::running("a");
    let run = world.run;
    assert_eq!(world.run_row().branches.target, None);
    let stored = world.ok(target_run(run, token, "piton/auth"));
    assert!(matches!(
        &stored[..],
        [recorded] if matches!(recorded.event, Event::Run(RunEvent::Targeted { .. }))
    ));
    assert_eq!(
        world.run_row().branches.target.as_deref(),
        Some(&target("piton/auth"))
    );
    // A runner that died between the intent and the branch says it again.
    assert!(world.ok(target_run(run, token, "piton/auth")).is_empty());
    let refusal = world.refused(target_run(run, token, "piton/auth-2"));
    let Refusal::Targeted { branch, .. } = refusal else {
        panic!("{refusal:?}")
    };
    assert_eq!(branch, "piton/auth");
}

#[test]
fn only_the_runner_that_holds_the_run_chooses_its_target() {
    let (mut world, token) = World::running("a");
    let run = world.run;
    let refusal = world.refused(target_run(run, token + 1, "piton/auth"));
    assert!(matches!(refusal, Refusal::Fenced { .. }));
    assert_eq!(world.run_row().branches.target, None);
}
