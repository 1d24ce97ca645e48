//! `piton mcp`.

use clap::Args as ClapArgs;
use piton_engine::caller::{CommandAccess, Permission};
use piton_engine::session::Session;
use piton_engine::{CommandExit, Failure};

use crate::invocation::{Invocation, TypedCommand};

#[derive(Debug, ClapArgs)]
pub(crate) struct McpArgs {
    /// The item that the agent works on: [RUN:]NODE [default: PITON_ITEM]
    #[arg(long)]
    item: Option<String>,
}

impl TypedCommand for McpArgs {
    const ABOUT: &'static str = "Start an MCP server on stdin and stdout";
    const AFTER_HELP: &'static str =
        "A client of the Model Context Protocol starts the server in the folder of the project; the
server ends when the client closes stdin. The tools status, next, prepare and recall read;
record, log, learn and ask write about the item that the agent works on. In agents that
`piton run` starts, PITON_ATTEMPT names that item; elsewhere, --item or PITON_ITEM does.
Without any of them, the tools that write are refused.

Examples:
  claude mcp add piton -- piton mcp --item auth-login
  claude -p --allowedTools 'mcp__piton__status,mcp__piton__recall' 'where do we stand?'";

    fn permission(&self) -> Permission {
        Permission::new("piton mcp", CommandAccess::Signed)
    }

    fn run(self, call: &mut Invocation<'_>) -> Result<CommandExit, Failure> {
        // A client shows the words of a server that does not start; each tool would
        // only fail later.
        match Session::open_read_only(call.world, &call.world.cwd) {
            Err(failure) if failure.code == "store.newer" => return Err(failure),
            Ok(_) | Err(_) => {}
        }
        // From here on stdout is the protocol's.
        piton_server::mcp::serve_stdio(call.world.clone(), self.item)?;
        Ok(CommandExit::Done)
    }
}
