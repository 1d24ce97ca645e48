//! What piton wrote of an item into files that git tracks goes into the history
//! with the work: it is committed after the commits that its attempt made.
//!
//! Only while nothing is at work: no commit of piton's stands among those of an
//! attempt, and an agent finds a work tree in which it can change the branch.

use piton_core::{Event, ItemState, Need, Node, Recorded};

use super::{Notice, Runner};
use crate::{fail, git};

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
        if self.committed.is_empty() || !self.job.config.git.commit_progress {
            return;
        }
        let project = &self.session.project;
        let branch = git::checked_out(&project.work_tree).and_then(|here| here.branch);
        // What is committed on no branch is lost with the next switch.
        if branch.is_none() {
            return;
        }
        self.write_mirror(true, tell);
        let files = self.tracked_files();
        if files.is_empty() {
            self.committed.clear();
            return;
        }
        let message = self.progress_message();
        self.looked = None;
        fail::point("progress.before-commit");
        match git::commit_files(&self.session.project.work_tree, &message, &files) {
            Ok(()) => {
                fail::point("progress.after-commit");
                self.committed.clear();
            }
            Err(why) if std::mem::replace(&mut self.commit_missed, true) => {
                tracing::info!(%why, "what piton wrote is not committed");
            }
            Err(why) => tell(Notice::Warning(&format!(
                "{} not committed with the work: {why}",
                files.join(", ")
            ))),
        }
    }

    /// The files of the project and of its plan that piton keeps up to date and
    /// git tracks, by their paths in the work tree.
    fn tracked_files(&self) -> Vec<String> {
        let project = &self.session.project;
        let plan = self.mirror.as_ref().filter(|mirror| mirror.was_written());
        let plan = plan.map(|mirror| mirror.path().to_owned());
        let faces = self.session.load(&[Need::Faces]);
        let faces = faces.map(|rows| {
            let on = rows.tables.faces().filter(|face| face.on);
            on.map(|face| face.path.clone()).collect::<Vec<_>>()
        });
        let files = plan.into_iter().chain(faces.unwrap_or_default());
        let files = files.filter(|file| project.is_tracked(file));
        let files = files.map(|file| project.root.join(file));
        files
            .filter_map(|file| {
                let file = file.strip_prefix(&project.work_tree).ok()?;
                file.to_str().map(str::to_owned)
            })
            .collect()
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
        if self.committed.iter().all(is_done) {
            format!("Mark {shown}{more} as done")
        } else {
            format!("Record the progress of {shown}{more}")
        }
    }
}
