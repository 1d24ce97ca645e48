//! A program of one's own, by a table of flags and JSON paths, without code.

use jiff::tz::TimeZone;
use piton_core::attempt::Usage;
use piton_core::call::{AgentCall, CallKind};
use piton_core::trouble::Trouble;
use serde_json::Value;

use super::calls::exit_status;
use super::known_program::ProgramName;
use super::output_reader::EventReader;
use super::reader_state::ReaderState;
use super::settings::{AgentOutputFormat, AgentTable, OutputFieldsTable, PromptChannel};
use super::{
    Agent, AgentOutputReader, AgentResult, LaunchCommand, LaunchOptions, OutputEvent, signs,
};
use crate::agents::answer::ProgramEnd;
use crate::failure::Failure;

const NAME: ProgramName = ProgramName {
    title: "the agent",
    login: "log in with its program or set a key that is valid",
};

/// A program of one's own.
#[derive(Clone, Debug)]
pub struct Custom {
    table: AgentTable,
    program: String,
    zone: TimeZone,
}

impl Custom {
    /// The program that a table describes; times that it tells are of `zone`.
    ///
    /// # Errors
    ///
    /// When the table names no program.
    pub fn new(table: AgentTable, zone: TimeZone) -> Result<Self, Failure> {
        let Some(program) = table.program.clone().filter(|program| !program.is_empty()) else {
            return Err(
                Failure::new("usage", "an agent in .piton/config.toml names no program")
                    .with_hint("give its table a program = \"…\""),
            );
        };
        Ok(Self {
            table,
            program,
            zone,
        })
    }
}

/// The arguments of a template with its hole filled: `--model {model}`.
fn expand_template(template: Option<&str>, hole: &str, with: &str) -> Vec<String> {
    let words = template.unwrap_or("").split_whitespace();
    words.map(|word| word.replace(hole, with)).collect()
}

impl Agent for Custom {
    fn launch_command(&self, order: &LaunchOptions<'_>) -> Result<LaunchCommand, Failure> {
        let mut args = self.table.args.clone();
        if let Some(model) = self.resolve_model(order.model) {
            let flag = self.table.model_flag.as_deref();
            args.extend(expand_template(flag, "{model}", &model));
        }
        let (flag, id) = match order.resume {
            Some(id) => (self.table.resume_flag.as_deref(), id),
            None => (self.table.session_flag.as_deref(), order.conversation),
        };
        args.extend(expand_template(flag, "{session}", id));
        let bare = AgentTable {
            env: self.table.env.clone(),
            ..AgentTable::default()
        };
        Ok(match self.table.prompt {
            PromptChannel::Stdin => LaunchCommand::new(&bare, &self.program, &args),
            // A shell puts what comes on stdin behind the arguments, without
            // looking into it.
            PromptChannel::Argument => {
                let shell = ["-c", "exec \"$0\" \"$@\" \"$(cat)\"", &self.program];
                let args: Vec<String> = shell.into_iter().map(str::to_owned).chain(args).collect();
                LaunchCommand::new(&bare, "sh", &args)
            }
        })
    }

    fn wrapped_program(&self) -> Option<String> {
        Some(self.program.clone())
    }

    fn output_reader(&self, before: Option<&Usage>) -> Option<AgentOutputReader> {
        match self.table.output {
            AgentOutputFormat::Text => None,
            AgentOutputFormat::Json | AgentOutputFormat::Jsonl => {
                let state = ReaderState::new(NAME, &self.zone);
                let events = CustomReader {
                    read: self.table.read.clone(),
                    before: before.cloned().unwrap_or_default(),
                    total: Usage::default(),
                    model: None,
                    is_success: None,
                    error: None,
                };
                Some(AgentOutputReader::new(state, events))
            }
        }
    }

    fn can_resume(&self) -> bool {
        self.table.resume_flag.is_some()
    }

    fn can_set_conversation_id(&self) -> bool {
        self.table.session_flag.is_some()
    }

    fn resolve_model(&self, asked: Option<&str>) -> Option<String> {
        self.table.model_for(asked, |_| false)
    }
}

/// Reads JSON by the paths of a table.
#[derive(Debug)]
struct CustomReader {
    read: OutputFieldsTable,
    before: Usage,
    total: Usage,
    model: Option<String>,
    /// What was said last where success is to be said.
    is_success: Option<bool>,
    error: Option<String>,
}

/// What stands at a path: names joined by dots, a number in a list.
fn value_at_path<'v>(value: &'v Value, path: Option<&String>) -> &'v Value {
    let Some(path) = path else {
        return &Value::Null;
    };
    path.split('.').fold(value, |value, name| {
        let Value::Array(values) = value else {
            return &value[name];
        };
        let place = name.parse().ok();
        place
            .and_then(|place: usize| values.get(place))
            .unwrap_or(&Value::Null)
    })
}

impl CustomReader {
    fn attempt_usage(&self) -> Usage {
        let usage = if self.read.cumulative {
            self.total.usage_since(&self.before)
        } else {
            self.total.clone()
        };
        let input_holds_cached = self.read.input_holds_cached;
        Usage {
            input_holds_cached,
            ..usage
        }
        .without_cached_input()
    }
}

fn parse_call(
    read: &OutputFieldsTable,
    text: &mut impl FnMut(Option<&String>) -> Option<String>,
) -> Option<AgentCall> {
    let tool = text(read.tool.as_ref())?;
    let file = text(read.tool_file.as_ref());
    let command = text(read.tool_command.as_ref());
    Some(match (command, file) {
        (Some(command), _) => AgentCall::new(CallKind::Shell, &tool, &command),
        // Whether it reads or writes the file is not told.
        (None, Some(file)) => AgentCall::new(CallKind::Other, &tool, &file),
        (None, None) => AgentCall::new(CallKind::Other, &tool, ""),
    })
}

fn parse_usage(read: &OutputFieldsTable, event: &Value) -> Usage {
    let tokens = |path: &Option<String>| value_at_path(event, path.as_ref()).as_u64();
    let dollars = value_at_path(event, read.cost_usd.as_ref()).as_f64();
    Usage {
        input_tokens: tokens(&read.input_tokens),
        output_tokens: tokens(&read.output_tokens),
        cache_read_tokens: tokens(&read.cache_read_tokens),
        cache_write_tokens: tokens(&read.cache_write_tokens),
        reasoning_tokens: tokens(&read.reasoning_tokens),
        cost_usd: dollars.filter(|dollars| dollars.is_finite() && *dollars >= 0.0),
        ..Usage::default()
    }
}

/// What is said now, over what was said before.
fn merge_usage(before: &Usage, now: &Usage) -> Usage {
    Usage {
        input_tokens: now.input_tokens.or(before.input_tokens),
        output_tokens: now.output_tokens.or(before.output_tokens),
        cache_read_tokens: now.cache_read_tokens.or(before.cache_read_tokens),
        cache_write_tokens: now.cache_write_tokens.or(before.cache_write_tokens),
        reasoning_tokens: now.reasoning_tokens.or(before.reasoning_tokens),
        cost_usd: now.cost_usd.or(before.cost_usd),
        ..Usage::default()
    }
}

impl EventReader for CustomReader {
    fn handle_event(&mut self, event: Value, state: &mut ReaderState) {
        let read = &self.read;
        let mut is_known = false;
        let mut text = |path: Option<&String>| {
            let text = value_at_path(&event, path)
                .as_str()
                .filter(|text| !text.is_empty());
            is_known |= text.is_some();
            text.map(str::to_owned)
        };
        let session = text(read.session.as_ref());
        let words = text(read.words.as_ref());
        let error = text(read.error.as_ref());
        let model = text(read.model.as_ref());
        let call = parse_call(read, &mut text);
        let exit = exit_status(value_at_path(&event, read.tool_exit.as_ref()));
        if let Some(when) = &read.success_when {
            let said = value_at_path(&event, Some(&when.path));
            if !said.is_null() {
                is_known = true;
                self.is_success = Some(*said == when.equals);
            }
        }
        let used = parse_usage(read, &event);
        self.model = model.or(self.model.take());
        self.error = error.or(self.error.take());
        if let Some(session) = session {
            state.record_conversation(&Value::String(session));
        }
        if let Some(call) = call {
            state.seen.push(OutputEvent::Called(AgentCall {
                exit,
                failed: exit.is_some_and(|exit| exit != 0),
                at: Some(state.now),
                ..call
            }));
        }
        if let Some(words) = words {
            state.record_words(&words);
        }
        if !used.is_unknown() {
            // Each line says what it is until then: the last number counts.
            self.total = merge_usage(&self.total, &used);
            state.seen.push(OutputEvent::Used(self.attempt_usage()));
        } else if !is_known && state.seen.is_empty() {
            state.seen.push(OutputEvent::Unknown);
        }
    }

    fn is_finished(&self) -> bool {
        self.is_success.is_some()
    }

    fn finish(self: Box<Self>, state: ReaderState, ended: &ProgramEnd) -> AgentResult {
        let usage = self.attempt_usage();
        let total = if self.read.cumulative {
            merge_usage(&self.before, &self.total)
        } else {
            Usage::default()
        };
        let is_asked = self.read.success_when.is_some();
        let said = match (self.is_success, self.error) {
            (Some(true), _) => state.into_success_result(),
            (None, None) if !is_asked && ended.code == Some(0) => state.into_success_result(),
            (Some(false), None) => state.into_failed_result(Trouble::Logic, ""),
            (_, Some(error)) => {
                // It is unknown whose words these are: a run is not stopped for them.
                let words = signs::first_chars(&error, signs::ERROR_CHARS);
                let trouble = match signs::trouble_of_text(words) {
                    Some(known @ (Trouble::Network | Trouble::RateLimit)) => known,
                    Some(_) | None => Trouble::Logic,
                };
                state.into_failed_result(trouble, &error)
            }
            (None, None) => state.into_missing_result(ended, None),
        };
        AgentResult {
            models: self
                .model
                .filter(|_| !usage.is_unknown())
                .map(|model| (model, usage.clone()))
                .into_iter()
                .collect(),
            usage,
            ..said
        }
        .with_conversation_total(total)
    }
}
