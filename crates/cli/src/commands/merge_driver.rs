//! `piton files merge-driver`.

use piton_engine::verbs::files::{self, DriverFiles};
use piton_engine::verbs::hook::settings::Wish;
use piton_engine::{Exit, Failure, World};

use super::count;
use super::hook::{Consent, colored, consent};
use crate::args::{MergeDriverCommand, MergeDriverRun, MergeDriverSettings};
use crate::output::Output;

pub(super) fn merge_driver(
    world: &World,
    command: &MergeDriverCommand,
    output: &mut Output,
) -> Result<Exit, Failure> {
    match command {
        MergeDriverCommand::Install(typed) => settings(world, Wish::Install, typed, output),
        MergeDriverCommand::Uninstall(typed) => settings(world, Wish::Uninstall, typed, output),
        MergeDriverCommand::Run(typed) => run(world, typed, output),
    }
}

fn settings(
    world: &World,
    wish: Wish,
    typed: &MergeDriverSettings,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let change = files::look_at_driver(world, wish)?;
    let mut done = false;
    if !change.is_needed() {
        output.note(match wish {
            Wish::Install => "git merges native files with piton already",
            Wish::Uninstall => "git does not merge native files with piton",
        });
    } else {
        if output.json {
            output.note(&change.shown);
        } else {
            output.data(&colored(&change.shown));
        }
        match consent(typed.yes, typed.dry_run, output)? {
            Consent::Given => {
                files::apply_driver(world, &change)?;
                done = true;
            }
            Consent::NotAsked => {}
            Consent::Refused => return Ok(Exit::No),
        }
    }
    if output.json {
        output.json(&serde_json::json!({
            "attributes": change.attributes.file,
            "changes": change.is_needed(),
            "done": done,
            "diff": change.shown,
        }));
    } else if done {
        output.note(match wish {
            Wish::Install => "git merges native files with piton from now on; commit .gitattributes, and type this in each clone",
            Wish::Uninstall => "git merges native files by their lines again",
        });
    }
    Ok(Exit::Done)
}

fn run(world: &World, typed: &MergeDriverRun, output: &mut Output) -> Result<Exit, Failure> {
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
        output.json(&serde_json::json!({
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
                count(merged.conflicts, "place")
            ));
        }
    }
    Ok(match (merged.conflicts, merged.by_lines) {
        (0, _) => Exit::Done,
        (_, None) => Exit::No,
        (_, Some(_)) => Exit::Damaged,
    })
}
