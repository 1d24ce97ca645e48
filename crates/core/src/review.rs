//! Review by an agent: what is made of an item is seen by another agent before it
//! is committed, or counts as done.
//!
//! The rule: what is committed was seen as it is by a reviewer who approved it, or a
//! person did. Whatever an agent does at the item after an approval takes that back;
//! what piton alone did (a merge without a conflict, a commit) does not. See
//! `docs/design/0031-issue-graphs.md`.

use serde::{Deserialize, Serialize};

use crate::amount::is_zero;
use crate::id::Node;
use crate::word::words;

/// So many times in a row a reviewer may give no verdict; then a person decides.
pub const NO_VERDICT_MAX: u32 = 2;

/// That what is made of the items of a run is reviewed by an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReviewPolicy {
    /// How often an item goes back because its reviewer wants changes; then a person
    /// is asked.
    pub rounds_max: u32,
    /// The items that are not reviewed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub except: Vec<Node>,
}

words! {
    /// What a reviewer says of the work on an item.
    ReviewVerdict {
        /// It is good as it is.
        Approve = "approve",
        /// It is to be otherwise.
        RequestChanges = "request-changes",
    }
}

/// Something that a reviewer saw.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReviewObservation {
    /// The file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The line, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// How bad it is, in the reviewer's word: `error`, `warning`, `info`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub severity: Option<String>,
    /// What it is.
    pub message: String,
}

/// What a reviewer says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentReview {
    /// Whether it is good.
    pub verdict: ReviewVerdict,
    /// In a sentence or two.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// What it saw.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub observations: Vec<ReviewObservation>,
}

impl AgentReview {
    /// What it says, for the agent that changes the work: the summary, and a line for each
    /// observation. None where it says nothing beside its verdict.
    #[must_use]
    pub fn describe_review(&self) -> Option<String> {
        let summary = self.summary.as_deref().map(str::trim);
        let summary = summary.filter(|text| !text.is_empty()).map(str::to_owned);
        let lines = self.observations.iter().map(|seen| {
            let place = match (&seen.file, seen.line) {
                (Some(file), Some(line)) => format!("{file}:{line}: "),
                (Some(file), None) => format!("{file}: "),
                (None, _) => String::new(),
            };
            let severity = seen.severity.as_deref();
            let severity = severity.map_or_else(String::new, |word| format!("[{word}] "));
            format!("- {severity}{place}{}", seen.message.trim())
        });
        let texts: Vec<String> = summary.into_iter().chain(lines).collect();
        (!texts.is_empty()).then(|| texts.join("\n"))
    }
}

/// What is known of the reviews of an item.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReviewRow {
    /// Who approved what is there now; none while it is not approved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approved_by: Option<String>,
    /// How often a reviewer wanted changes since a person looked last.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub rounds: u32,
    /// How often a reviewer wanted changes in all.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub changes_wanted: u32,
    /// How often in a row a reviewer gave no verdict that counts.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub without_verdict: u32,
    /// Why the last answer of a reviewer was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn observations_are_told_with_their_places() {
        let review = AgentReview {
            verdict: ReviewVerdict::RequestChanges,
            summary: Some(" two things ".to_owned()),
            observations: vec![
                ReviewObservation {
                    file: Some("a.rs".to_owned()),
                    line: Some(7),
                    severity: Some("error".to_owned()),
                    message: "no bound".to_owned(),
                },
                ReviewObservation {
                    message: "no test".to_owned(),
                    ..ReviewObservation::default()
                },
            ],
        };
        let words = review.describe_review();
        assert_eq!(
            words.as_deref(),
            Some("two things\n- [error] a.rs:7: no bound\n- no test")
        );
    }
}
