//! The power goes at any moment of a project: strace records what piton writes and
//! flushes, and `RecordedDisk` makes what a disk may hold then.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::BufReader;
use std::process::{Command, Stdio};

use piton_simkit::recorded_disk::{Flushes, Left, RecordedDisk, STRACE};
use piton_simkit::seed::salted;
use piton_testkit::chance::Chance;
use serde_json::Value;

use super::{report, trials};
use crate::harness::Scratch;

/// Cuts that every run of the tests tries; each takes three starts of piton.
const CUTS: usize = 24;

/// A new store, entries, a whole run, entries again.
const SCRIPT: &str = r#"
for nth in 1 2 3 4 5 6; do "$PITON" log task_completed --notes "$nth" --json; done
"$PITON" run demo --agent 'sh:echo fine' --verdict exit-status --json
for nth in 7 8 9; do "$PITON" log task_blocked --notes "$nth" --json; done
"#;

/// What happened, and the events that were stored in the end.
struct Recorded {
    disk: RecordedDisk,
    events: Vec<String>,
}

/// Runs the script under strace; none, said aloud, where there is no strace.
fn record() -> Option<Recorded> {
    let scratch = Scratch::new();
    scratch.sprint("  - id: build\n    prompt: build it\n  - id: test\n    prompt: test it\n");
    let folder = tempfile::tempdir().expect("a folder for the trace");
    let trace = folder.path().join("trace");
    let mut disk = RecordedDisk::before(&scratch.path()).expect("readable");
    let plain = scratch.command(&[]);
    let mut strace = Command::new("strace");
    strace.args(STRACE).arg("-o").arg(&trace);
    strace
        .args(["sh", "-c", SCRIPT])
        .current_dir(scratch.path());
    strace.env_clear().env("PITON", plain.get_program());
    strace.envs(
        plain
            .get_envs()
            .filter_map(|(name, value)| Some((name, value?))),
    );
    // A pipe: what is printed is recorded as what was acknowledged.
    let output = strace.stdin(Stdio::null()).output();
    let Some(output) = output.ok().filter(|output| output.status.success()) else {
        eprintln!("skipped: power cuts take strace, and the right to trace");
        return None;
    };
    drop(output);
    let trace = BufReader::new(File::open(trace).expect("strace wrote it"));
    disk.record(trace).expect("every call can be repeated");
    Some(Recorded {
        disk,
        events: events_in(&scratch).expect("a whole store"),
    })
}

/// The ids of all events, in their order.
fn events_in(scratch: &Scratch) -> Result<Vec<String>, String> {
    let exported = scratch.piton(&["journal", "export"]);
    if exported.exit != 0 {
        return Err(format!("export: {}", exported.err));
    }
    let events = exported.out.lines().map(|line| {
        let event: Value = serde_json::from_str(line).expect("JSON lines");
        event["id"].as_str().expect("an event has an id").to_owned()
    });
    Ok(events.collect())
}

impl Recorded {
    /// How many events were acknowledged before the power went.
    fn acknowledged<'a>(&'a self, left: &Left) -> BTreeSet<&'a str> {
        let printed = |id: &&String| left.printed.contains(id.as_str());
        self.events
            .iter()
            .filter(printed)
            .map(String::as_str)
            .collect()
    }

    /// Starts the machine again: what was acknowledged is there, the store is whole
    /// and goes on. The number of acknowledged events.
    fn check(&self, left: &Left) -> Result<usize, String> {
        let acknowledged = self.acknowledged(left);
        let scratch = Scratch::in_memory();
        left.write_to(&scratch.path()).expect("writable");
        if scratch.has(".piton/journal.db") {
            let verified = scratch.piton(&["journal", "verify", "--json"]);
            let report: Value = serde_json::from_str(&verified.out).unwrap_or_default();
            if verified.exit != 0 || report["lost"] != Value::Array(Vec::new()) {
                return Err(format!("verify: {}{}", verified.out, verified.err));
            }
            let stored = events_in(&scratch)?;
            let lost = acknowledged
                .iter()
                .filter(|id| !stored.iter().any(|one| one == *id));
            let lost: Vec<_> = lost.collect();
            if !lost.is_empty() {
                return Err(format!("lost {lost:?}"));
            }
            if !self.events.starts_with(&stored) {
                return Err(format!("{} events, not the first ones", stored.len()));
            }
        } else if !acknowledged.is_empty() {
            return Err(format!("lost the store with {} events", acknowledged.len()));
        }
        let next = scratch.piton(&["log", "task_completed", "--notes", "next"]);
        if next.exit != 0 || next.err.contains("acknowledged") {
            return Err(format!("log: {}", next.err));
        }
        Ok(acknowledged.len())
    }
}

#[test]
fn a_power_cut_takes_nothing_that_was_acknowledged() {
    let Some(recorded) = record() else { return };
    let mut chance = Chance::seeded(salted(54));
    let (cuts, mut acknowledged) = (trials(CUTS), 0);
    for _ in 0..cuts {
        let end = u64::try_from(recorded.disk.len()).expect("small") + 1;
        let at = usize::try_from(chance.below(end)).expect("small");
        let seed = chance.number();
        let left = recorded.disk.cut(at, Flushes::Work, seed);
        match recorded.check(&left) {
            Ok(events) => acknowledged += events,
            Err(why) => panic!("cut behind operation {at}, seed {seed}: {why}"),
        }
    }
    assert_ne!(acknowledged, 0, "every cut came before the first event");
    report(&format!(
        "power: {cuts} cuts among {} operations, {acknowledged} events acknowledged, lost 0",
        recorded.disk.len()
    ));
}

/// The control: the same cuts, with flushes that do nothing.
#[test]
fn a_power_cut_without_flushes_is_seen_to_lose() {
    let Some(recorded) = record() else { return };
    let (cuts, mut losing) = (trials(CUTS).min(100), 0);
    for seed in 0..cuts {
        let seed = salted(u64::try_from(seed).expect("small"));
        let left = recorded
            .disk
            .cut(recorded.disk.len(), Flushes::Ignored, seed);
        losing += usize::from(recorded.check(&left).is_err());
    }
    assert_ne!(losing, 0, "a loss is not seen");
    report(&format!(
        "power: control without flushes: {losing} of {cuts} cuts lose"
    ));
}
