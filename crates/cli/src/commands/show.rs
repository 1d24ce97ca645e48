//! `piton show`.

use clap::Args as ClapArgs;
use piton_engine::caller::{CommandAccess, Permission};
use piton_engine::verbs::show::{self, ShowReport};
use piton_engine::{CommandExit, Failure, World};

use crate::invocation::{Invocation, TypedCommand};
use crate::output::CliOutput;
use crate::show::attempt::{render_attempt, render_item};
use crate::show::status::{FinishedDisplay, render_run};

#[derive(Debug, ClapArgs)]
pub(crate) struct ShowArgs {
    /// An item ([RUN:]NODE), a run, or an attempt: its name, a prefix of its id, or ITEM#N
    name: String,
}

impl TypedCommand for ShowArgs {
    const ABOUT: &'static str = "Show the details of an item, a run or an attempt";
    const AFTER_HELP: &'static str = "Examples:\n  piton show auth-login\n  piton show 2026-01-15_auth:development/step-2\n  piton show auth-login#2 --json | jq -r .last_words";

    fn permission(&self) -> Permission {
        Permission::new("piton show", CommandAccess::Read)
    }

    fn run(self, call: &mut Invocation<'_>) -> Result<CommandExit, Failure> {
        let shown = show::show(call.world, &self.name)?;
        call.print(&shown, show_report);
        Ok(CommandExit::Done)
    }
}

fn show_report(shown: &ShowReport, world: &World, output: &mut CliOutput) {
    output.print_data(&match shown {
        ShowReport::Item(shown) => render_item(world, shown),
        ShowReport::Attempt(shown) => render_attempt(world, shown),
        ShowReport::Run(run) => {
            let mut text = render_run(run, world.now(), FinishedDisplay::Each);
            text.push_str(&format!("Plan: {}\n", run.line.source));
            let times = [("Started", run.started_at), ("Finished", run.completed_at)];
            for (word, time) in times {
                if let Some(time) = time {
                    text.push_str(&format!("{word}: {}\n", world.local_time(time)));
                }
            }
            text
        }
    });
}
