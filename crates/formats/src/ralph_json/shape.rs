//! What a progress file must be, as a table.

use super::element::{ENTRY, LEARNING, PATTERN};
use crate::shape::{
    FieldShape, OtherKeys, Pattern, Shape, TextShape, optional_field, required_field,
};

/// What the format is called where things of several are kept.
pub const FACE: &str = "ralph-json";

/// What paths of problems begin with.
pub const ROOT_NAME: &str = "progress";

/// What the format demands strictly.
pub static SHAPE: Shape = Shape::Map(ROOT, OtherKeys::Closed);

pub(super) static ROOT: &[FieldShape] = &[
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
