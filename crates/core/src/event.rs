//! Events: what has happened. Past tense, immutable, the only truth.
//!
//! An event carries all that the read tables need to know of it; see
//! [`crate::views`]. Its stored form is described byte by byte in
//! `docs/formats/journal.md`. A field is only ever added, with a default.

mod attempt;
mod decision;
mod edited;
mod file;
mod item;
mod memory;
mod notification;
mod run;
mod session;
mod subject;
mod texts;
mod unit;

use serde::Serialize;
use serde_json::Value;

use self::texts::TextVisitor;
use crate::item::ItemState;

pub use attempt::AttemptEvent;
pub use decision::DecisionEvent;
pub use edited::{ItemChange, ItemChanged, ItemsPlaced, RunChanged};
pub use file::FileEvent;
pub use item::{ItemEvent, ItemMoved, ItemPlanned};
pub use memory::MemoryEvent;
pub use notification::NotificationEvent;
pub use run::{RunEvent, RunPlanned};
pub use session::{BlockedBefore, SessionEvent};
pub(crate) use texts::EventText;
pub use unit::UnitEvent;

/// Declares [`Event`]: the events of each subject.
macro_rules! subjects {
    ($($(#[$doc:meta])* $subject:ident($events:ident),)*) => {
        /// Something that has happened, by what it is about.
        #[derive(Clone, Debug, PartialEq, Serialize)]
        #[serde(untagged)]
        pub enum Event {
            $($(#[$doc])* $subject($events),)*
        }

        $(
            impl From<$events> for Event {
                fn from(event: $events) -> Self {
                    Self::$subject(event)
                }
            }
        )*

        impl Event {
            /// The kind, as stored.
            #[must_use]
            pub fn kind(&self) -> &'static str {
                match self {
                    $(Self::$subject(event) => event.kind(),)*
                }
            }

            /// Hands over every text of the event, to be changed in place.
            pub(crate) fn visit_texts_mut(&mut self, each: TextVisitor<'_>) {
                match self {
                    $(Self::$subject(event) => event.visit_texts_mut(each),)*
                }
            }

            /// The event of this kind with this body; none of a kind that is not known.
            ///
            /// # Errors
            ///
            /// When the body has not the shape of its kind.
            pub(crate) fn decode(
                kind: &str,
                body: Value,
            ) -> Result<Option<Self>, serde_json::Error> {
                let whole = serde_json::json!({ "kind": kind, "body": body });
                $(
                    if $events::KINDS.contains(&kind) {
                        return serde_json::from_value(whole).map(|it| Some(Self::$subject(it)));
                    }
                )*
                Ok(None)
            }
        }
    };
}

subjects! {
    /// A run as a whole.
    Run(RunEvent),
    /// An item of a plan.
    Item(ItemEvent),
    /// A unit: an item that has a lane, with all below it.
    Unit(UnitEvent),
    /// An attempt.
    Attempt(AttemptEvent),
    /// A question that a person is asked.
    Decision(DecisionEvent),
    /// What is remembered.
    Memory(MemoryEvent),
    /// What is logged of a session.
    Session(SessionEvent),
    /// A native file.
    File(FileEvent),
    /// A notification of people.
    Notification(NotificationEvent),
}

impl Event {
    /// The version of the body's shape; it grows when a body changes so that
    /// an older program would misread it.
    #[must_use]
    pub fn body_version(&self) -> u32 {
        1
    }

    /// Whether it is kept what was checked out when it happened: where it is
    /// about work, or about what the files of a project show.
    #[must_use]
    pub fn has_checkout(&self) -> bool {
        match self {
            Self::Run(event) => matches!(event, RunEvent::Planned(_)),
            Self::Item(event) => match event {
                ItemEvent::Moved(_) => true,
                // What came done with its plan was done on what was checked out then.
                ItemEvent::Planned(planned) => planned.item.state == ItemState::Done,
                ItemEvent::Claimed { .. }
                | ItemEvent::GateStarted { .. }
                | ItemEvent::GateEnded { .. }
                | ItemEvent::CommitStarted { .. }
                | ItemEvent::CommitEnded { .. }
                | ItemEvent::Staged { .. }
                | ItemEvent::SkipAsked { .. }
                | ItemEvent::Changed(_)
                | ItemEvent::Placed(_)
                | ItemEvent::Reviewed { .. } => false,
            },
            Self::Attempt(event) => match event {
                AttemptEvent::Started { .. }
                | AttemptEvent::Ended { .. }
                | AttemptEvent::Reported(_)
                | AttemptEvent::Revised(_) => true,
                AttemptEvent::Judged { .. } | AttemptEvent::Answered { .. } => false,
            },
            Self::Memory(event) => match event {
                MemoryEvent::Added(_) | MemoryEvent::Revised(_) | MemoryEvent::Retired { .. } => {
                    true
                }
                MemoryEvent::Confirmed { .. }
                | MemoryEvent::Endorsed { .. }
                | MemoryEvent::Reworded { .. }
                | MemoryEvent::Used { .. }
                | MemoryEvent::Judged { .. } => false,
            },
            Self::Session(event) => match event {
                SessionEvent::EntryLogged(_) | SessionEvent::EntryRevised { .. } => true,
                SessionEvent::BlockerResolved { .. } | SessionEvent::CallNoted(_) => false,
            },
            Self::Unit(_) | Self::Decision(_) | Self::File(_) | Self::Notification(_) => false,
        }
    }
}
