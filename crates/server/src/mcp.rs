//! A server of the Model Context Protocol: a few verbs as tools, for an agent at
//! work and for the person beside it.
//!
//! It speaks both eras of the protocol: with `initialize` up to 2025-11-25, and
//! without it from 2026-07-28 on; which one is the client's choice. Only this
//! module knows `rmcp`, and only [`serve_stdio`] starts a runtime.

mod answer;
mod arguments;
mod client_session;
mod lines;
mod read_tools;
mod resources;
mod tools;
mod words;
mod write_tools;

use std::sync::Arc;
use std::time::Duration;

use piton_engine::caller::held_item::AssignedWork;
use piton_engine::{Failure, World};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation,
    ListResourcesResult, ListToolsResult, PaginatedRequestParams, ReadResourceRequestParams,
    ReadResourceResponse, ReadResourceResult, ResourceContents, ServerCapabilities, ServerConfig,
};
use rmcp::service::{RequestContext, ServerInitializeError};
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt as _};

use self::answer::ToolAnswer;
use self::client_session::ClientSession;
use self::lines::check_lines;
use self::read_tools::READ_TOOLS;
use self::resources::RESOURCES;
use self::tools::Tool;
use self::write_tools::WRITE_TOOLS;

/// What an agent is told of the server as a whole, which a person started.
const INSTRUCTIONS: &str = "piton keeps the progress and the memory of this project. \
Before you begin, call `prepare`. When something fails, call `recall` with the message. \
When you learn something that the next agent should know, call `learn`. \
When you are done, or cannot go on, call `record`. What can wait for a person, ask with `ask`.";

/// The same within an attempt, whose prompt has what `prepare` would answer.
const INSTRUCTIONS_IN_ATTEMPT: &str = "piton keeps the progress and the memory of this project. \
You have been told what is known of your item: do not call `prepare`. \
When something fails, call `recall` with the message. What the next agent must know, `learn`. \
No person answers you now; what can wait for a person, ask with `ask` and go on. \
At the end call `record` once, or end with the block that you were asked for.";

/// The tools, in the order in which they are listed. Each stands beside its function.
fn all_tools() -> impl Iterator<Item = &'static Tool> {
    READ_TOOLS.iter().chain(WRITE_TOOLS)
}

/// So long is waited for what is being stored when the other side is gone.
const LAST_WRITES: Duration = Duration::from_secs(5);

/// The service: the same for every transport, one for each client.
#[derive(Clone, Debug)]
pub struct Service {
    desk: Arc<ClientSession>,
}

impl Service {
    /// A service in this world. `item` is what is worked on, where no attempt
    /// in the environment says so.
    #[must_use]
    pub fn new(world: World, item: Option<String>) -> Self {
        Self {
            desk: Arc::new(ClientSession { world, item }),
        }
    }

    /// Calls a verb on a thread that may wait for a disk.
    async fn call_blocking<T: Send + 'static>(
        &self,
        verb: impl FnOnce(&ClientSession) -> T + Send + 'static,
    ) -> Result<T, ErrorData> {
        let desk = Arc::clone(&self.desk);
        let called = tokio::task::spawn_blocking(move || verb(&desk)).await;
        // The panic itself is on stderr.
        called.map_err(|_| ErrorData::internal_error("piton has a defect: see its stderr", None))
    }
}

impl ServerHandler for Service {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_resources()
            .build();
        let mut config = ServerConfig::new(capabilities);
        config.server_info = Implementation::new("piton", env!("CARGO_PKG_VERSION"));
        let given = AssignedWork::from_environment(&self.desk.world, self.desk.item.as_deref());
        let instructions = if given.is_supervised() {
            INSTRUCTIONS_IN_ATTEMPT
        } else {
            INSTRUCTIONS
        };
        config.instructions = Some(instructions.to_owned());
        config
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(
            all_tools().map(Tool::protocol_tool).collect(),
        ))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(tool) = all_tools().find(|tool| tool.name == request.name) else {
            let known: Vec<&str> = all_tools().map(|tool| tool.name).collect();
            return Err(ErrorData::invalid_params(
                format!(
                    "there is no tool `{}`; there are: {}",
                    request.name,
                    known.join(", ")
                ),
                None,
            ));
        };
        let client = context.client_info().map(|client| client.name);
        let arguments = request.arguments.unwrap_or_default();
        let answer = self
            .call_blocking(move |desk| tool.call(desk, arguments, client.as_deref()))
            .await?;
        Ok(to_protocol_result(answer).into())
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Ok(ListResourcesResult::with_all_items(
            RESOURCES
                .iter()
                .map(resources::Resource::protocol_resource)
                .collect(),
        ))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let uri = request.uri;
        let Some(resource) = RESOURCES.iter().find(|resource| resource.uri == uri) else {
            return Err(ErrorData::resource_not_found(
                format!("there is no resource `{uri}`"),
                None,
            ));
        };
        let read = self.call_blocking(|desk| (resource.read)(desk)).await?;
        let answer = read.map_err(|failure| {
            ErrorData::internal_error(ToolAnswer::from_failure(&failure).text, None)
        })?;
        let contents = ResourceContents::text(answer.shorten_to_limit().text, uri)
            .with_mime_type(resources::MARKDOWN);
        Ok(ReadResourceResult::new(vec![contents]).into())
    }
}

fn to_protocol_result(answer: ToolAnswer) -> CallToolResult {
    let answer = answer.shorten_to_limit();
    let content = vec![ContentBlock::text(answer.text)];
    let mut result = if answer.is_error {
        CallToolResult::error(content)
    } else {
        CallToolResult::success(content)
    };
    result.structured_content = answer.data;
    result
}

/// Serves one client over stdin and stdout until it closes stdin.
///
/// # Errors
///
/// When the client does not begin as the protocol wants it, or what is
/// answered cannot be written.
pub fn serve_stdio(world: World, item: Option<String>) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| server_fault("the server cannot be started").with_source(error))?;
    let served = runtime.block_on(async {
        let service = Service::new(world, item);
        let lines = check_lines(tokio::io::stdin(), tokio::io::stdout());
        let served = service.serve((lines.input, lines.output)).await;
        let served = match served {
            Ok(running) => {
                let ended = running.waiting().await;
                ended
                    .map(drop)
                    .map_err(|error| server_fault("the server was ended").with_source(error))
            }
            // The client only checked that the server starts.
            Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
            Err(error) => Err(Failure::new(
                "usage",
                "the client did not begin with a request of the protocol",
            )
            .with_hint("`piton mcp` is started by a program that speaks the Model Context Protocol; see `piton mcp --help`")
            .with_source(error)),
        };
        // What was answered last is still on its way.
        drop(tokio::time::timeout(LAST_WRITES, lines.written).await);
        served
    });
    // Writes under way are completed; a read of stdin that does not end is abandoned.
    runtime.shutdown_timeout(LAST_WRITES);
    served
}

fn server_fault(message: &str) -> Failure {
    Failure::new("store.fault", message)
}
