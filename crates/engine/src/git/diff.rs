//! How much differs between two commits, file by file.

use std::path::Path;

use serde::Serialize;

use super::query_git;

/// How much a file differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FileChange {
    /// Its path.
    pub path: String,
    /// Lines that were added; none of a file that is no text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub insertions: Option<u64>,
    /// Lines that were taken away.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deletions: Option<u64>,
}

/// What a commit changed since it parted from another one; none where git does not
/// say.
#[must_use]
pub fn file_changes(work_tree: &Path, from: &str, to: &str) -> Option<Vec<FileChange>> {
    let range = format!("{from}...{to}");
    let said = query_git(
        work_tree,
        &[
            "diff",
            "--numstat",
            "-z",
            "--no-renames",
            "--no-ext-diff",
            &range,
            "--",
        ],
    );
    let said = said.ok().filter(|said| said.ok)?;
    Some(said.out.split('\0').filter_map(file_change).collect())
}

/// A file, of what `--numstat -z` says of it.
fn file_change(said: &str) -> Option<FileChange> {
    let mut parts = said.splitn(3, '\t');
    let (insertions, deletions) = (parts.next()?.parse(), parts.next()?.parse());
    Some(FileChange {
        path: parts.next()?.to_owned(),
        insertions: insertions.ok(),
        deletions: deletions.ok(),
    })
}
