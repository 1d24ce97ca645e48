//! Which memories may say the same as another one: only those that share one of the
//! rarest words need be compared with it, however many there are.

use std::collections::{BTreeSet, HashMap};

use super::remembering::words_of;
use crate::memory::Memory;
use crate::recall::Said;
use crate::tables::Tables;

type Holders = HashMap<String, BTreeSet<String>>;

/// The memories by their words. One that was revised may stand under words that it
/// no longer holds.
#[derive(Clone, Default)]
pub(super) struct WordHolders {
    /// The ids of those that hold a word.
    all: Holders,
    /// The ids of those among whose rarest words a word is.
    rare: Holders,
}

impl WordHolders {
    pub(super) fn of_tables(tables: &Tables) -> Self {
        let documents = tables.memory().map(|row| (&*row.id, words_of(&row.memory)));
        let documents: Vec<_> = documents.collect();
        let mut holders = Self::default();
        // How rare a word is, is known when all are there.
        for (id, document) in &documents {
            holders.add_words(id, &Said::of(document));
        }
        for (id, document) in &documents {
            holders.add_rare_words(id, &Said::of(document));
        }
        holders
    }

    pub(super) fn add(&mut self, id: &str, memory: &Memory) {
        let document = words_of(memory);
        let said = Said::of(&document);
        self.add_words(id, &said);
        self.add_rare_words(id, &said);
    }

    fn add_words(&mut self, id: &str, said: &Said<'_>) {
        for word in said.words() {
            let holders = self.all.entry(word.to_owned()).or_default();
            holders.insert(id.to_owned());
        }
    }

    fn add_rare_words(&mut self, id: &str, said: &Said<'_>) {
        for word in said.rarest(|word| self.count(word)) {
            let holders = self.rare.entry(word.to_owned()).or_default();
            holders.insert(id.to_owned());
        }
    }

    fn count(&self, word: &str) -> usize {
        self.all.get(word).map_or(0, BTreeSet::len)
    }

    /// The ids of those that may say the same, in their order.
    pub(super) fn candidates(&self, memory: &Memory) -> BTreeSet<String> {
        let document = words_of(memory);
        let said = Said::of(&document);
        let rarest = said.rarest(|word| self.count(word)).into_iter();
        let mine = rarest.filter_map(|word| self.all.get(word));
        let theirs = said.words().filter_map(|word| self.rare.get(word));
        mine.chain(theirs).flatten().cloned().collect()
    }
}
