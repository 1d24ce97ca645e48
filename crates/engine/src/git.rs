//! The few things that piton asks of git, by starting the user's own.

mod checked_out;
mod containment;
mod diff;
mod file_history;
pub mod gh;
pub(crate) mod history;
mod index;
mod landing;
mod merging;
mod refs;
mod remote;
pub(crate) mod repositories;
mod saving;
mod settings;
mod submodules;
mod tracker;
mod unfinished;
mod user_name;
mod work_position;
pub mod worktree;
mod worktrees;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::failpoint;
use crate::failure::Failure;
use crate::process::shell::quote_word;
use crate::process::{self, CallOutput, ProgramCall, StartError, StopHandle};
use crate::world::pause;

pub use self::checked_out::{
    branch_tips, find_worktree_of_branch, has_remotes, read_checkout, tip_of_branch, was_branch_at,
};
pub(crate) use self::checked_out::{git_dir, main_work_tree, repository_of};
pub use self::containment::has_work_of;
pub use self::diff::{FileChange, file_changes};
pub use self::file_history::{FileHistory, commits_made_here};
pub use self::index::{is_tracked, is_tracked_for_certain};
pub use self::landing::{fast_forward, is_unstaged, rebased_branch};
pub use self::merging::{
    GitMergeOutcome, MergeSpec, OwnPaths, WorkRange, begin_merge, commit_texts,
    files_with_conflict_markers, is_work_without_files, merge_commits, stored_text,
    strip_files_from_work,
};
pub use self::refs::{
    RefMove, RefStep, first_parent_commits, git_version, is_built_on, is_on_branch,
    is_on_other_branch, list_refs, merge_base, move_ref, read_ref, remove_refs,
};
pub use self::remote::{
    PushOutcome, RemoteBranch, branch_at_remote, count_unpushed, fetch, fetch_commit, push,
    remote_url, tree_of_commit,
};
pub use self::saving::{
    SavedWork, base_of_saved_work, is_work_saved, reopen_saved_work, reopen_saved_work_in_merge,
    save_work,
};
pub use self::submodules::{
    BehindSubmodule, MovedSubmodule, UnsavedRepository, UnsavedWork, changed_submodules,
    follow_submodules, has_submodules, moved_submodules, unborn_repositories, unsaved_repositories,
};
pub use self::tracker::{
    ProofSources, SnapshotDiff, SnapshotError, WorkTreeSnapshot, WorkTreeTracker,
};
pub use self::unfinished::{describe_unfinished, find_unfinished_operation};
pub use self::user_name::user_name;
pub use self::work_position::{WorkCommits, WorkPosition, has_commit, locate_works};
pub use self::worktrees::{
    HALF_MADE, NewWorktree, Worktree, WorktreeState, add_detached_worktree, add_worktree,
    adopt_detached_worktree, check_branch_name, exclude_worktree, finish_worktree,
    has_tracked_files, is_branch_merged, is_folder_ignored, is_in_commit, list_worktrees,
    lock_detached_worktree, remove_detached_worktree, remove_exclusion, remove_stale_locks,
    remove_worktree, restore_merge_worktree, restore_worktree, switch_branch, worktree_state,
};

/// Long enough for hooks that run a whole test suite.
const TIMEOUT: Duration = Duration::from_secs(3_600);

/// Long enough for the commit of a few files, also where it is signed. A signature for
/// which a person has to type a passphrase runs into it: at night no person is there.
const COMMIT_FILES_TIMEOUT: Duration = Duration::from_secs(20);

/// Long enough to look through the history of a file.
const LOOK_TIMEOUT: Duration = Duration::from_secs(60);

/// Most files that one look names.
const LOOKED_AT_MAX: usize = 1_000;

/// How a commit that is under way is found, and ended.
#[derive(Clone, Copy, Debug)]
pub struct GitControl<'a> {
    /// What its processes carry, should piton die meanwhile.
    pub mark: &'a str,
    /// What another thread ends it with.
    pub stop: &'a StopHandle,
}

/// What git said.
struct GitOutput {
    ok: bool,
    out: String,
    err: String,
}

/// Asks git something. Git does not write the index meanwhile: its lock would block
/// an agent that commits.
fn query_git(work_tree: &Path, args: &[&str]) -> Result<GitOutput, Failure> {
    run_git_call(&ProgramCall {
        env: &[("GIT_OPTIONAL_LOCKS", "0")],
        timeout: LOOK_TIMEOUT,
        ..git_call(
            work_tree,
            &args.iter().map(OsString::from).collect::<Vec<_>>(),
        )
    })
}

/// Has git change something, to be found and ended while it works.
fn run_git(work_tree: &Path, args: &[&str], by: &GitControl<'_>) -> Result<GitOutput, Failure> {
    let args: Vec<OsString> = args.iter().map(OsString::from).collect();
    Ok(GitOutput::from(&run_git_with(
        work_tree,
        &args,
        &GitCallOptions::default(),
        by,
    )?))
}

/// What git gets beside its arguments.
#[derive(Clone, Copy, Debug, Default)]
struct GitCallOptions<'a> {
    /// Added to its environment.
    env: &'a [(&'a str, &'a str)],
    /// What it reads.
    input: &'a [u8],
    /// How long it may take; none for [`TIMEOUT`].
    timeout: Option<Duration>,
}

/// The same with more of what git gets and says.
fn run_git_with(
    work_tree: &Path,
    args: &[OsString],
    more: &GitCallOptions<'_>,
    by: &GitControl<'_>,
) -> Result<CallOutput, Failure> {
    // One that is not the root of a work tree any more must not be taken for the one
    // that it lies in: git would change that.
    let above = work_tree.parent().unwrap_or(work_tree).to_string_lossy();
    let mut env = vec![("GIT_CEILING_DIRECTORIES", &*above)];
    env.extend(more.env);
    process::run_call(&ProgramCall {
        env: &env,
        input: more.input,
        mark: Some(by.mark),
        stop: Some(by.stop),
        timeout: more.timeout.unwrap_or(TIMEOUT),
        ..git_call(work_tree, args)
    })
    .map_err(|error| start_failure(work_tree, error))
}

/// What is said where git did not do what it was to do.
fn git_failure(what: &str, said: &GitOutput) -> Failure {
    let why = match error_reason(&said.err) {
        why if why.is_empty() => last_line(said),
        why => why,
    };
    let message = format!("git could not {what}: {why}");
    match said.err.contains("user.email") {
        true => no_identity_failure(message, None),
        false => Failure::new("git.missing", message).with_hint(
            "see what `git status` says there and whether the disk has room, then repeat the command",
        ),
    }
}

fn no_identity_failure(message: String, other: Option<&Path>) -> Failure {
    let git = git_command_for(other);
    Failure::new("git.no_identity", message).with_hint(format!(
        "tell git who you are, `{git} config user.name NAME` and `{git} config user.email MAIL`, then run again"
    ))
}

/// How a person types git for a repository; none is the one at hand.
pub(crate) fn git_command_for(other: Option<&Path>) -> String {
    match other {
        Some(tree) => format!("git -C {}", quote_word(&tree.to_string_lossy())),
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
    let said = query_git(work_tree, &["var", "GIT_COMMITTER_IDENT"])?;
    if said.ok {
        return Ok(());
    }
    let place = match is_other {
        true => format!("in {}", work_tree.display()),
        false => "here".to_owned(),
    };
    Err(no_identity_failure(
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
pub fn files_ignored_by(
    work_tree: &Path,
    patterns: &str,
    by: &GitControl<'_>,
) -> Result<BTreeSet<String>, Failure> {
    let patterns = format!("--exclude-from={patterns}");
    let named = ["ls-files", "-z", "--others", "--ignored", &patterns];
    let named = run_git(work_tree, &named, by)?;
    if !named.ok {
        return Err(git_failure("look for files", &named));
    }
    if named.out.is_empty() {
        return Ok(BTreeSet::new());
    }
    let args = ["check-ignore", "-z", "--stdin"].map(OsString::from);
    let more = GitCallOptions {
        input: named.out.as_bytes(),
        ..GitCallOptions::default()
    };
    let output = run_git_with(work_tree, &args, &more, by)?;
    match output.exit.code {
        Some(0 | 1) => Ok(split_nul(&GitOutput::from(&output).out)),
        Some(_) | None => Err(git_failure(
            "look for ignored files",
            &GitOutput::from(&output),
        )),
    }
}

/// Those of some files that git tracks, by their paths in the work tree.
///
/// # Errors
///
/// When git fails.
pub fn tracked_files_among(
    work_tree: &Path,
    files: &BTreeSet<String>,
    by: &GitControl<'_>,
) -> Result<BTreeSet<String>, Failure> {
    if files.is_empty() {
        return Ok(BTreeSet::new());
    }
    let literals: Vec<String> = files.iter().map(|file| literal_pathspec(file)).collect();
    let mut args = vec!["ls-files", "-z", "--"];
    args.extend(literals.iter().map(String::as_str));
    let said = run_git(work_tree, &args, by)?;
    match said.ok {
        true => Ok(split_nul(&said.out)),
        false => Err(git_failure("look for tracked files", &said)),
    }
}

/// What stands between zero bytes.
fn split_nul(text: &str) -> BTreeSet<String> {
    let names = text.split('\0').filter(|name| !name.is_empty());
    names.map(str::to_owned).collect()
}

fn temp_folder_failure(error: std::io::Error) -> Failure {
    crate::failure::unwritable_file(&std::env::temp_dir(), error)
}

fn git_call<'a>(work_tree: &'a Path, args: &'a [OsString]) -> ProgramCall<'a> {
    ProgramCall {
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

fn run_git_call(call: &ProgramCall<'_>) -> Result<GitOutput, Failure> {
    let output = process::run_call(call).map_err(|error| start_failure(call.cwd, error))?;
    Ok(GitOutput::from(&output))
}

fn start_failure(folder: &Path, error: StartError) -> Failure {
    if !folder.is_dir() {
        let what = format!("{} is not there any more", folder.display());
        return Failure::new("git.missing", what)
            .with_hint("put it back where it was, or say where it is now, then run again")
            .with_source(error);
    }
    Failure::new("git.missing", "git could not be started")
        .with_hint("install git, or leave `auto-commit` out of the sprint's `config`")
        .with_source(error)
}

impl From<&CallOutput> for GitOutput {
    fn from(output: &CallOutput) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end().to_owned();
        Self {
            ok: output.exit.is_success(),
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
pub fn head_commit(work_tree: &Path) -> Result<Option<String>, Failure> {
    let said = query_git(work_tree, &["rev-parse", "--verify", "--quiet", "HEAD"])?;
    Ok(said.ok.then_some(said.out).filter(|out| !out.is_empty()))
}

/// The root of the work tree that a folder lies in.
///
/// # Errors
///
/// When git cannot be started, or the folder is in no work tree.
pub fn work_tree_root(folder: &Path) -> Result<PathBuf, Failure> {
    let said = query_git(folder, &["rev-parse", "--show-toplevel"])?;
    if said.ok {
        return Ok(PathBuf::from(said.out));
    }
    Err(git_missing_failure(
        "this folder is in no work tree of git",
        &said,
    ))
}

/// A setting of the repository itself; none where it has none of this name.
///
/// # Errors
///
/// When git cannot be started.
pub fn local_setting(work_tree: &Path, key: &str) -> Result<Option<String>, Failure> {
    let said = query_git(work_tree, &["config", "--local", "--get", key])?;
    Ok(said.ok.then_some(said.out))
}

/// Sets a setting of the repository itself, or takes it out.
///
/// # Errors
///
/// When git cannot be started, or cannot write its configuration.
pub fn set_local_setting(work_tree: &Path, key: &str, value: Option<&str>) -> Result<(), Failure> {
    let said = match value {
        Some(value) => query_git(work_tree, &["config", "--local", key, value])?,
        None => query_git(work_tree, &["config", "--local", "--unset", key])?,
    };
    if said.ok {
        return Ok(());
    }
    Err(git_missing_failure(
        &format!("git could not set {key}"),
        &said,
    ))
}

fn git_missing_failure(what: &str, said: &GitOutput) -> Failure {
    Failure::new("git.missing", format!("{what}: {}", said.err))
        .with_hint("work in a git repository whose configuration you may write")
}

/// Files of one folder that are not the user's: those whose names begin so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnFilePrefix {
    /// The folder, relative to the work tree; empty for its root.
    pub folder: String,
    /// What their names begin with.
    pub begin: String,
}

/// Files of a work tree that a commit of its work leaves out.
#[derive(Clone, Copy, Debug, Default)]
pub struct ExcludedFiles<'a> {
    /// Files that piton writes itself.
    pub own: &'a [OwnFilePrefix],
    /// Other files, by their paths in the work tree.
    pub files: &'a [String],
}

/// Pathspecs for everything but piton's own files.
///
/// Patterns, although names would do: `git add` complains of a name that is
/// left out and ignored as well, and adds nothing.
fn pathspecs_without_own(own: &[OwnFilePrefix]) -> Vec<String> {
    let mut specs = vec![
        ":/".to_owned(),
        format!(":(top,exclude,glob){}/**", literal_pattern(".piton")),
    ];
    specs.extend(own.iter().map(|own| {
        let path = Path::new(&own.folder).join(&own.begin);
        format!(
            ":(top,exclude,glob){}*",
            literal_pattern(&path.to_string_lossy())
        )
    }));
    specs
}

/// The same, and these files, by their paths in the work tree, left out as well.
fn pathspecs_without_files(own: &[OwnFilePrefix], files: &[String]) -> Vec<String> {
    let mut specs = pathspecs_without_own(own);
    specs.extend(
        files
            .iter()
            .map(|file| format!(":(top,exclude,glob){}", literal_pattern(file))),
    );
    specs
}

/// A pattern, from its first character on, that fits exactly this.
fn literal_pattern(name: &str) -> String {
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
pub fn uncommitted_changes(
    work_tree: &Path,
    own: &[OwnFilePrefix],
) -> Result<Vec<String>, Failure> {
    changes_matching(work_tree, &pathspecs_without_own(own))
}

/// The same of the files of this repository alone, but for some: what is in another
/// one within it has [`unsaved_repositories`].
///
/// # Errors
///
/// When git cannot be started, or this is no work tree.
pub fn uncommitted_files_without(
    work_tree: &Path,
    files: &[String],
) -> Result<Vec<String>, Failure> {
    let how = ["--untracked-files=all", "--ignore-submodules=all"];
    let mut changed = status_paths(work_tree, &how, &pathspecs_without_files(&[], files))?;
    // Of no other folder git says that it is one.
    changed.retain(|path| !path.trim_end_matches('"').ends_with('/'));
    Ok(changed)
}

/// What git ignores in a work tree, a folder as one.
///
/// # Errors
///
/// When git cannot be started, or this is no work tree.
pub fn ignored_paths(work_tree: &Path) -> Result<Vec<String>, Failure> {
    let said = query_git(work_tree, &["status", "--porcelain", "--ignored"])?;
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
    let said = query_git(work_tree, &args)?;
    let names = said.out.split('\0').filter(|name| !name.is_empty());
    Ok(names.map(str::to_owned).collect())
}

/// The files that git tracks and that have changed since the last commit, `own`
/// files left out.
///
/// # Errors
///
/// When git cannot be started, or this is no work tree.
pub fn tracked_changes(work_tree: &Path, own: &[OwnFilePrefix]) -> Result<Vec<String>, Failure> {
    status_paths(
        work_tree,
        &["--untracked-files=no"],
        &pathspecs_without_own(own),
    )
}

/// The files that git neither tracks nor ignores, `own` files left out.
///
/// # Errors
///
/// When git cannot be started, or this is no work tree.
pub fn untracked_files(work_tree: &Path, own: &[OwnFilePrefix]) -> Result<Vec<String>, Failure> {
    let specs = pathspecs_without_own(own);
    let mut args = vec!["ls-files", "-z", "--others", "--exclude-standard", "--"];
    args.extend(specs.iter().map(String::as_str));
    let said = query_git(work_tree, &args)?;
    if !said.ok {
        return Err(git_failure("look for files", &said));
    }
    let names = said.out.split('\0').filter(|name| !name.is_empty());
    Ok(names.map(str::to_owned).collect())
}

fn changes_matching(work_tree: &Path, specs: &[String]) -> Result<Vec<String>, Failure> {
    status_paths(work_tree, &["--untracked-files=all"], specs)
}

fn status_paths(work_tree: &Path, how: &[&str], specs: &[String]) -> Result<Vec<String>, Failure> {
    let mut args = [&["status", "--porcelain"], how, &["--"]].concat();
    args.extend(specs.iter().map(String::as_str));
    let said = query_git(work_tree, &args)?;
    if !said.ok {
        return Err(Failure::new("git.missing", format!("git status failed: {}", said.err)).with_hint("`auto-commit` needs a git repository: make one, or leave it out of the sprint's `config`"));
    }
    Ok(said
        .out
        .lines()
        .map(|line| line.get(3..).unwrap_or(line).to_owned())
        .collect())
}

/// Commits what has changed, but for some files by their paths in the work tree,
/// with the user's identity and hooks; none when nothing has, unless a merge is
/// under way there. Should piton die meanwhile, git is found by its mark.
///
/// # Errors
///
/// When git cannot be started. A commit that git or a hook refuses is the
/// inner error: what was said.
pub fn commit_without(
    work_tree: &Path,
    message: &str,
    excluded: ExcludedFiles<'_>,
    by: &GitControl<'_>,
) -> Result<Result<Option<String>, String>, Failure> {
    let ExcludedFiles { own, files } = excluded;
    let specs = pathspecs_without_files(own, files);
    let mut add = vec!["add", "--all", "--"];
    add.extend(specs.iter().map(String::as_str));
    let said = retry_while_locked(|| run_git(work_tree, &add, by))?;
    if !said.ok {
        let unborn = unborn_repositories(work_tree)?;
        // Something else may be the reason.
        let mut tried = vec!["add", "--all", "--dry-run", "--"];
        let without = [files, &repository_pathspecs(&unborn)].concat();
        let specs = pathspecs_without_files(own, &without);
        tried.extend(specs.iter().map(String::as_str));
        return Ok(Err(match unborn.first() {
            Some(path) if run_git(work_tree, &tried, by)?.ok => {
                describe_inner_repository(&work_tree.join(path))
            }
            _ => last_line(&said),
        }));
    }
    failpoint::point("git.staged");
    let merges = git_dir(work_tree).is_some_and(|folder| folder.join("MERGE_HEAD").is_file());
    if !merges && query_git(work_tree, &["diff", "--cached", "--quiet"])?.ok {
        return Ok(Ok(None));
    }
    let commit = ["commit", "--quiet", "-m", message];
    let said = retry_while_locked(|| run_git(work_tree, &commit, by))?;
    if !said.ok {
        return Ok(Err(describe_refused_commit(work_tree, &said)));
    }
    Ok(Ok(head_commit(work_tree)?))
}

/// The hooks that can refuse a commit.
const COMMIT_HOOKS: [&str; 3] = ["pre-commit", "prepare-commit-msg", "commit-msg"];

/// What was said when a commit was refused: git does not say whether a hook said it.
fn describe_refused_commit(work_tree: &Path, said: &GitOutput) -> String {
    let line = last_line(said);
    let Ok(folder) = query_git(work_tree, &["rev-parse", "--git-path", "hooks"]) else {
        return line;
    };
    let hooks = COMMIT_HOOKS.map(|name| Path::new(folder.out.trim()).join(name));
    let hooks = hooks.iter().filter(|hook| work_tree.join(hook).is_file());
    let hooks: Vec<String> = hooks.map(|hook| hook.display().to_string()).collect();
    match hooks.as_slice() {
        [] => line,
        hooks => format!("{line} (git says so, or its hook {})", hooks.join(" or ")),
    }
}

/// Why nothing of a work tree is committed while this repository lies in it.
fn describe_inner_repository(inner: &Path) -> String {
    let quoted = quote_word(&inner.join(".git").display().to_string()).into_owned();
    let inner = inner.display();
    format!(
        "{inner} is a repository of its own without a commit, and git adds nothing of it: move its history out with `mv {quoted} FOLDER`, so that its files are committed with the others, or leave it out"
    )
}

/// By which paths these repositories are left out: one that the index does not know has
/// a name of its own kind.
fn repository_pathspecs(repositories: &[String]) -> Vec<String> {
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
pub fn commit_files(
    work_tree: &Path,
    message: &str,
    files: &[String],
) -> Result<(), CommitFailure> {
    let mut args: Vec<OsString> = COMMIT_FILES.iter().map(OsString::from).collect();
    args.extend([message, "--"].map(OsString::from));
    args.extend(
        files
            .iter()
            .map(|file| OsString::from(literal_pathspec(file))),
    );
    let call = git_call(work_tree, &args);
    let said = retry_while_locked(|| {
        let output = process::run_call(&call).map_err(|error| error.to_string())?;
        if output.exit.stopped_by.is_some() {
            let seconds = COMMIT_FILES_TIMEOUT.as_secs();
            return Err(CommitFailure {
                why: format!("git was not done with it in {seconds} s"),
                hangs: true,
            });
        }
        Ok(GitOutput::from(&output))
    })?;
    // Nothing to commit is told on stdout alone.
    if said.ok || said.err.is_empty() {
        return Ok(());
    }
    Err(error_reason(&said.err).into())
}

/// How long is waited each time before git is asked again that found its index
/// locked, in milliseconds: an editor that asks for the state of a work tree
/// holds that lock for a moment.
const LOCK_PAUSES: [u64; 6] = [20, 50, 100, 200, 400, 800];

/// What git says, asked again for some 1.5 s while another git holds its index.
fn retry_while_locked<E>(mut ask: impl FnMut() -> Result<GitOutput, E>) -> Result<GitOutput, E> {
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
pub struct CommitFailure {
    /// In one line.
    pub why: String,
    /// Whether git hung: to ask again is to wait again.
    pub hangs: bool,
}

impl From<String> for CommitFailure {
    fn from(why: String) -> Self {
        Self { why, hangs: false }
    }
}

/// The first line of what git printed that says what is wrong, with the one that
/// it announces. What comes after is mostly advice.
fn error_reason(err: &str) -> String {
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

/// A tracked file as the commit that is checked out has it: see [`text_in_commit`].
#[must_use]
pub fn committed_text(work_tree: &Path, file: &str) -> Option<String> {
    text_in_commit(work_tree, "HEAD", file)
}

/// A tracked file as a commit has it, with the line ends that it has in the work tree,
/// by its path there; none where it has none, or git cannot say.
#[must_use]
pub fn text_in_commit(work_tree: &Path, commit: &str, file: &str) -> Option<String> {
    let object = format!("{commit}:{file}");
    let args = ["cat-file", "--filters", &object].map(OsString::from);
    let output = process::run_call(&git_call(work_tree, &args));
    let output = output.ok().filter(|output| output.exit.is_success())?;
    String::from_utf8(output.stdout).ok()
}

/// Whether a branch has another version of a file, or none, than the commit that is
/// checked out: a switch to it needs the file as it is committed. False where git
/// cannot say.
#[must_use]
pub fn has_other_version(work_tree: &Path, file: &str) -> bool {
    let branches = branch_tips(work_tree);
    if branches.len() < 2 {
        return false;
    }
    let names = std::iter::once("HEAD").chain(branches.keys().map(String::as_str));
    let names: String = names.map(|name| format!("{name}:{file}\n")).collect();
    let args = ["cat-file", "--batch-check=%(objectname)"].map(OsString::from);
    let output = process::run_call(&ProgramCall {
        input: names.as_bytes(),
        ..git_call(work_tree, &args)
    });
    let output = output.ok().filter(|output| output.exit.is_success());
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
    texts_of_objects(work_tree, &names)
}

/// Texts as git stores them, each by its name, `COMMIT:PATH`; none for what there is
/// not, is no text, or git cannot say.
#[must_use]
pub fn texts_of_objects(work_tree: &Path, names: &[String]) -> Vec<Option<String>> {
    let mut texts = vec![None; names.len()];
    if names.is_empty() {
        return texts;
    }
    let names: String = names.iter().map(|name| format!("{name}\n")).collect();
    let args = ["cat-file", "--batch"].map(OsString::from);
    let output = process::run_call(&ProgramCall {
        input: names.as_bytes(),
        ..git_call(work_tree, &args)
    });
    let Some(output) = output.ok().filter(|output| output.exit.is_success()) else {
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
pub fn was_text_committed(work_tree: &Path, file: &Path, words: &str) -> bool {
    !is_file_clean(work_tree, file)
        || has_log_entry(work_tree, file, &[&format!("-S{words}")]) != Some(false)
}

/// Whether a tracked file is as it is committed.
#[must_use]
pub fn is_file_clean(work_tree: &Path, file: &Path) -> bool {
    let file = literal_pathspec(&file.to_string_lossy());
    let changes = ["status", "--porcelain", "--untracked-files=no", "--", &file];
    query_git(work_tree, &changes).is_ok_and(|said| said.ok && said.out.is_empty())
}

/// The first of these files, by their paths in the work tree, that has changes
/// which are not committed; none where git cannot say.
#[must_use]
pub fn find_first_change(work_tree: &Path, files: &BTreeSet<String>) -> Option<String> {
    if files.is_empty() {
        return None;
    }
    let names: Vec<String> = files
        .iter()
        .take(LOOKED_AT_MAX)
        .map(|file| literal_pathspec(file))
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
    let said = query_git(work_tree, &args).ok().filter(|said| said.ok)?;
    let first = said.out.split('\0').next()?;
    first.get(3..).map(str::to_owned)
}

/// Whether a version of a file in which these words stand is committed on some
/// branch, or stashed.
#[must_use]
pub fn is_text_on_any_branch(work_tree: &Path, file: &Path, words: &str) -> bool {
    has_log_entry(work_tree, file, &["--all", &format!("-S{words}")]) == Some(true)
}

/// Whether a commit changed a file that the history of what is checked out has,
/// and that of `since` has not. Where git cannot say, one did.
#[must_use]
pub fn has_changed_since(work_tree: &Path, since: &str, file: &Path) -> bool {
    has_log_entry(work_tree, file, &[&format!("{since}..HEAD")]) != Some(false)
}

/// Whether the history of what is checked out has a merge that the history of
/// `since` has not. Where git cannot say, it has none.
#[must_use]
pub fn has_merged_since(work_tree: &Path, since: &str) -> bool {
    let list = ["rev-list", "-1", "--merges", &format!("{since}..HEAD")];
    query_git(work_tree, &list).is_ok_and(|said| said.ok && !said.out.is_empty())
}

/// Whether a commit changed a file among those that `which` picks; none where git
/// cannot say.
fn has_log_entry(work_tree: &Path, file: &Path, which: &[&str]) -> Option<bool> {
    let file = literal_pathspec(&file.to_string_lossy());
    let log = [&["log", "-1", "--format=%H"], which, &["--", &file]].concat();
    let said = query_git(work_tree, &log).ok().filter(|said| said.ok)?;
    Some(!said.out.is_empty())
}

/// Whether a file is committed on some branch.
#[must_use]
pub fn is_committed_somewhere(work_tree: &Path, file: &Path) -> bool {
    has_log_entry(work_tree, file, &["--branches"]) == Some(true)
}

/// How long git's own lock is taken for that of a process at work.
const LOCK_AGE_MAX: Duration = Duration::from_secs(600);

/// Whether git is changing the work tree: a branch is being checked out, or
/// something merged. What stands in tracked files meanwhile is not what is
/// checked out yet.
#[must_use]
pub fn is_git_updating(work_tree: &Path) -> bool {
    let lock = git_dir(work_tree).map(|folder| folder.join("index.lock"));
    let found = lock.and_then(|lock| std::fs::metadata(lock).ok());
    let age = found.and_then(|found| found.modified().ok()?.elapsed().ok());
    age.is_some_and(|age| age < LOCK_AGE_MAX)
}

/// A pathspec for exactly this file.
fn literal_pathspec(file: &str) -> String {
    format!(":(top,literal){file}")
}

/// The commit that a dead runner may have made with this message on top of `before`.
///
/// # Errors
///
/// When git cannot be started.
pub fn find_commit_by_message(
    work_tree: &Path,
    message: &str,
    before: Option<&str>,
) -> Result<Option<String>, Failure> {
    let now = head_commit(work_tree)?;
    if now.as_deref() == before {
        return Ok(None);
    }
    let said = query_git(work_tree, &["log", "-1", "--format=%P%n%s", "HEAD"])?;
    let mut lines = said.out.lines();
    let parent = lines.next().unwrap_or_default();
    let subject = lines.next().unwrap_or_default();
    let ours = parent == before.unwrap_or_default() && subject == message;
    Ok(now.filter(|_| ours))
}

fn last_line(said: &GitOutput) -> String {
    [&said.err, &said.out]
        .iter()
        .find_map(|text| text.lines().rev().find(|line| !line.trim().is_empty()))
        .unwrap_or("git gave no reason")
        .trim()
        .to_owned()
}

/// A commit, as git shows it in short.
#[must_use]
pub fn short_commit(commit: &str) -> &str {
    commit.get(..12).unwrap_or(commit)
}
