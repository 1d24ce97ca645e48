//! Lanes that somebody else took apart, and folders that are none.

use std::fs;
use std::path::Path;

use piton_engine::config::trust::TrustCheck;
use piton_engine::runner::lane_pool::{Lane, LaneStart};

use super::{Yard, files};
use crate::repository::{git, write};

/// A lane in which an attempt was cut short, with something of it in the files.
fn begun() -> (Yard, Lane) {
    let yard = Yard::new();
    let lane = yard.take();
    yard.ready(&lane, "one");
    write(&lane.tree, "src/main", "2\n");
    write(&lane.tree, "new", "1\n");
    (yard, lane)
}

/// Goes on with the work of the unit: nothing of it is lost.
#[track_caller]
fn check_goes_on(yard: &Yard, lane: &Lane) {
    let left = yard.prepare(lane, ("one", &yard.base, LaneStart::AsLeft));
    left.expect("it can be made ready");
    let status = git(&lane.tree, &["status", "--porcelain"]);
    assert_eq!(status, "M src/main\n?? new");
    assert_eq!(yard.worktrees(), 1);
    let list = yard.repository.git(&["worktree", "list", "--porcelain"]);
    assert!(list.contains("locked"), "{list}");
    assert!(!list.contains("prunable"), "{list}");
    // And for the next unit it is as any other.
    yard.ready(lane, "two");
    assert_eq!(files(&lane.tree), [".gitignore", "src/main"]);
}

#[test]
fn a_worktree_that_was_pruned_is_taken_back_with_its_files() {
    let (yard, lane) = begun();
    let folder = git(&lane.tree, &["rev-parse", "--absolute-git-dir"]);
    fs::remove_dir_all(folder).expect("removed");
    check_goes_on(&yard, &lane);
}

#[test]
fn a_worktree_that_lost_its_git_file_is_repaired() {
    let (yard, lane) = begun();
    fs::remove_file(lane.tree.join(".git")).expect("removed");
    check_goes_on(&yard, &lane);
}

#[test]
fn a_worktree_whose_head_is_gone_is_taken_back_with_its_files() {
    let (yard, lane) = begun();
    let folder = git(&lane.tree, &["rev-parse", "--absolute-git-dir"]);
    fs::remove_file(Path::new(&folder).join("HEAD")).expect("removed");
    check_goes_on(&yard, &lane);
}

#[test]
fn a_repository_that_an_agent_began_in_a_lane_is_put_aside() {
    let (yard, lane) = begun();
    fs::remove_file(lane.tree.join(".git")).expect("removed");
    git(&lane.tree, &["init", "--quiet"]);
    check_goes_on(&yard, &lane);
}

#[test]
fn a_project_that_was_moved_keeps_its_lanes() {
    let (mut yard, lane) = begun();
    drop(lane);
    let elsewhere = tempfile::tempdir().expect("a folder");
    let moved = elsewhere.path().join("moved");
    fs::rename(yard.repository.path(), &moved).expect("moved");
    let at = std::mem::replace(&mut yard.repository.0, elsewhere);
    // Nothing lies there any more.
    drop(at);
    let project = super::project(&moved);
    let pool = piton_engine::runner::lane_pool::Pool::open(
        &project,
        &yard.settings,
        &TrustCheck::of_test(),
    )
    .expect("opened");
    let lane = pool.acquire(|_, _| true).expect("there is one");
    let order = piton_engine::runner::lane_pool::LanePreparation {
        taken: &super::taking("one"),
        from: &yard.base,
        start: LaneStart::AsLeft,
        marks: &[],
        recorded: &[],
        by: &yard.caller.by(),
        redactor: &yard.redactor,
    };
    pool.prepare_lane(&lane, &order)
        .expect("it can be made ready");
    let status = git(&lane.tree, &["status", "--porcelain"]);
    assert_eq!(status, "M src/main\n?? new");
}

#[test]
fn a_lane_whose_worktree_was_removed_gets_a_new_one() {
    let (yard, lane) = begun();
    fs::remove_dir_all(&lane.tree).expect("removed");
    let left = yard.prepare(&lane, ("one", &yard.base, LaneStart::AsLeft));
    left.expect("it can be made ready");
    assert_eq!(files(&lane.tree), [".gitignore", "src/main"]);
    assert_eq!(yard.worktrees(), 1);
}

#[test]
fn a_folder_or_a_worktree_of_a_person_is_not_used() {
    let yard = Yard::new();
    let lane = yard.take();
    write(&lane.tree, "mine", "1\n");
    let said = yard.fault(&lane, "one").to_string();
    assert!(
        said.ends_with(" is not used as a lane: piton did not make it"),
        "{said}"
    );
    assert!(lane.tree.join("mine").is_file());

    let (yard, lane) = begun();
    let tree = lane.tree.to_string_lossy().into_owned();
    yard.repository.git(&["worktree", "unlock", &tree]);
    let said = yard.fault(&lane, "two").to_string();
    assert!(
        said.ends_with(": it is not locked any more, and has changes"),
        "{said}"
    );
    assert_eq!(
        fs::read_to_string(lane.tree.join("src/main")).expect("there"),
        "2\n"
    );
    // Without changes it is a lane again.
    git(&lane.tree, &["stash", "--include-untracked", "--quiet"]);
    yard.ready(&lane, "two");
    let list = yard.repository.git(&["worktree", "list", "--porcelain"]);
    assert!(list.contains("locked lane 1 of piton"), "{list}");
}
