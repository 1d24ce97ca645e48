//! A run that is worked on in several repositories: each has a target, and what is known
//! of one says nothing of the other.

use piton_core::attempt::Report;
use piton_core::checkout::Checkout;
use piton_core::command::EditAuthor;
use piton_core::event::RunEvent;
use piton_core::gate::Gate;
use piton_core::item::Evidence;
use piton_core::lane::{LaneTerms, TargetRow};
use piton_core::merge::{MergeCommit, MergeReturn, MergeStep, RETURNS_MAX};
use piton_core::policy::{Policy, Repositories};
use piton_core::{Command, Edit, Event, ItemState, Outcome, Refusal, Role};

use crate::merges::{enter, in_lanes, next_lanes, step_of, take_lane};
use crate::world::{World, node};

/// Two units in `web`, and one in the repository of the project.
const PLAN: &str = "in any order:\na\nb repository=web\nc repository=web\n";

fn target_in(world: &World, token: u64, repository: &str) -> Command {
    let base = format!("base of {repository}");
    Command::TargetRun {
        run: world.run,
        token,
        repository: Some(repository.to_owned()),
        target: Box::new(TargetRow {
            branch: "piton/auth".to_owned(),
            base: base.clone(),
            tip: base,
            onto: None,
            path: None,
            was_there: false,
            merged: 0,
        }),
    }
}

fn in_two_repositories(plan: &str) -> (World, u64) {
    let (mut world, token) = in_lanes(plan);
    let target = target_in(&world, token, "web");
    world.ok(target);
    (world, token)
}

/// The unit is worked on in a lane, and its work is queued.
fn queue(world: &mut World, token: u64, at: &str, lane: u32) {
    let lane = take_lane(world, token, at, lane);
    world.ok(lane);
    world.complete(token, at);
    let work = format!("work on {at}");
    world.make_commit(token, at, Ok(&work));
}

fn step(world: &mut World, token: u64, at: &str, step: MergeStep) {
    let command = step_of(world, token, at, step);
    world.ok(command);
}

fn merge(world: &mut World, token: u64, at: &str, onto: &str) {
    let made = MergeCommit {
        onto: onto.to_owned(),
        commit: format!("merge of {at}"),
        tree: "tree".to_owned(),
    };
    let start = MergeStep::Start {
        made,
        is_checked: true,
    };
    step(world, token, at, start);
    step(world, token, at, MergeStep::End);
    assert_eq!(world.item(at).state, ItemState::Done);
}

fn tips(world: &World) -> [String; 2] {
    let row = world.run_row();
    let tip = |name| {
        row.target_in_repository(name)
            .expect("it has one")
            .tip
            .clone()
    };
    [tip(None), tip(Some("web"))]
}

#[test]
fn each_repository_has_a_target_which_is_recorded_once() {
    let (mut world, token) = World::running(PLAN);
    // Nothing is worked on in lanes without the one of the project.
    let target = target_in(&world, token, "web");
    assert!(matches!(world.refused(target), Refusal::RunState { .. }));
    let (mut world, token) = in_lanes(PLAN);
    let target = target_in(&world, token, "web");
    let stored = world.ok(target.clone());
    assert!(matches!(
        &stored[..],
        [recorded] if matches!(&recorded.event, Event::Run(RunEvent::Targeted { repository: Some(name), .. }) if name == "web")
    ));
    assert!(world.ok(target).is_empty());
    assert_eq!(tips(&world), ["base", "base of web"]);
}

#[test]
fn a_merge_moves_the_target_of_its_repository_alone() {
    let (mut world, token) = in_two_repositories(PLAN);
    for (lane, at) in (1..).zip(["a", "b", "c"]) {
        queue(&mut world, token, at, lane);
    }
    let from = |world: &World, at: &str| world.item(at).work.unit.clone().expect("a unit").work;
    assert_eq!(from(&world, "b").as_deref(), Some("work on b"));
    merge(&mut world, token, "b", "base of web");
    assert_eq!(tips(&world), ["base", "merge of b"]);
    merge(&mut world, token, "a", "base");
    assert_eq!(tips(&world), ["merge of a", "merge of b"]);
    // There is nothing to merge where the target has it already.
    let at = "merge of b".to_owned();
    step(&mut world, token, "c", MergeStep::Nothing { at });
    assert_eq!(tips(&world), ["merge of a", "merge of b"]);
    let row = world.run_row();
    assert_eq!(row.last_merge_in_repository(None), 2);
    assert_eq!(row.last_merge_in_repository(Some("web")), 1);
}

#[test]
fn a_lane_begins_at_the_target_of_the_repository_of_its_unit() {
    let plan = "in any order:\na\n  x repository=web\nb repository=web\n  y\n    z\n";
    let (mut world, token) = in_two_repositories(plan);
    for (lane, at, from) in [
        (1, "a/x", "base of web"),
        // What says nothing is where the item above it is.
        (2, "b/y", "base of web"),
    ] {
        let take = take_lane(&world, token, at, lane);
        world.ok(take);
        let lane = world.item(at).lane().expect("it has a lane");
        assert_eq!(lane.from, from, "{at}");
    }
    let name = |at| world.tables.repository_of(world.item(at));
    assert_eq!(
        ["a", "a/x", "b/y", "b/y/z"].map(name),
        [None, Some("web"), Some("web"), Some("web")]
    );
}

#[test]
fn files_of_one_name_in_two_repositories_are_two_files() {
    let plan =
        "in any order:\na files=src\nb repository=web files=src\nc repository=web files=src/a\n";
    let (mut world, token) = in_two_repositories(plan);
    assert_eq!(next_lanes(&mut world, token), ["a", "b"]);
    let third = take_lane(&world, token, "c", 20);
    assert!(matches!(world.refused(third), Refusal::ItemState { .. }));
}

/// An item may be added for a repository that the run did not have when it began.
#[test]
fn what_is_of_a_repository_without_a_target_gets_no_lane() {
    let (mut world, token) = in_lanes(PLAN);
    assert_eq!(next_lanes(&mut world, token), ["a"]);
    let lane = take_lane(&world, token, "b", 20);
    assert!(matches!(world.refused(lane), Refusal::RunState { .. }));
    let (mut world, token) = in_two_repositories(PLAN);
    assert_eq!(next_lanes(&mut world, token), ["a", "b", "c"]);
}

/// A person is asked after a few returns where nothing was merged since the agent saw
/// both sides: what was merged elsewhere it could not have seen.
#[test]
fn merges_elsewhere_are_no_reason_to_return_a_unit_more_often() {
    for (other, state) in [("a", ItemState::Failed), ("c", ItemState::Working)] {
        let (mut world, token) = in_two_repositories(PLAN);
        queue(&mut world, token, other, 1);
        queue(&mut world, token, "b", 2);
        let files = vec!["src/lib.rs".to_owned()];
        let why = MergeReturn::Conflict { files };
        let back = MergeStep::Return { why };
        for nth in 1..RETURNS_MAX {
            step(&mut world, token, "b", back.clone());
            let lane = take_lane(&world, token, "b", 2 + nth);
            world.ok(lane);
            let attempt = world.begin_as(token, "b", Role::Resolve);
            world.end(
                token,
                "b",
                attempt,
                Report::with_outcome(Outcome::Completed),
            );
            world.make_commit(token, "b", Ok("both"));
        }
        let onto = if other == "a" { "base" } else { "base of web" };
        merge(&mut world, token, other, onto);
        step(&mut world, token, "b", back);
        assert_eq!(world.item("b").state, state, "{other}");
    }
}

#[test]
fn evidence_of_a_merge_names_the_branch_of_its_repository() {
    let (mut world, token) = in_lanes(PLAN);
    let Command::TargetRun {
        run,
        repository,
        mut target,
        ..
    } = target_in(&world, token, "web")
    else {
        unreachable!("it is that command")
    };
    target.branch = "piton/auth-2".to_owned();
    world.ok(Command::TargetRun {
        run,
        token,
        repository,
        target,
    });
    queue(&mut world, token, "b", 1);
    merge(&mut world, token, "b", "base of web");
    let evidence = world.item("b").proof.evidence.iter();
    let mut branches = evidence.filter_map(|one| match one {
        Evidence::Merged { branch, .. } => Some(branch.as_str()),
        _ => None,
    });
    assert_eq!(branches.next(), Some("piton/auth-2"));
}

#[test]
fn branches_of_one_name_in_two_repositories_are_two() {
    let on = |repository: Option<&str>, branch: Option<&str>| Checkout {
        repository: repository.map(str::to_owned),
        branch: branch.map(str::to_owned),
        commit: None,
    };
    for (one, other, belongs) in [
        (on(None, Some("main")), on(None, Some("main")), true),
        (on(None, Some("main")), on(Some("web"), Some("main")), false),
        (
            on(Some("web"), Some("main")),
            on(Some("web"), Some("main")),
            true,
        ),
        (on(Some("web"), None), on(Some("web"), Some("main")), true),
        (on(None, None), on(Some("web"), Some("main")), false),
    ] {
        assert_eq!(one.is_on_branch_of(&other), belongs, "{one:?} {other:?}");
    }
}

#[test]
fn what_is_merged_passes_the_check_of_its_repository_alone() {
    let gate = |script: &str| Gate {
        script: script.to_owned(),
        on_fail_prompt: String::new(),
        runs_max: 1,
        timeout_s: 60,
    };
    let (mut world, token) = in_two_repositories(PLAN);
    let terms = LaneTerms {
        check: Some(Box::new(gate("make"))),
        checks: [("web".to_owned(), None)].into(),
        ..LaneTerms::default()
    };
    enter(&mut world, token, terms.clone());
    for (lane, at) in (1..).zip(["a", "b", "c"]) {
        queue(&mut world, token, at, lane);
    }
    // Nothing is checked in `web`.
    merge(&mut world, token, "b", "base of web");
    let start = |at: &str, onto: &str| MergeStep::Start {
        made: MergeCommit {
            onto: onto.to_owned(),
            commit: format!("merge of {at}"),
            tree: "tree".to_owned(),
        },
        is_checked: true,
    };
    step(&mut world, token, "a", start("a", "base"));
    let unchecked = step_of(&world, token, "a", MergeStep::End);
    assert!(matches!(
        world.refused(unchecked),
        Refusal::ItemState { .. }
    ));
    step(&mut world, token, "a", MergeStep::Pass);
    step(&mut world, token, "a", MergeStep::End);
    // A check of its own.
    let terms = LaneTerms {
        checks: [("web".to_owned(), Some(gate("npm test")))].into(),
        ..terms
    };
    enter(&mut world, token, terms.clone());
    let lanes = world.run_row().branches.lanes.clone().expect("lanes");
    assert_eq!(lanes.terms, terms);
    let script = |repository| {
        terms
            .check_in_repository(repository)
            .map(|gate| &*gate.script)
    };
    assert_eq!(script(None), Some("make"));
    assert_eq!(script(Some("web")), Some("npm test"));
    assert_eq!(script(Some("api")), Some("make"));
    step(&mut world, token, "c", start("c", "merge of b"));
    let unchecked = step_of(&world, token, "c", MergeStep::End);
    assert!(matches!(
        world.refused(unchecked),
        Refusal::ItemState { .. }
    ));
}

fn take(world: &mut World, edit: Edit, word: EditAuthor) {
    world.ok(Command::TakeEdits {
        run: world.run,
        token: None,
        file: "state.json".to_owned(),
        edits: vec![edit],
        word,
    });
}

/// The names of the project's own repository and of the others.
fn name_repositories(world: &mut World, own: &[&str], others: &[&str]) {
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let policy = Policy {
        repositories: Some(Repositories {
            own: names(own),
            others: names(others),
        }),
        ..world.run_row().plan.policy.clone()
    };
    take(world, Edit::SetPolicy(Box::new(policy)), EditAuthor::Piton);
}

fn belongs_to(at: &str, name: &str) -> Edit {
    Edit::SetRepository {
        node: node(at),
        repository: Some(name.to_owned()),
    }
}

#[test]
fn an_item_goes_to_another_repository_until_something_was_done_of_it() {
    let (mut world, token) = in_two_repositories(PLAN);
    name_repositories(&mut world, &["shop"], &["web"]);
    for (at, name, is_now) in [
        ("a", "web", Some("web")),
        ("b", "shop", None),
        // One that nobody knows is kept: nobody works on it elsewhere.
        ("c", "docs", Some("docs")),
    ] {
        take(&mut world, belongs_to(at, name), EditAuthor::File);
        assert_eq!(world.item(at).plan.repository.as_deref(), is_now, "{at}");
        assert!(belongs_to(at, name).is_in_force(&world.tables, world.run));
    }
    assert_eq!(world.tables.open_decisions(world.run).count(), 0);
    let lane = take_lane(&world, token, "b", 1);
    world.ok(lane);
    take(&mut world, belongs_to("b", "web"), EditAuthor::File);
    assert_eq!(world.item("b").plan.repository, None);
    let asked = world.tables.open_decisions(world.run).next();
    let asked = asked.expect("a question");
    assert_eq!(
        asked.details.as_deref(),
        Some("`b` belongs to the repository `web`: what was done of it is in `shop`")
    );
}

/// It may have failed since it is of another one.
#[test]
fn an_item_that_failed_without_work_goes_to_another_repository() {
    let (mut world, token) = in_two_repositories(PLAN);
    name_repositories(&mut world, &["shop"], &["web"]);
    let lane = take_lane(&world, token, "b", 1);
    world.ok(lane);
    let attempt = world.begin_as(token, "b", Role::Worker);
    take(&mut world, belongs_to("b", "shop"), EditAuthor::File);
    assert_eq!(world.item("b").plan.repository.as_deref(), Some("web"));
    world.end(token, "b", attempt, Report::with_outcome(Outcome::Blocked));
    let (run, held) = (world.run, world.item("b").lane());
    let leave = Command::LeaveLane {
        run,
        token,
        node: node("b"),
        fence: held.expect("it has a lane").fence,
        saved: None,
    };
    world.ok(leave);
    assert_eq!(world.item("b").repository_of_work(), Some("web"));
    take(&mut world, belongs_to("b", "shop"), EditAuthor::File);
    let item = world.item("b");
    assert_eq!(item.plan.repository, None);
    assert_eq!(world.tables.repository_of(item), None);
}
