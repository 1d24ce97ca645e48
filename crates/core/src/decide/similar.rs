//! Which memories may say the same as another one: only those that share one of the
//! rarest words need be compared with it, however many there are.

use std::collections::{BTreeSet, HashMap};

use crate::memory::Memory;
use crate::recall::{ComparableDocument, MemoryDocument};
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
    pub(super) fn from_tables(tables: &Tables) -> Self {
        let documents = tables
            .memories()
            .map(|row| (&*row.id, document_without_context(&row.memory)));
        let documents: Vec<_> = documents.collect();
        let mut holders = Self::default();
        // How rare a word is, is known when all are there.
        for (id, document) in &documents {
            holders.add_words(id, &ComparableDocument::new(document));
        }
        for (id, document) in &documents {
            holders.add_rare_words(id, &ComparableDocument::new(document));
        }
        holders
    }

    pub(super) fn add_memory(&mut self, id: &str, memory: &Memory) {
        let document = document_without_context(memory);
        let said = ComparableDocument::new(&document);
        self.add_words(id, &said);
        self.add_rare_words(id, &said);
    }

    fn add_words(&mut self, id: &str, said: &ComparableDocument<'_>) {
        for word in said.words() {
            let holders = self.all.entry(word.to_owned()).or_default();
            holders.insert(id.to_owned());
        }
    }

    fn add_rare_words(&mut self, id: &str, said: &ComparableDocument<'_>) {
        for word in said.rarest_words(|word| self.count_holders(word)) {
            let holders = self.rare.entry(word.to_owned()).or_default();
            holders.insert(id.to_owned());
        }
    }

    fn count_holders(&self, word: &str) -> usize {
        self.all.get(word).map_or(0, BTreeSet::len)
    }

    /// The ids of those that may say the same, in their order.
    pub(super) fn find_candidates(&self, memory: &Memory) -> BTreeSet<String> {
        let document = document_without_context(memory);
        let said = ComparableDocument::new(&document);
        let rarest = said
            .rarest_words(|word| self.count_holders(word))
            .into_iter();
        let mine = rarest.filter_map(|word| self.all.get(word));
        let theirs = said.words().filter_map(|word| self.rare.get(word));
        mine.chain(theirs).flatten().cloned().collect()
    }
}

/// What a memory says, without where it came up.
pub(crate) fn document_without_context(memory: &Memory) -> MemoryDocument {
    let title = memory.title.as_deref().unwrap_or_default();
    MemoryDocument::from_fields(title, &memory.content, "")
}
