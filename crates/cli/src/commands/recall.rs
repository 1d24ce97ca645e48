//! `piton recall`, `piton prepare` and `piton recover`.

use std::path::Path;

use piton_engine::recalling::{Recalled, Remembered};
use piton_engine::verbs::{prepare, recall, recover};
use piton_engine::{Exit, Failure, World};
use serde_json::{Value, json};

use super::{read_file, read_stdin};
use crate::args::RecallArgs;
use crate::output::{BOLD, DIM, Output};
use crate::show::progress::first_line;

/// So many results are shown to people; `--json` has all.
const SHOWN: usize = 3;

pub(super) fn recall(
    world: &World,
    args: RecallArgs,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let text = if args.text == "-" {
        read_output(world, Path::new("-"))?
    } else {
        args.text
    };
    let recalled = recall::recall(world, &text, args.now)?;
    if output.json {
        output.json(&in_json(&recalled));
        return Ok(Exit::Done);
    }
    if recalled.advise {
        let shown = recalled.results.iter().take(SHOWN).map(in_text);
        output.data(&shown.collect::<Vec<_>>().join("\n"));
    } else {
        output.data("nothing recorded helps with this\n");
        if let Some(nearest) = recalled.results.first() {
            let title = title(nearest);
            output.note(&format!(
                "nearest, and probably about something else: {} {title}",
                nearest.row.id
            ));
        }
    }
    Ok(Exit::Done)
}

/// What a tool printed, which need not be text.
fn read_output(world: &World, file: &Path) -> Result<String, Failure> {
    let read = if file == Path::new("-") {
        read_stdin()
    } else {
        read_file(&world.path(file))
    };
    let bytes = read.map_err(|error| piton_engine::failure::unreadable(file, error))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

pub(super) fn recover(
    world: &World,
    item: &str,
    failure: Option<&Path>,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let failure = failure.map(|file| read_output(world, file)).transpose()?;
    let recovered = recover::recover(world, item, failure.as_deref())?;
    let recovery = &recovered.recovery;
    if output.json {
        output.json(&json!({
            "item": recovered.item,
            "action": recovery.action,
            "rule": recovery.rule,
            "guidance": recovery.guidance,
            "evidence": recovery.evidence,
            "rejected": recovery.rejected,
        }));
        return Ok(Exit::Done);
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
    output.data(&text);
    Ok(Exit::Done)
}

pub(super) fn prepare(
    world: &World,
    item: &str,
    max_tokens: Option<usize>,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let prepared = prepare::prepare(world, item, max_tokens)?;
    if output.json {
        // Blanks for people would make it longer than asked.
        output.json_line(&prepared);
    } else {
        // What it says may come from anywhere, and a terminal obeys.
        let clean = |c: &char| !c.is_control() || matches!(c, '\n' | '\t');
        output.data(
            &prepared
                .in_markdown()
                .chars()
                .filter(clean)
                .collect::<String>(),
        );
    }
    Ok(Exit::Done)
}

fn in_json(recalled: &Recalled) -> Value {
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

fn title(found: &Remembered) -> String {
    let memory = &found.row.memory;
    first_line(memory.title.as_deref().unwrap_or(&memory.content))
}

fn in_text(found: &Remembered) -> String {
    let row = &found.row;
    let content = row.memory.content.trim();
    let title = title(found);
    let mut text = format!("{BOLD}{}{BOLD:#}  {title}\n", row.id);
    // What its first line does not say whole is what somebody asked for.
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
