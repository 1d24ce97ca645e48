//! Files too large to be written anew for each change: whatever dies in the
//! middle of a change, the file holds every record once, and the next change
//! goes on.

use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt as _;
use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::Scratch;

const FILE: &str = ".ralph/progress.json";
const OLD: usize = 600;
/// As long as a version before the last one is left alone, and a little more.
const REST: Duration = Duration::from_millis(300);

/// A file of more than a megabyte.
fn project() -> Scratch {
    let entries: Vec<Value> = (1..=OLD)
        .map(|number| {
            json!({
                "id": format!("keel-{number}"),
                "timestamp": "2026-01-15T09:00:00Z",
                "prd_id": "keel",
                "iteration": number,
                "status": "completed",
                "summary": format!("old {number} {}", "plank ".repeat(350)),
                "observations": [],
            })
        })
        .collect();
    let document = json!({"version": "1.0.0", "entries": entries, "learnings": [], "patterns": []});
    let text = serde_json::to_string_pretty(&document).expect("JSON");
    assert!(text.len() > 1 << 20, "{} bytes are not large", text.len());
    let scratch = Scratch::new();
    scratch.write(FILE, &text);
    assert_eq!(scratch.piton(&["init", "--yes"]).exit, 0);
    scratch
}

/// How often each summary stands in the file.
fn summaries(scratch: &Scratch) -> BTreeMap<String, usize> {
    let document: Value = serde_json::from_str(&scratch.read(FILE)).expect("JSON");
    let mut found = BTreeMap::new();
    for entry in document["entries"].as_array().expect("a list") {
        let summary = entry["summary"].as_str().expect("a summary").to_owned();
        *found.entry(summary).or_default() += 1;
    }
    found
}

fn record(scratch: &Scratch, summary: &str) {
    let said = scratch.piton(&["record", "keel", "--summary", summary]);
    assert_eq!(said.exit, 0, "{}", said.err);
}

/// Dies there; whether it came there.
fn dies(scratch: &Scratch, summary: &str, point: &str) -> bool {
    let output = scratch
        .command(&["record", "keel", "--summary", summary])
        .env("PITON_FAILPOINT", point)
        .output()
        .expect("piton starts");
    assert!(
        output.status.signal() == Some(9) || output.status.success(),
        "{point}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    output.status.signal() == Some(9)
}

#[test]
fn a_death_at_any_step_of_a_change_of_a_large_file_loses_nothing_and_doubles_nothing() {
    let scratch = project();
    let mut told = 0;
    let mut death = |point: &str, before: usize| {
        // Changes that are made of the whole file, and of a spare.
        for _ in 0..before {
            std::thread::sleep(REST);
            told += 1;
            record(&scratch, &format!("new {told}"));
        }
        std::thread::sleep(REST);
        told += 1;
        let died = dies(&scratch, &format!("new {told}"), point);
        told += 1;
        record(&scratch, &format!("new {told}"));
        let found = summaries(&scratch);
        assert_eq!(found.len(), OLD + told, "{point}: lost");
        assert!(found.values().all(|count| *count == 1), "{point}: doubled");
        died
    };
    // The first change of a file that was made whole is a copy; the next one is
    // made of the version before.
    let deaths = [
        ("exchange.splice-begun", 0),
        ("exchange.spare-taken", 1),
        ("synced-file.staged", 0),
        ("synced-file.stamped", 1),
        ("synced-file.exchanged", 1),
        ("synced-file.tidied", 1),
    ];
    for (point, before) in deaths {
        assert!(death(point, before), "{point} was never come to");
    }
    let left: Vec<String> = std::fs::read_dir(scratch.path().join(".ralph"))
        .expect("listed")
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| name.ends_with(".tmp"))
        .collect();
    assert_eq!(left, Vec::<String>::new());
    let verified = scratch.piton(&["journal", "verify"]);
    assert_eq!(verified.exit, 0, "{}{}", verified.out, verified.err);
}
