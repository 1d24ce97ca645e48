//! Whether to advise at all: how likely what was found helps.
//!
//! A score says which memory is better than another, not whether it is good.
//! That is told from a few features of the best one by a logistic model. Its
//! weights were fitted by `cargo run -p piton-bench --bin recall -- --fit`
//! (`bench/src/recall/fit.rs`); docs/design/0005-recall.md has the figures,
//! which come from projects that the fit had not seen.

use super::code::count_conflicting_classes;
use super::document::MemoryDocument;
use super::query::Query;
use super::token::TokenKind;

/// How many features there are.
pub const FEATURES: usize = 4;

/// What the decision is told from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Features(
    /// In the order of [`Features::NAMES`].
    pub [f64; FEATURES],
);

impl Features {
    /// What each of them is.
    pub const NAMES: [&'static str; FEATURES] =
        ["covered", "only-the-error", "codes-different", "families"];

    /// The features of the best candidate. `parts` is what each token of the
    /// query adds to its score.
    pub(super) fn compute(
        query: &Query,
        rarities: &[f64],
        parts: &[f64],
        best: &MemoryDocument,
    ) -> Self {
        let (mut asked, mut covered) = (0.0, 0.0);
        let (mut score, mut central, mut families) = (0.0, 0.0, 0.0);
        for ((term, rarity), part) in query.terms.iter().zip(rarities).zip(parts) {
            let worth = term.weight * rarity;
            let held = *part > 0.0;
            if term.kind.is_literal() {
                asked += worth;
                covered += if held { worth } else { 0.0 };
            }
            score += part;
            central += if term.central { *part } else { 0.0 };
            families += if held && term.kind == TokenKind::Family {
                worth
            } else {
                0.0
            };
        }
        let different = count_conflicting_classes(&query.codes, &best.codes);
        let share = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
        Self([
            // Of what is rare in the query, how much the memory speaks of.
            share(covered, asked).sqrt(),
            // A memory that shares nothing but the words of the message may
            // have met the same message with another cause.
            share(central, score),
            f64::from(u32::try_from(different).unwrap_or(u32::MAX)),
            families.ln_1p(),
        ])
    }
}

/// A logistic model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Weights {
    /// What is added to begin with.
    pub bias: f64,
    /// What each feature counts.
    pub features: [f64; FEATURES],
}

/// From this chance on it is worth an agent's attention: wrong guidance costs
/// an attempt, silence only leaves things as they were.
pub const ADVISE_FROM: f64 = 0.63;

impl Weights {
    /// The weights in use.
    pub const FITTED: Self = Self {
        bias: -2.994,
        features: [9.759, -0.889, -3.740, 0.489],
    };

    /// How likely one of the first three helps.
    #[must_use]
    pub fn predict_chance(&self, features: &Features) -> f64 {
        let weighed = self
            .features
            .iter()
            .zip(features.0)
            .map(|(weight, feature)| weight * feature);
        let sum = self.bias + weighed.sum::<f64>();
        1.0 / (1.0 + (-sum).exp())
    }

    /// Whether that is enough.
    #[must_use]
    pub fn should_advise(&self, chance: f64) -> bool {
        chance >= ADVISE_FROM
    }
}
