//! `piton man`.

use clap::Args as ClapArgs;
use piton_engine::caller::{CommandAccess, Permission};
use piton_engine::{CommandExit, Failure};

use crate::invocation::{Invocation, TypedCommand};

#[derive(Debug, ClapArgs)]
pub(crate) struct ManArgs {
    /// The command, such as `plan compile` [default: piton, with a list of all commands]
    command: Vec<String>,
}

impl TypedCommand for ManArgs {
    const ABOUT: &'static str = "Print the manual page of piton or of a command";
    const AFTER_HELP: &'static str =
        "Examples:\n  piton man > piton.1 && man ./piton.1\n  piton man plan compile | man -l -";

    fn permission(&self) -> Permission {
        Permission::new("piton man", CommandAccess::Read)
    }

    fn run(self, call: &mut Invocation<'_>) -> Result<CommandExit, Failure> {
        let mut described = (call.describe)();
        if !self.command.is_empty() {
            described.build();
        }
        for word in &self.command {
            let found = described.find_subcommand(word).cloned();
            described = found.ok_or_else(|| {
                let named = self.command.join(" ");
                Failure::new("usage", format!("there is no command `piton {named}`"))
                    .with_hint("see the commands with `piton --help`")
            })?;
        }
        let mut text = Vec::new();
        clap_mangen::Man::new(described)
            .render(&mut text)
            .map_err(|error| {
                Failure::new("store.fault", "the page cannot be made").with_source(error)
            })?;
        call.output.print_file(&String::from_utf8_lossy(&text));
        Ok(CommandExit::Done)
    }
}
