//! Death, and a disk that fails, at every system call by which `piton log`
//! makes something durable. Needs strace; without it these tests say so.

use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use super::sprint::say;
use crate::harness::Scratch;

const CALLS: &[&str] = &[
    "pwrite64",
    "fdatasync",
    "fsync",
    "rename",
    "renameat2",
    "linkat",
    "link",
];
/// No call is made more often than this by one command.
const TIMES_MAX: usize = 100;

/// Whether strace is there and may look into other processes.
fn is_strace_there() -> bool {
    let mut command = Command::new("strace");
    let works = command
        .args(["-f", "-qq", "-o", "/dev/null", "-e", "trace=fsync", "true"])
        .stdin(Stdio::null())
        .output()
        .is_ok_and(|output| output.status.success());
    if !works {
        skip();
    }
    works
}

fn skip() {
    eprintln!("skipped: death at each system call takes strace, and the right to trace");
}

/// Logs an entry while the `nth` call of a kind is tampered with.
fn log_under_strace(scratch: &Scratch, call: &str, nth: usize, what: &str, notes: &str) -> Output {
    let plain = scratch.command(&["log", "task_completed", "--notes", notes, "--json"]);
    let mut command = Command::new("strace");
    command
        .args([
            "-f",
            "-qq",
            "-o",
            "/dev/null",
            "-e",
            &format!("trace={call}"),
        ])
        .args(["-e", &format!("inject={call}:{what}:when={nth}")])
        .arg(plain.get_program())
        .args(plain.get_args())
        .current_dir(plain.get_current_dir().expect("it was set"))
        .env_clear()
        .stdin(Stdio::null());
    for (name, value) in plain.get_envs() {
        if let Some(value) = value {
            command.env(name, value);
        }
    }
    command.output().expect("strace was there a moment ago")
}

/// The notes of all entries, in order.
fn notes(scratch: &Scratch) -> Vec<String> {
    let exported = scratch.piton(&["journal", "export"]);
    assert_eq!(exported.exit, 0, "{}", exported.err);
    exported
        .out
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON lines"))
        .map(|event| {
            event["body"]["data"]["notes"]
                .as_str()
                .unwrap_or_default()
                .to_owned()
        })
        .collect()
}

fn is_whole(scratch: &Scratch) {
    let verified = scratch.piton(&["journal", "verify"]);
    assert_eq!(verified.exit, 0, "{}{}", verified.out, verified.err);
}

fn goes_on(scratch: &Scratch) {
    let next = scratch.piton(&["log", "task_completed", "--notes", "next"]);
    assert_eq!(next.exit, 0, "{}", next.err);
    assert_eq!(notes(scratch).last().map(String::as_str), Some("next"));
    is_whole(scratch);
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Store {
    /// There is one, with an entry in it.
    There,
    /// The command makes it.
    New,
}

fn scratch(store: Store) -> Scratch {
    let scratch = Scratch::outside_git();
    if store == Store::There {
        assert_eq!(
            scratch
                .piton(&["log", "session_started", "--notes", "first"])
                .exit,
            0
        );
    }
    scratch
}

/// What must hold after a command that was tampered with.
fn check(scratch: &Scratch, store: Store, acknowledged: bool, place: &str) {
    let stored = if scratch.has(".piton/journal.db") {
        notes(scratch)
    } else {
        Vec::new()
    };
    let first = usize::from(store == Store::There);
    let first = vec!["first".to_owned(); first];
    assert_eq!(
        stored.get(..first.len()),
        Some(first.as_slice()),
        "{place}: {stored:?}"
    );
    let rest = stored.get(first.len()..).unwrap_or_default();
    let whole = rest.is_empty() && !acknowledged || rest == ["second"];
    assert!(whole, "{place}: {stored:?}, acknowledged: {acknowledged}");
    if scratch.has(".piton/journal.db") {
        is_whole(scratch);
    }
    goes_on(scratch);
}

fn kill_at_each_call(store: Store) {
    if !is_strace_there() {
        return;
    }
    let mut deaths = 0;
    for call in CALLS {
        for nth in 1..TIMES_MAX {
            let scratch = scratch(store);
            let output = log_under_strace(&scratch, call, nth, "signal=KILL", "second");
            let died = output.status.signal() == Some(9) || output.status.code() == Some(137);
            let place = format!("killed at {call} {nth}");
            assert!(
                died || output.status.success(),
                "{place}: {}",
                String::from_utf8_lossy(&output.stderr)
            );
            check(&scratch, store, !died, &place);
            if !died {
                break;
            }
            deaths += 1;
        }
    }
    say(&format!("{deaths} deaths"));
    assert!(
        deaths >= 2,
        "a durable command makes more than {deaths} calls"
    );
}

fn fail_each_call(store: Store, error: &str) {
    if !is_strace_there() {
        return;
    }
    let mut faults = 0;
    for call in CALLS {
        let mut passed = 0;
        for nth in 1..TIMES_MAX {
            let scratch = scratch(store);
            let output = log_under_strace(&scratch, call, nth, &format!("error={error}"), "second");
            let place = format!("{error} at {call} {nth}");
            let said = String::from_utf8_lossy(&output.stderr);
            match output.status.code() {
                Some(0) => passed += 1,
                Some(7) => {
                    passed = 0;
                    faults += 1;
                    let messages = said
                        .lines()
                        .filter(|line| line.contains("\"error\""))
                        .count();
                    assert_eq!(messages, 1, "{place}: {said}");
                }
                other => panic!("{place}: {other:?}: {said}"),
            }
            check(&scratch, store, output.status.success(), &place);
            // A fault that harms nobody may be passed over, such as that of a
            // log that is written back another time; two in a row are the end.
            if passed == 2 {
                break;
            }
        }
    }
    say(&format!("{faults} faults"));
    assert!(
        faults >= 2,
        "a durable command makes more than {faults} calls"
    );
}

#[test]
fn a_log_killed_at_any_call_stores_all_or_nothing() {
    kill_at_each_call(Store::There);
}

#[test]
fn a_log_killed_while_it_makes_the_store_stores_all_or_nothing() {
    kill_at_each_call(Store::New);
}

#[test]
fn a_log_on_a_disk_that_fails_says_so_and_stores_nothing_by_halves() {
    fail_each_call(Store::There, "EIO");
    fail_each_call(Store::New, "EIO");
}

#[test]
fn a_log_on_a_full_disk_says_so_and_stores_nothing_by_halves() {
    fail_each_call(Store::There, "ENOSPC");
    fail_each_call(Store::New, "ENOSPC");
}
