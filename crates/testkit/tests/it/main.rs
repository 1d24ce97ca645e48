//! What the fakes promise.

mod fake_api;
mod simulation;
