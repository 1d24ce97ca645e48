//! A chain of agents: who goes on where a service had enough or a model refused.

use jiff::{SignedDuration, Timestamp};
use piton_core::attempt::{Conversation, ProgramReport, Report};
use piton_core::policy::Limits;
use piton_core::run_loop::{Effect, Input, RunLoopOptions};
use piton_core::trouble::Trouble;
use piton_core::{ItemState, Outcome, RunState};

use super::{Bench, over, put_off};
use crate::world::{ANY_ORDER, World};

fn options(agents: &[&str]) -> RunLoopOptions {
    RunLoopOptions {
        agents: agents.iter().map(|&agent| agent.to_owned()).collect(),
        ..RunLoopOptions::default()
    }
}

fn chain(plan: &str, agents: &[&str]) -> Bench {
    Bench::over(World::planned(plan), Limits::default(), options(agents))
}

fn refused() -> Report {
    Report {
        error: Some("the model refused".to_owned()),
        program: ProgramReport {
            trouble: Some(Trouble::Refusal),
            conversation: Some(conversation("claude")),
            ..ProgramReport::default()
        },
        ..Report::with_outcome(Outcome::Failed)
    }
}

fn conversation(agent: &str) -> Conversation {
    Conversation {
        agent: agent.to_owned(),
        id: "c1".to_owned(),
        total: None,
    }
}

impl Bench {
    /// The effect starts that agent on that item.
    #[track_caller]
    fn started(&mut self, effect: &Effect, at: &str, agent: &str) {
        let attempt = self.agent_on(effect.clone(), at);
        let row = self.world.tables.attempt(attempt).expect("it was started");
        assert_eq!(row.agent, agent);
    }

    fn after(&self, hours: i64) -> Timestamp {
        self.world.now + SignedDuration::from_hours(hours)
    }

    #[track_caller]
    fn at_time(&mut self, now: Timestamp) -> Effect {
        self.world.now = now;
        let effects = self.step(Input::Time);
        self.drive(effects)
    }
}

#[test]
fn an_item_goes_on_with_the_next_agent_and_the_limited_one_is_passed_over_until_its_reset() {
    let mut bench = chain("a\nb\nc", &["claude", "codex"]);
    let effect = bench.first();
    bench.started(&effect, "a", "claude");
    let resets = bench.after(55);
    let effect = bench.ends(effect, put_off(Some(resets)));
    bench.started(&effect, "a", "codex");
    assert_eq!(bench.world.item("a").tries.retries, 0);
    let effect = bench.completes(effect);
    bench.started(&effect, "b", "codex");
    bench.world.now = resets;
    let effect = bench.completes(effect);
    bench.started(&effect, "c", "claude");
    assert_eq!(bench.completes(effect), over());
    assert_eq!(bench.world.state(), RunState::Done);
}

#[test]
fn where_all_are_limited_the_run_waits_for_the_earliest_reset() {
    let mut bench = chain("a\nb", &["claude", "codex"]);
    let effect = bench.first();
    let (late, early) = (bench.after(55), bench.after(3));
    let effect = bench.ends(effect, put_off(Some(late)));
    let effect = bench.ends(effect, put_off(Some(early)));
    assert_eq!(effect, Effect::WaitUntil(early));
    let item = bench.world.item("a");
    assert_eq!((item.state, item.tries.retries), (ItemState::Waiting, 0));
    assert_eq!(item.tries.until, Some(early));
    let effect = bench.at_time(early);
    bench.started(&effect, "a", "codex");
    assert_eq!(bench.world.run_row().invocation.iterations, 1);
}

#[test]
fn a_refusal_sends_that_item_on_and_no_other_and_counts_nothing() {
    let mut bench = chain("a\nb", &["claude", "codex"]);
    let effect = bench.first();
    bench.started(&effect, "a", "claude");
    let effect = bench.ends(effect, refused());
    bench.started(&effect, "a", "codex");
    let item = bench.world.item("a");
    assert_eq!((item.tries.retries, &item.tries.ongoing), (0, &None));
    assert_eq!(item.tries.refused_by, ["claude"]);
    let effect = bench.completes(effect);
    bench.started(&effect, "b", "claude");
}

#[test]
fn what_the_last_agent_refuses_has_failed_as_with_one_agent() {
    let mut bench = chain("a", &["claude", "codex"]);
    let effect = bench.first();
    let effect = bench.ends(effect, refused());
    bench.started(&effect, "a", "codex");
    bench.ends(effect, refused());
    assert_eq!(bench.world.item("a").state, ItemState::Failed);
}

#[test]
fn an_item_that_waits_for_the_one_agent_left_to_it_holds_up_no_other() {
    let mut bench = chain(&format!("{ANY_ORDER}a\nb"), &["claude", "codex"]);
    let effect = bench.first();
    let effect = bench.ends(effect, refused());
    bench.started(&effect, "a", "codex");
    let resets = bench.after(3);
    let effect = bench.ends(effect, put_off(Some(resets)));
    bench.started(&effect, "b", "claude");
    assert_eq!(bench.completes(effect), Effect::WaitUntil(resets));
    let effect = bench.at_time(resets);
    bench.started(&effect, "a", "codex");
}

#[test]
fn a_limit_is_known_to_the_runner_that_comes_after_a_dead_one() {
    let mut bench = chain("a\nb", &["claude", "codex"]);
    let effect = bench.first();
    let resets = bench.after(55);
    let effect = bench.ends(effect, put_off(Some(resets)));
    bench.started(&effect, "a", "codex");
    let world = bench.world;
    let again = options(&["claude", "codex"]);
    let mut bench = Bench::over(world, Limits::default(), again);
    let effect = bench.first();
    let Effect::SettleAgent { .. } = &effect else {
        panic!("{effect:?}")
    };
    let effect = bench.ends(effect, Report::with_outcome(Outcome::Interrupted));
    bench.started(&effect, "a", "codex");
}

#[test]
fn what_was_put_off_goes_on_when_an_agent_is_added() {
    let mut bench = chain("a", &["claude"]);
    let effect = bench.first();
    let resets = bench.after(55);
    let effect = bench.ends(effect, put_off(Some(resets)));
    assert_eq!(effect, Effect::WaitUntil(resets));
    let again = options(&["claude", "codex"]);
    let mut bench = Bench::over(bench.world, Limits::default(), again);
    let effect = bench.first();
    bench.started(&effect, "a", "codex");
}

#[test]
fn an_agent_is_asked_for_its_verdict_itself() {
    let mut bench = chain("a", &["claude", "codex"]);
    let effect = bench.first();
    let resets = bench.after(3);
    let effect = bench.ends(effect, put_off(Some(resets)));
    bench.world.now = resets;
    let silent = Report {
        program: ProgramReport {
            trouble: Some(Trouble::NoVerdict),
            conversation: Some(conversation("codex")),
            can_be_asked: true,
            ..ProgramReport::default()
        },
        ..Report::with_outcome(Outcome::Failed)
    };
    let effect = bench.ends(effect, silent);
    // Claude serves again, and has heard nothing of the work.
    bench.started(&effect, "a", "codex");
    let later = bench.after(3);
    let effect = bench.ends(
        effect,
        Report {
            program: ProgramReport {
                conversation: Some(conversation("codex")),
                ..put_off(Some(later)).program
            },
            ..put_off(Some(later))
        },
    );
    let Effect::StartAgent { role, .. } = &effect else {
        panic!("{effect:?}")
    };
    assert_eq!(*role, piton_core::Role::Worker);
    bench.started(&effect, "a", "claude");
}
