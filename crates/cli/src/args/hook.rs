//! What can be typed of hooks.

use std::ffi::OsString;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args as ClapArgs, Subcommand};
use piton_engine::agents::hook::settings::HookProgram;

pub(crate) const EXAMPLES: &str = "EVENT is what the program calls it: SessionStart, PostToolUse, Stop, SessionEnd, or AfterTool and
AfterAgent. A JSON object is read from stdin; all other events are heard and need nothing. It ends
with status 0 whatever happens; what went wrong stands in .piton/logs/hook.log.

Examples:
  piton hook install --agent claude --dry-run
  piton hook install --agent claude --yes
  PITON_ITEM=auth/login claude
  piton hook uninstall --agent claude";

#[derive(Debug, ClapArgs)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct HookArgs {
    #[command(subcommand)]
    pub(crate) command: Option<HookCommand>,
    /// What happened, in the program's word; without it, or with one that is not known, the JSON
    /// says
    #[arg(value_name = "EVENT")]
    pub(crate) event: Option<String>,
    /// Whatever a later program adds is no reason to fail
    #[arg(hide = true, trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) rest: Vec<OsString>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum HookCommand {
    /// Name piton in the hooks of an agent program; shows the change first
    #[command(
        after_help = "Everything else in the settings stays as it is, to the byte. It can be repeated.\n\nExamples:\n  piton hook install --agent claude\n  piton hook install --agent gemini --user --dry-run"
    )]
    Install(HookSettings),
    /// Take piton out of the hooks of an agent program; shows the change first
    #[command(
        after_help = "What `install` did is undone to the byte; hooks of others stay.\n\nExamples:\n  piton hook uninstall --agent claude\n  piton hook uninstall --agent codex --user --yes"
    )]
    Uninstall(HookSettings),
}

#[derive(Debug, ClapArgs)]
pub(crate) struct HookSettings {
    /// The program
    #[arg(long, value_parser = hook_program_parser())]
    pub(crate) agent: HookProgram,
    /// In the settings of this project; so it is without --user
    #[arg(long, conflicts_with = "user")]
    pub(crate) project: bool,
    /// In your own settings, for all projects
    #[arg(long)]
    pub(crate) user: bool,
    /// Ask nothing
    #[arg(long, short)]
    pub(crate) yes: bool,
    /// Show the change, and do nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
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
pub(crate) fn parse_hook_event(typed: impl Iterator<Item = OsString>) -> Option<Option<String>> {
    let mut words = typed.skip(1).filter(|word| word != "--json");
    if words.next()? != "hook" {
        return None;
    }
    let event = words.next().map(|word| word.to_string_lossy().into_owned());
    let others = ["install", "uninstall", "help", "--help", "-h"];
    let is_other = event.as_deref().is_some_and(|word| others.contains(&word));
    (!is_other).then_some(event)
}
