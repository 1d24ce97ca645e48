//! A lane ends: `teardown`, its worktree, what piton kept of it.

use std::fs;
use std::io::ErrorKind;

use piton_core::redact::Redactor;

use super::lane_setup::GRACE;
use super::{Lane, LaneFault, LaneRecord, LaneScript, Pool, file_fault_at};
use crate::failpoint;
use crate::git::{self, GitControl, WorktreeState};
use crate::process::end_processes_in_folder;

/// How a lane is removed.
#[derive(Clone, Copy, Debug)]
pub struct LaneRemoval<'a> {
    /// What the commands that it takes are found and ended by.
    pub by: &'a GitControl<'a>,
    /// What takes secrets out of what `teardown` prints.
    pub redactor: &'a Redactor,
}

impl Pool {
    /// What goes with a lane and is nowhere else: [`LaneFault::Inner`] for each
    /// repository within it, [`LaneFault::Dirty`] where a person or an agent changed
    /// something that is in no commit. Changes nothing.
    ///
    /// # Errors
    ///
    /// [`LaneFault::NotOurs`] where it is no worktree of piton's.
    pub fn find_unsaved_changes(
        &self,
        lane: &Lane,
        onto: &str,
    ) -> Result<Vec<LaneFault>, LaneFault> {
        let used = LaneRecord::read(&lane.folder)?;
        let used = match (self.worktree_state(lane), used) {
            (WorktreeState::Absent, _) => return Ok(Vec::new()),
            (WorktreeState::Sound { .. }, Some(used)) => used,
            (WorktreeState::Sound { .. } | WorktreeState::Broken, _) => {
                return Err(LaneFault::NotOurs {
                    path: lane.tree.clone(),
                    why: "git does not know it as a worktree of piton",
                });
            }
        };
        let kept = git::unsaved_repositories(&lane.tree, onto)?;
        let kept = kept.into_iter().map(|inner| LaneFault::Inner {
            path: lane.tree.join(inner.path),
            work: inner.work,
        });
        let mut left: Vec<LaneFault> = kept.collect();
        let files = git::uncommitted_files_without(&lane.tree, &used.included)?;
        if !files.is_empty() {
            let path = lane.tree.clone();
            left.push(LaneFault::Dirty { path, files });
        }
        Ok(left)
    }

    /// Removes a lane that no unit has any more, with all that is in it: see
    /// [`Pool::find_unsaved_changes`]. `teardown` runs first, and again where a death or a failure
    /// came between.
    ///
    /// # Errors
    ///
    /// After any fault the lane stays.
    pub fn remove_lane(&self, lane: Lane, order: &LaneRemoval<'_>) -> Result<(), LaneFault> {
        if self.worktree_state(&lane) != WorktreeState::Absent {
            if let Some(command) = self.settings.teardown.as_deref() {
                let script = LaneScript::Teardown;
                self.run_script(&lane, script, command, order.by, order.redactor)?;
            }
            failpoint::point("lane.torn-down");
            end_processes_in_folder(&lane.folder, GRACE);
        }
        git::remove_detached_worktree(&self.project.work_tree, &lane.tree, order.by)?;
        failpoint::point("lane.removed");
        let removed = match fs::remove_dir_all(&lane.folder) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(file_fault_at(&lane.folder)(error))
            }
            Ok(()) | Err(_) => Ok(()),
        };
        // Held until its folder is gone: a lock that is not there any more is none.
        drop(lane);
        removed
    }
}
