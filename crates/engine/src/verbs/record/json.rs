//! An attempt told in JSON: an entry of `.ralph/progress.json` without its id.

use std::collections::BTreeMap;

use jiff::Timestamp;
use piton_core::Outcome;
use piton_core::attempt::{
    AttemptContext, ProgramReport, RecoveryAction, Report, ReportedChanges, Usage,
};
use piton_core::observation::{
    ActionTaken, Observation, ObservationCategory, ObservationKind, Severity,
};
use piton_formats::json;
use piton_formats::problem::Problem;
use piton_formats::shape::{FieldShape, NamedShape, OtherKeys, Shape, TextShape, check};
use serde::Deserialize;

use super::AttemptAccount;
use crate::failure::{Failure, Findings};
use crate::world::World;

/// The outcomes in the words of a JSON entry: those of the file, and piton's own.
const OUTCOMES: &[&str] = &[
    "completed",
    "failed",
    "blocked",
    "partial",
    "needs-human",
    "interrupted",
];

const NAME: Shape = Shape::Text(TextShape::NotEmpty);
const TEXTS: Shape = Shape::List(&Shape::TEXT);

static OBSERVATION: NamedShape = NamedShape {
    name: "Observation",
    shape: Shape::Map(
        &[
            FieldShape::required("type", Shape::one_of(ObservationKind::WORDS)),
            FieldShape::required("title", NAME),
            FieldShape::optional("description", Shape::TEXT),
            FieldShape::optional("file", Shape::TEXT),
            FieldShape::optional("category", Shape::one_of(ObservationCategory::WORDS)),
            FieldShape::optional("severity", Shape::one_of(Severity::WORDS)),
            FieldShape::optional("action_taken", Shape::one_of(ActionTaken::WORDS)),
            FieldShape::optional("related_learning_id", Shape::TEXT),
        ],
        OtherKeys::Closed,
    ),
};

static CONTEXT: NamedShape = NamedShape {
    name: "Context",
    shape: Shape::Map(
        &[
            FieldShape::optional("retry_count", Shape::COUNT),
            FieldShape::optional("previous_failure_reason", Shape::TEXT),
            FieldShape::optional("recovery_action", Shape::one_of(RecoveryAction::WORDS)),
            FieldShape::optional("recovery_guidance", Shape::TEXT),
            FieldShape::optional("dependencies_completed", TEXTS),
            FieldShape::optional("blocker_verified", Shape::Bool),
            FieldShape::optional("blocker_valid", Shape::Bool),
        ],
        OtherKeys::Closed,
    ),
};

static USAGE: NamedShape = NamedShape {
    name: "Usage",
    shape: Shape::Map(
        &[
            FieldShape::optional("input_tokens", Shape::COUNT),
            FieldShape::optional("output_tokens", Shape::COUNT),
            FieldShape::optional("cache_read_tokens", Shape::COUNT),
            FieldShape::optional("cache_write_tokens", Shape::COUNT),
            FieldShape::optional("reasoning_tokens", Shape::COUNT),
            FieldShape::optional("cost_usd", Shape::Number { min: Some(0) }),
        ],
        OtherKeys::Closed,
    ),
};

/// What an object must look like.
static ENTRY: Shape = Shape::Map(
    &[
        FieldShape::optional("prd_id", NAME),
        FieldShape::optional("timestamp", Shape::DATE_TIME),
        FieldShape::optional("iteration", Shape::Integer { min: Some(1) }),
        FieldShape::optional("status", Shape::one_of(OUTCOMES)),
        FieldShape::optional("duration_seconds", Shape::COUNT),
        FieldShape::optional("summary", Shape::TEXT),
        FieldShape::optional("observations", Shape::List(&Shape::Named(&OBSERVATION))),
        FieldShape::optional("files_modified", TEXTS),
        FieldShape::optional("git_commits", TEXTS),
        FieldShape::optional("context", Shape::Named(&CONTEXT)),
        // What the file has no word for.
        FieldShape::optional("error", Shape::TEXT),
        FieldShape::optional("notes", Shape::TEXT),
        FieldShape::optional("agent", Shape::TEXT),
        FieldShape::optional("validations", TEXTS),
        FieldShape::optional("usage", Shape::Named(&USAGE)),
    ],
    OtherKeys::Closed,
);

/// The same, to be read once it is known to fit.
#[derive(Deserialize)]
struct AttemptEntry {
    prd_id: Option<String>,
    timestamp: Option<Timestamp>,
    iteration: Option<u32>,
    status: Option<Outcome>,
    duration_seconds: Option<u64>,
    summary: Option<String>,
    #[serde(default)]
    observations: Vec<Observation>,
    files_modified: Option<Vec<String>>,
    git_commits: Option<Vec<String>>,
    context: Option<AttemptContext>,
    error: Option<String>,
    notes: Option<String>,
    agent: Option<String>,
    #[serde(default)]
    validations: Vec<String>,
    #[serde(default)]
    usage: Usage,
}

/// Reads what `file` says of an attempt; all that is wrong is told at once.
pub(super) fn parse_account(
    world: &World,
    file: &str,
    text: &str,
) -> Result<AttemptAccount, Failure> {
    let parsed = json::parse(text);
    let mut problems: Vec<Problem> = parsed
        .faults
        .iter()
        .map(|fault| {
            Problem::error("SYNTAX", file, "", fault.span)
                .with_message(fault.message.clone(), fault.hint.clone())
        })
        .collect();
    if let Some(root) = &parsed.root {
        problems.extend(check(root, &ENTRY, file, ""));
    }
    if !problems.is_empty() {
        return Err(problems_failure(world, file, text, problems));
    }
    let entry: AttemptEntry = serde_json::from_str(text).map_err(|error| {
        Failure::new("record.problems", format!("{file} is no attempt"))
            .with_hint("see what it may say with `piton record --help`")
            .with_source(error)
    })?;
    Ok(AttemptAccount {
        item: entry.prd_id,
        outcome: entry.status,
        agent: entry.agent,
        ended_at: entry.timestamp,
        number: entry.iteration,
        report: Report {
            summary: entry.summary,
            observations: entry.observations,
            context: entry.context,
            error: entry.error,
            notes: entry.notes,
            validations: entry.validations,
            program: ProgramReport {
                duration_s: entry.duration_seconds,
                usage: entry.usage,
                ..ProgramReport::default()
            },
            changes: ReportedChanges {
                files: entry.files_modified,
                commits: entry.git_commits,
                ..ReportedChanges::default()
            },
            ..Report::with_outcome(Outcome::Completed)
        },
    })
}

fn problems_failure(world: &World, file: &str, text: &str, problems: Vec<Problem>) -> Failure {
    let count = match problems.len() {
        1 => "1 problem".to_owned(),
        more => format!("{more} problems"),
    };
    // A source line with a secret in it is not shown.
    let mut redacted = text.to_owned();
    world.redactor().redact_document(&mut redacted);
    let sources = if redacted == text {
        BTreeMap::from([(file.to_owned(), redacted)])
    } else {
        BTreeMap::new()
    };
    Failure::new(
        "record.problems",
        format!("{file} has {count}; nothing was recorded"),
    )
    .with_hint("see what it may say with `piton record --help`")
    .with_findings(Findings { problems, sources })
}
