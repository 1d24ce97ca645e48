//! Importing what a native file holds that another writer wrote.
//!
//! A record is known by its name. A record that is not known is kept; one that is
//! known and says the same is passed over. One that is known and says something else
//! is an edit, or another writer gave the same name to another record.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::Value;

use super::event_buffer::{EventBuffer, QuestionText};
use super::imported_attempts::append_imported_attempt;
use super::recording::{append_entry, is_name_taken, log_entry};
use super::remembering;
use crate::attempt::{AttemptRow, ReportedAttempt};
use crate::command::{ImportPolicy, ImportedFile, ImportedRecord};
use crate::decision::DecisionChoice;
use crate::entry::{BlockerRow, Entry, EntryRow, EntryType};
use crate::event::{AttemptEvent, BlockedBefore, MemoryEvent, SessionEvent};
use crate::memory::{Memory, MemoryKind, MemoryRow};
use crate::name::{NamedRow, Space, free_name};
use crate::refusal::Refusal;

/// Keeps what is new in the file, and asks about the rest.
pub(super) fn import_file(
    story: &mut EventBuffer<'_>,
    taken: &ImportedFile,
) -> Result<(), Refusal> {
    let others = find_extra_namesakes(story, &taken.found);
    let mut changed = Vec::new();
    let mut by_person = Vec::new();
    for (at, found) in taken.found.iter().enumerate() {
        let is = if others.contains(&at) {
            NameMatch::Another
        } else {
            NameMatch::ItOrNew
        };
        let known = if can_import_silently(story, taken, found) {
            ImportPolicy::Take
        } else {
            taken.known
        };
        let import = RecordImport {
            name_match: is,
            policy: known,
        };
        match found {
            ImportedRecord::Entry(entry) => import_entry(story, found, entry, import, &mut changed),
            ImportedRecord::Attempt(told) => {
                import_attempt(story, found, told, import, &mut changed)?
            }
            ImportedRecord::Memory(memory) | ImportedRecord::Retired(memory)
                if is == NameMatch::Another =>
            {
                if !was_imported_before(story, found) {
                    import_renamed_memory(story, memory);
                }
            }
            ImportedRecord::Memory(memory) => {
                let id = import_memory(story, memory, known, false, &mut changed);
                let id = id.filter(|_| taken.by_person.contains(&at));
                by_person.extend(id);
            }
            ImportedRecord::Retired(memory) => {
                import_memory(story, memory, known, true, &mut changed);
            }
            ImportedRecord::Removed(memory) => {
                import_removal(story, memory, known, &taken.path, &mut changed);
            }
        }
    }
    mark_endorsed_and_reworded(story, &taken.path, by_person);
    if !changed.is_empty() && taken.known == ImportPolicy::Ask {
        ask_about_import(story, &taken.path, &changed);
    }
    Ok(())
}

/// Notes which of what was kept or changed a person wrote here, and that the words of
/// the rest of what was changed come from an unknown writer.
fn mark_endorsed_and_reworded(story: &mut EventBuffer<'_>, path: &str, by_person: Vec<String>) {
    let mut revised = story.revised_memories();
    revised.retain(|id| !by_person.contains(id));
    if !by_person.is_empty() {
        story.append(MemoryEvent::Endorsed { ids: by_person });
    }
    for id in revised {
        let file = path.to_owned();
        story.append(MemoryEvent::Reworded { id, file });
    }
}

/// Whether only the file has changed a thing since piton wrote it: the journal
/// still says of it what piton wrote. A person who takes out all that is
/// followed may have meant something else.
fn can_import_silently(
    story: &EventBuffer<'_>,
    taken: &ImportedFile,
    found: &ImportedRecord,
) -> bool {
    if taken.known != ImportPolicy::Ask || taken.written.is_empty() {
        return false;
    }
    let is_removed = |found: &&ImportedRecord| matches!(found, ImportedRecord::Removed(_));
    let is_followed = |found: &&ImportedRecord| matches!(found, ImportedRecord::Memory(_));
    let count_removed = taken.found.iter().filter(is_removed).count();
    let count_followed = taken.written.iter().filter(is_followed).count();
    if is_removed(&found) && count_removed >= count_followed {
        return false;
    }
    let mut written = taken.written.iter();
    let written = written.find(|written| written.is_same_record(found));
    match (written, found) {
        (Some(written), _) => is_unchanged_in_journal(story, written),
        // What piton had not written because it is retired came back.
        (None, ImportedRecord::Memory(memory)) => {
            find_memory(story, memory).is_some_and(|row| row.retired.is_some())
        }
        (None, _) => false,
    }
}

/// Whether the journal says of a thing what piton wrote of it.
fn is_unchanged_in_journal(story: &EventBuffer<'_>, written: &ImportedRecord) -> bool {
    match written {
        ImportedRecord::Memory(memory) => find_memory(story, memory)
            .is_some_and(|row| row.retired.is_none() && has_same_content(row, memory)),
        ImportedRecord::Retired(memory) => find_memory(story, memory)
            .is_some_and(|row| row.retired.is_some() && has_same_content(row, memory)),
        ImportedRecord::Removed(_) => false,
        ImportedRecord::Entry(_) | ImportedRecord::Attempt(_) => is_in_journal(story, written),
    }
}

/// What a thing is to the one that the journal knows by its name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum NameMatch {
    /// The same one, perhaps with other words, or the first of that name.
    ItOrNew,
    /// Another one, which stands in the same file beside it.
    Another,
}

/// How one record of a file is imported.
#[derive(Clone, Copy)]
struct RecordImport {
    /// Whether it is the one that the journal knows by its name.
    name_match: NameMatch,
    /// What is done where the journal says something else of it.
    policy: ImportPolicy,
}

/// Of things that have one name in the file, all but one: the one that says
/// what the journal says, or else the first that is not known by another name.
fn find_extra_namesakes(story: &EventBuffer<'_>, found: &[ImportedRecord]) -> BTreeSet<usize> {
    let mut others = BTreeSet::new();
    for mut all in ImportedRecord::group_by_name(found) {
        let own = all
            .iter()
            .position(|at| is_in_journal(story, &found[*at]))
            .or_else(|| {
                all.iter()
                    .position(|at| !was_imported_before(story, &found[*at]))
            });
        if let Some(own) = own {
            all.remove(own);
        }
        others.extend(all);
    }
    others
}

/// Whether the journal says the same under that name.
fn is_in_journal(story: &EventBuffer<'_>, found: &ImportedRecord) -> bool {
    match name_and_space(found) {
        Some((space, name)) => story
            .tables
            .find_name(space, name)
            .is_some_and(|row| is_same_in_journal(story, &row.of, found)),
        None => match found {
            ImportedRecord::Memory(memory)
            | ImportedRecord::Retired(memory)
            | ImportedRecord::Removed(memory) => {
                find_memory(story, memory).is_some_and(|row| has_same_content(row, memory))
            }
            ImportedRecord::Entry(_) | ImportedRecord::Attempt(_) => false,
        },
    }
}

/// Whether it was kept before under another name, because the one that the file
/// gives it was taken.
fn was_imported_before(story: &EventBuffer<'_>, found: &ImportedRecord) -> bool {
    if let ImportedRecord::Memory(memory)
    | ImportedRecord::Retired(memory)
    | ImportedRecord::Removed(memory) = found
    {
        let is_it =
            |row: &MemoryRow| row.memory.kind == memory.kind && has_same_content(row, memory);
        return story.tables.memories().any(is_it);
    }
    let Some((space, name)) = name_and_space(found) else {
        return false;
    };
    let start = format!("{name}-");
    let mut others = story.tables.names_with_prefix(space, &start);
    others.any(|row| is_same_in_journal(story, &row.of, found))
}

/// The name that a file gives an entry or an attempt.
fn name_and_space(found: &ImportedRecord) -> Option<(Space, &String)> {
    match found {
        ImportedRecord::Entry(entry) => Some((Space::Entry, entry.name.as_ref()?)),
        ImportedRecord::Attempt(told) => Some((Space::Attempt, told.name.as_ref()?)),
        ImportedRecord::Memory(_) | ImportedRecord::Retired(_) | ImportedRecord::Removed(_) => None,
    }
}

/// Whether what has a name in the journal says what the file says.
fn is_same_in_journal(story: &EventBuffer<'_>, of: &NamedRow, found: &ImportedRecord) -> bool {
    match (of, found) {
        (NamedRow::Entry(at), ImportedRecord::Entry(entry)) => story
            .tables
            .entry(*at)
            .is_some_and(|row| is_same_entry(row, entry)),
        (NamedRow::Attempt(id), ImportedRecord::Attempt(told)) => story
            .tables
            .attempt(*id)
            .is_some_and(|row| is_same_attempt(row, told)),
        _ => false,
    }
}

fn ask_about_import(story: &mut EventBuffer<'_>, path: &str, changed: &[String]) {
    let question = format!("{path} says something else than the journal");
    let details = changed.join("\n");
    let ways = || {
        vec![
            DecisionChoice::FileHolds,
            DecisionChoice::PitonHolds,
            DecisionChoice::Merged,
        ]
    };
    let run = crate::id::RunId::PROJECT;
    let text = QuestionText {
        question,
        details: Some(details),
    };
    story.ask_about_file(run, path, text, Vec::new(), ways);
}

/// What only says where a thing comes from, or how often it was used.
const UNTOLD: [&str; 11] = [
    "added_after",
    "at",
    "evidence",
    "external_id",
    "id",
    "learned_at",
    "mark",
    "native",
    "source_attempt",
    "source_item",
    "times_referenced",
];
/// So much of a value is told.
const TOLD_CHARS: usize = 80;

/// In what the file differs from the journal, with both values.
fn describe_differences(name: &str, file: &impl Serialize, journal: &impl Serialize) -> String {
    let (file, journal) = (collect_fields(file), collect_fields(journal));
    let keys: BTreeSet<&String> = file.keys().chain(journal.keys()).collect();
    let value = |of: &BTreeMap<String, String>, key: &String| match of.get(key) {
        Some(value) if value.chars().count() > TOLD_CHARS => {
            let start: String = value.chars().take(TOLD_CHARS).collect();
            format!("`{start}…`")
        }
        Some(value) => format!("`{value}`"),
        None => "nothing".to_owned(),
    };
    let differs = |key: &&&String| file.get(**key) != journal.get(**key);
    let told = keys.iter().filter(differs).map(|key| {
        let (file, journal) = (value(&file, key), value(&journal, key));
        format!("{key}: {file} in the file, {journal} in the journal")
    });
    let told: Vec<String> = told.collect();
    format!("`{name}` differs in {}", told.join("; "))
}

/// The fields of a thing as texts; those of what is nested stand beside them.
fn collect_fields(thing: &impl Serialize) -> BTreeMap<String, String> {
    let mut fields = BTreeMap::new();
    push_fields(&mut fields, serde_json::to_value(thing).unwrap_or_default());
    fields.retain(|key, _| !UNTOLD.contains(&key.as_str()));
    fields
}

fn push_fields(fields: &mut BTreeMap<String, String>, thing: Value) {
    let Value::Object(map) = thing else { return };
    for (key, value) in map {
        match value {
            Value::Null => {}
            Value::Object(_) => push_fields(fields, value),
            Value::String(text) => drop(fields.insert(key, text)),
            Value::Bool(_) | Value::Number(_) | Value::Array(_) => {
                fields.insert(key, value.to_string());
            }
        }
    }
}

/// A free name for a record to which another writer gave one that is taken.
fn free_name_for(story: &EventBuffer<'_>, space: Space, name: &str) -> String {
    free_name(name, |name| is_name_taken(story, space, name))
}

fn import_entry(
    story: &mut EventBuffer<'_>,
    found: &ImportedRecord,
    entry: &Entry,
    import: RecordImport,
    changed: &mut Vec<String>,
) {
    let is_marked = |mark| story.tables.find_name(Space::Mark, mark).is_some();
    if entry.mark.as_deref().is_some_and(is_marked) {
        return;
    }
    let Some(name) = &entry.name else {
        log_entry(story, entry.clone());
        resolve_matching_blocker(story, entry);
        return;
    };
    let named = story
        .tables
        .find_name(Space::Entry, name)
        .map(|row| row.of.clone());
    let Some(NamedRow::Entry(position)) = named else {
        append_entry(story, entry.clone());
        resolve_matching_blocker(story, entry);
        return;
    };
    let Some(row) = story.tables.entry(position) else {
        return;
    };
    if is_same_entry(row, entry) {
        return;
    }
    let is_same_time = is_same_time(row.timestamp, entry.at.as_deref());
    if import.name_match == NameMatch::ItOrNew && is_same_time {
        match import.policy {
            ImportPolicy::Ask => changed.push(describe_differences(name, entry, &row.entry)),
            ImportPolicy::Keep => {}
            ImportPolicy::Take => {
                let blocked_before = blocked_before_revision(&row.entry, entry);
                story.append(SessionEvent::EntryRevised {
                    position,
                    entry: Box::new(entry.clone()),
                    blocked_before,
                });
            }
        }
        return;
    }
    if !was_imported_before(story, found) {
        let entry = Entry {
            name: Some(free_name_for(story, Space::Entry, name)),
            ..entry.clone()
        };
        append_entry(story, entry);
    }
}

/// What an entry blocked, where that is not what it blocks now.
fn blocked_before_revision(was: &Entry, now: &Entry) -> Option<BlockedBefore> {
    let blocked = |entry: &Entry| {
        if entry.kind != EntryType::TaskBlocked {
            return BlockedBefore::Nothing;
        }
        BlockedBefore::Task {
            spec: entry.spec.clone(),
            task_id: entry.task_id.clone(),
        }
    };
    let is_other = was.kind != now.kind || blocked(was) != blocked(now);
    is_other.then(|| blocked(was))
}

/// A file that tells how the very thing was resolved that blocks a task tells
/// that nothing blocks it any more.
fn resolve_matching_blocker(story: &mut EventBuffer<'_>, entry: &Entry) {
    let Some(resolution) = entry.text_field("resolution") else {
        return;
    };
    let problem = |entry: &Entry| {
        let said = entry
            .text_field("issue")
            .or_else(|| entry.text_field("description"));
        said.map(str::to_owned)
    };
    let blocker = story.tables.blocker(&entry.spec, &entry.task_id);
    let is_it = |row: &BlockerRow| {
        let last = row.entries.last().map(|row| &row.entry);
        last.is_some_and(|last| problem(last) == problem(entry))
    };
    if entry.kind == EntryType::DebugResolved && blocker.is_some_and(is_it) {
        story.append(SessionEvent::BlockerResolved {
            spec: entry.spec.clone(),
            task_id: entry.task_id.clone(),
            resolution: resolution.to_owned(),
        });
    }
}

fn is_same_time(time: jiff::Timestamp, at: Option<&str>) -> bool {
    at.and_then(|at| at.parse::<jiff::Timestamp>().ok())
        .is_some_and(|at| is_same_instant(time, at))
}

/// Whether a file means this time, as exactly as it tells it; the journal keeps
/// microseconds. So two writers are told apart that give one name within a
/// millisecond.
fn is_same_instant(known: jiff::Timestamp, said: jiff::Timestamp) -> bool {
    const UNITS_NS: [i128; 3] = [1_000_000_000, 1_000_000, 1_000];
    let tells_whole = |unit: &&i128| said.as_nanosecond() % **unit == 0;
    let unit = UNITS_NS.iter().find(tells_whole).unwrap_or(&1_000);
    known.as_nanosecond().div_euclid(*unit) == said.as_nanosecond().div_euclid(*unit)
}

/// Whether a file says of an entry what the journal says. What the journal has
/// no word for is not compared.
fn is_same_entry(row: &EntryRow, entry: &Entry) -> bool {
    let known = &row.entry;
    known.type_name() == entry.type_name()
        && known.spec == entry.spec
        && known.task_id == entry.task_id
        && known.data == entry.data
        && is_same_time(row.timestamp, entry.at.as_deref())
}

fn import_attempt(
    story: &mut EventBuffer<'_>,
    found: &ImportedRecord,
    told: &ReportedAttempt,
    import: RecordImport,
    changed: &mut Vec<String>,
) -> Result<(), Refusal> {
    let Some(name) = told.name.clone() else {
        return append_imported_attempt(
            story,
            told,
            free_name_for(story, Space::Attempt, &told.item),
        );
    };
    let named = story
        .tables
        .find_name(Space::Attempt, &name)
        .map(|row| row.of.clone());
    let Some(NamedRow::Attempt(id)) = named else {
        return append_imported_attempt(story, told, name);
    };
    let Some(row) = story.tables.attempt(id) else {
        return Ok(());
    };
    if is_same_attempt(row, told) {
        return Ok(());
    }
    let times = row.ended_at.zip(told.ended_at);
    let is_same_time = times.is_some_and(|(known, said)| is_same_instant(known, said));
    if import.name_match == NameMatch::ItOrNew && is_same_time {
        let revised = ReportedAttempt {
            attempt: row.id,
            run: row.run,
            node: row.node.clone(),
            number: Some(row.number),
            agent: row.agent.clone(),
            ..told.clone()
        };
        match import.policy {
            ImportPolicy::Ask => {
                changed.push(describe_differences(&name, &revised.report, &row.report));
            }
            ImportPolicy::Keep => {}
            ImportPolicy::Take => story.append(AttemptEvent::Revised(Box::new(revised))),
        }
        return Ok(());
    }
    if was_imported_before(story, found) {
        return Ok(());
    }
    let name = free_name_for(story, Space::Attempt, &name);
    append_imported_attempt(story, told, name)
}

/// Whether a file says of an attempt what the journal says. A time without a
/// zone is no time.
fn is_same_attempt(row: &AttemptRow, told: &ReportedAttempt) -> bool {
    let Some(known) = &row.report else {
        return false;
    };
    let report = &told.report;
    known.outcome == report.outcome
        && known.summary == report.summary
        && known.observations == report.observations
        && known.changes.files == report.changes.files
        && known.changes.commits == report.changes.commits
        && known.context == report.context
        && report
            .program
            .duration_s
            .is_none_or(|told| row.duration_s().is_none_or(|known| known == told))
        && told.ended_at.is_none_or(|told| {
            row.ended_at
                .is_some_and(|known| is_same_instant(known, told))
        })
}

/// The id of the memory whose words the file and the journal share from now on.
fn import_memory(
    story: &mut EventBuffer<'_>,
    memory: &Memory,
    known: ImportPolicy,
    retired: bool,
    changed: &mut Vec<String>,
) -> Option<String> {
    let row = find_memory(story, memory);
    let mut is_said = true;
    let id = match row {
        None => remembering::record_memory(story, memory),
        Some(row) => {
            let row = row.clone();
            // Of a pattern no format says that it is not to be followed.
            let is_revived =
                !retired && row.retired.is_some() && row.memory.kind != MemoryKind::Pattern;
            if is_revived || !has_same_content(&row, memory) {
                match known {
                    // What was retired stays so: it is followed again under an
                    // id of its own.
                    ImportPolicy::Take if is_revived => {
                        let memory = Memory {
                            id: None,
                            native: None,
                            ..memory.clone()
                        };
                        return Some(remembering::record_memory(story, &memory));
                    }
                    ImportPolicy::Take => revise_memory(story, &row, memory),
                    ImportPolicy::Keep => is_said = false,
                    ImportPolicy::Ask if is_revived => {
                        is_said = false;
                        changed.push(format!(
                            "`{}` holds in the file, and is retired here",
                            row.id
                        ));
                    }
                    ImportPolicy::Ask => {
                        is_said = false;
                        changed.push(describe_differences(&row.id, memory, &row.memory));
                    }
                }
            }
            row.id
        }
    };
    let is_retired = story
        .tables
        .find_memory(&id)
        .is_some_and(|row| row.retired.is_some());
    if retired && !is_retired {
        story.append(MemoryEvent::Retired {
            id: id.clone(),
            why: Some("marked in the file".to_owned()),
            superseded_by: None,
        });
    }
    is_said.then_some(id)
}

/// What stands in the file no more is followed no more.
fn import_removal(
    story: &mut EventBuffer<'_>,
    memory: &Memory,
    known: ImportPolicy,
    path: &str,
    changed: &mut Vec<String>,
) {
    let Some(row) = find_memory(story, memory).filter(|row| row.retired.is_none()) else {
        return;
    };
    let id = row.id.clone();
    match known {
        ImportPolicy::Ask => changed.push(format!("`{id}` is not in the file any more")),
        ImportPolicy::Keep => {}
        ImportPolicy::Take => story.append(MemoryEvent::Retired {
            id,
            why: Some(format!("taken out of {path}")),
            superseded_by: None,
        }),
    }
}

/// Keeps what stands in the file under the id of something else, under an id of
/// its own.
fn import_renamed_memory(story: &mut EventBuffer<'_>, memory: &Memory) {
    let memory = Memory {
        id: None,
        ..memory.clone()
    };
    remembering::record_memory(story, &memory);
}

/// What is remembered under the name that the file gives it.
fn find_memory<'s>(story: &'s EventBuffer<'_>, memory: &Memory) -> Option<&'s MemoryRow> {
    if memory.kind == MemoryKind::Guardrail {
        let title = memory.title.as_deref()?;
        let NamedRow::Memory(id) = &story.tables.find_name(Space::Sign, title)?.of else {
            return None;
        };
        return story.tables.find_memory(id);
    }
    story.tables.find_memory(memory.id.as_deref()?)
}

fn revise_memory(story: &mut EventBuffer<'_>, row: &MemoryRow, memory: &Memory) {
    let memory = Memory {
        id: Some(row.id.clone()),
        // No file has a place for it.
        external_id: row.memory.external_id.clone(),
        ..memory.clone()
    };
    story.append(MemoryEvent::Revised(Box::new(memory)));
}

fn has_same_content(row: &MemoryRow, memory: &Memory) -> bool {
    let known = &row.memory;
    known.content.trim() == memory.content.trim()
        && known.title == memory.title
        && known.topic == memory.topic
        && known.confidence == memory.confidence
        && known.examples == memory.examples
        && known.context == memory.context
}
