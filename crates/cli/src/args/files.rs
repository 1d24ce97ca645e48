//! What can be typed of native files.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Subcommand};

use super::MergeDriverCommand;

#[derive(Debug, ClapArgs)]
pub(crate) struct InitArgs {
    /// Ask nothing
    #[arg(long, short)]
    pub(crate) yes: bool,
    /// Keep the files of a format up to date that are not there, too: ralph-json,
    /// agent-os or ralph-dir; as often as needed
    #[arg(long, value_name = "NAME", action = clap::ArgAction::Append)]
    pub(crate) with: Vec<String>,
    /// Say what would be done, and do nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// End with 1 if something in the files is not taken
    #[arg(long)]
    pub(crate) strict: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum FilesCommand {
    /// List the native files of the project, and where each stands
    #[command(
        after_help = "Examples:\n  piton files list\n  piton files list --json | jq -r '.[] | select(.standing == \"asked\") | .path'"
    )]
    List {
        /// End with 1 if something in the files is not taken
        #[arg(long)]
        strict: bool,
    },
    /// Say what is wrong with native files and what of them is taken, and write nothing
    #[command(
        after_help = "Examples:\n  piton files check .ralph/progress.json prd.json\n  piton files check --strict sprints/2026-01-15_auth/PROGRESS.yaml"
    )]
    Check {
        /// Judge them by the format to the letter; end with 1 if something is not taken
        #[arg(long)]
        strict: bool,
        /// The files
        #[arg(required = true)]
        files: Vec<PathBuf>,
    },
    /// Print the JSON Schema of a format
    #[command(
        after_help = "Formats: ralph-json, agent-os, sdlc, prd-features, prd-user-stories, sprint,\nsprint-progress, workflow.\n\nExample:\n  piton files schema ralph-json > progress.schema.json"
    )]
    Schema {
        /// The format
        format: String,
    },
    /// Take in what others wrote into native files, and bring all up to date
    #[command(after_help = "Example:\n  piton files sync")]
    Sync,
    /// Print what one file says in the form of another, and what that has no place for
    #[command(
        after_help = "Logs: ralph-json, agent-os, ralph-progress. Plans: sprint-progress, prd-features,\nprd-user-stories, task-file, sdlc.\n\nExamples:\n  piton files convert --from prd-features --to task-file -o RALPH_TASK.md\n  piton files convert --from ralph-json --to agent-os\n  piton files convert --from agent-os --to ralph-json --input old.json -o progress.json"
    )]
    Convert {
        /// The format of the file
        #[arg(long, value_name = "FORMAT")]
        from: String,
        /// The format that is wanted
        #[arg(long, value_name = "FORMAT")]
        to: String,
        /// The file [default: where the format keeps its file]
        #[arg(long, value_name = "FILE")]
        input: Option<PathBuf>,
        /// Where to write, which must not be there yet; `-` is stdout
        #[arg(short, long, value_name = "FILE", default_value = "-")]
        output: PathBuf,
        /// Exit with status 1 when something is lost
        #[arg(long)]
        strict: bool,
    },
    /// Take over what older layouts hold: progress.txt
    #[command(after_help = "Example:\n  piton files migrate")]
    Migrate,
    /// Let git merge native files as what they are
    #[command(
        subcommand,
        after_help = "Examples:\n  piton files merge-driver install\n  piton files merge-driver uninstall"
    )]
    MergeDriver(MergeDriverCommand),
}
