//! Notifications: each is started before its command is, and ended after.

use super::event_buffer::EventBuffer;
use super::imported_attempts::ensure_project_run;
use crate::event::NotificationEvent;
use crate::id::RunId;
use crate::notification::{
    NotificationKind, NotificationSubject, due_notifications, is_notification_started,
};

/// Notes the intent. A notification that was sent already, or whose question was
/// answered meanwhile, is not started: the caller sees that from the events.
pub(super) fn start_notification(story: &mut EventBuffer<'_>, subject: &NotificationSubject) {
    let mut due = due_notifications(&story.tables, &NotificationKind::ALL).into_iter();
    if let Some(due) = due.find(|due| due.subject == *subject) {
        story.append(NotificationEvent::Started {
            subject: subject.clone(),
            again: due.again,
        });
    }
}

/// Notes how the command ended, once.
pub(super) fn end_notification(
    story: &mut EventBuffer<'_>,
    subject: &NotificationSubject,
    error: Option<&str>,
) {
    if !is_notification_started(&story.tables, subject) {
        return;
    }
    if subject.run() == RunId::PROJECT {
        // Its row keeps how it ended.
        ensure_project_run(story);
    }
    story.append(NotificationEvent::Ended {
        subject: subject.clone(),
        error: error.map(str::to_owned),
    });
}
