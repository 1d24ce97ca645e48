//! A second work tree of one repository: all share the journal, and the native
//! files of the first one are kept.

use std::fmt;
use std::path::PathBuf;

use piton_formats::format::{self, DocumentRole, RecognisedFile};
use serde::Serialize;

use super::discovery::{PathContent, collect_native_paths, read_content};
use super::{Adoption, FileStanding, ListedFile};
use crate::project::Project;

/// Two work trees: the one whose files are kept, and the one of the caller.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SecondWorktree {
    /// The folder whose native files are kept up to date.
    pub kept: PathBuf,
    /// The present work tree, whose files are not.
    pub here: PathBuf,
    /// The native files that lie here, seen from the work tree. A plan is run where it
    /// lies, and is not among them.
    pub files: Vec<String>,
}

/// The work tree whose files are kept; none where it is the present one.
pub fn find_second_worktree(project: &Project) -> Option<SecondWorktree> {
    let Project {
        root, work_tree, ..
    } = project;
    // A project below the root of its work tree is in that work tree.
    if root.starts_with(work_tree) {
        return None;
    }
    let here = project.seen_from_work_tree();
    let mut files = collect_native_paths(project, work_tree);
    files.retain(|path| !is_run_by_path(&here, path));
    Some(SecondWorktree {
        kept: root.clone(),
        here: work_tree.clone(),
        files,
    })
}

/// Whether `piton run` works through the file, or through the folder that it lies in.
fn is_run_by_path(project: &Project, path: &str) -> bool {
    let PathContent::Text(text) = read_content(project, path) else {
        return false;
    };
    let Ok(RecognisedFile::Format(format)) = format::recognise_file(path, &text) else {
        return false;
    };
    match format.role {
        DocumentRole::Plan | DocumentRole::Definition | DocumentRole::Progress => true,
        DocumentRole::Other | DocumentRole::Adopted | DocumentRole::OtherTool => false,
    }
}

impl SecondWorktree {
    /// The files of this work tree, as they are listed.
    pub(super) fn list_files(&self) -> impl Iterator<Item = ListedFile> {
        let files = self.files.iter();
        files.map(|path| ListedFile {
            path: self.here.join(path).display().to_string(),
            format: None,
            about: format!("of a second work tree; {} is kept", self.kept.display()),
            standing: FileStanding::Elsewhere,
            run: None,
            link: None,
            errors: 0,
            warnings: 0,
            adoption: Adoption::default(),
        })
    }
}

impl fmt::Display for SecondWorktree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kept, here) = (self.kept.display(), self.here.display());
        match &*self.files {
            [] => write!(
                f,
                "the native files of {kept} are kept, not those of {here}"
            ),
            files => write!(
                f,
                "the native files of {kept} are kept; those of this work tree, {here}, are neither read nor written: {}",
                files.join(", ")
            ),
        }
    }
}
