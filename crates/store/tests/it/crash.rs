//! Death at any moment: what was acknowledged is there, what was not is there
//! whole or not at all, and nothing is wrong with the rest.

use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::time::Duration;

use piton_core::EventId;
use piton_core::entry::EntryType;
use piton_core::id::{RunId, StreamId};
use piton_core::name::NameRange;
use piton_core::redact::Redactor;
use piton_simkit::seed::salted;
use piton_store::{CommitOutcome, SqliteStore, Store, StoreOptions, failpoint};
use piton_testkit::append::{Append, append};
use piton_testkit::chance::{Chance, Ids, TestClock};
use piton_testkit::child::{command, orders, said};
use piton_testkit::scratch::{scratch, sqlite_in};
use piton_testkit::sketch::{entry, facts, keep, log, plan};
use uuid::Uuid;

const RUN: RunId = RunId(Uuid::from_u128(0x0192_0000_0000_7000_8000_0000_0000_0001));
const PLAN: &[(&str, &[&str])] = &[
    ("a", &[]),
    ("a/one", &[]),
    ("a/two", &["a/one"]),
    ("b", &["a"]),
    ("c", &[]),
];

/// Everything that a store does: is made, written, written back, copied and
/// replaced.
#[test]
#[ignore = "run by other tests, in a process of its own"]
fn child_that_does_everything() {
    let Some(mut orders) = orders().expect("a child has orders") else {
        return;
    };
    let dir = orders.append.dir.clone();
    let mut ids = Ids::seeded(9);
    let mut acknowledge = |committed: CommitOutcome| {
        for event in committed.events {
            let line = format!("ack {}\n", event.record.stamp.id);
            orders
                .said
                .write_all(line.as_bytes())
                .expect("the file can be written");
        }
    };
    SqliteStore::create_if_missing(&dir, NameRange::ALONE).expect("it can be made");
    let store = SqliteStore::open(&dir, StoreOptions::new(Redactor::rules_only()))
        .expect("it can be opened");
    acknowledge(
        store
            .commit(ids.command(), &keep(plan(RUN, "auth", PLAN)), &facts())
            .expect("the name is free"),
    );
    for nth in 0..50 {
        let command = log(entry(EntryType::TaskBlocked, &nth.to_string()));
        acknowledge(
            store
                .commit(ids.command(), &command, &facts())
                .expect("never refused"),
        );
    }
    assert!(!store.heartbeat(RUN, 1, 30).expect("it can be written"));
    let copy = dir.join("copy.db");
    store.backup(&copy).expect("it can be copied");
    drop(store);
    SqliteStore::restore(&copy, &dir).expect("no process has it open");
    SqliteStore::rebuild(&dir, &mut |_| ()).expect("no process has it open");
}

#[test]
#[ignore = "run by other tests, in a process of its own"]
fn child_that_appends() {
    if let Some(mut orders) = orders().expect("a child has orders") {
        append(&orders.append, &mut orders.said).expect("the store can be written");
    }
}

/// Opens what a dead process left, and compares it with what was acknowledged.
#[track_caller]
fn check_what_is_left(dir: &Path, said_file: &Path, what: &str) {
    let store = sqlite_in(dir, TestClock::seeded(1));
    assert_eq!(store.verify().expect("readable").damage, [], "{what}");
    let stored = store.read_journal(None, usize::MAX).expect("readable");
    let stored: Vec<EventId> = stored.iter().map(|record| record.stamp.id).collect();
    let acknowledged = said(said_file).acknowledged;
    let lost: Vec<_> = acknowledged
        .iter()
        .filter(|id| !stored.contains(id))
        .collect();
    assert!(lost.is_empty(), "{what}: lost {lost:?}");
    let planned = store.event_count(&StreamId::of_run(RUN)).expect("readable");
    assert!(
        [0, 1 + PLAN.len() as u64].contains(&planned),
        "{what}: {planned} events of a plan"
    );
    let more = log(entry(EntryType::MilestoneReached, "life goes on"));
    store
        .commit(Ids::seeded(77).command(), &more, &facts())
        .expect("it can be written again");
    assert_eq!(store.verify().expect("readable").damage, [], "{what}");
}

#[track_caller]
fn check_death_at(point: &str) {
    let dir = scratch();
    let said = dir.path().join("said");
    let what = Append {
        dir: dir.path().to_owned(),
        events: 0,
        label: "x".to_owned(),
    };
    let mut child = command("crash::child_that_does_everything", &what, &said);
    let status = child
        .env("PITON_FAILPOINT", point)
        .status()
        .expect("this program can be started");
    assert_eq!(
        status.signal(),
        Some(9),
        "{point} is never reached: {status}"
    );
    check_what_is_left(dir.path(), &said, point);
}

#[test]
fn death_at_every_failpoint_loses_nothing() {
    for point in failpoint::POINTS {
        check_death_at(point);
    }
    // The same in a rebuild, which comes after the restore.
    check_death_at("restore.kept:2");
    check_death_at("restore.renamed:2");
}

#[test]
fn death_in_a_later_commit_loses_nothing() {
    for point in failpoint::POINTS
        .iter()
        .filter(|point| point.starts_with("commit."))
    {
        for nth in [2, 7, 45] {
            check_death_at(&format!("{point}:{nth}"));
        }
    }
}

#[test]
fn death_at_any_moment_loses_nothing() {
    let mut chance = Chance::seeded(salted(4));
    let (rounds, mut acknowledged) = (rounds(), 0);
    // A store that grows for ever would be read for ever.
    for begin in (0..rounds).step_by(10) {
        let dir = scratch();
        let said_file = dir.path().join("said");
        for round in begin..rounds.min(begin + 10) {
            kill_writers(dir.path(), &said_file, &mut chance);
            check_what_is_left_of_rounds(dir.path(), &said_file, round);
        }
        acknowledged += said(&said_file).acknowledged.len();
    }
    assert_ne!(acknowledged, 0, "no child came to write anything");
    #[expect(clippy::print_stdout, reason = "what was tried is worth knowing")]
    {
        let kills = 2 * rounds;
        println!("faults: kills: {kills} of writers, {acknowledged} events acknowledged, lost 0");
    }
}

/// Rounds of two writers that are killed.
#[expect(
    clippy::disallowed_methods,
    reason = "how much is tried is a matter of who runs it"
)]
fn rounds() -> u32 {
    let asked = std::env::var("PITON_FAULT_TRIALS").ok();
    asked.map_or(10, |trials| {
        let trials: u32 = trials.parse().expect("a number of trials");
        trials.div_ceil(2)
    })
}

#[expect(
    clippy::disallowed_methods,
    reason = "a process is killed at a moment of chance"
)]
fn kill_writers(dir: &Path, said_file: &Path, chance: &mut Chance) {
    let what = Append {
        dir: dir.to_owned(),
        events: 1_000_000,
        label: "x".to_owned(),
    };
    let mut children: Vec<_> = (0..2)
        .map(|_| {
            command("crash::child_that_appends", &what, said_file)
                .spawn()
                .expect("it can be started")
        })
        .collect();
    std::thread::sleep(Duration::from_millis(5 + chance.below(120)));
    for child in &mut children {
        child.kill().expect("it is our child");
        child.wait().expect("it is our child");
    }
}

#[track_caller]
fn check_what_is_left_of_rounds(dir: &Path, said_file: &Path, round: u32) {
    let store = sqlite_in(dir, TestClock::seeded(1));
    assert_eq!(
        store.verify().expect("readable").damage,
        [],
        "round {round}"
    );
    let stored = store.read_journal(None, usize::MAX).expect("readable");
    let stored: std::collections::BTreeSet<EventId> =
        stored.iter().map(|record| record.stamp.id).collect();
    for id in said(said_file).acknowledged {
        assert!(stored.contains(&id), "round {round}: lost {id}");
    }
}
