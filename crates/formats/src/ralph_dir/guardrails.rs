//! `guardrails.md`: signs that an agent reads before it begins.
//!
//! Two dialects: `## Active Guardrails` and `## Resolved Guardrails`, or
//! `## Core Signs` and `## Learned Signs`. What a sign says is kept as it was
//! written, code blocks, lists and unknown fields too; a sign that is resolved
//! moves with every byte.

pub(super) mod edit;
mod read;

use std::ops::Range;

use crate::tree::Span;

pub use edit::{add_sign, change_sign, resolve_sign};
pub use read::{check, read};

/// What a `guardrails.md` says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Guardrails {
    /// The signs, in the order of the file.
    pub signs: Vec<Sign>,
}

impl Guardrails {
    /// The sign of this name: one that holds before one that is resolved.
    pub fn sign(&self, name: &str) -> Option<&Sign> {
        let of_name = || self.signs.iter().filter(|sign| sign.name == name);
        of_name()
            .find(|sign| !sign.resolved)
            .or_else(|| of_name().next())
    }
}

/// One sign, as it stands in the file.
#[derive(Clone, Debug, PartialEq)]
pub struct Sign {
    /// Its name, in one line.
    pub name: String,
    /// The heading that it stands under.
    pub section: Option<String>,
    /// Whether it no longer holds.
    pub resolved: bool,
    /// Its fields, in their order.
    pub fields: Vec<Field>,
    /// Its heading.
    pub span: Span,
    /// Its lines from the heading to the last that is not blank, in bytes.
    pub bytes: Range<usize>,
}

/// A field of a sign: `- **Trigger**: …`.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// Its name, as written.
    pub name: String,
    /// What it says. Lines behind the first are as in the file, less the
    /// indentation of a list item.
    pub value: String,
    /// Where its name starts.
    pub span: Span,
    /// Where its value stands.
    pub bytes: Range<usize>,
}

/// The fields that the format knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldName {
    /// When the sign holds.
    Trigger,
    /// What to do.
    Instruction,
    /// What showed that it is needed.
    Evidence,
    /// When it was put up, and why.
    AddedAfter,
    /// When it was resolved, and why.
    Resolved,
}

impl FieldName {
    /// All of them, in the order in which they are written.
    pub const ALL: [Self; 5] = [
        Self::Trigger,
        Self::Instruction,
        Self::Evidence,
        Self::AddedAfter,
        Self::Resolved,
    ];

    /// As it is written.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Trigger => "Trigger",
            Self::Instruction => "Instruction",
            Self::Evidence => "Evidence",
            Self::AddedAfter => "Added after",
            Self::Resolved => "Resolved",
        }
    }
}

impl Sign {
    /// What a field says.
    pub fn get(&self, name: FieldName) -> Option<&str> {
        self.field(name).map(|field| field.value.as_str())
    }

    fn field(&self, name: FieldName) -> Option<&Field> {
        self.fields
            .iter()
            .find(|field| field.name.eq_ignore_ascii_case(name.as_str()))
    }
}

/// A sign to be put up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewSign {
    /// Its name, in one line.
    pub name: String,
    /// When it holds.
    pub trigger: String,
    /// What to do; may have several lines, with code.
    pub instruction: String,
    /// What showed that it is needed.
    pub evidence: Option<String>,
    /// When it was put up, and why.
    pub added_after: String,
}
