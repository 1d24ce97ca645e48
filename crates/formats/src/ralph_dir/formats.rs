//! The family in the registry.

use super::native_files::{self, FACE, detect_words};
use super::{guardrails, iteration, logs, progress};
use crate::format::{Format, StrictCheck, UNNAMED};
use crate::merge::rules::{BLOCKS, MergeRules, NamedList};
use crate::native_file::ShownRow;
use crate::project_format::{GitignoreLine, PLAIN, ProjectFile, ProjectFormat};

/// The files of `.ralph/`.
pub static PROJECT: ProjectFormat = ProjectFormat {
    formats: &[
        Format {
            name: "ralph-progress",
            about: "the sessions of Ralph",
            paths: &[".ralph/progress.md"],
            read: |source| progress::parse_progress_md(source).1,
            counts: progress::collect_counts,
            merge: Some(&SESSIONS),
            ..WORDS
        },
        Format {
            name: "ralph-guardrails",
            about: "the signs of Ralph",
            paths: &[".ralph/guardrails.md", "guardrails.md"],
            read: |source| guardrails::parse_guardrails(source).1,
            strict: StrictCheck::Text(guardrails::check_guardrails),
            counts: native_files::guardrails_md::collect_counts,
            merge: Some(&SIGNS),
            ..WORDS
        },
        Format {
            name: "ralph-activity",
            about: "what Ralph's agents did",
            paths: &[".ralph/activity.log"],
            counts: logs::collect_counts,
            ..WORDS
        },
        Format {
            name: "ralph-errors",
            about: "what went wrong for Ralph's agents",
            paths: &[".ralph/errors.log"],
            counts: logs::collect_counts,
            ..WORDS
        },
        Format {
            name: "ralph-iteration",
            about: "how many agents were started",
            paths: &[".ralph/.iteration"],
            read: |source| iteration::parse_iteration(source).1,
            ..WORDS
        },
    ],
    files: &[
        ProjectFile {
            path: ".ralph/progress.md",
            take: native_files::progress_md::import_changes,
            show: native_files::progress_md::render_rows,
            shows: |row| matches!(row, ShownRow::Entry(_) | ShownRow::Attempt(_)),
            ends: Some(native_files::progress_md::find_ends),
            by_name_alone: true,
            lines: progress::meaningful_lines,
            converts: Some("ralph-progress"),
            criteria: true,
            ..FILE
        },
        ProjectFile {
            path: ".ralph/guardrails.md",
            take: native_files::guardrails_md::import_changes,
            show: native_files::guardrails_md::render_rows,
            shows: native_files::guardrails_md::is_guardrail,
            ends: Some(guardrails::find_ends),
            unread: Some(native_files::guardrails_md::unread_rules),
            ..FILE
        },
        ProjectFile {
            path: ".ralph/activity.log",
            show: native_files::activity_log::render_rows,
            shows: |row| matches!(row, ShownRow::Attempt(_) | ShownRow::Call(_)),
            ends: Some(native_files::lines::find_ends),
            ignored: ignored_line(".ralph/activity.log"),
            calls: true,
            ..FILE
        },
        ProjectFile {
            path: ".ralph/errors.log",
            show: native_files::errors_log::render_rows,
            shows: native_files::errors_log::is_failed_attempt,
            ends: Some(native_files::lines::find_ends),
            ignored: ignored_line(".ralph/errors.log"),
            ..FILE
        },
        ProjectFile {
            path: ".ralph/.iteration",
            take: native_files::iteration::import_changes,
            show: native_files::iteration::render_rows,
            ignored: ignored_line(".ralph/.iteration"),
            ..FILE
        },
    ],
    old_files: &[],
    pictures: Some(".ralph/screenshots"),
};

static SESSIONS: MergeRules = MergeRules {
    lists: &[NamedList {
        time: Some("time"),
        unique: Some("counter"),
        ..BLOCKS
    }],
    // What a criterion has once each.
    item_name: |words| {
        let name = words.split_once(": ")?.0;
        ["Commit", "Notes"].contains(&name).then(|| name.to_owned())
    },
    ..MergeRules::MARKDOWN
};

static SIGNS: MergeRules = MergeRules {
    lists: &[NamedList {
        unique: Some("counter"),
        ..BLOCKS
    }],
    ..MergeRules::MARKDOWN
};

/// A text of words of people.
const WORDS: Format = Format {
    face: FACE,
    folders: Some(&[".ralph"]),
    detect: detect_words,
    ..UNNAMED
};

/// A file of the directory of seed 002.
const FILE: ProjectFile = ProjectFile {
    face: FACE,
    detect: detect_words,
    // What tells that a project keeps the directory.
    belongs_to: &[
        ".ralph/progress.md",
        ".ralph/guardrails.md",
        "RALPH_TASK.md",
    ],
    ..PLAIN
};

const fn ignored_line(line: &'static str) -> Option<GitignoreLine> {
    Some(GitignoreLine {
        line,
        folder: ".ralph/",
    })
}
