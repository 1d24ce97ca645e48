//! What piton gives an agent while it works: tools, and a hook that asks for the rest.

use piton_testkit::fake_api::{Piece, Scenario, Turn};
use serde_json::json;

use super::{Real, STEP, Setup, claim};

claim!(an_agent_says_by_a_tool_of_piton_what_came_of_it: claude, codex);
fn an_agent_says_by_a_tool_of_piton_what_came_of_it(program: &Real) {
    let record = Piece::Mcp {
        server: "piton".to_owned(),
        tool: "record".to_owned(),
        input: json!({"status": "completed", "summary": "the harbour is built"}),
    };
    let tried = program.project(Setup {
        scenario: Scenario::new([
            Turn::say([record]),
            Turn::say([Piece::text("That is all.")]),
        ]),
        sprint: STEP.to_owned(),
        ..Setup::default()
    });
    let (exit, said) = tried.run();
    assert_eq!(exit, 0, "{said}");
    let step = tried.step("one");
    assert_eq!(step["state"], "done", "{step}");
    assert_eq!(step["summary"], "the harbour is built", "{step}");
    let kinds = tried.scratch.event_kinds();
    assert!(
        kinds.iter().any(|kind| kind == "attempt-answered"),
        "{kinds:?}"
    );
    let reports = tried.reports();
    assert_eq!(reports[0]["activity"]["calls"], 1, "{reports:?}");
    assert_eq!(reports[0]["activity"].get("failed"), Some(&json!(0)));
    tried.leaves_nothing_running();
}

claim!(a_stop_hook_keeps_an_unfinished_item_going_and_lets_a_finished_one_stop: claude);
fn a_stop_hook_keeps_an_unfinished_item_going_and_lets_a_finished_one_stop(program: &Real) {
    let tried = program.project(Setup {
        scenario: Scenario::new([
            Turn::say([Piece::text("I had a look around.")]),
            Turn::done("the harbour is built"),
        ]),
        sprint: STEP.to_owned(),
        ..Setup::default()
    });
    let install = ["hook", "install", "--agent", "claude", "--project", "--yes"];
    let installed = tried.scratch.piton(&install);
    assert_eq!(installed.exit, 0, "{}{}", installed.out, installed.err);
    let (exit, said) = tried.run();
    assert_eq!(exit, 0, "{said}");
    // It wanted to stop without a word of what came of it, was told so, went
    // on, and was let go.
    assert_eq!(tried.api.turns().len(), 2, "{:?}", tried.api.turns());
    assert!(tried.api.was_told("Stop hook feedback"));
    assert_eq!(tried.step("one")["summary"], "the harbour is built");
    assert_eq!(tried.reports().len(), 1);
}

claim!(a_stop_hook_asks_twice_at_most: claude);
fn a_stop_hook_asks_twice_at_most(program: &Real) {
    let tried = program.project(Setup {
        scenario: Scenario::new([Turn::say([Piece::text("I had a look around.")])]).over_and_over(),
        sprint: STEP.to_owned(),
        ..Setup::default()
    });
    let install = ["hook", "install", "--agent", "claude", "--project", "--yes"];
    assert_eq!(tried.scratch.piton(&install).exit, 0);
    let (exit, said) = tried.run();
    // Nor does it say so when piton asks once more, without the hook: it failed,
    // three times.
    assert_eq!(exit, 1, "{said}");
    assert_eq!(tried.reports().len(), 3 * 2);
    let turns = tried.api.turns();
    assert_eq!(turns.len(), 3 * (3 + 1), "{turns:?}");
}
