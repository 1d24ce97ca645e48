//! The fuzz targets on their seeds, and on seeds with a few changes: what
//! `fuzz/run` does for long, done for a moment wherever the tests run. So the
//! targets keep compiling, though `fuzz/` is a workspace of its own.

use std::fs;
use std::path::{Path, PathBuf};

use piton_simkit::seed::salted;

use crate::fuzz;
use crate::logs::mutated;

/// Changed texts for each seed.
const MUTATIONS: usize = 8;

type Target = (&'static str, fn(&str), &'static [&'static str]);

/// Each target with the folders of its seeds, from the root of the repository,
/// as `fuzz/run` has them.
const TARGETS: [Target; 14] = [
    ("agent_os", fuzz::agent_os, &[LOGS]),
    ("event", fuzz::event, &["fuzz/seeds/event"]),
    ("guardrails", fuzz::guardrails, &[MARKDOWN]),
    ("json", fuzz::json, &[JSON]),
    ("prd", fuzz::prd, &[JSON]),
    ("progress", fuzz::progress, &[YAML]),
    ("ralph_json", fuzz::ralph_json, &[LOGS]),
    ("ralph_logs", fuzz::ralph_logs, &[MARKDOWN]),
    ("ralph_progress", fuzz::ralph_progress, &[MARKDOWN]),
    ("redact", fuzz::redact, &["fuzz/seeds/redact"]),
    ("sdlc", fuzz::sdlc, &[JSON]),
    ("sprint", fuzz::sprint, &[YAML, "fuzz/seeds/sprint"]),
    ("task", fuzz::task, &[MARKDOWN]),
    ("yaml", fuzz::yaml, &[YAML]),
];

const JSON: &str = "crates/formats/tests/corpus/json";
const LOGS: &str = "crates/formats/tests/corpus/logs";
const MARKDOWN: &str = "crates/formats/tests/corpus/markdown";
const YAML: &str = "crates/formats/tests/corpus/yaml";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn files_in(folder: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(root().join(folder)).unwrap();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    assert!(!paths.is_empty(), "{folder}");
    paths
}

#[test]
fn every_fuzz_target_holds_on_its_seeds() {
    for (name, target, folders) in TARGETS {
        let mut seed = salted(name.len() as u64);
        for path in folders.iter().flat_map(|folder| files_in(folder)) {
            let text = fs::read_to_string(path).unwrap();
            target(&text);
            for _ in 0..MUTATIONS {
                target(&mutated(&text, &mut seed));
            }
        }
    }
}

#[test]
fn every_file_of_a_fuzz_target_is_run_here() {
    let files = files_in("fuzz/fuzz_targets");
    let found: Vec<&str> = files
        .iter()
        .filter_map(|path| path.file_stem()?.to_str())
        .collect();
    let here: Vec<&str> = TARGETS.iter().map(|(name, ..)| *name).collect();
    assert_eq!(found, here);
}
