//! GitHub Copilot CLI: `copilot --output-format json`.
//!
//! Its result says with which status it ends, and nothing of tokens; what went
//! wrong stands in an event before it.

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
    Agent, AgentOutputReader, AgentResult, LaunchCommand, LaunchOptions, OutputEvent, signs,
};
use crate::agents::answer::ProgramEnd;
use crate::failure::Failure;

/// All that is particular to GitHub Copilot CLI.
pub(super) static PROGRAM: KnownProgram = KnownProgram {
    name: "copilot",
    called: ProgramName {
        title: "GitHub Copilot CLI",
        login: "log in (`copilot login`) or set a key that is valid",
    },
    install: "npm install -g @github/copilot",
    login_trace: LoginTrace {
        // Nothing in its home shows a login.
        file: "",
        pointers: &[],
        variables: &["COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN"],
    },
    agent: |setup| Box::new(Copilot { setup }),
    models: &[],
    prices: None,
    keys: &["permissions", "allowed-tools"],
    idle_timeout: "15m",
    tools: &[
        (CallKind::Read, &["view"]),
        (CallKind::Write, &["create", "edit", "apply_patch"]),
        (CallKind::Shell, &["bash"]),
        (CallKind::Agent, &["task"]),
    ],
    home: ProgramHome {
        folder: ".copilot",
        variable: "COPILOT_HOME",
        below: "",
    },
    project_variable: None,
    hooks: None,
    session_files: None,
};

/// Copilot, as it is configured.
#[derive(Debug)]
struct Copilot {
    setup: ProgramSetup,
}

impl Agent for Copilot {
    fn launch_command(&self, order: &LaunchOptions<'_>) -> Result<LaunchCommand, Failure> {
        let table = &self.setup.table;
        super::refuse_bypass_as_root(table, order, PROGRAM.called.title, "shell")?;
        // No `-p`: without a terminal it takes the prompt from stdin.
        let mut args = ["--output-format", "json", "--no-auto-update"]
            .map(str::to_owned)
            .to_vec();
        let mut tools = table.allowed_tools.clone();
        match table.permissions {
            Permissions::Default | Permissions::Edits => tools.push("write".to_owned()),
            Permissions::Plan => args.push("--plan".to_owned()),
            Permissions::Bypass => args.push("--allow-all".to_owned()),
        }
        if table.allowed_tools.is_empty() && table.permissions == Permissions::Default {
            tools.push("shell".to_owned());
        }
        args.extend(tools.iter().map(|tool| format!("--allow-tool={tool}")));
        match order.resume {
            Some(id) => args.push(format!("--resume={id}")),
            None if order.conversation.is_empty() => {}
            None => args.push(format!("--session-id={}", order.conversation)),
        }
        if let Some(model) = self.resolve_model(order.model) {
            args.extend(["--model".to_owned(), model]);
        }
        Ok(LaunchCommand::new(table, PROGRAM.name, &args))
    }

    fn output_reader(&self, _before: Option<&Usage>) -> Option<AgentOutputReader> {
        let state = ReaderState::new(PROGRAM.called, &self.setup.zone);
        Some(AgentOutputReader::new(state, CopilotReader::default()))
    }

    fn can_resume(&self) -> bool {
        true
    }

    fn can_set_conversation_id(&self) -> bool {
        true
    }

    fn resolve_model(&self, asked: Option<&str>) -> Option<String> {
        self.setup.model_for(asked)
    }
}

/// Reads `--output-format json`.
#[derive(Debug, Default)]
struct CopilotReader {
    /// The status of the result.
    status: Option<i64>,
    /// What went wrong for good.
    error: Option<Value>,
    /// What the service says while requests are tried again.
    refused: Option<Trouble>,
    was_aborted: bool,
}

impl EventReader for CopilotReader {
    fn handle_event(&mut self, event: Value, state: &mut ReaderState) {
        let data = &event["data"];
        match event["type"].as_str().unwrap_or("") {
            "assistant.message" => {
                let text = data["content"].as_str().unwrap_or("");
                if !text.is_empty() {
                    self.refused = None;
                    state.record_words(text);
                }
            }
            "tool.execution_start" => {
                let tool = data["toolName"].as_str().unwrap_or("");
                let call = call_of_tool(&PROGRAM, tool, &data["arguments"], "");
                let id = data["toolCallId"].as_str().unwrap_or("");
                state.calls.begin(id, call, state.event_time(&event));
            }
            "tool.execution_complete" => handle_call_end(&event, state),
            "model.call_failure" => {
                let status = data["statusCode"].as_u64();
                self.refused = status.and_then(signs::trouble_of_http_status);
            }
            // Its result says 0 then: it did what it was asked to.
            "abort" => self.was_aborted = true,
            "session.error" => self.error = Some(data.clone()),
            "result" => {
                state.record_conversation(&event["sessionId"]);
                self.status = event["exitCode"].as_i64();
            }
            // It has some forty types of events, each with its own data.
            _ if data.is_object() => {}
            _ => state.seen.push(OutputEvent::Unknown),
        }
    }

    fn is_finished(&self) -> bool {
        self.status.is_some()
    }

    fn finish(self: Box<Self>, state: ReaderState, ended: &ProgramEnd) -> AgentResult {
        match (&self.error, self.status) {
            (Some(error), _) => {
                let words = error["message"].as_str().unwrap_or("");
                let trouble = signs::trouble_of_error(error["statusCode"].as_u64(), words);
                state.into_failed_result(trouble, words)
            }
            (None, Some(0)) if !self.was_aborted => state.into_success_result(),
            (None, Some(_) | None) => {
                let aborted = self.was_aborted.then_some(Trouble::Signal);
                state.into_missing_result(ended, self.refused.or(aborted))
            }
        }
    }
}

fn handle_call_end(event: &Value, state: &mut ReaderState) {
    let data = &event["data"];
    let id = data["toolCallId"].as_str().unwrap_or("");
    let Some(mut call) = state.calls.end(id, state.event_time(event)) else {
        return;
    };
    let error = &data["error"];
    let output = data["result"]["content"].as_str();
    let output = output.or(error["message"].as_str()).unwrap_or("");
    call.failed = data["success"].as_bool() != Some(true);
    call.exit = exit_status(&data["shellExecution"]["exitCode"]);
    state.denied += u32::from(error["code"].as_str() == Some("denied"));
    state.record_call(call, output);
}
