//! The rows of what is logged: entries, and the blockers that they tell of.

use crate::entry::{BLOCKERS_KEPT, BlockerRow, EntryRow, EntryType};
use crate::event::{Event, SessionEvent};
use crate::journal::EventStamp;
use crate::row::Row;

pub(super) fn entry_row(
    before: Option<Row>,
    event: &Event,
    stamp: &EventStamp,
) -> Option<EntryRow> {
    if let (Event::Session(SessionEvent::EntryRevised { entry, .. }), Some(Row::Entry(row))) =
        (event, before)
    {
        return Some(EntryRow {
            entry: (**entry).clone(),
            checkout: stamp.checkout.clone(),
            ..*row
        });
    }
    let Event::Session(SessionEvent::EntryLogged(entry)) = event else {
        return None;
    };
    Some(EntryRow {
        id: stamp.id,
        position: stamp.position,
        timestamp: entry
            .at
            .as_deref()
            .and_then(|at| at.parse().ok())
            .unwrap_or(stamp.time),
        checkout: stamp.checkout.clone(),
        entry: (**entry).clone(),
    })
}

/// The blocker of a task after one of its entries says something else: other words,
/// another task, or nothing that blocks.
pub(super) fn revise_blocker_row(
    spec: Option<&str>,
    task_id: Option<&str>,
    before: Option<Row>,
    event: &Event,
    stamp: &EventStamp,
) -> Option<BlockerRow> {
    let Event::Session(SessionEvent::EntryRevised {
        position,
        entry,
        blocked_before,
    }) = event
    else {
        return None;
    };
    let is_this = entry.spec.as_deref() == spec && entry.task_id.as_deref() == task_id;
    if is_this && entry.kind == EntryType::TaskCompleted {
        return None;
    }
    let blocks_this = is_this && entry.kind == EntryType::TaskBlocked;
    let mut row = match before {
        Some(Row::Blocker(row)) => *row,
        Some(_) | None => BlockerRow {
            spec: spec.map(str::to_owned),
            task_id: task_id.map(str::to_owned),
            entries: Vec::new(),
            older: 0,
        },
    };
    let at = row
        .entries
        .iter()
        .position(|kept| kept.position == *position);
    match at {
        Some(at) if blocks_this => {
            let was = Row::Entry(Box::new(row.entries[at].clone()));
            row.entries[at] = entry_row(Some(was), event, stamp)?;
        }
        Some(at) => {
            row.entries.remove(at);
        }
        // One that blocked this task before, and is not kept here, is too old.
        None if blocks_this && blocked_before.is_some() => {
            let said = entry.at.as_deref().and_then(|at| at.parse().ok());
            let after = row
                .entries
                .partition_point(|kept| kept.position < *position);
            row.entries.insert(
                after,
                EntryRow {
                    id: stamp.id,
                    position: *position,
                    timestamp: said.unwrap_or(stamp.time),
                    checkout: stamp.checkout.clone(),
                    entry: (**entry).clone(),
                },
            );
            drop_oldest_entry(&mut row);
        }
        None => {}
    }
    (!row.entries.is_empty()).then_some(row)
}

/// Leaves out the oldest entry of a blocker that has too many.
fn drop_oldest_entry(row: &mut BlockerRow) {
    if row.entries.len() > BLOCKERS_KEPT {
        row.entries.remove(0);
        row.older += 1;
    }
}

pub(super) fn blocker_row(
    before: Option<Row>,
    event: &Event,
    stamp: &EventStamp,
) -> Option<BlockerRow> {
    let entry = entry_row(None, event, stamp)?;
    if entry.entry.kind == EntryType::TaskCompleted {
        return None;
    }
    let mut row = match before {
        Some(Row::Blocker(row)) => *row,
        Some(_) | None => BlockerRow {
            spec: entry.entry.spec.clone(),
            task_id: entry.entry.task_id.clone(),
            entries: Vec::new(),
            older: 0,
        },
    };
    row.entries.push(entry);
    drop_oldest_entry(&mut row);
    Some(row)
}
