//! How long a writer waits behind one that holds the store.

use std::fs::File;
use std::path::Path;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, SystemTime};

use piton_core::CommandId;
use piton_core::entry::EntryType;
use piton_core::redact::Redactor;
use piton_store::{
    CommitError, CommitOutcome, FaultKind, SqliteStore, Store, StoreOptions, WaitReport, WriterWait,
};
use piton_testkit::chance::TestClock;
use piton_testkit::scratch::{scratch, sqlite_in};
use piton_testkit::sketch::{entry_of, facts, log};
use uuid::Uuid;

fn open_waiting(dir: &Path, wait: WriterWait) -> SqliteStore {
    drop(sqlite_in(dir, TestClock::seeded(1)));
    let options = StoreOptions::new(Redactor::rules_only()).with_wait(wait);
    SqliteStore::open(dir, options).expect("it was made")
}

/// Holds the lock of the writers, as another process would.
fn hold(dir: &Path) -> File {
    let lock = File::options().append(true).open(dir.join("journal.lock"));
    let lock = lock.expect("it was made");
    lock.lock().expect("nobody has it");
    lock
}

fn commit(store: &SqliteStore) -> Result<CommitOutcome, CommitError> {
    let command = log(entry_of(EntryType::TaskCompleted, "t1", "waited"));
    store.commit(CommandId(Uuid::now_v7()), &command, &facts())
}

#[track_caller]
fn locked(outcome: Result<CommitOutcome, CommitError>) -> String {
    match outcome {
        Err(CommitError::Fault(fault)) if fault.kind == FaultKind::Locked => fault.to_string(),
        other => panic!("{other:?}"),
    }
}

const SHORT: Duration = Duration::from_millis(300);

#[test]
fn a_holder_that_does_not_move_is_named_and_given_up() {
    let dir = scratch();
    let store = open_waiting(dir.path(), WriterWait::Limited(SHORT));
    let holder = hold(dir.path());
    let what = locked(commit(&store));
    if cfg!(target_os = "linux") {
        let who = format!("is held by process {} (`", std::process::id());
        assert!(what.contains(&who), "{what}");
    }
    assert!(
        what.ends_with("no other command could write for 0 s"),
        "{what}"
    );
    drop(holder);
    // What was given up takes no turn from anybody.
    commit(&store).expect("nobody has it");
    commit(&open_waiting(dir.path(), WriterWait::Limited(SHORT))).expect("nobody has it");
}

#[test]
fn while_the_queue_moves_a_writer_waits_on() {
    let dir = scratch();
    let store = open_waiting(dir.path(), WriterWait::Limited(SHORT));
    let holder = hold(dir.path());
    let waits = thread::spawn(move || commit(&store));
    for turn in 1..8 {
        thread::park_timeout(Duration::from_millis(150));
        // As the turn of a writer does.
        let began = SystemTime::UNIX_EPOCH + Duration::from_secs(turn);
        holder.set_modified(began).expect("it is ours");
    }
    drop(holder);
    waits.join().expect("no panic").expect("its turn came");
}

#[test]
fn a_runner_waits_without_end_and_reports_it() {
    let dir = scratch();
    let (reports, reported) = mpsc::channel();
    let wait = WriterWait::Endless {
        every: SHORT,
        report: WaitReport::new(move |text| drop(reports.send(text.to_owned()))),
    };
    let store = open_waiting(dir.path(), wait);
    let holder = hold(dir.path());
    let waits = thread::spawn(move || commit(&store));
    for _ in 0..3 {
        let text = reported.recv().expect("it waits");
        assert!(text.contains("no other command could write"), "{text}");
    }
    drop(holder);
    waits.join().expect("no panic").expect("its turn came");
}

#[test]
#[cfg(target_os = "linux")]
fn who_held_it_before_is_not_named() {
    let dir = scratch();
    let store = open_waiting(dir.path(), WriterWait::Limited(SHORT));
    commit(&store).expect("nobody has it");
    // Shared, and by nobody's turn: since when is not known.
    let reader = File::open(dir.path().join("journal.lock")).expect("it was made");
    reader.lock_shared().expect("nobody has it");
    let what = locked(commit(&store));
    assert!(what.contains("which is running: no other"), "{what}");
}
