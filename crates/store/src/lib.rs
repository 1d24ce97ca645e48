//! The journal, its views and registers.
//!
//! There is one way to write history, [`Store::commit`], and one to read rows,
//! [`Store::load_rows`]. Two implementations pass the same contract: [`SqliteStore`],
//! durable, for every process of a machine, and [`MemoryStore`], for tests and
//! simulations. A [`StoreAddress`] chooses one of those that are kept, so that the
//! crates above know [`Store`] alone. What the rows mean: see `piton_core`. How they are stored, to
//! the byte: see `docs/formats/journal.md`.

mod audit;
mod backend;
mod clock;
pub mod failpoint;
pub mod group_access;
mod memory;
mod seal;
mod sqlite;
mod store;

pub use backend::StoreAddress;
pub use clock::{Clock, SystemClock};
pub use memory::MemoryStore;
pub use seal::LEASE_TTL_S;
pub use sqlite::{SCHEMA_VERSION, SqliteStore};
pub use store::{
    ClockJump, CommitError, CommitOutcome, Cursor, Damage, EARLIER_EVENTS_MAX, FaultKind,
    LostEvents, RebuildStep, RestoreReport, Store, StoreAccess, StoreFault, StoreInfo,
    StoreOptions, StreamHead, UnreadableEvent, VerifyReport, WaitReport, WriterWait,
};
