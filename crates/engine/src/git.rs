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

pub use self::checked_out::checked_out;
pub use self::index::is_tracked;
pub use self::reached::reached;
pub use self::trees::{Changed, Missed, Moment, ProofSources, Trees};
pub use self::unfinished::unfinished;
pub use self::user_name::user_name;

/// Long enough for hooks that run a whole test suite.
const TIMEOUT: Duration = Duration::from_secs(3_600);

/// Long enough for the commit of a few files, and for whoever signs it.
const COMMIT_FILES_TIMEOUT: Duration = Duration::from_secs(60);

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
    let said = call(work_tree, &add, Some(by))?;
    if !said.ok {
        return Ok(Err(last_line(&said)));
    }
    fail::point("git.staged");
    if git(work_tree, &["diff", "--cached", "--quiet"])?.ok {
        return Ok(Ok(None));
    }
    let commit = ["commit", "--quiet", "-m", message];
    let said = call(work_tree, &commit, Some(by))?;
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
pub fn commit_files(work_tree: &Path, message: &str, files: &[String]) -> Result<(), String> {
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
    let said = ask(&call).map_err(|failure| failure.message)?;
    // Nothing to commit is told on stdout alone.
    if said.ok || said.err.is_empty() {
        return Ok(());
    }
    Err(last_line(&said))
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
