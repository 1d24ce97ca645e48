//! What becomes of a plan that was edited in its file.
//!
//! Each edit is tried by the rules of a person's commands. An edit that changes
//! nothing is done. One that does not fit is left, and a person is asked about it: it
//! stops nothing else.

use std::collections::{BTreeMap, BTreeSet};

use super::advance::{advance_after_hook, advance_after_work, has_to_wait, release_dependents};
use super::agent_edits::{EditingAgent, apply_agent_edits, drop_changed_edits};
use super::by_hand::{fail_by_hand, set_dependencies, start_by_hand, wait_by_hand};
use super::claims::settle_attempt;
use super::event_buffer::{EventBuffer, QuestionText};
use super::people::{
    advance_emptied_parents, check_decision_open, drop_item, is_under_way, redo_item,
    release_dead_runner, reopen_ancestors, request_pause, resume_run, retry_item, skip_item,
};
use super::planning::{check_for_cycles, dependencies_with_inherited, index_nodes};
use super::requests;
use super::runner::check_runner;
use super::waits;
use crate::attempt::Outcome;
use crate::command::{CallerFacts, EditAuthor};
use crate::decision::{DecisionChoice, Verb};
use crate::edit::Edit;
use crate::event::{
    ItemChange, ItemChanged, ItemEvent, ItemPlanned, ItemsPlaced, RunChanged, RunEvent,
};
use crate::gate::Gate;
use crate::id::{DecisionId, Node, RunId, StreamId, TreePosition};
use crate::item::{Evidence, ItemRow, ItemState, Stage};
use crate::merge::MergeRow;
use crate::native::Native;
use crate::needs::Rows;
use crate::plan::{ImportedItemHistory, PlannedItem};
use crate::policy::Policy;
use crate::refusal::Refusal;
use crate::run::{RunState, RunnerRequest};
use crate::wait::Wait;

/// Why an edit does not fit, in one line.
pub(super) struct EditRejection(pub(super) String);

impl From<Refusal> for EditRejection {
    fn from(refusal: Refusal) -> Self {
        Self(refusal.to_string())
    }
}

pub(super) fn reject_edit<T>(why: impl Into<String>) -> Result<T, EditRejection> {
    Err(EditRejection(why.into()))
}

/// The edits of the file of a plan that are to be applied to its run.
#[derive(Clone, Copy, Debug)]
pub struct PlanFileEdits<'e> {
    /// The run.
    pub run: RunId,
    /// The token of the runner, when it is the one that applies them.
    pub token: Option<u64>,
    /// The file, relative to the project.
    pub file: &'e str,
    /// The edits, in the order in which they are to be tried.
    pub edits: &'e [Edit],
}

/// Applies the edits of a file that fit, and asks a person about the rest. The answer
/// of a person who was asked is refused when an edit does not fit.
pub(super) fn apply_edits(
    story: &mut EventBuffer<'_>,
    changes: &PlanFileEdits<'_>,
    word: &EditAuthor,
) -> Result<(), Refusal> {
    let PlanFileEdits {
        run,
        token,
        file,
        edits,
    } = *changes;
    if let Some(token) = token {
        check_runner(story, (run, token))?;
    }
    story.asker = token;
    if let EditAuthor::Person { decision, .. } = word {
        check_file_question(story, run, file, *decision)?;
    }
    release_dead_runner(story, run)?;
    let by = EditSource { file, word };
    if let EditAuthor::Typed { .. } = word {
        let left = apply_all_edits(story, run, &by, edits);
        return require_all_applied(file, &left);
    }
    if let Some(agent) = EditingAgent::from_author(story, run, word) {
        apply_edits_of_agent(story, run, &agent, &by, edits);
        return Ok(());
    }
    let (gone, edits): (Vec<&Edit>, Vec<&Edit>) = edits
        .iter()
        .partition(|edit| matches!(word, EditAuthor::Hand { .. }) && removed_node(edit).is_some());
    let mut left = apply_all_edits(story, run, &by, edits.iter().copied());
    // Who takes all out that is open may have meant something else.
    if has_open_items_without(story, run, &gone) {
        left.extend(apply_all_edits(story, run, &by, gone.iter().copied()));
    } else {
        let why = || "no open item would be left".to_owned();
        left.extend(gone.iter().map(|edit| (*edit, why())));
    }
    match word {
        EditAuthor::File | EditAuthor::Hand { .. } | EditAuthor::MaybeAgent { .. } => {
            let all = edits.iter().chain(&gone).copied();
            drop_applied_edits(story, run, all, &left);
            ask_about_file(story, run, file, &left);
            Ok(())
        }
        EditAuthor::Person { decision, why } if left.is_empty() => {
            story.decide_if_open(*decision, Verb::KeepFile, why.as_deref());
            Ok(())
        }
        EditAuthor::Piton | EditAuthor::Person { .. } | EditAuthor::Typed { .. } => {
            require_all_applied(file, &left)
        }
    }
}

/// Applies the edits of a file that may be an agent's, and asks a person about what does
/// not fit.
fn apply_edits_of_agent(
    story: &mut EventBuffer<'_>,
    run: RunId,
    agent: &EditingAgent,
    by: &EditSource<'_>,
    edits: &[Edit],
) {
    let asked = story.tables.open_decisions(run);
    let asked = asked.filter(|row| row.file.as_deref() == Some(by.file));
    let asked: Vec<Edit> = asked.flat_map(|row| row.edits.iter().cloned()).collect();
    // What a person was asked about before is no agent's, and stays asked about.
    let is_asked = |edit: &&Edit| asked.contains(edit);
    let (known, new): (Vec<&Edit>, Vec<&Edit>) = edits.iter().partition(is_asked);
    let new: Vec<Edit> = new.into_iter().cloned().collect();
    if matches!(by.word, EditAuthor::MaybeAgent { in_lane: true, .. }) {
        apply_agent_edits(story, run, agent, by, &new);
        return;
    }
    let mut left: Vec<(&Edit, String)> = known
        .into_iter()
        .map(|edit| (edit, "it is asked about".to_owned()))
        .collect();
    left.extend(apply_agent_edits(story, run, agent, by, &new));
    ask_about_file(story, run, by.file, &left);
}

/// Refuses the edits when one of them did not fit.
fn require_all_applied(file: &str, left: &[(&Edit, String)]) -> Result<(), Refusal> {
    match left.is_empty() {
        true => Ok(()),
        false => Err(Refusal::Unfit {
            file: file.to_owned(),
            why: render_rejected_edits(left),
        }),
    }
}

/// Drops the questions about edits of agents that an applied edit answers.
fn drop_applied_edits<'e>(
    story: &mut EventBuffer<'_>,
    run: RunId,
    all: impl Iterator<Item = &'e Edit>,
    left: &[(&Edit, String)],
) {
    let is_applied = |edit: &&Edit| {
        !left
            .iter()
            .any(|(one, _)| one.is_same_kind_and_subject(edit))
    };
    let applied: Vec<Edit> = all.filter(is_applied).cloned().collect();
    drop_changed_edits(story, run, &applied);
}

/// The item that an edit takes out of the file.
fn removed_node(edit: &Edit) -> Option<&Node> {
    if let Edit::SetPresent {
        node,
        present: false,
    } = edit
    {
        Some(node)
    } else {
        None
    }
}

/// Whether something open is left in the plan when these items are taken out of
/// it; also where nothing open is taken out.
fn has_open_items_without(story: &EventBuffer<'_>, run: RunId, gone: &[&Edit]) -> bool {
    let open = story.tables.tree(run);
    let open = open.filter(|row| row.is_leaf() && !row.state.is_finished());
    let is_gone = |row: &&ItemRow| {
        let mut nodes = gone.iter().filter_map(|edit| removed_node(edit));
        nodes.any(|node| row.node.is_within(node))
    };
    let (gone, left): (Vec<&ItemRow>, Vec<&ItemRow>) = open.partition(is_gone);
    gone.is_empty() || !left.is_empty()
}

/// A person's word holds for the file that was asked about, as long as it is
/// asked, and where that was offered.
fn check_file_question(
    story: &EventBuffer<'_>,
    run: RunId,
    file: &str,
    decision: DecisionId,
) -> Result<(), Refusal> {
    let verb = Verb::KeepFile;
    let row = check_decision_open(story, decision, verb)?;
    if row.run != run || row.file.as_deref() != Some(file) {
        return Err(Refusal::NoSuchDecision(decision.to_string()));
    }
    // An old question does not say what its verbs come to.
    match row.choice_of_verb(verb) {
        None | Some(DecisionChoice::FileHolds) => Ok(()),
        Some(
            DecisionChoice::LeftAlone
            | DecisionChoice::PitonHolds
            | DecisionChoice::Merged
            | DecisionChoice::Retired
            | DecisionChoice::FollowedOn,
        ) => Err(Refusal::WrongVerb {
            kind: row.kind,
            verb,
            fits: row.allowed_verbs(),
        }),
    }
}

/// Which of these edits cannot be taken as the rows stand.
#[must_use]
pub fn find_inapplicable_edits<'e>(
    rows: &Rows,
    facts: &CallerFacts,
    changes: &PlanFileEdits<'e>,
) -> Vec<&'e Edit> {
    let PlanFileEdits {
        run,
        token,
        file,
        edits,
    } = *changes;
    let mut story = EventBuffer::new(rows, facts, StreamId::of_run(run));
    story.asker = token;
    if release_dead_runner(&mut story, run).is_err() {
        return Vec::new();
    }
    let by = EditSource {
        file,
        word: &EditAuthor::File,
    };
    let left = apply_all_edits(&mut story, run, &by, edits);
    left.into_iter().map(|(edit, _)| edit).collect()
}

/// Where edits come from, and what their word counts for.
pub(super) struct EditSource<'a> {
    pub(super) file: &'a str,
    pub(super) word: &'a EditAuthor,
}

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

/// Opens the one question about a file, or closes it when all of it fits.
fn ask_about_file(story: &mut EventBuffer<'_>, run: RunId, file: &str, left: &[(&Edit, String)]) {
    if left.is_empty() {
        return story.settle_file_decisions(run, file, "what the file says fits");
    }
    let what = if left.len() == 1 {
        "an edit".to_owned()
    } else {
        format!("{} edits", left.len())
    };
    let question = format!("{what} of `{file}` cannot be taken: which version holds?");
    let mut trial = story.clone();
    let ways = || {
        // Nothing is offered that would be refused.
        let word = &EditAuthor::Person {
            decision: DecisionId(uuid::Uuid::nil()),
            why: None,
        };
        let edits = left.iter().map(|(edit, _)| *edit);
        let holds = apply_all_edits(&mut trial, run, &EditSource { file, word }, edits).is_empty();
        let file = holds.then_some(DecisionChoice::FileHolds);
        file.into_iter()
            .chain([DecisionChoice::PitonHolds, DecisionChoice::Merged])
            .collect()
    };
    let edits = left.iter().map(|(edit, _)| (*edit).clone()).collect();
    let text = QuestionText {
        question,
        details: Some(render_rejected_edits(left)),
    };
    story.ask_about_file(run, file, text, edits, ways);
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
    let is_to_be_mended = row.stage == Stage::Fix && !is_under_way(row);
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

// What the plan says of an item.

pub(super) fn append_change(
    story: &mut EventBuffer<'_>,
    run: RunId,
    node: &Node,
    change: ItemChange,
) {
    story.append(ItemEvent::Changed(Box::new(ItemChanged {
        run,
        node: node.clone(),
        change,
    })));
}

/// Changes what the plan says of an item. What is under way on it goes on with
/// what it was started with; the change is in force from the next start.
pub(super) fn change_item(
    story: &mut EventBuffer<'_>,
    run: RunId,
    node: &Node,
    change: ItemChange,
) -> Result<(), EditRejection> {
    let row = story.require_item(run, node)?;
    let mut changed = row.clone();
    change.apply_to_item(&mut changed);
    if changed == *row {
        return Ok(());
    }
    // How an item is to be proven undoes no work: it holds should it be done again.
    // Another turn would say that it was done in another order.
    let undoes_nothing = matches!(
        change,
        ItemChange::Prompt(_)
            | ItemChange::Gate(_)
            | ItemChange::Claims(_)
            | ItemChange::Model(_)
            | ItemChange::Scope(_)
            | ItemChange::Wait(_)
    );
    if row.state.is_finished() && !undoes_nothing {
        return reject_edit(format!("it is {}", row.state));
    }
    append_change(story, run, node, change);
    Ok(())
}

// States.

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

fn has_work_under_way(story: &EventBuffer<'_>, run: RunId, top: &ItemRow) -> bool {
    story.tables.subtree(run, &top.plan.place).any(is_under_way)
}

/// The item waits for fewer others; it is ready if it waits for none that is open.
pub(super) fn drop_dependencies(
    story: &mut EventBuffer<'_>,
    run: RunId,
    node: &Node,
    depends_on: &[Node],
) -> Result<(), EditRejection> {
    change_item(story, run, node, ItemChange::DependsOn(depends_on.to_vec()))?;
    let waiting: Vec<ItemRow> = story
        .tables
        .tree(run)
        .filter(|row| row.state == ItemState::Pending && row.node.is_within(node))
        .cloned()
        .collect();
    for row in waiting {
        if !has_to_wait(story, run, &row) {
            story.move_item(run, &row.node, ItemState::Ready, |_| {});
        }
    }
    Ok(())
}

/// The person who changed a file, where one did.
fn person_behind_edit(story: &EventBuffer<'_>, by: &EditSource<'_>) -> Option<String> {
    match by.word {
        EditAuthor::Hand { by, .. } => Some(by.clone()),
        EditAuthor::Person { .. } | EditAuthor::Typed { .. } => {
            Some(story.facts.actor.name().to_owned())
        }
        EditAuthor::File | EditAuthor::Piton | EditAuthor::MaybeAgent { .. } => None,
    }
}

/// Why an item counts as done that is marked in a file.
fn evidence_of_mark(story: &EventBuffer<'_>, by: &EditSource<'_>, node: &Node) -> Evidence {
    if let EditAuthor::Hand { brought, .. } = by.word
        && brought.contains(node)
    {
        return Evidence::TakenOver;
    }
    let person = person_behind_edit(story, by);
    match person {
        Some(person) => Evidence::Decided {
            by: person,
            at: story.rows.now,
            through: match by.word {
                EditAuthor::Typed { through, .. } => through.clone(),
                EditAuthor::File
                | EditAuthor::Piton
                | EditAuthor::Hand { .. }
                | EditAuthor::Person { .. }
                | EditAuthor::MaybeAgent { .. } => by.file.to_owned(),
            },
        },
        None => Evidence::Claimed {
            by: by.file.to_owned(),
        },
    }
}

/// A person says that an item is done, with all that lies below it.
fn mark_done(
    story: &mut EventBuffer<'_>,
    run: RunId,
    by: &EditSource<'_>,
    top: &ItemRow,
) -> Result<(), EditRejection> {
    // Work that waits to be merged would be on no branch, and its item done.
    let is_waiting = |row: &ItemRow| row.merge().is_some_and(MergeRow::is_awaiting_merge);
    if story.tables.subtree(run, &top.plan.place).any(is_waiting) {
        return reject_edit("its work waits to be merged, and it is done when it is");
    }
    let evidence = [evidence_of_mark(story, by, &top.node)];
    Ok(complete_subtree(story, run, top, &evidence, by.file)?)
}

/// Completes an item, with all that lies below it, by what is known of it from
/// elsewhere.
pub(super) fn complete_subtree(
    story: &mut EventBuffer<'_>,
    run: RunId,
    top: &ItemRow,
    evidence: &[Evidence],
    through: &str,
) -> Result<(), Refusal> {
    if top.state.is_left_out() {
        story.move_item(run, &top.node, ItemState::Done, |moved| {
            moved.evidence = evidence.to_vec();
        });
        return Ok(());
    }
    if has_work_under_way(story, run, top) {
        return Err(Refusal::BeingWorkedOn(top.node.clone()));
    }
    reopen_ancestors(story, run, &top.node);
    for above in story.ancestors_of(run, &top.node).into_iter().rev() {
        if above.state == ItemState::Ready {
            story.move_item(run, &above.node, ItemState::Working, |_| {});
        }
    }
    let below: Vec<Node> = story
        .tables
        .subtree(run, &top.plan.place)
        .map(|item| item.node.clone())
        .collect();
    for node in below.iter().rev() {
        let row = story.require_item(run, node)?.clone();
        if !row.state.is_finished() {
            settle_attempt(story, &row, Outcome::Completed, None);
            story.move_item(run, node, ItemState::Done, |moved| {
                moved.evidence = evidence.to_vec();
            });
            release_dependents(story, run, node);
        }
    }
    let why = format!("completed in {through}");
    story.settle_decisions_below(run, &top.node, Verb::Settled, Some(&why));
    complete_ancestors(story, run, &top.node, evidence);
    advance_emptied_parents(story, run);
    Ok(())
}

/// What holds only finished items goes on, or is done by the same word when it
/// could not have begun.
fn complete_ancestors(story: &mut EventBuffer<'_>, run: RunId, node: &Node, evidence: &[Evidence]) {
    let Some(parent) = node.parent() else {
        return;
    };
    let Some(row) = story.tables.item(run, &parent) else {
        return;
    };
    if row.open_children > 0 {
        return;
    }
    match row.state {
        ItemState::Working => advance_after_work(story, run, &parent),
        ItemState::Waiting if !row.is_waiting_by_plan() => {}
        ItemState::Pending | ItemState::Ready | ItemState::Waiting => {
            story.move_item(run, &parent, ItemState::Done, |moved| {
                moved.evidence = evidence.to_vec();
            });
            release_dependents(story, run, &parent);
            story.settle_decisions_of_node(run, &parent, Verb::Settled);
            complete_ancestors(story, run, &parent, evidence);
        }
        ItemState::Done
        | ItemState::Failed
        | ItemState::Skipped
        | ItemState::Dropped
        | ItemState::Blocked => {}
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

// Places.

/// The siblings below `parent`, in order.
pub(super) fn siblings_below(
    story: &EventBuffer<'_>,
    run: RunId,
    parent: Option<&Node>,
) -> Result<Vec<ItemRow>, Refusal> {
    let above = match parent {
        Some(parent) => story.require_item(run, parent)?.plan.place.clone(),
        None => TreePosition::default(),
    };
    let depth = above.depth() + 1;
    let below: Vec<&ItemRow> = match parent {
        Some(_) => story.tables.subtree(run, &above).collect(),
        None => story.tables.tree(run).collect(),
    };
    let rows = below
        .into_iter()
        .filter(|item| item.plan.place.depth() == depth);
    Ok(rows.cloned().collect())
}

/// Puts siblings, each with what lies below it, at these indexes.
pub(super) fn move_siblings(story: &mut EventBuffer<'_>, run: RunId, moves: &[(ItemRow, u32)]) {
    let mut places = BTreeMap::new();
    for (row, index) in moves {
        let level = row.plan.place.depth() - 1;
        if row.plan.place.0.get(level) == Some(index) {
            continue;
        }
        for item in story.tables.subtree(run, &row.plan.place) {
            let mut place = item.plan.place.clone();
            if let Some(at) = place.0.get_mut(level) {
                *at = *index;
            }
            places.insert(item.node.clone(), place);
        }
    }
    if !places.is_empty() {
        story.append(ItemEvent::Placed(Box::new(ItemsPlaced { run, places })));
    }
}

fn reorder_siblings(
    story: &mut EventBuffer<'_>,
    run: RunId,
    parent: Option<&Node>,
    nodes: &[Node],
) -> Result<(), EditRejection> {
    let now = siblings_below(story, run, parent)?;
    let mut named: BTreeMap<&Node, usize> = BTreeMap::new();
    for node in nodes {
        let next = named.len();
        named.entry(node).or_insert(next);
    }
    let known: BTreeSet<&Node> = now.iter().map(|row| &row.node).collect();
    if let Some(unknown) = nodes.iter().find(|node| !known.contains(node)) {
        return Err(Refusal::NoSuchItem(unknown.clone()).into());
    }
    // One that is not named keeps behind the one that it follows now.
    let mut keyed: Vec<((usize, usize), ItemRow)> = Vec::with_capacity(now.len());
    let mut last = (0, 0);
    for row in now {
        last = match named.get(&row.node) {
            Some(at) => (at + 1, 0),
            None => (last.0, last.1 + 1),
        };
        keyed.push((last, row));
    }
    keyed.sort_by_key(|(key, _)| *key);
    let rows = keyed.into_iter().map(|(_, row)| row);
    let moves: Vec<(ItemRow, u32)> = rows.zip(0..).collect();
    move_siblings(story, run, &moves);
    Ok(())
}

// New items.

/// Adds an item with all that lies below it; gives back its node.
pub(super) fn insert_items(
    story: &mut EventBuffer<'_>,
    run: RunId,
    parent: Option<&Node>,
    after: Option<&Node>,
    items: &[PlannedItem],
) -> Result<Node, EditRejection> {
    let now = siblings_below(story, run, parent)?;
    let above = match parent {
        Some(parent) => Some(check_can_have_children(story, run, parent)?),
        None => None,
    };
    let at = match after {
        None => 0,
        Some(after) => now
            .iter()
            .position(|row| row.node == *after)
            .map_or(now.len(), |before| before + 1),
    };
    let at = u32::try_from(at).unwrap_or(u32::MAX);
    let top = above
        .as_ref()
        .map_or_else(TreePosition::default, |row| row.plan.place.clone())
        .child(at);
    let closed = parent.is_some_and(|parent| is_closed_for_work(story, run, parent));
    let items = rename_to_free_ids(items, parent, &now, &top)?;
    let items = prepare_inserted_items(story, run, items, closed)?;
    let open = !items[0].state.is_finished();
    if let Some(above) = above.filter(|above| above.is_leaf() && !open) {
        return reject_edit(format!("nothing would be left to do in `{}`", above.node));
    }
    let later = now.into_iter().zip(0..).filter(|(_, index)| *index >= at);
    let moves: Vec<(ItemRow, u32)> = later.map(|(row, index)| (row, index + 1)).collect();
    move_siblings(story, run, &moves);
    let node = items[0].node.clone();
    for item in items {
        story.append(ItemEvent::Planned(Box::new(ItemPlanned { run, item })));
    }
    if open {
        reopen_ancestors(story, run, &node);
        advance_emptied_parents(story, run);
    }
    Ok(node)
}

/// The item, when others may be added below it.
fn check_can_have_children(
    story: &EventBuffer<'_>,
    run: RunId,
    parent: &Node,
) -> Result<ItemRow, EditRejection> {
    let row = story.require_item(run, parent)?.clone();
    let begun = !matches!(row.state, ItemState::Pending | ItemState::Ready) || row.attempts > 0;
    if row.is_leaf() && begun {
        return reject_edit(format!("`{parent}` has been begun as it is"));
    }
    let line = std::iter::once(row.clone()).chain(story.ancestors_of(run, parent));
    for above in line {
        if is_under_way(&above) {
            return Err(Refusal::BeingWorkedOn(above.node).into());
        }
    }
    Ok(row)
}

/// Whether nothing below `node` is started any more.
fn is_closed_for_work(story: &EventBuffer<'_>, run: RunId, node: &Node) -> bool {
    std::iter::once(node.clone())
        .chain(node.ancestors())
        .filter_map(|node| story.tables.item(run, &node))
        .any(|row| row.people.skip_asked || row.state.is_left_out())
}

/// The items with the nodes and places that they get: a sibling that repeats
/// an id gets the next number that is free.
fn rename_to_free_ids(
    items: &[PlannedItem],
    parent: Option<&Node>,
    now: &[ItemRow],
    top: &TreePosition,
) -> Result<Vec<PlannedItem>, EditRejection> {
    let Some(first) = items.first() else {
        return reject_edit("there is nothing to add");
    };
    let (old_node, old_depth) = (&first.node, first.place.depth());
    let free = (1..)
        .map(|nth| Node::child(parent, &first.id, nth))
        .find(|node| !now.iter().any(|row| row.node == *node));
    let Some(new_node) = free else {
        return reject_edit("there is no name left for it");
    };
    let name = |node: &Node| {
        let rest = node.as_str().strip_prefix(old_node.as_str())?;
        (rest.is_empty() || rest.starts_with('/'))
            .then(|| Node::from_text(format!("{new_node}{rest}")))
    };
    let mut out = Vec::with_capacity(items.len());
    for (index, item) in items.iter().enumerate() {
        let below = item.place.0.get(old_depth..).unwrap_or_default();
        let (Some(node), true) = (name(&item.node), below.is_empty() == (index == 0)) else {
            return reject_edit(format!("`{}` hangs on nothing", item.node));
        };
        let mut place = top.clone();
        place.0.extend_from_slice(below);
        let depends_on = item.depends_on.iter();
        out.push(PlannedItem {
            depends_on: depends_on
                .map(|on| name(on).unwrap_or_else(|| on.clone()))
                .collect(),
            node,
            place,
            ..item.clone()
        });
    }
    Ok(out)
}

/// The items with the states in which they begin, and with all that they wait
/// for.
fn prepare_inserted_items(
    story: &EventBuffer<'_>,
    run: RunId,
    mut items: Vec<PlannedItem>,
    closed: bool,
) -> Result<Vec<PlannedItem>, EditRejection> {
    check_subtree_dependencies(story, run, &items)?;
    let parent = items[0].node.parent();
    let above: Vec<ItemRow> = parent
        .iter()
        .flat_map(|parent| std::iter::once(parent.clone()).chain(parent.ancestors()))
        .filter_map(|node| story.tables.item(run, &node).cloned())
        .collect();
    let indexes = items.iter().map(|item| &item.node).zip(0..).collect();
    let depends_on: Vec<Vec<Node>> = items
        .iter()
        .map(|item| {
            let mut all = dependencies_with_inherited(&items, &indexes, item);
            let inherited = above.iter().flat_map(|row| &row.plan.depends_on);
            for on in inherited.filter(|_| !item.depends_on.is_empty()) {
                if !all.contains(on) {
                    all.push(on.clone());
                }
            }
            all
        })
        .collect();
    let policy = story.tables.run(run).map(|row| &row.plan.policy);
    for (item, depends_on) in items.iter_mut().zip(depends_on) {
        item.depends_on = depends_on;
        let named = item.repository.take();
        item.repository = policy.and_then(|policy| policy.resolve_repository(named));
        if item.state.is_finished() {
            continue;
        }
        if !matches!(item.state, ItemState::Pending | ItemState::Ready) {
            return reject_edit(format!(
                "`{}` is new, and cannot be {}",
                item.node, item.state
            ));
        }
        item.past = ImportedItemHistory::default();
        if closed {
            item.state = ItemState::Skipped;
        }
    }
    settle_inserted_states(story, run, &mut items);
    Ok(items)
}

/// An item below which nothing is to be done has nothing to do itself; below
/// one that is finished nothing is begun; what waits is pending.
fn settle_inserted_states(story: &EventBuffer<'_>, run: RunId, items: &mut [PlannedItem]) {
    let at: BTreeMap<Node, usize> = items
        .iter()
        .map(|item| item.node.clone())
        .zip(0..)
        .collect();
    let parents: Vec<Option<usize>> = items
        .iter()
        .map(|item| at.get(&item.node.parent()?).copied())
        .collect();
    let mut open = vec![0_u32; items.len()];
    let (mut all, mut done) = (open.clone(), open.clone());
    for index in 0..items.len() {
        let above = parents[index].map(|parent| items[parent].state);
        if above.is_some_and(ItemState::is_finished) && !items[index].state.is_finished() {
            items[index].state = ItemState::Skipped;
        }
    }
    for index in (0..items.len()).rev() {
        if all[index] > 0 && open[index] == 0 && !items[index].state.is_finished() {
            items[index].state = if done[index] > 0 {
                ItemState::Done
            } else {
                ItemState::Skipped
            };
        }
        if let Some(parent) = parents[index] {
            all[parent] += 1;
            open[parent] += u32::from(!items[index].state.is_finished());
            done[parent] += u32::from(items[index].state == ItemState::Done);
        }
    }
    for index in 0..items.len() {
        if items[index].state.is_finished() {
            continue;
        }
        let state_of = |node: &Node| {
            let new = at.get(node).map(|index| items[*index].state);
            new.or_else(|| story.tables.item(run, node).map(|row| row.state))
        };
        let held_up = items[index].node.parent().is_some_and(|parent| {
            let known = story.tables.item(run, &parent);
            match at.get(&parent) {
                Some(new) => items[*new].state == ItemState::Pending || items[*new].wait.is_some(),
                None => {
                    known.is_some_and(|row| has_to_wait(story, run, row) || row.has_open_wait())
                }
            }
        });
        let free = items[index]
            .depends_on
            .iter()
            .all(|on| state_of(on).is_some_and(ItemState::is_finished));
        items[index].state = if held_up || !free {
            ItemState::Pending
        } else {
            ItemState::Ready
        };
    }
}

/// Refuses items that wait for what is not there, or for themselves.
fn check_subtree_dependencies(
    story: &EventBuffer<'_>,
    run: RunId,
    items: &[PlannedItem],
) -> Result<(), EditRejection> {
    let top = &items[0].node;
    let mut alone: Vec<PlannedItem> = Vec::with_capacity(items.len());
    for item in items {
        let mut inner = Vec::new();
        for on in &item.depends_on {
            if on.is_within(top) {
                inner.push(on.clone());
            } else if story.tables.item(run, on).is_none() || top.is_within(on) {
                return reject_edit(format!("it waits for `{on}`, which is not there"));
            }
        }
        alone.push(PlannedItem {
            depends_on: inner,
            node: Node::from_text(item.node.as_str()),
            ..item.clone()
        });
    }
    // Within a tree of its own, the top has no parent.
    let parents = top.parent();
    if let Some(parent) = parents {
        let cut = parent.as_str().len() + 1;
        let own = |node: &Node| Node::from_text(node.as_str().get(cut..).unwrap_or_default());
        for item in &mut alone {
            item.node = own(&item.node);
            item.depends_on = item.depends_on.iter().map(own).collect();
        }
    }
    let indexes = index_nodes(&alone)?;
    Ok(check_for_cycles(&alone, &indexes)?)
}
