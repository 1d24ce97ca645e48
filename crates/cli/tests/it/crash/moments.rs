//! `kill -9` at random moments, spread over the whole of a run.

use std::time::Duration;

use piton_simkit::seed::salted;
use piton_testkit::chance::Chance;

use super::sprint::{Blow, Kind, Trial, now, pause, say, was_killed};

/// How many moments are tried, by all tests of this file together.
fn rounds() -> u64 {
    number("PITON_CRASH_ROUNDS").unwrap_or(40)
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// Tries every `of`th moment, beginning with the `first`.
fn strike_at_random(first: u64, of: u64) {
    let expected = Trial::undisturbed(Kind::Plain);
    say(&format!("an undisturbed run takes {:?}", expected.duration));
    let (mut deaths, mut longest) = (0, Duration::ZERO);
    for round in (first..rounds()).step_by(usize::try_from(of).expect("a small number")) {
        // A round that fails can be tried again alone: it depends on nothing but
        // the seed and its number.
        let mut chance = Chance::seeded(salted(round));
        let mut trial = Trial::new(Kind::Plain);
        let strikes = 1 + u64::from(round % 4 == 3) + u64::from(round % 8 == 7);
        let begun = now();
        for _ in 0..strikes {
            let whole = u64::try_from(expected.duration.as_micros()).unwrap_or(u64::MAX);
            let after = Duration::from_micros(chance.below(whole.max(1)));
            let blow = if chance.below(4) == 0 {
                Blow::KillGroup
            } else {
                Blow::Kill
            };
            say(&format!("round {round}: {blow:?} after {after:?}"));
            let mut runner = trial.start(None);
            let status = runner.strike(after, blow);
            assert!(
                was_killed(status) || status.code() == Some(0),
                "{}",
                runner.words()
            );
            trial.buried(&runner);
            deaths += u64::from(was_killed(status));
            // Sometimes what survived gets on for a while before anybody comes.
            pause(Duration::from_millis(chance.below(3) * chance.below(20)));
        }
        trial.run_to_end();
        trial.check(&expected);
        longest = longest.max(begun.elapsed());
    }
    say(&format!(
        "faults: kills: {deaths} kills of whole runs, each came to its end; the longest took {longest:?}"
    ));
}

#[test]
fn a_run_killed_at_any_moment_comes_to_the_same_end_in_even_rounds() {
    strike_at_random(0, 2);
}

#[test]
fn a_run_killed_at_any_moment_comes_to_the_same_end_in_odd_rounds() {
    strike_at_random(1, 2);
}
