//! The `piton` command, tried as people use it.

mod compile;
mod crash;
mod faults;
mod harness;
mod memory;
mod people;
mod run;
mod states;
mod takeover;
