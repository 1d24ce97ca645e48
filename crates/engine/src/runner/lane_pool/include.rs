//! Files that git ignores and a lane needs all the same: `.worktreeinclude`.

use std::collections::BTreeSet;
use std::fs::{self, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Component, Path};

use super::{Lane, LaneFault, file_fault_at};
use crate::git::{self, GitControl};
use crate::world::input;

/// What names them, in the root of the work tree, as `.gitignore` names files.
const NAME: &str = ".worktreeinclude";

/// Whether files of a work tree may be copied into lanes that are in no commit.
pub(crate) fn has_include_file(work_tree: &Path) -> bool {
    work_tree.join(NAME).is_file()
}

/// Who names more means something else.
const FILES_MAX: usize = 1_000;

/// What became of it.
#[derive(Debug, Default)]
pub(super) struct IncludedFiles {
    /// The files, by their paths in the worktree.
    pub(super) files: Vec<String>,
    /// What was not copied, and why.
    pub(super) warnings: Vec<String>,
}

/// Copies the files into a lane, readable by this user alone, and removes those of
/// `before` that are not named any more.
pub(super) fn copy_included_files(
    work_tree: &Path,
    lane: &Lane,
    before: &[String],
    by: &GitControl<'_>,
) -> Result<IncludedFiles, LaneFault> {
    let mut included = IncludedFiles::default();
    let mut named = BTreeSet::new();
    if has_include_file(work_tree) {
        named = git::files_ignored_by(work_tree, NAME, by)?;
    }
    // The journal and the other lanes are no part of a project's files.
    named.retain(|file| !file.starts_with(".piton/"));
    if named.len() > FILES_MAX {
        included.warnings.push(format!(
            "{NAME} names {} files; only the first {FILES_MAX} are copied into lanes",
            named.len()
        ));
    }
    let tracked = git::tracked_files_among(&lane.tree, &named, by)?;
    for file in before.iter().filter(|file| !named.contains(*file)) {
        if !is_behind_symlink(&lane.tree, file) {
            remove_if_present(&lane.tree.join(file))?;
        }
    }
    for file in named.into_iter().take(FILES_MAX) {
        match reason_not_copied(work_tree, &lane.tree, &file, &tracked) {
            Some(why) => included
                .warnings
                .push(format!("{file} is not copied into lanes: {why}")),
            None => {
                copy_file(work_tree, lane, &file)?;
                included.files.push(file);
            }
        }
    }
    Ok(included)
}

/// Why a file is not copied; none where it is.
fn reason_not_copied(
    work_tree: &Path,
    tree: &Path,
    file: &str,
    tracked: &BTreeSet<String>,
) -> Option<String> {
    if tracked.contains(file) {
        return Some("the branch has a file of this name".to_owned());
    }
    if is_behind_symlink(tree, file) {
        return Some("there is a link on its path".to_owned());
    }
    let from = work_tree.join(file);
    match fs::symlink_metadata(&from) {
        Ok(found) if found.is_symlink() => Some("it is a link".to_owned()),
        Ok(found) => input::unreadable_reason(&found),
        Err(error) => Some(error.to_string()),
    }
}

/// Whether a file of a worktree lies behind a link, which may lead out of it.
fn is_behind_symlink(tree: &Path, file: &str) -> bool {
    let mut path = tree.to_owned();
    for part in Path::new(file).components() {
        match part {
            Component::Normal(name) => path.push(name),
            Component::Prefix(_)
            | Component::RootDir
            | Component::CurDir
            | Component::ParentDir => return true,
        }
        if path.is_symlink() {
            return true;
        }
    }
    false
}

/// Copies a file by way of a temporary file that no commit can take for a part of the
/// work.
fn copy_file(work_tree: &Path, lane: &Lane, file: &str) -> Result<(), LaneFault> {
    let (from, to) = (work_tree.join(file), lane.tree.join(file));
    let bytes = input::read_bytes(&from).map_err(file_fault_at(&from))?;
    let write = || {
        if let Some(folder) = to.parent() {
            fs::create_dir_all(folder)?;
        }
        let mut copy = tempfile::NamedTempFile::new_in(&lane.folder)?;
        copy.write_all(&bytes)?;
        if fs::metadata(&from)?.permissions().mode() & 0o100 != 0 {
            copy.as_file()
                .set_permissions(Permissions::from_mode(0o700))?;
        }
        copy.persist(&to).map_err(|error| error.error)?;
        Ok::<_, io::Error>(())
    };
    write().map_err(file_fault_at(&to))
}

fn remove_if_present(path: &Path) -> Result<(), LaneFault> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(file_fault_at(path)(error)),
        Ok(()) | Err(_) => Ok(()),
    }
}
