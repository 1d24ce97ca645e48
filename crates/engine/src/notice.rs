//! What a verb tells while it works: for whoever shows it.

use jiff::Timestamp;
use piton_core::{Node, Recorded, Tables};

use crate::failure::Findings;

/// What a runner tells while it works.
#[derive(Debug)]
pub enum Notice<'a> {
    /// Something in words.
    Said(&'a str),
    /// Something that somebody should look at.
    Warning(&'a str),
    /// Problems in files that do not keep the run from starting.
    Problems(&'a Findings),
    /// An event of the run, with the rows as it left them.
    Event(&'a Recorded, &'a Tables),
    /// An agent or a gate works: the node, since when, what time it is, and what it printed in bytes.
    Working(&'a Node, Timestamp, Timestamp, u64),
    /// Waiting: for a time, or for a person.
    Waiting(Option<Timestamp>),
}
