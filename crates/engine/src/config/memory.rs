//! The table `[memory]`.

use piton_core::memory::UnconfirmedPolicy;
use serde::{Deserialize, Serialize};

/// The table `[memory]`: what agents are shown of what is remembered.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct MemoryConfig {
    /// What becomes of what came by a file and no person confirmed: `mark`, `ask` or
    /// `leave-out`.
    pub unconfirmed: UnconfirmedPolicy,
}
