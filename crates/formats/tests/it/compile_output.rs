//! What valid sprints compile to.

use crate::shelf::{Shelf, compile_on};
use piton_core::RunId;
use piton_formats::problem::SourceText;
use piton_formats::sprint::{parse_progress, plan_of_progress, render_progress};

const ITEMS: &str = "workflow: main\ncollections:\n  step:\n    - prompt: first\n    - prompt: second\n      id: two\n";

#[track_caller]
fn compiled(shelf: &Shelf, sprint: &str) -> String {
    let compiled = compile_on(shelf, sprint, false);
    let Some(progress) = compiled.progress else {
        panic!("{:#?}", compiled.problems);
    };
    render_progress(&progress)
}

#[test]
fn a_loop_gives_a_step_for_each_item() {
    let shelf = Shelf::new([
        (
            "main.yaml",
            "name: W\nphases:\n  - {id: prep, prompt: 'For {{sprint.id}}'}\n  - {id: all, for-each: step, workflow: inner}\n",
        ),
        (
            "inner.yml",
            "name: I\nphases:\n  - id: build\n    prompt: |\n      {{step.prompt}} as {{item.id}}\n      in {{phase.id}}/{{phase.index}}\n  - {id: test, prompt: t, gate: {script: make, on-fail: {prompt: mend}, timeout: 1.5}}\n",
        ),
    ]);
    insta::assert_snapshot!(compiled(&shelf, ITEMS), @r#"
    sprint-id: 2026-02-03_demo
    status: not-started
    phases:
      - id: prep
        status: pending
        prompt: For 2026-02-03_demo
      - id: all
        status: pending
        steps:
          - id: step-0
            prompt: first
            status: pending
            phases:
              - id: build
                status: pending
                prompt: |
                  first as step-0
                  in build/0
              - id: test
                status: pending
                prompt: t
                gate:
                  script: make
                  on-fail-prompt: mend
                  max-retries: 3
                  timeout: 1.5
          - id: two
            prompt: second
            status: pending
            phases:
              - id: build
                status: pending
                prompt: |
                  second as two
                  in build/0
              - id: test
                status: pending
                prompt: t
                gate:
                  script: make
                  on-fail-prompt: mend
                  max-retries: 3
                  timeout: 1.5
    current:
      phase: 0
      step: null
      sub-phase: null
    stats:
      started-at: null
      total-phases: 2
      completed-phases: 0
      total-steps: 2
      completed-steps: 0
    parallel-tasks: []
    "#);
}

#[test]
fn what_an_inlined_workflow_asks_for_is_kept() {
    let shelf = Shelf::new([
        (
            "main.yaml",
            "name: W\nphases:\n  - id: part\n    workflow: inner\n    break: true\n    wait-for-parallel: true\n    gate: {script: outer, on-fail: {prompt: o}}\n",
        ),
        (
            "inner.yaml",
            "name: I\nphases:\n  - {id: a, prompt: 'a {{phase.index}}', parallel: true}\n  - {id: b, for-each: step}\n  - {id: c, prompt: 'c {{phase.index}}', gate: {script: inner, on-fail: {prompt: i, max-retries: 5}}}\n",
        ),
    ]);
    insta::assert_snapshot!(compiled(&shelf, ITEMS), @r#"
    sprint-id: 2026-02-03_demo
    status: not-started
    phases:
      - id: part-a
        status: pending
        prompt: a 0
        parallel: true
        wait-for-parallel: true
      - id: part-b
        status: pending
        steps:
          - id: step-0
            prompt: first
            status: pending
            phases:
              - id: execute
                status: pending
                prompt: first
          - id: two
            prompt: second
            status: pending
            phases:
              - id: execute
                status: pending
                prompt: second
      - id: part-c
        status: pending
        prompt: c 2
        break: true
        gate:
          script: |-
            (
            inner
            ) && (
            outer
            )
          on-fail-prompt: |-
            i

            o
          max-retries: 5
          timeout: 120
    current:
      phase: 0
      step: null
      sub-phase: null
    stats:
      started-at: null
      total-phases: 3
      completed-phases: 0
      total-steps: 2
      completed-steps: 0
    parallel-tasks: []
    "#);
}

#[test]
fn the_options_of_sprint_and_workflow_come_through() {
    let shelf = Shelf::new([(
        "main.yaml",
        "name: W\nmodel: haiku\norchestration: {enabled: true, prompt: think}\nworktree: {enabled: true, branch-prefix: wt/, cleanup: on-merge}\nper-iteration-hooks:\n  - {id: learn, prompt: go, parallel: true, enabled: false}\n  - {id: lint, prompt: lint, enabled: true}\nphases:\n  - {id: a, prompt: x}\n",
    )]);
    let sprint = "workflow: main\nsprint-id: 2026-05-06_all_of_it\nretry: {maxAttempts: 2, backoffMs: [10, 20], retryOn: [timeout]}\nconfig: {time-box: 1h30m, max-tasks: 5}\nprompts: {header: yes}\nworktree: {enabled: true, path: '../{date}/{sprint-name}-{workflow}'}\nper-iteration-hooks: {learn: {enabled: true}}\ncollections: {step: [{prompt: p}]}\n";
    insta::assert_snapshot!(compiled(&shelf, sprint), @r#"
    sprint-id: 2026-05-06_all_of_it
    status: not-started
    phases:
      - id: a
        status: pending
        prompt: x
        model: haiku
    current:
      phase: 0
      step: null
      sub-phase: null
    stats:
      started-at: null
      total-phases: 1
      completed-phases: 0
    parallel-tasks: []
    orchestration:
      enabled: true
      prompt: think
      insertStrategy: after-current
      autoApprove: false
    step-queue: []
    prompts:
      header: 'yes'
    worktree:
      enabled: true
      branch: wt/2026-05-06_all_of_it
      path: ../2026-05-06/all_of_it-main
      cleanup: on-merge
    per-iteration-hooks:
      - id: learn
        prompt: go
        parallel: true
        enabled: true
      - id: lint
        prompt: lint
        enabled: true
    hook-tasks: []
    retry:
      maxAttempts: 2
      backoffMs:
        - 10
        - 20
      retryOn:
        - timeout
    config:
      time-box: 1h30m
      max-tasks: 5
    "#);
}

#[test]
fn what_proof_is_worth_is_handed_down_to_what_says_nothing_itself() {
    let shelf = Shelf::new([
        (
            "main.yaml",
            "name: W\nphases:\n  - {id: old, prompt: x, claims: {weakened: note, word: ask}}\n  - {id: all, for-each: step, workflow: inner, claims: {word: accept}}\n",
        ),
        (
            "inner.yml",
            "name: I\nphases:\n  - {id: build, prompt: x}\n  - {id: test, prompt: t, claims: {changed: check}}\n",
        ),
    ]);
    let sprint = "workflow: main\ncollections:\n  step:\n    - prompt: first\n";
    let text = compiled(&shelf, sprint);
    let said: Vec<&str> = text
        .lines()
        .map(str::trim)
        .filter(|line| {
            let keys = ["- id:", "word:", "changed:", "weakened:"];
            keys.iter().any(|key| line.starts_with(key))
        })
        .collect();
    assert_eq!(
        said,
        [
            "- id: old",
            "word: ask",
            "weakened: note",
            "- id: all",
            "- id: step-0",
            "- id: build",
            "word: accept",
            "- id: test",
            "changed: check",
        ],
        "{text}"
    );
}

#[test]
fn the_files_of_an_item_are_those_of_its_step() {
    let shelf = Shelf::new([(
        "main.yaml",
        "name: W\nphases:\n  - {id: all, for-each: step}\n",
    )]);
    let sprint = "workflow: main\ncollections:\n  step:\n    - {prompt: a, files: [src/a.rs, docs]}\n    - {prompt: b, files: src}\n    - {prompt: c}\n";
    let text = compiled(&shelf, sprint);
    let progress = parse_progress(SourceText {
        name: "",
        text: &text,
    })
    .0
    .expect("a sprint");
    let plan = plan_of_progress(&progress, RunId::PROJECT, "a", "");
    let steps = plan.items.iter().filter(|item| item.place.depth() == 2);
    let files: Vec<&[String]> = steps.map(|item| &*item.scope.0).collect();
    assert_eq!(files, [&["src/a.rs", "docs"][..], &["src"], &[]]);
    assert_eq!(text.matches("files:").count(), 2, "{text}");
}

#[test]
fn waits_of_phases_and_items_are_those_of_what_they_become() {
    let shelf = Shelf::new([
        (
            "main.yaml",
            "name: W\nphases:\n  - {id: all, for-each: step, workflow: inner, wait: {until: 2026-11-26T22:00:00+01:00}}\n  - {id: last, workflow: two, wait: {command: up, every: 1m}}\n",
        ),
        (
            "inner.yaml",
            "name: I\nphases:\n  - {id: do, prompt: x, wait: {command: sub}}\n",
        ),
        (
            "two.yaml",
            "name: T\nphases:\n  - {id: a, prompt: x, parallel: true}\n  - {id: b, prompt: x}\n  - {id: c, prompt: x}\n",
        ),
    ]);
    let sprint = "workflow: main\ncollections:\n  step:\n    - {prompt: a, wait: {command: gh pr checks 7, until: '2026-11-26T21:00:00Z'}}\n";
    let text = compiled(&shelf, sprint);
    let source = SourceText {
        name: "",
        text: &text,
    };
    let progress = parse_progress(source).0.expect("a sprint");
    let plan = plan_of_progress(&progress, RunId::PROJECT, "a", "");
    let waits = plan.items.iter().map(|item| {
        let wait = item.wait.as_ref().map(ToString::to_string);
        (item.node.as_str(), wait.unwrap_or_default())
    });
    let waits: Vec<(&str, String)> = waits.collect();
    let up = "until `up` says yes, asked each 60s";
    let expected = [
        ("all", "until 2026-11-26T21:00Z"),
        (
            "all/step-0",
            "until `gh pr checks 7` says yes, asked each 60s, until 2026-11-26T21:00Z",
        ),
        ("all/step-0/do", "until `sub` says yes, asked each 60s"),
        ("last-a", up),
        ("last-b", up),
        ("last-c", ""),
    ];
    assert_eq!(waits, expected.map(|(node, wait)| (node, wait.to_owned())));
    // In the words in which they were written.
    assert!(text.contains("2026-11-26T22:00:00+01:00"), "{text}");
    assert!(text.contains("every: 1m"), "{text}");
}

#[test]
fn dependencies_become_a_graph() {
    let shelf = Shelf::new([(
        "main.yaml",
        "name: W\nphases:\n  - {id: all, for-each: task, collection: step}\n",
    )]);
    let sprint = "workflow: main\ncollections:\n  step:\n    - {prompt: a}\n    - {prompt: b, id: b, depends-on: [step-0]}\n";
    insta::assert_snapshot!(compiled(&shelf, sprint), @r#"
    sprint-id: 2026-02-03_demo
    status: not-started
    phases:
      - id: all
        status: pending
        steps:
          - id: task-0
            prompt: a
            status: pending
            phases:
              - id: execute
                status: pending
                prompt: a
          - id: b
            prompt: b
            status: pending
            phases:
              - id: execute
                status: pending
                prompt: b
            depends-on:
              - task-0
    current:
      phase: 0
      step: 0
      sub-phase: 0
    stats:
      started-at: null
      total-phases: 1
      completed-phases: 0
      total-steps: 2
      completed-steps: 0
    parallel-tasks: []
    dependency-graph:
      - phase-id: all
        nodes:
          - id: task-0
            depends-on: []
            blocked-by: []
          - id: b
            depends-on:
              - task-0
            blocked-by:
              - task-0
    "#);
}

#[test]
fn the_most_particular_model_wins() {
    let shelf = Shelf::new([
        (
            "main.yaml",
            "name: W\nmodel: haiku\nphases:\n  - {id: a, prompt: x}\n  - {id: all, for-each: step, workflow: inner}\n",
        ),
        (
            "inner.yaml",
            "name: I\nmodel: opus\nphases:\n  - {id: p, prompt: x}\n  - {id: q, prompt: x, model: sonnet}\n",
        ),
    ]);
    let sprint = "workflow: main\ncollections:\n  step:\n    - {prompt: a}\n    - {prompt: b, model: opus}\n";
    let progress = compile_on(&shelf, sprint, false).progress.unwrap();
    let models = |node: &piton_formats::sprint::PhaseNode| {
        let own = node.model.clone();
        let inner = node.children.as_slice().iter().map(|sub| sub.model.clone());
        std::iter::once(own)
            .chain(inner)
            .map(|model| model.unwrap_or_else(|| "-".to_owned()))
            .collect::<Vec<_>>()
            .join(" ")
    };
    assert_eq!(models(&progress.phases[0]), "haiku");
    let steps = progress.phases[1].children.as_slice();
    assert_eq!(models(&steps[0]), "- haiku sonnet");
    assert_eq!(models(&steps[1]), "opus opus opus");
}

#[test]
fn a_sprint_without_an_id_takes_the_name_of_its_folder() {
    let shelf = Shelf::new([("main.yaml", "name: W\nphases:\n  - {id: a, prompt: x}\n")]);
    let id = |dir: &str| {
        let source = piton_formats::sprint::SourceText {
            name: "SPRINT.yaml",
            text: ITEMS,
        };
        let options = piton_formats::sprint::CompileOptions {
            strict: false,
            date: "2026-03-04",
        };
        piton_formats::sprint::compile(source, dir, &shelf, options)
            .progress
            .unwrap()
            .sprint_id
    };
    assert_eq!(id("2026-01-02_x"), "2026-01-02_x");
    assert_eq!(id("x"), "2026-03-04_x");
    assert_eq!(id("2026-01-02"), "2026-03-04_2026-01-02");
}

/// The prompts of the first sub-phase of each step that `main` has.
fn prompts_of_steps(shelf: &Shelf, sprint: &str) -> Vec<String> {
    let progress = compile_on(shelf, sprint, false).progress.unwrap();
    let steps = progress.phases[0].children.as_slice().iter();
    let inner = steps.map(|step| &step.children.as_slice()[0]);
    inner.map(|node| node.prompt.clone().unwrap()).collect()
}

#[test]
fn dates_and_numbers_with_an_exponent_keep_the_text_they_were_written_with() {
    let shelf = Shelf::new([
        (
            "main.yaml",
            "name: W\nphases:\n  - {id: all, for-each: step, workflow: inner}\n",
        ),
        (
            "inner.yaml",
            "name: I\nphases:\n  - {id: p, prompt: 'at {{item.commit}} on {{item.day}}, {{item.flag}} {{item.version}} {{item.mode}}'}\n",
        ),
    ]);
    let sprint = "workflow: main\ncollections:\n  step:\n    - prompt: x\n      commit: 6673e79\n      day: 2026-01-15\n      flag: no\n      version: 1.50\n      mode: 0x1F\n";
    assert_eq!(
        prompts_of_steps(&shelf, sprint),
        ["at 6673e79 on 2026-01-15, no 1.5 31"]
    );
}

#[test]
fn an_item_without_a_workflow_does_not_fill_in_its_own_prompt() {
    let shelf = Shelf::new([(
        "main.yaml",
        "name: W\nphases:\n  - {id: all, for-each: step}\n",
    )]);
    let sprint = "workflow: main\ncollections:\n  step:\n    - prompt: 'use {{item.prompt}} of {{item.id}} in {{phase.id}} of {{sprint.id}}'\n";
    assert_eq!(
        prompts_of_steps(&shelf, sprint),
        ["use {{item.prompt}} of {{item.id}} in execute of 2026-02-03_demo"]
    );
    let problems = compile_on(&shelf, sprint, false).problems;
    let told: Vec<_> = problems.iter().map(|problem| &*problem.code).collect();
    assert_eq!(told, ["SCHEMA_VERSION", "UNRESOLVED_VARIABLES"]);
}

#[test]
fn the_json_view_has_the_keys_of_the_yaml() {
    let shelf = Shelf::new([(
        "main.yaml",
        "name: W\nphases:\n  - {id: a, prompt: x, break: true}\n",
    )]);
    let progress = compile_on(&shelf, ITEMS, false).progress.unwrap();
    insta::assert_snapshot!(serde_json::to_string_pretty(&progress).unwrap(), @r#"
    {
      "sprint-id": "2026-02-03_demo",
      "status": "not-started",
      "phases": [
        {
          "id": "a",
          "status": "pending",
          "prompt": "x",
          "break": true
        }
      ],
      "current": {
        "phase": 0,
        "step": null,
        "sub-phase": null
      },
      "stats": {
        "started-at": null,
        "total-phases": 1,
        "completed-phases": 0
      },
      "parallel-tasks": []
    }
    "#);
}
