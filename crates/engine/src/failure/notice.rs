//! What a verb reports to its caller while it works.

use jiff::Timestamp;
use piton_core::{DecodedRecord, Node, Tables};

use crate::failure::Findings;

/// An agent or a gate at work.
#[derive(Debug)]
pub struct WorkProgress<'a> {
    /// The node.
    pub node: &'a Node,
    /// Since when.
    pub since: Timestamp,
    /// What time it is.
    pub now: Timestamp,
    /// What it printed, in bytes.
    pub printed: u64,
    /// The file of the run, while a person is asked about it.
    pub asked: Option<&'a str>,
}

/// What a runner tells while it works.
#[derive(Debug)]
pub enum Notice<'a> {
    /// Something in words.
    Said(&'a str),
    /// Something that a person should look at.
    Warning(&'a str),
    /// Problems in files that do not keep the run from starting.
    Problems(&'a Findings),
    /// An event of the run, with the rows as it left them.
    Event(&'a DecodedRecord, &'a Tables),
    /// Agents, gates and gits that work, one at least.
    Working(&'a [WorkProgress<'a>]),
    /// Waiting: for a time, or for a person.
    Waiting(Option<Timestamp>),
}

/// Receives the notices of a verb while it works.
pub type NoticeSink<'t> = dyn FnMut(Notice<'_>) + 't;
