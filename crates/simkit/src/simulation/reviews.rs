//! Reviewers of what agents made, and that nothing is committed which none of them and
//! no person approved: apart from what the rules make of it.

use piton_core::event::{AttemptEvent, ItemEvent};
use std::collections::BTreeSet;

use piton_core::evidence::Evidence;
use piton_core::review::{ReviewPolicy, ReviewVerdict};
use piton_core::{Event, ItemRow, ItemState, Node, Role};

use super::sim::Sim;

/// A quarter of the runs is reviewed.
pub(super) fn policy(seed: u32) -> Option<ReviewPolicy> {
    (seed % 4 == 1).then(|| ReviewPolicy {
        rounds_max: seed / 4 % 3,
        except: Vec::new(),
    })
}

impl Sim {
    /// How many verdicts of reviewers there were.
    #[must_use]
    pub fn reviews(&self) -> usize {
        self.count(|event| {
            matches!(
                event,
                Event::Item(ItemEvent::Reviewed {
                    attempt: Some(_),
                    verdict: Some(_),
                    ..
                })
            )
        })
    }

    /// Nothing was committed, and nothing done, that no reviewer and no person approved
    /// since an agent worked at it last.
    pub(super) fn check_agent_reviews(&self) {
        let run = self.world.run_row();
        let is_reviewed = |node: &Node| {
            let item = self.world.tables.item(run.id, node);
            item.is_some_and(|item| run.plan.policy.is_reviewed(item))
        };
        let mut approved: BTreeSet<Node> = BTreeSet::new();
        let mut reviewers = BTreeSet::new();
        for recorded in &self.world.journal {
            match &recorded.event {
                Event::Attempt(AttemptEvent::Started { attempt, role, .. })
                    if *role == Role::Reviewer =>
                {
                    reviewers.insert(*attempt);
                }
                Event::Attempt(AttemptEvent::Ended { attempt, node, .. })
                    if !reviewers.contains(attempt) =>
                {
                    approved.remove(node);
                }
                Event::Item(ItemEvent::Reviewed { node, verdict, .. }) => {
                    match verdict {
                        Some(ReviewVerdict::Approve) => approved.insert(node.clone()),
                        Some(ReviewVerdict::RequestChanges) | None => approved.remove(node),
                    };
                }
                Event::Item(ItemEvent::CommitStarted { node, .. }) if is_reviewed(node) => {
                    assert!(approved.contains(node), "{node} is committed unseen");
                }
                _ => {}
            }
        }
        // It was done before the run began, or a person says so, by command or in the
        // file, whatever the agents had come to by then.
        let is_theirs = |one: &Evidence| {
            matches!(
                one,
                Evidence::TakenOver | Evidence::Decided { .. } | Evidence::Claimed { .. }
            )
        };
        let is_by_others = |item: &ItemRow| item.proof.evidence.iter().any(is_theirs);
        for item in self.world.tables.tree(run.id) {
            let is_done = item.state == ItemState::Done && is_reviewed(&item.node);
            assert!(
                !is_done || approved.contains(&item.node) || is_by_others(item),
                "{} is done unseen: {item:?}",
                item.node
            );
        }
    }
}
