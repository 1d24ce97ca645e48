//! The commits in which a file came to be what it is, and those that were made here.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::Path;

use super::checked_out::common_dir;
use super::{git_dir, literal_pathspec, query_git};
use crate::world::input;

/// The commits that a version of a file was made of: each commit with those before it
/// of which the file has something.
#[derive(Clone, Debug, Default)]
pub struct FileHistory {
    /// The last ones: of what is checked out, and of what is being merged into it.
    pub heads: Vec<String>,
    /// All of them, the newest first.
    pub commits: Vec<String>,
    /// Those before each commit, back to the one that bounds the history.
    pub parents: HashMap<String, Vec<String>>,
}

impl FileHistory {
    /// The history of a tracked file, by its path in the work tree, back to the commit
    /// `since`, or through so many commits of whatever file, and of so many commits at
    /// most; none where git cannot say.
    #[must_use]
    pub fn load(
        work_tree: &Path,
        file: &str,
        since: Option<&str>,
        commits_max: usize,
    ) -> Option<Self> {
        let mut history = Self::default();
        let count = format!("--max-count={commits_max}");
        let since = since
            .map(str::to_owned)
            .or_else(|| commit_before(work_tree));
        let bound = since.map(|since| format!("^{since}"));
        let file = literal_pathspec(file);
        for tip in std::iter::once("HEAD".to_owned()).chain(merge_heads(work_tree)) {
            let mut list = vec!["rev-list", "--topo-order", "--parents", &count, &tip];
            list.extend(bound.as_deref());
            list.extend(["--", &file]);
            let said = query_git(work_tree, &list).ok().filter(|said| said.ok)?;
            let mut lines = said
                .out
                .lines()
                .map(|line| line.split(' ').map(str::to_owned));
            let mut head = None;
            for mut commits in lines.by_ref() {
                let commit = commits.next()?;
                head.get_or_insert_with(|| commit.clone());
                history.commits.push(commit.clone());
                history.parents.insert(commit, commits.collect());
            }
            history.heads.push(head.unwrap_or(tip));
        }
        Some(history)
    }

    /// Whether several versions were merged in it.
    #[must_use]
    pub fn has_merge(&self) -> bool {
        self.heads.len() > 1 || self.parents.values().any(|parents| parents.len() > 1)
    }
}

/// How many commits a history is looked through for those of a file, where nothing
/// else bounds it.
const LOOKED_THROUGH_MAX: u32 = 5_000;

/// A commit so many commits before what is checked out; none in a shorter history.
fn commit_before(work_tree: &Path) -> Option<String> {
    let skip = format!("--skip={LOOKED_THROUGH_MAX}");
    let said = query_git(work_tree, &["rev-list", "--max-count=1", &skip, "HEAD"]);
    let said = said.ok().filter(|said| said.ok)?;
    said.out.lines().next().map(str::to_owned)
}

/// What is being merged into what is checked out, and not committed yet.
fn merge_heads(work_tree: &Path) -> Vec<String> {
    let file = git_dir(work_tree).map(|folder| folder.join("MERGE_HEAD"));
    let text = file.and_then(|file| input::read_file_text(file).ok());
    let text = text.unwrap_or_default();
    text.split_whitespace().map(str::to_owned).collect()
}

/// The commits that were made in a work tree of this repository, by `git commit` or by
/// a rebase of what was; none where git keeps no log of that.
#[must_use]
pub fn commits_made_here(work_tree: &Path) -> Option<HashSet<String>> {
    let common = common_dir(&git_dir(work_tree)?);
    let linked = fs::read_dir(common.join("worktrees")).into_iter().flatten();
    let linked = linked.filter_map(|entry| Some(entry.ok()?.path()));
    let mut found = None;
    for folder in std::iter::once(common.clone()).chain(linked) {
        // OLD NEW NAME <MAIL> TIME ZONE<tab>WHAT
        let Ok(log) = input::read_file(folder.join("logs/HEAD")) else {
            continue;
        };
        let log = String::from_utf8_lossy(&log);
        let made = log.lines().filter_map(|line| {
            let (names, what) = line.split_once('\t')?;
            let new = names.split(' ').nth(1).filter(|_| is_commit_entry(what));
            new.map(str::to_owned)
        });
        found.get_or_insert_with(HashSet::new).extend(made);
    }
    found
}

/// Whether git made a commit where its log of `HEAD` says this, and did not only go to
/// one.
fn is_commit_entry(what: &str) -> bool {
    let (verb, rest) = what.split_once(':').unwrap_or((what, ""));
    let is_verb = verb.starts_with("commit") || ["cherry-pick", "revert", "am"].contains(&verb);
    let steps = ["pick", "continue", "reword", "edit", "squash", "fixup"];
    let is_step = steps
        .iter()
        .any(|step| verb.ends_with(&format!("({step})")));
    is_verb || is_step || rest.starts_with(" Merge made by")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_is_made_by_some_of_what_moves_a_head() {
        for (what, makes) in [
            ("commit: mine", true),
            ("commit (initial): begin", true),
            ("commit (amend): mine", true),
            ("commit (merge): Merge branch 'x'", true),
            ("cherry-pick: mine", true),
            ("revert: Revert \"mine\"", true),
            ("am: mine", true),
            ("rebase (pick): mine", true),
            ("rebase -i (squash): mine", true),
            ("rebase (continue): mine", true),
            ("pull --rebase (pick): mine", true),
            ("merge x: Merge made by the 'ort' strategy.", true),
            ("pull: Merge made by the 'ort' strategy.", true),
            ("rebase (start): checkout origin/main", false),
            ("pull --rebase (start): checkout 0123456", false),
            ("rebase (finish): returning to refs/heads/main", false),
            ("merge x: Fast-forward", false),
            ("pull: Fast-forward", false),
            ("checkout: moving from main to x", false),
            ("reset: moving to HEAD~1", false),
            ("clone: from somewhere", false),
        ] {
            assert_eq!(is_commit_entry(what), makes, "{what}");
        }
    }
}
