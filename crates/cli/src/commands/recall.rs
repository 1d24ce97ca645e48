//! `piton recall`, `piton prepare` and `piton recover`.

use std::path::Path;

use piton_engine::memory::recall::{RecallResults, RecalledMemory};
use piton_engine::verbs::{prepare, recall, recover};
use piton_engine::{CommandExit, Failure, World};
use serde_json::{Value, json};

use super::{read_file, read_stdin};
use crate::args::RecallArgs;
use crate::output::{BOLD, CliOutput, DIM};
use crate::show::progress::first_line;

/// So many results are shown to people; `--json` has all.
const SHOWN: usize = 3;

pub(super) fn run_recall(
    world: &World,
    args: RecallArgs,
    output: &mut CliOutput,
) -> Result<CommandExit, Failure> {
    let text = if args.text == "-" {
        read_tool_output(world, Path::new("-"))?
    } else {
        args.text
    };
    let recalled = recall::recall(world, &text, args.now)?;
    if output.json {
        output.print_json(&recall_json(&recalled));
        return Ok(CommandExit::Done);
    }
    if recalled.advise {
        let shown = recalled.results.iter().take(SHOWN).map(render_result);
        output.print_data(&shown.collect::<Vec<_>>().join("\n"));
    } else {
        output.print_data("nothing recorded helps with this\n");
        if let Some(nearest) = recalled.results.first() {
            let title = result_title(nearest);
            output.note(&format!(
                "nearest, and probably about something else: {} {title}",
                nearest.row.id
            ));
        }
    }
    Ok(CommandExit::Done)
}

/// What a tool printed, which need not be text.
fn read_tool_output(world: &World, file: &Path) -> Result<String, Failure> {
    let read = if file == Path::new("-") {
        read_stdin()
    } else {
        read_file(&world.resolve_path(file))
    };
    let bytes = read.map_err(|error| piton_engine::failure::unreadable_file(file, error))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

pub(super) fn run_recover(
    world: &World,
    item: &str,
    failure: Option<&Path>,
    output: &mut CliOutput,
) -> Result<CommandExit, Failure> {
    let failure = failure
        .map(|file| read_tool_output(world, file))
        .transpose()?;
    let recovered = recover::recover(world, item, failure.as_deref())?;
    let recovery = &recovered.recovery;
    if output.json {
        output.print_json(&json!({
            "item": recovered.item,
            "action": recovery.action,
            "rule": recovery.rule,
            "guidance": recovery.guidance,
            "evidence": recovery.evidence,
            "rejected": recovery.rejected,
        }));
        return Ok(CommandExit::Done);
    }
    let mut text = format!("{BOLD}{}{BOLD:#}  {}\n", recovery.action, recovery.rule);
    for line in recovery.guidance.trim_end().lines() {
        // What it says may come from anywhere, and a terminal obeys.
        let clean: String = line.chars().filter(|c| !c.is_control()).collect();
        text.push_str(&format!("  {clean}\n"));
    }
    for fact in &recovery.evidence {
        text.push_str(&format!("  {DIM}rests on:{DIM:#} {}\n", first_line(fact)));
    }
    for no in &recovery.rejected {
        let why = first_line(&no.why);
        text.push_str(&format!(
            "  {DIM}not {} ({}):{DIM:#} {why}\n",
            no.action, no.rule
        ));
    }
    output.print_data(&text);
    Ok(CommandExit::Done)
}

pub(super) fn run_prepare(
    world: &World,
    item: &str,
    max_tokens: Option<usize>,
    output: &mut CliOutput,
) -> Result<CommandExit, Failure> {
    let prepared = prepare::prepare(world, item, max_tokens)?;
    if output.json {
        // Blanks for people would make it longer than asked.
        output.print_json_line(&prepared);
    } else {
        // What it says may come from anywhere, and a terminal obeys.
        let clean = |c: &char| !c.is_control() || matches!(c, '\n' | '\t');
        output.print_data(
            &prepared
                .render_markdown()
                .chars()
                .filter(clean)
                .collect::<String>(),
        );
    }
    Ok(CommandExit::Done)
}

fn recall_json(recalled: &RecallResults) -> Value {
    let results = recalled.results.iter().map(|found| {
        let memory = &found.row.memory;
        json!({
            "id": found.row.id,
            "external_id": memory.external_id,
            "kind": memory.kind,
            "title": memory.title,
            "content": memory.content,
            "score": found.score,
            "why": found.why,
        })
    });
    json!({ "advise": recalled.advise, "results": results.collect::<Vec<_>>() })
}

fn result_title(found: &RecalledMemory) -> String {
    let memory = &found.row.memory;
    first_line(memory.title.as_deref().unwrap_or(&memory.content))
}

fn render_result(found: &RecalledMemory) -> String {
    let row = &found.row;
    let content = row.memory.content.trim();
    let title = result_title(found);
    let mut text = format!("{BOLD}{}{BOLD:#}  {title}\n", row.id);
    // The title is only the first line; the caller asked for the whole content.
    if title != content {
        for line in content.lines() {
            // What it says may come from anywhere, and a terminal obeys.
            let clean = line.chars().filter(|c| !c.is_control() || *c == '\t');
            text.push_str("  ");
            text.extend(clean);
            text.push('\n');
        }
    }
    if !found.why.is_empty() {
        let why: Vec<String> = found.why.iter().map(|word| first_line(word)).collect();
        text.push_str(&format!("  {DIM}speaks of: {}{DIM:#}\n", why.join(", ")));
    }
    text
}
