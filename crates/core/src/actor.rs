//! Who caused an event.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Who caused an event. Stored with each event as `kind:name`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind", content = "name")]
pub enum Actor {
    /// A person, by name.
    Person(String),
    /// A runner of piton, by what it runs as (`host/pid`).
    Runner(String),
    /// An agent that piton started, by attempt.
    Agent(String),
    /// A file that was changed outside piton, by path.
    File(String),
}

impl fmt::Display for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Person(name) => write!(f, "person:{name}"),
            Self::Runner(name) => write!(f, "runner:{name}"),
            Self::Agent(name) => write!(f, "agent:{name}"),
            Self::File(name) => write!(f, "file:{name}"),
        }
    }
}

impl Actor {
    /// The name alone, as people say it.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Person(name) | Self::Runner(name) | Self::Agent(name) | Self::File(name) => name,
        }
    }

    /// Reads what [`Display`](fmt::Display) wrote; a text of another form is a person's name.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        match text.split_once(':') {
            Some(("runner", name)) => Self::Runner(name.to_owned()),
            Some(("agent", name)) => Self::Agent(name.to_owned()),
            Some(("file", name)) => Self::File(name.to_owned()),
            Some(("person", name)) => Self::Person(name.to_owned()),
            Some(_) | None => Self::Person(text.to_owned()),
        }
    }
}
