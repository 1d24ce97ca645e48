//! opencode: `opencode run --format json`.
//!
//! It prints no result. It succeeded where its last step ended because the model
//! had no more to say, and nothing went wrong after that. Numbers of tokens and
//! dollars are told by step.

use jiff::Timestamp;
use piton_core::attempt::Usage;
use piton_core::call::CallKind;
use piton_core::trouble::Trouble;
use serde_json::Value;

use super::calls::{call_of_tool, exit_status};
use super::known_program::{KnownProgram, LoginTrace, ProgramHome, ProgramName, ProgramSetup};
use super::output_reader::EventReader;
use super::reader_state::ReaderState;
use super::settings::Permissions;
use super::{
    Agent, AgentOutputReader, AgentResult, LaunchCommand, LaunchOptions, OutputEvent,
    TokenCounting, signs,
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
        super::refuse_bypass_as_root(table, order, PROGRAM.called.title, "bash")?;
        let mut args = ["run", "--format", "json"].map(str::to_owned).to_vec();
        match table.permissions {
            Permissions::Default | Permissions::Edits => {}
            Permissions::Plan => args.extend(["--agent", "plan"].map(str::to_owned)),
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

    fn output_reader(&self, _before: Option<&Usage>) -> Option<AgentOutputReader> {
        let state = ReaderState::new(PROGRAM.called, &self.setup.zone);
        Some(AgentOutputReader::new(state, OpencodeReader::default()))
    }

    fn can_resume(&self) -> bool {
        true
    }

    fn resolve_model(&self, asked: Option<&str>) -> Option<String> {
        self.setup.model_for(asked)
    }
}

/// Reads `--format json`.
#[derive(Debug, Default)]
struct OpencodeReader {
    /// What the steps used until now.
    used: Usage,
    /// Why the last step ended, where no other one began.
    end: Option<String>,
    /// The last error that it printed.
    error: Option<Value>,
}

impl EventReader for OpencodeReader {
    fn handle_event(&mut self, event: Value, state: &mut ReaderState) {
        state.record_conversation(&event["sessionID"]);
        let part = &event["part"];
        match event["type"].as_str().unwrap_or("") {
            // An error that it goes on after is none that ended its work.
            "step_start" => (self.end, self.error) = (None, None),
            "text" => {
                let text = part["text"].as_str().unwrap_or("");
                state.record_words(text);
            }
            "reasoning" => {}
            "tool_use" => handle_tool(part, state),
            "step_finish" => {
                self.used = self.used.plus(&parse_usage(part));
                state.seen.push(OutputEvent::Used(self.used.clone()));
                self.end = part["reason"].as_str().map(str::to_owned);
            }
            "error" => self.error = Some(event["error"].clone()),
            _ => state.seen.push(OutputEvent::Unknown),
        }
    }

    fn is_finished(&self) -> bool {
        self.error.is_some() || self.end.as_deref().is_some_and(|end| end != "tool-calls")
    }

    fn finish(self: Box<Self>, state: ReaderState, ended: &ProgramEnd) -> AgentResult {
        let said = match (&self.error, self.end.as_deref()) {
            (Some(error), _) => {
                let name = error["name"].as_str().unwrap_or("");
                let words = error["data"]["message"].as_str().unwrap_or(name);
                let trouble = trouble_of_error(name, error, words);
                state.into_failed_result(trouble, words)
            }
            (None, Some("stop")) => state.into_success_result(),
            (None, Some("length")) => {
                state.into_failed_result(Trouble::Logic, "the answer was cut off by its length")
            }
            (None, Some(_) | None) => state.into_missing_result(ended, None),
        };
        AgentResult {
            usage: self.used,
            counting: TokenCounting {
                reasoning_is_apart: true,
            },
            ..said
        }
    }
}

/// A call that is over: it prints none that begins.
fn handle_tool(part: &Value, state: &mut ReaderState) {
    let ended = &part["state"];
    let tool = part["tool"].as_str().unwrap_or("");
    let mut call = call_of_tool(&PROGRAM, tool, &ended["input"], "");
    let error = ended["error"].as_str();
    let output = ended["output"].as_str().or(error).unwrap_or("");
    call.failed = ended["status"].as_str() != Some("completed");
    if call.kind == CallKind::Shell {
        call.exit = exit_status(&ended["metadata"]["exit"]);
    }
    let time = |key: &str| ended["time"][key].as_i64();
    if let (Some(start), Some(end)) = (time("start"), time("end")) {
        call.ms = u64::try_from(end.saturating_sub(start)).ok();
        call.at = Timestamp::from_millisecond(end).ok();
    }
    let is_denial = |text: &str| DENIALS.iter().any(|begin| text.starts_with(begin));
    state.denied += u32::from(error.is_some_and(is_denial));
    state.record_call(call, output);
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
    signs::trouble_of_error(error["data"]["statusCode"].as_u64(), words)
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

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use jiff::tz::TimeZone;

    use super::*;
    use crate::agents::ProgramVerdict;

    #[test]
    fn an_error_after_which_it_goes_on_is_no_failure() {
        let state = ReaderState::new(PROGRAM.called, &TimeZone::UTC);
        let mut reader = AgentOutputReader::new(state, OpencodeReader::default());
        let mut read = |line: &str| {
            reader.parse_line(line, Timestamp::UNIX_EPOCH);
            reader.is_finished()
        };
        // It makes the conversation shorter then, and answers.
        assert!(read(
            r#"{"type":"error","sessionID":"s","error":{"name":"ContextOverflowError"}}"#
        ));
        assert!(!read(r#"{"type":"step_start","sessionID":"s","part":{}}"#));
        assert!(read(
            r#"{"type":"step_finish","sessionID":"s","part":{"reason":"stop"}}"#
        ));
        let ended = ProgramEnd {
            code: Some(0),
            ..ProgramEnd::default()
        };
        let result = reader.finish(&ended);
        assert_eq!(
            (result.verdict, result.error),
            (ProgramVerdict::Succeeded, None)
        );
    }
}
