//! The write-ahead log goes, and what was acknowledged in it: that is known, once for
//! each time, and of nothing else.

use std::fs;
use std::path::Path;

use piton_core::entry::EntryType;
use piton_store::{SqliteStore, Store, StoreOptions, VerifyReport};
use piton_testkit::chance::{Ids, TestClock};
use piton_testkit::scratch::{scratch, sqlite_in};
use piton_testkit::sketch::{entry, facts, log};
use rusqlite::Connection;
use tempfile::TempDir;

/// Appends so many events, which stay in the log.
fn append(dir: &Path, seed: u64, events: u32) {
    let (store, mut ids) = (sqlite_in(dir, TestClock::seeded(seed)), Ids::seeded(seed));
    for nth in 0..events {
        let command = log(entry(EntryType::TaskBlocked, &format!("{seed}: {nth}")));
        let stored = store.commit(ids.command(), &command, &facts());
        stored.expect("writable");
    }
}

/// A store with three events in its file, and three in its log alone.
fn half_in_the_log() -> TempDir {
    let dir = scratch();
    append(dir.path(), 1, 3);
    let connection = Connection::open(dir.path().join("journal.db")).expect("it is there");
    let back = connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)");
    back.expect("nobody reads");
    drop(connection);
    append(dir.path(), 2, 3);
    dir
}

fn empty_the_log(dir: &Path) {
    fs::write(dir.join("journal.db-wal"), "").expect("writable");
}

fn verify(dir: &Path) -> VerifyReport {
    let store = SqliteStore::open(dir, StoreOptions::read_only()).expect("it opens");
    store.verify().expect("damage is an answer")
}

#[track_caller]
fn check_alarm(dir: &Path, expect: bool) {
    let report = verify(dir);
    let alarm = report.damage.iter().any(|one| one.what.contains("gone"));
    assert_eq!(alarm, expect, "{report:?}");
}

#[test]
fn a_rebuild_notes_a_loss_that_no_writer_noticed() {
    let dir = half_in_the_log();
    empty_the_log(dir.path());
    check_alarm(dir.path(), true);
    let rebuilt = SqliteStore::rebuild(dir.path(), &mut |_| ()).expect("what is there is whole");
    let report = verify(dir.path());
    let known: Vec<_> = report
        .lost
        .iter()
        .map(|loss| (loss.acknowledged, loss.found))
        .collect();
    assert_eq!((report.damage, known), (vec![], vec![(6, 3)]));
    assert_eq!(rebuilt.loss.as_ref(), report.lost.last());
}

#[test]
fn a_head_that_was_torn_says_nothing() {
    let dir = half_in_the_log();
    empty_the_log(dir.path());
    check_alarm(dir.path(), true);
    let head = dir.path().join("journal.head");
    let line = fs::read_to_string(&head).expect("it is there");
    assert!(line.starts_with("{\"seq\":6,"), "{line}");
    // The number of one commit, the hash of another.
    let torn = line.replace("\"seq\":6,", "\"seq\":9,");
    fs::write(&head, torn).expect("writable");
    check_alarm(dir.path(), false);
}

#[test]
fn a_head_of_an_older_piton_is_read() {
    let dir = half_in_the_log();
    empty_the_log(dir.path());
    let head = dir.path().join("journal.head");
    let line = fs::read_to_string(&head).expect("it is there");
    let mut fields: serde_json::Map<String, serde_json::Value> =
        serde_json::from_str(line.lines().next().expect("one")).expect("an object");
    fields.retain(|name, _| ["seq", "hash", "writer"].contains(&name.as_str()));
    let older = serde_json::to_string(&fields).expect("an object");
    fs::write(&head, older).expect("writable");
    check_alarm(dir.path(), true);
}

#[test]
fn a_second_loss_up_to_the_same_number_is_kept() {
    let dir = half_in_the_log();
    empty_the_log(dir.path());
    // Three more events in the place of those that are gone, and the same again.
    append(dir.path(), 3, 3);
    empty_the_log(dir.path());
    append(dir.path(), 4, 1);
    let lost = verify(dir.path()).lost;
    let numbers: Vec<_> = lost
        .iter()
        .map(|loss| (loss.acknowledged, loss.found))
        .collect();
    assert_eq!(numbers, [(6, 3), (6, 3)], "{lost:?}");
}

#[test]
fn a_loss_that_two_writers_notice_is_kept_once() {
    let dir = half_in_the_log();
    empty_the_log(dir.path());
    append(dir.path(), 3, 0);
    append(dir.path(), 4, 0);
    assert_eq!(verify(dir.path()).lost.len(), 1);
}

#[test]
fn a_private_copy_misses_nothing_that_was_committed_after_it() {
    let dir = half_in_the_log();
    // SQLite does not read the log without its index, and follows no link to one.
    let shm = dir.path().join("journal.db-shm");
    fs::remove_file(&shm).ok();
    std::os::unix::fs::symlink("nowhere", &shm).expect("made");
    let copy = SqliteStore::open(dir.path(), StoreOptions::read_only()).expect("it is copied");
    assert!(copy.info().expect("readable").copy);
    fs::remove_file(&shm).expect("it is there");
    append(dir.path(), 3, 1);
    assert_eq!(copy.verify().expect("readable").damage, []);
}
