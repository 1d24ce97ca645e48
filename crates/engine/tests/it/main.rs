//! What the engine promises, tried on the real thing.

mod agents;
mod process;
mod prompts;
mod session_files;
mod trees;
