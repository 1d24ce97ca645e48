//! What a service says instead of an answer.

use std::time::{Duration, Instant};

use piton_testkit::fake_api::{Scenario, Turn};
use rustix::process::Signal;

use super::{Real, STEP, Setup, Tried, claim, told, works};

/// The step, after what stands in its way.
fn one_step(program: &Real, first: Vec<Turn>) -> Tried {
    let turns = [first, works("harbour")].concat();
    program.project(Setup {
        scenario: told(Scenario::default(), "Build the harbour.", turns),
        sprint: STEP.to_owned(),
        login: program.name == "claude",
        ..Setup::default()
    })
}

/// Waits until the step waits for a time, and says until when.
#[track_caller]
fn parked_until(tried: &Tried) -> jiff::Timestamp {
    let mut until = None;
    tried.scratch.until("the step waits for a time", || {
        if !tried.scratch.has("demo/PROGRESS.yaml") {
            return false;
        }
        let step = tried.step("one");
        until = step["until"].as_str().and_then(|at| at.parse().ok());
        step["state"] == "waiting" && until.is_some()
    });
    until.expect("it was seen")
}

claim!(a_limit_is_waited_for_and_counts_for_nothing: claude, codex, gemini);
fn a_limit_is_waited_for_and_counts_for_nothing(program: &Real) {
    let tried = one_step(program, vec![Turn::Limit { resets_in_s: 5 }]);
    let (exit, said) = std::thread::scope(|scope| {
        // A clock without seconds makes it wait for more than a minute.
        let run = scope.spawn(|| tried.run());
        parked_until(&tried);
        let shown = tried.scratch.piton(&["status"]).out;
        assert!(shown.contains("waits "), "{shown}");
        tried.leaves_nothing_running();
        run.join().expect("it ends")
    });
    assert_eq!(exit, 0, "{said}");
    let step = tried.step("one");
    assert_eq!(step["state"], "done", "{step}");
    assert_eq!(step["retries"], 0, "{step}");
    let reports = tried.reports();
    let (refused, done) = match reports.as_slice() {
        [refused, .., done] => (refused, done),
        other => panic!("{other:?}"),
    };
    assert_eq!(refused["outcome"], "interrupted", "{refused}");
    assert_eq!(refused["trouble"], "rate-limit", "{refused}");
    assert!(refused["resets_at"].is_string(), "{refused}");
    assert_eq!(done["outcome"], "completed", "{done}");
    let kinds = tried.scratch.event_kinds();
    assert!(
        !kinds.iter().any(|kind| kind == "decision-opened"),
        "{kinds:?}"
    );
}

claim!(a_limit_far_ahead_is_told_and_left_by_a_stop: claude, codex, gemini);
fn a_limit_far_ahead_is_told_and_left_by_a_stop(program: &Real) {
    let tried = one_step(program, vec![Turn::Limit { resets_in_s: 7_200 }]);
    let begun = jiff::Timestamp::now();
    let run = tried.start();
    let until = parked_until(&tried);
    let ahead = until.duration_since(begun).as_secs();
    assert!((7_100..7_400).contains(&ahead), "{ahead} s ahead");
    run.signal(Signal::INT);
    let said = run.end();
    assert_eq!(said.exit, 130, "{}", said.err);
    assert_eq!(tried.step("one")["retries"], 0);
    tried.leaves_nothing_running();
}

claim!(what_goes_by_in_seconds_is_sat_out: claude, codex, gemini);
fn what_goes_by_in_seconds_is_sat_out(program: &Real) {
    let tried = one_step(program, vec![Turn::error(500), Turn::error(500)]);
    let (exit, said) = tried.run();
    assert_eq!(exit, 0, "{said}");
    let reports = tried.reports();
    assert_eq!(reports.len(), 1, "{reports:?}");
    assert_eq!(reports[0]["outcome"], "completed");
}

claim!(a_key_that_is_not_valid_stops_the_run_and_says_what_to_do: claude, codex, gemini);
fn a_key_that_is_not_valid_stops_the_run_and_says_what_to_do(program: &Real) {
    for login in [false, true] {
        if login && program.name != "claude" {
            continue;
        }
        let tried = program.project(Setup {
            scenario: Scenario::new([Turn::error(401)]),
            sprint: STEP.to_owned(),
            login,
            ..Setup::default()
        });
        let begun = Instant::now();
        let (exit, said) = tried.run();
        let took = begun.elapsed();
        assert_eq!(exit, 7, "{said}");
        assert!(took < Duration::from_secs(30), "{took:?}");
        assert!(said.contains("log in ("), "{said}");
        let step = tried.step("one");
        assert_eq!(step["state"], "ready", "{step}");
        assert_eq!(step["retries"], 0, "{step}");
        let reports = tried.reports();
        assert_eq!(reports.len(), 1, "{reports:?}");
        assert_eq!(reports[0]["trouble"], "auth", "{reports:?}");
        tried.leaves_nothing_running();
    }
}
