//! A night that is left alone: one item's trouble is its own, and the morning
//! tells why.

use std::fmt::Write as _;

use crate::harness::{RUN, Said, Scratch};

/// Thirty stories: every sixth fails, every tenth is blocked, two ask.
const FAIL: [u32; 5] = [1, 7, 13, 19, 25];
const BLOCKED: [u32; 3] = [4, 14, 24];
const ASK: [u32; 2] = [3, 28];

fn list() -> String {
    let stories = (1..=30).map(|number| {
        format!(
            r#"  {{"id": "US-{number:02}", "title": "Story number {number}", "passes": false}}"#
        )
    });
    let stories: Vec<String> = stories.collect();
    format!(
        "{{\"project\": \"night\", \"userStories\": [\n{}\n]}}\n",
        stories.join(",\n")
    )
}

/// An agent that does what its story is made for. Whoever asked and was answered
/// completes.
fn agent() -> String {
    let mut script = String::from(
        "cat >prompt\nid=$(sed -n 's/.*\\(US-[0-9][0-9]\\).*/\\1/p' prompt | head -1)\ncase $id in\n",
    );
    for number in FAIL {
        writeln!(
            script,
            "US-{number:02}) echo '{{\"status\": \"failed\", \"error\": \"no way to do {number}\"}}'; exit 0;;"
        )
        .expect("a string takes everything");
    }
    for number in BLOCKED {
        writeln!(
            script,
            "US-{number:02}) echo '{{\"status\": \"blocked\", \"error\": \"the service of {number} is gone\"}}'; exit 0;;"
        )
        .expect("a string takes everything");
    }
    for number in ASK {
        writeln!(
            script,
            "US-{number:02}) grep -q 'the answer' prompt || {{ echo '{{\"status\": \"needs-human\", \"humanNeeded\": {{\"reason\": \"which way for {number}?\"}}}}'; exit 0; }};;"
        )
        .expect("a string takes everything");
    }
    script.push_str(
        "esac\necho done >$id.txt\necho '{\"status\": \"completed\", \"summary\": \"did it\"}'\n",
    );
    script
}

fn account(said: &Said) -> serde_json::Value {
    let lines = said.out.lines();
    let mut accounts = lines.filter_map(|line| {
        let value: serde_json::Value = serde_json::from_str(line).expect("a line of JSON");
        (value["kind"] == "account").then_some(value)
    });
    accounts.next().expect("a run ends with its account")
}

fn count(list: &serde_json::Value) -> usize {
    list.as_array().expect("a list").len()
}

#[test]
fn one_item_s_trouble_holds_up_no_other_and_the_end_is_an_account() {
    let scratch = Scratch::new();
    scratch.write("prd.json", &list()).agent(&agent());
    let said = scratch.piton(&["run", "prd.json", "--agent", "./agent.sh", "--json"]);
    assert_eq!(said.exit, 3, "{}", said.err);
    let account = account(&said);
    assert_eq!(account["state"], "waiting");
    assert_eq!(account["total"], 30);
    let done: u64 = account["done"]
        .as_object()
        .expect("counts")
        .values()
        .filter_map(serde_json::Value::as_u64)
        .sum();
    assert_eq!(done, 20);
    let lists = ["failed", "blocked", "waiting", "skipped", "left"];
    assert_eq!(lists.map(|name| count(&account[name])), [5, 3, 2, 0, 0]);
    let first = &account["failed"][0];
    assert_eq!(first["attempts"], 3, "each is tried three times: {first}");
    assert_eq!(
        account["waiting"][0]["next"],
        "piton decide d2 answer --why TEXT"
    );

    for (decision, text) in asked(&scratch) {
        let said = scratch.piton(&["decide", &decision, "answer", "--why", text]);
        assert_eq!(said.exit, 0, "{}", said.err);
    }
    let said = scratch.piton(&["run", "prd"]);
    assert_eq!(said.exit, 1, "{}", said.err);
    let status = scratch.json(&["status", "prd"]);
    assert_eq!(status["run"]["state"], "blocked");
    let lines: Vec<&str> = said.err.lines().collect();
    let from = lines.iter().position(|line| line.starts_with("22 of 30"));
    let screen = &lines[from.expect("the account begins so")..];
    assert!(screen.len() <= 40, "{}", screen.join("\n"));
    assert!(
        screen.iter().all(|line| line.chars().count() <= 80),
        "{}",
        screen.join("\n")
    );
    insta::assert_snapshot!(screen.join("\n"), @"
    22 of 30 stories done (22 changed)
    ! US-01: Story number 1 - no way to do 1
    ! US-07: Story number 7 - no way to do 7
    ! US-13: Story number 13 - no way to do 13
    ! US-19: Story number 19 - no way to do 19
    ! US-25: Story number 25 - no way to do 25
    B US-04: Story number 4 - the service of 4 is gone
    B US-14: Story number 14 - the service of 14 is gone
    B US-24: Story number 24 - the service of 24 is gone
    report: .git/piton/reports/prd.html
    run `prd` is blocked at US-01
    hint: see why, and what to type to go on, with `piton inbox`
    ");
}

/// The questions of agents, each with an answer.
fn asked(scratch: &Scratch) -> Vec<(String, &'static str)> {
    let inbox = scratch.json_list(&["inbox"]);
    let open = inbox.as_array().expect("a list").iter();
    let asked = open.filter(|one| one["kind"] == "human-needed");
    asked
        .map(|one| (one["id"].as_str().expect("an id").to_owned(), "the answer"))
        .collect()
}

#[test]
fn with_stop_on_failure_the_first_failure_ends_the_run() {
    let scratch = Scratch::new();
    scratch.write("prd.json", &list()).agent(&agent());
    let stop = [
        "run",
        "prd.json",
        "--agent",
        "./agent.sh",
        "--stop-on-failure",
    ];
    let said = scratch.piton(&stop);
    assert_eq!(said.exit, 1, "{}", said.err);
    let status = scratch.json(&["status", "prd"]);
    assert_eq!(status["run"]["state"], "blocked");
    assert_eq!(status["run"]["counters"]["nodes_done"], 0);
    // The flag is not remembered: the next invocation goes on with the others.
    let said = scratch.piton(&["run", "prd"]);
    assert_eq!(said.exit, 3, "{}", said.err);
}

#[test]
fn what_comes_behind_a_failed_phase_waits_and_what_is_parallel_does_not() {
    let scratch = Scratch::new();
    let phases = "  - id: one\n    prompt: Fail.\n    parallel: true\n  - id: two\n    prompt: Do.\n  - id: three\n    prompt: Do.\n    wait-for-parallel: true\n";
    let body = "cat >prompt; grep -q Fail. prompt && exit 1; exit 0";
    scratch.sprint(phases).agent(body);
    let said = scratch.piton(RUN);
    assert_eq!(said.exit, 1, "{}", said.err);
    let status = scratch.json(&["status"]);
    let nodes = status["run"]["nodes"].as_array().expect("nodes").iter();
    let states: Vec<&str> = nodes.filter_map(|node| node["state"].as_str()).collect();
    assert_eq!(states, ["failed", "done", "pending"], "{}", said.err);
}

#[test]
fn a_pause_that_has_not_happened_is_withdrawn_and_a_finished_item_is_done_again() {
    let scratch = Scratch::new();
    scratch
        .sprint("  - id: one\n    prompt: Do.\n  - id: two\n    prompt: Do.\n")
        .agent("cat >/dev/null; while [ ! -e go ]; do sleep 0.02; done; echo '{\"status\": \"completed\"}'");
    let runner = scratch.start_run(&[]);
    scratch.until("the agent works", || {
        scratch.has("demo/PROGRESS.yaml")
            && scratch
                .event_kinds()
                .iter()
                .any(|kind| kind == "attempt-started")
    });
    assert_eq!(scratch.piton(&["pause"]).exit, 0);
    for verb in ["status", "next"] {
        let shown = scratch.piton(&[verb]);
        let says = "asked for a pause";
        assert!(
            shown.out.contains(says) || shown.err.contains(says),
            "{verb}: {}{}",
            shown.out,
            shown.err
        );
    }
    assert_eq!(
        scratch.json(&["status"])["run"]["asked"]["request"],
        "pause"
    );
    let said = scratch.piton(&["resume"]);
    assert_eq!(said.exit, 0, "{}", said.err);
    scratch.write("go", "");
    let said = runner.end();
    assert_eq!(said.exit, 0, "{}", said.err);
    let said = scratch.piton(&["plan", "retry", "two"]);
    assert_eq!(said.exit, 0, "{}", said.err);
    let said = scratch.piton(RUN);
    assert_eq!(said.exit, 0, "{}", said.err);
    assert!(said.err.contains("> two"), "{}", said.err);
    assert!(!said.err.contains("> one"), "{}", said.err);
}

#[test]
fn to_skip_an_item_at_work_ends_its_attempt() {
    let scratch = Scratch::new();
    scratch
        .sprint("  - id: one\n    prompt: Do.\n  - id: two\n    prompt: Do.\n")
        .agent(
            "cat >prompt; grep -q '(`one`)' prompt && sleep 60; echo '{\"status\": \"completed\"}'",
        );
    let runner = scratch.start_run(&[]);
    scratch.until("the agent works", || {
        scratch
            .event_kinds()
            .iter()
            .any(|kind| kind == "attempt-started")
    });
    let said = scratch.piton(&["plan", "skip", "one"]);
    assert_eq!(said.exit, 0, "{}", said.err);
    let said = runner.end();
    assert_eq!(said.exit, 0, "{}", said.err);
    let status = scratch.json(&["status"]);
    let nodes = status["run"]["nodes"].as_array().expect("nodes").iter();
    let states: Vec<&str> = nodes.filter_map(|node| node["state"].as_str()).collect();
    assert_eq!(states, ["skipped", "done"], "{}", said.err);
    let says = "one interrupted: its item is left out";
    assert!(said.err.contains(says), "{}", said.err);
}

#[test]
fn a_dry_run_lists_what_can_be_started_and_says_what_the_rest_waits_for() {
    let scratch = Scratch::new();
    let phases = "  - id: one\n    prompt: Fail.\n    parallel: true\n  - id: two\n    prompt: Do.\n  - id: three\n    prompt: Do.\n    wait-for-parallel: true\n";
    let body = "cat >prompt; grep -q Fail. prompt && exit 1; exit 0";
    scratch.sprint(phases).agent(body);
    assert_eq!(scratch.run(&["--stop-on-failure"]).exit, 1);
    insta::assert_snapshot!(scratch.shows(&["run", "demo", "--dry-run"]), @r"
    two: Do.

    What would be started for that:

    agent-command of ./agent.sh
        ./agent.sh
    1 item to do; nothing was started
    2 more items wait until a person has done something: see `piton next`
    [exit 0]
    ");
    assert_eq!(scratch.piton(RUN).exit, 1);
    insta::assert_snapshot!(scratch.shows(&["run", "demo", "--dry-run"]), @r"
    run `2026-01-15_demo` is blocked at one; nothing can be started
    hint: see why, and what to type to go on, with `piton inbox`
    [exit 0]
    ");
    assert_eq!(
        scratch.json(&["run", "demo", "--dry-run"])["items"],
        serde_json::json!([])
    );
}
