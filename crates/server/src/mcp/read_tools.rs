//! The tools that change nothing: their rows, and what they answer.

use piton_engine::Failure;
use piton_engine::verbs::{next, prepare, recall, status};

use super::answer::{CHARS_MAX, ToolAnswer};
use super::arguments::{ArgumentField, ArgumentShape};
use super::client_session::ToolCall;
use super::tools::{Tool, ToolAccess};
use super::words;

/// A token is three bytes: so many of them are what fits.
pub(super) const TOKENS_MAX: usize = CHARS_MAX / 3 - 100;

const RUN: ArgumentField = ArgumentField::optional(
    "run",
    ArgumentShape::Text,
    "a run by its name; all that are meant without it",
);

/// The tools that change nothing.
pub(super) static READ_TOOLS: &[Tool] = &[
    Tool {
        name: "status",
        about: "Where everything stands: runs, nodes, questions.",
        access: ToolAccess::Reads,
        fields: &[RUN],
        example: r#"{"run": "2026-01-15_auth"}"#,
        verb: show_status,
    },
    Tool {
        name: "next",
        about: "What can be worked on, what waits for what, what is stuck and why.",
        access: ToolAccess::Reads,
        fields: &[RUN],
        example: r#"{"run": "2026-01-15_auth"}"#,
        verb: show_next,
    },
    Tool {
        name: "prepare",
        about: "What to know before you begin with an item: what was tried, what helps, what holds.",
        access: ToolAccess::Reads,
        fields: &[ArgumentField::optional(
            "item",
            ArgumentShape::Text,
            "[RUN:]NODE; your own item without it",
        )],
        example: r#"{"item": "auth-login"}"#,
        verb: prepare_item,
    },
    Tool {
        name: "recall",
        about: "What is remembered that helps with an error message or a task.",
        access: ToolAccess::Reads,
        fields: &[ArgumentField::required(
            "text",
            ArgumentShape::Output,
            "the error message, or what you are about to do",
        )],
        example: r#"{"text": "error: linking with cc failed: exit status 1"}"#,
        verb: recall_memory,
    },
];

fn show_status(call: &ToolCall<'_>) -> Result<ToolAnswer, Failure> {
    let run = call.given.text("run");
    let status = status::status(&call.desk.world, run.as_deref())?;
    let command = command_line("status", run.as_deref());
    Ok(ToolAnswer::from_text(words::render_status(&status))
        .with_data(&status)
        .with_full_command(command))
}

fn show_next(call: &ToolCall<'_>) -> Result<ToolAnswer, Failure> {
    let run = call.given.text("run");
    let next = next::next(&call.desk.world, run.as_deref(), next::SHOWN)?;
    let command = command_line("next", run.as_deref());
    Ok(ToolAnswer::from_text(words::render_next(&next))
        .with_data(&next)
        .with_full_command(command))
}

fn command_line(verb: &str, run: Option<&str>) -> String {
    match run {
        Some(run) => format!("piton {verb} {run}"),
        None => format!("piton {verb}"),
    }
}

fn prepare_item(call: &ToolCall<'_>) -> Result<ToolAnswer, Failure> {
    let (item, prepared) = match call.given.text("item") {
        Some(item) => {
            let prepared = prepare::prepare(&call.desk.world, &item, Some(TOKENS_MAX))?;
            (item, prepared)
        }
        None => match call.desk.held_item()? {
            Some(held) => {
                let world = &call.desk.world;
                let prepared = prepare::prepare_held(world, &held.item, Some(TOKENS_MAX))?;
                (held.item, prepared)
            }
            None => {
                return Err(Failure::new("usage", "`item` is missing: nothing is held here")
                    .with_hint(r#"name it, for example {"item": "auth-login"}; see the items with `status`"#));
            }
        },
    };
    Ok(ToolAnswer::from_text(prepared.render_markdown())
        .with_data(&prepared)
        .with_full_command(format!("piton prepare {item}")))
}

fn recall_memory(call: &ToolCall<'_>) -> Result<ToolAnswer, Failure> {
    let text = call.given.text("text").unwrap_or_default();
    let recalled = recall::recall(&call.desk.world, &text, None)?;
    Ok(ToolAnswer::from_text(words::render_recalled(&recalled))
        .with_data(&recalled)
        .with_full_command("piton recall TEXT --json"))
}
