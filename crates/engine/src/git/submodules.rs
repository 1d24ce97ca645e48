//! Repositories within a work tree: of each a commit has a path and the name of a
//! commit, and nothing of what is in it.

use std::path::Path;

use super::{By, change, failed, git};
use crate::failure::Failure;

/// The mode of a path at which another repository lies.
const GITLINK: &str = "160000";

/// Checks out the commit that the work tree has of a submodule.
const FOLLOW: &str =
    r#"test "$(git rev-parse HEAD)" = "$sha1" || git checkout --quiet --detach "$sha1""#;

/// Prints the path of each submodule with a commit that no remote has.
const UNPUSHED: &str =
    r#"test -z "$(git rev-list -1 --all --reflog --not --remotes --tags)" || echo "$displaypath""#;

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
    let said = git(work_tree, &args)?;
    if !said.ok {
        return Err(failed("compare two commits", &said));
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

/// Brings the submodules that are checked out to the commits that the work tree has of
/// them, without a network. Changes in them stay. What git says where it cannot.
///
/// # Errors
///
/// When git cannot be started.
pub fn follow_submodules(work_tree: &Path, by: &By<'_>) -> Result<Option<String>, Failure> {
    if !has_submodules(work_tree) {
        return Ok(None);
    }
    // `git submodule update` would also clone what nobody has checked out here.
    let said = change(work_tree, &["submodule", "--quiet", "foreach", FOLLOW], by)?;
    Ok((!said.ok).then_some(said.err))
}

/// The submodules that are checked out and have a commit that no remote of theirs has.
///
/// # Errors
///
/// When git cannot be started.
pub fn unpushed_submodules(work_tree: &Path) -> Result<Vec<String>, Failure> {
    if !has_submodules(work_tree) {
        return Ok(Vec::new());
    }
    let args = ["submodule", "--quiet", "foreach", "--recursive", UNPUSHED];
    let said = git(work_tree, &args)?;
    match said.ok {
        true => Ok(said.out.lines().map(str::to_owned).collect()),
        false => Err(failed("look into submodules", &said)),
    }
}

fn has_submodules(work_tree: &Path) -> bool {
    work_tree.join(".gitmodules").is_file()
}
