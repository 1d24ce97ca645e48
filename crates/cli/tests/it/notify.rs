//! `[notify]`: each thing that a person should know reaches its command once, and
//! nothing that the command does fails or holds up a run.

use std::os::unix::process::ExitStatusExt as _;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::harness::{RUN, Running, Scratch, is_alive};
use crate::joining::two_at_work;
use crate::lanes::{fine, project as in_lanes};

const ASKS: &str = r#"[ -e go ] && { echo fine; exit; }; echo '{"status":"needs-human","summary":"","humanNeeded":{"reason":"which port?","details":"5432 is taken"}}'"#;
const FAILS: &str = "echo it does not compile; exit 1";
const ONE: &str = "  - id: build\n    prompt: build it\n";
const TWO: &str = "  - id: build\n    prompt: build it\n  - id: test\n    prompt: test it\n";
const TELL: &str = "cat >>.piton/told";

fn configure(scratch: &Scratch, command: &str, more: &str) {
    let command = toml(command);
    let text = format!("[notify]\ncommand = {command}\n{more}");
    scratch.write(".piton/config.toml", &text);
}

/// A string of TOML; one of JSON is one.
fn toml(text: &str) -> String {
    Value::from(text).to_string()
}

fn project(phases: &str, agent: &str, command: &str) -> Scratch {
    let scratch = Scratch::new();
    scratch.sprint(phases).agent(agent);
    configure(&scratch, command, "");
    scratch
}

/// What the command was handed, in order.
fn told(scratch: &Scratch) -> Vec<Value> {
    if !scratch.has(".piton/told") {
        return Vec::new();
    }
    let text = scratch.read(".piton/told");
    let lines = text.lines().map(serde_json::from_str);
    lines.map(|line| line.expect("a line is JSON")).collect()
}

fn text_of(told: &Value, key: &str) -> String {
    told[key].as_str().unwrap_or_default().to_owned()
}

fn kinds(scratch: &Scratch) -> Vec<String> {
    let told = told(scratch);
    told.iter().map(|told| text_of(told, "kind")).collect()
}

#[track_caller]
fn is_whole(scratch: &Scratch) {
    fine(&scratch.piton(&["journal", "verify"]));
}

#[test]
fn a_question_and_the_end_are_told_once_with_what_to_type() {
    let scratch = project(ONE, ASKS, TELL);
    assert_eq!(scratch.run(&[]).exit, 3);
    assert_eq!(kinds(&scratch), ["question", "end"]);
    let all = told(&scratch);
    let (question, end) = (&all[0], &all[1]);
    assert_eq!(question["schema"], 1);
    assert_eq!(question["again"], false);
    assert_eq!(
        question["text"],
        "d1: which port? (2026-01-15_demo at build)"
    );
    assert_eq!(question["question"]["details"], "5432 is taken");
    assert_eq!(question["type"][0], "piton decide d1 answer --why '...'");
    assert_eq!(question["item"], "build");
    assert_eq!(question["run"]["name"], "2026-01-15_demo");
    assert_eq!(
        question["project"],
        scratch.path().to_string_lossy().as_ref()
    );
    assert_eq!(end["end"]["state"], "waiting");
    assert_eq!(end["end"]["exit"], 3);
    assert_eq!(end["type"], serde_json::json!(["piton inbox"]));
    // Nothing is new.
    assert_eq!(scratch.run(&[]).exit, 3);
    assert_eq!(kinds(&scratch).len(), 2, "{:?}", kinds(&scratch));
    fine(&scratch.piton(&["decide", "d1", "answer", "--why", "5433"]));
    scratch.write("go", "");
    fine(&scratch.run(&[]));
    assert_eq!(kinds(&scratch), ["question", "end", "end"]);
    let last = &told(&scratch)[2];
    assert_eq!(last["end"]["state"], "done");
    assert_eq!(last["type"], serde_json::json!([]));
    assert_ne!(last["id"], end["id"]);
    fine(&scratch.run(&[]));
    assert_eq!(kinds(&scratch).len(), 3, "a run that is done ends no more");
    is_whole(&scratch);
}

#[test]
fn a_failed_item_and_a_limit_are_kinds_of_their_own() {
    let scratch = project(ONE, FAILS, TELL);
    assert_eq!(scratch.run(&[]).exit, 1);
    assert_eq!(kinds(&scratch), ["block", "end"]);
    let scratch = project(TWO, "echo fine", TELL);
    assert_eq!(scratch.run(&["--max-iterations", "1"]).exit, 5);
    assert_eq!(kinds(&scratch), ["limit"]);
    assert_eq!(told(&scratch)[0]["end"]["exit"], 5);
}

#[test]
fn only_what_is_wanted_is_told_and_nothing_of_a_dry_run() {
    let scratch = project(ONE, ASKS, TELL);
    configure(&scratch, TELL, "on = [\"question\"]\n");
    scratch.run(&["--dry-run"]);
    assert_eq!(kinds(&scratch), [""; 0]);
    scratch.run(&[]);
    assert_eq!(kinds(&scratch), ["question"]);
    configure(&scratch, TELL, "on = [\"sometimes\"]\n");
    let said = scratch.run(&[]);
    assert_eq!(said.exit, 2, "{}", said.err);
    assert!(said.err.contains("sometimes"), "{}", said.err);
}

/// The `nth` time that a sender comes to a point: of the question, or of the end.
fn die_at(point: &str, nth: u32) {
    let scratch = project(ONE, ASKS, TELL);
    let mut command = scratch.command(RUN);
    command.env("PITON_FAILPOINT", format!("{point}:{nth}"));
    let output = command.output().expect("piton starts");
    let place = format!("{point} {nth}");
    assert_eq!(output.status.signal(), Some(9), "{place}");
    // The next one goes on where that one died.
    for _ in 0..2 {
        assert_eq!(scratch.run(&[]).exit, 3, "{place}");
    }
    let all = told(&scratch);
    let question = all.iter().filter(|told| told["kind"] == "question");
    let first = question.map(|told| text_of(told, "id")).next();
    let first = first.unwrap_or_else(|| panic!("{place}: nobody was asked"));
    let ends = |told: &&Value| text_of(told, "id").ends_with("/1");
    let end = all.iter().find(ends).map(|told| text_of(told, "id"));
    let end = end.unwrap_or_else(|| panic!("{place}: no end"));
    for (number, id) in [(1, &first), (2, &end)] {
        let of_it = all.iter().filter(|told| told["id"] == **id);
        let again: Vec<bool> = of_it.map(|told| told["again"] == true).collect();
        let expected: &[bool] = match point {
            "notify.started" if number == nth => &[true],
            "notify.sent" if number == nth => &[false, true],
            _ => &[false],
        };
        assert_eq!(again, expected, "{place}: {id}");
    }
    is_whole(&scratch);
}

#[test]
fn whoever_dies_over_a_notification_has_it_sent_again_under_the_same_id() {
    let points = piton_engine::failpoint::POINTS.iter();
    let points = points.filter(|point| point.starts_with("notify."));
    let mut tried = 0;
    for point in points {
        for nth in [1, 2] {
            die_at(point, nth);
            tried += 1;
        }
    }
    assert_eq!(tried, 8);
}

#[test]
fn a_command_that_hangs_is_ended_and_named_until_one_succeeds() {
    let scratch = project(ONE, ASKS, TELL);
    configure(
        &scratch,
        "cat >>.piton/told; sleep 100",
        "timeout = \"1s\"\n",
    );
    let begun = Instant::now();
    assert_eq!(scratch.run(&[]).exit, 3, "no exit status is changed by it");
    assert!(begun.elapsed() < Duration::from_secs(30));
    let status = scratch.piton(&["status"]).out;
    let line = "the command of [notify] failed";
    assert!(status.contains(line), "{status}");
    assert!(status.contains("did not end in 1 s"), "{status}");
    let failed = &scratch.json(&["status"])["notify_failed"];
    assert_eq!(failed["error"], "did not end in 1 s", "{failed}");
    let before = kinds(&scratch).len();
    configure(&scratch, TELL, "");
    scratch.piton(&["inbox", "ask", "tabs or blanks?"]);
    assert!(kinds(&scratch).len() > before);
    let status = scratch.piton(&["status"]).out;
    assert!(!status.contains(line), "{status}");
    is_whole(&scratch);
}

#[test]
fn who_does_not_want_to_wait_for_a_command_ends_it_and_it_is_sent_again() {
    let scratch = project(ONE, ASKS, "cat >>.piton/told; sleep 100");
    let runner = scratch.start_run(&[]);
    scratch.until("the run is over", || {
        let run = &scratch.json(&["status"])["run"];
        run["state"] == "waiting" && run["live"] == false && kinds(&scratch) == ["question"]
    });
    let begun = Instant::now();
    runner.signal(rustix::process::Signal::INT);
    assert_eq!(runner.end().exit, 3);
    assert!(begun.elapsed() < Duration::from_secs(20));
    configure(&scratch, TELL, "");
    scratch.run(&[]);
    let again: Vec<bool> = told(&scratch)
        .iter()
        .map(|told| told["again"] == true)
        .collect();
    assert_eq!(kinds(&scratch), ["question", "question", "end"]);
    assert_eq!(again, [false, true, false]);
}

/// By marks processes are known on Linux alone.
#[cfg(target_os = "linux")]
#[test]
fn what_a_dead_piton_left_of_a_command_is_ended_before_it_is_sent_again() {
    let hangs = "cat >>.piton/told; echo $$ >.piton/pid; exec sleep 100";
    let scratch = project(ONE, ASKS, hangs);
    let runner = scratch.start_run(&[]);
    let pid = || std::fs::read_to_string(scratch.path().join(".piton/pid")).unwrap_or_default();
    scratch.until("the command hangs", || pid().ends_with('\n'));
    let pid = pid().trim().to_owned();
    runner.kill();
    assert!(is_alive(&pid));
    configure(&scratch, TELL, "");
    scratch.run(&[]);
    assert!(!is_alive(&pid));
    assert_eq!(told(&scratch)[1]["again"], true);
}

#[test]
fn a_command_that_fails_is_not_started_again_and_tells_no_secret() {
    let scratch = project(ONE, ASKS, TELL);
    let fails = "cat >>.piton/told; echo no route for $HOOK_TOKEN >&2; exit 7";
    configure(&scratch, fails, "");
    let mut command = scratch.command(RUN);
    let output = command.env("HOOK_TOKEN", "abcdefghijkl").output();
    assert_eq!(output.expect("piton starts").status.code(), Some(3));
    let failed = &scratch.json(&["status"])["notify_failed"];
    let error = "ended with 7: no route for [redacted:env:HOOK_TOKEN]";
    assert_eq!(failed["error"], error);
    scratch.run(&[]);
    assert_eq!(kinds(&scratch), ["question", "end"]);
}

#[test]
fn a_slow_command_holds_no_agent_up() {
    let scratch = Scratch::new();
    let asks = r#"{"status":"needs-human","summary":"","humanNeeded":{"reason":"which port?"}}"#;
    scratch
        .write("prd.json", &crate::lanes::list(2, ""))
        .agent(&format!(
            "case $PITON_ITEM in US-001) echo '{asks}';; *) echo x >made; touch let;; esac"
        ));
    // It ends when the other item was worked on, and not before.
    let waits = "cat >>.piton/told; until [ -e let ]; do sleep 0.05; done";
    configure(&scratch, waits, "");
    let arguments = ["run", "prd.json", "--agent", "./agent.sh"];
    let more = ["--verdict", "exit-status"];
    scratch.piton(&[&arguments[..], &more[..]].concat());
    let failed = &scratch.json(&["status"])["notify_failed"];
    assert_eq!(*failed, Value::Null);
    assert_eq!(kinds(&scratch)[0], "question");
}

#[test]
fn of_several_who_ask_at_once_each_question_is_told_once() {
    let scratch = project(ONE, ASKS, "cat >>.piton/told; sleep 0.1");
    fine(&scratch.piton(&["log", "session_started"]));
    let ask = |n: u32| {
        let question = format!("question {n}?");
        Running::start(scratch.command(&["inbox", "ask", &question]))
    };
    let asking: Vec<Running> = (0..5).map(ask).collect();
    for running in asking {
        fine(&running.end());
    }
    let mut texts: Vec<String> = told(&scratch)
        .iter()
        .map(|told| text_of(&told["question"], "question"))
        .collect();
    texts.sort();
    let expected: Vec<String> = (0..5).map(|n| format!("question {n}?")).collect();
    assert_eq!(texts, expected);
    is_whole(&scratch);
}

#[test]
fn of_two_runners_of_a_run_the_last_tells_its_end() {
    let scratch = in_lanes(crate::joining::AT_WORK, 6);
    configure(&scratch, TELL, "");
    let (holder, joined) = two_at_work(&scratch);
    scratch.write(".piton/go", "");
    for running in [holder, joined] {
        fine(&running.end());
    }
    assert_eq!(kinds(&scratch), ["end"]);
    is_whole(&scratch);
}

#[test]
fn an_agent_of_a_run_that_asks_leaves_it_to_its_runner() {
    let piton = env!("CARGO_BIN_EXE_piton");
    let agent = format!("{piton} inbox ask 'tabs or blanks?' --item build && echo fine");
    let scratch = project(ONE, &agent, TELL);
    fine(&scratch.run(&[]));
    assert_eq!(kinds(&scratch), ["question", "end"]);
    assert_eq!(told(&scratch)[0]["question"]["kind"], "question");
}
