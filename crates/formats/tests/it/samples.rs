//! Files that others have written, where there are any.

use std::path::{Path, PathBuf};

use piton_formats::problem::Problem;
use piton_formats::ralph_dir::{guardrails, logs, progress};
use piton_formats::sprint::{Layout, Source, detect_layout, parse_progress, render_progress};
use piton_formats::{task, yaml};

use crate::edits;

#[expect(
    clippy::disallowed_methods,
    reason = "the folder of samples is given by the environment"
)]
fn folder() -> Option<PathBuf> {
    std::env::var_os("PITON_SAMPLES").map(PathBuf::from)
}

fn files(dir: &Path, extensions: &[&str], found: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(dir) else {
        return;
    };
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_dir() {
            files(&path, extensions, found);
        } else if path
            .extension()
            .is_some_and(|ext| extensions.iter().any(|known| ext == *known))
        {
            found.push(path);
        }
    }
}

#[test]
fn files_of_others_are_read_and_written_back() {
    let Some(folder) = folder() else {
        eprintln!("skipped: PITON_SAMPLES names no folder");
        return;
    };
    let mut paths = Vec::new();
    files(&folder, &["yaml", "yml"], &mut paths);
    for path in paths {
        let text = std::fs::read_to_string(&path).unwrap();
        let name = path.display().to_string();
        let parsed = yaml::parse(&text);
        if let (true, Some(root)) = (parsed.faults.is_empty(), &parsed.root) {
            let again = yaml::parse(&yaml::emit(root)).root;
            assert_eq!(again.as_ref(), Some(root), "{name}");
        }
        if detect_layout(&text) != Layout::Current {
            continue;
        }
        let source = Source {
            name: &name,
            text: &text,
        };
        let (progress, problems) = parse_progress(source);
        assert!(!problems.iter().any(Problem::is_error), "{problems:#?}");
        let progress = progress.unwrap();
        let written = render_progress(&progress);
        let source = Source {
            name: &name,
            text: &written,
        };
        assert_eq!(parse_progress(source).0, Some(progress), "{name}");
    }
}

#[test]
fn markdown_of_others_is_read_and_edits_leave_the_rest_alone() {
    let Some(folder) = folder() else {
        eprintln!("skipped: PITON_SAMPLES names no folder");
        return;
    };
    let mut paths = Vec::new();
    files(&folder, &["md", "log", "txt"], &mut paths);
    for path in paths {
        let text = std::fs::read_to_string(&path).unwrap();
        let name = path.display().to_string();
        let source = Source {
            name: &name,
            text: &text,
        };
        let criteria = task::read(source).0.criteria.len();
        let sessions = progress::read(source).0.sessions.len();
        let signs = guardrails::read(source).0.signs.len();
        let entries = logs::read(&text).len();
        eprintln!(
            "{name}: {criteria} criteria, {sessions} sessions, {signs} signs, {entries} log lines"
        );
        edits::keep_all_else(&text);
        edits::keep_all_else(&text.replace('\n', "\r\n"));
        edits::keep_all_else(text.trim_end());
    }
}
