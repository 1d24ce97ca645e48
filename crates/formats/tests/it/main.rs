//! What the formats promise, seen from outside.

#![expect(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test that fails may panic, and one that is skipped says so"
)]

mod agent_os;
mod compile_errors;
mod compile_output;
mod compile_warnings;
mod hostile;
mod json;
mod logs;
mod progress;
mod ralph_json;
mod round_trip;
mod samples;
mod shelf;
