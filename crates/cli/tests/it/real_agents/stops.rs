//! What ends an agent before it is done, or keeps it from a part of its work.

use piton_testkit::fake_api::{Piece, Scenario, Turn};

use super::{Real, STEP, Setup, Tried, claim, told, works};

/// The step with these turns.
fn one_step(program: &Real, turns: Vec<Turn>, table: &str) -> Tried {
    program.project(Setup {
        scenario: told(Scenario::default(), "Build the harbour.", turns),
        sprint: STEP.to_owned(),
        table: table.to_owned(),
        ..Setup::default()
    })
}

// Codex prints nothing of a command that its sandbox stopped.
claim!(what_was_denied_is_recorded_and_no_failure: claude, gemini);
fn what_was_denied_is_recorded_and_no_failure(program: &Real) {
    let mut turns = works("harbour");
    // A command that merely writes a file counts as an edit with Claude Code.
    turns[0] = Turn::say([Piece::shell("sh -c 'date > harbour-by-command.txt'")]);
    let tried = one_step(program, turns, "permissions = \"edits\"");
    let (exit, said) = tried.run();
    assert_eq!(exit, 0, "{said}");
    let reports = tried.reports();
    assert_eq!(reports.len(), 1, "{reports:?}");
    assert_eq!(reports[0]["outcome"], "completed", "{reports:?}");
    assert_eq!(reports[0]["trouble"], "permission", "{reports:?}");
    assert_eq!(reports[0]["activity"]["denied"], 1, "{reports:?}");
    assert!(!tried.scratch.has("harbour-by-command.txt"));
    assert!(tried.scratch.has("harbour-by-tool.txt"));
}

claim!(who_has_no_more_turns_has_failed_and_what_to_do_is_decided: claude);
fn who_has_no_more_turns_has_failed_and_what_to_do_is_decided(program: &Real) {
    let tried = one_step(program, works("harbour"), "max-turns = 1");
    let (_, said) = tried.run();
    let reports = tried.reports();
    assert_eq!(reports[0]["outcome"], "failed", "{reports:?}");
    assert_eq!(reports[0]["trouble"], "limit", "{reports:?}");
    assert!(said.contains("a split first: "), "{said}");
}

claim!(a_stream_that_stalls_is_ended_and_tried_again: claude, codex, gemini);
fn a_stream_that_stalls_is_ended_and_tried_again(program: &Real) {
    let stalls = Turn::slow(600_000, [Piece::text("This takes very long.")]);
    let turns = [vec![stalls], works("harbour")].concat();
    let tried = one_step(program, turns, "idle-timeout = \"12s\"");
    let (exit, said) = tried.run();
    assert_eq!(exit, 0, "{said}");
    let reports = tried.reports();
    assert_eq!(reports.len(), 2, "{reports:?}");
    assert_eq!(reports[0]["outcome"], "failed", "{reports:?}");
    assert_eq!(reports[0]["trouble"], "timeout", "{reports:?}");
    assert_eq!(reports[0]["process"]["stopped_by"], "idle-timeout");
    assert_eq!(reports[1]["outcome"], "completed", "{reports:?}");
    tried.leaves_nothing_running();
}

claim!(after_a_kill_of_piton_the_conversation_goes_on: claude, codex, gemini);
fn after_a_kill_of_piton_the_conversation_goes_on(program: &Real) {
    let turns = vec![
        Turn::say([
            Piece::text("I run a command."),
            Piece::shell("echo harbour > harbour-by-command.txt"),
        ]),
        Turn::slow(600_000, [Piece::text("This takes very long.")]),
        Turn::done("built the harbour"),
    ];
    let tried = one_step(program, turns, "");
    let run = tried.start();
    tried.scratch.until("the second answer is begun", || {
        tried.api.turns().len() >= 2
    });
    run.kill();
    let (exit, said) = tried.run();
    assert_eq!(exit, 0, "{said}");
    let reports = tried.reports();
    assert_eq!(reports.len(), 2, "{reports:?}");
    assert_eq!(reports[0]["outcome"], "interrupted", "{reports:?}");
    assert_eq!(reports[1]["outcome"], "completed", "{reports:?}");
    let id = |at: usize| reports[at]["conversation"]["id"].clone();
    assert!(id(0).is_string(), "{reports:?}");
    assert_eq!(id(0), id(1), "{reports:?}");
    let last = tried.api.turns().pop().expect("there were some");
    let told = last.body.to_string();
    assert!(told.contains("I run a command."), "{told}");
    assert_eq!(tried.step("one")["retries"], 0);
    tried.leaves_nothing_running();
}

// Gemini CLI keeps no record that piton can read.
claim!(an_attempt_that_was_killed_is_counted: claude, codex);
fn an_attempt_that_was_killed_is_counted(program: &Real) {
    let turns = vec![
        Turn::say([
            Piece::text("I run a command."),
            Piece::shell("echo harbour > harbour-by-command.txt"),
        ]),
        Turn::slow(600_000, [Piece::text("This takes very long.")]),
        Turn::done("built the harbour"),
    ];
    let tried = one_step(program, turns, "wall-timeout = \"15s\"");
    tried.run();
    let reports = tried.reports();
    assert_eq!(reports[0]["trouble"], "timeout", "{reports:?}");
    let usage = &reports[0]["usage"];
    assert!(usage["input_tokens"].as_u64() > Some(0), "{reports:?}");
    assert!(usage["output_tokens"].as_u64() > Some(1), "{reports:?}");
    let models = reports[0]["models"].as_object().expect("models");
    assert_eq!(models.len(), 1, "{reports:?}");
    tried.leaves_nothing_running();
}

claim!(who_does_the_same_in_vain_is_stopped: claude, codex, gemini);
fn who_does_the_same_in_vain_is_stopped(program: &Real) {
    let again = Turn::say([Piece::shell("cat no-such-file")]);
    let tried = one_step(program, vec![again], "");
    let (exit, said) = tried.run();
    let reports = tried.reports();
    assert_eq!(reports[0]["outcome"], "failed", "{reports:?}");
    assert_eq!(reports[0]["trouble"], "stuck", "{reports:?}");
    let calls = reports[0]["activity"]["calls"].as_u64().unwrap_or_default();
    assert!((3..10).contains(&calls), "{reports:?}");
    let inbox = tried.scratch.piton(&["inbox"]).out;
    assert_eq!(exit, 1, "{said}{inbox}");
    // A failure without a category is tried again at once, three times in all.
    assert_eq!(reports.len(), 3, "{said}{inbox}");
    tried.leaves_nothing_running();
}
