//! `OpenAI`'s Chat Completions, as a stream of events: what programs speak that
//! let their users choose a service.
//!
//! Several programs ask here, with tools of their own names: a piece becomes a
//! call of the tool that the request offers.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::http::{Asked, Reply};
use super::protocol::{Answer, Protocol};
use super::scenario::{Piece, Usage};

pub(super) const PROTOCOL: Protocol = Protocol {
    aside,
    answer,
    error: super::responses::error,
    limit,
};

/// The names that programs have for a shell.
const SHELLS: &[&str] = &["run_shell_command", "bash"];
/// The names that programs have for writing a file, each with its names of the
/// path and of the content.
const WRITERS: &[(&str, &str, &str)] = &[
    ("write_file", "file_path", "content"),
    ("write", "filePath", "content"),
    ("create", "path", "file_text"),
];

/// How Qwen Code begins its question what is worth remembering of a conversation.
const MEMORY: &str = "Managed memory directory: ";

/// Without tools it wants a title or a summary, not the next turn; nor is it one
/// what the program remembers.
fn aside(asked: &Asked) -> Option<Reply> {
    let tools = asked.body["tools"].as_array();
    let messages = asked.body["messages"].as_array();
    let last = messages.and_then(|messages| messages.last());
    let is_memory = last.is_some_and(|last| last.to_string().contains(MEMORY));
    let has_tools = tools.is_some_and(|tools| !tools.is_empty()) && !is_memory;
    let short = Answer {
        pieces: &[Piece::text("A short answer.")],
        ..Answer::default()
    };
    (!has_tools).then(|| answer(asked, &short))
}

fn answer(asked: &Asked, answer: &Answer<'_>) -> Reply {
    let parts = parts(asked, answer.pieces, answer.stop);
    let mut events = parts.events(&answer.usage);
    if answer.is_cut {
        events.truncate(1);
    }
    Reply::events(events, answer.delay_ms)
}

/// An answer: its parts, and why it ends.
struct ChatParts {
    model: Value,
    deltas: Vec<Value>,
    finish: &'static str,
}

fn parts(asked: &Asked, pieces: &[Piece], stop: Option<&str>) -> ChatParts {
    let mut calls = 0;
    let mut deltas = Vec::new();
    for piece in pieces {
        if let Piece::Text(text) = piece {
            let words = text.split_inclusive(' ');
            deltas.extend(words.map(|word| json!({"content": word})));
            continue;
        }
        let (name, input) = tool_call(&asked.body["tools"], piece);
        let id = format!("call_{}", uuid::Uuid::now_v7().simple());
        deltas.push(json!({"tool_calls": [{
            "index": calls, "id": id, "type": "function",
            "function": {"name": name, "arguments": input.to_string()},
        }]}));
        calls += 1;
    }
    let finish = match stop {
        Some("max_tokens") => "length",
        Some(_) => "content_filter",
        None if calls > 0 => "tool_calls",
        None => "stop",
    };
    ChatParts {
        model: asked.body["model"].clone(),
        deltas,
        finish,
    }
}

impl ChatParts {
    fn events(&self, usage: &Usage) -> Vec<String> {
        let id = format!("chatcmpl-{}", uuid::Uuid::now_v7().simple());
        let chunk = |choices: Value, usage: Value| {
            let chunk = json!({
                "id": id, "object": "chat.completion.chunk", "created": super::http::epoch_s(),
                "model": self.model, "choices": choices, "usage": usage,
            });
            format!("data: {chunk}\n\n")
        };
        let choice = |delta: &Value, finish: Option<&str>| {
            let choice = json!([{"index": 0, "delta": delta, "finish_reason": finish}]);
            chunk(choice, Value::Null)
        };
        let mut events = vec![choice(&json!({"role": "assistant", "content": ""}), None)];
        events.extend(self.deltas.iter().map(|delta| choice(delta, None)));
        events.push(choice(&json!({}), Some(self.finish)));
        events.push(chunk(json!([]), tokens(usage)));
        events.push("data: [DONE]\n\n".to_owned());
        events
    }
}

/// What is read from a cache is a part of the prompt here.
fn tokens(usage: &Usage) -> Value {
    let prompt = usage.input + usage.cache_read;
    json!({
        "prompt_tokens": prompt,
        "prompt_tokens_details": {"cached_tokens": usage.cache_read},
        "completion_tokens": usage.output,
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning},
        "total_tokens": prompt + usage.output,
    })
}

fn tool_call(tools: &Value, piece: &Piece) -> (String, Value) {
    let is_offered = |name: &str| {
        let mut tools = tools.as_array().into_iter().flatten();
        tools.any(|tool| tool["function"]["name"] == name)
    };
    match piece {
        Piece::Text(text) => (String::new(), Value::from(text.as_str())),
        Piece::Shell(command) => {
            let name = SHELLS.iter().find(|name| is_offered(name));
            let input = json!({
                "command": command, "description": "a command", "is_background": false,
            });
            ((*name.unwrap_or(&SHELLS[0])).to_owned(), input)
        }
        Piece::Write { path, content } => {
            let writer = WRITERS.iter().find(|(name, ..)| is_offered(name));
            let (name, path_key, content_key) = writer.unwrap_or(&WRITERS[0]);
            let input = json!({*path_key: path, *content_key: content});
            ((*name).to_owned(), input)
        }
        Piece::Agent(prompt) => {
            let input = json!({
                "description": "a task", "prompt": prompt, "subagent_type": "general-purpose",
            });
            ("task".to_owned(), input)
        }
        Piece::Mcp {
            server,
            tool,
            input,
        } => (format!("mcp__{server}__{tool}"), input.clone()),
        Piece::Call { name, input } => (name.clone(), input.clone()),
    }
}

/// As an account says that its quota is used up.
fn limit(resets_in_s: u64) -> Reply {
    let body = json!({"error": {
        "message": format!(
            "You exceeded your current quota, please check your plan and billing details. \
             Please try again in {resets_in_s}s."
        ),
        "type": "insufficient_quota", "param": null, "code": "insufficient_quota",
    }});
    Reply::json(429, &body).with(&BTreeMap::from([(
        "retry-after".to_owned(),
        resets_in_s.to_string(),
    )]))
}
