//! Which commits the history of `HEAD` has, or has the like of.

use std::collections::{BTreeSet, HashMap};
use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{GitOutput, run_git_call};
use crate::failure::Failure;
use crate::process::ProgramCall;

/// Long enough to compare the changes of thousands of commits.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The commits of some work, oldest first. The last one may build on the others.
pub type WorkCommits = Vec<String>;

/// Where some work is, seen from a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum WorkPosition {
    /// The commit is the last one of the work, or descends from it.
    Own,
    /// The history of the commit has the like of it: it was rebased or
    /// cherry-picked (the same changes), or squashed (the same tree).
    Alike,
    /// It is ahead: the commit is one on which it was built.
    Ahead,
    /// It is on another line of commits.
    Aside,
    /// Git has its last commit no more.
    Gone,
}

/// Where each work is, seen from `head`; the commits are whole names of objects.
/// One git process, and one more for each work that is elsewhere where there are
/// several: what `git log` finds alike depends on where two lines part.
///
/// # Errors
///
/// When git cannot be started, or fails.
pub fn locate_works(
    work_tree: &Path,
    head: &str,
    works: &[&WorkCommits],
) -> Result<Vec<WorkPosition>, Failure> {
    let last = |work: &&WorkCommits| work.last().cloned();
    let tips: BTreeSet<String> = works.iter().filter_map(last).collect();
    if let [work] = works {
        return Ok(vec![locate_work(work_tree, head, work)?]);
    }
    let Some(beside) = commits_not_in_head(work_tree, head, &tips)? else {
        let one = |work: &&WorkCommits| locate_work(work_tree, head, work);
        return works.iter().map(one).collect();
    };
    let is_beside = |work: &WorkCommits| work.last().is_some_and(|tip| beside.contains(tip));
    let one = |work: &&WorkCommits| match is_beside(work) {
        true => locate_work(work_tree, head, work),
        false => Ok(WorkPosition::Own),
    };
    works.iter().map(one).collect()
}

/// Those of the commits that the history of `head` does not have; none where git
/// does not have one of them.
fn commits_not_in_head(
    work_tree: &Path,
    head: &str,
    tips: &BTreeSet<String>,
) -> Result<Option<BTreeSet<String>>, Failure> {
    let mut args = vec!["rev-list".to_owned()];
    args.extend(tips.iter().cloned());
    args.extend([format!("^{head}"), "--".to_owned()]);
    let said = query_with_input(work_tree, &args, &[])?;
    let found = said.out.lines().map(str::to_owned);
    Ok(said
        .ok
        .then(|| found.filter(|line| tips.contains(line)).collect()))
}

fn locate_work(work_tree: &Path, head: &str, work: &WorkCommits) -> Result<WorkPosition, Failure> {
    let Some(tip) = work.last() else {
        return Ok(WorkPosition::Gone);
    };
    if tip == head {
        return Ok(WorkPosition::Own);
    }
    let args = [
        "log",
        "--left-right",
        "--cherry-mark",
        "--boundary",
        "--format=%m %H %T %P",
        &format!("{tip}...{head}"),
        "--",
    ];
    let said = query_with_input(work_tree, &args.map(str::to_owned), &[])?;
    if said.ok {
        return Ok(position_from_log(work, &said.out));
    }
    if !has_commit(work_tree, tip)? {
        return Ok(WorkPosition::Gone);
    }
    let what = format!("git log failed: {}", said.err);
    Err(Failure::new("git.missing", what).with_hint("see what `git status` says in this work tree"))
}

/// Whether git has a commit.
///
/// # Errors
///
/// When git cannot be started.
pub fn has_commit(work_tree: &Path, commit: &str) -> Result<bool, Failure> {
    let args = ["cat-file", "-e", &format!("{commit}^{{commit}}")].map(str::to_owned);
    Ok(query_with_input(work_tree, &args, &[])?.ok)
}

fn query_with_input(work_tree: &Path, args: &[String], input: &[u8]) -> Result<GitOutput, Failure> {
    run_git_call(&ProgramCall {
        program: "git",
        args: &args.iter().map(OsString::from).collect::<Vec<_>>(),
        cwd: work_tree,
        input,
        env: &[("GIT_OPTIONAL_LOCKS", "0")],
        mark: None,
        stop: None,
        timeout: TIMEOUT,
    })
}

/// What a log of both sides says: `<` is only beside `head`, `>` only at it, `=`
/// has its like on the other side, and `-` is where both parted. What it does not
/// list is on both.
fn position_from_log(work: &WorkCommits, log: &str) -> WorkPosition {
    let mut sides: HashMap<&str, &str> = HashMap::new();
    let mut trees: HashMap<&str, &str> = HashMap::new();
    let mut parents: HashMap<&str, &str> = HashMap::new();
    for line in log.lines() {
        let mut words = line.split(' ');
        let (Some(side), Some(commit), Some(tree)) = (words.next(), words.next(), words.next())
        else {
            continue;
        };
        sides.insert(commit, side);
        trees.insert(commit, tree);
        parents.extend(words.next().map(|parent| (commit, parent)));
    }
    // Any two commits that change nothing are alike.
    let changes = |commit: &str| {
        let before = parents.get(commit).and_then(|parent| trees.get(parent));
        before.is_none_or(|before| trees.get(commit) != Some(before))
    };
    let side = |commit: &String| sides.get(commit.as_str()).copied();
    let Some(tip) = work
        .last()
        .filter(|tip| matches!(side(tip), Some("<" | "=")))
    else {
        return WorkPosition::Own;
    };
    // What its last commit does not build on was taken back.
    let mut told = work.iter().filter(|commit| changes(commit));
    let is_picked = told.clone().any(|commit| side(commit) == Some("="))
        && told.all(|commit| side(commit) != Some("<"));
    let is_squashed = || {
        let at_head = sides.iter().filter(|(_, side)| **side == ">");
        let mut trees_at_head = at_head.filter_map(|(commit, _)| trees.get(commit));
        trees_at_head.any(|tree| trees.get(tip.as_str()) == Some(tree))
    };
    if is_picked || is_squashed() {
        return WorkPosition::Alike;
    }
    match sides.values().any(|side| *side == ">") {
        true => WorkPosition::Aside,
        false => WorkPosition::Ahead,
    }
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
            let works: Vec<WorkCommits> = commits
                .iter()
                .map(|(commit, _)| vec![(*commit).clone()])
                .collect();
            let all: Vec<&WorkCommits> = works.iter().collect();
            let found = locate_works(self.0.path(), &head, &all).expect("git answers");
            for (nth, (work, (_, is_here))) in all.iter().zip(commits).enumerate() {
                assert_eq!(is_here_by(found[nth]), *is_here, "commit {nth}");
                let alone = locate_works(self.0.path(), &head, &[work]).expect("git answers");
                assert_eq!(alone, [found[nth]], "commit {nth}, alone");
            }
        }

        fn whereabouts_of(&self, work: &[&String]) -> WorkPosition {
            let head = self.git(&["rev-parse", "HEAD"]);
            let work: WorkCommits = work.iter().map(|commit| (*commit).clone()).collect();
            locate_works(self.0.path(), &head, &[&work]).expect("git answers")[0]
        }
    }

    fn is_here_by(whereabouts: WorkPosition) -> bool {
        matches!(whereabouts, WorkPosition::Own | WorkPosition::Alike)
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
        assert_eq!(repository.whereabouts_of(&[&second]), WorkPosition::Alike);
        assert_eq!(
            repository.whereabouts_of(&[&second, &third]),
            WorkPosition::Aside
        );
        assert_eq!(
            repository.whereabouts_of(&[&first, &second]),
            WorkPosition::Aside
        );
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

    #[test]
    fn a_branch_that_parted_later_hides_nothing() {
        let repository = Repository::new();
        repository.git(&["switch", "-qc", "early"]);
        let early = repository.commit("early");
        repository.git(&["switch", "-q", "main"]);
        repository.commit("own");
        repository.git(&["cherry-pick", &early]);
        repository.git(&["switch", "-qc", "late"]);
        let late = repository.commit("late");
        repository.git(&["switch", "-q", "main"]);
        repository.commit("more");
        repository.check(&[(&early, true), (&late, false)]);
    }

    #[test]
    fn a_commit_that_changes_nothing_is_no_work() {
        let repository = Repository::new();
        let empty = |words: &str| {
            repository.git(&["commit", "-qm", words, "--allow-empty"]);
            repository.git(&["rev-parse", "HEAD"])
        };
        repository.git(&["switch", "-qc", "feature"]);
        let (work, closing) = (repository.commit("one"), empty("done"));
        repository.git(&["switch", "-q", "main"]);
        repository.commit("own");
        empty("build it");
        assert_eq!(
            repository.whereabouts_of(&[&work, &closing]),
            WorkPosition::Aside
        );
        assert_eq!(repository.whereabouts_of(&[&closing]), WorkPosition::Aside);
        repository.git(&["cherry-pick", &work]);
        assert_eq!(
            repository.whereabouts_of(&[&work, &closing]),
            WorkPosition::Alike
        );
    }

    #[test]
    fn what_was_built_on_what_is_checked_out_is_ahead() {
        let repository = Repository::new();
        let (first, second) = (repository.commit("one"), repository.commit("two"));
        repository.git(&["reset", "-q", "--hard", &first]);
        assert_eq!(repository.whereabouts_of(&[&second]), WorkPosition::Ahead);
        repository.commit("other");
        assert_eq!(repository.whereabouts_of(&[&second]), WorkPosition::Aside);
    }
}
