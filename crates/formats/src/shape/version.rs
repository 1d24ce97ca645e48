//! Which version of a file can be read.

use std::fmt;

/// The version of a format. Versions compare as numbers: 10.0 is newer than 2.0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FormatVersion {
    /// Grows when older readers would misunderstand.
    pub major: u64,
    /// Grows when keys are added.
    pub minor: u64,
}

impl FormatVersion {
    /// The version that piton writes of every format that has one.
    pub const CURRENT: Self = Self { major: 1, minor: 0 };

    /// Reads `1`, `1.0` or `1.0.3`; what is beyond 64 bits counts as newest.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('.').map(|part| {
            let digits = !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
            digits.then(|| part.parse().unwrap_or(u64::MAX))
        });
        let major = parts.next()??;
        let minor = match parts.next() {
            None => 0,
            Some(minor) => minor?,
        };
        parts
            .all(|part| part.is_some())
            .then_some(Self { major, minor })
    }

    /// Says why a file of this version cannot be read, if it cannot.
    ///
    /// A newer minor version is read, and its unknown keys are kept.
    ///
    /// # Errors
    ///
    /// A sentence, when the major version is newer than [`FormatVersion::CURRENT`].
    pub fn check_readable(self) -> Result<(), String> {
        let newest = Self::CURRENT.major;
        if self.major <= newest {
            return Ok(());
        }
        Err(format!(
            "version {self} of this format is newer than this piton, which reads {newest}.x"
        ))
    }
}

impl fmt::Display for FormatVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}
