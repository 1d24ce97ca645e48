//! Repositories within a work tree: of each a commit has a path and the name of a
//! commit, and nothing of what is in it.

use std::fmt;
use std::path::Path;

use super::checked_out::common_dir;
use super::worktrees::{remove_clean_worktree, remove_folder};
use super::{
    GitControl, git_dir, git_failure, head_commit, is_on_branch, query_git, run_git,
    tracked_changes, uncommitted_changes,
};
use crate::failure::Failure;

/// The mode of a path at which another repository lies.
const GITLINK: &str = "160000";

/// A repository that is at another commit, or that was added.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MovedSubmodule {
    /// Its path in the work tree.
    pub path: String,
    /// The commit that it was at; none where it was not there.
    pub from: Option<String>,
}

/// The repositories within a work tree that `to` has at another commit than `from`.
///
/// # Errors
///
/// When git cannot be started, or has no such commits.
pub fn moved_submodules(
    work_tree: &Path,
    from: &str,
    to: &str,
) -> Result<Vec<MovedSubmodule>, Failure> {
    let args = [
        "diff-tree",
        "-r",
        "-z",
        "--raw",
        "--no-renames",
        "--no-abbrev",
        from,
        to,
        "--",
    ];
    let said = query_git(work_tree, &args)?;
    if !said.ok {
        return Err(git_failure("compare two commits", &said));
    }
    let mut words = said.out.split('\0');
    let mut moved = Vec::new();
    while let (Some(change), Some(path)) = (words.next(), words.next()) {
        let fields: Vec<&str> = change.trim_start_matches(':').split(' ').collect();
        let [was, is, at, ..] = fields[..] else {
            continue;
        };
        if is == GITLINK {
            moved.push(MovedSubmodule {
                path: path.to_owned(),
                from: (was == GITLINK).then(|| at.to_owned()),
            });
        }
    }
    Ok(moved)
}

/// What a repository within a work tree has and no other one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UnsavedWork {
    /// All of it: it was made there.
    All,
    /// Commits that no remote has, the last of them under this name.
    Commits(String),
    /// Changes that are in no commit.
    Changes,
    /// Changes, or a commit on no branch, in a worktree of the project itself.
    Worktree,
}

impl fmt::Display for UnsavedWork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::All => "was made there and is nowhere else",
            Self::Commits(_) => "has commits that no remote of it has",
            Self::Changes => "has changes that are not committed",
            Self::Worktree => "is a worktree with changes, or with a commit on no branch",
        })
    }
}

/// A repository within a work tree, with something in it that is nowhere else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnsavedRepository {
    /// Its path in the work tree.
    pub path: String,
    /// What it has.
    pub work: UnsavedWork,
}

/// The repositories within a work tree that have what is nowhere else, where its
/// work builds on `onto`. A commit that only a reflog or a tag names is none of that.
///
/// # Errors
///
/// When git cannot be started, or cannot say.
pub fn unsaved_repositories(
    work_tree: &Path,
    onto: &str,
) -> Result<Vec<UnsavedRepository>, Failure> {
    let mut paths = untracked_repositories(work_tree)?;
    let linked = linked_repositories(work_tree)?;
    paths.extend(linked.into_iter().map(|(path, _)| path));
    let mut kept = Vec::new();
    for path in paths {
        let inner = work_tree.join(&path);
        // Of changes the repositories within it say more.
        let below = match has_own_objects(work_tree, onto, &path)? {
            true => Vec::new(),
            false => unsaved_repositories(&inner, "HEAD")?,
        };
        if below.is_empty() {
            let work = find_unsaved_work(work_tree, onto, &path)?;
            kept.extend(work.map(|work| UnsavedRepository { path, work }));
            continue;
        }
        kept.extend(below.into_iter().map(|found| UnsavedRepository {
            path: format!("{path}/{}", found.path),
            ..found
        }));
    }
    Ok(kept)
}

/// What a repository at a path has and no other one.
fn find_unsaved_work(
    work_tree: &Path,
    onto: &str,
    path: &str,
) -> Result<Option<UnsavedWork>, Failure> {
    if has_own_objects(work_tree, onto, path)? {
        return Ok(Some(UnsavedWork::All));
    }
    let inner = work_tree.join(path);
    let has_changes = || uncommitted_changes(&inner, &[]).map(|changed| !changed.is_empty());
    if is_worktree_of(work_tree, &inner) {
        let is_on_none = match head_commit(&inner)? {
            Some(at) => !is_on_branch(&inner, &at)?,
            None => false,
        };
        return Ok((is_on_none || has_changes()?).then_some(UnsavedWork::Worktree));
    }
    let commits = find_unsaved_commit(work_tree, onto, path)?.map(UnsavedWork::Commits);
    match commits {
        None if has_changes()? => Ok(Some(UnsavedWork::Changes)),
        found => Ok(found),
    }
}

/// Whether the objects of a repository lie within its folder, and the project has
/// none there.
fn has_own_objects(work_tree: &Path, onto: &str, path: &str) -> Result<bool, Failure> {
    let has_own_folder = work_tree.join(path).join(".git").is_dir();
    let object = format!("{onto}:{path}");
    Ok(has_own_folder && !query_git(work_tree, &["rev-parse", "--quiet", "--verify", &object])?.ok)
}

/// Whether a worktree of the repository of `work_tree` lies there.
fn is_worktree_of(work_tree: &Path, inner: &Path) -> bool {
    let common = |tree| common_dir(&git_dir(tree)?).canonicalize().ok();
    common(inner).is_some_and(|folder| common(work_tree) == Some(folder))
}

/// The name of the last commit in a repository that no remote has, that its clone did
/// not bring, and that the history of `onto` never had of it. `HEAD` where git cannot
/// say.
fn find_unsaved_commit(
    work_tree: &Path,
    onto: &str,
    path: &str,
) -> Result<Option<String>, Failure> {
    let inner = work_tree.join(path);
    let cloned = ["rev-list", "-g", "--branches", "--grep-reflog=^clone:"];
    let cloned = query_git(&inner, &cloned)?.out;
    let mut known: Vec<String> = cloned.lines().map(str::to_owned).collect();
    loop {
        let args = "-c log.showSignature=false log -1 --source --ignore-missing --exclude=refs/tags/* --all --not --remotes";
        let format = "--format=%H %S";
        let known_names = known.iter().map(String::as_str);
        let args: Vec<&str> = args.split(' ').chain(known_names).chain([format]).collect();
        let said = query_git(&inner, &args)?;
        if !said.ok {
            return Ok(Some("HEAD".to_owned()));
        }
        let Some((commit, name)) = said.out.split_once(' ') else {
            return Ok(None);
        };
        // It was pushed once, or fetched by its name alone.
        let find = format!("--find-object={commit}");
        let looked = ["log", "-1", "--format=%H", &find, onto, "--", path];
        let looked = query_git(work_tree, &looked)?;
        if !looked.ok || looked.out.is_empty() {
            return Ok(Some(name.to_owned()));
        }
        known.push(commit.to_owned());
    }
}

/// A submodule that is not as the work tree has it: at another commit, or changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BehindSubmodule {
    /// Its path in the work tree.
    pub path: String,
    /// What of it would be lost; none where it has no such commit.
    pub kept: Option<UnsavedWork>,
}

/// Whether submodules may be checked out in a work tree. Git is not started.
#[must_use]
pub fn has_submodules(work_tree: &Path) -> bool {
    let modules = git_dir(work_tree).map(|folder| folder.join("modules"));
    work_tree.join(".gitmodules").exists() || modules.is_some_and(|folder| folder.exists())
}

/// The submodules of a work tree in which tracked files are changed and not committed:
/// a check in the work tree sees the change, and no commit of it has it.
///
/// # Errors
///
/// When git cannot be started, or cannot say.
pub fn changed_submodules(work_tree: &Path) -> Result<Vec<String>, Failure> {
    if !has_submodules(work_tree) {
        return Ok(Vec::new());
    }
    let mut changed = Vec::new();
    for (path, _) in linked_repositories(work_tree)? {
        if !tracked_changes(&work_tree.join(&path), &[])?.is_empty() {
            changed.push(path);
        }
    }
    Ok(changed)
}

/// Brings the submodules that are checked out to the commits that the work tree has of
/// them, without a network, and takes away those that it has no more: else the next
/// commit there has what the last one left. What has something of its own stays.
///
/// # Errors
///
/// When git fails.
pub fn follow_submodules(
    work_tree: &Path,
    by: &GitControl<'_>,
) -> Result<Vec<BehindSubmodule>, Failure> {
    let mut behind = Vec::new();
    for path in untracked_repositories(work_tree)? {
        let inner = work_tree.join(&path);
        match find_unsaved_work(work_tree, "HEAD", &path)? {
            None if is_worktree_of(work_tree, &inner) => {
                remove_clean_worktree(work_tree, &inner, by)?
            }
            None => remove_folder(work_tree, &path, by)?,
            // That of the unit that goes on here.
            Some(UnsavedWork::All) => {}
            kept => behind.push(BehindSubmodule { path, kept }),
        }
    }
    // `git submodule update` would also clone submodules that are not checked out here.
    for (path, commit) in linked_repositories(work_tree)? {
        let inner = work_tree.join(&path);
        if head_commit(&inner)?.as_deref() == Some(&*commit) {
            if !tracked_changes(&inner, &[])?.is_empty() {
                let kept = Some(UnsavedWork::Changes);
                behind.push(BehindSubmodule { path, kept });
            }
            continue;
        }
        let kept = find_unsaved_work(work_tree, "HEAD", &path)?;
        let checkout = ["checkout", "--quiet", "--detach", &commit];
        if kept.is_some() || !run_git(&inner, &checkout, by)?.ok {
            behind.push(BehindSubmodule { path, kept });
        }
    }
    Ok(behind)
}

/// The repositories within a work tree that are checked out and have no commit: git
/// adds nothing of such a one.
///
/// # Errors
///
/// When git cannot be started, or cannot say.
pub fn unborn_repositories(work_tree: &Path) -> Result<Vec<String>, Failure> {
    let mut unborn = untracked_repositories(work_tree)?;
    let linked = linked_repositories(work_tree)?;
    unborn.extend(linked.into_iter().map(|(path, _)| path));
    let has_commit = |path: &String| {
        let args = ["rev-parse", "--quiet", "--verify", "HEAD"];
        query_git(&work_tree.join(path), &args).is_ok_and(|said| said.ok)
    };
    unborn.retain(|path| !has_commit(path));
    Ok(unborn)
}

/// The repositories that git does not track in a work tree, and does not ignore.
fn untracked_repositories(work_tree: &Path) -> Result<Vec<String>, Failure> {
    let others = list_files(work_tree, &["--others", "--exclude-standard"])?;
    // Of no other folder git says that it is one.
    let folders = others.iter().filter_map(|name| name.strip_suffix('/'));
    Ok(folders.map(str::to_owned).collect())
}

/// The repositories of which the index of a work tree has a commit, and that are
/// checked out; with that commit.
fn linked_repositories(work_tree: &Path) -> Result<Vec<(String, String)>, Failure> {
    let entries = list_files(work_tree, &["--stage"])?;
    let parsed = entries.iter().filter_map(|entry| {
        let (about, path) = entry.split_once('\t')?;
        let mut fields = about.split(' ');
        let is_link = fields.next() == Some(GITLINK);
        Some((path.to_owned(), fields.next()?.to_owned())).filter(|_| is_link)
    });
    let mut links: Vec<(String, String)> = parsed.collect();
    // One that conflicts is there for each side.
    links.dedup_by(|one, other| one.0 == other.0);
    links.retain(|(path, _)| work_tree.join(path).join(".git").exists());
    Ok(links)
}

fn list_files(work_tree: &Path, which: &[&str]) -> Result<Vec<String>, Failure> {
    let said = query_git(work_tree, &[&["ls-files", "-z"], which].concat())?;
    if !said.ok {
        return Err(git_failure(
            "look for repositories within a work tree",
            &said,
        ));
    }
    let names = said.out.split('\0').filter(|name| !name.is_empty());
    Ok(names.map(str::to_owned).collect())
}
