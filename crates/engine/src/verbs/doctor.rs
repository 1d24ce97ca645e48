//! `piton learn doctor`: what of the memory a person should look at.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use piton_core::Need;
use piton_core::doctor::{DoctorFacts, MemoryFinding, MemoryView, examine_memories};
use piton_core::memory::MemoryRow;
use piton_core::named_paths::find_missing_paths;
use piton_core::recall::MemoryDocument;
use serde::Serialize;

use crate::failure::Failure;
use crate::session::Session;
use crate::world::World;

/// So many files are looked at; in a larger project nothing is said of paths.
const FILES_MAX: usize = 200_000;
/// Folders that hold what is made or fetched.
const SKIPPED: [&str; 5] = [".git", ".piton", "node_modules", "target", ".venv"];

/// What was found, and how many memories were looked at.
#[derive(Debug, Default, Serialize)]
pub struct DoctorReport {
    /// How many are followed.
    pub followed: usize,
    /// What a person should look at.
    pub findings: Vec<MemoryFinding>,
    /// Whether the paths that memories name were looked for.
    #[serde(rename = "paths_looked_for")]
    pub paths: bool,
}

crate::name_schema!(DoctorReport, "piton.learn.doctor/1");

/// Looks at all that is followed.
///
/// # Errors
///
/// When there is a store that cannot be read.
pub fn doctor(world: &World) -> Result<DoctorReport, Failure> {
    let Some(session) = Session::open_read_only(world, &world.cwd)? else {
        return Ok(DoctorReport {
            paths: true,
            ..DoctorReport::default()
        });
    };
    let rows = session.load(&[Need::Memories(None)])?;
    let mut rows: Vec<&MemoryRow> = rows
        .tables
        .memories()
        .filter(|row| row.is_followed())
        .collect();
    rows.sort_by_key(|row| row.position);
    let documents: Vec<MemoryDocument> = rows
        .iter()
        .map(|row| MemoryDocument::from_memory(&row.memory))
        .collect();
    let pairs = rows.iter().zip(&documents);
    let views: Vec<MemoryView<'_>> = pairs
        .map(|(row, document)| MemoryView::from_row(row, document))
        .collect();
    let files = collect_files(&session.project.root);
    let named: BTreeSet<&str> = views
        .iter()
        .flat_map(|view| view.paths.iter().map(String::as_str))
        .collect();
    let gone = match &files {
        Some(files) => find_missing_paths(named, files.iter().map(String::as_str)),
        None => BTreeSet::new(),
    };
    let surroundings = DoctorFacts {
        now: world.now(),
        gone: &gone,
    };
    Ok(DoctorReport {
        followed: views.len(),
        findings: examine_memories(&views, &surroundings),
        paths: files.is_some(),
    })
}

/// The files of a project, by their paths in it; none where there are too many.
fn collect_files(root: &Path) -> Option<Vec<String>> {
    let mut files = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        // What cannot be read is looked for as if it were not there.
        let Ok(entries) = fs::read_dir(&folder) else {
            continue;
        };
        for entry in entries.flatten() {
            let Ok(kind) = entry.file_type() else {
                continue;
            };
            let name = entry.file_name();
            if kind.is_dir() {
                let is_skipped = name.to_str().is_some_and(|name| SKIPPED.contains(&name));
                if !is_skipped {
                    folders.push(entry.path());
                }
            } else if let Ok(path) = entry.path().strip_prefix(root) {
                files.push(path.to_string_lossy().replace('\\', "/"));
            }
            if files.len() + folders.len() > FILES_MAX {
                return None;
            }
        }
    }
    Some(files)
}
