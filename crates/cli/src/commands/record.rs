//! `piton record`.

use piton_engine::model::Node;
use std::path::{Path, PathBuf};

use clap::{ArgAction, Args as ClapArgs, ValueEnum};
use piton_engine::caller::{CommandAccess, Permission};
use piton_engine::model::Outcome;
use piton_engine::model::amount::ParseDurationError;
use piton_engine::model::attempt::{
    AttemptContext, ProgramReport, RecoveryAction, Report, ReportedChanges, Spend, Usage,
};
use piton_engine::model::observation::Observation;
use piton_engine::process::shell::quote_word;
use piton_engine::verbs::record::{
    self, AttemptAccount, RecordRequest, RecordedAttempt, UnfinishedItem,
};
use piton_engine::{CommandExit, Failure, World};

use crate::input::read_text;
use crate::invocation::{Invocation, TypedCommand};
use crate::output::{CliOutput, DIM};
use crate::show::costs::describe_spend;
use crate::show::progress::first_line;

#[derive(Debug, ClapArgs)]
pub(crate) struct RecordArgs {
    /// The item: [RUN:]NODE; `-` reads JSON from stdin
    #[arg(required_unless_present = "from")]
    item: Option<String>,
    /// Read JSON from a file; `-` is stdin
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,
    /// The outcome of the attempt [default: completed]
    #[arg(long)]
    outcome: Option<OutcomeArg>,
    /// What was done
    #[arg(long, value_name = "TEXT")]
    summary: Option<String>,
    /// What went wrong
    #[arg(long, value_name = "TEXT")]
    error: Option<String>,
    /// Further notes
    #[arg(long, value_name = "TEXT")]
    notes: Option<String>,
    /// The duration: seconds, or 90s, 45m, 1h30m
    #[arg(long, value_name = "DURATION", value_parser = parse_seconds)]
    duration: Option<u64>,
    /// Who made the attempt [default: you]
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// A file that was changed (can be repeated)
    #[arg(long, value_name = "FILE", action = ArgAction::Append)]
    file: Vec<String>,
    /// A commit that was made (can be repeated)
    #[arg(long, value_name = "COMMIT", action = ArgAction::Append)]
    commit: Vec<String>,
    /// An observation: a blocker, finding or completion (can be repeated)
    #[arg(long, value_name = "TYPE: TITLE", value_parser = parse_observation, action = ArgAction::Append)]
    observation: Vec<Observation>,
    /// A screenshot of the result; piton stores a copy (can be repeated)
    #[arg(long, value_name = "FILE", action = ArgAction::Append)]
    screenshot: Vec<PathBuf>,
    /// A result that was verified in a browser (can be repeated)
    #[arg(long, value_name = "TEXT", action = ArgAction::Append)]
    validation: Vec<String>,
    /// The blocker that the attempt resolved: a task, SPEC:TASK, an entry or a decision
    #[arg(long, value_name = "BLOCKER", requires = "resolution")]
    resolves: Option<String>,
    /// How the blocker was resolved
    #[arg(long, value_name = "TEXT", requires = "resolves")]
    resolution: Option<String>,
    #[command(flatten)]
    usage: UsageArgs,
    #[command(flatten)]
    context: ContextArgs,
}

// What an attempt used. No doc comment: clap would show it as the help of the command.
#[derive(Debug, ClapArgs)]
struct UsageArgs {
    /// The number of input tokens
    #[arg(long, value_name = "N")]
    input_tokens: Option<u64>,
    /// The number of output tokens
    #[arg(long, value_name = "N")]
    output_tokens: Option<u64>,
    /// The number of tokens read from a cache
    #[arg(long, value_name = "N")]
    cache_read_tokens: Option<u64>,
    /// The number of tokens written to a cache
    #[arg(long, value_name = "N")]
    cache_write_tokens: Option<u64>,
    /// The number of reasoning tokens
    #[arg(long, value_name = "N")]
    reasoning_tokens: Option<u64>,
    /// The cost in dollars
    #[arg(long, value_name = "DOLLARS", value_parser = parse_dollars)]
    cost_usd: Option<f64>,
}

// What was known before an attempt; see above.
#[derive(Debug, ClapArgs)]
struct ContextArgs {
    /// How often the item was retried before
    #[arg(long, value_name = "N")]
    retry_count: Option<u64>,
    /// Why the previous attempt failed
    #[arg(long, value_name = "TEXT")]
    previous_failure: Option<String>,
    /// The recovery action after that failure
    #[arg(long, value_name = "ACTION")]
    recovery_action: Option<ActionArg>,
    /// The guidance for the recovery action
    #[arg(long, value_name = "TEXT")]
    recovery_guidance: Option<String>,
    /// A dependency that was done before (can be repeated)
    #[arg(long, value_name = "ITEM", action = ArgAction::Append)]
    dependency: Vec<String>,
    /// Whether the claim of a blocker was verified
    #[arg(long, value_name = "BOOL")]
    blocker_verified: Option<bool>,
    /// Whether the claim was true
    #[arg(long, value_name = "BOOL")]
    blocker_valid: Option<bool>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum OutcomeArg {
    /// The item is done
    Completed,
    /// The attempt failed
    Failed,
    /// The item cannot be done
    Blocked,
    /// Part of the item is done
    Partial,
    /// A person must decide or help
    NeedsHuman,
    /// The attempt was ended from outside
    Interrupted,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum ActionArg {
    /// Try again
    Retry,
    /// Fix the workspace or the environment first
    FixState,
    /// Split the item
    BreakChunks,
    /// Skip the item
    Skip,
    /// Ask a person
    Manual,
}

/// An amount of money that may be added to others.
fn parse_dollars(text: &str) -> Result<f64, String> {
    let amount: f64 = text.trim().parse().map_err(|error| format!("{error}"))?;
    let fits = amount.is_finite() && amount >= 0.0;
    fits.then_some(amount)
        .ok_or_else(|| "write it as 0.42".to_owned())
}

fn parse_seconds(text: &str) -> Result<u64, ParseDurationError> {
    record::parse_seconds(text)
}

fn parse_observation(text: &str) -> Result<Observation, String> {
    record::parse_observation(text).map_err(|failure| {
        let hint = failure.hint.unwrap_or_default();
        format!("{}; {hint}", failure.message)
    })
}

impl TypedCommand for RecordArgs {
    const ABOUT: &'static str = "Record an attempt that piton did not start";
    const AFTER_HELP: &'static str =
        "ITEM is a node as `piton status` shows it, with the prefix RUN: if several runs have it; in a
task file, the number of a criterion. Without a plan, any name is accepted; with a plan,
project:NAME is an item outside of it.

JSON is read only with `-` or --from. It is an object like an entry of .ralph/progress.json
without its id; all keys are optional:
  prd_id, timestamp, iteration, status, duration_seconds, summary, files_modified,
  git_commits, error, notes, agent, validations
  observations[]: type, title, description, file, category, severity, action_taken,
    related_learning_id
  usage: input_tokens, output_tokens, cache_read_tokens, cache_write_tokens,
    reasoning_tokens, cost_usd
  context: retry_count, previous_failure_reason, recovery_action, recovery_guidance,
    dependencies_completed, blocker_verified, blocker_valid
Options override the JSON; lists are joined. Unknown keys and values are refused.

Examples:
  piton record auth-login --summary 'JWT login' --duration 45m --commit a1b2c3d
  piton record auth-oauth --outcome blocked --observation 'blocker: no client id'
  piton record auth-oauth --resolves auth-oauth --resolution 'ops sent the client id'
  piton record 3 --screenshot login.png --validation 'the form shows errors'
  echo '{\"prd_id\":\"auth-login\",\"status\":\"partial\"}' | piton record -
  piton record auth-login --from result.json";

    fn permission(&self) -> Permission {
        Permission::new("piton record", CommandAccess::OwnItem)
    }

    fn run(self, call: &mut Invocation<'_>) -> Result<CommandExit, Failure> {
        let request = self.into_request(call.world)?;
        let recorded =
            record::record(call.world, request, &mut |notice| call.show_notice(&notice))?;
        call.print(&recorded, |recorded, _, output| {
            show_recorded(recorded, output)
        });
        Ok(CommandExit::Done)
    }
}

impl RecordArgs {
    fn into_request(self, world: &World) -> Result<RecordRequest, Failure> {
        // `-` in the place of the item means that the JSON names it.
        let dash = self.item.as_deref() == Some("-");
        let item = self.item.filter(|_| !dash);
        let from = match (self.from, dash) {
            (Some(from), true) if from != Path::new("-") => {
                return Err(Failure::new("usage", "JSON can come from one place only")
                    .with_hint("type the item in place of `-`, or leave `--from` out"));
            }
            (None, true) => Some("-".into()),
            (from, _) => from,
        };
        let context = AttemptContext {
            retry_count: self.context.retry_count,
            previous_failure_reason: self.context.previous_failure,
            recovery_action: self.context.recovery_action.map(RecoveryAction::from),
            recovery_guidance: self.context.recovery_guidance,
            dependencies_completed: non_empty(self.context.dependency),
            blocker_verified: self.context.blocker_verified,
            blocker_valid: self.context.blocker_valid,
        };
        Ok(RecordRequest {
            typed: AttemptAccount {
                item,
                outcome: self.outcome.map(Outcome::from),
                agent: self.agent,
                report: Report {
                    summary: self.summary,
                    error: self.error,
                    notes: self.notes,
                    observations: self.observation,
                    validations: self.validation,
                    context: Some(context).filter(|context| *context != AttemptContext::default()),
                    program: ProgramReport {
                        duration_s: self.duration,
                        usage: Usage {
                            input_tokens: self.usage.input_tokens,
                            output_tokens: self.usage.output_tokens,
                            cache_read_tokens: self.usage.cache_read_tokens,
                            cache_write_tokens: self.usage.cache_write_tokens,
                            reasoning_tokens: self.usage.reasoning_tokens,
                            cost_usd: self.usage.cost_usd,
                            ..Usage::default()
                        },
                        ..ProgramReport::default()
                    },
                    changes: ReportedChanges {
                        files: non_empty(self.file),
                        commits: non_empty(self.commit),
                        ..ReportedChanges::default()
                    },
                    ..Report::with_outcome(Outcome::Completed)
                },
                ..AttemptAccount::default()
            },
            json: from.map(|from| read_text(world, &from)).transpose()?,
            screenshots: self.screenshot,
            resolves: self.resolves.zip(self.resolution),
        })
    }
}

fn non_empty(list: Vec<String>) -> Option<Vec<String>> {
    Some(list).filter(|list| !list.is_empty())
}

fn show_recorded(recorded: &RecordedAttempt, output: &mut CliOutput) {
    let run = match &recorded.run {
        Some(run) => format!(" of run `{run}`"),
        None => String::new(),
    };
    let outcome = recorded.outcome.as_str();
    let attempt = format!(
        "attempt {} at `{}`{run}",
        recorded.number,
        first_line(&Node::shown(&recorded.node))
    );
    output.print_note(&if recorded.is_pending {
        format!("noted for {attempt}: {outcome}; it counts when the attempt ends")
    } else {
        format!("recorded {}: {outcome}, {attempt}", recorded.name)
    });
    if recorded.new_item {
        output.print_note(&format!(
            "{DIM}`{}` is a new item, of no plan{DIM:#}",
            first_line(&Node::shown(&recorded.node))
        ));
    }
    if let Some(not_done) = &recorded.not_done {
        output.print_hint(&explain_not_done(&Node::shown(&recorded.node), not_done));
    }
    if let Some(used) = describe_spend(&Spend::from_usage(&recorded.usage)) {
        output.print_note(&format!("{DIM}used {used}{DIM:#}"));
    }
    for picture in &recorded.screenshots {
        output.print_note(&format!("kept {picture}"));
    }
    if let Some(blocker) = &recorded.resolved {
        output.print_note(&format!("resolved the blocker of `{blocker}`"));
    }
}

/// Why an item of a plan is not done although the report says so.
fn explain_not_done(node: &str, not_done: &UnfinishedItem) -> String {
    let node = first_line(node);
    let proof = if not_done.has_check {
        "its check completes it"
    } else {
        "its run completes it"
    };
    let mark = not_done
        .file
        .as_ref()
        .map(|file| format!(", or mark it in {file} yourself"));
    let go_on = if not_done.state.is_broken() {
        let item = format!("{}:{node}", not_done.run);
        format!("Try it again with `piton plan retry {}`", quote_word(&item))
    } else {
        format!("Go on with `piton run {}`", quote_word(&not_done.run))
    };
    format!(
        "`{node}` stays {}: a record is a report, and {proof}. {go_on}{}",
        not_done.state,
        mark.unwrap_or_default()
    )
}

impl From<OutcomeArg> for Outcome {
    fn from(outcome: OutcomeArg) -> Self {
        match outcome {
            OutcomeArg::Completed => Self::Completed,
            OutcomeArg::Failed => Self::Failed,
            OutcomeArg::Blocked => Self::Blocked,
            OutcomeArg::Partial => Self::Partial,
            OutcomeArg::NeedsHuman => Self::NeedsHuman,
            OutcomeArg::Interrupted => Self::Interrupted,
        }
    }
}

impl From<ActionArg> for RecoveryAction {
    fn from(action: ActionArg) -> Self {
        match action {
            ActionArg::Retry => Self::Retry,
            ActionArg::FixState => Self::FixState,
            ActionArg::BreakChunks => Self::BreakChunks,
            ActionArg::Skip => Self::Skip,
            ActionArg::Manual => Self::Manual,
        }
    }
}
