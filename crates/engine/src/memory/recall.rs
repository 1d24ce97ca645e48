//! What the memory has to say about a text: the candidates of the store, scored
//! by the core.

use jiff::Timestamp;
use piton_core::Need;
use piton_core::memory::{MemoryKind, MemoryOrigin, MemoryRow};
use piton_core::recall::{IndexedMemory, Query, RecallCandidate, score_candidates};
use piton_store::{Store, StoreFault};
use serde::{Serialize, Serializer};

/// What the memory has to say.
#[derive(Clone, Debug, Default, Serialize)]
pub struct RecallResults {
    /// Whether the first results are good enough to advise an agent.
    pub advise: bool,
    /// What was found, the best first.
    pub results: Vec<RecalledMemory>,
}

crate::name_schema!(RecallResults, "piton.recall/1");

/// Something that was found.
#[derive(Clone, Debug)]
pub struct RecalledMemory {
    /// What it is.
    pub row: MemoryRow,
    /// How well it answers; comparable within one recall only.
    pub score: f64,
    /// What of the text it answers.
    pub why: Vec<String>,
}

/// What is answered of something that was found.
#[derive(Serialize)]
struct RecalledFields<'r> {
    id: &'r str,
    external_id: Option<&'r str>,
    kind: MemoryKind,
    title: Option<&'r str>,
    content: &'r str,
    origin: MemoryOrigin,
    score: f64,
    why: &'r [String],
}

impl Serialize for RecalledMemory {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let memory = &self.row.memory;
        RecalledFields {
            id: &self.row.id,
            external_id: memory.external_id.as_deref(),
            kind: memory.kind,
            title: memory.title.as_deref(),
            content: &memory.content,
            origin: self.row.origin(),
            score: self.score,
            why: &self.why,
        }
        .serialize(serializer)
    }
}

/// What the memory of a store has to say about a text, as of a time.
///
/// # Errors
///
/// When the store cannot be read.
pub fn recall_memories(
    store: &dyn Store,
    text: &str,
    now: Timestamp,
) -> Result<RecallResults, StoreFault> {
    let query = Query::parse(text);
    let candidates = store.recall_candidates(&query)?;
    let scored: Vec<RecallCandidate<'_>> = candidates
        .found
        .iter()
        .map(IndexedMemory::as_candidate)
        .collect();
    let recall = score_candidates(&query, &candidates.statistics, &scored, now);
    let ids = recall.results.iter().map(|found| found.id.clone());
    let rows = store.load_rows(&ids.map(Need::Memory).collect::<Vec<_>>())?;
    let results = recall.results.into_iter().filter_map(|found| {
        // Another process may have retired it since.
        let row = rows.tables.find_memory(&found.id)?;
        row.is_followed().then(|| RecalledMemory {
            row: row.clone(),
            score: found.score,
            why: found.why,
        })
    });
    Ok(RecallResults {
        advise: recall.advise,
        results: results.collect(),
    })
}
