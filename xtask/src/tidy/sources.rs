//! What holds for every source: no unsafe code, names that say something, and
//! nothing of the machine that somebody wrote it on.

use super::finding::{Finding, file};
use super::layers::shipped_lines;
use crate::tree::Text;

/// Names of files that hold anything and so say nothing.
const EMPTY_NAMES: [&str; 8] = [
    "util", "utils", "helper", "helpers", "common", "types", "manager", "misc",
];

/// What prints in the binary, and the only place that may: there texts are cleaned.
const DOOR: &str = "crates/cli/src/output";
const PRINTERS: [&str; 7] = [
    "println!",
    "print!(",
    "dbg!",
    "stdout()",
    "stderr()",
    "anstream",
    "error.print()",
];

/// The check of trust.
const TRUST: &str = "crates/engine/src/config/trust.rs";

/// What names a shell in the engine: two take a text that is trusted, and the third is the
/// command line of an agent, which is trusted before it is started.
const SHELLS: [&str; 3] = [
    "crates/engine/src/process.rs",
    "crates/engine/src/process/call.rs",
    "crates/engine/src/agents/custom.rs",
];

/// What reads files in the engine by itself: the reader of files, which refuses pipes and
/// devices, and two that read what the system itself makes.
const READERS: [&str; 3] = [
    "crates/engine/src/world/input.rs",
    "crates/engine/src/process/table/proc.rs",
    "crates/engine/src/caller/person.rs",
];

/// How the path of somebody's own folder begins, and the names that anybody has.
const HOMES: [(&str, &[&str]); 4] = [
    ("/home/", &["ada", "dev", "you", "user"]),
    ("/Users/", &["ada", "you"]),
    ("/root/", &[]),
    ("/work/", &[]),
];

pub(super) fn check(files: &[Text]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in files {
        findings.extend(empty_name(file));
        findings.extend(homes(file));
        findings.extend(unmerged(file));
        if file.has_ending("rs") {
            findings.extend(unsafe_code(file));
            findings.extend(second_door(file));
            findings.extend(second_shell(file));
            findings.extend(second_reader(file));
            findings.extend(unseeded(file));
        }
    }
    findings.extend(lints(files));
    findings
}

fn empty_name(file: &Text) -> Option<Finding> {
    let names = file.path.split('/');
    let said = names
        .map(|name| name.split('.').next().unwrap_or(name))
        .find(|name| EMPTY_NAMES.contains(name))?;
    let what = format!("`{said}` says nothing of what is in it: name it for the thing it holds");
    Some(Finding::of(&file.path, what))
}

fn homes(file: &Text) -> Vec<Finding> {
    // The list of them stands in this very file.
    if file.path.ends_with("tidy/sources.rs") {
        return Vec::new();
    }
    let mut findings = Vec::new();
    for (home, anybody) in HOMES {
        for (offset, _) in file.text.match_indices(home) {
            let before = file.text[..offset].chars().next_back();
            let name: String = file.text[offset + home.len()..]
                .chars()
                .take_while(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '.'))
                .collect();
            let inside =
                before.is_some_and(|c| c.is_alphanumeric() || matches!(c, '.' | '_' | '}'));
            if !inside && !name.is_empty() && !anybody.contains(&name.as_str()) {
                let what = format!("{home}{name} is a path of somebody's own machine");
                findings.push(Finding::at(file, offset, what));
            }
        }
    }
    findings
}

/// Both sides of a merge that nobody finished. The marks are built here, or
/// this very file would have some.
fn unmerged(file: &Text) -> Vec<Finding> {
    let marks = ['<', '>'].map(|mark| format!("{} ", mark.to_string().repeat(7)));
    let mut findings = Vec::new();
    let mut offset = 0;
    for line in file.text.split_inclusive('\n') {
        if marks.iter().any(|mark| line.starts_with(mark)) {
            findings.push(Finding::at(file, offset, "a merge was not finished here"));
        }
        offset += line.len();
    }
    findings
}

fn unsafe_code(file: &Text) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (offset, line) in shipped_lines(&file.text) {
        let code = line.split('"').step_by(2);
        let words = code.flat_map(|part| part.split(|c: char| !c.is_alphanumeric() && c != '_'));
        if words.into_iter().any(|word| word == "unsafe") {
            findings.push(Finding::at(file, offset, "there is no unsafe code here"));
        }
    }
    findings
}

/// A place of the binary that prints beside the one that cleans what it prints.
fn second_door(file: &Text) -> Vec<Finding> {
    if !file.path.starts_with("crates/cli/src/") || file.path.starts_with(DOOR) {
        return Vec::new();
    }
    let mut findings = Vec::new();
    for (offset, line) in shipped_lines(&file.text) {
        for word in PRINTERS.iter().filter(|word| line.contains(*word)) {
            let what = format!("`{word}` prints past `CliOutput`, which cleans what it prints");
            findings.push(Finding::at(file, offset, what));
        }
    }
    findings
}

/// A place of the engine that starts a shell beside those that take what is trusted.
fn second_shell(file: &Text) -> Vec<Finding> {
    if !file.path.starts_with("crates/engine/src/") || SHELLS.contains(&file.path.as_str()) {
        return Vec::new();
    }
    let is_check = file.path == TRUST;
    let found = shipped_lines(&file.text).filter(|(_, line)| {
        line.contains("\"sh\"") || (line.contains("::of_checked(") && !is_check)
    });
    let what = "a shell is started with what is `Trusted`: see `process::run_script`";
    found
        .map(|(offset, _)| Finding::at(file, offset, what))
        .collect()
}

/// A place of the engine that opens a file by itself: a pipe that lies there has it wait
/// without end. A folder is opened to be flushed.
fn second_reader(file: &Text) -> Vec<Finding> {
    if !file.path.starts_with("crates/engine/src/") || READERS.contains(&file.path.as_str()) {
        return Vec::new();
    }
    let reads = |line: &str| line.contains("fs::read(") || line.contains("fs::read_to_string(");
    let names_file = |before: &str| !before.ends_with(|c: char| c.is_ascii_alphanumeric());
    let opens = |line: &str| {
        let before = line.split_once("File::open(").map(|(before, _)| before);
        before.is_some_and(names_file) && !line.contains("sync_all")
    };
    let what = "a file is opened past `world::input`, which waits for no pipe";
    shipped_lines(&file.text)
        .filter(|(_, line)| reads(line) || opens(line))
        .map(|(offset, _)| Finding::at(file, offset, what))
        .collect()
}

/// A property test without the settings of the seed draws from the system, and
/// fails or passes by luck.
fn unseeded(file: &Text) -> Vec<Finding> {
    // What is looked for stands in this very file.
    if file.path.ends_with("tidy/sources.rs") {
        return Vec::new();
    }
    let blocks = file.text.match_indices("proptest! {");
    blocks
        .filter(|(offset, block)| {
            let inside = file.text[offset + block.len()..].trim_start();
            let settings = inside.lines().next().unwrap_or_default();
            !(settings.starts_with("#![proptest_config(") && settings.contains("cases("))
                || settings.contains("with_cases(")
        })
        .map(|(offset, _)| {
            let what = "a random test without `#![proptest_config(cases(N))]` of `piton_simkit::seed` depends on luck";
            Finding::at(file, offset, what)
        })
        .collect()
}

/// Every crate follows the lints of the workspace, which forbid unsafe code.
fn lints(files: &[Text]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let forbids = file(files, "Cargo.toml").is_some_and(|root| {
        let mut lines = root.text.lines();
        lines.any(|line| line.trim() == "unsafe_code = \"forbid\"")
    });
    if !forbids {
        findings.push(Finding::of("Cargo.toml", "does not forbid unsafe code"));
    }
    let manifests = files
        .iter()
        .filter(|file| file.path.ends_with("/Cargo.toml") && !file.path.starts_with("fuzz/"));
    for manifest in manifests {
        if !manifest.text.contains("[lints]\nworkspace = true") {
            let what = "does not follow the lints of the workspace";
            findings.push(Finding::of(&manifest.path, what));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(path: &str, text: &str) -> Text {
        Text {
            path: path.to_owned(),
            text: text.to_owned(),
        }
    }

    #[test]
    fn a_name_that_says_nothing_is_found_wherever_it_stands() {
        assert!(empty_name(&source("crates/core/src/utils.rs", "")).is_some());
        assert!(empty_name(&source("crates/core/src/common/mod.rs", "")).is_some());
        assert!(empty_name(&source("crates/core/src/commander.rs", "")).is_none());
    }

    #[test]
    fn a_home_is_told_from_a_folder_of_that_name() {
        assert_eq!(homes(&source("a.md", "see /home/grace/piton")).len(), 1);
        assert!(
            homes(&source(
                "a.md",
                "see /home/ada/piton, https://a.org/home/grace"
            ))
            .is_empty()
        );
    }

    #[test]
    fn a_merge_that_was_not_finished_is_found() {
        let mark = "<".repeat(7);
        let text = format!("a\n{mark} HEAD\nb\n");
        assert_eq!(unmerged(&source("a.md", &text)).len(), 1);
        assert!(unmerged(&source("a.md", "a <<<<<<< b\n=======\n")).is_empty());
    }

    #[test]
    fn what_prints_beside_the_door_is_found() {
        let line = "println!(\"x\");\nio::stderr().flush();\n// stdout()\n";
        let found = |path| second_door(&source(path, line)).len();
        assert_eq!(found("crates/cli/src/consent.rs"), 2);
        assert_eq!(found("crates/cli/src/output.rs"), 0);
        assert_eq!(found("xtask/src/main.rs"), 0);
    }

    #[test]
    fn a_shell_beside_the_door_is_found() {
        let line = "run_call(&ProgramCall { program: \"sh\", args })\n";
        let found = |path| second_shell(&source(path, line)).len();
        assert_eq!(found("crates/engine/src/runner/waits.rs"), 1);
        assert_eq!(found("crates/engine/src/process/call.rs"), 0);
        assert_eq!(found("crates/simkit/src/repo.rs"), 0);
        let made = source(
            "crates/engine/src/runner/gate.rs",
            "Trusted::of_checked(text)\n",
        );
        assert_eq!(second_shell(&made).len(), 1);
        let made = source(TRUST, "Trusted::of_checked(text)\n");
        assert_eq!(second_shell(&made).len(), 0);
    }

    #[test]
    fn a_file_that_is_opened_past_the_reader_is_found() {
        let text = "fs::read(path)?;\nFile::open(path)?;\nFile::open(folder)?.sync_all()?;\nSyncedFile::open(path)?;\n";
        let found = |path| second_reader(&source(path, text)).len();
        assert_eq!(found("crates/engine/src/verbs/log.rs"), 2);
        assert_eq!(found("crates/engine/src/world/input.rs"), 0);
        assert_eq!(found("crates/simkit/src/repo.rs"), 0);
    }

    #[test]
    fn a_random_test_without_the_seed_is_found() {
        let block = |settings: &str| format!("proptest! {{\n    {settings}\n    #[test]\n");
        let found = |settings: &str| unseeded(&source("a.rs", &block(settings))).len();
        assert_eq!(found("#![proptest_config(cases(24))]"), 0);
        assert_eq!(
            found("#![proptest_config(ProptestConfig::with_cases(24))]"),
            1
        );
        assert_eq!(found(""), 1);
    }

    #[test]
    fn unsafe_is_a_word_of_code_and_not_of_prose() {
        assert_eq!(unsafe_code(&source("a.rs", "unsafe { x() }\n")).len(), 1);
        let prose = "// unsafe\nlet unsafe_code = \"unsafe\";\n";
        assert!(unsafe_code(&source("a.rs", prose)).is_empty());
    }
}
