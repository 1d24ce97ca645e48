//! What the policy of a plan asks for at one item.

use super::Policy;
use crate::item::ItemRow;
use crate::iteration_hook::IterationHook;

impl Policy {
    /// Whether what is made of an item is reviewed by an agent. What a person approves
    /// needs no agent who does, and what only holds others was reviewed with those.
    #[must_use]
    pub fn is_reviewed(&self, item: &ItemRow) -> bool {
        let review = self.review.as_ref();
        let review = review.filter(|_| item.is_leaf() && !item.plan.approval);
        review.is_some_and(|review| !review.except.contains(&item.node))
    }

    /// Whether what is there of a reviewed item still lacks an approval.
    #[must_use]
    pub fn is_awaiting_review(&self, item: &ItemRow) -> bool {
        let review = item.proof.review.as_ref();
        let is_approved = review.is_some_and(|review| review.approved_by.is_some());
        self.is_reviewed(item) && !is_approved
    }

    /// The hook that is next at an item: the first that has not run there since
    /// its work was done.
    #[must_use]
    pub fn next_hook(&self, item: &ItemRow) -> Option<&IterationHook> {
        let has_run = |hook: &&IterationHook| {
            let mut runs = item.work.hook_runs.iter();
            runs.any(|run| run.id == hook.id && run.end.is_some())
        };
        self.iteration_hooks.iter().find(|hook| !has_run(hook))
    }
}
