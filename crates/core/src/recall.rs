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
//! | what a store keeps for finding a memory | [`Document`] |
//! | which memories are looked at more closely | [`choose`](fn@choose) |
//! | how well a memory answers | [`score`](fn@score) |
//! | whether to say anything at all | [`advise`] |
//! | whether two memories say the same | [`alike`](fn@alike), with `sense`, `names`, `rival` |
//!
//! Nothing here reads or stores. What a store must deliver, and how well all
//! of it does: docs/design/0005-recall.md.

pub mod advise;
mod alike;
mod choose;
mod code;
mod document;
mod family;
mod form;
mod line;
mod names;
mod query;
mod rival;
mod score;
mod sense;
mod stem;
mod tables;
mod text;
mod token;

pub(crate) use alike::Said;
pub use alike::{ALIKE_FROM, alike};
pub use choose::{CANDIDATES_MAX, Candidates, Indexed, Postings, choose, choose_alike, statistics};
pub use document::Document;
pub(crate) use names::{bare, name, without_line};
pub use query::Query;
pub use score::{Candidate, Found, Recall, Statistics, score};
pub use tables::{NEAR_MAX, TableIndex};
pub use token::{Kind, Token, tokens};
