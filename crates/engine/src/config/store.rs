//! The table `[store]`.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The table `[store]`: who may use the journal, and how it is waited for.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct StoreConfig {
    /// How many seconds a short command waits while no other one has its turn to write.
    pub wait_s: u32,
    /// The group whose users may use the journal as well, by name or number.
    pub group: Option<String>,
}

impl Default for StoreConfig {
    fn default() -> Self {
        Self {
            wait_s: 10,
            group: None,
        }
    }
}

impl StoreConfig {
    /// How long a short command waits.
    #[must_use]
    pub fn wait(&self) -> Duration {
        Duration::from_secs(self.wait_s.into())
    }
}
