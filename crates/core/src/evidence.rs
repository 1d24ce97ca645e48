//! What shows that an item is done, and what the weaker kinds of proof are worth.
//!
//! Four levels, for every kind of plan: a check that passed on a named tree, a
//! person, a change, the agent's word. [`level_of_evidence`] says which one
//! an item has reached; [`ClaimRules`] say what `changed` and `word` are worth.
//! What follows is decided in `decide::claims`.

pub(crate) mod claims;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::attempt::Report;
use crate::id::AttemptId;
use crate::word::words;

pub use claims::{Baseline, ClaimOverrides, ClaimRules, ClaimSettings, WeakenedProof, Worth};

words! {
    /// How well it is proven that an item is done.
    Level {
        /// Every check of the item passed on a recorded tree, and something came between.
        Check = "check",
        /// A person decided or marked it.
        Person = "person",
        /// The agent says so, and the item's own attempts changed the tree.
        Changed = "changed",
        /// The agent says so, and nothing else shows it.
        Word = "word",
    }
}

words! {
    /// What it rests on that an item counts as done: a level of proof, or the
    /// word of the person or program that worked on it before piton.
    ///
    /// Not a level: no rule weighs it, because no attempt of a run reaches it.
    Basis {
        /// See [`Level::Check`].
        Check = "check",
        /// See [`Level::Person`].
        Person = "person",
        /// See [`Level::Changed`].
        Changed = "changed",
        /// See [`Level::Word`].
        Word = "word",
        /// It was done when its plan was taken over; no agent of piton says so.
        TakenOver = "taken-over",
    }
}

/// What the attempts at an item changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "what")]
pub enum ChangeExtent {
    /// Nothing.
    Nothing,
    /// Something.
    Something {
        /// So many files at least; none where they were not counted.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        files: Option<u64>,
    },
    /// It is not known.
    Unknown,
}

impl ChangeExtent {
    /// What one attempt changed, by the trees of its report: what the tree
    /// shows, not what the agent says. An empty commit is no change.
    #[must_use]
    pub fn from_report(report: &Report) -> Self {
        let trees = report
            .changes
            .tree_before
            .as_ref()
            .zip(report.changes.tree_after.as_ref());
        match trees.map(|(before, after)| before != after) {
            Some(true) => {
                let counted = report.changes.diff.map(|diff| diff.files);
                let listed = report
                    .changes
                    .files
                    .as_ref()
                    .map(|files| files.len() as u64);
                let files = counted.or(listed).filter(|files| *files > 0);
                Self::Something { files }
            }
            Some(false) => Self::Nothing,
            None => Self::Unknown,
        }
    }

    /// What it and a later attempt changed.
    #[must_use]
    pub fn merge_later(self, later: Self) -> Self {
        match (self, later) {
            (Self::Something { files: a }, Self::Something { files: b }) => {
                Self::Something { files: a.max(b) }
            }
            (something @ Self::Something { .. }, _) | (_, something @ Self::Something { .. }) => {
                something
            }
            (Self::Nothing, Self::Nothing) => Self::Nothing,
            (Self::Unknown, _) | (_, Self::Unknown) => Self::Unknown,
        }
    }
}

/// What the attempts at an item did to the tree, from before the first of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreeChange {
    /// The tree before the first of them; none where that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<String>,
    /// The tree after the last of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<String>,
    /// What they changed.
    pub changed: ChangeExtent,
}

impl TreeChange {
    /// What an attempt adds to what earlier ones did; `started_on` is the tree
    /// that was recorded when it was started.
    #[must_use]
    pub fn extend_with_attempt(
        before: Option<&Self>,
        report: &Report,
        started_on: Option<&String>,
    ) -> Self {
        let changed = ChangeExtent::from_report(report);
        let own_first = report.changes.tree_before.as_ref().or(started_on).cloned();
        match before {
            Some(before) => Self {
                first: before.first.clone(),
                last: report.changes.tree_after.clone(),
                changed: before.changed.merge_later(changed),
            },
            None => Self {
                first: own_first,
                last: report.changes.tree_after.clone(),
                changed,
            },
        }
    }

    /// A reviewer saw `tree` last; none where it is not known. Where it is the tree
    /// before the first attempt, what they changed is not there any more.
    pub fn record_reviewed_tree(&mut self, tree: Option<&String>) {
        if let Some(tree) = tree {
            self.last = Some(tree.clone());
        }
    }

    /// Whether the attempts changed the tree, and it differs from the one
    /// before the first of them: now, when it is `tree`.
    #[must_use]
    pub fn extent_on_tree(&self, tree: Option<&String>) -> ChangeExtent {
        match (self.changed, &self.first, tree) {
            (ChangeExtent::Something { files }, Some(first), Some(tree)) if first != tree => {
                ChangeExtent::Something { files }
            }
            // Changed and changed back.
            (ChangeExtent::Something { .. }, Some(_), Some(_)) => ChangeExtent::Nothing,
            (ChangeExtent::Nothing, ..) => ChangeExtent::Nothing,
            (ChangeExtent::Something { .. } | ChangeExtent::Unknown, ..) => ChangeExtent::Unknown,
        }
    }

    /// What the attempts changed, as of the tree that the last of them left.
    #[must_use]
    pub fn remaining_extent(&self) -> ChangeExtent {
        self.extent_on_tree(self.last.as_ref())
    }

    /// The same for several items that are one work: those below a phase.
    #[must_use]
    pub fn join(self, other: &Self, other_is_earlier: bool) -> Self {
        let (first, last) = if other_is_earlier {
            (other.first.clone(), self.last)
        } else {
            (self.first, other.last.clone())
        };
        Self {
            first,
            last,
            changed: self.changed.merge_later(other.changed),
        }
    }
}

/// What came of the check of an item before its first attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BaselineResult {
    /// Whether it passed.
    pub passed: bool,
    /// On which tree; none where that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<String>,
    /// How long it took, in seconds.
    #[serde(default)]
    pub took_s: u64,
    /// It was not run for this item: the result of the same command on the
    /// same tree was known.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reused: bool,
    /// Its exit status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<i32>,
}

/// What shows that a check that passed says something about the item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CheckSignificance {
    /// The item's own attempts changed the tree before it passed.
    Change,
    /// It was seen to fail before.
    SeenToFail,
}

/// Work at other items that counts for this one: an attempt marked it as done,
/// or it was split and its pieces were worked on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkCredit {
    /// The attempt that marked it; none for pieces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<AttemptId>,
    /// What that did to the tree; none until the attempt has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<TreeChange>,
}

/// Why an item counts as done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Evidence {
    /// Its gate passed, as events before version 5 of the store say it.
    GatePassed,
    /// Its check passed.
    Checked {
        /// The command.
        command: String,
        /// The tree on which it ran; none where that is not known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tree: Option<String>,
        /// What makes it a proof; without it, it is the agent's word.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        means: Option<CheckSignificance>,
    },
    /// A person accepted or marked it.
    Decided {
        /// Who.
        by: String,
        /// When.
        at: Timestamp,
        /// By what: a command, or the path of a file.
        through: String,
    },
    /// What it changed was committed.
    Committed {
        /// The commit, as git names it.
        commit: String,
    },
    /// Its work was merged into the target of its run, where the checks passed.
    Merged {
        /// The branch.
        branch: String,
        /// The merge commit.
        commit: String,
        /// Its tree.
        tree: String,
    },
    /// Its attempts changed something.
    Changed {
        /// So many files at least; none where they were not counted.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        files: Option<u64>,
    },
    /// The agent's word is all there is.
    NoneAsked,
    /// The same, where more was asked for, as events before version 5 say it.
    Claim,
    /// The plan said so when it was taken over from another tool, or in commits that
    /// were made elsewhere.
    TakenOver,
    /// A file says so, and who wrote that is not known.
    Claimed {
        /// The file, relative to the project.
        by: String,
    },
    /// What proves it was weakened on the way, and that was accepted.
    Weakened {
        /// How, a sentence each.
        how: Vec<String>,
    },
}

/// A check that passed, as the evidence of an item has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PassedCheck<'e> {
    /// The command; events before version 5 do not say it.
    pub command: Option<&'e str>,
    /// The tree that it ran on; none where that is not known.
    pub tree: Option<&'e String>,
    /// Whether something came between, so that it proves the item.
    pub is_proof: bool,
}

impl Evidence {
    /// The commit that it names; none where it names none.
    #[must_use]
    pub fn commit_id(&self) -> Option<&String> {
        if let Self::Committed { commit } | Self::Merged { commit, .. } = self {
            Some(commit)
        } else {
            None
        }
    }

    /// The check that it stands for; none where it is no check.
    #[must_use]
    pub fn passed_check(&self) -> Option<PassedCheck<'_>> {
        if let Self::Checked {
            command,
            tree,
            means,
        } = self
        {
            return Some(PassedCheck {
                command: Some(command),
                tree: tree.as_ref(),
                is_proof: means.is_some(),
            });
        }
        (*self == Self::GatePassed).then_some(PassedCheck {
            command: None,
            tree: None,
            is_proof: true,
        })
    }
}

/// The best level that the evidence of a finished item reaches; none where
/// there is no evidence, as of a phase that only holds others.
#[must_use]
pub fn level_of_evidence(evidence: &[Evidence]) -> Option<Level> {
    let level = |one: &Evidence| match one {
        Evidence::GatePassed | Evidence::Checked { means: Some(_), .. } => Some(Level::Check),
        Evidence::Decided { .. } | Evidence::Claimed { .. } => Some(Level::Person),
        Evidence::Changed { .. } => Some(Level::Changed),
        Evidence::Checked { means: None, .. }
        | Evidence::NoneAsked
        | Evidence::Claim
        | Evidence::TakenOver => Some(Level::Word),
        Evidence::Committed { .. } | Evidence::Merged { .. } | Evidence::Weakened { .. } => None,
    };
    evidence.iter().filter_map(level).min()
}

/// What it rests on that a finished item is done; none where there is no
/// evidence, as of a phase that only holds others.
#[must_use]
pub fn basis_of_evidence(evidence: &[Evidence]) -> Option<Basis> {
    Some(match level_of_evidence(evidence)? {
        Level::Check => Basis::Check,
        Level::Person => Basis::Person,
        Level::Changed => Basis::Changed,
        Level::Word if evidence.contains(&Evidence::TakenOver) => Basis::TakenOver,
        Level::Word => Basis::Word,
    })
}

/// What is said of an item whose check passed.
pub(crate) const CHECK_PASSED: &str = "check passed";

/// What shows that a finished item is done, in a few words; none where there is
/// no evidence, as of a phase that only holds others.
pub(crate) fn describe_evidence(evidence: &[Evidence]) -> Option<String> {
    let basis = basis_of_evidence(evidence)?;
    let files = evidence.iter().find_map(|one| {
        let Evidence::Changed { files } = one else {
            return None;
        };
        Some(*files)
    });
    let words = match (basis, files.flatten()) {
        (Basis::Check, _) => CHECK_PASSED.to_owned(),
        (Basis::Person, _) => describe_deciders(evidence),
        (Basis::Changed, Some(1)) => "1 file changed".to_owned(),
        (Basis::Changed, Some(files)) => format!("{files} files changed"),
        (Basis::Changed, None) => "files changed".to_owned(),
        (Basis::TakenOver, _) => "taken over".to_owned(),
        (Basis::Word, _) => "agent's word".to_owned(),
    };
    let weakened = evidence
        .iter()
        .any(|one| matches!(one, Evidence::Weakened { .. }));
    Some(if weakened {
        format!("{words}, proof weakened")
    } else {
        words
    })
}

fn describe_deciders(evidence: &[Evidence]) -> String {
    let mut said = evidence.iter().filter_map(|one| match one {
        Evidence::Decided { by, .. } => Some(format!("accepted by {by}")),
        Evidence::Claimed { by } => Some(format!("marked in {by}")),
        Evidence::GatePassed
        | Evidence::Checked { .. }
        | Evidence::Committed { .. }
        | Evidence::Merged { .. }
        | Evidence::Changed { .. }
        | Evidence::NoneAsked
        | Evidence::Claim
        | Evidence::TakenOver
        | Evidence::Weakened { .. } => None,
    });
    said.next().unwrap_or_else(|| "accepted".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attempt::{DiffStat, Outcome, ReportedChanges};

    fn report(before: Option<&str>, after: Option<&str>) -> Report {
        Report {
            changes: ReportedChanges {
                tree_before: before.map(str::to_owned),
                tree_after: after.map(str::to_owned),
                ..ReportedChanges::default()
            },
            ..Report::with_outcome(Outcome::Completed)
        }
    }

    fn change(reports: &[(&str, &str)]) -> TreeChange {
        let steps = reports.iter().fold(None, |before, (from, to)| {
            let report = report(Some(from), Some(to));
            Some(TreeChange::extend_with_attempt(
                before.as_ref(),
                &report,
                None,
            ))
        });
        steps.expect("there is an attempt")
    }

    #[test]
    fn an_unknown_tree_is_not_one_that_did_not_change() {
        assert_eq!(
            ChangeExtent::from_report(&report(None, None)),
            ChangeExtent::Unknown
        );
        assert_eq!(
            ChangeExtent::from_report(&report(Some("a"), None)),
            ChangeExtent::Unknown
        );
        assert_eq!(
            ChangeExtent::from_report(&report(Some("a"), Some("a"))),
            ChangeExtent::Nothing
        );
        let files = None;
        let differ = report(Some("a"), Some("b"));
        assert_eq!(
            ChangeExtent::from_report(&differ),
            ChangeExtent::Something { files }
        );
    }

    #[test]
    fn an_empty_commit_and_a_list_of_files_are_no_change() {
        let committed = Report {
            changes: ReportedChanges {
                commits: Some(vec!["6673e79".to_owned()]),
                files: Some(vec!["a.rs".to_owned()]),
                ..report(Some("a"), Some("a")).changes
            },
            ..report(Some("a"), Some("a"))
        };
        assert_eq!(ChangeExtent::from_report(&committed), ChangeExtent::Nothing);
        let counted = Report {
            changes: ReportedChanges {
                diff: Some(DiffStat {
                    files: 3,
                    ..DiffStat::default()
                }),
                ..report(Some("a"), Some("b")).changes
            },
            ..report(Some("a"), Some("b"))
        };
        let files = Some(3);
        assert_eq!(
            ChangeExtent::from_report(&counted),
            ChangeExtent::Something { files }
        );
    }

    #[test]
    fn what_was_changed_and_changed_back_is_no_change() {
        let something = ChangeExtent::Something { files: None };
        assert_eq!(change(&[("a", "b")]).remaining_extent(), something);
        assert_eq!(
            change(&[("a", "b"), ("b", "b")]).remaining_extent(),
            something
        );
        assert_eq!(
            change(&[("a", "b"), ("b", "a")]).remaining_extent(),
            ChangeExtent::Nothing
        );
        // What came between two attempts is not theirs.
        assert_eq!(
            change(&[("a", "a"), ("b", "b")]).remaining_extent(),
            ChangeExtent::Nothing
        );
        let tree = "c".to_owned();
        assert_eq!(change(&[("a", "b")]).extent_on_tree(Some(&tree)), something);
        assert_eq!(
            change(&[("a", "b")]).extent_on_tree(None),
            ChangeExtent::Unknown
        );
    }

    #[test]
    fn the_best_evidence_gives_the_level() {
        let checked = |means| Evidence::Checked {
            command: "cargo test".to_owned(),
            tree: None,
            means,
        };
        let changed = Evidence::Changed { files: None };
        let level = level_of_evidence;
        assert_eq!(level(&[]), None);
        assert_eq!(level(&[checked(None)]), Some(Level::Word));
        assert_eq!(
            level(&[checked(None), changed.clone()]),
            Some(Level::Changed)
        );
        let proof = checked(Some(CheckSignificance::SeenToFail));
        assert_eq!(level(&[changed, proof]), Some(Level::Check));
    }

    #[test]
    fn evidence_is_said_in_a_few_words() {
        let words = |evidence: &[Evidence]| describe_evidence(evidence).unwrap_or_default();
        let checked = |means| Evidence::Checked {
            command: "cargo test".to_owned(),
            tree: None,
            means,
        };
        let changed = |files| Evidence::Changed { files };
        let how = vec!["1 more skip mark than before".to_owned()];
        let weakened = Evidence::Weakened { how };
        assert_eq!(words(&[]), "");
        let proof = checked(Some(CheckSignificance::Change));
        assert_eq!(words(&[proof.clone(), changed(Some(4))]), "check passed");
        assert_eq!(words(&[proof, weakened]), "check passed, proof weakened");
        assert_eq!(words(&[checked(None)]), "agent's word");
        assert_eq!(words(&[changed(Some(1))]), "1 file changed");
        assert_eq!(words(&[changed(Some(4))]), "4 files changed");
        let by = Evidence::Claimed {
            by: "prd.json".to_owned(),
        };
        assert_eq!(words(&[by]), "marked in prd.json");
        assert_eq!(words(&[Evidence::TakenOver]), "taken over");
    }

    #[test]
    fn what_was_taken_over_is_nobodys_word_until_something_better_shows_it() {
        let changed = Evidence::Changed { files: None };
        let basis = basis_of_evidence;
        assert_eq!(basis(&[]), None);
        assert_eq!(basis(&[Evidence::NoneAsked]), Some(Basis::Word));
        assert_eq!(basis(&[Evidence::TakenOver]), Some(Basis::TakenOver));
        assert_eq!(basis(&[Evidence::TakenOver, changed]), Some(Basis::Changed));
    }
}
