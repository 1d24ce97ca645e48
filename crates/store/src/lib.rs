//! The journal, its views and registers.
//!
//! There is one way to write history, [`Store::commit`], and one to read rows,
//! [`Store::load`]. Two implementations pass the same contract: [`SqliteStore`],
//! durable, for every process of a machine, and [`MemoryStore`], for tests and
//! simulations. What the rows mean: see `piton_core`.

mod memory;
mod sqlite;
mod store;

pub use memory::MemoryStore;
pub use sqlite::{SqliteStore, StoreInfo};
pub use store::{CommitError, Committed, Cursor, Damage, Fault, FaultKind, Head, Store, Verdict};
