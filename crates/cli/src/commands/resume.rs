//! `piton resume`.

use clap::Args as ClapArgs;
use piton_engine::caller::{CommandAccess, Permission};
use piton_engine::verbs::control::{self, RunControl};
use piton_engine::{CommandExit, Failure};

use crate::invocation::{Invocation, TypedCommand};
use crate::show::outcome::show_control;

#[derive(Debug, ClapArgs)]
pub(crate) struct ResumeArgs {
    /// The run
    run: Option<String>,
}

impl TypedCommand for ResumeArgs {
    const ABOUT: &'static str = "Resume a paused run";
    const AFTER_HELP: &'static str = "Starts no agent: prints the `piton run` command that continues the run.\n\nExample:\n  piton resume 2026-01-15_auth && piton run 2026-01-15_auth --agent claude";

    fn permission(&self) -> Permission {
        Permission::new("piton resume", CommandAccess::Person).for_path(self.run.as_ref())
    }

    fn run(self, call: &mut Invocation<'_>) -> Result<CommandExit, Failure> {
        let outcome = control::control_run(call.world, self.run.as_deref(), RunControl::Resume)?;
        call.print(&outcome, |outcome, _, output| {
            show_control(outcome, "pauses at the next boundary", output);
        });
        Ok(CommandExit::Done)
    }
}
