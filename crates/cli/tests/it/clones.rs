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
        assert_eq!(
            other.json_list(&["inbox"]).as_array().map_or(0, Vec::len),
            0
        );
    }
}

#[test]
fn what_is_remembered_in_one_clone_is_known_in_another() {
    let scratch = a_day(&["ralph-dir", "ralph-json"]);
    let other = clone(&scratch);
    for text in [" Ask ", "Pine is soft."] {
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
    fs::remove_dir_all(scratch.home()).expect("removed");
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

const LOG: &str = ".ralph/progress.json";

/// A clone of a repository, as git makes it.
fn git_clone(of: &Scratch) -> Scratch {
    let clone = Scratch::new();
    let path = of.path();
    let origin = path.to_str().expect("UTF-8");
    clone.git(&["remote", "add", "origin", origin]);
    clone.git(&["fetch", "--quiet", "origin"]);
    clone.git(&["reset", "--quiet", "--hard", "origin/main"]);
    fine(&clone.piton(&["init", "--yes"]));
    fine(&clone.piton(&["files", "merge-driver", "install", "--yes"]));
    clone
}

/// Work at the same items, and something learned of it.
fn work(scratch: &Scratch, who: &str) {
    for nth in 0..5 {
        for args in [
            &["learn", "add", "--type", "tool-usage"][..],
            &[
                "learn",
                "add",
                "--kind",
                "pattern",
                "--type",
                "test-pattern",
                "--title",
                "Cut",
            ],
        ] {
            fine(&scratch.piton(&[args, &[&format!("{who} learned part {nth}.")]].concat()));
        }
        let item = ["record", "keel", "--outcome", "partial"];
        fine(&scratch.piton(&[&item[..], &["--summary", &format!("{who}, {nth}")]].concat()));
    }
    scratch.git(&["add", "--all"]);
    scratch.git(&["commit", "--quiet", "--message", who]);
}

/// The ids in the log, with the words that stand beside each.
fn ids(scratch: &Scratch, list: &str, words: &str) -> Vec<(String, String)> {
    let log: Value = serde_json::from_str(&scratch.read(LOG)).expect("JSON");
    let list = log[list].as_array().expect("a list").iter();
    let text = |of: &Value| of.as_str().unwrap_or_default().to_owned();
    list.map(|thing| (text(&thing["id"]), text(&thing[words])))
        .collect()
}

const LISTS: [(&str, &str); 3] = [
    ("entries", "summary"),
    ("learnings", "content"),
    ("patterns", "description"),
];

#[test]
fn what_several_clones_name_at_once_is_merged_without_a_conflict() {
    let first = Scratch::new();
    fine(&first.piton(&["init", "--yes", "--with", "ralph-json"]));
    fine(&first.piton(&["files", "merge-driver", "install", "--yes"]));
    first.git(&["checkout", "--quiet", "-B", "main"]);
    work(&first, "first");
    let known = |scratch: &Scratch, list| ids(scratch, list, "id").len();
    let clones = [git_clone(&first), git_clone(&first)];
    work(&first, "Ada");
    for (clone, who) in clones.iter().zip(["Bob", "Cy"]) {
        work(clone, who);
        assert_eq!(known(clone, "learnings"), 10);
    }
    let named = LISTS.map(|(list, words)| {
        let stores = std::iter::once(&first).chain(&clones);
        stores
            .flat_map(|scratch| ids(scratch, list, words))
            .collect::<Vec<_>>()
    });
    for clone in &clones {
        let path = clone.path();
        let pull = ["pull", "--quiet", "--no-rebase", "--no-edit"];
        let from = [path.to_str().expect("UTF-8"), "main"];
        first.git(&[&pull[..], &from].concat());
        fine(&first.piton(&["files", "sync"]));
        assert_eq!(
            first.git(&["status", "--porcelain"]),
            "",
            "nothing is written anew"
        );
    }
    for ((list, words), named) in LISTS.into_iter().zip(named) {
        let all = ids(&first, list, words);
        let mut unique: Vec<&String> = all.iter().map(|(id, _)| id).collect();
        unique.sort();
        unique.dedup();
        assert_eq!((all.len(), unique.len()), (20, 20), "{list}: {all:?}");
        // Whatever was shown somewhere is known by that name now as then.
        for thing in &named {
            assert!(all.contains(thing), "{thing:?} in {all:?}");
        }
    }
    assert_eq!(first.read(LOG).matches("<<<<<<<").count(), 0);
    assert_eq!(
        first.json_list(&["inbox"]).as_array().map_or(0, Vec::len),
        0
    );
    for who in ["Ada", "Bob", "Cy"] {
        let listed = first.piton(&["learn", "list"]);
        assert_eq!(
            listed.out.matches(&format!("{who} learned")).count(),
            5,
            "{}",
            listed.out
        );
    }
}

#[test]
fn who_has_nobody_to_share_names_with_counts_from_one() {
    let scratch = Scratch::new();
    fine(&scratch.piton(&["init", "--yes", "--with", "ralph-json"]));
    work(&scratch, "Ada");
    let learnings = ids(&scratch, "learnings", "content");
    let learnings: Vec<&str> = learnings.iter().map(|(id, _)| id.as_str()).collect();
    assert_eq!(learnings[0], "learning-0001");
    assert_eq!(learnings[4], "learning-0005");
    let entries = ids(&scratch, "entries", "summary");
    assert_eq!(
        (entries[0].0.as_str(), entries[4].0.as_str()),
        ("keel-1", "keel-5")
    );
}
