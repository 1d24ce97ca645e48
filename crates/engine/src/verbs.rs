//! The verbs: what people and programs ask of piton, as plain functions over
//! plain data. The command line, and later HTTP and MCP, translate them.

pub mod compile;
pub mod control;
pub mod files;
pub mod inbox;
pub mod journal;
pub mod log;
pub mod run;
pub mod status;
pub mod store;
