//! Signs that a person edits or deletes in `guardrails.md`.

use crate::harness::Scratch;

const FILE: &str = ".ralph/guardrails.md";
const SIGNS: &str = "# Ralph Guardrails (Signs)\n\n## Core Signs\n\n### Sign: Read First\n- **Trigger**: Before an edit\n- **Instruction**: Read it\n- **Added after**: Core principle\n\n### Sign: Test After\n- **Trigger**: After an edit\n- **Instruction**: Run the tests\n- **Added after**: Core principle\n";

fn project() -> Scratch {
    let scratch = Scratch::new();
    scratch.write(FILE, SIGNS);
    assert_eq!(scratch.piton(&["init", "--yes"]).exit, 0);
    scratch.git(&["add", "-A"]);
    scratch.git(&["commit", "-qm", "signs"]);
    scratch
}

fn questions(scratch: &Scratch) -> usize {
    scratch.json(&["inbox"]).as_array().map_or(0, Vec::len)
}

fn without_second(text: &str) -> String {
    let at = text.find("\n### Sign: Test After").expect("the second");
    // Something stands behind it, so that the file is not only cut short.
    format!("{}\nMore to come.\n", &text[..at])
}

#[test]
fn a_sign_that_a_person_edits_holds_as_it_was_written() {
    let scratch = project();
    let edited = scratch
        .read(FILE)
        .replace("Run the tests", "Run every test");
    scratch.write(FILE, &edited);
    assert_eq!(scratch.piton(&["files", "sync"]).exit, 0);
    assert_eq!(questions(&scratch), 0);
    assert_eq!(scratch.piton(&["session", "focus", "x"]).exit, 0);
    assert_eq!(scratch.read(FILE), edited);
}

#[test]
fn a_sign_that_a_person_deletes_is_retired_and_does_not_come_back() {
    let scratch = project();
    let without = without_second(&scratch.read(FILE));
    scratch.write(FILE, &without);
    for _ in 0..2 {
        assert_eq!(scratch.piton(&["files", "sync"]).exit, 0);
        assert_eq!(scratch.piton(&["session", "focus", "x"]).exit, 0);
    }
    assert_eq!(questions(&scratch), 0);
    assert_eq!(scratch.read(FILE), without);
}

#[test]
fn a_file_without_any_sign_is_one_question() {
    let scratch = project();
    scratch.write(FILE, "# Ralph Guardrails (Signs)\n\nNone.\n");
    for _ in 0..2 {
        assert_eq!(scratch.piton(&["files", "sync"]).exit, 3);
        assert_eq!(questions(&scratch), 1);
    }
}

#[test]
fn the_last_sign_that_a_person_deletes_is_asked_about_until_it_is_committed() {
    let scratch = project();
    let text = scratch.read(FILE);
    let at = text.find("\n### Sign: Test After").expect("the second");
    let without = &text[..at];
    scratch.write(FILE, without);
    assert_eq!(scratch.piton(&["files", "sync"]).exit, 3);
    assert_eq!(questions(&scratch), 1);
    assert_eq!(scratch.read(FILE), without);
    scratch.git(&["commit", "-qam", "one sign is enough"]);
    assert_eq!(scratch.piton(&["files", "sync"]).exit, 0);
    assert_eq!(questions(&scratch), 0);
    assert_eq!(scratch.piton(&["session", "focus", "x"]).exit, 0);
    assert_eq!(scratch.read(FILE), without);
    let signs = scratch.json(&["learn", "list", "--kind", "guardrail"]);
    assert_eq!(signs.as_array().map(Vec::len), Some(1), "{signs}");
}

#[test]
fn a_question_about_every_sign_does_not_answer_itself() {
    let scratch = project();
    let none = "# Ralph Guardrails (Signs)\n\nNone.\n";
    scratch.write(FILE, none);
    assert_eq!(scratch.piton(&["files", "sync"]).exit, 3);
    let add = [
        "learn",
        "add",
        "Never push to main",
        "--kind",
        "guardrail",
        "--title",
        "Stay Local",
        "--trigger",
        "Before a push",
    ];
    assert_eq!(scratch.piton(&add).exit, 0);
    for _ in 0..2 {
        assert_eq!(scratch.piton(&["files", "sync"]).exit, 3);
        assert_eq!(questions(&scratch), 1);
        let signs = scratch.json(&["learn", "list", "--kind", "guardrail"]);
        assert_eq!(signs.as_array().map(Vec::len), Some(3), "{signs}");
    }
    assert_eq!(scratch.piton(&["decide", "d1", "keep-piton"]).exit, 0);
    let text = scratch.read(FILE);
    for sign in ["Read First", "Test After", "Stay Local"] {
        assert!(text.contains(sign), "{text}");
    }
}

#[test]
fn a_sign_beside_one_that_is_edited_is_not_missing() {
    let scratch = Scratch::new();
    let sign = |name: &str| {
        format!("\n### Sign: {name}\n- **Trigger**: when {name}\n- **Instruction**: do {name}\n")
    };
    let text = format!("# Guardrails\n{}{}", sign("A"), sign("B"));
    scratch.write(".ralph/guardrails.md", &text);
    assert_eq!(scratch.piton(&["init", "--yes"]).exit, 0);
    scratch.write(".ralph/guardrails.md", &text.replace("do B", "do it"));
    let said = scratch.piton(&["files", "sync"]);
    assert!(said.err.contains("took 1 thing in"), "{}", said.err);
    assert!(!said.err.contains("lacks"), "{}", said.err);
}
