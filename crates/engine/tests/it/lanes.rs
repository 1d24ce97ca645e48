//! The pool of lanes with a real git, and death at every step of making one ready.

mod adopted;
mod deaths;
mod include;
mod inner;
mod scripts;

use std::fs;
use std::path::{Path, PathBuf};

use piton_core::redact::Redactor;
use piton_engine::config::WorkspaceConfig;
use piton_engine::config::trust::TrustCheck;
use piton_engine::git::{ExcludedFiles, commit_without, save_work};
use piton_engine::project::Project;
use piton_engine::runner::lane_pool::{
    Lane, LaneFault, LaneOccupant, LanePreparation, LaneRecord, LaneRemoval, LaneStart, Pool,
    PreparedLane,
};

use crate::repository::{Caller, Repository, git, write};

/// A project with a pool.
struct Yard {
    repository: Repository,
    caller: Caller,
    redactor: Redactor,
    settings: WorkspaceConfig,
    base: String,
}

fn project(root: &Path) -> Project {
    Project {
        root: root.to_owned(),
        home: root.join(".piton"),
        work_tree: root.to_owned(),
        in_git: true,
    }
}

/// A taking of a unit.
fn taking(unit: &str) -> LaneOccupant {
    LaneOccupant {
        run: "demo".to_owned(),
        unit: unit.to_owned(),
        token: 1,
    }
}

impl Yard {
    fn new() -> Self {
        let repository = Repository::new();
        repository.write("src/main", "1\n");
        repository.write(".gitignore", "target/\n.piton/\n");
        let base = repository.commit("base");
        Self {
            repository,
            caller: Caller::new(),
            redactor: Redactor::with_variables([("API_KEY", "k3y-0f-4da-n0b0dy-kn0ws")]),
            settings: WorkspaceConfig::default(),
            base,
        }
    }

    fn with_setup(setup: &str) -> Self {
        let mut yard = Self::new();
        yard.settings.setup = Some(setup.to_owned());
        yard
    }

    fn pool(&self) -> Pool {
        Pool::open(
            &project(self.repository.path()),
            &self.settings,
            &TrustCheck::of_test(),
        )
        .expect("it can be made")
    }

    /// Takes the first lane of which no living process is.
    #[track_caller]
    fn take(&self) -> Lane {
        self.pool().acquire(|_, _| true).expect("there is one more")
    }

    fn prepare(
        &self,
        lane: &Lane,
        (unit, from, start): (&str, &str, LaneStart),
    ) -> Result<PreparedLane, LaneFault> {
        let order = LanePreparation {
            taken: &taking(unit),
            from,
            start,
            marks: &[],
            recorded: &[],
            by: &self.caller.by(),
            redactor: &self.redactor,
        };
        self.pool().prepare_lane(lane, &order)
    }

    /// Makes a lane ready for a unit, at the base.
    #[track_caller]
    fn ready(&self, lane: &Lane, unit: &str) -> PreparedLane {
        let prepared = self.prepare(lane, (unit, &self.base, LaneStart::Clean));
        prepared.expect("it can be made ready")
    }

    /// What stops a lane from being made ready for a unit.
    #[track_caller]
    fn fault(&self, lane: &Lane, unit: &str) -> LaneFault {
        let prepared = self.prepare(lane, (unit, &self.base, LaneStart::Clean));
        prepared.expect_err("it cannot be made ready")
    }

    /// Removes a lane, unless something would go with it.
    fn remove(&self, lane: Lane) -> Result<(), LaneFault> {
        let left = self.pool().find_unsaved_changes(&lane, &self.base)?;
        if let Some(first) = left.into_iter().next() {
            return Err(first);
        }
        let order = LaneRemoval {
            by: &self.caller.by(),
            redactor: &self.redactor,
        };
        self.pool().remove_lane(lane, &order)
    }

    fn worktrees(&self) -> usize {
        let list = self.repository.git(&["worktree", "list", "--porcelain"]);
        let paths = list.lines().filter(|line| line.starts_with("worktree "));
        paths.count() - 1
    }
}

/// Every file of a worktree but its `.git`.
fn files(tree: &Path) -> Vec<String> {
    fn below(folder: &Path, tree: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                below(&path, tree, found);
            } else if path != tree.join(".git") {
                found.push(path.strip_prefix(tree).expect("below").to_owned());
            }
        }
    }
    let mut found = Vec::new();
    below(tree, tree, &mut found);
    let mut names: Vec<String> = found
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    names.sort();
    names
}

#[test]
fn a_lane_is_a_locked_worktree_at_a_commit_and_belongs_to_no_branch() {
    let yard = Yard::new();
    let lane = yard.take();
    let prepared = yard.ready(&lane, "one");
    assert_eq!(lane.number, 1);
    let name = lane.tree.file_name().expect("a name").to_string_lossy();
    assert!(name.ends_with("-1") && name.len() > 2, "{name}");
    assert_eq!(files(&lane.tree), [".gitignore", "src/main"]);
    assert_eq!(git(&lane.tree, &["rev-parse", "HEAD"]), yard.base);
    assert_eq!(git(&lane.tree, &["branch", "--show-current"]), "");
    let list = yard.repository.git(&["worktree", "list", "--porcelain"]);
    assert!(list.contains("locked lane 1 of piton"), "{list}");
    assert_eq!(yard.repository.git(&["status", "--porcelain"]), "");
    assert_eq!(prepared.warnings, Vec::<String>::new());
    let names: Vec<&str> = prepared.env.iter().map(|(name, _)| &**name).collect();
    let given = [
        "PITON_LANE",
        "PITON_PORT_BASE",
        "PITON_LANE_ENV",
        "PITON_PROJECT",
    ];
    assert_eq!(names, given);
    let mode = std::os::unix::fs::PermissionsExt::mode(
        &fs::metadata(&lane.folder).expect("there").permissions(),
    );
    assert_eq!(mode & 0o777, 0o700);
}

#[test]
fn every_lane_has_its_number_and_ports_and_one_that_is_free_is_used_again() {
    let mut yard = Yard::new();
    yard.settings.ports = Some(4_000);
    let (first, second) = (yard.take(), yard.take());
    assert_eq!((first.number, second.number), (1, 2));
    let ports = |lane: &Lane| {
        let env = yard.ready(lane, "one").env;
        let found = env.into_iter().find(|(name, _)| name == "PITON_PORT_BASE");
        found.expect("given").1
    };
    assert_eq!(ports(&first), "4000");
    assert_eq!(ports(&second), "4010");
    assert_eq!(
        yard.pool()
            .reacquire(1)
            .expect("readable")
            .map(|lane| lane.number),
        None
    );
    drop(first);
    // By the journal its unit has it still.
    let held = |number: u32, used: Option<&LaneRecord>| {
        let is_held = number == 1;
        assert_eq!(
            used.map(|used| &used.taken),
            is_held.then_some(&taking("one"))
        );
        !is_held
    };
    assert_eq!(yard.pool().acquire(held).expect("one more").number, 3);
    let again = yard.pool().reacquire(1).expect("readable").expect("free");
    assert_eq!(again.number, 1);
    drop(again);
    assert_eq!(yard.take().number, 1);
    let known = yard.pool().list_lanes().expect("readable");
    let known: Vec<(u32, bool)> = known.iter().map(|(n, used)| (*n, used.is_some())).collect();
    assert_eq!(known, [(1, true), (2, true), (3, false)]);
}

#[test]
fn a_lane_whose_folder_is_removed_is_held_again_though_another_one_looks_at_it() {
    let yard = Yard::new();
    let lane = yard.take();
    yard.ready(&lane, "one");
    fs::remove_dir_all(&lane.folder).expect("removed");
    let (pool, (looks, looked)) = (yard.pool(), std::sync::mpsc::channel());
    let other = std::thread::spawn(move || {
        let found = pool.acquire_number(1, |_| {
            looks.send(()).expect("somebody waits");
            piton_engine::world::pause(std::time::Duration::from_millis(100));
            false
        });
        found.expect("readable").is_none()
    });
    looked.recv().expect("the other one looks");
    yard.ready(&lane, "one");
    assert!(other.join().expect("it ends"));
    assert!(yard.pool().reacquire(1).expect("readable").is_none());
}

#[test]
fn ports_of_a_project_are_the_same_each_time_and_below_those_of_connections() {
    let yard = Yard::new();
    let lane = yard.take();
    let port = |prepared: &PreparedLane| {
        let found = prepared
            .env
            .iter()
            .find(|(name, _)| name == "PITON_PORT_BASE");
        found.expect("given").1.parse::<u32>().expect("a number")
    };
    let first = port(&yard.ready(&lane, "one"));
    assert_eq!(port(&yard.ready(&lane, "two")), first);
    assert!((10_240..32_768).contains(&first), "{first}");
}

#[test]
fn a_lane_is_clean_for_each_unit_but_for_what_git_ignores() {
    let yard = Yard::new();
    let lane = yard.take();
    yard.ready(&lane, "one");
    write(&lane.tree, "src/main", "2\n");
    write(&lane.tree, "new/file", "1\n");
    write(&lane.tree, "target/cache", "1\n");
    git(&lane.tree, &["add", "src/main"]);
    yard.ready(&lane, "two");
    assert_eq!(
        files(&lane.tree),
        [".gitignore", "src/main", "target/cache"]
    );
    assert_eq!(git(&lane.tree, &["status", "--porcelain"]), "");
}

#[test]
fn what_an_attempt_left_that_was_cut_short_stays_for_the_next_one() {
    let yard = Yard::new();
    let lane = yard.take();
    yard.ready(&lane, "one");
    write(&lane.tree, "src/main", "2\n");
    git(&lane.tree, &["add", "src/main"]);
    write(&lane.tree, "new", "1\n");
    let left = yard.prepare(&lane, ("one", &yard.base, LaneStart::AsLeft));
    left.expect("it can be made ready");
    let status = git(&lane.tree, &["status", "--porcelain"]);
    assert_eq!(status, "M  src/main\n?? new");
}

#[test]
fn a_lane_in_the_middle_of_something_is_put_to_its_commit() {
    let yard = Yard::new();
    yard.repository.git(&["checkout", "--quiet", "-b", "side"]);
    yard.repository.write("src/main", "side\n");
    let side = yard.repository.commit("side");
    yard.repository.git(&["checkout", "--quiet", "main"]);
    yard.repository.write("src/main", "main\n");
    let main = yard.repository.commit("main");
    for begun in [
        ["merge", side.as_str()],
        ["rebase", side.as_str()],
        ["cherry-pick", side.as_str()],
        ["bisect", "start"],
    ] {
        let lane = yard.take();
        let at_main = ("one", main.as_str(), LaneStart::Clean);
        yard.prepare(&lane, at_main).expect("it can be made ready");
        // Each of these stops at the conflict, or waits.
        crate::repository::asked(&lane.tree, &begun);
        let said = git(&lane.tree, &["status"]);
        let is_begun = said.contains("currently") || said.contains("unmerged");
        assert!(is_begun, "{said}");
        yard.ready(&lane, "two");
        let said = git(&lane.tree, &["status"]);
        assert!(said.contains("nothing to commit"), "{said}");
        assert!(!said.contains("currently"), "{said}");
        assert_eq!(git(&lane.tree, &["rev-parse", "HEAD"]), yard.base);
    }
}

#[test]
fn a_lock_that_an_ended_git_left_in_a_lane_stops_nobody() {
    let yard = Yard::new();
    let lane = yard.take();
    yard.ready(&lane, "one");
    let folder = git(&lane.tree, &["rev-parse", "--absolute-git-dir"]);
    for name in ["index.lock", "HEAD.lock"] {
        fs::write(Path::new(&folder).join(name), "").expect("written");
    }
    yard.ready(&lane, "two");
    git(
        &lane.tree,
        &["commit", "--quiet", "--allow-empty", "-m", "work"],
    );
}

#[test]
fn no_hook_of_the_user_runs_when_a_lane_is_made_ready() {
    let yard = Yard::new();
    let hooks = yard.repository.path().join(".git/hooks");
    crate::repository::write_script(&hooks, "post-checkout", "exit 1\n");
    let lane = yard.take();
    yard.ready(&lane, "one");
}

#[test]
fn a_filter_that_is_not_there_is_a_fault_in_words() {
    let yard = Yard::new();
    let config = |key, value| yard.repository.git(&["config", key, value]);
    config("filter.large.clean", "cat");
    config("filter.large.smudge", "no-such-filter");
    config("filter.large.required", "true");
    yard.repository
        .write(".gitattributes", "*.bin filter=large\n");
    yard.repository.write("a.bin", "1");
    let large = yard.repository.commit("large");
    let lane = yard.take();
    let fault = yard
        .prepare(&lane, ("one", &large, LaneStart::Clean))
        .expect_err("it cannot be checked out");
    let said = fault.to_string();
    assert!(
        said.starts_with("git could not check a commit out: "),
        "{said}"
    );
    assert!(said.contains("no-such-filter"), "{said}");
    // And with it all is well.
    config("filter.large.smudge", "cat");
    let ready = yard.prepare(&lane, ("one", &large, LaneStart::Clean));
    ready.expect("it can be made ready");
}

#[test]
fn a_submodule_is_setups_to_check_out_and_in_nobodys_way() {
    let inner = Repository::new();
    inner.write("inside", "1\n");
    inner.commit("inner");
    let mut yard =
        Yard::with_setup("git -c protocol.file.allow=always submodule --quiet update --init");
    let url = inner.path().to_string_lossy().into_owned();
    let add = [
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "add",
        &url,
        "sub",
    ];
    yard.repository.git(&add);
    let with_sub = yard.repository.commit("with a submodule");
    let lane = yard.take();
    fn at(commit: &str) -> (&str, &str, LaneStart) {
        ("one", commit, LaneStart::Clean)
    }
    yard.prepare(&lane, at(&with_sub)).expect("ready");
    assert!(lane.tree.join("sub/inside").is_file());
    yard.settings.setup = None;
    yard.prepare(&lane, at(&yard.base)).expect("ready");
    assert_eq!(files(&lane.tree), [".gitignore", "src/main"]);
    yard.prepare(&lane, at(&with_sub)).expect("ready");
    yard.remove(lane).expect("it can be removed");
    assert_eq!(yard.worktrees(), 0);
}

#[test]
fn what_is_saved_holds_everything_and_changes_nothing() {
    let yard = Yard::new();
    let lane = yard.take();
    yard.ready(&lane, "one");
    let none = ExcludedFiles::default();
    let by = yard.caller.by();
    let save = |without: &[String]| {
        let excluded = ExcludedFiles {
            own: &[],
            files: without,
        };
        save_work(&lane.tree, &yard.base, excluded, "Work so far", &by)
            .expect("git works")
            .commit
    };
    assert_eq!(save(&[]), None, "there is nothing");
    write(&lane.tree, "src/main", "2\n");
    git(&lane.tree, &["add", "src/main"]);
    write(&lane.tree, "src/main", "3\n");
    write(&lane.tree, "new [1]", "1\n");
    write(&lane.tree, "new [1] too", "1\n");
    let state = || {
        let folder = git(&lane.tree, &["rev-parse", "--absolute-git-dir"]);
        let index = fs::read(Path::new(&folder).join("index")).expect("an index");
        (
            git(&lane.tree, &["rev-parse", "HEAD"]),
            index,
            files(&lane.tree),
        )
    };
    let before = state();
    let saved = save(&["new [1]".to_owned()]).expect("something");
    assert_eq!(state(), before);
    let show = |what: &str| git(&lane.tree, &["show", &format!("{saved}:{what}")]);
    assert_eq!(show("src/main"), "3");
    let names = git(&lane.tree, &["ls-tree", "-r", "--name-only", &saved]);
    assert_eq!(names, ".gitignore\nnew [1] too\nsrc/main");
    let parent = git(&lane.tree, &["log", "-1", "--format=%P", &saved]);
    assert_eq!(parent, yard.base);
    // The next lane of the unit begins there.
    yard.prepare(&lane, ("one", &saved, LaneStart::Clean))
        .expect("ready");
    assert_eq!(
        fs::read_to_string(lane.tree.join("src/main")).expect("there"),
        "3\n"
    );
    assert_eq!(
        save_work(&lane.tree, &saved, none, "x", &by)
            .expect("git works")
            .commit,
        None
    );
    // What is committed already is its own commit.
    assert_eq!(save(&[]).as_deref(), Some(&*saved));
}

#[test]
fn a_commit_leaves_out_what_was_copied_in_and_ends_a_merge_that_changes_nothing() {
    let yard = Yard::new();
    let lane = yard.take();
    yard.ready(&lane, "one");
    write(&lane.tree, ".env", "KEY=1\n");
    write(&lane.tree, ".env.example", "KEY=\n");
    let commit = || {
        let without = [".env".to_owned()];
        let by = yard.caller.by();
        let excluded = ExcludedFiles {
            own: &[],
            files: &without,
        };
        let made = commit_without(&lane.tree, "work", excluded, &by);
        made.expect("git works").expect("no hook refuses it")
    };
    let made = commit().expect("something changed");
    let names = git(&lane.tree, &["show", "--format=", "--name-only", &made]);
    assert_eq!(names, ".env.example");
    assert_eq!(commit(), None, "nothing else did");
    // The other side is resolved to what is here.
    yard.repository.write("src/main", "2\n");
    let other = yard.repository.commit("other");
    git(
        &lane.tree,
        &[
            "merge",
            "--quiet",
            "--no-commit",
            "--no-ff",
            "--strategy=ours",
            &other,
        ],
    );
    let merged = commit().expect("the merge");
    let parents = git(&lane.tree, &["log", "-1", "--format=%P", &merged]);
    assert_eq!(parents, format!("{made} {other}"));
}

#[test]
fn a_pool_elsewhere_has_a_folder_for_each_project() {
    let elsewhere = tempfile::tempdir().expect("a folder");
    let mut yards = [Yard::new(), Yard::new()];
    for yard in &mut yards {
        yard.settings.root = Some(elsewhere.path().to_owned());
        let lane = yard.take();
        yard.ready(&lane, "one");
        assert_eq!(lane.number, 1);
        assert!(!yard.repository.path().join(".piton").exists());
    }
    let projects = fs::read_dir(elsewhere.path()).expect("a folder").count();
    assert_eq!(projects, 2);
}

#[test]
fn a_lane_that_a_person_works_in_stays() {
    let yard = Yard::new();
    let lane = yard.take();
    yard.ready(&lane, "one");
    write(&lane.tree, "mine", "1\n");
    let fault = yard.remove(lane).expect_err("it has changes");
    let said = fault.to_string();
    assert!(
        said.ends_with(" has changes that are not committed, mine among them"),
        "{said}"
    );
    let lane = yard.take();
    fs::remove_file(lane.tree.join("mine")).expect("removed");
    write(&lane.tree, "target/cache", "1\n");
    let folder = lane.folder.clone();
    yard.remove(lane).expect("it can be removed");
    assert!(!folder.exists());
    assert_eq!(yard.worktrees(), 0);
    assert_eq!(yard.pool().list_lanes().expect("readable").len(), 0);
    // And the number is there again.
    let lane = yard.take();
    assert_eq!(lane.number, 1);
    yard.ready(&lane, "two");
}

#[test]
fn a_lane_is_made_while_another_git_makes_one() {
    let yard = Yard::new();
    let lane = yard.take();
    // As git leaves it for a moment: the file is there, and has no line yet.
    let half = yard.repository.path().join(".git/worktrees/half");
    let elsewhere = yard.repository.path().join("half/.git");
    write(&half, "gitdir", &format!("{}\n", elsewhere.display()));
    write(&half, "HEAD", &format!("{}\n", yard.base));
    write(&half, "locked", "initializing\n");
    write(&half, "commondir", "");
    std::thread::scope(|scope| {
        scope.spawn(|| {
            piton_engine::world::pause(std::time::Duration::from_millis(300));
            write(&half, "commondir", "../..\n");
        });
        yard.ready(&lane, "one");
    });
    assert_eq!(files(&lane.tree), [".gitignore", "src/main"]);
}
