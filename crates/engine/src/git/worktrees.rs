//! The work trees of a repository: which there are, and one more or less.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::checked_out::{common_dir, git_dir};
use super::{By, Failure, Said, change, git, last_line, tip_of};
use crate::failure::unwritable;

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
            .hint("name another `branch` under `worktree` in the plan"))
    };
    let full = format!("refs/heads/{branch}");
    if branch.starts_with('-')
        || branch == "HEAD"
        || !git(work_tree, &["check-ref-format", &full])?.ok
    {
        return refused(format!("`{branch}` is no name of a branch"));
    }
    // A branch is a file, and a file is no folder.
    let mut above = Path::new(branch)
        .ancestors()
        .skip(1)
        .filter_map(Path::to_str);
    match above.find(|name| !name.is_empty() && tip_of(work_tree, name).is_some()) {
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
pub fn worktrees(work_tree: &Path) -> Result<Vec<Worktree>, Failure> {
    let said = git(work_tree, &["worktree", "list", "--porcelain"])?;
    if !said.ok {
        return Err(failed("git worktree list failed", &said));
    }
    Ok(parse(&said.out))
}

fn parse(text: &str) -> Vec<Worktree> {
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
    by: &By<'_>,
) -> Result<(), Failure> {
    let path = path.to_string_lossy();
    let mut args = vec!["worktree", "add", "--quiet"];
    match new {
        NewWorktree::OfBranch(branch) => args.extend(["--", &path, branch]),
        NewWorktree::Begin { branch, from } => args.extend(["-b", branch, "--", &path, from]),
    }
    let said = change(work_tree, &args, by)?;
    match said.ok {
        true => Ok(()),
        false => Err(failed("git makes no worktree", &said)),
    }
}

/// Makes a work tree whole that git began to make, and unlocks it. Nothing may
/// have been done in it.
///
/// # Errors
///
/// When git cannot be started, or does not do it.
pub fn finish_worktree(path: &Path, by: &By<'_>) -> Result<(), Failure> {
    let shown = path.to_string_lossy();
    let unlock = ["worktree", "unlock", &shown];
    for args in [&["reset", "--quiet", "--hard"], &unlock[..]] {
        let said = change(path, args, by)?;
        if !said.ok {
            return Err(failed("git does not finish the worktree", &said));
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
    let said = git(work_tree, &["worktree", "remove", "--", &path])?;
    Ok(if said.ok {
        Ok(())
    } else {
        Err(without_advice(&last_line(&said)))
    })
}

/// What git says without what it advises: to use force.
fn without_advice(said: &str) -> String {
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
pub fn tracks_any(work_tree: &Path, path: &Path) -> bool {
    let path = path.to_string_lossy();
    let args = ["--literal-pathspecs", "ls-files", "--", &path];
    git(work_tree, &args).is_ok_and(|said| said.ok && !said.out.is_empty())
}

/// Whether a commit has something at a path below the root of a work tree. So it is
/// where git cannot say.
#[must_use]
pub fn commit_has(work_tree: &Path, commit: &str, path: &str) -> bool {
    let name = format!("{commit}:./{path}");
    git(work_tree, &["cat-file", "-e", &name]).map_or(true, |said| said.ok)
}

/// Whether git ignores a folder in a work tree, also one that is not there yet.
#[must_use]
pub fn ignores_folder(work_tree: &Path, folder: &Path) -> bool {
    let folder = format!("{}/", folder.to_string_lossy());
    let args = ["check-ignore", "--quiet", "--", &folder];
    git(work_tree, &args).is_ok_and(|said| said.ok)
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
    let Some(file) = exclude_file(work_tree).filter(|_| !ignores_folder(work_tree, inner)) else {
        return Ok(());
    };
    let mut text = read_excluded(&file)?;
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text.push_str(&format!("{EXCLUDED}\n{}\n", pattern_of(inner)));
    write_excluded(&file, &text)
}

/// Takes out again what [`exclude_worktree`] wrote, and nothing else.
///
/// # Errors
///
/// When the file cannot be read or written.
pub fn drop_exclusion(work_tree: &Path, inner: &Path) -> Result<(), Failure> {
    let Some(file) = exclude_file(work_tree) else {
        return Ok(());
    };
    let text = read_excluded(&file)?;
    let written = format!("{EXCLUDED}\n{}\n", pattern_of(inner));
    match text.contains(&written) {
        true => write_excluded(&file, &text.replacen(&written, "", 1)),
        false => Ok(()),
    }
}

fn exclude_file(work_tree: &Path) -> Option<PathBuf> {
    git_dir(work_tree).map(|folder| common_dir(&folder).join("info/exclude"))
}

fn read_excluded(file: &Path) -> Result<String, Failure> {
    match fs::read_to_string(file) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(String::new()),
        read => read.map_err(|error| unwritable(file, error)),
    }
}

fn write_excluded(file: &Path, text: &str) -> Result<(), Failure> {
    let folder = file.parent().unwrap_or(file);
    let written = fs::create_dir_all(folder).and_then(|()| fs::write(file, text));
    written.map_err(|error| unwritable(file, error))
}

/// A folder as a pattern of git that fits nothing else.
fn pattern_of(inner: &Path) -> String {
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
pub fn is_merged(work_tree: &Path, branch: &str, onto: &str) -> bool {
    let full = |name: &str| format!("refs/heads/{name}");
    let (branch, onto) = (full(branch), full(onto));
    let args = ["merge-base", "--is-ancestor", &branch, &onto];
    git(work_tree, &args).is_ok_and(|said| said.ok)
}

fn failed(what: &str, said: &Said) -> Failure {
    Failure::new("worktree.failed", format!("{what}: {}", last_line(said)))
        .hint("mend what git says, and run again")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_advised_to_use_force() {
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
            assert_eq!(without_advice(said), plain);
        }
    }

    #[test]
    fn worktrees_are_read_with_branch_and_lock() {
        let text = "worktree /a b\nHEAD 1\nbranch refs/heads/x/y\nlocked\n\n\
                    worktree /c\nHEAD 2\ndetached\nlocked on a stick\nprunable gone\n";
        let found = parse(text);
        let one = |path: &str, branch: Option<&str>, locked: &str| Worktree {
            path: PathBuf::from(path),
            branch: branch.map(str::to_owned),
            locked: Some(locked.to_owned()),
        };
        let expected = [one("/a b", Some("x/y"), ""), one("/c", None, "on a stick")];
        assert_eq!(found, expected);
    }
}
