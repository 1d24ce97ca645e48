//! `.ralph/progress.json`: the numbered cases of its conformance, and what holds for any rows.

use crate::logs::{
    Row, about, attempt, in_every_style, mutated, now, remembered, rows, shared, shown, time,
};
use piton_core::attempt::{
    AttemptContext, Outcome, ProgramReport, RecoveryAction, Report, ReportedAttempt,
    ReportedChanges,
};
use piton_core::command::ImportedRecord;
use piton_core::id::{AttemptId, Node as Item, RunId};
use piton_core::memory::{Confidence, LearningType, Memory, MemoryKind, PatternType};
use piton_core::observation::{
    ActionTaken, Observation, ObservationCategory, ObservationKind, Severity,
};
use piton_formats::json::{is_same_json, parse, patch, render};
use piton_formats::native_file::{Detection, FileContents, ShownRow};
use piton_formats::problem::Problem;
use piton_formats::ralph_json::{
    ROOT_NAME, SHAPE, detect, import_progress, learnings_of_progress_txt, reimport_row, render_rows,
};
use piton_formats::shape::{check, json_schema};
use piton_simkit::seed::cases;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

const FULL: &str = include_str!("../corpus/logs/ralph-full.json");
const WILD: &str = include_str!("../corpus/logs/ralph-wild.json");
const HEARTBEAT: &str = include_str!("../corpus/logs/ralph-heartbeat.json");
const BROKEN: &str = include_str!("../corpus/logs/ralph-heartbeat-broken.json");
const IMPLEMENTED: &str = include_str!("../corpus/logs/ralph-implemented.json");
const AGENT: &str = include_str!("../corpus/logs/agent-full.json");
const FILE: &str = ".ralph/progress.json";

#[track_caller]
fn took(text: &str) -> FileContents {
    let took = import_progress(text, &about(FILE));
    assert!(took.is_readable(), "{:#?}", took.problems);
    took
}

#[track_caller]
fn strict(text: &str) {
    let parsed = parse(text);
    assert!(parsed.faults.is_empty(), "{text}");
    let problems = check(&parsed.root.unwrap(), &SHAPE, FILE, ROOT_NAME);
    assert!(problems.is_empty(), "{text}\n{problems:#?}");
}

#[track_caller]
fn written(text: Option<&str>, rows: &[Row]) -> String {
    render_rows(text, &shown(rows), &about(FILE)).unwrap()
}

#[track_caller]
fn attempt_named<'r>(rows: &'r [Row], name: &str) -> &'r piton_core::AttemptRow {
    rows.iter()
        .find_map(|row| match row {
            Row::Attempt(row) if row.name.as_deref() == Some(name) => Some(&**row),
            Row::Attempt(_) | Row::Memory(_) | Row::Entry(_) => None,
        })
        .unwrap()
}

fn id(number: u32) -> AttemptId {
    format!("{number:032x}").parse().unwrap()
}

fn is_version_8(id: &str) -> bool {
    id.chars().nth(14) == Some('8') && id[19..20].contains(['8', '9', 'a', 'b'])
}

fn told(name: &str, item: &str, number: u32, report: Report) -> ReportedAttempt {
    ReportedAttempt {
        attempt: id(number),
        run: RunId::PROJECT,
        node: Item::child(None, item, 1),
        item: item.to_owned(),
        number: Some(number),
        name: Some(name.to_owned()),
        agent: "file".to_owned(),
        ended_at: Some(time("2026-02-05T10:00:00Z")),
        report: Box::new(report),
        native: None,
    }
}

fn one(name: &str, item: &str, number: u32, report: Report) -> Row {
    Row::Attempt(Box::new(attempt(&told(name, item, number, report))))
}

#[test]
fn case_1_a_full_document_is_strict_and_showing_its_own_rows_changes_no_byte() {
    strict(FULL);
    for text in in_every_style(FULL) {
        let rows = rows(&took(&text));
        assert_eq!(rows.len(), 6);
        assert_eq!(written(Some(&text), &rows), text);
        assert_eq!(written(Some(&text), &[]), text);
    }
    let again = written(None, &rows(&took(FULL)));
    strict(&again);
    let (again, full) = (parse(&again).root.unwrap(), parse(FULL).root.unwrap());
    for key in ["entries", "learnings", "patterns"] {
        assert!(
            is_same_json(again.get(key).unwrap(), full.get(key).unwrap()),
            "{key}"
        );
    }
}

#[test]
fn case_1_what_the_typed_form_can_say_is_not_kept_twice() {
    for found in took(FULL).found {
        let native = match found {
            ImportedRecord::Attempt(told) => told.native,
            ImportedRecord::Memory(memory)
            | ImportedRecord::Retired(memory)
            | ImportedRecord::Removed(memory) => memory.native,
            ImportedRecord::Entry(entry) => entry.native,
        };
        assert_eq!(native, None);
    }
}

#[test]
fn case_1_the_schema_agrees_with_the_table() {
    let schema = json_schema(&SHAPE, "https://example.org/progress.json", "Progress");
    let validator = jsonschema::draft202012::options().build(&schema).unwrap();
    for (text, valid) in [(FULL, true), (WILD, false), (AGENT, false)] {
        let value: serde_json::Value = serde_json::from_str(text).unwrap();
        assert_eq!(validator.is_valid(&value), valid);
    }
}

#[test]
fn case_2_false_and_zero_are_not_absent() {
    let rows = rows(&took(FULL));
    let first = attempt_named(&rows, "harbour-list-1")
        .report
        .clone()
        .unwrap();
    let context = first.context.unwrap();
    assert_eq!(context.blocker_valid, Some(false));
    assert_eq!(context.retry_count, Some(0));
    assert_eq!(first.changes.commits, Some(Vec::new()));
    let second = attempt_named(&rows, "harbour-list-2")
        .report
        .clone()
        .unwrap();
    assert_eq!(second.program.duration_s, Some(0));
    assert_eq!(second.changes.files, None);
    assert_eq!(second.context.unwrap().blocker_valid, None);
    let text = written(None, &rows);
    assert_eq!(text.matches("\"blocker_valid\": false").count(), 1);
    assert_eq!(text.matches("\"retry_count\": 0").count(), 1);
    assert_eq!(text.matches("\"duration_seconds\": 0").count(), 1);
}

#[test]
fn case_3_versions_compare_as_numbers() {
    let with = |version: &str| FULL.replacen("\"1.0\"", version, 1);
    for fine in ["\"1.0\"", "\"1.9\"", "\"0.9\"", "1.0", "\"one\"", "null"] {
        assert!(
            import_progress(&with(fine), &about(FILE)).is_readable(),
            "{fine}"
        );
    }
    for newer in ["\"2.0\"", "\"2.1\"", "\"10.0\"", "2"] {
        let text = with(newer);
        let took = import_progress(&text, &about(FILE));
        let told: Vec<String> = took.problems.iter().map(ToString::to_string).collect();
        assert_eq!(took.problems.len(), 1, "{newer}: {told:?}");
        assert!(told[0].contains("newer than this piton"), "{told:?}");
        assert!(took.found.is_empty());
        render_rows(Some(&text), &[], &about(FILE)).unwrap_err();
    }
}

#[test]
fn case_4_an_unknown_key_of_a_minor_version_is_kept() {
    let text = FULL.replacen("\"1.0\"", "\"1.7\"", 1).replacen(
        "\"prd_id\"",
        "\"tokens\": {\"in\": 1.50}, \"prd_id\"",
        1,
    );
    let took = took(&text);
    assert!(took.problems.is_empty(), "{:?}", took.problems);
    let rows = rows(&took);
    assert_eq!(written(Some(&text), &rows), text);
    // Also where the file was lost and is written anew.
    assert!(written(None, &rows).contains("\"in\": 1.50"));
}

#[test]
fn case_9_a_heartbeat_is_named_as_such_also_when_it_is_no_json() {
    let heartbeat = Detection::Foreign("a ralph-claude-code heartbeat, not a progress file".into());
    for text in [
        HEARTBEAT,
        BROKEN,
        "{\"status\": \"completed\", \"timestamp\": \"2026-02-03 08:00:40\"}\n",
        "{\"status\": \"pending\", \"timestamp\": \"\"}",
        "{\"status\": \"timed_out_productive\", \"files_changed\": 3, \"timestamp\": \"x\"}",
    ] {
        assert_eq!(detect(text), heartbeat, "{text}");
        assert!(!import_progress(text, &about(FILE)).is_readable());
        render_rows(Some(text), &[], &about(FILE)).unwrap_err();
    }
    assert!(parse(HEARTBEAT).faults.is_empty());
    assert!(!parse(BROKEN).faults.is_empty());
}

#[test]
fn what_else_stands_at_the_path_is_named() {
    let foreign = |text: &str| match detect(text) {
        Detection::Foreign(what) => what,
        detected @ (Detection::Ours | Detection::Empty | Detection::Unreadable) => {
            format!("{detected:?}")
        }
    };
    insta::assert_snapshot!(foreign(IMPLEMENTED), @"a progress file in the schema that ralph implements (`schema_version`), not in the one that it documents");
    insta::assert_snapshot!(foreign(AGENT), @"an Agent OS progress log, not a Ralph progress file");
    insta::assert_snapshot!(foreign("{\"features\": []}"), @"a list of PRDs, not a progress file");
    insta::assert_snapshot!(foreign("{\"a\": 1}"), @"a JSON object that is no progress file");
    insta::assert_snapshot!(foreign("[]"), @"a list, not a progress file");
    insta::assert_snapshot!(foreign("{\"version\": \"1.0\", "), @"Unreadable");
    for nothing in ["", " \n", "\u{feff}\n", "{}"] {
        assert_eq!(detect(nothing), Detection::Empty);
        assert_eq!(took(nothing).found, []);
        strict(&written(Some(nothing), &rows(&took(FULL))));
    }
    assert_eq!(written(Some("{}"), &[]), "{}");
    for ours in [FULL, WILD] {
        assert_eq!(detect(ours), Detection::Ours);
    }
}

#[test]
fn case_10_a_text_of_earlier_times_becomes_one_learning() {
    let memories = learnings_of_progress_txt("# Progress\n- did this\n", now());
    let [memory] = memories.as_slice() else {
        panic!("one learning: {memories:?}");
    };
    let rows = [Row::Memory(Box::new(remembered(memory, false)))];
    let text = written(None, &rows);
    strict(&text);
    assert!(text.contains("\"learning-0000\"") && text.contains("\"migration\""));
    assert_eq!(
        took(&text).found,
        [ImportedRecord::Memory(Box::new(memory.clone()))]
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
    progress.created_at: invalid value "2026-02-03 08:00" [INVALID_VALUE]
    progress.entries[0].id: invalid value "Quay_Map-1" [INVALID_VALUE]
    progress.entries[0].timestamp: invalid value "2026-02-03 08:40:00" [INVALID_VALUE]
    progress.entries[0].status: invalid value "done-ish" [INVALID_VALUE]
    progress.entries[0].observations: invalid value null [WRONG_TYPE]
    progress.entries[0].files_modified: invalid value null [WRONG_TYPE]
    progress.entries[1].summary: invalid value null [WRONG_TYPE]
    progress.entries[1].observations[0].type: invalid value "note" [INVALID_VALUE]
    progress.entries[1].observations[1]: invalid value 7 [WRONG_TYPE]
    progress.entries[1].observations[2].type: missing key "type" [MISSING_KEY]
    progress.entries[1].observations[2].severity: invalid value "huge" [INVALID_VALUE]
    progress.entries[1].observations[3].title: missing key "title" [MISSING_KEY]
    progress.entries[1].context.retry_count: invalid value -1 [INVALID_VALUE]
    progress.entries[2].id: another element before this one has the same id [DUPLICATE_ID]
    progress.entries[2].iteration: invalid value "2" [WRONG_TYPE]
    progress.entries[3].id: missing key "id" [MISSING_KEY]
    progress.entries[4]: this cannot be taken in: it has no id that it would be known by [NOT_TAKEN]
    progress.entries[4].id: missing key "id" [MISSING_KEY]
    progress.entries[4].timestamp: missing key "timestamp" [MISSING_KEY]
    progress.entries[4].prd_id: missing key "prd_id" [MISSING_KEY]
    progress.entries[4].iteration: missing key "iteration" [MISSING_KEY]
    progress.entries[4].status: missing key "status" [MISSING_KEY]
    progress.entries[4].observations: missing key "observations" [MISSING_KEY]
    progress.entries[5]: invalid value null [WRONG_TYPE]
    progress.entries[5]: this cannot be taken in: it has no id that it would be known by [NOT_TAKEN]
    progress.entries[6]: invalid value "text" [WRONG_TYPE]
    progress.entries[6]: this cannot be taken in: it has no id that it would be known by [NOT_TAKEN]
    progress.entries[7]: invalid value: a list [WRONG_TYPE]
    progress.entries[7]: this cannot be taken in: it has no id that it would be known by [NOT_TAKEN]
    progress.learnings[1]: this cannot be taken in: it has no id of the form that it would be known by [NOT_TAKEN]
    progress.learnings[1].source_prd_id: missing key "source_prd_id" [MISSING_KEY]
    progress.learnings[1].created_at: missing key "created_at" [MISSING_KEY]
    progress.learnings[1].id: invalid value "L1" [INVALID_VALUE]
    progress.learnings[1].type: invalid value "x" [INVALID_VALUE]
    progress.learnings[2].source_prd_id: missing key "source_prd_id" [MISSING_KEY]
    progress.learnings[2].type: invalid value "rumour" [INVALID_VALUE]
    progress.learnings[2].created_at: invalid value "yesterday" [INVALID_VALUE]
    progress.learnings[2].still_valid: invalid value null [WRONG_TYPE]
    progress.patterns[0].name: missing key "name" [MISSING_KEY]
    progress.patterns[0].type: missing key "type" [MISSING_KEY]
    progress.patterns[0].discovered_at: missing key "discovered_at" [MISSING_KEY]
    progress.patterns[0].confidence: invalid value "sure" [INVALID_VALUE]
    "#);
    let rows = rows(&took);
    assert_eq!(rows.len(), 7);
    assert_eq!(written(Some(WILD), &rows), WILD);
    let anew = written(None, &rows);
    assert_eq!(written(Some(&anew), &rows), anew);
    for kept in [
        "\"cost\": 0",
        "\"why\": {}",
        "+01:00",
        "done-ish",
        "\"still_valid\": null",
        "\"Quay_Map-1\"",
    ] {
        assert!(anew.contains(kept), "{kept}\n{anew}");
    }
}

#[test]
fn a_status_that_is_no_word_is_an_end_that_nobody_knows() {
    let rows = rows(&took(WILD));
    let row = attempt_named(&rows, "Quay_Map-1");
    assert_eq!(row.report.as_ref().unwrap().outcome, Outcome::Interrupted);
    assert_eq!(row.item.as_deref(), Some("Quay Map"));
}

#[test]
fn what_cannot_be_a_list_is_an_error() {
    for key in ["entries", "learnings", "patterns"] {
        let text = format!("{{\"version\": \"1.0\", \"entries\": [], \"{key}\": {{}}}}");
        let text = text.replace("\"entries\": [], \"entries\"", "\"entries\"");
        let took = import_progress(&text, &about(FILE));
        let errors: Vec<&Problem> = took.problems.iter().filter(|p| p.is_error()).collect();
        assert_eq!(errors.len(), 1, "{:?}", took.problems);
        assert_eq!(errors[0].path, format!("progress.{key}"));
        let row = one("a-1", "a", 1, Report::with_outcome(Outcome::Failed));
        assert!(render_rows(Some(&text), &[row.shown()], &about(FILE)).is_err());
        let nothing = text.replace("{}", "null");
        assert!(import_progress(&nothing, &about(FILE)).is_readable());
        written(Some(&nothing), &[row]);
    }
}

#[test]
fn the_same_entry_has_the_same_id_whenever_it_is_taken() {
    let ids = |text: &str| -> Vec<AttemptId> {
        let found = took(text).found;
        let attempts = found.into_iter().filter_map(|found| match found {
            ImportedRecord::Attempt(told) => Some(told.attempt),
            ImportedRecord::Memory(_)
            | ImportedRecord::Retired(_)
            | ImportedRecord::Removed(_)
            | ImportedRecord::Entry(_) => None,
        });
        attempts.collect()
    };
    assert_eq!(ids(FULL), ids(FULL));
    assert_ne!(ids(FULL)[0], ids(FULL)[1]);
    assert!(ids(FULL).iter().all(|id| is_version_8(&id.to_string())));
}

#[test]
fn words_that_the_format_lacks_become_the_nearest_it_has() {
    let says = |outcome, summary: Option<&str>| Report {
        summary: summary.map(str::to_owned),
        ..Report::with_outcome(outcome)
    };
    let rows = [
        one("a-1", "a", 1, says(Outcome::NeedsHuman, None)),
        one(
            "a-2",
            "a",
            2,
            says(Outcome::Interrupted, Some("the power went")),
        ),
        one(
            "a-3",
            "a",
            3,
            says(Outcome::Interrupted, Some("Interrupted by the user")),
        ),
        one("a-4", "a", 4, says(Outcome::Interrupted, None)),
        one("A/b c", "a", 5, says(Outcome::Partial, None)),
    ];
    let text = written(None, &rows);
    strict(&text);
    let root = parse(&text).root.unwrap();
    let said = |key: &str| -> Vec<String> {
        let entries = root.get("entries").unwrap().as_seq().unwrap();
        let texts = entries.iter().map(|entry| entry.get(key));
        texts
            .map(|node| node.and_then(|node| node.text()).unwrap_or("-").to_owned())
            .collect()
    };
    assert_eq!(
        said("status"),
        ["blocked", "failed", "failed", "failed", "partial"]
    );
    assert_eq!(
        said("summary"),
        [
            "-",
            "interrupted: the power went",
            "Interrupted by the user",
            "interrupted",
            "-"
        ]
    );
    assert_eq!(said("id"), ["a-1", "a-2", "a-3", "a-4", "a-b-c-5"]);
    assert_eq!(written(Some(&text), &rows), text);
    for row in &rows {
        let Some(ImportedRecord::Attempt(again)) = reimport_row(&row.shown()) else {
            panic!("an attempt")
        };
        let found = took(&text).found;
        assert!(found.iter().any(
            |found| matches!(found, ImportedRecord::Attempt(told) if told.report == again.report && told.name == again.name)
        ));
    }
}

#[test]
fn only_what_a_row_knows_and_says_otherwise_is_changed() {
    let text = FULL.replacen(
        "\"status\": \"failed\",",
        "\"x\": [1],\n      \"status\": \"failed\",",
        1,
    );
    let mut rows = rows(&took(&text));
    for row in &mut rows {
        if let Row::Attempt(row) = row
            && row.name.as_deref() == Some("moon-phase-1")
        {
            row.report.as_mut().unwrap().summary = Some("no moon".to_owned());
            row.report.as_mut().unwrap().observations[0].severity = Some(Severity::Low);
        }
        if let Row::Memory(row) = row
            && row.id == "learning-0001"
        {
            let memory = remembered(&row.memory, true);
            **row = memory;
        }
    }
    let out = written(Some(&text), &rows);
    let changes: Vec<(&str, &str)> = text
        .lines()
        .zip(out.lines().filter(|line| !line.contains("no moon")))
        .filter(|(before, after)| before != after)
        .collect();
    insta::assert_debug_snapshot!(changes, @r#"
    [
        (
            "        {\"type\": \"completion\", \"title\": \"The table was there already\", \"category\": \"tooling-friction\"}",
            "        {\"type\": \"completion\", \"title\": \"The table was there already\", \"category\": \"tooling-friction\", \"severity\": \"low\"}",
        ),
        (
            "      \"still_valid\": true",
            "      \"still_valid\": false",
        ),
    ]
    "#);
    assert!(out.contains("\n      \"summary\": \"no moon\",\n"));
    assert_eq!(written(Some(&out), &rows), out);
}

#[test]
fn a_thing_that_shares_its_name_with_another_is_shown_once() {
    // In the journal the second `buoy-1` is called `buoy-1-2`.
    let found = took(WILD).found;
    let Some(ImportedRecord::Attempt(second)) = found.get(2) else {
        panic!("an attempt")
    };
    let renamed = ReportedAttempt {
        name: Some("buoy-1-2".to_owned()),
        ..(**second).clone()
    };
    let row = Row::Attempt(Box::new(attempt(&renamed)));
    assert_eq!(written(Some(WILD), &[row]), WILD);
}

#[test]
fn nothing_that_happens_to_a_file_makes_it_panic() {
    let own = rows(&took(FULL));
    let wild = rows(&took(WILD));
    let mut seed = 6;
    for round in 0..10_000 {
        let base = [FULL, WILD, HEARTBEAT, IMPLEMENTED][round % 4];
        let text = mutated(base, &mut seed);
        let detected = detect(&text);
        let took = import_progress(&text, &about(FILE));
        assert!(
            detected == Detection::Ours || took.found.is_empty(),
            "{text}"
        );
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
    prop_oneof!["[ -~]{0,12}", any::<String>()]
}

fn observation() -> impl Strategy<Value = Observation> {
    (
        (
            select(ObservationKind::ALL),
            text(),
            option::of(text()),
            option::of(text()),
        ),
        (
            option::of(select(ObservationCategory::ALL)),
            option::of(select(Severity::ALL)),
            option::of(select(ActionTaken::ALL)),
            option::of(text()),
        ),
    )
        .prop_map(|((kind, title, description, file), rest)| Observation {
            description,
            file,
            category: rest.0,
            severity: rest.1,
            action_taken: rest.2,
            related_learning_id: rest.3,
            ..Observation::bare(kind, title)
        })
}

fn context() -> impl Strategy<Value = AttemptContext> {
    (
        option::of(0..9_u64),
        option::of(text()),
        option::of(select(RecoveryAction::ALL)),
        option::of(vec(text(), 0..3)),
        option::of(any::<bool>()),
    )
        .prop_map(|(count, reason, action, done, valid)| AttemptContext {
            retry_count: count,
            previous_failure_reason: reason.clone(),
            recovery_action: action,
            recovery_guidance: reason,
            dependencies_completed: done,
            blocker_verified: valid,
            blocker_valid: valid.map(|valid| !valid),
        })
}

fn instant() -> impl Strategy<Value = jiff::Timestamp> {
    (
        -2_000_000_000_i64..4_000_000_000,
        select(vec![0, 250_000_000, 1]),
    )
        .prop_map(|(second, nano)| jiff::Timestamp::new(second, nano).unwrap())
}

/// A report that the format has all words for.
fn report() -> impl Strategy<Value = Report> {
    let outcomes = vec![
        Outcome::Completed,
        Outcome::Failed,
        Outcome::Blocked,
        Outcome::Partial,
    ];
    (
        (
            select(outcomes),
            option::of(text()),
            vec(observation(), 0..4),
        ),
        option::of(vec(text(), 0..3)),
        option::of(vec(text(), 0..3)),
        option::of(context()),
        option::of(0..99_999_u64),
    )
        .prop_map(
            |((outcome, summary, observations), files, commits, context, duration_s)| Report {
                summary,
                observations,
                context,
                changes: ReportedChanges {
                    files,
                    commits,
                    ..ReportedChanges::default()
                },
                program: ProgramReport {
                    duration_s,
                    ..ProgramReport::default()
                },
                ..Report::with_outcome(outcome)
            },
        )
}

fn some_rows() -> impl Strategy<Value = Vec<Row>> {
    let attempts = vec((report(), instant(), "[a-z]{1,6}"), 0..4).prop_map(|reports| {
        let rows = reports.into_iter().zip(1_u32..);
        rows.map(|((report, ended_at, item), number)| {
            let told = ReportedAttempt {
                ended_at: Some(ended_at),
                ..told(&format!("{item}-{number}"), &item, number, report)
            };
            Row::Attempt(Box::new(attempt(&told)))
        })
        .collect::<Vec<_>>()
    });
    let learnings = vec((text(), option::of(text()), instant(), any::<bool>()), 0..3);
    let patterns = vec(
        (
            text(),
            text(),
            instant(),
            option::of(select(Confidence::ALL)),
        ),
        0..3,
    );
    (attempts, learnings, patterns).prop_map(|(mut rows, learnings, patterns)| {
        for ((content, context, learned_at, retired), number) in learnings.into_iter().zip(1..) {
            let memory = Memory {
                id: Some(MemoryKind::Learning.format_id(number)),
                topic: Some(LearningType::ToolUsage.to_string()),
                source_attempt: context.clone(),
                times_referenced: retired.then_some(number),
                context,
                learned_at: Some(learned_at),
                ..Memory::new(MemoryKind::Learning, content)
            };
            rows.push(Row::Memory(Box::new(remembered(&memory, retired))));
        }
        for ((title, content, learned_at, confidence), number) in patterns.into_iter().zip(1..) {
            let memory = Memory {
                id: Some(MemoryKind::Pattern.format_id(number)),
                topic: Some(PatternType::ApiPattern.to_string()),
                title: Some(title),
                examples: confidence.iter().map(ToString::to_string).collect(),
                confidence,
                learned_at: Some(learned_at),
                ..Memory::new(MemoryKind::Pattern, content)
            };
            rows.push(Row::Memory(Box::new(remembered(&memory, false))));
        }
        rows
    })
}

/// Without what the file has no place for.
fn comparable(rows: &[Row]) -> Vec<Row> {
    let mut rows = rows.to_vec();
    for row in &mut rows {
        if let Row::Attempt(row) = row {
            row.id = id(0);
        }
    }
    rows
}

proptest! {
    #![proptest_config(cases(150))]

    #[test]
    fn rows_that_are_shown_are_taken_back(want in some_rows()) {
        let text = written(None, &want);
        strict(&text);
        let mut by_time = comparable(&want);
        by_time.sort_by_key(|row| {
            let Row::Attempt(row) = row else {
                return (true, None);
            };
            (false, row.ended_at)
        });
        prop_assert_eq!(comparable(&rows(&took(&text))), by_time);
        for row in &want {
            let again = reimport_row(&row.shown()).unwrap();
            let took = FileContents { found: vec![again], problems: Vec::new() };
            prop_assert_eq!(comparable(&rows(&took)), comparable(std::slice::from_ref(row)));
        }
    }

    #[test]
    fn showing_rows_twice_is_showing_them_once(rows in some_rows(), style in 0..7_usize) {
        let text = &in_every_style(FULL)[style];
        let once = written(Some(text), &rows);
        prop_assert_eq!(&written(Some(&once), &rows), &once);
        strict(&once);
        let all: Vec<ShownRow<'_>> = shown(&rows);
        prop_assert_eq!(all.len(), rows.len());
    }

    #[test]
    fn a_new_entry_touches_no_other_byte(report in report(), style in 0..7_usize) {
        let text = &in_every_style(FULL)[style];
        let out = written(Some(text), &[one("new-1", "new", 1, report)]);
        prop_assert_eq!(shared(text, &out), text.len());
        if text.contains("\r\n") {
            prop_assert!(!out.replace("\r\n", "").contains('\n'));
        }
    }

    #[test]
    fn what_others_add_stays_when_an_entry_is_changed(summary in text(), key in "[a-z]{3,8}x") {
        let mut root = parse(FULL).root.unwrap();
        root = piton_formats::json::ValueNode::map(
            root.as_map().unwrap().iter().map(|(k, v)| (k.text.clone(), v.clone()))
                .chain([(key.clone(), piton_formats::json::ValueNode::string(&summary))]),
        );
        let text = patch(FULL, &root).unwrap();
        let mut changed = rows(&took(&text));
        if let Row::Attempt(row) = &mut changed[0] {
            row.report.as_mut().unwrap().summary = Some(summary.clone());
        }
        let out = parse(&written(Some(&text), &changed)).root.unwrap();
        prop_assert_eq!(out.get(&key).and_then(|node| node.as_str()), Some(summary.as_str()));
        prop_assert!(render(&out).contains("\"summary\""));
    }
}

#[test]
fn what_somebody_broke_is_mended_where_the_journal_is_kept() {
    let rows = rows(&took(FULL));
    let broken = FULL
        .replacen("\"blocked\"", "\"fine\", \"by\": \"me\"", 1)
        .replacen(
            "\"duration_seconds\": 1310",
            "\"duration_seconds\": null",
            1,
        )
        .replacen("      \"prd_id\": \"moon-phase\",\n", "", 1);
    let mended = written(Some(&broken), &rows);
    let by_hand = FULL.replacen("\"blocked\"", "\"blocked\", \"by\": \"me\"", 1);
    assert_eq!(mended, by_hand);
}
