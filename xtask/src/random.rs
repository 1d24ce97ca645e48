//! The seed of random tests: which one `cargo xtask test` uses, and
//! `cargo xtask explore`, which tries fresh ones until its time is over.
//!
//! How a test draws from the seed: see `piton_simkit::seed`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::nextest::{FEATURES, REPORT, unescape};
use crate::program::{cargo, read, run, run_with, works};
use crate::tree::{self, Text};
use crate::{complain, say};

/// The variable that sets the seed: `piton_simkit::seed::VARIABLE`.
pub(crate) const VARIABLE: &str = "PITON_TEST_SEED";

/// The seed where git knows no commit.
const WITHOUT_COMMIT: u32 = 1;

/// The seed of a run of the test command, and where it comes from: that of the
/// environment, else the commit's, so that two runs at one commit try the same.
pub(crate) fn seed_of_run(root: &Path) -> (String, &'static str) {
    if let Ok(seed) = std::env::var(VARIABLE) {
        return (seed, "the environment");
    }
    let commit = read(root, "git", &["rev-parse", "HEAD"]);
    match commit.ok().as_deref().and_then(seed_of_commit) {
        Some(seed) => (seed.to_string(), "the commit"),
        None => (WITHOUT_COMMIT.to_string(), "nowhere: there is no commit"),
    }
}

/// The first 32 bits of the name of a commit.
fn seed_of_commit(name: &str) -> Option<u32> {
    u32::from_str_radix(name.get(..8)?, 16).ok()
}

/// Runs the random tests with fresh seeds for so many minutes.
pub(crate) fn explore(root: &Path, minutes: &str) -> Result<(), String> {
    let minutes: u64 = minutes
        .parse()
        .map_err(|_| format!("`--minutes {minutes}` is not a number of minutes"))?;
    let cargo = cargo();
    if !works(root, &cargo, &["nextest", "--version"]) {
        return Err(
            "explore needs cargo-nextest; install it: cargo install --locked cargo-nextest"
                .to_owned(),
        );
    }
    let files = tree::texts(root).map_err(|error| format!("cannot read the tree: {error}"))?;
    let tests = expression(&files);
    run(
        root,
        &cargo,
        &[
            &["nextest", "run", "--no-run", "--workspace"][..],
            &FEATURES,
        ]
        .concat(),
    )?;
    let deadline = Instant::now() + Duration::from_secs(minutes * 60);
    let mut seed = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(WITHOUT_COMMIT, |since| since.subsec_nanos());
    let mut failures: BTreeMap<Test, Vec<u32>> = BTreeMap::new();
    let mut rounds = 0;
    while rounds == 0 || Instant::now() < deadline {
        // An odd step comes to every seed before one comes again.
        seed = seed.wrapping_add(0x9e37_79b9);
        rounds += 1;
        say(format!("xtask: round {rounds}, {VARIABLE}={seed}"));
        for test in failures_at(root, &cargo, &tests, seed)? {
            complain(format!("xtask: failed: {}", test.command(seed)));
            failures.entry(test).or_default().push(seed);
        }
    }
    summary(rounds, &failures)
}

fn summary(rounds: u32, failures: &BTreeMap<Test, Vec<u32>>) -> Result<(), String> {
    if failures.is_empty() {
        say(format!("xtask: {rounds} seeds tried, no test failed"));
        return Ok(());
    }
    let mut lines = vec![format!(
        "xtask: {rounds} seeds tried; to repeat what failed:"
    )];
    for (test, seeds) in failures {
        lines.extend(
            seeds
                .iter()
                .map(|seed| format!("  {}", test.command(*seed))),
        );
    }
    Err(lines.join("\n"))
}

/// A test that failed.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Test {
    package: String,
    name: String,
}

impl Test {
    fn command(&self, seed: u32) -> String {
        let Self { package, name } = self;
        format!("{VARIABLE}={seed} cargo test -p {package} {name}")
    }
}

/// Runs the tests with one seed.
fn failures_at(root: &Path, cargo: &str, tests: &str, seed: u32) -> Result<Vec<Test>, String> {
    let mut args = vec!["nextest", "run", "--workspace"];
    args.extend(FEATURES);
    args.extend(["--status-level", "fail", "--final-status-level", "none"]);
    args.extend([
        "--failure-output",
        "immediate",
        "--no-fail-fast",
        "-E",
        tests,
    ]);
    let report = root.join(REPORT);
    // Not that of an earlier round.
    drop(fs::remove_file(&report));
    let done = run_with(root, cargo, &args, &[(VARIABLE, &seed.to_string())]);
    let text = fs::read_to_string(report).unwrap_or_default();
    let failed = failed_tests(&text);
    match done {
        // The tests never ran.
        Err(why) if failed.is_empty() => Err(why),
        Ok(()) | Err(_) => Ok(failed),
    }
}

/// The failed tests of a report in the format of JUnit.
fn failed_tests(report: &str) -> Vec<Test> {
    let attribute = |tag: &str, name: &str| {
        let value = tag.split(&format!(" {name}=\"")).nth(1)?;
        Some(unescape(value.split('"').next()?))
    };
    let mut failed = Vec::new();
    for case in report.split("<testcase").skip(1) {
        let (tag, rest) = case.split_once('>').unwrap_or((case, ""));
        let is_failed = !tag.ends_with('/')
            && (rest.trim_start().starts_with("<failure")
                || rest.trim_start().starts_with("<error"));
        if let (true, Some(name), Some(binary)) = (
            is_failed,
            attribute(tag, "name"),
            attribute(tag, "classname"),
        ) {
            let package = binary.split("::").next().unwrap_or(&binary).to_owned();
            failed.push(Test { package, name });
        }
    }
    failed
}

/// The tests that draw from the seed, as nextest selects them: all of the
/// modules whose source names `piton_simkit::seed`.
fn expression(files: &[Text]) -> String {
    let modules: BTreeSet<String> = files
        .iter()
        .filter(|file| file.text.contains("piton_simkit::seed"))
        .filter_map(|file| module_of(&file.path))
        .map(|(package, module)| format!("(package({package}) & test(/^{module}::/))"))
        .collect();
    modules.into_iter().collect::<Vec<_>>().join(" | ")
}

/// The package and the module of a source file with tests.
fn module_of(path: &str) -> Option<(String, String)> {
    let (folder, rest) = path.strip_prefix("crates/")?.split_once('/')?;
    let inner = ["src/", "tests/it/"]
        .iter()
        .find_map(|start| rest.strip_prefix(start))?;
    let module = inner.strip_suffix(".rs")?.replace('/', "::");
    let package = match folder {
        "cli" => "piton".to_owned(),
        _ => format!("piton-{folder}"),
    };
    Some((package, module))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_gives_a_seed_and_no_commit_gives_none() {
        assert_eq!(seed_of_commit("0000001fe2\n"), Some(31));
        assert_eq!(seed_of_commit("fatal: not a git repository"), None);
    }

    #[test]
    fn a_source_that_draws_from_the_seed_is_explored() {
        let file = |path: &str, text: &str| Text {
            path: path.to_owned(),
            text: text.to_owned(),
        };
        let files = [
            file("crates/core/src/a/b.rs", "use piton_simkit::seed::cases;"),
            file("crates/cli/tests/it/c.rs", "piton_simkit::seed::salted(1)"),
            file("crates/core/src/d.rs", "let seed = 3;"),
            file("ARCHITECTURE.md", "piton_simkit::seed"),
        ];
        let wanted = "(package(piton) & test(/^c::/)) | (package(piton-core) & test(/^a::b::/))";
        assert_eq!(expression(&files), wanted);
    }

    #[test]
    fn a_failed_test_is_read_from_the_report_with_the_command_that_repeats_it() {
        let report = "<testsuite name=\"piton-core::it\">\n\
            <testcase name=\"good\" classname=\"piton-core::it\" time=\"1\"/>\n\
            <testcase name=\"loud\" classname=\"piton-core::it\" time=\"1\">\n<system-out>x</system-out></testcase>\n\
            <testcase name=\"m::bad\" classname=\"piton-core::it\" time=\"1\">\n<failure type=\"test failure\"/></testcase>";
        let failed = failed_tests(report);
        let commands: Vec<String> = failed.iter().map(|test| test.command(5)).collect();
        assert_eq!(
            commands,
            ["PITON_TEST_SEED=5 cargo test -p piton-core m::bad"]
        );
    }
}
