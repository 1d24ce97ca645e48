//! The archive of the log of Agent OS: whatever dies, whenever it dies, every
//! entry stands in the log or in the file of its month, once.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::time::{Duration, Instant};

use piton_simkit::seed::salted;
use piton_testkit::chance::Chance;
use serde_json::{Value, json};

use crate::harness::{Said, Scratch};

const FOLDER: &str = ".agent-os/progress";
const FILE: &str = ".agent-os/progress/progress.json";
const OLD: usize = 600;
const RECENT: usize = 20;

/// An entry of the `index`th six-hour shift before the fixed clock's.
fn entry(index: usize, at: jiff::Timestamp, kind: &str, notes: &str) -> Value {
    json!({
        "id": format!("entry-{}-{index:05}", at.strftime("%Y%m%d-%H%M%S")),
        "timestamp": format!("{at:.3}"),
        "type": kind,
        "spec": "2025-old",
        "task_id": format!("{index}"),
        "data": {"description": format!("entry {index}"), "notes": notes},
    })
}

/// A log of entries older than thirty days, and of some that are not.
fn log_of(old: usize, recent: usize) -> String {
    let now: jiff::Timestamp = "2026-01-15T09:00:00Z".parse().expect("a time");
    let hours = |hours: i64| jiff::SignedDuration::from_hours(hours);
    let mut entries = Vec::new();
    for index in 0..old {
        let back = i64::try_from(old - index).expect("small");
        let at = now - hours(32 * 24) - hours(back * 3);
        let kind = if index == 7 {
            "task_blocked"
        } else {
            "task_completed"
        };
        // Headings in notes are no headings of the page.
        entries.push(entry(index, at, kind, "### not a heading\n\n## nor this"));
    }
    for index in old..old + recent {
        let at = now - hours(20 * 24) + hours(i64::try_from(index).expect("small") % 24);
        entries.push(entry(index, at, "task_completed", ""));
    }
    let document = json!({
        "version": "1.0", "project": "old", "entries": entries,
        "metadata": {"total_entries": old + recent, "oldest_entry": entries[0]["timestamp"],
            "last_updated": entries[old + recent - 1]["timestamp"], "archived_through": null},
    });
    serde_json::to_string_pretty(&document).expect("JSON")
}

fn project() -> Scratch {
    let scratch = Scratch::new().with_fixed_clock();
    scratch.write(FILE, &log_of(OLD, RECENT));
    scratch
}

/// The ids of the entries of a file.
fn ids(text: &str) -> Vec<String> {
    let document: Value = serde_json::from_str(text).expect("JSON");
    let entries = document["entries"].as_array().expect("a list");
    let id = |entry: &Value| entry["id"].as_str().expect("an id").to_owned();
    entries.iter().map(id).collect()
}

fn months(scratch: &Scratch) -> BTreeMap<String, Vec<String>> {
    let folder = scratch.path().join(FOLDER).join("archive");
    let Ok(listed) = fs::read_dir(folder) else {
        return BTreeMap::new();
    };
    listed
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|end| end == "json"))
        .map(|path| {
            let name = path
                .file_stem()
                .expect("a name")
                .to_string_lossy()
                .into_owned();
            (name, ids(&fs::read_to_string(&path).expect("read")))
        })
        .collect()
}

/// Every file below `.agent-os`, with its bytes.
fn files(scratch: &Scratch) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for folder in [FOLDER.to_owned(), format!("{FOLDER}/archive")] {
        for entry in fs::read_dir(scratch.path().join(&folder))
            .expect("listed")
            .flatten()
        {
            if entry.path().is_file() {
                let name = format!("{folder}/{}", entry.file_name().to_string_lossy());
                found.insert(name, fs::read(entry.path()).expect("read"));
            }
        }
    }
    found
}

#[track_caller]
fn synced(scratch: &Scratch) {
    let said = scratch.piton(&["files", "sync"]);
    assert_eq!(said.exit, 0, "{}{}", said.out, said.err);
}

/// No entry lost, none twice, the metadata and the page true, and what is
/// archived still found.
#[track_caller]
fn check(scratch: &Scratch, more: usize, place: &str) {
    let main = ids(&scratch.read(FILE));
    let months = months(scratch);
    let archived: usize = months.values().map(Vec::len).sum();
    let all: BTreeSet<&String> = main.iter().chain(months.values().flatten()).collect();
    assert_eq!(
        main.len() + archived,
        OLD + RECENT + more,
        "{place}: lost or twice"
    );
    assert_eq!(all.len(), OLD + RECENT + more, "{place}: ids are unique");
    assert_eq!(archived, OLD, "{place}: what is old is archived");
    for (month, ids) in &months {
        let begin = format!("entry-{}", month.replace('-', ""));
        assert!(
            ids.iter().all(|id| id.starts_with(&begin)),
            "{place}: {month}"
        );
    }
    let document: Value = serde_json::from_str(&scratch.read(FILE)).expect("JSON");
    let entries = document["entries"].as_array().expect("a list");
    let metadata = &document["metadata"];
    assert_eq!(metadata["total_entries"], entries.len(), "{place}");
    let times: Vec<&str> = entries
        .iter()
        .filter_map(|entry| entry["timestamp"].as_str())
        .collect();
    assert_eq!(
        metadata["oldest_entry"].as_str(),
        times.iter().min().copied(),
        "{place}"
    );
    assert_eq!(
        metadata["last_updated"].as_str(),
        times.iter().max().copied(),
        "{place}"
    );
    assert_eq!(metadata["archived_through"], "2025-12-16", "{place}");
    let page = scratch.read(".agent-os/progress/progress.md");
    let headings = page.lines().filter(|line| line.starts_with("### ")).count();
    assert_eq!(headings, entries.len(), "{place}: the page");
    let left: Vec<String> = files(scratch)
        .into_keys()
        .filter(|name| name.ends_with(".tmp"))
        .collect();
    assert_eq!(left, Vec::<String>::new(), "{place}");
    let recent = scratch.json(&["recent", "1000"]);
    assert_eq!(
        recent["entries"].as_array().map(Vec::len),
        Some(OLD + RECENT + more),
        "{place}"
    );
    let blockers = scratch.json(&["recent", "--blockers"]);
    assert!(
        blockers.to_string().contains("entry 7"),
        "{place}: {blockers}"
    );
}

#[test]
fn case_42_what_is_old_is_archived_and_the_page_has_a_heading_for_each_entry() {
    let scratch = project();
    assert_eq!(scratch.piton(&["init", "--yes"]).exit, 0);
    check(&scratch, 0, "after init");
    assert_eq!(scratch.piton(&["log", "milestone_reached"]).exit, 0);
    check(&scratch, 1, "after a further entry");
}

#[test]
fn case_41_the_archive_made_again_changes_nothing() {
    let scratch = project();
    assert_eq!(scratch.piton(&["init", "--yes"]).exit, 0);
    let before = files(&scratch);
    synced(&scratch);
    assert!(
        files(&scratch) == before,
        "a second archive changes nothing"
    );
    // Whoever brings the whole log back finds it archived again, and once.
    scratch.write(FILE, &log_of(OLD, RECENT));
    synced(&scratch);
    check(&scratch, 0, "brought back");
    fs::remove_file(scratch.path().join(FILE)).expect("it is there");
    synced(&scratch);
    check(&scratch, 0, "taken away");
    let archive = format!("{FOLDER}/archive");
    for (name, bytes) in before.iter().filter(|(name, _)| name.starts_with(&archive)) {
        assert!(
            fs::read(scratch.path().join(name)).expect("read") == *bytes,
            "{name}"
        );
    }
}

fn initialise(scratch: &Scratch, failpoint: Option<&str>) -> Said {
    let mut command = scratch.command(&["init", "--yes"]);
    if let Some(failpoint) = failpoint {
        command.env("PITON_FAILPOINT", failpoint);
    }
    let output = command.output().expect("piton starts");
    let killed = output.status.signal() == Some(9);
    let said = Said::of(&output);
    assert!(killed || said.exit == 0, "{failpoint:?}: {}", said.err);
    said
}

#[test]
fn case_41_a_death_at_any_failpoint_of_the_archive_loses_nothing_and_doubles_nothing() {
    let of_files = ["archive.", "synced-file.", "exchange.", "project-sync."];
    let mut deaths = 0;
    for point in piton_engine::failpoint::POINTS {
        if !of_files.iter().any(|begin| point.starts_with(begin)) {
            continue;
        }
        for nth in 1..=4 {
            let place = format!("{point}:{nth}");
            let scratch = project();
            if initialise(&scratch, Some(&place)).exit == 0 {
                break;
            }
            deaths += 1;
            // Once more, a little later.
            initialise(&scratch, Some(point));
            initialise(&scratch, None);
            synced(&scratch);
            check(&scratch, 0, &place);
        }
    }
    assert!(deaths >= 15, "{deaths} deaths");
}

#[test]
fn case_41_a_death_at_any_moment_of_the_archive_loses_nothing_and_doubles_nothing() {
    let rounds = std::env::var("PITON_CRASH_ROUNDS").ok();
    let rounds: u64 = rounds
        .and_then(|text| text.parse().ok())
        .map_or(8, |all: u64| all / 2);
    let begun = Instant::now();
    initialise(&project(), None);
    let whole = u64::try_from(begun.elapsed().as_micros()).expect("short");
    for round in 0..rounds {
        let mut chance = Chance::seeded(salted(round));
        let scratch = project();
        for _ in 0..=round % 2 {
            let mut child = scratch
                .command(&["init", "--yes"])
                .stdout(std::process::Stdio::null())
                .stderr(std::process::Stdio::null())
                .spawn()
                .expect("piton starts");
            std::thread::sleep(Duration::from_micros(chance.below(whole)));
            child.kill().ok();
            child.wait().expect("it is ours");
        }
        initialise(&scratch, None);
        synced(&scratch);
        check(&scratch, 0, &format!("round {round}"));
    }
}

/// An archive that another program made before piton came is part of the history.
#[test]
fn entries_that_were_archived_before_piton_came_are_found() {
    let scratch = Scratch::new().with_fixed_clock();
    let at: jiff::Timestamp = "2025-03-01T10:00:00Z".parse().expect("a time");
    let archived = json!({"entries": [entry(77, at, "task_blocked", "the old blocker")]});
    scratch.write(FILE, &log_of(0, 3)).write(
        ".agent-os/progress/archive/2025-03.json",
        &archived.to_string(),
    );
    assert_eq!(scratch.piton(&["init", "--yes"]).exit, 0);
    let recent = scratch.json(&["recent", "10"]);
    assert_eq!(recent["entries"].as_array().map(Vec::len), Some(4));
    assert!(
        scratch
            .json(&["recent", "--blockers"])
            .to_string()
            .contains("entry 77")
    );
    // It stays where it is.
    assert_eq!(ids(&scratch.read(FILE)).len(), 3);
    assert_eq!(months(&scratch)["2025-03"].len(), 1);
    synced(&scratch);
    assert_eq!(
        scratch.json(&["recent", "10"])["entries"]
            .as_array()
            .map(Vec::len),
        Some(4)
    );
}

/// Long, without optimization; the time is told.
#[test]
fn case_44_ten_thousand_entries_are_adopted_archived_and_added_to() {
    let scratch = Scratch::new().with_fixed_clock();
    let count = if cfg!(debug_assertions) {
        2_000
    } else {
        10_000
    };
    scratch.write(FILE, &log_of(count - 100, 100));
    let begun = Instant::now();
    assert_eq!(scratch.piton(&["init", "--yes"]).exit, 0);
    let adopted = begun.elapsed();
    let begun = Instant::now();
    assert_eq!(scratch.piton(&["log", "milestone_reached"]).exit, 0);
    let logged = begun.elapsed();
    eprintln!("{count} entries: adopted in {adopted:?}, one more in {logged:?}");
    let archived: usize = months(&scratch).values().map(Vec::len).sum();
    assert_eq!(ids(&scratch.read(FILE)).len() + archived, count + 1);
}
