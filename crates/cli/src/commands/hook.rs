//! `piton hook`: events of agent programs, and the settings that name it.

use std::io::{self, IsTerminal as _, Read, Write as _};
use std::panic::{self, AssertUnwindSafe};
use std::process::ExitCode;

use piton_engine::hook::settings::{Program, Whose};
use piton_engine::verbs::hook;
use piton_engine::verbs::hook::settings::{self, Change, Wish};
use piton_engine::{Exit, Failure, World};

use crate::args::{HookAgent, HookCommand, HookSettings};
use crate::output::{GREEN, Output, RED};

/// Hears an event. It ends with status 0 whatever happens: any other one may
/// stop the session that asks.
pub(crate) fn heard(event: Option<&str>) -> ExitCode {
    panic::set_hook(Box::new(|_| {}));
    panic::catch_unwind(AssertUnwindSafe(|| hear(event))).ok();
    ExitCode::SUCCESS
}

fn hear(event: Option<&str>) {
    let Ok(world) = World::real() else {
        return;
    };
    let stdin = io::stdin();
    // Somebody who tries it by hand has nothing to tell.
    let input: Box<dyn Read + Send> = if stdin.is_terminal() {
        Box::new(io::empty())
    } else {
        Box::new(stdin)
    };
    let answer = hook::hook(&world, event, input);
    let mut output = Output::new(true);
    if let Some(said) = answer.said {
        output.json_line(&said);
    }
    if let (Some(fault), Some(_)) = (answer.fault, world.var("PITON_LOG")) {
        output.note(&fault);
    }
}

/// Changes the settings of a program.
pub(super) fn settings(
    world: &World,
    command: &HookCommand,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let (wish, typed) = match command {
        HookCommand::Install(typed) => (Wish::Install, typed),
        HookCommand::Uninstall(typed) => (Wish::Uninstall, typed),
    };
    let whose = if typed.user {
        Whose::User
    } else {
        Whose::Project
    };
    let change = settings::look(world, typed.agent.into(), whose, wish)?;
    show(&change, wish, output);
    if !change.text.is_needed() {
        return Ok(finish(&change, typed, false, output));
    }
    match consent(typed.yes, typed.dry_run, output)? {
        Consent::Given => change.text.apply()?,
        Consent::NotAsked => return Ok(finish(&change, typed, false, output)),
        Consent::Refused => return Ok(Exit::No),
    }
    Ok(finish(&change, typed, true, output))
}

/// Whether a change that was shown is to be made.
pub(super) enum Consent {
    Given,
    /// It was only to be shown.
    NotAsked,
    Refused,
}

/// Asks for it, unless what was typed answers already.
pub(super) fn consent(yes: bool, dry_run: bool, output: &mut Output) -> Result<Consent, Failure> {
    if yes && !dry_run {
        return Ok(Consent::Given);
    }
    if !dry_run {
        if output.json || !io::stdin().is_terminal() {
            return Err(Failure::new(
                "usage",
                "stdin is no terminal, so nobody can be asked; nothing was done",
            )
            .hint("look at the change above, then repeat the command with `--yes`"));
        }
        if is_agreed(output) {
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
pub(super) fn colored(diff: &str) -> String {
    let lines = diff.lines().map(|line| match line.chars().next() {
        Some('+') => format!("{GREEN}{line}{GREEN:#}\n"),
        Some('-') => format!("{RED}{line}{RED:#}\n"),
        Some(_) | None => format!("{line}\n"),
    });
    lines.collect()
}

/// Shows what would change. The data of `--json` comes when it is done.
fn show(change: &Change, wish: Wish, output: &mut Output) {
    let file = change.text.file.display();
    if !change.text.is_needed() {
        output.note(&match wish {
            Wish::Install => format!("{file} names piton already"),
            Wish::Uninstall => format!("{file} does not name piton"),
        });
        return;
    }
    if output.json {
        output.note(&change.shown);
        return;
    }
    let diff = colored(&change.shown);
    output.data(&format!("--- {file}\n+++ {file}\n{diff}"));
}

fn finish(change: &Change, typed: &HookSettings, done: bool, output: &mut Output) -> Exit {
    if output.json {
        output.json(&serde_json::json!({
            "file": change.text.file,
            "changes": change.text.is_needed(),
            "removed": done && change.text.removes(),
            "done": done,
            "diff": change.shown,
        }));
        return Exit::Done;
    }
    if done {
        let file = change.text.file.display();
        output.note(&if change.text.removes() {
            format!("removed {file}: it was as piton had made it")
        } else {
            format!("wrote {file}")
        });
        let then = Program::from(typed.agent).then();
        if let Some(then) = then.filter(|_| !change.text.removes()) {
            output.note(then);
        }
    }
    Exit::Done
}

fn is_agreed(output: &mut Output) -> bool {
    output.note("write this? [y/N]");
    io::stderr().flush().ok();
    let mut answer = String::new();
    io::stdin().read_line(&mut answer).ok();
    matches!(answer.trim(), "y" | "Y" | "yes")
}

impl From<HookAgent> for Program {
    fn from(agent: HookAgent) -> Self {
        match agent {
            HookAgent::Claude => Self::Claude,
            HookAgent::Codex => Self::Codex,
            HookAgent::Gemini => Self::Gemini,
        }
    }
}
