//! A branch that goes forward to a commit that is built on it.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use super::checked_out::git_dir;
use super::{
    Failure, GitCallOptions, GitControl, GitOutput, error_reason, last_line, literal_pathspec,
    query_git, run_git_with,
};
use crate::world::input;

/// Long enough to write very many files.
const TIMEOUT: Duration = Duration::from_secs(1_800);

/// Where a rebase keeps the branch that it works on, which `HEAD` does not name
/// meanwhile.
const REBASED: [&str; 2] = ["rebase-merge/head-name", "rebase-apply/head-name"];

/// Brings what is checked out in a work tree forward to a commit. Why not, where
/// git refuses that: then nothing is changed. Files that git ignores are not
/// overwritten either.
///
/// # Errors
///
/// When git cannot be started.
pub fn fast_forward(
    work_tree: &Path,
    commit: &str,
    by: &GitControl<'_>,
) -> Result<Result<(), String>, Failure> {
    let args = [
        "merge",
        "--ff-only",
        "--no-squash",
        "--no-autostash",
        "--no-overwrite-ignore",
        "--no-stat",
        commit,
    ];
    let more = GitCallOptions {
        timeout: Some(TIMEOUT),
        ..GitCallOptions::default()
    };
    let said = GitOutput::from(&run_git_with(
        work_tree,
        &args.map(OsString::from),
        &more,
        by,
    )?);
    if said.ok {
        return Ok(Ok(()));
    }
    let in_the_way = parse_blocking_files(&said.err);
    Ok(Err(
        match (in_the_way.is_empty(), error_reason(&said.err)) {
            (false, _) => format!("these files are in the way: {}", in_the_way.join(", ")),
            (true, why) if why.is_empty() => last_line(&said),
            (true, why) => why,
        },
    ))
}

/// Whether the index has a file, by its path in the work tree, as the commit has it
/// that is checked out. Not where git cannot say.
#[must_use]
pub fn is_unstaged(work_tree: &Path, file: &str) -> bool {
    let file = literal_pathspec(file);
    let args = ["diff", "--cached", "--quiet", "HEAD", "--", &file];
    query_git(work_tree, &args).is_ok_and(|said| said.ok)
}

/// The files that git names, each in a line that begins with a tab.
fn parse_blocking_files(err: &str) -> Vec<String> {
    let lines = err.lines().filter_map(|line| line.strip_prefix('\t'));
    lines.map(str::to_owned).collect()
}

/// The branch that a rebase in a work tree will move when it ends.
#[must_use]
pub fn rebased_branch(work_tree: &Path) -> Option<String> {
    let folder = git_dir(work_tree)?;
    let mut names = REBASED
        .iter()
        .filter_map(|name| input::read_file_text(folder.join(name)).ok());
    let name = names.next()?;
    let name = name.trim().strip_prefix("refs/heads/")?;
    Some(name.to_owned())
}
