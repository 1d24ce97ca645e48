//! Attempts that were made without piton, and the items of the project that they are about.

use super::event_buffer::EventBuffer;
use super::recording::{is_name_taken, log_attempt, next_attempt_name};
use super::remembering::learn_from_report;
use crate::attempt::{Outcome, Report, ReportedAttempt};
use crate::event::{AttemptEvent, ItemEvent, ItemPlanned, RunEvent, RunPlanned};
use crate::evidence::ClaimOverrides;
use crate::id::{Node, RunId, TreePosition};
use crate::item::{Evidence, ItemRef, ItemState};
use crate::name::{Space, free_name};
use crate::plan::{ImportedItemHistory, ItemTags, Order, PlannedItem};
use crate::policy::Policy;
use crate::refusal::Refusal;

/// The face of the project's own run: no file is its plan.
const OWN_FACE: &str = "piton";

const OWN_NAME: &str = "project";

pub(super) fn import_attempt(
    story: &mut EventBuffer<'_>,
    told: &ReportedAttempt,
) -> Result<(), Refusal> {
    let name = told.name.clone();
    let is_taken = |name: &str| is_name_taken(story, Space::Attempt, name);
    let name = name.map(|name| free_name(&name, is_taken));
    let told = append_attempt(story, told, name, LearningMode::Yes)?;
    let at = told.ended_at.map(|at| at.to_string());
    let took_s = told.report.program.duration_s;
    let item = ItemRef {
        run: told.run,
        node: &told.node,
    };
    log_attempt(story, item, &told.report, at, took_s);
    Ok(())
}

/// Whether what an attempt noticed is learned from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LearningMode {
    Yes,
    /// A file says what was learned from its entries, if anything was.
    No,
}

/// Keeps an attempt, with its item if that is not known yet.
fn append_attempt(
    story: &mut EventBuffer<'_>,
    told: &ReportedAttempt,
    name: Option<String>,
    learns: LearningMode,
) -> Result<ReportedAttempt, Refusal> {
    let (run, node) = (told.run, &told.node);
    if run == RunId::PROJECT {
        ensure_project_item(story, node, &told.item);
    }
    let item = story.require_item(run, node)?.clone();
    let number = told.number.unwrap_or(item.attempts + 1);
    let name = name.unwrap_or_else(|| next_attempt_name(story, &told.item, number));
    let mut report = told.report.clone();
    if learns == LearningMode::Yes {
        learn_from_report(story, &mut report, &told.item, &name, &[]);
    }
    let told = ReportedAttempt {
        number: Some(number),
        name: Some(name),
        report,
        ..told.clone()
    };
    story.append(AttemptEvent::Reported(Box::new(told.clone())));
    if run == RunId::PROJECT {
        move_project_item(story, node, &told.report);
    }
    Ok(told)
}

/// Makes the project's own run, unless it is there.
pub(super) fn ensure_project_run(story: &mut EventBuffer<'_>) {
    let run = RunId::PROJECT;
    if story.tables.run(run).is_none() {
        story.append(RunEvent::Planned(Box::new(RunPlanned {
            run,
            name: OWN_NAME.to_owned(),
            face: OWN_FACE.to_owned(),
            source: String::new(),
            policy: Policy::default(),
            order: Some(Order::Any),
            native: None,
            past: None,
        })));
    }
}

/// Makes an item of the project's own run, unless it is there.
fn ensure_project_item(story: &mut EventBuffer<'_>, node: &Node, id: &str) {
    let run = RunId::PROJECT;
    ensure_project_run(story);
    if story.tables.item(run, node).is_some() {
        return;
    }
    let index = story
        .tables
        .last_root(run)
        .and_then(|root| root.plan.place.0.first())
        .map_or(0, |last| last + 1);
    story.append(ItemEvent::Planned(Box::new(ItemPlanned {
        run,
        item: PlannedItem {
            node: node.clone(),
            id: id.to_owned(),
            place: TreePosition(vec![index]),
            state: ItemState::Ready,
            prompt: None,
            model: None,
            gate: None,
            breakpoint: false,
            approval: false,
            depends_on: Vec::new(),
            native: None,
            past: ImportedItemHistory::default(),
            piece_of: None,
            injected: None,
            tags: ItemTags::default(),
            claims: ClaimOverrides::default(),
            turn: crate::plan::ItemTurn::default(),
            scope: crate::scope::FileScope::default(),
            repository: None,
            wait: None,
        },
    })));
}

/// An item of no plan stands where its last attempt left it.
fn move_project_item(story: &mut EventBuffer<'_>, node: &Node, report: &Report) {
    let run = RunId::PROJECT;
    let to = match report.outcome {
        Outcome::Completed => ItemState::Done,
        Outcome::Failed => ItemState::Failed,
        Outcome::Blocked => ItemState::Blocked,
        Outcome::NeedsHuman => ItemState::Waiting,
        Outcome::Partial | Outcome::Interrupted => ItemState::Ready,
    };
    let state = story.tables.item(run, node).map(|row| row.state);
    if state != Some(ItemState::Working) {
        story.move_item(run, node, ItemState::Working, |_| {});
    }
    story.move_item(run, node, to, |moved| {
        moved.summary.clone_from(&report.summary);
        if to == ItemState::Done {
            moved.evidence = vec![Evidence::NoneAsked];
        } else {
            moved.error.clone_from(&report.error);
        }
    });
}

/// The part of keeping an attempt that taking a file shares.
pub(super) fn append_imported_attempt(
    story: &mut EventBuffer<'_>,
    told: &ReportedAttempt,
    name: String,
) -> Result<(), Refusal> {
    append_attempt(story, told, Some(name), LearningMode::No).map(drop)
}
