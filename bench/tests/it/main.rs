//! That the bench runs: nothing here is judged by a time.

mod lies;
mod recovery;
mod seed000;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

const BENCH: &str = env!("CARGO_BIN_EXE_piton-bench");

/// The piton that is measured; none, aloud, where it is not built.
fn piton() -> Option<PathBuf> {
    let piton = Path::new(BENCH).with_file_name("piton");
    if piton.exists() {
        return Some(piton);
    }
    let why = format!(
        "skipped: {} is not there; `cargo build -p piton` makes it",
        piton.display()
    );
    writeln!(std::io::stderr(), "{why}").expect("stderr is there");
    None
}

/// A folder inside a repository, as `target` is.
fn folder_in_git() -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let mut git = Command::new("git");
    git.args(["init", "--quiet"]).arg(folder.path());
    assert!(git.status().expect("git is there").success());
    folder
}

/// A bench of tiny sizes in `folder`.
fn small_bench(folder: &Path, piton: &Path, json: &Path) -> Command {
    let mut bench = Command::new(BENCH);
    bench.arg("--small").arg("--dir").arg(folder.join("data"));
    bench.arg("--json").arg(json).arg("--piton").arg(piton);
    // All is built already: cargo would wait for the cargo that runs this.
    bench.env_remove("CARGO");
    bench
}

/// What the bench prints to stderr, and its figures.
#[track_caller]
fn run_bench(bench: &mut Command, json: &Path) -> (String, Vec<Value>) {
    let output = bench.output().expect("the bench starts");
    let printed = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{printed}");
    let text = std::fs::read_to_string(json).expect("written");
    let mut written: Value = serde_json::from_str(&text).expect("JSON");
    let Value::Array(figures) = written["figures"].take() else {
        panic!("no list: {text}");
    };
    (printed, figures)
}

#[test]
fn a_small_run_measures_every_budget_and_judges_nothing() {
    let Some(piton) = piton() else { return };
    let folder = folder_in_git();
    let json = folder.path().join("figures.json");
    let (_, figures) = run_bench(&mut small_bench(folder.path(), &piton, &json), &json);
    for id in ["P1", "P2", "P3", "P4", "P5", "P8", "P9", "P10"] {
        assert!(figures.iter().any(|figure| figure["id"] == id), "{id}");
    }
    for figure in &figures {
        assert!(
            figure["ratio"].as_f64().is_some_and(|ratio| ratio > 0.0),
            "{figure}"
        );
        assert!(figure["holds"].is_null(), "{figure}");
    }
    let in_milliseconds = figures.iter().filter(|figure| figure["at_most_s"].is_f64());
    assert_eq!(in_milliseconds.count(), 2, "one a repository");
}

#[test]
fn an_attempt_in_a_repository_starts_git_and_one_outside_does_not() {
    let Some(piton) = piton() else { return };
    let folder = folder_in_git();
    let json = folder.path().join("figures.json");
    let mut bench = small_bench(folder.path(), &piton, &json);
    let (printed, _) = run_bench(bench.args(["--only", "P9"]), &json);
    if printed.contains("strace is not there") {
        writeln!(
            std::io::stderr(),
            "skipped: git processes of an attempt: no strace"
        )
        .expect("stderr is there");
        return;
    }
    let outside = "outside of git, an attempt starts 0.0 git processes";
    assert!(printed.contains(outside), "{printed}");
    assert!(printed.contains("in git, an attempt starts "), "{printed}");
    let inside = "in git, an attempt starts 0.0 git processes";
    assert!(!printed.contains(inside), "{printed}");
}

#[test]
fn two_pitons_are_compared_by_each_hot_command() {
    let Some(piton) = piton() else { return };
    let folder = folder_in_git();
    let json = folder.path().join("figures.json");
    let mut bench = small_bench(folder.path(), &piton, &json);
    bench.arg("--beside").arg(&piton).args(["--pairs", "1"]);
    let (_, figures) = run_bench(&mut bench, &json);
    for id in ["P1", "P5", "P6", "P7", "P8", "P9", "P10", "P13"] {
        assert!(figures.iter().any(|figure| figure["id"] == id), "{id}");
    }
    for figure in &figures {
        let ratio = figure["beside_over_piton"].as_f64();
        assert!(ratio.is_some_and(|ratio| ratio > 0.0), "{figure}");
        assert_eq!(figure["pairs"], 1);
        assert!(figure["slower"].is_null(), "{figure}");
    }
}

#[test]
fn without_a_c_compiler_the_floor_program_is_named_as_that_in_rust() {
    let Some(piton) = piton() else { return };
    let folder = folder_in_git();
    let json = folder.path().join("figures.json");
    let mut bench = small_bench(folder.path(), &piton, &json);
    bench.args(["--only", "P1"]).env("CC", "no-such-compiler");
    let (printed, figures) = run_bench(&mut bench, &json);
    assert!(
        printed.contains("`no-such-compiler` does not work"),
        "{printed}"
    );
    assert_eq!(figures[0]["baseline"], "floor program in Rust");
}

#[test]
fn an_unknown_budget_is_named() {
    let output = Command::new(BENCH)
        .args(["--only", "P99"])
        .env_remove("CARGO")
        .output()
        .expect("the bench starts");
    assert!(!output.status.success());
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("P99 is not measured here"), "{said}");
}

#[test]
fn a_budget_without_pairs_is_named_when_two_pitons_are_compared() {
    let output = Command::new(BENCH)
        .args(["--beside", "piton", "--only", "P3"])
        .env_remove("CARGO")
        .output()
        .expect("the bench starts");
    assert!(!output.status.success());
    let printed = String::from_utf8_lossy(&output.stderr);
    assert!(printed.contains("P3 has no pairs"), "{printed}");
}
