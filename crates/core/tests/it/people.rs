//! What fails, who is asked, and what people say to it: case 21 and the rest.

use piton_core::attempt::{ProgramReport, Report};
use piton_core::classify::FailureCategory;
use piton_core::event::DecisionEvent;
use piton_core::policy::{Policy, RetryPolicy};
use piton_core::{
    Command, DecisionId, DecisionKind, Event, ItemState, Outcome, Refusal, RunState, Verb,
};

use crate::world::{World, failure, needs_human, node, retry_item, skip_item, tried_once};

const PLAN: &str = "
build
  s1
    a
    b
  s2
release
";

// Failures.

#[test]
fn case_21_an_outcome_of_failure_fails_the_node_whatever_the_exit_status() {
    let (mut world, token) = World::running(PLAN);
    let report = Report {
        program: ProgramReport {
            process: Some(piton_core::attempt::ProcessEnd {
                code: Some(0),
                ..Default::default()
            }),
            ..failure(FailureCategory::Logic, "the tests do not pass").program
        },
        ..failure(FailureCategory::Logic, "the tests do not pass")
    };
    world.work(token, "build/s1/a", report);
    assert_eq!(world.item("build/s1/a").state, ItemState::Failed);
}

#[test]
fn a_failure_shows_on_the_node_its_step_and_its_phase() {
    let (mut world, token) = World::running(PLAN);
    world.fail(token, "build/s1/a");
    let all = ["build", "build/s1", "build/s1/a", "build/s1/b", "release"];
    assert_eq!(
        world.states(&all),
        ["failed", "failed", "failed", "pending", "pending"],
        "what stands behind it waits"
    );
    assert_eq!(world.item("build/s1/a").error.as_deref(), Some("it broke"));
    assert_eq!(world.item("build").error.as_deref(), Some("a: it broke"));
    let run = world.run_row();
    assert_eq!(run.state, RunState::Blocked);
    assert_eq!(run.at, Some(node("build/s1/a")));
    assert_eq!(run.reason.as_deref(), Some("it broke"));
    assert_eq!(world.pointer(), Some("build/s1/a"));
    let question = world.tables.decision(world.question()).expect("asked");
    assert_eq!(question.kind, DecisionKind::BlockedNode);
}

#[test]
fn a_claim_that_it_cannot_be_done_blocks_and_is_never_tried_again_by_itself() {
    let (mut world, token) = World::running(PLAN);
    let report = Report {
        category: Some(FailureCategory::Network),
        ..Report::with_outcome(Outcome::Blocked)
    };
    world.work(token, "build/s1/a", report);
    assert_eq!(
        world.states(&["build", "build/s1", "build/s1/a"]),
        ["blocked"; 3]
    );
    assert_eq!(world.state(), RunState::Blocked);
}

#[test]
fn a_failure_of_the_outside_is_tried_again_three_times_and_then_given_up() {
    let (mut world, token) = World::running(PLAN);
    let network = || failure(FailureCategory::Network, "connection refused");
    for (retries, wait_s) in [(1, 2), (2, 10), (3, 60)] {
        world.work(token, "build/s1/a", network());
        let item = world.item("build/s1/a");
        assert_eq!(item.state, ItemState::Waiting);
        assert_eq!(item.tries.retries, retries);
        assert_eq!(
            item.tries.until,
            Some(world.now + jiff::SignedDuration::from_secs(wait_s))
        );
        assert_eq!(world.state(), RunState::Running);
        assert_eq!(world.next(), Some("build/s1/a"), "it keeps its turn");
        world.pass(wait_s);
    }
    world.work(token, "build/s1/a", network());
    assert_eq!(world.item("build/s1/a").state, ItemState::Failed);
    assert_eq!(world.state(), RunState::Blocked);
}

#[test]
fn only_the_categories_that_the_plan_names_are_tried_again() {
    let retry = RetryPolicy {
        retries_max: 1,
        backoff_ms: vec![500],
        categories: vec![FailureCategory::Logic],
        at_once_max: 0,
    };
    for (category, again) in [
        (FailureCategory::Logic, true),
        (FailureCategory::Network, false),
        (FailureCategory::Validation, false),
    ] {
        let policy = Policy {
            retry: retry.clone(),
            ..tried_once()
        };
        let mut world = World::with_policy(PLAN, policy);
        let token = world.start();
        world.work(token, "build/s1/a", failure(category, "no"));
        let waits = world.item("build/s1/a").state == ItemState::Waiting;
        assert_eq!(waits, again, "{category:?}");
    }
}

#[test]
fn a_failure_without_a_category_is_one_of_logic() {
    let (mut world, token) = World::running(PLAN);
    world.work(token, "build/s1/a", Report::with_outcome(Outcome::Partial));
    let item = world.item("build/s1/a");
    assert_eq!(item.state, ItemState::Failed);
    assert_eq!(item.error.as_deref(), Some("no reason was given"));
}

#[test]
fn an_agent_that_cannot_be_started_counts_nothing_and_interrupts_the_run() {
    let (mut world, token) = World::running(PLAN);
    let report = Report {
        error: Some("claude: not found".to_owned()),
        program: ProgramReport {
            cannot_start: true,
            ..ProgramReport::default()
        },
        ..Report::with_outcome(Outcome::Interrupted)
    };
    world.work(token, "build/s1/a", report);
    let item = world.item("build/s1/a");
    assert_eq!((item.state, item.tries.retries), (ItemState::Ready, 0));
    assert_eq!(item.error, None, "it is no failure of the item");
    assert_eq!(world.state(), RunState::Interrupted);
    let reason = world.run_row().reason.clone();
    assert_eq!(reason.as_deref(), Some("claude: not found"));
}

// Trying again.

#[test]
fn trying_a_node_again_makes_it_ready_with_fresh_retries() {
    let (mut world, token) = World::running(PLAN);
    for wait_s in [2, 10, 60, 0] {
        world.work(
            token,
            "build/s1/a",
            failure(FailureCategory::Timeout, "timed out"),
        );
        world.pass(wait_s);
    }
    assert_eq!(world.item("build/s1/a").tries.retries, 3);
    world.retry("build/s1/a");
    assert_eq!(world.item("build/s1/a").tries.retries, 0);
    assert_eq!(
        world.states(&["build", "build/s1", "build/s1/a"]),
        ["working", "working", "ready"]
    );
    assert_eq!(world.state(), RunState::Interrupted);
    assert_eq!(world.tables.open_decisions(world.run).count(), 0);
}

#[test]
fn trying_a_step_or_a_phase_again_resets_what_failed_below_and_nothing_else() {
    for at in ["build", "build/s1"] {
        let (mut world, token) = World::running(PLAN);
        world.skip("build/s2");
        world.complete(token, "build/s1/a");
        world.fail(token, "build/s1/b");
        world.retry(at);
        assert_eq!(
            world.states(&["build/s1/a", "build/s1/b", "build/s2"]),
            ["done", "ready", "skipped"]
        );
        assert_eq!(world.state(), RunState::Interrupted);
    }
}

#[test]
fn what_waits_for_a_time_may_be_tried_again_at_once() {
    let (mut world, token) = World::running(PLAN);
    world.work(
        token,
        "build/s1/a",
        failure(FailureCategory::Network, "no route"),
    );
    world.retry("build/s1/a");
    let item = world.item("build/s1/a");
    assert_eq!((item.state, item.tries.until), (ItemState::Ready, None));
    world.complete(token, "build/s1/a");
}

#[test]
fn what_comes_back_below_a_phase_that_has_not_begun_has_not_begun_either() {
    let mut world = World::planned("build\n  step\n    part\n  last");
    let nodes = ["build", "build/step", "build/step/part"];
    world.skip("build/step");
    assert_eq!(world.states(&nodes), ["ready", "skipped", "skipped"]);
    world.retry("build/step/part");
    assert_eq!(world.states(&nodes), ["ready", "ready", "ready"]);
}

#[test]
fn a_phase_that_was_left_out_comes_back_whole() {
    let (mut world, token) = World::running(PLAN);
    world.skip("build");
    world.retry("build");
    assert_eq!(
        world.states(&["build", "build/s1/a", "build/s1/b", "build/s2"]),
        ["working", "ready", "pending", "pending"]
    );
    world.complete(token, "build/s1/a");
}

// Needing a person.

#[test]
fn an_agent_that_needs_a_person_makes_the_run_wait_and_its_question_is_asked() {
    let (mut world, token) = World::running(PLAN);
    world.work(token, "build/s1/a", needs_human("which database?"));
    assert_eq!(world.item("build/s1/a").state, ItemState::Waiting);
    assert_eq!(world.state(), RunState::Waiting);
    assert_eq!(world.run_row().at, Some(node("build/s1/a")));
    let question = world.tables.decision(world.question()).expect("asked");
    assert_eq!(question.kind, DecisionKind::HumanNeeded);
    assert_eq!(question.question, "which database?");
    assert_eq!(question.number, 1);
}

#[test]
fn an_answer_reaches_the_next_agent_and_is_gone_when_the_node_is_done() {
    let (mut world, token) = World::running(PLAN);
    world.work(token, "build/s1/a", needs_human("which database?"));
    world.decide(Verb::Answer, Some(" the small one "));
    assert_eq!(world.state(), RunState::Interrupted);
    let item = world.item("build/s1/a");
    assert_eq!((item.state, &item.people.human), (ItemState::Ready, &None));
    assert_eq!(item.people.answer.as_deref(), Some("the small one"));
    world.holder_gone = true;
    let token = world.start();
    world.complete(token, "build/s1/a");
    assert_eq!(world.item("build/s1/a").people.answer, None);
}

#[test]
fn every_word_of_a_person_reaches_the_next_agent() {
    type Way = fn(&mut World, &str);
    let ways: [(&str, Way); 3] = [
        ("retry", |w, why| w.decide(Verb::Retry, Some(why))),
        ("answer", |w, why| w.decide(Verb::Answer, Some(why))),
        ("plan retry", |w, why| {
            w.ok(Command::RetryItem {
                run: w.run,
                node: node("build/s1/a"),
                why: Some(why.to_owned()),
            });
        }),
    ];
    for (name, way) in ways {
        let (mut world, token) = World::running(PLAN);
        world.fail(token, "build/s1/a");
        way(&mut world, "add the crate first");
        let item = world.item("build/s1/a");
        assert_eq!(
            item.people.answer.as_deref(),
            Some("add the crate first"),
            "{name}"
        );
        world.holder_gone = true;
        let token = world.start();
        world.fail(token, "build/s1/a");
        way(&mut world, "with its feature");
        let item = world.item("build/s1/a");
        let both = Some("add the crate first\n\nwith its feature");
        assert_eq!(item.people.answer.as_deref(), both, "{name}");
    }
}

#[test]
fn a_question_is_settled_by_any_of_its_ways() {
    type Way = fn(&mut World);
    let ways: [(&str, Way, ItemState); 5] = [
        ("retry", |w| w.decide(Verb::Retry, None), ItemState::Ready),
        ("skip", |w| w.decide(Verb::Skip, None), ItemState::Skipped),
        ("plan retry", |w| w.retry("build/s1/a"), ItemState::Ready),
        ("plan skip", |w| w.skip("build/s1/a"), ItemState::Skipped),
        ("of the phase", |w| w.skip("build"), ItemState::Skipped),
    ];
    for (name, way, expected) in ways {
        for report in [
            needs_human("how?"),
            failure(FailureCategory::Logic, "it broke"),
        ] {
            let (mut world, token) = World::running(PLAN);
            world.work(token, "build/s1/a", report);
            way(&mut world);
            assert_eq!(world.state(), RunState::Interrupted, "{name}");
            assert_eq!(world.item("build/s1/a").state, expected, "{name}");
            assert_eq!(world.tables.open_decisions(world.run).count(), 0);
        }
    }
}

#[test]
fn each_kind_of_question_takes_the_verbs_that_fit_it() {
    let all = [Verb::Approve, Verb::Answer, Verb::Retry, Verb::Skip];
    for (kind, fits) in [
        (DecisionKind::HumanNeeded, [false, true, true, true]),
        (DecisionKind::BlockedNode, [false, true, true, true]),
        (DecisionKind::Breakpoint, [true, false, false, false]),
    ] {
        for (verb, fits) in all.into_iter().zip(fits) {
            let (mut world, token) = World::running("build break\nrelease");
            match kind {
                DecisionKind::HumanNeeded => world.work(token, "build", needs_human("how?")),
                DecisionKind::Claim => unreachable!("see `claims`"),
                DecisionKind::MergeNeeded => unreachable!("see `merging`"),
                DecisionKind::BlockedNode => world.fail(token, "build"),
                DecisionKind::Breakpoint => world.complete(token, "build"),
                DecisionKind::FileConflict => unreachable!("see `editing`"),
                DecisionKind::DoubtedMemory | DecisionKind::UnconfirmedMemory => {
                    unreachable!("see `remembering`")
                }
                DecisionKind::Question => unreachable!("see `asking`"),
                DecisionKind::Request => unreachable!("see `requests`"),
                DecisionKind::Review => unreachable!("see `merges`"),
                DecisionKind::Wait => unreachable!("see `waits`"),
                DecisionKind::Approval => unreachable!("see `approval`"),
                DecisionKind::InHand => unreachable!("see `by_hand`"),
                DecisionKind::PullRequest => unreachable!("see `pull_requests`"),
                DecisionKind::AgentReview => unreachable!("see `agent_review`"),
                DecisionKind::ClaimedItems | DecisionKind::AgentEdit => {
                    unreachable!("see `marks`")
                }
            }
            let command = world.answer_to(world.question(), verb, Some("because"));
            let result = world.commit(&command);
            if fits {
                assert!(result.is_ok(), "{kind:?} {verb}: {result:?}");
                assert_eq!(world.state(), RunState::Interrupted);
            } else {
                let fits = kind.allowed_verbs().to_vec();
                assert_eq!(result, Err(Refusal::WrongVerb { kind, verb, fits }));
            }
        }
    }
}

#[test]
fn an_answer_without_words_is_refused() {
    let (mut world, token) = World::running(PLAN);
    world.work(token, "build/s1/a", needs_human("how?"));
    for words in [None, Some("  ")] {
        let command = world.answer_to(world.question(), Verb::Answer, words);
        assert_eq!(world.refused(command), Refusal::EmptyAnswer);
    }
}

#[test]
fn what_is_decided_is_decided_once() {
    let (mut world, token) = World::running(PLAN);
    world.work(token, "build/s1/a", needs_human("how?"));
    let question = world.question();
    world.decide(Verb::Skip, None);
    let again = world.answer_to(question, Verb::Retry, None);
    assert_eq!(
        world.refused(again),
        Refusal::Decided {
            number: 1,
            verb: Verb::Skip
        }
    );
}

#[test]
fn a_question_that_nobody_asked_cannot_be_decided() {
    let (mut world, _) = World::running(PLAN);
    let decision = DecisionId(uuid::Uuid::from_u128(7));
    let command = Command::Decide {
        decision,
        run: world.run,
        verb: Verb::Retry,
        why: None,
    };
    assert_eq!(
        world.refused(command),
        Refusal::NoSuchDecision(decision.to_string())
    );
}

#[test]
fn numbers_of_questions_never_come_twice() {
    let (mut world, mut token) = World::running("build\nrelease");
    world.holder_gone = true;
    for expected in 1..4 {
        world.fail(token, "build");
        let row = world.tables.decision(world.question()).expect("asked");
        assert_eq!(row.number, expected);
        world.decide(Verb::Retry, None);
        token = world.start();
    }
}

// Leaving out.

#[test]
fn leaving_out_a_phase_leaves_out_all_that_is_not_done_below_it() {
    let (mut world, token) = World::running(PLAN);
    world.complete(token, "build/s1/a");
    world.skip("build");
    assert_eq!(
        world.states(&["build", "build/s1", "build/s1/a", "build/s1/b", "build/s2"]),
        ["skipped", "skipped", "done", "skipped", "skipped"]
    );
    assert_eq!(world.next(), Some("release"));
}

#[test]
fn leaving_out_the_last_open_child_completes_its_parents() {
    let (mut world, token) = World::running(PLAN);
    world.complete(token, "build/s1/a");
    world.skip("build/s1/b");
    assert_eq!(world.item("build/s1").state, ItemState::Done);
    world.skip("build/s2");
    assert_eq!(world.item("build").state, ItemState::Done);
}

#[test]
fn leaving_out_all_children_before_any_was_started_leaves_out_their_parents() {
    let (mut world, _) = World::running(PLAN);
    for at in ["build/s1/a", "build/s1/b", "build/s2"] {
        world.skip(at);
    }
    assert_eq!(world.states(&["build", "build/s1"]), ["skipped"; 2]);
}

#[test]
fn an_agent_that_works_on_what_is_left_out_ends_first() {
    for at in ["build/s1/a", "build/s1", "build"] {
        for outcome in [
            Outcome::Completed,
            Outcome::Failed,
            Outcome::NeedsHuman,
            Outcome::Blocked,
            Outcome::Interrupted,
        ] {
            let (mut world, token) = World::running(PLAN);
            let attempt = world.begin(token, "build/s1/a");
            world.skip(at);
            assert!(world.item("build/s1/a").people.skip_asked);
            assert_eq!(world.item("build/s1/a").state, ItemState::Working);
            world.end(token, "build/s1/a", attempt, Report::with_outcome(outcome));
            assert_eq!(world.item("build/s1/a").state, ItemState::Skipped);
            assert_eq!(world.item(at).state, ItemState::Skipped, "{at}");
            assert_eq!(world.state(), RunState::Running, "nobody is asked");
        }
    }
}

#[test]
fn asking_twice_to_leave_out_what_is_being_worked_on_says_nothing_new() {
    let (mut world, token) = World::running(PLAN);
    world.begin(token, "build/s1/a");
    world.skip("build/s1");
    let before = world.journal.len();
    world.skip("build/s1");
    assert_eq!(world.journal.len(), before);
}

#[test]
fn leaving_out_a_failed_child_lets_its_parents_go_on() {
    let (mut world, token) = World::running(PLAN);
    world.complete(token, "build/s1/a");
    world.fail(token, "build/s1/b");
    world.skip("build/s1/b");
    assert_eq!(world.state(), RunState::Interrupted);
    assert_eq!(world.states(&["build", "build/s1"]), ["working", "done"]);
    world.holder_gone = true;
    let token = world.start();
    world.complete(token, "build/s2");
    assert_eq!(world.item("build").state, ItemState::Done);
}

#[test]
fn leaving_out_the_only_thing_that_failed_completes_a_run() {
    let (mut world, token) = World::running("build\n  s1\n  s2");
    world.complete(token, "build/s1");
    world.fail(token, "build/s2");
    world.skip("build/s2");
    assert_eq!(world.item("build").state, ItemState::Done);
    assert_eq!(world.state(), RunState::Done);
}

#[test]
fn leaving_out_everything_completes_a_running_run() {
    let (mut world, _) = World::running(PLAN);
    world.skip("build");
    world.skip("release");
    assert_eq!(world.state(), RunState::Done);
}

// Asking a runner.

#[test]
fn a_pause_is_asked_of_a_live_runner_and_met_by_it() {
    let (mut world, token) = World::running(PLAN);
    let run = world.run;
    world.ok(Command::AskPause { run });
    assert_eq!(world.state(), RunState::Running);
    assert!(world.run_row().invocation.asked.is_some());
    let pause = piton_core::run::Pause::Person {
        by: "ada".to_owned(),
    };
    world.ok(Command::PauseRun { run, token, pause });
    assert_eq!(world.run_row().invocation.asked, None);
}

#[test]
fn a_pause_of_a_dead_runners_run_takes_effect_at_once() {
    let (mut world, _) = World::running(PLAN);
    let run = world.run;
    world.holder_gone = true;
    world.ok(Command::AskPause { run });
    assert_eq!(world.state(), RunState::Paused);
    assert_eq!(world.run_row().holder, None);
}

#[test]
fn a_pause_that_was_asked_of_a_runner_that_died_is_asked_of_the_next_one() {
    type Between = fn(&mut World);
    let between: [(&str, Between); 3] = [
        ("nothing", |_| {}),
        ("a skip", |world| world.skip("release")),
        ("a retry", |world| {
            world.ok(retry_item(world.run, "build/s2"));
        }),
    ];
    for (name, between) in between {
        let (mut world, _) = World::running(PLAN);
        let run = world.run;
        world.skip("build/s2");
        world.ok(Command::AskPause { run });
        world.holder_gone = true;
        between(&mut world);
        world.start();
        assert!(world.run_row().invocation.asked.is_some(), "{name}");
    }
}

#[test]
fn a_pause_outlasts_the_question_with_which_the_work_ended() {
    for resumes in [false, true] {
        let (mut world, token) = World::running("build");
        let run = world.run;
        let attempt = world.begin(token, "build");
        world.ok(Command::AskPause { run });
        world.end(token, "build", attempt, needs_human("which port?"));
        assert_eq!(world.state(), RunState::Waiting);
        if resumes {
            world.ok(Command::ResumeRun { run });
            assert_eq!(world.state(), RunState::Waiting);
        }
        world.ok(Command::ReleaseRun { run, token });
        world.decide(Verb::Answer, Some("80"));
        match resumes {
            true => assert_eq!(world.state(), RunState::Interrupted),
            false => {
                let by = "ada".to_owned();
                assert_eq!(
                    world.run_row().pause,
                    Some(piton_core::run::Pause::Person { by })
                );
                world.ok(Command::ResumeRun { run });
            }
        }
        world.start();
        assert_eq!(world.run_row().invocation.asked, None);
    }
}

#[test]
fn a_resume_takes_back_a_pause_that_nobody_met() {
    let (mut world, _) = World::running(PLAN);
    let run = world.run;
    world.ok(Command::AskPause { run });
    world.holder_gone = true;
    world.ok(Command::ResumeRun { run });
    world.start();
    assert_eq!(world.run_row().invocation.asked, None);
}

#[test]
fn a_stop_of_a_dead_runners_run_interrupts_it() {
    let (mut world, _) = World::running(PLAN);
    let run = world.run;
    world.holder_gone = true;
    world.ok(Command::AskStop { run });
    assert_eq!(world.state(), RunState::Interrupted);
    assert_eq!(world.run_row().reason.as_deref(), Some("its runner died"));
}

#[test]
fn what_people_do_is_signed_with_their_name() {
    let (mut world, token) = World::running(PLAN);
    world.fail(token, "build/s1/a");
    let question = world.question();
    world.decide(Verb::Retry, Some("the server is back"));
    let verdict = world
        .tables
        .decision(question)
        .and_then(|row| row.verdict.clone())
        .expect("it was decided");
    assert_eq!(verdict.by, "person:ada");
    assert_eq!(verdict.why.as_deref(), Some("the server is back"));
    let made = world
        .journal
        .iter()
        .filter(|recorded| matches!(recorded.event, Event::Decision(DecisionEvent::Made { .. })));
    assert_eq!(made.count(), 1);
}

#[test]
fn a_finished_item_is_not_left_out_a_second_time() {
    let (mut world, token) = World::running(PLAN);
    world.complete(token, "build/s1/a");
    let refusal = world.refused(skip_item(world.run, "build/s1/a"));
    assert!(matches!(
        refusal,
        Refusal::ItemState {
            state: ItemState::Done,
            ..
        }
    ));
}

#[test]
fn leaving_out_something_else_leaves_a_failure_showing() {
    let (mut world, token) = World::running(PLAN);
    world.fail(token, "build/s1/a");
    world.skip("build/s1/b");
    assert_eq!(
        world.states(&["build", "build/s1", "build/s1/a", "build/s1/b"]),
        ["failed", "failed", "failed", "skipped"]
    );
    assert_eq!(world.state(), RunState::Blocked);
    world.skip("build/s1/a");
    assert_eq!(world.states(&["build", "build/s1"]), ["working", "done"]);
}

#[test]
fn nothing_is_begun_once_somebody_has_asked_to_stop() {
    let (mut world, token) = World::running(PLAN);
    let run = world.run;
    world.ok(Command::AskStop { run });
    let attempt = world.fresh_attempt();
    let late =
        crate::world::start_attempt(run, token, attempt, "build/s1/a", piton_core::Role::Worker);
    assert!(matches!(world.refused(late), Refusal::RunState { .. }));
    world.ok(Command::InterruptRun {
        run,
        token,
        reason: "stopped".to_owned(),
    });
    assert_eq!(
        world.run_row().invocation.iterations,
        0,
        "nothing was started"
    );
}
