//! A hundred processes that record at the same moment: nothing is lost, nothing
//! is named twice, and what several of them noticed is learned once.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::process::{Child, Stdio};

use serde_json::{Value, json};

use crate::harness::{Said, Scratch};

const PROCESSES: usize = 100;
/// Each of so many things is noticed by several of them.
const THINGS: usize = 20;

/// What can be noticed; no two are alike.
const NOTICED: [&str; THINGS] = [
    "The tide table of the harbour counts backwards in winter",
    "Barnacles come off with a hoe and hot vinegar",
    "Anchors of class seven need two shackles",
    "A halyard frays where the sheave has rusted",
    "Charts before 1911 take their meridian from Paris",
    "The pilot cutter answers on channel twelve only",
    "Varnish does not dry below eight degrees",
    "Ballast goes in before the mast is stepped",
    "Lanterns are trimmed by whoever stands the dog watch",
    "Oakum swells so a seam stays a finger wide",
    "Customs papers are stamped at the northern quay",
    "Gulls nest in the crane during May",
    "The log line has knots every fifteen metres",
    "Copper sheathing and iron nails eat each other",
    "A bosun keeps spare belaying pins in the forepeak",
    "Sextant mirrors silver again at the optician of Bergen",
    "Fog signals repeat each ninety seconds",
    "Dredging moves the eastern sandbank towards the pier",
    "Hemp is tarred twice, manila never",
    "Stowaways hide behind the potato lockers",
];

fn seen(nth: usize) -> Value {
    json!({
        // Four attempts at each of twenty-five items.
        "prd_id": format!("item-{}", nth % 25),
        "status": "completed", "summary": format!("part {nth}"),
        "observations": [{
            "type": "finding", "title": NOTICED[nth % THINGS], "action_taken": "documented",
        }],
    })
}

/// Starts them all, and only then tells any of them what to record.
fn at_once(scratch: &Scratch) -> Vec<Said> {
    let started: Vec<Child> = (0..PROCESSES)
        .map(|_| {
            let mut command = scratch.command(&["record", "-", "--json"]);
            let command = command
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped());
            command.spawn().expect("piton starts")
        })
        .collect();
    let mut told = started;
    for (nth, child) in told.iter_mut().enumerate() {
        let mut stdin = child.stdin.take().expect("it is a pipe");
        // Whoever is refused says so.
        stdin.write_all(seen(nth).to_string().as_bytes()).ok();
    }
    told.into_iter()
        .map(|child| Said::of(&child.wait_with_output().expect("it ends")))
        .collect()
}

fn ids(values: &[Value], key: &str) -> BTreeSet<String> {
    let ids = values
        .iter()
        .map(|value| value[key].as_str().expect("an id").to_owned());
    ids.collect()
}

fn round() {
    let scratch = Scratch::new();
    scratch.write(
        ".ralph/progress.json",
        r#"{"version": "1.0", "created_at": "2026-01-15T09:00:00Z", "entries": []}"#,
    );
    assert_eq!(scratch.piton(&["init"]).exit, 0);
    let said = at_once(&scratch);
    let recorded: Vec<Value> = said
        .iter()
        .map(|said| {
            assert_eq!(said.exit, 0, "{}", said.err);
            serde_json::from_str(&said.out).expect("JSON")
        })
        .collect();
    assert_eq!(ids(&recorded, "name").len(), PROCESSES, "names are unique");

    let out = scratch.piton(&["journal", "export"]).out;
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for line in out.lines() {
        let event: Value = serde_json::from_str(line).expect("a line is an event");
        let kind = event["kind"].as_str().expect("a kind");
        *counts.entry(kind.to_owned()).or_default() += 1;
    }
    let count = |kind: &str| counts.get(kind).copied().unwrap_or_default();
    assert_eq!(count("attempt-told"), PROCESSES);
    assert_eq!(count("item-planned"), 25);
    assert_eq!(count("memory-added"), THINGS, "each thing is learned once");
    assert_eq!(count("memory-confirmed"), PROCESSES - THINGS);

    let rows = scratch.json_list(&["learn", "list"]);
    let rows = rows.as_array().expect("a list");
    assert_eq!(ids(rows, "id").len(), THINGS);
    assert_eq!(ids(rows, "content"), NOTICED.map(str::to_owned).into());
    for row in rows {
        let again = row["again"].as_array().map_or(0, Vec::len);
        assert_eq!(again, PROCESSES / THINGS - 1, "{row}");
    }
    let verified = scratch.piton(&["journal", "verify"]);
    assert_eq!(verified.exit, 0, "{}{}", verified.out, verified.err);

    let file: Value = serde_json::from_str(&scratch.read(".ralph/progress.json")).expect("JSON");
    let entries = file["entries"].as_array().expect("entries");
    assert_eq!(entries.len(), PROCESSES);
    assert_eq!(
        ids(entries, "id"),
        ids(&recorded, "name"),
        "the file holds all"
    );
    let learnings = file["learnings"].as_array().expect("learnings");
    assert_eq!(ids(learnings, "id"), ids(rows, "id"));
    let related = entries.iter().filter(|entry| {
        let learned = &entry["observations"][0]["related_learning_id"];
        learned.is_string()
    });
    assert_eq!(related.count(), PROCESSES, "each is told what came of it");
}

/// `PITON_MANY_ROUNDS=N` does it more often.
#[test]
fn a_hundred_processes_that_record_at_once_lose_nothing_and_learn_nothing_twice() {
    let rounds = std::env::var("PITON_MANY_ROUNDS").ok();
    let rounds = rounds.and_then(|text| text.parse().ok()).unwrap_or(1);
    for _ in 0..rounds {
        round();
    }
}
