//! Notifications: each is started before its command is, and ended after.

use super::recording::own_run;
use super::story::Story;
use crate::event::Event;
use crate::id::RunId;
use crate::notification::{NotificationKind, NotificationSubject, due_notifications, is_started};

/// Notes the intent. What was answered meanwhile, or is notified of already, is not
/// started: whoever asked sees that from what came of it.
pub(super) fn start(story: &mut Story<'_>, subject: &NotificationSubject) {
    let mut due = due_notifications(&story.tables, &NotificationKind::ALL).into_iter();
    if let Some(due) = due.find(|due| due.subject == *subject) {
        story.tell(Event::NotificationStarted {
            subject: subject.clone(),
            again: due.again,
        });
    }
}

/// Notes how the command ended, once.
pub(super) fn end(story: &mut Story<'_>, subject: &NotificationSubject, error: Option<&str>) {
    if !is_started(&story.tables, subject) {
        return;
    }
    if subject.run() == RunId::PROJECT {
        // Its row keeps how it ended.
        own_run(story);
    }
    story.tell(Event::NotificationEnded {
        subject: subject.clone(),
        error: error.map(str::to_owned),
    });
}
