//! What the runner that holds a run may do.

use super::advance::{
    advance_after_gate, advance_after_hook, advance_after_work, finish_or_ask, skip_node,
};
use super::claims::{evidence_of_check, has_same_check, needs_nothing_more};
use super::dead_runner::renew_pause_request;
use super::event_buffer::{EventBuffer, StateReason};
use super::giving_up::give_up_item;
use super::guards::{
    HeldRun, LeasedItem, check_can_begin, check_fence, check_holder, check_lane_held,
    check_not_taken, check_runner, wrong_item_state,
};
use super::judging::settle_attempt;
use super::recording::{entry_about, log_attempt, log_entry, next_attempt_name};
use super::recovering::{FailedWork, advance_after_repair, fail_item, fail_split};
use super::remembering;
use super::requests;
use super::reviewing::apply_review;
use super::settling::{count_standings, update_ready_items};
use super::splitting::split_item;
use crate::agent_chain::{AgentChain, AgentTurn};
use crate::attempt::{AttemptContext, AttemptRow, Outcome, Report, Role};
use crate::classify::FailureCategory;
use crate::decision::DecisionKind;
use crate::earlier_work::context_of_item;
use crate::entry::{Entry, EntryType};
use crate::event::{AttemptEvent, Event, ItemEvent, RunEvent};
use crate::evidence::{BaselineResult, ClaimSettings, TreeChange, WorkCredit};
use crate::flags::RunFlags;
use crate::gate::{GateReport, is_script_unrunnable};
use crate::id::{AttemptId, Node, RunId};
use crate::item::{ItemRef, ItemRow, ItemState, Stage};
use crate::policy::{self, Limits};
use crate::recover::Recovery;
use crate::refusal::Refusal;
use crate::row::{Key, Row};
use crate::run::{Pause, RunRow, RunState};
use crate::standing::state_of_run;
use crate::trouble::Trouble;
use crate::views::apply_event;
use jiff::Timestamp;

/// What a runner begins to work with.
pub(super) struct InvocationStart<'a> {
    /// The runner, in words.
    pub(super) owner: &'a str,
    pub(super) limits: &'a Limits,
    pub(super) claims: &'a ClaimSettings,
    pub(super) flags: &'a RunFlags,
    /// Whether a person wants to be notified of its end.
    pub(super) notify: bool,
    /// Whether all items of the run were loaded, and are looked at first.
    pub(super) sees_whole_tree: bool,
}

/// Whether the work of units goes to pull requests.
fn uses_pull_requests(row: &RunRow) -> bool {
    let lanes = row.branches.lanes.as_deref();
    lanes.is_some_and(|lanes| lanes.terms.pull_requests)
}

pub(super) fn start_run(
    story: &mut EventBuffer<'_>,
    run: RunId,
    invocation: &InvocationStart<'_>,
) -> Result<(), Refusal> {
    let row = story.require_run(run)?.clone();
    if let Some(holder) = row.holder {
        if story.is_runner_alive(holder.token) {
            return Err(Refusal::Busy {
                name: row.name,
                holder,
            });
        }
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
    }
    check_can_start(story, run, invocation)?;
    story.append(RunEvent::LeaseTaken {
        run,
        owner: invocation.owner.to_owned(),
        token: row.fence + 1,
        joins: None,
    });
    story.append(RunEvent::Started {
        run,
        limits: invocation.limits.clone(),
        claims: invocation.claims.clone(),
        flags: Box::new(invocation.flags.clone()),
        notify: invocation.notify,
    });
    renew_pause_request(story, run, row.invocation.asked);
    log_session(story, run, EntryType::SessionStarted, "work begins");
    Ok(())
}

/// Refuses a run that a person paused, or in which nothing can be started
/// within these limits.
fn check_can_start(
    story: &mut EventBuffer<'_>,
    run: RunId,
    invocation: &InvocationStart<'_>,
) -> Result<(), Refusal> {
    if invocation.sees_whole_tree {
        update_ready_items(story, run);
    }
    let row = story.require_run(run)?;
    let mut now = row.clone();
    now.invocation.limits = invocation.limits.clone();
    let items = count_standings(story, run, invocation.sees_whole_tree).unwrap_or_default();
    match state_of_run(&now, &items) {
        RunState::New | RunState::Interrupted => Ok(()),
        RunState::Paused if matches!(row.pause, Some(Pause::Limit { .. })) => Ok(()),
        // What waits in a pull request may be merged by now.
        RunState::Waiting if row.pause.is_none() && uses_pull_requests(row) => Ok(()),
        // All of it is finished: the run ends at once.
        RunState::Done if row.state != RunState::Done => Ok(()),
        RunState::Running
        | RunState::Paused
        | RunState::Waiting
        | RunState::Blocked
        | RunState::Done => Err(story.wrong_run_state(run)),
    }
}

/// An invocation of a runner is a session, whatever it works on.
fn log_session(story: &mut EventBuffer<'_>, run: RunId, kind: EntryType, what: &str) {
    let Some(name) = story.tables.run(run).map(|row| row.name.clone()) else {
        return;
    };
    let entry = Entry::with_type(kind).with_text("description", format!("{name}: {what}"));
    log_entry(
        story,
        Entry {
            spec: Some(name),
            ..entry
        },
    );
}

pub(super) fn continue_run(
    story: &mut EventBuffer<'_>,
    run: RunId,
    token: u64,
) -> Result<(), Refusal> {
    check_holder(story, (run, token))?;
    if story.require_run(run)?.state != RunState::Interrupted {
        return Err(story.wrong_run_state(run));
    }
    story.move_run(run, RunState::Running, StateReason::default());
    Ok(())
}

pub(super) fn release_run(
    story: &mut EventBuffer<'_>,
    run: RunId,
    token: u64,
) -> Result<(), Refusal> {
    check_runner(story, (run, token))?;
    let holds = check_holder(story, (run, token)).is_ok();
    story.append(RunEvent::LeaseReleased { run, token });
    let row = story.require_run(run)?;
    // The last one of several interrupts the run: each had counted on the others.
    if row.runners().next().is_none() && row.state == RunState::Running {
        let about = StateReason::from_reason("its runner ended");
        story.move_run(run, RunState::Interrupted, about);
    }
    if !holds {
        return Ok(());
    }
    let state = story.require_run(run)?.state;
    log_session(story, run, EntryType::SessionEnded, state.as_str());
    Ok(())
}

pub(super) fn pause_run(
    story: &mut EventBuffer<'_>,
    run: RunId,
    token: u64,
    pause: &Pause,
) -> Result<(), Refusal> {
    check_holder(story, (run, token))?;
    if story.require_run(run)?.state != RunState::Running {
        return Err(story.wrong_run_state(run));
    }
    story.move_run(
        run,
        RunState::Paused,
        StateReason::from_pause(pause.clone()),
    );
    Ok(())
}

pub(super) fn interrupt_run(
    story: &mut EventBuffer<'_>,
    run: RunId,
    token: u64,
    reason: &str,
) -> Result<(), Refusal> {
    check_holder(story, (run, token))?;
    if story.require_run(run)?.state != RunState::Running {
        return Err(story.wrong_run_state(run));
    }
    story.move_run(run, RunState::Interrupted, StateReason::from_reason(reason));
    Ok(())
}

/// What an attempt is started with.
pub(super) struct AttemptStart<'a> {
    pub(super) attempt: AttemptId,
    pub(super) role: Role,
    pub(super) agent: &'a str,
    pub(super) model: Option<&'a str>,
    pub(super) memories: &'a [String],
    pub(super) tree: Option<&'a String>,
    pub(super) baseline: Option<&'a BaselineResult>,
}

pub(super) fn start_attempt(
    story: &mut EventBuffer<'_>,
    held: HeldRun,
    node: &Node,
    started: &AttemptStart<'_>,
) -> Result<(), Refusal> {
    check_runner(story, held)?;
    let run = held.0;
    let role = started.role;
    check_can_begin(story, run)?;
    check_lane_held(story, held, node)?;
    let item = story.require_item(run, node)?.clone();
    check_not_taken(story, &item)?;
    let fits = is_role_startable(role, &item);
    let policy = &story.require_run(run)?.plan.policy;
    let hook = policy.next_hook(&item).map(|hook| hook.id.clone());
    let hook = hook.filter(|_| role == Role::IterationHook);
    if !fits || (role == Role::IterationHook && hook.is_none()) {
        return Err(wrong_item_state(&item));
    }
    // Another runner may have started the last one meanwhile.
    let row = story.require_run(run)?;
    let max = row.invocation.limits.iterations_max;
    if hook.is_none() && max.is_some_and(|max| row.invocation.iterations >= max) {
        return Err(story.wrong_run_state(run));
    }
    start_ancestors(story, run, node)?;
    if item.state != ItemState::Working {
        story.move_item(run, node, ItemState::Working, |moved| {
            moved.stage = Some(stage_of_role(role));
        });
    } else if item.stage == Stage::Baseline {
        story.set_stage(run, node, Stage::Work);
    }
    // A hook belongs to the iteration that it follows.
    let iteration = story.require_run(run)?.invocation.iterations_total + u32::from(hook.is_none());
    let name = next_attempt_name(story, node.as_str(), item.attempts + 1);
    story.append(AttemptEvent::Started {
        attempt: started.attempt,
        run,
        node: node.clone(),
        fence: item.fence + 1,
        number: item.attempts + 1,
        role,
        agent: started.agent.to_owned(),
        model: started.model.map(str::to_owned),
        iteration,
        name: Some(name),
        memories: started.memories.to_vec(),
        tree: started.tree.cloned(),
        baseline: started.baseline.cloned(),
        hook,
    });
    remembering::record_memory_use(story, started.attempt, started.memories);
    Ok(())
}

/// Whether an agent in this role may begin at an item as it is now.
fn is_role_startable(role: Role, item: &ItemRow) -> bool {
    match (role, item.state, item.stage) {
        _ if item.has_open_wait() => false,
        (Role::Worker, ItemState::Ready, _) => item.is_leaf(),
        // Another tool had begun it when the plan was taken over.
        (Role::Worker, ItemState::Working, Stage::Work | Stage::Baseline) => {
            item.is_leaf() && !item.is_under_way()
        }
        (Role::Worker, ItemState::Waiting, _) => item.is_leaf() && item.people.human.is_none(),
        (Role::GateFix, ItemState::Working, Stage::Fix) => item.attempt.is_none(),
        // Put off by a service that had enough.
        (Role::GateFix, ItemState::Waiting, Stage::Fix) => item.people.human.is_none(),
        (
            Role::Repair,
            ItemState::Ready | ItemState::Working | ItemState::Waiting,
            Stage::Repair,
        )
        | (Role::Split, ItemState::Ready | ItemState::Working | ItemState::Waiting, Stage::Split)
        | (
            Role::Verdict,
            ItemState::Ready | ItemState::Working | ItemState::Waiting,
            Stage::Verdict,
        ) => item.is_leaf() && item.attempt.is_none() && item.people.human.is_none(),
        (Role::IterationHook, ItemState::Working, Stage::IterationHooks) => item.attempt.is_none(),
        (
            Role::Resolve,
            ItemState::Ready | ItemState::Working | ItemState::Waiting,
            Stage::Resolve,
        ) => item.attempt.is_none() && item.people.human.is_none(),
        (Role::Reviewer, ItemState::Working | ItemState::Waiting, Stage::Review) => {
            item.attempt.is_none() && item.people.human.is_none()
        }
        _ => false,
    }
}

/// Items above one that is begun are begun as well.
fn start_ancestors(story: &mut EventBuffer<'_>, run: RunId, node: &Node) -> Result<(), Refusal> {
    for above in story.ancestors_of(run, node).into_iter().rev() {
        match above.state {
            ItemState::Ready => story.move_item(run, &above.node, ItemState::Working, |_| {}),
            // Something else below it is in trouble, which holds up nothing here.
            ItemState::Working | ItemState::Failed | ItemState::Blocked => {}
            ItemState::Pending
            | ItemState::Waiting
            | ItemState::Done
            | ItemState::Skipped
            | ItemState::Dropped => {
                return Err(wrong_item_state(&above));
            }
        }
    }
    Ok(())
}

/// The check of an item that has not begun is to run first.
pub(super) fn start_baseline(
    story: &mut EventBuffer<'_>,
    held: HeldRun,
    node: &Node,
    before: Option<&BaselineResult>,
) -> Result<(), Refusal> {
    check_runner(story, held)?;
    let run = held.0;
    check_can_begin(story, run)?;
    check_lane_held(story, held, node)?;
    let item = story.require_item(run, node)?.clone();
    check_not_taken(story, &item)?;
    let fits = match (item.state, item.stage) {
        (ItemState::Ready, Stage::Work) => true,
        // A runner died while it ran.
        (ItemState::Working, Stage::Baseline) => !item.is_under_way(),
        _ => false,
    };
    if !fits || !item.is_leaf() || item.plan.gate.is_none() || item.has_open_wait() {
        return Err(wrong_item_state(&item));
    }
    start_ancestors(story, run, node)?;
    if item.state == ItemState::Ready {
        story.move_item(run, node, ItemState::Working, |moved| {
            moved.stage = Some(Stage::Baseline);
        });
    }
    story.append(ItemEvent::GateStarted {
        run,
        node: node.clone(),
        fence: item.fence + 1,
        number: 0,
        before: before.cloned(),
    });
    Ok(())
}

/// What came of an attempt.
pub(super) struct AttemptEnd<'a> {
    pub(super) attempt: AttemptId,
    pub(super) report: &'a Report,
    pub(super) recovery: Option<&'a Recovery>,
    /// The other items that it marked as done.
    pub(super) claimed: &'a [Node],
    /// The agents of its runner, in the order in which they are tried.
    pub(super) agents: &'a [String],
}

/// Which agent gives way to others after an attempt.
fn agent_turn(
    story: &EventBuffer<'_>,
    item: &ItemRow,
    ended: &AttemptEnd<'_>,
) -> Result<Option<AgentTurn>, Refusal> {
    let row = story.tables.attempt(ended.attempt);
    let agent = row.map_or("", |row| row.agent.as_str());
    let limits = &story.require_run(item.run)?.spent.limited_agents;
    let chain = AgentChain::of_item(ended.agents, limits, item);
    Ok(chain.turn_after(agent, ended.report, item.tries.put_off, story.rows.now))
}

pub(super) fn end_attempt(
    story: &mut EventBuffer<'_>,
    held: HeldRun,
    at: LeasedItem<'_>,
    ended: &AttemptEnd<'_>,
) -> Result<(), Refusal> {
    let (attempt, report, recovery) = (ended.attempt, ended.report, ended.recovery);
    check_runner(story, held)?;
    let (run, node) = (held.0, at.0);
    let item = check_fence(story, run, at)?;
    if item.attempt != Some(attempt) {
        return Err(wrong_item_state(&item));
    }
    let row = story.tables.attempt(attempt);
    let role = row.map_or(Role::Worker, |row| row.role);
    if report.review.is_some() {
        story.attempts_at = Some(node.clone());
    }
    let row = story.tables.attempt(attempt);
    let name = row.and_then(|row| row.name.clone());
    let mut report = with_model_usage(report, row.and_then(|row| row.model.as_deref()));
    let name = name.as_deref().unwrap_or_default();
    let turn = agent_turn(story, &item, ended)?;
    if turn.is_some() && !report.is_rate_limited() {
        // Nothing is counted against the item that another agent goes on with.
        report.outcome = Outcome::Interrupted;
        report.category = None;
    }
    // What keeps a hook from its end holds up nothing: it has failed.
    let waits = turn.as_ref().is_some_and(|turn| turn.wait_until.is_some());
    if role == Role::IterationHook && (waits || report.was_cut_off()) {
        report.outcome = Outcome::Failed;
    }
    remembering::learn_from_report(story, &mut report, node.as_str(), name, &item.tries.carried);
    let report = &report;
    let unchecked = is_waiting_for_check(story, &item, attempt, role, report);
    let over = FinishedAttempt {
        at: ItemRef { run, node },
        attempt,
        role,
        report,
        unchecked,
        recovery,
        is_leaf: item.is_leaf(),
        turn: turn.as_ref(),
    };
    let change = append_attempt_end(story, &item, &over);
    let is_weakened = report
        .changes
        .proof
        .iter()
        .any(|proof| !proof.weakenings().is_empty());
    if !is_weakened {
        record_claim_changes(story, &item, attempt, ended.claimed, &change);
    }
    if matches!(role, Role::Worker | Role::Verdict) && !unchecked {
        let row = story.tables.attempt(attempt);
        let took_s = row.and_then(AttemptRow::duration_s);
        log_attempt(story, ItemRef { run, node }, report, None, took_s);
    }
    requests::open_requests(story, run, node, &report.requests);
    if item.people.skip_asked {
        skip_node(story, run, node, None);
        return Ok(());
    }
    let is_work = matches!(role, Role::Worker | Role::Verdict | Role::GateFix);
    if is_work && report.outcome == Outcome::Completed {
        story.update_screenshot_question(run, node, report.lacks_screenshot);
    }
    apply_outcome(story, &over)?;
    // Several agents are waited for by their limits.
    if ended.agents.len() > 1 && report.is_rate_limited() {
        return Ok(());
    }
    interrupt_run_that_cannot_go_on(story, &item, report)
}

/// Appends the end of an attempt. Returns what the attempt changed in the tree.
fn append_attempt_end(
    story: &mut EventBuffer<'_>,
    item: &ItemRow,
    over: &FinishedAttempt<'_>,
) -> TreeChange {
    let mut kept = with_attempt_context(over.report, item);
    if kept.changes.tree_before.is_none() {
        kept.changes.tree_before.clone_from(&item.work.started_on);
    }
    let change = TreeChange::extend_with_attempt(None, &kept, item.work.started_on.as_ref());
    story.append(AttemptEvent::Ended {
        attempt: over.attempt,
        run: item.run,
        node: item.node.clone(),
        report: Box::new(kept),
        unchecked: over.unchecked,
        unavailable: over.turn.map(|turn| turn.unavailable.clone()),
    });
    change
}

/// Interrupts a run whose agent cannot be started, or whose service has had enough.
fn interrupt_run_that_cannot_go_on(
    story: &mut EventBuffer<'_>,
    item: &ItemRow,
    report: &Report,
) -> Result<(), Refusal> {
    let run = item.run;
    // Without a place to wait at, the run waits until it is started again. One of
    // several runners ends alone.
    let cannot_go_on = report.program.cannot_start || item.cannot_wait_for_reset(report);
    let row = story.require_run(run)?;
    if cannot_go_on && row.joined.is_empty() && row.state == RunState::Running {
        story.move_run(
            run,
            RunState::Interrupted,
            StateReason::from_reason(reason_of_report(report)),
        );
    }
    Ok(())
}

/// An attempt that is over, for what follows.
struct FinishedAttempt<'a> {
    at: ItemRef<'a>,
    attempt: AttemptId,
    role: Role,
    report: &'a Report,
    /// Its outcome waits for the check of its item.
    unchecked: bool,
    recovery: Option<&'a Recovery>,
    is_leaf: bool,
    turn: Option<&'a AgentTurn>,
}

/// Why it came to what it came to.
fn reason_of_report(report: &Report) -> &str {
    let said = report.error.as_deref().or(report.summary.as_deref());
    said.unwrap_or("no reason was given")
}

/// What comes next for the item of an attempt.
fn apply_outcome(story: &mut EventBuffer<'_>, over: &FinishedAttempt<'_>) -> Result<(), Refusal> {
    let ItemRef { run, node } = over.at;
    let (role, report) = (over.role, over.report);
    let error = reason_of_report(report);
    let outcome = outcome_after_cut_offs(story, over.at, report);
    let wait_until = over.turn.and_then(|turn| turn.wait_until);
    match (outcome, role) {
        // The runner stopped, or died: the next one runs the hook again.
        (Outcome::Interrupted, Role::IterationHook) => {}
        // What comes of a hook changes nothing for its item.
        (_, Role::IterationHook) => advance_after_hook(story, run, node),
        (Outcome::Interrupted, _) if let Some(until) = wait_until.filter(|_| over.is_leaf) => {
            retry_later(story, over, until);
        }
        // It is reviewed again by the next one.
        (Outcome::Interrupted, Role::Reviewer) => {}
        (_, Role::Reviewer) => apply_review(story, run, node, over.attempt)?,
        (Outcome::NeedsHuman, _) => wait_for_human(story, run, node, report),
        // Without the conversation no agent can be asked for the verdict.
        (Outcome::Interrupted, Role::Verdict)
            if report.program.conversation.is_some() && over.turn.is_none() =>
        {
            reset_to_stage(story, run, node, Stage::Verdict);
        }
        (Outcome::Interrupted, Role::Worker | Role::Verdict) => {
            reset_to_stage(story, run, node, Stage::Work);
        }
        (Outcome::Interrupted, Role::Repair) => reset_to_stage(story, run, node, Stage::Repair),
        (Outcome::Interrupted, Role::Split) => reset_to_stage(story, run, node, Stage::Split),
        // The intent to mend stays; the next runner starts another agent.
        (Outcome::Interrupted, Role::GateFix | Role::Resolve) => {}
        (Outcome::Completed, Role::Worker | Role::Verdict) => advance_after_work(story, run, node),
        // The check decides; that there is no verdict stands in the report.
        (Outcome::Failed, Role::Worker | Role::Verdict | Role::GateFix | Role::Resolve)
            if over.unchecked =>
        {
            story.set_stage(run, node, Stage::Gate);
        }
        (Outcome::Failed, Role::Worker) if report.program.can_be_asked => {
            story.set_stage(run, node, Stage::Verdict);
        }
        (Outcome::Completed, Role::Split) => match report.usable_pieces() {
            Some(pieces) => split_item(story, run, node, pieces)?,
            None => fail_split(story, run, node, error),
        },
        (Outcome::Completed, Role::GateFix) => story.set_stage(run, node, Stage::Gate),
        (Outcome::Completed, Role::Resolve) => advance_after_work(story, run, node),
        // Whether it helped shows when the item is tried again.
        (
            Outcome::Completed | Outcome::Failed | Outcome::Partial | Outcome::Blocked,
            Role::Repair,
        ) => advance_after_repair(story, run, node),
        (Outcome::Failed | Outcome::Partial | Outcome::Blocked, Role::Split) => {
            fail_split(story, run, node, error);
        }
        // An attempt that says that it failed is not overruled by a green check.
        (
            outcome @ (Outcome::Failed | Outcome::Partial | Outcome::Blocked),
            Role::Worker | Role::Verdict | Role::GateFix | Role::Resolve,
        ) => fail_attempt(story, over, outcome),
    }
    Ok(())
}

/// What an attempt came to: one that breaks off again and again has failed.
fn outcome_after_cut_offs(story: &EventBuffer<'_>, at: ItemRef<'_>, report: &Report) -> Outcome {
    let breaks_off = story
        .require_item(at.run, at.node)
        .map_or(0, |item| item.tries.broken_off);
    if report.was_cut_off() && breaks_off >= policy::BROKEN_OFF_MAX {
        Outcome::Failed
    } else {
        report.outcome
    }
}

/// An attempt did not complete: what is tried next, or a person is asked.
fn fail_attempt(story: &mut EventBuffer<'_>, over: &FinishedAttempt<'_>, outcome: Outcome) {
    let report = over.report;
    let trouble = report.program.trouble.map(Trouble::category);
    let failed = FailedWork {
        outcome,
        category: report
            .category
            .or(trouble)
            .unwrap_or(FailureCategory::Logic),
        error: reason_of_report(report),
        recovery: over.recovery,
        is_of_check: false,
    };
    fail_item(story, over.at.run, over.at.node, &failed);
}

/// Whether the outcome of an attempt waits for the check of its item, or for a
/// person who is asked to accept what there is. With a check no verdict is
/// needed after an attempt that ended well.
fn is_waiting_for_check(
    story: &EventBuffer<'_>,
    item: &ItemRow,
    attempt: AttemptId,
    role: Role,
    report: &Report,
) -> bool {
    let has_gate = item.pending_gate().is_some();
    let ended_well = match report.outcome {
        Outcome::Completed => true,
        Outcome::Failed => report.is_missing_verdict() && has_gate,
        Outcome::Blocked | Outcome::Partial | Outcome::NeedsHuman | Outcome::Interrupted => false,
    };
    let is_work = matches!(
        role,
        Role::Worker | Role::Verdict | Role::GateFix | Role::Resolve
    );
    if !ended_well || !is_work || item.people.skip_asked {
        return false;
    }
    if has_gate {
        return true;
    }
    let key = Key::Item(item.run, item.node.clone());
    let event = Event::Attempt(AttemptEvent::Ended {
        attempt,
        run: item.run,
        node: item.node.clone(),
        report: Box::new(report.clone()),
        unchecked: false,
        unavailable: None,
    });
    let now = apply_event(
        &key,
        Some(Row::Item(Box::new(item.clone()))),
        &event,
        &story.next_stamp(),
    );
    match now {
        Some(Row::Item(item)) => !needs_nothing_more(story, &item),
        _ => false,
    }
}

/// What an attempt at `worked_on` did to the tree counts for the items that it
/// claimed, except where one check stands for both of them, or the attempt
/// weakened what proves them.
fn record_claim_changes(
    story: &mut EventBuffer<'_>,
    worked_on: &ItemRow,
    attempt: AttemptId,
    claimed: &[Node],
    change: &TreeChange,
) {
    for node in claimed {
        let counts = story.tables.item(worked_on.run, node).is_some_and(|item| {
            let by = item.proof.claimed.as_ref();
            let is_claimed = by.is_some_and(|by| by.attempt == Some(attempt));
            is_claimed && !has_same_check(worked_on, item) && !item.state.is_finished()
        });
        if counts {
            story.append(ItemEvent::Claimed {
                run: worked_on.run,
                node: node.clone(),
                by: Some(Box::new(WorkCredit {
                    attempt: Some(attempt),
                    change: Some(change.clone()),
                })),
            });
        }
    }
}

/// The word of the agent itself, while it still works: nothing follows from it
/// before the attempt ends.
pub(super) fn record_agent_answer(
    story: &mut EventBuffer<'_>,
    run: RunId,
    attempt: AttemptId,
    node: &Node,
    answer: &Report,
) -> Result<(), Refusal> {
    let item = story.require_item(run, node)?;
    if item.attempt != Some(attempt) {
        return Err(wrong_item_state(item));
    }
    story.append(AttemptEvent::Answered {
        attempt,
        run,
        node: node.clone(),
        answer: Box::new(answer.clone()),
    });
    Ok(())
}

/// The report, saying which model used what where its program does not: the one
/// that it was asked to use.
fn with_model_usage(report: &Report, model: Option<&str>) -> Report {
    let mut report = report.clone();
    if let Some(model) =
        model.filter(|_| report.program.models.is_empty() && !report.program.usage.is_unknown())
    {
        let usage = report.program.usage.clone();
        report.program.models.insert(model.to_owned(), usage);
    }
    report
}

/// The report, saying what the attempt started from where it does not itself.
fn with_attempt_context(report: &Report, item: &ItemRow) -> Report {
    let said = report.context.clone().unwrap_or_default();
    let context = said.merge_missing(context_of_item(item, None));
    Report {
        context: (context != AttemptContext::default()).then_some(context),
        ..report.clone()
    }
}

/// Nothing came of it: the item is as it was. That a program could not start is
/// no failure of the item, and stands in the reason of the run.
fn reset_to_stage(story: &mut EventBuffer<'_>, run: RunId, node: &Node, stage: Stage) {
    story.move_item(run, node, ItemState::Ready, |moved| {
        moved.stage = Some(stage);
    });
}

/// The service has enough for now: the item is tried again when it serves
/// again, and nothing is counted against it.
fn retry_later(story: &mut EventBuffer<'_>, over: &FinishedAttempt<'_>, until: Timestamp) {
    let (ItemRef { run, node }, report) = (over.at, over.report);
    let times = story
        .require_item(run, node)
        .map_or(1, |item| item.tries.put_off);
    if report.program.resets_at.is_none() && times > policy::PUT_OFF_TIMES_MAX {
        let error = report.error.as_deref();
        let error = error.unwrap_or("the service has enough, again and again");
        give_up_item(story, run, node, ItemState::Failed, error);
        return;
    }
    story.move_item(run, node, ItemState::Waiting, |moved| {
        moved.stage = Some(stage_of_role(over.role));
        moved.until = Some(until);
        moved.error.clone_from(&report.error);
    });
}

fn stage_of_role(role: Role) -> Stage {
    match role {
        Role::Worker => Stage::Work,
        Role::GateFix => Stage::Fix,
        Role::Repair => Stage::Repair,
        Role::Split => Stage::Split,
        Role::Verdict => Stage::Verdict,
        Role::IterationHook => Stage::IterationHooks,
        Role::Resolve => Stage::Resolve,
        Role::Reviewer => Stage::Review,
    }
}

fn wait_for_human(story: &mut EventBuffer<'_>, run: RunId, node: &Node, report: &Report) {
    let human = report
        .human
        .clone()
        .unwrap_or_else(|| crate::attempt::HumanNeeded {
            reason: report
                .error
                .clone()
                .or_else(|| report.summary.clone())
                .unwrap_or_else(|| "the agent gave no reason".to_owned()),
            details: None,
        });
    story.move_item(run, node, ItemState::Waiting, |moved| {
        moved.human = Some(human.clone())
    });
    story.ask_about_node(
        DecisionKind::HumanNeeded,
        run,
        node,
        human.reason,
        human.details,
    );
}

pub(super) fn start_gate(
    story: &mut EventBuffer<'_>,
    held: HeldRun,
    node: &Node,
) -> Result<(), Refusal> {
    check_runner(story, held)?;
    let run = held.0;
    check_can_begin(story, run)?;
    check_lane_held(story, held, node)?;
    let item = story.require_item(run, node)?.clone();
    let open = item.proof.gate_runs.as_ref().is_some_and(|runs| runs.open);
    if item.state != ItemState::Working || item.stage != Stage::Gate || open {
        return Err(wrong_item_state(&item));
    }
    let number = item.proof.gate_runs.map_or(0, |runs| runs.runs) + 1;
    story.append(ItemEvent::GateStarted {
        run,
        node: node.clone(),
        fence: item.fence + 1,
        number,
        before: None,
    });
    Ok(())
}

/// Whether a check that passes now proves what an attempt at another item
/// claimed: it failed before that attempt.
fn is_proof_of_claim(item: &ItemRow) -> bool {
    let claimed = item.proof.claimed.as_ref();
    item.proof.seen_to_fail && claimed.is_some_and(|by| by.attempt.is_some() && by.change.is_some())
}

/// Whether the check of an item could not be run twice: before its first attempt
/// and after it, or after two attempts. No agent can mend that.
fn is_check_unrunnable(item: &ItemRow, report: &GateReport) -> bool {
    let before = item.proof.baseline.as_ref().and_then(|result| result.exit);
    let last = item.proof.gate_runs.as_ref().and_then(|runs| runs.exit);
    let own = item.proof.claim_gate.is_none();
    is_script_unrunnable(report.exit)
        && ((own && is_script_unrunnable(before)) || is_script_unrunnable(last))
}

/// What came of a check; nothing where it was changed while it ran.
fn discard_outdated_check(report: &GateReport, item: &ItemRow) -> GateReport {
    let is_outdated = item
        .proof
        .gate_runs
        .as_ref()
        .is_some_and(|runs| runs.outdated);
    if !is_outdated {
        return report.clone();
    }
    GateReport {
        passed: false,
        interrupted: true,
        error: Some("its check was changed while it ran".to_owned()),
        ..report.clone()
    }
}

pub(super) fn end_gate(
    story: &mut EventBuffer<'_>,
    held: HeldRun,
    at: LeasedItem<'_>,
    report: &GateReport,
    recovery: Option<&Recovery>,
) -> Result<(), Refusal> {
    check_runner(story, held)?;
    let (run, node) = (held.0, at.0);
    story.attempts_at = Some(node.clone());
    let item = check_fence(story, run, at)?;
    if !item.proof.gate_runs.as_ref().is_some_and(|runs| runs.open) {
        return Err(wrong_item_state(&item));
    }
    let report = &discard_outdated_check(report, &item);
    let runs = item.proof.gate_runs.as_ref().map_or(0, |runs| runs.runs);
    let is_baseline = item.stage == Stage::Baseline;
    let checks_claim = is_baseline && is_proof_of_claim(&item);
    let evidence = (!is_baseline || checks_claim)
        .then(|| evidence_of_check(story, &item, report))
        .flatten();
    story.append(ItemEvent::GateEnded {
        run,
        node: node.clone(),
        report: report.clone(),
        evidence,
    });
    if !report.passed && !report.interrupted && !is_baseline {
        let why = report.error.as_deref().unwrap_or("it did not pass");
        settle_attempt(
            story,
            &item,
            Outcome::Failed,
            Some(&format!("its check failed: {why}")),
        );
    }
    if item.people.skip_asked {
        skip_node(story, run, node, None);
    } else if checks_claim && report.passed {
        advance_after_gate(story, run, node);
    } else if checks_claim && !report.interrupted {
        // It is worked on as usual, when its turn comes.
        story.move_item(run, node, ItemState::Ready, |moved| {
            moved.stage = Some(Stage::Work);
        });
    } else if report.interrupted || is_baseline {
        // The stage stays; the next runner runs the script again, or the
        // first attempt follows.
    } else if report.passed {
        advance_after_gate(story, run, node);
    } else if is_check_unrunnable(&item, report) {
        give_up_unrunnable_check(story, &item, report);
    } else if runs < item.pending_gate().map_or(0, |gate| gate.runs_max) {
        story.set_stage(run, node, Stage::Fix);
    } else {
        fail_checked_item(story, &item, report, recovery);
    }
    Ok(())
}

/// Gives up an item whose check cannot be run, and logs it.
fn give_up_unrunnable_check(story: &mut EventBuffer<'_>, item: &ItemRow, report: &GateReport) {
    let (run, node) = (item.run, &item.node);
    let script = item.pending_gate().map_or("", |gate| gate.script.as_str());
    let exit = report.exit.unwrap_or_default();
    let error = format!("its check cannot be run (exit status {exit}): {script}");
    let entry = entry_about(story, run, node, EntryType::TaskBlocked, &error);
    log_entry(story, entry);
    give_up_item(story, run, node, ItemState::Failed, &error);
}

/// All runs of the check of an item are used up: it has failed.
fn fail_checked_item(
    story: &mut EventBuffer<'_>,
    item: &ItemRow,
    report: &GateReport,
    recovery: Option<&Recovery>,
) {
    let (run, node) = (item.run, &item.node);
    let runs = item.proof.gate_runs.as_ref().map_or(0, |runs| runs.runs);
    let why = report.error.as_deref().unwrap_or("it did not pass");
    let times = if runs == 1 {
        "1 run".to_owned()
    } else {
        format!("{runs} runs")
    };
    let error = format!("gate failed after {times}: {why}");
    let entry = entry_about(story, run, node, EntryType::TaskBlocked, &error);
    log_entry(story, entry);
    let failed = FailedWork {
        outcome: Outcome::Failed,
        category: FailureCategory::Validation,
        error: &error,
        recovery,
        is_of_check: true,
    };
    fail_item(story, run, node, &failed);
}

pub(super) fn start_commit(
    story: &mut EventBuffer<'_>,
    held: HeldRun,
    node: &Node,
    head: Option<String>,
) -> Result<(), Refusal> {
    check_runner(story, held)?;
    let run = held.0;
    check_can_begin(story, run)?;
    check_lane_held(story, held, node)?;
    let item = story.require_item(run, node)?;
    let awaits_review = story.require_run(run)?.plan.policy.is_awaiting_review(item);
    let is_at_commit = item.state == ItemState::Working && item.stage == Stage::Commit;
    if !is_at_commit || item.work.committing.is_some() || awaits_review {
        return Err(wrong_item_state(item));
    }
    let fence = item.fence + 1;
    story.append(ItemEvent::CommitStarted {
        run,
        node: node.clone(),
        fence,
        head,
    });
    Ok(())
}

pub(super) fn end_commit(
    story: &mut EventBuffer<'_>,
    held: HeldRun,
    at: LeasedItem<'_>,
    result: &Result<Option<String>, String>,
) -> Result<(), Refusal> {
    check_runner(story, held)?;
    let (run, node) = (held.0, at.0);
    story.attempts_at = Some(node.clone());
    let item = &check_fence(story, run, at)?;
    if item.work.committing.is_none() {
        return Err(wrong_item_state(item));
    }
    let skip_asked = item.people.skip_asked;
    let (commit, error) = match result {
        Ok(commit) => (commit.clone(), None),
        Err(error) => (None, Some(error.clone())),
    };
    story.append(ItemEvent::CommitEnded {
        run,
        node: node.clone(),
        commit,
        error: error.clone(),
    });
    match error {
        None => finish_or_ask(story, run, node),
        Some(_) if skip_asked => skip_node(story, run, node, None),
        Some(error) => {
            let error = format!("commit failed: {error}");
            let entry = entry_about(story, run, node, EntryType::TaskBlocked, &error);
            log_entry(story, entry);
            give_up_item(story, run, node, ItemState::Failed, &error);
        }
    }
    Ok(())
}
