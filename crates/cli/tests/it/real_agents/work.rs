//! Work that goes well, or would: what is recorded of it.

use piton_testkit::fake_api::{Piece, Scenario, Turn, Usage};
use serde_json::{Value, json};

use super::{Real, STEP, STEPS, Setup, Tried, both_go_well, claim, told};

claim!(a_sprint_of_two_steps_is_completed_and_all_of_it_recorded: claude, codex, gemini, qwen, opencode, copilot);
fn a_sprint_of_two_steps_is_completed_and_all_of_it_recorded(program: &Real) {
    let tried = program.project(Setup {
        scenario: both_go_well(),
        sprint: STEPS.to_owned(),
        ..Setup::default()
    });
    let (exit, said) = tried.run();
    assert_eq!(exit, 0, "{said}");
    for (step, name) in [("one", "harbour"), ("two", "bridge")] {
        let step = tried.step(step);
        assert_eq!(step["state"], "done", "{step}");
        assert_eq!(step["summary"], format!("built the {name}"));
        for file in ["by-command.txt", "by-tool.txt"] {
            let text = tried.scratch.read(&format!("{name}-{file}"));
            assert_eq!(text.trim(), name);
        }
    }
    let reports = tried.reports();
    assert_eq!(reports.len(), 2, "{reports:?}");
    let mut conversations = Vec::new();
    for report in &reports {
        check_recorded(&tried, program, report);
        conversations.push(report["conversation"]["id"].clone());
    }
    assert_ne!(conversations[0], conversations[1]);
    assert!(tried.api.was_told("Build the bridge."));
    assert!(tried.api.was_told("- steps/one/execute: built the harbour"));
    let log = tried.scratch.read(".ralph/activity.log");
    assert!(log.contains("harbour-by-command.txt"), "{log}");
    assert!(log.contains("bridge-by-tool.txt"), "{log}");
    tried.leaves_nothing_running();
}

/// A step whose agent stops without a verdict, and gives one when it is asked.
fn stops_early(program: &Real, table: &str) -> Tried {
    let turns = vec![
        Turn::say([Piece::text("I had a look around. Shall I go on?")]),
        Turn::done("built the harbour"),
    ];
    program.project(Setup {
        scenario: told(Scenario::default(), "Build the harbour.", turns),
        sprint: STEP.to_owned(),
        table: table.to_owned(),
        ..Setup::default()
    })
}

claim!(the_hooks_of_a_run_keep_a_session_that_gave_no_verdict: claude);
fn the_hooks_of_a_run_keep_a_session_that_gave_no_verdict(program: &Real) {
    let tried = stops_early(program, "");
    let (exit, out) = tried.run();
    assert_eq!(exit, 0, "{out}");
    let reports = tried.reports();
    assert_eq!(reports.len(), 1, "{reports:?}");
    assert_eq!(reports[0]["outcome"], "completed", "{reports:?}");
    assert!(tried.api.was_told("nothing says yet what came of"));
    tried.leaves_nothing_running();
}

claim!(who_stops_without_a_verdict_answers_when_asked_once_more: claude, codex, gemini);
fn who_stops_without_a_verdict_answers_when_asked_once_more(program: &Real) {
    // Claude Code has no hooks of piton then.
    let own_settings = "args = [\"--settings\", \"{}\"]";
    let is_claude = program.name == "claude";
    let tried = stops_early(program, if is_claude { own_settings } else { "" });
    let (exit, out) = tried.run();
    assert_eq!(exit, 0, "{out}");
    assert_eq!(tried.step("one")["summary"], "built the harbour");
    let reports = tried.reports();
    assert_eq!(reports.len(), 2, "{reports:?}");
    assert_eq!(reports[0]["trouble"], "no-verdict", "{reports:?}");
    assert_eq!(reports[1]["outcome"], "completed", "{reports:?}");
    assert!(tried.api.was_told("No person can answer you"));
    tried.leaves_nothing_running();
}

/// One issue, with a reviewer who wants changes once.
const ISSUE: &str = r#"{
  "run_id": "2026-01-15-harbour",
  "prd_url": "https://example.org/prd",
  "phase": "EXECUTING",
  "phase_status": "in_progress",
  "bootstrap": {"languages": {"shop": "go"}, "docs_generated": {}},
  "artifacts": {"scoping_doc": null, "pert": null},
  "issues": {
    "S-1": {"repo": "shop", "title": "Build the harbour.", "status": "ready", "pr": null, "pr_number": null, "blocked_by": [], "review_iterations": 0, "human_iterations": 0}
  },
  "updated_at": "2026-01-15T10:00:00Z",
  "metrics": {"started_at": "2026-01-15T09:00:00Z", "phases": {}, "agent_invocations": [], "totals": {"duration_s": 0, "agent_spawns": 0, "review_iterations": {"agent": 0, "human": 0}, "issues_created": 1, "prs_created": 0, "prs_merged": 0}}
}
"#;

claim!(an_issue_is_done_when_its_reviewer_is_content: claude, codex, gemini);
fn an_issue_is_done_when_its_reviewer_is_content(program: &Real) {
    let mut coder = super::works("harbour");
    coder.push(Turn::say([Piece::write("{work}/light.txt", "on\n")]));
    coder.push(Turn::done("lit the harbour"));
    let wants = r#"{"verdict": "REQUEST_CHANGES", "summary": "no light", "observations": [{"file": "harbour-by-tool.txt", "line": 1, "severity": "error", "message": "it is dark"}]}"#;
    let approves =
        "I looked at all of it.\n\n```json\n{\"verdict\": \"APPROVE\", \"summary\": \"lit\"}\n```";
    let reviewer = [wants, approves].map(|text| Turn::say([Piece::text(text)]));
    let rules = told(Scenario::default(), "Build the harbour.", coder);
    let tried = program.project(Setup {
        scenario: told(
            rules,
            "Review what it made, before it counts.",
            reviewer.into(),
        ),
        sprint: STEP.to_owned(),
        ..Setup::default()
    });
    tried.scratch.write("state.json", ISSUE);
    let said = tried.scratch.piton(&["run", "state.json"]);
    assert_eq!(said.exit, 0, "{}{}", said.out, said.err);
    let state = tried.scratch.read("state.json");
    let state: Value = serde_json::from_str(&state).expect("JSON");
    let issue = &state["issues"]["S-1"];
    assert_eq!(issue["status"], "done", "{issue}");
    assert_eq!(issue["review_iterations"], 1, "{issue}");
    let invocations = state["metrics"]["agent_invocations"].as_array();
    let invocations = invocations.expect("a list").iter();
    let agents: Vec<&Value> = invocations.clone().map(|one| &one["agent"]).collect();
    let expected = ["coder", "quality-reviewer", "coder", "quality-reviewer"];
    assert_eq!(agents, expected);
    for one in invocations {
        assert!(one["tokens"]["output"].as_u64() > Some(0), "{one}");
    }
    assert_eq!(tried.scratch.read("light.txt"), "on\n");
    assert!(
        tried
            .api
            .was_told("> - [error] harbour-by-tool.txt:1: it is dark")
    );
    let reports = tried.reports();
    let conversation = |at: usize| &reports[at]["conversation"]["id"];
    assert_eq!(conversation(0), conversation(2), "the coder goes on");
    assert_ne!(conversation(1), conversation(3), "the reviewer looks anew");
    let checked = ["files", "check", "--strict", "state.json"];
    let checked = tried.scratch.piton(&checked);
    assert_eq!(checked.exit, 0, "{}{}", checked.out, checked.err);
    tried.leaves_nothing_running();
}

/// What is there of an attempt that ran a command and wrote a file.
#[track_caller]
fn check_recorded(tried: &Tried, program: &Real, report: &Value) {
    assert_eq!(tokens(&report["usage"]), usage(program), "{report}");
    let dollars = report["usage"]["cost_usd"].as_f64();
    let tells = ["claude", "opencode"].contains(&program.name);
    assert_eq!(dollars.is_some_and(|dollars| dollars > 0.0), tells);
    assert_eq!(report["activity"]["calls"], 2, "{report}");
    let files = report["files"].as_array().expect("somebody looked");
    assert_eq!(files.len(), 2, "{report}");
    assert_eq!(report["conversation"]["agent"], program.name, "{report}");
    let id = report["conversation"]["id"].as_str().unwrap_or_default();
    let is_id = id.len() == 36 || id.starts_with("ses_");
    assert!(is_id, "{report}");
    let transcript = report["transcript"]["path"].as_str().expect("it is kept");
    let transcript = tried.scratch.read(&format!(".piton/{transcript}"));
    assert!(transcript.contains(id), "{transcript}");
}

/// What three answers of the server used; Gemini CLI counts the question which
/// model is to answer as well.
fn usage(program: &Real) -> Value {
    let one = Usage::default();
    if program.name == "copilot" {
        return json!([null, null, null, null]);
    }
    let (answers, cache_write) = match program.name {
        "claude" => (3, 3 * one.cache_write),
        "codex" | "qwen" | "opencode" => (3, 0),
        _ => (4, 0),
    };
    let tokens = [one.input, one.output, one.cache_read].map(|of_one| answers * of_one);
    let [input, mut output, cached] = tokens;
    if program.name == "opencode" {
        // It counts what the model thinks apart.
        output -= answers * one.reasoning;
    }
    json!([input, output, cached, cache_write])
}

/// Tokens read, written, from and to a cache.
fn tokens(usage: &Value) -> Value {
    let of = |name: &str| usage[name].clone();
    json!([
        of("input_tokens"),
        of("output_tokens"),
        of("cache_read_tokens"),
        of("cache_write_tokens"),
    ])
}
