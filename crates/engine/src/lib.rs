//! The world around the rules: verbs, the loop, agents, files on disk, git, the clock.
//!
//! The verbs are plain functions over plain data; a terminal, HTTP and MCP only
//! translate them. Nothing here prints. What the rules are: see `piton_core`. What
//! the files mean: see `piton_formats`.
//!
//! Programs other than piton's own use this crate alone: [`model`] and [`store`] are what
//! stands below it. [`session::Session`] opens a store, commits, reads and follows;
//! [`verbs::run::run`] works through a plan. The two programs in `examples/` do each of
//! these.
//!
//! | question | module |
//! |---|---|
//! | what can be asked of piton, one file a verb | [`verbs`] |
//! | how a run is worked on: effects, lanes, the merge queue, the lock, notifications | [`runner`] |
//! | how agent programs are started, prompted, read, and heard at their hooks | [`agents`] |
//! | what the memory says around an attempt | [`memory`] |
//! | how plan files and other native files are kept up to date | [`native_files`] |
//! | what git knows and does: trees, worktrees, branches, pull requests | [`git`] |
//! | how programs are started, bounded, and found again after a crash | [`process`] |
//! | which process calls, and whether a person or an agent stands behind it | [`caller`] |
//! | where a project lies | [`project`] |
//! | what its configuration says | [`config`] |
//! | the store, opened for one verb | [`session`] |
//! | the clock, the environment, and files read whole | [`world`] |
//! | what a verb answers, as one JSON object | [`answer`] |
//! | what is told when something is refused or fails | [`failure`] |
//! | where tests let a process die, or a benchmark switches off a rule of evidence | [`failpoint`], `lies` |

pub mod agents;
pub mod answer;
pub mod caller;
pub mod config;
pub mod failpoint;
pub mod failure;
pub mod git;
mod lies;
pub mod memory;
pub mod native_files;
pub mod process;
pub mod project;
pub mod runner;
pub mod session;
pub mod verbs;
pub mod world;

/// What is stored and decided: commands, events, rows, and the rules over them.
pub use piton_core as model;
/// Where it is stored.
pub use piton_store as store;

pub use failure::notice::Notice;
pub use failure::{CommandExit, Failure, Findings};
pub use piton_formats::problem;
pub use piton_formats::registry::describe_plan_kinds;
pub use world::World;
