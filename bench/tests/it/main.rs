//! That the bench runs: nothing here is judged by a time.

mod lies;
mod recovery;

use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

const BENCH: &str = env!("CARGO_BIN_EXE_piton-bench");

#[test]
fn a_small_run_measures_every_budget_and_judges_nothing() {
    let piton = Path::new(BENCH).with_file_name("piton");
    if !piton.exists() {
        let why = format!(
            "skipped: {} is not there; `cargo build -p piton` makes it",
            piton.display()
        );
        writeln!(std::io::stderr(), "{why}").expect("stderr is there");
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let json = folder.path().join("figures.json");
    let output = Command::new(BENCH)
        .arg("--small")
        .arg("--dir")
        .arg(folder.path())
        .arg("--json")
        .arg(&json)
        .env("PITON", &piton)
        // All is built already: cargo would wait for the cargo that runs this.
        .env_remove("CARGO")
        .output()
        .expect("the bench starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let text = std::fs::read_to_string(&json).expect("written");
    let written: Value = serde_json::from_str(&text).expect("JSON");
    let figures = written["figures"].as_array().expect("a list");
    for id in ["P1", "P2", "P3", "P4", "P5", "P8", "P9", "P10"] {
        assert!(figures.iter().any(|figure| figure["id"] == id), "{id}");
    }
    for figure in figures {
        assert!(
            figure["ratio"].as_f64().is_some_and(|ratio| ratio > 0.0),
            "{figure}"
        );
        assert!(figure["holds"].is_null(), "{figure}");
    }
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
