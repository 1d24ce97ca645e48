//! An observation: what an agent noticed during an attempt.

use serde::{Deserialize, Serialize};

use crate::word::words;

words! {
    /// What kind of observation it is.
    ObservationKind {
        /// Work cannot go on.
        Blocker = "blocker",
        /// Something was noticed.
        Finding = "finding",
        /// It was done already.
        Completion = "completion",
    }
}

words! {
    /// What an observation is about: the eleven categories of seed 000.
    ObservationCategory {
        /// A defect.
        Bug = "bug",
        /// Something that is only there in name.
        Stub = "stub",
        /// Something that is needed from elsewhere.
        Dependency = "dependency",
        /// More than was asked for.
        ScopeCreep = "scope-creep",
        /// An interface that behaves unexpectedly.
        ApiIssue = "api-issue",
        /// A test that fails.
        TestFailure = "test-failure",
        /// Tools that are in the way.
        ToolingFriction = "tooling-friction",
        /// How the parts are arranged.
        Architecture = "architecture",
        /// What is written about it.
        Documentation = "documentation",
        /// How fast it is.
        Performance = "performance",
        /// How safe it is.
        Security = "security",
    }
}

words! {
    /// How bad it is.
    Severity {
        /// Nothing else matters.
        Critical = "critical",
        /// It must be seen to.
        High = "high",
        /// It should be seen to.
        Medium = "medium",
        /// It may be seen to.
        Low = "low",
        /// Good to know.
        Info = "info",
    }
}

words! {
    /// What was done about it.
    ActionTaken {
        /// It is mended.
        Fixed = "fixed",
        /// It is put off.
        Deferred = "deferred",
        /// A person was told.
        Escalated = "escalated",
        /// It was written down.
        Documented = "documented",
        /// Nothing.
        None = "none",
    }
}

/// What an agent noticed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Observation {
    /// What kind it is.
    #[serde(rename = "type")]
    pub kind: ObservationKind,
    /// In a few words.
    pub title: String,
    /// In more words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The file it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// What it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub category: Option<ObservationCategory>,
    /// How bad it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub severity: Option<Severity>,
    /// What was done about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action_taken: Option<ActionTaken>,
    /// The learning that came of it, by its id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub related_learning_id: Option<String>,
}

impl Observation {
    /// An observation that says nothing but what it is.
    #[must_use]
    pub fn bare(kind: ObservationKind, title: impl Into<String>) -> Self {
        Self {
            kind,
            title: title.into(),
            description: None,
            file: None,
            category: None,
            severity: None,
            action_taken: None,
            related_learning_id: None,
        }
    }
}
