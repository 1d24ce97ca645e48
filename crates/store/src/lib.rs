//! The journal, its views and registers.
//!
//! There is one way to write history, [`Store::commit`], and one to read rows,
//! [`Store::load`]. Two implementations pass the same contract: [`SqliteStore`],
//! durable, for every process of a machine, and [`MemoryStore`], for tests and
//! simulations. What the rows mean: see `piton_core`. How they are stored, to
//! the byte: see `docs/formats/journal.md`.

mod audit;
mod clock;
pub mod fail;
mod memory;
mod seal;
mod sqlite;
mod store;

pub use clock::{Clock, SystemClock};
pub use memory::MemoryStore;
pub use seal::LEASE_TTL_S;
pub use sqlite::{Access, Options, Restored, SCHEMA_VERSION, SqliteStore, StoreInfo};
pub use store::{CommitError, Committed, Cursor, Damage, Fault, FaultKind, Head, Store, Verdict};
