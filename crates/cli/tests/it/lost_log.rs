//! The write-ahead log is deleted, cut or changed by another program: the acknowledged
//! events that go with it are named, and nothing else ever is.

use std::fs;
use std::path::Path;

use crate::harness::Scratch;

const LOG: &str = ".piton/journal.db-wal";

/// A project with some events, the last of which are in the log alone.
fn recorded() -> Scratch {
    let scratch = Scratch::new();
    for nth in 1..=4 {
        let tells = format!("step {nth}");
        let said = scratch.piton(&["log", "milestone_reached", "--description", &tells]);
        assert_eq!(said.exit, 0, "{}", said.err);
    }
    scratch
}

fn count_events(scratch: &Scratch) -> u64 {
    let info = scratch.json(&["store", "info"]);
    info["events"].as_u64().expect("a number")
}

fn delete_log(log: &Path) {
    fs::remove_file(log).expect("deleted");
}

fn truncate_log(log: &Path) {
    let bytes = fs::read(log).expect("the log");
    fs::write(log, &bytes[..bytes.len() / 2]).expect("cut");
}

fn flip_bytes_of_log(log: &Path) {
    let mut bytes = fs::read(log).expect("the log");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x40;
    fs::write(log, bytes).expect("changed");
}

#[test]
fn acknowledged_events_that_go_with_the_log_are_named() {
    let ways = [
        ("deleted", delete_log as fn(&Path)),
        ("cut", truncate_log),
        ("flipped", flip_bytes_of_log),
    ];
    for (way, damage) in ways {
        let scratch = recorded();
        let before = count_events(&scratch);
        damage(&scratch.file(LOG));
        let lost = before - count_events(&scratch);
        assert!(lost > 0, "{way}: the log held nothing");
        let gone = match lost {
            1 => format!("event {before}, which was acknowledged, is gone"),
            lost => format!("the last {lost} events, which were acknowledged, are gone"),
        };
        // Whoever reads is told, and the next writer, once.
        let said = scratch.piton(&["journal", "verify"]);
        assert_eq!(said.exit, 6, "{way}: {}", said.err);
        assert!(said.err.contains(&gone), "{way}: {}", said.err);
        let said = scratch.piton(&["status"]);
        let first = said.err.lines().next().unwrap_or_default();
        assert!(first.contains(&gone), "{way}: {}", said.err);
        assert!(
            !said.err.contains("nothing has been run"),
            "{way}: {}",
            said.err
        );
        for reads in [&["status"][..], &["recent"], &["journal", "export"]] {
            let said = scratch.piton(reads);
            assert_eq!(said.exit, 0, "{way}: {}", said.err);
            assert!(said.err.contains(&gone), "{way}: {reads:?}: {}", said.err);
        }
        let said = scratch.piton(&["log", "milestone_reached", "--description", "next"]);
        assert_eq!(said.exit, 0, "{way}: {}", said.err);
        assert!(said.err.contains(&gone), "{way}: {}", said.err);
        let said = scratch.piton(&["log", "milestone_reached", "--description", "after"]);
        assert!(!said.err.contains("acknowledged"), "{way}: {}", said.err);
        // It stays known.
        let said = scratch.piton(&["journal", "verify"]);
        assert_eq!(said.exit, 0, "{way}: {}", said.err);
        assert!(said.err.contains(&gone), "{way}: {}", said.err);
        let report = scratch.json(&["journal", "verify"]);
        assert_eq!(report["lost"][0]["acknowledged"], before, "{way}");
    }
}

fn assert_nothing_is_lost(scratch: &Scratch, what: &str) {
    let report = scratch.json(&["journal", "verify"]);
    let none = serde_json::json!([]);
    assert_eq!(
        (&report["damage"], &report["lost"]),
        (&none, &none),
        "{what}"
    );
    let said = scratch.piton(&["log", "milestone_reached", "--description", "more"]);
    assert_eq!(said.exit, 0, "{what}: {}", said.err);
    assert!(!said.err.contains("acknowledged"), "{what}: {}", said.err);
}

#[test]
fn nothing_is_said_to_be_lost_that_is_not() {
    let restored = recorded();
    let backup = restored.path().join("backup.db");
    let backup = backup.to_str().expect("a path");
    assert_eq!(restored.piton(&["store", "backup", backup]).exit, 0);
    restored.piton(&["log", "milestone_reached", "--description", "not kept"]);
    assert_eq!(restored.piton(&["store", "restore", backup]).exit, 0);
    assert_nothing_is_lost(&restored, "restored");

    let scratch = recorded();
    assert_nothing_is_lost(&scratch.copy(), "copied");

    // Between the commit and the note of it, and behind it.
    for point in ["commit.durable", "commit.acknowledged"] {
        let scratch = recorded();
        let mut command = scratch.command(&["log", "milestone_reached", "--description", "died"]);
        let died = command.env("PITON_FAILPOINT", point).output();
        assert!(!died.expect("started").status.success(), "{point}");
        assert_nothing_is_lost(&scratch, point);
    }

    let torn = recorded();
    torn.write(".piton/journal.head", "{\"seq\":9999,\"ha");
    assert_nothing_is_lost(&torn, "torn");
}

#[test]
fn a_rebuild_names_what_is_lost_and_it_stays_known() {
    let scratch = recorded();
    scratch.write(LOG, "");
    assert_eq!(scratch.piton(&["journal", "verify"]).exit, 6);
    let said = scratch.piton(&["store", "rebuild"]);
    assert_eq!(said.exit, 0, "{}", said.err);
    assert!(said.err.contains("acknowledged"), "{}", said.err);
    let said = scratch.piton(&["journal", "verify"]);
    assert_eq!(said.exit, 0, "{}", said.err);
    assert!(said.err.contains("acknowledged"), "{}", said.err);
}
