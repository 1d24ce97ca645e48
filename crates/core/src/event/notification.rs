//! What has happened to a notification of people.

use super::subject::subject_events;
use super::texts::{TextVisitor, visit_option};
use crate::notification::NotificationSubject;

subject_events! {
    /// What has happened to a notification of people.
    NotificationEvent {
        /// The command of `[notify]` is about to be started: an intent.
        "notification-started" Started {
            /// What a person is notified of.
            subject: NotificationSubject,
            /// It was started before and cut short.
            #[serde(default, skip_serializing_if = "std::ops::Not::not")]
            again: bool,
        },
        /// That command ended: the one outcome of its intent.
        "notification-ended" Ended {
            /// What a person was notified of.
            subject: NotificationSubject,
            /// Why the command failed.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            error: Option<String>,
        },
    }
}

impl NotificationEvent {
    /// Hands over every text of the event, to be changed in place.
    pub(super) fn visit_texts_mut(&mut self, each: TextVisitor<'_>) {
        match self {
            Self::Started {
                subject: _,
                again: _,
            } => {}
            Self::Ended { subject: _, error } => visit_option(error, each),
        }
    }
}
