//! `piton files merge-driver`.

use piton_engine::verbs::files::{self, DriverFiles};
use piton_engine::verbs::hook::settings::InstallAction;
use piton_engine::{CommandExit, Failure, World};

use super::format_count;
use super::hook::{Consent, ask_consent, color_diff};
use crate::args::{MergeDriverCommand, MergeDriverRun, MergeDriverSettings};
use crate::output::CliOutput;

pub(super) fn run_merge_driver_command(
    world: &World,
    command: &MergeDriverCommand,
    output: &mut CliOutput,
) -> Result<CommandExit, Failure> {
    match command {
        MergeDriverCommand::Install(typed) => {
            change_driver_settings(world, InstallAction::Install, typed, output)
        }
        MergeDriverCommand::Uninstall(typed) => {
            change_driver_settings(world, InstallAction::Uninstall, typed, output)
        }
        MergeDriverCommand::Run(typed) => run_merge_driver(world, typed, output),
    }
}

fn change_driver_settings(
    world: &World,
    wish: InstallAction,
    typed: &MergeDriverSettings,
    output: &mut CliOutput,
) -> Result<CommandExit, Failure> {
    let change = files::plan_driver_change(world, wish)?;
    let mut done = false;
    if !change.is_needed() {
        output.note(match wish {
            InstallAction::Install => "git merges native files with piton already",
            InstallAction::Uninstall => "git does not merge native files with piton",
        });
    } else {
        if output.json {
            output.note(&change.shown);
        } else {
            output.print_data(&color_diff(&change.shown));
        }
        match ask_consent(typed.yes, typed.dry_run, output)? {
            Consent::Given => {
                files::apply_driver_change(world, &change)?;
                done = true;
            }
            Consent::NotAsked => {}
            Consent::Refused => return Ok(CommandExit::No),
        }
    }
    if output.json {
        output.print_json(&serde_json::json!({
            "attributes": change.attributes.file,
            "changes": change.is_needed(),
            "done": done,
            "diff": change.shown,
        }));
    } else if done {
        output.note(match wish {
            InstallAction::Install => "git merges native files with piton from now on; commit .gitattributes, and type this in each clone",
            InstallAction::Uninstall => "git merges native files by their lines again",
        });
    }
    Ok(CommandExit::Done)
}

fn run_merge_driver(
    world: &World,
    typed: &MergeDriverRun,
    output: &mut CliOutput,
) -> Result<CommandExit, Failure> {
    let ours = typed.ours.to_string_lossy();
    let path = typed.path.as_deref().unwrap_or(&ours);
    let merged = files::merge_files(
        world,
        DriverFiles {
            base: &typed.base,
            ours: &typed.ours,
            theirs: &typed.theirs,
            marker_size: typed.marker_size,
            path,
        },
    )?;
    if output.json {
        output.print_json(&serde_json::json!({
            "path": path,
            "conflicts": merged.conflicts,
            "by_lines": merged.by_lines,
        }));
    } else {
        if let Some(why) = merged.by_lines {
            output.warning(&format!("{path} was merged by its lines: {why}"));
        }
        if merged.conflicts > 0 {
            output.note(&format!(
                "{path}: {} between marks, where the two sides contradict each other",
                format_count(merged.conflicts, "place")
            ));
        }
    }
    Ok(match (merged.conflicts, merged.by_lines) {
        (0, _) => CommandExit::Done,
        (_, None) => CommandExit::No,
        (_, Some(_)) => CommandExit::Damaged,
    })
}
