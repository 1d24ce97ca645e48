//! Claude Code: `claude -p` with `stream-json`.
//!
//! Success is a result line that says so, and exit status 0; never the status
//! alone. It is that of the program: a hook may have stopped it, a usage window
//! may have come to its end, work in the background may go on. Numbers of tokens are those of `modelUsage`, by model, before those
//! of `usage`, which lag behind.

mod background;
mod hooks;
mod session_file;
mod window;

use std::collections::BTreeMap;

use piton_core::attempt::Usage;
use piton_core::call::{AgentCall, CallKind};
use piton_core::trouble::Trouble;
use serde_json::{Value, json};

use self::background::BackgroundTasks;
use self::session_file::{MessageSum, parse_usage};
use self::window::UsageWindow;
use super::calls::call_of_tool;
use super::hook::settings::{HOOKS_VARIABLE, HookProgram};
use super::known_program::{
    HookEventKind, HookFormat, KnownProgram, LoginTrace, ProgramHome, ProgramName, ProgramSetup,
    USUAL_HOOK_EVENTS,
};
use super::output_reader::EventReader;
use super::reader_state::ReaderState;
use super::settings::Permissions;
use super::{
    Agent, AgentOutputReader, AgentResult, EarlyStop, LaunchCommand, LaunchOptions,
    McpServerCommand, OutputEvent, SERVER, SessionFiles, reset, signs,
};
use crate::agents::answer::ProgramEnd;
use crate::failure::Failure;

/// All that is particular to Claude Code. It reports itself what it cost.
pub(super) static PROGRAM: KnownProgram = KnownProgram {
    name: "claude",
    called: ProgramName {
        title: "Claude Code",
        login: "log in (start `claude`, type /login) or set a key that is valid",
    },
    install: "npm install -g @anthropic-ai/claude-code",
    login_trace: LoginTrace {
        file: ".credentials.json",
        pointers: &["/claudeAiOauth/accessToken"],
        variables: &[
            "ANTHROPIC_API_KEY",
            "ANTHROPIC_AUTH_TOKEN",
            "CLAUDE_CODE_OAUTH_TOKEN",
        ],
    },
    agent: |setup| Box::new(Claude { setup }),
    models: &["haiku", "sonnet", "opus", "claude-"],
    prices: None,
    keys: &["permissions", "allowed-tools", "max-turns"],
    // Longer than the longest command that it lets an agent run: ten minutes.
    idle_timeout: "15m",
    tools: &[
        (CallKind::Read, &["Read", "NotebookRead"]),
        (
            CallKind::Write,
            &["Write", "Edit", "MultiEdit", "NotebookEdit"],
        ),
        (CallKind::Shell, &["Bash"]),
        (CallKind::Agent, &["Task", "Agent"]),
    ],
    home: ProgramHome {
        folder: ".claude",
        variable: "CLAUDE_CONFIG_DIR",
        below: "",
    },
    project_variable: Some("CLAUDE_PROJECT_DIR"),
    hooks: Some(HookFormat {
        file: "settings.json",
        events: USUAL_HOOK_EVENTS,
        // `SubagentStop` is quiet: a sub-agent owns no item, and the call that let
        // it work is noted by itself.
        other_events: &[
            ("PostToolUseFailure", HookEventKind::Called),
            ("SubagentStart", HookEventKind::Quiet),
            ("SubagentStop", HookEventKind::Quiet),
            ("UserPromptSubmit", HookEventKind::Quiet),
            ("PreToolUse", HookEventKind::Quiet),
            ("PermissionRequest", HookEventKind::Quiet),
            ("PreCompact", HookEventKind::Quiet),
            ("PostCompact", HookEventKind::Quiet),
            ("Notification", HookEventKind::Quiet),
        ],
        timeout: 15,
        next_step: None,
    }),
    session_files: Some(session_file::FORMAT),
};

/// What it is always started with. The parts of an answer that is being written
/// say what it uses, and that it is at work.
const ALWAYS: [&str; 5] = [
    "-p",
    "--output-format",
    "stream-json",
    "--verbose",
    "--include-partial-messages",
];

/// Settings for one process: a file, or JSON.
const SETTINGS: &str = "--settings";

/// How lines with a part of an answer begin: the whole answer follows.
const PARTIAL: &str = "{\"type\":\"stream_event\",";

/// Types of lines that say nothing piton needs.
const QUIET: &[&str] = &[
    "system",
    "control_request",
    "control_response",
    "control_cancel_request",
    "keep_alive",
    "tool_progress",
    "tool_use_summary",
    "auth_status",
    "prompt_suggestion",
];

/// Tries of a request before it fails: what goes by in seconds is waited out,
/// and a wrong key ends the attempt in some ten seconds instead of never.
const RETRIES: (&str, &str) = ("CLAUDE_CODE_MAX_RETRIES", "4");

/// A turn that ends takes what it began in the background with it, so that the
/// agent never sees how that ends.
const NO_BACKGROUND: (&str, &str) = ("CLAUDE_CODE_DISABLE_BACKGROUND_TASKS", "1");

/// Claude Code, as it is configured.
#[derive(Debug)]
struct Claude {
    setup: ProgramSetup,
}

impl Claude {
    fn permission_args(&self, order: &LaunchOptions<'_>) -> Result<Vec<String>, Failure> {
        let table = &self.setup.table;
        super::refuse_bypass_as_root(table, order, PROGRAM.called.title, "Bash(make:*)")?;
        let mode = match table.permissions {
            Permissions::Default | Permissions::Edits => "acceptEdits",
            Permissions::Plan => "plan",
            Permissions::Bypass => "bypassPermissions",
        };
        let mut args = vec!["--permission-mode".to_owned(), mode.to_owned()];
        let mut tools = table.allowed_tools_or("Bash");
        if order.tools.is_some() && table.has_tools() {
            tools.push(format!("mcp__{SERVER}"));
        }
        if !tools.is_empty() {
            args.push("--allowedTools".to_owned());
            args.append(&mut tools);
        }
        Ok(args)
    }
}

impl Agent for Claude {
    fn launch_command(&self, order: &LaunchOptions<'_>) -> Result<LaunchCommand, Failure> {
        let mut args = ALWAYS.map(str::to_owned).to_vec();
        args.extend(order.conversation_args());
        args.extend(self.permission_args(order)?);
        if let Some(tools) = order.tools.filter(|_| self.setup.table.has_tools()) {
            args.extend(["--mcp-config".to_owned(), mcp_config(tools)]);
        }
        if let Some(model) = self.resolve_model(order.model) {
            args.extend(["--model".to_owned(), model]);
        }
        if let Some(turns) = self.setup.table.max_turns {
            args.extend(["--max-turns".to_owned(), turns.to_string()]);
        }
        if let Some(budget) = order.budget_usd {
            args.extend(["--max-budget-usd".to_owned(), budget.to_string()]);
        }
        let hooks = order.hooks.filter(|_| !self.replaces_hooks());
        let settings = hooks.zip(HookProgram::find(PROGRAM.name));
        if let Some((piton, program)) = settings {
            let settings = program.settings_of_process(piton);
            args.extend([SETTINGS.to_owned(), settings]);
        }
        let mut launch = LaunchCommand::new(&self.setup.table, PROGRAM.name, &args);
        if settings.is_some() {
            let given = (HOOKS_VARIABLE.to_owned(), order.conversation.to_owned());
            launch.env.push(given);
        }
        for (name, value) in [RETRIES, NO_BACKGROUND] {
            if !self.setup.table.env.contains_key(name) {
                launch.env.push((name.to_owned(), value.to_owned()));
            }
        }
        Ok(launch)
    }

    fn output_reader(&self, _before: Option<&Usage>) -> Option<AgentOutputReader> {
        let state = ReaderState::new(PROGRAM.called, &self.setup.zone);
        Some(AgentOutputReader::new(state, ClaudeReader::default()))
    }

    fn can_use_tools(&self) -> bool {
        self.setup.table.has_tools()
    }

    fn can_resume(&self) -> bool {
        true
    }

    fn replaces_hooks(&self) -> bool {
        // Of several it reads the last alone.
        let mut args = self.setup.table.args.iter();
        args.any(|arg| arg.split('=').next() == Some(SETTINGS))
    }

    fn partial_line_prefix(&self) -> Option<&'static str> {
        Some(PARTIAL)
    }

    fn session_files(&self, env: &BTreeMap<String, String>) -> Option<SessionFiles> {
        PROGRAM.session_files(|name| self.setup.table.env_variable(name, env))
    }

    fn resolve_model(&self, asked: Option<&str>) -> Option<String> {
        self.setup.model_for(asked)
    }
}

/// The tools of piton, as `--mcp-config` takes them.
fn mcp_config(tools: &McpServerCommand) -> String {
    let env: serde_json::Map<String, Value> = tools
        .env
        .iter()
        .map(|(name, value)| (name.clone(), value.as_str().into()))
        .collect();
    let server = json!({ "command": tools.program, "args": ["mcp"], "env": env });
    json!({ "mcpServers": { SERVER: server } }).to_string()
}

/// Reads `stream-json`, and `json` as well.
#[derive(Debug, Default)]
struct ClaudeReader {
    cwd: String,
    /// The last result: a program that is given more than one prompt gives more.
    result: Option<Value>,
    /// What the service says while requests are tried again.
    retried: Option<Trouble>,
    /// What was seen of each message until now.
    messages: MessageSum,
    /// The message that is being written.
    writing: Option<String>,
    /// The model that writes it.
    model: Option<String>,
    background: BackgroundTasks,
    /// What had not ended when the last result came.
    pending: Vec<String>,
    window: UsageWindow,
    /// Why a hook stopped the session, where it is printed.
    stopped_by_hook: Option<String>,
}

impl ClaudeReader {
    fn handle_system(&mut self, event: &Value) {
        self.background.handle_system(event);
        match event["subtype"].as_str() {
            Some("init") => {
                self.cwd = event["cwd"].as_str().unwrap_or("").to_owned();
            }
            Some("api_retry") => {
                self.retried = event["error_status"]
                    .as_u64()
                    .and_then(signs::trouble_of_http_status);
            }
            Some("hook_response") => {
                let reason = hooks::stop_reason(event);
                self.stopped_by_hook = reason.or(self.stopped_by_hook.take());
            }
            Some("notification" | "informational") => {
                let text = event["text"].as_str().or(event["content"].as_str());
                self.window.record_notice(text.unwrap_or_default());
            }
            Some(_) | None => {}
        }
    }

    fn handle_rate_limit(&mut self, info: &Value, state: &mut ReaderState) {
        self.window.record_limit(info);
        let resets_at = info["resetsAt"]
            .as_i64()
            .and_then(reset::timestamp_from_epoch);
        if info["status"].as_str() == Some("rejected") {
            state.resets_at = resets_at;
            state.seen.push(OutputEvent::Refused(resets_at));
        }
    }

    fn handle_assistant(&mut self, event: &Value, state: &mut ReaderState) {
        let message = &event["message"];
        // The program's own words about an error: the result has them, too.
        let is_complaint = event["error"].is_string();
        if !is_complaint {
            self.retried = None;
        }
        self.count_usage(message, state);
        // What a sub-agent says is not what this agent says.
        let is_own = event["parent_tool_use_id"].is_null();
        for block in message["content"].as_array().into_iter().flatten() {
            match block["type"].as_str() {
                Some("text") if is_own && !is_complaint => {
                    let text = block["text"].as_str().unwrap_or("");
                    state.record_words(text);
                }
                Some("tool_use" | "server_tool_use") => {
                    let tool = block["name"].as_str().unwrap_or("");
                    let call = call_of_tool(&PROGRAM, tool, &block["input"], &self.cwd);
                    let id = block["id"].as_str().unwrap_or("");
                    state.calls.begin(id, call, state.now);
                }
                Some(_) | None => {}
            }
        }
    }

    /// Counts what a request read: it stands in each line of its answer. What
    /// it wrote stands at the end of its parts, in [`Self::handle_partial`].
    fn count_usage(&mut self, message: &Value, state: &mut ReaderState) {
        let Some(id) = message["id"].as_str() else {
            return;
        };
        let model = message["model"].as_str();
        let usage = &message["usage"];
        if usage.is_object() && self.messages.add(id, model, &parse_usage(usage)) {
            state
                .seen
                .push(OutputEvent::Used(self.messages.usage.clone()));
        }
    }

    /// Counts a part of an answer that is being written.
    fn handle_partial(&mut self, event: &Value, state: &mut ReaderState) {
        let event = &event["event"];
        match event["type"].as_str() {
            Some("message_start") => {
                let message = &event["message"];
                self.writing = message["id"].as_str().map(str::to_owned);
                self.model = message["model"].as_str().map(str::to_owned);
                self.count_usage(message, state);
            }
            Some("message_delta") => {
                let Some(id) = self.writing.clone() else {
                    return;
                };
                let message = json!({ "id": id, "model": self.model, "usage": event["usage"] });
                self.count_usage(&message, state);
            }
            Some("message_stop") => self.writing = None,
            Some(_) | None => {}
        }
    }

    fn handle_user(&mut self, event: &Value, state: &mut ReaderState) {
        let now = state.now;
        for block in event["message"]["content"].as_array().into_iter().flatten() {
            if block["type"].as_str() != Some("tool_result") {
                continue;
            }
            let id = block["tool_use_id"].as_str().unwrap_or("");
            self.background
                .handle_call_result(id, &event["tool_use_result"]);
            let Some(call) = state.calls.end(id, now) else {
                continue;
            };
            state
                .seen
                .push(OutputEvent::Called(call_with_result(call, block, event)));
            if let Some(text) = result_texts(block).next() {
                state.record_output(text);
            }
        }
    }
}

/// The texts of what a tool gave.
fn result_texts(block: &Value) -> impl Iterator<Item = &str> {
    let content = &block["content"];
    let texts = content.as_array().into_iter().flatten();
    let texts = texts.map(|part| &part["text"]).chain([content]);
    texts.filter_map(Value::as_str)
}

/// A call with what came back.
fn call_with_result(mut call: AgentCall, block: &Value, event: &Value) -> AgentCall {
    let text = result_texts(block);
    let (mut bytes, mut first) = (0, None);
    for text in text {
        bytes += text.len() as u64;
        first = first.or(Some(text));
    }
    call.bytes = Some(bytes);
    call.failed = block["is_error"].as_bool() == Some(true);
    if call.kind == CallKind::Shell {
        let is_over = event["tool_use_result"]["backgroundTaskId"].is_null();
        call.exit = match first.and_then(|text| text.strip_prefix("Exit code ")) {
            Some(rest) => rest
                .split(|c: char| !c.is_ascii_digit())
                .next()
                .and_then(|digits| digits.parse().ok()),
            None if call.failed || !is_over => None,
            None => Some(0),
        };
    }
    if let Some(at) = event["timestamp"].as_str().and_then(|at| at.parse().ok()) {
        call.at = Some(at);
    }
    call
}

impl EventReader for ClaudeReader {
    fn handle_event(&mut self, event: Value, state: &mut ReaderState) {
        state.record_conversation(&event["session_id"]);
        match event["type"].as_str().unwrap_or("") {
            "assistant" => self.handle_assistant(&event, state),
            "user" => self.handle_user(&event, state),
            "system" => self.handle_system(&event),
            "stream_event" => self.handle_partial(&event, state),
            "rate_limit_event" => self.handle_rate_limit(&event["rate_limit_info"], state),
            "result" => {
                state.seen.push(OutputEvent::Used(total_usage(&event).0));
                self.pending = self.background.pending_tasks();
                self.result = Some(event);
            }
            quiet if QUIET.contains(&quiet) => {}
            _ => state.seen.push(OutputEvent::Unknown),
        }
    }

    fn is_finished(&self) -> bool {
        // It waits for what it began in the background, and goes on then.
        self.result.is_some() && self.background.is_empty()
    }

    fn finish(mut self: Box<Self>, mut state: ReaderState, ended: &ProgramEnd) -> AgentResult {
        let Some(result) = self.result.take() else {
            return AgentResult {
                usage: self.messages.usage,
                models: self.messages.models,
                ..state.into_missing_result(ended, self.retried)
            };
        };
        state.denied = count_denials(&result);
        if has_succeeded(&result) && hooks::is_hook_refusal(&result) {
            let text = result["result"].as_str().unwrap_or("");
            let words = hooks::hook_message(text, self.stopped_by_hook.as_deref());
            let said = state.into_failed_result(Trouble::HookRefused, "");
            return AgentResult {
                error: Some(signs::first_chars(&words, signs::ERROR_CHARS).to_owned()),
                ..with_result_usage(said, &result)
            };
        }
        let early = self.early_stop(&result);
        let said = if has_succeeded(&result) {
            AgentResult {
                early,
                ..success_result(state, &result)
            }
        } else {
            failed_result(state, &result, ended)
        };
        let said = with_result_usage(said, &result);
        if was_interrupted(&result, ended) {
            with_message_usage(said, self.messages)
        } else {
            said
        }
    }
}

impl ClaudeReader {
    /// Why it may have stopped before the work was done.
    fn early_stop(&mut self, result: &Value) -> Option<EarlyStop> {
        if !self.pending.is_empty() {
            return Some(EarlyStop::PendingWork(std::mem::take(&mut self.pending)));
        }
        let words = result["result"].as_str().unwrap_or("");
        self.window
            .reset_if_nearly_used(words)
            .map(EarlyStop::UsageWindow)
    }
}

/// Whether a result says that the program succeeded.
fn has_succeeded(result: &Value) -> bool {
    result["is_error"].as_bool() == Some(false) && result["subtype"].as_str() == Some("success")
}

/// The same with the numbers of the result.
fn with_result_usage(said: AgentResult, result: &Value) -> AgentResult {
    let (usage, models) = total_usage(result);
    AgentResult {
        has_total: true,
        usage,
        models,
        ..said
    }
}

/// The same, where the result does not count the answer that was under way: it
/// says 0 of an attempt that was interrupted in its first one.
fn with_message_usage(said: AgentResult, messages: MessageSum) -> AgentResult {
    let has_counted = said.usage.budget_tokens().is_some_and(|tokens| tokens > 0);
    // A result may name a model in another way than its answers do.
    let (usage, models) = if has_counted {
        (said.usage.max_of_bounds(&messages.usage), said.models)
    } else {
        (messages.usage, messages.models)
    };
    AgentResult {
        has_total: false,
        usage,
        models,
        ..said
    }
}

fn count_denials(result: &Value) -> u32 {
    let denials = result["permission_denials"].as_array();
    denials.map_or(0, |denials| {
        u32::try_from(denials.len()).unwrap_or(u32::MAX)
    })
}

fn failed_result(state: ReaderState, result: &Value, ended: &ProgramEnd) -> AgentResult {
    let text = result["result"].as_str().unwrap_or("");
    let error = if text.is_empty() {
        let errors = result["errors"].as_array().into_iter().flatten();
        let errors: Vec<&str> = errors.filter_map(Value::as_str).collect();
        errors.join("; ")
    } else {
        text.to_owned()
    };
    let trouble = trouble_of_result(result, &error, ended);
    let error = if trouble == Trouble::Signal {
        "Claude Code was interrupted from outside".to_owned()
    } else {
        error
    };
    state.into_failed_result(trouble, &error)
}

fn success_result(mut state: ReaderState, result: &Value) -> AgentResult {
    let text = result["result"].as_str().unwrap_or("");
    if !state.words.as_str().trim_end().ends_with(text.trim_end()) {
        state.words.push_lines(text);
    }
    // What was asked for by a schema is the answer, whatever was said.
    let structured = &result["structured_output"];
    let answer = structured.to_string();
    if structured.is_object() && answer != text {
        state.words.push_lines(&answer);
    }
    state.into_success_result()
}

/// Whether the program was asked to end before it was done.
fn was_interrupted(result: &Value, ended: &ProgramEnd) -> bool {
    let subtype = result["subtype"].as_str().unwrap_or("");
    let terminal = result["terminal_reason"].as_str().unwrap_or("");
    terminal.starts_with("aborted")
        || (subtype == "error_during_execution" && ended.code == Some(0))
}

fn trouble_of_result(result: &Value, error: &str, ended: &ProgramEnd) -> Trouble {
    let subtype = result["subtype"].as_str().unwrap_or("");
    if result["stop_reason"].as_str() == Some("refusal") {
        return Trouble::Refusal;
    }
    if subtype.starts_with("error_max_") {
        return Trouble::Limit;
    }
    if was_interrupted(result, ended) {
        return Trouble::Signal;
    }
    signs::trouble_of_error(result["api_error_status"].as_u64(), error)
}

/// What it used, all in all and by model.
fn total_usage(result: &Value) -> (Usage, BTreeMap<String, Usage>) {
    let models: BTreeMap<String, Usage> = result["modelUsage"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(model, used)| (model.clone(), parse_model_usage(used)))
        .collect();
    let sum = models
        .values()
        .fold(Usage::default(), |sum, used| sum.plus(used));
    let told = if models.is_empty() {
        parse_usage(&result["usage"])
    } else {
        sum
    };
    let total = Usage {
        cost_usd: parse_dollars(&result["total_cost_usd"]).or(told.cost_usd),
        ..told
    };
    (total, models)
}

fn parse_model_usage(usage: &Value) -> Usage {
    Usage {
        input_tokens: usage["inputTokens"].as_u64(),
        output_tokens: usage["outputTokens"].as_u64(),
        cache_read_tokens: usage["cacheReadInputTokens"].as_u64(),
        cache_write_tokens: usage["cacheCreationInputTokens"].as_u64(),
        cost_usd: parse_dollars(&usage["costUSD"]),
        ..Usage::default()
    }
}

fn parse_dollars(value: &Value) -> Option<f64> {
    value
        .as_f64()
        .filter(|dollars| dollars.is_finite() && *dollars >= 0.0)
}
