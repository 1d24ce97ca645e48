//! As much of HTTP/1.1 as the agent programs need: one request a connection.

use std::collections::BTreeMap;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};

/// More than any of the programs sends.
const BODY_BYTES_MAX: u64 = 64 << 20;

/// How long an asker may be silent in the middle of a request.
const PATIENCE: Duration = Duration::from_secs(60);

/// Headers that carry a key.
const KEYS: &[&str] = &["authorization", "x-api-key", "x-goog-api-key", "cookie"];

/// A request.
pub(super) struct Asked {
    pub(super) method: String,
    pub(super) path: String,
    pub(super) headers: BTreeMap<String, String>,
    pub(super) body: Value,
}

/// What is answered.
pub(super) struct Reply {
    pub(super) status: u16,
    pub(super) headers: BTreeMap<String, String>,
    pub(super) body: Body,
}

pub(super) enum Body {
    Whole(String),
    /// Events of a stream, written one by one.
    Events {
        events: Vec<String>,
        delay: Duration,
    },
    /// Never anything.
    Hang,
}

impl Reply {
    pub(super) fn json(status: u16, body: &Value) -> Reply {
        Reply {
            status,
            headers: BTreeMap::from([("content-type".to_owned(), "application/json".to_owned())]),
            body: Body::Whole(body.to_string()),
        }
    }

    pub(super) fn events(events: Vec<String>, delay_ms: u64) -> Reply {
        Reply {
            status: 200,
            headers: BTreeMap::from([("content-type".to_owned(), "text/event-stream".to_owned())]),
            body: Body::Events {
                events,
                delay: Duration::from_millis(delay_ms),
            },
        }
    }

    pub(super) fn hang() -> Reply {
        Reply {
            body: Body::Hang,
            ..Reply::json(200, &Value::Null)
        }
    }

    pub(super) fn with(mut self, headers: &BTreeMap<String, String>) -> Reply {
        let more = headers
            .iter()
            .map(|(name, value)| (name.clone(), value.clone()));
        self.headers.extend(more);
        self
    }
}

/// An event with a name, as Anthropic and `OpenAI` write it.
pub(super) fn event(name: &str, mut data: Value) -> String {
    data["type"] = Value::from(name);
    format!("event: {name}\ndata: {data}\n\n")
}

/// Fits as a list of models, as a count of tokens and as nothing.
pub(super) fn nothing_in_particular() -> Value {
    json!({
        "object": "list", "data": [], "models": [], "has_more": false,
        "input_tokens": 1_234, "totalTokens": 1_234,
    })
}

/// Seconds since 1970: reset times are told in them.
#[expect(
    clippy::disallowed_methods,
    reason = "a reset time is told to a program that looks at the real clock"
)]
pub(super) fn epoch_s() -> i64 {
    jiff::Timestamp::now().as_second()
}

/// Reads a request; none when the asker only knocked.
pub(super) fn read(stream: &TcpStream) -> io::Result<Option<Asked>> {
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut from = BufReader::new(stream);
    let mut line = String::new();
    if from.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut words = line.split_whitespace();
    let (Some(method), Some(path)) = (words.next(), words.next()) else {
        return Ok(None);
    };
    let (method, path) = (method.to_owned(), without_key(path));
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        from.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(':') else {
            break;
        };
        headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    if headers
        .get("expect")
        .is_some_and(|value| value.starts_with("100"))
    {
        let mut to = stream;
        to.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
    }
    let bytes = read_body(&mut from, &headers)?;
    headers.retain(|name, _| !KEYS.contains(&name.as_str()));
    let body = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
    Ok(Some(Asked {
        method,
        path,
        headers,
        body,
    }))
}

fn read_body(
    from: &mut BufReader<&TcpStream>,
    headers: &BTreeMap<String, String>,
) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if headers
        .get("transfer-encoding")
        .is_some_and(|how| how.contains("chunked"))
    {
        loop {
            let mut line = String::new();
            from.read_line(&mut line)?;
            let length = u64::from_str_radix(line.trim(), 16).unwrap_or(0);
            from.by_ref().take(length).read_to_end(&mut bytes)?;
            from.read_line(&mut String::new())?;
            if length == 0 {
                return Ok(bytes);
            }
        }
    }
    let length = headers
        .get("content-length")
        .and_then(|text| text.parse::<u64>().ok());
    let length = length.unwrap_or(0).min(BODY_BYTES_MAX);
    from.by_ref().take(length).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Gemini's key may stand in the address.
fn without_key(path: &str) -> String {
    let Some((path, query)) = path.split_once('?') else {
        return path.to_owned();
    };
    let kept: Vec<&str> = query
        .split('&')
        .filter(|one| !one.starts_with("key="))
        .collect();
    format!("{path}?{}", kept.join("&"))
}

/// Writes an answer; `pause` waits and says whether to go on.
pub(super) fn write(
    mut to: &TcpStream,
    reply: Reply,
    pause: impl Fn(Duration) -> bool,
) -> io::Result<()> {
    let mut head = format!(
        "HTTP/1.1 {} {}\r\nconnection: close\r\n",
        reply.status,
        word(reply.status)
    );
    for (name, value) in &reply.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    match reply.body {
        Body::Whole(text) => {
            write!(to, "{head}content-length: {}\r\n\r\n{text}", text.len())
        }
        Body::Events { events, delay } => {
            write!(to, "{head}\r\n")?;
            for event in events {
                to.write_all(event.as_bytes())?;
                to.flush()?;
                if !delay.is_zero() && !pause(delay) {
                    break;
                }
            }
            Ok(())
        }
        Body::Hang => {
            while pause(PATIENCE) {}
            Ok(())
        }
    }
}

/// The word beside a status; some clients show it.
fn word(status: u16) -> &'static str {
    match status {
        200 => "OK",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        503 => "Service Unavailable",
        529 => "Overloaded",
        _ => "Status",
    }
}
