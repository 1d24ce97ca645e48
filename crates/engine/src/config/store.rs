//! The table `[store]`.

use std::time::Duration;

use serde::Deserialize;

/// The table `[store]`: how the journal is waited for.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct StoreConfig {
    /// How many seconds a short command waits while no other one has its turn to write.
    pub wait_s: u32,
}

impl Default for StoreConfig {
    fn default() -> Self {
        Self { wait_s: 10 }
    }
}

impl StoreConfig {
    /// How long a short command waits.
    #[must_use]
    pub fn wait(&self) -> Duration {
        Duration::from_secs(self.wait_s.into())
    }
}
