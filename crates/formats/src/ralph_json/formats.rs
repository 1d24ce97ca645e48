//! The family in the registry.

use piton_core::memory::MemoryKind;

use super::{
    FACE, ROOT_NAME, SHAPE, detect, import_progress, learnings_of_progress_txt, reimport_row,
    render_rows,
};
use crate::format::{Format, StrictCheck, UNNAMED, context_of_source};
use crate::json::find_list_ends;
use crate::merge::rules::{ConflictRule, MergeRules, NamedList};
use crate::native_file::ShownRow;
use crate::project_format::{LegacyFile, PLAIN, ProjectFile, ProjectFormat};
use crate::ralph_dir::progress_txt;
use crate::shape_merge::document_fields;

static MERGE: MergeRules = MergeRules {
    lists: &[
        NamedList {
            key: "entries",
            names: &[&["id"], &["prd_id", "iteration"]],
            time: Some("timestamp"),
            ..NamedList::BY_ID
        },
        NamedList {
            key: "learnings",
            time: Some("created_at"),
            ..NamedList::BY_ID
        },
        NamedList {
            key: "patterns",
            time: Some("discovered_at"),
            ..NamedList::BY_ID
        },
    ],
    settled: &[
        ("project_name", ConflictRule::OursIfAdded),
        ("created_at", ConflictRule::Least),
        ("times_referenced", ConflictRule::Greatest),
    ],
    ..MergeRules::JSON
};

const PATH: &str = ".ralph/progress.json";

/// The progress of Ralph in JSON.
pub static PROJECT: ProjectFormat = ProjectFormat {
    formats: &[Format {
        name: "ralph-json",
        face: FACE,
        about: "Ralph's progress: attempts, learnings, patterns",
        paths: &[PATH],
        folders: Some(&[".ralph"]),
        detect,
        read: |source| import_progress(source.text, &context_of_source(source)).problems,
        strict: StrictCheck::Json(&SHAPE, ROOT_NAME),
        merge: Some(&MERGE),
        ..UNNAMED
    }],
    files: &[ProjectFile {
        face: FACE,
        path: PATH,
        detect,
        take: |text, _, about| import_progress(text, about),
        show: render_rows,
        told_again: reimport_row,
        shows: is_shown,
        ends: Some(|text| find_list_ends(text, "entries")),
        converts: Some("ralph-json"),
        belongs_to: &["prd.json", ".ralph/prd.json", ".ralph/progress.txt"],
        lists_attempts: true,
        whole: |text| document_fields(text, "project_name", &["entries", "learnings", "patterns"]),
        ..PLAIN
    }],
    old_files: &[LegacyFile {
        name: "progress.txt",
        folders: &["/", "/.ralph"],
        paths: &[".ralph/progress.txt", "progress.txt"],
        take: |text, now| {
            if progress_txt::parse_progress_txt(text).untouched || text.trim().is_empty() {
                return Vec::new();
            }
            learnings_of_progress_txt(text, now)
        },
        target: (FACE, PATH),
    }],
    pictures: None,
};

fn is_shown(row: &ShownRow<'_>) -> bool {
    match row {
        // An entry is not shown, but the first one makes the file.
        ShownRow::Attempt(_) | ShownRow::Entry(_) => true,
        ShownRow::Memory(row) => {
            matches!(row.memory.kind, MemoryKind::Learning | MemoryKind::Pattern)
        }
        ShownRow::Call(_) => false,
    }
}
