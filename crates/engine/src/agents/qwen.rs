//! Qwen Code: `qwen -o stream-json`.
//!
//! Its lines are shaped as those of Claude Code, and mean less: a result says
//! `success` after an error of the service, whose words stand in its text, and
//! its numbers are the total of the conversation. An attempt used that total
//! less what it was before. It says nothing of dollars.

use piton_core::attempt::Usage;
use piton_core::call::CallKind;
use piton_core::trouble::Trouble;
use serde_json::Value;

use super::calls::call_of_tool;
use super::known_program::{KnownProgram, LoginTrace, ProgramHome, ProgramName, ProgramSetup};
use super::output_reader::EventReader;
use super::reader_state::ReaderState;
use super::settings::Permissions;
use super::{
    Agent, AgentOutputReader, AgentResult, LaunchCommand, LaunchOptions, OutputEvent, signs,
};
use crate::agents::answer::ProgramEnd;
use crate::failure::Failure;

/// All that is particular to Qwen Code.
pub(super) static PROGRAM: KnownProgram = KnownProgram {
    name: "qwen",
    called: ProgramName {
        title: "Qwen Code",
        login: "log in (start `qwen`, type /auth) or set a key that is valid",
    },
    install: "npm install -g @qwen-code/qwen-code",
    login_trace: LoginTrace {
        file: "oauth_creds.json",
        pointers: &["/refresh_token", "/access_token"],
        variables: &["OPENAI_API_KEY"],
    },
    agent: |setup| Box::new(Qwen { setup }),
    models: &["qwen", "coder-model"],
    prices: None,
    keys: &["permissions", "allowed-tools", "max-turns"],
    idle_timeout: "15m",
    tools: &[
        (CallKind::Read, &["read_file", "read_many_files"]),
        (CallKind::Write, &["write_file", "edit"]),
        (CallKind::Shell, &["run_shell_command"]),
        (CallKind::Agent, &["agent", "task"]),
    ],
    home: ProgramHome {
        folder: ".qwen",
        variable: "QWEN_HOME",
        below: "",
    },
    project_variable: None,
    hooks: None,
    session_files: None,
};

/// How its own words about an error of the service begin, where an answer is
/// expected.
const SERVICE_ERROR: &str = "[API Error: ";

/// The status with which it ends at `--max-session-turns`.
const TURNS_USED_UP: i32 = 53;

/// Qwen Code, as it is configured.
#[derive(Debug)]
struct Qwen {
    setup: ProgramSetup,
}

impl Agent for Qwen {
    fn launch_command(&self, order: &LaunchOptions<'_>) -> Result<LaunchCommand, Failure> {
        let table = &self.setup.table;
        super::refuse_bypass_as_root(table, order, PROGRAM.called.title, "run_shell_command")?;
        let mode = match table.permissions {
            Permissions::Default | Permissions::Edits => "auto-edit",
            Permissions::Plan => "plan",
            Permissions::Bypass => "yolo",
        };
        // No `-p`: without a terminal it takes the prompt from stdin.
        let mut args = ["-o", "stream-json", "--approval-mode", mode]
            .map(str::to_owned)
            .to_vec();
        let tools = table.allowed_tools_or("run_shell_command");
        if !tools.is_empty() {
            args.extend(["--allowed-tools".to_owned(), tools.join(",")]);
        }
        // It takes no id of version 7 for a new conversation: it chooses one, and
        // its first line says which.
        if let Some(id) = order.resume.filter(|id| !id.is_empty()) {
            args.extend(["--resume".to_owned(), id.to_owned()]);
        }
        if let Some(model) = self.resolve_model(order.model) {
            args.extend(["-m".to_owned(), model]);
        }
        if let Some(turns) = table.max_turns {
            args.extend(["--max-session-turns".to_owned(), turns.to_string()]);
        }
        Ok(LaunchCommand::new(table, PROGRAM.name, &args))
    }

    fn output_reader(&self, before: Option<&Usage>) -> Option<AgentOutputReader> {
        let state = ReaderState::new(PROGRAM.called, &self.setup.zone);
        let events = QwenReader {
            cwd: String::new(),
            before: before.cloned().unwrap_or_default(),
            used: Usage::default(),
            result: None,
        };
        Some(AgentOutputReader::new(state, events))
    }

    fn can_resume(&self) -> bool {
        true
    }

    fn resolve_model(&self, asked: Option<&str>) -> Option<String> {
        self.setup.model_for(asked)
    }
}

/// Reads `stream-json`.
#[derive(Debug)]
struct QwenReader {
    cwd: String,
    /// What the conversation used before this attempt.
    before: Usage,
    /// What the answers of this attempt say that they used.
    used: Usage,
    result: Option<Value>,
}

impl QwenReader {
    fn handle_assistant(&mut self, event: &Value, state: &mut ReaderState) {
        let message = &event["message"];
        let usage = parse_usage(&message["usage"]);
        // Of an answer of several lines only the last one has numbers.
        if usage.budget_tokens().is_some_and(|tokens| tokens > 0) {
            self.used = self.used.plus(&usage);
            state.seen.push(OutputEvent::Used(self.used.clone()));
        }
        // What a sub-agent says is not what this agent says.
        let is_own = event["parent_tool_use_id"].is_null();
        for block in message["content"].as_array().into_iter().flatten() {
            match block["type"].as_str() {
                Some("text") if is_own => {
                    let text = block["text"].as_str().unwrap_or("");
                    if service_error(text).is_none() {
                        state.record_words(text);
                    }
                }
                Some("tool_use") => {
                    let tool = block["name"].as_str().unwrap_or("");
                    let call = call_of_tool(&PROGRAM, tool, &block["input"], &self.cwd);
                    let id = block["id"].as_str().unwrap_or("");
                    state.calls.begin(id, call, state.now);
                }
                Some(_) | None => {}
            }
        }
    }

    fn handle_user(&mut self, event: &Value, state: &mut ReaderState) {
        for block in event["message"]["content"].as_array().into_iter().flatten() {
            let id = block["tool_use_id"].as_str().unwrap_or("");
            let Some(mut call) = state.calls.end(id, state.now) else {
                continue;
            };
            let output = block["content"].as_str().unwrap_or("");
            call.failed = block["is_error"].as_bool() == Some(true);
            if call.kind == CallKind::Shell {
                call.exit = parse_exit_status(output);
            }
            state.record_call(call, output);
        }
    }
}

impl EventReader for QwenReader {
    fn handle_event(&mut self, event: Value, state: &mut ReaderState) {
        state.record_conversation(&event["session_id"]);
        match event["type"].as_str().unwrap_or("") {
            "system" => {
                if let Some(cwd) = event["cwd"].as_str() {
                    cwd.clone_into(&mut self.cwd);
                }
            }
            "assistant" => self.handle_assistant(&event, state),
            "user" => self.handle_user(&event, state),
            "result" => {
                let total = parse_usage(&event["usage"]);
                state
                    .seen
                    .push(OutputEvent::Used(total.usage_since(&self.before)));
                self.result = Some(event);
            }
            _ => state.seen.push(OutputEvent::Unknown),
        }
    }

    fn is_finished(&self) -> bool {
        self.result.is_some()
    }

    fn finish(self: Box<Self>, mut state: ReaderState, ended: &ProgramEnd) -> AgentResult {
        let Some(result) = self.result else {
            let turns = (ended.code == Some(TURNS_USED_UP)).then_some(Trouble::Limit);
            let total = self.before.plus(&self.used);
            return AgentResult {
                usage: self.used,
                ..state.into_missing_result(ended, turns)
            }
            .with_conversation_total(total);
        };
        let total = parse_usage(&result["usage"]);
        let denials = result["permission_denials"].as_array().map_or(0, Vec::len);
        state.denied = u32::try_from(denials).unwrap_or(u32::MAX);
        let text = result["result"].as_str().unwrap_or("");
        let has_succeeded = result["is_error"].as_bool() == Some(false)
            && result["subtype"].as_str() == Some("success");
        let error = match service_error(text) {
            Some(error) => Some(error),
            None if has_succeeded => None,
            None => Some(result["error"]["message"].as_str().unwrap_or(text)),
        };
        let said = match error {
            Some(error) => state.into_failed_result(trouble_of_error(error), error),
            None => state.into_success_result(),
        };
        AgentResult {
            has_total: true,
            usage: total.usage_since(&self.before),
            ..said
        }
        .with_conversation_total(total)
    }
}

/// The words of the service, where a text is the program's own about its error.
fn service_error(text: &str) -> Option<&str> {
    text.strip_prefix(SERVICE_ERROR)?.strip_suffix(']')
}

/// What an error tells: its words, or the status of HTTP that it begins with.
fn trouble_of_error(error: &str) -> Trouble {
    let words = signs::first_chars(error, 8_000);
    let status = || error.split(' ').next()?.parse().ok();
    let by_words = signs::trouble_of_text(words);
    let trouble = by_words.or_else(|| status().and_then(signs::trouble_of_http_status));
    trouble.unwrap_or(Trouble::Logic)
}

/// The exit status of a command. The output of the command comes before it.
fn parse_exit_status(output: &str) -> Option<i32> {
    let mut lines = output.lines().rev();
    let told = lines.find_map(|line| line.strip_prefix("Exit Code: "))?;
    told.trim_end().parse().ok()
}

/// What is read from a cache is a part of the input here.
fn parse_usage(usage: &Value) -> Usage {
    let count = |key: &str| usage[key].as_u64();
    let cached = count("cache_read_input_tokens");
    let Some(input) = count("input_tokens") else {
        return Usage::default();
    };
    Usage {
        input_tokens: Some(input.saturating_sub(cached.unwrap_or(0))),
        output_tokens: count("output_tokens"),
        cache_read_tokens: cached.or(Some(0)),
        // It does not say, and its services take nothing for it.
        cache_write_tokens: Some(0),
        ..Usage::default()
    }
}
