//! Work that goes well, or would: what is recorded of it.

use piton_testkit::fake_api::{Piece, Scenario, Turn, Usage};
use serde_json::{Value, json};

use super::{Real, STEP, STEPS, Setup, Tried, both_go_well, claim, told};

claim!(a_sprint_of_two_steps_is_completed_and_all_of_it_recorded: claude, codex, gemini);
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

claim!(who_stops_without_a_verdict_answers_when_asked_once_more: claude, codex, gemini);
fn who_stops_without_a_verdict_answers_when_asked_once_more(program: &Real) {
    let turns = vec![
        Turn::say([Piece::text("I had a look around. Shall I go on?")]),
        Turn::done("built the harbour"),
    ];
    let tried = program.project(Setup {
        scenario: told(Scenario::default(), "Build the harbour.", turns),
        sprint: STEP.to_owned(),
        ..Setup::default()
    });
    let (exit, out) = tried.run();
    assert_eq!(exit, 0, "{out}");
    assert_eq!(tried.step("one")["summary"], "built the harbour");
    let reports = tried.reports();
    assert_eq!(reports.len(), 2, "{reports:?}");
    assert_eq!(reports[0]["trouble"], "no-verdict", "{reports:?}");
    assert_eq!(reports[1]["outcome"], "completed", "{reports:?}");
    assert!(tried.api.was_told("Nobody can answer you"));
    tried.leaves_nothing_running();
}

/// What is there of an attempt that ran a command and wrote a file.
#[track_caller]
fn check_recorded(tried: &Tried, program: &Real, report: &Value) {
    assert_eq!(tokens(&report["usage"]), usage(program), "{report}");
    let dollars = report["usage"]["cost_usd"].as_f64();
    let tells = program.name == "claude";
    assert_eq!(dollars.is_some_and(|dollars| dollars > 0.0), tells);
    assert_eq!(report["activity"]["calls"], 2, "{report}");
    let files = report["files"].as_array().expect("somebody looked");
    assert_eq!(files.len(), 2, "{report}");
    assert_eq!(report["conversation"]["agent"], program.name, "{report}");
    let id = report["conversation"]["id"].as_str().unwrap_or_default();
    assert_eq!(id.len(), 36, "{report}");
    let transcript = report["transcript"]["path"].as_str().expect("it is kept");
    let transcript = tried.scratch.read(&format!(".piton/{transcript}"));
    assert!(transcript.contains(id), "{transcript}");
}

/// What three answers of the server used; Gemini CLI counts the question which
/// model is to answer as well.
fn usage(program: &Real) -> Value {
    let one = Usage::default();
    let (answers, cache_write) = match program.name {
        "claude" => (3, 3 * one.cache_write),
        "codex" => (3, 0),
        _ => (4, 0),
    };
    let tokens = [one.input, one.output, one.cache_read].map(|of_one| answers * of_one);
    let [input, output, cached] = tokens;
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
