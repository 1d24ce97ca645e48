//! `piton learn import`: what was remembered elsewhere, a JSON object a line.

use piton_core::event::MemoryEvent;
use std::collections::BTreeMap;

use jiff::Timestamp;
use piton_core::memory::{Memory, MemoryKind, MemoryRow};
use piton_core::name::{NamedRow, Space};
use piton_core::{Command, Event, Need};
use serde::{Deserialize, Serialize};

use super::{NoticeSink, create_session, sync_project_files};
use crate::failure::Failure;
use crate::failure::notice::Notice;
use crate::session::Session;
use crate::world::World;

/// So many memories are kept at once.
const CHUNK: usize = 1_000;
/// So many mistakes are told at once.
const MISTAKES_TOLD: usize = 10;

/// A memory as another program or project wrote it.
#[derive(Debug, Deserialize)]
struct MemoryLine {
    id: String,
    kind: MemoryKind,
    #[serde(default)]
    project: Option<String>,
    #[serde(default, rename = "type")]
    topic: Option<String>,
    #[serde(default)]
    title: Option<String>,
    content: String,
    #[serde(default)]
    context: Option<String>,
    #[serde(default)]
    created_at: Option<Timestamp>,
    #[serde(default)]
    superseded_by: Option<String>,
}

/// What became of an import.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ImportCounts {
    /// How many were new.
    pub added: usize,
    /// How many were known and say something else now.
    pub revised: usize,
    /// How many were known.
    pub known: usize,
    /// How many are superseded since.
    pub superseded: usize,
}

crate::name_schema!(ImportCounts, "piton.learn.import/1");

/// Keeps what stands in `text`, each thing once however often it is imported;
/// of one project alone where one is named.
///
/// # Errors
///
/// When a line is no memory: nothing is kept then; or the store fails.
pub fn import(
    world: &World,
    name: &str,
    text: &str,
    project: Option<&str>,
    told: &mut NoticeSink<'_>,
) -> Result<ImportCounts, Failure> {
    let mut lines = dedup_lines(parse_lines(name, text)?);
    if let Some(project) = project {
        lines.retain(|line| line.project.as_deref() == Some(project));
        if lines.is_empty() {
            return Err(Failure::new(
                "usage",
                format!("{name} holds nothing of project {project}"),
            )
            .with_hint("see which projects it names in `project`, or leave `--project` out"));
        }
    }
    let session = create_session(world, told)?;
    let redactor = world.redactor();
    let mut imported = ImportCounts::default();
    for chunk in lines.chunks(CHUNK) {
        // As the journal keeps them, so that what is known is known again.
        let redact = |text: &str| redactor.redact(text).into_owned();
        let memories: Vec<Memory> = chunk
            .iter()
            .map(|line| memory_of_line(line, &redact))
            .collect();
        let committed = session.execute_command(&Command::ImportMemories(memories))?;
        let kinds = committed.events.iter().map(|recorded| &recorded.event);
        let added = kinds
            .clone()
            .filter(|event| matches!(event, Event::Memory(MemoryEvent::Added(_))));
        let revised = kinds.filter(|event| matches!(event, Event::Memory(MemoryEvent::Revised(_))));
        let (added, revised) = (added.count(), revised.count());
        imported.added += added;
        imported.revised += revised;
        imported.known += chunk.len() - added - revised;
    }
    let superseded = lines.iter();
    let by: BTreeMap<&str, &str> = superseded
        .filter_map(|line| Some((line.id.as_str(), line.superseded_by.as_deref()?)))
        .collect();
    for chunk in lines.chunks(CHUNK) {
        imported.superseded += retire_superseded(&session, chunk, &by, told)?;
    }
    sync_project_files(&session, told);
    Ok(imported)
}

/// The lines as memories; all that is wrong with them where something is.
fn parse_lines(name: &str, text: &str) -> Result<Vec<MemoryLine>, Failure> {
    let mut lines = Vec::new();
    let mut mistakes = Vec::new();
    // Some editors begin a file with a mark of its encoding.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    for (number, text) in (1..).zip(text.lines()) {
        if text.trim().is_empty() {
            continue;
        }
        match serde_json::from_str::<MemoryLine>(text) {
            Ok(line) if line.id.trim().is_empty() => {
                mistakes.push(format!("{name}:{number}: `id` is empty"));
            }
            Ok(line) if line.content.trim().is_empty() => {
                mistakes.push(format!("{name}:{number}: `content` is empty"));
            }
            Ok(line) if line.superseded_by.as_ref() == Some(&line.id) => {
                mistakes.push(format!(
                    "{name}:{number}: `superseded_by` names the line itself"
                ));
            }
            Ok(line) => lines.push(line),
            Err(error) => mistakes.push(describe_mistake(name, number, &error)),
        }
    }
    if mistakes.is_empty() {
        return Ok(lines);
    }
    let more = mistakes.len().saturating_sub(MISTAKES_TOLD);
    mistakes.truncate(MISTAKES_TOLD);
    if more > 0 {
        mistakes.push(format!("and {more} more"));
    }
    Err(Failure::new(
        "file.unreadable",
        format!("nothing was imported: {}", mistakes.join("; ")),
    )
    .with_hint("each line is an object with `id`, `kind` (learning, pattern, guardrail, resolved-blocker) and `content`; mend these lines, then import again"))
}

/// What is wrong with a line, with its place in the file: the parser saw one
/// line alone.
fn describe_mistake(name: &str, number: usize, error: &serde_json::Error) -> String {
    let column = error.column();
    let said = error.to_string();
    let own_place = format!(" at line {} column {column}", error.line());
    let said = said.strip_suffix(&own_place).unwrap_or(&said);
    format!("{name}:{number}:{column}: {said}")
}

fn memory_of_line(line: &MemoryLine, redact: &impl Fn(&str) -> String) -> Memory {
    let given = |text: &Option<String>| text.clone().filter(|text| !text.trim().is_empty());
    let said = |text: &Option<String>| given(text).map(|text| redact(&text));
    Memory {
        topic: given(&line.topic),
        title: said(&line.title),
        context: said(&line.context),
        learned_at: line.created_at,
        external_id: Some(line.id.clone()),
        ..Memory::new(line.kind, redact(&line.content))
    }
}

/// Retires what something else takes the place of; how many.
fn retire_superseded(
    session: &Session<'_>,
    chunk: &[MemoryLine],
    by: &BTreeMap<&str, &str>,
    told: &mut NoticeSink<'_>,
) -> Result<usize, Failure> {
    let superseded = chunk
        .iter()
        .filter(|line| by.contains_key(line.id.as_str()));
    let pairs: Vec<(&str, Option<&str>)> = superseded
        .map(|line| (line.id.as_str(), final_successor(&line.id, by)))
        .collect();
    if pairs.is_empty() {
        return Ok(0);
    }
    let names = pairs.iter().flat_map(|(old, new)| [Some(*old), *new]);
    let needs: Vec<Need> = names
        .flatten()
        .map(|id| Need::Name(Space::External, id.to_owned()))
        .collect();
    let rows = session.load(&needs)?;
    let of = |external: &str| -> Option<MemoryRow> {
        let NamedRow::Memory(id) = &rows.tables.find_name(Space::External, external)?.of else {
            return None;
        };
        rows.tables.find_memory(id).cloned()
    };
    let mut count = 0;
    for (external, new) in pairs {
        let Some(old) = of(external).filter(MemoryRow::is_followed) else {
            continue;
        };
        let Some((new, by)) = new.and_then(|new| Some((new, of(new)?.id))) else {
            told(Notice::Warning(&format!(
                "`{external}` stays: what should take its place is not there, or leads back to it; `piton learn retire {}` retires it all the same",
                old.id
            )));
            continue;
        };
        count += usize::from(retire_memory(session, &old.id, new, &by)?);
    }
    Ok(count)
}

/// Of lines with one id the last, where it stands.
fn dedup_lines(lines: Vec<MemoryLine>) -> Vec<MemoryLine> {
    let last: BTreeMap<String, usize> = lines
        .iter()
        .enumerate()
        .map(|(at, line)| (line.id.clone(), at))
        .collect();
    let numbered = lines.into_iter().enumerate();
    numbered
        .filter(|(at, line)| last.get(&line.id) == Some(at))
        .map(|(_, line)| line)
        .collect()
}

/// What takes the place of something in the end; none where that leads back.
fn final_successor<'l>(id: &str, by: &BTreeMap<&'l str, &'l str>) -> Option<&'l str> {
    let mut last = *by.get(id)?;
    for _ in 0..by.len() {
        match by.get(last) {
            Some(next) => last = next,
            None => return Some(last),
        }
    }
    None
}

/// Retires a memory, unless another process has retired it, or its replacement, by
/// now: that process reports it.
fn retire_memory(
    session: &Session<'_>,
    id: &str,
    external: &str,
    by: &str,
) -> Result<bool, Failure> {
    let retired = session.execute_command(&Command::RetireMemory {
        id: id.to_owned(),
        why: Some(format!("superseded by {external}")),
        superseded_by: Some(by.to_owned()),
    });
    match retired {
        Ok(_) => Ok(true),
        Err(failure) if failure.code == "memory.retired" => Ok(false),
        Err(failure) => Err(failure),
    }
}
