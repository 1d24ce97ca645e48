//! `.ralph/progress.json`: attempts, learnings and patterns of a project.
//!
//! [`detect`] says what a text at that path is, [`take`] what it holds, and
//! [`show`] writes attempts and memory into it. [`SHAPE`] is what the format
//! demands strictly; reading takes more. The page: `docs/formats/ralph-json.md`.
//!
//! What is remembered is searched elsewhere; [`queries`] only asks rows.

use crate::document::Document;
use crate::shape::{Field, Pattern, Rest, Shape, Text, may, must};

mod detect;
mod element;
mod formats;
mod migrate;
mod observed;
pub mod queries;
mod show;
mod signal;
mod take;

pub use detect::detect;
pub(crate) use element::{CONTEXT_KEYS, ENTRY_KEYS};
use element::{ENTRY, LEARNING, PATTERN};
pub use formats::PROJECT;
pub use migrate::from_progress_txt;
pub use observed::{is_actionable, observations};
pub use show::{show, told_again};
pub use signal::{Failure, Signal, What, signal_of_line, signals};
pub use take::take;

/// What the format is called where things of several are kept.
pub const FACE: &str = "ralph-json";

/// What paths of problems begin with.
pub const ROOT_NAME: &str = "progress";

static DOCUMENT: Document = Document {
    root_name: ROOT_NAME,
    judge: detect::of_tree,
    foreign: "NOT_A_PROGRESS_FILE",
    begin: show::new_document,
};

/// How an attempt can have ended, in the words of this format.
const STATUS: &[&str] = &["completed", "failed", "blocked", "partial"];

/// Who a learning came from, where it came from no item.
const MANUAL: &str = "manual";

const TEXTS: Shape = Shape::List(&Shape::TEXT);

/// What the format demands strictly.
pub static SHAPE: Shape = Shape::Map(ROOT, Rest::Closed);

static ROOT: &[Field] = &[
    must("version", Shape::Text(Text::Pattern(Pattern::Version)))
        .about("The version of the format"),
    must("created_at", Shape::DATE_TIME).about("When the file was begun"),
    may("project_name", Shape::TEXT).about("The name of the project"),
    must("entries", Shape::List(&Shape::Named(&ENTRY)))
        .about("One for each attempt, the oldest first"),
    may("learnings", Shape::List(&Shape::Named(&LEARNING)))
        .about("What is worth knowing the next time"),
    may("patterns", Shape::List(&Shape::Named(&PATTERN))).about("How this code base does things"),
];
