//! What an attempt did to the work tree, and whether what it says is in its way is.
//!
//! In a git work tree git says what it holds; elsewhere names, sizes and times
//! of its files do. Neither is ever a reason for an attempt to fail: what cannot be seen is absent.

use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use piton_core::attempt::Report;
use piton_core::weakening::ProofChange;
use piton_core::{AttemptId, Need, Node, RunRow};

use super::own_files::own_file_prefixes;
use super::runner_state::Runner;
use super::site::{RecentSiteSnapshot, Site, SiteSnapshot};
use crate::agents::missing_check::{self, ClaimEnvironment};
use crate::failure::notice::Notice;
use crate::git::{OwnFilePrefix, ProofSources, SnapshotDiff, SnapshotError, WorkTreeTracker};
use crate::native_files::file_stamps::FileStamps;
use crate::native_files::project_sync::project_files;
use crate::process::InheritedEnvironment;
use crate::project::Project;
use crate::session::Session;

/// The work tree after an attempt, and what is different from before.
struct SiteChange {
    at: Box<SiteSnapshot>,
    changed: SnapshotDiff,
    proof: Option<ProofChange>,
}

/// How old a look may be that stands for the start of the next attempt: longer
/// than piton takes from one attempt to the next, too short for a person.
const LOOK_AGE_MAX: Duration = Duration::from_secs(1);

/// What the evidence of an attempt says where a look took too long.
const LATE_NOTE: &str = "the look at the work tree took too long and was skipped: what this attempt changed is not known";

impl Runner<'_, '_> {
    /// Looks at the work tree of a site before an agent is started there.
    pub(super) fn snapshot_before(
        &mut self,
        site: &Site,
        tell: &mut dyn FnMut(Notice<'_>),
    ) -> Option<Box<SiteSnapshot>> {
        let now = self.session.world.uptime();
        let known = site.pop_snapshot();
        let recent =
            known.filter(|looked| now < looked.since + LOOK_AGE_MAX && looked.at.is_untouched());
        if let Some(looked) = recent {
            return Some(looked.at);
        }
        match self.try_snapshot_tree(site, tell)? {
            Ok(at) => Some(at),
            Err(SnapshotError::Late) => Some(Box::new(SiteSnapshot::Late)),
            Err(SnapshotError::Unknown | SnapshotError::TooMany) => None,
        }
    }

    /// What the work tree of a site holds now; none where it cannot be seen.
    pub(super) fn snapshot_tree(
        &mut self,
        site: &Site,
        tell: &mut dyn FnMut(Notice<'_>),
    ) -> Option<Box<SiteSnapshot>> {
        self.try_snapshot_tree(site, tell)?.ok()
    }

    /// Looks at the work tree, and warns where it cannot be seen; none where the runner
    /// does not look at it any more.
    fn try_snapshot_tree(
        &mut self,
        site: &Site,
        tell: &mut dyn FnMut(Notice<'_>),
    ) -> Option<Result<Box<SiteSnapshot>, SnapshotError>> {
        if !site.is_looked_at.get() {
            return None;
        }
        let (world, project) = (self.session.world, &site.project);
        let own = match site.is_of_other {
            true => Vec::new(),
            false => self.non_agent_files(),
        };
        let seen = match project.in_git {
            true => self.open_trees(site, &own).and_then(|trees| {
                let moment = trees.snapshot(world)?;
                Ok(SiteSnapshot::Git { trees, moment })
            }),
            false => FileStamps::scan(world, &project.work_tree, &own)
                .map(|stamps| SiteSnapshot::Files { stamps, own }),
        };
        if let Err(missed) = seen {
            self.warn_missed_snapshot(site, missed, tell);
        }
        Some(seen.map(Box::new))
    }

    /// What looks at the work tree: the same as the last time where it serves.
    fn open_trees(
        &self,
        site: &Site,
        own: &[OwnFilePrefix],
    ) -> Result<Rc<WorkTreeTracker>, SnapshotError> {
        let kept = site.trees.take();
        let kept = kept.filter(|trees| trees.has_own_files(own) && trees.has_room());
        let trees = kept.map_or_else(
            || {
                let (world, folder) = (self.session.world, self.spool.folder());
                let opened = WorkTreeTracker::open(world, folder, site.tree_path(), own);
                // Where there is no git now, there is none before the next attempt.
                let is_git = !matches!(opened, Err(SnapshotError::Unknown));
                site.is_looked_at.set(is_git);
                opened.map(Rc::new)
            },
            Ok,
        )?;
        site.trees.replace(Some(Rc::clone(&trees)));
        Ok(trees)
    }

    /// Looks again when it is over, and notes what changed.
    pub(super) fn record_changes_after(
        &mut self,
        site: &Site,
        before: Option<Box<SiteSnapshot>>,
        checks: &[String],
        report: &mut Report,
        tell: &mut dyn FnMut(Notice<'_>),
    ) {
        let Some(before) = before else {
            return;
        };
        report.changes.tree_before = before.tree_hash();
        let seen = match *before {
            // That was told when the attempt started.
            SiteSnapshot::Late => Err(SnapshotError::Late),
            before @ (SiteSnapshot::Git { .. } | SiteSnapshot::Files { .. }) => self
                .changes_since(site, before, checks)
                .inspect_err(|missed| self.warn_missed_snapshot(site, *missed, tell)),
        };
        let SiteChange { at, changed, proof } = match seen {
            Ok(after) => after,
            Err(missed) => {
                if missed == SnapshotError::Late {
                    add_late_note(report);
                }
                return;
            }
        };
        report.changes.proof = proof.filter(|proof| !proof.is_empty()).map(Box::new);
        report.changes.files = report.changes.files.take().or(changed.files);
        report.changes.commits = report.changes.commits.take().or(changed.commits);
        report.changes.diff = changed.diff;
        report.changes.tree_after = at.tree_hash();
        self.store_snapshot(site, at);
    }

    /// What the work tree holds now, and what changed since.
    fn changes_since(
        &self,
        site: &Site,
        before: SiteSnapshot,
        checks: &[String],
    ) -> Result<SiteChange, SnapshotError> {
        let world = self.session.world;
        match before {
            SiteSnapshot::Git { trees, moment } => {
                let after = trees.snapshot(world)?;
                let changed = trees.changes_between(world, &moment, &after);
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
                Ok(SiteChange {
                    at: Box::new(SiteSnapshot::Git { trees, moment }),
                    changed,
                    proof,
                })
            }
            SiteSnapshot::Files { stamps, own } => {
                let after = FileStamps::scan(world, site.tree_path(), &own)?;
                let changed = SnapshotDiff {
                    files: Some(after.changed_since(&stamps)),
                    ..SnapshotDiff::default()
                };
                let stamps = after;
                Ok(SiteChange {
                    at: Box::new(SiteSnapshot::Files { stamps, own }),
                    changed,
                    // Outside of git nothing is kept to compare texts with.
                    proof: None,
                })
            }
            SiteSnapshot::Late => Err(SnapshotError::Late),
        }
    }

    /// The commands that prove what an attempt counts for: the item, what it is
    /// part or a piece of, and what the attempt claimed.
    pub(super) fn checks_of_attempt(
        &self,
        node: &Node,
        attempt: AttemptId,
        claimed: &[Node],
    ) -> Vec<String> {
        let tables = self.lp.tables();
        let row = tables.item(self.row.id, node);
        let line = std::iter::once(node.clone()).chain(node.ancestors());
        let whole = row.and_then(|row| row.plan.piece_of.clone());
        let known = tables.items_claimed_by(self.row.id, attempt);
        let claimed = claimed.iter().chain(known.map(|item| &item.node)).cloned();
        let all = line.chain(whole).chain(claimed);
        let gates = all.filter_map(|node| tables.item(self.row.id, &node)?.pending_gate());
        gates.map(|gate| gate.script.clone()).collect()
    }

    /// The tree on which a check runs now: the one that the last attempt left
    /// there, unless something came between.
    pub(super) fn tree_hash_to_check(
        &mut self,
        site: &Site,
        tell: &mut dyn FnMut(Notice<'_>),
    ) -> Option<String> {
        if !site.has_snapshot()
            && let Some(at) = self.snapshot_tree(site, tell)
        {
            self.store_snapshot(site, at);
        }
        site.last_tree_hash()
    }

    /// Keeps a look for what comes next, until something else happens there.
    fn store_snapshot(&self, site: &Site, at: Box<SiteSnapshot>) {
        let since = self.session.world.uptime();
        site.store_snapshot(RecentSiteSnapshot { at, since });
    }

    /// Tells why the work tree was not seen. What looked may be half-written.
    fn warn_missed_snapshot(
        &mut self,
        site: &Site,
        missed: SnapshotError,
        tell: &mut dyn FnMut(Notice<'_>),
    ) {
        site.trees.take();
        let was_told = std::mem::replace(&mut self.reported.look_missed, true);
        match missed {
            SnapshotError::Late => tell(Notice::Warning(
                "the look at the work tree took too long and was skipped: what this attempt changes is not known. Without a check that was seen to fail, an item is done as `[claims]` says of the weaker kinds of proof",
            )),
            SnapshotError::TooMany => {
                site.is_looked_at.set(false);
                tell(Notice::Warning(
                    "there are too many files to look at outside of git: what attempts change is not known in this run. Without a check that was seen to fail, an item is done as `[claims]` says of the weaker kinds of proof",
                ));
            }
            SnapshotError::Unknown if was_told => {}
            SnapshotError::Unknown => tell(Notice::Warning(
                "git cannot say what is in the work tree (see `git status`). Without a check that was seen to fail, an item is done as `[claims]` says of the weaker kinds of proof",
            )),
        }
    }

    /// What piton writes into the work tree while an agent works.
    pub(super) fn non_agent_files(&self) -> Vec<OwnFilePrefix> {
        non_agent_files(self.session, &self.row)
    }

    /// Looks up what stands in the way of an agent, as it says.
    pub(super) fn verify_blocker(&self, attempt: AttemptId, node: &Node, report: &mut Report) {
        let (config, agent) = (&self.job.config, &self.agent_of_attempt(attempt).name);
        let all = &self.session.world.env;
        let mut env = match config.environment_for_agent(agent, all) {
            InheritedEnvironment::Everything => all.as_ref().clone(),
            InheritedEnvironment::Only(inherited) => inherited,
        };
        if let Some(item) = self.lp.tables().item(self.row.id, node) {
            env.extend(self.environment(item, &attempt.to_string()));
        }
        let site = self.work.sites.site_of_item(node);
        let place = ClaimEnvironment {
            env: &env,
            work_tree: site.tree_path(),
        };
        missing_check::fail_refuted_blocker(report, &place);
    }
}

/// Notes in the evidence of an attempt that its changes are unknown.
fn add_late_note(report: &mut Report) {
    let notes = report.notes.take().map(|notes| format!("{notes}\n"));
    report.notes = Some(notes.unwrap_or_default() + LATE_NOTE);
}

/// A file that piton writes, with what it keeps beside it while it does.
fn own_prefixes_of_file(project: &Project, path: &Path) -> Vec<OwnFilePrefix> {
    let Ok(inner) = path.strip_prefix(&project.work_tree) else {
        return Vec::new();
    };
    let (Some(folder), Some(name)) = (inner.parent(), inner.file_name()) else {
        return Vec::new();
    };
    let name = name.to_string_lossy();
    [name.to_string(), format!(".{name}.")]
        .map(|begin| OwnFilePrefix {
            folder: folder.to_string_lossy().into_owned(),
            begin,
        })
        .to_vec()
}

/// What piton writes into a work tree while agents of a run work.
pub(crate) fn non_agent_files(session: &Session<'_>, row: &RunRow) -> Vec<OwnFilePrefix> {
    let project = &session.project;
    let mut own = own_file_prefixes(project, &row.plan.face, &row.plan.source);
    let source = project.absolute_path(&row.plan.source);
    if !source.is_dir() {
        own.extend(own_prefixes_of_file(project, &source));
    }
    let Ok(rows) = session.load(&[Need::Faces]) else {
        return own;
    };
    for row in rows.tables.native_files().filter(|row| row.on) {
        let known = project_files().find(|file| file.path == row.path);
        let derived = known.and_then(|file| file.derived_path());
        for path in std::iter::once(row.path.as_str()).chain(derived) {
            own.extend(own_prefixes_of_file(project, &project.root.join(path)));
        }
    }
    own
}
