//! `piton stop`.

use clap::Args as ClapArgs;
use piton_engine::caller::{CommandAccess, Permission};
use piton_engine::verbs::control::{self, RunControl};
use piton_engine::{CommandExit, Failure};

use crate::invocation::{Invocation, TypedCommand};
use crate::show::outcome::show_control;

#[derive(Debug, ClapArgs)]
pub(crate) struct StopArgs {
    /// The run
    run: Option<String>,
}

impl TypedCommand for StopArgs {
    const ABOUT: &'static str = "Stop a run now";
    const AFTER_HELP: &'static str = "Ends the agents that work on the run. `piton run` continues it later.\n\nExamples:\n  piton stop\n  piton stop 2026-01-15_auth";

    fn permission(&self) -> Permission {
        Permission::new("piton stop", CommandAccess::Person).for_path(self.run.as_ref())
    }

    fn run(self, call: &mut Invocation<'_>) -> Result<CommandExit, Failure> {
        let outcome = control::control_run(call.world, self.run.as_deref(), RunControl::Stop)?;
        call.print(&outcome, |outcome, _, output| {
            show_control(outcome, "stops now", output);
        });
        Ok(CommandExit::Done)
    }
}
