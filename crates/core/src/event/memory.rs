//! What has happened to what is remembered.

use super::subject::subject_events;
use super::texts::{TextVisitor, visit_memory, visit_option};
use crate::id::AttemptId;
use crate::memory::{Memory, MemorySource};

subject_events! {
    /// What has happened to what is remembered.
    MemoryEvent {
        /// Something worth knowing was kept; its id is given.
        "memory-added" Added(Box<Memory>),
        /// Something that is remembered says something else now.
        "memory-revised" Revised(Box<Memory>),
        /// Something that is remembered is no longer to be followed.
        "memory-retired" Retired {
            /// Its id.
            id: String,
            /// Why.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            why: Option<String>,
            /// What takes its place, by its id.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            superseded_by: Option<String>,
        },
        /// What is remembered was learned once more.
        "memory-confirmed" Confirmed {
            /// Its id.
            id: String,
            /// Where.
            source: MemorySource,
        },
        /// A person wants that these are followed, as they stand now.
        "memory-endorsed" Endorsed {
            /// Their ids.
            ids: Vec<String>,
        },
        /// The words of something that is remembered were changed in a file, and not by
        /// a person here: an endorsement before was one of other words.
        "memory-reworded" Reworded {
            /// Its id.
            id: String,
            /// The file, relative to the project.
            file: String,
        },
        /// An attempt starts whose prompt carries these.
        "memory-used" Used {
            /// Their ids.
            ids: Vec<String>,
            /// The attempt.
            attempt: AttemptId,
        },
        /// What came of an item whose last prompt carried these.
        "memory-judged" Judged {
            /// Their ids.
            ids: Vec<String>,
            /// Whether the item was done; it failed otherwise.
            helped: bool,
        },
    }
}

impl MemoryEvent {
    /// Hands over every text of the event, to be changed in place.
    pub(super) fn visit_texts_mut(&mut self, each: TextVisitor<'_>) {
        match self {
            Self::Added(memory) | Self::Revised(memory) => visit_memory(memory, each),
            Self::Retired {
                id: _,
                why,
                superseded_by: _,
            } => visit_option(why, each),
            Self::Confirmed { id: _, source: _ }
            | Self::Endorsed { ids: _ }
            | Self::Reworded { id: _, file: _ }
            | Self::Used { ids: _, attempt: _ }
            | Self::Judged { ids: _, helped: _ } => {}
        }
    }
}
