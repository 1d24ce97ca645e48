//! A plan of any format as a graph of issues.

use jiff::Timestamp;
use piton_core::native::Native;
use piton_core::plan::{Plan, PlannedItem};

use super::plan::of_issue;
use super::state::{Issue, IssueStatus};
use super::{FACE, read, show};
use crate::plan_convert::{AtWork, Outline, Words, tables};
use crate::plan_format::Conversion;
use crate::problem::Source;

pub(super) const CONVERSIONS: &[Conversion] = &[Conversion {
    name: "sdlc",
    write,
    words,
    judged: &["status", "blocked_by", "updated_at", "totals"],
}];

/// Who works on an issue, as its status says.
fn words(text: &str, outline: &mut Outline) {
    let state = read(Source { name: "", text }).0.unwrap_or_default();
    let items = outline.plan.items.iter();
    for (item, words) in items.zip(&mut outline.words) {
        let issue = state.issues.iter().find(|issue| issue.id == item.id);
        words.at_work = match issue.and_then(|issue| issue.status) {
            Some(IssueStatus::Implementing) => Some(AtWork::Implementing),
            Some(IssueStatus::Reviewing) => Some(AtWork::Reviewing),
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
fn write(outline: &Outline, now: Timestamp) -> String {
    let plan = issues_of(&outline.flattened());
    let tables = tables(&plan, FACE, now);
    let text = show(None, &tables, plan.run, now).ok().flatten();
    text.unwrap_or_default()
}

/// The plan with an issue for each item that was none.
fn issues_of(outline: &Outline) -> Plan {
    let plan = &outline.plan;
    let with_issue = |(item, words): (&PlannedItem, &Words)| {
        let is_one = |native: &Native| native.face == FACE;
        if item.native.as_ref().is_some_and(is_one) {
            return item.clone();
        }
        let on = plan.items.iter();
        let on = on.filter(|other| item.depends_on.contains(&other.node));
        let issue = Issue {
            id: item.id.clone(),
            title: Some(words.line(item)),
            blocked_by: on.map(|other| other.id.clone()).collect(),
            status: words.at_work.map(|at_work| match at_work {
                AtWork::Implementing => IssueStatus::Implementing,
                AtWork::Reviewing => IssueStatus::Reviewing,
            }),
            ..Issue::default()
        };
        PlannedItem {
            native: Some(of_issue(&issue)),
            ..item.clone()
        }
    };
    Plan {
        items: outline.items().map(with_issue).collect(),
        ..plan.clone()
    }
}
