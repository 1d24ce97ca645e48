//! `piton land`.

use clap::Args as ClapArgs;
use piton_engine::caller::{CommandAccess, Permission};
use piton_engine::verbs::land::land;
use piton_engine::{CommandExit, Failure};

use crate::invocation::{Invocation, TypedCommand};

#[derive(Debug, ClapArgs)]
pub(crate) struct LandArgs {
    /// The run
    run: Option<String>,
}

impl TypedCommand for LandArgs {
    const ABOUT: &'static str = "Fast-forward the target branch to the work of a run";
    const AFTER_HELP: &'static str = "The run is one that worked in lanes. If the target branch has new commits, or files that the\nrun changed have uncommitted changes, the branch stays as it is and the command to type is\nprinted.\n\nExamples:\n  piton land\n  piton land 2026-01-15_auth";

    fn permission(&self) -> Permission {
        Permission::new("piton land", CommandAccess::Person).for_path(self.run.as_ref())
    }

    fn run(self, call: &mut Invocation<'_>) -> Result<CommandExit, Failure> {
        let run = self.run.as_deref();
        let landed = land(call.world, run, &mut |notice| call.show_notice(&notice))?;
        call.print(&landed, |landed, _, output| {
            output.print_note(&landed.describe());
            for other in &landed.others {
                output.print_note(&other.describe());
            }
        });
        Ok(CommandExit::Done)
    }
}
