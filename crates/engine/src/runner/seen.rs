//! What an attempt did to the work tree, and whether what it says is in its way is.
//!
//! In a git work tree git says what it holds; elsewhere names, sizes and times
//! of its files do. Neither is ever a reason for an attempt to fail: what cannot be seen is absent.

use std::path::Path;
use std::time::Duration;

use piton_core::attempt::Report;
use piton_core::weakening::ProofChange;
use piton_core::{AttemptId, Need, Node};

use super::{Runner, own_files};
use crate::file_stamps::FileStamps;
use crate::git::{Changed, Missed, Moment, Own, ProofSources, Trees};
use crate::native_files::project_sync::face_files;
use crate::notice::Notice;
use crate::project::Project;
use crate::verify::{self, Place};

/// The work tree before an attempt, and what it is looked at with again.
pub(super) enum Before {
    /// In git.
    Git { trees: Trees, moment: Moment },
    /// Elsewhere.
    Files { stamps: FileStamps, own: Vec<Own> },
}

/// A look at the work tree that may stand for the start of what comes next.
pub(super) struct Looked {
    at: Box<Before>,
    /// When, as [`World::uptime`] says it.
    since: Duration,
}

/// The work tree after an attempt, and what is different from before.
struct After {
    at: Box<Before>,
    changed: Changed,
    proof: Option<ProofChange>,
}

/// How old a look may be that stands for the start of the next attempt: longer
/// than piton takes from one attempt to the next, too short for a person.
const LOOK_AGE_MAX: Duration = Duration::from_secs(1);

impl Before {
    /// The hash of what the work tree held.
    pub(super) fn tree(&self) -> String {
        match self {
            Self::Git { moment, .. } => moment.tree.clone(),
            Self::Files { stamps, .. } => stamps.hash(),
        }
    }
}

impl Runner<'_, '_> {
    /// Looks at the work tree before an agent is started.
    pub(super) fn look_before(&mut self, tell: &mut dyn FnMut(Notice<'_>)) -> Option<Box<Before>> {
        let now = self.session.world.uptime();
        let known = self.looked.take();
        let recent = known.filter(|looked| now < looked.since + LOOK_AGE_MAX);
        recent
            .map(|looked| looked.at)
            .or_else(|| self.look_at_tree(tell))
    }

    /// What the work tree holds now; none where it cannot be seen.
    pub(super) fn look_at_tree(&mut self, tell: &mut dyn FnMut(Notice<'_>)) -> Option<Box<Before>> {
        if !self.looks_at_tree {
            return None;
        }
        let (world, project) = (self.session.world, &self.session.project);
        let own = self.not_the_agents();
        if !project.in_git {
            let looked = FileStamps::look(world, &project.work_tree, &own);
            let before = looked.map(|stamps| Box::new(Before::Files { stamps, own }));
            return before.map_err(|missed| self.missed(missed, tell)).ok();
        }
        let opened = Trees::open(world, self.spool.folder(), &project.work_tree, &own);
        // Where there is no git now, there is none before the next attempt.
        self.looks_at_tree = opened.is_ok();
        let seen = opened.and_then(|trees| {
            let moment = trees.now(world)?;
            Ok(Box::new(Before::Git { trees, moment }))
        });
        seen.map_err(|missed| self.missed(missed, tell)).ok()
    }

    /// Looks again when it is over, and notes what changed.
    pub(super) fn look_after(
        &mut self,
        before: Option<Box<Before>>,
        (checks, report): (&[String], &mut Report),
        tell: &mut dyn FnMut(Notice<'_>),
    ) {
        let Some(before) = before else {
            return;
        };
        report.tree_before = Some(before.tree());
        let After { at, changed, proof } = match self.changes_since(*before, checks) {
            Ok(after) => after,
            Err(missed) => return self.missed(missed, tell),
        };
        report.proof = proof.filter(|proof| !proof.is_empty()).map(Box::new);
        report.files = report.files.take().or(changed.files);
        report.commits = report.commits.take().or(changed.commits);
        report.diff = changed.diff;
        report.tree_after = Some(at.tree());
        self.keep_look(at);
    }

    /// What the work tree holds now, and what changed since.
    fn changes_since(&self, before: Before, checks: &[String]) -> Result<After, Missed> {
        let world = self.session.world;
        match before {
            Before::Git { trees, moment } => {
                let after = trees.now(world)?;
                let changed = trees.between(world, &moment, &after);
                let files = changed.files.as_deref().unwrap_or_default();
                let sources = ProofSources {
                    before: &moment,
                    after: &after,
                    files_changed: files,
                    commands: checks,
                };
                let proof = (!files.is_empty())
                    .then(|| trees.proof_change(world, &sources))
                    .flatten();
                let moment = after;
                Ok(After {
                    at: Box::new(Before::Git { trees, moment }),
                    changed,
                    proof,
                })
            }
            Before::Files { stamps, own } => {
                let work_tree = &self.session.project.work_tree;
                let after = FileStamps::look(world, work_tree, &own)?;
                let changed = Changed {
                    files: Some(after.changed_since(&stamps)),
                    ..Changed::default()
                };
                let stamps = after;
                Ok(After {
                    at: Box::new(Before::Files { stamps, own }),
                    changed,
                    // Outside of git nothing is kept to compare texts with.
                    proof: None,
                })
            }
        }
    }

    /// The commands that prove what an attempt counts for: the item, what it is
    /// part or a piece of, and what the attempt claimed.
    pub(super) fn checks_of(
        &self,
        node: &Node,
        (attempt, claimed): (AttemptId, &[Node]),
    ) -> Vec<String> {
        let tables = self.lp.tables();
        let row = tables.item(self.row.id, node);
        let line = std::iter::once(node.clone()).chain(node.ancestors());
        let whole = row.and_then(|row| row.piece_of.clone());
        let known = tables.tree(self.row.id).filter(|item| {
            let by = item.claimed.as_ref();
            by.is_some_and(|by| by.attempt == Some(attempt))
        });
        let claimed = claimed.iter().chain(known.map(|item| &item.node)).cloned();
        let all = line.chain(whole).chain(claimed);
        let gates = all.filter_map(|node| tables.item(self.row.id, &node)?.gate_to_pass());
        gates.map(|gate| gate.script.clone()).collect()
    }

    /// The tree on which a check runs now: the one that the last attempt left,
    /// unless something came between.
    pub(super) fn tree_to_check(&mut self, tell: &mut dyn FnMut(Notice<'_>)) -> Option<String> {
        if self.looked.is_none()
            && let Some(at) = self.look_at_tree(tell)
        {
            self.keep_look(at);
        }
        self.looked.as_ref().map(|looked| looked.at.tree())
    }

    /// Keeps a look for what comes next, until something else happens.
    fn keep_look(&mut self, at: Box<Before>) {
        let since = self.session.world.uptime();
        self.looked = Some(Looked { at, since });
    }

    /// A work tree that takes long each time would make every attempt wait.
    fn missed(&mut self, missed: Missed, tell: &mut dyn FnMut(Notice<'_>)) {
        let is_late = missed == Missed::Late;
        let was_told = std::mem::replace(&mut self.look_missed, true);
        if is_late {
            self.looks_at_tree = false;
        } else if !was_told {
            tell(Notice::Warning(
                "git cannot say what is in the work tree: an item without a check that was seen to fail is done by its agent's word alone",
            ));
        }
        if is_late {
            tell(Notice::Warning(
                "it takes too long to see what is in the work tree: what attempts change is not known from now on, and an item without a check that was seen to fail is done by its agent's word alone",
            ));
        }
    }

    /// What piton writes into the work tree while an agent works.
    pub(super) fn not_the_agents(&self) -> Vec<Own> {
        let project = &self.session.project;
        let mut own = own_files(project, &self.row.face, &self.row.source);
        let source = project.absolute(&self.row.source);
        if !source.is_dir() {
            own.extend(file(project, &source));
        }
        let Ok(rows) = self.session.load(&[Need::Faces]) else {
            return own;
        };
        for row in rows.tables.faces().filter(|row| row.on) {
            let known = face_files().find(|file| file.path == row.path);
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
