//! Programs of yesterday that write the same files at the same time.
//!
//! They load the whole file, append, write a temporary file of one fixed name
//! and rename it: as seed 000 and Agent OS do, with what comes of that between
//! two of them. Nothing that piton acknowledged may be lost, and nothing of
//! theirs that piton read or displaced. `PITON_OLD_WRITERS_S` says for how many
//! seconds they write (3).

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use piton_testkit::chance::Chance;
use serde_json::{Value, json};

use crate::harness::{Said, Scratch};

const RALPH: &str = ".ralph/progress.json";
const AGENT_OS: &str = ".agent-os/progress/progress.json";

fn how_long() -> Duration {
    let told = std::env::var("PITON_OLD_WRITERS_S").ok();
    Duration::from_secs(told.and_then(|text| text.parse().ok()).unwrap_or(3))
}

/// One try of a writer to append.
#[derive(Debug)]
struct Turn {
    writer: usize,
    mark: String,
    loaded: Instant,
    over: Instant,
    /// Whether its rename went well.
    renamed: bool,
}

impl Turn {
    fn overlaps(&self, other: &Self) -> bool {
        self.writer != other.writer && self.loaded <= other.over && other.loaded <= self.over
    }
}

/// A writer of yesterday: `append` puts an entry with a mark into a document.
fn write_until(
    end: Instant,
    (writer, file): (usize, &Path),
    append: fn(&mut Value, usize, &str),
) -> Vec<Turn> {
    let mut chance = Chance::seeded(writer as u64 + 1);
    let mut turns = Vec::new();
    while Instant::now() < end {
        std::thread::sleep(Duration::from_millis(2 + chance.below(25)));
        let loaded = Instant::now();
        let text = fs::read_to_string(file).unwrap_or_default();
        let Ok(mut document) = serde_json::from_str::<Value>(&text) else {
            continue;
        };
        let mark = format!("writer {writer} turn {}", turns.len());
        append(&mut document, writer, &mark);
        let text = serde_json::to_string_pretty(&document).expect("JSON");
        let mut temp = file.as_os_str().to_owned();
        temp.push(".tmp");
        let temp = PathBuf::from(temp);
        let renamed = fs::write(&temp, text).is_ok() && fs::rename(&temp, file).is_ok();
        turns.push(Turn {
            writer,
            mark,
            loaded,
            over: Instant::now(),
            renamed,
        });
    }
    turns
}

fn append_ralph(document: &mut Value, _: usize, mark: &str) {
    let entries = document["entries"].as_array_mut().expect("a list");
    let count = entries
        .iter()
        .filter(|entry| entry["prd_id"] == "auth")
        .count();
    entries.push(json!({
        "id": format!("auth-{}", count + 1),
        "timestamp": jiff::Timestamp::now().to_string(),
        "prd_id": "auth",
        "iteration": count + 1,
        "status": "completed",
        "summary": mark,
        "observations": [],
    }));
}

fn append_agent_os(document: &mut Value, writer: usize, mark: &str) {
    let now = jiff::Timestamp::now();
    let entries = document["entries"].as_array_mut().expect("a list");
    entries.push(json!({
        "id": format!("entry-{}-w{writer}{:04}", now.strftime("%Y%m%d-%H%M%S"), now.subsec_nanosecond() / 100_000),
        "timestamp": now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        "type": "task_completed",
        "data": {"description": mark, "notes": ""},
    }));
    let total = entries.len();
    document["metadata"]["total_entries"] = total.into();
    document["metadata"]["last_updated"] = now.to_string().into();
}

/// `piton ARGS` with marks of its own, until the end; those that exited 0.
fn piton_until(end: Instant, scratch: &Scratch, process: usize, args: &[&str]) -> Vec<String> {
    let mut acknowledged = Vec::new();
    for turn in 0.. {
        if Instant::now() >= end {
            break;
        }
        let mark = format!("piton {process} turn {turn}");
        let mut command = scratch.command(&[args, &[&mark]].concat());
        // Now and then it dies right behind putting somebody's version back.
        if turn % 4 == 3 {
            command.env("PITON_FAILPOINT", "synced-file.put-back");
        }
        let output = command.output().expect("piton starts");
        let said = Said::of(&output);
        let died = output.status.signal() == Some(9);
        assert!(died || said.exit == 0 || said.exit == 7, "{}", said.err);
        if said.exit == 0 {
            acknowledged.push(mark);
        }
    }
    acknowledged
}

/// A person who answers what piton asks about: two writers that share one
/// temporary file write into each other's now and then.
fn answer_until(over: &AtomicBool, scratch: &Scratch) {
    while !over.load(Ordering::Relaxed) {
        for asked in scratch
            .json_list(&["inbox"])
            .as_array()
            .into_iter()
            .flatten()
        {
            let id = asked["id"].as_str().expect("an id");
            scratch.piton(&["decide", id, "keep-piton"]);
        }
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// Every string in the journal, and how often it stands there.
fn words(scratch: &Scratch) -> BTreeMap<String, usize> {
    let out = scratch.piton(&["journal", "export"]).out;
    let mut words = BTreeMap::new();
    for line in out.lines() {
        let event: Value = serde_json::from_str(line).expect("a line is an event");
        let body = &event["body"];
        for text in [
            &body["report"]["summary"],
            &body["data"]["description"],
            &body["data"]["notes"],
        ] {
            let kind = event["kind"].as_str().unwrap_or_default();
            if let Some(text) = text.as_str() {
                *words.entry(format!("{kind}: {text}")).or_default() += 1;
            }
        }
    }
    words
}

struct Race {
    file: &'static str,
    append: fn(&mut Value, usize, &str),
    piton: &'static [&'static str],
    /// The kind of event that keeps what one of them said.
    kind: &'static str,
    /// Where an entry has what its writer said.
    mark_of: fn(&Value) -> Option<&str>,
}

fn race(race: &Race) {
    let scratch = Scratch::new();
    fs::create_dir_all(scratch.path().join(race.file).parent().expect("a folder")).expect("made");
    scratch.write(race.file, "");
    assert_eq!(scratch.piton(&["init", "--yes"]).exit, 0);
    assert_eq!(
        scratch.piton(&[race.piton, &["the first"]].concat()).exit,
        0
    );
    let file = scratch.path().join(race.file);
    let end = Instant::now() + how_long();
    let over = AtomicBool::new(false);
    let (turns, acknowledged) = std::thread::scope(|scope| {
        let person = scope.spawn(|| answer_until(&over, &scratch));
        let writers: Vec<_> = (1..=2)
            .map(|writer| {
                let file = &file;
                scope.spawn(move || write_until(end, (writer, file), race.append))
            })
            .collect();
        let pitons: Vec<_> = (1..=2)
            .map(|process| {
                let scratch = &scratch;
                scope.spawn(move || piton_until(end, scratch, process, race.piton))
            })
            .collect();
        let turns: Vec<Turn> = writers
            .into_iter()
            .flat_map(|writer| writer.join().expect("it writes"))
            .collect();
        let acknowledged: Vec<String> = pitons
            .into_iter()
            .flat_map(|piton| piton.join().expect("it records"))
            .collect();
        over.store(true, Ordering::Relaxed);
        person.join().expect("they answer");
        (turns, acknowledged)
    });
    // What is in the place now, before piton looks at it for the last time.
    let last = fs::read_to_string(&file).unwrap_or_default();
    let mut synced = scratch.piton(&["files", "sync"]);
    if synced.exit == 3 {
        for asked in scratch
            .json_list(&["inbox"])
            .as_array()
            .into_iter()
            .flatten()
        {
            let id = asked["id"].as_str().expect("an id");
            let said = scratch.piton(&["decide", id, "keep-piton"]);
            // Looked at once more, it may fit: then there is nothing to decide.
            let is_settled = said.err.contains("settled already");
            assert!(said.exit == 0 || is_settled, "{asked}: {}", said.err);
            eprintln!("asked in the end: {asked}: {}", said.err);
        }
        synced = scratch.piton(&["files", "sync"]);
    }
    assert_eq!(synced.exit, 0, "{}{}", synced.out, synced.err);
    let words = words(&scratch);
    let told = |mark: &str| words.get(&format!("{}: {mark}", race.kind)).copied();
    eprintln!(
        "{}: {} turns of others, {} of them kept, {} of piton",
        race.file,
        turns.len(),
        turns
            .iter()
            .filter(|turn| told(&turn.mark).is_some())
            .count(),
        acknowledged.len()
    );
    for mark in &acknowledged {
        assert_eq!(told(mark), Some(1), "acknowledged: {mark}");
    }
    let last: Value = serde_json::from_str(&last).unwrap_or_default();
    for entry in last["entries"].as_array().into_iter().flatten() {
        let mark = (race.mark_of)(entry).expect("every entry has a mark");
        assert_eq!(told(mark), Some(1), "it was in the last file: {mark}");
    }
    let beside = kept_beside(&file);
    for turn in turns.iter().filter(|turn| turn.renamed) {
        // Two writers of yesterday lose each other's entries without piton, and
        // tear each other's files: such a one is kept beside when it gives way.
        let torn = beside.iter().any(|text| text.contains(&turn.mark));
        let excused = torn || turns.iter().any(|other| turn.overlaps(other));
        let kept = told(&turn.mark);
        assert!(
            kept == Some(1) || excused,
            "lost, or there twice: {turn:?}: {kept:?}"
        );
        assert!(kept.is_none_or(|count| count == 1), "{turn:?}: {kept:?}");
    }
    assert!(
        !acknowledged.is_empty() && turns.len() > 3,
        "a race needs runners"
    );
    check_file(&scratch, race, &words);
}

/// The versions of the file that gave way to piton's, and are kept.
fn kept_beside(file: &Path) -> Vec<String> {
    let name = file.file_name().expect("it has one").to_string_lossy();
    let begin = format!("{name}.before-piton");
    let entries = fs::read_dir(file.parent().expect("it lies somewhere")).expect("listed");
    entries
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(&begin))
        .map(|entry| String::from_utf8_lossy(&fs::read(entry.path()).expect("read")).into_owned())
        .collect()
}

/// The file holds all that the journal has, once, and is what the format demands.
fn check_file(scratch: &Scratch, race: &Race, words: &BTreeMap<String, usize>) {
    let checked = scratch.json(&["files", "check", "--strict", race.file]);
    let problems = checked["problems"].as_array().expect("a list").iter();
    let others: Vec<_> = problems
        .filter(|problem| problem["code"] != "DUPLICATE_ID")
        .collect();
    assert!(others.is_empty(), "{others:?}");
    let document: Value = serde_json::from_str(&scratch.read(race.file)).expect("JSON");
    let entries = document["entries"].as_array().expect("a list");
    // Whoever counts gives a name twice now and then. What others wrote stays
    // as they wrote it; piton itself uses a name once.
    let mut names: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for entry in entries {
        let name = entry["id"].as_str().expect("an id");
        names.entry(name).or_default().extend((race.mark_of)(entry));
    }
    let own = |marks: &&Vec<&str>| {
        marks
            .iter()
            .filter(|mark| mark.starts_with("piton"))
            .count()
    };
    for (name, marks) in names.iter().filter(|(_, marks)| marks.len() > 1) {
        assert!(own(&marks) <= 1, "{name}: {marks:?}");
    }
    let shown: BTreeSet<&str> = entries.iter().filter_map(race.mark_of).collect();
    let begin = format!("{}: ", race.kind);
    for mark in words.keys().filter_map(|word| word.strip_prefix(&begin)) {
        assert!(
            mark.is_empty() || shown.contains(mark),
            "it is not in the file: {mark}"
        );
    }
    let left: Vec<_> = fs::read_dir(scratch.path().join(race.file).parent().expect("a folder"))
        .expect("listed")
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| name.starts_with('.') && name.ends_with(".tmp"))
        .collect();
    assert_eq!(left, Vec::<String>::new(), "nothing is left of an exchange");
    let verified = scratch.piton(&["journal", "verify"]);
    assert_eq!(verified.exit, 0, "{}{}", verified.out, verified.err);
}

#[test]
fn nothing_is_lost_beside_two_writers_of_ralph() {
    race(&Race {
        file: RALPH,
        append: append_ralph,
        piton: &["record", "auth", "--summary"],
        kind: "attempt-told",
        mark_of: |entry| entry["summary"].as_str(),
    });
}

#[test]
fn nothing_is_lost_beside_two_writers_of_agent_os() {
    race(&Race {
        file: AGENT_OS,
        append: append_agent_os,
        piton: &["log", "task_completed", "--description"],
        kind: "entry-logged",
        mark_of: |entry| entry["data"]["description"].as_str(),
    });
}

/// Two old writers tore a file in the instant in which piton exchanged it: the page, or
/// what it is made of. Whatever they say in it is kept where people find it, and nothing
/// hidden is left.
#[test]
fn what_cannot_be_read_and_gave_way_is_kept_beside() {
    const PAGE: &str = ".agent-os/progress/progress.md";
    for (file, failpoint) in [(PAGE, "exchanged"), (AGENT_OS, "exchanged:2")] {
        let scratch = Scratch::new();
        let path = scratch.path().join(file);
        let folder = path.parent().expect("it lies somewhere");
        fs::create_dir_all(folder).expect("made");
        scratch.write(AGENT_OS, "");
        assert_eq!(scratch.piton(&["init", "--yes"]).exit, 0);
        let log = ["log", "task_completed", "--description"];
        assert_eq!(scratch.piton(&[&log[..], &["the first"]].concat()).exit, 0);
        let mut command = scratch.command(&[&log[..], &["the second"]].concat());
        command.env("PITON_FAILPOINT", format!("synced-file.{failpoint}"));
        let died = command.output().expect("piton starts");
        assert_eq!(died.status.signal(), Some(9));
        let hidden = || {
            let entries = fs::read_dir(folder).expect("listed").flatten();
            let mut paths = entries.map(|entry| entry.path());
            paths.find(|path| path.extension().is_some_and(|end| end == "tmp"))
        };
        let displaced = hidden().expect("the version before is still there");
        let torn = format!("{}[torn", scratch.read(file));
        fs::write(displaced, &torn).expect("written");
        let said = scratch.piton(&[&log[..], &["the third"]].concat());
        assert_eq!(said.exit, 0, "{}", said.err);
        let name = path.file_name().expect("it has one").to_string_lossy();
        let told = format!("is kept beside it as {name}.before-piton");
        assert!(said.err.contains(&told), "{}", said.err);
        assert_eq!(kept_beside(&path), [torn]);
        assert_eq!(hidden(), None);
        for mark in ["the first", "the second", "the third"] {
            assert!(scratch.read(AGENT_OS).contains(mark), "{mark}");
        }
    }
}

/// Two processes append a hundred each.
fn two_hundred(file: &str, args: &[&str]) -> Value {
    let scratch = Scratch::new();
    scratch.write(file, "");
    assert_eq!(scratch.piton(&["init", "--yes"]).exit, 0);
    std::thread::scope(|scope| {
        for process in 1..=2 {
            let scratch = &scratch;
            scope.spawn(move || {
                for turn in 0..100 {
                    let mark = format!("piton {process} turn {turn}");
                    let said = scratch.piton(&[args, &[&mark]].concat());
                    assert_eq!(said.exit, 0, "{}", said.err);
                }
            });
        }
    });
    serde_json::from_str(&scratch.read(file)).expect("JSON")
}

fn ids(document: &Value) -> BTreeSet<&str> {
    let entries = document["entries"].as_array().expect("a list");
    entries
        .iter()
        .filter_map(|entry| entry["id"].as_str())
        .collect()
}

#[test]
fn case_6_two_processes_that_append_a_hundred_each_leave_two_hundred() {
    let document = two_hundred(RALPH, &["record", "auth", "--summary"]);
    assert_eq!(document["entries"].as_array().map(Vec::len), Some(200));
    assert_eq!(ids(&document).len(), 200);
}

#[test]
fn case_45_two_processes_that_append_to_the_log_at_once_lose_nothing() {
    let document = two_hundred(AGENT_OS, &["log", "task_completed", "--description"]);
    assert_eq!(document["entries"].as_array().map(Vec::len), Some(200));
    assert_eq!(ids(&document).len(), 200);
    assert_eq!(document["metadata"]["total_entries"], 200);
}
