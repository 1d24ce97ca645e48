//! The `piton` command: arguments in, one verb called, output and exit status out.
//!
//! Everything that is printed goes through [`output`]; everything that is done
//! is a verb of `piton_engine`.

mod args;
mod commands;
mod consent;
mod detached;
mod input;
mod invocation;
mod logging;
mod output;
mod show;

use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{CommandFactory as _, FromArgMatches as _};
use piton_engine::config::Config;
use piton_engine::process::survive_file_size_limit;
use piton_engine::project::Project;
use piton_engine::{CommandExit, Failure, World};

use crate::args::Args;
use crate::output::CliOutput;

fn main() -> ExitCode {
    // Where it cannot be had, a large file ends the process as it did before.
    survive_file_size_limit().ok();
    if let Some(hook) = commands::hook::parse_hook_call(std::env::args_os()) {
        return commands::hook::run_hook(&hook);
    }
    let args = match parse_args() {
        Ok(args) => args,
        Err(error) => {
            return output::print_clap_error(&error, args::is_json_requested(std::env::args_os()));
        }
    };
    let mut output = CliOutput::new(args.json);
    let exit = match World::from_environment() {
        Ok(world) => {
            output.detect_terminal(&world.env);
            let done = run_with_config(&world, args, &mut output);
            for warning in world.drain_warnings() {
                output.print_warning(&warning);
            }
            done.unwrap_or_else(|failure| {
                tracing::error!(code = failure.code, "{failure}");
                output.print_failure(&failure);
                failure.exit_status()
            })
        }
        Err(error) => {
            let failure = Failure::new("file.unreadable", "the present folder cannot be read")
                .with_source(error)
                .with_hint("change to a folder that exists");
            output.print_failure(&failure);
            CommandExit::Damaged
        }
    };
    output.exit_code(exit)
}

/// The command line. What describes it lives as long as the process: to take it
/// apart costs a short command as much as half of making it.
fn parse_args() -> Result<Args, clap::Error> {
    let described = Box::leak(Box::new(Args::command()));
    let mut found = described
        .try_get_matches_from_mut(std::env::args_os())
        .map_err(describe_help)?;
    Args::from_arg_matches_mut(&mut found).map_err(|error| error.format(described))
}

/// Help as the whole command line describes it: only who asks for it pays for that.
fn describe_help(error: clap::Error) -> clap::Error {
    let asks = [
        ErrorKind::DisplayHelp,
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand,
    ];
    if !asks.contains(&error.kind()) {
        return error;
    }
    let typed = std::env::args_os();
    let described = args::describe_command_line().try_get_matches_from(typed);
    described.err().unwrap_or(error)
}

fn run_with_config(
    world: &World,
    args: Args,
    output: &mut CliOutput,
) -> Result<CommandExit, Failure> {
    // The command that needs the configuration reports what is wrong with it.
    let config = if args.command.needs_config() {
        Config::load(&Project::find(world, &world.cwd)).unwrap_or_default()
    } else {
        Config::default()
    };
    let world = &world.with_agent_secrets(config.agent_variables());
    if let Some(path) = &args.debug_log {
        logging::log_to_file(world, path)?;
    }
    let exit = commands::run_command(world, args.command, output, args::describe_command_line)?;
    tracing::info!(exit = exit as i32, "piton ends");
    Ok(exit)
}
