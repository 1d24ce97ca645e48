//! The fuzz targets, for `cargo fuzz`: see `README.md`.
//!
//! [`targets`] is a file that the tests of `crates/formats` include as well.

#[expect(dead_code, reason = "the tests of the crate use all of it")]
#[path = "../../crates/formats/tests/it/logs.rs"]
mod logs;
mod targets;

pub use targets::*;
