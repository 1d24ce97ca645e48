//! Where the work of items is, seen from what is checked out.
//!
//! Git is asked once for each change of `HEAD`, and only where an item was done
//! on another branch. What it said is kept in `history.json` beside the journal:
//! losing that costs one git process.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use piton_core::checkout::Checkout;
use piton_core::{ItemRow, ItemState, Node, RunId, Tables};
use piton_formats::plan_file::PlanFile;
use serde::{Deserialize, Serialize};

use crate::git;
use crate::keeper::Keeper;
use crate::project::Project;

/// A line that is this long is not one of those that stand everywhere.
const TELLING_LINE: usize = 10;

/// What git said of commits when this was checked out.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Answers {
    head: String,
    /// Those that its history has.
    own: BTreeSet<String>,
    /// Those of which its history has the like.
    alike: BTreeSet<String>,
    /// All others that were asked about.
    elsewhere: BTreeSet<String>,
}

impl Answers {
    fn knows(&self, commit: &String) -> bool {
        let all = [&self.own, &self.alike, &self.elsewhere];
        all.iter().any(|some| some.contains(commit))
    }
}

/// The items that were done on another branch, in work that the history of what
/// is checked out `here` does not have: no commit of it, none with the same
/// change, none with the same tree. Work that nobody committed belongs to the
/// branch on which it was done.
pub(crate) fn done_elsewhere(
    project: &Project,
    here: &Checkout,
    tables: &Tables,
    run: RunId,
) -> Vec<Node> {
    let items = tables
        .items(run)
        .filter(|row| is_of_other_branch(row, here));
    let items: Vec<&ItemRow> = items.collect();
    let commits = items.iter().filter_map(|row| commit_of(row));
    let answers = ask(project, here, &commits.collect());
    let is_here = |row: &ItemRow| {
        let commit = commit_of(row);
        commit
            .is_some_and(|commit| answers.own.contains(&commit) || answers.alike.contains(&commit))
    };
    let elsewhere = items.into_iter().filter(|row| !is_here(row));
    elsewhere.map(|row| row.node.clone()).collect()
}

/// The same, of items of which git knows a commit alone: for a file that all
/// branches share, which tells nothing of the others.
pub(crate) fn committed_elsewhere(
    project: &Project,
    here: &Checkout,
    tables: &Tables,
    run: RunId,
) -> Vec<Node> {
    let mut nodes = done_elsewhere(project, here, tables, run);
    let is_known = |node: &Node| {
        tables
            .item(run, node)
            .is_some_and(|row| commit_of(row).is_some())
    };
    nodes.retain(is_known);
    nodes
}

/// The branches that have the work of items which what is checked out does not
/// have.
pub(crate) fn branches_of(
    project: &Project,
    tables: &Tables,
    run: RunId,
) -> BTreeMap<Node, String> {
    let here = git::checked_out(&project.work_tree);
    let is_there = |here: &Checkout| tables.items(run).any(|row| is_of_other_branch(row, here));
    let Some(here) = here.filter(is_there) else {
        return BTreeMap::new();
    };
    let path = tables.run(run).and_then(PlanFile::path);
    let path = path.filter(|path| project.is_tracked(path));
    let nodes = match (path, PlanFile::of(tables, run)) {
        (Some(path), Some(mut plan)) => {
            plan.set_elsewhere(done_elsewhere(project, &here, tables, run));
            let text = fs::read_to_string(project.absolute(&path)).ok();
            plan.done_elsewhere(tables, &[text.as_deref()])
        }
        _ => committed_elsewhere(project, &here, tables, run),
    };
    let branch_of = |node: Node| {
        let done_on = tables.item(run, &node)?.done_on.as_ref()?;
        Some((node, done_on.branch.clone()?))
    };
    let branches: BTreeMap<Node, String> = nodes.into_iter().filter_map(branch_of).collect();
    let is_other = |branch: &String| here.branch.as_ref() != Some(branch);
    branches
        .into_iter()
        .filter(|(_, branch)| is_other(branch))
        .collect()
}

/// Whether an item was done on another branch than this.
pub(crate) fn is_of_other_branch(row: &ItemRow, here: &Checkout) -> bool {
    let done_on = row.done_on.as_ref();
    row.state == ItemState::Done && done_on.is_some_and(|on| !on.belongs_to_branch_of(here))
}

/// The last commit of its work, by its whole name: what somebody typed of one is
/// not asked about.
fn commit_of(row: &ItemRow) -> Option<String> {
    let is_whole = |commit: &&String| {
        let is_hex = commit.bytes().all(|byte| byte.is_ascii_hexdigit());
        matches!(commit.len(), 40 | 64) && is_hex
    };
    row.commit.as_ref().filter(is_whole).cloned()
}

/// Whether the history of what is checked out has a commit that was checked out
/// before: then a file that git tracks holds what it held there, and what has
/// become of it since.
pub(crate) fn has_grown_from(project: &Project, commit: &str) -> bool {
    let here = git::checked_out(&project.work_tree);
    let Some(here) = here.filter(|_| !commit.is_empty()) else {
        return false;
    };
    if here.commit.as_deref() == Some(commit) {
        return true;
    }
    let commit = commit.to_owned();
    ask(project, &here, &[commit.clone()].into())
        .own
        .contains(&commit)
}

/// Whether a file that is not there is one that the branch which is checked out
/// does not have, while others do. Written there, it would stand in the way of
/// whoever wants to have one of these checked out.
pub(crate) fn is_absent(project: &Project, path: &str, keeper: &mut Keeper) -> io::Result<bool> {
    if keeper.is_absent_here() {
        return Ok(true);
    }
    let target = project.absolute(path);
    let Ok(file) = target.strip_prefix(&project.work_tree) else {
        return Ok(false);
    };
    if !keeper.is_of_other_branch() || !git::is_committed_somewhere(&project.work_tree, file) {
        return Ok(false);
    }
    keeper.note_absent()?;
    Ok(true)
}

/// Whether git took along what a version of a tracked file lacks of the one that
/// piton wrote last, `base`: the file is as it is committed, and what is missing
/// stands on some branch, or in a stash. It comes back from there.
pub(crate) fn went_along(project: &Project, path: &str, base: &str, now: &[u8]) -> bool {
    let now = String::from_utf8_lossy(now);
    let now: BTreeSet<&str> = now.lines().collect();
    let is_telling = |line: &&str| line.trim().len() >= TELLING_LINE && !now.contains(line);
    let target = project.absolute(path);
    let file = target.strip_prefix(&project.work_tree);
    let (Some(lost), Ok(file)) = (base.lines().rev().find(is_telling), file) else {
        return false;
    };
    project.is_tracked(path) && git::has_taken_along(&project.work_tree, file, lost.trim())
}

/// What git says of the commits, and said before, for what is checked out; nothing
/// where it cannot say.
fn ask(project: &Project, here: &Checkout, commits: &BTreeSet<String>) -> Answers {
    let Some(head) = &here.commit else {
        return Answers::default();
    };
    if commits.is_empty() {
        return Answers::default();
    }
    let path = path(&project.home);
    let known = fs::read(&path).ok();
    let known = known.and_then(|bytes| serde_json::from_slice::<Answers>(&bytes).ok());
    let mut answers = known
        .filter(|known| known.head == *head)
        .unwrap_or_default();
    let is_new = |commit: &&String| !answers.knows(commit);
    let asked: BTreeSet<String> = commits.iter().filter(is_new).cloned().collect();
    if asked.is_empty() {
        return answers;
    }
    match git::reached(&project.work_tree, head, &asked) {
        Ok(found) => {
            answers.head.clone_from(head);
            answers.own.extend(found.own);
            answers.alike.extend(found.alike);
            let missing = asked.into_iter().filter(|commit| !answers.knows(commit));
            let missing: Vec<String> = missing.collect();
            answers.elsewhere.extend(missing);
            // Who finds it torn or gone asks git.
            let bytes = serde_json::to_vec(&answers);
            bytes.ok().and_then(|bytes| fs::write(&path, bytes).ok());
        }
        Err(failure) => tracing::info!(%failure, "git does not say which commits are here"),
    }
    answers
}

fn path(home: &Path) -> PathBuf {
    home.join("history.json")
}
