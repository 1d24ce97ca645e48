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
    scratch.json_list(&["inbox"]).as_array().map_or(0, Vec::len)
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
fn a_sign_that_comes_back_into_the_file_is_followed_again() {
    let scratch = project();
    let with = scratch.read(FILE);
    scratch.write(FILE, &without_second(&with));
    assert_eq!(scratch.piton(&["files", "sync"]).exit, 0);
    let signs = || scratch.json_list(&["learn", "list", "--kind", "guardrail"]);
    assert_eq!(signs().as_array().map(Vec::len), Some(1), "{}", signs());
    scratch.write(FILE, &format!("{with}\nMore to come.\n"));
    for _ in 0..2 {
        let said = scratch.piton(&["files", "sync"]);
        assert_eq!(said.exit, 0, "{}", said.err);
        assert_eq!(questions(&scratch), 0);
        assert_eq!(signs().as_array().map(Vec::len), Some(2), "{}", signs());
        assert_eq!(scratch.read(FILE), format!("{with}\nMore to come.\n"));
    }
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
    let signs = scratch.json_list(&["learn", "list", "--kind", "guardrail"]);
    assert_eq!(signs.as_array().map(Vec::len), Some(1), "{signs}");
}

/// Whoever changes another part of the file says nothing of what is asked about.
#[test]
fn what_an_agent_did_to_a_sign_stays_asked_about_when_a_person_edits_another_one() {
    for verb in ["keep-file", "keep-piton", "merge"] {
        let scratch = project();
        let third =
            "\n### Sign: Stay Local\n- **Trigger**: Before a push\n- **Instruction**: Ask\n";
        scratch.write(FILE, &format!("{}{third}", scratch.read(FILE)));
        assert_eq!(scratch.piton(&["files", "sync"]).exit, 0);
        scratch.write(
            "prd.json",
            r#"{"userStories": [{"id": "A", "title": "one"}]}"#,
        );
        scratch.agent(&format!(
            "cat >/dev/null; sed -i 's/Read it/Skip it/' {FILE}; echo x >made; echo done"
        ));
        let run = ["run", "prd.json", "--agent", "./agent.sh"];
        let said = scratch.piton(&[&run[..], &["--verdict", "exit-status"]].concat());
        assert_eq!(questions(&scratch), 1, "{}", said.err);
        let text = scratch.read(FILE);
        let (from, to) = ("\n### Sign: Test After", "\n### Sign: Stay Local");
        let (from, to) = (text.find(from), text.find(to));
        let (from, to) = from.zip(to).expect("both");
        let without = format!("{}{}", &text[..from], &text[to..]);
        scratch.write(FILE, &without);
        let said = scratch.piton(&["files", "sync"]);
        assert_eq!(said.exit, 3, "{}", said.err);
        assert!(said.err.contains("took 1 thing in"), "{}", said.err);
        let said = scratch.piton(&["files", "sync"]);
        assert!(!said.err.contains("took"), "{}", said.err);
        assert_eq!(questions(&scratch), 1);
        let signs = || scratch.json_list(&["learn", "list", "--kind", "guardrail"]);
        assert_eq!(signs().as_array().map(Vec::len), Some(2), "{}", signs());
        assert!(!signs().to_string().contains("Skip it"), "{}", signs());
        let id = scratch.json_list(&["inbox"])[0]["id"].clone();
        let said = scratch.piton(&["decide", id.as_str().expect("an id"), verb]);
        assert_eq!(said.exit, 0, "{}", said.err);
        assert_eq!(scratch.piton(&["files", "sync"]).exit, 0);
        let is_taken = verb == "keep-file";
        assert_eq!(
            signs().to_string().contains("Skip it"),
            is_taken,
            "{}",
            signs()
        );
        assert_eq!(signs().as_array().map(Vec::len), Some(2), "{}", signs());
        let text = scratch.read(FILE);
        // In piton's version it stands as one that is not followed any more.
        let followed = text.split("## Resolved").next();
        let is_gone = followed.is_some_and(|text| !text.contains("Test After"));
        assert!(is_gone, "{verb}: {text}");
        assert_eq!(
            text.contains("Test After"),
            verb == "keep-piton",
            "{verb}: {text}"
        );
        assert_eq!(text.contains("Skip it"), is_taken, "{verb}: {text}");
    }
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
        let signs = scratch.json_list(&["learn", "list", "--kind", "guardrail"]);
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
