//! Rollout files of Codex: the totals of a thread, and the model of each turn.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use piton_core::attempt::Usage;
use serde_json::Value;

use crate::agents::session_file::{
    RecordedUsage, SessionFileFormat, SessionScope, UsageCounter, has_name_suffix, line_time,
    list_folder,
};

/// How Codex records its sessions.
pub(super) const FORMAT: SessionFileFormat = SessionFileFormat {
    folder: "sessions",
    find: |folder, conversation| find_file(folder, conversation).into_iter().collect(),
    counter: |scope| Box::new(ThreadCounter::new(scope)),
};

/// The newest one: a thread that goes on is written where it began.
fn find_file(folder: &Path, conversation: &str) -> Option<PathBuf> {
    let end = format!("-{conversation}.jsonl");
    let newest_first = |folder: &Path| {
        let mut folders = list_folder(folder);
        folders.sort_unstable_by(|a, b| b.cmp(a));
        folders
    };
    let years = newest_first(folder).into_iter();
    let months = years.flat_map(|year| newest_first(&year));
    let mut days = months.flat_map(|month| newest_first(&month));
    days.find_map(|day| {
        let mut files = list_folder(&day).into_iter();
        files.find(|path| has_name_suffix(path, &end))
    })
}

/// What a thread used, and which part of it one attempt did.
#[derive(Debug)]
struct ThreadCounter {
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
    fn new(part: &SessionScope) -> Self {
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

/// What a thread used, as Codex counts: cached tokens are input as well.
pub(super) fn parse_usage(usage: &Value) -> Usage {
    Usage {
        input_tokens: usage["input_tokens"].as_u64(),
        output_tokens: usage["output_tokens"].as_u64(),
        cache_read_tokens: usage["cached_input_tokens"].as_u64(),
        cache_write_tokens: usage["cache_write_input_tokens"].as_u64(),
        reasoning_tokens: usage["reasoning_output_tokens"].as_u64(),
        ..Usage::default()
    }
}

/// The same, as piton counts: cached tokens are counted by themselves.
pub(super) fn without_cached_input(usage: Usage) -> Usage {
    let input_holds_cached = true;
    Usage {
        input_holds_cached,
        ..usage
    }
    .without_cached_input()
}
