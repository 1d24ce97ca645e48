//! Any shell command as an agent: it reads the prompt and prints text.

use piton_core::attempt::Usage;

use super::{Agent, Launch, Order, Reader};
use crate::failure::Failure;
use crate::process::Program;

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
    fn launch(&self, _order: &Order<'_>) -> Result<Launch, Failure> {
        Ok(Launch {
            program: Program::Shell(self.command.clone()),
            env: Vec::new(),
        })
    }

    fn reader(&self, _before: Option<&Usage>) -> Option<Box<dyn Reader>> {
        None
    }
}
