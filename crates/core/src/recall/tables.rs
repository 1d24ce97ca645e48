//! The index of what is in memory: for tests, and for stores that keep all rows
//! there.

use std::collections::{BTreeMap, HashMap};
use std::convert::Infallible;

use super::choose::{
    CandidateSet, IndexedMemory, Postings, choose_candidates, choose_similar, query_statistics,
};
use super::document::MemoryDocument;
use super::query::Query;
use crate::memory::MemoryRow;
use crate::tables::Tables;

/// How many memories are near to a document: those among which its like is
/// looked for.
pub const NEAR_MAX: usize = 20;

/// The tokens of the memories that are followed.
#[derive(Clone, Debug, Default)]
pub struct TableIndex {
    memories: BTreeMap<u64, IndexedMemory>,
    holders: HashMap<String, Vec<u64>>,
    tenths: u64,
}

impl TableIndex {
    /// The index of some rows.
    #[must_use]
    pub fn from_tables(tables: &Tables) -> Self {
        let mut index = Self::default();
        let mut rows: Vec<&MemoryRow> = tables.memories().filter(|row| row.is_followed()).collect();
        rows.sort_by_key(|row| row.position);
        for row in rows {
            let indexed = IndexedMemory::from_row(row);
            index.tenths += indexed.document.length_in_tenths();
            for token in indexed.document.tokens() {
                let holders = index.holders.entry(token.to_owned()).or_default();
                holders.push(row.position);
            }
            index.memories.insert(row.position, indexed);
        }
        index
    }

    /// What it has to say to a query.
    #[must_use]
    pub fn find_candidates(&mut self, query: &Query) -> CandidateSet {
        let Ok(statistics) = query_statistics(query, self);
        let Ok(chosen) = choose_candidates(query, &statistics, self);
        let found = chosen.iter().filter_map(|at| self.memories.get(at));
        CandidateSet {
            found: found.cloned().collect(),
            statistics,
        }
    }

    /// The ids of the memories that share most with these tokens.
    #[must_use]
    pub fn nearest_memories(&mut self, tokens: &[String]) -> Vec<String> {
        let Ok(chosen) = choose_similar(tokens, self, NEAR_MAX);
        let found = chosen.iter().filter_map(|at| self.memories.get(at));
        found.map(|indexed| indexed.id.clone()).collect()
    }
}

impl IndexedMemory {
    /// A row, as the index has it.
    #[must_use]
    pub fn from_row(row: &MemoryRow) -> Self {
        Self {
            id: row.id.clone(),
            document: MemoryDocument::from_memory(&row.memory),
            learned_at: row.learned_at(),
            helped: row.uses.helped,
            failed: row.uses.failed,
        }
    }
}

impl Postings for TableIndex {
    type Error = Infallible;

    fn memory_totals(&mut self) -> Result<(u64, u64), Infallible> {
        let memories = u64::try_from(self.memories.len()).unwrap_or(u64::MAX);
        Ok((memories, self.tenths))
    }

    fn document_frequency(&mut self, token: &str) -> Result<u64, Infallible> {
        let holding = self.holders.get(token).map_or(0, Vec::len);
        Ok(u64::try_from(holding).unwrap_or(u64::MAX))
    }

    fn memories_with_token(&mut self, token: &str, most: usize) -> Result<Vec<u64>, Infallible> {
        let holders = self.holders.get(token).into_iter().flatten();
        Ok(holders.rev().copied().take(most).collect())
    }
}
