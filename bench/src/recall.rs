//! How well recall answers a set of queries whose answers are known.
//!
//! The files come from outside; their form: [`data`]. What is printed: the
//! figures of [`figures`], those of the data set's own `score.py`. Whatever is
//! fitted is judged on projects that the fit has not seen: [`fit`].

pub mod data;
pub mod figures;
pub mod fit;
pub mod program;
pub mod ranking;
pub mod report;
