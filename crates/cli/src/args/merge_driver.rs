//! What can be typed of the merge driver of git.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Subcommand};

#[derive(Debug, Subcommand)]
pub(crate) enum MergeDriverCommand {
    /// Let git merge native files as what they are; shows the change first
    #[command(
        after_help = "The attributes are those of the repository, so that they can be committed; the driver stands in\nits configuration, which each clone has for itself. Lines of yours hold. It can be repeated.\n\nExamples:\n  piton files merge-driver install --dry-run\n  piton files merge-driver install --yes"
    )]
    Install(MergeDriverSettings),
    /// Take the driver out again; shows the change first
    #[command(
        after_help = "What `install` did is undone to the byte; lines of yours stay.\n\nExample:\n  piton files merge-driver uninstall --yes"
    )]
    Uninstall(MergeDriverSettings),
    /// Merge three versions of a file, as git asks its drivers to
    #[command(
        after_help = "Ends with 0 when all is merged, with 1 when contradictions stand between marks in OURS, and with\n6 when a version could not be read as what it is: then it is merged by lines.\n\nExamples:\n  git merge feature\n  piton files merge-driver run base.json ours.json theirs.json 7 prd.json"
    )]
    Run(MergeDriverRun),
}

#[derive(Debug, ClapArgs)]
pub(crate) struct MergeDriverSettings {
    /// Ask nothing
    #[arg(long, short)]
    pub(crate) yes: bool,
    /// Show the change, and do nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct MergeDriverRun {
    /// The version that both sides began with
    pub(crate) base: PathBuf,
    /// Our version, which is written over
    pub(crate) ours: PathBuf,
    /// Their version
    pub(crate) theirs: PathBuf,
    /// How long the marks of a conflict are
    #[arg(default_value_t = 7)]
    pub(crate) marker_size: usize,
    /// The path of the file in the repository [default: OURS]
    pub(crate) path: Option<String>,
}
