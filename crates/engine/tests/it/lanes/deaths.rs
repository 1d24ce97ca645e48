//! Death at every failpoint of a lane: the next one comes to the same end.

use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use piton_core::redact::Redactor;
use piton_engine::config::WorkspaceConfig;
use piton_engine::config::trust::TrustCheck;
use piton_engine::runner::lane_pool::{LanePreparation, LaneRemoval, LaneStart, Pool};

use super::{Yard, files, project, taking};
use crate::repository::{Caller, git, write};

const ROOT: &str = "PITON_TEST_LANES";
const TEST: &str = "lanes::deaths::child_that_works_in_a_lane";

pub(super) fn settings() -> WorkspaceConfig {
    WorkspaceConfig {
        setup: Some("echo ready >> $PITON_LANE_ENV; echo set up >> ../count; git -c protocol.file.allow=always submodule --quiet update --init".to_owned()),
        teardown: Some("true".to_owned()),
        ..WorkspaceConfig::default()
    }
}

/// Takes a lane, makes it ready, leaves something in it, loses it, makes it ready
/// anew and removes it.
#[test]
#[ignore = "run by other tests, in a process of its own"]
#[expect(
    clippy::disallowed_methods,
    reason = "a child is told by its environment"
)]
fn child_that_works_in_a_lane() {
    let Some(root) = std::env::var_os(ROOT).map(PathBuf::from) else {
        return;
    };
    let pool = Pool::open(&project(&root), &settings(), &TrustCheck::of_test()).expect("opened");
    let lane = pool.acquire(|_, _| true).expect("there is one more");
    if root.join("waits").exists() {
        fs::write(root.join(".piton/taken"), "").expect("written");
        loop {
            std::thread::park();
        }
    }
    let from = git(&root, &["rev-parse", "HEAD"]);
    let caller = Caller::new();
    let redactor = Redactor::rules_only();
    let prepare = || {
        let order = LanePreparation {
            taken: &taking("one"),
            from: &from,
            start: LaneStart::Clean,
            marks: &[],
            recorded: &[],
            by: &caller.by(),
            redactor: &redactor,
        };
        pool.prepare_lane(&lane, &order)
            .expect("it can be made ready");
        assert_eq!(
            files(&lane.tree),
            [".env", ".gitignore", ".worktreeinclude", "src/main"]
        );
    };
    prepare();
    write(&lane.tree, "left", "1\n");
    let folder = git(&lane.tree, &["rev-parse", "--absolute-git-dir"]);
    fs::remove_dir_all(folder).expect("removed");
    prepare();
    let order = LaneRemoval {
        by: &caller.by(),
        redactor: &redactor,
    };
    pool.remove_lane(lane, &order).expect("it can be removed");
}

#[expect(clippy::disallowed_methods, reason = "this test program, once more")]
pub(super) fn child(root: &Path) -> Command {
    let program = std::env::current_exe().expect("a test program has a path");
    let mut child = Command::new(program);
    child
        .args([TEST, "--exact", "--ignored", "--nocapture"])
        .env(ROOT, root)
        .stdout(Stdio::null());
    child
}

fn yard() -> Yard {
    let yard = Yard::new();
    yard.repository
        .write(".gitignore", "target/\n.piton/\n.env\n");
    yard.repository.write(".worktreeinclude", ".env\n");
    yard.repository.write(".env", "KEY=1\n");
    yard.repository.commit("more");
    yard
}

#[test]
fn death_at_every_failpoint_of_a_lane_comes_to_the_same_end() {
    let points = piton_engine::failpoint::POINTS.iter();
    let mut tried = 0;
    for point in points.filter(|point| point.starts_with("lane.")) {
        for nth in 1..=2 {
            let yard = yard();
            let place = format!("{point}:{nth}");
            let root = yard.repository.path();
            let died = child(root).env("PITON_FAILPOINT", &place).status();
            let died = died.expect("started");
            let was_killed = died.signal() == Some(9);
            assert!(was_killed || (nth > 1 && died.success()), "{place}: {died}");
            tried += u32::from(was_killed);
            let again = child(root).status().expect("started");
            assert!(again.success(), "{place}: {again}");
            assert_eq!(yard.worktrees(), 0, "{place}");
            assert_eq!(
                files(&root.join(".piton/lanes")),
                Vec::<String>::new(),
                "{place}"
            );
            let status = yard.repository.git(&["status", "--porcelain"]);
            assert_eq!(status, "", "{place}");
        }
    }
    assert!(tried >= 12, "{tried} deaths");
}

#[test]
fn a_lane_of_a_living_process_is_not_taken_and_of_a_dead_one_is() {
    let yard = yard();
    yard.repository.write("waits", "");
    let mut other = child(yard.repository.path()).spawn().expect("started");
    let taken = yard.repository.path().join(".piton/taken");
    for _ in 0..500 {
        if taken.exists() {
            break;
        }
        piton_engine::world::pause(std::time::Duration::from_millis(20));
    }
    assert!(taken.exists(), "the other process has a lane");
    let pool = yard.pool();
    assert_eq!(pool.acquire(|_, _| true).expect("one more").number, 2);
    let mine = pool.reacquire(1).expect("readable");
    assert_eq!(mine.map(|lane| lane.number), None);
    other.kill().expect("it is ours");
    other.wait().expect("it is ours");
    let mine = pool.reacquire(1).expect("readable");
    assert_eq!(mine.map(|lane| lane.number), Some(1));
}
