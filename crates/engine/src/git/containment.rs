//! Whether the work of one commit is in another one, also where it came there in
//! another way: squashed, or picked.

use std::ffi::OsString;
use std::path::Path;

use super::checked_out::common_dir;
use super::tracker::quote_list_element;
use super::{GitOutput, LOOK_TIMEOUT, git_call, git_dir, is_built_on, query_git, run_git_call};
use crate::failure::Failure;
use crate::process::ProgramCall;

/// Whether a commit has all that another one brings: it is built on it, or a merge of
/// the two would change nothing, since its work came in another way (squashed, picked).
/// What becomes of the file `but`, by its path in the work tree, is no matter, unless
/// there is nothing else that the other one brings. Nothing is written into the
/// repository.
///
/// # Errors
///
/// When git cannot be started, or has no such commits.
pub fn has_work_of(
    work_tree: &Path,
    commit: &str,
    other: &str,
    but: Option<&str>,
) -> Result<bool, Failure> {
    if is_built_on(work_tree, commit, other)? {
        return Ok(true);
    }
    let is_but = |name: &String| Some(name.as_str()) == but;
    if is_built_on(work_tree, other, commit)? {
        // Nothing was committed beside it, so nothing can have come in another way.
        let said = query_git(work_tree, &diff_tree_args(&[commit, other]))?;
        return Ok(said.ok && said.out.is_empty());
    }
    let scratch = ScratchObjects::new(work_tree)?;
    let head = ["merge-tree", "--write-tree", "--no-messages"];
    let merged = scratch.run_git(&[&head[..], &["--name-only", "-z", commit, other]].concat())?;
    let mut listed = split_nul(&merged.out);
    // Of a file that cannot be brought together, or is changed here and removed there,
    // the tree may have what `commit` has.
    let (Some(tree), true) = (listed.next(), listed.all(|name| is_but(&name))) else {
        return Ok(false);
    };
    let lacking = scratch.run_git(&diff_tree_args(&[commit, &tree]))?;
    if !lacking.ok || !split_nul(&lacking.out).all(|name| is_but(&name)) {
        return Ok(false);
    }
    if lacking.out.is_empty() {
        return Ok(true);
    }
    let brought = query_git(work_tree, &diff_tree_args(&["--merge-base", commit, other]))?;
    Ok(brought.ok && !split_nul(&brought.out).all(|name| is_but(&name)))
}

/// Asks for the files in which two trees differ.
fn diff_tree_args<'a>(trees: &[&'a str]) -> Vec<&'a str> {
    let head = ["diff-tree", "-r", "-z", "--name-only"];
    [&head[..], trees, &["--"]].concat()
}

/// What stands between zero bytes.
fn split_nul(printed: &str) -> impl Iterator<Item = String> {
    let names = printed.split('\0').filter(|name| !name.is_empty());
    names.map(str::to_owned)
}

/// A place for objects that are needed only until the question is answered.
struct ScratchObjects<'a> {
    work_tree: &'a Path,
    folder: tempfile::TempDir,
    repository: String,
}

impl<'a> ScratchObjects<'a> {
    fn new(work_tree: &'a Path) -> Result<Self, Failure> {
        let folder = tempfile::tempdir().map_err(|error| {
            Failure::new("git.missing", "no folder could be made to try a merge in")
                .with_hint("see whether there is room where temporary files are kept, then repeat the command")
                .with_source(error)
        })?;
        let objects = git_dir(work_tree).map(|dir| common_dir(&dir).join("objects"));
        let objects = objects.map(|path| std::path::absolute(&path).unwrap_or(path));
        let repository = objects.unwrap_or_default().to_string_lossy().into_owned();
        Ok(Self {
            work_tree,
            folder,
            repository: quote_list_element(&repository),
        })
    }

    fn run_git(&self, args: &[&str]) -> Result<GitOutput, Failure> {
        let folder = self.folder.path().to_string_lossy();
        run_git_call(&ProgramCall {
            env: &[
                ("GIT_OPTIONAL_LOCKS", "0"),
                ("GIT_OBJECT_DIRECTORY", &folder),
                ("GIT_ALTERNATE_OBJECT_DIRECTORIES", &self.repository),
            ],
            timeout: LOOK_TIMEOUT,
            ..git_call(
                self.work_tree,
                &args.iter().map(OsString::from).collect::<Vec<_>>(),
            )
        })
    }
}
