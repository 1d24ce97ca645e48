//! Work that is gone before it was committed: what becomes of what was done there.

use piton_core::lane::{LaneHold, LaneTerms, TargetRow};
use piton_core::policy::Policy;
use piton_core::{Command, ItemState, Refusal, RunState, Stage, Verb};

use crate::merges::enter;
use crate::world::{World, node};

const WHY: &str = "the lane is gone";

/// A run in lanes whose unit `at` has lane 1.
fn in_lane(plan: &str, at: &str) -> (World, u64) {
    let mut world = World::with_policy(plan, Policy::default());
    let token = world.start();
    let run = world.run;
    let target = Box::new(TargetRow {
        branch: "piton/auth".to_owned(),
        base: "base".to_owned(),
        tip: "base".to_owned(),
        onto: None,
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
    enter(&mut world, token, LaneTerms::default());
    let lane = take_lane(&world, token, at);
    world.ok(lane);
    (world, token)
}

fn take_lane(world: &World, token: u64, at: &str) -> Command {
    Command::TakeLane {
        run: world.run,
        token,
        node: node(at),
        lane: 1,
        saved: None,
    }
}

/// The work in the lane of `p/s` is put into a commit, and a later lane begins there.
fn save_and_take_again(world: &mut World, token: u64) {
    let fence = world.fence("p/s");
    world.ok(Command::LeaveLane {
        run: world.run,
        token,
        node: node("p/s"),
        fence,
        saved: Some("half".to_owned()),
    });
    world.pass(60);
    let lane = take_lane(world, token, "p/s");
    world.ok(lane);
}

fn lose(world: &World, token: u64, at: &str) -> Command {
    Command::LoseWork {
        run: world.run,
        token,
        node: node(at),
        fence: world.fence(at),
        why: WHY.to_owned(),
    }
}

fn stands(world: &World, at: &str) -> (ItemState, Stage) {
    let item = world.item(at);
    (item.state, item.stage)
}

fn start_commit(world: &mut World, token: u64, at: &str) {
    let (run, node) = (world.run, node(at));
    let head = None;
    world.ok(Command::StartCommit {
        run,
        token,
        node,
        head,
    });
}

/// How far a unit with a check came before its lane was lost.
const REACHED: &[(&str, Reach)] = &[
    ("its check", |_, _| {}),
    ("a mending agent", |world, token| {
        world.gate(token, "p/s", false)
    }),
    ("its commit", |world, token| world.gate(token, "p/s", true)),
    ("a commit under way", |world, token| {
        world.gate(token, "p/s", true);
        start_commit(world, token, "p/s");
    }),
    ("a check under way", |world, token| {
        let (run, node) = (world.run, node("p/s"));
        world.ok(Command::StartGate { run, token, node });
    }),
];

type Reach = fn(&mut World, u64);

#[test]
fn what_was_done_in_a_lane_that_is_gone_is_done_again_however_far_it_came() {
    for (reached, reach) in REACHED {
        let (mut world, token) = in_lane("p\n  s gate=3", "p/s");
        world.complete(token, "p/s");
        reach(&mut world, token);
        let lost = lose(&world, token, "p/s");
        world.ok(lost);
        assert_eq!(
            stands(&world, "p/s"),
            (ItemState::Ready, Stage::Work),
            "{reached}"
        );
        let item = world.item("p/s");
        assert_eq!(
            (item.error.as_deref(), item.tries.retries),
            (Some(WHY), 1),
            "{reached}"
        );
        assert_eq!(
            (item.proof.unchecked, item.lane()),
            (None, None),
            "{reached}"
        );
        assert!(
            item.work.committing.is_none() && !item.is_under_way(),
            "{reached}"
        );
        // And then it is done as if nothing had been there.
        let lane = take_lane(&world, token, "p/s");
        world.ok(lane);
        let from = world.item("p/s").lane().map(|lane| lane.from.as_str());
        assert_eq!(from, Some("base"), "{reached}");
        world.complete(token, "p/s");
        world.gate(token, "p/s", true);
        world.make_commit(token, "p/s", Ok("work"));
        assert!(world.item("p/s").merge().is_some(), "{reached}");
    }
}

#[test]
fn a_lane_that_is_lost_again_and_again_leads_to_a_person() {
    let (mut world, token) = in_lane("p\n  s", "p/s");
    for nth in 1.. {
        world.complete(token, "p/s");
        let lost = lose(&world, token, "p/s");
        world.ok(lost);
        if world.item("p/s").state == ItemState::Failed {
            break;
        }
        assert!(nth < 9, "it is worked on for ever");
        let lane = take_lane(&world, token, "p/s");
        world.ok(lane);
    }
    // Who answers lets it begin at its work, not at a commit of nothing.
    world.decide(Verb::Retry, None);
    assert_eq!(stands(&world, "p/s"), (ItemState::Ready, Stage::Work));
}

#[test]
fn a_refused_commit_whose_lane_is_gone_begins_at_its_work() {
    let (mut world, token) = in_lane("p\n  s", "p/s");
    world.complete(token, "p/s");
    world.make_commit(token, "p/s", Err("the hook says no"));
    assert_eq!(stands(&world, "p/s"), (ItemState::Failed, Stage::Commit));
    assert_eq!(
        world
            .item("p/s")
            .work
            .unit
            .as_ref()
            .and_then(|unit| unit.work.clone()),
        None
    );
    let lost = lose(&world, token, "p/s");
    world.ok(lost);
    world.decide(Verb::Retry, None);
    assert_eq!(stands(&world, "p/s"), (ItemState::Ready, Stage::Work));
}

/// What lies below it was done in an earlier lane, and is in a commit: there was
/// nothing that a retry could begin with.
#[test]
fn a_refused_commit_of_a_unit_that_holds_others_is_made_again() {
    let (mut world, token) = in_lane("p\n  s\n    x\n  t", "p/s");
    world.complete(token, "p/s/x");
    save_and_take_again(&mut world, token);
    world.make_commit(token, "p/s", Err("the hook says no"));
    let lost = lose(&world, token, "p/s");
    world.ok(lost);
    assert_eq!(stands(&world, "p/s"), (ItemState::Failed, Stage::Commit));
    world.decide(Verb::Retry, None);
    assert_eq!(stands(&world, "p/s"), (ItemState::Working, Stage::Commit));
}

#[test]
fn what_was_done_below_a_unit_in_its_lane_is_done_again_and_nothing_else() {
    let (mut world, token) = in_lane("p\n  s\n    x\n    y\n  t", "p/s");
    world.complete(token, "p/s/x");
    save_and_take_again(&mut world, token);
    world.complete(token, "p/s/y");
    let all = ["p/s/x", "p/s/y", "p/s", "p/t"];
    assert_eq!(world.states(&all), ["done", "done", "working", "pending"]);
    let lost = lose(&world, token, "p/s");
    world.ok(lost);
    // What `x` made is in the commit at which the lane began.
    assert_eq!(world.states(&all), ["done", "ready", "working", "pending"]);
    assert_eq!(world.item("p/s").stage, Stage::Work);
    let lane = take_lane(&world, token, "p/s");
    world.ok(lane);
    let from = world
        .item("p/s")
        .lane()
        .map(|LaneHold { from, .. }| from.as_str());
    assert_eq!(from, Some("half"));
    assert_eq!(world.state(), RunState::Running);
}

/// A person would approve nothing, and it would count as done.
#[test]
fn what_waits_for_an_approval_is_done_again_unless_it_is_in_a_commit() {
    for is_saved in [false, true] {
        let (mut world, token) = in_lane("p\n  s\n    x approval parallel\n    y parallel", "p/s");
        world.complete(token, "p/s/x");
        assert_eq!(world.states(&["p/s/x", "p/s/y"]), ["waiting", "ready"]);
        if is_saved {
            save_and_take_again(&mut world, token);
        }
        let lost = lose(&world, token, "p/s");
        world.ok(lost);
        let open = world.tables.open_decisions(world.run).count();
        let (state, asked) = match is_saved {
            false => (ItemState::Ready, 0),
            true => (ItemState::Waiting, 1),
        };
        let stands = (world.item("p/s/x").state, open);
        assert_eq!(stands, (state, asked), "{is_saved}");
    }
}

/// The commit is there without its lane.
#[test]
fn a_unit_that_waits_for_an_approval_waits_on_when_its_lane_is_gone() {
    let (mut world, token) = in_lane("p\n  s approval\n  t parallel", "p/s");
    world.complete(token, "p/s");
    world.make_commit(token, "p/s", Ok("work"));
    assert_eq!(world.item("p/s").state, ItemState::Waiting);
    let lost = lose(&world, token, "p/s");
    world.ok(lost);
    assert_eq!(world.item("p/s").state, ItemState::Waiting);
    world.decide(Verb::Approve, None);
    let merge = world.item("p/s").merge().map(|merge| merge.work.clone());
    assert_eq!(merge.as_deref(), Some("work"));
}

#[test]
fn work_in_place_that_is_gone_at_its_commit_is_done_again() {
    let policy = Policy {
        auto_commit: true,
        ..Policy::default()
    };
    let mut world = World::with_policy("a gate=3", policy);
    let token = world.start();
    world.complete(token, "a");
    world.gate(token, "a", true);
    start_commit(&mut world, token, "a");
    let lost = lose(&world, token, "a");
    world.ok(lost);
    assert_eq!(stands(&world, "a"), (ItemState::Ready, Stage::Work));
    assert_eq!(world.item("a").error.as_deref(), Some(WHY));
}

#[test]
fn nothing_is_lost_with_an_old_token_or_while_an_agent_works() {
    let (mut world, token) = in_lane("p\n  s", "p/s");
    let early = lose(&world, token, "p/s");
    let attempt = world.begin(token, "p/s");
    for command in [early, lose(&world, token, "p/s")] {
        let refusal = world.refused(command);
        assert!(matches!(refusal, Refusal::ItemState { .. }), "{refusal:?}");
    }
    let report = piton_core::attempt::Report::with_outcome(piton_core::Outcome::Completed);
    world.end(token, "p/s", attempt, report);
    let lost = lose(&world, token, "p/s");
    let fenced = match lost.clone() {
        Command::LoseWork {
            run,
            node,
            fence,
            why,
            ..
        } => Command::LoseWork {
            run,
            token: token + 1,
            node,
            fence,
            why,
        },
        other => other,
    };
    assert!(matches!(world.refused(fenced), Refusal::Fenced { .. }));
    world.ok(lost);
}
