//! The files of `.ralph/` as faces: shown once however often, taken once
//! however often, and nothing of others is touched.

use piton_core::command::ImportedRecord;
use piton_core::entry::{Entry, EntryRow, EntryType};
use piton_core::memory::{Memory, MemoryKind, MemoryRow};
use piton_core::{AttemptRow, Outcome};
use piton_formats::native_file::{Detection, FileContents, FileContext, RenderError, ShownRow};
use piton_formats::ralph_dir::guardrails::FieldName;
use piton_formats::ralph_dir::native_files::{
    activity_log, detect_words, errors_log, guardrails_md, iteration, progress_md,
};
use piton_formats::ralph_dir::progress::RalphProgress;
use piton_formats::ralph_dir::{SourceText, guardrails, progress};
use piton_simkit::seed::cases;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::edits::only_adds;

const SEED: &str = include_str!("../corpus/markdown/progress_seed.md");
const LOOP: &str = include_str!("../corpus/markdown/progress_loop.md");
const CRLF: &str = include_str!("../corpus/markdown/progress_crlf.md");
const SIGNS: &str = include_str!("../corpus/markdown/guardrails_seed.md");
const LEARNED: &str = include_str!("../corpus/markdown/guardrails_loop.md");

static UTC: jiff::tz::TimeZone = jiff::tz::TimeZone::UTC;

fn about(iteration: Option<u64>) -> FileContext<'static> {
    FileContext {
        file: "f",
        project: "yard",
        now: "2026-01-15T10:30:00Z".parse().unwrap(),
        zone: &UTC,
        iteration,
        is_part: false,
    }
}

/// The `nth` row of the sessions, a minute after the one before.
fn entry(nth: u64, kind: EntryType, task: Option<&str>, data: &Value) -> EntryRow {
    let mut entry = Entry::with_type(kind);
    entry.task_id = task.map(str::to_owned);
    let (hour, minute) = (10 + nth / 60, nth % 60);
    entry.name = Some(format!("entry-20260115-{hour:02}{minute:02}00-{nth}"));
    entry.data = data.as_object().cloned().unwrap_or_default();
    let mut row = serde_json::to_value(&entry).unwrap();
    row["id"] = json!("01900000-0000-7000-8000-000000000000");
    row["position"] = json!(nth);
    row["timestamp"] = json!(format!("2026-01-15T{hour:02}:{minute:02}:00Z"));
    serde_json::from_value(row).unwrap()
}

fn entries(rows: &[EntryRow]) -> Vec<ShownRow<'_>> {
    rows.iter().map(ShownRow::Entry).collect()
}

fn show_progress(text: Option<&str>, rows: &[EntryRow]) -> String {
    progress_md::render_rows(text, &entries(rows), &about(None)).unwrap()
}

/// What others wrote.
fn take_progress(text: &str, base: Option<&str>) -> Vec<Entry> {
    let mut entries = take_all(text, base);
    entries.retain(|entry| entry.name.is_none());
    entries
}

/// What piton wrote.
fn take_own(text: &str, base: Option<&str>) -> Vec<Entry> {
    let mut entries = take_all(text, base);
    entries.retain(|entry| entry.name.is_some());
    entries
}

fn take_all(text: &str, base: Option<&str>) -> Vec<Entry> {
    let took = progress_md::import_changes(text, base, &about(None));
    assert!(took.is_readable());
    let entries = took.found.into_iter().map(|found| match found {
        ImportedRecord::Entry(entry) => *entry,
        ImportedRecord::Attempt(_)
        | ImportedRecord::Memory(_)
        | ImportedRecord::Retired(_)
        | ImportedRecord::Removed(_) => {
            panic!("{found:?}")
        }
    });
    entries.collect()
}

fn marks(entries: &[Entry]) -> Vec<&str> {
    let marks = entries.iter().map(|entry| entry.mark.as_deref().unwrap());
    marks.collect()
}

fn read(text: &str) -> RalphProgress {
    progress::parse_progress_md(SourceText { name: "", text }).0
}

/// A session of everything that the file has a word for.
fn a_day() -> Vec<EntryRow> {
    use EntryType::{
        DebugResolved, MilestoneReached, ScopeOverride, SessionEnded, SessionStarted, TaskBlocked,
        TaskCompleted,
    };
    vec![
        entry(1, SessionStarted, None, &json!({"focus_task": "the keel"})),
        entry(
            2,
            TaskCompleted,
            Some("keel"),
            &json!({"description": "Lay it", "commit": "c0ffee1", "notes": "Oak.\nNot pine.",
                "screenshots": ["a.png"], "validations": ["It floats"]}),
        ),
        entry(
            3,
            TaskCompleted,
            Some("3"),
            &json!({"description": "Caulk"}),
        ),
        entry(
            4,
            TaskBlocked,
            Some("mast"),
            &json!({"description": "no pine"}),
        ),
        entry(
            5,
            TaskBlocked,
            Some("sail"),
            &json!({"description": "no cloth"}),
        ),
        entry(6, ScopeOverride, None, &json!({"focus": "the sail"})),
        entry(
            7,
            ScopeOverride,
            Some("oars"),
            &json!({"description": "left out"}),
        ),
        entry(
            8,
            DebugResolved,
            Some("mast"),
            &json!({"resolution": "took oak"}),
        ),
        entry(9, MilestoneReached, None, &json!({"description": "Afloat"})),
        entry(10, SessionEnded, None, &json!({"notes": "night fell"})),
        entry(11, SessionStarted, None, &json!({})),
        entry(
            12,
            TaskCompleted,
            Some("sail"),
            &json!({"description": "Sew it", "commits": ["aaa", "bbb"]}),
        ),
    ]
}

#[test]
fn a_day_is_shown_in_the_words_of_the_format() {
    insta::assert_snapshot!(show_progress(None, &a_day()), @r#"
    # Progress Log

    ## Session 1 (2026-01-15) <!-- piton: entry-20260115-100100-1 -->

    ### Completed
    - [x] keel - Lay it <!-- piton: entry-20260115-100200-2, task keel -->
      - Commit: c0ffee1
      - Notes: Oak.
        Not pine.
      - Screenshot: a.png

    - [x] Criterion 3 - Caulk <!-- piton: entry-20260115-100300-3 -->

    - [x] Afloat <!-- piton: entry-20260115-100900-9, type milestone_reached -->

    ### Browser Validations
    - It floats

    ### Current Focus
    the sail <!-- piton: entry-20260115-100600-6 -->

    ### Blockers Encountered
    - mast: no pine (resolved: took oak) <!-- piton: entry-20260115-100400-4, task mast, resolved entry-20260115-100800-8 -->
    - sail: no cloth (resolved: completed in aaa, bbb) <!-- piton: entry-20260115-100500-5, task sail, resolved entry-20260115-101200-12 -->

    **Session 1 ended** - night fell <!-- piton: entry-20260115-101000-10 -->

    ---

    ## Session 2 (2026-01-15) <!-- piton: entry-20260115-101100-11 -->

    ### Completed
    - [x] sail - Sew it <!-- piton: entry-20260115-101200-12, task sail -->
      - Commit: aaa, bbb
    "#);
}

#[test]
fn what_piton_shows_is_strictly_of_the_format() {
    let text = show_progress(None, &a_day());
    let (progress, problems) = progress::parse_progress_md(SourceText {
        name: "",
        text: &text,
    });
    // A commit that nobody knows is not made up, and nobody is warned of that.
    assert_eq!(problems, []);
    let [first, second] = progress.sessions.as_slice() else {
        panic!("{progress:#?}");
    };
    assert_eq!(first.ended.as_ref().unwrap().words, "night fell");
    assert_eq!(first.focus.as_ref().unwrap().text, "the sail");
    assert!(first.blockers.iter().all(|blocker| blocker.resolved));
    assert_eq!(second.completed[0].what.text, "sail - Sew it");
}

#[test]
fn an_entry_says_what_the_report_of_its_attempt_says_as_well() {
    let rows = [entry(
        1,
        EntryType::TaskCompleted,
        Some("keel"),
        &json!({"description": "Lay it"}),
    )];
    let mut attempt = attempt("completed");
    attempt.ended_at = Some(rows[0].timestamp);
    let report = attempt.report.as_mut().unwrap();
    report.changes.commits = Some(vec!["c0ffee1".to_owned()]);
    report.screenshots = vec!["a.png".to_owned()];
    report.validations = vec!["It floats".to_owned()];
    let rows = [ShownRow::Entry(&rows[0]), ShownRow::Attempt(&attempt)];
    let text = progress_md::render_rows(None, &rows, &about(None)).unwrap();
    let session = &read(&text).sessions[0];
    assert_eq!(session.completed[0].what.commit.as_deref(), Some("c0ffee1"));
    assert_eq!(
        session.completed[0].what.screenshot.as_deref(),
        Some("a.png")
    );
    assert_eq!(session.validations[0].text, "It floats");
}

#[test]
fn no_rows_leave_every_text_as_it_is() {
    let other = attempt("completed");
    for text in [SEED, LOOP, CRLF, "x", ""] {
        let rows = [ShownRow::Attempt(&other)];
        assert_eq!(
            progress_md::render_rows(Some(text), &rows, &about(None)).unwrap(),
            text
        );
        assert_eq!(
            guardrails_md::render_rows(Some(text), &rows, &about(None)).unwrap(),
            text
        );
        assert_eq!(
            activity_log::render_rows(Some(text), &[], &about(None)).unwrap(),
            text
        );
        assert_eq!(
            errors_log::render_rows(Some(text), &rows, &about(None)).unwrap(),
            text
        );
        assert_eq!(
            iteration::render_rows(Some(text), &[], &about(None)).unwrap(),
            text
        );
    }
    assert_eq!(show_progress(None, &[]), "");
    assert_eq!(
        guardrails_md::render_rows(None, &[], &about(None)).unwrap(),
        ""
    );
}

#[test]
fn what_piton_shows_is_never_taken_as_that_of_others() {
    for base in [None, Some(SEED), Some(LOOP), Some(CRLF)] {
        let shown = show_progress(base, &a_day());
        assert_eq!(take_progress(&shown, base), []);
        assert_eq!(take_all(&shown, Some(&shown)), []);
        // Nor when the version before is lost.
        let alone = take_progress(base.unwrap_or_default(), None);
        let all = take_progress(&shown, None);
        assert_eq!(marks(&all), marks(&alone));
    }
}

/// What is known of an entry that only its file has kept.
fn known(row: &EntryRow) -> (String, EntryType, Option<String>, Option<String>, i64) {
    let entry = &row.entry;
    let name = entry.name.clone().unwrap();
    let (task, spec) = (entry.task_id.clone(), entry.spec.clone());
    (name, entry.kind, task, spec, row.timestamp.as_second())
}

fn as_row(entry: Entry) -> EntryRow {
    let mut row = self::entry(1, entry.kind, None, &json!({}));
    row.timestamp = entry.at.as_deref().unwrap().parse().unwrap();
    row.entry = entry;
    row
}

#[test]
fn what_piton_shows_is_known_again_where_only_the_file_is_left() {
    let mut rows = a_day();
    // Not shown: an override without a focus, and nothing of an end.
    rows.retain(|row| row.entry.text_field("description") != Some("left out"));
    for row in &mut rows[1..5] {
        row.entry.spec = Some("a spec, -- of two".to_owned());
    }
    // An id of others, which tells no time; a task that looks like none.
    rows[1].entry.name = Some("an id, <of> others --".to_owned());
    rows[3].entry.task_id = Some("the mast".to_owned());
    rows[6].entry.task_id = Some("the mast".to_owned());
    rows[6].entry.spec = rows[3].entry.spec.clone();
    let text = show_progress(None, &rows);
    let expected: Vec<_> = rows.iter().map(known).collect();
    let again: Vec<EntryRow> = take_all(&text, None).into_iter().map(as_row).collect();
    let found: Vec<_> = again.iter().map(known).collect();
    assert_eq!(found, expected);
    // Each once: a clone that took it shows nothing more.
    assert_eq!(show_progress(Some(&text), &again), text);
    let said = |at: usize, key: &str| again[at].entry.text_field(key).unwrap_or_default();
    assert_eq!(said(1, "description"), "Lay it");
    assert_eq!(said(1, "notes"), "Oak.\nNot pine.");
    assert_eq!(said(1, "commit"), "c0ffee1");
    assert_eq!(said(3, "description"), "no pine");
    assert_eq!(said(5, "focus"), "the sail");
    assert_eq!(said(6, "resolution"), "took oak");
    assert_eq!(said(8, "notes"), "night fell");
}

#[test]
fn the_words_of_a_criterion_are_not_those_of_its_attempt() {
    for task in ["it-floats", "3"] {
        let mut row = entry(
            1,
            EntryType::TaskCompleted,
            Some(task),
            &json!({"description": "Caulked it", "notes": "Twice.", "criterion": "It floats"}),
        );
        row.entry.spec = Some("yard".to_owned());
        let text = show_progress(None, std::slice::from_ref(&row));
        assert!(text.contains("It floats <!--"), "{text}");
        let again = take_own(&text, None).remove(0);
        assert_eq!(again.task_id.as_deref(), Some(task));
        assert_eq!(again.text_field("description"), Some("Caulked it"));
        assert_eq!(again.text_field("notes"), Some("Twice."));
    }
}

#[test]
fn a_name_of_before_that_only_tells_a_position_is_nobody_elses() {
    let text = "## Session 1 (2026-01-15) <!-- piton: event-1 -->\n";
    assert_eq!(take_all(text, None), []);
    let mut row = entry(1, EntryType::SessionStarted, None, &json!({}));
    row.entry.name = Some("two words".to_owned());
    assert_eq!(show_progress(Some(text), &[row]), text);
}

#[test]
fn what_was_taken_from_the_file_is_not_shown_in_it() {
    let taken = take_progress(SEED, None);
    let rows: Vec<EntryRow> = taken
        .into_iter()
        .enumerate()
        .map(|(nth, taken)| {
            let mut row = entry(u64::try_from(nth).unwrap(), taken.kind, None, &json!({}));
            row.entry = Entry {
                name: row.entry.name,
                ..taken
            };
            row
        })
        .collect();
    assert_eq!(show_progress(Some(SEED), &rows), SEED);
}

#[test]
fn both_dialects_are_taken() {
    let seed: Vec<_> = take_progress(SEED, None)
        .iter()
        .map(|entry| (entry.kind, entry.task_id.clone(), entry.one_line_title()))
        .map(|(kind, task, title)| format!("{} {task:?} {title}", kind.as_str()))
        .collect();
    insta::assert_snapshot!(seed.join("\n"), @r#"
    session_started None session_started
    task_completed Some("1") 1: Lay the keel
    task_completed Some("2") 2: Plank the hull
    session_started None session_started
    task_completed Some("3") 3: Caulk
    task_blocked None No tar in the yard
    debug_resolved None No tar in the yard
    task_blocked None The crane is out of order
    scope_override None scope_override
    "#);
    let loops: Vec<_> = take_progress(LOOP, None)
        .iter()
        .map(|entry| {
            // What the file says, in the zone of whoever reads it: here UTC.
            let said = entry
                .text_field("date")
                .map(|date| date.replace(' ', "T") + "Z");
            assert_eq!(entry.at, said);
            let data = serde_json::to_string(&entry.data).unwrap();
            format!("{} {data}", entry.kind.as_str())
        })
        .collect();
    insta::assert_snapshot!(loops.join("\n"), @r#"
    session_started {"date":"2025-04-05 08:00:00","session":1,"model":"tern-2"}
    session_ended {"date":"2025-04-05 08:30:00","session":1,"notes":"🔄 Context rotation (token limit reached)"}
    session_started {"date":"2025-04-05 08:30:02","session":2,"model":"auto (picked later)"}
    session_ended {"date":"2025-04-05 08:31:00","session":2,"notes":"Agent finished naturally (5 criteria remaining)"}
    "#);
    let crlf = take_progress(CRLF, None);
    let lf = take_progress(&CRLF.replace("\r\n", "\n"), None);
    assert_eq!(marks(&crlf), marks(&lf));
}

#[test]
fn only_what_is_new_is_taken_and_always_under_the_same_mark() {
    let rows = a_day();
    let base = show_progress(Some(SEED), &rows);
    let text = base.replace(
        "- The crane is out of order",
        "- The crane is out of order (resolved: oiled)\n- Rain",
    ) + "\n### Completed\n- [x] **[9]** Flag\n  - Commit: abc\n";
    let found = take_progress(&text, Some(&base));
    let said: Vec<_> = found
        .iter()
        .map(|entry| {
            (
                entry.kind,
                entry.text_field("description").unwrap_or_default(),
            )
        })
        .collect();
    assert_eq!(
        said,
        [
            (EntryType::DebugResolved, "The crane is out of order"),
            (EntryType::TaskBlocked, "Rain"),
            (EntryType::TaskCompleted, "Flag"),
        ]
    );
    assert_eq!(found[0].text_field("resolution"), Some("oiled"));
    assert_eq!(found[2].text_field("commit"), Some("abc"));
    // A crash forgets the version before; what is known has the marks it had.
    let all = take_progress(&text, None);
    let again = marks(&all);
    assert!(marks(&found).iter().all(|mark| again.contains(mark)));
    let mut once = again.clone();
    once.sort_unstable();
    once.dedup();
    assert_eq!(once.len(), again.len());
    // And they stay, whatever is shown later.
    let more = [entry(
        99,
        EntryType::TaskCompleted,
        Some("flag"),
        &json!({"description": "Flag"}),
    )];
    let later = take_progress(&show_progress(Some(&text), &more), None);
    assert_eq!(marks(&later), again);
}

#[test]
fn another_focus_is_taken_also_where_the_note_of_piton_stayed() {
    let base = show_progress(None, &a_day()[..1]);
    let text = base.replace("the keel", "the rudder");
    let found = take_progress(&text, Some(&base));
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].text_field("focus"), Some("the rudder"));
    // It is not set back to what was worked on before.
    let mut taken = entry(50, EntryType::ScopeOverride, None, &json!({}));
    taken.entry = found[0].clone();
    let rows = [a_day().remove(0), taken];
    assert_eq!(show_progress(Some(&text), &rows), text);
}

#[test]
fn a_blocker_of_others_is_resolved_by_piton_and_stays_theirs() {
    let text = "## Session 1 (2026-01-01)\n\n### Blockers Encountered\n- mast: no pine\n- x\n";
    let rows = [entry(
        1,
        EntryType::DebugResolved,
        Some("mast"),
        &json!({"resolution": "took oak"}),
    )];
    let shown = show_progress(Some(text), &rows);
    assert!(shown.contains(
        "- mast: no pine (resolved: took oak) <!-- piton: resolved entry-20260115-100100-1 -->\n"
    ));
    assert_eq!(show_progress(Some(&shown), &rows), shown);
    assert_eq!(take_progress(&shown, Some(text)), []);
    let resolved = take_own(&shown, Some(text)).remove(0);
    assert_eq!(resolved.kind, EntryType::DebugResolved);
    assert_eq!(
        marks(&take_progress(&shown, None)),
        marks(&take_progress(text, None))
    );
}

#[test]
fn a_task_that_is_blocked_again_in_the_same_words_is_blocked_again() {
    let blocked = json!({"description": "fails"});
    let rows = vec![
        entry(1, EntryType::TaskBlocked, Some("a-1"), &blocked),
        entry(
            2,
            EntryType::DebugResolved,
            Some("a-1"),
            &json!({"resolution": "mended"}),
        ),
        entry(3, EntryType::TaskBlocked, Some("a-1"), &blocked),
    ];
    let mut text = show_progress(None, &rows[..1]);
    for row in &rows[1..] {
        text = show_progress(Some(&text), std::slice::from_ref(row));
    }
    let open = |text: &str| -> Vec<bool> {
        let blockers = read(text).sessions[0].blockers.clone();
        blockers.iter().map(|blocker| blocker.resolved).collect()
    };
    assert_eq!(open(&text), [true, false]);
    assert_eq!(show_progress(Some(&text), &rows), text);
    assert_eq!(open(&show_progress(None, &rows)), [true, false]);
}

#[test]
fn a_fence_that_is_never_closed_is_said_and_the_text_stays() {
    let shown = progress_md::render_rows(Some("```\n"), &entries(&a_day()), &about(None));
    assert!(matches!(shown, Err(RenderError(_))));
}

#[test]
fn ten_thousand_entries_are_shown_in_a_few_passes() {
    let rows: Vec<EntryRow> = (0..10_000)
        .map(|nth| {
            let kind = match nth % 10 {
                0 => EntryType::SessionStarted,
                1..5 => EntryType::TaskBlocked,
                _ => EntryType::TaskCompleted,
            };
            let mut row = entry(nth % 600, kind, Some("task"), &json!({"description": "x"}));
            row.entry.name = Some(format!("entry-{nth}"));
            row
        })
        .collect();
    let text = show_progress(None, &rows);
    assert_eq!(read(&text).sessions.len(), 1000);
    assert_eq!(show_progress(Some(&text), &rows), text);
    let one: Vec<EntryRow> = rows
        .iter()
        .filter(|row| row.entry.kind != EntryType::SessionStarted)
        .cloned()
        .collect();
    let text = show_progress(None, &one);
    assert_eq!(read(&text).sessions[0].completed.len(), 5000);
}

fn sign(id: u64, title: &str, content: &str) -> MemoryRow {
    let mut memory = serde_json::to_value(Memory {
        title: Some(title.to_owned()),
        ..Memory::new(MemoryKind::Guardrail, content)
    })
    .unwrap();
    memory["id"] = json!(format!("sign-{id:04}"));
    memory["number"] = json!(id);
    memory["position"] = json!(id);
    memory["added_at"] = json!("2026-01-15T10:30:00Z");
    memory["by"] = json!("person");
    serde_json::from_value(memory).unwrap()
}

fn retired(row: &MemoryRow) -> MemoryRow {
    let mut row = row.clone();
    row.retired = serde_json::from_value(
        json!({"why": "mended", "by": "person", "at": "2026-01-16T00:00:00Z"}),
    )
    .unwrap();
    row
}

fn show_signs(text: Option<&str>, rows: &[MemoryRow]) -> String {
    let rows: Vec<_> = rows.iter().map(ShownRow::Memory).collect();
    guardrails_md::render_rows(text, &rows, &about(None)).unwrap()
}

fn take_signs(text: &str, base: Option<&str>) -> Vec<ImportedRecord> {
    let took: FileContents = guardrails_md::import_changes(text, base, &about(None));
    took.found
}

fn said(found: &ImportedRecord) -> (bool, &Memory) {
    match found {
        ImportedRecord::Memory(memory) => (false, memory),
        ImportedRecord::Retired(memory) | ImportedRecord::Removed(memory) => (true, memory),
        ImportedRecord::Entry(_) | ImportedRecord::Attempt(_) => panic!("{found:?}"),
    }
}

#[test]
fn signs_of_both_dialects_are_memory() {
    for text in [SIGNS, LEARNED] {
        let found = take_signs(text, None);
        assert!(!found.is_empty());
        assert_eq!(take_signs(text, Some(text)), []);
    }
    let found = take_signs(SIGNS, None);
    let (is_retired, twice) = said(&found[0]);
    assert!(!is_retired);
    assert_eq!(twice.title.as_deref(), Some("Measure twice"));
    assert_eq!(twice.context.as_deref(), Some("Before a cut"));
    assert_eq!(twice.evidence.as_deref(), Some("a plank too short"));
    assert_eq!(
        twice.content,
        "Do this:\n1. measure\n2. measure again\n\n```bash\n# not a heading\nmeasure --twice\n```"
    );
}

#[test]
fn a_sign_is_retired_and_changed_in_its_place() {
    let row = sign(1, "Ask", "Ask first.");
    let text = show_signs(Some(SIGNS), std::slice::from_ref(&row));
    assert!(only_adds(SIGNS, Ok::<_, RenderError>(text.clone())).is_some());
    let mut revised = row.clone();
    revised.memory.content = "Ask twice.".to_owned();
    let changed = show_signs(Some(&text), &[revised.clone()]);
    assert_eq!(changed, text.replace("Ask first.", "Ask twice."));
    assert_eq!(show_signs(Some(&changed), &[revised.clone()]), changed);
    let moved = show_signs(Some(&changed), &[retired(&revised)]);
    assert!(moved.contains("- **Resolved**: 2026-01-16 - mended"));
    assert_eq!(show_signs(Some(&moved), &[retired(&revised)]), moved);
    let found = take_signs(&moved, Some(&changed));
    assert_eq!(found.len(), 1);
    assert!(said(&found[0]).0);
    // The same title, given again, is another sign that holds.
    let again = sign(2, "Ask", "Ask anybody.");
    let both = [retired(&revised), again];
    let text = show_signs(Some(&moved), &both);
    assert_eq!(show_signs(Some(&text), &both), text);
    let all = guardrails::parse_guardrails(SourceText {
        name: "",
        text: &text,
    })
    .0;
    assert_eq!(
        all.find_sign("Ask").unwrap().get(FieldName::Instruction),
        Some("Ask anybody.")
    );
    assert_eq!(show_signs(None, &[retired(&row)]), "");
}

#[test]
fn a_sign_whose_free_words_a_field_would_claim_stays_as_it_is() {
    let mut row = sign(1, "Ask", "Ask first.");
    row.memory.context = Some("Before a fire".to_owned());
    row.memory.added_after = Some("Core principle".to_owned());
    for free in ["- **Trtes: Oak, ash", "- more", "  deeper"] {
        let text = format!("## Core Signs\n\n### Sign: Ask\n{free}");
        let once = show_signs(Some(&text), &[row.clone()]);
        assert!(once.contains(free), "{once}");
        assert_eq!(show_signs(Some(&once), &[row.clone()]), once);
    }
}

#[test]
fn a_sign_is_found_whatever_blanks_its_name_has() {
    let text = "## Core Signs\n\n### Sign: Ask \t twice\u{0}or  more\n- **Instruction**: Ask.\n";
    let found = take_signs(text, None);
    let (_, memory) = said(&found[0]);
    assert_eq!(memory.title.as_deref(), Some("Ask twice or more"));
    let row = sign(1, "Ask twice or more", "Ask.");
    assert_eq!(show_signs(Some(text), &[row]), text);
}

#[test]
fn evidence_that_a_person_wrote_stays() {
    let mut row = sign(1, "Ask", "Ask first.");
    row.memory.evidence = Some("a fire".to_owned());
    let text = show_signs(None, &[row.clone()]).replace("a fire", "two fires");
    assert_eq!(show_signs(Some(&text), &[row]), text);
}

fn attempt(outcome: &str) -> AttemptRow {
    serde_json::from_value(json!({
        "id": "01900000-0000-7000-8000-000000000001",
        "run": "01900000-0000-7000-8000-000000000002",
        "node": "keel",
        "number": 2,
        "role": "worker",
        "agent": "adze",
        "model": "tern-2",
        "iteration": 3,
        "started_at": "2026-01-15T10:30:00Z",
        "ended_at": "2026-01-15T10:31:01.5Z",
        "report": {"outcome": outcome, "error": "it split\nalong the grain",
            "usage": {"input_tokens": 1000, "output_tokens": 200}}
    }))
    .unwrap()
}

type Log = fn(Option<&str>, &[ShownRow<'_>], &FileContext<'_>) -> Result<String, RenderError>;

#[track_caller]
fn log(show: Log, text: Option<&str>, rows: &[&AttemptRow]) -> String {
    let rows: Vec<_> = rows.iter().map(|row| ShownRow::Attempt(row)).collect();
    let once = show(text, &rows, &about(None)).unwrap();
    assert_eq!(show(Some(&once), &rows, &about(None)).unwrap(), once);
    once
}

#[test]
fn the_logs_say_once_what_ran_and_what_failed() {
    let failed = attempt("failed");
    let mut exited = attempt("blocked");
    exited.report.as_mut().unwrap().program.process =
        serde_json::from_value(json!({"code": 2})).unwrap();
    let mut told = attempt("completed");
    told.iteration = 0;
    let rows = [&failed, &exited, &told];
    insta::assert_snapshot!(log(activity_log::render_rows, None, &rows), @r#"
    # Activity Log

    [2026-01-15 10:30:00] 🟢 SESSION START: model=tern-2
    [2026-01-15 10:31:01] 🟢 SESSION END: 61500ms, ~1200 tokens used
    "#);
    insta::assert_snapshot!(log(errors_log::render_rows, None, &rows), @r#"
    # Error Log

    [2026-01-15 10:31:01] ERROR: it split
    [2026-01-15 10:31:01] SHELL FAIL: adze → exit 2 (attempt 2)
    "#);
    assert_eq!(log(activity_log::render_rows, None, &[&told]), "");
    assert_eq!(log(errors_log::render_rows, None, &[&told]), "");
    let text = "[10:00:00] SHELL a\r\nb";
    let shown = log(errors_log::render_rows, Some(text), &rows);
    assert!(shown.starts_with("[10:00:00] SHELL a\r\nb\r\n[2026-01-15 10:31:01] ERROR:"));
    assert!(shown.ends_with("\r\n"));
}

#[test]
fn two_attempts_that_began_in_one_second_are_two() {
    let first = attempt("completed");
    let mut second = attempt("completed");
    second.ended_at = Some("2026-01-15T10:31:07Z".parse().unwrap());
    // One after the other, and both at once.
    let text = log(activity_log::render_rows, None, &[&first]);
    let text = log(activity_log::render_rows, Some(&text), &[&second]);
    assert_eq!(text.matches("SESSION START").count(), 2, "{text}");
    assert_eq!(
        log(activity_log::render_rows, None, &[&first, &second]),
        text
    );
    assert_eq!(
        log(activity_log::render_rows, Some(&text), &[&first, &second]),
        text
    );
}

#[test]
fn the_iteration_is_written_where_it_moved() {
    let show = |text, n| iteration::render_rows(text, &[], &about(n)).unwrap();
    assert_eq!(show(None, Some(3)), "3\n");
    assert_eq!(show(Some("3"), Some(3)), "3");
    assert_eq!(show(Some("3"), Some(4)), "4");
    assert_eq!(show(Some("3\r\n"), Some(4)), "4\r\n");
    assert_eq!(show(Some("x"), None), "x");
    assert_eq!(show(Some("banana\n"), Some(4)), "banana\n");
    assert_eq!(show(Some("\n"), Some(4)), "4\n");
    assert_eq!(show(None, None), "");
    let took = iteration::import_changes("x", None, &about(None));
    assert!(took.is_readable() && took.problems.len() == 1 && took.found.is_empty());
}

#[test]
fn what_machines_made_is_foreign_to_each() {
    assert_eq!(detect_words("\n"), Detection::Empty);
    assert_eq!(detect_words("3\n"), Detection::Ours);
    let foreign = detect_words("{\"status\": 1}");
    assert!(matches!(foreign, Detection::Foreign(_)));
}

/// Any text with all rows: what is shown is shown, and a second time changes nothing.
pub(crate) fn keep_all_else(text: &str) {
    let rows = a_day();
    let rows = entries(&rows);
    if let Ok(shown) = progress_md::render_rows(Some(text), &rows, &about(None)) {
        let again = progress_md::render_rows(Some(&shown), &rows, &about(None));
        assert_eq!(again.as_deref(), Ok(shown.as_str()), "{text:?}");
        // `- None` gives way, and one paragraph of a focus.
        let before = read(text);
        if !text.to_lowercase().contains("none")
            && before.sessions.iter().all(|s| s.focus.is_none())
        {
            let mut lines = shown.lines();
            for line in text.lines().filter(|line| !line.trim().is_empty()) {
                let line = line.trim_end();
                assert!(
                    lines.any(|have| have.starts_with(line)),
                    "{line:?}\n{text:?}\n{shown:?}"
                );
            }
        }
    }
    let signs = [
        sign(1, "x", "a\n```\nb"),
        retired(&sign(2, "Ask the smith", "c")),
    ];
    let rows: Vec<_> = signs.iter().map(ShownRow::Memory).collect();
    if let Ok(shown) = guardrails_md::render_rows(Some(text), &rows, &about(None)) {
        let again = guardrails_md::render_rows(Some(&shown), &rows, &about(None));
        assert_eq!(again.as_deref(), Ok(shown.as_str()), "{text:?}");
    }
    let failed = attempt("failed");
    for show in [activity_log::render_rows as Log, errors_log::render_rows] {
        let shown = log(show, Some(text), &[&failed]);
        assert!(shown.starts_with(text));
    }
    for base in [None, Some(""), Some(text)] {
        drop(progress_md::import_changes(text, base, &about(None)));
        drop(guardrails_md::import_changes(text, base, &about(None)));
    }
    assert_eq!(
        progress_md::import_changes(text, Some(text), &about(None)).found,
        []
    );
    assert_eq!(
        guardrails_md::import_changes(text, Some(text), &about(None)).found,
        []
    );
    drop(iteration::import_changes(text, None, &about(None)));
    drop(detect_words(text));
}

fn words() -> impl Strategy<Value = String> {
    prop::collection::vec(
        prop::sample::select(vec![
            "a",
            "b-1",
            "- c",
            "# d",
            "`e",
            "<!-- f",
            "-->",
            "None",
            "(resolved)",
            ")",
            "é",
            "1.",
            "**",
            "[ ]",
            "```",
            "\n",
            ":",
            "---",
            "<!-- piton: x -->",
            "> ",
            "\r\n",
        ]),
        0..5,
    )
    .prop_map(|parts| parts.join(" "))
}

fn rows() -> impl Strategy<Value = Vec<EntryRow>> {
    let task = prop::sample::select(vec![None, Some("t-1"), Some("t-2"), Some("7")]);
    let row = (0..7_usize, task, words(), words(), any::<bool>());
    prop::collection::vec(row, 0..14).prop_map(|rows| {
        let rows = rows.into_iter().enumerate();
        rows.map(|(nth, (kind, task, what, more, long))| {
            let kind = piton_core::entry::ENTRY_TYPES[kind].1;
            let mut data = json!({"description": what, "notes": more, "resolution": more});
            if long {
                data["focus"] = json!(more);
                data["commit"] = json!(what);
                data["validations"] = json!([more]);
            }
            entry(u64::try_from(nth).unwrap(), kind, task, &data)
        })
        .collect()
    })
}

fn text() -> impl Strategy<Value = Option<&'static str>> {
    prop::sample::select(vec![None, Some(SEED), Some(LOOP), Some(CRLF), Some("# x")])
}

proptest! {
    #![proptest_config(cases(400))]

    #[test]
    fn a_second_showing_changes_nothing(text in text(), rows in rows(), cut in 0..14_usize) {
        let cut = cut.min(rows.len());
        // Some first, then the rest, as they come about.
        let Ok(first) = progress_md::render_rows(text, &entries(&rows[..cut]), &about(None)) else {
            return Ok(());
        };
        let shown = progress_md::render_rows(Some(&first), &entries(&rows[cut..]), &about(None));
        let Ok(shown) = shown else { return Ok(()) };
        // A crash between the file and its stamp shows the rest again.
        prop_assert_eq!(&show_progress(Some(&shown), &rows[cut..]), &shown);
        // What others write makes everything be shown again.
        prop_assert_eq!(&show_progress(Some(&shown), &rows), &shown);
        let taken = take_progress(&shown, None);
        let before = take_progress(text.unwrap_or_default(), None);
        let before = marks(&before);
        // Nor is what is known by its name known by another one as well.
        let own: Vec<EntryRow> = take_own(&shown, None).into_iter().map(as_row).collect();
        prop_assert_eq!(&show_progress(Some(&shown), &own), &shown);
        let focus = |entry: &&Entry| entry.kind != EntryType::ScopeOverride;
        for entry in taken.iter().filter(focus) {
            prop_assert!(before.contains(&entry.mark.as_deref().unwrap()), "{entry:?}\n{shown}");
        }
    }

    #[test]
    fn a_sign_that_is_shown_is_taken_as_it_was(
        lines in prop::collection::vec(
            prop::sample::select(vec![
                "do this", "- one", "  - two", "1. three", "> so", "**now**", "é", "",
                "- **Trigger**: no", "a: b", "```\n# code\n\n- x\n```", "~~~sh\nrun\n~~~", "| a | b |",
            ]),
            1..8,
        ),
        evidence in prop::option::of("[a-z]{1,9}( [a-z:*-]{1,5})?"),
        context in prop::option::of("[A-Z][a-z]{1,9}\n?[a-z]{1,5}"),
        retire in any::<bool>(),
        text in prop::sample::select(vec![None, Some(SIGNS), Some(LEARNED)]),
    ) {
        let content = lines.join("\n").trim().to_owned();
        prop_assume!(!content.is_empty());
        let mut row = sign(1, "New one", &content);
        row.memory.evidence = evidence;
        row.memory.context = context;
        row.memory.added_after = Some("Session 1 - so".to_owned());
        let mut shown = show_signs(text, std::slice::from_ref(&row));
        if retire {
            row = retired(&row);
            shown = show_signs(Some(&shown), std::slice::from_ref(&row));
        }
        prop_assert_eq!(&show_signs(Some(&shown), std::slice::from_ref(&row)), &shown);
        let found = take_signs(&shown, text);
        prop_assert_eq!(found.len(), 1, "{}", shown);
        let (is_retired, memory) = said(&found[0]);
        prop_assert_eq!(is_retired, retire);
        prop_assert_eq!(&memory.content, &content);
        prop_assert_eq!(&memory.title, &row.memory.title);
        prop_assert_eq!(&memory.context, &row.memory.context);
        prop_assert_eq!(&memory.evidence, &row.memory.evidence);
        prop_assert_eq!(&memory.added_after, &row.memory.added_after);
    }
}

#[test]
fn how_an_attempt_ended_decides_whether_it_is_an_error() {
    for (outcome, is_shown) in [
        (Outcome::Failed, true),
        (Outcome::Blocked, true),
        (Outcome::Completed, false),
        (Outcome::Partial, false),
        (Outcome::NeedsHuman, false),
        (Outcome::Interrupted, false),
    ] {
        let text = log(errors_log::render_rows, None, &[&attempt(outcome.as_str())]);
        assert_eq!(!text.is_empty(), is_shown, "{outcome:?}");
    }
}

// How long a large file takes.

/// Makes a text with so many parts.
type MakeText = fn(usize) -> String;

fn many_signs(count: usize) -> String {
    let sign = |nth: usize| {
        format!(
            "\n### Sign: Sign {nth}\n- **Trigger**: when {nth}\n- **Instruction**: do {nth}\n- **Added after**: x\n"
        )
    };
    let signs: String = (0..count).map(sign).collect();
    format!("# G\n\n## Active Guardrails\n{signs}")
}

fn many_sessions(count: usize) -> String {
    let session = |nth: usize| {
        let done = format!("- [x] Criterion {nth} - laid\n  - Commit: abc{nth}\n");
        format!(
            "\n## Session {nth} (2026-01-15)\n\n### Completed\n{done}\n### Blockers Encountered\n- US-{nth}: stuck (resolved: {nth})\n\n**Session {nth} ended** - fine\n\n---\n"
        )
    };
    let sessions: String = (0..count).map(session).collect();
    format!("# Progress Log\n{sessions}")
}

/// How long it takes to count what of a text is taken, to take it, and to show it
/// again in the same text.
#[expect(clippy::disallowed_methods, reason = "a budget is measured")]
fn time_to_adopt(path: &str, text: &str) -> std::time::Duration {
    let file = piton_formats::registry::project_file_at(path).unwrap();
    let format = piton_formats::format::format_at_path(path).unwrap();
    let once = || {
        let begun = std::time::Instant::now();
        let adoption = format.adoption(SourceText { name: "f", text });
        let mut took = (file.take)(text, None, &about(None));
        let took_it = begun.elapsed();
        assert!(adoption.is_complete(), "{adoption:?}");
        for (found, nth) in took.found.iter_mut().zip(1..) {
            if let ImportedRecord::Memory(memory) = found {
                memory.id = Some(format!("guardrail-{nth}"));
            }
        }
        let rows = crate::logs::rows(&took);
        let begun = std::time::Instant::now();
        let shown = (file.show)(Some(text), &crate::logs::shown(&rows), &about(None));
        let showed_it = begun.elapsed();
        assert_eq!(shown.unwrap(), text);
        took_it + showed_it
    };
    [once(), once(), once()].into_iter().min().unwrap()
}

#[test]
fn a_file_four_times_as_large_is_adopted_in_four_times_the_time() {
    let files: [(&str, MakeText, usize); 2] = [
        (".ralph/guardrails.md", many_signs, 150),
        (".ralph/progress.md", many_sessions, 150),
    ];
    for (path, text, count) in files {
        let few = time_to_adopt(path, &text(count));
        let many = time_to_adopt(path, &text(4 * count));
        // Sixteen times, and seconds, is what reading all of it for each of its
        // parts takes; less than a second may be the noise of a busy machine.
        let is_short = many < std::time::Duration::from_secs(1);
        assert!(is_short || many < few * 9, "{path}: {few:?}, then {many:?}");
    }
}
