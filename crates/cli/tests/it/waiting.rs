//! Commands behind a process that holds the store and does not move.

use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::harness::{Running, Said, Scratch};

/// A project in which something is recorded; short commands wait one second.
fn project() -> Scratch {
    let scratch = Scratch::new();
    assert_eq!(log(&scratch, "begun").exit, 0);
    scratch.write(".piton/config.toml", "[store]\nwait-s = 1\n");
    scratch
}

fn log(scratch: &Scratch, text: &str) -> Said {
    scratch.piton(&["log", "milestone_reached", "--description", text])
}

/// A command that was stopped while it held the store, before it stored anything.
fn stopped_holder(scratch: &Scratch) -> Running {
    let mut command = scratch.command(&["log", "milestone_reached", "--description", "held"]);
    command.env("PITON_FAILPOINT", "commit.locked:stop");
    let holder = Running::start(command);
    scratch.until("it is stopped", || state(holder.id()) == "T");
    holder
}

/// The state of a process, by its letter in proc_pid_stat(5).
fn state(pid: u32) -> String {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let rest = stat.rsplit_once(") ").map_or("", |(_, rest)| rest);
    rest.chars().take(1).collect()
}

/// How often an entry with this text is in the journal.
fn count(scratch: &Scratch, text: &str) -> usize {
    let journal = scratch.piton(&["journal", "export"]).out;
    journal.matches(text).count()
}

#[test]
#[cfg(target_os = "linux")]
fn a_short_command_behind_a_stopped_one_names_it_and_ends() {
    let scratch = project();
    let holder = stopped_holder(&scratch);
    let begun = Instant::now();
    let waiting = Running::start(scratch.command(&["log", "milestone_reached"]));
    let said = waiting.end_within(Duration::from_secs(12));
    assert!(begun.elapsed() >= Duration::from_secs(1));
    assert_eq!(said.exit, 4, "{}", said.err);
    let who = format!(
        "held by process {} (`piton log`), which is stopped, since 20",
        holder.id()
    );
    assert!(said.err.contains(&who), "{}", said.err);
    assert!(said.err.contains("[store.busy]"), "{}", said.err);

    holder.signal(Signal::CONT);
    assert_eq!(holder.end().exit, 0);
    assert_eq!(log(&scratch, "after").exit, 0);
    assert_eq!((count(&scratch, "held"), count(&scratch, "after")), (1, 1));
}
