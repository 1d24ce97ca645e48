//! What was logged of a session.

use serde::{Deserialize, Serialize};

use super::subject::subject_events;
use super::texts::{EventText, TextVisitor, visit_call, visit_entry};
use crate::call::SessionCall;
use crate::entry::Entry;

subject_events! {
    /// What was logged of a session.
    SessionEvent {
        /// A session event was logged.
        "entry-logged" EntryLogged(Box<Entry>),
        /// An entry was changed in a file; it is known by its name.
        "entry-revised" EntryRevised {
            /// Its position in the stream of the sessions.
            position: u64,
            /// What it says now.
            entry: Box<Entry>,
            /// What it blocked until then, where it blocks something else now, or
            /// nothing.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            blocked_before: Option<BlockedBefore>,
        },
        /// A blocked task can go on.
        "blocker-resolved" BlockerResolved {
            /// Its spec.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            spec: Option<String>,
            /// The task.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            task_id: Option<String>,
            /// How that came about.
            resolution: String,
        },
        /// An agent called a tool in a session that piton did not start.
        "call-noted" CallNoted(Box<SessionCall>),
    }
}

impl SessionEvent {
    /// Hands over every text of the event, to be changed in place.
    pub(super) fn visit_texts_mut(&mut self, each: TextVisitor<'_>) {
        match self {
            Self::EntryLogged(entry) => visit_entry(entry, each),
            Self::EntryRevised {
                position: _,
                entry,
                // Names, as in `BlockerResolved`.
                blocked_before: _,
            } => visit_entry(entry, each),
            Self::BlockerResolved {
                spec: _,
                task_id: _,
                resolution,
            } => each(EventText::Free(resolution)),
            Self::CallNoted(noted) => {
                let SessionCall {
                    session: _,
                    item: _,
                    call,
                } = &mut **noted;
                visit_call(call, each);
            }
        }
    }
}

/// What an entry blocked before it was revised.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BlockedBefore {
    /// It was no blocker.
    Nothing,
    /// This task.
    Task {
        /// Its spec.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        spec: Option<String>,
        /// Its id.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task_id: Option<String>,
    },
}
