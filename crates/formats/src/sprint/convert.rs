//! A plan of any format as the progress of a sprint.

use jiff::Timestamp;
use piton_core::plan::{Plan, PlannedItem};

use super::native::NodeRest;
use super::progress::PhaseStatus;
use super::{FACE, SprintExporter, parse_progress, render_progress};
use crate::plan_convert::{ItemWords, Outline, OutsideWork, tables_of_plan};
use crate::plan_format::Conversion;
use crate::problem::SourceText;
use crate::tree::ValueNode;

pub(super) const CONVERSIONS: &[Conversion] = &[Conversion {
    name: "sprint-progress",
    write: render_outline,
    words: mark_items_at_work,
    judged: &[
        "status",
        "stats",
        "current",
        "depends-on",
        "model",
        "break",
        "started-at",
        "completed-at",
        "elapsed",
        "last-activity",
        "retry-count",
        "script",
        "max-retries",
        "timeout",
        "command",
        "every",
        "until",
        "config",
        "retry",
    ],
}];

/// Which nodes are under way: their agents are gone.
fn mark_items_at_work(text: &str, outline: &mut Outline) {
    let Some(sprint) = parse_progress(SourceText { name: "", text }).0 else {
        return;
    };
    outline.whole.project = Some(sprint.sprint_id).filter(|id| !id.is_empty());
    let items = outline.plan.items.iter();
    for (item, words) in items.zip(&mut outline.words) {
        let rest = NodeRest::unpack(item.native.as_ref());
        let is_at_work = rest.status.as_deref() == Some(PhaseStatus::InProgress.as_str());
        words.at_work = is_at_work.then_some(OutsideWork::Implementing);
    }
}

/// The progress that a plan makes.
fn render_outline(outline: &Outline, now: Timestamp) -> String {
    let plan = &plan_of_outline(outline);
    let tables = tables_of_plan(plan, FACE, now);
    let progress = SprintExporter::new(&tables, plan.run).export(&tables, now);
    let text = progress.map(|mut progress| {
        if progress.sprint_id.is_empty() {
            let name = outline.whole.project.as_ref().unwrap_or(&plan.name);
            progress.sprint_id.clone_from(name);
        }
        if let Some(limit) = plan
            .policy
            .limits
            .iterations_max
            .filter(|_| progress.settings.config.is_none())
        {
            let limit = ValueNode::plain(limit.to_string());
            progress.settings.config = Some(ValueNode::map([("max-iterations", limit)]));
        }
        progress.last_activity = None;
        render_progress(&progress)
    });
    text.unwrap_or_default()
}

/// The plan with what others work on as under way.
fn plan_of_outline(outline: &Outline) -> Plan {
    let node = |(item, words): (&PlannedItem, &ItemWords)| {
        let is_own = |item: &PlannedItem| {
            item.native
                .as_ref()
                .is_some_and(|native| native.face == FACE)
        };
        if is_own(item) || words.at_work.is_none() {
            return item.clone();
        }
        let rest = NodeRest {
            status: Some(PhaseStatus::InProgress.as_str().to_owned()),
            ..NodeRest::default()
        };
        PlannedItem {
            native: rest.pack(),
            ..item.clone()
        }
    };
    Plan {
        items: outline.items().map(node).collect(),
        ..outline.plan.clone()
    }
}
