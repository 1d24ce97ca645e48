//! `.ralph/progress.json`: attempts, learnings and patterns of a project.
//!
//! [`detect`] says what a text at that path is, [`import_progress`] what it holds, and
//! [`render_rows`] writes attempts and memory into it. [`SHAPE`] is what the format
//! demands strictly; reading takes more. The page: `docs/formats/ralph-json.md`.
//!
//! What is remembered is searched elsewhere; [`queries`] only asks rows.

use crate::document::DocumentKind;
use crate::shape::{
    FieldShape, OtherKeys, Pattern, Shape, TextShape, optional_field, required_field,
};

mod detect;
mod element;
mod formats;
mod import;
mod migrate;
mod observations;
pub mod queries;
mod render;
mod signal;

pub use detect::detect;
pub(crate) use element::{CONTEXT_KEYS, ENTRY_KEYS};
use element::{ENTRY, LEARNING, PATTERN};
pub use formats::PROJECT;
pub use import::import_progress;
pub use migrate::learnings_of_progress_txt;
pub use observations::{is_actionable, parse_observations};
pub use render::{reimport_row, render_rows};
pub use signal::{FailureSubject, RalphMarkerSignal, SignalFailure, parse_signals, signal_of_line};

/// What the format is called where things of several are kept.
pub const FACE: &str = "ralph-json";

/// What paths of problems begin with.
pub const ROOT_NAME: &str = "progress";

static DOCUMENT: DocumentKind = DocumentKind {
    root_name: ROOT_NAME,
    judge: detect::detect_tree,
    foreign: "NOT_A_PROGRESS_FILE",
    begin: render::new_document,
};

/// How an attempt can have ended, in the words of this format.
const STATUS: &[&str] = &["completed", "failed", "blocked", "partial"];

/// Who a learning came from, where it came from no item.
const MANUAL: &str = "manual";

const TEXTS: Shape = Shape::List(&Shape::TEXT);

/// What the format demands strictly.
pub static SHAPE: Shape = Shape::Map(ROOT, OtherKeys::Closed);

static ROOT: &[FieldShape] = &[
    required_field("version", Shape::Text(TextShape::Pattern(Pattern::Version)))
        .with_about("The version of the format"),
    required_field("created_at", Shape::DATE_TIME).with_about("When the file was begun"),
    optional_field("project_name", Shape::TEXT).with_about("The name of the project"),
    required_field("entries", Shape::List(&Shape::Named(&ENTRY)))
        .with_about("One for each attempt, the oldest first"),
    optional_field("learnings", Shape::List(&Shape::Named(&LEARNING)))
        .with_about("What is worth knowing the next time"),
    optional_field("patterns", Shape::List(&Shape::Named(&PATTERN)))
        .with_about("How this code base does things"),
];
