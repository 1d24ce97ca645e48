//! The files of this repository.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Names of what is nothing of ours; in a linked worktree `.git` is a file.
const NOT_OURS: [&str; 4] = [".git", "target", ".piton", "node_modules"];

/// The folder of the workspace.
pub(crate) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_owned()
}

/// A file that can be read as text, by its path from the root, `/` between names.
pub(crate) struct Text {
    pub(crate) path: String,
    pub(crate) text: String,
}

impl Text {
    pub(crate) fn has_ending(&self, ending: &str) -> bool {
        Path::new(&self.path)
            .extension()
            .is_some_and(|found| found == ending)
    }
}

/// Every file below the root that is text, in the order of the paths.
pub(crate) fn texts(root: &Path) -> io::Result<Vec<Text>> {
    let mut found = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            let name = entry.file_name();
            let kind = entry.file_type()?;
            if NOT_OURS.iter().any(|not| name == *not) {
                continue;
            }
            if kind.is_dir() {
                folders.push(entry.path());
            } else if kind.is_file()
                && let Ok(text) = String::from_utf8(fs::read(entry.path())?)
            {
                found.push(Text {
                    path: from(root, &entry.path()),
                    text,
                });
            }
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

fn from(root: &Path, path: &Path) -> String {
    let inner = path.strip_prefix(root).unwrap_or(path);
    let names: Vec<_> = inner
        .components()
        .map(|part| part.as_os_str().to_string_lossy())
        .collect();
    names.join("/")
}
