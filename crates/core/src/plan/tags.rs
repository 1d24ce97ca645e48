//! What people sort the items of a plan by.

use serde::{Deserialize, Serialize};

/// What people sort the items of a plan by. No agent is told of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ItemTags {
    /// Words by which it is listed, each once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
    /// Which comes first of those that are ready: the least, from 1. One without comes
    /// behind all that have one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<u32>,
}

impl ItemTags {
    /// Whether nothing is said.
    #[must_use]
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Where it stands among others: the least comes first.
    #[must_use]
    pub fn rank(&self) -> u32 {
        self.priority.unwrap_or(u32::MAX)
    }
}
