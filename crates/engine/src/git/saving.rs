//! Work that is not finished, kept as a commit.

use std::path::Path;

use super::merging::{CommitSigning, OwnPaths, Plumbing};
use super::{
    ExcludedFiles, GitCallOptions, GitControl, GitOutput, git_dir, git_failure, is_built_on,
    merge_base, pathspecs_without_files, query_git, repository_pathspecs, restore_worktree,
    run_git, temp_folder_failure, unborn_repositories,
};
use crate::failure::Failure;

/// The trailer of such a commit: it was made without the hooks of the user, and is to
/// be in no history.
const TRAILER: &str = "Piton-Saved";

/// The commit on which work was saved; none where `commit` is one that was made as
/// users make them.
///
/// # Errors
///
/// When git cannot be started, or has no such commit.
pub fn base_of_saved_work(work_tree: &Path, commit: &str) -> Result<Option<String>, Failure> {
    let format = format!("--format=%P%n%(trailers:key={TRAILER},valueonly)");
    let said = query_git(work_tree, &["log", "-1", &format, commit, "--"])?;
    if !said.ok {
        return Err(git_failure("look at a commit", &said));
    }
    let (parents, trailers) = said.out.split_once('\n').unwrap_or((&said.out, ""));
    let parent = parents.split(' ').next().map(str::to_owned);
    Ok(parent.filter(|_| !trailers.trim().is_empty()))
}

/// Makes of work that was saved what it was before, changes that are in no commit: who
/// commits it does so with all of the hooks. A commit of another kind stays.
///
/// They are changes of what `onto` has, where both can be merged: what was made since
/// is there for whom goes on. Else they are changes of what they were made on. The
/// file of the plan gets the version of `onto`.
///
/// # Errors
///
/// When git fails.
pub fn reopen_saved_work(
    lane: &Path,
    commit: &str,
    onto: &str,
    own: &OwnPaths,
    by: &GitControl<'_>,
) -> Result<(), Failure> {
    let Some(parent) = base_of_saved_work(lane, commit)? else {
        return Ok(());
    };
    let git = Plumbing { lane, by };
    let mut head = parent;
    if let Some(merged) = merge_saved_work(&git, commit, &head, onto, own)? {
        restore_worktree(lane, &merged.saved, by)?;
        head = merged.head;
    }
    let said = run_git(lane, &["reset", "--quiet", "--soft", &head], by)?;
    match said.ok {
        true => Ok(()),
        false => Err(git_failure("go on with saved work", &said)),
    }
}

/// The same where a merge was begun on the saved work, in which both sides are to be
/// seen: who commits that has the saved work as part of it, and not as its parent.
///
/// # Errors
///
/// When git fails.
pub fn reopen_saved_work_in_merge(
    lane: &Path,
    commit: &str,
    by: &GitControl<'_>,
) -> Result<(), Failure> {
    let Some(parent) = base_of_saved_work(lane, commit)? else {
        return Ok(());
    };
    let args = ["update-ref", "--no-deref", "HEAD", &parent];
    let said = run_git(lane, &args, by)?;
    match said.ok {
        true => Ok(()),
        false => Err(git_failure("go on with saved work", &said)),
    }
}

/// Work that was saved, merged with what was made since.
struct SavedOnTarget {
    saved: String,
    /// What it was saved on, merged as well.
    head: String,
}

fn merge_saved_work(
    git: &Plumbing<'_>,
    commit: &str,
    parent: &str,
    onto: &str,
    own: &OwnPaths,
) -> Result<Option<SavedOnTarget>, Failure> {
    let lane = git.lane;
    // An agent may have left a history of its own.
    if is_built_on(lane, parent, onto)? || merge_base(lane, parent, onto)?.is_none() {
        return Ok(None);
    }
    let merged = |work: &str, message: &str, parents: &[&str]| {
        let tree = git.merged_tree(onto, work, own)?;
        let commit = tree
            .ok()
            .map(|tree| git.commit_tree(&tree, parents, message, CommitSigning::Never));
        commit.transpose()
    };
    let head = match is_built_on(lane, onto, parent)? {
        true => Some(onto.to_owned()),
        // The agent's own commits count.
        false => merged(parent, "Merge what was made meanwhile", &[parent, onto])?,
    };
    let Some(head) = head else {
        return Ok(None);
    };
    let saved = merged(commit, "Work so far", &[&head])?;
    Ok(saved.map(|saved| SavedOnTarget { saved, head }))
}

/// What was kept of the work in a work tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SavedWork {
    /// The commit; none where there was nothing.
    pub commit: Option<String>,
    /// Repositories without a commit, of which git adds nothing.
    pub left_out: Vec<String>,
}

/// Makes a commit of all that a work tree holds, `own` files and `without` left
/// out; none where that is nothing beside `from`. Neither the index nor `HEAD` nor
/// a file changes there: what a person or an agent finds is as it was.
///
/// What is committed there is part of it. Of a merge that is under way the files
/// are, and that it was one is not.
///
/// # Errors
///
/// When git fails.
pub fn save_work(
    work_tree: &Path,
    from: &str,
    excluded: ExcludedFiles<'_>,
    message: &str,
    by: &GitControl<'_>,
) -> Result<SavedWork, Failure> {
    let git = Plumbing {
        lane: work_tree,
        by,
    };
    let (tree, left_out) = write_work_tree(&git, excluded)?;
    let args = ["rev-parse", "HEAD", "HEAD^{tree}"];
    let head = git.run_for_line("look at a commit", &args, &GitCallOptions::default())?;
    let (head, head_tree) = head.split_once('\n').unwrap_or((&head, ""));
    let commit = match tree == head_tree {
        true => (head != from).then(|| head.to_owned()),
        false => {
            let message = format!("{message}\n\n{TRAILER}: not finished\n");
            Some(git.commit_tree(&tree, &[head], &message, CommitSigning::Never)?)
        }
    };
    Ok(SavedWork { commit, left_out })
}

/// Whether a commit has all that a work tree holds, `own` files and `without` left
/// out.
///
/// # Errors
///
/// When git fails.
pub fn is_work_saved(
    work_tree: &Path,
    commit: &str,
    excluded: ExcludedFiles<'_>,
    by: &GitControl<'_>,
) -> Result<bool, Failure> {
    let git = Plumbing {
        lane: work_tree,
        by,
    };
    let args = ["rev-parse", &format!("{commit}^{{tree}}")];
    let saved = git.run_for_line("look at a commit", &args, &GitCallOptions::default())?;
    Ok(write_work_tree(&git, excluded)?.0 == saved)
}

/// The tree of all that a work tree holds, made with an index of its own, and the
/// repositories that are left out because they have no commit.
fn write_work_tree(
    git: &Plumbing<'_>,
    excluded: ExcludedFiles<'_>,
) -> Result<(String, Vec<String>), Failure> {
    let ExcludedFiles { own, files } = excluded;
    let work_tree = git.lane;
    let folder = tempfile::tempdir().map_err(temp_folder_failure)?;
    let index = folder.path().join("index");
    let there = git_dir(work_tree).map(|folder| folder.join("index"));
    // Where nothing was ever added, everything is.
    if let Some(there) = there.filter(|there| there.is_file()) {
        super::tracker::copy_with_mtime(&there, &index).map_err(temp_folder_failure)?;
    }
    let index = index.to_string_lossy();
    let env = [("GIT_INDEX_FILE", &*index)];
    let more = GitCallOptions {
        env: &env,
        ..GitCallOptions::default()
    };
    let add = |without: &[String]| {
        let specs = pathspecs_without_files(own, without);
        let mut add = vec!["-c", "core.splitIndex=false", "-c", "core.fsmonitor=false"];
        add.extend(["add", "--all", "--"]);
        add.extend(specs.iter().map(String::as_str));
        Ok::<_, Failure>(GitOutput::from(&git.run_git(&add, &more)?))
    };
    let mut said = add(files)?;
    let mut unborn = Vec::new();
    if !said.ok {
        // Git adds nothing at all while there is one.
        unborn = unborn_repositories(work_tree)?;
        if !unborn.is_empty() {
            said = add(&[files, &repository_pathspecs(&unborn)].concat())?;
        }
    }
    if !said.ok {
        return Err(git_failure("add what is not committed", &said));
    }
    let tree = git.run_for_line("write a tree", &["write-tree"], &more)?;
    Ok((tree, unborn))
}
