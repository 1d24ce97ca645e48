//! The tasks in a text.

use std::collections::HashMap;

use crate::document::{JsonText, parse_json_text};
use crate::field_reader::{parse_json_with, span_of_key, texts_of_node};
use crate::plan_format::PlanContext;
use crate::problem::{Problem, SourceText};
use crate::status_list::{ItemList, ListedItem, ListedStatus, StatusMark, part_of_native};
use crate::tree::{Map, Span, ValueNode};

/// The name of this format.
pub(super) const FACE: &str = "task-master";
/// The tag that a project begins with.
const FIRST_TAG: &str = "master";
/// Where the tag stands that people work on, seen from the folder of the list.
const STATE: &str = "../state.json";
/// Keys that tasks of other lists do not have.
const OWN_KEYS: [&str; 4] = ["dependencies", "subtasks", "testStrategy", "details"];

/// What a text is.
pub(super) enum TasksLayout {
    /// Lists by tag.
    Tags,
    /// One list.
    Single,
    Foreign,
    Empty,
    Unreadable,
}

/// Tells what a text is, by its content.
pub(super) fn detect_layout(text: &str) -> TasksLayout {
    match parse_json_text(text) {
        JsonText::Root(root) => layout_of_root(&root),
        JsonText::Blank => TasksLayout::Empty,
        JsonText::Broken => TasksLayout::Unreadable,
    }
}

fn layout_of_root(root: &ValueNode) -> TasksLayout {
    let is_own = |node: &ValueNode| {
        let tasks = tasks_of_node(node).unwrap_or_default();
        OWN_KEYS
            .iter()
            .any(|key| tasks.iter().any(|task| task.get(key).is_some()))
    };
    let Some(map) = root.as_map() else {
        return TasksLayout::Foreign;
    };
    if tasks_of_node(root).is_some() && is_own(root) {
        return TasksLayout::Single;
    }
    let is_tag = |node: &ValueNode| {
        let tasks = tasks_of_node(node);
        tasks.is_some_and(|tasks| tasks.is_empty() || is_own(node))
    };
    match map.iter().any(|(_, node)| is_tag(node)) {
        true => TasksLayout::Tags,
        false => TasksLayout::Foreign,
    }
}

/// The tasks below a tag, where these can be tasks. One that lacks something is named as a
/// mistake: it does not make the list that of another tool.
fn tasks_of_node(node: &ValueNode) -> Option<&[ValueNode]> {
    let tasks = node.get("tasks")?.as_seq()?;
    let is_task = |task: &ValueNode| {
        let has = |key: &&str| task.get(key).is_some();
        ["id", "title", "status"].iter().all(has)
    };
    let is_other = |task: &ValueNode| task.get("passes").is_some();
    let is_list = tasks.is_empty() || tasks.iter().any(is_task);
    (is_list && !tasks.iter().any(is_other)).then_some(tasks)
}

/// The tasks of the tag that is worked on.
pub(super) fn parse_tasks(
    source: SourceText<'_>,
    of: PlanContext<'_>,
    problems: &mut Vec<Problem>,
) -> Option<ItemList> {
    let (found, faults) = parse_json_with("TASKS_PARSE_ERROR", source, |reader, root| {
        let told = &mut *reader.report.problems;
        match layout_of_root(root) {
            TasksLayout::Single => Some((None, root.clone())),
            TasksLayout::Tags => {
                let (tag, node) = choose_tag(root.as_map()?, of, source, told)?;
                Some((Some(tag), node))
            }
            TasksLayout::Foreign | TasksLayout::Empty | TasksLayout::Unreadable => {
                let problem = Problem::error("NOT_A_TASK_LIST", source.name, "", root.span);
                let message = "this is no list of tasks of Task Master";
                told.push(problem.with_message(message, "name another file"));
                None
            }
        }
    });
    problems.extend(faults);
    let (part, node) = found?;
    let about = node
        .get("metadata")
        .and_then(|about| about.get("description"));
    let mut reader = TaskReader {
        file: source.name,
        counts: HashMap::new(),
        items: Vec::new(),
        problems,
    };
    let tasks = node
        .get("tasks")
        .and_then(ValueNode::as_seq)
        .unwrap_or_default();
    reader.count_ids(tasks);
    reader.push_tasks(tasks, None);
    Some(ItemList {
        about: about.and_then(ValueNode::text).map(str::to_owned),
        part,
        items: reader.items,
        ..ItemList::default()
    })
}

/// The tag of a run, else the one that people work on, with its tasks.
fn choose_tag(
    tags: &Map,
    of: PlanContext<'_>,
    source: SourceText<'_>,
    problems: &mut Vec<Problem>,
) -> Option<(String, ValueNode)> {
    let find = |tag: &str| {
        let node = tags.get(tag).filter(|node| tasks_of_node(node).is_some())?;
        Some((tag.to_owned(), node.clone()))
    };
    let missing = |message: String, hint: &str| {
        let problem = Problem::error("MISSING_TAG", source.name, "", Span::TOP);
        problem.with_message(message, hint)
    };
    if let Some(tag) = part_of_native(of.native, FACE) {
        let found = find(&tag);
        if found.is_none() {
            problems.push(missing(
                format!("the tag `{tag}`, which is worked on, is not there"),
                "put its tasks back, or begin anew with `piton run --recompile`",
            ));
        }
        return found;
    }
    let state = of.beside.read(STATE);
    let state: Option<serde_json::Value> = state.and_then(|text| serde_json::from_str(&text).ok());
    let current = state.and_then(|state| Some(state.get("currentTag")?.as_str()?.to_owned()));
    let found = current.as_deref().and_then(find);
    let any = || tags.iter().find_map(|(tag, _)| find(&tag.text));
    let chosen = found.or_else(|| find(FIRST_TAG)).or_else(any);
    match (&current, &chosen) {
        (Some(current), Some((tag, _))) if current != tag => {
            let there = tags
                .iter()
                .filter(|(_, node)| tasks_of_node(node).is_some());
            let there: Vec<String> = there.map(|(tag, _)| format!("`{}`", tag.text)).collect();
            let message = format!(
                "the tag `{current}` of state.json is not among those with tasks ({}): `{tag}` is used",
                there.join(", ")
            );
            let hint = "choose a tag with `task-master use-tag`";
            let problem = Problem::warning("MISSING_TAG", source.name, "", Span::TOP);
            problems.push(problem.with_message(message, hint));
        }
        (_, None) => problems.push(missing(
            "there is no tag with tasks".to_owned(),
            "add a task to one",
        )),
        (_, Some(_)) => {}
    }
    chosen
}

struct TaskReader<'r> {
    file: &'r str,
    /// How many tasks have each id, as it is written.
    counts: HashMap<String, usize>,
    items: Vec<ListedItem>,
    problems: &'r mut Vec<Problem>,
}

/// The task that others are a part of.
#[derive(Clone, Copy)]
struct ParentTask<'p> {
    id: &'p str,
    node: &'p ValueNode,
}

fn text_at(node: &ValueNode, key: &str) -> Option<String> {
    let found = node.get(key).filter(|node| !node.is_null())?;
    let text = match found.as_seq() {
        Some(_) => texts_of_node(found)
            .iter()
            .map(|text| format!("- {text}"))
            .collect::<Vec<_>>()
            .join("\n"),
        None => found.text()?.to_owned(),
    };
    Some(text).filter(|text| !text.trim().is_empty())
}

fn subtasks_of(node: &ValueNode) -> &[ValueNode] {
    let subtasks = node.get("subtasks");
    subtasks.and_then(ValueNode::as_seq).unwrap_or_default()
}

impl TaskReader<'_> {
    fn count_ids(&mut self, tasks: &[ValueNode]) {
        for task in tasks {
            if let Some(id) = text_at(task, "id") {
                *self.counts.entry(id).or_default() += 1;
            }
            self.count_ids(subtasks_of(task));
        }
    }

    /// What a subtask is called elsewhere: by the ids of the task and its own, where its
    /// own says it of that task alone.
    fn full_id(&self, own: &str, parent: Option<ParentTask<'_>>) -> String {
        let Some(parent) = parent else {
            return own.to_owned();
        };
        let is_numbered = own.chars().all(|c| c.is_ascii_digit());
        let is_full = own
            .strip_prefix(parent.id)
            .is_some_and(|rest| rest.starts_with('.'));
        let is_unique = self.counts.get(own).is_none_or(|count| *count == 1);
        match is_full || (is_unique && !is_numbered) {
            true => own.to_owned(),
            false => format!("{}.{own}", parent.id),
        }
    }

    fn push_tasks(&mut self, tasks: &[ValueNode], parent: Option<ParentTask<'_>>) {
        let siblings: HashMap<String, String> = tasks
            .iter()
            .filter_map(|task| text_at(task, "id"))
            .map(|id| (id.clone(), self.full_id(&id, parent)))
            .collect();
        for task in tasks {
            let (Some(map), Some(own)) = (task.as_map(), text_at(task, "id")) else {
                let problem = Problem::error("MISSING_ID", self.file, "", task.span);
                let hint = "give it one; until then nothing of the list is worked on";
                self.problems
                    .push(problem.with_message("a task without an id", hint));
                continue;
            };
            let id = self.full_id(&own, parent);
            let after = task
                .get("dependencies")
                .map(texts_of_node)
                .unwrap_or_default();
            let after = after
                .into_iter()
                .map(|on| siblings.get(&on).cloned().unwrap_or(on));
            let (status, note) = self.parse_status(map, &id);
            let item = ListedItem {
                parent: parent.map(|parent| parent.id.to_owned()),
                status,
                title: text_at(task, "title"),
                words: words_of_task(task, parent),
                note,
                after: after.collect(),
                priority: priority_of_task(task),
                mark: Some(mark_of_task(map)),
                span: span_of_key(map, "id"),
                id: id.clone(),
                ..ListedItem::default()
            };
            self.items.push(item);
            let parent = ParentTask {
                id: &id,
                node: task,
            };
            self.push_tasks(subtasks_of(task), Some(parent));
        }
    }

    /// How a task stands, and what its status says beyond that.
    fn parse_status(&mut self, map: &Map, id: &str) -> (ListedStatus, Option<String>) {
        let written = map
            .get("status")
            .and_then(ValueNode::text)
            .unwrap_or("pending");
        let note = Some(format!("Its status in the list is `{written}`."));
        match written.to_ascii_lowercase().as_str() {
            "done" | "completed" => (ListedStatus::Done, None),
            "deferred" | "cancelled" | "canceled" => (ListedStatus::LeftOut, None),
            "pending" => (ListedStatus::Open, None),
            "in-progress" | "review" | "blocked" => (ListedStatus::Open, note),
            _ => {
                let span = span_of_key(map, "status");
                let problem = Problem::warning("UNKNOWN_STATUS", self.file, "", span);
                let message =
                    format!("`{written}` is no status of Task Master, so `{id}` counts as open");
                let hint = "write `done` if it is done, `pending` if it is not";
                self.problems.push(problem.with_message(message, hint));
                (ListedStatus::Open, note)
            }
        }
    }
}

fn priority_of_task(task: &ValueNode) -> f64 {
    match task.get("priority").and_then(ValueNode::text) {
        Some("critical") => 0.0,
        Some("high") => 1.0,
        Some("low") => 3.0,
        Some(_) | None => 2.0,
    }
}

fn words_of_task(task: &ValueNode, parent: Option<ParentTask<'_>>) -> Vec<String> {
    let mut words: Vec<String> = ["description", "details"]
        .iter()
        .filter_map(|key| text_at(task, key))
        .collect();
    for (key, head) in [
        ("acceptanceCriteria", "What must be true in the end:"),
        ("testStrategy", "How it is tested:"),
    ] {
        words.extend(text_at(task, key).map(|text| format!("{head}\n\n{text}")));
    }
    if let Some(ParentTask { id, node }) = parent {
        let title = text_at(node, "title").map_or_else(String::new, |title| format!(": {title}"));
        words.push(format!("It is a part of **{id}**{title}"));
        words.extend(
            ["description", "details"]
                .iter()
                .filter_map(|key| text_at(node, key)),
        );
    }
    words
}

fn mark_of_task(map: &Map) -> StatusMark {
    let [done, open] = ["done", "pending"].map(|status| format!("\"{status}\""));
    if let Some(node) = map.get("status") {
        let at = node.span.start..node.span.end;
        return StatusMark { at, done, open };
    }
    // Behind the last key, where there is no status yet.
    let end = map.pairs.last().map_or(0, |(_, node)| node.span.end);
    StatusMark {
        at: end..end,
        done: format!(", \"status\": {done}"),
        open: String::new(),
    }
}
