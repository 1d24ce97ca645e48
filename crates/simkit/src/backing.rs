//! A store beside the model of a [`World`](crate::world::World): the same
//! commands are carried out by both, and both must answer the same.

use std::collections::BTreeMap;

use jiff::Timestamp;
use piton_core::id::StreamId;
use piton_core::{CallerFacts, Command, CommandId, Draft, Event, Need, Refusal, RunId, Tables};

/// A command as a store gets it.
#[derive(Debug)]
pub struct StoredCommand<'o> {
    pub id: CommandId,
    pub command: &'o Command,
    pub facts: &'o CallerFacts,
    pub now: Timestamp,
}

/// The power went before a command was acknowledged: whether it is stored is not
/// known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PowerLost;

/// The events of each stream, in their order.
pub type Streams = BTreeMap<StreamId, Vec<Event>>;

/// A store on a disk whose power can be cut.
pub trait Backing {
    /// Carries a command out; the answer is what was stored, or the refusal.
    ///
    /// # Errors
    ///
    /// [`PowerLost`] after [`Backing::cut_power_after`]; until
    /// [`Backing::restart`] nothing can be stored.
    fn commit(
        &mut self,
        order: &StoredCommand<'_>,
    ) -> Result<Result<Vec<Draft>, Refusal>, PowerLost>;

    /// Moves the end of the lease on a run.
    fn heartbeat(&mut self, run: RunId, token: u64, now: Timestamp);

    /// Cuts the power at an operation of the disk, counted from now; none takes
    /// that back.
    fn cut_power_after(&mut self, operations: Option<u32>);

    /// Cuts the power if it is not cut yet, opens what the disk still holds,
    /// checks that it is whole, and tells what is stored.
    fn restart(&mut self) -> Streams;

    /// The rows that fit.
    fn load(&self, needs: &[Need]) -> Tables;
}
