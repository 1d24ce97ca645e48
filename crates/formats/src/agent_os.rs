//! `.agent-os/progress/`: the log of sessions that Agent OS keeps.
//!
//! [`detect`] says what a text at the path of `progress.json` is, [`take`]
//! what it holds, [`show`] writes entries into it; [`markdown`] makes the
//! `progress.md` beside it, and [`archive`] and [`merge_archive`] move what is
//! old to a file for each month. [`SHAPE`] is what the format demands
//! strictly; reading takes more. The page: `docs/formats/agent-os.md`.

use crate::document::Document;
use crate::shape::{Field, Named, Pattern, Rest, Shape, Text, may, must};

mod archive;
mod detect;
mod formats;
mod markdown;
mod pages;
mod show;
mod take;

pub use archive::{archive, merge_archive, take_archive};
pub use detect::detect;
pub use formats::PROJECT;
pub use markdown::markdown;
use show::recount;
pub use show::{show, told_again};
pub use take::take;

/// What the format is called where things of several are kept.
pub const FACE: &str = "agent-os";

/// What paths of problems begin with.
pub const ROOT_NAME: &str = "progress";

static DOCUMENT: Document = Document {
    root_name: ROOT_NAME,
    judge: detect::of_tree,
    foreign: "NOT_A_PROGRESS_LOG",
    begin: show::new_document,
};

/// The types that an entry can have.
const TYPES: &[&str] = &[
    "session_started",
    "session_ended",
    "task_completed",
    "task_blocked",
    "debug_resolved",
    "scope_override",
    "milestone_reached",
];

const TEXTS: Shape = Shape::List(&Shape::TEXT);

/// What the format demands strictly.
pub static SHAPE: Shape = Shape::Map(ROOT, Rest::Unread);

static ROOT: &[Field] = &[
    must("version", Shape::Text(Text::Pattern(Pattern::Version)))
        .about("The version of the format"),
    must("project", Shape::TEXT).about("The name of the project"),
    ENTRIES,
    must("metadata", Shape::Map(METADATA, Rest::Unread)).about("Counted from the entries"),
];

/// What an archive of a month demands strictly.
static ARCHIVE: Shape = Shape::Map(&[ENTRIES], Rest::Open);

const ENTRIES: Field = must("entries", Shape::List(&LISTED));

static LISTED: Shape = Shape::Named(&ENTRY);

static ENTRY: Named = Named {
    name: "Entry",
    shape: Shape::Map(ENTRY_KEYS, Rest::Unread),
};

pub(crate) static ENTRY_KEYS: &[Field] = &[
    must("id", Shape::Text(Text::NotEmpty)).about("The name of the entry"),
    must("timestamp", Shape::DATE_TIME).about("When it happened"),
    must("type", Shape::one_of(TYPES)).about("What kind of event it is"),
    may("spec", Shape::TEXT).about("The spec it belongs to"),
    may("task_id", Shape::TEXT).about("The task it belongs to"),
    must("data", Shape::Map(DATA, Rest::Open)).about("What happened"),
];

/// How an entry is written into: any type will do, and data is what it is.
static ENTRY_KEPT: Shape = Shape::Map(
    &[
        must("id", Shape::TEXT),
        must("timestamp", Shape::DATE_TIME),
        must("type", Shape::TEXT),
        may("spec", Shape::TEXT),
        may("task_id", Shape::TEXT),
        must("data", Shape::Each(&Shape::Any)),
    ],
    Rest::Open,
);

const DATA: &[Field] = &[
    may("description", Shape::TEXT),
    may("duration_minutes", Shape::Number { min: Some(0) }),
    may("notes", Shape::TEXT),
    may("next_steps", Shape::TEXT),
    may("focus_task", Shape::TEXT),
    may("context", Shape::TEXT),
    may("issue", Shape::TEXT),
    may("suggested_resolution", Shape::TEXT),
    may("root_cause", Shape::TEXT),
    may("resolution", Shape::TEXT),
    may("files_modified", TEXTS),
    may("requested_tasks", TEXTS),
    may("reason", Shape::TEXT),
];

const TIME_OR_NULL: Shape = Shape::Either(&[Shape::DATE_TIME, Shape::Null]);

const METADATA: &[Field] = &[
    must("total_entries", Shape::COUNT),
    must("oldest_entry", TIME_OR_NULL),
    must("last_updated", TIME_OR_NULL),
    must(
        "archived_through",
        Shape::Either(&[Shape::Text(Text::NotEmpty), Shape::Null]),
    ),
];
