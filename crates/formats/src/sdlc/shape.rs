//! What a `state.json` must be, strictly.

use super::state::{IssueStatus, Phase, PhaseStatus};
use crate::shape::{Field, Named, Pattern, Rest, Shape, Text};

const TEXT_OR_NULL: Shape = Shape::Either(&[Shape::TEXT, Shape::Null]);
const TIME_OR_NULL: Shape = Shape::Either(&[Shape::DATE_TIME, Shape::Null]);
const AMOUNT: Shape = Shape::Number { min: Some(0) };
const AMOUNT_OR_NULL: Shape = Shape::Either(&[AMOUNT, Shape::Null]);
const PR: Shape = Shape::Either(&[
    Shape::Text(Text::Pattern(Pattern::PullRequest)),
    Shape::Null,
]);
const PR_NUMBER: Shape = Shape::Either(&[Shape::Integer { min: Some(1) }, Shape::Null]);

/// A `state.json` as it is written.
pub static SHAPE: Shape = Shape::Map(
    &[
        Field::required("run_id", Shape::Text(Text::Pattern(Pattern::RunId)))
            .about("The date and a slug; a second run of a day and slug gets -2"),
        Field::required("prd_url", Shape::TEXT).about("Where the product requirements are"),
        Field::required("phase", Shape::one_of(Phase::WORDS)),
        Field::required("phase_status", Shape::one_of(PhaseStatus::WORDS))
            .about("How far the current phase is"),
        Field::required("bootstrap", Shape::Named(&BOOTSTRAP)),
        Field::required("artifacts", Shape::Named(&ARTIFACTS)),
        Field::required("issues", Shape::Each(&Shape::Named(&ISSUE))).about("Issues by their id"),
        Field::required("updated_at", Shape::DATE_TIME).about("When the file was written last"),
        Field::required("metrics", Shape::Named(&METRICS)),
    ],
    Rest::Closed,
);

static BOOTSTRAP: Named = Named {
    name: "Bootstrap",
    shape: Shape::Map(
        &[
            Field::required(
                "languages",
                Shape::Each(&Shape::one_of(&["go", "typescript", "python"])),
            )
            .about("The language of each repository"),
            Field::required("docs_generated", Shape::Each(&TEXT_OR_NULL))
                .about("The pull request with documents for each repository"),
        ],
        Rest::Closed,
    ),
};

static ARTIFACTS: Named = Named {
    name: "Artifacts",
    shape: Shape::Map(
        &[
            Field::required("scoping_doc", TEXT_OR_NULL),
            Field::required("pert", TEXT_OR_NULL),
        ],
        Rest::Closed,
    ),
};

static ISSUE: Named = Named {
    name: "Issue",
    shape: Shape::Map(
        &[
            Field::required("repo", Shape::TEXT)
                .about("The repository, by its name in the manifest"),
            Field::required("title", Shape::TEXT),
            Field::required("status", Shape::one_of(IssueStatus::WORDS)),
            Field::required("pr", PR).about("The pull request, as org/repo#N"),
            Field::required("pr_number", PR_NUMBER),
            Field::required("blocked_by", Shape::List(&Shape::TEXT))
                .about("The issues that must be done before"),
            Field::required("review_iterations", Shape::COUNT).about("Reviews by an agent"),
            Field::required("human_iterations", Shape::COUNT).about("Reviews by a person"),
        ],
        Rest::Closed,
    ),
};

static METRICS: Named = Named {
    name: "Metrics",
    shape: Shape::Map(
        &[
            Field::required("started_at", Shape::DATE_TIME),
            Field::required("phases", Shape::Named(&PHASES)),
            Field::required("agent_invocations", Shape::List(&Shape::Named(&INVOCATION))),
            Field::required("totals", Shape::Named(&TOTALS)),
        ],
        Rest::Closed,
    ),
};

static PHASES: Named = Named {
    name: "Phases",
    shape: Shape::Map(
        &[
            Field::optional("BOOTSTRAP", Shape::Named(&TIMES)),
            Field::optional("DESIGN", Shape::Named(&TIMES)),
            Field::optional("PLANNING", Shape::Named(&TIMES)),
            Field::optional("TRACKING", Shape::Named(&TIMES)),
            Field::optional("EXECUTING", Shape::Named(&TIMES)),
            Field::optional("COMPLETED", Shape::Named(&TIMES)),
        ],
        Rest::Closed,
    ),
};

static TIMES: Named = Named {
    name: "Times",
    shape: Shape::Map(
        &[
            Field::required("started_at", Shape::DATE_TIME),
            Field::required("ended_at", TIME_OR_NULL),
            Field::required("duration_s", AMOUNT_OR_NULL),
        ],
        Rest::Closed,
    ),
};

static INVOCATION: Named = Named {
    name: "Invocation",
    shape: Shape::Map(
        &[
            Field::required("agent", Shape::TEXT),
            // The names of models change more often than a format may.
            Field::required("model", Shape::TEXT).about("Such as sonnet or opus"),
            Field::required("repo", TEXT_OR_NULL),
            Field::required("issue", TEXT_OR_NULL),
            Field::required("started_at", Shape::DATE_TIME),
            Field::required("duration_s", AMOUNT),
            Field::required(
                "tokens",
                Shape::Map(
                    &[
                        Field::required("input", Shape::COUNT),
                        Field::required("output", Shape::COUNT),
                    ],
                    Rest::Closed,
                ),
            ),
        ],
        Rest::Closed,
    ),
};

static TOTALS: Named = Named {
    name: "Totals",
    shape: Shape::Map(
        &[
            Field::required("duration_s", AMOUNT),
            Field::required("agent_spawns", Shape::COUNT),
            Field::required(
                "review_iterations",
                Shape::Map(
                    &[
                        Field::required("agent", Shape::COUNT),
                        Field::required("human", Shape::COUNT),
                    ],
                    Rest::Closed,
                ),
            ),
            Field::required("issues_created", Shape::COUNT),
            Field::required("prs_created", Shape::COUNT),
            Field::required("prs_merged", Shape::COUNT),
        ],
        Rest::Closed,
    ),
};
