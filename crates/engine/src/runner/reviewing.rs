//! Attempts that review the work on an item.

use piton_core::attempt::{Outcome, Report};
use piton_core::classify::FailureCategory;
use piton_core::trouble::Trouble;
use piton_core::{AttemptId, ItemRow, Role};

use super::runner_state::Runner;
use crate::agents::prompt::ReviewInput;
use crate::git;

impl Runner<'_, '_> {
    /// What an agent is started for, in the word of its format where that has one.
    pub(super) fn role_name(&self, item: &ItemRow, role: Role) -> &'static str {
        let own = match role {
            Role::Worker | Role::Reviewer => self.role_of_item(item),
            Role::GateFix
            | Role::Repair
            | Role::Split
            | Role::Verdict
            | Role::IterationHook
            | Role::Resolve => None,
        };
        own.map_or(role.as_str(), |own| own.name)
    }

    /// What a reviewer has to know beside the item.
    pub(super) fn review_context(&self, item: &ItemRow, role: Role) -> Option<ReviewInput> {
        let phases = self.plan_phases().filter(|_| role == Role::Reviewer)?;
        Some(ReviewInput {
            base: self.base_of_work(item),
            form: phases.review_form,
        })
    }

    /// The commit at which the work on an item begins.
    fn base_of_work(&self, item: &ItemRow) -> Option<String> {
        let site = self.work.sites.site_of_item(&item.node);
        let tree = site.tree_path();
        let head = git::head_commit(tree).ok()??;
        if self.lane_of_item(&item.node).is_some() {
            // What was saved of it before is work as well.
            let target = self.target_of_item(&item.node)?;
            return git::merge_base(tree, &target.tip, &head).ok()?;
        }
        // Where agents commit, the work begins before the first of their commits.
        let first =
            item.work.commits.iter().find(|commit| {
                git::is_built_on(tree, &head, commit).is_ok_and(|is_there| is_there)
            });
        Some(first.map_or(head, |first| format!("{first}^")))
    }

    /// Reads the verdict of a reviewer whose program ended well. Whatever else it says
    /// of its work counts for nothing.
    pub(super) fn parse_review(&self, attempt: AttemptId, text: &str, report: &mut Report) {
        let row = self.lp.tables().attempt(attempt);
        let is_review = row.is_some_and(|row| row.role == Role::Reviewer);
        let Some(phases) = self.plan_phases().filter(|_| is_review) else {
            return;
        };
        let code = report.program.process.as_ref().and_then(|end| end.code);
        let is_stopped = report
            .program
            .process
            .as_ref()
            .is_some_and(|end| end.stopped_by.is_some());
        let is_harmless =
            |trouble: Trouble| matches!(trouble, Trouble::Permission | Trouble::NoVerdict);
        let has_ended_well = code == Some(0)
            && !is_stopped
            && !report.program.cannot_start
            && report.outcome != Outcome::Interrupted
            && report.program.trouble.is_none_or(is_harmless);
        if !has_ended_well {
            return;
        }
        report.human = None;
        match (phases.read_review)(text) {
            Ok(review) => {
                report.outcome = Outcome::Completed;
                report.error = None;
                report.category = None;
                report.program.trouble = None;
                report.summary = review.summary.clone();
                report.review = Some(Box::new(review));
            }
            Err(why) => {
                report.outcome = Outcome::Failed;
                report.category = Some(FailureCategory::Validation);
                report.error = Some(format!("the reviewer gave no verdict: {why}"));
            }
        }
    }
}
