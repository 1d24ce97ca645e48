//! The branch that the work of a run goes to, and the lanes in which several
//! units of it are worked on at once: see `docs/design/0027-lanes-and-merge-queue.md`.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::attempt::Conversation;
use crate::gate::Gate;
use crate::id::Node;
use crate::merge::MergeRow;
use crate::pull_request::PullRequestRow;
use crate::scope::FileScope;

/// The branch that the work of a run goes to, where it has one of its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TargetRow {
    /// The branch: `piton/RUN`, or that of the plan's own worktree.
    pub branch: String,
    /// The commit at which the work of the run begins.
    pub base: String,
    /// The commit of the branch that the journal recorded last.
    pub tip: String,
    /// The branch that was checked out when the target was chosen, and that the
    /// work is for; none where `HEAD` named a commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub onto: Option<String>,
    /// The folder of the worktree in which the branch is checked out, where the
    /// plan asks for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// That worktree was there before: it belongs to a person, and piton takes it away only
    /// where a person says so.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub was_there: bool,
    /// Which merge of the run moved it last, from 1; only where the run is worked on in
    /// several repositories.
    #[serde(default, skip_serializing_if = "crate::item::is_zero")]
    pub merged: u64,
}

/// A commit that is, or is to be, on the branch that the work of a run is for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Landing {
    /// The commit of the target.
    pub commit: String,
    /// The branch.
    pub onto: String,
    /// Where the branch was when all that the work brings was there in commits of
    /// others, as after `git merge --squash`; none where the commit itself is on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
}

/// How the work of a run in lanes comes back, as its project says when a runner begins.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaneTerms {
    /// The check of the run, which each merged tree has to pass.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<Box<Gate>>,
    /// What stands in its place in repositories that have a check of their own, by the
    /// name of each; none where nothing is checked.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub checks: BTreeMap<String, Option<Gate>>,
    /// Work waits for a person to look at it before it is merged.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub review: bool,
    /// Work goes to pull requests, and is merged there. What the run began with holds.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub pull_requests: bool,
}

impl LaneTerms {
    /// The check that a merged tree has to pass in a repository; none is the one in which
    /// the project lies.
    #[must_use]
    pub fn check_in_repository(&self, repository: Option<&str>) -> Option<&Gate> {
        match repository.and_then(|name| self.checks.get(name)) {
            Some(own) => own.as_ref(),
            None => self.check.as_deref(),
        }
    }
}

/// What a run knows of its lanes and of its merge queue, once it is worked on
/// in lanes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LanesRow {
    /// How its work comes back.
    #[serde(flatten)]
    pub terms: LaneTerms,
    /// The lanes that units have, by their numbers.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub held: BTreeMap<u32, Node>,
    /// The units whose work is to be merged, in the order in which they came.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub queue: Vec<Node>,
    /// The units whose work waits for a review.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub in_review: BTreeSet<Node>,
    /// The units whose work is in a pull request, and the invocation in which it got
    /// there.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub requested: BTreeMap<Node, u32>,
    /// The one of those in the queue whose merge is being checked, or has passed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merging: Option<Node>,
    /// How many merges moved the target.
    #[serde(default, skip_serializing_if = "crate::item::is_zero")]
    pub merges: u64,
    /// The files that units are about, where their plan says so, as it did when they
    /// last got a lane.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub scopes: BTreeMap<Node, FileScope>,
    /// The repositories of these units, where those are not the one in which the project
    /// lies.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub repositories: BTreeMap<Node, String>,
}

impl LanesRow {
    /// See [`crate::tables::Tables::find_overlapping_unit`].
    pub(crate) fn find_overlapping_unit<'l>(
        &'l self,
        unit: &Node,
        repository: Option<&str>,
        scope: &FileScope,
    ) -> Option<(&'l Node, &'l str)> {
        let of = |other: &Node| self.repositories.get(other).map(String::as_str);
        let at_work = self.held.values().chain(&self.queue);
        let mut others = at_work.filter(|other| *other != unit && of(other) == repository);
        others.find_map(|other| {
            let path = self.scopes.get(other)?.find_overlap(scope)?;
            Some((other, path))
        })
    }
}

impl LanesRow {
    /// How many units were begun and are not over, as the limits of an invocation count
    /// them: each has a lane, or its work is finished.
    pub(crate) fn count_begun_units(&self, invocation: u32) -> usize {
        self.held.len() + self.count_finished_units(invocation)
    }

    /// The work of so many units is finished and not merged: each is queued, waits for a
    /// review, or got into a pull request in this invocation.
    pub(crate) fn count_finished_units(&self, invocation: u32) -> usize {
        let requested = self.requested.values();
        let requested = requested.filter(|since| **since == invocation);
        self.queue.len() + self.in_review.len() + requested.count()
    }
}

/// The lane that a unit has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaneHold {
    /// Its number.
    pub lane: u32,
    /// The token with which the unit was taken then.
    pub fence: u64,
    /// The token of the runner that took it.
    pub by: u64,
    /// The commit at which the work in it begins.
    pub from: String,
    /// How many attempts there were at the unit then: with more of them, what is
    /// in the lane is work.
    pub attempts: u32,
    /// Since when; none in rows that do not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
}

/// What is known of an item that is a unit: it has one lane, and is merged as one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct UnitRow {
    /// Its lane.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lane: Option<LaneHold>,
    /// The commit of its work that is not on the target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work: Option<String>,
    /// How many merges there were when its work began, or last saw both sides.
    #[serde(default, skip_serializing_if = "crate::item::is_zero")]
    pub since: u64,
    /// Its place in the merge queue, or what sent it back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merge: Option<MergeRow>,
    /// Which merge of the run brought it to the target, from 1.
    #[serde(default, skip_serializing_if = "crate::item::is_zero")]
    pub merged: u64,
    /// Nothing changed: its work is the commit at which it began.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_unchanged: bool,
    /// The repository of its last lane; none is the one in which the project lies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repository: Option<String>,
    /// The pull request of its work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pull_request: Option<Box<PullRequestRow>>,
    /// The conversation in which the last attempt at it ended well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<Box<LaneConversation>>,
}

/// A conversation with an agent, and the lane in which it was held: the programs of
/// agents know their conversations by their folders.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LaneConversation {
    /// The number of the lane.
    pub lane: u32,
    /// The conversation.
    #[serde(flatten)]
    pub conversation: Conversation,
}

/// How deep a unit stands at most.
const UNIT_DEPTH_MAX: usize = 2;

/// The unit that an item belongs to: itself, or the one above it that is at the
/// second level.
#[must_use]
pub fn unit_of_node(node: &Node) -> Node {
    let depth = node.ancestors().count() + 1;
    let above = depth.checked_sub(UNIT_DEPTH_MAX + 1);
    let unit = above.and_then(|nth| node.ancestors().nth(nth));
    unit.unwrap_or_else(|| node.clone())
}

/// So many tasks are done, or will be with what has begun.
pub(crate) fn count_begun_tasks(tasks: u32, more: usize) -> u32 {
    tasks.saturating_add(u32::try_from(more).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_below_the_second_level_belongs_to_the_unit_there() {
        for (node, unit) in [
            ("p", "p"),
            ("p/s", "p/s"),
            ("p/s/x", "p/s"),
            ("p/s/x/y", "p/s"),
        ] {
            assert_eq!(unit_of_node(&Node::from_text(node)), Node::from_text(unit));
        }
    }
}
