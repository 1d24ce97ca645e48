//! What is under way, and what the loop does when something ends.

use jiff::Timestamp;

use super::spending::with_live;
use super::{Doing, Effect, Ending, LaneEnd, MergeEnd, OpeningEnd, RunLoop};
use crate::attempt::{Outcome, Report};
use crate::command::Command;
use crate::gate::GateReport;
use crate::id::{AttemptId, Node};
use crate::lane::unit_of;
use crate::recover::Recovery;
use crate::trouble::Trouble;
use crate::usage::Usage;

/// Work on an item that was started and whose end the loop has not taken in.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct UnderWay {
    /// The token with which the item was taken.
    pub(super) fence: u64,
    /// What its agent has used so far; none for a gate and for a commit.
    pub(super) live: Option<Usage>,
    /// The budget for which it was asked to end.
    pub(super) used_up: Option<String>,
    /// It was asked to end because a person leaves its item out.
    pub(super) is_left_out: bool,
    /// It is a merge, which needs no worker.
    pub(super) is_merge: bool,
}

/// How work on an item ended.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum End {
    Agent {
        attempt: AttemptId,
        node: Node,
        report: Box<Report>,
        recovery: Option<Box<Recovery>>,
    },
    Gate {
        node: Node,
        report: GateReport,
        recovery: Option<Box<Recovery>>,
    },
    Commit {
        node: Node,
        result: Result<Option<String>, String>,
    },
    CommitStopped {
        node: Node,
    },
    Lane {
        node: Node,
        end: LaneEnd,
    },
    WorkLost {
        node: Node,
        why: String,
    },
    Merge {
        node: Node,
        end: MergeEnd,
    },
    Opening {
        node: Node,
        end: OpeningEnd,
        /// When it ended.
        at: Timestamp,
    },
}

impl End {
    fn node(&self) -> &Node {
        match self {
            Self::Agent { node, .. }
            | Self::Gate { node, .. }
            | Self::Commit { node, .. }
            | Self::CommitStopped { node }
            | Self::Lane { node, .. }
            | Self::WorkLost { node, .. }
            | Self::Opening { node, .. }
            | Self::Merge { node, .. } => node,
        }
    }
}

impl RunLoop {
    /// Notes what an effect starts as under way. Nothing else is on the way then.
    pub(super) fn under_way(&mut self, effect: Effect) -> Vec<Effect> {
        self.doing = Doing::Busy;
        if let Effect::StartAgent { node, .. }
        | Effect::SettleAgent { node, .. }
        | Effect::RunGate { node, .. }
        | Effect::MakeCommit { node, .. }
        | Effect::PrepareLane { node }
        | Effect::SaveWork { node }
        | Effect::MakeMerge { node }
        | Effect::CheckMerge { node }
        | Effect::OpenPullRequest { node }
        | Effect::TakePullRequest { node, .. }
        | Effect::FollowPullRequest { node }
        | Effect::MoveTarget { node } = &effect
        {
            let is_agent = matches!(effect, Effect::StartAgent { .. });
            let work = UnderWay {
                fence: self.fence(node),
                live: is_agent.then(Usage::default),
                is_merge: matches!(
                    effect,
                    Effect::MakeMerge { .. }
                        | Effect::CheckMerge { .. }
                        | Effect::OpenPullRequest { .. }
                        | Effect::TakePullRequest { .. }
                        | Effect::FollowPullRequest { .. }
                        | Effect::MoveTarget { .. }
                ),
                ..UnderWay::default()
            };
            self.under_way.insert(node.clone(), work);
        }
        vec![effect]
    }

    /// The token with which the item was taken last, as far as the loop knows.
    fn fence(&self, node: &Node) -> u64 {
        let item = self.tables.item(self.run, node);
        item.map_or(0, |item| item.fence)
    }

    /// Takes an end in, now or when what is on the way has been answered.
    pub(super) fn ended(&mut self, end: End) -> Vec<Effect> {
        match self.doing {
            Doing::Looking | Doing::Committing(_) => {
                self.ended.push_back(end);
                Vec::new()
            }
            Doing::Busy | Doing::Waiting | Doing::Finished => self.take_end(end),
        }
    }

    /// Goes on after a command: with an end that came meanwhile, or a look.
    pub(super) fn go_on(&mut self) -> Vec<Effect> {
        match self.next_end() {
            Some(effects) => effects,
            None => self.look(),
        }
    }

    /// What follows from an end that came while something else was on the way.
    pub(super) fn next_end(&mut self) -> Option<Vec<Effect>> {
        let end = self.ended.pop_front()?;
        Some(self.take_end(end))
    }

    fn take_end(&mut self, end: End) -> Vec<Effect> {
        let work = self.under_way.remove(end.node());
        if self.closing.is_some() {
            return self.close();
        }
        let Some(work) = work else {
            return Vec::new();
        };
        let fence = work.fence;
        match end {
            End::Agent {
                attempt,
                node,
                report,
                recovery,
            } => {
                let report = with_live(report, work);
                let item = self.tables.item(self.run, &node);
                let cannot_wait = item.is_some_and(|item| report.cannot_wait_at(item));
                // Alone it interrupts the run, which says it.
                if report.cannot_start || (cannot_wait && self.has_others()) {
                    let of_service = cannot_wait.then_some(Trouble::RateLimit);
                    let ending = |error| match report.trouble.or(of_service) {
                        Some(trouble) => Ending::TurnedAway(trouble, error),
                        None => Ending::CannotStart(error),
                    };
                    self.cannot_start = report.error.clone().map(ending);
                }
                self.end_attempt(attempt, (node, fence), report, recovery)
            }
            End::Gate {
                node,
                report,
                recovery,
            } => self.end_gate((node, fence), report, recovery),
            End::Commit { node, result } => {
                let (run, token) = (self.run, self.token);
                let command = Command::EndCommit {
                    run,
                    token,
                    node,
                    fence,
                    result,
                };
                self.commit(command, None)
            }
            End::CommitStopped { .. } => self.look(),
            End::Lane { node, end } => self.end_lane(&node, end),
            End::WorkLost { node, why } => {
                let node = unit_of(&node);
                let command = Command::LoseWork {
                    run: self.run,
                    token: self.token,
                    fence: self.fence(&node),
                    node,
                    why,
                };
                self.commit(command, None)
            }
            End::Merge { node, end } => self.end_merge((node, fence), end),
            End::Opening { node, end, at } => self.end_opening(at, node, end),
        }
    }

    /// The reason to stop came while the intent was being stored: nothing is
    /// started any more, and the intent gets its outcome.
    pub(super) fn take_back_attempt(&mut self, attempt: AttemptId, node: Node) -> Vec<Effect> {
        // Nothing was started, so nothing was changed.
        let row = self.tables.attempt(attempt);
        let tree = row.and_then(|row| row.tree.clone());
        let report = Box::new(Report {
            tree_before: tree.clone(),
            tree_after: tree,
            ..Report::bare(Outcome::Interrupted)
        });
        let fence = self.fence(&node);
        self.end_attempt(attempt, (node, fence), report, None)
    }

    /// The gate was not run, or nobody knows how it ended: it is run again.
    pub(super) fn take_back_gate(&mut self, node: Node) -> Vec<Effect> {
        let report = GateReport {
            interrupted: true,
            ..GateReport::default()
        };
        let fence = self.fence(&node);
        self.end_gate((node, fence), report, None)
    }

    fn end_attempt(
        &mut self,
        attempt: AttemptId,
        (node, fence): (Node, u64),
        report: Box<Report>,
        recovery: Option<Box<Recovery>>,
    ) -> Vec<Effect> {
        let all = std::mem::take(&mut self.claimed).into_iter();
        let (own, others) = all.partition(|(by, _)| *by == attempt);
        self.claimed = others;
        let own: Vec<(AttemptId, Node)> = own;
        let claimed = own.into_iter().map(|(_, node)| node).collect();
        let command = Command::EndAttempt {
            run: self.run,
            token: self.token,
            attempt,
            node,
            fence,
            report,
            recovery,
            claimed,
        };
        self.commit(command, None)
    }

    fn end_gate(
        &mut self,
        (node, fence): (Node, u64),
        report: GateReport,
        recovery: Option<Box<Recovery>>,
    ) -> Vec<Effect> {
        let (run, token) = (self.run, self.token);
        let command = Command::EndGate {
            run,
            token,
            node,
            fence,
            report,
            recovery,
        };
        self.commit(command, None)
    }

    /// Ends what works on an item, if something does.
    pub(super) fn stop_work(&mut self, node: &Node, kill: bool) -> Vec<Effect> {
        let works = self.under_way.contains_key(node);
        let node = node.clone();
        works
            .then_some(Effect::StopWork { node, kill })
            .into_iter()
            .collect()
    }

    /// Ends all that works.
    pub(super) fn stop_all(&mut self, kill: bool) -> Vec<Effect> {
        let nodes = self.under_way.keys().cloned();
        nodes.map(|node| Effect::StopWork { node, kill }).collect()
    }

    /// Ends what works on items that a person leaves out, once.
    pub(super) fn stop_what_is_left_out(&mut self) -> Vec<Effect> {
        let nodes = self.under_way.iter();
        let nodes = nodes.filter(|(node, work)| !work.is_left_out && self.is_to_be_skipped(node));
        let nodes: Vec<Node> = nodes.map(|(node, _)| node.clone()).collect();
        for node in &nodes {
            if let Some(work) = self.under_way.get_mut(node) {
                work.is_left_out = true;
            }
        }
        let stop = |node| Effect::StopWork { node, kill: false };
        nodes.into_iter().map(stop).collect()
    }

    /// The invocation is over, as soon as nothing is under way any more. What
    /// still ends then gets no outcome: the next runner settles it.
    pub(super) fn finish(&mut self, ending: Ending) -> Vec<Effect> {
        for end in std::mem::take(&mut self.ended) {
            self.under_way.remove(end.node());
        }
        self.closing = Some(ending);
        let mut effects = self.stop_all(false);
        effects.extend(self.close());
        effects
    }

    fn close(&mut self) -> Vec<Effect> {
        if !self.under_way.is_empty() {
            self.doing = Doing::Busy;
            return Vec::new();
        }
        self.doing = Doing::Finished;
        let ending = self.closing.take();
        ending.map(Effect::Finish).into_iter().collect()
    }
}
