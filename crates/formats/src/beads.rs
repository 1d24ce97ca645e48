//! The issues of beads, `.beads/issues.jsonl`: one JSON object a line.
//!
//! The file is an export of beads' own database: piton reads it and never writes it. An
//! epic holds its issues; what blocks an issue comes before it.

mod formats;
mod read;

pub use formats::PLAN;
