//! Codex: `codex exec --json`.
//!
//! It counts tokens per conversation, so that what an attempt used is the
//! total less what it was before. It says nothing of dollars or its model.

mod session_file;

use std::collections::BTreeMap;

use piton_core::attempt::Usage;
use piton_core::call::{AgentCall, CallKind};
use serde_json::Value;

use self::session_file::{parse_usage, without_cached_input};
use super::calls::exit_status;
use super::known_program::{
    HookFormat, KnownProgram, LoginTrace, PriceList, ProgramHome, ProgramName, ProgramSetup,
    USUAL_HOOK_EVENTS,
};
use super::output_reader::EventReader;
use super::reader_state::ReaderState;
use super::settings::Permissions;
use super::{
    Agent, AgentOutputReader, AgentResult, LaunchCommand, LaunchOptions, McpServerCommand,
    OutputEvent, SERVER, SessionFiles, signs,
};
use crate::agents::answer::ProgramEnd;
use crate::failure::Failure;

/// All that is particular to Codex.
pub(super) static PROGRAM: KnownProgram = KnownProgram {
    name: "codex",
    called: ProgramName {
        title: "Codex",
        login: "log in (`codex login`) or set a key that is valid",
    },
    install: "npm install -g @openai/codex",
    login_trace: LoginTrace {
        file: "auth.json",
        pointers: &["/tokens/access_token", "/OPENAI_API_KEY"],
        variables: &["CODEX_API_KEY"],
    },
    agent: |setup| Box::new(Codex { setup }),
    models: &["gpt-", "codex-", "o3", "o4"],
    prices: Some(PRICES),
    keys: &["permissions"],
    idle_timeout: "15m",
    tools: &[
        (CallKind::Read, &["view_image"]),
        (CallKind::Write, &["apply_patch"]),
        (CallKind::Shell, &["shell", "local_shell", "exec_command"]),
        (CallKind::Agent, &["spawn_agent"]),
    ],
    home: ProgramHome {
        folder: ".codex",
        variable: "CODEX_HOME",
        below: "",
    },
    project_variable: None,
    hooks: Some(HookFormat {
        file: "hooks.json",
        events: USUAL_HOOK_EVENTS,
        other_events: &[],
        timeout: 15,
        next_step: Some(
            "Codex runs a new hook only when you trust it: type `/hooks` in it and look at them",
        ),
    }),
    session_files: Some(session_file::FORMAT),
};

/// The standard tier of openai.com/api/pricing. Prompts of more than 200,000 tokens
/// cost more with some models; that is not reckoned. Models that came later are
/// unknown until a configuration names them.
const PRICES: PriceList = PriceList {
    date: "2026-06-04",
    models: &[
        ("gpt-5", 1.25, 10.0, 0.125),
        ("gpt-5-codex", 1.25, 10.0, 0.125),
        ("gpt-5-mini", 0.25, 2.0, 0.025),
        ("gpt-5-nano", 0.05, 0.4, 0.005),
        ("gpt-5.1", 1.25, 10.0, 0.125),
        ("gpt-5.1-codex", 1.25, 10.0, 0.125),
        ("gpt-5.1-codex-mini", 0.25, 2.0, 0.025),
        ("gpt-5.2", 1.75, 14.0, 0.175),
        ("gpt-5.2-codex", 1.75, 14.0, 0.175),
        ("gpt-5.3-codex", 1.75, 14.0, 0.175),
        ("gpt-5.4", 2.5, 15.0, 0.25),
        ("gpt-5.4-mini", 0.75, 4.5, 0.075),
        ("gpt-5.4-nano", 0.2, 1.25, 0.02),
        ("gpt-5.5", 5.0, 30.0, 0.5),
        ("gpt-4.1", 2.0, 8.0, 0.5),
        ("gpt-4.1-mini", 0.4, 1.6, 0.1),
        ("o3", 2.0, 8.0, 0.5),
        ("o4-mini", 1.1, 4.4, 0.275),
    ],
};

/// Codex, as it is configured.
#[derive(Debug)]
struct Codex {
    setup: ProgramSetup,
}

impl Agent for Codex {
    fn launch_command(&self, order: &LaunchOptions<'_>) -> Result<LaunchCommand, Failure> {
        let table = &self.setup.table;
        super::refuse_bypass_as_root(table, order, PROGRAM.called.title, "")?;
        let mut args = vec!["exec".to_owned()];
        if order.resume.is_some() {
            args.push("resume".to_owned());
        }
        args.extend(["--json", "--skip-git-repo-check"].map(str::to_owned));
        // As a setting: `exec resume` has no option for the sandbox.
        let sandbox = match table.permissions {
            Permissions::Default | Permissions::Edits => Some("workspace-write"),
            Permissions::Plan => Some("read-only"),
            Permissions::Bypass => None,
        };
        match sandbox {
            Some(mode) => {
                args.extend(["-c".to_owned(), format!("sandbox_mode=\"{mode}\"")]);
            }
            None => args.push("--dangerously-bypass-approvals-and-sandbox".to_owned()),
        }
        if let Some(tools) = order.tools.filter(|_| table.has_tools()) {
            args.extend(["-c".to_owned(), mcp_server_setting(tools)]);
        }
        if let Some(model) = self.resolve_model(order.model) {
            args.extend(["-m".to_owned(), model]);
        }
        // The prompt comes last, and `-` is that of stdin.
        let last = order.resume.into_iter().chain(["-"]);
        Ok(LaunchCommand::new(table, PROGRAM.name, &args).with_trailing_args(last))
    }

    fn output_reader(&self, before: Option<&Usage>) -> Option<AgentOutputReader> {
        let state = ReaderState::new(PROGRAM.called, &self.setup.zone);
        let events = CodexReader {
            before: before.cloned().unwrap_or_default(),
            total: None,
            turn: None,
            warned: None,
        };
        Some(AgentOutputReader::new(state, events))
    }

    fn can_use_tools(&self) -> bool {
        self.setup.table.has_tools()
    }

    fn can_resume(&self) -> bool {
        true
    }

    fn session_files(&self, env: &BTreeMap<String, String>) -> Option<SessionFiles> {
        PROGRAM.session_files(|name| self.setup.table.env_variable(name, env))
    }

    fn resolve_model(&self, asked: Option<&str>) -> Option<String> {
        self.setup.model_for(asked)
    }
}

/// The tools of piton, as a setting. Without the approval its sandbox refuses
/// what writes.
fn mcp_server_setting(tools: &McpServerCommand) -> String {
    // A text is written in TOML as it is in JSON.
    let quoted = |text: &str| Value::from(text).to_string();
    let env: Vec<String> = tools
        .env
        .iter()
        .map(|(name, value)| format!("{name}={}", quoted(value)))
        .collect();
    format!(
        "mcp_servers.{SERVER}={{command={},args=[\"mcp\"],env={{{}}},default_tools_approval_mode=\"approve\"}}",
        quoted(&tools.program),
        env.join(",")
    )
}

/// How the last turn ended.
#[derive(Debug)]
enum CodexTurnEnd {
    Completed,
    Failed(String),
}

/// Reads the lines of `--json`.
#[derive(Debug)]
struct CodexReader {
    before: Usage,
    total: Option<Usage>,
    turn: Option<CodexTurnEnd>,
    /// The last complaint: what it says while it tries again.
    warned: Option<String>,
}

impl CodexReader {
    fn complete_item(&mut self, item: &Value, state: &mut ReaderState) {
        match item["type"].as_str().unwrap_or("") {
            "agent_message" => {
                let text = item["text"].as_str().unwrap_or("");
                self.warned = None;
                state.record_words(text);
            }
            // A warning only: of a model that it does not know, of a setting.
            "error" | "reasoning" | "todo_list" | "plan" => {}
            _ => {
                let now = state.now;
                state.denied += u32::from(was_refused(item));
                let begun = state.calls.end(item["id"].as_str().unwrap_or(""), now);
                let ms = begun.and_then(|call| call.ms);
                for call in calls_of_item(item) {
                    let call = AgentCall {
                        ms,
                        at: Some(now),
                        ..call
                    };
                    state.seen.push(OutputEvent::Called(call));
                }
                if let Some(text) = item["aggregated_output"].as_str() {
                    state.record_output(text);
                }
            }
        }
    }
}

fn begin_item(item: &Value, state: &mut ReaderState) {
    if let (Some(id), Some(call)) = (item["id"].as_str(), calls_of_item(item).pop()) {
        state.calls.begin(id, call, state.now);
    }
}

/// Whether an item was not permitted. What the sandbox stops is not printed.
fn was_refused(item: &Value) -> bool {
    let error = item["error"]["message"].as_str().unwrap_or("");
    item["status"].as_str() == Some("declined") || error.contains("requires approval")
}

/// The calls that an item is: one for each file of a change.
fn calls_of_item(item: &Value) -> Vec<AgentCall> {
    let kind = item["type"].as_str().unwrap_or("");
    let text = |key: &str| item[key].as_str().unwrap_or("");
    let has_failed = matches!(text("status"), "failed" | "declined") || item["error"].is_object();
    let new = |kind, tool: &str, what: &str| AgentCall {
        failed: has_failed,
        ..AgentCall::new(kind, tool, what)
    };
    match kind {
        "command_execution" => {
            let exit = exit_status(&item["exit_code"]);
            vec![AgentCall {
                exit,
                failed: has_failed || exit.is_some_and(|exit| exit != 0),
                bytes: item["aggregated_output"]
                    .as_str()
                    .map(|out| out.len() as u64),
                ..new(CallKind::Shell, kind, text("command"))
            }]
        }
        "file_change" => item["changes"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|change| new(CallKind::Write, kind, change["path"].as_str().unwrap_or("")))
            .collect(),
        "mcp_tool_call" => {
            let tool = format!("{}.{}", text("server"), text("tool"));
            vec![new(CallKind::Other, &tool, "")]
        }
        "collab_tool_call" => {
            let kind = match text("tool") {
                "spawn_agent" => CallKind::Agent,
                _ => CallKind::Other,
            };
            vec![new(kind, text("tool"), text("prompt"))]
        }
        "web_search" => vec![new(CallKind::Other, kind, text("query"))],
        "" | "agent_message" | "error" | "reasoning" | "todo_list" | "plan" => Vec::new(),
        other => vec![new(CallKind::Other, other, "")],
    }
}

impl EventReader for CodexReader {
    fn handle_event(&mut self, event: Value, state: &mut ReaderState) {
        match event["type"].as_str().unwrap_or("") {
            "thread.started" => state.record_conversation(&event["thread_id"]),
            "turn.started" | "item.updated" => {}
            "item.started" => begin_item(&event["item"], state),
            "item.completed" => self.complete_item(&event["item"], state),
            "error" => {
                self.warned = event["message"].as_str().map(str::to_owned);
            }
            "turn.completed" => {
                if event["usage"].is_object() {
                    let total = parse_usage(&event["usage"]);
                    state.seen.push(OutputEvent::Used(without_cached_input(
                        total.usage_since(&self.before),
                    )));
                    self.total = Some(total);
                }
                self.turn = Some(CodexTurnEnd::Completed);
            }
            "turn.failed" => {
                let error = event["error"]["message"].as_str().unwrap_or("");
                self.turn = Some(CodexTurnEnd::Failed(error.to_owned()));
            }
            _ => state.seen.push(OutputEvent::Unknown),
        }
    }

    fn is_finished(&self) -> bool {
        self.turn.is_some()
    }

    fn finish(self: Box<Self>, mut state: ReaderState, ended: &ProgramEnd) -> AgentResult {
        let usage = self.total.as_ref();
        let usage = usage.map(|total| total.usage_since(&self.before));
        let has_total = self.total.is_some() && matches!(self.turn, Some(CodexTurnEnd::Completed));
        let said = match self.turn {
            Some(CodexTurnEnd::Completed) => state.into_success_result(),
            Some(CodexTurnEnd::Failed(error)) => {
                let trouble = signs::trouble_of_error(None, &error);
                state.into_failed_result(trouble, &error)
            }
            None => {
                let warned = self.warned.as_deref();
                let known = warned.and_then(signs::trouble_of_text);
                let resets_at = warned.and_then(|words| state.reset_time(words));
                state.resets_at = state.resets_at.or(resets_at);
                state.into_missing_result(ended, known)
            }
        };
        AgentResult {
            has_total,
            usage: usage.map(without_cached_input).unwrap_or_default(),
            ..said
        }
        // What an attempt that broke off used is not known; the next one counts
        // from the last total that is.
        .with_conversation_total(self.total.unwrap_or(self.before))
    }
}
