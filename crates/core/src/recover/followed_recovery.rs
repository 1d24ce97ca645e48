//! What is followed of a recovery, and what an attempt starts from.

use serde::{Deserialize, Serialize};

use super::{Recovery, Rule};
use crate::attempt::RecoveryAction;

/// So often in a row an item goes on by a recovery alone. Then, however good
/// the reasons, the plan's own retries or a person decide: no item is worked on
/// for ever. Ours.
pub const FOLLOWED_MAX: u32 = 3;

/// What the next attempt at an item follows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FollowedRecovery {
    /// What was decided.
    pub action: RecoveryAction,
    /// Which rule said so.
    pub rule: Rule,
    /// What to tell the next attempt.
    pub guidance: String,
    /// What it rests on: ids of memories and attempts, or facts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<String>,
    /// How often in a row the item went on by a recovery, rather than by the
    /// plan's own retries; this one counts.
    #[serde(default)]
    pub times: u32,
}

impl FollowedRecovery {
    /// What is followed of a recovery.
    #[must_use]
    pub fn from_recovery(recovery: &Recovery, times: u32) -> Self {
        Self {
            action: recovery.action,
            rule: recovery.rule,
            guidance: recovery.guidance.clone(),
            evidence: recovery.evidence.clone(),
            times,
        }
    }

    /// Whether it is something that the memory has, to be told to the agent.
    #[must_use]
    pub fn is_from_memory(&self) -> bool {
        self.action == RecoveryAction::Retry && self.rule.is_from_memory()
    }
}

impl Rule {
    /// Whether it rests on something that is remembered.
    #[must_use]
    pub fn is_from_memory(self) -> bool {
        matches!(self, Self::ResolvedBlocker | Self::KnownWorkaround)
    }

    /// Whether a retry by it is worth an attempt of its own, where the plan has
    /// no retry left: the next attempt is told what the last one did not know.
    #[must_use]
    pub fn has_new_guidance(self) -> bool {
        self.is_from_memory() || self == Self::InCircles
    }
}

impl Recovery {
    /// What was considered, a short line each: for the person who is asked. That a
    /// person could be asked, and that nothing is known, needs no line.
    #[must_use]
    pub fn describe_considered(&self) -> Vec<String> {
        let ours = |action| action != RecoveryAction::Manual;
        let not = self.rejected.iter().filter(|no| ours(no.action));
        let not = not.map(|no| format!("not {}: {}", no.action, no.why));
        let but = (self.rule != Rule::NothingKnown)
            .then(|| format!("{}: {}", self.action, self.guidance));
        not.chain(but).collect()
    }
}
