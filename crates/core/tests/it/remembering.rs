//! What the memory learns from work: learnings from what was noticed, once;
//! whether what a prompt carried helped; how what was in the way was resolved.

use piton_core::attempt::{Outcome, Report, ReportedAttempt};
use piton_core::classify::FailureCategory;
use piton_core::command::{ImportPolicy, ImportedFile, ImportedRecord};
use piton_core::entry::{Entry, EntryType};
use piton_core::event::{AttemptEvent, DecisionEvent};
use piton_core::memory::{Memory, MemoryKind, MemoryRow};
use piton_core::observation::{ActionTaken, Observation, ObservationKind};
use piton_core::policy::Policy;
use piton_core::{Command, DecodedRecord, Event, Role, RunId, Verb};

use crate::world::{World, failure, needs_human, node, start_attempt, tried_once};

const CONTENT: &str = "The importer of lots needs `make gen` before its tests run";
const SAME: &str = "the importer of lots needs make gen, before its tests run!";

fn documented(text: &str) -> Observation {
    Observation {
        description: Some(text.to_owned()),
        action_taken: Some(ActionTaken::Documented),
        ..Observation::bare(ObservationKind::Finding, "importer")
    }
}

fn told(world: &mut World, item: &str, seen: Vec<Observation>) -> Vec<DecodedRecord> {
    let attempt = world.fresh_attempt();
    world.ok(Command::TellAttempt(Box::new(ReportedAttempt {
        attempt,
        run: RunId::PROJECT,
        node: node(item),
        item: item.to_owned(),
        number: None,
        name: None,
        agent: "ada".to_owned(),
        ended_at: None,
        report: Box::new(Report {
            observations: seen,
            ..Report::with_outcome(Outcome::Completed)
        }),
        native: None,
    })))
}

fn row<'w>(world: &'w World, id: &str) -> &'w MemoryRow {
    world.tables.find_memory(id).expect("it is remembered")
}

fn kinds(events: &[DecodedRecord]) -> Vec<&'static str> {
    let kinds = events.iter().map(|recorded| recorded.event.kind());
    kinds.filter(|kind| kind.starts_with("memory")).collect()
}

#[test]
fn what_is_noticed_twice_is_one_learning_with_two_sources() {
    let mut world = World::empty();
    let events = told(&mut world, "lots", vec![documented(CONTENT)]);
    assert_eq!(kinds(&events), ["memory-added"]);
    let related = |events: &[DecodedRecord]| -> Vec<String> {
        let told = events.iter().find_map(|recorded| match &recorded.event {
            Event::Attempt(AttemptEvent::Reported(told)) => Some(told.report.observations.clone()),
            _ => None,
        });
        let seen = told.expect("it was told");
        seen.into_iter()
            .filter_map(|seen| seen.related_learning_id)
            .collect()
    };
    assert_eq!(related(&events), ["learning-0001"]);
    let events = told(&mut world, "bills", vec![documented(SAME)]);
    assert_eq!(kinds(&events), ["memory-confirmed"]);
    assert_eq!(related(&events), ["learning-0001"]);
    let row = row(&world, "learning-0001");
    assert_eq!(row.memory.source_item.as_deref(), Some("lots"));
    assert_eq!(row.memory.source_attempt.as_deref(), Some("lots-1"));
    assert_eq!(row.again[0].item.as_deref(), Some("bills"));
    assert_eq!(row.again[0].attempt.as_deref(), Some("bills-1"));
    world.check();
}

#[test]
fn what_is_retired_may_be_learned_again() {
    let mut world = World::empty();
    told(&mut world, "lots", vec![documented(CONTENT)]);
    world.ok(Command::RetireMemory {
        id: "learning-0001".to_owned(),
        why: None,
        superseded_by: None,
    });
    let events = told(&mut world, "bills", vec![documented(CONTENT)]);
    assert_eq!(kinds(&events), ["memory-added"]);
    assert!(row(&world, "learning-0002").is_followed());
}

#[test]
fn something_may_only_be_superseded_by_something() {
    let mut world = World::empty();
    told(&mut world, "lots", vec![documented(CONTENT)]);
    let supersede = |by: &str| Command::RetireMemory {
        id: "learning-0001".to_owned(),
        why: None,
        superseded_by: Some(by.to_owned()),
    };
    world.refused(supersede("learning-0009"));
    world.refused(supersede("learning-0001"));
    let better = Memory::new(MemoryKind::Learning, "the importer makes its own code now");
    world.ok(Command::AddMemory(Box::new(better)));
    world.ok(supersede("learning-0002"));
    let retired = row(&world, "learning-0001")
        .retired
        .clone()
        .expect("retired");
    assert_eq!(retired.superseded_by.as_deref(), Some("learning-0002"));
}

#[test]
fn a_resolution_is_remembered_once() {
    let mut world = World::empty();
    let resolved = || {
        let entry = Entry::with_type(EntryType::DebugResolved)
            .with_text("issue", "no key for the register")
            .with_text("resolution", "ask ops for the key of the register");
        Command::LogEntry(Box::new(entry))
    };
    let events = world.ok(resolved());
    assert_eq!(kinds(&events), ["memory-added"]);
    let known = row(&world, "blocker-0001");
    assert_eq!(
        known.memory.title.as_deref(),
        Some("no key for the register")
    );
    assert_eq!(known.memory.content, "ask ops for the key of the register");
    let events = world.ok(resolved());
    assert_eq!(kinds(&events), ["memory-confirmed"]);
}

/// An attempt at `a` whose prompt carries a learning and a sign.
fn attempt_with(world: &mut World, token: u64, report: Report) -> Vec<DecodedRecord> {
    let attempt = world.fresh_attempt();
    let mut start = start_attempt(world.run, token, attempt, "a", Role::Worker);
    if let Command::StartAttempt { memories, .. } = &mut start {
        *memories = vec!["learning-0001".to_owned(), "sign-0001".to_owned()];
    }
    world.ok(start);
    let command = world.end_attempt(token, attempt, "a", report);
    world.ok(command)
}

fn world_with_advice() -> (World, u64) {
    let (mut world, token) = World::running("a");
    world.ok(Command::AddMemory(Box::new(Memory::new(
        MemoryKind::Learning,
        CONTENT,
    ))));
    let sign = Memory {
        title: Some("Ask first".to_owned()),
        ..Memory::new(MemoryKind::Guardrail, "ask before a migration")
    };
    world.ok(Command::AddMemory(Box::new(sign)));
    (world, token)
}

fn uses(world: &World, id: &str) -> (u64, u64, u64) {
    let uses = row(world, id).uses;
    (uses.referenced, uses.helped, uses.failed)
}

#[test]
fn what_a_prompt_carried_is_counted_at_the_start_and_judged_by_what_became_of_the_item() {
    for (report, expect) in [
        (Report::with_outcome(Outcome::Completed), (1, 1, 0)),
        (failure(FailureCategory::Logic, "no"), (1, 0, 1)),
        (Report::with_outcome(Outcome::Blocked), (1, 0, 1)),
        (needs_human("which one?"), (1, 0, 0)),
        (Report::with_outcome(Outcome::Interrupted), (1, 0, 0)),
    ] {
        let (mut world, token) = world_with_advice();
        attempt_with(&mut world, token, report);
        assert_eq!(uses(&world, "learning-0001"), expect);
        // Every prompt carries the signs: nothing is told of them by that.
        assert_eq!(uses(&world, "sign-0001"), (1, 0, 0));
        world.check();
    }
}

#[test]
fn what_repeats_the_prompt_is_an_echo_and_no_second_source() {
    let (mut world, token) = world_with_advice();
    let report = Report {
        observations: vec![documented(SAME)],
        ..Report::with_outcome(Outcome::Completed)
    };
    let events = attempt_with(&mut world, token, report);
    assert_eq!(kinds(&events), ["memory-judged"]);
    assert_eq!(row(&world, "learning-0001").again, []);
}

#[test]
fn what_a_person_answers_is_remembered_with_what_was_in_the_way() {
    let (mut world, token) = World::running("a");
    world.work(
        token,
        "a",
        failure(FailureCategory::Logic, "the register wants a key"),
    );
    world.decide(Verb::Answer, Some("use the key of the test register"));
    let known = row(&world, "blocker-0001");
    let title = known.memory.title.as_deref();
    assert_eq!(title, Some("the register wants a key"));
    assert_eq!(known.memory.content, "use the key of the test register");
    assert_eq!(known.memory.source_item.as_deref(), Some("a"));
    // Asked again, and answered again: it is known.
    let run = world.run;
    world.ok(Command::ContinueRun { run, token });
    world.work(
        token,
        "a",
        failure(FailureCategory::Logic, "the register wants a key"),
    );
    world.decide(Verb::Answer, Some("Use the key of the test register!"));
    assert_eq!(world.tables.memories().count(), 1);
    assert_eq!(row(&world, "blocker-0001").again.len(), 1);
    world.check();
}

#[test]
fn what_an_agent_asks_and_a_person_answers_is_remembered() {
    let (mut world, token) = World::running("a");
    world.work(token, "a", needs_human("which register?"));
    world.decide(Verb::Answer, Some("the one for tests"));
    let known = row(&world, "blocker-0001");
    assert_eq!(known.memory.title.as_deref(), Some("which register?"));
    world.check();
}

/// Judges the learning as failed so many times more.
fn fail_with_it(world: &mut World, token: u64, times: u32) -> Vec<DecodedRecord> {
    let run = world.run;
    for _ in 0..times {
        attempt_with(world, token, failure(FailureCategory::Logic, "no"));
        world.decide(Verb::Retry, None);
        world.ok(Command::ContinueRun { run, token });
    }
    world.ok(Command::DoubtMemories(vec!["learning-0001".to_owned()]))
}

fn asked(events: &[DecodedRecord]) -> Vec<piton_core::DecisionId> {
    let asked = events.iter().filter_map(|recorded| match &recorded.event {
        Event::Decision(DecisionEvent::Opened { decision, .. }) => Some(*decision),
        _ => None,
    });
    asked.collect()
}

fn decide(world: &mut World, decision: piton_core::DecisionId, verb: Verb) {
    world.ok(Command::Decide {
        decision,
        run: RunId::PROJECT,
        verb,
        why: None,
    });
}

#[test]
fn what_attempts_keep_failing_with_is_proposed_for_retirement() {
    let (mut world, token) = world_with_advice();
    assert_eq!(asked(&fail_with_it(&mut world, token, 2)), []);
    let questions = asked(&fail_with_it(&mut world, token, 1));
    let [question] = questions[..] else {
        panic!("{questions:?}");
    };
    // As long as nobody has answered nobody is asked again.
    assert_eq!(asked(&fail_with_it(&mut world, token, 1)), []);
    decide(&mut world, question, Verb::Approve);
    let retired = row(&world, "learning-0001").retired.clone();
    let why = retired.expect("it is retired").why;
    assert_eq!(why.as_deref(), Some("attempts kept failing with it"));
    assert_eq!(asked(&fail_with_it(&mut world, token, 4)), []);
    world.check();
}

#[test]
fn who_wants_it_followed_on_is_asked_again_when_twice_as_many_have_failed() {
    let (mut world, token) = world_with_advice();
    let questions = asked(&fail_with_it(&mut world, token, 3));
    decide(&mut world, questions[0], Verb::Skip);
    assert!(row(&world, "learning-0001").is_followed());
    assert_eq!(asked(&fail_with_it(&mut world, token, 2)), []);
    assert_eq!(asked(&fail_with_it(&mut world, token, 1)).len(), 1);
    world.check();
}

#[test]
fn a_commit_that_fails_says_nothing_of_what_helped_and_nothing_is_judged_twice() {
    let policy = Policy {
        auto_commit: true,
        ..tried_once()
    };
    let mut world = World::with_policy("a", policy);
    let token = world.start();
    world.ok(Command::AddMemory(Box::new(Memory::new(
        MemoryKind::Learning,
        CONTENT,
    ))));
    attempt_with(&mut world, token, Report::with_outcome(Outcome::Completed));
    let run = world.run;
    for _ in 0..2 {
        world.make_commit(token, "a", Err("the hook says no"));
        assert_eq!(uses(&world, "learning-0001"), (1, 0, 0));
        world.decide(Verb::Retry, None);
        world.ok(Command::ContinueRun { run, token });
    }
    world.make_commit(token, "a", Ok("c0ffee"));
    assert_eq!(uses(&world, "learning-0001"), (1, 1, 0));
    world.check();
}

#[test]
fn who_is_to_be_asked_need_not_answer_when_it_is_retired_by_hand() {
    let (mut world, token) = world_with_advice();
    fail_with_it(&mut world, token, 3);
    world.ok(Command::RetireMemory {
        id: "learning-0001".to_owned(),
        why: None,
        superseded_by: None,
    });
    assert_eq!(world.tables.open_decisions(RunId::PROJECT).count(), 0);
    world.check();
}

#[test]
fn sources_do_not_grow_without_end() {
    let mut world = World::empty();
    for item in 0..40 {
        told(
            &mut world,
            &format!("item-{item}"),
            vec![documented(CONTENT)],
        );
    }
    assert_eq!(row(&world, "learning-0001").again.len(), 20);
}

#[test]
fn a_resolution_in_a_file_that_is_known_is_not_remembered_again() {
    let mut world = World::empty();
    let resolved = |name: &str| {
        Entry {
            name: Some(name.to_owned()),
            at: Some("2024-01-15T12:00:00Z".to_owned()),
            ..Entry::with_type(EntryType::DebugResolved)
        }
        .with_text("issue", "no key for the register")
        .with_text("resolution", "ask ops for the key of the register")
    };
    for name in ["entry-a", "entry-b"] {
        world.ok(Command::TakeFile(Box::new(ImportedFile {
            path: ".agent-os/progress/progress.json".to_owned(),
            found: vec![ImportedRecord::Entry(Box::new(resolved(name)))],
            known: ImportPolicy::Ask,
            written: Vec::new(),
            by_person: Vec::new(),
        })));
    }
    assert_eq!(world.tables.memories().count(), 1);
    let learned = row(&world, "blocker-0001").learned_at();
    assert_eq!(learned.to_string(), "2024-01-15T12:00:00Z");
    world.check();
}

#[test]
fn what_an_agent_says_is_worth_knowing_is_kept_once_and_its_echo_not_at_all() {
    let mut world = World::empty();
    let notice = |content: &str, carried: &[&str]| Command::NoticeMemory {
        memory: Box::new(Memory {
            topic: Some("build-command".to_owned()),
            source_item: Some("lots".to_owned()),
            ..Memory::new(MemoryKind::Learning, content)
        }),
        carried: carried.iter().map(|id| (*id).to_owned()).collect(),
    };
    let first = world.ok(notice(CONTENT, &[]));
    assert_eq!(kinds(&first), ["memory-added"]);
    let second = world.ok(notice(SAME, &[]));
    assert_eq!(kinds(&second), ["memory-confirmed"]);
    let echo = world.ok(notice(SAME, &["learning-0001"]));
    assert!(echo.is_empty());
}
