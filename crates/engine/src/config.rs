//! `.piton/config.toml`: what a project says of how it is run. All optional.

mod agents;

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::time::Duration;

use piton_core::amount::parse_duration;
use serde::Deserialize;

use crate::failure::{Failure, unreadable};
use crate::project::Project;

pub use self::agents::{
    Adapter, AgentTable, Family, Output, Permissions, Price, PricesTable, PromptBy, ReadTable,
    SuccessWhen,
};

/// The settings of a project.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Config {
    /// Which agent works, and what bounds it.
    pub agent: AgentConfig,
    /// Programs that work, by name.
    pub agents: BTreeMap<String, AgentTable>,
    /// What models cost, where their programs do not say.
    pub prices: PricesTable,
    /// What the faces of the project show.
    pub faces: FacesConfig,
    /// When old entries are parted from a log.
    pub archive: ArchiveConfig,
}

/// The table `[faces]`.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct FacesConfig {
    /// Whose attempts the faces of the project show.
    pub attempts: Attempts,
}

/// Whose attempts the faces of the project show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Attempts {
    /// Those of every run.
    #[default]
    All,
    /// Those that were recorded without a run.
    Recorded,
}

/// The table `[archive]`.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct ArchiveConfig {
    /// From so many entries on, old ones are parted from the log of Agent OS.
    pub entries: usize,
    /// An entry is old after so many days.
    pub days: u32,
}

impl Default for ArchiveConfig {
    fn default() -> Self {
        Self {
            entries: 500,
            days: 30,
        }
    }
}

/// The table `[agent]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct AgentConfig {
    /// The agent that works when no `--agent` is given: a name from `[agents]`
    /// or `commands`, one that piton knows, else a shell command.
    #[serde(rename = "use")]
    pub use_: Option<String>,
    /// Names for shell commands.
    pub commands: BTreeMap<String, String>,
    /// Longest life of an agent, as a duration.
    pub wall_timeout: String,
    /// Longest time in which an agent prints nothing; off when absent.
    pub idle_timeout: Option<String>,
    /// Between asking an agent to end and ending it.
    pub grace: String,
    /// Most bytes that an agent may print.
    pub output_bytes_max: u64,
}

impl Default for AgentConfig {
    fn default() -> Self {
        Self {
            use_: None,
            commands: BTreeMap::new(),
            wall_timeout: "2h".to_owned(),
            idle_timeout: None,
            grace: "5s".to_owned(),
            output_bytes_max: 256 << 20,
        }
    }
}

impl Config {
    /// Reads the settings; defaults where there is no file.
    ///
    /// # Errors
    ///
    /// When the file cannot be read, is no TOML, or has a key or a value that
    /// nobody knows.
    pub fn load(project: &Project) -> Result<Self, Failure> {
        let path = project.home.join("config.toml");
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(unreadable(&path, error)),
        };
        let wrong = |what: String| {
            Failure::new("usage", format!("{}: {what}", path.display()))
                .hint("mend the file, then repeat the command")
        };
        Self::parse(&text).map_err(wrong)
    }

    /// Reads the settings from their text; what is wrong with it, if something is.
    ///
    /// # Errors
    ///
    /// When it is no TOML, or has a key or a value that nobody knows.
    pub fn parse(text: &str) -> Result<Self, String> {
        let config: Self =
            toml::from_str(text).map_err(|error| error.to_string().trim_end().to_owned())?;
        let durations = [
            Some(&config.agent.wall_timeout),
            config.agent.idle_timeout.as_ref(),
            Some(&config.agent.grace),
        ];
        for text in durations.into_iter().flatten() {
            parse_duration(text).map_err(|error| error.to_string())?;
        }
        for (name, table) in &config.agents {
            table.check(name)?;
        }
        config.prices.check()?;
        Ok(config)
    }

    /// The shell command that `agent` names, or is.
    ///
    /// `sh:CMD` is always a command.
    #[must_use]
    pub fn command<'a>(&'a self, agent: &'a str) -> &'a str {
        match agent.strip_prefix("sh:") {
            Some(command) => command,
            None => self.agent.commands.get(agent).map_or(agent, String::as_str),
        }
    }
}

impl Config {
    /// What bounds the agent of this name.
    #[must_use]
    pub fn limits(&self, agent: &str) -> crate::process::Limits {
        let table = self.agents.get(agent);
        let own = AgentConfig {
            wall_timeout: table
                .and_then(|table| table.wall_timeout.clone())
                .unwrap_or_else(|| self.agent.wall_timeout.clone()),
            idle_timeout: table
                .and_then(|table| table.idle_timeout.clone())
                .or_else(|| self.agent.idle_timeout.clone()),
            ..self.agent.clone()
        };
        own.limits()
    }
}

impl AgentConfig {
    /// What bounds an agent.
    #[must_use]
    pub fn limits(&self) -> crate::process::Limits {
        let seconds = |text: &str| parse_duration(text).ok().map(Duration::from_secs);
        crate::process::Limits {
            wall: seconds(&self.wall_timeout),
            idle: self.idle_timeout.as_deref().and_then(seconds),
            output_bytes_max: Some(self.output_bytes_max),
            grace: seconds(&self.grace).unwrap_or(Duration::from_secs(5)),
        }
    }
}
