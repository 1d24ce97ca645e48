//! `piton gate`.

use clap::Args as ClapArgs;
use piton_engine::caller::{CommandAccess, Permission};
use piton_engine::verbs::gate::{self, GateResult};
use piton_engine::{CommandExit, Failure, World};

use crate::invocation::{Invocation, TypedCommand};
use crate::output::{BOLD, CliOutput, DIM, GREEN, RED};
use crate::show::progress::first_line;

#[derive(Debug, ClapArgs)]
pub(crate) struct GateArgs {
    /// The item: [RUN:]NODE
    item: String,
}

impl TypedCommand for GateArgs {
    const ABOUT: &'static str = "Run the check of an item now, and answer by the exit status";
    const AFTER_HELP: &'static str =
        "Runs the item's own check, or the check of [claims] where the run asks for it, in the work
tree, within its time limit. Records nothing: a run makes its own check when the agent is done.

Exit status: 0 passed; 1 failed, with the last lines of the output; 2 no such item, or it has
no check; 3 the check is not trusted, and was not run.

Examples:
  piton gate auth-login
  piton gate list:write-hello --json | jq -r '.checks[].error'
  piton gate \"$PITON_ITEM\" >&2; [ $? -ne 1 ] || exit 2    # in a Stop hook";

    fn permission(&self) -> Permission {
        Permission::new("piton gate", CommandAccess::Read)
    }

    fn run(self, call: &mut Invocation<'_>) -> Result<CommandExit, Failure> {
        let result = gate::gate(call.world, &self.item)?;
        call.print(&result, show_result);
        Ok(match (result.interrupted, result.passed) {
            (true, _) => CommandExit::Interrupted,
            (false, true) => CommandExit::Done,
            (false, false) => CommandExit::No,
        })
    }
}

fn show_result(result: &GateResult, _: &World, output: &mut CliOutput) {
    let mut text = String::new();
    for check in &result.checks {
        let end = match (check.passed, result.interrupted, &check.error) {
            (true, ..) => format!("{GREEN}passed{GREEN:#}"),
            (false, true, _) => "was interrupted".to_owned(),
            (false, false, Some(error)) => format!("{RED}failed{RED:#}: {error}"),
            (false, false, None) => format!("{RED}failed{RED:#}"),
        };
        text.push_str(&format!(
            "{BOLD}{}:{}{BOLD:#} check `{}` {end}\n",
            result.run,
            result.node,
            first_line(&check.command)
        ));
        for line in check.output.shown_lines().iter().filter(|_| !check.passed) {
            text.push_str(&format!("  {DIM}|{DIM:#} {line}\n"));
        }
    }
    output.print_data(&text);
}
