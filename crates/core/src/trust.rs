//! What of a project can be executed, and by what it is known: its content.
//!
//! The closed list of such parts is [`PartKind`]. Who trusts which of them is no part of
//! the journal, and is kept by `piton_engine::config::trust`. No I/O.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::edit::Edit;
use crate::gate::Gate;
use crate::iteration_hook::IterationHook;
use crate::plan::{Plan, PlannedItem};
use crate::policy::Policy;
use crate::tables::Tables;
use crate::wait::Wait;
use crate::word::words;
use crate::{ItemRow, RunId};

words! {
    /// What a part of a project does when it is executed.
    PartKind {
        /// It is the command or the program of an agent.
        AgentCommand = "agent-command",
        /// Arguments for it.
        AgentArguments = "agent-arguments",
        /// A variable in its environment: where its service is, what it loads.
        AgentEnvironment = "agent-environment",
        /// What it may do without asking.
        AgentPermissions = "agent-permissions",
        /// It notifies a person.
        Notify = "notify",
        /// It makes a lane ready.
        Setup = "setup",
        /// A lane ends with it.
        Teardown = "teardown",
        /// It says whether an item may begin.
        Wait = "wait",
        /// It says whether work is done: a check, a gate, a check of merged work.
        Check = "check",
        /// It closes an item in the tool that keeps the plan.
        Close = "close",
        /// An agent is started with it after each item.
        Hook = "hook",
        /// It opens the journal to a group of users.
        StoreGroup = "store-group",
        /// It is the folder outside of the project that lanes are made in.
        LanesFolder = "lanes-folder",
    }
}

/// A text of a project that is executed, or decides what is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExecutablePart {
    /// What it does.
    pub kind: PartKind,
    /// The setting that it is the value of, as `agents.claude.args`; for a command of a
    /// plan the kind, so that the same command is trusted wherever it stands.
    pub name: String,
    /// Where it stands first: a file, or a file and an item.
    pub source: String,
    /// What is executed.
    pub text: String,
}

impl ExecutablePart {
    /// A part whose name is the kind.
    #[must_use]
    pub fn new(kind: PartKind, source: &str, text: &str) -> Self {
        Self {
            kind,
            name: kind.as_str().to_owned(),
            source: source.to_owned(),
            text: text.to_owned(),
        }
    }

    /// A part that is the value of a setting.
    #[must_use]
    pub fn of_setting(kind: PartKind, name: &str, text: &str) -> Self {
        Self {
            name: name.to_owned(),
            ..Self::new(kind, ".piton/config.toml", text)
        }
    }

    /// The check of an item, or of merged work.
    #[must_use]
    pub fn of_gate(source: &str, gate: &Gate) -> Self {
        Self::new(PartKind::Check, source, &gate.script)
    }

    /// The SHA-256 of kind, name and text, in hex: by this it is known.
    #[must_use]
    pub fn hash(&self) -> String {
        let mut hash = Sha256::new();
        for part in [self.kind.as_str(), &self.name, &self.text] {
            // The length keeps two texts from being split elsewhere.
            hash.update(part.len().to_le_bytes());
            hash.update(part);
        }
        to_hex(&hash.finalize())
    }
}

/// The SHA-256, in hex, of the hashes of all parts, in order: it is the same whatever
/// order they are found in.
#[must_use]
pub fn hash_of_parts(parts: &[ExecutablePart]) -> String {
    let hashes: BTreeSet<String> = parts.iter().map(ExecutablePart::hash).collect();
    let mut all = Sha256::new();
    for hash in hashes {
        all.update(hash);
    }
    to_hex(&all.finalize())
}

/// The SHA-256 of a text, in hex.
pub(crate) fn hash_of_text(text: &str) -> String {
    to_hex(&Sha256::digest(text))
}

fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Each part once, where it stands first.
#[must_use]
pub fn without_repeats(parts: Vec<ExecutablePart>) -> Vec<ExecutablePart> {
    let mut seen = BTreeSet::new();
    let mut parts = parts;
    parts.retain(|part| seen.insert((part.kind.as_str(), part.name.clone(), part.text.clone())));
    parts
}

/// The parts of a plan.
#[must_use]
pub fn parts_of_plan(plan: &Plan) -> Vec<ExecutablePart> {
    let source = &plan.source;
    let items = plan.items.iter();
    let items = items.flat_map(|item| parts_of_planned(source, item));
    let hooks = parts_of_policy(source, &plan.policy);
    without_repeats(items.chain(hooks).collect())
}

/// The parts of a run, as the journal has them.
#[must_use]
pub fn parts_of_run(tables: &Tables, run: RunId) -> Vec<ExecutablePart> {
    let Some(row) = tables.run(run) else {
        return Vec::new();
    };
    let source = &row.plan.source;
    let items = tables.tree(run);
    let items = items.flat_map(|item| parts_of_item(source, item));
    let hooks = parts_of_policy(source, &row.plan.policy);
    without_repeats(items.chain(hooks).collect())
}

/// The parts that edits of a plan bring.
#[must_use]
pub fn parts_of_edits(source: &str, edits: &[Edit]) -> Vec<ExecutablePart> {
    let mut parts = Vec::new();
    for edit in edits {
        if let Edit::SetGate {
            gate: Some(gate), ..
        } = edit
        {
            parts.push(ExecutablePart::of_gate(source, gate));
        }
        if let Edit::SetWait {
            wait: Some(wait), ..
        } = edit
        {
            parts.extend(part_of_wait(source, Some(wait)));
        }
        if let Edit::Insert { items, .. } = edit {
            parts.extend(items.iter().flat_map(|item| parts_of_planned(source, item)));
        }
        if let Edit::SetPolicy(policy) = edit {
            parts.extend(parts_of_policy(source, policy));
        }
    }
    without_repeats(parts)
}

fn parts_of_planned(source: &str, item: &PlannedItem) -> Vec<ExecutablePart> {
    let source = format!("{source}: {}", item.node);
    let check = item.gate.as_ref();
    let check = check.map(|gate| ExecutablePart::of_gate(&source, gate));
    let wait = part_of_wait(&source, item.wait.as_ref());
    check.into_iter().chain(wait).collect()
}

fn parts_of_item(source: &str, item: &ItemRow) -> Vec<ExecutablePart> {
    let source = format!("{source}: {}", item.node);
    let checks = item.required_checks();
    let checks = checks.map(|gate| ExecutablePart::of_gate(&source, gate));
    let wait = part_of_wait(&source, item.plan.wait.as_deref());
    checks.chain(wait).collect()
}

fn part_of_wait(source: &str, wait: Option<&Wait>) -> Option<ExecutablePart> {
    let command = wait?.command.as_ref()?;
    Some(ExecutablePart::new(PartKind::Wait, source, command))
}

fn parts_of_policy(source: &str, policy: &Policy) -> Vec<ExecutablePart> {
    let hooks = policy.iteration_hooks.iter();
    hooks.map(|hook| part_of_hook(source, hook)).collect()
}

/// What an agent is told after each item.
#[must_use]
pub fn part_of_hook(source: &str, hook: &IterationHook) -> ExecutablePart {
    let source = format!("{source}: {}", hook.id);
    ExecutablePart::new(PartKind::Hook, &source, &hook.prompt)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str) -> ExecutablePart {
        ExecutablePart::new(PartKind::Check, "prd.json", text)
    }

    #[test]
    fn a_part_is_known_by_kind_name_and_text_and_not_by_its_place() {
        let part = check("make test");
        let moved = ExecutablePart {
            source: "other.json".to_owned(),
            ..part.clone()
        };
        assert_eq!(part.hash(), moved.hash());
        let wait = ExecutablePart::new(PartKind::Wait, "prd.json", "make test");
        let named = ExecutablePart {
            name: "checkm".to_owned(),
            text: "ake test".to_owned(),
            ..part.clone()
        };
        for other in [check("make tests"), wait, named] {
            assert_ne!(part.hash(), other.hash(), "{other:?}");
        }
    }

    #[test]
    fn the_hash_of_a_list_depends_on_what_is_in_it_alone() {
        let (a, b) = (check("a"), check("b"));
        let both = hash_of_parts(&[a.clone(), b.clone()]);
        assert_eq!(both, hash_of_parts(&[b.clone(), a.clone(), b]));
        assert_ne!(both, hash_of_parts(&[a]));
    }
}
