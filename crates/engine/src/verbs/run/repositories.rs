//! In which repositories a plan is to be worked on: so far in the one where its file
//! lies.

use std::path::Path;

use piton_formats::plan_file::PlanFile;
use piton_formats::plan_format::{RunRepo, RunRepos};
use piton_formats::registry::plan_format;

use super::Plan;
use crate::failure::Failure;
use crate::input;
use crate::project::Project;
use crate::world::World;

/// Refuses a plan of which something is to be done in another repository.
///
/// # Errors
///
/// When there is such a thing.
pub(super) fn refuse_others(
    world: &World,
    project: &Project,
    (face, source): Plan<'_>,
) -> Result<(), Failure> {
    let phases = plan_format(face).and_then(|format| format.phases);
    let (Some(phases), Some(path)) = (phases, PlanFile::path_of(face, source)) else {
        return Ok(());
    };
    let file = project.absolute(&path);
    let folder = file.parent().unwrap_or(&project.root);
    let Ok(text) = input::read_text(&file) else {
        // What cannot be read is told when it is read as a plan.
        return Ok(());
    };
    let manifest = input::read_text(&folder.join(phases.manifest)).ok();
    let found = (phases.repositories)(&text, manifest.as_deref());
    match others(world, project, folder, &found).as_slice() {
        [] => Ok(()),
        others => Err(refusal(&path, project, &found, others)),
    }
}

/// Refuses to begin a run of which something is to be done in another repository:
/// `piton run` would refuse it. `typed` is its file, which lies in `folder`.
///
/// # Errors
///
/// When there is such a thing.
pub(in crate::verbs) fn refuse_to_begin(
    world: &World,
    project: &Project,
    (typed, folder): (&str, &Path),
    found: &RunRepos,
) -> Result<(), Failure> {
    let others = others(world, project, folder, found);
    if others.is_empty() {
        return Ok(());
    }
    let what = in_others(typed, project, &others);
    let manifest = found.manifest.unwrap_or("the manifest");
    Err(Failure::new("plan.unsupported", what).hint(format!(
        "runs over several repositories come later; begin one in each of them, with a {manifest} that names that repository alone, with `path: .`"
    )))
}

/// The repositories of a run that are not this one.
fn others<'r>(
    world: &World,
    project: &Project,
    folder: &Path,
    found: &'r RunRepos,
) -> Vec<&'r RunRepo> {
    let is_other = |repo: &&RunRepo| match &repo.path {
        Some(path) => !is_this(world, project, &folder.join(path)),
        None => found.manifest.is_some() || found.repos.len() > 1,
    };
    found.repos.iter().filter(is_other).collect()
}

/// Whether a path leads into the repository of the project, in whichever of its work
/// trees.
fn is_this(world: &World, project: &Project, path: &Path) -> bool {
    let Ok(path) = path.canonicalize() else {
        return false;
    };
    let there = Project::find(world, &path);
    let is_named = world.var("PITON_PROJECT").is_some();
    there.work_tree == project.work_tree || (!is_named && there.home == project.home)
}

fn refusal(path: &str, project: &Project, found: &RunRepos, others: &[&RunRepo]) -> Failure {
    let what = in_others(path, project, others);
    let hint = match (others, found.manifest) {
        ([one], Some(manifest)) if one.path.is_none() => format!(
            "name `{}` in {manifest}, with `path: .` if it is this one",
            one.name
        ),
        ([one], Some(manifest)) => format!(
            "copy {path} into that repository, with a {manifest} that names `{}` with `path: .`, and type `piton run` with that file; runs over several repositories come later",
            one.name
        ),
        _ => "runs over several repositories come later; copy the file into each of them with its own issues, and type `piton run` there".to_owned(),
    };
    Failure::new("plan.unsupported", what).hint(hint)
}

fn in_others(path: &str, project: &Project, others: &[&RunRepo]) -> String {
    let named: Vec<String> = others.iter().map(|repo| in_words(repo)).collect();
    format!(
        "{path} is to be worked on in other repositories than {}: {}",
        project.work_tree.display(),
        named.join(", ")
    )
}

fn in_words(repo: &RunRepo) -> String {
    let issues = match repo.issues {
        0 => String::new(),
        1 => "1 open issue".to_owned(),
        count => format!("{count} open issues"),
    };
    let more = [repo.path.clone().unwrap_or_default(), issues];
    let more: Vec<String> = more.into_iter().filter(|text| !text.is_empty()).collect();
    match more.as_slice() {
        [] => format!("`{}`", repo.name),
        more => format!("`{}` ({})", repo.name, more.join(", ")),
    }
}
