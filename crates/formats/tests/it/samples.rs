//! Files that others have written, where there are any.

use std::path::{Path, PathBuf};

use piton_formats::native_file::{Detection, FileContents, FileContext, RenderError, ShownRow};
use piton_formats::problem::Problem;
use piton_formats::ralph_dir::{guardrails, logs, progress};
use piton_formats::sprint::{
    SourceText, SprintLayout, detect_layout, parse_progress, render_progress, update_progress,
};
use piton_formats::{agent_os, json, prd, ralph_json, sdlc, task, yaml};

use crate::{edits, ralph_dir_faces};

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
            let again = yaml::parse(&yaml::render(root)).root;
            assert_eq!(again.as_ref(), Some(root), "{name}");
        }
        if detect_layout(&text) != SprintLayout::Current {
            continue;
        }
        let source = SourceText {
            name: &name,
            text: &text,
        };
        let (progress, problems) = parse_progress(source);
        assert!(!problems.iter().any(Problem::is_error), "{problems:#?}");
        let progress = progress.unwrap();
        let written = render_progress(&progress);
        let source = SourceText {
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
        let source = SourceText {
            name: &name,
            text: &text,
        };
        let criteria = task::parse_task(source).0.criteria.len();
        let sessions = progress::parse_progress_md(source).0.sessions.len();
        let signs = guardrails::parse_guardrails(source).0.signs.len();
        let entries = logs::parse_log(&text).len();
        eprintln!(
            "{name}: {criteria} criteria, {sessions} sessions, {signs} signs, {entries} log lines"
        );
        edits::keep_all_else(&text);
        edits::keep_all_else(&text.replace('\n', "\r\n"));
        edits::keep_all_else(text.trim_end());
        ralph_dir_faces::keep_all_else(&text);
        ralph_dir_faces::keep_all_else(&text.replace('\n', "\r\n"));
    }
}

#[test]
fn json_of_others_is_read_and_keeps_every_byte() {
    let Some(folder) = folder() else {
        eprintln!("skipped: PITON_SAMPLES names no folder");
        return;
    };
    let mut paths = Vec::new();
    files(&folder, &["json"], &mut paths);
    for path in paths {
        let text = std::fs::read_to_string(&path).unwrap();
        let name = path.display().to_string();
        let parsed = json::parse(&text);
        let (true, Some(root)) = (parsed.faults.is_empty(), parsed.root) else {
            eprintln!("{name}: {:?}", parsed.faults);
            continue;
        };
        assert_eq!(json::patch(&text, &root).unwrap(), text, "{name}");
        let source = SourceText {
            name: &name,
            text: &text,
        };
        if sdlc::detect_layout(&text) == sdlc::StateLayout::Current {
            let (state, problems) = sdlc::parse_state(source);
            assert!(!problems.iter().any(Problem::is_error), "{problems:#?}");
            let tree = sdlc::to_tree(&state.unwrap(), Some(&root));
            assert_eq!(json::patch(&text, &tree).unwrap(), text, "{name}");
        }
        if matches!(
            prd::detect_layout(&text),
            prd::PrdLayout::Features | prd::PrdLayout::UserStories
        ) {
            let problems = prd::parse_prd(source).1;
            assert!(!problems.iter().any(Problem::is_error), "{problems:#?}");
        }
    }
}

#[test]
fn files_of_others_are_changed_in_place() {
    let Some(folder) = folder() else {
        eprintln!("skipped: PITON_SAMPLES names no folder");
        return;
    };
    let mut paths = Vec::new();
    files(&folder, &["yaml"], &mut paths);
    for path in paths {
        let text = std::fs::read_to_string(&path).unwrap();
        let name = path.display().to_string();
        let source = SourceText {
            name: &name,
            text: &text,
        };
        let (Some(mut progress), _) = parse_progress(source) else {
            continue;
        };
        // What must be there is added; hardly a line changes by that.
        let shown = update_progress(&text, progress.clone());
        let there: std::collections::BTreeSet<&str> = shown.lines().collect();
        let gone = text.lines().filter(|line| !there.contains(line)).count();
        assert!(gone <= 4, "{name}: {gone} lines are gone");
        assert_eq!(update_progress(&shown, progress.clone()), shown, "{name}");
        progress.stop.pause_reason = Some("a look".to_owned());
        if let Some(phase) = progress.phases.last_mut() {
            phase.progress.summary = Some("by hand".to_owned());
        }
        let out = update_progress(&shown, progress.clone());
        let read = parse_progress(SourceText {
            name: &name,
            text: &out,
        });
        assert_eq!(read.0, Some(progress), "{name}");
        let known: std::collections::BTreeSet<&str> = shown.lines().collect();
        let new = out.lines().filter(|line| !known.contains(line)).count();
        assert!(new <= 2, "{name}: {new} lines are new");
    }
}

type Read = (
    fn(&str) -> Detection,
    fn(&str, &FileContext<'_>) -> FileContents,
    fn(Option<&str>, &[ShownRow<'_>], &FileContext<'_>) -> Result<String, RenderError>,
);

const LOGS: [Read; 2] = [
    (
        ralph_json::detect,
        ralph_json::import_progress,
        ralph_json::render_rows,
    ),
    (
        agent_os::detect,
        agent_os::import_log,
        agent_os::render_rows,
    ),
];

#[test]
fn logs_of_others_are_taken_and_stay_as_they_are() {
    let Some(folder) = folder() else {
        eprintln!("skipped: PITON_SAMPLES names no folder");
        return;
    };
    let mut paths = Vec::new();
    for name in ["ralph-json", "agent-os"] {
        files(&folder.join(name), &["json", "txt", "md"], &mut paths);
    }
    for path in paths {
        let text = std::fs::read_to_string(&path).unwrap();
        let name = path.display().to_string();
        let about = crate::logs::about(&name);
        for (detect, take, show) in LOGS {
            let took = take(&text, &about);
            let is_ours = detect(&text) == Detection::Ours;
            assert_eq!(took.is_readable(), is_ours, "{name}: {:?}", took.problems);
            if is_ours {
                assert_eq!(show(Some(&text), &[], &about).as_ref(), Ok(&text));
                let rows = crate::logs::rows(&took);
                let shown = crate::logs::shown(&rows);
                assert_eq!(show(Some(&text), &shown, &about).as_ref(), Ok(&text));
            }
        }
    }
}
