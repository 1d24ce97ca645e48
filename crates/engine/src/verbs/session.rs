//! `piton session`: when work begins, when it ends, what it is about. The same
//! entries as those of `piton log`.

use jiff::Timestamp;
use piton_core::Need;
use piton_core::entry::{Entry, EntryRow, EntryType};

use super::{Told, log, said};
use crate::failure::Failure;
use crate::notice::Notice;
use crate::session::Session;
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
    told: &mut Told<'_>,
) -> Result<EntryRow, Failure> {
    let mut entry = Entry::bare(EntryType::SessionStarted);
    entry.spec = said(spec);
    if let Some(focus) = said(focus) {
        entry = entry
            .saying("description", format!("Focus: {focus}"))
            .saying("focus_task", focus);
    }
    log::log(world, entry, told)
}

/// Notes that work ends, and how long it took where a beginning is known.
///
/// # Errors
///
/// When the store fails.
pub fn end(world: &World, notes: Option<String>, told: &mut Told<'_>) -> Result<EntryRow, Failure> {
    let mut entry = Entry::bare(EntryType::SessionEnded);
    if let Some(begun) = begun(world)? {
        entry.spec.clone_from(&begun.entry.spec);
        let seconds = world.now().duration_since(since(&begun)).as_secs().max(0);
        entry
            .data
            .insert("duration_minutes".to_owned(), (seconds / 60).into());
    } else {
        told(Notice::Said(
            "no session was begun that has no end yet, so it is not known how long this one took",
        ));
    }
    if let Some(notes) = said(notes) {
        entry = entry.saying("notes", notes);
    }
    log::log(world, entry, told)
}

/// The beginning of the session that has no end yet.
fn begun(world: &World) -> Result<Option<EntryRow>, Failure> {
    let Some(session) = Session::read(world, &world.cwd)? else {
        return Ok(None);
    };
    let kinds = [EntryType::SessionStarted, EntryType::SessionEnded];
    let rows = session.load(&kinds.map(Need::LastEntry))?;
    let latest = rows.tables.entries_by_time().into_iter().next_back();
    let begun = latest.filter(|row| row.entry.kind == EntryType::SessionStarted);
    Ok(begun.cloned())
}

/// When an entry happened: when its writer says, if that is a time.
fn since(row: &EntryRow) -> Timestamp {
    let said = row.entry.at.as_deref().and_then(|at| at.parse().ok());
    said.unwrap_or(row.timestamp)
}

/// Notes what is worked on from now on.
///
/// # Errors
///
/// When the text says nothing, or the store fails.
pub fn focus(world: &World, text: &str, told: &mut Told<'_>) -> Result<EntryRow, Failure> {
    let text = text.trim();
    if text.is_empty() {
        return Err(Failure::new("usage", "the focus has no words")
            .hint("say what is worked on from now on: `piton session focus TEXT`"));
    }
    let entry = Entry::bare(EntryType::ScopeOverride)
        .saying("description", format!("Focus: {text}"))
        .saying("focus", text);
    log::log(world, entry, told)
}
