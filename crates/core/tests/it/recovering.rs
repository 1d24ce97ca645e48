//! What becomes of an item whose attempt did not complete: table, pieces, ends.

use piton_core::attempt::{RecoveryAction, Report};
use piton_core::classify::FailureCategory;
use piton_core::event::SessionEvent;
use piton_core::recover::{FOLLOWED_MAX, RejectedRule, Rule};
use piton_core::{Event, ItemState, Node, Outcome, Role, RunState, Stage};
use piton_simkit::seed::salted;

use crate::world::{
    RECOVERIES, World, failure, needs_human, node, pieces, recovery, start_attempt, tried_once,
};

const PLAN: &str = "build\n  s1\n  s2\nrelease after=build";

fn running() -> (World, u64) {
    World::running(PLAN)
}

fn said(outcome: Outcome) -> Report {
    Report {
        category: Some(FailureCategory::Logic),
        error: Some("it broke".to_owned()),
        ..Report::with_outcome(outcome)
    }
}

/// `build/s1` as an attempt with that report and recovery leaves it.
fn left(report: Report, action: RecoveryAction, rule: Rule) -> (World, String) {
    let (mut world, token) = running();
    let attempt = world.begin(token, "build/s1");
    world.end_so("build/s1", attempt, report, recovery(action, rule));
    let item = world.item("build/s1");
    let stage = match item.stage {
        Stage::Work => "",
        Stage::Repair => ", repair",
        Stage::Split => ", split",
        Stage::Gate
        | Stage::Fix
        | Stage::Commit
        | Stage::Baseline
        | Stage::Verdict
        | Stage::Merge
        | Stage::Resolve
        | Stage::Review
        | Stage::IterationHooks => ", another stage",
    };
    let followed = item.tries.recovery.as_ref().map_or("", |_| ", told");
    let shown = format!("{}{stage}{followed}", item.state);
    (world, shown)
}

#[test]
fn what_is_followed_stands_in_a_table() {
    use RecoveryAction::{BreakChunks, FixState, Manual, Retry, Skip};
    // The plan tries network trouble again, and what is wrong with the logic not.
    let with_retries = || failure(FailureCategory::Network, "it broke");
    let table = [
        (Skip, Rule::AlreadyDone, "skipped", "skipped"),
        (Skip, Rule::NotNeeded, "skipped", "skipped"),
        (
            FixState,
            Rule::BrokenState,
            "ready, repair, told",
            "ready, repair, told",
        ),
        (
            BreakChunks,
            Rule::TooLarge,
            "ready, split, told",
            "ready, split, told",
        ),
        (Retry, Rule::ResolvedBlocker, "waiting, told", "ready, told"),
        (Retry, Rule::KnownWorkaround, "waiting, told", "ready, told"),
        (Retry, Rule::InCircles, "waiting, told", "ready, told"),
        (Retry, Rule::PassingTrouble, "waiting", "failed"),
        (Manual, Rule::SameAgain, "waiting", "failed"),
        (Manual, Rule::AttemptsUsedUp, "waiting", "failed"),
        (Manual, Rule::NothingKnown, "waiting", "failed"),
    ];
    for (action, rule, policy, none) in table {
        assert_eq!(left(with_retries(), action, rule).1, policy, "{rule}");
        for outcome in [Outcome::Failed, Outcome::Partial] {
            assert_eq!(left(said(outcome), action, rule).1, none, "{rule}");
        }
        let blocked = none.replace("failed", "blocked");
        assert_eq!(left(said(Outcome::Blocked), action, rule).1, blocked);
    }
}

#[test]
fn without_a_recovery_all_is_as_it_was() {
    let (mut world, token) = running();
    world.work(
        token,
        "build/s1",
        failure(FailureCategory::Network, "it broke"),
    );
    let item = world.item("build/s1");
    assert_eq!((item.state, item.tries.retries), (ItemState::Waiting, 1));
    assert_eq!(item.tries.recovery, None);
    world.pass(3);
    world.fail(token, "build/s1");
    assert_eq!(world.state(), RunState::Blocked);
    let question = world.question();
    let details = world
        .tables
        .decision(question)
        .expect("asked")
        .details
        .clone();
    assert_eq!(details.as_deref(), Some("it broke"));
}

#[test]
fn whoever_is_asked_reads_what_was_considered() {
    let (mut world, token) = running();
    let attempt = world.begin(token, "build/s1");
    let mut what = recovery(RecoveryAction::Manual, Rule::AttemptsUsedUp);
    what.rejected = vec![RejectedRule {
        rule: Rule::AlreadyDone,
        action: RecoveryAction::Skip,
        why: "nothing says so".to_owned(),
    }];
    world.end_so("build/s1", attempt, said(Outcome::Failed), what);
    let question = world.question();
    let details = world
        .tables
        .decision(question)
        .expect("asked")
        .details
        .clone();
    assert_eq!(
        details.as_deref(),
        Some(
            "it broke\nconsidered:\n- not skip: nothing says so\n- manual: attempts-used-up: do it so"
        )
    );
}

#[test]
fn what_is_left_out_says_why() {
    let (world, _) = left(said(Outcome::Failed), RecoveryAction::Skip, Rule::NotNeeded);
    let item = world.item("build/s1");
    assert_eq!(item.summary.as_deref(), Some("not-needed: do it so"));
    assert_eq!(item.tries.recovery, None);
    assert_eq!(world.next(), Some("build/s2"));
    let logged = world.journal.iter().any(|recorded| {
        matches!(&recorded.event, Event::Session(SessionEvent::EntryLogged(entry))
            if entry.kind == piton_core::entry::EntryType::ScopeOverride)
    });
    assert!(logged);
}

/// A world in which `build/s1` is to be repaired or split first.
fn before(action: RecoveryAction, rule: Rule) -> (World, u64) {
    let (world, _) = left(said(Outcome::Failed), action, rule);
    let token = world.run_row().fence;
    (world, token)
}

#[test]
fn after_a_repair_the_work_begins_again_whatever_came_of_it() {
    for outcome in [
        Outcome::Completed,
        Outcome::Failed,
        Outcome::Partial,
        Outcome::Blocked,
    ] {
        let (mut world, token) = before(RecoveryAction::FixState, Rule::BrokenState);
        let attempt = world.begin_as(token, "build/s1", Role::Repair);
        world.end(token, "build/s1", attempt, said(outcome));
        let item = world.item("build/s1");
        assert_eq!((item.state, item.stage), (ItemState::Ready, Stage::Work));
        let attempt = world.begin(token, "build/s1");
        world.end(
            token,
            "build/s1",
            attempt,
            Report::with_outcome(Outcome::Completed),
        );
        let row = world.tables.attempt(attempt).expect("it was made");
        let report = row.report.clone().expect("it ended");
        let context = report.context.expect("it started from something");
        assert_eq!(context.recovery_action, Some(RecoveryAction::FixState));
        assert_eq!(context.previous_failure_reason.as_deref(), Some("it broke"));
        assert_eq!(world.item("build/s1").tries.recovery, None);
    }
}

#[test]
fn a_repair_that_is_cut_short_is_begun_again() {
    for (action, rule, role, stage) in [
        (
            RecoveryAction::FixState,
            Rule::BrokenState,
            Role::Repair,
            Stage::Repair,
        ),
        (
            RecoveryAction::BreakChunks,
            Rule::TooLarge,
            Role::Split,
            Stage::Split,
        ),
    ] {
        let (mut world, token) = before(action, rule);
        let attempt = world.begin_as(token, "build/s1", role);
        assert_eq!(world.item("build/s1").stage, stage);
        let report = Report::with_outcome(Outcome::Interrupted);
        world.end(token, "build/s1", attempt, report);
        let item = world.item("build/s1");
        assert_eq!((item.state, item.stage), (ItemState::Ready, stage));
        assert!(item.tries.recovery.is_some());
        let attempt = world.begin_as(token, "build/s1", role);
        world.end(token, "build/s1", attempt, needs_human("which one?"));
        assert_eq!(world.state(), RunState::Waiting);
        world.decide(piton_core::Verb::Answer, Some("the first"));
        let item = world.item("build/s1");
        assert_eq!((item.state, item.stage), (ItemState::Ready, Stage::Work));
        assert_eq!(item.tries.recovery, None, "a person decided");
    }
}

#[test]
fn a_role_is_started_at_its_stage_only() {
    let (mut world, token) = before(RecoveryAction::FixState, Rule::BrokenState);
    for (at, role) in [
        ("build/s1", Role::Split),
        ("build/s1", Role::GateFix),
        ("build/s2", Role::Repair),
        ("build/s2", Role::Split),
    ] {
        let attempt = world.fresh_attempt();
        world.refused(start_attempt(world.run, token, attempt, at, role));
    }
}

/// `build/s1` is split into that many pieces.
fn split(count: usize) -> (World, u64) {
    let (mut world, token) = before(RecoveryAction::BreakChunks, Rule::TooLarge);
    let attempt = world.begin_as(token, "build/s1", Role::Split);
    world.end(token, "build/s1", attempt, pieces(count));
    (world, token)
}

fn tree(world: &World) -> Vec<String> {
    let tree = world.tables.tree(world.run);
    tree.map(|item| format!("{} {}", item.node, item.state))
        .collect()
}

#[test]
fn pieces_stand_before_the_item_that_waits_for_them_and_is_worked_on_again() {
    let (mut world, token) = split(2);
    assert_eq!(
        tree(&world),
        [
            "build working",
            "build/s1-1 ready",
            "build/s1-2 pending",
            "build/s1 pending",
            "build/s2 pending",
            "release pending",
        ]
    );
    let piece = world.item("build/s1-1");
    assert_eq!(
        piece.plan.prompt.as_deref(),
        Some("piece 1\n\nhow to do piece 1")
    );
    assert_eq!(piece.plan.piece_of, Some(node("build/s1")));
    let waits: Vec<&Node> = world.item("build/s1").plan.depends_on.iter().collect();
    assert_eq!(waits, [&node("build/s1-1"), &node("build/s1-2")]);
    for at in ["build/s1-1", "build/s1-2"] {
        assert_eq!(world.next(), Some(at));
        world.complete(token, at);
    }
    assert_eq!(world.next(), Some("build/s1"));
    // It was split before this attempt: the rule that says so finds it here.
    let followed = world.item("build/s1").tries.recovery.clone().expect("told");
    assert_eq!(followed.action, RecoveryAction::BreakChunks);
    for at in ["build/s1", "build/s2", "release"] {
        world.complete(token, at);
    }
    assert_eq!(world.state(), RunState::Done);
    assert_eq!(world.folded(), world.tables);
}

#[test]
fn pieces_wait_for_what_the_item_waits_for_and_take_names_that_are_free() {
    let mut world = World::planned("a\nb-1\nb after=a");
    let token = world.start();
    for at in ["a", "b-1"] {
        world.complete(token, at);
    }
    let attempt = world.begin(token, "b");
    let large = recovery(RecoveryAction::BreakChunks, Rule::TooLarge);
    world.end_so("b", attempt, said(Outcome::Partial), large);
    let attempt = world.begin_as(token, "b", Role::Split);
    world.end(token, "b", attempt, pieces(2));
    assert_eq!(
        tree(&world),
        ["a done", "b-1 done", "b-2 ready", "b-3 ready", "b pending"]
    );
    assert_eq!(world.item("b-2").plan.depends_on, [node("a")]);
    assert_eq!(world.run_row().open_roots, 3);
}

#[test]
fn an_item_that_is_not_split_goes_to_a_person() {
    for (report, why) in [
        (pieces(1), "no reason was given"),
        (pieces(13), "no reason was given"),
        (said(Outcome::Failed), "it broke"),
        (said(Outcome::Blocked), "it broke"),
    ] {
        let (mut world, token) = before(RecoveryAction::BreakChunks, Rule::TooLarge);
        let attempt = world.begin_as(token, "build/s1", Role::Split);
        world.end(token, "build/s1", attempt, report);
        assert_eq!(world.state(), RunState::Blocked);
        let error = world.item("build/s1").error.clone();
        assert_eq!(
            error.as_deref(),
            Some(&*format!(
                "it broke; it was to be split, and the agent named no pieces: {why}"
            ))
        );
    }
}

#[test]
fn a_piece_is_not_split_again() {
    let (mut world, token) = split(2);
    let attempt = world.begin(token, "build/s1-1");
    let large = recovery(RecoveryAction::BreakChunks, Rule::TooLarge);
    world.end_so("build/s1-1", attempt, said(Outcome::Partial), large);
    assert_eq!(world.item("build/s1-1").state, ItemState::Failed);
    assert_eq!(world.state(), RunState::Blocked);
    // Left out, it counts as finished: the others and the whole go on.
    world.decide(piton_core::Verb::Skip, Some("not now"));
    world.holder_gone = true;
    let token = world.start();
    world.complete(token, "build/s1-2");
    assert_eq!(world.next(), Some("build/s1"));
}

#[test]
fn no_recovery_works_on_an_item_for_ever() {
    for nth in 0..2_000_u64 {
        let seed = salted(nth);
        let mut world = World::with_policy("a\nb after=a", tried_once());
        world.thorough = nth % 50 == 0;
        let token = world.start();
        let retries = world.run_row().plan.policy.retry.retries_max;
        let mut draw = seed;
        let mut next = |below: usize| {
            draw = draw
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695);
            usize::try_from(draw >> 33).expect("31 bits") % below
        };
        let mut made = 0;
        while world.state() == RunState::Running {
            let Some(item) = world.tables.next_actionable_item(world.run).cloned() else {
                break;
            };
            world.now = item
                .tries
                .until
                .map_or(world.now, |until| until.max(world.now));
            let at = item.node.to_string();
            let role = match item.stage {
                Stage::Repair => Role::Repair,
                Stage::Split => Role::Split,
                Stage::Verdict => Role::Verdict,
                Stage::IterationHooks => Role::IterationHook,
                Stage::Resolve => Role::Resolve,
                Stage::Review => Role::Reviewer,
                Stage::Work
                | Stage::Gate
                | Stage::Fix
                | Stage::Commit
                | Stage::Baseline
                | Stage::Merge => Role::Worker,
            };
            let attempt = world.begin_as(token, &at, role);
            made += 1;
            let report = match (role, next(3)) {
                (Role::Split, 0 | 1) => pieces(2),
                (_, 0) => failure(FailureCategory::Network, "again"),
                _ => said(Outcome::Partial),
            };
            let (action, rule) = RECOVERIES[next(RECOVERIES.len())];
            // What ends the matter is not what this is about.
            let action = if action == RecoveryAction::Skip {
                RecoveryAction::FixState
            } else {
                action
            };
            world.end_so(&at, attempt, report, recovery(action, rule));
            // Between two of the plan's own retries each item goes on by a
            // recovery so often at most, each with one attempt before it.
            let per_item = (retries + 1) * (1 + 2 * FOLLOWED_MAX);
            let items = u32::try_from(world.tables.tree(world.run).count()).expect("few");
            assert!(made <= per_item * items, "seed {seed}: {made} attempts");
            assert!(items < 100, "seed {seed}: {items} items");
        }
        assert_eq!(world.state(), RunState::Blocked, "seed {seed}");
        world.question();
    }
}

#[test]
fn the_state_is_mended_once_in_a_row_and_then_a_person_begins_anew() {
    let (mut world, token) = before(RecoveryAction::FixState, Rule::BrokenState);
    let attempt = world.begin_as(token, "build/s1", Role::Repair);
    world.end(
        token,
        "build/s1",
        attempt,
        Report::with_outcome(Outcome::Completed),
    );
    let attempt = world.begin(token, "build/s1");
    let broken = recovery(RecoveryAction::FixState, Rule::BrokenState);
    world.end_so("build/s1", attempt, said(Outcome::Failed), broken);
    assert_eq!(world.state(), RunState::Blocked);
    world.decide(piton_core::Verb::Retry, None);
    let item = world.item("build/s1");
    assert_eq!(
        (item.tries.recovery.as_ref(), item.stage),
        (None, Stage::Work)
    );
}
