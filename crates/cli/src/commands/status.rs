//! `piton status`.

use std::time::Duration;

use clap::Args as ClapArgs;
use piton_engine::caller::{CommandAccess, Permission};
use piton_engine::model::Node;
use piton_engine::verbs::status::FailureSummary;
use piton_engine::verbs::{costs, status};
use piton_engine::{CommandExit, Failure, world};

use crate::invocation::{Invocation, TypedCommand};
use crate::output::{CliOutput, DIM, OutputFlow};
use crate::show::count::format_count;
use crate::show::progress::first_line;
use crate::show::status::{FinishedDisplay, render};
use crate::show::{costs as shown_costs, table};

#[derive(Debug, ClapArgs)]
pub(crate) struct StatusArgs {
    /// The run: its name, the path of its plan, or a prefix of its id
    run: Option<String>,
    /// Refresh the output until the run ends or waits
    #[arg(long)]
    watch: bool,
    /// Show every finished item on its own line
    #[arg(long)]
    all: bool,
    /// Count failed and blocked attempts by error and by category
    #[arg(long, conflicts_with = "watch")]
    failures: bool,
    /// Show tokens and costs by item, by model and in total
    #[arg(long, conflicts_with_all = ["watch", "failures"])]
    costs: bool,
}

impl TypedCommand for StatusArgs {
    const ABOUT: &'static str = "Show the status of a run and its items";
    const AFTER_HELP: &'static str = "--failures counts attempts that failed or were blocked, and items that failed or are blocked\nwithout such an attempt. If a check fails, the attempt before it counts as failed. Categories\ncount observations; one attempt may have several.\n\nExamples:\n  piton status\n  piton status 2026-01-15_auth --watch\n  piton status --failures\n  piton status --costs\n  piton status --json | jq .run.counters";

    fn permission(&self) -> Permission {
        Permission::new("piton status", CommandAccess::Read)
    }

    fn run(self, call: &mut Invocation<'_>) -> Result<CommandExit, Failure> {
        let run = self.run.as_deref();
        if self.failures {
            let failures = status::failures(call.world, run)?;
            call.print(&failures, |failures, _, output| {
                show_failures(failures, output)
            });
            return Ok(CommandExit::Done);
        }
        if self.costs {
            let costs = costs::costs(call.world, run)?;
            call.print(&costs, |costs, _, output| {
                if costs.project.is_empty() {
                    output.print_note("no attempt is over yet");
                } else {
                    output.print_data(&shown_costs::render(costs));
                }
            });
            return Ok(CommandExit::Done);
        }
        self.show_status(call)
    }
}

impl StatusArgs {
    /// Shows it once, or until the run rests.
    fn show_status(&self, call: &mut Invocation<'_>) -> Result<CommandExit, Failure> {
        let run = self.run.as_deref();
        let finished = if self.all {
            FinishedDisplay::Each
        } else {
            FinishedDisplay::Folded
        };
        loop {
            let answer = status::status(call.world, run)?;
            if call.output.json {
                let going = if self.watch {
                    call.output.print_answer_line(&answer)
                } else {
                    call.output.print_answer(&answer)
                };
                if going == OutputFlow::Over {
                    return Ok(CommandExit::Done);
                }
            } else if answer.runs.is_empty() {
                call.print_warnings();
                call.output.print_note("no run is recorded here");
                call.output.print_hint(&format!(
                    "begin with `piton run PLAN`, where PLAN is {}",
                    piton_engine::describe_plan_kinds()
                ));
            } else {
                if self.watch {
                    call.output.clear_screen();
                }
                if call
                    .output
                    .print_data(&render(&answer, call.world.now(), finished))
                    == OutputFlow::Over
                {
                    return Ok(CommandExit::Done);
                }
            }
            let live = match (run, &answer.run) {
                // A caller that named a run does not wait for the others.
                (Some(_), Some(report)) => report.line.live,
                (Some(_) | None, _) => answer.runs.iter().any(|line| line.live),
            };
            if !self.watch || !live {
                return Ok(CommandExit::Done);
            }
            world::pause(Duration::from_millis(500));
        }
    }
}

fn show_failures(failures: &FailureSummary, output: &mut CliOutput) {
    if failures.attempts == 0 && failures.items == 0 {
        output.print_note("no attempt failed or was blocked");
        return;
    }
    let rows = failures.signatures.iter().map(|one| {
        [
            format!("{:>4}", one.count),
            first_line(&one.example),
            format!("{DIM}{}{DIM:#}", abbreviate_items(&one.items)),
        ]
    });
    output.print_data(&table::render(rows));
    if !failures.categories.is_empty() {
        output.print_data("By category of what was noticed:\n");
    }
    let rows = failures
        .categories
        .iter()
        .map(|one| [format!("{:>4}", one.count), one.category.to_string()]);
    output.print_data(&table::render(rows));
    let untried = match failures.items {
        0 => String::new(),
        items => format!(", and {} without one", format_count(items, "item")),
    };
    output.print_note(&format!(
        "{DIM}in {}{untried}{DIM:#}",
        format_count(failures.attempts, "failed or blocked attempt")
    ));
    for warning in &failures.warnings {
        output.print_warning(warning);
    }
}

/// The first of some items, and how many there are besides.
fn abbreviate_items(items: &[String]) -> String {
    const SHOWN: usize = 3;
    let shown: Vec<String> = items
        .iter()
        .take(SHOWN)
        .map(|item| first_line(&Node::shown(item)))
        .collect();
    match items.len().saturating_sub(SHOWN) {
        0 => shown.join(", "),
        more => format!("{}, {more} more", shown.join(", ")),
    }
}
