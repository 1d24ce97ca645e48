//! What piton wrote into the files of a project is known again where only the
//! files are left: in another clone, or when `.piton/` is lost.

use std::fs;

use serde_json::{Value, json};

use crate::harness::{Said, Scratch};

const PROGRESS_MD: &str = ".ralph/progress.md";

#[track_caller]
fn fine(said: &Said) {
    assert_eq!(said.exit, 0, "{}{}", said.out, said.err);
}

/// A project that keeps files of these families, and what happened in it.
fn a_day(families: &[&str]) -> Scratch {
    let scratch = Scratch::new();
    let mut init = vec!["init", "--yes"];
    for family in families {
        init.extend(["--with", family]);
    }
    fine(&scratch.piton(&init));
    for args in [
        &["session", "start", "the", "keel", "--spec", "yard"][..],
        &[
            "record",
            "keel",
            "--summary",
            "Laid it",
            "--commit",
            "c0ffee1",
            "--file",
            "keel.rs",
            "--duration",
            "754",
        ],
        &[
            "log",
            "task_blocked",
            "--spec",
            "yard",
            "--task",
            "mast-1",
            "--description",
            "no pine: none",
        ],
        &[
            "log",
            "task_blocked",
            "--spec",
            "a spec, of two",
            "--task",
            "sail",
            "--description",
            "no cloth",
        ],
        &[
            "record",
            "oars",
            "--outcome",
            "blocked",
            "--summary",
            "no ash",
        ],
        &[
            "record",
            "tar",
            "--resolves",
            "oars",
            "--resolution",
            "bought some",
        ],
        &["log", "milestone_reached", "--description", "Afloat"],
        &[
            "learn",
            "add",
            "--kind",
            "guardrail",
            "--title",
            "Ask",
            "--trigger",
            "Before a cut",
            "Ask first.",
        ],
        &["learn", "add", "--type", "tool-usage", "Pine is soft."],
        &["session", "end", "night fell"],
    ] {
        fine(&scratch.piton(args));
    }
    scratch
}

/// Another clone, with the files of this one and without its journal.
fn clone(scratch: &Scratch) -> Scratch {
    let other = Scratch::new();
    for folder in [".ralph", ".agent-os/progress"] {
        let Ok(files) = fs::read_dir(scratch.path().join(folder)) else {
            continue;
        };
        for file in files {
            let name = file
                .expect("listed")
                .file_name()
                .into_string()
                .expect("UTF-8");
            let name = format!("{folder}/{name}");
            if scratch.path().join(&name).is_file() {
                other.write(&name, &scratch.read(&name));
            }
        }
    }
    fine(&other.piton(&["init", "--yes"]));
    other
}

/// What is known of the entries, by their names.
fn entries(scratch: &Scratch) -> Vec<String> {
    let recent = scratch.json(&["recent", "100"]);
    let entries = recent["entries"].as_array().expect("a list").iter();
    let said = |entry: &Value| {
        let of = |key: &str| entry[key].as_str().unwrap_or_default().to_owned();
        let second = of("timestamp").get(..19).unwrap_or_default().to_owned();
        let facts = [of("name"), second, of("type"), of("spec"), of("task_id")];
        facts.join(" | ")
    };
    let mut entries: Vec<String> = entries.map(said).collect();
    entries.sort();
    entries
}

fn blockers(scratch: &Scratch) -> Vec<String> {
    let recent = scratch.json(&["recent"]);
    let blockers = recent["unresolved_blockers"]
        .as_array()
        .expect("a list")
        .iter();
    let said = |entry: &Value| {
        format!(
            "{} {} {}",
            entry["spec"], entry["task_id"], entry["data"]["description"]
        )
    };
    blockers.map(said).collect()
}

#[test]
fn what_stands_in_the_files_of_one_clone_is_known_in_another() {
    for families in [
        &["ralph-dir"][..],
        &["agent-os"],
        &["ralph-dir", "agent-os", "ralph-json"],
    ] {
        let scratch = a_day(families);
        let other = clone(&scratch);
        assert_eq!(entries(&other), entries(&scratch), "{families:?}");
        assert_eq!(blockers(&other), blockers(&scratch), "{families:?}");
        assert_eq!(blockers(&other).len(), 2, "{families:?}");
        let started = other.piton(&["session", "start"]);
        assert!(
            started.err.contains("no cloth") || started.out.contains("no cloth"),
            "{}{}",
            started.out,
            started.err
        );
        // Each once: also when the files are looked at again.
        let known = entries(&other);
        for file in [PROGRESS_MD, ".agent-os/progress/progress.json"] {
            if other.has(file) {
                let text = other.read(file);
                other.write(file, &format!("{text}\n"));
            }
        }
        fine(&other.piton(&["files", "sync"]));
        assert_eq!(entries(&other), known, "{families:?}");
        assert_eq!(other.json(&["inbox"]).as_array().map_or(0, Vec::len), 0);
    }
}

#[test]
fn what_is_remembered_in_one_clone_is_known_in_another() {
    let scratch = a_day(&["ralph-dir", "ralph-json"]);
    let other = clone(&scratch);
    for text in ["Ask\n", "Pine is soft."] {
        let listed = other.piton(&["learn", "list"]);
        assert_eq!(listed.out.matches(text).count(), 1, "{}", listed.out);
    }
    let attempts = other.json(&["recent", "--item", "keel"]);
    assert!(attempts.to_string().contains("keel-1"), "{attempts}");
}

#[test]
fn a_journal_that_is_lost_is_filled_from_the_files() {
    let scratch = a_day(&["ralph-dir"]);
    let (known, blocked, text) = (
        entries(&scratch),
        blockers(&scratch),
        scratch.read(PROGRESS_MD),
    );
    fs::remove_dir_all(scratch.path().join(".piton")).expect("removed");
    fine(&scratch.piton(&["init", "--yes"]));
    assert_eq!(entries(&scratch), known);
    assert_eq!(blockers(&scratch), blocked);
    assert_eq!(scratch.read(PROGRESS_MD), text);
}

#[test]
fn what_another_clone_wrote_since_is_taken_when_its_file_comes() {
    let scratch = a_day(&["ralph-dir"]);
    let other = clone(&scratch);
    fine(&scratch.piton(&[
        "log",
        "task_completed",
        "--spec",
        "yard",
        "--task",
        "mast-1",
        "--description",
        "found pine",
    ]));
    other.write(PROGRESS_MD, &scratch.read(PROGRESS_MD));
    fine(&other.piton(&["files", "sync"]));
    assert_eq!(entries(&other), entries(&scratch));
    assert_eq!(blockers(&other), blockers(&scratch));
    assert_eq!(blockers(&other).len(), 1);
}

#[test]
fn the_log_of_agent_os_says_what_an_attempt_took_and_changed() {
    let scratch = a_day(&["agent-os"]);
    let log: Value =
        serde_json::from_str(&scratch.read(".agent-os/progress/progress.json")).expect("JSON");
    let entries = log["entries"].as_array().expect("a list");
    let keel = entries
        .iter()
        .find(|entry| entry["task_id"] == "keel")
        .expect("an entry");
    assert_eq!(
        keel["data"],
        json!({"description": "Laid it", "duration_minutes": 13, "duration_seconds": 754,
            "files_modified": ["keel.rs"], "commits": ["c0ffee1"]})
    );
}

#[test]
fn what_is_done_of_a_plan_is_known_from_its_file() {
    let list = r#"{"features": [{"id": "lay-it", "description": "Lay it", "steps": [], "passes": false},
        {"id": "sail-it", "description": "Sail it", "steps": [], "passes": false}]}"#;
    let sprint = "sprint-id: s\nstatus: not-started\nphases:\n  - {id: lay-it, prompt: Lay it, status: pending}\n  - {id: sail-it, prompt: Sail it, status: pending}\ncurrent: {phase: 0, step: null, sub-phase: null}\nstats: {}\n";
    let task = "# A yard\n\n- [ ] lay it\n- [ ] sail it\n";
    for (file, plan, text) in [
        ("prd.json", "prd.json", list),
        ("RALPH_TASK.md", "RALPH_TASK.md", task),
        ("s/PROGRESS.yaml", "s", sprint),
    ] {
        let scratch = Scratch::new();
        scratch
            .write(file, text)
            .agent("echo $PITON_ITEM >>order; echo done");
        let said = scratch.piton(&[
            "run",
            plan,
            "--agent",
            "./agent.sh",
            "--verdict",
            "exit-status",
            "--max-iterations",
            "1",
        ]);
        assert_eq!(said.exit, 5, "{file}: {}", said.err);
        let other = Scratch::new();
        other
            .write(file, &scratch.read(file))
            .agent("echo $PITON_ITEM >>order; echo done");
        let said = other.piton(&[
            "run",
            plan,
            "--agent",
            "./agent.sh",
            "--verdict",
            "exit-status",
        ]);
        assert_eq!(said.exit, 0, "{file}: {}", said.err);
        assert_eq!(other.read("order"), "sail-it\n", "{file}");
    }
}
