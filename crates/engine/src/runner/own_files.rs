//! The files that piton writes into a work tree itself: no agent made their changes.

use piton_core::amount::list_first;
use piton_formats::plan_format::PlanPlace;
use piton_formats::registry::plan_format;

use crate::failure::Failure;
use crate::git;
use crate::git::worktree::NAMED_MAX;
use crate::project::Project;

/// Refuses to commit changes that piton did not make, for the plan of a format at
/// `source`.
///
/// # Errors
///
/// When something has changed, git is missing, or this is no work tree of it.
pub(crate) fn refuse_foreign_changes(
    project: &Project,
    face: &str,
    source: &str,
) -> Result<(), Failure> {
    let changes = git::uncommitted_changes(
        &project.work_tree,
        &own_file_prefixes(project, face, source),
    )?;
    if changes.is_empty() {
        return Ok(());
    }
    Err(Failure::new(
        "git.dirty",
        format!(
            "`auto-commit` needs a clean work tree, and these have changes: {}",
            list_first(&changes, NAMED_MAX)
        ),
    )
    .with_hint(
        "commit them or put them aside with `git stash --include-untracked`, then run again",
    ))
}

/// The files that piton writes into the work tree itself, by their paths in it.
///
/// With what it keeps beside them: versions of others, copies, and what a
/// crash in the middle of a write leaves.
pub(crate) fn own_file_prefixes(
    project: &Project,
    face: &str,
    source: &str,
) -> Vec<git::OwnFilePrefix> {
    let format = plan_format(face);
    let beside = format.and_then(|format| format.list_beside);
    let beside = beside.map(|beside| beside.name);
    // A plan in one file is committed with the work.
    let (folder, name) = match format.map(|format| format.finding.place) {
        Some(PlanPlace::Folder(name)) => (source, Some(name)),
        Some(PlanPlace::File) => (
            source.rsplit_once('/').map_or("", |(folder, _)| folder),
            None,
        ),
        Some(PlanPlace::Journal) | None => return Vec::new(),
    };
    let folder = project.absolute_path(folder);
    // A second work tree has the version of its branch, which is no change to commit.
    let inner = folder.strip_prefix(&project.work_tree);
    let Ok(folder) = inner.or_else(|_| folder.strip_prefix(&project.root)) else {
        return Vec::new();
    };
    let folder = folder.to_string_lossy();
    let names = [name, beside];
    let begins = names.into_iter().flatten();
    let begins = begins.flat_map(|name| [name.to_owned(), format!(".{name}.")]);
    begins
        .map(|begin| git::OwnFilePrefix {
            folder: folder.clone().into_owned(),
            begin,
        })
        .collect()
}
