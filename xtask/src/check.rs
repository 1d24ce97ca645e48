//! `cargo xtask test`: everything that must pass before a change is merged.
//!
//! It needs the toolchain, git and a C compiler (for SQLite), and no network
//! beyond what cargo fetches. What is missing and could be done without is said
//! aloud, at the place and again at the end.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::nextest::{FEATURES, REPORT, unescape};
use crate::program::{cargo, follow, line_of, run, run_with, works};
use crate::{complain, random, reference, say, tidy, tree};

/// How a test that is no test of its own says so: others start it.
const CHILD: &str = "run by other tests";
/// How a test says that it did not do its work, and why.
const SKIPPED: &str = "skipped: ";

/// Runs everything; goes on after a failure, so that all of them are seen.
pub(crate) fn everything(root: &Path) -> Result<(), String> {
    let began = Instant::now();
    let mut book = Book::default();
    let (seed, source) = random::seed_of_run(root);
    say(format!(
        "xtask: random tests use {}={seed}, from {source}",
        random::VARIABLE
    ));
    book.stage("needs", || needs(root));
    if !book.failed.is_empty() {
        return book.close(began);
    }
    let cargo = cargo();
    if have(root, "fmt", "rustfmt", &mut book) {
        book.stage("format", || run(root, &cargo, &["fmt", "--all", "--check"]));
    }
    if have(root, "clippy", "clippy", &mut book) {
        let strict = is_own_toolchain(root);
        if !strict {
            book.skip("clippy's warnings are shown and do not fail: the toolchain is not the one of `rust-version` in Cargo.toml");
        }
        let mut args = vec!["clippy", "--quiet", "--workspace", "--all-targets"];
        args.extend(FEATURES);
        args.extend(
            strict
                .then_some(["--", "-D", "warnings"])
                .into_iter()
                .flatten(),
        );
        book.stage("clippy", || run(root, &cargo, &args));
    }
    book.stage("tidy", || tidy::tidy(root));
    book.stage("docs", || reference::compare(root));
    guide(root, &mut book);
    supply_chain(root, &cargo, &mut book);
    book.stage("doc tests", || {
        run(root, &cargo, &["test", "--quiet", "--workspace", "--doc"])
    });
    tests(root, &cargo, &seed, &mut book);
    book.close(began)
}

/// What `deny.toml` says of the dependencies, where the tool is there that reads it. Its
/// advisories need a database, which is not fetched here.
fn supply_chain(root: &Path, cargo: &str, book: &mut Book) {
    if !works(root, cargo, &["deny", "--version"]) {
        book.skip(
            "cargo-deny is not installed: licenses and sources of dependencies, and advisories",
        );
        return;
    }
    let check = ["deny", "check", "licenses", "bans", "sources"];
    book.stage("dependencies", || run(root, cargo, &check));
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| std::env::home_dir().map(|home| home.join(".cargo")));
    let databases = home.map(|home| home.join("advisory-dbs"));
    if databases
        .is_some_and(|folder| fs::read_dir(folder).is_ok_and(|mut dbs| dbs.next().is_some()))
    {
        let check = ["deny", "check", "--disable-fetch", "advisories"];
        book.stage("advisories", || run(root, cargo, &check));
    } else {
        book.skip("the database of advisories is not there; `cargo deny fetch` gets it");
    }
}

/// The guide as a book, where mdbook is there.
fn guide(root: &Path, book: &mut Book) {
    if works(root, "mdbook", &["--version"]) {
        book.stage("the guide as a book", || crate::book::build(root));
    } else {
        book.skip("mdbook is not installed: whether the links of the book lead somewhere");
    }
}

/// What nothing goes without.
fn needs(root: &Path) -> Result<(), String> {
    if !works(root, "git", &["--version"]) {
        return Err("git is not there; the tests make repositories with it".to_owned());
    }
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    if !works(root, &compiler, &["--version"]) {
        return Err(format!(
            "there is no C compiler `{compiler}`; SQLite is built with it"
        ));
    }
    Ok(())
}

/// Whether cargo has a part of the toolchain; asks rustup for it if need be.
fn have(root: &Path, command: &str, component: &str, book: &mut Book) -> bool {
    let there = || works(root, &cargo(), &[command, "--version"]);
    if there() {
        return true;
    }
    say(format!("xtask: asking rustup for {component}"));
    if works(root, "rustup", &["component", "add", component]) && there() {
        return true;
    }
    book.skip(format!(
        "{command}: the toolchain has no {component} and rustup cannot add it"
    ));
    false
}

/// Whether the compiler is of the version that the workspace is written with;
/// another one may warn of other things.
fn is_own_toolchain(root: &Path) -> bool {
    let manifest = fs::read_to_string(root.join("Cargo.toml")).unwrap_or_default();
    let wanted = manifest.lines().find_map(|line| {
        let version = line.strip_prefix("rust-version = \"")?;
        version.strip_suffix('"')
    });
    let Some(wanted) = wanted else { return true };
    let compiler = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
    crate::program::read(root, &compiler, &["--version"])
        .is_ok_and(|said| said.starts_with(&format!("rustc {wanted}.")))
}

/// The tests of the workspace, last of all, so that their closing line is seen.
fn tests(root: &Path, cargo: &str, seed: &str, book: &mut Book) {
    let variables = [(random::VARIABLE, seed)];
    for (name, why) in ignored(root) {
        book.skip(format!("{name}: {why}"));
    }
    if works(root, cargo, &["nextest", "--version"]) {
        let mut args = vec!["nextest", "run", "--workspace"];
        args.extend(FEATURES);
        let report = root.join(REPORT);
        // Not that of an earlier run.
        drop(fs::remove_file(&report));
        book.stage("tests", || run_with(root, cargo, &args, &variables));
        for line in fs::read_to_string(report).unwrap_or_default().lines() {
            book.heard(&unescape(line));
        }
        return;
    }
    say(
        "xtask: cargo-nextest is not installed; the same tests run with `cargo test`, which takes longer",
    );
    let mut args = vec!["test", "--workspace", "--all-targets", "--no-fail-fast"];
    args.extend(FEATURES);
    args.extend(["--", "--show-output"]);
    let mut heard = Vec::new();
    book.stage("tests", || {
        follow(root, cargo, &args, &variables, |line| {
            if line.to_ascii_lowercase().contains(SKIPPED) {
                heard.push(line.to_owned());
            }
        })
    });
    for line in heard {
        book.heard(&line);
    }
}

/// Tests that stand in the source and are not run, with the reason given there.
fn ignored(root: &Path) -> Vec<(String, String)> {
    let mark = ["#[igno", "re = \""].concat();
    let mut found = Vec::new();
    for file in tree::texts(root).unwrap_or_default() {
        for (offset, _) in file.text.match_indices(&mark) {
            let rest = &file.text[offset + mark.len()..];
            let why = rest.split("\"]").next().unwrap_or_default();
            let name = rest
                .split("fn ")
                .nth(1)
                .and_then(|rest| rest.split('(').next());
            if !why.starts_with(CHILD) {
                found.push((name.unwrap_or(&file.path).to_owned(), why.to_owned()));
            }
        }
    }
    found
}

/// What went wrong, and what was left out.
#[derive(Default)]
struct Book {
    failed: Vec<String>,
    skipped: Vec<String>,
}

impl Book {
    fn stage(&mut self, name: &str, work: impl FnOnce() -> Result<(), String>) {
        say(format!("xtask: {name}"));
        if let Err(why) = work() {
            complain(format!("xtask: {why}"));
            self.failed.push(name.to_owned());
        }
    }

    fn skip(&mut self, what: impl Into<String>) {
        let what = what.into();
        if !self.skipped.contains(&what) {
            self.skipped.push(what);
        }
    }

    /// A line that a test printed.
    fn heard(&mut self, line: &str) {
        let Some(at) = line.to_ascii_lowercase().find(SKIPPED) else {
            return;
        };
        let why = &line[at + SKIPPED.len()..];
        let why = why.split("</").next().unwrap_or(why);
        self.skip(why.trim());
    }

    fn close(self, began: Instant) -> Result<(), String> {
        for skipped in &self.skipped {
            say(format!("xtask: skipped: {skipped}"));
        }
        let minutes = began.elapsed().as_secs().div_ceil(60);
        if self.failed.is_empty() {
            say(format!("xtask: all is well, after {minutes} min"));
            return Ok(());
        }
        let again = line_of("cargo", &["xtask", "test"]);
        Err(format!(
            "xtask: failed: {}, after {minutes} min; again with `{again}`",
            self.failed.join(", ")
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_test_did_not_do_is_told_once() {
        let mut book = Book::default();
        book.heard("    <system-err>skipped: no strace &amp; no root</system-err>");
        book.heard("SKIPPED: no strace &amp; no root");
        assert_eq!(book.skipped, ["no strace &amp; no root"]);
        assert_eq!(unescape("a &amp;&amp; b"), "a && b");
    }
}
