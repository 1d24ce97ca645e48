//! What an attempt did to the work tree, and whether what it says is in its way is.
//!
//! Neither is ever a reason for an attempt to fail: what cannot be seen is absent.

use std::path::Path;

use piton_core::attempt::Report;
use piton_core::{AttemptId, Need, Node};

use super::{Runner, own_files};
use crate::faces::FILES;
use crate::git::{Missed, Moment, Own, Trees};
use crate::notice::Notice;
use crate::project::Project;
use crate::verify::{self, Place};

/// The work tree before an attempt, and what it is looked at with again.
pub(super) struct Before {
    trees: Trees,
    moment: Moment,
}

impl Runner<'_, '_> {
    /// Looks at the work tree before an agent is started.
    pub(super) fn look_before(&mut self, tell: &mut dyn FnMut(Notice<'_>)) -> Option<Box<Before>> {
        if !self.looks_at_tree {
            return None;
        }
        let (world, project) = (self.session.world, &self.session.project);
        let own = self.not_the_agents();
        let opened = Trees::open(world, self.spool.folder(), &project.work_tree, &own);
        // Where there is no git now, there is none before the next attempt.
        self.looks_at_tree = opened.is_ok();
        let seen = opened.and_then(|trees| {
            let moment = trees.now(world)?;
            Ok(Box::new(Before { trees, moment }))
        });
        seen.map_err(|missed| self.missed(missed, tell)).ok()
    }

    /// Looks again when it is over, and notes what changed.
    pub(super) fn look_after(
        &mut self,
        before: Option<Box<Before>>,
        report: &mut Report,
        tell: &mut dyn FnMut(Notice<'_>),
    ) {
        let Some(before) = before else {
            return;
        };
        report.tree_before = Some(before.moment.tree.clone());
        let world = self.session.world;
        let after = match before.trees.now(world) {
            Ok(after) => after,
            Err(missed) => return self.missed(missed, tell),
        };
        let changed = before.trees.between(world, &before.moment, &after);
        report.files = report.files.take().or(changed.files);
        report.commits = report.commits.take().or(changed.commits);
        report.diff = changed.diff;
        report.tree_after = Some(after.tree);
    }

    /// A work tree that takes long each time would make every attempt wait.
    fn missed(&mut self, missed: Missed, tell: &mut dyn FnMut(Notice<'_>)) {
        if missed == Missed::Late {
            self.looks_at_tree = false;
            tell(Notice::Warning(
                "git takes too long to say what is in the work tree: which files an attempt changes is not recorded from now on",
            ));
        }
    }

    /// What piton writes into the work tree while an agent works.
    fn not_the_agents(&self) -> Vec<Own> {
        let project = &self.session.project;
        let mut own = own_files(project, &self.row.source);
        let source = project.absolute(&self.row.source);
        if !source.is_dir() {
            own.extend(file(project, &source));
        }
        let Ok(rows) = self.session.load(&[Need::Faces]) else {
            return own;
        };
        for row in rows.tables.faces().filter(|row| row.on) {
            let known = FILES.iter().find(|file| file.path == row.path);
            let derived = known.and_then(|file| file.derived_path());
            for path in std::iter::once(row.path.as_str()).chain(derived) {
                own.extend(file(project, &project.root.join(path)));
            }
        }
        own
    }

    /// Looks up what stands in the way of an agent, as it says.
    pub(super) fn verify_blocker(&self, attempt: AttemptId, node: &Node, report: &mut Report) {
        let mut env = self.session.world.env.clone();
        if let Some(item) = self.lp.tables().item(self.row.id, node) {
            env.extend(self.environment(item, &attempt.to_string()));
        }
        let place = Place {
            env: &env,
            work_tree: &self.session.project.work_tree,
        };
        verify::settle(report, &place);
    }
}

/// A file that piton writes, with what it keeps beside it while it does.
fn file(project: &Project, path: &Path) -> Vec<Own> {
    let Ok(inner) = path.strip_prefix(&project.work_tree) else {
        return Vec::new();
    };
    let (Some(folder), Some(name)) = (inner.parent(), inner.file_name()) else {
        return Vec::new();
    };
    let name = name.to_string_lossy();
    [name.to_string(), format!(".{name}.")]
        .map(|begin| Own {
            folder: folder.to_string_lossy().into_owned(),
            begin,
        })
        .to_vec()
}
