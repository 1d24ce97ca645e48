//! Random tests and whole runs simulated in memory. Never shipped.
//!
//! | what | where |
//! |---|---|
//! | the seed of all random tests | [`seed`] |
//! | a store small enough to hold in the hand, with all that must hold | [`world`] |
//! | plans and edits from any source of numbers | [`plans`], [`edits`] |
//! | a real store that must answer as that one does | [`backing`] |
//! | a git small enough to hold in the hand | [`repo`] |
//! | whole runs with agents, people and crashes | [`simulation`] |
//! | what a power cut leaves of what real programs wrote | [`recorded_disk`] |
//!
//! The tests of the core use this crate, so it must not depend on the store: a
//! change of the core has to be testable before the store follows it. What needs
//! a store is in `piton-testkit`.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "a test cares for one kind and not for all the others"
)]
#![expect(
    clippy::needless_pass_by_value,
    reason = "a command written where it is used reads better without a borrow"
)]
#![expect(
    missing_docs,
    reason = "commands and reports in few words: their names are those of the core"
)]

pub mod backing;
pub mod edits;
pub mod plans;
pub mod recorded_disk;
pub mod repo;
pub mod seed;
pub mod simulation;
pub mod world;
