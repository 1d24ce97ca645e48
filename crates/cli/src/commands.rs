//! One function a command: translate, call the verb, show the answer.

mod files;
mod history;
pub(crate) mod hook;
mod issue;
mod learn;
mod merge_driver;
mod next;
mod recall;
mod record;
mod show;

use std::fmt::Display;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use clap::CommandFactory as _;
use piton_core::policy::Limits;
use piton_core::request::{Injection, InsertPosition, Until};
use piton_core::{DecisionChoice, DecisionKind, RunState, Verb};
use piton_engine::Notice;
use piton_engine::caller;
use piton_engine::config::VerdictSource;
use piton_engine::verbs::account::{Account, account_of_run};
use piton_engine::verbs::clean::{UnsavedPolicy, clean};
use piton_engine::verbs::compile::{
    CompileTarget, CompiledSprint, check_plan, compile_sprint, sprint_path,
};
use piton_engine::verbs::control::{self, ControlOutcome, ItemControl, RunControl};
use piton_engine::verbs::inbox::{
    ApprovalSubject, DecisionAnswer, DecisionResult, RequestTerms, ReviewedWork,
};
use piton_engine::verbs::item_view::{ItemView, item_of_event, label_of_node, without_controls};
use piton_engine::verbs::journal::EventView;
use piton_engine::verbs::land::land;
use piton_engine::verbs::new_run::{NewRunArgs, new_run};
use piton_engine::verbs::run::DryRun;
use piton_engine::verbs::sprint::{self, InjectRequest, NewStep, StepTarget};
use piton_engine::verbs::{costs, inbox, journal, run, status, store};
use piton_engine::world::local_time_with_seconds;
use piton_engine::{CommandExit, Failure, World};

use crate::args::{
    Args, AtArg, CliCommand, Deferred, JournalCommand, NewArgs, PlaceArgs, PlanCommand,
    RequestArgs, RunArgs, StepsArgs, StoreCommand, UntilArg, VerbArg, VerdictArg,
};
use crate::output::{BOLD, CYAN, CliOutput, DIM, GREEN, OutputFlow, RED, YELLOW};
use crate::show as shows;
use crate::show::status::FinishedDisplay;

/// Calls the verb that was typed, if its caller may.
pub(crate) fn run_command(
    world: &World,
    args: Args,
    output: &mut CliOutput,
) -> Result<CommandExit, Failure> {
    let world = &caller::admit_command(world, args.command.permission())?;
    match args.command {
        CliCommand::Init(Deferred(args)) => files::run_init(world, &args, output),
        CliCommand::Files(Deferred(command)) => files::run_files_command(world, command, output),
        CliCommand::Run(Deferred(run)) => run_plan(world, *run, output),
        CliCommand::Status {
            run,
            failures: true,
            ..
        } => history::show_failures(world, run.as_deref(), output),
        CliCommand::Status {
            run, costs: true, ..
        } => show_costs(world, run.as_deref(), output),
        CliCommand::Status {
            run, watch, all, ..
        } => {
            let finished = if all {
                FinishedDisplay::Each
            } else {
                FinishedDisplay::Folded
            };
            show_status(world, run.as_deref(), watch, finished, output)
        }
        CliCommand::Show { name } => show::run_show(world, &name, output),
        CliCommand::Transcript(Deferred(args)) => show::run_transcript(world, &args, output),
        CliCommand::Next { run, limit } => next::run_next(world, run.as_deref(), limit, output),
        CliCommand::Inbox { command: None } => show_inbox(world, output),
        CliCommand::Inbox {
            command: Some(command),
        } => next::run_inbox_ask(world, command, output),
        CliCommand::Decide(Deferred(args)) => {
            let terms = request_terms(args.terms);
            let answer = DecisionAnswer {
                verb: args.verb.into(),
                terms: &terms,
                why: args.why,
            };
            let decided = inbox::decide(world, &args.id, answer, &mut |notice| {
                show_notice(world, &notice, output)
            })?;
            Ok(show_decision(&decided, output))
        }
        CliCommand::Pause { run } => control_run(world, run.as_deref(), RunControl::Pause, output),
        CliCommand::Resume { run } => {
            control_run(world, run.as_deref(), RunControl::Resume, output)
        }
        CliCommand::Stop { run } => control_run(world, run.as_deref(), RunControl::Stop, output),
        CliCommand::Land { run } => {
            let landed = land(world, run.as_deref(), &mut |notice| {
                show_notice(world, &notice, output)
            })?;
            if output.json {
                output.print_json(&landed);
            } else {
                output.note(&landed.describe());
                for other in &landed.others {
                    output.note(&other.describe());
                }
            }
            Ok(CommandExit::Done)
        }
        CliCommand::Plan(Deferred(plan)) => run_plan_command(world, plan, output),
        CliCommand::Log(Deferred(entry)) => history::run_log(world, entry, output),
        CliCommand::Session(Deferred(command)) => {
            history::run_session_command(world, command, output)
        }
        CliCommand::Record(Deferred(args)) => record::run_record(world, *args, output),
        CliCommand::Recent(Deferred(args)) => history::run_recent(world, &args, output),
        CliCommand::Prepare { item, max_tokens } => {
            recall::run_prepare(world, &item, max_tokens, output)
        }
        CliCommand::Recover { item, failure } => {
            recall::run_recover(world, &item, failure.as_deref(), output)
        }
        CliCommand::Recall(Deferred(args)) => recall::run_recall(world, args, output),
        CliCommand::Learn(Deferred(command)) => learn::run_learn_command(world, command, output),
        CliCommand::Issue(Deferred(command)) => issue::run_issue_command(world, command, output),
        CliCommand::Journal(Deferred(command)) => run_journal_command(world, command, output),
        CliCommand::Store(Deferred(command)) => run_store_command(world, command, output),
        CliCommand::Hook(Deferred(args)) => match &args.command {
            Some(command) => hook::change_hook_settings(world, command, output),
            None => {
                hook::run_hook(args.event.as_deref());
                Ok(CommandExit::Done)
            }
        },
        CliCommand::Mcp { item } => {
            // From here on stdout is the protocol's.
            piton_server::mcp::serve_stdio(world.clone(), item)?;
            Ok(CommandExit::Done)
        }
        CliCommand::Completions { shell } => {
            let mut text = Vec::new();
            clap_complete::generate(shell, &mut Args::command(), "piton", &mut text);
            output.print_data(&String::from_utf8_lossy(&text));
            Ok(CommandExit::Done)
        }
        CliCommand::Man => {
            let mut text = Vec::new();
            clap_mangen::Man::new(Args::command())
                .render(&mut text)
                .map_err(|error| {
                    Failure::new("store.fault", "the page cannot be made").with_source(error)
                })?;
            output.print_data(&String::from_utf8_lossy(&text));
            Ok(CommandExit::Done)
        }
    }
}

/// What was typed of what becomes of a request.
fn request_terms(typed: RequestArgs) -> RequestTerms {
    RequestTerms {
        until: typed.until.map(|until| match until {
            UntilArg::EndOfPhase => Until::EndOfPhase,
            UntilArg::EndOfSprint => Until::EndOfSprint,
            UntilArg::NextSprint => Until::NextSprint,
        }),
        injection: Injection {
            position: parse_position(typed.place),
            prompt: typed.prompt,
            model: typed.model,
            id_prefix: typed.id_prefix,
            items: Vec::new(),
        },
    }
}

fn parse_position(typed: PlaceArgs) -> Option<InsertPosition> {
    let at = typed.at.map(|at| match at {
        AtArg::AfterCurrent => InsertPosition::AfterCurrent,
        AtArg::EndOfPhase => InsertPosition::EndOfPhase(None),
        AtArg::EndOfWorkflow => InsertPosition::EndOfWorkflow,
    });
    let after = typed.after.map(InsertPosition::After);
    at.or(after).or(typed.before.map(InsertPosition::Before))
}

impl From<VerbArg> for Verb {
    fn from(verb: VerbArg) -> Self {
        match verb {
            VerbArg::Approve => Self::Approve,
            VerbArg::Answer => Self::Answer,
            VerbArg::Retry => Self::Retry,
            VerbArg::Skip => Self::Skip,
            VerbArg::KeepFile => Self::KeepFile,
            VerbArg::KeepPiton => Self::KeepPiton,
            VerbArg::Merge => Self::Merge,
            VerbArg::Reject => Self::Reject,
            VerbArg::Defer => Self::Defer,
            VerbArg::Backlog => Self::Backlog,
        }
    }
}

impl From<VerdictArg> for VerdictSource {
    fn from(how: VerdictArg) -> Self {
        match how {
            VerdictArg::Form => Self::Form,
            VerdictArg::ExitStatus => Self::ExitStatus,
        }
    }
}

fn run_plan(world: &World, args: RunArgs, output: &mut CliOutput) -> Result<CommandExit, Failure> {
    let request = run::RunRequest {
        plan: args.plan,
        agent: args.agent,
        workflows: args.workflows,
        verdict: args.verdict.map(VerdictSource::from),
        model: args.model,
        workers: args.workers.and_then(NonZeroU32::new),
        limits: Limits {
            iterations_max: args.max_iterations,
            tasks_max: None,
            time_box_s: args.time_box,
            stop_on_failure: args.stop_on_failure,
            budget_usd: args.budget_usd,
            budget_tokens: args.budget_tokens,
            ..Limits::default()
        },
        wait: args.wait,
        once: args.once,
        dry_run: args.dry_run,
        recompile: args.recompile,
        from: args.from,
        ignore: args.ignore,
        same_tree: args.same_tree,
        join: args.join,
    };
    let answer = run::run(world, &request, &mut |notice| {
        show_notice(world, &notice, output)
    })?;
    match answer {
        run::RunAnswer::Dry(dry) => {
            show_dry_run(&dry, output);
            Ok(CommandExit::Done)
        }
        run::RunAnswer::Finished(ended) => {
            // A run that was over before is told of as one that ends now.
            let account = match &ended.account {
                Some(account) => Some(account.clone()),
                None => account_of_run(world, request.plan.as_deref(), ended.row.id)?,
            };
            show_account(account.as_ref(), output);
            output.note(&format!("run `{}` is already finished", ended.row.name));
            Ok(ended.exit_code())
        }
        run::RunAnswer::Ran(ended) => {
            show_account(ended.account.as_ref(), output);
            if !output.json {
                match &ended.goes_on_with {
                    Some(other) => {
                        let name = &ended.row.name;
                        output.note(&format!("run `{name}` goes on with {other}"));
                    }
                    None => show_run_end(&ended.row, output),
                }
                if let Some(next) = &ended.next {
                    output.hint(&format!("go on with what is ready with `{next}`"));
                }
                for asked in ended.asked.iter().filter_map(|row| row.file.as_ref()) {
                    output.hint(&format!(
                        "1 question about {asked} waits, and what it is about stays as it is; see `piton inbox`"
                    ));
                }
            }
            Ok(ended.exit_code())
        }
    }
}

/// What came of the items of a run, as text or as the last line of JSON.
fn show_account(account: Option<&Account>, output: &mut CliOutput) {
    let Some(account) = account else { return };
    if output.json {
        output.print_json_line(account);
        return;
    }
    for line in shows::account::account_lines(account) {
        output.note(&line);
    }
}

/// An event of a run at work, with the item that it is about.
#[derive(serde::Serialize)]
struct EventLine {
    #[serde(flatten)]
    event: EventView,
    #[serde(skip_serializing_if = "Option::is_none")]
    item: Option<ItemView>,
}

fn show_notice(world: &World, notice: &Notice<'_>, output: &mut CliOutput) {
    match notice {
        Notice::Said(text) => output.note(&format!("{DIM}{text}{DIM:#}")),
        Notice::Warning(text) => output.warning(text),
        Notice::Problems(findings) => output.print_findings(findings),
        Notice::Event(recorded, tables) if output.json => {
            output.print_json_line(&EventLine {
                event: EventView::from(&recorded.record),
                item: item_of_event(&recorded.event, tables, world.now()),
            });
        }
        Notice::Event(recorded, tables) => {
            if let Some(line) = shows::progress::render_event_line(recorded, tables) {
                output.note(&line);
            }
        }
        Notice::Working(working) => {
            if output.is_live() {
                output.show_live_line(&shows::progress::render_working_line(working));
            }
        }
        Notice::Waiting(until) => {
            if let Some(until) = until {
                let now = world.now();
                // Whether a shorter one is seen at all depends on the machine.
                if until.duration_since(now).as_secs() >= 1 {
                    output.note(&format!(
                        "{DIM}waiting {} before the next attempt{DIM:#}",
                        shows::progress::format_wait(now, *until)
                    ));
                }
            } else {
                output.note(&format!(
                    "{DIM}waiting for a person: see `piton inbox`{DIM:#}"
                ));
            }
        }
    }
}

/// How an invocation ended, and what to type next.
fn show_run_end(row: &piton_core::RunRow, output: &mut CliOutput) {
    let name = &row.name;
    match (row.state, &row.pause) {
        (RunState::Done, _) => output.note(&format!("{GREEN}run `{name}` is done{GREEN:#}")),
        (RunState::Paused, Some(piton_core::run::Pause::Limit { limit })) => {
            output.note(&format!(
                "{YELLOW}run `{name}` reached its limit: {limit}{YELLOW:#}"
            ));
            let failure = piton_engine::failure::failure_of_run_state(row, row.state);
            output.hint(&failure.hint.unwrap_or_default());
        }
        (state, _) => {
            let failure = piton_engine::failure::failure_of_run_state(row, state);
            output.note(&format!("{YELLOW}{}{YELLOW:#}", failure.message));
            if let Some(hint) = &failure.hint {
                output.hint(hint);
            }
        }
    }
}

fn show_dry_run(dry: &DryRun, output: &mut CliOutput) {
    if output.json {
        output.print_json(&dry.items);
        return;
    }
    if let Some(waits) = &dry.waits {
        output.note(&format!("{}; nothing can be started", waits.message));
        if let Some(hint) = &waits.hint {
            output.hint(hint);
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
    output.note(&format!(
        "{DIM}{} to do; nothing was started{DIM:#}",
        format_count(dry.items.len(), "item")
    ));
    if dry.held_up > 0 {
        let (more, verb) = (
            format_count(dry.held_up, "more item"),
            if dry.held_up == 1 { "waits" } else { "wait" },
        );
        output.note(&format!(
            "{DIM}{more} {verb} until a person has done something: see `piton next`{DIM:#}"
        ));
    }
}

fn format_count<N: Copy + Display + PartialEq + From<u8>>(number: N, word: &str) -> String {
    if number == N::from(1) {
        return format!("{number} {word}");
    }
    match word.strip_suffix("ry") {
        Some(start) => format!("{number} {start}ries"),
        None => format!("{number} {word}s"),
    }
}

fn show_status(
    world: &World,
    run: Option<&str>,
    watch: bool,
    finished: FinishedDisplay,
    output: &mut CliOutput,
) -> Result<CommandExit, Failure> {
    loop {
        let answer = status::status(world, run)?;
        if output.json {
            let going = if watch {
                output.print_json_line(&answer)
            } else {
                output.print_json(&answer)
            };
            if going == OutputFlow::Over {
                return Ok(CommandExit::Done);
            }
        } else if answer.runs.is_empty() {
            output.note("nothing has been run here yet");
            output.hint(&format!(
                "begin with `piton run PLAN`, where PLAN is {}",
                piton_engine::describe_plan_kinds()
            ));
        } else {
            if watch {
                output.clear_screen();
            }
            if output.print_data(&shows::status::render(&answer, world.now(), finished))
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
        if !watch || !live {
            return Ok(CommandExit::Done);
        }
        piton_engine::world::pause(std::time::Duration::from_millis(500));
    }
}

fn show_costs(
    world: &World,
    run: Option<&str>,
    output: &mut CliOutput,
) -> Result<CommandExit, Failure> {
    let costs = costs::costs(world, run)?;
    if output.json {
        output.print_json(&costs);
    } else if costs.project.is_empty() {
        output.note("no attempt is over yet");
    } else {
        output.print_data(&shows::costs::render(&costs));
    }
    Ok(CommandExit::Done)
}

fn show_inbox(world: &World, output: &mut CliOutput) -> Result<CommandExit, Failure> {
    let open = inbox::inbox(world)?;
    if output.json {
        output.print_json(&open);
        return Ok(CommandExit::Done);
    }
    if open.is_empty() {
        output.note("nothing waits for a person");
        return Ok(CommandExit::Done);
    }
    let mut text = String::new();
    for question in &open {
        let about = match &question.node {
            Some(node) => {
                let name = label_of_node(node, question.title.as_deref());
                format!("  {DIM}{} at {name}{DIM:#}", question.run)
            }
            // What is asked of a file names the file.
            None => String::new(),
        };
        text.push_str(&format!(
            "{BOLD}{}{BOLD:#}  {}{about}\n",
            question.id, question.question
        ));
        if let Some(until) = question.deferred {
            text.push_str(&format!("    {DIM}put off until {until}{DIM:#}\n"));
        }
        for line in question.details.iter().flat_map(|details| details.lines()) {
            text.push_str(&format!("    {line}\n"));
        }
        if let Some(check) = &question.check {
            text.push_str(&shows::item::render_failed_check(check, "    "));
        }
        if let Some(work) = &question.review {
            text.push_str(&render_reviewed_work(work));
        }
        if let Some(ApprovalSubject { artifact, see }) = &question.look_at {
            let cyan = |text: &String| format!("{CYAN}{}{CYAN:#}", without_controls(text));
            let shown = match (artifact, see) {
                (Some(path), Some(see)) => {
                    Some(format!("{} with {}", without_controls(path), cyan(see)))
                }
                (None, Some(see)) => Some(format!("it with {}", cyan(see))),
                (path, None) => path.as_ref().map(cyan),
            };
            text.extend(shown.map(|shown| format!("    look at {shown}\n")));
        }
        let typed = |verb: &Verb| question.decide_command(*verb);
        let width = question.verbs.iter().map(|verb| typed(verb).len()).max();
        let width = width.unwrap_or(0);
        for (verb, way) in question.verbs.iter().zip(&question.ways) {
            let typed = typed(verb);
            let Some(way) = way else {
                text.push_str(&format!("    {CYAN}{typed}{CYAN:#}\n"));
                continue;
            };
            let does = describe_answer_effect(*way);
            text.push_str(&format!(
                "    {CYAN}{typed:width$}{CYAN:#}  {DIM}{does}{DIM:#}\n"
            ));
        }
        if let Some(file) = &question.file {
            text.push_str(&format!(
                "    {DIM}or change {file} by hand, then type{DIM:#} {CYAN}piton files sync{CYAN:#}\n"
            ));
        }
    }
    output.print_data(&text);
    Ok(CommandExit::Done)
}

/// What comes of a way to answer a question about a file.
fn describe_answer_effect(way: DecisionChoice) -> &'static str {
    match way {
        DecisionChoice::FileHolds => "what the file says holds",
        DecisionChoice::LeftAlone => "leave the file alone: it is not kept up to date any more",
        DecisionChoice::PitonHolds => {
            "write it as piton has it; what is there now is kept beside it"
        }
        DecisionChoice::Merged => "take what is new in it; for the rest piton's word holds",
        DecisionChoice::Retired => "retire it: it is not followed any more, and stays on record",
        DecisionChoice::FollowedOn => "follow it on",
    }
}

/// So many files of work that waits for a review are listed.
const FILES_SHOWN: usize = 10;

/// How much the work changes that is to be looked at, and what to type to see it.
fn render_reviewed_work(work: &ReviewedWork) -> String {
    let mut text = String::new();
    let files = work.files.as_deref().unwrap_or_default();
    let width = files
        .iter()
        .take(FILES_SHOWN)
        .map(|file| file.path.chars().count());
    let width = width.max().unwrap_or(0);
    for file in files.iter().take(FILES_SHOWN) {
        let path = without_controls(&file.path);
        let lines = match (file.insertions, file.deletions) {
            (Some(added), Some(taken)) => {
                format!("{GREEN}+{added}{GREEN:#} {RED}-{taken}{RED:#}")
            }
            _ => "no text".to_owned(),
        };
        text.push_str(&format!("    {path:width$}  {lines}\n"));
    }
    if let Some(more) = files
        .len()
        .checked_sub(FILES_SHOWN)
        .filter(|more| *more > 0)
    {
        text.push_str(&format!(
            "    {DIM}and {}{DIM:#}\n",
            format_count(more, "more file")
        ));
    }
    text.push_str(&format!("    {CYAN}{}{CYAN:#}\n", work.diff));
    text
}

fn control_run(
    world: &World,
    run: Option<&str>,
    wish: RunControl,
    output: &mut CliOutput,
) -> Result<CommandExit, Failure> {
    let outcome = control::control_run(world, run, wish)?;
    if outcome.asked && !output.json {
        let what = if wish == RunControl::Stop {
            "stops now"
        } else {
            "pauses at the next boundary"
        };
        output.note(&format!("run `{}` {what}", outcome.run));
        return Ok(CommandExit::Done);
    }
    Ok(show_outcome(&outcome, output))
}

fn show_outcome(outcome: &ControlOutcome, output: &mut CliOutput) -> CommandExit {
    if output.json {
        output.print_json(outcome);
        return CommandExit::Done;
    }
    let state = match (outcome.state, outcome.live) {
        (RunState::Interrupted, true) => "goes on".to_owned(),
        (RunState::Interrupted, false) => "may go on".to_owned(),
        (state, _) => format!("is {state}"),
    };
    for added in &outcome.added {
        output.note(&format!("added `{added}` to the plan"));
    }
    output.note(&format!("run `{}` {state}", outcome.run));
    for warning in &outcome.warnings {
        output.warning(warning);
    }
    if let Some(hint) = &outcome.hint {
        output.hint(hint);
    }
    CommandExit::Done
}

fn show_decision(decided: &DecisionResult, output: &mut CliOutput) -> CommandExit {
    if output.json {
        output.print_json(decided);
        return CommandExit::Done;
    }
    if let Some(decided) = &decided.file {
        let what = match decided.way {
            Some(DecisionChoice::LeftAlone) => {
                "left alone, and not kept up to date any more; `piton init` begins to keep it again"
            }
            Some(DecisionChoice::FileHolds) => "what it says holds",
            Some(DecisionChoice::PitonHolds) => "piton's version holds",
            Some(DecisionChoice::Merged) => {
                "what is new in it is taken; for the rest piton's version holds"
            }
            Some(DecisionChoice::Retired | DecisionChoice::FollowedOn) => "decided",
            // It was asked before questions said what can be done.
            None => "decided",
        };
        let kept = decided.kept.as_ref();
        let kept = kept.map(|kept| format!("; what was there is kept as {kept}"));
        let file = &decided.file;
        output.note(&format!("{file}: {what}{}", kept.unwrap_or_default()));
    }
    if let Some(decided) = &decided.memory {
        let is_retired = decided.way == Some(DecisionChoice::Retired);
        let what = if is_retired {
            "retired; it stays on record"
        } else {
            "followed on"
        };
        output.note(&format!("{}: {what}", decided.memory));
    }
    if let Some(decided) = &decided.question {
        let told = match (decided.verb == Verb::Answer, &decided.node) {
            (true, Some(node)) => {
                format!("answered; it is remembered, and the next prompt of {node} tells it")
            }
            (true, None) => "answered; it is remembered".to_owned(),
            (false, _) => "closed without an answer".to_owned(),
        };
        output.note(&format!("{}: {told}", decided.question));
    }
    if let Some(decided) = &decided.request {
        let what = match (decided.verb, decided.until) {
            (Verb::Reject, _) => "rejected; it is not done".to_owned(),
            (Verb::Backlog, _) => "kept in BACKLOG.yaml beside the plan".to_owned(),
            (Verb::Defer, Some(until)) => format!("put off until {until}"),
            (verb, _) => format!("decided: {verb}"),
        };
        if decided.verb != Verb::Approve {
            output.note(&format!("{}: {what}", decided.request));
        }
    }
    if let Some(decided) = &decided.review {
        let what = match (decided.verb, decided.kind) {
            (Verb::Approve, DecisionKind::Review) => "approved; it is merged next",
            (Verb::Approve, _) => "approved",
            (Verb::Reject, _) => "rejected; an agent goes on with it, and is told why",
            _ => "left out",
        };
        output.note(&format!("{}: {what}", decided.node));
    }
    match &decided.run {
        Some(outcome) => show_outcome(outcome, output),
        None => CommandExit::Done,
    }
}

fn run_plan_command(
    world: &World,
    command: PlanCommand,
    output: &mut CliOutput,
) -> Result<CommandExit, Failure> {
    match command {
        PlanCommand::Compile {
            sprint,
            workflows,
            output: file,
            strict,
        } => {
            let target = match file {
                None => CompileTarget::Beside,
                Some(file) if file == Path::new("-") => CompileTarget::Caller,
                Some(file) => CompileTarget::File(file),
            };
            let sprint = sprint_path(world, &sprint)?;
            let compiled = compile_sprint(world, &sprint, workflows.as_deref(), strict, &target)?;
            Ok(show_compiled_plan(
                &compiled,
                target == CompileTarget::Caller,
                output,
            ))
        }
        PlanCommand::Check {
            sprint,
            workflows,
            strict,
        } => {
            let checked = check_plan(world, &sprint, workflows.as_deref(), strict)?;
            if output.json {
                output.print_json(&serde_json::json!({ "problems": checked.findings.problems }));
            } else {
                show_findings(&checked.findings, output);
                if checked.is_fine {
                    output.note(&format!("{} is fine", checked.shown.display()));
                }
            }
            Ok(if checked.is_fine {
                CommandExit::Done
            } else {
                CommandExit::No
            })
        }
        PlanCommand::New(args) => create_plan(world, *args, output),
        PlanCommand::Inject(args) => {
            let addition = InjectRequest {
                run: args.run,
                prompt: args.prompt,
                workflow: args.workflow,
                workflows: args.workflows,
                injection: Injection {
                    position: parse_position(args.place),
                    model: args.model,
                    id_prefix: args.id_prefix,
                    ..Injection::default()
                },
            };
            let outcome = sprint::inject(world, addition, &mut |notice| {
                show_notice(world, &notice, output)
            })?;
            Ok(show_outcome(&outcome, output))
        }
        PlanCommand::AddStep {
            prompt,
            target,
            id,
            workflow,
            model,
        } => {
            let step = NewStep {
                prompt,
                id,
                workflow,
                model,
            };
            add_steps(world, target, &[step], output)
        }
        PlanCommand::Import { file, target } => {
            let (name, text) = read_text(world, &file)?;
            let steps = sprint::parse_steps(&name, &text)?;
            add_steps(world, target, &steps, output)
        }
        PlanCommand::Skip { node, why } => {
            let outcome = control::skip_or_retry_item(world, &node, ItemControl::Skip, why)?;
            Ok(show_outcome(&outcome, output))
        }
        PlanCommand::Retry { node, why } => {
            let outcome = control::skip_or_retry_item(world, &node, ItemControl::Retry, why)?;
            Ok(show_outcome(&outcome, output))
        }
        PlanCommand::Clean { run, abandon } => {
            let unsaved = match abandon {
                true => UnsavedPolicy::Abandon,
                false => UnsavedPolicy::Refuse,
            };
            let cleaned = clean(world, &run, unsaved, &mut |notice| {
                show_notice(world, &notice, output);
            })?;
            if output.json {
                output.print_json(&cleaned);
                return Ok(CommandExit::Done);
            }
            for line in shows::place::cleanup_lines(&cleaned) {
                output.note(&line);
            }
            Ok(CommandExit::Done)
        }
    }
}

fn create_plan(
    world: &World,
    args: NewArgs,
    output: &mut CliOutput,
) -> Result<CommandExit, Failure> {
    if let Some(manifest) = args.manifest {
        let args = NewRunArgs {
            manifest,
            requirements: args.prd,
            out: args.out,
        };
        let made = new_run(world, &args)?;
        if output.json {
            output.print_json(&made);
            return Ok(CommandExit::Done);
        }
        for problem in &made.problems {
            output.warning(&format!("{}: {}", problem.file, problem.message));
        }
        output.note(&format!("wrote {}: run `{}`", made.file, made.run));
        output.hint(&format!("begin it with `{}`", made.next));
        return Ok(CommandExit::Done);
    }
    let (workflow, owner) = (args.workflow.as_deref(), args.owner.as_deref());
    let name = args.sprint.unwrap_or_default();
    let made = sprint::new_sprint(world, &name, workflow, owner)?;
    if output.json {
        output.print_json(&made);
        return Ok(CommandExit::Done);
    }
    output.note(&format!("wrote {}", made.file));
    if let Some(missing) = &made.missing {
        output.warning(&format!(
            "its workflow is not there: steps can be added when {missing} is written"
        ));
    }
    output.hint(&format!("add to it with `{}`", made.next));
    Ok(CommandExit::Done)
}

fn add_steps(
    world: &World,
    target: StepsArgs,
    steps: &[NewStep],
    output: &mut CliOutput,
) -> Result<CommandExit, Failure> {
    let target = StepTarget {
        sprint: target.sprint,
        collection: target.collection,
        workflows: target.workflows,
    };
    let added = sprint::add_steps(world, &target, steps, &mut |notice| {
        show_notice(world, &notice, output)
    })?;
    if output.json {
        output.print_json(&added);
        return Ok(CommandExit::Done);
    }
    if added.known > 0 {
        let (steps, are) = (
            format_count(added.known, "step"),
            if added.known == 1 { "is" } else { "are" },
        );
        output.note(&format!("{steps} {are} there already"));
    }
    let steps = format_count(added.steps, "step");
    output.note(&format!("added {steps} to {}", added.file));
    match &added.run {
        Some(run) => Ok(show_outcome(run, output)),
        None => {
            output.hint(&format!("run it with `{}`", added.next));
            Ok(CommandExit::Done)
        }
    }
}

fn show_compiled_plan(
    compiled: &CompiledSprint,
    to_stdout: bool,
    output: &mut CliOutput,
) -> CommandExit {
    let exit = if compiled.progress.is_some() {
        CommandExit::Done
    } else {
        CommandExit::No
    };
    if output.json {
        let mut value = serde_json::json!({ "problems": compiled.findings.problems });
        if let Some(progress) = compiled.progress.as_ref().filter(|_| to_stdout) {
            value["progress"] =
                serde_json::to_value(progress).expect("a sprint can be said in JSON");
        }
        if let Some(written) = &compiled.written {
            value["written"] = written.to_string_lossy().into();
        }
        output.print_json(&value);
        return exit;
    }
    output.print_findings(&compiled.findings);
    if let Some(text) = compiled.text.as_ref().filter(|_| to_stdout) {
        output.print_data(text);
    }
    if let Some(written) = &compiled.written {
        output.note(&format!("wrote {}", written.display()));
    }
    show_errors(&compiled.findings, output);
    exit
}

fn show_findings(findings: &piton_engine::failure::Findings, output: &mut CliOutput) {
    output.print_findings(findings);
    show_errors(findings, output);
}

fn show_errors(findings: &piton_engine::failure::Findings, output: &mut CliOutput) {
    let errors = findings.error_count();
    if errors > 0 {
        output.note(&format!(
            "{RED}{}; nothing was written{RED:#}",
            format_count(errors, "error")
        ));
    }
}

/// What a file says, and what it is called; `-` is stdin.
fn read_text(world: &World, file: &Path) -> Result<(String, String), Failure> {
    let (name, read) = if file == Path::new("-") {
        ("stdin".to_owned(), read_stdin())
    } else {
        (
            file.display().to_string(),
            read_file(&world.resolve_path(file)),
        )
    };
    let bytes =
        read.map_err(|error| piton_engine::failure::unreadable_file(Path::new(&name), error))?;
    match String::from_utf8(bytes) {
        Ok(text) => Ok((name, text)),
        Err(_) => {
            Err(Failure::new("usage", format!("{name} is no UTF-8 text"))
                .with_hint("give it as UTF-8"))
        }
    }
}

/// The content of stdin; an error where it is longer than [`STDIN_MAX`].
fn read_stdin() -> std::io::Result<Vec<u8>> {
    read_bounded(std::io::stdin().lock())
}

/// The content of a file, with the same bound: a device need not end.
fn read_file(path: &Path) -> std::io::Result<Vec<u8>> {
    read_bounded(std::fs::File::open(path)?)
}

fn read_bounded(from: impl std::io::Read) -> std::io::Result<Vec<u8>> {
    use std::io::Read as _;
    let mut bytes = Vec::new();
    from.take(STDIN_MAX + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > STDIN_MAX {
        return Err(std::io::Error::other("it has more than 64 MB"));
    }
    Ok(bytes)
}

/// No report of an attempt is longer than that.
const STDIN_MAX: u64 = 64 << 20;

fn run_journal_command(
    world: &World,
    command: JournalCommand,
    output: &mut CliOutput,
) -> Result<CommandExit, Failure> {
    match command {
        JournalCommand::Show { since } => {
            let since = since
                .map(|text| journal::parse_since(world, &text))
                .transpose()?;
            journal::for_each_event(world, since.as_ref(), &mut |record| {
                let shown = EventView::from(record);
                let going = if output.json {
                    output.print_json_line(&shown)
                } else {
                    output.print_data(&render_journal_line(&shown))
                };
                going == OutputFlow::On
            })?;
            Ok(CommandExit::Done)
        }
        JournalCommand::Export => {
            journal::for_each_event(world, None, &mut |record| {
                output.print_json_line(&EventView::from(record)) == OutputFlow::On
            })?;
            Ok(CommandExit::Done)
        }
        JournalCommand::Verify => verify_journal(world, output),
    }
}

fn render_journal_line(event: &EventView) -> String {
    let stream = event
        .stream
        .strip_prefix("run:")
        .map_or(event.stream.as_str(), |id| &id[..id.len().min(8)]);
    let body = shows::progress::first_line(&event.body.to_string());
    format!(
        "{DIM}{} {stream}:{}{DIM:#} {BOLD}{}{BOLD:#} {body} {DIM}{}{DIM:#}\n",
        local_time_with_seconds(event.time),
        event.position,
        event.kind,
        event.actor
    )
}

fn verify_journal(world: &World, output: &mut CliOutput) -> Result<CommandExit, Failure> {
    let verdict = journal::verify(world)?;
    let exit = if verdict.damage.is_empty() {
        CommandExit::Done
    } else {
        CommandExit::Damaged
    };
    if output.json {
        let damage: Vec<_> = verdict
            .damage
            .iter()
            .map(|damage| serde_json::json!({ "place": damage.place, "position": damage.position, "kind": damage.kind, "what": damage.what }))
            .collect();
        output.print_json(&serde_json::json!({ "events": verdict.events, "streams": verdict.streams, "rows": verdict.rows, "damage": damage }));
        return Ok(exit);
    }
    for damage in &verdict.damage {
        let position = damage
            .position
            .map(|position| format!(", event {position}"))
            .unwrap_or_default();
        let kind = damage
            .kind
            .as_ref()
            .map(|kind| format!(" ({kind})"))
            .unwrap_or_default();
        output.note(&format!(
            "{RED}damaged:{RED:#} {}{position}{kind}: {}",
            damage.place, damage.what
        ));
    }
    let checked = format!(
        "{} in {}, {} of views",
        format_count(verdict.events, "event"),
        format_count(verdict.streams, "stream"),
        format_count(verdict.rows, "row")
    );
    if exit == CommandExit::Done {
        output.print_data(&format!("{GREEN}all is well:{GREEN:#} {checked}\n"));
    } else {
        output.note(&format!(
            "{RED}{} among {checked}{RED:#}",
            format_count(verdict.damage.len(), "damage")
        ));
        output.hint("nothing was changed; bring a backup in with `piton store restore FILE`, or save what is there with `piton journal export`");
    }
    Ok(exit)
}

fn run_store_command(
    world: &World,
    command: StoreCommand,
    output: &mut CliOutput,
) -> Result<CommandExit, Failure> {
    match command {
        StoreCommand::Info => {
            let info = store::info(world)?;
            if output.json {
                output.print_json(&serde_json::json!({
                    "path": info.path, "bytes": info.bytes, "wal_bytes": info.wal_bytes,
                    "schema_version": info.schema_version, "sqlite_version": info.database_version,
                    "events": info.events, "streams": info.streams, "runs": info.runs, "entries": info.entries,
                }));
            } else {
                output.print_data(&format!(
                    "{}\n{}, of them {} not yet checkpointed\n{} in {}, {}, {} of sessions\nschema {}, SQLite {}\n",
                    info.path.display(),
                    piton_core::amount::format_size(info.bytes + info.wal_bytes),
                    piton_core::amount::format_size(info.wal_bytes),
                    format_count(info.events, "event"),
                    format_count(info.streams, "stream"),
                    format_count(info.runs, "run"),
                    format_count(info.entries, "entry"),
                    info.schema_version,
                    info.database_version
                ));
            }
            Ok(CommandExit::Done)
        }
        StoreCommand::Backup { file } => {
            let written = store::backup(world, &file)?;
            show_written_paths(output, "wrote", &written, None);
            Ok(CommandExit::Done)
        }
        StoreCommand::Restore { file } => {
            let restored = store::restore(world, &file)?;
            show_written_paths(output, "restored", &restored.store, restored.kept.as_ref());
            Ok(CommandExit::Done)
        }
    }
}

fn show_written_paths(output: &mut CliOutput, what: &str, path: &Path, kept: Option<&PathBuf>) {
    if output.json {
        output.print_json(&serde_json::json!({ what: path, "kept": kept }));
        return;
    }
    output.note(&format!("{what} {}", path.display()));
    if let Some(kept) = kept {
        output.note(&format!("the former store is kept as {}", kept.display()));
    }
}
