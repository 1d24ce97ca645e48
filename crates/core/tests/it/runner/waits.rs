//! When the loop asks commands that items wait for, and when it is woken.

use jiff::{SignedDuration, Timestamp};
use piton_core::policy::Limits;
use piton_core::run::Pause;
use piton_core::run_loop::{ASKED_AT_ONCE, Effect, Input, RunLoopOptions, WaitAnswer};
use piton_core::wait::Wait;
use piton_core::{Command, Edit, ItemState, Node, RunState, Verb};

use super::{Bench, over};
use crate::world::{World, a_wait, node};
use piton_core::command::EditAuthor;

/// What the loop wants until it rests: the commands that it asks, agents that it
/// starts, and when it is to be woken last.
#[derive(Debug, Default, PartialEq, Eq)]
struct Rest {
    asks: Vec<(Node, Wait)>,
    agents: Vec<Node>,
    wake: Option<Timestamp>,
    ended: Vec<Node>,
    is_over: bool,
}

impl Rest {
    fn asked(&self) -> Vec<&str> {
        self.asks.iter().map(|(node, _)| node.as_str()).collect()
    }
}

/// Carries out looks and commits until nothing is left to be done.
fn rest(bench: &mut Bench, effects: Vec<Effect>) -> Rest {
    rest_with(bench, effects, false)
}

fn rest_with(bench: &mut Bench, effects: Vec<Effect>, pause_file: bool) -> Rest {
    let mut effects = std::collections::VecDeque::from(effects);
    let mut rest = Rest::default();
    for _ in 0..200 {
        let Some(effect) = effects.pop_front() else {
            return rest;
        };
        let input = match effect {
            Effect::Look => Input::Looked {
                attempt: bench.world.fresh_attempt(),
                events: bench.news(),
                pause_file,
            },
            Effect::Commit(command) => match bench.world.commit(&command) {
                Ok(_) => Input::Committed(bench.news()),
                Err(refusal) => Input::Refused(refusal),
            },
            Effect::AskWait { node, wait } => {
                rest.asks.push((node, wait));
                continue;
            }
            Effect::WaitUntil(time) | Effect::WakeAt(time) => {
                rest.wake = Some(time);
                continue;
            }
            Effect::EndAsking { node } => {
                rest.ended.push(node);
                continue;
            }
            Effect::StartAgent { node, .. } => {
                rest.agents.push(node);
                continue;
            }
            Effect::Finish(_) => {
                rest.is_over = true;
                continue;
            }
            other => panic!("{other:?}"),
        };
        effects.extend(bench.step(input));
    }
    panic!("the loop spins");
}

fn first(bench: &mut Bench) -> Rest {
    rest(bench, vec![Effect::Look])
}

fn says(bench: &mut Bench, at: &str, answer: WaitAnswer) -> Rest {
    let effects = bench.step(Input::WaitAnswered {
        node: node(at),
        answer,
    });
    rest(bench, effects)
}

fn no() -> WaitAnswer {
    WaitAnswer::No { printed: None }
}

/// The time comes for which the loop wanted to be woken, or another one.
fn time(bench: &mut Bench, at: Timestamp) -> Rest {
    bench.world.now = at;
    let effects = bench.step(Input::Time);
    rest(bench, effects)
}

fn after(bench: &Bench, seconds: i64) -> Timestamp {
    bench.world.now + SignedDuration::from_secs(seconds)
}

#[test]
fn a_wait_for_a_time_is_sat_out() {
    let mut bench = Bench::new("a wait=600");
    let end = after(&bench, 600);
    let rested = first(&mut bench);
    assert_eq!((rested.wake, rested.asked()), (Some(end), vec![]));
    assert_eq!(bench.world.item("a").state, ItemState::Waiting);
    assert_eq!(time(&mut bench, end).agents, [node("a")]);
}

/// A clock that was set forward, or a machine that slept.
#[test]
fn a_time_that_is_long_over_ends_a_wait_at_once() {
    let mut bench = Bench::new("a wait=600");
    first(&mut bench);
    let later = after(&bench, 100_000);
    assert_eq!(time(&mut bench, later).agents, [node("a")]);
    let mut world = World::planned("a wait=600");
    world.pass(1_000);
    let mut bench = Bench::over(world, Limits::default(), RunLoopOptions::default());
    assert_eq!(first(&mut bench).agents, [node("a")]);
}

#[test]
fn a_command_is_asked_at_once_and_then_at_its_pace() {
    let mut bench = Bench::new("a wait=ok");
    assert_eq!(first(&mut bench).asked(), ["a"]);
    let next = after(&bench, 30);
    let events = bench.world.journal.len();
    let rested = says(&mut bench, "a", no());
    assert_eq!((rested.wake, rested.asked()), (Some(next), vec![]));
    // Nothing is due.
    let soon = after(&bench, 29);
    assert_eq!(time(&mut bench, soon).asked(), Vec::<&str>::new());
    assert_eq!(time(&mut bench, next).asked(), ["a"]);
    assert_eq!(bench.world.journal.len(), events, "a no leaves no event");
    assert_eq!(says(&mut bench, "a", WaitAnswer::Yes).agents, [node("a")]);
}

/// What was set back says nothing of when it was asked.
#[test]
fn a_clock_that_is_set_back_does_not_stop_the_asking() {
    let mut bench = Bench::new("a wait=ok");
    first(&mut bench);
    says(&mut bench, "a", no());
    let before = after(&bench, -1_000);
    assert_eq!(time(&mut bench, before).asked(), ["a"]);
}

#[test]
fn a_command_with_a_time_is_asked_a_last_time_and_then_a_person() {
    let mut bench = Bench::new("a wait=ok,70");
    let end = after(&bench, 70);
    assert_eq!(first(&mut bench).asked(), ["a"]);
    for _ in 0..2 {
        let next = after(&bench, 30).min(end);
        let rested = says(&mut bench, "a", no());
        assert_eq!(rested.wake, Some(next));
        assert_eq!(time(&mut bench, next).asked(), ["a"]);
    }
    assert_eq!(says(&mut bench, "a", no()).wake, Some(end));
    assert_eq!(time(&mut bench, end).asked(), ["a"]);
    assert!(says(&mut bench, "a", no()).is_over);
    assert_eq!(bench.world.state(), RunState::Waiting);
    bench.world.decide(Verb::Retry, None);

    let world = std::mem::replace(&mut bench.world, World::empty());
    let mut bench = Bench::over(world, Limits::default(), RunLoopOptions::default());
    assert_eq!(first(&mut bench).asked(), ["a"]);
    let next = after(&bench, 30);
    assert_eq!(
        says(&mut bench, "a", no()).wake,
        Some(next),
        "no time ends it"
    );
}

#[test]
fn a_command_that_cannot_be_run_is_not_asked_again() {
    let mut bench = Bench::new("a wait=ok,600");
    assert_eq!(first(&mut bench).asked(), ["a"]);
    let rested = says(&mut bench, "a", WaitAnswer::NotRun { printed: None });
    assert_eq!((rested.asked(), rested.is_over), (vec![], true));
    assert_eq!(bench.world.state(), RunState::Waiting);
}

#[test]
fn a_runner_that_takes_over_asks_at_once() {
    let mut bench = Bench::new("a wait=ok");
    first(&mut bench);
    says(&mut bench, "a", no());
    let world = std::mem::replace(&mut bench.world, World::empty());
    let mut bench = Bench::over(world, Limits::default(), RunLoopOptions::default());
    assert_eq!(first(&mut bench).asked(), ["a"]);
}

#[test]
fn what_is_ready_goes_on_and_the_asking_with_it() {
    let mut bench = Bench::new("in any order:\na wait=ok\nb");
    let rested = first(&mut bench);
    assert_eq!(rested.agents, [node("b")]);
    assert_eq!(rested.asked(), ["a"]);
    let next = after(&bench, 30);
    let rested = says(&mut bench, "a", no());
    assert_eq!((rested.wake, rested.asked()), (Some(next), vec![]));
    assert_eq!(time(&mut bench, next).asked(), ["a"]);
    // It is noted at once, and begun when there is room.
    assert_eq!(says(&mut bench, "a", WaitAnswer::Yes).agents, []);
    assert_eq!(bench.world.item("a").state, ItemState::Ready);
}

/// The file that asks for a pause holds back what was answered: nobody is asked the
/// same again for it.
#[test]
fn beside_an_agent_a_pause_file_keeps_an_answer() {
    let says = |bench: &mut Bench, answer, pause_file| {
        let node = node("a");
        let effects = bench.step(Input::WaitAnswered { node, answer });
        rest_with(bench, effects, pause_file)
    };
    for (wait, answer) in [("ok", WaitAnswer::Yes), ("ok,1", no())] {
        let mut bench = Bench::new(&format!("in any order:\na wait={wait}\nb"));
        let rested = first(&mut bench);
        assert_eq!(
            (rested.asked(), rested.agents.len()),
            (vec!["a"], 1),
            "{wait}"
        );
        bench.world.pass(1);
        let rested = says(&mut bench, answer.clone(), true);
        assert_eq!(rested.asked(), Vec::<&str>::new(), "{wait}");
        bench.world.pass(60);
        let effects = bench.step(Input::Time);
        assert_eq!(rest_with(&mut bench, effects, true).asks, [], "{wait}");
        let stands = |bench: &Bench| bench.world.item("a").work.waited;
        let before = stands(&bench);
        // It is stored when the file is gone.
        let effects = bench.step(Input::PauseFile);
        assert_eq!(rest(&mut bench, effects).asks, [], "{wait}");
        assert_ne!(stands(&bench), before, "{wait}");
    }
}

/// However many commands are due.
#[test]
fn a_pause_file_holds_while_commands_are_overdue() {
    let lines = (0..ASKED_AT_ONCE + 1).map(|nth| format!("s{nth} wait=ok\n"));
    let text: String = std::iter::once("in any order:\n".to_owned())
        .chain(lines)
        .collect();
    let mut bench = Bench::new(&text);
    assert_eq!(first(&mut bench).asks.len(), ASKED_AT_ONCE);
    let effects = bench.step(Input::PauseFile);
    assert!(rest_with(&mut bench, effects, true).is_over);
    assert_eq!(bench.world.state(), RunState::Paused);
}

#[test]
fn a_thousand_waits_have_one_timer() {
    let lines = (0..1_000).map(|nth| format!("s{nth} wait={}\n", 600 + nth));
    let text: String = std::iter::once("in any order:\n".to_owned())
        .chain(lines)
        .collect();
    let mut world = World::planned(&text);
    world.thorough = false;
    let mut bench = Bench::over(world, Limits::default(), RunLoopOptions::default());
    let end = after(&bench, 600);
    let before = bench.world.journal.len();
    let attempt = bench.world.fresh_attempt();
    let effects = bench.step(Input::Looked {
        attempt,
        events: Vec::new(),
        pause_file: false,
    });
    assert_eq!(effects.len(), 1, "one command begins them all");
    let rested = rest(&mut bench, effects);
    assert_eq!(bench.world.journal.len(), before + 1_000);
    assert_eq!(rested.wake, Some(end));
    assert!(rested.asks.is_empty());
}

#[test]
fn a_few_commands_are_asked_at_once_and_each_has_its_turn() {
    let lines = (0..10).map(|nth| format!("s{nth} wait=ok\n"));
    let text: String = std::iter::once("in any order:\n".to_owned())
        .chain(lines)
        .collect();
    let mut bench = Bench::new(&text);
    let rested = first(&mut bench);
    let mut open: std::collections::VecDeque<Node> =
        rested.asks.into_iter().map(|(node, _)| node).collect();
    assert_eq!(open.len(), ASKED_AT_ONCE);
    let mut asked = open.clone();
    while let Some(node) = open.pop_front() {
        bench.world.pass(1);
        let rested = says(&mut bench, node.as_str(), no());
        assert!(rested.asks.len() <= 1);
        let nodes = rested.asks.into_iter().map(|(node, _)| node);
        let nodes: Vec<Node> = nodes.collect();
        open.extend(nodes.clone());
        asked.extend(nodes);
    }
    let mut once: Vec<Node> = asked.iter().cloned().collect();
    once.sort();
    once.dedup();
    assert_eq!((asked.len(), once.len()), (10, 10));
}

#[test]
fn the_time_box_bounds_a_wait() {
    let limits = Limits {
        time_box_s: Some(300),
        ..Limits::default()
    };
    for wait in ["600", "ok"] {
        let world = World::planned(&format!("a wait={wait}"));
        let mut bench = Bench::over(world, limits.clone(), RunLoopOptions::default());
        let end = after(&bench, 300);
        first(&mut bench);
        bench.world.now = after(&bench, 290);
        let rested = match wait {
            "ok" => says(&mut bench, "a", no()),
            _ => first(&mut bench),
        };
        assert_eq!(rested.wake, Some(end), "{wait}");
        assert!(time(&mut bench, end).is_over, "{wait}");
        assert!(matches!(
            bench.world.run_row().pause,
            Some(Pause::Limit { .. })
        ));
        assert_eq!(bench.world.item("a").state, ItemState::Waiting);
    }
}

#[test]
fn a_pause_a_stop_and_a_signal_end_a_wait() {
    type Way = fn(&mut Bench) -> Input;
    let ways: [(Way, RunState); 3] = [
        (
            |bench| {
                let run = bench.world.run;
                bench.world.ok(Command::AskPause { run });
                Input::Changed(bench.news())
            },
            RunState::Paused,
        ),
        (
            |bench| {
                let run = bench.world.run;
                bench.world.ok(Command::AskStop { run });
                Input::Changed(bench.news())
            },
            RunState::Interrupted,
        ),
        (
            |_| Input::Stop {
                reason: "SIGTERM".to_owned(),
            },
            RunState::Interrupted,
        ),
    ];
    for (way, state) in ways {
        for wait in ["600", "ok"] {
            let mut bench = Bench::new(&format!("a wait={wait}"));
            first(&mut bench);
            let input = way(&mut bench);
            let effects = bench.step(input);
            assert!(rest(&mut bench, effects).is_over, "{wait}");
            assert_eq!(bench.world.state(), state);
            // An answer that comes later says nothing any more.
            assert_eq!(says(&mut bench, "a", WaitAnswer::Yes), Rest::default());
        }
    }
}

#[test]
fn an_answer_to_a_command_that_was_changed_meanwhile_is_dropped() {
    let mut bench = Bench::new("a wait=ok");
    first(&mut bench);
    let edits = vec![Edit::SetWait {
        node: node("a"),
        wait: Some(a_wait("other")),
    }];
    bench.world.ok(Command::TakeEdits {
        run: bench.world.run,
        token: None,
        file: "PROGRESS.yaml".to_owned(),
        edits,
        word: EditAuthor::File,
    });
    let input = Input::Changed(bench.news());
    let effects = bench.step(input);
    assert_eq!(rest(&mut bench, effects).ended, [node("a")]);
    let rested = says(&mut bench, "a", WaitAnswer::Yes);
    assert_eq!(rested.agents, []);
    assert_eq!(rested.asks, [(node("a"), a_wait("other"))]);
}

#[test]
fn a_retry_asks_again_at_once() {
    let mut bench = Bench::new("a wait=ok");
    first(&mut bench);
    says(&mut bench, "a", no());
    bench.world.retry("a");
    let input = Input::Changed(bench.news());
    let effects = bench.step(input);
    assert_eq!(rest(&mut bench, effects).asked(), ["a"]);
}

#[test]
fn a_plan_of_waits_and_steps_is_worked_through() {
    let mut bench = Bench::new("a wait=ok\n  s1\nb wait=600");
    assert_eq!(first(&mut bench).asked(), ["a"]);
    let effects = bench.step(Input::WaitAnswered {
        node: node("a"),
        answer: WaitAnswer::Yes,
    });
    let effect = bench.drive(effects);
    let effect = bench.completes(effect);
    let Effect::WaitUntil(end) = effect else {
        panic!("{effect:?}")
    };
    bench.world.now = end;
    let effects = bench.step(Input::Time);
    let effect = bench.drive(effects);
    assert_eq!(bench.completes(effect), over());
    assert_eq!(bench.world.state(), RunState::Done);
}

/// A person takes an item for ten minutes.
fn take(bench: &mut Bench, at: &str) {
    bench.world.ok(Command::TakeEdits {
        run: bench.world.run,
        token: None,
        file: "list".to_owned(),
        edits: vec![Edit::Take {
            node: node(at),
            for_s: Some(600),
        }],
        word: EditAuthor::Typed {
            through: "piton take".to_owned(),
            why: None,
        },
    });
}

#[test]
fn a_runner_begins_another_item_than_the_one_that_a_person_took() {
    let mut bench = Bench::new("in any order:\na\nb");
    take(&mut bench, "a");
    assert_eq!(first(&mut bench).agents, [node("b")]);
}

#[test]
fn a_runner_with_nothing_else_to_do_begins_what_was_taken_when_its_time_is_over() {
    let mut bench = Bench::new("a");
    take(&mut bench, "a");
    let end = after(&bench, 600);
    let rested = first(&mut bench);
    assert_eq!((rested.wake, rested.agents), (Some(end), vec![]));
    assert_eq!(time(&mut bench, end).agents, [node("a")]);
}
