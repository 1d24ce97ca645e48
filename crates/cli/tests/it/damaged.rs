//! A store that was damaged: what is still read of it, and the way back.

use std::path::PathBuf;

use piton_core::entry::EntryType;
use piton_store::Store as _;
use piton_testkit::chance::{Ids, TestClock};
use piton_testkit::scratch::sqlite_in;
use piton_testkit::sketch::{entry, facts, log};
use rusqlite::Connection;

use crate::harness::{Said, Scratch};

fn db(scratch: &Scratch) -> PathBuf {
    scratch.file(".piton/journal.db")
}

/// Changes the store behind the back of piton.
fn sql(scratch: &Scratch, sql: &str) {
    let connection = Connection::open(db(scratch)).expect("it is there");
    connection.execute_batch(sql).expect("good SQL");
}

/// Changes bodies as a wrong fold would: with the checksums of what they say now.
fn sql_with_checksums(scratch: &Scratch, changes: &str) {
    sql(scratch, changes);
    let connection = Connection::open(db(scratch)).expect("it is there");
    for table in ["runs", "items"] {
        let select = format!("SELECT rowid, body FROM {table}");
        let mut select = connection.prepare(&select).expect("good SQL");
        let rows = select.query_map([], |row| {
            Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?))
        });
        for row in rows.expect("readable") {
            let (id, body) = row.expect("readable");
            let update = format!("UPDATE {table} SET checksum = ?1 WHERE rowid = ?2");
            let changed = connection.execute(&update, (crc32fast::hash(body.as_bytes()), id));
            changed.expect("writable");
        }
    }
}

/// A journal with so many events, in one file.
fn journal(events: u32) -> Scratch {
    let scratch = Scratch::in_memory();
    let folder = scratch.home();
    std::fs::create_dir(&folder).expect("made");
    let store = sqlite_in(&folder, TestClock::seeded(1));
    let mut ids = Ids::seeded(3);
    for nth in 0..events {
        let words = log(entry(
            EntryType::TaskBlocked,
            &format!("number {nth} of many"),
        ));
        store
            .commit(ids.command(), &words, &facts())
            .expect("writable");
    }
    drop(store);
    sql(&scratch, "PRAGMA wal_checkpoint(TRUNCATE)");
    scratch
}

fn export(scratch: &Scratch) -> Said {
    scratch.piton(&["journal", "export"])
}

#[test]
fn an_export_passes_over_what_cannot_be_read() {
    let scratch = journal(160);
    let healthy = export(&scratch);
    assert_eq!((healthy.exit, healthy.out.lines().count()), (0, 160));
    for (damage, lines, says) in [
        (
            "UPDATE events SET body = CAST(x'7bff' AS TEXT) WHERE seq = 100",
            159,
            "event 100 of sessions (entry-logged) version 1 number 100 of the store",
        ),
        (
            "UPDATE events SET body = '{\"x' WHERE seq = 100",
            160,
            "is not JSON",
        ),
        (
            "UPDATE events SET body = replace(body, '99 of many', '98 of many') WHERE seq = 100",
            160,
            "is not what its hash was made of",
        ),
        (
            "UPDATE events SET actor = 'ada' WHERE seq = 100",
            159,
            "event 100 of sessions",
        ),
        (
            "DELETE FROM events WHERE seq = 100",
            159,
            "event 100 of sessions",
        ),
    ] {
        let copy = scratch.copy();
        sql(&copy, damage);
        for verb in [["journal", "export"], ["journal", "show"]] {
            let said = copy.piton(&verb);
            assert_eq!(said.exit, 6, "{damage}: {}", said.err);
            assert_eq!(said.out.lines().count(), lines, "{damage}: {}", said.err);
            assert!(said.err.contains(says), "{damage}: {}", said.err);
            assert!(
                said.err.contains("1 of 160 events are damaged"),
                "{}",
                said.err
            );
        }
        let said = export(&copy);
        let others = healthy
            .out
            .lines()
            .enumerate()
            .filter(|(nth, _)| *nth != 99);
        assert!(
            others.into_iter().all(|(_, line)| said.out.contains(line)),
            "{damage}"
        );
        let json = copy.piton(&["journal", "show", "--json"]);
        let mut objects = json.err.lines().map(|line| {
            let object: serde_json::Value = serde_json::from_str(line).expect("an object");
            object
        });
        let named = objects.next().expect("one is named");
        assert_eq!(named["schema"], "piton.journal.unreadable/1");
        assert_eq!(
            (&named["stream"], &named["position"]),
            (&"sessions".into(), &100.into())
        );
        assert_eq!(objects.next().expect("a failure")["error"]["exit"], 6);
    }
}

#[test]
fn an_event_of_an_unknown_kind_is_exported_as_it_is() {
    let scratch = journal(3);
    let store = sqlite_in(&scratch.home(), TestClock::seeded(1));
    let mut records = store.read_journal(None, 3).expect("readable");
    drop(store);
    let mut last = records.pop().expect("there are three");
    last.kind = "entry-undone".to_owned();
    last.version = 7;
    let hash = last.compute_hash(&records[1].hash);
    let update = "UPDATE events SET kind = ?1, version = ?2, hash = ?3 WHERE seq = 3";
    Connection::open(db(&scratch))
        .and_then(|db| db.execute(update, rusqlite::params![last.kind, last.version, hash]))
        .expect("good SQL");
    let said = export(&scratch);
    assert_eq!(
        (said.exit, said.out.lines().count()),
        (0, 3),
        "{}",
        said.err
    );
    assert!(said.out.contains("entry-undone"));
}

#[test]
fn an_export_goes_on_behind_a_damaged_page() {
    let scratch = journal(160);
    let mut bytes = std::fs::read(db(&scratch)).expect("readable");
    let words = b"number 100 of many";
    let windows = bytes.windows(words.len()).enumerate();
    let found: Vec<usize> = windows
        .filter(|(_, found)| found == words)
        .map(|(at, _)| at)
        .collect();
    // That of the event, of the entry and of the blocker.
    for at in found {
        bytes[at / 4096 * 4096..(at / 4096 + 1) * 4096].fill(0xa5);
    }
    std::fs::write(db(&scratch), bytes).expect("writable");
    let said = export(&scratch);
    let (lines, passed) = (said.out.lines().count(), said.err.lines().count() - 2);
    assert_eq!((said.exit, lines + passed), (6, 160), "{}", said.err);
    assert!(
        lines > 120 && said.out.contains("number 159 of many"),
        "{lines}"
    );
    assert!(said.err.contains("malformed"), "{}", said.err);
}

#[test]
fn views_that_contradict_the_journal_lead_to_a_rebuild() {
    let scratch = journal(20);
    sql(&scratch, "UPDATE entries SET body = 'x' WHERE position = 4");
    let verdict = scratch.piton(&["journal", "verify"]);
    assert_eq!(verdict.exit, 6);
    assert!(
        verdict.err.contains("`piton store rebuild`"),
        "{}",
        verdict.err
    );
    let said = scratch.piton(&["store", "rebuild"]);
    assert_eq!(said.exit, 0, "{}", said.err);
    assert!(said.err.contains("20 events"), "{}", said.err);
    assert!(said.err.contains("kept as"), "{}", said.err);
    assert_eq!(scratch.piton(&["journal", "verify"]).exit, 0);
    let again = scratch.json(&["store", "rebuild"]);
    assert_eq!(again["events"], 20);
    let kept = again["kept"].as_str().expect("it is kept");
    assert!(std::fs::exists(kept).expect("readable"));
    sql(&scratch, "UPDATE events SET body = '{' WHERE seq = 7");
    let verdict = scratch.piton(&["journal", "verify"]);
    assert!(!verdict.err.contains("rebuild"), "{}", verdict.err);
    let refused = scratch.piton(&["store", "rebuild"]);
    assert_eq!(refused.exit, 6, "{}", refused.err);
    assert!(refused.err.contains("sessions, event 7"), "{}", refused.err);
    assert!(
        refused.err.contains("`piton journal export`"),
        "{}",
        refused.err
    );
}

/// The number of an event in its stream was changed in the index alone: the event was
/// passed over without a word. Events are not read by that index any more.
#[test]
fn a_flipped_bit_in_the_index_of_streams_hides_no_event() {
    let scratch = journal(30);
    let healthy = export(&scratch).out;
    let bytes = std::fs::read(db(&scratch)).expect("readable");
    let root = Connection::open(db(&scratch)).and_then(|db| {
        let sql = "SELECT rootpage FROM sqlite_schema WHERE name = 'events_of_stream'";
        db.query_row(sql, [], |row| row.get::<_, u32>(0))
    });
    let root = usize::try_from(root.expect("there is an index"));
    let page = (root.expect("small") - 1) * 4096;
    let used = (page + 8..page + 4096).filter(|at| bytes[*at] != 0);
    for at in used.step_by(5) {
        let mut flipped = bytes.clone();
        flipped[at] ^= 1 << (at % 8);
        std::fs::write(db(&scratch), flipped).expect("writable");
        let said = export(&scratch);
        if said.exit == 0 {
            assert_eq!(said.out, healthy, "byte {at}");
        } else {
            assert_eq!(said.exit, 6, "byte {at}: {}", said.err);
        }
    }
}

#[test]
fn without_a_backup_what_verify_prints_leads_to_a_run_that_goes_on() {
    let scratch = list_with_one_done();
    sql(
        &scratch,
        "PRAGMA wal_checkpoint(TRUNCATE); UPDATE events SET body = CAST(X'ff' AS TEXT) WHERE seq = 3; \
         PRAGMA writable_schema = ON; \
         UPDATE sqlite_schema SET sql = 'CREATE TABLE (' WHERE name = 'decisions'",
    );
    assert_eq!(run_list(&scratch, &[]).exit, 6);
    let verdict = scratch.piton(&["journal", "verify"]);
    assert_eq!(verdict.exit, 6, "{}", verdict.err);
    let exported = export(&scratch);
    assert!(exported.out.lines().count() > 5, "{}", exported.err);
    let typed = verdict
        .err
        .split('`')
        .find(|typed| typed.starts_with("mv "));
    let typed = typed.expect("it says what to type").replace('\n', " ");
    scratch.write("typed.sh", &typed);
    let moved = scratch.shell("typed.sh").status().expect("it starts");
    assert!(moved.success(), "{typed}");
    assert_eq!(run_list(&scratch, &[]).exit, 6, "a loss is not passed over");
    assert_eq!(scratch.piton(&["init", "--yes"]).exit, 0);
    let said = run_list(&scratch, &[]);
    assert_eq!(said.exit, 0, "{}", said.err);
    assert_eq!(scratch.read("worked").lines().count(), 3);
}

/// A list of three stories, the first of which is done.
fn list_with_one_done() -> Scratch {
    let scratch = Scratch::new();
    let story = |nth: u32| {
        format!(
            "{{\"id\": \"US-{nth}\", \"title\": \"story {nth}\", \"acceptanceCriteria\": [\"it is there\"], \"passes\": false}}"
        )
    };
    let stories = [1, 2, 3].map(story).join(", ");
    scratch.write(
        "prd.json",
        &format!(
            "{{\"project\": \"yard\", \"branchName\": \"main\", \"userStories\": [{stories}]}}\n"
        ),
    );
    scratch.agent("echo $PITON_ITEM >>worked");
    let said = run_list(&scratch, &["--once"]);
    assert_eq!(said.exit, 5, "{}", said.err);
    scratch
}

fn run_list(scratch: &Scratch, more: &[&str]) -> Said {
    let run = [
        "run",
        "prd.json",
        "--agent",
        "./agent.sh",
        "--verdict",
        "exit-status",
    ];
    scratch.piton(&[&run[..], more].concat())
}

/// It said that all is done, and began no other item.
#[test]
fn a_run_whose_rows_cannot_be_true_is_not_worked_on() {
    for (damage, told) in [
        (
            "UPDATE runs SET body = json_set(body, '$.open_roots', 0)",
            "counts 0 open items at the top, and there are 2",
        ),
        (
            "DELETE FROM items WHERE node = 'US-3'",
            "counts 2 open items at the top, and there are 1",
        ),
        (
            "UPDATE items SET body = json_set(body, '$.state', 'ready') WHERE node = 'US-1'",
            "counts 2 open items at the top, and there are 3",
        ),
        (
            "UPDATE items SET body = json_set(body, '$.children', 1) WHERE node = 'US-2'",
            "the row of `US-2` counts 1 items below it",
        ),
        (
            "UPDATE items SET node = 'US-9/a', body = json_set(body, '$.node', 'US-9/a') WHERE node = 'US-1'",
            "items stand below `US-9`, which has no row",
        ),
    ] {
        let scratch = list_with_one_done();
        sql_with_checksums(&scratch, damage);
        let said = run_list(&scratch, &[]);
        assert_eq!(said.exit, 6, "{damage}: {}{}", said.out, said.err);
        assert!(said.err.contains(told), "{damage}: {}", said.err);
        assert!(said.err.contains("`piton store rebuild`"), "{}", said.err);
        assert_eq!(scratch.read("worked"), "US-1\n", "{damage}");
        let rebuilt = scratch.piton(&["store", "rebuild"]);
        assert_eq!(rebuilt.exit, 0, "{damage}: {}", rebuilt.err);
        let said = run_list(&scratch, &[]);
        assert_eq!(said.exit, 0, "{damage}: {}", said.err);
        assert_eq!(scratch.read("worked"), "US-1\nUS-2\nUS-3\n", "{damage}");
    }
}

#[test]
fn an_mcp_server_does_not_start_on_a_newer_store() {
    let scratch = journal(1);
    assert_eq!(scratch.piton(&["mcp"]).exit, 0);
    sql(&scratch, "PRAGMA user_version = 99");
    let said = scratch.piton(&["mcp"]);
    assert_eq!(said.exit, 6, "{}", said.err);
    assert!(said.err.contains("[store.newer]"), "{}", said.err);
}

#[test]
fn an_export_ends_and_is_complete_whatever_a_head_counts() {
    let scratch = journal(5);
    let healthy = export(&scratch);
    for (damage, exit, says) in [
        (
            "UPDATE streams SET count = 3",
            6,
            "the index of the events is damaged",
        ),
        (
            "UPDATE streams SET count = count + 1099511627776",
            6,
            "events 6 to 1099511627781 are missing",
        ),
        (
            "UPDATE streams SET count = 9223372036854775807",
            6,
            "events 6 to",
        ),
    ] {
        let copy = scratch.copy();
        sql(&copy, damage);
        let said = export(&copy);
        assert_eq!(said.exit, exit, "{damage}: {}", said.err);
        assert_eq!(said.out, healthy.out, "{damage}: {}", said.err);
        assert!(said.err.contains(says), "{damage}: {}", said.err);
    }
}

#[test]
fn an_export_names_the_events_of_a_stream_that_is_gone() {
    let scratch = journal(5);
    sql(&scratch, "DELETE FROM streams WHERE name = 'sessions'");
    let said = export(&scratch);
    assert_eq!((said.exit, said.out.as_str()), (6, ""), "{}", said.err);
    assert!(said.err.contains("5 of"), "{}", said.err);
}

#[test]
fn an_event_that_no_page_has_is_exported_whatever_its_time_is() {
    let scratch = journal(3);
    // The columns of an event; its number, its position and its time are made.
    let columns = "randomblob(16), actor, kind, version, body, command, hash, form, writer, \
                   body_hash FROM events";
    let more = format!(
        "WITH RECURSIVE many (n) AS (SELECT 4 UNION ALL SELECT n + 1 FROM many WHERE n < 1100) \
         INSERT INTO events (stream, position, time, id, actor, kind, version, body, command, hash, \
         form, writer, body_hash) SELECT stream, n, time, {columns} JOIN many WHERE seq = 3; \
         UPDATE streams SET count = 1100; \
         INSERT INTO events (stream, position, time, id, actor, kind, version, body, command, hash, \
         form, writer, body_hash) SELECT stream, 5000, time - 1, {columns} WHERE seq = 1"
    );
    sql(&scratch, &more);
    let said = export(&scratch);
    let lines = said.out.lines().count();
    assert_eq!((said.exit, lines), (6, 1101), "{}", said.err);
    assert!(said.out.contains("\"position\":5000"), "{}", said.err);
}

mod unreadable_place {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    /// No command takes the project for an empty one, and nothing is begun beside it.
    #[track_caller]
    fn refused(scratch: &Scratch, named: &str) {
        for args in [
            &["status"][..],
            &["init", "--yes"],
            &["log", "milestone_reached", "--description", "x"],
            &["store", "info"],
        ] {
            let said = scratch.piton(args);
            assert_eq!(said.exit, 7, "{args:?}: {}{}", said.out, said.err);
            for what in ["[store.fault]", "which belongs to", named] {
                assert!(said.err.contains(what), "{args:?}: {what}: {}", said.err);
            }
        }
    }

    #[test]
    fn a_folder_in_the_place_of_the_journal_is_no_empty_project() {
        let scratch = Scratch::outside_git();
        fs::create_dir_all(scratch.file(".piton/journal.db")).expect("made");
        refused(&scratch, ".piton/journal.db");
    }

    #[test]
    fn a_file_in_the_place_of_the_home_is_no_empty_project() {
        let scratch = Scratch::outside_git();
        scratch.write(".piton", "");
        refused(&scratch, ".piton");
        assert_eq!(scratch.read(".piton"), "");
    }

    #[test]
    fn a_link_to_itself_in_the_place_of_the_journal_is_no_empty_project() {
        let scratch = Scratch::outside_git();
        fs::create_dir(scratch.file(".piton")).expect("made");
        let journal = scratch.file(".piton/journal.db");
        std::os::unix::fs::symlink("journal.db", journal).expect("linked");
        refused(&scratch, ".piton/journal.db");
    }

    #[test]
    fn a_home_that_may_not_be_searched_is_no_empty_project() {
        let scratch = journal(3);
        let home = scratch.home();
        fs::set_permissions(&home, fs::Permissions::from_mode(0o000)).expect("taken away");
        let is_read = fs::read_dir(&home).is_ok();
        if is_read {
            eprintln!("skipped: this user may read everything");
        } else {
            refused(&scratch, scratch.home_name());
        }
        fs::set_permissions(&home, fs::Permissions::from_mode(0o700)).expect("given back");
    }
}
