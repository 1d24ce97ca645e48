//! `piton done`, `piton skip`, `piton reopen`: what a person says of an item.

use clap::Args as ClapArgs;
use piton_engine::caller::{CommandAccess, Permission};
use piton_engine::verbs::control::{self, ItemControl};
use piton_engine::verbs::items;
use piton_engine::{CommandExit, Failure, Notice};

use super::plan::print_outcome;
use crate::invocation::{Invocation, TypedCommand};

/// An item, and why something is said of it.
#[derive(Debug, ClapArgs)]
pub(crate) struct ItemWhy {
    /// The item: [RUN:]ID
    item: String,
    /// The reason
    #[arg(long)]
    why: Option<String>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct DoneArgs {
    #[command(flatten)]
    said: ItemWhy,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct SkipArgs {
    #[command(flatten)]
    said: ItemWhy,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ReopenArgs {
    #[command(flatten)]
    said: ItemWhy,
}

impl TypedCommand for DoneArgs {
    const ABOUT: &'static str = "Mark an item as done";
    const AFTER_HELP: &'static str = "The evidence is the word of a person, as for a mark in the file of the plan; no check runs.\n\nExamples:\n  piton done write-hello\n  piton done list:write-hello --why 'came with the last release'";

    fn permission(&self) -> Permission {
        Permission::new("piton done", CommandAccess::Person)
    }

    fn run(self, call: &mut Invocation<'_>) -> Result<CommandExit, Failure> {
        let ItemWhy { item, why } = self.said;
        let world = call.world;
        let told = &mut |notice: Notice<'_>| call.show_notice(&notice);
        let outcome = items::mark_done(world, &item, why, told)?;
        Ok(print_outcome(&outcome, call))
    }
}

impl TypedCommand for SkipArgs {
    const ABOUT: &'static str = "Skip an item and everything below it";
    const AFTER_HELP: &'static str = "The same as `piton plan skip`.\n\nExample:\n  piton skip write-hello --why 'not needed any more'";

    fn permission(&self) -> Permission {
        Permission::new("piton skip", CommandAccess::Person)
    }

    fn run(self, call: &mut Invocation<'_>) -> Result<CommandExit, Failure> {
        control_item(self.said, ItemControl::Skip, call)
    }
}

impl TypedCommand for ReopenArgs {
    const ABOUT: &'static str = "Try an item again, with everything that failed below it";
    const AFTER_HELP: &'static str = "The same as `piton plan retry`.\n\nExample:\n  piton reopen write-hello --why 'the disk has room again'";

    fn permission(&self) -> Permission {
        Permission::new("piton reopen", CommandAccess::Person)
    }

    fn run(self, call: &mut Invocation<'_>) -> Result<CommandExit, Failure> {
        control_item(self.said, ItemControl::Retry, call)
    }
}

fn control_item(
    said: ItemWhy,
    wish: ItemControl,
    call: &mut Invocation<'_>,
) -> Result<CommandExit, Failure> {
    let outcome = control::skip_or_retry_item(call.world, &said.item, wish, said.why)?;
    Ok(print_outcome(&outcome, call))
}
