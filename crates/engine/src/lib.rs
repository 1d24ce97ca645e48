//! The verbs; the loop; agents; files on disk; git; the clock.
//!
//! The verbs are plain functions over plain data; whoever translates them for
//! a terminal, for HTTP or for MCP adds nothing of their own. Nothing here
//! prints. What the rules are: see `piton_core`. What the files mean: see
//! `piton_formats`.

pub mod account;
pub mod agents;
pub mod answer;
pub mod caller;
pub mod config;
pub mod failpoint;
pub mod failure;
mod file_stamps;
pub mod gh;
pub mod git;
pub mod held_item;
mod history;
pub mod hook;
mod input;
pub mod item_view;
pub mod lane_pool;
mod lies;
pub mod memory_recall;
pub mod native_files;
pub mod notice;
mod notify;
pub mod preparation;
pub mod process;
pub mod project;
pub mod prompt;
pub mod recovery;
mod repositories;
pub mod run_lock;
pub mod runner;
pub mod session;
pub mod shell;
pub mod spool;
pub mod run_standing;
pub mod text_change;
mod open_blockers;
pub mod verbs;
pub mod missing_check;
pub mod worktree;
pub mod world;

pub use failure::{CommandExit, Failure, Findings};
pub use notice::Notice;
pub use piton_formats::problem;
pub use piton_formats::registry::describe_plan_kinds;
pub use world::World;
