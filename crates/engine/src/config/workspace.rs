//! What a project says of its lanes.

use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use piton_core::amount::parse_duration;
use serde::{Deserialize, Serialize};

/// So many lanes are at work where a plan leaves it to a project that does not say.
pub const LANES: NonZeroU32 = NonZeroU32::MIN.saturating_add(1);

/// The folder that the lanes lie in by itself, seen from the project.
pub(crate) const LANES_FOLDER: &str = ".piton/lanes";

/// Each lane has so many ports of its own.
pub const PORTS_A_LANE: u32 = 10;

/// The first port of the first lane leaves room for hundreds of lanes.
const PORTS: std::ops::RangeInclusive<u16> = 1_024..=60_000;

/// The table `[workspace]`: the lanes of a project, and what makes one ready.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct WorkspaceConfig {
    /// How many lanes are at work where a plan has parallel items or leaves it
    /// to the project.
    pub lanes: Option<NonZeroU32>,
    /// The folder that the lanes lie in, seen from the project; in `.piton/` of the work tree by
    /// itself.
    pub root: Option<PathBuf>,
    /// The command that makes a lane ready, in a shell, in the lane.
    pub setup: Option<String>,
    /// How long it may take, as a duration.
    pub setup_timeout: String,
    /// The command that a lane ends with.
    pub teardown: Option<String>,
    /// The first port of the first lane.
    pub ports: Option<u16>,
}

impl Default for WorkspaceConfig {
    fn default() -> Self {
        Self {
            lanes: None,
            root: None,
            setup: None,
            setup_timeout: "10m".to_owned(),
            teardown: None,
            ports: None,
        }
    }
}

impl WorkspaceConfig {
    /// What is wrong with it, if something is.
    ///
    /// # Errors
    ///
    /// A value that cannot be.
    pub fn check(&self) -> Result<(), String> {
        parse_duration(&self.setup_timeout)
            .map_err(|error| format!("workspace.setup-timeout: {error}"))?;
        match self.ports {
            Some(port) if !PORTS.contains(&port) => Err(format!(
                "workspace.ports: the first port is between {} and {}",
                PORTS.start(),
                PORTS.end()
            )),
            Some(_) | None => Ok(()),
        }
    }

    /// How long a command of these may take.
    #[must_use]
    pub fn setup_timeout(&self) -> Duration {
        let seconds = parse_duration(&self.setup_timeout);
        Duration::from_secs(seconds.unwrap_or(600))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, wrong: Option<&str>) {
        let config: WorkspaceConfig = toml::from_str(text).expect("TOML");
        let said = config.check().err();
        match (said, wrong) {
            (None, None) => {}
            (Some(said), Some(wrong)) => assert!(said.starts_with(wrong), "{said}"),
            (said, _) => panic!("{text}: {said:?}"),
        }
    }

    #[test]
    fn what_cannot_be_is_named_by_its_key() {
        check("", None);
        check("lanes = 8\nsetup-timeout = \"90s\"\nports = 4000", None);
        check(
            "setup-timeout = \"soon\"",
            Some("workspace.setup-timeout: "),
        );
        check("ports = 80", Some("workspace.ports: "));
        check("ports = 65000", Some("workspace.ports: "));
    }
}
