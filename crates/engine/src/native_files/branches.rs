//! What git says of a file that it tracks, of which each branch has its own version.
//!
//! See `docs/design/0024-branches.md`.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use piton_core::lane::Landing;
use piton_core::{RunRow, RunState};

use super::synced_file::SyncedFile;
use crate::git;
use crate::git::history::{is_descendant_of_past, is_set_back_from};
use crate::project::Project;
use crate::world::input;

/// A line that is this long is not one of those that stand everywhere.
const TELLING_LINE: usize = 10;

/// What the version of a tracked file is to the one that piton wrote last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BranchOrigin {
    /// What became of it.
    Same,
    /// Another branch's version, which does not build on it.
    OtherBranch,
    /// One that lacks what git took along: to a branch that was left, or a stash.
    WentAlong,
}

/// What git made of a file since piton wrote it.
pub(super) fn find_branch_origin(project: &Project, path: &str, file: &SyncedFile) -> BranchOrigin {
    if !project.is_tracked(path) {
        return BranchOrigin::Same;
    }
    if file.is_of_other_branch() && !is_descendant_of_past(project, &file.stamp().commit) {
        return BranchOrigin::OtherBranch;
    }
    let went = || {
        input::read_file(file.target_path())
            .is_ok_and(|now| was_moved_away_by_git(project, path, file, &now))
    };
    match file.may_be_foreign() && went() {
        true => BranchOrigin::WentAlong,
        false => BranchOrigin::Same,
    }
}

/// The branch to which the work of a run in lanes goes, until the run is done and that
/// has landed: what it comes to in tracked files lands with it.
pub(super) fn unlanded_target_branch<'r>(project: &Project, row: &'r RunRow) -> Option<&'r str> {
    let target = row.branches.target.as_deref();
    let target = target.filter(|target| target.path.is_none() && row.branches.lanes.is_some())?;
    let has_landed = |landed: &Landing| {
        let (main, tip) = (&project.work_tree, &target.tip);
        git::is_built_on(main, &landed.commit, tip).unwrap_or_default()
    };
    // Nothing is left to land where all that was merged was checked out when it began anew.
    let is_empty = target.tip == target.base;
    let has_landed = is_empty || row.branches.landed.as_deref().is_some_and(has_landed);
    let is_over = row.state == RunState::Done && has_landed;
    (!is_over).then_some(&target.branch)
}

/// Whether a file that is not there is one that the branch which is checked out
/// does not have, while others do. Written there, it would keep git from checking out
/// one of these.
pub(super) fn is_absent_on_branch(
    project: &Project,
    path: &str,
    file: &mut SyncedFile,
) -> io::Result<bool> {
    if file.is_absent_here() {
        return Ok(true);
    }
    let Some(inside) = project.path_in_work_tree(path) else {
        return Ok(false);
    };
    if !file.is_of_other_branch()
        || !git::is_committed_somewhere(&project.work_tree, Path::new(&inside))
    {
        return Ok(false);
    }
    file.record_absent()?;
    Ok(true)
}

/// Whether a file is left as it is while an agent works: who changes the branch needs
/// it as it is committed where that branch has another version, or none.
pub(super) fn is_blocking_checkout(
    project: &Project,
    path: &str,
    file: &mut SyncedFile,
) -> io::Result<bool> {
    let Some(inside) = project.path_in_work_tree(path) else {
        return Ok(false);
    };
    let tips = git::branch_tips(&project.work_tree);
    // Git's index is large, and is read as seldom as git is started.
    file.has_other_version(&tips, || {
        git::has_other_version(&project.work_tree, &inside) && project.is_tracked(path)
    })
}

/// Whether git took along what `now`, the version of a tracked file that is there,
/// lacks of the one that piton wrote last: the file is as it is committed, no commit
/// has changed it since, and what is missing is on some branch or in a stash, or the
/// branch was set back.
fn was_moved_away_by_git(project: &Project, path: &str, file: &SyncedFile, now: &[u8]) -> bool {
    let since = &file.stamp().commit;
    let Some(base) = file.read_base().filter(|_| !since.is_empty()) else {
        return false;
    };
    let now = String::from_utf8_lossy(now);
    let now: BTreeSet<&str> = now.lines().collect();
    let is_telling = |line: &&str| line.trim().len() >= TELLING_LINE && !now.contains(line);
    let (Some(lost), Some(inside)) = (
        base.lines().rev().find(is_telling),
        project.path_in_work_tree(path),
    ) else {
        return false;
    };
    let (work_tree, inside) = (&project.work_tree, Path::new(&inside));
    is_unchanged_since_commit(work_tree, since, inside)
        && (is_set_back_from(project, since)
            || git::is_text_on_any_branch(work_tree, inside, lost.trim()))
}

/// Whether a file is as it is committed, and was committed so before piton wrote it
/// last, at the commit `since`.
fn is_unchanged_since_commit(work_tree: &Path, since: &str, inside: &Path) -> bool {
    git::is_file_clean(work_tree, inside) && !git::has_changed_since(work_tree, since, inside)
}

/// The commit at which piton wrote a tracked file last, and its path in the work tree.
fn commit_of_file<'f>(
    project: &Project,
    path: &str,
    file: &'f SyncedFile,
) -> Option<(&'f str, PathBuf)> {
    let since = file.stamp().commit.as_str();
    let inside = project.path_in_work_tree(path)?;
    (!since.is_empty() && project.is_tracked(path)).then(|| (since, inside.into()))
}

/// Whether a person or git put the file back to the version that is committed.
pub(super) fn is_reverted_to_commit(project: &Project, path: &str, file: &SyncedFile) -> bool {
    commit_of_file(project, path, file).is_some_and(|(since, inside)| {
        is_unchanged_since_commit(&project.work_tree, since, &inside)
    })
}

/// Whether a file is as it is committed, and git has merged since piton wrote it last:
/// what it says then is what became of several versions, and no person typed it.
pub(super) fn is_merge_result(project: &Project, path: &str, file: &SyncedFile) -> bool {
    commit_of_file(project, path, file).is_some_and(|(since, inside)| {
        git::is_file_clean(&project.work_tree, &inside)
            && git::has_merged_since(&project.work_tree, since)
    })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::process::Command;

    use super::*;
    use crate::native_files::synced_file::FlushScope;

    #[expect(clippy::disallowed_methods, reason = "a repository is made for a test")]
    fn git(folder: &Path, args: &[&str]) {
        let who = ["-c", "user.name=ada", "-c", "user.email=ada@example.org"];
        let mut git = Command::new("git");
        let status = git.args(who).args(args).current_dir(folder);
        assert!(status.status().expect("git starts").success(), "{args:?}");
    }

    #[test]
    fn a_branch_that_comes_to_have_another_version_is_seen_without_a_new_commit_here() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = fs::canonicalize(folder.path()).expect("it is there");
        git(&root, &["init", "-q", "-b", "main"]);
        fs::write(root.join("plan.md"), "one").expect("written");
        git(&root, &["add", "plan.md"]);
        git(&root, &["commit", "-qm", "one"]);
        let home = root.join(".piton");
        fs::create_dir_all(&home).expect("made");
        let project = Project {
            work_tree: root.clone(),
            root: root.clone(),
            in_git: true,
            home,
        };
        let target = root.join("plan.md");
        let file = SyncedFile::open(&project, "run", &target, FlushScope::Stamp);
        let mut file = file.expect("opened");
        let mut is_in_the_way =
            || is_blocking_checkout(&project, "plan.md", &mut file).expect("kept");
        assert!(!is_in_the_way());
        let tree = root.join("tree");
        let tree = tree.to_str().expect("UTF-8");
        git(&root, &["worktree", "add", "-q", "-b", "other", tree]);
        assert!(!is_in_the_way(), "it has the same");
        fs::write(root.join("tree/plan.md"), "two").expect("written");
        git(&root.join("tree"), &["commit", "-qam", "two"]);
        assert!(is_in_the_way());
        git(&root, &["pack-refs", "--all"]);
        assert!(is_in_the_way());
        git(&root, &["worktree", "remove", tree]);
        git(&root, &["branch", "-qD", "other"]);
        assert!(!is_in_the_way());
    }
}
