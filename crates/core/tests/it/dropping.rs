//! Items that a person takes out of the file of a plan.

use piton_core::command::EditAuthor;
use piton_core::{Command, DecisionKind, Edit, ItemState, RunState, Verb};

use crate::world::{World, node};

const PLAN: &str = "
a
b after=a
c
";
const FILE: &str = "prd.json";

fn present(at: &str, present: bool) -> Edit {
    Edit::SetPresent {
        node: node(at),
        present,
    }
}

fn by_hand(world: &mut World, edits: Vec<Edit>) {
    let run = world.run;
    world.ok(Command::TakeEdits {
        run,
        token: None,
        file: FILE.to_owned(),
        edits,
        word: EditAuthor::Hand {
            by: "ada".to_owned(),
            brought: Vec::new(),
        },
    });
}

fn states(world: &World) -> Vec<ItemState> {
    world.tables.tree(world.run).map(|row| row.state).collect()
}

#[test]
fn what_a_person_takes_out_leaves_the_plan_and_holds_up_nothing() {
    use ItemState::{Done, Dropped, Pending, Ready};
    let mut world = World::planned(PLAN);
    by_hand(&mut world, vec![present("a", false)]);
    assert_eq!(states(&world), [Dropped, Ready, Pending]);
    let token = world.start();
    world.complete(token, "b");
    world.complete(token, "c");
    assert_eq!(states(&world), [Dropped, Done, Done]);
    assert_eq!(
        world.tables.run(world.run).map(|row| row.state),
        Some(RunState::Done)
    );
}

#[test]
fn what_comes_back_into_the_file_comes_back_into_the_plan() {
    use ItemState::{Dropped, Pending};
    let mut world = World::planned(PLAN);
    by_hand(&mut world, vec![present("c", false)]);
    assert_eq!(states(&world)[2], Dropped);
    by_hand(&mut world, vec![present("c", true)]);
    assert_eq!(states(&world)[2], Pending);
}

#[test]
fn what_failed_and_is_taken_out_is_asked_about_no_more() {
    let mut world = World::planned(PLAN);
    let token = world.start();
    world.fail(token, "a");
    assert_eq!(states(&world)[0], ItemState::Failed);
    assert!(world.tables.open_decisions(world.run).next().is_some());
    by_hand(&mut world, vec![present("a", false)]);
    assert_eq!(states(&world)[0], ItemState::Dropped);
    assert!(world.tables.open_decisions(world.run).next().is_none());
}

#[test]
fn what_is_done_or_under_way_stays_in_the_plan() {
    let mut world = World::planned(PLAN);
    let token = world.start();
    world.complete(token, "a");
    world.begin(token, "b");
    by_hand(&mut world, vec![present("a", false), present("b", false)]);
    assert_eq!(states(&world)[..2], [ItemState::Done, ItemState::Working]);
}

#[test]
fn who_takes_out_all_that_is_open_is_asked_once() {
    let mut world = World::planned(PLAN);
    let token = world.start();
    world.complete(token, "a");
    let before = states(&world);
    by_hand(&mut world, vec![present("b", false), present("c", false)]);
    assert_eq!(states(&world), before);
    let open: Vec<_> = world.tables.open_decisions(world.run).cloned().collect();
    assert_eq!(open.len(), 1, "{open:?}");
    assert_eq!(open[0].kind, DecisionKind::FileConflict);
    let details = open[0].details.clone().unwrap_or_default();
    for gone in ["`b`", "`c`"] {
        assert!(details.contains(gone), "{details}");
    }
    assert!(
        open[0].allowed_verbs().contains(&Verb::KeepFile),
        "{open:?}"
    );
    // The person means it.
    let run = world.run;
    world.ok(Command::TakeEdits {
        run,
        token: None,
        file: FILE.to_owned(),
        edits: vec![present("b", false), present("c", false)],
        word: EditAuthor::Person {
            decision: open[0].id,
            why: None,
        },
    });
    assert_eq!(
        states(&world),
        [ItemState::Done, ItemState::Dropped, ItemState::Dropped]
    );
}
