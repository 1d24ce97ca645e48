//! Repositories within a lane: what is in them and nowhere else stays.

use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};

use piton_engine::git::{
    ExcludedFiles, UnsavedRepository, UnsavedWork, commit_without, save_work, unsaved_repositories,
};
use piton_engine::runner::lane_pool::{
    Lane, LaneFault, LaneRecord, LaneStart, record_left_repository,
};

use crate::lanes::Yard;
use crate::repository::{Repository, git, write};

const ALLOW: &str = "protocol.file.allow=always";

/// A project with a submodule, which `setup` checks out.
fn with_submodule(inner: &Repository) -> Yard {
    let mut yard = Yard::with_setup(&format!("git -c {ALLOW} submodule --quiet update --init"));
    let url = inner.path().to_string_lossy().into_owned();
    yard.repository
        .git(&["-c", ALLOW, "submodule", "--quiet", "add", &url, "sub"]);
    yard.base = yard.repository.commit("with a submodule");
    yard
}

fn inner() -> Repository {
    let inner = Repository::new();
    inner.write("inside", "1\n");
    inner.commit("inner");
    inner
}

/// A commit of what lies in a repository.
fn commit_in(inner: &Path) -> String {
    write(inner, "inside", "2\n");
    git(inner, &["add", "--all"]);
    git(inner, &["commit", "--quiet", "-m", "in the lane"]);
    git(inner, &["rev-parse", "HEAD"])
}

/// The repositories in a lane that have what is nowhere else.
fn kept(yard: &Yard, lane: &Lane) -> Vec<(String, UnsavedWork)> {
    let kept = unsaved_repositories(&lane.tree, &yard.base).expect("git says");
    let pair = |UnsavedRepository { path, work }| (path, work);
    kept.into_iter().map(pair).collect()
}

/// What is in the way of the end of a lane.
#[track_caller]
fn stays(yard: &Yard, lane: Lane) -> (PathBuf, UnsavedWork) {
    match yard.remove(lane) {
        Err(LaneFault::Inner { path, work }) => (path, work),
        other => panic!("{other:?}"),
    }
}

fn commits(name: &str) -> Option<UnsavedWork> {
    Some(UnsavedWork::Commits(name.to_owned()))
}

/// What was done in a submodule of a lane, and what of it is nowhere else; and what
/// keeps that.
#[track_caller]
fn check_submodule(done: &[&str], work: Option<&UnsavedWork>, way_on: &[&str]) {
    let inner = inner();
    let yard = with_submodule(&inner);
    let lane = yard.take();
    yard.ready(&lane, "one");
    assert_eq!(kept(&yard, &lane), []);
    let sub = lane.tree.join("sub");
    let type_in = |lines: &[&str]| {
        for line in lines {
            let words: Vec<&str> = line.split(' ').collect();
            git(&sub, &words);
        }
    };
    write(&sub, "inside", "2\n");
    type_in(done);
    if let Some(work) = work {
        assert_eq!(stays(&yard, lane), (sub.clone(), work.clone()));
        type_in(way_on);
    } else {
        yard.remove(lane).expect("nothing is lost with it");
        return;
    }
    let lane = yard.take();
    assert_eq!(kept(&yard, &lane), []);
    yard.remove(lane).expect("nothing is lost with it");
}

#[test]
fn what_a_submodule_of_a_lane_has_and_no_remote_is_in_the_way_of_its_end_until_it_is_pushed() {
    const COMMIT: &str = "commit --quiet --all -m more";
    let push = |name: &str| format!("push --quiet origin {name}:refs/heads/more");
    check_submodule(&[COMMIT], commits("HEAD").as_ref(), &[&push("HEAD")]);
    let on_branch = &["switch --quiet --create x", COMMIT];
    let branch = commits("refs/heads/x");
    check_submodule(on_branch, branch.as_ref(), &["push --quiet origin x"]);
    let left = &[on_branch, &["checkout --quiet --detach HEAD~1"][..]].concat();
    check_submodule(left, branch.as_ref(), &["push --quiet origin x"]);
    // A local tag is on no remote.
    check_submodule(
        &[COMMIT, "tag v9"],
        commits("HEAD").as_ref(),
        &[&push("HEAD")],
    );
    let stash = commits("refs/stash");
    let pushed = push("refs/stash");
    check_submodule(&["stash --quiet"], stash.as_ref(), &[&pushed]);
    check_submodule(&[], Some(&UnsavedWork::Changes), &[COMMIT, &push("HEAD")]);
    // Undone.
    check_submodule(&[COMMIT, "reset --quiet --hard HEAD~1"], None, &[]);
}

#[test]
fn what_a_clone_of_a_submodule_brought_is_nobodys_work() {
    let inner = inner();
    let yard = with_submodule(&inner);
    inner.write("inside", "2\n");
    inner.commit("to be rewritten");
    let lane = yard.take();
    yard.ready(&lane, "one");
    inner.write("inside", "3\n");
    inner.git(&["commit", "--quiet", "--all", "--amend", "-m", "rewritten"]);
    let sub = lane.tree.join("sub");
    git(&sub, &["fetch", "--quiet", "--prune"]);
    let (local, remote) = ("refs/heads/main", "refs/remotes/origin/main");
    let name = |name| git(&sub, &["rev-parse", name]);
    assert_ne!(name(local), name(remote));
    yard.remove(lane).expect("nothing is lost with it");
}

#[test]
fn a_worktree_of_the_project_in_a_lane_is_in_the_way_with_what_is_on_no_branch_alone() {
    const COMMIT: &str = "commit --quiet --allow-empty -m more";
    for (done, is_kept) in [
        (&["status"][..], false),
        (&[COMMIT], false),
        (&["rm --quiet src/main"], true),
        (&["checkout --quiet --detach"], false),
        (&["checkout --quiet --detach", COMMIT], true),
    ] {
        let yard = Yard::new();
        let lane = yard.take();
        yard.ready(&lane, "one");
        git(
            &lane.tree,
            &["worktree", "add", "--quiet", "wt", "-b", "try"],
        );
        let wt = lane.tree.join("wt");
        for line in done {
            git(&wt, &line.split(' ').collect::<Vec<_>>());
        }
        if is_kept {
            assert_eq!(stays(&yard, lane), (wt.clone(), UnsavedWork::Worktree));
            let elsewhere = tempfile::tempdir().expect("a folder");
            let moved = elsewhere.path().join("wt");
            let to = moved.to_string_lossy();
            yard.repository
                .git(&["worktree", "move", &wt.to_string_lossy(), &to]);
        } else {
            assert_eq!(kept(&yard, &lane), []);
            // The next unit does not find it in its work.
            record_left_repository(&lane.tree).expect("it can be noted");
            yard.ready(&lane, "two");
            assert!(!wt.exists(), "{done:?}");
            assert_eq!(git(&lane.tree, &["status", "--porcelain"]), "");
        }
        let lane = yard.take();
        yard.remove(lane).expect("nothing is lost with it");
    }
}

#[test]
fn a_commit_that_the_project_records_is_nobodys_work() {
    let inner = inner();
    let mut yard = with_submodule(&inner);
    // It was pushed, is recorded, and is on no branch of the remote any more.
    let sub = yard.repository.path().join("sub");
    let gone = commit_in(&sub);
    git(&sub, &["push", "--quiet", "origin", "HEAD:refs/heads/more"]);
    yard.base = yard.repository.commit("records what is on no branch");
    let lane = yard.take();
    yard.ready(&lane, "one");
    inner.git(&["branch", "--quiet", "-D", "more"]);
    let sub = lane.tree.join("sub");
    git(&sub, &["fetch", "--quiet", "--prune"]);
    assert_eq!(git(&sub, &["rev-parse", "HEAD"]), gone);
    assert_eq!(kept(&yard, &lane), []);
    yard.remove(lane).expect("nothing is lost with it");
}

#[test]
fn a_repository_that_was_made_in_a_lane_outlives_its_cleaning_and_is_in_the_way_of_its_end() {
    for has_commit in [true, false] {
        let yard = Yard::new();
        let lane = yard.take();
        yard.ready(&lane, "one");
        let app = lane.tree.join("new [1]/app");
        git(&lane.tree, &["init", "--quiet", "new [1]/app"]);
        write(&app, "page", "1\n");
        if has_commit {
            commit_in(&app);
        }
        write(&lane.tree, "other", "1\n");
        let by = yard.caller.by();
        let saved = save_work(
            &lane.tree,
            &yard.base,
            ExcludedFiles::default(),
            "work",
            &by,
        );
        let saved = saved.expect("git works");
        assert_eq!(saved.left_out.is_empty(), has_commit, "{saved:?}");
        let saved = saved.commit.expect("there is something");
        let files = ["ls-tree", "-r", "--name-only", &saved, "other", "new [1]"];
        let named = git(&lane.tree, &files);
        assert_eq!(named.contains("app"), has_commit, "{named}");
        assert!(named.contains("other"), "{named}");
        let refused = commit_without(
            &lane.tree,
            "work",
            ExcludedFiles {
                own: &[],
                files: &[],
            },
            &by,
        )
        .expect("git works");
        match has_commit {
            true => assert!(refused.is_ok(), "{refused:?}"),
            false => {
                let why = refused.expect_err("git adds nothing of it");
                assert!(why.contains(&app.display().to_string()), "{why}");
            }
        }
        let made = ("new [1]/app".to_owned(), UnsavedWork::All);
        assert_eq!(kept(&yard, &lane), [made]);
        // Whoever gets the lane all the same.
        yard.ready(&lane, "two");
        assert!(app.join("page").is_file());
        assert!(!lane.tree.join("other").exists());
        assert_eq!(stays(&yard, lane), (app.clone(), UnsavedWork::All));
        // The unit that made it finds it as it was.
        let lane = yard.take();
        let prepared = yard.prepare(&lane, ("one", &saved, LaneStart::Clean));
        prepared.expect("it can be made ready");
        assert!(app.join("page").is_file());
        // What is moved out is in nobody's way.
        let elsewhere = tempfile::tempdir().expect("a folder");
        std::fs::rename(&app, elsewhere.path().join("app")).expect("it can be moved");
        assert_eq!(kept(&yard, &lane), []);
        yard.remove(lane).expect("nothing is lost with it");
    }
}

#[test]
fn a_repository_without_a_commit_is_blamed_for_nothing_else() {
    let yard = Yard::new();
    yard.repository
        .git(&["config", "filter.no.clean", "no-such-filter"]);
    yard.repository
        .git(&["config", "filter.no.required", "true"]);
    let lane = yard.take();
    yard.ready(&lane, "one");
    git(&lane.tree, &["init", "--quiet", "zz"]);
    write(&lane.tree, ".gitattributes", "*.bin filter=no\n");
    write(&lane.tree, "a.bin", "1\n");
    let why = || {
        let refused = commit_without(
            &lane.tree,
            "work",
            ExcludedFiles {
                own: &[],
                files: &[],
            },
            &yard.caller.by(),
        );
        refused.expect("git works").expect_err("git refuses it")
    };
    assert!(!why().contains("a repository of its own"), "{}", why());
    std::fs::remove_file(lane.tree.join("a.bin")).expect("removed");
    assert!(why().contains("mv "), "{}", why());
}

#[test]
fn what_checks_of_merges_made_goes() {
    let yard = Yard::new();
    let lane = yard.take();
    yard.ready(&lane, piton_engine::runner::lane_pool::QUEUE);
    git(&lane.tree, &["init", "--quiet", "scratch"]);
    yard.ready(&lane, piton_engine::runner::lane_pool::QUEUE);
    assert!(!lane.tree.join("scratch").exists());
}

/// A project and a lane at it, and a commit that has a later one of its submodule,
/// which the lane does not have.
struct Moved {
    yard: Yard,
    lane: Lane,
    sub: PathBuf,
    recorded: String,
    /// Of the submodule.
    first: String,
    second: String,
    _inner: Repository,
}

fn moved() -> Moved {
    let inner = inner();
    let first = inner.git(&["rev-parse", "HEAD"]);
    let yard = with_submodule(&inner);
    let lane = yard.take();
    yard.ready(&lane, "one");
    inner.write("inside", "3\n");
    let second = inner.commit("later");
    git(&yard.repository.path().join("sub"), &["pull", "--quiet"]);
    let recorded = yard.repository.commit("records the later one");
    Moved {
        sub: lane.tree.join("sub"),
        yard,
        lane,
        recorded,
        first,
        second,
        _inner: inner,
    }
}

impl Moved {
    /// Makes the lane ready at a commit; of the submodule it is at this one then.
    #[track_caller]
    fn follows(&self, recorded: &str, commit: &str) -> Vec<String> {
        let prepared = self
            .yard
            .prepare(&self.lane, ("two", recorded, LaneStart::Clean));
        let warnings = prepared.expect("it can be made ready").warnings;
        assert_eq!(git(&self.sub, &["rev-parse", "HEAD"]), commit);
        warnings
    }
}

#[test]
fn a_submodule_is_at_its_commit_for_the_next_unit_where_setup_can_bring_that() {
    let it = moved();
    // The lane has no such commit: its `setup` brings it.
    assert_eq!(it.follows(&it.recorded, &it.second), [""; 0]);
    assert_eq!(git(&it.lane.tree, &["status", "--porcelain"]), "");
    assert_eq!(it.follows(&it.yard.base, &it.first), [""; 0]);
    // Where there is none it is said.
    let mut it_alone = moved();
    it_alone.yard.settings.setup = None;
    let warnings = it_alone.follows(&it_alone.recorded, &it_alone.first);
    assert!(
        warnings[0].contains("it has no such commit"),
        "{warnings:?}"
    );
}

#[test]
fn a_submodule_with_something_of_its_own_stays_where_it_is_and_that_is_said() {
    for (done, words) in [
        ("status", "has changes that are not committed"),
        ("commit --quiet --all -m own", "has commits that no remote"),
    ] {
        let it = moved();
        it.follows(&it.recorded, &it.second);
        write(&it.sub, "inside", "of the unit\n");
        git(&it.sub, &done.split(' ').collect::<Vec<_>>());
        let own = git(&it.sub, &["rev-parse", "HEAD"]);
        let warnings = it.follows(&it.yard.base, &own);
        assert!(warnings[0].contains(words), "{warnings:?}");
        let text = std::fs::read_to_string(it.sub.join("inside"));
        assert_eq!(text.expect("it is there"), "of the unit\n");
    }
}

#[test]
fn a_death_before_setup_brings_a_submodule_leaves_that_to_the_next_one() {
    for point in ["lane.followed", "lane.included"] {
        let mut it = moved();
        it.yard.settings = super::deaths::settings();
        it.follows(&it.yard.base, &it.first);
        let Moved { yard, lane, .. } = it;
        drop(lane);
        let mut child = super::deaths::child(yard.repository.path());
        let died = child.env("PITON_FAILPOINT", point).status();
        assert_eq!(died.expect("started").signal(), Some(9), "{point}");
        let it = Moved {
            lane: yard.take(),
            yard,
            ..it
        };
        assert_eq!(it.lane.number, 1);
        let warnings = it.follows(&it.recorded, &it.second).concat();
        assert!(!warnings.contains("submodule"), "{point}: {warnings}");
    }
}

#[test]
fn who_left_a_repository_in_a_lane_is_noted_until_another_unit_has_it() {
    let yard = Yard::new();
    let noted = || {
        let lanes = yard.pool().list_lanes().expect("they can be read");
        let used: Option<LaneRecord> = lanes.into_iter().next().and_then(|(_, used)| used);
        used.expect("it was used").keeps.map(|by| by.unit)
    };
    let lane = yard.take();
    yard.ready(&lane, "one");
    assert_eq!(noted(), None);
    record_left_repository(&lane.tree).expect("it can be noted");
    yard.ready(&lane, "one");
    assert_eq!(noted().as_deref(), Some("one"));
    let prepared = yard.prepare(&lane, ("two", &yard.base, LaneStart::AsLeft));
    prepared.expect("it can be made ready");
    assert_eq!(noted().as_deref(), Some("one"));
    yard.ready(&lane, "two");
    assert_eq!(noted(), None);
}
