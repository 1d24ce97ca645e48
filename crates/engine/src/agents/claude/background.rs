//! Work that Claude Code does in the background, as its stream reports it.
//!
//! A command or a sub-agent in the background outlives the turn that began it,
//! and a turn that ends before it has not seen what came of it.

use std::collections::BTreeMap;

use serde_json::Value;

/// Longest description that is kept of a task, in characters.
const DESCRIPTION_CHARS_MAX: usize = 80;
/// So many tasks are named.
const NAMED_MAX: usize = 5;

/// How a task says that it goes on.
const GOES_ON: &[&str] = &["pending", "running", "in_progress", "paused"];

/// A task that has not ended.
#[derive(Debug)]
struct BackgroundTask {
    description: String,
    /// The call that began it.
    call: String,
}

/// The tasks that have begun and not ended, by id.
#[derive(Debug, Default)]
pub(super) struct BackgroundTasks {
    tasks: BTreeMap<String, BackgroundTask>,
}

impl BackgroundTasks {
    /// Takes a line of the type `system` in.
    pub(super) fn handle_system(&mut self, event: &Value) {
        let text = |key: &str| event[key].as_str().unwrap_or("");
        match text("subtype") {
            "task_started" => {
                self.add_task(text("task_id"), text("description"), text("tool_use_id"))
            }
            "task_notification" => {
                self.tasks.remove(text("task_id"));
            }
            "task_updated" => {
                let status = event["patch"]["status"].as_str();
                if status.is_some_and(|status| !GOES_ON.contains(&status)) {
                    self.tasks.remove(text("task_id"));
                }
            }
            // What the program itself keeps as the tasks that go on.
            "background_tasks_changed" => self.replace_tasks(&event["tasks"]),
            _ => {}
        }
    }

    /// Takes the result of a call in: a task that was not moved to the
    /// background is over with the call that began it.
    pub(super) fn handle_call_result(&mut self, call: &str, result: &Value) {
        let background = result["backgroundTaskId"].as_str();
        if let Some(id) = background {
            if !self.tasks.contains_key(id) {
                self.add_task(id, "a command", call);
            }
            return;
        }
        let status = result["status"].as_str().unwrap_or("");
        let is_async = result["isAsync"].as_bool() == Some(true) || status.ends_with("_launched");
        if !is_async {
            self.tasks.retain(|_, task| task.call != call);
        }
    }

    /// What has not ended, in the words of the agent; the first ones and how
    /// many more.
    pub(super) fn pending_tasks(&self) -> Vec<String> {
        let tasks = self.tasks.values();
        let mut named: Vec<String> = tasks
            .take(NAMED_MAX)
            .map(|task| task.description.clone())
            .collect();
        let more = self.tasks.len().saturating_sub(NAMED_MAX);
        if more > 0 {
            named.push(format!("{more} more"));
        }
        named
    }

    pub(super) fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }

    fn add_task(&mut self, id: &str, description: &str, call: &str) {
        if id.is_empty() {
            return;
        }
        let line = description.lines().next().unwrap_or_default().trim();
        let line = if line.is_empty() { "a task" } else { line };
        let task = BackgroundTask {
            description: line.chars().take(DESCRIPTION_CHARS_MAX).collect(),
            call: call.to_owned(),
        };
        self.tasks.insert(id.to_owned(), task);
    }

    fn replace_tasks(&mut self, tasks: &Value) {
        let Some(tasks) = tasks.as_array() else {
            return;
        };
        let mut before = std::mem::take(&mut self.tasks);
        // What goes on by itself, such as a watcher, is not the agent's work.
        let is_work = |task: &&Value| task["ambient"].as_bool() != Some(true);
        for task in tasks.iter().filter(is_work) {
            let id = task["task_id"].as_str().unwrap_or("");
            match before.remove(id) {
                Some(known) => {
                    self.tasks.insert(id.to_owned(), known);
                }
                None => self.add_task(id, task["description"].as_str().unwrap_or(""), ""),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn started(id: &str, call: &str) -> Value {
        json!({"subtype": "task_started", "task_id": id, "tool_use_id": call,
               "description": format!("task {id}")})
    }

    fn pending(events: &[Value]) -> String {
        let mut background = BackgroundTasks::default();
        for event in events {
            background.handle_system(event);
        }
        background.pending_tasks().join(",")
    }

    #[test]
    fn a_task_is_pending_until_its_end_is_reported() {
        let updated = |status: &str| json!({"subtype": "task_updated", "task_id": "a", "patch": {"status": status}});
        let notified = json!({"subtype": "task_notification", "task_id": "a", "status": "stopped"});
        assert_eq!(pending(&[started("a", "c")]), "task a");
        assert_eq!(pending(&[started("a", "c"), updated("running")]), "task a");
        assert_eq!(pending(&[started("a", "c"), updated("killed")]), "");
        assert_eq!(pending(&[started("a", "c"), notified]), "");
    }

    #[test]
    fn a_call_that_returned_leaves_a_task_only_in_the_background() {
        let after = |result: Value| {
            let mut background = BackgroundTasks::default();
            background.handle_system(&started("a", "c"));
            background.handle_call_result("c", &result);
            background.pending_tasks().join(",")
        };
        assert_eq!(after(json!({"stdout": "done"})), "");
        assert_eq!(after(json!({"backgroundTaskId": "a"})), "task a");
        assert_eq!(after(json!({"backgroundTaskId": "b"})), "task a,a command");
        assert_eq!(after(json!({"isAsync": true})), "task a");
        assert_eq!(after(json!({"status": "async_launched"})), "task a");
        assert_eq!(after(Value::Null), "");
    }

    #[test]
    fn the_list_of_the_program_goes_before_what_was_seen() {
        let list = json!({"subtype": "background_tasks_changed", "tasks": [
            {"task_id": "b", "description": "task b"},
            {"task_id": "w", "description": "a watcher", "ambient": true}]});
        assert_eq!(pending(&[started("a", "c"), list]), "task b");
    }

    #[test]
    fn many_tasks_are_counted() {
        let many: Vec<Value> = (0..8).map(|id| started(&id.to_string(), "c")).collect();
        assert!(pending(&many).ends_with("task 4,3 more"));
    }
}
