//! `piton pause`.

use clap::Args as ClapArgs;
use piton_engine::caller::{CommandAccess, Permission};
use piton_engine::verbs::control::{self, RunControl};
use piton_engine::{CommandExit, Failure};

use crate::invocation::{Invocation, TypedCommand};
use crate::show::outcome::show_control;

#[derive(Debug, ClapArgs)]
pub(crate) struct PauseArgs {
    /// The run
    run: Option<String>,
}

impl TypedCommand for PauseArgs {
    const ABOUT: &'static str = "Pause a run after its current piece of work";
    const AFTER_HELP: &'static str = "Examples:\n  piton pause\n  piton pause 2026-01-15_auth";

    fn permission(&self) -> Permission {
        Permission::new("piton pause", CommandAccess::Person).for_path(self.run.as_ref())
    }

    fn run(self, call: &mut Invocation<'_>) -> Result<CommandExit, Failure> {
        let outcome = control::control_run(call.world, self.run.as_deref(), RunControl::Pause)?;
        call.print(&outcome, |outcome, _, output| {
            show_control(outcome, "pauses at the next boundary", output);
        });
        Ok(CommandExit::Done)
    }
}
