//! What the log must be, as tables.

use crate::shape::{
    FieldShape, NamedShape, OtherKeys, Pattern, Shape, TextShape, optional_field, required_field,
};

/// What the format is called where things of several are kept.
pub const FACE: &str = "agent-os";

/// What paths of problems begin with.
pub const ROOT_NAME: &str = "progress";

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
pub static SHAPE: Shape = Shape::Map(ROOT, OtherKeys::Unread);

pub(super) static ROOT: &[FieldShape] = &[
    required_field("version", Shape::Text(TextShape::Pattern(Pattern::Version)))
        .with_about("The version of the format"),
    required_field("project", Shape::TEXT).with_about("The name of the project"),
    ENTRIES,
    required_field("metadata", Shape::Map(METADATA, OtherKeys::Unread))
        .with_about("Counted from the entries"),
];

/// What an archive of a month demands strictly.
pub(super) static ARCHIVE: Shape = Shape::Map(&[ENTRIES], OtherKeys::Open);

const ENTRIES: FieldShape = required_field("entries", Shape::List(&LISTED));

static LISTED: Shape = Shape::Named(&ENTRY);

static ENTRY: NamedShape = NamedShape {
    name: "Entry",
    shape: Shape::Map(ENTRY_KEYS, OtherKeys::Unread),
};

pub(crate) static ENTRY_KEYS: &[FieldShape] = &[
    required_field("id", Shape::Text(TextShape::NotEmpty)).with_about("The name of the entry"),
    required_field("timestamp", Shape::DATE_TIME).with_about("When it happened"),
    required_field("type", Shape::one_of(TYPES)).with_about("What kind of event it is"),
    optional_field("spec", Shape::TEXT).with_about("The spec it belongs to"),
    optional_field("task_id", Shape::TEXT).with_about("The task it belongs to"),
    required_field("data", Shape::Map(DATA, OtherKeys::Open)).with_about("What happened"),
];

/// How an entry is written into: any type will do, and data is what it is.
pub(super) static ENTRY_KEPT: Shape = Shape::Map(
    &[
        required_field("id", Shape::TEXT),
        required_field("timestamp", Shape::DATE_TIME),
        required_field("type", Shape::TEXT),
        optional_field("spec", Shape::TEXT),
        optional_field("task_id", Shape::TEXT),
        required_field("data", Shape::Each(&Shape::Any)),
    ],
    OtherKeys::Open,
);

const DATA: &[FieldShape] = &[
    optional_field("description", Shape::TEXT),
    optional_field("duration_minutes", Shape::Number { min: Some(0) }),
    optional_field("notes", Shape::TEXT),
    optional_field("next_steps", Shape::TEXT),
    optional_field("focus_task", Shape::TEXT),
    optional_field("context", Shape::TEXT),
    optional_field("issue", Shape::TEXT),
    optional_field("suggested_resolution", Shape::TEXT),
    optional_field("root_cause", Shape::TEXT),
    optional_field("resolution", Shape::TEXT),
    optional_field("files_modified", TEXTS),
    optional_field("requested_tasks", TEXTS),
    optional_field("reason", Shape::TEXT),
];

const TIME_OR_NULL: Shape = Shape::Either(&[Shape::DATE_TIME, Shape::Null]);

pub(super) const METADATA: &[FieldShape] = &[
    required_field("total_entries", Shape::COUNT),
    required_field("oldest_entry", TIME_OR_NULL),
    required_field("last_updated", TIME_OR_NULL),
    required_field(
        "archived_through",
        Shape::Either(&[Shape::Text(TextShape::NotEmpty), Shape::Null]),
    ),
];
