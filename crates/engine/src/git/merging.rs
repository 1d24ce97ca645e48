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

use piton_formats::merge::{Versions, with_additions};

use super::{By, More, Said, failed, order};
use crate::failure::{Failure, unwritable};
use crate::process::{Output, Stop};

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
    fn all(&self) -> impl Iterator<Item = &String> {
        self.plans.iter().chain(&self.natives)
    }
}

/// What is merged, and how.
#[derive(Clone, Copy, Debug)]
pub struct MergeOrder<'a> {
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
pub enum MergeTry {
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
pub fn merge(lane: &Path, wish: &MergeOrder<'_>, by: &By<'_>) -> Result<MergeTry, Failure> {
    let git = Plumbing { lane, by };
    let tree = match git.merged_tree((wish.onto, wish.work), wish.own)? {
        Ok(tree) => git.with_texts(&tree, wish.put)?,
        Err(files) => return Ok(MergeTry::Conflict { files }),
    };
    let trees = ["rev-parse", &format!("{}^{{tree}}", wish.onto)];
    if tree == git.line("look at a commit", &trees, &More::default())? {
        return Ok(MergeTry::Nothing {
            onto: wish.onto.to_owned(),
            tree,
        });
    }
    // A hook of the user's may have committed another tree than the check saw.
    let is_checked = git.is_checked(wish)? && git.is_alike(&tree, wish)?;
    let commit = git.commit(&tree, &[wish.onto, wish.work], wish.message, Sign::AsUser)?;
    Ok(MergeTry::Made {
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
    by: &By<'_>,
) -> Result<String, Failure> {
    let git = Plumbing { lane: main, by };
    let tree = git.with_texts(&format!("{onto}^{{tree}}"), texts)?;
    git.commit(&tree, &[onto], message, Sign::AsUser)
}

/// A commit with the work, in which these files are as they were where it parts from
/// `base`: the commit itself where they are, else one on top of it.
///
/// # Errors
///
/// When git fails.
pub fn without_files(
    main: &Path,
    (base, work): (&str, &str),
    files: &[String],
    message: &str,
    by: &By<'_>,
) -> Result<String, Failure> {
    let git = Plumbing { lane: main, by };
    match git.tree_without((base, work), files)? {
        Some(tree) => git.commit(&tree, &[work], message, Sign::AsUser),
        None => Ok(work.to_owned()),
    }
}

/// Whether a commit is one that [`without_files`] made of the work.
///
/// # Errors
///
/// When git fails.
pub fn is_without_files(
    main: &Path,
    commit: &str,
    (base, work): (&str, &str),
    files: &[String],
    by: &By<'_>,
) -> Result<bool, Failure> {
    let git = Plumbing { lane: main, by };
    let parents = ["rev-parse", &format!("{commit}^@")];
    if git.line("look at a commit", &parents, &More::default())? != work {
        return Ok(false);
    }
    let there = super::tree_of(main, commit)?;
    Ok(git.tree_without((base, work), files)? == Some(there))
}

/// A file as a commit stores it, by its path in the work tree; none where it has
/// none, or no text.
///
/// # Errors
///
/// When git cannot be started.
pub fn stored_text(work_tree: &Path, commit: &str, path: &str) -> Result<Option<String>, Failure> {
    let stop = Stop::default();
    let by = By {
        mark: "",
        stop: &stop,
    };
    let git = Plumbing {
        lane: work_tree,
        by: &by,
    };
    let args = ["cat-file", "blob", &format!("{commit}:{path}")];
    let output = git.run(&args, &More::default())?;
    let text = output
        .exit
        .success()
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
    by: &By<'_>,
) -> Result<Vec<String>, Failure> {
    let git = Plumbing { lane, by };
    let head = git.line("look at a commit", &["rev-parse", "HEAD"], &More::default())?;
    let put = git.own_changes((onto, &head), own)?.put;
    let under_way = || {
        let args = ["rev-parse", "--verify", "--quiet", "MERGE_HEAD"];
        let said = Said::from(&git.run(&args, &More::default())?);
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
        let said = Said::from(&git.run(&args, &More::default())?);
        // Conflicts are no success, and there is nothing to do where `onto` is
        // in the work.
        if !said.ok && !under_way()? {
            return Err(failed("begin a merge", &said));
        }
    }
    for path in own.all() {
        let there = git.entry(onto, path)?;
        let name = super::literal(path);
        let args = match there {
            None => vec!["rm", "--force", "--quiet", "--ignore-unmatch", "--", &name],
            Some(_) => vec!["checkout", onto, "--", &name],
        };
        git.line("put a plan file into a merge", &args, &More::default())?;
    }
    for (path, text) in &put {
        let file = lane.join(path);
        fs::write(&file, text).map_err(|error| unwritable(&file, error))?;
        let args = ["add", "--", &super::literal(path)];
        git.line(
            "put a file of the project into a merge",
            &args,
            &More::default(),
        )?;
    }
    let args = ["diff", "--name-only", "--diff-filter=U", "-z"];
    let output = git.run(&args, &More::default())?;
    match output.exit.success() {
        true => Ok(names(&output.stdout)),
        false => Err(failed("look for conflicts", &Said::from(&output))),
    }
}

/// Those of the files, by their paths in the work tree, in which a part of a
/// merge still stands between git's markers.
#[must_use]
pub fn with_markers(work_tree: &Path, files: &[String]) -> Vec<String> {
    let has =
        |file: &&String| std::fs::read(work_tree.join(file)).is_ok_and(|bytes| has_markers(&bytes));
    files.iter().filter(has).cloned().collect()
}

/// Whether lines that begin as git's markers do stand there in their order.
fn has_markers(text: &[u8]) -> bool {
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
pub(super) enum Sign {
    /// Where the user's settings say so.
    AsUser,
    /// Never: nobody sees it.
    Never,
}

/// Git's plumbing in one work tree.
pub(super) struct Plumbing<'a> {
    pub(super) lane: &'a Path,
    pub(super) by: &'a By<'a>,
}

impl Plumbing<'_> {
    pub(super) fn run(&self, args: &[&str], more: &More<'_>) -> Result<Output, Failure> {
        let args: Vec<OsString> = args.iter().map(OsString::from).collect();
        let timeout = more.timeout.unwrap_or(TIMEOUT);
        let more = More {
            timeout: Some(timeout),
            ..*more
        };
        order(self.lane, &args, &more, self.by)
    }

    /// What git prints, which is one line at most.
    pub(super) fn line(
        &self,
        what: &str,
        args: &[&str],
        more: &More<'_>,
    ) -> Result<String, Failure> {
        let said = Said::from(&self.run(args, more)?);
        match said.ok {
            true => Ok(said.out),
            false => Err(failed(what, &said)),
        }
    }

    /// The tree of a merge of the work onto a commit, or the files in conflict.
    pub(super) fn merged_tree(
        &self,
        (onto, work): (&str, &str),
        own: &OwnPaths,
    ) -> Result<Result<String, Vec<String>>, Failure> {
        let OwnChanges { back, put } = self.own_changes((onto, work), own)?;
        // A commit for the merge alone: what both sides have in common is looked for by
        // its parents.
        let apart = match back.is_empty() {
            true => work.to_owned(),
            false => {
                let tree = self.with_changes(work, &back)?;
                self.commit(&tree, &[work], "Without files of plans", Sign::Never)?
            }
        };
        match self.merge_tree(onto, &apart)? {
            Ok(tree) => self.with_texts(&tree, &put).map(Ok),
            Err(files) => Ok(Err(files)),
        }
    }

    /// The tree of the work in which these files are as they were where it parts from
    /// `base`; none where they are so in the work.
    fn tree_without(
        &self,
        sides: (&str, &str),
        files: &[String],
    ) -> Result<Option<String>, Failure> {
        let own = OwnPaths {
            plans: files.to_vec(),
            natives: Vec::new(),
        };
        let OwnChanges { back, .. } = self.own_changes(sides, &own)?;
        match back.is_empty() {
            true => Ok(None),
            false => self.with_changes(sides.1, &back).map(Some),
        }
    }

    /// What the work did to files that piton writes itself.
    fn own_changes<'p>(
        &self,
        (onto, work): (&str, &str),
        own: &'p OwnPaths,
    ) -> Result<OwnChanges<'p>, Failure> {
        let mut changes = OwnChanges::default();
        if own.all().next().is_none() {
            return Ok(changes);
        }
        let bases = ["merge-base", onto, work];
        let base = self.line("find where two commits part", &bases, &More::default())?;
        for path in own.all() {
            let (then, now) = (self.entry(&base, path)?, self.entry(work, path)?);
            if then == now {
                continue;
            }
            if own.natives.contains(path)
                && let Some(text) = self.merged_text([&base, onto, work], path)?
            {
                changes.put.push((path.clone(), text));
            }
            changes.back.push(EntryChange { path, entry: then });
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
        let versions = Versions {
            base: &base,
            ours: &ours,
            theirs: &theirs,
        };
        let merged = with_additions(path, versions);
        Ok(merged.filter(|text| *text != ours).map(String::into_bytes))
    }

    /// What a tree has at a path; none where it has nothing.
    fn entry(&self, tree: &str, path: &str) -> Result<Option<TreeEntry>, Failure> {
        let listed = self.list(&["--full-tree", tree, "--", path])?;
        Ok(listed.into_values().next())
    }

    /// What a tree has, by names or, where paths are asked for, by these.
    fn list(&self, what: &[&str]) -> Result<BTreeMap<Vec<u8>, TreeEntry>, Failure> {
        let args = [&["ls-tree", "-z"], what].concat();
        let output = self.run(&args, &More::default())?;
        if !output.exit.success() {
            return Err(failed("look at a tree", &Said::from(&output)));
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
        let more = More {
            env: &[("GIT_ATTR_SOURCE", onto)],
            ..More::default()
        };
        let output = self.run(&args, &more)?;
        let mut found = names(&output.stdout).into_iter();
        let tree = found.next();
        match (output.exit.code, output.exit.stopped_by, tree) {
            (Some(0), None, Some(tree)) => Ok(Ok(tree)),
            (Some(1), None, Some(_)) => Ok(Err(found.collect())),
            (_, _, _) => Err(failed("merge", &Said::from(&output))),
        }
    }

    /// A tree in which these files hold something else.
    fn with_texts(&self, tree: &str, put: &[(String, Vec<u8>)]) -> Result<String, Failure> {
        let mut changes = Vec::new();
        for (path, bytes) in put {
            let args = ["hash-object", "-w", "--no-filters", "--stdin"];
            let input = More {
                input: bytes,
                ..More::default()
            };
            let object = self.line("store a file", &args, &input)?;
            let before = self.entry(tree, path)?;
            let mode = before.as_ref().map_or("100644", TreeEntry::mode);
            let entry = Some(TreeEntry(format!("{mode} blob {object}")));
            changes.push(EntryChange { path, entry });
        }
        match changes.is_empty() {
            true => Ok(tree.to_owned()),
            false => self.with_changes(tree, &changes),
        }
    }

    /// A tree with other entries. Only the folders on their paths are read and
    /// written: that takes as long in a repository of any size.
    fn with_changes(&self, tree: &str, changes: &[EntryChange<'_>]) -> Result<String, Failure> {
        match self.changed_folder(Some(tree), changes)? {
            Some(tree) => Ok(tree),
            None => self.line("write a tree", &["mktree"], &More::default()),
        }
    }

    /// The same for one folder; none where nothing is left in it, since git keeps
    /// no empty ones.
    fn changed_folder(
        &self,
        tree: Option<&str>,
        changes: &[EntryChange<'_>],
    ) -> Result<Option<String>, Failure> {
        let listed = tree.map(|tree| self.list(&["--full-tree", tree]));
        let mut entries = listed.transpose()?.unwrap_or_default();
        let mut below: BTreeMap<&str, Vec<EntryChange<'_>>> = BTreeMap::new();
        for EntryChange { path, entry } in changes {
            match (path.split_once('/'), entry.clone()) {
                (Some((folder, path)), entry) => {
                    let changes = below.entry(folder).or_default();
                    changes.push(EntryChange { path, entry });
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
            let before = entries.get(name).and_then(TreeEntry::tree);
            let now = self.changed_folder(before, &changes)?;
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
        let input = More {
            input: &input,
            ..More::default()
        };
        self.line("write a tree", &["mktree", "-z"], &input)
            .map(Some)
    }

    /// Whether the work was committed as its check saw it.
    fn is_checked(&self, wish: &MergeOrder<'_>) -> Result<bool, Failure> {
        let Some(checked) = wish.checked else {
            return Ok(false);
        };
        let tree = ["rev-parse", &format!("{}^{{tree}}", wish.work)];
        let tree = self.line("look at a commit", &tree, &More::default())?;
        Ok(tree == checked)
    }

    /// Whether two trees differ in nothing but files in which nothing of the work
    /// counts.
    fn is_alike(&self, tree: &str, wish: &MergeOrder<'_>) -> Result<bool, Failure> {
        let put = wish.put.iter().map(|(path, _)| path);
        let without = wish.own.all().chain(put);
        let specs: Vec<String> = without
            .map(|path| format!(":(top,exclude,literal){path}"))
            .collect();
        let mut args = vec!["diff-tree", "--quiet", "-r", tree, wish.work, "--", ":/"];
        args.extend(specs.iter().map(String::as_str));
        let output = self.run(&args, &More::default())?;
        match output.exit.code {
            Some(0) => Ok(true),
            Some(1) => Ok(false),
            _ => Err(failed("compare two trees", &Said::from(&output))),
        }
    }

    /// A commit of a tree, in no branch.
    pub(super) fn commit(
        &self,
        tree: &str,
        parents: &[&str],
        message: &str,
        sign: Sign,
    ) -> Result<String, Failure> {
        let mut args = vec!["commit-tree", tree];
        for (at, parent) in parents.iter().enumerate() {
            if !parents[..at].contains(parent) {
                args.extend(["-p", parent]);
            }
        }
        if sign == Sign::AsUser && self.signs()? {
            args.push("-S");
        }
        let more = More {
            input: message.as_bytes(),
            timeout: Some(super::COMMIT_FILES_TIMEOUT),
            ..More::default()
        };
        self.line("commit", &args, &more)
    }

    fn signs(&self) -> Result<bool, Failure> {
        let args = ["config", "--type=bool", "--get", "commit.gpgSign"];
        let said = Said::from(&self.run(&args, &More::default())?);
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
    fn tree(&self) -> Option<&str> {
        self.0.strip_prefix("040000 tree ")
    }
}

/// What a merge makes of what the work did to files that piton writes itself.
#[derive(Debug, Default)]
struct OwnChanges<'p> {
    /// What takes it back before both sides are merged.
    back: Vec<EntryChange<'p>>,
    /// What of it the merged tree holds.
    put: Vec<(String, Vec<u8>)>,
}

/// What a tree is to have at a path; nothing without an entry.
#[derive(Debug)]
struct EntryChange<'a> {
    path: &'a str,
    entry: Option<TreeEntry>,
}

/// What stands between zero bytes, up to the first that is empty.
fn names(printed: &[u8]) -> Vec<String> {
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
            assert_eq!(has_markers(text.as_bytes()), has, "{text}");
        }
    }
}
