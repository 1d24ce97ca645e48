//! The plan that a case is tried with: its files, what an agent types to mark
//! things in it, and which of its items the file shows as done.
//!
//! Every item stands in lines of its own, so that `sed` and a plain loop find
//! it. What piton makes of the same text is not looked at here.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::case::{PlanKind, Row};

/// A file of the plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanFile {
    /// Where it stands, from the root of the work tree.
    pub path: &'static str,
    /// What stands in it.
    pub text: String,
}

/// An item as the plan's file shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanItem {
    /// Its id.
    pub id: String,
    /// Whether it is marked as done.
    pub is_marked: bool,
}

/// What `piton run` is given.
#[must_use]
pub fn argument(kind: PlanKind) -> &'static str {
    match kind {
        PlanKind::List => "prd.json",
        PlanKind::Task => "RALPH_TASK.md",
        PlanKind::Sprint => "sprint",
    }
}

/// The file in which items are marked.
#[must_use]
pub fn marked_file(kind: PlanKind) -> &'static str {
    match kind {
        PlanKind::List => "prd.json",
        PlanKind::Task => "RALPH_TASK.md",
        PlanKind::Sprint => "sprint/PROGRESS.yaml",
    }
}

/// The files of the plan of `row`, as a person wrote them.
#[must_use]
pub fn files(row: &Row) -> Vec<PlanFile> {
    match row.kind {
        PlanKind::List => vec![PlanFile {
            path: "prd.json",
            text: list(row),
        }],
        PlanKind::Task => vec![PlanFile {
            path: "RALPH_TASK.md",
            text: task(row),
        }],
        PlanKind::Sprint => vec![
            PlanFile {
                path: "sprint/SPRINT.yaml",
                text: SPRINT.to_owned(),
            },
            PlanFile {
                path: ".claude/workflows/main.yaml",
                text: workflow(row),
            },
        ],
    }
}

/// What a loop that is not piton needs beside [`files`]: piton writes it itself.
#[must_use]
pub fn progress(row: &Row) -> Option<PlanFile> {
    (row.kind == PlanKind::Sprint).then(|| PlanFile {
        path: "sprint/PROGRESS.yaml",
        text: format!(
            "sprint-id: {SPRINT_ID}\nstatus: in-progress\n{}",
            phases(row, "    status: pending\n")
        ),
    })
}

fn list(row: &Row) -> String {
    let lines: Vec<String> = row
        .case
        .items
        .iter()
        .map(|item| {
            let mut entry = json!({
                "id": item,
                "description": description(item),
                "steps": ["Look at lib", description(item)],
                "passes": false,
            });
            if let Some(command) = row.check_command(item) {
                entry["verification"] = Value::String(command);
            }
            entry.to_string()
        })
        .collect();
    format!("{{\"features\": [\n{}\n]}}\n", lines.join(",\n"))
}

fn description(item: &str) -> String {
    format!("Do the part {item}, as doc says")
}

fn task(row: &Row) -> String {
    let mut text = String::from("---\ntask: The parts of the library\n");
    let first = row.case.items.first().copied().unwrap_or_default();
    if let Some(command) = row.check_command(first) {
        writeln!(text, "test_command: {command}").expect("a string takes everything");
    }
    text.push_str("---\n\n# The parts of the library\n\n## Criteria\n\n");
    for (index, item) in row.case.items.iter().enumerate() {
        writeln!(text, "{}. [ ] {item}", index + 1).expect("a string takes everything");
    }
    text
}

const SPRINT_ID: &str = "2026-01-15_parts";

const SPRINT: &str = "workflow: main
sprint-id: 2026-01-15_parts
collections: {step: [{prompt: unused}]}
retry: {maxAttempts: 2, backoffMs: [0]}
";

fn workflow(row: &Row) -> String {
    format!("name: Main\nschema-version: \"2.0\"\n{}", phases(row, ""))
}

fn phases(row: &Row, status: &str) -> String {
    let mut text = String::from("phases:\n");
    for item in row.case.items {
        write!(
            text,
            "  - id: {item}\n{status}    prompt: {}\n",
            description(item)
        )
        .expect("a string takes everything");
        if let Some(command) = row.check_command(item) {
            write!(
                text,
                "    gate:\n      script: {command}\n      timeout: 10\n      on-fail:\n        prompt: Repair it\n        max-retries: 3\n"
            )
            .expect("a string takes everything");
        }
    }
    text
}

/// The words by which an agent changes the plan's file, in shell.
///
/// | word | does |
/// |---|---|
/// | `tick ITEM` | marks an item as done |
/// | `tick_all` | marks all of them |
/// | `rename_done` | puts items of another name in their place, which are done and have no check |
/// | `drop_checks` | makes every check one that passes |
/// | `reword ITEM` | changes what the plan says of an item |
#[must_use]
pub fn shell_words(kind: PlanKind) -> String {
    let words = match kind {
        PlanKind::List => LIST_WORDS,
        PlanKind::Task => TASK_WORDS,
        PlanKind::Sprint => SPRINT_WORDS,
    };
    format!("plan={}\n{words}", marked_file(kind))
}

const LIST_WORDS: &str = r#"
tick() { edit "/\"id\":\"$1\"/s/\"passes\":false/\"passes\":true/"; }
tick_all() { edit 's/"passes":false/"passes":true/'; }
rename_done() { edit 's/"id":"\([a-z]*\)"/"id":"the-former-\1"/; s/,"verification":"[^"]*"//'; tick_all; }
drop_checks() { edit 's/"verification":"[^"]*"/"verification":"true"/'; }
reword() { edit "/\"id\":\"$1\"/s/, as doc says/, as the page in doc says/"; }
"#;

const TASK_WORDS: &str = r#"
tick() { edit "s/\[ \] $1\$/[x] $1/"; }
tick_all() { edit 's/\[ \]/[x]/'; }
rename_done() { edit 's/\[ \] \([a-z]*\)$/[x] the-former-\1/; /^test_command/d'; }
drop_checks() { edit 's/^test_command: .*/test_command: "true"/'; }
reword() { edit "s/\] $1\$/] $1, as the page in doc says/"; }
"#;

const SPRINT_WORDS: &str = r#"
tick() { edit "/^  - id: $1\$/,/^    status:/s/status: .*/status: completed/"; }
tick_all() { edit '/^  - id:/,/^    status:/s/status: .*/status: completed/'; }
rename_done() { edit 's/^  - id: \([a-z]*\)$/  - id: the-former-\1/; /^    gate:/d; /^      /d'; tick_all; }
drop_checks() { edit 's/^      script: .*/      script: "true"/'; }
reword() { edit "/^  - id: $1\$/,/^    prompt:/s/, as doc says/, as the page in doc says/"; }
"#;

/// The items that the text of a plan's file shows, in its order.
#[must_use]
pub fn marks(kind: PlanKind, text: &str) -> Vec<PlanItem> {
    match kind {
        PlanKind::List => list_marks(text),
        PlanKind::Task => text.lines().filter_map(box_mark).collect(),
        PlanKind::Sprint => phase_marks(text),
    }
}

fn list_marks(text: &str) -> Vec<PlanItem> {
    let list: Value = serde_json::from_str(text).unwrap_or_default();
    let features = list["features"].as_array().cloned().unwrap_or_default();
    features
        .iter()
        .filter_map(|feature| {
            Some(PlanItem {
                id: feature["id"].as_str()?.to_owned(),
                is_marked: feature["passes"] == true,
            })
        })
        .collect()
}

fn box_mark(line: &str) -> Option<PlanItem> {
    let (number, rest) = line.split_once(". [")?;
    let _: u32 = number.parse().ok()?;
    let (mark, id) = rest.split_once("] ")?;
    Some(PlanItem {
        // A plain loop knows an item by its first word.
        id: id.split([',', ' ']).next()?.to_owned(),
        is_marked: mark == "x",
    })
}

fn phase_marks(text: &str) -> Vec<PlanItem> {
    let mut items: Vec<PlanItem> = Vec::new();
    for line in text.lines() {
        if let Some(id) = line.strip_prefix("  - id: ") {
            items.push(PlanItem {
                id: id.to_owned(),
                is_marked: false,
            });
        } else if let (Some(item), "    status: completed") = (items.last_mut(), line) {
            item.is_marked = true;
        }
    }
    items
}

/// The text of a plan's file with `id` marked as done, as a plain loop does it.
#[must_use]
pub fn with_mark(kind: PlanKind, text: &str, id: &str) -> String {
    let phase = format!("  - id: {id}");
    let named = format!("\"id\":\"{id}\"");
    let mut is_in_phase = false;
    text.split_inclusive('\n')
        .map(|line| {
            let bare = line.trim_end();
            if bare.starts_with("  - id: ") {
                is_in_phase = bare == phase;
            }
            let is_meant = match kind {
                PlanKind::List => line.contains(&named),
                PlanKind::Task => box_mark(bare).is_some_and(|item| item.id == id),
                PlanKind::Sprint => is_in_phase,
            };
            if is_meant {
                marked(kind, line)
            } else {
                line.to_owned()
            }
        })
        .collect()
}

fn marked(kind: PlanKind, line: &str) -> String {
    match kind {
        PlanKind::List => line.replace("\"passes\":false", "\"passes\":true"),
        PlanKind::Task => line.replacen("[ ]", "[x]", 1),
        PlanKind::Sprint if line.starts_with("    status: ") => {
            "    status: completed\n".to_owned()
        }
        PlanKind::Sprint => line.to_owned(),
    }
}
