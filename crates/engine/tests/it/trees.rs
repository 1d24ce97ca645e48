//! Looking at a work tree with a real git.

mod proof;
mod repeated;

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use piton_core::attempt::DiffStat;
use piton_engine::World;
use piton_engine::git::{
    OwnFilePrefix, SnapshotDiff, SnapshotError, WorkTreeSnapshot, WorkTreeTracker,
    describe_unfinished,
};
use tempfile::TempDir;

/// A repository, and a folder for what looking at it needs.
struct Scene {
    repository: TempDir,
    scratch: TempDir,
    world: World,
}

#[expect(
    clippy::disallowed_methods,
    reason = "a test makes its repository with the same git"
)]
fn asked(folder: &Path, args: &[&str]) -> Output {
    Command::new("git")
        .args(args)
        .current_dir(folder)
        .output()
        .expect("git is installed")
}

fn git(folder: &Path, args: &[&str]) -> String {
    let output = asked(folder, args);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "git {args:?}: {error}");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

impl Scene {
    fn new() -> Self {
        let scene = Self {
            repository: tempfile::tempdir().expect("a folder"),
            scratch: tempfile::tempdir().expect("a folder"),
            world: World::from_environment().expect("there is a folder"),
        };
        scene.git(&["init", "--quiet", "--initial-branch=main"]);
        scene.git(&["config", "user.name", "Ada"]);
        scene.git(&["config", "user.email", "ada@example.org"]);
        scene
    }

    fn git(&self, args: &[&str]) -> String {
        git(self.repository.path(), args)
    }

    /// Whether git did it.
    fn tries(&self, args: &[&str]) -> bool {
        asked(self.repository.path(), args).status.success()
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.repository.path().join(name);
        fs::create_dir_all(path.parent().expect("it has one")).expect("folders");
        fs::write(path, text).expect("written");
    }

    fn remove(&self, name: &str) {
        fs::remove_file(self.repository.path().join(name)).expect("removed");
    }

    fn trees(&self, own: &[OwnFilePrefix]) -> WorkTreeTracker {
        WorkTreeTracker::open(
            &self.world,
            self.scratch.path(),
            self.repository.path(),
            own,
        )
        .expect("it is a repository")
    }

    #[track_caller]
    fn now(&self, trees: &WorkTreeTracker) -> WorkTreeSnapshot {
        trees.snapshot(&self.world).expect("git can say")
    }
}

/// Every file below a folder, with its bytes.
fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            let bytes = fs::read(&path).expect("a file");
            found.push((path.display().to_string(), bytes));
        }
    }
    found.sort();
    found
}

#[test]
fn what_changed_between_two_moments_is_told_and_the_repository_is_not_touched() {
    let scene = Scene::new();
    scene.write("kept", "1");
    scene.write("changed", "1");
    scene.write("gone", "1");
    scene.write(".gitignore", "ignored\n");
    scene.git(&["add", "--all"]);
    scene.git(&["commit", "--quiet", "-m", "first"]);
    scene.write("staged", "1");
    scene.git(&["add", "staged"]);
    scene.write("untracked", "1");
    // A hook that would tell of an index that was written.
    let hook = "#!/bin/sh\ntouch \"$GIT_DIR/hook-ran\"\n";
    scene.write(".git/hooks/post-index-change", hook);
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    let path = scene.repository.path().join(".git/hooks/post-index-change");
    fs::set_permissions(path, mode).expect("made executable");
    let untouched = files(&scene.repository.path().join(".git"));

    let trees = scene.trees(&[]);
    let before = scene.now(&trees);
    assert_eq!(scene.now(&trees).tree, before.tree);
    scene.write("changed", "2");
    scene.write("new/ä b", "1");
    scene.write("ignored", "1");
    fs::remove_file(scene.repository.path().join("gone")).expect("removed");
    let after = scene.now(&trees);
    let changed = trees.changes_between(&scene.world, &before, &after);
    let names = ["changed", "gone", "new/ä b"].map(str::to_owned);
    assert_eq!(
        changed,
        SnapshotDiff {
            files: Some(names.to_vec()),
            diff: Some(DiffStat {
                files: 3,
                insertions: 2,
                deletions: 2,
            }),
            commits: Some(Vec::new()),
        }
    );
    assert_eq!(
        files(&scene.repository.path().join(".git")),
        untouched,
        "index, objects and all else are as they were"
    );

    drop(trees);
    assert_eq!(files(scene.scratch.path()), [], "nothing is left");
    // It is the tree that git would commit.
    scene.git(&["add", "--all"]);
    assert_eq!(scene.git(&["write-tree"]), after.tree);
}

#[test]
fn commits_between_two_moments_are_told_oldest_first() {
    let scene = Scene::new();
    let trees = scene.trees(&[]);
    let empty = scene.now(&trees);
    assert_eq!(empty.head, None);
    let commit = |name: &str| {
        scene.write(name, name);
        scene.git(&["add", "--all"]);
        scene.git(&["commit", "--quiet", "-m", name]);
        scene.git(&["rev-parse", "HEAD"])
    };
    let made = vec![commit("a"), commit("b")];
    let later = scene.now(&trees);
    let changed = trees.changes_between(&scene.world, &empty, &later);
    assert_eq!(changed.commits, Some(made));
    assert_eq!(changed.files, Some(vec!["a".to_owned(), "b".to_owned()]));
    let third = commit("c");
    let last = scene.now(&trees);
    let changed = trees.changes_between(&scene.world, &later, &last);
    assert_eq!(changed.commits, Some(vec![third]));
}

#[test]
fn own_files_are_passed_over_also_when_somebody_commits_them() {
    let scene = Scene::new();
    scene.write("plan/PROGRESS.yaml", "1");
    scene.git(&["add", "--all"]);
    scene.git(&["commit", "--quiet", "-m", "first"]);
    let trees = scene.trees(&[OwnFilePrefix {
        folder: "plan".to_owned(),
        begin: "PROGRESS.yaml".to_owned(),
    }]);
    let before = scene.now(&trees);
    scene.write("plan/PROGRESS.yaml", "2");
    scene.write(".piton/journal.db", "2");
    assert_eq!(scene.now(&trees).tree, before.tree);
    scene.write("work", "1");
    scene.git(&["add", "--all"]);
    scene.git(&["commit", "--quiet", "-m", "second"]);
    let after = scene.now(&trees);
    let changed = trees.changes_between(&scene.world, &before, &after);
    assert_eq!(changed.files, Some(vec!["work".to_owned()]));
}

#[test]
fn what_is_large_and_nobody_added_is_left_out() {
    let scene = Scene::new();
    let large = |name: &str| {
        scene.write(name, "");
        let path = scene.repository.path().join(name);
        let file = fs::File::options().write(true).open(path);
        let size = 17 << 20;
        file.and_then(|file| file.set_len(size))
            .expect("made large");
    };
    large("added");
    scene.git(&["add", "--all"]);
    let trees = scene.trees(&[]);
    let before = scene.now(&trees);
    large("video [1].raw");
    large("below/*");
    scene.write("below/kept", "1");
    let after = scene.now(&trees);
    let changed = trees.changes_between(&scene.world, &before, &after);
    assert_eq!(changed.files, Some(vec!["below/kept".to_owned()]));
    // Below a folder of the repository the names are others.
    let inner = scene.repository.path().join("below");
    let scratch = scene.scratch.path();
    let trees =
        WorkTreeTracker::open(&scene.world, scratch, &inner, &[]).expect("it is a repository");
    assert_eq!(scene.now(&trees).tree, after.tree);
}

#[test]
fn looking_for_what_is_unfinished_changes_nothing() {
    let scene = Scene::new();
    let commit = |text: &str| {
        scene.write("kept", text);
        scene.git(&["add", "--all"]);
        scene.git(&["commit", "--quiet", "-m", text]);
    };
    commit("base");
    scene.git(&["branch", "other"]);
    commit("ours");
    scene.write("touched", "1");
    scene.git(&["add", "touched"]);
    // The index does not know its time any more, and would be written.
    let touched = fs::File::options()
        .write(true)
        .open(scene.repository.path().join("touched"));
    let then = std::time::SystemTime::UNIX_EPOCH;
    touched
        .and_then(|file| file.set_modified(then))
        .expect("touched");
    let index = scene.repository.path().join(".git/index");
    let before = fs::read(&index).expect("an index");
    let facts = describe_unfinished(&scene.world, scene.repository.path());
    assert_eq!(facts, Ok(Vec::new()));
    assert_eq!(fs::read(&index).expect("an index"), before);

    scene.git(&["commit", "--quiet", "-m", "touched"]);
    scene.git(&["checkout", "--quiet", "other"]);
    commit("theirs");
    let stuck = scene.tries(&["merge", "--quiet", "main"]);
    assert!(!stuck, "both changed the same");
    let facts = describe_unfinished(&scene.world, scene.repository.path());
    let expect = [
        "a merge was begun and is not finished",
        "kept has conflicts that are not resolved",
    ];
    assert_eq!(facts, Ok(expect.map(str::to_owned).to_vec()));
}

#[test]
fn a_repository_with_a_colon_in_its_path_is_looked_at() {
    let scene = Scene::new();
    scene.write("a:b/kept", "1");
    let inner = scene.repository.path().join("a:b");
    git(&inner, &["init", "--quiet"]);
    let scratch = scene.scratch.path();
    let trees =
        WorkTreeTracker::open(&scene.world, scratch, &inner, &[]).expect("it is a repository");
    let before = scene.now(&trees);
    fs::write(inner.join("new"), "1").expect("written");
    let after = scene.now(&trees);
    let changed = trees.changes_between(&scene.world, &before, &after);
    assert_eq!(changed.files, Some(vec!["new".to_owned()]));
}

#[test]
fn where_git_knows_nothing_nothing_is_known() {
    let scene = Scene::new();
    let folder = tempfile::tempdir().expect("a folder");
    let opened = WorkTreeTracker::open(&scene.world, scene.scratch.path(), folder.path(), &[]);
    assert_eq!(opened.err(), Some(SnapshotError::Unknown));
    assert_eq!(files(scene.scratch.path()), []);
    // A repository without a work tree.
    let git_dir = scene.repository.path().join(".git");
    let opened = WorkTreeTracker::open(&scene.world, scene.scratch.path(), &git_dir, &[]);
    let seen = opened.and_then(|trees| trees.snapshot(&scene.world));
    assert_eq!(seen.err(), Some(SnapshotError::Unknown));
}
