//! `piton completions`.

use clap::Args as ClapArgs;
use clap_complete::Shell;
use piton_engine::caller::{CommandAccess, Permission};
use piton_engine::{CommandExit, Failure};

use crate::invocation::{Invocation, TypedCommand};

#[derive(Debug, ClapArgs)]
pub(crate) struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

impl TypedCommand for CompletionsArgs {
    const ABOUT: &'static str = "Print the completion script of a shell";
    const AFTER_HELP: &'static str =
        "Example:\n  piton completions bash > ~/.local/share/bash-completion/completions/piton";

    fn permission(&self) -> Permission {
        Permission::new("piton completions", CommandAccess::Read)
    }

    fn run(self, call: &mut Invocation<'_>) -> Result<CommandExit, Failure> {
        let mut text = Vec::new();
        clap_complete::generate(self.shell, &mut (call.describe)(), "piton", &mut text);
        call.output.print_file(&String::from_utf8_lossy(&text));
        Ok(CommandExit::Done)
    }
}
