//! `piton recover`.

use std::path::PathBuf;

use clap::Args as ClapArgs;
use piton_engine::caller::{CommandAccess, Permission};
use piton_engine::verbs::recover::{self, ItemRecovery};
use piton_engine::{CommandExit, Failure, World};

use crate::input::read_tool_output;
use crate::invocation::{Invocation, TypedCommand};
use crate::output::{BOLD, CliOutput, DIM};
use crate::show::progress::first_line;

#[derive(Debug, ClapArgs)]
pub(crate) struct RecoverArgs {
    /// The item, as `piton status` or `piton recent` shows it
    item: String,
    /// A file with the output of the failure; `-` is stdin [default: the last attempt]
    #[arg(long, value_name = "FILE")]
    failure: Option<PathBuf>,
}

impl TypedCommand for RecoverArgs {
    const ABOUT: &'static str = "Recommend an action after an attempt that did not complete";
    const AFTER_HELP: &'static str =
        "Prints one of retry, fix-state, break-chunks, skip and manual, with its evidence and the
actions that were considered before it. Changes nothing; `piton run` follows the same rules.

Examples:
  piton recover auth-login
  make test 2>&1 | piton recover auth-login --failure -
  piton recover auth-login --json | jq -r '.action, .guidance'";

    fn permission(&self) -> Permission {
        Permission::new("piton recover", CommandAccess::Read)
    }

    fn run(self, call: &mut Invocation<'_>) -> Result<CommandExit, Failure> {
        let failure = self.failure.as_deref();
        let failure = failure
            .map(|file| read_tool_output(call.world, file))
            .transpose()?;
        let recovered = recover::recover(call.world, &self.item, failure.as_deref())?;
        call.print(&recovered, show_recovery);
        Ok(CommandExit::Done)
    }
}

fn show_recovery(recovered: &ItemRecovery, _: &World, output: &mut CliOutput) {
    let recovery = &recovered.recovery;
    let mut text = format!("{BOLD}{}{BOLD:#}  {}\n", recovery.action, recovery.rule);
    for line in recovery.guidance.trim_end().lines() {
        text.push_str(&format!("  {line}\n"));
    }
    for fact in &recovery.evidence {
        text.push_str(&format!("  {DIM}rests on:{DIM:#} {}\n", first_line(fact)));
    }
    for no in &recovery.rejected {
        let why = first_line(&no.why);
        text.push_str(&format!(
            "  {DIM}not {} ({}):{DIM:#} {why}\n",
            no.action, no.rule
        ));
    }
    output.print_data(&text);
}
