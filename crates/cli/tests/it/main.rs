//! The `piton` command, tried as people use it.

#![expect(
    clippy::disallowed_methods,
    reason = "these tests start the command, and wait in real time for what it does"
)]
#![expect(clippy::print_stderr, reason = "what is skipped is said aloud")]

mod archive;
mod bad_input;
mod compile;
mod conformance;
mod control;
mod costs;
mod crash;
mod faults;
mod fence;
mod files;
mod guide;
mod harness;
mod hints;
mod hook;
mod hostile_agents;
mod init;
mod large;
mod last_words;
mod learn;
mod liveness;
mod logging;
mod many;
mod marks;
mod mcp;
mod memory;
mod next;
mod nights;
mod old_writers;
mod people;
mod plans;
mod prepare;
mod questions;
mod reading;
mod real_agents;
mod recall;
mod record;
mod remembered;
mod run;
mod session;
mod states;
mod takeover;
