//! What is told and does not stop a sprint.

use crate::shelf::{Shelf, compile_on, lines};

const VERSION: &str = "schema-version: \"2.0\"\n";

#[track_caller]
fn check(workflow: &str, sprint: &str, expect: &str) {
    let shelf = Shelf::new([
        ("main.yaml", &*format!("{VERSION}name: W\n{workflow}")),
        (
            "inner.yaml",
            &*format!(
                "{VERSION}name: I\nphases:\n  - {{id: p, prompt: x}}\n  - {{id: q, workflow: inner2}}\n"
            ),
        ),
        (
            "inner2.yaml",
            &*format!("{VERSION}name: J\nphases:\n  - {{id: r, prompt: x}}\n"),
        ),
        (
            "odd.yaml",
            &*format!("{VERSION}model: big\nname: O\nphases:\n  - {{id: p, prompt: x}}\n"),
        ),
        ("nameless.yaml", "phases:\n  - {id: p, prompt: x}\n"),
    ]);
    let compiled = compile_on(&shelf, sprint, false);
    assert_eq!(lines(&compiled.problems), expect);
    assert!(compiled.progress.is_some());
}

const ITEMS: &str = "workflow: main\ncollections:\n  step:\n    - prompt: a\n";
const SIMPLE: &str = "phases:\n  - {id: a, prompt: x}\n";

#[test]
fn limits_that_cannot_be_read() {
    check(
        SIMPLE,
        &format!("{ITEMS}config: {{max-tasks: many, time-box: soon, auto-comit: true}}\n"),
        "INVALID_CONFIG SPRINT.yaml:5:21 config.max-tasks\n\
         INVALID_CONFIG SPRINT.yaml:5:37 config.time-box\n\
         UNKNOWN_KEY SPRINT.yaml:5:43 config.auto-comit",
    );
    check(
        SIMPLE,
        &format!("{ITEMS}retry: {{maxAttempts: 2, backoffMs: 5, retryOn: [weather]}}\n"),
        "INVALID_RETRY SPRINT.yaml:5:36 retry.backoffMs\n\
         INVALID_RETRY SPRINT.yaml:5:48 retry.retryOn",
    );
}

#[test]
fn a_wait_of_an_item_that_is_a_variable() {
    check(
        SIMPLE,
        &format!("{ITEMS}      wait: for it\n"),
        "WAIT_IGNORED SPRINT.yaml:5:13 collections.step[0].wait",
    );
}

#[test]
fn keys_that_are_a_slip_away_from_known_ones() {
    check(
        "phases:\n  - {id: a, prompt: x, modle: opus}\n",
        ITEMS,
        "UNKNOWN_KEY main.yaml:4:24 phases[0].modle",
    );
}

#[test]
fn what_has_no_effect() {
    check(
        "phases:\n  - {id: a, for-each: step, workflow: inner, model: opus}\n",
        ITEMS,
        "MODEL_IGNORED main.yaml:4:53 phases[0].model\n\
         NESTED_TOO_DEEP inner.yaml:5:23 phases[1].workflow",
    );
    check(
        SIMPLE,
        &format!("{ITEMS}per-iteration-hooks: {{learn: {{enabled: true}}}}\n"),
        "",
    );
    check(
        &format!("per-iteration-hooks: [{{id: lint, prompt: x}}]\n{SIMPLE}"),
        &format!("{ITEMS}per-iteration-hooks: {{learn: {{enabled: true}}}}\n"),
        "UNKNOWN_HOOK SPRINT.yaml:5:23 per-iteration-hooks.learn",
    );
}

#[test]
fn a_model_that_nothing_reads_stops_nothing() {
    for action in ["for-each: step", "workflow: inner2"] {
        let workflow = format!("phases:\n  - {{id: a, {action}, model: big}}\n");
        let column = workflow.lines().nth(1).unwrap().find("big").unwrap() + 1;
        let expect = format!("INVALID_MODEL main.yaml:4:{column} phases[0].model");
        check(&workflow, ITEMS, &expect);
    }
    check(
        "phases:\n  - {id: a, workflow: odd}\n",
        ITEMS,
        "INVALID_MODEL odd.yaml:2:8 model",
    );
    check(
        "phases:\n  - {id: a, for-each: step}\n",
        "workflow: main\ncollections:\n  step: [{prompt: a, workflow: odd}]\n",
        "INVALID_MODEL odd.yaml:2:8 model",
    );
}

#[test]
fn steps_beside_collections() {
    check(
        SIMPLE,
        &format!("{ITEMS}steps:\n  - prompt: b\n"),
        "STEPS_IGNORED SPRINT.yaml:6:3 steps",
    );
}

#[test]
fn collections_that_are_not_what_they_seem() {
    check(
        "phases:\n  - {id: a, for-each: step}\n",
        "workflow: main\ncollections:\n  step: []\n",
        "EMPTY_COLLECTION SPRINT.yaml:3:9 collections.step",
    );
    check(
        SIMPLE,
        "workflow: main\ncollections:\n  step: [{prompt: a, id: x}, {prompt: b, id: x}]\n",
        "DUPLICATE_ITEM_ID SPRINT.yaml:3:46 collections.step[1].id",
    );
}

#[test]
fn the_workflow_of_an_item_needs_no_name() {
    check(
        "phases:\n  - {id: a, for-each: step}\n",
        "workflow: main\ncollections:\n  step: [{prompt: a, workflow: nameless}]\n",
        "MISSING_WORKFLOW_NAME nameless.yaml:1:1 name",
    );
}

#[test]
fn a_workflow_without_a_version() {
    let shelf = Shelf::new([("main.yaml", "name: W\nphases:\n  - {id: a, prompt: x}\n")]);
    let compiled = compile_on(&shelf, ITEMS, false);
    assert_eq!(
        lines(&compiled.problems),
        "SCHEMA_VERSION main.yaml:1:1 schema-version"
    );
}

#[test]
fn a_variable_is_told_once_and_where_it_was_written() {
    let items: String = (0..50).map(|_| "    - prompt: go\n".to_owned()).collect();
    let sprint = format!(
        "workflow: main\ncollections:\n  step:\n{items}    - prompt: my {{{{own.thing}}}}\n"
    );
    let shelf = Shelf::new([
        (
            "main.yaml",
            &*format!("{VERSION}name: W\nphases:\n  - {{id: a, for-each: step, workflow: w}}\n"),
        ),
        (
            "w.yaml",
            &*format!(
                "{VERSION}name: W\nphases:\n  - id: p\n    prompt: '{{{{item.prompt}}}} {{{{sprint.name}}}}'\n"
            ),
        ),
    ]);
    let compiled = compile_on(&shelf, &sprint, false);
    assert_eq!(
        lines(&compiled.problems),
        "UNRESOLVED_VARIABLES w.yaml:5:30 phases[0].prompt\n\
         UNRESOLVED_VARIABLES SPRINT.yaml:54:18 collections.step[50].prompt"
    );
}
