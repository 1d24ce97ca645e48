//! Which command is accepted in which state, and where it leads: case 11.

use piton_core::attempt::Report;
use piton_core::gate::GateReport;

use piton_core::policy::Limits;
use piton_core::run::Pause;
use piton_core::{Command, ItemState, Outcome, Refusal, Role, RunState};

use crate::world::{World, needs_human, node, retry_item, skip_item, start_attempt, start_run};

const PLAN: &str = "
build break
  s1
release
  s1
  s2
";

/// Every way in which a run can stand, by a name of its own.
const STANDS: [&str; 11] = [
    "new",
    "running",
    "running, runner dead",
    "interrupted",
    "paused by a person",
    "paused by a file",
    "paused at a breakpoint",
    "paused by a limit",
    "waiting",
    "blocked",
    "done",
];

/// A run that stands like that, and the token of its runner (0 without one).
fn standing(stand: &str) -> (World, u64) {
    if stand == "new" {
        return (World::planned(PLAN), 0);
    }
    let (mut world, token) = World::running(PLAN);
    let run = world.run;
    let mut pause = |pause| world.ok(Command::PauseRun { run, token, pause });
    match stand {
        "running" => {}
        "running, runner dead" => world.holder_gone = true,
        "interrupted" => {
            let reason = "stopped".to_owned();
            world.ok(Command::InterruptRun { run, token, reason });
        }
        "paused by a person" => {
            pause(Pause::Person {
                by: "ada".to_owned(),
            });
        }
        "paused by a file" => {
            pause(Pause::File);
        }
        "paused by a limit" => {
            pause(Pause::Limit {
                limit: "max-iterations (5)".to_owned(),
            });
        }
        "paused at a breakpoint" => world.complete(token, "build/s1"),
        "waiting" => world.work(token, "build/s1", needs_human("which one?")),
        "blocked" => world.fail(token, "build/s1"),
        "done" => {
            world.skip("build");
            world.skip("release");
        }
        _ => panic!("no run stands like `{stand}`"),
    }
    (world, token)
}

/// Where a command leads, in words: the new state, or the refusal's kind.
fn outcome(world: &mut World, command: &Command) -> String {
    match world.commit(command) {
        Ok(_) => world.state().as_str().to_owned(),
        Err(Refusal::Busy { .. }) => "busy".to_owned(),
        Err(Refusal::Fenced { .. }) => "fenced".to_owned(),
        Err(Refusal::RunState { .. } | Refusal::ItemState { .. }) => "no".to_owned(),
        Err(refusal) => format!("{refusal:?}"),
    }
}

#[track_caller]
fn check_people(what: &str, command: impl Fn(&World) -> Command, expected: [&str; 11]) {
    for (stand, expected) in STANDS.into_iter().zip(expected) {
        let (mut world, _) = standing(stand);
        let command = command(&world);
        assert_eq!(outcome(&mut world, &command), expected, "{what}: {stand}");
    }
}

#[test]
fn case_11_a_run_is_started_when_it_is_new_or_stopped_or_at_a_limit() {
    let heard = [
        "running", "busy", "running", "running", "no", "no", "no", "running", "no", "no", "no",
    ];
    for (stand, expected) in STANDS.into_iter().zip(heard) {
        let (mut world, token) = standing(stand);
        let run = world.run;
        if world.state() != RunState::Running && token > 0 {
            world.ok(Command::ReleaseRun { run, token });
        }
        let start = start_run(run, Limits::default());
        assert_eq!(outcome(&mut world, &start), expected, "{stand}");
    }
}

fn take_run(world: &World) -> Command {
    Command::TakeRun {
        run: world.run,
        owner: "process 9 on ada".to_owned(),
    }
}

#[test]
fn case_11_a_run_without_a_runner_is_taken_to_settle_it_and_stays_as_it_is() {
    let heard = [
        "new",
        "busy",
        "interrupted",
        "interrupted",
        "paused",
        "paused",
        "waiting",
        "paused",
        "waiting",
        "blocked",
        "done",
    ];
    for (stand, expected) in STANDS.into_iter().zip(heard) {
        let (mut world, token) = standing(stand);
        let run = world.run;
        if world.state() != RunState::Running && token > 0 {
            let take = take_run(&world);
            assert_eq!(outcome(&mut world, &take), "busy", "{stand}");
            world.ok(Command::ReleaseRun { run, token });
        }
        let take = take_run(&world);
        assert_eq!(outcome(&mut world, &take), expected, "{stand}");
    }
}

#[test]
fn case_11_what_a_dead_runner_left_is_ended_by_whoever_took_the_run_and_steered_at_once() {
    for wish in [skip_item, retry_item] {
        let (mut world, token) = World::running(&PLAN.replace(" break", ""));
        let run = world.run;
        let attempt = world.fresh_attempt();
        let start = start_attempt(run, token, attempt, "build/s1", Role::Worker);
        world.ok(start);
        world.holder_gone = true;
        let take = take_run(&world);
        world.ok(take);
        world.holder_gone = false;
        // A late word of the runner that was thought dead changes nothing.
        let done = Report::with_outcome(Outcome::Completed);
        let late = world.end_attempt(token, attempt, "build/s1", done);
        assert_eq!(outcome(&mut world, &late), "fenced");
        let token = token + 1;
        let again = world.fresh_attempt();
        let begin = start_attempt(run, token, again, "release/s1", Role::Worker);
        assert_eq!(outcome(&mut world, &begin), "no", "nothing is begun");
        let report = Report::with_outcome(Outcome::Interrupted);
        let end = world.end_attempt(token, attempt, "build/s1", report);
        assert_eq!(outcome(&mut world, &end), "interrupted");
        world.ok(Command::ReleaseRun { run, token });
        let steered = wish(run, "build/s1");
        assert_eq!(outcome(&mut world, &steered), "interrupted");
        assert!(world.item("build/s1").attempt.is_none());
    }
}

#[test]
fn case_11_what_was_broken_off_is_tried_again_and_what_nobody_began_is_not() {
    let (mut world, token) = World::running(PLAN);
    let run = world.run;
    world.work(
        token,
        "build/s1",
        Report::with_outcome(Outcome::Interrupted),
    );
    assert_eq!(world.item("build/s1").state, ItemState::Ready);
    let again = Command::RetryItem {
        run,
        node: node("build/s1"),
        why: Some("use port 5433".to_owned()),
    };
    assert_eq!(outcome(&mut world, &again), "running");
    let answer = world.item("build/s1").people.answer.clone();
    assert_eq!(answer.as_deref(), Some("use port 5433"));
    let untried = retry_item(run, "release/s1");
    assert_eq!(outcome(&mut world, &untried), "no");
}

#[test]
fn case_11_a_run_is_resumed_when_it_is_paused_or_stopped() {
    check_people(
        "resume",
        |world| Command::ResumeRun { run: world.run },
        [
            "no",
            "busy",
            "interrupted",
            "interrupted",
            "interrupted",
            "interrupted",
            "interrupted",
            "interrupted",
            "no",
            "no",
            "no",
        ],
    );
}

#[test]
fn case_11_a_run_is_paused_when_it_is_new_or_stopped_and_asked_to_when_it_is_running() {
    check_people(
        "pause",
        |world| Command::AskPause { run: world.run },
        [
            "paused", "running", "paused", "paused", "no", "no", "no", "no", "no", "no", "no",
        ],
    );
}

#[test]
fn case_11_only_a_running_run_is_stopped_unless_a_runner_stays_with_it() {
    let stop = |world: &World| Command::AskStop { run: world.run };
    check_people(
        "stop, the runner stays",
        stop,
        [
            "no",
            "running",
            "interrupted",
            "interrupted",
            "paused",
            "paused",
            "waiting",
            "paused",
            "waiting",
            "blocked",
            "done",
        ],
    );
    for stand in STANDS.into_iter().skip(3) {
        let (mut world, token) = standing(stand);
        let run = world.run;
        world.ok(Command::ReleaseRun { run, token });
        let stop = stop(&world);
        assert_eq!(outcome(&mut world, &stop), "no", "{stand}");
    }
}

#[test]
fn case_11_an_item_is_left_out_in_every_state_but_done() {
    check_people(
        "skip",
        |world| skip_item(world.run, "release/s2"),
        [
            "new",
            "running",
            "interrupted",
            "interrupted",
            "paused",
            "paused",
            "waiting",
            "paused",
            "waiting",
            "blocked",
            "no",
        ],
    );
}

#[test]
fn case_11_what_failed_is_tried_again_wherever_the_run_stands() {
    for stand in ["waiting", "blocked"] {
        let (mut world, _) = standing(stand);
        world.retry("build/s1");
        assert_eq!(world.state(), RunState::Interrupted, "{stand}");
        assert_eq!(world.item("build/s1").state, ItemState::Ready);
    }
    let (mut world, _) = standing("done");
    let again = retry_item(world.run, "build/s1");
    assert_eq!(outcome(&mut world, &again), "interrupted");
}

/// What a runner may say, with the states in which it is heard.
fn runner_commands(world: &mut World, token: u64) -> Vec<(Command, &'static [&'static str])> {
    const RUNNING: &[&str] = &["running", "running, runner dead"];
    let run = world.run;
    let attempt = world.fresh_attempt();
    let at = node("build/s1");
    vec![
        (
            start_attempt(run, token, attempt, "build/s1", Role::Worker),
            RUNNING,
        ),
        (
            Command::PauseRun {
                run,
                token,
                pause: Pause::File,
            },
            RUNNING,
        ),
        (
            Command::InterruptRun {
                run,
                token,
                reason: "asked".to_owned(),
            },
            RUNNING,
        ),
        (Command::ContinueRun { run, token }, &["interrupted"]),
        (Command::ReleaseRun { run, token }, &STANDS[1..]),
        (
            Command::StartGate {
                run,
                token,
                node: at.clone(),
            },
            &[],
        ),
        (
            Command::EndGate {
                run,
                token,
                node: at.clone(),
                fence: 0,
                report: GateReport::default(),
                recovery: None,
            },
            &[],
        ),
        (
            Command::StartCommit {
                run,
                token,
                node: at.clone(),
                head: None,
            },
            &[],
        ),
        (
            Command::EndCommit {
                run,
                token,
                node: at,
                fence: 0,
                result: Ok(None),
            },
            &[],
        ),
        (
            world.end_attempt(
                token,
                attempt,
                "build/s1",
                Report::with_outcome(Outcome::Completed),
            ),
            &[],
        ),
    ]
}

#[test]
fn case_11_a_runner_works_only_while_the_run_is_running() {
    for stand in STANDS {
        let commands = {
            let (mut world, token) = standing(stand);
            runner_commands(&mut world, token).len()
        };
        for index in 0..commands {
            let (mut world, token) = standing(stand);
            let (command, heard) = runner_commands(&mut world, token).swap_remove(index);
            let accepted = world.commit(&command).is_ok();
            assert_eq!(accepted, heard.contains(&stand), "{stand}: {command:?}");
        }
    }
}

#[test]
fn a_runner_with_an_old_token_is_refused_whatever_it_says() {
    let (mut world, old) = World::running(PLAN);
    let attempt = world.begin(old, "build/s1");
    world.holder_gone = true;
    let new = world.start();
    assert!(new > old);
    let mut commands: Vec<_> = runner_commands(&mut world, old)
        .into_iter()
        .map(|(command, _)| command)
        .collect();
    commands.push(world.end_attempt(
        old,
        attempt,
        "build/s1",
        Report::with_outcome(Outcome::Completed),
    ));
    for command in commands {
        assert_eq!(outcome(&mut world, &command), "fenced", "{command:?}");
    }
    assert_eq!(world.item("build/s1").attempt, Some(attempt));
}

#[test]
fn a_runner_that_gave_its_run_back_is_refused_whatever_it_says() {
    let (mut world, token) = World::running(PLAN);
    let run = world.run;
    world.ok(Command::ReleaseRun { run, token });
    for (command, _) in runner_commands(&mut world, token) {
        assert_eq!(outcome(&mut world, &command), "fenced", "{command:?}");
    }
}

// Items.

/// A run whose node `build/s1` is in that state, and the runner's token.
fn with_item(state: ItemState) -> (World, u64) {
    let text = match state {
        ItemState::Pending => "build\n  s1 after=release\n  s2\nrelease",
        _ => "build\n  s1\n  s2\nrelease",
    };
    let (mut world, token) = World::running(text);
    match state {
        ItemState::Pending | ItemState::Ready => {}
        ItemState::Working => {
            world.begin(token, "build/s1");
        }
        ItemState::Waiting => world.work(token, "build/s1", needs_human("how?")),
        ItemState::Done => world.complete(token, "build/s1"),
        ItemState::Failed => world.fail(token, "build/s1"),
        ItemState::Blocked => world.work(token, "build/s1", Report::with_outcome(Outcome::Blocked)),
        ItemState::Skipped => world.skip("build/s1"),
        ItemState::Dropped => {
            let edit = piton_core::Edit::SetPresent {
                node: node("build/s1"),
                present: false,
            };
            let run = world.run;
            world.ok(Command::TakeEdits {
                run,
                token: None,
                file: "PROGRESS.yaml".to_owned(),
                edits: vec![edit],
                word: piton_core::command::EditAuthor::Hand {
                    by: "ada".to_owned(),
                    brought: Vec::new(),
                },
            });
        }
    }
    assert_eq!(world.item("build/s1").state, state);
    (world, token)
}

#[track_caller]
fn check_item(
    what: &str,
    command: impl Fn(&World) -> Command,
    expected: [(ItemState, Option<ItemState>); 9],
) {
    for (before, after) in expected {
        let (mut world, _) = with_item(before);
        let command = command(&world);
        let result = world.commit(&command);
        let found = result.is_ok().then(|| world.item("build/s1").state);
        assert_eq!(found, after, "{what}: {before}: {result:?}");
    }
}

#[test]
fn case_11_only_what_is_not_finished_can_be_left_out() {
    use ItemState::{Blocked, Done, Dropped, Failed, Pending, Ready, Skipped, Waiting, Working};
    check_item(
        "skip",
        |world| skip_item(world.run, "build/s1"),
        [
            (Pending, Some(Skipped)),
            (Ready, Some(Skipped)),
            (Working, Some(Working)),
            (Waiting, Some(Skipped)),
            (Failed, Some(Skipped)),
            (Blocked, Some(Skipped)),
            (Skipped, None),
            (Dropped, None),
            (Done, None),
        ],
    );
}

#[test]
fn case_11_what_failed_waits_was_left_out_or_is_done_is_tried_again() {
    use ItemState::{Blocked, Done, Dropped, Failed, Pending, Ready, Skipped, Waiting, Working};
    check_item(
        "retry",
        |world| retry_item(world.run, "build/s1"),
        [
            (Pending, None),
            (Ready, None),
            (Working, None),
            (Waiting, Some(Ready)),
            (Failed, Some(Ready)),
            (Blocked, Some(Ready)),
            (Skipped, Some(Ready)),
            (Dropped, Some(Ready)),
            (Done, Some(Ready)),
        ],
    );
}

#[test]
fn case_11_only_what_is_ready_is_started() {
    use ItemState::{Blocked, Done, Dropped, Failed, Pending, Ready, Skipped, Waiting, Working};
    for state in [
        Pending, Ready, Working, Waiting, Done, Failed, Skipped, Blocked, Dropped,
    ] {
        let (mut world, token) = with_item(state);
        let attempt = world.fresh_attempt();
        let command = start_attempt(world.run, token, attempt, "build/s1", Role::Worker);
        assert_eq!(world.commit(&command).is_ok(), state == Ready, "{state}");
    }
}

#[test]
fn an_agent_is_never_started_on_what_holds_others() {
    let (mut world, token) = World::running(PLAN);
    for role in [Role::Worker, Role::GateFix] {
        let attempt = world.fresh_attempt();
        let command = start_attempt(world.run, token, attempt, "build", role);
        assert!(matches!(world.refused(command), Refusal::ItemState { .. }));
    }
}

#[test]
fn what_does_not_exist_is_named_in_the_refusal() {
    let (mut world, token) = World::running(PLAN);
    let run = world.run;
    for command in [
        skip_item(run, "build/s9"),
        retry_item(run, "build/s9"),
        Command::StartGate {
            run,
            token,
            node: node("build/s9"),
        },
    ] {
        assert_eq!(
            world.refused(command),
            Refusal::NoSuchItem(node("build/s9"))
        );
    }
    let other = piton_core::RunId(uuid::Uuid::from_u128(99));
    assert_eq!(
        world.refused(Command::ResumeRun { run: other }),
        Refusal::NoSuchRun(other)
    );
}
