//! The tasks into which the work of a run is cut, as an agent wrote them, and the
//! issues that they become.

use std::collections::{HashMap, HashSet};

use piton_core::plan::PlannedItem;
use piton_core::{Edit, ItemRow, ItemState, Node};

use super::native::{issue_of_item, native_of_issue};
use super::phase_item::{is_reserved, node_of_id};
use super::plan::planned_issue;
use super::state::{IssueStatus, Phase, SdlcIssue};
use crate::field_reader::{FieldReader, parse_json_with, span_of_key};
use crate::graph::find_cycles;
use crate::problem::{Problem, SourceText};
use crate::report::{MapPosition, ValuePath};
use crate::tree::Span;

/// A piece of the work.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct SdlcTask {
    id: String,
    repo: String,
    title: String,
    description: Option<String>,
    blocked_by: Vec<String>,
}

/// Reads the tasks. Of the repositories that they name each must be in `repos`;
/// where that is empty, all tasks are of one.
pub(super) fn parse_tasks(
    source: SourceText<'_>,
    repos: &[String],
) -> (Vec<SdlcTask>, Vec<Problem>) {
    let (tasks, problems) = parse_json_with("TASKS_PARSE_ERROR", source, |reader, root| {
        let (list, path) = match root.as_map() {
            Some(map) => {
                let top = MapPosition {
                    map,
                    path: ValuePath::ROOT,
                };
                if map.get("tasks").is_none() {
                    let message = "there is no list `tasks`";
                    let hint = "write `{\"tasks\": [...]}`";
                    reader.report_error("MISSING_KEY", top, "tasks", message, hint);
                }
                (reader.read_list(top, "tasks"), ValuePath::ROOT)
            }
            None => (root.as_seq().unwrap_or_default(), ValuePath::ROOT),
        };
        let path = path.key("tasks");
        let mut tasks = Vec::new();
        let mut places = Vec::new();
        for (index, node) in list.iter().enumerate() {
            let path = path.index(index);
            let Some(map) = node.as_map() else {
                let words = (
                    format!("a task belongs here, not {}", node.describe()),
                    "write an object with `id`, `repo` and `title`",
                );
                reader.report.error("WRONG_TYPE", path, node.span, words);
                continue;
            };
            tasks.push(read_task(reader, MapPosition { map, path }));
            places.push(map);
        }
        if list.is_empty() {
            let words = (
                "there is no task".to_owned(),
                "write each piece of the work as a task",
            );
            reader.report.error("NO_TASKS", path, root.span, words);
        }
        let at = |index: usize, key: &str| span_of_key(places[index], key);
        check_ids(reader, &tasks, repos, &at);
        check_graph(reader, &tasks, &at);
        Some(tasks)
    });
    (tasks.unwrap_or_default(), problems)
}

fn read_task(reader: &mut FieldReader<'_>, place: MapPosition<'_>) -> SdlcTask {
    let mut must = |key: &'static str| {
        let text = reader.read_text(place, key);
        let text = text.map(|text| text.trim().to_owned()).unwrap_or_default();
        // What is no text was reported when it was read.
        let is_read = place.map.get(key).is_none_or(|node| node.text().is_some());
        if text.is_empty() && is_read {
            let message = format!("the task has no `{key}`");
            reader.report_error("MISSING_KEY", place, key, message, "write one");
        }
        text
    };
    let (id, repo, title) = (must("id"), must("repo"), must("title"));
    SdlcTask {
        id,
        repo,
        title,
        description: reader.read_text(place, "description"),
        blocked_by: reader.read_texts(place, "blocked_by"),
    }
}

/// Checks what each task is called and where it belongs.
fn check_ids(
    reader: &mut FieldReader<'_>,
    tasks: &[SdlcTask],
    repos: &[String],
    at: &dyn Fn(usize, &str) -> Span,
) {
    let mut known: HashSet<&str> = HashSet::new();
    let only = tasks.first().map(|task| task.repo.clone());
    let allowed = match repos {
        [] => only.as_slice(),
        repos => repos,
    };
    let root = ValuePath::ROOT.key("tasks");
    for (index, task) in tasks.iter().enumerate() {
        let path = root.index(index);
        let mut error = |code, key, message: String, hint| {
            let path = path.key(key);
            reader
                .report
                .error(code, path, at(index, key), (message, hint));
        };
        if !task.id.is_empty() && !known.insert(&task.id) {
            let message = format!("the id `{}` stands there twice", task.id);
            error(
                "DUPLICATE_ID",
                "id",
                message,
                "give each task an id of its own",
            );
        }
        if is_reserved(&task.id) {
            let message = format!("`{}` is the name of a phase", task.id);
            error("RESERVED_ID", "id", message, "give the task another id");
        }
        if !task.repo.is_empty() && !allowed.contains(&task.repo) {
            let message = format!(
                "there is no repository `{}`; known: {}",
                task.repo,
                allowed.join(", ")
            );
            error("UNKNOWN_REPO", "repo", message, "name one that is known");
        }
    }
}

/// Checks what tasks say of each other.
fn check_graph(reader: &mut FieldReader<'_>, tasks: &[SdlcTask], at: &dyn Fn(usize, &str) -> Span) {
    // Of those of one name the first is meant.
    let ids = tasks.iter().enumerate().rev();
    let index: HashMap<&str, usize> = ids.map(|(index, task)| (&*task.id, index)).collect();
    let root = ValuePath::ROOT.key("tasks");
    let mut edges = Vec::new();
    for (from, task) in tasks.iter().enumerate() {
        let path = root.index(from);
        let mut on = Vec::new();
        for id in &task.blocked_by {
            match index.get(id.as_str()) {
                Some(index) => on.push(*index),
                None => {
                    let words = (
                        format!("`{}` waits for `{id}`, which is not there", task.id),
                        "name a task of this file, or remove the reference",
                    );
                    let span = at(from, "blocked_by");
                    let path = path.key("blocked_by");
                    reader.report.error("MISSING_REFERENCE", path, span, words);
                }
            }
        }
        edges.push(on);
    }
    for cycle in find_cycles(&edges) {
        let Some(first) = cycle.first().copied() else {
            continue;
        };
        let names = cycle.iter().chain([&first]);
        let names: Vec<String> = names.map(|at| format!("`{}`", tasks[*at].id)).collect();
        let words = (
            format!("tasks wait for each other: {}", names.join(" for ")),
            "remove one of the references",
        );
        let (path, span) = (root.index(first), at(first, "blocked_by"));
        let path = path.key("blocked_by");
        reader.report.error("CYCLE_DETECTED", path, span, words);
    }
}

/// The edits that make an issue of each task that has none yet, behind the item
/// `after`. A task has one that is called as it is, or has its title: a tracker may
/// have given that its own id. Such an issue, if it is not begun, waits for what its task
/// waits for, also where the tool that made the issue did not write that.
pub(super) fn edits_of_tasks(
    tasks: &[SdlcTask],
    rows: &[&ItemRow],
    after: Option<Node>,
) -> Vec<Edit> {
    let there: Vec<(SdlcIssue, &ItemRow)> =
        rows.iter().map(|row| (issue_of_item(row), *row)).collect();
    let of_task = |task: &SdlcTask| {
        let title = |issue: &SdlcIssue| issue.title.as_deref().map(str::trim).map(str::to_owned);
        let by_id = there.iter().find(|(issue, _)| issue.id == task.id);
        by_id.or_else(|| {
            let mut there = there.iter();
            there.find(|(issue, _)| title(issue).as_ref() == Some(&task.title))
        })
    };
    let names: HashMap<&str, &str> = tasks
        .iter()
        .map(|task| {
            (
                &*task.id,
                of_task(task).map_or(&*task.id, |(issue, _)| &issue.id),
            )
        })
        .collect();
    let tracking = Phase::Tracking.as_str();
    let known: HashSet<&str> = there
        .iter()
        .map(|(issue, _)| issue.id.as_str())
        .chain(names.values().copied())
        .chain([tracking])
        .collect();
    let finished = rows.iter().filter(|row| row.state.is_finished());
    let done: HashSet<&str> = finished.map(|row| row.plan.id.as_str()).collect();
    let mut after = after;
    let mut edits = Vec::new();
    let mut waits = Vec::new();
    for task in tasks {
        let blocked_by: Vec<String> = task
            .blocked_by
            .iter()
            .filter_map(|id| names.get(id.as_str()))
            .map(|id| (*id).to_owned())
            .collect();
        if let Some((issue, row)) = of_task(task) {
            waits.extend(blocker_edits(row, issue, blocked_by));
            continue;
        }
        let is_open = |id: &String| !done.contains(id.as_str());
        let status = match blocked_by.iter().any(is_open) {
            true => IssueStatus::Blocked,
            false => IssueStatus::Ready,
        };
        let issue = SdlcIssue {
            id: task.id.clone(),
            repo: Some(task.repo.clone()),
            title: Some(task.title.clone()),
            status: Some(status),
            blocked_by,
            review_iterations: Some(0),
            human_iterations: Some(0),
            ..SdlcIssue::default()
        };
        let item = PlannedItem {
            prompt: Some(prompt_of_task(task)),
            ..planned_issue(&issue, &known, &done)
        };
        edits.push(Edit::Insert {
            parent: None,
            after: after.replace(node_of_id(&task.id)),
            items: vec![item],
        });
    }
    edits.extend(waits);
    edits
}

/// That an issue which is there waits for what its task waits for as well, and that its
/// file says so.
fn blocker_edits(row: &ItemRow, issue: &SdlcIssue, blocked_by: Vec<String>) -> Vec<Edit> {
    let is_open = matches!(row.state, ItemState::Pending | ItemState::Ready);
    let is_new = |id: &String| !issue.blocked_by.contains(id);
    let more: Vec<String> = blocked_by.into_iter().filter(is_new).collect();
    if !is_open || row.attempts > 0 || more.is_empty() {
        return Vec::new();
    }
    let on = more.iter().map(|id| node_of_id(id));
    let depends_on = row.plan.depends_on.iter().cloned().chain(on).collect();
    let issue = SdlcIssue {
        blocked_by: issue.blocked_by.iter().cloned().chain(more).collect(),
        ..issue.clone()
    };
    let node = row.node.clone();
    vec![
        Edit::SetDependsOn {
            node: node.clone(),
            depends_on,
        },
        Edit::SetNative {
            node: Some(node),
            native: Some(native_of_issue(&issue)),
        },
    ]
}

/// What an agent is told of a task.
fn prompt_of_task(task: &SdlcTask) -> String {
    let description = task.description.as_deref().map(str::trim);
    match description.filter(|text| !text.is_empty()) {
        Some(text) => format!("{}\n\n{text}", task.title),
        None => task.title.clone(),
    }
}
