//! The family in the registry.

use super::archive::is_due;
use super::markdown::{extend_page, merge_pages};
use super::{FACE, ROOT_NAME, SHAPE, archive, detect, markdown, merge_archive};
use super::{recount, show, take, take_archive, told_again};
use crate::face::Shown;
use crate::format::{Format, Strict, UNNAMED, about};
use crate::json::ends;
use crate::merge::rules::{Merge, NamedList, Settled};
use crate::project_format::{Archive, Derived, FaceFile, Ignored, PLAIN, ProjectFormat};
use crate::understood::said_of_whole;

static MERGE: Merge = Merge {
    lists: &[NamedList {
        key: "entries",
        time: Some("timestamp"),
        ..NamedList::BY_ID
    }],
    settled: &[
        ("project", Settled::OursIfAdded),
        ("metadata.total_entries", Settled::Ours),
        ("metadata.oldest_entry", Settled::Ours),
        ("metadata.last_updated", Settled::Ours),
        ("metadata.archived_through", Settled::Greatest),
    ],
    recount,
    ..Merge::JSON
};

/// The log of Agent OS.
pub static PROJECT: ProjectFormat = ProjectFormat {
    formats: &[Format {
        name: "agent-os",
        face: FACE,
        about: "the progress log of Agent OS",
        paths: &[".agent-os/progress/progress.json"],
        folders: Some(&[".agent-os/progress"]),
        detect,
        read: |source| take(source.text, &about(source)).problems,
        strict: Strict::Json(&SHAPE, ROOT_NAME),
        merge: Some(&MERGE),
        ..UNNAMED
    }],
    files: &[FaceFile {
        face: FACE,
        path: ".agent-os/progress/progress.json",
        detect,
        take: |text, _, about| take(text, about),
        show,
        told_again,
        shows: |row| matches!(row, Shown::Entry(_)),
        ends: Some(|text| ends(text, "entries")),
        derived: Some(Derived {
            path: ".agent-os/progress/progress.md",
            render: markdown,
            merge: merge_pages,
            extend: extend_page,
        }),
        archive: Some(Archive {
            folder: ".agent-os/progress/archive",
            part: archive,
            is_due,
            merge: merge_archive,
            take: take_archive,
        }),
        converts: Some("agent-os"),
        belongs_to: &[".agent-os"],
        ignored: Some(Ignored {
            line: ".agent-os/progress/",
            folder: ".agent-os/",
        }),
        whole: |text| said_of_whole(text, "project", &["entries"]),
        ..PLAIN
    }],
    old_files: &[],
    pictures: None,
};
