//! How the proof of an item changed between two moments: its tests, the marks
//! that skip them, and what its checks run.
//!
//! What counts is decided by `piton_core::weakening`; here only texts are
//! fetched, and only of files that matter. All of them come from one git.

use std::collections::{BTreeMap, HashSet};
use std::path::{Component, Path};

use piton_core::weakening::{
    CheckEntry, ProofChange, count_tests, entry_text, follow_check_entries, has_countable_tests,
};

use super::{FILES_MAX, SnapshotError, TimedGit, WorkTreeSnapshot, WorkTreeTracker};
use crate::process::StopReason;
use crate::world::World;
use crate::world::input;

/// A file of more bytes is not counted: it was not written by hand.
const COUNTED_BYTES_MAX: usize = 4 << 20;
/// A file of more bytes is not looked into for what a check runs.
const ENTRY_BYTES_MAX: u64 = 1 << 20;
/// Most files that are fetched.
const FETCHED_MAX: usize = 10_000;

/// Between which moments a proof is compared, and where it stands.
#[derive(Clone, Copy, Debug)]
pub struct ProofSources<'a> {
    /// The earlier moment.
    pub before: &'a WorkTreeSnapshot,
    /// The later one.
    pub after: &'a WorkTreeSnapshot,
    /// What changed between them, as [`WorkTreeTracker::changes_between`] names it.
    pub files_changed: &'a [String],
    /// The commands of the item's checks.
    pub commands: &'a [String],
}

/// A file in the two trees; none where it is not there.
#[derive(Debug, Default)]
struct ProofFileVersions {
    before: Option<Vec<u8>>,
    after: Option<Vec<u8>>,
}

impl WorkTreeTracker {
    /// How the proof of an item changed; none where git cannot answer in time.
    ///
    /// Costs one call of git, and none where no file that changed holds tests or
    /// is run by a check.
    #[must_use]
    pub fn proof_change(&self, world: &World, sources: &ProofSources<'_>) -> Option<ProofChange> {
        if sources.before.tree == sources.after.tree {
            return Some(ProofChange::default());
        }
        let asking = self.timed_git(world, "index");
        let files = self.all_changed_files(&asking, sources).ok()?;
        let entries = self.changed_check_entries(sources.commands, &files);
        let wanted = self.files_to_fetch(&files, &entries);
        if wanted.is_empty() {
            return Some(ProofChange::default());
        }
        let versions = fetch_versions(&asking, sources, wanted).ok()?;
        Some(self.compare_proof(&files, &entries, &versions))
    }

    /// The files that changed, by their paths in the repository. Where too many
    /// did to be named, git is asked for all of them.
    fn all_changed_files(
        &self,
        asking: &TimedGit<'_>,
        sources: &ProofSources<'_>,
    ) -> Result<Vec<String>, SnapshotError> {
        if sources.files_changed.len() < FILES_MAX {
            return Ok(sources.files_changed.to_vec());
        }
        let differ = ["diff-tree", "-r", "-z", "--name-only", "--no-renames"];
        let trees = [&sources.before.tree, &sources.after.tree].map(String::as_str);
        let args = [&differ[..], &trees, &["--"]].concat();
        let said = asking.run_checked(&self.args_with_specs(&args))?;
        let names = said.out.split('\0').filter(|name| !name.is_empty());
        Ok(names.map(str::to_owned).collect())
    }

    /// What the checks run of which a file changed.
    fn changed_check_entries(&self, commands: &[String], files: &[String]) -> Vec<CheckEntry> {
        let changed: HashSet<&str> = files.iter().map(String::as_str).collect();
        let mut entries = follow_check_entries(commands, &|path| self.read_work_tree_file(path));
        entries.retain(|entry| {
            let files = entry.candidate_files();
            let paths = files
                .iter()
                .filter_map(|file| self.path_in_repository(file));
            paths
                .into_iter()
                .any(|path| changed.contains(path.as_str()))
        });
        entries
    }

    /// The files to be fetched: those of checks first, then those that look like
    /// tests, in case that there are too many.
    fn files_to_fetch(&self, files: &[String], entries: &[CheckEntry]) -> Vec<String> {
        let of_entries = entries.iter().flat_map(CheckEntry::candidate_files);
        let mut wanted: Vec<String> = of_entries
            .filter_map(|file| self.path_in_repository(&file))
            .collect();
        let mut counted: Vec<&String> = files
            .iter()
            .filter(|file| has_countable_tests(file))
            .collect();
        counted.sort_by_key(|file| {
            let name = file.to_lowercase();
            !(name.contains("test") || name.contains("spec"))
        });
        wanted.extend(counted.into_iter().cloned());
        // Each is asked for in a line of its own.
        wanted.retain(|path| !path.contains('\n'));
        let mut seen = HashSet::new();
        wanted.retain(|path| seen.insert(path.clone()));
        wanted.truncate(FETCHED_MAX);
        wanted
    }

    fn compare_proof(
        &self,
        files: &[String],
        entries: &[CheckEntry],
        versions: &BTreeMap<String, ProofFileVersions>,
    ) -> ProofChange {
        let mut change = ProofChange::default();
        for file in files.iter().filter(|file| has_countable_tests(file)) {
            if let Some(ProofFileVersions { before, after }) = versions.get(file)
                && is_countable(before.as_deref())
                && is_countable(after.as_deref())
            {
                let count = |bytes: &Option<Vec<u8>>| {
                    let text = bytes.as_deref().map(String::from_utf8_lossy);
                    text.map_or_else(Default::default, |text| count_tests(file, &text))
                };
                change.add_counts(count(before), count(after));
            }
        }
        for entry in entries {
            let paths = entry.candidate_files();
            let paths = paths
                .iter()
                .filter_map(|path| self.path_in_repository(path));
            // Of a file that could not be fetched nothing is known.
            if !paths.into_iter().all(|path| versions.contains_key(&path)) {
                continue;
            }
            let text = |version: fn(&ProofFileVersions) -> &Option<Vec<u8>>| {
                entry_text(entry, &|path| {
                    let versions = versions.get(&self.path_in_repository(path)?)?;
                    let bytes = version(versions).as_deref()?;
                    Some(String::from_utf8_lossy(bytes).into_owned())
                })
            };
            let (before, after) = (text(|file| &file.before), text(|file| &file.after));
            change.add_entry(entry, before.as_deref(), after.as_deref());
        }
        change
    }

    /// A file of the work tree as it is now, for what the checks run: that a
    /// target names another script is seen in the target itself.
    fn read_work_tree_file(&self, path: &str) -> Option<String> {
        let path = self.work_tree.join(path);
        let meta = std::fs::symlink_metadata(&path).ok()?;
        let is_readable = meta.is_file() && meta.len() <= ENTRY_BYTES_MAX;
        let bytes = is_readable.then(|| input::read_file(&path))?.ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Where in the repository a file is that a check names; none outside of it.
    fn path_in_repository(&self, path: &str) -> Option<String> {
        let path = Path::new(path);
        let inner = match path.strip_prefix(&self.work_tree) {
            Ok(inner) => inner,
            Err(_) => path,
        };
        let mut parts: Vec<&str> = Vec::new();
        let whole = Path::new(&self.prefix).join(inner);
        for part in whole.components() {
            match part {
                Component::Normal(name) => parts.push(name.to_str()?),
                Component::CurDir => {}
                Component::ParentDir => drop(parts.pop()?),
                Component::RootDir | Component::Prefix(_) => return None,
            }
        }
        (!parts.is_empty()).then(|| parts.join("/"))
    }
}

/// Whether the tests of a file can be counted.
fn is_countable(bytes: Option<&[u8]>) -> bool {
    // A video may end with `.ts`, too.
    let is_text = |bytes: &[u8]| !bytes.iter().take(8_000).any(|byte| *byte == 0);
    bytes.is_none_or(|bytes| bytes.len() <= COUNTED_BYTES_MAX && is_text(bytes))
}

/// The two versions of each file. Where they are more than a call may print,
/// those that came before that.
fn fetch_versions(
    asking: &TimedGit<'_>,
    sources: &ProofSources<'_>,
    wanted: Vec<String>,
) -> Result<BTreeMap<String, ProofFileVersions>, SnapshotError> {
    let trees = [&sources.before.tree, &sources.after.tree];
    // The trees themselves, too: in one that git does not have every file is missing.
    let mut names = format!("{}\n{}\n", trees[0], trees[1]);
    for path in &wanted {
        for tree in trees {
            names.extend([tree, ":", path, "\n"]);
        }
    }
    let output = asking.run_with_input(&["cat-file", "--batch", "--buffer"], names.as_bytes())?;
    let is_full = output.exit.stopped_by == Some(StopReason::Flood);
    if !output.exit.is_success() && !is_full {
        return Err(asking.snapshot_error());
    }
    let mut objects = CatFileObjects(&output.stdout);
    for _ in trees {
        objects.next().flatten().ok_or(SnapshotError::Unknown)?;
    }
    let versions = wanted.into_iter().map_while(|path| {
        let before = objects.next()?.and_then(GitObject::into_blob);
        let after = objects.next()?.and_then(GitObject::into_blob);
        Some((path, ProofFileVersions { before, after }))
    });
    Ok(versions.collect())
}

/// What git has under a name.
#[derive(Debug)]
struct GitObject<'a> {
    kind: &'a str,
    bytes: &'a [u8],
}

impl GitObject<'_> {
    fn into_blob(self) -> Option<Vec<u8>> {
        (self.kind == "blob").then(|| self.bytes.to_vec())
    }
}

/// What `git cat-file --batch` prints: an answer to each name, in order.
struct CatFileObjects<'a>(&'a [u8]);

impl<'a> Iterator for CatFileObjects<'a> {
    /// None where there is nothing of that name.
    type Item = Option<GitObject<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        let end = self.0.iter().position(|byte| *byte == b'\n')?;
        let (head, rest) = (&self.0[..end], &self.0[end + 1..]);
        if head.ends_with(b" missing") {
            self.0 = rest;
            return Some(None);
        }
        let head = std::str::from_utf8(head).ok()?;
        let mut words = head.split(' ').skip(1);
        let (kind, size) = (words.next()?, words.next()?.parse::<usize>().ok()?);
        let bytes = rest.get(..size)?;
        // A line end follows.
        self.0 = rest.get(size + 1..)?;
        Some(Some(GitObject { kind, bytes }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(printed: &str, expect: &[Option<&str>]) {
        let objects: Vec<Option<String>> = CatFileObjects(printed.as_bytes())
            .map(|object| object.and_then(GitObject::into_blob))
            .map(|bytes| bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
            .collect();
        let expect: Vec<Option<String>> =
            expect.iter().map(|text| text.map(str::to_owned)).collect();
        assert_eq!(objects, expect, "{printed}");
    }

    #[test]
    fn answers_are_told_apart_by_their_size() {
        check("", &[]);
        check("1a blob 3\na\nb\n2b blob 0\n\n", &[Some("a\nb"), Some("")]);
        check("t:a b missing\n1a blob 1\na\n", &[None, Some("a")]);
        check("t: missing missing\n", &[None]);
        check("1a tree 2\nab\n1a blob 1\na\n", &[None, Some("a")]);
    }

    #[test]
    fn an_answer_that_was_cut_off_is_none() {
        check("1a blob 1\na\n2b blob 10\nabc", &[Some("a")]);
        check("1a blob 1\na\n2b blo", &[Some("a")]);
        check("1a blob 1\na", &[]);
    }
}
