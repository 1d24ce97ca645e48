//! Merges in git's objects, and refs that are moved, with a real git.

use std::fs;
use std::thread;
use std::time::Duration;

use piton_engine::git::{
    ExcludedFiles, GitMergeOutcome, MergeSpec, OwnPaths, RefMove, RefStep, begin_merge,
    files_with_conflict_markers, first_parent_commits, has_work_of, is_built_on, merge_commits,
    move_ref, read_ref, reopen_saved_work, reopen_saved_work_in_merge, restore_worktree, save_work,
};

use crate::repository::{Caller, Repository, git, write_script};

const TARGET: &str = "refs/heads/piton/demo";

const NO_PATHS: &OwnPaths = &OwnPaths {
    plans: Vec::new(),
    natives: Vec::new(),
};

/// Files of plans at these paths.
fn plans(paths: &[&str]) -> OwnPaths {
    OwnPaths {
        plans: paths.iter().copied().map(str::to_owned).collect(),
        natives: Vec::new(),
    }
}

fn tree_of(repository: &Repository, commit: &str) -> String {
    repository.git(&["rev-parse", &format!("{commit}^{{tree}}")])
}

/// Two lines of commits from one base: `main`, and what a unit did.
struct Sides {
    repository: Repository,
    caller: Caller,
    onto: String,
    work: String,
    /// The tree of the work, which its check saw.
    checked: String,
}

impl Sides {
    fn new(
        base: impl Fn(&Repository),
        ours: impl Fn(&Repository),
        theirs: impl Fn(&Repository),
    ) -> Self {
        let repository = Repository::new();
        base(&repository);
        let base = repository.commit("base");
        theirs(&repository);
        let work = repository.commit("work");
        repository.git(&["checkout", "--quiet", "-B", "main", &base]);
        ours(&repository);
        let onto = repository.commit("onto");
        Self {
            checked: tree_of(&repository, &work),
            repository,
            caller: Caller::new(),
            onto,
            work,
        }
    }

    /// A unit that wrote one file, merged onto a commit with another one.
    fn apart() -> Self {
        Self::new(
            |repository| repository.write("base", "1\n"),
            |repository| repository.write("ours", "1\n"),
            |repository| repository.write("theirs", "1\n"),
        )
    }

    fn order(&self) -> MergeSpec<'_> {
        MergeSpec {
            onto: &self.onto,
            work: &self.work,
            own: NO_PATHS,
            put: &[],
            checked: Some(&self.checked),
            message: "Merge theirs",
        }
    }

    #[track_caller]
    fn merge(&self, order: &MergeSpec<'_>) -> GitMergeOutcome {
        merge_commits(self.repository.path(), order, &self.caller.by()).expect("git works")
    }

    /// The commit of a merge, its tree, and whether that is the tree of the work.
    #[track_caller]
    fn made(&self, order: &MergeSpec<'_>) -> (String, String, bool) {
        match self.merge(order) {
            GitMergeOutcome::Made {
                commit,
                tree,
                is_checked,
            } => (commit, tree, is_checked),
            other @ (GitMergeOutcome::Conflict { .. } | GitMergeOutcome::Nothing { .. }) => {
                panic!("nothing was made: {other:?}")
            }
        }
    }

    /// A commit that has all of the work already.
    fn nothing(&self, onto: &str) -> GitMergeOutcome {
        let tree = format!("{onto}^{{tree}}");
        GitMergeOutcome::Nothing {
            onto: onto.to_owned(),
            tree: self.repository.git(&["rev-parse", &tree]),
        }
    }

    #[track_caller]
    fn show(&self, commit: &str, path: &str) -> String {
        self.repository.git(&["show", &format!("{commit}:{path}")])
    }
}

#[test]
fn a_merge_is_a_commit_of_both_sides_in_no_branch() {
    let sides = Sides::apart();
    sides.repository.write("untracked", "1");
    let refs = sides.repository.git(&["for-each-ref"]);
    let (commit, tree, is_checked) = sides.made(&sides.order());
    let said = sides
        .repository
        .git(&["log", "-1", "--format=%P|%T|%an|%s", &commit]);
    let (onto, work) = (&sides.onto, &sides.work);
    assert_eq!(said, format!("{onto} {work}|{tree}|Ada|Merge theirs"));
    assert!(!is_checked);
    let names = sides.repository.git(&["ls-tree", "--name-only", &commit]);
    assert_eq!(names, "base\nours\ntheirs");
    assert_eq!(sides.repository.git(&["for-each-ref"]), refs);
    assert_eq!(sides.repository.git(&["rev-parse", "HEAD"]), sides.onto);
    let status = sides.repository.git(&["status", "--porcelain"]);
    assert_eq!(status, "?? untracked", "nor is a work tree touched");
}

#[test]
fn a_merge_onto_what_the_work_was_built_on_has_the_tree_that_its_check_saw() {
    let sides = Sides::apart();
    let base = sides.repository.git(&["rev-parse", "HEAD~1"]);
    let order = MergeSpec {
        onto: &base,
        ..sides.order()
    };
    let (commit, _, is_checked) = sides.made(&order);
    assert!(is_checked);
    // A hook of the user's committed more than the check saw, or nobody knows what.
    let base_tree = tree_of(&sides.repository, &base);
    for checked in [Some(base_tree.as_str()), None] {
        let (.., is_checked) = sides.made(&MergeSpec { checked, ..order });
        assert!(!is_checked, "{checked:?}");
    }
    // It is a merge all the same: the line of the branch has one commit a unit.
    let parents = sides.repository.git(&["log", "-1", "--format=%P", &commit]);
    assert_eq!(parents, format!("{base} {}", sides.work));
}

#[test]
fn what_is_there_already_is_not_merged() {
    let sides = Sides::apart();
    let empty = Sides::new(
        |repository| repository.write("a", "1\n"),
        |repository| repository.write("b", "1\n"),
        |_| {},
    );
    let same = Sides::new(
        |repository| repository.write("a", "1\n"),
        |repository| repository.write("a", "2\n"),
        |repository| repository.write("a", "2\n"),
    );
    let base = sides.repository.git(&["rev-parse", "HEAD~1"]);
    for work in [&sides.onto, &base] {
        let order = MergeSpec {
            work,
            ..sides.order()
        };
        assert_eq!(sides.merge(&order), sides.nothing(order.onto));
    }
    for sides in [empty, same] {
        assert_eq!(sides.merge(&sides.order()), sides.nothing(&sides.onto));
    }
}

#[track_caller]
fn check_conflict(
    base: impl Fn(&Repository),
    ours: impl Fn(&Repository),
    theirs: impl Fn(&Repository),
    files: &[&str],
) {
    let sides = Sides::new(base, ours, theirs);
    let GitMergeOutcome::Conflict { files: found } = sides.merge(&sides.order()) else {
        panic!("both sides changed the same");
    };
    assert_eq!(found, files);
}

#[test]
fn every_kind_of_conflict_names_its_files() {
    let text = |text: &'static str| move |repository: &Repository| repository.write("a b", text);
    check_conflict(text("1\n"), text("2\n"), text("3\n"), &["a b"]);
    check_conflict(|_| {}, text("2\n"), text("3\n"), &["a b"]);
    check_conflict(text("1\0"), text("2\0"), text("3\0"), &["a b"]);
    let removed = |repository: &Repository| {
        repository.git(&["rm", "--quiet", "a b"]);
    };
    check_conflict(text("1\n"), removed, text("3\n"), &["a b"]);
    let moved = |name: &'static str| {
        move |repository: &Repository| {
            repository.git(&["mv", "a b", name]);
        }
    };
    let long = "one\ntwo\nthree\nfour\nfive\n";
    check_conflict(text(long), moved("c"), moved("d"), &["a b", "c", "d"]);
    // A file on one side is a folder on the other.
    let folder = |repository: &Repository| repository.write("x/y", "1\n");
    let file = |repository: &Repository| repository.write("x", "1\n");
    let sides = Sides::new(|_| {}, folder, file);
    assert!(matches!(
        sides.merge(&sides.order()),
        GitMergeOutcome::Conflict { .. }
    ));
}

#[test]
fn two_versions_of_a_submodule_are_a_conflict() {
    let inner = Repository::new();
    let versions: Vec<String> = (0..3)
        .map(|version| {
            inner.write("a", &version.to_string());
            inner.commit("version")
        })
        .collect();
    let at = |version: usize| {
        let entry = format!("160000,{},sub", versions[version]);
        move |repository: &Repository| {
            repository.git(&["update-index", "--add", "--cacheinfo", &entry]);
            repository.git(&["commit", "--quiet", "-m", "sub"]);
            // `add --all` would take it out again: nothing is checked out there.
            fs::create_dir_all(repository.path().join("sub")).expect("a folder");
        }
    };
    check_conflict(at(0), at(1), at(2), &["sub"]);
}

#[test]
fn nothing_of_the_work_counts_in_files_of_plans() {
    let plan = |text: &'static str| {
        move |repository: &Repository| {
            repository.write("plans/a [1].md", text);
            repository.write(text.trim(), "1\n");
        }
    };
    let sides = Sides::new(plan("base\n"), plan("onto\n"), |repository| {
        plan("work\n")(repository);
        repository.write("plans/new.md", "1\n");
    });
    let paths = plans(&["plans/a [1].md", "plans/new.md", "plans/never.md"]);
    assert!(matches!(
        sides.merge(&sides.order()),
        GitMergeOutcome::Conflict { .. }
    ));
    let order = MergeSpec {
        own: &paths,
        ..sides.order()
    };
    let (commit, _, _) = sides.made(&order);
    assert_eq!(sides.show(&commit, "plans/a [1].md"), "onto");
    let names = sides
        .repository
        .git(&["ls-tree", "-r", "--name-only", &commit]);
    assert_eq!(names, "base\nonto\nplans/a [1].md\nwork");
    // The commit of the work itself is the second parent.
    let second = sides.repository.git(&["rev-parse", &format!("{commit}^2")]);
    assert_eq!(second, sides.work);

    // What is put there, is there whatever it was, and is no difference.
    let base = sides.repository.git(&["rev-parse", "HEAD~1"]);
    let put = [(paths.plans[0].clone(), b"marked\n".to_vec())];
    let order = MergeSpec {
        onto: &base,
        put: &put,
        ..order
    };
    let (commit, _, is_checked) = sides.made(&order);
    assert_eq!(sides.show(&commit, "plans/a [1].md"), "marked");
    assert!(is_checked);

    // A mark alone is a merge, too.
    let order = MergeSpec {
        work: &base,
        ..order
    };
    sides.made(&order);
}

#[test]
fn a_file_that_is_put_keeps_its_mode_and_its_bytes() {
    let sides = Sides::apart();
    write_script(sides.repository.path(), "plan", "base\n");
    sides
        .repository
        .write(".gitattributes", "plan text eol=crlf\n");
    let onto = sides.repository.commit("a script");
    let put = [("plan".to_owned(), b"a\nb".to_vec())];
    let order = MergeSpec {
        onto: &onto,
        put: &put,
        ..sides.order()
    };
    let (commit, _, _) = sides.made(&order);
    assert_eq!(sides.show(&commit, "plan"), "a\nb");
    let entry = sides.repository.git(&["ls-tree", &commit, "plan"]);
    assert!(entry.starts_with("100755 blob "), "{entry}");
}

#[test]
fn a_plan_that_only_the_work_has_goes_with_its_folder_and_one_that_is_put_comes_with_it() {
    let sides = Sides::new(
        |repository| repository.write("a-b", "1\n"),
        |repository| repository.write("ours", "1\n"),
        |repository| {
            repository.write("deep/er/plan.md", "1\n");
            repository.write("a/work", "1\n");
        },
    );
    let paths = plans(&["deep/er/plan.md", "a-b/no/folder.md"]);
    let put = [("a/new/plan.md".to_owned(), b"put\n".to_vec())];
    let order = MergeSpec {
        own: &paths,
        put: &put,
        ..sides.order()
    };
    let (commit, _, _) = sides.made(&order);
    let names = sides
        .repository
        .git(&["ls-tree", "-r", "--name-only", &commit]);
    assert_eq!(names, "a-b\na/new/plan.md\na/work\nours");
    sides.repository.git(&["fsck", "--strict", "--no-dangling"]);
    // Nothing but a plan: nothing is left to be merged.
    let sides = Sides::new(
        |_| {},
        |_| {},
        |repository| repository.write("deep/er/plan.md", "1\n"),
    );
    let order = MergeSpec {
        own: &paths,
        ..sides.order()
    };
    assert_eq!(sides.merge(&order), sides.nothing(order.onto));
}

#[test]
fn the_attributes_of_the_commit_decide_which_driver_merges() {
    let both = |text: &'static str| move |repository: &Repository| repository.write("a", text);
    let sides = Sides::new(
        |repository| {
            repository.write("a", "1\n");
            repository.write(".gitattributes", "a merge=both\n");
        },
        both("2\n"),
        both("3\n"),
    );
    let driver = "cat %A %B > both.tmp && mv both.tmp %A";
    sides
        .repository
        .git(&["config", "merge.both.driver", driver]);
    // What stands in the work tree is another commit's.
    sides.repository.write(".gitattributes", "");
    let (commit, _, _) = sides.made(&sides.order());
    assert_eq!(sides.show(&commit, "a"), "2\n3");
    let status = sides.repository.git(&["status", "--porcelain"]);
    assert_eq!(status, "M .gitattributes");
}

#[test]
fn a_merge_is_signed_where_the_user_signs_and_runs_no_hook() {
    let sides = Sides::apart();
    let folder = sides.repository.path();
    let seen = folder.join("hooked");
    let hook = format!("touch {}", seen.display());
    for name in ["pre-commit", "commit-msg", "post-commit", "post-merge"] {
        write_script(&folder.join(".git/hooks"), name, &hook);
    }
    let signs = "echo '[GNUPG:] SIG_CREATED D' >&2\ncat >/dev/null\necho SIGNED\n";
    let key = tempfile::tempdir().expect("a folder");
    write_script(key.path(), "gpg", signs);
    let program = key.path().join("gpg").display().to_string();
    sides.repository.git(&["config", "gpg.program", &program]);
    let (plain, _, _) = sides.made(&sides.order());
    sides.repository.git(&["config", "commit.gpgSign", "yes"]);
    let (signed, _, _) = sides.made(&sides.order());
    let has_signature = |commit: &str| {
        let text = sides.repository.git(&["cat-file", "commit", commit]);
        text.contains("gpgsig SIGNED")
    };
    assert!(!has_signature(&plain) && has_signature(&signed));
    assert!(!seen.exists());

    write_script(key.path(), "gpg", "echo 'no key' >&2\nexit 2\n");
    let fault = merge_commits(folder, &sides.order(), &sides.caller.by()).expect_err("not signed");
    assert_eq!(fault.code, "git.missing");
    assert!(
        fault.message.starts_with("git could not commit: "),
        "{fault}"
    );
}

#[test]
fn without_an_identity_the_failure_says_what_to_type() {
    let sides = Sides::apart();
    sides.repository.git(&["config", "--unset", "user.email"]);
    sides
        .repository
        .git(&["config", "user.useConfigOnly", "true"]);
    let fault = merge_commits(sides.repository.path(), &sides.order(), &sides.caller.by());
    // A machine may have an identity for all repositories.
    if let Err(fault) = fault {
        let hint = fault.hint.unwrap_or_default();
        assert!(hint.contains("git config user.email"), "{hint}");
    } else {
        let known = sides.repository.git(&["config", "user.email"]);
        assert!(!known.is_empty());
    }
}

#[test]
fn what_git_has_no_more_is_a_failure_and_no_conflict() {
    let sides = Sides::apart();
    let order = MergeSpec {
        work: "0123456789012345678901234567890123456789",
        ..sides.order()
    };
    let fault = merge_commits(sides.repository.path(), &order, &sides.caller.by());
    assert_eq!(fault.expect_err("it is not there").code, "git.missing");
}

#[test]
fn a_merge_that_is_stopped_is_a_failure() {
    let sides = Sides::apart();
    sides.caller.stop.request_stop(true);
    merge_commits(sides.repository.path(), &sides.order(), &sides.caller.by())
        .expect_err("stopped");
}

#[test]
fn a_ref_moves_only_from_where_it_is_to_be() {
    let sides = Sides::apart();
    let (one, two) = (sides.onto.as_str(), sides.work.as_str());
    let moved = |from, to| {
        let step = RefStep { from, to };
        move_ref(sides.repository.path(), TARGET, step, &sides.caller.by()).expect("git works")
    };
    let at = || read_ref(sides.repository.path(), TARGET).expect("git works");
    let elsewhere = |at: &str| RefMove::Elsewhere(Some(at.to_owned()));
    assert_eq!(moved(Some(one), Some(two)), RefMove::Elsewhere(None));
    assert_eq!(moved(None, Some(one)), RefMove::Moved);
    assert_eq!(moved(None, Some(one)), RefMove::Moved, "again");
    assert_eq!(moved(None, Some(two)), elsewhere(one));
    assert_eq!(moved(Some(one), Some(two)), RefMove::Moved);
    assert_eq!(moved(Some(one), Some(two)), RefMove::Moved, "again");
    assert_eq!(at().as_deref(), Some(two));
    assert_eq!(moved(Some(one), None), elsewhere(two));
    assert_eq!(moved(Some(two), None), RefMove::Moved);
    assert_eq!(moved(Some(two), None), RefMove::Moved, "again");
    assert_eq!(at(), None);
}

#[test]
fn a_ref_that_another_git_holds_is_waited_for() {
    let sides = Sides::apart();
    let lock = sides.repository.path().join(".git/refs/heads/piton");
    fs::create_dir_all(&lock).expect("folders");
    let lock = lock.join("demo.lock");
    fs::write(&lock, "").expect("written");
    let other = thread::spawn({
        let lock = lock.clone();
        move || {
            piton_engine::world::pause(Duration::from_millis(500));
            fs::remove_file(lock).expect("it was left alone");
        }
    });
    let step = RefStep {
        from: None,
        to: Some(&sides.onto),
    };
    let moved = move_ref(sides.repository.path(), TARGET, step, &sides.caller.by());
    assert_eq!(moved.expect("git works"), RefMove::Moved);
    other.join().expect("it ended");
}

#[test]
fn what_was_merged_since_is_the_line_of_the_branch() {
    let sides = Sides::apart();
    let folder = sides.repository.path();
    let (commit, _, _) = sides.made(&sides.order());
    let base = sides.repository.git(&["rev-parse", "HEAD~1"]);
    let line = first_parent_commits(folder, &base, &commit).expect("git works");
    assert_eq!(line, [sides.onto.clone(), commit.clone()]);
    for (tip, of, is) in [
        (&commit, &sides.work, true),
        (&commit, &commit, true),
        (&sides.onto, &sides.work, false),
    ] {
        assert_eq!(is_built_on(folder, tip, of).expect("git works"), is);
    }
    is_built_on(folder, &commit, "0123456789012345678901234567890123456789")
        .expect_err("git does not have it");
}

#[test]
fn a_merge_to_be_resolved_has_both_sides_in_its_files() {
    let text = |text: &'static str| {
        move |repository: &Repository| {
            repository.write("a", text);
            repository.write("plan", text);
        }
    };
    let sides = Sides::new(text("1\n"), text("2\n"), |repository| {
        text("3\n")(repository);
        repository.write("plan-of-work", "1\n");
    });
    let folder = sides.repository.path();
    sides
        .repository
        .git(&["checkout", "--quiet", "--detach", &sides.work]);
    let plans = plans(&["plan", "plan-of-work"]);
    let mut found = Vec::new();
    for _ in 0..2 {
        let begun = begin_merge(folder, &sides.onto, &plans, &sides.caller.by());
        found = begun.expect("git works");
        assert_eq!(found, ["a"]);
    }
    let read = |name| fs::read_to_string(folder.join(name)).expect("readable");
    assert!(read("a").contains("<<<<<<< HEAD\n3\n=======\n2\n>>>>>>> "));
    assert_eq!(read("plan"), "2\n", "as the target has it");
    assert_eq!(files_with_conflict_markers(folder, &found), ["a"]);
    sides.repository.write("a", "2 and 3\n");
    assert_eq!(
        files_with_conflict_markers(folder, &found),
        Vec::<String>::new()
    );
    let resolved = sides.repository.commit("resolved");
    let parents = git(folder, &["log", "-1", "--format=%P", &resolved]);
    assert_eq!(parents, format!("{} {}", sides.work, sides.onto));
    assert!(!folder.join("plan-of-work").exists());

    // And then it is merged.
    let checked = tree_of(&sides.repository, &resolved);
    let order = MergeSpec {
        checked: Some(&checked),
        work: &resolved,
        own: &plans,
        ..sides.order()
    };
    let (commit, _, is_checked) = sides.made(&order);
    assert_eq!(sides.show(&commit, "a"), "2 and 3");
    assert!(is_checked);
}

#[test]
fn a_merge_that_is_clean_after_all_waits_for_its_commit() {
    let sides = Sides::apart();
    let folder = sides.repository.path();
    sides
        .repository
        .git(&["checkout", "--quiet", "--detach", &sides.work]);
    let begun = begin_merge(folder, &sides.onto, NO_PATHS, &sides.caller.by());
    assert_eq!(begun.expect("git works"), Vec::<String>::new());
    let head = sides.repository.git(&["rev-parse", "MERGE_HEAD"]);
    assert_eq!(head, sides.onto);
    // What is merged already has nothing to begin.
    let merged = sides.repository.commit("merged");
    let again = begin_merge(folder, &sides.onto, NO_PATHS, &sides.caller.by());
    assert_eq!(again.expect("git works"), Vec::<String>::new());
    assert_eq!(sides.repository.git(&["rev-parse", "HEAD"]), merged);
}

impl Sides {
    /// What a unit did, saved on `on`, and checked out.
    fn save(&self, on: &str) -> String {
        let (repository, by) = (&self.repository, &self.caller.by());
        repository.git(&["checkout", "--quiet", "--detach", &self.work]);
        repository.git(&["reset", "--quiet", "--soft", on]);
        let saved = save_work(
            repository.path(),
            on,
            ExcludedFiles::default(),
            "Work so far",
            by,
        );
        let saved = saved.expect("git works").commit.expect("something");
        restore_worktree(repository.path(), &saved, by).expect("git works");
        saved
    }

    fn open(&self, saved: &str) {
        let plans = plans(&["plan"]);
        let folder = self.repository.path();
        reopen_saved_work(folder, saved, &self.onto, &plans, &self.caller.by()).expect("git works");
    }

    /// What `git diff HEAD` names.
    fn changed(&self) -> String {
        self.repository.git(&["diff", "--name-only", "HEAD"])
    }

    fn head(&self) -> String {
        self.repository
            .git(&["log", "-1", "--format=%P|%H", "HEAD"])
    }
}

#[test]
fn saved_work_goes_on_with_what_was_made_since() {
    let text = |name: &'static str, text: &'static str| {
        move |repository: &Repository| {
            repository.write(name, text);
            repository.write("plan", text);
        }
    };
    let sides = Sides::new(
        text("base", "1\n"),
        text("ours", "2\n"),
        text("theirs", "3\n"),
    );
    let base = sides.repository.git(&["merge-base", "main", &sides.work]);
    let saved = sides.save(&base);
    sides.open(&saved);
    assert!(sides.head().ends_with(&sides.onto));
    assert_eq!(sides.changed(), "theirs");
    let read = |name| fs::read_to_string(sides.repository.path().join(name)).expect("readable");
    assert_eq!([read("ours"), read("plan")], ["2\n", "2\n"]);
    // A commit of the agent's own below it stays one.
    sides
        .repository
        .git(&["reset", "--quiet", "--hard", &sides.work]);
    sides.repository.write("more", "1\n");
    let by = &sides.caller.by();
    let more = save_work(
        sides.repository.path(),
        &base,
        ExcludedFiles::default(),
        "x",
        by,
    );
    let more = more.expect("git works").commit.expect("something");
    restore_worktree(sides.repository.path(), &more, by).expect("git works");
    sides.open(&more);
    let parents = format!("{} {}|", sides.work, sides.onto);
    assert!(sides.head().starts_with(&parents), "{}", sides.head());
    assert_eq!(sides.changed(), "more");
}

#[test]
fn saved_work_that_conflicts_stays_what_it_was() {
    let text = |text: &'static str| move |repository: &Repository| repository.write("a", text);
    let sides = Sides::new(text("1\n"), text("2\n"), text("3\n"));
    let base = sides.repository.git(&["merge-base", "main", &sides.work]);
    let saved = sides.save(&base);
    sides.open(&saved);
    assert!(sides.head().ends_with(&base));
    assert_eq!(sides.repository.git(&["show", ":a"]), "3");
    // Nor does one with nothing in common with the target.
    sides
        .repository
        .git(&["checkout", "--quiet", "--force", "--orphan", "own"]);
    sides.repository.write("a", "9\n");
    sides.repository.commit("own");
    let own = sides.repository.git(&["rev-parse", "HEAD"]);
    let saved = sides.save(&own);
    sides.open(&saved);
    assert!(sides.head().ends_with(&own));
}

#[test]
fn a_merge_that_is_begun_on_saved_work_does_not_have_it_as_parent() {
    let text = |text: &'static str| move |repository: &Repository| repository.write("a", text);
    let sides = Sides::new(text("1\n"), text("2\n"), text("3\n"));
    let base = sides.repository.git(&["merge-base", "main", &sides.work]);
    let saved = sides.save(&base);
    let (folder, by) = (sides.repository.path(), &sides.caller.by());
    begin_merge(folder, &sides.onto, NO_PATHS, by).expect("git works");
    reopen_saved_work_in_merge(folder, &saved, by).expect("git works");
    sides.repository.write("a", "2 and 3\n");
    sides.repository.commit("resolved");
    let parents = format!("{base} {}|", sides.onto);
    assert!(sides.head().starts_with(&parents), "{}", sides.head());
}

#[test]
fn a_folder_that_is_no_worktree_any_more_is_not_taken_for_the_one_around_it() {
    let repository = Repository::new();
    repository.write("a", "1");
    let first = repository.commit("first");
    repository.write("a", "2");
    let second = repository.commit("second");
    repository.write("untracked", "1");
    repository.write("lanes/1/a", "3");
    let lane = repository.path().join("lanes/1");
    let caller = Caller::new();
    assert!(restore_worktree(&lane, &first, &caller.by()).is_err());
    let nothing = ExcludedFiles::default();
    assert!(save_work(&lane, &first, nothing, "save", &caller.by()).is_err());
    assert_eq!(repository.git(&["rev-parse", "HEAD"]), second);
    assert_eq!(repository.git(&["branch", "--show-current"]), "main");
    assert!(repository.path().join("untracked").exists());
}

/// What happens to the files on both sides, and whether `main` has the work then.
type Apart = (&'static str, fn(&Repository), fn(&Repository), bool);

/// A merge in which git keeps the side of `main` brings nothing either, but its work is
/// nowhere.
#[test]
fn work_is_there_where_a_merge_would_bring_nothing_and_no_file_conflicts() {
    let cases: [Apart; 10] = [
        (
            "apart",
            |r| r.write("ours", "1"),
            |r| r.write("theirs", "1"),
            false,
        ),
        (
            "squashed",
            |r| {
                r.write("ours", "1");
                r.write("theirs", "1");
            },
            |r| r.write("theirs", "1"),
            true,
        ),
        (
            "half of it",
            |r| r.write("theirs", "1"),
            |r| {
                r.write("theirs", "1");
                r.write("more", "1");
            },
            false,
        ),
        (
            "texts that conflict",
            |r| r.write("text", "x\n"),
            |r| r.write("text", "y\n"),
            false,
        ),
        (
            "binaries that conflict",
            |r| r.write("image", "\0x"),
            |r| r.write("image", "\0y"),
            false,
        ),
        (
            "one binary",
            |r| r.write("image", "\0y"),
            |r| r.write("image", "\0y"),
            true,
        ),
        (
            "removed by the work",
            |r| r.write("text", "x\n"),
            |r| drop(r.git(&["rm", "--quiet", "text"])),
            false,
        ),
        (
            "removed on main",
            |r| drop(r.git(&["rm", "--quiet", "text"])),
            |r| r.write("text", "y\n"),
            false,
        ),
        (
            "the plan on both sides",
            |r| {
                r.write("plan", "x\n");
                r.write("theirs", "1");
            },
            |r| {
                r.write("plan", "y\n");
                r.write("theirs", "1");
            },
            true,
        ),
        (
            "the plan alone",
            |r| r.write("ours", "1"),
            |r| r.write("plan", "y\n"),
            false,
        ),
    ];
    for (what, ours, theirs, has) in cases {
        let base = |repository: &Repository| {
            for (name, text) in [("text", "1\n"), ("image", "\0"), ("plan", "1\n")] {
                repository.write(name, text);
            }
        };
        let sides = Sides::new(base, ours, theirs);
        let path = sides.repository.path();
        let objects = || sides.repository.git(&["count-objects"]);
        let before = objects();
        let found = has_work_of(path, &sides.onto, &sides.work, Some("plan"));
        assert_eq!(found.ok(), Some(has), "{what}");
        assert_eq!(objects(), before, "{what}: looking writes nothing");
    }
}

/// A branch on which nobody committed beside the work.
#[test]
fn work_on_top_of_a_commit_is_not_in_it_unless_it_changes_nothing() {
    let repository = Repository::new();
    repository.write("a", "1");
    let base = repository.commit("base");
    let empty = repository.commit("nothing");
    repository.write("a", "2");
    let work = repository.commit("work");
    for (commit, other, has) in [
        (&base, &work, false),
        (&base, &empty, true),
        (&work, &base, true),
    ] {
        let found = has_work_of(repository.path(), commit, other, Some("plan"));
        assert_eq!(found.ok(), Some(has));
    }
}

/// What an agent writes into a file that piton keeps is in its lane alone.
#[test]
fn what_the_work_adds_to_a_file_of_the_project_is_merged() {
    let path = ".ralph/guardrails.md";
    let signs = |signs: &'static [&'static str]| {
        move |repository: &Repository| {
            fs::create_dir_all(repository.path().join(".ralph")).expect("made");
            let signs: String = signs.iter().map(|sign| format!("- {sign}\n")).collect();
            repository.write(path, &format!("# Guardrails\n\n## Signs\n{signs}"));
        }
    };
    let own = OwnPaths {
        plans: Vec::new(),
        natives: vec![path.to_owned()],
    };
    for ours in [&["first"][..], &["first", "ours"]] {
        let sides = Sides::new(signs(&["first"]), signs(ours), signs(&["first", "theirs"]));
        let order = MergeSpec {
            own: &own,
            ..sides.order()
        };
        let (commit, _, _) = sides.made(&order);
        let merged = sides.show(&commit, path);
        for sign in ours.iter().chain(&["theirs"]) {
            assert_eq!(merged.matches(sign).count(), 1, "{merged}");
        }
        // Who resolves a merge finds both as well, and keeps them.
        let folder = sides.repository.path();
        let checkout = ["checkout", "--quiet", "--detach", &sides.work];
        sides.repository.git(&checkout);
        begin_merge(folder, &sides.onto, &own, &sides.caller.by()).expect("git works");
        let resolved = sides.repository.commit("resolved");
        let order = MergeSpec {
            work: &resolved,
            own: &own,
            ..sides.order()
        };
        let (commit, _, _) = sides.made(&order);
        assert_eq!(sides.show(&commit, path), merged);
    }
}
