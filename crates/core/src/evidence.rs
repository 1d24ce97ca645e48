//! What shows that an item is done, and what a word without proof is worth.
//!
//! A *claim* is an agent's word that an item is done, where nothing was
//! changed and no gate passed, although something was asked for. What nobody
//! looked at is no claim: outside git it is not known what was changed.

use serde::{Deserialize, Serialize};

use crate::attempt::Report;
use crate::gate::Gate;

/// What a claim is worth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Worth {
    /// The item is done; its evidence says how little there is.
    #[default]
    Accept,
    /// A gate must pass first.
    Gate,
    /// A person is asked.
    Ask,
}

/// What this project asks of agents that say that an item is done.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claims {
    /// What a claim is worth.
    #[serde(default)]
    pub worth: Worth,
    /// A change is asked for, even where nothing is committed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub asked: bool,
    /// The gate of [`Worth::Gate`]; without one a person is asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate: Option<Box<Gate>>,
}

impl Claims {
    /// Whether nothing is said.
    #[must_use]
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// What the attempts at an item changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "what")]
pub enum Changed {
    /// Nothing.
    Nothing,
    /// Something.
    Something {
        /// So many files at least; none where nobody counted.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        files: Option<u64>,
    },
    /// Nobody looked.
    Unknown,
}

impl Changed {
    /// What one attempt changed, by the trees and the commits of its report:
    /// what git says, not the agent.
    #[must_use]
    pub fn by(report: &Report) -> Self {
        let trees = report.tree_before.as_ref().zip(report.tree_after.as_ref());
        let differ = trees.map(|(before, after)| before != after);
        let commits = report.commits.as_ref().is_some_and(|all| !all.is_empty());
        if differ == Some(true) || commits {
            let counted = report.diff.map(|diff| diff.files);
            let listed = report.files.as_ref().map(|files| files.len() as u64);
            let files = counted.or(listed).filter(|files| *files > 0);
            return Self::Something { files };
        }
        match differ {
            Some(_) => Self::Nothing,
            None => Self::Unknown,
        }
    }

    /// What it and a later attempt changed.
    #[must_use]
    pub fn and(self, later: Self) -> Self {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attempt::{DiffStat, Outcome};

    fn report(before: Option<&str>, after: Option<&str>) -> Report {
        Report {
            tree_before: before.map(str::to_owned),
            tree_after: after.map(str::to_owned),
            ..Report::bare(Outcome::Completed)
        }
    }

    #[test]
    fn a_tree_that_nobody_looked_at_is_not_one_that_did_not_change() {
        assert_eq!(Changed::by(&report(None, None)), Changed::Unknown);
        assert_eq!(Changed::by(&report(Some("a"), None)), Changed::Unknown);
        assert_eq!(Changed::by(&report(Some("a"), Some("a"))), Changed::Nothing);
        let files = None;
        let differ = report(Some("a"), Some("b"));
        assert_eq!(Changed::by(&differ), Changed::Something { files });
    }

    #[test]
    fn a_commit_is_a_change_and_a_list_of_files_alone_is_none() {
        let committed = Report {
            commits: Some(vec!["6673e79".to_owned()]),
            diff: Some(DiffStat {
                files: 3,
                ..DiffStat::default()
            }),
            ..report(Some("a"), Some("a"))
        };
        let files = Some(3);
        assert_eq!(Changed::by(&committed), Changed::Something { files });
        let says = Report {
            files: Some(vec!["a.rs".to_owned()]),
            ..report(Some("a"), Some("a"))
        };
        assert_eq!(Changed::by(&says), Changed::Nothing);
    }

    #[test]
    fn what_an_earlier_attempt_changed_is_not_forgotten() {
        let something = Changed::Something { files: Some(2) };
        assert_eq!(something.and(Changed::Nothing), something);
        assert_eq!(Changed::Unknown.and(something), something);
        assert_eq!(Changed::Unknown.and(Changed::Nothing), Changed::Unknown);
    }
}
