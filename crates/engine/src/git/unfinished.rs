//! What git was in the middle of, in a work tree. Looking changes nothing, not
//! even the index.

use std::path::Path;

use super::SnapshotError;
use super::checked_out::git_dir;
use super::tracker::TimedGit;
use crate::world::World;

/// What lies in the folder of git while it is in the middle of something.
const UNFINISHED: [(&str, &str); 6] = [
    ("MERGE_HEAD", "a merge was begun and is not finished"),
    ("rebase-merge", "a rebase was begun and is not finished"),
    ("rebase-apply", "a rebase was begun and is not finished"),
    (
        "CHERRY_PICK_HEAD",
        "a cherry-pick was begun and is not finished",
    ),
    ("REVERT_HEAD", "a revert was begun and is not finished"),
    (
        "index.lock",
        "git's index.lock is there: a git works, or one died",
    ),
];

/// The git operation that was begun in a work tree and did not end, as its files say;
/// a lock is no such operation.
#[must_use]
pub fn find_unfinished_operation(work_tree: &Path) -> Option<&'static str> {
    let folder = git_dir(work_tree)?;
    let mut begun = UNFINISHED.iter().filter(|(name, _)| *name != "index.lock");
    let found = begun.find(|(name, _)| folder.join(name).exists());
    found.map(|(_, fact)| *fact)
}

/// What git was in the middle of and did not finish, a sentence each. Nothing
/// outside a work tree. A work tree that only has changes is as it should be:
/// agents make changes.
///
/// # Errors
///
/// [`SnapshotError`] where git cannot be started or does not answer in time.
pub fn describe_unfinished(world: &World, work_tree: &Path) -> Result<Vec<String>, SnapshotError> {
    let asking = TimedGit::new(world, work_tree);
    let said = asking.run(&["rev-parse", "--absolute-git-dir"])?;
    if !said.ok {
        return Ok(Vec::new());
    }
    let folder = Path::new(&said.out);
    let mut facts: Vec<String> = UNFINISHED
        .iter()
        .filter(|(name, _)| folder.join(name).exists())
        .map(|(_, fact)| (*fact).to_owned())
        .collect();
    facts.dedup();
    let list = ["ls-files", "--unmerged", "--full-name", "-z", "--", ":/"];
    // What was seen so far holds, also where git needs too long for the rest.
    let unmerged = asking
        .run_checked(&list)
        .map(|said| said.out)
        .unwrap_or_default();
    let mut paths: Vec<&str> = unmerged
        .split('\0')
        .filter_map(|line| Some(line.split_once('\t')?.1))
        .collect();
    // One line for each side of it.
    paths.dedup();
    if let Some(first) = paths.first() {
        let more = match paths.len() {
            1 => String::new(),
            count => format!(" and {} more", count - 1),
        };
        facts.push(format!("{first}{more} has conflicts that are not resolved"));
    }
    Ok(facts)
}
