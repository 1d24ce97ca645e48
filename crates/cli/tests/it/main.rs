//! The `piton` command, tried as people use it.

#![expect(
    clippy::disallowed_methods,
    reason = "these tests start the command, and wait in real time for what it does"
)]
#![expect(clippy::print_stderr, reason = "what is skipped is said aloud")]

mod adoption;
mod another_plan;
mod archive;
mod at_work;
mod bad_input;
mod branches;
mod clones;
mod compile;
mod conformance;
mod control;
mod costs;
mod counts;
mod crash;
mod died;
mod dropped;
mod faults;
mod fence;
mod files;
mod flushes;
mod grown;
mod guide;
mod harness;
mod hints;
mod histories;
mod hook;
mod hostile_agents;
mod init;
mod issue_graphs;
mod issue_repositories;
mod issue_verbs;
mod iteration_hooks;
mod joining;
mod landing;
mod lane_files;
mod lane_plans;
mod lane_runs;
mod lane_work;
mod lanes;
mod lanes_at_size;
mod large;
mod last_words;
mod lately;
mod learn;
mod liveness;
mod logging;
mod lost_log;
mod many;
mod marks;
mod mcp;
mod memory;
mod merge_driver;
mod merged_marks;
mod morning;
mod next;
mod nights;
mod notify;
mod old_writers;
mod parallel;
mod people;
mod plan_commands;
mod plans;
mod prepare;
mod pull_requests;
mod questions;
mod reading;
mod real_agents;
mod recall;
mod record;
mod remembered;
mod requests;
mod run;
mod session;
mod signs;
mod states;
mod takeover;
mod terminal;
mod three_ways;
mod versions;
mod waits;
mod worktrees;
