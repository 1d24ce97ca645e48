//! What follows where an agent did not say what came of its work, or a hook of
//! the user's did not let it begin.

use piton_core::attempt::{Outcome, Report};
use piton_core::trouble::Trouble;
use piton_core::{AttemptId, AttemptRow, Node, Role};

use super::runner_state::Runner;
use crate::agents::answer;
use crate::lies::EvidenceRule;
use crate::process::shell::quote_word;

/// How to go on with a run whose agent was started and cannot work as it is set; where
/// others go on with the run, beside them.
pub(super) fn resume_hint(trouble: Trouble, run: &str, has_others: bool) -> String {
    let run = quote_word(run);
    let way = if trouble == Trouble::NoVerdict {
        let join = if has_others { " --join" } else { "" };
        format!(
            "let it print the block that its prompt asks for; or, if exit status 0 means that the work is done, type `piton run {run}{join} --verdict exit-status`, or write `verdict = \"exit-status\"` into its table [agents.NAME]"
        )
    } else if has_others {
        format!("when that is done, type `piton run {run} --join`; others go on with the run")
    } else {
        format!("when that is done, go on with `piton run {run}`")
    };
    format!("{way}; nothing was counted against the node")
}

impl Runner<'_, '_> {
    /// The report as it would be without a rule that is switched off.
    pub(super) fn apply_disabled_rules(&self, node: &Node, report: &mut Report) {
        let world = self.session.world;
        let item = self.lp.tables().item(self.row.id, node);
        let has_check = item.is_some_and(|item| item.pending_gate().is_some());
        let has_failed = report.outcome == Outcome::Failed;
        let takes_status = report.is_missing_verdict() && EvidenceRule::Verdict.is_off(world);
        let takes_check = has_failed && has_check && EvidenceRule::FailedAttempt.is_off(world);
        if takes_status || takes_check {
            report.outcome = Outcome::Completed;
            report.program.trouble = None;
            report.error = None;
            report.category = None;
        }
        if EvidenceRule::Weakened.is_off(world) {
            report.changes.proof = None;
        }
        if EvidenceRule::CheckNeedsChange.is_off(world) && has_check {
            // A tree that was never seen before: it always looks changed.
            report.changes.tree_after = Some(world.new_id().to_string());
        }
    }

    /// Notes in the report whether the agent can be asked once more, and makes
    /// a wrong setting of what can only be one.
    pub(super) fn decide_follow_up(
        &self,
        attempt: AttemptId,
        node: &Node,
        output: &str,
        report: &mut Report,
    ) {
        let tables = self.lp.tables();
        let (Some(row), Some(item), Some(run)) = (
            tables.attempt(attempt),
            tables.item(self.row.id, node),
            tables.run(self.row.id),
        ) else {
            return;
        };
        match report.program.trouble {
            Some(Trouble::NoVerdict | Trouble::Unfinished) => {}
            Some(Trouble::HookRefused) => {
                let other = run.spent.hook_refused.as_ref().is_some_and(|at| at != node);
                if other && row.number == 1 {
                    mark_wrong_setting(report, &describe_refusing_hook(report));
                }
                return;
            }
            Some(_) | None => return,
        }
        let has_check = item.pending_gate().is_some();
        let decided_by_check = has_check && report.program.trouble == Some(Trouble::NoVerdict);
        if row.role != Role::Worker || decided_by_check {
            return;
        }
        let keeps = self.agent_of_attempt(attempt).program.can_resume();
        let can_resume = keeps && report.program.conversation.is_some();
        report.program.can_be_asked = can_resume;
        let is_first = !run.spent.has_counted && !keeps;
        if is_first && !answer::has_status_block(output) {
            mark_wrong_setting(report, &describe_missing_verdict(row, report));
        }
    }
}

impl Runner<'_, '_> {
    /// Notes in the report of an agent that was stopped because it made no
    /// progress whether it can be asked, in the same conversation, to come to an
    /// end. It is asked once.
    pub(super) fn offer_wrap_up(&self, attempt: AttemptId, report: &mut Report) {
        let row = self.lp.tables().attempt(attempt);
        let is_first = row.is_some_and(|row| row.role == Role::Worker);
        let keeps = self.agent_of_attempt(attempt).program.can_resume();
        let can_resume = keeps && report.program.conversation.is_some();
        report.program.can_be_asked = is_first && can_resume && report.outcome == Outcome::Failed;
    }
}

/// Nothing is counted against the item, and the run stops.
fn mark_wrong_setting(report: &mut Report, why: &str) {
    report.outcome = Outcome::Interrupted;
    report.program.cannot_start = true;
    report.category = None;
    report.human = None;
    report.error = Some(why.to_owned());
}

fn describe_refusing_hook(report: &Report) -> String {
    let words = report.human.as_ref().map_or("", |human| &human.reason);
    format!("a hook refuses the prompts of one item after the other: {words}; change the hook")
}

fn describe_missing_verdict(row: &AttemptRow, report: &Report) -> String {
    let what = report.error.as_deref().unwrap_or_default();
    let agent = row.agent.lines().next().unwrap_or_default();
    let agent: String = agent.chars().take(60).collect();
    format!("`{agent}` gives no verdict: {what}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hint_to_go_on_works_as_typed_whatever_the_run_is_called() {
        for (trouble, has_others, typed) in [
            (Trouble::Auth, false, "`piton run 'my plan'`"),
            (Trouble::Auth, true, "`piton run 'my plan' --join`"),
            (Trouble::NoVerdict, false, "`piton run 'my plan' --verdict"),
        ] {
            let hint = resume_hint(trouble, "my plan", has_others);
            assert!(hint.contains(typed), "{hint}");
        }
    }
}
