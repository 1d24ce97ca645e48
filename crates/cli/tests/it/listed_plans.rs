//! Plans of other tools in which each item has a status: found where those tools put
//! them, worked through to their end, and changed by statuses alone.

use serde_json::Value;

use crate::harness::{Said, Scratch};

const TASK_MASTER: &str = include_str!("../../../formats/tests/corpus/lists/task_master.json");

/// An agent that changes a file and says that it is done.
const AGENT: &str =
    "cat >> prompts.txt\necho \"$PITON_ITEM\" >> work.txt\necho '<ralph>COMPLETE</ralph>'\n";

fn run(scratch: &Scratch, plan: &[&str]) -> Said {
    let mut args = vec!["run"];
    args.extend(plan);
    args.extend(["--agent", "./agent.sh", "--verdict", "exit-status"]);
    scratch.piton(&args)
}

/// Where a plan lies, and how many of its items are open and in all.
struct Listed {
    path: &'static str,
    text: &'static str,
    open: usize,
    total: usize,
}

#[track_caller]
fn check_found(scratch: &Scratch, listed: &Listed) {
    let found = scratch.json(&["init", "--dry-run"]);
    let files = found["found"].as_array().expect("files");
    let file = files.iter().find(|file| file["path"] == listed.path);
    let file = file.unwrap_or_else(|| panic!("{} is not found: {files:?}", listed.path));
    assert_eq!(file["items"]["open"], listed.open, "{file}");
    assert_eq!(file["items"]["total"], listed.total, "{file}");
    assert_eq!(file["intent"], "run", "{file}");
    assert_eq!(file["command"], format!("piton run {}", listed.path));
}

/// The lines that differ between two texts of as many lines.
fn changed_lines(before: &str, after: &str) -> Vec<(String, String)> {
    assert_eq!(before.lines().count(), after.lines().count(), "{after}");
    let lines = before.lines().zip(after.lines());
    let changed = lines.filter(|(before, after)| before != after);
    changed
        .map(|(before, after)| (before.to_owned(), after.to_owned()))
        .collect()
}

/// The statuses of the tasks and subtasks below a tag that hold no others.
fn statuses_of_tag(text: &str, tag: &str) -> Vec<String> {
    fn push_leaves(tasks: &Value, out: &mut Vec<String>) {
        for task in tasks.as_array().into_iter().flatten() {
            match task["subtasks"].as_array() {
                Some(parts) if !parts.is_empty() => push_leaves(&task["subtasks"], out),
                _ => out.push(task["status"].as_str().unwrap_or_default().to_owned()),
            }
        }
    }
    let root: Value = serde_json::from_str(text).expect("JSON");
    let mut out = Vec::new();
    push_leaves(&root[tag]["tasks"], &mut out);
    out
}

#[test]
fn tasks_of_task_master_are_worked_through_by_tag_and_only_statuses_change() {
    let path = ".taskmaster/tasks/tasks.json";
    let scratch = Scratch::new();
    scratch
        .write(path, TASK_MASTER)
        .write(".taskmaster/state.json", "{\"currentTag\": \"tides\"}")
        .agent(AGENT);
    // Counted without piton: the part of a deferred task is not open.
    let statuses = statuses_of_tag(TASK_MASTER, "tides");
    let is_open = |status: &&String| !["done", "cancelled"].contains(&status.as_str());
    let listed = Listed {
        path,
        text: TASK_MASTER,
        open: statuses.iter().filter(is_open).count() - 1,
        total: statuses.len(),
    };
    check_found(&scratch, &listed);
    let said = run(&scratch, &[]);
    assert_eq!(said.exit, 0, "{said:?}");
    assert!(said.err.contains("`almost` is no status"), "{said:?}");
    let work = scratch.read("work.txt");
    assert_eq!(
        work.lines().collect::<Vec<_>>(),
        ["6", "7", "2/2.2", "2/2.3", "3"],
        "what waits for nothing comes first, by its priority"
    );
    let after = scratch.read(path);
    let changed = changed_lines(listed.text, &after);
    assert_eq!(changed.len(), 6, "{changed:?}");
    for (before, after) in changed {
        let blank =
            |line: &str, status: &str| line.replace(&format!("\"status\": \"{status}\""), "");
        let before = ["pending", "in-progress", "review", "almost"]
            .iter()
            .fold(before.clone(), |line, status| blank(&line, status));
        assert_eq!(before, blank(&after, "done"));
    }
    let statuses = statuses_of_tag(&after, "tides");
    assert_eq!(
        statuses.iter().filter(|status| *status == "done").count(),
        7
    );
    assert_eq!(statuses_of_tag(&after, "master"), ["pending"]);
    let prompts = scratch.read("prompts.txt");
    for words in [
        "**2.2**: Round",
        "How it is tested:\n\nTo a centimetre.",
        "It is a part of **2**: Predict heights",
        "Its status in the list is `review`.",
        "Tides of the coast",
    ] {
        assert!(prompts.contains(words), "{words}: {prompts}");
    }
}
