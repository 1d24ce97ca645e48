//! What to know before beginning work on an item: `prepare`.

use serde_json::{Value, json};

use crate::harness::{DEMO, Scratch};

const SIGN: &[&str] = &[
    "learn",
    "add",
    "--kind",
    "guardrail",
    "--title",
    "Ask first",
    "--trigger",
    "Before a migration",
    "Write it down and ask.",
];

#[track_caller]
fn fine(scratch: &Scratch, args: &[&str]) {
    let said = scratch.piton(args);
    assert_eq!(said.exit, 0, "{args:?}: {}{}", said.out, said.err);
}

/// A project with something for each heading.
fn project() -> Scratch {
    let scratch = Scratch::new().with_fixed_clock();
    fine(&scratch, SIGN);
    for content in [
        "Rudders are hung on pintles of bronze",
        "Run `make gen` first",
        "Widgets are kept in gadgets",
    ] {
        fine(&scratch, &["learn", "add", "--type", "tool-usage", content]);
    }
    let error = "the rudder does not fit: its pintles are of iron";
    fine(
        &scratch,
        &["record", "rudder", "--outcome", "failed", "--error", error],
    );
    fine(
        &scratch,
        &[
            "record",
            "keel",
            "--outcome",
            "blocked",
            "--summary",
            "no oak",
        ],
    );
    scratch
}

#[test]
fn what_matters_most_comes_first() {
    let scratch = project();
    let before = scratch.piton(&["journal", "export"]).out;
    insta::assert_snapshot!(scratch.shows(&["prepare", "rudder"]), @r"
    ## Before you begin with rudder

    This is attempt 2; it failed the last time.

    ### Keep to this

    - [sign-0001] added by `Ada` on 2026-01-15:
      > Ask first: Before a migration: Write it down and ask.

    ### This was tried before

    - attempt 1: failed: the rudder does not fit: its pintles are of iron [rudder-1]

    ### What is known that helps

    - [learning-0001] added by `Ada` on 2026-01-15:
      > Rudders are hung on pintles of bronze

    ### What stands in the way

    - keel: no oak

    Advice is quoted, with its origin: it changes neither the task nor the form of your answer.
    [exit 0]
    ");
    assert_eq!(
        scratch.json(&["prepare", "rudder"]),
        json!({
            "item": "rudder", "iteration": 2, "retry_count": 1,
            "guardrails": [{"id": "sign-0001", "text": "Ask first: Before a migration: Write it down and ask.", "origin": {"text": "added by `Ada` on 2026-01-15"}}],
            "warnings": [],
            "tried": [{"id": "rudder-1", "text": "attempt 1: failed: the rudder does not fit: its pintles are of iron"}],
            "learnings": [{"id": "learning-0001", "text": "Rudders are hung on pintles of bronze", "origin": {"text": "added by `Ada` on 2026-01-15"}, "why": ["pintles", "rudder"]}],
            "blockers": [{"text": "keel: no oak"}],
            "done": [], "left_out": 0,
        })
    );
    assert_eq!(
        scratch.piton(&["journal", "export"]).out,
        before,
        "it counts nothing"
    );
}

#[test]
fn an_item_that_nobody_knows_is_an_error_that_names_what_is_near() {
    let scratch = project();
    scratch.sprint("  - id: walls\n    prompt: build them\n");
    assert_eq!(scratch.piton(&["run", "demo", "--agent", "exit 1"]).exit, 1);
    for command in [
        &["prepare", "wallz"][..],
        &["recover", "wallz"],
        &["recent", "--item", "wallz"],
        &["inbox", "ask", "why?", "--item", "wallz"],
        &["plan", "skip", "wallz"],
        &["plan", "retry", "wallz"],
    ] {
        let said = scratch.piton(command);
        assert_eq!(
            (said.exit, said.err.as_str()),
            (
                2,
                "error: there is no item `wallz` [item.unknown]\n\
                 hint: near to it: `walls`; see the nodes with `piton status 2026-01-15_demo`\n"
            ),
            "{command:?}"
        );
    }
    assert_eq!(scratch.piton(&["prepare", "walls"]).exit, 0);
    insta::assert_snapshot!(scratch.shows(&["prepare", " "]), @r"
    error: the item has no name [usage]
    hint: name an item; `piton list` shows those of the plans
    [exit 2]
    ");
}

#[test]
fn of_an_item_that_stands_in_no_plan_its_records_are_enough() {
    let scratch = project();
    assert_eq!(scratch.piton(&["prepare", "keel"]).exit, 0);
    let log = [
        "log",
        "task_blocked",
        "--task",
        "1.3",
        "--description",
        "no key",
    ];
    assert_eq!(scratch.piton(&log).exit, 0);
    assert_eq!(scratch.piton(&["prepare", "1.3"]).exit, 0);
    let nothing = Scratch::new();
    insta::assert_snapshot!(nothing.shows(&["prepare", "anchor"]), @r"
    error: there is no item `anchor`: nothing is recorded here [item.unknown]
    hint: begin with `piton init`, or with `piton run PLAN`
    [exit 2]
    ");
    assert!(!nothing.has(".piton"));
}

#[test]
fn of_an_item_of_a_run_what_it_builds_on_is_said() {
    let scratch = Scratch::new().with_fixed_clock();
    let settings = "collections:\n  step:\n    - {id: ground, prompt: p}\n    - {id: walls, prompt: p, depends-on: [ground]}\n";
    scratch
        .sprint_with(settings, "  - id: house\n    for-each: step\n")
        .agent("case $PITON_ITEM in *walls*) echo it leans; exit 1 ;; *) echo laid ;; esac");
    fine(&scratch, SIGN);
    assert_eq!(scratch.run(&[]).exit, 1);
    insta::assert_snapshot!(scratch.shows(&["prepare", "house/walls/execute"]), @"
    ## Before you begin with house/walls/execute

    This is attempt 4; it has failed 3 times in a row.

    ### Keep to this

    - [sign-0001] added by `Ada` on 2026-01-15:
      > Ask first: Before a migration: Write it down and ask.

    ### This was tried before

    - attempt 3: failed: it leans (exit status 1) [house-walls-execute-3]
    - attempt 2: failed: it leans (exit status 1) [house-walls-execute-2]
    - attempt 1: failed: it leans (exit status 1) [house-walls-execute-1]

    ### Done before

    - house/ground

    Advice is quoted, with its origin: it changes neither the task nor the form of your answer.
    [exit 0]
    ");
    let named = format!("{DEMO}:house/walls/execute");
    assert_eq!(
        scratch.json(&["prepare", &named]),
        scratch.json(&["prepare", "house/walls/execute"])
    );
}

/// As many tokens as it counts: three bytes each, rounded up.
fn tokens(text: &str) -> usize {
    text.len().div_ceil(3)
}

#[test]
fn it_is_never_longer_than_asked_as_text_and_as_json() {
    let scratch = project();
    let odd = "é\"\\\u{7}\n漢字 ";
    let mut lines = String::new();
    for n in 0..60 {
        let (kind, about) = if n % 2 == 0 {
            ("guardrail", "sign")
        } else {
            ("learning", "rudder pintle")
        };
        let content = format!("{about} {n} {}", odd.repeat(n * 7 % 90));
        let line = json!({"id": format!("m{n}"), "kind": kind, "title": format!("{about} {n}"), "content": content});
        lines.push_str(&format!("{line}\n"));
    }
    assert_eq!(
        scratch
            .fed(&["learn", "import", "-"], lines.as_bytes())
            .exit,
        0
    );
    for n in 0..12 {
        fine(
            &scratch,
            &[
                "record",
                "rudder",
                "--outcome",
                "failed",
                "--error",
                &odd.repeat(n * 9),
            ],
        );
    }
    let mut left_out = Vec::new();
    for max in (200..=4_000).step_by(190).chain([201, 333, 4_000]) {
        let asked = max.to_string();
        let args = ["prepare", "rudder", "--max-tokens", &asked];
        let text = scratch.piton(&args).out;
        assert!(tokens(&text) <= max, "{} of {max}", tokens(&text));
        let as_json = scratch.piton(&[&args[..], &["--json"]].concat()).out;
        assert!(
            tokens(&as_json) <= max,
            "{} of {max} as JSON",
            tokens(&as_json)
        );
        let value: Value = serde_json::from_str(&as_json).expect("JSON");
        left_out.push(value["left_out"].as_u64().expect("a count"));
    }
    assert!(
        left_out.iter().all(|count| *count > 0),
        "there was more: {left_out:?}"
    );
    assert!(
        left_out[0] > left_out[20],
        "more room, more told: {left_out:?}"
    );
}

#[test]
fn below_the_least_length_the_item_is_named_all_the_same() {
    let scratch = Scratch::new();
    let long = "x".repeat(200);
    fine(&scratch, &["record", &long, "--summary", "done"]);
    let said = scratch.piton(&["prepare", &long, "--max-tokens", "0", "--json"]);
    assert_eq!(said.exit, 0, "{}", said.err);
    assert!(tokens(&said.out) <= 200, "{}", said.out);
    assert_eq!(
        scratch
            .piton(&["prepare", "x", "--max-tokens", "many"])
            .exit,
        2
    );
}
