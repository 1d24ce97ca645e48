//! The family in the registry.

use super::archive::is_due;
use super::markdown::{extend_page, merge_pages};
use super::metadata::recount_metadata;
use super::{FACE, ROOT_NAME, SHAPE, archive_old_entries, detect, merge_archive, render_markdown};
use super::{import_archive, import_log, reimport_row, render_rows};
use crate::format::{Format, StrictCheck, UNNAMED, context_of_source};
use crate::json::find_list_ends;
use crate::merge::rules::{ConflictRule, MergeRules, NamedList};
use crate::native_file::ShownRow;
use crate::project_format::{
    Archive, DerivedFile, GitignoreLine, PLAIN, ProjectFile, ProjectFormat,
};
use crate::shape_merge::document_fields;

static MERGE: MergeRules = MergeRules {
    lists: &[NamedList {
        key: "entries",
        time: Some("timestamp"),
        ..NamedList::BY_ID
    }],
    settled: &[
        ("project", ConflictRule::OursIfAdded),
        ("metadata.total_entries", ConflictRule::Ours),
        ("metadata.oldest_entry", ConflictRule::Ours),
        ("metadata.last_updated", ConflictRule::Ours),
        ("metadata.archived_through", ConflictRule::Greatest),
    ],
    recount: recount_metadata,
    ..MergeRules::JSON
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
        read: |source| import_log(source.text, &context_of_source(source)).problems,
        strict: StrictCheck::Json(&SHAPE, ROOT_NAME),
        merge: Some(&MERGE),
        ..UNNAMED
    }],
    files: &[ProjectFile {
        face: FACE,
        path: ".agent-os/progress/progress.json",
        detect,
        take: |text, _, about| import_log(text, about),
        show: render_rows,
        told_again: reimport_row,
        shows: |row| matches!(row, ShownRow::Entry(_)),
        ends: Some(|text| find_list_ends(text, "entries")),
        derived: Some(DerivedFile {
            path: ".agent-os/progress/progress.md",
            render: render_markdown,
            merge: merge_pages,
            extend: extend_page,
        }),
        archive: Some(Archive {
            folder: ".agent-os/progress/archive",
            part: archive_old_entries,
            is_due,
            merge: merge_archive,
            take: import_archive,
        }),
        converts: Some("agent-os"),
        belongs_to: &[".agent-os"],
        ignored: Some(GitignoreLine {
            line: ".agent-os/progress/",
            folder: ".agent-os/",
        }),
        whole: |text| document_fields(text, "project", &["entries"]),
        ..PLAIN
    }],
    old_files: &[],
    pictures: None,
};
