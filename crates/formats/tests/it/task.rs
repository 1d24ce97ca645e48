//! The task file, seen from outside.

use piton_formats::problem::Problem;
use piton_formats::task::{SourceText, TaskFile, check, match_criteria, parse_task};

use crate::edits::set_ticked;

fn task(text: &str) -> TaskFile {
    parse_task(SourceText { name: "T.md", text }).0
}

#[track_caller]
fn ids(text: &str, expect: &[&str]) {
    let task = task(text);
    let ids: Vec<&str> = task.criteria.iter().map(|c| c.id.as_str()).collect();
    assert_eq!(ids, expect, "{text}");
}

fn codes(problems: &[Problem]) -> Vec<String> {
    problems
        .iter()
        .map(|problem| format!("{}:{} {}", problem.line, problem.column, problem.code))
        .collect()
}

const SPEC: &str = include_str!("../corpus/markdown/task_spec.md");
const WILD: &str = include_str!("../corpus/markdown/task_wild.md");
const CRLF: &str = include_str!("../corpus/markdown/task_crlf.md");

#[test]
fn case_26_every_box_form_of_the_wild_is_a_criterion() {
    let task = task(WILD);
    let rows: Vec<String> = task
        .criteria
        .iter()
        .map(|c| {
            let tick = if c.ticked { 'x' } else { ' ' };
            format!("{} [{tick}] {}: {} ({})", c.number, c.id, c.text, c.level)
        })
        .collect();
    insta::assert_snapshot!(rows.join("\n"), @r##"
    3 [ ] right-below-a-paragraph: right below a paragraph (0)
    2 [ ] k-01: K-01: Read the wind (0)
    13 [ ] k-01-qa: K-01-QA: Check `[ ]` the wind (0)
    7 [x] 7: Draw the line (0)
    5 [ ] fly: Fly (0)
    6 [x] higher: higher (1)
    14 [ ] lower: lower (1)
    1 [ ] land: Land (0)
    9 [ ] below-it: below it (0)
    10 [ ] c-ad8e62c0: 风筝 (0)
    11 [ ] fly-2: Fly (0)
    12 [ ] seen-by-who-wrote-it: seen by who wrote it (0)
    "##);
    assert_eq!(task.criteria[5].parent, Some(4));
    assert_eq!(task.title.as_deref(), Some("Kite planner"));
}

#[test]
fn case_26_what_is_code_comment_quote_or_table_is_no_criterion() {
    let task = task(SPEC);
    let texts: Vec<&str> = task.criteria.iter().map(|c| c.text.as_str()).collect();
    assert_eq!(
        texts,
        [
            "The harbour list loads",
            "A tide is computed for every hour of a day",
            "Errors are shown"
        ]
    );
    assert_eq!(task.criteria[1].group, Some(2));
    assert_eq!(task.criteria[1].section.as_deref(), Some("Criteria"));
    assert_eq!(task.criteria[1].line, 17);
}

#[test]
fn case_27_zero_criteria_is_not_complete() {
    for text in ["", "# Task\n\nDo it.\n", "---\ntask: x\n---\n"] {
        let (task, problems) = parse_task(SourceText { name: "T.md", text });
        assert_eq!(task.criteria, []);
        assert_eq!(codes(&problems), ["1:1 NO_CRITERIA"], "{text}");
    }
}

#[test]
fn case_28_a_box_in_prose_is_not_counted() {
    ids(
        "Change [ ] to [x].\n\n- change `[ ]` to `[x]`\n- see [ ]\n",
        &[],
    );
    ids("Change\n[ ] this\n", &[]);
    ids("`- [ ] a`\n", &[]);
    ids("---\nnote: |\n  - [ ] a\n---\n", &[]);
}

#[test]
fn case_34_a_crlf_file_stays_one() {
    let task = task(CRLF);
    assert_eq!(task.criteria.len(), 2);
    assert_eq!(task.criteria[0].text, "one");
    let ticked = set_ticked(CRLF, &task.criteria[0], true);
    assert_eq!(ticked, CRLF.replace("[ ] one", "[x] one"));
}

#[test]
fn front_matter_is_typed_and_foreign_keys_stay() {
    let front = task(SPEC).front.unwrap();
    assert_eq!(front.task.as_deref(), Some("Build the tide table service"));
    assert_eq!(front.test_command.as_deref(), Some("make check"));
    assert_eq!(front.browser_validation, Some(true));
    assert_eq!(front.base_url.as_deref(), Some("http://localhost:4000"));
    assert_eq!(front.max_iterations, Some(12));
    assert_eq!(front.other.len(), 1);
}

#[test]
fn a_wrong_type_is_told_with_its_place() {
    let text = "---\ntask: [a]\nmax_iterations: many\nmodel:\n---\n- [ ] a\n";
    let (task, problems) = parse_task(SourceText { name: "T.md", text });
    assert_eq!(codes(&problems), ["2:7 WRONG_TYPE", "3:17 WRONG_TYPE"]);
    assert_eq!(&text[problems[1].bytes.clone()], "many");
    assert_eq!(task.criteria.len(), 1);
}

#[test]
fn ids_survive_a_line_put_in_above() {
    let old = task("1. [ ] Read files\n2. [ ] Write files\n");
    let new = task("1. [ ] Find files\n2. [ ] Read files\n3. [ ] Write files\n");
    assert_eq!(old.criteria[0].id, new.criteria[1].id);
    assert_eq!(match_criteria(&old, &new), [None, Some(0), Some(1)]);
}

#[test]
fn an_id_comes_from_the_text_that_begins_with_one() {
    ids("- [ ] AC-3 - a\n- [ ] **T7**: b\n", &["ac-3", "t7"]);
    ids("- [ ] a\n- [ ] a\n- [ ] A!\n", &["a", "a-2", "a-3"]);
    ids("- [ ] Note: a\n", &["note-a"]);
    let long = format!("- [ ] {}\n", "long word ".repeat(20));
    assert!(task(&long).criteria[0].id.len() <= 40);
}

#[test]
fn a_number_that_is_written_once_is_the_number() {
    let numbers =
        |text: &str| -> Vec<u64> { task(text).criteria.iter().map(|c| c.number).collect() };
    assert_eq!(numbers("- [ ] **[4]** a\n- [ ] b\n"), [4, 2]);
    assert_eq!(numbers("1. [ ] a\n1. [ ] b\n"), [1, 2]);
    assert_eq!(numbers("2. [ ] a\n- [ ] b\n"), [2, 3]);
}

#[test]
fn a_criterion_whose_words_change_is_known_by_its_place() {
    let old = task("- [ ] a\n- [ ] Parse the whole file\n- [ ] c\n");
    let new = task("- [ ] a\n- [ ] Parse the whole stream\n- [ ] c\n");
    assert_eq!(match_criteria(&old, &new), [Some(0), Some(1), Some(2)]);
    let other = task("- [ ] a\n- [ ] Something else\n- [ ] c\n");
    assert_eq!(match_criteria(&old, &other), [Some(0), None, Some(2)]);
}

#[test]
fn ticking_changes_one_byte() {
    for text in [SPEC, WILD, CRLF] {
        for criterion in task(text).criteria {
            let other = set_ticked(text, &criterion, !criterion.ticked);
            let differ: Vec<usize> = (0..text.len())
                .filter(|at| text.as_bytes()[*at] != other.as_bytes()[*at])
                .collect();
            assert_eq!(other.len(), text.len());
            assert_eq!(differ, [criterion.tick.start]);
        }
    }
}

#[test]
fn the_letter_of_the_format_is_checked() {
    let strict = |text: &str| codes(&check(SourceText { name: "T.md", text }));
    assert_eq!(
        strict("---\ntask: a\ntest_command: b\n---\n1. [ ] a\n2. [x] b\n"),
        Vec::<String>::new()
    );
    assert_eq!(
        strict("- [ ] a\n1. [ ] b\n1. [ ] c\n4. [ ] d\n"),
        [
            "1:1 MISSING_FRONT_MATTER",
            "1:1 NOT_NUMBERED",
            "3:1 DUPLICATE_NUMBER",
            "4:1 NOT_SEQUENTIAL"
        ]
    );
    let long = format!("---\ntask: {}\n---\n", "x".repeat(101));
    assert_eq!(
        strict(&long),
        ["1:1 NO_CRITERIA", "2:1 MISSING_KEY", "2:1 TASK_LENGTH"]
    );
    assert_eq!(
        strict("---\ntask: 5\ntest_command: b\n---\n1. [ ] a\n"),
        ["2:7 WRONG_TYPE"]
    );
}
