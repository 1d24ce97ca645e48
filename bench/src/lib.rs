//! The budgets, measured beside their baselines in the same run.
//!
//! Every figure is the ratio of two medians whose runs took turns, and is judged
//! by it; but what a node costs in git is judged in milliseconds. What each
//! figure measures, and how to read the table: see `bench/README.md`.

pub mod bed;
pub mod compare;
pub mod event;
pub mod figure;
pub mod figures;
pub mod fill;
pub mod floor;
pub mod lies;
pub mod long;
pub mod plug;
pub mod queue;
pub mod recall;
pub mod recovery;
pub mod repository;
pub mod sample;
pub mod seed000;
pub mod sprint;
pub mod sprint_folder;
pub mod trace;

/// What can go wrong with a measurement: the machine, or what is measured.
pub type Error = Box<dyn std::error::Error + Send + Sync>;

/// A result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Says on stderr what is done, or not done.
///
/// # Errors
///
/// When stderr is closed.
pub fn tell(what: &str) -> Result<()> {
    use std::io::Write as _;
    Ok(writeln!(std::io::stderr(), "{what}")?)
}
