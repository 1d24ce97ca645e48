//! Any shell command as an agent: it reads the prompt and prints text.

use piton_core::attempt::Usage;

use super::{Agent, AgentOutputReader, LaunchCommand, LaunchOptions};
use crate::failure::Failure;
use crate::process::ProcessProgram;

/// A line for `sh -c`.
#[derive(Clone, Debug)]
pub struct Shell {
    command: String,
}

impl Shell {
    /// The agent that this line starts.
    #[must_use]
    pub fn new(command: impl Into<String>) -> Self {
        Self {
            command: command.into(),
        }
    }
}

impl Agent for Shell {
    fn launch_command(&self, _order: &LaunchOptions<'_>) -> Result<LaunchCommand, Failure> {
        Ok(LaunchCommand {
            program: ProcessProgram::Shell(self.command.clone()),
            env: Vec::new(),
        })
    }

    fn output_reader(&self, _before: Option<&Usage>) -> Option<AgentOutputReader> {
        None
    }
}
