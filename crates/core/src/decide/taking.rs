//! Taking in what a native file holds that somebody else wrote.
//!
//! A thing is known by its name. What is not known is kept; what is known and
//! says the same is passed over; what is known and says something else is
//! somebody's edit, or somebody who gave the same name to another thing.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::Value;

use super::recording::{is_name, keep_found_attempt, log, tell_entry};
use super::remembering;
use super::story::Story;
use crate::attempt::{AttemptRow, ToldAttempt};
use crate::command::{Found, KnownThings, TakenFile};
use crate::decision::Way;
use crate::entry::{BlockerRow, Entry, EntryRow, EntryType};
use crate::event::{BlockedBefore, Event};
use crate::memory::{Memory, MemoryKind, MemoryRow};
use crate::name::{Named, Space, free};
use crate::refusal::Refusal;

/// Keeps what is new in the file, and asks about the rest.
pub(super) fn take_file(story: &mut Story<'_>, taken: &TakenFile) -> Result<(), Refusal> {
    let others = others(story, &taken.found);
    let mut changed = Vec::new();
    for (at, found) in taken.found.iter().enumerate() {
        let is = if others.contains(&at) {
            Is::Another
        } else {
            Is::ItOrNew
        };
        let known = if may_be_taken(story, taken, found) {
            KnownThings::Take
        } else {
            taken.known
        };
        match found {
            Found::Entry(entry) => take_entry(story, (found, entry, is), known, &mut changed),
            Found::Attempt(told) => take_attempt(story, (found, told, is), known, &mut changed)?,
            Found::Memory(memory) | Found::Retired(memory) if is == Is::Another => {
                if !told_before(story, found) {
                    take_other_memory(story, memory);
                }
            }
            Found::Memory(memory) => take_memory(story, memory, known, false, &mut changed),
            Found::Retired(memory) => take_memory(story, memory, known, true, &mut changed),
            Found::Removed(memory) => {
                take_removal(story, memory, (known, &taken.path), &mut changed);
            }
        }
    }
    if !changed.is_empty() && taken.known == KnownThings::Ask {
        ask(story, &taken.path, &changed);
    }
    Ok(())
}

/// Whether only the file has changed a thing since piton wrote it: the journal
/// still says of it what piton wrote. A person who takes out all that is
/// followed may have meant something else.
fn may_be_taken(story: &Story<'_>, taken: &TakenFile, found: &Found) -> bool {
    if taken.known != KnownThings::Ask || taken.written.is_empty() {
        return false;
    }
    let is_removed = |found: &&Found| matches!(found, Found::Removed(_));
    let is_followed = |found: &&Found| matches!(found, Found::Memory(_));
    let count_removed = taken.found.iter().filter(is_removed).count();
    let count_followed = taken.written.iter().filter(is_followed).count();
    if is_removed(&found) && count_removed >= count_followed {
        return false;
    }
    let mut written = taken.written.iter();
    let written = written.find(|written| written.is_same_thing(found));
    match (written, found) {
        (Some(written), _) => is_as_written(story, written),
        // What piton had not written because it is retired came back.
        (None, Found::Memory(memory)) => {
            find_memory(story, memory).is_some_and(|row| row.retired.is_some())
        }
        (None, _) => false,
    }
}

/// Whether the journal says of a thing what piton wrote of it.
fn is_as_written(story: &Story<'_>, written: &Found) -> bool {
    match written {
        Found::Memory(memory) => find_memory(story, memory)
            .is_some_and(|row| row.retired.is_none() && says_the_same(row, memory)),
        Found::Retired(memory) => find_memory(story, memory)
            .is_some_and(|row| row.retired.is_some() && says_the_same(row, memory)),
        Found::Removed(_) => false,
        Found::Entry(_) | Found::Attempt(_) => is_known(story, written),
    }
}

/// What a thing is to the one that the journal knows by its name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Is {
    /// The same one, perhaps with other words, or the first of that name.
    ItOrNew,
    /// Another one, which stands in the same file beside it.
    Another,
}

/// Of things that have one name in the file, all but one: the one that says
/// what the journal says, or else the first that is not known by another name.
fn others(story: &Story<'_>, found: &[Found]) -> BTreeSet<usize> {
    let mut others = BTreeSet::new();
    for mut all in Found::namesakes(found) {
        let own = all
            .iter()
            .position(|at| is_known(story, &found[*at]))
            .or_else(|| all.iter().position(|at| !told_before(story, &found[*at])));
        if let Some(own) = own {
            all.remove(own);
        }
        others.extend(all);
    }
    others
}

/// Whether the journal says the same under that name.
fn is_known(story: &Story<'_>, found: &Found) -> bool {
    match named(found) {
        Some((space, name)) => story
            .tables
            .named(space, name)
            .is_some_and(|row| says_it(story, &row.of, found)),
        None => match found {
            Found::Memory(memory) | Found::Retired(memory) | Found::Removed(memory) => {
                find_memory(story, memory).is_some_and(|row| says_the_same(row, memory))
            }
            Found::Entry(_) | Found::Attempt(_) => false,
        },
    }
}

/// Whether it was kept before under another name, because the one that the file
/// gives it was taken.
fn told_before(story: &Story<'_>, found: &Found) -> bool {
    if let Found::Memory(memory) | Found::Retired(memory) | Found::Removed(memory) = found {
        let is_it = |row: &MemoryRow| row.memory.kind == memory.kind && says_the_same(row, memory);
        return story.tables.memory().any(is_it);
    }
    let Some((space, name)) = named(found) else {
        return false;
    };
    let start = format!("{name}-");
    let mut others = story.tables.names_from(space, &start);
    others.any(|row| says_it(story, &row.of, found))
}

/// The name that a file gives an entry or an attempt.
fn named(found: &Found) -> Option<(Space, &String)> {
    match found {
        Found::Entry(entry) => Some((Space::Entry, entry.name.as_ref()?)),
        Found::Attempt(told) => Some((Space::Attempt, told.name.as_ref()?)),
        Found::Memory(_) | Found::Retired(_) | Found::Removed(_) => None,
    }
}

/// Whether what has a name in the journal says what the file says.
fn says_it(story: &Story<'_>, of: &Named, found: &Found) -> bool {
    match (of, found) {
        (Named::Entry(at), Found::Entry(entry)) => story
            .tables
            .entry(*at)
            .is_some_and(|row| is_same_entry(row, entry)),
        (Named::Attempt(id), Found::Attempt(told)) => story
            .tables
            .attempt(*id)
            .is_some_and(|row| is_same_attempt(row, told)),
        _ => false,
    }
}

fn ask(story: &mut Story<'_>, path: &str, changed: &[String]) {
    let question = format!("{path} says something else than the journal");
    let details = changed.join("\n");
    let ways = || vec![Way::FileHolds, Way::PitonHolds, Way::Merged];
    let run = crate::id::RunId::PROJECT;
    story.ask_about_file(run, path, ((question, Some(details)), Vec::new()), ways);
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
fn differences(name: &str, file: &impl Serialize, journal: &impl Serialize) -> String {
    let (file, journal) = (fields(file), fields(journal));
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
fn fields(thing: &impl Serialize) -> BTreeMap<String, String> {
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

/// A name for a thing of somebody else who used one that is taken.
fn other_name(story: &Story<'_>, space: Space, name: &str) -> String {
    free(name, |name| is_name(story, space, name))
}

fn take_entry(
    story: &mut Story<'_>,
    (found, entry, is): (&Found, &Entry, Is),
    known: KnownThings,
    changed: &mut Vec<String>,
) {
    let is_marked = |mark| story.tables.named(Space::Mark, mark).is_some();
    if entry.mark.as_deref().is_some_and(is_marked) {
        return;
    }
    let Some(name) = &entry.name else {
        log(story, entry.clone());
        resolve_what_blocked(story, entry);
        return;
    };
    let named = story
        .tables
        .named(Space::Entry, name)
        .map(|row| row.of.clone());
    let Some(Named::Entry(position)) = named else {
        tell_entry(story, entry.clone());
        resolve_what_blocked(story, entry);
        return;
    };
    let Some(row) = story.tables.entry(position) else {
        return;
    };
    if is_same_entry(row, entry) {
        return;
    }
    if is == Is::ItOrNew && is_same_time(row.timestamp, entry.at.as_deref()) {
        match known {
            KnownThings::Ask => changed.push(differences(name, entry, &row.entry)),
            KnownThings::Keep => {}
            KnownThings::Take => {
                let blocked_before = blocked_before(&row.entry, entry);
                story.tell(Event::EntryRevised {
                    position,
                    entry: Box::new(entry.clone()),
                    blocked_before,
                });
            }
        }
        return;
    }
    if !told_before(story, found) {
        let entry = Entry {
            name: Some(other_name(story, Space::Entry, name)),
            ..entry.clone()
        };
        tell_entry(story, entry);
    }
}

/// What an entry blocked, where that is not what it blocks now.
fn blocked_before(was: &Entry, now: &Entry) -> Option<BlockedBefore> {
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
fn resolve_what_blocked(story: &mut Story<'_>, entry: &Entry) {
    let Some(resolution) = entry.text("resolution") else {
        return;
    };
    let problem = |entry: &Entry| {
        let said = entry.text("issue").or_else(|| entry.text("description"));
        said.map(str::to_owned)
    };
    let blocker = story.tables.blocker(&entry.spec, &entry.task_id);
    let is_it = |row: &BlockerRow| {
        let last = row.entries.last().map(|row| &row.entry);
        last.is_some_and(|last| problem(last) == problem(entry))
    };
    if entry.kind == EntryType::DebugResolved && blocker.is_some_and(is_it) {
        story.tell(Event::BlockerResolved {
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
    known.type_word() == entry.type_word()
        && known.spec == entry.spec
        && known.task_id == entry.task_id
        && known.data == entry.data
        && is_same_time(row.timestamp, entry.at.as_deref())
}

fn take_attempt(
    story: &mut Story<'_>,
    (found, told, is): (&Found, &ToldAttempt, Is),
    known: KnownThings,
    changed: &mut Vec<String>,
) -> Result<(), Refusal> {
    let Some(name) = told.name.clone() else {
        return keep_found_attempt(story, told, other_name(story, Space::Attempt, &told.item));
    };
    let named = story
        .tables
        .named(Space::Attempt, &name)
        .map(|row| row.of.clone());
    let Some(Named::Attempt(id)) = named else {
        return keep_found_attempt(story, told, name);
    };
    let Some(row) = story.tables.attempt(id) else {
        return Ok(());
    };
    if is_same_attempt(row, told) {
        return Ok(());
    }
    let times = row.ended_at.zip(told.ended_at);
    let is_same_time = times.is_some_and(|(known, said)| is_same_instant(known, said));
    if is == Is::ItOrNew && is_same_time {
        let revised = ToldAttempt {
            attempt: row.id,
            run: row.run,
            node: row.node.clone(),
            number: Some(row.number),
            agent: row.agent.clone(),
            ..told.clone()
        };
        match known {
            KnownThings::Ask => {
                changed.push(differences(&name, &revised.report, &row.report));
            }
            KnownThings::Keep => {}
            KnownThings::Take => story.tell(Event::AttemptRevised(Box::new(revised))),
        }
        return Ok(());
    }
    if told_before(story, found) {
        return Ok(());
    }
    let name = other_name(story, Space::Attempt, &name);
    keep_found_attempt(story, told, name)
}

/// Whether a file says of an attempt what the journal says. A time without a
/// zone is no time.
fn is_same_attempt(row: &AttemptRow, told: &ToldAttempt) -> bool {
    let Some(known) = &row.report else {
        return false;
    };
    let report = &told.report;
    known.outcome == report.outcome
        && known.summary == report.summary
        && known.observations == report.observations
        && known.files == report.files
        && known.commits == report.commits
        && known.context == report.context
        && report
            .duration_s
            .is_none_or(|told| row.duration_s().is_none_or(|known| known == told))
        && told.ended_at.is_none_or(|told| {
            row.ended_at
                .is_some_and(|known| is_same_instant(known, told))
        })
}

fn take_memory(
    story: &mut Story<'_>,
    memory: &Memory,
    known: KnownThings,
    retired: bool,
    changed: &mut Vec<String>,
) {
    let row = find_memory(story, memory);
    let id = match row {
        None => remembering::keep(story, memory),
        Some(row) => {
            let row = row.clone();
            // Of a pattern no format says that it is not to be followed.
            let is_revived =
                !retired && row.retired.is_some() && row.memory.kind != MemoryKind::Pattern;
            if is_revived || !says_the_same(&row, memory) {
                match known {
                    // What was retired stays so: it is followed again under an
                    // id of its own.
                    KnownThings::Take if is_revived => {
                        let memory = Memory {
                            id: None,
                            native: None,
                            ..memory.clone()
                        };
                        remembering::keep(story, &memory);
                        return;
                    }
                    KnownThings::Take => revise(story, &row, memory),
                    KnownThings::Keep => {}
                    KnownThings::Ask if is_revived => {
                        changed.push(format!(
                            "`{}` holds in the file, and is retired here",
                            row.id
                        ));
                    }
                    KnownThings::Ask => changed.push(differences(&row.id, memory, &row.memory)),
                }
            }
            row.id
        }
    };
    let is_retired = story
        .tables
        .remembered(&id)
        .is_some_and(|row| row.retired.is_some());
    if retired && !is_retired {
        story.tell(Event::MemoryRetired {
            id,
            why: Some("marked in the file".to_owned()),
            superseded_by: None,
        });
    }
}

/// What stands in the file no more is followed no more.
fn take_removal(
    story: &mut Story<'_>,
    memory: &Memory,
    (known, path): (KnownThings, &str),
    changed: &mut Vec<String>,
) {
    let Some(row) = find_memory(story, memory).filter(|row| row.retired.is_none()) else {
        return;
    };
    let id = row.id.clone();
    match known {
        KnownThings::Ask => changed.push(format!("`{id}` is not in the file any more")),
        KnownThings::Keep => {}
        KnownThings::Take => story.tell(Event::MemoryRetired {
            id,
            why: Some(format!("taken out of {path}")),
            superseded_by: None,
        }),
    }
}

/// Keeps what stands in the file under the id of something else, under an id of
/// its own.
fn take_other_memory(story: &mut Story<'_>, memory: &Memory) {
    let memory = Memory {
        id: None,
        ..memory.clone()
    };
    remembering::keep(story, &memory);
}

/// What is remembered under the name that the file gives it.
fn find_memory<'s>(story: &'s Story<'_>, memory: &Memory) -> Option<&'s MemoryRow> {
    if memory.kind == MemoryKind::Guardrail {
        let title = memory.title.as_deref()?;
        let Named::Memory(id) = &story.tables.named(Space::Sign, title)?.of else {
            return None;
        };
        return story.tables.remembered(id);
    }
    story.tables.remembered(memory.id.as_deref()?)
}

fn revise(story: &mut Story<'_>, row: &MemoryRow, memory: &Memory) {
    let memory = Memory {
        id: Some(row.id.clone()),
        // No file has a place for it.
        external_id: row.memory.external_id.clone(),
        ..memory.clone()
    };
    story.tell(Event::MemoryRevised(Box::new(memory)));
}

fn says_the_same(row: &MemoryRow, memory: &Memory) -> bool {
    let known = &row.memory;
    known.content.trim() == memory.content.trim()
        && known.title == memory.title
        && known.topic == memory.topic
        && known.confidence == memory.confidence
        && known.examples == memory.examples
        && known.context == memory.context
}
