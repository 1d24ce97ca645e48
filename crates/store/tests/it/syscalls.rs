//! Death and failing disks at any call of the kernel that changes something.
//!
//! Takes `strace`, which puts the deaths and failures in; skipped aloud without it.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus, Stdio};

use piton_core::EventId;
use piton_core::redact::Redactor;
use piton_store::{SqliteStore, Store, StoreOptions};
use piton_testkit::append::{Append, append};
use piton_testkit::chance::TestClock;
use piton_testkit::child::{command, orders, said};
use piton_testkit::scratch::{scratch, sqlite_in};
use tempfile::TempDir;

#[test]
#[ignore = "run by other tests, in a process of its own"]
fn child() {
    if let Some(mut orders) = orders().expect("a child has orders") {
        append(&orders.append, &mut orders.said).expect("the store can be written");
    }
}

/// Runs the child in a fresh folder with this injected into these calls.
fn run(calls: &str, inject: &str) -> Option<(TempDir, ExitStatus)> {
    let dir = scratch();
    let what = Append {
        dir: dir.path().to_owned(),
        events: 60,
        label: "x".to_owned(),
    };
    let child = command("syscalls::child", &what, &dir.path().join("said"));
    #[expect(clippy::disallowed_methods, reason = "a tool of the tests, waited for")]
    let mut strace = Command::new("strace");
    strace.args([
        "-qq",
        "-f",
        "-o",
        "/dev/null",
        "-e",
        &format!("trace={calls}"),
    ]);
    strace
        .args(["-e", &format!("inject={inject}")])
        .arg(child.get_program())
        .args(child.get_args());
    for (name, value) in child.get_envs() {
        strace.env(name, value.unwrap_or_default());
    }
    let quiet = strace
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    Some((dir, quiet.status().ok()?))
}

#[track_caller]
fn check_what_is_left(dir: &TempDir, inject: &str) -> u64 {
    let store = sqlite_in(dir.path(), TestClock::seeded(1));
    assert_eq!(store.verify().expect("readable").damage, [], "{inject}");
    let stored = store.read_journal(None, usize::MAX).expect("readable");
    let stored: Vec<EventId> = stored.iter().map(|record| record.stamp.id).collect();
    let acknowledged = said(&dir.path().join("said")).acknowledged;
    for id in &acknowledged {
        assert!(stored.contains(id), "{inject}: lost {id}");
    }
    assert!(
        stored.len() <= acknowledged.len() + 1,
        "{inject}: more than one was under way"
    );
    stored.len() as u64
}

#[expect(clippy::print_stderr, reason = "what is skipped is said aloud")]
fn skipped() {
    eprintln!("skipped: failing calls of the kernel take strace");
}

/// Tries an injection at the first, the second … call, to the last.
fn sweep(
    calls: &str,
    what: &str,
    steps: impl Iterator<Item = u32>,
    died: impl Fn(ExitStatus) -> bool,
) {
    let mut tried = 0;
    for nth in steps {
        let inject = format!("{calls}:{what}:when={nth}");
        let Some((dir, status)) = run(calls, &inject) else {
            return skipped();
        };
        let left = check_what_is_left(&dir, &inject);
        if status.success() {
            // There is no such call any more, or it was one that may fail.
            assert_eq!(left, 60, "{inject}");
            continue;
        }
        assert!(died(status), "{inject}: {status}");
        tried += 1;
    }
    assert_ne!(tried, 0, "{calls}:{what} never happened");
}

fn killed(status: ExitStatus) -> bool {
    status.signal() == Some(9) || status.code() == Some(137)
}

#[test]
fn death_at_any_write_loses_nothing() {
    sweep("pwrite64", "signal=KILL", (1..2_000).step_by(37), killed);
}

#[test]
fn death_at_any_flush_loses_nothing() {
    sweep(
        "fdatasync,fsync",
        "signal=KILL",
        (1..200).step_by(5),
        killed,
    );
}

#[test]
fn death_at_any_change_of_a_name_loses_nothing() {
    sweep(
        "link,linkat,unlink,rename,ftruncate",
        "signal=KILL",
        1..30,
        killed,
    );
}

/// A child that is told of the failure says so and ends; it does not go on.
fn failed(status: ExitStatus) -> bool {
    status.code() == Some(101)
}

#[test]
fn a_failing_flush_is_never_taken_for_one_that_worked() {
    sweep("fdatasync", "error=EIO", (1..200).step_by(5), failed);
}

#[test]
fn a_failing_write_is_never_taken_for_one_that_worked() {
    sweep("pwrite64", "error=EIO", (60..2_000).step_by(61), failed);
}

#[test]
fn a_disk_that_fills_up_at_any_write_loses_nothing() {
    sweep("pwrite64", "error=ENOSPC", (60..2_000).step_by(61), failed);
}

#[test]
fn after_a_failed_flush_nothing_is_done_until_the_store_is_opened_again() {
    let inject = "fdatasync:error=EIO:when=20";
    let Some((dir, status)) = run("fdatasync", inject) else {
        return skipped();
    };
    assert!(failed(status), "{status}");
    let stored = check_what_is_left(&dir, inject);
    let more = Append {
        dir: dir.path().to_owned(),
        events: 3,
        label: "y".to_owned(),
    };
    append(
        &more,
        &mut fs::File::create(dir.path().join("more")).expect("writable"),
    )
    .expect("opened again");
    let store =
        SqliteStore::open(dir.path(), StoreOptions::new(Redactor::rules_only())).expect("whole");
    assert_eq!(store.stream_heads().expect("readable")[0].count, stored + 3);
}
