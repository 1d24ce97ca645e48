//! Checklists of other tools, seen from outside: what their boxes mean, what waits for
//! what, and that only marks change in them.

use std::collections::BTreeMap;

use piton_core::plan::Plan;
use piton_core::{ItemState, RunId};
use piton_formats::format::{RecognisedFile, recognise_file};
use piton_formats::problem::SourceText;
use piton_formats::task::{Dialect, parse_task, plan_of_task};

const SPEC_KIT: &str = include_str!("../corpus/checklists/spec_kit.md");
const OPENSPEC: &str = include_str!("../corpus/checklists/openspec.md");
const KIRO: &str = include_str!("../corpus/checklists/kiro.md");
const CONDUCTOR: &str = include_str!("../corpus/checklists/conductor.md");

fn plan(text: &str) -> Plan {
    let (task, _) = parse_task(SourceText { name: "t.md", text });
    plan_of_task(&task, RunId::PROJECT, "t", "t.md")
}

/// Each item on a line: its node, its state, what it waits for, what it touches.
fn rows(text: &str) -> String {
    let items = plan(text).items.into_iter().map(|item| {
        let waits: Vec<String> = item.depends_on.iter().map(ToString::to_string).collect();
        let waits = match waits.is_empty() {
            true => String::new(),
            false => format!(" after {}", waits.join(" ")),
        };
        let scope = match item.scope.is_empty() {
            true => String::new(),
            false => format!(" touches {}", item.scope.0.join(" ")),
        };
        let approval = if item.approval {
            " for a person to see"
        } else {
            ""
        };
        format!("{} {:?}{waits}{scope}{approval}", item.node, item.state)
    });
    items.collect::<Vec<_>>().join("\n")
}

#[test]
fn tasks_of_spec_kit_wait_for_their_phase_and_for_all_that_are_not_parallel() {
    insta::assert_snapshot!(rows(SPEC_KIT));
}

#[test]
fn tasks_of_openspec_are_worked_on_one_at_a_time() {
    insta::assert_snapshot!(rows(OPENSPEC));
}

#[test]
fn optional_tasks_of_kiro_are_left_out() {
    insta::assert_snapshot!(rows(KIRO));
}

#[test]
fn tasks_of_conductor_are_done_with_their_parts() {
    insta::assert_snapshot!(rows(CONDUCTOR));
}

#[test]
fn a_checklist_is_known_by_what_stands_in_it() {
    for (text, dialect, name) in [
        (SPEC_KIT, Dialect::SpecKit, "spec-kit-tasks"),
        (OPENSPEC, Dialect::OpenSpec, "openspec-tasks"),
        (KIRO, Dialect::Kiro, "kiro-tasks"),
    ] {
        let source = SourceText { name: "", text };
        assert_eq!(parse_task(source).0.dialect, dialect);
        let Ok(RecognisedFile::Format(format)) = recognise_file("x/tasks.md", text) else {
            panic!("{name} is not recognised");
        };
        assert_eq!(format.name, name);
    }
    let source = SourceText {
        name: "",
        text: CONDUCTOR,
    };
    assert_eq!(parse_task(source).0.dialect, Dialect::Conductor);
    for plain in [
        "- [ ] T1: first\n- [ ] T2: second\n",
        "1. [ ] first\n2. [ ] second\n",
        "# Release 1\n\n- [ ] 2 retries are made\n- [ ] 1.1 is the version\n- [ ] docs\n",
        "- [ ] Task list is shown\n- [ ] it scrolls\n",
        "",
    ] {
        let (task, _) = parse_task(SourceText {
            name: "",
            text: plain,
        });
        assert_eq!(task.dialect, Dialect::Plain, "{plain}");
    }
}

#[test]
fn a_mark_is_one_known_character_and_an_unknown_one_is_open_and_told() {
    for (line, ticked, unknown) in [
        ("- [ ] a", false, None),
        ("- [x] a", true, None),
        ("* [X] a", true, None),
        ("+ [-] a", false, None),
        ("1. [~] a", false, None),
        ("1) [/] a", false, Some('/')),
        ("- [?] a", false, Some('?')),
        ("- [>] a", false, Some('>')),
        ("- [v] a", false, Some('v')),
        ("- [✓] a", false, Some('✓')),
        ("- [完] a", false, Some('完')),
        ("- [ ]* a", false, None),
        ("- [x]* a", true, None),
    ] {
        let (task, problems) = parse_task(SourceText {
            name: "t.md",
            text: line,
        });
        let [one] = task.criteria.as_slice() else {
            panic!("{line} is no box: {:?}", task.criteria);
        };
        assert_eq!(
            (one.ticked, one.unknown_mark, one.text.as_str()),
            (ticked, unknown, "a"),
            "{line}"
        );
        let told = problems.iter().any(|one| one.code == "UNKNOWN_MARK");
        assert_eq!(told, unknown.is_some(), "{line}");
    }
    for line in [
        "- [P] tasks = different files",
        "- [1] the first source",
        "- [US1] a story",
        "- [a](link.md)",
        "- []",
        "- [] a",
        "- [  ] a",
        "- [ ]a",
        "- [x]: a",
        "[ ] a",
    ] {
        let (task, _) = parse_task(SourceText {
            name: "t.md",
            text: line,
        });
        assert_eq!(task.criteria.len(), 0, "{line}");
    }
}

/// Boxes that an agent works on, counted without any of piton's readers.
fn count_open(text: &str) -> usize {
    let mut fenced = false;
    let lines = text.lines().filter(|line| {
        fenced ^= line.trim_start().starts_with("```");
        !fenced
    });
    let is_open = |line: &&str| {
        let marks = ["[ ]", "[-]", "[~]", "[?]"];
        let words = line.trim_start().trim_start_matches(|c: char| {
            c.is_ascii_digit() || matches!(c, '-' | '*' | '+' | '.' | ')' | ' ')
        });
        marks.iter().any(|mark| {
            let rest = words.strip_prefix(mark);
            rest.is_some_and(|rest| rest.starts_with(' '))
        })
    };
    lines.filter(is_open).count()
}

#[test]
fn open_items_agree_with_a_plain_count_of_boxes() {
    // In Kiro's and conductor's lists some boxes hold others, or are a part of what is
    // optional.
    for (text, holders) in [(SPEC_KIT, 0), (OPENSPEC, 0), (KIRO, 3), (CONDUCTOR, 1)] {
        let items = plan(text).items;
        let open = items
            .iter()
            .filter(|item| item.prompt.is_some() && !item.state.is_finished());
        assert_eq!(open.count() + holders, count_open(text), "{text}");
    }
}

#[test]
fn ids_are_the_lists_own() {
    let ids = |text| -> Vec<String> {
        let items = plan(text).items.into_iter();
        items.map(|item| item.id).collect()
    };
    assert_eq!(ids(SPEC_KIT)[5], "T005a");
    assert_eq!(ids(OPENSPEC), ["1.1", "1.2", "1.3", "2.1", "2.2", "2.10"]);
    assert_eq!(ids(KIRO)[..4], ["1", "2", "2.1", "2.2"]);
}

#[test]
fn no_item_is_in_a_state_that_its_mark_does_not_say() {
    for text in [SPEC_KIT, OPENSPEC, KIRO, CONDUCTOR] {
        let (task, _) = parse_task(SourceText { name: "", text });
        let states: BTreeMap<String, ItemState> = plan(text)
            .items
            .into_iter()
            .filter(|item| item.prompt.is_some())
            .map(|item| (item.node.to_string(), item.state))
            .collect();
        let done = states
            .values()
            .filter(|state| **state == ItemState::Done)
            .count();
        let holds = |at: usize| task.criteria.iter().any(|one| one.parent == Some(at));
        let ticked = task.criteria.iter().enumerate();
        let ticked = ticked.filter(|(at, one)| one.ticked && !holds(*at)).count();
        assert_eq!(done, ticked);
    }
}

#[test]
fn a_box_without_words_is_no_item() {
    let text = "# Tasks: X\n\n- [ ]\n- [ ] T001 One\n- [ ]   \n  - [ ] T002 Two\n- [x]\n";
    let items: Vec<String> = plan(text).items.into_iter().map(|item| item.id).collect();
    assert_eq!(items.len(), 2, "{items:?}");
    let (_, problems) = parse_task(SourceText { name: "t.md", text });
    let named = problems.iter().filter(|one| one.code == "EMPTY_CRITERION");
    assert_eq!(named.count(), 3, "{problems:?}");
}

#[test]
fn emphasis_changes_nothing_of_what_a_list_means() {
    let bold = |text: &str, ids: &[&str]| {
        let mut text = text.to_owned();
        for id in ids {
            text = text.replacen(&format!("] {id}"), &format!("] **{id}**"), 1);
        }
        text
    };
    let of_spec_kit = [
        "T001", "T002", "T003", "T004", "T005 ", "T005a", "T006", "T007", "T008", "T009", "T010",
    ];
    for (text, ids) in [
        (SPEC_KIT, &of_spec_kit[..]),
        (OPENSPEC, &["1.1", "1.2", "1.3", "2.1", "2.2", "2.10"]),
        (CONDUCTOR, &["Task:"; 9]),
    ] {
        let written = bold(text, ids);
        assert_ne!(written, text);
        let without_words = |text: &str| -> Vec<String> {
            let items = plan(text).items.into_iter();
            let about = items.map(|item| {
                (
                    item.id,
                    item.state,
                    item.depends_on.len(),
                    item.approval,
                    item.scope,
                )
            });
            about.map(|about| format!("{about:?}")).collect()
        };
        assert_eq!(without_words(&written), without_words(text), "{written}");
    }
}

#[test]
fn a_mark_of_parallel_work_may_stand_behind_another_label() {
    let text = "# Tasks: X\n\n- [ ] T001 [US1] [P] One\n- [ ] T002 [P] [US1] Two\n- [ ] T003 [US1] [Please] Three\n";
    let items = plan(text).items;
    let waits: Vec<usize> = items.iter().map(|item| item.depends_on.len()).collect();
    assert_eq!(waits, [0, 0, 2]);
}

#[test]
fn what_a_person_is_to_verify_is_theirs_in_each_of_its_parts() {
    let text = "# Plan: X\n\n- [x] Task: One\n- [ ] Task: Conductor - User Manual Verification 'Reader'\n    - [ ] Print it\n    - [ ] Look at it\n";
    let items = plan(text).items;
    let asked: Vec<bool> = items.iter().map(|item| item.approval).collect();
    assert_eq!(asked, [false, false, true, true]);
}
