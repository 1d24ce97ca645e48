//! `piton files merge-driver`.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Subcommand};
use piton_engine::verbs::files::{self, DriverFiles};
use piton_engine::verbs::hook::settings::InstallAction;
use piton_engine::{CommandExit, Failure, name_schema};
use serde::Serialize;

use crate::consent::{Consent, ask_consent, color_diff};
use crate::invocation::Invocation;
use crate::show::count::format_count;

#[derive(Debug, Subcommand)]
pub(super) enum MergeDriverCommand {
    /// Install the merge driver; show the change first
    #[command(
        after_help = "The attributes are written to .gitattributes, so that you can commit them; the driver is written\nto the git configuration, which each clone has for itself. Your own lines about the same patterns\nstay in force. The command can be repeated.\n\nExamples:\n  piton files merge-driver install --dry-run\n  piton files merge-driver install --yes"
    )]
    Install(MergeDriverSettings),
    /// Uninstall the merge driver; show the change first
    #[command(
        after_help = "Undoes `install` byte for byte; your own lines stay.\n\nExample:\n  piton files merge-driver uninstall --yes"
    )]
    Uninstall(MergeDriverSettings),
    /// Merge three versions of a file, as a git merge driver
    #[command(
        after_help = "Exit status: 0 if everything was merged, 1 if OURS contains conflict markers, 6 if a version\ncould not be parsed in its format; it is then merged by lines.\n\nExamples:\n  git merge feature\n  piton files merge-driver run base.json ours.json theirs.json 7 prd.json"
    )]
    Run(MergeDriverRun),
}

#[derive(Debug, ClapArgs)]
pub(super) struct MergeDriverSettings {
    /// Do not ask for confirmation
    #[arg(long, short)]
    yes: bool,
    /// Show the change without making it
    #[arg(long)]
    pub(super) dry_run: bool,
}

#[derive(Debug, ClapArgs)]
pub(super) struct MergeDriverRun {
    /// The common ancestor of both versions
    base: PathBuf,
    /// Our version, which is overwritten with the result
    ours: PathBuf,
    /// Their version
    theirs: PathBuf,
    /// The length of conflict markers
    #[arg(default_value_t = 7)]
    marker_size: usize,
    /// The path of the file in the repository [default: OURS]
    path: Option<String>,
}

impl MergeDriverCommand {
    pub(super) fn run(self, call: &mut Invocation<'_>) -> Result<CommandExit, Failure> {
        match self {
            Self::Install(typed) => change_settings(InstallAction::Install, &typed, call),
            Self::Uninstall(typed) => change_settings(InstallAction::Uninstall, &typed, call),
            Self::Run(typed) => merge_files(&typed, call),
        }
    }
}

/// What would become of the attributes and the configuration, and whether that was done.
#[derive(Serialize)]
struct DriverAnswer {
    attributes: PathBuf,
    changes: bool,
    done: bool,
    diff: String,
}

name_schema!(DriverAnswer, "piton.files.merge-driver/1");

fn change_settings(
    wish: InstallAction,
    typed: &MergeDriverSettings,
    call: &mut Invocation<'_>,
) -> Result<CommandExit, Failure> {
    let change = files::plan_driver_change(call.world, wish)?;
    let mut done = false;
    if !change.is_needed() {
        call.output.print_note(match wish {
            InstallAction::Install => "git merges native files with piton already",
            InstallAction::Uninstall => "git does not merge native files with piton",
        });
    } else {
        if call.output.json {
            call.output.print_note(&change.shown);
        } else {
            call.output.print_long_data(&color_diff(&change.shown));
        }
        match ask_consent(typed.yes, typed.dry_run, call.output)? {
            Consent::Given => {
                files::apply_driver_change(call.world, &change)?;
                done = true;
            }
            Consent::NotAsked => {}
            Consent::Refused => return Ok(CommandExit::No),
        }
    }
    let answer = DriverAnswer {
        attributes: change.attributes.file.clone(),
        changes: change.is_needed(),
        done,
        diff: change.shown,
    };
    call.print(&answer, |answer, _, output| {
        if answer.done {
            output.print_note(match wish {
                InstallAction::Install => "git merges native files with piton from now on; commit .gitattributes, and type this in each clone",
                InstallAction::Uninstall => "git merges native files by their lines again",
            });
        }
    });
    Ok(CommandExit::Done)
}

/// What became of a merge.
#[derive(Serialize)]
struct MergeAnswer<'m> {
    path: &'m str,
    conflicts: usize,
    by_lines: Option<&'static str>,
}

name_schema!(MergeAnswer<'_>, "piton.files.merge/1");

fn merge_files(typed: &MergeDriverRun, call: &mut Invocation<'_>) -> Result<CommandExit, Failure> {
    let ours = typed.ours.to_string_lossy();
    let path = typed.path.as_deref().unwrap_or(&ours);
    let merged = files::merge_files(
        call.world,
        DriverFiles {
            base: &typed.base,
            ours: &typed.ours,
            theirs: &typed.theirs,
            marker_size: typed.marker_size,
            path,
        },
    )?;
    let answer = MergeAnswer {
        path,
        conflicts: merged.conflicts,
        by_lines: merged.by_lines,
    };
    call.print(&answer, |answer, _, output| {
        if let Some(why) = answer.by_lines {
            output.print_warning(&format!("{path} was merged by its lines: {why}"));
        }
        if answer.conflicts > 0 {
            output.print_note(&format!(
                "{path}: {} between marks, where the two sides contradict each other",
                format_count(answer.conflicts, "place")
            ));
        }
    });
    Ok(match (merged.conflicts, merged.by_lines) {
        (0, _) => CommandExit::Done,
        (_, None) => CommandExit::No,
        (_, Some(_)) => CommandExit::Damaged,
    })
}
