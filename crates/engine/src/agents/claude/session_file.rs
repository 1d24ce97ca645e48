//! Session files of Claude Code: one line for each part of a message.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use piton_core::attempt::Usage;
use serde_json::Value;

use crate::agents::session_file::{
    RecordedUsage, SessionFileFormat, SessionScope, UsageCounter, has_name_suffix, line_time,
    list_folder,
};

/// How Claude Code records its sessions.
pub(super) const FORMAT: SessionFileFormat = SessionFileFormat {
    folder: "projects",
    find: find_files,
    counter: |scope| Box::new(MessageCounter::new(scope)),
};

/// That of the agent, and those of the agents that it lets work.
fn find_files(folder: &Path, conversation: &str) -> Vec<PathBuf> {
    let name = format!("{conversation}.jsonl");
    let mut found = Vec::new();
    for project in list_folder(folder) {
        let own = project.join(&name);
        if own.is_file() {
            found.push(own);
        }
        let below = list_folder(&project.join(conversation).join("subagents"));
        found.extend(
            below
                .into_iter()
                .filter(|path| has_name_suffix(path, ".jsonl")),
        );
    }
    found
}

/// What the messages used that were written since an attempt started.
#[derive(Debug)]
struct MessageCounter {
    since: Option<Timestamp>,
    sum: MessageSum,
}

/// A sum over messages, each of which may be reported several times: the
/// largest report counts.
#[derive(Debug, Default)]
pub(super) struct MessageSum {
    messages: HashMap<String, Usage>,
    pub(super) usage: Usage,
    pub(super) models: BTreeMap<String, Usage>,
}

impl MessageSum {
    /// Takes a report of a message in; whether that changed the sum.
    pub(super) fn add(&mut self, id: &str, model: Option<&str>, used: &Usage) -> bool {
        // A message that the program made up itself asked no model.
        if model == Some("<synthetic>") {
            return false;
        }
        let before = self.messages.get(id).cloned().unwrap_or_default();
        let now = before.max_of_bounds(used);
        if now == before {
            return false;
        }
        let more = now.usage_since(&before);
        self.usage = self.usage.plus(&more);
        if let Some(model) = model.filter(|model| !model.is_empty()) {
            let sum = self.models.entry(model.to_owned()).or_default();
            *sum = sum.plus(&more);
        }
        self.messages.insert(id.to_owned(), now);
        true
    }
}

impl MessageCounter {
    fn new(part: &SessionScope) -> Self {
        Self {
            since: part.since,
            sum: MessageSum::default(),
        }
    }
}

impl UsageCounter for MessageCounter {
    fn is_relevant(&self, line: &str) -> bool {
        line.contains("\"assistant\"") && line.contains("\"usage\"")
    }

    fn count_line(&mut self, line: &Value) {
        let message = &line["message"];
        let is_answer = line["type"].as_str() == Some("assistant") && message["usage"].is_object();
        let is_own = match self.since {
            Some(since) => line_time(line).is_some_and(|at| at >= since),
            None => true,
        };
        if let Some(id) = message["id"].as_str()
            && is_answer
            && is_own
        {
            let model = message["model"].as_str();
            self.sum.add(id, model, &parse_usage(&message["usage"]));
        }
    }

    fn recorded_usage(&self) -> RecordedUsage {
        RecordedUsage {
            usage: self.sum.usage.clone(),
            models: self.sum.models.clone(),
            total: None,
        }
    }
}

/// What a message used, as the service reports it.
pub(super) fn parse_usage(usage: &Value) -> Usage {
    Usage {
        input_tokens: usage["input_tokens"].as_u64(),
        output_tokens: usage["output_tokens"].as_u64(),
        cache_read_tokens: usage["cache_read_input_tokens"].as_u64(),
        cache_write_tokens: usage["cache_creation_input_tokens"].as_u64(),
        ..Usage::default()
    }
}
