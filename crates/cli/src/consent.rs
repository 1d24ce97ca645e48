//! Whether a person agrees to a change of a file that was shown.

use std::io::{self, IsTerminal as _};

use piton_engine::Failure;

use crate::output::{CliOutput, GREEN, RED};

/// Whether a change that was shown is to be made.
pub(crate) enum Consent {
    Given,
    /// It was only to be shown.
    NotAsked,
    Refused,
}

/// Asks for it, unless what was typed answers already.
pub(crate) fn ask_consent(
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
    output.print_note("nothing was done");
    Ok(if dry_run {
        Consent::NotAsked
    } else {
        Consent::Refused
    })
}

/// Whether there is a person at a terminal who can be asked.
pub(crate) fn can_ask(output: &CliOutput) -> bool {
    output.is_watched() && io::stdin().is_terminal()
}

/// Whether commands that were shown are trusted.
pub(crate) fn is_trust_given(output: &mut CliOutput) -> bool {
    let answer = output.ask_line("trust these in this project, and go on? [y/N]");
    matches!(answer.as_str(), "y" | "Y" | "yes")
}

/// A diff with its colours.
pub(crate) fn color_diff(diff: &str) -> String {
    let lines = diff.lines().map(|line| match line.chars().next() {
        Some('+') => format!("{GREEN}{line}{GREEN:#}\n"),
        Some('-') => format!("{RED}{line}{RED:#}\n"),
        Some(_) | None => format!("{line}\n"),
    });
    lines.collect()
}

fn is_write_confirmed(output: &mut CliOutput) -> bool {
    let answer = output.ask_line("write this? [y/N]");
    matches!(answer.as_str(), "y" | "Y" | "yes")
}
