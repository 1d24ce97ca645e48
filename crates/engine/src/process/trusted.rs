//! The door: what may be started of a project. See `docs/design/0050-trust.md`.

/// A command that may be started.
///
/// Made by [`crate::config::trust::TrustCheck`] alone: what starts something takes this, and no text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trusted<T>(T);

impl<T> Trusted<T> {
    /// The command.
    pub fn as_inner(&self) -> &T {
        &self.0
    }

    /// What a check has found to be trusted. Only the check of trust calls this, which
    /// `cargo xtask tidy` sees to.
    pub(crate) fn of_checked(command: T) -> Self {
        Self(command)
    }

    /// A command of a test.
    #[cfg(any(test, feature = "failpoints"))]
    pub fn of_test(command: T) -> Self {
        Self(command)
    }
}

impl Trusted<String> {
    /// The same, with its errors where it prints all else.
    pub(crate) fn with_joined_output(&self) -> Self {
        Self(format!("exec 2>&1\n{}", self.0))
    }
}
