//! Stores that older pitons wrote are opened by today's.
//!
//! `tests/data/v<N>/journal.db` was written by [`write_a_fixture`] when N was
//! the newest version; it is never written again.

use std::fs;
use std::path::{Path, PathBuf};

use piton_core::Need;
use piton_core::entry::EntryType;
use piton_core::id::{RunId, StreamId};
use piton_core::redact::Redactor;
use piton_store::{Access, FaultKind, Options, SqliteStore, Store};
use piton_testkit::chance::{Ids, TestClock};
use piton_testkit::scratch::{scratch, sqlite_in};
use piton_testkit::sketch::{entry, entry_of, facts, keep, log, plan};
use uuid::Uuid;

const RUN: RunId = RunId(Uuid::from_u128(0x0192_0000_0000_7000_8000_0000_0000_0001));

fn fixture(version: u32) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/data/v{version}/journal.db"))
}

/// Run by hand, once a version: `cargo test -p piton-store -- --ignored write_a_fixture`.
#[test]
#[ignore = "writes the fixture of a new version, by hand"]
fn write_a_fixture() {
    let (dir, mut ids) = (scratch(), Ids::seeded(1));
    let store = sqlite_in(dir.path(), TestClock::seeded(1));
    let nodes: &[(&str, &[&str])] = &[
        ("design", &[]),
        ("build", &["design"]),
        ("build/parser", &[]),
        ("build/store", &["build/parser"]),
    ];
    let blocked = log(entry_of(
        EntryType::TaskBlocked,
        "t1",
        "the parser has no tests",
    ));
    let commands = [
        keep(plan(RUN, "auth", nodes)),
        log(entry(EntryType::SessionStarted, "go")),
        blocked,
    ];
    for command in commands {
        store
            .commit(ids.command(), &command, &facts())
            .expect("writable");
    }
    let to = fixture(piton_store::SCHEMA_VERSION);
    fs::create_dir_all(to.parent().expect("it has one")).expect("writable");
    store.backup(&to).expect("there is none yet");
}

#[track_caller]
fn check(version: u32) {
    let dir = scratch();
    fs::copy(fixture(version), dir.path().join("journal.db")).expect("the fixture is there");
    let reader =
        SqliteStore::open(dir.path(), Options::read_only()).expect("old stores can be read");
    assert_eq!(reader.verify().expect("readable").damage, []);
    drop(reader);
    let store = SqliteStore::open(dir.path(), Options::new(Redactor::rules_only()))
        .expect("old stores can be written");
    let rows = store
        .load(&[Need::Tree(RUN), Need::Run(RUN), Need::Blockers])
        .expect("readable");
    assert_eq!(rows.tables.tree(RUN).count(), 4);
    assert_eq!(
        rows.tables.run(RUN).map(|run| run.name.as_str()),
        Some("auth")
    );
    assert_eq!(rows.tables.blockers().count(), 1);
    let more = log(entry(EntryType::SessionEnded, "enough"));
    store
        .commit(Ids::seeded(9).command(), &more, &facts())
        .expect("writable");
    assert_eq!(store.position(&StreamId::sessions()).expect("readable"), 3);
    assert_eq!(store.verify().expect("readable").damage, []);
}

#[test]
fn a_store_of_version_1_is_opened_and_goes_on() {
    check(1);
}

#[test]
fn the_journal_of_a_newer_store_can_still_be_read_and_nothing_else() {
    let dir = scratch();
    let db = dir.path().join("journal.db");
    fs::copy(fixture(1), &db).expect("the fixture is there");
    let newer = rusqlite::Connection::open(&db).expect("a database");
    newer
        .execute_batch("PRAGMA user_version = 99; ALTER TABLE runs RENAME TO renamed;")
        .expect("writable");
    drop(newer);
    let options = |access| Options {
        access,
        ..Options::read_only()
    };
    let refused = SqliteStore::open(dir.path(), options(Access::ReadOnly)).expect_err("newer");
    assert_eq!(refused.kind, FaultKind::Newer);
    let journal = SqliteStore::open(dir.path(), options(Access::JournalOnly)).expect("readable");
    assert_eq!(journal.journal(None, 100).expect("readable").len(), 7);
}
