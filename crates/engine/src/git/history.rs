//! Where the work of items is, seen from what is checked out.
//!
//! Git is asked once for each change of `HEAD`, and only where an item was done
//! whose work is committed, or on another branch. What it said is kept in `history.json` beside the journal:
//! losing that costs one git process.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use piton_core::checkout::Checkout;
use piton_core::{ItemRow, ItemState, Node, RunId, RunRow, RunState, Tables};
use piton_formats::plan_file::PlanFile;
use serde::{Deserialize, Serialize};

use crate::git::{self, WorkCommits, WorkPosition};
use crate::project::Project;
use crate::project::inside::write_own_file;
use crate::world::input;

/// How long is waited before git is asked again that failed.
const ASK_AGAIN: Duration = Duration::from_secs(60);

/// What git said of work when this was checked out.
#[derive(Debug, Default, Serialize, Deserialize)]
struct HistoryCache {
    head: String,
    /// Each by its [`cache_key`].
    works: BTreeMap<String, WorkPosition>,
    /// Whether git failed to say more, when this was written.
    #[serde(default)]
    has_failed: bool,
}

impl HistoryCache {
    fn position_of(&self, work: &WorkCommits) -> Option<WorkPosition> {
        self.works.get(&cache_key(work)).copied()
    }
}

/// Whether what git says is kept: who only reads writes nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HistoryCaching {
    /// It is.
    Yes,
    /// It is not.
    No,
}

/// The items whose work the history of what is checked out `here` does not have:
/// no commit of it, none with the same change, none with the same tree. Uncommitted
/// work belongs to the branch on which it was done. What was committed on this branch
/// is not here where the branch was set back, or has never been at it.
pub(crate) fn items_done_elsewhere(
    project: &Project,
    here: &Checkout,
    tables: &Tables,
    run: RunId,
    keeps: HistoryCaching,
) -> Vec<Node> {
    let works = |row: &ItemRow| Some(commits_of_item(row)).filter(|work| !work.is_empty());
    let done = tables
        .items(run)
        .filter(|row| row.state == ItemState::Done && row.work.done_on.is_some());
    let done: Vec<(&ItemRow, Option<WorkCommits>)> = done
        .map(|row| (row, works(row)))
        .filter(|(row, work)| work.is_some() || was_done_on_other_branch(row, here))
        .filter(|(row, _)| keeps == HistoryCaching::Yes || was_done_on_other_branch(row, here))
        .collect();
    let asked: Vec<&WorkCommits> = done.iter().filter_map(|(_, work)| work.as_ref()).collect();
    let answers = query_positions(project, here, &asked, keeps);
    let row = tables.run(run);
    let is_run_here = done.iter().any(|(_, work)| work.is_none())
        && row.is_some_and(|row| is_run_landed_here(project, here, row));
    let has_been_at = |work: Option<&WorkCommits>| {
        let tip = work.and_then(|work| work.last())?;
        git::was_branch_at(&project.work_tree, here, tip)
    };
    let is_here = |row: &ItemRow, work: Option<&WorkCommits>| {
        let whereabouts = work.and_then(|work| answers.position_of(work));
        match whereabouts {
            Some(WorkPosition::Own | WorkPosition::Alike) => true,
            None if work.is_none() && is_run_here => true,
            _ if was_done_on_other_branch(row, here) => false,
            Some(WorkPosition::Ahead) => false,
            // It may have been amended, or rebased with conflicts; or it was never
            // on this branch, which has the name of one that had it, or was left.
            Some(WorkPosition::Aside | WorkPosition::Gone) => has_been_at(work) != Some(false),
            None => true,
        }
    };
    let elsewhere = done
        .iter()
        .filter(|(row, work)| !is_here(row, work.as_ref()));
    elsewhere.map(|(row, _)| row.node.clone()).collect()
}

/// Whether the work of a run in lanes has landed on what is checked out, or is merged
/// there: with it comes what has no commit here, since it was done in another repository
/// or by piton itself.
fn is_run_landed_here(project: &Project, here: &Checkout, row: &RunRow) -> bool {
    let Some(target) = row
        .branches
        .target
        .as_deref()
        .filter(|_| row.branches.lanes.is_some())
    else {
        return false;
    };
    let is_here = |onto: &str| here.branch.as_deref() == Some(onto);
    if target.tip == target.base {
        let is_done = row.state == RunState::Done;
        return is_done && target.onto.as_deref().is_some_and(is_here);
    }
    // A person may have taken it back.
    let landed = row.branches.landed.as_deref();
    let landed = landed.map(|landed| landed.at.as_ref().unwrap_or(&landed.commit));
    let at = here.commit.as_deref();
    let has = |commit: &String| {
        at.is_some_and(|at| git::is_built_on(&project.work_tree, at, commit).unwrap_or_default())
    };
    landed.is_some_and(has) || has(&target.tip)
}

/// The same, of items of which git knows a commit alone: for a file that all
/// branches share, which tells nothing of the others.
pub(crate) fn items_committed_elsewhere(
    project: &Project,
    here: &Checkout,
    tables: &Tables,
    run: RunId,
    keeps: HistoryCaching,
) -> Vec<Node> {
    let mut nodes = items_done_elsewhere(project, here, tables, run, keeps);
    let is_known = |node: &Node| {
        let row = tables.item(run, node);
        row.is_some_and(|row| !commits_of_item(row).is_empty())
    };
    nodes.retain(is_known);
    nodes
}

/// The branches that have the work of items which what is checked out does not
/// have.
pub(crate) fn branches_of_done_items(
    project: &Project,
    tables: &Tables,
    run: RunId,
) -> BTreeMap<Node, String> {
    let here = git::read_checkout(&project.work_tree);
    let is_there = |here: &Checkout| {
        tables
            .items(run)
            .any(|row| was_done_on_other_branch(row, here))
    };
    let Some(here) = here.filter(is_there) else {
        return BTreeMap::new();
    };
    let path = tables.run(run).and_then(PlanFile::path_of_run);
    let path = path.filter(|path| project.is_tracked(path));
    let nodes = match (path, PlanFile::of_run(tables, run)) {
        (Some(path), Some(mut plan)) => {
            plan.set_done_elsewhere(items_done_elsewhere(
                project,
                &here,
                tables,
                run,
                HistoryCaching::No,
            ));
            let text = match tables
                .run(run)
                .is_some_and(|row| row.branches.lanes.is_some())
            {
                // What a person marks in the work tree says nothing of where it was done.
                true => project
                    .path_in_work_tree(&path)
                    .and_then(|file| git::committed_text(&project.work_tree, &file)),
                false => project.read_text(&project.absolute_path(&path)).ok(),
            };
            plan.done_elsewhere(tables, &[text.as_deref()])
        }
        _ => items_committed_elsewhere(project, &here, tables, run, HistoryCaching::No),
    };
    let branch_of = |node: Node| {
        let done_on = tables.item(run, &node)?.work.done_on.as_ref()?;
        Some((node, done_on.branch.clone()?))
    };
    let branches: BTreeMap<Node, String> = nodes.into_iter().filter_map(branch_of).collect();
    let is_other = |branch: &String| here.branch.as_ref() != Some(branch);
    branches
        .into_iter()
        .filter(|(_, branch)| is_other(branch))
        .collect()
}

/// Whether an item was done on another branch than this, or on none.
pub(crate) fn was_done_on_other_branch(row: &ItemRow, here: &Checkout) -> bool {
    let is_other = |on: &Checkout| match on.branch {
        Some(_) => on.branch != here.branch,
        // What is not committed in the middle of a rebase belongs to its branch.
        None => !commits_of_item(row).is_empty(),
    };
    row.state == ItemState::Done && row.work.done_on.as_deref().is_some_and(is_other)
}

/// The commits of its work, by their whole names: git is not asked about a shortened
/// name that a person typed.
/// None of what was done in another repository: git is not asked about that here.
fn commits_of_item(row: &ItemRow) -> WorkCommits {
    let done_on = row.work.done_on.as_ref();
    if done_on.is_some_and(|on| on.repository.is_some()) {
        return WorkCommits::new();
    }
    let is_whole = |commit: &&String| {
        let is_hex = commit.bytes().all(|byte| byte.is_ascii_hexdigit());
        matches!(commit.len(), 40 | 64) && is_hex
    };
    row.work.commits.iter().filter(is_whole).cloned().collect()
}

/// Under what the answer about some work is kept.
fn cache_key(work: &WorkCommits) -> String {
    let tip = work.last().map_or("", String::as_str);
    format!("{tip}+{}", work.len())
}

/// Whether the history of what is checked out has a commit that was checked out
/// before: then a file that git tracks holds what it held there, and what has
/// become of it since.
pub(crate) fn is_descendant_of_past(project: &Project, commit: &str) -> bool {
    position_of_commit(project, commit) == Some(WorkPosition::Own)
}

/// Whether what is checked out is a commit that one builds on which was checked
/// out before.
pub(crate) fn is_set_back_from(project: &Project, commit: &str) -> bool {
    position_of_commit(project, commit) == Some(WorkPosition::Ahead)
}

/// Where a commit is, seen from what is checked out; none where git cannot say.
fn position_of_commit(project: &Project, commit: &str) -> Option<WorkPosition> {
    let here = git::read_checkout(&project.work_tree).filter(|_| !commit.is_empty())?;
    if here.commit.as_deref() == Some(commit) {
        return Some(WorkPosition::Own);
    }
    let work = vec![commit.to_owned()];
    query_positions(project, &here, &[&work], HistoryCaching::Yes).position_of(&work)
}

/// What git says of the works, and said before, for what is checked out; nothing
/// where it cannot say.
fn query_positions(
    project: &Project,
    here: &Checkout,
    works: &[&WorkCommits],
    keeps: HistoryCaching,
) -> HistoryCache {
    let Some(head) = here.commit.as_ref().filter(|_| !works.is_empty()) else {
        return HistoryCache::default();
    };
    let path = cache_path(&project.home);
    let known = input::read_file(&path).ok();
    let known = known.and_then(|bytes| serde_json::from_slice::<HistoryCache>(&bytes).ok());
    let mut answers = known
        .filter(|known| known.head == *head)
        .unwrap_or_default();
    let is_new = |work: &&&WorkCommits| answers.position_of(work).is_none();
    let asked: Vec<&WorkCommits> = works.iter().filter(is_new).copied().collect();
    if asked.is_empty() || (answers.has_failed && is_recent_file(&path)) {
        return answers;
    }
    answers.head.clone_from(head);
    match git::locate_works(&project.work_tree, head, &asked) {
        Ok(found) => {
            let names = asked.iter().map(|work| cache_key(work));
            answers.works.extend(names.zip(found));
            answers.has_failed = false;
        }
        Err(failure) => {
            tracing::info!(%failure, "git does not say which commits are here");
            answers.has_failed = true;
        }
    }
    if keeps == HistoryCaching::Yes {
        // Who finds it torn or gone asks git.
        let bytes = serde_json::to_vec(&answers);
        bytes
            .ok()
            .and_then(|bytes| write_own_file(&path, &bytes).ok());
    }
    answers
}

fn is_recent_file(file: &Path) -> bool {
    let written = fs::metadata(file).and_then(|found| found.modified());
    let age = written.ok().and_then(|written| written.elapsed().ok());
    age.is_some_and(|age| age < ASK_AGAIN)
}

fn cache_path(home: &Path) -> PathBuf {
    home.join("history.json")
}
