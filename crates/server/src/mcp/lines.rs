//! The lines of a client, before the protocol: what is no request is answered as
//! JSON-RPC wants it, and the next line is read.
//!
//! `rmcp` passes over a line that it cannot read, so that a client waits for an answer
//! that never comes. Only lines that are messages reach it.

use std::sync::Arc;

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

/// What is wrong with a line.
#[derive(Debug, PartialEq)]
struct LineError {
    code: i32,
    message: String,
    /// The id of the request, where it could be read; `null` otherwise.
    id: Value,
}

impl LineError {
    fn new(code: i32, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            id: Value::Null,
        }
    }

    fn to_line(&self) -> String {
        let error = json!({ "code": self.code, "message": self.message });
        let answer = json!({ "jsonrpc": "2.0", "id": self.id, "error": error });
        format!("{answer}\n")
    }
}

/// Whether a line is a message of JSON-RPC 2.0.
fn check_line(line: &[u8]) -> Result<(), LineError> {
    let value: Value = serde_json::from_slice(line)
        .map_err(|error| LineError::new(PARSE_ERROR, format!("the line is no JSON: {error}")))?;
    let Value::Object(message) = value else {
        let what = "a message is a JSON object";
        return Err(LineError::new(INVALID_REQUEST, what));
    };
    let id = match message.get("id") {
        None => Value::Null,
        Some(id @ (Value::String(_) | Value::Number(_))) => id.clone(),
        Some(_) => {
            let what = "`id` is a string or a number";
            return Err(LineError::new(INVALID_REQUEST, what));
        }
    };
    check_message(&message).map_err(|error| LineError { id, ..error })
}

fn check_message(message: &Map<String, Value>) -> Result<(), LineError> {
    let invalid = |what: &str| Err(LineError::new(INVALID_REQUEST, what));
    if message.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return invalid("`jsonrpc` is \"2.0\"");
    }
    let method = match message.get("method") {
        Some(Value::String(method)) => method,
        Some(_) => return invalid("`method` is a string"),
        // The answer to a request of the server.
        None if message.contains_key("result") || message.contains_key("error") => return Ok(()),
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
        let error = if is_too_long {
            let what = format!("a line has at most {LINE_BYTES_MAX} bytes");
            Err(LineError::new(INVALID_REQUEST, what))
        } else if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        } else {
            check_line(&line)
        };
        let done = match error {
            Ok(()) => {
                line.push(b'\n');
                passed.write_all(&line).await.is_ok()
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
        if !write_line(&output, &line).await {
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
    fn check(line: &str, code: Option<i32>, id: &Value) {
        let error = check_line(line.as_bytes()).err();
        assert_eq!(error.as_ref().map(|error| error.code), code, "{line}");
        let found = error.map_or(Value::Null, |error| error.id);
        assert_eq!(found, *id, "{line}");
    }

    #[test]
    fn a_line_that_is_no_message_has_the_code_of_the_protocol() {
        let null = Value::Null;
        check(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, None, &null);
        check(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, None, &null);
        check(r#"{"jsonrpc": "2.0", "id": 1, "meth"#, Some(-32_700), &null);
        check("no json", Some(-32_700), &null);
        check("[1]", Some(-32_600), &null);
        check("7", Some(-32_600), &null);
        check(r#"{"id":1,"method":"ping"}"#, Some(-32_600), &json!(1));
        check(r#"{"jsonrpc":"2.0","id":"a"}"#, Some(-32_600), &json!("a"));
        check(
            r#"{"jsonrpc":"2.0","id":[1],"method":"ping"}"#,
            Some(-32_600),
            &null,
        );
        for params in [
            "[1]",
            "7",
            r#"{"name": 5}"#,
            r#"{"name": "a", "arguments": []}"#,
        ] {
            let line =
                format!(r#"{{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{params}}}"#);
            check(&line, Some(-32_602), &json!(3));
        }
    }
}
