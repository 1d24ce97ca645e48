//! What only one native format has, on its way through the core.

use serde::{Deserialize, Serialize};

/// What only one native format has: opaque here, typed in `piton_formats`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Native {
    /// The format: `sprint-yaml`.
    pub face: String,
    /// The version of the body's shape.
    pub version: u32,
    /// The content, as JSON text.
    pub body: String,
}
