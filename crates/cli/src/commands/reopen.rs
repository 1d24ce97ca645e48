//! `piton reopen`.

use clap::Args as ClapArgs;
use piton_engine::caller::{CommandAccess, Permission};
use piton_engine::verbs::control::{self, ItemControl};
use piton_engine::{CommandExit, Failure};

use crate::invocation::{Invocation, TypedCommand};
use crate::show::outcome::show_outcome;

#[derive(Debug, ClapArgs)]
pub(crate) struct ReopenArgs {
    /// The item: [RUN:]ID
    item: String,
    /// The reason
    #[arg(long)]
    why: Option<String>,
}

impl TypedCommand for ReopenArgs {
    const ABOUT: &'static str = "Try an item again, with everything that failed below it";
    const AFTER_HELP: &'static str = "The same as `piton plan retry`.\n\nExample:\n  piton reopen write-hello --why 'the disk has room again'";

    fn permission(&self) -> Permission {
        Permission::new("piton reopen", CommandAccess::Person)
    }

    fn run(self, call: &mut Invocation<'_>) -> Result<CommandExit, Failure> {
        let outcome =
            control::skip_or_retry_item(call.world, &self.item, ItemControl::Retry, self.why)?;
        call.print(&outcome, |outcome, _, output| show_outcome(outcome, output));
        Ok(CommandExit::Done)
    }
}
