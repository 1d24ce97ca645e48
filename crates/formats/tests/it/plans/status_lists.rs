//! Lists in which each item has a status: what waits for what, what is written, and what
//! becomes of edits.

use piton_formats::plan_format::{
    FilesBeside, PlanClaim, PlanContext, PlanFormat, PlanName, PlanText,
};
use piton_formats::{beads, bmad, gsd, task_master};
use piton_simkit::seed::salted;

use super::*;
use crate::logs::mutated;

const BEADS: &str = include_str!("../../corpus/lists/beads.jsonl");
const TASK_MASTER: &str = include_str!("../../corpus/lists/task_master.json");
const GSD: &str = include_str!("../../corpus/lists/gsd_roadmap.md");
const BMAD: &str = include_str!("../../corpus/lists/sprint_status.yaml");

fn beside(path: &str) -> Option<String> {
    match path {
        "../state.json" => Some(r#"{"currentTag": "tides"}"#.to_owned()),
        "phases/*/01-02-SUMMARY.md" => Some("done".to_owned()),
        "phases/*/02-01-PLAN.md" | "phases/*/02-02-PLAN.md" => {
            Some("---\nwave: 1\n---\n<tasks>".to_owned())
        }
        "phases/*/10-01-PLAN.md" => Some("---\nwave: 1\nautonomous: false\n---\n".to_owned()),
        _ => None,
    }
}

fn read(format: &PlanFormat, text: &str) -> (Option<Plan>, Vec<Problem>) {
    let of = PlanContext {
        run: RUN,
        name: PlanName::Given("list"),
        source: "list",
        native: None,
        beside: FilesBeside(&beside),
    };
    let name = "list";
    (format.read)(SourceText { name, text }, of)
}

fn desk(format: &PlanFormat, text: &str) -> Desk {
    let (plan, problems) = read(format, text);
    Desk::of(plan.unwrap_or_else(|| panic!("{problems:?}")), text)
}

/// Each item on a line: its node, its state, what it waits for.
fn rows(format: &PlanFormat, text: &str) -> String {
    let plan = read(format, text).0.expect("a plan");
    let items = plan.items.iter().map(|item| {
        let waits: Vec<&str> = item.depends_on.iter().map(Node::as_str).collect();
        let waits = match waits.is_empty() {
            true => String::new(),
            false => format!(" after {}", waits.join(" ")),
        };
        let holds = if item.prompt.is_none() { " holds" } else { "" };
        let seen = if item.approval { " is seen" } else { "" };
        format!("{} {:?}{holds}{waits}{seen}", item.node, item.state)
    });
    items.collect::<Vec<_>>().join("\n")
}

#[test]
fn what_waits_for_what_is_what_each_format_says() {
    insta::assert_snapshot!(
        "status_list_task_master",
        rows(&task_master::PLAN, TASK_MASTER)
    );
    insta::assert_snapshot!("status_list_gsd", rows(&gsd::PLAN, GSD));
    insta::assert_snapshot!("status_list_bmad", rows(&bmad::PLAN, BMAD));
    insta::assert_snapshot!("status_list_beads", rows(&beads::PLAN, BEADS));
}

#[test]
fn a_tag_that_is_not_there_is_named_with_those_that_are() {
    let task = r#"{"tasks": [{"id": 1, "title": "a", "status": "pending", "dependencies": []}]}"#;
    let text = format!(r#"{{"master": {task}, "moon": {task}}}"#);
    let problems = read(&task_master::PLAN, &text).1;
    let said: Vec<String> = problems.iter().map(ToString::to_string).collect();
    assert_eq!(
        said,
        [
            "list:1:1: warning: the tag `tides` of state.json is not among those with tasks (`master`, `moon`): `master` is used [MISSING_TAG]"
        ]
    );
}

#[test]
fn an_id_that_cannot_be_typed_is_named() {
    let task = r#"{"tides": {"tasks": [{"id": "1\n2", "title": "a", "status": "pending", "dependencies": []}]}}"#;
    let issue = r#"{"id": "a\u001b", "title": "A", "status": "open", "issue_type": "task"}"#;
    for (format, text) in [(&task_master::PLAN, task), (&beads::PLAN, issue)] {
        let (plan, problems) = read(format, text);
        assert!(plan.is_some(), "{problems:?}");
        let codes: Vec<&str> = problems.iter().map(|of| &*of.code).collect();
        assert_eq!(codes, ["CONTROL_IN_ID"], "{problems:?}");
    }
}

#[test]
fn a_list_that_cannot_be_right_is_not_run_and_says_why() {
    for (tasks, code) in [
        (
            r#"{"id": 1, "title": "a", "status": "pending", "dependencies": [2]}, {"id": 2, "title": "b", "status": "pending", "dependencies": [1]}"#,
            "CYCLE_DETECTED",
        ),
        (
            r#"{"id": 1, "title": "a", "status": "pending", "dependencies": [2]}, {"id": 2, "title": "b", "status": "pending", "subtasks": [{"id": 1, "title": "c", "status": "pending", "dependencies": ["1"]}, {"id": 2, "title": "d", "status": "pending", "dependencies": [7, "1.1"]}]}, {"id": "1.1", "title": "e", "status": "pending", "dependencies": [1]}"#,
            "CYCLE_DETECTED",
        ),
        (
            r#"{"id": 1, "title": "a", "status": "pending", "dependencies": []}, {"id": "1", "title": "b", "status": "pending"}"#,
            "DUPLICATE_ID",
        ),
    ] {
        for text in [
            format!("{{\"tasks\": [{tasks}]}}"),
            format!("{{\"master\": {{\"tasks\": [{tasks}]}}}}"),
        ] {
            let (plan, problems) = read(&task_master::PLAN, &text);
            assert!(plan.is_none(), "{text}");
            let codes: Vec<&str> = problems.iter().map(|one| &*one.code).collect();
            assert!(codes.contains(&code), "{text}: {codes:?}");
        }
    }
}

#[test]
fn a_subtask_may_not_wait_for_the_task_that_holds_it() {
    let text = r#"{"tasks": [{"id": 1, "title": "a", "status": "pending", "subtasks": [
        {"id": 5, "title": "b", "status": "pending", "dependencies": [1]}]}]}"#;
    let (plan, problems) = read(&task_master::PLAN, text);
    assert!(plan.is_some(), "{problems:?}");
    assert_eq!(problems[0].code, "MISSING_REFERENCE", "{problems:?}");
}

#[test]
fn a_tag_is_chosen_by_the_state_and_stays_that_of_the_run() {
    let mut desk = desk(&task_master::PLAN, TASK_MASTER);
    desk.show();
    assert_eq!(desk.text, TASK_MASTER);
    desk.replace(
        "\"title\": \"Old business\", \"status\": \"pending\"",
        "\"title\": \"Old business\", \"status\": \"done\"",
    );
    assert_eq!(desk.take_in(), []);
    desk.replace("\"tides\"", "\"coast\"");
    let text = desk.text.clone();
    let shown = ShownRun {
        file: "the file",
        tables: &desk.tables,
        run: RUN,
    };
    let found = desk
        .face
        .collect_edits(Some(&desk.base), &text, shown, desk.now);
    let problems = found.expect_err("its tag is gone");
    assert_eq!(problems[0].code, "MISSING_TAG", "{problems:?}");
}

#[test]
fn a_status_that_people_write_is_taken_and_piton_writes_its_own_over_no_other() {
    let mut desk = desk(&task_master::PLAN, TASK_MASTER);
    desk.replace(
        "\"title\": \"Draw a curve\", \"status\": \"pending\"",
        "\"title\": \"Draw a curve\", \"status\": \"done\"",
    );
    desk.replace(
        "\"title\": \"Print\", \"status\": \"pending\"",
        "\"title\": \"Print\", \"status\": \"cancelled\"",
    );
    desk.replace(
        "\"title\": \"Fax it\", \"status\": \"cancelled\"",
        "\"title\": \"Fax it\", \"status\": \"pending\"",
    );
    desk.take_in();
    assert_eq!(desk.left(), Vec::<String>::new());
    assert_eq!(desk.item("3").state, ItemState::Done);
    assert_eq!(desk.item("2/2.3").state, ItemState::Skipped);
    assert_eq!(desk.item("5").state, ItemState::Ready);
    let before = desk.text.clone();
    desk.show();
    assert_eq!(desk.text, before);
}

#[test]
fn a_task_that_people_add_becomes_an_item_with_its_subtasks() {
    let mut desk = desk(&task_master::PLAN, TASK_MASTER);
    desk.replace(
        "      {\"id\": 7,",
        "      {\"id\": 8, \"title\": \"Sell it\", \"status\": \"pending\", \"dependencies\": [7], \"subtasks\": [{\"id\": 1, \"title\": \"Ask\", \"status\": \"pending\"}]},\n      {\"id\": 7,",
    );
    desk.take_in();
    assert_eq!(desk.left(), Vec::<String>::new());
    assert_eq!(desk.item("8/8.1").state, ItemState::Pending);
    desk.start();
    while desk.tables.next_actionable_item(RUN).is_some() {
        desk.work();
    }
    assert_eq!(desk.item("8").state, ItemState::Done);
    let open = desk.text.matches("\"pending\"").count();
    // The other tag, and the part of what is deferred.
    assert_eq!(open, 2, "{}", desk.text);
}

#[test]
fn a_plan_that_people_add_to_a_roadmap_raises_no_question() {
    let mut desk = desk(&gsd::PLAN, GSD);
    desk.replace(
        "- [ ] 02-02-PLAN.md",
        "- [ ] 02-04-PLAN.md — Draw a curve\n- [ ] 02-02-PLAN.md",
    );
    desk.take_in();
    assert_eq!(desk.left(), Vec::<String>::new());
    assert_eq!(desk.item("02-04").state, ItemState::Pending);
}

#[test]
fn a_status_that_is_no_plain_word_in_its_line_is_named_and_left_alone() {
    let text = "development_status:\n  1-1-a: |\n    backlog\n  1-2-b: backlog\n  1-3-c: >-\n    backlog\n\n  1-4-d: \"back\\\n    log\"\n  1-5-e: 'backlog'\n  1-6-f:\n    state: backlog\n  1-7-g:\n  ? 1-8-h\n  1-9-i: optional\n";
    let (_, problems) = read(&bmad::PLAN, text);
    let mut named: Vec<&str> = Vec::new();
    for problem in &problems {
        if problem.code == "STATUS_NOT_WRITABLE" {
            named.push(problem.path.rsplit('.').next().unwrap_or_default());
        }
    }
    assert_eq!(named, ["1-1-a", "1-3-c", "1-4-d", "1-6-f", "1-8-h"]);
    let mut desk = desk(&bmad::PLAN, text);
    desk.start();
    while desk.tables.next_actionable_item(RUN).is_some() {
        desk.work();
    }
    let expected = text
        .replace("1-2-b: backlog", "1-2-b: done")
        .replace("'backlog'", "'done'")
        .replace("1-7-g:\n", "1-7-g: done\n");
    assert_eq!(desk.text, expected);
}

#[test]
fn what_a_person_put_off_meanwhile_is_not_overwritten() {
    let mut desk = desk(&task_master::PLAN, TASK_MASTER);
    desk.start();
    let begun = desk.begin();
    let title = desk.item(begun.0.as_str()).plan.prompt.clone();
    let title = title.and_then(|words| Some(words.lines().next()?.split_once(": ")?.1.to_owned()));
    let title = title.expect("a title");
    let of = format!("\"title\": \"{title}\", \"status\": \"pending\"");
    desk.replace(&of, &of.replace("pending", "deferred"));
    let put_off = desk.text.clone();
    desk.take_in_from_agent(begun.1);
    desk.end(&begun, Outcome::Completed);
    desk.show();
    assert_eq!(desk.text, put_off);
}

#[test]
fn an_issue_does_not_begin_before_what_blocks_it_is_closed() {
    let blocked = |id: &str, on: &str| {
        format!(
            "{{\"id\":\"{id}\",\"title\":\"t\",\"status\":\"open\",\"issue_type\":\"task\",\"dependencies\":[{{\"issue_id\":\"{id}\",\"depends_on_id\":\"{on}\",\"type\":\"blocks\"}}]}}\n"
        )
    };
    let other = |id: &str, kind: &str, status: &str| {
        format!(
            "{{\"id\":\"{id}\",\"title\":\"t\",\"status\":\"{status}\",\"issue_type\":\"{kind}\"}}\n"
        )
    };
    let text = [
        other("g", "gate", "open"),
        other("e", "epic", "open"),
        other("d", "task", "deferred"),
        other("h", "gate", "closed"),
        other("f", "task", "open"),
        blocked("1", "g"),
        blocked("2", "e"),
        blocked("3", "d"),
        blocked("4", "1"),
        blocked("5", "h"),
        blocked("6", "f"),
    ]
    .concat();
    let plan = read(&beads::PLAN, &text).0.expect("a plan");
    let open = plan.items.iter().filter(|item| !item.state.is_finished());
    let open: Vec<&str> = open.map(|item| item.id.as_str()).collect();
    assert_eq!(open, ["f", "5", "6"]);
    let (_, problems) = read(&beads::PLAN, &text);
    let named = problems.iter().filter(|one| one.code == "BLOCKED_ISSUE");
    assert_eq!(named.count(), 4, "{problems:?}");
    // It is begun as soon as the export says that the gate is closed.
    let mut desk = desk(&beads::PLAN, &text);
    desk.replace(&other("g", "gate", "open"), &other("g", "gate", "closed"));
    desk.take_in();
    assert_eq!(desk.item("1").state, ItemState::Ready);
    assert_eq!(desk.item("4").state, ItemState::Pending);
}

#[test]
fn a_wave_that_cannot_be_counted_on_is_none() {
    let text = "- [ ] 01-01-PLAN.md — Wave 18446744073709551615: a\n- [ ] 01-02-PLAN.md — b\n";
    let plan = read(&gsd::PLAN, text).0.expect("a plan");
    assert_eq!(plan.items[1].depends_on, [Node::from_text("01-01")]);
}

#[test]
fn the_head_of_a_plan_is_read_whatever_its_lines_end_in() {
    let head = "---\nwave: 2\nautonomous: false\n---\n\n<tasks>\n";
    let text = "- [ ] 01-01-PLAN.md — a\n- [ ] 01-02-PLAN.md — Wave 1: b\n";
    for head in [
        head.to_owned(),
        head.replace('\n', "\r\n"),
        format!("\u{feff}{head}"),
    ] {
        let beside = |path: &str| (path == "phases/*/01-01-PLAN.md").then(|| head.clone());
        let of = PlanContext {
            beside: FilesBeside(&beside),
            ..PlanContext::of_text()
        };
        let name = "list";
        let plan = (gsd::PLAN.read)(SourceText { name, text }, of).0;
        let plan = plan.expect("a plan");
        let last = &plan.items[1];
        assert_eq!(
            (last.id.as_str(), last.approval),
            ("01-01", true),
            "{head:?}"
        );
    }
}

#[test]
fn no_text_makes_a_reader_panic_or_a_file_change_twice() {
    let formats = [
        (&task_master::PLAN, TASK_MASTER),
        (&gsd::PLAN, GSD),
        (&bmad::PLAN, BMAD),
        (&beads::PLAN, BEADS),
    ];
    for (nth, (format, text)) in (62..).zip(formats) {
        let mut seed = salted(nth);
        for _ in 0..60 {
            let text = mutated(text, &mut seed);
            let of = PlanContext {
                run: RUN,
                ..PlanContext::of_text()
            };
            let name = "list";
            let plan = (format.read)(SourceText { name, text: &text }, of).0;
            let Some(plan) = plan.filter(|plan| !plan.items.is_empty()) else {
                continue;
            };
            let mut desk = Desk::of(plan, &text);
            desk.show();
            assert_eq!(desk.text, text, "nothing was done");
        }
    }
}

#[test]
fn a_text_of_another_kind_is_no_list_with_statuses() {
    for (format, text) in [
        (
            &task_master::PLAN,
            r#"{"tasks": [{"id": 1, "status": "done"}]}"#,
        ),
        (
            &task_master::PLAN,
            r#"{"tasks": [{"id": 1, "title": "a", "passes": false, "status": "x"}]}"#,
        ),
        (&task_master::PLAN, "[]"),
        (&task_master::PLAN, "{"),
        (&bmad::PLAN, "a: 1\n"),
        (
            &gsd::PLAN,
            "# Roadmap\n\n- [ ] **Phase 1: a** - b\n- [ ] 1-2 weeks\n",
        ),
    ] {
        assert!(read(format, text).0.is_none(), "{text}");
    }
}

#[test]
fn a_broken_entry_is_named_and_does_not_make_the_list_that_of_another_tool() {
    let tasks = r#"{"master": {"tasks": [
        {"id": 1, "title": "a", "status": "pending", "dependencies": []},
        {"title": "no id", "status": "pending"}]}}"#;
    let issues = "{\"_type\": \"memory\", \"text\": \"x\"}\n\
        {\"id\": \"a-1\", \"title\": \"A\", \"status\": \"open\", \"issue_type\": \"task\"}\n\
        {\"id\": \"a-2\", \"title\": \"B\", \"status\": \"open\"}\n";
    let broken = issues.replace("{\"_type\"", "<<<<<<< HEAD\n{\"_type\"");
    let codes = |format: &PlanFormat, text: &str| {
        let claim = (format.finding.claim)(&PlanText {
            source: SourceText { name: "list", text },
            ending: if text == tasks { "json" } else { "jsonl" },
        });
        assert_eq!(claim, PlanClaim::Plan, "{text}");
        let (plan, problems) = read(format, text);
        let codes: Vec<String> = problems.iter().map(|of| of.code.to_string()).collect();
        (plan.map_or(0, |plan| plan.items.len()), codes)
    };
    let (_, named) = codes(&task_master::PLAN, tasks);
    assert_eq!(
        named,
        ["MISSING_TAG", "MISSING_ID"],
        "the tag of state.json is another"
    );
    let (items, warned) = codes(&beads::PLAN, issues);
    assert_eq!(items, 2);
    assert_eq!(warned, ["NO_ISSUE"]);
    assert_eq!(
        codes(&beads::PLAN, &broken).1,
        ["ISSUE_PARSE_ERROR", "NO_ISSUE"]
    );
}
