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

/// What a program tells at the hook of an event.
fn hook(scratch: &Scratch, event: &str) -> Said {
    let told = r#"{"session_id": "s", "tool_name": "Bash", "tool_input": {"command": "make"}}"#;
    scratch.fed(&["hook", event], told.as_bytes())
}

/// How many events lie in the spool of the hooks.
fn spooled(scratch: &Scratch) -> usize {
    let folder = std::fs::read_dir(scratch.home().join("hooks/spool"));
    let names = folder
        .expect("it was made")
        .map(|entry| entry.expect("readable").file_name());
    names
        .filter(|name| name.to_string_lossy().ends_with(".json"))
        .count()
}

/// How many calls, and how many ends of sessions, are in the journal.
fn recorded(scratch: &Scratch) -> (usize, usize) {
    let calls = scratch
        .event_kinds()
        .iter()
        .filter(|kind| *kind == "call-noted")
        .count();
    (calls, count(scratch, "session ended"))
}

#[test]
#[cfg(target_os = "linux")]
fn a_hook_behind_a_stopped_one_ends_and_its_event_is_recorded_once() {
    let scratch = project();
    scratch.write(".piton/config.toml", "");
    let holder = stopped_holder(&scratch);
    for event in ["PostToolUse", "SessionEnd"] {
        let begun = Instant::now();
        let said = hook(&scratch, event);
        assert_eq!(
            (said.exit, said.out.as_str(), said.err.as_str()),
            (0, "", "")
        );
        assert!(begun.elapsed() < Duration::from_secs(4), "{event}");
    }
    assert_eq!((spooled(&scratch), recorded(&scratch)), (2, (0, 0)));

    holder.signal(Signal::CONT);
    assert_eq!(holder.end().exit, 0);
    for next in ["next", "after"] {
        assert_eq!(log(&scratch, next).exit, 0);
        assert_eq!(
            (spooled(&scratch), recorded(&scratch)),
            (0, (1, 1)),
            "{next}"
        );
    }
    assert_eq!(scratch.piton(&["journal", "verify"]).exit, 0);
}

#[test]
#[cfg(target_os = "linux")]
fn wherever_a_command_dies_over_a_spooled_event_it_is_recorded_once() {
    let scratch = project();
    let holder = stopped_holder(&scratch);
    // Gives up by itself: it waits no longer than other commands do.
    assert_eq!(hook(&scratch, "PostToolUse").exit, 0);
    holder.kill();
    assert_eq!(spooled(&scratch), 1);
    for point in [
        "commit.locked",
        "commit.before-durable",
        "commit.durable",
        "commit.acknowledged",
        "hook-spool.recorded",
    ] {
        let scratch = scratch.copy();
        let mut command = scratch.command(&["log", "milestone_reached"]);
        let died = Said::of(
            &command
                .env("PITON_FAILPOINT", point)
                .output()
                .expect("piton starts"),
        );
        assert_eq!(died.exit, -1, "{point}");
        assert_eq!(spooled(&scratch), 1, "{point}");
        assert_eq!(log(&scratch, "next").exit, 0);
        assert_eq!(
            (spooled(&scratch), recorded(&scratch)),
            (0, (1, 0)),
            "{point}"
        );
        assert_eq!(scratch.piton(&["journal", "verify"]).exit, 0, "{point}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_hook_that_dies_as_it_gives_up_leaves_nothing_half() {
    let scratch = project();
    let holder = stopped_holder(&scratch);
    let mut command = scratch.command(&["hook", "SessionEnd"]);
    command.env("PITON_FAILPOINT", "hook-spool.written");
    let told = scratch.write("told", r#"{"session_id": "s"}"#).file("told");
    command.stdin(std::fs::File::open(told).expect("written"));
    assert_eq!(Said::of(&command.output().expect("piton starts")).exit, -1);
    holder.kill();
    assert_eq!(spooled(&scratch), 0);
    assert_eq!(log(&scratch, "next").exit, 0);
    assert_eq!(recorded(&scratch), (0, 0));
}

#[test]
fn what_no_hook_records_is_not_taken_from_its_spool() {
    let scratch = project();
    let folder = scratch.home().join("hooks/spool");
    std::fs::create_dir_all(&folder).expect("made");
    let id = "01900000-0000-7000-8000-000000000001";
    let record = r#"{"entry": {"type": "task_completed", "task_id": "x", "data": {}}}"#;
    let text = format!(r#"{{"id": "{id}", "record": {record}}}"#);
    std::fs::write(folder.join(format!("{id}.json")), text).expect("written");
    let said = log(&scratch, "next");
    assert_eq!(said.exit, 0, "{}", said.err);
    assert!(
        said.err.contains("no hook records such a thing"),
        "{}",
        said.err
    );
    assert_eq!(count(&scratch, "task_completed"), 0);
}
