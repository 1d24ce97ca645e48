//! The few things that piton asks of git, by starting the user's own.

mod checked_out;
mod contained;
mod diff;
mod file_history;
mod index;
mod landing;
mod merging;
mod reached;
mod refs;
mod remote;
mod saving;
mod settings;
mod submodules;
mod trees;
mod unfinished;
mod user_name;
mod worktrees;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::fail;
use crate::failure::Failure;
use crate::process::{self, Call, Output, StartError, Stop};
use crate::shell::quote;
use crate::world::pause;

pub use self::checked_out::{
    branch_has_been_at, branch_tips, checked_out, has_remotes, tip_of, tree_on,
};
pub(crate) use self::checked_out::{git_dir, repository_of};
pub use self::contained::has_work_of;
pub use self::diff::{FileChange, file_changes};
pub use self::file_history::{FileHistory, commits_made_here};
pub use self::index::is_tracked;
pub use self::landing::{fast_forward, is_unstaged, rebased_branch};
pub use self::merging::{
    MergeOrder, MergeTry, OwnPaths, begin_merge, commit_texts, is_without_files, merge,
    stored_text, with_markers, without_files,
};
pub use self::reached::{Whereabouts, Work, exists, reached};
pub use self::refs::{
    RefMove, RefStep, files_committed, git_version, is_built_on, is_on_branch, is_on_branch_but,
    merge_base, merged_since, move_ref, ref_at, refs_below, remove_refs,
};
pub use self::remote::{
    Pushed, branch_at_remote, fetch, fetch_commit, push, remote_url, tree_of, unpushed,
};
pub use self::saving::{SavedWork, is_saved, open_saved, open_saved_in_merge, save_work, saved_on};
pub use self::submodules::{
    BehindSubmodule, KeptRepository, KeptWork, MovedSubmodule, changed_submodules,
    follow_submodules, has_submodules, kept_repositories, moved_submodules, unborn_repositories,
};
pub use self::trees::{Changed, Missed, Moment, ProofSources, Trees};
pub use self::unfinished::{begun_and_unfinished, unfinished};
pub use self::user_name::user_name;
pub use self::worktrees::{
    HALF_MADE, NewWorktree, Worktree, WorktreeState, add_detached_worktree, add_worktree,
    adopt_detached_worktree, check_branch_name, commit_has, drop_exclusion, drop_locks,
    exclude_worktree, finish_worktree, ignores_folder, is_merged, lock_detached_worktree,
    remove_detached_worktree, remove_worktree, restore, restore_for_merges, switch, tracks_any,
    worktree_state, worktrees,
};

/// Long enough for hooks that run a whole test suite.
const TIMEOUT: Duration = Duration::from_secs(3_600);

/// Long enough for the commit of a few files, also where it is signed; whoever
/// has to type for that is not there at night.
const COMMIT_FILES_TIMEOUT: Duration = Duration::from_secs(20);

/// Long enough to look through the history of a file.
const LOOK_TIMEOUT: Duration = Duration::from_secs(60);

/// Most files that one look names.
const LOOKED_AT_MAX: usize = 1_000;

/// How a commit that is under way is found, and ended.
#[derive(Clone, Copy, Debug)]
pub struct By<'a> {
    /// What its processes carry, should piton die meanwhile.
    pub mark: &'a str,
    /// What another thread ends it with.
    pub stop: &'a Stop,
}

/// What git said.
struct Said {
    ok: bool,
    out: String,
    err: String,
}

/// Asks git something. Whoever only looks writes no index: its lock would stand
/// in the way of an agent that commits.
fn git(work_tree: &Path, args: &[&str]) -> Result<Said, Failure> {
    ask(&Call {
        env: &[("GIT_OPTIONAL_LOCKS", "0")],
        timeout: LOOK_TIMEOUT,
        ..plain_call(
            work_tree,
            &args.iter().map(OsString::from).collect::<Vec<_>>(),
        )
    })
}

/// Has git change something, to be found and ended while it works.
fn change(work_tree: &Path, args: &[&str], by: &By<'_>) -> Result<Said, Failure> {
    let args: Vec<OsString> = args.iter().map(OsString::from).collect();
    Ok(Said::from(&order(work_tree, &args, &More::default(), by)?))
}

/// What git gets beside its arguments.
#[derive(Clone, Copy, Debug, Default)]
struct More<'a> {
    /// Added to its environment.
    env: &'a [(&'a str, &'a str)],
    /// What it reads.
    input: &'a [u8],
    /// How long it may take; none for [`TIMEOUT`].
    timeout: Option<Duration>,
}

/// The same with more of what git gets and says.
fn order(
    work_tree: &Path,
    args: &[OsString],
    more: &More<'_>,
    by: &By<'_>,
) -> Result<Output, Failure> {
    // One that is not the root of a work tree any more must not be taken for the one
    // that it lies in: git would change that.
    let above = work_tree.parent().unwrap_or(work_tree).to_string_lossy();
    let mut env = vec![("GIT_CEILING_DIRECTORIES", &*above)];
    env.extend(more.env);
    process::output(&Call {
        env: &env,
        input: more.input,
        mark: Some(by.mark),
        stop: Some(by.stop),
        timeout: more.timeout.unwrap_or(TIMEOUT),
        ..plain_call(work_tree, args)
    })
    .map_err(|error| not_started(work_tree, error))
}

/// What is said where git did not do what it was to do.
fn failed(what: &str, said: &Said) -> Failure {
    let why = match reason(&said.err) {
        why if why.is_empty() => last_line(said),
        why => why,
    };
    let message = format!("git could not {what}: {why}");
    match said.err.contains("user.email") {
        true => no_identity(message, None),
        false => Failure::new("git.missing", message).hint(
            "see what `git status` says there and whether the disk has room, then repeat the command",
        ),
    }
}

fn no_identity(message: String, other: Option<&Path>) -> Failure {
    let git = typed_in(other);
    Failure::new("git.no_identity", message).hint(format!(
        "tell git who you are, `{git} config user.name NAME` and `{git} config user.email MAIL`, then run again"
    ))
}

/// How a person types git for a repository; none is the one at hand.
pub(crate) fn typed_in(other: Option<&Path>) -> String {
    match other {
        Some(tree) => format!("git -C {}", quote(&tree.to_string_lossy())),
        None => "git".to_owned(),
    }
}

/// Refuses to commit in a work tree where git does not know who does. `other` says that
/// it is not the one at hand.
///
/// # Errors
///
/// When it does not, or cannot be started.
pub fn refuse_without_identity(work_tree: &Path, is_other: bool) -> Result<(), Failure> {
    let said = git(work_tree, &["var", "GIT_COMMITTER_IDENT"])?;
    if said.ok {
        return Ok(());
    }
    let place = match is_other {
        true => format!("in {}", work_tree.display()),
        false => "here".to_owned(),
    };
    Err(no_identity(
        format!("piton commits {place} what agents make, and git does not know in whose name"),
        is_other.then_some(work_tree),
    ))
}

/// The untracked files, by their paths in the work tree, that the patterns of a
/// file there name and that git ignores.
///
/// # Errors
///
/// When git fails.
pub fn ignored_by(
    work_tree: &Path,
    patterns: &str,
    by: &By<'_>,
) -> Result<BTreeSet<String>, Failure> {
    let patterns = format!("--exclude-from={patterns}");
    let named = ["ls-files", "-z", "--others", "--ignored", &patterns];
    let named = change(work_tree, &named, by)?;
    if !named.ok {
        return Err(failed("look for files", &named));
    }
    if named.out.is_empty() {
        return Ok(BTreeSet::new());
    }
    let args = ["check-ignore", "-z", "--stdin"].map(OsString::from);
    let more = More {
        input: named.out.as_bytes(),
        ..More::default()
    };
    let output = order(work_tree, &args, &more, by)?;
    match output.exit.code {
        Some(0 | 1) => Ok(names(&Said::from(&output).out)),
        Some(_) | None => Err(failed("look for ignored files", &Said::from(&output))),
    }
}

/// Those of some files that git tracks, by their paths in the work tree.
///
/// # Errors
///
/// When git fails.
pub fn tracked_among(
    work_tree: &Path,
    files: &BTreeSet<String>,
    by: &By<'_>,
) -> Result<BTreeSet<String>, Failure> {
    if files.is_empty() {
        return Ok(BTreeSet::new());
    }
    let literals: Vec<String> = files.iter().map(|file| literal(file)).collect();
    let mut args = vec!["ls-files", "-z", "--"];
    args.extend(literals.iter().map(String::as_str));
    let said = change(work_tree, &args, by)?;
    match said.ok {
        true => Ok(names(&said.out)),
        false => Err(failed("look for tracked files", &said)),
    }
}

/// What stands between zero bytes.
fn names(text: &str) -> BTreeSet<String> {
    let names = text.split('\0').filter(|name| !name.is_empty());
    names.map(str::to_owned).collect()
}

fn no_folder(error: std::io::Error) -> Failure {
    crate::failure::unwritable(&std::env::temp_dir(), error)
}

fn plain_call<'a>(work_tree: &'a Path, args: &'a [OsString]) -> Call<'a> {
    Call {
        program: "git",
        args,
        cwd: work_tree,
        input: &[],
        env: &[],
        mark: None,
        stop: None,
        timeout: COMMIT_FILES_TIMEOUT,
    }
}

fn ask(call: &Call<'_>) -> Result<Said, Failure> {
    let output = process::output(call).map_err(|error| not_started(call.cwd, error))?;
    Ok(Said::from(&output))
}

fn not_started(folder: &Path, error: StartError) -> Failure {
    if !folder.is_dir() {
        let what = format!("{} is not there any more", folder.display());
        return Failure::new("git.missing", what)
            .hint("put it back where it was, or say where it is now, then run again")
            .because(error);
    }
    Failure::new("git.missing", "git could not be started")
        .hint("install git, or leave `auto-commit` out of the sprint's `config`")
        .because(error)
}

impl From<&Output> for Said {
    fn from(output: &Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end().to_owned();
        Self {
            ok: output.exit.success(),
            out: text(&output.stdout),
            err: text(&output.stderr),
        }
    }
}

/// What `HEAD` names; none in a repository without commits.
///
/// # Errors
///
/// When git cannot be started.
pub fn head(work_tree: &Path) -> Result<Option<String>, Failure> {
    let said = git(work_tree, &["rev-parse", "--verify", "--quiet", "HEAD"])?;
    Ok(said.ok.then_some(said.out).filter(|out| !out.is_empty()))
}

/// The root of the work tree that a folder lies in.
///
/// # Errors
///
/// When git cannot be started, or the folder is in no work tree.
pub fn root(folder: &Path) -> Result<PathBuf, Failure> {
    let said = git(folder, &["rev-parse", "--show-toplevel"])?;
    if said.ok {
        return Ok(PathBuf::from(said.out));
    }
    Err(refused("this folder is in no work tree of git", &said))
}

/// A setting of the repository itself; none where it has none of this name.
///
/// # Errors
///
/// When git cannot be started.
pub fn local_setting(work_tree: &Path, key: &str) -> Result<Option<String>, Failure> {
    let said = git(work_tree, &["config", "--local", "--get", key])?;
    Ok(said.ok.then_some(said.out))
}

/// Sets a setting of the repository itself, or takes it out.
///
/// # Errors
///
/// When git cannot be started, or cannot write its configuration.
pub fn set_local(work_tree: &Path, key: &str, value: Option<&str>) -> Result<(), Failure> {
    let said = match value {
        Some(value) => git(work_tree, &["config", "--local", key, value])?,
        None => git(work_tree, &["config", "--local", "--unset", key])?,
    };
    if said.ok {
        return Ok(());
    }
    Err(refused(&format!("git could not set {key}"), &said))
}

fn refused(what: &str, said: &Said) -> Failure {
    Failure::new("git.missing", format!("{what}: {}", said.err))
        .hint("work in a git repository whose configuration you may write")
}

/// Files of one folder that are not the user's: those whose names begin so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Own {
    /// The folder, relative to the work tree; empty for its root.
    pub folder: String,
    /// What their names begin with.
    pub begin: String,
}

/// Pathspecs for everything but piton's own files.
///
/// Patterns, although names would do: `git add` complains of a name that is
/// left out and ignored as well, and adds nothing.
fn but(own: &[Own]) -> Vec<String> {
    let mut specs = vec![
        ":/".to_owned(),
        format!(":(top,exclude,glob){}/**", pattern(".piton")),
    ];
    specs.extend(own.iter().map(|own| {
        let path = Path::new(&own.folder).join(&own.begin);
        format!(":(top,exclude,glob){}*", pattern(&path.to_string_lossy()))
    }));
    specs
}

/// The same, and these files, by their paths in the work tree, left out as well.
fn but_files(own: &[Own], files: &[String]) -> Vec<String> {
    let mut specs = but(own);
    specs.extend(
        files
            .iter()
            .map(|file| format!(":(top,exclude,glob){}", pattern(file))),
    );
    specs
}

/// A pattern, from its first character on, that fits exactly this.
fn pattern(name: &str) -> String {
    let mut text = String::new();
    for (at, c) in name.chars().enumerate() {
        if at == 0 || matches!(c, '*' | '?' | '[' | ']' | '\\') {
            text.push('\\');
        }
        text.push(c);
    }
    text
}

/// What has changed and is not committed, a path a line, `own` files left out.
///
/// # Errors
///
/// When git cannot be started, or this is no work tree.
pub fn changes(work_tree: &Path, own: &[Own]) -> Result<Vec<String>, Failure> {
    changes_but(work_tree, &but(own))
}

/// The same of the files of this repository alone, but for some: what is in another
/// one within it has [`kept_repositories`].
///
/// # Errors
///
/// When git cannot be started, or this is no work tree.
pub fn file_changes_without(work_tree: &Path, files: &[String]) -> Result<Vec<String>, Failure> {
    let how = ["--untracked-files=all", "--ignore-submodules=all"];
    let mut changed = status_of(work_tree, &how, &but_files(&[], files))?;
    // Of no other folder git says that it is one.
    changed.retain(|path| !path.trim_end_matches('"').ends_with('/'));
    Ok(changed)
}

/// What git ignores in a work tree, a folder as one.
///
/// # Errors
///
/// When git cannot be started, or this is no work tree.
pub fn ignored(work_tree: &Path) -> Result<Vec<String>, Failure> {
    let said = git(work_tree, &["status", "--porcelain", "--ignored"])?;
    let lines = said.out.lines();
    let ignored = lines.filter_map(|line| line.strip_prefix("!! "));
    Ok(ignored.map(str::to_owned).collect())
}

/// Each file that git ignores in a work tree.
///
/// # Errors
///
/// When git cannot be started, or this is no work tree.
pub fn ignored_files(work_tree: &Path) -> Result<Vec<String>, Failure> {
    let args = [
        "ls-files",
        "-z",
        "--others",
        "--ignored",
        "--exclude-standard",
    ];
    let said = git(work_tree, &args)?;
    let names = said.out.split('\0').filter(|name| !name.is_empty());
    Ok(names.map(str::to_owned).collect())
}

/// The files that git tracks and that have changed since the last commit, `own`
/// files left out.
///
/// # Errors
///
/// When git cannot be started, or this is no work tree.
pub fn tracked_changes(work_tree: &Path, own: &[Own]) -> Result<Vec<String>, Failure> {
    status_of(work_tree, &["--untracked-files=no"], &but(own))
}

/// The files that git neither tracks nor ignores, `own` files left out.
///
/// # Errors
///
/// When git cannot be started, or this is no work tree.
pub fn untracked_files(work_tree: &Path, own: &[Own]) -> Result<Vec<String>, Failure> {
    let specs = but(own);
    let mut args = vec!["ls-files", "-z", "--others", "--exclude-standard", "--"];
    args.extend(specs.iter().map(String::as_str));
    let said = git(work_tree, &args)?;
    if !said.ok {
        return Err(failed("look for files", &said));
    }
    let names = said.out.split('\0').filter(|name| !name.is_empty());
    Ok(names.map(str::to_owned).collect())
}

fn changes_but(work_tree: &Path, specs: &[String]) -> Result<Vec<String>, Failure> {
    status_of(work_tree, &["--untracked-files=all"], specs)
}

fn status_of(work_tree: &Path, how: &[&str], specs: &[String]) -> Result<Vec<String>, Failure> {
    let mut args = [&["status", "--porcelain"], how, &["--"]].concat();
    args.extend(specs.iter().map(String::as_str));
    let said = git(work_tree, &args)?;
    if !said.ok {
        return Err(Failure::new("git.missing", format!("git status failed: {}", said.err)).hint("`auto-commit` needs a git repository: make one, or leave it out of the sprint's `config`"));
    }
    Ok(said
        .out
        .lines()
        .map(|line| line.get(3..).unwrap_or(line).to_owned())
        .collect())
}

/// Commits what has changed, with the user's identity and hooks; none when
/// nothing has. Should piton die meanwhile, git is found by `mark`.
///
/// # Errors
///
/// When git cannot be started. A commit that git or a hook refuses is the
/// inner error: what was said.
pub fn commit(
    work_tree: &Path,
    message: &str,
    own: &[Own],
    by: &By<'_>,
) -> Result<Result<Option<String>, String>, Failure> {
    commit_without(work_tree, message, (own, &[]), by)
}

/// The same, but for some files as well, by their paths in the work tree. A merge
/// that is under way there is committed also where it changes nothing.
///
/// # Errors
///
/// As [`commit`].
pub fn commit_without(
    work_tree: &Path,
    message: &str,
    (own, files): (&[Own], &[String]),
    by: &By<'_>,
) -> Result<Result<Option<String>, String>, Failure> {
    let specs = but_files(own, files);
    let mut add = vec!["add", "--all", "--"];
    add.extend(specs.iter().map(String::as_str));
    let said = past_lock(|| change(work_tree, &add, by))?;
    if !said.ok {
        let unborn = unborn_repositories(work_tree)?;
        // Something else may be the reason.
        let mut tried = vec!["add", "--all", "--dry-run", "--"];
        let without = [files, &names_of(&unborn)].concat();
        let specs = but_files(own, &without);
        tried.extend(specs.iter().map(String::as_str));
        return Ok(Err(match unborn.first() {
            Some(path) if change(work_tree, &tried, by)?.ok => no_commit_in(&work_tree.join(path)),
            _ => last_line(&said),
        }));
    }
    fail::point("git.staged");
    let merges = git_dir(work_tree).is_some_and(|folder| folder.join("MERGE_HEAD").is_file());
    if !merges && git(work_tree, &["diff", "--cached", "--quiet"])?.ok {
        return Ok(Ok(None));
    }
    let commit = ["commit", "--quiet", "-m", message];
    let said = past_lock(|| change(work_tree, &commit, by))?;
    if !said.ok {
        return Ok(Err(last_line(&said)));
    }
    Ok(Ok(head(work_tree)?))
}

/// Why nothing of a work tree is committed while this repository lies in it.
fn no_commit_in(inner: &Path) -> String {
    let quoted = quote(&inner.join(".git").display().to_string()).into_owned();
    let inner = inner.display();
    format!(
        "{inner} is a repository of its own without a commit, and git adds nothing of it: move its history out with `mv {quoted} FOLDER`, so that its files are committed with the others, or leave it out"
    )
}

/// By which paths these repositories are left out: one that the index does not know has
/// a name of its own kind.
fn names_of(repositories: &[String]) -> Vec<String> {
    let both = |path: &String| [format!("{path}/"), path.clone()];
    repositories.iter().flat_map(both).collect()
}

/// How files are committed; the message comes next.
const COMMIT_FILES: [&str; 9] = [
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "core.fsmonitor=false",
    "commit",
    "--quiet",
    "--no-verify",
    "--only",
    "-m",
];

/// Commits these files as they stand, tracked ones by their paths in the work
/// tree, and nothing else. What has not changed is no reason to complain.
///
/// No hook is run: these files hold what piton noted, a hook that runs a test
/// suite would run it for each item, and one that an agent put there would write
/// while no agent is at work.
///
/// # Errors
///
/// What git said when it could not.
pub fn commit_files(work_tree: &Path, message: &str, files: &[String]) -> Result<(), CommitMissed> {
    let mut args: Vec<OsString> = COMMIT_FILES.iter().map(OsString::from).collect();
    args.extend([message, "--"].map(OsString::from));
    args.extend(files.iter().map(|file| OsString::from(literal(file))));
    let call = plain_call(work_tree, &args);
    let said = past_lock(|| {
        let output = process::output(&call).map_err(|error| error.to_string())?;
        if output.exit.stopped_by.is_some() {
            let seconds = COMMIT_FILES_TIMEOUT.as_secs();
            return Err(CommitMissed {
                why: format!("git was not done with it in {seconds} s"),
                hangs: true,
            });
        }
        Ok(Said::from(&output))
    })?;
    // Nothing to commit is told on stdout alone.
    if said.ok || said.err.is_empty() {
        return Ok(());
    }
    Err(reason(&said.err).into())
}

/// How long is waited each time before git is asked again that found its index
/// locked, in milliseconds: an editor that asks for the state of a work tree
/// holds that lock for a moment.
const LOCK_PAUSES: [u64; 6] = [20, 50, 100, 200, 400, 800];

/// What git says, asked again for some 1.5 s while another git holds its index.
fn past_lock<E>(mut ask: impl FnMut() -> Result<Said, E>) -> Result<Said, E> {
    let mut said = ask()?;
    for milliseconds in LOCK_PAUSES {
        if said.ok || !said.err.contains("index.lock") {
            break;
        }
        pause(Duration::from_millis(milliseconds));
        said = ask()?;
    }
    Ok(said)
}

/// Why something could not be committed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitMissed {
    /// In one line.
    pub why: String,
    /// Whether git hung: to ask again is to wait again.
    pub hangs: bool,
}

impl From<String> for CommitMissed {
    fn from(why: String) -> Self {
        Self { why, hangs: false }
    }
}

/// The first line of what git printed that says what is wrong, with the one that
/// it announces. What comes after is mostly advice.
fn reason(err: &str) -> String {
    let mut lines = err.lines().map(str::trim).filter(|line| !line.is_empty());
    let is_said = |line: &&str| line.starts_with("fatal:") || line.starts_with("error:");
    let said = lines.find(is_said);
    let Some(said) = said.or_else(|| err.lines().next()) else {
        return String::new();
    };
    match lines.next().filter(|_| said.ends_with(':')) {
        Some(more) => format!("{said} {more}"),
        None => said.to_owned(),
    }
}

/// A tracked file as the commit that is checked out has it: see [`text_of`].
#[must_use]
pub fn committed_text(work_tree: &Path, file: &str) -> Option<String> {
    text_of(work_tree, "HEAD", file)
}

/// A tracked file as a commit has it, with the line ends that it has in the work tree,
/// by its path there; none where it has none, or git cannot say.
#[must_use]
pub fn text_of(work_tree: &Path, commit: &str, file: &str) -> Option<String> {
    let object = format!("{commit}:{file}");
    let args = ["cat-file", "--filters", &object].map(OsString::from);
    let output = process::output(&plain_call(work_tree, &args));
    let output = output.ok().filter(|output| output.exit.success())?;
    String::from_utf8(output.stdout).ok()
}

/// Whether a branch has another version of a file, or none, than the commit that is
/// checked out: whoever switches to it needs the file as it is committed. Not where
/// git cannot say.
#[must_use]
pub fn has_other_version(work_tree: &Path, file: &str) -> bool {
    let branches = branch_tips(work_tree);
    if branches.len() < 2 {
        return false;
    }
    let names = std::iter::once("HEAD").chain(branches.keys().map(String::as_str));
    let names: String = names.map(|name| format!("{name}:{file}\n")).collect();
    let args = ["cat-file", "--batch-check=%(objectname)"].map(OsString::from);
    let output = process::output(&Call {
        input: names.as_bytes(),
        ..plain_call(work_tree, &args)
    });
    let output = output.ok().filter(|output| output.exit.success());
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    // NAME missing.
    let version = |line: &str| (!line.ends_with(" missing")).then(|| line.to_owned());
    let versions = text.iter().flat_map(|text| text.lines()).map(version);
    versions.collect::<BTreeSet<_>>().len() > 1
}

/// Files as the commit that is checked out has them, by their paths in the work
/// tree; none for what it has not, is no text, or git cannot say.
#[must_use]
pub fn committed_texts(work_tree: &Path, files: &[String]) -> Vec<Option<String>> {
    let names: Vec<String> = files.iter().map(|file| format!("HEAD:{file}")).collect();
    texts_at(work_tree, &names)
}

/// Texts as git stores them, each by its name, `COMMIT:PATH`; none for what there is
/// not, is no text, or git cannot say.
#[must_use]
pub fn texts_at(work_tree: &Path, names: &[String]) -> Vec<Option<String>> {
    let mut texts = vec![None; names.len()];
    if names.is_empty() {
        return texts;
    }
    let names: String = names.iter().map(|name| format!("{name}\n")).collect();
    let args = ["cat-file", "--batch"].map(OsString::from);
    let output = process::output(&Call {
        input: names.as_bytes(),
        ..plain_call(work_tree, &args)
    });
    let Some(output) = output.ok().filter(|output| output.exit.success()) else {
        return texts;
    };
    let mut rest = output.stdout.as_slice();
    for text in &mut texts {
        let Some(end) = rest.iter().position(|byte| *byte == b'\n') else {
            break;
        };
        let (head, after) = (String::from_utf8_lossy(&rest[..end]), &rest[end + 1..]);
        rest = after;
        // OBJECT TYPE SIZE, the content and a line end; or NAME missing.
        let size = head
            .rsplit_once(' ')
            .and_then(|(_, size)| size.parse().ok());
        let Some((content, after)) = size.and_then(|size: usize| rest.split_at_checked(size))
        else {
            continue;
        };
        rest = after.get(1..).unwrap_or_default();
        *text = String::from_utf8(content.to_vec()).ok();
    }
    texts
}

/// Whether a tracked file has changes that are not committed, or the history of
/// `HEAD` has a version of it in which these words stand. Where git cannot say, it
/// has.
#[must_use]
pub fn has_been_committed(work_tree: &Path, file: &Path, words: &str) -> bool {
    !is_clean(work_tree, file) || log_of(work_tree, file, &[&format!("-S{words}")]) != Some(false)
}

/// Whether a tracked file is as it is committed.
#[must_use]
pub fn is_clean(work_tree: &Path, file: &Path) -> bool {
    let file = literal(&file.to_string_lossy());
    let changes = ["status", "--porcelain", "--untracked-files=no", "--", &file];
    git(work_tree, &changes).is_ok_and(|said| said.ok && said.out.is_empty())
}

/// The first of these files, by their paths in the work tree, that has changes
/// which are not committed; none where git cannot say.
#[must_use]
pub fn first_change(work_tree: &Path, files: &BTreeSet<String>) -> Option<String> {
    if files.is_empty() {
        return None;
    }
    let names: Vec<String> = files
        .iter()
        .take(LOOKED_AT_MAX)
        .map(|file| literal(file))
        .collect();
    let mut args = vec![
        "status",
        "--porcelain",
        "-z",
        "--no-renames",
        "--untracked-files=all",
        "--",
    ];
    args.extend(names.iter().map(String::as_str));
    let said = git(work_tree, &args).ok().filter(|said| said.ok)?;
    let first = said.out.split('\0').next()?;
    first.get(3..).map(str::to_owned)
}

/// Whether a version of a file in which these words stand is committed on some
/// branch, or stashed.
#[must_use]
pub fn has_ever_said(work_tree: &Path, file: &Path, words: &str) -> bool {
    log_of(work_tree, file, &["--all", &format!("-S{words}")]) == Some(true)
}

/// Whether a commit changed a file that the history of what is checked out has,
/// and that of `since` has not. Where git cannot say, one did.
#[must_use]
pub fn has_changed_since(work_tree: &Path, since: &str, file: &Path) -> bool {
    log_of(work_tree, file, &[&format!("{since}..HEAD")]) != Some(false)
}

/// Whether the history of what is checked out has a merge that the history of
/// `since` has not. Where git cannot say, it has none.
#[must_use]
pub fn has_merged_since(work_tree: &Path, since: &str) -> bool {
    let list = ["rev-list", "-1", "--merges", &format!("{since}..HEAD")];
    git(work_tree, &list).is_ok_and(|said| said.ok && !said.out.is_empty())
}

/// Whether a commit changed a file among those that `which` picks; none where git
/// cannot say.
fn log_of(work_tree: &Path, file: &Path, which: &[&str]) -> Option<bool> {
    let file = literal(&file.to_string_lossy());
    let log = [&["log", "-1", "--format=%H"], which, &["--", &file]].concat();
    let said = git(work_tree, &log).ok().filter(|said| said.ok)?;
    Some(!said.out.is_empty())
}

/// Whether a file is committed on some branch.
#[must_use]
pub fn is_committed_somewhere(work_tree: &Path, file: &Path) -> bool {
    log_of(work_tree, file, &["--branches"]) == Some(true)
}

/// How long git's own lock is taken for that of a process at work.
const LOCK_AGE_MAX: Duration = Duration::from_secs(600);

/// Whether git is changing the work tree: a branch is being checked out, or
/// something merged. What stands in tracked files meanwhile is not what is
/// checked out yet.
#[must_use]
pub fn is_at_work(work_tree: &Path) -> bool {
    let lock = git_dir(work_tree).map(|folder| folder.join("index.lock"));
    let found = lock.and_then(|lock| std::fs::metadata(lock).ok());
    let age = found.and_then(|found| found.modified().ok()?.elapsed().ok());
    age.is_some_and(|age| age < LOCK_AGE_MAX)
}

/// A pathspec for exactly this file.
fn literal(file: &str) -> String {
    format!(":(top,literal){file}")
}

/// The commit that a dead runner may have made with this message on top of `before`.
///
/// # Errors
///
/// When git cannot be started.
pub fn made(
    work_tree: &Path,
    message: &str,
    before: Option<&str>,
) -> Result<Option<String>, Failure> {
    let now = head(work_tree)?;
    if now.as_deref() == before {
        return Ok(None);
    }
    let said = git(work_tree, &["log", "-1", "--format=%P%n%s", "HEAD"])?;
    let mut lines = said.out.lines();
    let parent = lines.next().unwrap_or_default();
    let subject = lines.next().unwrap_or_default();
    let ours = parent == before.unwrap_or_default() && subject == message;
    Ok(now.filter(|_| ours))
}

fn last_line(said: &Said) -> String {
    [&said.err, &said.out]
        .iter()
        .find_map(|text| text.lines().rev().find(|line| !line.trim().is_empty()))
        .unwrap_or("git gave no reason")
        .trim()
        .to_owned()
}

/// A commit, as git shows it in short.
#[must_use]
pub fn short(commit: &str) -> &str {
    commit.get(..12).unwrap_or(commit)
}
