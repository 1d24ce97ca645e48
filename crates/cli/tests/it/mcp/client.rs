//! A client of the protocol, as small as one can be: one request, one answer,
//! and every line looked at.

#![expect(
    clippy::needless_pass_by_value,
    reason = "arguments written where they are used read better without a borrow"
)]

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::Scratch;

/// How long an answer may take. Long, for busy machines.
const PATIENCE: Duration = Duration::from_secs(30);

/// How a client begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Era {
    /// 2026-07-28: each request says its version.
    Stateless,
    /// 2025-11-25: an `initialize` comes first.
    Handshake,
}

impl Era {
    pub(crate) const BOTH: [Self; 2] = [Self::Stateless, Self::Handshake];

    /// The parameters of a request of this era.
    pub(crate) fn params(self, params: Value) -> Value {
        let mut params = params;
        if self == Self::Stateless {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
                "io.modelcontextprotocol/clientCapabilities": {},
            });
        }
        params
    }
}

/// A request of this era, as a line.
pub(crate) fn line(era: Era, id: u64, method: &str, params: Value) -> String {
    let request = json!({
        "jsonrpc": "2.0", "id": id, "method": method, "params": era.params(params),
    });
    format!("{request}\n")
}

/// How a client of 2025-11-25 begins.
pub(crate) fn handshake() -> String {
    let params = json!({
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": { "name": "test", "version": "1" },
    });
    let begun = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    format!("{}{begun}\n", line(Era::Handshake, 0, "initialize", params))
}

/// What a tool answered.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) text: String,
    pub(crate) data: Value,
    pub(crate) is_error: bool,
}

/// A server at work, and a client of it; ended, by its id, when the test ends first.
pub(crate) struct Server {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    era: Era,
    id: u64,
    /// What the server says of itself, where the client greets it.
    pub(crate) instructions: String,
}

impl Server {
    /// `piton mcp` and `more`, with these variables.
    pub(crate) fn start(scratch: &Scratch, era: Era, more: &[&str], env: &[(&str, &str)]) -> Self {
        let mut command = scratch.command(&[&["mcp"], more].concat());
        command.envs(env.iter().copied());
        Self::of(command, era)
    }

    fn of(mut command: Command, era: Era) -> Self {
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.stderr(Stdio::null()).spawn().expect("piton starts");
        let stdout = BufReader::new(child.stdout.take().expect("it is a pipe"));
        let (tell, lines) = channel();
        std::thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                if tell.send(line).is_err() {
                    return;
                }
            }
        });
        let mut server = Self {
            stdin: child.stdin.take(),
            child,
            lines,
            era,
            id: 0,
            instructions: String::new(),
        };
        if era == Era::Handshake {
            server.send(&handshake());
            let answer = server.answer(0);
            assert_eq!(
                answer["result"]["protocolVersion"], "2025-11-25",
                "{answer}"
            );
            let instructions = answer["result"]["instructions"].as_str();
            server.instructions = instructions.unwrap_or_default().to_owned();
        }
        server
    }

    /// Writes as it is.
    pub(crate) fn send(&mut self, text: &str) {
        let stdin = self.stdin.as_mut().expect("stdin is open");
        stdin.write_all(text.as_bytes()).expect("somebody reads");
        stdin.flush().expect("somebody reads");
    }

    /// The next line, as it was written.
    #[track_caller]
    pub(crate) fn next_line(&self) -> String {
        self.lines
            .recv_timeout(PATIENCE)
            .expect("there is an answer")
    }

    /// The next line; it must be of the protocol.
    #[track_caller]
    pub(crate) fn next(&self) -> Value {
        let line = self.next_line();
        let value: Value =
            serde_json::from_str(&line).unwrap_or_else(|_| panic!("no JSON: {line}"));
        assert_eq!(value["jsonrpc"], "2.0", "{line}");
        value
    }

    /// The answer to the request of that id.
    #[track_caller]
    fn answer(&self, id: u64) -> Value {
        let answer = self.next();
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    /// Asks, and waits for the answer.
    #[track_caller]
    pub(crate) fn request(&mut self, method: &str, params: Value) -> Value {
        self.id += 1;
        self.send(&line(self.era, self.id, method, params));
        self.answer(self.id)
    }

    /// Calls a tool.
    #[track_caller]
    pub(crate) fn call(&mut self, tool: &str, arguments: Value) -> Answer {
        let params = json!({ "name": tool, "arguments": arguments });
        let answer = self.request("tools/call", params);
        let result = &answer["result"];
        assert_eq!(
            result["content"].as_array().map(Vec::len),
            Some(1),
            "{answer}"
        );
        let text = result["content"][0]["text"].as_str();
        Answer {
            text: text
                .unwrap_or_else(|| panic!("no text: {answer}"))
                .to_owned(),
            data: result["structuredContent"].clone(),
            is_error: result["isError"] == true,
        }
    }

    /// Calls a tool that does what it is asked.
    #[track_caller]
    pub(crate) fn done(&mut self, tool: &str, arguments: Value) -> Answer {
        let answer = self.call(tool, arguments);
        assert!(!answer.is_error, "{tool}: {}", answer.text);
        answer
    }

    /// Calls a tool that refuses; what it says.
    #[track_caller]
    pub(crate) fn refused(&mut self, tool: &str, arguments: Value) -> String {
        let answer = self.call(tool, arguments);
        assert!(answer.is_error, "{tool}: {}", answer.text);
        assert!(answer.text.contains("\nhint: "), "{}", answer.text);
        answer.text
    }

    pub(crate) fn signal(&self, signal: rustix::process::Signal) {
        let id = i32::try_from(self.child.id()).expect("small");
        let id = rustix::process::Pid::from_raw(id).expect("not 0");
        rustix::process::kill_process(id, signal).expect("it is there");
    }

    /// Waits for its end: the exit status, none when a signal ended it.
    #[track_caller]
    pub(crate) fn end(mut self) -> Option<i32> {
        let mut status = None;
        crate::harness::until("the server ends", || {
            status = self.child.try_wait().expect("it is ours");
            status.is_some()
        });
        status.and_then(|status| status.code())
    }

    /// Closes its stdin, and waits for its end.
    #[track_caller]
    pub(crate) fn close(mut self) -> Option<i32> {
        self.stdin = None;
        self.end()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}
