//! What the report of adoption counts, against a count by hand.

use piton_formats::adoption::{Adoption, CountedKind};
use piton_formats::format::{Grade, format_named};
use piton_formats::problem::SourceText;

fn adoption(format: &str, text: &str) -> Adoption {
    let format = format_named(format).expect("a format");
    format.adoption(SourceText { name: "f", text })
}

/// `WHAT TAKEN/LEFT: LINE TEXT -> NEAREST, …` of each kind of thing.
fn told(format: &str, text: &str) -> Vec<String> {
    let counts = adoption(format, text).counts;
    let line = |count: &piton_formats::adoption::AdoptionCount| {
        let first = count.first.iter().map(|left| {
            let nearest = left.nearest.map(|nearest| format!(" -> {nearest}"));
            format!("{} {}{}", left.line, left.text, nearest.unwrap_or_default())
        });
        let first: Vec<String> = first.collect();
        let what = count.what.noun(2);
        let first = first.join(", ");
        let line = format!("{what} {}/{}: {first}", count.taken, count.left);
        line.trim_end_matches([':', ' ']).to_owned()
    };
    counts.iter().map(line).collect()
}

#[test]
fn ticked_boxes_that_nothing_took_are_counted() {
    let text = "# Progress\n\n## Phase 1\n\n- [x] Keel\n- [X] Frames\n- [ ] Planks\n\n```\n- [x] shown\n```\n\n\
                ## Session 1 (2025-03-01)\n\n### Completed\n- [x] Mast\n  - [x] and boom\n\n### Notes\n1. [x] Sail\n2. [x] Oars\n";
    assert_eq!(
        told("ralph-progress", text),
        [
            "entries 2/0",
            "headings 3/2: 3 ## Phase 1, 19 ### Notes",
            "ticked boxes 1/5: 5 - [x] Keel, 6 - [X] Frames, 17 - [x] and boom",
        ]
    );
    let boxes = adoption("ralph-progress", text);
    let boxes = boxes
        .counts
        .iter()
        .find(|count| count.what == CountedKind::TickedBoxes);
    assert!(boxes.is_some_and(|count| count.hint.is_some()));
}

#[test]
fn a_loop_is_taken_whatever_stands_above_it() {
    let text = "# Progress\n\n## Session History\n\n### 2025-04-05 08:00:00\n**Session 1 started** (model: m)\n\n\
                ### 2025-04-05 09:00:00\nwords\n";
    assert_eq!(
        told("ralph-progress", text),
        ["entries 1/0", "headings 3/1: 8 ### 2025-04-05 09:00:00"]
    );
}

#[test]
fn rules_are_counted_with_what_could_not_be_read() {
    let text =
        "# Guardrails\n\n### G1: Look\n- **Fix**: b\n\n---\n\n## More\n\n- One\n- Two\n\nThree.\n";
    assert_eq!(told("ralph-guardrails", text), ["rules 3/1: 13 Three."]);
}

#[test]
fn a_rule_that_another_one_of_its_name_displaces_is_counted_as_left() {
    let text = "# G\n### Sign: Twice\n- **Trigger**: a\n- **Instruction**: one\n\
                ### Sign: Twice\n- **Trigger**: b\n- **Instruction**: two\n";
    assert_eq!(
        told("ralph-guardrails", text),
        ["rules 1/1: 5 ### Sign: Twice"]
    );
    let nameless = "# G\n## Sign: \n- **Trigger**: a\n- **Instruction**: one\n\
                    ## Sign: One\n- **Trigger**: b\n- **Instruction**: two\n";
    assert_eq!(told("ralph-guardrails", nameless), ["rules 1/1: 2 ## Sign"]);
    let same = "# Rules\n\n- Look first\n- Look first\n";
    assert_eq!(told("ralph-guardrails", same), ["rules 1/0"]);
}

#[test]
fn keys_that_nothing_reads_are_named_with_the_nearest() {
    let list = "{\"features\": [\n  {\"id\": \"a\", \"verify\": \"make\", \"passes\": false},\n  {\"id\": \"b\", \"colour\": 1}\n]}\n";
    assert_eq!(
        told("prd-features", list),
        [
            "entries 2/0",
            "keys 4/2: 2 verify -> verification, 3 colour"
        ]
    );
    let task = "---\ntask: a\ntest_cmd: make\nbrowser_url: x\n---\n\n- [x] one\n- [ ] two\n";
    assert_eq!(
        told("task-file", task),
        [
            "entries 2/0",
            "ticked boxes 1/0",
            "keys 2/1: 3 test_cmd -> test_command"
        ]
    );
}

#[test]
fn an_unknown_key_is_a_warning_in_each_format_with_a_table() {
    for (format, text, line, nearest) in [
        (
            "prd-user-stories",
            "{\"branchName\": \"b\",\n \"verify\": [], \"userStories\": []}",
            2,
            "verification",
        ),
        (
            "prd-user-stories",
            "[{\"id\": 1, \"passes\": true,\n \"acceptance\": []}]",
            2,
            "acceptanceCriteria",
        ),
        (
            "task-file",
            "---\ntask: a\nverify: make\nmodle: x\n---\n- [ ] a\n",
            4,
            "model",
        ),
        (
            "sprint-progress",
            "sprint-id: a\nstatus: not-started\nphases: []\nstat: {}\n",
            4,
            "stats",
        ),
        (
            "sprint",
            "workflow: w\nworktrees: {enabled: true}\n",
            2,
            "worktree",
        ),
    ] {
        let format = format_named(format).expect("a format");
        let problems = format.check(SourceText { name: "f", text }, Grade::Tolerant);
        let found = problems
            .iter()
            .find(|problem| problem.code == "UNKNOWN_KEY" && problem.line == line);
        let found = found.unwrap_or_else(|| panic!("{}: {problems:#?}", format.name));
        assert!(
            found.message.ends_with(&format!("; `{nearest}` is")),
            "{}",
            found.message
        );
        assert!(!found.is_error());
    }
}

#[test]
fn an_unresolved_merge_is_the_one_problem_of_a_file() {
    let merge = "<<<<<<< HEAD\n- [x] a\n=======\n- [ ] a\n>>>>>>> feature\n";
    let yaml = "sprint-id: a\n<<<<<<< HEAD\nstatus: completed\n=======\nstatus: paused\n>>>>>>> b\nphases: []\n";
    let json = "{\n<<<<<<< HEAD\n\"a\": 1\n=======\n\"a\": 2\n>>>>>>> b\n}\n";
    for (format, text, line) in [
        ("task-file", merge, 1),
        ("task-file", &*format!("---\ntask: a\n{merge}---\n"), 3),
        ("ralph-progress", merge, 1),
        ("ralph-guardrails", merge, 1),
        ("sprint-progress", yaml, 2),
        ("sprint", yaml, 2),
        ("prd-features", json, 2),
        ("ralph-json", json, 2),
        ("agent-os", json, 2),
        ("sdlc", json, 2),
    ] {
        let known = format_named(format).expect("a format");
        for grade in [Grade::Tolerant, Grade::Strict] {
            let problems = known.check(SourceText { name: "f", text }, grade);
            let [problem] = problems.as_slice() else {
                panic!("{format}: {problems:#?}");
            };
            assert_eq!(
                (&*problem.code, problem.line),
                ("UNRESOLVED_MERGE", line),
                "{format}"
            );
            assert!(problem.is_error());
        }
        assert_eq!(adoption(format, text), Adoption::default());
    }
}
