//! Whether the proof of an item became weaker while its agents worked on it.
//!
//! Three things weaken a proof: fewer test definitions than before, more marks
//! that skip a test, and a change of what a check runs: its script, the target
//! of a Makefile, the script of a package.json, the recipe of a justfile. All
//! three are measured on texts: how definitions and marks look stands in
//! [`LANGUAGES`], what a check runs in [`CheckEntry`].
//!
//! The counts are those of lines that look like a definition, no more: a test
//! whose body was emptied is still one, and a loop that makes tests is one.
//! Where the texts come from: see `piton_engine::git`.

mod counting;
mod definition;
mod entry;
mod language;
mod languages;
mod shell;

use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

pub use self::counting::{TestCount, count_tests, has_countable_tests};
pub use self::definition::{entry_text, follow_check_entries};
pub use self::entry::CheckEntry;
pub use self::language::Language;
pub use self::languages::LANGUAGES;

/// Most entries of which a change is kept.
const ENTRIES_MAX: usize = 32;

/// How the proof of an item changed: over one attempt, or over several of the
/// same item that were merged.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProofChange {
    /// Test definitions that files lost, summed over the files that lost some.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub tests_removed: u32,
    /// Test definitions that files gained, summed over the files that gained some.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub tests_added: u32,
    /// Skip marks that files gained.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub skips_added: u32,
    /// Skip marks that files lost.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub skips_removed: u32,
    /// What the checks run and is not what it was; at most 32.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub entries: Vec<CheckEntryChange>,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde hands over a reference"
)]
fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// What a check runs, before and after.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckEntryChange {
    /// The entry, as [`CheckEntry`] displays it.
    pub entry: String,
    /// The fingerprint of its text before; none where it was not there, so that
    /// the change is its creation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// The fingerprint of its text after; none where it is gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

impl CheckEntryChange {
    /// What this and a later change of the same entry come to.
    fn merge(self, later: Self) -> Self {
        Self {
            after: later.after,
            ..self
        }
    }

    fn is_change(&self) -> bool {
        self.before != self.after
    }
}

impl ProofChange {
    /// Whether nothing changed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Adds what a changed file held before and holds after.
    pub fn add_counts(&mut self, before: TestCount, after: TestCount) {
        let (lost, gained) = losses_and_gains(before.definitions, after.definitions);
        self.tests_removed = self.tests_removed.saturating_add(lost);
        self.tests_added = self.tests_added.saturating_add(gained);
        let (lost, gained) = losses_and_gains(before.skips, after.skips);
        self.skips_removed = self.skips_removed.saturating_add(lost);
        self.skips_added = self.skips_added.saturating_add(gained);
    }

    /// Adds what the text of an entry was and is, if it is another one.
    pub fn add_entry(&mut self, entry: &CheckEntry, before: Option<&str>, after: Option<&str>) {
        self.add_change(CheckEntryChange {
            entry: entry.to_string(),
            before: before.map(fingerprint_of_text),
            after: after.map(fingerprint_of_text),
        });
    }

    fn add_change(&mut self, change: CheckEntryChange) {
        let known = self
            .entries
            .iter()
            .position(|one| one.entry == change.entry);
        match known {
            Some(at) => {
                let merged = self.entries.remove(at).merge(change);
                self.entries.insert(at, merged);
            }
            None => self.entries.push(change),
        }
        self.entries.retain(CheckEntryChange::is_change);
        // Where there are too many, a change matters more than a creation.
        self.entries.sort_by_key(|one| one.before.is_none());
        self.entries.truncate(ENTRIES_MAX);
    }

    /// What this and what a later attempt at the same item did come to. What one
    /// of them created is not changed by another, and what one of them changed
    /// and another restored did not change.
    #[must_use]
    pub fn merge(mut self, later: Self) -> Self {
        self.tests_removed = self.tests_removed.saturating_add(later.tests_removed);
        self.tests_added = self.tests_added.saturating_add(later.tests_added);
        self.skips_added = self.skips_added.saturating_add(later.skips_added);
        self.skips_removed = self.skips_removed.saturating_add(later.skips_removed);
        for change in later.entries {
            self.add_change(change);
        }
        self
    }

    /// The entries that stood there before and are not what they were.
    pub fn entries_changed(&self) -> impl Iterator<Item = &str> {
        let changed = self.entries.iter().filter(|one| one.before.is_some());
        changed.map(|one| one.entry.as_str())
    }

    /// In which ways the proof is weaker than before; empty where it is not.
    #[must_use]
    pub fn weakenings(&self) -> Vec<Weakening> {
        let tests = self.tests_removed.saturating_sub(self.tests_added);
        let skips = self.skips_added.saturating_sub(self.skips_removed);
        let tests = (tests > 0).then_some(Weakening::FewerTests { by: tests });
        let skips = (skips > 0).then_some(Weakening::MoreSkips { by: skips });
        let entries = self.entries_changed().map(|entry| Weakening::CheckChanged {
            entry: entry.to_owned(),
        });
        tests.into_iter().chain(skips).chain(entries).collect()
    }
}

/// How much less and how much more the second is.
fn losses_and_gains(before: u32, after: u32) -> (u32, u32) {
    (before.saturating_sub(after), after.saturating_sub(before))
}

/// Tells one text of an entry from another.
fn fingerprint_of_text(text: &str) -> String {
    use fmt::Write as _;

    let digest = Sha256::digest(text.as_bytes());
    digest.iter().take(8).fold(String::new(), |mut hex, byte| {
        // Writing to a text cannot fail.
        write!(hex, "{byte:02x}").ok();
        hex
    })
}

/// One way in which a proof is weaker than before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "what")]
pub enum Weakening {
    /// There are fewer test definitions.
    FewerTests {
        /// So many.
        by: u32,
    },
    /// More marks skip tests.
    MoreSkips {
        /// So many.
        by: u32,
    },
    /// What the check runs was changed or removed.
    CheckChanged {
        /// The entry, as [`CheckEntry`] displays it.
        entry: String,
    },
}

impl fmt::Display for Weakening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::FewerTests { by: 1 } => f.write_str("1 test definition fewer than before"),
            Self::FewerTests { by } => write!(f, "{by} test definitions fewer than before"),
            Self::MoreSkips { by: 1 } => f.write_str("1 more skip mark than before"),
            Self::MoreSkips { by } => write!(f, "{by} more skip marks than before"),
            Self::CheckChanged { entry } => {
                write!(f, "{entry}, which the check runs, was changed")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(definitions: u32, skips: u32) -> TestCount {
        TestCount { definitions, skips }
    }

    fn script() -> CheckEntry {
        CheckEntry::Script {
            path: "check.sh".to_owned(),
        }
    }

    /// What one attempt did to check.sh.
    fn attempt(before: Option<&str>, after: Option<&str>) -> ProofChange {
        let mut change = ProofChange::default();
        change.add_entry(&script(), before, after);
        change
    }

    /// What several attempts did, in order, and what that weakened.
    #[track_caller]
    fn check(attempts: &[ProofChange], expect: &[&str]) {
        let merge = |all: ProofChange, one: &ProofChange| all.merge(one.clone());
        let merged = attempts.iter().fold(ProofChange::default(), merge);
        let weakenings = merged.weakenings();
        let shown: Vec<String> = weakenings.iter().map(ToString::to_string).collect();
        assert_eq!(shown, expect, "{merged:?}");
    }

    #[test]
    fn what_counts_is_what_is_left_over_all_files() {
        let mut change = ProofChange::default();
        change.add_counts(count(5, 0), count(0, 0));
        change.add_counts(count(0, 0), count(4, 2));
        check(
            std::slice::from_ref(&change),
            &[
                "1 test definition fewer than before",
                "2 more skip marks than before",
            ],
        );
        change.add_counts(count(0, 2), count(1, 0));
        check(&[change], &[]);
    }

    #[test]
    fn what_a_later_attempt_restores_is_not_weaker() {
        let mut fewer = ProofChange::default();
        fewer.add_counts(count(7, 0), count(4, 1));
        let mut restored = ProofChange::default();
        restored.add_counts(count(4, 1), count(7, 0));
        let shown = [
            "3 test definitions fewer than before",
            "1 more skip mark than before",
        ];
        check(std::slice::from_ref(&fewer), &shown);
        check(&[fewer, restored], &[]);
        let changed = attempt(Some("a"), Some("b"));
        let shown = ["check.sh, which the check runs, was changed"];
        check(std::slice::from_ref(&changed), &shown);
        check(&[changed.clone(), attempt(Some("b"), Some("a"))], &[]);
        check(&[changed, attempt(Some("b"), Some("c"))], &shown);
    }

    #[test]
    fn what_the_items_own_attempts_created_they_may_change() {
        let created = attempt(None, Some("a"));
        assert_eq!(created.entries_changed().count(), 0);
        assert_eq!(created.entries[0].entry, "check.sh");
        check(&[created.clone(), attempt(Some("a"), Some("b"))], &[]);
        let gone = attempt(Some("a"), None);
        check(&[created, gone.clone(), attempt(None, Some("c"))], &[]);
        // What was there before stays what was there before.
        let shown = ["check.sh, which the check runs, was changed"];
        check(&[gone, attempt(None, Some("c"))], &shown);
    }

    #[test]
    fn an_entry_that_is_the_same_did_not_change() {
        assert!(attempt(Some("a"), Some("a")).is_empty());
        assert!(attempt(None, None).is_empty());
    }

    #[test]
    fn many_creations_hide_no_change() {
        let mut change = ProofChange::default();
        for number in 0..100 {
            let path = format!("new-{number}.sh");
            change.add_entry(&CheckEntry::Script { path }, None, Some("a"));
        }
        change.add_entry(&script(), Some("a"), Some("b"));
        assert_eq!(change.entries.len(), ENTRIES_MAX);
        assert_eq!(change.entries_changed().collect::<Vec<_>>(), ["check.sh"]);
    }

    #[test]
    fn an_older_record_without_it_is_read_and_nothing_is_stored_of_nothing() {
        let empty: ProofChange = serde_json::from_str("{}").expect("all has defaults");
        assert!(empty.is_empty());
        let stored = serde_json::to_string(&empty).expect("plain data");
        assert_eq!(stored, "{}");
        let change = attempt(None, Some("a"));
        let stored = serde_json::to_string(&change).expect("plain data");
        assert_eq!(
            stored,
            r#"{"entries":[{"entry":"check.sh","after":"ca978112ca1bbdca"}]}"#
        );
    }
}
