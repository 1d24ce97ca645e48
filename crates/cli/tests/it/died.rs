//! After `kill -9` of a runner people steer the item that was under way at once.

use rustix::process::Signal;
use serde_json::Value;

use crate::harness::{DEMO, RUN, Running, Scratch, is_alive};

const PHASES: &str = "  - id: build\n    prompt: build it\n  - id: test\n    prompt: test it\n";

/// Says something, and works until it is told to go on.
const PATIENT: &str = "[ -e go ] && { cat >prompt-$PITON_ITEM; echo x >>made; echo done; exit; }
echo halfway there
echo half >half
echo $$ >agent.pid
while ! [ -e go ]; do sleep 0.02; done
echo done";

/// A run whose runner was killed while an agent worked, which still does.
fn died() -> Scratch {
    died_with(PHASES, PATIENT)
}

fn died_with(phases: &str, agent: &str) -> Scratch {
    let scratch = Scratch::new();
    scratch.sprint(phases).agent(agent);
    let runner = scratch.start_run(&[]);
    scratch.until("it works", || scratch.has("agent.pid"));
    runner.kill();
    scratch
}

fn state(scratch: &Scratch, item: &str) -> Value {
    scratch.json(&["show", item])["item"]["state"].clone()
}

/// What is recorded of the attempt that was under way.
fn last_attempt(scratch: &Scratch) -> Value {
    let out = scratch.piton(&["journal", "export"]).out;
    let events = out
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("a line is an event"));
    let mut ended = events.filter(|event| event["kind"] == "attempt-ended");
    let last = ended.next_back().expect("it has an outcome");
    last["body"]["report"].clone()
}

#[track_caller]
fn is_settled(scratch: &Scratch) {
    assert!(!is_alive(&scratch.read("agent.pid")), "the agent is ended");
    let report = last_attempt(scratch);
    assert_eq!(report["outcome"], "interrupted");
    assert!(report["transcript"]["bytes"].as_u64() > Some(0), "{report}");
    assert!(report["tree_after"].is_string(), "{report}");
    assert_eq!(report["usage"], serde_json::json!({}), "unknown, not 0");
    let said = scratch.piton(&["transcript", "build#1"]);
    assert!(said.out.contains("halfway there"), "{}", said.out);
    let verified = scratch.piton(&["journal", "verify"]);
    assert_eq!(verified.exit, 0, "{}{}", verified.out, verified.err);
}

#[test]
fn what_was_under_way_is_left_out_at_once() {
    let scratch = died();
    let said = scratch.piton(&["plan", "skip", "build", "--why", "not now"]);
    assert_eq!(said.exit, 0, "{}", said.err);
    assert!(
        said.err.contains("that outlived an earlier runner"),
        "{}",
        said.err
    );
    assert!(
        said.err.contains(&format!("`piton run {DEMO}`")),
        "{}",
        said.err
    );
    assert_eq!(state(&scratch, "build"), "skipped");
    is_settled(&scratch);
    scratch.write("go", "");
    assert_eq!(scratch.piton(&["run", DEMO]).exit, 0);
    assert!(!scratch.has("prompt-build"), "no agent was started for it");
    assert!(scratch.has("prompt-test"));
}

#[test]
fn what_was_under_way_is_tried_again_at_once_with_what_the_person_says() {
    let scratch = died();
    let said = scratch.piton(&["plan", "retry", "build", "--why", "use port 5433"]);
    assert_eq!(said.exit, 0, "{}", said.err);
    assert!(
        said.err.contains(&format!("`piton run {DEMO}`")),
        "{}",
        said.err
    );
    assert_eq!(state(&scratch, "build"), "ready");
    is_settled(&scratch);
    // It can be repeated, and does nothing then.
    assert_eq!(scratch.piton(&["plan", "retry", "build"]).exit, 0);
    scratch.write("go", "");
    assert_eq!(scratch.piton(&["run", DEMO]).exit, 0);
    assert!(scratch.read("prompt-build").contains("use port 5433"));
}

#[test]
fn a_stop_settles_what_was_under_way() {
    let scratch = died();
    let said = scratch.piton(&["stop"]);
    assert_eq!(said.exit, 0, "{}", said.err);
    assert_eq!(state(&scratch, "build"), "ready");
    is_settled(&scratch);
}

#[test]
fn what_was_stopped_or_buried_before_is_tried_again_as_well() {
    for before in [&["stop"][..], &["pause"], &["plan", "skip", "test"]] {
        let scratch = died();
        let said = scratch.piton(before);
        assert_eq!(said.exit, 0, "{before:?}: {}", said.err);
        let said = scratch.piton(&["plan", "retry", "build"]);
        assert_eq!(said.exit, 0, "{before:?}: {}", said.err);
        assert_eq!(state(&scratch, "build"), "ready");
        is_settled(&scratch);
    }
}

#[test]
fn what_was_asked_of_the_runner_that_died_is_done_by_the_next_who_asks() {
    let scratch = Scratch::new();
    // Its agent takes its time to end.
    let agent = format!("trap '' TERM\n{PATIENT}");
    scratch.sprint(PHASES).agent(&agent);
    let runner = scratch.start_run(&[]);
    scratch.until("it works", || scratch.has("agent.pid"));
    runner.signal(Signal::STOP);
    assert_eq!(scratch.piton(&["plan", "skip", "build"]).exit, 0);
    assert_eq!(state(&scratch, "build"), "working");
    runner.kill();
    let said = scratch.piton(&["plan", "skip", "build"]);
    assert_eq!(said.exit, 0, "{}", said.err);
    assert_eq!(state(&scratch, "build"), "skipped");
}

#[test]
fn a_check_that_was_under_way_is_left_out_and_tried_again_at_once() {
    let phases = "  - id: build\n    prompt: build it\n    gate: {script: \"echo $$ >agent.pid; while ! [ -e go ]; do sleep 0.02; done\", on-fail: {prompt: mend it}}\n  - id: test\n    prompt: test it\n";
    for (wish, state_after) in [("skip", "skipped"), ("retry", "ready")] {
        let scratch = died_with(phases, "echo x >>made; echo done");
        let said = scratch.piton(&["plan", wish, "build"]);
        assert_eq!(said.exit, 0, "{wish}: {}", said.err);
        assert_eq!(state(&scratch, "build"), state_after);
        assert!(!is_alive(&scratch.read("agent.pid")), "its check is ended");
        scratch.write("go", "");
        assert_eq!(scratch.piton(&["run", DEMO]).exit, 0);
    }
}

#[test]
fn a_question_is_decided_at_once_where_something_else_was_under_way() {
    let scratch = Scratch::new();
    let list = r#"{"features": [{"id": "a", "description": "do a", "steps": [], "passes": false}, {"id": "b", "description": "do b", "steps": [], "passes": false}]}"#;
    let asks = r#"cat >prompt
[ -e go ] && { echo x >>made; echo done; exit; }
[ "$PITON_ITEM" = a ] && { echo '{"status":"needs-human","summary":"","humanNeeded":{"reason":"which port?"}}'; exit; }
echo $$ >agent.pid
while ! [ -e go ]; do sleep 0.02; done"#;
    scratch.write("prd.json", list).agent(asks);
    let run = [&["run", "prd.json"], &RUN[2..]].concat();
    let runner = Running::start(scratch.command(&run));
    scratch.until("it works", || scratch.has("agent.pid"));
    runner.kill();
    let said = scratch.piton(&["decide", "d1", "answer", "--why", "5433"]);
    assert_eq!(said.exit, 0, "{}", said.err);
    assert_eq!(state(&scratch, "a"), "ready");
    assert_eq!(state(&scratch, "b"), "ready", "one word for one state");
    assert!(!is_alive(&scratch.read("agent.pid")));
}

#[test]
fn a_living_runner_is_told_and_its_agent_is_not_touched_by_others() {
    let scratch = Scratch::new();
    scratch.sprint(PHASES).agent(PATIENT);
    let runner = scratch.start_run(&[]);
    scratch.until("it works", || scratch.has("agent.pid"));
    let said = scratch.piton(&["plan", "retry", "build"]);
    assert_eq!(said.exit, 4, "{}", said.err);
    // One that hangs lives as well.
    runner.signal(Signal::STOP);
    assert_eq!(scratch.piton(&["plan", "retry", "build"]).exit, 4);
    assert_eq!(scratch.piton(&["plan", "skip", "test"]).exit, 0);
    assert!(is_alive(&scratch.read("agent.pid")));
    assert_eq!(state(&scratch, "build"), "working");
    runner.signal(Signal::CONT);
    scratch.write("go", "");
    assert_eq!(runner.end().exit, 0);
}

#[test]
fn a_run_that_starts_beside_it_loses_nothing() {
    for wish in ["skip", "retry", "skip", "retry"] {
        let scratch = died();
        scratch.write("go", "");
        let steered = Running::start(scratch.command(&["plan", wish, "build"]));
        let runner = Running::start(scratch.command(&["run", DEMO]));
        let (steered, ran) = (steered.end(), runner.end());
        // Whoever comes second is told that the other is at work.
        assert!([0, 1, 4].contains(&steered.exit), "{}", steered.err);
        assert!([0, 4].contains(&ran.exit), "{}", ran.err);
        assert!(steered.exit == 0 || ran.exit == 0);
        if ran.exit == 4 {
            assert_eq!(scratch.piton(&["run", DEMO]).exit, 0);
        }
        let status = scratch.json(&["status", DEMO]);
        assert_eq!(status["run"]["state"], "done", "{}{}", steered.err, ran.err);
        let kinds = scratch.event_kinds();
        let count = |kind| kinds.iter().filter(|is| *is == kind).count();
        assert_eq!(count("attempt-started"), count("attempt-ended"));
        let verified = scratch.piton(&["journal", "verify"]);
        assert_eq!(verified.exit, 0, "{}{}", verified.out, verified.err);
    }
}

#[test]
fn whoever_is_killed_while_it_settles_leaves_it_to_the_next() {
    for point in [
        "run.leased:1",
        "run.survivors-ended:1",
        "run.spool-removed:1",
        "run.committed:1",
        "run.over:1",
    ] {
        let scratch = died();
        let mut command = scratch.command(&["plan", "skip", "build"]);
        command.env("PITON_FAILPOINT", point);
        Running::start(command).end();
        let said = scratch.piton(&["plan", "skip", "build"]);
        assert_eq!(said.exit, 0, "{point}: {}", said.err);
        assert_eq!(state(&scratch, "build"), "skipped", "{point}");
        assert_eq!(last_attempt(&scratch)["outcome"], "interrupted");
    }
}

#[test]
fn the_transcript_of_an_attempt_whose_runner_died_ends_by_itself() {
    let scratch = Scratch::new();
    scratch.sprint(PHASES).agent(PATIENT);
    let runner = scratch.start_run(&[]);
    scratch.until("it works", || scratch.has("agent.pid"));
    let follows = Running::start(scratch.command(&["transcript", "build", "-f"]));
    scratch.until("it is followed", || follows.out().contains("halfway there"));
    runner.kill();
    let said = follows.end();
    insta::assert_snapshot!(said.shown(&scratch), @r"
    halfway there
    attempt 1 at build: build it was under way when its runner died
    hint: go on with `piton run 2026-01-15_demo`
    [exit 0]
    ");
    insta::assert_snapshot!(scratch.shows(&["transcript", "build", "-f"]), @r"
    halfway there
    attempt 1 at build: build it was under way when its runner died
    hint: go on with `piton run 2026-01-15_demo`
    [exit 0]
    ");
    scratch.write("go", "");
    assert_eq!(scratch.piton(&["run", DEMO]).exit, 0);
}

#[test]
fn a_commit_that_was_under_way_is_made_once_before_its_item_is_steered() {
    for (wish, exit, then) in [("skip", 1, "done"), ("retry", 0, "ready")] {
        let scratch = Scratch::new();
        scratch.sprint_with("config:\n  auto-commit: true\n", PHASES);
        scratch.agent("echo x >>made; echo done");
        scratch.git(&["add", "--all"]);
        scratch.git(&["commit", "--quiet", "--message", "begin"]);
        // Outside the work tree: a commit takes all that lies in it.
        scratch.script(
            ".git/hooks/pre-commit",
            "[ -e .git/go ] && exit\necho $$ >.git/hook.pid\nwhile ! [ -e .git/go ]; do sleep 0.02; done",
        );
        let runner = scratch.start_run(&[]);
        scratch.until("it commits", || scratch.has(".git/hook.pid"));
        runner.kill();
        scratch.write(".git/go", "");
        // Else what outlived the runner is ended before it comes to that.
        let subjects = || scratch.git(&["log", "--format=%s"]);
        scratch.until("it is made", || subjects().contains(": build"));
        let said = scratch.piton(&["plan", wish, "build"]);
        assert_eq!(said.exit, exit, "{wish}: {}", said.err);
        assert_eq!(state(&scratch, "build"), then, "{wish}");
        let log = subjects();
        let made = log.lines().filter(|line| line.ends_with(": build")).count();
        assert_eq!(made, 1, "{log}");
        let said = scratch.piton(&["run", DEMO]);
        assert_eq!(said.exit, 0, "{wish}: {}", said.err);
    }
}

/// An agent may be at work: what is cut is asked about, and not taken for its edit.
#[test]
fn a_progress_file_that_ends_early_is_asked_about_while_an_agent_may_work() {
    let scratch = died();
    let whole = scratch.read("demo/PROGRESS.yaml");
    let cut = whole.find("  - id: test").expect("the second phase");
    scratch.write("demo/PROGRESS.yaml", &whole[..cut]);
    let said = scratch.piton(&["files", "sync"]);
    assert_eq!(said.exit, 3, "{}{}", said.out, said.err);
    let inbox = scratch.piton(&["inbox"]).out;
    assert!(inbox.contains("`demo/PROGRESS.yaml` ends early"), "{inbox}");
    let kinds = scratch.event_kinds();
    assert!(!kinds.iter().any(|kind| kind.contains("edit")), "{kinds:?}");
    assert_eq!(scratch.read("demo/PROGRESS.yaml"), whole[..cut]);
    std::fs::write(scratch.path().join("go"), "").expect("written");
}
