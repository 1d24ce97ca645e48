//! The verbs; the loop; agents; files on disk; git; the clock.

pub mod process;
pub mod spool;
