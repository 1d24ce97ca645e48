//! `piton log`: what happens in sessions, kept as entries.

use piton_core::Command;
use piton_core::entry::{ENTRY_TYPES, Entry, EntryRow, EntryType};
use serde_json::Value;

use super::{Told, follow_faces, session};
use crate::failure::Failure;
use crate::world::World;

/// Keeps a session event.
///
/// # Errors
///
/// When the type is not one of the seven, or the store fails.
pub fn log(world: &World, entry: Entry, told: &mut Told<'_>) -> Result<EntryRow, Failure> {
    let session = session(world, told)?;
    let committed = session.tell(&Command::LogEntry(Box::new(entry)))?;
    // What it says of a resolution is remembered as well.
    let logged = committed.events.into_iter().find_map(|recorded| {
        if let piton_core::Event::EntryLogged(entry) = recorded.event {
            Some((entry, recorded.record.stamp))
        } else {
            None
        }
    });
    let (entry, stamp) = logged.expect("what is logged is an entry");
    follow_faces(&session, told);
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
