//! `lane.json`: what piton keeps of a lane beside its worktree.

use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{LaneFault, file_fault_at};
use crate::world::input;
use crate::world::input::sha256;

/// Its name in the folder of the lane.
const NAME: &str = "lane.json";

/// What stands for the unit where a lane was taken for the merge queue.
pub const QUEUE: &str = "merge-queue";

/// Who took a lane.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaneOccupant {
    /// The run, by its id.
    pub run: String,
    /// The unit, by its node.
    pub unit: String,
    /// The token with which it was taken.
    pub token: u64,
}

/// What is known of a lane: the last taking, and what makes it ready. That it is
/// there says that the worktree beside it is piton's.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaneRecord {
    /// Who took it last.
    #[serde(flatten)]
    pub taken: LaneOccupant,
    /// The repository that the worktree is of, by its name in the plan of a run; none is
    /// that of the project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repository: Option<LaneRepository>,
    /// The `setup` that succeeded last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    setup: Option<SuccessfulSetup>,
    /// The files that were copied into it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub included: Vec<String>,
    /// Who left a repository in it, or moved one: no other unit gets the lane before
    /// git was asked whether that is nowhere else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keeps: Option<LaneOccupant>,
}

/// Another repository than that of the project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaneRepository {
    /// Its name in the plan of the run that made the lane.
    pub name: String,
    /// A work tree of it.
    pub tree: PathBuf,
}

impl LaneOccupant {
    /// Whether the same unit took a lane, whenever that was.
    #[must_use]
    pub fn is_same_unit(&self, other: &Self) -> bool {
        (&self.run, &self.unit) == (&other.run, &other.unit)
    }
}

/// Notes that who took the lane with this worktree last has left a repository there.
///
/// # Errors
///
/// When what is kept of the lane cannot be read or written.
pub fn record_left_repository(tree: &Path) -> Result<(), LaneFault> {
    let Some(folder) = tree.parent() else {
        return Ok(());
    };
    let Some(mut used) = LaneRecord::read(folder)? else {
        return Ok(());
    };
    used.keeps = Some(used.taken.clone());
    used.write(folder)
}

/// A `setup` that succeeded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct SuccessfulSetup {
    /// The hash of the command.
    command: String,
    /// The run for which it ran.
    run: String,
}

/// Writes a file of a lane, whole or not at all.
pub(super) fn write_atomically(folder: &Path, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// The run that took the lane last in whose worktree one is, by its id; none for a
/// folder that is no lane.
#[must_use]
pub fn run_of_tree(tree: &Path) -> Option<String> {
    let used = LaneRecord::read(tree.parent()?).ok()??;
    Some(used.taken.run).filter(|run| !run.is_empty())
}

/// The repository of the lane whose worktree one is, where that is not the project's.
#[must_use]
pub fn repository_of_tree(tree: &Path) -> Option<LaneRepository> {
    LaneRecord::read(tree.parent()?).ok()??.repository
}

impl LaneRecord {
    /// What stands in the folder of a lane; none where there never was one. What
    /// cannot be read says nothing but that.
    pub(super) fn read(folder: &Path) -> Result<Option<Self>, LaneFault> {
        let path = folder.join(NAME);
        match input::read_file(&path) {
            Ok(bytes) => Ok(Some(serde_json::from_slice(&bytes).unwrap_or_default())),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(file_fault_at(&path)(error)),
        }
    }

    /// Writes it, whole or not at all.
    pub(super) fn write(&self, folder: &Path) -> Result<(), LaneFault> {
        let path = folder.join(NAME);
        let bytes = serde_json::to_vec(self).map_err(io::Error::from);
        bytes
            .and_then(|bytes| write_atomically(folder, &path, &bytes))
            .map_err(file_fault_at(&path))
    }

    /// Whether merges were made in it last, and no unit was worked on.
    #[must_use]
    pub fn is_of_merge_queue(&self) -> bool {
        self.taken.unit == QUEUE
    }

    /// Whether this command is what made the lane ready for the run that has it.
    pub(super) fn is_set_up(&self, command: &str) -> bool {
        let done = SuccessfulSetup {
            command: sha256(command.as_bytes()),
            run: self.taken.run.clone(),
        };
        self.setup == Some(done)
    }

    /// This command has made it ready; none for one that is about to.
    pub(super) fn record_setup(&mut self, command: Option<&str>) {
        self.setup = command.map(|command| SuccessfulSetup {
            command: sha256(command.as_bytes()),
            run: self.taken.run.clone(),
        });
    }
}
