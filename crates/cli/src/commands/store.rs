//! `piton store`.

use std::path::{Path, PathBuf};

use clap::{Args as ClapArgs, Subcommand};
use piton_engine::caller::{CommandAccess, Permission};
use piton_engine::model::amount::format_size;
use piton_engine::verbs::store::{self, MovedStore, RebuildStep, RebuiltStore, StoreInfo};
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
    /// Make the views anew from the journal; the old store is kept
    #[command(
        after_help = "The command for a store whose views `piton journal verify` finds damaged. Events are\nnever changed; where they are damaged themselves, nothing is.\n\nExample:\n  piton store rebuild"
    )]
    Rebuild,
    /// Move the store from the work tree into git's folder, out of reach of `git clean`
    #[command(
        after_help = "The command for a project that an older piton began, whose store lies in `.piton/`. Settings\nand lanes stay there. Refused while a run or another command uses the store; after an\ninterruption it is typed again.\n\nExample:\n  piton store move"
    )]
    Move,
    /// Replace the store with a backup; the old one is kept
    #[command(after_help = "Example:\n  piton store restore ../auth-2026-01-15.db")]
    Restore {
        /// A file that `piton store backup` wrote
        file: PathBuf,
    },
}

impl TypedCommand for StoreArgs {
    const ABOUT: &'static str = "Inspect, back up, restore, rebuild and move the store";
    const AFTER_HELP: &'static str =
        "Examples:\n  piton store info\n  piton store backup ../auth.db";

    fn permission(&self) -> Permission {
        match &self.command {
            StoreCommand::Info => Permission::new("piton store info", CommandAccess::Read),
            StoreCommand::Backup { .. } => {
                Permission::new("piton store backup", CommandAccess::Person)
            }
            StoreCommand::Rebuild => Permission::new("piton store rebuild", CommandAccess::Person),
            StoreCommand::Move => Permission::new("piton store move", CommandAccess::Person),
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
            StoreCommand::Rebuild => {
                let output = &mut *call.output;
                let rebuilt = store::rebuild(call.world, &mut |step| {
                    if output.is_live() {
                        output.show_live(|_| vec![describe_step(step).to_owned()]);
                    }
                })?;
                call.print(&rebuilt, show_rebuilt);
            }
            StoreCommand::Move => call.print(&store::move_to_git(call.world)?, show_moved),
            StoreCommand::Restore { file } => {
                let restored = store::restore(call.world, &file)?;
                call.print(&restored, |restored, _, output| {
                    output.print_note(&format!("restored {}", restored.store.display()));
                    show_former(restored.kept.as_deref(), &restored.removed, output);
                });
            }
        }
        Ok(CommandExit::Done)
    }
}

fn describe_step(step: RebuildStep) -> &'static str {
    match step {
        RebuildStep::CopyJournal => "copying the journal",
        RebuildStep::FoldViews => "making the views anew",
        RebuildStep::Verify => "verifying the copy",
        RebuildStep::Exchange => "putting it in place",
    }
}

fn show_rebuilt(rebuilt: &RebuiltStore, _: &World, output: &mut CliOutput) {
    output.print_note(&format!(
        "rebuilt {}: {}, {} of views",
        rebuilt.store.display(),
        format_count(rebuilt.events, "event"),
        format_count(rebuilt.rows, "row")
    ));
    show_former(rebuilt.kept.as_deref(), &rebuilt.removed, output);
}

/// What became of the store that another one took the place of, and of older ones.
fn show_former(kept: Option<&Path>, removed: &[PathBuf], output: &mut CliOutput) {
    if let Some(kept) = kept {
        output.print_note(&format!("the former store is kept as {}", kept.display()));
    }
    for path in removed {
        output.print_note(&format!(
            "removed {}: the last three are kept, and others have all its events",
            path.display()
        ));
    }
}

fn show_moved(moved: &MovedStore, _: &World, output: &mut CliOutput) {
    let home = moved.home.display();
    output.print_note(&match &moved.from {
        None => format!("the store lies in {home} already"),
        Some(from) => format!(
            "moved the store from {} to {home}: {}, {}",
            from.display(),
            format_count(moved.files, "file"),
            format_size(moved.bytes)
        ),
    });
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
