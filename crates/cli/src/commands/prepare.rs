//! `piton prepare`.

use clap::Args as ClapArgs;
use piton_engine::caller::{CommandAccess, Permission};
use piton_engine::verbs::prepare;
use piton_engine::{CommandExit, Failure};

use crate::invocation::{Invocation, TypedCommand};

#[derive(Debug, ClapArgs)]
pub(crate) struct PrepareArgs {
    /// The item, as `piton status` or `piton recent` shows it
    item: String,
    /// Print at most N tokens (of three bytes each; at least 200)
    #[arg(long, value_name = "N")]
    max_tokens: Option<usize>,
}

impl TypedCommand for PrepareArgs {
    const ABOUT: &'static str = "Show the notes to read before work on an item";
    const AFTER_HELP: &'static str =
        "Prints the rules, the earlier attempts, the memories that help, the blockers and the finished
work, in the same form as in the prompts of `piton run`.

Examples:
  piton prepare auth-login
  piton prepare development/step-2 --max-tokens 800
  piton prepare auth-login --json | jq -r '.learnings[].text'";

    fn permission(&self) -> Permission {
        Permission::new("piton prepare", CommandAccess::Read)
    }

    fn run(self, call: &mut Invocation<'_>) -> Result<CommandExit, Failure> {
        let prepared = prepare::prepare(call.world, &self.item, self.max_tokens)?;
        if call.output.json {
            // Blanks for people would make it longer than asked.
            call.output.print_answer_line(&prepared);
        } else {
            call.output.print_long_data(&prepared.render_markdown());
        }
        Ok(CommandExit::Done)
    }
}
