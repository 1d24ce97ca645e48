//! What a folder outside of git holds at a moment, as one hash over the names,
//! sizes and times of its files, and which of them changed between two moments.
//!
//! No file is read: a file that is rewritten with the same bytes counts as
//! changed, one whose time was set back by hand may not. In a git work tree
//! `git::tracker` says it exactly.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use crate::git::{OwnFilePrefix, SnapshotError};
use crate::world::World;
use crate::world::input::sha256;

/// A folder with more files is not looked at.
const FILES_MAX: usize = 50_000;
/// How long a look may take.
const TIMEOUT: Duration = Duration::from_secs(5);

/// The size of a file, and its time in nanoseconds since 1970.
type FileStamp = (u64, u128);

/// The files of a folder at a moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FileStamps {
    files: BTreeMap<String, FileStamp>,
}

impl FileStamps {
    /// Looks at all files below `root` but those of piton.
    ///
    /// # Errors
    ///
    /// [`SnapshotError`] when there are too many files, or it takes too long.
    pub(crate) fn scan(
        world: &World,
        root: &Path,
        own: &[OwnFilePrefix],
    ) -> Result<Self, SnapshotError> {
        let until = world.uptime() + TIMEOUT;
        let mut stamps = Self::default();
        let mut folders = vec![String::new()];
        while let Some(folder) = folders.pop() {
            if world.uptime() > until {
                return Err(SnapshotError::Late);
            }
            let Ok(entries) = fs::read_dir(root.join(&folder)) else {
                continue;
            };
            for entry in entries.flatten() {
                let name = entry.file_name().to_string_lossy().into_owned();
                if is_own_file(own, &folder, &name) {
                    continue;
                }
                let path = join_name(&folder, &name);
                // A link is looked at as such: what it leads to is elsewhere.
                let Ok(meta) = fs::symlink_metadata(root.join(&path)) else {
                    continue;
                };
                if meta.is_dir() {
                    folders.push(path);
                    continue;
                }
                let time = meta.modified().ok();
                let since = time.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
                let nanos = since.map_or(0, |since| since.as_nanos());
                stamps.files.insert(path, (meta.len(), nanos));
                if stamps.files.len() > FILES_MAX {
                    return Err(SnapshotError::TooMany);
                }
            }
        }
        Ok(stamps)
    }

    /// One hash of all of it.
    pub(crate) fn hash(&self) -> String {
        let mut text = String::new();
        for (name, (bytes, nanos)) in &self.files {
            text.push_str(&format!("{name}\0{bytes}\0{nanos}\n"));
        }
        format!("stamps-{}", sha256(text.as_bytes()))
    }

    /// The files that are not as they were `before`, by their paths.
    pub(crate) fn changed_since(&self, before: &Self) -> Vec<String> {
        let changed = self
            .files
            .iter()
            .filter(|(name, stamp)| before.files.get(*name) != Some(stamp));
        let gone = before
            .files
            .keys()
            .filter(|name| !self.files.contains_key(*name));
        let mut names: Vec<String> = changed.map(|(name, _)| name).chain(gone).cloned().collect();
        names.sort();
        names
    }
}

fn join_name(folder: &str, name: &str) -> String {
    if folder.is_empty() {
        name.to_owned()
    } else {
        format!("{folder}/{name}")
    }
}

fn is_own_file(own: &[OwnFilePrefix], folder: &str, name: &str) -> bool {
    let is_home = folder.is_empty() && matches!(name, ".piton" | ".git");
    is_home
        || own
            .iter()
            .any(|own| own.folder == folder && name.starts_with(&own.begin))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(root: &Path) -> FileStamps {
        let world = World::from_environment().expect("there is a folder");
        let own = [OwnFilePrefix {
            folder: String::new(),
            begin: "prd.json".to_owned(),
        }];
        FileStamps::scan(&world, root, &own).expect("it is a small folder")
    }

    #[test]
    fn a_file_that_changes_or_goes_changes_the_hash_and_own_files_do_not() {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            fs::write(path, text).expect("written");
        };
        write("src/a.rs", "a");
        write("prd.json", "{}");
        write(".piton/journal.db", "x");
        let before = look(folder.path());
        write("prd.json", "{\"a\": 1}");
        write(".piton/journal.db", "xyz");
        assert_eq!(look(folder.path()).hash(), before.hash());
        write("src/a.rs", "ab");
        write("src/b.rs", "b");
        let after = look(folder.path());
        assert_ne!(after.hash(), before.hash());
        assert_eq!(after.changed_since(&before), ["src/a.rs", "src/b.rs"]);
        fs::remove_file(folder.path().join("src/b.rs")).expect("removed");
        assert_eq!(look(folder.path()).changed_since(&after), ["src/b.rs"]);
    }
}
