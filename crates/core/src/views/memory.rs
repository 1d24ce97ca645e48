//! The row of what is remembered.

use crate::event::{DecisionEvent, Event, MemoryEvent};
use crate::journal::EventStamp;
use crate::memory::{AGAIN_KEPT, Endorsement, MemoryRow, Retirement};
use crate::row::Row;

pub(super) fn memory_row(
    before: Option<Row>,
    event: &Event,
    stamp: &EventStamp,
) -> Option<MemoryRow> {
    if let Event::Memory(MemoryEvent::Added(memory)) = event {
        let (id, by) = (memory.id.clone()?, stamp.actor.to_string());
        let row = MemoryRow::new(id, (**memory).clone(), stamp.position, stamp.time, by);
        return Some(MemoryRow {
            checkout: stamp.checkout.clone(),
            ..row
        });
    }
    let Some(Row::Memory(row)) = before else {
        return None;
    };
    let mut row = *row;
    if matches!(
        event,
        Event::Memory(MemoryEvent::Revised(_) | MemoryEvent::Retired { .. })
    ) {
        row.checkout.clone_from(&stamp.checkout);
    }
    if let Event::Memory(MemoryEvent::Revised(memory)) = event {
        row.memory = (**memory).clone();
    }
    if let Event::Memory(MemoryEvent::Retired {
        why, superseded_by, ..
    }) = event
        && row.retired.is_none()
    {
        row.retired = Some(Retirement {
            why: why.clone(),
            by: stamp.actor.to_string(),
            at: stamp.time,
            superseded_by: superseded_by.clone(),
        });
    }
    if let Event::Decision(DecisionEvent::Opened { .. }) = event {
        row.asked_at_failed = Some(row.uses.failed);
    }
    if let Event::Memory(MemoryEvent::Confirmed { source, .. }) = event {
        let is_known = row.again.contains(source);
        if !is_known && row.again.len() < AGAIN_KEPT {
            row.again.push(source.clone());
        }
    }
    if let Event::Memory(MemoryEvent::Endorsed { .. }) = event {
        row.reworded = None;
        row.endorsed = Some(Endorsement {
            by: stamp.actor.to_string(),
            at: stamp.time,
        });
    }
    if let Event::Memory(MemoryEvent::Reworded { file, .. }) = event {
        row.reworded = Some(file.clone());
        row.endorsed = None;
    }
    if let Event::Memory(MemoryEvent::Used { .. }) = event {
        row.uses.referenced += 1;
    }
    if let Event::Memory(MemoryEvent::Judged { helped, .. }) = event {
        row.uses.helped += u64::from(*helped);
        row.uses.failed += u64::from(!*helped);
    }
    Some(row)
}
