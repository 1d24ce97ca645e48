//! What is worth knowing the next time: `learn`.

mod import;
mod upkeep;

use crate::harness::{Running, Scratch};

fn project() -> Scratch {
    let scratch = Scratch::new().with_fixed_clock();
    scratch.piton(&["log", "session_started"]);
    scratch
}

const SIGN: &[&str] = &[
    "learn",
    "add",
    "--kind",
    "guardrail",
    "--title",
    "Ask before a migration",
    "--trigger",
    "Before the schema is changed",
    "Write it down and ask first.",
];

#[test]
fn the_same_words_are_kept_once() {
    let scratch = project();
    let add = ["learn", "add", "Do run cargo fmt"];
    scratch.piton(&add);
    insta::assert_snapshot!(scratch.shows(&add), @r"
    known already, as learning-0001: Do run cargo fmt
    [exit 0]
    ");
    assert_eq!(
        scratch.json(&[&add[..], &["--type", "build-command"]].concat())["id"],
        "learning-0002"
    );
    scratch.piton(&["learn", "retire", "learning-0001"]);
    assert_eq!(
        scratch.json(&add)["id"],
        "learning-0003",
        "what was retired is no copy"
    );
}

#[test]
fn each_kind_is_added_listed_and_shown() {
    let scratch = project();
    insta::assert_snapshot!(scratch.shows(&["learn", "add", "--type", "build-command", "--item", "auth", "Run `make gen` first"]), @r"
    remembered learning-0001: Run `make gen` first
    [exit 0]
    ");
    insta::assert_snapshot!(scratch.shows(&["learn", "add", "--kind", "pattern", "--type", "error-handling", "--title", "Wrapped errors", "--example", "src/error.rs", "--confidence", "high", "--evidence", "three modules", "Errors carry a context"]), @r"
    remembered pattern-0001: Wrapped errors
    [exit 0]
    ");
    insta::assert_snapshot!(scratch.shows(SIGN), @r"
    remembered sign-0001: Ask before a migration
    [exit 0]
    ");
    insta::assert_snapshot!(scratch.shows(&["learn", "list"]), @r"
    learning-0001  build-command   Run `make gen` first
    pattern-0001   error-handling  Wrapped errors
    sign-0001                      Ask before a migration
    [exit 0]
    ");
    insta::assert_snapshot!(scratch.shows(&["learn", "show", "sign-0001"]), @r"
    sign-0001  guardrail
    Title: Ask before a migration
    Trigger: Before the schema is changed
    Added after: Session: 2026-01-15 - added by Ada
    Learned: 2026-01-15 09:00 UTC, by Ada
    Origin: added by `Ada` on 2026-01-15
    Trust: told

    Write it down and ask first.
    [exit 0]
    ");
    insta::assert_snapshot!(scratch.shows(&["learn", "show", "pattern-0001"]), @"
    pattern-0001  pattern (error-handling)
    Title: Wrapped errors
    Evidence: three modules
    Example: src/error.rs
    Confidence: high
    Learned: 2026-01-15 09:00 UTC, by Ada
    Origin: added by `Ada` on 2026-01-15
    Trust: told

    Errors carry a context
    [exit 0]
    ");
    let of = |args: &[&str]| {
        let found = scratch.json_list(&[&["learn", "list"], args].concat());
        let rows = found.as_array().expect("a list").clone();
        let ids = rows
            .iter()
            .map(|row| row["id"].as_str().expect("an id").to_owned());
        ids.collect::<Vec<_>>()
    };
    assert_eq!(of(&["--kind", "guardrail"]), ["sign-0001"]);
    assert_eq!(of(&["--type", "build-command"]), ["learning-0001"]);
    assert_eq!(of(&["--type", "test-pattern"]).len(), 0);
    assert_eq!(
        scratch.json(&["journal", "verify"])["damage"],
        serde_json::json!([])
    );
}

#[test]
fn a_learning_needs_no_type() {
    let scratch = Scratch::new();
    assert_eq!(scratch.piton(&["learn", "add", "Run `make gen`"]).exit, 0);
    let listed = scratch.json(&["learn", "list"]);
    assert_eq!(
        listed["memories"][0]["type"], "codebase-pattern",
        "{listed}"
    );
}

#[test]
fn what_is_missing_or_has_no_place_is_named() {
    let scratch = Scratch::new();
    insta::assert_snapshot!(scratch.shows(&["learn", "add"]), @r"
    error: a learning needs CONTENT [usage]
    hint: write `piton learn add CONTENT`, with `--type TYPE` where it is about something else than the code; the types are: codebase-pattern, build-command, test-pattern, api-convention, error-workaround, tool-usage, architecture-constraint, dependency-quirk
    [exit 2]
    ");
    insta::assert_snapshot!(scratch.shows(&["learn", "add", "--kind", "guardrail", "--title", " "]), @r"
    error: a guardrail needs --title, --trigger, CONTENT [usage]
    hint: write `piton learn add --kind guardrail --title NAME --trigger WHEN INSTRUCTION`
    [exit 2]
    ");
    insta::assert_snapshot!(scratch.shows(&["learn", "add", "--type", "nope", "x"]), @r"
    error: there is no type `nope` of learnings [usage]
    hint: the types of learnings are: codebase-pattern, build-command, test-pattern, api-convention, error-workaround, tool-usage, architecture-constraint, dependency-quirk
    [exit 2]
    ");
    insta::assert_snapshot!(scratch.shows(&["learn", "add", "--type", "tool-usage", "--example", "a", "x"]), @r"
    error: a learning has no --example [usage]
    hint: write `piton learn add CONTENT`, with `--type TYPE` where it is about something else than the code; the types are: codebase-pattern, build-command, test-pattern, api-convention, error-workaround, tool-usage, architecture-constraint, dependency-quirk
    [exit 2]
    ");
    let lines = [&SIGN[..5], &["two\nlines"], &SIGN[6..]].concat();
    insta::assert_snapshot!(scratch.shows(&lines), @r"
    error: the title has a line break or another control character [usage]
    hint: write the title in one line
    [exit 2]
    ");
    for args in [
        &["learn", "add", "--kind", "idea", "x"][..],
        &["learn", "list", "--type", "nope"],
        &[
            "learn",
            "list",
            "--kind",
            "guardrail",
            "--type",
            "tool-usage",
        ],
        &["learn", "show", "learning-0001"],
        &["learn", "retire", "learning-0001"],
        &[
            "learn",
            "add",
            "--kind",
            "guardrail",
            "--type",
            "tool-usage",
            "x",
        ],
    ] {
        assert_eq!(scratch.piton(args).exit, 2, "{args:?}");
    }
    assert!(!scratch.has(".piton"), "nothing was recorded");
}

#[test]
fn what_is_retired_stays_on_record_with_the_reason() {
    let scratch = project();
    scratch.piton(SIGN);
    insta::assert_snapshot!(scratch.shows(SIGN), @r"
    error: there is a guardrail `Ask before a migration` already: sign-0001 [memory.known]
    hint: read it with `piton learn list --kind guardrail`
    [exit 1]
    ");
    insta::assert_snapshot!(scratch.shows(&["learn", "retire", "sign-0001", "--why", "a tool does it"]), @r"
    retired sign-0001: Ask before a migration
    [exit 0]
    ");
    insta::assert_snapshot!(scratch.shows(&["learn", "retire", "sign-0001"]), @r"
    error: `sign-0001` is retired already [memory.retired]
    hint: see what is followed with `piton learn list`
    [exit 1]
    ");
    insta::assert_snapshot!(scratch.shows(&["learn", "list"]), @r"
    nothing of this is remembered
    [exit 0]
    ");
    insta::assert_snapshot!(scratch.shows(&["learn", "list", "--retired"]), @r"
    sign-0001  Ask before a migration  (retired)
    [exit 0]
    ");
    let text = scratch.shows(&["learn", "show", "sign-0001"]);
    assert!(
        text.contains("Retired: 2026-01-15 09:00 UTC, by Ada: a tool does it\n"),
        "{text}"
    );
    // Its title is free again, its id is not.
    assert_eq!(scratch.json(SIGN)["id"], "sign-0002");
}

#[test]
fn content_is_read_from_stdin_with_a_dash() {
    let scratch = project();
    let line = format!(
        "printf 'first\\nsecond\\n' | '{}' learn add --type tool-usage -",
        env!("CARGO_BIN_EXE_piton")
    );
    scratch.write("piped.sh", &line);
    assert_eq!(Running::start(scratch.shell("piped.sh")).end().exit, 0);
    let row = scratch.json(&["learn", "show", "learning-0001"]);
    assert_eq!(row["content"], "first\nsecond");
}

#[test]
fn ids_from_many_processes_at_once_are_all_different() {
    let scratch = Scratch::new();
    let writers: Vec<Running> = (0..8)
        .map(|n| {
            let text = n.to_string();
            Running::start(scratch.command(&["learn", "add", "--type", "tool-usage", &text]))
        })
        .collect();
    for writer in writers {
        let said = writer.end();
        assert_eq!(said.exit, 0, "{}", said.err);
    }
    let rows = scratch.json_list(&["learn", "list"]);
    let rows = rows.as_array().expect("a list");
    let ids: std::collections::BTreeSet<&str> =
        rows.iter().filter_map(|row| row["id"].as_str()).collect();
    assert_eq!(ids.len(), 8, "{ids:?}");
}
