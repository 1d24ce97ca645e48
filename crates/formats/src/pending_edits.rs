//! What a plan's file goes on to say while a person is asked about it.
//!
//! An edit that may be an agent's is not in force until a person takes it, and
//! stays in the file until then. The rows know nothing of it: for the file, and
//! for what is compared with the file, they are as the open question says.

use std::borrow::Cow;

use piton_core::{
    DecisionKind, Edit, ItemRow, ItemState, Node, Row, RunId, RunRow, RunState, Tables,
};

/// What is to become of items that are not in the file any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AbsentItems {
    /// They are left out, as in the file.
    LeftOut,
    /// They stay, to be found again.
    Kept,
}

/// The rows, with what the file says of them in place of what is asked about.
/// What was dropped stands in no file, and what was done elsewhere is not done
/// in this one.
pub(crate) fn with_pending_edits<'t>(
    tables: &'t Tables,
    run: RunId,
    absent: AbsentItems,
    elsewhere: &[Node],
) -> Cow<'t, Tables> {
    let is_asked = tables
        .open_decisions(run)
        .any(|row| row.kind == DecisionKind::AgentEdit);
    let is_dropped = |row: &&ItemRow| row.state == ItemState::Dropped;
    let dropped = tables.items(run).filter(is_dropped);
    let dropped: Vec<ItemRow> = match absent {
        AbsentItems::LeftOut => dropped.cloned().collect(),
        AbsentItems::Kept => Vec::new(),
    };
    if !is_asked && dropped.is_empty() && elsewhere.is_empty() {
        return Cow::Borrowed(tables);
    }
    let mut shown = tables.clone();
    for item in &dropped {
        remove_subtree(&mut shown, item);
    }
    for item in elsewhere.iter().filter_map(|node| tables.item(run, node)) {
        shown.insert(Row::Item(Box::new(reset_item(item))));
    }
    let run_row = tables.run(run).filter(|_| !elsewhere.is_empty());
    if let Some(row) = run_row.filter(|row| row.state == RunState::Done) {
        let is_begun = shown.items(run).any(|item| item.started_at.is_some());
        shown.insert(Row::Run(Box::new(reopened_run(row, is_begun))));
    }
    let asked = tables.open_decisions(run);
    let asked = asked.filter(|row| row.kind == DecisionKind::AgentEdit);
    for edit in asked.flat_map(|row| &row.edits) {
        apply_pending_edit(&mut shown, run, edit, absent);
    }
    Cow::Owned(shown)
}

fn apply_pending_edit(tables: &mut Tables, run: RunId, edit: &Edit, absent: AbsentItems) {
    if let Some(item) = edit.target_node().and_then(|node| tables.item(run, node)) {
        let item = item.clone();
        if matches!(edit, Edit::SetPresent { present: false, .. }) {
            if absent == AbsentItems::LeftOut {
                remove_subtree(tables, &item);
            }
            return;
        }
        if let Some(item) = item_with_edit(item, edit) {
            tables.insert(Row::Item(Box::new(item)));
        }
        return;
    }
    let Some(row) = tables.run(run) else { return };
    let mut row = row.clone();
    if let Edit::SetNative { node: None, native } = edit {
        row.plan.native.clone_from(native);
    } else if let Edit::SetPolicy(policy) = edit {
        row.plan.policy = (**policy).clone();
    } else if let Edit::SetRunState { to } = edit {
        row.state = *to;
    }
    tables.insert(Row::Run(Box::new(row)));
}

/// An item as if nothing had happened to it.
fn reset_item(item: &ItemRow) -> ItemRow {
    let mut row = ItemRow {
        state: ItemState::Pending,
        started_at: None,
        completed_at: None,
        summary: None,
        ..item.clone()
    };
    row.proof.evidence = Vec::new();
    row.proof.gate_runs = None;
    row
}

/// A run that is done, with a part that is not: `is_begun` says whether work on that
/// part has begun.
fn reopened_run(row: &RunRow, is_begun: bool) -> RunRow {
    RunRow {
        state: if is_begun {
            RunState::Interrupted
        } else {
            RunState::New
        },
        completed_at: None,
        reason: None,
        ..row.clone()
    }
}

fn remove_subtree(tables: &mut Tables, item: &ItemRow) {
    let below = tables.subtree(item.run, &item.plan.place);
    let below: Vec<_> = below
        .map(|row| piton_core::Key::Item(row.run, row.node.clone()))
        .collect();
    for key in below {
        tables.remove(&key);
    }
}

/// The item as the file says it; none where the edit is of no value of it.
fn item_with_edit(mut row: ItemRow, edit: &Edit) -> Option<ItemRow> {
    match edit {
        Edit::SetState { to, .. } => row.state = *to,
        Edit::SetRetries { retries, .. } => row.tries.retries = *retries,
        Edit::SetPrompt { prompt, .. } => row.plan.prompt.clone_from(prompt),
        Edit::SetModel { model, .. } => row.plan.model.clone_from(model),
        Edit::SetGate { gate, .. } => row.plan.gate.clone_from(gate),
        Edit::SetBreakpoint { breakpoint, .. } => row.plan.breakpoint = *breakpoint,
        Edit::SetWait { wait, .. } => row.plan.wait = wait.clone().map(Box::new),
        Edit::SetSummary { summary, .. } => row.summary.clone_from(summary),
        Edit::SetDependsOn { depends_on, .. } => row.plan.depends_on.clone_from(depends_on),
        Edit::SetClaims { claims, .. } => row.plan.claims = *claims,
        Edit::SetScope { scope, .. } => row.plan.scope.clone_from(scope),
        Edit::SetRepository { repository, .. } => row.plan.repository.clone_from(repository),
        Edit::SetNative { native, .. } => row.plan.native.clone_from(native),
        Edit::SetTags { tags, .. } => row.plan.tags.clone_from(tags),
        Edit::SetPresent { .. }
        | Edit::Take { .. }
        | Edit::Insert { .. }
        | Edit::Order { .. }
        | Edit::SetPolicy(_)
        | Edit::AddRequest(_)
        | Edit::AnswerRequest { .. }
        | Edit::SetRunState { .. } => return None,
    }
    Some(row)
}
