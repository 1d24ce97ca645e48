//! What the engine promises, tried on the real thing.

mod process;
mod trees;
