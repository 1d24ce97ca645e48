//! What a run, and the project, may use: before an agent and while one works.

use piton_core::attempt::{ProgramReport, Report, Usage};
use piton_core::budget::{BudgetLeft, BudgetUse};
use piton_core::policy::Limits;
use piton_core::run_loop::{Effect, Input, RunLoopOptions};
use piton_core::{ItemState, Outcome};

use super::{Bench, limit_of, over, stop};
use crate::world::{World, node};

fn cost(usd: f64) -> Usage {
    Usage {
        cost_usd: Some(usd),
        ..Usage::default()
    }
}

fn used(outcome: Outcome, usage: Usage) -> Report {
    Report {
        program: ProgramReport {
            usage,
            ..ProgramReport::default()
        },
        ..Report::with_outcome(outcome)
    }
}

fn five_dollars() -> Limits {
    Limits {
        budget_usd: "5".parse().ok(),
        ..Limits::default()
    }
}

fn bench(text: &str, limits: Limits) -> Bench {
    Bench::over(World::planned(text), limits, RunLoopOptions::default())
}

fn elsewhere(usd: &str) -> Input {
    Input::Elsewhere(BudgetUse {
        usd: usd.parse().expect("an amount"),
        tokens: 0,
    })
}

/// What the agent at the first item has used.
fn spent(usd: f64) -> Input {
    Input::Spent {
        node: node("a"),
        usage: cost(usd),
    }
}

#[test]
fn no_agent_is_started_on_a_budget_that_is_used_up_in_this_invocation_or_the_next() {
    let mut bench = bench("a\nb\nc", five_dollars());
    let effect = bench.first();
    let effect = bench.ends(effect, used(Outcome::Completed, cost(3.0)));
    let effect = bench.ends(effect, used(Outcome::Completed, cost(2.5)));
    assert_eq!(
        (effect, limit_of(&bench)),
        (over(), "budget ($5.00)".to_owned())
    );
    let mut again = Bench::over(bench.world, five_dollars(), RunLoopOptions::default());
    assert_eq!(again.first(), over());
    assert_eq!(limit_of(&again), "budget ($5.00)");
    let more = Limits {
        budget_usd: "6".parse().ok(),
        ..Limits::default()
    };
    let mut again = Bench::over(again.world, more, RunLoopOptions::default());
    let effect = again.first();
    again.agent_on(effect, "c");
}

#[test]
fn what_needs_no_agent_is_still_done() {
    let mut bench = bench("a gate=1\nb", five_dollars());
    let effect = bench.first();
    let effect = bench.ends(effect, used(Outcome::Completed, cost(5.0)));
    assert!(matches!(effect, Effect::RunGate { .. }), "{effect:?}");
}

#[test]
fn the_agent_that_uses_the_budget_up_is_stopped_once_and_what_it_used_is_kept() {
    let mut bench = bench("a", five_dollars());
    let effect = bench.first();
    assert_eq!(bench.step(spent(4.9)), []);
    let left = BudgetLeft {
        usd: "0.1".parse().ok(),
        tokens: None,
    };
    assert_eq!(bench.runner.budget_left(), left);
    assert_eq!(bench.step(spent(5.1)), [stop("a")]);
    assert_eq!(
        bench.runner.exhausted_budget_of(&node("a")),
        Some("budget ($5.00)")
    );
    assert_eq!(bench.step(spent(5.2)), []);
    // A program that is stopped says nothing of what it used.
    let effect = bench.ends(effect, Report::with_outcome(Outcome::Interrupted));
    assert_eq!(
        (effect, limit_of(&bench)),
        (over(), "budget ($5.00)".to_owned())
    );
    let run = bench.world.run_row();
    assert_eq!(
        run.spent.spend.describe_cost().as_deref(),
        Some("$5.20 said")
    );
    assert_eq!(bench.world.item("a").state, ItemState::Ready);
    let mut attempts = bench.world.tables.attempts();
    let report = attempts.next().and_then(|row| row.report.as_ref());
    assert_eq!(
        report.and_then(|report| report.error.as_deref()),
        Some("stopped at a limit: budget ($5.00)")
    );
}

#[test]
fn an_agent_that_completes_although_it_was_to_stop_has_completed() {
    let mut bench = bench("a\nb", five_dollars());
    let effect = bench.first();
    assert_eq!(bench.step(spent(6.0)), [stop("a")]);
    bench.ends(effect, used(Outcome::Completed, cost(6.5)));
    assert_eq!(bench.world.item("a").state, ItemState::Done);
    assert_eq!(limit_of(&bench), "budget ($5.00)");
    let spend = &bench.world.run_row().spent.spend;
    assert_eq!(spend.describe_cost().as_deref(), Some("$6.50 said"));
}

#[test]
fn what_other_runs_use_counts_for_the_budget_of_the_project() {
    let limits = Limits {
        project_usd: "20".parse().ok(),
        ..Limits::default()
    };
    let mut bench = bench("a\nb", limits);
    bench.step(elsewhere("18"));
    let effect = bench.first();
    assert_eq!(bench.step(spent(1.5)), []);
    assert_eq!(bench.step(elsewhere("18.5")), [stop("a")]);
    let effect = bench.ends(effect, Report::with_outcome(Outcome::Interrupted));
    assert_eq!(effect, over());
    assert_eq!(limit_of(&bench), "project budget ($20.00)");
}

#[test]
fn a_gate_is_not_stopped_by_a_budget() {
    let mut bench = bench("a gate=1", five_dollars());
    let effect = bench.first();
    bench.ends(effect, used(Outcome::Completed, cost(1.0)));
    assert_eq!(bench.step(spent(9.0)), []);
    assert_eq!(bench.step(elsewhere("100")), []);
}

#[test]
fn a_cost_that_nobody_knows_stops_nothing_and_is_warned_of() {
    let mut bench = bench("a\nb", five_dollars());
    let effect = bench.first();
    let effect = bench.completes(effect);
    bench.agent_on(effect, "b");
    assert_eq!(
        bench.runner.describe_unknown_spend().as_deref(),
        Some("what 1 attempt cost is not known, and does not count for the budget in dollars")
    );
}

#[test]
fn a_budget_of_tokens_counts_those_of_the_cache() {
    let limits = Limits {
        budget_tokens: Some(1_000),
        ..Limits::default()
    };
    let mut bench = bench("a\nb", limits);
    let effect = bench.first();
    let usage = Usage {
        input_tokens: Some(100),
        cache_read_tokens: Some(900),
        reasoning_tokens: Some(5_000),
        ..Usage::default()
    };
    let effect = bench.ends(effect, used(Outcome::Completed, usage));
    assert_eq!(
        (effect, limit_of(&bench)),
        (over(), "budget (1000 tokens)".to_owned())
    );
}
