//! What an item waits for before it begins: a time, a command that says yes, or both.
//!
//! It waits once, as the plan says; what was begun waits no more. See
//! `docs/design/0033-waits.md`.

use std::fmt;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::amount::format_duration_flag;
use crate::id::Node;

/// How often a command is asked where the plan does not say.
pub const EVERY_S: u64 = 60;

/// What an item waits for before it begins.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wait {
    /// It begins when this command ends with 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// So long after an answer the command is asked again; [`EVERY_S`] where the
    /// plan does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every_s: Option<u64>,
    /// It begins at this time; with a command, a person is asked then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
}

impl Wait {
    /// How long after an answer the command is asked again.
    #[must_use]
    pub fn ask_interval(&self) -> SignedDuration {
        let seconds = self.every_s.unwrap_or(EVERY_S).max(1);
        SignedDuration::from_secs(i64::try_from(seconds).unwrap_or(i64::MAX / 4))
    }
}

/// What ends it, in a few words.
impl fmt::Display for Wait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(command) = &self.command {
            let every = format_duration_flag(self.every_s.unwrap_or(EVERY_S).max(1));
            write!(f, "until `{command}` says yes, asked each {every}")?;
        }
        match (&self.command, self.until) {
            (None, Some(until)) => write!(f, "until {}", format_minute(until)),
            (Some(_), Some(until)) => write!(f, ", until {}", format_minute(until)),
            (_, None) => Ok(()),
        }
    }
}

/// A time to the minute, or to the second where it has some.
pub(crate) fn format_minute(time: Timestamp) -> String {
    let form = match time.as_second() % 60 {
        0 => "%Y-%m-%dT%H:%MZ",
        _ => "%Y-%m-%dT%H:%M:%SZ",
    };
    time.strftime(form).to_string()
}

/// How far the wait of an item has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WaitProgress {
    /// Its time came and the command had not said yes, or the command cannot be run;
    /// and a person is asked.
    Late,
    /// A person wants the command asked on, whatever the time.
    AskedOn,
    /// It is over: the time came.
    Time,
    /// It is over: the command said yes.
    Command,
    /// It is over: a person said so.
    Person,
}

impl WaitProgress {
    /// Whether nothing is waited for any more.
    #[must_use]
    pub fn is_over(self) -> bool {
        match self {
            Self::Late | Self::AskedOn => false,
            Self::Time | Self::Command | Self::Person => true,
        }
    }
}

/// One step of the wait of an item.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitStep {
    /// The item.
    pub node: Node,
    /// What it waits for, as the caller that takes the step knows it.
    pub wait: Wait,
    /// What happens.
    pub what: WaitChange,
}

/// What happens to the wait of an item.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum WaitChange {
    /// The item could be started, and begins to wait.
    Begins,
    /// Its time has come.
    TimeCame,
    /// Its command said yes.
    SaidYes,
    /// Its time has come, and its command has said no after that.
    Late {
        /// What the command printed last.
        printed: Option<String>,
    },
    /// Its command cannot be run: it would say nothing else the next time.
    NotRun {
        /// What the shell printed.
        printed: Option<String>,
    },
}

impl WaitChange {
    /// Whether the item can begin by it.
    #[must_use]
    pub fn is_over(&self) -> bool {
        matches!(self, Self::TimeCame | Self::SaidYes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(wait: &str, words: &str) {
        let wait: Wait = serde_json::from_str(wait).expect("a wait");
        assert_eq!(wait.to_string(), words);
    }

    #[test]
    fn what_ends_a_wait_is_said_in_a_few_words() {
        check(
            r#"{"until": "2026-11-26T22:00:00Z"}"#,
            "until 2026-11-26T22:00Z",
        );
        check(
            r#"{"command": "gh pr checks 7"}"#,
            "until `gh pr checks 7` says yes, asked each 60s",
        );
        check(
            r#"{"command": "up", "every_s": 5, "until": "2026-11-26T22:00:30Z"}"#,
            "until `up` says yes, asked each 5s, until 2026-11-26T22:00:30Z",
        );
    }
}
