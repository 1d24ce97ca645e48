//! What piton wrote of an item into files that git tracks goes into the history
//! with the work: it is committed after the commits that its attempt made.
//!
//! Only while nothing of this run is at work: no commit of piton's stands among
//! those of an attempt, and an agent finds a work tree in which it can change the
//! branch.

use std::rc::Rc;

use piton_core::amount::list_first;
use piton_core::{DecodedRecord, ItemState, Need, Node};

use super::runner_state::{Runner, UncommittedProgress};
use crate::failure::notice::Notice;
use crate::native_files::plan_sync::PlanSync;
use crate::native_files::project_sync;
use crate::{failpoint, git};

/// Most items that the subject of a commit names.
const NAMED_MAX: usize = 3;

impl Runner<'_, '_> {
    /// Notes what attempts changed and committed.
    pub(super) fn record_commits(&mut self, events: &[DecodedRecord]) {
        events
            .iter()
            .for_each(|recorded| self.commits.progress.record_event(&recorded.event));
    }

    /// Notes the item of the last attempt where its commit is what is checked
    /// out: a runner that died had not committed what it wrote of it.
    pub(super) fn record_last_commit(&mut self) {
        let Some(head) = self.target_checkout().and_then(|here| here.commit) else {
            return;
        };
        // Should it not be known, the files stay as they are in the work tree.
        let rows = self.session.load(&[Need::RecentAttempts(1)]);
        let Ok(rows) = rows.inspect_err(|failure| tracing::info!(%failure, "no last attempt"))
        else {
            return;
        };
        let run = self.row.id;
        let last = rows.tables.attempts().find(|attempt| {
            let report = attempt.report.as_ref();
            let commits = report.and_then(|report| report.changes.commits.as_ref());
            attempt.run == run && commits.is_some_and(|commits| commits.contains(&head))
        });
        self.commits
            .progress
            .committed
            .extend(last.map(|attempt| attempt.node.clone()));
    }

    /// Commits what piton wrote of the items whose attempts made commits. What
    /// cannot be committed stays in the work tree, as all that is not committed.
    pub(super) fn commit_progress(&mut self, tell: &mut dyn FnMut(Notice<'_>)) {
        self.update_agents_time();
        if self.work.works.has_any_in(&self.work.sites.of_run) {
            return;
        }
        // An agent that commits nothing changes no branch: its files are not to wait
        // until the run is over.
        let waits = self
            .plan_sync
            .as_ref()
            .is_some_and(PlanSync::is_blocking_checkout);
        let is_due = !self.commits.progress.committed.is_empty();
        if is_due || (waits && !self.commits.has_committed) {
            self.write_files(true, tell);
        }
        if is_due {
            self.commit_own_files(tell);
        }
    }

    /// The same when the run is over, with what that says of its end.
    pub(super) fn commit_at_end(&mut self, tell: &mut dyn FnMut(Notice<'_>)) {
        if self.commits.has_committed || !self.commits.progress.committed.is_empty() {
            self.sync_project_files(true, tell);
            self.commit_own_files(tell);
        }
    }

    fn commit_own_files(&mut self, tell: &mut dyn FnMut(Notice<'_>)) {
        // Nothing is committed in the main work tree while the work is elsewhere.
        if self.lanes.is_some() {
            return;
        }
        let branch = self.target_checkout().and_then(|here| here.branch);
        // What is committed on no branch is lost with the next switch.
        if branch.is_none() || !self.job.config.git.commit_progress || self.commits.commits_hang {
            return;
        }
        // The runner that took the run commits what it writes.
        if self.refuse_lost_lock().is_err() {
            return;
        }
        let files = self.committable_own_files(tell);
        if files.is_empty() {
            return;
        }
        // A mark goes where its work goes.
        let site = Rc::clone(&self.work.sites.of_run);
        if let Some(left) = git::find_first_change(site.tree_path(), &self.commits.progress.files) {
            let files = files.join(", ");
            let what = format!("{left} is not committed, and {files} stays with it");
            return self.warn_not_committed(&what, tell);
        }
        let message = self.progress_message();
        site.clear_snapshot();
        failpoint::point("progress.before-commit");
        match git::commit_files(site.tree_path(), &message, &files) {
            Ok(()) => {
                failpoint::point("progress.after-commit");
                self.commits.has_committed = true;
                self.commits.progress = UncommittedProgress::default();
            }
            Err(missed) => {
                self.commits.commits_hang |= missed.hangs;
                let then = match missed.hangs {
                    true => "piton does not try it again in this run",
                    false => "the next attempt that commits takes it along",
                };
                let files = files.join(", ");
                self.warn_not_committed(
                    &format!(
                        "{files} not committed with the work: {}; {then}",
                        missed.why
                    ),
                    tell,
                );
            }
        }
    }

    /// Tells once in a run that something is not committed.
    fn warn_not_committed(&mut self, what: &str, tell: &mut dyn FnMut(Notice<'_>)) {
        tracing::info!(%what, "not committed");
        if !std::mem::replace(&mut self.commits.commit_missed, true) {
            tell(Notice::Warning(what));
        }
    }

    /// The files of the project and of its plan that git tracks and piton alone has
    /// changed since they were committed, by their paths in the work tree.
    fn committable_own_files(&mut self, tell: &mut dyn FnMut(Notice<'_>)) -> Vec<String> {
        let (own, mixed): (Vec<_>, Vec<_>) = project_sync::settled_paths(self.session)
            .into_iter()
            .partition(|(_, is_own)| *is_own);
        if let Some((paths, _)) = mixed.first() {
            self.warn_mixed_changes(&paths[0].clone(), tell);
        }
        let mut files: Vec<String> = own.into_iter().flat_map(|(paths, _)| paths).collect();
        files.extend(self.committable_plan(tell));
        let project = &self.work.sites.of_run.project;
        files
            .iter()
            .filter_map(|file| project.path_in_work_tree(file))
            .collect()
    }

    /// The file of the plan, if piton alone has changed it since it was committed.
    fn committable_plan(&mut self, tell: &mut dyn FnMut(Notice<'_>)) -> Option<String> {
        let plan_sync = self.plan_sync.as_ref()?;
        let path = plan_sync.path().to_owned();
        let is_kept =
            plan_sync.was_written() && plan_sync.asked_file_path(self.lp.tables()).is_none();
        let project = &self.work.sites.of_run.project;
        if !is_kept || !project.is_tracked(&path) {
            return None;
        }
        let file = project.path_in_work_tree(&path)?;
        let committed = git::committed_text(&project.work_tree, &file)?;
        let now = self.now();
        let plan_sync = self.plan_sync.as_mut()?;
        if plan_sync.has_only_own_changes(&committed, self.lp.tables(), now) {
            return Some(path);
        }
        self.warn_mixed_changes(&path, tell);
        None
    }

    fn warn_mixed_changes(&mut self, path: &str, tell: &mut dyn FnMut(Notice<'_>)) {
        let what = format!("{path} has other changes as well, and is not committed with the work");
        self.warn_not_committed(&what, tell);
    }

    fn progress_message(&self) -> String {
        let is_done = |node: &Node| {
            let item = self.lp.tables().item(self.row.id, node);
            item.is_some_and(|item| item.state == ItemState::Done)
        };
        let named: Vec<&str> = self
            .commits
            .progress
            .committed
            .iter()
            .map(Node::as_str)
            .collect();
        let shown = list_first(&named, NAMED_MAX);
        if named.is_empty() {
            "Record the end of the run".to_owned()
        } else if self.commits.progress.committed.iter().all(is_done) {
            format!("Mark {shown} as done")
        } else {
            format!("Record the progress of {shown}")
        }
    }
}
