//! Looking again and again: what is kept between looks never shows.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::process::Command;
use std::time::{Duration, SystemTime};

use super::{Scene, files, git};
use piton_engine::git::{WorkTreeSnapshot, WorkTreeTracker};

impl Scene {
    /// A look that has nothing to go by but the repository.
    #[track_caller]
    fn first_look(&self) -> WorkTreeSnapshot {
        self.now(&self.trees(&[]))
    }

    /// The tree that git makes when everything is added.
    #[expect(clippy::disallowed_methods, reason = "the same git is asked")]
    fn tree_of_git(&self) -> String {
        let index = self.scratch.path().join("index-of-git");
        let from = self.path(".git/index");
        fs::copy(&from, &index).expect("copied");
        let time = fs::metadata(from).and_then(|found| found.modified());
        let copy = fs::File::options().write(true).open(&index);
        copy.expect("opened")
            .set_modified(time.expect("a time"))
            .expect("set");
        let ask = |args: &[&str]| {
            let mut git = Command::new("git");
            git.args(args).current_dir(self.repository.path());
            let output = git.env("GIT_INDEX_FILE", &index).output();
            let output = output.expect("git is installed");
            assert!(output.status.success(), "{args:?}: {output:?}");
            String::from_utf8_lossy(&output.stdout).trim().to_owned()
        };
        ask(&["add", "--all"]);
        ask(&["write-tree"])
    }

    /// Makes a change, and has it seen by `trees` as by eyes that are new.
    #[track_caller]
    fn sees(
        &self,
        trees: &WorkTreeTracker,
        change: &str,
        make: impl FnOnce(&Self),
    ) -> WorkTreeSnapshot {
        let before = self.now(trees);
        make(self);
        let after = self.now(trees);
        let expected = self.first_look();
        if !change.contains("large") {
            assert_eq!(after.tree, self.tree_of_git(), "{change}, of git");
        }
        assert_eq!(after.tree, expected.tree, "{change}, at first sight");
        assert_eq!(after.head, expected.head, "{change}");
        assert_eq!(self.now(trees).tree, expected.tree, "{change}, again");
        assert_ne!(
            (&before.tree, &before.head),
            (&after.tree, &after.head),
            "{change}"
        );
        after
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.repository.path().join(name)
    }

    /// Sets the time of a file to one of long ago.
    fn age(&self, name: &str) {
        let long_ago = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
        let file = fs::File::options().write(true).open(self.path(name));
        let aged = file.and_then(|file| file.set_modified(long_ago));
        aged.expect("aged");
    }

    fn begun() -> Self {
        let scene = Self::new();
        for name in ["kept", "changed", "gone", "below/one", "below/two"] {
            scene.write(name, "1");
        }
        scene.write(".gitignore", "*.log\n");
        scene.git(&["add", "--all"]);
        scene.git(&["commit", "--quiet", "-m", "first"]);
        scene
    }
}

#[test]
fn every_kind_of_change_is_seen_by_a_later_look() {
    let scene = Scene::begun();
    let trees = scene.trees(&[]);
    let sees = |change: &str, make: &dyn Fn(&Scene)| {
        scene.sees(&trees, change, make);
    };
    sees("a change", &|scene| scene.write("changed", "2"));
    sees("a new file", &|scene| scene.write("new/deep/file", "1"));
    sees("another beside it", &|scene| {
        scene.write("new/deep/more", "1")
    });
    sees("a change of a file that is not added", &|scene| {
        scene.write("new/deep/more", "2");
    });
    sees("a removed file", &|scene| scene.remove("gone"));
    sees("a removed new file", &|scene| scene.remove("new/deep/more"));
    sees("a mode", &|scene| {
        let mode = fs::Permissions::from_mode(0o755);
        fs::set_permissions(scene.path("kept"), mode).expect("set");
    });
    sees("a folder in place of a file", &|scene| {
        scene.remove("kept");
        scene.write("kept/inner", "1");
    });
    sees("a link in place of a folder", &|scene| {
        fs::remove_dir_all(scene.path("below")).expect("removed");
        symlink("new", scene.path("below")).expect("linked");
    });
    sees("a name that is no UTF-8", &|scene| {
        let name = OsStr::from_bytes(b"na\xffme");
        fs::write(scene.repository.path().join(name), "1").expect("written");
    });
    sees("many files", &|scene| {
        for number in 0..60 {
            scene.write(&format!("many/{number}"), "1");
        }
    });
    sees("one of many", &|scene| scene.write("many/7", "2"));
    sees("a commit of all", &|scene| {
        scene.git(&["add", "--all"]);
        scene.git(&["commit", "--quiet", "-m", "second"]);
    });
    sees("a change after it", &|scene| scene.write("many/8", "2"));
    sees("a commit that is taken back", &|scene| {
        scene.git(&["reset", "--quiet", "--hard", "HEAD~1"]);
    });
}

#[test]
fn what_is_ignored_or_added_by_force_counts_as_git_has_it_now() {
    let scene = Scene::begun();
    let trees = scene.trees(&[]);
    let sees = |change: &str, make: &dyn Fn(&Scene)| {
        scene.sees(&trees, change, make);
    };
    scene.write("noise.log", "1");
    scene.write("result", "1");
    sees("an ignored file, added by force", &|scene| {
        scene.git(&["add", "--force", "noise.log"]);
    });
    sees("a change of it", &|scene| scene.write("noise.log", "2"));
    sees("it is taken out of the index", &|scene| {
        scene.git(&["rm", "--quiet", "--cached", "--force", "noise.log"]);
    });
    sees("a new file becomes ignored", &|scene| {
        scene.write(".gitignore", "*.log\nresult\n");
    });
    sees("and is not any more", &|scene| {
        scene.write(".gitignore", "*.log\n")
    });
    sees("it is ignored in the repository alone", &|scene| {
        scene.write(".git/info/exclude", "result\n");
    });
    sees("another file with it", &|scene| scene.write("other", "1"));
    sees("a file that is made large", &|scene| {
        let file = fs::File::options().write(true).open(scene.path("other"));
        file.and_then(|file| file.set_len(17 << 20)).expect("large");
    });
    sees("and small again", &|scene| scene.write("other", "2"));
}

#[test]
fn what_filters_and_merges_make_of_files_is_seen() {
    let scene = Scene::begun();
    let trees = scene.trees(&[]);
    scene.git(&["config", "filter.upper.clean", "tr a-z A-Z"]);
    scene.write(".gitattributes", "*.txt filter=upper\n");
    scene.sees(&trees, "a filtered file", |scene| {
        scene.write("a.txt", "words")
    });
    let after = scene.sees(&trees, "a change of it", |scene| {
        scene.write("a.txt", "werds")
    });
    scene.git(&["add", "--all"]);
    assert_eq!(scene.git(&["write-tree"]), after.tree);
    scene.git(&["commit", "--quiet", "-m", "filtered"]);
    scene.git(&["checkout", "--quiet", "-b", "other", "HEAD~1"]);
    scene.write("changed", "theirs");
    scene.git(&["commit", "--quiet", "-am", "theirs"]);
    scene.git(&["checkout", "--quiet", "main"]);
    scene.write("changed", "ours");
    scene.git(&["commit", "--quiet", "-am", "ours"]);
    scene.sees(&trees, "a merge with conflicts", |scene| {
        assert!(!scene.tries(&["merge", "--quiet", "other"]));
    });
    scene.sees(&trees, "a conflict that is resolved", |scene| {
        scene.write("changed", "both");
    });
    scene.sees(&trees, "a merge that is over", |scene| {
        scene.git(&["commit", "--quiet", "--all", "-m", "merged"]);
    });
}

#[test]
fn the_commit_of_a_repository_inside_is_seen() {
    let scene = Scene::begun();
    scene.write("mast/file", "1");
    let mast = scene.path("mast");
    let commit = || {
        let who = ["-c", "user.name=ada", "-c", "user.email=ada@example.org"];
        let words = ["commit", "--quiet", "--allow-empty", "-m", "one"];
        git(&mast, &[&who[..], &words].concat());
    };
    git(&mast, &["init", "--quiet"]);
    git(&mast, &["add", "--all"]);
    commit();
    let trees = scene.trees(&[]);
    scene.sees(&trees, "a commit of one that nobody has added", |_| {
        commit()
    });
    scene.sees(&trees, "a commit of one that was added", |scene| {
        scene.git(&["add", "mast"]);
        commit();
    });
    scene.sees(&trees, "one more", |_| commit());
    let before = scene.now(&trees);
    scene.write("mast/file", "2");
    assert_eq!(
        scene.now(&trees).tree,
        before.tree,
        "it is not committed there"
    );
}

/// The clock of a file system stands still for milliseconds, and sizes are the same.
#[test]
fn a_change_in_the_same_moment_with_the_same_size_is_seen() {
    let scene = Scene::begun();
    let trees = scene.trees(&[]);
    for number in 0..40 {
        let text = ["one", "two"][number % 2];
        for name in ["changed", "new"] {
            scene.write(name, text);
        }
        let seen = scene.now(&trees).tree;
        assert_eq!(seen, scene.first_look().tree, "look {number}");
    }
}

#[test]
fn a_change_that_hides_its_time_is_seen() {
    let scene = Scene::begun();
    let trees = scene.trees(&[]);
    for name in ["changed", "new"] {
        scene.write(name, "one");
        scene.age(name);
        scene.sees(&trees, name, |scene| {
            scene.write(name, "two");
            scene.age(name);
        });
    }
}

#[test]
fn settings_of_the_user_change_nothing_of_a_look() {
    let scene = Scene::begun();
    scene.write("changed", "2");
    scene.write("new/one", "1");
    let expected = scene.first_look();
    for (key, value) in [
        ("status.showUntrackedFiles", "no"),
        ("status.branch", "false"),
        ("status.showStash", "true"),
        ("status.renames", "copies"),
        ("status.relativePaths", "true"),
        ("status.short", "true"),
        ("color.status", "always"),
        ("core.untrackedCache", "false"),
        ("core.preloadIndex", "false"),
        ("core.fsmonitor", "true"),
        ("core.splitIndex", "true"),
        ("core.quotePath", "true"),
        ("diff.ignoreSubmodules", "all"),
        ("index.version", "4"),
    ] {
        scene.git(&["config", key, value]);
        let trees = scene.trees(&[]);
        assert_eq!(scene.now(&trees).tree, expected.tree, "{key}");
        assert_eq!(scene.now(&trees).tree, expected.tree, "{key}, again");
    }
}

#[test]
fn two_who_look_at_two_work_trees_do_not_see_each_other() {
    let scene = Scene::begun();
    let beside = tempfile::tempdir().expect("a folder");
    let other = beside.path().join("other");
    scene.git(&["worktree", "add", "-q", other.to_str().expect("UTF-8")]);
    let here = scene.trees(&[]);
    let there =
        WorkTreeTracker::open(&scene.world, scene.scratch.path(), &other, &[]).expect("opened");
    let begun = scene.now(&here);
    assert_eq!(scene.now(&there).tree, begun.tree);
    fs::write(other.join("new"), "1").expect("written");
    let after = scene.now(&there);
    assert_ne!(after.tree, begun.tree);
    assert_eq!(scene.now(&here).tree, begun.tree);
    git(&other, &["add", "--all"]);
    assert_eq!(git(&other, &["write-tree"]), after.tree);
}

#[test]
fn a_moment_is_untouched_until_somebody_adds_or_commits() {
    let scene = Scene::begun();
    let trees = scene.trees(&[]);
    let moment = scene.now(&trees);
    assert!(trees.is_untouched_since(&moment));
    scene.write("changed", "2");
    assert!(
        trees.is_untouched_since(&moment),
        "a file alone says nothing"
    );
    scene.git(&["add", "changed"]);
    assert!(!trees.is_untouched_since(&moment));
    let moment = scene.now(&trees);
    assert!(trees.is_untouched_since(&moment));
    scene.git(&["commit", "--quiet", "-m", "second"]);
    assert!(!trees.is_untouched_since(&moment));
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "files must grow older than two seconds"
)]
fn what_has_stood_still_for_long_is_not_added_again_and_a_change_of_it_is_seen() {
    let scene = Scene::begun();
    scene.write("new", "one");
    scene.age("new");
    scene.write("mast/file", "1");
    let mast = scene.path("mast");
    git(&mast, &["init", "--quiet"]);
    let commit = || {
        let who = ["-c", "user.name=ada", "-c", "user.email=ada@example.org"];
        let words = ["commit", "--quiet", "--allow-empty", "-m", "one"];
        git(&mast, &[&who[..], &words].concat());
    };
    commit();
    std::thread::sleep(Duration::from_millis(2_100));
    let trees = scene.trees(&[]);
    scene.sees(&trees, "a commit of a repository that stands still", |_| {
        commit()
    });
    drop(trees);
    fs::remove_dir_all(&mast).expect("removed");

    let trees = scene.trees(&[]);
    let first = scene.now(&trees);
    let added = || {
        let found = files(scene.scratch.path()).into_iter();
        found.filter(|(name, _)| name.ends_with("/adding")).count()
    };
    assert_eq!(added(), 1);
    for (name, _) in files(scene.scratch.path()) {
        if name.ends_with("/adding") {
            fs::remove_file(name).expect("removed");
        }
    }
    assert_eq!(scene.now(&trees).tree, first.tree);
    assert_eq!(added(), 0, "nothing was added a second time");
    scene.sees(&trees, "a change that hides its time", |scene| {
        let time = fs::metadata(scene.path("new")).and_then(|found| found.modified());
        scene.write("new", "two");
        let file = fs::File::options().write(true).open(scene.path("new"));
        let file = file.expect("opened");
        file.set_modified(time.expect("a time")).expect("set");
    });
}
