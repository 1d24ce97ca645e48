//! What piton wrote of an item into files that git tracks goes into the history
//! with the work: it is committed after the commits that its attempt made.
//!
//! Only while nothing is at work: no commit of piton's stands among those of an
//! attempt, and an agent finds a work tree in which it can change the branch.

use piton_core::{Event, ItemState, Need, Node, Recorded};

use super::{Notice, Runner};
use crate::{faces, fail, git};

/// Most items that the subject of a commit names.
const NAMED_MAX: usize = 3;

/// The item that something was committed for, by its agent or by piton.
fn committed_item(event: &Event) -> Option<&Node> {
    if let Event::AttemptEnded { node, report, .. } = event {
        let made = report.commits.as_ref()?;
        return (!made.is_empty()).then_some(node);
    }
    if let Event::CommitEnded { node, commit, .. } = event {
        return commit.is_some().then_some(node);
    }
    None
}

impl Runner<'_, '_> {
    /// Notes the items of attempts that ended with commits.
    pub(super) fn note_commits(&mut self, events: &[Recorded]) {
        for recorded in events {
            if let Some(node) = committed_item(&recorded.event)
                && !self.committed.contains(node)
            {
                self.committed.push(node.clone());
            }
        }
    }

    /// Notes the item of the last attempt where its commit is what is checked
    /// out: a runner that died had not committed what it wrote of it.
    pub(super) fn note_last_commit(&mut self) {
        let work_tree = &self.session.project.work_tree;
        let Some(head) = git::checked_out(work_tree).and_then(|here| here.commit) else {
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
            let commits = report.and_then(|report| report.commits.as_ref());
            attempt.run == run && commits.is_some_and(|commits| commits.contains(&head))
        });
        self.committed
            .extend(last.map(|attempt| attempt.node.clone()));
    }

    /// Commits what piton wrote of the items whose attempts made commits. What
    /// cannot be committed stays in the work tree, as all that is not committed.
    pub(super) fn commit_progress(&mut self, tell: &mut dyn FnMut(Notice<'_>)) {
        if !self.committed.is_empty() {
            self.write_mirror(true, tell);
            self.commit_files(tell);
        }
    }

    /// The same when the run is over, with what that says of its end.
    pub(super) fn commit_end(&mut self, tell: &mut dyn FnMut(Notice<'_>)) {
        if self.has_committed || !self.committed.is_empty() {
            self.follow_faces(true, tell);
            self.commit_files(tell);
        }
    }

    fn commit_files(&mut self, tell: &mut dyn FnMut(Notice<'_>)) {
        let project = &self.session.project;
        let branch = git::checked_out(&project.work_tree).and_then(|here| here.branch);
        // What is committed on no branch is lost with the next switch.
        if branch.is_none() || !self.job.config.git.commit_progress || self.commits_hang {
            return;
        }
        let files = self.own_files(tell);
        if files.is_empty() {
            return;
        }
        let message = self.progress_message();
        self.looked = None;
        fail::point("progress.before-commit");
        match git::commit_files(&self.session.project.work_tree, &message, &files) {
            Ok(()) => {
                fail::point("progress.after-commit");
                self.has_committed = true;
                self.committed.clear();
            }
            Err(missed) => {
                self.commits_hang |= missed.hangs;
                let then = match missed.hangs {
                    true => "piton does not try it again in this run",
                    false => "the next attempt that commits takes it along",
                };
                let files = files.join(", ");
                self.tell_missed(
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
    fn tell_missed(&mut self, what: &str, tell: &mut dyn FnMut(Notice<'_>)) {
        tracing::info!(%what, "not committed");
        if !std::mem::replace(&mut self.commit_missed, true) {
            tell(Notice::Warning(what));
        }
    }

    /// The files of the project and of its plan that piton keeps up to date, git
    /// tracks, and nobody else's changes stand in, by their paths in the work tree.
    fn own_files(&mut self, tell: &mut dyn FnMut(Notice<'_>)) -> Vec<String> {
        let mut files = faces::settled_paths(self.session);
        files.extend(self.own_plan(tell));
        let project = &self.session.project;
        files.retain(|file| project.is_tracked(file));
        files
            .iter()
            .filter_map(|file| self.in_work_tree(file))
            .collect()
    }

    /// The file of the plan, if piton alone has changed it since it was committed.
    fn own_plan(&mut self, tell: &mut dyn FnMut(Notice<'_>)) -> Option<String> {
        let mirror = self.mirror.as_ref()?;
        let path = mirror.path().to_owned();
        let is_kept = mirror.was_written() && mirror.file_asked_about(self.lp.tables()).is_none();
        if !is_kept || !self.session.project.is_tracked(&path) {
            return None;
        }
        let committed =
            git::committed_text(&self.session.project.work_tree, &self.in_work_tree(&path)?)?;
        let now = self.now();
        let mirror = self.mirror.as_mut()?;
        if mirror.is_own_change(&committed, self.lp.tables(), now) {
            return Some(path);
        }
        let what = format!("{path} has other changes as well, and is not committed with the work");
        self.tell_missed(&what, tell);
        None
    }

    fn in_work_tree(&self, file: &str) -> Option<String> {
        let project = &self.session.project;
        let file = project.root.join(file);
        let file = file.strip_prefix(&project.work_tree).ok()?;
        file.to_str().map(str::to_owned)
    }

    fn progress_message(&self) -> String {
        let is_done = |node: &Node| {
            let item = self.lp.tables().item(self.row.id, node);
            item.is_some_and(|item| item.state == ItemState::Done)
        };
        let named: Vec<&str> = self.committed.iter().map(Node::as_str).collect();
        let shown = named[..named.len().min(NAMED_MAX)].join(", ");
        let more = match named.len().saturating_sub(NAMED_MAX) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        if named.is_empty() {
            "Record the end of the run".to_owned()
        } else if self.committed.iter().all(is_done) {
            format!("Mark {shown}{more} as done")
        } else {
            format!("Record the progress of {shown}{more}")
        }
    }
}
