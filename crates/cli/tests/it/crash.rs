//! Crashes: whatever dies, whenever it dies, the run comes to the same end.
//!
//! Each trial runs a small sprint, ends piton in some way, looks at what was
//! left, and runs piton again until the sprint is done. The agent keeps a log
//! outside of `.piton/` of who worked when, and tells on whoever works beside
//! it. `PITON_CRASH_ROUNDS` says how many random moments are tried (40),
//! `PITON_TEST_SEED` which ones.

mod calls;
mod commits;
mod moments;
mod points;
mod signals;
mod sprint;
mod survivors;
