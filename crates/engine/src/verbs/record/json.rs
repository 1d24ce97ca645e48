//! An attempt told in JSON: an entry of `.ralph/progress.json` without its id.

use std::collections::BTreeMap;

use jiff::Timestamp;
use piton_core::Outcome;
use piton_core::attempt::{Context, RecoveryAction, Report, Usage};
use piton_core::observation::{
    ActionTaken, Observation, ObservationCategory, ObservationKind, Severity,
};
use piton_formats::json;
use piton_formats::problem::Problem;
use piton_formats::shape::{Field, Named, Rest, Shape, Text, check};
use serde::Deserialize;

use super::Account;
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

const NAME: Shape = Shape::Text(Text::NotEmpty);
const TEXTS: Shape = Shape::List(&Shape::TEXT);

static OBSERVATION: Named = Named {
    name: "Observation",
    shape: Shape::Map(
        &[
            Field::required("type", Shape::one_of(ObservationKind::WORDS)),
            Field::required("title", NAME),
            Field::optional("description", Shape::TEXT),
            Field::optional("file", Shape::TEXT),
            Field::optional("category", Shape::one_of(ObservationCategory::WORDS)),
            Field::optional("severity", Shape::one_of(Severity::WORDS)),
            Field::optional("action_taken", Shape::one_of(ActionTaken::WORDS)),
            Field::optional("related_learning_id", Shape::TEXT),
        ],
        Rest::Closed,
    ),
};

static CONTEXT: Named = Named {
    name: "Context",
    shape: Shape::Map(
        &[
            Field::optional("retry_count", Shape::COUNT),
            Field::optional("previous_failure_reason", Shape::TEXT),
            Field::optional("recovery_action", Shape::one_of(RecoveryAction::WORDS)),
            Field::optional("recovery_guidance", Shape::TEXT),
            Field::optional("dependencies_completed", TEXTS),
            Field::optional("blocker_verified", Shape::Bool),
            Field::optional("blocker_valid", Shape::Bool),
        ],
        Rest::Closed,
    ),
};

static USAGE: Named = Named {
    name: "Usage",
    shape: Shape::Map(
        &[
            Field::optional("input_tokens", Shape::COUNT),
            Field::optional("output_tokens", Shape::COUNT),
            Field::optional("cache_read_tokens", Shape::COUNT),
            Field::optional("cache_write_tokens", Shape::COUNT),
            Field::optional("reasoning_tokens", Shape::COUNT),
            Field::optional("cost_usd", Shape::Number { min: Some(0) }),
        ],
        Rest::Closed,
    ),
};

/// What an object must look like.
static ENTRY: Shape = Shape::Map(
    &[
        Field::optional("prd_id", NAME),
        Field::optional("timestamp", Shape::DATE_TIME),
        Field::optional("iteration", Shape::Integer { min: Some(1) }),
        Field::optional("status", Shape::one_of(OUTCOMES)),
        Field::optional("duration_seconds", Shape::COUNT),
        Field::optional("summary", Shape::TEXT),
        Field::optional("observations", Shape::List(&Shape::Named(&OBSERVATION))),
        Field::optional("files_modified", TEXTS),
        Field::optional("git_commits", TEXTS),
        Field::optional("context", Shape::Named(&CONTEXT)),
        // What the file has no word for.
        Field::optional("error", Shape::TEXT),
        Field::optional("notes", Shape::TEXT),
        Field::optional("agent", Shape::TEXT),
        Field::optional("validations", TEXTS),
        Field::optional("usage", Shape::Named(&USAGE)),
    ],
    Rest::Closed,
);

/// The same, to be read once it is known to fit.
#[derive(Deserialize)]
struct Entry {
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
    context: Option<Context>,
    error: Option<String>,
    notes: Option<String>,
    agent: Option<String>,
    #[serde(default)]
    validations: Vec<String>,
    #[serde(default)]
    usage: Usage,
}

/// Reads what `file` says of an attempt; all that is wrong is told at once.
pub(super) fn read(world: &World, file: &str, text: &str) -> Result<Account, Failure> {
    let parsed = json::parse(text);
    let mut problems: Vec<Problem> = parsed
        .faults
        .iter()
        .map(|fault| {
            Problem::error("SYNTAX", file, "", fault.span)
                .saying(fault.message.clone(), fault.hint.clone())
        })
        .collect();
    if let Some(root) = &parsed.root {
        problems.extend(check(root, &ENTRY, file, ""));
    }
    if !problems.is_empty() {
        return Err(refused(world, file, text, problems));
    }
    let entry: Entry = serde_json::from_str(text).map_err(|error| {
        Failure::new("record.problems", format!("{file} is no attempt"))
            .hint("see what it may say with `piton record --help`")
            .because(error)
    })?;
    Ok(Account {
        item: entry.prd_id,
        outcome: entry.status,
        agent: entry.agent,
        ended_at: entry.timestamp,
        number: entry.iteration,
        report: Report {
            duration_s: entry.duration_seconds,
            summary: entry.summary,
            observations: entry.observations,
            files: entry.files_modified,
            commits: entry.git_commits,
            context: entry.context,
            error: entry.error,
            notes: entry.notes,
            validations: entry.validations,
            usage: entry.usage,
            ..Report::bare(Outcome::Completed)
        },
    })
}

fn refused(world: &World, file: &str, text: &str, problems: Vec<Problem>) -> Failure {
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
    .hint("see what it may say with `piton record --help`")
    .finding(Findings { problems, sources })
}
