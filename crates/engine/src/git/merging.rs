//! Merges that are made in git's objects, without a work tree; and one that is
//! put into the files of a work tree, for whom has to resolve it.
//!
//! No ref is moved and no hook runs: see [`super::refs`]. What is made and then
//! not wanted is git's to collect.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::time::Duration;

use piton_formats::merge::{MergeVersions, merge_additions};

use super::{GitCallOptions, GitControl, GitOutput, git_failure, run_git_with};
use crate::failure::{Failure, unwritable_file};
use crate::process::{CallOutput, StopHandle};
use crate::project::inside::resolve_within;
use crate::world::input;

/// Long enough for a merge of very many files, also with a driver of the user's.
const TIMEOUT: Duration = Duration::from_secs(600);

/// The files that piton writes itself, by their paths in the work tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnPaths {
    /// That of the plan: nothing of the work counts in it, it is as `onto` has it.
    pub plans: Vec<String>,
    /// Those of the project: what the work adds to one counts, merged as what the file
    /// is. Where both sides contradict each other it is as `onto` has it.
    pub natives: Vec<String>,
}

impl OwnPaths {
    fn all_paths(&self) -> impl Iterator<Item = &String> {
        self.plans.iter().chain(&self.natives)
    }
}

/// What is merged, and how.
#[derive(Clone, Copy, Debug)]
pub struct MergeSpec<'a> {
    /// The commit that it is merged onto: the first parent.
    pub onto: &'a str,
    /// The commit of the work: the second parent.
    pub work: &'a str,
    /// The files that piton writes itself.
    pub own: &'a OwnPaths,
    /// What files hold in the merged tree instead, as git stores it.
    pub put: &'a [(String, Vec<u8>)],
    /// The tree on which the check of the work passed, if it did.
    pub checked: Option<&'a str>,
    /// What the merge says of itself.
    pub message: &'a str,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GitMergeOutcome {
    /// There is a commit.
    Made {
        /// The commit.
        commit: String,
        /// Its tree.
        tree: String,
        /// Whether the check of the work saw this tree, apart from the files in
        /// which nothing of the work counts.
        is_checked: bool,
    },
    /// Both sides changed the same.
    Conflict {
        /// The files, by their paths in the work tree.
        files: Vec<String>,
    },
    /// `onto`, this commit, has all of it already.
    Nothing {
        /// The commit.
        onto: String,
        /// Its tree.
        tree: String,
    },
}

/// Merges a commit onto another one, in objects alone. Drivers and filters are
/// those that the attributes of `onto` name (before git 2.41, of the work tree);
/// a driver writes its own files for a moment into the root of the work tree,
/// which is therefore no one's in which a person works.
///
/// # Errors
///
/// When git fails: a full disk, no identity, commits that are gone.
pub fn merge_commits(
    lane: &Path,
    wish: &MergeSpec<'_>,
    by: &GitControl<'_>,
) -> Result<GitMergeOutcome, Failure> {
    let git = Plumbing { lane, by };
    let tree = match git.merged_tree(wish.onto, wish.work, wish.own)? {
        Ok(tree) => git.tree_with_texts(&tree, wish.put)?,
        Err(files) => return Ok(GitMergeOutcome::Conflict { files }),
    };
    let trees = ["rev-parse", &format!("{}^{{tree}}", wish.onto)];
    if tree == git.run_for_line("look at a commit", &trees, &GitCallOptions::default())? {
        return Ok(GitMergeOutcome::Nothing {
            onto: wish.onto.to_owned(),
            tree,
        });
    }
    // A hook of the user's may have committed another tree than the check saw.
    let is_checked = git.is_tree_checked(wish)? && git.is_same_but_own_files(&tree, wish)?;
    let commit = git.commit_tree(
        &tree,
        &[wish.onto, wish.work],
        wish.message,
        CommitSigning::AsUser,
    )?;
    Ok(GitMergeOutcome::Made {
        commit,
        tree,
        is_checked,
    })
}

/// Makes a commit on top of another one in which files hold these texts, in objects
/// alone.
///
/// # Errors
///
/// When git fails.
pub fn commit_texts(
    main: &Path,
    onto: &str,
    texts: &[(String, Vec<u8>)],
    message: &str,
    by: &GitControl<'_>,
) -> Result<String, Failure> {
    let git = Plumbing { lane: main, by };
    let tree = git.tree_with_texts(&format!("{onto}^{{tree}}"), texts)?;
    git.commit_tree(&tree, &[onto], message, CommitSigning::AsUser)
}

/// Some work, and the branch that it is for.
#[derive(Clone, Copy, Debug)]
pub struct WorkRange<'a> {
    /// A commit of that branch.
    pub base: &'a str,
    /// The last commit of the work.
    pub work: &'a str,
}

/// A commit with the work, in which these files are as they were where it parts from
/// `base`: the commit itself where they are, else one on top of it.
///
/// # Errors
///
/// When git fails.
pub fn strip_files_from_work(
    main: &Path,
    range: WorkRange<'_>,
    files: &[String],
    message: &str,
    by: &GitControl<'_>,
) -> Result<String, Failure> {
    let WorkRange { base, work } = range;
    let git = Plumbing { lane: main, by };
    match git.tree_without_files(base, work, files)? {
        Some(tree) => git.commit_tree(&tree, &[work], message, CommitSigning::AsUser),
        None => Ok(work.to_owned()),
    }
}

/// Whether a commit is one that [`strip_files_from_work`] made of the work.
///
/// # Errors
///
/// When git fails.
pub fn is_work_without_files(
    main: &Path,
    commit: &str,
    range: WorkRange<'_>,
    files: &[String],
    by: &GitControl<'_>,
) -> Result<bool, Failure> {
    let WorkRange { base, work } = range;
    let git = Plumbing { lane: main, by };
    let parents = ["rev-parse", &format!("{commit}^@")];
    if git.run_for_line("look at a commit", &parents, &GitCallOptions::default())? != work {
        return Ok(false);
    }
    let there = super::tree_of_commit(main, commit)?;
    Ok(git.tree_without_files(base, work, files)? == Some(there))
}

/// A file as a commit stores it, by its path in the work tree; none where it has
/// none, or no text.
///
/// # Errors
///
/// When git cannot be started.
pub fn stored_text(work_tree: &Path, commit: &str, path: &str) -> Result<Option<String>, Failure> {
    let stop = StopHandle::default();
    let by = GitControl {
        mark: "",
        stop: &stop,
    };
    let git = Plumbing {
        lane: work_tree,
        by: &by,
    };
    let args = ["cat-file", "blob", &format!("{commit}:{path}")];
    let output = git.run_git(&args, &GitCallOptions::default())?;
    let text = output
        .exit
        .is_success()
        .then(|| String::from_utf8(output.stdout));
    Ok(text.and_then(Result::ok))
}

/// Begins to merge `onto` into what is checked out in a lane, and leaves the
/// files with both sides in them; those that are in conflict. Where that was done
/// already it is gone on with. The file of the plan gets the version of `onto`, and
/// those of the project what both sides say.
///
/// # Errors
///
/// When git fails or refuses: what is in its way are changes in the lane.
pub fn begin_merge(
    lane: &Path,
    onto: &str,
    own: &OwnPaths,
    by: &GitControl<'_>,
) -> Result<Vec<String>, Failure> {
    let git = Plumbing { lane, by };
    let head = git.run_for_line(
        "look at a commit",
        &["rev-parse", "HEAD"],
        &GitCallOptions::default(),
    )?;
    let put = git.own_changes(onto, &head, own)?.put;
    let under_way = || {
        let args = ["rev-parse", "--verify", "--quiet", "MERGE_HEAD"];
        let said = GitOutput::from(&git.run_git(&args, &GitCallOptions::default())?);
        Ok::<_, Failure>(said.ok && said.out == onto)
    };
    if !under_way()? {
        let args = [
            "merge",
            "--no-commit",
            "--no-ff",
            "--no-autostash",
            "--no-verify-signatures",
            "--quiet",
            onto,
        ];
        let said = GitOutput::from(&git.run_git(&args, &GitCallOptions::default())?);
        // Conflicts are no success, and there is nothing to do where `onto` is
        // in the work.
        if !said.ok && !under_way()? {
            return Err(git_failure("begin a merge", &said));
        }
    }
    for path in own.all_paths() {
        let there = git.find_tree_entry(onto, path)?;
        let name = super::literal_pathspec(path);
        let args = match there {
            None => vec!["rm", "--force", "--quiet", "--ignore-unmatch", "--", &name],
            Some(_) => vec!["checkout", onto, "--", &name],
        };
        git.run_for_line(
            "put a plan file into a merge",
            &args,
            &GitCallOptions::default(),
        )?;
    }
    for (path, text) in &put {
        let file = lane.join(path);
        resolve_within(&[lane], &file)
            .and_then(|file| fs::write(file, text))
            .map_err(|error| unwritable_file(&file, error))?;
        let args = ["add", "--", &super::literal_pathspec(path)];
        git.run_for_line(
            "put a file of the project into a merge",
            &args,
            &GitCallOptions::default(),
        )?;
    }
    let args = ["diff", "--name-only", "--diff-filter=U", "-z"];
    let output = git.run_git(&args, &GitCallOptions::default())?;
    match output.exit.is_success() {
        true => Ok(split_nul_until_empty(&output.stdout)),
        false => Err(git_failure("look for conflicts", &GitOutput::from(&output))),
    }
}

/// Those of the files, by their paths in the work tree, in which a part of a
/// merge still stands between git's markers.
#[must_use]
pub fn files_with_conflict_markers(work_tree: &Path, files: &[String]) -> Vec<String> {
    let has = |file: &&String| {
        input::read_file(work_tree.join(file)).is_ok_and(|bytes| has_conflict_markers(&bytes))
    };
    files.iter().filter(has).cloned().collect()
}

/// Whether lines that begin as git's markers do stand there in their order.
fn has_conflict_markers(text: &[u8]) -> bool {
    const MARKERS: [&[u8]; 3] = [b"<<<<<<< ", b"=======", b">>>>>>> "];
    let mut next = 0;
    for line in text.split(|byte| *byte == b'\n') {
        if MARKERS
            .get(next)
            .is_some_and(|marker| line.starts_with(marker))
        {
            next += 1;
        }
    }
    next == MARKERS.len()
}

/// Whether a commit is signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CommitSigning {
    /// Where the user's settings say so.
    AsUser,
    /// Never: the commit is for piton alone.
    Never,
}

/// Git's plumbing in one work tree.
pub(super) struct Plumbing<'a> {
    pub(super) lane: &'a Path,
    pub(super) by: &'a GitControl<'a>,
}

impl Plumbing<'_> {
    pub(super) fn run_git(
        &self,
        args: &[&str],
        more: &GitCallOptions<'_>,
    ) -> Result<CallOutput, Failure> {
        let args: Vec<OsString> = args.iter().map(OsString::from).collect();
        let timeout = more.timeout.unwrap_or(TIMEOUT);
        let more = GitCallOptions {
            timeout: Some(timeout),
            ..*more
        };
        run_git_with(self.lane, &args, &more, self.by)
    }

    /// What git prints, which is one line at most.
    pub(super) fn run_for_line(
        &self,
        what: &str,
        args: &[&str],
        more: &GitCallOptions<'_>,
    ) -> Result<String, Failure> {
        let said = GitOutput::from(&self.run_git(args, more)?);
        match said.ok {
            true => Ok(said.out),
            false => Err(git_failure(what, &said)),
        }
    }

    /// The tree of a merge of the work onto a commit, or the files in conflict.
    pub(super) fn merged_tree(
        &self,
        onto: &str,
        work: &str,
        own: &OwnPaths,
    ) -> Result<Result<String, Vec<String>>, Failure> {
        let OwnChanges { back, put } = self.own_changes(onto, work, own)?;
        // A commit for the merge alone: what both sides have in common is looked for by
        // its parents.
        let apart = match back.is_empty() {
            true => work.to_owned(),
            false => {
                let tree = self.tree_with_changes(work, &back)?;
                self.commit_tree(
                    &tree,
                    &[work],
                    "Without files of plans",
                    CommitSigning::Never,
                )?
            }
        };
        match self.merge_tree(onto, &apart)? {
            Ok(tree) => self.tree_with_texts(&tree, &put).map(Ok),
            Err(files) => Ok(Err(files)),
        }
    }

    /// The tree of the work in which these files are as they were where it parts from
    /// `base`; none where they are so in the work.
    fn tree_without_files(
        &self,
        base: &str,
        work: &str,
        files: &[String],
    ) -> Result<Option<String>, Failure> {
        let own = OwnPaths {
            plans: files.to_vec(),
            natives: Vec::new(),
        };
        let OwnChanges { back, .. } = self.own_changes(base, work, &own)?;
        match back.is_empty() {
            true => Ok(None),
            false => self.tree_with_changes(work, &back).map(Some),
        }
    }

    /// What the work did to files that piton writes itself.
    fn own_changes<'p>(
        &self,
        onto: &str,
        work: &str,
        own: &'p OwnPaths,
    ) -> Result<OwnChanges<'p>, Failure> {
        let mut changes = OwnChanges::default();
        if own.all_paths().next().is_none() {
            return Ok(changes);
        }
        let bases = ["merge-base", onto, work];
        let base = self.run_for_line(
            "find where two commits part",
            &bases,
            &GitCallOptions::default(),
        )?;
        for path in own.all_paths() {
            let (then, now) = (
                self.find_tree_entry(&base, path)?,
                self.find_tree_entry(work, path)?,
            );
            if then == now {
                continue;
            }
            if own.natives.contains(path)
                && let Some(text) = self.merged_text([&base, onto, work], path)?
            {
                changes.put.push((path.clone(), text));
            }
            changes.back.push(TreeEntryChange { path, entry: then });
        }
        Ok(changes)
    }

    /// What a file of the project says with what the work added to it; none where that
    /// is nothing, and where one side has no such file, or none that can be read.
    fn merged_text(
        &self,
        [base, onto, work]: [&str; 3],
        path: &str,
    ) -> Result<Option<Vec<u8>>, Failure> {
        let text = |commit| stored_text(self.lane, commit, path);
        let (Some(ours), Some(theirs)) = (text(onto)?, text(work)?) else {
            return Ok(None);
        };
        let base = text(base)?.unwrap_or_default();
        let versions = MergeVersions {
            base: &base,
            ours: &ours,
            theirs: &theirs,
        };
        let merged = merge_additions(path, versions);
        Ok(merged.filter(|text| *text != ours).map(String::into_bytes))
    }

    /// What a tree has at a path; none where it has nothing.
    fn find_tree_entry(&self, tree: &str, path: &str) -> Result<Option<TreeEntry>, Failure> {
        let listed = self.list_tree(&["--full-tree", tree, "--", path])?;
        Ok(listed.into_values().next())
    }

    /// What a tree has, by names or, where paths are asked for, by these.
    fn list_tree(&self, what: &[&str]) -> Result<BTreeMap<Vec<u8>, TreeEntry>, Failure> {
        let args = [&["ls-tree", "-z"], what].concat();
        let output = self.run_git(&args, &GitCallOptions::default())?;
        if !output.exit.is_success() {
            return Err(git_failure("look at a tree", &GitOutput::from(&output)));
        }
        let lines = output.stdout.split(|byte| *byte == 0);
        let entries = lines.filter_map(|line| {
            let tab = line.iter().position(|byte| *byte == b'\t')?;
            let entry = TreeEntry(String::from_utf8_lossy(&line[..tab]).into_owned());
            Some((line[tab + 1..].to_vec(), entry))
        });
        Ok(entries.collect())
    }

    /// The merged tree, or the files in conflict.
    pub(super) fn merge_tree(
        &self,
        onto: &str,
        work: &str,
    ) -> Result<Result<String, Vec<String>>, Failure> {
        let args = [
            "merge-tree",
            "--write-tree",
            "-z",
            "--name-only",
            "--no-messages",
            onto,
            work,
        ];
        let more = GitCallOptions {
            env: &[("GIT_ATTR_SOURCE", onto)],
            ..GitCallOptions::default()
        };
        let output = self.run_git(&args, &more)?;
        let mut found = split_nul_until_empty(&output.stdout).into_iter();
        let tree = found.next();
        match (output.exit.code, output.exit.stopped_by, tree) {
            (Some(0), None, Some(tree)) => Ok(Ok(tree)),
            (Some(1), None, Some(_)) => Ok(Err(found.collect())),
            (_, _, _) => Err(git_failure("merge", &GitOutput::from(&output))),
        }
    }

    /// A tree in which these files hold something else.
    fn tree_with_texts(&self, tree: &str, put: &[(String, Vec<u8>)]) -> Result<String, Failure> {
        let mut changes = Vec::new();
        for (path, bytes) in put {
            let args = ["hash-object", "-w", "--no-filters", "--stdin"];
            let input = GitCallOptions {
                input: bytes,
                ..GitCallOptions::default()
            };
            let object = self.run_for_line("store a file", &args, &input)?;
            let before = self.find_tree_entry(tree, path)?;
            let mode = before.as_ref().map_or("100644", TreeEntry::mode);
            let entry = Some(TreeEntry(format!("{mode} blob {object}")));
            changes.push(TreeEntryChange { path, entry });
        }
        match changes.is_empty() {
            true => Ok(tree.to_owned()),
            false => self.tree_with_changes(tree, &changes),
        }
    }

    /// A tree with other entries. Only the folders on their paths are read and
    /// written: that takes as long in a repository of any size.
    fn tree_with_changes(
        &self,
        tree: &str,
        changes: &[TreeEntryChange<'_>],
    ) -> Result<String, Failure> {
        match self.folder_with_changes(Some(tree), changes)? {
            Some(tree) => Ok(tree),
            None => self.run_for_line("write a tree", &["mktree"], &GitCallOptions::default()),
        }
    }

    /// The same for one folder; none where nothing is left in it, since git keeps
    /// no empty ones.
    fn folder_with_changes(
        &self,
        tree: Option<&str>,
        changes: &[TreeEntryChange<'_>],
    ) -> Result<Option<String>, Failure> {
        let listed = tree.map(|tree| self.list_tree(&["--full-tree", tree]));
        let mut entries = listed.transpose()?.unwrap_or_default();
        let mut below: BTreeMap<&str, Vec<TreeEntryChange<'_>>> = BTreeMap::new();
        for TreeEntryChange { path, entry } in changes {
            match (path.split_once('/'), entry.clone()) {
                (Some((folder, path)), entry) => {
                    let changes = below.entry(folder).or_default();
                    changes.push(TreeEntryChange { path, entry });
                }
                (None, Some(entry)) => {
                    entries.insert(path.as_bytes().to_vec(), entry);
                }
                (None, None) => {
                    entries.remove(path.as_bytes());
                }
            }
        }
        for (folder, changes) in below {
            let name = folder.as_bytes();
            let before = entries.get(name).and_then(TreeEntry::folder_object);
            let now = self.folder_with_changes(before, &changes)?;
            match (before, now) {
                (_, Some(now)) => {
                    entries.insert(name.to_vec(), TreeEntry(format!("040000 tree {now}")));
                }
                (Some(_), None) => {
                    entries.remove(name);
                }
                (None, None) => {}
            }
        }
        if entries.is_empty() {
            return Ok(None);
        }
        let mut input = Vec::new();
        for (name, TreeEntry(entry)) in entries {
            input.extend([entry.as_bytes(), b"\t", &name, b"\0"].concat());
        }
        let input = GitCallOptions {
            input: &input,
            ..GitCallOptions::default()
        };
        self.run_for_line("write a tree", &["mktree", "-z"], &input)
            .map(Some)
    }

    /// Whether the work was committed as its check saw it.
    fn is_tree_checked(&self, wish: &MergeSpec<'_>) -> Result<bool, Failure> {
        let Some(checked) = wish.checked else {
            return Ok(false);
        };
        let tree = ["rev-parse", &format!("{}^{{tree}}", wish.work)];
        let tree = self.run_for_line("look at a commit", &tree, &GitCallOptions::default())?;
        Ok(tree == checked)
    }

    /// Whether two trees differ in nothing but files in which nothing of the work
    /// counts.
    fn is_same_but_own_files(&self, tree: &str, wish: &MergeSpec<'_>) -> Result<bool, Failure> {
        let put = wish.put.iter().map(|(path, _)| path);
        let without = wish.own.all_paths().chain(put);
        let specs: Vec<String> = without
            .map(|path| format!(":(top,exclude,literal){path}"))
            .collect();
        let mut args = vec!["diff-tree", "--quiet", "-r", tree, wish.work, "--", ":/"];
        args.extend(specs.iter().map(String::as_str));
        let output = self.run_git(&args, &GitCallOptions::default())?;
        match output.exit.code {
            Some(0) => Ok(true),
            Some(1) => Ok(false),
            _ => Err(git_failure("compare two trees", &GitOutput::from(&output))),
        }
    }

    /// A commit of a tree, in no branch.
    pub(super) fn commit_tree(
        &self,
        tree: &str,
        parents: &[&str],
        message: &str,
        sign: CommitSigning,
    ) -> Result<String, Failure> {
        let mut args = vec!["commit-tree", tree];
        for (at, parent) in parents.iter().enumerate() {
            if !parents[..at].contains(parent) {
                args.extend(["-p", parent]);
            }
        }
        if sign == CommitSigning::AsUser && self.should_sign()? {
            args.push("-S");
        }
        let more = GitCallOptions {
            input: message.as_bytes(),
            timeout: Some(super::COMMIT_FILES_TIMEOUT),
            ..GitCallOptions::default()
        };
        self.run_for_line("commit", &args, &more)
    }

    fn should_sign(&self) -> Result<bool, Failure> {
        let args = ["config", "--type=bool", "--get", "commit.gpgSign"];
        let said = GitOutput::from(&self.run_git(&args, &GitCallOptions::default())?);
        Ok(said.ok && said.out == "true")
    }
}

/// What a tree has at a name: `MODE TYPE OBJECT`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct TreeEntry(String);

impl TreeEntry {
    fn mode(&self) -> &str {
        self.0.split(' ').next().unwrap_or_default()
    }

    /// The object of a folder; none for anything else.
    fn folder_object(&self) -> Option<&str> {
        self.0.strip_prefix("040000 tree ")
    }
}

/// What a merge makes of what the work did to files that piton writes itself.
#[derive(Debug, Default)]
struct OwnChanges<'p> {
    /// What takes it back before both sides are merged.
    back: Vec<TreeEntryChange<'p>>,
    /// What of it the merged tree holds.
    put: Vec<(String, Vec<u8>)>,
}

/// What a tree is to have at a path; nothing without an entry.
#[derive(Debug)]
struct TreeEntryChange<'a> {
    path: &'a str,
    entry: Option<TreeEntry>,
}

/// What stands between zero bytes, up to the first that is empty.
fn split_nul_until_empty(printed: &[u8]) -> Vec<String> {
    let names = printed
        .split(|byte| *byte == 0)
        .take_while(|name| !name.is_empty());
    names
        .map(|name| String::from_utf8_lossy(name).into_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers_count_in_their_order_at_the_begin_of_lines() {
        for (text, has) in [
            ("<<<<<<< HEAD\na\n=======\nb\n>>>>>>> work\n", true),
            (
                "<<<<<<< HEAD\na\n||||||| base\n=======\nb\n>>>>>>> work\n",
                true,
            ),
            ("a\n=======\nb\n", false),
            ("  <<<<<<< HEAD\n=======\n  >>>>>>> work\n", false),
            (">>>>>>> work\n=======\n<<<<<<< HEAD\n", false),
            ("", false),
        ] {
            assert_eq!(has_conflict_markers(text.as_bytes()), has, "{text}");
        }
    }
}
