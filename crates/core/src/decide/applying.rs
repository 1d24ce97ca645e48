//! Each edit of a plan, by the rules of a person's commands.

use super::advance::advance_after_hook;
use super::by_hand::{fail_by_hand, set_dependencies, start_by_hand, take_item, wait_by_hand};
use super::changes::{
    EditRejection, EditSource, append_change, change_item, drop_dependencies, reject_edit,
};
use super::event_buffer::EventBuffer;
use super::inserting::insert_items;
use super::leaving_out::{drop_item, skip_item};
use super::marking::{has_work_under_way, mark_done, person_behind_edit};
use super::pausing::{request_pause, resume_run};
use super::requests;
use super::restarting::{redo_item, retry_item};
use super::siblings::reorder_siblings;
use super::waits;
use crate::command::EditAuthor;
use crate::edit::Edit;
use crate::event::{ItemChange, RunChanged, RunEvent};
use crate::gate::Gate;
use crate::id::{Node, RunId};
use crate::item::{ItemRow, ItemState, Stage};
use crate::native::Native;
use crate::policy::Policy;
use crate::refusal::Refusal;
use crate::run::{RunState, RunnerRequest};
use crate::wait::Wait;

/// Takes what fits, and gives back the rest, each with why it does not.
pub(super) fn apply_all_edits<'e>(
    story: &mut EventBuffer<'_>,
    run: RunId,
    by: &EditSource<'_>,
    edits: impl IntoIterator<Item = &'e Edit>,
) -> Vec<(&'e Edit, String)> {
    let mut left: Vec<(&Edit, String)> = Vec::new();
    let mut open: Vec<&Edit> = edits.into_iter().collect();
    // One edit may make room for another: a phase for what waits for it.
    loop {
        let before = open.len();
        left.clear();
        for edit in std::mem::take(&mut open) {
            if let Err(EditRejection(why)) = apply_edit(story, run, by, edit) {
                left.push((edit, why));
            }
        }
        open.extend(left.iter().map(|(edit, _)| *edit));
        if open.is_empty() || open.len() == before {
            return left;
        }
    }
}

pub(super) fn render_rejected_edits(left: &[(&Edit, String)]) -> String {
    let lines = left.iter().map(|(edit, why)| format!("{edit}: {why}"));
    lines.collect::<Vec<_>>().join("\n")
}

fn apply_edit(
    story: &mut EventBuffer<'_>,
    run: RunId,
    by: &EditSource<'_>,
    edit: &Edit,
) -> Result<(), EditRejection> {
    match edit {
        Edit::SetState { node, to } => set_state(story, run, by, node, *to),
        Edit::SetRetries { node, retries } => {
            change_item(story, run, node, ItemChange::Retries(*retries))
        }
        Edit::SetPrompt { node, prompt } => set_prompt(story, run, node, prompt.as_ref()),
        Edit::SetModel { node, model } => {
            change_item(story, run, node, ItemChange::Model(model.clone()))
        }
        Edit::SetGate { node, gate } => set_gate(story, run, node, gate.as_ref()),
        Edit::SetBreakpoint { node, breakpoint } => {
            change_item(story, run, node, ItemChange::Breakpoint(*breakpoint))
        }
        Edit::SetWait { node, wait } => set_wait(story, run, node, wait.as_ref()),
        Edit::SetSummary { node, summary } => set_summary(story, run, node, summary.as_ref()),
        Edit::SetDependsOn { node, depends_on } => {
            change_dependencies(story, run, by, node, depends_on)
        }
        Edit::SetClaims { node, claims } => {
            change_item(story, run, node, ItemChange::Claims(*claims))
        }
        Edit::SetScope { node, scope } => {
            change_item(story, run, node, ItemChange::Scope(scope.clone()))
        }
        Edit::SetRepository { node, repository } => {
            set_repository(story, run, node, repository.as_ref())
        }
        Edit::SetTags { node, tags } => {
            change_item(story, run, node, ItemChange::Tags(tags.clone()))
        }
        Edit::Take { node, for_s } => take_item(story, run, by, node, *for_s),
        Edit::SetPresent {
            node,
            present: false,
        } => drop_absent_item(story, run, by, node),
        Edit::SetPresent { node, .. } => restore_item(story, run, by, node),
        Edit::Insert {
            parent,
            after,
            items,
        } => insert_items(story, run, parent.as_ref(), after.as_ref(), items).map(|_| ()),
        Edit::Order { parent, nodes } => reorder_siblings(story, run, parent.as_ref(), nodes),
        Edit::SetNative {
            node: Some(node),
            native,
        } => set_native_of_item(story, run, node, native.as_ref()),
        Edit::SetNative { node: None, native } => set_native_of_run(story, run, native.as_ref()),
        Edit::SetPolicy(policy) => set_policy(story, run, policy),
        Edit::AddRequest(request) => {
            requests::open_requests_of_plan(story, run, std::slice::from_ref(&**request));
            Ok(())
        }
        Edit::AnswerRequest { id, answer, why } => Ok(requests::decide_request_by_id(
            story,
            run,
            id,
            answer,
            why.as_deref(),
        )?),
        Edit::SetRunState { to } => set_run_state(story, run, *to),
    }
}

fn set_prompt(
    story: &mut EventBuffer<'_>,
    run: RunId,
    node: &Node,
    prompt: Option<&String>,
) -> Result<(), EditRejection> {
    if prompt.is_none() && story.require_item(run, node)?.is_leaf() {
        return reject_edit("an agent needs a prompt");
    }
    change_item(story, run, node, ItemChange::Prompt(prompt.cloned()))
}

fn set_gate(
    story: &mut EventBuffer<'_>,
    run: RunId,
    node: &Node,
    gate: Option<&Gate>,
) -> Result<(), EditRejection> {
    let row = story.require_item(run, node)?;
    let at_gate = !row.state.is_finished()
        && matches!(
            row.stage,
            Stage::Gate | Stage::Fix | Stage::IterationHooks | Stage::Review | Stage::Commit
        );
    if gate.is_none() && at_gate && row.plan.gate.is_some() {
        return reject_edit("it is at its gate");
    }
    let is_to_be_mended = row.stage == Stage::Fix && !row.is_under_way();
    let is_another = row.plan.gate.as_ref() != gate;
    change_item(story, run, node, ItemChange::Gate(gate.cloned()))?;
    // What another check found is not to be mended for this one.
    if is_another && is_to_be_mended {
        story.set_stage(run, node, Stage::Gate);
    }
    Ok(())
}

fn set_wait(
    story: &mut EventBuffer<'_>,
    run: RunId,
    node: &Node,
    wait: Option<&Wait>,
) -> Result<(), EditRejection> {
    let waited = story.require_item(run, node)?.is_waiting_by_plan();
    let is_another = story.require_item(run, node)?.plan.wait.as_deref() != wait;
    change_item(story, run, node, ItemChange::Wait(wait.cloned()))?;
    if waited && is_another {
        waits::restart_wait(story, run, node);
    }
    Ok(())
}

fn set_summary(
    story: &mut EventBuffer<'_>,
    run: RunId,
    node: &Node,
    summary: Option<&String>,
) -> Result<(), EditRejection> {
    let row = story.require_item(run, node)?;
    if row.summary.as_ref() == summary {
        return Ok(());
    }
    append_change(story, run, node, ItemChange::Summary(summary.cloned()));
    Ok(())
}

/// Changes what an item waits for. A person who was asked about the file can only
/// take dependencies away.
fn change_dependencies(
    story: &mut EventBuffer<'_>,
    run: RunId,
    by: &EditSource<'_>,
    node: &Node,
    depends_on: &[Node],
) -> Result<(), EditRejection> {
    let row = story.require_item(run, node)?;
    if row.plan.depends_on == *depends_on {
        return Ok(());
    }
    if let EditAuthor::Piton | EditAuthor::Typed { .. } = by.word {
        return set_dependencies(story, run, node, depends_on);
    }
    let drops = depends_on.iter().all(|on| row.plan.depends_on.contains(on));
    if drops && matches!(by.word, EditAuthor::Person { .. }) {
        return drop_dependencies(story, run, node, depends_on);
    }
    reject_edit("what it waits for is told when it is planned")
}

/// Drops an item that is not in the file any more, where a person took it out.
fn drop_absent_item(
    story: &mut EventBuffer<'_>,
    run: RunId,
    by: &EditSource<'_>,
    node: &Node,
) -> Result<(), EditRejection> {
    match by.word {
        EditAuthor::Person { .. } | EditAuthor::Hand { .. } | EditAuthor::Typed { .. } => {
            Ok(drop_item(story, run, node)?)
        }
        EditAuthor::File | EditAuthor::Piton | EditAuthor::MaybeAgent { .. } => Ok(()),
    }
}

/// Opens a dropped item that is in the file again.
fn restore_item(
    story: &mut EventBuffer<'_>,
    run: RunId,
    by: &EditSource<'_>,
    node: &Node,
) -> Result<(), EditRejection> {
    let row = story.require_item(run, node)?.clone();
    if row.state != ItemState::Dropped {
        return Ok(());
    }
    set_pending(story, run, by, &row)
}

fn set_native_of_item(
    story: &mut EventBuffer<'_>,
    run: RunId,
    node: &Node,
    native: Option<&Native>,
) -> Result<(), EditRejection> {
    let row = story.require_item(run, node)?;
    if row.plan.native.as_ref() != native {
        append_change(story, run, node, ItemChange::Native(native.cloned()));
    }
    Ok(())
}

fn set_native_of_run(
    story: &mut EventBuffer<'_>,
    run: RunId,
    native: Option<&Native>,
) -> Result<(), EditRejection> {
    if native.is_some() && story.require_run(run)?.plan.native.as_ref() != native {
        story.append(RunEvent::Changed(Box::new(RunChanged {
            run,
            native: native.cloned(),
            policy: None,
        })));
    }
    Ok(())
}

/// Changes the policy of a run, but for the keys that its start said to ignore.
fn set_policy(
    story: &mut EventBuffer<'_>,
    run: RunId,
    policy: &Policy,
) -> Result<(), EditRejection> {
    let row = story.require_run(run)?;
    let policy = policy
        .clone()
        .without_ignored_keys(&row.invocation.flags.ignore);
    if row.plan.policy != policy {
        story.append(RunEvent::Changed(Box::new(RunChanged {
            run,
            native: None,
            policy: Some(policy),
        })));
        advance_past_removed_hooks(story, run);
    }
    Ok(())
}

/// An item goes to another repository as long as nothing was made of it in its own: one that
/// failed there may belong elsewhere.
fn set_repository(
    story: &mut EventBuffer<'_>,
    run: RunId,
    node: &Node,
    named: Option<&String>,
) -> Result<(), EditRejection> {
    let policy = &story.require_run(run)?.plan.policy;
    let repository = policy.resolve_repository(named.cloned());
    let own = policy.repositories.as_ref();
    let own = own.and_then(|known| known.own.first());
    let row = story.require_item(run, node)?;
    if row.plan.repository == repository {
        return Ok(());
    }
    let is_at_work = matches!(row.state, ItemState::Working | ItemState::Done);
    if is_at_work || row.has_work() {
        return reject_edit(match row.plan.repository.as_ref().or(own) {
            Some(name) => format!("what was done of it is in `{name}`"),
            None => "what was done of it is in the repository of the project".to_owned(),
        });
    }
    change_item(story, run, node, ItemChange::Repository(repository))
}

/// What waits for hooks that are not there any more goes on.
fn advance_past_removed_hooks(story: &mut EventBuffer<'_>, run: RunId) {
    let at_hooks = |item: &&ItemRow| {
        item.state == ItemState::Working
            && item.stage == Stage::IterationHooks
            && item.attempt.is_none()
    };
    let waiting = story.tables.tree(run).filter(at_hooks);
    let waiting: Vec<Node> = waiting.map(|item| item.node.clone()).collect();
    for node in waiting {
        advance_after_hook(story, run, &node);
    }
}

fn set_state(
    story: &mut EventBuffer<'_>,
    run: RunId,
    by: &EditSource<'_>,
    node: &Node,
    to: ItemState,
) -> Result<(), EditRejection> {
    let row = story.require_item(run, node)?.clone();
    let typed = match by.word {
        EditAuthor::Typed { why, .. } => Some(why.as_deref()),
        EditAuthor::File
        | EditAuthor::Piton
        | EditAuthor::Hand { .. }
        | EditAuthor::Person { .. }
        | EditAuthor::MaybeAgent { .. } => None,
    };
    // A person may take in hand what waits for another person.
    let is_so = row.state == to && (typed.is_none() || to != ItemState::Waiting);
    if is_so {
        return Ok(());
    }
    match to {
        ItemState::Skipped if row.people.skip_asked => Ok(()),
        ItemState::Skipped => Ok(skip_item(story, run, node, None)?),
        ItemState::Pending | ItemState::Ready => set_pending(story, run, by, &row),
        ItemState::Done => mark_done(story, run, by, &row),
        ItemState::Waiting if let Some(why) = typed => start_by_hand(story, &row, why),
        ItemState::Failed if let Some(why) = typed => fail_by_hand(story, &row, why),
        ItemState::Failed if let Some(person) = person_behind_edit(story, by) => {
            let why = format!("{person} wrote in {} that it failed", by.file);
            fail_by_hand(story, &row, Some(&why))
        }
        ItemState::Waiting if let Some(person) = person_behind_edit(story, by) => {
            let why = format!("{person} wrote in {} that it waits for a person", by.file);
            wait_by_hand(story, &row, why)
        }
        ItemState::Working
        | ItemState::Waiting
        | ItemState::Failed
        | ItemState::Blocked
        | ItemState::Dropped => reject_edit(format!(
            "it is {}, and a file cannot make it {to}",
            row.state
        )),
    }
}

fn set_pending(
    story: &mut EventBuffer<'_>,
    run: RunId,
    by: &EditSource<'_>,
    row: &ItemRow,
) -> Result<(), EditRejection> {
    let why = format!("reset in {}", by.file);
    match row.state {
        ItemState::Pending | ItemState::Ready => Ok(()),
        ItemState::Waiting if row.current_wait().is_some() => Ok(()),
        ItemState::Done if !row.is_leaf() => reject_edit(
            "it is done with all that it holds; set that back which is to be done again",
        ),
        ItemState::Done => match by.word {
            // A file that an old writer brought back says so as well.
            EditAuthor::File
            | EditAuthor::Piton
            | EditAuthor::Hand { .. }
            | EditAuthor::MaybeAgent { .. } => reject_edit("it is done"),
            EditAuthor::Person { why: said, .. } | EditAuthor::Typed { why: said, .. } => {
                Ok(redo_item(story, run, row, &why, said.as_deref())?)
            }
        },
        // What holds others shows what they came to.
        ItemState::Working if !row.is_leaf() && !has_work_under_way(story, run, row) => Ok(()),
        ItemState::Working => Err(Refusal::BeingWorkedOn(row.node.clone()).into()),
        ItemState::Waiting
        | ItemState::Failed
        | ItemState::Blocked
        | ItemState::Skipped
        | ItemState::Dropped => {
            // That a file says so is no word of a person to the agent.
            let said = match by.word {
                EditAuthor::Person { why, .. } | EditAuthor::Typed { why, .. } => why.as_deref(),
                EditAuthor::File
                | EditAuthor::Piton
                | EditAuthor::Hand { .. }
                | EditAuthor::MaybeAgent { .. } => None,
            };
            Ok(retry_item(story, run, &row.node, Some(&why), said)?)
        }
    }
}

fn set_run_state(
    story: &mut EventBuffer<'_>,
    run: RunId,
    to: RunState,
) -> Result<(), EditRejection> {
    let row = story.require_run(run)?;
    let pauses = row
        .invocation
        .asked
        .as_ref()
        .is_some_and(|asked| asked.request == RunnerRequest::Pause);
    match (to, row.state) {
        (RunState::Paused, RunState::Paused) => Ok(()),
        // At a breakpoint, which files call a pause as well.
        (RunState::Paused, RunState::Waiting) if row.pause.is_some() => Ok(()),
        (RunState::Paused, _) if pauses => Ok(()),
        (RunState::Paused, _) => Ok(request_pause(story, run)?),
        (RunState::Running, RunState::Running | RunState::Interrupted) => Ok(()),
        (RunState::Running, _) => Ok(resume_run(story, run)?),
        (_, state) => reject_edit(format!("it is {state}, and a file cannot make it {to}")),
    }
}
