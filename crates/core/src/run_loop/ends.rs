//! What is under way, and what the loop does when something ends.

use super::effects::{Effect, RunLoopEnding};
use super::ongoing::{OngoingWork, WorkEnd};
use super::spending::with_live_usage;
use super::{LoopState, RunLoop};
use crate::attempt::{Outcome, Report, ReportedChanges};
use crate::command::Command;
use crate::gate::GateReport;
use crate::id::{AttemptId, Node};
use crate::lane::unit_of_node;
use crate::recover::Recovery;
use crate::trouble::Trouble;
use crate::usage::Usage;

impl RunLoop {
    /// Notes what an effect starts as under way. Nothing else is on the way then.
    pub(super) fn record_start(&mut self, effect: Effect) -> Vec<Effect> {
        self.doing = LoopState::Busy;
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
            let work = OngoingWork {
                fence: self.fence_of_item(node),
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
                ..OngoingWork::default()
            };
            self.under_way.insert(node.clone(), work);
        }
        vec![effect]
    }

    /// The token with which the item was taken last, as far as the loop knows.
    fn fence_of_item(&self, node: &Node) -> u64 {
        let item = self.tables.item(self.run, node);
        item.map_or(0, |item| item.fence)
    }

    /// Takes an end in, now or when what is on the way has been answered.
    pub(super) fn handle_end(&mut self, end: WorkEnd) -> Vec<Effect> {
        match self.doing {
            LoopState::Looking | LoopState::Committing(_) => {
                self.ended.push_back(end);
                Vec::new()
            }
            LoopState::Busy | LoopState::Waiting | LoopState::Finished => self.apply_end(end),
        }
    }

    /// Goes on after a command: with an end that came meanwhile, or a look.
    pub(super) fn continue_loop(&mut self) -> Vec<Effect> {
        match self.apply_next_end() {
            Some(effects) => effects,
            None => self.start_look(),
        }
    }

    /// What follows from an end that came while something else was on the way.
    pub(super) fn apply_next_end(&mut self) -> Option<Vec<Effect>> {
        let end = self.ended.pop_front()?;
        Some(self.apply_end(end))
    }

    fn apply_end(&mut self, end: WorkEnd) -> Vec<Effect> {
        let work = self.under_way.remove(end.node());
        if self.closing.is_some() {
            return self.finish_when_idle();
        }
        let Some(work) = work else {
            return Vec::new();
        };
        let fence = work.fence;
        match end {
            WorkEnd::Agent {
                attempt,
                node,
                report,
                recovery,
            } => {
                let report = with_live_usage(report, work);
                let item = self.tables.item(self.run, &node);
                let has_others = self.options.agents.len() > 1;
                let cannot_wait =
                    item.is_some_and(|item| !has_others && item.cannot_wait_for_reset(&report));
                // Alone it interrupts the run, which says it.
                if report.program.cannot_start || (cannot_wait && self.has_other_runners()) {
                    let of_service = cannot_wait.then_some(Trouble::RateLimit);
                    let ending = |error| match report.program.trouble.or(of_service) {
                        Some(trouble) => RunLoopEnding::TurnedAway(trouble, error),
                        None => RunLoopEnding::CannotStart(error),
                    };
                    self.cannot_start = report.error.clone().map(ending);
                }
                self.end_attempt(attempt, node, fence, report, recovery)
            }
            WorkEnd::Gate {
                node,
                report,
                recovery,
            } => self.end_gate(node, fence, report, recovery),
            WorkEnd::Commit { node, result } => {
                let (run, token) = (self.run, self.token);
                let command = Command::EndCommit {
                    run,
                    token,
                    node,
                    fence,
                    result,
                };
                self.start_commit(command, None)
            }
            WorkEnd::CommitStopped { .. } => self.start_look(),
            WorkEnd::Lane { node, end } => self.apply_lane_end(&node, end),
            WorkEnd::WorkLost { node, why } => {
                let node = unit_of_node(&node);
                let command = Command::LoseWork {
                    run: self.run,
                    token: self.token,
                    fence: self.fence_of_item(&node),
                    node,
                    why,
                };
                self.start_commit(command, None)
            }
            WorkEnd::Merge { node, end } => self.apply_merge_end(node, fence, end),
            WorkEnd::Opening { node, end, at } => self.apply_opening_end(at, node, end),
        }
    }

    /// The reason to stop came while the intent was being stored: nothing is
    /// started any more, and the intent gets its outcome.
    pub(super) fn cancel_attempt(&mut self, attempt: AttemptId, node: Node) -> Vec<Effect> {
        // Nothing was started, so nothing was changed.
        let row = self.tables.attempt(attempt);
        let tree = row.and_then(|row| row.tree.clone());
        let report = Box::new(Report {
            changes: ReportedChanges {
                tree_before: tree.clone(),
                tree_after: tree,
                ..ReportedChanges::default()
            },
            ..Report::with_outcome(Outcome::Interrupted)
        });
        let fence = self.fence_of_item(&node);
        self.end_attempt(attempt, node, fence, report, None)
    }

    /// The gate was not run, or how it ended is not known: it is run again.
    pub(super) fn cancel_gate(&mut self, node: Node) -> Vec<Effect> {
        let report = GateReport {
            interrupted: true,
            ..GateReport::default()
        };
        let fence = self.fence_of_item(&node);
        self.end_gate(node, fence, report, None)
    }

    fn end_attempt(
        &mut self,
        attempt: AttemptId,
        node: Node,
        fence: u64,
        report: Box<Report>,
        recovery: Option<Box<Recovery>>,
    ) -> Vec<Effect> {
        let all = std::mem::take(&mut self.claims.open).into_iter();
        let (own, others) = all.partition(|(by, _)| *by == attempt);
        self.claims.open = others;
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
            agents: self.options.agents.clone(),
        };
        self.start_commit(command, None)
    }

    fn end_gate(
        &mut self,
        node: Node,
        fence: u64,
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
        self.start_commit(command, None)
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
    pub(super) fn stop_all_work(&mut self, kill: bool) -> Vec<Effect> {
        let nodes = self.under_way.keys().cloned();
        nodes.map(|node| Effect::StopWork { node, kill }).collect()
    }

    /// Ends what works on items that a person leaves out, once.
    pub(super) fn stop_skipped_work(&mut self) -> Vec<Effect> {
        let nodes = self.under_way.iter();
        let nodes = nodes.filter(|(node, work)| !work.is_left_out && self.should_be_skipped(node));
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
    pub(super) fn start_finish(&mut self, ending: RunLoopEnding) -> Vec<Effect> {
        for end in std::mem::take(&mut self.ended) {
            self.under_way.remove(end.node());
        }
        self.closing = Some(ending);
        let mut effects = self.stop_all_work(false);
        effects.extend(self.finish_when_idle());
        effects
    }

    fn finish_when_idle(&mut self) -> Vec<Effect> {
        if !self.under_way.is_empty() {
            self.doing = LoopState::Busy;
            return Vec::new();
        }
        self.doing = LoopState::Finished;
        let ending = self.closing.take();
        ending.map(Effect::Finish).into_iter().collect()
    }
}
