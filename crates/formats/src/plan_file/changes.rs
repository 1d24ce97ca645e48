//! What the file of a plan shows, and what was changed in it.

use piton_core::gate::Gate;
use piton_core::plan::PlannedItem;
use piton_core::{Edit, ItemRow, ItemState, Node, RunId, Tables};

use crate::problem::Problem;

/// The run that a file shows, and what to call the file in problems.
#[derive(Clone, Copy, Debug)]
pub struct ShownRun<'a> {
    /// The file, as the caller wants it shown.
    pub file: &'a str,
    /// The rows of the run: the run and all its items.
    pub tables: &'a Tables,
    /// The run.
    pub run: RunId,
}

/// What the file of a plan says beside its items.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlanFileNotes {
    /// Of the whole.
    pub whole: Option<String>,
    /// Of one item, beyond the words that it was planned from.
    pub details: Option<String>,
    /// Files and folders that may lie beside it and say what its items mean: seen
    /// from its folder.
    pub documents: Vec<String>,
}

/// What a person or another program changed in the file of a plan.
#[derive(Debug, Default)]
pub struct PlanChanges {
    /// What it comes to, in the order in which it is to be tried.
    pub edits: Vec<Edit>,
    /// What cannot be taken from a file, and stays as it is.
    pub problems: Vec<Problem>,
    /// The items that stood in the file before and stand there no more.
    pub removed: Vec<Node>,
    /// The items that piton knows, that did not stand in the file before and
    /// stand there again.
    pub returned: Vec<Node>,
}

impl PlanChanges {
    /// Whether all of this is part of what another version changed, whatever it says.
    #[must_use]
    pub fn is_subset_of(&self, other: &Self) -> bool {
        let has = |edit: &Edit| {
            other
                .edits
                .iter()
                .any(|have| have.is_same_kind_and_subject(edit))
        };
        self.edits.iter().all(has)
            && self.removed.iter().all(|node| other.removed.contains(node))
            && self
                .returned
                .iter()
                .all(|node| other.returned.contains(node))
    }

    /// This, with what `other` says of what `is_of_other` holds for in its place.
    #[must_use]
    pub fn replace_where(mut self, other: Self, is_of_other: impl Fn(&Edit) -> bool) -> Self {
        fn replace<T>(into: &mut Vec<T>, other: Vec<T>, is_of_other: impl Fn(&T) -> bool) {
            into.retain(|change| !is_of_other(change));
            into.extend(other.into_iter().filter(is_of_other));
        }
        replace(&mut self.edits, other.edits, &is_of_other);
        let is_gone = |node: &Node| is_of_other(&Edit::presence_of(node, false));
        replace(&mut self.removed, other.removed, is_gone);
        let is_back = |node: &Node| is_of_other(&Edit::presence_of(node, true));
        replace(&mut self.returned, other.returned, is_back);
        self
    }

    /// Notes that an item is gone, or back.
    pub(crate) fn note_presence(&mut self, row: &ItemRow, was_there: bool, is_there: bool) {
        match (was_there, is_there) {
            (true, false) => self.removed.push(row.node.clone()),
            (false, true) => self.returned.push(row.node.clone()),
            (true, true) | (false, false) => {}
        }
    }
}

/// The items that a file holds which people write: the pieces of an item that
/// was split are piton's own, and stand in no such file.
pub(crate) fn file_items(tables: &Tables, run: RunId) -> impl Iterator<Item = &ItemRow> {
    tables.tree(run).filter(|row| row.plan.piece_of.is_none())
}

/// What a box was, is, and is of.
pub(crate) struct MarkChange<'a> {
    /// Whether piton's last version had it; none when that is not known.
    pub(crate) before: Option<bool>,
    /// Whether the item stands in the file again, where that version did not
    /// have it.
    pub(crate) is_back: bool,
    /// Whether it is there now.
    pub(crate) now: bool,
    /// Of what.
    pub(crate) row: &'a ItemRow,
}

impl MarkChange<'_> {
    /// The edit that setting or removing the mark of a done item means.
    pub(crate) fn push_edit(&self, into: &mut PlanChanges) {
        let done = self.row.state == ItemState::Done;
        let node = self.row.node.clone();
        match (self.before, self.now) {
            // Without a base, what was tried may bear an old mark.
            (before @ (Some(false) | None), true)
                if !done && (before.is_some() || self.row.attempts == 0) =>
            {
                let to = ItemState::Done;
                into.edits.push(Edit::SetState { node, to });
            }
            // What comes back without a mark is not done by what was done before.
            (Some(before), false) if done && (before || self.is_back) => {
                let to = ItemState::Pending;
                into.edits.push(Edit::SetState { node, to });
            }
            _ => {}
        }
    }
}

/// What the file says of one item: as it is planned now, and as it was planned
/// by the version that was read before, where there was one.
pub(crate) struct PlannedChange {
    /// By that version.
    pub(crate) before: Option<PlannedItem>,
    /// By the file as it is.
    pub(crate) now: PlannedItem,
}

impl PlannedChange {
    /// Whether the file says something else than the item has, and did not say
    /// the same before: what a person refused once is not told again.
    fn is_changed<T: PartialEq>(&self, of_row: &T, of: fn(&PlannedItem) -> &T) -> bool {
        let before = self.before.as_ref().map(of);
        of(&self.now) != of_row && before != Some(of(&self.now))
    }

    /// The check of an item. What is asked for when it fails names the item, and
    /// changes with its words; the command stays as it is until the file has
    /// another one.
    fn changed_gate(&self, row: &ItemRow) -> Option<Gate> {
        let script = |gate: &Option<Gate>| gate.as_ref().map(|gate| gate.script.clone());
        let before = self.before.as_ref().map(|item| script(&item.gate));
        let now = self.now.gate.clone();
        if before != Some(script(&now)) {
            return now;
        }
        let on_fail_prompt = now?.on_fail_prompt;
        row.plan.gate.clone().map(|gate| Gate {
            on_fail_prompt,
            ..gate
        })
    }

    /// What the file says that an agent is to be told, and how an item is proven,
    /// where it is not what piton has. Of an item that is finished, and stays so,
    /// only what is new in the file is changed.
    pub(crate) fn push_word_edits(&self, row: &ItemRow, into: &mut PlanChanges) {
        let node = || row.node.clone();
        let is_reopened = into.edits.iter().any(|edit| {
            matches!(edit, Edit::SetState { node, to } if *node == row.node && !to.is_finished())
        });
        if row.state.is_finished() && !is_reopened && self.before.is_none() {
            return;
        }
        let now = &self.now;
        // What is stored holds no secret; the file may.
        let prompt = row.plan.prompt.as_ref();
        let redacted = prompt.is_some_and(|prompt| prompt.contains("[redacted:"));
        if now.prompt.is_some()
            && !redacted
            && self.is_changed(&row.plan.prompt, |item| &item.prompt)
        {
            into.edits.push(Edit::SetPrompt {
                node: node(),
                prompt: now.prompt.clone(),
            });
        }
        // What is only there to hold others has no check of its own.
        let is_work = row.is_leaf() && now.prompt.is_some();
        if is_work && self.is_changed(&row.plan.gate, |item| &item.gate) {
            let gate = self.changed_gate(row);
            into.edits.push(Edit::SetGate { node: node(), gate });
        }
        if self.is_changed(&row.plan.claims, |item| &item.claims) {
            into.edits.push(Edit::SetClaims {
                node: node(),
                claims: now.claims,
            });
        }
        if self.is_changed(&row.plan.scope, |item| &item.scope) {
            into.edits.push(Edit::SetScope {
                node: node(),
                scope: now.scope.clone(),
            });
        }
        if self.is_changed(&row.plan.model, |item| &item.model) {
            into.edits.push(Edit::SetModel {
                node: node(),
                model: now.model.clone(),
            });
        }
    }
}
