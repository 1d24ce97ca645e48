//! What can be typed of an attempt.

use std::path::PathBuf;

use clap::{ArgAction, Args as ClapArgs, ValueEnum};
use piton_core::observation::Observation;

pub(crate) const EXAMPLES: &str =
    "ITEM is a node as `piton status` shows it, with RUN: before it where more than one run has
it; in a task file, a criterion's number. Where there is no plan, any name is taken; where
there is one, project:NAME is an item of no plan.

JSON is read with `-` or --from, and at no other time. It is an object like an entry of
.ralph/progress.json without its id; all keys may be left out:
  prd_id, timestamp, iteration, status, duration_seconds, summary, files_modified,
  git_commits, error, notes, agent, validations
  observations[]: type, title, description, file, category, severity, action_taken,
    related_learning_id
  usage: input_tokens, output_tokens, cache_read_tokens, cache_write_tokens,
    reasoning_tokens, cost_usd
  context: retry_count, previous_failure_reason, recovery_action, recovery_guidance,
    dependencies_completed, blocker_verified, blocker_valid
What is typed as well holds; lists are joined. Other keys and words are refused.

Examples:
  piton record auth-login --summary 'JWT login' --duration 45m --commit a1b2c3d
  piton record auth-oauth --outcome blocked --observation 'blocker: no client id'
  piton record auth-oauth --resolves auth-oauth --resolution 'ops sent the client id'
  piton record 3 --screenshot login.png --validation 'the form shows errors'
  echo '{\"prd_id\":\"auth-login\",\"status\":\"partial\"}' | piton record -
  piton record auth-login --from result.json";

// What an attempt used. No doc comment: clap would show it as the help of the command.
#[derive(Debug, ClapArgs)]
pub(crate) struct UsageArgs {
    /// How many tokens were read
    #[arg(long, value_name = "N")]
    pub(crate) input_tokens: Option<u64>,
    /// How many tokens were written
    #[arg(long, value_name = "N")]
    pub(crate) output_tokens: Option<u64>,
    /// How many tokens were read from a cache
    #[arg(long, value_name = "N")]
    pub(crate) cache_read_tokens: Option<u64>,
    /// How many tokens were written to a cache
    #[arg(long, value_name = "N")]
    pub(crate) cache_write_tokens: Option<u64>,
    /// How many tokens were of reasoning
    #[arg(long, value_name = "N")]
    pub(crate) reasoning_tokens: Option<u64>,
    /// What it cost, in dollars
    #[arg(long, value_name = "DOLLARS", value_parser = parse_dollars)]
    pub(crate) cost_usd: Option<f64>,
}

// What was known before an attempt; see above.
#[derive(Debug, ClapArgs)]
pub(crate) struct ContextArgs {
    /// How often the item had been tried again
    #[arg(long, value_name = "N")]
    pub(crate) retry_count: Option<u64>,
    /// Why the attempt before failed
    #[arg(long, value_name = "TEXT")]
    pub(crate) previous_failure: Option<String>,
    /// What was decided after that
    #[arg(long, value_name = "ACTION")]
    pub(crate) recovery_action: Option<ActionArg>,
    /// With what guidance
    #[arg(long, value_name = "TEXT")]
    pub(crate) recovery_guidance: Option<String>,
    /// An item that was done before, as often as needed
    #[arg(long, value_name = "ITEM", action = ArgAction::Append)]
    pub(crate) dependency: Vec<String>,
    /// Whether the claim of a blocker was checked
    #[arg(long, value_name = "BOOL")]
    pub(crate) blocker_verified: Option<bool>,
    /// Whether the claim was true
    #[arg(long, value_name = "BOOL")]
    pub(crate) blocker_valid: Option<bool>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct RecordArgs {
    /// What was worked on: [RUN:]NODE; `-` reads JSON from stdin
    #[arg(required_unless_present = "from")]
    pub(crate) item: Option<String>,
    /// Read JSON from a file; `-` is stdin
    #[arg(long, value_name = "FILE")]
    pub(crate) from: Option<PathBuf>,
    /// How it ended [default: completed]
    #[arg(long)]
    pub(crate) outcome: Option<OutcomeArg>,
    /// What was done
    #[arg(long, value_name = "TEXT")]
    pub(crate) summary: Option<String>,
    /// What went wrong
    #[arg(long, value_name = "TEXT")]
    pub(crate) error: Option<String>,
    /// More about it
    #[arg(long, value_name = "TEXT")]
    pub(crate) notes: Option<String>,
    /// How long it took: seconds, or 90s, 45m, 1h30m
    #[arg(long, value_name = "DURATION", value_parser = parse_seconds)]
    pub(crate) duration: Option<u64>,
    /// Who made it [default: you]
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// A file that was changed, as often as needed
    #[arg(long, value_name = "FILE", action = ArgAction::Append)]
    pub(crate) file: Vec<String>,
    /// A commit that was made, as often as needed
    #[arg(long, value_name = "COMMIT", action = ArgAction::Append)]
    pub(crate) commit: Vec<String>,
    /// What was noticed, as often as needed: blocker, finding or completion
    #[arg(long, value_name = "TYPE: TITLE", value_parser = parse_observation, action = ArgAction::Append)]
    pub(crate) observation: Vec<Observation>,
    /// A picture that shows it, as often as needed; a copy is kept
    #[arg(long, value_name = "FILE", action = ArgAction::Append)]
    pub(crate) screenshot: Vec<PathBuf>,
    /// What was looked at in a browser and found right, as often as needed
    #[arg(long, value_name = "TEXT", action = ArgAction::Append)]
    pub(crate) validation: Vec<String>,
    /// A blocker that is resolved by it: a task, SPEC:TASK, an entry or a decision
    #[arg(long, value_name = "BLOCKER", requires = "resolution")]
    pub(crate) resolves: Option<String>,
    /// How the blocker was resolved
    #[arg(long, value_name = "TEXT", requires = "resolves")]
    pub(crate) resolution: Option<String>,
    #[command(flatten)]
    pub(crate) usage: UsageArgs,
    #[command(flatten)]
    pub(crate) context: ContextArgs,
}

/// An amount of money that may be added to others.
fn parse_dollars(text: &str) -> Result<f64, String> {
    let amount: f64 = text.trim().parse().map_err(|error| format!("{error}"))?;
    let fits = amount.is_finite() && amount >= 0.0;
    fits.then_some(amount)
        .ok_or_else(|| "write it as 0.42".to_owned())
}

fn parse_seconds(text: &str) -> Result<u64, piton_core::amount::ParseDurationError> {
    piton_engine::verbs::record::parse_seconds(text)
}

fn parse_observation(text: &str) -> Result<Observation, String> {
    piton_engine::verbs::record::parse_observation(text).map_err(|failure| {
        let hint = failure.hint.unwrap_or_default();
        format!("{}; {hint}", failure.message)
    })
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum OutcomeArg {
    /// It is done
    Completed,
    /// It failed
    Failed,
    /// It cannot be done
    Blocked,
    /// Some of it is done
    Partial,
    /// A person is needed
    NeedsHuman,
    /// It was ended from outside
    Interrupted,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum ActionArg {
    /// Try again
    Retry,
    /// Mend the workspace or the environment first
    FixState,
    /// Split the item
    BreakChunks,
    /// Leave it out
    Skip,
    /// Ask a person
    Manual,
}
