//! What a person should know of what happened: what is due for the command of
//! `[notify]`, and how far each notification came.
//!
//! A notification is about a decision or about the end of an invocation, and its id
//! is made of that. It is started and ended in the journal; what was started and not
//! ended was cut short, and is sent again. How it is sent: `docs/design/0032-notify.md`.

mod due;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::id::{DecisionId, Node, RunId};
use crate::run::state::{Pause, RunState};

pub(crate) use due::is_notification_started;
pub use due::{DueNotification, due_notifications, last_failure, notification_kind_of_decision};

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
