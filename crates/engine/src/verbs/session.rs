//! `piton session`: when work begins, when it ends, what it is about. The same
//! entries as those of `piton log`.

use jiff::Timestamp;
use piton_core::Need;
use piton_core::entry::{Entry, EntryRow, EntryType};

use super::{NoticeSink, log};
use crate::failure::Failure;
use crate::failure::notice::Notice;
use crate::session::Session;
use crate::verbs::arguments::non_blank;
use crate::world::World;

/// Notes that work begins.
///
/// # Errors
///
/// When the store fails.
pub fn start(
    world: &World,
    focus: Option<String>,
    spec: Option<String>,
    told: &mut NoticeSink<'_>,
) -> Result<EntryRow, Failure> {
    let mut entry = Entry::with_type(EntryType::SessionStarted);
    entry.spec = non_blank(spec);
    if let Some(focus) = non_blank(focus) {
        entry = entry
            .with_text("description", format!("Focus: {focus}"))
            .with_text("focus_task", focus);
    }
    log::log(world, entry, told)
}

/// Notes that work ends, and how long it took where a beginning is known.
///
/// # Errors
///
/// When the store fails.
pub fn end(
    world: &World,
    notes: Option<String>,
    told: &mut NoticeSink<'_>,
) -> Result<EntryRow, Failure> {
    let mut entry = Entry::with_type(EntryType::SessionEnded);
    if let Some(begun) = last_session_start(world)? {
        entry.spec.clone_from(&begun.entry.spec);
        let seconds = world
            .now()
            .duration_since(time_of_entry(&begun))
            .as_secs()
            .max(0);
        entry
            .data
            .insert("duration_minutes".to_owned(), (seconds / 60).into());
    } else {
        told(Notice::Said(
            "no session was begun that has no end yet, so it is not known how long this one took",
        ));
    }
    if let Some(notes) = non_blank(notes) {
        entry = entry.with_text("notes", notes);
    }
    log::log(world, entry, told)
}

/// The beginning of the session that has no end yet.
fn last_session_start(world: &World) -> Result<Option<EntryRow>, Failure> {
    let Some(session) = Session::open_read_only(world, &world.cwd)? else {
        return Ok(None);
    };
    let kinds = [EntryType::SessionStarted, EntryType::SessionEnded];
    let rows = session.load(&kinds.map(Need::LastEntry))?;
    let latest = rows.tables.entries_by_time().into_iter().next_back();
    let begun = latest.filter(|row| row.entry.kind == EntryType::SessionStarted);
    Ok(begun.cloned())
}

/// When an entry happened: when its writer says, if that is a time.
fn time_of_entry(row: &EntryRow) -> Timestamp {
    let said = row.entry.at.as_deref().and_then(|at| at.parse().ok());
    said.unwrap_or(row.timestamp)
}

/// Notes what is worked on from now on.
///
/// # Errors
///
/// When the text says nothing, or the store fails.
pub fn focus(world: &World, text: &str, told: &mut NoticeSink<'_>) -> Result<EntryRow, Failure> {
    let text = text.trim();
    if text.is_empty() {
        return Err(Failure::new("usage", "the focus has no words")
            .with_hint("say what is worked on from now on: `piton session focus TEXT`"));
    }
    let entry = Entry::with_type(EntryType::ScopeOverride)
        .with_text("description", format!("Focus: {text}"))
        .with_text("focus", text);
    log::log(world, entry, told)
}
