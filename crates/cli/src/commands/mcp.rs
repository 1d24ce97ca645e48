//! `piton mcp`.

use clap::Args as ClapArgs;
use piton_engine::caller::{CommandAccess, Permission};
use piton_engine::{CommandExit, Failure};

use crate::invocation::{Invocation, TypedCommand};

#[derive(Debug, ClapArgs)]
pub(crate) struct McpArgs {
    /// What is worked on: [RUN:]NODE; without it, PITON_ITEM
    #[arg(long)]
    item: Option<String>,
}

impl TypedCommand for McpArgs {
    const ABOUT: &'static str =
        "Serve status, memory and records to an agent as tools, over stdin and stdout";
    const AFTER_HELP: &'static str =
        "It is started by a client of the Model Context Protocol, in the folder of the project, and
ends when the client closes stdin. The tools: status, next, prepare and recall read; record,
log, learn and ask write about the item that is worked on. Which one that is says PITON_ATTEMPT
in the agents that `piton run` starts, elsewhere --item or PITON_ITEM; without any of them the
tools that write are refused.

Examples:
  claude mcp add piton -- piton mcp --item auth-login
  claude -p --allowedTools 'mcp__piton__status,mcp__piton__recall' 'where do we stand?'";

    fn permission(&self) -> Permission {
        Permission::new("piton mcp", CommandAccess::Signed)
    }

    fn run(self, call: &mut Invocation<'_>) -> Result<CommandExit, Failure> {
        // From here on stdout is the protocol's.
        piton_server::mcp::serve_stdio(call.world.clone(), self.item)?;
        Ok(CommandExit::Done)
    }
}
