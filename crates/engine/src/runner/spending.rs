//! What the loop is told about budgets at each boundary.

use piton_core::attempt::Report;
use piton_core::budget::BudgetUse;
use piton_core::dollars::Dollars;
use piton_core::run_loop::Input;
use piton_core::trouble::Trouble;
use piton_core::{Need, Node, Outcome};

use super::runner_state::Runner;
use crate::failure::Failure;
use crate::failure::notice::Notice;
use crate::process::ProcessExit;

impl Runner<'_, '_> {
    /// What all other runs of the project have used, where the project has a
    /// budget; and a warning, once, where a budget cannot hold what it says.
    pub(super) fn check_budgets(
        &mut self,
        tell: &mut dyn FnMut(Notice<'_>),
    ) -> Result<Option<Input>, Failure> {
        if !self.reported.budget_warned
            && let Some(warning) = self.lp.describe_unknown_spend()
        {
            self.reported.budget_warned = true;
            tell(Notice::Warning(&warning));
        }
        let limits = self.lp.run().map(|row| &row.invocation.limits);
        let has_one = limits
            .is_some_and(|limits| limits.project_usd.is_some() || limits.project_tokens.is_some());
        if !has_one {
            return Ok(None);
        }
        let rows = self.session.load(&[Need::Runs])?;
        let others = rows.tables.runs().filter(|run| run.id != self.row.id);
        let spent = others.map(|run| BudgetUse::from(&run.spent.spend));
        let spent = spent.fold(BudgetUse::default(), BudgetUse::plus);
        Ok(Some(Input::Elsewhere(spent)))
    }

    /// A program that ended itself at the dollars that were left of the budget
    /// did what piton would have done: nothing counts against the item.
    pub(super) fn interrupt_at_budget(&self, node: &Node, exit: &ProcessExit, report: &mut Report) {
        if exit.stopped_by.is_some() {
            return;
        }
        let left = self.lp.budget_left_at_start(node).usd.map(Dollars::as_f64);
        let used = report.program.usage.total_dollars();
        let used_up = left.zip(used).is_some_and(|(left, used)| used >= left);
        if report.program.trouble == Some(Trouble::Limit)
            && report.outcome == Outcome::Failed
            && used_up
        {
            report.outcome = Outcome::Interrupted;
            report.category = None;
        }
    }
}
