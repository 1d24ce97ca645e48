//! Recall: what memory has to say about a text.
//!
//! After a failure, or before a task, what the project already knows is
//! searched for what helps with this very text; or it is said that nothing
//! recorded helps. No model, no download: words.
//!
//! ```text
//! text --Query::of--> tokens --the store--> candidates, statistics --score--> advise, results
//! ```
//!
//! | question | where |
//! |---|---|
//! | what of the text a terminal added | `text` |
//! | which lines are the failure, which are noise | `line`, a table in `lines.txt` |
//! | what words, names and codes there are | `token`, `stem`, `code` |
//! | what is said in other words | `family`, a table in `families.txt` |
//! | what a store keeps for finding a memory | [`MemoryDocument`] |
//! | which memories are looked at more closely | [`choose_candidates`] |
//! | how well a memory answers | [`score_candidates`] |
//! | whether to say anything at all | [`advise`] |
//! | whether two memories say the same | [`document_similarity`], with `sense`, `names`, `rival` |
//!
//! Nothing here reads or stores. What a store must deliver, and how well all
//! of it does: docs/design/0005-recall.md.

pub mod advise;
mod choose;
mod code;
mod document;
mod exclusive_words;
mod family;
mod line;
mod line_pattern;
mod meaning;
mod names;
mod piece;
mod query;
mod score;
mod similarity;
mod stem;
mod tables;
mod text;
mod token;

pub use choose::{
    CANDIDATES_MAX, CandidateSet, IndexedMemory, Postings, choose_candidates, choose_similar,
    query_statistics,
};
pub use document::MemoryDocument;
pub(crate) use names::{normalize_name, strip_line_number, trim_punctuation};
pub use query::Query;
pub use score::{Recall, RecallCandidate, ScoredMemory, Statistics, score_candidates};
pub(crate) use similarity::ComparableDocument;
pub use similarity::{ALIKE_FROM, document_similarity};
pub use tables::{NEAR_MAX, TableIndex};
pub use token::{RecallToken, TokenKind, tokenize};
