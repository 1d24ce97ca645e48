//! What a `prd.json` must be, strictly.

use crate::shape::{Field, Named, Shape, Text, closed, may, must};

const TEXTS: Shape = Shape::List(&Shape::TEXT);
const ID: Shape = Shape::Text(Text::NotEmpty);

const COMMANDS: Shape = Shape::Either(&[
    Shape::TEXT,
    TEXTS,
    closed(&[
        may("tests", ONE_OR_MORE),
        may("build", ONE_OR_MORE),
        may("type_check", ONE_OR_MORE),
        may("custom", ONE_OR_MORE),
    ]),
]);
const ONE_OR_MORE: Shape = Shape::Either(&[Shape::TEXT, TEXTS]);

const VERIFICATION: Field =
    may("verification", COMMANDS).about("Shell commands that must succeed before an item passes");
const VERIFICATION_COMMANDS: Field = may("verificationCommands", ONE_OR_MORE)
    .about("Shell commands that must succeed before an item passes");

const CLAIMS: Field = may("claims", Shape::CLAIMS)
    .about("What little proof is worth for this item, as in piton's `[claims]`");

const RELATED_FILES: Field = may("related_files", ONE_OR_MORE)
    .about("The files or folders that it is about: two about the same are not worked on at once");

/// A `prd.json` with features.
pub static FEATURES_SHAPE: Shape = closed(&[
    must("features", Shape::List(&Shape::Named(&FEATURE))),
    VERIFICATION,
    VERIFICATION_COMMANDS,
    Field::tolerated("project", Shape::TEXT),
    Field::tolerated("description", Shape::TEXT),
    Field::tolerated("branchName", Shape::TEXT),
    Field::tolerated("branch_name", Shape::TEXT),
]);

static FEATURE: Named = Named::closed(
    "Feature",
    &[
        must("id", ID),
        must("description", Shape::TEXT),
        must("steps", TEXTS),
        must("passes", Shape::Bool),
        may("may_depend_on", TEXTS).about("Ids; may be incomplete"),
        may("notes", Shape::TEXT),
        VERIFICATION,
        VERIFICATION_COMMANDS,
        CLAIMS,
        RELATED_FILES,
        Field::tolerated("relatedFiles", ONE_OR_MORE),
        Field::tolerated("files", ONE_OR_MORE),
        Field::tolerated("title", Shape::TEXT),
        Field::tolerated("priority", Shape::Number { min: None }),
        Field::tolerated("acceptanceCriteria", ONE_OR_MORE),
        Field::tolerated("acceptance_criteria", ONE_OR_MORE),
        Field::tolerated("criteria", ONE_OR_MORE),
        Field::tolerated("dependsOn", ONE_OR_MORE),
        Field::tolerated("depends_on", ONE_OR_MORE),
        Field::tolerated("dependencies", ONE_OR_MORE),
    ],
);

/// A `prd.json` with user stories.
pub static USER_STORIES_SHAPE: Shape = closed(&[
    may("project", Shape::TEXT),
    must("branchName", Shape::TEXT),
    may("description", Shape::TEXT),
    must("userStories", Shape::List(&Shape::Named(&USER_STORY))),
    VERIFICATION,
    VERIFICATION_COMMANDS,
    Field::tolerated("branch_name", Shape::TEXT),
    Field::tolerated("stories", Shape::List(&Shape::Named(&USER_STORY))),
    Field::tolerated("tasks", Shape::List(&Shape::Named(&USER_STORY))),
]);

static USER_STORY: Named = Named::closed(
    "UserStory",
    &[
        must("id", ID),
        must("title", Shape::TEXT),
        may("description", Shape::TEXT),
        must("acceptanceCriteria", TEXTS),
        must("priority", Shape::Number { min: None }).about("The least comes first"),
        must("passes", Shape::Bool),
        may("notes", Shape::TEXT),
        may("dependsOn", TEXTS).about("Ids of stories to be done before"),
        VERIFICATION,
        VERIFICATION_COMMANDS,
        CLAIMS,
        RELATED_FILES,
        Field::tolerated("relatedFiles", ONE_OR_MORE),
        Field::tolerated("files", ONE_OR_MORE),
        Field::tolerated("steps", ONE_OR_MORE),
        Field::tolerated("acceptance_criteria", ONE_OR_MORE),
        Field::tolerated("criteria", ONE_OR_MORE),
        Field::tolerated("may_depend_on", ONE_OR_MORE),
        Field::tolerated("depends_on", ONE_OR_MORE),
        Field::tolerated("dependencies", ONE_OR_MORE),
    ],
);
