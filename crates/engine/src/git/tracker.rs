//! What a work tree holds at a moment, as one hash, and what changed between two.
//!
//! The hash is that of the tree that git would commit if everything were added,
//! but for large untracked files: git would read and store all of each, at every
//! look. Neither index nor objects nor refs of the repository change: git works on
//! copies of the index and puts its objects into a folder that goes with [`WorkTreeTracker`]. No
//! hook runs, and no setting of the user's makes git start something that stays. Filters do run, as in every `git add`, and write
//! what they write: that of git-lfs keeps a copy of a file in `.git/lfs`.
//!
//! A look asks git once which paths differ from the index, and has a tree made
//! only where that, or one of these paths, is not as it was at the last look. The
//! copy of the index is kept for that, with git's cache of untracked files.

mod proof;
mod status;

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use piton_core::attempt::DiffStat;
use std::time::Duration;

use self::status::{DifferingPath, PathKind, parse_status};
use super::{GitOutput, OwnFilePrefix, pathspecs_without_own};
use crate::process::{self, CallOutput, ProgramCall};
use crate::world::World;
use crate::world::input;

pub use self::proof::ProofSources;

/// How long a look at the work tree may take as a whole.
const TIMEOUT: Duration = Duration::from_secs(5);
/// An untracked file of more bytes is left out.
const UNTRACKED_MAX: u64 = 16 << 20;
/// Most files that are named; who changes more has changed everything.
const FILES_MAX: usize = 1_000;
/// Most commits that are named, the newest: who makes more has brought them
/// from elsewhere.
const COMMITS_MAX: usize = 100;
/// Of a longer part of the log of `HEAD` only its ends are known.
const LOG_MAX: usize = 1 << 20;
/// Most paths that git is asked to add by their names: it compares each with all
/// that it tracks.
const NAMED_MAX: usize = 50;
/// What the system says of a file that was changed less than this ago may be said
/// of another content a moment later: some file systems count in two seconds.
const YOUNG_NS: i128 = 2_000_000_000;
/// So many trees were made that their objects are worth a new folder.
const TREES_MAX: usize = 1_000;

/// What a look does not need, and what would change more than the look's own folder.
const SETTINGS: &[&str] = &[
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.splitIndex=false",
    "core.safecrlf=false",
    "core.looseCompression=0",
    "core.fsync=none",
];

/// For the copies of the index: git trusts its cache of untracked files as long as
/// this setting names them as its command line does.
const INDEX_SETTINGS: &[&str] = &[
    "core.untrackedCache=true",
    "status.showUntrackedFiles=all",
    "index.skipHash=true",
];

/// Of a submodule only the commit is part of a tree. Pathspecs would switch the
/// cache of untracked files off.
const STATUS: &[&str] = &[
    "status",
    "--porcelain=v2",
    "--branch",
    "-z",
    "--untracked-files=all",
    "--ignore-submodules=dirty",
    "--no-renames",
    "--no-ahead-behind",
];

/// Looks at one work tree. What git stores for it goes when this is dropped.
#[derive(Debug)]
pub struct WorkTreeTracker {
    folder: tempfile::TempDir,
    work_tree: PathBuf,
    /// Where in the repository the work tree is, with a slash behind; empty at its root.
    prefix: String,
    own: Vec<OwnFilePrefix>,
    /// Pathspecs of what is looked at.
    specs: Vec<String>,
    /// The repository's own index, and where its objects are.
    index: PathBuf,
    objects: PathBuf,
    /// The log of what `HEAD` was.
    log: PathBuf,
    kept: RefCell<TrackerState>,
}

/// What is kept from one look to the next.
#[derive(Debug, Default)]
struct TrackerState {
    /// The index of the repository that was copied; none before the first look.
    copied: Option<IndexState>,
    last: Option<LastTree>,
    /// What git learned since it wrote the copy is little: it is not worth another
    /// write of all of it.
    is_fresh: bool,
    trees_made: usize,
}

/// What the system says of an index, and its last bytes, where git puts a hash of
/// all of it; none where nothing was ever added.
type IndexState = Option<(FileState, Vec<u8>)>;

/// The tree of the last look, and what it was made of beside the copied index.
#[derive(Debug)]
struct LastTree {
    differing: Vec<(DifferingPath, Option<FileState>)>,
    tree: String,
}

/// What the system says of a file; of a link, of the link itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FileState {
    bytes: u64,
    mode: u32,
    inode: u64,
    /// In nanoseconds since 1970.
    modified: i128,
    changed: i128,
}

impl FileState {
    fn from_path(path: &Path) -> Option<Self> {
        let found = std::fs::symlink_metadata(path).ok()?;
        let nanos =
            |seconds: i64, nanos: i64| i128::from(seconds) * 1_000_000_000 + i128::from(nanos);
        Some(Self {
            bytes: found.len(),
            mode: found.mode(),
            inode: found.ino(),
            modified: nanos(found.mtime(), found.mtime_nsec()),
            changed: nanos(found.ctime(), found.ctime_nsec()),
        })
    }

    /// Whether a change after `now` could leave all of this as it is.
    fn is_racy(&self, now: i128) -> bool {
        self.modified.max(self.changed) + YOUNG_NS > now
    }
}

/// A work tree at a moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkTreeSnapshot {
    /// The hash of what it holds.
    pub tree: String,
    /// What `HEAD` names; none in a repository without commits.
    pub head: Option<String>,
    /// How long the log of what `HEAD` was is, in bytes; none where there is none.
    pub log: Option<u64>,
    /// When that was, in seconds since 1970.
    pub at_s: i64,
}

/// What changed between two moments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SnapshotDiff {
    /// The files, by their paths in the work tree.
    pub files: Option<Vec<String>>,
    /// How much, over all of them.
    pub diff: Option<DiffStat>,
    /// The commits, oldest first.
    pub commits: Option<Vec<String>>,
}

/// Why nothing is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SnapshotError {
    /// There is no git, or it could not say.
    Unknown,
    /// It took too long; the next look may not.
    Late,
    /// There are more files than are looked at outside of git.
    TooMany,
}

impl WorkTreeTracker {
    /// Prepares looking at a work tree, without `own` files, in a folder of its
    /// own below `scratch`.
    ///
    /// # Errors
    ///
    /// [`SnapshotError`]: nothing is known then, and nothing is wrong.
    pub fn open(
        world: &World,
        scratch: &Path,
        work_tree: &Path,
        own: &[OwnFilePrefix],
    ) -> Result<Self, SnapshotError> {
        let folder = tempfile::tempdir_in(scratch).map_err(|_| SnapshotError::Unknown)?;
        std::fs::create_dir(folder.path().join("objects")).map_err(|_| SnapshotError::Unknown)?;
        let place = [
            "rev-parse",
            "--git-path",
            "index",
            "--git-path",
            "objects",
            "--git-path",
            "logs/HEAD",
            "--show-prefix",
        ];
        let place = TimedGit::new(world, work_tree).run_checked(&place)?;
        let mut lines = place.out.lines();
        let mut path = || Some(work_tree.join(lines.next()?));
        let (Some(index), Some(objects), Some(log)) = (path(), path(), path()) else {
            return Err(SnapshotError::Unknown);
        };
        let prefix = lines.next().unwrap_or_default().to_owned();
        Ok(Self {
            folder,
            work_tree: work_tree.to_owned(),
            prefix,
            own: own.to_vec(),
            specs: pathspecs_without_own(own),
            index,
            objects,
            log,
            kept: RefCell::default(),
        })
    }

    /// What the work tree holds now. After an error these [`WorkTreeTracker`] are of no use
    /// any more: git may have been ended while it wrote.
    ///
    /// # Errors
    ///
    /// [`SnapshotError`]: nothing is known then, and nothing is wrong.
    pub fn snapshot(&self, world: &World) -> Result<WorkTreeSnapshot, SnapshotError> {
        let log = self.log_bytes();
        let mut kept = self.kept.borrow_mut();
        self.refresh_index_copy(&mut kept)?;
        let writes = !kept.is_fresh;
        let mut asking = self.timed_git(world, "index");
        if writes {
            // What it writes in passing is the copy.
            asking.env.push(("GIT_OPTIONAL_LOCKS", "1".to_owned()));
        }
        let printed = asking.run_with_input(&args_with_settings(INDEX_SETTINGS, STATUS), &[])?;
        if !printed.exit.is_success() {
            return Err(asking.snapshot_error());
        }
        let status = parse_status(&printed.stdout).ok_or(SnapshotError::Unknown)?;
        let now = self.file_time()?;
        let (differing, large) = self.differing_paths(status.paths);
        let known = kept
            .last
            .as_ref()
            .filter(|last| last.differing == differing);
        let is_known = known.is_some();
        // Nothing is added to what was committed: git has the tree.
        let committed = status.head.as_ref();
        let committed = committed.filter(|_| differing.is_empty() && !status.is_staged);
        let tree = match (known, committed) {
            (Some(last), _) => last.tree.clone(),
            (None, Some(head)) => {
                asking
                    .run_checked(&["rev-parse", &format!("{head}^{{tree}}")])?
                    .out
            }
            (None, None) => self.write_tree(world, asking.by, &differing, &large)?,
        };
        kept.is_fresh = writes || is_known;
        kept.trees_made += usize::from(!is_known);
        let is_lasting = |(found, state): &(DifferingPath, Option<FileState>)| {
            found.kind != PathKind::Repository && state.is_none_or(|state| !state.is_racy(now))
        };
        kept.last = differing.iter().all(is_lasting).then(|| LastTree {
            differing,
            tree: tree.clone(),
        });
        Ok(WorkTreeSnapshot {
            tree,
            head: status.head,
            log,
            at_s: world.now().as_second(),
        })
    }

    /// Whether nothing was added or committed since a moment that was the last look.
    /// Says nothing of other files.
    #[must_use]
    pub fn is_untouched_since(&self, moment: &WorkTreeSnapshot) -> bool {
        let copied = &self.kept.borrow().copied;
        moment.log == self.log_bytes() && *copied == Some(self.index_state())
    }

    /// Whether these leave out the same `own` files.
    #[must_use]
    pub fn has_own_files(&self, own: &[OwnFilePrefix]) -> bool {
        self.own == own
    }

    /// Whether they should go on: the objects of each tree stay in their folder.
    #[must_use]
    pub fn has_room(&self) -> bool {
        self.kept.borrow().trees_made < TREES_MAX
    }

    fn log_bytes(&self) -> Option<u64> {
        std::fs::metadata(&self.log).ok().map(|found| found.len())
    }

    fn index_state(&self) -> IndexState {
        let state = FileState::from_path(&self.index)?;
        let mut end = Vec::new();
        let mut index = input::open_file(&self.index).ok()?;
        index.seek(SeekFrom::End(-20)).ok()?;
        index.read_to_end(&mut end).ok()?;
        Some((state, end))
    }

    /// Copies the index of the repository, where it is not the one that was copied.
    fn refresh_index_copy(&self, kept: &mut TrackerState) -> Result<(), SnapshotError> {
        let state = self.index_state();
        if kept.copied.as_ref() == Some(&state) {
            return Ok(());
        }
        *kept = TrackerState {
            trees_made: kept.trees_made,
            ..TrackerState::default()
        };
        match copy_with_mtime(&self.index, &self.index_copy_path("index")) {
            Ok(()) => {}
            // Nothing was ever added. An older copy says nothing.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                std::fs::remove_file(self.index_copy_path("index")).ok();
            }
            Err(_) => return Err(SnapshotError::Unknown),
        }
        kept.copied = Some(state);
        Ok(())
    }

    /// The paths that make the tree differ from the index, with what the system
    /// says of them, and the untracked files that are too large for that.
    fn differing_paths(
        &self,
        paths: Vec<DifferingPath>,
    ) -> (Vec<(DifferingPath, Option<FileState>)>, Vec<PathBuf>) {
        let inner = self.prefix.matches('/').count();
        let root = self
            .work_tree
            .ancestors()
            .nth(inner)
            .unwrap_or(&self.work_tree);
        let (mut differing, mut large) = (Vec::new(), Vec::new());
        for found in paths {
            if self.is_own_file(&found.path) {
                continue;
            }
            let state = FileState::from_path(&root.join(&found.path));
            let is_large = state.is_some_and(|state| state.bytes > UNTRACKED_MAX);
            match found.kind {
                PathKind::Untracked if is_large => large.push(found.path),
                PathKind::Tracked | PathKind::Untracked | PathKind::Repository => {
                    differing.push((found, state));
                }
            }
        }
        (differing, large)
    }

    /// What [`pathspecs_without_own`] says as pathspecs.
    fn is_own_file(&self, path: &Path) -> bool {
        let folder = path.parent().unwrap_or(Path::new(""));
        let name = path.file_name().unwrap_or_default().as_encoded_bytes();
        let is = |own: &OwnFilePrefix| {
            folder == Path::new(&own.folder) && name.starts_with(own.begin.as_bytes())
        };
        path.starts_with(".piton") || self.own.iter().any(is)
    }

    /// The time of the file system on which git works.
    fn file_time(&self) -> Result<i128, SnapshotError> {
        let clock = self.folder.path().join("clock");
        std::fs::write(&clock, "x").map_err(|_| SnapshotError::Unknown)?;
        let state = FileState::from_path(&clock).ok_or(SnapshotError::Unknown)?;
        Ok(state.modified)
    }

    /// The tree of the index with these paths as they are in the work tree.
    fn write_tree(
        &self,
        world: &World,
        by: Duration,
        differing: &[(DifferingPath, Option<FileState>)],
        large: &[PathBuf],
    ) -> Result<String, SnapshotError> {
        let asking = TimedGit {
            by,
            ..self.timed_git(world, "adding")
        };
        self.reset_add_index()?;
        if !differing.is_empty() {
            let named = exact_pathspecs(differing);
            // One may be gone by now: then git looks for itself.
            if named.is_none_or(|named| self.add_paths(&asking, &named).is_err()) {
                self.reset_add_index()?;
                let large = large.iter().map(|path| {
                    let path = path.to_string_lossy();
                    format!(":(top,exclude,literal){path}")
                });
                let specs: Vec<String> = self.specs.iter().cloned().chain(large).collect();
                self.add_paths(&asking, &specs)?;
            }
        }
        let write = args_with_settings(INDEX_SETTINGS, &["write-tree"]);
        let tree = match asking.run_checked(&write) {
            Ok(tree) => tree,
            Err(_) => {
                self.reset_unmerged(&asking)?;
                asking.run_checked(&write)?
            }
        };
        Ok(tree.out)
    }

    /// Begins the index that is added to anew.
    fn reset_add_index(&self) -> Result<(), SnapshotError> {
        let adding = self.index_copy_path("adding");
        match copy_with_mtime(&self.index_copy_path("index"), &adding) {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                std::fs::remove_file(adding).ok();
                Ok(())
            }
            Err(_) => Err(SnapshotError::Unknown),
        }
    }

    fn add_paths(&self, asking: &TimedGit<'_>, specs: &[String]) -> Result<(), SnapshotError> {
        let mut add = args_with_settings(INDEX_SETTINGS, &["add", "--all", "--"]);
        add.extend(specs.iter().map(String::as_str));
        asking.run_checked(&add).map(drop)
    }

    /// Puts what a merge left open into the copy of the index as `HEAD` has it: of
    /// what is not added to it, piton's own files, no tree can be made else.
    fn reset_unmerged(&self, asking: &TimedGit<'_>) -> Result<(), SnapshotError> {
        let said = asking.run_checked(&["ls-files", "--unmerged", "-z"])?;
        let entries = said
            .out
            .split('\0')
            .filter_map(|line| line.split_once('\t'));
        let mut names: Vec<String> = entries
            .map(|(_, name)| format!(":(literal){name}"))
            .collect();
        names.dedup();
        let mut args = vec!["reset", "--quiet", "HEAD", "--"];
        args.extend(names.iter().map(String::as_str));
        asking.run_checked(&args).map(drop)
    }

    /// What changed from one moment to a later one; what is not known is absent.
    #[must_use]
    pub fn changes_between(
        &self,
        world: &World,
        before: &WorkTreeSnapshot,
        after: &WorkTreeSnapshot,
    ) -> SnapshotDiff {
        let asking = self.timed_git(world, "index");
        let (files, diff) = self
            .changed_files(&asking, &before.tree, &after.tree)
            .unzip();
        SnapshotDiff {
            files,
            diff,
            commits: self.commits_between(&asking, before, after),
        }
    }

    fn changed_files(
        &self,
        asking: &TimedGit<'_>,
        before: &str,
        after: &str,
    ) -> Option<(Vec<String>, DiffStat)> {
        if before == after {
            return Some((Vec::new(), DiffStat::default()));
        }
        let differ = ["diff-tree", "-r", "-z", "--numstat", "--no-renames"];
        let trees = [&differ[..], &[before, after, "--"]].concat();
        let said = asking.run_checked(&self.args_with_specs(&trees)).ok()?;
        Some(parse_numstat(&said.out))
    }

    /// The commits that were made between two moments, also those on branches
    /// that were left again.
    fn commits_between(
        &self,
        asking: &TimedGit<'_>,
        before: &WorkTreeSnapshot,
        after: &WorkTreeSnapshot,
    ) -> Option<Vec<String>> {
        let known = before.head.as_deref();
        let Some(made) = self.head_moves_between(before, after) else {
            return new_commits(asking, known, after.head.as_slice());
        };
        let known: Vec<&str> = made.known.iter().map(String::as_str).chain(known).collect();
        let mut found = Vec::new();
        for (from, to) in &made.forwarded {
            let brought = commits_since(asking, from, to, before.at_s)?;
            found.extend(
                brought
                    .into_iter()
                    .filter(|one| !made.commits.contains(one)),
            );
        }
        found.extend(new_commits(asking, known, &made.commits)?);
        // The work is what was committed last, whatever its date says.
        if let Some(last) = made.commits.last() {
            found.retain(|commit| commit != last);
            found.push(last.clone());
        }
        Some(found)
    }

    /// What the log of `HEAD` says that happened; none where it does not say.
    fn head_moves_between(
        &self,
        before: &WorkTreeSnapshot,
        after: &WorkTreeSnapshot,
    ) -> Option<HeadLogMoves> {
        let (from, to) = (before.log?, after.log?);
        let length = usize::try_from(to.checked_sub(from)?).ok()?;
        let mut tail = vec![0; length.min(LOG_MAX)];
        let mut log = input::open_file(&self.log).ok()?;
        log.seek(SeekFrom::Start(from)).ok()?;
        log.read_exact(&mut tail).ok()?;
        parse_head_log(&String::from_utf8_lossy(&tail))
    }

    fn args_with_specs<'a>(&'a self, args: &[&'a str]) -> Vec<&'a str> {
        let specs = self.specs.iter().map(String::as_str);
        args.iter().copied().chain(specs).collect()
    }

    /// A copy of the index that git works on.
    fn index_copy_path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Where git reads and writes: what is new goes into the folder, what is
    /// there is found in the repository.
    fn timed_git<'a>(&'a self, world: &'a World, index: &str) -> TimedGit<'a> {
        const MORE: &str = "GIT_ALTERNATE_OBJECT_DIRECTORIES";
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let own = quote_list_element(&text(&self.objects));
        let elsewhere = match world.var(MORE) {
            Some(more) => format!("{own}:{more}"),
            None => own,
        };
        TimedGit {
            env: vec![
                ("GIT_INDEX_FILE", text(&self.index_copy_path(index))),
                (
                    "GIT_OBJECT_DIRECTORY",
                    text(&self.index_copy_path("objects")),
                ),
                (MORE, elsewhere),
            ],
            ..TimedGit::new(world, &self.work_tree)
        }
    }
}

/// These settings before a command of git's.
fn args_with_settings<'a>(settings: &[&'a str], command: &[&'a str]) -> Vec<&'a str> {
    let settings = settings.iter().flat_map(|setting| ["-c", setting]);
    settings.chain(command.iter().copied()).collect()
}

/// Pathspecs for exactly these paths; none where they are many, or cannot be said.
fn exact_pathspecs(differing: &[(DifferingPath, Option<FileState>)]) -> Option<Vec<String>> {
    let named = |(found, _): &(DifferingPath, _)| {
        let path = found.path.to_str()?;
        Some(format!(":(top,literal){path}"))
    };
    let few = differing.len() <= NAMED_MAX;
    few.then(|| differing.iter().map(named).collect()).flatten()
}

/// The files and how much changed in them, of what `--numstat -z` says.
fn parse_numstat(said: &str) -> (Vec<String>, DiffStat) {
    let mut files = Vec::new();
    let mut diff = DiffStat::default();
    for line in said.split('\0') {
        let mut parts = line.splitn(3, '\t');
        let (Some(added), Some(taken), Some(name)) = (parts.next(), parts.next(), parts.next())
        else {
            continue;
        };
        diff.files += 1;
        // A file that is no text has no lines: a dash stands there.
        diff.insertions += added.parse::<u64>().unwrap_or(0);
        diff.deletions += taken.parse::<u64>().unwrap_or(0);
        if files.len() < FILES_MAX {
            files.push(name.to_owned());
        }
    }
    (files, diff)
}

/// Copies a file with the time of its last change: by that of its index git knows
/// which files may have changed in the moment in which they were added.
pub(super) fn copy_with_mtime(from: &Path, to: &Path) -> std::io::Result<()> {
    let changed = std::fs::metadata(from)?.modified()?;
    std::fs::copy(from, to)?;
    let copy = std::fs::File::options().write(true).open(to);
    // Where it cannot be set, only a change in that moment is missed.
    copy.and_then(|copy| copy.set_modified(changed)).ok();
    Ok(())
}

/// What a part of the log of `HEAD` tells.
#[derive(Debug, Default, PartialEq, Eq)]
struct HeadLogMoves {
    /// The commits that `HEAD` was moved to as they were made.
    commits: Vec<String>,
    /// What it was before, or was moved to without making anything.
    known: BTreeSet<String>,
    /// From where to where a merge moved it that had nothing to merge: what it
    /// brought may have been made in another work tree meanwhile.
    forwarded: Vec<(String, String)>,
}

/// What moves `HEAD` and makes no commit, in what git says of it.
const MOVES: [&str; 7] = [
    "checkout",
    "clone",
    "Branch",
    "Fast-forward",
    "(start)",
    "(finish)",
    "(abort)",
];

/// Reads lines of the log of `HEAD`: `OLD NEW NAME <MAIL> TIME ZONE<tab>WHAT`.
fn parse_head_log(log: &str) -> Option<HeadLogMoves> {
    let mut made = HeadLogMoves::default();
    let mut ever_made = BTreeSet::new();
    // Where the commits begin that were made since something else was checked out.
    let mut line_from = 0;
    for line in log.lines() {
        let (head, what) = line.split_once('\t')?;
        let mut names = head.split(' ');
        let (old, new) = (names.next()?, names.next()?);
        let is_name = |name: &str| name.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !is_name(old) || !is_name(new) {
            return None;
        }
        made.known.insert(old.to_owned());
        let kind = what.split(':').next().unwrap_or_default();
        let moves = |word: &&str| kind.contains(*word);
        if kind == "reset" {
            // What was made on top of that is taken back.
            let line = &made.commits[line_from..];
            let kept = line.iter().position(|commit| commit == new);
            made.commits
                .truncate(line_from + kept.map_or(0, |at| at + 1));
            made.known.insert(new.to_owned());
        } else if MOVES.iter().any(moves) || what.ends_with("Fast-forward") {
            made.known.insert(new.to_owned());
            line_from = made.commits.len();
            if what.ends_with("Fast-forward") {
                made.forwarded.push((old.to_owned(), new.to_owned()));
            }
        } else {
            if kind.ends_with("(amend)") {
                made.commits.retain(|commit| commit != old);
                line_from = line_from.min(made.commits.len());
            }
            made.commits.push(new.to_owned());
            ever_made.insert(new.to_owned());
        }
    }
    let is_commit = |name: &String| name.bytes().any(|byte| byte != b'0');
    made.known
        .retain(|name| !ever_made.contains(name) && is_commit(name));
    Some(made)
}

/// The commits from one to another that were made since, oldest first.
fn commits_since(asking: &TimedGit<'_>, from: &str, to: &str, since_s: i64) -> Option<Vec<String>> {
    let (not, since) = (format!("^{from}"), format!("--max-age={since_s}"));
    let count = format!("--max-count={COMMITS_MAX}");
    let list = ["rev-list", "--reverse", &count, &since, to, &not, "--"];
    let said = asking.run_checked(&list).ok()?;
    Some(said.out.lines().map(str::to_owned).collect())
}

/// The commits that build up to `made` and are not below what was `known`, oldest
/// first.
fn new_commits<'a>(
    asking: &TimedGit<'_>,
    known: impl IntoIterator<Item = &'a str>,
    made: &[String],
) -> Option<Vec<String>> {
    let not: Vec<String> = known.into_iter().map(|name| format!("^{name}")).collect();
    let is_new = |name: &&String| !not.contains(&format!("^{name}"));
    let made: Vec<&String> = made.iter().filter(is_new).collect();
    if made.is_empty() {
        return Some(Vec::new());
    }
    let count = format!("--max-count={COMMITS_MAX}");
    let mut list = vec!["rev-list", "--reverse", &count];
    list.extend(made.iter().map(|name| name.as_str()));
    list.extend(not.iter().map(String::as_str));
    list.push("--");
    let said = asking.run_checked(&list).ok()?;
    Some(said.out.lines().map(str::to_owned).collect())
}

/// Calls of git that together may take so long. None takes a lock of the
/// repository that it can do without: who only looks writes no index of it.
pub(super) struct TimedGit<'a> {
    world: &'a World,
    work_tree: &'a Path,
    env: Vec<(&'static str, String)>,
    /// When they are to be over, as the process's own time goes.
    by: Duration,
}

impl<'a> TimedGit<'a> {
    pub(super) fn new(world: &'a World, work_tree: &'a Path) -> Self {
        Self {
            world,
            work_tree,
            env: Vec::new(),
            by: world.uptime() + TIMEOUT,
        }
    }

    /// What git says; [`SnapshotError`] where it cannot say it.
    pub(super) fn run_checked(&self, args: &[&str]) -> Result<GitOutput, SnapshotError> {
        let said = self.run(args)?;
        if said.ok {
            Ok(said)
        } else {
            Err(self.snapshot_error())
        }
    }

    /// Why a call failed: one that failed when its time was over was ended.
    fn snapshot_error(&self) -> SnapshotError {
        if self.time_left().is_zero() {
            SnapshotError::Late
        } else {
            SnapshotError::Unknown
        }
    }

    pub(super) fn run(&self, args: &[&str]) -> Result<GitOutput, SnapshotError> {
        self.run_with_input(args, &[])
            .map(|output| GitOutput::from(&output))
    }

    /// What git prints when it reads `input`, byte for byte.
    fn run_with_input(&self, args: &[&str], input: &[u8]) -> Result<CallOutput, SnapshotError> {
        let left = self.time_left();
        if left.is_zero() {
            return Err(SnapshotError::Late);
        }
        let settings = SETTINGS.iter().flat_map(|setting| ["-c", setting]);
        let args: Vec<OsString> = settings
            .chain(args.iter().copied())
            .map(OsString::from)
            .collect();
        let mut env = vec![("GIT_OPTIONAL_LOCKS", "0")];
        env.extend(self.env.iter().map(|(name, to)| (*name, &**to)));
        process::run_call(&ProgramCall {
            program: "git",
            args: &args,
            cwd: self.work_tree,
            input,
            env: &env,
            mark: None,
            stop: None,
            timeout: left,
        })
        .map_err(|_| SnapshotError::Unknown)
    }

    fn time_left(&self) -> Duration {
        self.by.saturating_sub(self.world.uptime())
    }
}

/// A path as an element of a list that colons part.
pub(super) fn quote_list_element(path: &str) -> String {
    if path.contains(':') || path.starts_with('"') {
        let inner = path.replace('\\', "\\\\").replace('"', "\\\"");
        format!("\"{inner}\"")
    } else {
        path.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOLD: &str = "ada <ada@example.org> 1764000000 +0000";

    #[track_caller]
    fn check(lines: &[(&str, &str, &str)], commits: &[&str], known: &[&str]) {
        let line = |(old, new, what): &(&str, &str, &str)| format!("{old} {new} {TOLD}\t{what}\n");
        let log: String = lines.iter().map(line).collect();
        let made = parse_head_log(&log).expect("it can be read");
        assert_eq!(made.commits, owned(commits));
        assert_eq!(made.known, owned(known).into_iter().collect());
    }

    fn owned(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn a_file_is_young_for_as_long_as_its_times_may_stand_still() {
        let second = 1_000_000_000;
        let state = |modified, changed| FileState {
            bytes: 1,
            mode: 0o100_644,
            inode: 1,
            modified,
            changed,
        };
        let now = 100 * second;
        for (modified, changed, is_young) in [
            (now, now, true),
            (now - second, now - 50 * second, true),
            (now - 50 * second, now - second, true),
            (now - 2 * second, now - 2 * second, false),
            (now + 50 * second, now - 50 * second, true),
        ] {
            assert_eq!(state(modified, changed).is_racy(now), is_young);
        }
    }

    #[test]
    fn what_is_checked_out_was_not_made() {
        check(&[], &[], &[]);
        check(&[("00", "c1", "commit (initial): begin")], &["c1"], &[]);
        check(
            &[
                ("c0", "f0", "checkout: moving from main to feature"),
                ("f0", "f1", "commit: one: two"),
                ("f1", "c0", "checkout: moving from feature to main"),
            ],
            &["f1"],
            &["c0", "f0", "c0"],
        );
        check(
            &[
                ("c0", "c9", "pull: Fast-forward"),
                ("c9", "d0", "merge feature: Fast-forward"),
                ("d0", "d1", "merge other: Merge made by the 'ort' strategy."),
            ],
            &["d1"],
            &["c0", "c9", "c9", "d0", "d0"],
        );
    }

    #[test]
    fn what_was_taken_back_does_not_count() {
        check(
            &[
                ("c0", "c1", "commit: one"),
                ("c1", "c2", "commit: two"),
                ("c2", "c1", "reset: moving to HEAD~1"),
                ("c1", "c3", "commit (amend): one"),
            ],
            &["c3"],
            &["c0"],
        );
        check(
            &[
                ("c0", "c1", "commit: one"),
                ("c1", "c0", "reset: moving to HEAD~1"),
            ],
            &[],
            &["c0", "c0"],
        );
        check(
            &[
                ("c0", "a0", "rebase (start): checkout main"),
                ("a0", "a1", "rebase (pick): one"),
                (
                    "a1",
                    "a1",
                    "rebase (finish): returning to refs/heads/feature",
                ),
            ],
            &["a1"],
            &["c0", "a0"],
        );
    }

    #[test]
    fn what_is_no_log_says_nothing() {
        assert_eq!(parse_head_log("c0 c1 no tab"), None);
        assert_eq!(parse_head_log("main c1 x\tcommit: one"), None);
    }
}
