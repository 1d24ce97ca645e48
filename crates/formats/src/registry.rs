//! The registry of formats: the one place that knows which there are.
//!
//! A family is a folder of this crate and a line in `lib.rs`. What is asked of a
//! format of plans stands in [`PlanFormat`], what of one of files of the project
//! in [`ProjectFormat`]; rows and events name either by its `face`.

use piton_core::native::Native;
use piton_core::plan::Plan;
use piton_core::{RunId, RunRow};

use crate::plan_format::{ItemUnit, NewItem, PlanFormat, PlanKind, PromptTemplates};
use crate::project_format::{LegacyFile, ProjectFile, ProjectFormat};
use crate::sprint;

/// The formats of plans.
#[must_use]
pub fn plan_formats() -> &'static [&'static PlanFormat] {
    crate::PLANS
}

/// The format of plans that rows call so.
#[must_use]
pub fn plan_format(face: &str) -> Option<&'static PlanFormat> {
    let mut known = plan_formats().iter().copied();
    known.find(|format| format.name == face)
}

/// The project's own list, with its first item.
#[must_use]
pub fn new_own_list(run: RunId, first: &NewItem) -> Plan {
    crate::list::plan_of_list(run, first)
}

/// Whether a run is the project's own list, which no file shows.
#[must_use]
pub fn is_own_list(run: &RunRow) -> bool {
    run.plan.face == crate::list::FACE
}

/// What the items of a plan of this format are called.
#[must_use]
pub fn item_unit(face: &str) -> ItemUnit {
    plan_format(face).map_or_else(ItemUnit::default, |format| format.unit)
}

/// The kind of a plan of this format; a sprint where the format is unknown.
#[must_use]
pub fn plan_kind(face: &str) -> PlanKind {
    plan_format(face).map_or(PlanKind::Sprint, |format| format.kind)
}

/// What a plan is, in the words of an example of each: "a PLAN.md or a list".
#[must_use]
pub fn describe_plan_kinds() -> String {
    let examples: Vec<&str> = plan_formats()
        .iter()
        .filter_map(|format| format.finding.example)
        .collect();
    match examples.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        Some((last, _)) => (*last).to_owned(),
        None => String::new(),
    }
}

/// What the roles of all plans are called.
#[must_use]
pub fn role_names() -> Vec<&'static str> {
    let phases = plan_formats().iter().filter_map(|format| format.phases);
    phases.flat_map(|phases| (phases.role_names)()).collect()
}

/// The families of files of the project.
#[must_use]
pub fn project_formats() -> &'static [&'static ProjectFormat] {
    crate::PROJECT_FILES
}

/// Every file of the project that can be a face.
pub fn project_files() -> impl Iterator<Item = &'static ProjectFile> {
    let families = project_formats().iter();
    families.flat_map(|family| family.files)
}

/// The one at that path.
#[must_use]
pub fn project_file_at(path: &str) -> Option<&'static ProjectFile> {
    project_files().find(|file| file.path == path)
}

/// Every file of earlier layouts that can be taken over.
pub fn legacy_files() -> impl Iterator<Item = &'static LegacyFile> {
    let families = project_formats().iter();
    families.flat_map(|family| family.old_files)
}

impl PromptTemplates {
    /// Those of a plan of this format, at `source`.
    #[must_use]
    pub fn of_plan(face: &str, native: Option<&Native>, source: &str) -> Self {
        let format = plan_format(face);
        format.map_or_else(Self::default, |format| {
            (format.words.templates)(native, source)
        })
    }

    /// Which files to leave alone.
    #[must_use]
    pub fn file_rules(&self) -> &str {
        self.files.as_deref().unwrap_or(sprint::FILES)
    }
}
