//! Copies: taken while others write, and put back.

use std::fs;

use piton_core::entry::EntryType;
use piton_core::id::StreamId;
use piton_core::redact::Redactor;
use piton_store::{FaultKind, SqliteStore, Store, StoreOptions};
use piton_testkit::chance::{Ids, TestClock};
use piton_testkit::scratch::{scratch, sqlite_in};
use piton_testkit::sketch::{entry, facts, log};

fn write(store: &SqliteStore, ids: &mut Ids, words: &str) {
    store
        .commit(
            ids.command(),
            &log(entry(EntryType::TaskBlocked, words)),
            &facts(),
        )
        .expect("writable");
}

fn position(store: &SqliteStore) -> u64 {
    store.event_count(&StreamId::sessions()).expect("readable")
}

#[test]
fn a_backup_is_one_file_that_opens_as_a_store() {
    let (dir, other) = (scratch(), scratch());
    let (store, mut ids) = (sqlite_in(dir.path(), TestClock::seeded(1)), Ids::seeded(1));
    for nth in 0..40 {
        write(&store, &mut ids, &nth.to_string());
    }
    let verdict = store
        .backup(&other.path().join("journal.db"))
        .expect("writable");
    assert_eq!((verdict.events, verdict.damage), (40, vec![]));
    write(&store, &mut ids, "after it");
    assert_eq!(fs::read_dir(other.path()).expect("readable").count(), 1);
    let copy = SqliteStore::open(other.path(), StoreOptions::new(Redactor::rules_only()))
        .expect("it is whole");
    assert_eq!((position(&copy), position(&store)), (40, 41));
    write(&copy, &mut ids, "goes on from here");
    assert_eq!(copy.verify().expect("readable").damage, []);
}

#[test]
fn a_backup_is_for_its_user_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let dir = scratch();
    let store = sqlite_in(dir.path(), TestClock::seeded(1));
    let to = dir.path().join("copy");
    store.backup(&to).expect("writable");
    let mode = fs::metadata(&to).expect("it is there").permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "{mode:o}");
}

#[test]
fn a_backup_never_takes_the_place_of_a_file() {
    let dir = scratch();
    let store = sqlite_in(dir.path(), TestClock::seeded(1));
    let to = dir.path().join("mine");
    fs::write(&to, "precious").expect("writable");
    let fault = store.backup(&to).expect_err("it is taken");
    assert!(fault.to_string().contains("there is a file at"), "{fault}");
    assert_eq!(fs::read_to_string(&to).expect("readable"), "precious");
}

#[test]
fn a_backup_is_of_one_moment_while_others_write() {
    let dir = scratch();
    let store = sqlite_in(dir.path(), TestClock::seeded(1));
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let mut ids = Ids::seeded(1);
            (0..200).for_each(|nth| write(&store, &mut ids, &nth.to_string()));
        });
        for nth in 0..4 {
            let verdict = store
                .backup(&dir.path().join(format!("copy-{nth}")))
                .expect("writable");
            assert_eq!(verdict.damage, []);
        }
        writer.join().expect("nothing fails");
    });
    assert_eq!(position(&store), 200);
}

#[test]
fn a_backup_is_put_back_and_what_was_there_is_kept() {
    let dir = scratch();
    let (store, mut ids) = (sqlite_in(dir.path(), TestClock::seeded(1)), Ids::seeded(1));
    write(&store, &mut ids, "one");
    let copy = dir.path().join("copy.db");
    store.backup(&copy).expect("writable");
    write(&store, &mut ids, "two");
    drop(store);
    let restored = SqliteStore::restore(&copy, dir.path()).expect("nobody has it open");
    assert_eq!(restored.verdict.events, 1);
    let store = sqlite_in(dir.path(), TestClock::seeded(1));
    assert_eq!(position(&store), 1);
    write(&store, &mut ids, "another two");
    assert_eq!(store.verify().expect("readable").damage, []);
    drop(store);
    let kept = restored.kept.expect("there was one before");
    let elsewhere = scratch();
    SqliteStore::restore(&kept, elsewhere.path()).expect("it is whole");
    let old = sqlite_in(elsewhere.path(), TestClock::seeded(1));
    assert_eq!(position(&old), 2);
}

#[test]
fn nothing_is_put_in_the_place_of_a_store_that_is_open() {
    let dir = scratch();
    let (store, mut ids) = (sqlite_in(dir.path(), TestClock::seeded(1)), Ids::seeded(1));
    let copy = dir.path().join("copy.db");
    store.backup(&copy).expect("writable");
    write(&store, &mut ids, "later");
    let fault = SqliteStore::restore(&copy, dir.path()).expect_err("it is open");
    assert!(
        fault.to_string().contains("is in use by another process"),
        "{fault}"
    );
    write(&store, &mut ids, "and it goes on");
    assert_eq!(position(&store), 2);
    drop(store);
    let reader = SqliteStore::open(dir.path(), StoreOptions::read_only()).expect("it is there");
    assert_eq!(position(&reader), 2);
    assert!(
        SqliteStore::restore(&copy, dir.path()).is_err(),
        "a reader has it open"
    );
}

#[test]
fn a_damaged_backup_is_not_put_back() {
    let dir = scratch();
    let (store, mut ids) = (sqlite_in(dir.path(), TestClock::seeded(1)), Ids::seeded(1));
    write(&store, &mut ids, "the words");
    let copy = dir.path().join("copy.db");
    store.backup(&copy).expect("writable");
    drop(store);
    let db = rusqlite::Connection::open(&copy).expect("it is there");
    db.execute(
        "UPDATE events SET body = replace(body, 'the words', 'the wordz')",
        [],
    )
    .expect("writable");
    drop(db);
    let fault = SqliteStore::restore(&copy, dir.path()).expect_err("it is damaged");
    assert_eq!(fault.kind, FaultKind::Damaged);
    let missing =
        SqliteStore::restore(&dir.path().join("none"), dir.path()).expect_err("it is not there");
    assert_eq!(missing.kind, FaultKind::Missing);
    let store = sqlite_in(dir.path(), TestClock::seeded(1));
    assert_eq!(position(&store), 1);
    let left = fs::read_dir(dir.path())
        .expect("readable")
        .flatten()
        .map(|file| file.file_name());
    assert!(
        left.into_iter()
            .all(|name| !name.to_string_lossy().ends_with(".new")),
        "nothing half is left"
    );
}

#[test]
fn a_backup_takes_the_place_of_a_store_that_is_beyond_reading() {
    let dir = scratch();
    let (store, mut ids) = (sqlite_in(dir.path(), TestClock::seeded(1)), Ids::seeded(1));
    write(&store, &mut ids, "saved");
    let copy = dir.path().join("copy.db");
    store.backup(&copy).expect("writable");
    drop(store);
    fs::write(
        dir.path().join("journal.db"),
        "no database, for longer than the header of one would be".repeat(9),
    )
    .expect("writable");
    let restored = SqliteStore::restore(&copy, dir.path()).expect("it cannot be in use");
    let kept = restored.kept.expect("even that is kept");
    assert!(
        fs::read_to_string(kept)
            .expect("readable")
            .starts_with("no database")
    );
    assert_eq!(position(&sqlite_in(dir.path(), TestClock::seeded(1))), 1);
}

/// The stores that others took the place of.
fn replaced_in(dir: &std::path::Path) -> Vec<std::path::PathBuf> {
    let entries = fs::read_dir(dir).expect("readable").flatten();
    let paths = entries.map(|entry| entry.path());
    let mut found: Vec<_> = paths
        .filter(|path| path.to_string_lossy().contains(".replaced-"))
        .collect();
    found.sort();
    found
}

#[test]
fn of_the_stores_that_a_restore_replaces_the_last_three_stay() {
    let (dir, other) = (scratch(), scratch());
    let backup = other.path().join("copy");
    let (store, mut ids) = (sqlite_in(dir.path(), TestClock::seeded(1)), Ids::seeded(1));
    write(&store, &mut ids, "one");
    store.backup(&backup).expect("writable");
    drop(store);
    let mut removed = Vec::new();
    for _ in 0..6 {
        let report = SqliteStore::restore(&backup, dir.path()).expect("it can be replaced");
        removed.extend(report.removed);
        // A name of the same second may be free again.
        assert!(report.kept.is_some_and(|kept| kept.exists()));
    }
    let left = replaced_in(dir.path());
    assert_eq!((left.len(), removed.len()), (3, 3));
}

#[test]
fn the_only_store_that_has_an_event_is_never_removed() {
    let (dir, other) = (scratch(), scratch());
    let backup = other.path().join("copy");
    let (store, mut ids) = (sqlite_in(dir.path(), TestClock::seeded(1)), Ids::seeded(1));
    write(&store, &mut ids, "one");
    store.backup(&backup).expect("writable");
    write(&store, &mut ids, "of no backup");
    drop(store);
    let first = SqliteStore::restore(&backup, dir.path()).expect("it can be replaced");
    let only = first.kept.expect("it is kept");
    // One that cannot be read may have anything.
    let unreadable = dir.path().join("journal.db.replaced-20200101T000000Z");
    fs::write(&unreadable, "no database").expect("writable");
    for _ in 0..6 {
        SqliteStore::restore(&backup, dir.path()).expect("it can be replaced");
    }
    let left = replaced_in(dir.path());
    assert!(
        left.contains(&only) && left.contains(&unreadable),
        "{left:?}"
    );
    assert_eq!(left.len(), 5, "{left:?}");
}

#[test]
fn a_store_whose_heads_say_too_little_is_never_removed() {
    let (dir, other) = (scratch(), scratch());
    let backup = other.path().join("copy");
    let (store, mut ids) = (sqlite_in(dir.path(), TestClock::seeded(1)), Ids::seeded(1));
    write(&store, &mut ids, "one");
    store.backup(&backup).expect("writable");
    write(&store, &mut ids, "of no backup");
    drop(store);
    let first = SqliteStore::restore(&backup, dir.path()).expect("it can be replaced");
    let only = first.kept.expect("it is kept");
    let kept = rusqlite::Connection::open(&only).expect("a database");
    // As in the copy: the head that an older page has.
    kept.execute_batch(&format!(
        "ATTACH '{}' AS copy; \
         UPDATE streams SET (count, hash) = (SELECT count, hash FROM copy.streams AS old WHERE old.name = streams.name);",
        backup.display()
    ))
    .expect("it can be changed");
    drop(kept);
    for _ in 0..6 {
        SqliteStore::restore(&backup, dir.path()).expect("it can be replaced");
    }
    let left = replaced_in(dir.path());
    assert!(left.contains(&only), "{left:?}");
}

#[test]
fn the_store_that_was_replaced_just_now_stays_whatever_its_name_says() {
    let (dir, other) = (scratch(), scratch());
    let backup = other.path().join("copy");
    let (store, mut ids) = (sqlite_in(dir.path(), TestClock::seeded(1)), Ids::seeded(1));
    write(&store, &mut ids, "one");
    store.backup(&backup).expect("writable");
    drop(store);
    for second in 0..3 {
        let ahead = format!("journal.db.replaced-29990101T00000{second}Z");
        fs::copy(&backup, dir.path().join(ahead)).expect("writable");
    }
    let report = SqliteStore::restore(&backup, dir.path()).expect("it can be replaced");
    let kept = report.kept.expect("it is kept");
    assert!(kept.exists(), "{:?}", report.removed);
}
