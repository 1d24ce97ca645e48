//! Whether the definition of a run has changed since the run was planned.
//!
//! What is noted is a register: losing it costs a warning, and nothing else.

use std::path::{Path, PathBuf};

use piton_core::RunId;

use super::super::compile::SprintPath;
use crate::project::inside::{create_own_folder, write_own_file};
use crate::world::input;
use crate::world::input::sha256;

fn note_path(home: &Path, run: RunId) -> PathBuf {
    home.join("mirrors").join(format!("{run}.definition"))
}

/// What the definition is known by; none where it cannot be read.
pub(super) fn hash_definition(sprint: &SprintPath) -> Option<String> {
    input::read_file(&sprint.file)
        .ok()
        .map(|bytes| sha256(&bytes))
}

/// Notes what a run was planned from.
pub(super) fn note_definition(home: &Path, run: RunId, sprint: &SprintPath) {
    let path = note_path(home, run);
    if let (Some(hash), Some(folder)) = (hash_definition(sprint), path.parent()) {
        create_own_folder(folder)
            .and_then(|()| write_own_file(&path, hash.as_bytes()))
            .ok();
    }
}

/// Whether the definition is another one now. What is not known has not changed.
pub(super) fn has_changed(home: &Path, run: RunId, sprint: &SprintPath) -> bool {
    let noted = input::read_file_text(note_path(home, run)).ok();
    noted.is_some_and(|noted| hash_definition(sprint).is_some_and(|hash| hash != noted))
}
