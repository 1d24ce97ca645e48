//! What a blocker may say is not there.

/// Something that a blocker says is not there.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MissingThing {
    /// An environment variable is not set.
    Variable(String),
    /// A file or a folder is not there.
    File(String),
    /// A command cannot be found.
    Command(String),
    /// Nothing listens at a port of this machine.
    Port(u16),
}
