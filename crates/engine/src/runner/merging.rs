//! What depends on work that was done on another branch is not started where
//! that work is missing, and what another run did there is not begun again.

use std::collections::BTreeSet;

use piton_core::checkout::Checkout;
use piton_core::command::{MergeNeeded, MergedWork};
use piton_core::{
    CallerFacts, Command, DecisionRow, ItemRow, ItemState, Node, RunId, RunRow, RunState, Tables,
};
use piton_store::CommitError;

use super::other_runs::OtherRuns;
use super::run_facts::{load_run_snapshot, runner_facts};
use super::runner_state::Runner;
use crate::failure::Failure;
use crate::git;
use crate::git::history::{self, HistoryCaching};
use crate::native_files::plan_sync::PlanSync;
use crate::project::Project;
use crate::session::Session;

/// How many letters of a commit name it to people.
const SHORT_COMMIT: usize = 12;

impl Runner<'_, '_> {
    /// Lets what is ready wait for a merge where what it depends on was done on
    /// another branch, or another run did it there, and go on once that has come.
    pub(super) fn ask_for_merge(&mut self) -> Result<(), Failure> {
        let (session, run) = (self.session, self.row.id);
        let here = self.target_checkout();
        // A run that waits for hours looks twice a second: its items are gone through
        // when one of them or the checkout has changed.
        let looked_at = Some((here.clone(), self.known));
        if self.files.nothing_elsewhere_at == looked_at {
            return Ok(());
        }
        let looking = MergeNeedsFinder {
            project: self.work.sites.of_run.project.clone(),
            here,
            run,
            tables: self.lp.tables(),
            others: &self.files.other_runs,
        };
        if !looking.has_work_elsewhere() {
            self.files.nothing_elsewhere_at = looked_at;
            return Ok(());
        }
        let Some(needs) = looking.find_new_needs(self.plan_sync.as_mut()) else {
            return Ok(());
        };
        let facts = self.current_facts();
        commit_merge_needs(session, &facts, run, Some(self.lp.token()), needs)
    }
}

/// In a run without a runner, lets items go on that waited for work which has been
/// merged since. Whether any did.
///
/// # Errors
///
/// When the store fails.
pub(crate) fn resume_after_merge(session: &Session<'_>, row: &RunRow) -> Result<bool, Failure> {
    if row.state != RunState::Waiting {
        return Ok(false);
    }
    let (tables, _) = load_run_snapshot(session, row.id)?;
    if items_asked_to_merge(&tables, row.id).is_empty() {
        return Ok(false);
    }
    // Without its file, what git knows of the commits has to do.
    let mut plan_sync = PlanSync::open(session, row, &tables).ok().flatten();
    let project = session.project.with_run_worktree(row);
    let looking = MergeNeedsFinder {
        here: git::read_checkout(&project.work_tree),
        project,
        run: row.id,
        tables: &tables,
        others: &OtherRuns::load(session, row)?,
    };
    match looking.find_new_needs(plan_sync.as_mut()) {
        Some(needs) => {
            commit_merge_needs(session, &runner_facts(session), row.id, None, needs).map(|()| true)
        }
        None => Ok(false),
    }
}

/// What waits for a merge, and what was merged that waited for it.
struct MergeNeeds {
    items: Vec<MergeNeeded>,
    merged: Vec<MergedWork>,
}

fn commit_merge_needs(
    session: &Session<'_>,
    facts: &CallerFacts,
    run: RunId,
    token: Option<u64>,
    MergeNeeds { items, merged }: MergeNeeds,
) -> Result<(), Failure> {
    let command = Command::AskForMerge {
        run,
        token,
        items,
        merged,
    };
    match session.commit(&command, facts) {
        // Why it was refused, the loop finds out with its next command.
        Ok(_) | Err(CommitError::Refused(_)) => Ok(()),
        Err(other) => Err(other.into()),
    }
}

/// The items that a person is asked to merge already.
fn items_asked_to_merge(tables: &Tables, run: RunId) -> BTreeSet<&Node> {
    let open = tables.open_decisions(run);
    open.flat_map(DecisionRow::nodes_needing_merge).collect()
}

/// A look at which items of a run have to wait for a merge.
struct MergeNeedsFinder<'l> {
    project: Project,
    /// What the run has, as git says.
    here: Option<Checkout>,
    run: RunId,
    tables: &'l Tables,
    others: &'l OtherRuns,
}

impl MergeNeedsFinder<'_> {
    /// Whether anything that was done on another branch, or is asked about already, can
    /// hold up an item here.
    fn has_work_elsewhere(&self) -> bool {
        let Some(here) = &self.here else {
            return false;
        };
        let is_there = |row: &ItemRow| history::was_done_on_other_branch(row, here);
        !items_asked_to_merge(self.tables, self.run).is_empty()
            || self.tables.items(self.run).any(is_there)
            || self.others.has_work_on_other_branch(here)
    }

    /// The items that have to wait for a merge; none where they do already.
    /// An item whose question was answered is not held up again.
    fn find_new_needs(&self, plan_sync: Option<&mut PlanSync>) -> Option<MergeNeeds> {
        let (tables, run) = (self.tables, self.run);
        let here = self.here.clone()?;
        if !self.has_work_elsewhere() {
            return None;
        }
        let asked = items_asked_to_merge(tables, run);
        let is_there = |row: &ItemRow| history::was_done_on_other_branch(row, &here);
        let own = tables.items(run).any(is_there);
        let (mut items, merged) = self.done_by_others(&here, &asked);
        if own || !asked.is_empty() {
            let mut depending = self.items_depending_elsewhere(&here, &asked, plan_sync);
            // What waits for its own merge is asked about once.
            depending.retain(|needed| items.iter().all(|own| own.node != needed.node));
            items.extend(depending);
        }
        let nodes: BTreeSet<&Node> = items.iter().map(|needed| &needed.node).collect();
        // What has become ready meanwhile is asked about, and does not wait yet.
        let is_ready = |node: &&Node| {
            let row = tables.item(run, node);
            row.is_some_and(|row| row.state == ItemState::Ready)
        };
        let is_new = nodes != asked || nodes.iter().any(is_ready);
        is_new.then_some(MergeNeeds { items, merged })
    }

    /// What is not finished here and another run did elsewhere, whether it is
    /// ready or not; and what was asked about and is here by now.
    fn done_by_others(
        &self,
        here: &Checkout,
        asked: &BTreeSet<&Node>,
    ) -> (Vec<MergeNeeded>, Vec<MergedWork>) {
        let (mut items, mut merged) = (Vec::new(), Vec::new());
        let is_open = |row: &&ItemRow| {
            let is_next = matches!(row.state, ItemState::Pending | ItemState::Ready);
            let is_asked = row.state == ItemState::Waiting && asked.contains(&row.node);
            row.is_leaf() && !row.people.without_merge && (is_next || is_asked)
        };
        let open: Vec<&ItemRow> = self.tables.items(self.run).filter(is_open).collect();
        if open.is_empty() {
            return (items, merged);
        }
        let works = self.others.works_by_item(&self.project, here);
        for row in open {
            let Some(work) = works.get(&row.node) else {
                continue;
            };
            let node = row.node.clone();
            if work.is_here && asked.contains(&node) {
                merged.push(MergedWork {
                    node,
                    evidence: work.row.proof.evidence.clone(),
                    commits: work.row.work.commits.clone(),
                });
            } else if let Some(branch) = self
                .branch_to_merge(here, work.row)
                .filter(|_| !work.is_here)
            {
                let on = vec![(node.clone(), branch)];
                items.push(MergeNeeded { node, on });
            }
        }
        (items, merged)
    }

    /// What is ready and depends on what this run did elsewhere.
    fn items_depending_elsewhere(
        &self,
        here: &Checkout,
        asked: &BTreeSet<&Node>,
        plan_sync: Option<&mut PlanSync>,
    ) -> Vec<MergeNeeded> {
        let (tables, run) = (self.tables, self.run);
        let may_start = |row: &&ItemRow| {
            let is_next =
                row.state == ItemState::Ready && row.is_leaf() && !row.people.without_merge;
            let is_asked = asked.contains(&row.node);
            (is_asked || is_next) && !dependencies_of_line(tables, row).is_empty()
        };
        let next: Vec<&ItemRow> = tables.items(run).filter(may_start).collect();
        if next.is_empty() {
            return Vec::new();
        }
        let elsewhere = match plan_sync {
            Some(plan_sync) => plan_sync.items_done_elsewhere(here, tables),
            None => history::items_committed_elsewhere(
                &self.project,
                here,
                tables,
                run,
                HistoryCaching::Yes,
            ),
        };
        let branch_of = |node: &Node| {
            let below = |at: &&Node| at.is_within(node);
            let row = tables.item(run, elsewhere.iter().find(below)?)?;
            self.branch_to_merge(here, row)
        };
        let needed = next.into_iter().filter_map(|row| {
            let on = dependencies_of_line(tables, row).into_iter();
            let on = on.filter_map(|on| Some((on.clone(), branch_of(on)?)));
            let on: Vec<(Node, String)> = on.collect();
            let node = row.node.clone();
            (!on.is_empty()).then_some(MergeNeeded { node, on })
        });
        needed.collect()
    }

    /// What to merge of an item that was done elsewhere: its branch, or the last
    /// commit of its work.
    fn branch_to_merge(&self, here: &Checkout, row: &ItemRow) -> Option<String> {
        let on = row.work.done_on.as_ref()?;
        // Between repositories there is nothing to merge.
        let branch = on.branch.clone().filter(|_| on.repository.is_none())?;
        // Work that is missing on its own branch was taken back when that was set back.
        if here.branch.as_ref() == Some(&branch) {
            return None;
        }
        // A branch may be renamed or gone: its commit can be merged all the same.
        let is_there = git::tip_of_branch(&self.project.work_tree, &branch).is_some();
        let commit = row.work.commits.last().filter(|_| !is_there);
        let short = |commit: &String| commit.get(..SHORT_COMMIT).unwrap_or(commit).to_owned();
        Some(commit.map_or(branch, short))
    }
}

/// What an item, or one that it is part of, depends on.
fn dependencies_of_line<'t>(tables: &'t Tables, row: &'t ItemRow) -> BTreeSet<&'t Node> {
    let above = row.node.ancestors();
    let above = above.filter_map(|node| tables.item(row.run, &node));
    let line = std::iter::once(row).chain(above);
    line.flat_map(|row| &row.plan.depends_on).collect()
}
