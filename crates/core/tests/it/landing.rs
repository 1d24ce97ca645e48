//! Landing: the intent, its end, and what is refused.

use piton_core::lane::{Landing, TargetRow};
use piton_core::{Command, Refusal};

use crate::world::World;

fn landing(commit: &str, onto: &str) -> Landing {
    Landing {
        commit: commit.to_owned(),
        onto: onto.to_owned(),
        at: None,
    }
}

/// A run with a branch of its own.
fn targeted() -> World {
    let (mut world, token) = World::running("a");
    let run = world.run;
    let target = Box::new(TargetRow {
        branch: "piton/auth".to_owned(),
        base: "base".to_owned(),
        tip: "base".to_owned(),
        onto: Some("main".to_owned()),
        path: None,
        was_there: false,
        merged: 0,
    });
    world.ok(Command::TargetRun {
        run,
        token,
        repository: None,
        target,
    });
    world
}

/// What is asked for, after each other, and what came of the last: the kinds that
/// it stored, or why it was refused.
const STEPS: &[(&[&str], &str)] = &[
    (&["land one main"], "land-started"),
    (&["land one main", "land one main"], ""),
    (&["land one main", "end one main"], "run-landed"),
    (&["land one main", "end one main", "end one main"], ""),
    // It was merged elsewhere, or more was done before the first was seen.
    (&["land one main", "land two main"], "land-started"),
    (&["land one main", "land one trunk"], "land-started"),
    (
        &["land one main", "land two main", "end two main"],
        "run-landed",
    ),
    (
        &["land one main", "end one main", "land two main"],
        "land-started",
    ),
    (&["land base main"], "nothing is done on its branch"),
    // A person has taken it back.
    (
        &["land one main", "end one main", "land one main"],
        "land-started",
    ),
    (
        &[
            "land one main",
            "end one main",
            "land one main",
            "end one main",
        ],
        "run-landed",
    ),
    (&["end one main"], "not in that state"),
    (&["land one main", "end two main"], "not in that state"),
    (
        &["land one main", "land two main", "end one main"],
        "not in that state",
    ),
];

fn command(world: &World, text: &str) -> Command {
    let run = world.run;
    let words: Vec<&str> = text.split(' ').collect();
    let landing = landing(words[1], words[2]);
    match words[0] {
        "land" => Command::LandRun { run, landing },
        _ => Command::EndLanding { run, landing },
    }
}

#[test]
fn a_landing_is_begun_and_ended_once_each() {
    for (steps, expected) in STEPS {
        let mut world = targeted();
        let (last, before) = steps.split_last().expect("a step");
        for step in before {
            let command = command(&world, step);
            world.ok(command);
        }
        let command = command(&world, last);
        let said = match expected.contains(' ') {
            false => {
                let stored = world.ok(command);
                let kinds: Vec<&str> = stored.iter().map(|one| one.event.kind()).collect();
                kinds.join(" ")
            }
            true => match world.refused(command) {
                Refusal::NothingToLand { why, .. } => why.to_owned(),
                Refusal::RunState { .. } => "not in that state".to_owned(),
                other => panic!("{steps:?}: {other:?}"),
            },
        };
        assert_eq!(said, *expected, "{steps:?}");
    }
}

#[test]
fn what_landed_and_what_is_to_land_stand_in_the_row() {
    let mut world = targeted();
    let run = world.run;
    let (one, two) = (landing("one", "main"), landing("two", "main"));
    let command = |landing: &Landing| Command::LandRun {
        run,
        landing: landing.clone(),
    };
    world.ok(command(&one));
    assert_eq!(world.run_row().branches.landing.as_deref(), Some(&one));
    assert_eq!(world.run_row().branches.landed, None);
    world.ok(Command::EndLanding {
        run,
        landing: one.clone(),
    });
    world.ok(command(&two));
    assert_eq!(world.run_row().branches.landing.as_deref(), Some(&two));
    assert_eq!(world.run_row().branches.landed.as_deref(), Some(&one));
}

#[test]
fn a_run_that_is_worked_on_in_place_has_nothing_to_land() {
    let (mut world, _) = World::running("a");
    let run = world.run;
    let landing = landing("one", "main");
    let refusal = world.refused(Command::LandRun { run, landing });
    assert!(
        matches!(refusal, Refusal::NothingToLand { .. }),
        "{refusal:?}"
    );
}
