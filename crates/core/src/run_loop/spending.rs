//! What the loop does about budgets: no agent is started when one is used up,
//! and the agent at work is stopped as soon as that is known.

use super::{Effect, RunLoop, UnderWay};
use crate::attempt::{Outcome, Report};
use crate::budget::{self, Left, Spent};
use crate::id::Node;
use crate::run::RunRow;
use crate::usage::Usage;

impl RunLoop {
    /// What the next agent may still use: for a program that can be told.
    #[must_use]
    pub fn left(&self) -> Left {
        let Some(row) = self.run() else {
            return Left::default();
        };
        budget::left(&row.limits, &row.spend, &self.live(None), self.elsewhere)
    }

    /// What the agent at work on an item could still use, by what is known now,
    /// when it was started.
    #[must_use]
    pub fn left_at_start(&self, node: &Node) -> Left {
        let Some(row) = self.run() else {
            return Left::default();
        };
        let others = self.live(Some(node));
        budget::left(&row.limits, &row.spend, &others, self.elsewhere)
    }

    /// What all agents at work have used so far, or all but one.
    fn live(&self, but: Option<&Node>) -> Usage {
        let counted = self.under_way.iter().filter(|(node, _)| Some(*node) != but);
        let used = counted.filter_map(|(_, work)| work.live.as_ref());
        used.fold(Usage::default(), |sum, live| sum.plus(live))
    }

    /// What somebody should know who trusts in the budget of this run.
    #[must_use]
    pub fn budget_warning(&self) -> Option<String> {
        let row = self.run()?;
        budget::warning(&row.limits, &row.spend)
    }

    /// The budgets that were passed, each in a sentence.
    #[must_use]
    pub fn budgets_passed(&self) -> Vec<String> {
        let passed = |row: &RunRow| budget::passed(&row.limits, &row.spend, self.elsewhere);
        self.run().map(passed).unwrap_or_default()
    }

    /// Whether something bounds what this run may use.
    #[must_use]
    pub fn has_budget(&self) -> bool {
        self.run().is_some_and(|row| row.limits.has_budget())
    }

    /// The budget that is used up, in words.
    pub(super) fn budget_reached(&self) -> Option<String> {
        let row = self.run()?;
        budget::reached(&row.limits, &row.spend, &self.live(None), self.elsewhere)
    }

    pub(super) fn spent(&mut self, node: &Node, usage: &Usage) -> Vec<Effect> {
        // What comes after the end of the agent stands in its report.
        let work = self.under_way.get_mut(node);
        let Some(live) = work.and_then(|work| work.live.as_mut()) else {
            return Vec::new();
        };
        *live = usage.at_least(live);
        self.stop_at_budget()
    }

    pub(super) fn spent_elsewhere(&mut self, spent: Spent) -> Vec<Effect> {
        self.elsewhere = spent;
        self.stop_at_budget()
    }

    /// Asks each agent at work to end, once. A gate or a commit uses nothing.
    fn stop_at_budget(&mut self) -> Vec<Effect> {
        let Some(limit) = self.budget_reached() else {
            return Vec::new();
        };
        let is_wanted = self.stopping.is_some();
        let mut effects = Vec::new();
        for (node, work) in &mut self.under_way {
            if work.live.is_none() || work.used_up.is_some() {
                continue;
            }
            work.used_up = Some(limit.clone());
            // Whoever wants it to stop has asked it already.
            if !is_wanted {
                effects.push(Effect::StopWork {
                    node: node.clone(),
                    kill: false,
                });
            }
        }
        effects
    }

    /// The budget for which the agent at work on an item was asked to end, in
    /// words.
    #[must_use]
    pub fn used_up(&self, node: &Node) -> Option<&str> {
        self.under_way.get(node)?.used_up.as_deref()
    }
}

/// The report of an agent, with what was seen of it while it worked: whoever is
/// stopped says less of what it used than it has said before, or nothing.
pub(super) fn with_live(report: Box<Report>, work: UnderWay) -> Box<Report> {
    let mut report = report;
    if let Some(live) = work.live.filter(|_| !report.cannot_start) {
        report.usage = more_of(&report.usage, &live);
    }
    if let Some(limit) = work.used_up
        && report.outcome == Outcome::Interrupted
    {
        report.error = Some(format!("stopped at a limit: {limit}"));
    }
    report
}

/// What an attempt used: as its end says, unless more of it was seen before. An
/// estimate of what was seen before is one of less.
fn more_of(end: &Usage, live: &Usage) -> Usage {
    if end.cost_usd.is_some() {
        return end.or(live);
    }
    end.at_least(live)
}
