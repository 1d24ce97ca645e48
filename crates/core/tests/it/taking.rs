//! What is taken in from the files of others: each thing once, whatever name
//! its writer gave it, and a person is asked once about what was changed.

use piton_core::event::{AttemptEvent, DecisionEvent, MemoryEvent, SessionEvent};
use std::time::{Duration, Instant};

use piton_core::attempt::{Outcome, Report, ReportedAttempt, Spend, Usage};
use piton_core::command::{ImportPolicy, ImportedFile, ImportedRecord};
use piton_core::entry::{Entry, EntryType};
use piton_core::memory::{KINDS, Memory, MemoryKind};
use piton_core::name::{FreeNumbers, NameRange};
use piton_core::{
    Actor, CallerFacts, Command, DecisionId, DecodedRecord, Event, HolderLiveness, Rows, RunId,
    Tables, decide,
};

use crate::world::{World, node};

fn take(world: &mut World, found: Vec<ImportedRecord>) -> Vec<DecodedRecord> {
    world.ok(Command::TakeFile(Box::new(ImportedFile {
        path: ".ralph/progress.json".to_owned(),
        found,
        known: ImportPolicy::Ask,
        written: Vec::new(),
        by_person: Vec::new(),
    })))
}

/// An attempt as a file tells of it.
fn told(world: &mut World, name: &str, at: Option<&str>, summary: &str) -> ImportedRecord {
    ImportedRecord::Attempt(Box::new(ReportedAttempt {
        attempt: world.fresh_attempt(),
        run: RunId::PROJECT,
        node: node("auth"),
        item: "auth".to_owned(),
        number: None,
        name: Some(name.to_owned()),
        agent: "file".to_owned(),
        ended_at: at.map(|at| at.parse().expect("a time")),
        report: Box::new(Report {
            summary: Some(summary.to_owned()),
            ..Report::with_outcome(Outcome::Completed)
        }),
        native: None,
    }))
}

fn entry(name: &str, at: &str, description: &str) -> ImportedRecord {
    ImportedRecord::Entry(Box::new(Entry {
        name: Some(name.to_owned()),
        at: Some(at.to_owned()),
        ..Entry::with_type(EntryType::TaskCompleted).with_text("description", description)
    }))
}

fn learning(id: &str, content: &str) -> ImportedRecord {
    ImportedRecord::Memory(Box::new(Memory {
        id: Some(id.to_owned()),
        ..Memory::new(MemoryKind::Learning, content)
    }))
}

/// The names under which attempts and entries were kept.
fn names(events: &[DecodedRecord]) -> Vec<String> {
    let name = |recorded: &DecodedRecord| match &recorded.event {
        Event::Attempt(AttemptEvent::Reported(told)) => told.name.clone(),
        Event::Session(SessionEvent::EntryLogged(entry)) => entry.name.clone(),
        _ => None,
    };
    events.iter().filter_map(name).collect()
}

fn questions(events: &[DecodedRecord]) -> usize {
    let is_question = |recorded: &&DecodedRecord| {
        matches!(
            recorded.event,
            Event::Decision(DecisionEvent::Opened { .. })
        )
    };
    events.iter().filter(is_question).count()
}

const NOON: &str = "2026-01-15T12:00:00Z";
const LATER: &str = "2026-01-15T12:00:07Z";

#[test]
fn a_name_that_is_taken_gets_a_number_once_however_often_it_is_found() {
    let mut world = World::empty();
    let found = |world: &mut World| {
        let first = told(world, "auth-1", Some(NOON), "one");
        let second = told(world, "auth-1", Some(LATER), "two");
        let third = told(world, "auth-1", None, "three");
        vec![first, second, third]
    };
    let all = found(&mut world);
    assert_eq!(
        names(&take(&mut world, all)),
        ["auth-1", "auth-1-2", "auth-1-3"]
    );
    for _ in 0..3 {
        let mut all = found(&mut world);
        all.reverse();
        let events = take(&mut world, all);
        assert!(events.is_empty(), "{events:?}");
    }
    let entries = || {
        vec![
            entry("entry-a", NOON, "one"),
            entry("entry-a", LATER, "two"),
        ]
    };
    assert_eq!(
        names(&take(&mut world, entries())),
        ["entry-a", "entry-a-2"]
    );
    assert!(take(&mut world, entries()).is_empty());
    world.check();
}

#[test]
fn two_things_of_one_name_and_one_second_are_two_where_their_writer_is_more_exact() {
    let mut world = World::empty();
    let first = told(
        &mut world,
        "auth-1",
        Some("2026-01-15T12:00:00.100200300Z"),
        "one",
    );
    let second = told(
        &mut world,
        "auth-1",
        Some("2026-01-15T12:00:00.700Z"),
        "two",
    );
    let events = take(&mut world, vec![first, second]);
    assert_eq!(names(&events), ["auth-1", "auth-1-2"]);
    assert_eq!(questions(&events), 0);
}

/// Whoever counts gives a name that another gives in the same moment.
#[test]
fn two_things_of_one_name_and_one_millisecond_are_two_where_their_writer_is_more_exact() {
    let mut world = World::empty();
    let known = "2026-01-15T12:00:00.356802Z";
    let known = told(&mut world, "auth-1", Some(known), "piton's");
    take(&mut world, vec![known]);
    for (said, expect) in [
        // As piton shows its own time, and as it knows it: somebody's edit.
        ("2026-01-15T12:00:00.356Z", (1, 0)),
        // The question tells both values: other words are another question.
        ("2026-01-15T12:00:00Z", (1, 0)),
        ("2026-01-15T12:00:00.356963123Z", (0, 1)),
        ("2026-01-15T12:00:00.356801Z", (0, 1)),
    ] {
        let other = told(&mut world, "auth-1", Some(said), &format!("at {said}"));
        let events = take(&mut world, vec![other]);
        assert_eq!((questions(&events), names(&events).len()), expect, "{said}");
    }
}

#[test]
fn the_same_name_and_second_with_other_contents_is_asked_about_once() {
    let mut world = World::empty();
    let first = told(&mut world, "auth-1", Some(NOON), "one");
    take(&mut world, vec![first, entry("entry-a", NOON, "one")]);
    let edited = |world: &mut World| {
        let edited = told(world, "auth-1", Some(NOON), "two");
        vec![edited, entry("entry-a", NOON, "two")]
    };
    let found = edited(&mut world);
    let events = take(&mut world, found);
    assert_eq!((questions(&events), names(&events).len()), (1, 0));
    for _ in 0..3 {
        let found = edited(&mut world);
        let events = take(&mut world, found);
        assert!(events.is_empty(), "{events:?}");
    }
    world.check();
}

#[test]
fn what_has_no_time_is_kept_once() {
    let mut world = World::empty();
    for round in 0..3 {
        let found = told(&mut world, "auth-1", None, "one");
        let events = take(&mut world, vec![found]);
        assert_eq!(
            names(&events).len(),
            usize::from(round == 0),
            "{round}: {events:?}"
        );
        let marked = Entry {
            mark: Some("agent-os:0123".to_owned()),
            ..Entry::with_type(EntryType::TaskCompleted)
        };
        let events = take(&mut world, vec![ImportedRecord::Entry(Box::new(marked))]);
        assert_eq!(
            names(&events).len(),
            usize::from(round == 0),
            "{round}: {events:?}"
        );
    }
}

#[test]
fn case_5_two_learnings_from_one_output_have_different_ids() {
    let mut world = World::empty();
    let learning = |text: &str| {
        let memory = Memory::new(MemoryKind::Learning, text.to_owned());
        ImportedRecord::Memory(Box::new(memory))
    };
    let events = take(&mut world, vec![learning("one"), learning("two")]);
    let ids: Vec<_> = events
        .iter()
        .filter_map(|recorded| match &recorded.event {
            Event::Memory(MemoryEvent::Added(memory)) => memory.id.as_deref(),
            _ => None,
        })
        .collect();
    assert_eq!(ids, ["learning-0001", "learning-0002"]);
}

#[test]
fn two_things_of_one_name_in_one_file_are_both_kept_though_their_time_is_the_same() {
    let mut world = World::empty();
    let found = |world: &mut World| {
        let attempts = ["one", "two"].map(|words| told(world, "auth-1", Some(NOON), words));
        let entries = ["one", "two"].map(|words| entry("entry-1", NOON, words));
        let learned = ["one", "two"].map(|words| learning("learning-0001", words));
        let all = attempts.into_iter().chain(entries).chain(learned);
        all.collect::<Vec<_>>()
    };
    let all = found(&mut world);
    let first = take(&mut world, all);
    assert_eq!(
        names(&first),
        ["auth-1", "auth-1-2", "entry-1", "entry-1-2"]
    );
    assert_eq!(questions(&first), 0);
    let ids: Vec<_> = world.tables.memories().map(|row| row.id.clone()).collect();
    assert_eq!(ids, ["learning-0001", "learning-0002"]);
    // In whatever order they are found, they are what they are.
    for _ in 0..3 {
        let mut all = found(&mut world);
        assert_eq!(take(&mut world, all.clone()), []);
        all.reverse();
        assert_eq!(take(&mut world, all), []);
    }
}

#[test]
fn of_two_things_of_one_name_the_one_that_was_edited_is_revised_wherever_it_stands() {
    let mut world = World::empty();
    let found = |world: &mut World, words: [&str; 2]| {
        let attempts = words.map(|words| told(world, "auth-1", Some(NOON), words));
        let entries = words.map(|words| entry("entry-1", NOON, words));
        let learned = words.map(|words| learning("learning-0001", words));
        let all = attempts.into_iter().chain(entries).chain(learned);
        all.collect::<Vec<_>>()
    };
    let all = found(&mut world, ["one", "two"]);
    take(&mut world, all);
    let edited = found(&mut world, ["two", "one, mended"]);
    let events = take(&mut world, edited.clone());
    assert_eq!((questions(&events), names(&events).len()), (1, 0));
    let command = Command::TakeFile(Box::new(ImportedFile {
        path: ".ralph/progress.json".to_owned(),
        found: edited.clone(),
        known: ImportPolicy::Take,
        written: Vec::new(),
        by_person: Vec::new(),
    }));
    let events = world.ok(command);
    let kinds: Vec<_> = events.iter().map(|recorded| &recorded.event).collect();
    assert!(
        matches!(
            kinds[..],
            [
                Event::Attempt(AttemptEvent::Revised(_)),
                Event::Session(SessionEvent::EntryRevised { .. }),
                Event::Memory(MemoryEvent::Revised(_)),
                Event::Memory(MemoryEvent::Reworded { .. }),
            ]
        ),
        "{events:?}"
    );
    let attempts: Vec<_> = world
        .tables
        .attempts()
        .filter_map(|row| row.report.as_ref()?.summary.as_deref())
        .collect();
    assert_eq!(attempts, ["one, mended", "two"]);
    let entries = world.tables.entries();
    let entries: Vec<_> = entries
        .map(|row| row.entry.data["description"].clone())
        .collect();
    assert_eq!(entries, ["one, mended", "two"]);
    let learned: Vec<_> = world
        .tables
        .memories()
        .map(|row| row.memory.content.as_str())
        .collect();
    assert_eq!(learned, ["one, mended", "two"]);
    assert_eq!(take(&mut world, edited), []);
}

#[test]
fn what_is_followed_again_in_the_file_is_asked_about() {
    let mut world = World::empty();
    take(&mut world, vec![learning("learning-0001", "use make")]);
    world.ok(Command::RetireMemory {
        superseded_by: None,
        id: "learning-0001".to_owned(),
        why: None,
    });
    let told = take(&mut world, vec![learning("learning-0001", "use make")]);
    assert_eq!(questions(&told), 1);
    let command = Command::TakeFile(Box::new(ImportedFile {
        path: ".ralph/progress.json".to_owned(),
        found: vec![learning("learning-0001", "use make")],
        known: ImportPolicy::Take,
        written: Vec::new(),
        by_person: Vec::new(),
    }));
    world.ok(command);
    let rows: Vec<_> = world
        .tables
        .memories()
        .map(|row| (row.id.as_str(), row.retired.is_some()))
        .collect();
    assert_eq!(rows, [("learning-0001", true), ("learning-0002", false)]);
}

#[test]
fn another_duration_is_asked_about() {
    let mut world = World::empty();
    let took = |world: &mut World, seconds| {
        let mut found = told(world, "auth-1", Some(NOON), "one");
        if let ImportedRecord::Attempt(told) = &mut found {
            told.report.program.duration_s = Some(seconds);
        }
        vec![found]
    };
    let first = took(&mut world, 30);
    take(&mut world, first);
    let same = took(&mut world, 30);
    assert_eq!(take(&mut world, same), []);
    let other = took(&mut world, 99);
    assert_eq!(questions(&take(&mut world, other)), 1);
}

/// A file has no place for where something was imported from, an import none
/// for what only the file has.
#[test]
fn what_one_source_cannot_say_of_a_memory_the_other_does_not_lose() {
    let mut world = World::empty();
    let imported = |content: &str| {
        let memory = Memory {
            external_id: Some("mem_1".to_owned()),
            ..Memory::new(MemoryKind::Learning, content)
        };
        Command::ImportMemories(vec![memory])
    };
    world.ok(imported("steam it"));
    let found = Memory {
        id: Some("learning-0001".to_owned()),
        topic: Some("tool-usage".to_owned()),
        evidence: Some("the keel".to_owned()),
        ..Memory::new(MemoryKind::Learning, "soak it")
    };
    world.ok(Command::TakeFile(Box::new(ImportedFile {
        path: ".ralph/progress.json".to_owned(),
        found: vec![ImportedRecord::Memory(Box::new(found))],
        known: ImportPolicy::Take,
        written: Vec::new(),
        by_person: Vec::new(),
    })));
    let row = |world: &World| {
        let row = world.tables.find_memory("learning-0001");
        row.expect("it is remembered").memory.clone()
    };
    let revised = row(&world);
    assert_eq!(revised.content, "soak it");
    assert_eq!(revised.external_id.as_deref(), Some("mem_1"));
    world.ok(imported("dry it"));
    let again = row(&world);
    assert_eq!(again.content, "dry it");
    assert_eq!(again.topic.as_deref(), Some("tool-usage"));
    assert_eq!(again.evidence.as_deref(), Some("the keel"));
    assert_eq!(world.ok(imported("dry it")), []);
    world.check();
}

#[test]
fn what_an_attempt_used_is_not_taken_back_by_a_file_that_says_nothing_of_it() {
    let mut world = World::empty();
    let usage = Usage {
        input_tokens: Some(1_200),
        cost_usd: Some(0.42),
        ..Usage::default()
    };
    let ImportedRecord::Attempt(mut recorded) = told(&mut world, "auth-1", Some(NOON), "one")
    else {
        unreachable!("it is one")
    };
    recorded.report.program.usage = usage.clone();
    world.ok(Command::TellAttempt(recorded));
    let edited = vec![told(&mut world, "auth-1", Some(NOON), "one, mended")];
    let events = world.ok(Command::TakeFile(Box::new(ImportedFile {
        path: ".ralph/progress.json".to_owned(),
        found: edited,
        known: ImportPolicy::Take,
        written: Vec::new(),
        by_person: Vec::new(),
    })));
    assert!(matches!(
        events[0].event,
        Event::Attempt(AttemptEvent::Revised(_))
    ));
    let report = world.tables.attempts().find_map(|row| row.report.clone());
    let report = report.expect("it is over");
    assert_eq!(report.summary.as_deref(), Some("one, mended"));
    assert_eq!(report.program.usage, usage);
    // The project's own run counts what no plan has.
    let own = world.tables.run(RunId::PROJECT).expect("it has a row");
    assert_eq!(own.spent.spend, Spend::from_usage(&usage));
    world.check();
}

/// Makes the thing of that number.
type MakeFound = fn(usize) -> ImportedRecord;

/// How long it takes to decide on so many things of a file that is new.
#[expect(clippy::disallowed_methods, reason = "a budget is measured")]
fn time_to_take(count: usize, found: MakeFound) -> Duration {
    let command = Command::TakeFile(Box::new(ImportedFile {
        path: "f".to_owned(),
        found: (0..count).map(found).collect(),
        known: ImportPolicy::Ask,
        written: Vec::new(),
        by_person: Vec::new(),
    }));
    let rows = Rows {
        tables: Tables::default(),
        now: NOON.parse().expect("a time"),
        next_decision: 1,
        leases: std::collections::BTreeMap::new(),
        free_numbers: [FreeNumbers::free_from(1); KINDS],
        naming: NameRange::ALONE,
        standings: None,
    };
    let facts = CallerFacts {
        actor: Actor::File("f".to_owned()),
        decision: DecisionId(uuid::Uuid::from_u128(1 << 64)),
        holder: HolderLiveness::Nothing,
        checkout: None,
    };
    let once = || {
        let begun = Instant::now();
        let drafts = decide(&rows, &command, &facts).expect("nothing is known");
        assert!(drafts.len() >= count, "{}", drafts.len());
        begun.elapsed()
    };
    let times = [once(), once(), once()];
    times.into_iter().min().unwrap_or_default()
}

#[test]
fn four_times_as_many_things_of_a_file_take_four_times_as_long() {
    let nameless = |at: usize| {
        ImportedRecord::Entry(Box::new(Entry {
            mark: Some(format!("mark-{at}")),
            at: Some(NOON.to_owned()),
            ..Entry::with_type(EntryType::TaskCompleted).with_text("description", at.to_string())
        }))
    };
    let named = |at: usize| entry(&format!("entry-{at}"), NOON, "done");
    let sign = |at: usize| {
        ImportedRecord::Memory(Box::new(Memory {
            title: Some(format!("Sign {at}")),
            ..Memory::new(MemoryKind::Guardrail, "look")
        }))
    };
    let resolved = |at: usize| {
        ImportedRecord::Entry(Box::new(Entry {
            mark: Some(format!("mark-{at}")),
            at: Some(NOON.to_owned()),
            ..Entry::with_type(EntryType::DebugResolved)
                .with_text("description", format!("the gate of yard{at} is stuck"))
                .with_text("resolution", format!("oil it with grease{at}"))
        }))
    };
    let kinds: [(&str, MakeFound, usize); 4] = [
        ("nameless", nameless, 500),
        ("named", named, 500),
        ("sign", sign, 500),
        ("resolved", resolved, 100),
    ];
    for (kind, found, count) in kinds {
        let (few, many) = (time_to_take(count, found), time_to_take(4 * count, found));
        // Sixteen times as long, and seconds, is what a look at all others for each
        // would take; less than a second may be the noise of a busy machine.
        let is_short = many < Duration::from_secs(1);
        assert!(is_short || many < few * 9, "{kind}: {few:?}, then {many:?}");
    }
}
