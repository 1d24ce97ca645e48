//! The row of a run.

use super::open_children::count_open_children;
use super::unit::apply_to_lanes;
use crate::agent_chain::UnavailableAgent;
use crate::attempt::{Outcome, Report};
use crate::event::{AttemptEvent, Event, ItemEvent, NotificationEvent, RunEvent, RunPlanned};
use crate::journal::EventStamp;
use crate::lane::{Landing, TargetRow};
use crate::notification::{EndedInvocation, LastNotification, NotificationSubject};
use crate::plan::Order;
use crate::row::Row;
use crate::run::{
    Pause, PendingRequest, RunBranches, RunHolder, RunInvocation, RunPlan, RunRow, RunSpending,
    RunState, RunnerRequest,
};
use crate::trouble::Trouble;
use jiff::Timestamp;

/// What `event` makes of the row of its run.
pub(super) fn run_row(before: Option<Row>, event: &Event, stamp: &EventStamp) -> Option<RunRow> {
    if let Event::Run(RunEvent::Planned(planned)) = event {
        return Some(row_of_planned_run(planned, stamp));
    }
    let Some(Row::Run(row)) = before else {
        return None;
    };
    let mut row = *row;
    match event {
        Event::Run(event) => apply_run_event(&mut row, event, stamp),
        Event::Item(event) => count_item_event(&mut row, event),
        Event::Unit(event) => apply_to_lanes(&mut row, event),
        Event::Attempt(event) => count_attempt_event(&mut row, event, stamp),
        Event::Notification(event) => apply_notification_event(&mut row, event, stamp),
        Event::Decision(_) | Event::Session(_) | Event::Memory(_) | Event::File(_) => {}
    }
    Some(row)
}

fn apply_run_event(row: &mut RunRow, event: &RunEvent, stamp: &EventStamp) {
    match event {
        RunEvent::LeaseTaken {
            owner,
            token,
            joins,
            ..
        } => {
            let before = row.joined.iter().position(|joined| joined.token == *token);
            let before = before.map(|nth| row.joined.remove(nth));
            let holder = RunHolder {
                owner: owner.clone(),
                token: *token,
                since: stamp.time,
                lock_name: joins.clone().or(before.and_then(|before| before.lock_name)),
            };
            match joins {
                Some(_) => row.joined.push(holder),
                None => row.holder = Some(holder),
            }
            row.fence = row.fence.max(*token);
        }
        RunEvent::LeaseLost { token, .. } | RunEvent::LeaseReleased { token, .. } => {
            row.holder.take_if(|holder| holder.token == *token);
            row.joined.retain(|joined| joined.token != *token);
            end_invocation(row, stamp);
        }
        RunEvent::Started {
            limits,
            claims,
            flags,
            notify,
            ..
        } => {
            if *notify || row.notifications.is_some() {
                row.notifications.get_or_insert_default().end_wanted = *notify;
            }
            enter_state(row, RunState::Running, stamp);
            row.invocation.invocations += 1;
            row.invocation.invoked_at = Some(stamp.time);
            row.invocation.limits = limits.clone();
            row.invocation.claims = claims.clone();
            row.invocation.flags = (**flags).clone();
            row.invocation.iterations = 0;
            row.invocation.tasks = 0;
            row.started_at.get_or_insert(stamp.time);
        }
        RunEvent::Targeted {
            repository,
            branch,
            base,
            onto,
            path,
            was_there,
            ..
        } => {
            let known = row.target_in_repository(repository.as_deref());
            let target = TargetRow {
                branch: branch.clone(),
                base: base.clone(),
                tip: base.clone(),
                onto: onto.clone(),
                path: path.clone(),
                was_there: *was_there,
                merged: known.map_or(0, |known| known.merged),
            };
            match repository {
                Some(name) => {
                    // From here on merges are counted for each repository.
                    let merges = row.last_merge_in_repository(None);
                    if let Some(own) = row.branches.target.as_deref_mut() {
                        own.merged = merges;
                    }
                    row.branches.targets.insert(name.clone(), target);
                }
                None => row.branches.target = Some(Box::new(target)),
            }
        }
        RunEvent::LanesEntered { terms, .. } => {
            let lanes = row.branches.lanes.get_or_insert_default();
            lanes.terms.clone_from(terms);
        }
        RunEvent::LandStarted {
            commit, onto, at, ..
        } => {
            row.branches.landing = Some(new_landing(commit, onto, at.as_deref()));
        }
        RunEvent::Landed {
            commit, onto, at, ..
        } => {
            row.branches.landing = None;
            row.branches.landed = Some(new_landing(commit, onto, at.as_deref()));
        }
        RunEvent::Moved {
            to,
            pause,
            at,
            reason,
            ..
        } => {
            enter_state(row, run_state_after_move(*to, pause.as_ref()), stamp);
            row.pause = pause.clone();
            row.at = at.clone();
            row.reason = reason.clone();
            row.completed_at = (*to == RunState::Done).then_some(stamp.time);
        }
        RunEvent::Asked { request, by, .. } => {
            let asked = PendingRequest {
                request: *request,
                by: by.clone(),
            };
            row.invocation.asked = (*request != RunnerRequest::GoOn).then_some(asked);
        }
        RunEvent::Changed(changed) => changed.apply_to_run(row),
        RunEvent::Planned(_) => {}
    }
}

fn count_item_event(row: &mut RunRow, event: &ItemEvent) {
    match event {
        ItemEvent::Planned(planned) => {
            row.open_roots += u32::from(!planned.item.state.is_finished())
        }
        ItemEvent::Moved(moved) => {
            row.invocation.tasks += u32::from(moved.task);
            if moved.node.parent().is_none() {
                count_open_children(&mut row.open_roots, moved);
            }
        }
        ItemEvent::Claimed { .. }
        | ItemEvent::Reviewed { .. }
        | ItemEvent::GateStarted { .. }
        | ItemEvent::GateEnded { .. }
        | ItemEvent::CommitStarted { .. }
        | ItemEvent::CommitEnded { .. }
        | ItemEvent::Staged { .. }
        | ItemEvent::SkipAsked { .. }
        | ItemEvent::Changed(_)
        | ItemEvent::Placed(_) => {}
    }
}

fn count_attempt_event(row: &mut RunRow, event: &AttemptEvent, stamp: &EventStamp) {
    match event {
        // A hook belongs to the iteration that it follows.
        AttemptEvent::Started { hook: Some(_), .. } => {}
        AttemptEvent::Started { .. } => {
            row.invocation.iterations += 1;
            row.invocation.iterations_total += 1;
        }
        AttemptEvent::Ended {
            node,
            report,
            unavailable,
            ..
        } => {
            add_spend(row, report);
            record_limit(&mut row.spent, unavailable.as_ref(), stamp.time);
            row.spent.has_counted |=
                !report.program.cannot_start && report.outcome != Outcome::Interrupted;
            let is_refused = report.program.trouble == Some(Trouble::HookRefused);
            row.spent.hook_refused = is_refused.then(|| node.clone());
            // A wait for a service is no iteration, nor is one whose item goes on elsewhere.
            if report.is_rate_limited() || unavailable.is_some() {
                row.invocation.iterations = row.invocation.iterations.saturating_sub(1);
            }
        }
        AttemptEvent::Reported(told) => add_spend(row, &told.report),
        AttemptEvent::Answered { .. } | AttemptEvent::Judged { .. } | AttemptEvent::Revised(_) => {}
    }
}

/// Notes that the service of an agent has enough, and forgets limits that are over.
fn record_limit(spent: &mut RunSpending, passed: Option<&UnavailableAgent>, now: Timestamp) {
    let Some((passed, until)) = passed.and_then(|passed| Some((passed, passed.until?))) else {
        return;
    };
    spent.limited_agents.retain(|_, until| *until > now);
    spent.limited_agents.insert(passed.agent.clone(), until);
}

fn add_spend(row: &mut RunRow, report: &Report) {
    row.spent.spend = row.spent.spend.plus(&report.counted_spend());
    for (model, spend) in report.spend_by_model() {
        let sum = row.spent.spend_by_model.entry(model.clone()).or_default();
        *sum = sum.plus(&spend);
    }
}

/// The state of a run that an event moved: what an older version took for a
/// pause waits for a person at a breakpoint.
fn run_state_after_move(to: RunState, pause: Option<&Pause>) -> RunState {
    match (to, pause) {
        (RunState::Paused, Some(Pause::Breakpoint { .. })) => RunState::Waiting,
        (to, _) => to,
    }
}

fn new_landing(commit: &str, onto: &str, at: Option<&str>) -> Box<Landing> {
    Box::new(Landing {
        commit: commit.to_owned(),
        onto: onto.to_owned(),
        at: at.map(str::to_owned),
    })
}

fn enter_state(row: &mut RunRow, to: RunState, stamp: &EventStamp) {
    row.state = to;
    row.since = stamp.time;
    row.pause = None;
    row.at = None;
    row.reason = None;
    row.invocation.asked = None;
}

/// Notes that the present invocation is over, where its last runner is gone and a
/// person wants to know.
fn end_invocation(row: &mut RunRow, stamp: &EventStamp) {
    let is_left = row.runners().next().is_none();
    let ended = EndedInvocation::from_run(row, stamp.time);
    if let Some(known) = &mut row.notifications
        && known.end_wanted
        && is_left
    {
        known.end_wanted = false;
        known.ended.push(ended);
    }
}

fn row_of_planned_run(planned: &RunPlanned, stamp: &EventStamp) -> RunRow {
    let past = planned.past.clone().unwrap_or_default();
    let state = if past.done {
        RunState::Done
    } else if past.stuck.is_some() {
        if past.waits {
            RunState::Waiting
        } else {
            RunState::Blocked
        }
    } else if past.pause.is_some() {
        run_state_after_move(RunState::Paused, past.pause.as_ref())
    } else if past.started_at.is_some() {
        RunState::Interrupted
    } else {
        RunState::New
    };
    let stuck = matches!(state, RunState::Blocked | RunState::Waiting);
    let is_held_up = past.done || past.stuck.is_some();
    let at = past.stuck.filter(|_| stuck);
    RunRow {
        id: planned.run,
        name: planned.name.clone(),
        state,
        pause: past.pause.filter(|_| !is_held_up),
        at,
        reason: None,
        since: stamp.time,
        created_at: stamp.time,
        started_at: past.started_at,
        completed_at: past.completed_at,
        holder: None,
        joined: Vec::new(),
        fence: 0,
        open_roots: 0,
        notifications: None,
        plan: RunPlan {
            face: planned.face.clone(),
            source: planned.source.clone(),
            policy: planned.policy.clone(),
            order: planned
                .order
                .unwrap_or_else(|| Order::from_format(&planned.face)),
            is_settled: planned.order.is_some(),
            native: planned.native.clone(),
        },
        invocation: RunInvocation {
            limits: planned.policy.limits.clone(),
            iterations_total: past.iterations,
            ..RunInvocation::default()
        },
        spent: RunSpending::default(),
        branches: RunBranches::default(),
    }
}

/// How far the notification of an end came, and how the last one of the run ended.
fn apply_notification_event(row: &mut RunRow, event: &NotificationEvent, stamp: &EventStamp) {
    let run = row.id;
    let about = |subject: &NotificationSubject, end: &EndedInvocation| {
        let number = end.number;
        *subject == NotificationSubject::Invocation { run, number }
    };
    let known = row.notifications.get_or_insert_default();
    match event {
        NotificationEvent::Started { subject, .. } => {
            for end in &mut known.ended {
                end.is_started |= about(subject, end);
            }
        }
        NotificationEvent::Ended { subject, error } => {
            known.ended.retain(|end| !about(subject, end));
            known.last = Some(LastNotification {
                at: stamp.time,
                error: error.clone(),
            });
        }
    }
}
