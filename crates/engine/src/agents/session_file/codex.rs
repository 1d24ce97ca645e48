//! Rollout files of Codex: the totals of a thread, and the model of each turn.

use std::collections::BTreeMap;

use jiff::Timestamp;
use piton_core::attempt::Usage;
use serde_json::Value;

use super::{Counter, Part, RecordedUsage, written_at};
use crate::agents::codex::{fresh, usage};

/// What a thread used, and which part of it one attempt did.
#[derive(Debug)]
pub(super) struct Thread {
    since: Option<Timestamp>,
    /// What it had used before the attempt.
    before: Usage,
    /// What it has used until now.
    total: Option<Usage>,
    /// The model of the present turn.
    model: Option<String>,
    models: BTreeMap<String, Usage>,
}

impl Thread {
    pub(super) fn new(part: &Part) -> Self {
        Self {
            since: part.since,
            before: part.before.clone().unwrap_or_default(),
            total: None,
            model: None,
            models: BTreeMap::new(),
        }
    }

    fn add(&mut self, line: &Value, total: &Usage) {
        let is_earlier = match (self.since, written_at(line)) {
            (Some(since), Some(at)) => at < since,
            (Some(_), None) => true,
            (None, _) => false,
        };
        if is_earlier {
            self.before = self.before.at_least(total);
            return;
        }
        let known = self.total.clone().unwrap_or_else(|| self.before.clone());
        let now = known.at_least(total);
        if let Some(model) = &self.model {
            let sum = self.models.entry(model.clone()).or_default();
            *sum = sum.plus(&fresh(now.since(&known)));
        }
        self.total = Some(now);
    }
}

impl Counter for Thread {
    fn is_of_interest(&self, line: &str) -> bool {
        [
            "\"token_count\"",
            "\"token_usage_record\"",
            "\"turn_context\"",
        ]
        .iter()
        .any(|kind| line.contains(kind))
    }

    fn count(&mut self, line: &Value) {
        let payload = &line["payload"];
        let total = match line["type"].as_str() {
            Some("turn_context") => {
                self.model = payload["model"].as_str().map(str::to_owned);
                return;
            }
            Some("token_usage_record") => &payload["thread_token_usage"],
            Some("event_msg") if payload["type"].as_str() == Some("token_count") => {
                &payload["info"]["total_token_usage"]
            }
            Some(_) | None => return,
        };
        if total.is_object() {
            self.add(line, &usage(total));
        }
    }

    fn recorded(&self) -> RecordedUsage {
        let used = self.total.as_ref().map(|total| total.since(&self.before));
        RecordedUsage {
            usage: used.map(fresh).unwrap_or_default(),
            models: self.models.clone(),
            total: self.total.clone(),
        }
    }
}
