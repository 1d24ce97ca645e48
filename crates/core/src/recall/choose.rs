//! Which memories are looked at more closely.
//!
//! A store knows which memories hold a token. It hands that over token by token,
//! and what is chosen is decided here: by the tokens and the positions alone, so
//! that every store chooses the same.

use std::collections::HashMap;

use jiff::Timestamp;

use super::document::MemoryDocument;
use super::query::Query;
use super::score::{RecallCandidate, Statistics};

/// So many candidates are scored.
pub const CANDIDATES_MAX: usize = 200;
/// So many places of tokens are read for choosing them.
const READ_MAX: usize = 8_000;
/// By so many tokens of the query candidates are chosen.
const TELLING: usize = 30;

/// What a store knows of the tokens of the memories that are followed.
pub trait Postings {
    /// Why it cannot be read.
    type Error;

    /// How many memories there are, and how long they are together: the sum of
    /// [`MemoryDocument::length_in_tenths`].
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    fn memory_totals(&mut self) -> Result<(u64, u64), Self::Error>;

    /// How many memories hold a token.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    fn document_frequency(&mut self, token: &str) -> Result<u64, Self::Error>;

    /// The positions of those that hold a token, the latest first; no more than
    /// `most`.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    fn memories_with_token(&mut self, token: &str, most: usize) -> Result<Vec<u64>, Self::Error>;
}

/// A memory as the index has it.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexedMemory {
    /// Its id.
    pub id: String,
    /// What it says, as tokens.
    pub document: MemoryDocument,
    /// When it was learned.
    pub learned_at: Timestamp,
    /// How many attempts had it in their prompt and succeeded.
    pub helped: u64,
    /// How many had it and failed.
    pub failed: u64,
}

impl IndexedMemory {
    /// As the scoring sees it.
    #[must_use]
    pub fn as_candidate(&self) -> RecallCandidate<'_> {
        let count = |count: u64| u32::try_from(count).unwrap_or(u32::MAX);
        RecallCandidate {
            id: &self.id,
            document: &self.document,
            followed: true,
            learned_at: self.learned_at,
            helped: count(self.helped),
            failed: count(self.failed),
        }
    }
}

/// What a store has to say to a query.
#[derive(Clone, Debug, Default)]
pub struct CandidateSet {
    /// What it knows of all memories.
    pub statistics: Statistics,
    /// Those that may help.
    pub found: Vec<IndexedMemory>,
}

/// What there is to know of all memories for a query.
///
/// # Errors
///
/// When the store cannot be read.
pub fn query_statistics<P: Postings>(
    query: &Query,
    postings: &mut P,
) -> Result<Statistics, P::Error> {
    token_statistics(query.tokens(), postings)
}

fn token_statistics<'t, P: Postings>(
    tokens: impl Iterator<Item = &'t str>,
    postings: &mut P,
) -> Result<Statistics, P::Error> {
    let (memories, tenths) = postings.memory_totals()?;
    let mut statistics = Statistics::from_totals(memories, tenths);
    for token in tokens {
        let holding = postings.document_frequency(token)?;
        if holding > 0 {
            statistics.holding.insert(token.to_owned(), holding);
        }
    }
    Ok(statistics)
}

/// The positions of the memories to score for a query, in their order.
///
/// # Errors
///
/// When the store cannot be read.
pub fn choose_candidates<P: Postings>(
    query: &Query,
    statistics: &Statistics,
    postings: &mut P,
) -> Result<Vec<u64>, P::Error> {
    let weighed = query.weighted_tokens(TELLING);
    choose_by_weight(&weighed, statistics, postings, CANDIDATES_MAX)
}

/// The positions of up to `most` memories that share most with a document.
///
/// # Errors
///
/// When the store cannot be read.
pub fn choose_similar<P: Postings>(
    tokens: &[String],
    postings: &mut P,
    most: usize,
) -> Result<Vec<u64>, P::Error> {
    let statistics = token_statistics(tokens.iter().map(String::as_str), postings)?;
    let weighed: Vec<(&str, f64)> = tokens.iter().map(|token| (token.as_str(), 1.0)).collect();
    choose_by_weight(&weighed, &statistics, postings, most)
}

fn choose_by_weight<P: Postings>(
    weighed: &[(&str, f64)],
    statistics: &Statistics,
    postings: &mut P,
    most: usize,
) -> Result<Vec<u64>, P::Error> {
    let mut known: Vec<(u64, &str, f64)> = weighed
        .iter()
        .filter_map(|(token, weight)| Some((*statistics.holding.get(*token)?, *token, *weight)))
        .collect();
    known.sort_by(|one, other| (one.0, one.1).cmp(&(other.0, other.1)));
    let mut left = READ_MAX;
    let mut worth: HashMap<u64, f64> = HashMap::new();
    for (_, token, weight) in known {
        let add = weight * statistics.token_rarity(token);
        let holders = postings.memories_with_token(token, left)?;
        left -= holders.len().min(left);
        for holder in holders {
            *worth.entry(holder).or_default() += add;
        }
        if left == 0 {
            break;
        }
    }
    let mut found: Vec<(u64, f64)> = worth.into_iter().collect();
    found.sort_by(|one, other| other.1.total_cmp(&one.1).then_with(|| one.0.cmp(&other.0)));
    let mut chosen: Vec<u64> = found.into_iter().take(most).map(|(at, _)| at).collect();
    chosen.sort_unstable();
    Ok(chosen)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::convert::Infallible;

    use super::*;

    /// Postings of documents, whose positions are their indexes.
    struct Held {
        holders: BTreeMap<String, Vec<u64>>,
        totals: (u64, u64),
        read: usize,
    }

    impl Held {
        fn of(texts: &[String]) -> Self {
            let mut held = Self {
                holders: BTreeMap::new(),
                totals: (0, 0),
                read: 0,
            };
            for (at, text) in (0_u64..).zip(texts) {
                let document = MemoryDocument::from_fields("", text, "");
                held.totals.0 += 1;
                held.totals.1 += document.length_in_tenths();
                for token in document.tokens() {
                    held.holders.entry(token.to_owned()).or_default().push(at);
                }
            }
            held
        }
    }

    impl Postings for Held {
        type Error = Infallible;

        fn memory_totals(&mut self) -> Result<(u64, u64), Infallible> {
            Ok(self.totals)
        }

        fn document_frequency(&mut self, token: &str) -> Result<u64, Infallible> {
            let count = self.holders.get(token).map_or(0, Vec::len);
            Ok(u64::try_from(count).unwrap_or(u64::MAX))
        }

        fn memories_with_token(
            &mut self,
            token: &str,
            most: usize,
        ) -> Result<Vec<u64>, Infallible> {
            let all = self.holders.get(token).cloned().unwrap_or_default();
            let found: Vec<u64> = all.into_iter().rev().take(most).collect();
            self.read += found.len();
            Ok(found)
        }
    }

    fn chosen(texts: &[String], query: &str) -> (Vec<u64>, usize) {
        let mut held = Held::of(texts);
        let query = Query::parse(query);
        let Ok(statistics) = query_statistics(&query, &mut held);
        let Ok(chosen) = choose_candidates(&query, &statistics, &mut held);
        (chosen, held.read)
    }

    #[test]
    fn who_holds_what_is_rare_is_chosen_however_many_hold_what_is_common() {
        let mut texts = vec!["the keel of the lighter is oak".to_owned()];
        texts.extend((0..30_000).map(|nth| format!("lighter number{nth}")));
        let (found, read) = chosen(&texts, "error: no oak for the keel of the lighter");
        assert_eq!(found.first(), Some(&0));
        assert_eq!(found.len(), CANDIDATES_MAX);
        assert!(read <= READ_MAX, "{read}");
    }

    #[test]
    fn nothing_is_chosen_where_nothing_is_shared() {
        let texts = vec!["the keel is oak".to_owned()];
        assert_eq!(chosen(&texts, "error: rudder missing").0, Vec::<u64>::new());
        assert_eq!(chosen(&[], "error: rudder missing").0, Vec::<u64>::new());
    }
}
