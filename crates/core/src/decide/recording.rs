//! What people, agents and other programs tell of: entries, attempts, memory.

use uuid::Uuid;

use super::event_buffer::EventBuffer;
use super::remembering::record_resolution;
use crate::attempt::{AttemptRow, Outcome, Report, ReportedChanges};
use crate::entry::{Entry, EntryType};
use crate::event::{FileEvent, SessionEvent};
use crate::id::{AttemptId, Node, RunId};
use crate::item::{ItemRef, ItemRow};
use crate::name::{Space, entry_name, free_name, slug};
use crate::refusal::Refusal;

/// Logs an entry under the name that it has, or under a fresh one.
pub(super) fn log_entry(story: &mut EventBuffer<'_>, mut entry: Entry) {
    if entry.name.is_none() {
        let is_taken = |name: &str| is_name_taken(story, Space::Entry, name);
        entry.name = Some(entry_name(story.rows.now, fresh_uuid(story), is_taken));
    }
    append_entry(story, entry);
}

/// Keeps an entry, and what it says of how something was resolved.
pub(super) fn append_entry(story: &mut EventBuffer<'_>, entry: Entry) {
    let problem = entry
        .text_field("issue")
        .or_else(|| entry.text_field("description"));
    let resolved = problem.zip(entry.text_field("resolution"));
    if entry.kind == EntryType::DebugResolved
        && let Some((problem, resolution)) = resolved
    {
        let at = entry.at.as_deref().and_then(|at| at.parse().ok());
        record_resolution(story, problem, resolution, entry.task_id.as_deref(), at);
    }
    story.append(SessionEvent::EntryLogged(Box::new(entry)));
}

/// Whether a name of a space is known here.
pub(super) fn is_name_taken(story: &EventBuffer<'_>, space: Space, name: &str) -> bool {
    story.tables.find_name(space, name).is_some()
}

/// A fresh id for each event of the story.
fn fresh_uuid(story: &EventBuffer<'_>) -> Uuid {
    let nth = u128::try_from(story.event_count()).unwrap_or(0);
    Uuid::from_u128(story.facts.decision.0.as_u128() ^ (nth << 8))
}

/// The name that the next attempt at an item has in `.ralph/progress.json`.
pub(super) fn next_attempt_name(story: &EventBuffer<'_>, item: &str, number: u32) -> String {
    let tag = story.rows.naming.attempt_tag();
    let tag = tag.map(|tag| format!("{tag}-")).unwrap_or_default();
    let base = format!("{}-{tag}{number}", slug(item));
    free_name(&base, |name| is_name_taken(story, Space::Attempt, name))
}

/// Logs among the sessions what came of an attempt: see the table of states in
/// `docs/formats/agent-os.md`.
pub(super) fn log_attempt(
    story: &mut EventBuffer<'_>,
    item: ItemRef<'_>,
    report: &Report,
    at: Option<String>,
    took_s: Option<u64>,
) {
    let entry = Entry {
        at,
        ..Entry::from_attempt(report, took_s)
    };
    let entry = with_item(story, item.run, item.node, entry);
    log_entry(story, entry);
}

/// Logs among the sessions that an item was done whose attempt waited for its
/// check or for a person.
pub(super) fn log_completed(story: &mut EventBuffer<'_>, item: &ItemRow, attempt: AttemptId) {
    let is_asked_for = story.attempts_at.as_ref() == Some(&item.node);
    let row = story.tables.attempt(attempt).filter(|_| is_asked_for);
    let took_s = row.and_then(AttemptRow::duration_s);
    let did = row.and_then(|row| row.report.clone());
    let report = Report {
        summary: Some(
            item.summary
                .clone()
                .unwrap_or_else(|| "completed".to_owned()),
        ),
        changes: ReportedChanges {
            files: did.as_ref().and_then(|did| did.changes.files.clone()),
            commits: did.and_then(|did| did.changes.commits),
            ..ReportedChanges::default()
        },
        ..Report::with_outcome(Outcome::Completed)
    };
    let done = ItemRef {
        run: item.run,
        node: &item.node,
    };
    log_attempt(story, done, &report, None, took_s);
}

/// An entry about an item, named by its run and node.
pub(super) fn entry_about(
    story: &EventBuffer<'_>,
    run: RunId,
    node: &Node,
    kind: EntryType,
    what: &str,
) -> Entry {
    let entry = Entry::with_type(kind).with_text("description", what);
    with_item(story, run, node, entry)
}

fn with_item(story: &EventBuffer<'_>, run: RunId, node: &Node, entry: Entry) -> Entry {
    let own = run == RunId::PROJECT;
    let name = story.tables.run(run).map(|row| row.name.clone());
    Entry {
        spec: name.filter(|_| !own),
        task_id: Some(node.as_str().to_owned()),
        ..entry
    }
}

pub(super) fn resolve_blocker(
    story: &mut EventBuffer<'_>,
    spec: Option<&str>,
    task_id: Option<&str>,
    resolution: &str,
) -> Result<(), Refusal> {
    let known = story
        .tables
        .blockers()
        .find(|row| row.spec.as_deref() == spec && row.task_id.as_deref() == task_id);
    let Some(known) = known else {
        let task = task_id.or(spec).unwrap_or("without a task");
        return Err(Refusal::NotBlocked(task.to_owned()));
    };
    let last = known.entries.last().map(|row| &row.entry);
    let said = last.and_then(|entry| {
        entry
            .text_field("issue")
            .or_else(|| entry.text_field("description"))
    });
    let issue = said.unwrap_or("a blocker was resolved").to_owned();
    story.append(SessionEvent::BlockerResolved {
        spec: spec.map(str::to_owned),
        task_id: task_id.map(str::to_owned),
        resolution: resolution.to_owned(),
    });
    let entry = Entry {
        spec: spec.map(str::to_owned),
        task_id: task_id.map(str::to_owned),
        ..Entry::with_type(EntryType::DebugResolved)
            .with_text("description", "a blocker was resolved")
            .with_text("issue", issue)
            .with_text("resolution", resolution)
    };
    log_entry(story, entry);
    Ok(())
}

pub(super) fn set_native_file(story: &mut EventBuffer<'_>, path: &str, face: &str, on: bool) {
    let same = story
        .tables
        .native_files()
        .any(|row| row.path == path && row.face == face && row.on == on);
    if !same {
        story.append(FileEvent::FaceTurned {
            path: path.to_owned(),
            face: face.to_owned(),
            on,
        });
    }
}

pub(super) fn log_scope_override(
    story: &mut EventBuffer<'_>,
    run: RunId,
    node: &Node,
    what: &str,
    why: Option<&str>,
) {
    let entry = entry_about(story, run, node, EntryType::ScopeOverride, what);
    let entry = match why {
        Some(why) => entry.with_text("reason", why),
        None => entry,
    };
    log_entry(story, entry);
}
