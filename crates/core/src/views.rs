//! What an event changes in the read tables.
//!
//! [`changed_keys`] names the rows, [`apply_event`] makes each one anew. Neither looks at
//! any other row: whatever a change depends on stands in the event, so that a
//! table can be thrown away and rebuilt from the journal alone.

mod attempt;
mod decision;
mod item;
mod memory;
mod open_children;
mod run;
mod session;
mod unit;

use crate::entry::EntryType;
use crate::event::{
    AttemptEvent, BlockedBefore, DecisionEvent, Event, FileEvent, ItemEvent, ItemMoved,
    MemoryEvent, NotificationEvent, SessionEvent,
};
use crate::id::{Node, RunId};
use crate::journal::EventStamp;
use crate::memory::{Memory, MemoryKind};
use crate::name::{NameRow, NamedRow, Space};
use crate::native_file::NativeFileRow;
use crate::notification::NotificationSubject;

use crate::row::{Key, Row};

use self::attempt::attempt_row;
use self::decision::decision_row;
use self::item::item_row;
use self::memory::memory_row;
use self::run::run_row;
use self::session::{blocker_row, entry_row, revise_blocker_row};

/// The rows that `event` changes, each once.
#[must_use]
pub fn changed_keys(event: &Event, stamp: &EventStamp) -> Vec<Key> {
    match event {
        Event::Run(event) => vec![Key::Run(event.run())],
        Event::Item(event) => keys_of_item_event(event),
        // The run knows of all its units.
        Event::Unit(event) => {
            let (run, node) = event.unit();
            vec![Key::Item(run, node.clone()), Key::Run(run)]
        }
        Event::Attempt(event) => keys_of_attempt_event(event),
        Event::Decision(event) => keys_of_decision_event(event),
        Event::Memory(event) => keys_of_memory_event(event),
        Event::Session(event) => keys_of_session_event(event, stamp),
        Event::File(FileEvent::FaceTurned { path, .. }) => vec![Key::Face(path.clone())],
        Event::Notification(event) => keys_of_notification_event(event),
    }
}

fn keys_of_item_event(event: &ItemEvent) -> Vec<Key> {
    let item = |run: &RunId, node: &Node| Key::Item(*run, node.clone());
    match event {
        ItemEvent::Planned(planned) => vec![
            item(&planned.run, &planned.item.node),
            parent_key(planned.run, &planned.item.node),
        ],
        ItemEvent::GateStarted { run, node, .. }
        | ItemEvent::Reviewed { run, node, .. }
        | ItemEvent::GateEnded { run, node, .. }
        | ItemEvent::CommitStarted { run, node, .. }
        | ItemEvent::CommitEnded { run, node, .. }
        | ItemEvent::Staged { run, node, .. }
        | ItemEvent::Claimed { run, node, .. }
        | ItemEvent::SkipAsked { run, node } => vec![item(run, node)],
        ItemEvent::Moved(moved) => keys_of_item_move(moved),
        ItemEvent::Changed(changed) => vec![item(&changed.run, &changed.node)],
        ItemEvent::Placed(placed) => {
            let nodes = placed.places.keys();
            nodes.map(|node| item(&placed.run, node)).collect()
        }
    }
}

fn keys_of_attempt_event(event: &AttemptEvent) -> Vec<Key> {
    let item = |run: &RunId, node: &Node| Key::Item(*run, node.clone());
    match event {
        AttemptEvent::Started {
            attempt,
            run,
            node,
            name,
            ..
        } => {
            let mut keys = vec![Key::Attempt(*attempt), item(run, node), Key::Run(*run)];
            keys.extend(name.clone().map(|name| Key::Name(Space::Attempt, name)));
            keys
        }
        AttemptEvent::Reported(told) => {
            let mut keys = vec![
                Key::Attempt(told.attempt),
                item(&told.run, &told.node),
                Key::Run(told.run),
            ];
            keys.extend(
                told.name
                    .clone()
                    .map(|name| Key::Name(Space::Attempt, name)),
            );
            keys
        }
        AttemptEvent::Revised(told) => vec![Key::Attempt(told.attempt)],
        AttemptEvent::Ended {
            attempt, run, node, ..
        } => vec![Key::Attempt(*attempt), item(run, node), Key::Run(*run)],
        AttemptEvent::Answered { attempt, .. } => vec![Key::Attempt(*attempt)],
        AttemptEvent::Judged {
            attempt, run, node, ..
        } => vec![Key::Attempt(*attempt), item(run, node)],
    }
}

fn keys_of_decision_event(event: &DecisionEvent) -> Vec<Key> {
    match event {
        DecisionEvent::Opened {
            decision, memory, ..
        } => {
            let memory = memory.iter().cloned().map(Key::Memory);
            std::iter::once(Key::Decision(*decision))
                .chain(memory)
                .collect()
        }
        DecisionEvent::Made { decision, .. }
        | DecisionEvent::Revised { decision, .. }
        | DecisionEvent::Deferred { decision, .. } => vec![Key::Decision(*decision)],
    }
}

fn keys_of_memory_event(event: &MemoryEvent) -> Vec<Key> {
    match event {
        MemoryEvent::Added(memory) | MemoryEvent::Revised(memory) => memory_keys(memory),
        MemoryEvent::Retired { id, .. }
        | MemoryEvent::Confirmed { id, .. }
        | MemoryEvent::Reworded { id, .. } => {
            vec![Key::Memory(id.clone())]
        }
        MemoryEvent::Used { ids, .. }
        | MemoryEvent::Judged { ids, .. }
        | MemoryEvent::Endorsed { ids } => ids.iter().cloned().map(Key::Memory).collect(),
    }
}

fn keys_of_session_event(event: &SessionEvent, stamp: &EventStamp) -> Vec<Key> {
    match event {
        SessionEvent::EntryRevised {
            position,
            entry,
            blocked_before,
        } => {
            let is_about_blocker = entry.kind == EntryType::TaskBlocked
                || (entry.kind == EntryType::TaskCompleted && blocked_before.is_some());
            let now =
                is_about_blocker.then(|| Key::Blocker(entry.spec.clone(), entry.task_id.clone()));
            let before = match blocked_before {
                Some(BlockedBefore::Task { spec, task_id }) => {
                    Some(Key::Blocker(spec.clone(), task_id.clone()))
                }
                Some(BlockedBefore::Nothing) | None => None,
            };
            let before = before.filter(|before| now.as_ref() != Some(before));
            std::iter::once(Key::Entry(*position))
                .chain(now)
                .chain(before)
                .collect()
        }
        SessionEvent::BlockerResolved { spec, task_id, .. } => {
            vec![Key::Blocker(spec.clone(), task_id.clone())]
        }
        // No rule asks about it: it is read from the journal where it is shown.
        SessionEvent::CallNoted(_) => Vec::new(),
        SessionEvent::EntryLogged(entry) => {
            let mut keys = vec![Key::Entry(stamp.position)];
            keys.extend(entry.name.clone().map(|name| Key::Name(Space::Entry, name)));
            keys.extend(entry.mark.clone().map(|mark| Key::Name(Space::Mark, mark)));
            if matches!(
                entry.kind,
                EntryType::TaskBlocked | EntryType::TaskCompleted
            ) {
                keys.push(Key::Blocker(entry.spec.clone(), entry.task_id.clone()));
            }
            keys
        }
    }
}

fn keys_of_notification_event(event: &NotificationEvent) -> Vec<Key> {
    match event {
        NotificationEvent::Started { subject, .. } => {
            vec![notified_row_key(subject)]
        }
        // And the run keeps how the last one ended.
        NotificationEvent::Ended { subject, .. } => match subject {
            NotificationSubject::Decision { run, .. } => {
                vec![notified_row_key(subject), Key::Run(*run)]
            }
            NotificationSubject::Invocation { .. } => vec![notified_row_key(subject)],
        },
    }
}

/// The row that knows how far a notification came.
fn notified_row_key(subject: &NotificationSubject) -> Key {
    match subject {
        NotificationSubject::Decision { id, .. } => Key::Decision(*id),
        NotificationSubject::Invocation { run, .. } => Key::Run(*run),
    }
}

/// The row that counts this node among its children: its parent, or the run.
fn parent_key(run: RunId, node: &Node) -> Key {
    node.parent()
        .map_or(Key::Run(run), |parent| Key::Item(run, parent))
}

fn memory_keys(memory: &Memory) -> Vec<Key> {
    let mut keys: Vec<Key> = memory.id.iter().cloned().map(Key::Memory).collect();
    if memory.kind == MemoryKind::Guardrail {
        let title = memory.title.clone();
        keys.extend(title.map(|title| Key::Name(Space::Sign, title)));
    }
    let external = memory.external_id.clone();
    keys.extend(external.map(|id| Key::Name(Space::External, id)));
    keys
}

fn keys_of_item_move(moved: &ItemMoved) -> Vec<Key> {
    let mut keys = vec![Key::Item(moved.run, moved.node.clone())];
    let counted = moved.from.is_finished() != moved.to.is_finished();
    if counted {
        keys.push(parent_key(moved.run, &moved.node));
    }
    if moved.task && (!counted || moved.node.parent().is_some()) {
        keys.push(Key::Run(moved.run));
    }
    keys
}

/// What `event` makes of the row of `key`; none takes the row out.
///
/// An event about a row that is not there changes nothing.
#[must_use]
pub fn apply_event(
    key: &Key,
    before: Option<Row>,
    event: &Event,
    stamp: &EventStamp,
) -> Option<Row> {
    match key {
        Key::Run(_) => run_row(before, event, stamp).map(|row| Row::Run(Box::new(row))),
        Key::Item(_, node) => {
            item_row(node, before, event, stamp).map(|row| Row::Item(Box::new(row)))
        }
        Key::Attempt(_) => attempt_row(before, event, stamp).map(|row| Row::Attempt(Box::new(row))),
        Key::Decision(_) => {
            decision_row(before, event, stamp).map(|row| Row::Decision(Box::new(row)))
        }
        Key::Entry(_) => entry_row(before, event, stamp).map(|row| Row::Entry(Box::new(row))),
        Key::Blocker(spec, task_id) => {
            let row = if matches!(event, Event::Session(SessionEvent::EntryRevised { .. })) {
                revise_blocker_row(spec.as_deref(), task_id.as_deref(), before, event, stamp)
            } else {
                blocker_row(before, event, stamp)
            };
            row.map(|row| Row::Blocker(Box::new(row)))
        }
        Key::Memory(_) => memory_row(before, event, stamp).map(|row| Row::Memory(Box::new(row))),
        Key::Name(space, name) => {
            name_row(before, *space, name, event, stamp).map(|row| Row::Name(Box::new(row)))
        }
        Key::Face(_) => native_file_row(event, stamp).map(|row| Row::Face(Box::new(row))),
    }
}

fn name_row(
    before: Option<Row>,
    space: Space,
    name: &str,
    event: &Event,
    stamp: &EventStamp,
) -> Option<NameRow> {
    let of = if let Event::Attempt(AttemptEvent::Started { attempt, .. }) = event {
        NamedRow::Attempt(*attempt)
    } else if let Event::Attempt(AttemptEvent::Reported(told)) = event {
        NamedRow::Attempt(told.attempt)
    } else if let Event::Session(SessionEvent::EntryLogged(_)) = event {
        NamedRow::Entry(stamp.position)
    } else if let Event::Memory(MemoryEvent::Added(memory) | MemoryEvent::Revised(memory)) = event {
        NamedRow::Memory(memory.id.clone()?)
    } else {
        let Some(Row::Name(row)) = before else {
            return None;
        };
        return Some(*row);
    };
    Some(NameRow {
        space,
        name: name.to_owned(),
        of,
    })
}

fn native_file_row(event: &Event, stamp: &EventStamp) -> Option<NativeFileRow> {
    let Event::File(FileEvent::FaceTurned { path, face, on }) = event else {
        return None;
    };
    Some(NativeFileRow {
        path: path.clone(),
        face: face.clone(),
        on: *on,
        since: stamp.time,
    })
}
