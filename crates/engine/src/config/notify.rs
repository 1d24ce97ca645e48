//! What a project does with what a person should know.

use std::time::Duration;

use piton_core::amount::parse_duration;
use piton_core::notification::NotificationKind;
use serde::{Deserialize, Serialize};

/// The table `[notify]`: the command that is started for each thing that a person
/// should know.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct NotifyConfig {
    /// The command, in a shell, in the project; the thing is JSON on its stdin.
    pub command: Option<String>,
    /// For which kinds of things it is started.
    pub on: Vec<NotificationKind>,
    /// How long it may take, as a duration.
    pub timeout: String,
}

impl Default for NotifyConfig {
    fn default() -> Self {
        Self {
            command: None,
            on: NotificationKind::ALL.to_vec(),
            timeout: "30s".to_owned(),
        }
    }
}

impl NotifyConfig {
    /// What is wrong with it, if something is.
    ///
    /// # Errors
    ///
    /// A value that cannot be.
    pub fn check(&self) -> Result<(), String> {
        let timeout = parse_duration(&self.timeout);
        timeout.map_err(|error| format!("notify.timeout: {error}"))?;
        Ok(())
    }

    /// How long the command may take.
    #[must_use]
    pub fn timeout(&self) -> Duration {
        Duration::from_secs(parse_duration(&self.timeout).unwrap_or(30))
    }

    /// The command, where there is one.
    #[must_use]
    pub fn command(&self) -> Option<&str> {
        let command = self.command.as_deref().map(str::trim);
        command.filter(|command| !command.is_empty())
    }

    /// Whether anybody is notified of the end of an invocation.
    #[must_use]
    pub fn should_notify_of_ends(&self) -> bool {
        self.command().is_some() && self.on.iter().any(|kind| kind.is_about_end())
    }
}
