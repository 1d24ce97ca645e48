//! What a `prd.json` must be, strictly.

use crate::shape::{
    FieldShape, NamedShape, Shape, TextShape, closed_map, optional_field, required_field,
};

const TEXTS: Shape = Shape::List(&Shape::TEXT);
const ID: Shape = Shape::Text(TextShape::NotEmpty);

const COMMANDS: Shape = Shape::Either(&[
    Shape::TEXT,
    TEXTS,
    closed_map(&[
        optional_field("tests", ONE_OR_MORE),
        optional_field("build", ONE_OR_MORE),
        optional_field("type_check", ONE_OR_MORE),
        optional_field("custom", ONE_OR_MORE),
    ]),
]);
const ONE_OR_MORE: Shape = Shape::Either(&[Shape::TEXT, TEXTS]);

const VERIFICATION: FieldShape = optional_field("verification", COMMANDS)
    .with_about("Shell commands that must succeed before an item passes");
const VERIFICATION_COMMANDS: FieldShape = optional_field("verificationCommands", ONE_OR_MORE)
    .with_about("Shell commands that must succeed before an item passes");

const CLAIMS: FieldShape = optional_field("claims", Shape::CLAIMS)
    .with_about("What little proof is worth for this item, as in piton's `[claims]`");

const RELATED_FILES: FieldShape = optional_field("related_files", ONE_OR_MORE).with_about(
    "The files or folders that it is about: two about the same are not worked on at once",
);

/// A `prd.json` with features.
pub static FEATURES_SHAPE: Shape = closed_map(&[
    required_field("features", Shape::List(&Shape::Named(&FEATURE))),
    VERIFICATION,
    VERIFICATION_COMMANDS,
    FieldShape::tolerated("project", Shape::TEXT),
    FieldShape::tolerated("description", Shape::TEXT),
    FieldShape::tolerated("branchName", Shape::TEXT),
    FieldShape::tolerated("branch_name", Shape::TEXT),
]);

static FEATURE: NamedShape = NamedShape::closed_map(
    "Feature",
    &[
        required_field("id", ID),
        required_field("description", Shape::TEXT),
        required_field("steps", TEXTS),
        required_field("passes", Shape::Bool),
        optional_field("may_depend_on", TEXTS).with_about("Ids; may be incomplete"),
        optional_field("notes", Shape::TEXT),
        VERIFICATION,
        VERIFICATION_COMMANDS,
        CLAIMS,
        RELATED_FILES,
        FieldShape::tolerated("relatedFiles", ONE_OR_MORE),
        FieldShape::tolerated("files", ONE_OR_MORE),
        FieldShape::tolerated("title", Shape::TEXT),
        FieldShape::tolerated("priority", Shape::Number { min: None }),
        FieldShape::tolerated("acceptanceCriteria", ONE_OR_MORE),
        FieldShape::tolerated("acceptance_criteria", ONE_OR_MORE),
        FieldShape::tolerated("criteria", ONE_OR_MORE),
        FieldShape::tolerated("dependsOn", ONE_OR_MORE),
        FieldShape::tolerated("depends_on", ONE_OR_MORE),
        FieldShape::tolerated("dependencies", ONE_OR_MORE),
    ],
);

/// A `prd.json` with user stories.
pub static USER_STORIES_SHAPE: Shape = closed_map(&[
    optional_field("project", Shape::TEXT),
    required_field("branchName", Shape::TEXT),
    optional_field("description", Shape::TEXT),
    required_field("userStories", Shape::List(&Shape::Named(&USER_STORY))),
    VERIFICATION,
    VERIFICATION_COMMANDS,
    FieldShape::tolerated("branch_name", Shape::TEXT),
    FieldShape::tolerated("stories", Shape::List(&Shape::Named(&USER_STORY))),
    FieldShape::tolerated("tasks", Shape::List(&Shape::Named(&USER_STORY))),
]);

static USER_STORY: NamedShape = NamedShape::closed_map(
    "UserStory",
    &[
        required_field("id", ID),
        required_field("title", Shape::TEXT),
        optional_field("description", Shape::TEXT),
        required_field("acceptanceCriteria", TEXTS),
        required_field("priority", Shape::Number { min: None }).with_about("The least comes first"),
        required_field("passes", Shape::Bool),
        optional_field("notes", Shape::TEXT),
        optional_field("dependsOn", TEXTS).with_about("Ids of stories to be done before"),
        VERIFICATION,
        VERIFICATION_COMMANDS,
        CLAIMS,
        RELATED_FILES,
        FieldShape::tolerated("relatedFiles", ONE_OR_MORE),
        FieldShape::tolerated("files", ONE_OR_MORE),
        FieldShape::tolerated("steps", ONE_OR_MORE),
        FieldShape::tolerated("acceptance_criteria", ONE_OR_MORE),
        FieldShape::tolerated("criteria", ONE_OR_MORE),
        FieldShape::tolerated("may_depend_on", ONE_OR_MORE),
        FieldShape::tolerated("depends_on", ONE_OR_MORE),
        FieldShape::tolerated("dependencies", ONE_OR_MORE),
    ],
);
