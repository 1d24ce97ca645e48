//! What git says of a file that it tracks, of which each branch has its own version.
//!
//! See `docs/design/0024-branches.md`.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;

use super::synced_file::SyncedFile;
use crate::git;
use crate::history::{has_grown_from, is_set_back};
use crate::project::Project;

/// A line that is this long is not one of those that stand everywhere.
const TELLING_LINE: usize = 10;

/// Whether git put another branch's version of a file here since piton wrote it:
/// one that does not build on what piton wrote, or one that lacks what git took
/// along.
pub(super) fn is_of_other_branch(project: &Project, path: &str, file: &SyncedFile) -> bool {
    if !project.is_tracked(path) {
        return false;
    }
    let commit = &file.stamp().commit;
    let is_other = file.is_of_other_branch() && !has_grown_from(project, commit);
    // The branch that was left before piton looked, or what was stashed.
    let went = || fs::read(file.target()).is_ok_and(|now| went_along(project, path, file, &now));
    is_other || (file.may_be_foreign() && went())
}

/// Whether a file that is not there is one that the branch which is checked out
/// does not have, while others do. Written there, it would stand in the way of
/// whoever wants to have one of these checked out.
pub(super) fn is_absent(project: &Project, path: &str, file: &mut SyncedFile) -> io::Result<bool> {
    if file.is_absent_here() {
        return Ok(true);
    }
    let Some(inside) = project.in_work_tree(path) else {
        return Ok(false);
    };
    if !file.is_of_other_branch()
        || !git::is_committed_somewhere(&project.work_tree, Path::new(&inside))
    {
        return Ok(false);
    }
    file.note_absent()?;
    Ok(true)
}

/// Whether git took along what `now`, the version of a tracked file that is there,
/// lacks of the one that piton wrote last: the file is as it is committed, nobody
/// has committed a change to it since, and what is missing stands on some branch
/// or in a stash, or the branch was set back.
fn went_along(project: &Project, path: &str, file: &SyncedFile, now: &[u8]) -> bool {
    let since = &file.stamp().commit;
    let Some(base) = file.base().filter(|_| !since.is_empty()) else {
        return false;
    };
    let now = String::from_utf8_lossy(now);
    let now: BTreeSet<&str> = now.lines().collect();
    let is_telling = |line: &&str| line.trim().len() >= TELLING_LINE && !now.contains(line);
    let (Some(lost), Some(inside)) = (
        base.lines().rev().find(is_telling),
        project.in_work_tree(path),
    ) else {
        return false;
    };
    let (work_tree, inside) = (&project.work_tree, Path::new(&inside));
    git::is_clean(work_tree, inside)
        && !git::has_changed_since(work_tree, since, inside)
        && (is_set_back(project, since) || git::has_ever_said(work_tree, inside, lost.trim()))
}
