//! What the loop wants of the world, and when: stops, limits, waits, and
//! what a dead runner left.

mod agent_chain;
mod budgets;
mod several;
mod waits;

use jiff::SignedDuration;
use piton_core::attempt::{Conversation, ProgramReport, Report};
use piton_core::classify::FailureCategory;
use piton_core::gate::GateReport;

use piton_core::policy::{Limits, Policy, RetryPolicy};
use piton_core::run::Pause;
use piton_core::run_loop::{Effect, Input, RunLoop, RunLoopEnding, RunLoopOptions};
use piton_core::trouble::Trouble;
use piton_core::{Command, DecodedRecord, ItemState, Need, Node, Outcome, RunState, Verb};

use crate::world::{World, failure, needs_human, node, tried_once};

/// A loop, the world that it works in, and how far it has read.
struct Bench {
    world: World,
    runner: RunLoop,
    seen: usize,
}

impl Bench {
    fn new(text: &str) -> Self {
        Self::over(
            World::planned(text),
            Limits::default(),
            RunLoopOptions::default(),
        )
    }

    fn over(mut world: World, limits: Limits, options: RunLoopOptions) -> Self {
        world.holder_gone = true;
        let token = world.start_within(limits);
        world.holder_gone = false;
        let run = world.run;
        let needs = [
            Need::Run(run),
            Need::Tree(run),
            Need::OpenAttempts(Some(run)),
        ];
        let tables = world.tables.select_rows(&needs, world.now);
        let seen = world.journal.len();
        Self {
            runner: RunLoop::new(run, token, options, tables),
            world,
            seen,
        }
    }

    fn news(&mut self) -> Vec<DecodedRecord> {
        let news = self.world.journal[self.seen..].to_vec();
        self.seen = self.world.journal.len();
        news
    }

    fn step(&mut self, input: Input) -> Vec<Effect> {
        self.runner.step(self.world.now, input)
    }

    /// Answers looks and commits until the loop wants something else.
    #[track_caller]
    fn drive(&mut self, mut effects: Vec<Effect>) -> Effect {
        for _ in 0..50 {
            assert_eq!(effects.len(), 1, "one wish at a time: {effects:?}");
            let input = match effects.remove(0) {
                Effect::Look => Input::Looked {
                    attempt: self.world.fresh_attempt(),
                    events: self.news(),
                    pause_file: false,
                },
                Effect::Commit(command) => match self.world.commit(&command) {
                    Ok(_) => Input::Committed(self.news()),
                    Err(refusal) => Input::Refused(refusal),
                },
                effect => return effect,
            };
            effects = self.step(input);
        }
        panic!("the loop spins");
    }

    #[track_caller]
    fn first(&mut self) -> Effect {
        self.drive(vec![Effect::Look])
    }

    /// Goes on until an agent is to be started, which must be on that node.
    #[track_caller]
    fn agent_on(&mut self, effect: Effect, at: &str) -> piton_core::AttemptId {
        let Effect::StartAgent { attempt, node, .. } = effect else {
            panic!("{effect:?}")
        };
        assert_eq!(node, Node::from_text(at));
        attempt
    }

    /// The agent that the effect starts ends like that.
    #[track_caller]
    fn ends(&mut self, effect: Effect, report: Report) -> Effect {
        let (Effect::StartAgent { attempt, node, .. } | Effect::SettleAgent { attempt, node }) =
            effect
        else {
            panic!("{effect:?}")
        };
        let report = Box::new(report);
        let effects = self.step(Input::AgentEnded {
            attempt,
            node,
            report,
            recovery: None,
        });
        self.drive(effects)
    }

    #[track_caller]
    fn completes(&mut self, effect: Effect) -> Effect {
        self.ends(effect, Report::with_outcome(Outcome::Completed))
    }
}

fn over() -> Effect {
    Effect::Finish(RunLoopEnding::State)
}

fn stop(at: &str) -> Effect {
    Effect::StopWork {
        node: node(at),
        kill: false,
    }
}

fn gate_ended(at: &str, passed: bool) -> Input {
    Input::GateEnded {
        node: node(at),
        report: GateReport {
            passed,
            ..GateReport::default()
        },
        recovery: None,
    }
}

#[test]
fn the_loop_works_through_a_plan_and_ends() {
    let mut bench = Bench::new("build\n  s1\n  s2\nrelease");
    let mut effect = bench.first();
    for at in ["build/s1", "build/s2", "release"] {
        bench.agent_on(effect.clone(), at);
        effect = bench.completes(effect);
    }
    assert_eq!(effect, over());
    assert_eq!(bench.world.state(), RunState::Done);
}

#[test]
fn an_agent_starts_only_when_the_intent_to_start_it_is_stored() {
    let mut bench = Bench::new("build");
    let attempt = bench.world.fresh_attempt();
    let effects = bench.step(Input::Looked {
        events: Vec::new(),
        pause_file: false,
        attempt,
    });
    assert!(
        matches!(&effects[..], [Effect::Commit(Command::StartAttempt { .. })]),
        "{effects:?}"
    );
}

#[test]
fn a_gate_is_run_mended_and_run_again() {
    let mut bench = Bench::new("build gate=2");
    let effect = bench.first();
    let effect = bench.completes(effect);
    let gate = |number| Effect::RunGate {
        node: node("build"),
        number,
    };
    assert_eq!(effect, gate(1));
    let effects = bench.step(gate_ended("build", false));
    let effect = bench.drive(effects);
    let effect = bench.completes(effect);
    assert_eq!(effect, gate(2));
    let effects = bench.step(gate_ended("build", true));
    assert_eq!(bench.drive(effects), over());
    assert_eq!(bench.world.state(), RunState::Done);
}

#[test]
fn what_a_dead_runner_left_is_settled_before_anything_else_is_done() {
    let mut world = World::planned("build\nrelease");
    let token = world.start();
    let attempt = world.begin(token, "build");
    let mut bench = Bench::over(world, Limits::default(), RunLoopOptions::default());
    let effect = bench.first();
    assert_eq!(
        effect,
        Effect::SettleAgent {
            attempt,
            node: node("build")
        }
    );
    let effect = bench.completes(effect);
    bench.agent_on(effect, "release");
}

#[test]
fn a_gate_that_a_dead_runner_left_is_run_again_under_the_same_number() {
    let (mut world, token) = World::running("build gate=1");
    let run = world.run;
    world.complete(token, "build");
    world.ok(Command::StartGate {
        run,
        token,
        node: node("build"),
    });
    let mut bench = Bench::over(world, Limits::default(), RunLoopOptions::default());
    assert_eq!(
        bench.first(),
        Effect::RunGate {
            node: node("build"),
            number: 1
        }
    );
}

#[test]
fn a_commit_that_a_dead_runner_left_is_settled_and_not_made_twice() {
    let policy = Policy {
        auto_commit: true,
        ..tried_once()
    };
    let mut world = World::with_policy("build", policy);
    let token = world.start();
    let run = world.run;
    world.complete(token, "build");
    world.ok(Command::StartCommit {
        run,
        token,
        node: node("build"),
        head: None,
    });
    let mut bench = Bench::over(world, Limits::default(), RunLoopOptions::default());
    assert_eq!(
        bench.first(),
        Effect::MakeCommit {
            node: node("build"),
            settle: true
        }
    );
}

#[test]
fn what_a_dead_runner_left_comes_before_what_came_back_since() {
    let policy = Policy {
        auto_commit: true,
        ..tried_once()
    };
    let mut world = World::with_policy("a\nbuild", policy);
    let token = world.start();
    let run = world.run;
    world.skip("a");
    world.complete(token, "build");
    world.ok(Command::StartCommit {
        run,
        token,
        node: node("build"),
        head: None,
    });
    world.holder_gone = true;
    world.retry("a");
    let mut bench = Bench::over(world, Limits::default(), RunLoopOptions::default());
    assert_eq!(
        bench.first(),
        Effect::MakeCommit {
            node: node("build"),
            settle: true
        }
    );
    let effects = bench.step(Input::CommitEnded {
        node: node("build"),
        result: Ok(None),
    });
    let effect = bench.drive(effects);
    bench.agent_on(effect, "a");
}

// Stops.

#[test]
fn the_first_reason_to_stop_is_polite_and_the_second_is_not() {
    let mut bench = Bench::new("build");
    let effect = bench.first();
    for kill in [false, true, true] {
        let reason = "SIGINT".to_owned();
        let effects = bench.step(Input::Stop { reason });
        let node = node("build");
        assert_eq!(effects, [Effect::StopWork { node, kill }]);
    }
    let effect = bench.ends(effect, Report::with_outcome(Outcome::Interrupted));
    assert_eq!(effect, over());
    assert_eq!(bench.world.state(), RunState::Interrupted);
    assert_eq!(bench.world.run_row().reason.as_deref(), Some("SIGINT"));
    assert_eq!(bench.world.item("build").state, ItemState::Ready);
}

#[test]
fn a_stop_that_comes_while_an_intent_is_being_stored_starts_nothing() {
    let gated = {
        let (mut world, token) = World::running("build gate=1");
        world.complete(token, "build");
        world
    };
    for world in [World::planned("build"), gated] {
        let mut bench = Bench::over(world, Limits::default(), RunLoopOptions::default());
        let attempt = bench.world.fresh_attempt();
        let effects = bench.step(Input::Looked {
            events: Vec::new(),
            pause_file: false,
            attempt,
        });
        let reason = "SIGTERM".to_owned();
        assert_eq!(bench.step(Input::Stop { reason }), []);
        assert_eq!(bench.drive(effects), over());
        assert_eq!(bench.world.state(), RunState::Interrupted);
        assert_eq!(bench.world.tables.open_attempts().count(), 0);
        assert_eq!(bench.world.item("build").tries.retries, 0);
    }
}

#[test]
fn a_stop_that_somebody_asks_for_ends_the_agent() {
    let mut bench = Bench::new("build");
    let effect = bench.first();
    let run = bench.world.run;
    bench.world.ok(Command::AskStop { run });
    let news = bench.news();
    assert_eq!(bench.step(Input::Changed(news)), [stop("build")]);
    let effect = bench.ends(effect, Report::with_outcome(Outcome::Interrupted));
    assert_eq!(effect, over());
    assert_eq!(
        bench.world.run_row().reason.as_deref(),
        Some("stopped by ada")
    );
}

#[test]
fn a_pause_waits_for_the_agent_and_takes_effect_after_it() {
    let mut bench = Bench::new("build\nrelease");
    let effect = bench.first();
    let run = bench.world.run;
    bench.world.ok(Command::AskPause { run });
    let news = bench.news();
    assert_eq!(bench.step(Input::Changed(news)), []);
    assert_eq!(bench.completes(effect), over());
    assert_eq!(bench.world.state(), RunState::Paused);
    assert_eq!(bench.world.item("build").state, ItemState::Done);
}

#[test]
fn a_pause_file_pauses_at_the_next_boundary() {
    let mut bench = Bench::new("build");
    let attempt = bench.world.fresh_attempt();
    let effects = bench.step(Input::Looked {
        events: Vec::new(),
        pause_file: true,
        attempt,
    });
    assert_eq!(bench.drive(effects), over());
    assert_eq!(bench.world.run_row().pause, Some(Pause::File));
}

// Limits.

fn limit_of(bench: &Bench) -> String {
    match &bench.world.run_row().pause {
        Some(Pause::Limit { limit }) => limit.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn max_iterations_stops_before_the_next_agent_and_is_counted_anew() {
    let limits = Limits {
        iterations_max: Some(2),
        ..Limits::default()
    };
    let mut bench = Bench::over(
        World::planned("a\nb\nc\nd\ne"),
        limits,
        RunLoopOptions::default(),
    );
    let effect = bench.first();
    let effect = bench.completes(effect);
    assert_eq!(bench.completes(effect), over());
    assert_eq!(limit_of(&bench), "max-iterations (2)");

    let limits = bench.world.run_row().invocation.limits.clone();
    let mut bench = Bench::over(bench.world, limits, RunLoopOptions::default());
    let effect = bench.first();
    bench.agent_on(effect.clone(), "c");
    let effect = bench.completes(effect);
    assert_eq!(bench.completes(effect), over());
    assert_eq!(bench.world.run_row().invocation.iterations_total, 4);
}

#[test]
fn at_max_iterations_what_needs_no_agent_is_still_done() {
    let limits = Limits {
        iterations_max: Some(1),
        ..Limits::default()
    };
    let mut bench = Bench::over(
        World::planned("a gate=1\nb"),
        limits,
        RunLoopOptions::default(),
    );
    let effect = bench.first();
    let effect = bench.completes(effect);
    assert!(matches!(effect, Effect::RunGate { .. }), "{effect:?}");
    let effects = bench.step(gate_ended("a", true));
    assert_eq!(bench.drive(effects), over());
    assert_eq!(limit_of(&bench), "max-iterations (1)");
}

#[test]
fn an_agent_that_mends_a_gate_counts_and_is_not_started_at_the_limit() {
    let limits = Limits {
        iterations_max: Some(1),
        ..Limits::default()
    };
    let mut bench = Bench::over(
        World::planned("a gate=2"),
        limits,
        RunLoopOptions::default(),
    );
    let effect = bench.first();
    bench.completes(effect);
    let effects = bench.step(gate_ended("a", false));
    assert_eq!(bench.drive(effects), over());
    assert_eq!(limit_of(&bench), "max-iterations (1)");
}

#[test]
fn a_leaf_that_waits_to_be_tried_again_for_its_gate_is_not_started_at_the_limit() {
    let policy = Policy {
        retry: RetryPolicy {
            categories: vec![FailureCategory::Validation],
            ..RetryPolicy::default()
        },
        ..tried_once()
    };
    let limits = Limits {
        iterations_max: Some(1),
        ..Limits::default()
    };
    let world = World::with_policy("a gate=1", policy);
    let mut bench = Bench::over(world, limits, RunLoopOptions::default());
    let effect = bench.first();
    bench.completes(effect);
    bench.world.pass(60);
    let effects = bench.step(gate_ended("a", false));
    assert_eq!(bench.drive(effects), over());
    assert_eq!(bench.world.run_row().invocation.iterations, 1);
}

#[test]
fn max_tasks_counts_steps_and_simple_phases_and_not_sub_phases() {
    let limits = Limits {
        tasks_max: Some(2),
        ..Limits::default()
    };
    let world = World::planned("a\n  s1\n    x\n    y\nb\nc");
    let mut bench = Bench::over(world, limits, RunLoopOptions::default());
    let mut effect = bench.first();
    for at in ["a/s1/x", "a/s1/y", "b"] {
        bench.agent_on(effect.clone(), at);
        effect = bench.completes(effect);
    }
    assert_eq!(effect, over());
    assert_eq!(limit_of(&bench), "max-tasks (2)");
}

#[test]
fn a_time_box_ends_the_agent_that_outlasts_it_and_pauses_the_run() {
    let limits = Limits {
        time_box_s: Some(90),
        ..Limits::default()
    };
    let mut bench = Bench::over(World::planned("a"), limits, RunLoopOptions::default());
    let effect = bench.first();
    let Effect::StartAgent { until, .. } = effect else {
        panic!("{effect:?}")
    };
    assert_eq!(until, Some(bench.world.now + SignedDuration::from_secs(90)));
    bench.world.pass(90);
    let over_time = Input::TimeBoxOver { node: node("a") };
    assert_eq!(bench.step(over_time), [stop("a")]);
    let effect = bench.ends(effect, Report::with_outcome(Outcome::Interrupted));
    assert_eq!(effect, over());
    assert_eq!(limit_of(&bench), "time-box (1m 30s)");
    assert_eq!(bench.world.item("a").state, ItemState::Ready);
}

#[test]
fn a_wait_for_a_time_is_sat_out_but_not_beyond_the_time_box() {
    for (time_box_s, waits_s) in [(None, 2), (Some(1), 1), (Some(60), 2)] {
        let limits = Limits {
            time_box_s,
            ..Limits::default()
        };
        let mut bench = Bench::over(World::planned("a"), limits, RunLoopOptions::default());
        let effect = bench.first();
        let effect = bench.ends(effect, failure(FailureCategory::Network, "no route"));
        let until = bench.world.now + SignedDuration::from_secs(waits_s);
        assert_eq!(effect, Effect::WaitUntil(until));
    }
}

#[test]
fn once_ends_after_one_node() {
    let options = RunLoopOptions {
        once: true,
        ..RunLoopOptions::default()
    };
    let mut bench = Bench::over(World::planned("a\nb"), Limits::default(), options);
    let effect = bench.first();
    assert_eq!(bench.completes(effect), over());
    assert_eq!(limit_of(&bench), "once");
}

#[test]
fn once_ends_after_one_node_that_waits_for_a_person() {
    let options = || RunLoopOptions {
        once: true,
        ..RunLoopOptions::default()
    };
    let plan = World::planned("a parallel\nb parallel\nc after=a");
    let mut bench = Bench::over(plan, Limits::default(), options());
    let effect = bench.first();
    assert_eq!(bench.ends(effect, needs_human("how?")), over());
    assert_eq!(limit_of(&bench), "once");
    // Where there is nothing else to do, the run waits for the person.
    let mut bench = Bench::over(World::planned("a"), Limits::default(), options());
    let effect = bench.first();
    assert_eq!(bench.ends(effect, needs_human("how?")), over());
    assert_eq!(bench.world.state(), RunState::Waiting);
}

// Waits for people.

#[test]
fn without_wait_the_loop_ends_where_a_person_is_needed() {
    for report in [
        needs_human("how?"),
        failure(FailureCategory::Logic, "it broke"),
    ] {
        let mut bench = Bench::new("a\nb");
        let effect = bench.first();
        assert_eq!(bench.ends(effect, report), over());
    }
}

#[test]
fn with_wait_the_loop_goes_on_when_the_person_has_decided() {
    for report in [
        needs_human("how?"),
        failure(FailureCategory::Logic, "it broke"),
    ] {
        let options = RunLoopOptions {
            wait: true,
            ..RunLoopOptions::default()
        };
        let mut bench = Bench::over(World::planned("a\nb"), Limits::default(), options);
        let effect = bench.first();
        let effect = bench.ends(effect, report);
        assert_eq!(effect, Effect::WaitForPerson);
        bench.world.decide(Verb::Retry, None);
        let news = bench.news();
        let effects = bench.step(Input::Changed(news));
        let effect = bench.drive(effects);
        bench.agent_on(effect, "a");
        assert_eq!(bench.world.run_row().invocation.invocations, 1);
    }
}

#[test]
fn a_stop_ends_the_wait_for_a_person() {
    let options = RunLoopOptions {
        wait: true,
        ..RunLoopOptions::default()
    };
    let mut bench = Bench::over(World::planned("a"), Limits::default(), options);
    let effect = bench.first();
    bench.ends(effect, needs_human("how?"));
    let run = bench.world.run;
    bench.world.ok(Command::AskStop { run });
    let news = bench.news();
    let effects = bench.step(Input::Changed(news));
    assert_eq!(bench.drive(effects), over());
    assert_eq!(bench.world.state(), RunState::Waiting);
}

// Ends.

#[test]
fn a_runner_whose_run_was_taken_ends_and_says_so() {
    let mut bench = Bench::new("a");
    let effect = bench.first();
    bench.world.holder_gone = true;
    bench.world.start();
    assert_eq!(
        bench.completes(effect),
        Effect::Finish(RunLoopEnding::Fenced)
    );
}

fn cannot_start() -> Report {
    Report {
        error: Some("claude: not found".to_owned()),
        program: ProgramReport {
            cannot_start: true,
            ..ProgramReport::default()
        },
        ..Report::with_outcome(Outcome::Interrupted)
    }
}

#[test]
fn an_agent_that_cannot_be_started_ends_the_invocation() {
    let mut bench = Bench::new("a");
    let effect = bench.first();
    let ending = RunLoopEnding::CannotStart("claude: not found".to_owned());
    assert_eq!(bench.ends(effect, cannot_start()), Effect::Finish(ending));
    assert_eq!(bench.world.state(), RunState::Interrupted);
}

#[test]
fn an_agent_that_could_not_be_started_on_what_was_left_out_is_forgotten() {
    let mut bench = Bench::new("a\nb");
    let effect = bench.first();
    bench.world.skip("a");
    let effect = bench.ends(effect, cannot_start());
    bench.agent_on(effect.clone(), "b");
    assert_eq!(bench.completes(effect), over());
}

#[test]
fn a_loop_that_is_refused_again_and_again_gives_up() {
    let mut bench = Bench::new("a");
    let refusal = piton_core::Refusal::NoSuchItem(node("a"));
    let mut effects = vec![Effect::Look];
    for _ in 0..20 {
        let attempt = bench.world.fresh_attempt();
        effects = match effects.remove(0) {
            Effect::Look => bench.step(Input::Looked {
                events: Vec::new(),
                pause_file: false,
                attempt,
            }),
            Effect::Commit(_) => bench.step(Input::Refused(refusal.clone())),
            Effect::Finish(ending) => {
                assert_eq!(ending, RunLoopEnding::Refused(refusal));
                return;
            }
            effect => panic!("{effect:?}"),
        };
    }
    panic!("it never gives up");
}

#[test]
fn the_memory_of_a_loop_does_not_grow_with_its_attempts() {
    let mut bench = Bench::new("a gate=9");
    let effect = bench.first();
    let mut effect = bench.completes(effect);
    let rows = bench.runner.tables().iter().count();
    for _ in 0..8 {
        assert!(matches!(effect, Effect::RunGate { .. }));
        let effects = bench.step(gate_ended("a", false));
        let mend = bench.drive(effects);
        effect = bench.completes(mend);
    }
    assert_eq!(bench.runner.tables().iter().count(), rows);
}

#[test]
fn the_model_of_a_node_comes_before_that_of_the_invocation() {
    let options = RunLoopOptions {
        model: Some("haiku".to_owned()),
        ..RunLoopOptions::default()
    };
    let bench = Bench::over(World::planned("a\nb"), Limits::default(), options);
    let mut item = bench.world.item("a").clone();
    assert_eq!(bench.runner.model_of_item(&item), Some("haiku"));
    item.plan.model = Some("opus".to_owned());
    assert_eq!(bench.runner.model_of_item(&item), Some("opus"));
}

fn put_off(resets_at: Option<jiff::Timestamp>) -> Report {
    Report {
        error: Some("usage limit reached".to_owned()),
        program: ProgramReport {
            trouble: Some(Trouble::RateLimit),
            resets_at,
            ..ProgramReport::default()
        },
        ..Report::with_outcome(Outcome::Interrupted)
    }
}

#[test]
fn a_service_that_had_enough_is_waited_for_and_nothing_is_counted() {
    let mut bench = Bench::new("build");
    let effect = bench.first();
    bench.agent_on(effect.clone(), "build");
    let resets = bench.world.now + SignedDuration::from_hours(2);
    let effect = bench.ends(effect, put_off(Some(resets)));
    assert_eq!(effect, Effect::WaitUntil(resets));
    let item = bench.world.item("build");
    assert_eq!((item.state, item.tries.retries), (ItemState::Waiting, 0));
    bench.world.now = resets;
    let effects = bench.step(Input::Time);
    let effect = bench.drive(effects);
    bench.agent_on(effect.clone(), "build");
    assert_eq!(bench.completes(effect), over());
    assert_eq!(bench.world.item("build").tries.put_off, 0);
}

#[test]
fn a_service_that_never_says_when_is_asked_ever_more_rarely_and_then_a_person() {
    let mut bench = Bench::new("build");
    let mut effect = bench.first();
    let mut waits = Vec::new();
    while let Effect::StartAgent { .. } = effect {
        effect = bench.ends(effect, put_off(None));
        let Effect::WaitUntil(until) = effect else {
            break;
        };
        waits.push(until.duration_since(bench.world.now).as_secs());
        bench.world.now = until;
        let effects = bench.step(Input::Time);
        effect = bench.drive(effects);
    }
    assert_eq!(
        waits,
        [
            10, 20, 40, 80, 160, 320, 640, 1_280, 2_560, 3_600, 3_600, 3_600
        ]
    );
    assert_eq!(bench.world.state(), RunState::Blocked);
}

#[test]
fn an_attempt_that_was_interrupted_goes_on_in_its_conversation_and_one_that_failed_does_not() {
    let conversation = Conversation {
        agent: "claude".to_owned(),
        id: "c1".to_owned(),
        total: None,
    };
    let ended = |outcome, trouble| Report {
        category: Some(FailureCategory::Network),
        program: ProgramReport {
            conversation: Some(conversation.clone()),
            trouble,
            ..ProgramReport::default()
        },
        ..Report::with_outcome(outcome)
    };
    #[track_caller]
    fn check(report: Report, goes_on: bool) {
        let mut bench = Bench::new("build");
        let effect = bench.first();
        bench.ends(effect, report);
        assert_eq!(bench.world.item("build").tries.ongoing.is_some(), goes_on);
    }
    check(ended(Outcome::Interrupted, None), true);
    check(ended(Outcome::Interrupted, Some(Trouble::RateLimit)), true);
    check(ended(Outcome::Interrupted, Some(Trouble::Session)), false);
    check(ended(Outcome::Failed, None), false);
}

#[test]
fn an_agent_that_goes_in_circles_is_stopped() {
    let mut bench = Bench::new("build");
    let effect = bench.first();
    bench.agent_on(effect, "build");
    assert_eq!(
        bench.step(Input::Circling {
            node: node("build")
        }),
        [stop("build")]
    );
}

/// In place there is one repository: an item of another one waits until that has its
/// branch, and the run says so.
#[test]
fn what_is_of_another_repository_is_not_worked_on_in_place() {
    let mut bench = Bench::new("in any order:\na repository=web\nb");
    let effect = bench.first();
    bench.agent_on(effect.clone(), "b");
    assert_eq!(bench.completes(effect), over());
    assert_eq!(bench.world.state(), RunState::Interrupted);
    assert_eq!(
        bench.world.run_row().reason.as_deref(),
        Some("a belongs to `web`, which was no repository of this run when it began")
    );
}
