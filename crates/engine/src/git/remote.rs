//! A branch of a remote: where it is, and how a commit gets there or from there.
//!
//! Git does not ask for a password: a call that needs one fails.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use super::{
    GitCallOptions, GitControl, GitOutput, git_failure, has_commit, query_git, run_git_with,
};
use crate::failure::Failure;

/// Long enough for a push whose hook runs tests.
const TIMEOUT: Duration = Duration::from_secs(600);

/// What came of a push.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PushOutcome {
    /// The branch is at the commit.
    There,
    /// It was somewhere else than it was to be, or the remote wants no such push: why.
    Refused(String),
}

/// A branch of a remote.
#[derive(Clone, Copy, Debug)]
pub struct RemoteBranch<'a> {
    /// The name of the remote.
    pub remote: &'a str,
    /// The name of the branch, without `refs/heads/`.
    pub branch: &'a str,
}

/// Where the remote of this name is; none where the repository has none.
#[must_use]
pub fn remote_url(work_tree: &Path, remote: &str) -> Option<String> {
    let said = query_git(work_tree, &["remote", "get-url", remote]).ok()?;
    said.ok.then_some(said.out)
}

/// How many commits of a branch the remote did not have when it was asked last; none
/// where git does not know.
#[must_use]
pub fn count_unpushed(work_tree: &Path, at: RemoteBranch<'_>) -> Option<u32> {
    let RemoteBranch { remote, branch } = at;
    let range = format!("refs/remotes/{remote}/{branch}..refs/heads/{branch}");
    let said = query_git(work_tree, &["rev-list", "--count", &range, "--"]).ok()?;
    said.out.parse().ok().filter(|_| said.ok)
}

fn run_with_remote(
    work_tree: &Path,
    args: &[&str],
    by: &GitControl<'_>,
) -> Result<GitOutput, Failure> {
    let args: Vec<OsString> = args.iter().map(OsString::from).collect();
    let more = GitCallOptions {
        env: &[("GIT_TERMINAL_PROMPT", "0")],
        timeout: Some(TIMEOUT),
        ..GitCallOptions::default()
    };
    Ok(GitOutput::from(&run_git_with(work_tree, &args, &more, by)?))
}

/// Where a branch of a remote is; none where it has no such branch.
///
/// # Errors
///
/// When the remote cannot be asked.
pub fn branch_at_remote(
    work_tree: &Path,
    at: RemoteBranch<'_>,
    by: &GitControl<'_>,
) -> Result<Option<String>, Failure> {
    let RemoteBranch { remote, branch } = at;
    let name = format!("refs/heads/{branch}");
    let said = run_with_remote(work_tree, &["ls-remote", "--refs", remote, &name], by)?;
    if !said.ok {
        return Err(git_failure(
            &format!("ask `{remote}` for its branches"),
            &said,
        ));
    }
    let lines = said.out.lines().filter_map(|line| line.split_once('\t'));
    let mut at = lines.filter(|(_, found)| *found == name);
    Ok(at.next().map(|(commit, _)| commit.to_owned()))
}

/// Puts a branch of a remote at a commit, if it is where it is to be: `from`, or nowhere.
///
/// # Errors
///
/// When the remote cannot be reached.
pub fn push(
    work_tree: &Path,
    at: RemoteBranch<'_>,
    from: Option<&str>,
    to: &str,
    by: &GitControl<'_>,
) -> Result<PushOutcome, Failure> {
    let RemoteBranch { remote, branch } = at;
    let name = format!("refs/heads/{branch}");
    let lease = format!("--force-with-lease={name}:{}", from.unwrap_or_default());
    let put = format!("{to}:{name}");
    let args = ["push", "--porcelain", "--quiet", &lease, remote, &put];
    let said = run_with_remote(work_tree, &args, by)?;
    if said.ok {
        return Ok(PushOutcome::There);
    }
    // What the remote says of the branch, and not of how it is reached.
    let mut lines = said.out.lines();
    let refused = lines.find_map(|line| line.strip_prefix("!\t"));
    match refused.and_then(|line| line.split_once('\t')) {
        Some((_, why)) => Ok(PushOutcome::Refused(why.to_owned())),
        None => Err(git_failure(&format!("push to `{remote}`"), &said)),
    }
}

/// Gets what a branch of a remote has; the commit that it is at. No ref here is moved
/// but those that the configuration of the remote names.
///
/// # Errors
///
/// When the remote cannot be reached, or has no such branch.
pub fn fetch(
    work_tree: &Path,
    at: RemoteBranch<'_>,
    by: &GitControl<'_>,
) -> Result<String, Failure> {
    let RemoteBranch { remote, branch } = at;
    let Some(commit) = branch_at_remote(work_tree, at, by)? else {
        return Err(
            Failure::new("git.missing", format!("`{remote}` has no branch {branch}"))
                .with_hint("see its branches with `git ls-remote --heads`, then run again"),
        );
    };
    let name = format!("refs/heads/{branch}");
    let args = ["fetch", "--no-tags", "--quiet", remote, &name];
    let said = run_with_remote(work_tree, &args, by)?;
    if !said.ok {
        return Err(git_failure(
            &format!("fetch {branch} from `{remote}`"),
            &said,
        ));
    }
    Ok(commit)
}

/// Gets a commit, by one of these refs of the remote, named in full.
///
/// # Errors
///
/// When git cannot be started.
pub fn fetch_commit(
    work_tree: &Path,
    remote: &str,
    refs: &[String],
    commit: &str,
    by: &GitControl<'_>,
) -> Result<bool, Failure> {
    for name in refs {
        if has_commit(work_tree, commit)? {
            return Ok(true);
        }
        // One that is not there is no use, and the next one is tried.
        drop(run_with_remote(
            work_tree,
            &["fetch", "--no-tags", "--quiet", remote, name],
            by,
        )?);
    }
    has_commit(work_tree, commit)
}

/// The tree of a commit.
///
/// # Errors
///
/// When git cannot be started, or has no such commit.
pub fn tree_of_commit(work_tree: &Path, commit: &str) -> Result<String, Failure> {
    let tree = format!("{commit}^{{tree}}");
    let said = query_git(work_tree, &["rev-parse", "--verify", "--quiet", &tree])?;
    match said.ok {
        true => Ok(said.out),
        false => Err(git_failure(&format!("look at {commit}"), &said)),
    }
}
