//! The family in the registry.

use super::face::{self, FACE, detect_words};
use super::{guardrails, iteration, logs, progress};
use crate::face::Shown;
use crate::format::{Format, Strict, UNNAMED};
use crate::merge::rules::{BLOCKS, Merge, NamedList};
use crate::project_format::{FaceFile, Ignored, PLAIN, ProjectFormat};

/// The files of `.ralph/`.
pub static PROJECT: ProjectFormat = ProjectFormat {
    formats: &[
        Format {
            name: "ralph-progress",
            about: "the sessions of Ralph",
            paths: &[".ralph/progress.md"],
            read: |source| progress::read(source).1,
            counts: progress::counts,
            merge: Some(&SESSIONS),
            ..WORDS
        },
        Format {
            name: "ralph-guardrails",
            about: "the signs of Ralph",
            paths: &[".ralph/guardrails.md", "guardrails.md"],
            read: |source| guardrails::read(source).1,
            strict: Strict::Text(guardrails::check),
            counts: face::guardrails_md::counts,
            merge: Some(&SIGNS),
            ..WORDS
        },
        Format {
            name: "ralph-activity",
            about: "what Ralph's agents did",
            paths: &[".ralph/activity.log"],
            counts: logs::counts,
            ..WORDS
        },
        Format {
            name: "ralph-errors",
            about: "what went wrong for Ralph's agents",
            paths: &[".ralph/errors.log"],
            counts: logs::counts,
            ..WORDS
        },
        Format {
            name: "ralph-iteration",
            about: "how many agents were started",
            paths: &[".ralph/.iteration"],
            read: |source| iteration::read(source).1,
            ..WORDS
        },
    ],
    files: &[
        FaceFile {
            path: ".ralph/progress.md",
            take: face::progress_md::take,
            show: face::progress_md::show,
            shows: |row| matches!(row, Shown::Entry(_) | Shown::Attempt(_)),
            ends: Some(face::progress_md::ends),
            by_name_alone: true,
            lines: progress::lines,
            converts: Some("ralph-progress"),
            criteria: true,
            ..FILE
        },
        FaceFile {
            path: ".ralph/guardrails.md",
            take: face::guardrails_md::take,
            show: face::guardrails_md::show,
            shows: face::guardrails_md::shows,
            ends: Some(guardrails::ends),
            unread: Some(face::guardrails_md::unread),
            ..FILE
        },
        FaceFile {
            path: ".ralph/activity.log",
            show: face::activity_log::show,
            shows: |row| matches!(row, Shown::Attempt(_) | Shown::Call(_)),
            ends: Some(face::lines::ends),
            ignored: ignored(".ralph/activity.log"),
            calls: true,
            ..FILE
        },
        FaceFile {
            path: ".ralph/errors.log",
            show: face::errors_log::show,
            shows: face::errors_log::shows,
            ends: Some(face::lines::ends),
            ignored: ignored(".ralph/errors.log"),
            ..FILE
        },
        FaceFile {
            path: ".ralph/.iteration",
            take: face::iteration::take,
            show: face::iteration::show,
            ignored: ignored(".ralph/.iteration"),
            ..FILE
        },
    ],
    old_files: &[],
    pictures: Some(".ralph/screenshots"),
};

static SESSIONS: Merge = Merge {
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
    ..Merge::MARKDOWN
};

static SIGNS: Merge = Merge {
    lists: &[NamedList {
        unique: Some("counter"),
        ..BLOCKS
    }],
    ..Merge::MARKDOWN
};

/// A text of words of people.
const WORDS: Format = Format {
    face: FACE,
    folders: Some(&[".ralph"]),
    detect: detect_words,
    ..UNNAMED
};

/// A file of the directory of seed 002.
const FILE: FaceFile = FaceFile {
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

const fn ignored(line: &'static str) -> Option<Ignored> {
    Some(Ignored {
        line,
        folder: ".ralph/",
    })
}
