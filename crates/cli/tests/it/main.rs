//! The `piton` command, tried as people use it.

#![expect(
    clippy::disallowed_methods,
    reason = "these tests start the command, and wait in real time for what it does"
)]
#![expect(clippy::print_stderr, reason = "what is skipped is said aloud")]

mod compile;
mod crash;
mod faults;
mod harness;
mod liveness;
mod memory;
mod people;
mod plans;
mod run;
mod states;
mod takeover;
