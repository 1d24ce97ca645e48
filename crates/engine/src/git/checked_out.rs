//! What is checked out, read from the files of a repository: git is not started,
//! because every writing command asks.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use piton_core::checkout::Checkout;

use super::settings::parse_settings;
use crate::world::input;

/// A log of more bytes is that of thousands of commits.
const LOG_BYTES_MAX: u64 = 4 << 20;

/// What is checked out in a work tree; none where it is not git's. A commit that
/// is not found in a file of refs is left out.
#[must_use]
pub fn read_checkout(work_tree: &Path) -> Option<Checkout> {
    let folder = git_dir(work_tree)?;
    let head = input::read_file_text(folder.join("HEAD")).ok()?;
    let Some(name) = head.trim().strip_prefix("ref: ") else {
        return Some(Checkout {
            repository: None,
            branch: None,
            commit: Some(head.trim().to_owned()),
        });
    };
    let branch = name.strip_prefix("refs/heads/").unwrap_or(name);
    if branch == ".invalid" {
        // The branches are kept in tables, which only git reads.
        return None;
    }
    Some(Checkout {
        repository: None,
        branch: Some(branch.to_owned()),
        commit: commit_of_ref(&folder, name),
    })
}

/// Whether the branch that is checked out has ever been at a commit; none where
/// git keeps no log of it, or one that is too long to be read.
#[must_use]
pub fn was_branch_at(work_tree: &Path, here: &Checkout, commit: &str) -> Option<bool> {
    let branch = here.branch.as_ref()?;
    let common = common_dir(&git_dir(work_tree)?);
    let log = common.join("logs/refs/heads").join(branch);
    if fs::metadata(&log).ok()?.len() > LOG_BYTES_MAX {
        return None;
    }
    // OLD NEW NAME <MAIL> TIME ZONE<tab>WHAT
    let text = input::read_file(log).ok()?;
    let text = String::from_utf8_lossy(&text);
    Some(text.lines().any(|line| {
        let mut names = line.split(' ');
        names.next() == Some(commit) || names.next() == Some(commit)
    }))
}

/// A work tree of the repository of `work_tree` in which a branch is checked out.
#[must_use]
pub fn find_worktree_of_branch(work_tree: &Path, branch: &str) -> Option<PathBuf> {
    let common = common_dir(&git_dir(work_tree)?);
    let common = fs::canonicalize(common).ok()?;
    let linked = fs::read_dir(common.join("worktrees")).into_iter().flatten();
    let linked = linked.filter_map(|entry| {
        let folder = entry.ok()?.path();
        let text = input::read_file_text(folder.join("gitdir")).ok()?;
        // It may be said from there.
        Some(folder.join(text.trim()).parent()?.to_owned())
    });
    // The folder of a submodule lies elsewhere, and says where its work tree is.
    let config = input::read_file(common.join("config")).unwrap_or_default();
    let settings = parse_settings(&String::from_utf8_lossy(&config));
    let mut settings = settings.iter();
    let named = settings.find(|found| found.section == "core" && found.key == "worktree");
    let named = named.map(|found| common.join(&found.value));
    let main = common.parent().map(Path::to_owned);
    let own = [Some(work_tree.to_owned()), named, main];
    let mut trees = own.into_iter().flatten().chain(linked);
    trees.find(|tree| {
        let here = read_checkout(tree).and_then(|here| here.branch);
        here.as_deref() == Some(branch)
    })
}

/// The last commit of a branch; none where there is no branch of this name.
#[must_use]
pub fn tip_of_branch(work_tree: &Path, branch: &str) -> Option<String> {
    commit_of_ref(&git_dir(work_tree)?, &format!("refs/heads/{branch}"))
}

/// All branches, each with `refs/heads/` before its name, and their last commits.
#[must_use]
pub fn branch_tips(work_tree: &Path) -> BTreeMap<String, String> {
    let Some(common) = git_dir(work_tree).map(|folder| common_dir(&folder)) else {
        return BTreeMap::new();
    };
    let packed = input::read_file_text(common.join("packed-refs")).unwrap_or_default();
    let packed = packed.lines().filter_map(|line| line.split_once(' '));
    let mut tips: BTreeMap<String, String> = packed
        .filter(|(_, name)| name.starts_with("refs/heads/"))
        .map(|(commit, name)| (name.to_owned(), commit.to_owned()))
        .collect();
    let mut folders = vec![PathBuf::from("refs/heads")];
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(common.join(&folder));
        for entry in entries.into_iter().flatten().flatten() {
            let path = folder.join(entry.file_name());
            if entry.file_type().is_ok_and(|found| found.is_dir()) {
                folders.push(path);
            } else if let Some(name) = path.to_str() {
                // One that is packed meanwhile has its commit there.
                let commit = input::read_file_text(entry.path()).unwrap_or_default();
                tips.insert(name.to_owned(), commit.trim().to_owned());
            }
        }
    }
    tips
}

/// The folder in which git keeps what belongs to a work tree: its `.git`, or what
/// that names where it is a file.
pub(crate) fn git_dir(work_tree: &Path) -> Option<PathBuf> {
    let dot_git = work_tree.join(".git");
    if fs::metadata(&dot_git).ok()?.is_dir() {
        return Some(dot_git);
    }
    let text = input::read_file_text(&dot_git).ok()?;
    Some(work_tree.join(text.strip_prefix("gitdir:")?.trim()))
}

/// The folder of a repository that its work trees share, of the folder of one.
pub(super) fn common_dir(folder: &Path) -> PathBuf {
    let common = input::read_file_text(folder.join("commondir"));
    common.map_or_else(|_| folder.to_owned(), |path| folder.join(path.trim()))
}

/// What all work trees of the repository of one share, by its path without links; none
/// where there is no repository.
#[must_use]
pub(crate) fn repository_of(work_tree: &Path) -> Option<PathBuf> {
    fs::canonicalize(common_dir(&git_dir(work_tree)?)).ok()
}

/// The main work tree of a repository whose own folder is elsewhere, as that of a
/// submodule; none where its configuration names none.
#[must_use]
pub(crate) fn main_work_tree(common: &Path) -> Option<PathBuf> {
    let text = input::read_file_text(common.join("config")).ok()?;
    let settings = parse_settings(&text).into_iter();
    let mut named = settings
        .filter(|setting| (setting.section.as_str(), setting.key.as_str()) == ("core", "worktree"));
    fs::canonicalize(common.join(named.next_back()?.value)).ok()
}

/// Whether the repository of a work tree knows another one to exchange with.
#[must_use]
pub fn has_remotes(work_tree: &Path) -> bool {
    let config = git_dir(work_tree).map(|folder| common_dir(&folder).join("config"));
    let text = config.and_then(|config| input::read_file(config).ok());
    let text = text.unwrap_or_default();
    parse_settings(&String::from_utf8_lossy(&text))
        .iter()
        .any(|setting| setting.section == "remote" && setting.subsection.is_some())
}

fn commit_of_ref(folder: &Path, name: &str) -> Option<String> {
    let commit_in = |folder: &Path| {
        let loose = input::read_file_text(folder.join(name)).ok();
        loose.map(|text| text.trim().to_owned())
    };
    commit_in(folder).or_else(|| {
        // A linked work tree shares the branches of the repository.
        let common = common_dir(folder);
        if let Some(commit) = commit_in(&common) {
            return Some(commit);
        }
        let packed = input::read_file_text(common.join("packed-refs")).ok()?;
        let line = packed.lines().find(|line| {
            let named = line.split_once(' ');
            named.is_some_and(|(_, found)| found == name)
        });
        Some(line?.split_once(' ')?.0.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[expect(
        clippy::disallowed_methods,
        reason = "git is asked what it says itself"
    )]
    fn git(folder: &Path, args: &[&str]) -> String {
        let who = ["-c", "user.name=ada", "-c", "user.email=ada@example.org"];
        let mut git = Command::new("git");
        let output = git.args(who).args(args).current_dir(folder).output();
        let output = output.expect("git is installed");
        assert!(output.status.success(), "{args:?}");
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    /// What git itself says.
    fn said(folder: &Path) -> Checkout {
        let branch = git(folder, &["branch", "--show-current"]);
        Checkout {
            repository: None,
            branch: Some(branch).filter(|branch| !branch.is_empty()),
            commit: Some(git(folder, &["rev-parse", "HEAD"])),
        }
    }

    #[test]
    fn what_is_checked_out_is_what_git_says() {
        let folder = tempfile::tempdir().expect("a folder");
        let (one, other) = (folder.path().join("one"), folder.path().join("other"));
        fs::create_dir(&one).expect("made");
        assert_eq!(read_checkout(&one), None, "no repository");
        git(&one, &["init", "-q", "-b", "main"]);
        let unborn = read_checkout(&one).expect("a repository");
        assert_eq!(
            (unborn.branch.as_deref(), unborn.commit),
            (Some("main"), None)
        );
        for branch in ["main", "feature/deep"] {
            git(&one, &["checkout", "-qB", branch]);
            git(&one, &["commit", "-q", "--allow-empty", "-m", branch]);
            assert_eq!(read_checkout(&one), Some(said(&one)));
        }
        git(&one, &["pack-refs", "--all"]);
        assert_eq!(read_checkout(&one), Some(said(&one)), "packed");
        let path = other.to_str().expect("UTF-8");
        git(&one, &["worktree", "add", "-q", path, "main"]);
        assert_eq!(read_checkout(&other), Some(said(&other)), "linked");
        assert!(!has_remotes(&one) && !has_remotes(&other));
        git(&one, &["remote", "add", "origin", "../shore"]);
        assert!(has_remotes(&one) && has_remotes(&other), "linked");
        for (from, branch, there) in [(&other, "feature/deep", &one), (&one, "main", &other)] {
            let tree = find_worktree_of_branch(from, branch).expect("it is checked out");
            assert_eq!(fs::canonicalize(tree).ok(), fs::canonicalize(there).ok());
        }
        assert_eq!(find_worktree_of_branch(&one, "deep"), None);
        let link = one.join(".git/worktrees/other/gitdir");
        fs::write(link, "../../../../other/.git\n").expect("written");
        let linked = find_worktree_of_branch(&one, "main").expect("it is checked out");
        assert_eq!(fs::canonicalize(linked).ok(), fs::canonicalize(&other).ok());
        git(&one, &["checkout", "-q", "--detach"]);
        assert_eq!(find_worktree_of_branch(&one, "feature/deep"), None);
        let detached = read_checkout(&one).expect("a repository");
        assert_eq!(Some(&detached), Some(&said(&one)));
        assert_eq!(detached.branch, None);
    }

    /// Of a repository whose folder lies elsewhere, from where a linked tree looks.
    #[test]
    fn a_branch_is_found_in_a_work_tree_whose_folder_of_git_lies_elsewhere() {
        let folder = tempfile::tempdir().expect("a folder");
        let one = folder.path().join("one");
        fs::create_dir(&one).expect("made");
        git(
            &one,
            &["init", "-q", "-b", "main", "--separate-git-dir=../kept"],
        );
        git(&one, &["commit", "-q", "--allow-empty", "-m", "one"]);
        git(&one, &["worktree", "add", "-q", "../other"]);
        assert_eq!(
            find_worktree_of_branch(&one, "main").as_deref(),
            Some(&*one)
        );
        let (whole, sub) = (folder.path().join("whole"), folder.path().join("whole/sub"));
        fs::create_dir(&whole).expect("made");
        git(&whole, &["init", "-q", "-b", "main"]);
        let allow = [
            "-c",
            "protocol.file.allow=always",
            "submodule",
            "--quiet",
            "add",
        ];
        git(&whole, &[&allow[..], &["../one", "sub"]].concat());
        git(&sub, &["worktree", "add", "-q", "../../linked"]);
        let tree = find_worktree_of_branch(&folder.path().join("linked"), "main")
            .expect("it is checked out");
        assert_eq!(fs::canonicalize(tree).ok(), fs::canonicalize(&sub).ok());
    }
}
