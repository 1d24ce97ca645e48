//! `piton edit`, `piton dep`, `piton take`, `piton release`: what a person changes of an
//! item.

use std::path::Path;

use clap::{ArgAction, Args as ClapArgs, Subcommand};
use piton_engine::caller::{CommandAccess, Permission};
use piton_engine::model::Node;
use piton_engine::model::amount::parse_duration;
use piton_engine::verbs::item_edit::{
    self, DependencyChange, EditRequest, EditedItem, TakenItem, TypedDependency,
};
use piton_engine::{CommandExit, Failure, Notice, World};

use crate::input::read_text;
use crate::invocation::{Invocation, TypedCommand};
use crate::output::CliOutput;
use crate::show::item::title_suffix;
use crate::show::outcome::show_outcome;

#[derive(Debug, ClapArgs)]
pub(crate) struct EditArgs {
    /// The item: [RUN:]ID
    item: String,
    /// What is to be done, in one line
    #[arg(long)]
    title: Option<String>,
    /// Details for the agent; `-` reads them from stdin, '' removes them
    #[arg(long, value_name = "TEXT")]
    prompt: Option<String>,
    /// A shell command that must succeed before the item is done; '' removes it
    #[arg(long, value_name = "CMD")]
    check: Option<String>,
    /// Which ready item comes first: the lowest number; 0 removes it
    #[arg(long, value_name = "N")]
    priority: Option<u32>,
    /// A word to list it by, in place of those that it has (can be repeated); '' removes them
    #[arg(long = "label", value_name = "LABEL", action = ArgAction::Append)]
    labels: Vec<String>,
}

impl TypedCommand for EditArgs {
    const ABOUT: &'static str = "Change the title, prompt, check, priority or labels of an item";
    const AFTER_HELP: &'static str = "The file of a plan shows the change, and nothing else in it changes. An attempt under way goes on\nwith what it was started with.\n\nExamples:\n  piton edit write-hello --check 'test -s hello'\n  piton edit list:write-hello --title 'Write hello twice' --priority 1\n  piton edit write-hello --prompt - < details.md";

    fn permission(&self) -> Permission {
        Permission::new("piton edit", CommandAccess::Person)
    }

    fn run(self, call: &mut Invocation<'_>) -> Result<CommandExit, Failure> {
        let world = call.world;
        let prompt = match self.prompt {
            Some(dash) if dash == "-" => Some(read_text(world, Path::new("-"))?.1),
            typed => typed,
        };
        let request = EditRequest {
            title: self.title,
            prompt,
            check: self.check,
            priority: self.priority,
            labels: (!self.labels.is_empty()).then_some(self.labels),
        };
        let told = &mut |notice: Notice<'_>| call.show_notice(&notice);
        let edited = item_edit::edit(world, &self.item, &request, told)?;
        call.print(&edited, show_edited);
        Ok(CommandExit::Done)
    }
}

fn show_edited(edited: &EditedItem, _: &World, output: &mut CliOutput) {
    let title = title_suffix(edited.title.as_deref());
    let what = if edited.changed {
        "edited"
    } else {
        "unchanged"
    };
    output.print_note(&format!("{what} `{}`{title}", Node::shown(&edited.node)));
    show_under_way(edited, output);
    show_outcome(&edited.outcome, output);
}

fn show_under_way(edited: &EditedItem, output: &mut CliOutput) {
    if edited.under_way && edited.changed {
        output.print_note("what works on it now goes on with what it was started with");
    }
}

#[derive(Debug, ClapArgs)]
pub(crate) struct DepArgs {
    #[command(subcommand)]
    command: DepCommand,
}

#[derive(Debug, Subcommand)]
enum DepCommand {
    /// Make an item wait for another one
    #[command(after_help = "Example:\n  piton dep add translate-hello write-hello")]
    Add(DepItems),
    /// Let an item proceed without another one
    #[command(after_help = "Example:\n  piton dep remove translate-hello write-hello")]
    Remove(DepItems),
}

#[derive(Debug, ClapArgs)]
struct DepItems {
    /// The item: [RUN:]ID
    item: String,
    /// The item of the same plan that it waits for
    on: String,
}

impl TypedCommand for DepArgs {
    const ABOUT: &'static str = "Change which items an item waits for";
    const AFTER_HELP: &'static str = "An item that would wait for itself is refused. Where the plan is a file that can say it, the file\nshows the change.\n\nExamples:\n  piton dep add translate-hello write-hello\n  piton dep remove list:translate-hello write-hello";

    fn permission(&self) -> Permission {
        match &self.command {
            DepCommand::Add(_) => Permission::new("piton dep add", CommandAccess::Person),
            DepCommand::Remove(_) => Permission::new("piton dep remove", CommandAccess::Person),
        }
    }

    fn run(self, call: &mut Invocation<'_>) -> Result<CommandExit, Failure> {
        let (items, change) = match self.command {
            DepCommand::Add(items) => (items, DependencyChange::Add),
            DepCommand::Remove(items) => (items, DependencyChange::Remove),
        };
        let world = call.world;
        let told = &mut |notice: Notice<'_>| call.show_notice(&notice);
        let dependency = TypedDependency {
            item: &items.item,
            on: &items.on,
        };
        let edited = item_edit::change_dependency(world, dependency, change, told)?;
        call.print(&edited, show_dependencies);
        Ok(CommandExit::Done)
    }
}

fn show_dependencies(edited: &EditedItem, _: &World, output: &mut CliOutput) {
    let on = edited.depends_on.iter();
    let on: Vec<String> = on.map(|on| format!("`{}`", Node::shown(on))).collect();
    let on = match on.as_slice() {
        [] => "no other item".to_owned(),
        on => on.join(", "),
    };
    output.print_note(&format!("`{}` waits for {on}", Node::shown(&edited.node)));
    show_under_way(edited, output);
    show_outcome(&edited.outcome, output);
}

#[derive(Debug, ClapArgs)]
pub(crate) struct TakeArgs {
    /// The item: [RUN:]ID
    item: String,
    /// For how long no runner starts it
    #[arg(long = "for", value_name = "DURATION", default_value = "2h", value_parser = parse_duration)]
    for_s: u64,
}

impl TypedCommand for TakeArgs {
    const ABOUT: &'static str = "Work on an item yourself for a time";
    const AFTER_HELP: &'static str = "No runner starts the item until `piton done`, `piton release`, or the end of that time. Taken\nagain, it is yours from now on for the new time.\n\nExamples:\n  piton take write-hello\n  piton take list:write-hello --for 45m";

    fn permission(&self) -> Permission {
        Permission::new("piton take", CommandAccess::Person)
    }

    fn run(self, call: &mut Invocation<'_>) -> Result<CommandExit, Failure> {
        take(&self.item, Some(self.for_s), call)
    }
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ReleaseArgs {
    /// The item: [RUN:]ID
    item: String,
}

impl TypedCommand for ReleaseArgs {
    const ABOUT: &'static str = "Give back an item that was taken";
    const AFTER_HELP: &'static str = "Example:\n  piton release write-hello";

    fn permission(&self) -> Permission {
        Permission::new("piton release", CommandAccess::Person)
    }

    fn run(self, call: &mut Invocation<'_>) -> Result<CommandExit, Failure> {
        take(&self.item, None, call)
    }
}

fn take(item: &str, for_s: Option<u64>, call: &mut Invocation<'_>) -> Result<CommandExit, Failure> {
    let world = call.world;
    let told = &mut |notice: Notice<'_>| call.show_notice(&notice);
    let taken = item_edit::take(world, item, for_s, told)?;
    call.print(&taken, show_taken);
    Ok(CommandExit::Done)
}

fn show_taken(taken: &TakenItem, world: &World, output: &mut CliOutput) {
    let node = Node::shown(&taken.node);
    output.print_note(&match &taken.taken {
        Some(hold) => {
            let until = world.local_time(hold.until);
            format!("`{node}` is taken by {} until {until}", hold.by)
        }
        None => format!("`{node}` is given back"),
    });
    show_outcome(&taken.outcome, output);
}
