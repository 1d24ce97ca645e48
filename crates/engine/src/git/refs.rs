//! Refs that are moved by compare-and-swap, and what a branch holds.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use super::{GitCallOptions, GitControl, GitOutput, git_failure, query_git, run_git, run_git_with};
use crate::failure::Failure;
use crate::world::pause;

/// How long is waited each time, in milliseconds, for another git that holds the
/// lock of a ref: ten seconds together, beside what git waits itself.
const LOCK_PAUSES: [u64; 8] = [50, 100, 250, 600, 1_000, 2_000, 3_000, 3_000];

/// What came of moving a ref.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RefMove {
    /// It is where it was to go, also where it was there already.
    Moved,
    /// It was not at what it was to be moved from, and is here; none where it is
    /// gone. Nothing was changed.
    Elsewhere(Option<String>),
}

/// From where to where a ref goes; none where there is no such ref.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RefStep<'a> {
    /// What it has to be at.
    pub from: Option<&'a str>,
    /// What it is at then.
    pub to: Option<&'a str>,
}

/// Moves, makes or removes a ref, named in full, if it is at what it is to be
/// moved from. A lock of another git is waited for and never removed.
///
/// # Errors
///
/// When git fails, or the ref stays locked.
pub fn move_ref(
    work_tree: &Path,
    name: &str,
    step: RefStep<'_>,
    by: &GitControl<'_>,
) -> Result<RefMove, Failure> {
    // An empty name of a commit stands for a ref that is not there.
    let from = step.from.unwrap_or_default();
    let args = match step.to {
        Some(to) => vec!["update-ref", "--no-deref", name, to, from],
        None => vec!["update-ref", "--no-deref", "-d", name, from],
    };
    let mut pauses = LOCK_PAUSES.iter();
    loop {
        let now = read_ref(work_tree, name)?;
        if now.as_deref() == step.to {
            return Ok(RefMove::Moved);
        }
        if now.as_deref() != step.from {
            return Ok(RefMove::Elsewhere(now));
        }
        let said = run_git(work_tree, &args, by)?;
        if said.ok {
            return Ok(RefMove::Moved);
        }
        let is_locked = said.err.contains(".lock'");
        let now = read_ref(work_tree, name)?;
        match pauses.next().filter(|_| is_locked) {
            Some(milliseconds) => pause(Duration::from_millis(*milliseconds)),
            // Another one was faster: the next look says where it is.
            None if now.as_deref() != step.from => {}
            None => return Err(move_failure(name, is_locked, &said)),
        }
    }
}

/// Removes refs, named in full, each if it is at what is named with it: all of them by
/// one git, or where that is refused one after another, also after one that stays.
///
/// # Errors
///
/// When git fails, or one of them stays locked.
pub fn remove_refs(
    work_tree: &Path,
    refs: &[(String, String)],
    by: &GitControl<'_>,
) -> Result<(), Failure> {
    if refs.is_empty() {
        return Ok(());
    }
    let lines = refs
        .iter()
        .map(|(name, at)| format!("option no-deref\ndelete {name} {at}\n"));
    let input: String = lines.collect();
    let more = GitCallOptions {
        input: input.as_bytes(),
        ..GitCallOptions::default()
    };
    let args = ["update-ref", "--stdin"].map(OsString::from);
    if GitOutput::from(&run_git_with(work_tree, &args, &more, by)?).ok {
        return Ok(());
    }
    let mut removed = Ok(());
    for (name, at) in refs {
        let step = RefStep {
            from: Some(at),
            to: None,
        };
        if let Err(failure) = move_ref(work_tree, name, step, by) {
            removed = Err(failure);
        }
    }
    removed
}

fn move_failure(name: &str, is_locked: bool, said: &GitOutput) -> Failure {
    let failure = git_failure(&format!("move {name}"), said);
    match is_locked {
        true => failure.with_hint(
            "wait until the git that holds this lock has ended, then repeat the command",
        ),
        false => failure,
    }
}

/// What a ref, named in full, is at; none where there is no such ref.
///
/// # Errors
///
/// When git cannot be started.
pub fn read_ref(work_tree: &Path, name: &str) -> Result<Option<String>, Failure> {
    let said = query_git(work_tree, &["rev-parse", "--verify", "--quiet", name])?;
    Ok(said.ok.then_some(said.out).filter(|out| !out.is_empty()))
}

/// The refs below a folder of refs, named in full, each with what it is at.
///
/// # Errors
///
/// When git cannot be started, or cannot say.
pub fn list_refs(work_tree: &Path, folder: &str) -> Result<Vec<(String, String)>, Failure> {
    let said = query_git(
        work_tree,
        &["for-each-ref", "--format=%(refname) %(objectname)", folder],
    )?;
    if !said.ok {
        return Err(git_failure("list refs", &said));
    }
    let lines = said.out.lines().filter_map(|line| line.split_once(' '));
    Ok(lines
        .map(|(name, at)| (name.to_owned(), at.to_owned()))
        .collect())
}

/// The commits of the first-parent line from `base`, without it, to `tip`, oldest
/// first: on the branch of a run one for each unit that was merged.
///
/// # Errors
///
/// When git cannot be started, or has one of them no more.
pub fn first_parent_commits(
    work_tree: &Path,
    base: &str,
    tip: &str,
) -> Result<Vec<String>, Failure> {
    let not = format!("^{base}");
    let list = ["rev-list", "--first-parent", "--reverse", tip, &not, "--"];
    let said = query_git(work_tree, &list)?;
    match said.ok {
        true => Ok(said.out.lines().map(str::to_owned).collect()),
        false => Err(git_failure("list what was merged", &said)),
    }
}

/// Whether `tip` is this commit, or was built on it.
///
/// # Errors
///
/// When git cannot be started, or has one of them no more.
pub fn is_built_on(work_tree: &Path, tip: &str, commit: &str) -> Result<bool, Failure> {
    if tip == commit {
        return Ok(true);
    }
    let args = ["merge-base", "--is-ancestor", commit, tip];
    let said = query_git(work_tree, &args)?;
    match (said.ok, said.err.is_empty()) {
        (is_ancestor, true) => Ok(is_ancestor),
        (true, false) => Ok(true),
        (false, false) => Err(git_failure("compare two commits", &said)),
    }
}

/// Whether a commit is on a branch, here or of a remote.
///
/// # Errors
///
/// When git cannot be started, or has no such commit.
pub fn is_on_branch(work_tree: &Path, commit: &str) -> Result<bool, Failure> {
    is_on_other_branch(work_tree, commit, None)
}

/// The same of all branches here but one.
///
/// # Errors
///
/// When git cannot be started, or has no such commit.
pub fn is_on_other_branch(
    work_tree: &Path,
    commit: &str,
    but: Option<&str>,
) -> Result<bool, Failure> {
    let but = but.map(|but| format!("--exclude={but}"));
    let mut args = vec!["rev-list", "--max-count=1", "--not"];
    args.extend(but.as_deref());
    args.extend(["--branches", "--remotes", "--not", commit, "--"]);
    let said = query_git(work_tree, &args)?;
    match said.ok {
        true => Ok(said.out.is_empty()),
        false => Err(git_failure("look for a commit on branches", &said)),
    }
}

/// The commit at which two commits part; none where they have nothing in common.
///
/// # Errors
///
/// When git cannot be started.
pub fn merge_base(work_tree: &Path, one: &str, other: &str) -> Result<Option<String>, Failure> {
    let said = query_git(work_tree, &["merge-base", one, other])?;
    Ok(said.ok.then_some(said.out))
}

/// The version of git, as far as it decides what can be done; none where it says
/// something else.
///
/// # Errors
///
/// When git cannot be started.
pub fn git_version(folder: &Path) -> Result<Option<(u32, u32)>, Failure> {
    let said = query_git(folder, &["version"])?;
    Ok(parse_version(&said.out))
}

fn parse_version(text: &str) -> Option<(u32, u32)> {
    let mut numbers = text.strip_prefix("git version ")?.split(['.', ' ']);
    let (major, minor) = (numbers.next()?, numbers.next()?);
    Some((major.parse().ok()?, minor.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_of_git_is_its_first_two_numbers() {
        for (text, version) in [
            ("git version 2.47.3", Some((2, 47))),
            ("git version 2.39.5 (Apple Git-154)", Some((2, 39))),
            ("git version 3.0.rc1", Some((3, 0))),
            ("git: 'version' is not a git command", None),
        ] {
            assert_eq!(parse_version(text), version, "{text}");
        }
    }
}
