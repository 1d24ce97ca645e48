//! Which phases are items, and how they are known.

use std::collections::HashSet;

use piton_core::{ItemRow, Node};
use serde::{Deserialize, Serialize};

use super::state::{FACE, Phase};
use crate::native::unpack;
use crate::plan_format::ItemRole;

/// Where the scoping document is written, beside the file of the run.
pub(super) const SCOPING_DOC: &str = "artifacts/scoping-doc.md";
/// Where the tasks are written, beside the file of the run.
pub(super) const TASKS: &str = "artifacts/pert-tasks.json";

/// A phase that is an item.
pub(super) struct PhaseItem {
    pub(super) phase: Phase,
    /// Who works on it; none where piton does.
    pub(super) role: Option<ItemRole>,
    /// What is done there, in a few words.
    pub(super) title: &'static str,
    /// What an agent is told, with holes that `phases` fills.
    pub(super) prompt: &'static str,
}

/// All of them, in their order. What they make is approved where an agent makes it.
pub(super) static PHASES: [PhaseItem; 4] = [
    PhaseItem {
        phase: Phase::Bootstrap,
        title: "find out the languages",
        role: None,
        prompt: "Find out the language of each repository.",
    },
    PhaseItem {
        phase: Phase::Design,
        title: "design the work",
        role: Some(ItemRole {
            name: "solution-designer",
            model: Some("opus"),
            artifact: Some(SCOPING_DOC),
            brief: None,
        }),
        prompt: "Design what the requirements ask for. You find them at {requirements}.

Read the code that is here, and write a scoping document to `{scoping_doc}`: what is built and what is not, which parts of the code change and how, what depends on what, what may go wrong, and each open question with the answer that you chose. Change nothing else.

A person reads the document, and approves it before the work is planned.",
    },
    PhaseItem {
        phase: Phase::Planning,
        title: "cut the work into tasks",
        role: Some(ItemRole {
            name: "task-decomposer",
            model: Some("opus"),
            artifact: Some(TASKS),
            brief: None,
        }),
        prompt: "Cut the work that the scoping document describes into tasks. The document is {design}; the requirements are at {requirements}.

Write the tasks to `{tasks}`, and change nothing else. The file is one JSON document:

    {\"tasks\": [
      {\"id\": \"REPO#1\", \"repo\": \"REPO\", \"team\": \"TEAM\", \"title\": \"...\",
       \"description\": \"...\", \"blocked_by\": [], \"size\": \"M\"}
    ]}

- `id`: the repository, `#` and a number; each stands there once.
- `repo`: the name of the repository, as `manifest.yaml` beside the file of the run or that file itself has it; `team`: its team there, else an empty text.
- `title` says in one line what is true in the end; `description` says all that an agent has to know who reads nothing else.
- `blocked_by`: the ids of the tasks that must be done before. No task waits for itself by any detour.
- `size`: S, M or L. A task that is larger is several.

A person reads the tasks, and approves them before they become issues.",
    },
    PhaseItem {
        phase: Phase::Tracking,
        title: "make the issues",
        role: None,
        prompt: "Make an issue of each task.",
    },
];

/// The item of a phase; none of one that has none.
pub(super) fn item_of_phase(phase: Phase) -> Option<&'static PhaseItem> {
    PHASES.iter().find(|item| item.phase == phase)
}

/// What only this format has of an item that is a phase.
#[derive(Serialize, Deserialize)]
pub(super) struct PhaseNative {
    pub(super) is_phase: bool,
    pub(super) title: String,
}

/// The phase that an item is; none of an issue.
pub(super) fn phase_of_item(row: &ItemRow) -> Option<&'static PhaseItem> {
    let item = item_of_phase(Phase::parse(&row.plan.id)?)?;
    let native: Option<PhaseNative> = unpack(row.plan.native.as_ref(), FACE);
    native.is_some_and(|native| native.is_phase).then_some(item)
}

/// Whether an issue cannot be called so: it is the name of a phase that is an item.
pub(super) fn is_reserved(id: &str) -> bool {
    Phase::parse(id).is_some_and(|phase| item_of_phase(phase).is_some())
}

/// The node of an issue or of a phase.
pub(super) fn node_of_id(id: &str) -> Node {
    Node::child(None, id, 1)
}

/// What an issue waits for beside other issues, where the run has that.
pub(super) fn node_before_issues(known: &HashSet<&str>) -> Option<Node> {
    let name = Phase::Tracking.as_str();
    known.contains(name).then(|| node_of_id(name))
}
