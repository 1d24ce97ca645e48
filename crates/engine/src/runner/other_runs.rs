//! What other runs of a plan did, for a run that does not begin that again.

use std::collections::BTreeMap;
use std::slice;

use piton_core::checkout::Checkout;
use piton_core::{ItemRow, ItemState, Node, RunRow, Tables};
use piton_formats::plan_file::PlanFile;

use super::run_facts::load_run_snapshot;
use crate::failure::Failure;
use crate::git::history::{self, HistoryCaching};
use crate::native_files::plan_file_owner::run_of_file;
use crate::project::Project;
use crate::session::Session;

/// The other runs of the plan of a run that did something on a branch, the
/// newest first. None of them is worked on meanwhile: the plan has one lock.
#[derive(Debug, Default)]
pub(super) struct OtherRuns(Vec<(RunRow, Tables)>);

impl OtherRuns {
    /// Loads the other runs of the plan of `row`. A run of the same file whose
    /// plan was replaced since did nothing of this one.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    pub(super) fn load(session: &Session<'_>, row: &RunRow) -> Result<Self, Failure> {
        let runs = session.runs()?;
        let others = runs.iter().rev().filter(|run| {
            let is_of_plan =
                (&run.plan.face, &run.plan.source) == (&row.plan.face, &row.plan.source);
            let has_plan =
                || run_of_file(&session.project, slice::from_ref(*run), &row.plan.source);
            run.id != row.id && is_of_plan && has_plan().is_some()
        });
        let mut found = Vec::new();
        for run in others {
            let (tables, _) = load_run_snapshot(session, run.id)?;
            let is_on_branch = |item: &ItemRow| {
                let on = item.work.done_on.as_ref().and_then(|on| on.branch.as_ref());
                item.state == ItemState::Done && on.is_some()
            };
            if tables.items(run.id).any(is_on_branch) {
                found.push((run.clone(), tables));
            }
        }
        Ok(Self(found))
    }

    /// Whether one of them did something on another branch than this.
    pub(super) fn has_work_on_other_branch(&self, here: &Checkout) -> bool {
        let is_of_other = |row: &ItemRow| history::was_done_on_other_branch(row, here);
        let mut runs = self.0.iter();
        runs.any(|(run, tables)| tables.items(run.id).any(is_of_other))
    }

    /// What they did of each item: the work that is here, if any is, else the
    /// newest.
    pub(super) fn works_by_item<'t>(
        &'t self,
        project: &Project,
        here: &Checkout,
    ) -> BTreeMap<&'t Node, OtherRunWork<'t>> {
        let mut works = BTreeMap::new();
        for (run, tables) in &self.0 {
            // A file that all branches share tells nothing of where work is.
            let is_tracked =
                PlanFile::path_of_run(run).is_some_and(|path| project.is_tracked(&path));
            let elsewhere = if is_tracked {
                history::items_done_elsewhere(project, here, tables, run.id, HistoryCaching::Yes)
            } else {
                history::items_committed_elsewhere(
                    project,
                    here,
                    tables,
                    run.id,
                    HistoryCaching::Yes,
                )
            };
            let is_done =
                |row: &&ItemRow| row.state == ItemState::Done && row.work.done_on.is_some();
            for row in tables.items(run.id).filter(is_done) {
                let is_here = !elsewhere.contains(&row.node);
                let work = OtherRunWork { row, is_here };
                let known = works.entry(&row.node).or_insert(work);
                if is_here && !known.is_here {
                    *known = work;
                }
            }
        }
        works
    }
}

/// What another run did of an item.
#[derive(Clone, Copy, Debug)]
pub(super) struct OtherRunWork<'t> {
    /// The item, as that run has it.
    pub(super) row: &'t ItemRow,
    /// Whether the history of what is checked out has the work.
    pub(super) is_here: bool,
}
