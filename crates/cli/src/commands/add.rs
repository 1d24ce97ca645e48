//! `piton add`.

use std::path::Path;

use clap::{ArgAction, Args as ClapArgs};
use piton_engine::caller::{CommandAccess, Permission};
use piton_engine::model::{Node, RunState};
use piton_engine::verbs::items::{self, AddRequest, AddedItem};
use piton_engine::{CommandExit, Failure, Notice, World};

use crate::input::read_text;
use crate::invocation::{Invocation, TypedCommand};
use crate::output::CliOutput;
use crate::show::outcome::show_outcome;

#[derive(Debug, ClapArgs)]
pub(crate) struct AddArgs {
    /// What is to be done, in one line
    title: String,
    /// Details for the agent; `-` reads them from stdin
    #[arg(long, value_name = "TEXT")]
    prompt: Option<String>,
    /// A shell command that must succeed before the item is done
    #[arg(long, value_name = "CMD")]
    check: Option<String>,
    /// An item of the same plan that it waits for (can be repeated)
    #[arg(long, value_name = "ID", action = ArgAction::Append)]
    after: Vec<String>,
    /// The plan: the name of its run, or its path [default: the list of this project]
    #[arg(long = "in", value_name = "PLAN")]
    plan: Option<String>,
    /// A word to list it by (can be repeated)
    #[arg(long = "label", value_name = "LABEL", action = ArgAction::Append)]
    labels: Vec<String>,
    /// Which ready item comes first: the lowest number; items without one come last
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    priority: Option<u32>,
}

impl TypedCommand for AddArgs {
    const ABOUT: &'static str = "Add an item to a plan, or to the list of this project";
    const AFTER_HELP: &'static str = "The list of this project needs no file; `piton run` works through it. With --in, the file of\nthe plan shows the item. A runner that is at work takes the item in.\n\nExamples:\n  piton add 'Write hello' --check 'test -f hello'\n  piton add 'Translate hello' --after write-hello\n  piton add 'Fix the login' --label bug --label ui --priority 1\n  git log -5 | piton add 'Write the release notes' --prompt -\n  piton add 'Filter the list' --in prd.json --json | jq -r .node";

    fn permission(&self) -> Permission {
        Permission::new("piton add", CommandAccess::Person).for_path(self.plan.as_ref())
    }

    fn run(self, call: &mut Invocation<'_>) -> Result<CommandExit, Failure> {
        let world = call.world;
        let prompt = match self.prompt {
            Some(dash) if dash == "-" => Some(read_text(world, Path::new("-"))?.1),
            typed => typed,
        };
        let request = AddRequest {
            title: self.title,
            prompt,
            check: self.check,
            after: self.after,
            plan: self.plan,
            labels: self.labels,
            priority: self.priority,
        };
        let told = &mut |notice: Notice<'_>| call.show_notice(&notice);
        let added = items::add(world, &request, told)?;
        call.print(&added, show_added);
        Ok(CommandExit::Done)
    }
}

fn show_added(added: &AddedItem, _: &World, output: &mut CliOutput) {
    let place = match &added.file {
        Some(file) => format!(" to {file}"),
        None => String::new(),
    };
    output.print_note(&format!(
        "added `{}`{place}: {}",
        Node::shown(&added.node),
        added.title
    ));
    match &added.outcome {
        // That its run has not begun was told with the first item.
        Some(outcome) if outcome.state == RunState::New => {
            outcome.hint.iter().for_each(|hint| output.print_hint(hint));
        }
        Some(outcome) => show_outcome(outcome, output),
        None => {}
    }
    if let Some(next) = &added.next {
        output.print_hint(&format!("begin it with `{next}`"));
    }
}
