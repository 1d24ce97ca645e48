//! `piton store`.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Subcommand};
use piton_engine::caller::{CommandAccess, Permission};
use piton_engine::model::amount::format_size;
use piton_engine::verbs::store::{self, StoreInfo};
use piton_engine::{CommandExit, Failure, World};

use crate::invocation::{Invocation, TypedCommand};
use crate::output::CliOutput;
use crate::show::count::format_count;

#[derive(Debug, ClapArgs)]
pub(crate) struct StoreArgs {
    #[command(subcommand)]
    command: StoreCommand,
}

#[derive(Debug, Subcommand)]
enum StoreCommand {
    /// Show the path and the size of the store
    #[command(after_help = "Examples:\n  piton store info\n  piton store info --json | jq .events")]
    Info,
    /// Back up the store to a file, even during writes
    #[command(after_help = "Example:\n  piton store backup ../auth-$(date +%F).db")]
    Backup {
        /// The file, which must not exist yet
        file: PathBuf,
    },
    /// Replace the store with a backup; the old one is kept
    #[command(after_help = "Example:\n  piton store restore ../auth-2026-01-15.db")]
    Restore {
        /// A file that `piton store backup` wrote
        file: PathBuf,
    },
}

impl TypedCommand for StoreArgs {
    const ABOUT: &'static str = "Inspect, back up and restore the store";
    const AFTER_HELP: &'static str =
        "Examples:\n  piton store info\n  piton store backup ../auth.db";

    fn permission(&self) -> Permission {
        match &self.command {
            StoreCommand::Info => Permission::new("piton store info", CommandAccess::Read),
            StoreCommand::Backup { .. } => {
                Permission::new("piton store backup", CommandAccess::Person)
            }
            StoreCommand::Restore { .. } => {
                Permission::new("piton store restore", CommandAccess::Person)
            }
        }
    }

    fn run(self, call: &mut Invocation<'_>) -> Result<CommandExit, Failure> {
        match self.command {
            StoreCommand::Info => call.print(&store::info(call.world)?, show_info),
            StoreCommand::Backup { file } => {
                let copy = store::backup(call.world, &file)?;
                call.print(&copy, |copy, _, output| {
                    output.print_note(&format!("wrote {}", copy.wrote.display()));
                });
            }
            StoreCommand::Restore { file } => {
                let restored = store::restore(call.world, &file)?;
                call.print(&restored, |restored, _, output| {
                    output.print_note(&format!("restored {}", restored.store.display()));
                    if let Some(kept) = &restored.kept {
                        output
                            .print_note(&format!("the former store is kept as {}", kept.display()));
                    }
                });
            }
        }
        Ok(CommandExit::Done)
    }
}

fn show_info(info: &StoreInfo, _: &World, output: &mut CliOutput) {
    output.print_data(&format!(
        "{}\n{}, of them {} not yet checkpointed\n{} in {}, {}, {} of sessions\nschema {}, SQLite {}\n",
        info.path.display(),
        format_size(info.bytes + info.wal_bytes),
        format_size(info.wal_bytes),
        format_count(info.events, "event"),
        format_count(info.streams, "stream"),
        format_count(info.runs, "run"),
        format_count(info.entries, "entry"),
        info.schema_version,
        info.database_version
    ));
}
