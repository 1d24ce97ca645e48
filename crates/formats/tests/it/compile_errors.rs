//! Every error code, where it points, and that it comes alone.

use crate::shelf::{Shelf, compile_on, lines};
use piton_formats::problem::Problem;

const GOOD: &str = "name: G\nphases:\n  - id: do\n    prompt: go\n";
const ITEMS: &str = "workflow: main\ncollections:\n  step:\n    - prompt: first\n";

#[track_caller]
fn check(shelf: &Shelf, sprint: &str, expect: &str) {
    let compiled = compile_on(shelf, sprint, false);
    let errors: Vec<&Problem> = compiled.problems.iter().filter(|p| p.is_error()).collect();
    assert_eq!(lines(errors.iter().copied()), expect);
    assert!(compiled.progress.is_none());
    for problem in &compiled.problems {
        assert!(
            !problem.message.is_empty() && !problem.hint.is_empty(),
            "{problem:?}"
        );
        let words = problem.hint.to_lowercase();
        for word in ["delete", "reset", "force"] {
            assert!(!words.contains(word), "{problem:?}");
        }
    }
}

/// A mistake in the sprint.
#[track_caller]
fn sprint(text: &str, expect: &str) {
    check(
        &Shelf::new([("main.yaml", GOOD), ("good.yaml", GOOD)]),
        text,
        expect,
    );
}

/// A mistake in a phase of the main workflow, whose first line is line 3.
#[track_caller]
fn phase(text: &str, expect: &str) {
    let workflow = format!("name: W\nphases:\n{text}");
    check(
        &Shelf::new([("main.yaml", &workflow), ("good.yaml", GOOD)]),
        ITEMS,
        expect,
    );
}

/// A mistake in the main workflow as a whole.
#[track_caller]
fn workflow(text: &str, expect: &str) {
    check(
        &Shelf::new([("main.yaml", text), ("good.yaml", GOOD)]),
        ITEMS,
        expect,
    );
}

/// A mistake in the second of two items.
#[track_caller]
fn item(text: &str, expect: &str) {
    let text = format!("workflow: main\ncollections:\n  step:\n    - {{prompt: a, id: a}}\n{text}");
    sprint(&text, expect);
}

/// A mistake in `worktree` of the sprint.
#[track_caller]
fn worktree(text: &str, expect: &str) {
    sprint(&format!("{ITEMS}worktree:{text}\n"), expect);
}

#[test]
fn a_sprint_that_is_not_yaml() {
    sprint("workflow: [open\n", "SPRINT_LOAD_ERROR SPRINT.yaml:1:11");
    sprint(
        "workflow: main\nworkflow: main\n",
        "SPRINT_LOAD_ERROR SPRINT.yaml:2:1",
    );
    sprint(
        "workflow: main\ncollections:\n\tstep:\n",
        "SPRINT_LOAD_ERROR SPRINT.yaml:3:1",
    );
    sprint(
        "workflow: main\nname: a: b\n",
        "SPRINT_LOAD_ERROR SPRINT.yaml:2:8",
    );
    sprint(
        "workflow: main\n---\nmore: 1\n",
        "SPRINT_LOAD_ERROR SPRINT.yaml:2:1",
    );
    sprint(
        "workflow: !secret main\n",
        "SPRINT_LOAD_ERROR SPRINT.yaml:1:19",
    );
}

#[test]
fn a_sprint_that_is_no_mapping() {
    sprint("", "INVALID_SPRINT SPRINT.yaml:1:1");
    sprint("just text\n", "INVALID_SPRINT SPRINT.yaml:1:1");
}

#[test]
fn a_sprint_without_what_it_needs() {
    sprint(
        "collections:\n  step:\n    - prompt: a\n",
        "MISSING_WORKFLOW SPRINT.yaml:1:1 workflow",
    );
    sprint(
        "workflow: 5\ncollections:\n  step:\n    - prompt: a\n",
        "MISSING_WORKFLOW SPRINT.yaml:1:11 workflow",
    );
    sprint(
        "workflow: main\n",
        "MISSING_COLLECTIONS SPRINT.yaml:1:1 collections",
    );
    sprint(
        "workflow: main\nsteps:\n  - prompt: a\n",
        "MISSING_COLLECTIONS SPRINT.yaml:2:1 collections",
    );
    sprint(
        "workflow: main\ncollections: {}\n",
        "EMPTY_COLLECTIONS SPRINT.yaml:2:14 collections",
    );
    sprint(
        "workflow: main\ncollections: []\n",
        "EMPTY_COLLECTIONS SPRINT.yaml:2:14 collections",
    );
    sprint(
        "workflow: main\ncollections:\n",
        "INVALID_COLLECTIONS SPRINT.yaml:2:1 collections",
    );
    sprint(
        "workflow: main\ncollections:\n  step: three\n",
        "INVALID_COLLECTION SPRINT.yaml:3:9 collections.step",
    );
}

#[test]
fn an_old_sprint_is_told_how_to_become_a_new_one() {
    let shelf = Shelf::new([("main.yaml", GOOD)]);
    let compiled = compile_on(&shelf, "workflow: main\nsteps:\n  - prompt: a\n", false);
    assert!(compiled.problems[0].hint.contains("older form"));
}

#[test]
fn what_the_original_tells_is_told_beside_missing_collections() {
    sprint(
        "workflow: ghost\n",
        "MISSING_COLLECTIONS SPRINT.yaml:1:1 collections\n\
         MAIN_WORKFLOW_NOT_FOUND SPRINT.yaml:1:11 workflow",
    );
}

#[test]
fn an_item_that_cannot_be_used() {
    item(
        "    - just text\n",
        "INVALID_COLLECTION_ITEM SPRINT.yaml:5:7 collections.step[1]",
    );
    item(
        "    - id: x\n",
        "MISSING_ITEM_PROMPT SPRINT.yaml:5:7 collections.step[1].prompt",
    );
    item(
        "    - prompt: ''\n",
        "MISSING_ITEM_PROMPT SPRINT.yaml:5:15 collections.step[1].prompt",
    );
    item(
        "    - prompt: 5\n",
        "MISSING_ITEM_PROMPT SPRINT.yaml:5:15 collections.step[1].prompt",
    );
    item(
        "    - prompt: {{x}}\n",
        "MISSING_ITEM_PROMPT SPRINT.yaml:5:15 collections.step[1].prompt",
    );
    item(
        "    - prompt: '  '\n",
        "EMPTY_ITEM_PROMPT SPRINT.yaml:5:15 collections.step[1].prompt",
    );
    item(
        "    - {prompt: b, workflow: 5}\n",
        "INVALID_ITEM_WORKFLOW SPRINT.yaml:5:29 collections.step[1].workflow",
    );
    item(
        "    - {prompt: b, model: big}\n",
        "INVALID_MODEL SPRINT.yaml:5:26 collections.step[1].model",
    );
    sprint(
        &format!("model: big\n{ITEMS}"),
        "INVALID_MODEL SPRINT.yaml:1:8 model",
    );
}

#[test]
fn dependencies_that_cannot_be_met() {
    item(
        "    - {prompt: b, depends-on: a}\n",
        "INVALID_DEPENDS_ON SPRINT.yaml:5:31 collections.step[1].depends-on",
    );
    item(
        "    - {prompt: b, depends-on: [7]}\n",
        "INVALID_DEPENDS_ON_ELEMENT SPRINT.yaml:5:32 collections.step[1].depends-on[0]\n\
         DEPENDENCY_NOT_FOUND SPRINT.yaml:5:32 collections.step[1].depends-on",
    );
    item(
        "    - {prompt: b, depends-on: ['']}\n",
        "EMPTY_DEPENDS_ON_ELEMENT SPRINT.yaml:5:32 collections.step[1].depends-on[0]\n\
         DEPENDENCY_NOT_FOUND SPRINT.yaml:5:32 collections.step[1].depends-on",
    );
    item(
        "    - {prompt: b, depends-on: [zzz]}\n",
        "DEPENDENCY_NOT_FOUND SPRINT.yaml:5:32 collections.step[1].depends-on",
    );
    item(
        "    - {prompt: b, id: b, depends-on: [a, b]}\n",
        "DEPENDENCY_SELF_REFERENCE SPRINT.yaml:5:42 collections.step[1].depends-on",
    );
    item(
        "    - {prompt: b, id: b, depends-on: [c]}\n    - {prompt: c, id: c, depends-on: [b]}\n",
        "DEPENDENCY_CIRCULAR SPRINT.yaml:6:38 collections.step[2].depends-on",
    );
    // A number and its digits are two ids.
    item(
        "    - {prompt: b, id: 7}\n    - {prompt: c, depends-on: ['7']}\n",
        "DEPENDENCY_NOT_FOUND SPRINT.yaml:6:32 collections.step[2].depends-on",
    );
}

#[test]
fn a_workflow_that_cannot_be_found_or_read() {
    check(
        &Shelf::default(),
        ITEMS,
        "MAIN_WORKFLOW_NOT_FOUND SPRINT.yaml:1:11 workflow",
    );
    workflow("name: [x\n", "WORKFLOW_PARSE_ERROR main.yaml:1:7");
    workflow(
        "name: a\nname: b\nphases: []\nphases: []\n",
        "WORKFLOW_PARSE_ERROR main.yaml:2:1\nWORKFLOW_PARSE_ERROR main.yaml:4:1",
    );
    phase(
        "  - {id: a, workflow: ghost}\n",
        "WORKFLOW_NOT_FOUND main.yaml:3:23 phases[0].workflow",
    );
    phase(
        "  - {id: a, for-each: step, workflow: ghost}\n",
        "WORKFLOW_NOT_FOUND main.yaml:3:39 phases[0].workflow",
    );
}

#[test]
fn the_workflow_of_an_item_is_looked_for_where_the_item_is_used() {
    let unused = "workflow: main\ncollections:\n  step:\n    - {prompt: a, workflow: ghost}\n";
    let shelf = Shelf::new([("main.yaml", GOOD)]);
    assert!(compile_on(&shelf, unused, false).progress.is_some());
    let shelf = Shelf::new([(
        "main.yaml",
        "name: W\nphases:\n  - {id: all, for-each: step}\n",
    )]);
    check(
        &shelf,
        "workflow: main\ncollections:\n  step:\n    - {prompt: a, workflow: ghost}\n",
        "ITEM_WORKFLOW_NOT_FOUND SPRINT.yaml:4:29 collections.step[0].workflow",
    );
}

#[test]
fn a_workflow_that_is_not_one() {
    workflow("", "INVALID_WORKFLOW main.yaml:1:1");
    workflow("text\n", "INVALID_WORKFLOW main.yaml:1:1");
    workflow(
        "phases:\n  - {id: a, prompt: b}\n",
        "MISSING_WORKFLOW_NAME main.yaml:1:1 name",
    );
    workflow("name: W\n", "MISSING_PHASES main.yaml:1:1 phases");
    workflow(
        "name: W\nphases: {}\n",
        "MISSING_PHASES main.yaml:2:9 phases",
    );
    workflow(
        "name: W\nphases: []\n",
        "EMPTY_WORKFLOW main.yaml:2:9 phases",
    );
    workflow(
        "name: W\nmodel: 3\nphases:\n  - {id: a, prompt: b}\n",
        "INVALID_MODEL main.yaml:2:8 model",
    );
}

#[test]
fn a_phase_that_cannot_be_used() {
    phase("  - text\n", "INVALID_PHASE main.yaml:3:5 phases[0]");
    phase(
        "  - prompt: x\n",
        "MISSING_PHASE_ID main.yaml:3:5 phases[0].id",
    );
    phase(
        "  - {id: 2026-01-01, prompt: x}\n",
        "MISSING_PHASE_ID main.yaml:3:10 phases[0].id",
    );
    phase(
        "  - {id: a, prompt: x}\n  - {id: a, prompt: y}\n",
        "DUPLICATE_PHASE_ID main.yaml:4:10 phases[1].id",
    );
    phase(
        "  - {id: a, prompt: x, workflow: good}\n",
        "PROMPT_WORKFLOW_MUTUAL_EXCLUSIVE main.yaml:3:34 phases[0]",
    );
    phase(
        "  - id: a\n",
        "PHASE_MISSING_ACTION main.yaml:3:5 phases[0]",
    );
    phase(
        "  - id: a\n    prompt: {{item.prompt}}\n",
        "PHASE_MISSING_ACTION main.yaml:4:13 phases[0]",
    );
    phase(
        "  - {id: a, prompt: x, model: big}\n",
        "INVALID_MODEL main.yaml:3:31 phases[0].model",
    );
    phase(
        "  - {id: a, prompt: x, parallel: 'yes'}\n",
        "INVALID_PARALLEL main.yaml:3:34 phases[0].parallel",
    );
    phase(
        "  - {id: a, prompt: x, wait-for-parallel: 1}\n",
        "INVALID_WAIT_FOR_PARALLEL main.yaml:3:43 phases[0].wait-for-parallel",
    );
    phase(
        "  - {id: a, prompt: x, break: on}\n",
        "INVALID_BREAK main.yaml:3:31 phases[0].break",
    );
}

#[test]
fn what_proof_is_worth_in_words_that_are_none() {
    phase(
        "  - {id: a, prompt: x, claims: {word: maybe}}\n",
        "INVALID_VALUE main.yaml:3:39 phases[0].claims.word",
    );
    phase(
        "  - {id: a, prompt: x, claims: note}\n",
        "WRONG_TYPE main.yaml:3:32 phases[0].claims",
    );
}

#[test]
fn a_loop_over_nothing() {
    phase(
        "  - {id: a, for-each: 3}\n",
        "PHASE_MISSING_ACTION main.yaml:3:6 phases[0]\nINVALID_FOREACH main.yaml:3:23 phases[0].for-each",
    );
    phase(
        "  - {id: a, for-each: '', workflow: good}\n",
        "EMPTY_FOREACH main.yaml:3:23 phases[0].for-each",
    );
    phase(
        "  - {id: a, for-each: step, collection: 3}\n",
        "INVALID_COLLECTION_REF main.yaml:3:41 phases[0].collection",
    );
    phase(
        "  - {id: a, for-each: step, collection: ''}\n",
        "EMPTY_COLLECTION_REF main.yaml:3:41 phases[0].collection",
    );
    phase(
        "  - {id: a, for-each: step, parallel: true}\n",
        "PARALLEL_FOREACH_WARNING main.yaml:3:39 phases[0]",
    );
    phase(
        "  - {id: a, for-each: bug}\n",
        "COLLECTION_NOT_FOUND SPRINT.yaml:3:3 collections.bug",
    );
}

#[test]
fn a_gate_that_cannot_be_used() {
    const ON_FAIL: &str = "on-fail: {prompt: y}";
    let gate = |text: &str| format!("  - id: a\n    prompt: x\n    gate: {text}\n");
    phase(
        &gate("yes please"),
        "INVALID_GATE main.yaml:5:11 phases[0].gate",
    );
    phase(&gate(""), "INVALID_GATE main.yaml:5:5 phases[0].gate");
    phase(
        &gate(&format!("{{{ON_FAIL}}}")),
        "GATE_MISSING_SCRIPT main.yaml:5:12 phases[0].gate.script",
    );
    phase(
        &gate(&format!("{{script: ' ', {ON_FAIL}}}")),
        "GATE_EMPTY_SCRIPT main.yaml:5:20 phases[0].gate.script",
    );
    phase(
        &gate("{script: t}"),
        "GATE_MISSING_ON_FAIL main.yaml:5:12 phases[0].gate.on-fail",
    );
    phase(
        &gate("{script: t, on-fail: {}}"),
        "GATE_MISSING_ON_FAIL_PROMPT main.yaml:5:32 phases[0].gate.on-fail.prompt",
    );
    phase(
        &gate("{script: t, on-fail: {prompt: ''}}"),
        "GATE_EMPTY_ON_FAIL_PROMPT main.yaml:5:41 phases[0].gate.on-fail.prompt",
    );
    for wrong in ["0", "-1", "1.5", "'3'", "null"] {
        let text = gate(&format!(
            "{{script: t, on-fail: {{prompt: y, max-retries: {wrong}}}}}"
        ));
        let column = if wrong == "null" { 44 } else { 57 };
        phase(
            &text,
            &format!(
                "GATE_INVALID_MAX_RETRIES main.yaml:5:{column} phases[0].gate.on-fail.max-retries"
            ),
        );
    }
    for wrong in ["0", "-1", "'60'"] {
        let text = gate(&format!("{{script: t, {ON_FAIL}, timeout: {wrong}}}"));
        phase(
            &text,
            "GATE_INVALID_TIMEOUT main.yaml:5:54 phases[0].gate.timeout",
        );
    }
}

#[test]
fn a_wait_that_would_begin_at_once_or_never() {
    for (wait, expect) in [
        ("soon", "WRONG_TYPE {at} {path}"),
        ("{}", "INVALID_WAIT {at} {path}"),
        ("{every: 5m}", "INVALID_WAIT {at} {path}"),
        ("{command: ''}", "INVALID_WAIT {at+10} {path}.command"),
        ("{command: null}", "INVALID_WAIT {at+1} {path}.command"),
        (
            "{command: x, every: often}",
            "INVALID_WAIT {at+20} {path}.every",
        ),
        (
            "{command: x, every: 0s}",
            "INVALID_WAIT {at+20} {path}.every",
        ),
        (
            "{command: x, every: 60}",
            "INVALID_WAIT {at+20} {path}.every",
        ),
        ("{until: tomorrow}", "INVALID_WAIT {at+8} {path}.until"),
        (
            "{until: 2026-11-26T22:00:00}",
            "INVALID_WAIT {at+8} {path}.until",
        ),
        (
            "{command: x, untill: 4}",
            "INVALID_WAIT {at+13} {path}.untill",
        ),
    ] {
        let expect = |file: &str, (line, column): (usize, usize), path: &str| {
            let (before, rest) = expect.split_once("{at").expect("a place");
            let (more, rest) = rest.split_once('}').expect("a place");
            let more: usize = more.trim_start_matches('+').parse().unwrap_or(0);
            let place = format!("{file}:{line}:{}", column + more);
            format!("{before}{place}{rest}").replace("{path}", path)
        };
        phase(
            &format!("  - id: do\n    prompt: go\n    wait: {wait}\n"),
            &expect("main.yaml", (5, 11), "phases[0].wait"),
        );
        // A text was a variable of the prompts before.
        if wait.starts_with('{') {
            sprint(
                &format!("{ITEMS}      wait: {wait}\n"),
                &expect("SPRINT.yaml", (5, 13), "collections.step[0].wait"),
            );
        }
    }
}

#[test]
fn a_phase_and_the_first_that_stands_in_for_it_cannot_both_wait() {
    let main = "name: W\nphases:\n  - id: all\n    workflow: inner\n    wait: {command: one}\n";
    let inner = "name: I\nphases:\n  - {id: do, prompt: x, wait: {command: two}}\n";
    check(
        &Shelf::new([("main.yaml", main), ("inner.yaml", inner)]),
        ITEMS,
        "INVALID_WAIT main.yaml:5:11 phases[0].wait",
    );
}

#[test]
fn a_worktree_that_cannot_be_made() {
    worktree(
        " yes please",
        "INVALID_WORKTREE_CONFIG SPRINT.yaml:5:11 worktree",
    );
    worktree(
        " {branch: a}",
        "WORKTREE_MISSING_ENABLED SPRINT.yaml:5:12 worktree.enabled",
    );
    worktree(
        " {enabled: on}",
        "WORKTREE_INVALID_ENABLED SPRINT.yaml:5:21 worktree.enabled",
    );
    for (text, expect) in [
        (
            "branch: 5",
            "INVALID_BRANCH SPRINT.yaml:5:35 worktree.branch",
        ),
        (
            "branch: ' '",
            "EMPTY_BRANCH SPRINT.yaml:5:35 worktree.branch",
        ),
        (
            "branch: a..b",
            "INVALID_BRANCH_NAME SPRINT.yaml:5:35 worktree.branch",
        ),
        (
            "branch: HEAD",
            "INVALID_BRANCH_NAME SPRINT.yaml:5:35 worktree.branch",
        ),
        (
            "branch: a/.b",
            "INVALID_BRANCH_NAME SPRINT.yaml:5:35 worktree.branch",
        ),
        ("path: 5", "INVALID_PATH SPRINT.yaml:5:33 worktree.path"),
        ("path: .", "INVALID_PATH SPRINT.yaml:5:33 worktree.path"),
        ("path: a/..", "INVALID_PATH SPRINT.yaml:5:33 worktree.path"),
        (
            "path: .git/x",
            "INVALID_PATH SPRINT.yaml:5:33 worktree.path",
        ),
        ("path: ''", "EMPTY_PATH SPRINT.yaml:5:33 worktree.path"),
        (
            "cleanup: 5",
            "INVALID_CLEANUP SPRINT.yaml:5:36 worktree.cleanup",
        ),
        (
            "cleanup: soon",
            "INVALID_CLEANUP_MODE SPRINT.yaml:5:36 worktree.cleanup",
        ),
    ] {
        worktree(
            &format!(" {{enabled: true, {text}}}"),
            &format!("WORKTREE_{expect}"),
        );
    }
}

#[test]
fn worktree_defaults_that_cannot_be_used() {
    let with =
        |text: &str| format!("name: W\nworktree: {text}\nphases:\n  - {{id: a, prompt: b}}\n");
    workflow(
        &with("yes"),
        "INVALID_WORKFLOW_WORKTREE main.yaml:2:11 worktree",
    );
    workflow(
        &with("{}"),
        "WORKFLOW_WORKTREE_MISSING_ENABLED main.yaml:2:11 worktree.enabled",
    );
    workflow(
        &with("{enabled: 1}"),
        "WORKFLOW_WORKTREE_INVALID_ENABLED main.yaml:2:21 worktree.enabled",
    );
    for (text, expect) in [
        (
            "branch-prefix: 5",
            "BRANCH_PREFIX main.yaml:2:42 worktree.branch-prefix",
        ),
        (
            "path-prefix: 5",
            "PATH_PREFIX main.yaml:2:40 worktree.path-prefix",
        ),
        ("cleanup: 5", "CLEANUP main.yaml:2:36 worktree.cleanup"),
        (
            "cleanup: soon",
            "CLEANUP_MODE main.yaml:2:36 worktree.cleanup",
        ),
    ] {
        workflow(
            &with(&format!("{{enabled: true, {text}}}")),
            &format!("WORKFLOW_WORKTREE_INVALID_{expect}"),
        );
    }
}

#[test]
fn workflows_that_contain_each_other() {
    let shelf = Shelf::new([
        (
            "main.yaml",
            "name: A\nphases:\n  - {id: p, workflow: other}\n",
        ),
        (
            "other.yaml",
            "name: B\nphases:\n  - {id: q, workflow: main}\n",
        ),
    ]);
    let compiled = compile_on(&shelf, ITEMS, false);
    assert_eq!(
        lines(&compiled.problems),
        "CYCLE_DETECTED other.yaml:3:23 phases[0].workflow"
    );
    assert!(compiled.problems[0].message.contains("main → other → main"));
}

/// A chain of `count` workflows below the main one.
fn chain(count: usize) -> Shelf {
    let mut shelf = Shelf::new([("main.yaml", "name: M\nphases:\n  - {id: p, workflow: w1}\n")]);
    for level in 1..count {
        let text = format!(
            "name: N\nphases:\n  - {{id: p, workflow: w{}}}\n",
            level + 1
        );
        shelf.put(&format!("w{level}.yaml"), text);
    }
    shelf.put(&format!("w{count}.yaml"), GOOD);
    shelf
}

#[test]
fn workflows_may_be_nested_four_deep_below_the_main_one() {
    let compiled = compile_on(&chain(4), ITEMS, false);
    assert_eq!(compiled.progress.unwrap().phases[0].id, "p-p-p-p-do");
    check(
        &chain(5),
        ITEMS,
        "MAX_DEPTH_EXCEEDED w4.yaml:3:23 phases[0].workflow",
    );
    check(
        &chain(6),
        ITEMS,
        "MAX_DEPTH_EXCEEDED w5.yaml:3:23 phases[0].workflow",
    );
}

#[test]
fn variables_that_nothing_fills_in_are_errors_when_strict() {
    let shelf = Shelf::new([(
        "main.yaml",
        "name: W\nphases:\n  - id: a\n    prompt: |\n      one\n      two {{who.knows}}\n",
    )]);
    let compiled = compile_on(&shelf, ITEMS, true);
    let errors = compiled.problems.iter().filter(|p| p.is_error());
    assert_eq!(
        lines(errors),
        "UNRESOLVED_VARIABLES main.yaml:6:11 phases[0].prompt"
    );
    assert!(compiled.progress.is_none());
    assert!(compile_on(&shelf, ITEMS, false).progress.is_some());
}

#[test]
fn everything_wrong_in_a_file_is_told_at_once() {
    sprint(
        "model: big\ncollections:\n  step:\n    - id: x\n    - prompt: ''\n  bug: none\n",
        "MISSING_WORKFLOW SPRINT.yaml:1:1 workflow\n\
         INVALID_MODEL SPRINT.yaml:1:8 model\n\
         MISSING_ITEM_PROMPT SPRINT.yaml:4:7 collections.step[0].prompt\n\
         MISSING_ITEM_PROMPT SPRINT.yaml:5:15 collections.step[1].prompt\n\
         INVALID_COLLECTION SPRINT.yaml:6:8 collections.bug",
    );
}
