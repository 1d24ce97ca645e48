//! What is remembered: kept, used, judged, retired.

use std::collections::BTreeSet;

use jiff::Timestamp;

use super::event_buffer::{EventBuffer, QuestionText};
use super::similar::document_without_context;
use crate::attempt::Report;
use crate::confidence::is_doubted;
use crate::decision::{DecisionKind, DecisionRow, Verb};
use crate::event::{Event, MemoryEvent};
use crate::extract::extract_learnings;
use crate::id::{AttemptId, RunId};
use crate::item::{ItemRow, ItemState, Stage};
use crate::memory::{Memory, MemoryKind, MemoryRow, MemorySource};
use crate::name::{NamedRow, Space};
use crate::quote::truncate_chars;
use crate::recall::{ALIKE_FROM, MemoryDocument, document_similarity};
use crate::refusal::Refusal;
use crate::trust::hash_of_text;

/// Keeps something worth knowing under its own id, or under the next one.
pub(super) fn add_memory(story: &mut EventBuffer<'_>, memory: &Memory) -> Result<(), Refusal> {
    if let Some((title, id)) = find_followed_guardrail(story, memory) {
        return Err(Refusal::Remembered { title, id });
    }
    record_memory(story, memory);
    Ok(())
}

/// The title of a guardrail that is followed already, and its id.
fn find_followed_guardrail(story: &EventBuffer<'_>, memory: &Memory) -> Option<(String, String)> {
    let title = guardrail_title(memory)?;
    let NamedRow::Memory(id) = &story.tables.find_name(Space::Sign, title)?.of else {
        return None;
    };
    let row = story.tables.find_memory(id);
    let is_followed = row.is_none_or(MemoryRow::is_followed);
    is_followed.then(|| (title.to_owned(), id.clone()))
}

fn guardrail_title(memory: &Memory) -> Option<&str> {
    let title = memory.title.as_deref();
    title.filter(|_| memory.kind == MemoryKind::Guardrail)
}

/// Keeps it, and says under which id.
pub(super) fn record_memory(story: &mut EventBuffer<'_>, memory: &Memory) -> String {
    let own = memory.id.clone().filter(|id| {
        memory.kind.parse_number(id).is_some() && story.tables.find_memory(id).is_none()
    });
    let id = own.unwrap_or_else(|| {
        let free = story.free_numbers[memory.kind as usize];
        let is_given = |number| {
            story
                .tables
                .find_memory(&memory.kind.format_id(number))
                .is_some()
        };
        let number = free.first_free(is_given);
        story.free_numbers[memory.kind as usize] = free.skip_past(number);
        memory.kind.format_id(number)
    });
    let memory = Memory {
        id: Some(id.clone()),
        ..memory.clone()
    };
    story.append(MemoryEvent::Added(Box::new(memory)));
    id
}

pub(super) fn retire_memory(
    story: &mut EventBuffer<'_>,
    id: &str,
    why: Option<&str>,
    superseded_by: Option<&str>,
) -> Result<(), Refusal> {
    if superseded_by == Some(id) {
        return Err(Refusal::OwnSuccessor(id.to_owned()));
    }
    let other = superseded_by.map(|by| story.tables.find_memory(by).ok_or(by));
    match other {
        Some(Err(unknown)) => return Err(Refusal::NotRemembered(unknown.to_owned())),
        Some(Ok(by)) if !by.is_followed() => return Err(Refusal::Retired(by.id.clone())),
        Some(Ok(_)) | None => {}
    }
    let Some(row) = story.tables.find_memory(id) else {
        return Err(Refusal::NotRemembered(id.to_owned()));
    };
    if row.retired.is_some() {
        return Err(Refusal::Retired(id.to_owned()));
    }
    story.append(MemoryEvent::Retired {
        id: id.to_owned(),
        why: why.map(str::to_owned),
        superseded_by: superseded_by.map(str::to_owned),
    });
    // A question about it needs no answer any more.
    let open = story.tables.open_decisions(RunId::PROJECT);
    let about_it = open.filter(|open| open.memory.as_deref() == Some(id));
    let about_it: Vec<_> = about_it.map(|open| open.id).collect();
    for decision in about_it {
        story.decide_if_open(decision, Verb::Settled, Some("it was retired"));
    }
    Ok(())
}

/// Notes that a person wants these to be followed as they stand now.
pub(super) fn endorse_memories(story: &mut EventBuffer<'_>, ids: &[String]) -> Result<(), Refusal> {
    let mut unconfirmed: Vec<String> = Vec::new();
    for id in ids {
        let Some(row) = story.tables.find_memory(id) else {
            return Err(Refusal::NotRemembered(id.clone()));
        };
        if row.retired.is_some() {
            return Err(Refusal::Retired(id.clone()));
        }
        if row.is_unconfirmed() && !unconfirmed.contains(id) {
            unconfirmed.push(id.clone());
        }
    }
    if unconfirmed.is_empty() {
        return Ok(());
    }
    story.append(MemoryEvent::Endorsed { ids: unconfirmed });
    // A question about nothing else needs no answer any more.
    let is_answered = |id: &String| {
        let row = story.tables.find_memory(id);
        ids.contains(id) || row.is_some_and(|row| !row.is_followed() || !row.is_unconfirmed())
    };
    let open = story.tables.open_decisions(RunId::PROJECT);
    let about_them = open.filter(|open| open.kind == DecisionKind::UnconfirmedMemory);
    let answered = about_them.filter(|open| open.memories.iter().all(is_answered));
    let answered: Vec<_> = answered.map(|open| open.id).collect();
    for decision in answered {
        story.decide_if_open(decision, Verb::Settled, Some("they were confirmed"));
    }
    Ok(())
}

/// So many of those that are asked about are shown with their words.
const ASKED_SHOWN: usize = 40;
/// So many characters of each. What is longer is shown in full by a command.
const ASKED_CHARS: usize = 1_000;
/// So much of a hash tells two texts with one beginning apart.
const ASKED_HASH: usize = 12;

/// Asks about what came by files and no person confirmed, and is asked about in no
/// open question yet.
pub(super) fn ask_about_unconfirmed(story: &mut EventBuffer<'_>) {
    let open = story.tables.open_decisions(RunId::PROJECT);
    let asked: BTreeSet<&String> = open.flat_map(|open| &open.memories).collect();
    let memories = story.tables.memories();
    let unconfirmed = memories.filter(|row| row.is_followed() && row.is_unconfirmed());
    let mut new: Vec<&MemoryRow> = unconfirmed.filter(|row| !asked.contains(&row.id)).collect();
    if new.is_empty() {
        return;
    }
    new.sort_by_key(|row| row.position);
    let shown = new
        .iter()
        .take(ASKED_SHOWN)
        .map(|row| describe_unconfirmed(row));
    let mut details: Vec<String> = shown.collect();
    if let Some(more) = new.len().checked_sub(ASKED_SHOWN).filter(|more| *more > 0) {
        details.push(format!("and {more} more; see `piton learn list`"));
    }
    let question = match new.as_slice() {
        [one] => format!("{} came by a file: is it to be followed?", one.id),
        all => format!(
            "{} memories came by files: are they to be followed?",
            all.len()
        ),
    };
    let ids = new.iter().map(|row| row.id.clone()).collect();
    let details = Some(details.join("\n"));
    story.ask_about_unconfirmed(ids, QuestionText { question, details });
}

/// A memory in the line of a question about it: all of its words, or their beginning, the
/// command that shows the rest, and by what it is known that this is what was shown.
fn describe_unconfirmed(row: &MemoryRow) -> String {
    let memory = &row.memory;
    let texts = [
        memory.title.as_deref(),
        Some(memory.content.as_str()),
        memory.context.as_deref(),
    ];
    let texts: Vec<&str> = texts.into_iter().flatten().collect();
    let texts = texts.join(": ");
    let words: Vec<&str> = texts.split_whitespace().collect();
    let words = words.join(" ");
    let shown = truncate_chars(&words, ASKED_CHARS);
    let rest = if shown == words {
        String::new()
    } else {
        let hash = hash_of_text(&texts);
        format!(
            " (all {} characters, {}: `piton learn show {}`)",
            texts.chars().count(),
            &hash[..ASKED_HASH],
            row.id
        )
    };
    format!("{} ({}): {shown}{rest}", row.id, row.origin().text)
}

/// Follows, or follows no more, what a person was asked about. What was not shown, or has
/// other words by now, is not confirmed by that: it is asked about again.
pub(super) fn decide_unconfirmed(
    story: &mut EventBuffer<'_>,
    asked: &DecisionRow,
    verb: Verb,
    why: Option<&str>,
) {
    let is_open = |id: &&String| {
        let row = story.tables.find_memory(id);
        row.is_some_and(|row| row.is_followed() && row.is_unconfirmed())
    };
    let ids: Vec<String> = asked.memories.iter().filter(is_open).cloned().collect();
    if verb == Verb::Approve {
        let details = asked.details.as_deref().unwrap_or_default();
        let is_as_shown = |id: &String| {
            let row = story.tables.find_memory(id).map(describe_unconfirmed);
            row.is_some_and(|line| details.lines().any(|shown| shown == line))
        };
        let ids: Vec<String> = ids.into_iter().filter(is_as_shown).collect();
        if !ids.is_empty() {
            story.append(MemoryEvent::Endorsed { ids });
        }
    } else if verb == Verb::Reject {
        for id in ids {
            let why = Some(why.unwrap_or("a person rejected it").to_owned());
            let superseded_by = None;
            story.append(MemoryEvent::Retired {
                id,
                why,
                superseded_by,
            });
        }
    }
    story.decide_if_open(asked.id, verb, why);
}

/// Keeps what was remembered elsewhere. What is known by the id that it had
/// there is passed over, or revised where it says something else by now.
pub(super) fn import_memories(story: &mut EventBuffer<'_>, memories: &[Memory]) {
    for memory in memories {
        let external = memory.external_id.as_deref();
        let known = external
            .and_then(|id| story.tables.find_name(Space::External, id))
            .and_then(|row| match &row.of {
                NamedRow::Memory(id) => story.tables.find_memory(id),
                NamedRow::Attempt(_) | NamedRow::Entry(_) => None,
            });
        let Some(row) = known else {
            // A sign is known by its title, wherever it was put up.
            if find_followed_guardrail(story, memory).is_none() {
                record_memory(story, memory);
            }
            continue;
        };
        // What an import does not say is not taken back; of which kind it is
        // stands in its id.
        let known = row.memory.clone();
        let new = memory.clone();
        let now = Memory {
            topic: new.topic.or(known.topic),
            title: new.title.or(known.title),
            content: new.content,
            context: new.context.or(known.context),
            learned_at: new.learned_at.or(known.learned_at),
            external_id: new.external_id,
            ..known
        };
        if row.memory != now {
            story.append(MemoryEvent::Revised(Box::new(now)));
        }
    }
}

/// Proposes those for retirement that attempts keep failing with. A person is
/// asked once, and again only when twice as many have failed since.
pub(super) fn ask_about_doubted(story: &mut EventBuffer<'_>, ids: &[String]) {
    for id in ids {
        let Some(row) = story.tables.find_memory(id) else {
            continue;
        };
        let uses = row.uses;
        let asked = row.asked_at_failed.unwrap_or_default();
        let is_asked = story
            .tables
            .open_decisions(RunId::PROJECT)
            .any(|open| open.memory.as_deref() == Some(id));
        if !row.is_followed()
            || is_asked
            || !is_doubted(uses.helped, uses.failed)
            || uses.failed < 2 * asked
        {
            continue;
        }
        let title = row.memory.title.as_deref().unwrap_or(&row.memory.content);
        let title: String = title
            .lines()
            .next()
            .unwrap_or_default()
            .chars()
            .take(TITLE_CHARS)
            .collect();
        let question = format!("attempts keep failing with {id}: is it still to be followed?");
        let record = format!("{} failed with it, {} were done", uses.failed, uses.helped);
        story.ask_about_memory(id, question, Some(format!("{title}\n{record}")));
    }
}

/// Notes that an attempt starts whose prompt carries these.
pub(super) fn record_memory_use(story: &mut EventBuffer<'_>, attempt: AttemptId, ids: &[String]) {
    if !ids.is_empty() {
        let ids = ids.to_vec();
        story.append(MemoryEvent::Used { ids, attempt });
    }
}

/// What the memory learns from a move of an item that was worked on: whether
/// what its last prompt carried helped.
pub(super) fn judge_carried_memories(
    story: &mut EventBuffer<'_>,
    before: &ItemRow,
    to: ItemState,
    is_retry: bool,
) {
    if before.state != ItemState::Working {
        return;
    }
    let helped = match to {
        ItemState::Done => Some(true),
        // The work was done; what keeps it from being committed is another thing.
        _ if before.stage == Stage::Commit => None,
        ItemState::Failed | ItemState::Blocked => Some(false),
        ItemState::Waiting | ItemState::Ready => is_retry.then_some(false),
        ItemState::Pending | ItemState::Working | ItemState::Skipped | ItemState::Dropped => None,
    };
    // What every prompt carries is not to blame for what came of one.
    let advice = |id: &&String| MemoryKind::Guardrail.parse_number(id).is_none();
    let ids: Vec<String> = before
        .tries
        .carried
        .iter()
        .filter(advice)
        .cloned()
        .collect();
    if let Some(helped) = helped.filter(|_| !ids.is_empty()) {
        story.append(MemoryEvent::Judged { ids, helped });
    }
}

/// Learns from what an attempt noticed. What is known already is confirmed with
/// a second source; what repeats something that its own prompt carried is an
/// echo, and neither. Each observation is told what came of it.
pub(super) fn learn_from_report(
    story: &mut EventBuffer<'_>,
    report: &mut Report,
    item: &str,
    attempt: &str,
    carried: &[String],
) {
    for (at, learning) in extract_learnings(report, item, attempt) {
        let id = match find_similar_memory(story, &learning) {
            Some(id) if carried.contains(&id) => id,
            Some(id) => {
                let source = MemorySource {
                    item: Some(item.to_owned()),
                    attempt: Some(attempt.to_owned()),
                };
                let confirmed = Event::Memory(MemoryEvent::Confirmed {
                    id: id.clone(),
                    source,
                });
                story.append(confirmed);
                id
            }
            None => record_memory(story, &learning),
        };
        if let Some(seen) = report.observations.get_mut(at) {
            seen.related_learning_id = Some(id);
        }
    }
}

/// Keeps what an agent says that is worth knowing: by the same rule as what an
/// attempt noticed.
pub(super) fn record_or_confirm(story: &mut EventBuffer<'_>, memory: &Memory, carried: &[String]) {
    match find_similar_memory(story, memory) {
        Some(id) if carried.contains(&id) => {}
        Some(id) => story.append(MemoryEvent::Confirmed {
            id,
            source: MemorySource {
                item: memory.source_item.clone(),
                attempt: memory.source_attempt.clone(),
            },
        }),
        None => drop(record_memory(story, memory)),
    }
}

/// The followed memory that says the same, if one does; of several the one that
/// does most, and then the oldest. Those that share words with the content of
/// it are known here, so that must be alike by itself.
fn find_similar_memory(story: &mut EventBuffer<'_>, memory: &Memory) -> Option<String> {
    let of_content = |memory: &Memory| MemoryDocument::from_fields("", &memory.content, "");
    let (document, content) = (document_without_context(memory), of_content(memory));
    let candidates = story.memory_word_index().find_candidates(memory);
    let rows = candidates.iter();
    let rows = rows.filter_map(|id| story.tables.find_memory(id));
    let rows = rows.filter(|row| row.is_followed());
    let is_like = |likeness: f64| likeness >= ALIKE_FROM;
    let alike = rows
        .filter(|row| {
            memory.title.is_none()
                || is_like(document_similarity(&of_content(&row.memory), &content))
        })
        .map(|row| {
            (
                document_similarity(&document_without_context(&row.memory), &document),
                row,
            )
        });
    let alike = alike.filter(|(likeness, _)| is_like(*likeness));
    let best = alike.max_by(|(one, first), (other, second)| {
        let older = second.position.cmp(&first.position);
        one.total_cmp(other).then(older)
    });
    best.map(|(_, row)| row.id.clone())
}

/// So many characters of what was in the way are its title.
const TITLE_CHARS: usize = 200;

/// Keeps how something that was in the way was resolved.
pub(super) fn record_resolution(
    story: &mut EventBuffer<'_>,
    problem: &str,
    resolution: &str,
    item: Option<&str>,
    at: Option<Timestamp>,
) {
    let (problem, resolution) = (problem.trim(), resolution.trim());
    if problem.is_empty() || resolution.is_empty() {
        return;
    }
    let line = problem.lines().next().unwrap_or_default();
    let title: String = line.chars().take(TITLE_CHARS).collect();
    let context = (title != problem).then(|| problem.to_owned());
    let memory = Memory {
        title: Some(title),
        context,
        source_item: item.map(str::to_owned),
        learned_at: at,
        ..Memory::new(MemoryKind::ResolvedBlocker, resolution)
    };
    match find_similar_memory(story, &memory) {
        Some(id) => story.append(MemoryEvent::Confirmed {
            id,
            source: MemorySource {
                item: memory.source_item,
                attempt: None,
            },
        }),
        None => drop(record_memory(story, &memory)),
    }
}
