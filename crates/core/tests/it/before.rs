//! What came before an attempt, as its prompt is told of it.

use piton_core::attempt::Report;
use piton_core::earlier_work::{
    earlier_done_items, earlier_findings, failed_tries_of_item, last_interrupted_attempt,
    last_open_question,
};
use piton_core::{AttemptRow, ItemRow, Outcome};
use serde_json::{Value, json};

use crate::world::{World, node};

fn attempt(number: u32, role: &str, report: &Value) -> AttemptRow {
    serde_json::from_value(json!({
        "id": "01900000-0000-7000-8000-000000000001",
        "run": "01900000-0000-7000-8000-000000000002",
        "node": "keel", "number": number, "role": role, "agent": "adze",
        "iteration": number, "started_at": "2026-01-15T10:30:00Z", "report": report,
    }))
    .expect("an attempt")
}

fn item(error: Option<&str>) -> ItemRow {
    serde_json::from_value(json!({
        "run": "01900000-0000-7000-8000-000000000002", "node": "keel",
        "plan": { "id": "keel", "place": [0] }, "state": "working", "error": error,
    }))
    .expect("an item")
}

/// The failures of an item with this error after these attempts: number and error.
#[track_caller]
fn check(error: Option<&str>, attempts: &[(&str, Value)], expect: &[(Option<u32>, &str)]) {
    let rows: Vec<AttemptRow> = attempts
        .iter()
        .zip(1..)
        .map(|((role, report), number)| attempt(number, role, report))
        .collect();
    let rows: Vec<&AttemptRow> = rows.iter().collect();
    let tries = failed_tries_of_item(&item(error), &rows);
    let found: Vec<(Option<u32>, &str)> = tries
        .iter()
        .map(|one| (one.attempt, one.error.as_str()))
        .collect();
    assert_eq!(found, expect);
}

fn failed(error: &str) -> (&'static str, Value) {
    ("worker", json!({"outcome": "failed", "error": error}))
}

#[test]
fn a_failure_that_attempt_and_item_have_is_told_once() {
    check(
        Some("it split"),
        &[failed("it split")],
        &[(Some(1), "it split")],
    );
    check(
        Some("it split"),
        &[failed("too short"), failed("it split")],
        &[(Some(1), "too short"), (Some(2), "it split")],
    );
}

#[test]
fn a_failure_before_the_last_success_is_over() {
    let done = ("worker", json!({"outcome": "completed"}));
    check(None, &[failed("it split"), done], &[]);
    let repaired = ("repair", json!({"outcome": "completed"}));
    check(
        Some("it split"),
        &[failed("it split"), repaired],
        &[(Some(1), "it split")],
    );
}

#[test]
fn what_only_the_item_has_is_told() {
    check(Some("left over"), &[], &[(None, "left over")]);
    check(
        Some("gate failed after 3 runs: exit status 1"),
        &[failed("its check failed: exit status 1")],
        &[(Some(1), "gate failed after 3 runs: exit status 1")],
    );
}

#[test]
fn a_program_that_is_missing_is_no_failure_of_the_item() {
    let missing = || {
        let report =
            json!({"outcome": "interrupted", "cannot_start": true, "error": "adze: not found"});
        ("worker", report)
    };
    check(Some("adze: not found"), &[missing()], &[]);
    check(
        Some("adze: not found"),
        &[failed("it split"), missing()],
        &[(Some(1), "it split")],
    );
}

#[test]
fn a_question_is_no_failure() {
    let asked = json!({"outcome": "needs-human", "human": {"reason": "which oak?"}});
    check(None, &[("worker", asked.clone())], &[]);
    let (first, under_way) = (
        attempt(1, "worker", &asked),
        attempt(2, "worker", &Value::Null),
    );
    assert_eq!(
        last_open_question(&[&first, &under_way]),
        Some((1, "which oak?"))
    );
    assert_eq!(last_open_question(&[&under_way]), None);
}

#[test]
fn a_hook_neither_asks_nor_is_interrupted_for_its_item() {
    let asked = json!({"outcome": "needs-human", "human": {"reason": "which glue?"}});
    let hook = |report: &Value| attempt(2, "iteration-hook", report);
    let done = attempt(1, "worker", &json!({"outcome": "completed"}));
    assert_eq!(last_open_question(&[&done, &hook(&asked)]), None);
    let cut_off = hook(&json!({"outcome": "interrupted"}));
    assert_eq!(last_interrupted_attempt(&[&done, &cut_off]), None);
}

#[test]
fn only_what_was_started_can_be_interrupted() {
    let ended = |report: Value| attempt(1, "worker", &report);
    let interrupted = ended(json!({"outcome": "interrupted"}));
    let missing = ended(json!({"outcome": "interrupted", "cannot_start": true}));
    let under_way = attempt(2, "worker", &Value::Null);
    assert_eq!(
        last_interrupted_attempt(&[&interrupted, &missing, &under_way]),
        Some(1)
    );
    assert_eq!(last_interrupted_attempt(&[&missing, &under_way]), None);
}

#[test]
fn what_others_noticed_is_told_once_and_their_blockers_are_not() {
    let first = attempt(
        1,
        "worker",
        &json!({"outcome": "completed", "observations": [
            {"type": "finding", "title": "Row 7 is wrong"},
            {"type": "blocker", "title": "no oak"},
            {"type": "finding", "title": "Oak is wet"},
        ]}),
    );
    let second = attempt(
        2,
        "worker",
        &json!({"outcome": "completed", "observations": [
            {"type": "finding", "title": "row 7 is wrong "},
        ]}),
    );
    let titles = |count_max| -> Vec<String> {
        let noticed = earlier_findings(&[&first, &second], count_max);
        noticed.iter().map(|one| one.seen.title.clone()).collect()
    };
    assert_eq!(titles(5), ["Oak is wet", "row 7 is wrong "]);
    assert_eq!(titles(1), ["row 7 is wrong "]);
}

#[test]
fn of_what_was_done_siblings_and_the_latest_are_told() {
    let (mut world, token) = World::running("plan\nbuild\n  a\n  b\n  c\nship\n");
    for at in ["plan", "build/a", "build/b"] {
        let report = Report {
            summary: Some(format!("did {at}")),
            ..Report::with_outcome(Outcome::Completed)
        };
        world.work(token, at, report);
        world.pass(60);
    }
    let done = |at: &str, count_max: usize| -> Vec<String> {
        let rows = earlier_done_items(&world.tables, world.run, &node(at), count_max);
        rows.iter().map(|row| row.node.to_string()).collect()
    };
    assert_eq!(done("build/c", 9), ["plan", "build/a", "build/b"]);
    assert_eq!(done("build/c", 2), ["build/a", "build/b"]);
    assert_eq!(
        done("ship", 1),
        ["plan"],
        "a sibling comes before a later item"
    );
}
