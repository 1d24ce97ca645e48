//! The few things that piton asks of git, by starting the user's own.

mod checked_out;
mod index;
mod reached;
mod settings;
mod trees;
mod unfinished;
mod user_name;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::fail;
use crate::failure::Failure;
use crate::process::{self, Call, Output, Stop};
use crate::world::pause;

pub(crate) use self::checked_out::git_dir;
pub use self::checked_out::{checked_out, has_remotes};
pub use self::index::is_tracked;
pub use self::reached::{Reached, reached};
pub use self::trees::{Changed, Missed, Moment, ProofSources, Trees};
pub use self::unfinished::unfinished;
pub use self::user_name::user_name;

/// Long enough for hooks that run a whole test suite.
const TIMEOUT: Duration = Duration::from_secs(3_600);

/// Long enough for the commit of a few files, also where it is signed; whoever
/// has to type for that is not there at night.
const COMMIT_FILES_TIMEOUT: Duration = Duration::from_secs(20);

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

fn git(work_tree: &Path, args: &[&str]) -> Result<Said, Failure> {
    call(work_tree, args, None)
}

/// The same, to be found and ended while it works.
fn call(work_tree: &Path, args: &[&str], by: Option<&By<'_>>) -> Result<Said, Failure> {
    ask(&Call {
        program: "git",
        args: &args.iter().map(OsString::from).collect::<Vec<_>>(),
        cwd: work_tree,
        input: &[],
        env: &[],
        mark: by.map(|by| by.mark),
        stop: by.map(|by| by.stop),
        timeout: TIMEOUT,
    })
}

fn ask(call: &Call<'_>) -> Result<Said, Failure> {
    let output = process::output(call).map_err(|error| {
        Failure::new("git.missing", "git could not be started")
            .hint("install git, or leave `auto-commit` out of the sprint's `config`")
            .because(error)
    })?;
    Ok(Said::from(&output))
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
    let specs = but(own);
    let mut args = vec!["status", "--porcelain", "--untracked-files=all", "--"];
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
    let specs = but(own);
    let mut add = vec!["add", "--all", "--"];
    add.extend(specs.iter().map(String::as_str));
    let said = past_lock(|| call(work_tree, &add, Some(by)))?;
    if !said.ok {
        return Ok(Err(last_line(&said)));
    }
    fail::point("git.staged");
    if git(work_tree, &["diff", "--cached", "--quiet"])?.ok {
        return Ok(Ok(None));
    }
    let commit = ["commit", "--quiet", "-m", message];
    let said = past_lock(|| call(work_tree, &commit, Some(by)))?;
    if !said.ok {
        return Ok(Err(last_line(&said)));
    }
    Ok(Ok(head(work_tree)?))
}

/// Commits these files as they stand, tracked ones by their paths in the work
/// tree, and nothing else. What has not changed is no reason to complain.
///
/// Hooks that look at what is committed are passed over: these files hold what
/// piton noted, and a hook that runs a test suite would run it for each item.
///
/// # Errors
///
/// What git said when it could not.
pub fn commit_files(work_tree: &Path, message: &str, files: &[String]) -> Result<(), CommitMissed> {
    let mut args = vec![
        "commit",
        "--quiet",
        "--no-verify",
        "--only",
        "-m",
        message,
        "--",
    ];
    let names: Vec<String> = files.iter().map(|file| literal(file)).collect();
    args.extend(names.iter().map(String::as_str));
    let call = Call {
        program: "git",
        args: &args.iter().map(OsString::from).collect::<Vec<_>>(),
        cwd: work_tree,
        input: &[],
        env: &[],
        mark: None,
        stop: None,
        timeout: COMMIT_FILES_TIMEOUT,
    };
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

/// A tracked file as the commit that is checked out has it, by its path in the
/// work tree; none where it has none, or git cannot say.
#[must_use]
pub fn committed_text(work_tree: &Path, file: &str) -> Option<String> {
    let output = process::output(&Call {
        program: "git",
        args: &["show", &format!("HEAD:{file}")].map(OsString::from),
        cwd: work_tree,
        input: &[],
        env: &[],
        mark: None,
        stop: None,
        timeout: COMMIT_FILES_TIMEOUT,
    });
    let output = output.ok().filter(|output| output.exit.success())?;
    String::from_utf8(output.stdout).ok()
}

/// Whether a tracked file has changes that are not committed, or the history of
/// `HEAD` has a version of it in which these words stand. Where git cannot say, it
/// has.
#[must_use]
pub fn has_been_committed(work_tree: &Path, file: &Path, words: &str) -> bool {
    let file = literal(&file.to_string_lossy());
    let changes = ["status", "--porcelain", "--untracked-files=no", "--", &file];
    let words = format!("-S{words}");
    let history = ["log", "-1", "--format=%H", &words, "--", &file];
    let is_silent = |args: &[&str]| {
        let said = git(work_tree, args);
        said.is_ok_and(|said| said.ok && said.out.is_empty())
    };
    !is_silent(&changes) || !is_silent(&history)
}

/// Whether a tracked file is as it is committed, and another version of it in
/// which these words stand is committed on some branch, or stashed: git took the
/// words along.
#[must_use]
pub fn has_taken_along(work_tree: &Path, file: &Path, words: &str) -> bool {
    let file = literal(&file.to_string_lossy());
    let changes = ["status", "--porcelain", "--untracked-files=no", "--", &file];
    let is_clean = git(work_tree, &changes).is_ok_and(|said| said.ok && said.out.is_empty());
    let words = format!("-S{words}");
    let history = ["log", "--all", "-1", "--format=%H", &words, "--", &file];
    is_clean && git(work_tree, &history).is_ok_and(|said| said.ok && !said.out.is_empty())
}

/// Whether a file is committed on some branch.
#[must_use]
pub fn is_committed_somewhere(work_tree: &Path, file: &Path) -> bool {
    let file = literal(&file.to_string_lossy());
    let history = ["log", "--branches", "-1", "--format=%H", "--", &file];
    git(work_tree, &history).is_ok_and(|said| said.ok && !said.out.is_empty())
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
