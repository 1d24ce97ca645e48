//! Gemini CLI: `gemini -o stream-json`, and `json` as well.
//!
//! A result is believed where it says `success`: the program ends with 0 after
//! a stream that broke. Its status is else one of its own, or that of the
//! service modulo 256. It says nothing of dollars.

use std::collections::BTreeMap;

use piton_core::attempt::Usage;
use piton_core::call::CallKind;
use piton_core::trouble::Trouble;
use serde_json::Value;

use super::calls::call_of_tool;
use super::known_program::{
    HookEventKind, HookFormat, KnownProgram, LoginTrace, PriceList, ProgramHome, ProgramName,
    ProgramSetup,
};
use super::output_reader::EventReader;
use super::reader_state::ReaderState;
use super::settings::Permissions;
use super::{
    Agent, AgentOutputReader, AgentResult, LaunchCommand, LaunchOptions, OutputEvent,
    TokenCounting, signs,
};
use crate::agents::answer::ProgramEnd;
use crate::failure::Failure;

/// All that is particular to Gemini CLI.
pub(super) static PROGRAM: KnownProgram = KnownProgram {
    name: "gemini",
    called: ProgramName {
        title: "Gemini CLI",
        login: "log in (start `gemini`, type /auth) or set a key that is valid",
    },
    install: "npm install -g @google/gemini-cli",
    login_trace: LoginTrace {
        file: "oauth_creds.json",
        pointers: &["/refresh_token", "/access_token"],
        variables: &["GEMINI_API_KEY"],
    },
    agent: |setup| Box::new(Gemini { setup }),
    models: &["gemini-"],
    prices: Some(PRICES),
    keys: &["permissions", "allowed-tools"],
    idle_timeout: "15m",
    tools: &[
        (CallKind::Read, &["read_file", "read_many_files"]),
        (CallKind::Write, &["write_file", "replace", "edit"]),
        (CallKind::Shell, &["run_shell_command"]),
        (
            CallKind::Agent,
            &["delegate_to_agent", "invoke_agent", "codebase_investigator"],
        ),
    ],
    home: ProgramHome {
        folder: ".gemini",
        variable: "GEMINI_CLI_HOME",
        below: ".gemini",
    },
    project_variable: Some("GEMINI_PROJECT_DIR"),
    hooks: Some(HookFormat {
        file: "settings.json",
        events: &[
            ("SessionStart", HookEventKind::SessionStart),
            ("AfterTool", HookEventKind::Called),
            ("AfterAgent", HookEventKind::Stop),
            ("SessionEnd", HookEventKind::SessionEnd),
        ],
        other_events: &[
            ("PreCompress", HookEventKind::Quiet),
            ("BeforeAgent", HookEventKind::Quiet),
            ("BeforeTool", HookEventKind::Quiet),
            ("Notification", HookEventKind::Quiet),
        ],
        // Milliseconds.
        timeout: 15_000,
        next_step: Some(
            "Gemini CLI runs the hooks of a project only where you trust the folder; `--skip-trust` is \
             not enough. Those of `--user` run everywhere",
        ),
    }),
    session_files: None,
};

/// The standard tier of ai.google.dev/gemini-api/docs/pricing. Prompts of more than
/// 200,000 tokens cost more with some models; that is not reckoned. Models that came
/// later are unknown until a configuration names them.
const PRICES: PriceList = PriceList {
    date: "2026-06-04",
    models: &[
        ("gemini-2.5-pro", 1.25, 10.0, 0.125),
        ("gemini-2.5-flash", 0.3, 2.5, 0.03),
        ("gemini-2.5-flash-lite", 0.1, 0.4, 0.01),
        ("gemini-3-pro-preview", 2.0, 12.0, 0.2),
        ("gemini-3.1-pro-preview", 2.0, 12.0, 0.2),
    ],
};

/// What its own statuses mean.
const STATUSES: &[(i32, Trouble)] = &[
    (41, Trouble::Auth),
    (44, Trouble::Setup),
    (52, Trouble::Setup),
    (53, Trouble::Limit),
    (55, Trouble::Setup),
];

/// How it says that the model does the same again and again.
const LOOP: &str = "Loop detected";

/// So many calls of a tool are taken from a mere number.
const COUNTED_MAX: u64 = 10_000;

/// Gemini CLI, as it is configured.
#[derive(Debug)]
struct Gemini {
    setup: ProgramSetup,
}

impl Agent for Gemini {
    fn launch_command(&self, order: &LaunchOptions<'_>) -> Result<LaunchCommand, Failure> {
        let table = &self.setup.table;
        super::refuse_bypass_as_root(table, order, PROGRAM.called.title, "run_shell_command")?;
        let mode = match table.permissions {
            Permissions::Default | Permissions::Edits => "auto_edit",
            Permissions::Plan => "plan",
            Permissions::Bypass => "yolo",
        };
        // No `-p`: without a terminal it takes the prompt from stdin.
        let mut args = ["-o", "stream-json", "--skip-trust", "--approval-mode", mode]
            .map(str::to_owned)
            .to_vec();
        let tools = table.allowed_tools_or("run_shell_command");
        if !tools.is_empty() {
            args.extend(["--allowed-tools".to_owned(), tools.join(",")]);
        }
        args.extend(order.conversation_args());
        if let Some(model) = self.resolve_model(order.model) {
            args.extend(["-m".to_owned(), model]);
        }
        Ok(LaunchCommand::new(table, PROGRAM.name, &args))
    }

    fn output_reader(&self, _before: Option<&Usage>) -> Option<AgentOutputReader> {
        let state = ReaderState::new(PROGRAM.called, &self.setup.zone);
        Some(AgentOutputReader::new(state, GeminiReader::default()))
    }

    fn can_resume(&self) -> bool {
        true
    }

    fn resolve_model(&self, asked: Option<&str>) -> Option<String> {
        self.setup.model_for(asked)
    }
}

/// Reads `stream-json`, and `json` as well.
#[derive(Debug, Default)]
struct GeminiReader {
    /// The message that comes word by word.
    saying: String,
    result: Option<Value>,
    warned: Option<String>,
}

impl GeminiReader {
    fn handle_tool_result(&mut self, event: &Value, state: &mut ReaderState) {
        let id = event["tool_id"].as_str().unwrap_or("");
        let Some(mut call) = state.calls.end(id, state.event_time(event)) else {
            return;
        };
        let output = event["output"].as_str().unwrap_or("");
        call.failed = event["status"].as_str() != Some("success");
        if call.kind == CallKind::Shell && !call.failed {
            call.exit = parse_exit_status(output);
        }
        // A tool of its own that is not there was taken away by the mode; one
        // that it made up was never there.
        let was_refused = match event["error"]["type"].as_str() {
            Some("tool_not_registered") => call.kind != CallKind::Other,
            Some(kind) => kind == "policy_violation",
            None => false,
        };
        state.denied += u32::from(was_refused);
        state.record_call(call, output);
    }

    fn store_result(&mut self, event: Value, state: &mut ReaderState) {
        if event["stats"].is_object() {
            state
                .seen
                .push(OutputEvent::Used(total_usage(&event["stats"]).0));
        }
        self.result = Some(event);
    }

    fn handle_message(&mut self, event: &Value, state: &mut ReaderState) {
        if event["role"].as_str() != Some("assistant") {
            return;
        }
        let is_part = event["delta"].as_bool() == Some(true);
        if !is_part {
            self.end_message(state);
        }
        self.saying
            .push_str(event["content"].as_str().unwrap_or(""));
        // A message of more than a megabyte is cut into pieces.
        if !is_part || self.saying.len() > 1 << 20 {
            self.end_message(state);
        }
    }

    /// The message is over.
    fn end_message(&mut self, state: &mut ReaderState) {
        let text = std::mem::take(&mut self.saying);
        if !text.is_empty() {
            state.record_words(&text);
        }
    }
}

impl EventReader for GeminiReader {
    fn handle_event(&mut self, event: Value, state: &mut ReaderState) {
        state.record_conversation(&event["session_id"]);
        let kind = event["type"].as_str().unwrap_or("").to_owned();
        if kind != "message" {
            self.end_message(state);
        }
        match kind.as_str() {
            "init" => {}
            "message" => self.handle_message(&event, state),
            "tool_use" => {
                let tool = event["tool_name"].as_str().unwrap_or("");
                let call = call_of_tool(&PROGRAM, tool, &event["parameters"], "");
                let id = event["tool_id"].as_str().unwrap_or("");
                state.calls.begin(id, call, state.event_time(&event));
            }
            "tool_result" => self.handle_tool_result(&event, state),
            "error" => {
                self.warned = event["message"].as_str().map(str::to_owned);
            }
            "result" => self.store_result(event, state),
            "" if event["response"].is_string() || event["error"].is_object() => {
                emit_counted_calls(&event["stats"]["tools"]["byName"], state);
                self.store_result(event, state);
            }
            _ => state.seen.push(OutputEvent::Unknown),
        }
    }

    fn is_finished(&self) -> bool {
        self.result.is_some()
    }

    fn finish(mut self: Box<Self>, mut state: ReaderState, ended: &ProgramEnd) -> AgentResult {
        self.end_message(&mut state);
        let by_status = ended.code.and_then(trouble_of_exit_status);
        let said = match self.result {
            Some(result) => {
                let warned = self.warned.unwrap_or_default();
                build_result(state, &result, by_status, &warned)
            }
            None => {
                let warned = self.warned.as_deref().and_then(signs::trouble_of_text);
                // SIGTERM and SIGINT end it with 0, without a word.
                let is_quiet = ended.code == Some(0) && state.conversation.is_some();
                let quiet = is_quiet.then_some(Trouble::Signal);
                state.into_missing_result(ended, by_status.or(warned).or(quiet))
            }
        };
        AgentResult {
            counting: TokenCounting {
                reasoning_is_apart: true,
            },
            ..said
        }
    }
}

fn build_result(
    mut state: ReaderState,
    result: &Value,
    by_status: Option<Trouble>,
    warned: &str,
) -> AgentResult {
    let (usage, models) = total_usage(&result["stats"]);
    let response = result["response"].as_str();
    let has_succeeded = match result["status"].as_str() {
        Some(status) => status == "success",
        None => response.is_some(),
    };
    let said = if warned.starts_with(LOOP) {
        // It gave up, and calls that a success.
        state.into_failed_result(
            Trouble::Stuck,
            "Gemini CLI saw that the model went in circles, and stopped",
        )
    } else if has_succeeded && !result["error"].is_object() {
        state.words.push_lines(response.unwrap_or(""));
        state.into_success_result()
    } else {
        let error = &result["error"];
        // A stream that broke is told before, and not in the result.
        let words = error["message"].as_str().unwrap_or(warned);
        let by_words = || signs::trouble_of_error(error["code"].as_u64(), words);
        let trouble = by_status.unwrap_or_else(by_words);
        state.into_failed_result(trouble, words)
    };
    AgentResult {
        usage,
        models,
        ..said
    }
}

/// The calls of a run of which only their number is told: `json`.
fn emit_counted_calls(tools: &Value, state: &mut ReaderState) {
    for (tool, told) in tools.as_object().into_iter().flatten() {
        let failed = told["fail"].as_u64().unwrap_or(0);
        let all = told["count"].as_u64().unwrap_or(0).min(COUNTED_MAX);
        for number in 0..all {
            let mut call = call_of_tool(&PROGRAM, tool, &Value::Null, "");
            call.failed = number < failed;
            state.seen.push(OutputEvent::Called(call));
        }
    }
}

/// The exit status of a command. Gemini gives it where the command printed nothing;
/// otherwise it is unknown.
fn parse_exit_status(output: &str) -> Option<i32> {
    if output.is_empty() {
        return Some(0);
    }
    let told = output.strip_prefix("Command exited with code: ")?;
    told.trim_end().parse().ok()
}

/// What a status tells: its own, or that of HTTP modulo 256.
fn trouble_of_exit_status(code: i32) -> Option<Trouble> {
    let own = STATUSES.iter().find(|(status, _)| *status == code);
    own.map(|(_, trouble)| *trouble).or_else(|| {
        let http = u64::try_from(code)
            .ok()
            .filter(|code| (144..256).contains(code))?;
        signs::trouble_of_http_status(http + 256)
    })
}

/// What it used, all in all and by model: `stats` of both forms.
fn total_usage(stats: &Value) -> (Usage, BTreeMap<String, Usage>) {
    let models: BTreeMap<String, Usage> = stats["models"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(model, used)| (model.clone(), parse_usage(used)))
        .filter(|(_, used)| used.budget_tokens() != Some(0))
        .collect();
    let told = parse_usage(stats);
    let sum = if told.is_unknown() {
        models
            .values()
            .fold(Usage::default(), |sum, used| sum.plus(used))
    } else {
        told
    };
    (sum, models)
}

fn parse_usage(stats: &Value) -> Usage {
    // `json` puts them into `tokens`, under other names than `stream-json`.
    let tokens = match &stats["tokens"] {
        tokens if tokens.is_object() => tokens,
        _ => stats,
    };
    let count = |keys: [&str; 2]| keys.iter().find_map(|key| tokens[key].as_u64());
    let cached = count(["cached", "cached"]);
    let prompt = count(["prompt", "input_tokens"]);
    let input = tokens["input"]
        .as_u64()
        .or_else(|| prompt.map(|prompt| prompt.saturating_sub(cached.unwrap_or(0))));
    let output = count(["candidates", "output_tokens"]);
    if input.is_none() && output.is_none() {
        return Usage::default();
    }
    Usage {
        input_tokens: input,
        output_tokens: output,
        cache_read_tokens: cached,
        // It writes no cache that anybody pays for by the token.
        cache_write_tokens: Some(0),
        reasoning_tokens: tokens["thoughts"].as_u64(),
        ..Usage::default()
    }
}
