//! What of a file was taken, and what was not: plain data, for people and for
//! programs.
//!
//! Keys are compared by the table of the format, entries are counted by what its
//! reader gives; what else a format knows of its files (headings, rules, boxes)
//! it counts itself.

use piton_core::RunId;
use serde::{Serialize, Serializer};

use crate::conflict;
use crate::format::{self, DocumentRole, Format};
use crate::plan_format::{PlanContext, PlanName};
use crate::problem::{Problem, SourceText};
use crate::registry::{plan_format, project_files};
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
        let text = piton_core::prepare::truncate_chars(text, CHARS_MAX);
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

    fn from_keys(keys: KeyComparison) -> Self {
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

/// What of a text of this format is taken. Of one that cannot be read, nothing
/// is counted: its problems say why.
pub(crate) fn adoption_of_text(format: &Format, source: SourceText<'_>) -> Adoption {
    let is_broken = |problems: &[Problem]| problems.iter().any(Problem::is_error);
    if conflict::find_unresolved_merge(source).is_some() || is_broken(&(format.read)(source)) {
        return Adoption::default();
    }
    let own = (format.counts)(source);
    let entries = count_entries(format, source);
    // A format that counts its rules does not count them as entries as well.
    let entries = entries.filter(|_| own.iter().all(|count| count.what != CountedKind::Rules));
    let keys = AdoptionCount::from_keys(format.compare_keys(source.text));
    let all = entries.into_iter().chain(own).chain([keys]);
    let is_there = |count: &AdoptionCount| count.taken + count.left > 0;
    Adoption {
        counts: all.filter(is_there).collect(),
    }
}

fn count_entries(format: &Format, source: SourceText<'_>) -> Option<AdoptionCount> {
    let of_plan = [
        DocumentRole::Plan,
        DocumentRole::Adopted,
        DocumentRole::Progress,
    ]
    .contains(&format.role);
    if of_plan {
        let of = PlanContext {
            run: RunId::PROJECT,
            name: PlanName::Own(""),
            source: source.name,
        };
        let plan = (plan_format(format.face)?.read)(source, of).0?;
        return Some(AdoptionCount::new(
            CountedKind::Entries,
            plan.items.len(),
            [],
        ));
    }
    let mut files = project_files().filter(|file| file.face == format.face);
    let file = files.find(|file| format.paths.contains(&file.path))?;
    let took = (file.take)(source.text, None, &format::context_of_source(source));
    let left = took.problems.iter().filter(|one| one.code == "NOT_TAKEN");
    let left = left.map(|problem| SkippedEntry::new(problem.line, &problem.path));
    Some(AdoptionCount::new(
        CountedKind::Entries,
        took.found.len(),
        left,
    ))
}
