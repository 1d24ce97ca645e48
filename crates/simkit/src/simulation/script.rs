//! What everybody does at which turn, whatever happens around them.

use piton_core::attempt::Report;
use piton_core::classify::FailureCategory;
use piton_core::recover::Recovery;
use piton_core::review::{AgentReview, ReviewObservation, ReviewVerdict};
use piton_core::{Node, Outcome, Role, Verb};

use super::rng::mix;
use crate::world::{RECOVERIES, needs_human, pieces, recovery};

/// It follows from a seed.
#[derive(Clone, Copy)]
pub(super) struct Script(pub(super) u64);

impl Script {
    pub(super) fn number(self, what: &str, node: &Node, turn: usize) -> u64 {
        let bytes = what.bytes().chain(node.as_str().bytes());
        let named = bytes.fold(self.0, |sum, byte| mix(sum ^ u64::from(byte)));
        mix(named ^ turn as u64) % 100
    }

    /// What an agent says at its `turn`th try that came to an end.
    pub(super) fn report(self, node: &Node, role: Role, turn: usize) -> Report {
        let failed = |category| Report {
            category: Some(category),
            error: Some(format!("it broke at turn {turn}")),
            ..Report::with_outcome(Outcome::Failed)
        };
        match self.number(role.as_str(), node, turn) {
            number if role == Role::Reviewer => reviewer_report(number, turn),
            _ if turn >= 4 && role != Role::Split => Report::with_outcome(Outcome::Completed),
            0..=9 => failed(FailureCategory::Network),
            10..=14 => failed(FailureCategory::Logic),
            15..=18 => needs_human("how?"),
            19..=21 => Report::with_outcome(Outcome::Blocked),
            22..=24 => Report::with_outcome(Outcome::Partial),
            25..=29 => failed(FailureCategory::Logic),
            _ if role == Role::Split => pieces(2 + turn % 2),
            _ => Report {
                summary: Some(format!("done at turn {turn}")),
                ..Report::with_outcome(Outcome::Completed)
            },
        }
    }

    /// What its runner makes of that report.
    pub(super) fn recovery(self, node: &Node, role: Role, turn: usize) -> Option<Box<Recovery>> {
        if role != Role::Worker || self.number("looked", node, turn) < 30 {
            return None;
        }
        let number = usize::try_from(self.number("recovery", node, turn)).expect("below 100");
        let (action, rule) = RECOVERIES[number % RECOVERIES.len()];
        Some(Box::new(recovery(action, rule)))
    }

    pub(super) fn gate_passes(self, node: &Node, turn: usize) -> bool {
        turn >= 5 || self.number("gate", node, turn) < 55
    }

    pub(super) fn commit_passes(self, node: &Node, turn: usize) -> bool {
        turn >= 2 || self.number("commit", node, turn) < 80
    }

    /// What the person in charge says to the `turn`th question about a node.
    pub(super) fn verdict(self, node: &Node, turn: usize) -> Verb {
        match self.number("verdict", node, turn) {
            0..=14 => Verb::Skip,
            15..=54 => Verb::Answer,
            _ => Verb::Retry,
        }
    }

    pub(super) fn seconds(self, node: &Node, turn: usize) -> i64 {
        1 + i64::try_from(self.number("time", node, turn)).expect("below 100")
    }
}

/// What a reviewer says at its `turn`th look.
fn reviewer_report(number: u64, turn: usize) -> Report {
    let said = |verdict| Report {
        review: Some(Box::new(AgentReview {
            verdict,
            summary: None,
            observations: vec![ReviewObservation {
                message: format!("seen at turn {turn}"),
                ..ReviewObservation::default()
            }],
        })),
        ..Report::with_outcome(Outcome::Completed)
    };
    match number {
        _ if turn >= 6 => said(ReviewVerdict::Approve),
        0..=9 => Report {
            error: Some("it broke".to_owned()),
            ..Report::with_outcome(Outcome::Failed)
        },
        // It says something, and no verdict.
        10..=19 => Report::with_outcome(Outcome::Completed),
        20..=54 => said(ReviewVerdict::RequestChanges),
        _ => said(ReviewVerdict::Approve),
    }
}
