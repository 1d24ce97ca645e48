//! Worktrees that are at no branch: made for work, and put back to a commit.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::checked_out::{common_dir, git_dir};
use super::{By, More, Said, failed, order};
use crate::failure::Failure;
use crate::process::Output;
use crate::world::pause;

/// Long enough to write very many files, also through a filter.
const TIMEOUT: Duration = Duration::from_secs(1_800);

/// No hook of the user's: what makes such a worktree ready is a command of its own.
const SETTINGS: [&str; 2] = ["-c", "core.hooksPath=/dev/null"];

/// What git may be in the middle of, by what lies in the folder of a worktree, and
/// how it leaves that without touching files.
const UNFINISHED: [(&str, &[&str]); 5] = [
    ("rebase-merge", &["rebase", "--quit"]),
    ("rebase-apply/applying", &["am", "--quit"]),
    ("rebase-apply", &["rebase", "--quit"]),
    ("sequencer", &["cherry-pick", "--quit"]),
    ("BISECT_LOG", &["bisect", "reset", "HEAD"]),
];

/// How a folder stands to the repository whose worktree it is to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorktreeState {
    /// There is nothing.
    Absent,
    /// It and the repository know each other.
    Sound {
        /// Whether it is locked, so that `git worktree prune` and a person who
        /// removes worktrees leave it alone.
        locked: bool,
    },
    /// There is something, and git does not know it as a worktree.
    Broken,
}

/// How a folder stands to a repository, read from the files of git.
#[must_use]
pub fn worktree_state(work_tree: &Path, tree: &Path) -> WorktreeState {
    if fs::symlink_metadata(tree).is_err() {
        return WorktreeState::Absent;
    }
    let known = || {
        let folder = git_dir(tree).filter(|_| tree.join(".git").is_file())?;
        let back = fs::read_to_string(folder.join("gitdir")).ok()?;
        let back = fs::canonicalize(folder.join(back.trim())).ok()?;
        let here = fs::canonicalize(tree.join(".git")).ok()?;
        let shared = |folder: &Path| fs::canonicalize(common_dir(folder)).ok();
        let is_of_this = shared(&folder)? == shared(&git_dir(work_tree)?)?;
        let is_whole = folder.join("HEAD").is_file();
        (back == here && is_of_this && is_whole).then_some(folder)
    };
    match known() {
        Some(folder) => WorktreeState::Sound {
            locked: folder.join("locked").exists(),
        },
        None => WorktreeState::Broken,
    }
}

/// Adds a worktree at a commit, locked and without its files: see [`restore`]. One
/// that git still knows there, and that is gone, is no hindrance.
///
/// # Errors
///
/// When git fails.
pub fn add_detached_worktree(
    work_tree: &Path,
    (tree, from): (&Path, &str),
    reason: &str,
    by: &By<'_>,
) -> Result<(), Failure> {
    let args = [
        "worktree",
        "add",
        "--quiet",
        "--force",
        "--force",
        "--no-checkout",
        "--detach",
        "--lock",
        "--reason",
        reason,
    ];
    let args = with_path(&args, tree).into_iter().chain([from.into()]);
    let args: Vec<OsString> = args.collect();
    content("add a worktree", &run(work_tree, &args, by)?)
}

/// Makes a worktree of a folder that git does not know as one any more, and leaves
/// its files as they are. What git can repair keeps its commit; else `from` is
/// checked out, and what is different is a change.
///
/// # Errors
///
/// When git fails.
pub fn adopt_detached_worktree(
    work_tree: &Path,
    (tree, from): (&Path, &str),
    reason: &str,
    by: &By<'_>,
) -> Result<(), Failure> {
    let fault = |path: &Path| {
        let path = path.to_owned();
        move |error| crate::failure::unwritable(&path, error)
    };
    let removed = |path: &Path| match path.exists() {
        true => fs::remove_dir_all(path).map_err(fault(path)),
        false => Ok(()),
    };
    if tree.join(".git").is_dir() {
        // A repository that an agent began there is kept beside it.
        let kept = tree.with_extension("git");
        removed(&kept)?;
        fs::rename(tree.join(".git"), &kept).map_err(fault(&kept))?;
    }
    // What cannot be repaired is not said by its exit status alone.
    run(work_tree, &with_path(&["worktree", "repair"], tree), by)?;
    if let WorktreeState::Sound { .. } = worktree_state(work_tree, tree) {
        return Ok(());
    }
    for folder in folders_of(work_tree, tree) {
        removed(&folder)?;
    }
    // A worktree beside it lends it what git knows of one.
    let beside = tree.with_extension("again");
    removed(&beside)?;
    add_detached_worktree(work_tree, (&beside, from), reason, by)?;
    crate::fail::point("lane.lent");
    fs::rename(beside.join(".git"), tree.join(".git")).map_err(fault(tree))?;
    removed(&beside)?;
    let repaired = run(work_tree, &with_path(&["worktree", "repair"], tree), by)?;
    content("repair a worktree", &repaired)?;
    let args = ["reset", "--quiet", "--mixed"].map(OsString::from);
    content("read a commit", &run(tree, &args, by)?)
}

/// The folders of a repository that say they are those of a worktree there.
fn folders_of(work_tree: &Path, tree: &Path) -> Vec<PathBuf> {
    let all = git_dir(work_tree).map(|folder| common_dir(&folder).join("worktrees"));
    let entries = all.and_then(|all| fs::read_dir(all).ok());
    let folders = entries.into_iter().flatten().flatten();
    let is_of_it = |folder: &PathBuf| {
        let back = fs::read_to_string(folder.join("gitdir")).unwrap_or_default();
        folder.join(back.trim()) == tree.join(".git")
    };
    folders.map(|entry| entry.path()).filter(is_of_it).collect()
}

/// Puts a worktree to a commit, whatever it holds and is in the middle of. Files
/// that git ignores stay.
///
/// # Errors
///
/// When git fails: a filter that is not installed, a full disk.
pub fn restore(tree: &Path, commit: &str, by: &By<'_>) -> Result<(), Failure> {
    if let Some(folder) = git_dir(tree) {
        for (sign, quit) in UNFINISHED {
            if folder.join(sign).exists() {
                // What cannot be left is found by what comes next.
                run(tree, &words(quit), by)?;
            }
        }
    }
    let checkout = words(&["checkout", "--quiet", "--detach", "--force", commit]);
    content("check a commit out", &run(tree, &checkout, by)?)?;
    let clean = words(&["clean", "-ffdq"]);
    content("clean a worktree", &run(tree, &clean, by)?)
}

/// Takes away the locks that a git left in the folder of a worktree which was
/// ended, once nothing works there any more. The locks of refs are not there.
pub fn drop_locks(tree: &Path) {
    /// A person who looks at the worktree has the lock of the index for a moment.
    const MOMENT: Duration = Duration::from_millis(500);
    let locks = || {
        let entries = git_dir(tree).and_then(|folder| fs::read_dir(folder).ok());
        let entries = entries.into_iter().flatten().flatten();
        let paths = entries.map(|entry| entry.path());
        let is_lock = |path: &PathBuf| path.extension().is_some_and(|end| end == "lock");
        paths.filter(is_lock).collect::<Vec<_>>()
    };
    let first = locks();
    if first.is_empty() {
        return;
    }
    pause(MOMENT);
    for path in locks().iter().filter(|path| first.contains(path)) {
        // What is still there is said by the git that finds it.
        fs::remove_file(path).ok();
    }
}

/// Locks a worktree.
///
/// # Errors
///
/// When git fails.
pub fn lock_detached_worktree(
    work_tree: &Path,
    tree: &Path,
    reason: &str,
    by: &By<'_>,
) -> Result<(), Failure> {
    let args = with_path(&["worktree", "lock", "--reason", reason], tree);
    content("lock a worktree", &run(work_tree, &args, by)?)
}

/// Removes a worktree with all that lies in it, and what git knows of it. One that
/// is gone is no failure.
///
/// # Errors
///
/// When git fails.
pub fn remove_detached_worktree(work_tree: &Path, tree: &Path, by: &By<'_>) -> Result<(), Failure> {
    // One that is not locked, or not known, says so.
    run(work_tree, &with_path(&["worktree", "unlock"], tree), by)?;
    crate::fail::point("lane.unlocked");
    let args = with_path(&["worktree", "remove", "--force"], tree);
    let said = Said::from(&run(work_tree, &args, by)?);
    match said.ok || worktree_state(work_tree, tree) == WorktreeState::Absent {
        true => Ok(()),
        false => Err(failed("remove a worktree", &said)),
    }
}

fn run(work_tree: &Path, args: &[OsString], by: &By<'_>) -> Result<Output, Failure> {
    let args: Vec<OsString> = words(&SETTINGS).into_iter().chain(args.to_vec()).collect();
    let more = More {
        timeout: Some(TIMEOUT),
        ..More::default()
    };
    order(work_tree, &args, &more, by)
}

fn content(what: &str, output: &Output) -> Result<(), Failure> {
    match output.exit.success() {
        true => Ok(()),
        false => Err(failed(what, &Said::from(output))),
    }
}

fn words(args: &[&str]) -> Vec<OsString> {
    args.iter().map(OsString::from).collect()
}

fn with_path(args: &[&str], path: &Path) -> Vec<OsString> {
    let path = path.as_os_str().to_owned();
    words(args).into_iter().chain([path]).collect()
}
