//! `PROGRESS.yaml` as it is met in the wild.

use std::time::Duration;

use crate::shelf::lines;
use piton_formats::problem::Problem;
use piton_formats::sprint::{
    Children, PhaseStatus, SourceText, SprintProgress, SprintStatus, parse_elapsed, parse_progress,
    render_progress,
};

fn read(text: &str) -> (SprintProgress, Vec<Problem>) {
    let source = SourceText {
        name: "PROGRESS.yaml",
        text,
    };
    let (progress, problems) = parse_progress(source);
    (progress.unwrap(), problems)
}

/// In the style of the published schema: comments, quoted times, a pointer.
const RUNNING: &str = r#"sprint-id: auth
status: in-progress

phases:
  # runs once
  - id: prepare
    status: completed
    prompt: "Set up"
    started-at: "2026-01-15T09:00:00Z"
    elapsed: "00:02:00"
  - id: build
    status: in-progress
    steps:
      - id: step-0
        prompt: "Login"
        status: completed
        commit: 6673e79
        phases:
          - id: implement
            status: completed
            prompt: "Login"
            gate-tracking: {attempts: 2, status: passed, last-exit-code: 0}
      - id: step-1
        prompt: "Logout"
        status: in-progress
        phases:
          - id: implement
            status: null
            prompt: "Logout"
            retry-count: 1
            error-category: network

current:
  phase: 1
  step: 1
  sub-phase: 0

stats:
  started-at: 2026-01-15T09:00:00Z
  completed-at: null
  total-phases: 2
  completed-phases: 1
  total-steps: 2
  completed-steps: 1
  elapsed: 45m

human-needed:
  reason: "which one?"
  details: both fit
owner: me
"#;

#[test]
fn everything_in_a_document_is_read() {
    let (progress, problems) = read(RUNNING);
    assert_eq!(
        lines(&problems),
        "NULL_STATUS PROGRESS.yaml:28:13 phases[1].steps[1].phases[0].status"
    );
    assert_eq!(progress.status, SprintStatus::InProgress);
    let Children::Steps(steps) = &progress.phases[1].children else {
        panic!("steps");
    };
    assert_eq!(steps[0].progress.commit.as_deref(), Some("6673e79"));
    let tracking = steps[0].children.as_slice()[0]
        .progress
        .gate_tracking
        .as_ref();
    assert_eq!(tracking.unwrap().attempts, 2);
    let node = progress.current_node().unwrap();
    assert_eq!(node.prompt.as_deref(), Some("Logout"));
    assert_eq!(node.status, PhaseStatus::Pending);
    assert_eq!(
        progress.stats.started_at.as_deref(),
        Some("2026-01-15T09:00:00Z")
    );
    assert_eq!(
        progress.stats.elapsed.as_deref().and_then(parse_elapsed),
        Some(Duration::from_secs(2700))
    );
    assert_eq!(
        progress.stop.human_needed.as_ref().unwrap().reason,
        "which one?"
    );
    assert_eq!(progress.extra[0].0, "owner");
}

#[test]
fn what_was_read_is_written_with_what_piton_does_not_know() {
    let (progress, _) = read(RUNNING);
    let written = render_progress(&progress);
    insta::assert_snapshot!(written, @r#"
    sprint-id: auth
    status: in-progress
    phases:
      - id: prepare
        status: completed
        prompt: Set up
        started-at: '2026-01-15T09:00:00Z'
        elapsed: '00:02:00'
      - id: build
        status: in-progress
        steps:
          - id: step-0
            prompt: Login
            status: completed
            phases:
              - id: implement
                status: completed
                prompt: Login
                gate-tracking:
                  attempts: 2
                  status: passed
                  last-exit-code: 0
            commit: '6673e79'
          - id: step-1
            prompt: Logout
            status: in-progress
            phases:
              - id: implement
                status: pending
                prompt: Logout
                retry-count: 1
                error-category: network
    current:
      phase: 1
      step: 1
      sub-phase: 0
    stats:
      started-at: '2026-01-15T09:00:00Z'
      total-phases: 2
      completed-phases: 1
      total-steps: 2
      completed-steps: 1
      elapsed: 45m
      completed-at: null
    human-needed:
      reason: which one?
      details: both fit
    owner: me
    "#);
    assert_eq!(read(&written).0, progress);
}

#[test]
fn counters_that_are_wrong_are_counted_again() {
    let text = "sprint-id: a\nstatus: completed\nphases:\n  - {id: a, status: completed}\n  - {id: b, status: skipped}\ncurrent: {phase: 2, step: 0, sub-phase: 0}\nstats: {started-at: null, total-phases: 12, completed-phases: 0, elapsed: 40805, max-iterations: 1000000}\n";
    let (progress, problems) = read(text);
    assert_eq!(
        lines(&problems),
        "COUNTER_DISAGREES PROGRESS.yaml:7:41 stats.total-phases\n\
         COUNTER_DISAGREES PROGRESS.yaml:7:63 stats.completed-phases"
    );
    assert!(problems.iter().all(|problem| !problem.is_error()));
    let derived = progress.derived_stats();
    assert_eq!((derived.total_phases, derived.completed_phases), (2, 1));
    assert_eq!((derived.total_steps, derived.completed_steps), (None, None));
    assert_eq!(derived.max_iterations, Some(1_000_000));
}

#[test]
fn a_pointer_behind_the_end_is_told_unless_all_is_done() {
    let text = "sprint-id: a\nstatus: in-progress\nphases:\n  - {id: a, status: pending}\ncurrent: {phase: 1, step: null, sub-phase: null}\nstats: {started-at: null, total-phases: 1, completed-phases: 0}\n";
    assert_eq!(
        lines(&read(text).1),
        "POINTER_OUT_OF_RANGE PROGRESS.yaml:5:1 current"
    );
    let done = text.replace("in-progress", "completed");
    assert_eq!(lines(&read(&done).1), "");
}

#[test]
fn a_status_that_nobody_knows_is_an_error_beside_the_document() {
    let text = "sprint-id: a\nstatus: runing\nphases: []\ncurrent: {phase: 0}\nstats: {started-at: null, total-phases: 0, completed-phases: 0}\n";
    let (_, problems) = read(text);
    assert_eq!(lines(&problems), "UNKNOWN_STATUS PROGRESS.yaml:2:9 status");
    assert!(problems[0].is_error());
    assert!(problems[0].hint.contains("`paused-at-breakpoint`"));
}

#[test]
fn known_keys_with_null_or_the_wrong_type_stay() {
    let text = "sprint-id: a\nstatus: paused\nphases:\n  - id: x\n    status: pending\n    error: null\n    retry-count: many\ncurrent:\n  phase: 0\n  step: null\n  sub-phase: null\n  since: dawn\nstats:\n  started-at: null\n  total-phases: 1\n  completed-phases: 0\npause-reason: null\n";
    let (progress, problems) = read(text);
    assert_eq!(
        lines(&problems),
        "WRONG_TYPE PROGRESS.yaml:7:18 phases[0].retry-count"
    );
    assert_eq!(render_progress(&progress), text);
    let mut progress = progress;
    progress.stop.pause_reason = Some("lunch".to_owned());
    let written = render_progress(&progress);
    assert_eq!(written.matches("pause-reason").count(), 1, "{written}");
}

#[test]
fn older_and_foreign_documents_are_named() {
    for (text, code, words) in [
        (
            "sprint-id: a\nqueue: []\ncompleted: []\ncurrent-task: null\n",
            "LEGACY_LAYOUT",
            "queue of tasks",
        ),
        (
            "sprint-id: a\nmode: ralph\ngoal: g\nstats: {}\n",
            "LEGACY_LAYOUT",
            "goal-driven",
        ),
        (
            "current_phase: 2\nblockers: []\n",
            "NOT_A_PROGRESS_FILE",
            "another tool",
        ),
        ("", "NOT_A_PROGRESS_FILE", "empty file"),
        ("a: [\n", "PROGRESS_PARSE_ERROR", "`[` or `{`"),
    ] {
        let (progress, problems) = parse_progress(SourceText { name: "P", text });
        assert!(progress.is_none());
        assert_eq!(problems[0].code, code);
        assert!(problems[0].message.contains(words), "{problems:?}");
    }
}

#[test]
fn ten_thousand_steps_are_written_in_far_less_than_a_second() {
    let mut text = "sprint-id: a\nstatus: in-progress\nphases:\n  - id: all\n    status: in-progress\n    steps:\n".to_owned();
    for i in 0..10_000 {
        text.push_str(&format!("      - id: s{i}\n        prompt: do {i}\n        status: pending\n        phases:\n          - {{id: e, status: pending, prompt: 'do {i}'}}\n"));
    }
    let (progress, _) = read(&text);
    assert_eq!(progress.phases[0].children.as_slice().len(), 10_000);
    assert_eq!(read(&render_progress(&progress)).0, progress);
}

#[test]
fn a_fault_of_the_yaml_is_all_that_is_told() {
    let text = "sprint-id: a\nsprint-id: b\nstatus: !odd x\nphases: []\n";
    let source = SourceText {
        name: "PROGRESS.yaml",
        text,
    };
    let (_, problems) = parse_progress(source);
    let told: Vec<_> = problems
        .iter()
        .map(|problem| (&*problem.code, problem.line))
        .collect();
    assert_eq!(
        told,
        [("PROGRESS_PARSE_ERROR", 2), ("PROGRESS_PARSE_ERROR", 3)]
    );
}
