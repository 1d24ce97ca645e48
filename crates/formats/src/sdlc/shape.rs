//! What a `state.json` must be, strictly.

use super::state::{IssueStatus, Phase, PhaseStatus};
use crate::shape::{
    FieldShape, NamedShape, Pattern, Shape, TextShape, closed_map, optional_field, required_field,
};

const TEXT_OR_NULL: Shape = Shape::Either(&[Shape::TEXT, Shape::Null]);
const TIME_OR_NULL: Shape = Shape::Either(&[Shape::DATE_TIME, Shape::Null]);
const AMOUNT: Shape = Shape::Number { min: Some(0) };
const AMOUNT_OR_NULL: Shape = Shape::Either(&[AMOUNT, Shape::Null]);
const PR: Shape = Shape::Either(&[
    Shape::Text(TextShape::Pattern(Pattern::PullRequest)),
    Shape::Null,
]);
const PR_NUMBER: Shape = Shape::Either(&[Shape::Integer { min: Some(1) }, Shape::Null]);

/// A `state.json` as it is written.
pub static SHAPE: Shape = closed_map(STATE_KEYS);

pub(super) static STATE_KEYS: &[FieldShape] = &[
    required_field("run_id", Shape::Text(TextShape::Pattern(Pattern::RunId)))
        .with_about("The date and a slug; a second run of a day and slug gets -2"),
    required_field("prd_url", Shape::TEXT).with_about("Where the product requirements are"),
    required_field("phase", Shape::one_of(Phase::WORDS)),
    required_field("phase_status", Shape::one_of(PhaseStatus::WORDS))
        .with_about("How far the current phase is"),
    required_field("bootstrap", Shape::Named(&BOOTSTRAP)),
    required_field("artifacts", Shape::Named(&ARTIFACTS)),
    required_field("issues", Shape::Each(&Shape::Named(&ISSUE))).with_about("Issues by their id"),
    required_field("updated_at", Shape::DATE_TIME).with_about("When the file was written last"),
    required_field("metrics", Shape::Named(&METRICS)),
];

static BOOTSTRAP: NamedShape = NamedShape::closed_map(
    "Bootstrap",
    &[
        required_field(
            "languages",
            Shape::Each(&Shape::one_of(&["go", "typescript", "python"])),
        )
        .with_about("The language of each repository"),
        required_field("docs_generated", Shape::Each(&TEXT_OR_NULL))
            .with_about("The pull request with documents for each repository"),
    ],
);

static ARTIFACTS: NamedShape = NamedShape::closed_map(
    "Artifacts",
    &[
        required_field("scoping_doc", TEXT_OR_NULL),
        required_field("pert", TEXT_OR_NULL),
    ],
);

static ISSUE: NamedShape = NamedShape::closed_map("Issue", ISSUE_KEYS);

pub(super) static ISSUE_KEYS: &[FieldShape] = &[
    required_field("repo", Shape::TEXT).with_about("The repository, by its name in the manifest"),
    required_field("title", Shape::TEXT),
    required_field("status", Shape::one_of(IssueStatus::WORDS)),
    required_field("pr", PR).with_about("The pull request, as org/repo#N"),
    required_field("pr_number", PR_NUMBER),
    required_field("blocked_by", Shape::List(&Shape::TEXT))
        .with_about("The issues that must be done before"),
    required_field("review_iterations", Shape::COUNT).with_about("Reviews by an agent"),
    required_field("human_iterations", Shape::COUNT).with_about("Reviews by a person"),
];

static METRICS: NamedShape = NamedShape::closed_map(
    "Metrics",
    &[
        required_field("started_at", Shape::DATE_TIME),
        required_field("phases", Shape::Named(&PHASES)),
        required_field("agent_invocations", Shape::List(&Shape::Named(&INVOCATION))),
        required_field("totals", Shape::Named(&TOTALS)),
    ],
);

static PHASES: NamedShape = NamedShape::closed_map(
    "Phases",
    &[
        optional_field("BOOTSTRAP", Shape::Named(&TIMES)),
        optional_field("DESIGN", Shape::Named(&TIMES)),
        optional_field("PLANNING", Shape::Named(&TIMES)),
        optional_field("TRACKING", Shape::Named(&TIMES)),
        optional_field("EXECUTING", Shape::Named(&TIMES)),
        optional_field("COMPLETED", Shape::Named(&TIMES)),
    ],
);

static TIMES: NamedShape = NamedShape::closed_map(
    "Times",
    &[
        required_field("started_at", Shape::DATE_TIME),
        required_field("ended_at", TIME_OR_NULL),
        required_field("duration_s", AMOUNT_OR_NULL),
    ],
);

static INVOCATION: NamedShape = NamedShape::closed_map(
    "Invocation",
    &[
        required_field("agent", Shape::TEXT),
        // The names of models change more often than a format may.
        required_field("model", Shape::TEXT).with_about("Such as sonnet or opus"),
        required_field("repo", TEXT_OR_NULL),
        required_field("issue", TEXT_OR_NULL),
        required_field("started_at", Shape::DATE_TIME),
        required_field("duration_s", AMOUNT),
        required_field(
            "tokens",
            closed_map(&[
                required_field("input", Shape::COUNT),
                required_field("output", Shape::COUNT),
            ]),
        ),
    ],
);

static TOTALS: NamedShape = NamedShape::closed_map(
    "Totals",
    &[
        required_field("duration_s", AMOUNT),
        required_field("agent_spawns", Shape::COUNT),
        required_field(
            "review_iterations",
            closed_map(&[
                required_field("agent", Shape::COUNT),
                required_field("human", Shape::COUNT),
            ]),
        ),
        required_field("issues_created", Shape::COUNT),
        required_field("prs_created", Shape::COUNT),
        required_field("prs_merged", Shape::COUNT),
    ],
);
