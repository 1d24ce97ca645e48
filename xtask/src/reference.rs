//! Documents that are made from the program itself.
//!
//! `docs/cli.md` is what `--help` says, of every command; `docs/mcp.md` is what
//! `piton mcp` lists; the index of failures is made from the table of codes and the first sentence of each page;
//! the table of contents ends with every page of the folders that only grow.

use std::fs;
use std::path::Path;

use crate::tidy::{codes, first_sentence, number};
use crate::{program, tools};

/// Written by this and by nobody else.
const NOTE: &str =
    "<!-- Written by `cargo xtask docs`; change the program, or the pages, instead. -->";

const SUMMARY: &str = "docs/SUMMARY.md";
/// What people wrote of the table of contents ends with this.
const SUMMARY_MARK: &str = "<!-- What follows is written by `cargo xtask docs`. -->\n";
/// Each folder whose pages are all listed: its heading, and the page that stands for it.
const FOLDERS: [(&str, &str, Option<&str>); 3] = [
    ("formats", "Formats", None),
    ("errors", "Failures", Some("errors/README.md")),
    ("design", "Design notes", None),
];

/// Writes every generated document.
pub(crate) fn write(root: &Path) -> Result<(), String> {
    for (path, text) in documents(root)? {
        fs::write(root.join(path), text)
            .map_err(|error| format!("cannot write {path}: {error}"))?;
        crate::say(format!("docs: wrote {path}"));
    }
    Ok(())
}

/// Compares every generated document with what it would be.
pub(crate) fn compare(root: &Path) -> Result<(), String> {
    let mut stale = Vec::new();
    for (path, text) in documents(root)? {
        let present = fs::read_to_string(root.join(path)).unwrap_or_default();
        if present == text {
            continue;
        }
        let line = present
            .lines()
            .zip(text.lines())
            .position(|(is, ought)| is != ought)
            .unwrap_or_else(|| present.lines().count().min(text.lines().count()));
        crate::complain(format!(
            "{path}:{}: should be: {}",
            line + 1,
            text.lines().nth(line).unwrap_or("(the end)")
        ));
        stale.push(path);
    }
    if stale.is_empty() {
        crate::say("docs: what is generated is up to date");
        return Ok(());
    }
    Err(format!(
        "docs: {} must be written anew: `cargo xtask docs`",
        stale.join(", ")
    ))
}

fn documents(root: &Path) -> Result<Vec<(&'static str, String)>, String> {
    let piton = build(root)?;
    Ok(vec![
        ("docs/cli.md", commands(root, &piton)?),
        ("docs/mcp.md", tools::page(root, &piton, NOTE)?),
        ("docs/errors/README.md", failures(root)?),
        (SUMMARY, summary(root)?),
    ])
}

/// The table of contents of the guide: a book has the pages that are listed here, and a
/// link to any other one leads nowhere.
fn summary(root: &Path) -> Result<String, String> {
    let present = fs::read_to_string(root.join(SUMMARY))
        .map_err(|error| format!("cannot read {SUMMARY}: {error}"))?;
    let (written, _) = present
        .split_once(SUMMARY_MARK)
        .ok_or_else(|| format!("{SUMMARY} lacks the line {SUMMARY_MARK}"))?;
    let mut text = format!("{written}{SUMMARY_MARK}");
    for (folder, heading, page) in FOLDERS {
        text.push_str(&format!("\n- [{heading}]({})\n", page.unwrap_or_default()));
        for (path, title) in titles(root, folder)? {
            if Some(path.as_str()) != page {
                text.push_str(&format!("  - [{title}]({path})\n"));
            }
        }
    }
    Ok(text)
}

/// The pages of a folder of `docs`, by name, with their first headings.
fn titles(root: &Path, folder: &str) -> Result<Vec<(String, String)>, String> {
    let cannot = |error: std::io::Error| format!("cannot read docs/{folder}: {error}");
    let mut found = Vec::new();
    for entry in fs::read_dir(root.join("docs").join(folder)).map_err(cannot)? {
        let entry = entry.map_err(cannot)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if !name.ends_with(".md") {
            continue;
        }
        let text = fs::read_to_string(entry.path()).map_err(cannot)?;
        let title = text.lines().find_map(|line| line.strip_prefix("# "));
        let title = title.ok_or_else(|| format!("docs/{folder}/{name} has no heading"))?;
        found.push((format!("{folder}/{name}"), title.trim().to_owned()));
    }
    found.sort();
    Ok(found)
}

fn commands(root: &Path, piton: &str) -> Result<String, String> {
    let mut text = format!(
        "# Commands\n\n{NOTE}\n\nData goes to stdout, everything else to stderr. The guide lists the [exit statuses](guide/reading.md#exit-status) and shows [how to begin](guide/getting-started.md).\n"
    );
    let mut left = vec![Vec::new()];
    while let Some(path) = left.pop() {
        let mut args: Vec<&str> = path.iter().map(String::as_str).collect();
        args.push("--help");
        let help = program::read(root, piton, &args)?;
        let title = ["piton".to_owned()]
            .into_iter()
            .chain(path.iter().cloned())
            .collect::<Vec<_>>()
            .join(" ");
        let lines: Vec<&str> = help.lines().map(str::trim_end).collect();
        text.push_str(&format!(
            "\n## {title}\n\n```text\n{}\n```\n",
            lines.join("\n").trim_end()
        ));
        let below = subcommands(&help).into_iter().map(|name| {
            let mut below = path.clone();
            below.push(name);
            below
        });
        left.extend(below.rev());
    }
    Ok(text)
}

/// The names of the commands in a help text: they stand, under one heading or
/// several, between the usage and the arguments and options.
fn subcommands(help: &str) -> Vec<String> {
    let listed = help
        .lines()
        .skip_while(|line| !line.starts_with("Usage:"))
        .take_while(|line| *line != "Arguments:" && *line != "Options:");
    // A name stands two columns in; what is said of it may go on further in.
    listed
        .filter_map(|line| line.strip_prefix("  "))
        .filter(|line| !line.starts_with(' '))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
        .map(str::to_owned)
        .collect()
}

/// Builds piton as developers do; where it is then.
fn build(root: &Path) -> Result<String, String> {
    program::run(
        root,
        &program::cargo(),
        &["build", "--quiet", "--package", "piton"],
    )?;
    let metadata = cargo_metadata::MetadataCommand::new()
        .manifest_path(root.join("Cargo.toml"))
        .no_deps()
        .exec()
        .map_err(|error| format!("cargo metadata failed: {error}"))?;
    let built = metadata.target_directory.join("debug").join("piton");
    Ok(format!("{built}{}", std::env::consts::EXE_SUFFIX))
}

fn failures(root: &Path) -> Result<String, String> {
    let read = |path: &str| {
        fs::read_to_string(root.join(path)).map_err(|error| format!("cannot read {path}: {error}"))
    };
    let source = read(crate::tidy::CODES)?;
    let mut text = format!(
        "# Failures\n\n{NOTE}\n\nEvery failure has a code, which the message shows in brackets at its end. With `--json`, the failure is an object on stderr, `{{\"schema\": \"piton.error/1\", \"error\": {{\"code\", \"message\", \"causes\", \"hint\", \"exit\"}}}}`, with `\"problems\"` if files have mistakes: the same objects as `piton plan check --json` prints.\n\n| code | exit status | what happened |\n|---|---|---|\n"
    );
    for (code, exit) in codes(&source) {
        let page = read(&format!("{}/{code}.md", crate::tidy::PAGES))?;
        let number = number(&source, &exit).unwrap_or_default();
        text.push_str(&format!(
            "| [{code}]({code}.md) | {number} | {} |\n",
            first_sentence(&page)
        ));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_found_in_a_help_text() {
        let help = "What it is.\n\nUsage: piton <COMMAND>\n\nRun:\n  run     Work\n          and more\n\nMore:\n  status  Look\n  help    Print\n\nOptions:\n  -h, --help\n";
        assert_eq!(subcommands(help), ["run", "status"]);
    }
}
