//! `piton run`.

use std::num::NonZeroU32;
use std::path::PathBuf;

use clap::{ArgAction, Args as ClapArgs, ValueEnum};
use piton_engine::caller::Permission;
use piton_engine::config::VerdictSource;
use piton_engine::config::trust::TrustRequest;
use piton_engine::model::RunState;
use piton_engine::model::dollars::Dollars;
use piton_engine::model::policy::Limits;
use piton_engine::store::WaitReport;
use piton_engine::verbs::account::{Account, account_of_run};
use piton_engine::verbs::report;
use piton_engine::verbs::run::{self, DryRun, EndedRun};
use piton_engine::verbs::trust;
use piton_engine::{CommandExit, Failure};

use super::trust::show_parts;
use crate::consent;
use crate::detached::{self, Background};
use crate::invocation::{Invocation, TypedCommand, access_of_change};
use crate::output::{CliOutput, DIM, GREEN, YELLOW};
use crate::show::account::account_lines;
use crate::show::count::format_count;
use crate::show::report::render_html;

#[derive(Debug, ClapArgs)]
pub(crate) struct RunArgs {
    /// A sprint's folder, its SPRINT.yaml, a prd.json, a state.json, a task file with
    /// criteria, or a run [default: the plan in the current folder]
    plan: Option<String>,
    /// The agent: a name from the configuration, or a shell command (`sh:CMD` forces one)
    #[arg(long, value_name = "NAME|CMD")]
    agent: Option<String>,
    /// How the agent reports that its work is done: with a verdict in the form that the prompt
    /// asks for, or, as a plain command, with exit status 0 [default: form]
    #[arg(long, value_name = "HOW", value_enum)]
    verdict: Option<VerdictArg>,
    /// The folder of the workflows [default: .claude/workflows of the work tree]
    #[arg(long, value_name = "DIR")]
    workflows: Option<PathBuf>,
    /// The model for nodes whose plan names none
    #[arg(long)]
    model: Option<String>,
    /// Work on N items at once, each in a lane: a git worktree of its own. Finished work is
    /// merged into the branch piton/RUN; `piton land` moves your branch forward to it
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    workers: Option<u32>,
    /// Join a run that another process works on, with lanes of this process. The limits of the
    /// first process apply
    #[arg(long, conflicts_with_all = ["max_iterations", "stop_on_failure", "time_box", "budget_usd", "budget_tokens", "wait", "once", "dry_run", "recompile", "from", "same_tree", "ignore"])]
    join: bool,
    /// Start at most N agents
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_iterations: Option<u32>,
    /// Stop at the first item that fails or waits for a person, even if others are ready
    #[arg(long)]
    stop_on_failure: bool,
    /// Work for at most this long: 90s, 45m, 1h30m, 4h
    #[arg(long, value_name = "DURATION", value_parser = parse_duration_arg)]
    time_box: Option<u64>,
    /// Spend at most this much, over all invocations of the run
    #[arg(long, value_name = "DOLLARS")]
    budget_usd: Option<Dollars>,
    /// Use at most N tokens, over all invocations of the run
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    budget_tokens: Option<u64>,
    /// Keep running while a person must decide, and continue after the decision
    #[arg(long)]
    wait: bool,
    /// Stop after one node
    #[arg(long)]
    once: bool,
    /// Print what would be done, and each command that it would start, and start nothing
    #[arg(long)]
    dry_run: bool,
    /// Compile the plan again and start over; the old PROGRESS.yaml is kept beside it
    #[arg(long)]
    recompile: bool,
    /// Start with the progress in this file
    #[arg(long, value_name = "FILE", conflicts_with = "recompile")]
    from: Option<PathBuf>,
    /// Start even if another run works in this work tree. Each run counts the changes of both
    /// as its own
    #[arg(long)]
    same_tree: bool,
    /// Ignore what the sprint enables under KEY: `worktree`, `orchestration` or
    /// `per-iteration-hooks` (can be repeated)
    #[arg(long, value_name = "KEY", action = ArgAction::Append)]
    ignore: Vec<String>,
    #[command(flatten)]
    start: StartArgs,
}

/// How a run is started.
#[derive(Debug, ClapArgs)]
struct StartArgs {
    /// Trust all commands that the project would run now, as `piton trust` does
    #[arg(long)]
    trust: bool,
    /// Go on in the background, without this terminal, once the run is taken. Its lines go to a
    /// log; `piton attach` shows it, and `piton stop` ends it
    #[arg(long, conflicts_with_all = ["dry_run", "join"])]
    detach: bool,
    /// This is the process in the background
    #[arg(long, hide = true)]
    detached: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum VerdictArg {
    /// A verdict in the output of the agent
    Form,
    /// Exit status 0 of a plain command, unless it prints another verdict
    ExitStatus,
}

impl From<VerdictArg> for VerdictSource {
    fn from(how: VerdictArg) -> Self {
        match how {
            VerdictArg::Form => Self::Form,
            VerdictArg::ExitStatus => Self::ExitStatus,
        }
    }
}

fn parse_duration_arg(text: &str) -> Result<u64, piton_engine::model::amount::ParseDurationError> {
    piton_engine::model::amount::parse_duration(text)
}

impl TypedCommand for RunArgs {
    const ABOUT: &'static str = "Run a plan with an agent, or continue its run";
    const AFTER_HELP: &'static str = "Examples:
  piton run sprints/2026-01-15_auth --agent claude
  piton run 2026-01-15_auth --max-iterations 20 --time-box 4h
  piton run . --agent ./agent.sh --dry-run
  piton run prd.json --agent claude
  piton run RALPH_TASK.md --agent ./agent.sh
  piton run prd.json --agent claude --workers 4
  piton run prd.json --agent claude --detach

The command ends when the plan is done, waits for a person, or reaches a limit.
An agent can be any shell command that reads its prompt from stdin. Without --agent, a run
continues with its last agent; a new run uses `use` under [agent] in .piton/config.toml.
piton can be killed at any time: run it again to continue. The flags of the last invocation
apply where you give none.";

    fn permission(&self) -> Permission {
        Permission::new("piton run", access_of_change(!self.dry_run)).for_path(self.plan.as_ref())
    }

    fn run(self, call: &mut Invocation<'_>) -> Result<CommandExit, Failure> {
        if self.start.detach {
            return detached::start(call);
        }
        let mut background = self.start.detached.then(Background::enter);
        call.output.print_in_background();
        let request = run::RunRequest {
            plan: self.plan,
            agent: self.agent,
            workflows: self.workflows,
            verdict: self.verdict.map(VerdictSource::from),
            model: self.model,
            workers: self.workers.and_then(NonZeroU32::new),
            limits: Limits {
                iterations_max: self.max_iterations,
                tasks_max: None,
                time_box_s: self.time_box,
                stop_on_failure: self.stop_on_failure,
                budget_usd: self.budget_usd,
                budget_tokens: self.budget_tokens,
                ..Limits::default()
            },
            wait: self.wait,
            once: self.once,
            dry_run: self.dry_run,
            recompile: self.recompile,
            from: self.from,
            ignore: self.ignore,
            same_tree: self.same_tree,
            join: self.join,
            trust: match self.start.trust {
                true => TrustRequest::Given,
                false if consent::can_ask(call.output) => TrustRequest::Terminal,
                false => TrustRequest::Inbox,
            },
        };
        let json = call.output.json;
        let report = WaitReport::new(move |text| CliOutput::new(json).print_warning(text));
        let world = &call.world.with_wait_report(report);
        let call = &mut Invocation {
            world,
            output: &mut *call.output,
            describe: call.describe,
        };
        let answer = run_trusted(call, &request, background.as_mut());
        call.output.end_live();
        let answer = answer?;
        match answer {
            run::RunAnswer::Dry(dry) => {
                call.print(&*dry, |dry, _, output| show_dry_run(dry, output));
                Ok(CommandExit::Done)
            }
            run::RunAnswer::Finished(ended) => {
                // A run that was over before is told of as one that ends now.
                let plan = request.plan.as_deref();
                let mut account = match &ended.account {
                    Some(account) => Some(account.clone()),
                    None => account_of_run(world, plan, ended.row.id)?,
                };
                if let Some(account) = &mut account {
                    account.report = report::stored_report(world, plan, &ended.row.name);
                }
                show_account(account.as_ref(), call.output);
                call.output
                    .print_note(&format!("run `{}` is already finished", ended.row.name));
                Ok(ended.exit_code())
            }
            run::RunAnswer::Ran(mut ended) => {
                store_report(call, request.plan.as_deref(), &mut ended);
                show_account(ended.account.as_ref(), call.output);
                if !call.output.json {
                    show_ended_run(&ended, call.output);
                }
                Ok(ended.exit_code())
            }
        }
    }
}

/// Runs a plan; a person at a terminal is asked for trust where it is needed, once for
/// each list of commands.
fn run_trusted(
    call: &mut Invocation<'_>,
    request: &run::RunRequest,
    mut background: Option<&mut Background>,
) -> Result<run::RunAnswer, Failure> {
    loop {
        let ran = run::run(call.world, request, &mut |notice| match &mut background {
            Some(background) => {
                background.handle_notice(&notice, request.plan.as_deref(), call);
            }
            None => call.show_notice(&notice),
        });
        let failure = match ran {
            Err(failure) if failure.code == "trust.needed" => failure,
            ran => return ran,
        };
        if request.trust != TrustRequest::Terminal {
            return Err(failure);
        }
        let found = trust::survey(call.world, request)?;
        show_parts(&found.parts, call.output);
        if found.parts.is_empty() || !consent::is_trust_given(call.output) {
            return Err(failure);
        }
        trust::trust_shown(call.world, request, found.hash.as_deref())?;
    }
}

/// Makes the report of a run that has come to its end here, and notes where it is. That it
/// cannot be made changes nothing of what came of the run.
fn store_report(call: &mut Invocation<'_>, plan: Option<&str>, ended: &mut EndedRun) {
    let Some(account) = ended
        .account
        .as_mut()
        .filter(|_| ended.goes_on_with.is_none())
    else {
        return;
    };
    let world = call.world;
    let stored = report::report_of_known_run(world, plan, ended.row.id).and_then(|made| {
        let html = render_html(&made, world.time_zone());
        report::store_report(world, plan, &ended.row.name, &html)
    });
    match stored {
        Ok(path) => account.report = Some(path),
        Err(failure) => {
            let why = failure.to_line();
            let text = format!("the report of the run was not made: {why}");
            call.output.print_warning(&text);
        }
    }
}

/// What came of the items of a run, as text or as the last line of JSON.
fn show_account(account: Option<&Account>, output: &mut CliOutput) {
    let Some(account) = account else { return };
    if output.json {
        output.print_answer_line(account);
        return;
    }
    for line in account_lines(account) {
        output.print_note(&line);
    }
}

/// How an invocation ended, and what to type next.
fn show_ended_run(ended: &EndedRun, output: &mut CliOutput) {
    match &ended.goes_on_with {
        Some(other) => {
            let name = &ended.row.name;
            output.print_note(&format!("run `{name}` goes on with {other}"));
        }
        None => show_run_end(&ended.row, output),
    }
    if let Some(next) = &ended.next {
        output.print_hint(&format!("go on with what is ready with `{next}`"));
    }
    for asked in ended.asked.iter().filter_map(|row| row.file.as_ref()) {
        output.print_hint(&format!(
            "1 question about {asked} waits, and what it is about stays as it is; see `piton inbox`"
        ));
    }
}

/// How the run stands now.
pub(crate) fn show_run_end(row: &piton_engine::model::RunRow, output: &mut CliOutput) {
    let name = &row.name;
    match (row.state, &row.pause) {
        (RunState::Done, _) => output.print_note(&format!("{GREEN}run `{name}` is done{GREEN:#}")),
        (RunState::Paused, Some(piton_engine::model::run::Pause::Limit { limit })) => {
            output.print_note(&format!(
                "{YELLOW}run `{name}` reached its limit: {limit}{YELLOW:#}"
            ));
            let failure = piton_engine::failure::failure_of_run_state(row, row.state);
            output.print_hint(&failure.hint.unwrap_or_default());
        }
        (state, _) => {
            let failure = piton_engine::failure::failure_of_run_state(row, state);
            output.print_note(&format!("{YELLOW}{}{YELLOW:#}", failure.message));
            if let Some(hint) = &failure.hint {
                output.print_hint(hint);
            }
        }
    }
}

fn show_dry_run(dry: &DryRun, output: &mut CliOutput) {
    if let Some(waits) = &dry.waits {
        output.print_note(&format!("{}; nothing can be started", waits.message));
        if let Some(hint) = &waits.hint {
            output.print_hint(hint);
        }
        return;
    }
    let mut text = String::new();
    for item in &dry.items {
        let model = item
            .model
            .as_ref()
            .map(|model| format!(" ({model})"))
            .unwrap_or_default();
        let check = match &item.check {
            Some(_) => ", then its check",
            None => "",
        };
        let stop = if item.breakpoint {
            ", then a pause for people"
        } else {
            ""
        };
        text.push_str(&format!("{}{model}{check}{stop}\n", item.label()));
    }
    output.print_data(&text);
    if !dry.commands.is_empty() {
        output.print_data("\nWhat would be started for that:\n\n");
        show_parts(&dry.commands, output);
    }
    output.print_note(&format!(
        "{DIM}{} to do; nothing was started{DIM:#}",
        format_count(dry.items.len(), "item")
    ));
    if dry.held_up > 0 {
        let (more, verb) = (
            format_count(dry.held_up, "more item"),
            if dry.held_up == 1 { "waits" } else { "wait" },
        );
        output.print_note(&format!(
            "{DIM}{more} {verb} until a person has done something: see `piton next`{DIM:#}"
        ));
    }
}
