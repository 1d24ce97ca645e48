//! Session files of Claude Code: one line for each part of a message.

use std::collections::{BTreeMap, HashMap};

use jiff::Timestamp;
use piton_core::attempt::Usage;
use serde_json::Value;

use super::{RecordedUsage, SessionScope, UsageCounter, line_time};
use crate::agents::claude::parse_usage;

/// What the messages used that were written since an attempt started.
#[derive(Debug)]
pub(super) struct MessageCounter {
    since: Option<Timestamp>,
    sum: MessageSum,
}

/// A sum over messages, each of which may be reported several times: the
/// largest report counts.
#[derive(Debug, Default)]
pub(in crate::agents) struct MessageSum {
    messages: HashMap<String, Usage>,
    pub(in crate::agents) usage: Usage,
    pub(in crate::agents) models: BTreeMap<String, Usage>,
}

impl MessageSum {
    /// Takes a report of a message in; whether that changed the sum.
    pub(in crate::agents) fn add(&mut self, id: &str, model: Option<&str>, used: &Usage) -> bool {
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
    pub(super) fn new(part: &SessionScope) -> Self {
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
