//! Reading changes nothing, and works where nothing can be changed.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use piton_core::entry::EntryType;
use piton_core::id::StreamId;
use piton_core::{Need, RunId};
use piton_store::{SqliteStore, Store, StoreOptions};
use piton_testkit::chance::{Ids, TestClock};
use piton_testkit::scratch::{scratch, sqlite_in};
use piton_testkit::sketch::{entry, facts, log};

fn fill(dir: &Path, events: u64) {
    let store = sqlite_in(dir, TestClock::seeded(1));
    let mut ids = Ids::seeded(3);
    for nth in 0..events {
        let command = log(entry(EntryType::TaskBlocked, &nth.to_string()));
        store
            .commit(ids.command(), &command, &facts())
            .expect("writable");
    }
}

/// All files but the one that is SQLite's own.
fn bytes(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let files = fs::read_dir(dir).expect("readable").flatten();
    let named = files.map(|file| {
        (
            file.file_name().to_string_lossy().into_owned(),
            fs::read(file.path()).expect("readable"),
        )
    });
    named.filter(|(name, _)| !name.ends_with("-shm")).collect()
}

fn read_everything(store: &SqliteStore) -> u64 {
    let run = RunId(uuid::Uuid::from_u128(1));
    store
        .load_rows(&[
            Need::RecentEntries(10),
            Need::Blockers,
            Need::Runs,
            Need::Tree(run),
        ])
        .expect("readable");
    store.stream_heads().expect("readable");
    store.read_journal(None, 100).expect("readable");
    store
        .read_stream(&StreamId::sessions(), 0, 100)
        .expect("readable");
    store.info().expect("readable");
    assert_eq!(store.verify().expect("readable").damage, []);
    store.event_count(&StreamId::sessions()).expect("readable")
}

#[test]
fn reading_changes_no_byte_of_the_database_or_its_log() {
    let dir = scratch();
    fill(dir.path(), 30);
    let before = bytes(dir.path());
    assert!(
        before.contains_key("journal.db-wal"),
        "a log is left for others to read"
    );
    let store = SqliteStore::open(dir.path(), StoreOptions::read_only()).expect("it is there");
    assert_eq!(read_everything(&store), 30);
    drop(store);
    assert_eq!(bytes(dir.path()), before);
    let store = sqlite_in(dir.path(), TestClock::seeded(1));
    assert_eq!(read_everything(&store), 30);
    drop(store);
    assert_eq!(bytes(dir.path()), before);
}

#[test]
fn a_reader_sees_what_was_committed_after_it_opened() {
    let dir = scratch();
    fill(dir.path(), 1);
    let reader = SqliteStore::open(dir.path(), StoreOptions::read_only()).expect("it is there");
    let writer = sqlite_in(dir.path(), TestClock::seeded(1));
    let command = log(entry(EntryType::TaskBlocked, "later"));
    writer
        .commit(Ids::seeded(9).command(), &command, &facts())
        .expect("writable");
    assert_eq!(
        reader.event_count(&StreamId::sessions()).expect("readable"),
        2
    );
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "only mount can make a folder that root cannot write"
)]
#[expect(clippy::print_stderr, reason = "what is skipped is said aloud")]
fn a_folder_that_cannot_be_written_is_read_from_a_copy() {
    for shm in [true, false] {
        let dir = scratch();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "piton-test"])
            .arg(dir.path())
            .output();
        if !mounted.is_ok_and(|output| output.status.success()) {
            eprintln!("skipped: a folder that cannot be written takes root and mount");
            return;
        }
        fill(dir.path(), 30);
        if !shm {
            fs::remove_file(dir.path().join("journal.db-shm")).expect("it is there");
        }
        let remount = Command::new("mount")
            .args(["-o", "remount,ro"])
            .arg(dir.path())
            .status();
        let before = bytes(dir.path());
        let store = SqliteStore::open(dir.path(), StoreOptions::read_only());
        let found = store.map(|store| {
            (
                read_everything(&store),
                store.info().expect("readable").copy,
            )
        });
        let after = bytes(dir.path());
        let unmounted = Command::new("umount").arg(dir.path()).status();
        assert!(
            remount.is_ok_and(|status| status.success())
                && unmounted.is_ok_and(|status| status.success())
        );
        let (events, copy) = found.expect("a copy can be read");
        assert_eq!(events, 30);
        assert!(
            copy || shm,
            "without its -shm it can only be read from a copy"
        );
        assert_eq!(before, after);
    }
}
