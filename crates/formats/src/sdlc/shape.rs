//! What a `state.json` must be, strictly.

use super::state::{IssueStatus, Phase, PhaseStatus};
use crate::shape::{Field, Named, Pattern, Shape, Text, closed, may, must};

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
pub static SHAPE: Shape = closed(STATE_KEYS);

pub(super) static STATE_KEYS: &[Field] = &[
    must("run_id", Shape::Text(Text::Pattern(Pattern::RunId)))
        .about("The date and a slug; a second run of a day and slug gets -2"),
    must("prd_url", Shape::TEXT).about("Where the product requirements are"),
    must("phase", Shape::one_of(Phase::WORDS)),
    must("phase_status", Shape::one_of(PhaseStatus::WORDS)).about("How far the current phase is"),
    must("bootstrap", Shape::Named(&BOOTSTRAP)),
    must("artifacts", Shape::Named(&ARTIFACTS)),
    must("issues", Shape::Each(&Shape::Named(&ISSUE))).about("Issues by their id"),
    must("updated_at", Shape::DATE_TIME).about("When the file was written last"),
    must("metrics", Shape::Named(&METRICS)),
];

static BOOTSTRAP: Named = Named::closed(
    "Bootstrap",
    &[
        must(
            "languages",
            Shape::Each(&Shape::one_of(&["go", "typescript", "python"])),
        )
        .about("The language of each repository"),
        must("docs_generated", Shape::Each(&TEXT_OR_NULL))
            .about("The pull request with documents for each repository"),
    ],
);

static ARTIFACTS: Named = Named::closed(
    "Artifacts",
    &[
        must("scoping_doc", TEXT_OR_NULL),
        must("pert", TEXT_OR_NULL),
    ],
);

static ISSUE: Named = Named::closed("Issue", ISSUE_KEYS);

pub(super) static ISSUE_KEYS: &[Field] = &[
    must("repo", Shape::TEXT).about("The repository, by its name in the manifest"),
    must("title", Shape::TEXT),
    must("status", Shape::one_of(IssueStatus::WORDS)),
    must("pr", PR).about("The pull request, as org/repo#N"),
    must("pr_number", PR_NUMBER),
    must("blocked_by", Shape::List(&Shape::TEXT)).about("The issues that must be done before"),
    must("review_iterations", Shape::COUNT).about("Reviews by an agent"),
    must("human_iterations", Shape::COUNT).about("Reviews by a person"),
];

static METRICS: Named = Named::closed(
    "Metrics",
    &[
        must("started_at", Shape::DATE_TIME),
        must("phases", Shape::Named(&PHASES)),
        must("agent_invocations", Shape::List(&Shape::Named(&INVOCATION))),
        must("totals", Shape::Named(&TOTALS)),
    ],
);

static PHASES: Named = Named::closed(
    "Phases",
    &[
        may("BOOTSTRAP", Shape::Named(&TIMES)),
        may("DESIGN", Shape::Named(&TIMES)),
        may("PLANNING", Shape::Named(&TIMES)),
        may("TRACKING", Shape::Named(&TIMES)),
        may("EXECUTING", Shape::Named(&TIMES)),
        may("COMPLETED", Shape::Named(&TIMES)),
    ],
);

static TIMES: Named = Named::closed(
    "Times",
    &[
        must("started_at", Shape::DATE_TIME),
        must("ended_at", TIME_OR_NULL),
        must("duration_s", AMOUNT_OR_NULL),
    ],
);

static INVOCATION: Named = Named::closed(
    "Invocation",
    &[
        must("agent", Shape::TEXT),
        // The names of models change more often than a format may.
        must("model", Shape::TEXT).about("Such as sonnet or opus"),
        must("repo", TEXT_OR_NULL),
        must("issue", TEXT_OR_NULL),
        must("started_at", Shape::DATE_TIME),
        must("duration_s", AMOUNT),
        must(
            "tokens",
            closed(&[must("input", Shape::COUNT), must("output", Shape::COUNT)]),
        ),
    ],
);

static TOTALS: Named = Named::closed(
    "Totals",
    &[
        must("duration_s", AMOUNT),
        must("agent_spawns", Shape::COUNT),
        must(
            "review_iterations",
            closed(&[must("agent", Shape::COUNT), must("human", Shape::COUNT)]),
        ),
        must("issues_created", Shape::COUNT),
        must("prs_created", Shape::COUNT),
        must("prs_merged", Shape::COUNT),
    ],
);
