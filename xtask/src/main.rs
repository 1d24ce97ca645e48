//! The tools of this repository: `cargo xtask tidy`, `measure`, `docs`, `book`, `test`, `explore`, `faults`.
//!
//! | command | does |
//! |---|---|
//! | `tidy` | holds layers, error pages, links and names to what is written down |
//! | `measure [NAME]` | prints the figures that `tidy` holds to their limits, or what counts for one |
//! | `docs [--check]` | writes `docs/cli.md`, `docs/mcp.md`, `docs/errors/README.md` and the end of `docs/SUMMARY.md`, or compares them |
//! | `book` | makes a book of the guide with mdbook, and looks at its links |
//! | `test` | everything that must pass before a change is merged |
//! | `explore --minutes N` | runs the random tests with fresh seeds until the time is over |
//! | `faults [NAME [--long]]` | runs a suite of faults, or lists the suites |
//!
//! Nothing of this ships with piton.

mod book;
mod check;
mod faults;
mod measure;
mod nextest;
mod program;
mod random;
mod reference;
mod terminal;
mod tidy;
mod tools;
mod tree;

use std::process::ExitCode;

use crate::faults::Form;

pub(crate) use terminal::{complain, say};

const USAGE: &str = "usage: cargo xtask tidy | measure [NAME] | docs [--check] | book
                   | test | explore --minutes N | faults [NAME [--long]]";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let root = tree::root();
    let done = match args.as_slice() {
        ["tidy"] => tidy::tidy(&root),
        ["measure"] => measure::print(&root, None),
        ["measure", name] => measure::print(&root, Some(name)),
        ["docs"] => reference::write(&root),
        ["docs", "--check"] => reference::compare(&root),
        ["book"] => book::build(&root),
        ["test"] => check::everything(&root),
        ["explore", "--minutes", minutes] => random::explore(&root, minutes),
        ["faults"] => {
            say(faults::list());
            Ok(())
        }
        ["faults", name] => faults::run_suite(&root, name, Form::Short),
        ["faults", name, "--long"] => faults::run_suite(&root, name, Form::Long),
        ["help" | "-h" | "--help"] => {
            say(USAGE);
            Ok(())
        }
        _ => {
            complain(USAGE);
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            complain(why);
            ExitCode::FAILURE
        }
    }
}
