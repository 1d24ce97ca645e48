//! Memory: what is worth knowing the next time. Learnings, patterns, guardrails,
//! and how what was in the way was resolved.
//!
//! What is remembered is added, revised and retired by events; nothing is ever
//! taken out. Nothing here finds what helps: that is recall, built on these rows.

mod origin;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::checkout::Checkout;
use crate::native::Native;
use crate::word::words;

pub use self::origin::{MemoryOrigin, UnconfirmedPolicy};

words! {
    /// What kind of memory it is.
    MemoryKind {
        /// Something that was learned.
        Learning = "learning",
        /// How this code base does things.
        Pattern = "pattern",
        /// What to do instead of what went wrong; seed 002 calls it a sign.
        Guardrail = "guardrail",
        /// What was in the way once, and how it was resolved.
        ResolvedBlocker = "resolved-blocker",
    }
}

/// How many kinds there are.
pub const KINDS: usize = MemoryKind::ALL.len();

impl MemoryKind {
    /// What ids of this kind begin with.
    #[must_use]
    pub fn prefix(self) -> &'static str {
        match self {
            Self::Learning => "learning",
            Self::Pattern => "pattern",
            Self::Guardrail => "sign",
            Self::ResolvedBlocker => "blocker",
        }
    }

    /// The id with that number: `learning-0007`.
    #[must_use]
    pub fn format_id(self, number: u64) -> String {
        format!("{}-{number:04}", self.prefix())
    }

    /// The number in an id of this kind.
    #[must_use]
    pub fn parse_number(self, id: &str) -> Option<u64> {
        let digits = id.strip_prefix(self.prefix())?.strip_prefix('-')?;
        (digits.len() >= 4 && digits.bytes().all(|byte| byte.is_ascii_digit()))
            .then(|| digits.parse().ok())?
    }

    /// The types that fit, as seed 000 lists them; none for the other kinds.
    #[must_use]
    pub fn allowed_topics(self) -> &'static [&'static str] {
        match self {
            Self::Learning => LearningType::WORDS,
            Self::Pattern => PatternType::WORDS,
            Self::Guardrail | Self::ResolvedBlocker => &[],
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
    /// What it is about: one of [`MemoryKind::allowed_topics`].
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub topic: Option<String>,
    /// The name of a pattern or of a guardrail; what was in the way, of a
    /// resolved blocker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What to know: a learning's content, a pattern's description, a
    /// guardrail's instruction, how a blocker was resolved.
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
    /// The id that it had where it was imported from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external_id: Option<String>,
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
    pub fn new(kind: MemoryKind, content: impl Into<String>) -> Self {
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
            external_id: None,
            times_referenced: None,
            native: None,
        }
    }
}

/// So many further sources are kept with something; all stand in the journal.
pub const AGAIN_KEPT: usize = 20;

/// Where something was learned once more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemorySource {
    /// The item.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<String>,
    /// The attempt, by its name in `.ralph/progress.json`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<String>,
}

/// What came of the attempts whose prompts carried something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryUses {
    /// How many started with it.
    #[serde(default)]
    pub referenced: u64,
    /// At how many of them the item was done.
    #[serde(default)]
    pub helped: u64,
    /// At how many it failed.
    #[serde(default)]
    pub failed: u64,
}

impl MemoryUses {
    fn is_empty(&self) -> bool {
        *self == Self::default()
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
    /// What takes its place, by its id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub superseded_by: Option<String>,
}

/// That a person wants something to be followed, as it stands now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Endorsement {
    /// Who: a person, or the file in which a person wrote it here.
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
    /// Where the same was learned again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub again: Vec<MemorySource>,
    /// What came of using it.
    #[serde(default, skip_serializing_if = "MemoryUses::is_empty")]
    pub uses: MemoryUses,
    /// How many attempts had failed with it when a person was asked about it last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked_at_failed: Option<u64>,
    /// What was checked out when it was recorded, or last changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkout: Option<Checkout>,
    /// Who wants it to be followed, beside the one who recorded it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endorsed: Option<Endorsement>,
    /// The file in which its words were changed since, by an unknown writer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reworded: Option<String>,
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
    #[serde(default)]
    again: Vec<MemorySource>,
    #[serde(default)]
    uses: MemoryUses,
    #[serde(default)]
    asked_at_failed: Option<u64>,
    #[serde(default)]
    checkout: Option<Checkout>,
    #[serde(default)]
    endorsed: Option<Endorsement>,
    #[serde(default)]
    reworded: Option<String>,
}

impl From<StoredRow> for MemoryRow {
    fn from(row: StoredRow) -> Self {
        let id = row.memory.id.clone();
        Self {
            id: id.unwrap_or_else(|| row.memory.kind.format_id(row.number)),
            number: row.number,
            position: row.position,
            added_at: row.added_at,
            by: row.by,
            memory: row.memory,
            retired: row.retired,
            again: row.again,
            uses: row.uses,
            asked_at_failed: row.asked_at_failed,
            checkout: row.checkout,
            endorsed: row.endorsed,
            reworded: row.reworded,
        }
    }
}

impl MemoryRow {
    /// Something that was just recorded.
    #[must_use]
    pub fn new(id: String, memory: Memory, position: u64, added_at: Timestamp, by: String) -> Self {
        Self {
            number: memory.kind.parse_number(&id).unwrap_or(0),
            id,
            position,
            added_at,
            by,
            memory,
            retired: None,
            again: Vec::new(),
            uses: MemoryUses::default(),
            asked_at_failed: None,
            checkout: None,
            endorsed: None,
            reworded: None,
        }
    }

    /// Whether it is still followed.
    #[must_use]
    pub fn is_followed(&self) -> bool {
        self.retired.is_none()
    }

    /// How often it was used, here and before it was taken over.
    #[must_use]
    pub fn times_referenced(&self) -> Option<u64> {
        let here = Some(self.uses.referenced).filter(|count| *count > 0);
        match (self.memory.times_referenced, here) {
            (Some(before), Some(here)) => Some(before.saturating_add(here)),
            (before, here) => before.or(here),
        }
    }

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
            ..Memory::new(MemoryKind::Learning, "run `make gen` first")
        };
        let row = MemoryRow {
            uses: MemoryUses {
                referenced: 3,
                helped: 1,
                failed: 2,
            },
            ..MemoryRow::new(
                "learning-0007".to_owned(),
                memory,
                3,
                Timestamp::UNIX_EPOCH,
                "person:ada".to_owned(),
            )
        };
        let text = serde_json::to_string(&row).expect("a row can be said in JSON");
        assert_eq!(text.matches("\"id\"").count(), 1, "{text}");
        assert_eq!(serde_json::from_str::<MemoryRow>(&text).ok(), Some(row));
    }

    #[test]
    fn an_id_counts_on_past_four_digits() {
        assert_eq!(MemoryKind::Learning.format_id(7), "learning-0007");
        assert_eq!(MemoryKind::Learning.format_id(12_345), "learning-12345");
        assert_eq!(
            MemoryKind::Learning.parse_number("learning-12345"),
            Some(12_345)
        );
        assert_eq!(MemoryKind::Learning.parse_number("learning-0000"), Some(0));
        assert_eq!(MemoryKind::Learning.parse_number("learning-07"), None);
        assert_eq!(MemoryKind::Pattern.parse_number("learning-0007"), None);
    }
}
