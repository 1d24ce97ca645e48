//! The budgets, measured beside their baselines in the same run.
//!
//! Nothing here is judged by a time: every figure is the ratio of two medians
//! whose runs took turns. What each one measures, and how to read the table:
//! see `bench/README.md`.

pub mod bed;
pub mod event;
pub mod figure;
pub mod figures;
pub mod fill;
pub mod floor;
pub mod lies;
pub mod long;
pub mod queue;
pub mod recall;
pub mod recovery;
pub mod sample;
pub mod seed000;
pub mod sprint;

/// What can go wrong with a measurement: the machine, or what is measured.
pub type Error = Box<dyn std::error::Error + Send + Sync>;

/// A result of this crate.
pub type Result<T> = std::result::Result<T, Error>;
