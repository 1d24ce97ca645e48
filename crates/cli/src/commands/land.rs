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
    const ABOUT: &'static str = "Bring the work of a run in lanes to the branch that it is for, if that only has to go forward";
    const AFTER_HELP: &'static str = "Nothing is forced: where the branch has moved on, or has changes that are in no commit, it\nstays as it is, and what to type is printed.\n\nExamples:\n  piton land\n  piton land 2026-01-15_auth";

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
