//! The recovery simulation, with a memory and failures of a project that is
//! small enough to read.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use piton_bench::recall::data;
use piton_bench::recovery::policy::Policy;
use piton_bench::recovery::project::{Project, projects};
use piton_bench::recovery::simulation::Person;
use piton_bench::recovery::{Outcome, outcomes, piton_needs_fewest};

/// Few, because this is not built to be fast; what the claims are about is in
/// each of them.
const SEEDS: u32 = 8;

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data")
        .join(name)
}

fn tidepool() -> Vec<Project> {
    let memories = data::load(&file("memory.jsonl")).expect("memories");
    projects(
        memories,
        data::load(&file("queries.jsonl")).expect("queries"),
    )
}

fn of(outcomes: &[Outcome], policy: Policy) -> &Outcome {
    let mut outcomes = outcomes.iter();
    let found = outcomes.find(|outcome| outcome.policy == policy);
    found.expect("each policy has an outcome")
}

#[test]
fn piton_needs_fewer_attempts_for_a_finished_item_than_plain_retries_and_the_seed() {
    let outcomes = outcomes(&tidepool(), SEEDS, Person::Unknowing).expect("every run ends");
    assert!(piton_needs_fewest(&outcomes));
    let items: Vec<u64> = outcomes.iter().map(|one| one.counts.all().items).collect();
    assert!(items.iter().all(|count| *count == items[0]), "{items:?}");
    let piton = &of(&outcomes, Policy::Piton).counts;
    assert_eq!(piton.all().finished, piton.all().items);
    assert_eq!(piton.answerable.asked, 0, "nobody is asked what is known");
    let seed = &of(&outcomes, Policy::Seed).counts;
    let some = 1..seed.answerable.items;
    assert!(some.contains(&seed.answerable.finished), "{seed:?}");
}

#[test]
fn an_agent_fails_until_it_is_told_or_a_person_decides() {
    let outcomes = outcomes(&tidepool(), SEEDS, Person::Unknowing).expect("every run ends");
    let plain = &of(&outcomes, Policy::Plain).counts;
    let (known, unknown) = (plain.answerable, plain.unanswerable);
    // Three tries, and three after each time that a person said "try again".
    assert_eq!((known.finished, known.attempts), (0, 9 * known.items));
    assert_eq!(known.asked, 3 * known.items);
    assert_eq!(unknown.finished, unknown.items);
    assert_eq!(unknown.attempts, 4 * unknown.items);
    assert_eq!(unknown.asked, unknown.items);
}

#[test]
fn what_a_person_who_knows_decided_on_succeeds() {
    let outcomes = outcomes(&tidepool(), SEEDS, Person::Knowing).expect("every run ends");
    for outcome in &outcomes {
        let all = outcome.counts.all();
        assert_eq!(all.finished, all.items, "{}", outcome.policy.name());
        assert!(all.asked <= all.items, "{}", outcome.policy.name());
    }
}

#[test]
fn the_same_seeds_are_printed_the_same_to_the_byte() {
    let run = || -> Output {
        Command::new(env!("CARGO_BIN_EXE_recovery"))
            .args([file("memory.jsonl"), file("queries.jsonl")])
            .args(["--seeds", "3", "--json"])
            .output()
            .expect("it starts")
    };
    let (once, again) = (run(), run());
    let said = String::from_utf8_lossy(&once.stderr);
    assert!(once.status.success(), "{said}");
    assert!(!once.stdout.is_empty());
    assert_eq!(once.stdout, again.stdout);
}
