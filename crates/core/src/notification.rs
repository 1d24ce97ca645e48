//! What a person should know of what happened: what is due for the command of
//! `[notify]`, and how far each notification came.
//!
//! A notification is about a decision or about the end of an invocation, and its id
//! is made of that. It is started and ended in the journal; what was started and not
//! ended was cut short, and is sent again. How it is sent: `docs/design/0032-notify.md`.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::decision::{DecisionKind, DecisionRow};
use crate::id::{DecisionId, Node, RunId};
use crate::run::{Pause, RunRow, RunState};
use crate::tables::Tables;

/// What sort of thing a person should know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NotificationKind {
    /// Something waits in the inbox.
    Question,
    /// An item failed for good.
    Block,
    /// An invocation is over.
    End,
    /// It is over because a limit was reached.
    Limit,
    /// It is over because a budget is used up.
    Budget,
}

impl NotificationKind {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Question,
        Self::Block,
        Self::End,
        Self::Limit,
        Self::Budget,
    ];

    /// Whether it is about the end of an invocation.
    #[must_use]
    pub fn is_about_end(self) -> bool {
        match self {
            Self::Question | Self::Block => false,
            Self::End | Self::Limit | Self::Budget => true,
        }
    }
}

/// What a notification is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NotificationSubject {
    /// A decision that was opened.
    Decision {
        /// Its run.
        run: RunId,
        /// The decision.
        id: DecisionId,
    },
    /// An invocation that is over.
    Invocation {
        /// Its run.
        run: RunId,
        /// Which one of the run, from 1.
        number: u32,
    },
}

impl NotificationSubject {
    /// The run whose stream has its notification, and whose row how that ended.
    #[must_use]
    pub fn run(&self) -> RunId {
        match self {
            Self::Decision { run, .. } | Self::Invocation { run, .. } => *run,
        }
    }

    /// The id of the notification: the same however often it is sent.
    #[must_use]
    pub fn id(&self) -> String {
        match self {
            Self::Decision { id, .. } => id.to_string(),
            Self::Invocation { run, number } => format!("{run}/{number}"),
        }
    }
}

/// How far a notification came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NotificationStage {
    /// The command was about to be started.
    Started,
    /// The command ended, well or not.
    Ended,
}

/// An invocation that is over, as it left its run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndedInvocation {
    /// Which one of the run, from 1.
    pub number: u32,
    /// How it left the run.
    pub state: RunState,
    /// Why the run is paused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pause: Option<Pause>,
    /// The node that the state is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Node>,
    /// Why, in one line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// When that is known.
    pub ended_at: Timestamp,
    /// A notification of it was started.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_started: bool,
}

impl EndedInvocation {
    /// The end of the present invocation of a run, whose last runner is gone.
    pub(crate) fn from_run(row: &RunRow, ended_at: Timestamp) -> Self {
        let is_cut_short = row.state == RunState::Running;
        let reason = is_cut_short.then(|| "its runner is gone".to_owned());
        Self {
            number: row.invocation.invocations,
            state: match is_cut_short {
                true => RunState::Interrupted,
                false => row.state,
            },
            pause: row.pause.clone(),
            at: row.at.clone(),
            reason: reason.or_else(|| row.reason.clone()),
            ended_at,
            is_started: false,
        }
    }

    /// What sort of end it is.
    #[must_use]
    pub fn notification_kind(&self) -> NotificationKind {
        match &self.pause {
            Some(pause @ Pause::Limit { .. }) if pause.is_budget() => NotificationKind::Budget,
            Some(Pause::Limit { .. }) => NotificationKind::Limit,
            Some(Pause::Person { .. } | Pause::File | Pause::Breakpoint { .. }) | None => {
                NotificationKind::End
            }
        }
    }
}

/// What a run knows of notifications.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunNotifications {
    /// A person wants to know of the end of the present invocation.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub end_wanted: bool,
    /// The ends of which no notification was sent yet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ended: Vec<EndedInvocation>,
    /// How the last one ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<LastNotification>,
}

/// How a notification ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastNotification {
    /// When.
    pub at: Timestamp,
    /// Why its command failed, in one line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

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
    match kind {
        DecisionKind::BlockedNode => NotificationKind::Block,
        DecisionKind::HumanNeeded
        | DecisionKind::Claim
        | DecisionKind::MergeNeeded
        | DecisionKind::Breakpoint
        | DecisionKind::FileConflict
        | DecisionKind::ClaimedItems
        | DecisionKind::AgentEdit
        | DecisionKind::DoubtedMemory
        | DecisionKind::Question
        | DecisionKind::Request
        | DecisionKind::Review
        | DecisionKind::PullRequest
        | DecisionKind::Wait
        | DecisionKind::InHand
        | DecisionKind::Approval
        | DecisionKind::AgentReview => NotificationKind::Question,
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
