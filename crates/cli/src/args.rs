//! What can be typed, before the name of a command is: see [`crate::commands`].

mod deferred;
pub(crate) mod position;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{CommandFactory as _, Parser};

pub(crate) use self::deferred::Deferred;
use crate::commands::{CliCommand, help_template};

/// Durable state, memory and control underneath autonomous coding agents.
///
/// Agents fall; their progress doesn't.
#[derive(Debug, Parser)]
#[command(name = "piton", version, arg_required_else_help = true, max_term_width = 100, after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Print data as JSON
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Append a log of every step to this file
    #[arg(long, alias = "log", global = true, value_name = "FILE")]
    pub(crate) debug_log: Option<PathBuf>,
    #[command(subcommand)]
    pub(crate) command: CliCommand,
}

/// The command line with the help of `piton` itself, which clap alone cannot group.
pub(crate) fn describe_command_line() -> clap::Command {
    let described = Args::command();
    let template = help_template(described.get_styles());
    described.help_template(template)
}

/// Whether what was typed asks for JSON, even where it is not understood.
pub(crate) fn is_json_requested(typed: impl Iterator<Item = OsString>) -> bool {
    typed
        .take_while(|word| word != "--")
        .any(|word| word == "--json")
}

const EXAMPLES: &str = "Examples:
  piton run sprints/2026-01-15_auth --agent claude
  piton status
  piton inbox
  piton decide d1 answer 'use the staging key'

Exit status: 0 done, 1 the answer is no, 2 usage, 3 waits for a person, 4 busy,
5 a limit was reached, 6 state is damaged, 7 the environment failed, 130 interrupted.";
