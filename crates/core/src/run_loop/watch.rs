//! What the loop knows of what it looks at again and again: the commands that items wait
//! for, and pull requests.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

use crate::id::Node;
use crate::item::ItemRow;
use crate::pull_request::{LOOK_EVERY_S, PullRequestNews};
use crate::wait::{Wait, WaitStep};

/// What the loop knows of waits. Nothing of it outlives the loop: the next one asks
/// at once.
#[derive(Clone, Debug, Default)]
pub(super) struct WaitWatch {
    /// When a command said no last, by its item, and for which wait.
    pub(super) said_no: BTreeMap<Node, (Timestamp, Wait)>,
    /// The commands that are asked just now; and whether one is to end, since its answer
    /// is not needed any more.
    pub(super) asking: BTreeMap<Node, (Wait, bool)>,
    /// What follows from the answer about an item, and is not stored yet: a file that
    /// asks for a pause holds it back.
    pub(super) answered: BTreeMap<Node, WaitStep>,
    /// Until when the loop would sit still if nothing was waited for.
    pub(super) sits_until: Option<Timestamp>,
}

impl WaitWatch {
    /// When a command is to be asked; none while it is, and once it has answered.
    pub(super) fn next_ask(
        &self,
        item: &ItemRow,
        wait: &Wait,
        now: Timestamp,
    ) -> Option<Timestamp> {
        let answered = self.answered.get(&item.node);
        let is_answered = answered.is_some_and(|step| step.wait == *wait);
        if is_answered || self.asking.contains_key(&item.node) {
            return None;
        }
        let last = self.said_no.get(&item.node);
        let last = last.filter(|(at, asked)| asked == wait && *at <= now);
        // After a start, or when a clock was set back.
        let Some((at, _)) = last else {
            return Some(now);
        };
        let next = at
            .checked_add(wait.ask_interval())
            .unwrap_or(Timestamp::MAX);
        // Before a person is asked, it is asked once more.
        let until = item.wait_end().filter(|until| at < until);
        Some(until.map_or(next, |until| until.min(next)))
    }
}

/// Since when something fails, and when it did last.
#[derive(Clone, Copy, Debug)]
pub(super) struct FailureSpan {
    pub(super) first: Timestamp,
    pub(super) last: Timestamp,
}

impl FailureSpan {
    pub(super) fn extend_or_start(before: Option<&Self>, now: Timestamp) -> Self {
        // A clock may have been set back.
        let first = before.map(|before| before.first).filter(|at| *at <= now);
        Self {
            first: first.unwrap_or(now),
            last: now,
        }
    }

    pub(super) fn has_lasted(&self, seconds: i64) -> bool {
        seconds_after(self.first, seconds) <= self.last
    }
}

/// What the loop knows of pull requests. Nothing of it outlives the loop: the next one
/// looks at once.
#[derive(Clone, Debug, Default)]
pub(super) struct PullRequestWatch {
    /// When each was looked at last.
    pub(super) looked: BTreeMap<Node, Timestamp>,
    /// Those that are looked at just now.
    pub(super) looking: BTreeSet<Node>,
    /// What a look brought that is not stored yet, with the number that it is about.
    pub(super) brought: BTreeMap<Node, (u64, PullRequestNews)>,
    /// Those that could not be opened, or seen.
    pub(super) failing: BTreeMap<Node, FailureSpan>,
}

pub(super) fn seconds_after(time: Timestamp, seconds: i64) -> Timestamp {
    let later = time.checked_add(SignedDuration::from_secs(seconds));
    later.unwrap_or(Timestamp::MAX)
}

impl PullRequestWatch {
    /// When one is to be looked at; none while it is, and while what a look brought is
    /// not stored.
    pub(super) fn next_look(&self, node: &Node, now: Timestamp) -> Option<Timestamp> {
        if self.looking.contains(node) || self.brought.contains_key(node) {
            return None;
        }
        let last = self.looked.get(node).filter(|at| **at <= now);
        Some(last.map_or(now, |at| seconds_after(*at, LOOK_EVERY_S)))
    }

    /// When it is to be tried again to open one.
    pub(super) fn next_retry(&self, node: &Node, now: Timestamp) -> Option<Timestamp> {
        let failing = self.failing.get(node).filter(|it| it.last <= now)?;
        Some(seconds_after(failing.last, LOOK_EVERY_S)).filter(|next| *next > now)
    }
}
