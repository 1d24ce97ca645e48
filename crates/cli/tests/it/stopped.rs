//! A runner that is stopped (Ctrl-Z, `kill -STOP`) while it holds a run.

#![cfg(target_os = "linux")]

use rusqlite::Connection;
use rustix::process::Signal;

use crate::harness::{RUN, Running, Said, Scratch, is_alive};
use crate::joining::{AT_WORK, at_work};
use crate::lanes::{all_done, arguments, fine, main_has_it, project};

const PHASES: &str = "  - id: build\n    prompt: build it\n  - id: test\n    prompt: test it\n";

/// Works until it is told to go on, unless a second runner has it.
const PATIENT: &str = "[ -e second ] && { echo x >>made; echo done; exit; }
echo half >half
echo $$ >agent.pid
while ! [ -e go ]; do sleep 0.02; done
echo late >>late
echo done";

/// The lease of whoever holds a run has ended, as 30 seconds after its last sign of life.
fn end_leases(scratch: &Scratch) {
    let journal = Connection::open(scratch.home().join("journal.db")).expect("it is there");
    let ended = "UPDATE leases SET expires = 0";
    let changed = journal.execute(ended, []).expect("nobody holds it");
    assert_eq!(changed, 1, "one runner has a lease");
}

fn is_stopped(runner: &Running) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", runner.id()));
    let stat = stat.unwrap_or_default();
    stat.rsplit_once(") ")
        .is_some_and(|(_, rest)| rest.starts_with('T'))
}

/// A run whose runner is stopped while its agent works, which still does.
fn stopped() -> (Scratch, Running) {
    let scratch = Scratch::new();
    scratch.sprint(PHASES).agent(PATIENT);
    let runner = scratch.start_run(&[]);
    scratch.until("it works", || scratch.has("agent.pid"));
    runner.signal(Signal::STOP);
    scratch.until("it is stopped", || is_stopped(&runner));
    (scratch, runner)
}

/// It goes on, finds that it holds the run no more, and changes nothing.
#[track_caller]
fn is_fenced(scratch: &Scratch, runner: Running) -> Said {
    let before = scratch.event_kinds();
    runner.signal(Signal::CONT);
    let said = runner.end();
    assert_eq!(said.exit, 4, "{}", said.err);
    assert!(said.err.contains("[run.fenced]"), "{}", said.err);
    assert_eq!(scratch.event_kinds(), before);
    let verified = scratch.piton(&["journal", "verify"]);
    assert_eq!(verified.exit, 0, "{}{}", verified.out, verified.err);
    said
}

#[test]
fn a_stopped_holder_keeps_its_run_until_its_lease_ends_and_is_named() {
    let (scratch, runner) = stopped();
    let said = scratch.run(&[]);
    assert_eq!(said.exit, 4, "{}", said.err);
    assert!(said.err.contains("[run.busy]"), "{}", said.err);
    assert!(said.err.contains("is stopped"), "{}", said.err);
    let next = format!("`kill -CONT {}`", runner.id());
    assert!(said.err.contains(&next), "{}", said.err);
    assert!(is_alive(&scratch.read("agent.pid")));
    runner.signal(Signal::CONT);
    scratch.write("go", "");
    assert_eq!(runner.end().exit, 0);
}

#[test]
fn a_stopped_holder_loses_its_run_with_its_lease_and_its_agent_is_ended_first() {
    let (scratch, runner) = stopped();
    end_leases(&scratch);
    scratch.write("second", "");
    let said = scratch.run(&[]);
    assert_eq!(said.exit, 0, "{}", said.err);
    assert!(
        said.err.contains("outlived an earlier runner"),
        "{}",
        said.err
    );
    assert!(!is_alive(&scratch.read("agent.pid")));
    assert_eq!(scratch.read("made"), "x\nx\n");
    scratch.write("go", "");
    is_fenced(&scratch, runner);
    assert!(!scratch.has("late"));
    assert_eq!(scratch.json(&["status"])["run"]["state"], "done");
}

#[test]
fn a_holder_that_lives_keeps_its_run_though_its_lease_ended() {
    let (scratch, runner) = stopped();
    runner.signal(Signal::CONT);
    scratch.until("it goes on", || !is_stopped(&runner));
    end_leases(&scratch);
    assert_eq!(scratch.run(&[]).exit, 4);
    assert!(is_alive(&scratch.read("agent.pid")));
    scratch.write("go", "");
    assert_eq!(runner.end().exit, 0);
}

const CHECKED: &str = "  - id: build\n    prompt: build it\n    gate: {script: \"echo x >>.piton/checked; test -e made\", on-fail: {prompt: mend it}}\n  - id: test\n    prompt: test it\n";

/// Says in a file which item it works on; at `test` it is half done until it may go on.
const HALF_DONE: &str = "echo $PITON_ITEM >>made
[ $PITON_ITEM = build ] || touch .piton/half
[ $PITON_ITEM = build ] || until [ -e .piton/go ]; do sleep 0.02; done
echo done";

/// Wherever a holder is stopped, it does nothing more in the work tree in which another
/// runner is at work: it starts no agent and no check, and commits nothing of it.
#[track_caller]
fn changes_nothing_after(point: &str) {
    let scratch = Scratch::new();
    scratch.sprint_with("config:\n  auto-commit: true\n", CHECKED);
    scratch.agent(HALF_DONE);
    scratch.git(&["add", "--all"]);
    scratch.git(&["commit", "--quiet", "--message", "begin"]);
    let mut command = scratch.command(RUN);
    command.env("PITON_FAILPOINT", format!("{point}:stop"));
    let first = Running::start(command);
    scratch.until("it is stopped", || is_stopped(&first));
    end_leases(&scratch);
    let second = scratch.start_run(&[]);
    scratch.until("another one is half done", || scratch.has(".piton/half"));
    let traces = || ["made", ".piton/checked"].map(|file| scratch.read(file));
    let before = traces();
    is_fenced(&scratch, first);
    assert_eq!(traces(), before, "{point}");
    scratch.write(".piton/go", "");
    let said = second.end();
    assert_eq!(said.exit, 0, "{point}: {}", said.err);
    let log = scratch.git(&["log", "--format=%s"]);
    for item in [": build", ": test"] {
        let commits = log.lines().filter(|line| line.ends_with(item)).count();
        assert_eq!(commits, 1, "{point}: {log}");
    }
    assert_eq!(
        scratch.git(&["status", "--porcelain", "made"]),
        "",
        "{point}"
    );
    let kinds = scratch.event_kinds();
    let count = |kind| kinds.iter().filter(|is| *is == kind).count();
    assert_eq!(count("attempt-started"), count("attempt-ended"), "{point}");
}

#[test]
fn a_runner_that_was_stopped_before_an_agent_starts_none_when_another_has_its_run() {
    changes_nothing_after("run.before-start");
}

#[test]
fn a_runner_that_was_stopped_before_a_check_runs_none_when_another_has_its_run() {
    changes_nothing_after("gate.before-start");
}

#[test]
fn a_runner_that_was_stopped_over_a_commit_makes_none_when_another_has_its_run() {
    for point in ["run.before-commit", "git.staged", "run.after-commit"] {
        changes_nothing_after(point);
    }
}

#[test]
fn a_stopped_holder_of_lanes_loses_its_run_as_well() {
    let scratch = project(AT_WORK, 3);
    let holder = Running::start(scratch.command(&arguments("2")));
    scratch.until("two work", || at_work(&scratch) == 2);
    holder.signal(Signal::STOP);
    scratch.until("it is stopped", || is_stopped(&holder));
    end_leases(&scratch);
    let next = Running::start(scratch.command(&arguments("2")));
    scratch.until("what is left is ended", || {
        next.err().contains("outlived an earlier runner")
    });
    scratch.write(".piton/go", "");
    fine(&next.end());
    all_done(&scratch, 3);
    main_has_it(&scratch);
    is_fenced(&scratch, holder);
    main_has_it(&scratch);
}
