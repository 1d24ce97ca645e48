//! How well each memory answers a query.
//!
//! BM25 (Robertson and Zaragoza, "The Probabilistic Relevance Framework", 2009)
//! over the tokens of title, content and context together, each token weighed
//! by its kind and by the line that it stands in; then what is known of the
//! memory itself, weakly. Sums are made in the order of the query's tokens and
//! rounded, so that the same contents give the same order everywhere.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::advise::{Features, Weights};
use super::document::MemoryDocument;
use super::query::{Query, Term};
use super::token::TokenKind;

/// How soon more of the same word stops counting.
const SATURATION: f64 = 1.2;
/// How much a long text has to say a word more often. Less than usual: what is
/// remembered at length is no less to the point.
const LENGTH: f64 = 0.4;
/// A memory of fewer is taken for one of so many: what the only one holds would
/// be common otherwise, and what it lacks rare.
const FEW: u64 = 6;
/// So many results are told: who reads on has found nothing.
const RESULTS: usize = 20;
/// So many reasons are told of each result.
const REASONS: usize = 4;
/// In so many days half of what being new counts is gone.
const HALF_LIFE_DAYS: f64 = 180.0;

/// What a store knows of all that is remembered.
#[derive(Clone, Debug, Default)]
pub struct Statistics {
    /// How many memories are followed.
    pub memories: u64,
    /// How long one is on average: see [`MemoryDocument::length_in_words`].
    pub average_length: f64,
    /// How many hold a token, for [`Query::tokens`]; none when absent.
    pub holding: BTreeMap<String, u64>,
}

impl Statistics {
    /// The statistics of these memories.
    #[must_use]
    pub fn from_documents<'a>(documents: impl Iterator<Item = &'a MemoryDocument>) -> Self {
        let mut holding: BTreeMap<String, u64> = BTreeMap::new();
        let (mut memories, mut tenths) = (0, 0);
        for document in documents {
            memories += 1;
            tenths += document.length_in_tenths();
            for token in document.tokens() {
                *holding.entry(token.to_owned()).or_default() += 1;
            }
        }
        Self {
            holding,
            ..Self::from_totals(memories, tenths)
        }
    }

    /// The statistics of so many memories that are so long together, without
    /// what is known of their tokens.
    #[must_use]
    pub fn from_totals(memories: u64, tenths: u64) -> Self {
        Self {
            memories,
            average_length: count_to_f64(tenths) / 10.0 / count_to_f64(memories.max(1)),
            holding: BTreeMap::new(),
        }
    }

    /// How rare a token is.
    pub(super) fn token_rarity(&self, token: &str) -> f64 {
        let memories = count_to_f64(self.memories.max(FEW));
        let holding = count_to_f64(self.holding.get(token).copied().unwrap_or_default());
        let holding = holding.min(memories);
        (1.0 + (memories - holding + 0.5) / (holding + 0.5)).ln()
    }
}

/// A memory that may help.
#[derive(Clone, Copy, Debug)]
pub struct RecallCandidate<'a> {
    /// Its id; of two that are equally good the smaller comes first.
    pub id: &'a str,
    /// What it says, as tokens.
    pub document: &'a MemoryDocument,
    /// Whether it is still followed: neither superseded nor retired.
    pub followed: bool,
    /// When it was learned.
    pub learned_at: Timestamp,
    /// How many attempts had it in their prompt and succeeded.
    pub helped: u32,
    /// How many had it and failed.
    pub failed: u32,
}

/// What memory has to say.
#[derive(Clone, Debug, PartialEq)]
pub struct Recall {
    /// Whether the first results are worth showing.
    pub advise: bool,
    /// How likely one of the first three helps.
    pub chance: f64,
    /// What the chance was told from; nothing without a result.
    pub features: Option<Features>,
    /// What was found, the best first.
    pub results: Vec<ScoredMemory>,
}

/// A memory that was found.
#[derive(Clone, Debug, PartialEq)]
pub struct ScoredMemory {
    /// Its id.
    pub id: String,
    /// How well it answers; comparable within one recall only.
    pub score: f64,
    /// What of the query it answers, the most telling first.
    pub why: Vec<String>,
}

/// What the candidates have to say to a query, and whether to say it.
#[must_use]
pub fn score_candidates(
    query: &Query,
    statistics: &Statistics,
    candidates: &[RecallCandidate<'_>],
    now: Timestamp,
) -> Recall {
    let rarities: Vec<f64> = query
        .tokens()
        .map(|token| statistics.token_rarity(token))
        .collect();
    let followed = candidates.iter().filter(|candidate| candidate.followed);
    let mut scored: Vec<(f64, &RecallCandidate<'_>)> = followed
        .map(|candidate| {
            let answers = matched_terms(query, &rarities, statistics, candidate.document);
            let score = answers.map(|(_, part)| part).sum::<f64>() * prior_factor(candidate, now);
            (round_score(score), candidate)
        })
        .filter(|(score, _)| *score > 0.0)
        .collect();
    scored.sort_by(|(one, first), (other, second)| {
        other.total_cmp(one).then_with(|| first.id.cmp(second.id))
    });
    let features = scored.first().map(|(_, best)| {
        let parts: Vec<f64> = query
            .terms
            .iter()
            .zip(&rarities)
            .map(|(term, rarity)| term_score(term, *rarity, statistics, best.document))
            .collect();
        Features::compute(query, &rarities, &parts, best.document)
    });
    let chance = features
        .as_ref()
        .map_or(0.0, |features| Weights::FITTED.predict_chance(features));
    let found = |(score, candidate): (f64, &RecallCandidate<'_>)| ScoredMemory {
        id: candidate.id.to_owned(),
        score,
        why: top_reasons(matched_terms(query, &rarities, statistics, candidate.document).collect()),
    };
    Recall {
        advise: Weights::FITTED.should_advise(chance),
        chance,
        features,
        results: scored.into_iter().take(RESULTS).map(found).collect(),
    }
}

/// The tokens of the query that a memory holds, and what each adds.
fn matched_terms<'a>(
    query: &'a Query,
    rarities: &'a [f64],
    statistics: &'a Statistics,
    document: &'a MemoryDocument,
) -> impl Iterator<Item = (&'a Term, f64)> {
    let terms = query.terms.iter().zip(rarities);
    terms
        .map(|(term, rarity)| (term, term_score(term, *rarity, statistics, document)))
        .filter(|(_, part)| *part > 0.0)
}

fn term_score(term: &Term, rarity: f64, statistics: &Statistics, document: &MemoryDocument) -> f64 {
    let times = document.token_weight(&term.text);
    if times == 0.0 {
        return 0.0;
    }
    let average = statistics.average_length.max(1.0);
    let length = 1.0 - LENGTH + LENGTH * document.length_in_words() / average;
    term.weight * rarity * times * (SATURATION + 1.0) / (times + SATURATION * length)
}

/// What is known of the memory itself. It turns the scale between two that
/// answer equally well, and no more.
fn prior_factor(candidate: &RecallCandidate<'_>, now: Timestamp) -> f64 {
    let age_s = now
        .as_second()
        .saturating_sub(candidate.learned_at.as_second());
    let age_days = (age_s as f64 / 86_400.0).max(0.0);
    let new = (-age_days / HALF_LIFE_DAYS).exp2();
    let (helped, failed) = (f64::from(candidate.helped), f64::from(candidate.failed));
    let record = (helped + 1.0) / (helped + failed + 2.0);
    (0.98 + 0.02 * new) * (0.8 + 0.4 * record)
}

/// The most telling of what was answered, as the query says it.
fn top_reasons(mut answers: Vec<(&Term, f64)>) -> Vec<String> {
    answers.sort_by(|(first, one), (second, other)| {
        other
            .total_cmp(one)
            .then_with(|| first.text.cmp(&second.text))
    });
    let mut why: Vec<String> = Vec::new();
    for (term, _) in answers {
        let known = why
            .iter()
            .any(|said| said.contains(&term.said) || term.said.contains(said));
        if !known && term.kind != TokenKind::Common && why.len() < REASONS {
            why.push(term.said.clone());
        }
    }
    why
}

/// The sixth decimal: logarithms differ in their last bits from machine to machine.
fn round_score(score: f64) -> f64 {
    (score * 1e6).round() / 1e6
}

#[expect(
    clippy::cast_precision_loss,
    reason = "counts of memories are far below 2^52"
)]
/// Counts of memories are far below 2^52, from where on this would not be exact.
fn count_to_f64(count: u64) -> f64 {
    count as f64
}
