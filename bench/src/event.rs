//! The one session event that everything here keeps: the same facts for piton
//! and for its baseline.

use std::path::Path;
use std::process;

use piton_core::entry::{Entry, EntryType};
use piton_core::id::DecisionId;
use piton_core::{Actor, CallerFacts, Command, HolderLiveness};
use uuid::Uuid;

use crate::bed::Bed;

/// What was done.
pub const SUMMARY: &str = "Implemented JWT-based login with refresh token rotation";
/// What was noticed on the way: its title.
pub const NOTICED: &str = "Existing auth middleware pattern";
/// What was noticed on the way.
pub const NOTES: &str = "Found existing auth middleware in middleware/auth.go that uses a different format. Adapted the new implementation to match.";
/// The files that were changed.
pub const FILES: [&str; 3] = [
    "internal/handlers/auth.go",
    "internal/services/auth_service.go",
    "internal/models/user.go",
];
/// Iterations that each item has.
pub const ITERATIONS: usize = 10;
/// The spec that the event belongs to.
pub const SPEC: &str = "auth-login";

/// The event as `piton log` takes it.
#[must_use]
pub fn arguments() -> Vec<String> {
    let files = format!("files={}", FILES.join(" "));
    [
        "log",
        "task_completed",
        "--spec",
        SPEC,
        "--task",
        "1.2",
        "--description",
        SUMMARY,
        "--notes",
        NOTES,
        "--data",
        &files,
        "--data",
        "duration=1847",
    ]
    .map(str::to_owned)
    .to_vec()
}

/// The same facts that [`crate::seed000::entry`] holds, as `piton record` takes them.
#[must_use]
pub fn record(bed: &Bed, folder: &Path, iteration: usize) -> process::Command {
    let item = format!("{SPEC}-new-{}", iteration / ITERATIONS);
    let mut command = bed.piton(folder, &["record", &item, "--summary", SUMMARY]);
    command.args(["--duration", "1847s"]);
    for file in FILES {
        command.args(["--file", file]);
    }
    let noticed = format!("finding: {NOTICED}");
    command.args(["--observation", &noticed, "--notes", NOTES]);
    command
}

/// The command that keeps the event.
#[must_use]
pub fn log(number: usize) -> Command {
    let data = [
        ("description", format!("{SUMMARY} ({number})")),
        ("notes", NOTES.to_owned()),
        ("files", FILES.join(" ")),
        ("duration", "1847".to_owned()),
    ];
    let mut entry = Entry::with_type(EntryType::TaskCompleted);
    entry.spec = Some(SPEC.to_owned());
    entry.task_id = Some("1.2".to_owned());
    for (key, value) in data {
        entry = entry.with_text(key, value);
    }
    Command::LogEntry(Box::new(entry))
}

/// What a person at a terminal brings along.
#[must_use]
pub fn facts() -> CallerFacts {
    CallerFacts {
        actor: Actor::Person("ada".to_owned()),
        decision: DecisionId(Uuid::now_v7()),
        holder: HolderLiveness::Nothing,
        checkout: None,
    }
}
