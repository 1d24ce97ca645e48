//! A run goes on as it was begun.

use crate::harness::{DEMO, Scratch};

const PHASES: &str =
    "  - id: a\n    prompt: a\n  - id: b\n    prompt: b\n  - id: c\n    prompt: c\n";

fn begun(more: &[&str]) -> Scratch {
    let scratch = Scratch::new();
    scratch.sprint(PHASES).agent("echo done");
    let said = scratch.run(&[&["--max-iterations", "1"], more].concat());
    assert_eq!(said.exit, 5, "{}", said.err);
    scratch
}

#[test]
fn a_run_goes_on_with_the_flags_it_was_begun_with() {
    let scratch = begun(&["--model", "large", "--ignore", "worktree"]);
    let flags = &scratch.json(&["status", DEMO])["run"]["flags"];
    assert_eq!(
        *flags,
        serde_json::json!({
            "agent": "./agent.sh",
            "model": "large",
            "verdict": "exit-status",
            "ignore": ["worktree"],
            "limits": {"iterations_max": 1},
        })
    );
    // The limit counts anew.
    let said = scratch.piton(&["run", DEMO]);
    assert_eq!(said.exit, 5, "{}", said.err);
    assert!(
        said.err.contains(
            "as before, with --agent ./agent.sh --model large --verdict exit-status --max-iterations 1 --ignore worktree"
        ),
        "{}",
        said.err
    );
    // One that is given now wins, and is what is remembered from then on.
    let said = scratch.piton(&["run", "demo", "--max-iterations", "9"]);
    assert_eq!(said.exit, 0, "{}", said.err);
    let flags = &scratch.json(&["status", DEMO])["run"]["flags"];
    assert_eq!(flags["limits"]["iterations_max"], 9);
    assert_eq!(flags["agent"], "./agent.sh");
}

#[test]
fn only_flags_that_say_how_to_work_are_remembered() {
    let scratch = Scratch::new();
    scratch.sprint(PHASES).agent("echo done");
    assert_eq!(scratch.run(&["--once", "--stop-on-failure"]).exit, 5);
    let said = scratch.piton(&["run", DEMO]);
    assert_eq!(said.exit, 0, "{}", said.err);
    assert!(
        said.err
            .contains("as before, with --agent ./agent.sh --verdict exit-status\n"),
        "{}",
        said.err
    );
    let limits = &scratch.json(&["status", DEMO])["run"]["flags"]["limits"];
    assert!(limits.is_null(), "{limits}");
}

#[test]
fn a_run_that_takes_the_place_of_another_begins_with_its_flags() {
    let scratch = begun(&[]);
    let said = scratch.piton(&["run", "demo", "--recompile"]);
    assert_eq!(said.exit, 5, "{}", said.err);
    let flags = &scratch.json(&["status", &format!("{DEMO}~2")])["run"]["flags"];
    assert_eq!(flags["agent"], "./agent.sh");
}

#[test]
fn a_folder_of_workflows_is_found_again_from_another_folder() {
    let scratch = Scratch::new();
    scratch.sprint(PHASES).agent("echo done");
    std::fs::create_dir(scratch.path().join("other")).expect("made");
    std::fs::rename(
        scratch.path().join(".claude/workflows"),
        scratch.path().join("flows"),
    )
    .expect("moved");
    let said = scratch.run(&["--workflows", "flows"]);
    assert_eq!(said.exit, 0, "{}", said.err);
    let mut again = scratch.command_in("other", &["run", "../demo", "--recompile"]);
    let said = crate::harness::Said::of(&again.output().expect("piton starts"));
    assert_eq!(said.exit, 0, "{}", said.err);
}

#[test]
fn a_command_with_a_secret_is_not_remembered() {
    let scratch = Scratch::new();
    scratch.sprint(PHASES);
    let key = format!("sk-ant-api03-{}", "a1B2c3D4".repeat(8));
    let command = format!("sh:KEY={key}; echo done");
    let flags = ["--verdict", "exit-status", "--once"];
    let said = scratch.piton(&[&["run", "demo", "--agent", &command], &flags[..]].concat());
    assert_eq!(said.exit, 5, "{}", said.err);
    let flags = &scratch.json(&["status", DEMO])["run"]["flags"];
    assert_eq!(*flags, serde_json::json!({"verdict": "exit-status"}));
    let said = scratch.piton(&["run", DEMO]);
    assert_eq!(said.exit, 2, "{}", said.err);
    assert!(said.err.contains("[agent.missing]"), "{}", said.err);
}
