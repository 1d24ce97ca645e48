//! `guardrails.md`: signs that an agent reads before it begins.
//!
//! Two dialects: `## Active Guardrails` and `## Resolved Guardrails`, or
//! `## Core Signs` and `## Learned Signs`. What a sign says is kept as it was
//! written, code blocks, lists and unknown fields too; a sign that is resolved
//! moves with every byte.
//!
//! Rules are met in other forms, too: below a heading of their own, with fields
//! of other names, or as plain lines. They are read as what they are, and stay
//! in their form.

pub(super) mod edit;
mod lines;
mod read;

use std::ops::Range;

use crate::tree::Span;

pub(in crate::ralph_dir) use edit::find_ends;
pub use edit::{add_signs, resolve_sign, set_sign_field};
pub(super) use lines::is_specific_heading;
pub use read::{check_guardrails, parse_guardrails};

use crate::project_format::UnreadText;

/// What a `guardrails.md` says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Guardrails {
    /// The signs, in the order of the file.
    pub signs: Vec<GuardrailSign>,
    /// What may be rules, and could not be read as such.
    pub unread: Vec<UnreadText>,
}

impl Guardrails {
    /// The sign of this name: one that holds before one that is resolved.
    pub fn find_sign(&self, name: &str) -> Option<&GuardrailSign> {
        let of_name = || self.signs.iter().filter(|sign| sign.name == name);
        of_name()
            .find(|sign| !sign.resolved)
            .or_else(|| of_name().next())
    }
}

/// In which form a rule is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleForm {
    /// `### Sign: NAME` with fields: the form of the format.
    Sign,
    /// Another heading with what to do below it: `### G1: NAME`.
    Titled,
    /// A line below a heading, in a list or not.
    Line,
}

/// One sign, as it stands in the file.
#[derive(Clone, Debug, PartialEq)]
pub struct GuardrailSign {
    /// In which form it is written.
    pub form: RuleForm,
    /// Its name, in one line.
    pub name: String,
    /// The heading that it stands under.
    pub section: Option<String>,
    /// Whether it no longer holds.
    pub resolved: bool,
    /// Its fields, in their order.
    pub fields: Vec<SignField>,
    /// Its heading.
    pub span: Span,
    /// Its lines from the heading to the last that is not blank, in bytes.
    pub bytes: Range<usize>,
}

/// A field of a sign: `- **Trigger**: …`.
#[derive(Clone, Debug, PartialEq)]
pub struct SignField {
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

    /// What others call it, below headings that do not begin with `Sign:`.
    const fn aliases(self) -> &'static [&'static str] {
        match self {
            Self::Trigger => &[
                "Pattern",
                "When",
                "Problem",
                "Symptom",
                "Issue",
                "Situation",
                "Context",
            ],
            Self::Instruction => &[
                "Fix",
                "Rule",
                "Action",
                "Solution",
                "Do",
                "Then",
                "Guardrail",
                "Prevention",
                "Mitigation",
            ],
            Self::Evidence => &["Why", "Reason", "Rationale", "Root cause", "Cause"],
            Self::AddedAfter => &["Added", "Learned", "Discovered", "Since", "Source", "Date"],
            Self::Resolved => &[],
        }
    }

    /// The field that is called so, in its own word or another.
    fn from_word(word: &str) -> Option<Self> {
        let is = |name: &&Self| {
            let mut all = std::iter::once(name.as_str()).chain(name.aliases().iter().copied());
            all.any(|known| known.eq_ignore_ascii_case(word))
        };
        Self::ALL.iter().find(is).copied()
    }
}

impl GuardrailSign {
    /// What a field says.
    pub fn get(&self, name: FieldName) -> Option<&str> {
        self.find_field(name).map(|field| field.value.as_str())
    }

    fn find_field(&self, name: FieldName) -> Option<&SignField> {
        let called = |word: &str| {
            let mut fields = self.fields.iter();
            fields.find(|field| field.name.eq_ignore_ascii_case(word))
        };
        let other = || match self.form {
            RuleForm::Titled => name.aliases().iter().find_map(|word| called(word)),
            RuleForm::Sign | RuleForm::Line => None,
        };
        called(name.as_str()).or_else(other)
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
