//! Native files, kept up to date beside the journal and read where others wrote
//! them.
//!
//! A native file is a view: losing it loses nothing. What somebody else wrote
//! into it is taken in before it is written again, and what cannot be taken in is
//! asked about.

pub mod exchange;
pub mod plan_sync;
pub mod project_sync;
pub mod synced_file;
