//! `piton log`: what happens in sessions, kept as entries.

use piton_core::entry::{ENTRY_TYPES, Entry, EntryRow, EntryType};
use piton_core::event::SessionEvent;
use piton_core::{Command, CommandId, HolderLiveness};
use serde_json::Value;

use super::{NoticeSink, create_session, sync_project_files, sync_project_files_at_rest};
use crate::caller::held_item::{HeldItem, own_item, refuse_other_item};
use crate::failure::Failure;
use crate::session::Session;
use crate::world::World;

crate::name_schema!(EntryRow, "piton.entry/1");

/// Keeps a session event. What an agent logs is about the item of its attempt.
///
/// # Errors
///
/// When an agent names another item than its own, or the store fails.
pub fn log(world: &World, entry: Entry, told: &mut NoticeSink<'_>) -> Result<EntryRow, Failure> {
    log_with_id(world, CommandId(world.new_id()), entry, told)
}

/// The same under an id, under which it is kept once.
pub(super) fn log_with_id(
    world: &World,
    id: CommandId,
    entry: Entry,
    told: &mut NoticeSink<'_>,
) -> Result<EntryRow, Failure> {
    let session = create_session(world, told)?;
    let entry = match own_item(&session)? {
        Some(held) => bind_to_own_item(&session, &held, entry)?,
        None => entry,
    };
    let facts = session.facts_of_caller(HolderLiveness::Nothing);
    let committed = session.commit_with_id(id, &Command::LogEntry(Box::new(entry)), &facts)?;
    // What it says of a resolution is remembered as well.
    let logged = committed.events.into_iter().find_map(|recorded| {
        if let piton_core::Event::Session(SessionEvent::EntryLogged(entry)) = recorded.event {
            Some((entry, recorded.record.stamp))
        } else {
            None
        }
    });
    let (entry, stamp) = logged.expect("what is logged is an entry");
    let follow = match entry.kind == EntryType::SessionEnded {
        true => sync_project_files_at_rest,
        false => sync_project_files,
    };
    follow(&session, told);
    Ok(EntryRow {
        id: stamp.id,
        position: stamp.position,
        timestamp: stamp.time,
        checkout: stamp.checkout,
        entry: *entry,
    })
}

/// The entry of an agent, if it is about the item that the agent holds.
fn bind_to_own_item(
    session: &Session<'_>,
    held: &HeldItem,
    entry: Entry,
) -> Result<Entry, Failure> {
    let named = match (&entry.spec, &entry.task_id) {
        (Some(spec), Some(task)) => Some(format!("{spec}:{task}")),
        (None, Some(task)) => Some(task.clone()),
        (Some(spec), None) if held.run_name.as_ref() != Some(spec) => Some(spec.clone()),
        (Some(_) | None, None) => None,
    };
    if let Some(named) = named {
        refuse_other_item(session, held, &named)?;
    }
    Ok(held.tag_entry(entry))
}

/// The type of that name.
///
/// # Errors
///
/// When there is no such type.
pub fn parse_entry_type(name: &str) -> Result<EntryType, Failure> {
    EntryType::parse(name).ok_or_else(|| {
        let known: Vec<&str> = ENTRY_TYPES.iter().map(|(name, _)| *name).collect();
        Failure::new("usage", format!("there is no entry type `{name}`"))
            .with_hint(format!("the types are: {}", known.join(", ")))
    })
}

/// Fields of an entry's data that hold a list, as seed 003 shows them.
const LISTS: [&str; 2] = ["files_modified", "requested_tasks"];

/// What a person typed for a field of an entry's data: minutes are a number,
/// lists are parted by commas, all else is text.
#[must_use]
pub fn parse_data_value(key: &str, text: String) -> Value {
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
