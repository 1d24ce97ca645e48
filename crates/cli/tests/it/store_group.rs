//! `[store] group`: the journal is open to a group of users, and to nobody else.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;

use crate::harness::{RUN, Said, Scratch};

const CONFIG: &str = ".piton/config.toml";
const LOG: &[&str] = &["log", "milestone_reached", "--description", "x"];
/// A user who owns nothing here.
const NOBODY: u32 = 65_534;

/// A group that the tests may give files to: root needs none that exists, others use
/// their own.
fn group() -> u32 {
    match rustix::process::geteuid().is_root() {
        true => 54_321,
        false => rustix::process::getegid().as_raw(),
    }
}

/// A project whose settings open its journal, worked in.
fn shared() -> Scratch {
    let scratch = Scratch::new();
    name_group(&scratch);
    scratch.write(".ralph/x", "");
    work_in(&scratch);
    scratch
}

/// Settings that name the group, for their user alone as piton makes them.
fn name_group(scratch: &Scratch) {
    scratch.write(CONFIG, &format!("[store]\ngroup = \"{}\"\n", group()));
    set_mode(&scratch.path().join(".piton"), 0o700);
    set_mode(&scratch.path().join(CONFIG), 0o600);
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("set");
}

fn work_in(scratch: &Scratch) {
    scratch.sprint("  - {id: a, prompt: x}\n");
    scratch.agent("cat >/dev/null; echo built >>built; \"$PITON\" log milestone_reached --description x >/dev/null");
    scratch.write("login.gif", "GIF89a");
    let record = ["record", "keel", "--outcome", "failed", "--error", "no"];
    let picture = [
        "record",
        "keel",
        "--outcome",
        "failed",
        "--screenshot",
        "login.gif",
    ];
    for args in [
        &["init", "--yes", "--with", "ralph-dir"][..],
        &record,
        &picture,
        &["files", "sync"],
    ] {
        let said = scratch.piton(args);
        assert_eq!(said.exit, 0, "{args:?}: {}", said.err);
    }
    let said = scratch.run(&[]);
    assert_eq!(said.exit, 0, "{RUN:?}: {}", said.err);
    scratch.fed(&["hook", "stop"], b"{\"session_id\": \"s\"}");
}

/// The files and folders that have another mode than these, or another group.
fn find_others(
    scratch: &Scratch,
    folder_mode: u32,
    file_mode: u32,
    group: Option<u32>,
) -> Vec<String> {
    let mut found = Vec::new();
    let mut left = vec![scratch.home(), scratch.path().join(".piton")];
    while let Some(path) = left.pop() {
        let meta = fs::symlink_metadata(&path).expect("it is there");
        if meta.is_dir() {
            let entries = fs::read_dir(&path).expect("readable");
            left.extend(entries.map(|entry| entry.expect("readable").path()));
        }
        let wanted = if meta.is_dir() {
            folder_mode
        } else {
            file_mode
        };
        let mode = meta.permissions().mode() & 0o7777;
        if mode != wanted || group.is_some_and(|group| meta.gid() != group) {
            found.push(format!("{} {mode:o} {}", path.display(), meta.gid()));
        }
    }
    found
}

fn home_mode(scratch: &Scratch) -> u32 {
    let found = fs::metadata(scratch.home()).expect("there");
    found.permissions().mode() & 0o7777
}

/// How a message names where the journal lies.
fn home_of(scratch: &Scratch) -> String {
    format!("the store in {}", scratch.home_name())
}

#[track_caller]
fn assert_private(scratch: &Scratch) {
    let others = find_others(scratch, 0o700, 0o600, None);
    assert_eq!(others, Vec::<String>::new());
}

#[track_caller]
fn assert_shared(scratch: &Scratch, what: &str) {
    let others = find_others(scratch, 0o2770, 0o660, Some(group()));
    assert_eq!(others, Vec::<String>::new(), "{what}");
}

#[test]
fn every_file_of_a_shared_store_belongs_to_the_group() {
    let scratch = shared();
    assert_shared(&scratch, "worked in");
    assert!(scratch.home().join("reports").is_dir());
    let backup = scratch.path().join("backup.db");
    let backup = backup.to_str().expect("a path");
    for args in [
        &["store", "backup", backup][..],
        &["store", "restore", backup],
        &["store", "rebuild"],
    ] {
        let said = scratch.piton(args);
        assert_eq!(said.exit, 0, "{args:?}: {}", said.err);
        assert_shared(&scratch, args[1]);
    }
    // What a person takes out of the store is that person's.
    let of_others = scratch.path().join("of-others");
    fs::create_dir(&of_others).expect("made");
    set_mode(&of_others, 0o2770);
    let copy = of_others.join("copy.db");
    let said = scratch.piton(&["store", "backup", copy.to_str().expect("a path")]);
    assert_eq!(said.exit, 0, "{}", said.err);
    let mode = fs::metadata(copy).expect("there").permissions().mode();
    assert_eq!(mode & 0o7777, 0o600);
    let old = Path::new(env!("CARGO_MANIFEST_DIR")).join("../store/tests/data/v12/journal.db");
    for name in ["journal.db-wal", "journal.db-shm", "journal.head"] {
        fs::remove_file(scratch.home().join(name)).ok();
    }
    fs::write(
        scratch.home().join("journal.db"),
        fs::read(old).expect("there"),
    )
    .expect("written");
    let said = scratch.piton(&["log", "milestone_reached", "--description", "migrated"]);
    assert_eq!(said.exit, 0, "{}", said.err);
    assert_shared(&scratch, "migrated");
}

#[test]
fn a_store_is_opened_and_closed_by_the_next_writing_command() {
    let scratch = Scratch::new();
    scratch.write(".ralph/x", "");
    work_in(&scratch);
    let opened = format!("{} is open to the group `{}`", home_of(&scratch), group());
    let closed = format!("{} is closed to other users", home_of(&scratch));
    let log = |told: &[&str]| {
        let said = scratch.piton(LOG);
        assert_eq!(said.exit, 0, "{}", said.err);
        for text in [&opened, &closed] {
            let is_told = said.err.contains(text.as_str());
            assert_eq!(is_told, told.contains(&text.as_str()), "{}", said.err);
        }
    };
    name_group(&scratch);
    assert_eq!(scratch.piton(&["status"]).exit, 0);
    assert_eq!(home_mode(&scratch), 0o700, "a look changes nothing");
    log(&[&opened]);
    assert_shared(&scratch, "opened");
    log(&[]);
    scratch.write(CONFIG, "");
    log(&[&closed]);
    assert_private(&scratch);
    log(&[]);
}

#[test]
fn a_change_that_dies_is_finished_by_the_next_command() {
    let scratch = shared();
    let die_at = |point: &str| {
        let mut command = scratch.command(LOG);
        let status = command.env("PITON_FAILPOINT", point).status();
        assert_eq!(status.expect("piton starts").signal(), Some(9), "{point}");
    };
    scratch.write(CONFIG, "");
    die_at("access.files-closed");
    assert_eq!(home_mode(&scratch) & 0o777, 0o700, "nobody else is in it");
    set_mode(&scratch.home().join("journal.db"), 0o660);
    assert_eq!(scratch.piton(LOG).exit, 0);
    assert_private(&scratch);
    name_group(&scratch);
    for point in ["access.files-opened", "access.files-opened:2"] {
        die_at(point);
        assert_eq!(home_mode(&scratch) & 0o777, 0o700, "nobody else is in it");
    }
    assert_eq!(scratch.piton(LOG).exit, 0);
    assert_shared(&scratch, "after a death");
}

#[test]
fn a_group_that_cannot_be_given_the_store_is_refused_in_words() {
    for name in ["no-such-group", "", "-1", "4294967295", "root:x"] {
        let scratch = Scratch::new();
        scratch.write(CONFIG, &format!("[store]\ngroup = \"{name}\"\n"));
        let said = scratch.piton(LOG);
        assert_eq!(said.exit, 2, "{}", said.err);
        let message = format!("there is no group `{name}`");
        assert!(said.err.contains(&message), "{}", said.err);
        assert!(!scratch.home().join("journal.db").exists());
        assert_eq!(home_mode(&scratch), 0o700);
    }
}

#[test]
fn a_repository_that_nobody_trusts_opens_no_store() {
    let scratch = Scratch::new();
    scratch.write(CONFIG, &format!("[store]\ngroup = \"{}\"\n", group()));
    let state = tempfile::tempdir().expect("a folder for the state of a user");
    let piton = |args: &[&str]| {
        let mut command = scratch.command(args);
        command
            .env_remove("PITON_TEST_TRUST")
            .env("XDG_STATE_HOME", state.path());
        Said::of(&command.output().expect("piton starts"))
    };
    let said = piton(LOG);
    assert_eq!(said.exit, 0, "{}", said.err);
    assert!(said.err.contains("is not trusted here"), "{}", said.err);
    assert_eq!(home_mode(&scratch), 0o700);
    let shown = piton(&["trust", "--show", "--json"]).out;
    assert!(shown.contains("store-group"), "{shown}");
    assert_eq!(piton(&["trust"]).exit, 0);
    assert_eq!(piton(LOG).exit, 0);
    assert_shared(&scratch, "trusted");
    assert_eq!(piton(&["untrust"]).exit, 0);
    assert_eq!(piton(LOG).exit, 0);
    assert_eq!(home_mode(&scratch), 0o700);
}

#[test]
fn another_user_of_the_group_may_record_and_one_outside_may_not() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: only root can work as two users");
        return;
    }
    let scratch = shared();
    set_mode(&scratch.path(), 0o755);
    let elsewhere = tempfile::tempdir().expect("a home");
    set_mode(elsewhere.path(), 0o777);
    let program = elsewhere.path().join("piton");
    fs::hard_link(env!("CARGO_BIN_EXE_piton"), &program)
        .or_else(|_| fs::copy(env!("CARGO_BIN_EXE_piton"), &program).map(drop))
        .expect("a program that everybody reaches");
    let piton_of = |group: u32, args: &[&str]| {
        let known = scratch.command(args);
        let mut command = std::process::Command::new(&program);
        command.args(args).current_dir(scratch.path()).env_clear();
        command.envs(
            known
                .get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        );
        command
            .env("HOME", elsewhere.path())
            .env("XDG_STATE_HOME", elsewhere.path());
        command.env("TMPDIR", elsewhere.path());
        Said::of(
            &command
                .uid(NOBODY)
                .gid(group)
                .output()
                .expect("piton starts"),
        )
    };
    let record = ["record", "keel", "--outcome", "failed", "--error", "no"];
    let log = [
        "log",
        "milestone_reached",
        "--description",
        "of another user",
    ];
    for args in [&log[..], &["status"], &record, &["hook", "stop"]] {
        let said = piton_of(group(), args);
        assert_eq!(said.exit, 0, "{args:?}: {}", said.err);
    }
    assert_shared(&scratch, "worked in by two users");
    let said = scratch.piton(&["journal", "verify"]);
    assert_eq!(said.exit, 0, "{}", said.err);
    let said = scratch.piton(&["journal", "export"]);
    assert!(said.out.contains("of another user"), "{}", said.out);
    for args in [&log[..], &["status"], &record] {
        let said = piton_of(NOBODY, args);
        assert_ne!(said.exit, 0, "{args:?}: {}", said.out);
    }
    // Their own store they cannot give to a group that they are not in.
    let status = std::process::Command::new("chown")
        .args(["-R", &NOBODY.to_string()])
        .arg(scratch.path())
        .status();
    assert!(status.expect("chown is installed").success());
    set_mode(&scratch.home(), 0o700);
    let said = piton_of(NOBODY, &log);
    assert_eq!(said.exit, 2, "{}", said.err);
    let message = format!("cannot be given to the group `{}`", group());
    assert!(said.err.contains(&message), "{}", said.err);
    assert_eq!(home_mode(&scratch), 0o700);
}
