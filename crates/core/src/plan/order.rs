//! In which order the items of a plan are worked on.

use serde::{Deserialize, Serialize};

/// In which order the items of a plan are worked on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// One after another: an item waits for all that stand before it below the
    /// same parent, unless the plan says what it waits for.
    #[default]
    InTurn,
    /// Whatever is ready: an item waits for what the plan says, and for nothing
    /// else.
    Any,
}

impl Order {
    /// That of a plan of this native format, where it was not recorded: only
    /// sprints were worked on in turn.
    #[must_use]
    pub fn from_format(format: &str) -> Self {
        match format {
            "sprint-yaml" => Self::InTurn,
            _ => Self::Any,
        }
    }

    /// Whether it is the one of plans that say nothing.
    #[must_use]
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// How an item stands to its siblings where they are worked on in turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ItemTurn {
    /// What stands behind it does not wait for it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub parallel: bool,
    /// It waits also for what stands before it and is parallel.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub waits_for_parallel: bool,
    /// It waits for something that stands behind it, and holds up no item there.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub gives_way: bool,
}

impl ItemTurn {
    /// Whether what stands behind it waits for it.
    #[must_use]
    pub fn is_blocking(&self, behind: Self) -> bool {
        !self.gives_way && (!self.parallel || behind.waits_for_parallel)
    }

    /// Whether it is that of an item of which the plan says nothing.
    #[must_use]
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}
