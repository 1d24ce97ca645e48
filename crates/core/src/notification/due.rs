//! Which notifications are due, and how the last one ended.

use jiff::Timestamp;

use super::{LastNotification, NotificationKind, NotificationStage, NotificationSubject};
use crate::decision::{DecisionKind, DecisionRow};
use crate::run::RunRow;
use crate::tables::Tables;

/// Why the last notification of all these runs failed, and when; none where it did not.
#[must_use]
pub fn last_failure<'r>(runs: impl Iterator<Item = &'r RunRow>) -> Option<&'r LastNotification> {
    let last = runs.filter_map(|row| row.notifications.as_ref()?.last.as_ref());
    let last = last.max_by_key(|last| last.at)?;
    last.error.as_ref().map(|_| last)
}

/// A notification that is to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DueNotification {
    /// What it is about.
    pub subject: NotificationSubject,
    /// What sort of thing that is.
    pub kind: NotificationKind,
    /// When it happened.
    pub since: Timestamp,
    /// It was started before and cut short.
    pub again: bool,
}

/// What sort of thing a person should know of an open decision.
#[must_use]
pub fn notification_kind_of_decision(kind: DecisionKind) -> NotificationKind {
    if kind == DecisionKind::BlockedNode {
        NotificationKind::Block
    } else {
        NotificationKind::Question
    }
}

/// Whether a decision is still to be notified of: it is open, not put off, and
/// no notification of it was sent. What was answered meanwhile is no news, nor is an
/// item that a person has in hand: that person said so.
fn is_due(row: &DecisionRow) -> bool {
    let is_open = row.verdict.is_none() && row.deferred.is_none();
    let is_asked = is_open && row.kind != DecisionKind::InHand;
    is_asked && row.notification != Some(NotificationStage::Ended)
}

/// What is to be sent of these kinds, the oldest first. A store hands over every run
/// and every open decision for it.
#[must_use]
pub fn due_notifications(tables: &Tables, wanted: &[NotificationKind]) -> Vec<DueNotification> {
    let decisions = tables.decisions().filter(|row| is_due(row));
    let decisions = decisions.map(|row| DueNotification {
        subject: NotificationSubject::Decision {
            run: row.run,
            id: row.id,
        },
        kind: notification_kind_of_decision(row.kind),
        since: row.opened_at,
        again: row.notification == Some(NotificationStage::Started),
    });
    let ends = tables.runs().flat_map(|row| {
        let ended = row.notifications.iter().flat_map(|known| &known.ended);
        ended.map(|end| DueNotification {
            subject: NotificationSubject::Invocation {
                run: row.id,
                number: end.number,
            },
            kind: end.notification_kind(),
            since: end.ended_at,
            again: end.is_started,
        })
    });
    let mut due: Vec<DueNotification> = decisions.chain(ends).collect();
    due.retain(|due| wanted.contains(&due.kind));
    due.sort_by_key(|due| due.since);
    due
}

/// Whether the notification of a subject was started and has not ended.
pub(crate) fn is_notification_started(tables: &Tables, subject: &NotificationSubject) -> bool {
    match subject {
        NotificationSubject::Decision { id, .. } => {
            let row = tables.decision(*id);
            row.is_some_and(|row| row.notification == Some(NotificationStage::Started))
        }
        NotificationSubject::Invocation { run, number } => {
            let known = tables.run(*run).and_then(|row| row.notifications.as_ref());
            let mut ended = known.iter().flat_map(|known| &known.ended);
            ended.any(|end| end.number == *number && end.is_started)
        }
    }
}
