//! The lines of a client, before the protocol: what is no request is answered as
//! JSON-RPC wants it, and the next line is read.
//!
//! `rmcp` passes over a line that it cannot read, so that a client waits for an answer
//! that never comes. Only lines that are messages reach it. An id that it would not give
//! back as it stands (a fraction, a number too great for it, `null`) passes it as a
//! string. The server asks nothing of the client, so answers of the client end here.

use std::sync::Arc;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Map, Value, json};
use tokio::io::{
    AsyncBufRead, AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWrite,
    AsyncWriteExt as _, BufReader, DuplexStream, duplex,
};
use tokio::sync::Mutex;
use tokio::task::JoinHandle;

/// The longest line of a client, in bytes.
const LINE_BYTES_MAX: usize = 16 << 20;
/// So much is on its way between the lines and the protocol.
const PIPE_BYTES: usize = 64 << 10;

const PARSE_ERROR: i32 = -32_700;
const INVALID_REQUEST: i32 = -32_600;
const INVALID_PARAMS: i32 = -32_602;

/// What the parameters of a method are: each key with what its value must be.
type ParamsShape = (&'static str, &'static [(&'static str, ParamShape)]);

#[derive(Clone, Copy, PartialEq, Eq)]
enum ParamShape {
    Text,
    OptionalText,
    OptionalObject,
}

/// The parameters of the methods of this server that have some.
const PARAMS: &[ParamsShape] = &[
    (
        "tools/call",
        &[
            ("name", ParamShape::Text),
            ("arguments", ParamShape::OptionalObject),
        ],
    ),
    ("resources/read", &[("uri", ParamShape::Text)]),
    ("tools/list", &[("cursor", ParamShape::OptionalText)]),
    ("resources/list", &[("cursor", ParamShape::OptionalText)]),
];

/// What an id begins with that passes the protocol as a string: its text follows.
const ID_PREFIX: &str = "piton-id:";

/// What is wrong with a line.
#[derive(Debug, PartialEq)]
struct LineError {
    code: i32,
    message: String,
    /// The id of the request as JSON, where it could be read; `null` otherwise.
    id: String,
}

impl LineError {
    fn new(code: i32, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            id: Value::Null.to_string(),
        }
    }

    fn to_line(&self) -> String {
        let error = json!({ "code": self.code, "message": self.message });
        format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":{},\"error\":{error}}}\n",
            self.id
        )
    }
}

/// The message of JSON-RPC 2.0 that a line is, for the protocol; none where it is not
/// answered whatever it holds.
fn read_message(line: &[u8]) -> Result<Option<String>, LineError> {
    let value: Value = serde_json::from_slice(line)
        .map_err(|error| LineError::new(PARSE_ERROR, format!("the line is no JSON: {error}")))?;
    // What was read as JSON is UTF-8.
    let line = std::str::from_utf8(line).unwrap_or_default();
    let Value::Object(mut message) = value else {
        let what = "a message is a JSON object";
        return Err(LineError::new(INVALID_REQUEST, what));
    };
    let is_answer = message.contains_key("result") || message.contains_key("error");
    if is_answer && !message.contains_key("method") {
        return Ok(None);
    }
    let checked = check_message(&message);
    let Some(id) = message.get_mut("id") else {
        return match checked {
            Ok(()) => {
                let passes = wrap_cancelled_id(&mut message, line);
                Ok(passes.then(|| Value::Object(message).to_string()))
            }
            // A notification, whatever its parameters are.
            Err(error) if error.code == INVALID_PARAMS => Ok(None),
            Err(error) => Err(error),
        };
    };
    let Some(text) = text_of_id(id, || text_of_member(line, "id")) else {
        let what = "`id` is a string or a number";
        return Err(LineError::new(INVALID_REQUEST, what));
    };
    checked.map_err(|error| LineError {
        id: text.clone(),
        ..error
    })?;
    wrap_id(id, &text);
    // Written anew: of two members of one name the last counts, and the protocol sees one.
    Ok(Some(Value::Object(message).to_string()))
}

/// How an id is written; none where it is no id.
fn text_of_id<'t>(id: &Value, written: impl FnOnce() -> Option<&'t str>) -> Option<String> {
    match id {
        // A whole number has one way of writing; of others the value holds a rounded one.
        Value::Number(number) if !number.is_i64() => {
            Some(written().map_or_else(|| id.to_string(), str::to_owned))
        }
        Value::Number(_) | Value::String(_) | Value::Null => Some(id.to_string()),
        Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Makes an id that is written like this one that the protocol gives back as it stands.
fn wrap_id(id: &mut Value, text: &str) {
    let passes = id.is_i64() || id.as_str().is_some_and(|id| !id.starts_with(ID_PREFIX));
    if !passes {
        *id = Value::String(format!("{ID_PREFIX}{text}"));
    }
}

/// Names a request that is cancelled as the protocol knows it. Whether the notification
/// passes: one that names no id cancels nothing.
fn wrap_cancelled_id(message: &mut Map<String, Value>, line: &str) -> bool {
    if message.get("method").and_then(Value::as_str) != Some("notifications/cancelled") {
        return true;
    }
    let params = message.get_mut("params");
    let Some(id) = params.and_then(|params| params.get_mut("requestId")) else {
        return false;
    };
    let written = || text_of_member(text_of_member(line, "params")?, "requestId");
    let text = text_of_id(id, written);
    text.inspect(|text| wrap_id(id, text)).is_some()
}

/// How the last member of this name of a JSON object is written.
fn text_of_member<'t>(object: &'t str, member: &str) -> Option<&'t str> {
    let mut rest = object.trim_start().strip_prefix('{')?;
    let mut found = None;
    loop {
        let key = rest.trim_start();
        let key = key.strip_prefix(',').unwrap_or(key);
        let Some((name, after)) = split_value::<String>(key) else {
            return found;
        };
        let value = after.trim_start().strip_prefix(':')?;
        let (_, after) = split_value::<IgnoredAny>(value)?;
        if name == member {
            found = Some(value[..value.len() - after.len()].trim());
        }
        rest = after;
    }
}

/// The JSON value that a text begins with, and what follows it.
fn split_value<'t, T: Deserialize<'t>>(text: &'t str) -> Option<(T, &'t str)> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter();
    let value = values.next()?.ok()?;
    Some((value, &text[values.byte_offset()..]))
}

/// An answer of the protocol, with the id of the request as the client wrote it; none
/// where it has that.
fn restore_id(answer: &[u8]) -> Option<String> {
    let prefix = ID_PREFIX.as_bytes();
    answer
        .windows(prefix.len())
        .find(|bytes| *bytes == prefix)?;
    let mut answer: Map<String, Value> = serde_json::from_slice(answer).ok()?;
    let id = answer.get("id")?.as_str()?.strip_prefix(ID_PREFIX)?;
    let id = id.to_owned();
    answer.shift_remove("id");
    let rest = Value::Object(answer).to_string();
    Some(format!("{{\"id\":{id},{}\n", rest.strip_prefix('{')?))
}

fn check_message(message: &Map<String, Value>) -> Result<(), LineError> {
    let invalid = |what: &str| Err(LineError::new(INVALID_REQUEST, what));
    if message.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return invalid("`jsonrpc` is \"2.0\"");
    }
    let method = match message.get("method") {
        Some(Value::String(method)) => method,
        Some(_) => return invalid("`method` is a string"),
        None => return invalid("a request has a `method`"),
    };
    let params = match message.get("params") {
        None => None,
        Some(Value::Object(params)) => Some(params),
        Some(_) => return Err(LineError::new(INVALID_PARAMS, "`params` is an object")),
    };
    let shape = PARAMS.iter().find(|(name, _)| name == method);
    for (key, shape) in shape.map_or(&[][..], |(_, shape)| shape) {
        let value = params.and_then(|params| params.get(*key));
        let value = value.filter(|value| !value.is_null());
        let wanted = match (shape, value) {
            (ParamShape::Text | ParamShape::OptionalText, Some(Value::String(_)))
            | (ParamShape::OptionalObject, Some(Value::Object(_)))
            | (ParamShape::OptionalText | ParamShape::OptionalObject, None) => continue,
            (ParamShape::Text | ParamShape::OptionalText, _) => "a string",
            (ParamShape::OptionalObject, _) => "an object",
        };
        let what = format!("`{key}` of `{method}` is {wanted}");
        return Err(LineError::new(INVALID_PARAMS, what));
    }
    Ok(())
}

/// Reads a line without its end into `line`, of a longer one no more than the bound.
/// Whether there is another, and whether it was too long.
async fn read_line(
    input: &mut (impl AsyncBufRead + Unpin),
    line: &mut Vec<u8>,
) -> std::io::Result<Option<bool>> {
    line.clear();
    let bound = u64::try_from(LINE_BYTES_MAX + 1).unwrap_or(u64::MAX);
    if (&mut *input).take(bound).read_until(b'\n', line).await? == 0 {
        return Ok(None);
    }
    if line.last() == Some(&b'\n') {
        line.pop();
        return Ok(Some(false));
    }
    if line.len() <= LINE_BYTES_MAX {
        // The last line, which has no end.
        return Ok(Some(false));
    }
    // The rest goes by in the buffer of the reader.
    loop {
        let buffer = input.fill_buf().await?;
        let end = buffer.iter().position(|byte| *byte == b'\n');
        let (used, is_over) = match end {
            Some(at) => (at + 1, true),
            None => (buffer.len(), buffer.is_empty()),
        };
        input.consume(used);
        if is_over {
            return Ok(Some(true));
        }
    }
}

/// The messages of a client, and where the answers go.
pub(super) struct CheckedLines {
    /// What the protocol reads.
    pub(super) input: DuplexStream,
    /// What the protocol writes.
    pub(super) output: DuplexStream,
    /// Ends when all that the protocol wrote is written.
    pub(super) written: JoinHandle<()>,
}

/// Lets the messages of `input` pass, and answers all else on `output`. Called within
/// a runtime.
pub(super) fn check_lines<R, W>(input: R, output: W) -> CheckedLines
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let (passed, input_of_protocol) = duplex(PIPE_BYTES);
    let (output_of_protocol, answers) = duplex(PIPE_BYTES);
    let output = Arc::new(Mutex::new(output));
    let written = tokio::spawn(copy_answers(answers, Arc::clone(&output)));
    tokio::spawn(pass_messages(BufReader::new(input), passed, output));
    CheckedLines {
        input: input_of_protocol,
        output: output_of_protocol,
        written,
    }
}

/// Until the client closes its side, or the protocol or the output is closed.
async fn pass_messages(
    mut input: impl AsyncBufRead + Unpin,
    mut passed: DuplexStream,
    output: Arc<Mutex<impl AsyncWrite + Unpin>>,
) {
    let mut line = Vec::new();
    while let Ok(Some(is_too_long)) = read_line(&mut input, &mut line).await {
        let message = if is_too_long {
            let what = format!("a line has at most {LINE_BYTES_MAX} bytes");
            Err(LineError::new(INVALID_REQUEST, what))
        } else if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        } else {
            read_message(&line)
        };
        let done = match message {
            Ok(None) => true,
            Ok(Some(message)) => {
                let message = format!("{message}\n");
                passed.write_all(message.as_bytes()).await.is_ok()
            }
            Err(error) => write_line(&output, error.to_line().as_bytes()).await,
        };
        if !done {
            return;
        }
    }
}

async fn copy_answers(answers: DuplexStream, output: Arc<Mutex<impl AsyncWrite + Unpin>>) {
    let mut answers = BufReader::new(answers);
    let mut line = Vec::new();
    while let Ok(1..) = answers.read_until(b'\n', &mut line).await {
        let restored = restore_id(&line);
        let answer = restored.as_ref().map_or(&line[..], String::as_bytes);
        if !write_line(&output, answer).await {
            return;
        }
        line.clear();
    }
}

/// Writes a whole line; whether it was written.
async fn write_line(output: &Mutex<impl AsyncWrite + Unpin>, line: &[u8]) -> bool {
    let mut output = output.lock().await;
    output.write_all(line).await.is_ok() && output.flush().await.is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, code: i32, id: &str) {
        let error = read_message(line.as_bytes()).expect_err(line);
        assert_eq!((error.code, &*error.id), (code, id), "{line}");
    }

    #[test]
    fn a_line_that_is_no_message_has_the_code_of_the_protocol() {
        check(r#"{"jsonrpc": "2.0", "id": 1, "meth"#, -32_700, "null");
        check("no json", -32_700, "null");
        check("[1]", -32_600, "null");
        check("7", -32_600, "null");
        check(r#"{"id":1,"method":"ping"}"#, -32_600, "1");
        check(r#"{"id":1.50,"method":"ping"}"#, -32_600, "1.50");
        check(r#"{"jsonrpc":"2.0","id":"a"}"#, -32_600, r#""a""#);
        check(r#"{"jsonrpc":"2.0","method":7}"#, -32_600, "null");
        check(
            r#"{"jsonrpc":"2.0","id":[1],"method":"ping"}"#,
            -32_600,
            "null",
        );
        for params in [
            "[1]",
            "7",
            r#"{"name": 5}"#,
            r#"{"name": "a", "arguments": []}"#,
        ] {
            let line =
                format!(r#"{{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{params}}}"#);
            check(&line, -32_602, "3");
        }
    }

    #[test]
    fn an_id_comes_back_as_it_was_written() {
        for id in [
            "1",
            "-7",
            "1.50",
            "1e2",
            "-0",
            "9223372036854775808",
            "123456789012345678901234567890",
            "null",
            r#""a""#,
            r#""piton-id:7""#,
        ] {
            let line = format!(
                r#" {{ "a": {{"id": 9}}, "id": 8, "\u0069d" : {id} , "jsonrpc":"2.0","method":"ping"}} "#
            );
            let message = read_message(line.as_bytes()).expect(id).expect(id);
            let message: Value = serde_json::from_str(&message).expect("it is JSON");
            let passed = &message["id"];
            assert!(passed.is_string() || passed.is_i64(), "{message}");
            let answer = json!({ "jsonrpc": "2.0", "id": passed, "result": {} }).to_string();
            let answer = restore_id(answer.as_bytes()).unwrap_or(answer);
            assert!(answer.contains(&format!(r#""id":{id},"#)), "{answer}");
            assert!(serde_json::from_str::<Value>(&answer).is_ok(), "{answer}");
        }
    }

    #[test]
    fn answers_of_the_client_and_notifications_are_not_answered() {
        for line in [
            r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no"}}"#,
            r#"{"jsonrpc":"2.0","id":[1],"result":{}}"#,
            r#"{"id":1,"result":{}}"#,
            r#"{"jsonrpc":"2.0","method":"tools/call","params":[1]}"#,
        ] {
            assert_eq!(read_message(line.as_bytes()), Ok(None), "{line}");
        }
    }

    #[test]
    fn a_cancelled_request_is_named_as_the_request_was() {
        let passes = |line: String| read_message(line.as_bytes()).expect(&line);
        let value = |text: String| serde_json::from_str::<Value>(&text).expect("it is JSON");
        for id in [
            "1",
            "-0",
            "1.50",
            "123456789012345678901234567890",
            "null",
            r#""1""#,
            r#""piton-id:1""#,
        ] {
            let request = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
            let cancelled = format!(
                r#"{{"jsonrpc":"2.0","params":{{"requestId":8,"r\u0065questId": {id} }},"method":"notifications/cancelled"}}"#
            );
            let asked = value(passes(request).expect("it passes"));
            let named = value(passes(cancelled).expect("it passes"));
            assert_eq!(named["params"]["requestId"], asked["id"], "{id}");
        }
        for params in ["{}", r#"{"requestId":true}"#, r#"{"requestId":[1]}"#] {
            let line = format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{params}}}"#
            );
            assert_eq!(passes(line), None, "{params}");
        }
    }
}
