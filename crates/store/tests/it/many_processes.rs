//! Many processes write at once: nothing is lost, and nobody waits for long.

use std::collections::BTreeSet;

use piton_core::EventId;
use piton_core::id::StreamId;
use piton_store::{SqliteStore, Store};
use piton_testkit::append::{Append, append};
use piton_testkit::chance::TestClock;
use piton_testkit::child::{command, orders, said};
use piton_testkit::scratch::{scratch, sqlite_in};

#[test]
#[ignore = "run by other tests, in a process of its own"]
fn child() {
    if let Some(mut orders) = orders().expect("a child has orders") {
        append(&orders.append, &mut orders.said).expect("the store can be written");
    }
}

#[track_caller]
#[expect(
    clippy::print_stdout,
    reason = "how long the longest wait was is for people to see"
)]
fn check(processes: u64, events: u64) {
    let dir = scratch();
    let children: Vec<_> = (0..processes)
        .map(|nth| {
            let what = Append {
                dir: dir.path().to_owned(),
                events,
                label: format!("process-{nth}"),
            };
            let said = dir.path().join(format!("said-{nth}"));
            let child = command("many_processes::child", &what, &said)
                .spawn()
                .expect("this program can be started");
            (child, said)
        })
        .collect();
    let mut acknowledged = BTreeSet::new();
    let mut longest_us = 0;
    for (mut child, file) in children {
        assert!(child.wait().expect("it is our child").success());
        let said = said(&file);
        acknowledged.extend(said.acknowledged);
        longest_us = longest_us.max(
            said.longest_us
                .into_iter()
                .max()
                .expect("it came to its end"),
        );
    }
    assert_eq!(acknowledged.len() as u64, processes * events);
    let store: SqliteStore = sqlite_in(dir.path(), TestClock::seeded(1));
    let stored = store
        .read_stream(&StreamId::sessions(), 0, usize::MAX)
        .expect("readable");
    let stored: Vec<EventId> = stored.iter().map(|record| record.stamp.id).collect();
    assert_eq!(stored.len() as u64, processes * events);
    assert_eq!(stored.into_iter().collect::<BTreeSet<_>>(), acknowledged);
    assert_eq!(store.verify().expect("readable").damage, []);
    println!(
        "{processes} processes of {events} events: longest wait {} ms",
        longest_us / 1_000
    );
}

#[test]
fn sixteen_processes_lose_nothing_of_each_other() {
    check(16, 200);
}

#[test]
fn a_store_is_made_once_however_many_want_it() {
    check(24, 1);
}
