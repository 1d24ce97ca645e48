//! Google's `generateContent`, whole or as a stream of parts.

use serde_json::{Value, json};

use super::http::{Asked, Reply};
use super::protocol::{Answer, Protocol};
use super::scenario::{Piece, Usage};

pub(super) const PROTOCOL: Protocol = Protocol {
    aside,
    answer,
    error,
    limit,
};

/// The program asks aside which model is to answer and who speaks next; what
/// it wants then is JSON of its own shape, or it offers no tools.
fn aside(asked: &Asked) -> Option<Reply> {
    let wants_json = asked.body["generationConfig"]["responseMimeType"] == "application/json";
    let tools = asked.body["tools"].as_array();
    let has_tools = tools.is_some_and(|tools| !tools.is_empty());
    if has_tools && !wants_json {
        return None;
    }
    let text = json!({
        "reasoning": "simple", "next_speaker": "user", "model_choice": "flash",
        "complexity_reasoning": "simple", "complexity_score": 1,
    });
    let pieces = [Piece::Text(text.to_string())];
    let short = Answer {
        pieces: &pieces,
        ..Answer::default()
    };
    Some(answer(asked, &short))
}

fn answer(asked: &Asked, answer: &Answer<'_>) -> Reply {
    let model = model(&asked.path);
    let parts: Vec<Value> = answer.pieces.iter().flat_map(parts).collect();
    let end = (&answer.usage, answer.stop);
    if !asked.path.contains("streamGenerateContent") {
        return Reply::json(200, &whole(&model, &parts, Some(end)));
    }
    let last = parts.len().saturating_sub(1);
    let mut events: Vec<String> = parts
        .iter()
        .enumerate()
        .map(|(at, part)| {
            let end = (at == last).then_some(end);
            format!(
                "data: {}\n\n",
                whole(&model, std::slice::from_ref(part), end)
            )
        })
        .collect();
    if answer.is_cut {
        events.pop();
    }
    Reply::events(events, answer.delay_ms)
}

fn whole(model: &str, parts: &[Value], end: Option<(&Usage, Option<&str>)>) -> Value {
    let mut candidate = json!({"content": {"role": "model", "parts": parts}, "index": 0});
    let mut whole = json!({"modelVersion": model});
    if let Some((usage, stop)) = end {
        candidate["finishReason"] = Value::from(stop.unwrap_or("STOP"));
        whole["usageMetadata"] = tokens(usage);
    }
    whole["candidates"] = json!([candidate]);
    whole
}

/// What is read from a cache is a part of the prompt here.
fn tokens(usage: &Usage) -> Value {
    let prompt = usage.input + usage.cache_read;
    json!({
        "promptTokenCount": prompt,
        "cachedContentTokenCount": usage.cache_read,
        "candidatesTokenCount": usage.output,
        "thoughtsTokenCount": usage.reasoning,
        "totalTokenCount": prompt + usage.output + usage.reasoning,
    })
}

/// Words come one by one, so that a slow answer is slow.
fn parts(piece: &Piece) -> Vec<Value> {
    let of_server;
    let (name, args) = match piece {
        Piece::Text(text) => {
            let words = text.split_inclusive(' ');
            return words.map(|word| json!({"text": word})).collect();
        }
        Piece::Shell(command) => (
            "run_shell_command",
            json!({"command": command, "description": "a command"}),
        ),
        Piece::Write { path, content } => {
            ("write_file", json!({"file_path": path, "content": content}))
        }
        Piece::Agent(prompt) => (
            "invoke_agent",
            json!({"agent_name": "generalist", "prompt": prompt}),
        ),
        Piece::Mcp {
            server,
            tool,
            input,
        } => {
            of_server = format!("mcp_{server}_{tool}");
            (of_server.as_str(), input.clone())
        }
        Piece::Call { name, input } => (name.as_str(), input.clone()),
    };
    vec![json!({"functionCall": {"name": name, "args": args}})]
}

/// `/v1beta/models/NAME:streamGenerateContent`
fn model(path: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or_default();
    name.split(':').next().unwrap_or_default().to_owned()
}

fn error(status: u16) -> Value {
    let (word, message) = match status {
        400 => ("INVALID_ARGUMENT", "Request contains an invalid argument."),
        401 => ("UNAUTHENTICATED", "API keys are not supported by this API."),
        403 => ("PERMISSION_DENIED", "The caller does not have permission"),
        429 => ("RESOURCE_EXHAUSTED", "Resource has been exhausted"),
        503 => (
            "UNAVAILABLE",
            "The model is overloaded. Please try again later.",
        ),
        _ => ("INTERNAL", "An internal error has occurred."),
    };
    json!({"error": {"code": status, "message": message, "status": word}})
}

/// As the day's share that is used up.
fn limit(resets_in_s: u64) -> Reply {
    let body = json!({"error": {
        "code": 429, "status": "RESOURCE_EXHAUSTED",
        "message": format!(
            "You exceeded your current quota, please check your plan and billing details. \
             Please retry in {resets_in_s}s."
        ),
        "details": [
            {
                "@type": "type.googleapis.com/google.rpc.QuotaFailure",
                "violations": [{
                    "quotaMetric": "generativelanguage.googleapis.com/generate_content_requests",
                    "quotaId": "GenerateRequestsPerDayPerProjectPerModel",
                }],
            },
            {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": format!("{resets_in_s}s")},
        ],
    }});
    Reply::json(429, &body)
}
