//! Death at every failpoint that a run comes to.

use std::time::Duration;

use super::sprint::{Blow, Expected, Kind, Trial, say, was_killed};

/// Failpoints that no run comes to; see the tests of the store, `cleaned` and
/// `store_group`.
const NOT_IN_A_RUN: &[&str] = &["backup.", "restore.", "rebuild.", "move.", "access."];
/// Failpoints that a short run does not come to; see [`super::survivors`].
const ONLY_IN_A_LONG_RUN: &[&str] = &["heartbeat."];
/// Failpoints of files that others write as well, see `archive` and `old_writers`,
/// of large ones, see `large`, and of those that git tracks, see `branches`; and
/// those of worktrees, see `worktrees`.
const WITH_OTHERS: &[&str] = &[
    "archive.",
    "migrate.",
    "project-sync.",
    "exchange.splice-begun",
    "exchange.spare-taken",
    "plan-sync.edits-taken",
    "synced-file.put-back",
    "progress.",
    "worktree.",
];
/// Failpoints of lanes, see `lanes` and the tests of the engine.
const OF_LANES: &[&str] = &[
    "lane.",
    "merge.",
    "target.",
    "unit.",
    "land.",
    "clean.",
    "join.",
    // See `pull_requests`.
    "pull-request.",
];
/// Failpoints of notifications, see `notify`.
const OF_NOTIFICATIONS: &[&str] = &["notify."];
/// Failpoints of waits of a plan, see `waits`, and of hooks that wait, see `waiting`.
const OF_WAITS: &[&str] = &["wait.", "hook-spool."];
/// Failpoints that only a run with `auto-commit` comes to.
const WITH_COMMITS: &[&str] = &["run.before-commit", "run.after-commit", "git.staged"];
/// Failpoints that only a run comes to that takes over what is there.
const WITH_A_TAKE_OVER: &[&str] = &["run.copy-made", "run.present-kept", "run.set-aside"];
/// Failpoints that only a run comes to that goes on after a death.
const AFTER_A_DEATH: &[&str] = &["run.survivors-ended"];

fn is_one_of(point: &str, prefixes: &[&str]) -> bool {
    prefixes.iter().any(|prefix| point.starts_with(prefix))
}

/// Dies there in the first run, and once more, a little later, in the second.
fn die_at(point: &str, kind: Kind, expected: &Expected) {
    say(point);
    let mut trial = Trial::new(kind);
    if is_one_of(point, AFTER_A_DEATH) {
        die(&mut trial, "run.started:3", Must::Die);
    }
    die(&mut trial, point, Must::Die);
    die(&mut trial, &format!("{point}:2"), Must::NotFail);
    trial.run_to_end();
    trial.check(expected);
    if kind == Kind::TakenOver {
        for (name, kept) in [("", 1), (".backup", 1), (".checksum", 1)] {
            let copy = format!("sprint/PROGRESS.yaml{name}.before-piton");
            assert_eq!(usize::from(trial.scratch.has(&copy)), kept, "{copy}");
        }
        assert!(!trial.scratch.has("sprint/PROGRESS.yaml.backup"));
        assert!(!trial.scratch.has("sprint/PROGRESS.yaml.checksum"));
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Must {
    Die,
    NotFail,
}

fn die(trial: &mut Trial, failpoint: &str, must: Must) {
    let mut runner = trial.start(Some(failpoint));
    let status = runner.wait();
    let finished = must == Must::NotFail && status.code() == Some(0);
    assert!(
        was_killed(status) || finished,
        "{failpoint}: {status}\n{}",
        runner.words()
    );
    trial.buried(&runner);
}

fn try_all(points: &[&str]) {
    let kind_of = |point: &str| {
        if is_one_of(point, WITH_COMMITS) {
            Kind::Commits
        } else if is_one_of(point, WITH_A_TAKE_OVER) {
            Kind::TakenOver
        } else {
            Kind::Plain
        }
    };
    for kind in [Kind::Plain, Kind::Commits, Kind::TakenOver] {
        let of_this_kind: Vec<&str> = points
            .iter()
            .copied()
            .filter(|point| kind_of(point) == kind)
            .filter(|point| {
                ![
                    NOT_IN_A_RUN,
                    ONLY_IN_A_LONG_RUN,
                    WITH_OTHERS,
                    OF_LANES,
                    OF_NOTIFICATIONS,
                    OF_WAITS,
                ]
                .iter()
                .any(|others| is_one_of(point, others))
            })
            .collect();
        if of_this_kind.is_empty() {
            continue;
        }
        let expected = Trial::undisturbed(kind);
        for point in of_this_kind {
            die_at(point, kind, &expected);
        }
    }
}

#[test]
fn a_run_that_dies_at_a_failpoint_of_the_store_comes_to_the_same_end() {
    try_all(piton_store::failpoint::POINTS);
}

#[test]
fn a_run_that_dies_at_a_failpoint_of_the_engine_comes_to_the_same_end() {
    try_all(piton_engine::failpoint::POINTS);
}

/// The folder was made, and nothing is in it yet.
#[test]
fn a_home_that_was_only_made_is_used_and_git_sees_nothing_of_it() {
    let mut trial = Trial::new(Kind::Plain);
    die(&mut trial, "project.home-made", Must::Die);
    trial.run_to_end();
    assert!(
        !trial
            .scratch
            .git(&["status", "--porcelain"])
            .contains("journal.db")
    );
}

/// Somebody saved the file in the instant in which piton exchanged it, and
/// piton died before it had seen that.
#[test]
fn what_somebody_else_saved_during_an_exchange_is_put_back_by_the_next_run() {
    let mut trial = Trial::new(Kind::Plain);
    die(&mut trial, "synced-file.exchanged:9", Must::Die);
    let folder = trial.scratch.path().join("sprint");
    let displaced = std::fs::read_dir(folder)
        .expect("it is there")
        .flatten()
        .find(|entry| entry.file_name().to_string_lossy().ends_with(".tmp"))
        .expect("the old version is still there");
    let theirs = format!("{}# by hand\n", trial.scratch.read("sprint/PROGRESS.yaml"));
    std::fs::write(displaced.path(), &theirs).expect("written");
    trial.run_to_end();
    let file = trial.scratch.read("sprint/PROGRESS.yaml");
    assert!(file.ends_with("# by hand\n"), "{file}");
    assert!(file.contains("\nstatus: completed\n"), "{file}");
    trial.check_rest();
}

/// Somebody edits the file, and piton dies when it has taken that in and has
/// not written the file again.
#[test]
fn an_edit_that_was_taken_in_before_a_death_is_taken_in_once() {
    let mut trial = Trial::new(Kind::Plain);
    die(&mut trial, "run.committed:9", Must::Die);
    let edited = trial.scratch.read("sprint/PROGRESS.yaml").replacen(
        "sprint-id:",
        "# by hand\nowner: ada\nsprint-id:",
        1,
    );
    trial.scratch.write("sprint/PROGRESS.yaml", &edited);
    die(&mut trial, "plan-sync.edits-taken", Must::Die);
    trial.run_to_end();
    let file = trial.scratch.read("sprint/PROGRESS.yaml");
    assert!(file.starts_with("# by hand\nowner: ada\n"), "{file}");
    assert!(file.contains("\nstatus: completed\n"), "{file}");
    trial.check_rest();
}

/// The same failpoint, at places all over the run.
#[test]
fn a_run_that_dies_after_any_commit_comes_to_the_same_end() {
    let expected = Trial::undisturbed(Kind::Plain);
    // Coprime with the number of commits that a node takes; and the last one,
    // after which the run is done and nothing of that is in its file.
    for nth in (1..expected.commits).step_by(5).chain([expected.commits]) {
        say(&format!("after commit {nth} of {}", expected.commits));
        let mut trial = Trial::new(Kind::Plain);
        die(&mut trial, &format!("run.committed:{nth}"), Must::Die);
        if nth == expected.commits {
            assert_eq!(trial.state(), "done");
        }
        trial.run_to_end();
        trial.check(&expected);
    }
}

/// Whoever sets the variable for a program that was built to be used finds
/// that nothing happens: it has no failpoints.
#[test]
fn the_program_that_is_handed_out_has_no_failpoints() {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let mut command = std::process::Command::new(cargo);
    command
        .args([
            "tree",
            "--offline",
            "--package",
            "piton",
            "--edges",
            "normal,build",
        ])
        .args(["--format", "{p} features={f}", "--prefix", "none"])
        .current_dir(env!("CARGO_MANIFEST_DIR"));
    let output = command.output().expect("cargo runs");
    let tree = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(tree.contains("piton-store v"), "{tree}");
    assert!(!tree.contains("failpoints"), "{tree}");
}

/// The tests of this file would prove nothing if it were not so.
#[test]
fn the_program_that_is_tested_has_failpoints() {
    let mut trial = Trial::new(Kind::Plain);
    let mut runner = trial.start(Some("run.leased"));
    assert!(was_killed(
        runner.strike(Duration::from_secs(30), Blow::Kill)
    ));
    trial.buried(&runner);
    assert!(trial.log().is_empty(), "it went on");
}
