//! A runner hears what is asked of it, whatever works at the moment.

use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::harness::{DEMO, Scratch};

const ONE: &str = "  - id: build\n    prompt: build it\n";

#[test]
fn a_stop_is_heard_over_an_agent_that_never_stops_talking() {
    let scratch = Scratch::new();
    scratch
        .sprint(ONE)
        .agent("i=0; while [ $i -lt 2000 ]; do echo $i; i=$((i+1)); sleep 0.01; done");
    let runner = scratch.start_run(&[]);
    runner.until_said("> build");
    let begun = Instant::now();
    assert_eq!(scratch.piton(&["stop", DEMO]).exit, 0);
    assert_eq!(runner.end().exit, 130);
    assert!(
        begun.elapsed() < Duration::from_secs(8),
        "{:?}",
        begun.elapsed()
    );
}

#[test]
fn the_time_box_ends_an_agent_that_never_stops_talking() {
    let scratch = Scratch::new();
    scratch
        .sprint(ONE)
        .agent("i=0; while [ $i -lt 2000 ]; do echo $i; i=$((i+1)); sleep 0.01; done");
    let begun = Instant::now();
    assert_eq!(scratch.run(&["--time-box", "1s"]).exit, 5);
    assert!(
        begun.elapsed() < Duration::from_secs(10),
        "{:?}",
        begun.elapsed()
    );
}

#[test]
fn a_hook_that_takes_its_time_does_not_keep_a_signal_waiting() {
    let scratch = Scratch::new();
    scratch
        .sprint_with("config:\n  auto-commit: true\n", ONE)
        .agent("echo x >x.txt; echo fine");
    scratch.git(&["add", "--all"]);
    scratch.git(&["commit", "--quiet", "--message", "begin"]);
    scratch.script(
        ".git/hooks/pre-commit",
        "touch hooked; [ -f quick ] || sleep 300",
    );
    let runner = scratch.start_run(&[]);
    scratch.until("the hook works", || scratch.has("hooked"));
    let begun = Instant::now();
    runner.signal(Signal::INT);
    assert_eq!(runner.end().exit, 130);
    assert!(
        begun.elapsed() < Duration::from_secs(15),
        "{:?}",
        begun.elapsed()
    );
    scratch.write("quick", "");
    let said = scratch.run(&[]);
    assert_eq!(said.exit, 0, "{}", said.err);
    let log = scratch.git(&["log", "--format=%s"]);
    assert_eq!(log.matches(": build").count(), 1, "{log}");
}
