//! P7: what an event costs with each format kept that has a list, whatever the size
//! of its file.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;

use crate::bed::{Bed, Size, time};
use crate::figure::Figure;
use crate::sample::{Subject, take_turns};
use crate::{Result, event};

/// A file with a list: where it is, a text of at least so many bytes, and an event
/// that it shows.
struct List {
    path: &'static str,
    text: fn(usize) -> Result<String>,
    event: fn(&Bed, &Path, usize) -> Result<Command>,
}

const LISTS: [List; 6] = [
    List {
        path: ".ralph/progress.json",
        text: |bytes| {
            Ok(serde_json::to_string_pretty(
                &super::native_file::filled_to(bytes)?,
            )?)
        },
        event: recorded,
    },
    List {
        path: ".agent-os/progress/progress.json",
        text: log_text,
        event: logged,
    },
    List {
        path: ".ralph/progress.md",
        text: |bytes| Ok(repeated("# Progress Log\n", session, bytes, "")),
        event: logged,
    },
    List {
        path: ".ralph/guardrails.md",
        text: |bytes| {
            let head = "# Guardrails (Signs)\n\n## Active Guardrails\n";
            Ok(repeated(head, sign, bytes, "\n## Resolved Guardrails\n"))
        },
        event: |bed, folder, number| {
            let mut command = bed.piton(folder, &["learn", "add", "--kind", "guardrail"]);
            let title = format!("Nail {number}");
            command.args(["--title", &title, "--trigger", "Before a cut", event::NOTES]);
            Ok(command)
        },
    },
    List {
        path: ".ralph/activity.log",
        text: |bytes| Ok(repeated("# Activity Log\n\n", call, bytes, "")),
        event: |bed, folder, _| {
            let file = folder.join("call.json");
            fs::write(&file, super::hook::CALL)?;
            let mut command = bed.piton(folder, &["hook", "PostToolUse"]);
            command.stdin(File::open(&file)?);
            Ok(command)
        },
    },
    List {
        path: ".ralph/errors.log",
        text: |bytes| Ok(repeated("# Error Log\n\n", error, bytes, "")),
        event: |bed, folder, number| {
            let mut command = recorded(bed, folder, number)?;
            command.args(["--outcome", "failed"]);
            Ok(command)
        },
    },
];

fn recorded(bed: &Bed, folder: &Path, number: usize) -> Result<Command> {
    Ok(event::record(bed, folder, number))
}

fn logged(bed: &Bed, folder: &Path, _: usize) -> Result<Command> {
    let mut command = bed.piton(folder, &[]);
    command.args(event::arguments());
    Ok(command)
}

/// A text of so many bytes: its head, what is repeated with a number, and its end.
fn repeated(head: &str, one: fn(&mut String, usize), bytes: usize, end: &str) -> String {
    let mut text = head.to_owned();
    let mut number = 0;
    while text.len() + end.len() < bytes {
        number += 1;
        one(&mut text, number);
    }
    text + end
}

fn put(text: &mut String, words: std::fmt::Arguments<'_>) {
    text.write_fmt(words).expect("a string takes all");
}

fn session(text: &mut String, number: usize) {
    let (day, notes) = (number % 28 + 1, event::NOTES);
    put(
        text,
        format_args!("\n## Session {number} (2026-01-{day:02})\n\n### Completed\n"),
    );
    for nth in 1..=3 {
        put(
            text,
            format_args!("- [x] Criterion {nth} - Plank {number}\n  - Notes: {notes}\n"),
        );
    }
}

fn sign(text: &mut String, number: usize) {
    let notes = event::NOTES;
    put(
        text,
        format_args!(
            "\n### Sign: Measure {number} times\n- **Trigger**: Before a cut\n- **Instruction**: {notes}\n- **Added after**: Session {number}\n"
        ),
    );
}

fn call(text: &mut String, number: usize) {
    let (hour, minute, second) = (number / 3600 % 24, number / 60 % 60, number % 60);
    put(
        text,
        format_args!(
            "🟢 [2026-01-15 {hour:02}:{minute:02}:{second:02}] SHELL make test → exit 0\n"
        ),
    );
}

fn error(text: &mut String, number: usize) {
    let (hour, minute, second) = (number / 3600 % 24, number / 60 % 60, number % 60);
    put(
        text,
        format_args!(
            "⚠️ [2026-01-15 {hour:02}:{minute:02}:{second:02}] ERROR: {} {number}\n",
            event::SUMMARY
        ),
    );
}

/// The log of Agent OS, of the last days.
fn log_text(bytes: usize) -> Result<String> {
    let now = jiff::Timestamp::now();
    let entry = |number: usize, count: usize| {
        let age = jiff::SignedDuration::from_secs((count - number) as i64);
        json!({
            "id": format!("entry-{number:06}"), "timestamp": format!("{:.3}", now - age),
            "type": "task_completed", "spec": event::SPEC, "task_id": "1.2",
            "data": {"description": event::SUMMARY, "notes": event::NOTES},
        })
    };
    let one = serde_json::to_string_pretty(&[entry(0, 1)])?.len();
    let count = bytes / one;
    let entries: Vec<_> = (0..count).map(|number| entry(number, count)).collect();
    let times = [entries.first(), entries.last()].map(|entry| Some(entry?["timestamp"].clone()));
    Ok(serde_json::to_string_pretty(&json!({
        "version": "1.0", "project": "bench", "entries": entries,
        "metadata": {
            "total_entries": count, "oldest_entry": times[0], "last_updated": times[1],
            "archived_through": null,
        },
    }))?)
}

/// A project that keeps a file of so many bytes, or none.
fn project(bed: &Bed, list: &List, bytes: usize) -> Result<PathBuf> {
    let name = list.path.replace(['/', '.'], "-");
    let folder = bed.project(&format!("list{name}-{bytes}"))?;
    if bytes > 0 {
        let file = folder.join(list.path);
        fs::create_dir_all(file.parent().unwrap_or(&folder))?;
        fs::write(&file, (list.text)(bytes)?)?;
    }
    time(&mut bed.piton(&folder, &["init", "--yes"]))?;
    Ok(folder)
}

/// P7: an event with each format kept, at four sizes and without a file.
pub(super) fn each(bed: &Bed) -> Result<Vec<Figure>> {
    let sizes: &[usize] = match bed.size {
        Size::Small => &[10_000, 50_000],
        Size::Ordinary => &[10_000, 250_000, 1_500_000, 6_000_000],
        Size::Large => &[10_000, 250_000, 1_500_000, 60_000_000],
    };
    let rounds = bed.size.pick(2, 21);
    let mut figures = Vec::new();
    for list in &LISTS {
        let mut folders = vec![project(bed, list, 0)?];
        for bytes in sizes {
            folders.push(project(bed, list, *bytes)?);
        }
        let mut subjects: Vec<Subject<'_>> = Vec::new();
        for folder in &folders {
            let mut number = 0;
            subjects.push(Box::new(move || {
                number += 1;
                // A version that was put aside a moment ago is left to who reads it.
                std::thread::sleep(std::time::Duration::from_millis(bed.size.pick(1, 60) as u64));
                time(&mut (list.event)(bed, folder, number)?)
            }));
        }
        let samples = take_turns(rounds, &mut subjects)?;
        drop(subjects);
        for (folder, bytes) in folders[1..].iter().zip(sizes) {
            shows_more(&folder.join(list.path), *bytes)?;
        }
        let [off, small, .., large] = samples.as_slice() else {
            return Err("five subjects have five samples".into());
        };
        let what = format!(
            "an event, {} of {} KB",
            list.path,
            sizes[sizes.len() - 1] / 1_000
        );
        figures.push(Figure::at_most(
            1.3,
            "P7",
            (&what, large),
            ("the same at 10 KB", small),
        ));
        figures.push(Figure::at_most(
            2.5,
            "P7",
            (&what, large),
            ("the same with no file", off),
        ));
        for (sample, bytes) in samples[2..samples.len() - 1].iter().zip(&sizes[1..]) {
            let what = format!("an event, {} of {} KB", list.path, bytes / 1_000);
            figures.push(Figure::aside(
                "",
                (&what, sample),
                ("the same at 10 KB", small),
            ));
        }
    }
    Ok(figures)
}

/// Whether the file has grown by what was recorded.
fn shows_more(path: &Path, bytes: usize) -> Result<()> {
    let length = fs::metadata(path)?.len();
    if length > bytes as u64 {
        Ok(())
    } else {
        Err(format!("{} does not show what was recorded", path.display()).into())
    }
}
