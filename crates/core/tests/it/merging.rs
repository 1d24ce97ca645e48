//! Items that wait for work on another branch.

use piton_core::command::{MergeNeeded, MergedWork};
use piton_core::evidence::Evidence;
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
        merged: Vec::new(),
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
    let human = mast.people.human.clone().expect("what is needed");
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
    let told = mast.people.answer.clone().expect("what was said");
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

// What another run did.

fn own(at: &str, branch: &str) -> MergeNeeded {
    MergeNeeded {
        node: node(at),
        on: vec![(node(at), branch.to_owned())],
    }
}

fn ask_about(world: &mut World, token: u64, items: Vec<MergeNeeded>, merged: &[&str]) {
    let merged = merged.iter().map(|at| MergedWork {
        node: node(at),
        evidence: vec![Evidence::Changed { files: Some(2) }],
        commits: vec!["6673e79".to_owned()],
    });
    let command = Command::AskForMerge {
        run: world.run,
        token: Some(token),
        items,
        merged: merged.collect(),
    };
    world.ok(command);
}

/// The yard is open: all but the mast are ready, which depends on the keel.
fn begun_anew() -> (World, u64) {
    let items = "yard\nkeel after=yard\nmast after=keel\nsail after=yard\nflag after=yard";
    let (mut world, token) = World::running(items);
    world.complete(token, "yard");
    (world, token)
}

/// The open questions about merges, by their question.
fn questions(world: &World) -> Vec<(String, String)> {
    let open = world.tables.open_decisions(world.run);
    let asked = open.filter(|row| row.kind == DecisionKind::MergeNeeded);
    let words = asked.map(|row| {
        (
            row.question.clone(),
            row.details.clone().unwrap_or_default(),
        )
    });
    words.collect()
}

#[test]
fn all_that_another_run_did_elsewhere_is_asked_about_once() {
    let (mut world, token) = begun_anew();
    let elsewhere = || vec![own("keel", "one"), own("mast", "two"), own("sail", "one")];
    ask_about(&mut world, token, elsewhere(), &[]);
    let run = world.run_row().name.clone();
    let asked = [(
        "another run did 3 items on other branches, and they are not here: do them again?"
            .to_owned(),
        format!(
            "`keel` is done on one\n`mast` is done on two\n`sail` is done on one\n\
             git merge one\ngit merge two\npiton run {run}"
        ),
    )];
    assert_eq!(questions(&world), asked);
    assert_eq!(world.item("keel").state, ItemState::Waiting);
    assert_eq!(world.item("mast").state, ItemState::Pending);
    // What nobody did goes on.
    world.complete(token, "flag");
    assert_eq!(world.state(), RunState::Waiting);
    let before = world.journal.len();
    ask_about(&mut world, token, elsewhere(), &[]);
    assert_eq!(
        world.journal.len(),
        before,
        "the same again changes nothing"
    );
    // What becomes ready waits without another question.
    let at = node("keel");
    world.ok(Command::SkipItem {
        run: world.run,
        node: at,
        why: None,
    });
    assert_eq!(world.item("mast").state, ItemState::Ready);
    ask_about(
        &mut world,
        token,
        vec![own("mast", "two"), own("sail", "one")],
        &[],
    );
    assert_eq!(world.item("mast").state, ItemState::Waiting);
    assert_eq!(questions(&world).len(), 1);
    assert!(!questions(&world)[0].1.contains("keel"), "it is left out");
}

#[test]
fn what_another_run_did_is_done_once_it_is_merged() {
    let (mut world, token) = begun_anew();
    let elsewhere = vec![own("keel", "one"), own("mast", "one")];
    ask_about(&mut world, token, elsewhere, &[]);
    // Only what was asked about is done by that: the flag is to be done anew.
    ask_about(
        &mut world,
        token,
        vec![own("mast", "one")],
        &["keel", "flag"],
    );
    let keel = world.item("keel");
    assert_eq!(keel.state, ItemState::Done);
    assert_eq!(keel.work.commits, ["6673e79"]);
    let commit = "6673e79".to_owned();
    let evidence = [
        Evidence::Changed { files: Some(2) },
        Evidence::Committed { commit },
    ];
    assert_eq!(keel.proof.evidence, evidence);
    assert_eq!(world.item("flag").state, ItemState::Ready);
    assert_eq!(questions(&world).len(), 1, "the mast waits");
    ask_about(&mut world, token, Vec::new(), &["mast"]);
    assert_eq!(world.item("mast").state, ItemState::Done);
    assert_eq!(questions(&world), []);
}

#[test]
fn what_is_on_no_other_branch_any_more_goes_on() {
    let (mut world, token) = begun_anew();
    ask_about(&mut world, token, vec![own("keel", "one")], &[]);
    ask_about(&mut world, token, Vec::new(), &[]);
    assert_eq!(world.item("keel").state, ItemState::Ready);
    assert_eq!(questions(&world), []);
}

#[test]
fn whoever_approves_has_all_of_it_done_again_and_the_agents_are_told() {
    let (mut world, token) = begun_anew();
    ask_about(
        &mut world,
        token,
        vec![own("keel", "one"), own("mast", "two")],
        &[],
    );
    world.decide(Verb::Approve, None);
    let keel = world.item("keel").clone();
    assert_eq!(keel.state, ItemState::Ready);
    let told = keel.people.answer.expect("what was said");
    assert_eq!(told, "`keel` is done on one and not here: do it again here");
    let mast = world.item("mast").clone();
    assert!(keel.people.without_merge && mast.people.without_merge);
    assert_eq!(mast.state, ItemState::Pending);
    let told = mast.people.answer.expect("what was said");
    assert!(
        told.starts_with("`mast` is done on two and not here\n"),
        "{told}"
    );
    assert_eq!(questions(&world), []);
}

#[test]
fn whoever_skips_leaves_all_of_it_out() {
    let (mut world, token) = begun_anew();
    ask_about(
        &mut world,
        token,
        vec![own("keel", "one"), own("mast", "two")],
        &[],
    );
    world.decide(Verb::Skip, None);
    for at in ["keel", "mast"] {
        assert_eq!(world.item(at).state, ItemState::Skipped);
    }
    assert_eq!(questions(&world), []);
}

#[test]
fn what_was_asked_about_items_that_are_all_finished_is_settled() {
    let (mut world, token) = begun_anew();
    ask_about(&mut world, token, vec![own("keel", "one")], &[]);
    let at = node("keel");
    world.ok(Command::SkipItem {
        run: world.run,
        node: at,
        why: None,
    });
    assert_eq!(questions(&world), []);
}
