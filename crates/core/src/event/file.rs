//! What has happened to a native file.

use super::subject::subject_events;
use super::texts::TextVisitor;

subject_events! {
    /// What has happened to a native file.
    FileEvent {
        /// A native file is a face from now on, or is one no more.
        "face-turned" FaceTurned {
            /// Its path, relative to the project.
            path: String,
            /// The native format.
            face: String,
            /// Whether it is kept up to date.
            on: bool,
        },
    }
}

impl FileEvent {
    /// Hands over every text of the event, to be changed in place.
    pub(super) fn visit_texts_mut(&mut self, _each: TextVisitor<'_>) {
        match self {
            Self::FaceTurned {
                path: _,
                face: _,
                on: _,
            } => {}
        }
    }
}
