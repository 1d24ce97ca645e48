//! Items that wait for work on another branch.

use piton_core::command::MergeNeeded;
use piton_core::{Command, DecisionKind, ItemState, Refusal, RunState, Verb};

use crate::world::{World, node};

fn command(world: &World, token: Option<u64>, waiting: &[&str]) -> Command {
    let needed = |at: &&str| MergeNeeded {
        node: node(at),
        on: vec![(node("keel"), "feature/keel".to_owned())],
    };
    Command::AskForMerge {
        run: world.run,
        token,
        items: waiting.iter().map(needed).collect(),
    }
}

fn ask(world: &mut World, token: Option<u64>, waiting: &[&str]) {
    let command = command(world, token, waiting);
    world.ok(command);
}

/// The keel is done, and the mast, which depends on it, is ready beside the sail.
fn yard() -> (World, u64) {
    let (mut world, token) = World::running("keel\nmast after=keel\nsail after=keel");
    world.complete(token, "keel");
    assert_eq!(world.item("mast").state, ItemState::Ready);
    (world, token)
}

fn asked(world: &World) -> Vec<String> {
    let open = world.tables.open_decisions(world.run);
    let asked = open.filter(|row| row.kind == DecisionKind::MergeNeeded);
    let nodes = asked.filter_map(|row| row.node.as_ref());
    nodes.map(ToString::to_string).collect()
}

#[test]
fn an_item_waits_for_a_merge_and_goes_on_once_it_has_come() {
    let (mut world, token) = yard();
    ask(&mut world, Some(token), &["mast"]);
    let mast = world.item("mast");
    assert_eq!(mast.state, ItemState::Waiting);
    let human = mast.human.clone().expect("what is needed");
    assert_eq!(human.reason, "`keel` is done on feature/keel and not here");
    assert!(
        human
            .details
            .is_some_and(|all| all.starts_with("git merge feature/keel\n"))
    );
    // What can go on does.
    assert_eq!(world.state(), RunState::Running);
    world.complete(token, "sail");
    assert_eq!(world.state(), RunState::Waiting);
    // The same again changes nothing.
    ask(&mut world, Some(token), &["mast"]);
    assert_eq!(asked(&world), ["mast"]);
    ask(&mut world, Some(token), &[]);
    assert_eq!(asked(&world), [""; 0]);
    assert_eq!(world.item("mast").state, ItemState::Ready);
    assert_eq!(world.state(), RunState::Interrupted, "it may go on");
}

#[test]
fn whoever_approves_goes_on_without_the_merge_and_the_agent_is_told() {
    let (mut world, token) = yard();
    ask(&mut world, Some(token), &["mast"]);
    world.decide(Verb::Approve, None);
    let mast = world.item("mast");
    assert_eq!(mast.state, ItemState::Ready);
    let told = mast.answer.clone().expect("what was said");
    assert_eq!(
        told,
        "`keel` is done on feature/keel and not here: go on without it"
    );
    assert_eq!(asked(&world), [""; 0]);
}

#[test]
fn only_whoever_holds_the_run_or_nobody_else_does_asks_for_a_merge() {
    let (mut world, token) = yard();
    let fenced = command(&world, Some(token + 1), &["mast"]);
    assert!(matches!(world.refused(fenced), Refusal::Fenced { .. }));
    ask(&mut world, None, &["mast"]);
    assert_eq!(
        world.item("mast").state,
        ItemState::Ready,
        "a runner has it"
    );
}
