//! The few things that piton asks of git, by starting the user's own.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use crate::fail;
use crate::failure::Failure;
use crate::process::{self, Call};

/// Long enough for hooks that run a whole test suite.
const TIMEOUT: Duration = Duration::from_secs(3_600);

/// What git said.
struct Said {
    ok: bool,
    out: String,
    err: String,
}

fn git(work_tree: &Path, args: &[&str]) -> Result<Said, Failure> {
    let args: Vec<OsString> = args.iter().map(OsString::from).collect();
    let call = Call {
        program: "git",
        args: &args,
        cwd: work_tree,
        env: &[],
        timeout: TIMEOUT,
    };
    let output = process::output(&call).map_err(|error| {
        Failure::new("git.missing", "git could not be started")
            .hint("install git, or leave `auto-commit` out of the sprint's `config`")
            .because(error)
    })?;
    Ok(Said {
        ok: output.exit.success(),
        out: String::from_utf8_lossy(&output.stdout)
            .trim_end()
            .to_owned(),
        err: String::from_utf8_lossy(&output.stderr)
            .trim_end()
            .to_owned(),
    })
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

/// Pathspecs for everything but piton's own files.
fn but(own: &[String]) -> Vec<String> {
    let mut specs = vec![":/".to_owned(), ":(top,exclude).piton".to_owned()];
    specs.extend(
        own.iter()
            .map(|path| format!(":(top,exclude,literal){path}")),
    );
    specs
}

/// What has changed and is not committed, a path a line, `own` files left out.
///
/// # Errors
///
/// When git cannot be started, or this is no work tree.
pub fn changes(work_tree: &Path, own: &[String]) -> Result<Vec<String>, Failure> {
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
/// nothing has.
///
/// # Errors
///
/// When git cannot be started. A commit that git or a hook refuses is the
/// inner error: what was said.
pub fn commit(
    work_tree: &Path,
    message: &str,
    own: &[String],
) -> Result<Result<Option<String>, String>, Failure> {
    let specs = but(own);
    let mut add = vec!["add", "--all", "--"];
    add.extend(specs.iter().map(String::as_str));
    let said = git(work_tree, &add)?;
    if !said.ok {
        return Ok(Err(last_line(&said)));
    }
    fail::point("git.staged");
    if git(work_tree, &["diff", "--cached", "--quiet"])?.ok {
        return Ok(Ok(None));
    }
    let said = git(work_tree, &["commit", "--quiet", "-m", message])?;
    if !said.ok {
        return Ok(Err(last_line(&said)));
    }
    Ok(Ok(head(work_tree)?))
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
