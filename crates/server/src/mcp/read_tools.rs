//! The tools that change nothing.

use piton_engine::Failure;
use piton_engine::memory::recall::RecallResults;
use piton_engine::verbs::{next, prepare, recall, status};
use serde_json::{Value, json};

use super::answer::{CHARS_MAX, ToolAnswer};
use super::client_session::ToolCall;
use super::words;

/// A token is three bytes: so many of them are what fits.
pub(super) const TOKENS_MAX: usize = CHARS_MAX / 3 - 100;

pub(super) fn show_status(call: &ToolCall<'_>) -> Result<ToolAnswer, Failure> {
    let run = call.given.text("run");
    let status = status::status(&call.desk.world, run.as_deref())?;
    let command = command_line("status", run.as_deref());
    Ok(ToolAnswer::from_text(words::render_status(&status))
        .with_data(&status)
        .with_full_command(command))
}

pub(super) fn show_next(call: &ToolCall<'_>) -> Result<ToolAnswer, Failure> {
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

pub(super) fn prepare_item(call: &ToolCall<'_>) -> Result<ToolAnswer, Failure> {
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

pub(super) fn recall_memory(call: &ToolCall<'_>) -> Result<ToolAnswer, Failure> {
    let text = call.given.text("text").unwrap_or_default();
    let recalled = recall::recall(&call.desk.world, &text, None)?;
    Ok(ToolAnswer::from_text(words::render_recalled(&recalled))
        .with_data(&render_recalled_json(&recalled))
        .with_full_command("piton recall TEXT --json"))
}

fn render_recalled_json(recalled: &RecallResults) -> Value {
    let results = recalled.results.iter().map(|found| {
        let memory = &found.row.memory;
        json!({
            "id": found.row.id,
            "kind": memory.kind,
            "title": memory.title,
            "content": memory.content,
            "score": found.score,
            "why": found.why,
        })
    });
    json!({ "advise": recalled.advise, "results": results.collect::<Vec<_>>() })
}
