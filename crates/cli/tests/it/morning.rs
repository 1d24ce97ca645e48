//! What a person reads in the morning adds up: `status`, `status --failures`,
//! `recent` and the account at the end, after a night in which much went wrong.

use serde_json::Value;

use crate::harness::{Said, Scratch};

/// One item of each kind of trouble, and some that wait for these.
const LIST: &str = r#"{"branchName": "x", "userStories": [
{"id": "a", "title": "Done before", "acceptanceCriteria": ["x"], "passes": true},
{"id": "b", "title": "Done", "acceptanceCriteria": ["x"], "passes": false, "verification": "test -e b.txt"},
{"id": "c", "title": "Check says no", "acceptanceCriteria": ["x"], "passes": false, "verification": "echo red; exit 1"},
{"id": "d", "title": "Check is not there", "acceptanceCriteria": ["x"], "passes": false, "verification": "no-such-program"},
{"id": "e", "title": "Blocked", "acceptanceCriteria": ["x"], "passes": false},
{"id": "f", "title": "Asks", "acceptanceCriteria": ["x"], "passes": false},
{"id": "g", "title": "Fails", "acceptanceCriteria": ["x"], "passes": false},
{"id": "h", "title": "Behind c", "acceptanceCriteria": ["x"], "passes": false, "dependsOn": ["c"]},
{"id": "i", "title": "Behind f", "acceptanceCriteria": ["x"], "passes": false, "dependsOn": ["f"]},
{"id": "j", "title": "Behind i", "acceptanceCriteria": ["x"], "passes": false, "dependsOn": ["i"]},
{"id": "k", "title": "Fails as well", "acceptanceCriteria": ["x"], "passes": false}
]}"#;

const AGENT: &str = r#"cat >/dev/null
case $PITON_ITEM in
e) echo '{"status": "blocked", "error": "the service is gone"}'; exit 0;;
f) echo '{"status": "needs-human", "humanNeeded": {"reason": "which way?"}}'; exit 0;;
g|k) echo '{"status": "failed", "error": "no way to do it"}'; exit 0;;
esac
date +%N >$PITON_ITEM.txt
echo '{"status": "completed", "summary": "did it"}'"#;

const BROKEN: &str = "  - id: build\n    status: failed\n    error: it broke yesterday";

const RUN: &[&str] = &["run", "prd.json", "--agent", "./agent.sh"];

fn night() -> (Scratch, Said) {
    let scratch = Scratch::new();
    scratch.write("prd.json", LIST).agent(AGENT);
    let said = scratch.piton(RUN);
    assert_eq!(said.exit, 3, "{}", said.err);
    (scratch, said)
}

/// The account with which a command with `--json` ends.
fn account(said: &Said) -> Value {
    let last = said.out.lines().last().unwrap_or_default();
    let value: Value = serde_json::from_str(last).unwrap_or_default();
    assert_eq!(value["kind"], "account", "{}{}", said.out, said.err);
    value
}

/// The lines from the one that begins so.
fn from_line(text: &str, start: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let from = lines.iter().position(|line| line.starts_with(start));
    lines[from.expect("the line is there")..].join("\n")
}

fn sum(list: &Value) -> u64 {
    let counts = list.as_array().expect("a list").iter();
    counts.filter_map(|one| one["count"].as_u64()).sum()
}

#[test]
fn the_account_names_what_each_item_that_is_left_waits_for() {
    let (_scratch, said) = night();
    insta::assert_snapshot!(from_line(&said.err, "2 of 11"), @r"
    2 of 11 stories done (1 check passed, 1 taken over from prd.json)
    ! c: Check says no - gate failed after 3 runs: exit status 1
        | red
    ! d: Check is not there - its check cannot be run (exit status 127): no-such-pr…
        | sh: 1: no-such-program: not found
    ! g: Fails - no way to do it
    ! k: Fails as well - no way to do it
    B e: Blocked - the service is gone
    ? f: Asks - which way?
        piton decide d4 answer --why TEXT
      1 story held up by c (failed, d1)
      2 stories held up by f (waiting, d4)
    report: .git/piton/reports/prd.html
    run `prd` waits for a person at f
    hint: see the question with `piton inbox`
    ");
}

#[test]
fn each_failed_attempt_is_one_count_and_exit_statuses_are_told_apart() {
    let (scratch, _) = night();
    insta::assert_snapshot!(scratch.shows(&["status", "--failures"]), @r"
       6  no way to do it                    prd:g, prd:k
       3  its check failed: exit status 1    prd:c
       1  its check failed: exit status 127  prd:d
       1  the service is gone                prd:e
    in 11 failed or blocked attempts
    [exit 0]
    ");
    let failures = scratch.json(&["status", "--failures"]);
    let status = scratch.json(&["status"]);
    let nodes = status["run"]["nodes"].as_array().expect("items").iter();
    let failed = nodes.filter(|node| matches!(node["state"].as_str(), Some("failed" | "blocked")));
    let attempts: u64 = failed.filter_map(|node| node["attempts"].as_u64()).sum();
    assert_eq!(failures["attempts"], attempts);
    assert_eq!(sum(&failures["signatures"]), attempts);
}

#[test]
fn an_item_that_failed_before_piton_came_is_counted_apart_from_attempts() {
    let scratch = Scratch::new();
    scratch
        .agent("echo done >>made; echo done")
        .sprint("  - id: build\n    prompt: Build it\n  - id: test\n    prompt: Test it\n");
    assert_eq!(scratch.piton(&["plan", "compile", "demo"]).exit, 0);
    let progress = scratch.read("demo/PROGRESS.yaml");
    let failed = progress.replacen("  - id: build\n    status: pending", BROKEN, 1);
    assert_ne!(failed, progress);
    scratch.write("demo/PROGRESS.yaml", &failed);
    assert_eq!(scratch.run(&[]).exit, 1);
    let failures = scratch.json(&["status", "--failures"]);
    assert_eq!(
        (&failures["attempts"], &failures["items"]),
        (&0.into(), &1.into())
    );
    assert_eq!(sum(&failures["signatures"]), 1, "{failures}");
    insta::assert_snapshot!(scratch.shows(&["status", "--failures"]), @r"
       1  it broke yesterday  2026-01-15_demo:build
    in 0 failed or blocked attempts, and 1 item without one
    [exit 0]
    ");
}

#[test]
fn failed_blocked_and_waiting_items_are_counted_apart() {
    let (scratch, _) = night();
    let said = scratch.piton(&["status"]).out;
    let counts = said.lines().find(|line| line.contains("stories done"));
    assert_eq!(
        counts,
        Some("2 of 11 stories done, 4 failed, 1 blocked, 1 waiting, 13 agents started")
    );
    let counters = &scratch.json(&["status"])["run"]["counters"];
    let counters = ["done", "skipped", "failed", "blocked", "waiting"]
        .map(|word| counters[format!("nodes_{word}")].as_u64());
    assert_eq!(counters, [2, 0, 4, 1, 1].map(Some));
}

#[test]
fn what_was_skipped_is_no_unresolved_blocker() {
    let (scratch, _) = night();
    let unresolved = |args: &[&str]| -> Vec<String> {
        let recent = scratch.json(args);
        let rows = recent["unresolved_blockers"].as_array().expect("a list");
        let tasks = rows.iter().filter_map(|row| row["task_id"].as_str());
        let mut tasks: Vec<String> = tasks.map(str::to_owned).collect();
        tasks.dedup();
        tasks
    };
    let before = unresolved(&["recent"]);
    assert!(before.contains(&"k".to_owned()), "{before:?}");
    assert_eq!(scratch.piton(&["plan", "skip", "k"]).exit, 0);
    for args in [&["recent"][..], &["recent", "--blockers"]] {
        let after = unresolved(args);
        assert!(!after.contains(&"k".to_owned()), "{after:?}");
        assert!(after.contains(&"g".to_owned()), "{after:?}");
    }
    let prepared = scratch.piton(&["prepare", "h"]).out;
    assert!(!prepared.contains("- k:"), "{prepared}");
    assert!(prepared.contains("- g:"), "{prepared}");
}

#[test]
fn a_task_that_was_blocked_three_times_is_one_blocker() {
    let (scratch, _) = night();
    let said = scratch.piton(&["recent"]).out;
    let summary = said.lines().next().unwrap_or_default();
    let listed = from_line(&said, "Unresolved blockers:").lines().count() - 1;
    assert!(
        summary.contains(&format!(" {listed} blockers.")),
        "{summary}\n{listed}"
    );
    assert!(
        said.contains("! task_blocked [prd] g: no way to do it (3 times)\n"),
        "{said}"
    );
}

#[test]
fn an_attempt_that_failed_is_shown_with_its_reason() {
    let (scratch, _) = night();
    let said = scratch.piton(&["recent", "--item", "d"]).out;
    assert!(
        said.contains("d-1 failed: its check failed: exit status 127"),
        "{said}"
    );
}

#[test]
fn a_finished_run_gives_the_account_with_which_it_ended() {
    let scratch = Scratch::new();
    let list = LIST.split_inclusive('\n').take(3).collect::<String>();
    let list = format!("{}\n]}}", list.trim_end().trim_end_matches(','));
    scratch.write("prd.json", &list).agent(AGENT);
    let json = [RUN, &["--json"]].concat();
    let at_end = account(&scratch.piton(&json));
    assert_eq!(
        at_end["done"],
        serde_json::json!({"check": 1, "taken-over": 1})
    );
    assert_eq!(account(&scratch.piton(&json)), at_end);
    assert_eq!(account(&scratch.piton(&["run", "prd", "--json"])), at_end);
    insta::assert_snapshot!(scratch.shows(RUN), @r"
    2 of 2 stories done (1 check passed, 1 taken over from prd.json)
    report: .git/piton/reports/prd.html
    run `prd` is already finished
    [exit 0]
    ");
}

#[test]
fn what_was_taken_over_as_done_is_no_agents_word() {
    let (scratch, said) = night();
    assert!(
        said.err.contains("1 taken over from prd.json"),
        "{}",
        said.err
    );
    let shown = scratch.json(&["show", "a"]);
    let evidence = &shown["item"]["evidence"];
    assert_eq!(evidence["level"], "taken-over");
    assert_eq!(evidence["summary"], "taken over from prd.json");
}

#[test]
fn after_a_limit_the_account_says_what_was_not_reached() {
    let scratch = Scratch::new();
    scratch.write("prd.json", LIST).agent(AGENT);
    let said = scratch.piton(&[RUN, &["--max-iterations", "2"]].concat());
    assert_eq!(said.exit, 5, "{}", said.err);
    insta::assert_snapshot!(from_line(&said.err, "2 of 11"), @r"
    2 of 11 stories done (1 check passed, 1 taken over from prd.json)
      1 story begun and not finished
      5 stories not reached
      1 story held up by c (working)
      2 stories held up by f (ready)
    report: .git/piton/reports/prd.html
    run `prd` reached its limit: max-iterations (2)
    hint: go on with `piton run prd`; the limit is counted anew
    ");
}

#[test]
fn what_stands_behind_a_phase_is_held_up_by_what_failed_in_it() {
    let scratch = Scratch::new();
    scratch
        .agent("cat >/dev/null; echo '{\"status\": \"blocked\", \"error\": \"no key\"}'")
        .sprint_with(
            "collections: {step: [{prompt: One}, {prompt: Two}]}\n",
            "  - id: build\n    for-each: step\n  - id: test\n    prompt: Test it\n",
        );
    let said = scratch.run(&[]);
    insta::assert_snapshot!(from_line(&said.err, "0 of 3"), @r"
    0 of 3 nodes done
    B build/step-0/execute: One - no key
      2 nodes held up by build/step-0/execute (blocked, d1)
    report: .git/piton/reports/2026-01-15_demo.html
    run `2026-01-15_demo` is blocked at build/step-0/execute
    hint: see why, and what to type to go on, with `piton inbox`
    ");
}

#[test]
fn an_item_whose_time_has_come_still_says_why_it_waited() {
    let scratch = Scratch::new();
    let kept = |line: &&str| {
        let id = line.split("\"id\": \"").nth(1);
        id.is_none_or(|id| id.starts_with(['e', 'g']))
    };
    let list: String = LIST.split_inclusive('\n').filter(kept).collect();
    assert!(list.len() < LIST.len());
    // The pause after the first failure is over when the second agent is done.
    scratch.write("prd.json", &list.replace("},\n]}", "}\n]}")).agent(
        "cat >/dev/null\nif [ $PITON_ITEM = e ]; then echo 'connect ECONNREFUSED 203.0.113.7:443' >&2; exit 1; fi\nsleep 3; echo x >made; echo '{\"status\": \"completed\"}'",
    );
    let said = scratch.piton(&[RUN, &["--max-iterations", "2"]].concat());
    assert_eq!(said.exit, 5, "{}", said.err);
    let lines = from_line(&said.err, "? e: Blocked - connect ECONNREFUSED");
    let second = lines.lines().nth(1).unwrap_or_default();
    assert!(second.contains("put off until"), "{}", said.err);
}

#[test]
fn each_item_in_trouble_is_an_unresolved_blocker_with_its_reason() {
    let (scratch, _) = night();
    let said = scratch.piton(&["recent"]).out;
    insta::assert_snapshot!(from_line(&said, "Unresolved blockers:"), @r"
    Unresolved blockers:
    ! task_blocked [prd] c: gate failed after 3 runs: exit status 1
    ! task_blocked [prd] d: its check cannot be run (exit status 127): no-such-program
    ! task_blocked [prd] e: the service is gone
    ! task_blocked [prd] f: which way?
    ! task_blocked [prd] g: no way to do it (3 times)
    ! task_blocked [prd] k: no way to do it (3 times)
    ");
}
