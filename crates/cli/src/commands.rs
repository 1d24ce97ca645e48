//! One function a command: translate, call the verb, show the answer.

mod files;
pub(crate) mod hook;
mod issue;
mod learn;
mod memory;
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
use piton_core::request::{Injection, Position, Until};
use piton_core::{DecisionKind, RunState, Verb, Way};
use piton_engine::Notice;
use piton_engine::account::{Account, account_of_run};
use piton_engine::caller;
use piton_engine::config::VerdictBy;
use piton_engine::item_view::{ItemView, item_of_event, named, without_controls};
use piton_engine::verbs::begin::{NewRunArgs, new_run};
use piton_engine::verbs::clean::{Unsaved, clean};
use piton_engine::verbs::compile::{Compiled, Target, check_plan, compile_sprint, sprint_path};
use piton_engine::verbs::control::{self, NodeWish, Outcome, Wish};
use piton_engine::verbs::inbox::{Decided, LookAt, RequestTerms, ReviewedWork};
use piton_engine::verbs::journal::Shown;
use piton_engine::verbs::land::land;
use piton_engine::verbs::run::Dry;
use piton_engine::verbs::sprint::{self, Addition, NewStep, StepTarget};
use piton_engine::verbs::{costs, inbox, journal, run, status, store};
use piton_engine::world::local_time_s;
use piton_engine::{Exit, Failure, World};

use crate::args::{
    Args, AtArg, Command, Deferred, JournalCommand, NewArgs, PlaceArgs, PlanCommand, RequestArgs,
    RunArgs, StepsArgs, StoreCommand, UntilArg, VerbArg, VerdictArg,
};
use crate::output::{BOLD, CYAN, DIM, GREEN, Going, Output, RED, YELLOW};
use crate::show as shows;
use crate::show::status::Finished;

/// Calls the verb that was typed, if its caller may.
pub(crate) fn call(world: &World, args: Args, output: &mut Output) -> Result<Exit, Failure> {
    let world = &caller::admit(world, args.command.permission())?;
    match args.command {
        Command::Init(Deferred(args)) => files::init(world, &args, output),
        Command::Files(Deferred(command)) => files::files(world, command, output),
        Command::Run(Deferred(run)) => run_plan(world, *run, output),
        Command::Status {
            run,
            failures: true,
            ..
        } => memory::failures(world, run.as_deref(), output),
        Command::Status {
            run, costs: true, ..
        } => show_costs(world, run.as_deref(), output),
        Command::Status {
            run, watch, all, ..
        } => {
            let finished = if all {
                Finished::Each
            } else {
                Finished::Folded
            };
            show_status(world, run.as_deref(), (watch, finished), output)
        }
        Command::Show { name } => show::show(world, &name, output),
        Command::Transcript(Deferred(args)) => show::transcript(world, &args, output),
        Command::Next { run, limit } => next::next(world, run.as_deref(), limit, output),
        Command::Inbox { command: None } => show_inbox(world, output),
        Command::Inbox {
            command: Some(command),
        } => next::ask(world, command, output),
        Command::Decide(Deferred(args)) => {
            let terms = request_terms(args.terms);
            let what = (args.verb.into(), &terms);
            let decided = inbox::decide(world, &args.id, what, args.why, &mut |notice| {
                notify(world, &notice, output)
            })?;
            Ok(show_decided(&decided, output))
        }
        Command::Pause { run } => steer(world, run.as_deref(), Wish::Pause, output),
        Command::Resume { run } => steer(world, run.as_deref(), Wish::Resume, output),
        Command::Stop { run } => steer(world, run.as_deref(), Wish::Stop, output),
        Command::Land { run } => {
            let landed = land(world, run.as_deref(), &mut |notice| {
                notify(world, &notice, output)
            })?;
            if output.json {
                output.json(&landed);
            } else {
                output.note(&landed.sentence());
                for other in &landed.others {
                    output.note(&other.sentence());
                }
            }
            Ok(Exit::Done)
        }
        Command::Plan(Deferred(plan)) => plan_command(world, plan, output),
        Command::Log(Deferred(entry)) => memory::log_entry(world, entry, output),
        Command::Session(Deferred(command)) => memory::session(world, command, output),
        Command::Record(Deferred(args)) => record::record(world, *args, output),
        Command::Recent(Deferred(args)) => memory::recent(world, &args, output),
        Command::Prepare { item, max_tokens } => recall::prepare(world, &item, max_tokens, output),
        Command::Recover { item, failure } => {
            recall::recover(world, &item, failure.as_deref(), output)
        }
        Command::Recall(Deferred(args)) => recall::recall(world, args, output),
        Command::Learn(Deferred(command)) => learn::learn(world, command, output),
        Command::Issue(Deferred(command)) => issue::issue(world, command, output),
        Command::Journal(Deferred(command)) => journal_command(world, command, output),
        Command::Store(Deferred(command)) => store_command(world, command, output),
        Command::Hook(Deferred(args)) => match &args.command {
            Some(command) => hook::settings(world, command, output),
            None => {
                hook::heard(args.event.as_deref());
                Ok(Exit::Done)
            }
        },
        Command::Mcp { item } => {
            // From here on stdout is the protocol's.
            piton_server::mcp::serve_stdio(world.clone(), item)?;
            Ok(Exit::Done)
        }
        Command::Completions { shell } => {
            let mut text = Vec::new();
            clap_complete::generate(shell, &mut Args::command(), "piton", &mut text);
            output.data(&String::from_utf8_lossy(&text));
            Ok(Exit::Done)
        }
        Command::Man => {
            let mut text = Vec::new();
            clap_mangen::Man::new(Args::command())
                .render(&mut text)
                .map_err(|error| {
                    Failure::new("store.fault", "the page cannot be made").because(error)
                })?;
            output.data(&String::from_utf8_lossy(&text));
            Ok(Exit::Done)
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
            position: position(typed.place),
            prompt: typed.prompt,
            model: typed.model,
            id_prefix: typed.id_prefix,
            items: Vec::new(),
        },
    }
}

fn position(typed: PlaceArgs) -> Option<Position> {
    let at = typed.at.map(|at| match at {
        AtArg::AfterCurrent => Position::AfterCurrent,
        AtArg::EndOfPhase => Position::EndOfPhase(None),
        AtArg::EndOfWorkflow => Position::EndOfWorkflow,
    });
    let after = typed.after.map(Position::After);
    at.or(after).or(typed.before.map(Position::Before))
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

impl From<VerdictArg> for VerdictBy {
    fn from(how: VerdictArg) -> Self {
        match how {
            VerdictArg::Form => Self::Form,
            VerdictArg::ExitStatus => Self::ExitStatus,
        }
    }
}

fn run_plan(world: &World, args: RunArgs, output: &mut Output) -> Result<Exit, Failure> {
    let request = run::Request {
        plan: args.plan,
        agent: args.agent,
        workflows: args.workflows,
        verdict: args.verdict.map(VerdictBy::from),
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
        notify(world, &notice, output)
    })?;
    match answer {
        run::Answer::Dry(dry) => {
            show_dry(&dry, output);
            Ok(Exit::Done)
        }
        run::Answer::Finished(ended) => {
            // A run that was over before is told of as one that ends now.
            let account = match &ended.account {
                Some(account) => Some(account.clone()),
                None => account_of_run(world, request.plan.as_deref(), ended.row.id)?,
            };
            show_account(account.as_ref(), output);
            output.note(&format!("run `{}` is already finished", ended.row.name));
            Ok(ended.exit())
        }
        run::Answer::Ran(ended) => {
            show_account(ended.account.as_ref(), output);
            if !output.json {
                match &ended.goes_on_with {
                    Some(other) => {
                        let name = &ended.row.name;
                        output.note(&format!("run `{name}` goes on with {other}"));
                    }
                    None => show_end(&ended.row, output),
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
            Ok(ended.exit())
        }
    }
}

/// What came of the items of a run, as text or as the last line of JSON.
fn show_account(account: Option<&Account>, output: &mut Output) {
    let Some(account) = account else { return };
    if output.json {
        output.json_line(account);
        return;
    }
    for line in shows::account::lines(account) {
        output.note(&line);
    }
}

/// An event of a run at work, with the item that it is about.
#[derive(serde::Serialize)]
struct EventLine {
    #[serde(flatten)]
    event: Shown,
    #[serde(skip_serializing_if = "Option::is_none")]
    item: Option<ItemView>,
}

fn notify(world: &World, notice: &Notice<'_>, output: &mut Output) {
    match notice {
        Notice::Said(text) => output.note(&format!("{DIM}{text}{DIM:#}")),
        Notice::Warning(text) => output.warning(text),
        Notice::Problems(findings) => output.findings(findings),
        Notice::Event(recorded, tables) if output.json => {
            output.json_line(&EventLine {
                event: Shown::from(&recorded.record),
                item: item_of_event(&recorded.event, tables, world.now()),
            });
        }
        Notice::Event(recorded, tables) => {
            if let Some(line) = shows::progress::line(recorded, tables) {
                output.note(&line);
            }
        }
        Notice::Working(working) => {
            if output.is_live() {
                output.live(&shows::progress::working(working));
            }
        }
        Notice::Waiting(until) => {
            if let Some(until) = until {
                let now = world.now();
                // Whether a shorter one is seen at all depends on the machine.
                if until.duration_since(now).as_secs() >= 1 {
                    output.note(&format!(
                        "{DIM}waiting {} before the next attempt{DIM:#}",
                        shows::progress::wait(now, *until)
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
fn show_end(row: &piton_core::RunRow, output: &mut Output) {
    let name = &row.name;
    match (row.state, &row.pause) {
        (RunState::Done, _) => output.note(&format!("{GREEN}run `{name}` is done{GREEN:#}")),
        (RunState::Paused, Some(piton_core::run::Pause::Limit { limit })) => {
            output.note(&format!(
                "{YELLOW}run `{name}` reached its limit: {limit}{YELLOW:#}"
            ));
            let failure = piton_engine::failure::state_of_run(row, row.state);
            output.hint(&failure.hint.unwrap_or_default());
        }
        (state, _) => {
            let failure = piton_engine::failure::state_of_run(row, state);
            output.note(&format!("{YELLOW}{}{YELLOW:#}", failure.message));
            if let Some(hint) = &failure.hint {
                output.hint(hint);
            }
        }
    }
}

fn show_dry(dry: &Dry, output: &mut Output) {
    if output.json {
        output.json(&dry.items);
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
        text.push_str(&format!("{}{model}{check}{stop}\n", item.name()));
    }
    output.data(&text);
    output.note(&format!(
        "{DIM}{} to do; nothing was started{DIM:#}",
        count(dry.items.len(), "item")
    ));
    if dry.held_up > 0 {
        let (more, verb) = (
            count(dry.held_up, "more item"),
            if dry.held_up == 1 { "waits" } else { "wait" },
        );
        output.note(&format!(
            "{DIM}{more} {verb} until a person has done something: see `piton next`{DIM:#}"
        ));
    }
}

fn count<N: Copy + Display + PartialEq + From<u8>>(number: N, word: &str) -> String {
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
    (watch, finished): (bool, Finished),
    output: &mut Output,
) -> Result<Exit, Failure> {
    loop {
        let answer = status::status(world, run)?;
        if output.json {
            let going = if watch {
                output.json_line(&answer)
            } else {
                output.json(&answer)
            };
            if going == Going::Over {
                return Ok(Exit::Done);
            }
        } else if answer.runs.is_empty() {
            output.note("nothing has been run here yet");
            output.hint(&format!(
                "begin with `piton run PLAN`, where PLAN is {}",
                piton_engine::plans_in_words()
            ));
        } else {
            if watch {
                output.fresh_screen();
            }
            if output.data(&shows::status::render(&answer, world.now(), finished)) == Going::Over {
                return Ok(Exit::Done);
            }
        }
        let live = match (run, &answer.run) {
            // Whoever named a run does not wait for the others.
            (Some(_), Some(report)) => report.line.live,
            (Some(_) | None, _) => answer.runs.iter().any(|line| line.live),
        };
        if !watch || !live {
            return Ok(Exit::Done);
        }
        piton_engine::world::pause(std::time::Duration::from_millis(500));
    }
}

fn show_costs(world: &World, run: Option<&str>, output: &mut Output) -> Result<Exit, Failure> {
    let costs = costs::costs(world, run)?;
    if output.json {
        output.json(&costs);
    } else if costs.project.is_empty() {
        output.note("no attempt is over yet");
    } else {
        output.data(&shows::costs::render(&costs));
    }
    Ok(Exit::Done)
}

fn show_inbox(world: &World, output: &mut Output) -> Result<Exit, Failure> {
    let open = inbox::inbox(world)?;
    if output.json {
        output.json(&open);
        return Ok(Exit::Done);
    }
    if open.is_empty() {
        output.note("nothing waits for a person");
        return Ok(Exit::Done);
    }
    let mut text = String::new();
    for question in &open {
        let about = match &question.node {
            Some(node) => {
                let name = named(node, question.title.as_deref());
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
            text.push_str(&shows::item::check(check, "    "));
        }
        if let Some(work) = &question.review {
            text.push_str(&reviewed(work));
        }
        if let Some(LookAt { artifact, see }) = &question.look_at {
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
        let typed = |verb: &Verb| question.typed(*verb);
        let width = question.verbs.iter().map(|verb| typed(verb).len()).max();
        let width = width.unwrap_or(0);
        for (verb, way) in question.verbs.iter().zip(&question.ways) {
            let typed = typed(verb);
            let Some(way) = way else {
                text.push_str(&format!("    {CYAN}{typed}{CYAN:#}\n"));
                continue;
            };
            let does = does(*way);
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
    output.data(&text);
    Ok(Exit::Done)
}

/// What comes of a way to answer a question about a file.
fn does(way: Way) -> &'static str {
    match way {
        Way::FileHolds => "what the file says holds",
        Way::LeftAlone => "leave the file alone: it is not kept up to date any more",
        Way::PitonHolds => "write it as piton has it; what is there now is kept beside it",
        Way::Merged => "take what is new in it; for the rest piton's word holds",
        Way::Retired => "retire it: it is not followed any more, and stays on record",
        Way::FollowedOn => "follow it on",
    }
}

/// So many files of work that waits for a review are listed.
const FILES_SHOWN: usize = 10;

/// How much the work changes that is to be looked at, and what to type to see it.
fn reviewed(work: &ReviewedWork) -> String {
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
            count(more, "more file")
        ));
    }
    text.push_str(&format!("    {CYAN}{}{CYAN:#}\n", work.diff));
    text
}

fn steer(
    world: &World,
    run: Option<&str>,
    wish: Wish,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let outcome = control::control(world, run, wish)?;
    if outcome.asked && !output.json {
        let what = if wish == Wish::Stop {
            "stops now"
        } else {
            "pauses at the next boundary"
        };
        output.note(&format!("run `{}` {what}", outcome.run));
        return Ok(Exit::Done);
    }
    Ok(show_outcome(&outcome, output))
}

fn show_outcome(outcome: &Outcome, output: &mut Output) -> Exit {
    if output.json {
        output.json(outcome);
        return Exit::Done;
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
    Exit::Done
}

fn show_decided(decided: &Decided, output: &mut Output) -> Exit {
    if output.json {
        output.json(decided);
        return Exit::Done;
    }
    if let Some(decided) = &decided.file {
        let what = match decided.way {
            Some(Way::LeftAlone) => {
                "left alone, and not kept up to date any more; `piton init` begins to keep it again"
            }
            Some(Way::FileHolds) => "what it says holds",
            Some(Way::PitonHolds) => "piton's version holds",
            Some(Way::Merged) => "what is new in it is taken; for the rest piton's version holds",
            Some(Way::Retired | Way::FollowedOn) => "decided",
            // It was asked before questions said what can be done.
            None => "decided",
        };
        let kept = decided.kept.as_ref();
        let kept = kept.map(|kept| format!("; what was there is kept as {kept}"));
        let file = &decided.file;
        output.note(&format!("{file}: {what}{}", kept.unwrap_or_default()));
    }
    if let Some(decided) = &decided.memory {
        let is_retired = decided.way == Some(Way::Retired);
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
        None => Exit::Done,
    }
}

fn plan_command(world: &World, command: PlanCommand, output: &mut Output) -> Result<Exit, Failure> {
    match command {
        PlanCommand::Compile {
            sprint,
            workflows,
            output: file,
            strict,
        } => {
            let target = match file {
                None => Target::Beside,
                Some(file) if file == Path::new("-") => Target::Caller,
                Some(file) => Target::File(file),
            };
            let sprint = sprint_path(world, &sprint)?;
            let compiled = compile_sprint(world, &sprint, workflows.as_deref(), strict, &target)?;
            Ok(show_compiled(&compiled, target == Target::Caller, output))
        }
        PlanCommand::Check {
            sprint,
            workflows,
            strict,
        } => {
            let checked = check_plan(world, &sprint, workflows.as_deref(), strict)?;
            if output.json {
                output.json(&serde_json::json!({ "problems": checked.findings.problems }));
            } else {
                show_findings(&checked.findings, output);
                if checked.is_fine {
                    output.note(&format!("{} is fine", checked.shown.display()));
                }
            }
            Ok(if checked.is_fine {
                Exit::Done
            } else {
                Exit::No
            })
        }
        PlanCommand::New(args) => new_plan(world, *args, output),
        PlanCommand::Inject(args) => {
            let addition = Addition {
                run: args.run,
                prompt: args.prompt,
                workflow: args.workflow,
                workflows: args.workflows,
                injection: Injection {
                    position: position(args.place),
                    model: args.model,
                    id_prefix: args.id_prefix,
                    ..Injection::default()
                },
            };
            let outcome = sprint::inject(world, addition, &mut |notice| {
                notify(world, &notice, output)
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
            let steps = sprint::read_steps(&name, &text)?;
            add_steps(world, target, &steps, output)
        }
        PlanCommand::Skip { node, why } => {
            let outcome = control::node(world, &node, NodeWish::Skip, why)?;
            Ok(show_outcome(&outcome, output))
        }
        PlanCommand::Retry { node, why } => {
            let outcome = control::node(world, &node, NodeWish::Retry, why)?;
            Ok(show_outcome(&outcome, output))
        }
        PlanCommand::Clean { run, abandon } => {
            let unsaved = match abandon {
                true => Unsaved::Abandon,
                false => Unsaved::Refuse,
            };
            let cleaned = clean(world, &run, unsaved, &mut |notice| {
                notify(world, &notice, output);
            })?;
            if output.json {
                output.json(&cleaned);
                return Ok(Exit::Done);
            }
            for line in shows::place::cleaned(&cleaned) {
                output.note(&line);
            }
            Ok(Exit::Done)
        }
    }
}

fn new_plan(world: &World, args: NewArgs, output: &mut Output) -> Result<Exit, Failure> {
    if let Some(manifest) = args.manifest {
        let args = NewRunArgs {
            manifest,
            requirements: args.prd,
            out: args.out,
        };
        let made = new_run(world, &args)?;
        if output.json {
            output.json(&made);
            return Ok(Exit::Done);
        }
        for problem in &made.problems {
            output.warning(&format!("{}: {}", problem.file, problem.message));
        }
        output.note(&format!("wrote {}: run `{}`", made.file, made.run));
        output.hint(&format!("begin it with `{}`", made.next));
        return Ok(Exit::Done);
    }
    let (workflow, owner) = (args.workflow.as_deref(), args.owner.as_deref());
    let name = args.sprint.unwrap_or_default();
    let made = sprint::new_sprint(world, &name, workflow, owner)?;
    if output.json {
        output.json(&made);
        return Ok(Exit::Done);
    }
    output.note(&format!("wrote {}", made.file));
    if let Some(missing) = &made.missing {
        output.warning(&format!(
            "its workflow is not there: steps can be added when {missing} is written"
        ));
    }
    output.hint(&format!("add to it with `{}`", made.next));
    Ok(Exit::Done)
}

fn add_steps(
    world: &World,
    target: StepsArgs,
    steps: &[NewStep],
    output: &mut Output,
) -> Result<Exit, Failure> {
    let target = StepTarget {
        sprint: target.sprint,
        collection: target.collection,
        workflows: target.workflows,
    };
    let added = sprint::add_steps(world, &target, steps, &mut |notice| {
        notify(world, &notice, output)
    })?;
    if output.json {
        output.json(&added);
        return Ok(Exit::Done);
    }
    if added.known > 0 {
        let (steps, are) = (
            count(added.known, "step"),
            if added.known == 1 { "is" } else { "are" },
        );
        output.note(&format!("{steps} {are} there already"));
    }
    let steps = count(added.steps, "step");
    output.note(&format!("added {steps} to {}", added.file));
    match &added.run {
        Some(run) => Ok(show_outcome(run, output)),
        None => {
            output.hint(&format!("run it with `{}`", added.next));
            Ok(Exit::Done)
        }
    }
}

fn show_compiled(compiled: &Compiled, to_stdout: bool, output: &mut Output) -> Exit {
    let exit = if compiled.progress.is_some() {
        Exit::Done
    } else {
        Exit::No
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
        output.json(&value);
        return exit;
    }
    output.findings(&compiled.findings);
    if let Some(text) = compiled.text.as_ref().filter(|_| to_stdout) {
        output.data(text);
    }
    if let Some(written) = &compiled.written {
        output.note(&format!("wrote {}", written.display()));
    }
    show_errors(&compiled.findings, output);
    exit
}

fn show_findings(findings: &piton_engine::failure::Findings, output: &mut Output) {
    output.findings(findings);
    show_errors(findings, output);
}

fn show_errors(findings: &piton_engine::failure::Findings, output: &mut Output) {
    let errors = findings.errors();
    if errors > 0 {
        output.note(&format!(
            "{RED}{}; nothing was written{RED:#}",
            count(errors, "error")
        ));
    }
}

/// What a file says, and what it is called; `-` is stdin.
fn read_text(world: &World, file: &Path) -> Result<(String, String), Failure> {
    let (name, read) = if file == Path::new("-") {
        ("stdin".to_owned(), read_stdin())
    } else {
        (file.display().to_string(), read_file(&world.path(file)))
    };
    let bytes = read.map_err(|error| piton_engine::failure::unreadable(Path::new(&name), error))?;
    match String::from_utf8(bytes) {
        Ok(text) => Ok((name, text)),
        Err(_) => {
            Err(Failure::new("usage", format!("{name} is no UTF-8 text")).hint("give it as UTF-8"))
        }
    }
}

/// What stdin says, as far as anybody would write such a thing.
fn read_stdin() -> std::io::Result<Vec<u8>> {
    read_whole(std::io::stdin().lock())
}

/// The same of a file, which need not end either.
fn read_file(path: &Path) -> std::io::Result<Vec<u8>> {
    read_whole(std::fs::File::open(path)?)
}

fn read_whole(from: impl std::io::Read) -> std::io::Result<Vec<u8>> {
    use std::io::Read as _;
    let mut bytes = Vec::new();
    from.take(STDIN_MAX + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > STDIN_MAX {
        return Err(std::io::Error::other("it has more than 64 MB"));
    }
    Ok(bytes)
}

/// Nobody tells of an attempt in more than that.
const STDIN_MAX: u64 = 64 << 20;

fn journal_command(
    world: &World,
    command: JournalCommand,
    output: &mut Output,
) -> Result<Exit, Failure> {
    match command {
        JournalCommand::Show { since } => {
            let since = since
                .map(|text| journal::parse_since(world, &text))
                .transpose()?;
            journal::events(world, since.as_ref(), &mut |record| {
                let shown = Shown::from(record);
                let going = if output.json {
                    output.json_line(&shown)
                } else {
                    output.data(&event_line(&shown))
                };
                going == Going::On
            })?;
            Ok(Exit::Done)
        }
        JournalCommand::Export => {
            journal::events(world, None, &mut |record| {
                output.json_line(&Shown::from(record)) == Going::On
            })?;
            Ok(Exit::Done)
        }
        JournalCommand::Verify => verify(world, output),
    }
}

fn event_line(event: &Shown) -> String {
    let stream = event
        .stream
        .strip_prefix("run:")
        .map_or(event.stream.as_str(), |id| &id[..id.len().min(8)]);
    let body = shows::progress::first_line(&event.body.to_string());
    format!(
        "{DIM}{} {stream}:{}{DIM:#} {BOLD}{}{BOLD:#} {body} {DIM}{}{DIM:#}\n",
        local_time_s(event.time),
        event.position,
        event.kind,
        event.actor
    )
}

fn verify(world: &World, output: &mut Output) -> Result<Exit, Failure> {
    let verdict = journal::verify(world)?;
    let exit = if verdict.damage.is_empty() {
        Exit::Done
    } else {
        Exit::Damaged
    };
    if output.json {
        let damage: Vec<_> = verdict
            .damage
            .iter()
            .map(|damage| serde_json::json!({ "place": damage.place, "position": damage.position, "kind": damage.kind, "what": damage.what }))
            .collect();
        output.json(&serde_json::json!({ "events": verdict.events, "streams": verdict.streams, "rows": verdict.rows, "damage": damage }));
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
        count(verdict.events, "event"),
        count(verdict.streams, "stream"),
        count(verdict.rows, "row")
    );
    if exit == Exit::Done {
        output.data(&format!("{GREEN}all is well:{GREEN:#} {checked}\n"));
    } else {
        output.note(&format!(
            "{RED}{} among {checked}{RED:#}",
            count(verdict.damage.len(), "damage")
        ));
        output.hint("nothing was changed; bring a backup in with `piton store restore FILE`, or save what is there with `piton journal export`");
    }
    Ok(exit)
}

fn store_command(
    world: &World,
    command: StoreCommand,
    output: &mut Output,
) -> Result<Exit, Failure> {
    match command {
        StoreCommand::Info => {
            let info = store::info(world)?;
            if output.json {
                output.json(&serde_json::json!({
                    "path": info.path, "bytes": info.bytes, "wal_bytes": info.wal_bytes,
                    "schema_version": info.schema_version, "sqlite_version": info.sqlite_version,
                    "events": info.events, "streams": info.streams, "runs": info.runs, "entries": info.entries,
                }));
            } else {
                output.data(&format!(
                    "{}\n{}, of them {} not yet checkpointed\n{} in {}, {}, {} of sessions\nschema {}, SQLite {}\n",
                    info.path.display(),
                    piton_core::amount::size(info.bytes + info.wal_bytes),
                    piton_core::amount::size(info.wal_bytes),
                    count(info.events, "event"),
                    count(info.streams, "stream"),
                    count(info.runs, "run"),
                    count(info.entries, "entry"),
                    info.schema_version,
                    info.sqlite_version
                ));
            }
            Ok(Exit::Done)
        }
        StoreCommand::Backup { file } => {
            let written = store::backup(world, &file)?;
            say_paths(output, "wrote", &written, None);
            Ok(Exit::Done)
        }
        StoreCommand::Restore { file } => {
            let restored = store::restore(world, &file)?;
            say_paths(output, "restored", &restored.store, restored.kept.as_ref());
            Ok(Exit::Done)
        }
    }
}

fn say_paths(output: &mut Output, what: &str, path: &Path, kept: Option<&PathBuf>) {
    if output.json {
        output.json(&serde_json::json!({ what: path, "kept": kept }));
        return;
    }
    output.note(&format!("{what} {}", path.display()));
    if let Some(kept) = kept {
        output.note(&format!("the former store is kept as {}", kept.display()));
    }
}
