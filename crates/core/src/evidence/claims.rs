//! What the weaker kinds of proof are worth, as a plan or a project says.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::gate::Gate;
use crate::id::Node;
use crate::word::words;

words! {
    /// What a level of proof is worth, the strictest last.
    Worth {
        /// The item is done; its evidence says how little there is.
        Accept = "accept",
        /// A given command must pass first. Versions before called it `gate`.
        #[serde(alias = "gate")]
        Check = "check",
        /// A person is asked.
        Ask = "ask",
    }
}

words! {
    /// What becomes of an item whose attempts weakened what proves it.
    WeakenedProof {
        /// A person is asked.
        Ask = "ask",
        /// Its evidence says so.
        Note = "note",
        /// It has failed.
        Refuse = "refuse",
    }
}

words! {
    /// Whether the check of an item runs before its first attempt.
    Baseline {
        /// Unless its result on this tree is known, or it takes long.
        Auto = "auto",
        /// Before each item's first attempt.
        Always = "always",
        /// Never.
        Never = "never",
    }
}

/// What proof is worth, for one item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClaimRules {
    /// What [`Level::Changed`](super::Level::Changed) is worth.
    pub changed: Worth,
    /// What [`Level::Word`](super::Level::Word) is worth.
    pub word: Worth,
    /// What becomes of an item whose proof was weakened.
    pub weakened: WeakenedProof,
}

impl Default for ClaimRules {
    fn default() -> Self {
        Self {
            changed: Worth::Accept,
            word: Worth::Accept,
            weakened: WeakenedProof::Ask,
        }
    }
}

/// What is said of the rules in one place; what is absent is said elsewhere.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct ClaimOverrides {
    /// See [`ClaimRules::changed`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changed: Option<Worth>,
    /// See [`ClaimRules::word`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub word: Option<Worth>,
    /// See [`ClaimRules::weakened`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weakened: Option<WeakenedProof>,
}

impl ClaimOverrides {
    /// Whether nothing is said.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl ClaimRules {
    /// These rules, each replaced by that of `other` where it has one.
    #[must_use]
    pub fn with_overrides(self, other: &ClaimOverrides) -> Self {
        Self {
            changed: other.changed.unwrap_or(self.changed),
            word: other.word.unwrap_or(self.word),
            weakened: other.weakened.unwrap_or(self.weakened),
        }
    }
}

/// What an invocation of a run asks of agents that say that an item is done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ClaimSettings {
    /// What holds for every item.
    pub rules: ClaimRules,
    /// Whether checks run before the first attempts.
    pub baseline: Baseline,
    /// The command of [`Worth::Check`]; without one a person is asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub check: Option<Box<Gate>>,
    /// What holds for single items instead.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub items: BTreeMap<Node, ClaimOverrides>,
}

impl Default for ClaimSettings {
    fn default() -> Self {
        Self {
            rules: ClaimRules::default(),
            baseline: Baseline::Auto,
            check: None,
            items: BTreeMap::new(),
        }
    }
}

impl ClaimSettings {
    /// Whether nothing is said.
    #[must_use]
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// What holds for one item: what the configuration says of it goes before
    /// what its plan says, and that before what holds for all.
    #[must_use]
    pub fn rules_of_item(&self, node: &Node, of_plan: &ClaimOverrides) -> ClaimRules {
        let own = self.items.get(node).copied().unwrap_or_default();
        self.rules.with_overrides(of_plan).with_overrides(&own)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_of_an_item_goes_before_what_its_plan_says() {
        let node = Node::child(None, "a", 1);
        let of_plan = ClaimOverrides {
            word: Some(Worth::Accept),
            changed: Some(Worth::Ask),
            ..ClaimOverrides::default()
        };
        let own = ClaimOverrides {
            word: Some(Worth::Check),
            ..ClaimOverrides::default()
        };
        let claims = ClaimSettings {
            items: BTreeMap::from([(node.clone(), own)]),
            ..ClaimSettings::default()
        };
        let rules = claims.rules_of_item(&node, &of_plan);
        assert_eq!((rules.changed, rules.word), (Worth::Ask, Worth::Check));
    }
}
