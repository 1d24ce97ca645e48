//! Which commits the history of `HEAD` has, or has the like of.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use super::{Said, ask};
use crate::failure::Failure;
use crate::process::Call;

/// Long enough to compare the changes of thousands of commits.
const TIMEOUT: Duration = Duration::from_secs(60);

/// What the history of a commit has of others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reached {
    /// It is one of these, or descends from them.
    pub own: BTreeSet<String>,
    /// It has the like of these: they were rebased or cherry-picked (the same
    /// change), or squashed (the same tree).
    pub alike: BTreeSet<String>,
}

/// What the history of `head` has of the `commits`, whole names of objects. One
/// git process, unless git does not have one of them any more.
///
/// # Errors
///
/// When git cannot be started, or fails.
pub fn reached(
    work_tree: &Path,
    head: &str,
    commits: &BTreeSet<String>,
) -> Result<Reached, Failure> {
    let said = log(work_tree, head, commits)?;
    if said.ok {
        return Ok(among(commits, head, &said.out));
    }
    let there = existing(work_tree, commits)?;
    if there.len() == commits.len() {
        let what = format!("git log failed: {}", said.err);
        return Err(
            Failure::new("git.missing", what).hint("see what `git status` says in this work tree")
        );
    }
    if there.is_empty() {
        return Ok(Reached::default());
    }
    reached(work_tree, head, &there)
}

fn log(work_tree: &Path, head: &str, commits: &BTreeSet<String>) -> Result<Said, Failure> {
    let mut args = vec![
        "log".to_owned(),
        "--left-right".to_owned(),
        "--cherry-mark".to_owned(),
        "--format=%m %H %T".to_owned(),
    ];
    args.extend(commits.iter().map(|commit| format!("{commit}...{head}")));
    args.push("--".to_owned());
    run(work_tree, &args, &[])
}

/// Those of the commits that git has.
fn existing(work_tree: &Path, commits: &BTreeSet<String>) -> Result<BTreeSet<String>, Failure> {
    let args = ["cat-file", "--batch-check=%(objectname)"].map(str::to_owned);
    let names: String = commits.iter().flat_map(|name| [name, "\n"]).collect();
    let said = run(work_tree, &args, names.as_bytes())?;
    // Of one that is not there it says `NAME missing`.
    let found = said.out.lines().map(str::to_owned);
    Ok(found.filter(|line| commits.contains(line)).collect())
}

fn run(work_tree: &Path, args: &[String], input: &[u8]) -> Result<Said, Failure> {
    ask(&Call {
        program: "git",
        args: &args.iter().map(OsString::from).collect::<Vec<_>>(),
        cwd: work_tree,
        input,
        env: &[],
        mark: None,
        stop: None,
        timeout: TIMEOUT,
    })
}

/// What a log of both sides says: `<` is only beside `head`, `>` only at it, and
/// `=` has its like on the other side. What it does not list is on both.
fn among(commits: &BTreeSet<String>, head: &str, log: &str) -> Reached {
    let mut aside: HashMap<&str, &str> = HashMap::new();
    let mut alike: HashSet<&str> = HashSet::new();
    let mut trees: HashSet<&str> = HashSet::new();
    for line in log.lines() {
        let mut words = line.split(' ');
        let (Some(mark), Some(commit), Some(tree)) = (words.next(), words.next(), words.next())
        else {
            continue;
        };
        match mark {
            "<" => drop(aside.insert(commit, tree)),
            ">" => drop(trees.insert(tree)),
            _ => drop(alike.insert(commit)),
        }
    }
    let mut reached = Reached::default();
    for commit in commits {
        let tree = aside.get(commit.as_str());
        let is_alike =
            |commit: &str| alike.contains(commit) || tree.is_some_and(|tree| trees.contains(tree));
        if commit != head && is_alike(commit) {
            reached.alike.insert(commit.clone());
        } else if commit == head || tree.is_none() {
            reached.own.insert(commit.clone());
        }
    }
    reached
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    struct Repository(tempfile::TempDir);

    impl Repository {
        fn new() -> Self {
            let repository = Self(tempfile::tempdir().expect("a folder"));
            repository.git(&["init", "-q", "-b", "main"]);
            repository.commit("begin");
            repository
        }

        #[expect(clippy::disallowed_methods, reason = "git makes the histories")]
        fn git(&self, args: &[&str]) -> String {
            let who = ["-c", "user.name=ada", "-c", "user.email=ada@example.org"];
            let mut git = Command::new("git");
            let output = git.args(who).args(args).current_dir(&self.0).output();
            let output = output.expect("git is installed");
            assert!(output.status.success(), "{args:?}");
            String::from_utf8_lossy(&output.stdout).trim().to_owned()
        }

        /// A commit of a file of its own.
        fn commit(&self, name: &str) -> String {
            std::fs::write(self.0.path().join(name), name).expect("written");
            self.git(&["add", "-A"]);
            self.git(&["commit", "-qm", name]);
            self.git(&["rev-parse", "HEAD"])
        }

        #[track_caller]
        fn check(&self, commits: &[(&String, bool)]) {
            let head = self.git(&["rev-parse", "HEAD"]);
            let all = commits
                .iter()
                .map(|(commit, _)| (*commit).clone())
                .collect();
            let found = reached(self.0.path(), &head, &all).expect("git answers");
            for (nth, (commit, is_here)) in commits.iter().enumerate() {
                let is_found = found.own.contains(*commit) || found.alike.contains(*commit);
                assert_eq!(is_found, *is_here, "commit {nth}");
            }
        }
    }

    #[test]
    fn a_commit_is_here_once_it_is_merged() {
        let repository = Repository::new();
        let below = repository.git(&["rev-parse", "HEAD"]);
        repository.git(&["switch", "-qc", "feature"]);
        let (first, second) = (repository.commit("one"), repository.commit("two"));
        repository.check(&[(&first, true), (&second, true), (&below, true)]);
        repository.git(&["switch", "-q", "main"]);
        repository.check(&[(&first, false), (&second, false), (&below, true)]);
        let own = repository.commit("own");
        repository.check(&[(&first, false), (&own, true)]);
        repository.git(&["merge", "-q", "-m", "both", &first]);
        repository.check(&[
            (&first, true),
            (&second, false),
            (&below, true),
            (&own, true),
        ]);
    }

    #[test]
    fn a_commit_that_was_picked_rebased_or_squashed_is_here_under_another_name() {
        let repository = Repository::new();
        repository.git(&["switch", "-qc", "feature"]);
        let (first, second) = (repository.commit("one"), repository.commit("two"));
        let third = repository.commit("three");
        repository.git(&["switch", "-q", "main"]);
        repository.commit("own");
        repository.git(&["cherry-pick", &second]);
        repository.check(&[(&first, false), (&second, true), (&third, false)]);
        let head = repository.git(&["rev-parse", "HEAD"]);
        let found = reached(repository.0.path(), &head, &[second.clone()].into());
        assert!(found.expect("git answers").own.is_empty(), "not itself");
        repository.git(&["switch", "-qc", "rebased", "feature"]);
        repository.git(&["rebase", "-q", "main"]);
        repository.check(&[(&first, true), (&second, true), (&third, true)]);
        repository.git(&["switch", "-qc", "squashed", "feature~3"]);
        repository.git(&["merge", "-q", "--squash", "feature"]);
        repository.git(&["commit", "-qm", "all of it"]);
        repository.check(&[(&third, true)]);
    }

    #[test]
    fn a_commit_that_git_has_no_more_is_not_here() {
        let repository = Repository::new();
        let here = repository.commit("one");
        let gone = "0123456789012345678901234567890123456789".to_owned();
        repository.check(&[(&gone, false)]);
        repository.check(&[(&gone, false), (&here, true)]);
    }
}
