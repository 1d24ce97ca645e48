//! Streams whose events have different forms of the hash, and events without a body.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use piton_core::entry::EntryType;
use piton_core::id::{StreamId, WriterId};
use piton_core::journal::{BodyRemoval, HashForm};
use piton_core::redact::Redactor;
use piton_store::{SqliteStore, Store, StoreOptions};
use piton_testkit::chance::Ids;
use piton_testkit::scratch::scratch;
use piton_testkit::sketch::{entry, facts, log};
use rusqlite::Connection;
use tempfile::TempDir;

fn open(dir: &Path) -> SqliteStore {
    SqliteStore::open(dir, StoreOptions::new(Redactor::rules_only())).expect("it can be opened")
}

fn append(store: &dyn Store, seed: u64, words: &str) {
    let command = log(entry(EntryType::MilestoneReached, words));
    let id = Ids::seeded(seed).command();
    store.commit(id, &command, &facts()).expect("writable");
}

/// A store of version 11, whose stream of sessions goes on in form 2; the last but one
/// of its events is a tombstone.
fn store_with_both_forms() -> TempDir {
    let dir = scratch();
    let frozen = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/v11/journal.db");
    fs::copy(frozen, dir.path().join("journal.db")).expect("the fixture is there");
    let store = open(dir.path());
    for (seed, words) in [(21, "the pear is ripe"), (22, "the fig is ripe")] {
        append(&store, seed, words);
    }
    let sessions = StreamId::sessions();
    let count = store.event_count(&sessions).expect("readable");
    let remove = |position| store.replace_body_with_tombstone(&sessions, position);
    assert_eq!(remove(1).expect("readable"), BodyRemoval::BodyIsHashed);
    assert_eq!(remove(count - 1).expect("writable"), BodyRemoval::Removed);
    dir
}

/// Whether the hash of each event of the sessions has form 2, and whether its body is
/// there.
fn forms(store: &dyn Store) -> Vec<(bool, bool)> {
    let records = store.read_stream(&StreamId::sessions(), 0, 100);
    let records = records.expect("readable").into_iter();
    let form = |record: piton_core::journal::Record| {
        let is_two = matches!(record.form, HashForm::Two(_));
        (is_two, !record.is_tombstone())
    };
    records.map(form).collect()
}

#[test]
fn a_stream_of_both_forms_with_a_tombstone_is_whole() {
    let dir = store_with_both_forms();
    let store = open(dir.path());
    let forms = forms(&store);
    let (old, new) = forms.split_at(forms.len() - 2);
    assert!(!old.is_empty() && old.iter().all(|form| *form == (false, true)));
    assert_eq!(new, [(true, false), (true, true)]);
    let report = store.verify().expect("readable");
    assert_eq!((report.damage, report.tombstones), (Vec::new(), 1));
    append(&store, 23, "the plum is ripe");
    assert!(store.rebuild_views().expect("writable"));
    let report = store.verify().expect("readable");
    assert_eq!((report.damage, report.tombstones), (Vec::new(), 1));
}

#[test]
fn a_removed_body_is_nowhere_in_the_file() {
    let dir = store_with_both_forms();
    let bytes = fs::read(dir.path().join("journal.db")).expect("readable");
    let holds = |words: &str| bytes.windows(words.len()).any(|at| at == words.as_bytes());
    assert!(holds("the fig is ripe"));
    assert!(!holds("the pear is ripe"));
}

/// Changes the event that is so many before the last one, and checks what is found.
#[track_caller]
fn check(change: &str, before_last: u32, says: &str) {
    let dir = store_with_both_forms();
    let db = Connection::open(dir.path().join("journal.db")).expect("a database");
    let sql = format!(
        "UPDATE events SET {change} WHERE stream = (SELECT id FROM streams WHERE name = 'sessions') \
         AND position = (SELECT count FROM streams WHERE name = 'sessions') - {before_last}"
    );
    assert_eq!(db.execute(&sql, []).expect("good SQL"), 1);
    drop(db);
    let damage = open(dir.path()).verify().expect("readable").damage;
    let found = damage
        .iter()
        .any(|one| one.place == "sessions" && one.what.contains(says));
    assert!(found, "{change}: {damage:#?}");
}

#[test]
fn a_change_of_an_event_of_either_form_is_found() {
    let says = "is not what its hash was made of";
    let (of_form_one, tombstone, of_form_two) = (2, 1, 0);
    check("body = replace(body, 'a', 'b')", of_form_one, says);
    check("body = replace(body, 'fig', 'fog')", of_form_two, says);
    check("writer = zeroblob(16)", of_form_two, says);
    check("body = ''", of_form_two, says);
    check("body_hash = zeroblob(32)", tombstone, says);
    check("kind = 'entry-lost'", tombstone, says);
    check("body_hash = NULL", tombstone, says);
}

#[test]
fn an_event_that_is_of_no_form_is_found() {
    let (of_form_one, tombstone, of_form_two) = (2, 1, 0);
    check("form = 3", of_form_two, "cannot be read");
    check("form = 1", of_form_two, "cannot be read");
    check("form = 2", of_form_one, "cannot be read");
    check("writer = NULL", of_form_two, "cannot be read");
    check("body = '{}'", tombstone, "cannot be read");
    check("body_hash = zeroblob(32)", of_form_one, "cannot be read");
}

#[test]
fn project_and_origin_are_no_part_of_the_hash() {
    let dir = store_with_both_forms();
    let db = Connection::open(dir.path().join("journal.db")).expect("a database");
    db.execute(
        "UPDATE events SET project = 'piton', origin = 'elsewhere'",
        [],
    )
    .expect("good SQL");
    drop(db);
    assert_eq!(open(dir.path()).verify().expect("readable").damage, []);
}

fn writers(store: &dyn Store) -> BTreeSet<WriterId> {
    let records = store.read_stream(&StreamId::sessions(), 0, 100);
    let records = records.expect("readable").into_iter();
    let writer = |record: piton_core::journal::Record| match record.form {
        HashForm::One => None,
        HashForm::Two(writer) => Some(writer),
    };
    records.filter_map(writer).collect()
}

#[test]
fn a_restored_store_writes_under_an_id_of_its_own() {
    let dir = store_with_both_forms();
    let copy = dir.path().join("copy.db");
    let store = open(dir.path());
    assert_eq!(store.backup(&copy).expect("writable").damage, []);
    append(&store, 31, "before");
    assert_eq!(writers(&store).len(), 1);
    drop(store);
    SqliteStore::restore(&copy, dir.path()).expect("it is closed");
    let store = open(dir.path());
    append(&store, 32, "after");
    assert_eq!(writers(&store).len(), 2);
    assert_eq!(store.verify().expect("readable").damage, []);
}

#[test]
fn a_backup_of_an_older_version_is_restored_and_goes_on() {
    for version in [1, 8, 10, 11] {
        let dir = scratch();
        let frozen = format!("tests/data/v{version}/journal.db");
        let frozen = Path::new(env!("CARGO_MANIFEST_DIR")).join(frozen);
        SqliteStore::restore(&frozen, dir.path()).expect("it is whole");
        let store = open(dir.path());
        append(&store, 33, "after");
        assert_eq!(store.verify().expect("readable").damage, []);
        assert_eq!(writers(&store).len(), 1, "version {version}");
    }
}
