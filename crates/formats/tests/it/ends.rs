//! What is new in a large file is shown the same whether all of it is read or only
//! its ends: every format that has a list.

use piton_core::attempt::Report;
use piton_core::entry::{Entry, EntryRow, EntryType};
use piton_core::memory::{Memory, MemoryKind, MemoryRow};
use piton_core::{AttemptRow, Outcome};
use piton_formats::native_file::{FileContext, ShownRow};
use piton_formats::project_format::ProjectFile;
use piton_formats::registry::project_files;
use serde_json::{Value, json};

static UTC: jiff::tz::TimeZone = jiff::tz::TimeZone::UTC;

fn about(is_part: bool) -> FileContext<'static> {
    FileContext {
        file: "f",
        project: "yard",
        now: "2026-01-15T10:30:00Z".parse().unwrap(),
        zone: &UTC,
        iteration: None,
        is_part,
    }
}

/// What happened as the `nth` thing: two hours are an hour apart from the next.
struct Happened {
    entry: EntryRow,
    attempt: AttemptRow,
    sign: MemoryRow,
}

fn time(nth: u64) -> jiff::Timestamp {
    let first: jiff::Timestamp = "2025-06-01T08:00:07Z".parse().unwrap();
    first + jiff::SignedDuration::from_mins(i64::try_from(nth * 37).unwrap())
}

fn happened(nth: u64) -> Happened {
    let at = time(nth);
    let kinds = [
        EntryType::SessionStarted,
        EntryType::TaskCompleted,
        EntryType::TaskBlocked,
        EntryType::MilestoneReached,
        EntryType::DebugResolved,
        EntryType::SessionEnded,
    ];
    let mut entry = Entry::with_type(kinds[usize::try_from(nth).unwrap() % kinds.len()]);
    entry.task_id = Some(format!("T-{}", nth % 40));
    entry.name = Some(format!("entry-{}-{nth}", at.strftime("%Y%m%d-%H%M%S")));
    let data = json!({"description": format!("The {nth}th plank\nof oak"), "resolution": "nails"});
    entry.data = data.as_object().cloned().unwrap();
    let with = |mut row: Value, more: Value| {
        let more = more.as_object().cloned().unwrap();
        row.as_object_mut().unwrap().extend(more);
        row
    };
    let id = "01900000-0000-7000-8000-000000000000";
    let entry = with(
        json!(entry),
        json!({"id": id, "position": nth, "timestamp": at}),
    );
    let outcome = [Outcome::Completed, Outcome::Failed][usize::try_from(nth).unwrap() % 2];
    let report = Report {
        summary: Some(format!("planked {nth}")),
        error: Some(format!("a \"split\" plank: {}", "no nail ".repeat(20))),
        ..Report::with_outcome(outcome)
    };
    let attempt = json!({
        "id": id, "run": id, "node": format!("US-{nth}"), "number": 1, "iteration": nth + 1,
        "role": "worker", "agent": "claude", "name": format!("US-{nth}-1"),
        "started_at": at, "ended_at": at, "report": report,
    });
    let sign = Memory {
        title: Some(format!("Sign {nth}")),
        context: Some("when planking".to_owned()),
        ..Memory::new(MemoryKind::Guardrail, format!("Use nail {nth}"))
    };
    let sign = with(
        json!(sign),
        json!({"id": format!("sign-{nth}"), "number": nth, "position": nth, "added_at": at, "by": "ada"}),
    );
    Happened {
        entry: serde_json::from_value(entry).unwrap(),
        attempt: serde_json::from_value(attempt).unwrap(),
        sign: serde_json::from_value(sign).unwrap(),
    }
}

impl Happened {
    fn shown(&self, file: &ProjectFile) -> Vec<ShownRow<'_>> {
        let all = [
            ShownRow::Entry(&self.entry),
            ShownRow::Attempt(&self.attempt),
            ShownRow::Memory(&self.sign),
        ];
        all.into_iter().filter(|row| (file.shows)(row)).collect()
    }
}

fn show(file: &ProjectFile, text: Option<&str>, rows: &[ShownRow<'_>], is_part: bool) -> String {
    (file.show)(text, rows, &about(is_part)).unwrap()
}

#[test]
fn what_is_new_is_shown_at_the_ends_as_it_is_in_the_whole() {
    let with_ends = || project_files().filter(|file| file.ends.is_some());
    let paths: Vec<&str> = with_ends().map(|file| file.path).collect();
    assert_eq!(paths.len(), 6, "{paths:?}");
    let before: Vec<Happened> = (0..520).map(happened).collect();
    let after: Vec<Happened> = (520..544).map(happened).collect();
    for file in with_ends() {
        let rows: Vec<ShownRow<'_>> = before.iter().flat_map(|one| one.shown(file)).collect();
        let mut text = show(file, None, &rows, false);
        assert!(text.len() > 32 << 10, "{}: {}", file.path, text.len());
        let (mut in_part, mut read) = (0, 0);
        for one in &after {
            let rows = one.shown(file);
            let whole = show(file, Some(&text), &rows, false);
            let ends = (file.ends.unwrap())(&text).unwrap();
            let abridged = ends.abridge(&text);
            let shown = show(file, Some(&abridged), &rows, true);
            read = read.max(abridged.len());
            let is_open = ends.open.iter().any(|task| {
                let entry = &one.entry.entry;
                entry.task_id.as_ref() == Some(task)
            });
            if !is_open && shown.starts_with(&abridged[..ends.head + ends.first]) {
                in_part += 1;
                let all = format!("{}{}", &text[..ends.tail], &shown[ends.head..]);
                assert_eq!(all, whole, "{}", file.path);
            }
            if let Some(derived) = file.derived {
                let page = (derived.render)(&text).unwrap();
                let made = [&abridged, &shown].map(|text| (derived.render)(text).unwrap());
                let page = (derived.extend)([&made[0], &page, &made[1]]);
                assert_eq!(page, (derived.render)(&whole).unwrap());
            }
            text = whole;
        }
        let expected = if file.path.ends_with("progress.md") {
            12
        } else {
            24
        };
        assert!(in_part >= expected, "{}: {in_part}", file.path);
        assert!(read < 12_000, "{}: {read}", file.path);
    }
}
