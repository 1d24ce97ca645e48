//! Pull requests: which one is opened next, when each is looked at, and what is stored
//! of that. See `docs/design/0035-pull-requests.md`.

use std::collections::BTreeSet;

use jiff::Timestamp;

use super::effects::{Effect, PullRequestOpenEnd};
use super::watch::FailureSpan;
use super::{LoopState, RunLoop};
use crate::command::Command;
use crate::id::Node;
use crate::item::ItemRow;
use crate::merge::MergeState;
use crate::pull_request::{
    FAILING_IDLE_S, FAILING_S, LOOKED_AT_ONCE, PullRequestNews, PullRequestRow,
    PullRequestSnapshot, PullRequestStep, find_news,
};
use crate::run::{RunRow, RunState, RunnerRequest};

fn is_stop_requested(row: &RunRow) -> bool {
    let asked = row.invocation.asked.as_ref();
    asked.is_some_and(|asked| asked.request == RunnerRequest::Stop)
}

impl RunLoop {
    /// The units whose work is in a pull request of which a look can bring something new:
    /// what was merged and cannot be followed waits for a person. One in which it does not
    /// stand, since a person is asked why, may be merged all the same.
    fn units_in_pull_requests(&self) -> impl Iterator<Item = (&ItemRow, &PullRequestRow)> {
        let lanes = self.run().and_then(|row| row.branches.lanes.as_deref());
        let nodes = lanes.into_iter().flat_map(|lanes| lanes.requested.keys());
        let items = nodes.filter_map(|node| self.tables.item(self.run, node));
        let known = items.filter_map(|item| Some((item, item.pull_request()?)));
        known.filter(|(_, known)| {
            let is_in_trouble = known.trouble.is_some() && known.number.is_some();
            (known.is_open || is_in_trouble) && known.merged.is_none()
        })
    }

    /// Whether the loop is to look at pull requests: it holds the run, which is neither
    /// paused nor stopped. A request for a pause does not prevent a look.
    fn should_watch_pull_requests(&self) -> bool {
        let goes_on = |row: &RunRow| {
            let is_over = match row.state {
                RunState::Running | RunState::Waiting | RunState::Blocked => false,
                RunState::New | RunState::Interrupted | RunState::Paused | RunState::Done => true,
            };
            !is_over && row.pause.is_none() && !is_stop_requested(row)
        };
        let is_over = self.stopping.is_some() || self.closing.is_some();
        !is_over && self.is_holder() && self.run().is_some_and(goes_on)
    }

    /// Whether one was not looked at since its work got there.
    pub(super) fn has_unseen_pull_request(&self) -> bool {
        let is_new = |node: &Node| {
            let known = &self.pull_requests;
            known.looking.contains(node) || !known.looked.contains_key(node)
        };
        let mut requested = self.units_in_pull_requests();
        self.should_watch_pull_requests() && requested.any(|(item, _)| is_new(&item.node))
    }

    /// What is to be stored of a look.
    pub(super) fn commit_pull_request_news(&mut self) -> Option<Vec<Effect>> {
        if !self.should_watch_pull_requests() {
            return None;
        }
        while let Some((node, (number, news))) = self.pull_requests.brought.pop_first() {
            let known = self
                .units_in_pull_requests()
                .find(|(item, _)| item.node == node);
            if known.is_some_and(|(_, known)| known.number == Some(number)) {
                let step = PullRequestStep::Saw { news };
                return Some(self.commit_pull_request_step(node, step));
            }
        }
        None
    }

    fn commit_pull_request_step(&mut self, node: Node, step: PullRequestStep) -> Vec<Effect> {
        let command = Command::StepPullRequest {
            run: self.run,
            token: self.token,
            node,
            step,
        };
        self.start_commit(command, None)
    }

    /// What comes next for the work of a unit in the queue that goes to a pull request;
    /// none where it is merged here.
    pub(super) fn next_pull_request_effect(&mut self, node: &Node) -> Option<Vec<Effect>> {
        let row = self.run()?;
        let item = self.tables.item(self.run, node)?;
        let merge = item.merge().filter(|it| it.state == MergeState::Queued)?;
        let known = item.pull_request().filter(|it| it.head == merge.work);
        let node = node.clone();
        match known {
            Some(known) if known.merged.is_some() => {
                Some(self.start_and_continue(Effect::FollowPullRequest { node }))
            }
            Some(_) => Some(self.start_and_continue(Effect::OpenPullRequest { node })),
            None if row.pull_request_base(item).is_some() => {
                Some(self.commit_pull_request_step(node, PullRequestStep::Ask))
            }
            None => None,
        }
    }

    /// Whether others left the work of an item in a pull request that is to be looked for
    /// first.
    pub(super) fn is_to_be_adopted(&self, item: &ItemRow) -> bool {
        self.uses_pull_requests() && item.unadopted_pull_request().is_some()
    }

    fn uses_pull_requests(&self) -> bool {
        let lanes = self.run().and_then(|row| row.branches.lanes.as_deref());
        lanes.is_some_and(|lanes| lanes.terms.pull_requests)
    }

    /// The next one of those.
    pub(super) fn start_next_adoption(&mut self, now: Timestamp) -> Option<Vec<Effect>> {
        if !self.uses_pull_requests() || !self.should_watch_pull_requests() {
            return None;
        }
        let items = self.tables.items(self.run);
        let mut free = items.filter(|item| {
            let is_put_off = self.is_retry_pending(&item.node, now);
            self.is_to_be_adopted(item) && !is_put_off && !self.under_way.contains_key(&item.node)
        });
        let found = free.find_map(|item| Some((item.node.clone(), item.unadopted_pull_request()?)));
        drop(free);
        let (node, number) = found?;
        Some(self.start_and_continue(Effect::TakePullRequest { node, number }))
    }

    /// Whether a unit in the queue is not to be tried before a time.
    pub(super) fn is_retry_pending(&self, node: &Node, now: Timestamp) -> bool {
        self.pull_requests.next_retry(node, now).is_some()
    }

    /// When the next of those that could not be opened is tried again.
    pub(super) fn next_opening_time(&self, now: Timestamp) -> Option<Timestamp> {
        if !self.uses_pull_requests() {
            return None;
        }
        let lanes = self.run().and_then(|row| row.branches.lanes.as_deref())?;
        let untaken = self.tables.items(self.run);
        let untaken = untaken.filter(|item| self.is_to_be_adopted(item));
        let tries = lanes.queue.iter().chain(untaken.map(|item| &item.node));
        let tries = tries.filter_map(|node| self.pull_requests.next_retry(node, now));
        tries.filter(|_| self.should_watch_pull_requests()).min()
    }

    /// What was done to open one is over.
    pub(super) fn apply_opening_end(
        &mut self,
        now: Timestamp,
        node: Node,
        end: PullRequestOpenEnd,
    ) -> Vec<Effect> {
        let why = match end {
            PullRequestOpenEnd::Opened { head, number, url } => {
                self.pull_requests.failing.remove(&node);
                self.pull_requests.looked.remove(&node);
                let step = PullRequestStep::Opened { head, number, url };
                return self.commit_pull_request_step(node, step);
            }
            PullRequestOpenEnd::Found(found) => {
                self.pull_requests.failing.remove(&node);
                return self.commit_pull_request_step(node, PullRequestStep::Take(found));
            }
            PullRequestOpenEnd::Stopped => return self.start_look(),
            PullRequestOpenEnd::Refused(why) => why,
            PullRequestOpenEnd::Failed(why) => {
                let failing =
                    FailureSpan::extend_or_start(self.pull_requests.failing.get(&node), now);
                self.pull_requests.failing.insert(node.clone(), failing);
                let is_idle = self.under_way.is_empty() && self.next_item(now).is_none();
                let seconds = match is_idle && !self.options.wait {
                    true => FAILING_IDLE_S,
                    false => FAILING_S,
                };
                if !failing.has_lasted(seconds) {
                    return self.start_look();
                }
                let item = self.tables.item(self.run, &node);
                if item.is_some_and(|item| self.is_to_be_adopted(item)) {
                    // A pull request that cannot be seen may still be there.
                    let goes_on = self.run().is_some_and(|row| row.state == RunState::Running);
                    return match is_idle && !self.options.wait && goes_on {
                        true => {
                            self.interrupt_run(format!("the work on {node} is not found: {why}"))
                        }
                        false => self.start_look(),
                    };
                }
                why
            }
        };
        self.pull_requests.failing.remove(&node);
        let item = self.tables.item(self.run, &node);
        let news = match item.and_then(ItemRow::unadopted_pull_request) {
            Some(_) => PullRequestNews::Lost { why },
            None => PullRequestNews::Trouble { why },
        };
        self.commit_pull_request_step(node, PullRequestStep::Saw { news })
    }

    /// One was looked at, or could not be.
    pub(super) fn apply_look(
        &mut self,
        now: Timestamp,
        node: &Node,
        number: u64,
        look: Result<PullRequestSnapshot, String>,
    ) -> Vec<Effect> {
        if !self.pull_requests.looking.remove(node) {
            return Vec::new();
        }
        let known = self
            .units_in_pull_requests()
            .find(|(item, _)| item.node == *node);
        let known = known.map(|(_, known)| known.clone());
        let Some(known) = known.filter(|known| known.number == Some(number)) else {
            return self.look_if_idle();
        };
        self.pull_requests.looked.insert(node.clone(), now);
        let brought = match look {
            Ok(look) => {
                self.pull_requests.failing.remove(node);
                find_news(&known, &look)
            }
            Err(why) => {
                let failing =
                    FailureSpan::extend_or_start(self.pull_requests.failing.get(node), now);
                self.pull_requests.failing.insert(node.clone(), failing);
                let is_new = failing.has_lasted(FAILING_S) && known.trouble.is_none();
                is_new.then_some(PullRequestNews::Trouble { why })
            }
        };
        let brought = brought.map(|news| (node.clone(), (number, news)));
        self.pull_requests.brought.extend(brought);
        self.look_if_idle()
    }

    /// A loop that sits still looks around: a look was stored, or the last one that it
    /// waited for is over.
    fn look_if_idle(&mut self) -> Vec<Effect> {
        match self.doing {
            LoopState::Busy | LoopState::Waiting => self.start_look(),
            LoopState::Looking | LoopState::Committing(_) | LoopState::Finished => Vec::new(),
        }
    }

    /// Looks at those that are due, and has the loop woken when the next is: as the
    /// loop comes to rest.
    pub(super) fn watch_pull_requests(&mut self, now: Timestamp, effects: &mut Vec<Effect>) {
        let requested: BTreeSet<Node> = self
            .units_in_pull_requests()
            .map(|(it, _)| it.node.clone())
            .collect();
        self.pull_requests
            .looked
            .retain(|node, _| requested.contains(node));
        let rests = matches!(self.doing, LoopState::Busy | LoopState::Waiting);
        if !rests || !self.should_watch_pull_requests() {
            return;
        }
        let due = self.units_in_pull_requests().filter_map(|(item, known)| {
            let at = self.pull_requests.next_look(&item.node, now)?;
            (at <= now).then_some((item.node.clone(), known.number?))
        });
        let due: Vec<(Node, u64)> = due.collect();
        let room = LOOKED_AT_ONCE.saturating_sub(self.pull_requests.looking.len());
        for (node, number) in due.into_iter().take(room) {
            self.pull_requests.looking.insert(node.clone());
            effects.push(Effect::LookAtPullRequest { node, number });
        }
        let next = requested
            .iter()
            .filter_map(|node| self.pull_requests.next_look(node, now))
            .filter(|at| *at > now);
        let Some(next) = next.chain(self.next_opening_time(now)).min() else {
            return;
        };
        let set = effects.iter_mut().rev().find_map(|effect| {
            let (Effect::WaitUntil(at) | Effect::WakeAt(at)) = effect else {
                return None;
            };
            Some(at)
        });
        match set {
            Some(at) => *at = next.min(*at),
            // Whatever else it would be woken for stays so.
            None => {
                let wake = self
                    .next_due_time(now)
                    .into_iter()
                    .chain(self.waits.sits_until);
                let wake = wake.chain([next]).min();
                effects.extend(wake.map(Effect::WakeAt));
            }
        }
    }
}
