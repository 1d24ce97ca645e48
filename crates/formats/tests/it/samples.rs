//! Files that others have written, where there are any.

use std::path::{Path, PathBuf};

use piton_formats::face::{About, CannotShow, Detected, Shown, Took};
use piton_formats::problem::Problem;
use piton_formats::sprint::{Layout, Source, detect_layout, parse_progress, render_progress};
use piton_formats::{agent_os, ralph_json, yaml};

#[expect(
    clippy::disallowed_methods,
    reason = "the folder of samples is given by the environment"
)]
fn folder() -> Option<PathBuf> {
    std::env::var_os("PITON_SAMPLES").map(PathBuf::from)
}

fn files(dir: &Path, endings: &[&str], found: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(dir) else {
        return;
    };
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_dir() {
            files(&path, endings, found);
        } else if path
            .extension()
            .is_some_and(|ext| endings.iter().any(|ending| ext == *ending))
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

type Read = (
    fn(&str) -> Detected,
    fn(&str, &About<'_>) -> Took,
    fn(Option<&str>, &[Shown<'_>], &About<'_>) -> Result<String, CannotShow>,
);

const LOGS: [Read; 2] = [
    (ralph_json::detect, ralph_json::take, ralph_json::show),
    (agent_os::detect, agent_os::take, agent_os::show),
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
            let is_ours = detect(&text) == Detected::Ours;
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
