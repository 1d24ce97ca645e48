//! What items wait for before they begin: a time, a command, or both; and what
//! people may do about it.

use piton_core::attempt::{ProgramReport, Role};
use piton_core::classify::FailureCategory;
use piton_core::command::EditAuthor;
use piton_core::wait::{Wait, WaitChange, WaitProgress, WaitStep};
use piton_core::{Command, DecisionKind, Edit, Event, ItemState, Outcome, Refusal, RunState, Verb};

use crate::world::{World, a_wait, failure, node, start_attempt};

const FILE: &str = "sprints/auth/PROGRESS.yaml";

/// Takes the wait of an item one step further, as the runner does that follows it.
fn try_step(world: &mut World, token: u64, at: &str, what: WaitChange) -> Result<(), Refusal> {
    let item = world.item(at);
    let holds_others = what.is_over() && !item.is_leaf();
    let wait = item.plan.wait.as_deref().cloned().unwrap_or_default();
    let command = Command::StepWaits {
        run: world.run,
        token,
        steps: vec![WaitStep {
            node: node(at),
            wait,
            what,
        }],
        holds_others,
    };
    world.commit(&command).map(drop)
}

#[track_caller]
fn step(world: &mut World, token: u64, at: &str, what: WaitChange) {
    try_step(world, token, at, what).expect("it fits");
}

/// A world in which `at` has begun to wait.
fn waiting(text: &str, at: &str) -> (World, u64) {
    let (mut world, token) = World::running(text);
    step(&mut world, token, at, WaitChange::Begins);
    (world, token)
}

fn late() -> WaitChange {
    WaitChange::Late {
        printed: Some("2 of 3 passed".to_owned()),
    }
}

fn try_to_start(world: &mut World, token: u64, at: &str) -> bool {
    let attempt = world.fresh_attempt();
    let command = start_attempt(world.run, token, attempt, at, Role::Worker);
    world.commit(&command).is_ok()
}

fn edit_wait(world: &mut World, at: &str, wait: Option<Wait>) {
    world.ok(Command::TakeEdits {
        run: world.run,
        token: None,
        file: FILE.to_owned(),
        edits: vec![Edit::SetWait {
            node: node(at),
            wait,
        }],
        word: EditAuthor::File,
    });
}

fn mark_done(world: &mut World, at: &str) {
    world.ok(Command::TakeEdits {
        run: world.run,
        token: None,
        file: FILE.to_owned(),
        edits: vec![Edit::SetState {
            node: node(at),
            to: ItemState::Done,
        }],
        word: EditAuthor::Hand {
            by: "ada".to_owned(),
            brought: Vec::new(),
        },
    });
}

/// How an item waits, what ends that, and what is on record then.
#[track_caller]
fn check(wait: &str, end: WaitChange, waited: WaitProgress) {
    let (mut world, token) = waiting(&format!("a wait={wait}"), "a");
    let item = world.item("a");
    assert_eq!(item.state, ItemState::Waiting);
    assert_eq!(
        item.tries.until,
        item.plan.wait.as_ref().and_then(|wait| wait.until)
    );
    assert_eq!(world.state(), RunState::Running, "a wait is no trouble");
    assert!(!try_to_start(&mut world, token, "a"));
    let before = world.journal.len();
    step(&mut world, token, "a", end);
    assert_eq!(world.journal.len(), before + 1, "one event ends it");
    assert_eq!(world.item("a").state, ItemState::Ready);
    assert_eq!(world.item("a").work.waited, Some(waited));
    world.complete(token, "a");
    assert_eq!(world.state(), RunState::Done);
}

#[test]
fn each_wait_has_its_end() {
    check("600", WaitChange::TimeCame, WaitProgress::Time);
    check("ok", WaitChange::SaidYes, WaitProgress::Command);
    check("ok,600", WaitChange::SaidYes, WaitProgress::Command);
}

#[test]
fn a_step_that_does_not_fit_is_refused() {
    for (wait, what) in [
        ("600", WaitChange::SaidYes),
        ("600", late()),
        ("ok", WaitChange::TimeCame),
        ("ok,600", WaitChange::TimeCame),
        ("ok", WaitChange::Begins),
    ] {
        let (mut world, token) = waiting(&format!("a wait={wait}"), "a");
        assert!(try_step(&mut world, token, "a", what).is_err(), "{wait}");
    }
    let (mut world, token) = World::running("a wait=ok\nb");
    assert!(try_step(&mut world, token, "a", WaitChange::SaidYes).is_err());
    assert!(try_step(&mut world, token, "b", WaitChange::Begins).is_err());
    assert!(try_step(&mut world, token + 1, "a", WaitChange::Begins).is_err());
}

/// An answer to a command that the plan does not name any more says nothing.
#[test]
fn an_answer_to_what_is_not_asked_any_more_is_refused() {
    let (mut world, token) = waiting("a wait=ok", "a");
    let old = world.item("a").plan.wait.as_deref().cloned();
    edit_wait(&mut world, "a", Some(a_wait("other")));
    step(&mut world, token, "a", WaitChange::Begins);
    let command = Command::StepWaits {
        run: world.run,
        token,
        steps: vec![WaitStep {
            node: node("a"),
            wait: old.expect("it waited"),
            what: WaitChange::SaidYes,
        }],
        holds_others: false,
    };
    assert!(world.commit(&command).is_err());
}

#[test]
fn nothing_behind_it_begins_and_what_is_ready_beside_it_does() {
    let (mut world, token) = waiting("a wait=ok\nb", "a");
    assert_eq!(world.states(&["a", "b"]), ["waiting", "pending"]);
    step(&mut world, token, "a", WaitChange::SaidYes);
    world.complete(token, "a");
    assert_eq!(world.item("b").state, ItemState::Ready);

    let (mut world, token) = waiting("in any order:\na wait=ok\nb\nc after=a", "a");
    assert_eq!(
        world.states(&["a", "b", "c"]),
        ["waiting", "ready", "pending"]
    );
    world.complete(token, "b");
    assert_eq!(world.state(), RunState::Running);
}

#[test]
fn it_waits_when_what_it_depends_on_is_done_and_not_before() {
    let (mut world, token) = World::running("a\nb wait=ok");
    assert!(try_step(&mut world, token, "b", WaitChange::Begins).is_err());
    world.complete(token, "a");
    step(&mut world, token, "b", WaitChange::Begins);
    assert_eq!(world.item("b").state, ItemState::Waiting);
}

#[test]
fn a_phase_waits_before_the_first_of_its_steps() {
    let (mut world, token) = World::running("a wait=ok\n  s1\n    x\n  s2\nb");
    let nodes = ["a", "a/s1", "a/s1/x", "a/s2", "b"];
    let pending = |first| [first, "pending", "pending", "pending", "pending"];
    assert_eq!(world.states(&nodes), pending("ready"));
    assert_eq!(world.next(), Some("a"));
    step(&mut world, token, "a", WaitChange::Begins);
    assert_eq!(world.states(&nodes), pending("waiting"));
    assert_eq!(world.state(), RunState::Running);
    step(&mut world, token, "a", WaitChange::SaidYes);
    assert_eq!(
        world.states(&nodes),
        ["ready", "ready", "ready", "pending", "pending"]
    );
    world.complete(token, "a/s1/x");
    world.complete(token, "a/s2");
    assert_eq!(world.states(&["a", "b"]), ["done", "ready"]);
}

#[test]
fn a_wait_within_a_wait_follows_it() {
    let (mut world, token) = waiting("a wait=ok\n  s1 wait=ok\n    x", "a");
    step(&mut world, token, "a", WaitChange::SaidYes);
    assert_eq!(
        world.states(&["a", "a/s1", "a/s1/x"]),
        ["ready", "ready", "pending"]
    );
    step(&mut world, token, "a/s1", WaitChange::Begins);
    step(&mut world, token, "a/s1", WaitChange::SaidYes);
    assert_eq!(world.item("a/s1/x").state, ItemState::Ready);
}

#[test]
fn it_is_waited_for_once() {
    let (mut world, token) = waiting("a wait=ok", "a");
    step(&mut world, token, "a", WaitChange::SaidYes);
    world.fail(token, "a");
    world.retry("a");
    assert_eq!(world.item("a").state, ItemState::Ready);
    world.holder_gone = true;
    let token = world.start();
    assert!(try_step(&mut world, token, "a", WaitChange::Begins).is_err());
    world.complete(token, "a");
    world.retry("a");
    let token = world.start();
    assert!(try_step(&mut world, token, "a", WaitChange::Begins).is_err());
    assert!(try_to_start(&mut world, token, "a"));
}

/// What a service put off waits as well, and not for what its plan says.
#[test]
fn what_is_put_off_after_its_wait_is_not_in_it() {
    let (mut world, token) = waiting("a wait=ok", "a");
    step(&mut world, token, "a", WaitChange::SaidYes);
    let attempt = world.begin(token, "a");
    let report = piton_core::attempt::Report {
        program: ProgramReport {
            resets_at: Some(world.now + jiff::SignedDuration::from_secs(60)),
            ..ProgramReport::default()
        },
        ..piton_core::attempt::Report::with_outcome(Outcome::Interrupted)
    };
    let end = world.end_attempt(token, attempt, "a", report);
    world.ok(end);
    assert_eq!(world.item("a").state, ItemState::Waiting);
    assert!(!world.item("a").is_waiting_by_plan());
}

// The time has come, and the command said no.

fn late_at(text: &str, at: &str) -> (World, u64) {
    let (mut world, token) = waiting(text, at);
    world.pass(700);
    step(&mut world, token, at, late());
    (world, token)
}

#[test]
fn a_person_is_asked_when_the_time_has_come_and_the_command_said_no() {
    let (world, _) = late_at("a wait=ok,600", "a");
    assert_eq!(world.item("a").state, ItemState::Waiting);
    assert_eq!(world.state(), RunState::Waiting);
    let row = world
        .tables
        .decision(world.question())
        .expect("it is asked");
    assert_eq!(row.kind, DecisionKind::Wait);
    assert_eq!(row.details.as_deref(), Some("2 of 3 passed"));
    assert_eq!(
        row.allowed_verbs(),
        [Verb::Retry, Verb::Approve, Verb::Skip]
    );
}

/// However long its time: it would be asked in vain until then.
#[test]
fn a_person_is_asked_at_once_about_a_command_that_cannot_be_run() {
    for (wait, until) in [("ok", false), ("ok,6000", true)] {
        let (mut world, token) = waiting(&format!("a wait={wait}"), "a");
        world.pass(700);
        let printed = Some("sh: ok: not found".to_owned());
        step(&mut world, token, "a", WaitChange::NotRun { printed });
        let row = world.tables.decision(world.question());
        let row = row.expect("it is asked");
        assert_eq!(row.kind, DecisionKind::Wait);
        let asked = "`ok` cannot be run, for which `a` waits: what now?";
        assert_eq!(row.question, asked);
        assert_eq!(row.details.as_deref(), Some("sh: ok: not found"));
        // Its time is still to come.
        world.decide(Verb::Retry, None);
        let token = world.start();
        step(&mut world, token, "a", WaitChange::Begins);
        assert_eq!(world.item("a").wait_end().is_some(), until, "{wait}");
        step(&mut world, token, "a", WaitChange::SaidYes);
        assert!(try_to_start(&mut world, token, "a"), "{wait}");
    }
}

#[test]
fn a_person_has_it_asked_on_goes_on_without_it_or_leaves_it_out() {
    let (mut world, _) = late_at("a wait=ok,600", "a");
    world.decide(Verb::Retry, None);
    assert_eq!(world.state(), RunState::Interrupted);
    let token = world.start();
    step(&mut world, token, "a", WaitChange::Begins);
    assert_eq!(world.item("a").wait_end(), None, "it has no time any more");
    assert_eq!(world.item("a").tries.until, None);
    step(&mut world, token, "a", WaitChange::SaidYes);
    assert!(try_to_start(&mut world, token, "a"));

    let (mut world, _) = late_at("a wait=ok,600", "a");
    world.decide(Verb::Approve, Some("it is broken"));
    assert_eq!(world.item("a").work.waited, Some(WaitProgress::Person));
    let token = world.start();
    assert!(try_to_start(&mut world, token, "a"));

    let (mut world, _) = late_at("a wait=ok,600", "a");
    world.decide(Verb::Skip, None);
    assert_eq!(world.state(), RunState::Done);
}

#[test]
fn a_phase_that_is_late_is_asked_about_and_its_steps_stay_pending() {
    let (mut world, _) = late_at("a wait=ok,600\n  s1\nb", "a");
    let nodes = ["a", "a/s1", "b"];
    assert_eq!(world.states(&nodes), ["waiting", "pending", "pending"]);
    assert_eq!(world.state(), RunState::Waiting);
    world.decide(Verb::Approve, None);
    assert_eq!(world.states(&nodes), ["ready", "ready", "pending"]);
}

/// Nobody is asked any more about what is finished by what lies below it.
#[test]
fn a_question_about_a_phase_that_is_finished_is_settled() {
    let (mut world, _) = late_at("a wait=ok,600\n  s1\nb", "a");
    world.skip("a/s1");
    assert_eq!(world.item("a").state, ItemState::Skipped);
    assert_eq!(world.tables.open_decisions(world.run).count(), 0);

    let (mut world, _) = late_at("a wait=ok,600\n  s1\nb", "a");
    mark_done(&mut world, "a/s1");
    assert_eq!(world.item("a").state, ItemState::Done);
    assert_eq!(world.tables.open_decisions(world.run).count(), 0);
}

// People.

#[test]
fn a_retry_asks_a_command_again_and_ends_a_wait_for_a_time() {
    for (wait, waited) in [
        ("ok", None),
        ("ok,600", None),
        ("600", Some(WaitProgress::Person)),
    ] {
        for text in [format!("a wait={wait}"), format!("a wait={wait}\n  s1")] {
            let (mut world, token) = waiting(&text, "a");
            world.retry("a");
            assert_eq!(world.item("a").state, ItemState::Ready, "{text}");
            assert_eq!(world.item("a").work.waited, waited, "{text}");
            let waits_again = try_step(&mut world, token, "a", WaitChange::Begins).is_ok();
            assert_eq!(waits_again, waited.is_none(), "{text}");
        }
    }
}

/// Its hour has not come because another one is tried again.
#[test]
fn a_retry_of_what_holds_it_leaves_a_wait_alone() {
    for wait in ["600", "ok"] {
        let text = format!("p\n  a parallel\n  b parallel wait={wait}");
        let (mut world, token) = waiting(&text, "p/b");
        world.work(token, "p/a", failure(FailureCategory::Logic, "no"));
        let fails = || world.states(&["p/a", "p/b"]);
        assert_eq!(fails(), ["failed", "waiting"], "{wait}");
        world.retry("p");
        assert_eq!(
            world.states(&["p/a", "p/b"]),
            ["ready", "waiting"],
            "{wait}"
        );
        assert_eq!(world.item("p/b").work.waited, None, "{wait}");
    }
    // What was asked about is answered with the rest.
    let (mut world, _) = late_at("p\n  a parallel\n  b parallel wait=ok,600", "p/b");
    world.retry("p");
    assert_eq!(world.item("p/b").work.waited, Some(WaitProgress::AskedOn));
}

#[test]
fn a_retry_of_a_late_one_is_the_answer_to_its_question() {
    let (mut world, _) = late_at("a wait=ok,600\n  s1", "a");
    world.retry("a");
    assert_eq!(world.tables.open_decisions(world.run).count(), 0);
    assert_eq!(world.item("a").work.waited, Some(WaitProgress::AskedOn));
}

#[test]
fn a_skip_holds_at_once() {
    for text in ["a wait=ok\nb", "a wait=ok\n  s1\n  s2\nb"] {
        let (mut world, _) = waiting(text, "a");
        world.skip("a");
        assert_eq!(world.states(&["a", "b"]), ["skipped", "ready"], "{text}");
    }
    // What comes back waits as it would have.
    let (mut world, _) = waiting("a wait=ok\n  s1", "a");
    world.skip("a");
    world.retry("a");
    assert_eq!(world.states(&["a", "a/s1"]), ["ready", "pending"]);
    world.holder_gone = true;
    let token = world.start();
    step(&mut world, token, "a", WaitChange::Begins);
}

#[test]
fn a_pause_holds_and_the_wait_lasts() {
    let (mut world, token) = waiting("a wait=ok", "a");
    let run = world.run;
    world.ok(Command::AskPause { run });
    world.ok(Command::PauseRun {
        run,
        token,
        pause: piton_core::run::Pause::Person {
            by: "ada".to_owned(),
        },
    });
    assert_eq!(world.state(), RunState::Paused);
    assert!(try_step(&mut world, token, "a", WaitChange::SaidYes).is_err());
    assert_eq!(world.item("a").state, ItemState::Waiting);
}

/// The next runner finds it waiting, and goes on with it.
#[test]
fn a_wait_survives_its_runner() {
    for (wait, end) in [
        ("600", WaitChange::TimeCame),
        ("ok", WaitChange::SaidYes),
        ("ok,600", late()),
    ] {
        let (mut world, _) = waiting(&format!("a wait={wait}"), "a");
        world.holder_gone = true;
        let token = world.start();
        assert_eq!(world.item("a").state, ItemState::Waiting);
        assert_eq!(world.state(), RunState::Running);
        step(&mut world, token, "a", end);
    }
}

// The plan is edited.

#[test]
fn an_edit_of_a_wait_that_lasts_holds_at_once() {
    for (text, below) in [("a wait=ok", None), ("a wait=ok\n  s1", Some("a/s1"))] {
        let (mut world, token) = waiting(text, "a");
        edit_wait(&mut world, "a", Some(a_wait("900")));
        assert_eq!(world.item("a").state, ItemState::Ready);
        step(&mut world, token, "a", WaitChange::Begins);
        assert_eq!(world.item("a").tries.until, a_wait("900").until);
        edit_wait(&mut world, "a", None);
        assert_eq!(world.item("a").state, ItemState::Ready);
        assert!(try_to_start(&mut world, token, below.unwrap_or("a")));
    }
}

#[test]
fn an_edit_of_a_late_wait_settles_its_question() {
    for wait in [None, Some(a_wait("ok,9000"))] {
        let (mut world, _) = late_at("a wait=ok,600", "a");
        edit_wait(&mut world, "a", wait.clone());
        assert_eq!(world.tables.open_decisions(world.run).count(), 0);
        assert_eq!(world.item("a").state, ItemState::Ready);
        assert_eq!(world.item("a").has_open_wait(), wait.is_some());
    }
}

#[test]
fn a_phase_that_is_told_to_wait_holds_its_steps_back() {
    let (mut world, token) = World::running("a\n  s1\nb");
    edit_wait(&mut world, "a", Some(a_wait("ok")));
    assert_eq!(world.states(&["a", "a/s1"]), ["ready", "pending"]);
    step(&mut world, token, "a", WaitChange::Begins);
    edit_wait(&mut world, "a", None);
    assert_eq!(world.states(&["a", "a/s1"]), ["ready", "ready"]);
}

#[test]
fn what_was_begun_does_not_wait_whatever_the_plan_says_since() {
    let (mut world, token) = World::running("a\n  s1\n  s2\nb");
    world.complete(token, "a/s1");
    edit_wait(&mut world, "a", Some(a_wait("ok")));
    assert_eq!(world.item("a/s2").state, ItemState::Ready);
    assert!(try_to_start(&mut world, token, "a/s2"));
    edit_wait(&mut world, "a/s1", Some(a_wait("ok")));
    assert_eq!(world.item("a/s1").state, ItemState::Done);
}

/// A waiting item stands in the file as one that is pending.
#[test]
fn a_file_that_calls_it_pending_says_nothing() {
    let (mut world, _) = waiting("a wait=ok", "a");
    let before = world.journal.len();
    world.ok(Command::TakeEdits {
        run: world.run,
        token: None,
        file: FILE.to_owned(),
        edits: vec![Edit::SetState {
            node: node("a"),
            to: ItemState::Pending,
        }],
        word: EditAuthor::File,
    });
    assert_eq!(world.journal.len(), before);
}

#[test]
fn what_a_person_marks_as_done_below_a_phase_that_waits_completes_it() {
    let (mut world, _) = waiting("a wait=ok\n  s1\nb", "a");
    mark_done(&mut world, "a/s1");
    assert_eq!(world.states(&["a", "a/s1", "b"]), ["done", "done", "ready"]);
}

/// An agent may not take a wait away, nor give an item one.
#[test]
fn an_edit_by_an_agent_is_asked_about() {
    for (text, wait) in [
        ("a\nb wait=ok", None),
        ("a\nb wait=ok", Some(a_wait("true"))),
        ("a\nb", Some(a_wait("ok"))),
    ] {
        let (mut world, token) = World::running(text);
        let attempt = world.begin(token, "a");
        let before = world.item("b").plan.wait.clone();
        world.ok(Command::TakeEdits {
            run: world.run,
            token: Some(token),
            file: FILE.to_owned(),
            edits: vec![Edit::SetWait {
                node: node("b"),
                wait,
            }],
            word: EditAuthor::MaybeAgent {
                attempt,
                criteria: false,
                in_lane: false,
            },
        });
        assert_eq!(world.item("b").plan.wait, before, "{text}");
        let row = world
            .tables
            .decision(world.question())
            .expect("it is asked");
        assert_eq!(row.kind, DecisionKind::AgentEdit);
    }
}

/// A thing that has to wait again does not wait for its command meanwhile.
#[test]
fn what_it_depends_on_is_done_again_and_it_waits_for_that_first() {
    let (mut world, token) = World::running("a\nb wait=ok\n  s1");
    world.complete(token, "a");
    step(&mut world, token, "b", WaitChange::Begins);
    world.retry("a");
    assert_eq!(world.states(&["a", "b"]), ["ready", "pending"]);
    world.complete(token, "a");
    assert_eq!(world.item("b").state, ItemState::Ready);
    step(&mut world, token, "b", WaitChange::Begins);
}

#[test]
fn the_journal_of_a_wait_of_a_week_has_two_events() {
    let (mut world, token) = World::running("a wait=ok");
    let before = world.journal.len();
    step(&mut world, token, "a", WaitChange::Begins);
    world.pass(7 * 24 * 3_600);
    step(&mut world, token, "a", WaitChange::SaidYes);
    let events = world.journal[before..].iter().map(|it| &it.event);
    let kinds: Vec<&str> = events.map(Event::kind).collect();
    assert_eq!(kinds, ["item-moved", "item-moved"]);
}
