//! How much of a file was taken, as plain data.

use serde::{Serialize, Serializer};

use crate::shape::KeyComparison;

/// So many of the things that were not taken are named.
const NAMED_MAX: usize = 3;
/// Most characters of one of them.
const CHARS_MAX: usize = 80;

/// What of a file was taken, and what was not.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Adoption {
    /// Each kind of thing that the file holds.
    pub counts: Vec<AdoptionCount>,
}

/// How many things of one kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AdoptionCount {
    /// Of which kind.
    pub what: CountedKind,
    /// How many were taken.
    pub taken: usize,
    /// How many were not.
    pub left: usize,
    /// The first of those that were not.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub first: Vec<SkippedEntry>,
    /// How the format has it, where something was not taken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<&'static str>,
    /// Whether piton never imports anything of this kind, so that there is nothing to do.
    #[serde(skip_serializing_if = "is_false")]
    pub never_taken: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn is_false(value: &bool) -> bool {
    !*value
}

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CountedKind {
    /// What a log, or a plan, lists.
    Entries,
    /// Headings.
    Headings,
    /// Rules to keep to.
    Rules,
    /// Keys of mappings.
    Keys,
    /// Boxes that are ticked.
    TickedBoxes,
}

impl CountedKind {
    /// The words for so many.
    #[must_use]
    pub const fn noun(self, count: usize) -> &'static str {
        match (self, count) {
            (Self::Entries, 1) => "entry",
            (Self::Entries, _) => "entries",
            (Self::Headings, 1) => "heading",
            (Self::Headings, _) => "headings",
            (Self::Rules, 1) => "rule",
            (Self::Rules, _) => "rules",
            (Self::Keys, 1) => "key",
            (Self::Keys, _) => "keys",
            (Self::TickedBoxes, 1) => "ticked box",
            (Self::TickedBoxes, _) => "ticked boxes",
        }
    }
}

impl Serialize for CountedKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.noun(0))
    }
}

/// One thing that was not taken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SkippedEntry {
    /// Its line, from 1.
    pub line: u32,
    /// What stands there.
    pub text: String,
    /// Of a key: the known one that was most likely meant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nearest: Option<&'static str>,
}

impl SkippedEntry {
    /// The words of a line.
    #[must_use]
    pub fn new(line: u32, text: &str) -> Self {
        let text = text.trim().lines().next().unwrap_or_default().trim_end();
        let text = piton_core::quote::truncate_chars(text, CHARS_MAX);
        let nearest = None;
        Self {
            line,
            text,
            nearest,
        }
    }
}

impl AdoptionCount {
    /// So many that were taken, and those that were not.
    #[must_use]
    pub fn new(
        what: CountedKind,
        taken: usize,
        left: impl IntoIterator<Item = SkippedEntry>,
    ) -> Self {
        let mut left = left.into_iter();
        let first: Vec<SkippedEntry> = left.by_ref().take(NAMED_MAX).collect();
        Self {
            what,
            taken,
            left: first.len() + left.count(),
            first,
            hint: None,
            never_taken: false,
        }
    }

    /// Those of a file that piton writes into and takes nothing from.
    #[must_use]
    pub fn new_write_only(what: CountedKind, left: impl IntoIterator<Item = SkippedEntry>) -> Self {
        let never_taken = true;
        Self {
            never_taken,
            ..Self::new(what, 0, left)
        }
    }

    /// The same, and how the format has such things.
    #[must_use]
    pub fn with_hint(mut self, hint: &'static str) -> Self {
        self.hint = (self.left > 0).then_some(hint);
        self
    }

    pub(super) fn from_keys(keys: KeyComparison) -> Self {
        let left = keys.unknown.into_iter().map(|key| SkippedEntry {
            nearest: key.nearest,
            ..SkippedEntry::new(key.span.line, &key.key)
        });
        Self::new(CountedKind::Keys, keys.known, left)
    }
}

impl Adoption {
    /// Those of which something was not taken.
    pub fn incomplete_counts(&self) -> impl Iterator<Item = &AdoptionCount> {
        self.counts.iter().filter(|count| count.left > 0)
    }

    /// Whether everything was taken that ever is.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.incomplete_counts().all(|count| count.never_taken)
    }
}
