//! `piton hook`: events of agent programs, and the settings that name it.

use std::io::{self, IsTerminal as _, Read, Write as _};
use std::panic::{self, AssertUnwindSafe};
use std::process::ExitCode;

use piton_engine::agents::hook::settings::SettingsScope;
use piton_engine::verbs::hook;
use piton_engine::verbs::hook::settings::{self, HookSettingsChange, InstallAction};
use piton_engine::{CommandExit, Failure, World};

use crate::args::{HookCommand, HookSettings};
use crate::output::{CliOutput, GREEN, RED};

/// Hears an event. It ends with status 0 whatever happens: any other one may
/// stop the session that asks.
pub(crate) fn run_hook(event: Option<&str>) -> ExitCode {
    panic::set_hook(Box::new(|_| {}));
    panic::catch_unwind(AssertUnwindSafe(|| handle_hook_event(event))).ok();
    ExitCode::SUCCESS
}

fn handle_hook_event(event: Option<&str>) {
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
    let answer = hook::hook(&world, event, input);
    let mut output = CliOutput::new(true);
    if let Some(said) = answer.said {
        output.print_json_line(&said);
    }
    if let (Some(fault), Some(_)) = (answer.fault, world.var("PITON_LOG")) {
        output.note(&fault);
    }
}

/// Changes the settings of a program.
pub(super) fn change_hook_settings(
    world: &World,
    command: &HookCommand,
    output: &mut CliOutput,
) -> Result<CommandExit, Failure> {
    let (wish, typed) = match command {
        HookCommand::Install(typed) => (InstallAction::Install, typed),
        HookCommand::Uninstall(typed) => (InstallAction::Uninstall, typed),
    };
    let whose = if typed.user {
        SettingsScope::User
    } else {
        SettingsScope::Project
    };
    let change = settings::plan_change(world, typed.agent, whose, wish)?;
    show_change(&change, wish, output);
    if !change.text.is_needed() {
        return Ok(report_change(&change, typed, false, output));
    }
    match ask_consent(typed.yes, typed.dry_run, output)? {
        Consent::Given => change.text.apply()?,
        Consent::NotAsked => return Ok(report_change(&change, typed, false, output)),
        Consent::Refused => return Ok(CommandExit::No),
    }
    Ok(report_change(&change, typed, true, output))
}

/// Whether a change that was shown is to be made.
pub(super) enum Consent {
    Given,
    /// It was only to be shown.
    NotAsked,
    Refused,
}

/// Asks for it, unless what was typed answers already.
pub(super) fn ask_consent(
    yes: bool,
    dry_run: bool,
    output: &mut CliOutput,
) -> Result<Consent, Failure> {
    if yes && !dry_run {
        return Ok(Consent::Given);
    }
    if !dry_run {
        if output.json || !io::stdin().is_terminal() {
            return Err(Failure::new(
                "usage",
                "stdin is no terminal, so piton cannot ask; nothing was done",
            )
            .with_hint("look at the change above, then repeat the command with `--yes`"));
        }
        if is_write_confirmed(output) {
            return Ok(Consent::Given);
        }
    }
    output.note("nothing was done");
    Ok(if dry_run {
        Consent::NotAsked
    } else {
        Consent::Refused
    })
}

/// A diff with its colours.
pub(super) fn color_diff(diff: &str) -> String {
    let lines = diff.lines().map(|line| match line.chars().next() {
        Some('+') => format!("{GREEN}{line}{GREEN:#}\n"),
        Some('-') => format!("{RED}{line}{RED:#}\n"),
        Some(_) | None => format!("{line}\n"),
    });
    lines.collect()
}

/// Shows what would change. The data of `--json` comes when it is done.
fn show_change(change: &HookSettingsChange, wish: InstallAction, output: &mut CliOutput) {
    let file = change.text.file.display();
    if !change.text.is_needed() {
        output.note(&match wish {
            InstallAction::Install => format!("{file} names piton already"),
            InstallAction::Uninstall => format!("{file} does not name piton"),
        });
        return;
    }
    if output.json {
        output.note(&change.shown);
        return;
    }
    let diff = color_diff(&change.shown);
    output.print_data(&format!("--- {file}\n+++ {file}\n{diff}"));
}

fn report_change(
    change: &HookSettingsChange,
    typed: &HookSettings,
    done: bool,
    output: &mut CliOutput,
) -> CommandExit {
    if output.json {
        output.print_json(&serde_json::json!({
            "file": change.text.file,
            "changes": change.text.is_needed(),
            "removed": done && change.text.is_removal(),
            "done": done,
            "diff": change.shown,
        }));
        return CommandExit::Done;
    }
    if done {
        let file = change.text.file.display();
        output.note(&if change.text.is_removal() {
            format!("removed {file}: it was as piton had made it")
        } else {
            format!("wrote {file}")
        });
        let then = typed.agent.next_step();
        if let Some(then) = then.filter(|_| !change.text.is_removal()) {
            output.note(then);
        }
    }
    CommandExit::Done
}

fn is_write_confirmed(output: &mut CliOutput) -> bool {
    output.note("write this? [y/N]");
    io::stderr().flush().ok();
    let mut answer = String::new();
    io::stdin().read_line(&mut answer).ok();
    matches!(answer.trim(), "y" | "Y" | "yes")
}
