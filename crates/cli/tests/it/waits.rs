//! Steps that wait for a time or a command before they begin, through deaths of the
//! runner, clocks that jump, and what people do meanwhile.

use std::os::unix::process::ExitStatusExt as _;
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};

use crate::harness::{DEMO, Running, Scratch, is_alive};
use crate::lanes::fine;

const DOES: &str = "echo begun >>begun; echo done";

/// A sprint of one phase that waits so, and one behind it.
fn project(wait: &str) -> Scratch {
    let scratch = Scratch::new();
    scratch.agent(DOES).sprint(&format!(
        "  - id: build\n    prompt: build it\n    wait: {wait}\n  - id: test\n    prompt: test it\n"
    ));
    scratch
}

fn now() -> Timestamp {
    Timestamp::now()
}

fn in_seconds(seconds: i64) -> String {
    let time = now() + SignedDuration::from_secs(seconds);
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// Starts a run, and kills it when its first step waits.
fn kill_in_wait(scratch: &Scratch) {
    let running = scratch.start_run(&[]);
    running.until_said("build waits until ");
    running.kill();
    assert!(!scratch.has("begun"), "it waits");
    assert_eq!(state_of(scratch, "build"), "waiting");
}

/// Where an item stands; nothing while nobody has begun the run.
fn state_of(scratch: &Scratch, node: &str) -> String {
    let shown = scratch.piton(&["show", node, "--json"]).out;
    let shown: serde_json::Value = serde_json::from_str(&shown).unwrap_or_default();
    let state = shown["item"]["state"].as_str();
    state.unwrap_or_default().to_owned()
}

/// The run goes on, and comes to its end.
fn done(scratch: &Scratch) {
    fine(&scratch.run(&[]));
    assert_eq!(scratch.read("begun"), "begun\nbegun\n");
    fine(&scratch.piton(&["journal", "verify"]));
}

#[test]
fn a_wait_for_a_time_survives_a_death() {
    let end = in_seconds(4);
    let scratch = project(&format!("{{until: {end}}}"));
    kill_in_wait(&scratch);
    done(&scratch);
    assert!(now() >= end.parse().expect("a time"), "it was too early");
    let began = scratch.json(&["show", "build"])["item"]["started_at"].clone();
    let began: Timestamp = began.as_str().expect("it began").parse().expect("a time");
    assert!(began >= end.parse().expect("a time"), "{began}");
}

#[test]
fn a_wait_for_a_command_survives_a_death() {
    let scratch = project("{command: test -e go, every: 1s}");
    kill_in_wait(&scratch);
    let running = scratch.start_run(&[]);
    scratch.until("it asks", || running.err().contains("waiting"));
    assert_eq!(state_of(&scratch, "build"), "waiting");
    let events = scratch.event_kinds().len();
    std::thread::sleep(Duration::from_millis(2_500));
    assert_eq!(scratch.event_kinds().len(), events, "a no leaves no event");
    scratch.write("go", "");
    fine(&running.end());
    done(&scratch);
}

#[test]
fn a_death_while_a_command_is_asked_loses_no_answer() {
    for point in [
        "wait.before-ask:1",
        "wait.before-ask:2",
        "wait.answered:1",
        "wait.answered:2",
    ] {
        let scratch = project("{command: 'echo x >>asked; test $(wc -l <asked) -ge 2', every: 1s}");
        let mut command = scratch.command(crate::harness::RUN);
        command.env("PITON_FAILPOINT", point);
        let output = command.output().expect("piton starts");
        assert_eq!(output.status.signal(), Some(9), "{point}");
        assert_eq!(state_of(&scratch, "build"), "waiting", "{point}");
        done(&scratch);
    }
}

#[test]
fn a_wait_for_both_survives_a_death_and_ends_in_a_question() {
    let wait = format!(
        "{{command: echo 2 of 3; exit 1, every: 1s, until: {}}}",
        in_seconds(4)
    );
    let scratch = project(&wait.replace("echo 2 of 3; exit 1", "'echo 2 of 3; exit 1'"));
    kill_in_wait(&scratch);
    assert_eq!(scratch.run(&[]).exit, 3);
    assert_eq!(scratch.progress("status").as_deref(), Some("needs-human"));
    let question = scratch.json_list(&["inbox"])[0].clone();
    assert_eq!(question["kind"], "wait", "{question}");
    assert_eq!(question["details"], "2 of 3");
    // Killed once more, it is asked about still.
    assert_eq!(scratch.run(&[]).exit, 3);
    fine(&scratch.piton(&["decide", "d1", "approve"]));
    done(&scratch);
}

/// A dependency and a decision are waits as well, and as old as piton.
#[test]
fn all_kinds_of_waits_are_listed_with_what_ends_them() {
    let scratch = Scratch::new();
    let asks =
        r#"echo '{"status":"needs-human","summary":"","humanNeeded":{"reason":"which port?"}}'"#;
    scratch.agent(asks).sprint(
        "  - id: asks\n    prompt: ask\n    parallel: true\n\
         \x20 - id: late\n    prompt: wait\n    parallel: true\n    wait: {until: 2199-11-26T22:00:00Z}\n\
         \x20 - id: pr\n    prompt: merge\n    parallel: true\n    wait: {command: test -e merged}\n\
         \x20 - id: both\n    prompt: merge\n    parallel: true\n    wait: {command: 'false', every: 90s, until: 2199-11-26T22:00:30Z}\n\
         \x20 - id: last\n    prompt: last\n    wait-for-parallel: true\n",
    );
    let running = scratch.start_run(&[]);
    scratch.until("the agent asked", || {
        state_of(&scratch, "asks") == "waiting"
    });
    scratch.until("all wait", || state_of(&scratch, "both") == "waiting");
    let next = scratch.piton(&["next"]).out;
    for line in [
        "asks (ask) for a person: which port? (`piton decide d1`)",
        "late (wait) until 2199-11-26T22:00Z",
        "pr (merge) until `test -e merged` says yes, asked each 60s",
        "both (merge) until `false` says yes, asked each 90s, until 2199-11-26T22:00:30Z",
        "last for asks (waiting)",
    ] {
        assert!(next.contains(line), "{line}\n{next}");
    }
    let json = scratch.json(&["next"]);
    let waiting = json["runs"][0]["waiting"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let fors: Vec<(&str, &str)> = waiting
        .iter()
        .map(|it| (it["node"].as_str(), it["waits"]["for"].as_str()))
        .map(|(node, what)| (node.unwrap_or_default(), what.unwrap_or_default()))
        .collect();
    let expected = [
        ("asks", "person"),
        ("late", "time"),
        ("pr", "command"),
        ("both", "command"),
        ("last", "dependency"),
    ];
    assert_eq!(fors, expected, "{json}");
    assert_eq!(waiting[3]["wait"]["command"], "false");
    assert_eq!(waiting[3]["wait"]["every_s"], 90);
    let status = scratch.piton(&["status"]).out;
    assert!(status.contains("waits until 2199-11-26T22:00Z"), "{status}");
    running.signal(rustix::process::Signal::TERM);
    assert_eq!(running.end().exit, 130);
}

// Clocks.

fn at(scratch: &Scratch, clock: &str, more: &[&str]) -> Running {
    let args = [crate::harness::RUN, more].concat();
    let mut command = scratch.command(&args);
    command.env("PITON_TEST_CLOCK", clock);
    Running::start(command)
}

#[test]
fn a_clock_that_is_set_forward_ends_a_wait_for_a_time_and_one_set_back_does_not() {
    let scratch = project("{until: 2030-01-02T00:00:00Z}");
    for clock in ["2030-01-01T00:00:00Z", "2029-06-01T00:00:00Z"] {
        let running = at(&scratch, clock, &[]);
        running.until_said("waiting until 2030-01-02T00:00Z");
        running.kill();
        assert!(!scratch.has("begun"), "{clock}");
    }
    fine(&at(&scratch, "2030-01-02T00:00:01Z", &[]).end());
    assert_eq!(scratch.read("begun"), "begun\nbegun\n");
}

#[test]
fn a_clock_that_is_set_back_does_not_stop_the_asking() {
    let scratch = project("{command: 'echo x >>asked; test -e go', every: 1s}");
    for clock in ["2030-01-01T00:00:00Z", "2029-06-01T00:00:00Z"] {
        std::fs::remove_file(scratch.path().join("asked")).ok();
        let running = at(&scratch, clock, &[]);
        let asked = || scratch.has("asked") && scratch.read("asked").lines().count() >= 2;
        scratch.until("it is asked twice", asked);
        running.kill();
    }
    scratch.write("go", "");
    done(&scratch);
}

// People.

#[test]
fn a_pause_a_skip_a_retry_and_an_edit_hold_at_once() {
    // The command hangs: nobody waits for its answer.
    let hangs = "{command: 'echo $$ >>asked; sleep 50', every: 1s}";
    let asked = |scratch: &Scratch, times: usize| {
        let count = || scratch.read("asked").lines().count();
        scratch.until("it is asked", || scratch.has("asked") && count() >= times);
        scratch
            .read("asked")
            .lines()
            .last()
            .unwrap_or_default()
            .to_owned()
    };
    let began = Instant::now();
    let scratch = project(hangs);
    let running = scratch.start_run(&[]);
    let first = asked(&scratch, 1);
    fine(&scratch.piton(&["pause", DEMO]));
    assert_eq!(running.end().exit, 3);
    assert!(!is_alive(&first), "a command outlived its runner");
    fine(&scratch.piton(&["resume", DEMO]));

    let running = scratch.start_run(&[]);
    asked(&scratch, 2);
    fine(&scratch.piton(&["plan", "retry", "build"]));
    asked(&scratch, 3);
    let progress = scratch.read("demo/PROGRESS.yaml");
    assert!(progress.contains("status: pending"), "{progress}");
    let edited = progress.replace("sleep 50", "test -e go");
    assert_ne!(edited, progress);
    scratch.write("demo/PROGRESS.yaml", &edited);
    asked(&scratch, 5);
    fine(&scratch.piton(&["plan", "skip", "build"]));
    fine(&running.end());
    assert_eq!(scratch.read("begun"), "begun\n", "the other step alone");
    assert!(began.elapsed() < Duration::from_secs(45), "somebody waited");
}

#[test]
fn a_wait_that_is_taken_out_of_the_plan_is_over() {
    let scratch = project("{until: 2199-01-01T00:00:00Z}");
    let running = scratch.start_run(&[]);
    running.until_said("build waits until 2199-01-01T00:00Z");
    let progress = scratch.read("demo/PROGRESS.yaml");
    let is_of_wait = |line: &&str| line.contains("wait:") || line.contains("until:");
    let edited = progress.lines().filter(|line| !is_of_wait(line));
    let edited: String = edited.map(|line| format!("{line}\n")).collect();
    assert_ne!(edited, progress);
    scratch.write("demo/PROGRESS.yaml", &edited);
    fine(&running.end());
    assert_eq!(scratch.read("begun"), "begun\nbegun\n");
}

/// Also where a person has left the item out since: nobody asks for it any more.
#[test]
fn a_command_that_a_dead_runner_left_is_ended() {
    for is_skipped in [false, true] {
        let scratch = project("{command: 'echo $$ >>asked; test -e go || sleep 50', every: 1s}");
        let running = scratch.start_run(&[]);
        scratch.until("it is asked", || scratch.has("asked"));
        let left = scratch.read("asked");
        running.kill();
        assert!(is_alive(&left), "it went with its runner");
        scratch.write("go", "");
        if is_skipped {
            fine(&scratch.piton(&["plan", "skip", "build"]));
            fine(&scratch.run(&[]));
        } else {
            done(&scratch);
        }
        assert!(!is_alive(&left), "it works on");
    }
}

#[test]
fn a_command_that_is_not_there_is_asked_about_at_once() {
    let scratch = project("{command: no-such-command, every: 1s}");
    let said = scratch.run(&[]);
    assert_eq!(said.exit, 3, "{}{}", said.out, said.err);
    let inbox = scratch.piton(&["inbox"]).out;
    assert!(inbox.contains("`no-such-command` cannot be run"), "{inbox}");
    assert!(inbox.contains("not found"), "{inbox}");
    fine(&scratch.piton(&["decide", "d1", "approve"]));
    done(&scratch);
}

/// Once for each: a person who looks sees why.
#[test]
fn what_a_command_prints_that_says_no_is_told() {
    let scratch = project("{command: 'echo not logged in; test -e go', every: 1s}");
    let running = scratch.start_run(&[]);
    running.until_said("`build` waits: its command said no (not logged in)");
    scratch.write("go", "");
    fine(&running.end());
}

#[test]
fn the_time_box_ends_an_invocation_and_not_the_wait() {
    let scratch = project("{until: 2199-01-01T00:00:00Z}");
    assert_eq!(scratch.run(&["--time-box", "1s"]).exit, 5);
    assert_eq!(state_of(&scratch, "build"), "waiting");
    assert_eq!(scratch.progress("status").as_deref(), Some("paused"));
}

/// A phase with steps waits, in its workflow; and a step, in its item.
#[test]
fn a_phase_and_a_step_wait_where_the_sprint_says_so() {
    let scratch = Scratch::new();
    scratch.agent(DOES).sprint_with(
        "collections:\n  step:\n    - prompt: one\n    - {prompt: two, wait: {command: test -e two, every: 1s}}\n",
        "  - id: build\n    for-each: step\n    wait: {command: test -e one, every: 1s}\n",
    );
    let running = scratch.start_run(&[]);
    running.until_said("build waits until `test -e one` says yes");
    assert_eq!(state_of(&scratch, "build/step-0/execute"), "pending");
    scratch.write("one", "");
    running.until_said("build/step-1 waits until `test -e two` says yes");
    assert_eq!(scratch.read("begun"), "begun\n");
    scratch.write("two", "");
    fine(&running.end());
    assert_eq!(scratch.read("begun"), "begun\nbegun\n");
}

// Cost.

/// How long a process was on a CPU so far.
fn cpu(id: u32) -> Duration {
    // `stat` counts what a tick of the clock finds at work, and what wakes by the clock
    // is found by nearly each; `schedstat` has nanoseconds.
    let threads = std::fs::read_dir(format!("/proc/{id}/task")).expect("it is there");
    let used = threads.map(|thread| {
        let path = thread.expect("it is there").path().join("schedstat");
        // A thread may have ended since.
        let text = std::fs::read_to_string(path).unwrap_or_else(|_| "0".to_owned());
        let nanoseconds = text.split_whitespace().next().unwrap_or_default();
        nanoseconds.parse::<u64>().expect("a number")
    });
    Duration::from_nanos(used.sum())
}

/// So many spans are measured.
const SPANS: usize = 4;

/// How often a process gave its CPU up of its own accord: it slept so often.
fn wakes(id: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).expect("it is there");
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
    line.and_then(|line| line.trim().parse().ok())
        .expect("a number")
}

/// `PITON_TEST_IDLE_S=60` measures over a minute.
#[test]
#[expect(clippy::print_stdout, reason = "what was measured is to be seen")]
fn a_thousand_waits_cost_next_to_nothing() {
    let phases = (0..1_000).map(|nth| {
        let wait = match nth % 2 {
            0 => "{until: 2199-01-01T00:00:00Z}",
            _ => "{command: 'false', every: 4h}",
        };
        format!("  - {{id: s{nth}, prompt: do it, parallel: true, wait: {wait}}}\n")
    });
    let scratch = Scratch::new();
    scratch.agent(DOES).sprint(&phases.collect::<String>());
    let running = scratch.start_run(&["--time-box", "1h"]);
    // Each command is asked once.
    let waits = || state_of(&scratch, "s999") == "waiting";
    scratch.until("all wait", waits);
    let id = running.id();
    let mut before = (cpu(id), Instant::now());
    crate::harness::until_within(Duration::from_secs(120), "all were asked", || {
        std::thread::sleep(Duration::from_secs(1));
        let is_calm = cpu(id) - before.0 < before.1.elapsed() / 10;
        before = (cpu(id), Instant::now());
        is_calm
    });
    let seconds = std::env::var("PITON_TEST_IDLE_S").ok();
    let seconds = seconds.and_then(|text| text.parse().ok()).unwrap_or(4);
    // Other tests can only add to it: the least of some spans is what it costs.
    let spans = (0..SPANS).map(|_| {
        let (used, woke) = (cpu(id), wakes(id));
        std::thread::sleep(Duration::from_secs(seconds));
        (cpu(id) - used, wakes(id) - woke)
    });
    let (used, woke) = spans.min().expect("there is one");
    println!("1,000 waits: {used:?} of CPU time and {woke} wake-ups in {seconds} s");
    assert!(
        used < Duration::from_secs(seconds) / 50,
        "{used:?} in {seconds} s"
    );
    assert!(woke < seconds * 40, "{woke} wake-ups in {seconds} s");
}
