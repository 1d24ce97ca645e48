//! What shows that an item is done; and what becomes of one where nothing
//! does, although something was asked for.

use super::advance::finish;
use super::people::{bury_runner, wake};
use super::story::{About, Story};
use crate::attempt::HumanNeeded;
use crate::decision::{DecisionKind, Verb};
use crate::event::Event;
use crate::evidence::{Changed, Worth};
use crate::id::{Node, RunId};
use crate::item::{Evidence, ItemRow, ItemState, Stage};
use crate::refusal::Refusal;
use crate::run::RunState;

/// Why an item that is finished now counts as done, beyond the commit that was
/// made of it.
pub(super) fn evidence(story: &Story<'_>, item: &ItemRow) -> Vec<Evidence> {
    let mut evidence = Vec::new();
    let passed = item.gate_runs.as_ref().is_some_and(|runs| runs.passed);
    if passed {
        evidence.push(Evidence::GatePassed);
    }
    if !item.is_leaf() {
        return evidence;
    }
    if let Some(Changed::Something { files }) = item.changed {
        evidence.push(Evidence::Changed { files });
    }
    if is_claim(story, item) {
        evidence.push(Evidence::Claim);
    } else if evidence.is_empty() && item.gate.is_none() && !is_committed(item) {
        evidence.push(Evidence::NoneAsked);
    }
    evidence
}

fn is_committed(item: &ItemRow) -> bool {
    let committed = |one: &Evidence| matches!(one, Evidence::Committed { .. });
    item.evidence.iter().any(committed)
}

/// Whether its agent's word is all there is, although something was asked for.
fn is_claim(story: &Story<'_>, item: &ItemRow) -> bool {
    let Some(run) = story.tables.run(item.run) else {
        return false;
    };
    let asked = run.claims.asked || (run.policy.auto_commit && item.is_task());
    let passed = item.gate_runs.as_ref().is_some_and(|runs| runs.passed);
    asked
        && item.is_leaf()
        && item.gate.is_none()
        && !passed
        && !is_committed(item)
        && item.changed == Some(Changed::Nothing)
}

/// All that the plan asks for `node` was done: it is finished, unless its
/// agent's word alone is not enough here.
pub(super) fn finish_or_doubt(story: &mut Story<'_>, run: RunId, node: &Node) {
    let Some(item) = story.tables.item(run, node).cloned() else {
        return;
    };
    if !is_claim(story, &item) {
        finish(story, run, node);
        return;
    }
    let claims = story.tables.run(run).map(|row| row.claims.clone());
    let claims = claims.unwrap_or_default();
    match (claims.worth, claims.gate) {
        (Worth::Accept, _) => finish(story, run, node),
        (Worth::Gate, Some(gate)) => story.tell(Event::ItemStaged {
            run,
            node: node.clone(),
            stage: Stage::Gate,
            gate: Some(gate),
        }),
        (Worth::Gate, None) | (Worth::Ask, _) => ask(story, &item),
    }
}

fn ask(story: &mut Story<'_>, item: &ItemRow) {
    let (run, node) = (item.run, &item.node);
    let human = HumanNeeded {
        reason: format!("`{node}` says that it is done, and nothing changed"),
        details: item.summary.clone(),
    };
    story.move_item(run, node, ItemState::Waiting, |moved| {
        moved.human = Some(human.clone());
    });
    let about = About {
        at: Some(node.clone()),
        reason: Some(human.reason.clone()),
        pause: None,
    };
    story.move_run(run, RunState::Waiting, about);
    story.ask(DecisionKind::Claim, run, node, human.reason, human.details);
}

/// A person takes the agent's word.
pub(super) fn accept(
    story: &mut Story<'_>,
    run: RunId,
    node: &Node,
    why: Option<&str>,
) -> Result<(), Refusal> {
    bury_runner(story, run)?;
    if story.run(run)?.state == RunState::Done {
        return Err(story.wrong_state(run));
    }
    if story.item(run, node)?.state == ItemState::Waiting {
        finish(story, run, node);
    }
    story.settle(run, node, Verb::Approve, why);
    wake(story, run);
    Ok(())
}
