//! The guide is typed line by line, and compared with what is answered.

use std::process::Stdio;

use crate::harness::{Said, Scratch};

/// What is typed, and what the page says that is answered.
struct Step {
    typed: String,
    answer: String,
}

/// The steps in the `text` blocks of a page: `$ ` begins what is typed, a
/// backslash at the end goes on in the next line.
fn steps(page: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut inside = false;
    let mut goes_on = false;
    for line in page.lines() {
        if line.starts_with("```") {
            inside = line == "```text";
            continue;
        }
        if !inside {
            continue;
        }
        let begun = line.strip_prefix("$ ");
        if let (Some(typed), false) = (begun, goes_on) {
            steps.push(Step {
                typed: typed.to_owned(),
                answer: String::new(),
            });
        } else if let Some(step) = steps.last_mut() {
            let into = if goes_on {
                &mut step.typed
            } else {
                &mut step.answer
            };
            into.push('\n');
            into.push_str(line);
        }
        goes_on = (goes_on || begun.is_some()) && line.ends_with('\\');
    }
    steps
}

/// Types a line into a shell.
fn typed(scratch: &Scratch, line: &str) -> Said {
    scratch.write("line.sh", &format!("exec 2>&1\n{line}\n"));
    let mut command = scratch.shell("line.sh");
    let folder = std::path::Path::new(env!("CARGO_BIN_EXE_piton")).parent();
    let path = format!(
        "{}:{}",
        folder.expect("a program is in a folder").display(),
        std::env::var("PATH").unwrap_or_default()
    );
    let command = command
        .env("PATH", path)
        .env("PITON_TEST_CLOCK", "2026-01-15T09:00:00Z")
        // What has to be trusted is trusted on the page.
        .env_remove("PITON_TEST_TRUST")
        .env("XDG_STATE_HOME", scratch.path().join(".git/state"))
        .stdin(Stdio::null());
    Said::of(&command.output().expect("a shell starts"))
}

#[track_caller]
fn check(scratch: &Scratch, page: &str) {
    let path = format!("{}/../../docs/guide/{page}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).expect("the page is there");
    let steps = steps(&text);
    assert!(!steps.is_empty(), "{page} has nothing to type");
    for step in steps {
        let said = typed(scratch, &step.typed);
        let root = scratch.path().to_string_lossy().into_owned();
        let answer = said.out.replace(&root, "/home/ada/shop");
        assert_eq!(answer.trim(), step.answer.trim(), "$ {}", step.typed);
    }
}

#[test]
fn recording_is_as_the_guide_says() {
    let scratch = Scratch::new();
    std::fs::write(scratch.path().join("login.png"), b"\x89PNG\r\n\x1a\n").expect("written");
    check(&scratch, "recording.md");
}

#[test]
fn the_memory_is_as_the_guide_says() {
    let scratch = Scratch::new();
    scratch
        .write("src/schema.rs", "")
        .write(
            "sprints/lots/SPRINT.yaml",
            "workflow: main\nsprint-id: 2026-01-15_lots\ncollections: {step: [{prompt: unused}]}\n\
             retry: {maxAttempts: 1, backoffMs: [10], retryOn: [logic]}\n",
        )
        .write(
            ".claude/workflows/main.yaml",
            "name: main\nschema-version: \"2.0\"\nphases:\n  - {id: import, prompt: import the lots}\n",
        )
        .agent(
            "n=1; while [ -e prompt-$n ]; do n=$((n + 1)); done\ncat >prompt-$n\n\
             if [ $n = 1 ]; then echo 'error: no file schema.rs'; exit 1; fi\necho 'imported 3 lots'",
        );
    let carrier = "The carrier takes parcels of at most 30 kg: split what weighs more";
    scratch.write(
        "lots.jsonl",
        &format!(
            "{{\"id\": \"m-1\", \"kind\": \"learning\", \"type\": \"api-convention\", \
             \"content\": \"{carrier}\", \"created_at\": \"2026-01-02T10:00:00Z\"}}\n\
             {{\"id\": \"m-2\", \"kind\": \"learning\", \"content\": \"The carrier takes 25 kg\", \
             \"superseded_by\": \"m-1\"}}\n"
        ),
    );
    check(&scratch, "memory.md");
}

#[test]
fn items_are_as_the_guide_says() {
    let scratch = Scratch::new();
    scratch.agent("cat >/dev/null; test -e hello && touch bonjour; touch hello");
    check(&scratch, "items.md");
}
