//! What happened last is what happened last by time, whatever was taken over
//! from files, and a log stands in the order of time.

use serde_json::{Value, json};

use crate::harness::Scratch;

/// A progress file of twelve attempts, one an hour, that another tool left.
fn old_progress() -> String {
    let entries: Vec<Value> = (0..12)
        .map(|hour| {
            json!({
                "id": format!("story-{hour}-1"), "prd_id": format!("story-{hour}"),
                "timestamp": format!("2025-06-01T{hour:02}:00:00Z"), "status": "failed",
                "summary": format!("tried at {hour}"),
                "observations": [{"type": "finding", "title": format!("seen at {hour}")}],
            })
        })
        .collect();
    json!({
        "version": "1.0", "created_at": "2025-06-01T00:00:00Z", "project_name": "old",
        "entries": entries, "learnings": [], "patterns": [],
    })
    .to_string()
}

#[test]
fn after_adoption_the_last_attempts_are_the_last_by_time() {
    let scratch = Scratch::new();
    scratch.write(".ralph/progress.json", &old_progress());
    let said = scratch.piton(&["init"]);
    assert_eq!(said.exit, 0, "{}{}", said.out, said.err);
    let names = |recent: &Value| -> Vec<String> {
        let attempts = recent["attempts"].as_array().expect("a list");
        let name = |one: &Value| one["node"].as_str().expect("a name").to_owned();
        attempts.iter().map(name).collect()
    };
    assert_eq!(
        names(&scratch.json(&["recent", "3"])),
        ["story-9", "story-10", "story-11"]
    );
    let recorded = scratch.piton(&[
        "record",
        "new",
        "--outcome",
        "failed",
        "--error",
        "no",
        "--observation",
        "finding: fresh",
    ]);
    assert_eq!(recorded.exit, 0, "{}{}", recorded.out, recorded.err);
    let seen = scratch.json(&["recent", "2", "--observations"]);
    let titles: Vec<&str> = seen["observations"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|one| one["title"].as_str())
        .collect();
    assert_eq!(titles, ["seen at 11", "fresh"]);
}

/// A log of Agent OS with these entries: name and time.
fn log_of(entries: &[(&str, &str)]) -> String {
    let entries: Vec<Value> = entries
        .iter()
        .map(|(name, at)| {
            json!({"id": name, "timestamp": at, "type": "milestone_reached",
                "data": {"description": name}})
        })
        .collect();
    json!({"version": "1.0", "project": "p", "entries": entries, "metadata": {
        "total_entries": entries.len(), "oldest_entry": null, "last_updated": null,
        "archived_through": null}})
    .to_string()
}

#[test]
fn an_old_entry_that_comes_back_stands_where_its_time_is() {
    const FILE: &str = ".agent-os/progress/progress.json";
    let scratch = Scratch::new();
    let at = |day: u32| format!("2026-01-{day:02}T10:00:00.000Z");
    let (one, two, three) = (at(1), at(2), at(3));
    let all = [("entry-a", &*one), ("entry-b", &*two), ("entry-c", &*three)];
    scratch.write(FILE, &log_of(&all));
    assert_eq!(scratch.piton(&["init"]).exit, 0);
    // The file of another clone, which lacks one: piton shows it again.
    scratch.write(FILE, &log_of(&[all[0], all[2]]));
    assert_eq!(scratch.piton(&["files", "sync"]).exit, 0);
    let document: Value = serde_json::from_str(&scratch.read(FILE)).expect("JSON");
    let ids: Vec<&str> = document["entries"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|entry| entry["id"].as_str())
        .collect();
    assert_eq!(ids, ["entry-a", "entry-b", "entry-c"]);
    let recent = scratch.json(&["recent", "2"]);
    assert_eq!(recent["entries"][1]["name"], "entry-c");
}

#[test]
fn other_words_of_a_blocker_in_the_log_are_those_of_the_unresolved_one() {
    let scratch = Scratch::new();
    let file = ".agent-os/progress/progress.json";
    scratch.write(file, "");
    assert_eq!(scratch.piton(&["init", "--yes"]).exit, 0);
    let blocked = [
        "log",
        "task_blocked",
        "--task",
        "t1",
        "--notes",
        "the port is taken",
    ];
    let said = scratch.piton(&blocked);
    assert_eq!(said.exit, 0, "{}", said.err);
    let text = scratch.read(file);
    assert!(text.contains("the port is taken"), "{text}");
    scratch.write(file, &text.replace("the port is taken", "port 80 is taken"));
    assert_eq!(scratch.piton(&["files", "sync"]).exit, 0);
    let said = scratch.piton(&["recent"]).out;
    assert!(!said.contains("the port is taken"), "{said}");
    let said = scratch.piton(&["session", "start"]).out;
    assert!(said.contains("port 80 is taken"), "{said}");
    assert!(!said.contains("the port is taken"), "{said}");
    assert_eq!(scratch.piton(&["journal", "verify"]).exit, 0);
}

/// The list of blockers follows what a person makes of an entry.
#[test]
fn a_blocker_whose_task_or_type_is_edited_in_the_log_is_one_of_that_task_or_none() {
    let scratch = Scratch::new();
    let file = ".agent-os/progress/progress.json";
    scratch.write(file, "");
    assert_eq!(scratch.piton(&["init", "--yes"]).exit, 0);
    for task in ["t1", "t0"] {
        let said = scratch.piton(&["log", "task_blocked", "--task", task, "--notes", "no port"]);
        assert_eq!(said.exit, 0, "{}", said.err);
    }
    let blocked = || {
        let recent = scratch.json(&["recent", "--blockers"]);
        let rows = recent["unresolved_blockers"].as_array().cloned();
        let tasks = rows.unwrap_or_default().into_iter();
        let mut tasks: Vec<String> = tasks
            .map(|row| row["task_id"].as_str().unwrap_or_default().to_owned())
            .collect();
        tasks.sort();
        tasks
    };
    let edit = |from: &str, to: &str| {
        let text = scratch.read(file);
        assert!(text.contains(from), "{text}");
        scratch.write(file, &text.replacen(from, to, 1));
        let said = scratch.piton(&["files", "sync"]);
        assert_eq!(said.exit, 0, "{}", said.err);
        assert_eq!(scratch.piton(&["journal", "verify"]).exit, 0);
    };
    assert_eq!(blocked(), ["t0", "t1"]);
    edit("\"t1\"", "\"t2\"");
    assert_eq!(blocked(), ["t0", "t2"]);
    edit("\"task_blocked\"", "\"milestone_reached\"");
    assert_eq!(blocked(), ["t0"]);
    edit("\"milestone_reached\"", "\"task_blocked\"");
    assert_eq!(blocked(), ["t0", "t2"]);
    // Two entries of one task that is blocked.
    edit("\"t2\"", "\"t0\"");
    assert_eq!(blocked(), ["t0", "t0"]);
    edit("\"task_blocked\"", "\"task_completed\"");
    assert_eq!(blocked(), [""; 0]);
}
