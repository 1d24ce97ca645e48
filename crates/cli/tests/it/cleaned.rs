//! `git clean -ffdx` removes everything that is in no commit, and no event of the
//! journal. A project that an older piton began keeps its journal in the work tree until
//! a person moves it.

use std::path::Path;

use crate::harness::{Running, Said, Scratch, until};
use crate::lanes;

const CLEAN: &[&str] = &["clean", "-ffdxq"];
const LOG: &[&str] = &["log", "milestone_reached", "--description"];

#[track_caller]
fn fine(said: &Said) -> &Said {
    assert_eq!(said.exit, 0, "{}{}", said.out, said.err);
    said
}

/// Every event that is stored.
fn events(scratch: &Scratch) -> String {
    fine(&scratch.piton(&["journal", "export"])).out.clone()
}

#[track_caller]
fn verify(scratch: &Scratch) {
    fine(&scratch.piton(&["journal", "verify"]));
}

fn record(scratch: &Scratch, what: &str) -> Said {
    scratch.piton(&[LOG, &[what]].concat())
}

/// A repository whose list of work is committed, with an agent that records and cleans.
fn cleaned_by_an_agent(clean: &str) -> Scratch {
    let agent = format!(
        "tell() {{ $PITON log milestone_reached --description $1-$PITON_ITEM && \
         echo $1-$PITON_ITEM >>$PITON_PROJECT/.git/acknowledged; }}\n\
         tell before\n{clean}\ntell after\n\
         echo $PITON_ITEM >made-$PITON_ITEM; git add made-$PITON_ITEM"
    );
    let scratch = lanes::project(&agent, 3);
    scratch.git(&["add", "--all"]);
    scratch.git(&["commit", "-qm", "begin"]);
    scratch
}

#[track_caller]
fn check_all_is_there(scratch: &Scratch) {
    let (events, acknowledged) = (events(scratch), scratch.read(".git/acknowledged"));
    for told in acknowledged.lines() {
        assert!(events.contains(told), "{told} is gone");
    }
    assert!(acknowledged.contains("after-"), "{acknowledged}");
    verify(scratch);
}

#[test]
fn an_agent_that_cleans_the_work_tree_takes_no_event_and_the_run_goes_on() {
    let scratch = cleaned_by_an_agent("git clean -ffdxq");
    fine(&scratch.piton(&["run", "prd.json", "--agent", "./agent.sh"]));
    check_all_is_there(&scratch);
    let list = scratch.read("prd.json");
    assert_eq!(list.matches("\"passes\": true").count(), 3, "{list}");
    assert!(scratch.piton(&["status"]).out.contains("done"));
}

#[test]
fn agents_that_clean_their_lanes_take_no_event() {
    let scratch = cleaned_by_an_agent("git clean -ffdxq");
    fine(&lanes::run(&scratch, "2"));
    check_all_is_there(&scratch);
}

#[test]
fn an_agent_that_cleans_the_main_work_tree_from_its_lane_takes_no_event() {
    let once =
        "mkdir \"$PITON_PROJECT/.git/once\" 2>/dev/null && git -C \"$PITON_PROJECT\" clean -ffdxq";
    let scratch = cleaned_by_an_agent(once);
    // The lanes go, also one that is just being made; not what is recorded.
    lanes::run(&scratch, "2");
    check_all_is_there(&scratch);
    fine(&scratch.piton(&["status"]));
}

#[test]
fn cleaning_between_commands_takes_no_event_in_any_worktree() {
    let scratch = Scratch::new();
    scratch.write("kept", "").git(&["add", "kept"]);
    scratch.git(&["commit", "-qm", "begin"]);
    scratch.git(&["worktree", "add", "-q", "tree"]);
    fine(&record(&scratch, "from the main one"));
    let there = [LOG, &["from the linked one"]].concat();
    fine(&Running::start(scratch.command_in("tree", &there)).end());
    let before = events(&scratch);
    assert!(before.contains("from the main one") && before.contains("from the linked one"));
    scratch.git(&["-C", "tree", "clean", "-ffdxq"]);
    assert_eq!(events(&scratch), before);
    scratch.git(CLEAN);
    for maintains in [&["gc", "-q"][..], &["worktree", "prune"]] {
        scratch.git(maintains);
    }
    assert_eq!(events(&scratch), before);
    verify(&scratch);
    // A copy of the folder is a copy of the project.
    assert_eq!(events(&scratch.copy()), before);
}

#[test]
fn a_new_project_in_git_puts_nothing_into_its_work_tree() {
    let scratch = Scratch::new();
    scratch.git(CLEAN);
    fine(&record(&scratch, "begun"));
    assert!(
        scratch
            .git(&["status", "--porcelain", "--ignored"])
            .is_empty()
    );
    assert!(scratch.has(".git/piton/journal.db"));
}

#[test]
fn a_home_that_cannot_be_made_in_git_is_refused_and_nothing_is_begun_beside() {
    let scratch = Scratch::new();
    scratch.git(CLEAN);
    scratch.write(".git/piton", "in the way");
    let said = record(&scratch, "begun");
    assert_eq!(said.exit, 7, "{}", said.err);
    assert!(said.err.contains(".git/piton"), "{}", said.err);
    assert!(!scratch.path().join(".piton").exists());
}

#[test]
fn a_home_in_git_that_is_a_link_is_refused() {
    let scratch = Scratch::new();
    let elsewhere = Scratch::outside_git();
    std::os::unix::fs::symlink(elsewhere.path(), scratch.path().join(".git/piton"))
        .expect("linked");
    let said = record(&scratch, "begun");
    assert!(said.err.contains("[file.outside]"), "{}", said.err);
    assert!(!elsewhere.has("journal.db"));
}

/// A linked worktree of a submodule shares its journal, and paths in it mean the same.
#[test]
fn the_worktrees_of_a_submodule_share_its_journal() {
    let inner = Scratch::new();
    inner.write("kept", "").git(&["add", "kept"]);
    inner.git(&["commit", "-qm", "begin"]);
    let scratch = Scratch::new();
    let from = inner.path().to_string_lossy().into_owned();
    let add = [
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "add",
    ];
    scratch.git(&[&add[..], &[&from, "sub"]].concat());
    scratch.git(&["-C", "sub", "worktree", "add", "-q", "../tree"]);
    for folder in ["sub", "tree"] {
        let told = [LOG, &[folder]].concat();
        fine(&Running::start(scratch.command_in(folder, &told)).end());
    }
    let said = Running::start(scratch.command_in("sub", &["journal", "export"])).end();
    assert!(said.out.contains("\"tree\""), "{}", said.out);
    assert!(scratch.has(".git/modules/sub/piton/journal.db") && !scratch.has(".git/piton"));
}

/// A project that an older piton began: its journal lies in the work tree.
fn begun_by_an_older_piton() -> Scratch {
    let scratch = Scratch::outside_git();
    fine(&record(&scratch, "long ago"));
    let scratch = scratch.with_repository();
    scratch.git(&["commit", "-qm", "begin", "--allow-empty"]);
    scratch
}

#[test]
fn a_journal_in_the_work_tree_stays_and_its_owner_is_told_once() {
    let scratch = begun_by_an_older_piton();
    let said = record(&scratch, "today");
    fine(&said);
    assert!(said.err.contains("git clean -x"), "{}", said.err);
    assert!(said.err.contains("`piton store move`"), "{}", said.err);
    assert!(!record(&scratch, "again").err.contains("git clean"));
    assert!(events(&scratch).contains("long ago"));
    assert!(!scratch.path().join(".git/piton").exists());
}

#[test]
fn a_journal_moves_out_of_reach_with_all_that_belongs_to_it() {
    let scratch = begun_by_an_older_piton();
    scratch.sprint("  - {id: one, prompt: do it}\n");
    scratch.agent("echo fine");
    fine(&scratch.run(&[]));
    scratch.write(".piton/config.toml", "");
    let before = events(&scratch);
    let output = scratch.piton(&["transcript", "one"]).out;
    assert!(output.contains("fine"), "{output}");
    let moved = scratch.json(&["store", "move"]);
    assert!(moved["files"].as_u64() > Some(3), "{moved}");
    let left = std::fs::read_dir(scratch.path().join(".piton")).expect("it is there");
    let mut left: Vec<String> = left
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    left.sort();
    assert_eq!(left, [".gitignore", "config.toml", "journal.db"]);
    let note = scratch.path().join(".piton/journal.db/moved");
    let note = std::fs::read_to_string(note).expect("a note");
    assert!(note.contains("/.git/piton"), "{note}");
    assert_eq!(events(&scratch), before);
    assert_eq!(scratch.piton(&["transcript", "one"]).out, output);
    scratch.git(CLEAN);
    assert_eq!(events(&scratch), before);
    assert!(!fine(&record(&scratch, "later")).err.contains("git clean"));
    verify(&scratch);
    let said = scratch.piton(&["store", "move"]);
    assert!(fine(&said).err.contains("already"), "{}", said.err);
}

#[test]
fn a_move_removes_nothing_that_it_did_not_copy() {
    let scratch = begun_by_an_older_piton();
    let (from, to) = (
        scratch.path().join(".piton"),
        scratch.path().join(".git/piton"),
    );
    let mut dies = scratch.command(&["store", "move"]);
    dies.env("PITON_FAILPOINT", "move.placed");
    assert_eq!(dies.output().expect("it starts").status.code(), None);
    // Both places have the journal, and one a file that the other has not.
    std::fs::create_dir_all(from.join("blobs")).expect("made");
    std::fs::write(from.join("blobs/one"), "kept").expect("written");
    let said = scratch.piton(&["store", "move"]);
    assert!(said.err.contains("[store.two_journals]"), "{}", said.err);
    assert!(said.err.contains(".piton/blobs/one"), "{}", said.err);
    assert!(from.join("blobs/one").is_file() && from.join("journal.db").is_file());
    std::fs::remove_dir_all(&to).expect("removed");

    // Links are not moved, and keep nothing from being whole.
    std::os::unix::fs::symlink("one", from.join("blobs/two")).expect("linked");
    let said = scratch.piton(&["store", "move"]);
    assert_eq!(said.exit, 6, "{}", said.err);
    assert!(said.err.contains("is a link"), "{}", said.err);
    assert!(events(&scratch).contains("long ago"));
    std::fs::remove_file(from.join("blobs/two")).expect("removed");
    fine(&scratch.piton(&["store", "move"]));

    // What comes there later is no part of the move.
    let later = [from.join("journal.backup"), from.join("logs")];
    for path in &later {
        std::fs::write(path, "later").expect("written");
    }
    fine(&scratch.piton(&["store", "move"]));
    assert!(later.iter().all(|path| path.is_file()));
}

#[test]
fn a_journal_that_is_in_use_does_not_move() {
    let scratch = begun_by_an_older_piton();
    scratch.sprint("  - {id: one, prompt: do it}\n");
    scratch.agent("touch begun; while [ ! -e go ]; do sleep 0.05; done; echo fine");
    let run = scratch.start_run(&[]);
    until("the agent works", || scratch.has("begun"));
    let said = scratch.piton(&["store", "move"]);
    assert_eq!(said.exit, 4, "{}", said.err);
    assert!(said.err.contains("[store.busy]"), "{}", said.err);
    scratch.write("go", "");
    fine(&run.end());
    // Another process that has it open and does nothing.
    let options = piton_store::StoreOptions::new(piton_core::redact::Redactor::rules_only());
    let open = piton_store::SqliteStore::open(&scratch.home(), options).expect("opened");
    let said = scratch.piton(&["store", "move"]);
    assert_eq!(said.exit, 4, "{}", said.err);
    assert!(!scratch.has(".git/piton"), "something was copied");
    drop(open);
    fine(&scratch.piton(&["store", "move"]));
}

#[test]
fn outside_of_git_there_is_nowhere_to_move() {
    let scratch = Scratch::outside_git();
    record(&scratch, "begun");
    let said = scratch.piton(&["store", "move"]);
    assert_eq!(said.exit, 2, "{}", said.err);
    assert!(said.err.contains("no repository"), "{}", said.err);
}

#[test]
fn a_move_that_dies_anywhere_loses_nothing_and_is_ended_by_the_next() {
    let points = [
        "move.copied",
        "move.placed",
        "move.retired",
        "move.partly-removed:1",
        "move.partly-removed:3",
    ];
    for point in points {
        let scratch = begun_by_an_older_piton();
        record(&scratch, "today");
        let before = events(&scratch);
        let mut dies = scratch.command(&["store", "move"]);
        dies.env("PITON_FAILPOINT", point);
        let died = dies.output().expect("it starts");
        assert_eq!(died.status.code(), None, "{point}: it was not killed");
        // Whoever comes now finds all events, or is told what to type.
        let said = scratch.piton(&["journal", "export"]);
        if said.exit == 0 {
            assert_eq!(said.out, before, "{point}");
        } else {
            assert!(
                said.err.contains("[store.two_journals]"),
                "{point}: {}",
                said.err
            );
            assert!(said.err.contains("`piton store move`"), "{}", said.err);
            let said = record(&scratch, "refused");
            assert!(said.err.contains("[store.two_journals]"), "{}", said.err);
        }
        fine(&scratch.piton(&["store", "move"]));
        assert_eq!(events(&scratch), before, "{point}");
        assert!(
            scratch.path().join(".piton/journal.db/moved").is_file(),
            "{point}"
        );
        assert!(
            !scratch.path().join(".piton/journal.head").exists(),
            "{point}"
        );
        assert!(!scratch.has(".git/piton-arriving"), "{point}");
        fine(&record(&scratch, "after"));
        verify(&scratch);
    }
}

#[test]
fn of_two_journals_neither_counts_without_a_word() {
    let scratch = begun_by_an_older_piton();
    let other = Scratch::new();
    record(&other, "another one");
    let copied = std::process::Command::new("cp")
        .arg("-a")
        .args([other.home(), scratch.path().join(".git")])
        .status();
    assert!(copied.expect("cp is installed").success());
    for typed in [
        &["status"][..],
        &["journal", "export"],
        &[LOG, &["x"]].concat(),
    ] {
        let said = scratch.piton(typed);
        assert_eq!(said.exit, 6, "{typed:?}: {}", said.err);
        assert!(said.err.contains("[store.two_journals]"), "{}", said.err);
    }
    let said = scratch.piton(&["store", "move"]);
    assert_eq!(said.exit, 6, "{}", said.err);
    for told in [".piton has 1 event", ".git/piton has 1 event", "`mv "] {
        assert!(said.err.contains(told), "{told}: {}", said.err);
    }
    let home = scratch.path().join(".git/piton");
    std::fs::rename(&home, home.with_extension("aside")).expect("renamed");
    fine(&scratch.piton(&["store", "move"]));
    assert!(events(&scratch).contains("long ago"));
}

/// Whether the main work tree's journal lies in git's folder or in `.piton/`.
#[test]
fn a_journal_in_a_linked_worktree_beside_that_of_the_project_is_named() {
    for scratch in [Scratch::new(), begun_by_an_older_piton()] {
        fine(&record(&scratch, "here"));
        scratch.git(&["commit", "-q", "--allow-empty", "-m", "begin"]);
        scratch.git(&["worktree", "add", "-q", "tree"]);
        let other = begun_by_an_older_piton();
        let copied = std::process::Command::new("cp")
            .arg("-a")
            .arg(other.path().join(".piton"))
            .arg(scratch.path().join("tree"))
            .status();
        assert!(copied.expect("cp is installed").success());
        for typed in [&["status"][..], &["journal", "export"]] {
            let said = Said::of(
                &scratch
                    .command_in("tree", typed)
                    .output()
                    .expect("it starts"),
            );
            assert_eq!(said.exit, 6, "{typed:?}: {}{}", said.out, said.err);
            assert!(said.err.contains("[store.two_journals]"), "{}", said.err);
            assert!(said.err.contains("tree/.piton/journal.db"), "{}", said.err);
            fine(&scratch.piton(typed));
        }
    }
}

#[test]
fn the_loss_of_a_journal_is_told_and_no_empty_one_is_begun_beside() {
    let scratch = begun_by_an_older_piton();
    fine(&record(&scratch, "today"));
    let backup = Scratch::outside_git();
    let file = backup.path().join("copy.db");
    let file = file.to_str().expect("text");
    fine(&scratch.piton(&["store", "backup", file]));
    scratch.git(CLEAN);
    for typed in [
        &["status"][..],
        &["journal", "export"],
        &[LOG, &["x"]].concat(),
    ] {
        let said = scratch.piton(typed);
        assert_eq!(said.exit, 6, "{typed:?}: {}", said.err);
        for told in [
            "[store.lost]",
            ".piton/journal.db",
            "it had 1 event or more on ",
            "`piton store restore FILE`",
            "`piton init`",
        ] {
            assert!(said.err.contains(told), "{typed:?}: {told}: {}", said.err);
        }
    }
    assert!(
        !Path::new(&scratch.path())
            .join(".git/piton/journal.db")
            .exists()
    );
    let anew = scratch.copy();
    let said = anew.piton(&["init", "--yes"]);
    assert!(
        fine(&said).err.contains("a new one is begun"),
        "{}",
        said.err
    );
    assert_eq!(record(&anew, "goes on").exit, 0);
    fine(&scratch.piton(&["store", "restore", file]));
    assert!(events(&scratch).contains("today"));
    scratch.git(CLEAN);
    assert!(events(&scratch).contains("today"));
}

#[test]
fn a_database_that_is_gone_alone_is_told_as_well() {
    let scratch = Scratch::new();
    record(&scratch, "begun");
    std::fs::remove_file(scratch.home().join("journal.db")).expect("removed");
    let said = record(&scratch, "again");
    assert!(said.err.contains("[store.lost]"), "{}", said.err);
}

#[test]
fn an_agent_of_an_older_project_that_cleans_is_told_of_the_loss() {
    let scratch = begun_by_an_older_piton();
    scratch.sprint("  - {id: one, prompt: do it}\n");
    scratch.agent("git clean -ffdxq; echo fine");
    scratch.git(&["add", "--all"]);
    scratch.git(&["commit", "-qm", "work"]);
    let said = scratch.run(&[]);
    assert_eq!(said.exit, 7, "{}", said.err);
    assert!(said.err.contains("[store.gone]"), "{}", said.err);
    let said = scratch.run(&[]);
    assert_eq!(said.exit, 6, "{}", said.err);
    assert!(said.err.contains("[store.lost]"), "{}", said.err);
}
