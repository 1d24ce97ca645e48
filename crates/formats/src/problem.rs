//! What is wrong in a file that a person wrote: where, what, and how to fix it.
//!
//! A [`Problem`] is plain data. The caller decides how to draw it beside its source
//! line; [`Problem::bytes`] is what to underline.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use serde::{Serialize, Serializer};

use crate::yaml::Span;

/// A file: what to call it, and what is in it.
#[derive(Clone, Copy, Debug)]
pub struct SourceText<'a> {
    /// The name to show in problems.
    pub name: &'a str,
    /// The content.
    pub text: &'a str,
}

/// How bad a problem is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The file cannot be used as it is.
    Error,
    /// The file can be used; something in it is not what its writer meant.
    Warning,
}

impl Severity {
    /// The word that stands in JSON: `error` or `warning`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
        }
    }
}

impl Serialize for Severity {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// One mistake in one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// A stable name such as `GATE_MISSING_SCRIPT`.
    pub code: Cow<'static, str>,
    /// Whether the file can still be used.
    pub severity: Severity,
    /// Where in the document, as in `phases[1].gate.script`; empty for the whole.
    pub path: String,
    /// The file, as the caller wants it shown.
    pub file: String,
    /// The line, counted from 1.
    pub line: u32,
    /// The column, counted from 1, in characters.
    pub column: u32,
    /// What was found and what was expected: a lower-case fragment.
    pub message: String,
    /// How to mend it.
    pub hint: String,
    /// The bytes of the source to underline; empty when there is only a point.
    #[serde(skip)]
    pub bytes: Range<usize>,
}

impl Problem {
    /// An error at `span` of `file`.
    pub fn error(code: &'static str, file: &str, path: impl Into<String>, span: Span) -> Self {
        Self {
            code: Cow::Borrowed(code),
            severity: Severity::Error,
            path: path.into(),
            file: file.to_owned(),
            line: span.line,
            column: span.column,
            message: String::new(),
            hint: String::new(),
            bytes: span.start..span.end,
        }
    }

    /// A warning at `span` of `file`.
    pub fn warning(code: &'static str, file: &str, path: impl Into<String>, span: Span) -> Self {
        Self {
            severity: Severity::Warning,
            ..Self::error(code, file, path, span)
        }
    }

    /// The same problem, saying `message` and how to mend it.
    #[must_use]
    pub fn with_message(mut self, message: impl Into<String>, hint: impl Into<String>) -> Self {
        self.message = message.into();
        self.hint = hint.into();
        self
    }

    /// Whether the file cannot be used as it is.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

impl fmt::Display for Problem {
    /// One line: `file:line:column: severity: message [code]`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}:{}:{}: {}: {} [{}]",
            self.file,
            self.line,
            self.column,
            self.severity.as_str(),
            self.message,
            self.code
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_json_has_exactly_the_published_keys() {
        let problem = Problem::error(
            "INVALID_GATE",
            "w.yaml",
            "phases[0].gate",
            Span {
                start: 10,
                end: 13,
                line: 2,
                column: 4,
            },
        )
        .with_message("a gate must be a mapping", "give it a script");
        insta::assert_snapshot!(
            serde_json::to_string(&problem).expect("plain data"),
            @r#"{"code":"INVALID_GATE","severity":"error","path":"phases[0].gate","file":"w.yaml","line":2,"column":4,"message":"a gate must be a mapping","hint":"give it a script"}"#
        );
    }
}
