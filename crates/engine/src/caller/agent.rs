//! Who gives a command, and what it may do.
//!
//! Only the facts: how a caller is recognized is said by [`classify_caller`](super::classify_caller).

use std::path::PathBuf;

use piton_core::{Actor, AttemptRow};

use crate::failure::Failure;
use crate::process::MARK;

/// Who may give a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandAccess {
    /// Every caller: it changes nothing.
    Read,
    /// Every caller; what it stores is stored in the name of the caller.
    Signed,
    /// A person, and an agent for the item of its attempt.
    OwnItem,
    /// A person.
    Person,
}

/// A command, as far as it matters who may give it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Permission {
    /// The command as it is typed: `piton decide`.
    pub command: &'static str,
    /// Who may give it.
    pub access: CommandAccess,
    /// A path that was typed and says which project is meant.
    pub place: Option<PathBuf>,
}

impl Permission {
    /// That of a command for the project of the present folder.
    #[must_use]
    pub fn new(command: &'static str, access: CommandAccess) -> Self {
        Self {
            command,
            access,
            place: None,
        }
    }

    /// The same for the project that `typed` lies in, where there is such a path.
    #[must_use]
    pub fn for_path(self, typed: Option<impl Into<PathBuf>>) -> Self {
        Self {
            place: typed.map(Into::into),
            ..self
        }
    }
}

/// Who calls.
#[derive(Clone, Debug)]
pub enum Caller {
    /// A person, or a program that a person started.
    Person,
    /// An agent of this project, or what its runner started beside.
    Agent(Box<CallingAgent>),
}

/// A caller that is no person.
#[derive(Clone, Debug)]
pub struct CallingAgent {
    /// Its attempt, also one that is over; none for a gate or a hook of git,
    /// which belong to a run and to no attempt.
    pub attempt: Option<AttemptRow>,
    /// The name of the run.
    pub run: Option<String>,
    /// What it was recognized by.
    pub sign: AgentEvidence,
    /// What it is called where there is no attempt.
    pub(super) name: String,
}

/// What an agent was recognized by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentEvidence {
    /// The mark in its own environment.
    Environment,
    /// The mark in the environment of this process above it.
    AncestorEnvironment(u32),
    /// Descent from this process, which is recorded for an attempt or a gate.
    Recorded(u32),
    /// Descent from this process, which is a runner.
    Runner(u32),
}

impl CallingAgent {
    /// In whose name it stores something.
    #[must_use]
    pub fn actor(&self) -> Actor {
        Actor::Agent(match &self.attempt {
            Some(attempt) => attempt.id.to_string(),
            None => self.name.clone(),
        })
    }

    /// Who it is, for a sentence.
    pub(crate) fn description(&self) -> String {
        let run = self.run.as_deref();
        match (&self.attempt, run) {
            (Some(attempt), Some(run)) => {
                format!(
                    "the agent of attempt {} at `{run}:{}`",
                    attempt.number, attempt.node
                )
            }
            (Some(attempt), None) => {
                format!(
                    "the agent of attempt {} at `{}`",
                    attempt.number, attempt.node
                )
            }
            (None, Some(run)) => format!("a process of run `{run}`"),
            (None, None) => "a process of a run".to_owned(),
        }
    }

    /// Why it is taken for that.
    fn describe_evidence(&self) -> String {
        match self.sign {
            AgentEvidence::Environment => format!("{MARK} is in its environment"),
            AgentEvidence::AncestorEnvironment(pid) => {
                format!("{MARK} is in the environment of process {pid}, from which it descends")
            }
            AgentEvidence::Recorded(pid) => {
                format!("it descends from process {pid}, which the run started")
            }
            AgentEvidence::Runner(pid) => format!("it descends from process {pid}, the runner"),
        }
    }

    /// That it may not give a command, or not for what was named.
    pub(crate) fn not_allowed_failure(&self, what: &str) -> Failure {
        Failure::new(
            "agent.not_allowed",
            format!(
                "{what}, and this caller is {}: {}",
                self.description(),
                self.describe_evidence()
            ),
        )
    }
}

/// What a caller was let do, and where.
#[derive(Clone, Debug)]
pub(crate) struct AdmittedCommand {
    pub(super) permission: Permission,
    /// The home of the project that was looked at.
    pub(super) home: PathBuf,
}
