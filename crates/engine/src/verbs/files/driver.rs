//! `piton files merge-driver`: native files merged by git as what they are.
//!
//! `run` looks at the three files that git names, and at nothing else.

use std::fs;
use std::path::Path;

use piton_formats::merge::attributes::{install, uninstall};
use piton_formats::merge::{ConflictMarks, MergeVersions, MergedText, merge};

use crate::agents::hook::settings::piton_command;
use crate::failure::{Failure, unreadable_file, unwritable_file};
use crate::git;
use crate::native_files::text_change::TextChange;
use crate::project::Project;
use crate::verbs::hook::settings::InstallAction;
use crate::world::World;
use crate::world::input;

const NAME: &str = "merge.piton.name";
const DRIVER: &str = "merge.piton.driver";
/// What the driver is called for people.
const TITLE: &str = "merge native files of agents as what they are";
/// What the command of a driver of piton ends with.
const COMMAND: &str = " files merge-driver run %O %A %B %L %P";

/// What would be done to the attributes and the configuration of a repository.
/// Nothing is done yet.
#[derive(Clone, Debug)]
pub struct DriverChange {
    /// `.gitattributes` in the root of the work tree.
    pub attributes: TextChange,
    settings: Vec<DriverSetting>,
    /// The change, for people.
    pub shown: String,
}

/// A setting of the repository's own configuration that changes.
#[derive(Clone, Debug)]
struct DriverSetting {
    key: &'static str,
    old: Option<String>,
    new: Option<String>,
}

impl DriverChange {
    /// Whether there is anything to do.
    #[must_use]
    pub fn is_needed(&self) -> bool {
        self.attributes.is_needed() || !self.settings.is_empty()
    }
}

/// Looks at what is to be done, and does nothing.
///
/// # Errors
///
/// Outside of a git work tree; when the attributes cannot be read; when another
/// driver is called piton.
pub fn plan_driver_change(world: &World, wish: InstallAction) -> Result<DriverChange, Failure> {
    let root = git::work_tree_root(&world.cwd)?;
    let project = Project::find(world, &world.cwd);
    let attributes = TextChange::compute(&project, root.join(".gitattributes"), |text| {
        Ok(match wish {
            InstallAction::Install => {
                Some(install(text)).filter(|new| text.is_some() || !new.is_empty())
            }
            InstallAction::Uninstall => text.and_then(uninstall),
        })
    })?;
    let get = |key| git::local_setting(&root, key);
    let (name, driver) = (get(NAME)?, get(DRIVER)?);
    let is_own = driver
        .as_ref()
        .is_none_or(|driver| driver.ends_with(COMMAND));
    if wish == InstallAction::Install && !is_own {
        let message =
            "another merge driver is called `piton` in the configuration of this repository";
        return Err(Failure::new("file.conflict", message)
            .with_hint("see it with `git config --local --get-regexp '^merge[.]piton[.]'`, and give it another name"));
    }
    let command = format!("{}{COMMAND}", piton_command(world).replace('%', "%%"));
    // A title that a person gave the driver stays.
    let (title, command) = match wish {
        InstallAction::Install => (name.clone().or(Some(TITLE.to_owned())), Some(command)),
        InstallAction::Uninstall => (name.clone().filter(|name| name != TITLE), None),
    };
    let new = [(NAME, name, title), (DRIVER, driver, command)];
    let settings = new.into_iter().filter(|_| is_own);
    let settings: Vec<DriverSetting> = settings
        .filter(|(_, old, new)| old != new)
        .map(|(key, old, new)| DriverSetting { key, old, new })
        .collect();
    let shown = render_change(&attributes, &settings);
    Ok(DriverChange {
        attributes,
        settings,
        shown,
    })
}

fn render_change(attributes: &TextChange, settings: &[DriverSetting]) -> String {
    let mut text = String::new();
    if attributes.is_needed() {
        text.push_str("--- .gitattributes\n+++ .gitattributes\n");
        text.push_str(&attributes.diff());
    }
    if !settings.is_empty() {
        text.push_str("--- git config --local\n+++ git config --local\n");
    }
    for setting in settings {
        for (sign, value) in [('-', &setting.old), ('+', &setting.new)] {
            if let Some(value) = value {
                text.push_str(&format!("{sign}{} = {value}\n", setting.key));
            }
        }
    }
    text
}

/// Does what [`plan_driver_change`] has shown.
///
/// # Errors
///
/// When the attributes or the configuration cannot be written, or
/// another program changed the attributes since.
pub fn apply_driver_change(world: &World, change: &DriverChange) -> Result<(), Failure> {
    if change.attributes.is_needed() {
        change.attributes.apply()?;
    }
    let root = git::work_tree_root(&world.cwd)?;
    for setting in &change.settings {
        git::set_local_setting(&root, setting.key, setting.new.as_deref())?;
    }
    Ok(())
}

/// What git hands to a driver.
#[derive(Clone, Copy, Debug)]
pub struct DriverFiles<'a> {
    /// The file of the version that both sides began with.
    pub base: &'a Path,
    /// That of our version, which is written over.
    pub ours: &'a Path,
    /// That of their version.
    pub theirs: &'a Path,
    /// How long a mark of a conflict is.
    pub marker_size: usize,
    /// The path of the file in the repository.
    pub path: &'a str,
}

/// Merges the files, and writes the outcome over ours.
///
/// # Errors
///
/// When a version cannot be read, or holds no text: ours is left alone then, so
/// that git keeps all three.
pub fn merge_files(world: &World, files: DriverFiles<'_>) -> Result<MergedText, Failure> {
    let read = |path: &Path| {
        let path = world.resolve_path(path);
        input::read_bytes(&path).map_err(|error| unreadable_file(&path, error))
    };
    let bytes = [read(files.base)?, read(files.ours)?, read(files.theirs)?];
    let marks = ConflictMarks {
        ours: "ours",
        theirs: "theirs",
        size: files.marker_size.max(1),
    };
    let mut texts = Vec::with_capacity(bytes.len());
    for bytes in bytes {
        let text = String::from_utf8(bytes).map_err(|error| {
            let message = format!("{} is no UTF-8 text in one of its versions", files.path);
            Failure::new("file.unreadable", message)
                .with_source(error)
                .with_hint("save its versions as UTF-8, or write by hand what holds of them, then `git add` it")
        })?;
        texts.push(text);
    }
    let versions = MergeVersions {
        base: &texts[0],
        ours: &texts[1],
        theirs: &texts[2],
    };
    let merged = merge(files.path, versions, marks);
    let target = world.resolve_path(files.ours);
    fs::write(&target, &merged.text).map_err(|error| unwritable_file(&target, error))?;
    Ok(merged)
}
