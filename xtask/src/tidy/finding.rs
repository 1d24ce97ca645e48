//! What is wrong with the repository, and where.

use std::fmt;

use crate::tree::Text;

/// Something that is wrong, and where.
pub(super) struct Finding {
    pub(super) path: String,
    pub(super) line: usize,
    pub(super) what: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.what)
    }
}

impl Finding {
    /// Wrong at a byte of a file.
    pub(super) fn at(file: &Text, offset: usize, what: impl Into<String>) -> Self {
        let before = file.text.get(..offset).unwrap_or_default();
        Self {
            path: file.path.clone(),
            line: before.matches('\n').count() + 1,
            what: what.into(),
        }
    }

    /// Wrong with a file as a whole, or with one that is not there.
    pub(super) fn of(path: impl Into<String>, what: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            line: 1,
            what: what.into(),
        }
    }
}

/// The file of that path.
pub(super) fn file<'a>(files: &'a [Text], path: &str) -> Option<&'a Text> {
    files.iter().find(|file| file.path == path)
}

/// The text between backquotes, one after another.
pub(super) fn quoted(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).collect()
}
