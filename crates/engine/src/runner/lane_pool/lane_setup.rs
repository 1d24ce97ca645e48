//! A lane that was taken is made ready: its worktree, the files that git does not
//! bring, its variables, its `setup`.

use std::path::Path;
use std::time::Duration;

use piton_core::redact::Redactor;

use super::include::copy_included_files;
use super::script::create_empty_env_file;
use super::{Lane, LaneFault, LaneOccupant, LaneRecord, LaneScript, Pool, QUEUE};
use crate::failpoint;
use crate::git::{self, BehindSubmodule, GitControl, WorktreeState};
use crate::process::shell::quote_word;
use crate::process::{ProcessIdentity, end_processes_in_folder, end_survivors};

/// How long what is left in a lane may take to end by itself.
pub(super) const GRACE: Duration = Duration::from_secs(5);

/// For which work a lane is made ready.
#[derive(Clone, Copy, Debug)]
pub struct LanePreparation<'a> {
    /// Who has taken it, as the journal says already.
    pub taken: &'a LaneOccupant,
    /// The commit that the work begins at.
    pub from: &'a str,
    /// What becomes of what is in it.
    pub start: LaneStart,
    /// Marks of attempts whose processes are ended first.
    pub marks: &'a [String],
    /// Processes that are ended first.
    pub recorded: &'a [ProcessIdentity],
    /// What the commands that it takes are found and ended by.
    pub by: &'a GitControl<'a>,
    /// What takes secrets out of what `setup` prints.
    pub redactor: &'a Redactor,
}

/// What becomes of what is in a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LaneStart {
    /// It goes, apart from what git ignores: that of the unit before is saved,
    /// merged or not wanted.
    Clean,
    /// It stays: an attempt of this very unit was cut short there.
    AsLeft,
}

/// A lane that is ready.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreparedLane {
    /// What agents and checks get in their environment, in this order.
    pub env: Vec<(String, String)>,
    /// Files that were copied in and are in no commit, by their paths in the
    /// worktree.
    pub included: Vec<String>,
    /// What a person should know.
    pub warnings: Vec<String>,
}

/// What a person should know of a submodule.
fn describe_behind_submodule(tree: &Path, behind: &BehindSubmodule) -> String {
    let path = tree.join(&behind.path);
    let shown = quote_word(&path.display().to_string()).into_owned();
    let why = match &behind.kept {
        Some(work) => format!("it {work}: see them with `git -C {shown} status`"),
        None => "it has no such commit, and `setup` is what brings it".to_owned(),
    };
    let path = path.display();
    format!("the submodule {path} is not at the commit that it is to be at: {why}")
}

impl Pool {
    /// Makes a lane ready. To be repeated after a death at any point, with the same
    /// outcome.
    ///
    /// # Errors
    ///
    /// [`LaneFault`]; the lane is as far as it came.
    pub fn prepare_lane(
        &self,
        lane: &Lane,
        order: &LanePreparation<'_>,
    ) -> Result<PreparedLane, LaneFault> {
        self.relock_if_removed(lane)?;
        let known = LaneRecord::read(&lane.folder)?;
        let state = self.worktree_state(lane);
        self.refuse_foreign_folder(lane, state, known.is_some(), order.by)?;
        let mut used = known.unwrap_or_default();
        used.taken = order.taken.clone();
        used.repository.clone_from(&self.repository);
        used.write(&lane.folder)?;
        failpoint::point("lane.registered");
        if !order.marks.is_empty() || !order.recorded.is_empty() {
            end_survivors(order.marks, order.recorded, GRACE);
        }
        end_processes_in_folder(&lane.folder, GRACE);
        self.create_or_reset_tree(lane, state, order)?;
        failpoint::point("lane.added");
        git::remove_stale_locks(&lane.tree);
        if order.start == LaneStart::Clean || state == WorktreeState::Absent {
            match order.taken.unit == QUEUE {
                true => git::restore_merge_worktree(&lane.tree, order.from, order.by)?,
                false => git::restore_worktree(&lane.tree, order.from, order.by)?,
            }
            failpoint::point("lane.cleaned");
        }
        let follows = order.start == LaneStart::Clean
            && (used.keeps.is_some() || git::has_submodules(&lane.tree));
        let mut behind = match follows {
            true => git::follow_submodules(&lane.tree, order.by)?,
            false => Vec::new(),
        };
        failpoint::point("lane.followed");
        // It brings the commits that are not there, as `git submodule update` does.
        if behind.iter().any(|submodule| submodule.kept.is_none()) {
            used.record_setup(None);
        }
        used.keeps
            .take_if(|by| follows && !by.is_same_unit(order.taken));
        let included =
            copy_included_files(&self.project.work_tree, lane, &used.included, order.by)?;
        let mut warnings = included.warnings;
        used.included = included.files;
        used.write(&lane.folder)?;
        failpoint::point("lane.included");
        self.run_setup(lane, &mut used, order)?;
        if !behind.is_empty() {
            behind = git::follow_submodules(&lane.tree, order.by)?;
        }
        warnings.extend(
            behind
                .iter()
                .map(|one| describe_behind_submodule(&lane.tree, one)),
        );
        let environment = self.lane_environment(lane)?;
        warnings.extend(environment.warnings);
        Ok(PreparedLane {
            env: environment.variables,
            included: used.included,
            warnings,
        })
    }

    pub(super) fn worktree_state(&self, lane: &Lane) -> WorktreeState {
        git::worktree_state(&self.project.work_tree, &lane.tree)
    }

    /// Why git keeps the worktree when a person tidies up.
    fn lock_reason(lane: &Lane) -> String {
        format!("lane {} of piton", lane.number)
    }

    /// Refuses a folder that piton did not make, and one that a person has unlocked
    /// and changed.
    fn refuse_foreign_folder(
        &self,
        lane: &Lane,
        state: WorktreeState,
        is_known: bool,
        by: &GitControl<'_>,
    ) -> Result<(), LaneFault> {
        let main = &self.project.work_tree;
        let why = match (state, is_known) {
            (WorktreeState::Absent, _) => return Ok(()),
            (WorktreeState::Sound { .. } | WorktreeState::Broken, false) => "piton did not make it",
            (WorktreeState::Sound { locked: true } | WorktreeState::Broken, true) => return Ok(()),
            (WorktreeState::Sound { locked: false }, true) => {
                if git::uncommitted_changes(&lane.tree, &[])?.is_empty() {
                    return Ok(git::lock_detached_worktree(
                        main,
                        &lane.tree,
                        &Self::lock_reason(lane),
                        by,
                    )?);
                }
                "it is not locked any more, and has changes"
            }
        };
        let path = lane.tree.clone();
        Err(LaneFault::NotOurs { path, why })
    }

    fn create_or_reset_tree(
        &self,
        lane: &Lane,
        state: WorktreeState,
        order: &LanePreparation<'_>,
    ) -> Result<(), LaneFault> {
        let (main, tree) = (&self.project.work_tree, &lane.tree);
        let (from, reason) = (order.from, Self::lock_reason(lane));
        let made = match state {
            WorktreeState::Sound { .. } => Ok(()),
            WorktreeState::Absent => {
                git::add_detached_worktree(main, tree, from, &reason, order.by)
            }
            WorktreeState::Broken => {
                git::adopt_detached_worktree(main, tree, from, &reason, order.by)
            }
        };
        Ok(made?)
    }

    /// Runs `setup`, unless it has made the lane ready for this run already.
    fn run_setup(
        &self,
        lane: &Lane,
        used: &mut LaneRecord,
        order: &LanePreparation<'_>,
    ) -> Result<(), LaneFault> {
        let Some(command) = self.settings.setup.as_deref() else {
            return Ok(());
        };
        if used.is_set_up(command) {
            return Ok(());
        }
        used.record_setup(None);
        used.write(&lane.folder)?;
        create_empty_env_file(&lane.env_file_path())?;
        self.run_script(lane, LaneScript::Setup, command, order.by, order.redactor)?;
        failpoint::point("lane.set-up");
        used.record_setup(Some(command));
        used.write(&lane.folder)
    }
}
