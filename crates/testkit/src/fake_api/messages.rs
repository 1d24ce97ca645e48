//! Anthropic's Messages, as a stream of events or whole.

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

/// Without tools it wants a title or a summary, not the next turn.
fn aside(asked: &Asked) -> Option<Reply> {
    let tools = asked.body["tools"].as_array();
    if tools.is_some_and(|tools| !tools.is_empty()) {
        return None;
    }
    let short = Answer {
        pieces: &[Piece::text("A short answer.")],
        ..Answer::default()
    };
    Some(answer(asked, &short))
}

fn answer(asked: &Asked, answer: &Answer<'_>) -> Reply {
    let usual = match answer.pieces.last() {
        None | Some(Piece::Text(_)) => "end_turn",
        Some(_) => "tool_use",
    };
    let said = Said {
        blocks: blocks(answer.pieces),
        stop: answer.stop.unwrap_or(usual),
        usage: answer.usage,
    };
    if answer.is_cut {
        let mut events = said.events(&asked.body["model"]);
        events.truncate(3);
        return Reply::events(events, 0);
    }
    said.reply(asked, answer.delay_ms)
}

struct Said<'a> {
    blocks: Vec<Value>,
    stop: &'a str,
    usage: Usage,
}

impl Said<'_> {
    fn reply(&self, asked: &Asked, delay_ms: u64) -> Reply {
        let model = &asked.body["model"];
        if asked.body["stream"] == true {
            return Reply::events(self.events(model), delay_ms);
        }
        let mut message = self.message(model);
        message["content"] = Value::from(self.blocks.clone());
        message["stop_reason"] = Value::from(self.stop);
        message["usage"] = tokens(&self.usage, self.usage.output);
        Reply::json(200, &message)
    }

    fn message(&self, model: &Value) -> Value {
        json!({
            "id": format!("msg_{}", uuid::Uuid::now_v7().simple()),
            "type": "message", "role": "assistant", "model": model, "content": [],
            "stop_reason": null, "stop_sequence": null,
            "usage": tokens(&self.usage, 1),
        })
    }

    fn events(&self, model: &Value) -> Vec<String> {
        let mut events = vec![event(
            "message_start",
            json!({"message": self.message(model)}),
        )];
        for (index, block) in self.blocks.iter().enumerate() {
            let (empty, deltas) = in_parts(block);
            let start = json!({"index": index, "content_block": empty});
            events.push(event("content_block_start", start));
            for delta in deltas {
                let delta = json!({"index": index, "delta": delta});
                events.push(event("content_block_delta", delta));
            }
            events.push(event("content_block_stop", json!({"index": index})));
        }
        let end = json!({
            "delta": {"stop_reason": self.stop, "stop_sequence": null},
            "usage": tokens(&self.usage, self.usage.output),
        });
        events.push(event("message_delta", end));
        events.push(event("message_stop", json!({})));
        events
    }
}

/// A block before anything is in it, and what is put in.
fn in_parts(block: &Value) -> (Value, Vec<Value>) {
    let mut empty = block.clone();
    if block["type"] == "text" {
        let text = block["text"].as_str().unwrap_or_default();
        empty["text"] = Value::from("");
        let words = text.split_inclusive(' ');
        let deltas = words.map(|word| json!({"type": "text_delta", "text": word}));
        return (empty, deltas.collect());
    }
    let input = block["input"].to_string();
    empty["input"] = json!({});
    let delta = json!({"type": "input_json_delta", "partial_json": input});
    (empty, vec![delta])
}

fn tokens(usage: &Usage, output: u64) -> Value {
    json!({
        "input_tokens": usage.input,
        "cache_creation_input_tokens": usage.cache_write,
        "cache_read_input_tokens": usage.cache_read,
        "cache_creation": {
            "ephemeral_5m_input_tokens": usage.cache_write,
            "ephemeral_1h_input_tokens": 0,
        },
        "output_tokens": output,
        "service_tier": "standard",
    })
}

fn blocks(pieces: &[Piece]) -> Vec<Value> {
    pieces.iter().map(block).collect()
}

fn block(piece: &Piece) -> Value {
    let of_server;
    let (name, input) = match piece {
        Piece::Text(text) => return json!({"type": "text", "text": text}),
        Piece::Shell(command) => (
            "Bash",
            json!({"command": command, "description": "a command of the script"}),
        ),
        Piece::Write { path, content } => ("Write", json!({"file_path": path, "content": content})),
        Piece::Agent(prompt) => (
            "Agent",
            json!({"description": "a part of it", "prompt": prompt, "subagent_type": "general-purpose"}),
        ),
        Piece::Mcp {
            server,
            tool,
            input,
        } => {
            of_server = format!("mcp__{server}__{tool}");
            (of_server.as_str(), input.clone())
        }
        Piece::Call { name, input } => (name.as_str(), input.clone()),
    };
    let id = format!("toolu_{}", uuid::Uuid::now_v7().simple());
    json!({"type": "tool_use", "id": id, "name": name, "input": input})
}

fn error(status: u16) -> Value {
    let (kind, message) = match status {
        400 => ("invalid_request_error", "a request that cannot be"),
        401 => ("authentication_error", "invalid x-api-key"),
        403 => ("permission_error", "not allowed"),
        404 => ("not_found_error", "no such model"),
        429 => ("rate_limit_error", "too many requests"),
        529 => ("overloaded_error", "Overloaded"),
        _ => ("api_error", "Internal server error"),
    };
    json!({
        "type": "error",
        "error": {"type": kind, "message": message},
        "request_id": "req_fake",
    })
}

/// As a subscription says that its five hours are used up.
fn limit(resets_in_s: u64) -> Reply {
    let at = super::http::epoch_s().saturating_add_unsigned(resets_in_s);
    let headers = [
        ("retry-after", resets_in_s.to_string()),
        ("anthropic-ratelimit-unified-status", "rejected".to_owned()),
        ("anthropic-ratelimit-unified-reset", at.to_string()),
        (
            "anthropic-ratelimit-unified-representative-claim",
            "five_hour".to_owned(),
        ),
        (
            "anthropic-ratelimit-unified-fallback",
            "unavailable".to_owned(),
        ),
    ];
    let headers = headers.map(|(name, value)| (name.to_owned(), value));
    Reply::json(429, &error(429)).with(&BTreeMap::from(headers))
}
