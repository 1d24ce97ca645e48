//! What a `prd.json` must be, strictly.

use crate::shape::{Field, Named, Rest, Shape, Text};

const TEXTS: Shape = Shape::List(&Shape::TEXT);
const ID: Shape = Shape::Text(Text::NotEmpty);

const COMMANDS: Shape = Shape::Either(&[
    Shape::TEXT,
    TEXTS,
    Shape::Map(
        &[
            Field::optional("tests", ONE_OR_MORE),
            Field::optional("build", ONE_OR_MORE),
            Field::optional("type_check", ONE_OR_MORE),
            Field::optional("custom", ONE_OR_MORE),
        ],
        Rest::Closed,
    ),
]);
const ONE_OR_MORE: Shape = Shape::Either(&[Shape::TEXT, TEXTS]);

const VERIFICATION: Field = Field::optional("verification", COMMANDS)
    .about("Shell commands that must succeed before an item passes");
const VERIFICATION_COMMANDS: Field = Field::optional("verificationCommands", ONE_OR_MORE)
    .about("Shell commands that must succeed before an item passes");

const CLAIMS: Field = Field::optional("claims", Shape::CLAIMS)
    .about("What little proof is worth for this item, as in piton's `[claims]`");

/// A `prd.json` with features.
pub static FEATURES_SHAPE: Shape = Shape::Map(
    &[
        Field::required("features", Shape::List(&Shape::Named(&FEATURE))),
        VERIFICATION,
        VERIFICATION_COMMANDS,
        Field::tolerated("project", Shape::TEXT),
        Field::tolerated("description", Shape::TEXT),
        Field::tolerated("branchName", Shape::TEXT),
        Field::tolerated("branch_name", Shape::TEXT),
    ],
    Rest::Closed,
);

static FEATURE: Named = Named {
    name: "Feature",
    shape: Shape::Map(
        &[
            Field::required("id", ID),
            Field::required("description", Shape::TEXT),
            Field::required("steps", TEXTS),
            Field::required("passes", Shape::Bool),
            Field::optional("may_depend_on", TEXTS).about("Ids; may be incomplete"),
            Field::optional("notes", Shape::TEXT),
            VERIFICATION,
            VERIFICATION_COMMANDS,
            CLAIMS,
            Field::tolerated("title", Shape::TEXT),
            Field::tolerated("priority", Shape::Number { min: None }),
            Field::tolerated("acceptanceCriteria", ONE_OR_MORE),
            Field::tolerated("acceptance_criteria", ONE_OR_MORE),
            Field::tolerated("criteria", ONE_OR_MORE),
            Field::tolerated("dependsOn", ONE_OR_MORE),
            Field::tolerated("depends_on", ONE_OR_MORE),
            Field::tolerated("dependencies", ONE_OR_MORE),
        ],
        Rest::Closed,
    ),
};

/// A `prd.json` with user stories.
pub static USER_STORIES_SHAPE: Shape = Shape::Map(
    &[
        Field::optional("project", Shape::TEXT),
        Field::required("branchName", Shape::TEXT),
        Field::optional("description", Shape::TEXT),
        Field::required("userStories", Shape::List(&Shape::Named(&USER_STORY))),
        VERIFICATION,
        VERIFICATION_COMMANDS,
        Field::tolerated("branch_name", Shape::TEXT),
        Field::tolerated("stories", Shape::List(&Shape::Named(&USER_STORY))),
        Field::tolerated("tasks", Shape::List(&Shape::Named(&USER_STORY))),
    ],
    Rest::Closed,
);

static USER_STORY: Named = Named {
    name: "UserStory",
    shape: Shape::Map(
        &[
            Field::required("id", ID),
            Field::required("title", Shape::TEXT),
            Field::optional("description", Shape::TEXT),
            Field::required("acceptanceCriteria", TEXTS),
            Field::required("priority", Shape::Number { min: None }).about("The least comes first"),
            Field::required("passes", Shape::Bool),
            Field::optional("notes", Shape::TEXT),
            Field::optional("dependsOn", TEXTS).about("Ids of stories to be done before"),
            VERIFICATION,
            VERIFICATION_COMMANDS,
            CLAIMS,
            Field::tolerated("steps", ONE_OR_MORE),
            Field::tolerated("acceptance_criteria", ONE_OR_MORE),
            Field::tolerated("criteria", ONE_OR_MORE),
            Field::tolerated("may_depend_on", ONE_OR_MORE),
            Field::tolerated("depends_on", ONE_OR_MORE),
            Field::tolerated("dependencies", ONE_OR_MORE),
        ],
        Rest::Closed,
    ),
};
