//! The merge queue: which step fits which state, and what a person's word does
//! in each of them. The table is that of `docs/design/0027-lanes-and-merge-queue.md`.

use std::collections::VecDeque;
use std::num::NonZeroUsize;

use piton_core::attempt::{Conversation, ProgramReport, Report};
use piton_core::command::EditAuthor;
use piton_core::gate::Gate;
use piton_core::item::Evidence;
use piton_core::lane::{LaneTerms, TargetRow};
use piton_core::merge::{MergeCommit, MergeReturn, MergeState, MergeStep, RETURNS_MAX};
use piton_core::run_loop::{Effect, Input, RunLoop, RunLoopOptions};
use piton_core::scope::FileScope;
use piton_core::{
    Command, DecisionKind, Edit, ItemState, Outcome, Refusal, Role, RunState, Stage, Verb,
};

use crate::world::{World, node, skip_item};

const AT: &str = "p/s";

/// A run that is worked on in lanes.
pub(crate) fn in_lanes(plan: &str) -> (World, u64) {
    in_lanes_with(plan, false)
}

/// The same, where work may wait for a review.
fn in_lanes_with(plan: &str, review: bool) -> (World, u64) {
    let (mut world, token) = World::running(plan);
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
    let terms = LaneTerms {
        review,
        ..LaneTerms::default()
    };
    enter(&mut world, token, terms);
    (world, token)
}

pub(crate) fn enter(world: &mut World, token: u64, terms: LaneTerms) {
    world.ok(Command::EnterLanes {
        run: world.run,
        token,
        terms: Box::new(terms),
    });
}

pub(crate) fn take_lane(world: &World, token: u64, at: &str, lane: u32) -> Command {
    Command::TakeLane {
        run: world.run,
        token,
        node: node(at),
        lane,
        saved: None,
    }
}

pub(crate) fn step_of(world: &World, token: u64, at: &str, step: MergeStep) -> Command {
    Command::StepMerge {
        run: world.run,
        token,
        node: node(at),
        fence: world.fence(at),
        step,
    }
}

#[track_caller]
pub(crate) fn step(world: &mut World, token: u64, step: MergeStep) {
    let command = step_of(world, token, AT, step);
    world.ok(command);
}

pub(crate) fn start() -> MergeStep {
    MergeStep::Start {
        made: MergeCommit {
            onto: "base".to_owned(),
            commit: "merge".to_owned(),
            tree: "tree".to_owned(),
        },
        is_checked: false,
    }
}

fn nothing() -> MergeStep {
    MergeStep::Nothing {
        at: "later".to_owned(),
    }
}

fn conflict() -> MergeStep {
    MergeStep::Return {
        why: MergeReturn::Conflict {
            files: vec!["src/lib.rs".to_owned()],
        },
    }
}

fn red() -> MergeStep {
    red_by("make test")
}

fn red_by(command: &str) -> MergeStep {
    MergeStep::Return {
        why: MergeReturn::Red {
            command: command.to_owned(),
            output: "1 failed".to_owned(),
            with: vec![node("p/t")],
            changed: false,
        },
    }
}

#[test]
fn an_answer_about_a_commit_that_was_refused_goes_to_an_agent_and_a_retry_does_not() {
    for (verb, why, stage) in [
        (Verb::Retry, None, Stage::Commit),
        (Verb::Answer, Some("format it"), Stage::Work),
    ] {
        let (mut world, token) = in_lanes("p\n  s");
        let lane = take_lane(&world, token, AT, 1);
        world.ok(lane);
        world.complete(token, AT);
        world.make_commit(token, AT, Err("a hook refused it"));
        world.decide(verb, why);
        let item = world.item(AT);
        assert_eq!((item.stage, item.people.answer.as_deref()), (stage, why));
    }
}

/// The units that a runner gives lanes to, when it is started now with room for many.
pub(crate) fn next_lanes(world: &mut World, token: u64) -> Vec<String> {
    let options = RunLoopOptions {
        workers: NonZeroUsize::MIN.saturating_add(7),
        ..RunLoopOptions::default()
    };
    let mut runner = RunLoop::new(world.run, token, options, world.tables.clone());
    let (mut taken, mut seen) = (Vec::new(), world.journal.len());
    let mut queue = VecDeque::from([Effect::Look]);
    while let Some(effect) = queue.pop_front() {
        let command = match effect {
            Effect::Look => None,
            Effect::LaneIntent { node } => {
                let lane = 7 + u32::try_from(taken.len()).expect("few");
                taken.push(node.to_string());
                Some(take_lane(world, token, node.as_str(), lane))
            }
            _ => continue,
        };
        let command = command.map(|command| world.ok(command));
        let events = world.journal[seen..].to_vec();
        seen = world.journal.len();
        let input = match command {
            Some(_) => Input::Committed(events),
            None => Input::Looked {
                events,
                pause_file: false,
                attempt: world.fresh_attempt(),
            },
        };
        queue.extend(runner.step(world.now, input));
    }
    taken
}

#[test]
fn units_about_the_same_files_get_their_lanes_one_after_another() {
    // Of the items of a unit, and of those above it, all files count.
    let plan = "p parallel
  s gate=3 parallel files=src
  t parallel
    x files=docs
    y files=src/a.rs
  u parallel files=docs/en
  v parallel files=tests
  w parallel
q parallel files=src/b.rs
  r parallel";
    let (mut world, token) = in_lanes(plan);
    assert_eq!(next_lanes(&mut world, token), ["p/s", "p/u", "p/v", "p/w"]);
    let lanes = world
        .run_row()
        .branches
        .lanes
        .clone()
        .expect("it has lanes");
    let files = |at: &str| lanes.scopes.get(&node(at)).cloned();
    assert_eq!(files("p/s"), Some(FileScope(vec!["src".to_owned()])));
    assert_eq!(files("p/w"), None);
    for at in ["p/t", "q/r"] {
        let refusal = world.refused(take_lane(&world, token, at, 20));
        assert!(
            matches!(refusal, Refusal::ItemState { .. }),
            "{at}: {refusal:?}"
        );
    }
    // What is queued still is at work; what was merged is not.
    world.complete(token, AT);
    world.gate(token, AT, true);
    world.make_commit(token, AT, Ok("work"));
    assert_eq!(next_lanes(&mut world, token), Vec::<String>::new());
    for one in [start(), MergeStep::Pass, MergeStep::End] {
        step(&mut world, token, one);
    }
    assert_eq!(next_lanes(&mut world, token), ["q/r"]);
    let lanes = world
        .run_row()
        .branches
        .lanes
        .clone()
        .expect("it has lanes");
    assert!(!lanes.scopes.contains_key(&node(AT)));
}

#[test]
fn work_that_came_back_waits_for_files_that_others_have_meanwhile() {
    let (mut world, token) = in_lanes("p\n  s gate=3 parallel files=src\n  t files=src/a.rs");
    let lane = take_lane(&world, token, AT, 1);
    world.ok(lane);
    world.complete(token, AT);
    world.gate(token, AT, true);
    world.make_commit(token, AT, Ok("work"));
    let other = take_lane(&world, token, "p/t", 2);
    world.refused(other.clone());
    step(&mut world, token, conflict());
    world.ok(other);
    let own = take_lane(&world, token, AT, 3);
    world.refused(own.clone());
    let run = world.run;
    world.ok(Command::LeaveLane {
        run,
        token,
        node: node("p/t"),
        fence: world.fence("p/t"),
        saved: None,
    });
    world.ok(own);
}

/// Of two that are brought together with the target at once, one would conflict again.
#[test]
fn what_conflicts_in_the_same_file_gets_its_lane_one_after_another() {
    let (mut world, token) = queued();
    let lane = take_lane(&world, token, "p/t", 2);
    world.ok(lane);
    world.complete(token, "p/t");
    world.make_commit(token, "p/t", Ok("more"));
    for at in [AT, "p/t"] {
        let returned = step_of(&world, token, at, conflict());
        world.ok(returned);
    }
    assert_eq!(next_lanes(&mut world, token), [AT]);
    let attempt = world.begin_as(token, AT, Role::Resolve);
    world.end(token, AT, attempt, Report::with_outcome(Outcome::Completed));
    world.gate(token, AT, true);
    world.make_commit(token, AT, Ok("both"));
    assert_eq!(next_lanes(&mut world, token), Vec::<String>::new());
    for one in [start(), MergeStep::Pass, MergeStep::End] {
        step(&mut world, token, one);
    }
    assert_eq!(next_lanes(&mut world, token), ["p/t"]);
}

/// Brings a unit with a check into the queue.
fn queued() -> (World, u64) {
    committed("p\n  s gate=3 parallel\n  t", false)
}

/// A unit with a check whose work waits for a review.
fn in_review() -> (World, u64) {
    committed("p\n  s gate=3 parallel\n  t", true)
}

/// A unit with a check whose work is committed.
fn committed(plan: &str, review: bool) -> (World, u64) {
    let (mut world, token) = in_lanes_with(plan, review);
    let lane = take_lane(&world, token, AT, 1);
    world.ok(lane);
    world.complete(token, AT);
    world.gate(token, AT, true);
    world.make_commit(token, AT, Ok("work"));
    (world, token)
}

/// A unit in that state, by the shortest way.
fn standing(state: MergeState) -> (World, u64) {
    let (mut world, token) = match state {
        MergeState::InReview => in_review(),
        _ => queued(),
    };
    let steps = match state {
        MergeState::Queued | MergeState::InReview => vec![],
        MergeState::Requested => unreachable!("see `pull_requests`"),
        MergeState::Checking => vec![start()],
        MergeState::Passed => vec![start(), MergeStep::Pass],
        MergeState::Returned => vec![conflict()],
    };
    for one in steps {
        step(&mut world, token, one);
    }
    assert_eq!(merge_state(&world), Some(state));
    (world, token)
}

fn merge_state(world: &World) -> Option<MergeState> {
    world.item(AT).merge().map(|merge| merge.state)
}

/// Where a unit stands, in words.
fn shown(world: &World) -> String {
    let item = world.item(AT);
    match merge_state(world) {
        Some(state) => format!("{state:?}"),
        None => format!("{} at {:?}", item.state, item.stage),
    }
}

const STATES: [MergeState; 5] = [
    MergeState::InReview,
    MergeState::Queued,
    MergeState::Checking,
    MergeState::Passed,
    MergeState::Returned,
];

#[test]
fn each_step_fits_the_states_of_the_table_and_no_other() {
    let no = "refused";
    let table = [
        // The step, and what it leads to from each of `STATES`.
        (start(), [no, "Checking", no, no, no]),
        (MergeStep::Pass, [no, no, "Passed", no, no]),
        (conflict(), [no, "Returned", "Returned", no, no]),
        (red(), [no, "Returned", "Returned", no, no]),
        (MergeStep::Requeue, [no, no, "Queued", "Queued", no]),
        (nothing(), [no, "done at Merge", no, no, no]),
        (MergeStep::End, [no, no, no, "done at Merge", no]),
    ];
    for (step, expected) in table {
        for (state, expected) in STATES.into_iter().zip(expected) {
            let (mut world, token) = standing(state);
            let command = step_of(&world, token, AT, step.clone());
            let came_to = match world.commit(&command) {
                Ok(_) => shown(&world),
                Err(_) => no.to_owned(),
            };
            assert_eq!(came_to, expected, "{step:?} while {state:?}");
        }
    }
}

#[test]
fn a_late_end_with_an_old_token_is_refused_in_each_state() {
    for state in STATES {
        for late in [
            MergeStep::Pass,
            red(),
            MergeStep::Requeue,
            nothing(),
            MergeStep::End,
        ] {
            let (mut world, token) = standing(state);
            let mut command = step_of(&world, token, AT, late);
            if let Command::StepMerge { fence, .. } = &mut command {
                *fence -= 1;
            }
            let refusal = world.refused(command);
            assert!(matches!(refusal, Refusal::ItemState { .. }), "{refusal:?}");
        }
    }
}

#[test]
fn a_skip_takes_effect_in_every_state_but_passed() {
    let table = [
        (MergeState::InReview, "skipped at Merge", None),
        (MergeState::Queued, "skipped at Merge", None),
        (MergeState::Checking, "Checking", Some(MergeStep::Pass)),
        (MergeState::Passed, "Passed", Some(MergeStep::End)),
        (MergeState::Returned, "skipped at Resolve", None),
    ];
    for (state, at_once, then) in table {
        let (mut world, token) = standing(state);
        let skip = skip_item(world.run, AT);
        world.ok(skip);
        assert_eq!(shown(&world), at_once, "{state:?}");
        if let Some(then) = then {
            step(&mut world, token, then);
        }
        let is_done = state == MergeState::Passed;
        let expected = match is_done {
            true => ItemState::Done,
            false => ItemState::Skipped,
        };
        assert_eq!(world.item(AT).state, expected, "{state:?}");
        let lanes = world
            .run_row()
            .branches
            .lanes
            .clone()
            .expect("it has lanes");
        assert_eq!((lanes.merging, lanes.queue), (None, Vec::new()));
    }
}

#[test]
fn a_unit_is_done_when_it_is_merged_and_says_where() {
    let (mut world, token) = queued();
    assert_eq!(world.item(AT).state, ItemState::Working);
    let lanes = world
        .run_row()
        .branches
        .lanes
        .clone()
        .expect("it has lanes");
    assert_eq!((lanes.held.len(), lanes.queue), (0, vec![node(AT)]));
    for one in [start(), MergeStep::Pass, MergeStep::End] {
        step(&mut world, token, one);
    }
    let evidence = &world.item(AT).proof.evidence;
    let merged = evidence.iter().any(|one| {
        matches!(one, Evidence::Merged { branch, commit, tree }
            if (branch.as_str(), commit.as_str(), tree.as_str()) == ("piton/auth", "merge", "tree"))
    });
    assert!(merged, "{evidence:?}");
    let target = world
        .run_row()
        .branches
        .target
        .clone()
        .expect("it has a target");
    assert_eq!(target.tip, "merge");
}

#[test]
fn one_merge_at_a_time_is_checked() {
    let (mut world, token) = standing(MergeState::Checking);
    let other = "p/t";
    let lane = take_lane(&world, token, other, 1);
    world.ok(lane);
    world.complete(token, other);
    world.make_commit(token, other, Ok("more"));
    let second = step_of(&world, token, other, start());
    let refusal = world.refused(second);
    assert!(matches!(refusal, Refusal::ItemState { .. }), "{refusal:?}");
}

#[test]
fn a_merge_of_which_nothing_is_to_be_checked_has_passed() {
    let (mut world, token) = queued();
    let MergeStep::Start { made, .. } = start() else {
        unreachable!("it is one")
    };
    let is_checked = true;
    step(&mut world, token, MergeStep::Start { made, is_checked });
    assert_eq!(merge_state(&world), Some(MergeState::Passed));
}

#[test]
fn after_too_many_returns_a_person_is_asked_and_can_send_it_back() {
    let (mut world, token) = queued();
    for nth in 1..=RETURNS_MAX {
        step(&mut world, token, red());
        if nth == RETURNS_MAX {
            break;
        }
        assert_eq!(world.item(AT).stage, Stage::Resolve);
        let lane = take_lane(&world, token, AT, 1);
        world.ok(lane);
        let attempt = world.begin_as(token, AT, Role::Resolve);
        let report = piton_core::attempt::Report::with_outcome(piton_core::Outcome::Completed);
        world.end(token, AT, attempt, report);
        world.gate(token, AT, true);
        world.make_commit(token, AT, Ok("work"));
    }
    assert_eq!(world.item(AT).state, ItemState::Failed);
    let error = world.item(AT).error.clone().expect("it failed");
    assert!(error.contains("red together with p/t"), "{error}");
    let row = world
        .tables
        .decision(world.question())
        .expect("it is asked");
    assert_eq!(row.kind, DecisionKind::BlockedNode);
    world.decide(Verb::Retry, None);
    let item = world.item(AT);
    assert_eq!(
        (item.state, item.stage),
        (ItemState::Working, Stage::Resolve)
    );
    assert_eq!(item.merge().map(|merge| merge.returns), Some(0));
    assert_ne!(world.state(), RunState::Blocked);
}

fn unchecked() -> MergeStep {
    MergeStep::Return {
        why: MergeReturn::Unchecked {
            command: "make check".to_owned(),
            output: "sh: make: not found".to_owned(),
        },
    }
}

#[test]
fn a_check_that_cannot_be_run_is_asked_about_at_once_and_run_again_without_an_agent() {
    let (mut world, token) = queued();
    step(&mut world, token, unchecked());
    let item = world.item(AT);
    assert_eq!(item.state, ItemState::Failed);
    assert_eq!(item.merge().map(|merge| merge.returns), Some(0));
    let row = world
        .tables
        .decision(world.question())
        .expect("it is asked");
    assert_eq!(row.kind, DecisionKind::BlockedNode);
    assert_eq!(
        row.details.as_deref(),
        Some("`make check` cannot be run on the merged tree\nsh: make: not found")
    );
    world.decide(Verb::Retry, None);
    assert_eq!(world.item(AT).stage, Stage::Merge);
    assert_eq!(merge_state(&world), Some(MergeState::Queued));
    step(&mut world, token, start());
    step(&mut world, token, unchecked());
    // Words are for an agent.
    world.decide(Verb::Answer, Some("it calls make by a wrong name"));
    let item = world.item(AT);
    assert_eq!(
        (item.state, item.stage),
        (ItemState::Working, Stage::Resolve)
    );
    assert!(matches!(
        item.merge().and_then(|merge| merge.why.clone()),
        Some(MergeReturn::Rejected { .. })
    ));
}

#[test]
fn two_units_never_have_one_lane_and_nothing_begins_without_one() {
    let (mut world, token) = in_lanes("p\n  s parallel\n  t");
    let run = world.run;
    let attempt = world.fresh_attempt();
    let early = crate::world::start_attempt(run, token, attempt, AT, Role::Worker);
    assert!(matches!(world.refused(early), Refusal::ItemState { .. }));
    let first = take_lane(&world, token, AT, 1);
    world.ok(first);
    for (at, lane) in [("p/t", 1), (AT, 2)] {
        let command = take_lane(&world, token, at, lane);
        assert!(matches!(world.refused(command), Refusal::ItemState { .. }));
    }
    world.begin(token, AT);
}

#[test]
fn what_a_unit_left_in_its_lane_is_where_its_next_one_begins() {
    let (mut world, token) = in_lanes("p\n  s");
    let run = world.run;
    let lane = take_lane(&world, token, AT, 1);
    world.ok(lane);
    world.fail(token, AT);
    let fence = world.item(AT).lane().expect("it has one").fence;
    let leave = |fence| Command::LeaveLane {
        run,
        token,
        node: node(AT),
        fence,
        saved: Some("half".to_owned()),
    };
    assert!(matches!(
        world.refused(leave(fence + 1)),
        Refusal::ItemState { .. }
    ));
    world.ok(leave(fence));
    world.retry(AT);
    let token = match world.state() {
        RunState::Running => token,
        _ => {
            world.holder_gone = true;
            world.start()
        }
    };
    let lane = take_lane(&world, token, AT, 4);
    world.ok(lane);
    let from = world.item(AT).lane().map(|lane| lane.from.as_str());
    assert_eq!(from, Some("half"));
}

/// The kinds of what is asked, and the words of the verdicts.
fn reviews(world: &World) -> Vec<(Option<Verb>, Option<String>)> {
    let asked = world.tables.decisions();
    let asked = asked.filter(|row| row.kind == DecisionKind::Review);
    let said = asked.map(|row| {
        let verdict = row.verdict.as_ref();
        let why = verdict.and_then(|verdict| verdict.why.clone());
        (verdict.map(|verdict| verdict.verb), why)
    });
    said.collect()
}

#[test]
fn with_review_green_work_waits_for_a_person_and_its_lane_is_free() {
    let (mut world, token) = in_review();
    let lanes = world
        .run_row()
        .branches
        .lanes
        .clone()
        .expect("it has lanes");
    assert_eq!((lanes.held.len(), lanes.queue.len()), (0, 0));
    assert_eq!(world.item(AT).state, ItemState::Waiting);
    let row = world
        .tables
        .decision(world.question())
        .expect("it is asked");
    assert_eq!(row.kind, DecisionKind::Review);
    assert_eq!(
        row.allowed_verbs(),
        [Verb::Approve, Verb::Reject, Verb::Skip]
    );
    // What does not depend on it goes on meanwhile, and the run waits after that.
    assert_eq!(world.state(), RunState::Running);
    assert_eq!(next_lanes(&mut world, token), ["p/t"]);
    world.skip("p/t");
    assert_eq!(world.state(), RunState::Waiting);
}

#[test]
fn work_that_a_person_approved_is_not_reviewed_again_before_it_is_merged() {
    let (mut world, token) = in_lanes_with("p\n  s approval parallel\n  t", true);
    let lane = take_lane(&world, token, AT, 1);
    world.ok(lane);
    world.complete(token, AT);
    world.make_commit(token, AT, Ok("work"));
    world.decide(Verb::Approve, None);
    assert_eq!(merge_state(&world), Some(MergeState::Queued));
    assert_eq!(reviews(&world), []);
}

#[test]
fn what_is_approved_is_queued_and_merged_as_any() {
    let (mut world, token) = in_review();
    world.decide(Verb::Approve, None);
    assert_eq!(merge_state(&world), Some(MergeState::Queued));
    assert_eq!(world.item(AT).state, ItemState::Working);
    let lanes = world
        .run_row()
        .branches
        .lanes
        .clone()
        .expect("it has lanes");
    assert_eq!(lanes.queue, [node(AT)]);
    for one in [
        start(),
        MergeStep::Requeue,
        start(),
        MergeStep::Pass,
        MergeStep::End,
    ] {
        step(&mut world, token, one);
    }
    assert_eq!(world.item(AT).state, ItemState::Done);
    assert_eq!(reviews(&world), [(Some(Verb::Approve), None)]);
}

#[test]
fn what_is_rejected_goes_back_to_its_conversation_and_is_reviewed_again() {
    let (mut world, token) = in_lanes_with("p\n  s gate=3 parallel\n  t", true);
    let lane = take_lane(&world, token, AT, 1);
    world.ok(lane);
    let conversation = |id: &str| Conversation {
        agent: "sh".to_owned(),
        id: id.to_owned(),
        total: None,
    };
    let said = |id: &str| Report {
        program: ProgramReport {
            conversation: Some(conversation(id)),
            ..ProgramReport::default()
        },
        ..Report::with_outcome(Outcome::Completed)
    };
    world.work(token, AT, said("first"));
    world.gate(token, AT, true);
    world.make_commit(token, AT, Ok("work"));
    let empty = world.answer_to(world.question(), Verb::Reject, Some(" "));
    assert_eq!(world.refused(empty), Refusal::EmptyAnswer);
    world.decide(Verb::Reject, Some("name it better"));
    assert_eq!(reviews(&world)[0].0, Some(Verb::Reject));
    assert_eq!(shown(&world), "Returned");
    assert_eq!(world.item(AT).stage, Stage::Resolve);
    let why = world.item(AT).merge().and_then(|merge| merge.why.clone());
    let words = why.map(|why| why.describe_reason());
    assert_eq!(words.as_deref(), Some("rejected by ada: name it better"));
    // It goes on with what there is, in its own lane, and sees no merge.
    let own = world.item(AT).work.unit.clone().expect("it is a unit");
    let kept = own.conversation.map(|own| (own.lane, own.conversation));
    assert_eq!(kept, Some((1, conversation("first"))));
    assert_eq!(own.merge.map(|merge| merge.needs_both_sides()), Some(false));
    let lane = take_lane(&world, token, AT, 1);
    world.ok(lane);
    assert_eq!(world.item(AT).lane().map(|lane| &*lane.from), Some("work"));
    let attempt = world.begin_as(token, AT, Role::Resolve);
    world.end(token, AT, attempt, said("second"));
    world.gate(token, AT, true);
    // Also where nothing came of it: the work was not accepted as it is.
    commit_nothing(&mut world, token);
    assert_eq!(shown(&world), "InReview");
    assert_eq!(reviews(&world).len(), 2);
}

/// The commit of a unit in whose lane nothing changed.
fn commit_nothing(world: &mut World, token: u64) {
    let run = world.run;
    world.ok(Command::StartCommit {
        run,
        token,
        node: node(AT),
        head: None,
    });
    let fence = world.fence(AT);
    world.ok(Command::EndCommit {
        run,
        token,
        node: node(AT),
        fence,
        result: Ok(None),
    });
}

#[test]
fn where_nothing_changed_nobody_is_asked_to_look() {
    let (mut world, token) = in_lanes_with("p\n  s gate=3 parallel\n  t", true);
    let lane = take_lane(&world, token, AT, 1);
    world.ok(lane);
    world.complete(token, AT);
    world.gate(token, AT, true);
    commit_nothing(&mut world, token);
    assert_eq!(shown(&world), "Queued");
    assert_eq!(reviews(&world), []);
}

#[test]
fn what_is_done_otherwise_with_an_item_settles_its_review() {
    let run = in_review().0.run;
    for (command, state, verb) in [
        (crate::world::retry_item(run, AT), "Returned", Verb::Retry),
        (skip_item(run, AT), "skipped at Merge", Verb::Skip),
    ] {
        let (mut world, _) = in_review();
        world.ok(command);
        assert_eq!(shown(&world), state);
        let verdict = (Some(verb), None);
        assert_eq!(reviews(&world), [verdict], "{state}");
    }
}

/// Its work would be on no branch, and nothing would name it any more.
#[test]
fn a_mark_at_an_item_whose_work_waits_to_be_merged_does_not_drop_that_work() {
    let by_person = EditAuthor::Hand {
        by: "ada".to_owned(),
        brought: Vec::new(),
    };
    for state in [
        MergeState::Queued,
        MergeState::InReview,
        MergeState::Checking,
        MergeState::Passed,
    ] {
        for word in [EditAuthor::File, by_person.clone()] {
            let (mut world, _) = standing(state);
            let before = (shown(&world), merge_state(&world), reviews(&world));
            world.ok(Command::TakeEdits {
                run: world.run,
                token: None,
                file: "PROGRESS.yaml".to_owned(),
                edits: vec![Edit::SetState {
                    node: node(AT),
                    to: ItemState::Done,
                }],
                word,
            });
            let after = (shown(&world), merge_state(&world), reviews(&world));
            assert_eq!(after, before);
        }
    }
}

#[test]
fn what_waits_for_a_review_keeps_nobody_from_its_files() {
    let plan = "p\n  s gate=3 parallel files=src\n  t files=src/a.rs";
    let (mut world, token) = committed(plan, true);
    let other = take_lane(&world, token, "p/t", 1);
    world.ok(other);
    world.decide(Verb::Approve, None);
    let lanes = world
        .run_row()
        .branches
        .lanes
        .clone()
        .expect("it has lanes");
    let by = world
        .tables
        .find_overlapping_unit(&lanes, world.item("p/t"));
    assert_eq!(by, Some((&node(AT), "src")));
}

/// A person gives the unit another check in the file.
fn change_check(world: &mut World, script: &str) {
    let gate = Gate {
        script: script.to_owned(),
        ..world.item(AT).plan.gate.clone().expect("it has a check")
    };
    edit_check(world, Some(gate));
}

fn edit_check(world: &mut World, gate: Option<Gate>) {
    world.ok(Command::TakeEdits {
        run: world.run,
        token: None,
        file: "prd.json".to_owned(),
        edits: vec![Edit::SetGate {
            node: node(AT),
            gate,
        }],
        word: EditAuthor::File,
    });
}

/// The merge was made, and has the tree on which the check passed.
fn start_checked() -> MergeStep {
    let MergeStep::Start { made, .. } = start() else {
        unreachable!("it is one")
    };
    let is_checked = true;
    MergeStep::Start { made, is_checked }
}

/// What the unit has to pass on the merged tree is not what passed before: nothing that
/// came of that counts.
#[test]
fn a_check_that_is_changed_in_the_queue_has_to_pass_before_the_item_is_done() {
    let no = "refused";
    let table = [
        (MergeState::Queued, start_checked(), "Checking"),
        (MergeState::Queued, nothing(), no),
        (MergeState::Checking, MergeStep::Pass, "Queued"),
        (MergeState::Checking, red(), "Queued"),
        (MergeState::Checking, unchecked(), "Queued"),
        (MergeState::Passed, MergeStep::End, "Queued"),
        (MergeState::Passed, MergeStep::Requeue, "Queued"),
    ];
    for (state, late, expected) in table {
        let (mut world, token) = standing(state);
        change_check(&mut world, "make more");
        let command = step_of(&world, token, AT, late.clone());
        let came_to = match world.commit(&command) {
            Ok(_) => shown(&world),
            Err(_) => no.to_owned(),
        };
        assert_eq!(came_to, expected, "{late:?} while {state:?}");
        let returns = world.item(AT).merge().map(|merge| merge.returns);
        assert_eq!(returns, Some(0), "{late:?} while {state:?}");
        if merge_state(&world) == Some(MergeState::Queued) {
            step(&mut world, token, start_checked());
        }
        assert_eq!(shown(&world), "Checking", "{late:?} while {state:?}");
        step(&mut world, token, MergeStep::Pass);
        step(&mut world, token, MergeStep::End);
        assert_eq!(shown(&world), "done at Merge", "{late:?} while {state:?}");
        let evidence = &world.item(AT).proof.evidence;
        let has_passed = evidence.iter().any(|one| {
            matches!(one, Evidence::Checked { command, tree, .. }
                if command == "make more" && tree.as_deref() == Some("tree"))
        });
        assert!(has_passed, "{evidence:?}");
    }
}

#[test]
fn a_check_that_runs_the_same_command_or_is_gone_leaves_the_merge_as_it_is() {
    let (mut world, token) = standing(MergeState::Checking);
    let gate = world.item(AT).plan.gate.clone().expect("it has a check");
    let on_fail_prompt = "look closer".to_owned();
    edit_check(
        &mut world,
        Some(Gate {
            on_fail_prompt,
            ..gate
        }),
    );
    step(&mut world, token, MergeStep::Pass);
    assert_eq!(shown(&world), "Passed");
    let (mut world, token) = standing(MergeState::Queued);
    edit_check(&mut world, None);
    step(&mut world, token, nothing());
    assert_eq!(shown(&world), "done at Merge");
}

/// No other work has to do with it.
#[test]
fn work_that_the_changed_check_is_red_on_says_so() {
    let (mut world, token) = standing(MergeState::Queued);
    change_check(&mut world, "make more");
    step(&mut world, token, start());
    step(&mut world, token, red_by("make more"));
    let why = world.item(AT).merge().and_then(|merge| merge.why.clone());
    assert_eq!(
        why.map(|why| why.describe_reason()).as_deref(),
        Some("its check was changed after the work was done, and `make more` fails")
    );
    // The check of the run, and one that passed in the lane, were not.
    for command in ["make check", "make test"] {
        let (mut world, token) = standing(MergeState::Checking);
        step(&mut world, token, red_by(command));
        let why = world.item(AT).merge().and_then(|merge| merge.why.clone());
        let reason = why.expect("it was returned").describe_reason();
        assert!(reason.contains("red together with p/t"), "{reason}");
    }
}

/// There is nothing to merge, and a check to run on what is there.
#[test]
fn what_the_target_has_already_is_checked_there_by_the_changed_check() {
    let (mut world, token) = standing(MergeState::Queued);
    change_check(&mut world, "make more");
    let made = MergeCommit {
        onto: "later".to_owned(),
        commit: "later".to_owned(),
        tree: "tree".to_owned(),
    };
    let is_checked = false;
    for one in [
        MergeStep::Start { made, is_checked },
        MergeStep::Pass,
        MergeStep::End,
    ] {
        step(&mut world, token, one);
    }
    assert_eq!(shown(&world), "done at Merge");
    let target = world
        .run_row()
        .branches
        .target
        .clone()
        .expect("it has a target");
    assert_eq!(target.tip, "later");
    let lanes = world
        .run_row()
        .branches
        .lanes
        .clone()
        .expect("it has lanes");
    assert_eq!(lanes.merges, 0);
}

/// Its work is on the target, whatever its other check comes to there.
#[test]
fn what_was_merged_before_its_check_was_changed_stays_merged() {
    for is_red in [false, true] {
        let (mut world, token) = standing(MergeState::Passed);
        change_check(&mut world, "make more");
        step(&mut world, token, MergeStep::End);
        let target = world
            .run_row()
            .branches
            .target
            .clone()
            .expect("it has a target");
        assert_eq!(target.tip, "merge");
        if is_red {
            step(&mut world, token, start());
            step(&mut world, token, red_by("make more"));
        }
        world.skip(AT);
        let lanes = world
            .run_row()
            .branches
            .lanes
            .clone()
            .expect("it has lanes");
        assert_eq!((lanes.merges, lanes.merging), (1, None), "red: {is_red}");
        let item = world.item(AT);
        assert_eq!(item.state, ItemState::Skipped);
        let unit = item.work.unit.as_ref().expect("it is one");
        assert_eq!((unit.merged, unit.merge.is_none()), (1, true));
        let merged = item
            .proof
            .evidence
            .iter()
            .filter(|one| matches!(one, Evidence::Merged { .. }));
        assert_eq!(merged.count(), 1);
    }
}
