//! What people may do, from any process, while a runner works or none does.

use super::advance::{advance_after_work, drop_node, has_to_wait, skip_node};
use super::agent_edits;
use super::claims;
use super::editing::append_change;
use super::event_buffer::{EventBuffer, StateReason};
use super::merge_needed;
use super::merge_queue;
use super::pull_requests;
use super::recording::{entry_about, log_entry};
use super::remembering;
use super::requests;
use super::reviewing;
use super::waits;
use crate::decision::{DecisionKind, DecisionRow, Verb};
use crate::entry::EntryType;
use crate::event::{DecisionEvent, ItemChange, ItemChanged, ItemEvent, MemoryEvent, RunEvent};
use crate::id::{DecisionId, Node, RunId};
use crate::item::{ItemRow, ItemState, Rejection, Stage};
use crate::refusal::Refusal;
use crate::request::RequestAnswer;
use crate::run::{Pause, PendingRequest, RunState, RunnerRequest};
use crate::standing::ItemStanding;
use crate::wait::WaitProgress;

/// Notes that the runner is gone, if the run says otherwise.
pub(super) fn release_dead_runner(story: &mut EventBuffer<'_>, run: RunId) -> Result<(), Refusal> {
    let row = story.require_run(run)?.clone();
    if story.has_live_runner(run) {
        return Ok(());
    }
    for holder in row.runners().cloned() {
        story.append(RunEvent::LeaseLost {
            run,
            owner: holder.owner,
            token: holder.token,
        });
    }
    if row.state == RunState::Running {
        story.move_run(
            run,
            RunState::Interrupted,
            StateReason::from_reason("its runner died"),
        );
        renew_pause_request(story, run, row.invocation.asked);
    }
    Ok(())
}

/// Takes a run whose runner is gone, so that what it left under way can be
/// ended: a person steers the run before another runner comes.
pub(super) fn take_dead_run(
    story: &mut EventBuffer<'_>,
    run: RunId,
    owner: &str,
) -> Result<(), Refusal> {
    release_dead_runner(story, run)?;
    let row = story.require_run(run)?.clone();
    if let Some(holder) = row.holder {
        return Err(Refusal::Busy {
            name: row.name,
            holder,
        });
    }
    story.append(RunEvent::LeaseTaken {
        run,
        owner: owner.to_owned(),
        token: row.fence + 1,
        joins: None,
    });
    Ok(())
}

/// A pause that was asked of a runner that died is still wanted; a stop is met
/// by its death.
pub(super) fn renew_pause_request(
    story: &mut EventBuffer<'_>,
    run: RunId,
    asked: Option<PendingRequest>,
) {
    if let Some(PendingRequest {
        request: RunnerRequest::Pause,
        by,
    }) = asked
    {
        story.append(RunEvent::Asked {
            run,
            request: RunnerRequest::Pause,
            by,
        });
    }
}

pub(super) fn request_pause(story: &mut EventBuffer<'_>, run: RunId) -> Result<(), Refusal> {
    release_dead_runner(story, run)?;
    let by = story.facts.actor.name().to_owned();
    match story.require_run(run)?.state {
        RunState::Running => story.append(RunEvent::Asked {
            run,
            request: RunnerRequest::Pause,
            by,
        }),
        RunState::New | RunState::Interrupted => story.move_run(
            run,
            RunState::Paused,
            StateReason::from_pause(Pause::Person { by }),
        ),
        RunState::Paused | RunState::Waiting | RunState::Blocked | RunState::Done => {
            return Err(story.wrong_run_state(run));
        }
    }
    Ok(())
}

pub(super) fn request_stop(story: &mut EventBuffer<'_>, run: RunId) -> Result<(), Refusal> {
    let was_running = story.require_run(run)?.state == RunState::Running;
    release_dead_runner(story, run)?;
    let held = story.has_live_runner(run);
    if !was_running && !held {
        return Err(story.wrong_run_state(run));
    }
    if held {
        let by = story.facts.actor.name().to_owned();
        story.append(RunEvent::Asked {
            run,
            request: RunnerRequest::Stop,
            by,
        });
    }
    Ok(())
}

pub(super) fn resume_run(story: &mut EventBuffer<'_>, run: RunId) -> Result<(), Refusal> {
    let row = story.require_run(run)?.clone();
    let holder = row.runners().next().cloned();
    if row.state == RunState::Running
        && story.has_live_runner(run)
        && let Some(holder) = holder
    {
        return withdraw_pause_request(story, run, row.invocation.asked).map_err(|()| {
            Refusal::Busy {
                name: row.name,
                holder,
            }
        });
    }
    release_dead_runner(story, run)?;
    // Nor one that was asked for before the run came to wait for a person.
    let waits = matches!(row.state, RunState::Waiting | RunState::Blocked) && row.pause.is_none();
    if waits && withdraw_pause_request(story, run, row.invocation.asked).is_ok() {
        return Ok(());
    }
    match story.require_run(run)?.state {
        // A resume takes back a pause that no runner met.
        RunState::Interrupted if story.require_run(run)?.invocation.asked.is_some() => {
            story.move_run(run, RunState::Interrupted, StateReason::default());
        }
        RunState::Interrupted => {}
        // A wait that has a pause is one at a breakpoint.
        RunState::Paused | RunState::Waiting if story.require_run(run)?.pause.is_some() => {
            approve_breakpoints(story, run);
            story.move_run(run, RunState::Interrupted, StateReason::default());
        }
        RunState::New
        | RunState::Running
        | RunState::Paused
        | RunState::Waiting
        | RunState::Blocked
        | RunState::Done => {
            return Err(story.wrong_run_state(run));
        }
    }
    Ok(())
}

/// Takes back a pause that the runner has not come to yet; an error where none
/// was asked for.
fn withdraw_pause_request(
    story: &mut EventBuffer<'_>,
    run: RunId,
    asked: Option<PendingRequest>,
) -> Result<(), ()> {
    let pauses = asked.is_some_and(|asked| asked.request == RunnerRequest::Pause);
    if !pauses {
        return Err(());
    }
    let by = story.facts.actor.name().to_owned();
    story.append(RunEvent::Asked {
        run,
        request: RunnerRequest::GoOn,
        by,
    });
    Ok(())
}

/// Settles what was asked at breakpoints: the run goes on after them.
fn approve_breakpoints(story: &mut EventBuffer<'_>, run: RunId) {
    let open = story.tables.open_decisions(run);
    let asked: Vec<_> = open
        .filter(|row| row.kind == DecisionKind::Breakpoint)
        .map(|row| row.id)
        .collect();
    for decision in asked {
        story.append(DecisionEvent::Made {
            decision,
            verb: Verb::Approve,
            why: None,
            answer: None,
        });
    }
}

/// Whether an agent, a gate or a commit is under way on the item.
pub(super) fn is_under_way(item: &ItemRow) -> bool {
    item.is_under_way()
}

pub(super) fn skip_item(
    story: &mut EventBuffer<'_>,
    run: RunId,
    node: &Node,
    why: Option<&str>,
) -> Result<(), Refusal> {
    release_dead_runner(story, run)?;
    let top = story.require_item(run, node)?.clone();
    if top.state.is_finished() {
        return Err(Refusal::ItemState {
            node: node.clone(),
            state: top.state,
            until: None,
        });
    }
    reopen_ancestors(story, run, node);
    let below: Vec<Node> = story
        .tables
        .subtree(run, &top.plan.place)
        .map(|item| item.node.clone())
        .collect();
    // What is under way ends first, and what holds others is left out with the
    // last of them rather than done: see `end_attempt` and `after_work`.
    for node in &below {
        let row = story.require_item(run, node)?;
        let is_begun = row.state == ItemState::Working || row.state.is_broken();
        let later = is_under_way(row) || (is_begun && row.open_children > 0);
        if later && !row.people.skip_asked {
            story.append(ItemEvent::SkipAsked {
                run,
                node: node.clone(),
            });
        }
    }
    // Leaves first, so that no node is left out before what lies below it.
    for node in below.iter().rev() {
        let row = story.require_item(run, node)?;
        if !row.state.is_finished() && !is_under_way(row) && row.open_children == 0 {
            skip_node(story, run, node, why);
        }
    }
    if story.event_count() > 0 {
        log_scope_override(story, run, node, "left out", why);
    }
    story.settle_decisions_below(run, node, Verb::Skip, why);
    advance_emptied_parents(story, run);
    Ok(())
}

/// A person took an item out of the file of its plan: it leaves the plan with
/// all below it that is open. What is under way stays until it has ended.
pub(super) fn drop_item(
    story: &mut EventBuffer<'_>,
    run: RunId,
    node: &Node,
) -> Result<(), Refusal> {
    let top = story.require_item(run, node)?.clone();
    let below = || story.tables.subtree(run, &top.plan.place);
    if top.state.is_finished() || below().any(is_under_way) {
        return Ok(());
    }
    let below: Vec<Node> = below().map(|item| item.node.clone()).collect();
    reopen_ancestors(story, run, node);
    for node in below.iter().rev() {
        let row = story.require_item(run, node)?;
        if !row.state.is_finished() && row.open_children == 0 {
            drop_node(story, run, node);
        }
    }
    log_scope_override(story, run, node, "dropped", None);
    story.settle_decisions_below(run, node, Verb::Skip, None);
    advance_emptied_parents(story, run);
    Ok(())
}

pub(super) fn log_scope_override(
    story: &mut EventBuffer<'_>,
    run: RunId,
    node: &Node,
    what: &str,
    why: Option<&str>,
) {
    let entry = entry_about(story, run, node, EntryType::ScopeOverride, what);
    let entry = match why {
        Some(why) => entry.with_text("reason", why),
        None => entry,
    };
    log_entry(story, entry);
}

pub(super) fn retry_item(
    story: &mut EventBuffer<'_>,
    run: RunId,
    node: &Node,
    why: Option<&str>,
    answer: Option<&str>,
) -> Result<(), Refusal> {
    reset_for_retry(story, run, node, answer)?;
    story.settle_decisions_below(run, node, Verb::Retry, why);
    advance_emptied_parents(story, run);
    Ok(())
}

/// Makes `node` ready again, or, when it holds others, what ended badly below it.
pub(super) fn reset_for_retry(
    story: &mut EventBuffer<'_>,
    run: RunId,
    node: &Node,
    answer: Option<&str>,
) -> Result<(), Refusal> {
    release_dead_runner(story, run)?;
    let top = story.require_item(run, node)?.clone();
    // A runner goes on with it in a moment.
    let is_next = top.state == ItemState::Working && top.standing() == ItemStanding::Active;
    let is_between = is_next && story.has_live_runner(run);
    if is_under_way(&top) || is_between {
        return Err(Refusal::BeingWorkedOn(node.clone()));
    }
    let is_whole = !top.is_leaf() && is_waiting_for_approval(story, &top);
    if top.state == ItemState::Done || is_whole {
        return redo_done_below(story, run, &top, answer);
    }
    let broken: Vec<ItemRow> = story
        .tables
        .subtree(run, &top.plan.place)
        .filter(|item| can_restart(item, &top))
        .cloned()
        .collect();
    let own_stage = top.state == ItemState::Working && is_at_own_stage(&top);
    if broken.is_empty() && !own_stage {
        return Err(Refusal::ItemState {
            node: node.clone(),
            state: top.state,
            until: None,
        });
    }
    // Refused as a whole, or done as a whole.
    for leaf in &broken {
        if let Some(busy) = story
            .ancestors_of(run, &leaf.node)
            .iter()
            .find(|row| is_under_way(row))
        {
            return Err(Refusal::BeingWorkedOn(busy.node.clone()));
        }
    }
    for leaf in broken {
        reopen_ancestors(story, run, &leaf.node);
        restart_item(story, run, &leaf, answer);
    }
    if own_stage {
        reopen_ancestors(story, run, node);
        restart_item(story, run, &top, answer);
    }
    Ok(())
}

/// Does again what is done: the item, or of one that holds others all that is
/// done below it.
fn redo_done_below(
    story: &mut EventBuffer<'_>,
    run: RunId,
    top: &ItemRow,
    answer: Option<&str>,
) -> Result<(), Refusal> {
    let leaves_in = |fits: fn(ItemState) -> bool| {
        let below = story.tables.subtree(run, &top.plan.place);
        let leaves = below.filter(|row| row.is_leaf() && fits(row.state));
        leaves.cloned().collect::<Vec<ItemRow>>()
    };
    let mut leaves = leaves_in(|state| state == ItemState::Done);
    if leaves.is_empty() && top.state == ItemState::Waiting {
        // It waits for an approval of nothing: then all that was left out is wanted.
        leaves = leaves_in(ItemState::is_left_out);
    }
    if leaves.is_empty() {
        return Err(Refusal::ItemState {
            node: top.node.clone(),
            state: top.state,
            until: None,
        });
    }
    for leaf in leaves {
        redo_item(story, run, &leaf, "a person wants it done again", answer)?;
    }
    Ok(())
}

/// Whether an item holds others that are all finished, and is at what comes
/// after them: its gate, or its commit.
fn is_at_own_stage(item: &ItemRow) -> bool {
    !item.is_leaf() && item.open_children == 0 && item.stage != Stage::Work
}

/// Whether trying `top` again tries this item again, `top` itself or one below it.
fn can_restart(item: &ItemRow, top: &ItemRow) -> bool {
    if item.is_waiting_by_plan() {
        // A retry of an item above it does not shorten its wait.
        return item.node == top.node || item.work.waited == Some(WaitProgress::Late);
    }
    if !item.is_leaf() {
        let ended = item.state.is_broken() || item.state == ItemState::Waiting;
        return ended && is_at_own_stage(item);
    }
    match item.state {
        ItemState::Failed | ItemState::Blocked | ItemState::Waiting => true,
        // An item that was left out comes back only by its own name, or with the
        // whole of what was left out.
        ItemState::Skipped | ItemState::Dropped => item.node == top.node || top.state.is_left_out(),
        // Its runner died, or was stopped: no process works on it now.
        ItemState::Working => item.node == top.node,
        ItemState::Ready => item.node == top.node && item.attempts > 0,
        ItemState::Pending | ItemState::Done => false,
    }
}

/// Starts an item again: at its work, or at the stage at which it failed when
/// its work was done before.
fn restart_item(story: &mut EventBuffer<'_>, run: RunId, item: &ItemRow, answer: Option<&str>) {
    if item.is_waiting_by_plan() {
        return waits::check_wait_now(story, item, answer);
    }
    if merge_queue::is_in_review(item) {
        let why = answer.unwrap_or("a person wants it done again");
        return merge_queue::reject_merge_by_person(story, item, why);
    }
    if pull_requests::is_in_pull_request(item) {
        return match answer {
            Some(why) => merge_queue::reject_merge_by_person(story, item, why),
            None => merge_queue::requeue_unchecked_unit(story, item),
        };
    }
    if merge_queue::has_unrunnable_check(item) {
        return match answer {
            Some(why) => merge_queue::reject_merge_by_person(story, item, why),
            None => merge_queue::requeue_unchecked_unit(story, item),
        };
    }
    let is_next = match (item.is_leaf(), item.state) {
        (true, ItemState::Ready) => Some(Stage::Work),
        (false, ItemState::Working) if item.stage == Stage::Fix => Some(Stage::Gate),
        (false, ItemState::Working) => Some(item.stage),
        _ => None,
    };
    if let Some(stage) = is_next {
        return restart_at_stage(story, run, item, stage, answer);
    }
    let again_at = match (item.is_leaf(), item.state, item.stage) {
        // Who answers has words for an agent.
        (true, ItemState::Failed | ItemState::Blocked, Stage::Commit) if answer.is_some() => None,
        (_, ItemState::Failed | ItemState::Blocked, Stage::Commit) => Some(Stage::Commit),
        (_, ItemState::Failed | ItemState::Blocked | ItemState::Waiting, Stage::Resolve) => {
            Some(Stage::Resolve)
        }
        (false, ItemState::Failed | ItemState::Blocked, Stage::Gate | Stage::Fix) => {
            Some(Stage::Gate)
        }
        // The agent that mends its gate asked, and is the one to be answered.
        (false, ItemState::Waiting, _) => Some(Stage::Fix),
        _ => None,
    };
    match again_at {
        Some(stage) => story.move_item(run, &item.node, ItemState::Working, |moved| {
            moved.stage = Some(stage);
            moved.answer = join_answers(item, answer);
        }),
        None => restart_at_work(story, run, item, answer),
    }
}

/// Lets an item that is next anyway begin at a stage, with all of its retries.
fn restart_at_stage(
    story: &mut EventBuffer<'_>,
    run: RunId,
    item: &ItemRow,
    stage: Stage,
    answer: Option<&str>,
) {
    story.set_stage(run, &item.node, stage);
    if item.tries.retries > 0 {
        append_change(story, run, &item.node, ItemChange::Retries(0));
    }
    if let Some(words) = join_answers(item, answer) {
        append_change(story, run, &item.node, ItemChange::Answer(Some(words)));
    }
}

/// What people said about an item until now, and what one says as it is tried
/// again; none when that is nothing. A fresh agent has not read the prompts in
/// which the earlier words stood.
pub(super) fn join_answers(item: &ItemRow, added: Option<&str>) -> Option<String> {
    let added = added.map(str::trim).filter(|words| !words.is_empty())?;
    Some(match &item.people.answer {
        Some(before) if before.split("\n\n").any(|known| known == added) => before.clone(),
        Some(before) => format!("{before}\n\n{added}"),
        None => added.to_owned(),
    })
}

/// Starts an item again at its work, when what it waits for is finished.
pub(super) fn restart_at_work(
    story: &mut EventBuffer<'_>,
    run: RunId,
    item: &ItemRow,
    answer: Option<&str>,
) {
    story.move_item(
        run,
        &item.node,
        initial_open_state(story, run, item),
        |moved| {
            moved.stage = Some(Stage::Work);
            moved.retries = Some(0);
            moved.answer = join_answers(item, answer);
        },
    );
}

/// Whether all that the plan asks of an item is there, and a person is asked to
/// approve it.
fn is_waiting_for_approval(story: &EventBuffer<'_>, item: &ItemRow) -> bool {
    let mut open = story.tables.open_decisions(item.run);
    open.any(|row| row.kind == DecisionKind::Approval && row.node.as_ref() == Some(&item.node))
}

/// A person looked at what was made of an item, and wants it otherwise. What was
/// made by those below it is done again with these words; a look at one of them is
/// asked for by itself.
fn reject_item(
    story: &mut EventBuffer<'_>,
    run: RunId,
    decision: DecisionId,
    node: &Node,
    why: &str,
) -> Result<(), Refusal> {
    release_dead_runner(story, run)?;
    let item = story.require_item(run, node)?.clone();
    story.decide_if_open(decision, Verb::Reject, Some(why));
    if !item.is_leaf() {
        return redo_done_below(story, run, &item, Some(why));
    }
    reopen_ancestors(story, run, node);
    let rejected = Rejection {
        by: story.facts.actor.name().to_owned(),
        why: why.to_owned(),
    };
    story.move_item(run, node, initial_open_state(story, run, &item), |moved| {
        moved.stage = Some(Stage::Work);
        moved.retries = Some(0);
        moved.rejected = Some(Box::new(rejected));
    });
    advance_emptied_parents(story, run);
    Ok(())
}

/// Where an item begins: it may have to wait for others.
pub(super) fn initial_open_state(story: &EventBuffer<'_>, run: RunId, item: &ItemRow) -> ItemState {
    match has_to_wait(story, run, item) {
        true => ItemState::Pending,
        false => ItemState::Ready,
    }
}

/// Does an item again that is done. What was made of it stays
/// on record with its attempts; what waits for it and has not begun waits again.
pub(super) fn redo_item(
    story: &mut EventBuffer<'_>,
    run: RunId,
    item: &ItemRow,
    reason: &str,
    answer: Option<&str>,
) -> Result<(), Refusal> {
    let line = story.ancestors_of(run, &item.node);
    if let Some(busy) = line.iter().find(|row| is_under_way(row)) {
        return Err(Refusal::BeingWorkedOn(busy.node.clone()));
    }
    reopen_ancestors(story, run, &item.node);
    restart_at_work(story, run, item, answer);
    let reason = Some(answer.unwrap_or(reason));
    log_scope_override(story, run, &item.node, "to be done again", reason);
    advance_emptied_parents(story, run);
    Ok(())
}

/// Whether something else below `above` than `node` ended badly, which must go
/// on to show.
fn has_other_broken_item(story: &EventBuffer<'_>, above: &ItemRow, node: &Node) -> bool {
    story
        .tables
        .subtree(above.run, &above.plan.place)
        .filter(|item| item.state.is_broken())
        .any(|item| !item.node.is_within(node) && !node.is_within(&item.node))
}

/// Items above go on with this one, whatever they had come to without it; what
/// was asked about them is settled with that.
pub(super) fn reopen_ancestors(story: &mut EventBuffer<'_>, run: RunId, node: &Node) {
    // What stands below an item that has not begun has not begun either.
    let mut is_begun = true;
    for above in story.ancestors_of(run, node).into_iter().rev() {
        let to = match above.state {
            ItemState::Pending | ItemState::Ready => {
                is_begun = false;
                continue;
            }
            ItemState::Waiting if above.is_waiting_by_plan() => {
                is_begun = false;
                continue;
            }
            ItemState::Working => {
                story.set_stage(run, &above.node, Stage::Work);
                continue;
            }
            ItemState::Failed | ItemState::Blocked
                if has_other_broken_item(story, &above, node) =>
            {
                continue;
            }
            ItemState::Skipped | ItemState::Dropped if has_to_wait(story, run, &above) => {
                ItemState::Pending
            }
            ItemState::Done if !is_begun && has_to_wait(story, run, &above) => ItemState::Pending,
            ItemState::Done | ItemState::Skipped | ItemState::Dropped
                if !is_begun || above.has_open_wait() =>
            {
                ItemState::Ready
            }
            ItemState::Waiting
            | ItemState::Done
            | ItemState::Failed
            | ItemState::Skipped
            | ItemState::Dropped
            | ItemState::Blocked => ItemState::Working,
        };
        is_begun &= to == ItemState::Working;
        story.move_item(run, &above.node, to, |moved| {
            moved.stage = Some(Stage::Work)
        });
        story.settle_decisions_of_node(run, &above.node, Verb::Retry);
    }
}

/// The decision, when it is open and this may be said to it.
pub(super) fn check_decision_open(
    story: &EventBuffer<'_>,
    id: DecisionId,
    verb: Verb,
) -> Result<DecisionRow, Refusal> {
    let Some(row) = story.tables.decision(id) else {
        return Err(Refusal::NoSuchDecision(id.to_string()));
    };
    if let Some(verdict) = &row.verdict {
        return Err(Refusal::Decided {
            number: row.number,
            verb: verdict.verb,
        });
    }
    let fits = row.allowed_verbs();
    if !fits.contains(&verb) {
        return Err(Refusal::WrongVerb {
            kind: row.kind,
            verb,
            fits,
        });
    }
    Ok(row.clone())
}

/// What failed at an item: of a gate, what it printed says more than how it ended.
fn describe_failure(item: &ItemRow) -> Option<String> {
    let error = item.error.clone()?;
    let gate = item.proof.gate_runs.as_ref().filter(|runs| !runs.passed);
    Some(match gate.map(|runs| runs.output.trim()) {
        Some(output) if !output.is_empty() => format!("{error}\n{output}"),
        Some(_) | None => error,
    })
}

pub(super) fn apply_verdict(
    story: &mut EventBuffer<'_>,
    id: DecisionId,
    verb: Verb,
    why: Option<&str>,
) -> Result<(), Refusal> {
    let row = check_decision_open(story, id, verb)?;
    let why = why.map(str::trim).filter(|why| !why.is_empty());
    if let (Some(id), Verb::Approve) = (&row.memory, verb) {
        story.append(MemoryEvent::Retired {
            id: id.clone(),
            why: Some(why.unwrap_or("attempts kept failing with it").to_owned()),
            superseded_by: None,
        });
    }
    if matches!(
        (row.kind, verb),
        (DecisionKind::ClaimedItems, Verb::Approve)
    ) || matches!((row.kind, verb), (DecisionKind::AgentEdit, Verb::KeepFile))
    {
        return agent_edits::accept_edits(story, id, verb, why);
    }
    if row.kind == DecisionKind::Question {
        return answer_question(story, &row, verb, why);
    }
    if row.kind == DecisionKind::Request {
        return match RequestAnswer::from_verb(verb) {
            Some(answer) => requests::decide_open_request(story, &row, &answer, why),
            None => answer_question(story, &row, verb, why),
        };
    }
    if row.kind == DecisionKind::MergeNeeded && row.node.is_none() {
        return merge_needed::decide_items_question(story, &row, verb, why);
    }
    // The process that writes the file acts on the verdict.
    let Some(node) = row.node else {
        story.decide_if_open(id, verb, why);
        return Ok(());
    };
    match verb {
        Verb::Approve if matches!(row.kind, DecisionKind::Claim | DecisionKind::Approval) => {
            return claims::accept_claim(story, row.run, &node, why);
        }
        Verb::Approve if row.kind == DecisionKind::AgentReview => {
            return reviewing::approve_review(story, row.run, id, &node, why);
        }
        Verb::Reject if row.kind == DecisionKind::AgentReview => {
            let Some(why) = why else {
                return Err(Refusal::EmptyAnswer);
            };
            return reviewing::reject_review(story, row.run, id, &node, why);
        }
        Verb::Approve if row.kind == DecisionKind::Review => {
            merge_queue::approve_merge(story, row.run, &node)?;
        }
        Verb::Reject if matches!(row.kind, DecisionKind::Review | DecisionKind::PullRequest) => {
            let Some(why) = why else {
                return Err(Refusal::EmptyAnswer);
            };
            release_dead_runner(story, row.run)?;
            let item = story.require_item(row.run, &node)?.clone();
            merge_queue::reject_merge_by_person(story, &item, why);
        }
        Verb::Reject if row.kind == DecisionKind::Approval => {
            let Some(why) = why else {
                return Err(Refusal::EmptyAnswer);
            };
            return reject_item(story, row.run, id, &node, why);
        }
        Verb::Approve if row.kind == DecisionKind::MergeNeeded => {
            // An item that goes on without the merge is not asked about again.
            let words = why.unwrap_or("go on without it");
            let told = format!("{}: {words}", row.question);
            reset_for_retry(story, row.run, &node, Some(&told))?;
            append_change(story, row.run, &node, ItemChange::WithoutMerge(true));
        }
        Verb::Approve if row.kind == DecisionKind::Wait => {
            release_dead_runner(story, row.run)?;
            waits::skip_wait(story, row.run, &node, why)?;
        }
        Verb::Approve => {
            resume_at_breakpoint(story, row.run)?;
            story.decide_if_open(id, verb, why);
            return Ok(());
        }
        Verb::Answer => {
            let Some(answer) = why else {
                return Err(Refusal::EmptyAnswer);
            };
            let problem = match row.kind {
                DecisionKind::BlockedNode => describe_failure(story.require_item(row.run, &node)?),
                DecisionKind::HumanNeeded
                | DecisionKind::Claim
                | DecisionKind::MergeNeeded
                | DecisionKind::Breakpoint
                | DecisionKind::FileConflict
                | DecisionKind::ClaimedItems
                | DecisionKind::AgentEdit
                | DecisionKind::DoubtedMemory
                | DecisionKind::Question
                | DecisionKind::Review
                | DecisionKind::PullRequest
                | DecisionKind::Wait
                | DecisionKind::Request
                | DecisionKind::InHand
                | DecisionKind::Approval
                | DecisionKind::AgentReview => Some(row.question.clone()),
            };
            reset_for_retry(story, row.run, &node, Some(answer))?;
            // An agent that meets the same problem can recall the answer.
            let problem = problem.unwrap_or_else(|| row.question.clone());
            remembering::record_resolution(story, &problem, answer, Some(node.as_str()), None);
        }
        Verb::Retry => reset_for_retry(story, row.run, &node, why)?,
        Verb::Skip => return skip_item(story, row.run, &node, why),
        Verb::KeepFile
        | Verb::KeepPiton
        | Verb::Merge
        | Verb::Reject
        | Verb::Defer
        | Verb::Backlog
        | Verb::Settled => {
            story.decide_if_open(id, verb, why);
            return Ok(());
        }
    }
    story.settle_decisions_below(row.run, &node, verb, why);
    advance_emptied_parents(story, row.run);
    Ok(())
}

/// Asks a person something that holds nothing up. An item of a plan must be
/// there; of the project's own an item is there when something is recorded of it.
pub(super) fn ask_person(
    story: &mut EventBuffer<'_>,
    run: RunId,
    node: Option<&Node>,
    question: &str,
    details: Option<&str>,
) -> Result<(), Refusal> {
    if run != RunId::PROJECT {
        story.require_run(run)?;
        if let Some(node) = node {
            story.require_item(run, node)?;
        }
    }
    let said = |text: &str| Some(text.trim().to_owned()).filter(|text| !text.is_empty());
    let question = question.trim().to_owned();
    story.ask_person(run, node, question, details.and_then(said));
    Ok(())
}

/// Answers a question that holds nothing up: the answer goes into the next prompt of
/// its item, if it has one, and into memory for agents that meet the same problem.
fn answer_question(
    story: &mut EventBuffer<'_>,
    row: &DecisionRow,
    verb: Verb,
    why: Option<&str>,
) -> Result<(), Refusal> {
    if verb == Verb::Answer {
        let Some(answer) = why else {
            return Err(Refusal::EmptyAnswer);
        };
        if let Some(node) = &row.node {
            add_answer_to_item(story, row.run, node, &row.question, answer);
        }
        let item = row.node.as_ref().map(Node::as_str);
        remembering::record_resolution(story, &row.question, answer, item, None);
    }
    story.decide_if_open(row.id, verb, why);
    Ok(())
}

/// Adds an answer to the next prompt of an item, after what is there.
pub(super) fn add_answer_to_item(
    story: &mut EventBuffer<'_>,
    run: RunId,
    node: &Node,
    question: &str,
    answer: &str,
) {
    let Some(item) = story.tables.item(run, node) else {
        return;
    };
    if item.state.is_finished() {
        return;
    }
    let answer = format!("{question}\n{answer}");
    let answer = match &item.people.answer {
        Some(before) => format!("{before}\n\n{answer}"),
        None => answer,
    };
    story.append(ItemEvent::Changed(Box::new(ItemChanged {
        run,
        node: node.clone(),
        change: ItemChange::Answer(Some(answer)),
    })));
}

/// At a breakpoint an approval is a resume; when the run has moved on since,
/// or is paused for another reason, it is a note.
fn resume_at_breakpoint(story: &mut EventBuffer<'_>, run: RunId) -> Result<(), Refusal> {
    match story.require_run(run)?.pause {
        Some(Pause::Breakpoint { .. }) => resume_run(story, run),
        Some(Pause::Person { .. } | Pause::File | Pause::Limit { .. }) | None => Ok(()),
    }
}

/// A parent whose last open child was left out while it had failed goes on to
/// its own gate, or is done.
pub(super) fn advance_emptied_parents(story: &mut EventBuffer<'_>, run: RunId) {
    let emptied: Vec<Node> = story
        .tables
        .tree(run)
        .filter(|item| {
            item.state == ItemState::Working
                && !item.is_leaf()
                && item.open_children == 0
                && item.stage == Stage::Work
        })
        .map(|item| item.node.clone())
        .collect();
    for node in emptied.into_iter().rev() {
        if story
            .tables
            .item(run, &node)
            .is_some_and(|item| item.state == ItemState::Working)
        {
            advance_after_work(story, run, &node);
        }
    }
}
