//! What the loop does about budgets: no agent is started when one is used up,
//! and the agent at work is stopped as soon as that is known.

use super::{Doing, Effect, RunLoop};
use crate::attempt::{Outcome, Report};
use crate::budget::{self, Left, Spent};
use crate::run::RunRow;
use crate::usage::Usage;

impl RunLoop {
    /// What the next agent, or the one at work, may still use: for a program
    /// that can be told.
    #[must_use]
    pub fn left(&self) -> Left {
        let Some(row) = self.run() else {
            return Left::default();
        };
        let live = self.live.clone().unwrap_or_default();
        budget::left(&row.limits, &row.spend, &live, self.elsewhere)
    }

    /// What the agent at work could still use when it was started.
    #[must_use]
    pub fn left_at_start(&self) -> Left {
        let Some(row) = self.run() else {
            return Left::default();
        };
        budget::left(&row.limits, &row.spend, &Usage::default(), self.elsewhere)
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
        let live = self.live.clone().unwrap_or_default();
        budget::reached(&row.limits, &row.spend, &live, self.elsewhere)
    }

    pub(super) fn spent(&mut self, usage: &Usage) -> Vec<Effect> {
        // What comes after the end of the agent stands in its report.
        let Some(live) = &mut self.live else {
            return Vec::new();
        };
        *live = usage.at_least(live);
        self.stop_at_budget()
    }

    pub(super) fn spent_elsewhere(&mut self, spent: Spent) -> Vec<Effect> {
        self.elsewhere = spent;
        self.stop_at_budget()
    }

    /// Asks the agent at work to end, once. A gate or a commit uses nothing.
    fn stop_at_budget(&mut self) -> Vec<Effect> {
        let works = self.live.is_some() && matches!(self.doing, Doing::Working(_));
        if !works || self.used_up.is_some() {
            return Vec::new();
        }
        self.used_up = self.budget_reached();
        match (&self.used_up, &self.stopping) {
            // Whoever wants it to stop has asked it already.
            (Some(_), None) => vec![Effect::StopWork { kill: false }],
            (Some(_), Some(_)) | (None, _) => Vec::new(),
        }
    }

    /// The budget for which the agent at work was asked to end, in words.
    #[must_use]
    pub fn used_up(&self) -> Option<&str> {
        self.used_up.as_deref()
    }

    /// The report of the agent at work, with what was seen of it: whoever is
    /// stopped says less of what it used than it has said before, or nothing.
    pub(super) fn with_live(&mut self, report: Box<Report>) -> Box<Report> {
        let mut report = report;
        if let Some(live) = self.live.take().filter(|_| !report.cannot_start) {
            report.usage = more_of(&report.usage, &live);
        }
        if let Some(limit) = self.used_up.take()
            && report.outcome == Outcome::Interrupted
        {
            report.error = Some(format!("stopped at a limit: {limit}"));
        }
        report
    }
}

/// What an attempt used: as its end says, unless more of it was seen before. An
/// estimate of what was seen before is one of less.
fn more_of(end: &Usage, live: &Usage) -> Usage {
    if end.cost_usd.is_some() {
        return end.or(live);
    }
    end.at_least(live)
}
