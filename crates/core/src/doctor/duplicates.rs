//! Memories that say the same as another.
//!
//! Not each is compared with each: only those that share several of their
//! rarest tokens. What holds nearly all that another says holds those, too.

use std::cmp::Reverse;
use std::collections::HashMap;

use super::memory_view::MemoryView;
use crate::memory::MemoryKind;
use crate::recall::{ALIKE_FROM, ComparableDocument, MemoryDocument, document_similarity};

/// So many tokens of a memory are looked up, the rarest that another has.
const TOKENS: usize = 8;
/// At least so many of them another must have, where there are so many.
const SHARED_FROM: usize = 2;
/// Of those that hold a token so many are looked at, the best ones, and as many
/// that are nearly as good as it: a token that hundreds hold tells little.
const HOLDERS: usize = 32;
/// So many are compared with each, those that share the most.
const COMPARED: usize = 16;

/// A memory and the one that says the same and is to be kept, by their places.
/// What is kept is itself not replaced.
pub(super) fn find_duplicates(rows: &[&MemoryView<'_>]) -> Vec<(usize, usize)> {
    let mut places: Vec<usize> = (0..rows.len()).collect();
    places.sort_by_cached_key(|at| Reverse(rank_of_memory(rows[*at])));
    let best_first: Vec<&MemoryView<'_>> = places.iter().map(|at| rows[*at]).collect();
    let index = index_tokens(&best_first);
    let said: Vec<ComparableDocument<'_>> = best_first
        .iter()
        .map(|row| ComparableDocument::new(row.document))
        .collect();
    let mut is_kept = vec![true; rows.len()];
    let mut found = Vec::new();
    for (at, row) in best_first.iter().enumerate() {
        let better = find_candidates(row, at, &index).into_iter();
        let same = better
            .filter(|other| is_kept[*other])
            .filter(|other| said[at].similarity_to(&said[*other]) >= ALIKE_FROM)
            .find(|other| has_same_trigger(row, best_first[*other]));
        if let Some(other) = same {
            is_kept[at] = false;
            found.push((places[at], places[other]));
        }
    }
    found.sort_unstable();
    found
}

/// Which of two that say the same is to be kept, the greater: a guardrail before
/// anything else, then what says clearly more, what helped more, what is newer.
fn rank_of_memory<'r>(row: &'r MemoryView<'_>) -> (bool, usize, u64, jiff::Timestamp, &'r str) {
    let words = row
        .title
        .split_whitespace()
        .chain(row.content.split_whitespace());
    let is_guardrail = row.kind == MemoryKind::Guardrail;
    // A word more or less makes no difference: the root grows slowly.
    (
        is_guardrail,
        words.count().isqrt(),
        row.helped,
        row.learned_at,
        row.id,
    )
}

/// Who holds each token, the best first.
type HoldersByToken<'r> = HashMap<&'r str, Vec<usize>>;

fn index_tokens<'r>(rows: &[&'r MemoryView<'_>]) -> HoldersByToken<'r> {
    let mut index = HoldersByToken::new();
    for (at, row) in rows.iter().enumerate() {
        for token in row.document.tokens() {
            index.entry(token).or_default().push(at);
        }
    }
    index
}

/// Those before a memory that may say the same, those that share the most first.
fn find_candidates(row: &MemoryView<'_>, at: usize, index: &HoldersByToken<'_>) -> Vec<usize> {
    let mut telling: Vec<(&[usize], &str)> = row
        .document
        .tokens()
        .filter_map(|token| Some((index.get(token)?.as_slice(), token)))
        .filter(|(holding, _)| holding.len() > 1)
        .collect();
    telling.sort_by_key(|(holding, token)| (holding.len(), *token));
    telling.truncate(TOKENS);
    let mut shared: HashMap<usize, usize> = HashMap::new();
    for (holding, _) in &telling {
        let before = &holding[..holding.partition_point(|other| *other < at)];
        let (best, rest) = before.split_at(before.len().min(HOLDERS));
        let near = &rest[rest.len().saturating_sub(HOLDERS)..];
        for other in best.iter().chain(near) {
            *shared.entry(*other).or_default() += 1;
        }
    }
    let enough = SHARED_FROM.min(telling.len());
    let mut others: Vec<(usize, usize)> = shared
        .into_iter()
        .filter(|(_, shared)| *shared >= enough)
        .collect();
    others.sort_by_key(|(other, shared)| (Reverse(*shared), *other));
    others.truncate(COMPARED);
    others.into_iter().map(|(other, _)| other).collect()
}

/// Whether two are to be heeded in the same place. A guardrail with another
/// trigger is another one; elsewhere the context says where it was learned.
fn has_same_trigger(one: &MemoryView<'_>, other: &MemoryView<'_>) -> bool {
    let are_guardrails = [one, other]
        .iter()
        .all(|row| row.kind == MemoryKind::Guardrail);
    let trigger = |row: &MemoryView<'_>| MemoryDocument::from_fields("", row.context, "");
    !are_guardrails
        || one.context.trim() == other.context.trim()
        || document_similarity(&trigger(one), &trigger(other)) >= ALIKE_FROM
}
