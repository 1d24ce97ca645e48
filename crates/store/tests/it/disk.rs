//! A disk without room: nothing half is stored, and it goes on when there is room.

use std::fs;
use std::process::Command;

use piton_core::entry::EntryType;
use piton_core::id::StreamId;
use piton_store::{CommitError, FaultKind, Store};
use piton_testkit::chance::{Ids, TestClock};
use piton_testkit::scratch::{scratch, sqlite_in};
use piton_testkit::sketch::{entry, facts, log};

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "only mount can make a disk that is small enough to fill"
)]
#[expect(clippy::print_stderr, reason = "what is skipped is said aloud")]
fn a_full_disk_refuses_a_commit_and_harms_nothing() {
    let dir = scratch();
    let mounted = Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=3m", "piton-test"])
        .arg(dir.path())
        .output();
    if !mounted.is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: a full disk takes root and mount");
        return;
    }
    let outcome = std::panic::catch_unwind(|| fill_and_go_on(dir.path()));
    let unmounted = Command::new("umount").args(["-l"]).arg(dir.path()).status();
    assert!(unmounted.is_ok_and(|status| status.success()));
    if let Err(panic) = outcome {
        std::panic::resume_unwind(panic);
    }
}

fn fill_and_go_on(dir: &std::path::Path) {
    let mut ids = Ids::seeded(1);
    let ballast = dir.join("ballast");
    let store = sqlite_in(dir, TestClock::seeded(1));
    fs::write(&ballast, vec![7; 1 << 20]).expect("there is room for it");
    let words = "words ".repeat(300);
    let mut stored = 0;
    let fault = loop {
        match store.commit(
            ids.command(),
            &log(entry(EntryType::MilestoneReached, &words)),
            &facts(),
        ) {
            Ok(_) => stored += 1,
            Err(CommitError::Fault(fault)) => break fault,
            Err(other) => panic!("{other:?}"),
        }
        assert!(stored < 5_000, "the disk is never full");
    };
    assert_eq!(fault.kind, FaultKind::Io, "{fault:?}");
    assert!(fault.to_string().contains("the disk is full"), "{fault}");
    assert_eq!(
        store.event_count(&StreamId::sessions()).expect("readable"),
        stored
    );
    assert_eq!(store.verify().expect("readable").damage, []);
    fs::remove_file(&ballast).expect("it is there");
    let more = log(entry(EntryType::MilestoneReached, "there is room again"));
    store
        .commit(ids.command(), &more, &facts())
        .expect("by the handle that failed");
    drop(store);
    let store = sqlite_in(dir, TestClock::seeded(1));
    store
        .commit(ids.command(), &more, &facts())
        .expect("and by another one");
    assert_eq!(
        store.event_count(&StreamId::sessions()).expect("readable"),
        stored + 2
    );
    assert_eq!(store.verify().expect("readable").damage, []);
}
