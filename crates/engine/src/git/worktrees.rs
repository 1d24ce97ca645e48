//! The work trees of a repository: which there are, one more or less, at a branch or
//! at none, and put back to a commit.

use std::ffi::OsString;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::checked_out::{common_dir, git_dir};
use super::{
    Failure, GitCallOptions, GitControl, GitOutput, error_reason, last_line, query_git, run_git,
    run_git_with, tip_of_branch,
};
use crate::failure::unwritable_file;
use crate::process::CallOutput;
use crate::world::input;
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

/// A work tree of a repository, the main one among them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Worktree {
    /// Where it is, or was.
    pub path: PathBuf,
    /// The branch that is checked out; none where `HEAD` names a commit.
    pub branch: Option<String>,
    /// Why it is locked, which may be no word; none where it is not.
    pub locked: Option<String>,
}

/// The reason for which git locks a work tree that it has not made to the end.
pub const HALF_MADE: &str = "initializing";

/// What is checked out in a new work tree.
#[derive(Clone, Copy, Debug)]
pub enum NewWorktree<'a> {
    /// A branch that is there.
    OfBranch(&'a str),
    /// A new branch, which begins at a commit.
    Begin {
        /// Its name.
        branch: &'a str,
        /// The commit.
        from: &'a str,
    },
}

/// Refuses what git takes for no name of a branch, or what no branch can be called
/// beside those that there are.
///
/// # Errors
///
/// When git cannot be started, or refuses the name.
pub fn check_branch_name(work_tree: &Path, branch: &str) -> Result<(), Failure> {
    let refused = |why: String| {
        Err(Failure::new("worktree.taken", why)
            .with_hint("name another `branch` under `worktree` in the plan"))
    };
    let full = format!("refs/heads/{branch}");
    if branch.starts_with('-')
        || branch == "HEAD"
        || !query_git(work_tree, &["check-ref-format", &full])?.ok
    {
        return refused(format!("`{branch}` is no name of a branch"));
    }
    // A branch is a file, and a file is no folder.
    let mut above = Path::new(branch)
        .ancestors()
        .skip(1)
        .filter_map(Path::to_str);
    match above.find(|name| !name.is_empty() && tip_of_branch(work_tree, name).is_some()) {
        Some(name) => refused(format!(
            "no branch can be called `{branch}` while there is one that is called `{name}`"
        )),
        None => Ok(()),
    }
}

/// All work trees of the repository, the main one first.
///
/// # Errors
///
/// When git cannot be started, or cannot say.
pub fn list_worktrees(work_tree: &Path) -> Result<Vec<Worktree>, Failure> {
    let said = query_git(work_tree, &["worktree", "list", "--porcelain"])?;
    if !said.ok {
        return Err(worktree_failure("list the worktrees", &said));
    }
    Ok(parse_worktrees(&said.out))
}

fn parse_worktrees(text: &str) -> Vec<Worktree> {
    let mut found: Vec<Worktree> = Vec::new();
    for line in text.lines() {
        let (key, value) = line.split_once(' ').unwrap_or((line, ""));
        if key == "worktree" {
            found.push(Worktree {
                path: PathBuf::from(value),
                ..Worktree::default()
            });
        }
        let Some(last) = found.last_mut() else {
            continue;
        };
        match key {
            "branch" => {
                let name = value.strip_prefix("refs/heads/").unwrap_or(value);
                last.branch = Some(name.to_owned());
            }
            "locked" => last.locked = Some(value.to_owned()),
            _ => {}
        }
    }
    found
}

/// Makes a work tree at `path`.
///
/// # Errors
///
/// When git cannot be started, or does not make it.
pub fn add_worktree(
    work_tree: &Path,
    path: &Path,
    new: NewWorktree<'_>,
    by: &GitControl<'_>,
) -> Result<(), Failure> {
    let path = path.to_string_lossy();
    let mut args = vec!["worktree", "add", "--quiet"];
    match new {
        NewWorktree::OfBranch(branch) => args.extend(["--", &path, branch]),
        NewWorktree::Begin { branch, from } => args.extend(["-b", branch, "--", &path, from]),
    }
    let said = run_git(work_tree, &args, by)?;
    match said.ok {
        true => Ok(()),
        false => Err(worktree_failure("make a worktree", &said)),
    }
}

/// Makes a work tree whole that git began to make, and unlocks it. Nothing may
/// have been done in it.
///
/// # Errors
///
/// When git cannot be started, or does not do it.
pub fn finish_worktree(path: &Path, by: &GitControl<'_>) -> Result<(), Failure> {
    let shown = path.to_string_lossy();
    let unlock = ["worktree", "unlock", &shown];
    for args in [&["reset", "--quiet", "--hard"], &unlock[..]] {
        let said = run_git(path, args, by)?;
        if !said.ok {
            return Err(worktree_failure("finish a worktree", &said));
        }
    }
    Ok(())
}

/// Removes a work tree in which nothing is left that is not committed; or what
/// git knows of one whose folder is gone. Why not, where git does not.
///
/// # Errors
///
/// When git cannot be started.
pub fn remove_worktree(work_tree: &Path, path: &Path) -> Result<Result<(), String>, Failure> {
    let path = path.to_string_lossy();
    let said = query_git(work_tree, &["worktree", "remove", "--", &path])?;
    Ok(if said.ok {
        Ok(())
    } else {
        Err(strip_advice(&last_line(&said)))
    })
}

/// What git says without what it advises: to use force.
fn strip_advice(said: &str) -> String {
    let parts = said.split_inclusive([',', ';']);
    let plain = parts.take_while(|part| !part.contains("force") && !part.contains(" -f"));
    let plain: String = plain.collect();
    let plain = plain.trim_end_matches([',', ';', ' ']);
    match plain {
        "" => "git does not remove it".to_owned(),
        plain => plain.to_owned(),
    }
}

/// Whether git tracks anything at a path in a work tree, or below it. Not where git
/// cannot say.
#[must_use]
pub fn has_tracked_files(work_tree: &Path, path: &Path) -> bool {
    let path = path.to_string_lossy();
    let args = ["--literal-pathspecs", "ls-files", "--", &path];
    query_git(work_tree, &args).is_ok_and(|said| said.ok && !said.out.is_empty())
}

/// Whether a commit has something at a path below the root of a work tree. So it is
/// where git cannot say.
#[must_use]
pub fn is_in_commit(work_tree: &Path, commit: &str, path: &str) -> bool {
    let name = format!("{commit}:./{path}");
    query_git(work_tree, &["cat-file", "-e", &name]).map_or(true, |said| said.ok)
}

/// Whether git ignores a folder in a work tree, also one that is not there yet.
#[must_use]
pub fn is_folder_ignored(work_tree: &Path, folder: &Path) -> bool {
    let folder = format!("{}/", folder.to_string_lossy());
    let args = ["check-ignore", "--quiet", "--", &folder];
    query_git(work_tree, &args).is_ok_and(|said| said.ok)
}

/// The comment before the pattern of a worktree that piton made.
const EXCLUDED: &str = "# a worktree of piton";

/// Has git ignore a worktree inside of another one, by `info/exclude` of the
/// repository: with all files added it would be committed as a submodule.
///
/// # Errors
///
/// When the file cannot be read or written.
pub fn exclude_worktree(work_tree: &Path, inner: &Path) -> Result<(), Failure> {
    let Some(file) = exclude_file(work_tree).filter(|_| !is_folder_ignored(work_tree, inner))
    else {
        return Ok(());
    };
    let mut text = read_exclude_file(&file)?;
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text.push_str(&format!("{EXCLUDED}\n{}\n", exact_pattern(inner)));
    write_exclude_file(&file, &text)
}

/// Takes out again what [`exclude_worktree`] wrote, and nothing else.
///
/// # Errors
///
/// When the file cannot be read or written.
pub fn remove_exclusion(work_tree: &Path, inner: &Path) -> Result<(), Failure> {
    let Some(file) = exclude_file(work_tree) else {
        return Ok(());
    };
    let text = read_exclude_file(&file)?;
    let written = format!("{EXCLUDED}\n{}\n", exact_pattern(inner));
    match text.contains(&written) {
        true => write_exclude_file(&file, &text.replacen(&written, "", 1)),
        false => Ok(()),
    }
}

fn exclude_file(work_tree: &Path) -> Option<PathBuf> {
    git_dir(work_tree).map(|folder| common_dir(&folder).join("info/exclude"))
}

fn read_exclude_file(file: &Path) -> Result<String, Failure> {
    match input::read_file_text(file) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(String::new()),
        read => read.map_err(|error| unwritable_file(file, error)),
    }
}

fn write_exclude_file(file: &Path, text: &str) -> Result<(), Failure> {
    let folder = file.parent().unwrap_or(file);
    let written = fs::create_dir_all(folder).and_then(|()| fs::write(file, text));
    written.map_err(|error| unwritable_file(file, error))
}

/// A folder as a pattern of git that fits nothing else.
fn exact_pattern(inner: &Path) -> String {
    let mut pattern = String::from("/");
    for c in inner.to_string_lossy().chars() {
        if matches!(c, '*' | '?' | '[' | ']' | '\\' | ' ') {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    pattern + "/"
}

/// Whether the history of `onto` has all of a branch. Not where git cannot say.
#[must_use]
pub fn is_branch_merged(work_tree: &Path, branch: &str, onto: &str) -> bool {
    let full = |name: &str| format!("refs/heads/{name}");
    let (branch, onto) = (full(branch), full(onto));
    let args = ["merge-base", "--is-ancestor", &branch, &onto];
    query_git(work_tree, &args).is_ok_and(|said| said.ok)
}

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
        let back = input::read_file_text(folder.join("gitdir")).ok()?;
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

/// How long is waited each time, in milliseconds, for another git that is making a
/// worktree.
const HALF_MADE_PAUSES: [u64; 6] = [20, 50, 100, 250, 500, 1_000];

/// Adds a worktree at a commit, locked and without its files: see [`restore_worktree`]. One
/// that git still knows there, and that is gone, is no hindrance.
///
/// # Errors
///
/// When git fails.
pub fn add_detached_worktree(
    work_tree: &Path,
    tree: &Path,
    from: &str,
    reason: &str,
    by: &GitControl<'_>,
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
    let args = args_with_path(&args, tree).into_iter().chain([from.into()]);
    let args: Vec<OsString> = args.collect();
    let mut pauses = HALF_MADE_PAUSES.iter();
    loop {
        let output = run_worktree_git(work_tree, &args, by)?;
        // Git gives up where it finds a worktree that another git is making.
        let is_half_made = GitOutput::from(&output).err.contains("commondir");
        match pauses.next().filter(|_| is_half_made) {
            Some(milliseconds) => pause(Duration::from_millis(*milliseconds)),
            None => return check_success("add a worktree", &output),
        }
    }
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
    tree: &Path,
    from: &str,
    reason: &str,
    by: &GitControl<'_>,
) -> Result<(), Failure> {
    let fault = |path: &Path| {
        let path = path.to_owned();
        move |error| unwritable_file(&path, error)
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
    run_worktree_git(
        work_tree,
        &args_with_path(&["worktree", "repair"], tree),
        by,
    )?;
    if let WorktreeState::Sound { .. } = worktree_state(work_tree, tree) {
        return Ok(());
    }
    for folder in admin_folders_of(work_tree, tree) {
        removed(&folder)?;
    }
    // A worktree beside it lends it what git knows of one.
    let beside = tree.with_extension("again");
    removed(&beside)?;
    add_detached_worktree(work_tree, &beside, from, reason, by)?;
    crate::failpoint::point("lane.lent");
    fs::rename(beside.join(".git"), tree.join(".git")).map_err(fault(tree))?;
    removed(&beside)?;
    let repaired = run_worktree_git(
        work_tree,
        &args_with_path(&["worktree", "repair"], tree),
        by,
    )?;
    check_success("repair a worktree", &repaired)?;
    let args = ["reset", "--quiet", "--mixed"].map(OsString::from);
    check_success("read a commit", &run_worktree_git(tree, &args, by)?)
}

/// The folders of a repository that say they are those of a worktree there.
fn admin_folders_of(work_tree: &Path, tree: &Path) -> Vec<PathBuf> {
    let all = git_dir(work_tree).map(|folder| common_dir(&folder).join("worktrees"));
    let entries = all.and_then(|all| fs::read_dir(all).ok());
    let folders = entries.into_iter().flatten().flatten();
    let is_of_it = |folder: &PathBuf| {
        let back = input::read_file_text(folder.join("gitdir")).unwrap_or_default();
        folder.join(back.trim()) == tree.join(".git")
    };
    folders.map(|entry| entry.path()).filter(is_of_it).collect()
}

/// Puts a worktree to a commit, whatever it holds and is in the middle of. Files
/// that git ignores stay, and so does a repository within it: what is in that may be
/// nowhere else.
///
/// # Errors
///
/// When git fails: a filter that is not installed, a full disk.
pub fn restore_worktree(tree: &Path, commit: &str, by: &GitControl<'_>) -> Result<(), Failure> {
    checkout_commit(tree, commit, by)?;
    clean_worktree(tree, "-fdq", by)
}

/// The same where nothing but checks of merges works. A check that clones something
/// for itself fails where it finds what the last one cloned.
///
/// # Errors
///
/// As [`restore_worktree`].
pub fn restore_merge_worktree(
    tree: &Path,
    commit: &str,
    by: &GitControl<'_>,
) -> Result<(), Failure> {
    checkout_commit(tree, commit, by)?;
    clean_worktree(tree, "-ffdq", by)
}

fn checkout_commit(tree: &Path, commit: &str, by: &GitControl<'_>) -> Result<(), Failure> {
    if let Some(folder) = git_dir(tree) {
        for (sign, quit) in UNFINISHED {
            if folder.join(sign).exists() {
                // What cannot be left is found by what comes next.
                run_worktree_git(tree, &to_os_strings(quit), by)?;
            }
        }
    }
    let checkout = to_os_strings(&["checkout", "--quiet", "--detach", "--force", commit]);
    check_success(
        "check a commit out",
        &run_worktree_git(tree, &checkout, by)?,
    )
}

fn clean_worktree(tree: &Path, how: &str, by: &GitControl<'_>) -> Result<(), Failure> {
    let clean = to_os_strings(&["clean", how]);
    check_success("clean a worktree", &run_worktree_git(tree, &clean, by)?)
}

/// Takes away a folder of a worktree, with the work tree of a repository in it.
pub(super) fn remove_folder(tree: &Path, path: &str, by: &GitControl<'_>) -> Result<(), Failure> {
    let clean = to_os_strings(&["--literal-pathspecs", "clean", "-ffdq", "--", path]);
    check_success("clean a worktree", &run_worktree_git(tree, &clean, by)?)
}

/// Takes away a worktree without changes. One that is locked stays.
pub(super) fn remove_clean_worktree(
    work_tree: &Path,
    tree: &Path,
    by: &GitControl<'_>,
) -> Result<(), Failure> {
    let args = args_with_path(&["worktree", "remove"], tree);
    run_worktree_git(work_tree, &args, by).map(drop)
}

/// Checks a branch out in a worktree, or nothing but the commit that is checked out
/// there. Why not, where git refuses that: then nothing is changed.
///
/// # Errors
///
/// When git cannot be started.
pub fn switch_branch(
    tree: &Path,
    branch: Option<&str>,
    by: &GitControl<'_>,
) -> Result<Result<(), String>, Failure> {
    let args = match branch {
        Some(branch) => to_os_strings(&["switch", "--quiet", "--no-guess", branch]),
        None => to_os_strings(&["switch", "--quiet", "--detach"]),
    };
    let said = GitOutput::from(&run_worktree_git(tree, &args, by)?);
    Ok(match said.ok {
        true => Ok(()),
        false => Err(error_reason(&said.err)),
    })
}

/// Takes away the locks that a git left in the folder of a worktree which was
/// ended, once nothing works there any more. The locks of refs are not there.
pub fn remove_stale_locks(tree: &Path) {
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
    by: &GitControl<'_>,
) -> Result<(), Failure> {
    let args = args_with_path(&["worktree", "lock", "--reason", reason], tree);
    check_success("lock a worktree", &run_worktree_git(work_tree, &args, by)?)
}

/// Removes a worktree with all that lies in it, and what git knows of it. One that
/// is gone is no failure.
///
/// # Errors
///
/// When git fails.
pub fn remove_detached_worktree(
    work_tree: &Path,
    tree: &Path,
    by: &GitControl<'_>,
) -> Result<(), Failure> {
    // One that is not locked, or not known, says so.
    run_worktree_git(
        work_tree,
        &args_with_path(&["worktree", "unlock"], tree),
        by,
    )?;
    crate::failpoint::point("lane.unlocked");
    let args = args_with_path(&["worktree", "remove", "--force"], tree);
    let said = GitOutput::from(&run_worktree_git(work_tree, &args, by)?);
    match said.ok || worktree_state(work_tree, tree) == WorktreeState::Absent {
        true => Ok(()),
        false => Err(worktree_failure("remove a worktree", &said)),
    }
}

fn run_worktree_git(
    work_tree: &Path,
    args: &[OsString],
    by: &GitControl<'_>,
) -> Result<CallOutput, Failure> {
    let args: Vec<OsString> = to_os_strings(&SETTINGS)
        .into_iter()
        .chain(args.to_vec())
        .collect();
    let more = GitCallOptions {
        timeout: Some(TIMEOUT),
        ..GitCallOptions::default()
    };
    run_git_with(work_tree, &args, &more, by)
}

fn check_success(what: &str, output: &CallOutput) -> Result<(), Failure> {
    match output.exit.is_success() {
        true => Ok(()),
        false => Err(worktree_failure(what, &GitOutput::from(output))),
    }
}

fn to_os_strings(args: &[&str]) -> Vec<OsString> {
    args.iter().map(OsString::from).collect()
}

fn args_with_path(args: &[&str], path: &Path) -> Vec<OsString> {
    let path = path.as_os_str().to_owned();
    to_os_strings(args).into_iter().chain([path]).collect()
}

fn worktree_failure(what: &str, said: &GitOutput) -> Failure {
    let why = match error_reason(&said.err) {
        why if why.is_empty() => last_line(said),
        why => why,
    };
    Failure::new("worktree.failed", format!("git could not {what}: {why}")).with_hint(
        "see what `git status` says there and whether the disk has room, then repeat the command",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_message_advises_force() {
        for (said, plain) in [
            (
                "fatal: 'x' contains modified or untracked files, use --force to delete it",
                "fatal: 'x' contains modified or untracked files",
            ),
            (
                "use 'remove -f -f' to override or unlock first",
                "git does not remove it",
            ),
            ("fatal: validation failed", "fatal: validation failed"),
        ] {
            assert_eq!(strip_advice(said), plain);
        }
    }

    #[test]
    fn worktrees_are_read_with_branch_and_lock() {
        let text = "worktree /a b\nHEAD 1\nbranch refs/heads/x/y\nlocked\n\n\
                    worktree /c\nHEAD 2\ndetached\nlocked on a stick\nprunable gone\n";
        let found = parse_worktrees(text);
        let one = |path: &str, branch: Option<&str>, locked: &str| Worktree {
            path: PathBuf::from(path),
            branch: branch.map(str::to_owned),
            locked: Some(locked.to_owned()),
        };
        let expected = [one("/a b", Some("x/y"), ""), one("/c", None, "on a stick")];
        assert_eq!(found, expected);
    }
}
