//! The family in the registry.

use piton_core::memory::MemoryKind;

use super::{FACE, ROOT_NAME, SHAPE, detect, from_progress_txt, show, take, told_again};
use crate::face::Shown;
use crate::format::{Format, Strict, UNNAMED, about};
use crate::json::ends;
use crate::merge::rules::{Merge, NamedList, Settled};
use crate::project_format::{FaceFile, OldFile, PLAIN, ProjectFormat};
use crate::ralph_dir::progress_txt;
use crate::understood::said_of_whole;

static MERGE: Merge = Merge {
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
        ("project_name", Settled::OursIfAdded),
        ("created_at", Settled::Least),
        ("times_referenced", Settled::Greatest),
    ],
    ..Merge::JSON
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
        read: |source| take(source.text, &about(source)).problems,
        strict: Strict::Json(&SHAPE, ROOT_NAME),
        merge: Some(&MERGE),
        ..UNNAMED
    }],
    files: &[FaceFile {
        face: FACE,
        path: PATH,
        detect,
        take: |text, _, about| take(text, about),
        show,
        told_again,
        shows,
        ends: Some(|text| ends(text, "entries")),
        converts: Some("ralph-json"),
        belongs_to: &["prd.json", ".ralph/prd.json", ".ralph/progress.txt"],
        lists_attempts: true,
        whole: |text| said_of_whole(text, "project_name", &["entries", "learnings", "patterns"]),
        ..PLAIN
    }],
    old_files: &[OldFile {
        name: "progress.txt",
        folders: &["/", "/.ralph"],
        paths: &[".ralph/progress.txt", "progress.txt"],
        take: |text, now| {
            if progress_txt::read(text).untouched || text.trim().is_empty() {
                return Vec::new();
            }
            from_progress_txt(text, now)
        },
        target: (FACE, PATH),
    }],
    pictures: None,
};

fn shows(row: &Shown<'_>) -> bool {
    match row {
        // An entry is not shown, but the first one makes the file.
        Shown::Attempt(_) | Shown::Entry(_) => true,
        Shown::Memory(row) => matches!(row.memory.kind, MemoryKind::Learning | MemoryKind::Pattern),
        Shown::Call(_) => false,
    }
}
