//! opencode: `opencode run --format json`.
//!
//! It prints no result. It succeeded where its last step ended because the model
//! had no more to say, and nothing went wrong after that. Numbers of tokens and
//! dollars are told by step.

use jiff::Timestamp;
use piton_core::attempt::{Conversation, Usage};
use piton_core::call::{AgentCall, CallKind};
use piton_core::trouble::Trouble;
use serde_json::Value;

use super::calls::call_of_tool;
use super::known_program::{KnownProgram, LoginTrace, ProgramHome, ProgramName, ProgramSetup};
use super::reader_state::ReaderState;
use super::settings::Permissions;
use super::stream::JsonPart;
use super::{
    Agent, AgentOutputReader, AgentResult, LaunchCommand, LaunchOptions, OutputEvent,
    RETURNED_CHARS_MAX, TokenCounting, signs,
};
use crate::agents::answer::ProgramEnd;
use crate::failure::Failure;

/// All that is particular to opencode. It reports itself what it cost.
pub(super) static PROGRAM: KnownProgram = KnownProgram {
    name: "opencode",
    called: ProgramName {
        title: "opencode",
        login: "log in (`opencode auth login`) or set a key that is valid",
    },
    install: "npm install -g opencode-ai",
    login_trace: LoginTrace {
        // Nothing in its home shows a login.
        file: "",
        pointers: &[],
        variables: &[],
    },
    agent: |setup| Box::new(Opencode { setup }),
    models: &[],
    prices: None,
    keys: &["permissions"],
    idle_timeout: "15m",
    tools: &[
        (CallKind::Read, &["read"]),
        (CallKind::Write, &["write", "edit", "patch", "multiedit"]),
        (CallKind::Shell, &["bash"]),
        (CallKind::Agent, &["task"]),
    ],
    home: ProgramHome {
        folder: ".config/opencode",
        variable: "OPENCODE_CONFIG_DIR",
        below: "",
    },
    project_variable: None,
    hooks: None,
    session_files: None,
};

/// How it says that a call was not allowed: by a rule, or since no person was there
/// to ask.
const DENIALS: [&str; 2] = [
    "The user has specified a rule which prevents you",
    "The user rejected permission",
];

/// Without commands: what else it may do stays as its user has set it.
const NO_COMMANDS: (&str, &str) = ("OPENCODE_PERMISSION", r#"{"bash":"deny"}"#);

/// opencode, as it is configured.
#[derive(Debug)]
struct Opencode {
    setup: ProgramSetup,
}

impl Agent for Opencode {
    fn launch_command(&self, order: &LaunchOptions<'_>) -> Result<LaunchCommand, Failure> {
        let table = &self.setup.table;
        let mut args = ["run", "--format", "json"].map(str::to_owned).to_vec();
        match table.permissions {
            Permissions::Default | Permissions::Edits => {}
            Permissions::Plan => args.extend(["--agent", "plan"].map(str::to_owned)),
            Permissions::Bypass if order.is_root => {
                return Err(super::refuse_bypass_as_root(PROGRAM.called.title, "bash"));
            }
            Permissions::Bypass => args.push("--auto".to_owned()),
        }
        // Only of a conversation that goes on: it chooses the id of a new one.
        if let Some(id) = order.resume.filter(|id| !id.is_empty()) {
            args.extend(["--session".to_owned(), id.to_owned()]);
        }
        if let Some(model) = self.resolve_model(order.model) {
            args.extend(["-m".to_owned(), model]);
        }
        let mut launch = LaunchCommand::new(table, PROGRAM.name, &args);
        let (name, value) = NO_COMMANDS;
        if table.permissions == Permissions::Edits && !table.env.contains_key(name) {
            launch.env.push((name.to_owned(), value.to_owned()));
        }
        Ok(launch)
    }

    fn output_reader(&self, _before: Option<&Usage>) -> Option<Box<dyn AgentOutputReader>> {
        Some(Box::new(OpencodeReader {
            heard: ReaderState::new(PROGRAM.called, &self.setup.zone),
            used: Usage::default(),
            end: None,
            error: None,
            denied: 0,
        }))
    }

    fn can_resume(&self) -> bool {
        true
    }

    fn resolve_model(&self, asked: Option<&str>) -> Option<String> {
        self.setup.model_for(asked)
    }
}

/// Reads `--format json`.
#[derive(Debug)]
struct OpencodeReader {
    heard: ReaderState,
    /// What the steps used until now.
    used: Usage,
    /// Why the last step ended, where no other one began.
    end: Option<String>,
    /// The last error that it printed.
    error: Option<Value>,
    denied: u32,
}

impl OpencodeReader {
    fn handle_event(&mut self, event: &Value, seen: &mut Vec<OutputEvent>) {
        self.heard.record_conversation(&event["sessionID"], seen);
        let part = &event["part"];
        match event["type"].as_str().unwrap_or("") {
            "step_start" => self.end = None,
            "text" => {
                let text = part["text"].as_str().unwrap_or("");
                self.heard.words.push_lines(text);
                seen.push(OutputEvent::Said(text.to_owned()));
            }
            "reasoning" => {}
            "tool_use" => self.handle_tool(part, seen),
            "step_finish" => {
                self.used = self.used.plus(&parse_usage(part));
                seen.push(OutputEvent::Used(self.used.clone()));
                self.end = part["reason"].as_str().map(str::to_owned);
            }
            "error" => self.error = Some(event["error"].clone()),
            _ => seen.push(OutputEvent::Unknown),
        }
    }

    /// A call that is over: it prints none that begins.
    fn handle_tool(&mut self, part: &Value, seen: &mut Vec<OutputEvent>) {
        let state = &part["state"];
        let tool = part["tool"].as_str().unwrap_or("");
        let mut call = call_of_tool(&PROGRAM, tool, &state["input"], "");
        let error = state["error"].as_str();
        let output = state["output"].as_str().or(error).unwrap_or("");
        call.failed = state["status"].as_str() != Some("completed");
        call.bytes = Some(output.len() as u64);
        if call.kind == CallKind::Shell {
            let exit = state["metadata"]["exit"].as_i64();
            call.exit = exit.and_then(|exit| exit.try_into().ok());
        }
        let time = |key: &str| state["time"][key].as_i64();
        if let (Some(start), Some(end)) = (time("start"), time("end")) {
            call.ms = u64::try_from(end.saturating_sub(start)).ok();
            call.at = Timestamp::from_millisecond(end).ok();
        }
        let is_denial = |text: &str| DENIALS.iter().any(|begin| text.starts_with(begin));
        self.denied += u32::from(error.is_some_and(is_denial));
        seen.push(OutputEvent::Called(call));
        seen.push(OutputEvent::Returned(
            signs::first_chars(output, RETURNED_CHARS_MAX).to_owned(),
        ));
    }
}

impl AgentOutputReader for OpencodeReader {
    fn parse_line(&mut self, line: &str, now: Timestamp) -> Vec<OutputEvent> {
        let mut seen = Vec::new();
        for part in self.heard.parse_line(line, now) {
            match part {
                JsonPart::Object(event) => self.handle_event(&event, &mut seen),
                JsonPart::Broken => seen.push(OutputEvent::Unknown),
            }
        }
        seen
    }

    fn open_call(&self) -> Option<&AgentCall> {
        self.heard.calls.latest()
    }

    fn is_finished(&self) -> bool {
        self.error.is_some() || self.end.as_deref().is_some_and(|end| end != "tool-calls")
    }

    fn finish(mut self: Box<Self>, ended: &ProgramEnd) -> AgentResult {
        let conversation = self.heard.conversation.take();
        let said = match (&self.error, self.end.as_deref()) {
            (Some(error), _) => {
                let name = error["name"].as_str().unwrap_or("");
                let words = error["data"]["message"].as_str().unwrap_or(name);
                let words = signs::first_chars(words, 8_000);
                let trouble = trouble_of_error(name, error, words);
                self.heard.into_failed_result(trouble, words)
            }
            (None, Some("stop")) => AgentResult {
                trouble: (self.denied > 0).then_some(Trouble::Permission),
                ..self.heard.into_success_result()
            },
            (None, Some("length")) => self
                .heard
                .into_failed_result(Trouble::Logic, "the answer was cut off by its length"),
            (None, Some(_) | None) => self.heard.into_missing_result(ended, None),
        };
        AgentResult {
            conversation: conversation.map(|id| Conversation {
                id,
                ..Conversation::default()
            }),
            usage: self.used,
            denied: self.denied,
            counting: TokenCounting {
                reasoning_is_apart: true,
            },
            ..said
        }
    }
}

/// What an error tells: its name, its status of HTTP, or its words.
fn trouble_of_error(name: &str, error: &Value, words: &str) -> Trouble {
    match name {
        "ContentFilterError" => return Trouble::Refusal,
        "ProviderAuthError" => return Trouble::Auth,
        "ProviderModelNotFoundError" => return Trouble::Setup,
        "MessageAbortedError" => return Trouble::Signal,
        _ => {}
    }
    let status = error["data"]["statusCode"].as_u64();
    status
        .and_then(signs::trouble_of_http_status)
        .or_else(|| signs::trouble_of_text(words))
        .unwrap_or(Trouble::Logic)
}

/// What a step used. It reckons 0 dollars for a model without a price, which is
/// unknown rather than nothing.
fn parse_usage(step: &Value) -> Usage {
    let tokens = &step["tokens"];
    let cost = step["cost"].as_f64();
    Usage {
        input_tokens: tokens["input"].as_u64(),
        output_tokens: tokens["output"].as_u64(),
        cache_read_tokens: tokens["cache"]["read"].as_u64(),
        cache_write_tokens: tokens["cache"]["write"].as_u64(),
        reasoning_tokens: tokens["reasoning"].as_u64(),
        cost_usd: cost.filter(|dollars| dollars.is_finite() && *dollars > 0.0),
        ..Usage::default()
    }
}
