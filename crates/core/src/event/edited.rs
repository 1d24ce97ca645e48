//! What happens to a plan after it was made: it is edited, or a question about it
//! is answered.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::evidence::ClaimOverrides;
use crate::gate::Gate;
use crate::id::{Node, RunId, TreePosition};
use crate::item::{ItemHold, ItemRow};
use crate::native::Native;
use crate::plan::{ItemTags, ItemTurn};
use crate::policy::Policy;
use crate::run::RunRow;
use crate::scope::FileScope;
use crate::wait::Wait;

/// See [`ItemEvent::Changed`](super::ItemEvent::Changed).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ItemChanged {
    /// The run.
    pub run: RunId,
    /// The item.
    pub node: Node,
    /// What is different now.
    #[serde(flatten)]
    pub change: ItemChange,
}

/// What the plan, or a person who was asked, says of an item now.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "what", content = "now")]
pub enum ItemChange {
    /// What to tell the agent.
    Prompt(Option<String>),
    /// The model to ask for.
    Model(Option<String>),
    /// What must pass before it is done.
    Gate(Option<Gate>),
    /// Whether the run pauses for people when it is finished.
    Breakpoint(bool),
    /// How often it was tried again.
    Retries(u32),
    /// What was done.
    Summary(Option<String>),
    /// What only its native format has.
    Native(Option<Native>),
    /// The nodes that must be finished first.
    DependsOn(Vec<Node>),
    /// What a person answered, for the next prompt.
    Answer(Option<String>),
    /// What proof is worth.
    Claims(ClaimOverrides),
    /// The files that it is about.
    Scope(FileScope),
    /// The repository in which it is worked on; none is that of the project.
    Repository(Option<String>),
    /// How it stands to its siblings.
    Turn(ItemTurn),
    /// What it waits for before it begins.
    Wait(Option<Wait>),
    /// Whether it begins without work of others that is on another branch.
    WithoutMerge(bool),
    /// What people sort it by.
    Tags(ItemTags),
    /// Who works on it, outside of piton.
    Taken(Option<ItemHold>),
}

/// See [`ItemEvent::Placed`](super::ItemEvent::Placed).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ItemsPlaced {
    /// The run.
    pub run: RunId,
    /// Where each item that moved stands now.
    pub places: BTreeMap<Node, TreePosition>,
}

/// See [`RunEvent::Changed`](super::RunEvent::Changed).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunChanged {
    /// The run.
    pub run: RunId,
    /// What only its native format has; as before when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub native: Option<Native>,
    /// Retries, limits, commits; as before when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<Policy>,
}

impl ItemChange {
    /// Makes the item say so.
    pub(crate) fn apply_to_item(&self, row: &mut ItemRow) {
        match self {
            Self::Prompt(prompt) => row.plan.prompt.clone_from(prompt),
            Self::Model(model) => row.plan.model.clone_from(model),
            Self::Gate(gate) => replace_gate(row, gate.as_ref()),
            Self::Breakpoint(breakpoint) => row.plan.breakpoint = *breakpoint,
            Self::Retries(retries) => row.tries.retries = *retries,
            Self::Summary(summary) => row.summary.clone_from(summary),
            Self::Native(native) => row.plan.native.clone_from(native),
            Self::DependsOn(nodes) => row.plan.depends_on.clone_from(nodes),
            Self::Answer(answer) => row.people.answer.clone_from(answer),
            Self::WithoutMerge(is_so) => row.people.without_merge = *is_so,
            Self::Claims(claims) => row.plan.claims = *claims,
            Self::Scope(scope) => row.plan.scope.clone_from(scope),
            Self::Repository(repository) => row.plan.repository.clone_from(repository),
            Self::Turn(turn) => row.plan.turn = *turn,
            Self::Tags(tags) => row.plan.tags.clone_from(tags),
            Self::Taken(hold) => row.people.taken = hold.clone().map(Box::new),
            // It is waited for from the beginning.
            Self::Wait(wait) => {
                row.plan.wait = wait.clone().map(Box::new);
                row.work.waited = None;
            }
        }
    }
}

fn replace_gate(row: &mut ItemRow, gate: Option<&Gate>) {
    let script = |gate: Option<&Gate>| gate.map(|gate| gate.script.clone());
    let is_same = script(gate) == script(row.plan.gate.as_ref());
    row.plan.gate = gate.cloned();
    // What another check showed says nothing of this one.
    row.proof.baseline = None;
    row.proof.seen_to_fail = false;
    let merge = row.work.unit.as_mut().and_then(|unit| unit.merge.as_mut());
    if let Some(merge) = merge.filter(|merge| !is_same && merge.has_slot()) {
        merge.outdated = true;
    }
    // What is done was done with the check that it had.
    if is_same || row.proof.claim_gate.is_some() || row.state.is_finished() {
        return;
    }
    let runs = row.proof.gate_runs.take().filter(|runs| runs.open);
    row.proof.gate_runs = runs.map(|mut runs| {
        runs.outdated = true;
        runs
    });
}

impl RunChanged {
    /// Makes the run say so.
    pub(crate) fn apply_to_run(&self, row: &mut RunRow) {
        if self.native.is_some() {
            row.plan.native.clone_from(&self.native);
        }
        if let Some(policy) = &self.policy {
            row.plan.policy.clone_from(policy);
        }
    }
}
