//! The seed of random tests. Never shipped.
//!
//! The tests of the core use this crate, so it must not depend on the store:
//! a change of the core has to be testable before the store follows it. What
//! needs a store is in `piton-testkit`.

pub mod seed;
