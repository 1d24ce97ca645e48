//! Memory: what is worth knowing the next time. Learnings, patterns, guardrails.
//!
//! What is remembered is added, revised and retired by events; nothing is ever
//! taken out. Nothing here finds what helps: that is recall, built on these rows.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::native::Native;
use crate::word::words;

words! {
    /// What kind of memory it is.
    MemoryKind {
        /// Something that was learned.
        Learning = "learning",
        /// How this code base does things.
        Pattern = "pattern",
        /// What to do instead of what went wrong; seed 002 calls it a sign.
        Guardrail = "guardrail",
    }
}

impl MemoryKind {
    /// What ids of this kind begin with.
    #[must_use]
    pub fn prefix(self) -> &'static str {
        match self {
            Self::Learning => "learning",
            Self::Pattern => "pattern",
            Self::Guardrail => "sign",
        }
    }

    /// The id with that number: `learning-0007`.
    #[must_use]
    pub fn id(self, number: u64) -> String {
        format!("{}-{number:04}", self.prefix())
    }

    /// The number in an id of this kind.
    #[must_use]
    pub fn number(self, id: &str) -> Option<u64> {
        let digits = id.strip_prefix(self.prefix())?.strip_prefix('-')?;
        (digits.len() >= 4 && digits.bytes().all(|byte| byte.is_ascii_digit()))
            .then(|| digits.parse().ok())?
    }

    /// The types that fit, as seed 000 lists them; none for a guardrail.
    #[must_use]
    pub fn types(self) -> &'static [&'static str] {
        match self {
            Self::Learning => LearningType::WORDS,
            Self::Pattern => PatternType::WORDS,
            Self::Guardrail => &[],
        }
    }
}

words! {
    /// What a learning is about: the eight types of seed 000.
    LearningType {
        /// How this code base does things.
        CodebasePattern = "codebase-pattern",
        /// How it is built.
        BuildCommand = "build-command",
        /// How it is tested.
        TestPattern = "test-pattern",
        /// How an interface is used.
        ApiConvention = "api-convention",
        /// What helps against an error.
        ErrorWorkaround = "error-workaround",
        /// How a tool is used.
        ToolUsage = "tool-usage",
        /// What the arrangement of the parts demands.
        ArchitectureConstraint = "architecture-constraint",
        /// What is odd about something that is depended on.
        DependencyQuirk = "dependency-quirk",
    }
}

words! {
    /// What a pattern is about: the eight types of seed 000.
    PatternType {
        /// Where files stand.
        FileStructure = "file-structure",
        /// How things are called.
        NamingConvention = "naming-convention",
        /// How interfaces look.
        ApiPattern = "api-pattern",
        /// How tests look.
        TestPattern = "test-pattern",
        /// What happens to errors.
        ErrorHandling = "error-handling",
        /// Where state is kept.
        StateManagement = "state-management",
        /// How it is built.
        BuildPattern = "build-pattern",
        /// How it is put into service.
        DeploymentPattern = "deployment-pattern",
    }
}

words! {
    /// How sure it is that a pattern is one.
    Confidence {
        /// Very.
        High = "high",
        /// Somewhat.
        Medium = "medium",
        /// Hardly.
        Low = "low",
    }
}

/// What is worth knowing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Memory {
    /// What kind it is.
    pub kind: MemoryKind,
    /// The id that it has in a file; the next one when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// What it is about: one of [`MemoryKind::types`].
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub topic: Option<String>,
    /// The name of a pattern or of a guardrail.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What to know: a learning's content, a pattern's description, a
    /// guardrail's instruction.
    pub content: String,
    /// Where it applies; a guardrail's trigger.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    /// What shows that it is so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<String>,
    /// After what a guardrail was put up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub added_after: Option<String>,
    /// Paths or snippets that show a pattern.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<String>,
    /// How sure it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<Confidence>,
    /// The item that it came from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_item: Option<String>,
    /// The attempt that it came from, by its name in `.ralph/progress.json`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_attempt: Option<String>,
    /// When it was learned, where that was before it was recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub learned_at: Option<Timestamp>,
    /// How often it was used before it was taken over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times_referenced: Option<u64>,
    /// What only its native file has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub native: Option<Native>,
}

impl Memory {
    /// Something worth knowing, and nothing said about it.
    #[must_use]
    pub fn bare(kind: MemoryKind, content: impl Into<String>) -> Self {
        Self {
            kind,
            id: None,
            topic: None,
            title: None,
            content: content.into(),
            context: None,
            evidence: None,
            added_after: None,
            examples: Vec::new(),
            confidence: None,
            source_item: None,
            source_attempt: None,
            learned_at: None,
            times_referenced: None,
            native: None,
        }
    }
}

/// That something is no longer to be followed, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Retirement {
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Who said so.
    pub by: String,
    /// When.
    pub at: Timestamp,
}

/// What the read tables know of something remembered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "StoredRow")]
pub struct MemoryRow {
    /// Its id: `learning-0007`. Stored as that of the memory itself, once.
    #[serde(skip_serializing)]
    pub id: String,
    /// The number in its id.
    pub number: u64,
    /// The position of its first event in the stream of the memory.
    pub position: u64,
    /// When it was recorded.
    pub added_at: Timestamp,
    /// Who recorded it.
    pub by: String,
    /// What it says.
    #[serde(flatten)]
    pub memory: Memory,
    /// Why it is not followed any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retired: Option<Retirement>,
}

/// A row as it is stored.
#[derive(Deserialize)]
struct StoredRow {
    number: u64,
    position: u64,
    added_at: Timestamp,
    by: String,
    #[serde(flatten)]
    memory: Memory,
    #[serde(default)]
    retired: Option<Retirement>,
}

impl From<StoredRow> for MemoryRow {
    fn from(row: StoredRow) -> Self {
        let id = row.memory.id.clone();
        Self {
            id: id.unwrap_or_else(|| row.memory.kind.id(row.number)),
            number: row.number,
            position: row.position,
            added_at: row.added_at,
            by: row.by,
            memory: row.memory,
            retired: row.retired,
        }
    }
}

impl MemoryRow {
    /// When it was learned.
    #[must_use]
    pub fn learned_at(&self) -> Timestamp {
        self.memory.learned_at.unwrap_or(self.added_at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_read_as_it_was_stored() {
        let memory = Memory {
            id: Some("learning-0007".to_owned()),
            ..Memory::bare(MemoryKind::Learning, "run `make gen` first")
        };
        let row = MemoryRow {
            id: "learning-0007".to_owned(),
            number: 7,
            position: 3,
            added_at: Timestamp::UNIX_EPOCH,
            by: "person:ada".to_owned(),
            memory,
            retired: None,
        };
        let text = serde_json::to_string(&row).expect("a row can be said in JSON");
        assert_eq!(text.matches("\"id\"").count(), 1, "{text}");
        assert_eq!(serde_json::from_str::<MemoryRow>(&text).ok(), Some(row));
    }

    #[test]
    fn an_id_counts_on_past_four_digits() {
        assert_eq!(MemoryKind::Learning.id(7), "learning-0007");
        assert_eq!(MemoryKind::Learning.id(12_345), "learning-12345");
        assert_eq!(MemoryKind::Learning.number("learning-12345"), Some(12_345));
        assert_eq!(MemoryKind::Learning.number("learning-0000"), Some(0));
        assert_eq!(MemoryKind::Learning.number("learning-07"), None);
        assert_eq!(MemoryKind::Pattern.number("learning-0007"), None);
    }
}
