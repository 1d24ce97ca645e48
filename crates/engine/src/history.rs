//! Where the work of items is, seen from what is checked out.
//!
//! Git is asked once for each change of `HEAD`, and only where an item was done
//! on another branch. What it said is kept in `history.json` beside the journal:
//! losing that costs one git process.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use piton_core::checkout::Checkout;
use piton_core::{ItemRow, ItemState, Node, RunId, Tables};
use serde::{Deserialize, Serialize};

use crate::git;
use crate::project::Project;

/// What git said of commits when this was checked out.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Answers {
    head: String,
    here: BTreeSet<String>,
    elsewhere: BTreeSet<String>,
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
    let reached = reached(project, here, &commits.collect());
    let is_here = |row: &ItemRow| commit_of(row).is_some_and(|commit| reached.contains(&commit));
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

/// Those of the commits that the history of `here` has, or has the like of; none
/// where git cannot say.
fn reached(project: &Project, here: &Checkout, commits: &BTreeSet<String>) -> BTreeSet<String> {
    let Some(head) = &here.commit else {
        return BTreeSet::new();
    };
    let path = path(&project.home);
    let known = fs::read(&path).ok();
    let known = known.and_then(|bytes| serde_json::from_slice::<Answers>(&bytes).ok());
    let mut answers = known
        .filter(|known| known.head == *head)
        .unwrap_or_default();
    let is_new =
        |commit: &&String| !answers.here.contains(*commit) && !answers.elsewhere.contains(*commit);
    let asked: BTreeSet<String> = commits.iter().filter(is_new).cloned().collect();
    if asked.is_empty() {
        return answers.here;
    }
    match git::reached(&project.work_tree, head, &asked) {
        Ok(found) => {
            answers.elsewhere.extend(asked.difference(&found).cloned());
            answers.here.extend(found);
            answers.head.clone_from(head);
            // Who finds it torn or gone asks git.
            let bytes = serde_json::to_vec(&answers);
            bytes.ok().and_then(|bytes| fs::write(&path, bytes).ok());
        }
        Err(failure) => tracing::info!(%failure, "git does not say which commits are here"),
    }
    answers.here
}

fn path(home: &Path) -> PathBuf {
    home.join("history.json")
}
