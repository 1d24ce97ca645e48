//! Files that git ignores and lanes get all the same.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use piton_engine::runner::lane_pool::LaneStart;

use super::{Yard, files};
use crate::repository::{git, write};

fn yard() -> Yard {
    let yard = Yard::new();
    yard.repository.write(
        ".gitignore",
        "target/\n.piton/\n.env*\n!.env.example\nkeys/\n",
    );
    yard.repository.write(
        ".worktreeinclude",
        ".env\nkeys/*.pem\nsrc/main\nnot-ignored\n*.db\n",
    );
    yard.repository.write(".env", "KEY=1\n");
    yard.repository.write(".env.local", "KEY=2\n");
    yard.repository.write("keys/a.pem", "PEM\n");
    yard.repository.write("keys/a.txt", "no\n");
    yard.repository.write("not-ignored", "no\n");
    yard.repository.write(".piton/journal.db", "no\n");
    yard.repository.write(".piton/other.db", "no\n");
    yard
}

#[test]
fn what_is_named_and_ignored_is_copied_for_nobody_else_to_read() {
    let yard = yard();
    // No commit has an ignore rule for them yet.
    let lane = yard.take();
    let prepared = yard.ready(&lane, "one");
    assert_eq!(prepared.included, [".env", "keys/a.pem"]);
    assert_eq!(prepared.warnings, Vec::<String>::new());
    let read = |name| fs::read_to_string(lane.tree.join(name)).expect("copied");
    assert_eq!(read(".env"), "KEY=1\n");
    let found = fs::metadata(lane.tree.join("keys/a.pem")).expect("copied");
    assert_eq!(found.permissions().mode() & 0o777, 0o600);
    let beside = fs::read_dir(&lane.folder).expect("a folder").flatten();
    let beside = beside.filter(|entry| entry.file_name().to_string_lossy().starts_with(".tmp"));
    assert_eq!(beside.count(), 0, "nothing is left of the copying");

    // A new version is copied anew, and what is not named any more goes.
    yard.repository.write(".env", "KEY=3\n");
    yard.repository.write(".worktreeinclude", ".env\n");
    let prepared = yard.prepare(&lane, ("one", &yard.base, LaneStart::AsLeft));
    assert_eq!(prepared.expect("ready").included, [".env"]);
    assert_eq!(read(".env"), "KEY=3\n");
    assert!(!lane.tree.join("keys/a.pem").exists());

    let folder = lane.folder.clone();
    yard.remove(lane).expect("what was copied in is no change");
    assert!(!folder.exists());
}

#[test]
fn a_link_leads_no_copy_out_of_the_lane() {
    let yard = yard();
    let outside = tempfile::tempdir().expect("a folder");
    let target = outside.path().join("target");
    fs::write(&target, "outside\n").expect("written");
    let lane = yard.take();
    yard.ready(&lane, "one");
    fs::remove_file(lane.tree.join(".env")).expect("copied");
    symlink(&target, lane.tree.join(".env")).expect("linked");
    fs::remove_dir_all(lane.tree.join("keys")).expect("copied");
    symlink(outside.path(), lane.tree.join("keys")).expect("linked");
    let left = yard.prepare(&lane, ("one", &yard.base, LaneStart::AsLeft));
    let left = left.expect("ready");
    assert_eq!(left.included, Vec::<String>::new());
    let why = "is not copied into lanes: there is a link on its path";
    assert_eq!(
        left.warnings,
        [format!(".env {why}"), format!("keys/a.pem {why}")]
    );
    let there: Vec<String> = files(outside.path());
    assert_eq!(there, ["target"]);
    assert_eq!(fs::read_to_string(&target).expect("there"), "outside\n");
}

#[test]
fn what_is_no_plain_file_or_tracked_in_the_lane_is_said_and_not_copied() {
    let yard = yard();
    symlink("/etc/passwd", yard.repository.path().join("keys/b.pem")).expect("linked");
    let lane = yard.take();
    yard.ready(&lane, "one");
    write(&lane.tree, "keys/a.pem", "tracked\n");
    git(&lane.tree, &["add", "--force", "keys/a.pem"]);
    let left = yard.prepare(&lane, ("one", &yard.base, LaneStart::AsLeft));
    let left = left.expect("ready");
    assert_eq!(left.included, [".env"]);
    assert_eq!(
        left.warnings,
        [
            "keys/a.pem is not copied into lanes: the branch has a file of this name",
            "keys/b.pem is not copied into lanes: it is a link",
        ]
    );
}
