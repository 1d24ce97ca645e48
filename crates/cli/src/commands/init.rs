//! `piton init`.

use std::io::IsTerminal as _;

use clap::Args as ClapArgs;
use piton_engine::caller::Permission;
use piton_engine::verbs::init::settings::{self, SetupAnswers};
use piton_engine::verbs::init::{self, InitFinding, InitReport, Intent};
use piton_engine::verbs::run::ItemCounts;
use piton_engine::{CommandExit, Failure, World};

use super::config::assignment;
use crate::consent::can_ask;
use crate::invocation::{Invocation, TypedCommand, access_of_change};
use crate::output::{BOLD, CliOutput, DIM, GREEN, YELLOW};
use crate::show::adoption::{TAKEN_OVER, show_adoption};
use crate::show::table;

#[derive(Debug, ClapArgs)]
pub(crate) struct InitArgs {
    /// Do not ask; at a terminal, the agent program that is found is set
    #[arg(long, short)]
    yes: bool,
    /// Also create and sync the files of this format: ralph-json, agent-os or ralph-dir
    /// (can be repeated)
    #[arg(long, value_name = "NAME", action = clap::ArgAction::Append)]
    with: Vec<String>,
    /// Print what would be done, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// The agent of new runs: a program that piton knows, or a command that reads a prompt
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,
    /// A command that has to pass before an item without a check of its own is done
    #[arg(long, value_name = "COMMAND")]
    check: Option<String>,
    /// Exit with status 1 if a part of a file cannot be imported
    #[arg(long)]
    strict: bool,
}

impl TypedCommand for InitArgs {
    const ABOUT: &'static str = "Set up piton in a project and adopt its native files";
    const AFTER_HELP: &'static str = "Makes no commit, and changes no git hook and no file of another tool. At a terminal it asks for\nthe agent and the check that `.piton/config.toml` does not set.\n\nExamples:\n  piton init\n  piton init --agent claude --check 'make test'\n  piton init --with ralph-dir\n  piton init --dry-run\n  piton init --yes --json | jq '.found[] | {path, intent}'";

    fn permission(&self) -> Permission {
        Permission::new("piton init", access_of_change(!self.dry_run))
    }

    fn run(self, call: &mut Invocation<'_>) -> Result<CommandExit, Failure> {
        let world = call.world;
        let looked = init::survey_project(world, &self.with)?;
        if !call.output.json {
            show_found_files(&looked, call.output);
        }
        let exit = if self.strict && !looked.is_fully_adopted() {
            CommandExit::No
        } else {
            CommandExit::Done
        };
        if self.dry_run {
            call.print(&looked, |_, _, output| {
                output.print_note("nothing was done")
            });
            return Ok(exit);
        }
        let asks = looked.has_files_to_adopt() && !self.yes && !call.output.json;
        let is_asked = asks && std::io::stdin().is_terminal();
        if is_asked && !is_adoption_confirmed(call.output) {
            call.output.print_note("nothing was done");
            return Ok(CommandExit::No);
        }
        if asks && !is_asked {
            call.output.print_note("stdin is no terminal, so piton does not ask: this goes on as with `--yes`; `--dry-run` only looks");
        }
        let answers = self.collect_answers(world, call.output);
        let mut done = init::init(world, &self.with, &mut |text| {
            call.output.print_note(&format!("{DIM}{text}{DIM:#}"))
        })?;
        done.settings = settings::write_settings(world, &answers)?;
        call.print(&done, |done, _, output| show_done(done, output));
        Ok(exit)
    }
}

impl InitArgs {
    /// What was typed, and what a person at a terminal answers to what is open still.
    fn collect_answers(&self, world: &World, output: &mut CliOutput) -> SetupAnswers {
        let mut answers = SetupAnswers {
            agent: self.agent.clone(),
            check: self.check.clone(),
        };
        if output.json || !can_ask(output) {
            return answers;
        }
        let open = settings::find_open_settings(world);
        if answers.agent.is_none() && open.agent {
            let found = open.installed.first().map(|name| (*name).to_owned());
            answers.agent = match self.yes {
                true => found,
                false => ask_agent(&open.installed, output).or(found),
            };
        }
        if answers.check.is_none() && open.check && !self.yes {
            let answer =
                output.ask_line("check of items that have none, such as `make test` [none]");
            answers.check = Some(answer);
        }
        answers
    }
}

/// The agent that is typed; none for the default. `-` is none at all.
fn ask_agent(installed: &[&str], output: &mut CliOutput) -> Option<String> {
    let answer = output.ask_line(&match installed {
        [] => "agent of new runs: a command that reads a prompt; no program that piton knows is installed [none]".to_owned(),
        [first, ..] => format!("agent of new runs: {}, or a command that reads a prompt; `-` for none [{first}]", installed.join(", ")),
    });
    match answer.as_str() {
        "" => None,
        "-" => Some(String::new()),
        _ => Some(answer),
    }
}

/// Shows what was done, and what to type next.
fn show_done(done: &InitReport, output: &mut CliOutput) {
    for said in &done.said {
        output.print_note(said);
    }
    for setting in &done.settings {
        output.print_note(&format!(
            "{} is written into .piton/config.toml",
            assignment(setting)
        ));
    }
    if let Some(elsewhere) = &done.elsewhere {
        output.print_warning(&elsewhere.to_string());
    }
    if !done.ignore.is_empty() {
        output.print_note("git need not see these; add them to .gitignore if you agree:");
        for line in &done.ignore {
            output.print_note(&format!("  {line}"));
        }
    }
    for name in &done.could_begin {
        output.print_hint(&format!(
            "some files of {name} are not there, and none is made; `piton init --with {name}` begins them"
        ));
    }
    output.print_note(&describe_next_step(done));
}

fn is_adoption_confirmed(output: &mut CliOutput) -> bool {
    let answer = output.ask_line("adopt these? [Y/n]");
    matches!(answer.as_str(), "" | "y" | "Y" | "yes")
}

fn show_found_files(looked: &InitReport, output: &mut CliOutput) {
    if looked.found.is_empty() {
        output.print_note("no native files were found here");
        return;
    }
    let rows = looked.found.iter().map(|found| {
        let what = match found.intent {
            Intent::Adopt => format!("{GREEN}adopted, and kept up to date{GREEN:#}"),
            Intent::Begin => "kept up to date as soon as there is something to show".to_owned(),
            Intent::Kept => "kept up to date already".to_owned(),
            Intent::Run => match found.items {
                Some(ItemCounts { open, total }) => format!("a plan, {open} of {total} open"),
                None => "a plan".to_owned(),
            },
            Intent::Migrate => TAKEN_OVER.to_owned(),
            Intent::Ask => format!("{YELLOW}cannot be read, and is asked about{YELLOW:#}"),
            Intent::LeaveAlone => format!("{YELLOW}left alone{YELLOW:#}"),
        };
        let what = match &found.command {
            Some(command) => format!("{what}: `{command}`"),
            None => what,
        };
        [
            format!("{BOLD}{}{BOLD:#}", found.path),
            what,
            format!("{DIM}{}{DIM:#}", found.about),
        ]
    });
    output.print_data(&table::render(rows));
    for found in &looked.found {
        if let Some(adoption) = &found.adoption {
            show_adoption(&found.path, adoption, output);
        }
    }
}

fn describe_next_step(done: &InitReport) -> String {
    let is_open = |found: &&InitFinding| {
        found.intent == Intent::Run && found.items.is_none_or(|items| items.open > 0)
    };
    let plan = done.found.iter().find(is_open);
    match plan.and_then(|plan| plan.command.as_ref()) {
        Some(command) => format!("next: `{command}`"),
        None => {
            "next: `piton add TITLE`, `piton log session_started`, or `piton run PLAN`".to_owned()
        }
    }
}
