//! `OpenAI`'s Responses, as a stream of events.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::http::{Asked, Reply, event};
use super::protocol::{Answer, Protocol};
use super::scenario::{Piece, Usage};

pub(super) const PROTOCOL: Protocol = Protocol {
    aside,
    answer,
    error,
    limit,
};

/// Everything that Codex asks here is a turn.
fn aside(_: &Asked) -> Option<Reply> {
    None
}

fn answer(asked: &Asked, answer: &Answer<'_>) -> Reply {
    let mut events = events(answer.pieces, &asked.body["model"], &answer.usage);
    if answer.is_cut {
        events.pop();
    }
    Reply::events(events, answer.delay_ms)
}

fn events(pieces: &[Piece], model: &Value, usage: &Usage) -> Vec<String> {
    let id = format!("resp_{}", uuid::Uuid::now_v7().simple());
    let begun = json!({"response": {"id": id, "object": "response", "status": "in_progress"}});
    let mut events = vec![event("response.created", begun)];
    let items: Vec<Value> = pieces.iter().map(item).collect();
    for (index, item) in items.iter().enumerate() {
        let place = json!({"output_index": index, "item": item});
        events.push(event("response.output_item.added", place.clone()));
        let text = item["content"][0]["text"].as_str().unwrap_or_default();
        for word in text.split_inclusive(' ') {
            let delta = json!({
                "item_id": item["id"], "output_index": index, "content_index": 0, "delta": word,
            });
            events.push(event("response.output_text.delta", delta));
        }
        events.push(event("response.output_item.done", place));
    }
    let ended = json!({"response": {
        "id": id, "object": "response", "status": "completed", "model": model,
        "output": items, "usage": tokens(usage),
    }});
    events.push(event("response.completed", ended));
    events
}

/// What is read from a cache is a part of the input here.
fn tokens(usage: &Usage) -> Value {
    let input = usage.input + usage.cache_read;
    json!({
        "input_tokens": input,
        "input_tokens_details": {"cached_tokens": usage.cache_read},
        "output_tokens": usage.output,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning},
        "total_tokens": input + usage.output,
    })
}

fn item(piece: &Piece) -> Value {
    let (name, input) = match piece {
        Piece::Text(text) => {
            let id = uuid::Uuid::now_v7().simple();
            return json!({
                "type": "message", "role": "assistant", "id": format!("msg_{id}"),
                "content": [{"type": "output_text", "text": text, "annotations": []}],
            });
        }
        Piece::Shell(command) => ("exec_command", json!({"cmd": command})),
        // A file is written by the shell: the tool for patches comes and goes.
        Piece::Write { path, content } => {
            let path = quoted(path);
            let command = format!("printf %s {} > {path}", quoted(content));
            ("exec_command", json!({"cmd": command}))
        }
        Piece::Agent(prompt) => {
            let input = json!({"message": prompt});
            return call(Some("multi_agent_v1"), "spawn_agent", &input);
        }
        Piece::Mcp {
            server,
            tool,
            input,
        } => return call(Some(&format!("mcp__{server}")), tool, input),
        Piece::Call { name, input } => (name.as_str(), input.clone()),
    };
    call(None, name, &input)
}

/// A tool may be one of a group, which is called a namespace.
fn call(namespace: Option<&str>, name: &str, input: &Value) -> Value {
    let id = uuid::Uuid::now_v7().simple();
    let mut call = json!({
        "type": "function_call", "id": format!("fc_{id}"), "call_id": format!("call_{id}"),
        "name": name, "arguments": input.to_string(),
    });
    if let Some(namespace) = namespace {
        call["namespace"] = Value::from(namespace);
    }
    call
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

pub(super) fn error(status: u16) -> Value {
    let (kind, code, message) = match status {
        401 => (
            "invalid_request_error",
            "invalid_api_key",
            "Incorrect API key provided",
        ),
        429 => (
            "rate_limit_error",
            "rate_limit_exceeded",
            "Rate limit reached",
        ),
        _ => ("server_error", "server_error", "The server had an error"),
    };
    json!({"error": {"message": message, "type": kind, "code": code}})
}

/// As a subscription says that it is used up.
fn limit(resets_in_s: u64) -> Reply {
    let at = super::http::epoch_s().saturating_add_unsigned(resets_in_s);
    let body = json!({"error": {
        "type": "usage_limit_reached", "message": "The usage limit has been reached",
        "plan_type": "pro", "resets_at": at, "resets_in_seconds": resets_in_s,
    }});
    Reply::json(429, &body).with(&BTreeMap::from([(
        "retry-after".to_owned(),
        resets_in_s.to_string(),
    )]))
}
