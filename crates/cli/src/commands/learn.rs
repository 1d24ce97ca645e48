//! `piton learn`.

use std::path::Path;

use piton_core::Actor;
use piton_core::memory::{Confidence, Memory, MemoryKind, MemoryRow};
use piton_core::trust::{Trust, assess_trust};
use piton_engine::verbs::learn::{self, MemoryFilter};
use piton_engine::verbs::{doctor, import};
use piton_engine::{CommandExit, Failure, World};

use super::{read_text, show_notice};
use crate::args::{ConfidenceArg, KindArg, LearnAdd, LearnCommand};
use crate::output::{BOLD, CliOutput, DIM};
use crate::show::progress::first_line;
use crate::show::table;

pub(super) fn run_learn_command(
    world: &World,
    command: LearnCommand,
    output: &mut CliOutput,
) -> Result<CommandExit, Failure> {
    match command {
        LearnCommand::Add(args) => add_memory(world, *args, output),
        LearnCommand::List {
            kind,
            topic,
            retired,
        } => {
            let filter = MemoryFilter {
                kind: kind.map(MemoryKind::from),
                topic,
                retired,
            };
            let rows = learn::list(world, &filter)?;
            if output.json {
                output.print_json(&rows.iter().map(memory_json).collect::<Vec<_>>());
                return Ok(CommandExit::Done);
            }
            output.print_data(&table::render(rows.iter().map(memory_columns)));
            if rows.is_empty() {
                output.note("nothing of this is remembered");
            }
            Ok(CommandExit::Done)
        }
        LearnCommand::Show { id } => {
            let row = learn::show(world, &id)?;
            if output.json {
                output.print_json(&memory_json(&row));
            } else {
                output.print_data(&render_memory(world, &row));
            }
            Ok(CommandExit::Done)
        }
        LearnCommand::Doctor => run_doctor(world, output),
        LearnCommand::Supersede { id, by, why } => {
            let by = by.trim().to_owned();
            let row = learn::retire(world, &id, why, Some(by.clone()), &mut |notice| {
                show_notice(world, &notice, output)
            })?;
            if output.json {
                output.print_json(&row);
            } else {
                output.note(&format!("{} is superseded by {by}", row.id));
            }
            Ok(CommandExit::Done)
        }
        LearnCommand::Import { file, project } => {
            let (name, text) = read_text(world, &file)?;
            let imported =
                import::import(world, &name, &text, project.as_deref(), &mut |notice| {
                    show_notice(world, &notice, output)
                })?;
            if output.json {
                output.print_json(&serde_json::json!({
                    "added": imported.added,
                    "revised": imported.revised,
                    "known": imported.known,
                    "superseded": imported.superseded,
                }));
            } else {
                output.note(&format!(
                    "imported {} new, {} revised, {} known before, {} superseded since",
                    imported.added, imported.revised, imported.known, imported.superseded
                ));
            }
            Ok(CommandExit::Done)
        }
        LearnCommand::Retire { id, why } => {
            let row = learn::retire(world, &id, why, None, &mut |notice| {
                show_notice(world, &notice, output)
            })?;
            if output.json {
                output.print_json(&row);
            } else {
                output.note(&format!(
                    "retired {}: {}",
                    row.id,
                    memory_title(&row.memory)
                ));
            }
            Ok(CommandExit::Done)
        }
    }
}

fn run_doctor(world: &World, output: &mut CliOutput) -> Result<CommandExit, Failure> {
    let examined = doctor::doctor(world)?;
    let found = examined.findings.len();
    if output.json {
        output.print_json(&serde_json::json!({
            "followed": examined.followed,
            "findings": examined.findings,
            "paths_looked_for": examined.paths,
        }));
    } else {
        for finding in &examined.findings {
            // One line, whose parts are short already.
            let clean = finding.text.chars().filter(|c| !c.is_control());
            let text: String = clean.collect();
            output.print_data(&format!(
                "{BOLD}{}{BOLD:#}  {text}\n  {DIM}next:{DIM:#} {}\n",
                finding.kind, finding.next
            ));
        }
        if !examined.paths {
            output.note("the project has too many files to look for those that are named");
        }
        let memories = super::format_count(
            u32::try_from(examined.followed).unwrap_or(u32::MAX),
            "memory",
        );
        let to_look_at = super::format_count(u32::try_from(found).unwrap_or(u32::MAX), "finding");
        output.note(&format!("{memories} looked at: {to_look_at}"));
    }
    Ok(if found == 0 {
        CommandExit::Done
    } else {
        CommandExit::No
    })
}

fn add_memory(
    world: &World,
    args: LearnAdd,
    output: &mut CliOutput,
) -> Result<CommandExit, Failure> {
    let content = match args.content.as_deref() {
        Some("-") => read_text(world, Path::new("-"))?.1.trim().to_owned(),
        Some(text) => text.to_owned(),
        None => String::new(),
    };
    let memory = Memory {
        topic: args.topic,
        title: args.title,
        context: args.trigger,
        evidence: args.evidence,
        added_after: args.added_after,
        examples: args.example,
        confidence: args.confidence.map(Confidence::from),
        source_item: args.item,
        ..Memory::new(args.kind.into(), content)
    };
    let row = learn::add(world, memory, &mut |notice| {
        show_notice(world, &notice, output)
    })?;
    if output.json {
        output.print_json(&row);
    } else {
        output.note(&format!(
            "remembered {}: {}",
            row.id,
            memory_title(&row.memory)
        ));
    }
    Ok(CommandExit::Done)
}

fn memory_title(memory: &Memory) -> String {
    first_line(memory.title.as_deref().unwrap_or(&memory.content))
}

fn memory_columns(row: &MemoryRow) -> [String; 4] {
    let retired = row.retired.as_ref().map(|_| "(retired)");
    [
        row.id.clone(),
        row.memory
            .topic
            .as_deref()
            .map(first_line)
            .unwrap_or_default(),
        memory_title(&row.memory),
        retired.unwrap_or_default().to_owned(),
    ]
}

/// A row, with what is told from it and not stored.
fn memory_json(row: &MemoryRow) -> serde_json::Value {
    let mut value = serde_json::to_value(row).unwrap_or_default();
    if let Some(fields) = value.as_object_mut() {
        fields.insert("trust".to_owned(), serde_json::json!(trust_of_memory(row)));
    }
    value
}

fn trust_of_memory(row: &MemoryRow) -> Trust {
    assess_trust(&row.by, row.uses.helped, row.uses.failed)
}

/// Who did something, as people say it.
fn actor_name(actor: &str) -> String {
    Actor::parse(actor).name().to_owned()
}

fn render_memory(world: &World, row: &MemoryRow) -> String {
    let memory = &row.memory;
    let kind = match &memory.topic {
        Some(topic) => format!("{} ({topic})", memory.kind),
        None => memory.kind.to_string(),
    };
    let mut text = format!("{BOLD}{}{BOLD:#}  {kind}\n", row.id);
    let mut line = |name: &str, value: Option<&str>| {
        if let Some(value) = value {
            text.push_str(&format!("{DIM}{name}:{DIM:#} {}\n", first_line(value)));
        }
    };
    line("Title", memory.title.as_deref());
    let context = if memory.kind == MemoryKind::Guardrail {
        "Trigger"
    } else {
        "Context"
    };
    line(context, memory.context.as_deref());
    line("Added after", memory.added_after.as_deref());
    line("Evidence", memory.evidence.as_deref());
    for example in &memory.examples {
        line("Example", Some(example));
    }
    line("Confidence", memory.confidence.map(Confidence::as_str));
    line("From", memory.source_item.as_deref());
    let learned = format!(
        "{}, by {}",
        world.local_time(row.learned_at()),
        actor_name(&row.by)
    );
    line("Learned", Some(&learned));
    for source in &row.again {
        let from = source.attempt.as_deref().or(source.item.as_deref());
        line("Again from", from);
    }
    line("Trust", Some(trust_of_memory(row).as_str()));
    let uses = row.uses;
    if uses.referenced > 0 {
        let used = format!(
            "{}; {} done with it, {} failed",
            super::format_count(uses.referenced, "time"),
            uses.helped,
            uses.failed
        );
        line("Used", Some(&used));
    }
    if let Some(retired) = &row.retired {
        let why = retired.why.as_deref().unwrap_or("without a reason");
        let said = format!(
            "{}, by {}: {why}",
            world.local_time(retired.at),
            actor_name(&retired.by)
        );
        line("Retired", Some(&said));
        line("Superseded by", retired.superseded_by.as_deref());
    }
    text.push('\n');
    for line in memory.content.trim_end().lines() {
        // What it says may come from anywhere, and a terminal obeys.
        let clean = line.chars().filter(|c| !c.is_control() || *c == '\t');
        text.extend(clean);
        text.push('\n');
    }
    text
}

impl From<KindArg> for MemoryKind {
    fn from(kind: KindArg) -> Self {
        match kind {
            KindArg::Learning => Self::Learning,
            KindArg::Pattern => Self::Pattern,
            KindArg::Guardrail => Self::Guardrail,
            KindArg::ResolvedBlocker => Self::ResolvedBlocker,
        }
    }
}

impl From<ConfidenceArg> for Confidence {
    fn from(confidence: ConfidenceArg) -> Self {
        match confidence {
            ConfidenceArg::High => Self::High,
            ConfidenceArg::Medium => Self::Medium,
            ConfidenceArg::Low => Self::Low,
        }
    }
}
