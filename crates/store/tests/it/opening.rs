//! What is found where a store should be, and what is said of it.

use std::fs;
use std::path::Path;

use piton_core::entry::EntryType;
use piton_core::id::StreamId;
use piton_core::name::NameRange;
use piton_core::redact::Redactor;
use piton_store::{FaultKind, SCHEMA_VERSION, SqliteStore, Store, StoreFault, StoreOptions};
use piton_testkit::chance::{Ids, TestClock};
use piton_testkit::scratch::{scratch, sqlite_in};
use piton_testkit::sketch::{entry, facts, log};
use rusqlite::Connection;

fn open_both_ways(dir: &Path) -> [Result<SqliteStore, StoreFault>; 2] {
    [
        SqliteStore::open(dir, StoreOptions::new(Redactor::rules_only())),
        SqliteStore::open(dir, StoreOptions::read_only()),
    ]
}

#[track_caller]
fn check_fault(dir: &Path, kind: FaultKind, says: &str) {
    for opened in open_both_ways(dir) {
        let fault = opened.expect_err("it cannot be opened");
        assert_eq!(fault.kind, kind, "{fault:?}");
        assert!(fault.to_string().contains(says), "{fault}");
    }
}

#[test]
fn a_missing_store_is_not_made_by_opening() {
    let dir = scratch();
    check_fault(dir.path(), FaultKind::Missing, "there is no journal at");
    check_fault(
        &dir.path().join("nowhere"),
        FaultKind::Missing,
        "there is no journal at",
    );
    assert_eq!(fs::read_dir(dir.path()).expect("readable").count(), 0);
}

#[test]
fn a_store_is_made_once() {
    let dir = scratch();
    assert!(SqliteStore::create_if_missing(dir.path(), NameRange::ALONE).expect("writable"));
    assert!(!SqliteStore::create_if_missing(dir.path(), NameRange::ALONE).expect("writable"));
    let store = sqlite_in(dir.path(), TestClock::seeded(1));
    let info = store.info().expect("readable");
    assert_eq!(
        (info.events, info.streams, info.runs, info.entries),
        (0, 0, 0, 0)
    );
    assert_eq!(info.schema_version, SCHEMA_VERSION);
}

#[test]
fn what_a_dead_creator_left_is_swept_and_nothing_else() {
    let dir = scratch();
    let left = ".journal-0192a0b0-0000-7000-8000-000000000001.new";
    let others = [
        ".journal-mine.new",
        "journal.new",
        ".journal-0192a0b0-0000-7000-8000-000000000001.old",
    ];
    for end in ["", "-wal", "-shm", "-journal"] {
        fs::write(dir.path().join(format!("{left}{end}")), "half").expect("writable");
    }
    for other in others {
        fs::write(dir.path().join(other), "mine").expect("writable");
    }
    check_fault(dir.path(), FaultKind::Missing, "there is no journal at");
    assert!(SqliteStore::create_if_missing(dir.path(), NameRange::ALONE).expect("writable"));
    for end in ["", "-wal", "-shm", "-journal"] {
        assert!(!dir.path().join(format!("{left}{end}")).exists(), "{end}");
    }
    for other in others {
        assert!(dir.path().join(other).exists(), "{other}");
    }
}

#[test]
fn a_log_without_its_database_is_set_aside_and_not_taken_for_the_new_ones() {
    let dir = scratch();
    let store = sqlite_in(dir.path(), TestClock::seeded(1));
    let command = log(entry(EntryType::MilestoneReached, "lost"));
    store
        .commit(Ids::seeded(1).command(), &command, &facts())
        .expect("writable");
    drop(store);
    fs::remove_file(dir.path().join("journal.db")).expect("it is there");
    let store = sqlite_in(dir.path(), TestClock::seeded(2));
    assert_eq!(store.verify().expect("readable").damage, []);
    assert_eq!(
        store.event_count(&StreamId::sessions()).expect("readable"),
        0
    );
    let names = fs::read_dir(dir.path())
        .expect("readable")
        .flatten()
        .map(|file| file.file_name());
    assert_eq!(
        names
            .filter(|name| name.to_string_lossy().starts_with("journal.db-wal.orphan-"))
            .count(),
        1
    );
}

#[test]
fn an_empty_file_is_no_journal() {
    let dir = scratch();
    fs::write(dir.path().join("journal.db"), "").expect("writable");
    check_fault(dir.path(), FaultKind::Damaged, "is empty");
}

#[test]
fn random_bytes_are_no_journal() {
    let dir = scratch();
    let noise: Vec<u8> = (0..20_000_u32)
        .map(|nth| nth.wrapping_mul(2_654_435_761).to_be_bytes()[0])
        .collect();
    fs::write(dir.path().join("journal.db"), noise).expect("writable");
    check_fault(dir.path(), FaultKind::Damaged, "it is not a database");
}

#[test]
fn the_database_of_another_program_is_named_as_such_and_left_alone() {
    let dir = scratch();
    let path = dir.path().join("journal.db");
    Connection::open(&path)
        .and_then(|db| db.execute_batch("CREATE TABLE notes (text)"))
        .expect("writable");
    let before = fs::read(&path).expect("readable");
    check_fault(
        dir.path(),
        FaultKind::Damaged,
        "is the database of another program",
    );
    assert!(
        !SqliteStore::create_if_missing(dir.path(), NameRange::ALONE).expect("there is a file")
    );
    assert_eq!(fs::read(&path).expect("readable"), before);
}

#[test]
fn a_newer_store_is_named_and_not_read() {
    let dir = scratch();
    drop(sqlite_in(dir.path(), TestClock::seeded(1)));
    let db = Connection::open(dir.path().join("journal.db")).expect("it is there");
    let newest = piton_store::SCHEMA_VERSION;
    db.pragma_update(None, "user_version", newest + 1)
        .expect("writable");
    drop(db);
    check_fault(dir.path(), FaultKind::Newer, "a newer piton wrote");
    let versions = format!(
        "version {}; this one knows versions up to {newest}",
        newest + 1
    );
    check_fault(dir.path(), FaultKind::Newer, &versions);
}

#[test]
fn a_store_that_is_replaced_while_open_is_not_written() {
    let dir = scratch();
    let store = sqlite_in(dir.path(), TestClock::seeded(1));
    fs::rename(dir.path().join("journal.db"), dir.path().join("moved.db")).expect("writable");
    let command = log(entry(EntryType::MilestoneReached, "to nowhere"));
    let gone = store.commit(Ids::seeded(1).command(), &command, &facts());
    assert!(gone.is_err());
    assert!(
        store
            .event_count(&StreamId::sessions())
            .is_err_and(|fault| fault.kind == FaultKind::Gone)
    );
    assert!(!dir.path().join("journal.db").exists());
}

#[test]
fn a_store_that_is_open_for_reading_is_not_written() {
    let dir = scratch();
    drop(sqlite_in(dir.path(), TestClock::seeded(1)));
    let store = SqliteStore::open(dir.path(), StoreOptions::read_only()).expect("it is there");
    let command = log(entry(EntryType::MilestoneReached, "no"));
    let refused = store
        .commit(Ids::seeded(1).command(), &command, &facts())
        .expect_err("read only");
    let fault = std::error::Error::source(&refused).expect("a fault has a cause");
    assert!(
        fault.to_string().contains("open for reading only"),
        "{fault}"
    );
}
