//! Agents that outlive their piton: they are ended before anything is repeated.

use std::fs;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use super::sprint::{Blow, Expected, Kind, Trial, now, pause, was_killed};

const NODE: &str = "build/c/test";

fn wait_for_the_agent(trial: &Trial) {
    let begun = now();
    while !trial.watched("works").exists() {
        assert!(
            begun.elapsed() < Duration::from_secs(30),
            "no agent works: {:?}",
            trial.log()
        );
        pause(Duration::from_millis(5));
    }
}

/// The agents' own processes, as they wrote them down: number and start.
fn written(trial: &Trial, name: &str) -> (u32, String) {
    let text = fs::read_to_string(trial.watched(name)).expect("it was written down");
    let (pid, start) = text.trim().split_once(' ').expect("number and start");
    (pid.parse().expect("a number"), start.to_owned())
}

/// Whether that very process runs: its number alone could be another's by now.
fn runs((pid, start): &(u32, String)) -> bool {
    let Ok(stat) = fs::read_to_string(format!("/proc/{pid}/stat")) else {
        return false;
    };
    let rest = stat.rsplit_once(") ").map_or("", |(_, rest)| rest);
    let fields: Vec<&str> = rest.split(' ').collect();
    fields.get(19) == Some(&start.as_str()) && !matches!(fields.first(), Some(&"Z" | &"X"))
}

fn outlived(mode: &'static str, expected: &Expected, also: impl FnOnce(&Trial)) {
    let mut trial = Trial::new(Kind::Plain).slow_at(NODE, mode);
    let mut runner = trial.start(None);
    wait_for_the_agent(&trial);
    let agent = written(&trial, "locks/build-c-test/pid");
    assert!(was_killed(runner.strike(Duration::ZERO, Blow::Kill)));
    trial.buried(&runner);
    assert!(runs(&agent), "the agent was to survive");
    also(&trial);
    let begun = now();
    trial.run_to_end();
    assert!(
        begun.elapsed() < Duration::from_secs(30),
        "the survivor was waited for"
    );
    assert!(!runs(&agent), "the survivor still runs");
    trial.check(expected);
}

#[test]
fn an_agent_that_outlives_piton_is_ended_before_another_is_started() {
    let expected = Trial::undisturbed(Kind::Plain);
    outlived("long", &expected, |_| {});
    outlived("stubborn", &expected, |_| {});
}

#[test]
fn work_in_a_session_of_its_own_is_ended_before_another_is_started() {
    let expected = Trial::undisturbed(Kind::Plain);
    let mut grandchild = None;
    outlived("grandchild", &expected, |trial| {
        grandchild = Some(written(trial, "grandchild"))
    });
    assert!(
        !runs(&grandchild.expect("it was written down")),
        "the grandchild still runs"
    );
}

#[test]
fn work_whose_agent_has_died_too_is_ended_before_another_is_started() {
    let expected = Trial::undisturbed(Kind::Plain);
    let mut trial = Trial::new(Kind::Plain).slow_at(NODE, "grandchild");
    let mut runner = trial.start(None);
    wait_for_the_agent(&trial);
    let (agent, grandchild) = (
        written(&trial, "locks/build-c-test/pid"),
        written(&trial, "grandchild"),
    );
    assert!(was_killed(runner.strike(Duration::ZERO, Blow::Kill)));
    trial.buried(&runner);
    // Only the mark in its environment tells whose the grandchild is.
    assert!(runs(&agent) && runs(&grandchild));
    let pid = i32::try_from(agent.0)
        .ok()
        .and_then(Pid::from_raw)
        .expect("a number");
    kill_process(pid, Signal::KILL).expect("it runs");
    trial.run_to_end();
    assert!(!runs(&grandchild), "the grandchild still runs");
    trial.check(&expected);
}

/// A heartbeat comes every ten seconds, so only a long agent sees one.
#[test]
fn a_piton_that_dies_at_its_heartbeat_leaves_nothing_behind() {
    let expected = Trial::undisturbed(Kind::Plain);
    std::thread::scope(|scope| {
        for point in ["heartbeat.before", "heartbeat.after"] {
            let expected = &expected;
            scope.spawn(move || {
                let mut trial = Trial::new(Kind::Plain).slow_at("build/a/make", "long");
                let mut runner = trial.start(Some(point));
                assert!(was_killed(runner.wait()), "{}", runner.words());
                trial.buried(&runner);
                trial.run_to_end();
                trial.check(expected);
            });
        }
    });
}

#[test]
fn a_second_piton_is_refused_while_the_first_lives_and_not_after_its_death() {
    let expected = Trial::undisturbed(Kind::Plain);
    let mut trial = Trial::new(Kind::Plain).slow_at(NODE, "long");
    let mut first = trial.start(None);
    wait_for_the_agent(&trial);
    let mut second = trial.start(None);
    let refused = second.wait();
    assert_eq!(refused.code(), Some(4), "{}", second.words());
    assert!(was_killed(first.strike(Duration::ZERO, Blow::Kill)));
    trial.buried(&first);
    trial.run_to_end();
    trial.check(&expected);
}

#[test]
fn a_run_that_begins_anew_ends_the_agent_of_the_one_before() {
    let mut trial = Trial::new(Kind::Plain).slow_at(NODE, "long");
    let mut runner = trial.start(None);
    wait_for_the_agent(&trial);
    let agent = written(&trial, "locks/build-c-test/pid");
    assert!(was_killed(runner.strike(Duration::ZERO, Blow::Kill)));
    assert!(runs(&agent), "the agent was to survive");
    let mut anew = trial.start_with(None, &["--recompile"]);
    assert_eq!(anew.wait().code(), Some(0), "{}", anew.words());
    assert!(!runs(&agent), "the survivor still runs");
    for line in trial.log() {
        assert!(
            !line.what.starts_with("violation") && line.what != "survived",
            "{line:?}"
        );
    }
    assert_eq!(trial.processes(), Vec::<String>::new());
}
