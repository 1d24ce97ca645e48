//! `piton log` and `piton recent`: the day-one memory of a project.

use std::path::Path;

use piton_core::entry::{ENTRY_TYPES, Entry, EntryRow, EntryType};
use piton_core::{Command, Need};
use serde::Serialize;
use serde_json::Value;

use crate::failure::Failure;
use crate::project::Project;
use crate::session::Session;
use crate::world::World;

/// Keeps a session event.
///
/// # Errors
///
/// When the type is not one of the seven, or the store fails.
pub fn log(world: &World, entry: Entry, told: &mut dyn FnMut(&str)) -> Result<EntryRow, Failure> {
    let project = Project::find(world, &world.cwd);
    let session = Session::create(world, project, told)?;
    let committed = session.tell(&Command::LogEntry(Box::new(entry)))?;
    let recorded = committed
        .events
        .into_iter()
        .next()
        .expect("an entry is one event");
    let piton_core::Event::EntryLogged(entry) = recorded.event else {
        unreachable!("what was logged is an entry")
    };
    let stamp = recorded.record.stamp;
    Ok(EntryRow {
        id: stamp.id,
        position: stamp.position,
        timestamp: stamp.time,
        entry: *entry,
    })
}

/// The type of that name.
///
/// # Errors
///
/// When there is no such type.
pub fn entry_type(name: &str) -> Result<EntryType, Failure> {
    EntryType::parse(name).ok_or_else(|| {
        let known: Vec<&str> = ENTRY_TYPES.iter().map(|(name, _)| *name).collect();
        Failure::new("usage", format!("there is no entry type `{name}`"))
            .hint(format!("the types are: {}", known.join(", ")))
    })
}

/// Fields of an entry's data that hold a list, as seed 003 shows them.
const LISTS: [&str; 2] = ["files_modified", "requested_tasks"];

/// What somebody typed for a field of an entry's data: minutes are a number,
/// lists are parted by commas, all else is text.
#[must_use]
pub fn data_value(key: &str, text: String) -> Value {
    if key == "duration_minutes"
        && let Ok(minutes) = text.trim().parse::<u64>()
    {
        return minutes.into();
    }
    if LISTS.contains(&key) {
        return text.split(',').map(str::trim).collect();
    }
    Value::String(text)
}

/// What happened lately.
#[derive(Clone, Debug, Serialize)]
pub struct Recent {
    /// The last entries, the oldest first.
    pub entries: Vec<EntryRow>,
    /// In a sentence or two.
    pub summary: String,
    /// The spec of the last completed task.
    pub last_spec: Option<String>,
    /// The last completed task.
    pub last_task: Option<String>,
    /// Blocked tasks that nothing has completed since, the oldest first.
    pub unresolved_blockers: Vec<EntryRow>,
}

/// What happened lately: the last `count` entries, and what is unresolved
/// however long ago it was.
///
/// # Errors
///
/// When there is a store that cannot be read.
pub fn recent(world: &World, start: &Path, count: usize) -> Result<Recent, Failure> {
    let Some(session) = Session::read(world, start)? else {
        return Ok(nothing());
    };
    let rows = session.load(&[
        Need::RecentEntries(count),
        Need::LastEntry(EntryType::TaskCompleted),
        Need::Blockers,
    ])?;
    let all: Vec<EntryRow> = rows.tables.entries().cloned().collect();
    let completed = all
        .iter()
        .rev()
        .find(|row| row.entry.kind == EntryType::TaskCompleted)
        .cloned();
    let entries: Vec<EntryRow> = all[all.len().saturating_sub(count)..].to_vec();
    let mut unresolved: Vec<EntryRow> = rows
        .tables
        .blockers()
        .flat_map(|row| row.entries.clone())
        .collect();
    unresolved.sort_by_key(|row| row.position);
    if entries.is_empty() {
        return Ok(nothing());
    }
    Ok(Recent {
        summary: summary(&entries),
        last_spec: completed.as_ref().and_then(|row| row.entry.spec.clone()),
        last_task: completed.and_then(|row| row.entry.task_id),
        unresolved_blockers: unresolved,
        entries,
    })
}

fn nothing() -> Recent {
    Recent {
        entries: Vec::new(),
        summary: "No previous progress recorded.".to_owned(),
        last_spec: None,
        last_task: None,
        unresolved_blockers: Vec::new(),
    }
}

fn summary(entries: &[EntryRow]) -> String {
    let count = |kind| entries.iter().filter(|row| row.entry.kind == kind).count();
    let plural =
        |count: usize, word: &str| format!("{count} {word}{}", if count == 1 { "" } else { "s" });
    let of = if entries.len() == 1 {
        "Last entry".to_owned()
    } else {
        format!("Last {} entries", entries.len())
    };
    let mut text = format!(
        "{of}: {} completed",
        plural(count(EntryType::TaskCompleted), "task")
    );
    let blocked = count(EntryType::TaskBlocked);
    if blocked > 0 {
        text.push_str(&format!(", {}", plural(blocked, "blocker")));
    }
    text.push('.');
    if let Some(last) = entries.last() {
        text.push_str(&format!(
            " Most recent: {}.",
            last.entry.title().trim_end_matches('.')
        ));
        if let Some(next) = last.entry.text("next_steps") {
            text.push_str(&format!(" Next: {next}"));
        }
    }
    text
}
