//! `piton hook`: events of agent programs, and the settings that name it.

use std::ffi::OsString;
use std::io::{self, IsTerminal as _, Read};
use std::panic::{self, AssertUnwindSafe};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args as ClapArgs, Subcommand};
use piton_engine::agents::hook::settings::{FROM_RUN, HookOrigin, HookProgram, SettingsScope};
use piton_engine::caller::{CommandAccess, Permission};
use piton_engine::verbs::hook;
use piton_engine::verbs::hook::settings::{self, HookSettingsChange, InstallAction};
use piton_engine::{CommandExit, Failure, World, name_schema};
use serde::Serialize;

use crate::consent::{Consent, ask_consent, color_diff};
use crate::invocation::{Invocation, TypedCommand, access_of_change};
use crate::output::CliOutput;

#[derive(Debug, ClapArgs)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct HookArgs {
    #[command(subcommand)]
    command: Option<HookCommand>,
    /// The event, as the program names it; if missing or unknown, it is read from the JSON
    #[arg(value_name = "EVENT")]
    event: Option<String>,
    /// Whatever a later program adds is no reason to fail
    #[arg(hide = true, trailing_var_arg = true, allow_hyphen_values = true)]
    rest: Vec<OsString>,
}

#[derive(Debug, Subcommand)]
enum HookCommand {
    /// Install hooks for an agent program; show the change first
    #[command(
        after_help = "All other settings stay unchanged, byte for byte. The command can be repeated.\n\nExamples:\n  piton hook install --agent claude\n  piton hook install --agent gemini --user --dry-run"
    )]
    Install(HookSettings),
    /// Remove hooks from an agent program; show the change first
    #[command(
        after_help = "Undoes `install` byte for byte; all other hooks stay.\n\nExamples:\n  piton hook uninstall --agent claude\n  piton hook uninstall --agent codex --user --yes"
    )]
    Uninstall(HookSettings),
}

#[derive(Debug, ClapArgs)]
struct HookSettings {
    /// The agent program
    #[arg(long, value_parser = hook_program_parser())]
    agent: HookProgram,
    /// Use the settings of this project (the default)
    #[arg(long, conflicts_with = "user")]
    project: bool,
    /// Use your own settings, for all projects
    #[arg(long)]
    user: bool,
    /// Do not ask for confirmation
    #[arg(long, short)]
    yes: bool,
    /// Show the change without making it
    #[arg(long)]
    dry_run: bool,
}

/// The programs that have hooks, each with the file of a project that names them.
fn hook_program_parser() -> impl TypedValueParser<Value = HookProgram> {
    let values = HookProgram::all().map(|hooks| {
        let (title, file) = (hooks.program.called.title, hooks.project_file());
        PossibleValue::new(hooks.program.name).help(format!("{title}: {}", file.display()))
    });
    PossibleValuesParser::new(values)
        .try_map(|name| HookProgram::find(&name).ok_or("no such program"))
}

/// The event of a `piton hook EVENT`, found without looking at anything else
/// that was typed: a program that starts its hook with an argument too many is
/// not told so by an exit status that it takes for a refusal.
pub(crate) fn parse_hook_call(typed: impl Iterator<Item = OsString>) -> Option<HookCall> {
    let mut words = typed.skip(1).filter(|word| word != "--json");
    if words.next()? != "hook" {
        return None;
    }
    let event = words.next().map(|word| word.to_string_lossy().into_owned());
    let others = ["install", "uninstall", "help", "--help", "-h"];
    let is_other = event.as_deref().is_some_and(|word| others.contains(&word));
    (!is_other).then(|| HookCall::new(event, words))
}

/// An event, and whose hook reports it.
pub(crate) struct HookCall {
    event: Option<String>,
    origin: HookOrigin,
}

impl HookCall {
    fn new(event: Option<String>, mut rest: impl Iterator<Item = OsString>) -> Self {
        let origin = match rest.any(|word| word == FROM_RUN) {
            true => HookOrigin::Run,
            false => HookOrigin::Settings,
        };
        Self { event, origin }
    }
}

impl TypedCommand for HookArgs {
    const ABOUT: &'static str = "Handle agent hooks; install or remove them";
    const AFTER_HELP: &'static str =
        "EVENT is the program's own name: SessionStart, PostToolUse, Stop, SessionEnd, or AfterTool and
AfterAgent. The command reads a JSON object from stdin; it accepts all other events and does
nothing. It always exits with status 0, and writes errors to logs/hook.log beside the
journal (in a repository, .git/piton/logs/hook.log).

Examples:
  piton hook install --agent claude --dry-run
  piton hook install --agent claude --yes
  PITON_ITEM=auth/login claude
  piton hook uninstall --agent claude";

    fn permission(&self) -> Permission {
        match &self.command {
            None => Permission::new("piton hook", CommandAccess::Signed),
            Some(HookCommand::Install(settings)) => {
                Permission::new("piton hook install", access_of_change(!settings.dry_run))
            }
            Some(HookCommand::Uninstall(settings)) => {
                Permission::new("piton hook uninstall", access_of_change(!settings.dry_run))
            }
        }
    }

    fn run(self, call: &mut Invocation<'_>) -> Result<CommandExit, Failure> {
        match self.command {
            None => {
                run_hook(&HookCall::new(self.event, self.rest.into_iter()));
                Ok(CommandExit::Done)
            }
            Some(HookCommand::Install(typed)) => {
                change_settings(InstallAction::Install, &typed, call)
            }
            Some(HookCommand::Uninstall(typed)) => {
                change_settings(InstallAction::Uninstall, &typed, call)
            }
        }
    }
}

/// Hears an event. It ends with status 0 whatever happens: any other one may
/// stop the session that asks.
pub(crate) fn run_hook(hook: &HookCall) -> ExitCode {
    panic::set_hook(Box::new(|_| {}));
    panic::catch_unwind(AssertUnwindSafe(|| handle_hook_event(hook))).ok();
    ExitCode::SUCCESS
}

fn handle_hook_event(called: &HookCall) {
    let Ok(world) = World::from_environment() else {
        return;
    };
    let stdin = io::stdin();
    // A person who tries it by hand has no event to report.
    let input: Box<dyn Read + Send> = if stdin.is_terminal() {
        Box::new(io::empty())
    } else {
        Box::new(stdin)
    };
    let answer = hook::hook(&world, called.event.as_deref(), called.origin, input);
    let mut output = CliOutput::new(true);
    if let Some(said) = answer.said {
        // What the program wants to hear has the form that the program gives it.
        output.print_file(&format!("{said}\n"));
    }
    if let (Some(fault), Some(_)) = (answer.fault, world.var("PITON_LOG")) {
        output.print_note(&fault);
    }
}

/// What would become of the settings of a program, and whether that was done.
#[derive(Serialize)]
struct SettingsAnswer {
    file: PathBuf,
    changes: bool,
    removed: bool,
    done: bool,
    diff: String,
}

name_schema!(SettingsAnswer, "piton.hook.settings/1");

fn change_settings(
    wish: InstallAction,
    typed: &HookSettings,
    call: &mut Invocation<'_>,
) -> Result<CommandExit, Failure> {
    let whose = if typed.user {
        SettingsScope::User
    } else {
        SettingsScope::Project
    };
    let change = settings::plan_change(call.world, typed.agent, whose, wish)?;
    show_change(&change, wish, call.output);
    let mut done = false;
    if change.text.is_needed() {
        match ask_consent(typed.yes, typed.dry_run, call.output)? {
            Consent::Given => {
                change.text.apply()?;
                done = true;
            }
            Consent::NotAsked => {}
            Consent::Refused => return Ok(CommandExit::No),
        }
    }
    let answer = SettingsAnswer {
        file: change.text.file.clone(),
        changes: change.text.is_needed(),
        removed: done && change.text.is_removal(),
        done,
        diff: change.shown,
    };
    call.print(&answer, |answer, _, output| {
        if answer.done {
            show_settings(answer, typed.agent, output);
        }
    });
    Ok(CommandExit::Done)
}

/// Shows what would change. The data of `--json` comes when it is done.
fn show_change(change: &HookSettingsChange, wish: InstallAction, output: &mut CliOutput) {
    let file = change.text.file.display();
    if !change.text.is_needed() {
        output.print_note(&match wish {
            InstallAction::Install => format!("{file} names piton already"),
            InstallAction::Uninstall => format!("{file} does not name piton"),
        });
        return;
    }
    if output.json {
        output.print_note(&change.shown);
        return;
    }
    let diff = color_diff(&change.shown);
    output.print_long_data(&format!("--- {file}\n+++ {file}\n{diff}"));
}

fn show_settings(answer: &SettingsAnswer, program: HookProgram, output: &mut CliOutput) {
    let file = answer.file.display();
    if answer.removed {
        output.print_note(&format!("removed {file}: it was as piton had made it"));
        return;
    }
    output.print_note(&format!("wrote {file}"));
    if let Some(then) = program.next_step() {
        output.print_note(then);
    }
}
