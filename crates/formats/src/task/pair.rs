//! Which criteria of a new version of a file are which of an old one.

use std::collections::{HashMap, HashSet, VecDeque};

use super::{Criterion, TaskFile};

/// For each criterion of `new`, the index of the one of `old` that it is.
///
/// The same id, else the same text, else the same place between others that
/// are known with a text that shares half of its words. Each old one is given
/// once.
pub fn match_criteria(old: &TaskFile, new: &TaskFile) -> Vec<Option<usize>> {
    let mut pairing = CriterionPairing {
        old: &old.criteria,
        new: &new.criteria,
        found: vec![None; new.criteria.len()],
        taken: vec![false; old.criteria.len()],
    };
    // An id made of a text may have gone to another criterion of the same
    // beginning; where the texts agree as well there is no doubt.
    pairing.pair_by_key(|criterion| (criterion.id.clone(), criterion.text.clone()));
    pairing.pair_by_key(|criterion| (criterion.id.clone(), String::new()));
    pairing.pair_by_key(|criterion| (String::new(), criterion.text.clone()));
    pairing.pair_by_place();
    pairing.found
}

struct CriterionPairing<'a> {
    old: &'a [Criterion],
    new: &'a [Criterion],
    found: Vec<Option<usize>>,
    taken: Vec<bool>,
}

impl CriterionPairing<'_> {
    fn pair_by_key(&mut self, key: impl Fn(&Criterion) -> (String, String)) {
        let mut waiting: HashMap<(String, String), VecDeque<usize>> = HashMap::new();
        for (at, criterion) in self.old.iter().enumerate() {
            if !self.taken[at] {
                waiting.entry(key(criterion)).or_default().push_back(at);
            }
        }
        for (at, criterion) in self.new.iter().enumerate() {
            if self.found[at].is_none()
                && let Some(old) = waiting
                    .get_mut(&key(criterion))
                    .and_then(VecDeque::pop_front)
            {
                self.set_pair(at, old);
            }
        }
    }

    fn pair_by_place(&mut self) {
        for at in 0..self.new.len() {
            if self.found[at].is_some() {
                continue;
            }
            let before = at.checked_sub(1).map(|before| self.found[before]);
            let behind_last = match before {
                None => Some(0),
                Some(known) => known.map(|old| old + 1),
            };
            let before_next = self
                .found
                .get(at + 1)
                .copied()
                .flatten()
                .and_then(|old| old.checked_sub(1));
            let candidate = [behind_last, before_next, Some(at)]
                .into_iter()
                .flatten()
                .find(|old| self.can_pair(at, *old));
            if let Some(old) = candidate {
                self.set_pair(at, old);
            }
        }
    }

    /// What is done and what is open with other words are two criteria: nothing
    /// that is to be done is done by words that it shares.
    fn can_pair(&self, new: usize, old: usize) -> bool {
        let (Some(false), Some(known)) = (self.taken.get(old), self.old.get(old)) else {
            return false;
        };
        let new = &self.new[new];
        (new.ticked || !known.ticked) && is_similar(&known.text, &new.text)
    }

    fn set_pair(&mut self, new: usize, old: usize) {
        self.found[new] = Some(old);
        self.taken[old] = true;
    }
}

/// Whether two texts share at least half of their words.
pub(crate) fn is_similar(a: &str, b: &str) -> bool {
    let words = |text: &str| -> HashSet<String> {
        text.split(|c: char| !c.is_alphanumeric())
            .filter(|word| !word.is_empty())
            .map(str::to_lowercase)
            .collect()
    };
    let (a, b) = (words(a), words(b));
    let shared = a.intersection(&b).count();
    shared > 0 && shared * 2 >= a.len().max(b.len())
}
