//! `auto-commit` and death: no commit is made twice, and none is lost.

use std::collections::BTreeMap;
use std::time::Duration;

use piton_testkit::chance::Chance;

use super::sprint::{Blow, Expected, Kind, Trial, pause, was_killed};

fn check(trial: &Trial, expected: &Expected) {
    trial.check(expected);
    let mut subjects: BTreeMap<String, usize> = BTreeMap::new();
    for line in trial.scratch.git(&["log", "--format=%s"]).lines() {
        *subjects.entry(line.to_owned()).or_default() += 1;
    }
    let steps = ["a", "b", "c", "d", "e", "f"].map(|step| format!("2026-01-15_crash: {step}"));
    let wanted: BTreeMap<String, usize> = steps
        .into_iter()
        .chain(["begin".to_owned()])
        .map(|subject| (subject, 1))
        .collect();
    assert_eq!(subjects, wanted);
    // What each step made is in its own commit.
    for (step, phase) in [
        ("a", "build"),
        ("b", "build"),
        ("c", "build"),
        ("d", "check"),
        ("e", "check"),
        ("f", "check"),
    ] {
        let found = trial.scratch.git(&[
            "log",
            "--format=",
            "--name-only",
            &format!("--grep=: {step}$"),
        ]);
        let mut found: Vec<&str> = found.lines().filter(|line| !line.is_empty()).collect();
        found.sort_unstable();
        let wanted = ["make", "test"].map(|node| format!("work/{phase}-{step}-{node}"));
        assert_eq!(found, wanted, "in the commit of {step}");
    }
}

#[test]
fn a_killed_run_makes_each_commit_once() {
    let expected = Trial::undisturbed(Kind::Commits);
    let mut chance = Chance::seeded(3);
    for _ in 0..5 {
        let mut trial = Trial::new(Kind::Commits);
        let whole = u64::try_from(expected.duration.as_micros()).unwrap_or(u64::MAX);
        for _ in 0..2 {
            let mut runner = trial.start(None);
            let status = runner.strike(Duration::from_micros(chance.below(whole)), Blow::Kill);
            assert!(
                was_killed(status) || status.code() == Some(0),
                "{}",
                runner.words()
            );
            trial.buried(&runner);
        }
        trial.run_to_end();
        check(&trial, &expected);
    }
}

/// A hook that takes its time: piton dies, git lives on.
fn slow_hook(name: &str) {
    let expected = Trial::undisturbed(Kind::Commits);
    let mut trial = Trial::new(Kind::Commits);
    let hook = format!(".git/hooks/{name}");
    trial.scratch.write(
        &hook,
        "#!/bin/sh\nmkdir \"$WATCH/hooked\" 2>/dev/null || exit 0\n: > \"$WATCH/works\"\nsleep 3\n",
    );
    let path = trial.scratch.path().join(&hook);
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("set");
    let mut runner = trial.start(None);
    while !trial.watched("works").exists() {
        pause(Duration::from_millis(5));
    }
    assert!(was_killed(runner.strike(Duration::ZERO, Blow::Kill)));
    trial.buried(&runner);
    trial.run_to_end();
    check(&trial, &expected);
}

#[test]
fn a_git_that_outlives_piton_before_its_commit_makes_no_second_one() {
    slow_hook("pre-commit");
}

#[test]
fn a_git_that_outlives_piton_after_its_commit_makes_no_second_one() {
    slow_hook("post-commit");
}
