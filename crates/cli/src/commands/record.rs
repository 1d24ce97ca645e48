//! `piton record`.

use std::path::Path;

use piton_core::Outcome;
use piton_core::attempt::{AttemptContext, RecoveryAction, Report, Spend, Usage};
use piton_engine::process::shell::quote_word;
use piton_engine::verbs::record::{
    self, AttemptAccount, RecordRequest, RecordedAttempt, UnfinishedItem,
};
use piton_engine::{CommandExit, Failure, World};

use super::{read_text, show_notice};
use crate::args::{ActionArg, OutcomeArg, RecordArgs};
use crate::output::{CliOutput, DIM};
use crate::show::costs::describe_spend;
use crate::show::progress::first_line;

pub(super) fn run_record(
    world: &World,
    args: RecordArgs,
    output: &mut CliOutput,
) -> Result<CommandExit, Failure> {
    let request = build_record_request(world, args)?;
    let recorded = record::record(world, request, &mut |notice| {
        show_notice(world, &notice, output)
    })?;
    if output.json {
        output.print_json(&recorded);
    } else {
        show_recorded(&recorded, output);
    }
    Ok(CommandExit::Done)
}

fn build_record_request(world: &World, args: RecordArgs) -> Result<RecordRequest, Failure> {
    // `-` in the place of the item means that the JSON names it.
    let dash = args.item.as_deref() == Some("-");
    let item = args.item.filter(|_| !dash);
    let from = match (args.from, dash) {
        (Some(from), true) if from != Path::new("-") => {
            return Err(Failure::new("usage", "JSON can come from one place only")
                .with_hint("type the item in place of `-`, or leave `--from` out"));
        }
        (None, true) => Some("-".into()),
        (from, _) => from,
    };
    let context = AttemptContext {
        retry_count: args.context.retry_count,
        previous_failure_reason: args.context.previous_failure,
        recovery_action: args.context.recovery_action.map(RecoveryAction::from),
        recovery_guidance: args.context.recovery_guidance,
        dependencies_completed: non_empty(args.context.dependency),
        blocker_verified: args.context.blocker_verified,
        blocker_valid: args.context.blocker_valid,
    };
    Ok(RecordRequest {
        typed: AttemptAccount {
            item,
            outcome: args.outcome.map(Outcome::from),
            agent: args.agent,
            report: Report {
                summary: args.summary,
                error: args.error,
                notes: args.notes,
                duration_s: args.duration,
                usage: Usage {
                    input_tokens: args.usage.input_tokens,
                    output_tokens: args.usage.output_tokens,
                    cache_read_tokens: args.usage.cache_read_tokens,
                    cache_write_tokens: args.usage.cache_write_tokens,
                    reasoning_tokens: args.usage.reasoning_tokens,
                    cost_usd: args.usage.cost_usd,
                    ..Usage::default()
                },
                observations: args.observation,
                files: non_empty(args.file),
                commits: non_empty(args.commit),
                validations: args.validation,
                context: Some(context).filter(|context| *context != AttemptContext::default()),
                ..Report::with_outcome(Outcome::Completed)
            },
            ..AttemptAccount::default()
        },
        json: from.map(|from| read_text(world, &from)).transpose()?,
        screenshots: args.screenshot,
        resolves: args.resolves.zip(args.resolution),
    })
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
        first_line(&recorded.node)
    );
    output.note(&if recorded.is_pending {
        format!("noted for {attempt}: {outcome}; it counts when the attempt ends")
    } else {
        format!("recorded {}: {outcome}, {attempt}", recorded.name)
    });
    if recorded.new_item {
        output.note(&format!(
            "{DIM}`{}` is a new item, of no plan{DIM:#}",
            first_line(&recorded.node)
        ));
    }
    if let Some(not_done) = &recorded.not_done {
        output.hint(&explain_not_done(&recorded.node, not_done));
    }
    if let Some(used) = describe_spend(&Spend::from_usage(&recorded.usage)) {
        output.note(&format!("{DIM}used {used}{DIM:#}"));
    }
    for picture in &recorded.screenshots {
        output.note(&format!("kept {picture}"));
    }
    if let Some(blocker) = &recorded.resolved {
        output.note(&format!("resolved the blocker of `{blocker}`"));
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
