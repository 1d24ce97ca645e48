//! A log of one format in the form of another, and what that has no place for.
//!
//! Some logs list attempts, others entries of sessions. Each becomes the other
//! with all that it says: an entry takes what its format has no key for among
//! its data, as long as that is open. What is lost is found by reading the new
//! text back.

use piton_core::event::{AttemptEvent, MemoryEvent, SessionEvent};
use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use piton_core::attempt::{Outcome, ProgramReport, Report, ReportedAttempt, ReportedChanges};
use piton_core::command::ImportedRecord;
use piton_core::entry::{Entry, EntryType};
use piton_core::id::Node as Item;
use piton_core::journal::EventStamp;
use piton_core::memory::{Memory, MemoryKind};
use piton_core::name::{entry_prefix, free_name, slug};
use piton_core::native::Native;
use piton_core::{Actor, Event, EventId, RunId, Tables};
use serde_json::{Map, Value};

use crate::agent_os;
use crate::native_file::{FILE_AGENT, FileContext, PROJECT, RenderError, ShownRow};
use crate::plan_convert::{ConversionLoss, has_words, words_of_text};
use crate::project_format::ProjectFile;
use crate::ralph_json;
use crate::registry::project_files;
use crate::shape::{FieldShape, Pattern, has_key};
use crate::shape_merge::{attempt_id_of_digest, digest};

/// The formats of logs that can be turned into others.
#[must_use]
pub fn log_format_names() -> Vec<&'static str> {
    let mut names: Vec<&str> = project_files().filter_map(|file| file.converts).collect();
    names.dedup();
    names
}

/// The text of a log that holds what was found in another one, and what of that
/// it does not hold.
///
/// # Errors
///
/// When the format cannot show what was found.
pub fn convert(
    from: &ProjectFile,
    text: &str,
    found: Vec<ImportedRecord>,
    to: &ProjectFile,
    about: &FileContext<'_>,
) -> Result<(String, Vec<ConversionLoss>), RenderError> {
    if from.path == to.path {
        return Ok((text.to_owned(), Vec::new()));
    }
    let whole = (from.whole)(text);
    let about = &FileContext {
        project: whole.get(PROJECT).map_or(about.project, String::as_str),
        ..*about
    };
    let things = name_things(found, to, about.now);
    let tables = build_tables(&things, about.now);
    let written = (to.show)(None, &shown_rows(&tables), about)?;
    let mut lost = Losses::default();
    let again = (to.take)(&written, None, about).found;
    let again: BTreeMap<String, LogFacts> = again
        .iter()
        .filter_map(|found| Some((log_key(found)?, facts_of_found(found))))
        .collect();
    for thing in &things {
        let back = thing.is_now.as_ref().and_then(log_key);
        lost.count_thing(thing, back.and_then(|key| again.get(&key)), from);
    }
    let kept = (to.whole)(&written);
    let is_lost = |(key, value): &(&String, &String)| kept.get(*key) != Some(*value);
    for (key, _) in whole.iter().filter(is_lost) {
        lost.count_loss(key);
    }
    let said = words_of_text(&written);
    // Of a line about a task both parts may stand apart.
    let parts = |line: &str| {
        let cut = [" - ", ": "]
            .iter()
            .find_map(|between| line.split_once(between));
        cut.is_some_and(|(task, words)| has_words(&said, task) && has_words(&said, words))
    };
    for line in (from.lines)(text) {
        if !has_words(&said, &line) && !parts(&line) {
            lost.count_loss("lines");
        }
    }
    Ok((written, lost.into_list()))
}

/// A thing of a log, and what it is in the other.
struct ConvertedThing {
    was: ImportedRecord,
    is_now: Option<ImportedRecord>,
}

/// Each thing as it is in the other log, under a name that no other has.
fn name_things(
    found: Vec<ImportedRecord>,
    to: &ProjectFile,
    now: Timestamp,
) -> Vec<ConvertedThing> {
    let mut taken = BTreeSet::new();
    let mut numbers: BTreeMap<String, u32> = BTreeMap::new();
    let mut things = Vec::new();
    for (was, nth) in found.into_iter().zip(1_u64..) {
        let is_now = match &was {
            ImportedRecord::Attempt(told) if to.lists_attempts => {
                Some(ImportedRecord::Attempt(told.clone()))
            }
            ImportedRecord::Attempt(told) => {
                Some(ImportedRecord::Entry(Box::new(entry_of_attempt(told))))
            }
            ImportedRecord::Entry(entry) if to.lists_attempts => {
                attempt_of_entry(entry, nth).map(|told| ImportedRecord::Attempt(Box::new(told)))
            }
            ImportedRecord::Entry(entry) => Some(ImportedRecord::Entry(Box::new(Entry {
                mark: None,
                native: None,
                data: data_with_unknown(
                    entry.data.clone(),
                    entry.native.as_ref(),
                    agent_os::ENTRY_KEYS,
                ),
                ..(**entry).clone()
            }))),
            ImportedRecord::Memory(_) | ImportedRecord::Retired(_) | ImportedRecord::Removed(_) => {
                Some(was.clone())
            }
        };
        let is_now = is_now.map(|mut thing| {
            let is_taken = |name: &str| taken.contains(name);
            match &mut thing {
                ImportedRecord::Entry(entry) => {
                    let time = entry.at.as_deref().and_then(|at| at.parse().ok());
                    let own = || format!("{}{nth:03}", entry_prefix(time.unwrap_or(now)));
                    entry.name = Some(free_name(&entry.name.clone().unwrap_or_else(own), is_taken));
                    taken.extend(entry.name.clone());
                }
                ImportedRecord::Attempt(told) => {
                    let count = numbers.entry(told.item.clone()).or_default();
                    let number = *told.number.get_or_insert(*count + 1);
                    *count = number.max(*count);
                    let name = told.name.take();
                    let name = name.filter(|name| Pattern::EntryId.is_match(name));
                    let name = name.unwrap_or_else(|| format!("{}-{number}", slug(&told.item)));
                    told.name = Some(free_name(&name, is_taken));
                    taken.extend(told.name.clone());
                }
                ImportedRecord::Memory(_)
                | ImportedRecord::Retired(_)
                | ImportedRecord::Removed(_) => {}
            }
            thing
        });
        things.push(ConvertedThing { was, is_now });
    }
    things
}

/// The things as rows of a journal of their own.
fn build_tables(things: &[ConvertedThing], now: Timestamp) -> Tables {
    let mut tables = Tables::default();
    for (thing, position) in things.iter().zip(1..) {
        let event = match &thing.is_now {
            Some(ImportedRecord::Entry(entry)) => {
                Event::Session(SessionEvent::EntryLogged(entry.clone()))
            }
            Some(ImportedRecord::Attempt(told)) => {
                Event::Attempt(AttemptEvent::Reported(told.clone()))
            }
            Some(
                ImportedRecord::Memory(memory)
                | ImportedRecord::Retired(memory)
                | ImportedRecord::Removed(memory),
            ) => Event::Memory(MemoryEvent::Added(memory.clone())),
            None => continue,
        };
        let stamp = EventStamp {
            id: EventId(RunId::PROJECT.0),
            position,
            time: now,
            actor: Actor::File(String::new()),
            checkout: None,
        };
        tables.fold(&event, &stamp);
    }
    tables
}

fn shown_rows(tables: &Tables) -> Vec<ShownRow<'_>> {
    let entries = tables.entries_by_time().into_iter().map(ShownRow::Entry);
    let attempts = tables.attempts_by_time().into_iter().map(ShownRow::Attempt);
    let memory = tables.memories().map(ShownRow::Memory);
    entries.chain(attempts).chain(memory).collect()
}

/// The data of an entry, with what else only its native form says.
fn data_with_unknown(
    mut data: Map<String, Value>,
    native: Option<&Native>,
    known: &[FieldShape],
) -> Map<String, Value> {
    for (key, value) in unknown_fields(native, known) {
        data.entry(key).or_insert(value);
    }
    data
}

fn unknown_fields(native: Option<&Native>, known: &[FieldShape]) -> Map<String, Value> {
    let body = native.and_then(|native| serde_json::from_str(&native.body).ok());
    let Some(Value::Object(mut all)) = body else {
        return Map::new();
    };
    all.retain(|key, value| !has_key(known, key) && has_content(value));
    all
}

/// The entry that tells all of an attempt.
fn entry_of_attempt(told: &ReportedAttempt) -> Entry {
    let report = &told.report;
    let entry = Entry::from_attempt(report, report.program.duration_s);
    let mut data = entry.data;
    if report.notes.is_none() {
        // Its status says it.
        data.remove("notes");
    }
    if let Some(Value::Object(context)) = to_json_value(&report.context) {
        data.extend(context);
    }
    let more = [
        ("iteration", to_json_value(&told.number)),
        ("observations", to_json_value(&report.observations)),
        ("screenshots", to_json_value(&report.screenshots)),
        ("validations", to_json_value(&report.validations)),
    ];
    for (key, value) in more {
        if let Some(value) = value.filter(has_content) {
            data.insert(key.to_owned(), value);
        }
    }
    Entry {
        name: told.name.clone(),
        at: told.ended_at.map(|at| at.to_string()),
        task_id: Some(told.item.clone()),
        data: data_with_unknown(data, told.native.as_ref(), ralph_json::ENTRY_KEYS),
        ..Entry::with_type(entry.kind)
    }
}

fn to_json_value<T: serde::Serialize>(value: &T) -> Option<Value> {
    serde_json::to_value(value).ok()
}

/// The attempt that an entry tells of; none where it tells of none, or of no
/// item. `nth` tells it from others that say the same.
fn attempt_of_entry(entry: &Entry, nth: u64) -> Option<ReportedAttempt> {
    const OUTCOMES: [Outcome; 6] = [
        Outcome::Completed,
        Outcome::Failed,
        Outcome::Blocked,
        Outcome::Partial,
        Outcome::NeedsHuman,
        Outcome::Interrupted,
    ];
    let said = entry.text_field("status");
    let said = OUTCOMES.iter().find(|word| Some(word.as_str()) == said);
    let outcome = match (entry.kind, said) {
        (
            EntryType::TaskCompleted | EntryType::TaskBlocked | EntryType::SessionEnded,
            Some(said),
        ) => *said,
        (EntryType::TaskCompleted, None) => Outcome::Completed,
        (EntryType::TaskBlocked, None) => Outcome::Blocked,
        _ => return None,
    };
    let item = entry.task_id.clone().or_else(|| entry.spec.clone())?;
    let data = &entry.data;
    let facts = facts_of_data(data);
    let list = |key: &str| {
        let list = facts.get(key).and_then(Value::as_array)?;
        let texts = list.iter().filter_map(Value::as_str).map(str::to_owned);
        Some(texts.collect::<Vec<String>>())
    };
    let read = |key: &str| data.get(key).cloned();
    let context: Map<String, Value> = ralph_json::CONTEXT_KEYS
        .iter()
        .filter_map(|field| Some((field.key.to_owned(), read(field.key)?)))
        .collect();
    let context = Some(context).filter(|context| !context.is_empty());
    let observations = read("observations").and_then(|list| serde_json::from_value(list).ok());
    let number = data.get("iteration").and_then(Value::as_u64);
    let summary = entry
        .text_field("description")
        .or_else(|| entry.text_field("issue"));
    // What nothing was said of is called by what came of it.
    let summary = summary.filter(|summary| *summary != outcome.as_str());
    let report = Report {
        summary: summary.map(str::to_owned),
        screenshots: list("screenshots").unwrap_or_default(),
        validations: list("validations").unwrap_or_default(),
        observations: observations.unwrap_or_default(),
        context: context.and_then(|context| serde_json::from_value(Value::Object(context)).ok()),
        notes: entry.text_field("notes").map(str::to_owned),
        changes: ReportedChanges {
            files: list("files_modified"),
            commits: list("commits"),
            ..ReportedChanges::default()
        },
        program: ProgramReport {
            duration_s: facts.get(DURATION).and_then(Value::as_u64),
            ..ProgramReport::default()
        },
        ..Report::with_outcome(outcome)
    };
    Some(ReportedAttempt {
        attempt: attempt_id_of_digest(digest(&["log", &item, &nth.to_string()])),
        run: RunId::PROJECT,
        node: Item::child(None, &item, 1),
        item,
        number: number.and_then(|number| u32::try_from(number).ok()),
        name: entry.name.clone(),
        agent: FILE_AGENT.to_owned(),
        ended_at: entry.at.as_deref().and_then(|at| at.parse().ok()),
        report: Box::new(report),
        native: None,
    })
}

/// What an attempt started from, among the data of an entry.
/// How long something took, in seconds, however that is said.
const DURATION: &str = "duration";

/// What a thing says, by key, in words that all logs share.
struct LogFacts {
    kind: String,
    said: BTreeMap<String, Value>,
}

/// What a thing is known by in its log.
fn log_key(found: &ImportedRecord) -> Option<String> {
    let (kind, name) = match found {
        ImportedRecord::Entry(entry) => ("entry", entry.name.as_ref()),
        ImportedRecord::Attempt(told) => ("entry", told.name.as_ref()),
        ImportedRecord::Memory(memory)
        | ImportedRecord::Retired(memory)
        | ImportedRecord::Removed(memory) => (
            memory.kind.as_str(),
            memory.id.as_ref().or(memory.title.as_ref()),
        ),
    };
    Some(format!("{kind} {}", name?))
}

fn facts_of_found(found: &ImportedRecord) -> LogFacts {
    match found {
        ImportedRecord::Entry(entry) => facts_of_entry(entry),
        ImportedRecord::Attempt(told) => facts_of_entry(&entry_of_attempt(told)),
        ImportedRecord::Memory(memory) => facts_of_memory(memory, false),
        ImportedRecord::Retired(memory) | ImportedRecord::Removed(memory) => {
            facts_of_memory(memory, true)
        }
    }
}

fn facts_of_entry(entry: &Entry) -> LogFacts {
    let time = entry.at.as_deref().map(|at| {
        // A log of words tells seconds.
        let at = at.parse::<Timestamp>().map(Timestamp::as_second);
        at.map_or_else(|_| Value::Null, Value::from)
    });
    let own = [
        ("id", entry.name.clone().map(Value::from)),
        ("timestamp", time),
        ("type", Some(Value::from(entry.type_name()))),
        ("spec", entry.spec.clone().map(Value::from)),
        ("task_id", entry.task_id.clone().map(Value::from)),
    ];
    let data = data_with_unknown(
        entry.data.clone(),
        entry.native.as_ref(),
        agent_os::ENTRY_KEYS,
    );
    let mut said = facts_of_data(&data);
    // What the type says already, or the description.
    let implied = [
        (EntryType::TaskCompleted, Outcome::Completed),
        (EntryType::TaskBlocked, Outcome::Blocked),
    ];
    let implied = implied.iter().find(|(kind, _)| *kind == entry.kind);
    let implied = implied.map(|(_, outcome)| Value::from(outcome.as_str()));
    said.retain(|key, value| key != "status" || implied.as_ref() != Some(value));
    if said.get("issue") == said.get("description") {
        said.remove("issue");
    }
    let own = own
        .into_iter()
        .filter_map(|(key, value)| Some((key.to_owned(), value.filter(has_content)?)));
    said.extend(own);
    LogFacts {
        kind: entry.type_name().to_owned(),
        said,
    }
}

/// The data of an entry, each thing under one key and texts without layout.
fn facts_of_data(data: &Map<String, Value>) -> BTreeMap<String, Value> {
    let mut said = BTreeMap::new();
    for (key, value) in data.iter().filter(|(_, value)| has_content(value)) {
        let (key, value) = match (key.as_str(), value) {
            // The days of a log of words, and its count of sessions.
            ("date" | "session", _) => continue,
            ("duration_minutes", value) if !data.contains_key("duration_seconds") => {
                let seconds = value.as_f64().unwrap_or_default() * 60.0;
                let seconds = format!("{seconds:.0}").parse::<u64>();
                (
                    DURATION,
                    seconds.map_or_else(|_| value.clone(), Value::from),
                )
            }
            ("duration_minutes", _) => continue,
            ("duration_seconds", value) => (DURATION, value.clone()),
            ("commit" | "commits" | "git_commits", value) => ("commits", split_list(value)),
            ("screenshot" | "screenshots", value) => ("screenshots", split_list(value)),
            (key, Value::String(text)) => {
                let words: Vec<&str> = text.split_whitespace().collect();
                (key, Value::from(words.join(" ")))
            }
            (key, value) => (key, value.clone()),
        };
        said.insert(key.to_owned(), value);
    }
    said
}

/// A list of texts, which may be written as one.
fn split_list(value: &Value) -> Value {
    match value.as_str() {
        Some(text) => text.split(", ").map(Value::from).collect(),
        None => value.clone(),
    }
}

fn facts_of_memory(memory: &Memory, retired: bool) -> LogFacts {
    let kind = match memory.kind {
        MemoryKind::Learning => "learnings",
        MemoryKind::Pattern => "patterns",
        MemoryKind::Guardrail => "guardrails",
        MemoryKind::ResolvedBlocker => "resolved blockers",
    };
    let mut said = BTreeMap::new();
    if let Some(Value::Object(all)) = to_json_value(memory) {
        said.extend(all.into_iter().filter(|(key, _)| key != "native"));
    }
    said.insert("retired".to_owned(), retired.into());
    said.retain(|_, value| has_content(value));
    LogFacts {
        kind: kind.to_owned(),
        said,
    }
}

fn has_content(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::String(text) => !text.trim().is_empty(),
        Value::Array(list) => !list.is_empty(),
        Value::Object(map) => !map.is_empty(),
        Value::Bool(_) | Value::Number(_) => true,
    }
}

/// What is lost, by what it is called in the log that had it.
#[derive(Default)]
struct Losses(BTreeMap<String, usize>);

impl Losses {
    fn count_loss(&mut self, what: &str) {
        *self.0.entry(what.to_owned()).or_default() += 1;
    }

    fn count_thing(&mut self, thing: &ConvertedThing, back: Option<&LogFacts>, from: &ProjectFile) {
        let was = facts_of_found(&thing.was);
        let Some(back) = back else {
            // An attempt is told of by its kind alone where it is one of many.
            self.count_loss(
                if from.lists_attempts && matches!(thing.was, ImportedRecord::Attempt(_)) {
                    "entries"
                } else {
                    &was.kind
                },
            );
            return;
        };
        let gone = was.said.iter();
        let gone = gone.filter(|(key, value)| back.said.get(*key) != Some(*value));
        let gone: BTreeSet<&str> = gone
            .map(|(key, _)| fact_name(key, from.lists_attempts))
            .collect();
        gone.into_iter().for_each(|what| self.count_loss(what));
    }

    fn into_list(self) -> Vec<ConversionLoss> {
        let lost = self.0.into_iter();
        lost.map(|(what, count)| ConversionLoss { what, count })
            .collect()
    }
}

/// What a fact is called in a log of attempts or of entries.
fn fact_name(key: &str, of_attempt: bool) -> &str {
    match (key, of_attempt) {
        (DURATION, true) => "duration_seconds",
        (DURATION, false) => "duration_minutes",
        ("description", true) => "summary",
        ("commits", true) => "git_commits",
        ("task_id", true) => "prd_id",
        ("type", true) => "status",
        (key, true) if has_key(ralph_json::CONTEXT_KEYS, key) => "context",
        (key, _) => key,
    }
}
