//! What the files of a sprint must be, strictly.

use piton_formats::shape::{Shape, check, json_schema};
use piton_formats::sprint::{PROGRESS_SHAPE, SPRINT_SHAPE, SprintStatus, WORKFLOW_SHAPE};
use piton_formats::yaml::parse;

use crate::desk::Desk;

#[track_caller]
fn problems(text: &str, shape: &Shape) -> Vec<String> {
    let root = parse(text).root.expect("a document");
    let problems = check(&root, shape, "F", "doc");
    problems
        .iter()
        .map(|problem| format!("{}: {}", problem.path, problem.code))
        .collect()
}

const PROGRESS: &str = "\
sprint-id: s
status: in-progress
phases:
  - {id: a, status: completed, prompt: x, started-at: '2026-01-15T09:00:00Z', elapsed: '00:05:00'}
  - id: b
    status: in-progress
    steps:
      - id: s0
        prompt: p
        status: pending
        phases: [{id: i, status: pending, prompt: q, gate: {script: make, on-fail-prompt: mend, max-retries: 3, timeout: 1.5}}]
current: {phase: 1, step: 0, sub-phase: null}
stats: {started-at: null, total-phases: 2, completed-phases: 1}
retry: {maxAttempts: 2, backoffMs: [1000], retryOn: [network]}
parallel-execution: {enabled: false}
";

#[test]
fn a_document_of_the_tables_has_no_problem() {
    assert_eq!(problems(PROGRESS, &PROGRESS_SHAPE), Vec::<String>::new());
    for status in SprintStatus::ALL {
        let text = PROGRESS.replace(
            "status: in-progress\nphases",
            &format!("status: {}\nphases", status.as_str()),
        );
        assert_eq!(problems(&text, &PROGRESS_SHAPE), Vec::<String>::new());
    }
    let sprint = "workflow: w\ncollections: {step: [{prompt: a, id: x, custom: [1]}]}\nmodel: opus\nconfig: {time-box: 45m, auto-commit: true}\n";
    assert_eq!(problems(sprint, &SPRINT_SHAPE), Vec::<String>::new());
    let workflow = "name: W\nschema-version: '2.0'\nphases:\n  - {id: a, prompt: x, break: true, gate: {script: make, on-fail: {prompt: mend}}}\n  - {id: b, for-each: step, workflow: i}\n";
    assert_eq!(problems(workflow, &WORKFLOW_SHAPE), Vec::<String>::new());
}

#[test]
fn a_wait_has_a_command_or_a_time() {
    let at = "  - {id: a, status: completed, prompt: x,";
    let with = |wait: &str| {
        let text = PROGRESS.replace(at, &format!("{at} wait: {wait},"));
        problems(&text, &PROGRESS_SHAPE)
    };
    for wait in [
        "{command: up}",
        "{until: '2026-01-15T09:00:00Z'}",
        "{command: up, every: 5m, until: '2026-01-15T09:00:00Z'}",
    ] {
        assert_eq!(with(wait), Vec::<String>::new(), "{wait}");
    }
    for wait in [
        "soon",
        "{}",
        "{every: 5m}",
        "{until: soon}",
        "{command: up, evry: 5m}",
    ] {
        assert_ne!(with(wait), Vec::<String>::new(), "{wait}");
    }
}

#[test]
fn what_the_tables_do_not_name_is_a_problem() {
    let cases = [
        (
            "sprint-id: s\n",
            "sprint-id: ''\n",
            "doc.sprint-id: INVALID_VALUE",
        ),
        (
            "status: in-progress\nphases",
            "status: running\nphases",
            "doc.status: INVALID_VALUE",
        ),
        ("id: a, ", "id: a, x: 1, ", "doc.phases[0].x: UNKNOWN_KEY"),
        (
            "        prompt: p\n",
            "",
            "doc.phases[1].steps[0].prompt: MISSING_KEY",
        ),
        ("step: 0,", "step: first,", "doc.current.step: WRONG_TYPE"),
        (
            "total-phases: 2",
            "total-phases: -2",
            "doc.stats.total-phases: INVALID_VALUE",
        ),
        (
            "[network]",
            "[weather]",
            "doc.retry.retryOn[0]: INVALID_VALUE",
        ),
    ];
    for (from, to, expected) in cases {
        assert_eq!(PROGRESS.matches(from).count(), 1, "{from}");
        let text = PROGRESS.replacen(from, to, 1);
        assert_eq!(problems(&text, &PROGRESS_SHAPE), [expected]);
    }
    assert_eq!(
        problems("name: x\n", &SPRINT_SHAPE),
        ["doc.workflow: MISSING_KEY"]
    );
    let hook = "name: W\nphases: []\nper-iteration-hooks: [{id: a, when: b}]\n";
    assert_eq!(
        problems(hook, &WORKFLOW_SHAPE),
        ["doc.per-iteration-hooks[0].when: UNKNOWN_KEY"]
    );
}

#[test]
fn what_piton_writes_is_strictly_valid() {
    let mut desk = Desk::of(PROGRESS).expect("a sprint");
    assert_eq!(problems(&desk.text, &PROGRESS_SHAPE), Vec::<String>::new());
    desk.start();
    desk.work(piton_core::Outcome::Failed);
    assert!(desk.text.contains("failed-phase: i\n"), "{}", desk.text);
    assert_eq!(problems(&desk.text, &PROGRESS_SHAPE), Vec::<String>::new());
    desk.work_by_hand();
    assert_eq!(problems(&desk.text, &PROGRESS_SHAPE), Vec::<String>::new());
}

#[test]
fn the_schemas_can_be_printed() {
    for (shape, id) in [
        (&PROGRESS_SHAPE, "progress"),
        (&SPRINT_SHAPE, "sprint"),
        (&WORKFLOW_SHAPE, "workflow"),
    ] {
        let schema = format!("{:?}", json_schema(shape, id, id));
        assert!(schema.contains("2020-12"), "{schema}");
    }
}
