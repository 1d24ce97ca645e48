//! Several items at once: what is started, what waits for an end, and who may
//! say how something ended.

use std::num::NonZeroUsize;

use piton_core::attempt::{Report, Usage};
use piton_core::gate::GateReport;
use piton_core::policy::Limits;
use piton_core::run::Pause;
use piton_core::run_loop::{Effect, Input, RunLoopEnding, RunLoopOptions};
use piton_core::{Command, ItemState, Outcome, Refusal, RunState};

use super::{Bench, gate_ended, limit_of, over, stop};
use crate::world::{ANY_ORDER, World, failure, node, skip_item};

fn two_at_once(plan: &str, limits: Limits) -> Bench {
    let options = RunLoopOptions {
        workers: NonZeroUsize::MIN.saturating_add(1),
        ..RunLoopOptions::default()
    };
    let world = World::planned(&format!("{ANY_ORDER}{plan}"));
    Bench::over(world, limits, options)
}

/// Answers looks and commits until the loop wants nothing more. What it wants
/// besides.
#[track_caller]
fn settle(bench: &mut Bench, effects: Vec<Effect>) -> Vec<Effect> {
    let mut queue = std::collections::VecDeque::from(effects);
    let mut wanted = Vec::new();
    for _ in 0..100 {
        let Some(effect) = queue.pop_front() else {
            return wanted;
        };
        let input = match effect {
            Effect::Look => Input::Looked {
                attempt: bench.world.fresh_attempt(),
                events: bench.news(),
                pause_file: false,
            },
            Effect::Commit(command) => match bench.world.commit(&command) {
                Ok(_) => Input::Committed(bench.news()),
                Err(refusal) => Input::Refused(refusal),
            },
            effect => {
                wanted.push(effect);
                continue;
            }
        };
        queue.extend(bench.step(input));
    }
    panic!("the loop spins");
}

fn ended(effect: &Effect, outcome: Outcome) -> Input {
    let Effect::StartAgent { attempt, node, .. } = effect else {
        panic!("{effect:?}")
    };
    Input::AgentEnded {
        attempt: *attempt,
        node: node.clone(),
        report: Box::new(Report::with_outcome(outcome)),
        recovery: None,
    }
}

#[track_caller]
fn ends(bench: &mut Bench, effect: &Effect, outcome: Outcome) -> Vec<Effect> {
    let effects = bench.step(ended(effect, outcome));
    settle(bench, effects)
}

fn started(effects: &[Effect]) -> Vec<&str> {
    let nodes = effects.iter().map(|effect| match effect {
        Effect::StartAgent { node, .. } => node.as_str(),
        effect => panic!("{effect:?}"),
    });
    nodes.collect()
}

#[test]
fn as_many_items_are_worked_on_as_there_are_workers_and_an_end_makes_room() {
    let mut bench = two_at_once("a\nb\nc\nd after=a,b", Limits::default());
    let begun = settle(&mut bench, vec![Effect::Look]);
    assert_eq!(started(&begun), ["a", "b"]);
    let next = ends(&mut bench, &begun[1], Outcome::Completed);
    assert_eq!(started(&next), ["c"]);
    assert_eq!(ends(&mut bench, &next[0], Outcome::Completed), []);
    // Only `d` is left, which waits for what is under way.
    let last = ends(&mut bench, &begun[0], Outcome::Completed);
    assert_eq!(started(&last), ["d"]);
    assert_eq!(ends(&mut bench, &last[0], Outcome::Completed), [over()]);
    assert_eq!(bench.world.state(), RunState::Done);
}

#[test]
fn an_end_that_comes_while_a_command_is_on_the_way_is_taken_in_after_it() {
    let mut bench = two_at_once("a\nb\nc", Limits::default());
    let begun = settle(&mut bench, vec![Effect::Look]);
    let on_the_way = bench.step(ended(&begun[0], Outcome::Completed));
    assert!(matches!(on_the_way[..], [Effect::Commit(_)]));
    assert_eq!(bench.step(ended(&begun[1], Outcome::Completed)), []);
    let next = settle(&mut bench, on_the_way);
    assert_eq!(started(&next), ["c"]);
    for at in ["a", "b"] {
        assert_eq!(bench.world.item(at).state, ItemState::Done, "{at}");
    }
}

#[test]
fn a_pause_and_a_limit_wait_for_all_that_is_under_way() {
    let limits = Limits {
        tasks_max: Some(2),
        ..Limits::default()
    };
    let mut bench = two_at_once("a\nb\nc", limits);
    let begun = settle(&mut bench, vec![Effect::Look]);
    assert_eq!(started(&begun), ["a", "b"]);
    assert_eq!(ends(&mut bench, &begun[0], Outcome::Completed), []);
    assert_eq!(ends(&mut bench, &begun[1], Outcome::Completed), [over()]);
    assert_eq!(limit_of(&bench), "max-tasks (2)");

    let mut bench = two_at_once("a\nb\nc", Limits::default());
    let begun = settle(&mut bench, vec![Effect::Look]);
    let run = bench.world.run;
    bench.world.ok(Command::AskPause { run });
    let news = bench.news();
    assert_eq!(bench.step(Input::Changed(news)), []);
    assert_eq!(ends(&mut bench, &begun[0], Outcome::Completed), []);
    assert_eq!(ends(&mut bench, &begun[1], Outcome::Completed), [over()]);
    let pause = bench.world.run_row().pause.clone();
    assert!(matches!(pause, Some(Pause::Person { .. })), "{pause:?}");
}

#[test]
fn a_limit_of_tasks_counts_what_failed_for_none() {
    let limits = Limits {
        tasks_max: Some(2),
        ..Limits::default()
    };
    let mut bench = two_at_once("a\nb\nc", limits);
    let begun = settle(&mut bench, vec![Effect::Look]);
    assert_eq!(ends(&mut bench, &begun[0], Outcome::Completed), []);
    let effects = bench.step(Input::AgentEnded {
        attempt: match begun[1] {
            Effect::StartAgent { attempt, .. } => attempt,
            _ => panic!("{begun:?}"),
        },
        node: node("b"),
        report: Box::new(failure(
            piton_core::classify::FailureCategory::Logic,
            "it broke",
        )),
        recovery: None,
    });
    let next = settle(&mut bench, effects);
    assert_eq!(started(&next), ["c"]);
}

#[test]
fn an_item_that_is_left_out_ends_its_own_work_only_and_the_other_one_goes_on() {
    let mut bench = two_at_once("a\nb", Limits::default());
    let begun = settle(&mut bench, vec![Effect::Look]);
    let skip = skip_item(bench.world.run, "b");
    bench.world.ok(skip);
    let news = bench.news();
    assert_eq!(bench.step(Input::Changed(news)), [stop("b")]);
    assert_eq!(bench.step(Input::Changed(Vec::new())), []);
    assert_eq!(ends(&mut bench, &begun[1], Outcome::Interrupted), []);
    assert_eq!(bench.world.item("b").state, ItemState::Skipped);
    assert_eq!(ends(&mut bench, &begun[0], Outcome::Completed), [over()]);
}

#[test]
fn a_stop_and_a_used_up_budget_end_all_agents() {
    let mut bench = two_at_once("a\nb", Limits::default());
    settle(&mut bench, vec![Effect::Look]);
    let reason = "SIGTERM".to_owned();
    let effects = bench.step(Input::Stop { reason });
    assert_eq!(effects, [stop("a"), stop("b")]);

    let limits = Limits {
        budget_tokens: Some(1_000),
        ..Limits::default()
    };
    let mut bench = two_at_once("a\nb", limits);
    let begun = settle(&mut bench, vec![Effect::Look]);
    let spent = |at: &str, tokens| Input::Spent {
        node: node(at),
        usage: Usage {
            output_tokens: Some(tokens),
            ..Usage::default()
        },
    };
    assert_eq!(bench.step(spent("a", 600)), []);
    assert_eq!(bench.runner.budget_left().tokens, Some(400));
    assert_eq!(
        bench.runner.budget_left_at_start(&node("a")).tokens,
        Some(1_000)
    );
    assert_eq!(bench.step(spent("b", 500)), [stop("a"), stop("b")]);
    assert_eq!(bench.step(spent("b", 700)), []);
    assert_eq!(ends(&mut bench, &begun[0], Outcome::Interrupted), []);
    assert_eq!(ends(&mut bench, &begun[1], Outcome::Interrupted), [over()]);
    let run = bench.world.run_row();
    assert_eq!(run.spent.spend.output_tokens, Some(1_300));
}

#[test]
fn at_a_limit_of_agents_what_needs_one_does_not_hold_up_the_check_of_another_item() {
    let budget = Limits {
        budget_tokens: Some(1_000),
        ..Limits::default()
    };
    let iterations = Limits {
        iterations_max: Some(2),
        ..Limits::default()
    };
    for limits in [budget, iterations] {
        let mut bench = two_at_once("a\nb gate=1", limits);
        let begun = settle(&mut bench, vec![Effect::Look]);
        bench.step(Input::Spent {
            node: node("a"),
            usage: Usage {
                output_tokens: Some(1_000),
                ..Usage::default()
            },
        });
        assert_eq!(ends(&mut bench, &begun[0], Outcome::Interrupted), []);
        let next = ends(&mut bench, &begun[1], Outcome::Completed);
        assert!(matches!(next[..], [Effect::RunGate { .. }]), "{next:?}");
        let effects = bench.step(gate_ended("b", true));
        assert_eq!(settle(&mut bench, effects), [over()]);
        assert_eq!(bench.world.item("b").state, ItemState::Done);
    }
}

#[test]
fn a_runner_that_lost_its_run_ends_what_it_started_before_it_is_over() {
    let mut bench = two_at_once("a\nb", Limits::default());
    let begun = settle(&mut bench, vec![Effect::Look]);
    bench.world.holder_gone = true;
    bench.world.start();
    let effects = bench.step(ended(&begun[0], Outcome::Completed));
    assert_eq!(settle(&mut bench, effects), [stop("b")]);
    let fenced = [Effect::Finish(RunLoopEnding::Fenced)];
    assert_eq!(ends(&mut bench, &begun[1], Outcome::Interrupted), fenced);
    // What became of them is for the runner that has the run now.
    assert_eq!(bench.world.tables.open_attempts().count(), 2);
}

#[test]
fn an_end_of_an_earlier_check_does_not_end_the_one_that_runs_now() {
    let (mut world, token) = World::running("build gate=3");
    let (run, at) = (world.run, node("build"));
    world.complete(token, "build");
    let start = || Command::StartGate {
        run,
        token,
        node: at.clone(),
    };
    let end = |fence, interrupted: bool| Command::EndGate {
        run,
        token,
        node: at.clone(),
        fence,
        report: GateReport {
            passed: !interrupted,
            interrupted,
            ..GateReport::default()
        },
        recovery: None,
    };
    world.ok(start());
    let first = world.fence("build");
    world.ok(end(first, true));
    world.ok(start());
    assert_eq!(world.fence("build"), first + 1);
    let late = world.refused(end(first, false));
    assert!(matches!(late, Refusal::ItemState { .. }), "{late:?}");
    assert_eq!(world.item("build").state, ItemState::Working);
    world.ok(end(first + 1, false));
    assert_eq!(world.item("build").state, ItemState::Done);
}
