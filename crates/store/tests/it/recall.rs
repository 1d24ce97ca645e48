//! What a store has to say to a query: both stores say the same, whatever was
//! remembered, revised and retired before.

use std::collections::BTreeMap;

use piton_core::Command;
use piton_core::event::MemoryEvent;
use piton_core::id::StreamId;
use piton_core::journal::{GENESIS, Hash, HashForm, Record};
use piton_core::memory::{Memory, MemoryKind};
use piton_core::recall::{CandidateSet, Query};
use piton_core::redact::Redactor;
use piton_simkit::seed::salted;
use piton_store::{SqliteStore, Store, StoreOptions};
use piton_testkit::chance::{Chance, Ids, TestClock};
use piton_testkit::contract::{self, Subject};
use piton_testkit::scratch::{scratch, sqlite_in};
use piton_testkit::sketch::facts;

const WORDS: [&str; 12] = [
    "harbour",
    "crane",
    "E0382",
    "manifest",
    "tide",
    "ledger",
    "port 5433",
    "rope",
    "winch",
    "pilot",
    "lot loader",
    "timeout",
];

fn words(chance: &mut Chance, most: u64) -> String {
    let count = 1 + chance.below(most);
    let mut text = Vec::new();
    for _ in 0..count {
        let at = usize::try_from(chance.below(WORDS.len() as u64)).expect("small");
        text.push(WORDS[at]);
    }
    text.join(" ")
}

fn memory(chance: &mut Chance) -> Memory {
    let kinds = MemoryKind::ALL;
    let kind = kinds[usize::try_from(chance.below(kinds.len() as u64)).expect("small")];
    Memory {
        title: Some(format!("{} {}", words(chance, 3), chance.below(1 << 30))),
        context: Some(words(chance, 4)),
        external_id: Some(format!("ext-{}", chance.below(20))),
        ..Memory::new(kind, words(chance, 12))
    }
}

/// Remembers, revises and retires, the same in both.
fn act(chance: &mut Chance, known: &mut Vec<String>, subjects: &mut [&mut Subject; 2]) {
    let command = match (chance.below(4), known.is_empty()) {
        (0, false) => {
            let at = usize::try_from(chance.below(known.len() as u64)).expect("small");
            Command::RetireMemory {
                id: known.swap_remove(at),
                why: None,
                superseded_by: None,
            }
        }
        (1, _) => Command::ImportMemories(vec![memory(chance), memory(chance)]),
        _ => Command::AddMemory(Box::new(memory(chance))),
    };
    let [one, other] = subjects.each_mut().map(|subject| subject.commit(&command));
    let (one, other) = (one.map_err(drop), other.map_err(drop));
    let events = |done: &Result<piton_store::CommitOutcome, ()>| {
        let done = done.as_ref().ok();
        done.map(|done| {
            done.events
                .iter()
                .map(|event| event.event.clone())
                .collect()
        })
    };
    let told: Option<Vec<piton_core::Event>> = events(&one);
    assert_eq!(told, events(&other));
    for event in told.into_iter().flatten() {
        if let piton_core::Event::Memory(MemoryEvent::Added(memory)) = event {
            known.extend(memory.id);
        }
    }
}

fn said(store: &dyn Store, text: &str) -> (u64, String, Vec<(String, f64)>) {
    let query = Query::parse(text);
    let CandidateSet { statistics, found } = store.recall_candidates(&query).expect("readable");
    let asked: Vec<&str> = query.tokens().collect();
    let found = found.iter().map(|indexed| {
        // One store keeps the tokens that are not asked for, too.
        let text = indexed.document.to_text();
        let asked = asked.iter().filter(|token| {
            text.lines()
                .any(|line| line.split(' ').next() == Some(**token))
        });
        (
            indexed.id.clone(),
            asked.count() as f64 + indexed.document.length_in_words(),
        )
    });
    let holding = format!("{:?}", statistics.holding);
    let average = format!("{holding} {}", statistics.average_length);
    (statistics.memories, average, found.collect())
}

#[test]
fn both_stores_say_the_same_of_whatever_was_remembered() {
    for seed in (0..40).map(salted) {
        let mut chance = Chance::seeded(seed);
        let (mut memory, mut sqlite) = (contract::memory(), contract::sqlite());
        let mut known = Vec::new();
        for _ in 0..25 {
            act(&mut chance, &mut known, &mut [&mut memory, &mut sqlite]);
            let query = format!("error: {}", words(&mut chance, 6));
            let stores = (&*memory.store, &*sqlite.store);
            assert_eq!(
                said(stores.0, &query),
                said(stores.1, &query),
                "seed {seed}: {query}"
            );
        }
        memory.assert_whole();
        sqlite.assert_whole();
    }
}

/// A store of some memories, two of them retired.
fn filled() -> (tempfile::TempDir, SqliteStore) {
    let dir = scratch();
    let store = sqlite_in(dir.path(), TestClock::seeded(1));
    let (mut chance, mut ids) = (Chance::seeded(5), Ids::seeded(5));
    for _ in 0..12 {
        let command = Command::ImportMemories(vec![memory(&mut chance)]);
        store
            .commit(ids.command(), &command, &facts())
            .expect("writable");
    }
    (dir, store)
}

const QUERY: &str = "error: the crane missed the tide at port 5433";

/// Gives the events the hashes that an older piton would have given them.
fn rewrite_in_form_one(older: &rusqlite::Connection, records: Vec<Record>) {
    let mut ends: BTreeMap<StreamId, Hash> = BTreeMap::new();
    for mut record in records {
        let end = ends.entry(record.stream.clone()).or_insert(GENESIS);
        record.form = HashForm::One;
        *end = record.compute_hash(end);
        let id = record.stamp.id.0.as_bytes();
        let changed = older.execute("UPDATE events SET hash = ?1 WHERE id = ?2", (*end, id));
        assert_eq!(changed.expect("good SQL"), 1);
    }
    let heads = "UPDATE streams SET hash = (SELECT hash FROM events WHERE stream = streams.id AND position = count)";
    older.execute(heads, []).expect("good SQL");
}

#[test]
fn a_store_without_an_index_gets_one_when_it_is_opened() {
    let (dir, store) = filled();
    let before = said(&store, QUERY);
    assert!(!before.2.is_empty());
    let records = store.read_journal(None, usize::MAX).expect("readable");
    drop(store);
    let older = rusqlite::Connection::open(dir.path().join("journal.db")).expect("it is there");
    rewrite_in_form_one(&older, records);
    older
        .execute_batch(
            "DROP TABLE documents; DROP TABLE tokens; DROP TABLE postings; DROP TABLE totals; DROP TABLE numbers; \
             DROP INDEX items_by_standing; DROP INDEX items_open; \
             ALTER TABLE items DROP COLUMN standing; \
             ALTER TABLE items ADD COLUMN actionable INTEGER NOT NULL DEFAULT 0; \
             CREATE INDEX items_to_do ON items (run, place) WHERE actionable; \
             DROP INDEX entries_by_time; DROP INDEX entries_of_type; \
             ALTER TABLE entries DROP COLUMN time; \
             CREATE INDEX entries_of_type ON entries (type); \
             DROP INDEX attempts_by_time; ALTER TABLE attempts DROP COLUMN time; \
             ALTER TABLE events DROP COLUMN form; ALTER TABLE events DROP COLUMN writer; \
             ALTER TABLE events DROP COLUMN body_hash; \
             ALTER TABLE events DROP COLUMN project; ALTER TABLE events DROP COLUMN origin; \
             DROP TABLE meta; \
             ALTER TABLE runs DROP COLUMN checksum; ALTER TABLE items DROP COLUMN checksum; \
             ALTER TABLE attempts DROP COLUMN checksum; ALTER TABLE decisions DROP COLUMN checksum; \
             ALTER TABLE entries DROP COLUMN checksum; ALTER TABLE blockers DROP COLUMN checksum; \
             ALTER TABLE memory DROP COLUMN checksum; ALTER TABLE names DROP COLUMN checksum; \
             ALTER TABLE faces DROP COLUMN checksum; \
             PRAGMA user_version = 2",
        )
        .expect("good SQL");
    drop(older);
    let read = SqliteStore::open(dir.path(), StoreOptions::read_only()).expect("it is read");
    assert_eq!(said(&read, QUERY), before);
    drop(read);
    let options = StoreOptions::new(Redactor::rules_only());
    let store = SqliteStore::open(dir.path(), options).expect("it is written");
    assert_eq!(said(&store, QUERY), before);
    assert_eq!(store.verify().expect("readable").damage, []);
}

#[test]
fn an_index_that_is_not_that_of_the_rows_is_found() {
    for damage in [
        "UPDATE documents SET body = '99' || body WHERE position = 3",
        "UPDATE documents SET helped = 7 WHERE position = 3",
        "DELETE FROM documents WHERE position = 3",
        "UPDATE tokens SET holding = holding + 1 WHERE id = 4",
        "DELETE FROM tokens WHERE id = 4",
        "DELETE FROM postings WHERE position = 3",
        "UPDATE postings SET position = 99 WHERE position = 3",
        "UPDATE totals SET tenths = tenths + 1",
    ] {
        let (dir, store) = filled();
        drop(store);
        let by_hand = rusqlite::Connection::open(dir.path().join("journal.db")).expect("there");
        assert!(
            by_hand.execute(damage, []).expect("good SQL") > 0,
            "{damage}"
        );
        drop(by_hand);
        let store = SqliteStore::open(dir.path(), StoreOptions::read_only()).expect("it opens");
        let found = store.verify().expect("damage is an answer").damage;
        assert!(
            found.iter().any(|one| one.place == "documents"),
            "{damage}: {found:?}"
        );
    }
}

/// Whoever reads an older state keeps the log from being cut off, and nobody
/// from writing.
#[test]
fn a_reader_does_not_hold_up_who_writes_behind_a_long_log() {
    let dir = scratch();
    let store = sqlite_in(dir.path(), TestClock::seeded(1));
    let reader = rusqlite::Connection::open(dir.path().join("journal.db")).expect("it is there");
    reader
        .execute_batch("BEGIN; SELECT count(*) FROM events")
        .expect("it reads");
    let (mut chance, mut ids) = (Chance::seeded(7), Ids::seeded(7));
    let mut fresh = |count: u64| {
        let named = (0..count).map(|_| Memory {
            external_id: Some(format!("m-{}", chance.below(1 << 40))),
            ..memory(&mut chance)
        });
        Command::ImportMemories(named.collect())
    };
    let (many, one) = (fresh(800), fresh(1));
    #[expect(clippy::disallowed_methods, reason = "measures real time")]
    let begun = std::time::Instant::now();
    for command in [many, one] {
        store
            .commit(ids.command(), &command, &facts())
            .expect("writable");
    }
    let took = begun.elapsed();
    assert!(took < std::time::Duration::from_secs(8), "{took:?}");
}
