//! Rules as real files write them: each is taken once, in its own form, and
//! what cannot be taken is not lost.

use piton_core::command::ImportedRecord;
use piton_core::memory::{Memory, MemoryRow};
use piton_formats::native_file::{FileContext, ShownRow};
use piton_formats::ralph_dir::SourceText;
use piton_formats::ralph_dir::guardrails::{Guardrails, RuleForm, parse_guardrails, resolve_sign};
use piton_formats::ralph_dir::native_files::guardrails_md;
use serde_json::json;

static UTC: jiff::tz::TimeZone = jiff::tz::TimeZone::UTC;

fn about() -> FileContext<'static> {
    FileContext {
        file: "g",
        project: "yard",
        now: "2026-01-15T10:30:00Z".parse().unwrap(),
        zone: &UTC,
        iteration: None,
        is_part: false,
    }
}

fn rules(text: &str) -> Guardrails {
    parse_guardrails(SourceText { name: "g", text }).0
}

fn taken(text: &str) -> Vec<Memory> {
    let took = guardrails_md::import_changes(text, None, &about());
    assert!(took.is_readable());
    let memories = took.found.into_iter().map(|found| match found {
        ImportedRecord::Memory(memory) => *memory,
        ImportedRecord::Retired(_)
        | ImportedRecord::Removed(_)
        | ImportedRecord::Entry(_)
        | ImportedRecord::Attempt(_) => {
            panic!("{found:?}")
        }
    });
    memories.collect()
}

/// `context: content` of each rule.
fn told(text: &str) -> Vec<String> {
    let words = |memory: Memory| match memory.context {
        Some(context) => format!("{context}: {}", memory.content),
        None => memory.content,
    };
    taken(text).into_iter().map(words).collect()
}

fn row(memory: &Memory, retired: bool) -> MemoryRow {
    let mut row = serde_json::to_value(memory).unwrap();
    row["id"] = json!("sign-0001");
    row["number"] = json!(1);
    row["position"] = json!(1);
    row["added_at"] = json!("2026-01-15T10:30:00Z");
    row["by"] = json!("ada");
    if retired {
        row["retired"] =
            json!({"at": "2026-01-16T10:30:00Z", "by": "ada", "why": "fixed (at last)"});
    }
    serde_json::from_value(row).unwrap()
}

#[track_caller]
fn check(text: &str, expect: &[&str]) {
    for text in [
        text.to_owned(),
        text.replace('\n', "\r\n"),
        text.trim_end().to_owned(),
    ] {
        assert_eq!(told(&text), expect, "{text}");
        assert_eq!(rules(&text).unread, [], "{text}");
    }
}

#[test]
fn a_heading_with_fields_of_a_sign_is_a_rule() {
    check(
        "# Guardrails\n\n### G1: Look first\n- **Trigger**: Before a cut\n- **Instruction**: Measure\n\n\
         ### G2: No hurry\n**When:** always\n**Do:** slowly\n",
        &["Before a cut: Measure", "always: slowly"],
    );
    check(
        "# Signs\n\n### SIGN-001:\n- **Pattern**: a short plank\n- **Fix**: measure twice\n\n\
         ### SIGN-002: Glue\nPattern: glue runs\nFix: wait an hour\n  and then another\n\n\
         ## SIGN-003\n- Pattern: none holds\n- Fix: ask\n",
        &[
            "a short plank: measure twice",
            "glue runs: wait an hour\nand then another",
            "none holds: ask",
        ],
    );
}

#[test]
fn a_heading_with_a_number_of_its_own_is_a_rule_in_free_words() {
    check(
        "# Guardrails\n\n### RULE-7: Never push\nIt deploys.\n\n```sh\n# not a heading\ngit push\n```\n\n\
         ### G2 - Ask first\n",
        &[
            "It deploys.\n\n```sh\n# not a heading\ngit push\n```",
            "G2 - Ask first",
        ],
    );
}

#[test]
fn each_plain_line_below_a_heading_is_a_rule() {
    check(
        "# Rules\n\n- Never push\n- Ask first\n",
        &["Never push", "Ask first"],
    );
    check(
        "# Rules\n\nNever push\nAsk first\n\nRun `make`.\n",
        &["Never push", "Ask first", "Run `make`."],
    );
    check(
        "## Rules\n1. Never push\n2. [ ] Ask first\n\n* Sleep\n",
        &["Never push", "Ask first", "Sleep"],
    );
    check("Never push\n", &["Never push"]);
    check(
        "# Guardrails\n\n## Database\n\n- Never drop a table\n  - nor a view\n\n## Learned Signs\n\n- Ask\n",
        &["Database: Never drop a table\n- nor a view", "Ask"],
    );
    // A sentence that is wrapped is one rule.
    check(
        "## Rules\nNever drop a table\nthat somebody may need.\n",
        &["Never drop a table that somebody may need."],
    );
    // Code goes with the rule above it.
    check(
        "## Rules\n\nUse the wrapper:\n\n```sh\nmake it\n```\n",
        &["Use the wrapper:\n```sh\nmake it\n```"],
    );
}

#[test]
fn words_about_the_file_are_no_rules() {
    check(
        "# Ralph Guardrails (Signs)\n\n> Lessons learned from past failures. READ THESE BEFORE ACTING.\n\n\
         ## Core Signs\n\nKeep to these:\n\n- Look\n\n---\n\n## Learned Signs\n\n(Signs will appear below)\n\n\
         ## Active Guardrails\n\n*No guardrails yet*\n- None\n<!-- a comment -->\n",
        &["Look"],
    );
}

#[test]
fn what_is_no_rule_is_kept_with_its_line() {
    let text = "# Guardrails\n\n> Never touch production.\n\n## Limits\n\n| a | b |\n|---|---|\n\n\
                ```\ncode\n```\n\n## Mixed\n\nThis always holds.\n\n- One\n\n### Never by night\n";
    let guardrails = rules(text);
    let unread: Vec<(u32, &str)> = guardrails
        .unread
        .iter()
        .map(|unread| (unread.line, unread.text.as_str()))
        .collect();
    assert_eq!(
        unread,
        [
            (3, "> Never touch production."),
            (7, "| a | b |\n|---|---|"),
            (10, "```\ncode\n```"),
            (16, "This always holds."),
            (20, "### Never by night"),
        ]
    );
    assert_eq!(told(text), ["Mixed: One"]);
}

#[test]
fn a_rule_that_is_known_is_not_written_again() {
    let text = "# Rules\n\n- Never push\nand never pull\n\n### G1: Look\n- **Trigger**: a\n- **Instruction**: b\n";
    let rows: Vec<MemoryRow> = taken(text)
        .iter()
        .map(|memory| row(memory, false))
        .collect();
    let shown: Vec<ShownRow<'_>> = rows.iter().map(ShownRow::Memory).collect();
    assert_eq!(
        guardrails_md::render_rows(Some(text), &shown, &about()).unwrap(),
        text
    );
    // One whose line is gone is not made a sign of.
    let without = "# Rules\n";
    let line = [ShownRow::Memory(&rows[0])];
    assert_eq!(
        guardrails_md::render_rows(Some(without), &line, &about()).unwrap(),
        without
    );
}

#[test]
fn a_line_is_resolved_where_signs_are_and_says_why() {
    for (text, name, expect) in [
        (
            "# Rules\n\n- Never push\n- Ask\n",
            "Never push",
            "# Rules\n\n- Ask\n\n## Resolved Guardrails\n\n- Never push (resolved 2026-01-16 - fixed (at last))\n",
        ),
        (
            "# Rules\n\nNever push\nAsk\n\n## Resolved Guardrails\n\n### Sign: Old\n- **Instruction**: x\n",
            "Ask",
            "# Rules\n\nNever push\n## Resolved Guardrails\n\n- Ask (resolved 2026-01-16 - fixed (at last))\n\n### Sign: Old\n- **Instruction**: x\n",
        ),
    ] {
        let memory = taken_named(text, name);
        let row = row(&memory, true);
        let shown =
            guardrails_md::render_rows(Some(text), &[ShownRow::Memory(&row)], &about()).unwrap();
        assert_eq!(shown, expect);
        let after = rules(&shown);
        let sign = after.find_sign(name).unwrap();
        assert!(sign.resolved && sign.form == RuleForm::Line);
        assert_eq!(
            guardrails_md::render_rows(Some(&shown), &[ShownRow::Memory(&row)], &about()).unwrap(),
            shown
        );
    }
}

fn taken_named(text: &str, name: &str) -> Memory {
    let found = guardrails_md::import_changes(text, None, &about())
        .found
        .into_iter();
    let mut memories = found.filter_map(|found| match found {
        ImportedRecord::Memory(memory) => Some(*memory),
        ImportedRecord::Retired(_)
        | ImportedRecord::Removed(_)
        | ImportedRecord::Entry(_)
        | ImportedRecord::Attempt(_) => None,
    });
    memories
        .find(|memory| memory.title.as_deref() == Some(name))
        .unwrap()
}

#[test]
fn a_titled_rule_is_resolved_with_every_byte() {
    let text =
        "# Rules\n\n### G1: Look\n- **Pattern**: a\n- **Fix**: b\n\n### G2: Ask\n- **Fix**: c\n";
    let new = resolve_sign(text, "G1: Look", "no more", "2026-01-16").unwrap();
    assert!(new.contains(
        "### G1: Look\n- **Pattern**: a\n- **Fix**: b\n- **Resolved**: 2026-01-16 - no more\n"
    ));
    let after = rules(&new);
    assert!(after.find_sign("G1: Look").unwrap().resolved);
    assert!(!after.find_sign("G2: Ask").unwrap().resolved);
}
