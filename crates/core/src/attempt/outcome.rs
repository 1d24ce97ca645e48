//! How an attempt ended.

use serde::{Deserialize, Serialize};

/// How an attempt ended. Each attempt has exactly one outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// The agent says that it is done.
    Completed,
    /// It failed.
    Failed,
    /// The agent claims that it cannot be done.
    Blocked,
    /// Some of it was done.
    Partial,
    /// A person is needed.
    NeedsHuman,
    /// It was ended from outside, or how it ended is not known.
    Interrupted,
}

impl Outcome {
    /// The name, as stored and shown.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Blocked => "blocked",
            Self::Partial => "partial",
            Self::NeedsHuman => "needs-human",
            Self::Interrupted => "interrupted",
        }
    }
}

/// What a person is needed for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HumanNeeded {
    /// The question or the reason, in one line.
    pub reason: String,
    /// More, if there is more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<String>,
}
