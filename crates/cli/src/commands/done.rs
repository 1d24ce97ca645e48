//! `piton done`.

use clap::Args as ClapArgs;
use piton_engine::caller::{CommandAccess, Permission};
use piton_engine::verbs::items;
use piton_engine::{CommandExit, Failure, Notice};

use crate::invocation::{Invocation, TypedCommand};
use crate::show::outcome::show_outcome;

#[derive(Debug, ClapArgs)]
pub(crate) struct DoneArgs {
    /// The item: [RUN:]ID
    item: String,
    /// The reason
    #[arg(long)]
    why: Option<String>,
}

impl TypedCommand for DoneArgs {
    const ABOUT: &'static str = "Mark an item as done";
    const AFTER_HELP: &'static str = "The evidence is the word of a person, as for a mark in the file of the plan; no check runs.\n\nExamples:\n  piton done write-hello\n  piton done list:write-hello --why 'came with the last release'";

    fn permission(&self) -> Permission {
        Permission::new("piton done", CommandAccess::Person)
    }

    fn run(self, call: &mut Invocation<'_>) -> Result<CommandExit, Failure> {
        let world = call.world;
        let told = &mut |notice: Notice<'_>| call.show_notice(&notice);
        let outcome = items::mark_done(world, &self.item, self.why, told)?;
        call.print(&outcome, |outcome, _, output| show_outcome(outcome, output));
        Ok(CommandExit::Done)
    }
}
