//! Work that is not finished, kept as a commit.

use std::path::Path;

use super::merging::{Plumbing, Sign};
use super::{By, More, Own, Said, but_files, change, failed, git, git_dir, no_folder};
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
pub fn saved_on(work_tree: &Path, commit: &str) -> Result<Option<String>, Failure> {
    let format = format!("--format=%P%n%(trailers:key={TRAILER},valueonly)");
    let said = git(work_tree, &["log", "-1", &format, commit, "--"])?;
    if !said.ok {
        return Err(failed("look at a commit", &said));
    }
    let (parents, trailers) = said.out.split_once('\n').unwrap_or((&said.out, ""));
    let parent = parents.split(' ').next().map(str::to_owned);
    Ok(parent.filter(|_| !trailers.trim().is_empty()))
}

/// Makes of work that was saved what it was before, changes that are in no commit: who
/// commits it does so with all of the hooks. A commit of another kind stays.
///
/// # Errors
///
/// When git fails.
pub fn open_saved(work_tree: &Path, commit: &str, by: &By<'_>) -> Result<(), Failure> {
    let Some(parent) = saved_on(work_tree, commit)? else {
        return Ok(());
    };
    let said = change(work_tree, &["reset", "--quiet", "--soft", &parent], by)?;
    match said.ok {
        true => Ok(()),
        false => Err(failed("go on with saved work", &said)),
    }
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
    (own, without): (&[Own], &[String]),
    message: &str,
    by: &By<'_>,
) -> Result<Option<String>, Failure> {
    let git = Plumbing {
        lane: work_tree,
        by,
    };
    let folder = tempfile::tempdir().map_err(no_folder)?;
    let index = folder.path().join("index");
    let there = git_dir(work_tree).map(|folder| folder.join("index"));
    // Where nothing was ever added, everything is.
    if let Some(there) = there.filter(|there| there.is_file()) {
        super::trees::copy_with_time(&there, &index).map_err(no_folder)?;
    }
    let index = index.to_string_lossy();
    let env = [("GIT_INDEX_FILE", &*index)];
    let more = More {
        env: &env,
        ..More::default()
    };
    let specs = but_files(own, without);
    let mut add = vec!["-c", "core.splitIndex=false", "-c", "core.fsmonitor=false"];
    add.extend(["add", "--all", "--"]);
    add.extend(specs.iter().map(String::as_str));
    let said = Said::from(&git.run(&add, &more)?);
    if !said.ok {
        return Err(failed("add what is not committed", &said));
    }
    let tree = git.line("write a tree", &["write-tree"], &more)?;
    let args = ["rev-parse", "HEAD", "HEAD^{tree}"];
    let head = git.line("look at a commit", &args, &More::default())?;
    let (head, head_tree) = head.split_once('\n').unwrap_or((&head, ""));
    if tree == head_tree {
        return Ok((head != from).then(|| head.to_owned()));
    }
    let message = format!("{message}\n\n{TRAILER}: not finished\n");
    git.commit(&tree, &[head], &message, Sign::Never).map(Some)
}
