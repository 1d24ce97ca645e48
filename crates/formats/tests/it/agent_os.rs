//! `.agent-os/progress/`: the numbered cases of its conformance, and what holds for any rows.

use crate::logs::{Row, about, in_every_style, logged, mutated, now, rows, shared, shown, time};
use piton_core::command::ImportedRecord;
use piton_core::entry::{ENTRY_TYPES, Entry, EntryType};
use piton_formats::agent_os::{
    ROOT_NAME, SHAPE, archive_old_entries, detect, import_archive, import_log, merge_archive,
    reimport_row, render_markdown, render_rows,
};
use piton_formats::json::{ValueNode, parse};
use piton_formats::native_file::{Detection, FileContents};
use piton_formats::shape::{check, json_schema};
use piton_simkit::seed::cases;
use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

const FULL: &str = include_str!("../corpus/logs/agent-full.json");
const INSTALLER: &str = include_str!("../corpus/logs/agent-installer.json");
const WILD: &str = include_str!("../corpus/logs/agent-wild.json");
const RALPH: &str = include_str!("../corpus/logs/ralph-full.json");
const FILE: &str = ".agent-os/progress/progress.json";

#[track_caller]
fn took(text: &str) -> FileContents {
    let took = import_log(text, &about(FILE));
    assert!(took.is_readable(), "{:#?}", took.problems);
    took
}

#[track_caller]
fn read(text: &str) -> ValueNode {
    let parsed = parse(text);
    assert!(parsed.faults.is_empty(), "{text}");
    parsed.root.unwrap()
}

#[track_caller]
fn strict(text: &str) {
    let problems = check(&read(text), &SHAPE, FILE, ROOT_NAME);
    assert!(problems.is_empty(), "{text}\n{problems:#?}");
}

#[track_caller]
fn written(text: Option<&str>, rows: &[Row]) -> String {
    render_rows(text, &shown(rows), &about(FILE)).unwrap()
}

fn entry(name: &str, at: &str) -> Row {
    let entry = Entry {
        name: Some(name.to_owned()),
        at: Some(at.to_owned()),
        ..Entry::with_type(EntryType::TaskCompleted).with_text("description", "done")
    };
    Row::Entry(Box::new(logged(0, &entry)))
}

/// What stands under a key of the metadata.
#[track_caller]
fn counted(text: &str, key: &str) -> String {
    let root = read(text);
    let node = root.get("metadata").and_then(|node| node.get(key)).cloned();
    node.unwrap().text().unwrap().to_owned()
}

/// As the tests of the original count: `grep -c "^### "`.
fn headings(markdown: &str) -> usize {
    markdown
        .lines()
        .filter(|line| line.starts_with("### "))
        .count()
}

/// A log of that many entries, one every hour, of which the first is the oldest.
fn log_of(count: u32) -> String {
    let start = time("2026-01-01T00:00:00Z");
    let rows: Vec<Row> = (0..count)
        .map(|at| {
            let at_time = start + jiff::SignedDuration::from_hours(i64::from(at));
            entry(&format!("entry-{at:06}-a"), &format!("{at_time:.3}"))
        })
        .collect();
    written(None, &rows)
}

fn names(text: &str) -> Vec<String> {
    let entries = read(text).get("entries").cloned().unwrap();
    let entries = entries.as_seq().unwrap().iter();
    entries
        .map(|entry| entry.get("id").unwrap().text().unwrap().to_owned())
        .collect()
}

#[test]
fn a_full_document_is_strict_and_showing_its_own_rows_changes_no_byte() {
    strict(FULL);
    for text in in_every_style(FULL) {
        let rows = rows(&took(&text));
        assert_eq!(rows.len(), 5);
        assert_eq!(written(Some(&text), &rows), text);
        assert_eq!(written(Some(&text), &[]), text);
    }
    let took = took(FULL);
    assert_eq!(took.problems, []);
    for found in &took.found {
        assert!(
            matches!(found, ImportedRecord::Entry(entry) if entry.native.is_none()),
            "{found:?}"
        );
    }
    // A lost file is written as it was, but for the choice of one line or more.
    let again = written(None, &rows(&took));
    strict(&again);
    let value = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
    assert_eq!(value(&again), value(FULL));
}

#[test]
fn the_schema_agrees_with_the_table() {
    let schema = json_schema(&SHAPE, "https://example.org/progress.json", "Progress log");
    let validator = jsonschema::draft202012::options().build(&schema).unwrap();
    for (text, valid) in [(FULL, true), (INSTALLER, true), (RALPH, false)] {
        let value: serde_json::Value = serde_json::from_str(text).unwrap();
        assert_eq!(validator.is_valid(&value), valid);
    }
}

#[test]
fn case_37_the_file_of_the_installer_is_taken() {
    strict(INSTALLER);
    let took = took(INSTALLER);
    assert_eq!(took.problems, []);
    let Some(ImportedRecord::Entry(first)) = took.found.first() else {
        panic!("an entry")
    };
    assert_eq!(first.name.as_deref(), Some("entry-init-001"));
    assert_eq!(first.at.as_deref(), Some("2026-02-01T12:00:00Z"));
    assert_eq!(first.kind, EntryType::MilestoneReached);
    assert_eq!(first.native, None);
    let out = written(
        Some(INSTALLER),
        &[entry("entry-a", "2026-02-01T13:00:00.5Z")],
    );
    assert_eq!(counted(&out, "total_entries"), "2");
    assert_eq!(counted(&out, "oldest_entry"), "2026-02-01T12:00:00Z");
    assert_eq!(counted(&out, "last_updated"), "2026-02-01T13:00:00.5Z");
}

#[test]
fn case_38_null_is_kept_where_a_spec_and_a_task_would_be() {
    let took = took(WILD);
    let ImportedRecord::Entry(first) = &took.found[0] else {
        panic!("an entry")
    };
    assert_eq!((&first.spec, &first.task_id), (&None, &None));
    let anew = written(None, &rows(&took));
    let entries = read(&anew).get("entries").cloned().unwrap();
    let first = &entries.as_seq().unwrap()[0];
    assert!(first.get("spec").unwrap().is_null() && first.get("task_id").unwrap().is_null());
}

#[test]
fn case_39_a_type_that_nobody_listed_is_kept_in_its_word() {
    let took = took(WILD);
    let ImportedRecord::Entry(second) = &took.found[1] else {
        panic!("an entry")
    };
    assert_eq!(second.kind, EntryType::Other);
    assert_eq!(second.type_name(), "interrupted");
    let anew = written(None, &rows(&took));
    assert!(anew.contains("\"type\": \"interrupted\"") && anew.contains("\"branch\": \"main\""));
    assert!(
        render_markdown(&anew)
            .unwrap()
            .contains("### 09:00 - 📝 interrupted\n")
    );
}

#[test]
fn case_41_archiving_twice_loses_nothing_and_doubles_nothing() {
    let log = log_of(1_000);
    assert_eq!(archive_old_entries(&log, now(), 1_001, 30), None);
    let parted = archive_old_entries(&log, now(), 500, 30).unwrap();
    let months: Vec<&str> = parted.months.keys().map(String::as_str).collect();
    assert_eq!(months, ["2026-01"]);
    assert_eq!(counted(&parted.keep, "archived_through"), "2026-01-30");
    assert_eq!(
        counted(&parted.keep, "oldest_entry"),
        "2026-01-30T12:00:00.000Z"
    );
    strict(&parted.keep);
    let moved = &parted.months["2026-01"];
    let month = merge_archive(None, moved).unwrap();
    let mut all = names(&month);
    all.extend(names(&parted.keep));
    assert_eq!(all, names(&log));
    assert_eq!(
        names(&parted.keep).len().to_string(),
        counted(&parted.keep, "total_entries")
    );
    // The crash came between the archive and the log: both are done again.
    let again = archive_old_entries(&log, now(), 500, 30).unwrap();
    assert_eq!(again, parted);
    assert_eq!(
        merge_archive(Some(&month), &again.months["2026-01"]).unwrap(),
        month
    );
    // Nothing is old any more.
    assert_eq!(archive_old_entries(&parted.keep, now(), 0, 30), None);
    let took = import_archive(&month, &about("archive/2026-01.json"));
    assert_eq!(took.problems, []);
    assert_eq!(took.found.len(), moved.len());
}

#[test]
fn case_41_an_archive_keeps_what_else_stands_in_it() {
    let month = "{\n\t\"note\": \"mine\",\n\t\"entries\": [\n\t\t{\"id\": \"b\", \"timestamp\": \"2026-01-02T00:00:00Z\", \"x\": null}\n\t]\n}";
    let new = read("[{\"id\": \"a\", \"timestamp\": \"2026-01-01T00:00:00Z\"}]");
    let out = merge_archive(Some(month), new.as_seq().unwrap()).unwrap();
    assert_eq!(names(&out), ["a", "b"]);
    assert_eq!(shared(month, &out), month.len(), "{out}");
    for broken in ["{", "[]", "{\"entries\": {}}"] {
        merge_archive(Some(broken), new.as_seq().unwrap()).unwrap_err();
        assert!(!import_archive(broken, &about("a")).is_readable());
    }
}

#[test]
fn case_42_the_count_is_true_and_so_is_the_number_of_headings() {
    let wrong = FULL.replacen("\"total_entries\": 5", "\"total_entries\": 9", 1);
    let problems = took(&wrong).problems;
    assert_eq!(problems.len(), 1);
    assert_eq!(problems[0].code, "COUNTER_DISAGREES");
    let out = written(Some(&wrong), &[entry("entry-z", "2026-02-01T00:00:00Z")]);
    assert_eq!(counted(&out, "total_entries"), "6");
    assert_eq!(counted(&out, "oldest_entry"), "2026-02-01T00:00:00Z");
    assert_eq!(counted(&out, "last_updated"), "2026-02-04T07:15:00.000Z");
    assert_eq!(headings(&render_markdown(&out).unwrap()), 6);
    strict(&out);
}

#[test]
fn a_log_is_rendered_newest_first() {
    insta::assert_snapshot!(render_markdown(FULL).unwrap(), @r#"
    # Agent OS Progress Log

    *Project: tide-tables*
    *Total entries: 5*

    ---

    ## 2026-02-04

    ### 07:15 - 📋 Both tasks at once
    - **Spec**: harbours
    - **Details**: Both tasks at once

    ### 07:00 - 🔧 Levels were off by a foot
    - **Details**: Levels were off by a foot

    ---

    ## 2026-02-03

    ### 23:59 - ✅ The list is drawn
    - **Spec**: harbours
    - **Task**: 1.1
    - **Details**: The list is drawn
      \### and not a heading
    - **Duration**: ~45 minutes
    - **Notes**: ## Reads the public gauges

      \# really
    - **Next**: 1.2: the moon

    ### 08:40 - ⚠️ The gauge service wants a key
    - **Spec**: harbours
    - **Task**: 1.1
    - **Details**: The gauge service wants a key

    ### 08:00 - 🚀 Begin with the list of harbours
    - **Spec**: harbours
    - **Details**: Begin with the list of harbours

    ---
    "#);
}

#[test]
fn what_is_met_in_the_wild_is_rendered_too() {
    let archived = WILD.replace(
        "\"oldest_entry\":false",
        "\"archived_through\":\"2026-01-01\"",
    );
    insta::assert_snapshot!(render_markdown(&archived).unwrap(), @r#"
    # Agent OS Progress Log

    *Project: tide "tables"*
    *Total entries: 9*

    ---

    ## 2026-02-03

    ### 11:00 - 🏁 session_ended
    - **Duration**: ~1.50 minutes
    - **Notes**: a, b

    ### 09:00 - 📝 interrupted

    ### 08:00 - 🏁 session_ended

    ### 08:00 - ✅ said by a script
    - **Details**: said by a script

    ---

    ## 2026-02-02

    ### 11:00 - 🎯 7
    - **Details**: 7

    ---

    ## Undated

    ### --:-- - 📝 entry

    ### --:-- - 📝 entry

    ### --:-- - 📝 entry

    ### --:-- - 📝 5

    ---


    *Older entries archived through 2026-01-01*
    *See .agent-os/progress/archive/ for historical data*
    "#);
}

#[test]
fn case_44_ten_thousand_entries_are_shown_taken_and_rendered_in_one_pass() {
    let log = log_of(10_000);
    assert_eq!(took(&log).found.len(), 10_000);
    assert_eq!(headings(&render_markdown(&log).unwrap()), 10_000);
    let out = written(Some(&log), &[entry("entry-last", "2030-01-01T00:00:00Z")]);
    assert_eq!(counted(&out, "total_entries"), "10001");
    assert!(archive_old_entries(&log, now(), 500, 30).is_some());
}

#[test]
fn case_46_an_entry_without_data_is_an_entry() {
    let took = took(WILD);
    let ImportedRecord::Entry(without) = &took.found[1] else {
        panic!("an entry")
    };
    assert!(without.data.is_empty());
    let rows = rows(&took);
    assert_eq!(written(Some(WILD), &rows), WILD);
    let anew = written(None, &rows);
    assert_eq!(
        anew.matches("\"data\"").count(),
        WILD.matches("\"data\"").count()
    );
}

#[test]
fn what_is_met_in_the_wild_is_taken_with_warnings_and_stays_as_it_is() {
    let took = took(WILD);
    let told: Vec<String> = took
        .problems
        .iter()
        .map(|problem| format!("{}: {} [{}]", problem.path, problem.message, problem.code))
        .collect();
    insta::assert_snapshot!(told.join("\n"), @r#"
    progress.entries[0].spec: invalid value null [WRONG_TYPE]
    progress.entries[0].task_id: invalid value null [WRONG_TYPE]
    progress.entries[1].data: missing key "data" [MISSING_KEY]
    progress.entries[1].type: invalid value "interrupted" [INVALID_VALUE]
    progress.entries[2].data: invalid value null [WRONG_TYPE]
    progress.entries[3].id: missing key "id" [MISSING_KEY]
    progress.entries[3].data.notes: invalid value: a list [WRONG_TYPE]
    progress.entries[4].timestamp: invalid value "2026-02-02 11:00:00" [INVALID_VALUE]
    progress.entries[4].data.description: invalid value 7 [WRONG_TYPE]
    progress.entries[5].timestamp: missing key "timestamp" [MISSING_KEY]
    progress.entries[5].type: invalid value 5 [WRONG_TYPE]
    progress.entries[5].data: invalid value: a list [WRONG_TYPE]
    progress.entries[6]: invalid value "junk" [WRONG_TYPE]
    progress.entries[6]: this is no entry and cannot be taken in [NOT_TAKEN]
    progress.entries[7]: invalid value null [WRONG_TYPE]
    progress.entries[7]: this is no entry and cannot be taken in [NOT_TAKEN]
    progress.entries[8]: invalid value 3 [WRONG_TYPE]
    progress.entries[8]: this is no entry and cannot be taken in [NOT_TAKEN]
    progress.metadata.last_updated: missing key "last_updated" [MISSING_KEY]
    progress.metadata.archived_through: missing key "archived_through" [MISSING_KEY]
    progress.metadata.total_entries: invalid value "6" [WRONG_TYPE]
    progress.metadata.oldest_entry: invalid value false [WRONG_TYPE]
    "#);
    assert_eq!(took.found.len(), 6);
    // What has no name, or no time, is known by all that it says.
    let marked = took.found.iter().map(|found| match found {
        ImportedRecord::Entry(entry) => entry.mark.is_some(),
        ImportedRecord::Attempt(_)
        | ImportedRecord::Memory(_)
        | ImportedRecord::Retired(_)
        | ImportedRecord::Removed(_) => false,
    });
    assert_eq!(
        marked.collect::<Vec<_>>(),
        [false, false, false, true, true, true]
    );
    let rows = rows(&took);
    assert_eq!(written(Some(WILD), &rows), WILD);
    for text in in_every_style(&WILD.replace("1e400", "1e40").replace("1.50", "1.5")) {
        let rows = rows_of(&text);
        assert_eq!(written(Some(&text), &rows), text);
    }
}

fn rows_of(text: &str) -> Vec<Row> {
    rows(&took(text))
}

#[test]
fn versions_compare_as_numbers() {
    for newer in ["2.0", "10.0"] {
        let text = FULL.replacen("1.0", newer, 1);
        assert!(!import_log(&text, &about(FILE)).is_readable());
        render_rows(Some(&text), &[], &about(FILE)).unwrap_err();
        render_markdown(&text).unwrap_err();
    }
    assert!(took(&FULL.replacen("1.0", "1.4", 1)).problems.is_empty());
}

#[test]
fn what_else_stands_at_the_path_is_named() {
    assert_eq!(detect(FULL), Detection::Ours);
    assert_eq!(detect(INSTALLER), Detection::Ours);
    assert_eq!(detect(WILD), Detection::Ours);
    assert_eq!(
        detect(RALPH),
        Detection::Foreign("a Ralph progress file, not an Agent OS log".to_owned())
    );
    for (text, detected) in [
        ("", Detection::Empty),
        ("{}\n", Detection::Empty),
        ("{\"entries\": [", Detection::Unreadable),
    ] {
        assert_eq!(detect(text), detected);
    }
    for text in [RALPH, "[]", "{\"tasks\": []}"] {
        assert!(matches!(detect(text), Detection::Foreign(_)));
        assert!(!import_log(text, &about(FILE)).is_readable());
        render_rows(Some(text), &[], &about(FILE)).unwrap_err();
    }
    strict(&written(Some("{}"), &rows_of(FULL)));
    strict(&written(None, &[]));
}

#[test]
fn an_entry_without_a_name_is_not_shown() {
    let mut row = logged(0, &Entry::with_type(EntryType::SessionEnded));
    row.entry.name = None;
    assert_eq!(written(Some(FULL), &[Row::Entry(Box::new(row))]), FULL);
}

#[test]
fn nothing_that_happens_to_a_file_makes_it_panic() {
    let own = rows_of(FULL);
    let wild = rows_of(WILD);
    let mut seed = 3;
    for round in 0..10_000 {
        let text = mutated([FULL, WILD, INSTALLER][round % 3], &mut seed);
        let detected = detect(&text);
        let took = import_log(&text, &about(FILE));
        assert!(
            detected == Detection::Ours || took.found.is_empty(),
            "{text}"
        );
        if let Ok(markdown) = render_markdown(&text) {
            let root = read(&text);
            let entries = root.get("entries").and_then(ValueNode::as_seq);
            assert_eq!(
                headings(&markdown),
                entries.unwrap_or_default().len(),
                "{text}"
            );
        }
        let parted = archive_old_entries(&text, now(), 1, 25);
        if let Some(parted) = parted.filter(|_| round % 8 == 0) {
            for entries in parted.months.values() {
                let once = merge_archive(None, entries).unwrap();
                assert_eq!(merge_archive(Some(&once), entries).as_ref(), Ok(&once));
            }
        }
        drop((
            merge_archive(Some(&text), &[]),
            import_archive(&text, &about(FILE)),
        ));
        let rows = if round % 2 == 0 { &own } else { &wild };
        let Ok(out) = render_rows(Some(&text), &shown(rows), &about(FILE)) else {
            continue;
        };
        if round % 8 < 2 {
            assert_eq!(written(Some(&out), rows), out, "{text}");
        }
    }
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[ -~]{0,12}",
        any::<String>(),
        Just("\n### x\r# y".to_owned())
    ]
}

fn data() -> impl Strategy<Value = serde_json::Map<String, serde_json::Value>> {
    let value = prop_oneof![
        text().prop_map(serde_json::Value::from),
        any::<i32>().prop_map(serde_json::Value::from),
        any::<bool>().prop_map(serde_json::Value::from),
        vec(text(), 0..3).prop_map(serde_json::Value::from),
        Just(serde_json::Value::Null),
    ];
    let key = select(vec!["description", "notes", "next_steps", "spec", "x"]);
    btree_map(key, value, 0..4).prop_map(|data| {
        data.into_iter()
            .map(|(key, value)| (key.to_owned(), value))
            .collect()
    })
}

fn some_rows() -> impl Strategy<Value = Vec<Row>> {
    let entry = (
        select(ENTRY_TYPES.to_vec()),
        0..4_000_000_000_i64,
        (option::of(text()), option::of(text())),
        data(),
    );
    vec(entry, 0..5).prop_map(|entries| {
        let rows = entries.into_iter().enumerate();
        rows.map(|(at, ((_, kind), second, (spec, task_id), data))| {
            let time = jiff::Timestamp::from_second(second).unwrap();
            let entry = Entry {
                name: Some(format!("entry-{at}-abc")),
                at: Some(format!("{time:.3}")),
                spec,
                task_id,
                data,
                ..Entry::with_type(kind)
            };
            Row::Entry(Box::new(logged(at, &entry)))
        })
        .collect()
    })
}

/// What entries say, and when, without where they stand.
fn said(rows: &[Row]) -> Vec<(jiff::Timestamp, Entry)> {
    let entry = |row: &Row| {
        let Row::Entry(row) = row else {
            panic!("a log holds entries");
        };
        (row.timestamp, row.entry.clone())
    };
    rows.iter().map(entry).collect()
}

proptest! {
    #![proptest_config(cases(150))]

    #[test]
    fn rows_that_are_shown_are_taken_back(want in some_rows()) {
        let text = written(None, &want);
        let mut by_time = said(&want);
        by_time.sort_by_key(|(time, _)| *time);
        prop_assert_eq!(said(&rows_of(&text)), by_time);
        for row in &want {
            let again = FileContents { found: vec![reimport_row(&row.shown()).unwrap()], problems: Vec::new() };
            let Row::Entry(row) = row else { continue };
            let Some(Row::Entry(again)) = rows(&again).pop() else { panic!("an entry") };
            prop_assert_eq!(&again.entry, &row.entry);
        }
    }

    #[test]
    fn showing_rows_twice_is_showing_them_once(rows in some_rows(), style in 0..7_usize) {
        let text = &in_every_style(FULL)[style];
        let once = written(Some(text), &rows);
        prop_assert_eq!(&written(Some(&once), &rows), &once);
        prop_assert_eq!(counted(&once, "total_entries"), (5 + rows.len()).to_string());
    }

    #[test]
    fn a_new_entry_touches_the_list_and_the_metadata_only(style in 0..7_usize) {
        let text = &in_every_style(FULL)[style];
        // Older than the newest: what was updated last stays.
        let out = written(Some(text), &[entry("entry-new-abc", "2026-02-04T00:00:00Z")]);
        prop_assert_eq!(&out.replacen("\"total_entries\": 6", "\"total_entries\": 5", 1)
            .replacen("\"total_entries\":6", "\"total_entries\":5", 1).len(), &out.len());
        let before = out.replacen("total_entries\": 6", "total_entries\": 5", 1)
            .replacen("total_entries\":6", "total_entries\":5", 1);
        prop_assert_eq!(shared(text, &before), text.len());
    }

    #[test]
    fn there_are_as_many_headings_as_entries_whatever_they_say(rows in some_rows()) {
        let text = written(None, &rows);
        let markdown = render_markdown(&text).unwrap();
        prop_assert_eq!(headings(&markdown), rows.len());
        for line in markdown.lines().filter(|line| line.starts_with('#')) {
            prop_assert!(["# A", "## 1", "## 2", "### "].iter().any(|start| line.starts_with(start)));
            prop_assert!(line.chars().count() < 220);
        }
    }
}
