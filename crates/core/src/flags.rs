//! What a person typed for `piton run`, kept for the next invocation of the run.
//!
//! Opaque to the rules: what holds in an invocation stands in its limits and
//! claims. Which flags are kept, and what wins: `docs/design/0019-control.md`.

use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};

use crate::policy::Limits;

/// The flags of a run that its next invocation takes over.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct RunFlags {
    /// The agent: a name, or a shell command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The model for items whose plan names none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What says that the agent's work is done, by the name of the flag's value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<String>,
    /// The folder of the workflows, relative to the project where it lies in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workflows: Option<String>,
    /// How many items are worked on at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workers: Option<NonZeroU32>,
    /// Settings of the plan that are passed over.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ignore: Vec<String>,
    /// The limits, without those of the plan and the configuration.
    #[serde(default, skip_serializing_if = "is_unlimited")]
    pub limits: Limits,
}

impl RunFlags {
    /// Whether no flag was given.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// These flags, each replaced by that of `given` where it has one.
    ///
    /// `ignore` is a list that grows. A model and a verdict belong to an agent,
    /// and are dropped where `given` names another one.
    #[must_use]
    pub fn with_overrides(&self, given: &Self) -> Self {
        let is_same_agent = given.agent.is_none() || given.agent == self.agent;
        let of_agent = |own: &Option<String>| own.clone().filter(|_| is_same_agent);
        let mut ignore = self.ignore.clone();
        for key in &given.ignore {
            if !ignore.contains(key) {
                ignore.push(key.clone());
            }
        }
        Self {
            agent: given.agent.clone().or_else(|| self.agent.clone()),
            model: given.model.clone().or_else(|| of_agent(&self.model)),
            verdict: given.verdict.clone().or_else(|| of_agent(&self.verdict)),
            workflows: given.workflows.clone().or_else(|| self.workflows.clone()),
            workers: given.workers.or(self.workers),
            ignore,
            limits: self.limits.with_overrides(&given.limits),
        }
    }
}

fn is_unlimited(limits: &Limits) -> bool {
    *limits == Limits::default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flags(agent: &str, model: &str) -> RunFlags {
        RunFlags {
            agent: Some(agent.to_owned()),
            model: Some(model.to_owned()),
            verdict: Some("exit-status".to_owned()),
            ignore: vec!["worktree".to_owned()],
            ..RunFlags::default()
        }
    }

    #[test]
    fn a_flag_that_is_not_given_is_that_of_before() {
        let before = flags("claude", "opus");
        assert_eq!(before.with_overrides(&RunFlags::default()), before);
    }

    #[test]
    fn a_model_and_a_verdict_are_not_carried_over_to_another_agent() {
        let given = RunFlags {
            agent: Some("codex".to_owned()),
            ..RunFlags::default()
        };
        let now = flags("claude", "opus").with_overrides(&given);
        assert_eq!((now.model, now.verdict), (None, None));
        assert_eq!(now.agent.as_deref(), Some("codex"));
    }

    #[test]
    fn what_is_ignored_adds_up_and_a_limit_given_now_wins() {
        let mut before = flags("claude", "opus");
        before.limits.iterations_max = Some(5);
        before.limits.time_box_s = Some(60);
        let mut given = RunFlags {
            ignore: vec!["orchestration".to_owned(), "worktree".to_owned()],
            ..RunFlags::default()
        };
        given.limits.iterations_max = Some(9);
        let now = before.with_overrides(&given);
        assert_eq!(now.ignore, ["worktree", "orchestration"]);
        assert_eq!(now.limits.iterations_max, Some(9));
        assert_eq!(now.limits.time_box_s, Some(60));
    }
}
