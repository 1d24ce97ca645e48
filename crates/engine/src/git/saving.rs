//! Work that is not finished, kept as a commit.

use std::path::Path;

use super::merging::{Plumbing, Sign};
use super::{By, More, Own, Said, but_files, failed, git_dir, no_folder};
use crate::failure::Failure;

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
    git.commit(&tree, &[head], message, Sign::Never).map(Some)
}
