//! Being asked to stop: exit 130, and the run can go on.

use std::os::unix::process::ExitStatusExt as _;
use std::time::Duration;

use piton_testkit::chance::Chance;

use super::sprint::{Blow, Kind, Trial, pause};

fn stop_and_go_on(blow: Blow, seed: u64) {
    let expected = Trial::undisturbed(Kind::Plain);
    let mut chance = Chance::seeded(seed);
    let mut stopped = 0;
    for _ in 0..4 {
        let mut trial = Trial::new(Kind::Plain);
        let whole = u64::try_from(expected.duration.as_micros()).unwrap_or(u64::MAX);
        let mut runner = trial.start(None);
        let status = runner.strike(Duration::from_micros(chance.below(whole)), blow);
        trial.buried(&runner);
        match (status.code(), status.signal()) {
            (Some(130), _) => {
                assert_eq!(trial.state(), "interrupted");
                trial.check_rest();
                stopped += 1;
            }
            // It was just done.
            (Some(0), _) => assert_eq!(trial.state(), "done"),
            // Before it took the run there was nothing to tidy up.
            (None, Some(_)) => assert!(
                trial
                    .events()
                    .iter()
                    .all(|event| event["kind"] != "run-started"),
                "{}",
                runner.words()
            ),
            other => panic!("{other:?}: {}", runner.words()),
        }
        trial.run_to_end();
        trial.check(&expected);
    }
    assert!(stopped > 0, "no moment was in the middle of the run");
}

#[test]
fn a_run_stopped_by_sigterm_goes_on_later() {
    stop_and_go_on(Blow::Terminate, 11);
}

#[test]
fn a_run_stopped_by_sigint_goes_on_later() {
    stop_and_go_on(Blow::Interrupt, 7);
}

/// The second request to stop is not polite.
#[test]
fn an_agent_that_ignores_the_request_is_ended_all_the_same() {
    let expected = Trial::undisturbed(Kind::Plain);
    let mut trial = Trial::new(Kind::Plain).slow_at("build/a/test", "stubborn");
    let mut runner = trial.start(None);
    while !trial.watched("works").exists() {
        pause(Duration::from_millis(5));
    }
    let status = runner.strike(Duration::ZERO, Blow::Terminate);
    assert_eq!(status.code(), Some(130), "{}", runner.words());
    trial.buried(&runner);
    trial.check_rest();
    trial.run_to_end();
    trial.check(&expected);
}
