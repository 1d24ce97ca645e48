//! Files of the project that git tracks, while a run is worked on in lanes: they stay
//! as they are in the main work tree, and what the run adds to them lands with it.

use crate::harness::{DEMO, Running, Said, Scratch};

const TARGET: &str = "piton/prd";

const AGENT: &str = "cat >/dev/null
[ ! -e $PITON_PROJECT/.piton/blocks-$PITON_ITEM ] || { echo '{\"status\": \"blocked\", \"error\": \"no\"}'; exit; }
echo made >$PITON_ITEM.txt
echo '<observation type=\"finding\">The parser of '$PITON_ITEM' needs its lock before two threads use it.</observation>'
echo '{\"status\": \"completed\", \"summary\": \"did it\"}'";

const LIST: &str = r#"{"project": "side", "userStories": [
  {"id": "US-001", "title": "One", "passes": false},
  {"id": "US-002", "title": "Two", "passes": false}
]}
"#;

const GUARDRAILS: &str = "# Ralph Guardrails (Signs)\n\n## Core Signs\n\n### Sign: Read first\n- **Trigger**: always\n- **Instruction**: read\n- **Added after**: core\n";

/// The files that piton keeps here, all of them tracked.
const FILES: [&str; 5] = [
    ".ralph/guardrails.md",
    ".ralph/progress.md",
    ".ralph/progress.json",
    ".agent-os/progress/progress.json",
    ".agent-os/progress/progress.md",
];

const RUN: [&str; 6] = ["run", "prd.json", "--agent", "./agent.sh", "--workers", "2"];

fn project() -> Scratch {
    let scratch = Scratch::new();
    scratch.agent(AGENT);
    scratch.write(".ralph/guardrails.md", GUARDRAILS);
    scratch.write(
        ".ralph/progress.md",
        "# Progress Log\n\n## Session History\n",
    );
    scratch.write("prd.json", LIST);
    let with = ["ralph-dir", "ralph-json", "agent-os"].map(|with| ["--with", with]);
    fine(&scratch.piton(&[&["init", "--yes"], with.as_flattened()].concat()));
    fine(&scratch.piton(&[
        "log",
        "milestone_reached",
        "--description",
        "before the run",
    ]));
    scratch.write(".gitignore", ".piton/\n");
    scratch.git(&[
        "add",
        "--all",
        "--force",
        ".ralph",
        ".agent-os",
        "agent.sh",
        "prd.json",
    ]);
    scratch.git(&["add", ".gitignore"]);
    scratch.git(&["commit", "-qm", "begin"]);
    for file in FILES {
        assert!(scratch.has(file), "{file}");
    }
    is_clean(&scratch);
    scratch
}

#[track_caller]
fn fine(said: &Said) {
    assert_eq!(said.exit, 0, "{}{}", said.out, said.err);
}

#[track_caller]
fn is_clean(scratch: &Scratch) {
    let args = ["status", "--porcelain", "--untracked-files=no"];
    let changed = scratch.git(&args);
    assert_eq!(changed, "", "{}", scratch.git(&["diff"]));
}

fn on_target(scratch: &Scratch, file: &str) -> String {
    scratch.git(&["show", &format!("{TARGET}:{file}")])
}

fn count(text: &str, words: &str) -> usize {
    text.matches(words).count()
}

/// The subject of the last commit on the target.
fn last_subject(scratch: &Scratch) -> String {
    scratch.git(&["log", "-1", "--format=%s", TARGET])
}

#[track_caller]
fn all_landed(scratch: &Scratch) {
    assert_eq!(
        scratch.git(&["rev-parse", "main"]),
        scratch.git(&["rev-parse", TARGET])
    );
    is_clean(scratch);
    // Nothing is written a second time, and nothing is asked.
    fine(&scratch.piton(&["files", "sync"]));
    is_clean(scratch);
    assert_eq!(scratch.json_list(&["inbox"]), serde_json::json!([]));
    let text = scratch.read(".ralph/progress.md");
    for item in ["US-001", "US-002"] {
        assert_eq!(count(&text, &format!("{item} - did it")), 1, "{text}");
    }
    fine(&scratch.piton(&["journal", "verify"]));
}

#[test]
fn what_a_run_adds_to_tracked_files_lands_with_it() {
    let scratch = project();
    let said = scratch.piton(&RUN);
    fine(&said);
    assert!(said.err.contains("landed: main is at"), "{}", said.err);
    assert_eq!(last_subject(&scratch), "Record the progress of prd\n");
    let log = on_target(&scratch, ".agent-os/progress/progress.json");
    assert!(log.contains("US-001") && log.contains("US-002"), "{log}");
    let page = on_target(&scratch, ".agent-os/progress/progress.md");
    assert!(page.contains("US-001"), "{page}");
    all_landed(&scratch);
}

#[test]
fn until_it_lands_they_show_what_happens_in_the_main_work_tree_alone() {
    let scratch = project();
    scratch.write(".piton/blocks-US-002", "");
    assert_ne!(scratch.piton(&RUN).exit, 0);
    is_clean(&scratch);
    assert!(on_target(&scratch, ".ralph/progress.md").contains("US-001 - did it"));
    fine(&scratch.piton(&["log", "milestone_reached", "--description", "of a person"]));
    let diff = scratch.git(&["diff", ".agent-os/progress/progress.json"]);
    assert!(
        diff.contains("of a person") && !diff.contains("US-001"),
        "{diff}"
    );
    scratch.git(&["commit", "-qam", "mine"]);
    std::fs::remove_file(scratch.path().join(".piton/blocks-US-002")).expect("it is there");
    fine(&scratch.piton(&["plan", "retry", "US-002"]));
    is_clean(&scratch);
    fine(&scratch.piton(&RUN));
    is_clean(&scratch);
    let text = on_target(&scratch, ".ralph/progress.md");
    assert_eq!(count(&text, "US-001 - did it"), 1, "{text}");
    assert_eq!(count(&text, "US-002 - did it"), 1, "{text}");
    assert!(!text.contains("of a person"), "{text}");
}

#[test]
fn a_further_invocation_adds_what_is_new_and_nothing_twice() {
    let scratch = project();
    scratch.write(".piton/blocks-US-002", "");
    assert_ne!(scratch.piton(&RUN).exit, 0);
    fine(&scratch.piton(&["land", "prd"]));
    is_clean(&scratch);
    std::fs::remove_file(scratch.path().join(".piton/blocks-US-002")).expect("it is there");
    fine(&scratch.piton(&["plan", "retry", "US-002"]));
    let said = scratch.piton(&RUN);
    fine(&said);
    assert!(said.err.contains("landed: main is at"), "{}", said.err);
    all_landed(&scratch);
}

#[test]
fn a_death_at_the_end_leaves_it_to_the_next_command() {
    for point in [
        "run.over",
        "run.released",
        "target.files-made",
        "target.files-moved",
    ] {
        let scratch = project();
        let mut command = scratch.command(&RUN);
        command.env("PITON_FAILPOINT", point);
        let died = Running::start(command).end();
        assert_eq!(died.exit, -1, "{point}: {}", died.err);
        is_clean(&scratch);
        let said = scratch.piton(&RUN);
        assert_eq!(said.exit, 0, "{point}: {}", said.err);
        all_landed(&scratch);
    }
}

#[test]
fn a_sprint_that_git_tracks_lands_as_completed() {
    let scratch = Scratch::new();
    scratch.agent(&AGENT.replace("US-", "p-"));
    scratch.sprint("  - id: one\n    prompt: Do one.\n  - id: two\n    prompt: Do two.\n");
    fine(&scratch.piton(&["plan", "compile", "demo"]));
    scratch.write(".gitignore", ".piton/\n");
    scratch.git(&["add", "--all"]);
    scratch.git(&["commit", "-qm", "begin"]);
    let args = ["run", "demo", "--agent", "./agent.sh", "--workers", "2"];
    let said = scratch.piton(&args);
    fine(&said);
    assert!(said.err.contains("landed: main is at"), "{}", said.err);
    is_clean(&scratch);
    let said = scratch.piton(&["files", "sync"]);
    fine(&said);
    let shown = format!("{}{}", said.out, said.err);
    assert!(!shown.contains("was changed"), "{shown}");
    is_clean(&scratch);
    let text = scratch.read("demo/PROGRESS.yaml");
    assert!(text.contains("\nstatus: completed\n"), "{DEMO}: {text}");
    assert_eq!(scratch.json_list(&["inbox"]), serde_json::json!([]));
}
