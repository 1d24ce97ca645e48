//! The tools that change nothing.

use piton_engine::Failure;
use piton_engine::recalling::Recalled;
use piton_engine::verbs::{next, prepare, recall, status};
use serde_json::{Value, json};

use super::answer::{Answer, CHARS_MAX};
use super::tools::Call;
use super::words;

/// A token is three bytes: so many of them are what fits.
pub(super) const TOKENS_MAX: usize = CHARS_MAX / 3 - 100;

pub(super) fn status(call: &Call<'_>) -> Result<Answer, Failure> {
    let run = call.given.text("run");
    let status = status::status(&call.desk.world, run.as_deref())?;
    let command = command("status", run.as_deref());
    Ok(Answer::of(words::status(&status))
        .with(&status)
        .whole(command))
}

pub(super) fn next(call: &Call<'_>) -> Result<Answer, Failure> {
    let run = call.given.text("run");
    let next = next::next(&call.desk.world, run.as_deref(), next::SHOWN)?;
    let command = command("next", run.as_deref());
    Ok(Answer::of(words::next(&next)).with(&next).whole(command))
}

fn command(verb: &str, run: Option<&str>) -> String {
    match run {
        Some(run) => format!("piton {verb} {run}"),
        None => format!("piton {verb}"),
    }
}

pub(super) fn prepare(call: &Call<'_>) -> Result<Answer, Failure> {
    let (item, prepared) = match call.given.text("item") {
        Some(item) => {
            let prepared = prepare::prepare(&call.desk.world, &item, Some(TOKENS_MAX))?;
            (item, prepared)
        }
        None => match call.desk.held()? {
            Some(held) => {
                let world = &call.desk.world;
                let prepared = prepare::prepare_held(world, &held.item, Some(TOKENS_MAX))?;
                (held.item, prepared)
            }
            None => {
                return Err(Failure::new("usage", "`item` is missing: nothing is held here")
                    .hint(r#"name it, for example {"item": "auth-login"}; see the items with `status`"#));
            }
        },
    };
    Ok(Answer::of(prepared.in_markdown())
        .with(&prepared)
        .whole(format!("piton prepare {item}")))
}

pub(super) fn recall(call: &Call<'_>) -> Result<Answer, Failure> {
    let text = call.given.text("text").unwrap_or_default();
    let recalled = recall::recall(&call.desk.world, &text, None)?;
    Ok(Answer::of(words::recalled(&recalled))
        .with(&in_json(&recalled))
        .whole("piton recall TEXT --json"))
}

fn in_json(recalled: &Recalled) -> Value {
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
