//! What a person is notified of: each thing once, however often whoever sends it dies.

use piton_core::event::NotificationEvent;
use piton_core::lane::{LaneTerms, TargetRow};
use piton_core::notification::{
    NotificationKind, NotificationSubject, due_notifications, last_failure,
};
use piton_core::policy::Limits;
use piton_core::run::Pause;
use piton_core::{Command, Event, RunId, Verb};

use crate::merges::enter;
use crate::world::{World, needs_human, start_run, tried_once};

/// Starts an invocation of whose end somebody wants to know.
fn started(world: &mut World) -> u64 {
    let start = match start_run(world.run, Limits::default()) {
        Command::StartRun {
            run,
            owner,
            limits,
            claims,
            flags,
            settles,
            notify: _,
        } => Command::StartRun {
            run,
            owner,
            limits,
            claims,
            flags,
            settles,
            notify: true,
        },
        other => other,
    };
    world.ok(start);
    world.run_row().fence
}

fn running(plan: &str) -> (World, u64) {
    let mut world = World::with_policy(plan, tried_once());
    let token = started(&mut world);
    (world, token)
}

/// What is due, as words: its kind, and whether it is sent again.
fn due(world: &World) -> Vec<(NotificationKind, bool)> {
    let due = due_notifications(&world.tables, &NotificationKind::ALL);
    due.iter().map(|due| (due.kind, due.again)).collect()
}

fn first(world: &World) -> NotificationSubject {
    let due = due_notifications(&world.tables, &NotificationKind::ALL);
    due.first().expect("something is due").subject.clone()
}

/// Starts the first that is due; whether anything came of it.
fn start(world: &mut World, subject: &NotificationSubject) -> Option<bool> {
    let events = world.ok(Command::StartNotification(subject.clone()));
    events.iter().find_map(|recorded| match &recorded.event {
        Event::Notification(NotificationEvent::Started { again, .. }) => Some(*again),
        _ => None,
    })
}

fn end(world: &mut World, subject: &NotificationSubject, error: Option<&str>) -> usize {
    let command = Command::EndNotification {
        subject: subject.clone(),
        error: error.map(str::to_owned),
    };
    world.ok(command).len()
}

fn failure(world: &World) -> Option<&str> {
    last_failure(world.tables.runs())?.error.as_deref()
}

use NotificationKind::{Block, Budget, End, Limit, Question};

#[test]
fn a_question_is_due_once_and_again_only_where_it_was_cut_short() {
    let (mut world, token) = running("a\nb");
    world.work(token, "a", needs_human("which port?"));
    assert_eq!(due(&world), [(Question, false)]);
    let question = first(&world);
    assert_eq!(start(&mut world, &question), Some(false));
    // Whoever sent it died.
    assert_eq!(due(&world), [(Question, true)]);
    assert_eq!(start(&mut world, &question), Some(true));
    assert_eq!(end(&mut world, &question, None), 1);
    assert_eq!(due(&world), []);
    assert_eq!(start(&mut world, &question), None);
    assert_eq!(end(&mut world, &question, None), 0, "it has one outcome");
    assert_eq!(world.folded(), world.tables);
}

#[test]
fn what_was_answered_meanwhile_is_no_news() {
    let (mut world, token) = running("a");
    world.work(token, "a", needs_human("which port?"));
    let question = first(&world);
    world.decide(Verb::Answer, Some("5433"));
    assert_eq!(due(&world), []);
    assert_eq!(start(&mut world, &question), None);
}

#[test]
fn what_was_answered_while_it_was_sent_still_comes_to_its_end() {
    let (mut world, token) = running("a");
    world.work(token, "a", needs_human("which port?"));
    let question = first(&world);
    start(&mut world, &question);
    world.decide(Verb::Answer, Some("5433"));
    assert_eq!(end(&mut world, &question, Some("it failed")), 1);
    assert_eq!(failure(&world), Some("it failed"));
}

#[test]
fn an_item_that_failed_for_good_is_told_from_a_question() {
    let (mut world, token) = running("a");
    world.fail(token, "a");
    assert_eq!(due(&world), [(Block, false)]);
    let wanted = due_notifications(&world.tables, &[Question, End]);
    assert_eq!(wanted, [], "only what somebody wants to know is due");
}

/// Ends an invocation so, and gives the run back.
fn ended(how: Option<Pause>) -> World {
    let (mut world, token) = running("a\nb");
    let run = world.run;
    match how {
        Some(pause) => {
            world.ok(Command::PauseRun { run, token, pause });
        }
        None => {
            world.complete(token, "a");
            world.complete(token, "b");
        }
    }
    assert_eq!(due(&world), [], "its runner is there");
    world.ok(Command::ReleaseRun { run, token });
    world
}

#[test]
fn an_end_is_due_when_the_last_runner_gave_the_run_back() {
    let limit = |limit: &str| {
        Some(Pause::Limit {
            limit: limit.to_owned(),
        })
    };
    let by = "ada".to_owned();
    for (how, kind) in [
        (None, End),
        (Some(Pause::Person { by }), End),
        (limit("max-iterations (5)"), Limit),
        (limit("budget ($5.00)"), Budget),
        (limit("project budget (1,000 tokens)"), Budget),
    ] {
        let mut world = ended(how.clone());
        assert_eq!(due(&world), [(kind, false)], "{how:?}");
        let subject = first(&world);
        let id = format!("{}/1", world.run);
        assert_eq!(subject.id(), id, "whoever sends it makes the same id");
        start(&mut world, &subject);
        assert_eq!(due(&world), [(kind, true)], "{how:?}");
        end(&mut world, &subject, None);
        assert_eq!(due(&world), []);
        assert_eq!(world.folded(), world.tables);
        let known = world
            .run_row()
            .notifications
            .as_ref()
            .expect("one was sent");
        assert_eq!(known.ended, [], "nothing of it stays");
    }
}

#[test]
fn the_end_of_a_runner_that_died_is_due_beside_that_of_the_next() {
    let (mut world, _) = running("a");
    world.holder_gone = true;
    let token = started(&mut world);
    let run = world.run;
    world.complete(token, "a");
    world.ok(Command::ReleaseRun { run, token });
    assert_eq!(due(&world), [(End, false), (End, false)]);
    let known = world.run_row().notifications.as_ref().expect("two ends");
    let states: Vec<_> = known.ended.iter().map(|end| end.state.as_str()).collect();
    assert_eq!(states, ["interrupted", "done"]);
}

#[test]
fn a_runner_that_leaves_others_at_work_ends_no_invocation() {
    let (mut world, holder) = running("a\nb");
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
        token: holder,
        repository: None,
        target,
    });
    enter(&mut world, holder, LaneTerms::default());
    world.ok(Command::JoinRun {
        run,
        owner: "another".to_owned(),
        lock: "lock".to_owned(),
    });
    let joined = world.run_row().fence;
    world.ok(Command::ReleaseRun { run, token: joined });
    assert_eq!(due(&world), []);
    world.ok(Command::ReleaseRun { run, token: holder });
    assert_eq!(due(&world), [(End, false)]);
}

#[test]
fn an_end_of_which_nobody_wanted_to_know_is_not_due_later() {
    let (mut world, token) = World::running("a");
    let run = world.run;
    world.complete(token, "a");
    world.ok(Command::ReleaseRun { run, token });
    assert_eq!(due(&world), []);
}

#[test]
fn a_failure_is_known_until_one_succeeds_whatever_they_are_about() {
    let (mut world, token) = running("a\nb");
    world.ok(Command::AskPerson {
        run: RunId::PROJECT,
        node: None,
        question: "tabs or blanks?".to_owned(),
        details: None,
    });
    let of_project = first(&world);
    start(&mut world, &of_project);
    end(&mut world, &of_project, Some("exit status 1"));
    assert_eq!(failure(&world), Some("exit status 1"));
    assert_eq!(due(&world), [], "a failure is not tried again");
    world.work(token, "a", needs_human("which port?"));
    let of_run = first(&world);
    start(&mut world, &of_run);
    world.pass(1);
    end(&mut world, &of_run, None);
    assert_eq!(failure(&world), None);
    assert_eq!(world.folded(), world.tables);
}
