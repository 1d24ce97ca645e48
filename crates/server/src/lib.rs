//! The verbs of `piton_engine` for programs that stay: as tools of the Model
//! Context Protocol, and later as HTTP.
//!
//! Nothing is decided here and nothing is printed: stdout belongs to the
//! protocol. What the verbs do: see `piton_engine::verbs`. Why these tools and
//! no others: see `docs/design/0010-mcp.md`.

pub mod mcp;
