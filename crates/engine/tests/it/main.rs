//! What the engine promises, tried on the real thing.

mod agents;
mod lanes;
mod merging;
mod process;
mod prompts;
mod repository;
mod session_files;
mod trees;
