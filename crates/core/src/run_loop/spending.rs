//! What the loop does about budgets: no agent is started when one is used up,
//! and the agent at work is stopped as soon as that is known.

use super::RunLoop;
use super::effects::Effect;
use super::ongoing::OngoingWork;
use crate::attempt::{Outcome, Report};
use crate::budget::{self, BudgetLeft, BudgetUse};
use crate::id::Node;
use crate::run::RunRow;
use crate::usage::Usage;

impl RunLoop {
    /// What the next agent may still use: for a program that can be told.
    #[must_use]
    pub fn budget_left(&self) -> BudgetLeft {
        let Some(row) = self.run() else {
            return BudgetLeft::default();
        };
        budget::budget_left(
            &row.invocation.limits,
            &row.spent.spend,
            &self.live_usage(None),
            self.elsewhere,
        )
    }

    /// What the agent at work on an item could still use, by what is known now,
    /// when it was started.
    #[must_use]
    pub fn budget_left_at_start(&self, node: &Node) -> BudgetLeft {
        let Some(row) = self.run() else {
            return BudgetLeft::default();
        };
        let others = self.live_usage(Some(node));
        budget::budget_left(
            &row.invocation.limits,
            &row.spent.spend,
            &others,
            self.elsewhere,
        )
    }

    /// What the run has used, agents at work included, as far as it is known.
    #[must_use]
    pub fn used_so_far(&self) -> BudgetUse {
        let spent = self.run().map(|row| BudgetUse::from(&row.spent.spend));
        let live = self.live_usage(None);
        spent.unwrap_or_default().plus(BudgetUse::from(&live))
    }

    /// How much of its budgets is used, in percent; none without one.
    #[must_use]
    pub fn budget_percent(&self) -> Option<u64> {
        let row = self.run()?;
        budget::budget_percent(
            &row.invocation.limits,
            &row.spent.spend,
            &self.live_usage(None),
            self.elsewhere,
        )
    }

    /// What all agents at work have used so far, or all but one.
    fn live_usage(&self, but: Option<&Node>) -> Usage {
        let counted = self.under_way.iter().filter(|(node, _)| Some(*node) != but);
        let used = counted.filter_map(|(_, work)| work.live.as_ref());
        used.fold(Usage::default(), |sum, live| sum.plus(live))
    }

    /// A warning for a person who relies on the budget of this run.
    #[must_use]
    pub fn describe_unknown_spend(&self) -> Option<String> {
        let row = self.run()?;
        budget::describe_unknown_spend(&row.invocation.limits, &row.spent.spend)
    }

    /// The budgets that were passed, each in a sentence.
    #[must_use]
    pub fn describe_exceeded_budgets(&self) -> Vec<String> {
        let passed = |row: &RunRow| {
            budget::describe_exceeded_budgets(
                &row.invocation.limits,
                &row.spent.spend,
                self.elsewhere,
            )
        };
        self.run().map(passed).unwrap_or_default()
    }

    /// Whether something bounds what this run may use.
    #[must_use]
    pub fn has_budget(&self) -> bool {
        self.run()
            .is_some_and(|row| row.invocation.limits.has_budget())
    }

    /// The budget that is used up, in words.
    pub(super) fn describe_exhausted_budget(&self) -> Option<String> {
        let row = self.run()?;
        budget::describe_exhausted_budget(
            &row.invocation.limits,
            &row.spent.spend,
            &self.live_usage(None),
            self.elsewhere,
        )
    }

    pub(super) fn record_usage(&mut self, node: &Node, usage: &Usage) -> Vec<Effect> {
        // What comes after the end of the agent stands in its report.
        let work = self.under_way.get_mut(node);
        let Some(live) = work.and_then(|work| work.live.as_mut()) else {
            return Vec::new();
        };
        *live = usage.max_of_bounds(live);
        self.stop_if_budget_exhausted()
    }

    pub(super) fn record_spend_elsewhere(&mut self, spent: BudgetUse) -> Vec<Effect> {
        self.elsewhere = spent;
        self.stop_if_budget_exhausted()
    }

    /// Asks each agent at work to end, once. A gate or a commit uses nothing.
    fn stop_if_budget_exhausted(&mut self) -> Vec<Effect> {
        let Some(limit) = self.describe_exhausted_budget() else {
            return Vec::new();
        };
        let is_wanted = self.stopping.is_some();
        let mut effects = Vec::new();
        for (node, work) in &mut self.under_way {
            if work.live.is_none() || work.used_up.is_some() {
                continue;
            }
            work.used_up = Some(limit.clone());
            // A runner that stops has asked its agents already.
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
    pub fn exhausted_budget_of(&self, node: &Node) -> Option<&str> {
        self.under_way.get(node)?.used_up.as_deref()
    }
}

/// The report of an agent, with what was seen of it while it worked: an agent that is
/// stopped reports less usage than it has reported before, or none.
pub(super) fn with_live_usage(report: Box<Report>, work: OngoingWork) -> Box<Report> {
    let mut report = report;
    if let Some(live) = work.live.filter(|_| !report.program.cannot_start) {
        report.program.usage = larger_usage(&report.program.usage, &live);
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
fn larger_usage(end: &Usage, live: &Usage) -> Usage {
    if end.cost_usd.is_some() {
        return end.or_lower_bound(live);
    }
    end.max_of_bounds(live)
}
