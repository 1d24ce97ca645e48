//! A journal that git tracks came with the repository: it is not one's own.

use super::Project;
use crate::failure::Failure;
use crate::git;
use crate::process::shell::quote_word;

/// Refuses to write into a store whose journal git tracks: another person wrote it, and
/// it would say what ran here. Git's index is read for this, and git is started only
/// where the index is one that only git can read.
///
/// # Errors
///
/// `store.tracked`.
pub(crate) fn refuse_tracked_store(project: &Project) -> Result<(), Failure> {
    let journal = project.home.join("journal.db");
    // The command may be typed elsewhere, of a project in another work tree.
    let tree = match journal.starts_with(&project.work_tree) {
        true => &project.work_tree,
        false => &project.root,
    };
    let Ok(path) = journal.strip_prefix(tree) else {
        return Ok(());
    };
    let Some(path) = path.to_str().filter(|_| project.is_in_git()) else {
        return Ok(());
    };
    if path.starts_with(".git/") || !git::is_tracked_for_certain(tree, path) {
        return Ok(());
    }
    let what = format!("git tracks {path}: it came with the repository, and is not your own");
    let typed = quote_word(path).into_owned();
    Err(Failure::new("store.tracked", what).with_hint(format!(
        "see what it holds with `piton journal export`; to go on with it all the same, have git let go of it, which leaves the file: `git rm --cached {typed}`"
    )))
}
