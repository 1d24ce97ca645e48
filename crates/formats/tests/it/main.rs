//! What the formats promise, seen from outside.

#![expect(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test that fails may panic, and one that is skipped says so"
)]

mod about;
mod adoption;
mod agent_os;
mod chance;
mod checklists;
mod compile_errors;
mod compile_output;
mod compile_warnings;
mod desk;
mod edits;
mod ends;
#[expect(unreachable_pub, reason = "a crate of its own elsewhere")]
#[path = "../../../../fuzz/src/targets.rs"]
mod fuzz;
mod fuzz_targets;
mod garbled;
mod guardrail_shapes;
mod hostile;
mod json;
mod log_convert;
mod logs;
mod merging;
mod mutations;
mod mutations_markdown;
mod plans;
mod progress;
mod progress_edits;
mod ralph_dir;
mod ralph_dir_faces;
mod ralph_json;
mod round_trip;
mod samples;
mod schemas;
mod shelf;
mod sprint_shapes;
mod task;
mod yaml_patch;
