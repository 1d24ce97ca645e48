//! Lanes: worktrees of git, in a pool that is used again, in which units of a run
//! are worked on side by side.
//!
//! A lane is taken ([`Pool::acquire`]), made ready for one unit ([`Pool::prepare_lane`])
//! and at the end removed ([`Pool::remove_lane`]). Each of these can be repeated after
//! a death in it. Nothing here knows which unit has which lane: that stands in
//! the journal, and is asked for.
//!
//! How work is brought back: see [`crate::git::merge_commits`]. The design is
//! `docs/design/0027-lanes-and-merge-queue.md`.

mod include;
mod lane_setup;
mod last_read_plan;
mod pool;
mod register;
mod remove;
mod script;

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use crate::failure::Failure;
use crate::git::UnsavedWork;

pub(crate) use self::include::has_include_file;
pub use self::lane_setup::{LanePreparation, LaneStart, PreparedLane};
pub use self::last_read_plan::{LastReadPlan, read_plan_file};
pub use self::pool::Pool;
pub use self::register::{
    LaneOccupant, LaneRecord, LaneRepository, QUEUE, record_left_repository, repository_of_tree,
    run_of_tree,
};
pub use self::remove::LaneRemoval;
pub use self::script::LaneScript;

/// A lane that this process holds, until this is dropped.
#[derive(Debug)]
pub struct Lane {
    /// Its number in the project, from 1.
    pub number: u32,
    /// The folder of its worktree and of what piton keeps of it.
    pub folder: PathBuf,
    /// The worktree.
    pub tree: PathBuf,
    /// Held by the kernel for as long as the process lives; another one where the
    /// folder was removed meanwhile.
    lock: Mutex<File>,
}

impl Lane {
    /// The file with the variables that `setup` gives to agents and checks.
    #[must_use]
    pub fn env_file_path(&self) -> PathBuf {
        self.folder.join("env")
    }

    /// What `setup` printed last, without secrets.
    #[must_use]
    pub fn setup_log_path(&self) -> PathBuf {
        self.folder.join("setup.log")
    }
}

/// Why a lane could not be taken, made ready or removed. Nothing is lost: the
/// same can be asked for again.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LaneFault {
    /// Git failed.
    #[error("{0}")]
    Git(Failure),
    /// A file or a folder could not be read or written.
    #[error("cannot use {}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// What lies there is no lane of this project, or a person works in it.
    #[error("{} is not used as a lane: {why}", path.display())]
    NotOurs {
        /// What lies there.
        path: PathBuf,
        /// What shows it.
        why: &'static str,
    },
    /// It has changes that are in no commit.
    #[error("{} has changes that are not committed, {} among them", path.display(), files.first().map_or("", String::as_str))]
    Dirty {
        /// The worktree.
        path: PathBuf,
        /// The files.
        files: Vec<String>,
    },
    /// A repository within it has what is nowhere else.
    #[error("the repository {} {work}", path.display())]
    Inner {
        /// The repository.
        path: PathBuf,
        /// What it has.
        work: UnsavedWork,
    },
    /// A command of the project's failed or hung.
    #[error("the {} command of lane {lane} {how}", script.as_str())]
    Script {
        /// Which.
        script: LaneScript,
        /// The number of the lane.
        lane: u32,
        /// How it ended.
        how: String,
        /// The last lines that it printed, without secrets.
        lines: Vec<String>,
    },
    /// It was asked to stop.
    #[error("it was stopped")]
    Stopped,
}

impl From<Failure> for LaneFault {
    fn from(failure: Failure) -> Self {
        Self::Git(failure)
    }
}

/// What a fault of the disk at a path is.
fn file_fault_at(path: &Path) -> impl FnOnce(io::Error) -> LaneFault {
    let path = path.to_owned();
    |source| LaneFault::File { path, source }
}
