use super::*;
use crate::json;
use crate::problem::SourceText;
use crate::shape;

/// A state with something of everything, as an engine of the family writes it.
const STATE: &str = r#"{
  "run_id": "2026-01-15-orders",
  "prd_url": "https://example.org/orders",
  "phase": "EXECUTING",
  "phase_status": "in_progress",
  "bootstrap": {
    "languages": { "shop": "go" },
    "docs_generated": { "shop": null }
  },
  "artifacts": { "scoping_doc": "notes/scope.md", "pert": null },
  "issues": {
    "ORD-1": {
      "repo": "shop", "title": "List orders", "status": "done",
      "pr": "acme/shop#4", "pr_number": 4, "blocked_by": [],
      "review_iterations": 2, "human_iterations": 1
    },
    "ORD-2": {
      "repo": "shop", "title": "Show one", "status": "blocked",
      "pr": null, "pr_number": null, "blocked_by": ["ORD-3"],
      "review_iterations": 0, "human_iterations": 0
    },
    "ORD-3": {
      "repo": "shop", "title": "Route", "status": "reviewing",
      "pr": "acme/shop#5", "pr_number": 5, "blocked_by": ["ORD-1"],
      "review_iterations": 1, "human_iterations": 0
    }
  },
  "updated_at": "2026-01-15T11:00:00Z",
  "metrics": {
    "started_at": "2026-01-15T10:00:00Z",
    "phases": {
      "DESIGN": { "started_at": "2026-01-15T10:00:00Z", "ended_at": "2026-01-15T10:05:00Z", "duration_s": 300 },
      "EXECUTING": { "started_at": "2026-01-15T10:05:00Z", "ended_at": null, "duration_s": null }
    },
    "agent_invocations": [
      {
        "agent": "coder", "model": "sonnet", "repo": "shop", "issue": "ORD-1",
        "started_at": "2026-01-15T10:06:00Z", "duration_s": 90.5,
        "tokens": { "input": 1200, "output": 340 }
      }
    ],
    "totals": {
      "duration_s": 300, "agent_spawns": 1,
      "review_iterations": { "agent": 3, "human": 1 },
      "issues_created": 3, "prs_created": 2, "prs_merged": 1
    }
  }
}"#;

fn told(text: &str) -> String {
    let (_, problems) = parse_state(SourceText {
        name: "state.json",
        text,
    });
    let lines: Vec<String> = problems
        .iter()
        .map(|problem| format!("{problem} {}", problem.path))
        .collect();
    lines.join("\n")
}

#[track_caller]
fn state(text: &str) -> SdlcState {
    parse_state(SourceText {
        name: "state.json",
        text,
    })
    .0
    .expect("a state")
}

#[track_caller]
fn rewritten(text: &str, state: &SdlcState) -> String {
    let root = json::parse(text).root.expect("a document");
    json::patch(text, &to_tree(state, Some(&root))).expect("can be changed")
}

#[test]
fn a_state_is_read_without_a_word_and_is_strictly_valid() {
    assert_eq!(told(STATE), "");
    let root = json::parse(STATE).root.expect("a document");
    assert!(shape::check(&root, &SHAPE, "state.json", "state").is_empty());
    let state = state(STATE);
    assert_eq!(state.phase, Some(Phase::Executing));
    assert_eq!(state.issues[1].blocked_by, ["ORD-3"]);
    assert_eq!(derived_totals(&state), state.metrics.totals);
}

#[test]
fn an_unchanged_state_keeps_every_byte() {
    assert_eq!(rewritten(STATE, &state(STATE)), STATE);
    let odd = "{\"run_id\": \"x\", \"phase\": \"DESIGN\", \"phase_status\": null, \"issues\": {\"A\": {\"status\": \"ready\", \"note\": [1.0]}}, \"artifacts\": 5, \"more\": {}}";
    assert_eq!(rewritten(odd, &state(odd)), odd);
}

#[test]
fn a_change_touches_what_changed_and_nothing_else() {
    let mut changed = state(STATE);
    changed.issues[2].status = Some(IssueStatus::Done);
    changed.issues[1].status = Some(IssueStatus::Ready);
    changed.updated_at = Some("2026-01-15T12:00:00Z".to_owned());
    let mut invocation = changed.metrics.agent_invocations[0].clone();
    invocation.agent = Some("quality-reviewer".to_owned());
    changed.metrics.agent_invocations.push(invocation);
    changed.metrics.totals = derived_totals(&changed);
    let text = rewritten(STATE, &changed);
    assert_eq!(state(&text), changed);
    assert!(text.contains("\"tokens\": { \"input\": 1200, \"output\": 340 }"));
    assert!(text.starts_with(&STATE[..STATE.find("\"blocked\"").expect("there")]));
    assert_eq!(told(&text), "");
}

#[test]
fn a_new_state_is_strictly_valid() {
    let whole = state(STATE);
    let made = to_tree(&whole, None);
    let text = json::render(&made);
    assert_eq!(state(&text), whole);
    let root = json::parse(&text).root.expect("a document");
    let problems = shape::check(&root, &SHAPE, "state.json", "state");
    assert!(problems.is_empty(), "{problems:#?}");
}

#[test]
fn a_value_that_was_taken_away_becomes_null() {
    let mut changed = state(STATE);
    changed.issues[0].pr = None;
    changed.issues[0].pr_number = None;
    changed.issues.remove(1);
    let text = rewritten(STATE, &changed);
    assert!(text.contains("\"pr\": null, \"pr_number\": null, \"blocked_by\": [],"));
    assert_eq!(state(&text), changed);
}

#[test]
fn case_47_case_51_all_that_is_wrong_is_told() {
    let text = r#"{"run_id": "r", "phase": "DOING", "phase_status": "in_progress", "issues": {
  "A": {"status": "redy", "blocked_by": ["B", "gone"], "branch": "x"},
  "B": {"status": "ready", "blocked_by": ["C"]},
  "C": {"status": "ready", "blocked_by": ["B"], "pr_number": "4"},
  "D": {"status": "done", "blocked_by": []},
  "E": {"status": "blocked", "blocked_by": ["D"]},
  "F": {}, "G": 5},
 "metrics": {"totals": {"agent_spawns": 8, "review_iterations": {"agent": 1}, "duration_s": 2400}}}"#;
    insta::assert_snapshot!(told(text), @r##"
    state.json:1:26: error: there is no phase `DOING` [INVALID_VALUE] phase
    state.json:2:19: error: there is no status `redy` [INVALID_VALUE] issues.A.status
    state.json:2:41: error: the issue `A` waits for `gone`, which is not there [MISSING_REFERENCE] issues.A.blocked_by
    state.json:2:56: warning: the key `branch` is not known [UNKNOWN_KEY] issues.A.branch
    state.json:3:42: error: issues wait for each other: `B` for `C` for `B` [CYCLE_DETECTED] issues.B.blocked_by
    state.json:4:62: error: `pr_number` must be a whole number, 0 or more, not the string `4` [WRONG_TYPE] issues.C.pr_number
    state.json:6:44: warning: the issue `E` is blocked, but nothing is left to wait for [NOT_BLOCKED] issues.E.blocked_by
    state.json:7:3: error: the issue `F` has no status [MISSING_KEY] issues.F.status
    state.json:7:17: error: `G` must be a mapping, not the number 5 [WRONG_TYPE] issues.G
    state.json:8:41: warning: `agent_spawns` is 8, but the file itself gives 0 [TOTAL_DISAGREES] metrics.totals.agent_spawns
    state.json:8:75: warning: `agent` is 1, but the file itself gives 0 [TOTAL_DISAGREES] metrics.totals.review_iterations.agent
    state.json:8:93: warning: `duration_s` is 2400, but the file itself gives 0 [TOTAL_DISAGREES] metrics.totals.duration_s
    "##);
}

#[test]
fn case_53_each_document_of_this_name_is_told_by_its_content() {
    let cases = [
        (STATE, StateLayout::Current),
        ("", StateLayout::Empty),
        ("{", StateLayout::Unreadable),
        (
            r#"{"run_id": "x", "prd": "y", "phase": "", "phase_status": "", "issues": []}"#,
            StateLayout::IssueList,
        ),
        (
            r#"{"run_id": "x", "phase": "executing", "phase_status": "running", "issues": {}}"#,
            StateLayout::LowerCase,
        ),
        (
            r#"{"currentPhase": 3, "inFlight": [], "lastEvent": "", "phase": "SPEC"}"#,
            StateLayout::Foreign(vec![
                "`currentPhase`".to_owned(),
                "`inFlight`".to_owned(),
                "`lastEvent`".to_owned(),
            ]),
        ),
    ];
    for (text, layout) in cases {
        assert_eq!(detect_layout(text), layout, "{text}");
        assert!(!layout.describe().is_empty());
    }
    assert!(told("{\"a\": 1}").contains("NOT_A_STATE_FILE"));
}

#[test]
fn a_manifest_is_read_and_all_that_it_lacks_is_told() {
    let text = "prd: https://example.org/prd\nrepos:\n  - {name: shop, path: ../shop, team: Core, language: go, skills: [sql]}\n";
    let source = |text| SourceText {
        name: "manifest.yaml",
        text,
    };
    let (manifest, problems) = parse_manifest(source(text));
    assert!(problems.is_empty(), "{problems:#?}");
    let repos = manifest.expect("a manifest").repos;
    assert_eq!((repos[0].name.as_str(), repos[0].skills.len()), ("shop", 1));

    let text = "repos:\n  - {name: shop, path: x, team: t}\n  - {name: shop, language: rust, team: 5}\n  - x\n";
    let problems = parse_manifest(source(text)).1;
    let codes: Vec<&str> = problems
        .iter()
        .map(|problem| problem.code.as_ref())
        .collect();
    assert_eq!(
        codes,
        [
            "PRD_ADDRESS",
            "MISSING_KEY",
            "WRONG_TYPE",
            "UNKNOWN_LANGUAGE",
            "DUPLICATE_REPO",
            "WRONG_TYPE"
        ]
    );
    let of_nothing = parse_manifest(source("")).1;
    assert_eq!(of_nothing.len(), 2);
    // A problem without a place does not help its reader; fuzzing found it.
    assert!(of_nothing.iter().all(|problem| problem.line == 1));
    assert!(parse_manifest(source("- a\n")).0.is_none());
}

#[test]
fn case_52_metrics_that_span_lines_are_read_and_malformed_ones_counted() {
    let text = "{\"agent_id\": \"a1\", \"agent_type\": \"coder\", \"tokens\": {\n  \"input\": 0,\n  \"output\": 7\n}, \"timestamp\": \"2026-01-15T10:00:00Z\"}\n{\"agent_id\": \"a2\", \"agent_type\": \"co\"der\"}\n[]\n{\"agent_id\": \"a3\"}\n";
    let log = parse_metrics(text);
    let ids: Vec<_> = log
        .records
        .iter()
        .map(|record| record.agent_id.as_deref())
        .collect();
    assert_eq!(ids, [Some("a1"), Some("a3")]);
    assert_eq!(log.records[0].tokens_output, Some(7));
    assert_eq!(log.skipped, 2);
}
