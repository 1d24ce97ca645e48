//! What people say of items that they work on themselves.

use piton_core::command::EditAuthor;
use piton_core::evidence::{Evidence, Level, level_of_evidence};
use piton_core::notification::{NotificationKind, due_notifications};
use piton_core::plan::ItemTags;
use piton_core::policy::Limits;
use piton_core::{Command, DecisionKind, Edit, ItemState, Refusal, Role, RunState, Verb};

use crate::world::{World, node, start_attempt, start_run};

const PLAN: &str = "in any order:
a
b after=a
c
";

fn typed(world: &World, edits: Vec<Edit>, why: Option<&str>) -> Command {
    Command::TakeEdits {
        run: world.run,
        token: None,
        file: "state.json".to_owned(),
        edits,
        word: EditAuthor::Typed {
            through: "piton issue start".to_owned(),
            why: why.map(str::to_owned),
        },
    }
}

fn set(at: &str, to: ItemState) -> Edit {
    Edit::SetState { node: node(at), to }
}

fn on(at: &str, others: &[&str]) -> Edit {
    let depends_on = others.iter().map(|on| node(on)).collect();
    Edit::SetDependsOn {
        node: node(at),
        depends_on,
    }
}

#[track_caller]
fn says(world: &mut World, edit: Edit) {
    let command = typed(world, vec![edit], None);
    world.ok(command);
}

#[track_caller]
fn refused(world: &mut World, edit: Edit, part: &str) {
    let command = typed(world, vec![edit], None);
    let Refusal::Unfit { why, .. } = world.refused(command) else {
        panic!("another refusal");
    };
    assert!(why.contains(part), "{why}");
}

#[test]
fn what_somebody_has_in_hand_is_started_by_no_runner() {
    let (mut world, _) = World::running(PLAN);
    says(&mut world, set("a", ItemState::Waiting));
    let item = world.item("a");
    assert_eq!(item.state, ItemState::Waiting);
    assert!(item.started_at.is_some());
    let row = world
        .tables
        .decision(world.question())
        .expect("asked")
        .clone();
    assert_eq!(row.kind, DecisionKind::InHand);
    assert_eq!(row.allowed_verbs(), [Verb::Retry, Verb::Skip]);
    assert_eq!(world.next(), Some("c"));
    // The person who said so is not notified of it.
    let due = due_notifications(&world.tables, &[NotificationKind::Question]);
    assert_eq!(due.len(), 0, "{due:?}");
    refused(&mut world, set("b", ItemState::Waiting), "it is pending");
}

#[test]
fn what_is_in_hand_goes_back_to_piton_when_it_is_tried_again() {
    let (mut world, _) = World::running(PLAN);
    says(&mut world, set("a", ItemState::Waiting));
    world.retry("a");
    assert_eq!(world.item("a").state, ItemState::Ready);
    assert_eq!(world.tables.open_decisions(world.run).count(), 0);
    says(&mut world, set("a", ItemState::Waiting));
    world.skip("a");
    assert_eq!(world.states(&["a", "b"]), ["skipped", "ready"]);
}

#[test]
fn what_is_typed_as_done_names_the_person_and_what_was_typed() {
    let (mut world, _) = World::running(PLAN);
    says(&mut world, set("a", ItemState::Waiting));
    says(&mut world, set("a", ItemState::Done));
    let item = world.item("a");
    assert_eq!(level_of_evidence(&item.proof.evidence), Some(Level::Person));
    let Some(Evidence::Decided { by, through, .. }) = item.proof.evidence.last() else {
        panic!("{:?}", item.proof.evidence);
    };
    assert_eq!(
        (by.as_str(), through.as_str()),
        ("ada", "piton issue start")
    );
    assert_eq!(world.item("b").state, ItemState::Ready);
    assert_eq!(world.tables.open_decisions(world.run).count(), 0);
}

#[test]
fn what_somebody_gave_up_is_asked_about_and_holds_up_what_waits_for_it() {
    let (mut world, _) = World::running(PLAN);
    says(&mut world, set("a", ItemState::Waiting));
    let command = typed(&world, vec![set("a", ItemState::Failed)], Some("no key"));
    world.ok(command);
    assert_eq!(world.states(&["a", "b"]), ["failed", "pending"]);
    assert_eq!(world.item("a").error.as_deref(), Some("no key"));
    let row = world.tables.decision(world.question()).expect("asked");
    assert_eq!(row.kind, DecisionKind::BlockedNode);
    assert_eq!(world.tables.open_decisions(world.run).count(), 1);
    world.retry("a");
    assert_eq!(world.item("a").state, ItemState::Ready);
}

#[test]
fn what_an_agent_works_on_is_nobody_elses() {
    let (mut world, token) = World::running(PLAN);
    world.begin(token, "a");
    for to in [ItemState::Waiting, ItemState::Failed, ItemState::Done] {
        refused(&mut world, set("a", to), "is being worked on");
    }
}

#[test]
fn dependencies_are_added_and_taken_and_never_go_round() {
    let (mut world, _) = World::running(PLAN);
    says(&mut world, on("c", &["b"]));
    assert_eq!(world.item("c").state, ItemState::Pending);
    refused(&mut world, on("a", &["c"]), "which waits for it");
    refused(&mut world, on("a", &["a"]), "which waits for it");
    refused(&mut world, on("a", &["d"]), "which is not there");
    says(&mut world, on("c", &[]));
    assert_eq!(world.item("c").state, ItemState::Ready);
    // In place of what is open comes what is finished.
    says(&mut world, set("a", ItemState::Done));
    says(&mut world, on("c", &["b"]));
    says(&mut world, on("c", &["a"]));
    assert_eq!(world.item("c").state, ItemState::Ready);
    says(&mut world, set("c", ItemState::Waiting));
    refused(&mut world, on("c", &["a", "b"]), "it is waiting");
}

#[test]
fn one_edit_that_does_not_fit_refuses_all() {
    let (mut world, _) = World::running(PLAN);
    let edits = vec![set("c", ItemState::Waiting), set("b", ItemState::Waiting)];
    let command = typed(&world, edits, None);
    world.refused(command);
    assert_eq!(world.states(&["b", "c"]), ["pending", "ready"]);
}

#[test]
fn a_run_whose_open_items_are_in_hand_waits_for_people() {
    let (mut world, _) = World::running("in any order:\na\n");
    says(&mut world, set("a", ItemState::Waiting));
    assert_eq!(world.state(), RunState::Waiting);
    says(&mut world, set("a", ItemState::Done));
    assert_eq!(world.state(), RunState::Done);
    let run = start_run(world.run, Limits::default());
    world.refused(run);
}

fn take(at: &str, for_s: Option<u64>) -> Edit {
    Edit::Take {
        node: node(at),
        for_s,
    }
}

#[test]
fn what_a_person_took_is_started_by_no_runner_until_its_time_is_over() {
    let (mut world, token) = World::running(PLAN);
    says(&mut world, take("a", Some(600)));
    let attempt = world.fresh_attempt();
    let start = start_attempt(world.run, token, attempt, "a", Role::Worker);
    let Refusal::ItemState { until, .. } = world.refused(start.clone()) else {
        panic!("another refusal");
    };
    assert!(until.is_some());
    world.pass(599);
    world.heartbeat(token);
    world.refused(start.clone());
    world.pass(1);
    world.heartbeat(token);
    world.ok(start);
    // What runs now is the agent's.
    assert_eq!(world.item("a").people.taken, None);
    refused(&mut world, take("a", Some(600)), "is being worked on");
}

#[test]
fn what_was_taken_is_free_again_when_it_is_given_back_or_done() {
    let (mut world, token) = World::running(PLAN);
    refused(&mut world, take("a", None), "it is not taken");
    for seconds in [0, u64::MAX] {
        refused(&mut world, take("a", Some(seconds)), "for that time");
    }
    says(&mut world, take("a", Some(600)));
    // Again, for longer.
    says(&mut world, take("a", Some(1_200)));
    says(&mut world, take("a", None));
    world.complete(token, "a");
    refused(&mut world, take("a", Some(600)), "it is done");
    says(&mut world, take("c", Some(600)));
    says(&mut world, set("c", ItemState::Done));
    assert_eq!(world.item("c").people.taken, None);
}

#[test]
fn a_file_takes_no_item() {
    let (mut world, _) = World::running(PLAN);
    world.ok(Command::TakeEdits {
        run: world.run,
        token: None,
        file: "prd.json".to_owned(),
        edits: vec![take("a", Some(600))],
        word: EditAuthor::File,
    });
    assert_eq!(world.item("a").people.taken, None);
}

#[test]
fn labels_and_priority_change_whatever_became_of_the_item() {
    let (mut world, token) = World::running(PLAN);
    world.complete(token, "a");
    let tags = ItemTags {
        labels: vec!["ui".to_owned()],
        priority: Some(2),
    };
    let edit = Edit::SetTags {
        node: node("a"),
        tags: tags.clone(),
    };
    says(&mut world, edit);
    assert_eq!(world.item("a").plan.tags, tags);
}
