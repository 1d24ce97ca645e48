//! `piton skip`.

use clap::Args as ClapArgs;
use piton_engine::caller::{CommandAccess, Permission};
use piton_engine::verbs::control::{self, ItemControl};
use piton_engine::{CommandExit, Failure};

use crate::invocation::{Invocation, TypedCommand};
use crate::show::outcome::show_outcome;

#[derive(Debug, ClapArgs)]
pub(crate) struct SkipArgs {
    /// The item: [RUN:]ID
    item: String,
    /// The reason
    #[arg(long)]
    why: Option<String>,
}

impl TypedCommand for SkipArgs {
    const ABOUT: &'static str = "Skip an item and everything below it";
    const AFTER_HELP: &'static str = "The same as `piton plan skip`.\n\nExample:\n  piton skip write-hello --why 'not needed any more'";

    fn permission(&self) -> Permission {
        Permission::new("piton skip", CommandAccess::Person)
    }

    fn run(self, call: &mut Invocation<'_>) -> Result<CommandExit, Failure> {
        let outcome =
            control::skip_or_retry_item(call.world, &self.item, ItemControl::Skip, self.why)?;
        call.print(&outcome, |outcome, _, output| show_outcome(outcome, output));
        Ok(CommandExit::Done)
    }
}
