//! `cargo xtask faults`: power cuts, failing calls, kills, damage, hostile projects,
//! secrets, fuzzing, and other ways of saving beside piton's. A short form of each is
//! among the tests; this runs one of them alone, and its long form.
//!
//! What was tried is printed by the tests on lines that begin with `faults:`.

use std::fs;
use std::path::Path;

use crate::nextest::{FEATURES, unescape};
use crate::program::{cargo, run, run_with, works};
use crate::say;

/// Where nextest leaves what these tests printed: see `.config/nextest.toml`.
const REPORT: &str = "target/nextest/faults/report.xml";
/// How a test says what it tried.
const MARK: &str = "faults: ";

/// How much is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// As the test command does.
    Short,
    /// As `docs/reliability.md` reports it.
    Long,
}

/// What carries out a suite.
enum Work {
    /// Tests, by package and by the beginning of their names.
    Tests(&'static [(&'static str, &'static [&'static str])]),
    /// A program of this repository: its name and arguments, short and long.
    Program(&'static str, [&'static [&'static str]; 2]),
    /// A binary of the bench.
    Bench([&'static [&'static str]; 2]),
}

struct Suite {
    name: &'static str,
    about: &'static str,
    work: Work,
    /// Variables of the long form.
    long: &'static [(&'static str, &'static str)],
}

const SUITES: &[Suite] = &[
    Suite {
        name: "power",
        about: "power cuts, and a control whose flushes do nothing",
        work: Work::Tests(&[
            ("piton", &["fault_suites::power"]),
            ("piton-testkit", &["simulation"]),
        ]),
        long: &[("PITON_FAULT_TRIALS", "300"), ("PITON_SIM_SEEDS", "500")],
    },
    Suite {
        name: "calls",
        about: "calls of the kernel that fail, and writes that end early",
        work: Work::Tests(&[
            ("piton", &["fault_suites::calls", "crash::calls"]),
            ("piton-store", &["syscalls", "disk"]),
        ]),
        long: &[("PITON_FAULT_TRIALS", "2000")],
    },
    Suite {
        name: "kills",
        about: "SIGKILL for writers and whole runs, at any moment",
        work: Work::Tests(&[
            (
                "piton",
                &["crash::moments", "crash::points", "crash::commits"],
            ),
            ("piton-store", &["crash"]),
        ]),
        long: &[
            ("PITON_FAULT_TRIALS", "2000"),
            ("PITON_CRASH_ROUNDS", "800"),
        ],
    },
    Suite {
        name: "damage",
        about: "flipped bits and lost ends in every file of the store",
        work: Work::Tests(&[
            ("piton", &["fault_suites::damage", "damaged", "lost_log"]),
            ("piton-store", &["damage"]),
        ]),
        long: &[("PITON_FAULT_TRIALS", "1000")],
    },
    Suite {
        name: "hostile",
        about: "repositories and agents that mean harm",
        work: Work::Tests(&[("piton", &["links", "terminal", "trust", "hostile_agents"])]),
        long: &[],
    },
    Suite {
        name: "secrets",
        about: "secrets that must not be stored, and innocent texts that must stay",
        work: Work::Tests(&[
            ("piton-core", &["redact", "redaction", "secrets"]),
            ("piton", &["faults::secrets"]),
        ]),
        long: &[],
    },
    Suite {
        name: "fuzz",
        about: "each parser and the decoder of events, by cargo-fuzz",
        work: Work::Program("fuzz/run", [&["10"], &["3600"]]),
        long: &[],
    },
    Suite {
        name: "plug",
        about: "eight writers, kills and power cuts: piton beside other ways of saving",
        work: Work::Bench([&["plug", "--small"], &["plug"]]),
        long: &[],
    },
];

/// The suites, for the usage.
pub(crate) fn list() -> String {
    let line = |suite: &Suite| format!("  {:8} {}", suite.name, suite.about);
    SUITES.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// Runs a suite.
pub(crate) fn run_suite(root: &Path, name: &str, form: Form) -> Result<(), String> {
    let suite = SUITES.iter().find(|suite| suite.name == name);
    let suite = suite.ok_or_else(|| format!("no suite is called `{name}`:\n{}", list()))?;
    let of_form = |forms: &[&'static [&'static str]; 2]| match form {
        Form::Short => forms[0],
        Form::Long => forms[1],
    };
    match &suite.work {
        Work::Tests(tests) => run_tests(root, tests, &variables(suite, form)),
        Work::Program(program, forms) => {
            let program = root.join(program);
            run(root, &program.to_string_lossy(), of_form(forms))
        }
        Work::Bench(forms) => {
            let begin = [
                "run",
                "--quiet",
                "--release",
                "--package",
                "piton-bench",
                "--",
            ];
            run(root, &cargo(), &[&begin, of_form(forms)].concat())
        }
    }
}

/// Those of the long form; what the environment sets holds.
fn variables(suite: &Suite, form: Form) -> Vec<(&'static str, &'static str)> {
    let set = |(name, _): &&(&'static str, &'static str)| std::env::var_os(name).is_none();
    match form {
        Form::Short => Vec::new(),
        Form::Long => suite.long.iter().filter(set).copied().collect(),
    }
}

fn run_tests(
    root: &Path,
    tests: &[(&str, &[&str])],
    variables: &[(&str, &str)],
) -> Result<(), String> {
    let cargo = cargo();
    if !works(root, &cargo, &["nextest", "--version"]) {
        return Err(
            "faults needs cargo-nextest; install it: cargo install --locked cargo-nextest"
                .to_owned(),
        );
    }
    let expression = expression(tests);
    let mut args = vec!["nextest", "run", "--profile", "faults", "--no-fail-fast"];
    for (package, _) in tests {
        args.extend(["--package", package]);
    }
    // It is a feature of the program, and cargo refuses it where that is not built.
    if tests.iter().any(|(package, _)| *package == "piton") {
        args.extend(FEATURES);
    }
    args.extend(["-E", &expression]);
    let report = root.join(REPORT);
    // Not that of an earlier run.
    drop(fs::remove_file(&report));
    let done = run_with(root, &cargo, &args, variables);
    for line in fs::read_to_string(report).unwrap_or_default().lines() {
        if let Some(figures) = figures_in(line) {
            say(figures);
        }
    }
    done
}

/// What a test says that it tried, or did not.
fn figures_in(line: &str) -> Option<String> {
    let at = line.find(MARK).or_else(|| line.find("skipped: "))?;
    let figures = line[at..].split("</").next()?;
    Some(unescape(figures.trim()))
}

fn expression(tests: &[(&str, &[&str])]) -> String {
    let of_package = |(package, names): &(&str, &[&str])| {
        format!("(package({package}) & test(/^({})/))", names.join("|"))
    };
    tests.iter().map(of_package).collect::<Vec<_>>().join(" | ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_suite_selects_its_tests_by_package_and_name() {
        let wanted = "(package(piton) & test(/^(a|b::c)/)) | (package(piton-store) & test(/^(d)/))";
        let tests: &[(&str, &[&str])] = &[("piton", &["a", "b::c"]), ("piton-store", &["d"])];
        assert_eq!(expression(tests), wanted);
    }

    #[test]
    fn what_a_test_tried_is_found_in_the_report() {
        let line = "<system-out>faults: power: 3 cuts &amp; more</system-out>";
        assert_eq!(
            figures_in(line).as_deref(),
            Some("faults: power: 3 cuts & more")
        );
        assert_eq!(figures_in("test result: ok"), None);
    }
}
