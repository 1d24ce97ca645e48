//! Rollout files of Codex: the totals of a thread, and the model of each turn.

use std::collections::BTreeMap;

use jiff::Timestamp;
use piton_core::attempt::Usage;
use serde_json::Value;

use super::{RecordedUsage, SessionScope, UsageCounter, line_time};
use crate::agents::codex::{parse_usage, without_cached_input};

/// What a thread used, and which part of it one attempt did.
#[derive(Debug)]
pub(super) struct ThreadCounter {
    since: Option<Timestamp>,
    /// What it had used before the attempt.
    before: Usage,
    /// What it has used until now.
    total: Option<Usage>,
    /// The model of the present turn.
    model: Option<String>,
    models: BTreeMap<String, Usage>,
}

impl ThreadCounter {
    pub(super) fn new(part: &SessionScope) -> Self {
        Self {
            since: part.since,
            before: part.before.clone().unwrap_or_default(),
            total: None,
            model: None,
            models: BTreeMap::new(),
        }
    }

    fn add_total(&mut self, line: &Value, total: &Usage) {
        let is_earlier = match (self.since, line_time(line)) {
            (Some(since), Some(at)) => at < since,
            (Some(_), None) => true,
            (None, _) => false,
        };
        if is_earlier {
            self.before = self.before.max_of_bounds(total);
            return;
        }
        let known = self.total.clone().unwrap_or_else(|| self.before.clone());
        let now = known.max_of_bounds(total);
        if let Some(model) = &self.model {
            let sum = self.models.entry(model.clone()).or_default();
            *sum = sum.plus(&without_cached_input(now.usage_since(&known)));
        }
        self.total = Some(now);
    }
}

impl UsageCounter for ThreadCounter {
    fn is_relevant(&self, line: &str) -> bool {
        [
            "\"token_count\"",
            "\"token_usage_record\"",
            "\"turn_context\"",
        ]
        .iter()
        .any(|kind| line.contains(kind))
    }

    fn count_line(&mut self, line: &Value) {
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
            self.add_total(line, &parse_usage(total));
        }
    }

    fn recorded_usage(&self) -> RecordedUsage {
        let used = self
            .total
            .as_ref()
            .map(|total| total.usage_since(&self.before));
        RecordedUsage {
            usage: used.map(without_cached_input).unwrap_or_default(),
            models: self.models.clone(),
            total: self.total.clone(),
        }
    }
}
