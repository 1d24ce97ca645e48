//! `.ralph/progress.json`: attempts, learnings and patterns of a project.
//!
//! [`detect`] says what a text at that path is, [`take`] what it holds, and
//! [`show`] writes attempts and memory into it. [`SHAPE`] is what the format
//! demands strictly; reading takes more. The page: `docs/formats/ralph-json.md`.
//!
//! What is remembered is searched elsewhere; [`queries`] only asks rows.

use piton_core::attempt::RecoveryAction;
use piton_core::memory::{Confidence, LearningType, PatternType};
use piton_core::observation::{ActionTaken, ObservationCategory, ObservationKind, Severity};

use crate::document::Document;
use crate::shape::{Field, Named, Pattern, Rest, Shape, Text};

mod detect;
mod formats;
mod migrate;
mod observed;
pub mod queries;
mod show;
mod signal;
mod take;

pub use detect::detect;
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
    Field::required("version", Shape::Text(Text::Pattern(Pattern::Version)))
        .about("The version of the format"),
    Field::required("created_at", Shape::DATE_TIME).about("When the file was begun"),
    Field::optional("project_name", Shape::TEXT).about("The name of the project"),
    Field::required("entries", Shape::List(&Shape::Named(&ENTRY)))
        .about("One for each attempt, the oldest first"),
    Field::optional("learnings", Shape::List(&Shape::Named(&LEARNING)))
        .about("What is worth knowing the next time"),
    Field::optional("patterns", Shape::List(&Shape::Named(&PATTERN)))
        .about("How this code base does things"),
];

static ENTRY: Named = Named {
    name: "ProgressEntry",
    shape: Shape::Map(
        &[
            Field::required("id", Shape::Text(Text::Pattern(Pattern::EntryId)))
                .about("The name of the attempt: its item and its number"),
            Field::required("timestamp", Shape::DATE_TIME).about("When it was over"),
            Field::required("prd_id", Shape::TEXT).about("The item that was worked on"),
            Field::required("iteration", Shape::Integer { min: Some(1) })
                .about("Which attempt at the item it was"),
            Field::required("status", Shape::one_of(STATUS)).about("How it ended"),
            Field::optional("duration_seconds", Shape::COUNT).about("How long it took"),
            Field::optional("summary", Shape::TEXT).about("What was done, in one line"),
            Field::required("observations", Shape::List(&Shape::Named(&OBSERVATION)))
                .about("What was noticed"),
            Field::optional("files_modified", TEXTS).about("The files that were changed"),
            Field::optional("git_commits", TEXTS).about("The commits that were made"),
            Field::optional("context", Shape::Named(&CONTEXT)).about("What it started from"),
        ],
        Rest::Closed,
    ),
};

static OBSERVATION: Named = Named {
    name: "Observation",
    shape: Shape::Map(
        &[
            Field::required("type", Shape::one_of(ObservationKind::WORDS)).about("What kind it is"),
            Field::required("title", Shape::TEXT).about("In a few words"),
            Field::optional("description", Shape::TEXT).about("In more words"),
            Field::optional("file", Shape::TEXT).about("The file it is about"),
            Field::optional("category", Shape::one_of(ObservationCategory::WORDS))
                .about("What it is about"),
            Field::optional("severity", Shape::one_of(Severity::WORDS)).about("How bad it is"),
            Field::optional("action_taken", Shape::one_of(ActionTaken::WORDS))
                .about("What was done about it"),
            Field::optional("related_learning_id", Shape::TEXT)
                .about("The learning that came of it"),
        ],
        Rest::Closed,
    ),
};

static CONTEXT: Named = Named {
    name: "IterationContext",
    shape: Shape::Map(
        &[
            Field::optional("retry_count", Shape::COUNT)
                .about("How often the item had been tried again"),
            Field::optional("previous_failure_reason", Shape::TEXT)
                .about("Why the attempt before failed"),
            Field::optional("recovery_action", Shape::one_of(RecoveryAction::WORDS))
                .about("What was decided after that"),
            Field::optional("recovery_guidance", Shape::TEXT).about("With what guidance"),
            Field::optional("dependencies_completed", TEXTS).about("Items that were done before"),
            Field::optional("blocker_verified", Shape::Bool)
                .about("Whether the claim of a blocker was checked"),
            Field::optional("blocker_valid", Shape::Bool).about("Whether the claim was true"),
        ],
        Rest::Closed,
    ),
};

static LEARNING: Named = Named {
    name: "Learning",
    shape: Shape::Map(
        &[
            Field::required("id", Shape::Text(Text::Pattern(Pattern::LearningId)))
                .about("Its name"),
            Field::required("type", Shape::one_of(LearningType::WORDS)).about("What it is about"),
            Field::required("content", Shape::TEXT).about("What to know"),
            Field::optional("context", Shape::TEXT).about("Where it applies"),
            Field::required("source_prd_id", Shape::TEXT).about("The item that it came from"),
            Field::optional("source_entry_id", Shape::TEXT).about("The attempt that it came from"),
            Field::required("created_at", Shape::DATE_TIME).about("When it was learned"),
            Field::optional("times_referenced", Shape::COUNT).about("How often it was used"),
            Field::optional("still_valid", Shape::Bool).about("Whether it is to be followed"),
        ],
        Rest::Closed,
    ),
};

static PATTERN: Named = Named {
    name: "Pattern",
    shape: Shape::Map(
        &[
            Field::required("id", Shape::Text(Text::Pattern(Pattern::PatternId))).about("Its name"),
            Field::required("name", Shape::TEXT).about("In a few words"),
            Field::required("type", Shape::one_of(PatternType::WORDS)).about("What it is about"),
            Field::optional("description", Shape::TEXT).about("What it is and how to follow it"),
            Field::optional("examples", TEXTS).about("Paths or snippets that show it"),
            Field::required("discovered_at", Shape::DATE_TIME).about("When it was noticed"),
            Field::optional("source_prd_id", Shape::TEXT).about("The item that it came from"),
            Field::optional("confidence", Shape::one_of(Confidence::WORDS)).about("How sure it is"),
        ],
        Rest::Closed,
    ),
};
