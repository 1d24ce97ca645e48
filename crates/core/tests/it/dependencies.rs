//! What waits for what: a pending item is ready when all that it waits for is
//! finished, and not before.

use piton_core::attempt::{Outcome, Report};
use piton_core::policy::{OnDependencyFailure, Policy};
use piton_core::{Command, ItemState, Refusal, RunState};

use crate::world::{World, node, plan, retry_item, tried_once};

#[test]
fn an_item_is_ready_when_all_that_it_waits_for_is_finished_and_not_before() {
    let (mut world, token) = World::running("a\nb\nc after=a,b");
    world.complete(token, "a");
    assert_eq!(world.item("c").state, ItemState::Pending);
    world.complete(token, "b");
    assert_eq!(world.item("c").state, ItemState::Ready);
    world.complete(token, "c");
    assert_eq!(world.state(), RunState::Done);
}

#[test]
fn the_order_of_the_plan_gives_way_to_what_waits() {
    let (mut world, token) = World::running("build\n  s1 after=build/s2\n  s2\n  s3");
    assert_eq!(world.next(), Some("build/s2"));
    world.complete(token, "build/s2");
    assert_eq!(world.next(), Some("build/s1"));
}

#[test]
fn what_is_left_out_holds_nobody_up() {
    let (mut world, _) = World::running("a\nb after=a");
    world.skip("a");
    assert_eq!(world.item("b").state, ItemState::Ready);
}

#[test]
fn what_failed_holds_others_up_until_it_is_done_or_left_out() {
    let (mut world, token) = World::running("a\nb after=a");
    world.fail(token, "a");
    assert_eq!(world.item("b").state, ItemState::Pending);
    world.skip("a");
    assert_eq!(world.item("b").state, ItemState::Ready);
}

#[test]
fn what_lies_below_a_released_item_is_ready_with_it() {
    let (mut world, token) = World::running("a\nb after=a\n  s1\n    x\n    y\n  s2");
    assert_eq!(world.states(&["b/s1/x", "b/s2"]), ["pending"; 2]);
    world.complete(token, "a");
    assert_eq!(
        world.states(&["b", "b/s1", "b/s1/x", "b/s1/y", "b/s2"]),
        ["ready", "ready", "ready", "pending", "pending"],
        "the first of each"
    );
}

#[test]
fn a_phase_releases_others_when_its_last_step_is_done() {
    let (mut world, token) = World::running("a\n  s1\n  s2\nb after=a");
    world.complete(token, "a/s1");
    assert_eq!(world.item("b").state, ItemState::Pending);
    world.complete(token, "a/s2");
    assert_eq!(world.item("b").state, ItemState::Ready);
}

#[test]
fn what_waits_below_something_that_waits_is_ready_when_both_may_go() {
    for order in [["x", "y"], ["y", "x"]] {
        let (mut world, token) =
            World::running("x parallel\ny\np after=x\n  s1 after=y\n    a\n  s2\n    b");
        world.complete(token, order[0]);
        assert_ne!(world.next(), Some("p/s1/a"), "{order:?}");
        assert_eq!(world.item("p/s1/a").state, ItemState::Pending);
        world.complete(token, order[1]);
        assert_eq!(world.states(&["p/s1", "p/s1/a"]), ["ready"; 2]);
        world.complete(token, "p/s1/a");
        assert_eq!(world.states(&["p/s2", "p/s2/b"]), ["ready"; 2]);
        world.complete(token, "p/s2/b");
        assert_eq!(world.state(), RunState::Done);
    }
}

#[test]
fn leaving_out_a_phase_releases_what_waits_for_one_of_its_steps() {
    let (mut world, _) = World::running("a\n  s1\n  s2\nb\n  s1 after=a/s2");
    world.skip("a");
    assert_eq!(world.item("b/s1").state, ItemState::Ready);
}

#[test]
fn what_comes_back_waits_again_for_what_is_not_finished() {
    let (mut world, token) = World::running("a\nb after=a\n  s1\n    x\n  s2\nc");
    world.skip("b");
    world.retry("b");
    assert_eq!(world.states(&["b/s1/x", "b/s2"]), ["pending"; 2]);
    assert_eq!(world.next(), Some("a"));
    world.complete(token, "a");
    assert_eq!(world.states(&["b", "b/s1/x"]), ["ready"; 2]);
    world.complete(token, "b/s1/x");
    assert_eq!(world.item("b/s2").state, ItemState::Ready);
    world.complete(token, "b/s2");
    world.complete(token, "c");
    assert_eq!(world.state(), RunState::Done);
}

#[test]
fn one_node_that_comes_back_below_something_that_waits_waits_with_it() {
    let (mut world, token) = World::running("a\nb after=a\n  s1\n  s2\nc");
    world.skip("b/s1");
    world.retry("b/s1");
    assert_eq!(world.states(&["b", "b/s1"]), ["pending"; 2]);
    world.complete(token, "a");
    assert_eq!(
        world.states(&["b", "b/s1", "b/s2"]),
        ["ready", "ready", "pending"]
    );
}

#[test]
fn a_plan_that_waits_for_what_it_does_not_have_is_refused() {
    let mut world = World::empty();
    let plan = plan(world.run, "a\nb after=z");
    let refusal = world.refused(Command::PlanRun(Box::new(plan)));
    assert!(matches!(refusal, Refusal::BadPlan(_)), "{refusal:?}");
    assert!(refusal.to_string().contains("`z`"), "{refusal}");
}

#[test]
fn a_plan_whose_nodes_wait_for_each_other_is_refused() {
    for text in [
        "a after=a",
        "a after=b\nb after=a",
        "a\n  s1 after=a",
        "a after=a/s1\n  s1",
        "a\n  s1 after=b\nb after=c\nc after=a",
    ] {
        let mut world = World::empty();
        let plan = plan(world.run, text);
        let refusal = world.refused(Command::PlanRun(Box::new(plan)));
        assert!(matches!(refusal, Refusal::BadPlan(_)), "{text}");
    }
}

#[test]
fn a_plan_with_two_nodes_of_one_name_or_a_child_before_its_parent_is_refused() {
    let mut world = World::empty();
    let mut twice = plan(world.run, "a\nb");
    twice.items[1].node = node("a");
    let mut orphan = plan(world.run, "a\n  s1");
    orphan.items.swap(0, 1);
    for plan in [twice, orphan] {
        let refusal = world.refused(Command::PlanRun(Box::new(plan)));
        assert!(matches!(refusal, Refusal::BadPlan(_)), "{refusal:?}");
    }
}

#[test]
fn a_name_that_another_run_has_is_refused() {
    let mut world = World::planned("a");
    let other = plan(piton_core::RunId(uuid::Uuid::from_u128(9)), "a");
    assert_eq!(
        world.refused(Command::PlanRun(Box::new(other))),
        Refusal::NameTaken("auth".to_owned())
    );
}

#[test]
fn what_only_waits_is_not_tried_again() {
    let (mut world, _) = World::running("a\nb after=a");
    assert!(matches!(
        world.refused(retry_item(world.run, "b")),
        Refusal::ItemState {
            state: ItemState::Pending,
            ..
        }
    ));
}

/// `b` waits for `a`, `c` for `b`; `d` stands beside them, and waits for nothing.
const GRAPH: &str =
    "p\n  a parallel\n  b parallel after=p/a\n    x\n  c parallel after=p/b\n  d parallel\nq";

/// What is made of `a` of such a phase under a strategy.
fn with_strategy(strategy: Option<OnDependencyFailure>, ending: &str) -> World {
    let policy = Policy {
        on_dependency_failure: strategy,
        ..tried_once()
    };
    let mut world = World::with_policy(GRAPH, policy);
    let token = world.start();
    match ending {
        "failed" => world.fail(token, "p/a"),
        "blocked" => world.work(token, "p/a", Report::with_outcome(Outcome::Blocked)),
        "skipped" => world.skip("p/a"),
        _ => panic!("`a` does not end like this: {ending}"),
    }
    world.check();
    world
}

#[test]
fn a_plan_says_what_becomes_of_what_waits_for_one_that_ended_badly() {
    use OnDependencyFailure::{Continue, FailPhase, SkipDependents};
    // Of `p`, `b`, `b/x`, `c`, `d` and `q`, under a strategy, as `a` ends.
    let waits = [
        "failed", "pending", "pending", "pending", "ready", "pending",
    ];
    let skips = [
        "failed", "skipped", "skipped", "skipped", "ready", "pending",
    ];
    let stops = [
        "failed", "pending", "pending", "pending", "pending", "pending",
    ];
    let goes_on = ["failed", "ready", "ready", "pending", "ready", "pending"];
    let released = ["working", "ready", "ready", "pending", "ready", "pending"];
    for (strategy, when_broken) in [
        (None, waits),
        (Some(SkipDependents), skips),
        (Some(FailPhase), stops),
        (Some(Continue), goes_on),
    ] {
        for ending in ["failed", "blocked", "skipped"] {
            let world = with_strategy(strategy, ending);
            let mut expected = match ending {
                "skipped" => released,
                _ => when_broken,
            };
            if ending == "blocked" {
                expected[0] = "blocked";
            }
            if ending == "skipped" {
                // Nothing in it was begun.
                expected[0] = "ready";
            }
            let states = world.states(&["p", "p/b", "p/b/x", "p/c", "p/d", "q"]);
            assert_eq!(states, expected, "{strategy:?}: {ending}");
            let asked = world.tables.open_decisions(world.run).count();
            assert_eq!(
                asked,
                usize::from(ending != "skipped"),
                "{strategy:?}: {ending}"
            );
        }
    }
}

#[test]
fn what_is_left_out_behind_a_failure_says_so() {
    let world = with_strategy(Some(OnDependencyFailure::SkipDependents), "failed");
    let why = |of: &str| world.item(of).summary.clone();
    assert_eq!(
        why("p/b/x").as_deref(),
        Some("`p/a`, which it waits for, failed")
    );
    assert_eq!(
        why("p/c").as_deref(),
        Some("`p/b`, which it waits for, is left out")
    );
}

#[test]
fn what_a_person_brings_back_waits_for_the_failed_item_as_anything_does() {
    let mut world = with_strategy(Some(OnDependencyFailure::SkipDependents), "failed");
    world.retry("p/b");
    assert_eq!(world.item("p/b").state, ItemState::Pending);
    world.retry("p/a");
    assert_eq!(world.states(&["p/a", "p/b"]), ["ready", "pending"]);
}

#[test]
fn a_phase_that_failed_goes_on_when_what_failed_is_done_again() {
    let mut world = with_strategy(Some(OnDependencyFailure::FailPhase), "failed");
    assert_eq!(world.state(), RunState::Blocked);
    world.retry("p/a");
    assert_eq!(
        world.states(&["p/a", "p/b", "p/d"]),
        ["ready", "pending", "ready"]
    );
}
