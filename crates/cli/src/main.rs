//! The `piton` command: arguments in, one verb called, output and exit status out.
//!
//! Everything that is printed goes through [`output`]; everything that is done
//! is a verb of `piton_engine`.

mod args;
mod commands;
mod logging;
mod output;
mod show;

use std::process::ExitCode;

use clap::{CommandFactory as _, FromArgMatches as _};
use piton_engine::config::Config;
use piton_engine::project::Project;
use piton_engine::{Exit, Failure, World};

use crate::args::Args;
use crate::output::Output;

fn main() -> ExitCode {
    if let Some(event) = args::hook_event(std::env::args_os()) {
        return commands::hook::heard(event.as_deref());
    }
    let args = match parse() {
        Ok(args) => args,
        Err(error) => return output::usage(&error, args::asks_for_json(std::env::args_os())),
    };
    let mut output = Output::new(args.json);
    let exit = match World::real() {
        Ok(world) => call(&world, args, &mut output).unwrap_or_else(|failure| {
            tracing::error!(code = failure.code, "{failure}");
            output.failure(&failure);
            failure.exit()
        }),
        Err(error) => {
            let failure = Failure::new("file.unreadable", "the present folder cannot be read")
                .because(error)
                .hint("change to a folder that exists");
            output.failure(&failure);
            Exit::Damaged
        }
    };
    output.end(exit)
}

/// The command line. What describes it lives as long as the process: to take it
/// apart costs a short command as much as half of making it.
fn parse() -> Result<Args, clap::Error> {
    let described = Box::leak(Box::new(Args::command()));
    let mut found = described.try_get_matches_from_mut(std::env::args_os())?;
    Args::from_arg_matches_mut(&mut found).map_err(|error| error.format(described))
}

fn call(world: &World, args: Args, output: &mut Output) -> Result<Exit, Failure> {
    // Whoever needs the configuration says what is wrong with it.
    let config = if args.command.is_merge() {
        // git starts it for each file of a merge; it looks at these files alone.
        Config::default()
    } else {
        Config::load(&Project::find(world, &world.cwd)).unwrap_or_default()
    };
    let world = &world.knowing(&config);
    if let Some(path) = &args.log {
        logging::to_file(world, path)?;
    }
    let exit = commands::call(world, args, output)?;
    tracing::info!(exit = exit as i32, "piton ends");
    Ok(exit)
}
