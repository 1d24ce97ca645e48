//! A plan of any format as a graph of issues.

use jiff::Timestamp;
use piton_core::native::Native;
use piton_core::plan::{Plan, PlannedItem};

use super::native::native_of_issue;
use super::state::{IssueStatus, SdlcIssue};
use super::{FACE, parse_state, render_run};
use crate::plan_convert::{ItemWords, Outline, OutsideWork, tables_of_plan};
use crate::plan_format::Conversion;
use crate::problem::SourceText;

pub(super) const CONVERSIONS: &[Conversion] = &[Conversion {
    name: "sdlc",
    write: render_outline,
    words: mark_items_at_work,
    judged: &["status", "blocked_by", "updated_at", "totals"],
}];

/// Who works on an issue, as its status says.
fn mark_items_at_work(text: &str, outline: &mut Outline) {
    let state = parse_state(SourceText { name: "", text })
        .0
        .unwrap_or_default();
    let items = outline.plan.items.iter();
    for (item, words) in items.zip(&mut outline.words) {
        let issue = state.issues.iter().find(|issue| issue.id == item.id);
        words.at_work = match issue.and_then(|issue| issue.status) {
            Some(IssueStatus::Implementing) => Some(OutsideWork::Implementing),
            Some(IssueStatus::Reviewing) => Some(OutsideWork::Reviewing),
            Some(
                IssueStatus::Blocked
                | IssueStatus::Ready
                | IssueStatus::AwaitingHuman
                | IssueStatus::Done
                | IssueStatus::Failed,
            )
            | None => None,
        };
    }
}

/// The state that a plan makes.
fn render_outline(outline: &Outline, now: Timestamp) -> String {
    let plan = plan_as_issues(&outline.flatten());
    let tables = tables_of_plan(&plan, FACE, now);
    let text = render_run(None, &tables, plan.run, now).ok().flatten();
    text.unwrap_or_default()
}

/// The plan with an issue for each item that was none.
fn plan_as_issues(outline: &Outline) -> Plan {
    let plan = &outline.plan;
    let with_issue = |(item, words): (&PlannedItem, &ItemWords)| {
        let is_one = |native: &Native| native.face == FACE;
        if item.native.as_ref().is_some_and(is_one) {
            return item.clone();
        }
        let on = plan.items.iter();
        let on = on.filter(|other| item.depends_on.contains(&other.node));
        let issue = SdlcIssue {
            id: item.id.clone(),
            title: Some(words.headline(item)),
            blocked_by: on.map(|other| other.id.clone()).collect(),
            status: words.at_work.map(|at_work| match at_work {
                OutsideWork::Implementing => IssueStatus::Implementing,
                OutsideWork::Reviewing => IssueStatus::Reviewing,
            }),
            ..SdlcIssue::default()
        };
        PlannedItem {
            native: Some(native_of_issue(&issue)),
            ..item.clone()
        }
    };
    Plan {
        items: outline.items().map(with_issue).collect(),
        ..plan.clone()
    }
}
