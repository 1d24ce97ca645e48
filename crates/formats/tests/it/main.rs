//! What the formats promise, seen from outside.

#![expect(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test that fails may panic, and one that is skipped says so"
)]

mod compile_errors;
mod compile_output;
mod compile_warnings;
mod edits;
mod hostile;
mod json;
mod mutations_markdown;
mod progress;
mod ralph_dir;
mod round_trip;
mod samples;
mod shelf;
mod task;
mod yaml_patch;
