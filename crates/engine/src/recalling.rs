//! What the memory has to say about a text: the candidates of the store, scored
//! by the core.

use jiff::Timestamp;
use piton_core::Need;
use piton_core::memory::MemoryRow;
use piton_core::recall::{Candidate, Indexed, Query, score};
use piton_store::{Fault, Store};

/// What the memory has to say.
#[derive(Clone, Debug, Default)]
pub struct Recalled {
    /// Whether the first results are worth giving to somebody.
    pub advise: bool,
    /// What was found, the best first.
    pub results: Vec<Remembered>,
}

/// Something that was found.
#[derive(Clone, Debug)]
pub struct Remembered {
    /// What it is.
    pub row: MemoryRow,
    /// How well it answers; comparable within one recall only.
    pub score: f64,
    /// What of the text it answers.
    pub why: Vec<String>,
}

/// What the memory of a store has to say about a text, as of a time.
///
/// # Errors
///
/// When the store cannot be read.
pub fn recall(store: &dyn Store, text: &str, now: Timestamp) -> Result<Recalled, Fault> {
    let query = Query::of(text);
    let candidates = store.candidates(&query)?;
    let scored: Vec<Candidate<'_>> = candidates.found.iter().map(Indexed::candidate).collect();
    let recall = score(&query, &candidates.statistics, &scored, now);
    let ids = recall.results.iter().map(|found| found.id.clone());
    let rows = store.load(&ids.map(Need::Memory).collect::<Vec<_>>())?;
    let results = recall.results.into_iter().filter_map(|found| {
        // Somebody may have retired it since.
        let row = rows.tables.remembered(&found.id)?;
        row.is_followed().then(|| Remembered {
            row: row.clone(),
            score: found.score,
            why: found.why,
        })
    });
    Ok(Recalled {
        advise: recall.advise,
        results: results.collect(),
    })
}
