//! The prompts, as agents get them: each kind of plan, each role.
//!
//! Every snapshot begins with the length in tokens, counted as
//! `piton prepare --max-tokens` counts.

mod advice;
mod plans;
mod roles;
mod texts;

use piton_core::attempt::Outcome;
use piton_core::earlier_work::FailedTry;
use piton_core::memory::MemoryOrigin;
use piton_core::observation::{Observation, ObservationCategory, ObservationKind};
use piton_core::prepare::{PreparedContext, PreparedNote, Section, estimate_tokens};
use piton_core::{ItemRow, Node, RunId};
use piton_engine::agents::prompt::{CommitBy, DoneItem, Level, PromptHistory, PromptInput};
use serde_json::{Value, json};

/// A prompt under its length.
fn measured(prompt: &str) -> String {
    format!("[{} tokens]\n{prompt}", estimate_tokens(prompt))
}

/// In which group of a row a field is that these tests set.
fn group_of_field(field: &str) -> Option<&'static str> {
    match field {
        "id" | "prompt" | "gate" | "native" => Some("plan"),
        "retries" | "recovery" => Some("tries"),
        "answer" => Some("people"),
        "gate_runs" | "evidence" => Some("proof"),
        _ => None,
    }
}

/// An item at work, with these fields beside the usual.
fn item(node: &str, more: &Value) -> ItemRow {
    let mut row = json!({
        "run": RunId::PROJECT, "node": node, "state": "working", "attempts": 1,
        "plan": { "id": node.rsplit('/').next(), "place": [0] },
    });
    for (field, value) in more.as_object().expect("an object") {
        match group_of_field(field) {
            Some(group) => row[group][field] = value.clone(),
            None => row[field] = value.clone(),
        }
    }
    serde_json::from_value(row).expect("an item")
}

fn gate(script: &str) -> Value {
    json!({"script": script, "on_fail_prompt": "Mend it.", "runs_max": 3, "timeout_s": 60})
}

fn level(id: &str, prompt: &str, index: u32, total: u32) -> Level {
    Level {
        id: id.to_owned(),
        prompt: prompt.to_owned(),
        index,
        total,
    }
}

/// A sub-phase of a step.
fn sub_phase(more: &Value) -> ItemRow {
    let mut fields = json!({"prompt": "Review what was written for the login."});
    let own = fields.as_object_mut().expect("an object");
    own.extend(more.as_object().expect("an object").clone());
    item("build/login/review", &fields)
}

fn of_sub_phase(item: &ItemRow) -> PromptInput<'_> {
    PromptInput {
        levels: vec![
            level("build", "", 2, 3),
            level("login", "A login with JWT.\nTokens last an hour.", 1, 2),
            level("review", "", 2, 2),
        ],
        commit_by: CommitBy::Piton,
        ..PromptInput::of_first_attempt("auth", item)
    }
}

fn failed(attempt: u32, error: &str) -> FailedTry {
    FailedTry {
        attempt: Some(attempt),
        outcome: Outcome::Failed,
        error: error.to_owned(),
        by_check: error.starts_with("its check failed"),
    }
}

fn note(section: Section, id: Option<&str>, text: &str) -> PreparedNote {
    PreparedNote {
        section,
        id: id.map(str::to_owned),
        text: text.to_owned(),
        origin: id.map(|_| MemoryOrigin::of_file(".ralph/guardrails.md")),
        why: Vec::new(),
    }
}

fn known(notes: Vec<PreparedNote>) -> PreparedContext {
    PreparedContext {
        item: "build/login/review".to_owned(),
        iteration: 1,
        retry_count: 0,
        notes,
        left_out: 0,
    }
}

fn finding(title: &str, description: &str) -> Observation {
    Observation {
        category: Some(ObservationCategory::Bug),
        description: Some(description.to_owned()),
        ..Observation::bare(ObservationKind::Finding, title)
    }
}

/// Two items that were done, and what one of them noticed.
fn done() -> PromptHistory {
    PromptHistory {
        done: vec![
            DoneItem {
                node: "plan".to_owned(),
                summary: Some("wrote plan.txt\nand more".to_owned()),
                files: Some(1),
                commit: Some("1a2b3c4d5e6f7a8b".to_owned()),
            },
            DoneItem {
                node: "build/login/code".to_owned(),
                summary: Some("JWT login in src/auth.rs".to_owned()),
                files: Some(4),
                commit: None,
            },
        ],
        noticed: vec![(
            "plan".to_owned(),
            finding("The seed data is wrong in row 7", "ship must not copy it"),
        )],
        ..PromptHistory::default()
    }
}
