//! Which run the file of a plan shows. Nothing here writes.

use piton_core::{RunId, RunRow};
use piton_formats::plan_file::PlanFile;
use piton_formats::registry::plan_format;

use super::synced_file::{is_last_version, read_last_version};
use crate::project::Project;

/// The run whose plan stands in the file that `source` names: the last one of
/// that source, unless the file holds another plan than that run had written
/// into it; then the last one of which it does not. None where it holds a plan
/// that no run knows.
pub(crate) fn run_of_file<'r>(
    project: &Project,
    runs: &'r [RunRow],
    source: &str,
) -> Option<&'r RunRow> {
    let mut of_source = runs.iter().rev().filter(|row| row.plan.source == source);
    of_source.find(|row| !has_other_plan(project, row))
}

/// Whether the file of a run is, by what the system says of it, as piton wrote it
/// last. Reads no more than the stamp.
pub(crate) fn is_unchanged_since_write(project: &Project, row: &RunRow) -> bool {
    let target = PlanFile::path_of_run(row).map(|path| project.absolute_path(&path));
    target.is_some_and(|target| is_last_version(&project.home, &stamp_key(row.id), &target))
}

pub(super) fn has_other_plan(project: &Project, row: &RunRow) -> bool {
    let Some((format, path)) = plan_format(&row.plan.face).zip(PlanFile::path_of_run(row)) else {
        return false;
    };
    if is_unchanged_since_write(project, row) {
        return false;
    }
    let base = read_last_version(&project.home, &stamp_key(row.id));
    let now = project.read_text(&project.absolute_path(&path)).ok();
    base.zip(now)
        .is_some_and(|(base, now)| base != now && format.is_replaced(&base, &now))
}

/// What piton wrote of the file of a run: where that is kept.
pub(super) fn stamp_key(run: RunId) -> String {
    run.to_string()
}
